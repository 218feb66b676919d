/* Edits as the graph view sees them: which values a key means, what was before (so that what flips
 * is marked; the title's change is from no edits at all), and showing the same place again
 * afterwards. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "session/saved.h"
#include "tui/edit.h"
#include "tui/graph_view.h"
#include "viewers/format.h"

/* ---- what was before ---- */

static uint64_t hash_name(const aot_graph *g, aot_node_id id)
{
    const char *name = aot_node_name(g, id);
    return aot_hash64(name, strlen(name)) | 7;
}

void graph_drop_base(graph_base *b)
{
    free(b->names);
    *b = (graph_base){0};
}

static void take_base(graph_view *gv)
{
    graph_base *b = &gv->base;
    const aot_partition *p = gv->part;
    graph_drop_base(b);
    if (!p) {
        return;
    }
    b->n = (uint32_t)p->cut->nodes.n;
    b->cut = p->cut;
    b->graph_version = gv->graph_version;
    b->names = aot_xcalloc((size_t)b->n + 1, sizeof *b->names);
    for (uint32_t i = 0; i < b->n; i++) {
        b->names[i] = hash_name(p->cut, i) - (p->nodes[i].verdict == AOT_V_SAVED ? 0 : 1);
    }
}

static uint64_t *slot_of(uint64_t *slots, size_t mask, uint64_t name)
{
    size_t i = (size_t)(name >> 20) & mask;
    while (slots[i] && (slots[i] | 7) != (name | 7)) {
        i = (i + 1) & mask;
    }
    return &slots[i];
}

/* Where another graph is cut now: by name. */
static void flips_by_name(graph_view *gv, const uint64_t *names, uint32_t n)
{
    const aot_partition *p = gv->part;
    size_t size = 64;
    while (size < 2 * (size_t)n) {
        size *= 2;
    }
    uint64_t *slots = aot_xcalloc(size, sizeof *slots);
    for (uint32_t i = 0; i < n; i++) {
        *slot_of(slots, size - 1, names[i]) = names[i];
    }
    for (uint32_t i = 0; i < p->cut->nodes.n; i++) {
        uint64_t was = *slot_of(slots, size - 1, hash_name(p->cut, i));
        bool saved = p->nodes[i].verdict == AOT_V_SAVED;
        if (was && saved != ((was & 7) == 7)) {
            gv->flips[i] = saved ? 1 : -1;
        }
    }
    free(slots);
}

/* Finds which values flipped, once after each change. */
static void find_flips(graph_view *gv)
{
    const aot_partition *p = gv->part;
    const graph_base *b = &gv->base;
    free(gv->flips);
    gv->flips = NULL;
    gv->n_new = gv->n_gone = 0;
    if (!p || !b->names) {
        return;
    }
    gv->flips = aot_xcalloc(p->cut->nodes.n + 1, 1);
    if (b->cut != p->cut || b->graph_version != gv->graph_version) {
        flips_by_name(gv, b->names, b->n);
    } else {
        for (uint32_t i = 0; i < b->n; i++) {
            gv->flips[i] =
                (int8_t)((p->nodes[i].verdict == AOT_V_SAVED) - ((b->names[i] & 7) == 7));
        }
    }
    for (uint32_t i = 0; i < p->cut->nodes.n; i++) {
        gv->n_new += gv->flips[i] > 0;
        gv->n_gone += gv->flips[i] < 0;
    }
}

int graph_flip(const graph_view *gv, aot_node_id cut)
{
    return gv->flips && gv->part && cut < gv->part->cut->nodes.n ? gv->flips[cut] : 0;
}

void aot_graph_view_before_edit(aot_view *v)
{
    graph_view *gv = v->state;
    if (gv->version != aot_model_version(aot_app_model(v->app), v->unit)) {
        return; // what it shows is gone already; the base is of an earlier state
    }
    graph_keep_anchor(gv);
    graph_partition(gv);
    take_base(gv);
    free(gv->saved_name);
    uint32_t row = aot_list_row(&gv->saved);
    gv->saved_name = gv->part && row != AOT_NO_ROW
                         ? aot_xstrdup(aot_node_name(gv->part->cut, graph_saved_node(gv, row)))
                         : NULL;
}

/* The value in the saved list that was under the cursor. */
static void find_saved(graph_view *gv)
{
    size_t n = gv->part ? gv->part->n_saved + gv->part->n_saved_sym : 0;
    for (size_t i = 0; gv->saved_name && i < n; i++) {
        if (strcmp(aot_node_name(gv->part->cut, graph_saved_node(gv, i)), gv->saved_name) == 0) {
            aot_list_select(&gv->saved, i);
            return;
        }
    }
}

