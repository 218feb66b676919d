/* Gradients of the gradients of activation functions that are not piecewise linear, and of silu and
 * mish where a gradient is to be differentiated itself. Mirrors
 * torch/csrc/autograd/FunctionsManual.cpp: gelu_double_backward, elu_double_backward,
 * glu_double_backward, infinitely_differentiable_mish_backward and others. */
#include <string.h>

#include "grad/grad.h"

/* The same backward operator on another gradient. */
static aot_tensor *backward_of(const aot_each *e, aot_op_id op, unsigned n, aot_tensor *x)
{
    aot_value args[8];

    for (unsigned i = 1; i < n; i++) {
        args[i] = aot_vjp_arg(e->b, i);
    }
    args[0] = aot_v_tensor(x);
    return aot_v_first(aot_call_op(e->t, op, n, args));
}

/* 1 - x, filled in place */
static aot_tensor *one_minus(aot_tracer *t, aot_tensor *x)
{
    return aot_grad_n_sub(t, aot_v_int(1), x);
}

/* ---- gelu ------------------------------------------------------------------------------------ */

static const double sqrt_2_over_pi = 0.79788456080286535588, kappa = 0.044715;

static aot_tensor *gelu_grad(const aot_each *e)
{
    return backward_of(e, AOT_OP_aten_gelu_backward, 3, e->g);
}

/* 2 phi(x) - x^2 phi(x) */
static aot_tensor *gelu_exact(aot_tracer *t, aot_tensor *x)
{
    aot_tensor *square = g_mul(t, x, x);
    aot_tensor *phi = g_mul_f(t, AOT(t, aten_exp, g_mul_f(t, square, -0.5)), sqrt_2_over_pi / 2);
    aot_tensor *b = g_mul(t, square, phi);

    return AOT(t, aten_sub_Tensor, g_mul_n(t, phi, 2), b);
}

static aot_tensor *gelu_tanh(aot_tracer *t, aot_tensor *x)
{
    aot_tensor *cube = g_mul_f(t, AOT(t, aten_pow_Tensor_Scalar, x, 3), kappa);
    aot_tensor *inner = g_mul_f(t, AOT(t, aten_add_Tensor, x, cube), sqrt_2_over_pi);
    aot_tensor *tanh = AOT(t, aten_tanh, inner);
    aot_tensor *sech = aot_grad_n_div(t, aot_v_int(1), AOT(t, aten_cosh, inner));
    aot_tensor *half = g_mul_f(t, x, 0.5);
    aot_tensor *slope = one_minus(t, g_mul(t, tanh, tanh)); // of tanh
    aot_tensor *d = g_mul(t, g_mul_f(t, x, 3 * kappa), x);
    d = g_mul_f(t, g_add_n(t, d, 1), sqrt_2_over_pi); // of inner
    aot_tensor *first = g_mul(t, g_mul_f(t, slope, 0.5), d);
    aot_tensor *bend = g_mul(t, g_neg(t, sech), tanh);
    bend = g_mul(t, g_mul(t, g_mul_n(t, sech, 2), bend), d);
    bend = g_mul(t, g_mul(t, half, d), bend);
    aot_tensor *d2 = g_mul_f(t, g_mul_f(t, x, 6 * kappa), sqrt_2_over_pi);
    aot_tensor *last = g_mul(t, g_mul(t, half, slope), d2);
    aot_tensor *sum = AOT(t, aten_add_Tensor, g_mul_n(t, first, 2), bend);

    return AOT(t, aten_add_Tensor, sum, last);
}

static aot_tensor *gelu_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 1);
    aot_value form = aot_vjp_arg(e->b, 2);
    bool tanh = form.kind == AOT_V_STR &&
                strcmp(aot_text(aot_tracer_ctx(t), form.u.s), "tanh") == 0;
    aot_tensor *d = tanh ? gelu_tanh(t, x) : gelu_exact(t, x);

    return g_mul(t, g_mul(t, e->g, aot_each_in(e, 0)), d);
}

GRAD_EACH(vjp_gelu_backward, {0, gelu_grad}, {1, gelu_self})

/* ---- elu, softplus, log_sigmoid, hardswish --------------------------------------------------- */

static aot_tensor *elu_grad(const aot_each *e)
{
    return backward_of(e, AOT_OP_aten_elu_backward, 6, e->g);
}

/* (grad_output, alpha, scale, input_scale, is_result, self_or_result) */
static aot_tensor *elu_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *below = AOT(t, aten_lt_Scalar, aot_each_in(e, 5), 0);
    below = AOT(t, aten_type_as, below, e->g);
    aot_tensor *d = g_mul(t, e->g, aot_each_in(e, 0));
    d = AOT(t, aten_mul_Scalar, d, aot_vjp_arg(e->b, 3));
    if (!aot_vjp_bool(e->b, 4)) {
        d = backward_of(e, AOT_OP_aten_elu_backward, 6, d);
    }
    return g_mul(t, d, below);
}

GRAD_EACH(vjp_elu_backward, {0, elu_grad}, {5, elu_self})

static aot_tensor *softplus_grad(const aot_each *e)
{
    return backward_of(e, AOT_OP_aten_softplus_backward, 4, e->g);
}

