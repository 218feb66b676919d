/* Decompositions that join, fill, copy and turn tensors.
 * Mirrors torch/_inductor/decomposition.py (cat), torch/_refs/__init__.py (roll, rot90, stack,
 * flip, zero) and torch/_decomp/decompositions.py (_to_copy, fill). */
#include <string.h>

#include "decomp/decomp_parts.h"

/* ---- cat, stack ------------------------------------------------------------------------------ */

static bool contributes(const aot_tensor *x, int64_t dim)
{
    aot_dims s = aot_sizes(x);
    if (s.n == 1 && aot_dim_eq(s.d[0], aot_dim_of(0))) {
        return false;
    }
    /* A negative dim counts from the end, as Python's subscript does. */
    int64_t at = dim < 0 ? dim + s.n : dim;
    return dim >= s.n || at < 0 || !aot_dim_eq(s.d[at], aot_dim_of(0));
}

/* One tensor that stands n times: a broadcast view is cheaper. */
static aot_tensor *repeat_along(aot_tracer *t, aot_tensor *x, int64_t dim, unsigned n)
{
    dim = dim < 0 ? dim + aot_ndim(x) : dim;
    aot_dim count = aot_dim_of(n);
    aot_dims shape = dc_reshaped(t, x, (unsigned)dim, 0, 1, &count);
    aot_tensor *r = AOT(t, aten_unsqueeze, x, dim);
    r = AOT(t, aten_expand, r, shape);
    r = AOT(t, aten_flatten_using_ints, r, dim, dim + 1);
    return AOT(t, aten_clone, r);
}

bool decomp_cat(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *const *all;
    unsigned n = aot_x_tensors(k, 0, &all), m = 0;
    int64_t dim = aot_x_int(k, 1, 0);
    aot_tensor **kept = aot_arena_alloc(aot_tracer_arena(t), (n + 1) * sizeof(aot_tensor *));
    bool same = true;
    for (unsigned i = 0; i < n; i++) {
        if (contributes(all[i], dim)) {
            kept[m++] = all[i];
        }
        same = same && all[i] == all[0];
    }
    if (m == 1) {
        aot_dtype dtype = dc_result_dtype(k, 1, AOT_PROMOTE_DEFAULT);
        return aot_x_give(k, dtype == aot_dtype_of(kept[0]) ? AOT(t, aten_clone, kept[0])
                                                            : dc_to(t, kept[0], dtype));
    }
    if (m > 1 && m < n) {
        return aot_x_give(k, AOT(t, aten_cat, aot_v_tensors(t, m, kept), k->args[1]));
    }
    return m > 1 && same && aot_x_give(k, repeat_along(t, kept[0], dim, m));
}

bool decomp_stack(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *const *all;
    unsigned n = aot_x_tensors(k, 0, &all);
    if (n == 0) {
        return false;
    }
    unsigned ndim = aot_ndim(all[0]), dim = aot_wrap_dim(t, aot_x_int(k, 1, 0), ndim + 1);
    if (dim < ndim) {
        aot_dim count = aot_dim_of(n);
        aot_dims shape = dc_reshaped(t, all[0], dim, 0, 1, &count);
        aot_tensor *r = AOT(t, aten_cat, k->args[0], dim);
        return aot_x_give(k, AOT(t, aten_view, r, shape));
    }
    aot_tensor **wide = aot_arena_alloc(aot_tracer_arena(t), n * sizeof(aot_tensor *));
    for (unsigned i = 0; i < n; i++) {
        wide[i] = AOT(t, aten_unsqueeze, all[i], dim);
    }
    return aot_x_give(k, AOT(t, aten_cat, aot_v_tensors(t, n, wide), k->args[1]));
}

/* pad_sequence(sequences, batch_first, padding_value, padding_side): each one is padded and written
 * into its place of a filled tensor. Runs above autograd too. */
