/* Batch rules of views, and of what takes sizes.
 * Mirrors aten/src/ATen/functorch/BatchRulesViews.cpp, BatchRulesFactory.cpp,
 * LegacyBatchingRegistrations.cpp. */
#include "trace/batch.h"

#include <string.h>

static bool to_front(batch_call *k)
{
    batched b = b_in(k, 0);
    k->args[0] = aot_v_tensor(b_front(k, b));
    return b.bdim >= 0;
}

/* row: places of two arguments that are dimensions (0: none), and how many dimensions more the
 * result has. */
aot_value batch_dims(batch_call *k)
{
    unsigned rank = b_rank(b_in(k, 0)) + (unsigned)k->row[2];
    if (k->op == AOT_OP_aten_transpose_int && rank == 0) {
        return batch_unary(k);
    }
    to_front(k);
    for (int i = 0; i < 2; i++) {
        if (k->row[i] != 0) {
            k->args[k->row[i]] = b_wrapped_dims(k, k->args[k->row[i]], rank);
        }
    }
    return b_call(k);
}

aot_value batch_permute(batch_call *k)
{
    aot_value dims = b_wrapped_dims(k, k->args[1], b_rank(b_in(k, 0)));
    to_front(k);
    k->args[1] = b_dims_after(k, dims, aot_dim_of(0));
    return b_call(k);
}

aot_value batch_roll(batch_call *k)
{
    aot_tracer *t = k->t;
    unsigned rank = b_rank(b_in(k, 0));
    to_front(k);
    if (k->args[2].n != 0) {
        k->args[2] = b_wrapped_dims(k, k->args[2], rank);
        return b_call(k);
    }
    aot_dims old = aot_sizes(k->args[0].u.t);
    aot_tensor *x = AOT(t, aten_flatten_using_ints, k->args[0], 1);
    x = AOT(t, aten_roll, x, k->args[1], 1);
    return AOT_V(t, aten_reshape, x, old);
}

bool batch_t(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    return aot_x_give(k, aot_ndim(x) < 2 ? x : AOT(k->t, aten_transpose_int, x, 0, 1));
}

bool batch_trace(aot_expand *k)
{
    aot_tensor *x = AOT(k->t, aten_diagonal, k->args[0]);
    return aot_x_give(k, AOT(k->t, aten_sum, x));
}

/* ---- squeeze --------------------------------------------------------------------------------- */

static bool is_one(const aot_tensor *x, unsigned i)
{
    return aot_dim_eq(aot_size(x, i), aot_dim_of(1));
}

aot_value batch_squeeze(batch_call *k)
{
    batched b = b_in(k, 0);
    aot_dim size[AOT_FAKE_MAX_NDIM];
    unsigned n = 0;
    if (aot_ndim(b.x) == 1) {
        k->out = b.bdim;
        return AOT_V(k->t, aten_alias, b.x);
    }
    for (unsigned i = 0; i < aot_ndim(b.x); i++) {
        if ((int)i == b.bdim) {
            k->out = (int)n;
        }
        if ((int)i == b.bdim || !is_one(b.x, i)) {
            size[n++] = aot_size(b.x, i);
        }
    }
    return AOT_V(k->t, aten_view, b.x, ((aot_dims){size, n}));
}

/* The dimensions of a value that are meant; where its batch is without those that are dropped. */
static aot_value squeezed_dims(batch_call *k, batched b)
{
    aot_value dims = aot_v_is_list(k->args[1]) ? k->args[1] : aot_v_list(k->t, 1, &k->args[1]);
    aot_value *d = tr_alloc(k->t, dims.n + 1, sizeof *d);
    k->out = b.bdim;
    for (unsigned i = 0; i < dims.n; i++) {
        int at = (int)aot_wrap_dim(k->t, dims.u.items[i].u.dim.value, aot_ndim(b.x) - 1);
        k->out -= at < b.bdim && is_one(b.x, (unsigned)at);
        d[i] = aot_v_int(at < b.bdim ? at : at + 1);
    }
    return (aot_value){.kind = AOT_V_LIST, .n = dims.n, .u.items = d};
}

aot_value batch_squeeze_dims(batch_call *k)
{
    batched b = b_in(k, 0);
    if (aot_ndim(b.x) == 1) {
        k->out = b.bdim;
        return AOT_V(k->t, aten_alias, b.x);
    }
    aot_value dims = squeezed_dims(k, b);
    return AOT_V(k->t, aten_squeeze_dims, b.x, dims);
}

/* In place the batch may move too. */
static aot_value moved_batch(batch_call *k, aot_value out)
{
    k->args[0].u.t->bdim = k->out;
    return out;
}

