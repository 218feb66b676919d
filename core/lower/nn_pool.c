/* Pooling functions of torch.nn.functional. Those with return_indices are called by the name of
 * either form; the graph holds the arguments of both.
 *
 * Mirrors: torch/nn/functional.py (max_pool*, adaptive_*, fractional_max_pool*, max_unpool*,
 * lp_pool*) */
#include "lower/nn.h"

#include <math.h>
#include <string.h>

/* 1, 2 or 3 of "max_pool2d_with_indices". */
static unsigned n_spatial(const aot_pycall *k)
{
    const char *d = strpbrk(nn_name(k), "123");
    return d != NULL ? (unsigned)(*d - '0') : 1;
}

static bool wants_indices(const aot_pycall *k, unsigned pos)
{
    return strstr(nn_name(k), "_with_indices") != NULL ||
           aot_l_bool(k, pos, "return_indices", false);
}

static aot_op_id by_dim(const aot_pycall *k, aot_op_id d1, aot_op_id d2, aot_op_id d3)
{
    unsigned n = n_spatial(k);
    return n == 1 ? d1 : n == 2 ? d2 : d3;
}

aot_value lower_max_pool(const aot_pycall *k)
{
    aot_value empty = aot_v_list(k->t, 0, NULL);
    aot_value args[] = {
        nn_arg(k, 0, "input"),
        nn_arg(k, 1, "kernel_size"),
        nn_arg_or(k, 2, "stride", empty),
        nn_arg_or(k, 3, "padding", aot_v_int(0)),
        nn_arg_or(k, 4, "dilation", aot_v_int(1)),
        nn_arg_or(k, 5, "ceil_mode", aot_v_bool(false)),
    };
    aot_op_id op = wants_indices(k, 6)
                       ? by_dim(k, AOT_OP_aten_max_pool1d_with_indices,
                                AOT_OP_aten_max_pool2d_with_indices,
                                AOT_OP_aten_max_pool3d_with_indices)
                       : by_dim(k, AOT_OP_aten_max_pool1d, AOT_OP_aten_max_pool2d,
                                AOT_OP_aten_max_pool3d);
    return aot_call_op(k->t, op, 6, args);
}

/* _list_with_default: None stands for the input's own size. */
static aot_value sizes_with_default(const aot_pycall *k, aot_value size, const aot_tensor *x)
{
    if (!aot_v_is_list(size)) {
        return size;
    }
    aot_value *d = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_value, size.n);
    for (unsigned i = 0; i < size.n; i++) {
        bool none = size.u.items[i].kind == AOT_V_NONE;
        d[i] = none ? aot_v_dim(aot_size(x, (int64_t)i - size.n)) : size.u.items[i];
    }
    return aot_v_list(k->t, size.n, d);
}

aot_value lower_adaptive_avg_pool(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_value size = sizes_with_default(k, nn_arg(k, 1, "output_size"), x);
    aot_op_id op = by_dim(k, AOT_OP_aten_adaptive_avg_pool1d, AOT_OP_aten_adaptive_avg_pool2d,
                          AOT_OP_aten_adaptive_avg_pool3d);
    return aot_call_op(k->t, op, 2, (const aot_value[]){aot_v_tensor(x), size});
}

static aot_value with_or_without_indices(const aot_pycall *k, unsigned pos, aot_value both)
{
    return wants_indices(k, pos) ? both : aot_v_tensor(aot_v_item(both, 0));
}

aot_value lower_adaptive_max_pool(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_value size = sizes_with_default(k, nn_arg(k, 1, "output_size"), x);
    aot_op_id op = by_dim(k, AOT_OP_aten_adaptive_max_pool1d, AOT_OP_aten_adaptive_max_pool2d,
                          AOT_OP_aten_adaptive_max_pool3d);
    aot_value both = aot_call_op(k->t, op, 2, (const aot_value[]){aot_v_tensor(x), size});
    return with_or_without_indices(k, 2, both);
}

static aot_dims fractional_size(const aot_pycall *k, const aot_tensor *x, unsigned n)
{
    if (aot_l_given(k, 2, "output_size")) {
        return nn_dims(k->t, nn_arg(k, 2, "output_size"), n);
    }
    aot_value ratio = nn_arg(k, 3, "output_ratio");
    aot_dim *d = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_dim, n);
    for (unsigned i = 0; i < n; i++) {
        aot_value r = aot_v_is_list(ratio) ? ratio.u.items[i < ratio.n ? i : 0] : ratio;
        double f = r.kind == AOT_V_FLOAT ? r.u.f : (double)r.u.dim.value;
        d[i] = aot_dim_of((int64_t)((double)aot_size(x, (int64_t)i - n).value * f));
    }
    return (aot_dims){d, n};
}

