/* Convolutions by number of dimensions: all are convolution, with a batch dimension for the time of
 * the call if the input has none.
 *
 *     conv2d(x [4, 6, 6], w)  ->  convolution(unsqueeze(x, 0), w, None, [1, 1], ...), squeeze(.., 0)
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

/* conv1d, conv2d, conv3d(input, weight, bias, stride, padding, dilation, groups) */
bool composite_conv(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *weight = aot_x_tensor(k, 1);
    unsigned n = aot_ndim(weight) - 2;
    bool added;
    aot_tensor *x = batchify(t, aot_x_tensor(k, 0), n, &added);
    x = AOT(t, aten_convolution, x, weight, k->args[2], k->args[3], k->args[4], k->args[5], false,
            zeros(t, n), k->args[6]);
    return give(k, x, added);
}

/* conv_transpose*(input, weight, bias, stride, padding, output_padding, groups, dilation) */
bool composite_conv_transpose(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *weight = aot_x_tensor(k, 1);
    bool added;
    aot_tensor *x = batchify(t, aot_x_tensor(k, 0), aot_ndim(weight) - 2, &added);
    x = AOT(t, aten_convolution, x, weight, k->args[2], k->args[3], k->args[4], k->args[7], true,
            k->args[5], k->args[6]);
    return give(k, x, added);
}

/* padding='same': what is to be added on both sides goes into the convolution; the odd rest is
 * padded after the end. */
static aot_tensor *conv_same(aot_expand *k, aot_tensor *x, aot_tensor *weight, unsigned n)
{
    aot_tracer *t = k->t;
    aot_ctx *c = aot_tracer_ctx(t);
    aot_dims dilation = aot_x_dims(k, 5);
    aot_dim *left = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, n);
    aot_dim *rest = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, 2 * n);
    bool symmetric = true;
    for (unsigned i = 0; i < n; i++) {
        aot_dim d = dilation.d[i < dilation.n ? i : dilation.n - 1];
        aot_dim taps = aot_dim_sub(c, aot_size(weight, i + 2), aot_dim_of(1));
        aot_dim total = aot_dim_mul(c, d, taps);
        left[i] = aot_dim_floordiv(c, total, aot_dim_of(2));
        aot_dim odd = aot_dim_sub(c, aot_dim_sub(c, total, left[i]), left[i]);
        rest[2 * (n - 1 - i) + 1] = odd;
        symmetric = symmetric && odd.value == 0;
    }
    if (!symmetric) {
        x = AOT(t, aten_constant_pad_nd, x, ((aot_dims){rest, 2 * n}), 0);
    }
    return AOT(t, aten_convolution, x, weight, k->args[2], k->args[3], ((aot_dims){left, n}),
               k->args[5], false, zeros(t, n), k->args[6]);
}

/* The same with a string as padding; _convolution_mode too. */
bool composite_conv_padding(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *weight = aot_x_tensor(k, 1);
    unsigned n = aot_ndim(weight) - 2;
    bool added;
    aot_tensor *x = batchify(t, aot_x_tensor(k, 0), n, &added);
    if (aot_x_str_is(k, 4, "same")) {
        return give(k, conv_same(k, x, weight, n), added);
    }
    if (!aot_x_str_is(k, 4, "valid")) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "convolution: padding is neither 'same' nor 'valid'");
    }
    x = AOT(t, aten_convolution, x, weight, k->args[2], k->args[3], zeros(t, 1), k->args[5], false,
            zeros(t, 1), k->args[6]);
    return give(k, x, added);
}

/* slow_conv3d, thnn_conv2d(self, weight, kernel_size, bias, stride, padding) */
bool composite_conv_slow(aot_expand *k)
{
    aot_op_id op = k->op == AOT_OP_aten_slow_conv3d ? AOT_OP_aten_slow_conv3d_forward
                                                    : AOT_OP_aten__slow_conv2d_forward;
    return aot_x_give_value(k, aot_call_op(k->t, op, k->n, k->args));
}
