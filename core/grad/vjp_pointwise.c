/* Powers, limits, signs and other functions of one or two tensors. */
#include "grad/grad.h"

#include <complex.h>
#include <math.h>

/* ---- abs, angle, sgn ------------------------------------------------------------------------- */

GRAD_UNARY(vjp_abs, g_mul(t, g, AOT(t, aten_sgn, x)))
GRAD_UNARY_RESULT(vjp_reciprocal, g_mul(t, g_neg(t, g), g_conj(t, g_mul(t, r, r))))

/* Steps: their gradient is nought, but it is one. */
GRAD_UNARY(vjp_step, aot_grad_zeros_like(t, g))

static aot_tensor *angle_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0);

    if (!aot_is_complex(x)) {
        return AOT(t, aten_zeros_like, x, AOT_NONE, AOT_NONE, AOT_NONE, AOT_NONE,
                   aot_v_memory_format(t, AOT_MF_PRESERVE));
    }
    aot_tensor *size = g_square(t, AOT(t, aten_abs, x));
    aot_tensor *d = g_div(t, g_mul(t, e->g, x), size);
    d = AOT(t, aten_mul_Scalar, d, ((aot_value){.kind = AOT_V_COMPLEX, .u.z = {0, 1}}));
    aot_tensor *zero = aot_grad_zeros(t, (aot_dims){0}, aot_type_of(d));
    aot_tensor *origin = AOT(t, aten_eq_Scalar, x, 0.0);
    return AOT(t, aten_where_self, origin, zero, d);
}

GRAD_EACH(vjp_angle, {0, angle_self})

static aot_tensor *sgn_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0), *r = aot_each_out(e);

    if (!aot_is_complex(x) && !aot_is_complex(e->g)) {
        const aot_fake *f = aot_type_of(r);
        return AOT(t, aten__efficientzerotensor, aot_sizes(r), aot_v_dtype((aot_dtype)f->dtype),
                   aot_v_name(t, "torch.strided"), aot_v_device(f->device));
    }
    aot_tensor *size = AOT(t, aten_abs, x);
    aot_tensor *twice = g_mul_f(t, size, 2.0);
    aot_tensor *gc = g_conj(t, e->g);
    aot_tensor *d = g_mul(t, g_mul(t, r, r), gc);
    d = g_div(t, AOT(t, aten_sub_Tensor, e->g, d), twice);
    aot_tensor *origin = AOT(t, aten_eq_Scalar, size, 0.0);
    return AOT(t, aten_masked_fill__Scalar, d, origin, 0.0);
}

GRAD_EACH(vjp_sgn, {0, sgn_self})

/* ---- powers ---------------------------------------------------------------------------------- */

static aot_tensor *pow_number_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0);
    aot_value n = aot_each_num(e, 1), less;

    if (n.kind == AOT_V_COMPLEX) {
        less = n;
        less.u.z[0] -= 1;
    } else if (aot_grad_num(n) == 0) {
        return AOT(t, aten_zeros_like, x, AOT_NONE, AOT_NONE, AOT_NONE, AOT_NONE,
                   aot_v_memory_format(t, AOT_MF_CONTIGUOUS));
    } else {
        n = aot_v_float(aot_grad_num(n));
        less = aot_v_float(n.u.f - 1);
    }
    aot_tensor *p = AOT(t, aten_pow_Tensor_Scalar, x, less);
    p = g_conj(t, AOT(t, aten_mul_Scalar, p, n));
    return aot_grad_to_real(t, aot_dtype_of(x), g_mul(t, e->g, p));
}

static aot_tensor *pow_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0), *n = aot_each_in(e, 1);
    aot_tensor *p = AOT(t, aten_sub_Scalar, n, 1);

    p = AOT(t, aten_pow_Tensor_Tensor, x, p);
    p = g_conj(t, g_mul(t, n, p));
    p = g_mul(t, e->g, p);
    aot_tensor *zero = aot_grad_scalar(t, 0, aot_type_of(p));
    aot_tensor *none = AOT(t, aten_eq_Scalar, n, 0.0);
    return aot_grad_to_real(t, aot_dtype_of(x), AOT(t, aten_where_self, none, zero, p));
}

/* Where 0 ** n is 0 and its logarithm must not count. */
static aot_tensor *is_not_negative(aot_tracer *t, aot_tensor *n)
{
    if (!aot_is_complex(n)) {
        return AOT(t, aten_ge_Scalar, n, 0);
    }
    aot_tensor *re = AOT(t, aten_real, n);
    re = AOT(t, aten_ge_Scalar, re, 0);
    aot_tensor *im = AOT(t, aten_imag, n);
    im = AOT(t, aten_eq_Scalar, im, 0);
    return AOT(t, aten_logical_and, im, re);
}

