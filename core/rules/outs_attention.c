/* Outputs of fused attention. query is [B, H, L, E], key [B, H, S, E], value [B, H, S, Ev]; the
 * log-sum-exp of each row is kept for the backward, with the generator's state where dropout needs
 * it. */
#include "rules/outs.h"

/* Output and log-sum-exp [B, H, L]. */
static bool push_output(aot_outs *o, bool keep_value_size, int64_t rows)
{
    aot_out_type q, v;
    if (!aot_outs_tensor(o, 0, "query", &q) || !aot_outs_tensor(o, 2, "value", &v) || q.ndim != 4 ||
        v.ndim != 4) {
        return false;
    }
    aot_out_type out = q;
    if (keep_value_size) {
        out.sizes[3] = v.sizes[3];
    }
    aot_outs_push(o, out);
    int64_t lse[] = {q.sizes[0], q.sizes[1], rows == AOT_HINT_NONE ? q.sizes[2] : rows};
    aot_outs_push(o, aot_outs_type(q.dtype == AOT_F64 ? AOT_F64 : AOT_F32, 3, lse));
    return true;
}

void outs_flash_attention_for_cpu(aot_outs *o)
{
    push_output(o, false, AOT_HINT_NONE);
}

/* A generator state: seed and offset in one, and a second tensor that is not used. */
static void push_state(aot_outs *o, aot_dtype d, unsigned n)
{
    int64_t size = n;
    aot_outs_push(o, aot_outs_type(d, n > 0, &size));
}

/* output, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, rng_state, unused, debug_attn_mask */
void outs_flash_attention(aot_outs *o)
{
    if (!push_output(o, false, AOT_HINT_NONE)) {
        return;
    }
    for (unsigned i = 0; i < 4; i++) { /* absent sequences, and two numbers */
        aot_outs_push_none(o);
    }
    push_state(o, AOT_U64, 2);
    push_state(o, AOT_U64, 0);
    aot_out_type q;
    int64_t none = 0;
    if (aot_outs_tensor(o, 0, "query", &q)) {
        aot_outs_push(o, aot_outs_type(q.dtype, 1, &none));
    }
}

/* output, log_sumexp (rows rounded up to 32, or none), philox_seed, philox_offset */
void outs_efficient_attention(aot_outs *o)
{
    aot_out_type q;
    if (!aot_outs_tensor(o, 0, "query", &q) || q.ndim != 4) {
        return;
    }
    int64_t rows = aot_mul_size(aot_ceil_div_size(q.sizes[2], 32), 32);
    if (push_output(o, true, aot_outs_bool(o, 4, "compute_log_sumexp", true) ? rows : 0)) {
        push_state(o, AOT_I64, 0);
        push_state(o, AOT_I64, 0);
    }
}

/* output, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, philox_seed, philox_offset,
 * debug_attn_mask */
void outs_cudnn_attention(aot_outs *o)
{
    aot_out_type q;
    if (!aot_outs_tensor(o, 0, "query", &q) || q.ndim != 4 ||
        !push_output(o, true, AOT_HINT_NONE)) {
        return;
    }
    int64_t lse[] = {q.sizes[0], q.sizes[1], q.sizes[2], 1};
    o->outs.n--;
    if (aot_outs_bool(o, 4, "compute_log_sumexp", true)) {
        aot_outs_push(o, aot_outs_type(AOT_F32, 4, lse));
    } else {
        aot_outs_push_none(o);
    }
    for (unsigned i = 0; i < 4; i++) {
        aot_outs_push_none(o);
    }
    push_state(o, AOT_I64, 0);
    push_state(o, AOT_I64, 0);
    aot_outs_push_none(o);
}

/* (grad_out, query, key, value, ...): gradients of the three. */
void outs_attention_backward(aot_outs *o)
{
    aot_outs_push_like(o, 1, "query", true);
    aot_outs_push_like(o, 2, "key", true);
    aot_outs_push_like(o, 3, "value", true);
}

/* The same and the bias, as grad_input_mask asks. */
void outs_efficient_attention_backward(aot_outs *o)
{
    outs_attention_backward(o);
    aot_outs_push_like(o, 4, "attn_bias", aot_outs_mask(o, 10, "grad_input_mask", 3));
}

/* Output and log-sum-exp [B, H, L], with the key's row maxima where they are asked for:
 * (query, key, value, score_mod, block_mask, scale, kernel_options, ...). */
void outs_flex_attention(aot_outs *o)
{
    if (push_output(o, true, AOT_HINT_NONE)) {
        int64_t none = 0;
        aot_out_type lse = o->outs.d[1];
        (void)lse;
        aot_outs_push(o, aot_outs_type(AOT_F32, 1, &none));
    }
}

/* (query, key, value, out, logsumexp, grad_out, grad_logsumexp, ...): gradients, and those of
 * captured buffers, which are a tuple of their own. */
void outs_flex_attention_backward(aot_outs *o)
{
    aot_outs_push_like(o, 0, "query", true);
    aot_outs_push_like(o, 1, "key", true);
    aot_outs_push_like(o, 2, "value", true);
    aot_outs_push_none(o);
}
