/* Decompositions of pooling.
 * Mirrors torch/_inductor/decomposition.py (max_pool2d_with_indices, adaptive_max_pool2d) and
 * torch/_decomp/decompositions.py (max_unpool). */
#include "decomp/decomp_parts.h"

enum { LARGEST_WINDOW = 25 }; /* Inductor's own loops handle windows up to this */

/* A list of n ints from an argument of one or n. */
static aot_value spread(aot_expand *k, aot_dims d, unsigned n)
{
    aot_dim *out = dc_room(k->t, n);
    for (unsigned i = 0; i < n; i++) {
        out[i] = d.d[d.n == n ? i : 0];
    }
    return aot_v_dims(k->t, (aot_dims){out, n});
}

/* max_pool2d_with_indices, max_pool3d_with_indices: offsets within the window instead of indices */
static bool max_pool(aot_expand *k, unsigned n)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims kernel = aot_x_dims(k, 1), stride = aot_x_dims(k, 2);
    aot_value window = spread(k, kernel, n), step = spread(k, stride.n == 0 ? kernel : stride, n);
    int64_t area = 1;
    for (unsigned i = 0; i < n; i++) {
        area *= window.u.items[i].u.dim.value;
    }
    if (area > LARGEST_WINDOW) {
        return false;
    }
    aot_value padding = spread(k, aot_x_dims(k, 3), n), dilation = spread(k, aot_x_dims(k, 4), n);
    aot_value r = AOT_V(t, prims__low_memory_max_pool_with_offsets, x, window, step, padding,
                        dilation, k->args[5]);
    aot_dims all = aot_sizes(x), image = {all.d + all.n - n, n};
    aot_tensor *out[] = {aot_v_item(r, 0), NULL};
    out[1] = AOT(t, prims__low_memory_max_pool_offsets_to_indices, aot_v_item(r, 1), window, image,
                 step, padding, dilation);
    return aot_x_give_tuple(k, 2, out);
}

bool decomp_max_pool2d_with_indices(aot_expand *k)
{
    return max_pool(k, 2);
}

bool decomp_max_pool3d_with_indices(aot_expand *k)
{
    return max_pool(k, 3);
}

/* Windows of one size are a common pooling. */
bool decomp_adaptive_max_pool2d(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims size = aot_x_dims(k, 1);
    if (size.n != 2 || aot_ndim(x) < 2) {
        return false;
    }
    if (size.d[0].value == 0 || size.d[1].value == 0) {
        aot_dims shape = dc_reshaped(t, x, aot_ndim(x) - 2, 2, 2, size.d);
        aot_tensor *out[2];
        out[0] = AOT(t, aten_new_empty, x, shape, AOT_NONE, AOT_NONE, AOT_NONE, aot_v_bool(false));
        out[1] = AOT(t, aten_new_empty, x, shape, aot_v_dtype(AOT_I64), AOT_NONE, AOT_NONE,
                     aot_v_bool(false));
        return aot_x_give_tuple(k, 2, out);
    }
    aot_dim kernel[2];
    for (unsigned i = 0; i < 2; i++) {
        aot_dim in = aot_size(x, (int64_t)i - 2);
        if (in.value % size.d[i].value != 0) {
            return false;
        }
        kernel[i] = dc_dim(t, '/', in, size.d[i]);
    }
    return aot_x_give_value(k, AOT_V(t, aten_max_pool2d_with_indices, x, ((aot_dims){kernel, 2})));
}

/* max_unpool2d, max_unpool3d: values go where the indices say, within each channel */
bool decomp_max_unpool(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *index = aot_x_tensor(k, 1);
    aot_dims size = aot_x_dims(k, 2);
    dc_need_ndim(t, x, size.n);
    unsigned n = aot_ndim(x), outer = n - size.n;
    aot_dims shape = dc_reshaped(t, x, outer, size.n, size.n, size.d);
    for (unsigned i = 0; i < shape.n; i++) {
        if (aot_dim_eq(shape.d[i], aot_dim_of(0))) {
            return aot_x_give(k, dc_new_zeros(t, x, shape));
        }
    }
    aot_dim *channel = dc_room(t, n);
    for (unsigned i = 0; i < n; i++) {
        channel[i] = i < outer ? aot_size(x, i) : aot_dim_of(1);
    }
    aot_value flat = aot_v_ints(t, 1, (int64_t[]){-1});
    aot_tensor *at = dc_arange(t, dc_prod(t, aot_sizes(x), 0, outer), AOT_NO_DTYPE, x);
    at = AOT(t, aten_view, at, ((aot_dims){channel, n}));
    at = MUL(at, dc_prod(t, size, 0, size.n));
    at = ADD(index, at);
    at = AOT(t, aten_reshape, at, flat);
    aot_tensor *zeros = dc_new_zeros(t, x, shape);
    aot_tensor *to = AOT(t, aten_reshape, zeros, flat), *from = NULL;
    from = AOT(t, aten_reshape, x, flat);
    to = AOT(t, aten__unsafe_index_put, to, dc_indices(t, 0, 1, &at), from, false);
    return aot_x_give(k, AOT(t, aten_view, to, shape));
}
