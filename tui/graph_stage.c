/* Stages of the graph view: loading them from the model, the bar that names them, submodules, and
 * finding the same node again in another stage.
 *
 * The same node: by name, else the first node of the same source line, else the same relative
 * place. The anchor outlives stages that lack the node, so stepping there and back returns to
 * it. */
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "tui/graph_view.h"
#include "viewers/format.h"

/* ---- loading ---- */

/* Names of the cut graph mean the same in these stages. */
static bool follows_cut(aot_stage s)
{
    return s == AOT_STAGE_JOINT || s == AOT_STAGE_JOINT_PASSES || s == AOT_STAGE_JOINT_CSE ||
           s == AOT_STAGE_FORWARD || s == AOT_STAGE_BACKWARD;
}

const aot_partition *graph_partition(graph_view *gv)
{
    if (!gv->part_asked) {
        gv->part_asked = true;
        gv->part_status = aot_model_partition(aot_app_model(gv->v->app), gv->v->unit, &gv->part,
                                              &gv->part_err);
        if (gv->part_status != AOT_OK) {
            gv->part_stopped = aot_progress_stopped();
            gv->part = NULL;
        }
        graph_order_saved(gv);
        aot_list_reset(&gv->saved, gv->part ? gv->part->n_saved + gv->part->n_saved_sym : 0, 0);
    }
    return gv->part;
}

static char side_of(const graph_stage *st, aot_stage s)
{
    return st->p                      ? 0
           : s == AOT_STAGE_FORWARD  ? 'F'
           : s == AOT_STAGE_BACKWARD ? 'B'
                                     : ' ';
}

static void make_listing(graph_stage *st, aot_stage s, unsigned flags)
{
    aot_listing_free(st->listing);
    st->flags = flags;
    st->listing = aot_listing_new(st->g, st->p, side_of(st, s), flags);
}

static void index_names(graph_stage *st)
{
    st->n_names = aot_strtab_count(st->g->ctx->strs);
    st->node_of_name = aot_xcalloc(st->n_names + 1, sizeof *st->node_of_name);
    for (uint32_t i = 0; i < st->g->nodes.n; i++) {
        st->node_of_name[st->g->nodes.d[i].name] = i + 1;
    }
}

static void free_stage(graph_stage *st)
{
    aot_listing_free(st->listing);
    free(st->node_of_name);
    graph_drop_folds(st);
    *st = (graph_stage){0};
}

static void load_runtime(graph_view *gv, graph_stage *st)
{
    const aot_runtime *r = NULL;
    aot_model *m = aot_app_model(gv->v->app);
    st->status = aot_model_runtime(m, gv->v->unit, &r, &st->err);
    aot_lines_clear(&gv->runtime);
    if (st->status == AOT_OK) {
        aot_sb text = {0};
        aot_runtime_print(&text, r);
        aot_lines_take(&gv->runtime, &text);
    }
    aot_lines_end(&gv->runtime, 0);
    gv->status[AOT_STAGE_RUNTIME] = aot_model_stage(m, gv->v->unit, AOT_STAGE_RUNTIME);
}

/* A stage that is there now may tell that its neighbour changed nothing. */
static void ask_status(graph_view *gv)
{
    for (int i = 0; i < gv->n_bar; i++) {
        aot_stage s = gv->bar[i];
        if (gv->stages[s].loaded && gv->stages[s].g != NULL) {
            gv->status[s] = aot_model_stage(aot_app_model(gv->v->app), gv->v->unit, s);
        }
    }
}

/* Of a graph that an edit left as it is, only what the partition says is new. */
static bool follow_stage(graph_view *gv, graph_stage *st, aot_stage s)
{
    const aot_graph *g;
    bool same = aot_model_graph(aot_app_model(gv->v->app), gv->v->unit, s, &g, NULL) == AOT_OK &&
                g == st->g;
    const aot_partition *p = same && follows_cut(s) ? graph_partition(gv) : NULL;
    if (!same || !aot_listing_follow(st->listing, p)) {
        return false;
    }
    st->p = p;
    st->loaded = true;
    st->old = false;
    return true;
}

