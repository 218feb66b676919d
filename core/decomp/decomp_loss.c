/* Decompositions of losses and their gradients: torch/_decomp/decompositions.py,
 * torch/_refs/nn/functional. */
#include "decomp/decomp.h"

enum { NONE, MEAN, SUM }; // torch.nn._reduction

static aot_tensor *reduce(aot_tracer *t, aot_tensor *loss, int64_t reduction)
{
    return reduction == MEAN  ? AOT(t, aten_mean, loss)
           : reduction == SUM ? AOT(t, aten_sum, loss)
                              : loss;
}

/* scale / the number of elements if the mean is taken, else scale. */
static double norm_of(aot_tracer *t, double scale, const aot_tensor *x, int64_t reduction)
{
    return reduction == MEAN ? scale / dc_float(t, aot_numel(t, x)) : scale;
}

/* x / n for the gradient of a mean. */
static aot_tensor *divide_mean(aot_tracer *t, aot_tensor *x, const aot_tensor *input,
                               int64_t reduction)
{
    return reduction == MEAN ? DIV(x, aot_numel(t, input)) : x;
}

bool decomp_mse_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *x = SUB(aot_x_tensor(k, 0), aot_x_tensor(k, 1));
    aot_tensor *loss = AOT(t, aten_pow_Tensor_Scalar, x, 2);
    return dc_give(k, reduce(t, loss, aot_x_int(k, 2, MEAN)), result);
}

bool decomp_mse_loss_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *input = aot_x_tensor(k, 1);
    double norm = norm_of(t, 2.0, input, aot_x_int(k, 3, MEAN));
    aot_tensor *x = MUL(SUB(input, aot_x_tensor(k, 2)), norm);
    return dc_give(k, MUL(x, aot_x_tensor(k, 0)), result);
}

bool decomp_smooth_l1_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    double beta = aot_x_float(k, 3, 1.0);
    aot_tensor *loss = AOT(t, aten_abs, SUB(aot_x_tensor(k, 0), aot_x_tensor(k, 1)));
    aot_tensor *near = AOT(t, aten_lt_Scalar, loss, beta);
    aot_tensor *square = DIV(MUL(AOT(t, aten_pow_Tensor_Scalar, loss, 2), 0.5), beta);
    aot_tensor *linear = SUB(loss, 0.5 * beta);
    loss = WHERE(near, square, linear);
    return dc_give(k, reduce(t, loss, aot_x_int(k, 2, MEAN)), result);
}

bool decomp_smooth_l1_loss_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *self = aot_x_tensor(k, 1);
    double beta = aot_x_float(k, 4, 1.0);
    double norm = norm_of(t, 1.0, self, aot_x_int(k, 3, MEAN));
    aot_tensor *x = SUB(self, aot_x_tensor(k, 2));
    aot_tensor *distance = AOT(t, aten_abs, x);
    aot_tensor *grad = MUL(aot_x_tensor(k, 0), norm);
    aot_tensor *near = AOT(t, aten_lt_Scalar, distance, beta);
    aot_tensor *square = DIV(MUL(grad, x), beta);
    aot_tensor *linear = MUL(grad, AOT(t, aten_sign, x));
    return dc_give(k, WHERE(near, square, linear), result);
}

bool decomp_huber_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 3, AOT_PROMOTE_DEFAULT);
    double delta = aot_x_float(k, 3, 1.0);
    aot_tensor *z = AOT(t, aten_abs, SUB(aot_x_tensor(k, 0), aot_x_tensor(k, 1)));
    aot_tensor *near = AOT(t, aten_lt_Scalar, z, delta);
    aot_tensor *square = MUL(MUL(z, 0.5), z);
    aot_tensor *linear = MUL(SUB(z, 0.5 * delta), delta);
    aot_tensor *loss = WHERE(near, square, linear);
    return dc_give(k, reduce(t, loss, aot_x_int(k, 2, MEAN)), result);
}

