/* Types of views and of their copying forms: the sizes and strides that a view has over its base.
 * Copying forms share the rule of their view and come out contiguous.
 *
 * Sizes may be symbolic: branches are taken at the hints, as guards would, and what is written down
 * stays an expression.
 * Mirrors: aten/src/ATen/native/TensorShape.cpp, torch/_refs/__init__.py:_reshape_view_helper,
 * torch/_prims/__init__.py:_collapse_view_helper. */
#include "rules/meta_shape.h"

/* ---- view, reshape -------------------------------------------------------------------------- */

/* The sizes of a shape argument, -1 worked out. */
static aot_status need_shape(aot_call *k, const aot_fake *t, unsigned pos, const char *name,
                             aot_dim *shape, unsigned *n)
{
    aot_dim known = aot_dim_of(1), numel = aot_fake_numel(k->c, t);
    int infer = -1;
    *n = aot_call_n_items(k, pos, name);
    AOT_TRY(aot_meta_room(k, *n));
    for (unsigned i = 0; i < *n; i++) {
        shape[i] = aot_call_item(k, pos, name, i, 0);
        if (aot_dim_is(shape[i], -1)) {
            infer = (int)i;
        } else {
            known = aot_dim_mul(k->c, known, shape[i]);
        }
    }
    if (infer >= 0) {
        if (aot_dim_is(known, 0)) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: -1 is ambiguous among empty sizes",
                            call_name(k));
        }
        shape[infer] = aot_dim_floordiv(k->c, numel, known);
        known = aot_dim_mul(k->c, known, shape[infer]);
    }
    if (!dim_eq(known, numel) && known.value != AOT_HINT_NONE && numel.value != AOT_HINT_NONE) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: the shape has %lld elements, the input %lld",
                        call_name(k), (long long)known.value, (long long)numel.value);
    }
    return AOT_OK;
}

/* Merges dimensions first .. last into one; false if no stride fits. */
static bool collapse(aot_ctx *c, aot_fake *t, unsigned first, unsigned last)
{
    aot_dim one = aot_dim_of(1), size = t->size[last], stride = t->stride[last];
    for (unsigned i = last; i-- > first;) {
        if (!dim_eq(t->size[i], one) && !dim_eq(t->size[i + 1], one)
            && !dim_eq(t->stride[i], aot_dim_mul(c, t->stride[i + 1], t->size[i + 1]))) {
            return false;
        }
    }
    for (unsigned i = last; i-- > first;) {
        if (!dim_eq(t->size[i], one) && dim_lt(t->stride[i], stride)) {
            stride = t->stride[i];
        }
        size = aot_dim_mul(c, size, t->size[i]);
    }
    for (unsigned i = first; i < last; i++) {
        aot_meta_remove_dim(t, first + 1);
    }
    t->size[first] = size;
    t->stride[first] = stride;
    return true;
}

static aot_status split_dim(aot_call *k, aot_fake *t, unsigned at, aot_dim outer)
{
    aot_dim inner = aot_dim_floordiv(k->c, t->size[at], outer), stride = t->stride[at];
    AOT_TRY(aot_meta_room(k, t->ndim + 1));
    aot_meta_insert_dim(t, at, outer, aot_dim_mul(k->c, stride, inner));
    t->size[at + 1] = inner;
    return AOT_OK;
}

static bool divides(aot_dim length, aot_dim size)
{
    if (length.value == AOT_HINT_NONE || size.value == AOT_HINT_NONE) {
        return dim_eq(length, size);
    }
    return length.value != 0 && size.value % length.value == 0;
}

static aot_status no_view(aot_call *k)
{
    return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: the strides do not allow a view of that shape",
                    call_name(k));
}

/* Builds the new dimensions from the left: merges what is too small, splits what is too large. */
static aot_status view_general(aot_call *k, aot_fake *t, const aot_dim *shape, unsigned n)
{
    unsigned idx = 0;
    for (unsigned i = 0; i < n; i++, idx++) {
        if (idx >= t->ndim) { /* a trailing 1 */
            AOT_TRY(split_dim(k, t, t->ndim - 1, t->size[t->ndim - 1]));
            continue;
        }
        if (dim_eq(shape[i], t->size[idx])) {
            continue;
        }
        aot_dim accum = t->size[idx];
        unsigned end = idx;
        while (!divides(shape[i], accum)) {
            if (++end >= t->ndim) {
                return no_view(k);
            }
            accum = aot_dim_mul(k->c, accum, t->size[end]);
        }
        if (end != idx && !collapse(k->c, t, idx, end)) {
            return no_view(k);
        }
        if (!dim_eq(accum, shape[i])) {
            AOT_TRY(split_dim(k, t, idx, shape[i]));
        }
    }
    while (idx < t->ndim) {
        aot_meta_remove_dim(t, idx);
    }
    return AOT_OK;
}

