/* aotscope explain INPUT NODE: why a value is saved or recomputed, and what would change it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/explain.h"
#include "session/dispatch.h"
#include "session/saved.h"
#include "tui/explain_words.h"
#include "tui/open_model.h"
#include "viewers/format.h"
#include "viewers/table.h"

/* ---- text -------------------------------------------------------------------------------------
 */

/* A line of the report; nothing if there is no text. Frees the text. */
static void print_line(const char *title, aot_sb *text)
{
    if (text->n > 0) {
        printf("  %-8s %s\n", title, aot_sb_text(text));
    }
    aot_sb_free(text);
}

static void print_value(const aot_explain *x)
{
    const aot_graph *g = x->p->cut;
    const aot_node *n = aot_node_at(g, x->id);
    const aot_src *src = &g->srcs.d[n->src];
    char type[160], bytes[32], op[160], source[300];
    printf("%s = %s   %s   %s   %s\n", aot_node_name(g, x->id),
           aot_format_op(op, sizeof op, g, x->id),
           aot_format_type(type, sizeof type, g->ctx, n->meta),
           aot_format_bytes(bytes, sizeof bytes, x->p->nodes[x->id].bytes),
           aot_verdict_words(x->p, x->id));
    if (src->file != 0) {
        printf("  %s  %s\n", aot_format_source(source, sizeof source, g, x->id),
               src->code != 0 ? aot_text(g->ctx, src->code) : "");
    }
    aot_sb chain = {0};
    explain_source_words(&chain, x);
    print_line("line", &chain);
}

