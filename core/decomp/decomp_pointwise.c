/* Decompositions of arithmetic and elementary functions: torch/_refs,
 * torch/_inductor/decomposition.py. */
#include <math.h>

#include "decomp/decomp.h"

/* self + value * tensor1 * tensor2, or / tensor2. */
bool decomp_addcmul(aot_expand *k)
{
    aot_tracer *t = k->t;
    bool divides = k->op == AOT_OP_aten_addcdiv;
    aot_dtype result = dc_promote(k, 7, divides ? AOT_PROMOTE_INT_TO_FLOAT : AOT_PROMOTE_DEFAULT);
    aot_tensor *x = MUL(aot_x_tensor(k, 1), k->args[3]);
    x = divides ? DIV(x, aot_x_tensor(k, 2)) : MUL(x, aot_x_tensor(k, 2));
    return dc_give(k, ADD(aot_x_tensor(k, 0), x), result);
}

/* x with the strides that an element-wise operator on n tensors gives. */
static aot_tensor *restrided(aot_tracer *t, aot_tensor *x, unsigned n, aot_tensor *const *like)
{
    aot_dims want = dc_elementwise_strides(t, n, like);
    bool same = want.n == aot_ndim(x);
    for (unsigned i = 0; same && i < want.n; i++) {
        same = aot_dim_eq(want.d[i], aot_type_of(x)->stride[i]);
    }
    return same ? x : AOT(t, prims_copy_strided, x, want);
}

bool decomp_lerp(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 7, AOT_PROMOTE_DEFAULT);
    aot_tensor *start = aot_x_tensor(k, 0), *end = aot_x_tensor(k, 1);
    aot_tensor *weight = k->op == AOT_OP_aten_lerp_Tensor
                             ? aot_x_tensor(k, 2)
                             : AOT(t, aten_new_full, start, (aot_dims){0}, k->args[2]);
    aot_tensor *far = AOT(t, aten_ge_Scalar, AOT(t, aten_abs, weight), 0.5);
    aot_tensor *less = SUB(weight, 1);
    aot_tensor *coefficient = WHERE(far, less, weight);
    aot_tensor *base = WHERE(far, end, start);
    aot_tensor *x = ADD(MUL(coefficient, SUB(end, start)), base);
    aot_tensor *like[] = {start, end, weight};
    return dc_give(k, restrided(t, x, k->op == AOT_OP_aten_lerp_Tensor ? 3 : 2, like), result);
}

/* ---- Inductor adds complex tensors as pairs of real ones ------------------------------------- */

static bool is_complex_tensor(aot_value v)
{
    return v.kind == AOT_V_TENSOR && aot_is_complex(v.u.t);
}

/* Viewed as real numbers, the last stride has to be 1. */
static bool can_be_viewed(const aot_tensor *x)
{
    unsigned n = aot_ndim(x);
    return n == 0 || aot_dim_eq(aot_type_of(x)->stride[n - 1], aot_dim_of(1));
}

/* [..., n] complex as [..., n, 2] real. */
static aot_tensor *as_pairs(aot_tracer *t, aot_tensor *x)
{
    aot_dtype d = aot_dtype_of(x);
    aot_dim size[AOT_FAKE_MAX_NDIM + 1];
    unsigned n = aot_ndim(x);
    for (unsigned i = 0; i < n; i++) {
        size[i] = aot_size(x, i);
    }
    size[n] = aot_dim_of(2);
    x = AOT(t, aten_view_dtype, x,
            aot_v_dtype(d == AOT_C128  ? AOT_F64
                        : d == AOT_C32 ? AOT_F16
                                       : AOT_F32));
    return AOT(t, aten_view, x, ((aot_dims){size, n + 1}));
}

