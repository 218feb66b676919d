/* multi_head_attention_forward: projections, heads folded into the batch, attention, projection.
 *
 * Mirrors: torch/nn/functional.py:multi_head_attention_forward, _in_projection_packed,
 * _in_projection, _canonical_mask */
#include <math.h>

#include "lower/nn.h"

typedef struct mha {
    aot_tracer *t;
    aot_tensor *q, *k, *v;
    aot_tensor *padding, *mask; /* key_padding_mask, attn_mask */
    aot_dim tgt_len, src_len, bsz, embed, heads, head_dim;
    double dropout;
    bool batched, causal, same_kv, same_qk;
} mha;

static aot_dim times(const mha *m, aot_dim a, aot_dim b)
{
    return aot_trace_dim(m->t, '*', a, b);
}

static aot_dims sizes3(const mha *m, aot_dim a, aot_dim b, aot_dim c)
{
    aot_dim *d = AOT_NEW_ARRAY(aot_tracer_arena(m->t), aot_dim, 3);
    d[0] = a;
    d[1] = b;
    d[2] = c;
    return (aot_dims){d, 3};
}

/* _canonical_mask: booleans become numbers to be added. */
static aot_tensor *canonical(aot_tracer *t, aot_tensor *mask, aot_dtype dtype)
{
    if (mask == NULL || aot_is_float(mask)) {
        return mask;
    }
    aot_tensor *zeros =
        AOT(t, aten_zeros_like, mask, aot_v_dtype(dtype), AOT_NONE, AOT_NONE, false);
    return AOT(t, aten_masked_fill__Scalar, zeros, mask, (double)-INFINITY);
}

/* ---- projections ----------------------------------------------------------------------------- */

static aot_tensor *select_first(aot_tracer *t, aot_tensor *x, int64_t i)
{
    return AOT(t, aten_select_int, x, 0, i);
}

/* x [..., n * E] -> [n, ..., E] */
static aot_tensor *unpack(const mha *m, aot_tensor *x, int64_t n)
{
    aot_tracer *t = m->t;
    const aot_dim parts[] = {aot_dim_of(n), m->embed};
    x = AOT(t, aten_unflatten_int, x, -1, ((aot_dims){parts, 2}));
    x = AOT(t, aten_unsqueeze, x, 0);
    x = AOT(t, aten_transpose_int, x, 0, -2);
    x = AOT(t, aten_squeeze_dim, x, -2);
    return AOT(t, aten_contiguous, x);
}

static void project_packed(mha *m, aot_tensor *w, aot_tensor *b)
{
    aot_tracer *t = m->t;
    if (m->same_kv && m->same_qk) {
        aot_tensor *p = AOT(t, aten_linear, m->q, w, b);
        p = unpack(m, p, 3);
        m->q = select_first(t, p, 0);
        m->k = select_first(t, p, 1);
        m->v = select_first(t, p, 2);
        return;
    }
    aot_value ws, bs = aot_v_none();
    if (m->same_kv) {
        const aot_dim parts[] = {m->embed, times(m, m->embed, aot_dim_of(2))};
        ws = AOT_V(t, aten_split_with_sizes, w, ((aot_dims){parts, 2}));
        if (b != NULL) {
            bs = AOT_V(t, aten_split_with_sizes, b, ((aot_dims){parts, 2}));
        }
    } else {
        ws = AOT_V(t, aten_chunk, w, 3);
        if (b != NULL) {
            bs = AOT_V(t, aten_chunk, b, 3);
        }
    }
    aot_tensor *b_q = b != NULL ? aot_v_item(bs, 0) : NULL;
    aot_tensor *b_k = b != NULL ? aot_v_item(bs, 1) : NULL;
    m->q = AOT(t, aten_linear, m->q, aot_v_item(ws, 0), b_q);
    m->k = AOT(t, aten_linear, m->k, aot_v_item(ws, 1), b_k);
    if (m->same_kv) {
        aot_tensor *p = unpack(m, m->k, 2);
        m->k = select_first(t, p, 0);
        m->v = select_first(t, p, 1);
    } else {
        m->v = AOT(t, aten_linear, m->v, aot_v_item(ws, 2), b != NULL ? aot_v_item(bs, 2) : NULL);
    }
}

