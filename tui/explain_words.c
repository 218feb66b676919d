/* Explanations in words. */
#include "tui/explain_words.h"
#include "session/saved.h"

#include <string.h>

#include "viewers/format.h"

void explain_ban_words(aot_sb *out, const aot_explain *x)
{
    const aot_node_info *n = &x->p->nodes[x->id];
    aot_ban held = aot_ban_that_held(x->p, x->id);
    if (held != AOT_BAN_NONE) {
        const char *text = aot_ban_text(held);
        aot_sb_addf(out, "%s: %s", text != NULL ? text : "", aot_ban_sentence(held));
    } else if (n->ban != AOT_BAN_NONE) {
        aot_sb_addf(out, "none in the cut that decided; in the first cut: %s",
                    aot_ban_text((aot_ban)n->ban));
    } else if (n->ban_asked != AOT_BAN_NONE) {
        aot_sb_addf(out, "%s: %s", aot_ban_text((aot_ban)n->ban_asked),
                    aot_ban_overruled(x->p, x->id));
    } else {
        aot_sb_addf(out, "none: %s",
                    n->required_fw ? "it may be recomputed" : "it is no part of the forward");
    }
}

const char *explain_sink_words(const aot_explain *x)
{
    uint8_t sink = x->p->nodes[x->id].sink;
    return sink == AOT_SINK_NONE ? ""
           : sink == AOT_SINK_IN ? "made in the backward, or to be recomputed"
                                 : "the backward needs its value";
}

void explain_limit_words(aot_sb *out, const aot_explain *x)
{
    const aot_node_info *n = &x->p->nodes[x->id];
    char limit[32], weight[32];
    if (x->weight_limit == 0) {
        aot_sb_addz(out, "it would not be saved even if it were free");
    } else if (x->weight_limit > 0 && x->weight_limit == n->weight) {
        aot_sb_addf(
            out, "a tie: at %s another cut costs as much; the one nearest to the backward is taken",
            aot_format_count(limit, sizeof limit, x->weight_limit));
    } else if (x->weight_limit > 0) {
        bool saved = n->verdict == AOT_V_SAVED; // at a tie either cut may be the one taken
        bool at_limit = x->flip_weight == x->weight_limit + (saved ? 1 : 0);
        aot_sb_addf(out, "saved while it is %s %s; it is %s", at_limit ? "at most" : "below",
                    aot_format_count(limit, sizeof limit, x->weight_limit),
                    aot_format_count(weight, sizeof weight, n->weight));
    } else if (strcmp(x->p->rung, aot_rung_text(AOT_RUNG_ONE_CUT)) == 0 &&
               n->verdict == AOT_V_SAVED) {
        aot_sb_addz(out, "no other value can take its place, whatever its weight");
    }
}

void explain_cut_words(aot_sb *out, const aot_partition *p)
{
    static const char *const nth[AOT_N_CUTS] = {"first", "second", "third"};
    char count[32];
    for (int i = 0; i < AOT_N_CUTS; i++) {
        if (p->cut_values[i] >= 0) {
            aot_sb_addf(out, "%s%s cut %s%s", out->n != 0 ? ", " : "", nth[i],
                        aot_format_count(count, sizeof count, p->cut_values[i]),
                        i == p->decided_by ? " (decides)" : "");
        }
    }
}

json_t *explain_cuts_json(const aot_partition *p)
{
    json_t *list = json_array();
    for (int i = 0; i < AOT_N_CUTS; i++) {
        json_array_append_new(list, p->cut_values[i] >= 0 ? json_integer(p->cut_values[i])
                                                          : json_null());
    }
    return list;
}

void explain_edge_words(aot_sb *out, const aot_explain *x, const aot_net_edge *e)
{
    const aot_graph *g = x->p->cut;
    if (e->from == e->to) {
        aot_sb_addf(out, "%s in -> out", aot_node_name(g, e->from));
    } else {
        aot_sb_addf(out, "%s -> %s", e->from == AOT_NO_NODE ? "source" : aot_node_name(g, e->from),
                    e->to == AOT_NO_NODE ? "sink" : aot_node_name(g, e->to));
    }
}

void explain_capacity_words(aot_sb *out, const aot_net_edge *e)
{
    char count[32];
    aot_sb_addf(out, "%s%s",
                e->capacity == AOT_WEIGHT_INF ? "inf"
                                              : aot_format_count(count, sizeof count, e->capacity),
                e->cut ? " cut" : "");
}

static void add_names(aot_sb *out, const aot_graph *g, const aot_node_id *ids, size_t n,
                      const char *between)
{
    enum { MOST = 8 };
    for (size_t i = 0; i < n && i < MOST; i++) {
        aot_sb_addf(out, "%s%s", i != 0 ? between : "", aot_node_name(g, ids[i]));
    }
    if (n > MOST) {
        aot_sb_addf(out, " and %zu more", n - MOST);
    }
}

void explain_around_words(aot_sb *out, const aot_explain *x)
{
    if (x->p->cut_ban == NULL) {
        aot_sb_addf(out, "no cut decided: %s", x->p->rung);
        return;
    }
    if (!x->has_source && x->has_sink) {
        aot_sb_addz(out, "none: nothing that it is made from is banned, so making it again costs "
                         "the cut nothing");
    } else if (!x->has_sink) {
        aot_sb_addz(out, "none: no chain leads from it to the backward");
    } else if (x->p->cut_edge[x->id]) {
        aot_sb_addz(out, "its own in -> out is cut: it is saved");
    } else if (x->around.n != 0) {
        aot_sb_addf(out, "cut %s it: ", x->around.d[0] < x->id ? "above" : "below");
        add_names(out, x->p->cut, x->around.d, x->around.n, ", ");
    }
}

