/* A captured unit called as the user's program calls it: through its runtime wrappers, forward, then
 * backward.
 *
 * In call order: duplicates dropped (AOTDedupeWrapper), views replaced by their base
 * (AOTSyntheticBaseWrapper), mutated inputs written back and aliased outputs made again
 * (RuntimeWrapper), saved values held between the calls (AOTDispatchAutograd), tokens passed and dropped
 * (EffectTokensWrapper). Units with tensor subclasses or functionalize_rng_ops are refused with the wrapper's name.
 * Mirrors torch/_functorch/_aot_autograd/runtime_wrappers.py. */
#ifndef AOT_EXEC_RUN_UNIT_H
#define AOT_EXEC_RUN_UNIT_H

#include "capture/capture.h"
#include "exec/interp.h"
#include "partition/partition.h"

/* Mistakes made on purpose: faults.def. */
typedef enum aot_fault {
#define FAULT(id, name, where, sentence) AOT_FAULT_##id,
#include "exec/faults.def"
#undef FAULT
    AOT_N_FAULTS /* none */
} aot_fault;
typedef struct aot_fault_info {
    const char *name, *where, *sentence;
} aot_fault_info;
const aot_fault_info *aot_fault_get(aot_fault f);
aot_fault aot_fault_find(const char *name); /* AOT_N_FAULTS: there is none */

typedef struct aot_run_in {
    const aot_calling *calling;
    const aot_graph *graph;     /* joint, or forward-only: says the types of the inputs */
    const aot_partition *cut;   /* NULL: the graph is run as it is */
    aot_xval *outer;            /* one for each input of the user's function; may be written */
    const aot_xval *tangents;   /* gradients of the outputs that require grad, in order; None: zeros */
    unsigned n_tangents;
    const aot_exec_options *options; /* `until` and the observer see each graph; NULL */
    bool faulty;                /* makes the mistake `fault` */
    aot_fault fault;
} aot_run_in;

typedef struct aot_run_out {
    aot_xval *outputs;  /* of the user's function */
    unsigned n_outputs;
    aot_xval *grads;    /* by outer input; None: no gradient */
    bool *mutated;      /* by outer input */
    unsigned n_outer;
    bool has_backward;  /* it ran */
    bool made_fault;    /* the mistake had something to break */
} aot_run_out;

/* Free with aot_run_free, also after an error. Errors: of the operators; E_UNSUPPORTED (a wrapper that
 * is not run); E_SHAPE (tangents that do not fit). */
AOT_NODISCARD aot_status aot_run_unit(aot_run_out *out, aot_exec *x, const aot_run_in *in, aot_err *err);
void aot_run_free(aot_run_out *r);

/* The inputs of the graph from those of the user's function, meta.n_inputs of them: duplicates dropped, views
 * replaced by their base. The caller drops and frees them. */
AOT_NODISCARD aot_status aot_run_inner(aot_xval **inner, const aot_run_in *in, aot_err *err);

#endif
