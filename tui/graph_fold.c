/* Folding in the node list: layers that look the same are shown once, with their number; + and - open and
 * close the one under the cursor. */
#include <stdio.h>

#include "tui/graph_view.h"

static const aot_repeats *repeats(graph_view *gv)
{
    graph_stage *st = graph_now(gv);
    if (!st->g) {
        return NULL;
    }
    if (!st->repeats.of) {
        aot_repeats_find(&st->repeats, st->g, st->p);
    }
    return &st->repeats;
}

bool graph_hides_any(void *arg)
{
    return ((graph_view *)arg)->folding;
}

/* A head goes with the nodes under it: the list drops one that has none left. */
bool graph_hides(void *arg, size_t row)
{
    graph_view *gv = arg;
    const aot_repeats *r = gv->folding ? repeats(gv) : NULL;
    aot_listing_row at = aot_listing_row_at(graph_now(gv)->listing, row);
    int32_t k = r && !at.is_source ? r->of[at.node] : 0;
    return k < 0 && !r->folds.d[-k - 1].open;
}

void graph_draw_fold(graph_view *gv, aot_canvas *c, int y, int x, int cols, aot_node_id id)
{
    const aot_repeats *r = gv->folding ? repeats(gv) : NULL;
    int32_t k = r ? r->of[id] : 0;
    if (k > 0 && r->folds.d[k - 1].first == id) {
        const aot_fold *f = &r->folds.d[k - 1];
        char text[64];
        snprintf(text, sizeof text, " %u nodes %s %u%s", f->length, c->ascii ? "x" : "×", f->times,
                 f->open ? " (open)" : "");
        int w = aot_text_width(text);
        aot_canvas_put(c, y, x + cols - w, AOT_STYLE_NOTICE, text);
    }
}

size_t graph_fold_row(graph_view *gv, aot_node_id id)
{
    graph_stage *st = graph_now(gv);
    size_t row = aot_listing_row_of(st->listing, id);
    return graph_hides(gv, row) ? aot_listing_row_of(st->listing, st->repeats.folds.d[-st->repeats.of[id] - 1].first)
                                : row;
}

/* Lists the rows again, the cursor on a node. */
static void again(graph_view *gv, aot_node_id id)
{
    graph_stage *st = graph_now(gv);
    size_t row = id == AOT_NO_NODE ? 0 : aot_listing_row_of(st->listing, id);
    aot_list_reset(&gv->nodes, aot_listing_n_rows(st->listing), row);
}

static void toggle(graph_view *gv)
{
    gv->folding = !gv->folding;
    const aot_repeats *r = gv->folding ? repeats(gv) : NULL;
    aot_node_id id = graph_node_now(gv);
    int32_t k = r && id != AOT_NO_NODE ? r->of[id] : 0;
    uint32_t hidden = 0;
    for (size_t i = 0; r && i < r->folds.n; i++) {
        hidden += r->folds.d[i].length * (r->folds.d[i].times - 1);
    }
    again(gv, k < 0 ? r->folds.d[-k - 1].first : id);
    if (r && r->folds.n == 0) {
        aot_app_say(gv->v->app, "Nothing repeats in this stage");
    } else if (r) {
        aot_app_say(gv->v->app, "%zu repeat%s: %u nodes are folded away; + opens the one under the cursor",
                    r->folds.n, r->folds.n == 1 ? "" : "s", hidden);
    }
}

static void open_one(graph_view *gv, bool open)
{
    const aot_repeats *r = gv->folding ? repeats(gv) : NULL;
    aot_node_id id = graph_node_now(gv);
    int32_t k = r && id != AOT_NO_NODE ? r->of[id] : 0;
    if (k == 0) {
        aot_app_say(gv->v->app, gv->folding ? "This node is in no repeat" : "Nothing is folded: t folds repeats");
        return;
    }
    aot_fold *f = &r->folds.d[(k < 0 ? -k : k) - 1];
    f->open = open;
    again(gv, k < 0 && !open ? f->first : id);
}

bool graph_fold_act(graph_view *gv, aot_action a)
{
    if (!graph_now(gv)->listing || gv->focus != PANE_NODES) {
        return false;
    }
    switch (a) {
    case AOT_ACT_FOLD: toggle(gv); return true;
    case AOT_ACT_FOLD_OPEN: open_one(gv, true); return true;
    case AOT_ACT_FOLD_CLOSE: open_one(gv, false); return true;
    default: return false;
    }
}
