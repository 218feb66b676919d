/* Cells of recurrent networks.
 *
 * Mirrors: aten/src/ATen/native/RNN.cpp (SimpleCell, LSTMCell, GRUCell) */
#include "trace/trace.h"

/* linear(hidden, w_hh, b_hh) + linear(input, w_ih, b_ih); the weights stand at `pos` of the call:
 * w_ih, w_hh, b_ih, b_hh. */
static aot_tensor *gates(aot_expand *k, aot_value input, aot_value hidden, unsigned pos)
{
    aot_tracer *t = k->t;
    aot_tensor *h = AOT(t, aten_linear, hidden, k->args[pos + 1], k->args[pos + 3]);
    aot_tensor *i = AOT(t, aten_linear, input, k->args[pos], k->args[pos + 2]);
    return AOT(t, aten_add__Tensor, h, i);
}

/* rnn_tanh_cell, rnn_relu_cell(input, hx, w_ih, w_hh, b_ih, b_hh) */
bool composite_rnn_cell(aot_expand *k)
{
    aot_tensor *x = gates(k, k->args[0], k->args[1], 2);
    return aot_x_give(k, k->op == AOT_OP_aten_rnn_relu_cell ? AOT(k->t, aten_relu, x)
                                                            : AOT(k->t, aten_tanh, x));
}

/* lstm_cell(input, hx [hidden, cell], w_ih, w_hh, b_ih, b_hh) */
bool composite_lstm_cell(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_value state = k->args[1];
    if (state.n != 2) {
        aot_trace_fail(t, AOT_E_SHAPE, "lstm_cell expects two hidden states");
    }
    aot_tensor *all = gates(k, k->args[0], state.u.items[0], 2);
    aot_value part = AOT_V(t, aten_unsafe_chunk, all, 4, 1);
    aot_tensor *in = AOT(t, aten_sigmoid_, aot_v_item(part, 0));
    aot_tensor *forget = AOT(t, aten_sigmoid_, aot_v_item(part, 1));
    aot_tensor *cell = AOT(t, aten_tanh_, aot_v_item(part, 2));
    aot_tensor *out = AOT(t, aten_sigmoid_, aot_v_item(part, 3));
    aot_tensor *kept = AOT(t, aten_mul_Tensor, forget, state.u.items[1]);
    aot_tensor *fresh = AOT(t, aten_mul_Tensor, in, cell);
    aot_tensor *c = AOT(t, aten_add__Tensor, kept, fresh);
    aot_tensor *h = AOT(t, aten_tanh, c);
    h = AOT(t, aten_mul_Tensor, out, h);
    return aot_x_give_tuple(k, 2, (aot_tensor *const[]){h, c});
}

/* gru_cell(input, hx, w_ih, w_hh, b_ih, b_hh) */
bool composite_gru_cell(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *hidden = aot_x_tensor(k, 1);
    aot_tensor *x = AOT(t, aten_linear, k->args[0], k->args[2], k->args[4]);
    aot_value i = AOT_V(t, aten_unsafe_chunk, x, 3, 1);
    x = AOT(t, aten_linear, hidden, k->args[3], k->args[5]);
    aot_value h = AOT_V(t, aten_unsafe_chunk, x, 3, 1);
    aot_tensor *reset = AOT(t, aten_add__Tensor, aot_v_item(h, 0), aot_v_item(i, 0));
    reset = AOT(t, aten_sigmoid_, reset);
    aot_tensor *input = AOT(t, aten_add__Tensor, aot_v_item(h, 1), aot_v_item(i, 1));
    input = AOT(t, aten_sigmoid_, input);
    aot_tensor *fresh = AOT(t, aten_mul__Tensor, aot_v_item(h, 2), reset);
    fresh = AOT(t, aten_add_Tensor, aot_v_item(i, 2), fresh);
    fresh = AOT(t, aten_tanh_, fresh);
    x = AOT(t, aten_sub_Tensor, hidden, fresh);
    x = AOT(t, aten_mul__Tensor, x, input);
    return aot_x_give(k, AOT(t, aten_add__Tensor, x, fresh));
}
