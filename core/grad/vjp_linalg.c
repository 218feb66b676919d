/* Gradients of factorizations and solvers: Cholesky, inverse, determinants, systems,
 * exponential. */
#include "grad/call.h"
#include "grad/linalg.h"

/* ---- Cholesky -------------------------------------------------------------------------------- */

static aot_tensor *cholesky_grad(aot_tracer *t, aot_tensor *grad, bool upper, aot_tensor *l)
{
    aot_tensor *phi, *x;

    if (upper) {
        l = aot_grad_mh(t, l);
        grad = aot_grad_mh(t, grad);
    }
    phi = AOT(t, aten_tril, aot_grad_mm(t, aot_grad_mh(t, l), grad));
    x = aot_grad_mh(t, AOT(t, aten_tril, phi, -1));
    x = AOT(t, aten_mul_Scalar, AOT(t, aten_add_Tensor, phi, x), 0.5);
    x = aot_grad_solve(t, aot_grad_mh(t, l), x, true, true, false);
    return aot_grad_solve(t, l, x, false, false, false);
}

/* cholesky(self, upper), linalg_cholesky_ex(self, upper, check_errors) */
void vjp_cholesky(aot_vjp *b)
{
    aot_vjp_set(b, 0, cholesky_grad(aot_vjp_tracer(b), aot_vjp_grad(b, 0), aot_vjp_bool(b, 1),
                                    aot_vjp_out(b, 0)));
}

void vjp_cholesky_inverse(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *l = aot_vjp_in(b, 0), *inverse = aot_vjp_out(b, 0), *x;

    x = AOT(t, aten_add_Tensor, grad, aot_grad_mh(t, grad));
    x = aot_grad_mm(t, inverse, aot_grad_mm(t, x, inverse));
    x = aot_vjp_bool(b, 1) ? aot_grad_mm(t, l, x) : aot_grad_mm(t, x, l);
    aot_vjp_set(b, 0, AOT(t, aten_neg, x));
}

/* cholesky_solve(self, input2, upper) */
void vjp_cholesky_solve(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *l = aot_vjp_in(b, 1), *g, *x;

    g = AOT(t, aten_cholesky_solve, aot_vjp_grad(b, 0), l, aot_vjp_arg(b, 2));
    aot_vjp_set(b, 0, aot_vjp_needs(b, 0) ? g : NULL);
    if (aot_vjp_needs(b, 1)) {
        x = aot_grad_mm(t, g, aot_grad_mh(t, aot_vjp_out(b, 0)));
        x = AOT(t, aten_add_Tensor, x, aot_grad_mh(t, x));
        x = aot_vjp_bool(b, 2) ? aot_grad_mm(t, l, x) : aot_grad_mm(t, x, l);
        aot_vjp_set(b, 1, AOT(t, aten_neg, x));
    }
}

/* ---- products -------------------------------------------------------------------------------- */

/* linalg_cross(self, other, dim) */
void vjp_linalg_cross(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *x;

    if (aot_vjp_needs(b, 1)) {
        x = aot_grad_conj(t, aot_vjp_in(b, 0));
        aot_vjp_set(b, 1, AOT(t, aten_linalg_cross, grad, x, aot_vjp_arg(b, 2)));
    }
    if (aot_vjp_needs(b, 0)) {
        x = aot_grad_conj(t, aot_vjp_in(b, 1));
        aot_vjp_set(b, 0, AOT(t, aten_linalg_cross, x, grad, aot_vjp_arg(b, 2)));
    }
}

void vjp_linalg_inv_ex(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *inverse = aot_vjp_out(b, 0), *x;

    x = aot_grad_mm(t, aot_vjp_grad(b, 0), aot_grad_mh(t, inverse));
    x = aot_grad_mm(t, aot_grad_mh(t, inverse), x);
    aot_vjp_set(b, 0, AOT(t, aten_neg, x));
}

/* The exponential of [[A^H, grad], [0, A^H]] has the gradient in its corner. */
void vjp_linalg_matrix_exp(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *a = aot_grad_mh(t, aot_vjp_in(b, 0)), *row[2], *whole, *pair[2];
    aot_dim n = aot_size(a, -1);

    pair[0] = a;
    pair[1] = aot_vjp_grad(b, 0);
    row[0] = AOT(t, aten_cat, aot_v_tensors(t, 2, pair), -1);
    pair[0] = AOT(t, aten_zeros_like, a);
    pair[1] = a;
    row[1] = AOT(t, aten_cat, aot_v_tensors(t, 2, pair), -1);
    whole = AOT(t, aten_cat, aot_v_tensors(t, 2, row), -2);
    whole = AOT(t, aten_linalg_matrix_exp, whole);
    whole = aot_grad_narrow(t, whole, -2, aot_dim_of(0), n);
    aot_vjp_set(b, 0, aot_grad_narrow(t, whole, -1, n, n));
}

