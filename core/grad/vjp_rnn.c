/* Gradients of recurrent cells' kernels and of packing. */
#include "grad/call.h"
#include "grad/steps.h"

/* _pack_padded_sequence(input, lengths, batch_first) -> (data, batch_sizes) */
GRAD_CALL(vjp_pack_padded_sequence, SETS(0), aten__pack_padded_sequence_backward, G(0), SIZES(0),
          R(1), A(2))

static bool has_bias(const aot_vjp *b, unsigned pos)
{
    return !aot_vjp_is_none(b, pos);
}

static void set_all(aot_vjp *b, unsigned n, aot_value got)
{
    for (unsigned i = 0; i < n; i++) {
        if (aot_vjp_needs(b, i)) {
            aot_vjp_set(b, i, aot_v_item(got, i));
        }
    }
}

/* _thnn_fused_gru_cell(input_gates, hidden_gates, hx, input_bias, hidden_bias) -> (hy,
 * workspace) */
void vjp_fused_gru_cell(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);

    set_all(b, 5,
            AOT_V(t, aten__thnn_fused_gru_cell_backward, aot_vjp_grad(b, 0), aot_vjp_out(b, 1),
                  aot_v_bool(has_bias(b, 3))));
}

/* _thnn_fused_lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias) ->
 * (hy, cy, workspace) */
void vjp_fused_lstm_cell(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);

    set_all(b, 5,
            AOT_V(t, aten__thnn_fused_lstm_cell_backward, aot_vjp_grad(b, 0), aot_vjp_grad(b, 1),
                  aot_vjp_in(b, 2), aot_vjp_out(b, 1), aot_vjp_out(b, 2),
                  aot_v_bool(has_bias(b, 3))));
}

/* segment_reduce(data, reduce, lengths, indices, offsets, axis, unsafe, initial) */
GRAD_CALL(vjp_segment_reduce, SETS(0), aten__segment_reduce_backward, G(0), R(0), A(0), A(1), A(2),
          A(4), A(5), A(7))

/* Fake quantisation passes the gradient where the value was in range. */
void vjp_fake_quantize_cachemask(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);

    aot_vjp_set(b, 0, AOT(t, aten_mul_Tensor, aot_vjp_grad(b, 0), aot_vjp_out(b, 1)));
}

GRAD_CALL(vjp_fake_quantize_learnable_tensor, SETS(0, 1, 2),
          aten__fake_quantize_learnable_per_tensor_affine_backward, G(0), A(0), A(1), A(2), A(3),
          A(4), A(5))
GRAD_CALL(vjp_fake_quantize_learnable_channel, SETS(0, 1, 2),
          aten__fake_quantize_learnable_per_channel_affine_backward, G(0), A(0), A(1), A(2), A(3),
          A(4), A(5), A(6))
