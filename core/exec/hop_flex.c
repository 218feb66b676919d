/* flex_attention: attention whose scores go through a graph, and whose pairs of positions another
 * graph allows.
 *
 * The graphs are of one score, one batch, head, query and key. Where they are element-wise they are
 * run once on all scores, the numbers of batches, heads and positions being tensors that broadcast;
 * else once a score.
 * Mirrors torch/_higher_order_ops/flex_attention.py (sdpa_dense, sdpa_dense_backward). */
#include <math.h>
#include <string.h>

#include "exec/hop.h"
#include "exec/kernel.h"

typedef struct flex {
    const hop_call *h;
    aot_kern *k;
    aot_array *q, *key, *value; /* of as many heads as q */
    int64_t size[4];            /* of the scores: batches, heads, queries, keys */
    aot_dtype work;
    const aot_graph *score, *mask;
    const aot_xval *more, *mask_more; /* lists of what the graphs read besides */
    double scale;
} flex;

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Whether a graph on broadcast tensors gives what it gives for each element: element-wise
 * operators, and elements of tensors at places that all of its indices name. */
static bool is_elementwise(const aot_graph *g)
{
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        const aot_node *n = aot_node_at(g, id);
        if (n->kind == AOT_PLACEHOLDER || n->kind == AOT_OUTPUT) {
            continue;
        }
        if (n->kind != AOT_CALL_FUNCTION || n->op == AOT_OP_UNKNOWN) {
            return false;
        }
        bool places = false;
        if (n->op == AOT_OP_aten_index_Tensor && n->n_args == 2) {
            const aot_arg *a = aot_node_args(g, n);
            places = a[0].kind == AOT_ARG_NODE && a[1].kind == AOT_ARG_LIST &&
                     a[1].n == aot_meta_get(g->ctx, aot_node_at(g, a[0].u.node)->meta)->ndim;
        }
        bool number = n->op == AOT_OP_aten_full || n->op == AOT_OP_aten_scalar_tensor ||
                      n->op == AOT_OP_aten_new_ones || n->op == AOT_OP_aten_new_zeros ||
                      n->op == AOT_OP_aten_new_full;
        if (!places && !number && (aot_node_op(n)->tags & AOT_TAG_POINTWISE) == 0) {
            return false;
        }
    }
    return true;
}

/* 0, 1, ... along one of the four dimensions. */
static aot_array *positions(const flex *f, unsigned dim)
{
    int64_t size[4] = {1, 1, 1, 1};
    size[dim] = f->size[dim];
    aot_array *x = k_new(f->k, AOT_I32, 4, size);
    for (int64_t i = 0; i < size[dim]; i++) {
        aot_store_int(&i, AOT_I32, aot_array_data(x) + i * aot_array_item_bytes(x), 0, 1);
    }
    return x;
}

/* The inputs: [score], batch, head, query, key, [grad], others; for all scores, or for the one at
 * `at`. */
static unsigned inputs_of(const flex *f, aot_array *score, aot_array *grad, const aot_xval *more,
                          const int64_t *at, aot_xval *in)
{
    unsigned n = 0;
    if (score != NULL) {
        in[n++] = aot_xv_array(score);
    }
    for (unsigned d = 0; d < 4; d++) {
        aot_array *p = positions(f, d);
        for (unsigned i = 0; at != NULL && i < 4; i++) {
            p = k_select(f->k, p, 0, i == d ? at[i] : 0);
        }
        in[n++] = aot_xv_array(p);
    }
    if (grad != NULL) {
        in[n++] = aot_xv_array(grad);
    }
    for (unsigned i = 0; i < more->n; i++) {
        in[n++] = more->u.items[i];
    }
    return n;
}

static aot_array *element(const flex *f, aot_array *x, const int64_t *at)
{
    for (unsigned i = 0; x != NULL && i < 4; i++) {
        x = k_select(f->k, x, 0, at[i]);
    }
    return x;
}

static aot_array *first_of(const flex *f, aot_xval v)
{
    v = v.kind == AOT_X_LIST && v.n > 0 ? v.u.items[0] : v;
    if (v.kind != AOT_X_ARRAY) {
        k_fail(f->k, AOT_E_UNSUPPORTED, "its graph gives no tensor");
    }
    return v.u.array;
}

