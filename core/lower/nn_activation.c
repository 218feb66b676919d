/* Activations and dropouts of torch.nn.functional that are more than one operator.
 *
 * Mirrors: torch/nn/functional.py (softmax, softmin, log_softmax, gumbel_softmax, tanhshrink,
 * softsign, dropout1d, dropout3d) */
#include "lower/nn.h"

/* _get_softmax_dim: what dim=None means. */
static aot_value softmax_dim(const aot_pycall *k, const aot_tensor *x)
{
    unsigned n = aot_ndim(x);
    return nn_arg_or(k, 1, "dim", aot_v_int(n == 0 || n == 1 || n == 3 ? 0 : 1));
}

aot_value lower_softmax(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_value dim = softmax_dim(k, x);
    aot_value dtype = nn_arg(k, 3, "dtype");
    if (nn_is(k, "log_softmax")) {
        return AOT_V(t, aten_log_softmax_int, x, dim, dtype);
    }
    if (nn_is(k, "softmin")) {
        x = AOT(t, aten_neg, x);
    }
    return AOT_V(t, aten_softmax_int, x, dim, dtype);
}

aot_value lower_gumbel_softmax(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *logits = aot_l_need_tensor(k, 0, "logits");
    aot_value tau = nn_arg_or(k, 1, "tau", aot_v_int(1));
    aot_value dim = nn_arg_or(k, 4, "dim", aot_v_int(-1));
    aot_value contiguous = aot_v_name(t, "torch.contiguous_format");
    aot_tensor *g = AOT(t, aten_empty_like, logits, AOT_NONE, AOT_NONE, AOT_NONE, false,
                        contiguous);
    g = AOT(t, aten_exponential_, g);
    g = AOT(t, aten_log, g);
    g = AOT(t, aten_neg, g);
    g = AOT(t, aten_add_Tensor, logits, g);
    g = AOT(t, aten_div_Tensor, g, tau);
    aot_tensor *soft = AOT(t, aten_softmax_int, g, dim);
    if (!aot_l_bool(k, 2, "hard", false)) {
        return aot_v_tensor(soft);
    }
    aot_tensor *index = aot_v_item(AOT_V(t, aten_max_dim, soft, dim, true), 1);
    aot_tensor *hard = AOT(t, aten_zeros_like, logits, AOT_NONE, AOT_NONE, AOT_NONE, false,
                           contiguous);
    hard = AOT(t, aten_scatter__value, hard, dim, index, 1.0);
    aot_tensor *fixed = AOT(t, aten_detach, soft);
    hard = AOT(t, aten_sub_Tensor, hard, fixed);
    return AOT_V(t, aten_add_Tensor, hard, soft);
}

aot_value lower_tanhshrink(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_tensor *y = AOT(k->t, aten_tanh, x);
    return AOT_V(k->t, aten_sub_Tensor, x, y);
}

aot_value lower_softsign(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_tensor *y = AOT(k->t, aten_abs, x);
    y = AOT(k->t, aten_add_Tensor, y, 1);
    return AOT_V(k->t, aten_div_Tensor, x, y);
}

/* Without a batch dimension there is one for the time of the call. */
aot_value lower_dropout_nd(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_value p = nn_arg_or(k, 1, "p", aot_v_float(0.5));
    aot_value training = nn_arg_or(k, 2, "training", aot_v_bool(true));
    bool inplace = aot_l_bool(k, 3, "inplace", false);
    bool batched = aot_ndim(x) == (nn_is(k, "dropout1d") ? 3 : 5);
    if (!batched) {
        x = inplace ? AOT(t, aten_unsqueeze_, x, 0) : AOT(t, aten_unsqueeze, x, 0);
    }
    x = inplace ? AOT(t, aten_feature_dropout_, x, p, training)
                : AOT(t, aten_feature_dropout, x, p, training);
    if (!batched) {
        x = inplace ? AOT(t, aten_squeeze__dim, x, 0) : AOT(t, aten_squeeze_dim, x, 0);
    }
    return aot_v_tensor(x);
}
