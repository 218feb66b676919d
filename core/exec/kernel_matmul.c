/* Matrix products by OpenBLAS: f32, f64 and complex as they are, half types in f32, integers by
 * hand.
 *
 * Mirrors: aten/src/ATen/native/LinearAlgebra.cpp, BlasKernel.cpp. */
#include <cblas.h>
#include <inttypes.h>
#include <string.h>

#include "exec/gemm.h"

aot_dtype k_product_dtype(aot_dtype d)
{
    return aot_dtype_class(d) == AOT_CLASS_REAL ? aot_opmath(d) : d == AOT_C32 ? AOT_C64 : d;
}

/* A matrix as BLAS reads it: its rows or its columns lie behind each other. */
typedef struct matrix {
    const void *p;
    CBLAS_TRANSPOSE trans;
    int ld;
} matrix;

static bool is_plain(const aot_array *x, matrix *m)
{
    int64_t r = x->size[0], c = x->size[1], rs = x->stride[0], cs = x->stride[1];
    m->p = aot_array_data(x);
    if ((c == 1 || cs == 1) && (r == 1 || rs >= c)) {
        m->trans = CblasNoTrans;
        m->ld = (int)(r == 1 ? c : rs);
        return m->ld < INT32_MAX;
    }
    if ((r == 1 || rs == 1) && (c == 1 || cs >= r)) {
        m->trans = CblasTrans;
        m->ld = (int)(c == 1 ? r : cs);
        return m->ld < INT32_MAX;
    }
    return false;
}

static matrix matrix_of(aot_kern *k, aot_array *x)
{
    matrix m;
    if (!is_plain(x, &m)) {
        aot_array *y = k_new(k, (aot_dtype)x->dtype, 2, x->size);
        aot_array_assign(y, x);
        is_plain(y, &m);
    }
    return m;
}

static int64_t int_at(const aot_array *x, int64_t i, int64_t j)
{
    return aot_get_int((aot_dtype)x->dtype,
                       aot_array_data(x) +
                           (i * x->stride[0] + j * x->stride[1]) * aot_array_item_bytes(x));
}

static void product_of_ints(const aot_array *a, const aot_array *b, aot_array *out)
{
    for (int64_t i = 0; i < out->size[0]; i++) {
        for (int64_t j = 0; j < out->size[1]; j++) {
            uint64_t s = 0;
            for (int64_t l = 0; l < a->size[1]; l++) {
                s += (uint64_t)int_at(a, i, l) * (uint64_t)int_at(b, l, j);
            }
            int64_t v = (int64_t)s;
            aot_store_int(&v, (aot_dtype)out->dtype,
                          aot_array_data(out) +
                              (i * out->stride[0] + j * out->stride[1]) * aot_array_item_bytes(out),
                          0, 1);
        }
    }
}

/* out = alpha a b + beta out, of real numbers; complex products and those of integers know 1 and 0
 * only. */
static void scaled_product_into(aot_kern *k, aot_array *a, aot_array *b, aot_array *out,
                                double alpha, double beta)
{
    aot_dtype d = (aot_dtype)out->dtype;
    if (a->ndim != 2 || b->ndim != 2 || a->size[1] != b->size[0]) {
        k_fail(k, AOT_E_SHAPE, "matrices that do not fit: %" PRId64 " columns, %" PRId64 " rows",
               a->size[a->ndim - 1], b->size[0]);
    }
    int m = (int)a->size[0], n = (int)b->size[1], l = (int)a->size[1], ld = (int)out->stride[0];
    if (m == 0 || n == 0 || (l == 0 && beta == 0)) {
        aot_array_fill(out, 0);
        return;
    }
    a = k_cast(k, a, d);
    b = k_cast(k, b, d);
    if (aot_dtype_class(d) == AOT_CLASS_INT) {
        product_of_ints(a, b, out);
        return;
    }
    matrix x = matrix_of(k, a), y = matrix_of(k, b);
    void *c = aot_array_data(out);
    const float one32[2] = {1, 0}, zero32[2] = {0, 0};
    const double one64[2] = {1, 0}, zero64[2] = {0, 0};
    ld = ld < n ? n : ld;
    switch (d) {
    case AOT_F32:
        cblas_sgemm(CblasRowMajor, x.trans, y.trans, m, n, l, (float)alpha, x.p, x.ld, y.p, y.ld,
                    (float)beta, c, ld);
        break;
    case AOT_F64:
        cblas_dgemm(CblasRowMajor, x.trans, y.trans, m, n, l, alpha, x.p, x.ld, y.p, y.ld, beta, c,
                    ld);
        break;
    case AOT_C64:
        cblas_cgemm(CblasRowMajor, x.trans, y.trans, m, n, l, one32, x.p, x.ld, y.p, y.ld, zero32,
                    c, ld);
        break;
    default:
        cblas_zgemm(CblasRowMajor, x.trans, y.trans, m, n, l, one64, x.p, x.ld, y.p, y.ld, zero64,
                    c, ld);
        break;
    }
}

