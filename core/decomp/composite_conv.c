/* Convolutions by number of dimensions: all are convolution, with a batch dimension for the time of
 * the call if the input has none.
 *
 *     conv2d(x [4, 6, 6], w)  ->  convolution(unsqueeze(x, 0), w, None, [1, 1], ...),
 *                                 squeeze(.., 0)
 *
 * Mirrors: aten/src/ATen/native/Convolution.cpp */
#include "trace/trace.h"

/* x with a batch dimension; *added tells whether it was made. */
static aot_tensor *batchify(aot_tracer *t, aot_tensor *x, unsigned n_spatial, bool *added)
{
    *added = aot_ndim(x) == n_spatial + 1;
    return *added ? AOT(t, aten_unsqueeze, x, 0) : x;
}

static bool give(aot_expand *k, aot_tensor *x, bool added)
{
    return aot_x_give(k, added ? AOT(k->t, aten_squeeze_dim, x, 0) : x);
}

static aot_dims zeros(aot_tracer *t, unsigned n)
{
    return (aot_dims){AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, n), n};
}

/* Spatial dimensions of a convolution with that weight. */
static unsigned spatial(const aot_expand *k, const aot_tensor *weight)
{
    if (aot_ndim(weight) < 3) {
        aot_trace_fail(k->t, AOT_E_SHAPE, "%s: a weight of %u dimensions; 3 are the least",
                       aot_op(k->op)->name, aot_ndim(weight));
    }
    return aot_ndim(weight) - 2;
}

typedef struct conv {
    aot_value bias, stride, padding, dilation, output_padding, groups;
    bool transposed;
} conv;

static aot_tensor *call(aot_tracer *t, aot_tensor *x, aot_tensor *weight, aot_value bias,
                        const conv *c)
{
    return AOT(t, aten_convolution, x, weight, bias, c->stride, c->padding, c->dilation,
               c->transposed, c->output_padding, c->groups);
}

typedef struct parts {
    aot_tensor *re, *im;
} parts;

static parts parts_of(aot_tracer *t, aot_tensor *x)
{
    aot_tensor *pairs = AOT(t, aten_view_as_real, x);
    int64_t last = aot_ndim(x);
    parts p;
    p.re = AOT(t, aten_select_int, pairs, last, 0);
    p.im = AOT(t, aten_select_int, pairs, last, 1);
    return p;
}

/* Complex numbers by three real convolutions: a = re re, b = im im, c = (re + im)(re + im);
 * the result is a - b + i (c - a - b). */
static aot_tensor *convolve(aot_tracer *t, aot_tensor *x, aot_tensor *weight, const conv *c)
{
    if (!aot_is_complex(x) && !aot_is_complex(weight)) {
        return call(t, x, weight, c->bias, c);
    }
    parts i = parts_of(t, x), w = parts_of(t, weight), b = {NULL, NULL};
    aot_tensor *b_sum = NULL;
    if (c->bias.kind == AOT_V_TENSOR) {
        b = parts_of(t, c->bias.u.t);
    }
    aot_tensor *first = call(t, i.re, w.re, aot_v_tensor(b.re), c);
    aot_tensor *second = call(t, i.im, w.im, aot_v_none(), c);
    if (b.re != NULL) {
        b_sum = AOT(t, aten_add_Tensor, b.re, b.im);
    }
    aot_tensor *w_sum = AOT(t, aten_add_Tensor, w.re, w.im);
    aot_tensor *i_sum = AOT(t, aten_add_Tensor, i.re, i.im);
    aot_tensor *cross = call(t, i_sum, w_sum, aot_v_tensor(b_sum), c);
    cross = AOT(t, aten_sub_Tensor, cross, first);
    cross = AOT(t, aten_sub_Tensor, cross, second);
    aot_value one_i = {.kind = AOT_V_COMPLEX, .u.z = {0, 1}};
    cross = AOT(t, aten_mul_Scalar, cross, one_i);
    aot_tensor *real = AOT(t, aten_sub_Tensor, first, second);
    return AOT(t, aten_add_Tensor, real, cross);
}

