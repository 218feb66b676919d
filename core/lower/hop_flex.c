/* flex_attention: its score and mask functions are traced apart, on one score and its place.
 * Mirrors torch/_higher_order_ops/flex_attention.py (trace_flex_attention,
 * flex_attention_fake_impl). */
#include "lower/hop.h"

#include "lower/internal.h"

/* What a score function takes: batch, head, query and key numbers; a score before them if score. */
static aot_subgraph *function_of(aot_tracer *t, aot_value graph, aot_tensor *query, bool score,
                                 aot_value rest)
{
    aot_value in[64], none = aot_v_list(t, 0, NULL);
    unsigned n = 0;
    if (graph.kind != AOT_V_GRAPH || rest.n > 48) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "flex_attention without a graph of its %s function",
                       score ? "score" : "mask");
    }
    if (score) {
        in[n++] = AOT_V(t, aten_new_zeros, query, none, AOT_NONE, AOT_NONE, AOT_NONE, false);
    }
    for (int i = 0; i < 4; i++) {
        in[n++] =
            AOT_V(t, aten_new_zeros, query, none, aot_v_dtype(AOT_I32), AOT_NONE, AOT_NONE, false);
    }
    for (unsigned i = 0; i < rest.n; i++) {
        in[n++] = rest.u.items[i];
    }
    return aot_trace_apart(t, hop_run, (void *)(uintptr_t)graph.u.graph, n, in, false);
}

/* The output: query's sizes with value's last one, laid out in the order of query's strides; the
 * logarithm of the sums and the largest score of each row. */
static aot_value types_of(aot_tracer *t, const aot_tensor *q, const aot_tensor *v)
{
    aot_fake out = *aot_type_of(q), rows;
    aot_tensor *all[3];
    out.size[out.ndim - 1] = aot_size(v, -1);
    aot_fake_set_contiguous(aot_tracer_ctx(t), &out);
    aot_fake_set_like(aot_tracer_ctx(t), &out, aot_type_of(q));
    rows = aot_fake_new(AOT_F32, out.ndim - 1u, out.size, out.device);
    aot_fake_set_contiguous(aot_tracer_ctx(t), &rows);
    all[0] = aot_hop_type(t, &out);
    all[1] = aot_hop_type(t, &rows);
    all[2] = aot_hop_type(t, &rows);
    return aot_v_tensors(t, 3, all);
}

/* flex_attention(query, key, value, score_mod, block_mask, scale, kernel_options,
 * score_mod_other_buffers, mask_mod_other_buffers) */
aot_value lower_flex_attention(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_tensor *q = aot_l_need_tensor(k, 0, "query"), *key = aot_l_need_tensor(k, 1, "key");
    aot_tensor *v = aot_l_need_tensor(k, 2, "value");
    if (k->n < 5 || !aot_v_is_list(k->args[4]) || k->args[4].n == 0) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "flex_attention without a block mask");
    }
    if (aot_grad_enabled(t) &&
        (aot_requires_grad(q) || aot_requires_grad(key) || aot_requires_grad(v))) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "flex_attention: its gradient is not implemented");
    }
    aot_value block = k->args[4], empty = aot_v_tuple(t, 0, NULL);
    aot_subgraph *score =
        function_of(t, k->args[3], q, true, k->n > 7 ? hop_items(t, k->args[7]) : empty);
    aot_subgraph *mask = function_of(t, block.u.items[block.n - 1], q, false,
                                     k->n > 8 ? hop_items(t, k->args[8]) : empty);
    aot_value *items = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, block.n);
    aot_value *args = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, k->n);
    memcpy(items, block.u.items, block.n * sizeof *items);
    memcpy(args, k->args, k->n * sizeof *args);
    args[3] = aot_v_subgraph(t, score, "sdpa_score", aot_hop_number(t, "sdpa_score"));
    items[block.n - 1] = aot_v_subgraph(t, mask, "sdpa_mask", aot_hop_number(t, "sdpa_mask"));
    args[4] = aot_v_tuple(t, block.n, items);
    aot_hop h = {.name = "flex_attention", .n = k->n, .args = args, .out = types_of(t, q, v)};
    return aot_hop_call(t, &h);
}
