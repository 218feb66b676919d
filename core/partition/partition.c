/* From a joint graph's facts to a partition: choose what to save, cut out both modules.
 * Mirrors: partitioners.py:min_cut_rematerialization_partition. */
#include "partition/partition.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/progress.h"
#include "partition/internal.h"
#include "partition/times.h"

const char *aot_verdict_name(aot_verdict v)
{
    static const char *const names[] = {"saved", "recomputed", "forward only", "backward only",
                                        "dead"};
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

static const struct {
    const char *text, *sentence;
} rungs[] = {
#define RUNG(id, text, sentence) {text, sentence},
#include "partition/rungs.def"
#undef RUNG
};

const char *aot_rung_text(aot_rung r)
{
    return rungs[r].text;
}

const char *aot_rung_sentence(aot_rung r)
{
    return rungs[r].sentence;
}

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
    p->out->nodes = AOT_NEW_ARRAY(p->result, aot_node_info, n);
    for (uint32_t i = 0; i < n; i++) {
        p->out->nodes[i].bytes = p->st->bytes[i];
        p->out->nodes[i].weight = -1;
        p->out->nodes[i].asked = p->m.policy[i];
    }
}

static void node_facts(part *p, const uint8_t *in_fw, const uint8_t *in_bw)
{
    for (uint32_t i = 0; i < p->out->n_nodes; i++) {
        aot_node_info *x = &p->out->nodes[i];
        bool fw = in_fw[i] != PART_ABSENT, bw = in_bw[i] != PART_ABSENT;
        x->verdict = fw && bw ? AOT_V_RECOMPUTED
                     : fw     ? AOT_V_FORWARD_ONLY
                     : bw     ? AOT_V_BACKWARD_ONLY
                              : AOT_V_DEAD;
        if (fw && in_bw[i] == PART_BODY) {
            p->out->recompute_flops += p->st->flops[i];
            p->out->recompute_ms +=
                p->times != NULL ? aot_times_of(p->times, p->g, i, p->st->flops[i]) : 0;
        }
        x->dist = p->dist != NULL ? p->dist[i] : 0;
        x->fw_order = p->fw_order[i];
        x->policy = p->m.policy[i];
        x->required_fw = p->required_fw[i];
        x->required_bw = p->required_bw[i];
        x->tangent_closure = p->tangents_closure[i];
        x->backward_made = p->m.backward_made[i] || p->m.must_side[i] == PART_MUST_BW;
        x->is_static = p->st->from_static[i];
    }
}

static void saved_facts(part *p, const part_ids *saved, const part_ids *sym)
{
    aot_partition *out = p->out;
    const uint32_t *storage = p->st->storage;
    out->saved = AOT_NEW_ARRAY(p->result, aot_node_id, saved->n);
    out->saved_sym = AOT_NEW_ARRAY(p->result, aot_node_id, sym->n);
    out->saved_own = AOT_NEW_ARRAY(p->result, int64_t, saved->n);
    uint8_t *of_primal = AOT_NEW_ARRAY(p->scratch, uint8_t, out->n_nodes + 1);
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        of_primal[storage[p->inputs[i]]] = 1;
    }
    for (size_t i = 0; i < saved->n; i++) {
        aot_node_info *x = &out->nodes[saved->d[i]];
        out->saved_own[i] = of_primal[storage[saved->d[i]]] ? 0 : x->bytes;
        out->saved[out->n_saved++] = saved->d[i];
        out->saved_bytes = aot_sum(out->saved_bytes, x->bytes);
        out->saved_new_bytes = aot_sum(out->saved_new_bytes, out->saved_own[i]);
        of_primal[storage[saved->d[i]]] = 1; // views of one storage count once
        x->verdict = AOT_V_SAVED;
    }
    for (size_t i = 0; i < sym->n; i++) {
        out->saved_sym[out->n_saved_sym++] = sym->d[i];
        out->saved_bytes = aot_sum(out->saved_bytes, out->nodes[sym->d[i]].bytes);
        out->nodes[sym->d[i]].verdict = AOT_V_SAVED;
    }
}

static aot_status choose_by_cut(part *p, part_ids *saved, part_ids *sym)
{
    part_ids chosen = {0};
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

/* Tags of the nodes, for the partitioner that is going to choose. */
static void prepare(part *p, bool by_default)
{
    p->recomputes = part_has_recomputable(p);
    p->recomputes_rng = part_has_recomputable_rng(p);
    if (p->recomputes) {
        part_cleanup_tags(p, by_default);
    }
    part_force_saves(p);
}

static aot_status choose(part *p, bool by_default, part_ids *saved, part_ids *sym)
{
    p->out->rung = aot_rung_text(AOT_RUNG_DEFAULT);
    begin_facts(p);
    prepare(p, by_default);
    if (!by_default && !p->st->needs_bw) {
        p->out->rung = aot_rung_text(AOT_RUNG_NO_BACKWARD);
        by_default = true;
        prepare(p, true);
    }
    p->out->used_default_partition = by_default;
    return by_default ? part_choose_default(p, saved, sym) : choose_by_cut(p, saved, sym);
}

aot_status part_goes_on(const part *p, part_at at)
{
    return aot_progress_at(at) ? AOT_OK
                               : AOT_FAIL(p->err, AOT_E_PIPELINE, "solving was stopped");
}

/* From the choice to both graphs; the cut graph's facts are taken before the plans are
 * rewritten. */
static aot_status build(part *p, part_ids *saved, part_ids *sym, part_plan *fw, part_plan *bw)
{
    AOT_TRY(part_goes_on(p, PART_AT_MODULES));
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

aot_status part_cut_in_two(part *p, bool by_default)
{
    part_plan fw = {0}, bw = {0};
    part_ids saved = {0}, sym = {0};
    p->out->config = *p->config;
    p->out->decided_by = -1;
    for (int i = 0; i < AOT_N_CUTS; i++) {
        p->out->cut_values[i] = -1;
    }
    p->out->recompute_ms = p->times != NULL ? 0 : -1;
    p->out->n_forward_outputs = p->n_fw_out;
    aot_status status = choose(p, by_default, &saved, &sym);
    if (status == AOT_OK) {
        status = build(p, &saved, &sym, &fw, &bw);
    }
    part_plan_free(&fw);
    part_plan_free(&bw);
    aot_vec_free(&saved);
    aot_vec_free(&sym);
    return status;
}
