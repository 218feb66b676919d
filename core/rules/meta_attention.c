/* Fused attention: output, log of the sum of exponentials, random state, and the gradients.
 *
 * Mirrors: torch/_meta_registrations.py:meta__scaled_dot_product_*, meta__flash_attention_forward,
 * meta__efficient_attention_forward. */
#include "rules/meta_shared.h"

/* The strides of a tensor that is contiguous with dimensions 1 and 2 swapped. */
static void set_swapped(const aot_call *k, aot_fake *t)
{
    aot_dim size1 = t->size[1];
    t->size[1] = t->size[2];
    t->size[2] = size1;
    aot_fake_set_contiguous(k->c, t);
    aot_dim stride1 = t->stride[1];
    t->size[2] = t->size[1];
    t->size[1] = size1;
    t->stride[1] = t->stride[2];
    t->stride[2] = stride1;
}

static aot_status need_query(aot_call *k, unsigned pos, unsigned ndim, aot_fake *q)
{
    AOT_TRY(aot_call_need(k, pos, "query", q));
    if (q->ndim < ndim) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: query has %u dimensions, not %u",
                        aot_op(k->n->op)->name, q->ndim, ndim);
    }
    return AOT_OK;
}

static aot_status need_value(aot_call *k, aot_fake *v)
{
    AOT_TRY(aot_call_need(k, 2, "value", v));
    if (v->ndim == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: value has no dimensions",
                        aot_op(k->n->op)->name);
    }
    return AOT_OK;
}

static void push_like(aot_call *k, const aot_fake *t)
{
    aot_fake out = *t;
    aot_fake_set_empty_like(k, &out, t);
    aot_call_push(k, &out);
}

static void push_sym(aot_call *k, aot_dim d)
{
    aot_fake out = {.val = AOT_VAL_SYM, .sym_kind = AOT_SYM_INT, .sym = d};
    if (d.expr) {
        aot_call_push(k, &out);
    } else {
        aot_call_push_none(k); /* a plain number has no printed type */
    }
}

/* Seed and offset of the generator. */
static void push_random_state(aot_call *k, const aot_fake *q, bool wide_seed)
{
    aot_dim two = aot_dim_of(2);
    aot_dtype d = wide_seed ? AOT_U64 : AOT_I64;
    aot_fake seed = aot_fake_make(k, d, wide_seed ? 1 : 0, &two, q->device);
    aot_fake offset = aot_fake_make(k, d, 0, NULL, q->device);
    aot_call_push(k, &seed);
    aot_call_push(k, &offset);
}

/* The path of nn.MultiheadAttention without gradients: (query, key, value, embed_dim, num_head, ...
 * mask, need_weights 10, average_attn_weights 11); no weights are an empty tensor. */
aot_status meta_native_multi_head_attention(aot_call *k)
{
    aot_fake q, key;
    AOT_TRY(need_query(k, 0, 3, &q));
    AOT_TRY(aot_call_need(k, 1, "key", &key));
    aot_fake out = aot_fake_make(k, (aot_dtype)q.dtype, 3, q.size, q.device);
    aot_call_push(k, &out);
    aot_dim size[4] = {q.size[0], aot_call_int(k, 4, "num_head", 1), q.size[1],
                       key.size[1]};
    aot_dim none = aot_dim_of(0);
    aot_fake weights = aot_fake_make(k, (aot_dtype)q.dtype, 1, &none, q.device);
    if (aot_call_bool(k, 10, "need_weights", true)) {
        bool mean = aot_call_bool(k, 11, "average_attn_weights", true);
        size[1] = mean ? size[2] : size[1];
        size[2] = mean ? size[3] : size[2];
        weights = aot_fake_make(k, (aot_dtype)q.dtype, mean ? 3 : 4, size, q.device);
    }
    aot_call_push(k, &weights);
    return AOT_OK;
}

/* ---- CPU ----------------------------------------------------------------------------------- */

aot_status meta_sdpa_flash_for_cpu(aot_call *k)
{
    aot_fake q;
    AOT_TRY(need_query(k, 0, 4, &q));
    push_like(k, &q);
    aot_fake lse = aot_fake_make(k, AOT_F32, 3, q.size, q.device);
    set_swapped(k, &lse);
    aot_call_push(k, &lse);
    return AOT_OK;
}

/* Gradients of query, key and value: batch, length, heads, depth in memory. */
aot_status meta_sdpa_flash_for_cpu_backward(aot_call *k)
{
    static const char *const names[] = {"query", "key", "value"};
    for (unsigned i = 0; i < 3; i++) {
        aot_fake t;
        AOT_TRY(aot_call_need(k, i + 1, names[i], &t));
        if (t.ndim == 4) {
            set_swapped(k, &t);
        }
        aot_call_push(k, &t);
    }
    return AOT_OK;
}

