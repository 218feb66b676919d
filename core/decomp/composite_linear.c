/* linear: one addmm where that is possible, else matmul and add.
 *
 *     x [2, 3, 4], weight [5, 4], bias [5]
 *     ->  addmm(bias, view(x, [6, 4]), t(weight)), view(.., [2, 3, 5])
 *
 * Mirrors: aten/src/ATen/native/Linear.cpp */
#include "trace/layer.h"
#include "trace/trace.h"

/* All but the last dimension as one. */
static aot_dim rows_of(aot_tracer *t, const aot_tensor *x)
{
    aot_dim n = aot_dim_of(1);
    for (unsigned i = 0; i + 1 < aot_ndim(x); i++) {
        n = aot_trace_dim(t, '*', n, aot_size(x, i));
    }
    return n;
}

static aot_tensor *flat_linear(aot_tracer *t, aot_tensor *x, aot_tensor *weight, aot_tensor *bias)
{
    unsigned n = aot_ndim(x);
    const aot_dim flat[] = {rows_of(t, x), aot_size(x, -1)};
    aot_tensor *rows = AOT(t, aten_reshape, x, ((aot_dims){flat, 2}));
    aot_tensor *w = AOT(t, aten_t, weight);
    aot_tensor *r = AOT(t, aten_addmm, bias, rows, w);
    aot_dim *shape = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, n);
    for (unsigned i = 0; i + 1 < n; i++) {
        shape[i] = aot_size(x, i);
    }
    shape[n - 1] = aot_size(r, 1);
    return AOT(t, aten_view, r, ((aot_dims){shape, n}));
}

bool composite_linear(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *weight = aot_x_tensor(k, 1), *bias = aot_x_tensor(k, 2);
    if (bias != NULL && aot_ndim(x) == 2) {
        aot_tensor *w = AOT(t, aten_t, weight);
        return aot_x_give(k, AOT(t, aten_addmm, bias, x, w));
    }
    bool flat = aot_is_contiguous(x) && !aot_layer_is_batched(t, x); // which says it is not
    if (bias != NULL && aot_ndim(bias) == 1 && flat) {
        return aot_x_give(k, flat_linear(t, x, weight, bias));
    }
    aot_tensor *w = AOT(t, aten_t, weight);
    aot_tensor *r = AOT(t, aten_matmul, x, w);
    return aot_x_give(k, bias != NULL ? AOT(t, aten_add_Tensor, r, bias) : r);
}

/* bilinear: the leading dimensions as one, then _trilinear. */
bool composite_bilinear(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a = aot_x_tensor(k, 0), *b = aot_x_tensor(k, 1), *weight = aot_x_tensor(k, 2);
    aot_tensor *bias = aot_x_tensor(k, 3);
    unsigned n = aot_ndim(a);
    if (n == 0 || aot_ndim(b) != n) {
        aot_trace_fail(t, AOT_E_SHAPE, "bilinear: inputs of %u and %u dimensions", n, aot_ndim(b));
    }
    aot_dim *shape = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, n);
    for (unsigned i = 0; i + 1 < n; i++) {
        shape[i] = aot_size(a, i);
    }
    shape[n - 1] = aot_size(weight, 0);
    const aot_dim flat_a[] = {aot_dim_of(-1), aot_size(a, -1)};
    const aot_dim flat_b[] = {aot_dim_of(-1), aot_size(b, -1)};
    aot_tensor *rows_a = AOT(t, aten_view, a, ((aot_dims){flat_a, 2}));
    aot_tensor *rows_b = AOT(t, aten_view, b, ((aot_dims){flat_b, 2}));
    aot_tensor *r = AOT(t, aten__trilinear, rows_a, weight, rows_b,
                        aot_v_ints(t, 2, (const int64_t[]){1, 3}),
                        aot_v_ints(t, 1, (const int64_t[]){0}),
                        aot_v_ints(t, 2, (const int64_t[]){1, 2}),
                        aot_v_ints(t, 2, (const int64_t[]){2, 3}));
    r = AOT(t, aten_view, r, ((aot_dims){shape, n}));
    return aot_x_give(k, bias != NULL ? AOT(t, aten_add_Tensor, r, bias) : r);
}
