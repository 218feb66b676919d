/* Decompositions of norms of vectors and of the cross product; prims that Inductor writes with
 * comparisons. Mirrors torch/_refs/linalg/__init__.py and torch/_inductor/decomposition.py. */
#include <math.h>

#include "decomp/decomp_parts.h"
#include "rules/meta_shared.h"

/* x[index + 1] and x[index + 2] along dim, modulo 3 */
static aot_tensor *turned(aot_tracer *t, aot_tensor *x, unsigned dim, aot_tensor *index, int64_t by)
{
    aot_tensor *at = ADD(index, by);
    at = AOT(t, aten_remainder_Scalar, at, 3);
    return AOT(t, aten_index_select, x, dim, at);
}

bool decomp_linalg_cross(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *pair[] = {aot_x_tensor(k, 0), aot_x_tensor(k, 1)};
    aot_value both = AOT_V(t, aten_broadcast_tensors, aot_v_tensors(t, 2, pair));
    aot_tensor *a = aot_v_item(both, 0), *b = aot_v_item(both, 1);
    unsigned dim = aot_wrap_dim(t, aot_x_int(k, 2, -1), aot_ndim(a));
    aot_tensor *index = dc_arange(t, aot_dim_of(3), AOT_NO_DTYPE, a);
    aot_tensor *x = turned(t, a, dim, index, 1), *y = turned(t, b, dim, index, 2),
               *plus = MUL(x, y);
    x = turned(t, a, dim, index, 2);
    y = turned(t, b, dim, index, 1);
    aot_tensor *minus = MUL(x, y);
    return dc_give(k, SUB(plus, minus), result);
}

/* _maybe_convert_to_dtype */
static aot_tensor *convert(aot_tracer *t, aot_tensor *x, aot_dtype d)
{
    return aot_dtype_of(x) == d ? x : AOT(t, prims_convert_element_type, x, aot_v_dtype(d));
}

/* Every reduced dimension has one element: the norm is the absolute value. */
static bool reduces_nothing(const aot_expand *k, aot_tensor *x, aot_dims dim)
{
    bool ones = dim.n != 0 ? aot_ndim(x) > 0 : aot_dim_eq(aot_numel(k->t, x), aot_dim_of(1));
    for (unsigned i = 0; ones && i < dim.n; i++) {
        ones = aot_dim_eq(aot_size(x, dim.d[i].value), aot_dim_of(1));
    }
    return ones;
}

static aot_tensor *norm_of_ones(aot_expand *k, aot_tensor *x, aot_dims dim, aot_dtype result)
{
    aot_tracer *t = k->t;
    x = AOT(t, aten_abs, x);
    if (aot_x_bool(k, 3) || aot_ndim(x) == 0) {
        return dc_contiguous(t, convert(t, x, result), AOT_MF_CONTIGUOUS);
    }
    if (dim.n == 0) {
        x = AOT(t, aten_flatten_using_ints, convert(t, x, result));
        return AOT(t, aten_select_int, x, 0, 0);
    }
    aot_dim *shape = dc_room(t, aot_ndim(x));
    unsigned n = 0;
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        bool reduced = false;
        for (unsigned j = 0; j < dim.n; j++) {
            // as written: a negative one is not found
            reduced = reduced || dim.d[j].value == (int64_t)i;
        }
        if (!reduced) {
            shape[n++] = aot_size(x, i);
        }
    }
    x = AOT(t, aten_view, x, ((aot_dims){shape, n}));
    return dc_contiguous(t, convert(t, x, result), AOT_MF_CONTIGUOUS);
}

/* torch.sum(x, dim, keepdim), all dimensions if none is given */
static aot_tensor *sum_along(aot_expand *k, aot_tensor *x, aot_value dim, aot_dtype dtype)
{
    return AOT(k->t, aten_sum_dim_IntList, x, dim, k->args[3], aot_v_dtype(dtype));
}

/* amax and amin of absolute values: no dimensions mean all of them. */
static aot_tensor *extreme(aot_expand *k, aot_tensor *x, bool max)
{
    aot_tracer *t = k->t;
    aot_value dim = aot_x_is_none(k, 2) ? aot_v_ints(t, 0, NULL) : k->args[2];
    x = AOT(t, aten_abs, x);
    return max ? AOT(t, aten_amax, x, dim, k->args[3]) : AOT(t, aten_amin, x, dim, k->args[3]);
}

/* linalg_vector_norm(x, ord, dim, keepdim, *, dtype) */
bool decomp_linalg_vector_norm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims dim = aot_x_dims(k, 2);
    double ord = aot_x_float(k, 1, 2);
    aot_dtype asked = aot_x_dtype(k, 4), d = asked == AOT_NO_DTYPE ? aot_dtype_of(x) : asked;
    aot_dtype compute = dc_computation_dtype(d), result = aot_dtype_real(d);
    if (ord == 0) {
        return aot_x_give(k, sum_along(k, AOT(t, aten_ne_Scalar, x, 0.0), k->args[2], result));
    }
    if (isinf(ord)) {
        return aot_x_give(k, convert(t, extreme(k, x, ord > 0), result));
    }
    x = convert(t, x, compute);
    if (reduces_nothing(k, x, dim)) {
        return aot_x_give(k, norm_of_ones(k, x, dim, result));
    }
    if (fmod(ord, 2) != 0 || aot_is_complex(x)) {
        x = AOT(t, aten_abs, x);
    }
    aot_value order = k->args[1];
    x = AOT(t, aten_pow_Tensor_Scalar, x, order);
    x = sum_along(k, x, dim.n == 0 ? aot_v_none() : k->args[2], AOT_NO_DTYPE);
    x = AOT(t, aten_pow_Tensor_Scalar, x, 1.0 / ord);
    return aot_x_give(k, convert(t, x, result));
}