void k_matrix_product_into(aot_kern *k, aot_array *a, aot_array *b, aot_array *out)
{
    scaled_product_into(k, a, b, out, 1, 0);
}

void k_matrix_product_add(aot_kern *k, aot_array *a, aot_array *b, aot_array *out)
{
    scaled_product_into(k, a, b, out, 1, 1);
}

static void need_matrices(aot_kern *k, const aot_array *a, const aot_array *b)
{
    if (a->ndim != 2 || b->ndim != 2) {
        k_fail(k, AOT_E_SHAPE,
               "a product of tensors with %u and %u dimensions, which are no matrices", a->ndim,
               b->ndim);
    }
}

aot_array *k_matrix_product(aot_kern *k, aot_array *a, aot_array *b)
{
    need_matrices(k, a, b);
    int64_t size[2] = {a->size[0], b->size[1]};
    aot_array *out = k_new(k, k_product_dtype((aot_dtype)a->dtype), 2, size);
    k_matrix_product_into(k, a, b, out);
    return out;
}

static void check_batches(aot_kern *k, const aot_array *a, const aot_array *b)
{
    if (a->ndim != 3 || b->ndim != 3 || a->size[0] != b->size[0]) {
        k_fail(k, AOT_E_SHAPE, "batches of matrices that do not fit");
    }
}

/* out [M, N], or [B, M, N] of checked batches */
static void product_into(aot_kern *k, aot_array *a, aot_array *b, aot_array *out, double alpha,
                         double beta)
{
    if (out->ndim == 2) {
        scaled_product_into(k, a, b, out, alpha, beta);
        return;
    }
    for (int64_t i = 0; i < out->size[0]; i++) {
        scaled_product_into(k, k_select(k, a, 0, i), k_select(k, b, 0, i), k_select(k, out, 0, i),
                            alpha, beta);
    }
}

/* a [B, M, L]  b [B, L, N]  -> [B, M, N] */
static aot_array *batched_product(aot_kern *k, aot_array *a, aot_array *b)
{
    check_batches(k, a, b);
    int64_t size[3] = {a->size[0], a->size[1], b->size[2]};
    aot_array *out = k_new(k, k_product_dtype((aot_dtype)a->dtype), 3, size);
    product_into(k, a, b, out, 1, 0);
    return out;
}

/* Whether products may be written where the array is: of their dtype, its rows behind each
 * other. */
static bool takes_product(const aot_array *out, aot_dtype d)
{
    unsigned r = out->ndim - 2u, c = out->ndim - 1u;
    return k_product_dtype(d) == d && (out->size[c] <= 1 || out->stride[c] == 1) &&
           (out->size[r] <= 1 || out->stride[r] >= out->size[c]) &&
           aot_dtype_class(d) != AOT_CLASS_INT;
}

/* Computed where the result lies, if it takes products, else apart. */
static void give_product(aot_kern *k, aot_array *a, aot_array *b, unsigned ndim,
                         const int64_t *size)
{
    aot_dtype d = (aot_dtype)a->dtype;
    aot_array *out = k_out(k, 0, d, ndim, size);
    aot_array *p = takes_product(out, d) ? out : k_new(k, k_product_dtype(d), ndim, size);
    product_into(k, a, b, p, 1, 0);
    if (p != out) {
        aot_array_assign(out, p);
    }
    k_give(k, out);
}

void kern_mm(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *b = k_need(k, 1);
    need_matrices(k, a, b);
    give_product(k, a, b, 2, (int64_t[]){a->size[0], b->size[1]});
}

void kern_bmm(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *b = k_need(k, 1);
    check_batches(k, a, b);
    give_product(k, a, b, 3, (int64_t[]){a->size[0], a->size[1], b->size[2]});
}

/* beta * self + alpha * product, in the product's dtype. self does not count where beta is 0. */
static void give_added(aot_kern *k, aot_array *p, unsigned beta_pos)
{
    aot_array *x = k_need(k, 0);
    const aot_xval *beta = k_arg(k, beta_pos), *alpha = k_arg(k, beta_pos + 1);
    aot_dtype d = (aot_dtype)k_need(k, 1)->dtype;
    p = k_call(k, AOT_OP_aten_mul_Scalar, 2, (const aot_xval[]){aot_xv_array(p), *alpha});
    if (k_real(k, beta_pos, 1) != 0 || beta->kind == AOT_X_COMPLEX) {
        aot_array *scaled =
            k_call(k, AOT_OP_aten_mul_Scalar, 2,
                   (const aot_xval[]){aot_xv_array(k_cast(k, x, (aot_dtype)p->dtype)), *beta});
        p = K2(k, aten_add_Tensor, scaled, p);
    }
    k_give_as(k, 0, p, d);
}

