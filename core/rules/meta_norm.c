/* Normalisation layers, their gradients and dropout. Layer norm works on a contiguous copy; batch
 * norm and dropout are element-wise and keep the operand's strides; what is kept for each row or
 * channel is contiguous.
 *
 * Mirrors: torch/_refs/__init__.py:native_layer_norm, native_group_norm,
 * torch/_decomp/decompositions.py:native_batch_norm_helper, native_batch_norm_backward,
 * native_layer_norm_backward, native_dropout. */
#include "rules/meta_shared.h"

#include <string.h>

static bool on_cpu(const aot_call *k, const aot_fake *t)
{
    return strcmp(aot_text(k->c, t->device), "cpu") == 0;
}

/* Means and deviations: the operand's own type on CPU, else the one that is computed in. */
static aot_dtype stat_dtype(const aot_call *k, const aot_fake *t)
{
    return on_cpu(k, t) ? (aot_dtype)t->dtype : aot_dtype_compute(t->dtype);
}

/* Pushes t made contiguous if the mask wants it and it is there, else None. */
static void push_grad(aot_call *k, unsigned pos, const char *name, bool wanted)
{
    aot_fake t;
    if (wanted && aot_call_tensor(k, pos, name, &t)) {
        aot_push_contiguous(k, &t, t.dtype);
    } else {
        aot_call_push_none(k);
    }
}

/* ---- layer and group norm ------------------------------------------------------------------ */

/* One number for each row, as reductions that keep dimensions leave it. */
static aot_fake row_stat(const aot_call *k, const aot_fake *input, unsigned shape_pos)
{
    aot_fake t = *input;
    unsigned n = aot_call_n_items(k, shape_pos, "normalized_shape");
    for (unsigned i = t.ndim > n ? t.ndim - n : 0; i < t.ndim; i++) {
        t.size[i] = aot_dim_of(1);
    }
    return aot_fake_make(k, t.dtype, t.ndim, t.size, t.device);
}

/* What counts as contiguous keeps its strides, those of sizes 1 included. */
aot_status meta_native_layer_norm(aot_call *k)
{
    aot_fake in[2];
    AOT_TRY(aot_call_need(k, 0, "input", &in[0]));
    aot_fake *t = &in[0];
    if (!aot_fake_is_contiguous(t) || aot_dtype_compute(t->dtype) != t->dtype) {
        aot_fake_set_contiguous(k->c, t);
    }
    in[1] = row_stat(k, t, 1);
    AOT_TRY(aot_push_elementwise(k, in, 2, t->dtype));
    in[1].dtype = (uint8_t)stat_dtype(k, t);
    aot_call_push(k, &in[1]);
    aot_call_push(k, &in[1]);
    return AOT_OK;
}

/* x.to(dtype, memory_format=contiguous) gives x itself if its strides do not suggest channels-last
 * and the type need not change. */
static aot_fake to_compute(const aot_call *k, const aot_fake *x)
{
    aot_fake t = *x;
    t.dtype = (uint8_t)aot_dtype_compute(x->dtype);
    if (t.dtype != x->dtype || aot_fake_suggest(x) != AOT_MF_CONTIGUOUS) {
        aot_fake_set_contiguous(k->c, &t);
    }
    return t;
}

/* rstd / N * (grad * weight * N - sum - (input - mean) * rstd * sum), operand by operand. */
static aot_status layer_norm_grad_input(aot_call *k, aot_fake *out)
{
    aot_fake grad, input, inner;
    AOT_TRY(aot_call_need(k, 0, "grad_out", &grad));
    AOT_TRY(aot_call_need(k, 1, "input", &input));
    aot_dtype d = aot_dtype_compute(input.dtype);
    aot_fake stat = row_stat(k, &input, 2);
    (void)aot_call_tensor(k, 4, "rstd", &stat);
    aot_fake x[] = {to_compute(k, &grad), row_stat(k, &input, 2), to_compute(k, &input)};
    AOT_TRY(aot_fake_elementwise(k, x, 3, d, &inner));
    aot_fake last[] = {stat, inner};
    return aot_fake_elementwise(k, last, 2, input.dtype, out);
}

aot_status meta_native_layer_norm_backward(aot_call *k)
{
    aot_fake out;
    if (aot_call_flag(k, 7, "output_mask", 0)) {
        AOT_TRY(layer_norm_grad_input(k, &out));
        aot_call_push(k, &out);
    } else {
        aot_call_push_none(k);
    }
    push_grad(k, 5, "weight", aot_call_flag(k, 7, "output_mask", 1));
    push_grad(k, 6, "bias", aot_call_flag(k, 7, "output_mask", 2));
    return AOT_OK;
}

/* Whether [N, C, *] can be viewed as [N, G, C / G, *] with one dimension for all of space. */
static bool space_merges(const aot_fake *t)
{
    int64_t next = 0;
    for (unsigned i = t->ndim; i-- > 2;) {
        if (t->size[i].value == 1) {
            continue;
        }
        if (next != 0 && t->stride[i].value != next) {
            return false;
        }
        if (__builtin_mul_overflow(t->size[i].value, t->stride[i].value, &next)) {
            return false;
        }
    }
    return true;
}