static void load_stage(graph_view *gv, aot_stage s)
{
    graph_stage *st = &gv->stages[s];
    if (st->loaded) {
        return;
    }
    if (st->old) {
        if (follow_stage(gv, st, s)) {
            ask_status(gv);
            return;
        }
        free_stage(st);
    }
    st->loaded = true;
    if (s == AOT_STAGE_RUNTIME) {
        load_runtime(gv, st);
        return;
    }
    st->status = aot_model_graph(aot_app_model(gv->v->app), gv->v->unit, s, &st->g, &st->err);
    if (st->status != AOT_OK) {
        st->g = NULL;
        st->stopped = aot_progress_stopped();
        return;
    }
    st->p = follows_cut(s) ? graph_partition(gv) : NULL;
    aot_progress_begin("listing", aot_stage_get(s)->name, 0);
    if (!st->g->user_off) { // users are what c and the node pane need
        aot_graph_link((aot_graph *)(uintptr_t)st->g);
    }
    make_listing(st, s, gv->flags);
    index_names(st);
    ask_status(gv);
    aot_progress_end();
}

bool graph_shows_text(graph_view *gv)
{
    return gv->v->stage == AOT_STAGE_RUNTIME && gv->subs.n == 0 && gv->runtime.rows.n > 0;
}

graph_stage *graph_now(graph_view *gv)
{
    graph_follow_edits(gv);
    if (gv->subs.n > 0) {
        return &gv->subs.d[gv->subs.n - 1].at;
    }
    load_stage(gv, gv->v->stage);
    return &gv->stages[gv->v->stage];
}

/* Shows the rows of what graph_now gives. */
static void show_rows(graph_view *gv, size_t row)
{
    graph_stage *st = graph_now(gv);
    aot_list_reset(&gv->nodes, st->listing ? aot_listing_n_rows(st->listing) : 0, row);
    gv->node_graph = NULL;
    gv->walk = AOT_ACT_NONE;
}

bool aot_stage_belongs(const aot_stage_status *st, aot_stage s)
{
    if (st[s].origin != AOT_ORIGIN_MISSING) {
        return true;
    }
    bool inference = st[AOT_STAGE_INFERENCE].origin != AOT_ORIGIN_MISSING;
    bool exported = st[AOT_STAGE_EXPORT].origin != AOT_ORIGIN_MISSING;
    bool joint = st[AOT_STAGE_JOINT].origin != AOT_ORIGIN_MISSING ||
                 st[AOT_STAGE_FORWARD].origin != AOT_ORIGIN_MISSING ||
                 st[AOT_STAGE_BACKWARD].origin != AOT_ORIGIN_MISSING;
    bool autograd = s >= AOT_STAGE_JOINT_TRACED && s <= AOT_STAGE_BACKWARD;
    return s != AOT_STAGE_INFERENCE && s != AOT_STAGE_EXPORT &&
           (!autograd || joint || (!inference && !exported));
}

void graph_open_stages(graph_view *gv)
{
    aot_model *m = aot_app_model(gv->v->app);
    for (int s = 0; s < AOT_N_STAGES; s++) {
        gv->status[s] = aot_model_stage(m, gv->v->unit, (aot_stage)s);
    }
    for (int s = 0; s < AOT_N_STAGES; s++) {
        if (aot_stage_belongs(gv->status, (aot_stage)s)) {
            gv->bar[gv->n_bar++] = (aot_stage)s;
        }
    }
}

/* keep: what an edit may have left as it is. */
static void drop_stages(graph_view *gv, bool keep)
{
    for (int s = 0; s < AOT_N_STAGES; s++) {
        graph_stage *st = &gv->stages[s];
        if (keep && s < AOT_STAGE_FORWARD && st->g) {
            graph_drop_folds(st);
            st->loaded = false;
            st->old = true;
        } else {
            free_stage(st);
        }
    }
    while (gv->subs.n > 0) {
        free_stage(&gv->subs.d[--gv->subs.n].at);
    }
    free(gv->saved_order);
    gv->saved_order = NULL;
    graph_end_filters(gv);
}

void graph_close_stages(graph_view *gv)
{
    drop_stages(gv, false);
    aot_vec_free(&gv->subs);
    graph_drop_anchor(gv);
    graph_drop_base(&gv->base);
    free(gv->flips);
    free(gv->saved_name);
    aot_select_free(&gv->filter);
    aot_select_free(&gv->saved_filter);
}

