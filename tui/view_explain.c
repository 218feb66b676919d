/* Why the partitioner did with a value what it did: rules, neighbours, and single changes, each
 * tried by cutting again. Enter on a neighbour explains that one; on a change it makes the change
 * last, as an edit of the unit. Everything is in a context that goes with the view, and is found
 * one cut at a time while no key waits: reading, the cut as it is, each change, each budget. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "base/progress.h"
#include "session/derive.h"
#include "session/saved.h"
#include "tui/app.h"
#include "tui/explain_words.h"
#include "tui/edit.h"
#include "tui/lines.h"
#include "viewers/chart.h"
#include "viewers/format.h"

enum { LABEL_COLS = 12, MOST_NAMES = 40, WHAT_COLS = 41, SUM_COLS = 98 };
#define CHANGE_LINK 0x80000000u /* links at and above it are changes, below nodes */

typedef enum phase { AT_READING, AT_CUT, AT_CHANGES, AT_BUDGETS, AT_END } phase;

typedef struct explain_view {
    aot_view *v;
    unsigned version;
    char *name;          /* of the value */
    aot_ctx *ctx;        /* of x */
    const aot_graph *joint; /* of ctx */
    aot_explain x;
    phase phase;
    bool stopped;        /* by Esc: Enter goes on */
    bool has;            /* x is there */
    char trouble[900];
    int cols;            /* of the lines; 0: to be made */
    aot_lines lines;
    AOT_VEC(char *) before; /* values that were explained before */
} explain_view;

static explain_view *state(aot_view *v)
{
    return v->state;
}

/* ---- explaining ------------------------------------------------------------------------------ */

static void drop(explain_view *s)
{
    if (s->has) {
        aot_explain_free(&s->x);
    }
    aot_ctx_free(s->ctx);
    s->ctx = NULL;
    s->has = s->stopped = false;
    s->phase = AT_READING;
    s->trouble[0] = 0;
    s->cols = 0;
}

/* The recorded text of what is cut; NULL: it is derived. */
static const aot_record *cut_record(explain_view *s)
{
    aot_config config;
    aot_model *m = aot_app_model(s->v->app);
    bool as_recorded =
        aot_model_stage(m, s->v->unit, AOT_STAGE_JOINT).origin == AOT_ORIGIN_RECORDED &&
        aot_model_config(m, s->v->unit, &config, NULL) == AOT_OK &&
        strcmp(config.backend, "inductor_joint") != 0; // which passes change before the cut
    return as_recorded ? aot_unit_stage(aot_model_unit(m, s->v->unit), AOT_STAGE_JOINT) : NULL;
}

/* A copy of the joint graph whose context can be let go of. */
static aot_status copy_joint(explain_view *s, aot_err *err)
{
    const aot_record *recorded = cut_record(s);
    if (recorded) {
        const aot_unit *u = aot_model_unit(aot_app_model(s->v->app), s->v->unit);
        aot_ctx_free(s->ctx); // of one that was stopped
        s->ctx = aot_unit_new_ctx(u);
        return aot_record_parse(&s->joint, s->ctx, u, recorded, err);
    }
    const aot_graph *joint;
    aot_graph *copy = NULL;
    aot_model *m = aot_app_model(s->v->app);
    AOT_TRY(aot_model_cut_graph(m, s->v->unit, &joint, err));
    aot_sb text = {0};
    aot_ctx_free(s->ctx); // of one that was stopped
    aot_print_graph(&text, joint, AOT_PRINT_PLAIN);
    s->ctx = aot_unit_new_ctx(aot_model_unit(m, s->v->unit));
    aot_progress_begin("reading", "joint", text.n);
    aot_status st = aot_parse_graph(&copy, s->ctx, aot_sb_text(&text), text.n, 1, err);
    aot_progress_end();
    aot_sb_free(&text);
    s->joint = copy;
    return st;
}

static aot_status cut(explain_view *s, aot_err *err)
{
    aot_config config;
    aot_partition_in in;
    aot_model *m = aot_app_model(s->v->app);
    AOT_TRY(aot_model_config(m, s->v->unit, &config, err));
    aot_partition_inputs(&in, aot_model_unit(m, s->v->unit), s->joint);
    AOT_TRY(aot_explain_start(&s->x, &in, &config, s->name, err));
    s->has = true;
    return AOT_OK;
}

