/* Linear algebra by LAPACK, in double precision whatever the dtype: factorisations and what is
 * solved with them. Batches are run matrix by matrix on column-major copies.
 *
 * Mirrors: aten/src/ATen/native/BatchLinearAlgebra.cpp, LinearAlgebra.cpp. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernel.h"
#include "exec/lapack.h"
#include "exec/mats.h"

/* ---- batches of matrices --------------------------------------------------------------------- */

static void need_matrix(aot_kern *k, const aot_array *x)
{
    if (x->ndim < 2) {
        k_fail(k, AOT_E_SHAPE, "a tensor with %u dimensions is no matrix", x->ndim);
    }
}

mats mats_of(aot_kern *k, aot_array *x)
{
    need_matrix(k, x);
    if (x->size[x->ndim - 2] > INT32_MAX || x->size[x->ndim - 1] > INT32_MAX) {
        k_fail(k, AOT_E_RANGE, "a matrix of %" PRId64 " by %" PRId64, x->size[x->ndim - 2],
               x->size[x->ndim - 1]);
    }
    mats v = {.z = aot_array_kind(x) == 'c',
              .m = (int)x->size[x->ndim - 2],
              .n = (int)x->size[x->ndim - 1],
              .count = 1};
    unsigned perm[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < x->ndim; i++) {
        perm[i] = i;
        v.count *= i + 2 < x->ndim ? x->size[i] : 1;
    }
    perm[x->ndim - 2] = x->ndim - 1u;
    perm[x->ndim - 1] = x->ndim - 2u;
    aot_array *turned = k_permute(k, x, perm);
    aot_array *copy = k_new(k, v.z ? AOT_C128 : AOT_F64, x->ndim, turned->size);
    aot_array_assign(copy, turned);
    v.p = aot_array_data(copy);
    v.x = k_permute(k, copy, perm);
    v.ld = v.m > 0 ? v.m : 1;
    return v;
}

mats mats_new(aot_kern *k, const aot_array *like, bool z, int64_t m, int64_t n)
{
    int64_t size[AOT_ARRAY_MAX_NDIM];
    memcpy(size, like->size, sizeof size);
    size[like->ndim - 2] = m;
    size[like->ndim - 1] = n;
    return mats_of(k, k_new(k, z ? AOT_C128 : AOT_F64, like->ndim, size));
}

void *mats_at(const mats *v, int64_t i)
{
    return v->p + i * v->m * v->n * (int64_t)(v->z ? sizeof(aot_complex) : sizeof(double));
}

/* A contiguous array in the shape of the batch, with `last` more dimensions of size n. */
aot_array *mats_list(aot_kern *k, const aot_array *like, aot_dtype d, unsigned last, int64_t n)
{
    int64_t size[AOT_ARRAY_MAX_NDIM];
    memcpy(size, like->size, sizeof size);
    size[like->ndim - 2] = n;
    return k_new(k, d, like->ndim - 2u + last, size);
}

/* x expanded to the batch of `like`. */
aot_array *mats_batch(aot_kern *k, aot_array *x, const aot_array *like)
{
    int64_t size[AOT_ARRAY_MAX_NDIM];
    unsigned n = like->ndim - 2u, have = x->ndim - 2u;
    need_matrix(k, x);
    need_matrix(k, like);
    memcpy(size, like->size, sizeof size);
    if (!aot_broadcast(&n, size, have, x->size)) {
        k_fail(k, AOT_E_SHAPE, "batches that cannot be broadcast");
    }
    size[n] = x->size[x->ndim - 2];
    size[n + 1] = x->size[x->ndim - 1];
    return k_expand(k, x, n + 2, size);
}

static void check_square(aot_kern *k, const mats *v)
{
    if (v->m != v->n) {
        k_fail(k, AOT_E_SHAPE, "matrices of %d by %d are not square", v->m, v->n);
    }
}

void mats_check_system(aot_kern *k, const mats *a, const mats *b)
{
    check_square(k, a);
    if (a->m != b->m || a->count != b->count) {
        k_fail(k, AOT_E_SHAPE, "right sides with %d rows of matrices with %d", b->m, a->m);
    }
}

