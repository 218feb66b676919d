/* Elementary functions. */
#include "grad/grad.h"

#include <math.h>

#define ONE aot_v_int(1)
/* The constants as PyTorch's sources write them. */
static const double pi = 3.14159265358979323846, ln_10 = 2.3025850929940456,
                    two_over_sqrt_pi = 1.1283791670955126;

/* 1 - x * x, written as there. */
static aot_tensor *one_less_square(aot_tracer *t, aot_tensor *x)
{
    return g_add_n(t, g_mul(t, g_neg(t, x), x), 1);
}

static aot_tensor *of_acosh(aot_tracer *t, aot_tensor *x)
{
    if (!aot_is_complex(x)) {
        return AOT(t, aten_rsqrt, AOT(t, aten_sub_Scalar, g_mul(t, x, x), 1));
    }
    aot_tensor *below = AOT(t, aten_rsqrt, AOT(t, aten_sub_Scalar, x, 1));
    aot_tensor *above = AOT(t, aten_rsqrt, g_add_n(t, x, 1));
    return g_conj(t, g_mul(t, above, below));
}

static aot_tensor *of_atanh(aot_tracer *t, aot_tensor *g, aot_tensor *x)
{
    aot_tensor *d = g_conj(t, aot_grad_n_sub(t, ONE, g_square(t, x)));
    return g_div(t, g_mul_n(t, g, 1), d);
}

static aot_tensor *of_erf(aot_tracer *t, aot_tensor *g, aot_tensor *x, double by)
{
    aot_tensor *d = AOT(t, aten_exp, g_neg(t, g_square(t, x)));
    return g_mul(t, g_mul_f(t, d, by), g);
}

static aot_tensor *of_rsqrt(aot_tracer *t, aot_tensor *g, aot_tensor *r)
{
    aot_tensor *d = g_conj(t, AOT(t, aten_pow_Tensor_Scalar, r, 3));
    return g_mul(t, g_mul_f(t, g, -0.5), d);
}

/* clang-format off */
GRAD_UNARY(vjp_acos, g_mul(t, g, g_neg(t, g_conj(t, AOT(t, aten_rsqrt, one_less_square(t, x))))))
GRAD_UNARY(vjp_acosh, g_mul(t, g, of_acosh(t, x)))
GRAD_UNARY(vjp_asin, g_mul(t, g, g_conj(t, AOT(t, aten_rsqrt, one_less_square(t, x)))))
GRAD_UNARY(vjp_asinh, g_mul(t, g, g_conj(t, AOT(t, aten_rsqrt, g_add_n(t, g_square(t, x), 1)))))
GRAD_UNARY(vjp_atan, g_div(t, g, g_conj(t, g_add_n(t, g_mul(t, x, x), 1))))
GRAD_UNARY(vjp_atanh, of_atanh(t, g, x))
GRAD_UNARY(vjp_cos, g_mul(t, g, g_neg(t, g_conj(t, AOT(t, aten_sin, x)))))
GRAD_UNARY(vjp_cosh, g_mul(t, g, g_conj(t, AOT(t, aten_sinh, x))))
GRAD_UNARY(vjp_sin, g_mul(t, g, g_conj(t, AOT(t, aten_cos, x))))
GRAD_UNARY(vjp_sinh, g_mul(t, g, g_conj(t, AOT(t, aten_cosh, x))))
GRAD_UNARY(vjp_deg2rad, g_mul_f(t, g, pi / 180))
GRAD_UNARY(vjp_rad2deg, g_mul_f(t, g, 180 / pi))
GRAD_UNARY(vjp_erf, of_erf(t, g, x, two_over_sqrt_pi))
GRAD_UNARY(vjp_erfc, of_erf(t, g, x, -two_over_sqrt_pi))
GRAD_UNARY(vjp_log, g_div(t, g, g_conj(t, x)))
GRAD_UNARY(vjp_log10, g_div(t, g, g_mul_f(t, g_conj(t, x), ln_10)))
GRAD_UNARY(vjp_log1p, g_div(t, g, g_conj(t, g_add_n(t, x, 1))))
GRAD_UNARY(vjp_log2, g_div(t, g, g_mul_f(t, g_conj(t, x), M_LN2)))
GRAD_UNARY_RESULT(vjp_exp, g_mul(t, g, g_conj(t, r)))
GRAD_UNARY_RESULT(vjp_exp2, g_mul_f(t, g_mul(t, g, g_conj(t, r)), M_LN2))
GRAD_UNARY_RESULT(vjp_expm1, g_mul(t, g, g_add_n(t, g_conj(t, r), 1)))
GRAD_UNARY_RESULT(vjp_rsqrt, of_rsqrt(t, g, r))
GRAD_UNARY_RESULT(vjp_sqrt, g_div(t, g, g_mul_n(t, g_conj(t, r), 2)))
GRAD_UNARY_RESULT(vjp_tan, g_mul(t, g, g_conj(t, g_add_n(t, g_square(t, r), 1))))
GRAD_UNARY_RESULT(vjp_tanh, AOT(t, aten_tanh_backward, g, r))
/* clang-format on */

/* grad / (1 + f(b - a)): f is exp, or 2 to the power of. */
static aot_tensor *logaddexp_of(const aot_each *e, unsigned pos, bool two)
{
    aot_tracer *t = e->t;
    aot_tensor *d = AOT(t, aten_sub_Tensor, aot_each_in(e, !pos), aot_each_in(e, pos));

    d = two ? AOT(t, aten_pow_Scalar, 2, d) : AOT(t, aten_exp, d);
    d = g_add_n(t, d, 1);
    return g_div(t, e->g, two ? d : g_conj(t, d));
}

static aot_tensor *logaddexp_self(const aot_each *e)
{
    return logaddexp_of(e, 0, false);
}

static aot_tensor *logaddexp_other(const aot_each *e)
{
    return logaddexp_of(e, 1, false);
}

static aot_tensor *logaddexp2_self(const aot_each *e)
{
    return logaddexp_of(e, 0, true);
}

static aot_tensor *logaddexp2_other(const aot_each *e)
{
    return logaddexp_of(e, 1, true);
}

GRAD_EACH(vjp_logaddexp, {1, logaddexp_other}, {0, logaddexp_self})
GRAD_EACH(vjp_logaddexp2, {1, logaddexp2_other}, {0, logaddexp2_self})