/* The next step; what was stopped is tried again when asked for. */
static void advance(explain_view *s)
{
    aot_err err = {0};
    aot_status st = AOT_OK;
    bool more = false;
    switch (s->phase) {
    case AT_READING: st = copy_joint(s, &err); break;
    case AT_CUT: st = cut(s, &err); break;
    case AT_CHANGES: more = aot_explain_step(&s->x); break;
    case AT_BUDGETS: more = s->x.changes.n > 0 && aot_explain_budgets_step(&s->x); break;
    case AT_END: return;
    }
    s->stopped = !more && aot_progress_stopped();
    if (st != AOT_OK && !s->stopped) {
        aot_err_text(&err, s->trouble, sizeof s->trouble);
        s->phase = AT_END;
    } else if (!more && !s->stopped) {
        s->phase++;
        s->cols = 0; // there is more to tell
    }
}

static void show(explain_view *s, const char *name)
{
    char *copy = aot_xstrdup(name);
    drop(s);
    free(s->name);
    s->name = copy;
    s->version = aot_model_version(aot_app_model(s->v->app), s->v->unit);
    aot_lines_clear(&s->lines);
    aot_lines_end(&s->lines, 0);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void pair(explain_view *s, const char *label, aot_style style, const char *text)
{
    if (*text) {
        aot_lines_pair(&s->lines, s->cols, label, style, text);
    }
}

static void head(explain_view *s, const char *text)
{
    aot_lines_add(&s->lines, AOT_STYLE_NORMAL, "");
    aot_lines_add(&s->lines, AOT_STYLE_TITLE, text);
}

static void add_value(explain_view *s)
{
    const aot_explain *x = &s->x;
    const aot_graph *g = x->p->cut;
    const aot_src *src = &g->srcs.d[aot_node_at(g, x->id)->src];
    char type[200], bytes[32], op[160], source[300];
    aot_sb text = {0};
    aot_sb_addf(&text, "%s = %s  %s  %s", aot_node_name(g, x->id),
                aot_format_op(op, sizeof op, g, x->id),
                aot_format_type(type, sizeof type, g->ctx, aot_node_at(g, x->id)->meta),
                aot_format_bytes(bytes, sizeof bytes, x->p->nodes[x->id].bytes));
    pair(s, "value", AOT_STYLE_NAME, aot_sb_text(&text));
    aot_sb_clear(&text);
    aot_sb_addf(&text, "%s  %s", aot_format_source(source, sizeof source, g, x->id),
                src->code ? aot_text(g->ctx, src->code) : "");
    pair(s, "source", AOT_STYLE_SOURCE, src->file ? aot_sb_text(&text) : "");
    aot_sb_clear(&text);
    explain_source_words(&text, x);
    pair(s, "line", AOT_STYLE_SOURCE, aot_sb_text(&text));
    pair(s, "verdict", AOT_STYLE_BOLD, aot_verdict_words(x->p, x->id));
    aot_sb_free(&text);
}

static void add_rules(explain_view *s)
{
    const aot_explain *x = &s->x;
    const aot_node_info *n = &x->p->nodes[x->id];
    aot_arena *a = aot_arena_new();
    aot_sb text = {0};
    char weight[200];
    head(s, "Rules");
    pair(s, "why", AOT_STYLE_NORMAL, aot_node_reason(x->p, x->id, a));
    explain_ban_words(&text, x);
    pair(s, "ban", AOT_STYLE_NORMAL, aot_sb_text(&text));
    pair(s, "weight", AOT_STYLE_NORMAL, aot_weight_words(weight, sizeof weight, x->p, x->id));
    aot_sb_clear(&text);
    explain_limit_words(&text, x);
    pair(s, "", AOT_STYLE_NORMAL, aot_sb_text(&text));
    pair(s, "tag", AOT_STYLE_NOTICE,
         n->policy != AOT_POLICY_NONE ? aot_policy_name((aot_policy)n->policy) : "");
    pair(s, "sink", AOT_STYLE_NORMAL, explain_sink_words(x));
    pair(s, "decided by", AOT_STYLE_NORMAL, x->p->rung);
    aot_sb_clear(&text);
    explain_cut_words(&text, x->p);
    pair(s, "in all", AOT_STYLE_NORMAL, aot_sb_text(&text));
    aot_sb_clear(&text);
    explain_item_words(&text, x);
    pair(s, "knapsack", AOT_STYLE_NORMAL, aot_sb_text(&text));
    aot_sb_free(&text);
    aot_arena_free(a);
}

static const char *phase_words(const explain_view *s)
{
    static const char *const words[] = {[AT_READING] = "Reading the joint graph",
                                        [AT_CUT] = "Cutting it",
                                        [AT_CHANGES] = "Trying changes, each with a cut of its own",
                                        [AT_BUDGETS] = "Cutting at other budgets",
                                        [AT_END] = ""};
    return words[s->phase];
}

/* In its place what is still being done, so that no line moves when it is there. */
static void add_budgets(explain_view *s)
{
    aot_sb text = {0};
    bool all = s->phase == AT_END;
    if (all) {
        explain_budget_words(&text, &s->x);
    } else {
        aot_sb_addf(&text, s->stopped ? "stopped (%s); Enter goes on" : "%s ...", phase_words(s));
    }
    pair(s, "budget", all ? AOT_STYLE_NORMAL : AOT_STYLE_NOTICE, aot_sb_text(&text));
    aot_sb_free(&text);
}

/* Edges of the chain; Enter explains the value that one leads to. */
static void add_network(explain_view *s)
{
    const aot_explain *x = &s->x;
    aot_sb text = {0};
    head(s, "Cut edges that hold it");
    explain_around_words(&text, x);
    pair(s, "held by", AOT_STYLE_NORMAL, aot_sb_text(&text));
    int edge_cols = 36;
    for (size_t i = 0; i < x->path.n; i++) {
        aot_sb_clear(&text);
        explain_edge_words(&text, x, &x->path.d[i]);
        edge_cols = (int)text.n > edge_cols ? (int)text.n : edge_cols;
    }
    for (size_t i = 0; i < x->path.n; i++) {
        const aot_net_edge *e = &x->path.d[i];
        aot_sb capacity = {0}, line = {0};
        aot_sb_clear(&text);
        explain_edge_words(&text, x, e);
        explain_capacity_words(&capacity, e);
        aot_sb_addf(&line, "%s %-*s %14s  %s", e->cut ? "*" : " ", edge_cols,
                    aot_sb_text(&text), aot_sb_text(&capacity), e->why != NULL ? e->why : "");
        aot_lines_link_fold(&s->lines, s->cols, LABEL_COLS, e->to != AOT_NO_NODE ? e->to : e->from,
                            e->cut ? AOT_STYLE_BOLD : AOT_STYLE_NORMAL, aot_sb_text(&line));
        aot_sb_free(&line);
        aot_sb_free(&capacity);
    }
    aot_sb_free(&text);
}

static void add_smallest(explain_view *s)
{
    aot_sb text = {0};
    explain_flip_weight_words(&text, &s->x);
    pair(s, "smallest", AOT_STYLE_NORMAL, aot_sb_text(&text));
    aot_sb_clear(&text);
    if (s->x.flip_change != AOT_NO_CHANGE) { // Enter sets it, as it does below
        aot_sb_addf(&text, "%-*s", LABEL_COLS, "smallest");
        explain_flip_change_words(&text, &s->x);
        aot_lines_link_fold(&s->lines, s->cols, LABEL_COLS,
                            CHANGE_LINK + (uint32_t)s->x.flip_change, AOT_STYLE_BOLD,
                            aot_sb_text(&text));
    }
    aot_sb_free(&text);
}

static void add_names(explain_view *s, const char *title, const aot_node_id *ids, size_t n)
{
    const aot_graph *g = s->x.p->cut;
    char type[200], bytes[32], line[800];
    if (n > 0) {
        head(s, title);
    }
    for (size_t i = 0; i < n && i < MOST_NAMES; i++) {
        const aot_node_info *info = &s->x.p->nodes[ids[i]];
        snprintf(line, sizeof line, "%-24s %-26s %10s  %s", aot_node_name(g, ids[i]),
                 aot_format_type(type, sizeof type, g->ctx, aot_node_at(g, ids[i])->meta),
                 aot_format_bytes(bytes, sizeof bytes, info->bytes),
                 aot_verdict_words(s->x.p, ids[i]));
        aot_lines_link_fold(&s->lines, s->cols, LABEL_COLS, ids[i], AOT_STYLE_NORMAL, line);
    }
    if (n > MOST_NAMES) {
        aot_lines_addf(&s->lines, AOT_STYLE_DIM, "and %zu more", n - MOST_NAMES);
    }
}

/* Columns by importance: what is saved then is left out where there is no room, as the change tells
 * it. */
static void add_change(explain_view *s, uint32_t i)
{
    const aot_change *c = &s->x.changes.d[i];
    char bytes[32], by[32], flops[32];
    bool flips = explain_flips(&s->x, c);
    aot_sb line = {0};
    if (c->failed) {
        aot_sb_addf(&line, "  %-*s impossible: %s", WHAT_COLS, c->what, c->failure);
        aot_lines_link_fold(&s->lines, s->cols, LABEL_COLS, AOT_NO_LINK, AOT_STYLE_DIM,
                            aot_sb_text(&line));
        aot_sb_free(&line);
        return;
    }
    int64_t d = c->saved_bytes - aot_saved_tensor_bytes(s->x.p);
    aot_format_change(by, sizeof by, d);
    aot_sb_addf(&line, "%s %-*s %-12s %10s %10s", flips ? "*" : " ", WHAT_COLS, c->what,
                aot_verdict_name(c->verdict), d == 0 ? "" : by,
                aot_chart_value(flops, sizeof flops, AOT_CHART_FLOPS, c->recompute_flops));
    if (s->cols >= SUM_COLS) {
        aot_sb_addf(&line, "  saved then %s",
                    aot_format_bytes(bytes, sizeof bytes, c->saved_bytes));
    }
    aot_lines_link_fold(&s->lines, s->cols, LABEL_COLS, CHANGE_LINK + i,
                        flips ? AOT_STYLE_BOLD : AOT_STYLE_NORMAL, aot_sb_text(&line));
    aot_sb_free(&line);
}

static void fill(explain_view *s, int cols)
{
    const aot_explain *x = &s->x;
    const aot_graph *g = x->p->cut;
    uint32_t row = aot_list_row(&s->lines.list);
    char bytes[64], flops[32], line[200];
    bool all = s->phase > AT_CHANGES;
    s->cols = cols;
    aot_lines_clear(&s->lines);
    add_value(s);
    add_rules(s);
    if (all && x->changes.n) {
        snprintf(line, sizeof line, "now saved %s, recompute %s; * another verdict; Enter sets one",
                 aot_saved_text(x->p, bytes, sizeof bytes),
                 aot_chart_value(flops, sizeof flops, AOT_CHART_FLOPS, x->p->recompute_flops));
        head(s, "What would change it");
        aot_lines_add(&s->lines, AOT_STYLE_DIM, line);
        add_smallest(s);
    }
    add_budgets(s);
    for (int flips = all ? 1 : -1; flips >= 0; flips--) { // those that flip it first
        for (uint32_t i = 0; i < x->changes.n; i++) {
            if (explain_flips(x, &x->changes.d[i]) == flips) {
                add_change(s, i);
            }
        }
    }
    add_network(s);
    add_names(s, "Made of", g->in + g->in_off[x->id], g->in_off[x->id + 1] - g->in_off[x->id]);
    add_names(s, "Recomputed from these, which are kept", x->saved_above.d, x->saved_above.n);
    add_names(s, "Read in the backward by", x->readers.d, x->readers.n);
    aot_lines_end(&s->lines, row == AOT_NO_ROW ? 0 : row);
}

/* ---- view ------------------------------------------------------------------------------------ */

static aot_status open_view(aot_view *v, aot_err *err)
{
    explain_view *s = state(v);
    aot_view *below = aot_app_top(v->app);
    const char *node = below->ops == &view_graph_ops ? aot_graph_view_node(below) : NULL;
    if (aot_model_stage(aot_app_model(v->app), v->unit, AOT_STAGE_JOINT).origin ==
        AOT_ORIGIN_MISSING) {
        return AOT_FAIL(err, AOT_E_PIPELINE,
                        "This unit has no joint graph, so nothing is saved or recomputed");
    }
    if (!node) {
        return AOT_FAIL(err, AOT_E_USAGE, "Select a value in the graph first");
    }
    s->v = v;
    aot_lines_init(&s->lines, LABEL_COLS);
    show(s, node);
    return AOT_OK;
}

static void done(aot_view *v)
{
    explain_view *s = state(v);
    if (s->v) {
        drop(s);
        aot_lines_done(&s->lines);
        free(s->name);
        for (size_t i = 0; i < s->before.n; i++) {
            free(s->before.d[i]);
        }
        aot_vec_free(&s->before);
    }
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    explain_view *s = state(v);
    char bytes[64];
    aot_sb_addf(left, "explain · unit %zu · %s", v->unit, s->name);
    aot_list_status(&s->lines.list, right);
    if (s->has && right->n == 0) {
        aot_sb_addf(right, "%s · saved in all %s", aot_verdict_words(s->x.p, s->x.id),
                    aot_saved_text(s->x.p, bytes, sizeof bytes));
    }
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    explain_view *s = state(v);
    if (aot_model_version(aot_app_model(v->app), v->unit) != s->version) {
        drop(s);
        s->version = aot_model_version(aot_app_model(v->app), v->unit);
    }
    if (!s->has) {
        bool trouble = s->trouble[0] != 0;
        char words[80];
        snprintf(words, sizeof words, s->stopped ? "Stopped (%s); Enter goes on" : "%s ...",
                 phase_words(s));
        aot_lines_draw_text(c, y + 1, trouble ? 1 : 2, rows - 1, c->cols - 2, AOT_STYLE_NOTICE,
                            trouble ? s->trouble : words);
        return;
    }
    if (s->cols != c->cols - 2) {
        fill(s, c->cols - 2);
    }
    aot_list_draw(&s->lines.list, c, y, 0, rows, c->cols, true);
}

static bool work(aot_view *v)
{
    explain_view *s = state(v);
    if (s->phase != AT_END && !s->stopped) {
        advance(s);
        return true;
    }
    return aot_list_work(&s->lines.list, AOT_SLICE_NS);
}

/* ---- actions --------------------------------------------------------------------------------- */

static void apply(explain_view *s, const aot_change *c)
{
    aot_sb line = {0};
    explain_edit_line(&line, &s->x, c);
    if (aot_edit_quiet(s->v->app, s->v->unit, aot_sb_text(&line))) {
        aot_app_say(s->v->app, "In force for this unit: %s", aot_sb_text(&line));
    }
    aot_sb_free(&line);
}

static void open_selected(explain_view *s)
{
    uint32_t link = s->has ? aot_lines_link_at(&s->lines) : AOT_NO_LINK;
    if (s->stopped && link == AOT_NO_LINK) {
        s->stopped = false;
        s->cols = 0;
    } else if (!s->has || link == AOT_NO_LINK) {
        aot_app_say(s->v->app, "Enter follows lines that name a value, and sets changes");
    } else if (link >= CHANGE_LINK) {
        apply(s, &s->x.changes.d[link - CHANGE_LINK]);
    } else {
        char *name = aot_xstrdup(aot_node_name(s->x.p->cut, link));
        aot_vec_push(&s->before, aot_xstrdup(s->name));
        show(s, name);
        free(name);
    }
}

static void go_back(explain_view *s)
{
    if (s->before.n == 0) {
        aot_app_pop(s->v->app); // frees s
        return;
    }
    char *name = s->before.d[--s->before.n];
    show(s, name);
    free(name);
}

static bool act(aot_view *v, aot_action a)
{
    explain_view *s = state(v);
    switch (a) {
    case AOT_ACT_OPEN: open_selected(s); return true;
    case AOT_ACT_BACK: go_back(s); return true;
    case AOT_ACT_PRODUCER: {
        char *name = aot_xstrdup(s->name);
        aot_app_goto(v->app, v->unit, AOT_STAGE_JOINT_CSE, name); // frees s
        free(name);
        return true;
    }
    default: return false;
    }
}

static aot_list *list(aot_view *v)
{
    return &state(v)->lines.list;
}

static const aot_hint hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "line", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "set, or explain that one", false},
    {AOT_ACT_BACK, AOT_ACT_NONE, "the one before", false},
    {AOT_ACT_PRODUCER, AOT_ACT_NONE, "to the node", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {0},
};

const aot_view_ops view_explain_ops = {
    .what = "explain",
    .state_size = sizeof(explain_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .list = list,
    .work = work,
    .done = done,
    .hints = hints,
};
