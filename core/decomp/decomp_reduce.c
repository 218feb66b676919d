/* Decompositions of reductions and norms: torch/_refs, torch/_decomp/decompositions.py,
 * torch/_inductor/decomposition.py. */
#include <math.h>

#include "decomp/decomp.h"

/* all = not any not; of bytes, a byte. all(self), all.dim, all.dims. */
bool decomp_all(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a = aot_x_tensor(k, 0);
    aot_tensor *x = AOT(t, aten_logical_not, a);
    if (k->op == AOT_OP_aten_all) {
        x = AOT(t, aten_any_dims, x, AOT_NONE, false);
    } else if (k->op == AOT_OP_aten_all_dim) {
        x = AOT(t, aten_any_dim, x, k->args[1], k->args[2]);
    } else {
        x = AOT(t, aten_any_dims, x, k->args[1], k->args[2]);
    }
    x = AOT(t, aten_logical_not, x);
    return dc_give(k, x, aot_dtype_of(a) == AOT_U8 ? AOT_U8 : aot_dtype_of(x));
}

/* Of bool only: amax is any, amin is all. */
bool decomp_amax(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    if (aot_dtype_of(x) != AOT_B8) {
        return false;
    }
    // trailing defaults are not passed on, and the Python function's dim is None
    bool plain = k->args[1].n == 0 && !aot_x_bool(k, 2);
    aot_value dim = plain ? AOT_NONE : k->args[1];
    return aot_x_give(k, k->op == AOT_OP_aten_amax ? AOT(t, aten_any_dims, x, dim, k->args[2])
                                                   : AOT(t, aten_all_dims, x, dim, k->args[2]));
}

bool decomp_aminmax(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_value dim = aot_x_is_none(k, 1) ? aot_v_list(t, 0, NULL) : k->args[1];
    aot_tensor *out[2];
    out[0] = AOT(t, aten_amin, x, dim, k->args[2]);
    out[1] = AOT(t, aten_amax, x, dim, k->args[2]);
    return aot_x_give_tuple(k, 2, out);
}

/* count_nonzero(self, dim?), count_nonzero.dim_IntList */
bool decomp_count_nonzero(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = AOT(t, aten_ne_Scalar, aot_x_tensor(k, 0), 0);
    return aot_x_give(k, aot_x_is_none(k, 1) ? AOT(t, aten_sum_dim_IntList, x, AOT_NONE)
                                             : AOT(t, aten_sum_dim_IntList, x, k->args[1]));
}

bool decomp_nansum(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_tensor *nan = AOT(t, aten_isnan, x);
    x = AOT(t, aten_where_ScalarSelf, nan, 0, x);
    return aot_x_give(k, AOT(t, aten_sum_dim_IntList, x, k->args[1], k->args[2], k->args[3]));
}

/* The core table's: a sum over all dimensions. */
bool decomp_sum(aot_expand *k)
{
    aot_tracer *t = k->t;
    return aot_x_give(k, AOT(t, aten_sum_dim_IntList, aot_x_tensor(k, 0), aot_v_list(t, 0, NULL),
                             false, k->args[1]));
}

bool decomp_logsumexp(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_INT_TO_FLOAT);
    aot_tensor *self = aot_x_tensor(k, 0);
    aot_value dims = k->args[1], keep = k->args[2];
    if (aot_dim_eq(aot_numel(t, self), aot_dim_of(0))) {
        aot_tensor *sum = AOT(t, aten_sum_dim_IntList, AOT(t, aten_exp, self), dims, keep);
        return dc_give(k, AOT(t, aten_log, sum), result);
    }
    aot_tensor *max = AOT(t, aten_amax, AOT(t, aten_real, self), dims, true);
    aot_tensor *infinite = AOT(t, aten_eq_Scalar, AOT(t, aten_abs, max), (double)INFINITY);
    max = AOT(t, aten_masked_fill_Scalar, max, infinite, 0);
    aot_tensor *squeezed = keep.u.dim.value ? max : AOT(t, aten_squeeze_dims, max, dims);
    aot_tensor *e = AOT(t, aten_exp, SUB(self, max));
    aot_tensor *sum = AOT(t, aten_sum_dim_IntList, e, dims, keep);
    return dc_give(k, ADD(AOT(t, aten_log, sum), squeezed), result);
}

/* The largest finite number of a dtype. */
static double largest(aot_dtype d)
{
    switch (d) {
    case AOT_F16:
        return 65504.0;
    case AOT_BF16:
        return 3.3895313892515355e+38;
    case AOT_F64:
    case AOT_C128:
        return 1.7976931348623157e+308;
    default:
        return 3.4028234663852886e+38;
    }
}

bool decomp_nan_to_num(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a = aot_x_tensor(k, 0);
    if (dc_is_integral(aot_dtype_of(a))) {
        return aot_x_give(k, AOT(t, aten_clone, a));
    }
    double most = largest(aot_dtype_of(a));
    aot_tensor *nan = AOT(t, aten_isnan, a);
    aot_tensor *x = AOT(t, aten_where_ScalarSelf, nan, aot_x_float(k, 1, 0.0), a);
    aot_tensor *below = AOT(t, aten_isneginf, a);
    x = AOT(t, aten_where_ScalarSelf, below, aot_x_float(k, 3, -most), x);
    aot_tensor *above = AOT(t, aten_isposinf, a);
    return aot_x_give(k, AOT(t, aten_where_ScalarSelf, above, aot_x_float(k, 2, most), x));
}

