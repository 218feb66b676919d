/* Outputs of dropout, losses, quantisation, embeddings, cells, collectives and higher-order
 * operators. */
#include "ops/op_ids.h"
#include "rules/outs.h"

static bool is_list(const aot_arg *a)
{
    return a && (a->kind == AOT_ARG_LIST || a->kind == AOT_ARG_TUPLE);
}

static void push_scalar(aot_outs *o, aot_dtype d)
{
    aot_outs_push(o, aot_outs_type(d, 0, NULL));
}

/* ---- dropout, activations ------------------------------------------------------------------ */

/* A result like the input and a mask of its size. */
static void push_with_mask(aot_outs *o, const char *name)
{
    aot_out_type t;
    if (aot_outs_tensor(o, 0, name, &t)) {
        aot_outs_push(o, t);
        aot_outs_push_as(o, t, AOT_B8);
    }
}

void outs_native_dropout(aot_outs *o)
{
    push_with_mask(o, "input");
}

void outs_cachemask(aot_outs *o)
{
    push_with_mask(o, "self");
}

void outs_fused_dropout(aot_outs *o)
{
    aot_out_type t;
    if (aot_outs_tensor(o, 0, "self", &t)) {
        aot_outs_push(o, t);
        aot_outs_push_as(o, t, AOT_U8);
    }
}

void outs_log_sigmoid_forward(aot_outs *o)
{
    aot_out_type t;
    int64_t none = 0;
    if (!aot_outs_tensor(o, 0, "self", &t)) {
        return;
    }
    aot_outs_push(o, t);
    if (aot_outs_on_cpu(o, 0, "self")) { /* the exponential is kept on CPU only */
        aot_outs_push(o, t);
    } else {
        aot_outs_push(o, aot_outs_type(t.dtype, 1, &none));
    }
}

void outs_rrelu_functional(aot_outs *o)
{
    aot_outs_push_like(o, 0, "self", true);
    aot_outs_push_like(o, 1, "noise", true);
}

void outs_prelu_backward(aot_outs *o)
{
    aot_outs_push_like(o, 1, "self", true);
    aot_outs_push_like(o, 1, "self", true); /* summed to the weight's size later */
}

/* ---- losses -------------------------------------------------------------------------------- */

enum { REDUCTION_NONE = 0 };

/* (self, target, weight, reduction, ignore_index): the loss, and the sum of the weights. */
void outs_nll_loss_forward(aot_outs *o)
{
    aot_out_type t, target;
    if (!aot_outs_tensor(o, 0, "self", &t) || !aot_outs_tensor(o, 1, "target", &target)) {
        return;
    }
    if (aot_outs_int(o, 3, "reduction", 1) == REDUCTION_NONE && t.ndim > 1) {
        aot_outs_push_as(o, target, t.dtype);
    } else {
        push_scalar(o, t.dtype);
    }
    push_scalar(o, t.dtype);
}

void outs_multilabel_margin(aot_outs *o)
{
    aot_out_type t, target;
    if (!aot_outs_tensor(o, 0, "self", &t) || !aot_outs_tensor(o, 1, "target", &target)) {
        return;
    }
    if (aot_outs_int(o, 2, "reduction", 1) == REDUCTION_NONE && t.ndim > 1) {
        aot_outs_push(o, aot_outs_type(t.dtype, 1, t.sizes));
    } else {
        push_scalar(o, t.dtype);
    }
    aot_outs_push_as(o, target, t.dtype);
}

/* ---- matrices, embeddings, cells ----------------------------------------------------------- */

/* (self, grad_output, weight, output_mask) */
void outs_linear_backward(aot_outs *o)
{
    aot_out_type w;
    aot_outs_push_like(o, 0, "self", aot_outs_mask(o, 3, "output_mask", 0));
    aot_outs_push_like(o, 2, "weight", aot_outs_mask(o, 3, "output_mask", 1));
    if (aot_outs_mask(o, 3, "output_mask", 2) && aot_outs_tensor(o, 2, "weight", &w) &&
        w.ndim == 2) {
        aot_outs_push(o, aot_outs_type(w.dtype, 1, &w.sizes[0]));
    } else {
        aot_outs_push_none(o);
    }
}

/* (grad, self, other, mask) */
void outs_matmul_backward(aot_outs *o)
{
    aot_outs_push_like(o, 1, "self", aot_outs_mask(o, 3, "mask", 0));
    aot_outs_push_like(o, 2, "other", aot_outs_mask(o, 3, "mask", 1));
}

enum { BAG_SUM = 0, BAG_MEAN = 1, BAG_MAX = 2 };

/* (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
 *  include_last_offset, padding_idx): output, offset2bag, bag_size, max_indices */