static void print_table(aot_table *t, unsigned flags)
{
    aot_sb out = {0};
    aot_table_print(&out, t, flags, 0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    aot_table_free(t);
}

/* What the knapsack of the budget made of it, and of the largest items. */
static void print_items(const aot_explain *x)
{
    const aot_partition *p = x->p;
    aot_sb words = {0};
    explain_item_words(&words, x);
    if (words.n > 0) {
        printf("\nKnapsack of the budget (%s)\n", p->config.activation_memory_budget_solver);
    }
    print_line("this", &words);
    if (p->over_capacity) {
        printf("  fault    the solver saves more than the budget: PyTorch's hirschberg is known "
               "for it\n");
    }
    aot_table *t = aot_table_new();
    for (int i = 0; i < 5; i++) {
        aot_table_column(t, "", i == 1 || i == 4 ? AOT_LEFT : AOT_RIGHT, 0);
    }
    for (uint32_t i = 0; i < p->n_items; i++) {
        if (explain_shows_item(x, i)) {
            aot_table_row(t);
            aot_table_cellf(t, "  %s%u", i == x->item ? "> " : "", i + 1);
            aot_table_cell(t, aot_node_name(p->cut, p->items[i].node));
            aot_table_cellf(t, "%.4f", p->items[i].memory);
            aot_table_cellf(t, "%.6g", p->items[i].runtime);
            aot_table_cell(t, p->items[i].saved ? "saved" : "recomputed");
        }
    }
    print_table(t, AOT_TABLE_NO_HEAD);
    if (p->n_items > EXPLAIN_ITEMS) {
        printf("  the first of %u; partition --explain-knapsack lists all\n", p->n_items);
    }
}

/* The network of the cut around the value. */
static void print_network(const aot_explain *x)
{
    aot_sb around = {0};
    aot_table *t = aot_table_new();
    explain_around_words(&around, x);
    printf("\nCut edges that hold it\n");
    print_line("held by", &around);
    aot_table_column(t, "", AOT_LEFT, 0);
    aot_table_column(t, "", AOT_RIGHT, 0);
    aot_table_column(t, "", AOT_LEFT, 0);
    for (size_t i = 0; i < x->path.n; i++) {
        aot_sb edge = {0}, capacity = {0};
        explain_edge_words(&edge, x, &x->path.d[i]);
        explain_capacity_words(&capacity, &x->path.d[i]);
        aot_table_row(t);
        aot_table_cellf(t, "  %s%s", x->path.d[i].cut ? "* " : "  ", aot_sb_text(&edge));
        aot_table_cell(t, aot_sb_text(&capacity));
        aot_table_cell(t, x->path.d[i].why);
        aot_sb_free(&edge);
        aot_sb_free(&capacity);
    }
    print_table(t, AOT_TABLE_NO_HEAD);
}

static void print_rules(const aot_explain *x)
{
    const aot_node_info *n = &x->p->nodes[x->id];
    aot_arena *a = aot_arena_new();
    char weight[160];
    aot_sb ban = {0}, cuts = {0};
    explain_ban_words(&ban, x);
    printf("\nRules\n  why      %s\n", aot_node_reason(x->p, x->id, a));
    printf("  ban      %s\n", aot_sb_text(&ban));
    aot_sb_free(&ban);
    printf("  weight   %s\n", aot_weight_words(weight, sizeof weight, x->p, x->id));
    if (n->policy != AOT_POLICY_NONE) {
        printf("  tag      %s\n", aot_policy_name((aot_policy)n->policy));
    }
    if (*explain_sink_words(x)) {
        printf("  sink     %s\n", explain_sink_words(x));
    }
    printf("  decided  %s\n", x->p->rung);
    explain_cut_words(&cuts, x->p);
    print_line("in all", &cuts);
    aot_arena_free(a);
}

static void print_names(const char *title, const aot_graph *g, const aot_node_id *ids, size_t n)
{
    enum { MOST = 8 };
    if (n == 0) {
        return;
    }
    printf("  %-8s ", title);
    for (size_t i = 0; i < n && i < MOST; i++) {
        printf("%s%s", i != 0 ? ", " : "", aot_node_name(g, ids[i]));
    }
    if (n > MOST) {
        printf(" and %zu more", n - MOST);
    }
    putchar('\n');
}

static void print_limits(const aot_explain *x)
{
    aot_sb limit = {0}, weight = {0}, change = {0}, budget = {0};
    explain_limit_words(&limit, x);
    explain_flip_weight_words(&weight, x);
    explain_flip_change_words(&change, x);
    print_line("weight", &limit);
    print_line("smallest", &weight);
    print_line("smallest", &change);
    explain_budget_words(&budget, x);
    print_line("budget", &budget);
}

static void print_changes(const aot_explain *x)
{
    aot_table *t = aot_table_new();
    aot_table_column(t, "change", AOT_LEFT, 0);
    aot_table_column(t, "then", AOT_LEFT, 0);
    aot_table_column(t, "saved in all", AOT_RIGHT, 0);
    aot_table_column(t, "recompute", AOT_RIGHT, 0);
    for (size_t i = 0; i < x->changes.n; i++) {
        const aot_change *c = &x->changes.d[i];
        char flops[32];
        aot_table_row(t);
        aot_table_cellf(t, "  %s", c->what);
        if (c->failed) {
            aot_table_cellf(t, "impossible: %s", c->failure);
            aot_table_cell(t, "");
            aot_table_cell(t, "");
            continue;
        }
        aot_table_cellf(t, "%s%s", explain_flips(x, c) ? "* " : "", aot_verdict_name(c->verdict));
        aot_table_bytes(t, c->saved_bytes);
        aot_table_cell(t, aot_format_flops(flops, sizeof flops, c->recompute_flops));
    }
    print_table(t, AOT_TABLE_NO_HEAD);
}

static void print_text(const aot_explain *x)
{
    const aot_graph *g = x->p->cut;
    char bytes[64], flops[32];
    print_value(x);
    print_rules(x);
    print_items(x);
    print_network(x);
    printf("\nNeighbours\n");
    print_names("made of", g, g->in + g->in_off[x->id], g->in_off[x->id + 1] - g->in_off[x->id]);
    print_names("kept", g, x->saved_above.d, x->saved_above.n);
    print_names("read by", g, x->readers.d, x->readers.n);
    if (x->changes.n == 0) {
        return;
    }
    printf("\nWhat would change it (now: saved in all %s, recompute %s; * another verdict)\n",
           aot_saved_text(x->p, bytes, sizeof bytes),
           aot_format_flops(flops, sizeof flops, x->p->recompute_flops));
    print_limits(x);
    print_changes(x);
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

static json_t *names_json(const aot_graph *g, const aot_node_id *ids, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_string(aot_node_name(g, ids[i])));
    }
    return list;
}