void graph_follow_edits(graph_view *gv)
{
    unsigned version = aot_model_version(aot_app_model(gv->v->app), gv->v->unit);
    if (gv->version == version) {
        return;
    }
    gv->version = version;
    size_t above = gv->nodes.cursor - gv->nodes.top;
    graph_reload(gv);
    if (gv->nodes.cursor >= above) { // on the same line of the screen
        gv->nodes.top = gv->nodes.cursor - above;
    }
    graph_partition(gv);
    find_saved(gv);
    find_flips(gv);
}

/* ---- the title ---- */

void graph_title_right(graph_view *gv, aot_sb *right)
{
    char buf[64];
    const aot_partition *p = gv->part;
    aot_model *m = aot_app_model(gv->v->app);
    size_t n = aot_model_n_edits(m, gv->v->unit);
    if (n) {
        aot_sb_addf(right, "%zu edit%s · ", n, n == 1 ? "" : "s");
    }
    if (p) {
        double budget = p->config.activation_memory_budget;
        if (budget == 1) {
            aot_sb_addf(right, "budget 1.00 · %s · ", p->rung);
        } else { // what is not the default stays where there is little room
            aot_sb_addf(right, "%s · budget %.2f: ", p->rung, budget);
        }
        aot_sb_addf(right, "saved %s", aot_saved_text(p, buf, sizeof buf));
        aot_edit_delta(gv->v->app, gv->v->unit, right);
    } else if (gv->part_asked && gv->status[AOT_STAGE_JOINT].origin != AOT_ORIGIN_MISSING) {
        aot_sb_addz(right, "no partition: see the saved list (s)");
    }
}

/* ---- keys ---- */

/* Appends a name if the node is one of the graph that is cut. */
static size_t add_name(graph_view *gv, aot_sb *out, aot_node_id id)
{
    const graph_stage *st = graph_now(gv);
    if (!st->p || aot_listing_cut_node(st->listing, id) == AOT_NO_NODE) {
        return 0;
    }
    aot_sb_addf(out, "%s%s", out->n ? "," : "", aot_node_name(st->g, id));
    return 1;
}

/* Names of what is meant: the saved value, the node, or all nodes between the start of a range and
 * it. */
static size_t meant(graph_view *gv, aot_sb *out)
{
    uint32_t row = aot_list_row(gv->focus == PANE_SAVED ? &gv->saved : &gv->nodes);
    if (gv->focus == PANE_SAVED && gv->part && row != AOT_NO_ROW) {
        aot_sb_addz(out, aot_node_name(gv->part->cut, graph_saved_node(gv, row)));
        return 1;
    }
    aot_node_id id = graph_node_now(gv);
    if (gv->focus == PANE_SAVED || id == AOT_NO_NODE) {
        return 0;
    }
    if (!gv->range) {
        return add_name(gv, out, id);
    }
    size_t n = 0, from, to;
    graph_range(gv, &from, &to);
    for (size_t pos = from; pos <= to; pos++) {
        aot_listing_row r =
            aot_listing_row_at(graph_now(gv)->listing, aot_list_row_at(&gv->nodes, pos));
        aot_node_kind kind = (aot_node_kind)aot_node_at(graph_now(gv)->g, r.node)->kind;
        if (!r.is_source && kind != AOT_PLACEHOLDER && kind != AOT_OUTPUT) {
            n += add_name(gv, out, r.node);
        }
    }
    return n;
}

static void force(graph_view *gv, const char *word)
{
    aot_sb names = {0}, line = {0};
    size_t n = meant(gv, &names);
    if (n == 0) {
        aot_app_say(gv->v->app,
                    "%s is for values of the graph that is cut: joint, joint_cse or forward", word);
    } else {
        aot_sb_addf(&line, "%s node:%s", word, aot_sb_text(&names));
        gv->range = false;
        aot_edit(gv->v->app, gv->v->unit, aot_sb_text(&line));
    }
    aot_sb_free(&names);
    aot_sb_free(&line);
}

void graph_range(const graph_view *gv, size_t *from, size_t *to)
{
    size_t n = aot_list_n_shown(&gv->nodes), a = gv->range_from < n ? gv->range_from : n - 1;
    *from = a < gv->nodes.cursor ? a : gv->nodes.cursor;
    *to = a < gv->nodes.cursor ? gv->nodes.cursor : a;
}

bool graph_edit_act(graph_view *gv, aot_action a)
{
    switch (a) {
    case AOT_ACT_SAVE: force(gv, "save"); return true;
    case AOT_ACT_RECOMPUTE: force(gv, "recompute"); return true;
    case AOT_ACT_CLEAR: force(gv, "clear"); return true;
    case AOT_ACT_RANGE:
        gv->range = !gv->range && gv->focus == PANE_NODES && aot_list_n_shown(&gv->nodes) > 0;
        gv->range_from = gv->nodes.cursor;
        if (gv->range) {
            aot_app_say(gv->v->app, "Move to the other end, then S, R or x; Esc drops the range");
        }
        return true;
    case AOT_ACT_CANCEL:
        if (gv->range) {
            gv->range = false;
            return true;
        }
        return false;
    default: return false;
    }
}