static void project(mha *m, const aot_pycall *k)
{
    aot_tracer *t = m->t;
    aot_tensor *bias = aot_l_tensor(k, 6, "in_proj_bias");
    if (!aot_l_bool(k, 17, "use_separate_proj_weight", false)) {
        project_packed(m, aot_l_tensor(k, 5, "in_proj_weight"), bias);
        return;
    }
    aot_value b = bias != NULL ? AOT_V(t, aten_chunk, bias, 3) : aot_v_none();
    m->q = AOT(t, aten_linear, m->q, nn_arg(k, 18, "q_proj_weight"),
               bias != NULL ? aot_v_item(b, 0) : NULL);
    m->k = AOT(t, aten_linear, m->k, nn_arg(k, 19, "k_proj_weight"),
               bias != NULL ? aot_v_item(b, 1) : NULL);
    m->v = AOT(t, aten_linear, m->v, nn_arg(k, 20, "v_proj_weight"),
               bias != NULL ? aot_v_item(b, 2) : NULL);
}

/* ---- heads ----------------------------------------------------------------------------------- */

static void pad_masks(mha *m)
{
    aot_value one = aot_v_ints(m->t, 2, (const int64_t[]){0, 1});
    if (m->mask != NULL) {
        m->mask = AOT(m->t, aten_pad, m->mask, one);
    }
    if (m->padding != NULL) {
        m->padding = AOT(m->t, aten_pad, m->padding, one);
    }
}

static aot_tensor *with_row(aot_tracer *t, aot_tensor *x, aot_tensor *row, int dim)
{
    return AOT(t, aten_cat, aot_v_tensors(t, 2, (aot_tensor *const[]){x, row}), dim);
}

/* One more key and value, the same for all items. */
static void add_bias_rows(mha *m, aot_tensor *bias_k, aot_tensor *bias_v)
{
    aot_tracer *t = m->t;
    if (bias_k == NULL || bias_v == NULL) {
        return;
    }
    aot_dims times_bsz = sizes3(m, aot_dim_of(1), m->bsz, aot_dim_of(1));
    aot_tensor *row = AOT(t, aten_repeat, bias_k, times_bsz);
    m->k = with_row(t, m->k, row, 0);
    row = AOT(t, aten_repeat, bias_v, times_bsz);
    m->v = with_row(t, m->v, row, 0);
    pad_masks(m);
}

static aot_tensor *fold_heads(const mha *m, aot_tensor *x)
{
    aot_dims shape = sizes3(m, aot_size(x, 0), times(m, m->bsz, m->heads), m->head_dim);
    x = AOT(m->t, aten_view, x, shape);
    return AOT(m->t, aten_transpose_int, x, 0, 1);
}

static void add_zero_rows(mha *m)
{
    aot_tracer *t = m->t;
    aot_dims shape = sizes3(m, times(m, m->bsz, m->heads), aot_dim_of(1), m->head_dim);
    aot_tensor **x[] = {&m->k, &m->v};
    for (int i = 0; i < 2; i++) {
        aot_tensor *row = AOT(t, aten_zeros, shape, aot_v_dtype(aot_dtype_of(*x[i])), AOT_NONE,
                              aot_v_device(aot_device_of(*x[i])), false);
        *x[i] = with_row(t, *x[i], row, 1);
    }
    pad_masks(m);
}