static aot_tensor *pow_exponent(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0), *n = aot_each_in(e, 1), *r = aot_each_out(e);
    aot_tensor *right = is_not_negative(t, n);
    aot_tensor *cond = AOT(t, aten_eq_Scalar, x, 0);

    cond = AOT(t, aten_logical_and, cond, right);
    aot_tensor *d = AOT(t, aten_log, aot_grad_to_dtype(t, x, aot_dtype_of(r)));
    d = g_conj(t, g_mul(t, r, d));
    aot_tensor *zero = aot_grad_scalar(t, 0, aot_type_of(e->g));
    d = AOT(t, aten_where_self, cond, zero, d);
    return aot_grad_to_real(t, aot_dtype_of(n), g_mul(t, e->g, d));
}

static aot_value logarithm(aot_value base, bool as_complex)
{
    if (base.kind != AOT_V_COMPLEX && !as_complex) {
        return aot_v_float(log(aot_grad_num(base)));
    }
    double re = aot_grad_num(base), im = base.kind == AOT_V_COMPLEX ? base.u.z[1] : 0;
    return (aot_value){.kind = AOT_V_COMPLEX, .u.z = {log(hypot(re, im)), atan2(im, re)}};
}

static aot_tensor *number_pow_exponent(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_value base = aot_each_num(e, 0);
    aot_tensor *n = aot_each_in(e, 1), *r = aot_each_out(e);
    bool is_zero = aot_grad_num(base) == 0 && (base.kind != AOT_V_COMPLEX || base.u.z[1] == 0);
    aot_tensor *d = AOT(t, aten_mul_Scalar, r, logarithm(base, aot_is_complex(n)));

    d = g_conj(t, d);
    if (is_zero) {
        aot_tensor *zero = aot_grad_zeros(t, (aot_dims){0}, aot_type_of(e->g));
        aot_tensor *cond = is_not_negative(t, n);
        d = AOT(t, aten_where_self, cond, zero, d);
    }
    return aot_grad_to_real(t, aot_dtype_of(n), g_mul(t, e->g, d));
}

GRAD_EACH(vjp_pow_number, {0, pow_number_self})
GRAD_EACH(vjp_pow, {1, pow_exponent}, {0, pow_self})
GRAD_EACH(vjp_number_pow, {1, number_pow_exponent})

/* ---- limits ---------------------------------------------------------------------------------- */

/* where(cond, grad, 0) */
static aot_tensor *kept(const aot_each *e, aot_tensor *cond, aot_tensor *zero)
{
    return AOT(e->t, aten_where_self, cond, e->g, zero);
}

static aot_tensor *zero_of(const aot_each *e)
{
    return aot_grad_scalar(e->t, 0, aot_type_of(e->g));
}

/* The gradient of the argument that is the greater (lesser); half of it where both are equal. */
#define GRAD_EXTREME(name, lost)                                                                  \
    static aot_tensor *name(const aot_each *e)                                                    \
    {                                                                                             \
        aot_tracer *t = e->t;                                                                     \
        aot_tensor *x = aot_each_in(e, 0), *y = aot_each_in(e, 1);                                \
        aot_tensor *half = AOT(t, aten_div_Scalar, e->g, 2);                                      \
        aot_tensor *d = AOT(t, aten_eq_Tensor, x, y);                                             \
        d = AOT(t, aten_where_self, d, half, e->g);                                               \
        aot_tensor *out = AOT(t, lost, x, y);                                                     \
        return AOT(t, aten_masked_fill__Scalar, d, out, 0);                                       \
    }
GRAD_EXTREME(less_lost, aten_lt_Tensor)
GRAD_EXTREME(greater_lost, aten_gt_Tensor)
GRAD_EACH(vjp_maximum, {1, greater_lost}, {0, less_lost})
GRAD_EACH(vjp_minimum, {1, less_lost}, {0, greater_lost})

