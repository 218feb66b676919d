/* The gradient of affine_grid_generator: a product with the grid of an identity transform.
 *
 * Mirrors: aten/src/ATen/native/AffineGridGenerator.cpp */
#include "trace/trace.h"

/* Centres (or corners) of n cells from -1 to 1. */
static aot_tensor *steps(aot_tracer *t, const aot_tensor *like, aot_dim n, bool corners)
{
    aot_value dtype = aot_v_dtype(aot_dtype_of(like));
    aot_value layout = aot_v_name(t, "torch.strided");
    aot_value device = aot_v_device(aot_device_of(like));
    if (n.value <= 1) {
        return AOT(t, aten_scalar_tensor, 0, dtype, layout, device);
    }
    aot_tensor *x = AOT(t, aten_linspace, -1, 1, n, dtype, layout, device);
    if (corners) {
        return x;
    }
    x = AOT(t, aten_mul_Scalar, x, aot_trace_dim(t, '-', n, aot_dim_of(1)));
    return AOT(t, aten_div_Scalar, x, n);
}

/* affine_grid_generator_backward(grad, size [N, C, (D,) H, W], align_corners) */
bool composite_affine_grid_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *grad = aot_x_tensor(k, 0);
    aot_dims size = aot_x_dims(k, 1);
    unsigned n = size.n - 2; // spatial dimensions
    if (size.n < 4 || size.n > 5) {
        aot_trace_fail(t, AOT_E_SHAPE, "a grid for an image of %u dimensions", size.n);
    }
    bool corners = aot_x_bool(k, 2);
    aot_dim shape[5], cells = aot_dim_of(1);
    shape[0] = size.d[0];
    for (unsigned i = 0; i < n; i++) {
        shape[1 + i] = size.d[2 + i];
        cells = aot_trace_dim(t, '*', cells, size.d[2 + i]);
    }
    shape[n + 1] = aot_dim_of(n + 1);
    aot_tensor *grid = AOT(t, aten_empty_memory_format, ((aot_dims){shape, n + 2}),
                           aot_v_dtype(aot_dtype_of(grad)), aot_v_name(t, "torch.strided"),
                           aot_v_device(aot_device_of(grad)));
    for (unsigned i = 0; i < n; i++) {
        aot_tensor *plane = AOT(t, aten_select_int, grid, -1, i);
        aot_tensor *x = steps(t, grad, size.d[1 + n - i], corners);
        for (unsigned j = 0; j < i; j++) {
            x = AOT(t, aten_unsqueeze_, x, -1);
        }
        (void)AOT(t, aten_copy_, plane, x);
    }
    aot_tensor *ones = AOT(t, aten_select_int, grid, -1, n);
    (void)AOT(t, aten_fill__Scalar, ones, 1);
    const aot_dim rows[] = {size.d[0], cells, aot_dim_of(n)};
    const aot_dim points[] = {size.d[0], cells, aot_dim_of(n + 1)};
    grad = AOT(t, aten_reshape, grad, ((aot_dims){rows, 3}));
    grid = AOT(t, aten_view, grid, ((aot_dims){points, 3}));
    grid = AOT(t, aten_transpose_int, grid, 1, 2);
    grid = AOT(t, aten_bmm, grid, grad);
    return aot_x_give(k, AOT(t, aten_transpose_int, grid, 1, 2));
}
