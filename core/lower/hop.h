/* What the rules of higher-order operators share. */
#ifndef AOT_LOWER_HOP_H
#define AOT_LOWER_HOP_H

#include "lower/lower.h"
#include "trace/hop.h"

/* The argument is a graph of the module, or an error. */
const aot_graph *hop_graph(const aot_pycall *k, unsigned pos, const char *name);
/* Runs a graph on values, apart: an aot_body_fn; arg is the graph. */
aot_value hop_run(aot_tracer *t, void *graph, unsigned n, const aot_value *inputs);
/* The forward and backward of a graph, apart: inputs, then gradients of its outputs; gives a list
 * of the gradients of the inputs (zeros where there is none; numbers have none). arg: hop_joint. */
typedef struct hop_joint {
    aot_body_fn *fn; /* the forward */
    void *arg;
    unsigned n_inputs;
    aot_value *out; /* gets what the forward returns, and no zeros are made; NULL */
} hop_joint;
aot_value hop_run_joint(aot_tracer *t, void *joint, unsigned n, const aot_value *inputs);
/* The items of a list or tuple; one value is a list of itself. */
aot_value hop_items(aot_tracer *t, aot_value v);
/* a's items, then b's, as a tuple. */
aot_value hop_concat(aot_tracer *t, aot_value a, aot_value b);
/* Gives the operands that are tensors their gradients, which hold one item for each of these. */
void hop_set_gradients(aot_vjp *b, aot_value operands, aot_value gradients);

#endif
