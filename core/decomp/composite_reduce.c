/* Reductions, scans and comparisons made of others.
 * Mirrors aten/src/ATen/native/ReduceOps.cpp, TensorCompare.cpp, Integration.cpp, Sorting.cpp. */
#include <math.h>

#include "trace/trace.h"

/* ---- variance -------------------------------------------------------------------------------- */

static aot_op_id corrected(aot_op_id op)
{
    switch (op) {
    case AOT_OP_aten_std:
    case AOT_OP_aten_std_dim:
        return AOT_OP_aten_std_correction;
    case AOT_OP_aten_var:
    case AOT_OP_aten_var_dim:
        return AOT_OP_aten_var_correction;
    case AOT_OP_aten_std_mean:
    case AOT_OP_aten_std_mean_dim:
        return AOT_OP_aten_std_mean_correction;
    default:
        return AOT_OP_aten_var_mean_correction;
    }
}

/* std(self, unbiased), var.dim(self, dim, unbiased, keepdim) ...: a correction of 1 or 0 */
bool composite_variance(aot_expand *k)
{
    bool all = k->n == 2;
    aot_value args[4] = {k->args[0], all ? aot_v_none() : k->args[1],
                         aot_v_int(aot_x_bool(k, all ? 1 : 2)),
                         all ? aot_v_bool(false) : k->args[3]};
    return aot_x_give_value(k, aot_call_op(k->t, corrected(k->op), 4, args));
}

/* nanmean: the sum over the count of what is a number */
bool composite_nanmean(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_tensor *n = AOT(t, aten_detach, x);
    n = AOT(t, aten_ne_Tensor, n, n);
    n = AOT(t, aten_logical_not_, n);
    n = AOT(t, aten_sum_dim_IntList, n, k->args[1], k->args[2]);
    x = AOT(t, aten_nansum, x, k->args[1], k->args[2], k->args[3]);
    return aot_x_give(k, AOT(t, aten_div_Tensor, x, n));
}

/* sum_to_size: sums what was broadcast */
bool composite_sum_to_size(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims size = aot_x_dims(k, 1);
    int64_t dims[AOT_FAKE_MAX_NDIM];
    unsigned n = 0, lead = aot_ndim(x) - size.n;
    if (size.n > aot_ndim(x)) {
        aot_trace_fail(k->t, AOT_E_SHAPE,
                       "sum_to_size: the size has more dimensions than the tensor");
    }
    if (size.n == 0) {
        return aot_x_give(k, AOT(k->t, aten_sum, x));
    }
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        if (i < lead || (aot_dim_is(size.d[i - lead], 1) && !aot_dim_is(aot_size(x, i), 1))) {
            dims[n++] = i;
        }
    }
    x = n > 0 ? AOT(k->t, aten_sum_dim_IntList, x, aot_v_ints(k->t, n, dims), true) : x;
    return aot_x_give(k, lead > 0 ? AOT(k->t, aten_view, x, size) : x);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static char kind_of(const aot_tensor *x)
{
    return aot_dtype_get(aot_dtype_of(x))->kind;
}

static bool is_whole(const aot_tensor *x)
{
    return kind_of(x) != 'f' && kind_of(x) != 'c';
}

static aot_tensor *all_true(aot_tracer *t, aot_tensor *x)
{
    return AOT(t, aten_ones_like, x, aot_v_dtype(AOT_B8), AOT_NONE, AOT_NONE, AOT_NONE,
               aot_v_memory_format(t, AOT_MF_PRESERVE));
}

bool composite_isfinite(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    if (is_whole(x)) {
        return aot_x_give(k, all_true(t, x));
    }
    if (aot_is_complex(x)) {
        aot_tensor *im = AOT(t, aten_imag, x);
        im = AOT(t, aten_isfinite, im);
        aot_tensor *re = AOT(t, aten_real, x);
        re = AOT(t, aten_isfinite, re);
        return aot_x_give(k, AOT(t, aten_bitwise_and__Tensor, re, im));
    }
    aot_tensor *bounded = AOT(t, aten_abs, x);
    bounded = AOT(t, aten_ne_Scalar, bounded, (double)INFINITY);
    aot_tensor *number = AOT(t, aten_eq_Tensor, x, x);
    return aot_x_give(k, AOT(t, aten_mul_Tensor, number, bounded));
}

bool composite_isreal(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    if (!aot_is_complex(x)) {
        return aot_x_give(k, all_true(k->t, x));
    }
    x = AOT(k->t, aten_imag, x);
    return aot_x_give(k, AOT(k->t, aten_eq_Scalar, x, 0));
}

