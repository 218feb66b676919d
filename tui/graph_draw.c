/* How the main screen is laid out: a bar of stages; below it the nodes of the stage, the selected
 * node in detail, and the saved values. What fits is shown side by side; a narrow screen shows two
 * lines about the node, and Tab brings a hidden pane in front.
 *
 *   graph ------------------+ node ---------      80 x 24:  graph
 *   nodes                   | details                       nodes
 *   saved ------------------+---------------                two lines about the node */
#include "tui/graph_view.h"
#include "session/saved.h"
#include "viewers/format.h"

enum { SIDE_MIN_COLS = 110, SAVED_MIN_ROWS = 34 };
enum { LIST_COLS = 80, SIDE_COLS = 40 }; // what the nodes want beside the pane, what the pane needs

/* "── saved: 14 values, 1.31 MiB ────── match 1/3 ──": the line above a pane. */
static void head_line(aot_canvas *c, int y, int x, int cols, bool focused, const char *text,
                      const char *note)
{
    int w = *note ? aot_text_width(note) + 2 : 0;
    if (focused) { // a double line, so that it is seen without colours too
        aot_canvas_fill(c, y, x, cols, c->ascii ? '=' : 0x2550, AOT_STYLE_TITLE);
    } else {
        aot_canvas_hline(c, y, x, cols, AOT_STYLE_BORDER);
    }
    aot_sb sb = {0};
    aot_sb_addc(&sb, ' ');
    aot_text_fit(&sb, text, cols - 6 - (w ? w + 2 : 0), c->ascii);
    aot_sb_addc(&sb, ' ');
    aot_canvas_put(c, y, x + 2, focused ? AOT_STYLE_TITLE : AOT_STYLE_BOLD, aot_sb_text(&sb));
    if (w && w + 4 < cols) {
        aot_canvas_putf(c, y, x + cols - w - 2, AOT_STYLE_NOTICE, " %s ", note);
    }
    aot_sb_free(&sb);
}

static void list_note(const aot_list *l, aot_sb *out)
{
    aot_list_status(l, out);
    if (l->column > 0 || l->descending) {
        aot_sb_addf(out, "%sby %s%s", out->n ? "  " : "", l->ops->columns[l->column],
                    l->descending ? ", reversed" : "");
    }
}

/* Reverses the lines of the range that is being chosen. */
static void draw_range(graph_view *gv, aot_canvas *c, int y, int x, int rows, int cols)
{
    size_t from, to, top = gv->nodes.top;
    if (gv->range) {
        graph_range(gv, &from, &to);
        for (size_t pos = from > top ? from : top; pos <= to && pos < top + (size_t)rows; pos++) {
            aot_canvas_select(c, y + (int)(pos - top), x, cols);
        }
    }
}

static void draw_nodes(graph_view *gv, aot_canvas *c, int y, int x, int rows, int cols)
{
    graph_stage *st = graph_now(gv);
    const aot_stage_info *info = aot_stage_get(gv->v->stage);
    const aot_stage_status *status = &gv->status[gv->v->stage];
    aot_sb text = {0}, note = {0};
    aot_sb_addz(&text, info->name);
    for (size_t i = 0; i < gv->subs.n; i++) {
        const aot_graph *g = gv->subs.d[i].at.g;
        aot_sb_addf(&text, " > %s", aot_text(g->ctx, g->attr_name));
    }
    bool shows_text = graph_shows_text(gv);
    if (st->g || shows_text) {
        aot_sb_addf(&text, ": %s", info->sentence);
        if (status->origin == AOT_ORIGIN_DERIVED) {
            aot_sb_addf(&text,
                        status->same_as ? " (derived; changed nothing: the same as %s)"
                                        : " (derived)",
                        status->same_as);
        }
        list_note(shows_text ? &gv->runtime.list : &gv->nodes, &note);
    }
    head_line(c, y, x, cols, gv->focus == PANE_NODES, aot_sb_text(&text), aot_sb_text(&note));
    aot_sb_free(&text);
    aot_sb_free(&note);
    if (shows_text) {
        aot_list_draw(&gv->runtime.list, c, y + 1, x, rows - 1, cols, gv->focus == PANE_NODES);
    } else if (!st->g) {
        graph_draw_missing(gv, c, y + 1, x, rows - 1, cols);
    } else if (st->g->nodes.n == 0) {
        aot_canvas_put(c, y + 2, x + 2, AOT_STYLE_NORMAL, "This graph has no nodes.");
    } else if (aot_list_n_shown(&gv->nodes) == 0 && gv->nodes.filtered >= gv->nodes.n) {
        aot_canvas_put(c, y + 2, x + 2, AOT_STYLE_NOTICE,
                       "No node matches the filter; Esc drops it.");
    } else {
        graph_fit_listing(gv, cols - 1);
        aot_list_draw(&gv->nodes, c, y + 1, x, rows - 1, cols, gv->focus == PANE_NODES);
        draw_range(gv, c, y + 1, x, rows - 1, cols);
    }
}