static aot_value correction_of(const aot_expand *k)
{
    return aot_v_float(aot_x_is_none(k, 2) ? 1.0 : dc_number(k->args[2]));
}

static aot_dtype real_dtype(aot_dtype d)
{
    return d == AOT_C64 ? AOT_F32 : d == AOT_C128 ? AOT_F64 : d == AOT_C32 ? AOT_F16 : d;
}

bool decomp_std(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a = aot_x_tensor(k, 0);
    aot_dtype dtype = aot_dtype_of(a);
    a = dc_to(t, a, dc_computation_dtype(dtype));
    aot_tensor *var = AOT(t, aten_var_correction, a, k->args[1], correction_of(k), k->args[3]);
    return dc_give(k, AOT(t, aten_sqrt, var), real_dtype(dtype));
}

bool decomp_std_mean(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a = aot_x_tensor(k, 0), *out[2];
    aot_dtype dtype = aot_dtype_of(a);
    a = dc_to(t, a, dc_computation_dtype(dtype));
    aot_value both =
        AOT_V(t, aten_var_mean_correction, a, k->args[1], correction_of(k), k->args[3]);
    out[0] = AOT(t, aten_sqrt, aot_v_item(both, 0));
    out[0] = dc_to(t, out[0], real_dtype(dtype));
    out[1] = dc_to(t, aot_v_item(both, 1), dtype);
    return aot_x_give_tuple(k, 2, out);
}

bool decomp_trace(aot_expand *k)
{
    aot_tracer *t = k->t;
    return aot_x_give(k, AOT(t, aten_sum, AOT(t, aten_diag, aot_x_tensor(k, 0), 0)));
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* norm.Scalar, .ScalarOpt_dtype, .ScalarOpt_dim, .ScalarOpt_dim_dtype. */
bool decomp_norm(aot_expand *k)
{
    aot_tracer *t = k->t;
    bool dims = k->op == AOT_OP_aten_norm_ScalarOpt_dim ||
                k->op == AOT_OP_aten_norm_ScalarOpt_dim_dtype;
    bool dtype = k->op == AOT_OP_aten_norm_ScalarOpt_dtype ||
                 k->op == AOT_OP_aten_norm_ScalarOpt_dim_dtype;
    aot_value p = aot_x_is_none(k, 1) ? aot_v_int(2) : k->args[1];
    return aot_x_give(k, AOT(t, aten_linalg_vector_norm, aot_x_tensor(k, 0), p,
                             dims ? k->args[2] : AOT_NONE, dims ? k->args[3] : aot_v_bool(false),
                             dtype ? k->args[k->n - 1] : AOT_NONE));
}

bool decomp_dist(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = SUB(aot_x_tensor(k, 0), aot_x_tensor(k, 1));
    return aot_x_give(k, AOT(t, aten_norm_Scalar, x, k->args[2]));
}

bool decomp_renorm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *input = aot_x_tensor(k, 0);
    unsigned ndim = aot_ndim(input), dim = aot_wrap_dim(t, aot_x_int(k, 2, 0), ndim), n = 0;
    int64_t dims[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < ndim; i++) {
        if (i != dim) {
            dims[n++] = i;
        }
    }
    aot_dtype dtype = aot_dtype_of(input), acc = dc_computation_dtype(dtype);
    aot_tensor *norm = AOT(t, aten_linalg_vector_norm, input, k->args[1], aot_v_ints(t, n, dims),
                           true, acc == dtype ? AOT_NONE : aot_v_dtype(acc));
    aot_tensor *above = AOT(t, aten_gt_Scalar, norm, k->args[3]);
    aot_tensor *scale = MUL(AOT(t, aten_reciprocal, ADD(norm, 1e-7)), k->args[3]);
    scale = AOT(t, aten_where_ScalarOther, above, scale, 1.0);
    if (acc != dtype) {
        scale = AOT(t, prims_convert_element_type, scale, aot_v_dtype(dtype));
    }
    return aot_x_give(k, AOT(t, aten_contiguous, MUL(input, scale)));
}

bool decomp_weight_norm_interface(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *v = aot_x_tensor(k, 0), *g = aot_x_tensor(k, 1), *out[2];
    int64_t dims[AOT_FAKE_MAX_NDIM], dim = aot_x_int(k, 2, 0);
    unsigned n = 0;
    for (unsigned i = 0; i < aot_ndim(v); i++) {
        if (i != dim) {
            dims[n++] = i;
        }
    }
    aot_value over = aot_v_ints(t, n, dims);
    out[1] = aot_dtype_of(g) == AOT_BF16
                 ? AOT(t, aten_norm_ScalarOpt_dim_dtype, v, 2, over, true, aot_v_dtype(AOT_F32))
                 : AOT(t, aten_norm_ScalarOpt_dim, v, 2, over, true);
    out[0] = MUL(v, DIV(g, dc_to(t, out[1], aot_dtype_of(g))));
    return aot_x_give_tuple(k, 2, out);
}
