/* Linear algebra made of factorizations that report their errors as tensors.
 * Mirrors aten/src/ATen/native/BatchLinearAlgebra.cpp, LinearAlgebra.cpp. Checks of those errors
 * (_linalg_check_errors) leave no node: nobody uses what they give. */
#include <math.h>
#include <string.h>

#include "trace/trace.h"

/* The operator whose results are taken, and which of them. */
static const struct {
    aot_op_id from, to;
    unsigned n, first, second;
} taken[] = {
    {AOT_OP_aten_linalg_inv, AOT_OP_aten_linalg_inv_ex, 1, 0, 0},
    {AOT_OP_aten_linalg_det, AOT_OP_aten__linalg_det, 1, 0, 0},
    {AOT_OP_aten_linalg_slogdet, AOT_OP_aten__linalg_slogdet, 2, 0, 1},
    {AOT_OP_aten_linalg_cholesky, AOT_OP_aten_linalg_cholesky_ex, 1, 0, 0},
    {AOT_OP_aten_linalg_eigvals, AOT_OP_aten_linalg_eig, 1, 0, 0},
    {AOT_OP_aten_linalg_lu_factor, AOT_OP_aten_linalg_lu_factor_ex, 2, 0, 1},
    {AOT_OP_aten_linalg_ldl_factor, AOT_OP_aten_linalg_ldl_factor_ex, 2, 0, 1},
    {AOT_OP_aten_linalg_solve_ex, AOT_OP_aten__linalg_solve_ex, 2, 0, 3},
    {AOT_OP_aten_linalg_solve, AOT_OP_aten_linalg_solve_ex, 1, 0, 0},
};

bool composite_linalg_taken(aot_expand *k)
{
    for (unsigned i = 0; i < sizeof taken / sizeof *taken; i++) {
        if (taken[i].from != k->op) {
            continue;
        }
        aot_value r = aot_call_op(k->t, taken[i].to, k->n, k->args);
        aot_tensor *two[2] = {aot_v_item(r, taken[i].first), aot_v_item(r, taken[i].second)};
        return taken[i].n == 1 ? aot_x_give(k, two[0]) : aot_x_give_tuple(k, 2, two);
    }
    return false;
}

/* ---- determinants ---------------------------------------------------------------------------- */

bool composite_logdet(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_value r = AOT_V(t, aten_linalg_slogdet, aot_x_tensor(k, 0));
    aot_tensor *sign = aot_v_item(r, 0), *log = aot_v_item(r, 1);
    if (aot_is_complex(sign)) {
        sign = AOT(t, aten_log, sign);
        return aot_x_give(k, AOT(t, aten_add_Tensor, log, sign));
    }
    sign = AOT(t, aten_eq_Scalar, sign, -1.0);
    return aot_x_give(k, AOT(t, aten_where_ScalarSelf, sign, (double)NAN, log));
}

/* ---- singular values ------------------------------------------------------------------------- */

bool composite_linalg_svd(aot_expand *k)
{
    return aot_x_give_value(
        k, AOT_V(k->t, aten__linalg_svd, aot_x_tensor(k, 0), k->args[1], true, k->args[2]));
}

bool composite_linalg_svdvals(aot_expand *k)
{
    aot_value r = AOT_V(k->t, aten__linalg_svd, aot_x_tensor(k, 0), false, true, k->args[1]);
    return aot_x_give(k, aot_v_item(r, 1));
}