bool decomp_huber_loss_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *self = aot_x_tensor(k, 1);
    double delta = aot_x_float(k, 4, 1.0);
    double norm = norm_of(t, 1.0, self, aot_x_int(k, 3, MEAN));
    aot_tensor *x = SUB(self, aot_x_tensor(k, 2));
    aot_tensor *below = AOT(t, aten_lt_Scalar, x, -delta);
    aot_tensor *low = MUL(MUL(grad, -norm), delta);
    aot_tensor *above = AOT(t, aten_gt_Scalar, x, delta);
    aot_tensor *high = MUL(MUL(grad, norm), delta);
    aot_tensor *middle = MUL(MUL(x, norm), grad);
    aot_tensor *rest = WHERE(above, high, middle);
    return dc_give(k, WHERE(below, low, rest), result);
}

bool decomp_soft_margin_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *x = MUL(NEG(aot_x_tensor(k, 0)), aot_x_tensor(k, 1));
    aot_tensor *loss = AOT(t, aten_log1p, AOT(t, aten_exp, x));
    return dc_give(k, reduce(t, loss, aot_x_int(k, 2, MEAN)), result);
}

bool decomp_soft_margin_loss_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *self = aot_x_tensor(k, 1), *target = aot_x_tensor(k, 2);
    aot_tensor *left = MUL(target, aot_x_tensor(k, 0));
    aot_tensor *right = SUB(AOT(t, aten_sigmoid, MUL(target, self)), 1);
    aot_tensor *grad = MUL(left, right);
    return dc_give(k, divide_mean(t, grad, self, aot_x_int(k, 3, MEAN)), result);
}

/* ---- margins --------------------------------------------------------------------------------- */

static aot_tensor *arange_of(aot_tracer *t, aot_dim n, const aot_tensor *like)
{
    return AOT(t, aten_arange, n, AOT_NONE, AOT_NONE, aot_v_device(aot_device_of(like)), false);
}

bool decomp_multi_margin_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *input = AOT(t, aten_atleast_2d, aot_x_tensor(k, 0));
    aot_tensor *target = AOT(t, aten_atleast_1d, aot_x_tensor(k, 1));
    aot_tensor *weight = aot_x_tensor(k, 4);
    aot_dim n = aot_size(input, 1);
    weight = weight == NULL ? NULL : AOT(t, aten_atleast_1d, weight);
    target = AOT(t, aten_unsqueeze, target, 1);
    aot_tensor *u = AOT(t, aten_gather, input, 1, target);
    aot_tensor *z = AOT(t, aten_clamp_min, ADD(RSUB(u, k->args[3]), input), 0);
    z = dc_is_number(k->args[2], 1) ? z : MUL(z, z);
    if (weight != NULL) {
        z = MUL(z, AOT(t, aten_index_Tensor, weight, aot_v_tensors(t, 1, &target)));
    }
    aot_tensor *other = AOT(t, aten_ne_Tensor, arange_of(t, n, input), target);
    z = AOT(t, aten_where_ScalarOther, other, z, 0);
    switch (aot_x_int(k, 5, MEAN)) {
    case MEAN: return aot_x_give(k, AOT(t, aten_mean, z));
    case SUM: return aot_x_give(k, DIV(AOT(t, aten_sum, z), n));
    default: return aot_x_give(k, AOT(t, aten_mean_dim, z, 1));
    }
}