/* ---- LU -------------------------------------------------------------------------------------- */

typedef struct lu {
    mats a;
    aot_array *pivots, *info; /* i32 */
} lu;

static aot_int *ints(const aot_array *x, int64_t at)
{
    return (aot_int *)(void *)aot_array_data(x) + at;
}

static lu factor(aot_kern *k, aot_array *a)
{
    lu f = {.a = mats_of(k, a)};
    int least = f.a.m < f.a.n ? f.a.m : f.a.n;
    f.pivots = mats_list(k, a, AOT_I32, 1, least);
    f.info = mats_list(k, a, AOT_I32, 0, 0);
    for (int64_t i = 0; i < f.a.count && least > 0; i++) {
        void *p = mats_at(&f.a, i);
        if (f.a.z) {
            zgetrf_(&f.a.m, &f.a.n, p, &f.a.ld, ints(f.pivots, i * least), ints(f.info, i));
        } else {
            dgetrf_(&f.a.m, &f.a.n, p, &f.a.ld, ints(f.pivots, i * least), ints(f.info, i));
        }
    }
    return f;
}

/* b = A^-1 b from the factors of A; b is one batch of columns. */
static void solve_with(const mats *a, const aot_array *pivots, mats *b, char trans)
{
    for (int64_t i = 0; i < b->count && b->m > 0 && b->n > 0; i++) {
        aot_int info;
        if (b->z) {
            zgetrs_(&trans, &a->n, &b->n, mats_at(a, i), &a->ld, ints(pivots, i * a->n),
                    mats_at(b, i), &b->ld, &info);
        } else {
            dgetrs_(&trans, &a->n, &b->n, mats_at(a, i), &a->ld, ints(pivots, i * a->n),
                    mats_at(b, i), &b->ld, &info);
        }
    }
}

static aot_array *turned(aot_kern *k, aot_array *x)
{
    return k_call(k, AOT_OP_aten_transpose_int, 3,
                  (const aot_xval[]){aot_xv_array(x), aot_xv_int(-2), aot_xv_int(-1)});
}

static aot_array *adjoint(aot_kern *k, aot_array *x)
{
    x = turned(k, x);
    return aot_array_kind(x) == 'c' ? K1(k, aten__conj_physical, x) : x;
}

aot_array *mats_pivots(aot_kern *k, aot_array *pivots, const aot_array *batch, bool in_blocks)
{
    int64_t size[AOT_ARRAY_MAX_NDIM], n = batch->size[batch->ndim - 1];
    memcpy(size, batch->size, sizeof size);
    aot_array *p = k_cast_contiguous(k, k_expand(k, pivots, batch->ndim - 1u, size), AOT_I32);
    for (int64_t i = 0, all = aot_array_numel(p); i < all; i++) {
        int64_t row = *ints(p, i);
        if ((in_blocks ? llabs(row) : row) < 1 || llabs(row) > n) {
            k_fail(k, AOT_E_RANGE, "pivot %" PRId64 " of matrices with %" PRId64 " rows", row, n);
        }
    }
    return p;
}

/* X of A X = B, or of X A = B: then A^H X^H = B^H. */
static aot_array *lu_solved(aot_kern *k, aot_array *factors, aot_array *pivots, aot_array *b,
                            bool left, bool conjugate)
{
    aot_array *right = left ? b : adjoint(k, b);
    right = mats_batch(k, right, factors);
    factors = mats_batch(k, factors, right);
    bool z = aot_array_kind(factors) == 'c' || aot_array_kind(right) == 'c';
    mats a = mats_of(k, z ? k_cast(k, factors, AOT_C128) : factors),
         x = mats_of(k, z ? k_cast(k, right, AOT_C128) : right);
    mats_check_system(k, &a, &x);
    solve_with(&a, mats_pivots(k, pivots, factors, false), &x, conjugate == left ? 'C' : 'N');
    return left ? x.x : adjoint(k, x.x);
}

