/* The gradient of attention by blocks. The weights are computed again from query and key; what the
 * forward saved of them is not needed. Mirrors ATen/native/cpu/FlashAttentionKernel.cpp in what it
 * computes, not in its blocks. */
#include <math.h>

#include "exec/kernel.h"

typedef struct attention {
    int64_t n, l, s, e; /* batches times heads, queries, keys, width */
    aot_array *q, *k, *v, *g;
    double scale;
} attention;

static aot_array *three(aot_kern *k, unsigned pos, aot_dtype d, int64_t *n, int64_t *l, int64_t *e)
{
    aot_array *x = k_need(k, pos);
    if (x->ndim != 4) {
        k_fail(k, AOT_E_SHAPE, "argument %u has not 4 dimensions", pos);
    }
    *n = x->size[0] * x->size[1];
    *l = x->size[2];
    *e = x->size[3];
    return k_reshape(k, k_cast_contiguous(k, x, d), 3, (const int64_t[]){*n, *l, *e});
}

/* Where several heads of the query share one of key and value: it as often, head by head. */
static aot_array *shared(aot_kern *k, aot_array *x, int64_t groups)
{
    int64_t size[4] = {x->size[0], groups, x->size[1], x->size[2]},
            stride[4] = {x->stride[0], 0, x->stride[1], x->stride[2]},
            flat[3] = {x->size[0] * groups, x->size[1], x->size[2]};
    return groups == 1 ? x : k_reshape(k, k_view(k, x, 4, size, stride, x->offset), 3, flat);
}

/* The gradient of the shared one: their sum. */
static aot_array *summed(aot_kern *k, aot_array *x, int64_t groups)
{
    int64_t size[4] = {x->size[0] / groups, groups, x->size[1], x->size[2]};
    aot_xval dim = aot_xv_int(1);
    if (groups == 1) {
        return x;
    }
    return k_call(k, AOT_OP_aten_sum_dim_IntList, 2,
                  (const aot_xval[]){aot_xv_array(k_reshape(k, k_contiguous(k, x), 4, size)),
                                     aot_xv_list(1, &dim)});
}

static aot_array *turned(aot_kern *k, const aot_array *x)
{
    return k_permute(k, x, (const unsigned[]){0, 2, 1});
}

/* Minus infinity above the diagonal. */
static void mask_causal(const attention *a, aot_array *scores)
{
    aot_dtype d = (aot_dtype)scores->dtype;
    double none = -INFINITY;
    for (int64_t i = 0; i < a->n * a->l; i++) {
        for (int64_t j = i % a->l + 1; j < a->s; j++) {
            aot_store_real(&none, d,
                           aot_array_data(scores) + (i * a->s + j) * aot_array_item_bytes(scores),
                           0, 1);
        }
    }
}

static aot_array *weights(aot_kern *k, const attention *a, bool causal, aot_array *mask)
{
    aot_array *x = K2(k, aten_mul_Tensor, K2(k, aten_bmm, a->q, turned(k, a->k)), a->scale);
    const aot_array *q = k_need(k, 1);
    if (mask != NULL) {
        int64_t size[4] = {q->size[0], q->size[1], a->l, a->s};
        aot_array *wide = k_cast_contiguous(k, k_expand(k, mask, 4, size), (aot_dtype)x->dtype);
        x = K2(k, aten_add_Tensor, x, k_reshape(k, wide, 3, x->size));
    }
    x = k_contiguous(k, x);
    if (causal) {
        mask_causal(a, x);
    }
    return K3(k, aten__softmax, x, -1, false);
}

/* (grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask, scale) */
void kern_flash_attention_for_cpu_backward(aot_kern *k)
{
    attention a;
    int64_t n, l, ev;
    aot_dtype d = (aot_dtype)k_need(k, 1)->dtype, wide = d == AOT_F64 ? AOT_F64 : AOT_F32;
    a.g = three(k, 0, wide, &n, &l, &ev);
    a.q = three(k, 1, wide, &a.n, &a.l, &a.e);
    a.k = three(k, 2, wide, &n, &a.s, &a.e);
    a.v = three(k, 3, wide, &n, &a.s, &ev);
    a.scale = k_real(k, 9, 1 / sqrt((double)a.e));
    int64_t groups = n > 0 ? a.n / n : 1;
    if (k_real(k, 6, 0) != 0) {
        k_fail(k, AOT_E_UNSUPPORTED, "with dropout it is not run");
    }
    if (groups * n != a.n || k_need(k, 1)->size[0] != k_need(k, 2)->size[0]) {
        k_fail(k, AOT_E_SHAPE, "the heads of the query are no multiple of those of the key");
    }
    a.k = shared(k, a.k, groups);
    a.v = shared(k, a.v, groups);
    aot_array *p = weights(k, &a, k_bool(k, 7), k_in(k, 8));
    aot_array *dp = K2(k, aten_bmm, a.g, turned(k, a.v));
    aot_xval last = aot_xv_int(-1), sum_args[3] = {aot_xv_array(K2(k, aten_mul_Tensor, dp, p)),
                                                   aot_xv_list(1, &last), aot_xv_bool(true)};
    aot_array *sum = k_call(k, AOT_OP_aten_sum_dim_IntList, 3, sum_args);
    aot_array *ds =
        K2(k, aten_mul_Tensor, K2(k, aten_mul_Tensor, p, K2(k, aten_sub_Tensor, dp, sum)), a.scale);
    aot_array *grads[3] = {K2(k, aten_bmm, ds, a.k),
                           summed(k, K2(k, aten_bmm, turned(k, ds), a.q), groups),
                           summed(k, K2(k, aten_bmm, turned(k, p), a.g), groups)};
    for (unsigned i = 0; i < 3; i++) {
        const aot_array *x = k_need(k, i + 1);
        k_give_as(k, i, k_reshape(k, k_contiguous(k, grads[i]), 4, x->size), (aot_dtype)x->dtype);
    }
}