bool decomp_multilabel_margin_loss_forward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *input = AOT(t, aten_atleast_2d, aot_x_tensor(k, 0)), *out[2];
    aot_tensor *target = AOT(t, aten_atleast_2d, aot_x_tensor(k, 1));
    aot_dim n = aot_size(input, 1);
    aot_value ends = aot_v_ints(t, 2, (int64_t[]){0, -1});
    aot_tensor *index = arange_of(t, n, target);
    aot_tensor *is_end = AOT(t, aten_eq_Scalar, target, -1);
    aot_tensor *end = AOT(t, aten_amin, AOT(t, aten_where_ScalarOther, is_end, index, n), -1, true);
    aot_tensor *mask = AOT(t, aten_lt_Tensor, index, end);
    aot_tensor *safe = AOT(t, aten_where_ScalarOther, mask, target, 0);
    aot_tensor *u = AOT(t, aten_gather, input, -1, safe);
    aot_tensor *labels = AOT(t, aten_where_ScalarOther, mask, target, -1);
    aot_tensor *same = AOT(t, aten_eq_Tensor, index, AOT(t, aten_unsqueeze, labels, -1));
    aot_tensor *is_target = AOT(t, aten_any_dim, same, 1);
    u = AOT(t, aten_permute, u, aot_v_ints(t, 2, (int64_t[]){1, 0}));
    aot_tensor *z = ADD(RSUB(AOT(t, aten_unsqueeze, u, -1), 1.0), input);
    z = DIV(AOT(t, aten_clamp_min, z, 0), n);
    z = AOT(t, aten_where_ScalarSelf, is_target, 0, z);
    int64_t reduction = aot_x_int(k, 2, MEAN);
    z = reduction == SUM ? AOT(t, aten_sum, z) : AOT(t, aten_sum_dim_IntList, z, ends);
    out[0] = reduction == MEAN ? AOT(t, aten_mean, z) : z;
    out[1] = dc_to(t, is_target, aot_dtype_of(input));
    out[1] = AOT(t, aten_reshape, out[1], aot_sizes(aot_x_tensor(k, 1)));
    return aot_x_give_tuple(k, 2, out);
}

/* ---- cross entropy --------------------------------------------------------------------------- */

static aot_tensor *weighted(aot_tracer *t, aot_tensor *x, aot_tensor *weight)
{
    return weight == NULL ? x : MUL(x, weight);
}

/* max(log, -100): the kernels bound the logarithm. */
static aot_tensor *bounded(aot_tracer *t, aot_tensor *log, aot_tensor *like)
{
    return AOT(t, aten_maximum, log, AOT(t, aten_new_full, like, (aot_dims){0}, -100));
}

bool decomp_binary_cross_entropy(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *self = aot_x_tensor(k, 0), *target = aot_x_tensor(k, 1);
    aot_tensor *left = SUB(target, 1);
    left = MUL(left, bounded(t, AOT(t, aten_log1p, NEG(self)), self));
    aot_tensor *right = MUL(target, bounded(t, AOT(t, aten_log, self), self));
    aot_tensor *loss = weighted(t, SUB(left, right), aot_x_tensor(k, 2));
    return dc_give(k, reduce(t, loss, aot_x_int(k, 3, MEAN)), result);
}

bool decomp_binary_cross_entropy_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *self = aot_x_tensor(k, 1);
    aot_tensor *left = MUL(aot_x_tensor(k, 0), SUB(self, aot_x_tensor(k, 2)));
    aot_tensor *variance = MUL(self, RSUB(self, 1));
    aot_tensor *grad = DIV(left, AOT(t, aten_clamp, variance, 1e-12));
    grad = weighted(t, grad, aot_x_tensor(k, 3));
    return dc_give(k, divide_mean(t, grad, self, aot_x_int(k, 4, MEAN)), result);
}

bool decomp_binary_cross_entropy_with_logits(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *self = aot_x_tensor(k, 0), *target = aot_x_tensor(k, 1), *pos = aot_x_tensor(k, 3);
    aot_tensor *log_weight = pos == NULL ? NULL : ADD(MUL(SUB(pos, 1), target), 1);
    aot_tensor *left = MUL(RSUB(target, 1), self);
    aot_tensor *log = AOT(t, aten_log_sigmoid, self);
    aot_tensor *loss = SUB(left, log_weight == NULL ? log : MUL(log_weight, log));
    loss = weighted(t, loss, aot_x_tensor(k, 2));
    return aot_x_give(k, reduce(t, loss, aot_x_int(k, 4, MEAN)));
}