/* svd(self, some, compute_uv): V, not its conjugate transpose */
bool composite_svd(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *out[3];
    if (aot_x_bool(k, 2)) {
        aot_value r = AOT_V(t, aten_linalg_svd, x, !aot_x_bool(k, 1));
        out[0] = aot_v_item(r, 0);
        out[1] = aot_v_item(r, 1);
        out[2] = AOT(t, aten_mH, aot_v_item(r, 2));
        return aot_x_give_tuple(k, 3, out);
    }
    aot_dim size[AOT_FAKE_MAX_NDIM];
    unsigned n = aot_ndim(x);
    memcpy(size, aot_sizes(x).d, n * sizeof *size);
    aot_value dtype = aot_v_dtype(aot_dtype_of(x)), device = aot_v_device(aot_device_of(x));
    aot_value layout = aot_v_name(t, "torch.strided");
    out[1] = AOT(t, aten_linalg_svdvals, x);
    size[n - 1] = size[n - 2];
    out[0] = AOT(t, aten_zeros, ((aot_dims){size, n}), dtype, layout, device);
    size[n - 1] = size[n - 2] = aot_size(x, -1);
    out[2] = AOT(t, aten_zeros, ((aot_dims){size, n}), dtype, layout, device);
    out[2] = AOT(t, aten_mH, out[2]);
    return aot_x_give_tuple(k, 3, out);
}

bool composite_qr(aot_expand *k)
{
    aot_value mode = aot_v_str(k->t, aot_x_bool(k, 1) ? "reduced" : "complete");
    return aot_x_give_value(k, AOT_V(k->t, aten_linalg_qr, aot_x_tensor(k, 0), mode));
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* The other dimensions first, then a and b. */
static aot_value backshift(aot_tracer *t, int64_t a, int64_t b, unsigned n)
{
    int64_t order[AOT_FAKE_MAX_NDIM];
    unsigned m = 0;
    for (unsigned i = 0; i < n; i++) {
        if (i != a && i != b) {
            order[m++] = i;
        }
    }
    order[m++] = a;
    order[m++] = b;
    return aot_v_ints(t, m, order);
}

static aot_value reversed(aot_tracer *t, aot_value order)
{
    int64_t back[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < order.n; i++) {
        back[order.u.items[i].u.dim.value] = i;
    }
    return aot_v_ints(t, order.n, back);
}

static aot_tensor *extreme(aot_tracer *t, aot_tensor *x, int64_t dim, bool keep, bool largest)
{
    return largest ? AOT(t, aten_amax, x, aot_v_ints(t, 1, &dim), keep)
                   : AOT(t, aten_amin, x, aot_v_ints(t, 1, &dim), keep);
}

/* linalg_matrix_norm(self, ord, dim, keepdim, dtype); ord a number or "fro", "nuc" */
bool composite_matrix_norm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims d = aot_x_dims(k, 2);
    unsigned n = aot_ndim(x);
    bool keep = aot_x_bool(k, 3), nuc = aot_x_str_is(k, 1, "nuc"), fro = aot_x_str_is(k, 1, "fro");
    if (d.n != 2 || n < 2) {
        aot_trace_fail(t, AOT_E_SHAPE, "a norm of matrices over %u of %u dimensions", d.n, n);
    }
    int64_t dim[2] = {aot_wrap_dim(t, d.d[0].value, n), aot_wrap_dim(t, d.d[1].value, n)};
    double ord = nuc || fro ? 2 : aot_x_float(k, 1, 2);
    if (dim[0] == dim[1]) {
        aot_trace_fail(t, AOT_E_SHAPE, "a norm of matrices over dimension %d twice", (int)dim[0]);
    }
    if (fro) {
        return aot_x_give(
            k, AOT(t, aten_linalg_vector_norm, x, 2, aot_v_ints(t, 2, dim), keep, k->args[4]));
    }
    if (fabs(ord) == 2) { /* by singular values */
        aot_value order = backshift(t, dim[0], dim[1], n);
        int64_t last = -1;
        x = !aot_x_is_none(k, 4) ? AOT(t, aten_to_dtype, x, k->args[4]) : x;
        x = AOT(t, aten_permute, x, order);
        x = AOT(t, aten_linalg_svdvals, x);
        x = nuc ? AOT(t, aten_sum_dim_IntList, x, aot_v_ints(t, 1, &last), keep)
                : extreme(t, x, -1, keep, ord > 0);
        if (keep) {
            x = AOT(t, aten_unsqueeze, x, -1);
            x = AOT(t, aten_permute, x, reversed(t, order));
        }
        return aot_x_give(k, x);
    }
    int64_t a = isinf(ord) ? dim[1] : dim[0], b = isinf(ord) ? dim[0] : dim[1];
    b -= !keep && a < b;
    x = AOT(t, aten_linalg_vector_norm, x, 1.0, aot_v_ints(t, 1, &a), keep, k->args[4]);
    return aot_x_give(k, extreme(t, x, b, keep, ord > 0));
}