/* isclose(self, other, rtol, atol, equal_nan) */
bool composite_isclose(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1);
    double rtol = aot_x_float(k, 2, 1e-5), atol = aot_x_float(k, 3, 1e-8);
    aot_value f32 = aot_v_dtype(AOT_F32);
    aot_tensor *close = AOT(t, aten_eq_Tensor, x, y);
    if (aot_x_bool(k, 4) && !is_whole(x)) {
        aot_tensor *nan_x = AOT(t, aten_isnan, x);
        aot_tensor *nan_y = AOT(t, aten_isnan, y);
        nan_y = AOT(t, aten_bitwise_and__Tensor, nan_y, nan_x);
        close = AOT(t, aten_bitwise_or__Tensor, close, nan_y);
    }
    if (rtol == 0 && atol == 0) {
        return aot_x_give(k, close);
    }
    aot_tensor *from = kind_of(x) == 'b' ? AOT(t, aten_to_dtype, x, f32) : x;
    y = is_whole(x) ? AOT(t, aten_to_dtype, y, f32) : y;
    aot_tensor *allowed = AOT(t, aten_mul_Scalar, y, rtol);
    allowed = AOT(t, aten_abs, allowed);
    allowed = AOT(t, aten_add_Scalar, allowed, atol);
    aot_tensor *error = AOT(t, aten_sub_Tensor, from, y);
    error = AOT(t, aten_abs, error);
    aot_tensor *finite = AOT(t, aten_isfinite, error);
    aot_tensor *small = AOT(t, aten_le_Tensor, error, allowed);
    finite = AOT(t, aten_bitwise_and__Tensor, finite, small);
    return aot_x_give(k, AOT(t, aten_bitwise_or__Tensor, close, finite));
}

/* ---- sorting --------------------------------------------------------------------------------- */

bool composite_argsort(aot_expand *k)
{
    aot_op_id sort = k->op == AOT_OP_aten_argsort ? (aot_op_id)AOT_OP_aten_sort
                                                  : (aot_op_id)AOT_OP_aten_sort_stable;
    return aot_x_give(k, aot_v_item(aot_call_op(k->t, sort, k->n, k->args), 1));
}

bool composite_msort(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_sort, aot_x_tensor(k, 0), 0));
}

/* ---- differences ----------------------------------------------------------------------------- */

/* diff(self, n, dim, prepend, append) */
bool composite_diff(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *all[3];
    aot_value dim = k->args[2];
    int64_t n = aot_x_int(k, 1, 1);
    unsigned n_all = 0;
    if (n == 0) { /* what is to stand before and behind is dropped */
        aot_tensor *copy = AOT(t, aten_zeros_like, x);
        return aot_x_give(k, AOT(t, aten_copy_, copy, x));
    }
    if (!aot_x_is_none(k, 3) || !aot_x_is_none(k, 4)) {
        if (!aot_x_is_none(k, 3)) {
            all[n_all++] = aot_x_tensor(k, 3);
        }
        all[n_all++] = x;
        if (!aot_x_is_none(k, 4)) {
            all[n_all++] = aot_x_tensor(k, 4);
        }
        x = AOT(t, aten_cat, aot_v_tensors(t, n_all, all), dim);
    }
    aot_dim size = aot_size(x, dim.u.dim.value);
    n = size.expr == 0 && n > size.value ? size.value : n;
    for (int64_t i = 0; i < n; i++) {
        aot_dim left = aot_trace_dim(t, '-', aot_size(x, dim.u.dim.value), aot_dim_of(1));
        if (kind_of(x) == 'b') {
            aot_tensor *last = AOT(t, aten_narrow, x, dim, 1, left);
            aot_tensor *first = AOT(t, aten_narrow, x, dim, 0, left);
            x = AOT(t, aten_logical_xor, last, first);
        } else {
            aot_tensor *first = AOT(t, aten_narrow, x, dim, 0, left);
            aot_tensor *last = AOT(t, aten_narrow, x, dim, 1, left);
            x = AOT(t, aten_sub_Tensor, last, first);
        }
    }
    return aot_x_give(k, x);
}

static aot_tensor *part(aot_tracer *t, aot_tensor *x, aot_value dim, aot_value from, aot_value to)
{
    return AOT(t, aten_slice_Tensor, x, dim, from, to);
}