bool decomp_add(aot_expand *k)
{
    aot_tracer *t = k->t;
    if (!is_complex_tensor(k->args[0]) || !is_complex_tensor(k->args[1]) ||
        !can_be_viewed(k->args[0].u.t) || !can_be_viewed(k->args[1].u.t)) {
        return false;
    }
    aot_tensor *x = k->args[0].u.t, *y = k->args[1].u.t;
    aot_dtype result = aot_promote_types(aot_dtype_of(x), aot_dtype_of(y));
    bool scalar = aot_ndim(x) == 0 && aot_ndim(y) == 0;
    aot_value one = aot_v_ints(t, 1, (int64_t[]){1});
    x = aot_ndim(x) == 0 ? AOT(t, aten_reshape, x, one) : x;
    y = aot_ndim(y) == 0 ? AOT(t, aten_reshape, y, one) : y;
    if (k->args[2].kind != AOT_V_INT || !aot_dim_is(k->args[2].u.dim, 1)) {
        y = MUL(y, k->args[2]);
    }
    x = ADD(x, 0);
    y = ADD(y, 0);
    x = as_pairs(t, x);
    x = ADD(x, as_pairs(t, y));
    x = AOT(t, aten_view_dtype, AOT(t, aten_flatten_using_ints, x, -2), aot_v_dtype(result));
    return aot_x_give(k, scalar ? AOT(t, aten_select_int, x, 0, 0) : x);
}

/* ---- the core table -------------------------------------------------------------------------- */

/* clamp with one bound. */
bool decomp_clamp_bound(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    switch (k->op) {
    case AOT_OP_aten_clamp_min: return aot_x_give(k, AOT(t, aten_clamp, x, k->args[1]));
    case AOT_OP_aten_clamp_max: return aot_x_give(k, AOT(t, aten_clamp, x, AOT_NONE, k->args[1]));
    case AOT_OP_aten_clamp_min_Tensor:
        return aot_x_give(k, AOT(t, aten_clamp_Tensor, x, k->args[1]));
    default: return aot_x_give(k, AOT(t, aten_clamp_Tensor, x, AOT_NONE, k->args[1]));
    }
}

/* ---- both tables ----------------------------------------------------------------------------- */

/* other - alpha * self */
bool decomp_rsub(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_sub_Tensor, k->args[1], k->args[0], k->args[2]));
}

/* Inductor's clamp: numbers count in the promotion. */
bool decomp_clamp(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_result_dtype(k, 7, AOT_PROMOTE_DEFAULT);
    bool tensors = k->op == AOT_OP_aten_clamp_Tensor;
    aot_dtype compute = dc_computation_dtype(result);
    aot_tensor *x = dc_to(t, aot_x_tensor(k, 0), compute);
    aot_tensor *lo = tensors ? dc_to(t, aot_x_tensor(k, 1), compute) : NULL;
    aot_tensor *hi = tensors ? dc_to(t, aot_x_tensor(k, 2), compute) : NULL;
    if (!aot_x_is_none(k, 1)) {
        x = tensors ? AOT(t, aten_clamp_min_Tensor, x, lo) : AOT(t, aten_clamp_min, x, k->args[1]);
    }
    if (!aot_x_is_none(k, 2)) {
        x = tensors ? AOT(t, aten_clamp_max_Tensor, x, hi) : AOT(t, aten_clamp_max, x, k->args[2]);
    }
    return dc_give(k, x, result);
}

bool decomp_floor_divide(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_value floor = aot_v_str(t, "floor");
    return aot_x_give(k, AOT(t, aten_div_Tensor_mode, k->args[0], k->args[1], floor));
}

/* fmin, fmax: self unless other wins or self's partner is NaN. */
bool decomp_fmin(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *self = aot_x_tensor(k, 0), *other = aot_x_tensor(k, 1);
    bool min = k->op == AOT_OP_aten_fmin || k->op == AOT_OP_prims_fmin;
    aot_tensor *nan = AOT(t, aten_isnan, other);
    aot_tensor *wins =
        min ? AOT(t, aten_gt_Tensor, other, self) : AOT(t, aten_lt_Tensor, other, self);
    aot_tensor *keeps = AOT(t, aten_bitwise_or_Tensor, nan, wins);
    return aot_x_give(k, WHERE(keeps, self, other));
}