/* weight as a tensor of ndim dimensions that has its classes in `channel`. */
static aot_value class_shape(aot_tracer *t, const aot_tensor *weight, unsigned ndim,
                             unsigned channel)
{
    aot_dim shape[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < ndim; i++) {
        shape[i] = i == channel ? aot_size(weight, 0) : aot_dim_of(1);
    }
    return aot_v_dims(t, (aot_dims){shape, ndim});
}

/* x where the target counts, else 0. */
static aot_tensor *counted(aot_tracer *t, aot_tensor *target, aot_value ignored, aot_tensor *x)
{
    aot_tensor *counts = AOT(t, aten_ne_Scalar, target, ignored);
    return AOT(t, aten_where_ScalarOther, counts, x, 0);
}

static aot_tensor *taken(aot_tracer *t, aot_tensor *x, unsigned channel, aot_tensor *index)
{
    return AOT(t, aten_gather, x, channel, index);
}

/* nll_loss_forward and nll_loss2d_forward. */
bool decomp_nll_loss_forward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *self = aot_x_tensor(k, 0), *target = aot_x_tensor(k, 1);
    aot_tensor *weight = aot_x_tensor(k, 2), *w = weight, *out[2];
    unsigned ndim = aot_ndim(self), channel = ndim < 2 ? 0 : 1;
    int64_t reduction = aot_x_int(k, 3, MEAN);
    if (weight != NULL) {
        w = ndim > 1 ? AOT(t, aten_view, weight, class_shape(t, weight, ndim, channel)) : weight;
        self = MUL(self, w);
    }
    aot_tensor *index = AOT(t, aten_unsqueeze, counted(t, target, k->args[4], target), channel);
    aot_tensor *result = NEG(AOT(t, aten_squeeze_dim, taken(t, self, channel, index), channel));
    result = counted(t, target, k->args[4], result);
    if (reduction == NONE && ndim > 1) {
        out[0] = result;
        out[1] = AOT(t, aten_new_full, self, (aot_dims){0}, 0.0);
        return aot_x_give_tuple(k, 2, out);
    }
    if (weight != NULL) {
        w = AOT(t, aten_expand, w, aot_sizes(self));
        aot_tensor *sum = AOT(t, aten_squeeze_dim, taken(t, w, channel, index), channel);
        out[1] = AOT(t, aten_sum, counted(t, target, k->args[4], sum));
    } else {
        aot_tensor *n = AOT(t, aten_sum, AOT(t, aten_ne_Scalar, target, k->args[4]));
        out[1] = AOT(t, aten_to_device, n, aot_v_device(aot_device_of(self)),
                     aot_v_dtype(aot_dtype_of(self)));
    }
    out[0] = reduction == NONE ? result : AOT(t, aten_sum, result);
    if (reduction == MEAN) {
        out[0] = DIV(out[0], out[1]);
    }
    return aot_x_give_tuple(k, 2, out);
}

/* nll_loss_backward and nll_loss2d_backward. */
bool decomp_nll_loss_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *grad = aot_x_tensor(k, 0), *self = aot_x_tensor(k, 1), *weight = aot_x_tensor(k, 3);
    unsigned ndim = aot_ndim(self), channel = ndim < 2 ? 0 : 1;
    if (aot_x_int(k, 4, MEAN) == MEAN) {
        grad = DIV(grad, aot_x_tensor(k, 6));
    }
    aot_tensor *target = AOT(t, aten_unsqueeze, aot_x_tensor(k, 2), channel);
    aot_tensor *index = counted(t, target, k->args[5], target);
    aot_tensor *x = AOT(t, aten_zeros_like, self, AOT_NONE, AOT_NONE, AOT_NONE, false);
    x = AOT(t, aten_scatter_value, x, channel, index, -1.0);
    if (ndim > aot_ndim(grad) && aot_ndim(grad) > 0) {
        grad = AOT(t, aten_unsqueeze, grad, channel);
    }
    if (weight != NULL) {
        weight = AOT(t, aten_reshape, weight, class_shape(t, weight, ndim, channel));
        grad = MUL(grad, weight);
    }
    return aot_x_give(k, MUL(x, counted(t, target, k->args[5], grad)));
}