void kern_lu_factor(aot_kern *k)
{
    aot_array *a = k_need(k, 0);
    lu f = factor(k, a);
    k_give_as(k, 0, f.a.x, (aot_dtype)a->dtype);
    k_give(k, f.pivots);
    k_give(k, f.info);
}

void kern_lu_solve(aot_kern *k)
{
    aot_array *b = k_need(k, 2);
    k_give_as(k, 0, lu_solved(k, k_need(k, 0), k_need(k, 1), b, k_bool(k, 3), k_bool(k, 4)),
              (aot_dtype)b->dtype);
}

/* Whether PyTorch factors the transpose, which needs no copy. */
static bool factors_transpose(const aot_array *a)
{
    return aot_array_is_contiguous(a) && aot_array_kind(a) != 'c';
}

void kern_solve(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *b = k_need(k, 1);
    need_matrix(k, a);
    bool left = k_bool(k, 2);
    bool vector = b->ndim == 1 || (b->ndim + 1 == a->ndim &&
                                   memcmp(b->size, a->size, b->ndim * sizeof *a->size) == 0);
    lu f = factor(k, a);
    aot_array *rhs = vector ? K2(k, aten_unsqueeze, b, -1) : b;
    aot_array *x = lu_solved(k, f.a.x, f.pivots, rhs, left || vector, false);
    k_give_as(k, 0, vector ? K2(k, aten_squeeze_dim, x, -1) : x, (aot_dtype)b->dtype);
    k_give_as(k, 1, f.a.x, (aot_dtype)a->dtype);
    k_give(k, f.pivots);
    k_give(k, f.info);
}

void kern_inverse(aot_kern *k)
{
    aot_array *a = k_need(k, 0);
    lu f = factor(k, a);
    check_square(k, &f.a);
    mats one = mats_new(k, a, f.a.z, f.a.n, f.a.n);
    for (int64_t i = 0; i < one.count * one.n; i++) {
        int64_t at = i / one.n * one.n * one.n + i % one.n * (one.n + 1);
        if (one.z) {
            ((aot_complex *)(void *)one.p)[at] = 1;
        } else {
            ((double *)(void *)one.p)[at] = 1;
        }
    }
    solve_with(&f.a, f.pivots, &one, 'N');
    k_give_as(k, 0, one.x, (aot_dtype)a->dtype);
    k_give(k, f.info);
}

/* ---- determinants ---------------------------------------------------------------------------- */

static void determinants(aot_kern *k, bool logarithm)
{
    aot_array *a = k_need(k, 0);
    lu f = factor(k, factors_transpose(a) ? turned(k, a) : a);
    aot_dtype d = (aot_dtype)a->dtype;
    check_square(k, &f.a);
    aot_array *det = mats_list(k, a, AOT_C128, 0, 0), *log_abs = mats_list(k, a, AOT_F64, 0, 0);
    for (int64_t i = 0; i < f.a.count; i++) {
        aot_complex s = 1;
        double l = 0;
        for (int j = 0; j < f.a.n; j++) {
            int64_t at = (int64_t)j * (f.a.n + 1);
            aot_complex v =
                f.a.z ? ((aot_complex *)mats_at(&f.a, i))[at] : ((double *)mats_at(&f.a, i))[at];
            v = ints(f.pivots, i * f.a.n)[j] != j + 1 ? -v : v;
            l += log(cabs(v));
            s *= logarithm ? (v == 0 ? 0 : v / cabs(v)) : v;
        }
        ((aot_complex *)(void *)aot_array_data(det))[i] = s;
        ((double *)(void *)aot_array_data(log_abs))[i] = l;
    }
    k_give_as(k, 0, det, d);
    if (logarithm) {
        k_give_as(k, 1, log_abs, k_real_of(d));
    }
    k_give_as(k, 1u + logarithm, f.a.x, d);
    k_give(k, f.pivots);
}

void kern_det(aot_kern *k)
{
    determinants(k, false);
}

void kern_slogdet(aot_kern *k)
{
    determinants(k, true);
}

/* ---- P, L, U --------------------------------------------------------------------------------- */

