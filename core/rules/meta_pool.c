/* Pooling: windows over the last two or three dimensions. Two-dimensional kinds keep the layout
 * that the operand's strides suggest; three-dimensional ones are contiguous unless they keep
 * indices.
 *
 * Mirrors: torch/_meta_registrations.py:pooling_output_shape, meta_avg_pool2d,
 * meta_max_pool2d_with_indices, meta_adaptive_avg_pool2d and their gradients. */
#include "rules/meta_shared.h"

/* Whether the last of n windows starts beyond the operand and its padding before. */
static bool starts_outside(aot_dim n, aot_dim stride, aot_dim size, aot_dim pad)
{
    int64_t start;
    if (n.value == AOT_HINT_NONE || size.value == AOT_HINT_NONE ||
        __builtin_mul_overflow(n.value - 1, stride.value, &start)) {
        return false;
    }
    return start - pad.value >= size.value;
}

/* With ceil_mode the last window may hang over the edge, if it starts inside of it. */
static aot_dim pooled(aot_call *k, aot_dim n, aot_dim kernel, aot_dim pad, aot_dim stride,
                      aot_dim dilation, bool ceil_mode)
{
    aot_ctx *c = k->c;
    aot_dim one = aot_dim_of(1);
    aot_dim t = aot_dim_add(c, n, aot_dim_mul(c, aot_dim_of(2), pad));
    t = aot_dim_sub(c, t, aot_dim_mul(c, dilation, aot_dim_sub(c, kernel, one)));
    t = aot_dim_sub(c, t, one);
    if (ceil_mode) {
        t = aot_dim_add(c, t, aot_dim_sub(c, stride, one));
    }
    t = aot_dim_add(c, aot_dim_floordiv(c, t, stride), one);
    if (ceil_mode && starts_outside(t, stride, n, pad)) {
        t = aot_dim_sub(c, t, one);
    }
    return t;
}

/* Sizes of (self, kernel_size, stride, padding[, dilation], ceil_mode) over the last `spatial`. */
static aot_status pool(aot_call *k, unsigned spatial, bool dilated, aot_fake *t)
{
    AOT_TRY(aot_call_need(k, 0, "self", t));
    if (t->ndim <= spatial) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: input has %u dimensions",
                        aot_op(k->n->op)->name, t->ndim);
    }
    bool ceil_mode = aot_call_bool(k, dilated ? 5 : 4, "ceil_mode", false);
    bool has_stride = aot_call_n_items(k, 2, "stride") > 0;
    for (unsigned i = 0; i < spatial; i++) {
        aot_dim kernel = aot_call_spatial(k, 1, "kernel_size", i, 1);
        aot_dim stride = has_stride ? aot_call_spatial(k, 2, "stride", i, 1) : kernel;
        aot_dim dilation =
            dilated ? aot_call_spatial(k, 4, "dilation", i, 1) : aot_dim_of(1);
        if (stride.value == 0) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: stride is zero", aot_op(k->n->op)->name);
        }
        aot_dim *s = &t->size[t->ndim - spatial + i];
        *s = pooled(k, *s, kernel, aot_call_spatial(k, 3, "padding", i, 0), stride, dilation,
                    ceil_mode);
    }
    return AOT_OK;
}

static aot_memory_format self_format(const aot_call *k, unsigned pos)
{
    aot_fake t;
    return aot_call_tensor(k, pos, "self", &t) ? aot_fake_suggest(&t) : AOT_MF_CONTIGUOUS;
}

static void push_format(aot_call *k, aot_fake *t, aot_dtype d, aot_memory_format f)
{
    t->dtype = (uint8_t)d;
    aot_fake_to_format(k, t, f);
    aot_call_push(k, t);
}

aot_status meta_avg_pool2d(aot_call *k)
{
    aot_fake t;
    AOT_TRY(pool(k, 2, false, &t));
    push_format(k, &t, t.dtype, self_format(k, 0));
    return AOT_OK;
}

