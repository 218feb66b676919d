/* Decompositions of reads and writes by index and by mask, and of the gradients of views.
 * Mirrors torch/_decomp/decompositions.py, torch/_refs/__init__.py (index_fill, index_select,
 * masked_fill, select_scatter) and torch/_inductor/decomposition.py (put, index_reduce, ...). */
#include <string.h>

#include "decomp/decomp_parts.h"

/* ---- gradients of views ---------------------------------------------------------------------- */

bool decomp_slice_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *grad = aot_x_tensor(k, 0), *zeros = dc_new_zeros(t, grad, aot_x_dims(k, 1));
    return aot_x_give(
        k, AOT(t, aten_slice_scatter, zeros, grad, k->args[2], k->args[3], k->args[4], k->args[5]));
}

bool decomp_select_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *grad = aot_x_tensor(k, 0), *zeros = dc_new_zeros(t, grad, aot_x_dims(k, 1));
    return aot_x_give(k, AOT(t, aten_select_scatter, zeros, grad, k->args[2], k->args[3]));
}

bool decomp_diagonal_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *grad = aot_x_tensor(k, 0), *zeros = dc_new_zeros(t, grad, aot_x_dims(k, 1));
    return aot_x_give(
        k, AOT(t, aten_diagonal_scatter, zeros, grad, k->args[2], k->args[3], k->args[4]));
}

bool decomp_unfold_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *grad = aot_x_tensor(k, 0);
    aot_dims size = aot_x_dims(k, 1);
    if (size.n == 0) {
        return aot_x_give(k, AOT(t, aten_squeeze_copy_dim, grad, 0));
    }
    unsigned dim = aot_wrap_dim(t, aot_x_int(k, 2, 0), size.n);
    aot_tensor *index = dc_arange(t, size.d[dim], AOT_I32, grad);
    index = AOT(t, aten_unfold, index, 0, k->args[3], k->args[4]);
    index = AOT(t, aten_flatten_using_ints, index);
    grad = AOT(t, aten_movedim_int, grad, -1, dim + 1);
    grad = AOT(t, aten_flatten_using_ints, grad, dim, dim + 1);
    aot_tensor *zeros = dc_new_zeros(t, grad, size);
    aot_tensor *r =
        AOT(t, aten__unsafe_index_put, zeros, dc_indices(t, dim, 1, &index), grad, true);
    return aot_x_give(k, dc_contiguous(t, r, AOT_MF_CONTIGUOUS));
}

/* ---- writes into parts: the core table, not Inductor's --------------------------------------- */

bool decomp_select_scatter(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *src = aot_x_tensor(k, 1);
    unsigned dim = aot_wrap_dim(t, aot_x_int(k, 2, 0), aot_ndim(x));
    aot_dim index = aot_x_dim(k, 3, 0), size = aot_size(x, dim);
    if (index.value < 0) {
        index = dc_dim(t, '+', index, size);
    }
    aot_tensor *mask = dc_arange(t, size, AOT_NO_DTYPE, x);
    mask = AOT(t, aten_view, mask, dc_ones_but(t, aot_ndim(x), dim, aot_dim_of(-1)));
    mask = AOT(t, aten_eq_Scalar, mask, index);
    src = AOT(t, aten_unsqueeze, src, dim);
    src = AOT(t, aten_expand, src, aot_sizes(x));
    return aot_x_give(k, WHERE(mask, src, x));
}

/* ---- by index -------------------------------------------------------------------------------- */

/* _unsafe_index, _unsafe_index_put */
bool decomp_unsafe_index(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_index_Tensor, k->args[0], k->args[1]));
}

bool decomp_unsafe_index_put(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_index_put, k->args[0], k->args[1], k->args[2], k->args[3]));
}

/* What index_add and index_copy share: one write; a scalar is taken as a vector of one element. */
static bool put_along(aot_expand *k, aot_tensor *index, aot_tensor *src, bool accumulate)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    unsigned dim = aot_wrap_dim(t, aot_x_int(k, 1, 0), aot_ndim(x));
    bool scalar = aot_ndim(x) == 0;
    x = scalar ? AOT(t, aten_unsqueeze, x, 0) : x;
    if (!accumulate && aot_ndim(index) == 0) {
        index = AOT(t, aten_unsqueeze, index, 0);
    }
    aot_tensor *r = AOT(t, aten_index_put, x, dc_indices(t, dim, 1, &index), src, accumulate);
    return aot_x_give(k, scalar ? AOT(t, aten_squeeze_dim, r, 0)
                                : dc_contiguous(t, r, AOT_MF_CONTIGUOUS));
}

