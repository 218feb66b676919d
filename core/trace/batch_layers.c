/* Batch rules of layers: convolution, normalisation, pooling, the gradient of an embedding.
 * Mirrors aten/src/ATen/functorch/BatchRulesConvolution.cpp, BatchRulesNorm.cpp,
 * BatchRulesModules.cpp. */
#include <string.h>

#include "ir/symalg.h"
#include "trace/batch.h"

/* ---- the batch goes into the items ----------------------------------------------------------- */

/* What has a batch dimension of its own, as images have: that one takes the batch in. */
aot_value batch_items(batch_call *k)
{
    for (unsigned i = 0; i < k->n; i++) {
        batched b = b_in(k, i);
        if (b.x == NULL || k->f->schema.args[i].kind != AOT_TYPE_TENSOR) {
            continue;
        }
        aot_tensor *x = b.bdim >= 0 ? b.x : b_ensured(k, b);
        k->args[i] = aot_v_tensor(b_reshape_into(k, x, b.bdim >= 0 ? b.bdim : 0, 0));
    }
    aot_value out = b_call(k);
    if (out.kind == AOT_V_TENSOR) {
        return aot_v_tensor(b_reshape_outof(k, out.u.t, 0, k->batch));
    }
    aot_tensor **each = tr_alloc(k->t, out.n + 1, sizeof(aot_tensor *));
    for (unsigned i = out.n; i-- > 0;) { // C++ makes a tuple from its last item on
        each[i] = b_reshape_outof(k, aot_v_item(out, i), 0, k->batch);
    }
    aot_value all = aot_v_tensors(k->t, out.n, each);
    all.kind = out.kind;
    return all;
}

/* ---- convolution ----------------------------------------------------------------------------- */

/* (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) */
enum { CONV_TRANSPOSED = 6, CONV_GROUPS = 8 };

static aot_tensor *call_conv(batch_call *k, aot_tensor *x, aot_tensor *w, aot_value bias,
                             aot_dim groups)
{
    k->args[0] = aot_v_tensor(x);
    k->args[1] = aot_v_tensor(w);
    k->args[2] = bias;
    k->args[CONV_GROUPS] = aot_v_dim(groups);
    return aot_v_first(b_call(k));
}

/* A bias that differs from item to item is added behind. */
static aot_value with_bias(batch_call *k, aot_tensor *out, batched bias)
{
    unsigned rank = aot_ndim(out) - 1;
    aot_tensor *x = b_front(k, (batched){out, k->out});
    aot_tensor *b = b_front(k, bias);
    for (unsigned i = 2; i < rank; i++) {
        b = AOT(k->t, aten_unsqueeze, b, -1);
    }
    b = b_pad(k, b, bias.bdim >= 0, rank);
    k->out = 0;
    return AOT_V(k->t, aten_add_Tensor, x, b);
}

aot_value batch_convolution(batch_call *k)
{
    aot_ctx *c = k->t->c;
    batched x = b_in(k, 0), w = b_in(k, 1), bias = b_in(k, 2);
    bool transposed = k->args[CONV_TRANSPOSED].u.dim.value != 0;
    aot_dim groups = k->args[CONV_GROUPS].u.dim;
    bool apart = bias.x != NULL && (bias.bdim >= 0 || w.bdim >= 0);
    aot_value plain = apart ? aot_v_nullopt() : k->args[2];
    aot_tensor *out;

    if (w.bdim < 0) {
        aot_tensor *items = x.bdim >= 0 ? b_reshape_into(k, x.x, x.bdim, 0) : x.x;
        out = call_conv(k, items, w.x, plain, groups);
        k->out = x.bdim >= 0 ? 0 : -1;
        out = x.bdim >= 0 ? b_reshape_outof(k, out, 0, k->batch) : out;
    } else if (x.bdim < 0) {
        if (!aot_dim_is(groups, 1)) {
            aot_trace_fail(k->t, AOT_E_UNSUPPORTED,
                           "vmap: a grouped convolution of weights that differ has no rule");
        }
        aot_tensor *weights = b_reshape_into(k, w.x, w.bdim, transposed ? 1 : 0);
        out = b_reshape_outof(k, call_conv(k, x.x, weights, plain, groups), 1, k->batch);
        k->out = 1;
    } else {
        aot_tensor *items = b_reshape_into(k, x.x, x.bdim, 1);
        aot_tensor *weights = b_reshape_into(k, w.x, w.bdim, 0);
        out = call_conv(k, items, weights, plain, aot_dim_mul(c, groups, k->batch));
        out = b_reshape_outof(k, out, 1, k->batch);
        k->out = 1;
    }
    return apart ? with_bias(k, out, bias) : aot_v_tensor(out);
}

