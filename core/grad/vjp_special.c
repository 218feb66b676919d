/* Special functions. */
#include "grad/grad.h"

#include <float.h>
#include <math.h>

static const double sqrt_2_pi = 2.5066282746310002, half_sqrt_pi = 0.8862269254527579,
                    two_over_sqrt_pi = 1.1283791670955126;

static aot_tensor *of_erfinv(aot_tracer *t, aot_tensor *g, aot_tensor *x)
{
    aot_tensor *d = AOT(t, aten_exp, g_square(t, AOT(t, aten_erfinv, x)));
    return g_mul(t, g_mul_f(t, d, half_sqrt_pi), g);
}

static aot_tensor *of_erfcx(aot_tracer *t, aot_tensor *g, aot_tensor *x, aot_tensor *r)
{
    aot_tensor *d = g_mul(t, g_mul_f(t, x, 2.0), r);
    return g_mul(t, AOT(t, aten_sub_Scalar, d, two_over_sqrt_pi), g);
}

static aot_tensor *of_i0e(aot_tracer *t, aot_tensor *g, aot_tensor *x, aot_tensor *r)
{
    aot_tensor *part = g_mul(t, AOT(t, aten_sgn, x), r);
    aot_tensor *d = AOT(t, aten_special_i1e, x);
    return g_mul(t, g, AOT(t, aten_sub_Tensor, d, part));
}

static aot_tensor *of_log_ndtr(aot_tracer *t, aot_tensor *g, aot_tensor *x, aot_tensor *r)
{
    aot_tensor *d = AOT(t, aten_div_Scalar, g_square(t, x), 2);
    d = AOT(t, aten_exp, g_neg(t, AOT(t, aten_add_Tensor, r, d)));
    return g_mul(t, AOT(t, aten_div_Scalar, g, sqrt_2_pi), d);
}

static aot_tensor *of_ndtri(aot_tracer *t, aot_tensor *g, aot_tensor *r)
{
    aot_tensor *d = AOT(t, aten_exp, AOT(t, aten_div_Scalar, g_square(t, r), 2));
    return g_mul(t, g_mul_f(t, g, sqrt_2_pi), d);
}

static aot_tensor *of_sinc(aot_tracer *t, aot_tensor *g, aot_tensor *x)
{
    aot_tensor *px = g_mul_f(t, x, M_PI), *pxx = g_mul_f(t, g_mul(t, x, x), M_PI);
    aot_tensor *sine = AOT(t, aten_sin, px);
    aot_tensor *d = g_mul(t, px, AOT(t, aten_cos, px));

    d = g_conj(t, g_div(t, AOT(t, aten_sub_Tensor, d, sine), pxx));
    d = g_mul(t, g, d);
    aot_tensor *zero = aot_grad_scalar(t, 0, aot_type_of(d));
    aot_tensor *origin = AOT(t, aten_eq_Scalar, pxx, 0.0);
    return AOT(t, aten_where_self, origin, zero, d);
}

/* The derivatives of i1 and i1e divide by x: near 0 they are given. */
static aot_tensor *of_i1(const aot_each *e, bool scaled)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0), *r = aot_each_out(e);
    double eps = aot_dtype_of(x) == AOT_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    aot_tensor *far = AOT(t, aten_gt_Scalar, AOT(t, aten_abs, x), eps);
    aot_tensor *safe = aot_grad_scalar(t, eps, aot_type_of(x)), *d;

    safe = AOT(t, aten_where_self, far, x, safe);
    if (scaled) {
        aot_tensor *inverse = AOT(t, aten_reciprocal, safe);
        d = AOT(t, aten_add_Tensor, AOT(t, aten_sgn, safe), inverse);
        aot_tensor *part = g_mul(t, r, d);
        d = AOT(t, aten_special_i0e, safe);
        d = AOT(t, aten_sub_Tensor, d, part);
    } else {
        aot_tensor *part = g_mul(t, r, AOT(t, aten_reciprocal, safe));
        d = AOT(t, aten_i0, safe);
        d = AOT(t, aten_sub_Tensor, d, part);
    }
    aot_tensor *half = aot_grad_scalar(t, 0.5, aot_type_of(x));
    return g_mul(t, e->g, AOT(t, aten_where_self, far, d, half));
}

