/* Convolutions and what works on images beside pooling: resizing, padding, columns.
 *
 *     convolution(f32[N, C, H, W], f32[O, C, 3, 3], stride 1, padding 1)    f32[N, O, H, W]
 *
 * A result is channels-last if an operand is: the kernel that PyTorch would select decides. oneDNN,
 * slow2d and cuDNN agree on images, but for f64, which cuDNN keeps contiguous.
 * Mirrors: torch/_meta_registrations.py:meta_conv, meta_convolution_backward,
 * torch/_subclasses/fake_impls.py:conv, aten/src/ATen/native/ConvUtils.h. */
#include "rules/meta_shared.h"

#include "ops/op_ids.h"

static bool on_cuda(const aot_call *k, const aot_fake *t)
{
    return aot_starts_with(aot_text(k->c, t->device), "cuda");
}

/* ---- convolution --------------------------------------------------------------------------- */

/* (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 */
static aot_dim window_count(aot_ctx *c, aot_dim n, aot_dim pad, aot_dim dilation, aot_dim kernel,
                            aot_dim stride)
{
    aot_dim reach = aot_dim_mul(c, dilation, aot_dim_sub(c, kernel, aot_dim_of(1)));
    n = aot_dim_add(c, n, aot_dim_mul(c, aot_dim_of(2), pad));
    n = aot_dim_sub(c, aot_dim_sub(c, n, reach), aot_dim_of(1));
    return aot_dim_add(c, aot_dim_floordiv(c, n, stride), aot_dim_of(1));
}

/* (n - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1 */
static aot_dim window_spread(aot_ctx *c, aot_dim n, aot_dim pad, aot_dim dilation, aot_dim kernel,
                             aot_dim stride, aot_dim extra)
{
    n = aot_dim_mul(c, aot_dim_sub(c, n, aot_dim_of(1)), stride);
    n = aot_dim_sub(c, n, aot_dim_mul(c, aot_dim_of(2), pad));
    n = aot_dim_add(c, n, aot_dim_mul(c, dilation, aot_dim_sub(c, kernel, aot_dim_of(1))));
    return aot_dim_add(c, aot_dim_add(c, n, extra), aot_dim_of(1));
}

/* One-dimensional convolutions are selected as images of height 1. */
static aot_fake as_image(const aot_fake *t)
{
    aot_fake out = *t;
    out.ndim = 4;
    out.size[3] = t->size[2];
    out.stride[3] = t->stride[2];
    out.size[2] = aot_dim_of(1);
    out.stride[2].expr = 0;
    if (__builtin_mul_overflow(t->size[2].value, t->stride[2].value, &out.stride[2].value)) {
        out.stride[2].value = AOT_HINT_NONE;
    }
    return out;
}

/* Whether oneDNN takes a volume: small ones and those that are not f32 (on machines without
 * instructions for halves) go to a kernel that is contiguous. Mirrors
 * ConvParams::use_mkldnn for more than one thread. */
static bool takes_volume(const aot_call *k, const aot_fake *in, const aot_fake *w)
{
    int64_t n = 1;
    if (on_cuda(k, in)) {
        return true;
    }
    if (in->dtype != AOT_F32) {
        return false;
    }
    if (in->size[0].value > 1 ||
        aot_call_int(k, k->n->op == AOT_OP_aten_convolution ? 8 : 9, "groups", 1).value > 1 ||
        (w->size[w->ndim - 1].value > 3 && w->size[w->ndim - 2].value > 3)) {
        return true;
    }
    for (unsigned i = 0; i < 4; i++) {
        if (__builtin_mul_overflow(n, in->size[i].value, &n)) {
            return true;
        }
    }
    return n > 20480;
}

