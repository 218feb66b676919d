/* Outputs of normalisation layers and of their gradients. Means and deviations are kept in f32 for
 * half types on CUDA, in the input's own type on CPU where native_layer_norm is concerned. */
#include "rules/outs.h"

/* (input, normalized_shape, ...): sizes of what is kept for each row. */
static bool row_stat(const aot_outs *o, aot_out_type *t, unsigned shape_pos)
{
    const aot_arg *shape = aot_outs_arg(o, shape_pos, "normalized_shape");
    unsigned n =
        shape && (shape->kind == AOT_ARG_LIST || shape->kind == AOT_ARG_TUPLE) ? shape->n : 0;
    for (unsigned i = t->ndim > n ? t->ndim - n : 0; i < t->ndim; i++) {
        t->sizes[i] = 1;
    }
    return n > 0;
}

void outs_native_layer_norm(aot_outs *o)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "input", &t)) {
        return;
    }
    aot_outs_push(o, t);
    row_stat(o, &t, 1);
    aot_dtype d = aot_outs_on_cpu(o, 0, "input") ? t.dtype : aot_outs_acc_dtype(t.dtype);
    aot_outs_push_as(o, t, d);
    aot_outs_push_as(o, t, d);
}

void outs_native_layer_norm_backward(aot_outs *o)
{
    aot_outs_push_like(o, 1, "input", aot_outs_mask(o, 7, "output_mask", 0));
    aot_outs_push_like(o, 5, "weight", aot_outs_mask(o, 7, "output_mask", 1));
    aot_outs_push_like(o, 6, "bias", aot_outs_mask(o, 7, "output_mask", 2));
}

void outs_fused_rms_norm(aot_outs *o)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "input", &t)) {
        return;
    }
    aot_outs_push(o, t);
    row_stat(o, &t, 1);
    aot_outs_push_as(o, t, aot_outs_acc_dtype(t.dtype));
}

void outs_fused_rms_norm_backward(aot_outs *o)
{
    aot_outs_push_like(o, 1, "input", aot_outs_mask(o, 5, "output_mask", 0));
    aot_outs_push_like(o, 4, "weight", aot_outs_mask(o, 5, "output_mask", 1));
}

void outs_native_group_norm(aot_outs *o)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "input", &t)) {
        return;
    }
    aot_outs_push(o, t);
    int64_t sizes[] = {aot_outs_int(o, 3, "N", AOT_HINT_NONE),
                       aot_outs_int(o, 6, "group", AOT_HINT_NONE)};
    aot_outs_push(o, aot_outs_type(t.dtype, 2, sizes));
    aot_outs_push(o, aot_outs_type(t.dtype, 2, sizes));
}

void outs_native_group_norm_backward(aot_outs *o)
{
    aot_out_type t;
    aot_outs_push_like(o, 1, "input", aot_outs_mask(o, 9, "output_mask", 0));
    int64_t channels = aot_outs_int(o, 6, "C", AOT_HINT_NONE);
    for (unsigned i = 1; i < 3; i++) {
        if (aot_outs_mask(o, 9, "output_mask", i) && aot_outs_tensor(o, 1, "input", &t)) {
            aot_outs_push(o, aot_outs_type(t.dtype, 1, &channels));
        } else {
            aot_outs_push_none(o);
        }
    }
}

/* out, then two statistics per channel: of the batch when training, else the running ones on CUDA
 * and none on CPU. */
static bool push_batch_norm(aot_outs *o, bool training)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "input", &t)) {
        return false;
    }
    aot_outs_push(o, t);
    bool cpu = aot_outs_on_cpu(o, 0, "input");
    int64_t n = !training && cpu ? 0 : t.ndim > 1 ? t.sizes[1] : 1;
    aot_dtype d = cpu ? t.dtype : aot_outs_acc_dtype(t.dtype);
    aot_outs_push(o, aot_outs_type(d, 1, &n));
    aot_outs_push(o, aot_outs_type(d, 1, &n));
    return true;
}