/* P of the row exchanges that pivots tell. */
static aot_array *permutations(aot_kern *k, const aot_array *factors, const aot_array *pivots,
                               int64_t m)
{
    int64_t size[AOT_ARRAY_MAX_NDIM], least = factors->size[factors->ndim - 1],
                                      n = m < least ? m : least;
    memcpy(size, factors->size, sizeof size);
    size[factors->ndim - 2] = n;
    k_shape_is(k, pivots, factors->ndim - 1u, size);
    size[factors->ndim - 2] = size[factors->ndim - 1] = m;
    aot_array *p = k_new(k, AOT_F64, factors->ndim, size);
    int64_t count = m == 0 ? 0 : aot_array_numel(p) / (m * m),
            *row = k_mem(k, (size_t)(m + 1) * sizeof *row);
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < m; j++) {
            row[j] = j;
        }
        for (int64_t j = 0; j < n; j++) {
            int64_t other = ints(pivots, i * n)[j] - 1, was = row[j];
            if (other < 0 || other >= m) {
                k_fail(k, AOT_E_RANGE, "a pivot that is no row");
            }
            row[j] = row[other];
            row[other] = was;
        }
        for (int64_t j = 0; j < m; j++) {
            ((double *)(void *)aot_array_data(p))[i * m * m + row[j] * m + j] = 1;
        }
    }
    return p;
}

static aot_array *part_of(aot_kern *k, aot_array *x, int64_t rows, int64_t columns)
{
    int64_t size[AOT_ARRAY_MAX_NDIM];
    memcpy(size, x->size, sizeof size);
    size[x->ndim - 2] = rows;
    size[x->ndim - 1] = columns;
    return k_view(k, x, x->ndim, size, x->stride, x->offset);
}

static void unpack(aot_kern *k, aot_array *factors, aot_array *pivots, aot_dtype d, bool with_data,
                   bool with_pivots)
{
    need_matrix(k, factors);
    int64_t m = factors->size[factors->ndim - 2], n = factors->size[factors->ndim - 1],
            least = m < n ? m : n, none = 0;
    aot_array *empty = k_new(k, d, 1, &none);
    k_give(k, empty);
    k_give(k, empty);
    k_give(k, empty);
    aot_xval *out = k_results(k);
    if (with_pivots) {
        out[0].u.array =
            k_cast(k, permutations(k, factors, k_cast_contiguous(k, pivots, AOT_I32), m), d);
    }
    if (with_data) {
        aot_array *l = K2(k, aten_tril, part_of(k, factors, m, least), -1);
        aot_array *one = k_call(
            k, AOT_OP_aten_diagonal, 4,
            (const aot_xval[]){aot_xv_array(l), aot_xv_int(0), aot_xv_int(-2), aot_xv_int(-1)});
        aot_array_fill(one, 1);
        out[1].u.array = k_cast(k, l, d);
        out[2].u.array = k_cast(k, K1(k, aten_triu, part_of(k, factors, least, n)), d);
    }
}

void kern_lu_unpack(aot_kern *k)
{
    aot_array *factors = k_need(k, 0);
    unpack(k, factors, k_need(k, 1), (aot_dtype)factors->dtype, k_bool(k, 2), k_bool(k, 3));
}

void kern_lu(aot_kern *k)
{
    aot_array *a = k_need(k, 0);
    lu f = factor(k, a);
    unpack(k, f.a.x, f.pivots, (aot_dtype)a->dtype, true, true);
}

/* ---- triangles ------------------------------------------------------------------------------- */

static aot_array *triangular(aot_kern *k, aot_array *a, aot_array *b, bool upper, char trans,
                             bool unit)
{
    b = mats_batch(k, b, a);
    a = mats_batch(k, a, b);
    mats m = mats_of(k, a), x = mats_of(k, b);
    mats_check_system(k, &m, &x);
    char uplo = upper ? 'U' : 'L', diag = unit ? 'U' : 'N';
    for (int64_t i = 0; i < x.count && x.m > 0 && x.n > 0; i++) {
        aot_int info;
        if (x.z) {
            ztrtrs_(&uplo, &trans, &diag, &m.n, &x.n, mats_at(&m, i), &m.ld, mats_at(&x, i), &x.ld,
                    &info);
        } else {
            dtrtrs_(&uplo, &trans, &diag, &m.n, &x.n, mats_at(&m, i), &m.ld, mats_at(&x, i), &x.ld,
                    &info);
        }
    }
    return x.x;
}