static void draw_node_pane(graph_view *gv, aot_canvas *c, int y, int x, int rows, int cols)
{
    graph_fill_node(gv, cols - 2);
    graph_stage *st = graph_now(gv);
    aot_node_id id = graph_node_now(gv);
    aot_sb note = {0};
    list_note(&gv->node.list, &note);
    head_line(c, y, x, cols, gv->focus == PANE_NODE,
              id == AOT_NO_NODE ? "node" : aot_node_name(st->g, id), aot_sb_text(&note));
    aot_sb_free(&note);
    if (gv->node.rows.n == 0) {
        aot_canvas_put(c, y + 1, x + 2, AOT_STYLE_DIM, "Nothing is selected.");
        return;
    }
    aot_list_draw(&gv->node.list, c, y + 1, x, rows - 1, cols, gv->focus == PANE_NODE);
}

static void draw_saved_pane(graph_view *gv, aot_canvas *c, int y, int x, int rows, int cols)
{
    aot_sb text = {0}, note = {0};
    char buf[64];
    const aot_partition *p = graph_partition(gv);
    if (p) {
        uint32_t n = p->n_saved; // symbols are named apart
        aot_sb_addf(&text, "saved: %u value%s, %s", n, n == 1 ? "" : "s",
                    aot_saved_text(p, buf, sizeof buf));
        if (gv->n_new + gv->n_gone) {
            aot_sb_addf(&text, " (%u new, %u no longer)", gv->n_new, gv->n_gone);
        }
        if (p->saved_new_bytes != aot_saved_tensor_bytes(p)) {
            aot_sb_addf(&text, ", %s of it new memory",
                        aot_format_bytes(buf, sizeof buf, p->saved_new_bytes));
        }
    } else {
        aot_sb_addz(&text, "saved: none known");
    }
    list_note(&gv->saved, &note);
    head_line(c, y, x, cols, gv->focus == PANE_SAVED, aot_sb_text(&text), aot_sb_text(&note));
    graph_draw_saved(gv, c, y + 1, x, rows - 1, cols);
    aot_sb_free(&text);
    aot_sb_free(&note);
}

/* One pane alone on a narrow screen: what is focused, and the saved list below if asked for. */
static void draw_narrow(graph_view *gv, aot_canvas *c, int y, int rows)
{
    bool saved = gv->focus == PANE_SAVED || (gv->saved_asked && gv->want_saved);
    gv->visible[PANE_NODE] = gv->focus == PANE_NODE;
    gv->visible[PANE_NODES] = !gv->visible[PANE_NODE];
    gv->visible[PANE_SAVED] = saved && !gv->visible[PANE_NODE];
    if (gv->visible[PANE_NODE]) {
        draw_node_pane(gv, c, y, 0, rows, c->cols);
        return;
    }
    int low = gv->visible[PANE_SAVED] ? rows * 2 / 5 : 0;
    int brief = rows >= 14 && graph_now(gv)->g ? 3 : 0;
    draw_nodes(gv, c, y, 0, rows - low - brief, c->cols);
    if (brief) {
        aot_canvas_hline(c, y + rows - low - brief, 0, c->cols, AOT_STYLE_BORDER);
        graph_draw_brief(gv, c, y + rows - low - brief + 1, c->cols);
    }
    if (low) {
        draw_saved_pane(gv, c, y + rows - low, 0, low, c->cols);
    }
}

static void draw_wide(graph_view *gv, aot_canvas *c, int y, int rows)
{
    int side = c->cols * 2 / 5, least = c->cols - LIST_COLS - 1;
    side = side > least ? (least > SIDE_COLS ? least : SIDE_COLS) : side > 84 ? 84 : side;
    bool saved = gv->focus == PANE_SAVED ||
                 (gv->saved_asked ? gv->want_saved : rows >= SAVED_MIN_ROWS && gv->part);
    int low = saved ? (rows >= 48 ? 16 : rows / 3) : 0, up = rows - low, left = c->cols - side - 1;
    gv->visible[PANE_NODES] = gv->visible[PANE_NODE] = true;
    gv->visible[PANE_SAVED] = saved;
    draw_nodes(gv, c, y, 0, up, left);
    aot_canvas_vline(c, y, left, up, AOT_STYLE_BORDER);
    draw_node_pane(gv, c, y, left + 1, up, side);
    aot_canvas_put(c, y, left, AOT_STYLE_BORDER, c->ascii ? "+" : "┬");
    if (saved) {
        draw_saved_pane(gv, c, y + up, 0, low, c->cols);
        aot_canvas_put(c, y + up, left, AOT_STYLE_BORDER, c->ascii ? "+" : "┴");
    }
}

void graph_draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    graph_view *gv = v->state;
    graph_draw_bar(gv, c, y);
    graph_now(gv);
    if (graph_shows_text(gv)) { // there are no nodes to show beside it
        gv->focus = PANE_NODES;
        gv->visible[PANE_NODES] = true;
        gv->visible[PANE_NODE] = gv->visible[PANE_SAVED] = false;
        draw_nodes(gv, c, y + 1, 0, rows - 1, c->cols);
    } else if (c->cols >= SIDE_MIN_COLS) {
        draw_wide(gv, c, y + 1, rows - 1);
    } else {
        draw_narrow(gv, c, y + 1, rows - 1);
    }
}