/* With a weight on CPU: input * w + b with one w for each batch item and channel; else the operand
 * is viewed in groups, or copied if it cannot be. */
aot_status meta_native_group_norm(aot_call *k)
{
    aot_fake in[2];
    AOT_TRY(aot_call_need(k, 0, "input", &in[0]));
    aot_fake *t = &in[0];
    if (on_cpu(k, t) && aot_call_arg(k, 1, "weight") && t->ndim >= 2) {
        in[1] = *t;
        for (unsigned i = 2; i < t->ndim; i++) {
            in[1].size[i] = aot_dim_of(1);
        }
        aot_fake_set_contiguous(k->c, &in[1]);
        AOT_TRY(aot_push_elementwise(k, in, 2, t->dtype));
    } else if (space_merges(t)) {
        AOT_TRY(aot_push_elementwise(k, t, 1, t->dtype));
    } else {
        aot_push_contiguous(k, t, t->dtype);
    }
    aot_dim sizes[] = {aot_call_int(k, 3, "N", 1), aot_call_int(k, 6, "group", 1)};
    aot_fake stat = aot_fake_make(k, t->dtype, 2, sizes, t->device);
    aot_call_push(k, &stat);
    aot_call_push(k, &stat);
    return AOT_OK;
}

aot_status meta_native_group_norm_backward(aot_call *k)
{
    aot_fake in[2], t;
    AOT_TRY(aot_call_need(k, 0, "grad_out", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "input", &in[1]));
    t = in[1];
    if (aot_call_flag(k, 9, "output_mask", 0)) { // the decomposition's sum of products of both
        AOT_TRY(aot_push_elementwise(k, in, 2, t.dtype));
    } else {
        aot_call_push_none(k);
    }
    for (unsigned i = 1; i < 3; i++) {
        if (aot_call_flag(k, 9, "output_mask", i)) {
            aot_push_vector(k, &t, t.dtype, aot_call_int(k, 6, "C", 1));
        } else {
            aot_call_push_none(k);
        }
    }
    return AOT_OK;
}

/* _fused_rms_norm(input, normalized_shape, weight, eps) */
aot_status meta_fused_rms_norm(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "input", &t));
    aot_push_contiguous(k, &t, t.dtype);
    t = row_stat(k, &t, 1);
    t.dtype = (uint8_t)aot_dtype_compute(t.dtype);
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_fused_rms_norm_backward(aot_call *k)
{
    push_grad(k, 1, "input", aot_call_flag(k, 5, "output_mask", 0));
    push_grad(k, 4, "weight", aot_call_flag(k, 5, "output_mask", 1));
    return AOT_OK;
}

/* ---- batch norm ---------------------------------------------------------------------------- */

/* The operand beside one number for each channel: [1, C, 1, 1]. */
static void channel_operand(aot_call *k, const aot_fake *t, aot_fake *channel)
{
    *channel = *t;
    for (unsigned i = 0; i < t->ndim; i++) {
        channel->size[i] = i == 1 ? t->size[1] : aot_dim_of(1);
    }
    aot_fake_set_contiguous(k->c, channel);
}

/* Output and two statistics per channel: of the batch when training, else the running ones on
 * other devices and none on CPU. */
static aot_status push_batch_norm(aot_call *k, bool training)
{
    aot_fake in[2];
    AOT_TRY(aot_call_need(k, 0, "input", &in[0]));
    channel_operand(k, &in[0], &in[1]);
    AOT_TRY(aot_push_elementwise(k, in, 2, in[0].dtype));
    aot_dim n = aot_dim_of(0);
    if (in[0].ndim > 1 && (training || !on_cpu(k, &in[0]))) {
        n = in[0].size[1];
    }
    aot_push_vector(k, &in[0], stat_dtype(k, &in[0]), n);
    aot_push_vector(k, &in[0], stat_dtype(k, &in[0]), n);
    return AOT_OK;
}

static void push_running(aot_call *k)
{
    aot_fake t, in = {0};
    (void)aot_call_tensor(k, 0, "input", &in);
    for (unsigned i = 3; i < 5; i++) {
        if (aot_call_tensor(k, i, i == 3 ? "running_mean" : "running_var", &t)) {
            aot_push_contiguous(k, &t,
                                aot_promote_types(t.dtype, aot_dtype_compute(in.dtype)));
        } else {
            aot_call_push_none(k);
        }
    }
}

aot_status meta_native_batch_norm(aot_call *k)
{
    return push_batch_norm(k, aot_call_bool(k, 5, "training", true));
}

aot_status meta_batch_norm_no_stats(aot_call *k)
{
    return push_batch_norm(k, aot_call_bool(k, 3, "training", true));
}