bool decomp_angle(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    if (aot_is_complex(x)) {
        aot_tensor *nan = AOT(t, aten_isnan, AOT(t, aten_real, x));
        aot_tensor *imag = AOT(t, aten_imag, x);
        aot_tensor *angle = AOT(t, aten_atan2, imag, AOT(t, aten_real, x));
        return aot_x_give(k, AOT(t, aten_where_ScalarSelf, nan, (double)NAN, angle));
    }
    aot_dtype dtype = dc_result_dtype(k, 1, AOT_PROMOTE_INT_TO_FLOAT);
    aot_tensor *pi = dc_scalar_tensor(t, aot_v_float(M_PI), dtype, x);
    aot_tensor *negative = AOT(t, aten_lt_Scalar, x, 0);
    aot_tensor *angle = AOT(t, aten_where_ScalarOther, negative, pi, 0.0);
    aot_tensor *nan = AOT(t, aten_isnan, x);
    return aot_x_give(k, AOT(t, aten_where_ScalarSelf, nan, (double)NAN, angle));
}

bool decomp_sgn(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0);
    if (!aot_is_complex(a)) {
        return dc_give(k, AOT(t, aten_sign, a), result);
    }
    aot_tensor *size = AOT(t, aten_abs, a);
    aot_tensor *zero = AOT(t, aten_eq_Scalar, size, 0);
    return dc_give(k, AOT(t, aten_where_ScalarSelf, zero, 0, DIV(a, size)), result);
}

bool decomp_round_decimals(aot_expand *k)
{
    aot_tracer *t = k->t;
    double scale = pow(10.0, (double)aot_x_int(k, 1, 0));
    aot_tensor *x = AOT(t, aten_round, MUL(aot_x_tensor(k, 0), scale));
    return aot_x_give(k, MUL(x, 1.0 / scale));
}

bool decomp_frac(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_tensor *whole = AOT(t, aten_floor, AOT(t, aten_abs, x));
    return dc_give(k, SUB(x, MUL(whole, AOT(t, aten_sign, x))), result);
}

/* rad2deg, deg2rad */
bool decomp_rad2deg(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_INT_TO_FLOAT);
    double factor = k->op == AOT_OP_aten_rad2deg ? 57.295779513082320876798154814105170
                                                 : 0.017453292519943295769236907684886127;
    return dc_give(k, MUL(aot_x_tensor(k, 0), factor), result);
}

bool decomp_heaviside(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 3, AOT_PROMOTE_DEFAULT);
    aot_tensor *input = aot_x_tensor(k, 0), *values = aot_x_tensor(k, 1);
    dc_broadcast(t, &input, &values);
    aot_tensor *zero = AOT(t, aten_eq_Scalar, input, 0);
    aot_tensor *negative = AOT(t, aten_lt_Scalar, input, 0);
    negative = AOT(t, aten_logical_or, negative, AOT(t, aten_isnan, input));
    aot_tensor *step = AOT(t, aten_where_Scalar, negative, 0, 1);
    return dc_give(k, WHERE(zero, values, step), result);
}

/* isposinf, isneginf */
bool decomp_isposinf(aot_expand *k)
{
    aot_tracer *t = k->t;
    dc_promote(k, 1, AOT_PROMOTE_ALWAYS_BOOL);
    aot_tensor *a = aot_x_tensor(k, 0);
    double infinity = k->op == AOT_OP_aten_isposinf ? INFINITY : -INFINITY;
    aot_tensor *x = aot_is_float(a) ? AOT(t, aten_eq_Scalar, a, infinity)
                                    : AOT(t, aten_zeros_like, a, aot_v_dtype(AOT_B8));
    return dc_give(k, x, AOT_B8);
}

bool decomp_lcm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 3, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0), *b = aot_x_tensor(k, 1);
    dc_broadcast(t, &a, &b);
    aot_dtype dtype = aot_dtype_of(a);
    bool widens = dtype == AOT_I8 || dtype == AOT_I16;
    if (widens) {
        a = AOT(t, prims_convert_element_type, a, aot_v_dtype(AOT_I32));
        b = AOT(t, prims_convert_element_type, b, aot_v_dtype(AOT_I32));
    }
    aot_tensor *g = AOT(t, aten_gcd, a, b);
    g = AOT(t, aten_where_ScalarSelf, AOT(t, aten_eq_Scalar, g, 0), 1, g);
    aot_tensor *x = AOT(t, aten_abs, MUL(AOT(t, prims_div, a, g), b));
    if (widens) {
        x = AOT(t, prims_convert_element_type, x, aot_v_dtype(dtype));
    }
    return dc_give(k, x, result);
}