static aot_tensor *i1_self(const aot_each *e)
{
    return of_i1(e, false);
}

static aot_tensor *i1e_self(const aot_each *e)
{
    return of_i1(e, true);
}

/* A formula of x and the saved result. */
#define GRAD_UNARY_BOTH(name, f)                                                                  \
    static aot_tensor *name##_self(const aot_each *e)                                             \
    {                                                                                             \
        return f(e->t, e->g, aot_each_in(e, 0), aot_each_out(e));                                 \
    }                                                                                             \
    GRAD_EACH(name, {0, name##_self})

GRAD_UNARY(vjp_digamma, g_mul(t, g, AOT(t, aten_polygamma, 1, x)))
GRAD_UNARY(vjp_lgamma, g_mul(t, g, AOT(t, aten_digamma, x)))
GRAD_UNARY(vjp_erfinv, of_erfinv(t, g, x))
GRAD_UNARY(vjp_i0, g_mul(t, g, AOT(t, aten_special_i1, x)))
GRAD_UNARY(vjp_sinc, of_sinc(t, g, x))
GRAD_UNARY(vjp_special_entr, g_mul(t, g, g_neg(t, g_add_n(t, AOT(t, aten_log, x), 1))))
GRAD_UNARY_RESULT(vjp_special_ndtri, of_ndtri(t, g, r))
GRAD_UNARY_BOTH(vjp_special_erfcx, of_erfcx)
GRAD_UNARY_BOTH(vjp_special_i0e, of_i0e)
GRAD_UNARY_BOTH(vjp_special_log_ndtr, of_log_ndtr)
GRAD_EACH(vjp_special_i1, {0, i1_self})
GRAD_EACH(vjp_special_i1e, {0, i1e_self})

static aot_tensor *polygamma_self(const aot_each *e)
{
    aot_tensor *x = aot_each_in(e, 1);
    return g_mul(e->t, e->g, AOT(e->t, aten_polygamma, aot_vjp_int(e->b, 0, 0) + 1, x));
}

GRAD_EACH(vjp_polygamma, {1, polygamma_self})

static aot_tensor *mvlgamma_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0);
    double first = -(double)aot_vjp_int(e->b, 1, 1) / 2.0 + 0.5;
    aot_tensor *args = AOT(t, aten_arange_start_step, first, 0.5, 0.5,
                           aot_v_dtype(aot_dtype_of(x)), aot_v_name(t, "torch.strided"),
                           aot_v_device(aot_device_of(x)));

    args = AOT(t, aten_add_Tensor, args, AOT(t, aten_unsqueeze, x, -1));
    args = AOT(t, aten_digamma_, args);
    args = AOT(t, aten_sum_dim_IntList, args, aot_v_ints(t, 1, &(int64_t){-1}), false);
    return g_mul(t, e->g, args);
}

GRAD_EACH(vjp_mvlgamma, {0, mvlgamma_self})

/* exp((self - 1) * log(other) - other - lgamma(self)) */
static aot_tensor *gamma_density(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *a = aot_each_in(e, 0), *x = aot_each_in(e, 1);
    aot_tensor *scale = AOT(t, aten_lgamma, a), *d = AOT(t, aten_log, x);

    d = g_mul(t, AOT(t, aten_sub_Scalar, a, 1), d);
    d = AOT(t, aten_sub_Tensor, d, x);
    return AOT(t, aten_exp, AOT(t, aten_sub_Tensor, d, scale));
}

static aot_tensor *igamma_other(const aot_each *e)
{
    return g_mul(e->t, e->g, gamma_density(e));
}

static aot_tensor *igammac_other(const aot_each *e)
{
    aot_tensor *d = gamma_density(e);
    return g_mul(e->t, g_neg(e->t, e->g), d);
}

AOT_NORETURN static aot_tensor *no_formula(const aot_each *e)
{
    aot_trace_fail(e->t, AOT_E_UNSUPPORTED, "the derivative for this argument is not implemented");
}

GRAD_EACH(vjp_igamma, {0, no_formula}, {1, igamma_other})
GRAD_EACH(vjp_igammac, {0, no_formula}, {1, igammac_other})

static aot_tensor *zeta_other(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0), *q = aot_each_in(e, 1);
    aot_tensor *d = AOT(t, aten_add_Scalar, x, 1.0);

    d = AOT(t, aten_special_zeta, d, q);
    return g_mul(t, g_mul(t, e->g, g_neg(t, x)), d);
}