/* linalg_norm(self, ord, dim, keepdim, dtype): of a vector or a matrix */
bool composite_linalg_norm(aot_expand *k)
{
    static const int64_t both[2] = {0, 1};
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    bool has_dim = !aot_x_is_none(k, 2), text = k->op == AOT_OP_aten_linalg_norm_ord_str;
    unsigned n = has_dim ? (aot_v_is_list(k->args[2]) ? k->args[2].n : 1) : aot_ndim(x);
    aot_value dim = has_dim ? k->args[2] : aot_v_ints(t, 2, both);
    if (aot_x_is_none(k, 1)) {
        return aot_x_give(
            k, AOT(t, aten_linalg_vector_norm, x, 2.0, k->args[2], k->args[3], k->args[4]));
    }
    if (text) {
        return aot_x_give(
            k, AOT(t, aten_linalg_matrix_norm_str_ord, x, k->args[1], dim, k->args[3], k->args[4]));
    }
    if (n == 2) {
        return aot_x_give(
            k, AOT(t, aten_linalg_matrix_norm, x, k->args[1], dim, k->args[3], k->args[4]));
    }
    return aot_x_give(
        k, AOT(t, aten_linalg_vector_norm, x, k->args[1], k->args[2], k->args[3], k->args[4]));
}

/* nuclear_norm(self, [dim,] keepdim) */
bool composite_nuclear_norm(aot_expand *k)
{
    static const int64_t both[2] = {0, 1};
    bool has_dim = k->op == AOT_OP_aten_nuclear_norm_dim;
    aot_value dim = has_dim ? k->args[1] : aot_v_ints(k->t, 2, both);
    return aot_x_give(k, AOT(k->t, aten_linalg_matrix_norm_str_ord, aot_x_tensor(k, 0),
                             aot_v_str(k->t, "nuc"), dim, k->args[has_dim ? 2 : 1]));
}

bool composite_frobenius_norm(aot_expand *k)
{
    return aot_x_give(
        k, AOT(k->t, aten_norm_ScalarOpt_dim, aot_x_tensor(k, 0), 2.0, k->args[1], k->args[2]));
}

/* linalg_cond(self, p): quotient of singular values, or product of norms */
bool composite_linalg_cond(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    bool text = k->op == AOT_OP_aten_linalg_cond_p_str;
    double p = text || aot_x_is_none(k, 1) ? 2 : aot_x_float(k, 1, 2);
    if (!text && fabs(p) == 2) {
        aot_tensor *s = AOT(t, aten_linalg_svdvals, x);
        aot_dim n = aot_size(s, -1);
        aot_tensor *large = AOT(t, aten_narrow, s, -1, 0, 1);
        aot_tensor *small = AOT(t, aten_narrow, s, -1, aot_trace_dim(t, '-', n, aot_dim_of(1)), 1);
        s = p > 0 ? AOT(t, aten_div_Tensor, large, small) : AOT(t, aten_div_Tensor, small, large);
        return aot_x_give(k, AOT(t, aten_squeeze_dim, s, -1));
    }
    if (text && aot_x_str_is(k, 1, "nuc")) {
        aot_tensor *inverse = AOT(t, aten_linalg_inv, x);
        aot_tensor *a = AOT(t, aten_linalg_matrix_norm_str_ord, x, k->args[1]);
        aot_tensor *b = AOT(t, aten_linalg_matrix_norm_str_ord, inverse, k->args[1]);
        return aot_x_give(k, AOT(t, aten_mul_Tensor, a, b));
    }
    aot_value r = AOT_V(t, aten_linalg_inv_ex, x);
    aot_tensor *info = aot_v_item(r, 1), *inverse = aot_v_item(r, 0);
    info = AOT(t, aten_unsqueeze_, info, -1);
    info = AOT(t, aten_unsqueeze_, info, -1);
    info = AOT(t, aten_gt_Scalar, info, 0);
    inverse = AOT(t, aten_masked_fill__Scalar, inverse, info, (double)INFINITY);
    aot_op_id norm = text ? AOT_OP_aten_linalg_matrix_norm_str_ord : AOT_OP_aten_linalg_matrix_norm;
    aot_value args[2] = {aot_v_tensor(x), k->args[1]};
    aot_tensor *a = aot_v_first(aot_call_op(t, norm, 2, args));
    args[0] = aot_v_tensor(inverse);
    aot_tensor *b = aot_v_first(aot_call_op(t, norm, 2, args));
    a = AOT(t, aten_mul_Tensor, a, b);
    return aot_x_give(
        k, AOT(t, aten_nan_to_num_, a, (double)INFINITY, (double)INFINITY, -(double)INFINITY));
}

