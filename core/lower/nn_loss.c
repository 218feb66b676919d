/* Losses of torch.nn.functional that are more than one operator.
 *
 * Mirrors: torch/nn/functional.py */
#include "lower/nn.h"

#include <math.h>

/* mse_loss and l1_loss with a weight: mean is the weighted mean. */
static aot_value weighted_loss(const aot_pycall *k, aot_tensor *x, aot_tensor *y, aot_tensor *w,
                               int reduction)
{
    aot_tracer *t = k->t;
    aot_tensor *e = AOT(t, aten_sub_Tensor, x, y);
    e = nn_is(k, "mse_loss") ? AOT(t, aten_pow_Tensor_Scalar, e, 2) : AOT(t, aten_abs, e);
    e = AOT(t, aten_mul_Tensor, e, w);
    if (reduction == 0) {
        return aot_v_tensor(e);
    }
    e = AOT(t, aten_sum, e);
    if (reduction == 1) {
        aot_tensor *total = AOT(t, aten_sum, w);
        e = AOT(t, aten_div_Tensor, e, total);
    }
    return aot_v_tensor(e);
}

static aot_value huber_loss(const aot_pycall *k, aot_tensor *x, aot_tensor *y)
{
    aot_tracer *t = k->t;
    int reduction = nn_reduction(k, -1, -1, 2);
    aot_value delta = nn_arg_or(k, 3, "delta", aot_v_float(1));
    aot_tensor *w = aot_l_tensor(k, 4, "weight");
    if (w == NULL) {
        return AOT_V(t, aten_huber_loss, x, y, reduction, delta);
    }
    aot_tensor *e = AOT(t, aten_huber_loss, x, y, 0, delta);
    e = AOT(t, aten_mul_Tensor, e, w);
    return aot_v_tensor(nn_reduce(t, e, reduction));
}

aot_value lower_broadcast_loss(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_tensor *y = aot_l_tensor(k, 1, "target");
    nn_broadcast(t, &x, &y);
    if (nn_is(k, "huber_loss")) {
        return huber_loss(k, x, y);
    }
    int reduction = nn_reduction(k, 2, 3, 4);
    if (nn_is(k, "smooth_l1_loss")) {
        double beta = aot_l_float(k, 5, "beta", 1.0);
        return beta == 0 ? AOT_V(t, aten_l1_loss, x, y, reduction)
                         : AOT_V(t, aten_smooth_l1_loss, x, y, reduction, beta);
    }
    aot_tensor *w = aot_l_tensor(k, 5, "weight");
    if (w != NULL) {
        return weighted_loss(k, x, y, w, reduction);
    }
    return nn_is(k, "mse_loss") ? AOT_V(t, aten_mse_loss, x, y, reduction)
                                : AOT_V(t, aten_l1_loss, x, y, reduction);
}

aot_value lower_kl_div(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    bool by_batch = aot_l_str_is(k, 4, "reduction", "mean", "batchmean");
    int reduction = by_batch ? 2 : nn_reduction(k, 2, 3, 4);
    aot_value log_target = nn_arg_or(k, 5, "log_target", aot_v_bool(false));
    aot_tensor *r = AOT(t, aten_kl_div, x, nn_arg(k, 1, "target"), reduction, log_target);
    return by_batch && aot_ndim(x) != 0 ? AOT_V(t, aten_div_Tensor, r, aot_size(x, 0))
                                        : aot_v_tensor(r);
}

aot_value lower_binary_cross_entropy(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *y = aot_l_tensor(k, 1, "target");
    aot_tensor *w = aot_l_tensor(k, 2, "weight");
    if (w != NULL) {
        w = AOT(t, aten_expand, w, nn_broadcast_sizes(t, aot_sizes(y), aot_sizes(w)));
    }
    return AOT_V(t, aten_binary_cross_entropy, nn_arg(k, 0, "input"), y, w,
                 nn_reduction(k, 3, 4, 5));
}

