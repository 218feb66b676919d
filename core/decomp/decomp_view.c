/* Decompositions of views, their copying forms, and splits.
 * Mirrors torch/_refs/__init__.py (transpose, t, diag_embed, *_copy),
 * torch/_decomp/decompositions.py (unsafe_split, _reshape_alias, split) and
 * torch/_inductor/decomposition.py (view_copy, narrow_copy). */
#include "decomp/decomp_parts.h"

/* ---- copies of views ------------------------------------------------------------------------- */

static aot_op_id view_of_copy(aot_op_id op)
{
    switch (op) {
    case AOT_OP_aten_alias_copy: return AOT_OP_aten_alias;
    case AOT_OP_aten_diagonal_copy: return AOT_OP_aten_diagonal;
    case AOT_OP_aten_expand_copy: return AOT_OP_aten_expand;
    case AOT_OP_aten_permute_copy: return AOT_OP_aten_permute;
    case AOT_OP_aten_squeeze_copy: return AOT_OP_aten_squeeze;
    case AOT_OP_aten_squeeze_copy_dim: return AOT_OP_aten_squeeze_dim;
    case AOT_OP_aten_squeeze_copy_dims: return AOT_OP_aten_squeeze_dims;
    case AOT_OP_aten_t_copy: return AOT_OP_aten_t;
    case AOT_OP_aten_transpose_copy_int: return AOT_OP_aten_transpose_int;
    case AOT_OP_aten_unbind_copy_int: return AOT_OP_aten_unbind_int;
    case AOT_OP_aten_unfold_copy: return AOT_OP_aten_unfold;
    case AOT_OP_aten_unsqueeze_copy: return AOT_OP_aten_unsqueeze;
    case AOT_OP_aten_split_with_sizes_copy: return AOT_OP_aten_split_with_sizes;
    case AOT_OP_aten_narrow_copy: return AOT_OP_aten_narrow;
    default: return AOT_OP_UNKNOWN;
    }
}

/* The view, then a contiguous clone of each result. */
bool decomp_view_copy(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_op_id view = view_of_copy(k->op);
    if (view == AOT_OP_UNKNOWN) {
        return false;
    }
    aot_value v = aot_call_op(t, view, k->n, k->args);
    if (!aot_v_is_list(v)) {
        return aot_x_give(k, dc_clone(t, aot_v_first(v), AOT_MF_CONTIGUOUS));
    }
    aot_value *items = aot_arena_alloc(aot_tracer_arena(t), (v.n + 1) * sizeof *items);
    for (unsigned i = 0; i < v.n; i++) {
        items[i] = aot_v_tensor(dc_clone(t, aot_v_item(v, i), AOT_MF_CONTIGUOUS));
    }
    return aot_x_give_value(k, aot_v_list(t, v.n, items));
}

bool decomp_view_copy_size(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *v = AOT(t, aten_view, k->args[0], k->args[1]);
    return aot_x_give(k, AOT(t, aten_clone, v));
}

bool decomp_view_copy_dtype(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *copy = AOT(t, aten_clone, k->args[0]);
    return aot_x_give(k, AOT(t, aten_view_dtype, copy, k->args[1]));
}

/* ---- views ----------------------------------------------------------------------------------- */

/* detach, lift_fresh */
bool decomp_alias(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_alias, k->args[0]));
}

/* lift: the tensor itself */
bool decomp_self(aot_expand *k)
{
    return aot_x_give(k, aot_x_tensor(k, 0));
}

/* _reshape_alias, _unsafe_view */
bool decomp_as_view(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_view, k->args[0], k->args[1]));
}

bool decomp_transpose(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    unsigned n = aot_ndim(x);
    unsigned a = aot_wrap_dim(t, aot_x_int(k, 1, 0), n), b = aot_wrap_dim(t, aot_x_int(k, 2, 0), n);
    if (n <= 1 || a == b) {
        return decomp_alias(k);
    }
    int64_t perm[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        perm[i] = i == a ? b : i == b ? a : i;
    }
    return aot_x_give(k, AOT(t, aten_permute, x, aot_v_ints(t, n, perm)));
}

bool decomp_t(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    if (aot_ndim(x) < 2) {
        return decomp_alias(k);
    }
    return aot_x_give(k, AOT(t, aten_transpose_int, x, 0, 1));
}

bool decomp_resize_as(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *like = aot_x_tensor(k, 1);
    aot_value format = k->args[2];
    if (aot_x_is_none(k, 2)) {
        format = aot_v_memory_format(t, AOT_MF_CONTIGUOUS);
    } else if (aot_x_str_is(k, 2, "torch.preserve_format")) {
        format = aot_v_memory_format(t, dc_suggest_format(like));
    }
    return aot_x_give(k, AOT(t, aten_resize, k->args[0], aot_sizes(like), format));
}

/* ---- parts ----------------------------------------------------------------------------------- */

bool decomp_unsafe_split(aot_expand *k)
{
    return aot_x_give_value(k, aot_call_op(k->t, AOT_OP_aten_split_Tensor, k->n, k->args));
}

bool decomp_unsafe_split_with_sizes(aot_expand *k)
{
    return aot_x_give_value(k, aot_call_op(k->t, AOT_OP_aten_split_with_sizes, k->n, k->args));
}

