/* What the rules of torch.nn.functional share. */
#ifndef AOT_LOWER_NN_H
#define AOT_LOWER_NN_H

#include "lower/lower.h"

/* The last part of the target: "mse_loss" of "torch.nn.functional.mse_loss". */
const char *nn_name(const aot_pycall *k);
/* Whether that is the name, or the name with _with_indices or an underscore around it. */
bool nn_is(const aot_pycall *k, const char *name);
/* The argument; None if absent. */
aot_value nn_arg(const aot_pycall *k, unsigned pos, const char *name);
/* The argument; def if absent or None. */
aot_value nn_arg_or(const aot_pycall *k, unsigned pos, const char *name, aot_value def);
/* torch.nn._reduction: 0 none, 1 mean, 2 sum, of `reduction` or of the older size_average and
 * reduce. Position -1: the function has no such parameter. */
int nn_reduction(const aot_pycall *k, int size_average, int reduce, unsigned reduction);
/* x.sum(), x.mean() or x itself. */
aot_tensor *nn_reduce(aot_tracer *t, aot_tensor *x, int reduction);
/* torch._C._infer_size: the sizes that a and b broadcast to. */
aot_dims nn_broadcast_sizes(aot_tracer *t, aot_dims a, aot_dims b);
/* torch.broadcast_tensors of two. */
void nn_broadcast(aot_tracer *t, aot_tensor **a, aot_tensor **b);
/* A list of n ints; a single int is repeated (_pair, _triple). */
aot_dims nn_dims(aot_tracer *t, aot_value v, unsigned n);

#endif
