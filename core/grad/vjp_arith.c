/* Sums, products, quotients. */
#include "grad/grad.h"

static aot_dtype dtype_of(const aot_each *e, unsigned pos)
{
    return aot_dtype_of(aot_each_in(e, pos));
}

/* ---- add, sub, rsub -------------------------------------------------------------------------- */

static aot_tensor *plus(const aot_each *e, unsigned pos)
{
    return aot_grad_to_real(e->t, dtype_of(e, pos), e->g);
}

/* alpha is the argument after other. */
static aot_tensor *plus_alpha(const aot_each *e, unsigned pos)
{
    aot_value alpha = aot_grad_conj_num(aot_each_num(e, 2));
    return aot_grad_to_real(e->t, dtype_of(e, pos), aot_grad_times(e->t, e->g, alpha));
}

static aot_tensor *minus_alpha(const aot_each *e, unsigned pos)
{
    aot_value alpha = aot_grad_conj_num(aot_each_num(e, 2));
    aot_tensor *g = aot_grad_times(e->t, g_neg(e->t, e->g), alpha);
    return aot_grad_to_real(e->t, dtype_of(e, pos), g);
}

static aot_tensor *plus_self(const aot_each *e)
{
    return plus(e, 0);
}

static aot_tensor *plus_other(const aot_each *e)
{
    return plus(e, 1);
}

static aot_tensor *plus_alpha_other(const aot_each *e)
{
    return plus_alpha(e, 1);
}

static aot_tensor *minus_alpha_other(const aot_each *e)
{
    return minus_alpha(e, 1);
}

static aot_tensor *minus_alpha_self(const aot_each *e)
{
    return minus_alpha(e, 0);
}

GRAD_EACH(vjp_add, {1, plus_alpha_other}, {0, plus_self})
GRAD_EACH(vjp_sub, {1, minus_alpha_other}, {0, plus_self})
GRAD_EACH(vjp_rsub, {1, plus_other}, {0, minus_alpha_self})
GRAD_EACH(vjp_add_number, {0, plus_self})
GRAD_EACH(vjp_rsub_number, {0, minus_alpha_self})
GRAD_UNARY(vjp_neg, g_neg(t, g))

/* ---- mul ------------------------------------------------------------------------------------- */

/* The conjugate of an operand, which may be a number. */
static aot_value conj_of(const aot_each *e, unsigned pos)
{
    aot_tensor *x = aot_each_in(e, pos);
    return x == NULL ? aot_grad_conj_num(aot_each_num(e, pos)) : aot_v_tensor(g_conj(e->t, x));
}

static aot_tensor *times(const aot_each *e, unsigned pos, unsigned by)
{
    aot_tensor *g = AOT(e->t, aten_mul_Tensor, e->g, conj_of(e, by));
    return aot_grad_to_real(e->t, dtype_of(e, pos), g);
}

static aot_tensor *mul_self(const aot_each *e)
{
    return times(e, 0, 1);
}

static aot_tensor *mul_other(const aot_each *e)
{
    return times(e, 1, 0);
}

static aot_tensor *mul_number(const aot_each *e)
{
    aot_value by = aot_grad_conj_num(aot_each_num(e, 1));
    return aot_grad_to_real(e->t, dtype_of(e, 0), AOT(e->t, aten_mul_Scalar, e->g, by));
}

GRAD_EACH(vjp_mul, {1, mul_other}, {0, mul_self})
GRAD_EACH(vjp_mul_number, {0, mul_number})

/* ---- div ------------------------------------------------------------------------------------- */

static aot_tensor *div_self(const aot_each *e)
{
    aot_tensor *g = AOT(e->t, aten_div_Tensor, e->g, conj_of(e, 1));
    return aot_grad_to_real(e->t, dtype_of(e, 0), g);
}

static aot_tensor *div_other(const aot_each *e)
{
    aot_tensor *other = aot_each_in(e, 1);
    aot_tensor *q = AOT(e->t, aten_div_Tensor, aot_each_num(e, 0), other);
    q = g_div(e->t, q, other);
    q = g_conj(e->t, q);
    q = g_mul(e->t, g_neg(e->t, e->g), q);
    return aot_grad_to_real(e->t, aot_dtype_of(other), q);
}

static aot_tensor *div_number(const aot_each *e)
{
    aot_value by = aot_grad_conj_num(aot_each_num(e, 1));
    return aot_grad_to_real(e->t, dtype_of(e, 0), AOT(e->t, aten_div_Scalar, e->g, by));
}

/* zeros_like(grad, options of grad with the argument's dtype): rounded quotients are steps. */
static aot_tensor *step(const aot_each *e, unsigned pos)
{
    return AOT(e->t, aten_zeros_like, e->g, aot_v_dtype(dtype_of(e, pos)),
               aot_v_name(e->t, "torch.strided"), aot_v_device(aot_device_of(e->g)));
}

static aot_tensor *div_mode_self(const aot_each *e)
{
    return aot_vjp_is_none(e->b, 2) ? div_self(e) : step(e, 0);
}