/* The graph's first result for each score, as dtype d. grad: of the joint graph. */
static aot_array *through(const flex *f, const aot_graph *g, aot_array *scores, aot_array *grad,
                          const aot_xval *more, aot_dtype d)
{
    aot_xval *in = k_mem(f->k, (more->n + 8) * sizeof *in);
    aot_array *out = k_new(f->k, d, 4, f->size);
    if (is_elementwise(g)) {
        unsigned n = inputs_of(f, scores, grad, more, NULL, in);
        aot_array *all = first_of(f, ex_body(f->h->x, g, n, in));
        aot_array_assign(out, k_expand(f->k, all, 4, f->size));
        return out;
    }
    int64_t at[4] = {0, 0, 0, 0}, n_all = aot_array_numel(out);
    for (int64_t i = 0; i < n_all; i++) {
        unsigned n = inputs_of(f, element(f, scores, at), element(f, grad, at), more, at, in);
        aot_array_assign(element(f, out, at), first_of(f, ex_body(f->h->x, g, n, in)));
        for (unsigned dim = 4; dim-- > 0;) {
            at[dim] = at[dim] + 1 < f->size[dim] ? at[dim] + 1 : 0;
            if (at[dim] != 0) {
                break;
            }
        }
    }
    return out;
}

/* ---- scores ---------------------------------------------------------------------------------- */

static const aot_xval *given(const hop_call *h, aot_kern *k, unsigned i, aot_xkind kind)
{
    if (i >= h->n || h->args[i].kind != kind) {
        k_fail(k, AOT_E_UNSUPPORTED, "argument %u is not what it is in PyTorch 2.11", i);
    }
    return &h->args[i];
}

/* [B, H, L, E] as [B * H, L, E] of a dtype */
static aot_array *flat(aot_kern *k, aot_array *x, aot_dtype d)
{
    int64_t size[3] = {x->size[0] * x->size[1], x->size[2], x->size[3]};
    return k_reshape(k, k_cast_contiguous(k, x, d), 3, size);
}

static aot_array *product(const flex *f, aot_array *a, aot_array *b, aot_dtype d, bool a_turned,
                          bool b_turned)
{
    aot_array *x = flat(f->k, a, d), *y = flat(f->k, b, d);
    x = a_turned ? k_permute(f->k, x, (const unsigned[]){0, 2, 1}) : x;
    y = b_turned ? k_permute(f->k, y, (const unsigned[]){0, 2, 1}) : y;
    aot_array *p = K2(f->k, aten_bmm, x, y);
    return k_reshape(f->k, p, 4, (const int64_t[]){f->size[0], f->size[1], p->size[1], p->size[2]});
}

/* Each head as often as heads of the query share it; a lone batch for all. */
static aot_array *shared(const flex *f, aot_array *x)
{
    int64_t g = f->q->size[1] / x->size[1],
            size[5] = {x->size[0], x->size[1], g, x->size[2], x->size[3]};
    int64_t stride[5] = {x->stride[0], x->stride[1], 0, x->stride[2], x->stride[3]};
    size[0] = f->q->size[0];
    stride[0] = x->size[0] == 1 ? 0 : stride[0];
    aot_array *v = k_contiguous(f->k, k_view(f->k, x, 5, size, stride, x->offset));
    return k_reshape(f->k, v, 4, (const int64_t[]){size[0], size[1] * g, size[3], size[4]});
}

/* score_pos: of the score graph; the mask's is the last of block_mask, two places behind. buffers:
 * of its other inputs. */
