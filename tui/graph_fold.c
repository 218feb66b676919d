/* Folding in the node list: layers that look the same are shown once, with their number; or a
 * module of the user's as one line, with what is in it. + and - open and close the one under the
 * cursor, and a search or a jump opens what hides the node. */
#include <stdio.h>
#include <stdlib.h>

#include "base/progress.h"
#include "partition/select.h"
#include "tui/graph_view.h"
#include "viewers/format.h"

static const aot_repeats *repeats(graph_view *gv)
{
    graph_stage *st = graph_now(gv);
    if (gv->folding != FOLD_REPEATS || !st->g) {
        return NULL;
    }
    if (!st->repeats.of) {
        aot_repeats_find(&st->repeats, st->g, st->p);
    }
    return &st->repeats;
}

static void find_modules(graph_view *gv, graph_stage *st)
{
    const aot_unit *u = aot_model_unit(aot_app_model(gv->v->app), gv->v->unit);
    aot_arena *a = aot_arena_new();
    aot_progress_begin("folding", NULL, 0);
    const aot_partition *p = graph_partition(gv);
    aot_node_id *cut = aot_view_map(st->g, p);
    aot_module_folds_find(&st->modules, st->g, p, cut, aot_unit_modules(u, st->g, p, a));
    free(cut);
    aot_progress_end();
    aot_arena_free(a);
}

static aot_module_folds *modules(graph_view *gv)
{
    graph_stage *st = graph_now(gv);
    if (gv->folding != FOLD_MODULES || !st->g) {
        return NULL;
    }
    if (!st->modules.of) {
        find_modules(gv, st);
    }
    return &st->modules;
}

void graph_drop_folds(graph_stage *st)
{
    aot_repeats_free(&st->repeats);
    st->repeats = (aot_repeats){0};
    aot_module_folds_free(&st->modules);
}

bool graph_hides_any(void *arg)
{
    return ((graph_view *)arg)->folding != FOLD_NOTHING;
}

/* The node whose line stands for a node: itself where nothing hides it. */
static aot_node_id stand_in(graph_view *gv, aot_node_id id)
{
    const aot_repeats *r = repeats(gv);
    const aot_module_folds *m = modules(gv);
    int32_t k = r ? r->of[id] : 0, shut = m ? aot_module_folds_shut(m, id) : -1;
    if (k < 0 && !r->folds.d[-k - 1].open) {
        return r->folds.d[-k - 1].first;
    }
    return shut >= 0 ? m->folds.d[shut].first : id;
}

/* A head goes with the nodes under it: the list drops one that has none left. A filter looks into
 * modules. */
bool graph_hides(void *arg, size_t row)
{
    graph_view *gv = arg;
    aot_listing_row at = aot_listing_row_at(graph_now(gv)->listing, row);
    bool looks_in = gv->folding == FOLD_MODULES && gv->nodes.filter.text;
    return !at.is_source && !looks_in && stand_in(gv, at.node) != at.node;
}

/* The closed module whose line a node's is; NULL: none. */
static const aot_module_fold *shut_at(graph_view *gv, aot_node_id id)
{
    const aot_module_folds *m = gv->nodes.filter.text ? NULL : modules(gv);
    int32_t shut = m ? aot_module_folds_shut(m, id) : -1;
    return shut >= 0 && m->folds.d[shut].first == id ? &m->folds.d[shut] : NULL;
}

/* A module's line needs no source line above it. */
bool graph_stands_alone(void *arg, size_t row)
{
    graph_view *gv = arg;
    return shut_at(gv, aot_listing_row_at(graph_now(gv)->listing, row).node) != NULL;
}

void graph_reveal(void *arg, size_t row)
{
    graph_view *gv = arg;
    aot_node_id id = aot_listing_row_at(graph_now(gv)->listing, row).node;
    const aot_repeats *r = repeats(gv);
    aot_module_folds *m = modules(gv);
    if (r && r->of[id] < 0) {
        r->folds.d[-r->of[id] - 1].open = true;
    }
    for (int32_t k = m ? m->of[id] : -1; k >= 0; k = m->folds.d[k].parent) {
        m->folds.d[k].open = true;
    }
}

