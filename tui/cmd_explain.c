/* aotscope explain INPUT NODE: why a value is saved or recomputed, and what would change it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/explain.h"
#include "session/saved.h"
#include "tui/explain_words.h"
#include "tui/open_model.h"
#include "viewers/format.h"
#include "viewers/table.h"

/* ---- text -------------------------------------------------------------------------------------
 */

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
}

/* What the knapsack of the budget made of it. */
static void print_item(const aot_explain *x)
{
    const aot_partition *p = x->p;
    for (uint32_t i = 0; i < p->n_items; i++) {
        const aot_budget_item *item = &p->items[i];
        if (item->node == x->id) {
            printf("  knapsack %s: %.4f of the memory, runtime %.6g; %.4f of %.4f are saved\n",
                   item->saved ? "saved" : "to be recomputed", item->memory, item->runtime, p->items_saved,
                   p->config.activation_memory_budget);
        }
    }
    if (p->over_capacity) {
        printf("  fault    the solver saves more than the budget: PyTorch's hirschberg is known for it\n");
    }
}

static void print_rules(const aot_explain *x)
{
    const aot_node_info *n = &x->p->nodes[x->id];
    aot_arena *a = aot_arena_new();
    char weight[160];
    aot_sb ban = {0};
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
    print_item(x);
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

static void print_limit(const aot_explain *x)
{
    aot_sb text = {0};
    explain_limit_words(&text, x);
    if (text.n > 0) {
        printf("  weight   %s\n", aot_sb_text(&text));
    }
    aot_sb_free(&text);
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
        aot_table_cellf(t, "%.4g flops", c->recompute_flops);
    }
    aot_sb out = {0};
    aot_table_print(&out, t, AOT_TABLE_NO_HEAD, 0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    aot_table_free(t);
}

static void print_text(const aot_explain *x)
{
    const aot_graph *g = x->p->cut;
    char bytes[32];
    print_value(x);
    print_rules(x);
    printf("\nNeighbours\n");
    print_names("made of", g, g->in + g->in_off[x->id], g->in_off[x->id + 1] - g->in_off[x->id]);
    print_names("kept", g, x->saved_above.d, x->saved_above.n);
    print_names("read by", g, x->readers.d, x->readers.n);
    if (x->changes.n == 0) {
        return;
    }
    printf(
        "\nWhat would change it (now: saved in all %s, recompute %.4g flops; * another verdict)\n",
        aot_format_bytes(bytes, sizeof bytes, x->p->saved_bytes), x->p->recompute_flops);
    print_limit(x);
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

static json_t *explain_json(const aot_explain *x)
{
    const aot_graph *g = x->p->cut;
    const aot_node_info *n = &x->p->nodes[x->id];
    aot_arena *a = aot_arena_new();
    json_t *changes = json_array();
    for (size_t i = 0; i < x->changes.n; i++) {
        json_array_append_new(changes, change_json(&x->changes.d[i]));
    }
    json_t *o =
        json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:I, s:f}", "name", aot_node_name(g, x->id),
                  "verdict", aot_verdict_name((aot_verdict)n->verdict), "bytes",
                  (json_int_t)n->bytes, "reason", aot_node_reason(x->p, x->id, a), "rung",
                  x->p->rung, "tag", aot_policy_name((aot_policy)n->policy), "saved_bytes",
                  (json_int_t)x->p->saved_bytes, "recompute_flops", x->p->recompute_flops);
    json_object_set_new(o, "ban", string_or_null(aot_ban_text((aot_ban)n->ban)));
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

static aot_status explain(aot_explain *out, aot_model *m, size_t unit, const char *name,
                          aot_err *err)
{
    const aot_graph *joint;
    aot_config config;
    aot_partition_in in;
    AOT_TRY(aot_model_graph(m, unit, AOT_STAGE_JOINT, &joint, err));
    AOT_TRY(aot_model_config(m, unit, &config, err));
    aot_partition_inputs(&in, aot_model_unit(m, unit), joint);
    return aot_explain_node(out, &in, &config, name, err);
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
    AOT_OPTION_SET,
    AOT_OPTION_REDACT,
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
           "in the backward. Then the weight below which it would be saved, and single changes, "
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
