/* Negative log likelihood and cross entropy.
 *
 *     cross_entropy_loss(x [4, 5], y [4])
 *     ->  nll_loss_forward(_log_softmax(x, 1, False), y, None, 1, -100)[0]
 *
 * Mirrors: aten/src/ATen/native/LossNLL.cpp */
#include "trace/trace.h"

enum { MEAN = 1, SUM = 2 };

/* nll_loss, nll_loss2d(self, target, weight, reduction, ignore_index) */
bool composite_nll_loss(aot_expand *k)
{
    aot_op_id op = k->op == AOT_OP_aten_nll_loss2d ? AOT_OP_aten_nll_loss2d_forward
                                                   : AOT_OP_aten_nll_loss_forward;
    return aot_x_give(k, aot_v_item(aot_call_op(k->t, op, k->n, k->args), 0));
}

/* Other numbers of dimensions are those of an image of height 1. */
static aot_tensor *nll_flat(aot_expand *k, aot_tensor *x, aot_tensor *y)
{
    aot_tracer *t = k->t;
    aot_dims sizes = aot_sizes(y);
    aot_dim one = aot_dim_of(1), rest = aot_dim_of(-1);
    for (unsigned i = 2; i < aot_ndim(x); i++) {
        rest = aot_dim_is(aot_size(x, i), 0) ? aot_dim_of(0) : rest;
    }
    const aot_dim x_shape[] = {aot_size(x, 0), aot_size(x, 1), one, rest};
    const aot_dim y_shape[] = {aot_size(x, 0), one, rest};
    x = AOT(t, aten_contiguous, x);
    x = AOT(t, aten_view, x, ((aot_dims){x_shape, 4}));
    y = AOT(t, aten_contiguous, y);
    y = AOT(t, aten_view, y, ((aot_dims){y_shape, 3}));
    aot_tensor *r = AOT(t, aten_nll_loss2d, x, y, k->args[2], k->args[3], k->args[4]);
    return aot_x_int(k, 3, MEAN) == 0 ? AOT(t, aten_view, r, sizes) : r;
}

bool composite_nll_loss_nd(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1);
    unsigned n = aot_ndim(x);
    if (n == 1 || n == 2) {
        return aot_x_give(k, AOT(t, aten_nll_loss, x, y, k->args[2], k->args[3], k->args[4]));
    }
    if (n == 4) {
        return aot_x_give(k, AOT(t, aten_nll_loss2d, x, y, k->args[2], k->args[3], k->args[4]));
    }
    return aot_x_give(k, nll_flat(k, x, y));
}

/* ---- cross entropy --------------------------------------------------------------------------- */

/* The class weights with the input's dimensions. */
static aot_tensor *weight_view(aot_tracer *t, aot_tensor *weight, const aot_tensor *x,
                               int64_t class_dim)
{
    unsigned n = aot_ndim(x);
    if (n <= 1) {
        return weight;
    }
    aot_dim *shape = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, n);
    for (unsigned i = 0; i < n; i++) {
        shape[i] = i == (unsigned)class_dim ? aot_size(weight, 0) : aot_dim_of(1);
    }
    return AOT(t, aten_view, weight, ((aot_dims){shape, n}));
}

/* Targets that are probabilities. */
static aot_tensor *prob_target(aot_expand *k, int64_t class_dim)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1), *weight = aot_x_tensor(k, 2);
    double smoothing = aot_x_float(k, 5, 0);
    aot_dim classes = aot_size(x, class_dim);
    int64_t reduction = aot_x_int(k, 3, MEAN);
    x = AOT(t, aten_log_softmax_int, x, class_dim, aot_v_dtype(aot_dtype_of(x)));
    if (smoothing > 0) {
        y = AOT(t, aten_mul_Scalar, y, 1 - smoothing);
        y = AOT(t, aten_add_Scalar, y, smoothing / (double)classes.value);
    }
    weight = weight != NULL ? weight_view(t, weight, x, class_dim) : NULL;
    aot_tensor *r = AOT(t, aten_mul_Tensor, x, y);
    r = weight != NULL ? AOT(t, aten_mul_Tensor, r, weight) : r;
    if (reduction == 0) {
        r = AOT(t, aten_sum_dim_IntList, r, class_dim);
        return AOT(t, aten_neg, r);
    }
    aot_dim items = aot_dim_of(1);
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        items = i == (unsigned)class_dim ? items
                                         : aot_trace_dim(t, '*', items, aot_size(x, i));
    }
    r = AOT(t, aten_sum, r);
    r = AOT(t, aten_neg, r);
    return reduction == MEAN ? AOT(t, aten_div_Scalar, r, items) : r;
}