void graph_fit_listing(graph_view *gv, int cols)
{
    graph_stage *st = graph_now(gv);
    gv->flags = cols >= 110 ? AOT_LIST_OP : 0;
    if (st->listing && st->flags != gv->flags) {
        make_listing(st, gv->v->stage, gv->flags);
    }
}

bool graph_load_near(graph_view *gv)
{
    enum { MAX_NODES = 30000 }; // beyond, a key that comes meanwhile would have to wait
    const aot_graph *g = graph_now(gv)->g;
    for (int i = 0; i < 2 && g && g->nodes.n < MAX_NODES; i++) {
        aot_stage s = graph_near_stage(gv, i ? -1 : 1);
        if (s != AOT_N_STAGES && !gv->stages[s].loaded &&
            gv->status[s].origin != AOT_ORIGIN_MISSING) {
            load_stage(gv, s);
            return true;
        }
    }
    return false;
}

/* ---- the selected node ---- */

aot_node_id graph_node_now(graph_view *gv)
{
    graph_stage *st = graph_now(gv);
    uint32_t row = aot_list_row(&gv->nodes);
    if (!st->listing || row == AOT_NO_ROW) {
        return AOT_NO_NODE;
    }
    aot_listing_row r = aot_listing_row_at(st->listing, row);
    return r.is_source ? AOT_NO_NODE : r.node;
}

bool graph_select(graph_view *gv, aot_node_id id)
{
    graph_stage *st = graph_now(gv);
    size_t row = aot_listing_row_of(st->listing, id);
    bool folded = graph_hides(gv, row) || graph_stands_alone(gv, row);
    if (!folded && aot_list_select(&gv->nodes, row)) {
        return true;
    }
    if (folded) {
        graph_reveal(gv, row);
        aot_list_reset(&gv->nodes, aot_listing_n_rows(st->listing), row);
        return true;
    }
    aot_err err = {0}; // the filter hides it: show all
    return aot_list_filter(&gv->nodes, "", &err) == AOT_OK && aot_list_select(&gv->nodes, row);
}

aot_node_id graph_find_name(const graph_stage *st, const char *name)
{
    if (!st->g) {
        return AOT_NO_NODE;
    }
    aot_str s = aot_intern_find(st->g->ctx->strs, name, strlen(name));
    return s && s < st->n_names && st->node_of_name[s] ? st->node_of_name[s] - 1 : AOT_NO_NODE;
}

void graph_drop_anchor(graph_view *gv)
{
    free(gv->anchor.name);
    free(gv->anchor.file);
    gv->anchor = (graph_anchor){0};
}

void graph_keep_anchor(graph_view *gv)
{
    aot_node_id id = graph_node_now(gv);
    if (id == AOT_NO_NODE || (gv->anchor.name && gv->anchor_row == aot_list_row(&gv->nodes))) {
        return;
    }
    const aot_graph *g = graph_now(gv)->g;
    const aot_src *src = &g->srcs.d[aot_node_at(g, id)->src];
    graph_drop_anchor(gv);
    gv->anchor.name = aot_xstrdup(aot_node_name(g, id));
    gv->anchor.file = aot_xstrdup(aot_text(g->ctx, src->file));
    gv->anchor.line = src->line;
    gv->anchor.share = g->nodes.n > 1 ? (double)id / (double)(g->nodes.n - 1) : 0;
}

static aot_node_id find_anchor(const graph_anchor *a, const aot_graph *g)
{
    aot_str file = aot_intern_find(g->ctx->strs, a->file, strlen(a->file));
    for (uint32_t i = 0; file && i < g->nodes.n; i++) {
        const aot_src *src = &g->srcs.d[g->nodes.d[i].src];
        if (src->file == file && src->line == a->line && g->nodes.d[i].kind != AOT_PLACEHOLDER) {
            return i;
        }
    }
    return (aot_node_id)(a->share * (double)(g->nodes.n - 1) + 0.5);
}

/* Row of the first operation: what a person comes for stands below the inputs. */
static size_t first_operation(const graph_stage *st)
{
    for (aot_node_id i = 0; i < st->g->nodes.n; i++) {
        if (st->g->nodes.d[i].kind != AOT_PLACEHOLDER && st->g->nodes.d[i].kind != AOT_OUTPUT) {
            return aot_listing_row_of(st->listing, i);
        }
    }
    return 0;
}