void kern_solve_triangular(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *b = k_need(k, 1);
    bool upper = k_bool(k, 2), left = k_bool(k, 3), unit = k_bool(k, 4);
    aot_array *x = left ? triangular(k, a, b, upper, 'N', unit)
                        : turned(k, triangular(k, turned(k, a), turned(k, b), !upper, 'N', unit));
    k_give_as(k, 0, x, (aot_dtype)b->dtype);
}

void kern_triangular_solve(aot_kern *k)
{
    aot_array *b = k_need(k, 0), *a = k_need(k, 1);
    aot_array *x = triangular(k, a, b, k_bool(k, 2), k_bool(k, 3) ? 'T' : 'N', k_bool(k, 4));
    k_give_as(k, 0, x, (aot_dtype)b->dtype);
    k_give_as(k, 1, mats_batch(k, a, x), (aot_dtype)a->dtype);
}

/* ---- Cholesky -------------------------------------------------------------------------------- */

static aot_array *cholesky(aot_kern *k, aot_array *a, bool upper, aot_array **info)
{
    mats m = mats_of(k, a);
    char uplo = upper ? 'U' : 'L';
    check_square(k, &m);
    *info = mats_list(k, a, AOT_I32, 0, 0);
    for (int64_t i = 0; i < m.count && m.n > 0; i++) {
        if (m.z) {
            zpotrf_(&uplo, &m.n, mats_at(&m, i), &m.ld, ints(*info, i));
        } else {
            dpotrf_(&uplo, &m.n, mats_at(&m, i), &m.ld, ints(*info, i));
        }
    }
    return upper ? K1(k, aten_triu, m.x) : K1(k, aten_tril, m.x);
}

void kern_cholesky_ex(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *info;
    k_give_as(k, 0, cholesky(k, a, k_bool(k, 1), &info), (aot_dtype)a->dtype);
    k_give(k, info);
}

void kern_cholesky(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *info;
    k_give_as(k, 0, cholesky(k, a, k_bool(k, 1), &info), (aot_dtype)a->dtype);
}

static aot_array *cholesky_solved(aot_kern *k, aot_array *l, aot_array *b, bool upper)
{
    b = mats_batch(k, b, l);
    l = mats_batch(k, l, b);
    mats m = mats_of(k, l), x = mats_of(k, b);
    mats_check_system(k, &m, &x);
    char uplo = upper ? 'U' : 'L';
    for (int64_t i = 0; i < x.count && x.m > 0 && x.n > 0; i++) {
        aot_int info;
        if (x.z) {
            zpotrs_(&uplo, &m.n, &x.n, mats_at(&m, i), &m.ld, mats_at(&x, i), &x.ld, &info);
        } else {
            dpotrs_(&uplo, &m.n, &x.n, mats_at(&m, i), &m.ld, mats_at(&x, i), &x.ld, &info);
        }
    }
    return x.x;
}

void kern_cholesky_solve(aot_kern *k)
{
    aot_array *b = k_need(k, 0);
    k_give_as(k, 0, cholesky_solved(k, k_need(k, 1), b, k_bool(k, 2)), (aot_dtype)b->dtype);
}

void kern_cholesky_inverse(aot_kern *k)
{
    aot_array *l = k_need(k, 0);
    need_matrix(k, l);
    int64_t n = l->size[l->ndim - 1];
    aot_array *one = k_call(k, AOT_OP_aten_eye, 2,
                            (const aot_xval[]){aot_xv_int(n), aot_xv_dtype((aot_dtype)l->dtype)});
    k_give_as(k, 0, cholesky_solved(k, l, one, k_bool(k, 1)), (aot_dtype)l->dtype);
}