static void merge_masks(mha *m)
{
    aot_tracer *t = m->t;
    if (m->padding == NULL) {
        return;
    }
    const aot_dim flat[] = {m->bsz, aot_dim_of(1), aot_dim_of(1), m->src_len};
    const aot_dim wide[] = {aot_dim_of(-1), m->heads, aot_dim_of(-1), aot_dim_of(-1)};
    aot_tensor *p = AOT(t, aten_view, m->padding, ((aot_dims){flat, 4}));
    p = AOT(t, aten_expand, p, ((aot_dims){wide, 4}));
    p = AOT(t, aten_reshape, p, sizes3(m, times(m, m->bsz, m->heads), aot_dim_of(1), m->src_len));
    m->mask = m->mask == NULL ? p : AOT(t, aten_add_Tensor, m->mask, p);
}

/* ---- attention ------------------------------------------------------------------------------- */

static aot_tensor *project_out(const mha *m, const aot_pycall *k, aot_tensor *x, aot_dim rows)
{
    aot_tracer *t = m->t;
    const aot_dim flat[] = {rows, m->embed};
    x = AOT(t, aten_contiguous, x);
    x = AOT(t, aten_view, x, ((aot_dims){flat, 2}));
    x = AOT(t, aten_linear, x, nn_arg(k, 11, "out_proj_weight"), nn_arg(k, 12, "out_proj_bias"));
    x = AOT(t, aten_view, x, sizes3(m, m->tgt_len, m->bsz, aot_size(x, 1)));
    return x;
}

static aot_value pair(aot_tracer *t, aot_tensor *a, aot_tensor *b)
{
    return aot_v_tuple(t, 2, (const aot_value[]){aot_v_tensor(a), aot_v_tensor(b)});
}

/* need_weights: in single steps, the weights are a result. */
static aot_value attend_with_weights(const mha *m, const aot_pycall *k)
{
    aot_tracer *t = m->t;
    double scale = sqrt(1.0 / (double)aot_size(m->q, -1).value);
    aot_tensor *q = AOT(t, aten_mul_Tensor, m->q, scale);
    aot_tensor *kt = AOT(t, aten_transpose_int, m->k, -2, -1);
    aot_tensor *w =
        m->mask != NULL ? AOT(t, aten_baddbmm, m->mask, q, kt) : AOT(t, aten_bmm, q, kt);
    w = AOT(t, aten_softmax_int, w, -1);
    if (m->dropout > 0) {
        w = AOT(t, aten_dropout, w, m->dropout, true);
    }
    aot_tensor *x = AOT(t, aten_bmm, w, m->v);
    x = AOT(t, aten_transpose_int, x, 0, 1);
    x = project_out(m, k, x, times(m, m->tgt_len, m->bsz));
    const aot_dim shape[] = {m->bsz, m->heads, m->tgt_len, m->src_len};
    w = AOT(t, aten_view, w, ((aot_dims){shape, 4}));
    if (aot_l_bool(k, 23, "average_attn_weights", true)) {
        w = AOT(t, aten_mean_dim, w, 1);
    }
    if (!m->batched) {
        x = AOT(t, aten_squeeze_dim, x, 1);
        w = AOT(t, aten_squeeze_dim, w, 0);
    }
    return pair(t, x, w);
}

static aot_tensor *unfold_heads(const mha *m, aot_tensor *x, aot_dim len)
{
    const aot_dim shape[] = {m->bsz, m->heads, len, m->head_dim};
    return AOT(m->t, aten_view, x, ((aot_dims){shape, 4}));
}

