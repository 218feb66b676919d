/* Higher-order operators: calls whose arguments are graphs, graphs traced apart, gradients that are
 * given by a function, and the tags of checkpointed regions.
 * Mirrors torch/_ops.py:HigherOrderOperator as make_fx records it, torch/_higher_order_ops/utils.py
 * (reenter_make_fx, materialize_as_graph), torch/csrc/autograd/custom_function.cpp. */
#ifndef AOT_TRACE_HOP_H
#define AOT_TRACE_HOP_H

#include "trace/trace.h"

/* Nodes of the forward made from now on carry this checkpoint policy and region (> 0); 0: none.
 * Returns the region and policy that were set, for setting them again. */
typedef struct aot_region {
    int32_t id;
    uint8_t policy; /* aot_policy */
} aot_region;
aot_region aot_trace_region(aot_tracer *t, aot_region region);
/* The number of the next region: 1, 2 ... */
int32_t aot_trace_next_region(aot_tracer *t);
/* The graph whose node is being run; NULL between graphs. */
const aot_graph *aot_trace_current_graph(const aot_tracer *t);

/* A graph traced apart. Inputs are arg0_1, arg1_1 ... */
typedef struct aot_subgraph {
    const aot_graph *graph[AOT_N_LEVELS];
    aot_value out; /* what it returns, as types: tensors without a node, for aot_hop_call */
} aot_subgraph;

/* Runs fn in a trace of its own, on inputs of the types of `inputs` (tensors, symbols, numbers;
 * numbers are passed as they are and are no inputs of the graph). Those whose tensors require grad
 * do so if `grad`, else none. fn's result is the graph's output. */
typedef aot_value aot_body_fn(aot_tracer *t, void *arg, unsigned n, const aot_value *inputs);
aot_subgraph *aot_trace_apart(aot_tracer *t, aot_body_fn *fn, void *arg, unsigned n,
                              const aot_value *inputs, bool grad);

/* A value that stands for a subgraph among the arguments of a call, as attribute PREFIX NUMBER. */
aot_value aot_v_subgraph(aot_tracer *t, const aot_subgraph *s, const char *prefix,
                         unsigned number);
/* The number of the next attribute whose name begins so: 0, 1 ... */
unsigned aot_hop_number(aot_tracer *t, const char *prefix);

/* Records a call of torch.ops.higher_order.NAME at every level. out gives the types of what it
 * returns (as aot_subgraph.out). No gradient flows through it by itself. */
typedef struct aot_hop {
    const char *name;
    unsigned n;
    const aot_value *args;
    unsigned n_kw;
    const char *const *kw_names;
    const aot_value *kw;
    aot_value out;
} aot_hop;
aot_value aot_hop_call(aot_tracer *t, const aot_hop *h);
/* A tensor of a type, for `out`. */
aot_tensor *aot_hop_type(aot_tracer *t, const aot_fake *type);
/* A contiguous copy of x[0], as a type, for aot_trace_apart; it requires grad as x does. */
aot_tensor *aot_hop_first_slice(aot_tracer *t, const aot_tensor *x);
/* The same type in front of n items of it, contiguous. */
aot_tensor *aot_hop_stacked(aot_tracer *t, const aot_tensor *x, aot_dim n);
/* Memory of the rules of higher-order operators; NULL when a trace begins. */
void **aot_hop_slot(aot_tracer *t);

/* Makes rule the gradient of the outputs with respect to the inputs: as aot_vjp_fn, arguments are
 * the inputs. The outputs must be results of aot_hop_call or of calls made with grad mode off. */
void aot_trace_custom_grad(aot_tracer *t, aot_op_id op, aot_vjp_fn *rule, void *custom, unsigned n,
                           const aot_value *inputs, unsigned n_out, aot_tensor *const *outputs);
void *aot_vjp_custom(const aot_vjp *b);
/* The gradient of an output, zeros if it is undefined. */
aot_tensor *aot_vjp_grad_or_zeros(const aot_vjp *b, unsigned output);

#endif
