/* Linear algebra by LAPACK: orthogonal factors, eigenvalues, singular values, and what rests on
 * them.
 *
 * Mirrors: aten/src/ATen/native/BatchLinearAlgebra.cpp, LinearAlgebra.cpp (matrix_exp, pinv). */
#include <math.h>
#include <string.h>

#include "exec/gemm.h"
#include "exec/lapack.h"
#include "exec/mats.h"

enum { WORK = 64 }; /* columns of work space for blocked routines */

static void *work_for(aot_kern *k, int64_t n)
{
    return k_mem(k, (size_t)(n < 1 ? 1 : n) * sizeof(aot_complex));
}

/* ---- QR -------------------------------------------------------------------------------------- */

/* Householder vectors below R, and their factors tau. */
static mats factored(aot_kern *k, aot_array *a, aot_array **tau)
{
    mats v = mats_of(k, a);
    aot_int least = v.m < v.n ? v.m : v.n, lwork = WORK * (v.n + 1), info;
    void *work = work_for(k, lwork);
    *tau = mats_list(k, a, v.z ? AOT_C128 : AOT_F64, 1, least);
    for (int64_t i = 0; i < v.count && least > 0; i++) {
        char *t = aot_array_data(*tau) + i * least * aot_array_item_bytes(*tau);
        if (v.z) {
            zgeqrf_(&v.m, &v.n, mats_at(&v, i), &v.ld, (aot_complex *)(void *)t, work, &lwork,
                    &info);
        } else {
            dgeqrf_(&v.m, &v.n, mats_at(&v, i), &v.ld, (double *)(void *)t, work, &lwork, &info);
        }
    }
    return v;
}

/* The first columns of Q from Householder vectors; v is overwritten. */
static void make_q(aot_kern *k, mats *v, const aot_array *tau, int n_tau)
{
    aot_int lwork = WORK * (v->n + 1), info;
    void *work = work_for(k, lwork);
    for (int64_t i = 0; i < v->count && v->m > 0 && v->n > 0; i++) {
        char *t = aot_array_data(tau) + i * n_tau * aot_array_item_bytes(tau);
        if (v->z) {
            zungqr_(&v->m, &v->n, &n_tau, mats_at(v, i), &v->ld, (aot_complex *)(void *)t, work,
                    &lwork, &info);
        } else {
            dorgqr_(&v->m, &v->n, &n_tau, mats_at(v, i), &v->ld, (double *)(void *)t, work, &lwork,
                    &info);
        }
    }
}

static aot_array *columns_of(aot_kern *k, aot_array *x, int64_t rows, int64_t columns)
{
    int64_t size[AOT_ARRAY_MAX_NDIM];
    memcpy(size, x->size, sizeof size);
    size[x->ndim - 2] = rows;
    size[x->ndim - 1] = columns;
    return k_view(k, x, x->ndim, size, x->stride, x->offset);
}

void kern_qr(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *tau;
    aot_dtype d = (aot_dtype)a->dtype;
    mats v = factored(k, a, &tau);
    int least = v.m < v.n ? v.m : v.n;
    bool complete = k_str_is(k, 1, "complete"), r_only = k_str_is(k, 1, "r");
    int wide = complete ? v.m : least;
    aot_array *r = K1(k, aten_triu, columns_of(k, v.x, least, v.n)), *full = r;
    if (complete) {
        full = mats_new(k, a, v.z, v.m, v.n).x;
        aot_array_assign(columns_of(k, full, least, v.n), r);
    }
    if (r_only) {
        int64_t none = 0;
        k_give(k, k_new(k, d, 1, &none));
    } else {
        mats q = mats_new(k, a, v.z, v.m, wide);
        aot_array_assign(columns_of(k, q.x, v.m, least), columns_of(k, v.x, v.m, least));
        make_q(k, &q, tau, least);
        k_give_as(k, 0, q.x, d);
    }
    k_give_as(k, 1, full, d);
}

void kern_geqrf(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *tau;
    mats v = factored(k, a, &tau);
    k_give_as(k, 0, v.x, (aot_dtype)a->dtype);
    k_give_as(k, 1, tau, (aot_dtype)a->dtype);
}