static aot_value attend(const mha *m, const aot_pycall *k)
{
    aot_tracer *t = m->t;
    aot_tensor *mask = m->mask;
    if (mask != NULL && aot_ndim(mask) == 3 && aot_dim_eq(aot_size(mask, 0), aot_dim_of(1))) {
        mask = AOT(t, aten_unsqueeze, mask, 0);
    } else if (mask != NULL) {
        const aot_dim shape[] = {m->bsz, m->heads, aot_dim_of(-1), m->src_len};
        mask = AOT(t, aten_view, mask, ((aot_dims){shape, 4}));
    }
    aot_tensor *q = unfold_heads(m, m->q, m->tgt_len);
    aot_tensor *key = unfold_heads(m, m->k, m->src_len);
    aot_tensor *v = unfold_heads(m, m->v, m->src_len);
    aot_tensor *x = AOT(t, aten_scaled_dot_product_attention, q, key, v, mask, m->dropout,
                        m->causal);
    x = AOT(t, aten_permute, x, aot_v_ints(t, 4, (const int64_t[]){2, 0, 1, 3}));
    x = project_out(m, k, x, times(m, m->bsz, m->tgt_len));
    if (!m->batched) {
        x = AOT(t, aten_squeeze_dim, x, 1);
    }
    return pair(t, x, NULL);
}

/* The canonical masks, and whether is_causal stands for the mask. */
static void prepare_masks(mha *m, const aot_pycall *k, bool need_weights)
{
    aot_dtype dtype = aot_dtype_of(m->q);
    m->padding = canonical(m->t, m->padding, dtype);
    m->causal = aot_l_bool(k, 24, "is_causal", false);
    if (m->causal && m->padding == NULL && !need_weights) {
        m->mask = NULL;
        return;
    }
    m->mask = canonical(m->t, m->mask, dtype);
    m->causal = m->causal && m->padding == NULL;
}

static void add_batch(mha *m)
{
    aot_tensor *q = m->q, *k = m->k, *v = m->v;
    m->q = AOT(m->t, aten_unsqueeze, q, 1);
    m->k = AOT(m->t, aten_unsqueeze, k, 1);
    m->v = AOT(m->t, aten_unsqueeze, v, 1);
    if (m->padding != NULL) {
        m->padding = AOT(m->t, aten_unsqueeze, m->padding, 0);
    }
    m->same_kv = m->same_qk = false;
}

aot_value lower_multi_head_attention(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    mha m = {.t = t,
             .q = aot_l_need_tensor(k, 0, "query"),
             .k = aot_l_tensor(k, 1, "key"),
             .v = aot_l_tensor(k, 2, "value"),
             .padding = aot_l_tensor(k, 14, "key_padding_mask"),
             .mask = aot_l_tensor(k, 16, "attn_mask"),
             .heads = aot_l_dim(k, 4, "num_heads", 1)};
    bool need_weights = aot_l_bool(k, 15, "need_weights", true);
    m.same_kv = m.k == m.v;
    m.same_qk = m.q == m.k;
    m.batched = aot_ndim(m.q) == 3;
    if (!m.batched) {
        add_batch(&m);
    }
    m.tgt_len = aot_size(m.q, 0);
    m.bsz = aot_size(m.q, 1);
    m.embed = aot_size(m.q, 2);
    m.head_dim = aot_trace_dim(t, '/', m.embed, m.heads);
    prepare_masks(&m, k, need_weights);
    project(&m, k);
    if (m.mask != NULL && aot_ndim(m.mask) == 2) {
        m.mask = AOT(t, aten_unsqueeze, m.mask, 0);
    }
    add_bias_rows(&m, aot_l_tensor(k, 7, "bias_k"), aot_l_tensor(k, 8, "bias_v"));
    aot_tensor *static_k = aot_l_tensor(k, 21, "static_k");
    aot_tensor *static_v = aot_l_tensor(k, 22, "static_v");
    m.q = fold_heads(&m, m.q);
    m.k = static_k != NULL ? static_k : fold_heads(&m, m.k);
    m.v = static_v != NULL ? static_v : fold_heads(&m, m.v);
    if (aot_l_bool(k, 9, "add_zero_attn", false)) {
        add_zero_rows(&m);
    }
    m.src_len = aot_size(m.k, 1);
    merge_masks(&m);
    m.dropout = aot_l_bool(k, 13, "training", true) ? aot_l_float(k, 10, "dropout_p", 0) : 0;
    return need_weights ? attend_with_weights(&m, k) : attend(&m, k);
}