/* Selects the anchored node in the stage that is shown, else the first operation. */
static void show_anchor(graph_view *gv)
{
    graph_stage *st = graph_now(gv);
    size_t row = 0;
    if (st->listing && gv->anchor.name && st->g->nodes.n > 0) {
        aot_node_id id = graph_find_name(st, gv->anchor.name);
        id = id == AOT_NO_NODE ? find_anchor(&gv->anchor, st->g) : id;
        row = graph_fold_row(gv, id);
    } else if (st->listing) {
        row = first_operation(st);
    }
    show_rows(gv, row);
    gv->anchor_row = aot_list_row(&gv->nodes);
}

/* What a person stopped is tried again when they come back. */
static void forget_stopped(graph_view *gv, aot_stage s)
{
    if (gv->stages[s].stopped) {
        free_stage(&gv->stages[s]);
    }
    if (gv->part_stopped) {
        gv->part_stopped = false;
        gv->part_err = (aot_err){0};
        gv->part_asked = false;
    }
}

void graph_go_stage(graph_view *gv, aot_stage s)
{
    while (graph_leave_sub(gv)) {
    }
    graph_keep_anchor(gv);
    forget_stopped(gv, s);
    gv->v->stage = s;
    gv->range = false;
    show_anchor(gv);
}

void graph_reload(graph_view *gv)
{
    unsigned graphs = aot_model_graph_version(aot_app_model(gv->v->app), gv->v->unit);
    drop_stages(gv, gv->graph_version == graphs);
    gv->graph_version = graphs;
    gv->part_asked = false;
    gv->part = NULL;
    gv->part_err = (aot_err){0};
    gv->saved_name_cols = 0;
    gv->history.n = 0;
    gv->n_bar = 0;
    gv->range = false;
    graph_open_stages(gv);
    show_anchor(gv);
}

aot_stage graph_near_stage(const graph_view *gv, int n)
{
    for (int i = 0; i < gv->n_bar; i++) {
        if (gv->bar[i] == gv->v->stage) {
            return i + n >= 0 && i + n < gv->n_bar ? gv->bar[i + n] : AOT_N_STAGES;
        }
    }
    return gv->n_bar ? gv->bar[0] : AOT_N_STAGES;
}

/* ---- submodules ---- */

bool graph_enter_sub(graph_view *gv, uint32_t subgraph)
{
    const aot_graph *g = graph_now(gv)->g;
    if (subgraph >= g->subgraphs.n) {
        return false;
    }
    graph_sub sub = {.from_row = aot_list_row(&gv->nodes)};
    sub.at.loaded = true;
    sub.at.g = g->subgraphs.d[subgraph];
    if (!sub.at.g->user_off) {
        aot_graph_link(g->subgraphs.d[subgraph]);
    }
    make_listing(&sub.at, gv->v->stage, gv->flags);
    index_names(&sub.at);
    aot_vec_push(&gv->subs, sub);
    show_rows(gv, 0);
    return true;
}

bool graph_leave_sub(graph_view *gv)
{
    if (gv->subs.n == 0) {
        return false;
    }
    graph_sub *sub = &gv->subs.d[--gv->subs.n];
    uint32_t row = sub->from_row;
    free_stage(&sub->at);
    show_rows(gv, row);
    return true;
}

/* ---- drawing ---- */

static const char *origin_sign(const aot_stage_status *s, bool ascii)
{
    if (s->same_as != NULL) {
        return "=";
    }
    switch (s->origin) {
    case AOT_ORIGIN_RECORDED: return ascii ? "*" : "●";
    case AOT_ORIGIN_DERIVED: return ascii ? "+" : "○";
    default: return ascii ? "-" : "·";
    }
}

static int bar_cols(const graph_view *gv, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++) {
        n += 5 + aot_text_width(aot_stage_get(gv->bar[i])->name);
    }
    return n;
}

