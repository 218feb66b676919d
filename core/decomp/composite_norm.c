/* Normalizations as PyTorch calls them under the Python dispatcher on the CPU.
 *
 *     batch_norm       _native_batch_norm_legit or one of its kinds, beside an empty reserve
 *     layer_norm       native_layer_norm
 *     group_norm       native_group_norm of the contiguous input
 *     instance_norm    batch_norm of [1, N * C, ...] with repeated weights
 *     rms_norm         pow, mean, add, rsqrt, mul
 *
 * Mirrors: aten/src/ATen/native/Normalization.cpp, group_norm.cpp, layer_norm.cpp,
 * torch/_decomp/decompositions.py:native_batch_norm_decomposition */
#include <float.h>

#include "rules/meta_shared.h"
#include "trace/trace.h"

/* native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps) by
 * what is known of the running statistics. */
static aot_value native_batch_norm(aot_tracer *t, const aot_value *a)
{
    if (a[3].kind == AOT_V_NONE && a[4].kind == AOT_V_NONE) {
        return AOT_V(t, aten__native_batch_norm_legit_no_stats, a[0], a[1], a[2], a[5], a[6], a[7]);
    }
    if (a[3].kind == AOT_V_NONE || a[4].kind == AOT_V_NONE) {
        aot_trace_fail(
            t, AOT_E_UNSUPPORTED,
            "batch_norm: running_mean and running_var must both be None or both be given");
    }
    return a[5].u.dim.value != 0
               ? AOT_V(t, aten__native_batch_norm_legit, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                       a[7])
               : AOT_V(t, aten__native_batch_norm_legit_no_training, a[0], a[1], a[2], a[3], a[4],
                       a[6], a[7]);
}

/* An empty tensor for cuDNN's use: nobody reads it, and it takes a name. */
static aot_tensor *reserve_space(aot_tracer *t, const aot_tensor *input)
{
    return AOT(t, aten_empty_memory_format, aot_v_ints(t, 1, (const int64_t[]){0}),
               aot_v_name(t, "torch.uint8"), aot_v_name(t, "torch.strided"),
               aot_v_device(aot_device_of(input)));
}

/* The whole of a batch norm of no elements: they have no statistics. */
static aot_value empty_batch_norm(aot_tracer *t, const aot_value *a)
{
    aot_tensor *x = AOT(t, aten_clone, a[0]);
    if (a[1].kind == AOT_V_TENSOR) {
        x = AOT(t, aten_mul_Tensor, x, AOT(t, aten_select_int, a[1], 0, 0));
    }
    if (a[2].kind == AOT_V_TENSOR) {
        x = AOT(t, aten_add_Tensor, x, AOT(t, aten_select_int, a[2], 0, 0));
    }
    aot_value all[3] = {aot_v_tensor(x), aot_v_none(), aot_v_none()};
    return aot_v_tuple(t, 3, all);
}

static aot_value any_batch_norm(aot_expand *k)
{
    bool empty = aot_dim_is(aot_numel(k->t, aot_x_tensor(k, 0)), 0);
    return empty ? empty_batch_norm(k->t, k->args) : native_batch_norm(k->t, k->args);
}

bool composite_batch_norm(aot_expand *k)
{
    reserve_space(k->t, aot_x_tensor(k, 0));
    return aot_x_give(k, aot_v_item(any_batch_norm(k), 0));
}

bool composite_batch_norm_impl_index(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *reserve = reserve_space(t, aot_x_tensor(k, 0));
    aot_value r = any_batch_norm(k);
    aot_value all[] = {r.u.items[0], r.u.items[1], r.u.items[2], aot_v_tensor(reserve),
                       aot_v_int(0)};
    return aot_x_give_value(k, aot_v_tuple(t, 5, all));
}

bool composite_layer_norm(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_native_layer_norm, k->args[0], k->args[1], k->args[2],
                             k->args[3], k->args[4]));
}