aot_value lower_multilabel_soft_margin_loss(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_tensor *y = aot_l_tensor(k, 1, "target");
    aot_tensor *w = aot_l_tensor(k, 2, "weight");
    aot_tensor *positive = AOT(t, aten_log_sigmoid, x);
    positive = AOT(t, aten_mul_Tensor, y, positive);
    aot_tensor *rest = AOT(t, aten_rsub_Scalar, y, 1);
    aot_tensor *negative = AOT(t, aten_neg, x);
    negative = AOT(t, aten_log_sigmoid, negative);
    negative = AOT(t, aten_mul_Tensor, rest, negative);
    aot_tensor *loss = AOT(t, aten_add_Tensor, positive, negative);
    loss = AOT(t, aten_neg, loss);
    if (w != NULL) {
        loss = AOT(t, aten_mul_Tensor, loss, w);
    }
    int64_t class_dim = (int64_t)aot_ndim(x) - 1;
    loss = AOT(t, aten_sum_dim_IntList, loss, class_dim);
    loss = AOT(t, aten_div_Tensor, loss, aot_size(x, class_dim));
    return aot_v_tensor(nn_reduce(t, loss, nn_reduction(k, 3, 4, 5)));
}

aot_value lower_ctc_loss(const aot_pycall *k)
{
    aot_value args[] = {
        nn_arg(k, 0, "log_probs"),
        nn_arg(k, 1, "targets"),
        nn_arg(k, 2, "input_lengths"),
        nn_arg(k, 3, "target_lengths"),
        nn_arg_or(k, 4, "blank", aot_v_int(0)),
        aot_v_int(nn_reduction(k, -1, -1, 5)),
        nn_arg_or(k, 6, "zero_infinity", aot_v_bool(false)),
    };
    bool lists = aot_v_is_list(args[2]);
    return aot_call_op(k->t, lists ? AOT_OP_aten_ctc_loss_IntList : AOT_OP_aten_ctc_loss_Tensor, 7,
                       args);
}

aot_value lower_gaussian_nll_loss(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    aot_tensor *y = aot_l_tensor(k, 1, "target");
    aot_value given = nn_arg(k, 2, "var");
    aot_tensor *var = given.kind == AOT_V_TENSOR ? given.u.t : NULL;
    if (var == NULL) {
        var = AOT(t, aten_ones_like, x);
        var = AOT(t, aten_mul_Tensor, var, given);
    }
    if (aot_ndim(var) + 1 == aot_ndim(x)) {
        var = AOT(t, aten_unsqueeze, var, -1);
    }
    var = AOT(t, aten_clone, var);
    bool grad = aot_set_grad_enabled(t, false);
    (void)AOT(t, aten_clamp_, var, nn_arg_or(k, 4, "eps", aot_v_float(1e-6)));
    (void)aot_set_grad_enabled(t, grad);
    aot_tensor *log_var = AOT(t, aten_log, var);
    aot_tensor *e = AOT(t, aten_sub_Tensor, x, y);
    e = AOT(t, aten_pow_Tensor_Scalar, e, 2);
    e = AOT(t, aten_div_Tensor, e, var);
    aot_tensor *loss = AOT(t, aten_add_Tensor, log_var, e);
    loss = AOT(t, aten_mul_Tensor, loss, 0.5);
    if (aot_l_bool(k, 3, "full", false)) {
        loss = AOT(t, aten_add__Tensor, loss, 0.5 * log(2 * 3.14159265358979323846));
    }
    return aot_v_tensor(nn_reduce(t, loss, nn_reduction(k, -1, -1, 5)));
}

aot_value lower_triplet_with_distance(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    if (aot_l_given(k, 3, "distance_function")) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "%s: a distance function is not a value of a graph",
                       nn_name(k));
    }
    aot_tensor *anchor = aot_l_need_tensor(k, 0, "anchor");
    aot_tensor *positive = aot_l_tensor(k, 1, "positive");
    aot_tensor *negative = aot_l_tensor(k, 2, "negative");
    aot_tensor *near = AOT(t, aten_pairwise_distance, anchor, positive);
    aot_tensor *far = AOT(t, aten_pairwise_distance, anchor, negative);
    if (aot_l_bool(k, 5, "swap", false)) {
        aot_tensor *swapped = AOT(t, aten_pairwise_distance, positive, negative);
        far = AOT(t, aten_minimum, far, swapped);
    }
    near = AOT(t, aten_add_Tensor, near, nn_arg_or(k, 4, "margin", aot_v_float(1)));
    aot_tensor *loss = AOT(t, aten_sub_Tensor, near, far);
    loss = AOT(t, aten_clamp_min, loss, 0);
    return aot_v_tensor(nn_reduce(t, loss, nn_reduction(k, -1, -1, 6)));
}
