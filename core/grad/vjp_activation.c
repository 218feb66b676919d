/* Activation functions: most have an operator for their gradient, one call of it. */
#include "grad/grad.h"

/* clang-format off */
GRAD_UNARY_RESULT(vjp_relu, AOT(t, aten_threshold_backward, g, r, 0))
GRAD_UNARY_RESULT(vjp_sigmoid, AOT(t, aten_sigmoid_backward, g, r))
GRAD_UNARY(vjp_silu, aot_grad_silu(t, g, x))
GRAD_UNARY(vjp_mish, aot_grad_mish(t, g, x))
GRAD_UNARY(vjp_hardsigmoid, AOT(t, aten_hardsigmoid_backward, g, x))
GRAD_UNARY(vjp_hardswish, AOT(t, aten_hardswish_backward, g, x))
GRAD_UNARY(vjp_gelu, AOT(t, aten_gelu_backward, g, x, aot_each_num(e, 1)))
GRAD_UNARY(vjp_glu, AOT(t, aten_glu_backward, g, x, aot_each_num(e, 1)))
GRAD_UNARY(vjp_hardshrink, AOT(t, aten_hardshrink_backward, g, x, aot_each_num(e, 1)))
GRAD_UNARY(vjp_softshrink, AOT(t, aten_softshrink_backward, g, x, aot_each_num(e, 1)))
GRAD_UNARY(vjp_threshold, AOT(t, aten_threshold_backward, g, x, aot_each_num(e, 1)))
GRAD_UNARY(vjp_logit, AOT(t, aten_logit_backward, g, x, aot_each_num(e, 1)))
GRAD_UNARY(vjp_leaky_relu, AOT(t, aten_leaky_relu_backward, g, x, aot_each_num(e, 1), false))
GRAD_UNARY(vjp_hardtanh,
           AOT(t, aten_hardtanh_backward, g, x, aot_each_num(e, 1), aot_each_num(e, 2)))
GRAD_UNARY(vjp_softplus,
           AOT(t, aten_softplus_backward, g, x, aot_each_num(e, 1), aot_each_num(e, 2)))
GRAD_UNARY(vjp_elu, AOT(t, aten_elu_backward, g, aot_each_num(e, 1), aot_each_num(e, 2),
                        aot_each_num(e, 3), false, x))
/* In place these read what they wrote. */
GRAD_UNARY_RESULT(vjp_leaky_relu_, AOT(t, aten_leaky_relu_backward, g, r, aot_each_num(e, 1), true))
GRAD_UNARY_RESULT(vjp_elu_, AOT(t, aten_elu_backward, g, aot_each_num(e, 1), aot_each_num(e, 2),
                                aot_each_num(e, 3), true, r))
/* clang-format on */

static aot_tensor *celu(const aot_each *e, bool is_result, aot_tensor *x)
{
    aot_value alpha = aot_each_num(e, 1);
    float single = (float)aot_grad_num(alpha); // derivatives.yaml: 1.0/alpha.toFloat()
    return AOT(e->t, aten_elu_backward, e->g, alpha, 1, 1.0 / (double)single, is_result, x);
}

GRAD_UNARY(vjp_celu, celu(e, false, x))
GRAD_UNARY_RESULT(vjp_celu_, celu(e, true, r))

static aot_tensor *softmax_of(const aot_each *e, bool log)
{
    aot_tracer *t = e->t;
    aot_tensor *r = aot_each_out(e);
    aot_value dim = aot_vjp_arg(e->b, 1), dtype = aot_v_dtype(aot_dtype_of(aot_each_in(e, 0)));

    return log ? AOT(t, aten__log_softmax_backward_data, e->g, r, dim, dtype)
               : AOT(t, aten__softmax_backward_data, e->g, r, dim, dtype);
}

static aot_tensor *softmax_self(const aot_each *e)
{
    return softmax_of(e, false);
}

static aot_tensor *log_softmax_self(const aot_each *e)
{
    return softmax_of(e, true);
}

GRAD_EACH(vjp_softmax, {0, softmax_self})
GRAD_EACH(vjp_log_softmax, {0, log_softmax_self})

/* The second output is what the CPU's kernel kept. */
static aot_tensor *log_sigmoid_self(const aot_each *e)
{
    return AOT(e->t, aten_log_sigmoid_backward, e->g, aot_each_in(e, 0), aot_vjp_out(e->b, 1));
}

GRAD_EACH(vjp_log_sigmoid, {0, log_sigmoid_self})

void vjp_prelu_kernel(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *g = aot_vjp_grad(b, 0);

    if (g == NULL) {
        return;
    }
    aot_value both = AOT_V(t, aten__prelu_kernel_backward, g, aot_vjp_in(b, 0), aot_vjp_in(b, 1));
    for (unsigned i = 0; i < 2; i++) {
        if (aot_vjp_needs(b, i)) {
            aot_vjp_set(b, i, aot_v_item(both, i));
        }
    }
}

/* (self, noise, lower, upper, training): the noise is what the forward wrote. */
static aot_tensor *rrelu(const aot_each *e, aot_tensor *x, bool is_result)
{
    return AOT(e->t, aten_rrelu_with_noise_backward, e->g, x, aot_each_in(e, 1),
               aot_vjp_arg(e->b, 2), aot_vjp_arg(e->b, 3), aot_vjp_arg(e->b, 4), is_result);
}

static aot_tensor *rrelu_self(const aot_each *e)
{
    return rrelu(e, aot_each_in(e, 0), false);
}

static aot_tensor *rrelu_written(const aot_each *e)
{
    return rrelu(e, aot_each_out(e), true);
}

GRAD_EACH(vjp_rrelu_with_noise, {0, rrelu_self})
GRAD_EACH(vjp_rrelu_with_noise_, {0, rrelu_written})