#define GRAD_EXTREME_NUMBER(name, lost)                                                           \
    static aot_tensor *name##_self(const aot_each *e)                                             \
    {                                                                                             \
        aot_tracer *t = e->t;                                                                     \
        aot_tensor *x = aot_each_in(e, 0);                                                        \
        aot_value y = aot_each_num(e, 1);                                                         \
        aot_tensor *half = AOT(t, aten_div_Scalar, e->g, 2);                                      \
        aot_tensor *d = AOT(t, aten_eq_Scalar, x, y);                                             \
        d = AOT(t, aten_where_self, d, half, e->g);                                               \
        aot_tensor *out = AOT(t, lost, x, y);                                                     \
        return AOT(t, aten_masked_fill__Scalar, d, out, 0);                                       \
    }                                                                                             \
    GRAD_EACH(name, {0, name##_self})
GRAD_EXTREME_NUMBER(vjp_maximum_number, aten_lt_Scalar)
GRAD_EXTREME_NUMBER(vjp_minimum_number, aten_gt_Scalar)

/* fmax, fmin: numbers before what is not a number. */
static aot_tensor *first_taken(const aot_each *e, bool least)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0), *y = aot_each_in(e, 1);
    aot_tensor *first = least ? AOT(t, aten_le_Tensor, x, y) : AOT(t, aten_ge_Tensor, x, y);

    return AOT(t, aten_logical_or_, first, AOT(t, aten_isnan, y));
}

static aot_tensor *of_first(const aot_each *e, bool least)
{
    aot_tensor *lost = AOT(e->t, aten_logical_not_, first_taken(e, least));
    return AOT(e->t, aten_masked_fill_Scalar, e->g, lost, 0);
}

static aot_tensor *fmax_self(const aot_each *e)
{
    return of_first(e, false);
}

static aot_tensor *fmin_self(const aot_each *e)
{
    return of_first(e, true);
}

static aot_tensor *fmax_other(const aot_each *e)
{
    return AOT(e->t, aten_masked_fill_Scalar, e->g, first_taken(e, false), 0);
}

static aot_tensor *fmin_other(const aot_each *e)
{
    return AOT(e->t, aten_masked_fill_Scalar, e->g, first_taken(e, true), 0);
}

GRAD_EACH(vjp_fmax, {1, fmax_other}, {0, fmax_self})
GRAD_EACH(vjp_fmin, {1, fmin_other}, {0, fmin_self})

#define GRAD_LIMIT(name, type, value, op)                                                         \
    static aot_tensor *name(const aot_each *e)                                                    \
    {                                                                                             \
        aot_tensor *x = aot_each_in(e, 0), *zero = zero_of(e);                                    \
        type limit = value(e, 1);                                                                 \
        return kept(e, AOT(e->t, op, x, limit), zero);                                            \
    }
GRAD_LIMIT(clamp_max_number, aot_value, aot_each_num, aten_le_Scalar)
GRAD_LIMIT(clamp_min_number, aot_value, aot_each_num, aten_ge_Scalar)
GRAD_LIMIT(clamp_max_self, aot_tensor *, aot_each_in, aten_le_Tensor)
GRAD_LIMIT(clamp_min_self, aot_tensor *, aot_each_in, aten_ge_Tensor)
GRAD_LIMIT(clamp_max_other, aot_tensor *, aot_each_in, aten_gt_Tensor)
GRAD_LIMIT(clamp_min_other, aot_tensor *, aot_each_in, aten_lt_Tensor)
GRAD_EACH(vjp_clamp_max_number, {0, clamp_max_number})
GRAD_EACH(vjp_clamp_min_number, {0, clamp_min_number})
GRAD_EACH(vjp_clamp_max, {1, clamp_max_other}, {0, clamp_max_self})
GRAD_EACH(vjp_clamp_min, {1, clamp_min_other}, {0, clamp_min_self})

static aot_tensor *clamp_number_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0);
    bool has_min = !aot_vjp_is_none(e->b, 1), has_max = !aot_vjp_is_none(e->b, 2);

    if (!has_min && !has_max) {
        return e->g;
    }
    aot_tensor *zero = zero_of(e), *in = NULL;
    if (has_min) {
        in = AOT(t, aten_ge_Scalar, x, aot_each_num(e, 1));
    }
    if (has_max) {
        aot_tensor *below = AOT(t, aten_le_Scalar, x, aot_each_num(e, 2));
        in = in == NULL ? below : AOT(t, aten_logical_and_, in, below);
    }
    return kept(e, in, zero);
}

GRAD_EACH(vjp_clamp_number, {0, clamp_number_self})

static aot_tensor *clamp_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_vjp_in(e->b, 0), *min = aot_vjp_in(e->b, 1), *max = aot_vjp_in(e->b, 2);

    if (min == NULL && max == NULL) {
        return e->g;
    }
    aot_tensor *zero = zero_of(e), *in = NULL;
    if (min != NULL) {
        in = AOT(t, aten_ge_Tensor, x, min);
    }
    if (max != NULL) {
        aot_tensor *below = AOT(t, aten_le_Tensor, x, max);
        in = in == NULL ? below : AOT(t, aten_logical_and, in, below);
    }
    return kept(e, in, zero);
}