/* ---- determinants ---------------------------------------------------------------------------- */

static void no_double(aot_tracer *t, const char *name)
{
    if (aot_grad_enabled(t)) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "%s: its gradient's gradient has no rule yet", name);
    }
}

/* LU is of the transposed matrix if that one is contiguous and real. */
static bool is_transposed(const aot_tensor *a)
{
    return aot_is_contiguous(a) && !aot_is_complex(a);
}

/* x on the diagonal of a matrix as wide as `pivots` is long, transposed. */
static aot_tensor *diagonal_of(aot_tracer *t, aot_tensor *x, const aot_tensor *pivots)
{
    x = AOT(t, aten_expand, AOT(t, aten_unsqueeze, x, -1), aot_sizes(pivots));
    return AOT(t, aten_transpose_int, AOT(t, aten_diag_embed, x), -2, -1);
}

static double epsilon(const aot_tensor *x)
{
    aot_dtype d = aot_dtype_of(x);

    return d == AOT_F64 || d == AOT_C128 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
}

/* A zero on the diagonal of U is moved a little, so that singular matrices have a gradient. */
static aot_tensor *regular(aot_tracer *t, aot_tensor *lu)
{
    aot_tensor *zero = AOT(t, aten_eq_Scalar, aot_grad_diagonal(t, lu), 0.0), *no, *eps;
    aot_value f32 = aot_v_dtype(AOT_F32), strided = aot_v_name(t, "torch.strided");
    aot_value device = aot_v_device(aot_device_of(lu));

    no = AOT(t, aten_scalar_tensor, 0.0, f32, strided, device);
    eps = AOT(t, aten_scalar_tensor, epsilon(lu), f32, strided, device);
    eps = AOT(t, aten_diag_embed, AOT(t, aten_where_self, zero, eps, no));
    return AOT(t, aten_add_Tensor, lu, eps);
}

void vjp_linalg_det(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *a = aot_vjp_in(b, 0), *lu = aot_vjp_out(b, 1), *pivots = aot_vjp_out(b, 2), *d;

    if (aot_dim_is(aot_numel(t, a), 0)) {
        return;
    }
    no_double(t, "det");
    d = AOT(t, aten_mul_Tensor, aot_vjp_grad(b, 0), aot_grad_conj(t, aot_vjp_out(b, 0)));
    d = diagonal_of(t, d, pivots);
    lu = regular(t, lu);
    aot_vjp_set(b, 0, AOT(t, aten_linalg_lu_solve, lu, pivots, d, true, !is_transposed(a)));
}

/* The gradient of log det: that of log|det|, less i times what turns the sign. */
static aot_tensor *log_det_grad(aot_tracer *t, aot_tensor *of_sign, aot_tensor *of_log,
                                aot_tensor *sign)
{
    /* -1j is written (-0-1j) */
    aot_value i = {.kind = AOT_V_COMPLEX, .u.z = {of_log ? 0.0 : -0.0, of_log ? 1 : -1}};
    aot_tensor *x;

    if (of_sign == NULL) {
        return AOT(t, aten_to_dtype, of_log, aot_v_dtype(aot_dtype_of(sign)));
    }
    x = AOT(t, aten_mul_Tensor, aot_grad_conj(t, of_sign), sign);
    x = AOT(t, aten_mul_Scalar, AOT(t, aten_imag, x), i);
    return of_log != NULL ? aot_grad_sub(t, of_log, x) : x;
}

/* _linalg_slogdet(A) -> (sign, logabsdet, LU, pivots); a real sign is constant. */
void vjp_linalg_slogdet(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *a = aot_vjp_in(b, 0), *lu = aot_vjp_out(b, 2), *pivots = aot_vjp_out(b, 3), *d;

    no_double(t, "slogdet");
    d = aot_vjp_grad(b, 1);
    if (aot_is_complex(a) && (d != NULL || aot_vjp_grad(b, 0) != NULL)) {
        d = log_det_grad(t, aot_vjp_grad(b, 0), d, aot_vjp_out(b, 0));
    }
    if (d == NULL) {
        return;
    }
    d = diagonal_of(t, d, pivots);
    aot_vjp_set(b, 0, AOT(t, aten_linalg_lu_solve, lu, pivots, d, true, !is_transposed(a)));
}