/* ---- CUDA ---------------------------------------------------------------------------------- */

/* The drawn mask for debugging: rounded up to the kernel's block. */
static void push_debug_mask(aot_call *k, const aot_fake *q, aot_dim heads, aot_dim len_q,
                            aot_dim len_k, bool wanted)
{
    if (!wanted) {
        aot_push_vector(k, q, q->dtype, aot_dim_of(0));
        return;
    }
    int64_t block = q->size[q->ndim - 1].value > 64 ? 128 : 256;
    int64_t n = (len_q.value + block - 1) / block;
    n = len_k.value <= 128 ? 128 : len_k.value <= 256 ? 256 : n;
    aot_dim sizes[] = {q->size[0], heads, len_q, aot_dim_of(n)};
    aot_fake mask = aot_fake_make(k, q->dtype, 4, sizes, q->device);
    aot_call_push(k, &mask);
}

/* _scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, debug_mask) */
aot_status meta_sdpa_flash(aot_call *k)
{
    aot_fake q, key;
    AOT_TRY(need_query(k, 0, 4, &q));
    AOT_TRY(aot_call_need(k, 1, "key", &key));
    push_like(k, &q);
    aot_fake lse = aot_fake_make(k, AOT_F32, 3, q.size, q.device);
    aot_call_push(k, &lse);
    aot_call_push_none(k);
    aot_call_push_none(k);
    push_sym(k, q.size[2]);
    push_sym(k, key.size[2]);
    push_random_state(k, &q, true);
    push_debug_mask(k, &q, q.size[1], q.size[2], key.size[2],
                    aot_call_bool(k, 5, "return_debug_mask", false));
    return AOT_OK;
}

/* Gradients like query, key and value: the strides of each are kept. */
aot_status meta_sdpa_grads_like(aot_call *k)
{
    static const char *const names[] = {"query", "key", "value"};
    for (unsigned i = 0; i < 3; i++) {
        aot_fake t;
        AOT_TRY(aot_call_need(k, i + 1, names[i], &t));
        push_like(k, &t);
    }
    return AOT_OK;
}

/* n rounded up to a multiple of block. */
static aot_dim round_up(const aot_call *k, aot_dim n, int64_t block)
{
    n = aot_dim_add(k->c, n, aot_dim_of(block - 1));
    return aot_dim_mul(k->c, aot_dim_floordiv(k->c, n, aot_dim_of(block)), aot_dim_of(block));
}

/* Batch, length, heads, depth in memory; the sums are padded to blocks of 32. */
aot_status meta_sdpa_efficient(aot_call *k)
{
    aot_fake q, value;
    AOT_TRY(need_query(k, 0, 4, &q));
    AOT_TRY(need_value(k, &value));
    aot_fake out = q;
    out.size[3] = value.size[value.ndim - 1];
    set_swapped(k, &out);
    aot_call_push(k, &out);
    aot_dim rows = aot_dim_of(0);
    if (aot_call_bool(k, 4, "compute_log_sumexp", true)) {
        rows = round_up(k, q.size[2], 32);
    }
    aot_dim sizes[] = {q.size[0], q.size[1], rows};
    aot_fake lse = aot_fake_make(k, AOT_F32, 3, sizes, q.device);
    aot_call_push(k, &lse);
    push_random_state(k, &q, false);
    return AOT_OK;
}

/* Rows of a bias' gradient are aligned to 16 elements. */
static void push_bias_grad(aot_call *k, const aot_fake *bias)
{
    aot_fake t = *bias;
    if (t.ndim > 0) {
        t.size[t.ndim - 1] = round_up(k, t.size[t.ndim - 1], 16);
        aot_fake_set_contiguous(k->c, &t);
        t.size[t.ndim - 1] = bias->size[t.ndim - 1];
    }
    aot_call_push(k, &t);
}

/* (grad_out, query, key, value, attn_bias, ..., grad_input_mask at 10, ...) */
aot_status meta_sdpa_efficient_backward(aot_call *k)
{
    aot_fake bias;
    AOT_TRY(meta_sdpa_flash_for_cpu_backward(k));
    if (aot_call_tensor(k, 4, "attn_bias", &bias) && aot_call_flag(k, 10, "grad_input_mask", 3)) {
        push_bias_grad(k, &bias);
    } else {
        aot_call_push_none(k);
    }
    return AOT_OK;
}

/* _efficient_attention_forward(query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
 * max_seqlen_k, ...): batch, length, heads, depth. */
