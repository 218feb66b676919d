/* Types of parts of a tensor: slices, windows, diagonals, lists of parts; complex numbers as pairs.
 * Mirrors: aten/src/ATen/native/TensorShape.cpp, aten/src/ATen/native/ComplexHelper.h. */
#include "rules/meta_shape.h"

/* ---- parts ---------------------------------------------------------------------------------- */

/* One end of a slice, counted from the front and kept within 0 .. size. */
static aot_dim clamp_end(aot_ctx *c, aot_dim v, aot_dim low, aot_dim size)
{
    if (dim_lt(v, aot_dim_of(0))) {
        v = aot_dim_add(c, v, size);
    }
    if (dim_lt(v, low)) {
        return low;
    }
    return dim_lt(size, v) ? size : v;
}

aot_status meta_slice(aot_call *k)
{
    aot_fake t;
    unsigned d;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    if (t.ndim == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "slice() cannot be applied to a 0-dim tensor.");
    }
    AOT_TRY(aot_meta_need_dim(k, &t, 1, "dim", 0, &d));
    aot_dim size = t.size[d], step = aot_call_int(k, 4, "step", 1);
    aot_dim start = clamp_end(k->c, aot_call_int(k, 2, "start", 0), aot_dim_of(0), size);
    aot_dim end = aot_call_int(k, 3, "end", INT64_MAX);
    end = aot_dim_is(end, INT64_MAX) ? size : clamp_end(k->c, end, start, size);
    if (step.value != AOT_HINT_NONE && step.value < 1) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "slice step must be positive");
    }
    aot_dim len = aot_dim_sub(k->c, end, start);
    if (!aot_dim_is(step, 1)) {
        len = aot_dim_add(k->c, len, aot_dim_sub(k->c, step, aot_dim_of(1)));
        len = aot_dim_floordiv(k->c, len, step);
    }
    t.size[d] = len;
    t.stride[d] = aot_dim_mul(k->c, t.stride[d], step);
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_narrow_copy(aot_call *k)
{
    aot_fake t;
    unsigned d;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, 1, "dim", 0, &d));
    t.size[d] = aot_call_int(k, 3, "length", 0);
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_unfold(aot_call *k)
{
    aot_fake t;
    unsigned d;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, 1, "dimension", 0, &d));
    AOT_TRY(aot_meta_room(k, t.ndim + 1u));
    aot_dim size = aot_call_int(k, 2, "size", 1), step = aot_call_int(k, 3, "step", 1);
    aot_dim last = t.ndim ? t.stride[d] : aot_dim_of(1);
    if (t.ndim > 0) {
        if (dim_lt(t.size[d], size) || !dim_lt(aot_dim_of(0), step)) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "unfold: windows of %lld do not fit in %lld",
                            (long long)size.value, (long long)t.size[d].value);
        }
        aot_dim n = aot_dim_floordiv(k->c, aot_dim_sub(k->c, t.size[d], size), step);
        t.size[d] = aot_dim_add(k->c, n, aot_dim_of(1));
        t.stride[d] = aot_dim_mul(k->c, t.stride[d], step);
    }
    aot_meta_insert_dim(&t, t.ndim, size, last);
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_diagonal(aot_call *k)
{
    aot_fake t;
    unsigned a, b;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, 2, "dim1", 0, &a));
    AOT_TRY(aot_meta_need_dim(k, &t, 3, "dim2", 1, &b));
    if (a == b || t.ndim < 2) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "diagonal dimensions cannot be identical");
    }
    aot_dim off = aot_call_int(k, 1, "offset", 0), rows = t.size[a], cols = t.size[b];
    if (dim_lt(off, aot_dim_of(0))) {
        rows = aot_dim_add(k->c, rows, off);
    } else {
        cols = aot_dim_sub(k->c, cols, off);
    }
    aot_dim size = aot_dim_min(k->c, rows, cols);
    size = aot_dim_is(off, 0) ? size : aot_dim_max(k->c, size, aot_dim_of(0));
    aot_dim stride = aot_dim_add(k->c, t.stride[a], t.stride[b]);
    aot_meta_remove_dim(&t, a > b ? a : b);
    aot_meta_remove_dim(&t, a > b ? b : a);
    aot_meta_insert_dim(&t, t.ndim, size, stride);
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_diag_embed(aot_call *k)
{
    aot_fake in;
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    AOT_TRY(aot_meta_room(k, in.ndim + 1u));
    aot_fake t = in;
    t.ndim++;
    aot_dim off = aot_call_int(k, 1, "offset", 0);
    int64_t d1 = aot_call_int(k, 2, "dim1", -2).value, d2 = aot_call_int(k, 3, "dim2", -1).value;
    unsigned a = aot_fake_dim(&t, d1), b = aot_fake_dim(&t, d2);
    if (in.ndim == 0 || a >= t.ndim || b >= t.ndim || a == b) {
        return aot_meta_bad_dim(k, a >= t.ndim ? d1 : d2, t.ndim);
    }
    aot_dim abs = dim_lt(off, aot_dim_of(0)) ? aot_dim_neg(k->c, off) : off;
    aot_dim size = aot_dim_add(k->c, in.size[in.ndim - 1], abs);
    for (unsigned i = 0, from = 0; i < t.ndim; i++) {
        t.size[i] = i == a || i == b ? size : in.size[from++];
    }
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* ---- lists of parts ------------------------------------------------------------------------- */

/* A list of more parts than any program makes is damaged input: it would only fill the memory. */
static aot_status check_parts(aot_call *k, int64_t n)
{
    enum { MOST = 1000000 };
    return n <= MOST ? AOT_OK
                     : AOT_FAIL(k->err, AOT_E_SHAPE, "%s: %lld parts; %d are the most",
                                call_name(k), (long long)n, MOST);
}

aot_status meta_split(aot_call *k)
{
    aot_fake t;
    unsigned d;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, 2, "dim", 0, &d));
    k->is_list = true;
    aot_dim part = aot_call_int(k, 1, "split_size", 1), size = t.size[d];
    if (t.ndim == 0 || part.value < 0 || size.value == AOT_HINT_NONE) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: the number of parts is not known",
                        call_name(k));
    }
    int64_t n = part.value == 0 || size.value < 1 ? 1 : (size.value - 1) / part.value + 1;
    AOT_TRY(check_parts(k, n));
    for (int64_t i = 0; i < n; i++) {
        aot_fake p = t;
        p.size[d] = i + 1 < n
                        ? part
                        : aot_dim_sub(k->c, size, aot_dim_mul(k->c, part, aot_dim_of(n - 1)));
        aot_meta_push_view(k, &p);
    }
    return AOT_OK;
}