/* ---- systems --------------------------------------------------------------------------------- */

/* Whether b is a vector, or a batch of them, and not a matrix. */
static bool is_vector(const aot_tensor *a, const aot_tensor *b)
{
    bool batch = aot_ndim(b) + 1 == aot_ndim(a);

    for (unsigned i = 0; batch && i < aot_ndim(b); i++) {
        batch = aot_dim_eq(aot_size(a, i), aot_size(b, i));
    }
    return aot_ndim(b) == 1 || batch;
}

static aot_tensor *column(aot_tracer *t, aot_tensor *x, bool vector)
{
    return vector ? AOT(t, aten_unsqueeze, x, -1) : x;
}

/* _linalg_solve_ex(A, B, left, check_errors) -> (result, LU, pivots, info) */
void vjp_linalg_solve_ex(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *a = aot_vjp_in(b, 0), *x = aot_vjp_out(b, 0), *g, *ga;
    bool vector = is_vector(a, aot_vjp_in(b, 1)), left = aot_vjp_bool(b, 2);

    g = column(t, aot_vjp_grad(b, 0), vector);
    g = aot_grad_enabled(t)
            ? AOT(t, aten_linalg_solve, aot_grad_mh(t, a), g, left)
            : AOT(t, aten_linalg_lu_solve, aot_vjp_out(b, 1), aot_vjp_out(b, 2), g, left, true);
    if (aot_vjp_needs(b, 0)) {
        x = aot_grad_mh(t, column(t, x, vector));
        ga = left ? aot_grad_mm(t, g, x) : aot_grad_mm(t, x, g);
        aot_vjp_set(b, 0, AOT(t, aten_neg, ga));
    }
    if (aot_vjp_needs(b, 1)) {
        aot_vjp_set(b, 1, vector ? AOT(t, aten_squeeze_dim, g, -1) : g);
    }
}

/* What of a triangular matrix's gradient counts. */
static aot_tensor *triangle(aot_tracer *t, aot_tensor *x, bool upper, bool unitriangular)
{
    return upper ? AOT(t, aten_triu, x, (int)unitriangular)
                 : AOT(t, aten_tril, x, -(int)unitriangular);
}

/* linalg_solve_triangular(self, B, upper, left, unitriangular) */
void vjp_linalg_solve_triangular(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    bool upper = aot_vjp_bool(b, 2), left = aot_vjp_bool(b, 3), unit = aot_vjp_bool(b, 4);
    aot_tensor *g, *x;

    g = aot_grad_solve(t, aot_grad_mh(t, aot_vjp_in(b, 0)), aot_vjp_grad(b, 0), !upper, left, unit);
    if (aot_vjp_needs(b, 0)) {
        x = aot_grad_mh(t, aot_vjp_out(b, 0));
        x = AOT(t, aten_neg, left ? aot_grad_mm(t, g, x) : aot_grad_mm(t, x, g));
        aot_vjp_set(b, 0, triangle(t, x, upper, unit));
    }
    aot_vjp_set(b, 1, aot_vjp_needs(b, 1) ? g : NULL);
}

/* triangular_solve(self, A, upper, transpose, unitriangular) -> (solution, cloned_coefficient) */
void vjp_triangular_solve(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    bool upper = aot_vjp_bool(b, 2), transpose = aot_vjp_bool(b, 3), unit = aot_vjp_bool(b, 4);
    aot_tensor *grad = aot_vjp_grad(b, 0), *a = aot_vjp_in(b, 1), *x = aot_vjp_out(b, 0);
    aot_tensor *gb = NULL, *ga = NULL;

    if (grad != NULL) {
        gb = AOT(t, aten_triangular_solve, grad, aot_grad_conj(t, a), upper, !transpose, unit);
        if (aot_vjp_needs(b, 1)) {
            ga = transpose ? aot_grad_mm(t, aot_grad_conj(t, x),
                                         AOT(t, aten_transpose_int, gb, -2, -1))
                           : aot_grad_mm(t, gb, aot_grad_mh(t, x));
            ga = triangle(t, AOT(t, aten_neg, ga), upper, unit);
        }
    }
    if (aot_vjp_needs(b, 1)) {
        aot_vjp_set(b, 1, aot_grad_plus(t, ga, aot_vjp_grad(b, 1)));
    }
    aot_vjp_set(b, 0, aot_vjp_needs(b, 0) ? gb : NULL);
}

/* ---- least squares --------------------------------------------------------------------------- */