/* group_norm(input, num_groups, weight, bias, eps, cudnn_enabled) */
bool composite_group_norm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *weight = aot_x_tensor(k, 2), *bias = aot_x_tensor(k, 3);
    aot_dim rest = aot_dim_of(1);
    for (unsigned i = 2; i < aot_ndim(x); i++) {
        rest = aot_trace_dim(t, '*', rest, aot_size(x, i));
    }
    x = AOT(t, aten_contiguous, x, aot_v_memory_format(t, aot_fake_suggest(aot_type_of(x))));
    weight = weight != NULL ? AOT(t, aten_contiguous, weight) : NULL;
    bias = bias != NULL ? AOT(t, aten_contiguous, bias) : NULL;
    return aot_x_give(k, AOT(t, aten_native_group_norm, x, weight, bias, aot_size(x, 0),
                             aot_size(x, 1), rest, k->args[1], k->args[4]));
}

/* x [C] -> [N * C], or None. */
static aot_tensor *repeated(aot_tracer *t, aot_tensor *x, aot_dim n)
{
    return x != NULL ? AOT(t, aten_repeat, x, ((aot_dims){&n, 1})) : NULL;
}

/* running [C] becomes the mean over the batch of updated [N * C]. */
static void copy_mean(aot_tracer *t, aot_tensor *running, aot_tensor *updated, aot_dim b, aot_dim c)
{
    if (running == NULL) {
        return;
    }
    aot_tensor *to = AOT(t, aten_alias, running);
    const aot_dim shape[] = {b, c};
    aot_tensor *from = AOT(t, aten_view, updated, ((aot_dims){shape, 2}));
    from = AOT(t, aten_mean_dim, from, 0, false);
    (void)AOT(t, aten_copy_, to, from);
}

/* instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,
 *               cudnn_enabled) */
bool composite_instance_norm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims sizes = aot_sizes(x);
    if (sizes.n < 2) {
        aot_trace_fail(t, AOT_E_SHAPE, "instance_norm: an input of %u dimensions", sizes.n);
    }
    aot_dim b = aot_size(x, 0), c = aot_size(x, 1);
    aot_tensor *weight = repeated(t, aot_x_tensor(k, 1), b);
    aot_tensor *bias = repeated(t, aot_x_tensor(k, 2), b);
    aot_tensor *mean = repeated(t, aot_x_tensor(k, 3), b);
    aot_tensor *var = repeated(t, aot_x_tensor(k, 4), b);
    aot_dim *shape = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, sizes.n);
    shape[0] = aot_dim_of(1);
    shape[1] = aot_trace_dim(t, '*', b, c);
    for (unsigned i = 2; i < sizes.n; i++) {
        shape[i] = sizes.d[i];
    }
    x = AOT(t, aten_contiguous, x);
    x = AOT(t, aten_view, x, ((aot_dims){shape, sizes.n}));
    x = AOT(t, aten_batch_norm, x, weight, bias, mean, var, k->args[5], k->args[6], k->args[7],
            k->args[8]);
    if (aot_x_bool(k, 5)) {
        copy_mean(t, aot_x_tensor(k, 3), mean, b, c);
        copy_mean(t, aot_x_tensor(k, 4), var, b, c);
    }
    return aot_x_give(k, AOT(t, aten_view, x, sizes));
}

static aot_tensor *to_dtype(aot_tracer *t, aot_tensor *x, aot_dtype d)
{
    return aot_dtype_of(x) == d ? x : AOT(t, aten_to_dtype, x, aot_v_dtype(d));
}