bool decomp_index_add(aot_expand *k)
{
    aot_tensor *src = aot_x_tensor(k, 3);
    if (aot_dtype_of(aot_x_tensor(k, 0)) == AOT_BF16) {
        return false;
    }
    if (!dc_is_number(k->args[4], 1)) {
        src = AOT(k->t, aten_mul_Tensor, src, k->args[4]);
    }
    return put_along(k, aot_x_tensor(k, 2), src, true);
}

bool decomp_index_copy(aot_expand *k)
{
    return put_along(k, aot_x_tensor(k, 2), aot_x_tensor(k, 3), false);
}

/* index_fill with a number or a tensor without dimensions */
bool decomp_index_fill(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *index = aot_x_tensor(k, 2),
               *value = aot_v_first(k->args[3]);
    if (aot_v_is_number(k->args[3])) {
        value =
            AOT(t, aten_scalar_tensor, k->args[3], aot_v_dtype(aot_dtype_of(x)),
                aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(x)), aot_v_bool(false));
    }
    bool scalar = aot_ndim(x) == 0;
    aot_tensor *y = scalar ? AOT(t, aten_unsqueeze, x, 0) : x;
    unsigned dim = aot_wrap_dim(t, aot_x_int(k, 1, 0), aot_ndim(y));
    aot_dim count = aot_numel(t, index);
    value = AOT(t, aten_expand, value, dc_reshaped(t, y, dim, 1, 1, &count));
    aot_tensor *r = AOT(t, aten_index_copy, y, k->args[1], index, value);
    if (scalar) {
        r = AOT(t, aten_squeeze_dim, r, 0);
        r = AOT(t, aten_clone, r);
    }
    if (!aot_dims_eq(aot_strides(r), aot_strides(x))) {
        aot_tensor *fresh =
            AOT(t, aten_empty_like, x, AOT_NONE, AOT_NONE, AOT_NONE, aot_v_bool(false));
        r = AOT(t, aten_copy, fresh, r);
    }
    return aot_x_give(k, r);
}

bool decomp_index_select(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *index = aot_x_tensor(k, 2);
    unsigned dim = aot_wrap_dim(t, aot_x_int(k, 1, 0), aot_ndim(x));
    if (aot_ndim(index) == 0) {
        index = AOT(t, aten_unsqueeze, index, 0);
    }
    if (aot_ndim(x) == 0) {
        aot_tensor *fresh =
            AOT(t, aten_empty_like, x, AOT_NONE, AOT_NONE, AOT_NONE, aot_v_bool(false));
        x = AOT(t, aten_expand_as, x, index);
        return aot_x_give(k, AOT(t, aten_index_copy, fresh, 0, index, x));
    }
    aot_tensor *r = AOT(t, aten_index_Tensor, x, dc_indices(t, dim, 1, &index));
    return aot_x_give(k, dc_contiguous(t, r, AOT_MF_CONTIGUOUS));
}

bool decomp_take(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *index = aot_x_tensor(k, 1);
    aot_tensor *flat = AOT(t, aten_reshape, k->args[0], aot_v_ints(t, 1, (int64_t[]){-1}));
    return aot_x_give(k, AOT(t, aten_index_Tensor, flat, dc_indices(t, 0, 1, &index)));
}

bool decomp_put(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *index = aot_x_tensor(k, 1);
    aot_tensor *flat = AOT(t, aten_flatten_using_ints, x);
    aot_tensor *src = AOT(t, aten_reshape, k->args[2], aot_sizes(index));
    flat = AOT(t, aten_index_put, flat, dc_indices(t, 0, 1, &index), src, k->args[3]);
    return aot_x_give(k, AOT(t, aten_reshape, flat, aot_sizes(x)));
}

/* The mean of what falls on one place: sums divided by counts. Other reductions are scatters of
 * their own kind, which Inductor leaves to the kernel. */
