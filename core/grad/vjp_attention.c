/* Gradients of attention. */
#include "grad/call.h"

GRAD_CALL(vjp_sdpa_flash_for_cpu, SETS(0, 1, 2),
          aten__scaled_dot_product_flash_attention_for_cpu_backward, G(0), A(0), A(1), A(2), R(0),
          R(1), A(3), A(4), A(5), A(6))
GRAD_CALL(vjp_sdpa_efficient, SETS(0, 1, 2, 3),
          aten__scaled_dot_product_efficient_attention_backward, G(0), A(0), A(1), A(2), A(3), R(0),
          R(1), R(2), R(3), A(5), MASK, A(6), A(7))
GRAD_CALL(vjp_masked_softmax, SETS(0), aten__masked_softmax_backward, G(0), R(0), A(1), A(2))

/* The longest sequences are results too; they are the sizes. */
static void flash_like(aot_vjp *b, aot_op_id op, bool bias)
{
    aot_tracer *t = aot_vjp_tracer(b);
    unsigned first = bias ? 5 : 3;
    aot_value got, args[16] = {aot_v_tensor(aot_vjp_grad(b, 0)),
                               aot_vjp_arg(b, 0),
                               aot_vjp_arg(b, 1),
                               aot_vjp_arg(b, 2),
                               aot_v_tensor(aot_vjp_out(b, 0)),
                               aot_v_tensor(aot_vjp_out(b, 1))};
    aot_value lengths[4] = {aot_v_tensor(aot_vjp_out(b, 2)), aot_v_tensor(aot_vjp_out(b, 3)),
                            aot_v_dim(aot_size(aot_vjp_in(b, 0), 2)),
                            aot_v_dim(aot_size(aot_vjp_in(b, 1), 2))};
    aot_value seeds[2] = {aot_v_tensor(aot_vjp_out(b, 6)), aot_v_tensor(aot_vjp_out(b, 7))};
    unsigned n = 6;

    if (bias) {
        args[n++] = seeds[0];
        args[n++] = seeds[1];
        args[n++] = aot_vjp_arg(b, 3);
    }
    for (unsigned i = 0; i < 4; i++) {
        args[n++] = lengths[i];
    }
    args[n++] = aot_vjp_arg(b, first);
    args[n++] = aot_vjp_arg(b, first + 1);
    if (!bias) {
        args[n++] = seeds[0];
        args[n++] = seeds[1];
    }
    args[n++] = aot_vjp_arg(b, first + 3);
    got = aot_call_op(t, op, n, args);
    for (unsigned i = 0; i < 3; i++) {
        if (aot_vjp_needs(b, i)) {
            aot_vjp_set(b, i, aot_v_item(got, i));
        }
    }
}

void vjp_sdpa_flash(aot_vjp *b)
{
    flash_like(b, AOT_OP_aten__scaled_dot_product_flash_attention_backward, false);
}

void vjp_sdpa_cudnn(aot_vjp *b)
{
    flash_like(b, AOT_OP_aten__scaled_dot_product_cudnn_attention_backward, true);
}

/* (query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, ..., scale,
 * window_size_left, window_size_right): packed sequences. */
GRAD_CALL(vjp_flash_attention_forward, SETS(0, 1, 2), aten__flash_attention_backward, G(0), A(0),
          A(1), A(2), R(0), R(1), A(3), A(4), A(5), A(6), A(7), A(8), R(2), R(3), A(10), A(11),
          A(12))

/* grad of bias is asked for by a flag, not a mask. */
void vjp_efficient_attention_forward(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *q = aot_vjp_in(b, 0), *k = aot_vjp_in(b, 1), *bias = aot_vjp_in(b, 3);
    aot_value got, max_q = aot_vjp_arg(b, 6), max_k = aot_vjp_arg(b, 7);
    aot_value args[] = {
        aot_v_tensor(aot_vjp_grad(b, 0)),
        aot_v_tensor(q),
        aot_v_tensor(k),
        aot_vjp_arg(b, 2),
        aot_v_tensor(bias),
        aot_v_tensor(aot_vjp_out(b, 0)),
        aot_vjp_arg(b, 4),
        aot_vjp_arg(b, 5),
        max_q.kind == AOT_V_NONE ? aot_v_dim(aot_size(q, 1)) : max_q,
        max_k.kind == AOT_V_NONE ? aot_v_dim(aot_size(k, 1)) : max_k,
        aot_v_tensor(aot_vjp_out(b, 1)),
        aot_vjp_arg(b, 8),
        aot_v_tensor(aot_vjp_out(b, 2)),
        aot_v_tensor(aot_vjp_out(b, 3)),
        aot_vjp_arg(b, 9),
        aot_v_bool(aot_requires_grad(bias)),
        aot_vjp_arg(b, 11),
    };

    got = aot_call_op(t, AOT_OP_aten__efficient_attention_backward, sizeof args / sizeof *args,
                      args);
    for (unsigned i = 0; i < 4; i++) {
        if (aot_vjp_needs(b, i)) {
            aot_vjp_set(b, i, aot_v_item(got, i));
        }
    }
}