/* "+ layers.0.attn   12 nodes, 3 saved: 1.2 MiB" over the line of its first node. */
static void draw_module(aot_canvas *c, int y, int x, int cols, const aot_module_fold *m)
{
    char bytes[32], text[120], count[32];
    int saved =
        snprintf(text, sizeof text, "%s nodes", aot_format_count(count, sizeof count, m->n_nodes));
    if (m->n_saved > 0) {
        snprintf(text + saved, sizeof text - (size_t)saved, ", %s saved: %s",
                 aot_format_count(count, sizeof count, m->n_saved),
                 aot_format_bytes(bytes, sizeof bytes, m->saved_bytes));
    }
    int at = x + 1 + 2 * (int)(m->depth < 8 ? m->depth : 8), w = aot_text_width(text) + 1;
    aot_canvas_field(c, y, x, cols, AOT_STYLE_NORMAL, "");
    aot_canvas_put(c, y, at, AOT_STYLE_NOTICE, "+");
    aot_canvas_field(c, y, at + 2, cols - (at - x) - 2 - w, AOT_STYLE_TITLE, m->path);
    aot_canvas_put(c, y, x + cols - w, AOT_STYLE_NOTICE, text);
}

/* At the right of a line. */
static void draw_note(aot_canvas *c, int y, int x, int cols, const char *text)
{
    aot_canvas_put(c, y, x + cols - aot_text_width(text), AOT_STYLE_NOTICE, text);
}

void graph_draw_fold(graph_view *gv, aot_canvas *c, int y, int x, int cols, aot_node_id id)
{
    const aot_repeats *r = repeats(gv);
    const aot_module_fold *shut = shut_at(gv, id);
    const aot_module_folds *m = modules(gv);
    char text[200];
    int32_t k = r ? r->of[id] : 0;
    if (shut) {
        draw_module(c, y, x, cols, shut);
    } else if (k > 0 && r->folds.d[k - 1].first == id) {
        const aot_fold *f = &r->folds.d[k - 1];
        snprintf(text, sizeof text, " %u nodes %s %u%s", f->length, c->ascii ? "x" : "×", f->times,
                 f->open ? " (open)" : "");
        draw_note(c, y, x, cols, text);
    } else if (m && m->of[id] >= 0 && m->folds.d[m->of[id]].first == id) {
        snprintf(text, sizeof text, " - %.150s", m->folds.d[m->of[id]].path);
        draw_note(c, y, x, cols, text);
    }
}

bool graph_draw_fold_brief(graph_view *gv, aot_canvas *c, int y, int cols)
{
    aot_node_id id = graph_node_now(gv);
    const aot_module_fold *m = id != AOT_NO_NODE ? shut_at(gv, id) : NULL;
    const aot_graph *g = graph_now(gv)->g;
    char bytes[32], line[600];
    if (!m) {
        return false;
    }
    int n = snprintf(line, sizeof line, "%.300s: %u nodes", m->path, m->n_nodes);
    if (m->n_saved > 0) {
        snprintf(line + n, sizeof line - (size_t)n, ", %u saved: %s", m->n_saved,
                 aot_format_bytes(bytes, sizeof bytes, m->saved_bytes));
    }
    aot_canvas_field(c, y, 1, cols - 2, AOT_STYLE_NORMAL, line);
    snprintf(line, sizeof line, "from %.250s to %.250s", aot_node_name(g, m->first),
             aot_node_name(g, m->last));
    aot_canvas_field(c, y + 1, 1, cols - 2, AOT_STYLE_DIM, line);
    return true;
}

size_t graph_fold_row(graph_view *gv, aot_node_id id)
{
    return aot_listing_row_of(graph_now(gv)->listing, stand_in(gv, id));
}

/* Lists the rows again, the cursor on a node. */
static void again(graph_view *gv, aot_node_id id)
{
    graph_stage *st = graph_now(gv);
    size_t row = id == AOT_NO_NODE ? 0 : aot_listing_row_of(st->listing, id);
    aot_list_reset(&gv->nodes, aot_listing_n_rows(st->listing), row);
}