static json_t *weight_json(int64_t weight)
{
    return weight == AOT_WEIGHT_INF ? json_string("inf")
           : weight < 0             ? json_null()
                                    : json_integer(weight);
}

static json_t *string_or_null(const char *s)
{
    return s != NULL ? json_string(s) : json_null();
}

static json_t *change_json(const aot_change *c)
{
    if (c->failed) {
        return json_pack("{s:s, s:s}", "change", c->what, "error", c->failure);
    }
    return json_pack("{s:s, s:s, s:I, s:f}", "change", c->what, "verdict",
                     aot_verdict_name(c->verdict), "saved_bytes", (json_int_t)c->saved_bytes,
                     "recompute_flops", c->recompute_flops);
}

static json_t *name_or_end(const aot_graph *g, aot_node_id id, const char *end)
{
    return json_string(id == AOT_NO_NODE ? end : aot_node_name(g, id));
}

/* What holds the value: a chain of the network and the cut edges next to it. */
static json_t *network_json(const aot_explain *x)
{
    const aot_graph *g = x->p->cut;
    json_t *path = json_array();
    if (x->p->cut_ban == NULL) {
        json_decref(path);
        return json_null();
    }
    for (size_t i = 0; i < x->path.n; i++) {
        const aot_net_edge *e = &x->path.d[i];
        json_array_append_new(
            path, json_pack("{s:o, s:o, s:b, s:o, s:b, s:s}", "from",
                            name_or_end(g, e->from, "source"), "to", name_or_end(g, e->to, "sink"),
                            "own", (int)(e->from == e->to), "capacity", weight_json(e->capacity),
                            "cut", (int)e->cut, "why", e->why != NULL ? e->why : ""));
    }
    return json_pack("{s:o, s:o, s:b, s:b}", "cut_around", names_json(g, x->around.d, x->around.n),
                     "chain", path, "from_source", (int)x->has_source, "to_sink", (int)x->has_sink);
}

static json_t *source_json(const aot_explain *x)
{
    const aot_graph *g = x->p->cut;
    if (x->source.n == 0) {
        return json_null();
    }
    const aot_src *src = &g->srcs.d[aot_node_at(g, x->source.d[x->source.n - 1])->src];
    return json_pack("{s:s, s:i, s:s, s:s, s:o}", "file", aot_text(g->ctx, src->file), "line",
                     (int)src->line, "func", aot_text(g->ctx, src->func), "code",
                     aot_text(g->ctx, src->code), "chain", names_json(g, x->source.d, x->source.n));
}

static json_t *knapsack_json(const aot_explain *x)
{
    const aot_partition *p = x->p;
    json_t *items = json_array();
    if (p->n_items == 0) {
        json_decref(items);
        return json_null();
    }
    for (uint32_t i = 0; i < p->n_items; i++) {
        const aot_budget_item *item = &p->items[i];
        if (explain_shows_item(x, i)) {
            json_array_append_new(items, json_pack("{s:i, s:s, s:f, s:f, s:b}", "row", (int)i + 1,
                                                   "name", aot_node_name(p->cut, item->node),
                                                   "memory", item->memory, "runtime", item->runtime,
                                                   "saved", (int)item->saved));
        }
    }
    return json_pack("{s:o, s:I, s:f, s:b, s:o}", "row",
                     x->item != UINT32_MAX ? json_integer((json_int_t)x->item + 1) : json_null(),
                     "n_items", (json_int_t)p->n_items, "saved_memory", p->items_saved,
                     "over_capacity", (int)p->over_capacity, "items", items);
}