aot_status meta_efficient_attention_forward(aot_call *k)
{
    aot_fake q, key, value, cum;
    AOT_TRY(need_query(k, 0, 4, &q));
    AOT_TRY(aot_call_need(k, 1, "key", &key));
    AOT_TRY(need_value(k, &value));
    bool varlen = aot_call_tensor(k, 4, "cu_seqlens_q", &cum);
    aot_dim batch = varlen ? aot_dim_sub(k->c, cum.size[0], aot_dim_of(1)) : q.size[0];
    aot_dim len_q = varlen ? aot_call_int(k, 6, "max_seqlen_q", 0) : q.size[1];
    aot_dim len_k = aot_call_arg(k, 7, "max_seqlen_k") ? aot_call_int(k, 7, "max_seqlen_k", 0)
                                                       : key.size[1];
    aot_dim sizes[] = {q.size[0], q.size[1], q.size[2], value.size[value.ndim - 1]};
    aot_fake out = aot_fake_make(k, q.dtype, 4, sizes, q.device);
    aot_call_push(k, &out);
    bool sums = aot_call_bool(k, 10, "compute_log_sumexp", false);
    aot_dim lse_sizes[] = {batch, q.size[2], sums ? round_up(k, len_q, 32) : aot_dim_of(0)};
    aot_fake lse = aot_fake_make(k, AOT_F32, 3, lse_sizes, q.device);
    aot_call_push(k, &lse);
    push_random_state(k, &q, false);
    push_sym(k, len_q);
    push_sym(k, len_k);
    return AOT_OK;
}

/* (grad_out, query, key, value, bias, ...); without a bias its gradient is an empty scalar. */
aot_status meta_efficient_attention_backward(aot_call *k)
{
    aot_fake q, bias;
    AOT_TRY(need_query(k, 1, 4, &q));
    AOT_TRY(meta_sdpa_grads_like(k));
    if (aot_call_tensor(k, 4, "bias", &bias)) {
        push_bias_grad(k, &bias);
    } else {
        aot_push_scalar(k, &q, AOT_F32);
    }
    return AOT_OK;
}

/* Output laid out as the query is (dimensions in the query's order of strides), the log-sum-exp
 * with the first lse_ndim of batch, heads, length and 1. */
static aot_status like_query(aot_call *k, unsigned lse_ndim)
{
    aot_fake q, key, value;
    AOT_TRY(need_query(k, 0, 4, &q));
    AOT_TRY(aot_call_need(k, 1, "key", &key));
    AOT_TRY(need_value(k, &value));
    aot_fake out = q;
    out.size[3] = value.size[value.ndim - 1];
    aot_fake_set_empty_like(k, &out, &q);
    aot_call_push(k, &out);
    aot_dim sizes[] = {q.size[0], q.size[1], q.size[2], aot_dim_of(1)};
    aot_fake lse = aot_fake_make(k, AOT_F32, lse_ndim, sizes, q.device);
    aot_call_push(k, &lse);
    aot_call_push_none(k);
    aot_call_push_none(k);
    push_sym(k, q.size[2]);
    push_sym(k, key.size[2]);
    push_random_state(k, &q, false);
    aot_call_push_none(k);
    return AOT_OK;
}

/* _scaled_dot_product_fused_attention_overrideable(query, key, value, ...) */
aot_status meta_sdpa_overrideable(aot_call *k)
{
    return like_query(k, 3);
}

aot_status meta_sdpa_cudnn(aot_call *k)
{
    return like_query(k, 4);
}

/* _flash_attention_forward(query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, ...): batch,
 * length, heads, depth; or all lengths in one dimension if there are offsets. */
aot_status meta_flash_attention_forward(aot_call *k)
{
    aot_fake q, key, cum;
    AOT_TRY(need_query(k, 0, 3, &q));
    AOT_TRY(aot_call_need(k, 1, "key", &key));
    bool varlen = aot_call_tensor(k, 3, "cum_seq_q", &cum);
    aot_dim heads = q.size[q.ndim - 2];
    aot_dim len_q = varlen ? aot_call_int(k, 5, "max_q", 0) : q.size[1];
    aot_dim len_k = aot_call_arg(k, 4, "cum_seq_k") ? aot_call_int(k, 6, "max_k", 0) : key.size[1];
    push_like(k, &q);
    aot_dim sizes[] = {q.size[0], heads, len_q};
    if (varlen) {
        sizes[0] = heads;
        sizes[1] = q.size[0];
    }
    aot_fake lse = aot_fake_make(k, AOT_F32, varlen ? 2 : 3, sizes, q.device);
    aot_call_push(k, &lse);
    push_random_state(k, &q, true);
    push_debug_mask(k, &q, heads, len_q, len_k, aot_call_bool(k, 9, "return_debug_mask", false));
    return AOT_OK;
}