static aot_tensor *div_mode_other(const aot_each *e)
{
    return aot_vjp_is_none(e->b, 2) ? div_other(e) : step(e, 1);
}

static aot_tensor *div_mode_number(const aot_each *e)
{
    return aot_vjp_is_none(e->b, 2) ? div_number(e) : step(e, 0);
}

GRAD_EACH(vjp_div, {1, div_other}, {0, div_self})
GRAD_EACH(vjp_div_number, {0, div_number})
GRAD_EACH(vjp_div_mode, {1, div_mode_other}, {0, div_mode_self})
GRAD_EACH(vjp_div_mode_number, {0, div_mode_number})

/* ---- remainders ------------------------------------------------------------------------------ */

static aot_tensor *rounded(const aot_each *e, const char *mode)
{
    aot_tensor *q = AOT(e->t, aten_div_Tensor_mode, aot_each_in(e, 0), aot_each_in(e, 1),
                        aot_v_str(e->t, mode));
    return g_mul(e->t, g_neg(e->t, e->g), q);
}

static aot_tensor *fmod_other(const aot_each *e)
{
    return rounded(e, "trunc");
}

static aot_tensor *remainder_other(const aot_each *e)
{
    return rounded(e, "floor");
}

static aot_tensor *same(const aot_each *e)
{
    return e->g;
}

GRAD_EACH(vjp_fmod, {1, fmod_other}, {0, same})
GRAD_EACH(vjp_remainder, {1, remainder_other}, {0, same})
GRAD_EACH(vjp_identity, {0, same})

/* ---- addcmul, addcdiv ------------------------------------------------------------------------ */

static aot_tensor *addcmul_by(const aot_each *e, unsigned pos, unsigned by)
{
    aot_tensor *x = AOT(e->t, aten_mul_Scalar, aot_each_in(e, by), aot_each_num(e, 3));
    x = g_mul(e->t, e->g, g_conj(e->t, x));
    return aot_grad_to_real(e->t, dtype_of(e, pos), x);
}

static aot_tensor *addcmul_tensor1(const aot_each *e)
{
    return addcmul_by(e, 1, 2);
}

static aot_tensor *addcmul_tensor2(const aot_each *e)
{
    return addcmul_by(e, 2, 1);
}

static aot_tensor *addcdiv_tensor1(const aot_each *e)
{
    aot_tensor *x = aot_grad_n_div(e->t, aot_each_num(e, 3), aot_each_in(e, 2));
    x = g_mul(e->t, e->g, g_conj(e->t, x));
    return aot_grad_to_real(e->t, dtype_of(e, 1), x);
}

static aot_tensor *addcdiv_tensor2(const aot_each *e)
{
    aot_tensor *by = aot_each_in(e, 2);
    aot_tensor *square = g_mul(e->t, by, by);
    aot_tensor *x = AOT(e->t, aten_mul_Scalar, aot_each_in(e, 1), aot_each_num(e, 3));
    x = g_conj(e->t, g_div(e->t, x, square));
    x = g_mul(e->t, g_neg(e->t, e->g), x);
    return aot_grad_to_real(e->t, aot_dtype_of(by), x);
}

GRAD_EACH(vjp_addcmul, {0, plus_self}, {1, addcmul_tensor1}, {2, addcmul_tensor2})
GRAD_EACH(vjp_addcdiv, {0, plus_self}, {1, addcdiv_tensor1}, {2, addcdiv_tensor2})

/* ---- lerp ------------------------------------------------------------------------------------ */

static aot_tensor *lerp_end(const aot_each *e)
{
    return g_mul(e->t, e->g, g_conj(e->t, aot_each_in(e, 2)));
}

static aot_tensor *lerp_self(const aot_each *e)
{
    aot_tensor *rest = aot_grad_n_sub(e->t, aot_v_int(1), aot_each_in(e, 2));
    return g_mul(e->t, e->g, g_conj(e->t, rest));
}

static aot_tensor *lerp_weight(const aot_each *e)
{
    aot_tensor *way = AOT(e->t, aten_sub_Tensor, aot_each_in(e, 1), aot_each_in(e, 0));
    return g_mul(e->t, e->g, g_conj(e->t, way));
}

static aot_tensor *lerp_number_end(const aot_each *e)
{
    return AOT(e->t, aten_mul_Scalar, e->g, aot_grad_conj_num(aot_each_num(e, 2)));
}

static aot_tensor *lerp_number_self(const aot_each *e)
{
    aot_value w = aot_grad_conj_num(aot_each_num(e, 2));
    if (w.kind == AOT_V_COMPLEX) {
        w.u.z[0] = 1 - w.u.z[0];
        w.u.z[1] = -w.u.z[1];
        return AOT(e->t, aten_mul_Scalar, e->g, w);
    }
    return g_mul_f(e->t, e->g, 1 - aot_grad_num(w));
}

GRAD_EACH(vjp_lerp, {1, lerp_end}, {0, lerp_self}, {2, lerp_weight})
GRAD_EACH(vjp_lerp_number, {1, lerp_number_end}, {0, lerp_number_self})
