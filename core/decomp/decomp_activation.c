/* Decompositions of activation functions: torch/_refs/nn/functional,
 * torch/_decomp/decompositions.py, torch/_inductor/decomposition.py. */
#include <math.h>

#include "decomp/decomp.h"

#define SQRT2 1.41421356237309504880
#define SQRT1_2 0.70710678118654752440
#define TWO_OVER_SQRTPI 1.12837916709551257390

/* What the approximation of gelu takes the tanh of. */
static aot_tensor *gelu_inner(aot_tracer *t, aot_tensor *x, aot_tensor *cube)
{
    aot_tensor *k = MUL(cube, 0.044715);
    return MUL(ADD(x, k), SQRT2 * TWO_OVER_SQRTPI * 0.5);
}

bool decomp_gelu(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0), *half, *one;
    if (aot_x_str_is(k, 1, "tanh")) {
        aot_tensor *inner = gelu_inner(t, a, MUL(MUL(a, a), a));
        half = MUL(a, 0.5);
        one = ADD(AOT(t, aten_tanh, inner), 1);
    } else {
        half = MUL(a, 0.5);
        one = ADD(AOT(t, aten_erf, MUL(a, SQRT1_2)), 1);
    }
    return dc_give(k, MUL(half, one), result);
}

static aot_tensor *gelu_backward_tanh(aot_tracer *t, aot_tensor *grad, aot_tensor *x)
{
    const double beta = SQRT2 * TWO_OVER_SQRTPI * 0.5;
    aot_tensor *square = MUL(x, x);
    aot_tensor *tanh_inner = AOT(t, aten_tanh, gelu_inner(t, x, MUL(square, x)));
    aot_tensor *left = MUL(x, 0.5);
    aot_tensor *right = ADD(tanh_inner, 1);
    aot_tensor *left_derivative = MUL(right, 0.5);
    aot_tensor *tanh_derivative = RSUB(MUL(tanh_inner, tanh_inner), 1);
    aot_tensor *inner_derivative = MUL(ADD(MUL(square, 3 * 0.044715), 1), beta);
    aot_tensor *right_derivative = MUL(MUL(left, tanh_derivative), inner_derivative);
    return MUL(grad, ADD(left_derivative, right_derivative));
}

bool decomp_gelu_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *x = aot_x_tensor(k, 1);
    if (aot_x_str_is(k, 2, "tanh")) {
        return dc_give(k, gelu_backward_tanh(t, grad, x), result);
    }
    aot_tensor *cdf = MUL(ADD(AOT(t, aten_erf, MUL(x, SQRT1_2)), 1), 0.5);
    aot_tensor *e = AOT(t, aten_exp, MUL(MUL(x, x), -0.5));
    aot_tensor *pdf = MUL(e, TWO_OVER_SQRTPI * SQRT1_2 * 0.5);
    return dc_give(k, MUL(grad, ADD(cdf, MUL(x, pdf))), result);
}

/* x / (1 + exp(-x)) in Inductor's table, x * sigmoid(x) in the core one. */
bool decomp_silu(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *x = aot_x_tensor(k, 0);
    if (aot_has_core_decomps(t)) {
        return dc_give(k, MUL(x, AOT(t, aten_sigmoid, x)), result);
    }
    aot_tensor *one = ADD(AOT(t, aten_exp, NEG(x)), 1);
    return dc_give(k, DIV(x, one), result);
}

/* Above the table, operators with a gradient formula of their own stay whole, although they are
 * composite too. */
bool decomp_silu_backward(aot_expand *k)
{
    if (!aot_in_decomp(k->t)) {
        return false;
    }
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *x = aot_x_tensor(k, 1);
    aot_tensor *one = ADD(AOT(t, aten_exp, NEG(x)), 1);
    aot_tensor *sigmoid = MUL(AOT(t, aten_reciprocal, one), 1);
    aot_tensor *left = MUL(grad, sigmoid);
    aot_tensor *right = ADD(MUL(x, RSUB(sigmoid, 1)), 1);
    return dc_give(k, MUL(left, right), result);
}