/* A tensor that only says a shape: x's, with `batch` times as many along dim. */
static aot_tensor *shape_only(batch_call *k, batched b, unsigned dim, aot_dim batch)
{
    aot_tracer *t = k->t;
    aot_tensor *x = b.bdim >= 0 ? AOT(t, aten_select_int, b.x, b.bdim, 0) : b.x;
    aot_dim size[AOT_FAKE_MAX_NDIM];
    aot_dim all = aot_dim_mul(t->c, aot_size(x, dim), batch);

    x = AOT(t, aten_slice_Tensor, x, (int64_t)dim, 0, 1);
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        size[i] = i == dim ? all : aot_size(x, i);
    }
    aot_dims shape = {size, aot_ndim(x)};
    return AOT(t, aten_expand, AOT(t, aten_new_empty, x, ((aot_dims){NULL, 0})), shape);
}

/* (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
 * groups, output_mask): one of the gradients, of what is given in place of grad, x and w. */
static aot_tensor *conv_gradient(batch_call *k, aot_tensor *g, aot_tensor *x, aot_tensor *w,
                                 aot_dim groups, unsigned which)
{
    enum { GROUPS = 9, MASK = 10 };
    aot_value args[11], mask[3];

    memcpy(args, k->args, sizeof args);
    for (unsigned i = 0; i < 3; i++) {
        mask[i] = aot_v_bool(i == which);
    }
    args[0] = aot_v_tensor(g);
    args[1] = aot_v_tensor(x);
    args[2] = aot_v_tensor(w);
    args[3] = aot_v_none();
    args[GROUPS] = aot_v_dim(groups);
    args[MASK] = aot_v_list(k->t, 3, mask);
    return aot_v_item(aot_call_op(k->t, k->op, 11, args), which);
}

static void no_grouped_rule(batch_call *k, aot_dim groups)
{
    if (!aot_dim_is(groups, 1)) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED,
                       "vmap: this gradient of a grouped convolution has no rule");
    }
}

static aot_tensor *conv_input(batch_call *k, batched g, batched x, batched w, aot_dim groups,
                              bool transposed)
{
    aot_dim all = aot_dim_mul(k->t->c, groups, k->batch);
    aot_tensor *out;

    if (g.bdim >= 0 && w.bdim >= 0) {
        aot_tensor *grad = b_reshape_into(k, g.x, g.bdim, 1);
        aot_tensor *weight = b_reshape_into(k, w.x, w.bdim, 0);
        out = conv_gradient(k, grad, shape_only(k, x, 1, k->batch), weight, all, 0);
        return b_front(k, (batched){b_reshape_outof(k, out, 1, k->batch), 1});
    }
    if (g.bdim >= 0) {
        aot_tensor *grad = b_reshape_into(k, g.x, g.bdim, 0);
        out = conv_gradient(k, grad, shape_only(k, x, 0, k->batch), w.x, groups, 0);
        return b_reshape_outof(k, out, 0, k->batch);
    }
    no_grouped_rule(k, groups);
    aot_tensor *weight = b_reshape_into(k, w.x, w.bdim, transposed ? 0 : 1);
    out = conv_gradient(k, g.x, shape_only(k, x, 1, k->batch), weight, groups, 0);
    return b_front(k, (batched){b_reshape_outof(k, out, 1, k->batch), 1});
}

static aot_tensor *conv_weight(batch_call *k, batched g, batched x, batched w, aot_dim groups,
                               bool transposed)
{
    aot_dim all = aot_dim_mul(k->t->c, groups, k->batch);
    aot_tensor *out;

    if (g.bdim >= 0 && x.bdim >= 0) {
        aot_tensor *grad = b_reshape_into(k, g.x, g.bdim, 1);
        aot_tensor *items = b_reshape_into(k, x.x, x.bdim, 1);
        out = conv_gradient(k, grad, items, shape_only(k, w, 0, k->batch), all, 1);
        return b_reshape_outof(k, out, 0, k->batch);
    }
    no_grouped_rule(k, groups);
    unsigned at = (g.bdim >= 0) == transposed; // where the weights' batch comes out
    batched moved = g.bdim >= 0 ? g : x;
    aot_tensor *into = b_reshape_into(k, moved.x, moved.bdim, 1);
    aot_tensor *grad = g.bdim >= 0 ? into : g.x, *items = g.bdim >= 0 ? x.x : into;
    out = conv_gradient(k, grad, items, shape_only(k, w, at, k->batch), groups, 1);
    return b_front(k, (batched){b_reshape_outof(k, out, (int)at, k->batch), (int)at});
}

