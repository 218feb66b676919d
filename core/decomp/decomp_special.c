/* Decompositions of special functions: torch/_refs/special, torch/_refs. */
#include <math.h>

#include "decomp/decomp.h"

/* xlogy(a, b) = a * log(b) and xlog1py(a, b) = a * log1p(b), 0 where a is; one may be a number. */
bool decomp_xlogy(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 3, AOT_PROMOTE_INT_TO_FLOAT);
    bool one_more = k->op != AOT_OP_aten_xlogy_Tensor && k->op != AOT_OP_aten_xlogy_Scalar_Self &&
                    k->op != AOT_OP_aten_xlogy_Scalar_Other;
    aot_tensor *x[2];
    for (unsigned i = 0; i < 2; i++) {
        bool number = aot_v_is_number(k->args[i]);
        x[i] = number ? NULL : aot_x_tensor(k, i);
    }
    for (unsigned i = 0; i < 2; i++) {
        if (x[i] == NULL) {
            x[i] = AOT(t, prims_scalar_tensor, k->args[i], aot_v_dtype(aot_dtype_of(x[1 - i])),
                       aot_v_device(aot_device_of(x[1 - i])));
        }
    }
    aot_tensor *zero = AOT(t, aten_eq_Scalar, x[0], 0);
    aot_tensor *log = one_more ? AOT(t, aten_log1p, x[1]) : AOT(t, aten_log, x[1]);
    aot_tensor *rhs = AOT(t, aten_where_ScalarSelf, zero, 0, MUL(x[0], log));
    aot_tensor *nan = AOT(t, aten_isnan, x[1]);
    return dc_give(k, AOT(t, aten_where_ScalarSelf, nan, (double)NAN, rhs), result);
}

bool decomp_special_entr(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_INT_TO_FLOAT);
    aot_tensor *a = aot_x_tensor(k, 0);
    aot_tensor *nan = AOT(t, aten_isnan, a);
    aot_tensor *positive = AOT(t, aten_gt_Scalar, a, 0);
    aot_tensor *minus = NEG(a);
    aot_tensor *entropy = MUL(minus, AOT(t, aten_log, a));
    aot_tensor *zero = AOT(t, aten_eq_Scalar, a, 0);
    aot_tensor *edge = AOT(t, aten_where_Scalar, zero, 0, (double)-INFINITY);
    aot_tensor *x = WHERE(positive, entropy, edge);
    return dc_give(k, WHERE(nan, a, x), result);
}

bool decomp_sinc(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_INT_TO_FLOAT);
    aot_tensor *a = MUL(aot_x_tensor(k, 0), M_PI);
    aot_tensor *zero = AOT(t, aten_eq_Scalar, a, 0);
    aot_tensor *x = DIV(AOT(t, aten_sin, a), a);
    return dc_give(k, AOT(t, aten_where_ScalarSelf, zero, 1, x), result);
}

/* special_ndtr(self) as PyTorch's kernel calls it: (1 + erf(self / sqrt(2))) / 2 */
bool composite_special_ndtr(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = AOT(t, aten_mul_Scalar, aot_x_tensor(k, 0), M_SQRT1_2);
    x = AOT(t, aten_erf, x);
    x = AOT(t, aten_add_Scalar, x, 1);
    return aot_x_give(k, AOT(t, aten_mul_Scalar, x, 0.5));
}

bool decomp_special_log_ndtr(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_INT_TO_FLOAT);
    aot_tensor *a = aot_x_tensor(k, 0);
    aot_tensor *x = MUL(a, M_SQRT1_2);
    aot_tensor *low = AOT(t, aten_lt_Scalar, a, 1.0);
    aot_tensor *log = AOT(t, aten_log, DIV(AOT(t, aten_special_erfcx, NEG(x)), 2));
    aot_tensor *left = SUB(log, MUL(x, x));
    aot_tensor *right = AOT(t, aten_log1p, DIV(NEG(AOT(t, aten_erfc, x)), 2));
    return dc_give(k, WHERE(low, left, right), result);
}

bool decomp_mvlgamma(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_INT_TO_FLOAT);
    aot_tensor *a = aot_x_tensor(k, 0);
    int64_t p = aot_x_int(k, 1, 1);
    if (p < 1 || p > INT32_MAX) {
        aot_trace_fail(t, AOT_E_RANGE, "mvlgamma: p is %lld, not at least 1", (long long)p);
    }
    double c = 0.25 * (double)p * (double)(p - 1) * log(M_PI);
    aot_tensor *range = AOT(t, aten_arange_start_step, 1 - p, 1, 1, aot_v_dtype(aot_dtype_of(a)),
                            AOT_NONE, aot_v_device(aot_device_of(a)));
    aot_tensor *b = MUL(range, 0.5);
    aot_tensor *x = AOT(t, aten_lgamma, ADD(AOT(t, aten_unsqueeze, a, -1), b));
    return dc_give(k, ADD(AOT(t, aten_sum_dim_IntList, x, -1), c), result);
}