static aot_memory_format conv_format(const aot_call *k, const aot_fake *input,
                                     const aot_fake *weight)
{
    aot_fake in = *input, w = *weight;
    bool wide = in.dtype == AOT_F64 || w.dtype == AOT_F64;
    if (in.size[0].value == AOT_HINT_NONE || (wide && on_cuda(k, &in)) ||
        (w.ndim == 5 && !takes_volume(k, &in, &w))) {
        return AOT_MF_CONTIGUOUS;
    }
    if (w.ndim == 3) {
        if (!aot_fake_is_contiguous(&in)) {
            aot_fake_set_contiguous(k->c, &in);
        }
        in = as_image(&in);
        w = as_image(&w);
    }
    aot_memory_format a = aot_fake_suggest(&in);
    return a != AOT_MF_CONTIGUOUS ? a : aot_fake_suggest(&w);
}

/* Images of height 1 lose that dimension again. */
static void set_conv_format(const aot_call *k, aot_fake *t, aot_memory_format f)
{
    if (t->ndim == 3 && f == AOT_MF_CHANNELS_LAST) {
        t->stride[1] = aot_dim_of(1);
        t->stride[2] = t->size[1];
        t->stride[0] = aot_dim_mul(k->c, t->size[1], t->size[2]);
        return;
    }
    aot_fake_to_format(k, t, f);
}

aot_status meta_convolution(aot_call *k)
{
    aot_fake in, w;
    AOT_TRY(aot_call_need(k, 0, "input", &in));
    AOT_TRY(aot_call_need(k, 1, "weight", &w));
    if (in.ndim != w.ndim || in.ndim < 3) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "convolution: input has %u dimensions, weight %u",
                        in.ndim, w.ndim);
    }
    bool transposed = aot_call_bool(k, 6, "transposed", false);
    aot_dim groups = aot_call_int(k, 8, "groups", 1);
    aot_fake out = in;
    out.size[1] = transposed ? aot_dim_mul(k->c, groups, w.size[1]) : w.size[0];
    if (aot_dim_is(in.size[1], 0)) {
        out.size[1] = aot_dim_of(0);
    }
    for (unsigned i = 0; i + 2 < in.ndim; i++) {
        aot_dim stride = aot_call_spatial(k, 3, "stride", i, 1);
        aot_dim pad = aot_call_spatial(k, 4, "padding", i, 0);
        aot_dim dilation = aot_call_spatial(k, 5, "dilation", i, 1);
        aot_dim *n = &out.size[i + 2];
        *n = transposed ? window_spread(k->c, *n, pad, dilation, w.size[i + 2], stride,
                                        aot_call_spatial(k, 7, "output_padding", i, 0))
                        : window_count(k->c, *n, pad, dilation, w.size[i + 2], stride);
    }
    set_conv_format(k, &out, conv_format(k, &in, &w));
    aot_call_push(k, &out);
    return AOT_OK;
}

/* (grad_output, input, weight, bias_sizes, ..., output_mask) */
aot_status meta_convolution_backward(aot_call *k)
{
    aot_fake grad, t[2];
    AOT_TRY(aot_call_need(k, 0, "grad_output", &grad));
    AOT_TRY(aot_call_need(k, 1, "input", &t[0]));
    AOT_TRY(aot_call_need(k, 2, "weight", &t[1]));
    aot_memory_format f = conv_format(k, &t[0], &t[1]);
    for (unsigned i = 0; i < 2; i++) {
        if (aot_call_flag(k, 10, "output_mask", i)) {
            t[i].dtype = grad.dtype;
            set_conv_format(k, &t[i], f);
            aot_call_push(k, &t[i]);
        } else {
            aot_call_push_none(k);
        }
    }
    if (aot_call_flag(k, 10, "output_mask", 2) && aot_call_n_items(k, 3, "bias_sizes")) {
        aot_push_vector(k, &grad, grad.dtype, aot_call_item(k, 3, "bias_sizes", 0, 0));
    } else {
        aot_call_push_none(k);
    }
    return AOT_OK;
}

/* ---- columns ------------------------------------------------------------------------------- */