bool decomp_pad_sequence(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *const *all;
    unsigned n = aot_x_tensors(k, 0, &all);
    if (n == 0) {
        return false;
    }
    bool batch_first = aot_x_bool(k, 1);
    unsigned ndim = aot_ndim(all[0]);
    dc_need_ndim(t, all[0], 1);
    aot_dim longest = aot_size(all[0], 0), *shape = dc_room(t, ndim + 1),
            *pad = dc_room(t, 2 * ndim);
    for (unsigned i = 1; i < n; i++) {
        longest = aot_size(all[i], 0).value > longest.value ? aot_size(all[i], 0) : longest;
    }
    shape[0] = batch_first ? aot_dim_of(n) : longest;
    shape[1] = batch_first ? longest : aot_dim_of(n);
    for (unsigned i = 1; i < ndim; i++) {
        shape[i + 1] = aot_size(all[0], i);
    }
    for (unsigned i = 0; i + 1 < 2 * ndim; i++) {
        pad[i] = aot_dim_of(0);
    }
    aot_tensor *r = AOT(t, aten_new_full, all[0], ((aot_dims){shape, ndim + 1}), k->args[2],
                        AOT_NONE, AOT_NONE, AOT_NONE, aot_v_bool(false));
    for (unsigned i = 0; i < n; i++) {
        pad[2 * ndim - 1] = dc_dim(t, '-', longest, aot_size(all[i], 0));
        aot_tensor *row =
            AOT(t, aten_constant_pad_nd, all[i], ((aot_dims){pad, 2 * ndim}), k->args[2]);
        r = AOT(t, aten_select_scatter, r, row, batch_first ? 0 : 1, i);
    }
    return aot_x_give(k, r);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* _to_copy(x, *, dtype, layout, device, pin_memory, non_blocking, memory_format) */
bool decomp_to_copy(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    bool dtype = !aot_x_is_none(k, 1), device = !aot_x_is_none(k, 3), format = !aot_x_is_none(k, 6);
    if (!dtype && !device && !format) {
        return aot_x_give(k, AOT(t, aten_clone, x));
    }
    if (device && k->args[3].u.s != aot_device_of(x)) {
        const char *name = aot_text(aot_tracer_ctx(t), k->args[3].u.s);
        if (dtype && strncmp(name, "cpu", 3) == 0) {
            x = AOT(t, prims_convert_element_type, x, k->args[1]);
            dtype = false;
        }
        x = AOT(t, prims_device_put, x, k->args[3], k->args[5]);
    }
    if (dtype) {
        x = AOT(t, prims_convert_element_type, x, k->args[1]);
    }
    if (format) {
        x = AOT(t, aten_clone, x, k->args[6]);
    }
    return aot_x_give(k, x);
}

bool decomp_fill_scalar(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_full_like, k->args[0], k->args[1], AOT_NONE, AOT_NONE,
                             AOT_NONE, aot_v_bool(false)));
}

bool decomp_fill_tensor(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_copy, k->args[0], k->args[1]));
}

bool decomp_zero(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_zeros_like, k->args[0], AOT_NONE, AOT_NONE, AOT_NONE,
                             aot_v_bool(false)));
}

/* ---- turns ----------------------------------------------------------------------------------- */

bool decomp_flip(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims dims = aot_x_dims(k, 1);
    int64_t d[AOT_FAKE_MAX_NDIM] = {0};
    unsigned n = 0;
    for (; n < dims.n && n < AOT_FAKE_MAX_NDIM; n++) {
        d[n] = aot_wrap_dim(t, dims.d[n].value, aot_ndim(x));
    }
    return aot_x_give(k, AOT(t, prims_rev, x, aot_v_ints(t, n, d)));
}

static bool roll_one(aot_expand *k, aot_tensor *x, aot_dim shift, int64_t dim)
{
    aot_tracer *t = k->t;
    aot_dim size = aot_size(x, dim);
    aot_dim start = dc_dim(t, '%', dc_dim(t, '-', size, shift), size);
    aot_tensor *index = dc_arange(t, size, AOT_NO_DTYPE, x);
    index = AOT(t, aten_add_Tensor, index, start);
    index = AOT(t, aten_fmod_Scalar, index, size);
    return aot_x_give(k, AOT(t, aten_index_select, x, aot_wrap_dim(t, dim, aot_ndim(x)), index));
}

bool decomp_roll(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims shifts = aot_x_dims(k, 1), dims = aot_x_dims(k, 2);
    if (dc_is_empty(x)) {
        return aot_x_give(k, AOT(t, aten_clone, x));
    }
    if (shifts.n == 1 && dims.n == 1) {
        return roll_one(k, x, shifts.d[0], dims.d[0].value);
    }
    if (shifts.n == 1 && dims.n == 0) {
        aot_tensor *flat = AOT(t, aten_flatten_using_ints, x);
        flat = AOT(t, aten_roll, flat, shifts, ((aot_dims){(aot_dim[]){{0}}, 1}));
        return aot_x_give(k, AOT(t, aten_view, flat, aot_sizes(x)));
    }
    if (shifts.n != dims.n || shifts.n == 0) {
        return false;
    }
    aot_tensor *first = AOT(t, aten_roll, x, ((aot_dims){shifts.d, 1}), ((aot_dims){dims.d, 1}));
    aot_dims rest = {shifts.d + 1, shifts.n - 1}, rest_dims = {dims.d + 1, dims.n - 1};
    return aot_x_give(k, AOT(t, aten_roll, first, rest, rest_dims));
}

bool decomp_rot90(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims dims = aot_x_dims(k, 2);
    int64_t turns = (aot_x_int(k, 1, 1) % 4 + 4) % 4;
    if (dims.n != 2) {
        return false;
    }
    int64_t d[] = {aot_wrap_dim(t, dims.d[0].value, aot_ndim(x)),
                   aot_wrap_dim(t, dims.d[1].value, aot_ndim(x))};
    if (turns == 0) {
        return aot_x_give(k, dc_clone(t, x, AOT_MF_CONTIGUOUS));
    }
    if (turns == 2) {
        return aot_x_give(k, AOT(t, aten_flip, x, aot_v_ints(t, 2, d)));
    }
    aot_tensor *flipped = AOT(t, aten_flip, x, aot_v_ints(t, 1, turns == 1 ? &d[1] : &d[0]));
    return aot_x_give(k, AOT(t, aten_transpose_int, flipped, d[0], d[1]));
}