/* rms_norm(input, normalized_shape, weight, eps), _fused_rms_norm: halves are computed in f32. */
static aot_tensor *rms_norm(aot_expand *k, aot_tensor **rstd)
{
    aot_tracer *t = k->t;
    aot_tensor *input = aot_x_tensor(k, 0), *weight = aot_x_tensor(k, 2);
    aot_dtype dtype = aot_dtype_of(input);
    bool half = dtype == AOT_F16 || dtype == AOT_BF16;
    bool f64 = dtype == AOT_F64 || dtype == AOT_C128;
    double eps = f64 ? aot_x_float(k, 3, DBL_EPSILON) : (float)aot_x_float(k, 3, FLT_EPSILON);
    unsigned n = aot_x_dims(k, 1).n;
    int64_t dims[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        dims[i] = (int64_t)aot_ndim(input) - 1 - i;
    }
    aot_tensor *x = half ? to_dtype(t, input, AOT_F32) : input;
    aot_tensor *y = AOT(t, aten_pow_Tensor_Scalar, x, 2);
    y = AOT(t, aten_mean_dim, y, aot_v_ints(t, n, dims), true);
    y = AOT(t, aten_add__Scalar, y, eps);
    *rstd = AOT(t, aten_rsqrt, y);
    y = AOT(t, aten_mul_Tensor, x, *rstd);
    if (weight != NULL) {
        y = AOT(t, aten_mul_Tensor, y, weight);
    }
    if (aot_dtype_of(y) != dtype) {
        y = AOT(t, aten_to_dtype_layout, y, aot_v_dtype(dtype), aot_v_name(t, "torch.strided"),
                aot_v_device(aot_device_of(input)));
    }
    return y;
}

bool composite_rms_norm(aot_expand *k)
{
    aot_tensor *rstd;
    return aot_x_give(k, rms_norm(k, &rstd));
}

bool composite_fused_rms_norm(aot_expand *k)
{
    aot_tensor *all[2];
    all[0] = rms_norm(k, &all[1]);
    return aot_x_give_tuple(k, 2, all);
}

/* _weight_norm(v, g, dim): only the first and the last dimension have a kernel. */
bool composite_weight_norm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *v = aot_x_tensor(k, 0), *g = aot_x_tensor(k, 1);
    int64_t dim = aot_x_int(k, 2, 0), last = (int64_t)aot_ndim(v) - 1;
    if (dim == 0 || dim == last) {
        v = AOT(t, aten_contiguous, v);
        g = AOT(t, aten_contiguous, g);
        return aot_x_give(k, AOT(t, aten__weight_norm_interface, v, g, dim));
    }
    aot_tensor *norm = AOT(t, aten_norm_except_dim, v, 2, dim);
    g = AOT(t, aten_div_Tensor, g, norm);
    return aot_x_give(k, AOT(t, aten_mul_Tensor, v, g));
}

/* norm_except_dim(v, pow, dim): the norm over all dimensions but one. */
bool composite_norm_except_dim(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *v = aot_x_tensor(k, 0);
    int64_t p = aot_x_int(k, 1, 2), dim = aot_x_int(k, 2, 0), n = aot_ndim(v);
    aot_dim *shape = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, aot_ndim(v));
    for (int64_t i = 0; i < n; i++) {
        shape[i] = aot_dim_of(1);
    }
    if (dim == -1) {
        return aot_x_give(k, AOT(t, aten_norm_Scalar, v, p));
    }
    if (dim < 0 || dim >= n) {
        aot_trace_fail(t, AOT_E_RANGE, "norm_except_dim: dimension %lld of %lld", (long long)dim,
                       (long long)n);
    }
    if (dim != 0 && dim != n - 1) {
        v = AOT(t, aten_transpose_int, v, 0, dim);
        v = AOT(t, aten_norm_except_dim, v, p, 0);
        return aot_x_give(k, AOT(t, aten_transpose_int, v, 0, dim));
    }
    shape[dim] = aot_size(v, dim);
    const aot_dim rows[] = {aot_size(v, 0), aot_dim_of(-1)};
    const aot_dim columns[] = {aot_dim_of(-1), aot_size(v, -1)};
    v = AOT(t, aten_contiguous, v);
    v = AOT(t, aten_view, v, ((aot_dims){dim == 0 ? rows : columns, 2}));
    v = AOT(t, aten_norm_ScalarOpt_dim, v, p, dim == 0 ? 1 : 0);
    return aot_x_give(k, AOT(t, aten_view, v, ((aot_dims){shape, (unsigned)n})));
}
