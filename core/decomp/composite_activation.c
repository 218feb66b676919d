/* Activations that are other activations, and softmax of any dtype.
 *
 * Mirrors: aten/src/ATen/native/Activation.cpp, SoftMax.cpp */
#include "trace/trace.h"

/* x.toType(dtype) */
static aot_tensor *to_type(aot_tracer *t, aot_tensor *x, aot_dtype d)
{
    if (aot_dtype_of(x) == d) {
        return x;
    }
    return AOT(t, aten_to_dtype_layout, x, aot_v_dtype(d), aot_v_name(t, "torch.strided"),
               aot_v_device(aot_device_of(x)));
}

/* softmax.int, log_softmax.int(self, dim, dtype) */
bool composite_softmax(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dtype d = aot_x_dtype(k, 2);
    if (d != AOT_NO_DTYPE) {
        x = to_type(t, x, d);
    }
    bool log = k->op == AOT_OP_aten_log_softmax_int;
    return aot_x_give(k, log ? AOT(t, aten__log_softmax, x, k->args[1], false)
                             : AOT(t, aten__softmax, x, k->args[1], false));
}

bool composite_relu6(aot_expand *k)
{
    aot_tracer *t = k->t;
    return aot_x_give(k, k->op == AOT_OP_aten_relu6_
                             ? AOT(t, aten_hardtanh_, k->args[0], 0, 6)
                             : AOT(t, aten_hardtanh, k->args[0], 0, 6));
}

bool composite_selu(aot_expand *k)
{
    aot_tracer *t = k->t;
    double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
    return aot_x_give(k, k->op == AOT_OP_aten_selu_
                             ? AOT(t, aten_elu_, k->args[0], alpha, scale)
                             : AOT(t, aten_elu, k->args[0], alpha, scale));
}

bool composite_log_sigmoid(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_log_sigmoid_forward, k->args[0]));
}

/* rrelu(self, lower, upper, training, generator) */
bool composite_rrelu(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_value contiguous = aot_v_name(t, "torch.contiguous_format");
    aot_tensor *noise = AOT(t, aten_empty_like, k->args[0], AOT_NONE, AOT_NONE, AOT_NONE, AOT_NONE,
                            contiguous);
    return aot_x_give(k, k->op == AOT_OP_aten_rrelu_
                             ? AOT(t, aten_rrelu_with_noise_, k->args[0], noise, k->args[1],
                                   k->args[2], k->args[3], k->args[4])
                             : AOT(t, aten_rrelu_with_noise, k->args[0], noise, k->args[1],
                                   k->args[2], k->args[3], k->args[4]));
}

/* prelu: the weight is given the input's dimensions. */
bool composite_prelu(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *w = aot_x_tensor(k, 1);
    unsigned n = aot_ndim(x);
    if (aot_ndim(w) != n) {
        aot_dim *shape = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, n + 1);
        for (unsigned i = 0; i < n; i++) {
            shape[i] = aot_dim_of(1);
        }
        if (n > 1 && aot_ndim(w) == 1) {
            shape[1] = aot_size(w, 0);
        } else if (n == 1 && aot_ndim(w) == 1) {
            shape[0] = aot_size(w, 0);
        }
        w = AOT(t, aten_reshape, w, ((aot_dims){shape, n}));
    }
    return aot_x_give(k, AOT(t, aten__prelu_kernel, x, w));
}
