/* Saved tensors that the backward may overwrite: their memory is no input's, no user output's and
 * no gradient's.
 *
 * Counted as PyTorch hands them to the backward: symbolic sizes first. PyTorch looks for the first
 * saved value where it would be without effect tokens, so with tokens it takes user outputs for
 * saved values; so does this.
 * Mirrors: torch/_functorch/_aot_autograd/graph_compile.py:collect_bw_donated_buffer_idxs. */
#include <string.h>

#include "ops/op_ids.h"
#include "partition/internal.h"

/* Memory that somebody else holds, by storage group. */
static uint8_t *held_memory(part *p, const uint32_t *storage, uint32_t first)
{
    const aot_graph *g = p->g;
    uint8_t *held = AOT_NEW_ARRAY(p->scratch, uint8_t, g->nodes.n + 1);
    uint32_t n_out;
    const aot_arg *out = part_outputs(g, &n_out);
    for (uint32_t i = 0; i < n_out; i++) {
        bool user = i < first, gradient = i >= (uint32_t)p->n_fw_out;
        if (out[i].kind == AOT_ARG_NODE && (user || gradient)) {
            held[storage[out[i].u.node]] = 1;
        }
    }
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        held[storage[p->inputs[i]]] = 1;
    }
    return held;
}

/* 1 + node of the cut graph by name. */
static uint32_t *nodes_by_name(part *p)
{
    uint32_t *of = AOT_NEW_ARRAY(p->scratch, uint32_t, aot_strtab_count(p->ctx->strs) + 1);
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        of[aot_node_at(p->g, i)->name] = i + 1;
    }
    return of;
}

/* set_ and resize_ of a storage: what a fake tensor's memory was no longer tells. */
static bool changes_storage(const aot_graph *g)
{
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        if (part_target_is(g, aot_node_at(g, i), "torch.ops.aten.set_.source_Tensor")) {
            return true;
        }
    }
    return false;
}

/* The state of a generator that a random operator was saved with: no value of the joint graph,
 * though one there may have its name. */
static bool is_saved_state(const aot_graph *g, const aot_node *n)
{
    const aot_arg *a = aot_node_args(g, n);
    return aot_is_getitem(g, n) && n->n_args == 2 && a[0].kind == AOT_ARG_NODE &&
           a[1].kind == AOT_ARG_INT && a[1].u.i == 0 &&
           aot_node_at(g, a[0].u.node)->op == AOT_OP_higher_order_run_and_save_rng_state;
}

void part_find_donated(part *p)
{
    aot_partition *out = p->out;
    const aot_graph *fw = out->forward;
    if (changes_storage(fw) || changes_storage(out->backward)) {
        return;
    }
    const uint32_t *storage = p->st->storage, *cut = nodes_by_name(p);
    uint32_t n_out, at = 0, n_sym = 0, n_tokens = part_count_tokens(p->g);
    uint32_t first = (uint32_t)out->n_forward_outputs - n_tokens;
    const uint8_t *held = held_memory(p, storage, first);
    const aot_arg *ret = part_outputs(fw, &n_out);
    out->donated = AOT_NEW_ARRAY(p->result, int, n_out + 1);
    for (uint32_t i = first; i < n_out; i++) {
        n_sym += ret[i].kind == AOT_ARG_NODE && part_is_sym(fw, aot_node_at(fw, ret[i].u.node));
    }
    for (uint32_t i = first; i < n_out; i++) {
        const aot_node *n = ret[i].kind == AOT_ARG_NODE ? aot_node_at(fw, ret[i].u.node) : NULL;
        if (n == NULL || part_is_sym(fw, n)) {
            continue;
        }
        uint32_t k = is_saved_state(fw, n) ? 0 : cut[n->name];
        if (k == 0 || !held[storage[k - 1]]) {
            out->donated[out->n_donated++] = (int)(n_sym + at);
        }
        at++;
    }
}
