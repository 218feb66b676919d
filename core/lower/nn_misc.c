/* Other functions of torch.nn.functional that are more than one operator: embeddings, norms of
 * vectors, sampling.
 *
 * Mirrors: torch/nn/functional.py */
#include "lower/nn.h"

#include <string.h>

/* _no_grad_embedding_renorm_ */
static void renorm(const aot_pycall *k, aot_tensor *weight, aot_tensor *indices, aot_value max_norm,
                   aot_value norm_type)
{
    if (max_norm.kind == AOT_V_NONE) {
        return;
    }
    aot_tensor *w = AOT(k->t, aten_detach, weight);
    (void)AOT(k->t, aten_embedding_renorm_, w, indices, max_norm, norm_type);
}

aot_value lower_embedding(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *indices = aot_l_need_tensor(k, 0, "input");
    aot_tensor *weight = aot_l_tensor(k, 1, "weight");
    aot_dim padding = aot_l_dim(k, 2, "padding_idx", -1);
    if (aot_l_given(k, 2, "padding_idx") && padding.value < 0) {
        padding = aot_trace_dim(t, '+', aot_size(weight, 0), padding);
    }
    aot_value max_norm = nn_arg(k, 3, "max_norm");
    if (max_norm.kind != AOT_V_NONE) {
        indices = AOT(t, aten_contiguous, indices);
    }
    renorm(k, weight, indices, max_norm, nn_arg_or(k, 4, "norm_type", aot_v_float(2)));
    return AOT_V(t, aten_embedding, weight, indices, padding,
                 nn_arg_or(k, 5, "scale_grad_by_freq", aot_v_bool(false)),
                 nn_arg_or(k, 6, "sparse", aot_v_bool(false)));
}

static int bag_mode(const aot_pycall *k)
{
    return aot_l_str_is(k, 6, "mode", "mean", "sum")   ? 0
           : aot_l_str_is(k, 6, "mode", "mean", "max") ? 2
                                                       : 1;
}

aot_value lower_embedding_bag(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *indices = aot_l_need_tensor(k, 0, "input");
    aot_tensor *weight = aot_l_tensor(k, 1, "weight");
    if (aot_dtype_of(weight) == AOT_I64 && aot_is_float(indices)) {
        aot_tensor *swap = weight; /* the order of older versions */
        weight = indices;
        indices = swap;
    }
    aot_value offsets = nn_arg(k, 2, "offsets");
    aot_tensor *sample_weights = aot_l_tensor(k, 8, "per_sample_weights");
    aot_value last = nn_arg_or(k, 9, "include_last_offset", aot_v_bool(false));
    if (aot_ndim(indices) == 2) {
        offsets = AOT_V(t, aten_arange_start_step, 0, aot_numel(t, indices), aot_size(indices, 1),
                        aot_v_dtype(aot_dtype_of(indices)), AOT_NONE,
                        aot_v_device(aot_device_of(indices)), false);
        last = aot_v_bool(false);
        indices = AOT(t, aten_reshape, indices, -1);
        if (sample_weights != NULL) {
            sample_weights = AOT(t, aten_reshape, sample_weights, -1);
        }
    }
    renorm(k, weight, indices, nn_arg(k, 3, "max_norm"),
           nn_arg_or(k, 4, "norm_type", aot_v_float(2)));
    aot_value args[] = {
        aot_v_tensor(weight),
        aot_v_tensor(indices),
        offsets,
        nn_arg_or(k, 5, "scale_grad_by_freq", aot_v_bool(false)),
        aot_v_int(bag_mode(k)),
        nn_arg_or(k, 7, "sparse", aot_v_bool(false)),
        aot_v_tensor(sample_weights),
        last,
        nn_arg(k, 10, "padding_idx"),
    };
    aot_value r = aot_call_op(t, AOT_OP_aten_embedding_bag_padding_idx, 9, args);
    return aot_v_tensor(aot_v_item(r, 0));
}

aot_value lower_normalize(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_value p = nn_arg_or(k, 1, "p", aot_v_float(2));
    aot_value dim = nn_arg_or(k, 2, "dim", aot_v_int(1));
    aot_value eps = nn_arg_or(k, 3, "eps", aot_v_float(1e-12));
    bool out = aot_l_given(k, 4, "out");
    aot_tensor *norm = AOT(t, aten_linalg_vector_norm, x, p, dim, true);
    norm = out ? AOT(t, aten_clamp_min_, norm, eps) : AOT(t, aten_clamp_min, norm, eps);
    norm = AOT(t, aten_expand, norm, aot_sizes(x));
    return out ? AOT_V(t, aten_div_out, x, norm, nn_arg(k, 4, "out"))
               : AOT_V(t, aten_div_Tensor, x, norm);
}

/* Pads with zeros around the channels, averages, and divides the input by a power of that. */
aot_value lower_local_response_norm(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    if (aot_dim_is(aot_numel(t, x), 0)) {
        return aot_v_tensor(x);
    }
    int64_t size = aot_l_dim(k, 1, "size", 0).value;
    int64_t before = size / 2, after = (size - 1) / 2;
    aot_tensor *y = AOT(t, aten_mul_Tensor, x, x);
    if (aot_ndim(x) == 3) {
        y = AOT(t, aten_unsqueeze, y, 1);
        y = AOT(t, aten_pad, y, aot_v_ints(t, 4, (const int64_t[]){0, 0, before, after}));
        y = AOT(t, aten_avg_pool2d, y, aot_v_ints(t, 2, (const int64_t[]){size, 1}), 1);
        y = AOT(t, aten_squeeze_dim, y, 1);
    } else {
        const aot_dim shape[] = {aot_size(x, 0), aot_dim_of(1), aot_size(x, 1), aot_size(x, 2),
                                 aot_dim_of(-1)};
        y = AOT(t, aten_view, y, ((aot_dims){shape, 5}));
        y = AOT(t, aten_pad, y, aot_v_ints(t, 6, (const int64_t[]){0, 0, 0, 0, before, after}));
        y = AOT(t, aten_avg_pool3d, y, aot_v_ints(t, 3, (const int64_t[]){size, 1, 1}), 1);
        y = AOT(t, aten_squeeze_dim, y, 1);
        y = AOT(t, aten_view, y, aot_sizes(x));
    }
    y = AOT(t, aten_mul_Tensor, y, nn_arg_or(k, 2, "alpha", aot_v_float(1e-4)));
    y = AOT(t, aten_add_Tensor, y, nn_arg_or(k, 4, "k", aot_v_float(1)));
    y = AOT(t, aten_pow_Tensor_Scalar, y, nn_arg_or(k, 3, "beta", aot_v_float(0.75)));
    return AOT_V(t, aten_div_Tensor, x, y);
}

aot_value lower_grid_sample(const aot_pycall *k)
{
    int mode = aot_l_str_is(k, 2, "mode", "bilinear", "bilinear")  ? 0
               : aot_l_str_is(k, 2, "mode", "bilinear", "nearest") ? 1
                                                                   : 2;
    int padding = aot_l_str_is(k, 3, "padding_mode", "zeros", "zeros")    ? 0
                  : aot_l_str_is(k, 3, "padding_mode", "zeros", "border") ? 1
                                                                          : 2;
    return AOT_V(k->t, aten_grid_sampler, nn_arg(k, 0, "input"), nn_arg(k, 1, "grid"), mode,
                 padding, nn_arg_or(k, 4, "align_corners", aot_v_bool(false)));
}