/* One factor a column at most, for each matrix of the batch. */
static void check_reflectors(aot_kern *k, const aot_array *a, const mats *v, const aot_array *tau)
{
    bool fits = tau->ndim + 1 == a->ndim &&
                memcmp(tau->size, a->size, (a->ndim - 2u) * sizeof *tau->size) == 0 &&
                tau->size[tau->ndim - 1] <= v->n && v->n <= v->m;
    if (!fits) {
        k_fail(k, AOT_E_SHAPE, "factors of reflectors do not fit their vectors");
    }
}

void kern_householder_product(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *tau = k_need(k, 1);
    mats v = mats_of(k, a);
    check_reflectors(k, a, &v, tau);
    make_q(k, &v, k_cast_contiguous(k, tau, v.z ? AOT_C128 : AOT_F64),
           (int)tau->size[tau->ndim - 1]);
    k_give_as(k, 0, v.x, (aot_dtype)a->dtype);
}

void kern_ormqr(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *tau = k_need(k, 1), *other = k_need(k, 2);
    mats v = mats_of(k, a), c = mats_of(k, other);
    check_reflectors(k, a, &v, tau);
    if (v.count != c.count || v.m != (k_bool(k, 3) ? c.m : c.n)) {
        k_fail(k, AOT_E_SHAPE, "vectors of reflectors do not fit what they are multiplied with");
    }
    char side = k_bool(k, 3) ? 'L' : 'R', trans = k_bool(k, 4) ? 'T' : 'N';
    aot_int n_tau = (aot_int)tau->size[tau->ndim - 1], lwork = WORK * (c.m + c.n + 1) + WORK * WORK,
            info;
    double *work = work_for(k, lwork);
    if (v.z) {
        k_fail(k, AOT_E_UNSUPPORTED, "not run for complex numbers");
    }
    tau = k_cast_contiguous(k, tau, AOT_F64);
    for (int64_t i = 0; i < c.count; i++) {
        dormqr_(&side, &trans, &c.m, &c.n, &n_tau, mats_at(&v, i), &v.ld,
                (double *)(void *)aot_array_data(tau) + i * n_tau, mats_at(&c, i), &c.ld, work,
                &lwork, &info);
    }
    k_give_as(k, 0, c.x, (aot_dtype)other->dtype);
}

/* ---- singular values ------------------------------------------------------------------------- */

typedef struct svd {
    mats u, vh;
    aot_array *s; /* f64 */
} svd;

/* What LAPACK does not come back from: NaN and infinities; and what its lengths of work cannot be.
 * triangle 'L' or 'U': only that part is read; 'A': all. */
static void check_finite(aot_kern *k, const mats *v, char triangle)
{
    enum { MOST = 16000 }; // 8 n n is a C int
    if (v->m > MOST || v->n > MOST) {
        k_fail(k, AOT_E_RANGE, "a matrix of %d by %d is too large for it", v->m, v->n);
    }
    for (int64_t i = 0; i < v->count * v->n; i++) {
        int column = (int)(i % v->n), parts = v->z ? 2 : 1;
        int from = triangle == 'L' ? column : 0, to = triangle == 'U' ? column + 1 : v->m;
        const double *x = (const double *)(const void *)v->p + i * v->m * parts;
        for (int r = from * parts; r < to * parts; r++) {
            if (!isfinite(x[r])) {
                k_fail(k, AOT_E_RANGE, "it does not converge: the matrix has NaN or infinities");
            }
        }
    }
}

/* Square, too. */
static void check_square_finite(aot_kern *k, const mats *v, char triangle)
{
    if (v->m != v->n) {
        k_fail(k, AOT_E_SHAPE, "a matrix of %d by %d is not square", v->m, v->n);
    }
    check_finite(k, v, triangle);
}

