/* Between the files of verify. */
#ifndef AOT_EXEC_VERIFY_INTERNAL_H
#define AOT_EXEC_VERIFY_INTERNAL_H

#include "exec/verify.h"

/* A value of one run, by the name of its node. */
typedef struct vf_slot {
    aot_xval value;
    aot_str target, maker; /* maker: the operator that an item is of; else the target */
    uint32_t order;
    bool there, is_input;
} vf_slot;

typedef struct verify {
    const aot_verify_in *in;
    aot_verify_out *out;
    aot_exec *x;
    uint32_t n_names;
    vf_slot *eager, *forward, *backward; /* by name */
    uint32_t order;         /* of the call */
    aot_generator behind_forward, behind_call;
    uint8_t *needed;      /* by node of the backward: aot_needed_nodes */
    bool saw_backward;
    aot_run_out call;
    /* outputs of the call, those of a tensor subclass one by one, as the graphs have them */
    aot_xval *flat;
    const char **flat_names;
    unsigned n_flat;
    aot_xval *call_outer;   /* written by the call */
    aot_xval *eager_outer, *eager_outputs;
    unsigned n_eager_outputs;
    aot_xval *tangents;     /* by output that requires grad */
    unsigned n_tangents;
    bool same_draws;        /* eager and call drew the same numbers */
    const char *eager_node; /* first of the joint graph that differs from its node of aten; NULL */
    aot_ulps eager_diff;
} verify;

unsigned vf_n_outer(const verify *v);
const char *vf_text(verify *v, const char *fmt, ...) AOT_PRINTF(2, 3);
void vf_note(verify *v, const char *fmt, ...) AOT_PRINTF(2, 3);
/* text is made of what the caller says and of the comparison. */
void vf_finding(verify *v, aot_verify_kind kind, const char *stage, const char *name,
                uint32_t order, const aot_ulps *diff, const char *fmt, ...) AOT_PRINTF(7, 8);
/* Runs the joint graph, or the aten graph as eager does, on these inputs of the user's function,
 * which it may write. */
aot_status vf_run_graph(verify *v, aot_exec *x, bool joint, aot_xval *outer,
                        const aot_exec_options *o, aot_xval **out, unsigned *n, aot_err *err);
/* Told of what takes long: nodes of a graph, runs. total 0: not known. */
void vf_progress(const verify *v, const char *what, uint64_t done, uint64_t total);
/* Keeps a node's value by its name; copy: its memory may be written again. */
/* Whether a node is what the value of its name is of. */
bool vf_same_maker(const vf_slot *s, const aot_graph *g, aot_node_id id);
void vf_keep_value(vf_slot *slots, const aot_graph *g, aot_node_id id, const aot_xval *value,
                   uint32_t order, bool copy);
/* "sin (torch.ops.aten.sin.default)"; of an item also whose it is. */
const char *vf_described(verify *v, const aot_graph *g, aot_node_id id);
/* By node of the backward: somebody takes it. */
const uint8_t *vf_needed_in_backward(verify *v);
/* The unit called forward and backward through the wrappers. Errors: theirs and the operators';
 * E_USAGE (the fault has nothing to break here). */
aot_status vf_run_call(verify *v, aot_err *err);
/* Whether two generators go on with the same numbers. */
bool vf_same_state(const aot_generator *a, const aot_generator *b);
/* Why a gradient of the unit need not be the derivative (own_gradients.def); NULL: all are. */
const char *vf_own_gradient(const aot_verify_in *in);
/* Gradients of the call against finite differences. What fails is noted: in double the unit may
 * fail where it runs as it is. */
void vf_gradients(verify *v);

void vf_fill_normal(aot_array *x, uint64_t *state);

#endif