/* ---- pseudo-inverses, ranks ------------------------------------------------------------------ */

static aot_tensor *tolerance(aot_tracer *t, double v, const aot_tensor *like)
{
    return AOT(t, aten_full, aot_v_list(t, 0, NULL), v, aot_v_dtype(AOT_F64),
               aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(like)));
}

static double epsilon(const aot_tensor *x)
{
    return aot_dtype_of(x) == AOT_F64 || aot_dtype_of(x) == AOT_C128 ? 0x1p-52 : 0x1p-23;
}

/* The tolerance that grows with the matrix: epsilon times its larger side. */
static double default_rtol(const aot_tensor *x)
{
    int64_t m = aot_size(x, -1).value, n = aot_size(x, -2).value;
    return epsilon(x) * (double)(m > n ? m : n);
}

/* linalg_pinv with numbers: tensors of them */
bool composite_linalg_pinv(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *atol, *rtol;
    aot_value hermitian = k->args[k->n - 1];
    if (k->op == AOT_OP_aten_linalg_pinv_atol_rtol_float) { /* atol, rtol */
        double a = aot_x_float(k, 1, 0);
        atol = tolerance(t, a, x);
        if (aot_x_is_none(k, 2)) {
            rtol = tolerance(t, a > 0 ? 0 : default_rtol(x), x);
        } else {
            rtol = tolerance(t, aot_x_float(k, 2, 0), x);
        }
    } else if (k->op == AOT_OP_aten_pinverse) {
        atol = tolerance(t, 0, x);
        rtol = tolerance(t, aot_x_float(k, 1, 0), x);
        hermitian = aot_v_bool(false);
    } else {
        atol = tolerance(t, 0, x);
        rtol = k->args[1].kind == AOT_V_TENSOR ? k->args[1].u.t
                                               : tolerance(t, aot_x_float(k, 1, 0), x);
    }
    return aot_x_give(k, AOT(t, aten_linalg_pinv_atol_rtol_tensor, x, atol, rtol, hermitian));
}

/* linalg_eigh, linalg_eigvalsh (self, UPLO) */
bool composite_linalg_eigh(aot_expand *k)
{
    aot_value r = AOT_V(k->t, aten__linalg_eigh, k->args[0], k->args[1]);
    return k->op == AOT_OP_aten_linalg_eigh ? aot_x_give_value(k, r)
                                            : aot_x_give(k, aot_v_item(r, 0));
}

static aot_tensor *no_tolerance(aot_tracer *t, const aot_tensor *like)
{
    return AOT(t, aten_zeros, aot_v_list(t, 0, NULL), aot_v_dtype(AOT_F64),
               aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(like)));
}

