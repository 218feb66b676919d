/* The partitioner's entry: clean the joint graph, choose what to save, cut out both modules.
 * Mirrors: partitioners.py:min_cut_rematerialization_partition. */
#include "partition/partition.h"

#include <stdlib.h>
#include <string.h>

#include "partition/edits.h"
#include "partition/internal.h"
#include "rules/flops.h"
#include "rules/sizes.h"

const char *aot_verdict_name(aot_verdict v)
{
    static const char *const names[] = {"saved", "recomputed", "forward only", "backward only", "dead"};
    return names[v];
}

static const struct {
    const char *text, *sentence;
} bans[AOT_N_BANS] = {
    {NULL, NULL},
#define BAN(id, text, sentence) {text, sentence},
#include "partition/bans.def"
#undef BAN
};

const char *aot_ban_text(aot_ban b)
{
    return bans[b].text;
}

const char *aot_ban_sentence(aot_ban b)
{
    return bans[b].sentence;
}

static void begin_facts(part *p)
{
    uint32_t n = (uint32_t)p->g->nodes.n;
    p->out->cut = (aot_graph *)(uintptr_t)p->g;
    p->out->n_nodes = n;
    p->out->nodes = AOT_NEW_ARRAY(p->ctx->arena, aot_node_info, n);
    p->banned = AOT_NEW_ARRAY(p->scratch, uint8_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        p->out->nodes[i].bytes = aot_node_bytes(p->g, i);
        p->out->nodes[i].weight = -1;
    }
}

/* Computed from parameters and buffers alone: the same in every step. */
static bool from_static_only(const part *p, const aot_node_info *info, uint32_t i)
{
    const aot_graph *g = p->g;
    const aot_node *n = aot_node_at(g, i);
    if (n->kind != AOT_CALL_FUNCTION || (p->m.part[i] & PART_IS_SEEDED) != 0 || g->in_off[i] == g->in_off[i + 1]) {
        return p->is_static[i];
    }
    for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
        if (!info[g->in[k]].is_static) {
            return false;
        }
    }
    return true;
}

static void node_facts(part *p, const uint8_t *in_fw, const uint8_t *in_bw)
{
    for (uint32_t i = 0; i < p->out->n_nodes; i++) {
        aot_node_info *x = &p->out->nodes[i];
        bool fw = in_fw[i] != PART_ABSENT, bw = in_bw[i] != PART_ABSENT;
        x->verdict = fw && bw ? AOT_V_RECOMPUTED : fw ? AOT_V_FORWARD_ONLY : bw ? AOT_V_BACKWARD_ONLY : AOT_V_DEAD;
        p->out->recompute_flops += fw && in_bw[i] == PART_BODY ? aot_node_flops(p->g, i) : 0;
        x->dist = p->dist != NULL ? p->dist[i] : 0;
        x->fw_order = p->fw_order[i];
        x->policy = p->m.policy[i];
        x->required_fw = p->required_fw[i];
        x->required_bw = p->required_bw[i];
        x->tangent_closure = p->tangents_closure[i];
        x->backward_made = p->m.backward_made[i] || p->m.must_side[i] == PART_MUST_BW;
        x->is_static = from_static_only(p, p->out->nodes, i);
    }
}

static void saved_facts(part *p, const part_ids *saved, const part_ids *sym)
{
    aot_partition *out = p->out;
    uint32_t *storage = part_storages(p);
    out->saved = AOT_NEW_ARRAY(p->ctx->arena, aot_node_id, saved->n);
    out->saved_sym = AOT_NEW_ARRAY(p->ctx->arena, aot_node_id, sym->n);
    uint8_t *of_primal = AOT_NEW_ARRAY(p->scratch, uint8_t, out->n_nodes + 1);
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        of_primal[storage[p->inputs[i]]] = 1;
    }
    for (size_t i = 0; i < saved->n; i++) {
        aot_node_info *x = &out->nodes[saved->d[i]];
        out->saved[out->n_saved++] = saved->d[i];
        out->saved_bytes += x->bytes;
        out->saved_new_bytes += of_primal[storage[saved->d[i]]] ? 0 : x->bytes;
        of_primal[storage[saved->d[i]]] = 1; // views of one storage count once
        x->verdict = AOT_V_SAVED;
    }
    for (size_t i = 0; i < sym->n; i++) {
        out->saved_sym[out->n_saved_sym++] = sym->d[i];
        out->saved_bytes += out->nodes[sym->d[i]].bytes;
        out->nodes[sym->d[i]].verdict = AOT_V_SAVED;
    }
}