/* All three differ: one call for both gradients. */
static aot_value conv_both(batch_call *k, batched g, batched x, batched w, aot_dim groups,
                           aot_tensor *bias)
{
    aot_value mask[3] = {k->args[10].u.items[0], k->args[10].u.items[1], aot_v_bool(false)};
    aot_tensor *out[3] = {NULL, NULL, bias};

    k->args[0] = aot_v_tensor(b_reshape_into(k, g.x, g.bdim, 1));
    k->args[1] = aot_v_tensor(b_reshape_into(k, x.x, x.bdim, 1));
    k->args[2] = aot_v_tensor(b_reshape_into(k, w.x, w.bdim, 0));
    k->args[9] = aot_v_dim(aot_dim_mul(k->t->c, groups, k->batch));
    k->args[10] = aot_v_list(k->t, 3, mask);
    aot_value both = b_call(k);
    if (mask[0].u.dim.value != 0) {
        aot_tensor *in = b_reshape_outof(k, aot_v_item(both, 0), 1, k->batch);
        out[0] = b_front(k, (batched){in, 1});
    }
    if (mask[1].u.dim.value != 0) {
        out[1] = b_reshape_outof(k, aot_v_item(both, 1), 0, k->batch);
    }
    aot_value v = aot_v_tensors(k->t, 3, out);
    v.kind = AOT_V_TUPLE;
    return v;
}

aot_value batch_convolution_backward(batch_call *k)
{
    batched g = b_in(k, 0), x = b_in(k, 1), w = b_in(k, 2);
    aot_dim groups = k->args[9].u.dim;
    const aot_value *mask = k->args[10].u.items;
    bool transposed = k->args[7].u.dim.value != 0;
    bool for_x = mask[0].u.dim.value != 0, for_w = mask[1].u.dim.value != 0;
    aot_tensor *out[3] = {NULL, NULL, NULL};

    if (mask[2].u.dim.value != 0) {
        int64_t dims[AOT_FAKE_MAX_NDIM];
        unsigned n = 0;
        aot_tensor *grad = b_ensured(k, g);
        for (unsigned i = 1; i < aot_ndim(grad); i++) {
            dims[n++] = i;
            i += i == 1;
        }
        out[2] = AOT(k->t, aten_sum_dim_IntList, grad, aot_v_ints(k->t, n, dims));
    }
    if (g.bdim >= 0 && x.bdim >= 0 && w.bdim >= 0) {
        return conv_both(k, g, x, w, groups, out[2]);
    }
    if (for_x && (g.bdim >= 0 || w.bdim >= 0)) {
        out[0] = conv_input(k, g, x, w, groups, transposed);
    }
    if (for_w && (g.bdim >= 0 || x.bdim >= 0)) {
        out[1] = conv_weight(k, g, x, w, groups, transposed);
    }
    if ((for_x && out[0] == NULL) || (for_w && out[1] == NULL)) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED,
                       "vmap: a gradient of a convolution that has no batch has no rule");
    }
    aot_value v = aot_v_tensors(k->t, 3, out);
    v.kind = AOT_V_TUPLE;
    return v;
}

/* ---- layer norm ------------------------------------------------------------------------------ */

static aot_tensor *affine(batch_call *k, batched p, unsigned rank)
{
    return b_pad(k, b_front(k, p), p.bdim >= 0, rank);
}

/* (input, normalized_shape, weight, bias, eps) */
aot_value batch_native_layer_norm(batch_call *k)
{
    batched x = b_in(k, 0), w = b_in(k, 2), bias = b_in(k, 3);
    unsigned rank = b_rank(x);

    k->args[0] = aot_v_tensor(b_ensured(k, x));
    if (w.bdim < 0 && bias.bdim < 0) {
        return b_call(k);
    }
    k->args[2] = k->args[3] = aot_v_none();
    aot_value out = b_call(k);
    aot_tensor *each[3] = {aot_v_item(out, 0), aot_v_item(out, 1), aot_v_item(out, 2)};
    if (w.x != NULL) {
        each[0] = AOT(k->t, aten_mul_Tensor, each[0], affine(k, w, rank));
    }
    if (bias.x != NULL) {
        each[0] = AOT(k->t, aten_add_Tensor, each[0], affine(k, bias, rank));
    }
    aot_value v = aot_v_tensors(k->t, 3, each);
    v.kind = AOT_V_TUPLE;
    return v;
}