/* The least that flips the verdict, of the weight and of a tag or setting. */
static json_t *flip_json(const aot_explain *x)
{
    const aot_node_info *n = &x->p->nodes[x->id];
    json_t *weight = json_null(), *change = json_null();
    if (x->flip_weight >= 0) {
        weight =
            json_pack("{s:o, s:o, s:s}", "from", weight_json(n->weight), "to",
                      weight_json(x->flip_weight), "verdict", aot_verdict_name(x->flip_verdict));
    }
    if (x->flip_change != AOT_NO_CHANGE) {
        change = change_json(&x->changes.d[x->flip_change]);
    }
    return json_pack("{s:o, s:o}", "weight", weight, "change", change);
}

/* The lowest and highest budget with that verdict; null where there is none. */
static void put_bounds(json_t *o, const aot_explain *x, aot_verdict verdict, const char *lowest,
                       const char *highest)
{
    json_t *lo = json_null(), *hi = json_null();
    for (size_t i = 0; i < x->budgets.n; i++) {
        const aot_budget_range *r = &x->budgets.d[i];
        if (!r->failed && r->verdict == verdict) {
            lo = json_is_null(lo) ? json_real(r->from / 1000.0) : lo;
            json_decref(hi);
            hi = json_real(r->to / 1000.0);
        }
    }
    json_object_set_new(o, lowest, lo);
    json_object_set_new(o, highest, hi);
}

static json_t *budgets_json(const aot_explain *x)
{
    json_t *o = json_object(), *ranges = json_array();
    for (size_t i = 0; i < x->budgets.n; i++) {
        const aot_budget_range *r = &x->budgets.d[i];
        json_array_append_new(ranges, json_pack("{s:f, s:f, s:s?}", "from", r->from / 1000.0, "to",
                                                r->to / 1000.0, "verdict",
                                                r->failed ? NULL : aot_verdict_name(r->verdict)));
    }
    put_bounds(o, x, AOT_V_SAVED, "lowest_saved", "highest_saved");
    put_bounds(o, x, AOT_V_RECOMPUTED, "lowest_recomputed", "highest_recomputed");
    json_object_set_new(o, "ranges", ranges);
    return o;
}

static json_t *explain_json(const aot_explain *x)
{
    const aot_graph *g = x->p->cut;
    const aot_node_info *n = &x->p->nodes[x->id];
    aot_arena *a = aot_arena_new();
    json_t *changes = json_array();
    for (size_t i = 0; i < x->changes.n; i++) {
        json_array_append_new(changes, change_json(&x->changes.d[i]));
    }
    json_t *o = json_pack(
        "{s:s, s:s, s:I, s:s, s:s, s:s, s:I, s:f}", "name", aot_node_name(g, x->id), "verdict",
        aot_verdict_name((aot_verdict)n->verdict), "bytes", (json_int_t)n->bytes, "reason",
        aot_node_reason(x->p, x->id, a), "rung", x->p->rung, "tag",
        aot_policy_name((aot_policy)n->policy), "saved_bytes",
        (json_int_t)aot_saved_tensor_bytes(x->p), "recompute_flops", x->p->recompute_flops);
    json_object_set_new(o, "saved_symbols", json_integer(x->p->n_saved_sym));
    json_object_set_new(o, "ban", string_or_null(aot_ban_text((aot_ban)n->ban)));
    json_object_set_new(o, "ban_held",
                        string_or_null(aot_ban_text(aot_ban_that_held(x->p, x->id))));
    json_object_set_new(o, "ban_asked", string_or_null(aot_ban_text((aot_ban)n->ban_asked)));
    json_object_set_new(o, "weight", weight_json(n->weight));
    json_object_set_new(o, "weight_limit", weight_json(x->weight_limit));
    json_object_set_new(o, "distance", x->weighed ? json_integer(x->near) : json_null());
    json_object_set_new(o, "materialized", json_boolean(n->materialized));
    json_object_set_new(
        o, "made_of",
        names_json(g, g->in + g->in_off[x->id], g->in_off[x->id + 1] - g->in_off[x->id]));
    json_object_set_new(o, "recomputed_from", names_json(g, x->saved_above.d, x->saved_above.n));
    json_object_set_new(o, "read_by", names_json(g, x->readers.d, x->readers.n));
    json_object_set_new(o, "changes", changes);
    json_object_set_new(o, "smallest_change", flip_json(x));
    json_object_set_new(o, "budgets", budgets_json(x));
    json_object_set_new(o, "network", network_json(x));
    json_object_set_new(o, "knapsack", knapsack_json(x));
    json_object_set_new(o, "cut_values", explain_cuts_json(x->p));
    json_object_set_new(o, "decided_by_cut",
                        x->p->decided_by >= 0 ? json_integer(x->p->decided_by + 1) : json_null());
    json_object_set_new(o, "source", source_json(x));
    aot_arena_free(a);
    return o;
}