static void set_shape(aot_call *k, aot_fake *t, const aot_dim *shape, unsigned n)
{
    t->ndim = (uint8_t)n;
    for (unsigned i = 0; i < n; i++) {
        t->size[i] = shape[i];
    }
    aot_fake_set_contiguous(k->c, t);
}

static bool has_unhinted(const aot_fake *t, const aot_dim *shape, unsigned n)
{
    for (unsigned i = 0; i < t->ndim; i++) {
        if (t->size[i].value == AOT_HINT_NONE) {
            return true;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        if (shape[i].value == AOT_HINT_NONE) {
            return true;
        }
    }
    return false;
}

aot_status meta_view(aot_call *k)
{
    aot_fake t;
    aot_dim shape[AOT_FAKE_MAX_NDIM];
    unsigned n;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(need_shape(k, &t, 1, "size", shape, &n));
    bool contiguous = aot_fake_is_contiguous(&t);
    if (aot_fake_numel(k->c, &t).value == 0 || t.ndim == 0 || n == 0
        || (contiguous && has_unhinted(&t, shape, n))) {
        set_shape(k, &t, shape, n);
    } else if (contiguous && n == 1 && t.ndim > 1) {
        shape[0] = aot_fake_numel(k->c, &t);
        set_shape(k, &t, shape, 1);
    } else if (contiguous && n == 2 && t.ndim == 1) {
        t.ndim = 2;
        t.size[0] = shape[0];
        t.size[1] = t.stride[0] = shape[1];
        t.stride[1] = aot_dim_of(1);
    } else {
        AOT_TRY(view_general(k, &t, shape, n));
    }
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_reshape_copy(aot_call *k)
{
    aot_fake t;
    aot_dim shape[AOT_FAKE_MAX_NDIM];
    unsigned n;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(need_shape(k, &t, 1, "size", shape, &n));
    set_shape(k, &t, shape, n);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* view.dtype: the last dimension is cut or joined if the item sizes differ. */
aot_status meta_view_dtype(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_dtype d = aot_call_dtype(k, 1, "dtype", (aot_dtype)t.dtype);
    int64_t from = aot_dtype_get((aot_dtype)t.dtype)->bytes, to = aot_dtype_get(d)->bytes;
    if (from != to && t.ndim == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "view.dtype: no dimension to change the item size in");
    }
    for (unsigned i = 0; from != to && i < t.ndim; i++) {
        bool last = i + 1 == t.ndim;
        if (from > to) {
            aot_dim r = aot_dim_of(from / to);
            t.size[i] = last ? aot_dim_mul(k->c, t.size[i], r) : t.size[i];
            t.stride[i] = last ? aot_dim_of(1) : aot_dim_mul(k->c, t.stride[i], r);
        } else {
            aot_dim r = aot_dim_of(to / from);
            t.size[i] = last ? aot_dim_floordiv(k->c, t.size[i], r) : t.size[i];
            t.stride[i] = last ? aot_dim_of(1) : aot_dim_floordiv(k->c, t.stride[i], r);
        }
    }
    t.dtype = (uint8_t)d;
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_identity_view(aot_call *k)
{
    aot_fake t;
    const aot_arg *self = aot_call_arg(k, 0, "self");
    if (self != NULL && self->kind == AOT_ARG_COMPLEX) { // a number is a tensor in double precision
        t = aot_fake_new(AOT_C128, 0, NULL, aot_intern_z(k->c->strs, "cpu"));
        aot_call_push(k, &t);
        return AOT_OK;
    }
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

/* ---- strides given or changed --------------------------------------------------------------- */

aot_status meta_as_strided(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    unsigned n = aot_call_n_items(k, 1, "size");
    AOT_TRY(aot_meta_room(k, n));
    t.ndim = (uint8_t)n;
    for (unsigned i = 0; i < n; i++) {
        t.size[i] = aot_call_item(k, 1, "size", i, 0);
        t.stride[i] = aot_call_item(k, 2, "stride", i, 0);
    }
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_expand(aot_call *k)
{
    aot_fake in, t;
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    unsigned n = aot_call_n_items(k, 1, "size");
    AOT_TRY(aot_meta_room(k, n));
    if (n < in.ndim) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "expand: %u sizes for %u dimensions", n, in.ndim);
    }
    t = in;
    t.ndim = (uint8_t)n;
    for (unsigned i = n; i-- > 0;) {
        bool old = i + in.ndim >= n;
        unsigned from = i + in.ndim - n;
        aot_dim want = aot_call_item(k, 1, "size", i, 0);
        aot_dim size = old ? in.size[from] : aot_dim_of(1);
        if (old) {
            t.stride[i] = in.stride[from];
        } else { /* a new dimension of size 1 */
            t.stride[i] = in.ndim ? aot_dim_mul(k->c, in.size[0], in.stride[0]) : aot_dim_of(1);
        }
        if (!aot_dim_is(want, -1) && !dim_eq(want, size)) {
            if (size.value != 1 && size.value != AOT_HINT_NONE) {
                return AOT_FAIL(k->err, AOT_E_SHAPE, "expand: size %lld cannot become %lld",
                                (long long)size.value, (long long)want.value);
            }
            size = want;
            t.stride[i] = aot_dim_of(0);
        }
        t.size[i] = size;
    }
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_permute(aot_call *k)
{
    aot_fake in, t;
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    if (aot_call_n_items(k, 1, "dims") != in.ndim) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "permute: %u dimensions for %u",
                        aot_call_n_items(k, 1, "dims"), in.ndim);
    }
    t = in;
    for (unsigned i = 0; i < in.ndim; i++) {
        int64_t d = aot_call_item(k, 1, "dims", i, 0).value;
        unsigned from = aot_fake_dim(&in, d);
        if (from >= in.ndim) {
            return aot_meta_bad_dim(k, d, in.ndim);
        }
        t.size[i] = in.size[from];
        t.stride[i] = in.stride[from];
    }
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

static void swap_dims(aot_fake *t, unsigned a, unsigned b)
{
    aot_dim size = t->size[a], stride = t->stride[a];
    t->size[a] = t->size[b];
    t->stride[a] = t->stride[b];
    t->size[b] = size;
    t->stride[b] = stride;
}

aot_status meta_t(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    if (t.ndim > 2) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "t: at most 2 dimensions, %u given", t.ndim);
    }
    if (t.ndim == 2) {
        swap_dims(&t, 0, 1);
    }
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_transpose(aot_call *k)
{
    aot_fake t;
    unsigned a, b;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, 1, "dim0", 0, &a));
    AOT_TRY(aot_meta_need_dim(k, &t, 2, "dim1", 0, &b));
    if (t.ndim > 0) {
        swap_dims(&t, a, b);
    }
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

/* The last two dimensions swapped. */
aot_status meta_matrix_transpose(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    if (t.ndim < 2) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "a matrix is needed, %u dimensions given", t.ndim);
    }
    swap_dims(&t, t.ndim - 2u, t.ndim - 1u);
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

