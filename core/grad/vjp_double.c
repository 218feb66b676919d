/* Gradients of the gradients of activation functions: of grad_output (argument 0) they are the same
 * operator on the new gradient. */
#include "grad/grad.h"

static aot_tensor *again(const aot_each *e, aot_op_id op, unsigned n)
{
    aot_value args[8];

    for (unsigned i = 1; i < n; i++) {
        args[i] = aot_vjp_arg(e->b, i);
    }
    args[0] = aot_v_tensor(e->g);
    return aot_v_first(aot_call_op(e->t, op, n, args));
}

static aot_tensor *zeros_like_grad(const aot_each *e)
{
    return aot_grad_zeros_like(e->t, e->g);
}

/* Gates: piecewise linear, so that the second derivative is nought. */
#define GRAD_GATE(name, op, n)                                                                    \
    static aot_tensor *name##_grad(const aot_each *e)                                             \
    {                                                                                             \
        return again(e, AOT_OP_##op, n);                                                          \
    }                                                                                             \
    GRAD_EACH(name, {0, name##_grad}, {1, zeros_like_grad})

GRAD_GATE(vjp_threshold_backward, aten_threshold_backward, 3)
GRAD_GATE(vjp_hardtanh_backward, aten_hardtanh_backward, 4)
GRAD_GATE(vjp_leaky_relu_backward, aten_leaky_relu_backward, 4)
GRAD_GATE(vjp_hardshrink_backward, aten_hardshrink_backward, 3)
GRAD_GATE(vjp_softshrink_backward, aten_softshrink_backward, 3)

/* Through the output. */
static aot_tensor *sigmoid_grad(const aot_each *e)
{
    return AOT(e->t, aten_sigmoid_backward, e->g, g_conj(e->t, aot_each_in(e, 1)));
}

static aot_tensor *sigmoid_output(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *slope = g_add_n(t, g_mul_n(t, g_conj(t, aot_each_in(e, 1)), -2), 1);
    aot_tensor *d = g_mul(t, g_conj(t, e->g), aot_each_in(e, 0));
    return g_mul(t, d, slope);
}

GRAD_EACH(vjp_sigmoid_backward, {0, sigmoid_grad}, {1, sigmoid_output})

static aot_tensor *tanh_grad(const aot_each *e)
{
    return AOT(e->t, aten_tanh_backward, e->g, g_conj(e->t, aot_each_in(e, 1)));
}

static aot_tensor *tanh_output(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *d = g_mul_n(t, g_conj(t, aot_each_in(e, 1)), -2);
    d = g_mul(t, d, aot_each_in(e, 0));
    return g_mul(t, g_conj(t, e->g), d);
}

GRAD_EACH(vjp_tanh_backward, {0, tanh_grad}, {1, tanh_output})

static aot_tensor *sum_over_dim(const aot_each *e, aot_tensor *x)
{
    int64_t dim = aot_vjp_int(e->b, 2, 0);
    return AOT(e->t, aten_sum_dim_IntList, x, aot_v_ints(e->t, 1, &dim), true);
}

static aot_tensor *softmax_grad(const aot_each *e)
{
    aot_each k = *e;
    k.g = aot_grad_to_dtype(e->t, e->g, aot_dtype_of(aot_each_in(e, 1)));
    return again(&k, AOT_OP_aten__softmax_backward_data, 4);
}

static aot_tensor *softmax_output(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *r = aot_each_in(e, 1), *go = aot_each_in(e, 0);
    aot_tensor *g = aot_grad_to_dtype(t, e->g, aot_dtype_of(r));
    aot_tensor *by_grad = g_mul(t, go, sum_over_dim(e, g_mul(t, r, g)));
    aot_tensor *by_output = g_mul(t, sum_over_dim(e, g_mul(t, r, go)), g);
    aot_tensor *d = AOT(t, aten_sub_Tensor, g_mul(t, go, g), by_output);

    d = AOT(t, aten_sub_Tensor, d, by_grad);
    return aot_grad_to_dtype(t, d, aot_dtype_of(r));
}

GRAD_EACH(vjp_softmax_backward_data, {0, softmax_grad}, {1, softmax_output})

static aot_tensor *log_softmax_grad(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *r = aot_each_in(e, 1);
    aot_tensor *g = aot_grad_to_dtype(t, e->g, aot_dtype_of(r));
    aot_tensor *d = sum_over_dim(e, g_mul(t, g, AOT(t, aten_exp, r)));
    return AOT(t, aten_sub_Tensor, g, d);
}

static aot_tensor *log_softmax_output(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *p = AOT(t, aten_exp, aot_each_in(e, 1));
    aot_tensor *d = g_neg(t, sum_over_dim(e, aot_each_in(e, 0)));
    return g_mul(t, g_mul(t, d, p), e->g);
}

GRAD_EACH(vjp_log_softmax_backward_data, {0, log_softmax_grad}, {1, log_softmax_output})