bool decomp_mish(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0);
    aot_tensor *tanh_softplus = AOT(t, aten_tanh, AOT(t, aten_softplus, a));
    return dc_give(k, MUL(a, tanh_softplus), result);
}

bool decomp_mish_backward(aot_expand *k)
{
    if (!aot_in_decomp(k->t)) {
        return false;
    }
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *x = aot_x_tensor(k, 1);
    aot_tensor *tanh_softplus = AOT(t, aten_tanh, AOT(t, aten_softplus, x));
    aot_tensor *left = MUL(x, AOT(t, aten_sigmoid, x));
    aot_tensor *right = RSUB(MUL(tanh_softplus, tanh_softplus), 1);
    aot_tensor *out = MUL(left, right);
    return dc_give(k, MUL(grad, ADD(tanh_softplus, out)), result);
}

/* tanh: grad * (1 - y * y); sigmoid: grad * (y * (1 - y)). */
bool decomp_tanh_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1);
    aot_tensor *slope = k->op == AOT_OP_aten_tanh_backward ? RSUB(MUL(y, y), 1)
                                                           : MUL(y, RSUB(y, 1));
    return dc_give(k, MUL(grad, AOT(t, aten_conj_physical, slope)), result);
}

/* The int that the schema has as the default. */
static bool is_default(aot_value v, int64_t n)
{
    return v.kind == AOT_V_INT && aot_dim_is(v.u.dim, n);
}

bool decomp_softplus(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0);
    // trailing defaults are not passed on, and the Python function's beta is None
    bool plain = is_default(k->args[2], 20) && is_default(k->args[1], 1);
    aot_tensor *scaled = plain ? a : MUL(a, k->args[1]);
    aot_tensor *rhs = AOT(t, aten_log1p, AOT(t, aten_exp, scaled));
    rhs = plain ? rhs : DIV(rhs, k->args[1]);
    aot_tensor *above = AOT(t, aten_gt_Scalar, scaled, k->args[2]);
    return dc_give(k, WHERE(above, a, rhs), result);
}

bool decomp_softplus_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *x = aot_x_tensor(k, 1);
    aot_tensor *z = AOT(t, aten_exp, MUL(x, k->args[2]));
    aot_tensor *above = AOT(t, aten_gt_Scalar, MUL(x, k->args[2]), k->args[3]);
    aot_tensor *gz = MUL(grad, z);
    aot_tensor *below = DIV(gz, ADD(z, 1.0));
    return dc_give(k, WHERE(above, grad, below), result);
}

bool decomp_elu(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0);
    aot_value p[4] = {{0}, k->args[1], k->args[2], k->args[3]};
    for (unsigned i = 3; i > 0 && is_default(p[i], 1); i--) {
        p[i] = aot_v_float(1.0); // trailing defaults are those of the Python function
    }
    aot_tensor *positive = AOT(t, aten_gt_Scalar, a, 0);
    aot_tensor *scaled = MUL(a, p[2]);
    aot_tensor *e = AOT(t, aten_expm1, MUL(a, p[3]));
    aot_tensor *negative = MUL(e, dc_mul(t, p[1], p[2]));
    return dc_give(k, WHERE(positive, scaled, negative), result);
}

bool decomp_elu_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 5), *negative;
    aot_value coefficient = dc_mul(t, k->args[1], k->args[2]), input_scale = k->args[3];
    aot_tensor *below = AOT(t, aten_le_Scalar, y, 0);
    aot_tensor *scaled = MUL(grad, input_scale);
    if (aot_x_bool(k, 4)) { // y is elu's result
        negative = MUL(scaled, ADD(y, coefficient));
    } else {
        aot_tensor *left = MUL(scaled, coefficient);
        negative = MUL(left, AOT(t, aten_exp, MUL(y, input_scale)));
    }
    aot_tensor *positive = MUL(grad, k->args[2]);
    return dc_give(k, WHERE(below, negative, positive), result);
}

