/* Types of copies and of what is joined, padded, repeated or turned.
 * Mirrors: torch/_refs/__init__.py:cat, aten/src/ATen/native/TensorConversions.cpp:_to_copy,
 * aten/src/ATen/native/PadNd.cpp. */
#include "rules/meta_shape.h"

static void set_format(aot_call *k, aot_fake *t, const aot_fake *in, aot_memory_format f)
{
    if (f == AOT_MF_PRESERVE) {
        aot_fake_set_like(k->c, t, in);
    } else {
        aot_fake_set_format(k->c, t, f);
    }
}

aot_status meta_clone(aot_call *k)
{
    aot_fake in;
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    aot_fake t = in;
    set_format(k, &t, &in, aot_call_memory_format(k, 1, "memory_format", AOT_MF_PRESERVE));
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_to_copy(aot_call *k)
{
    aot_fake in;
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    aot_fake t = in;
    set_format(k, &t, &in, aot_call_memory_format(k, 6, "memory_format", AOT_MF_PRESERVE));
    t.dtype = (uint8_t)aot_call_dtype(k, 1, "dtype", (aot_dtype)in.dtype);
    t.device = aot_call_device(k, 3, "device", in.device);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* ---- joined --------------------------------------------------------------------------------- */

/* An empty tensor of one dimension joins anything. */
static bool is_legacy_empty(const aot_fake *t)
{
    return t->ndim == 1 && t->size[0].value == 0;
}

aot_status meta_cat(aot_call *k)
{
    unsigned n = aot_call_n_items(k, 0, "tensors"), d = 0;
    aot_fake t = {0}, in;
    aot_memory_format format = AOT_MF_CONTIGUOUS;
    aot_dtype dtype = AOT_NO_DTYPE;
    bool first = true;
    for (unsigned i = 0; i < n; i++) {
        if (!aot_call_tensor_item(k, 0, "tensors", i, &in)) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "cat: item %u is no tensor of known type", i);
        }
        dtype = i ? aot_promote_types(dtype, (aot_dtype)in.dtype) : (aot_dtype)in.dtype;
        aot_memory_format f = aot_fake_suggest(&in);
        format = i == 0 || f == format ? f : AOT_MF_CONTIGUOUS;
        if (is_legacy_empty(&in) && (!first || i + 1 < n)) {
            if (i == 0) {
                t = in;
            }
            continue;
        }
        if (first) {
            t = in;
            AOT_TRY(aot_meta_need_dim(k, &t, 1, "dim", 0, &d));
            first = false;
            continue;
        }
        if (in.ndim != t.ndim) {
            return AOT_FAIL(k->err, AOT_E_SHAPE,
                            "Number of dimensions of tensors must match. Expected %u-D tensors, "
                            "but got %u-D for tensor number %u in the list",
                            t.ndim, in.ndim, i);
        }
        for (unsigned j = 0; j < t.ndim; j++) {
            if (j != d && t.size[j].value != AOT_HINT_NONE && in.size[j].value != AOT_HINT_NONE
                && !dim_eq(t.size[j], in.size[j])) {
                return AOT_FAIL(k->err, AOT_E_SHAPE,
                                "Sizes of tensors must match except in dimension %u", d);
            }
        }
        if (t.ndim > 0) {
            t.size[d] = aot_dim_add(k->c, t.size[d], in.size[d]);
        }
    }
    if (n == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "cat expects at least one tensor, but received zero!");
    }
    t.dtype = (uint8_t)dtype;
    aot_fake_set_format(k->c, &t, format);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* Joined along the dimension before which the new one is put, then split; or, at the end, joined
 * along a new last dimension: a channels-last layout of the items shows in either. */
aot_status meta_stack(aot_call *k)
{
    unsigned n = aot_call_n_items(k, 0, "tensors"), d = 0;
    aot_fake t = {0}, in;
    aot_memory_format format = AOT_MF_CONTIGUOUS;
    bool at_end = false;
    for (unsigned i = 0; i < n; i++) {
        if (!aot_call_tensor_item(k, 0, "tensors", i, &in)) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "stack: item %u is no tensor of known type", i);
        }
        int64_t dim = aot_call_int(k, 1, "dim", 0).value, at = dim < 0 ? dim + in.ndim + 1 : dim;
        AOT_TRY(aot_meta_room(k, in.ndim + 1u));
        if (at < 0 || at > in.ndim) {
            return aot_meta_bad_dim(k, dim, in.ndim + 1u);
        }
        d = (unsigned)at;
        at_end = d == in.ndim;
        if (at_end) {
            aot_meta_insert_dim(&in, d, aot_dim_of(1), aot_dim_of(1));
        }
        aot_memory_format f = aot_fake_suggest(&in);
        format = i == 0 || f == format ? f : AOT_MF_CONTIGUOUS;
        in.dtype = (uint8_t)(i ? aot_promote_types((aot_dtype)t.dtype, (aot_dtype)in.dtype)
                               : (aot_dtype)in.dtype);
        t = in;
    }
    if (n == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "stack expects a non-empty TensorList");
    }
    aot_dim size = t.size[d];
    t.size[d] = aot_dim_mul(k->c, size, aot_dim_of(n));
    aot_fake_to_format(k, &t, format);
    if (!at_end) {
        aot_meta_insert_dim(&t, d, aot_dim_of(n), aot_dim_mul(k->c, t.stride[d], size));
        t.size[d + 1] = size;
    }
    if (aot_fake_numel(k->c, &t).value == 0) { /* a view of nothing is laid out anew */
        aot_fake_set_contiguous(k->c, &t);
    }
    aot_call_push(k, &t);
    return AOT_OK;
}