/* BLAS adds onto what is there: self is copied, broadcast, and the product added. false: it is not
 * of such numbers. */
static bool added_in_place(aot_kern *k, unsigned ndim, const int64_t *size)
{
    aot_array *x = k_need(k, 0), *a = k_need(k, 1), *b = k_need(k, 2);
    aot_dtype d = (aot_dtype)a->dtype;
    double beta = k_real(k, 3, 1), alpha = k_real(k, 4, 1);
    if (aot_dtype_class(d) != AOT_CLASS_REAL || k_product_dtype(d) != d || x->dtype != d) {
        return false;
    }
    aot_array *out = k_out(k, 0, d, ndim, size);
    if (!takes_product(out, d)) {
        return false;
    }
    if (beta != 0) {
        aot_array_assign(out, k_expand(k, x, ndim, size));
    }
    product_into(k, a, b, out, alpha, beta);
    k_give(k, out);
    return true;
}

void kern_addmm(aot_kern *k)
{
    const aot_array *a = k_need(k, 1), *b = k_need(k, 2);
    if (a->ndim == 2 && b->ndim == 2 && added_in_place(k, 2, (int64_t[]){a->size[0], b->size[1]})) {
        return;
    }
    give_added(k, k_matrix_product(k, k_need(k, 1), k_need(k, 2)), 3);
}

void kern_baddbmm(aot_kern *k)
{
    const aot_array *a = k_need(k, 1), *b = k_need(k, 2);
    check_batches(k, a, b);
    if (added_in_place(k, 3, (int64_t[]){a->size[0], a->size[1], b->size[2]})) {
        return;
    }
    give_added(k, batched_product(k, k_need(k, 1), k_need(k, 2)), 3);
}

void kern_addbmm(aot_kern *k)
{
    aot_array *p = batched_product(k, k_need(k, 1), k_need(k, 2));
    aot_xval dims = aot_xv_list(1, (aot_xval[]){aot_xv_int(0)});
    give_added(
        k, k_call(k, AOT_OP_aten_sum_dim_IntList, 2, (const aot_xval[]){aot_xv_array(p), dims}), 3);
}

static aot_array *as_column(aot_kern *k, aot_array *v)
{
    int64_t size[2] = {v->size[0], 1}, stride[2] = {v->stride[0], 1};
    return k_view(k, v, 2, size, stride, v->offset);
}

void kern_mv(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *p = k_matrix_product(k, a, as_column(k, k_need(k, 1)));
    k_give_as(k, 0, k_reshape(k, p, 1, &a->size[0]), (aot_dtype)a->dtype);
}

void kern_addmv(aot_kern *k)
{
    aot_array *a = k_need(k, 1), *p = k_matrix_product(k, a, as_column(k, k_need(k, 2)));
    give_added(k, k_reshape(k, p, 1, &a->size[0]), 3);
}

static void give_dot(aot_kern *k, aot_array *a, aot_array *b)
{
    int64_t size[2] = {1, a->size[0]}, stride[2] = {1, a->stride[0]};
    aot_array *p = k_matrix_product(k, k_view(k, a, 2, size, stride, a->offset), as_column(k, b));
    k_give_as(k, 0, k_reshape(k, p, 0, NULL), (aot_dtype)a->dtype);
}

void kern_dot(aot_kern *k)
{
    give_dot(k, k_need(k, 0), k_need(k, 1));
}

void kern_vdot(aot_kern *k)
{
    give_dot(k, K1(k, aten__conj, k_need(k, 0)), k_need(k, 1));
}

/* self, mat2, scale_a, scale_b, bias, scale_result, out_dtype: factors of few bits times their
 * scales, in f32. PyTorch divides by scale_result where the result has 8 bits. */
void kern_scaled_mm(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *b = k_need(k, 1), *bias = k_in(k, 4), *scale = k_in(k, 5);
    aot_dtype d = k_dtype(k, 6, (aot_dtype)a->dtype);
    a = K2(k, aten_mul_Tensor, k_cast(k, a, AOT_F32), k_need(k, 2));
    b = K2(k, aten_mul_Tensor, k_cast(k, b, AOT_F32), k_need(k, 3));
    aot_array *p = k_matrix_product(k, a, b);
    p = bias == NULL ? p : K2(k, aten_add_Tensor, p, k_cast(k, bias, AOT_F32));
    p = scale == NULL || aot_dtype_get(d)->bytes != 1 ? p : K2(k, aten_div_Tensor, p, scale);
    k_give_as(k, 0, p, d);
}