bool decomp_celu(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0);
    // the default is not passed on
    bool plain = k->args[1].kind == AOT_V_FLOAT && k->args[1].u.f == 1.0;
    aot_tensor *rhs = AOT(t, aten_expm1, plain ? a : DIV(a, k->args[1]));
    rhs = plain ? rhs : MUL(rhs, k->args[1]);
    aot_tensor *positive = AOT(t, aten_gt_Scalar, a, 0);
    return dc_give(k, WHERE(positive, a, rhs), result);
}

/* max(min(x + 3, 6), 0) */
static aot_tensor *relu6_of_3(aot_tracer *t, aot_tensor *x)
{
    aot_tensor *low = AOT(t, aten_clamp, ADD(x, 3), 0);
    return AOT(t, aten_clamp, low, AOT_NONE, 6);
}

bool decomp_hardsigmoid(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    return dc_give(k, DIV(relu6_of_3(t, aot_x_tensor(k, 0)), 6), result);
}

bool decomp_hardsigmoid_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *x = aot_x_tensor(k, 1);
    aot_tensor *above = AOT(t, aten_gt_Scalar, x, -3.0);
    aot_tensor *below = AOT(t, aten_lt_Scalar, x, 3.0);
    aot_tensor *inside = AOT(t, aten_bitwise_and_Tensor, above, below);
    aot_tensor *slope = MUL(grad, 1.0 / 6.0);
    return dc_give(k, AOT(t, aten_where_ScalarOther, inside, slope, 0.0), result);
}

bool decomp_hardswish(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *x = aot_x_tensor(k, 0);
    return dc_give(k, DIV(MUL(x, relu6_of_3(t, x)), 6), result);
}

bool decomp_hardswish_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *x = aot_x_tensor(k, 1);
    aot_tensor *zero = AOT(t, aten_le_Scalar, x, -3);
    aot_tensor *middle = AOT(t, aten_lt_Scalar, x, 3);
    aot_tensor *slope = MUL(grad, ADD(DIV(x, 3), 0.5));
    aot_tensor *other = WHERE(middle, slope, grad);
    return dc_give(k, AOT(t, aten_where_ScalarSelf, zero, 0.0, other), result);
}

bool decomp_hardtanh(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0);
    bool integral = dc_is_integral(aot_dtype_of(a));
    aot_value lo = integral ? dc_int(k->args[1]) : k->args[1];
    aot_value hi = integral ? dc_int(k->args[2]) : k->args[2];
    return dc_give(k, AOT(t, aten_clamp, a, lo, hi), result);
}

bool decomp_hardtanh_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *grad = aot_x_tensor(k, 0), *x = aot_x_tensor(k, 1);
    aot_tensor *below = AOT(t, aten_le_Scalar, x, k->args[2]);
    aot_tensor *above = AOT(t, aten_ge_Scalar, x, k->args[3]);
    aot_tensor *outside = AOT(t, aten_bitwise_or_Tensor, below, above);
    return aot_x_give(k, AOT(t, aten_where_ScalarSelf, outside, 0.0, grad));
}

bool decomp_leaky_relu(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0);
    aot_tensor *positive = AOT(t, aten_gt_Scalar, a, 0);
    aot_tensor *scaled = MUL(a, k->args[1]);
    return dc_give(k, WHERE(positive, a, scaled), result);
}

bool decomp_leaky_relu_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0);
    aot_tensor *positive = AOT(t, aten_gt_Scalar, aot_x_tensor(k, 1), 0);
    aot_tensor *scaled = MUL(grad, k->args[2]);
    return dc_give(k, WHERE(positive, grad, scaled), result);
}