static aot_status choose_by_cut(part *p, part_ids *saved, part_ids *sym)
{
    part_ids chosen = {0};
    part_distances(p);
    aot_status status = part_choose_saved(p, &chosen);
    for (size_t i = 0; i < chosen.n; i++) {
        if (part_is_sym(p->g, aot_node_at(p->g, chosen.d[i]))) {
            aot_vec_push(sym, chosen.d[i]);
        } else {
            aot_vec_push(saved, chosen.d[i]);
        }
    }
    aot_vec_free(&chosen);
    return status;
}

/* Tags, forced saves and classes of the nodes, for the partitioner that is going to choose. */
static aot_status prepare(part *p, bool by_default)
{
    p->recomputes = part_has_recomputable(p);
    p->recomputes_rng = part_has_recomputable_rng(p);
    if (p->recomputes) {
        part_cleanup_tags(p, by_default);
    }
    part_force_saves(p);
    return part_classify(p);
}

static aot_status choose(part *p, part_ids *saved, part_ids *sym)
{
    bool by_default = strcmp(p->config->partitioner, "default_partition") == 0, needs_bw = false;
    p->out->rung = "default partition";
    if (!by_default) {
        part_clean(p);
    }
    begin_facts(p);
    AOT_TRY(prepare(p, by_default));
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        needs_bw |= p->required_bw[i] != 0;
    }
    if (!by_default && !needs_bw) {
        p->out->rung = "default partition: nothing is required in the backward";
        by_default = true;
        AOT_TRY(prepare(p, true));
    }
    p->out->used_default_partition = by_default;
    return by_default ? part_choose_default(p, saved, sym) : choose_by_cut(p, saved, sym);
}

/* From the choice to both graphs; the cut graph's facts are taken before the plans are rewritten. */
static aot_status build(part *p, part_ids *saved, part_ids *sym, part_plan *fw, part_plan *bw)
{
    AOT_TRY(part_plan_modules(p, saved, sym, fw, bw));
    if (p->out->used_default_partition) {
        part_drop_dead_collectives(p, fw);
        part_drop_dead_collectives(p, bw);
    }
    node_facts(p, fw->state, bw->state);
    if (p->recomputes && p->recomputes_rng) {
        AOT_TRY(part_functionalize_rng(p, fw, bw, (uint32_t)sym->n));
    }
    if (p->recomputes || !p->out->used_default_partition) {
        part_reorder_backward(bw);
    }
    part_raise_getitems(fw);
    part_raise_getitems(bw);
    saved_facts(p, saved, sym);
    p->out->forward = part_plan_build(p, fw);
    p->out->backward = part_plan_build(p, bw);
    part_find_donated(p);
    return AOT_OK;
}

aot_status aot_partition_run(aot_partition **out, const aot_partition_in *in, const aot_config *config, aot_err *err)
{
    aot_graph *joint = (aot_graph *)(uintptr_t)in->joint;
    part p = {.ctx = joint->ctx, .config = config, .in = in, .scratch = aot_arena_new(), .g = joint, .err = err};
    part_plan fw = {0}, bw = {0};
    part_ids saved = {0}, sym = {0};
    uint32_t n_out;
    if (joint->user_off == NULL) {
        aot_graph_link(joint);
    }
    aot_partition_in under = *in;
    if (aot_edits_tag_any(in->edits)) {
        aot_what_if *tags;
        aot_status resolved = aot_edits_resolve(&tags, &under.n_what_if, in, config, joint->ctx->arena, err);
        if (resolved != AOT_OK) {
            aot_arena_free(p.scratch);
            return resolved;
        }
        under.what_if = tags;
        p.in = &under;
    }
    part_outputs(joint, &n_out);
    p.n_fw_out = in->n_forward_outputs >= 0 ? in->n_forward_outputs : part_count_forward_outputs(joint);
    p.out = AOT_NEW(p.ctx->arena, aot_partition);
    p.out->config = *config;
    p.out->cut_value = -1;
    p.out->n_forward_outputs = p.n_fw_out;
    aot_status status = AOT_OK;
    if (p.n_fw_out < 0 || (uint32_t)p.n_fw_out > n_out) {
        status = AOT_FAIL(err, AOT_E_GRAPH,
                          "not a joint graph: it returns %u values, fewer than its inputs that need a gradient", n_out);
    }
    if (status == AOT_OK) {
        p.class_of_op = AOT_NEW_ARRAY(p.scratch, uint32_t, aot_op_count());
        part_meta_init(&p);
        part_mark_backward(&p);
        status = choose(&p, &saved, &sym);
    }
    if (status == AOT_OK) {
        status = build(&p, &saved, &sym, &fw, &bw);
    }
    if (status == AOT_OK) {
        *out = p.out;
    }
    part_plan_free(&fw);
    part_plan_free(&bw);
    aot_vec_free(&saved);
    aot_vec_free(&sym);
    aot_arena_free(p.scratch);
    return status;
}