void graph_draw_bar(graph_view *gv, aot_canvas *c, int y)
{
    static const char legend[] = "● recorded  ○ derived  = changed nothing  · missing";
    static const char legend_ascii[] = "* recorded  + derived  = changed nothing  - missing";
    int now = 0, first = 0, x = 1;
    for (int i = 0; i < gv->n_bar; i++) {
        now = gv->bar[i] == gv->v->stage ? i : now;
    }
    while (first < now &&
           bar_cols(gv, first, now + 2 < gv->n_bar ? now + 2 : gv->n_bar) > c->cols - 4) {
        first++;
    }
    if (first > 0) {
        aot_canvas_put(c, y, 0, AOT_STYLE_DIM, c->ascii ? "<" : "‹");
    }
    for (int i = first; i < gv->n_bar; i++) {
        aot_origin o = gv->status[gv->bar[i]].origin;
        const char *name = aot_stage_get(gv->bar[i])->name;
        int w = 5 + aot_text_width(name);
        if (x + w > c->cols - (i + 1 < gv->n_bar ? 1 : 0)) {
            aot_canvas_put(c, y, c->cols - 1, AOT_STYLE_DIM, c->ascii ? ">" : "›");
            return;
        }
        aot_style style = i == now                     ? AOT_STYLE_TITLE
                          : o == AOT_ORIGIN_MISSING    ? AOT_STYLE_DIM
                          : o == AOT_ORIGIN_RECORDED   ? AOT_STYLE_NORMAL
                                                       : AOT_STYLE_SOURCE;
        aot_canvas_put(c, y, x, style, i == now ? (c->ascii ? "[" : "▸") : " ");
        aot_canvas_put(c, y, x + 1, style, origin_sign(&gv->status[gv->bar[i]], c->ascii));
        aot_canvas_put(c, y, x + 2, style, name);
        aot_canvas_put(c, y, x + w - 3, style, i == now ? (c->ascii ? "]" : "◂") : " ");
        x += w - 1;
    }
    int w = aot_text_width(legend);
    if (x + w + 3 < c->cols) {
        aot_canvas_put(c, y, c->cols - w - 1, AOT_STYLE_DIM, c->ascii ? legend_ascii : legend);
    }
}

void graph_draw_missing(graph_view *gv, aot_canvas *c, int y, int x, int rows, int cols)
{
    aot_stage s = gv->v->stage;
    const aot_stage_info *info = aot_stage_get(s);
    const graph_stage *st = graph_now(gv);
    aot_lines text;
    aot_lines_init(&text, 0);
    int w = cols > 84 ? 80 : cols - 4;
    if (gv->status[s].origin == AOT_ORIGIN_MISSING) {
        const char *why = gv->status[s].reason;
        why = why && *why ? why : st->err.msg[0] ? st->err.msg : info->how_to_get;
        aot_lines_addf(&text, AOT_STYLE_NOTICE, "%s is not in this input", info->name);
        aot_lines_add(&text, AOT_STYLE_NORMAL, "");
        aot_lines_wrap(&text, w, AOT_STYLE_NORMAL, info->sentence);
        aot_lines_add(&text, AOT_STYLE_NORMAL, "");
        aot_lines_add(&text, AOT_STYLE_TITLE, "Why");
        aot_lines_wrap(&text, w, AOT_STYLE_NORMAL, why);
        if (!strstr(why, info->how_to_get)) {
            aot_lines_add(&text, AOT_STYLE_NORMAL, "");
            aot_lines_add(&text, AOT_STYLE_TITLE, "How to get it");
            aot_lines_wrap(&text, w, AOT_STYLE_NORMAL, info->how_to_get);
        }
    } else {
        char why[800];
        aot_lines_addf(&text, AOT_STYLE_ERROR, "%s cannot be shown", info->name);
        aot_lines_add(&text, AOT_STYLE_NORMAL, "");
        aot_lines_wrap(&text, w, AOT_STYLE_NORMAL, aot_err_text(&st->err, why, sizeof why));
    }
    aot_lines_add(&text, AOT_STYLE_NORMAL, "");
    aot_lines_addf(&text, AOT_STYLE_DIM, "%s: other stages%s",
                   c->ascii ? "Left and Right" : "← and →",
                   st->stopped ? "; Enter: go on with this one" : "");
    aot_lines_end(&text, 0);
    int top = rows > (int)text.rows.n + 4 ? 2 : 0;
    for (size_t i = 0; i < text.rows.n && top + (int)i < rows; i++) {
        aot_canvas_put(c, y + top + (int)i, x + 2, text.rows.d[i].style, text.rows.d[i].text);
    }
    aot_lines_done(&text);
}