/* The sum of each two neighbours. */
static aot_tensor *neighbours(aot_tracer *t, aot_tensor *y, aot_value dim)
{
    aot_tensor *left = part(t, y, dim, aot_v_int(0), aot_v_int(-1));
    aot_tensor *right = part(t, y, dim, aot_v_int(1), aot_v_none());
    return AOT(t, aten_add_Tensor, left, right);
}

/* The steps of x along dim; x is one vector or as large as y. */
static aot_tensor *steps(aot_tracer *t, aot_tensor *x, const aot_tensor *y, aot_value dim)
{
    aot_dim shape[AOT_FAKE_MAX_NDIM];
    unsigned n = aot_ndim(y), d = aot_wrap_dim(t, dim.u.dim.value, n);
    if (aot_ndim(x) == 1) {
        for (unsigned i = 0; i < n; i++) {
            shape[i] = i == d ? aot_size(x, 0) : aot_dim_of(1);
        }
        x = AOT(t, aten_view, x, ((aot_dims){shape, n}));
    }
    dim = aot_v_int((int64_t)aot_wrap_dim(t, dim.u.dim.value, aot_ndim(x)));
    aot_tensor *left = part(t, x, dim, aot_v_int(0), aot_v_int(-1));
    aot_tensor *right = part(t, x, dim, aot_v_int(1), aot_v_none());
    return AOT(t, aten_sub_Tensor, right, left);
}

/* trapezoid.x, cumulative_trapezoid.x (y, x, dim) */
bool composite_trapezoid_x(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *y = aot_x_tensor(k, 0);
    aot_value dim = aot_v_int((int64_t)aot_wrap_dim(t, aot_x_int(k, 2, -1), aot_ndim(y)));
    aot_tensor *dx = steps(t, aot_x_tensor(k, 1), y, dim);
    y = neighbours(t, y, dim);
    y = AOT(t, aten_mul_Tensor, y, dx);
    y = k->op == AOT_OP_aten_trapezoid_x
            ? AOT(t, aten_sum_dim_IntList, y, aot_v_list(t, 1, &dim))
            : AOT(t, aten_cumsum, y, dim);
    return aot_x_give(k, AOT(t, aten_div_Scalar, y, 2.0));
}

/* trapezoid.dx(y, dx, dim) */
bool composite_trapezoid_dx(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *y = aot_x_tensor(k, 0);
    aot_value dim = k->args[2];
    aot_tensor *last = AOT(t, aten_select_int, y, dim, -1);
    aot_tensor *first = AOT(t, aten_select_int, y, dim, 0);
    aot_tensor *ends = AOT(t, aten_add_Tensor, first, last);
    ends = AOT(t, aten_mul_Scalar, ends, 0.5);
    y = AOT(t, aten_sum_dim_IntList, y, aot_v_list(t, 1, &dim));
    y = AOT(t, aten_sub_Tensor, y, ends);
    return aot_x_give(k, AOT(t, aten_mul_Scalar, y, aot_x_float(k, 1, 1)));
}

bool composite_cumulative_trapezoid_dx(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *y = neighbours(t, aot_x_tensor(k, 0), k->args[2]);
    y = AOT(t, aten_mul_Scalar, y, aot_x_float(k, 1, 1) / 2);
    return aot_x_give(k, AOT(t, aten_cumsum, y, k->args[2]));
}

/* ---- gradient -------------------------------------------------------------------------------- */

static aot_tensor *piece(aot_tracer *t, aot_tensor *x, int64_t dim, int64_t from, int64_t to)
{
    return part(t, x, aot_v_int(dim), aot_v_int(from), to == 0 ? aot_v_none() : aot_v_int(to));
}

/* The one-sided difference of second order at an end, `at` being the first of three places. */
static aot_tensor *end_of_order_2(aot_tracer *t, aot_tensor *x, int64_t dim, double spacing,
                                  bool last)
{
    aot_tensor *c, *b, *a;
    if (!last) {
        c = AOT(t, aten_mul_Scalar, piece(t, x, dim, 2, 3), 0.5);
        b = AOT(t, aten_mul_Scalar, piece(t, x, dim, 1, 2), 2);
        a = AOT(t, aten_mul_Scalar, piece(t, x, dim, 0, 1), -1.5);
        a = AOT(t, aten_add_Tensor, a, b);
        a = AOT(t, aten_sub_Tensor, a, c);
    } else {
        c = AOT(t, aten_mul_Scalar, piece(t, x, dim, -1, 0), 1.5);
        b = AOT(t, aten_mul_Scalar, piece(t, x, dim, -2, -1), 2);
        a = AOT(t, aten_mul_Scalar, piece(t, x, dim, -3, -2), 0.5);
        a = AOT(t, aten_sub_Tensor, a, b);
        a = AOT(t, aten_add_Tensor, a, c);
    }
    return AOT(t, aten_div_Scalar, a, spacing);
}