/* ---- dimensions put in and taken out -------------------------------------------------------- */

static void squeeze_marked(aot_fake *t, uint32_t marked)
{
    unsigned n = 0;
    for (unsigned i = 0; i < t->ndim; i++) {
        if ((marked & 1u << i) && dim_eq(t->size[i], aot_dim_of(1))) {
            continue;
        }
        t->size[n] = t->size[i];
        t->stride[n++] = t->stride[i];
    }
    t->ndim = (uint8_t)n;
}

aot_status meta_squeeze(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    squeeze_marked(&t, UINT32_MAX);
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_squeeze_dim(aot_call *k)
{
    aot_fake t;
    unsigned d;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, 1, "dim", 0, &d));
    squeeze_marked(&t, 1u << d);
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_squeeze_dims(aot_call *k)
{
    aot_fake t;
    uint32_t marked = 0;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    for (unsigned i = 0, n = aot_call_n_items(k, 1, "dim"); i < n; i++) {
        marked |= 1u << aot_fake_dim(&t, aot_call_item(k, 1, "dim", i, 0).value);
    }
    squeeze_marked(&t, marked);
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_unsqueeze(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_room(k, t.ndim + 1u));
    int64_t d = aot_call_int(k, 1, "dim", 0).value;
    int64_t at = d < 0 ? d + t.ndim + 1 : d;
    if (at < 0 || at > t.ndim) {
        return aot_meta_bad_dim(k, d, t.ndim + 1u);
    }
    aot_meta_insert_dim(&t, (unsigned)at, aot_dim_of(1),
               at < t.ndim ? aot_dim_mul(k->c, t.size[at], t.stride[at]) : aot_dim_of(1));
    aot_meta_push_view(k, &t);
    return AOT_OK;
}

aot_status meta_select(aot_call *k)
{
    aot_fake t;
    unsigned d;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    if (t.ndim == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "select() cannot be applied to a 0-dim tensor.");
    }
    AOT_TRY(aot_meta_need_dim(k, &t, 1, "dim", 0, &d));
    int64_t i = aot_call_int(k, 2, "index", 0).value, size = t.size[d].value;
    if (i != AOT_HINT_NONE && size != AOT_HINT_NONE && (i < -size || i >= size)) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "select(): index %lld out of range for size %lld",
                        (long long)i, (long long)size);
    }
    aot_meta_remove_dim(&t, d);
    aot_meta_push_view(k, &t);
    return AOT_OK;
}