/* split: the sizes of the chunks */
bool decomp_split(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dim whole = aot_size(x, aot_x_int(k, 2, 0)), part = aot_x_dim(k, 1, 0);
    if (part.value <= 0) {
        aot_tensor *one = AOT(t, aten_detach, x);
        return aot_x_give_tuple(k, 1, &one);
    }
    int64_t n = (whole.value + part.value - 1) / part.value;
    n = n < 1 ? 1 : n;
    aot_dim *sizes = dc_room(t, (unsigned)n);
    for (int64_t i = 0; i < n; i++) {
        sizes[i] = part;
    }
    aot_dim excess = dc_dim(t, '-', dc_dim(t, '*', part, aot_dim_of(n)), whole);
    sizes[n - 1] = dc_dim(t, '-', part, excess);
    return aot_x_give_value(
        k, AOT_V(t, aten_split_with_sizes, x, ((aot_dims){sizes, (unsigned)n}), k->args[2]));
}

/* squeeze: all dimensions, or one */
bool decomp_squeeze(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_value dims = k->op == AOT_OP_aten_squeeze_dim
                         ? aot_v_list(t, 1, &k->args[1])
                         : dc_range(t, 0, aot_ndim(aot_x_tensor(k, 0)));
    return aot_x_give(k, AOT(t, aten_squeeze_dims, k->args[0], dims));
}

bool decomp_unbind(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    unsigned dim = aot_wrap_dim(t, aot_x_int(k, 1, 0), aot_ndim(x));
    aot_dim size = aot_size(x, dim);
    if (aot_dim_eq(size, aot_dim_of(0))) {
        return aot_x_give_tuple(k, 0, NULL);
    }
    aot_value parts = AOT_V(t, aten_tensor_split_sections, x, size, dim);
    aot_value *items = aot_arena_alloc(aot_tracer_arena(t), parts.n * sizeof *items);
    for (unsigned i = 0; i < parts.n; i++) {
        items[i] = aot_v_tensor(AOT(t, aten_squeeze_dim, aot_v_item(parts, i), dim));
    }
    return aot_x_give_value(k, aot_v_tuple(t, parts.n, items));
}

/* ---- diagonals ------------------------------------------------------------------------------- */

/* Zeros beside the diagonal's values, so that they fill a square. */
static aot_tensor *pad_diagonal(aot_tracer *t, aot_tensor *x, int64_t offset)
{
    if (offset == 0) {
        return x;
    }
    aot_dim more = aot_dim_of(offset < 0 ? -offset : offset);
    aot_tensor *zeros = AOT(t, aten_zeros, dc_reshaped(t, x, aot_ndim(x) - 1, 1, 1, &more),
                            aot_v_dtype(aot_dtype_of(x)), AOT_NONE, aot_v_device(aot_device_of(x)),
                            aot_v_bool(false));
    aot_tensor *pair[] = {offset > 0 ? zeros : x, offset > 0 ? x : zeros};
    return AOT(t, aten_cat, aot_v_tensors(t, 2, pair), -1);
}

/* utils.mask_tensor: x where the mask is true, else 0, made contiguous */
static aot_tensor *keep_where(aot_tracer *t, aot_tensor *mask, aot_tensor *x)
{
    aot_tensor *r = aot_dtype_of(x) == AOT_B8 ? AOT(t, aten_logical_and, mask, x)
                                              : AOT(t, aten_where_ScalarOther, mask, x, 0);
    return dc_contiguous(t, r, AOT_MF_CONTIGUOUS);
}

bool decomp_diag_embed(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    unsigned n = aot_ndim(x) + 1;
    int64_t offset = aot_x_int(k, 1, 0);
    unsigned d1 = aot_wrap_dim(t, aot_x_int(k, 2, -2), n),
             d2 = aot_wrap_dim(t, aot_x_int(k, 3, -1), n);
    if (d1 > d2) {
        unsigned swap = d1;
        d1 = d2;
        d2 = swap;
        offset = -offset;
    }
    x = pad_diagonal(t, x, offset);
    aot_dim last = aot_size(x, -1);
    x = AOT(t, aten_unsqueeze, x, d1);
    x = AOT(t, aten_movedim_int, x, -1, d2);
    aot_tensor *columns = dc_arange(t, last, AOT_I64, x);
    aot_tensor *rows = dc_arange_from(t, aot_dim_of(offset), dc_add(t, last, offset), AOT_I64, x);
    rows = AOT(t, aten_unsqueeze, rows, -1);
    aot_tensor *mask = AOT(t, aten_eq_Tensor, columns, rows);
    aot_dim *shape = dc_room(t, n);
    for (unsigned i = 0; i < n; i++) {
        shape[i] = i == d1 || i == d2 ? last : aot_dim_of(1);
    }
    mask = AOT(t, aten_reshape, mask, ((aot_dims){shape, n}));
    return aot_x_give(k, keep_where(t, mask, x));
}

/* tril, triu */
bool decomp_triangle(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_tensor *columns = dc_arange(t, aot_size(x, -1), AOT_NO_DTYPE, x);
    columns = AOT(t, aten_unsqueeze, columns, -2);
    aot_tensor *rows = dc_arange(t, aot_size(x, -2), AOT_NO_DTYPE, x);
    rows = AOT(t, aten_unsqueeze, rows, -1);
    aot_tensor *distance = SUB(columns, rows);
    aot_tensor *mask = k->op == AOT_OP_aten_tril ? AOT(t, aten_le_Scalar, distance, k->args[1])
                                                 : AOT(t, aten_ge_Scalar, distance, k->args[1]);
    return aot_x_give(k, keep_where(t, mask, x));
}