static aot_tensor *end_of_order_1(aot_tracer *t, aot_tensor *x, int64_t dim, double spacing,
                                  bool last)
{
    aot_tensor *first = last ? piece(t, x, dim, -2, -1) : piece(t, x, dim, 0, 1);
    aot_tensor *second = last ? piece(t, x, dim, -1, 0) : piece(t, x, dim, 1, 2);
    second = AOT(t, aten_sub_Tensor, second, first);
    return AOT(t, aten_div_Scalar, second, spacing);
}

static aot_tensor *gradient_along(aot_tracer *t, aot_tensor *x, int64_t dim, double spacing,
                                  int64_t order)
{
    aot_tensor *left = piece(t, x, dim, 0, -2);
    aot_tensor *inner = piece(t, x, dim, 2, 0);
    inner = AOT(t, aten_sub_Tensor, inner, left);
    inner = AOT(t, aten_div_Scalar, inner, spacing);
    aot_tensor *all[3];
    all[0] = order == 1 ? end_of_order_1(t, x, dim, spacing, false)
                        : end_of_order_2(t, x, dim, spacing, false);
    all[2] = order == 1 ? end_of_order_1(t, x, dim, spacing, true)
                        : end_of_order_2(t, x, dim, spacing, true);
    all[1] = AOT(t, aten_div_Scalar, inner, 2);
    return AOT(t, aten_cat, aot_v_tensors(t, 3, all), dim);
}

/* gradient with numbers as spacing: scalarint, scalararray, array, scalarrayint, scalarrayarray */
bool composite_gradient(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0), *out[AOT_FAKE_MAX_NDIM];
    bool no_spacing = k->op == AOT_OP_aten_gradient_array;
    aot_value spacing = no_spacing ? aot_v_none() : k->args[1];
    unsigned at = no_spacing ? 1 : 2, n = aot_ndim(x);
    aot_dims dims = {0};
    if (!aot_x_is_none(k, at)) {
        dims = aot_v_is_list(k->args[at]) ? aot_x_dims(k, at) : (aot_dims){&k->args[at].u.dim, 1};
        n = dims.n;
    }
    for (unsigned i = 0; i < n; i++) {
        aot_value s = aot_v_is_list(spacing) ? spacing.u.items[i < spacing.n ? i : 0] : spacing;
        double step = s.kind == AOT_V_NONE    ? 1
                      : s.kind == AOT_V_FLOAT ? s.u.f
                                              : (double)s.u.dim.value;
        int64_t dim = dims.n > 0 ? (int64_t)aot_wrap_dim(k->t, dims.d[i].value, aot_ndim(x)) : i;
        out[i] = gradient_along(k->t, x, dim, step, aot_x_int(k, at + 1, 1));
    }
    return aot_x_give_value(k, aot_v_tensors(k->t, n, out));
}

/* ---- histogramdd ----------------------------------------------------------------------------- */

/* histogramdd.TensorList_bins(self, bins, range, weight, density): the edges are given back */
bool composite_histogramdd_edges(aot_expand *k)
{
    aot_value both[2] = {{0}, k->args[1]};
    both[0] = AOT_V(k->t, aten__histogramdd_from_bin_tensors, k->args[0], k->args[1], k->args[3],
                    k->args[4]);
    return aot_x_give_value(k, aot_v_tuple(k->t, 2, both));
}

/* histogramdd(self, bins, range, weight, density): counts and the edges of the bins */
bool composite_histogramdd(aot_expand *k)
{
    aot_value args[5], both[2];
    for (unsigned i = 0; i < 5; i++) {
        args[i] = k->args[i];
    }
    aot_tensor *x = aot_x_tensor(k, 0);
    if (!aot_v_is_list(args[1])) {
        aot_value *bins = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_value, 64);
        unsigned n = (unsigned)aot_size(x, -1).value;
        for (unsigned i = 0; i < n && i < 64; i++) {
            bins[i] = k->args[1];
        }
        args[1] = aot_v_list(k->t, n < 64 ? n : 64, bins);
    }
    both[1] = aot_call_op(k->t, AOT_OP_aten__histogramdd_bin_edges, 5, args);
    both[0] = aot_call_op(k->t, AOT_OP_aten__histogramdd_from_bin_cts, 5, args);
    return aot_x_give_value(k, aot_v_tuple(k->t, 2, both));
}