void outs_embedding_bag(aot_outs *o)
{
    aot_out_type w, indices, offsets;
    if (!aot_outs_tensor(o, 0, "weight", &w) || !aot_outs_tensor(o, 1, "indices", &indices) ||
        !aot_outs_tensor(o, 2, "offsets", &offsets) || w.ndim != 2 || offsets.ndim != 1) {
        return;
    }
    int64_t mode = aot_outs_int(o, 4, "mode", BAG_SUM), none = 0;
    bool last = aot_outs_bool(o, 7, "include_last_offset", false);
    int64_t bags = aot_add_size(offsets.sizes[0], last ? -1 : 0);
    int64_t out[] = {bags, w.sizes[1]};
    bool cpu = aot_outs_on_cpu(o, 0, "weight");
    aot_outs_push(o, aot_outs_type(w.dtype, 2, out));
    /* plain sums need no map from offset to bag on CPU */
    bool fast = cpu && mode == BAG_SUM && aot_outs_int(o, 8, "padding_idx", -1) < 0 &&
                (w.dtype == AOT_F32 || w.dtype == AOT_F16);
    aot_outs_push(o, aot_outs_type(indices.dtype, 1, fast ? &none : indices.sizes));
    aot_outs_push(o, aot_outs_type(indices.dtype, 1, cpu ? &bags : offsets.sizes));
    if (mode == BAG_MAX) {
        aot_outs_push(o, aot_outs_type(indices.dtype, 2, out));
    } else {
        aot_outs_push(o, aot_outs_type(indices.dtype, 1, cpu ? &bags : &none));
    }
}

/* (input_gates, hidden_gates, cx, ...): hy, cy, workspace */
void outs_fused_lstm_cell(aot_outs *o)
{
    aot_out_type gates;
    aot_outs_push_like(o, 2, "cx", true);
    aot_outs_push_like(o, 2, "cx", true);
    if (aot_outs_tensor(o, 0, "input_gates", &gates)) {
        aot_outs_push(o, gates);
    }
}

/* (input_gates, hidden_gates, hx, ...): hy, workspace of five parts */
void outs_fused_gru_cell(aot_outs *o)
{
    aot_out_type h;
    aot_outs_push_like(o, 2, "hx", true);
    if (aot_outs_tensor(o, 2, "hx", &h) && h.ndim == 2) {
        h.sizes[1] = aot_mul_size(h.sizes[1], 5);
        aot_outs_push(o, h);
    }
}

/* (input, w0..w3, hx, cx, reverse, batch_sizes, mode, hidden_size, ...): output, hy, cy, workspace
 */
void outs_mkldnn_rnn_layer(aot_outs *o)
{
    aot_out_type t;
    int64_t none = 0;
    if (!aot_outs_tensor(o, 0, "input", &t) || t.ndim != 3) {
        return;
    }
    t.sizes[2] = aot_outs_int(o, 10, "hidden_size", AOT_HINT_NONE);
    aot_outs_push(o, t);
    aot_outs_push_like(o, 5, "hx_", true);
    aot_outs_push_like(o, 6, "cx_", true);
    aot_outs_push(o, aot_outs_type(AOT_U8, 1, &none));
}

/* (self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, ...):
 * output, mask, and the five states */
void outs_moving_avg_functional(aot_outs *o)
{
    push_with_mask(o, "self");
    for (unsigned i = 3; i < 7; i++) {
        aot_outs_push_like(o, i, "", true);
    }
}

/* (grad, self, scale, zero_point, ...): gradients of the three */
void outs_learnable_quant_backward(aot_outs *o)
{
    aot_outs_push_like(o, 1, "self", true);
    aot_outs_push_like(o, 2, "scale", true);
    aot_outs_push_like(o, 3, "zero_point", true);
}

/* ---- libraries ----------------------------------------------------------------------------- */

void outs_grouped_mm_fallback_backward(aot_outs *o)
{
    aot_outs_push_like(o, 0, "input", true);
    aot_outs_push_like(o, 1, "weight", true);
}

/* ---- collectives --------------------------------------------------------------------------- */

/* Each like its input, dimension 0 times (or over) the group. */
static void push_coalesced(aot_outs *o, unsigned group_pos, bool gather)
{
    aot_out_type t;
    const aot_arg *list = aot_outs_arg(o, 0, "inputs");
    int64_t group = aot_outs_int(o, group_pos, "group_size", 1);
    for (unsigned i = 0; is_list(list) && i < list->n; i++) {
        if (!aot_outs_tensor_arg(o, aot_arg_items(o->g, list) + i, &t)) {
            aot_outs_push_none(o);
            continue;
        }
        if (t.ndim > 0) {
            t.sizes[0] =
                gather ? aot_mul_size(t.sizes[0], group) : aot_ceil_div_size(t.sizes[0], group);
        }
        aot_outs_push(o, t);
    }
}

void outs_all_gather_coalesced(aot_outs *o)
{
    push_coalesced(o, 1, true);
}

void outs_reduce_scatter_coalesced(aot_outs *o)
{
    push_coalesced(o, 2, false);
}

void outs_all_reduce_coalesced(aot_outs *o)
{
    push_coalesced(o, ~0u >> 1, true);
}

/* ---- random state -------------------------------------------------------------------------- */

enum { CPU_STATE_BYTES = 5056, CUDA_STATE_BYTES = 16 };