/* ---- the command ------------------------------------------------------------------------------
 */

static bool has_value(aot_model *m, size_t unit, const char *name)
{
    const aot_partition *p;
    aot_err err = {0};
    return aot_model_partition(m, unit, &p, &err) == AOT_OK &&
           aot_graph_find(p->cut, name) != AOT_NO_NODE;
}

/* The unit asked for, else the first that has the value, else the first. */
static aot_status choose_unit(size_t *unit, aot_model *m, const aot_args *a, aot_err *err)
{
    const char *which = aot_args_get(a, "unit");
    *unit = 0;
    if (aot_model_n_units(m) == 0) {
        return AOT_FAIL(err, AOT_E_PIPELINE,
                        "the input holds no compiled graph; `aotscope info INPUT` tells what it "
                        "holds");
    }
    if (which != NULL) {
        return aot_cmd_find_unit(unit, m, which, err);
    }
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        if (has_value(m, i, a->inputs[1])) {
            *unit = i;
            break;
        }
    }
    return AOT_OK;
}

/* "mul, erf": values that were made of a call of the operator `name` ("gelu"), or that stand at it
 * as a source line ("model.py:12"). */
static void find_made_of(aot_sb *out, aot_model *m, size_t unit, const aot_config *config,
                         const aot_graph *cut, const char *name)
{
    char at[300];
    const aot_unit *u = aot_model_unit(m, unit);
    aot_ctx *c = aot_unit_new_ctx(u);
    aot_dispatch d;
    bool traced = aot_dispatch_find(&d, c, u, cut, config, NULL) == AOT_OK;
    for (aot_node_id i = 0, n = 0; i < cut->nodes.n && n < 12; i++) {
        const char *t = "";
        if (traced && d.of[i] < d.aten->nodes.n) {
            t = aot_node_target(d.aten, d.of[i]); // torch.ops.aten.gelu.default
        }
        const char *word = strncmp(t, "torch.ops.", 10) == 0 ? strchr(t + 10, '.') : NULL;
        size_t len = word != NULL ? strcspn(word + 1, ".") : 0;
        bool made = word != NULL && len == strlen(name) && memcmp(word + 1, name, len) == 0;
        bool here = strcmp(aot_format_source(at, sizeof at, cut, i), name) == 0;
        if (aot_node_at(cut, i)->kind == AOT_CALL_FUNCTION && (made || here)) {
            aot_sb_addf(out, "%s%s", n++ != 0 ? ", " : "", aot_node_name(cut, i));
        }
    }
    aot_ctx_free(c);
}