aot_status meta_avg_pool3d(aot_call *k)
{
    aot_fake t;
    AOT_TRY(pool(k, 3, false, &t));
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

static aot_status max_pool(aot_call *k, unsigned spatial)
{
    aot_fake t;
    AOT_TRY(pool(k, spatial, true, &t));
    aot_memory_format f = self_format(k, 0);
    push_format(k, &t, t.dtype, f);
    push_format(k, &t, AOT_I64, f);
    return AOT_OK;
}

aot_status meta_max_pool2d_with_indices(aot_call *k)
{
    return max_pool(k, 2);
}

aot_status meta_max_pool3d_with_indices(aot_call *k)
{
    return max_pool(k, 3);
}

/* _adaptive_avg_pool*(self, output_size) */
static aot_status adaptive(aot_call *k, unsigned spatial, aot_fake *t)
{
    AOT_TRY(aot_call_need(k, 0, "self", t));
    if (t->ndim <= spatial) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: input has %u dimensions",
                        aot_op(k->n->op)->name, t->ndim);
    }
    for (unsigned i = 0; i < spatial; i++) {
        t->size[t->ndim - spatial + i] = aot_call_spatial(k, 1, "output_size", i, 1);
    }
    return AOT_OK;
}

aot_status meta_adaptive_avg_pool2d(aot_call *k)
{
    aot_fake t;
    AOT_TRY(adaptive(k, 2, &t));
    push_format(k, &t, t.dtype, self_format(k, 0));
    return AOT_OK;
}

aot_status meta_adaptive_avg_pool3d(aot_call *k)
{
    aot_fake t;
    AOT_TRY(adaptive(k, 3, &t));
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

aot_status meta_adaptive_max_pool2d(aot_call *k)
{
    aot_fake t;
    AOT_TRY(adaptive(k, 2, &t));
    aot_memory_format f = self_format(k, 0);
    push_format(k, &t, t.dtype, f);
    push_format(k, &t, AOT_I64, f);
    return AOT_OK;
}

aot_status meta_adaptive_max_pool3d(aot_call *k)
{
    aot_fake t;
    AOT_TRY(adaptive(k, 3, &t));
    aot_push_contiguous(k, &t, t.dtype);
    aot_push_contiguous(k, &t, AOT_I64);
    return AOT_OK;
}

/* self with its last sizes as argument 2, output_size, states them. */
static aot_status stated_size(aot_call *k, unsigned spatial, aot_fake *out)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    if (t.ndim <= spatial) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: input has %u dimensions",
                        aot_op(k->n->op)->name, t.ndim);
    }
    for (unsigned i = 0; i < spatial; i++) {
        t.size[t.ndim - spatial + i] = aot_call_spatial(k, 2, "output_size", i, 1);
    }
    *out = t;
    return AOT_OK;
}

/* fractional_max_pool*(self, kernel_size, output_size, random_samples) */
static aot_status fractional(aot_call *k, unsigned spatial)
{
    aot_fake t;
    AOT_TRY(stated_size(k, spatial, &t));
    aot_push_contiguous(k, &t, t.dtype);
    aot_push_contiguous(k, &t, AOT_I64);
    return AOT_OK;
}

aot_status meta_fractional_max_pool2d(aot_call *k)
{
    return fractional(k, 2);
}

aot_status meta_fractional_max_pool3d(aot_call *k)
{
    return fractional(k, 3);
}

/* Gradients (grad_output, self, ...): sizes of self in the layout that its strides suggest. */
aot_status meta_pool_backward(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 1, "self", &t));
    push_format(k, &t, t.dtype, aot_fake_suggest(&t));
    return AOT_OK;
}

aot_status meta_pool_backward_contiguous(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 1, "self", &t));
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

/* max_unpool*(self, indices, output_size, ...) */
static aot_status unpool(aot_call *k, unsigned spatial)
{
    aot_fake t;
    AOT_TRY(stated_size(k, spatial, &t));
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

aot_status meta_max_unpool2d(aot_call *k)
{
    return unpool(k, 2);
}

aot_status meta_max_unpool3d(aot_call *k)
{
    return unpool(k, 3);
}

/* ---- Inductor's pooling that keeps offsets in the window ----------------------------------- */

/* prims._low_memory_max_pool_with_offsets(self, kernel_size, stride, padding, dilation, ceil) */
aot_status meta_max_pool_with_offsets(aot_call *k)
{
    aot_fake t;
    AOT_TRY(pool(k, aot_call_n_items(k, 1, "kernel_size"), true, &t));
    aot_memory_format f = self_format(k, 0);
    push_format(k, &t, t.dtype, f);
    push_format(k, &t, AOT_I8, f);
    return AOT_OK;
}

aot_status meta_max_pool_offsets_to_indices(aot_call *k)
{
    aot_fake t, out;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    out = t;
    out.dtype = AOT_I64;
    aot_fake_set_like(k->c, &out, &t);
    aot_call_push(k, &out);
    return AOT_OK;
}