bool decomp_threshold(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0);
    aot_tensor *below = AOT(t, aten_le_Scalar, a, k->args[1]);
    return dc_give(k, AOT(t, aten_where_ScalarSelf, below, k->args[2], a), result);
}

bool decomp_threshold_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *below = AOT(t, aten_le_Scalar, aot_x_tensor(k, 1), k->args[2]);
    return aot_x_give(k, AOT(t, aten_where_ScalarSelf, below, 0, aot_x_tensor(k, 0)));
}

bool decomp_prelu_kernel(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_tensor *positive = AOT(t, aten_gt_Scalar, x, 0);
    aot_tensor *scaled = MUL(aot_x_tensor(k, 1), x);
    return aot_x_give(k, WHERE(positive, x, scaled));
}

bool decomp_hardshrink(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a = aot_x_tensor(k, 0);
    aot_tensor *inside = AOT(t, aten_le_Scalar, AOT(t, aten_abs, a), k->args[1]);
    return aot_x_give(k, AOT(t, aten_where_ScalarSelf, inside, 0, a));
}

bool decomp_softshrink(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a = aot_x_tensor(k, 0);
    aot_tensor *outside = AOT(t, aten_gt_Scalar, AOT(t, aten_abs, a), k->args[1]);
    aot_tensor *shrunk = SUB(a, MUL(AOT(t, aten_sign, a), k->args[1]));
    aot_tensor *zero = MUL(a, 0);
    return aot_x_give(k, WHERE(outside, shrunk, zero));
}

bool decomp_logit(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_INT_TO_FLOAT);
    aot_tensor *x = aot_x_tensor(k, 0);
    double eps = aot_x_float(k, 1, -1.0);
    aot_tensor *below = AOT(t, aten_lt_Scalar, x, eps);
    aot_tensor *above = AOT(t, aten_gt_Scalar, x, 1 - eps);
    aot_tensor *low = AOT(t, aten_where_ScalarSelf, above, 1 - eps, x);
    x = AOT(t, aten_where_ScalarSelf, below, eps, low);
    aot_tensor *rest = SUB(aot_v_int(1), x);
    return dc_give(k, AOT(t, aten_log, DIV(x, rest)), result);
}

bool decomp_logit_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *x = aot_x_tensor(k, 1);
    double lo = aot_x_float(k, 2, 0.0);
    aot_tensor *above = AOT(t, aten_ge_Scalar, x, lo);
    aot_tensor *below = AOT(t, aten_le_Scalar, x, 1.0 - lo);
    aot_tensor *inside = AOT(t, aten_logical_and, above, below);
    aot_tensor *slope = DIV(grad, MUL(x, RSUB(x, 1.0)));
    if (!aot_x_is_none(k, 2)) {
        return dc_give(k, AOT(t, aten_where_ScalarOther, inside, slope, 0.0), result);
    }
    aot_tensor *nan = AOT(t, aten_new_full, x, (aot_dims){0}, (double)NAN);
    return dc_give(k, WHERE(inside, slope, nan), result);
}

static aot_tensor *exp_of_minus_abs(aot_tracer *t, aot_tensor *x)
{
    return AOT(t, aten_exp, NEG(AOT(t, aten_abs, x)));
}

bool decomp_log_sigmoid_forward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *x = aot_x_tensor(k, 0), *out[2];
    aot_dim none = aot_dim_of(0);
    aot_tensor *zero = AOT(t, aten_new_zeros, x, (aot_dims){0});
    aot_tensor *min = AOT(t, aten_minimum, zero, x);
    aot_tensor *z = exp_of_minus_abs(t, x);
    out[1] = dc_on_cpu(t, x) ? z : AOT(t, aten_new_zeros, x, ((aot_dims){&none, 1}));
    out[0] = SUB(min, AOT(t, aten_log1p, z));
    out[0] = dc_to(t, out[0], result);
    out[1] = dc_to(t, out[1], result);
    return aot_x_give_tuple(k, 2, out);
}