static aot_status no_value(aot_model *m, size_t unit, const aot_config *config,
                           const aot_graph *cut, const char *name, aot_err *err)
{
    aot_sb made = {0};
    find_made_of(&made, m, unit, config, cut, name);
    if (made.n > 0) {
        *err = (aot_err){0};
        (void)AOT_FAIL(err, AOT_E_USAGE,
                       "no value '%s' in the graph that is cut; made of it, or at that line: %s",
                       name, aot_sb_text(&made));
    }
    aot_sb_free(&made);
    return AOT_E_USAGE;
}

static aot_status explain(aot_explain *out, aot_model *m, size_t unit, const char *name,
                          aot_err *err)
{
    const aot_graph *joint;
    aot_config config;
    aot_partition_in in;
    AOT_TRY(aot_model_cut_graph(m, unit, &joint, err));
    AOT_TRY(aot_model_config(m, unit, &config, err));
    aot_partition_inputs(&in, aot_model_unit(m, unit), joint);
    aot_status s = aot_explain_node(out, &in, &config, name, err);
    if (s != AOT_OK) {
        return s == AOT_E_USAGE ? no_value(m, unit, &config, joint, name, err) : s;
    }
    if (out->changes.n != 0) {
        aot_explain_budgets(out);
    }
    return AOT_OK;
}

static int run(const aot_args *a)
{
    aot_err err = {0};
    aot_model *m = NULL;
    aot_explain x = {0};
    size_t unit;
    aot_status s = aot_cmd_open_one(&m, a, a->inputs[0], &err);
    s = s == AOT_OK ? choose_unit(&unit, m, a, &err) : s;
    s = s == AOT_OK ? explain(&x, m, unit, a->inputs[1], &err) : s;
    if (s == AOT_OK) {
        aot_cmd_warn_assumed_of(m, unit);
    }
    if (s == AOT_OK && aot_args_has(a, "json")) {
        json_t *o = aot_cmd_json();
        json_object_set_new(o, "unit", json_integer((json_int_t)unit));
        json_object_set_new(o, "value", explain_json(&x));
        aot_cmd_print_json(o);
    } else if (s == AOT_OK) {
        printf("# unit %zu %s\n", unit, aot_model_unit_line(m, unit));
        print_text(&x);
    }
    aot_explain_free(&x);
    aot_model_free(m);
    return s == AOT_OK ? AOT_EXIT_SAME : aot_cmd_fail(&err);
}

static const aot_option options[] = {
    {"unit", 'u', "N|LABEL", false,
     "The unit, by number or label; without it the first that has the value."},
    {"json", 0, NULL, false, "Print JSON."},
    AOT_OPTIONS_INPUT,
    {0},
};

const aot_cmd cmd_explain = {
    .name = "explain",
    .synopsis = "INPUT NODE [--unit N|LABEL] [--set NAME=VALUE]... [--json]",
    .summary = "Why a value is saved or recomputed, and what would change it",
    .doc = "NODE is a value of the graph that is cut (show --stage joint_cse prints it). Says "
           "which rules applied, "
           "with their numbers: the ban with PyTorch's own reason, the weight as bytes times the "
           "distance factor "
           "(doubled where the value need not exist in memory), the tag; what it is made of again "
           "and who reads it "
           "in the backward. The cut edges that hold the value come with a chain of the network "
           "from the source "
           "through the value to the sink: each edge with its capacity, and why one that is "
           "infinite cannot be cut. "
           "At a budget below 1 the knapsack's items stand there with the value's own row. A value "
           "without a source "
           "line has that of the nearest value it is made from. Then the weight below which it "
           "would be saved, the smallest change of weight and tag that flips it, the memory "
           "budgets at which it is saved and "
           "recomputed (to 0.001), and single changes, "
           "each tried by cutting "
           "again: a tag on the value, each setting that decides about bans; with what all saved "
           "values take then.",
    .examples =
        "aotscope explain train.log gelu\n"
        "aotscope explain train.log addmm_2 --unit 0/1 --set activation_memory_budget=0.5\n",
    .options = options,
    .min_inputs = 2,
    .max_inputs = 2,
    .run = run,
};