static svd decomposed(aot_kern *k, aot_array *a, bool full, bool vectors)
{
    mats v = mats_of(k, a);
    check_finite(k, &v, 'A');
    aot_int least = v.m < v.n ? v.m : v.n, most = v.m < v.n ? v.n : v.m, info;
    svd r = {mats_new(k, a, v.z, v.m, full ? v.m : least),
             mats_new(k, a, v.z, full ? v.n : least, v.n), mats_list(k, a, AOT_F64, 1, least)};
    aot_int lwork = 8 * (most + 1) * (most + 1) + 64 * most + 64;
    void *work = work_for(k, lwork);
    double *rwork = k_mem(k, (size_t)(8 * (most + 2) * (most + 2)) * sizeof(double));
    aot_int *iwork = k_mem(k, (size_t)(8 * (most + 1)) * sizeof *iwork);
    char job = !vectors ? 'N' : full ? 'A' : 'S';
    for (int64_t i = 0; i < v.count && least > 0; i++) {
        double *s = (double *)(void *)aot_array_data(r.s) + i * least;
        if (v.z) {
            zgesdd_(&job, &v.m, &v.n, mats_at(&v, i), &v.ld, s, mats_at(&r.u, i), &r.u.ld,
                    mats_at(&r.vh, i), &r.vh.ld, work, &lwork, rwork, iwork, &info);
        } else {
            dgesdd_(&job, &v.m, &v.n, mats_at(&v, i), &v.ld, s, mats_at(&r.u, i), &r.u.ld,
                    mats_at(&r.vh, i), &r.vh.ld, work, &lwork, iwork, &info);
        }
    }
    return r;
}

void kern_svd(aot_kern *k)
{
    aot_array *a = k_need(k, 0);
    aot_dtype d = (aot_dtype)a->dtype;
    bool vectors = k_bool(k, 2);
    svd r = decomposed(k, a, k_bool(k, 1), vectors);
    int64_t none = 0;
    aot_array *empty = k_new(k, d, 1, &none);
    if (vectors) {
        k_give_as(k, 0, r.u.x, d);
    } else {
        k_give(k, empty);
    }
    k_give_as(k, 1, r.s, k_real_of(d));
    if (vectors) {
        k_give_as(k, 2, r.vh.x, d);
    } else {
        k_give(k, empty);
    }
}

static aot_array *adjoint(aot_kern *k, aot_array *x)
{
    x = k_call(k, AOT_OP_aten_transpose_int, 3,
               (const aot_xval[]){aot_xv_array(x), aot_xv_int(-2), aot_xv_int(-1)});
    return aot_array_kind(x) == 'c' ? K1(k, aten__conj_physical, x) : x;
}

static aot_array *matmul(aot_kern *k, aot_array *a, aot_array *b)
{
    int64_t fa[3] = {-1, a->size[a->ndim - 2], a->size[a->ndim - 1]},
            fb[3] = {-1, b->size[b->ndim - 2], b->size[b->ndim - 1]};
    int64_t size[AOT_ARRAY_MAX_NDIM];
    memcpy(size, a->size, sizeof size);
    size[a->ndim - 1] = fb[2];
    fa[0] = fb[0] = 1;
    for (unsigned i = 0; i + 2 < a->ndim; i++) {
        fa[0] = fb[0] *= a->size[i];
    }
    aot_array *y = K2(k, aten_bmm, k_reshape(k, a, 3, fa), k_reshape(k, b, 3, fb));
    return k_reshape(k, y, a->ndim, size);
}