bool decomp_log_sigmoid_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *x = aot_x_tensor(k, 1);
    aot_tensor *negative = AOT(t, aten_lt_Scalar, x, 0);
    aot_tensor *max_derivative = AOT(t, aten_where_Scalar, negative, 1, 0);
    aot_tensor *sign = AOT(t, aten_where_Scalar, negative, 1, -1);
    aot_tensor *z = exp_of_minus_abs(t, x);
    aot_tensor *slope = MUL(sign, DIV(z, ADD(z, 1)));
    return dc_give(k, MUL(aot_x_tensor(k, 0), SUB(max_derivative, slope)), result);
}

bool decomp_prelu_kernel_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *grad = aot_x_tensor(k, 0), *x = aot_x_tensor(k, 1), *out[2];
    aot_tensor *positive = AOT(t, aten_gt_Scalar, x, 0);
    aot_tensor *scaled = MUL(aot_x_tensor(k, 2), grad);
    out[0] = WHERE(positive, grad, scaled);
    positive = AOT(t, aten_gt_Scalar, x, 0);
    out[1] = AOT(t, aten_where_ScalarSelf, positive, 0.0, MUL(x, grad));
    return aot_x_give_tuple(k, 2, out);
}

/* One half of x along dim. */
static aot_tensor *half_of(aot_tracer *t, aot_tensor *x, unsigned dim, bool second)
{
    aot_dim n = aot_trace_dim(t, '/', aot_size(x, dim), aot_dim_of(2));
    return AOT(t, aten_narrow, x, dim, second ? n : aot_dim_of(0), n);
}

bool decomp_glu(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0);
    unsigned dim = aot_wrap_dim(t, aot_x_int(k, 1, -1), aot_ndim(a));
    aot_value halves = AOT_V(t, aten_tensor_split_sections, a, 2, dim);
    aot_tensor *gate = AOT(t, aten_sigmoid, aot_v_item(halves, 1));
    return dc_give(k, MUL(aot_v_item(halves, 0), gate), result);
}

bool decomp_glu_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *x = aot_x_tensor(k, 1), *out[2];
    unsigned dim = aot_wrap_dim(t, aot_x_int(k, 2, -1), aot_ndim(x));
    aot_tensor *first = half_of(t, x, dim, false);
    aot_tensor *gate = AOT(t, aten_sigmoid, half_of(t, x, dim, true));
    out[1] = MUL(MUL(MUL(RSUB(gate, 1.0), gate), first), grad);
    out[0] = MUL(gate, grad);
    return dc_give(k, AOT(t, aten_cat, aot_v_tensors(t, 2, out), dim), result);
}

/* A leaky_relu whose slopes are random in training. */
bool decomp_rrelu_with_noise_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    double lower = dc_number(k->args[3]), upper = dc_number(k->args[4]);
    aot_tensor *grad = aot_x_tensor(k, 0);
    if (aot_x_bool(k, 5) && upper - lower > 1e-6) {
        return dc_give(k, MUL(grad, aot_x_tensor(k, 2)), result);
    }
    aot_tensor *x = AOT(t, aten_leaky_relu_backward, grad, aot_x_tensor(k, 1), (lower + upper) / 2,
                        k->args[6]);
    return dc_give(k, x, result);
}

bool decomp_rrelu_with_noise_functional(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *self = aot_x_tensor(k, 0), *out[2];
    if (!aot_x_bool(k, 4)) {
        return false;
    }
    aot_tensor *below = AOT(t, aten_le_Scalar, self, 0);
    aot_tensor *slope = AOT(t, aten_uniform, self, k->args[2], k->args[3], k->args[5]);
    aot_tensor *scaled = MUL(self, slope);
    out[0] = WHERE(below, scaled, self);
    out[1] = AOT(t, aten_where_ScalarOther, below, slope, 1);
    return aot_x_give_tuple(k, 2, out);
}
