/* Batch rules of joining, losses, layers and random numbers.
 * Mirrors aten/src/ATen/functorch/LegacyBatchingRegistrations.cpp, BatchRulesLoss.cpp,
 * BatchRulesModules.cpp, BatchRulesRandomness.cpp. */
#include <string.h>

#include "trace/batch.h"

static bool is_legacy_empty(batched b)
{
    unsigned at = b.bdim == 0;
    return b_rank(b) == 1 && aot_dim_eq(b.x->type->size[at], aot_dim_of(0));
}

aot_value batch_cat(batch_call *k)
{
    aot_value list = k->args[0];
    aot_tensor **x = tr_alloc(k->t, list.n + 1, sizeof(aot_tensor *));
    unsigned rank = 1;
    bool any = false;
    for (unsigned i = 0; i < list.n; i++) {
        batched b = b_of(k, list.u.items[i]);
        any |= b.bdim >= 0 && !is_legacy_empty(b);
        rank = is_legacy_empty(b) ? rank : b_rank(b);
    }
    for (unsigned i = 0; i < list.n; i++) {
        batched b = b_of(k, list.u.items[i]);
        if (is_legacy_empty(b)) {
            x[i] = b.bdim >= 0 ? AOT(k->t, aten_select_int, b.x, b.bdim, 0) : b.x;
        } else if (any) {
            x[i] = b_ensured(k, b);
        } else {
            x[i] = b.x;
        }
    }
    int dim = (int)aot_wrap_dim(k->t, k->args[1].u.dim.value, rank);
    k->out = any ? 0 : -1;
    return AOT_V(k->t, aten_cat, aot_v_tensors(k->t, list.n, x), any ? dim + 1 : dim);
}

aot_value batch_stack(batch_call *k)
{
    aot_value list = k->args[0];
    aot_tensor **x = tr_alloc(k->t, list.n + 1, sizeof(aot_tensor *));
    unsigned rank = b_rank(b_of(k, list.u.items[0]));
    for (unsigned i = 0; i < list.n; i++) {
        x[i] = b_ensured(k, b_of(k, list.u.items[i]));
    }
    int dim = (int)aot_wrap_dim(k->t, k->args[1].u.dim.value, rank + 1);
    return AOT_V(k->t, aten_stack, aot_v_tensors(k->t, list.n, x), dim + 1);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static aot_tensor *flat(batch_call *k, batched b)
{
    aot_tensor *x = b_front(k, b);
    if (b.bdim < 0) {
        return AOT(k->t, aten_flatten_using_ints, x);
    }
    return aot_ndim(x) > 1 ? AOT(k->t, aten_flatten_using_ints, x, 1) : x;
}

aot_value batch_mse_loss(batch_call *k)
{
    aot_tracer *t = k->t;
    batched a = b_in(k, 0), b = b_in(k, 1);
    int64_t reduction = k->args[2].u.dim.value;
    aot_tensor *x = flat(k, a);
    aot_tensor *y = flat(k, b);
    aot_tensor *out = AOT(t, aten_mse_loss, x, y, 0);
    if (aot_ndim(out) == 1) {
        return aot_v_tensor(out);
    }
    if (reduction == 0) {
        aot_tensor *like = b_front(k, a.bdim >= 0 ? a : b);
        return AOT_V(t, aten_reshape, out, aot_sizes(like));
    }
    aot_value last = aot_v_ints(t, 1, (const int64_t[]){-1});
    return reduction == 1 ? AOT_V(t, aten_mean_dim, out, last)
                          : AOT_V(t, aten_sum_dim_IntList, out, last);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Rows of all weights one after the other; the indices skip those of the items before. */
aot_value batch_embedding(batch_call *k)
{
    aot_tracer *t = k->t;
    batched w = b_in(k, 0), i = b_in(k, 1);
    if (w.bdim < 0) {
        k->out = i.bdim;
        k->args[1] = aot_v_tensor(i.x);
        return b_call(k);
    }
    if (i.bdim < 0) {
        aot_tensor *weight = b_reshape_into(k, w.x, w.bdim, -1);
        aot_tensor *out = AOT(t, aten_embedding, weight, i.x);
        k->out = (int)aot_ndim(out) - 1;
        return aot_v_tensor(b_reshape_outof(k, out, -1, k->batch));
    }
    aot_dim rows = w.x->type->size[w.bdim == 0 ? 1 : 0];
    aot_tensor *weight = b_reshape_into(k, w.x, w.bdim, 0);
    aot_tensor *index = b_front(k, i);
    aot_tensor *range = AOT(t, aten_arange, aot_v_dim(k->batch), (int)aot_dtype_of(index),
                            aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(index)));
    range = AOT(t, aten_mul_Scalar, range, aot_v_dim(rows));
    while (aot_ndim(range) < aot_ndim(index)) {
        range = AOT(t, aten_unsqueeze, range, -1);
    }
    index = AOT(t, aten_add_Tensor, index, range);
    return AOT_V(t, aten_embedding, weight, index);
}

/* ---- random numbers -------------------------------------------------------------------------- */

static bool is_size(aot_span name)
{
    return name.n == 4 && memcmp(name.s, "size", 4) == 0;
}

/* Factories make the batch as the first dimension. */
aot_value tr_batch_random(aot_tracer *t, aot_op_id op, unsigned n, aot_value *args, aot_dim batch)
{
    const op_facts *f = tr_op(t, op);
    unsigned at = 0;
    while (at < n && !is_size(f->schema.args[at].name)) {
        at++;
    }
    if (at == n) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED,
                       "vmap: no batch rule for different random numbers of %s",
                       tr_op_text(t, op));
    }
    batch_call k = {.t = t, .batch = batch};
    args[at] = b_dims_after(&k, args[at], batch);
    unsigned layer = t->depth;
    bool grad;
    unsigned depth = tr_layer_leave(t, &grad);
    aot_tensor *x = aot_v_first(aot_call_op(t, op, n, args));
    tr_layer_return(t, depth, grad);
    return aot_v_tensor(aot_layer_add_batch(t, x, 0, layer));
}
