/* Products of groups of rows, and products with something done to the result.
 *
 * Mirrors: aten/src/ATen/native/GroupedMMUtils.h, Blas.cpp (_grouped_mm), LinearAlgebra.cpp
 * (_int_mm, _addmm_activation). */
#include <string.h>

#include "exec/gemm.h"
#include "exec/reals.h"

/* Elements from..to of dimension dim. */
static aot_array *part(aot_kern *k, aot_array *x, unsigned dim, int64_t from, int64_t to)
{
    int64_t size[AOT_ARRAY_MAX_NDIM];
    memcpy(size, x->size, sizeof size);
    size[dim] = to - from; // an empty group may begin where the memory ends
    return k_view(k, x, x->ndim, size, x->stride,
                  x->offset + (to > from ? from * x->stride[dim] : 0));
}

/* Where group g ends: offs holds it, and what is behind the last is no group's. */
static int64_t end_of(aot_kern *k, const int64_t *offs, int64_t g, int64_t from, int64_t most)
{
    if (offs[g] < from || offs[g] > most) {
        k_fail(k, AOT_E_RANGE, "group %lld ends at %lld of %lld", (long long)g, (long long)offs[g],
               (long long)most);
    }
    return offs[g];
}

static void check_groups(aot_kern *k, const aot_array *offs, const aot_array *of)
{
    if (offs == NULL || offs->ndim != 1 || (of != NULL && of->size[0] != offs->size[0])) {
        k_fail(k, AOT_E_SHAPE, "offs does not say where each group ends");
    }
}

/* a [M, K] in groups of rows  b [G, K, N]  -> [M, N] */
static void groups_of_rows(aot_kern *k, aot_array *a, aot_array *b, aot_array *offs, aot_array *out)
{
    check_groups(k, offs, b);
    const int64_t *end = ints_of(k, offs);
    for (int64_t g = 0, from = 0; g < offs->size[0]; from = end[g++]) {
        int64_t to = end_of(k, end, g, from, a->size[0]);
        k_matrix_product_into(k, part(k, a, 0, from, to), k_select(k, b, 0, g),
                              part(k, out, 0, from, to));
    }
}

/* a [G, M, K]  b [K, N] in groups of columns  -> [M, N] */
static void groups_of_columns(aot_kern *k, aot_array *a, aot_array *b, aot_array *offs,
                              aot_array *out)
{
    check_groups(k, offs, a);
    const int64_t *end = ints_of(k, offs);
    for (int64_t g = 0, from = 0; g < offs->size[0]; from = end[g++]) {
        int64_t to = end_of(k, end, g, from, b->size[1]);
        aot_array_assign(part(k, out, 1, from, to),
                         k_matrix_product(k, k_select(k, a, 0, g), part(k, b, 1, from, to)));
    }
}

/* a [M, K]  b [K, N], K in groups  -> [G, M, N] */
static void groups_of_terms(aot_kern *k, aot_array *a, aot_array *b, aot_array *offs,
                            aot_array *out)
{
    check_groups(k, offs, NULL);
    const int64_t *end = ints_of(k, offs);
    for (int64_t g = 0, from = 0; g < offs->size[0]; from = end[g++]) {
        int64_t to = end_of(k, end, g, from, a->size[1]);
        k_matrix_product_into(k, part(k, a, 1, from, to), part(k, b, 0, from, to),
                              k_select(k, out, 0, g));
    }
}

/* One of four by the dimensions of a and b. */
static aot_array *grouped(aot_kern *k, aot_array *a, aot_array *b, aot_array *offs)
{
    if (a->ndim < 2 || a->ndim > 3 || b->ndim < 2 || b->ndim > 3) {
        k_fail(k, AOT_E_SHAPE, "matrices with %u and %u dimensions", a->ndim, b->ndim);
    }
    if (a->ndim == 3 && b->ndim == 3) {
        return K2(k, aten_bmm, a, b);
    }
    int64_t m = a->size[a->ndim - 2], n = b->size[b->ndim - 1], size[3] = {m, n, n};
    unsigned ndim = 2;
    if (a->ndim == 2 && b->ndim == 2) {
        check_groups(k, offs, NULL);
        size[0] = offs->size[0];
        size[1] = m;
        ndim = 3;
    }
    aot_array *out = k_new(k, k_product_dtype((aot_dtype)a->dtype), ndim, size);
    if (a->ndim == 3) {
        groups_of_columns(k, a, b, offs, out);
    } else if (b->ndim == 3) {
        groups_of_rows(k, a, b, offs, out);
    } else {
        groups_of_terms(k, a, b, offs, out);
    }
    return out;
}

/* self, mat2, offs, bias, out_dtype */
void kern_grouped_mm(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *bias = k_in(k, 3), *p = grouped(k, a, k_need(k, 1), k_in(k, 2));
    if (bias != NULL) {
        k_fail(k, AOT_E_UNSUPPORTED, "a bias of groups is not implemented, as in PyTorch");
    }
    k_give_as(k, 0, p, k_dtype(k, 4, (aot_dtype)a->dtype));
}

/* input [M, K], weight [G, K, N], offs */
void kern_grouped_mm_fallback(aot_kern *k)
{
    aot_array *a = k_need(k, 0);
    k_give_as(k, 0, grouped(k, a, k_need(k, 1), k_need(k, 2)), (aot_dtype)a->dtype);
}

/* input, weight, offs, grad_output [M, N] -> gradients of input and weight */
void kern_grouped_mm_fallback_backward(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *w = k_need(k, 1), *offs = k_need(k, 2), *grad = k_need(k, 3);
    if (a->ndim != 2 || w->ndim != 3) {
        k_fail(k, AOT_E_SHAPE, "matrices with %u and %u dimensions", a->ndim, w->ndim);
    }
    aot_array *turned = k_permute(k, w, (const unsigned[]){0, 2, 1}),
              *columns = k_permute(k, a, (const unsigned[]){1, 0});
    k_give_as(k, 0, grouped(k, grad, turned, offs), (aot_dtype)a->dtype);
    k_give_as(k, 1, grouped(k, columns, grad, offs), (aot_dtype)w->dtype);
}

/* self, mat2: products of bytes are summed in 32 bits */
void kern_int_mm(aot_kern *k)
{
    k_give(k, K2(k, aten_mm, k_cast(k, k_need(k, 0), AOT_I32), k_cast(k, k_need(k, 1), AOT_I32)));
}

/* self, mat1, mat2, beta, alpha, use_gelu */
void kern_addmm_activation(aot_kern *k)
{
    aot_xval args[] = {*k_arg(k, 0), *k_arg(k, 1), *k_arg(k, 2), *k_arg(k, 3), *k_arg(k, 4)};
    aot_array *p = k_call(k, AOT_OP_aten_addmm, 5, args);
    k_give(k, k_bool(k, 5) ? K1(k, aten_gelu, p) : K1(k, aten_relu, p));
}