aot_tensor *aot_grad_pinv(aot_tracer *t, aot_tensor *grad, aot_tensor *pinv, aot_tensor *a)
{
    aot_tensor *ph = aot_grad_mh(t, pinv), *gh = aot_grad_mh(t, grad), *k, *kp, *x, *y, *z;

    if (aot_size(a, -2).value <= aot_size(a, -1).value) {
        k = aot_grad_mm(t, gh, pinv);
        kp = aot_grad_mm(t, k, ph);
        x = aot_grad_mm(t, ph, pinv);
        x = aot_grad_mm(t, x, aot_grad_sub(t, gh, aot_grad_mm(t, k, a)));
        y = aot_grad_mm(t, aot_grad_mm(t, a, pinv), kp);
        z = AOT(t, aten_neg, aot_grad_mh(t, aot_grad_mm(t, pinv, k)));
        z = aot_grad_sub(t, AOT(t, aten_add_Tensor, z, kp), y);
        return AOT(t, aten_add_Tensor, z, x);
    }
    k = aot_grad_mm(t, pinv, gh);
    kp = aot_grad_mm(t, ph, k);
    x = aot_grad_mm(t, aot_grad_mm(t, kp, pinv), a);
    y = aot_grad_sub(t, gh, aot_grad_mm(t, a, k));
    y = aot_grad_mm(t, aot_grad_mm(t, y, pinv), ph);
    z = AOT(t, aten_neg, aot_grad_mh(t, aot_grad_mm(t, k, pinv)));
    z = AOT(t, aten_add_Tensor, AOT(t, aten_add_Tensor, z, y), kp);
    return aot_grad_sub(t, z, x);
}

void vjp_linalg_pinv(aot_vjp *b)
{
    aot_vjp_set(b, 0, aot_grad_pinv(aot_vjp_tracer(b), aot_vjp_grad(b, 0), aot_vjp_out(b, 0),
                                    aot_vjp_in(b, 0)));
}

/* Of the solution: through the pseudo-inverse. */
static void of_solution(aot_vjp *b, aot_tensor *grad, aot_tensor *rhs, aot_tensor **ga,
                        aot_tensor **gb)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *a = aot_vjp_in(b, 0), *pinv = AOT(t, aten_linalg_pinv_atol_rtol_tensor, a), *x;

    if (aot_vjp_needs(b, 0)) {
        x = aot_grad_mm(t, grad, aot_grad_mh(t, rhs));
        *ga = aot_grad_pinv(t, x, pinv, a);
    }
    if (aot_vjp_needs(b, 1)) {
        *gb = aot_grad_mm(t, aot_grad_mh(t, pinv), grad);
    }
}

/* Of the residuals |A X - B|^2. */
static void of_residuals(aot_vjp *b, aot_tensor *grad, aot_tensor *x, aot_tensor *rhs,
                         aot_tensor **ga, aot_tensor **gb)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *r = aot_grad_sub(t, aot_grad_mm(t, aot_vjp_in(b, 0), x), rhs), *g;

    grad = AOT(t, aten_unsqueeze, grad, -2);
    if (aot_vjp_needs(b, 0)) {
        g = AOT(t, aten_mul_Tensor, grad, r);
        g = AOT(t, aten_mul_Scalar, aot_grad_mm(t, g, aot_grad_mh(t, x)), 2);
        *ga = aot_grad_plus(t, *ga, g);
    }
    if (aot_vjp_needs(b, 1)) {
        g = AOT(t, aten_mul_Tensor, AOT(t, aten_mul_Scalar, grad, -2), r);
        *gb = aot_grad_plus(t, *gb, g);
    }
}

/* linalg_lstsq(self, b, rcond, driver) -> (solution, residuals, rank, singular_values) */
void vjp_linalg_lstsq(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *rhs = aot_vjp_in(b, 1), *grad = aot_vjp_grad(b, 0), *residuals = aot_vjp_grad(b, 1);
    aot_tensor *ga = NULL, *gb = NULL;
    bool vector = is_vector(aot_vjp_in(b, 0), rhs);

    rhs = column(t, rhs, vector);
    if (grad != NULL) {
        of_solution(b, column(t, grad, vector), rhs, &ga, &gb);
    }
    if (residuals != NULL) {
        of_residuals(b, residuals, column(t, aot_vjp_out(b, 0), vector), rhs, &ga, &gb);
    }
    if (gb != NULL && vector) {
        gb = AOT(t, aten_squeeze_dim, gb, -1);
    }
    aot_vjp_set(b, 0, ga);
    aot_vjp_set(b, 1, gb);
}