void outs_native_batch_norm(aot_outs *o)
{
    push_batch_norm(o, aot_outs_bool(o, 5, "training", true));
}

void outs_batch_norm_no_stats(aot_outs *o)
{
    push_batch_norm(o, aot_outs_bool(o, 3, "training", true));
}

void outs_batch_norm_no_training(aot_outs *o)
{
    push_batch_norm(o, false);
}

void outs_batch_norm_functional(aot_outs *o)
{
    if (push_batch_norm(o, aot_outs_bool(o, 5, "training", true))) {
        aot_outs_push_like(o, 3, "running_mean", true);
        aot_outs_push_like(o, 4, "running_var", true);
    }
}

/* The same with a reserve that only cuDNN fills. */
static void push_reserve(aot_outs *o)
{
    int64_t none = 0;
    aot_outs_push(o, aot_outs_type(AOT_U8, 1, &none));
}

void outs_batch_norm_with_update(aot_outs *o)
{
    if (push_batch_norm(o, true)) {
        push_reserve(o);
    }
}

void outs_batch_norm_no_update(aot_outs *o)
{
    if (push_batch_norm(o, false)) {
        push_reserve(o);
    }
}

void outs_batch_norm_with_update_functional(aot_outs *o)
{
    if (push_batch_norm(o, true)) {
        push_reserve(o);
        aot_outs_push_like(o, 3, "running_mean", true);
        aot_outs_push_like(o, 4, "running_var", true);
    }
}

/* (input, weight, bias, running_mean, running_var, training, ...): statistics in the weight's
 * type */
void outs_cudnn_batch_norm(aot_outs *o)
{
    aot_out_type t, w;
    if (!aot_outs_tensor(o, 0, "input", &t) || !aot_outs_tensor(o, 1, "weight", &w)) {
        return;
    }
    aot_outs_push(o, t);
    int64_t n = !aot_outs_bool(o, 5, "training", true) ? 0 : t.ndim > 1 ? t.sizes[1] : 1;
    aot_outs_push(o, aot_outs_type(w.dtype, 1, &n));
    aot_outs_push(o, aot_outs_type(w.dtype, 1, &n));
    push_reserve(o);
}

/* Gradients of weight and bias: one value a channel, in the weight's type. */
static void push_channel_grads(aot_outs *o, unsigned input, unsigned weight, unsigned mask)
{
    aot_out_type t, w;
    aot_outs_push_like(o, input, "input", aot_outs_mask(o, mask, "output_mask", 0));
    if (!aot_outs_tensor(o, input, "input", &t)) {
        return;
    }
    int64_t channels = t.ndim > 1 ? t.sizes[1] : 1;
    aot_dtype d =
        aot_outs_tensor(o, weight, "weight", &w) ? (aot_dtype)w.dtype : (aot_dtype)t.dtype;
    for (unsigned i = 1; i < 3; i++) {
        if (aot_outs_mask(o, mask, "output_mask", i)) {
            aot_outs_push(o, aot_outs_type(d, 1, &channels));
        } else {
            aot_outs_push_none(o);
        }
    }
}

void outs_native_batch_norm_backward(aot_outs *o)
{
    push_channel_grads(o, 1, 2, 9);
}

void outs_batch_norm_backward(aot_outs *o)
{
    push_channel_grads(o, 1, 2, 9);
}

void outs_weight_norm_interface(aot_outs *o)
{
    aot_out_type v, g;
    if (aot_outs_tensor(o, 0, "v", &v) && aot_outs_tensor(o, 1, "g", &g)) {
        aot_outs_push(o, v);
        aot_outs_push_as(o, g, aot_outs_acc_dtype(g.dtype));
    }
}

void outs_weight_norm_backward(aot_outs *o)
{
    aot_outs_push_like(o, 1, "saved_v", true);
    aot_outs_push_like(o, 2, "saved_g", true);
}