static aot_dim list_product(const aot_call *k, unsigned pos, const char *name)
{
    aot_dim n = aot_dim_of(1);
    for (unsigned i = 0; i < 2; i++) {
        n = aot_dim_mul(k->c, n, aot_call_spatial(k, pos, name, i, 1));
    }
    return n;
}

/* im2col(self, kernel_size, dilation, padding, stride) */
aot_status meta_im2col(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    if (t.ndim < 3) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "im2col: input has %u dimensions", t.ndim);
    }
    unsigned first = t.ndim - 3; /* the channels */
    aot_dim blocks = aot_dim_of(1);
    for (unsigned i = 0; i < 2; i++) {
        aot_dim n = window_count(k->c, t.size[first + 1 + i],
                                 aot_call_spatial(k, 3, "padding", i, 0),
                                 aot_call_spatial(k, 2, "dilation", i, 1),
                                 aot_call_spatial(k, 1, "kernel_size", i, 1),
                                 aot_call_spatial(k, 4, "stride", i, 1));
        blocks = aot_dim_mul(k->c, blocks, n);
    }
    t.size[first] = aot_dim_mul(k->c, t.size[first], list_product(k, 1, "kernel_size"));
    t.size[first + 1] = blocks;
    t.ndim = (uint8_t)(t.ndim - 1);
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

/* col2im(self, output_size, kernel_size, ...) */
aot_status meta_col2im(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    if (t.ndim < 2 || t.ndim > 3) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "col2im: input has %u dimensions", t.ndim);
    }
    unsigned first = t.ndim - 2;
    t.size[first] = aot_dim_floordiv(k->c, t.size[first], list_product(k, 2, "kernel_size"));
    t.size[first + 1] = aot_call_spatial(k, 1, "output_size", 0, 1);
    t.size[first + 2] = aot_call_spatial(k, 1, "output_size", 1, 1);
    t.ndim = (uint8_t)(t.ndim + 1);
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

/* ---- resizing ------------------------------------------------------------------------------ */

/* Few channels are resized faster contiguously on CUDA. */
static aot_status upsample(aot_call *k, int64_t cuda_channels, bool by_contiguous)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_memory_format f = aot_fake_suggest(&t);
    if (on_cuda(k, &t) && t.ndim > 1 && t.size[1].value < cuda_channels) {
        f = AOT_MF_CONTIGUOUS;
    }
    for (unsigned i = 0; i + 2 < t.ndim; i++) {
        t.size[i + 2] = aot_call_item(k, 1, "output_size", i, 1);
    }
    aot_fake_set_contiguous(k->c, &t);
    if (!by_contiguous || !aot_fake_is_format(&t, f)) { /* one channel: both at once */
        aot_fake_to_format(k, &t, f);
    }
    aot_call_push(k, &t);
    return AOT_OK;
}

/* affine_grid_generator(theta, size [N, C, (D,) H, W]) -> [N, (D,) H, W, 2 or 3] */
aot_status meta_affine_grid_generator(aot_call *k)
{
    aot_fake theta;
    AOT_TRY(aot_call_need(k, 0, "theta", &theta));
    unsigned n = aot_call_n_items(k, 1, "size") == 5 ? 3 : 2;
    aot_dim size[5] = {aot_call_item(k, 1, "size", 0, 1)};
    for (unsigned i = 0; i < n; i++) {
        size[1 + i] = aot_call_item(k, 1, "size", 2 + i, 1);
    }
    size[n + 1] = aot_dim_of(n);
    aot_fake t = aot_fake_make(k, (aot_dtype)theta.dtype, n + 2, size, theta.device);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* upsample_*(self, output_size, ...) by .to(memory_format=...) */
aot_status meta_upsample(aot_call *k)
{
    return upsample(k, 0, false);
}

/* By .contiguous(memory_format=...) */
aot_status meta_upsample_by_contiguous(aot_call *k)
{
    return upsample(k, 0, true);
}

aot_status meta_upsample_bilinear2d(aot_call *k)
{
    return upsample(k, 16, true);
}

/* upsample_*_backward(grad_output, output_size, input_size, ...) */
aot_status meta_upsample_backward(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "grad_output", &t));
    aot_memory_format f = aot_fake_suggest(&t);
    for (unsigned i = 0; i < t.ndim; i++) {
        t.size[i] = aot_call_item(k, 2, "input_size", i, 1);
    }
    aot_fake_to_format(k, &t, f);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* Bicubic gradients are contiguous. */
