/* A captured unit called as the user's program calls it: through its runtime wrappers, forward,
 * then backward.
 *
 * Each row of runtime/wrappers.def does its work before and behind the compiled forward, in that
 * order and back (wrap_*.c). What no log carries enough of is named in wrapper_gaps.def.
 * Mirrors torch/_functorch/_aot_autograd/runtime_wrappers.py. */
#ifndef AOT_EXEC_RUN_UNIT_H
#define AOT_EXEC_RUN_UNIT_H

#include "capture/capture.h"
#include "exec/interp.h"
#include "exec/wrapper_trace.h"
#include "partition/partition.h"

/* Mistakes made on purpose: faults.def. */
typedef enum aot_fault {
    AOT_NO_FAULT,
#define FAULT(id, name, where, sentence) AOT_FAULT_##id,
#include "exec/faults.def"
#undef FAULT
    AOT_N_FAULTS
} aot_fault;
typedef struct aot_fault_info {
    const char *name, *where, *sentence;
} aot_fault_info;
const aot_fault_info *aot_fault_get(aot_fault f);
aot_fault aot_fault_find(const char *name); /* AOT_NO_FAULT: there is none */

typedef struct aot_run_in {
    const aot_calling *calling;
    const aot_graph *graph;     /* joint, or forward-only: says the types of the inputs */
    const aot_partition *cut;   /* NULL: the graph is run as it is */
    /* one for each input of the user's function, of a tensor subclass the list of its inner
     * tensors; may be written */
    aot_xval *outer;
    const char *const *names;   /* of each, for messages: L['x']; NULL: as the graph names them */
    const bool *requires_grad;  /* of each, where it is not as compiled; NULL */
    /* gradients of the outputs that require grad, in order; None: zeros */
    const aot_xval *tangents;
    unsigned n_tangents;
    const aot_exec_options *options; /* `until` and the observer see each graph; NULL */
    aot_fault fault;            /* makes this mistake */
    bool debug_assert;          /* DebugAssertWrapper is there */
    aot_wrapper_trace *trace;   /* what each wrapper does is added; NULL */
} aot_run_in;

typedef struct aot_run_out {
    /* of the user's function; of a tensor subclass the list of its inner tensors */
    aot_xval *outputs;
    unsigned n_outputs;
    aot_xval *grads;    /* by outer input; None: no gradient */
    bool *mutated;      /* by outer input */
    unsigned n_outer;
    bool has_backward;  /* it ran */
    bool made_fault;    /* the mistake had something to break */
} aot_run_out;

/* Forward, and backward where tangents are given. Free with aot_run_free, also after an error.
 * Errors: of the operators; E_USAGE (a wrapper refuses the call, or autograd the backward: the
 * message names it and says what PyTorch says); E_UNSUPPORTED (a row of wrapper_gaps.def); E_SHAPE
 * (tangents that do not fit). */
AOT_NODISCARD aot_status aot_run_unit(aot_run_out *out, aot_exec *x, const aot_run_in *in,
                                      aot_err *err);
void aot_run_free(aot_run_out *r);

/* The two halves, for who calls forward more than once before a backward. A call holds its saved
 * values until its backward. in and out live as long as the call. */
typedef struct aot_wrapped aot_wrapped;
/* *call is to be freed, also after an error. */
AOT_NODISCARD aot_status aot_wrapped_forward(aot_wrapped **call, aot_run_out *out, aot_exec *x,
                                             const aot_run_in *in, aot_err *err);
/* retain: saved values stay for another backward (retain_graph=True). Gradients of an earlier one
 * go. */
AOT_NODISCARD aot_status aot_wrapped_backward(aot_wrapped *call, bool retain, aot_err *err);
void aot_wrapped_free(aot_wrapped *call); /* NULL is fine */
/* Storages of the saved values, those of the user's inputs apart. */
typedef struct aot_held_bytes {
    unsigned n;         /* saved tensors */
    int64_t own, of_inputs;
} aot_held_bytes;
aot_held_bytes aot_wrapped_held(const aot_wrapped *call);
/* The tensors that the call holds, borrowed: for who writes them. */
const aot_xval *aot_wrapped_saved(const aot_wrapped *call, unsigned *n);

/* What wrappers do that is not done here: wrapper_gaps.def. */
typedef enum aot_wrapper_gap {
#define WRAPPER_GAP(id, wrapper, what, reason) AOT_WRAPPER_GAP_##id,
#include "exec/wrapper_gaps.def"
#undef WRAPPER_GAP
    AOT_N_WRAPPER_GAPS
} aot_wrapper_gap;
typedef struct aot_wrapper_gap_info {
    aot_wrapper wrapper;
    const char *what, *reason;
} aot_wrapper_gap_info;
const aot_wrapper_gap_info *aot_wrapper_gap_get(aot_wrapper_gap g);

/* The inputs of the graph from those of the user's function, as the wrappers hand them on:
 * duplicates dropped, views replaced by their base, subclasses taken apart, tokens in front. The
 * caller frees the list and its values. */
AOT_NODISCARD aot_status aot_run_args(aot_xval **args, unsigned *n, const aot_run_in *in,
                                      aot_err *err);

#endif