/* ---- padded, repeated, turned --------------------------------------------------------------- */

aot_status meta_constant_pad_nd(aot_call *k)
{
    aot_fake in;
    unsigned n = aot_call_n_items(k, 1, "pad");
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    if (n % 2 != 0 || n / 2 > in.ndim) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "constant_pad_nd: %u pads for %u dimensions", n,
                        in.ndim);
    }
    aot_fake t = in;
    bool grows = false;
    for (unsigned i = 0; i < n; i++) {
        unsigned d = in.ndim - 1u - i / 2;
        aot_dim pad = aot_call_item(k, 1, "pad", i, 0);
        grows |= pad.value == AOT_HINT_NONE || pad.value > 0;
        t.size[d] = aot_dim_add(k->c, t.size[d], pad);
    }
    if (grows) {
        aot_fake_set_format(k->c, &t, aot_fake_suggest(&in));
    } else { /* a copy of a part */
        aot_fake part = t;
        aot_fake_set_like(k->c, &t, &part);
    }
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_repeat(aot_call *k)
{
    aot_fake in;
    unsigned n = aot_call_n_items(k, 1, "repeats");
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    AOT_TRY(aot_meta_room(k, n));
    if (n < in.ndim) {
        return AOT_FAIL(k->err, AOT_E_SHAPE,
                        "Number of dimensions of repeat dims can not be smaller than number of "
                        "dimensions of tensor");
    }
    aot_fake t = in;
    t.ndim = (uint8_t)n;
    for (unsigned i = 0; i < n; i++) {
        aot_dim r = aot_call_item(k, 1, "repeats", i, 1);
        bool old = i + in.ndim >= n;
        t.size[i] = old ? aot_dim_mul(k->c, in.size[i + in.ndim - n], r) : r;
    }
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_roll(aot_call *k)
{
    aot_fake in;
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    aot_fake t = in;
    if (aot_fake_numel(k->c, &in).value == 0) {
        aot_fake_set_like(k->c, &t, &in);
    } else {
        aot_fake_set_contiguous(k->c, &t);
    }
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_rot90(aot_call *k)
{
    aot_fake in;
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    aot_fake t = in;
    int64_t times = ((aot_call_int(k, 1, "k", 1).value % 4) + 4) % 4;
    unsigned a = aot_fake_dim(&in, aot_call_item(k, 2, "dims", 0, 0).value);
    unsigned b = aot_fake_dim(&in, aot_call_item(k, 2, "dims", 1, 1).value);
    if (a >= in.ndim || b >= in.ndim || a == b) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "rot90 needs two different dimensions");
    }
    if (times == 0) {
        aot_fake_set_contiguous(k->c, &t);
    } else {
        if (times != 2) {
            t.size[a] = in.size[b];
            t.stride[a] = in.stride[b];
            t.size[b] = in.size[a];
            t.stride[b] = in.stride[a];
        }
        aot_fake turned = t;
        aot_fake_set_permuted(k->c, &t, &turned, 1);
    }
    aot_call_push(k, &t);
    return AOT_OK;
}

/* ---- channels to pixels --------------------------------------------------------------------- */

/* Channels divided by r * r, height and width times r, or the other way round. */
static aot_status shuffle(aot_call *k, aot_dim r, bool to_pixels)
{
    aot_fake in;
    aot_ctx *c = k->c;
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    if (in.ndim < 3 || r.value < 1) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: 3 dimensions and a factor are needed",
                        call_name(k));
    }
    aot_fake t = in;
    aot_dim rr = aot_dim_mul(c, r, r);
    unsigned ch = in.ndim - 3u;
    t.size[ch] = to_pixels ? aot_dim_floordiv(c, in.size[ch], rr) : aot_dim_mul(c, in.size[ch], rr);
    for (unsigned i = ch + 1; i < in.ndim; i++) {
        t.size[i] = to_pixels ? aot_dim_mul(c, in.size[i], r) : aot_dim_floordiv(c, in.size[i], r);
    }
    // CUDA's kernel of pixel_shuffle is contiguous
    bool cuda = to_pixels && aot_starts_with(aot_text(c, in.device), "cuda");
    aot_fake_to_format(k, &t, cuda ? AOT_MF_CONTIGUOUS : aot_fake_suggest(&in));
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_pixel_shuffle(aot_call *k)
{
    return shuffle(k, aot_call_int(k, 1, "upscale_factor", 1), true);
}

aot_status meta_pixel_unshuffle(aot_call *k)
{
    return shuffle(k, aot_call_int(k, 1, "downscale_factor", 1), false);
}

/* prims::copy_strided(a, stride) */
aot_status meta_copy_strided(aot_call *k)
{
    aot_fake t;
    if (!aot_call_tensor(k, 0, "a", &t) || aot_call_n_items(k, 1, "stride") != t.ndim) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: a tensor and its strides are wanted",
                        aot_text(k->c, k->n->name));
    }
    for (unsigned i = 0; i < t.ndim; i++) {
        t.stride[i] = aot_call_item(k, 1, "stride", i, 1);
    }
    aot_call_push(k, &t);
    return AOT_OK;
}