/* Singular values up to a threshold count as 0. */
void kern_pinv(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *atol = k_in(k, 1), *rtol = k_in(k, 2);
    if (k_bool(k, 3)) { // hermitian: the lower triangle says all
        a = K2(k, aten_add_Tensor, K1(k, aten_tril, a), adjoint(k, K2(k, aten_tril, a, -1)));
    }
    svd r = decomposed(k, a, false, true);
    int64_t m = a->size[a->ndim - 2], n = a->size[a->ndim - 1], least = m < n ? m : n;
    double eps = k_real_of((aot_dtype)a->dtype) == AOT_F64 ? 0x1p-52 : 0x1p-23;
    int64_t per = aot_array_numel(r.s) / (least > 0 ? least : 1);
    for (int64_t i = 0; i < per; i++) {
        double *s = (double *)(void *)aot_array_data(r.s) + i * least;
        double absolute =
            atol == NULL ? 0 : aot_get_real((aot_dtype)atol->dtype, aot_array_data(atol));
        double relative = rtol != NULL  ? aot_get_real((aot_dtype)rtol->dtype, aot_array_data(rtol))
                          : absolute > 0 ? 0
                                         : eps * (double)(m > n ? m : n);
        double limit = fmax(absolute, least > 0 ? relative * s[0] : 0);
        for (int64_t j = 0; j < least; j++) {
            s[j] = s[j] > limit ? 1 / s[j] : 0;
        }
    }
    aot_array *scaled = K2(k, aten_mul_Tensor, adjoint(k, r.vh.x), K2(k, aten_unsqueeze, r.s, -2));
    k_give_as(k, 0, matmul(k, scaled, adjoint(k, r.u.x)), (aot_dtype)a->dtype);
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

void kern_eigh(aot_kern *k)
{
    aot_array *a = k_need(k, 0);
    aot_dtype d = (aot_dtype)a->dtype;
    mats v = mats_of(k, a);
    bool vectors = k_bool(k, 2);
    char job = vectors ? 'V' : 'N', uplo = k_str_is(k, 1, "U") || k_str_is(k, 1, "u") ? 'U' : 'L';
    check_square_finite(k, &v, uplo);
    aot_int n = v.n, lwork = 8 * n * n + 64 * n + 64, lrwork = 3 * n * n + 8 * n + 8,
            liwork = 8 * n + 8, info;
    void *work = work_for(k, lwork);
    double *rwork = k_mem(k, (size_t)lrwork * sizeof *rwork);
    aot_int *iwork = k_mem(k, (size_t)liwork * sizeof *iwork);
    aot_array *values = mats_list(k, a, AOT_F64, 1, n);
    for (int64_t i = 0; i < v.count && n > 0; i++) {
        double *w = (double *)(void *)aot_array_data(values) + i * n;
        if (v.z) {
            zheevd_(&job, &uplo, &n, mats_at(&v, i), &v.ld, w, work, &lwork, rwork, &lrwork, iwork,
                    &liwork, &info);
        } else {
            dsyevd_(&job, &uplo, &n, mats_at(&v, i), &v.ld, w, work, &lwork, iwork, &liwork, &info);
        }
    }
    k_give_as(k, 0, values, k_real_of(d));
    if (vectors) {
        k_give_as(k, 1, v.x, d);
    } else {
        int64_t none = 0;
        k_give(k, k_new(k, d, 1, &none));
    }
}

/* Pairs of conjugate eigenvalues of a real matrix share two real columns: re + i im, re - i im. */
static void unfold_vectors(const double *wi, const double *vr, int n, aot_complex *out)
{
    for (int j = 0; j < n; j++) {
        bool first = wi[j] > 0 && j + 1 < n, second = wi[j] < 0 && j > 0;
        const double *re = vr + (int64_t)(second ? j - 1 : j) * n, *im = re + n;
        for (int i = 0; i < n; i++) {
            out[(int64_t)j * n + i] = first    ? CMPLX(re[i], im[i])
                                      : second ? CMPLX(re[i], -im[i])
                                               : CMPLX(re[i], 0);
        }
    }
}

static void eigen_pairs(aot_kern *k, aot_array *a, aot_array **values, mats *vectors)
{
    mats v = mats_of(k, a);
    check_square_finite(k, &v, 'A');
    aot_int n = v.n, lwork = 64 * (n + 1), info, one = n > 0 ? n : 1;
    void *work = work_for(k, lwork), *wr = work_for(k, n + 1), *wi = work_for(k, n + 1),
         *vr = work_for(k, (int64_t)n * n + 1);
    *values = mats_list(k, a, AOT_C128, 1, n);
    *vectors = mats_new(k, a, true, n, n);
    for (int64_t i = 0; i < v.count && n > 0; i++) {
        aot_complex *w = (aot_complex *)(void *)aot_array_data(*values) + i * n;
        if (v.z) {
            zgeev_("N", "V", &n, mats_at(&v, i), &v.ld, w, NULL, &one, mats_at(vectors, i), &one,
                   work, &lwork, vr, &info);
            continue;
        }
        dgeev_("N", "V", &n, mats_at(&v, i), &v.ld, wr, wi, NULL, &one, vr, &one, work, &lwork,
               &info);
        for (int j = 0; j < n; j++) {
            w[j] = CMPLX(((double *)wr)[j], ((double *)wi)[j]);
        }
        unfold_vectors(wi, vr, n, mats_at(vectors, i));
    }
}

void kern_eig(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *values;
    mats vectors;
    eigen_pairs(k, a, &values, &vectors);
    k_give_as(k, 0, values, k_complex_of((aot_dtype)a->dtype));
    k_give_as(k, 1, vectors.x, k_complex_of((aot_dtype)a->dtype));
}

/* ---- L D L^T --------------------------------------------------------------------------------- */

void kern_ldl_factor(aot_kern *k)
{
    aot_array *a = k_need(k, 0);
    mats v = mats_of(k, a);
    aot_int n = v.n, lwork = WORK * (n + 1);
    aot_array *pivots = mats_list(k, a, AOT_I32, 1, n), *info = mats_list(k, a, AOT_I32, 0, 0);
    double *work = work_for(k, lwork);
    if (v.z) {
        k_fail(k, AOT_E_UNSUPPORTED, "not run for complex numbers");
    }
    for (int64_t i = 0; i < v.count && n > 0; i++) {
        dsytrf_("L", &n, mats_at(&v, i), &v.ld, (aot_int *)(void *)aot_array_data(pivots) + i * n,
                work, &lwork, (aot_int *)(void *)aot_array_data(info) + i);
    }
    k_give_as(k, 0, K1(k, aten_tril, v.x), (aot_dtype)a->dtype);
    k_give(k, pivots);
    k_give(k, info);
}

void kern_ldl_solve(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *b = mats_batch(k, k_need(k, 2), a);
    a = mats_batch(k, a, b);
    mats v = mats_of(k, a), x = mats_of(k, b);
    mats_check_system(k, &v, &x);
    aot_int n = v.n, info;
    aot_array *pivots = mats_pivots(k, k_need(k, 1), a, true);
    if (v.z) {
        k_fail(k, AOT_E_UNSUPPORTED, "not run for complex numbers");
    }
    for (int64_t i = 0; i < x.count && n > 0; i++) {
        dsytrs_("L", &n, &x.n, mats_at(&v, i), &v.ld,
                (aot_int *)(void *)aot_array_data(pivots) + i * n, mats_at(&x, i), &x.ld, &info);
    }
    k_give_as(k, 0, x.x, (aot_dtype)k_need(k, 2)->dtype);
}

/* ---- exponential ----------------------------------------------------------------------------- */

static double largest(aot_kern *k, aot_array *x)
{
    aot_array *m = K1(k, aten_max, K1(k, aten_abs, x));
    return aot_get_real((aot_dtype)m->dtype, aot_array_data(m));
}

/* Taylor's series of A / 2^s, squared s times. */
void kern_matrix_exp(aot_kern *k)
{
    aot_array *a = k_need(k, 0);
    mats v = mats_of(k, a);
    aot_array *x = v.x, *one = mats_new(k, a, v.z, v.n, v.n).x;
    aot_array_fill(k_call(k, AOT_OP_aten_diagonal, 4,
                          (const aot_xval[]){aot_xv_array(one), aot_xv_int(0), aot_xv_int(-2),
                                             aot_xv_int(-1)}),
                   1);
    if (aot_array_numel(a) == 0) {
        k_give_as(k, 0, x, (aot_dtype)a->dtype);
        return;
    }
    double norm = largest(k, x) * v.n;
    int squarings = norm > 0.25 ? (int)ceil(log2(norm / 0.25)) : 0;
    x = K2(k, aten_mul_Scalar, x, ldexp(1, -squarings));
    aot_array *sum = one, *term = one;
    for (int i = 1; i <= 16; i++) {
        term = K2(k, aten_mul_Scalar, matmul(k, term, x), 1.0 / i);
        sum = K2(k, aten_add_Tensor, sum, term);
    }
    for (int i = 0; i < squarings; i++) {
        sum = matmul(k, sum, sum);
    }
    k_give_as(k, 0, sum, (aot_dtype)a->dtype);
}