void explain_source_words(aot_sb *out, const aot_explain *x)
{
    const aot_graph *g = x->p->cut;
    char place[300];
    if (x->source.n == 0 && aot_node_at(g, x->id)->kind != AOT_PLACEHOLDER) {
        aot_sb_addz(out, "none: neither the value nor what it is made from has a line");
    } else if (x->source.n > 1) {
        aot_node_id last = x->source.d[x->source.n - 1];
        const aot_src *src = &g->srcs.d[aot_node_at(g, last)->src];
        add_names(out, g, x->source.d, x->source.n, " <- ");
        aot_sb_addf(out, ", made at %s%s%s", aot_format_source(place, sizeof place, g, last),
                    src->code != 0 ? ": " : "", src->code != 0 ? aot_text(g->ctx, src->code) : "");
    }
}

bool explain_shows_item(const aot_explain *x, uint32_t item)
{
    return item < EXPLAIN_ITEMS || item == x->item;
}

void explain_item_words(aot_sb *out, const aot_explain *x)
{
    const aot_partition *p = x->p;
    if (x->item != UINT32_MAX) {
        const aot_budget_item *item = &p->items[x->item];
        aot_sb_addf(
            out,
            "%s: row %u of %u by memory, %.4f of the memory, runtime %.6g; %.4f of %.4f are saved",
            item->saved ? "saved" : "to be recomputed", x->item + 1, p->n_items, item->memory,
            item->runtime, p->items_saved, p->config.activation_memory_budget);
    } else if (p->n_items != 0) {
        aot_sb_addf(out,
                    "none of the %u items: only what the third cut bans, the backward needs, no "
                    "tag saves and no "
                    "input holds is one",
                    p->n_items);
    } else if (p->config.activation_memory_budget < 1) {
        aot_sb_addf(out, "none was needed: %s", p->rung);
    }
}

void explain_flip_weight_words(aot_sb *out, const aot_explain *x)
{
    char from[32], to[32];
    if (x->flip_weight >= 0) {
        aot_sb_addf(out, "weight from %s to %s: %s",
                    aot_format_count(from, sizeof from, x->p->nodes[x->id].weight),
                    aot_format_count(to, sizeof to, x->flip_weight),
                    aot_verdict_name(x->flip_verdict));
    }
}

void explain_flip_change_words(aot_sb *out, const aot_explain *x)
{
    char bytes[32];
    const aot_node_info *n = &x->p->nodes[x->id];
    if (x->flip_change == AOT_NO_CHANGE) {
        return;
    }
    const aot_change *c = &x->changes.d[x->flip_change];
    bool tag = strchr(c->what, '=') == NULL;
    bool tagged = n->policy != AOT_POLICY_NONE;
    if (tag) {
        aot_sb_addf(out, "tag from %s to %s",
                    tagged ? aot_policy_name((aot_policy)n->policy) : "none",
                    aot_starts_with(c->what, "tag ") ? c->what + 4 : "none");
    } else {
        aot_sb_addz(out, c->what);
    }
    aot_sb_addf(out, ": %s, saved in all %s", aot_verdict_name(c->verdict),
                aot_format_bytes(bytes, sizeof bytes, c->saved_bytes));
}

/* The ranges with this range's end, unless one before has it. */
static void add_ranges(aot_sb *out, const aot_explain *x, size_t first)
{
    const aot_budget_range *r = x->budgets.d;
    for (size_t i = 0; i < first; i++) {
        if (r[i].verdict == r[first].verdict && r[i].failed == r[first].failed) {
            return;
        }
    }
    aot_sb_addf(out, "%s%s at ", out->n != 0 ? "; " : "",
                r[first].failed ? "impossible" : aot_verdict_name(r[first].verdict));
    for (size_t i = first, n = 0; i < x->budgets.n; i++) {
        if (r[i].verdict == r[first].verdict && r[i].failed == r[first].failed) {
            aot_sb_addf(out, "%s%g", n++ != 0 ? ", " : "", r[i].from / 1000.0);
            if (r[i].to != r[i].from) {
                aot_sb_addf(out, " to %g", r[i].to / 1000.0);
            }
        }
    }
}

void explain_budget_words(aot_sb *out, const aot_explain *x)
{
    if (x->budgets.n == 1) {
        aot_sb_addf(out, "%s at every budget",
                    x->budgets.d[0].failed ? "impossible"
                                           : aot_verdict_name(x->budgets.d[0].verdict));
        return;
    }
    for (size_t i = 0; i < x->budgets.n; i++) {
        add_ranges(out, x, i);
    }
    if (x->budgets.n != 0) {
        aot_sb_addf(out, " (now %g)", x->p->config.activation_memory_budget);
    }
}

bool explain_flips(const aot_explain *x, const aot_change *c)
{
    return !c->failed && c->verdict != x->p->nodes[x->id].verdict;
}

void explain_edit_line(aot_sb *out, const aot_explain *x, const aot_change *c)
{
    const char *name = aot_node_name(x->p->cut, x->id);
    if (strcmp(c->what, "tag MUST_SAVE") == 0) {
        aot_sb_addf(out, "save node:%s", name);
    } else if (strcmp(c->what, "tag MUST_RECOMPUTE") == 0) {
        aot_sb_addf(out, "recompute node:%s", name);
    } else if (strcmp(c->what, "no tag") == 0) {
        aot_sb_addf(out, "clear node:%s", name);
    } else {
        aot_sb_addf(out, "set %s", c->what);
    }
}
