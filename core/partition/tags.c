/* Checkpoint tags before the cut: cleaned up, then forced where something must not happen twice.
 * Mirrors: partitioners.py cleanup_recompute_tags, force_save_collectives,
 * force_save_effectful_ops, force_save_bw_mutation_src. Differs: has_backward_hook is not printed,
 * so the FSDP2 rule that reads it cannot be followed. */
#include "partition/internal.h"

bool part_has_recomputable(const part *p)
{
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        if (part_must_recompute(p->m.policy[i])) {
            return true;
        }
    }
    return false;
}

bool part_has_recomputable_rng(const part *p)
{
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        if (part_must_recompute(p->m.policy[i]) && (p->m.part[i] & PART_IS_SEEDED) != 0) {
            return true;
        }
    }
    return false;
}

/* The value on the border of two checkpointed regions is kept: else the first region would be
 * recomputed inside the second. */
static void keep_region_border(part *p, uint32_t i)
{
    const aot_graph *g = p->g;
    for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1]; k++) {
        uint32_t u = g->user[k];
        if (part_must_recompute(p->m.policy[u]) && p->m.ac_graph_id[u] >= 0 &&
            p->m.ac_graph_id[i] >= 0 && p->m.ac_graph_id[u] > p->m.ac_graph_id[i]) {
            p->m.policy[i] = AOT_POLICY_MUST_SAVE;
        }
    }
}

void part_cleanup_tags(part *p, bool default_partition)
{
    const aot_graph *g = p->g;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        if (part_must_recompute(p->m.policy[i])) {
            keep_region_border(p, i);
            continue;
        }
        bool feeds = false;
        for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1]; k++) {
            feeds |= part_must_recompute(p->m.policy[g->user[k]]);
        }
        if (!default_partition || !feeds || p->m.ac_graph_id[i] >= 0) {
            continue;
        }
        if ((p->m.part[i] & PART_IS_GETITEM) != 0 && g->in_off[i] < g->in_off[i + 1]) {
            uint32_t parent = g->in[g->in_off[i]];
            if (!part_is_tensor(g, aot_node_at(g, parent)) && p->m.ac_graph_id[parent] >= 0) {
                continue;
            }
        }
        p->m.policy[i] = AOT_POLICY_MUST_SAVE;
    }
}

/* Getitems of an effectful operator's result, through nested tuples; no recursion: ids only
 * grow. */
static void save_elements(part *p, uint32_t effects)
{
    const aot_graph *g = p->g;
    AOT_VEC(uint32_t) todo = {0};
    aot_vec_push(&todo, effects);
    for (size_t at = 0; at < todo.n; at++) {
        uint32_t i = todo.d[at];
        for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1]; k++) {
            uint32_t u = g->user[k];
            const aot_node *n = aot_node_at(g, u);
            if (!aot_is_getitem(g, n)) {
                continue;
            }
            aot_vec_push(&todo, u);
            bool tuple = false;
            for (uint32_t q = g->user_off[u]; q < g->user_off[u + 1] && n->meta == 0; q++) {
                tuple |= aot_is_getitem(g, aot_node_at(g, g->user[q]));
            }
            if (!tuple) {
                p->m.policy[u] = AOT_POLICY_MUST_SAVE;
            }
        }
    }
    aot_vec_free(&todo);
}

static void save_mutation_sources(part *p)
{
    const aot_graph *g = p->g;
    uint8_t *in_bw = AOT_NEW_ARRAY(p->scratch, uint8_t, g->nodes.n + 1);
    for (uint32_t i = (uint32_t)g->nodes.n; i-- > 0;) {
        const aot_node *n = aot_node_at(g, i);
        if (n->kind == AOT_OUTPUT) {
            continue;
        }
        if ((p->m.part[i] & PART_IS_COPY) == 0 || n->n_args < 2) {
            break; // copy_ stands only at the end
        }
        const aot_arg *a = aot_node_args(g, n);
        if (a[0].kind != AOT_ARG_NODE || a[1].kind != AOT_ARG_NODE) {
            continue;
        }
        if (p->m.must_side[i] == PART_MUST_BW) {
            in_bw[a[0].u.node] = 1;
        }
        if (p->m.must_side[i] == PART_MUST_FW && in_bw[a[0].u.node]) {
            p->m.policy[a[1].u.node] = AOT_POLICY_MUST_SAVE;
        }
    }
}

void part_force_saves(part *p)
{
    const aot_graph *g = p->g;
    for (uint32_t i = 0; i < g->nodes.n && !p->config->unsafe_allow_optimization_of_collectives;
         i++) {
        if ((p->m.part[i] & PART_IS_COLLECTIVE) != 0 && !part_must_recompute(p->m.policy[i])) {
            p->m.policy[i] = AOT_POLICY_MUST_SAVE;
        }
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        if ((p->m.part[i] & PART_IS_EFFECTS) != 0 && !part_must_recompute(p->m.policy[i]) &&
            !p->m.backward_made[i]) {
            save_elements(p, i);
        }
    }
    save_mutation_sources(p);
}