/* The mean over what is not ignored: by the weights of the targets, or by their number. */
static aot_tensor *smooth_mean(aot_expand *k, aot_tensor *smooth, aot_tensor *ignored)
{
    aot_tracer *t = k->t;
    aot_tensor *y = aot_x_tensor(k, 1), *weight = aot_x_tensor(k, 2), *total;
    if (weight != NULL) {
        y = AOT(t, aten_masked_fill_Scalar, y, ignored, 0);
        if (aot_ndim(y) != 1) {
            y = AOT(t, aten_flatten_using_ints, y);
        }
        total = AOT(t, aten_gather, weight, 0, y);
        if (aot_ndim(ignored) != 1) {
            ignored = AOT(t, aten_flatten_using_ints, ignored);
        }
        total = AOT(t, aten_masked_fill_Scalar, total, ignored, 0);
    } else {
        total = AOT(t, aten_bitwise_not, ignored);
    }
    total = AOT(t, aten_sum, total);
    aot_tensor *sum = AOT(t, aten_sum, smooth);
    return AOT(t, aten_div_Tensor, sum, total);
}

static aot_tensor *label_smoothing(aot_expand *k, int64_t class_dim)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1), *weight = aot_x_tensor(k, 2);
    double smoothing = aot_x_float(k, 5, 0);
    int64_t reduction = aot_x_int(k, 3, MEAN);
    aot_dim classes = aot_size(x, class_dim);
    x = AOT(t, aten_log_softmax_int, x, class_dim, aot_v_dtype(aot_dtype_of(x)));
    aot_tensor *nll = AOT(t, aten_nll_loss_nd, x, y, weight, k->args[3], k->args[4]);
    aot_tensor *smooth = x;
    if (weight != NULL) {
        aot_tensor *w = weight_view(t, weight, x, class_dim);
        smooth = AOT(t, aten_mul_Tensor, x, w);
    }
    smooth = AOT(t, aten_sum_dim_IntList, smooth, class_dim);
    smooth = AOT(t, aten_neg, smooth);
    aot_tensor *ignored = AOT(t, aten_eq_Scalar, y, k->args[4]);
    smooth = AOT(t, aten_masked_fill_Scalar, smooth, ignored, 0.0);
    smooth = reduction == MEAN  ? smooth_mean(k, smooth, ignored)
             : reduction == SUM ? AOT(t, aten_sum, smooth)
                                : smooth;
    smooth = AOT(t, aten_mul_Scalar, smooth, smoothing / (double)classes.value);
    nll = AOT(t, aten_mul_Scalar, nll, 1 - smoothing);
    return AOT(t, aten_add_Tensor, nll, smooth);
}

/* cross_entropy_loss(self, target, weight, reduction, ignore_index, label_smoothing) */
bool composite_cross_entropy_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1);
    int64_t class_dim = aot_ndim(x) == 1 ? 0 : 1;
    bool same = aot_ndim(x) == aot_ndim(y);
    for (unsigned i = 0; same && i < aot_ndim(x); i++) {
        same = aot_dim_eq(aot_size(x, i), aot_size(y, i));
    }
    if (same) {
        return aot_x_give(k, prob_target(k, class_dim));
    }
    if (aot_x_float(k, 5, 0) > 0) {
        return aot_x_give(k, label_smoothing(k, class_dim));
    }
    x = AOT(t, aten_log_softmax_int, x, class_dim, aot_v_dtype(aot_dtype_of(x)));
    return aot_x_give(k, AOT(t, aten_nll_loss_nd, x, y, k->args[2], k->args[3], k->args[4]));
}