aot_value batch_squeeze_dims_(batch_call *k)
{
    batched b = b_in(k, 0);
    if (aot_ndim(b.x) == 1) {
        return k->args[0];
    }
    aot_value dims = squeezed_dims(k, b);
    return moved_batch(k, AOT_V(k->t, aten_squeeze__dims, b.x, dims));
}

aot_value batch_squeeze_(batch_call *k)
{
    batched b = b_in(k, 0);
    bool batch_is_one = is_one(b.x, (unsigned)b.bdim);
    k->out = b.bdim;
    for (unsigned i = 0; (int)i < b.bdim; i++) {
        k->out -= is_one(b.x, i);
    }
    aot_value out = AOT_V(k->t, aten_squeeze_, b.x);
    if (batch_is_one) {
        out = AOT_V(k->t, aten_unsqueeze_, b.x, k->out);
    }
    return moved_batch(k, out);
}

aot_value batch_unsqueeze_(batch_call *k)
{
    batched b = b_in(k, 0);
    int at = (int)aot_wrap_dim(k->t, k->args[1].u.dim.value, aot_ndim(b.x));
    k->out = at >= b.bdim ? b.bdim : b.bdim + 1;
    return moved_batch(k, AOT_V(k->t, aten_unsqueeze_, b.x, at >= b.bdim ? at + 1 : at));
}

aot_value batch_transpose_(batch_call *k)
{
    batched b = b_in(k, 0);
    unsigned rank = b_rank(b);
    int d[2];
    for (unsigned i = 0; i < 2 && rank != 0; i++) {
        d[i] = (int)aot_wrap_dim(k->t, k->args[1 + i].u.dim.value, rank);
        d[i] += d[i] >= b.bdim;
    }
    return rank == 0 ? k->args[0] : AOT_V(k->t, aten_transpose_, b.x, d[0], d[1]);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* row: place of the sizes; whether the batch of self must be in front. */
aot_value batch_size(batch_call *k)
{
    unsigned at = (unsigned)k->row[0];
    k->args[0] = aot_v_tensor(k->row[1] != 0 ? b_front(k, b_in(k, 0)) : b_in(k, 0).x);
    k->args[at] = b_dims_after(k, k->args[at], k->batch);
    return b_call(k);
}

/* Its argument is not used any more: it may be copied where no view is possible. */
aot_value batch_unsafe_view(batch_call *k)
{
    to_front(k);
    if (!aot_is_contiguous(k->args[0].u.t)) {
        k->args[0] = AOT_V(k->t, aten_contiguous, k->args[0]);
    }
    k->args[1] = b_dims_after(k, k->args[1], k->batch);
    return b_call(k);
}

/* row: place of the sizes of what the gradient is of, places of its dimensions (0: none). */
aot_value batch_size_dims(batch_call *k)
{
    unsigned at = (unsigned)k->row[0], rank = k->args[at].n;
    to_front(k);
    k->args[at] = b_dims_after(k, k->args[at], k->batch);
    for (int i = 1; i < 3; i++) {
        if (k->row[i] != 0) {
            k->args[k->row[i]] = b_wrapped_dims(k, k->args[k->row[i]], rank);
        }
    }
    return b_call(k);
}

/* Dimensions that expand adds come behind the batch: a view makes place for them. */
aot_value batch_expand(batch_call *k)
{
    aot_tensor *x = b_front(k, b_in(k, 0));
    unsigned rank = aot_ndim(x) - 1, n = k->args[1].n;
    aot_dim size[AOT_FAKE_MAX_NDIM + 1] = {k->batch};
    if (n < rank) {
        aot_trace_fail(k->t, AOT_E_SHAPE, "expand: %u sizes for %u dimensions", n, rank);
    }
    for (unsigned i = 0; i < n; i++) {
        size[1 + i] = i < n - rank ? aot_dim_of(1) : aot_size(x, 1 + i - (n - rank));
    }
    x = AOT(k->t, aten_view, x, ((aot_dims){size, n + 1}));
    return AOT_V(k->t, aten_expand, x, b_dims_after(k, k->args[1], k->batch), k->args[2]);
}

aot_value batch_repeat(batch_call *k)
{
    aot_tensor *x = b_front(k, b_in(k, 0));
    while (aot_ndim(x) < k->args[1].n + 1) {
        x = AOT(k->t, aten_unsqueeze, x, 1);
    }
    return AOT_V(k->t, aten_repeat, x, b_dims_after(k, k->args[1], aot_dim_of(1)));
}