static void say_repeats(graph_view *gv, const aot_repeats *r)
{
    uint32_t hidden = 0;
    for (size_t i = 0; i < r->folds.n; i++) {
        hidden += r->folds.d[i].length * (r->folds.d[i].times - 1);
    }
    if (r->folds.n == 0) {
        aot_app_say(gv->v->app, "Nothing repeats in this stage");
    } else {
        aot_app_say(gv->v->app,
                    "%zu repeat%s: %u nodes are folded away; + opens the one under the cursor",
                    r->folds.n, r->folds.n == 1 ? "" : "s", hidden);
    }
}

static void toggle(graph_view *gv, graph_folding to)
{
    aot_node_id id = graph_node_now(gv);
    if (gv->folding != FOLD_NOTHING && id == gv->fold_to && graph_now(gv)->g == gv->fold_graph) {
        id = gv->fold_from; // nobody went away from there meanwhile
    }
    gv->folding = gv->folding == to ? FOLD_NOTHING : to;
    gv->fold_from = id;
    gv->fold_graph = graph_now(gv)->g;
    gv->fold_to = id == AOT_NO_NODE ? id : stand_in(gv, id);
    again(gv, gv->fold_to);
    const aot_repeats *r = repeats(gv);
    const aot_module_folds *m = modules(gv);
    if (r) {
        say_repeats(gv, r);
    } else if (m && m->folds.n == 0) {
        aot_app_say(gv->v->app,
                    "No two nodes of this stage stand together in a module or function");
    } else if (m) {
        aot_app_say(gv->v->app,
                    "%zu module%s or function%s; + opens one, - closes it, / looks into all",
                    m->folds.n, m->folds.n == 1 ? "" : "s", m->folds.n == 1 ? "" : "s");
    }
}

/* Opens or closes the repeat of a node; false: it is in none. */
static bool open_repeat(graph_view *gv, aot_node_id id, bool open)
{
    const aot_repeats *r = repeats(gv);
    int32_t k = r && id != AOT_NO_NODE ? r->of[id] : 0;
    if (k == 0) {
        return false;
    }
    aot_fold *f = &r->folds.d[(k < 0 ? -k : k) - 1];
    f->open = open;
    again(gv, k < 0 && !open ? f->first : id);
    return true;
}

/* The closed module that a line stands for is opened; the one around a line is closed. */
static bool open_module(graph_view *gv, aot_node_id id, bool open)
{
    aot_module_folds *m = modules(gv);
    int32_t shut = m && id != AOT_NO_NODE ? aot_module_folds_shut(m, id) : -1;
    int32_t k = open                     ? shut
                : shut >= 0              ? m->folds.d[shut].parent
                : m && id != AOT_NO_NODE ? m->of[id]
                                         : -1;
    if (k < 0) {
        return false;
    }
    m->folds.d[k].open = open;
    again(gv, open ? id : m->folds.d[k].first);
    return true;
}

static void open_one(graph_view *gv, bool open)
{
    aot_node_id id = graph_node_now(gv);
    if (!open_repeat(gv, id, open) && !open_module(gv, id, open)) {
        aot_app_say(gv->v->app, "%s",
                    gv->folding == FOLD_REPEATS   ? "This node is in no repeat"
                    : gv->folding == FOLD_NOTHING ? "Nothing is folded: t folds repeats, w modules"
                    : open                        ? "Nothing is folded here"
                                                  : "This node is in no module");
    }
}

bool graph_fold_act(graph_view *gv, aot_action a)
{
    if (!graph_now(gv)->listing || gv->focus != PANE_NODES) {
        return false;
    }
    switch (a) {
    case AOT_ACT_FOLD: toggle(gv, FOLD_REPEATS); return true;
    case AOT_ACT_FOLD_MODULES: toggle(gv, FOLD_MODULES); return true;
    case AOT_ACT_FOLD_OPEN: open_one(gv, true); return true;
    case AOT_ACT_FOLD_CLOSE: open_one(gv, false); return true;
    default: return false;
    }
}
