/* A unit run three ways from the same inputs and generator state, and where they first differ:
 *
 *   eager   the aten graph, node by node as the user's program dispatches it; its gradients
 *           as finite differences, in double
 *   joint   the joint graph in one piece
 *   call    forward and backward through the runtime wrappers (run_unit.h)
 *
 * Values of the call are compared with the joint graph's by their names, those that the backward
 * computes again with the forward's; outputs, mutated inputs and who shares memory with eager's;
 * gradients with finite differences. */
#ifndef AOT_EXEC_VERIFY_H
#define AOT_EXEC_VERIFY_H

#include "exec/run_unit.h"
#include "exec/ulps.h"

typedef enum aot_verify_kind { /* verify_kinds.def */
#define VERIFY(id, name, sentence) AOT_VERIFY_##id,
#include "exec/verify_kinds.def"
#undef VERIFY
    AOT_N_VERIFY_KINDS
} aot_verify_kind;
const char *aot_verify_kind_name(aot_verify_kind k);

typedef struct aot_verify_in {
    const aot_calling *calling;
    const aot_graph *dynamo;  /* that it was traced from; NULL */
    const aot_graph *aten;    /* NULL: not compared with eager */
    /* by node of aten: no gradient goes through it (detach, no_grad); NULL: through all */
    const bool *stops;
    /* by node of joint: the node of aten whose value it has; AOT_NO_NODE: none; NULL: none of them
     * is known */
    const aot_node_id *of_aten;
    const aot_graph *joint;   /* or forward-only; all graphs are of one context */
    const aot_partition *cut; /* NULL: no backward */
    const aot_xval *outer;    /* one for each input of the user's function; not written */
    const char *const *names; /* of each, for messages: L['x'] */
    uint64_t seed;            /* of the generator, and of tangents and directions */
    const aot_tolerance *tolerance; /* NULL: by dtype */
    aot_fault fault;
    bool debug_assert;        /* DebugAssertWrapper is there */
    aot_wrapper_trace *trace; /* what each wrapper did in the call; NULL */
    /* told of each node that was run, and of each run for finite differences; total 0: not known.
     * NULL: nobody is */
    void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
    void *progress_arg;
} aot_verify_in;

typedef struct aot_verify_finding {
    uint8_t kind;       /* aot_verify_kind */
    const char *stage;  /* "forward", "backward", "call" */
    const char *name;   /* of the node, input or output */
    uint32_t order;     /* as it was run: forward, then backward, then the rest */
    aot_ulps diff;
    const char *text;   /* one sentence */
} aot_verify_finding;

typedef struct aot_verify_out {
    aot_arena *arena; /* texts */
    AOT_VEC(aot_verify_finding) findings; /* none: PASS. The first is where they first differ */
    AOT_VEC(const char *) notes; /* what was not compared, and why */
    unsigned n_nodes, n_recomputed, n_outputs, n_gradients; /* compared */
    uint64_t max_ulps;   /* of nodes that are within the tolerance */
    bool not_finite;     /* the loss is NaN or infinite: no gradients were compared */
    double max_fd;       /* largest relative deviation of a finite difference that is within it */
} aot_verify_out;

/* Free with aot_verify_free, also after an error. Errors: of the operators and wrappers (the unit
 * cannot be run); E_USAGE (the fault has nothing to break here). */
AOT_NODISCARD aot_status aot_verify(aot_verify_out *out, const aot_verify_in *in, aot_err *err);
void aot_verify_free(aot_verify_out *v);

#endif