static void begin(flex *f, const hop_call *h, aot_kern *k, unsigned score_pos, unsigned mask_pos,
                  unsigned buffers)
{
    const aot_xval *mask = given(h, k, mask_pos, AOT_X_LIST), *scale = mask + 1;
    *f = (flex){.h = h,
                .k = k,
                .q = given(h, k, 0, AOT_X_ARRAY)->u.array,
                .score = given(h, k, score_pos, AOT_X_GRAPH)->u.graph};
    aot_array *key = given(h, k, 1, AOT_X_ARRAY)->u.array,
              *value = given(h, k, 2, AOT_X_ARRAY)->u.array;
    if (mask->n == 0 || mask->u.items[mask->n - 1].kind != AOT_X_GRAPH) {
        k_fail(k, AOT_E_UNSUPPORTED, "the graph of its mask is not in the input");
    }
    if (f->q->ndim != 4 || key->ndim != 4 || value->ndim != 4 || key->size[1] == 0 ||
        f->q->size[1] % key->size[1] != 0) {
        k_fail(k, AOT_E_SHAPE, "query, key and value do not fit");
    }
    f->mask = mask->u.items[mask->n - 1].u.graph;
    f->more = given(h, k, buffers, AOT_X_LIST);
    f->mask_more = given(h, k, buffers + 1, AOT_X_LIST);
    f->scale = scale->kind == AOT_X_REAL  ? scale->u.f
               : scale->kind == AOT_X_INT ? (double)scale->u.i
                                          : 1;
    f->work = f->q->dtype == AOT_F64 ? AOT_F64 : AOT_F32;
    memcpy(f->size, (const int64_t[]){f->q->size[0], f->q->size[1], f->q->size[2], key->size[2]},
           sizeof f->size);
    f->key = shared(f, key);
    f->value = shared(f, value);
}

static aot_array *allowed(const flex *f)
{
    return through(f, f->mask, NULL, NULL, f->mask_more, AOT_B8);
}

/* Scores before and after their graph; pairs that the mask forbids have -inf. */
static aot_array *scores_of(const flex *f, aot_array **before)
{
    aot_kern *k = f->k;
    *before = K2(k, aten_mul_Scalar, product(f, f->q, f->key, f->work, false, true), f->scale);
    aot_array *after = through(f, f->score, *before, NULL, f->more, f->work);
    return K3(k, aten_where_self, allowed(f), after, k_scalar(k, f->work, -INFINITY));
}

/* ---- forward and backward -------------------------------------------------------------------- */

/* query, key, value, score graph, block_mask, scale, kernel_options, buffers of the score's graph,
 * of the mask's */
aot_xval hop_flex_attention(hop_call *h)
{
    aot_kern kern = {.x = h->x, .op = h->op}, *k = &kern;
    flex f;
    aot_array *before;
    begin(&f, h, k, 3, 4, 7);
    aot_array *s = scores_of(&f, &before);
    aot_xval last = aot_xv_list(1, (aot_xval[]){aot_xv_int(-1)});
    aot_xval along[] = {aot_xv_array(s), last}, keep[] = {aot_xv_array(s), last, aot_xv_bool(true)};
    aot_array *lse = k_call(k, AOT_OP_aten_logsumexp, 2, along),
              *most = k_call(k, AOT_OP_aten_amax, 2, along);
    aot_array *shifted = K2(k, aten_sub_Tensor, s, k_call(k, AOT_OP_aten_logsumexp, 3, keep));
    aot_array *none =
        K2(k, aten_eq_Scalar, k_call(k, AOT_OP_aten_amax, 3, keep), (double)-INFINITY);
    aot_array *p = K3(k, aten_masked_fill_Scalar, K1(k, aten_exp, shifted), none, 0.0);
    aot_xval *out = AOT_NEW_ARRAY(h->x->scratch, aot_xval, 3);
    aot_dtype d = (aot_dtype)f.q->dtype;
    out[0] = aot_xv_array(product(&f, k_cast(k, p, d), f.value, d, false, false));
    out[1] = aot_xv_array(K2(k, aten_mul_Scalar, lse, 1 / M_LN2)); // to base 2, as templates count
    out[2] = aot_xv_array(K2(k, aten_mul_Scalar, most, 1 / M_LN2));
    return aot_xv_list(3, out);
}

/* Gradients of heads and batches that were shared are added. */
static aot_array *unshared(const flex *f, aot_array *g, const aot_array *like)
{
    int64_t times = g->size[1] / like->size[1];
    aot_array *v = k_reshape(
        f->k, g, 5, (const int64_t[]){g->size[0], like->size[1], times, g->size[2], g->size[3]});
    aot_xval sum[] = {aot_xv_array(v), aot_xv_list(1, (aot_xval[]){aot_xv_int(2)})};
    v = k_call(f->k, AOT_OP_aten_sum_dim_IntList, 2, sum);
    if (like->size[0] == v->size[0]) {
        return v;
    }
    aot_xval batches[] = {aot_xv_array(v), aot_xv_list(1, (aot_xval[]){aot_xv_int(0)}),
                          aot_xv_bool(true)};
    return k_call(f->k, AOT_OP_aten_sum_dim_IntList, 3, batches);
}