/* (op, *args): the generator's state, and what op gives (a tuple of its own if there are several,
 * which counts nothing). */
void outs_run_and_save_rng_state(aot_outs *o)
{
    aot_out_type t;
    bool cuda = false;
    for (unsigned i = 1; i < o->n->n_args; i++) {
        cuda |= aot_outs_tensor(o, i, "", &t) && !aot_outs_on_cpu(o, i, "");
    }
    int64_t state = cuda ? CUDA_STATE_BYTES : CPU_STATE_BYTES;
    aot_outs_push(o, aot_outs_type(AOT_U8, 1, &state));
    aot_outs_push_none(o);
}

/* A getitem that takes a tuple: what the random operator gave beside its state. */
void outs_getitem(aot_outs *o)
{
    const aot_node *getitem = o->n;
    const aot_arg *from = aot_outs_arg(o, 0, "a");
    if (!from || from->kind != AOT_ARG_NODE || aot_outs_int(o, 1, "b", 0) != 1) {
        return;
    }
    const aot_node *n = aot_node_at(o->g, from->u.node);
    if (n->op == AOT_OP_higher_order_run_and_save_rng_state) {
        o->n = n;
        aot_outs_of_op(o, aot_outs_arg(o, 0, "op"), 1);
        o->n = getitem;
    }
}

/* (state, op, *args): what op gives */
void outs_run_with_rng_state(aot_outs *o)
{
    aot_outs_of_op(o, aot_outs_arg(o, 1, "op"), 2);
}

/* (op, *args, rng_state=...): what op gives */
void outs_graphsafe_run_with_rng_state(aot_outs *o)
{
    aot_outs_of_op(o, aot_outs_arg(o, 0, "op"), 1);
}

/* (size, seed, offset, ...): numbers, and the new offset */
void outs_philox_rand(aot_outs *o)
{
    const aot_arg *size = aot_outs_arg(o, 0, "size");
    int64_t sizes[AOT_OUT_MAX_NDIM];
    unsigned n = is_list(size) && size->n <= AOT_OUT_MAX_NDIM ? size->n : 0;
    for (unsigned i = 0; i < n; i++) {
        sizes[i] = aot_outs_item(o, size, i, AOT_HINT_NONE);
    }
    aot_outs_push(o, aot_outs_type(aot_outs_dtype(o, 5, "dtype", AOT_F32), n, sizes));
    push_scalar(o, AOT_I64);
}

/* ---- higher-order operators ---------------------------------------------------------------- */

/* (pred, true_fn, false_fn, operands) */
void outs_cond(aot_outs *o)
{
    aot_outs_of_subgraph(o, aot_outs_arg(o, 1, "true_fn"));
}

/* (subgraph, ...) */
void outs_subgraph_first(aot_outs *o)
{
    aot_outs_of_subgraph(o, aot_outs_arg(o, 0, "subgraph"));
}

/* (cond_fn, body_fn, carried, additional): what is carried, before and after */
void outs_while_loop(aot_outs *o)
{
    aot_outs_of_subgraph(o, aot_outs_arg(o, 1, "body_fn"));
}

/* (token, op, *args): an empty token, and what op gives */
void outs_with_effects(aot_outs *o)
{
    int64_t none = 0;
    aot_outs_push(o, aot_outs_type(AOT_F32, 1, &none));
    aot_outs_of_op(o, aot_outs_arg(o, 1, "op"), 2);
}

/* (op, **kwargs with _all_bases): what op gives, then a new version of each base. An operator that
 * gives nothing has None in its place. */
void outs_auto_functionalized_v2(aot_outs *o)
{
    aot_out_type t;
    const aot_arg *bases = aot_node_kwarg(o->g, o->n, "_all_bases");
    unsigned n = is_list(bases) ? bases->n : 0;
    for (unsigned before = o->n_taken > n + 1 ? o->n_taken - n : 1; before > 0; before--) {
        aot_outs_push_none(o);
    }
    for (unsigned i = 0; i < n; i++) {
        if (aot_outs_tensor_arg(o, aot_arg_items(o->g, bases) + i, &t)) {
            aot_outs_push(o, t);
        } else {
            aot_outs_push_none(o);
        }
    }
}

/* (kernel_idx, ..., kwargs={name: value}, tensors_to_clone=[names]): a dictionary of copies */
void outs_triton_functional(aot_outs *o)
{
    aot_out_type t;
    const aot_arg *values = aot_node_kwarg(o->g, o->n, "kwargs");
    const aot_arg *names = aot_node_kwarg(o->g, o->n, "tensors_to_clone");
    if (!values || values->kind != AOT_ARG_DICT || !is_list(names)) {
        return;
    }
    const aot_arg *kv = aot_arg_items(o->g, values), *want = aot_arg_items(o->g, names);
    for (unsigned i = 0; i < names->n; i++) {
        for (unsigned k = 0; k + 1 < values->n; k += 2) {
            if (kv[k].u.s == want[i].u.s && aot_outs_tensor_arg(o, &kv[k + 1], &t)) {
                aot_outs_push(o, t);
                break;
            }
        }
    }
}