/* The limits' gradients: min has none where it is over max. */
static void clamp_limits(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_each e = {b, t, aot_vjp_grad(b, 0), 0};
    aot_tensor *x = aot_vjp_in(b, 0), *min = aot_vjp_in(b, 1), *max = aot_vjp_in(b, 2);
    aot_tensor *zero = zero_of(&e), *out, *over;

    if (min != NULL && aot_vjp_needs(b, 1)) {
        out = AOT(t, aten_lt_Tensor, x, min);
        if (max != NULL) {
            over = AOT(t, aten_lt_Tensor, min, max);
            out = AOT(t, aten_logical_and, out, over);
        }
        aot_vjp_set(b, 1, kept(&e, out, zero));
    }
    if (max != NULL && aot_vjp_needs(b, 2)) {
        out = AOT(t, aten_gt_Tensor, x, max);
        if (min != NULL) {
            over = AOT(t, aten_lt_Tensor, max, min);
            out = AOT(t, aten_logical_or, out, over);
        }
        aot_vjp_set(b, 2, kept(&e, out, zero));
    }
}

void vjp_clamp(aot_vjp *b)
{
    if (aot_vjp_grad(b, 0) == NULL) {
        return;
    }
    if (aot_vjp_needs(b, 1) || aot_vjp_needs(b, 2)) {
        clamp_limits(b);
    }
    aot_grad_each(b, &(aot_grad_part){0, clamp_self}, 1);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

void vjp_atan2(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *g = aot_vjp_grad(b, 0), *y = aot_vjp_in(b, 0), *x = aot_vjp_in(b, 1);

    if (g == NULL) {
        return;
    }
    aot_tensor *xx = g_mul(t, x, x);
    aot_tensor *sum = AOT(t, aten_add_Tensor, g_mul(t, y, y), xx);
    aot_tensor *recip = AOT(t, aten_reciprocal, sum);
    aot_tensor *origin = AOT(t, aten_eq_Scalar, sum, 0);
    recip = AOT(t, aten_masked_fill_Scalar, recip, origin, 0);
    if (aot_vjp_needs(b, 0)) {
        aot_vjp_set(b, 0, g_mul(t, g_mul(t, g, x), recip));
    }
    if (aot_vjp_needs(b, 1)) {
        aot_vjp_set(b, 1, g_mul(t, g_mul(t, g, g_neg(t, y)), recip));
    }
}

static aot_tensor *hypot_by(const aot_each *e, unsigned pos)
{
    return g_div(e->t, g_mul(e->t, e->g, aot_each_in(e, pos)), aot_each_out(e));
}

static aot_tensor *hypot_self(const aot_each *e)
{
    return hypot_by(e, 0);
}

static aot_tensor *hypot_other(const aot_each *e)
{
    return hypot_by(e, 1);
}

GRAD_EACH(vjp_hypot, {1, hypot_other}, {0, hypot_self})

static aot_tensor *ldexp_self(const aot_each *e)
{
    return g_mul(e->t, e->g, AOT(e->t, aten_pow_Scalar, 2, aot_each_in(e, 1)));
}

static aot_tensor *ldexp_other(const aot_each *e)
{
    return g_mul_f(e->t, g_mul(e->t, e->g, aot_each_out(e)), M_LN2);
}

GRAD_EACH(vjp_ldexp, {1, ldexp_other}, {0, ldexp_self})

/* The mantissa's; the exponent is an integer. */
static aot_tensor *frexp_self(const aot_each *e)
{
    return g_div(e->t, e->g, AOT(e->t, aten_exp2, aot_vjp_out(e->b, 1)));
}

GRAD_EACH(vjp_frexp, {0, frexp_self})

static aot_tensor *copysign_self(const aot_each *e)
{
    aot_tensor *x = aot_each_in(e, 0);
    aot_tensor *ratio = g_div(e->t, aot_each_out(e), x);
    return g_mul(e->t, e->g, aot_grad_zero_where_zero(e->t, ratio, x));
}

static aot_tensor *copysign_other(const aot_each *e)
{
    aot_tensor *other = aot_each_in(e, 1);
    return aot_grad_zeros(e->t, aot_sizes(other), aot_type_of(other));
}

GRAD_EACH(vjp_copysign, {1, copysign_other}, {0, copysign_self})
GRAD_EACH(vjp_copysign_number, {0, copysign_self})