aot_status meta_batch_norm_no_training(aot_call *k)
{
    return push_batch_norm(k, false);
}

aot_status meta_batch_norm_functional(aot_call *k)
{
    AOT_TRY(push_batch_norm(k, aot_call_bool(k, 5, "training", true)));
    push_running(k);
    return AOT_OK;
}

/* The same with a reserve that only cuDNN fills. */
static aot_status push_with_reserve(aot_call *k, bool training)
{
    aot_fake t;
    AOT_TRY(push_batch_norm(k, training));
    AOT_TRY(aot_call_need(k, 0, "input", &t));
    aot_push_vector(k, &t, AOT_U8, aot_dim_of(0));
    return AOT_OK;
}

aot_status meta_batch_norm_no_update(aot_call *k)
{
    return push_with_reserve(k, false);
}

aot_status meta_batch_norm_with_update_functional(aot_call *k)
{
    AOT_TRY(push_with_reserve(k, true));
    push_running(k);
    return AOT_OK;
}

static aot_status push_batch_norm_grads(aot_call *k, bool train)
{
    aot_fake in[3], weight;
    AOT_TRY(aot_call_need(k, 0, "grad_out", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "input", &in[1]));
    aot_fake input = in[1];
    aot_dtype d = aot_call_tensor(k, 2, "weight", &weight) ? (aot_dtype)weight.dtype : input.dtype;
    channel_operand(k, &input, &in[train ? 2 : 1]);
    AOT_TRY(aot_push_elementwise(k, in, train ? 3 : 2, input.dtype)); /* whatever the mask says */
    for (unsigned i = 1; i < 3; i++) {
        if (aot_call_flag(k, 9, "output_mask", i)) {
            aot_push_vector(k, &input, d, input.ndim > 1 ? input.size[1] : aot_dim_of(1));
        } else {
            aot_call_push_none(k);
        }
    }
    return AOT_OK;
}

aot_status meta_native_batch_norm_backward(aot_call *k)
{
    return push_batch_norm_grads(k, aot_call_bool(k, 7, "train", true));
}

/* ---- dropout ------------------------------------------------------------------------------- */

static bool is_zero(const aot_arg *a)
{
    return a && ((a->kind == AOT_ARG_FLOAT && a->u.f == 0) || (a->kind == AOT_ARG_INT && !a->u.i));
}

/* native_dropout(input, p, train): what is kept is drawn like the operand. */
aot_status meta_native_dropout(aot_call *k)
{
    aot_fake in[2];
    AOT_TRY(aot_call_need(k, 0, "input", &in[0]));
    in[1] = in[0];
    in[1].dtype = AOT_B8;
    aot_fake_set_empty_like(k, &in[1], &in[0]);
    bool drops = aot_call_bool(k, 2, "train", false) && !is_zero(aot_call_arg(k, 1, "p"));
    if (drops) {
        aot_fake swapped[2] = {in[1], in[0]};
        AOT_TRY(aot_push_elementwise(k, swapped, 2, in[0].dtype));
    } else {
        aot_call_push(k, &in[0]);
    }
    aot_call_push(k, &in[1]);
    return AOT_OK;
}

/* The layout that the gradient's strides suggest; times a float, an integer becomes one. */
aot_status meta_native_dropout_backward(aot_call *k)
{
    aot_fake in[2], out;
    AOT_TRY(aot_call_need(k, 0, "grad_output", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "mask", &in[1]));
    aot_dtype d = aot_promote_types((aot_dtype)in[0].dtype, AOT_B8);
    AOT_TRY(aot_fake_elementwise(k, in, 2, aot_dtype_is_float(d) ? d : AOT_F32, &out));
    aot_fake_to_format(k, &out, aot_fake_suggest(&in[0]));
    aot_call_push(k, &out);
    return AOT_OK;
}

/* ---- the rest ------------------------------------------------------------------------------ */

/* renorm(self, p, dim, maxnorm): self * factor, made contiguous. */
aot_status meta_renorm(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

/* _weight_norm_interface(v, g, dim) */
aot_status meta_weight_norm(aot_call *k)
{
    aot_fake v, g, out;
    AOT_TRY(aot_call_need(k, 0, "v", &v));
    AOT_TRY(aot_call_need(k, 1, "g", &g));
    out = v;
    aot_fake_set_like(k->c, &out, &v);
    aot_call_push(k, &out);
    aot_push_contiguous(k, &g, g.dtype == AOT_BF16 ? AOT_F32 : g.dtype);
    return AOT_OK;
}

aot_status meta_weight_norm_backward(aot_call *k)
{
    aot_fake v, g;
    AOT_TRY(aot_call_need(k, 1, "saved_v", &v));
    AOT_TRY(aot_call_need(k, 2, "saved_g", &g));
    aot_fake_set_like(k->c, &v, &v);
    aot_call_push(k, &v);
    aot_fake_set_like(k->c, &g, &g);
    aot_call_push(k, &g);
    return AOT_OK;
}