aot_value lower_fractional_max_pool(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    unsigned n = n_spatial(k);
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_dims size = fractional_size(k, x, n);
    aot_tensor *samples = aot_l_tensor(k, 5, "_random_samples");
    if (samples == NULL) {
        aot_dim d[] = {aot_ndim(x) == n + 1 ? aot_dim_of(1) : aot_size(x, 0),
                       aot_size(x, -(int64_t)n - 1), aot_dim_of(n)};
        samples = AOT(t, aten_rand, ((aot_dims){d, 3}), aot_v_dtype(aot_dtype_of(x)), AOT_NONE,
                      aot_v_device(aot_device_of(x)), false);
    }
    aot_value kernel = nn_arg(k, 1, "kernel_size");
    aot_value both = n == 2 ? AOT_V(t, aten_fractional_max_pool2d, x, kernel, size, samples)
                            : AOT_V(t, aten_fractional_max_pool3d, x, kernel, size, samples);
    return with_or_without_indices(k, 4, both);
}

/* _unpool_output_size */
static aot_dims unpool_size(const aot_pycall *k, const aot_tensor *x, aot_dims kernel,
                            aot_dims stride, aot_dims padding)
{
    unsigned n = kernel.n;
    aot_value given = nn_arg(k, 5, "output_size");
    if (aot_v_is_list(given)) {
        aot_dims all = nn_dims(k->t, given, given.n);
        return (aot_dims){all.d + (all.n - n), n};
    }
    aot_dim *d = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_dim, n + 1);
    for (unsigned i = 0; i < n; i++) {
        aot_dim steps = aot_trace_dim(k->t, '-', aot_size(x, (int64_t)i - n), aot_dim_of(1));
        aot_dim span =
            aot_trace_dim(k->t, '+', aot_trace_dim(k->t, '*', steps, stride.d[i]), kernel.d[i]);
        d[i] =
            aot_trace_dim(k->t, '-', span, aot_trace_dim(k->t, '*', aot_dim_of(2), padding.d[i]));
    }
    return (aot_dims){d, n};
}

aot_value lower_max_unpool(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    unsigned n = n_spatial(k);
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_tensor *indices = aot_l_tensor(k, 1, "indices");
    aot_value kernel_size = nn_arg(k, 2, "kernel_size");
    aot_dims kernel = nn_dims(t, kernel_size, n);
    aot_dims stride = nn_dims(t, nn_arg_or(k, 3, "stride", kernel_size), n);
    aot_dims padding = nn_dims(t, nn_arg_or(k, 4, "padding", aot_v_int(0)), n);
    aot_dims size = unpool_size(k, x, kernel, stride, padding);
    if (n == 3) {
        return AOT_V(t, aten_max_unpool3d, x, indices, size, stride, padding);
    }
    if (n == 2) {
        return AOT_V(t, aten_max_unpool2d, x, indices, size);
    }
    x = AOT(t, aten_unsqueeze, x, -1);
    indices = AOT(t, aten_unsqueeze, indices, -1);
    const aot_dim plane[] = {size.d[0], aot_dim_of(1)};
    aot_tensor *r = AOT(t, aten_max_unpool2d, x, indices, ((aot_dims){plane, 2}));
    return AOT_V(t, aten_squeeze_dim, r, -1);
}

aot_value lower_lp_pool(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    unsigned n = n_spatial(k);
    aot_value kernel_size = nn_arg(k, 2, "kernel_size");
    aot_dims kernel = nn_dims(t, kernel_size, n);
    double norm = aot_l_float(k, 1, "norm_type", 2);
    aot_tensor *x =
        AOT(t, aten_pow_Tensor_Scalar, nn_arg(k, 0, "input"), nn_arg(k, 1, "norm_type"));
    aot_value args[] = {
        aot_v_tensor(x),
        kernel_size,
        nn_arg_or(k, 3, "stride", aot_v_list(t, 0, NULL)),
        aot_v_int(0),
        nn_arg_or(k, 4, "ceil_mode", aot_v_bool(false)),
    };
    aot_op_id op =
        by_dim(k, AOT_OP_aten_avg_pool1d, AOT_OP_aten_avg_pool2d, AOT_OP_aten_avg_pool3d);
    aot_tensor *out = aot_v_first(aot_call_op(t, op, 5, args));
    aot_dim taps = aot_dim_of(1);
    for (unsigned i = 0; i < n; i++) {
        taps = aot_trace_dim(t, '*', taps, kernel.d[i]);
    }
    aot_tensor *sign = AOT(t, aten_sign, out);
    aot_tensor *abs = AOT(t, aten_abs, out);
    aot_tensor *relu = AOT(t, aten_relu, abs);
    out = AOT(t, aten_mul_Tensor, sign, relu);
    out = AOT(t, aten_mul_Tensor, out, taps);
    return AOT_V(t, aten_pow_Tensor_Scalar, out, 1.0 / norm);
}