/* (grad_output, self, beta, threshold) */
static aot_tensor *softplus_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_value beta = aot_vjp_arg(e->b, 2);
    aot_tensor *d = g_mul(t, e->g, aot_each_in(e, 0));
    aot_tensor *x = AOT(t, aten_mul_Scalar, aot_each_in(e, 1), beta);
    aot_tensor *below = AOT(t, aten_lt_Scalar, x, aot_vjp_arg(e->b, 3));
    below = AOT(t, aten_type_as, below, e->g);
    d = AOT(t, aten_sigmoid_backward, d, AOT(t, aten_sigmoid, x));
    return AOT(t, aten_mul_Scalar, g_mul(t, d, below), beta);
}

GRAD_EACH(vjp_softplus_backward, {0, softplus_grad}, {1, softplus_self})

static aot_tensor *log_sigmoid_grad(const aot_each *e)
{
    return backward_of(e, AOT_OP_aten_log_sigmoid_backward, 3, e->g);
}

static aot_tensor *log_sigmoid_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *d = g_mul(t, e->g, aot_each_in(e, 0));
    aot_tensor *s = AOT(t, aten_sigmoid, aot_each_in(e, 1));

    return g_mul(t, g_mul(t, d, AOT(t, aten_sub_Scalar, s, 1)), s);
}

GRAD_EACH(vjp_log_sigmoid_backward, {0, log_sigmoid_grad}, {1, log_sigmoid_self})

static aot_tensor *hardswish_grad(const aot_each *e)
{
    return AOT(e->t, aten_hardswish_backward, e->g, aot_each_in(e, 1));
}

static aot_tensor *hardswish_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 1);
    aot_tensor *zero = aot_grad_zeros(t, (aot_dims){NULL, 0}, aot_type_of(x));
    aot_tensor *d = AOT(t, aten_div_Scalar, g_mul(t, e->g, aot_each_in(e, 0)), 3.0);
    aot_tensor *below = AOT(t, aten_lt_Scalar, x, 3.0);
    aot_tensor *inside = AOT(t, aten_logical_and, AOT(t, aten_gt_Scalar, x, -3.0), below);

    return AOT(t, aten_where_self, inside, d, zero);
}

GRAD_EACH(vjp_hardswish_backward, {0, hardswish_grad}, {1, hardswish_self})

/* ---- glu ------------------------------------------------------------------------------------- */

/* The halves of x along the dimension of the call. */
static void halves(const aot_each *e, aot_tensor *x, aot_tensor *out[2], bool second_first)
{
    aot_tracer *t = e->t;
    int64_t dim = (int64_t)aot_wrap_dim(t, aot_vjp_int(e->b, 2, -1), aot_ndim(x));
    int64_t size = aot_size(x, (unsigned)dim).value, half = size / 2;

    for (unsigned k = 0; k < 2; k++) {
        unsigned i = second_first ? 1 - k : k;
        out[i] = aot_grad_narrow(t, x, dim, aot_dim_of(i * half), aot_dim_of(half));
    }
}

static aot_tensor *glu_grad(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *g = aot_each_in(e, 0), *half[2];
    aot_tensor *ones = aot_grad_ones(t, aot_sizes(g), aot_type_of(g));
    aot_tensor *d = backward_of(e, AOT_OP_aten_glu_backward, 3, ones);

    halves(e, g_mul(t, e->g, d), half, true);
    return AOT(t, aten_add_Tensor, half[0], half[1]);
}

static aot_tensor *glu_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *g = aot_each_in(e, 0), *x[2], *d[2], *out[2];
    halves(e, aot_each_in(e, 1), x, false);
    aot_tensor *s = AOT(t, aten_sigmoid, x[1]);
    aot_tensor *rest = one_minus(t, s);
    aot_tensor *slope = g_mul(t, s, rest);
    halves(e, e->g, d, false);
    aot_tensor *cross = g_mul(t, d[1], x[0]);
    out[0] = g_mul(t, g_mul(t, d[1], g), slope);
    aot_tensor *back = g_mul(t, s, slope);
    aot_tensor *bend = AOT(t, aten_sub_Tensor, g_mul(t, slope, rest), back);
    aot_tensor *a = g_mul(t, g_mul(t, d[0], g), slope);
    out[1] = AOT(t, aten_add_Tensor, g_mul(t, g_mul(t, cross, g), bend), a);
    return AOT(t, aten_cat, aot_v_tensors(t, 2, out), aot_vjp_arg(e->b, 2));
}

GRAD_EACH(vjp_glu_backward, {0, glu_grad}, {1, glu_self})

/* ---- silu and mish: operators without a derivative of their own ------------------------------ */

aot_tensor *aot_grad_silu(aot_tracer *t, aot_tensor *g, aot_tensor *x)
{
    if (!aot_grad_enabled(t)) {
        return AOT(t, aten_silu_backward, g, x);
    }
    aot_tensor *s = AOT(t, aten_sigmoid, x);
    aot_tensor *d = g_mul(t, x, aot_grad_n_sub(t, aot_v_float(1.0), s));
    d = AOT(t, aten_add_Scalar, d, 1.0);
    return g_mul(t, g_mul(t, g, s), d);
}

aot_tensor *aot_grad_mish(aot_tracer *t, aot_tensor *g, aot_tensor *x)
{
    if (!aot_grad_enabled(t)) {
        return AOT(t, aten_mish_backward, g, x);
    }
    aot_tensor *s = AOT(t, aten_sigmoid, x);
    aot_tensor *w = AOT(t, aten_tanh, AOT(t, aten_log1p, AOT(t, aten_exp, x)));
    aot_tensor *slope = aot_grad_n_sub(t, aot_v_float(1.0), g_mul(t, w, w));
    aot_tensor *d = g_mul(t, g_mul(t, x, s), slope);
    return g_mul(t, g, AOT(t, aten_add_Tensor, w, d));
}