bool decomp_index_reduce(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *out = x, *counts;
    aot_dtype d = aot_dtype_of(x);
    if (!aot_x_str_is(k, 4, "mean") || d == AOT_I64 || d == AOT_B8) {
        return false;
    }
    aot_value no_pin = aot_v_bool(false);
    aot_tensor *ones = AOT(t, aten_ones_like, k->args[3], AOT_NONE, AOT_NONE, AOT_NONE, no_pin);
    if (aot_x_bool(k, 5)) {
        counts = AOT(t, aten_ones_like, x, AOT_NONE, AOT_NONE, AOT_NONE, no_pin);
        counts = AOT(t, aten_index_add, counts, k->args[1], k->args[2], ones);
    } else {
        out = AOT(t, aten_index_fill_int_Scalar, x, k->args[1], k->args[2], 0);
        counts = AOT(t, aten_zeros_like, x, AOT_NONE, AOT_NONE, AOT_NONE, no_pin);
        counts = AOT(t, aten_index_add, counts, k->args[1], k->args[2], ones);
        aot_tensor *none = AOT(t, aten_lt_Scalar, counts, 1);
        counts = AOT(t, aten_masked_fill_Scalar, counts, none, 1);
    }
    out = AOT(t, aten_index_add, out, k->args[1], k->args[2], k->args[3]);
    return aot_x_give(k, dc_is_integral(d) ? AOT(t, aten_floor_divide, out, counts)
                                           : DIV(out, counts));
}

bool decomp_repeat_interleave(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *repeats = aot_x_tensor(k, 0);
    aot_dim size = aot_x_dim(k, 1, -1);
    if (aot_x_is_none(k, 1) || size.expr != 0) {
        return false;
    }
    aot_tensor *ends = AOT(t, aten_cumsum, repeats, 0);
    aot_tensor *place = dc_arange(t, size, AOT_NO_DTYPE, repeats);
    bool narrow = aot_dtype_of(repeats) == AOT_I32;
    aot_tensor *index =
        AOT(t, aten_searchsorted_Tensor, ends, place, aot_v_bool(narrow), aot_v_bool(true));
    return aot_x_give(k, AOT(t, aten_clamp, index, AOT_NONE, dc_add(t, aot_size(repeats, 0), -1)));
}

/* ---- by mask --------------------------------------------------------------------------------- */

/* type(value) of dtype d, as Python converts. */
static aot_value number_of(aot_value v, aot_dtype d)
{
    char kind = aot_dtype_get(d)->kind;
    if (v.kind == AOT_V_COMPLEX || kind == 'c') {
        return v.kind == AOT_V_COMPLEX
                   ? v
                   : (aot_value){.kind = AOT_V_COMPLEX, .u.z = {dc_number(v), 0}};
    }
    return kind == 'f'   ? v.kind == AOT_V_FLOAT || (v.kind == AOT_V_INT && v.u.dim.expr != 0)
                               ? v
                               : aot_v_float(dc_number(v))
             : kind == 'b' ? aot_v_bool(dc_number(v) != 0)
                         : dc_int(v);
}

bool decomp_masked_fill(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *r;
    aot_dtype d = aot_dtype_of(x);
    if (aot_v_is_number(k->args[2])) {
        r = AOT(t, aten_where_ScalarSelf, k->args[1], number_of(k->args[2], d), x);
    } else {
        aot_tensor *value = aot_x_tensor(k, 2);
        value = aot_dtype_of(value) == d
                    ? value
                    : AOT(t, prims_convert_element_type, value, aot_v_dtype(d));
        r = WHERE(k->args[1], value, x);
    }
    return aot_x_give(k, dc_contiguous(t, r, AOT_MF_CONTIGUOUS));
}

/* masked_scatter: backends that scatter in two steps only (GPUs) */
bool decomp_masked_scatter(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *mask = aot_x_tensor(k, 1), *src = aot_x_tensor(k, 2);
    if (strncmp(aot_text(aot_tracer_ctx(t), aot_device_of(x)), "cuda", 4) != 0) {
        return false;
    }
    aot_value pair =
        AOT_V(t, aten_broadcast_tensors, aot_v_tensors(t, 2, (aot_tensor *[]){x, mask}));
    x = aot_v_item(pair, 0);
    mask = aot_v_item(pair, 1);
    aot_tensor *index = AOT(t, aten_reshape, mask, aot_v_ints(t, 1, (int64_t[]){-1}));
    index = AOT(t, aten_cumsum, index, 0);
    index = AOT(t, aten_sub_Tensor, index, 1);
    aot_tensor *flat = AOT(t, aten_flatten_using_ints, x);
    aot_tensor *flat_mask = AOT(t, aten_flatten_using_ints, mask);
    src = AOT(t, aten_flatten_using_ints, src);
    aot_tensor *r =
        AOT(t, aten__unsafe_masked_index, src, flat_mask, dc_indices(t, 0, 1, &index), 0);
    r = WHERE(flat_mask, r, flat);
    return aot_x_give(k, AOT(t, aten_view, r, aot_sizes(x)));
}