static aot_tensor *given(aot_tracer *t, aot_value v, const aot_tensor *like)
{
    return v.kind == AOT_V_TENSOR
               ? v.u.t
               : tolerance(t, v.kind == AOT_V_FLOAT ? v.u.f : (double)v.u.dim.value, like);
}

/* linalg_matrix_rank: how many singular values are above max(atol, rtol * the largest) */
bool composite_matrix_rank(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *atol, *rtol, *s, *most;
    bool old = k->n == 3; /* (self, tol, hermitian): tol is absolute */
    int64_t last = -1;
    if (aot_dim_is(aot_numel(t, x), 0)) { /* no largest singular value */
        aot_dims batch = {aot_sizes(x).d, aot_ndim(x) - 2};
        x = AOT(t, aten_empty_memory_format, batch, aot_v_dtype(AOT_I64),
                aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(x)));
        return aot_x_give(k, AOT(t, aten_fill__Scalar, x, 0));
    }
    if (old) {
        atol = given(t, k->args[1], x);
        rtol = tolerance(t, 0, x);
    } else {
        bool has_atol = !aot_x_is_none(k, 1);
        atol = has_atol ? given(t, k->args[1], x) : no_tolerance(t, x);
        rtol = !aot_x_is_none(k, 2) ? given(t, k->args[2], x)
                                    : tolerance(t, has_atol ? 0 : default_rtol(x), x);
    }
    if (aot_x_bool(k, k->n - 1)) {
        s = AOT(t, aten_linalg_eigvalsh, x);
        s = AOT(t, aten_abs, s);
        most = AOT(t, aten_amax, s, aot_v_ints(t, 1, &last), true);
    } else {
        s = AOT(t, aten_linalg_svdvals, x);
        most = AOT(t, aten_narrow, s, -1, 0, 1);
    }
    rtol = AOT(t, aten_unsqueeze, rtol, -1);
    rtol = AOT(t, aten_mul_Tensor, rtol, most);
    atol = AOT(t, aten_unsqueeze, atol, -1);
    atol = AOT(t, aten_maximum, atol, rtol);
    s = AOT(t, aten_gt_Tensor, s, atol);
    return aot_x_give(k, AOT(t, aten_sum_dim_IntList, s, aot_v_ints(t, 1, &last)));
}

/* ---- powers ---------------------------------------------------------------------------------- */

bool composite_matrix_power(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *z = NULL, *result = NULL;
    int64_t n = aot_x_int(k, 1, 1);
    if (n == 0) {
        aot_tensor *copy = AOT(t, aten_clone, x, aot_v_memory_format(t, AOT_MF_CONTIGUOUS));
        aot_tensor *one = AOT(t, aten_eye, aot_size(x, -2), aot_v_dtype(aot_dtype_of(x)),
                              aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(x)));
        return aot_x_give(k, AOT(t, aten_copy_, copy, one));
    }
    if (n == 1) {
        return aot_x_give(k, AOT(t, aten_clone, x, aot_v_memory_format(t, AOT_MF_CONTIGUOUS)));
    }
    x = n < 0 ? AOT(t, aten_linalg_inv, x) : x;
    if (n == INT64_MIN) {
        aot_trace_fail(t, AOT_E_SHAPE, "matrix_power: the exponent %lld is too small",
                       (long long)n);
    }
    n = n < 0 ? -n : n;
    if (n == 1) {
        return aot_x_give(k, x);
    }
    if (n == 2 || n == 3) {
        z = AOT(t, aten_matmul, x, x);
        return aot_x_give(k, n == 2 ? z : AOT(t, aten_matmul, z, x));
    }
    for (; n > 0; n /= 2) { /* by squares */
        z = z != NULL ? AOT(t, aten_matmul, z, z) : x;
        if (n % 2 == 1) {
            result = result != NULL ? AOT(t, aten_matmul, result, z) : z;
        }
    }
    return aot_x_give(k, result);
}

/* ---- tensors as matrices --------------------------------------------------------------------- */