static aot_array *column(aot_kern *k, aot_array *x)
{
    return K2(k, aten_unsqueeze, x, (int64_t)-1);
}

/* The gradient of the scores before their graph. */
static aot_array *grad_of_scores(const flex *f, aot_array *p, aot_array *before,
                                 const aot_graph *joint)
{
    aot_kern *k = f->k;
    const hop_call *h = f->h;
    aot_array *grad = given(h, k, 5, AOT_X_ARRAY)->u.array,
              *out = given(h, k, 3, AOT_X_ARRAY)->u.array;
    aot_array *g = product(f, grad, f->value, f->work, false, true);
    aot_xval sum[] = {
        aot_xv_array(K2(k, aten_mul_Tensor, k_cast(k, out, f->work), k_cast(k, grad, f->work))),
        aot_xv_list(1, (aot_xval[]){aot_xv_int(-1)}), aot_xv_bool(true)};
    g = K2(k, aten_sub_Tensor, g, k_call(k, AOT_OP_aten_sum_dim_IntList, 3, sum));
    if (h->args[6].kind == AOT_X_ARRAY) {
        g = K2(k, aten_add_Tensor, g,
               column(k, K2(k, aten_mul_Scalar, h->args[6].u.array, 1 / M_LN2)));
    }
    g = through(f, joint, before, K2(k, aten_mul_Tensor, p, g), f->more, f->work);
    return K3(k, aten_where_self, allowed(f), K2(k, aten_mul_Scalar, g, f->scale),
              k_scalar(k, f->work, 0));
}

static void check_captured(aot_kern *k, const aot_graph *joint)
{
    const aot_node *out = aot_node_at(joint, (aot_node_id)joint->nodes.n - 1);
    const aot_arg *a = aot_node_args(joint, out);
    for (uint32_t i = 1; out->n_args > 0 && i < a->n; i++) {
        if (aot_arg_items(joint, a)[i].kind == AOT_ARG_NODE) {
            k_fail(k, AOT_E_UNSUPPORTED,
                   "gradients of what its score function captures are not computed");
        }
    }
}

/* query, key, value, out, logsumexp, gradients of these two, score graph, joint graph, block_mask,
 * scale, kernel_options, buffers of the score's graph, of the mask's */
aot_xval hop_flex_attention_backward(hop_call *h)
{
    aot_kern kern = {.x = h->x, .op = h->op}, *k = &kern;
    flex f;
    aot_array *before;
    begin(&f, h, k, 7, 9, 12);
    const aot_graph *joint = given(h, k, 8, AOT_X_GRAPH)->u.graph;
    check_captured(k, joint);
    aot_array *s = scores_of(&f, &before), *lse = given(h, k, 4, AOT_X_ARRAY)->u.array;
    aot_array *p =
        K1(k, aten_exp, K2(k, aten_sub_Tensor, s, column(k, K2(k, aten_mul_Scalar, lse, M_LN2))));
    p = K3(k, aten_masked_fill_Scalar, p, column(k, K2(k, aten_eq_Scalar, lse, (double)-INFINITY)),
           0.0);
    aot_dtype d = (aot_dtype)f.q->dtype;
    aot_array *grad = h->args[5].u.array, *g = k_cast(k, grad_of_scores(&f, p, before, joint), d);
    aot_xval *out = AOT_NEW_ARRAY(h->x->scratch, aot_xval, 4),
             *none = AOT_NEW_ARRAY(h->x->scratch, aot_xval, f.more->n + 1);
    out[0] = aot_xv_array(product(&f, g, f.key, d, false, false));
    out[1] = aot_xv_array(unshared(&f, product(&f, g, f.q, d, true, false), h->args[1].u.array));
    out[2] = aot_xv_array(
        unshared(&f, product(&f, k_cast(k, p, d), grad, d, true, false), h->args[2].u.array));
    for (unsigned i = 0; i < f.more->n; i++) {
        none[i] = aot_xv_none();
    }
    out[3] = aot_xv_list(f.more->n, none);
    return aot_xv_list(4, out);
}