/* Clamps each index into its dimension, from `lo_is_size` ? -size : 0 on. */
static aot_value clamp_indices(aot_expand *k, unsigned pos, bool from_minus_size)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *const *index;
    unsigned n = aot_x_tensors(k, pos, &index);
    aot_tensor *clamped[AOT_FAKE_MAX_NDIM] = {NULL};
    for (unsigned i = 0; i < n && i < AOT_FAKE_MAX_NDIM; i++) {
        aot_dim size = aot_size(x, i);
        aot_dim lo = from_minus_size ? aot_trace_dim(t, '~', size, size) : aot_dim_of(0);
        clamped[i] =
            index[i] == NULL ? NULL : AOT(t, aten_clamp, index[i], lo, dc_add(t, size, -1));
    }
    return aot_v_tensors(t, n, clamped);
}

bool decomp_unsafe_masked_index(aot_expand *k)
{
    aot_tracer *t = k->t;
    if (dc_is_empty(aot_x_tensor(k, 0))) {
        return false;
    }
    aot_value index = clamp_indices(k, 2, false);
    aot_tensor *r = AOT(t, aten__unsafe_index_Tensor, k->args[0], index);
    aot_tensor *outside = AOT(t, aten_bitwise_not, k->args[1]);
    return aot_x_give(k, AOT(t, aten_masked_fill_Scalar, r, outside, k->args[3]));
}

bool decomp_unsafe_masked_index_put(aot_expand *k)
{
    aot_tracer *t = k->t;
    if (dc_is_empty(aot_x_tensor(k, 0))) {
        return aot_x_give(k, AOT(t, aten_clone, k->args[0]));
    }
    aot_value index = clamp_indices(k, 2, true);
    aot_tensor *outside = AOT(t, aten_bitwise_not, k->args[1]);
    aot_tensor *values = AOT(t, aten_masked_fill_Scalar, k->args[3], outside, 0);
    return aot_x_give(k, AOT(t, aten__unsafe_index_put, k->args[0], index, values, true));
}

/* ---- embedding ------------------------------------------------------------------------------- */

/* embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq) */
bool decomp_embedding_dense_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *grad = aot_x_tensor(k, 0), *index = aot_x_tensor(k, 1);
    aot_dtype result = aot_dtype_of(grad);
    grad = dc_to(t, grad, dc_computation_dtype(result));
    if (aot_dtype_of(index) != AOT_I64) {
        index = AOT(t, prims_convert_element_type, index, aot_v_dtype(AOT_I64));
    }
    aot_value at = dc_indices(t, 0, 1, &index);
    aot_dim rows = aot_x_dim(k, 2, 0);
    if (aot_x_bool(k, 4)) {
        aot_tensor *counts = dc_new_zeros(t, index, (aot_dims){&rows, 1});
        aot_tensor *ones =
            AOT(t, aten_ones_like, index, AOT_NONE, AOT_NONE, AOT_NONE, aot_v_bool(false));
        counts = AOT(t, aten__unsafe_index_put, counts, at, ones, true);
        aot_tensor *scale = AOT(t, aten_index_Tensor, counts, at);
        scale = AOT(t, aten_unsqueeze, scale, -1);
        grad = DIV(grad, scale);
    }
    aot_tensor *mask = AOT(t, aten_eq_Scalar, index, k->args[3]);
    mask = dc_unsqueeze_to(t, mask, aot_ndim(grad));
    aot_tensor *kept = AOT(t, aten_masked_fill_Scalar, grad, mask, 0);
    aot_tensor *zeros = dc_new_zeros(t, grad, dc_reshaped(t, grad, 0, aot_ndim(index), 1, &rows));
    return dc_give(k, AOT(t, aten__unsafe_index_put, zeros, at, kept, true), result);
}