aot_status meta_upsample_backward_contiguous(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "grad_output", &t));
    for (unsigned i = 0; i < t.ndim; i++) {
        t.size[i] = aot_call_item(k, 2, "input_size", i, 1);
    }
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

/* ---- padding ------------------------------------------------------------------------------- */

/* Reflection and replication: (self, padding), the last dimension's pair first. */
aot_status meta_pad(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    unsigned n = aot_call_n_items(k, 1, "padding");
    for (unsigned i = 0; i + 1 < n && i / 2 < t.ndim; i += 2) {
        aot_dim *s = &t.size[t.ndim - 1 - i / 2];
        *s = aot_dim_add(k->c, *s, aot_call_item(k, 1, "padding", i, 0));
        *s = aot_dim_add(k->c, *s, aot_call_item(k, 1, "padding", i + 1, 0));
    }
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

/* Gradients of padding (grad_output, self, ...): like self, contiguous. */
aot_status meta_pad_backward(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 1, "self", &t));
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

/* ---- sampling ------------------------------------------------------------------------------ */

/* grid_sampler_*(input, grid, ...): sizes of the grid's points. */
aot_status meta_grid_sampler(aot_call *k)
{
    aot_fake t, grid;
    AOT_TRY(aot_call_need(k, 0, "input", &t));
    AOT_TRY(aot_call_need(k, 1, "grid", &grid));
    for (unsigned i = 2; i < t.ndim && i - 1 < grid.ndim; i++) {
        t.size[i] = grid.size[i - 1];
    }
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

/* (grad_output, input, grid, ..., output_mask); the grid's gradient is always there. */
aot_status meta_grid_sampler_backward(aot_call *k)
{
    aot_fake t, grid;
    AOT_TRY(aot_call_need(k, 1, "input", &t));
    AOT_TRY(aot_call_need(k, 2, "grid", &grid));
    if (aot_call_flag(k, 6, "output_mask", 0)) {
        aot_push_contiguous(k, &t, t.dtype);
    } else {
        aot_call_push_none(k);
    }
    aot_push_contiguous(k, &grid, grid.dtype);
    return AOT_OK;
}

/* channel_shuffle(self, groups) */
aot_status meta_channel_shuffle(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

/* conv_tbc(self [time, batch, in], weight [kernel, in, out], bias, pad) */
aot_status meta_conv_tbc(aot_call *k)
{
    aot_fake self, weight;
    AOT_TRY(aot_call_need(k, 0, "self", &self));
    AOT_TRY(aot_call_need(k, 1, "weight", &weight));
    if (self.ndim != 3 || weight.ndim != 3) {
        return AOT_FAIL(k->err, AOT_E_SHAPE,
                        "conv_tbc takes an input and a weight of three dimensions");
    }
    aot_dim pad = aot_call_int(k, 3, "pad", 0);
    aot_dim time = aot_dim_add(k->c, aot_dim_add(k->c, self.size[0], pad), pad);
    time = aot_dim_add(k->c, aot_dim_sub(k->c, time, weight.size[0]), aot_dim_of(1));
    aot_fake t = aot_fake_make(k, (aot_dtype)self.dtype, 3,
                               (aot_dim[]){time, self.size[1], weight.size[2]}, self.device);
    aot_call_push(k, &t);
    return AOT_OK;
}