aot_status meta_split_with_sizes(aot_call *k)
{
    aot_fake t;
    unsigned d, n = aot_call_n_items(k, 1, "split_sizes");
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, 2, "dim", 0, &d));
    k->is_list = true;
    if (t.ndim == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "split expects at least a 1-dimensional tensor");
    }
    for (unsigned i = 0; i < n; i++) {
        aot_fake p = t;
        p.size[d] = aot_call_item(k, 1, "split_sizes", i, 0);
        aot_meta_push_view(k, &p);
    }
    return AOT_OK;
}

aot_status meta_unbind(aot_call *k)
{
    aot_fake t;
    unsigned d;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, 1, "dim", 0, &d));
    k->is_list = true;
    if (t.ndim == 0 || t.size[d].value == AOT_HINT_NONE) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "unbind: the number of parts is not known");
    }
    int64_t n = t.size[d].value;
    AOT_TRY(check_parts(k, n));
    aot_meta_remove_dim(&t, d);
    for (int64_t i = 0; i < n; i++) {
        aot_fake p = t;
        aot_meta_push_view(k, &p);
    }
    return AOT_OK;
}

/* ---- complex numbers as pairs --------------------------------------------------------------- */

static const struct {
    uint8_t complex, real;
} pairs[] = {{AOT_C32, AOT_F16}, {AOT_C64, AOT_F32}, {AOT_C128, AOT_F64}};

aot_status meta_view_as_real(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_room(k, t.ndim + 1u));
    for (unsigned p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        if (pairs[p].complex == t.dtype) {
            t.dtype = pairs[p].real;
            for (unsigned i = 0; i < t.ndim; i++) {
                t.stride[i] = aot_dim_mul(k->c, t.stride[i], aot_dim_of(2));
            }
            aot_meta_insert_dim(&t, t.ndim, aot_dim_of(2), aot_dim_of(1));
            aot_meta_push_view(k, &t);
            return AOT_OK;
        }
    }
    return AOT_FAIL(k->err, AOT_E_SHAPE, "view_as_real is only supported for complex tensors");
}

aot_status meta_view_as_complex(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    for (unsigned p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        if (pairs[p].real == t.dtype && t.ndim > 0 && t.size[t.ndim - 1].value == 2) {
            t.dtype = pairs[p].complex;
            t.ndim--;
            for (unsigned i = 0; i < t.ndim; i++) {
                t.stride[i] = aot_dim_floordiv(k->c, t.stride[i], aot_dim_of(2));
            }
            aot_meta_push_view(k, &t);
            return AOT_OK;
        }
    }
    return AOT_FAIL(k->err, AOT_E_SHAPE,
                    "view_as_complex needs a half, float or double tensor whose last size is 2");
}