/* conv1d, conv2d, conv3d(input, weight, bias, stride, padding, dilation, groups) */
bool composite_conv(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *weight = aot_x_tensor(k, 1);
    unsigned n = spatial(k, weight);
    bool added;
    aot_tensor *x = batchify(t, aot_x_tensor(k, 0), n, &added);
    conv c = {k->args[2], k->args[3], k->args[4], k->args[5], aot_v_dims(t, zeros(t, n)),
              k->args[6], false};
    return give(k, convolve(t, x, weight, &c), added);
}

/* conv_transpose*(input, weight, bias, stride, padding, output_padding, groups, dilation) */
bool composite_conv_transpose(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *weight = aot_x_tensor(k, 1);
    bool added;
    aot_tensor *x = batchify(t, aot_x_tensor(k, 0), spatial(k, weight), &added);
    conv c = {k->args[2], k->args[3], k->args[4], k->args[7], k->args[5], k->args[6], true};
    return give(k, convolve(t, x, weight, &c), added);
}

/* padding='same': what is to be added on both sides goes into the convolution; the odd rest is
 * padded after the end. */
static aot_tensor *conv_same(aot_expand *k, aot_tensor *x, aot_tensor *weight, unsigned n)
{
    aot_tracer *t = k->t;
    aot_dims dilation = aot_x_dims(k, 5);
    aot_dim *left = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, n);
    aot_dim *rest = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, 2 * n);
    bool symmetric = true;
    for (unsigned i = 0; i < n; i++) {
        aot_dim d = dilation.d[i < dilation.n ? i : dilation.n - 1];
        aot_dim taps = aot_trace_dim(t, '-', aot_size(weight, i + 2), aot_dim_of(1));
        aot_dim total = aot_trace_dim(t, '*', d, taps);
        left[i] = aot_trace_dim(t, '/', total, aot_dim_of(2));
        aot_dim odd = aot_trace_dim(t, '-', aot_trace_dim(t, '-', total, left[i]), left[i]);
        rest[2 * (n - 1 - i) + 1] = odd;
        symmetric = symmetric && odd.value == 0;
    }
    if (!symmetric) {
        x = AOT(t, aten_constant_pad_nd, x, ((aot_dims){rest, 2 * n}), 0);
    }
    conv how = {k->args[2], k->args[3], aot_v_dims(t, (aot_dims){left, n}), k->args[5],
                aot_v_dims(t, zeros(t, n)), k->args[6], false};
    return convolve(t, x, weight, &how);
}

/* The same with a string as padding; _convolution_mode too. */
bool composite_conv_padding(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *weight = aot_x_tensor(k, 1);
    unsigned n = spatial(k, weight);
    bool added;
    aot_tensor *x = batchify(t, aot_x_tensor(k, 0), n, &added);
    if (aot_x_str_is(k, 4, "same")) {
        return give(k, conv_same(k, x, weight, n), added);
    }
    if (!aot_x_str_is(k, 4, "valid")) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "convolution: padding is neither 'same' nor 'valid'");
    }
    aot_value zero = aot_v_dims(t, zeros(t, 1));
    conv c = {k->args[2], k->args[3], zero, k->args[5], zero, k->args[6], false};
    return give(k, convolve(t, x, weight, &c), added);
}

/* slow_conv3d, thnn_conv2d(self, weight, kernel_size, bias, stride, padding) */
bool composite_conv_slow(aot_expand *k)
{
    aot_op_id op = k->op == AOT_OP_aten_slow_conv3d ? AOT_OP_aten_slow_conv3d_forward
                                                    : AOT_OP_aten__slow_conv2d_forward;
    return aot_x_give_value(k, aot_call_op(k->t, op, k->n, k->args));
}