/* Without weight and bias. */
aot_value batch_native_layer_norm_backward(batch_call *k)
{
    static const unsigned at[4] = {0, 1, 3, 4};
    for (unsigned i = 0; i < 4; i++) {
        aot_tensor *x = b_ensured(k, b_in(k, at[i]));
        k->args[at[i]] = aot_v_tensor(AOT(k->t, aten_contiguous, x));
    }
    return b_call(k);
}

static aot_tensor *leading_sum(aot_tracer *t, aot_tensor *x, unsigned n)
{
    int64_t dims[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        dims[i] = i;
    }
    return n == 0 ? x : AOT(t, aten_sum_dim_IntList, x, aot_v_ints(t, n, dims));
}

/* (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask): bias and weight by
 * elementary operators, the input by the operator without them. */
bool batch_split_layer_norm_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *g = aot_x_tensor(k, 0), *x = aot_x_tensor(k, 1), *out[3] = {NULL, NULL, NULL};
    const aot_value *mask = k->args[7].u.items;
    bool affine = !aot_x_is_none(k, 5);
    unsigned leading = aot_ndim(g) - k->args[2].n;
    aot_value only[3] = {aot_v_bool(true), aot_v_bool(false), aot_v_bool(false)};

    if (!affine && mask[1].u.dim.value == 0 && mask[2].u.dim.value == 0) {
        return false;
    }
    if (mask[2].u.dim.value != 0) {
        out[2] = leading_sum(t, g, leading);
    }
    if (mask[1].u.dim.value != 0 && affine) {
        aot_tensor *norm = AOT(t, aten_sub_Tensor, x, k->args[3]);
        norm = AOT(t, aten_mul_Tensor, norm, k->args[4]);
        out[1] = leading_sum(t, AOT(t, aten_mul_Tensor, norm, g), leading);
    }
    if (mask[0].u.dim.value != 0) {
        g = affine ? AOT(t, aten_mul_Tensor, g, k->args[5]) : g;
        out[0] = AOT(t, aten_native_layer_norm_backward, g, x, k->args[2], k->args[3], k->args[4],
                     AOT_NONE, AOT_NONE, aot_v_list(t, 3, only));
    }
    aot_value v = aot_v_tensors(t, 3, out);
    v.kind = AOT_V_TUPLE;
    return aot_x_give_value(k, v);
}

/* ---- the gradient of an embedding ------------------------------------------------------------ */

/* (grad, indices, num_weights, padding_idx, scale_grad_by_freq) */
aot_value batch_embedding_dense_backward(batch_call *k)
{
    aot_tracer *t = k->t;
    batched g = b_in(k, 0), i = b_in(k, 1);
    aot_dim rows = k->args[2].u.dim, one = aot_dim_of(1), all = aot_dim_mul(t->c, rows, k->batch);
    int64_t padding = k->args[3].u.dim.value;

    if (i.bdim < 0) {
        k->args[0] = aot_v_tensor(b_reshape_into(k, g.x, g.bdim, -1));
        k->out = 1;
        return aot_v_tensor(b_reshape_outof(k, aot_v_first(b_call(k)), -1, k->batch));
    }
    aot_tensor *index = b_front(k, i), *grad = b_ensured(k, g);
    aot_tensor *step = AOT(t, aten_arange_start_step, 0, all, rows, (int)aot_dtype_of(index),
                           aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(index)));
    aot_dim size[AOT_FAKE_MAX_NDIM];
    for (unsigned d = 0; d < aot_ndim(index); d++) {
        size[d] = d == 0 ? k->batch : one;
    }
    step = AOT(t, aten_view, step, ((aot_dims){size, aot_ndim(index)}));
    k->args[0] = aot_v_tensor(grad);
    k->args[1] = aot_v_tensor(AOT(t, aten_add_Tensor, index, step));
    k->args[2] = aot_v_dim(all);
    k->args[3] = aot_v_int(-1);
    aot_tensor *out = b_reshape_outof(k, aot_v_first(b_call(k)), 0, k->batch);
    if (padding >= 0) {
        AOT(t, aten_fill__Scalar, AOT(t, aten_select_int, out, 1, padding), 0);
    }
    return aot_v_tensor(out);
}