/* ---- logaddexp ------------------------------------------------------------------------------- */

static aot_tensor *real_of(aot_tracer *t, aot_tensor *x)
{
    return AOT(t, aten_real, x);
}

/* torch.real(a) op torch.real(b) */
#define COMPARE_REAL(op, a, b) compare_real(t, AOT_OP_##op, a, b)
static aot_tensor *compare_real(aot_tracer *t, aot_op_id op, aot_tensor *a, aot_tensor *b)
{
    aot_value args[2] = {aot_v_tensor(real_of(t, a))};
    args[1] = aot_v_tensor(real_of(t, b));
    return aot_v_first(aot_call_op(t, op, 2, args));
}

/* max + log1p(exp(min - max)) */
static aot_tensor *log_of_sum(aot_tracer *t, aot_tensor *max, aot_tensor *min)
{
    return ADD(max, AOT(t, aten_log1p, AOT(t, aten_exp, SUB(min, max))));
}

static aot_tensor *logaddexp_complex(aot_tracer *t, aot_tensor *max, aot_tensor *min,
                                     aot_tensor *inf_mask)
{
    aot_tensor *negative = AOT(t, aten_lt_Scalar, real_of(t, min), 0);
    aot_tensor *e = AOT(t, aten_exp, min);
    aot_tensor *log = AOT(t, aten_log, ADD(e, AOT(t, aten_exp, max)));
    aot_tensor *inf = WHERE(negative, min, log);
    aot_tensor *finite = WHERE(inf_mask, inf, log_of_sum(t, max, min));
    aot_value nan = {.kind = AOT_V_COMPLEX, .u.z = {(double)NAN, (double)NAN}};
    return AOT(t, aten_where_ScalarSelf, AOT(t, aten_isnan, min), nan, finite);
}

bool decomp_logaddexp(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 3, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0), *b = aot_x_tensor(k, 1);
    dc_broadcast(t, &a, &b);
    aot_tensor *mask = COMPARE_REAL(aten_ge_Tensor, a, b);
    aot_tensor *max = WHERE(mask, a, b);
    aot_tensor *min = WHERE(mask, b, a);
    aot_tensor *finite = AOT(t, aten_isfinite, real_of(t, a));
    aot_tensor *infinite = AOT(t, aten_logical_not, finite);
    aot_tensor *equal = COMPARE_REAL(aten_eq_Tensor, a, b);
    aot_tensor *inf_mask = AOT(t, aten_logical_and, infinite, equal);
    if (aot_is_complex(a) || aot_is_complex(b)) {
        return dc_give(k, logaddexp_complex(t, max, min, inf_mask), result);
    }
    return dc_give(k, WHERE(inf_mask, a, log_of_sum(t, max, min)), result);
}

bool decomp_logaddexp2(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 3, AOT_PROMOTE_DEFAULT);
    aot_tensor *a = aot_x_tensor(k, 0), *b = aot_x_tensor(k, 1);
    dc_broadcast(t, &a, &b);
    aot_tensor *mask = AOT(t, aten_ge_Tensor, a, b);
    aot_tensor *max = WHERE(mask, a, b);
    aot_tensor *min = WHERE(mask, b, a);
    aot_tensor *inf = AOT(t, aten_isinf, a);
    aot_tensor *inf_mask = AOT(t, aten_logical_and, inf, AOT(t, aten_eq_Tensor, a, b));
    aot_tensor *tail = AOT(t, aten_log1p, AOT(t, aten_exp2, SUB(min, max)));
    aot_tensor *x = ADD(max, MUL(tail, 1.0 / M_LN2));
    return dc_give(k, WHERE(inf_mask, a, x), result);
}
