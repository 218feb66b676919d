/* Batch rules of reductions. Mirrors aten/src/ATen/functorch/BatchRulesReduceOps.cpp. */
#include "trace/batch.h"

/* The dimensions that a reduction goes over, as the call says them; all of them if it says none. */
static aot_value reduced_dims(batch_call *k, unsigned at, unsigned rank, aot_tensor **self)
{
    aot_value dims = k->args[at];
    bool list = k->f->schema.args[at].is_list;
    if (dims.kind != AOT_V_NONE && (!list || dims.n != 0)) {
        return dims;
    }
    if (!list) {
        *self = aot_ndim(*self) > 1 ? AOT(k->t, aten_flatten_using_ints, *self, 1) : *self;
        return aot_v_int(0);
    }
    int64_t all[AOT_FAKE_MAX_NDIM] = {0};
    for (unsigned i = 0; i < rank; i++) {
        all[i] = i;
    }
    return aot_v_ints(k->t, rank == 0 ? 1 : rank, all);
}

static aot_tensor *squeeze_last(void *arg, aot_tensor *x)
{
    return AOT((aot_tracer *)arg, aten_squeeze_dim, x, -1);
}

/* row: place of the dimensions; keepdim: 0 false, 1 true, else its place. A scalar is reduced over
 * a dimension that it gets for that. */
aot_value batch_reduce(batch_call *k)
{
    unsigned at = (unsigned)k->row[0], keep_at = (unsigned)k->row[1];
    batched b = b_in(k, 0);
    unsigned rank = b_rank(b);
    aot_tensor *self = b_front(k, b);
    aot_value dims = reduced_dims(k, at, rank, &self);
    bool scalar = rank == 0 && (!aot_v_is_list(dims) || dims.n == 1), keep = false;
    if (scalar) {
        keep = keep_at == 1 || (keep_at > 1 && k->args[keep_at].u.dim.value != 0);
        self = AOT(k->t, aten_unsqueeze, self, -1);
        dims = aot_v_is_list(dims) ? aot_v_ints(k->t, 1, (const int64_t[]){0}) : aot_v_int(0);
    }
    k->args[0] = aot_v_tensor(self);
    k->args[at] = b_wrapped_dims(k, dims, aot_ndim(self) - 1);
    aot_value out = b_call(k);
    return scalar && keep ? tr_map_tensors(k->t, out, squeeze_last, k->t) : out;
}

/* sum(x), mean(x): over all dimensions */
bool batch_reduce_all(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    int64_t all[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        all[i] = i;
    }
    aot_value dims = aot_v_ints(k->t, aot_ndim(x), all);
    return aot_x_give(k, k->op == AOT_OP_aten_sum
                             ? AOT(k->t, aten_sum_dim_IntList, x, dims, false, k->args[1])
                             : AOT(k->t, aten_mean_dim, x, dims, false, k->args[1]));
}

bool batch_norm_scalar(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    int64_t all[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        all[i] = i;
    }
    return aot_x_give(k, AOT(k->t, aten_norm_ScalarOpt_dim, x, k->args[1],
                             aot_v_ints(k->t, aot_ndim(x), all), false));
}

/* max(x), all(x) ...: over the flattened tensor */
bool batch_reduce_flat(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = AOT(t, aten_flatten_using_ints, k->args[0]);
    switch (k->op) {
    case AOT_OP_aten_all: return aot_x_give(k, AOT(t, aten_all_dim, x, 0, false));
    case AOT_OP_aten_any: return aot_x_give(k, AOT(t, aten_any_dim, x, 0, false));
    case AOT_OP_aten_max: return aot_x_give(k, AOT(t, aten_max_dim, x, 0, false));
    case AOT_OP_aten_min: return aot_x_give(k, AOT(t, aten_min_dim, x, 0, false));
    case AOT_OP_aten_median: return aot_x_give(k, AOT(t, aten_median_dim, x, 0, false));
    default: return aot_x_give(k, AOT(t, aten_prod_dim_int, x, 0, false, k->args[1]));
    }
}

aot_value batch_softmax_backward(batch_call *k)
{
    batched g = b_in(k, 0), out = b_in(k, 1);
    aot_tensor *grad = b_front(k, g);
    aot_tensor *y = b_front(k, out);
    if (g.bdim < 0) {
        grad = AOT(k->t, aten_expand, grad, aot_sizes(y), false);
    } else if (out.bdim < 0) {
        y = AOT(k->t, aten_expand, y, aot_sizes(grad), false);
    }
    if (aot_ndim(y) == 1) {
        return AOT_V(k->t, aten_zeros_like, grad);
    }
    if (k->op == AOT_OP_aten__softmax_backward_data) {
        y = AOT(k->t, aten_contiguous, y);
    }
    k->args[0] = aot_v_tensor(grad);
    k->args[1] = aot_v_tensor(y);
    k->args[2] = b_wrapped_dims(k, k->args[2], aot_ndim(y) - 1);
    return b_call(k);
}