static aot_dim product(aot_tracer *t, const aot_tensor *x, unsigned from, unsigned to)
{
    aot_dim p = aot_dim_of(1);
    for (unsigned i = from; i < to; i++) {
        p = aot_trace_dim(t, '*', p, aot_size(x, i));
    }
    return p;
}

bool composite_tensorinv(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    unsigned ind = (unsigned)aot_x_int(k, 1, 2), n = aot_ndim(x);
    if (ind == 0 || ind > n) {
        aot_trace_fail(t, AOT_E_SHAPE, "%u dimensions of a tensor of %u", ind, n);
    }
    aot_dim square[2] = {product(t, x, 0, ind), product(t, x, ind, n)}, out[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        out[i] = aot_size(x, (i + ind) % n);
    }
    x = AOT(t, aten_reshape, x, ((aot_dims){square, 2}));
    x = AOT(t, aten_linalg_inv, x);
    return aot_x_give(k, AOT(t, aten_reshape, x, ((aot_dims){out, n})));
}

/* linalg_tensorsolve(self, other, dims) */
bool composite_tensorsolve(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1);
    if (!aot_x_is_none(k, 2)) {
        int64_t to[AOT_FAKE_MAX_NDIM];
        aot_dims d = aot_x_dims(k, 2);
        if (d.n > aot_ndim(x)) {
            aot_trace_fail(t, AOT_E_SHAPE, "%u dimensions of a tensor of %u", d.n, aot_ndim(x));
        }
        for (unsigned i = 0; i < d.n; i++) {
            to[i] = (int64_t)(aot_ndim(x) - d.n + i);
        }
        x = AOT(t, aten_movedim_intlist, x, d, aot_v_ints(t, d.n, to));
    }
    unsigned n = aot_ndim(x), m = aot_ndim(y);
    if (m > n) {
        aot_trace_fail(t, AOT_E_SHAPE, "a system of %u dimensions for a side of %u", n, m);
    }
    aot_dims out = {aot_sizes(x).d + m, n - m};
    aot_dim n_out = product(t, x, m, n), square[2] = {n_out, n_out};
    x = AOT(t, aten_reshape, x, ((aot_dims){square, 2}));
    y = AOT(t, aten_flatten_using_ints, y);
    x = AOT(t, aten_linalg_solve, x, y);
    return aot_x_give(k, AOT(t, aten_reshape, x, out));
}

/* ---- others ---------------------------------------------------------------------------------- */

bool composite_matrix_exp(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_linalg_matrix_exp, aot_x_tensor(k, 0)));
}

/* lu_solve(self, LU, pivots) */
bool composite_lu_solve(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_linalg_lu_solve, k->args[1], k->args[2], k->args[0]));
}

bool composite_lu_with_info(aot_expand *k)
{
    return aot_x_give_value(
        k, AOT_V(k->t, aten_linalg_lu_factor_ex, aot_x_tensor(k, 0), k->args[1], false));
}

/* linalg_vander(x, N): powers of x as columns */
bool composite_linalg_vander(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *both[2];
    x = aot_ndim(x) == 0 ? AOT(t, aten_unsqueeze, x, -1) : x;
    unsigned n = aot_ndim(x);
    aot_dim size[AOT_FAKE_MAX_NDIM + 1],
        columns = aot_x_is_none(k, 1) ? aot_size(x, -1) : aot_x_dim(k, 1, 0);
    memcpy(size, aot_sizes(x).d, n * sizeof *size);
    size[n] = aot_trace_dim(t, '-', columns, aot_dim_of(1));
    x = AOT(t, aten_unsqueeze, x, -1);
    x = AOT(t, aten_expand, x, ((aot_dims){size, n + 1}));
    both[1] = AOT(t, aten_cumprod, x, -1);
    size[n] = aot_dim_of(1);
    both[0] = AOT(t, aten_new_ones, both[1], ((aot_dims){size, n + 1}));
    return aot_x_give(k, AOT(t, aten_cat, aot_v_tensors(t, 2, both), -1));
}