static aot_tensor *zeta_number_other(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_value x = aot_each_num(e, 0);
    aot_tensor *d = AOT(t, aten_special_zeta_self_scalar, aot_grad_num(x) + 1.0, aot_each_in(e, 1));
    return g_mul(t, AOT(t, aten_mul_Scalar, e->g, aot_grad_neg_num(x)), d);
}

GRAD_EACH(vjp_special_zeta, {1, zeta_other}, {0, no_formula})
GRAD_EACH(vjp_special_zeta_self_scalar, {1, zeta_number_other})
GRAD_EACH(vjp_special_zeta_other_scalar, {0, no_formula})

/* xlogy and xlog1py: the second's logarithm begins at -1. */
static aot_tensor *zero_at_edge(const aot_each *e, aot_tensor *d, double edge)
{
    aot_tracer *t = e->t;
    aot_tensor *below = AOT(t, aten_le_Scalar, aot_each_in(e, 1), edge);
    aot_tensor *none = AOT(t, aten_eq_Scalar, aot_each_in(e, 0), 0.0);

    none = AOT(t, aten_bitwise_and_Tensor, none, below);
    return AOT(t, aten_masked_fill_Scalar, d, none, 0.0);
}

static aot_tensor *zero_at_zero(const aot_each *e, aot_tensor *d)
{
    aot_tensor *none = AOT(e->t, aten_eq_Scalar, aot_each_in(e, 0), 0.0);
    return AOT(e->t, aten_masked_fill_Scalar, d, none, 0.0);
}

static aot_tensor *xlogy_self(const aot_each *e)
{
    return zero_at_edge(e, AOT(e->t, aten_xlogy_Tensor, e->g, aot_each_in(e, 1)), 0.0);
}

static aot_tensor *xlogy_other(const aot_each *e)
{
    return g_div(e->t, g_mul(e->t, e->g, aot_each_in(e, 0)), aot_each_in(e, 1));
}

static aot_tensor *xlogy_number_other(const aot_each *e)
{
    aot_tensor *d = AOT(e->t, aten_mul_Scalar, e->g, aot_each_num(e, 0));
    return g_div(e->t, d, aot_each_in(e, 1));
}

static aot_tensor *xlogy_number_self(const aot_each *e)
{
    aot_value y = aot_each_num(e, 1);
    aot_tensor *d = AOT(e->t, aten_xlogy_Scalar_Other, e->g, y);
    return aot_grad_num(y) > 0 ? d : zero_at_zero(e, d);
}

static aot_tensor *xlog1py_self(const aot_each *e)
{
    return zero_at_edge(e, AOT(e->t, aten_special_xlog1py, e->g, aot_each_in(e, 1)), -1.0);
}

static aot_tensor *xlog1py_other(const aot_each *e)
{
    aot_tensor *y = g_add_n(e->t, aot_each_in(e, 1), 1);
    return g_div(e->t, g_mul(e->t, e->g, aot_each_in(e, 0)), y);
}

static aot_tensor *xlog1py_number_other(const aot_each *e)
{
    aot_tensor *y = g_add_n(e->t, aot_each_in(e, 1), 1);
    return g_div(e->t, AOT(e->t, aten_mul_Scalar, e->g, aot_each_num(e, 0)), y);
}

static aot_tensor *xlog1py_number_self(const aot_each *e)
{
    aot_value y = aot_each_num(e, 1);
    aot_tensor *d = AOT(e->t, aten_special_xlog1py_other_scalar, e->g, y);
    return aot_grad_num(y) > -1 ? d : zero_at_zero(e, d);
}

GRAD_EACH(vjp_xlogy, {1, xlogy_other}, {0, xlogy_self})
GRAD_EACH(vjp_xlogy_Scalar_Self, {1, xlogy_number_other})
GRAD_EACH(vjp_xlogy_Scalar_Other, {0, xlogy_number_self})
GRAD_EACH(vjp_special_xlog1py, {1, xlog1py_other}, {0, xlog1py_self})
GRAD_EACH(vjp_special_xlog1py_self_scalar, {1, xlog1py_number_other})
GRAD_EACH(vjp_special_xlog1py_other_scalar, {0, xlog1py_number_self})
