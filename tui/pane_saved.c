/* The list of saved values (dtype and shape, bytes, name, source line, who uses it, why it is
 * saved), and the rows of the node list: the two lists of the graph view as the list widget sees
 * them. */
#include <stdlib.h>
#include <string.h>

#include "session/marks.h"
#include "tui/graph_view.h"
#include "viewers/format.h"

enum { MAX_NAME = 30, MAX_TYPE = 26, MAX_SOURCE = 28, BYTES_COLS = 10, USED_COLS = 30 };
enum { MEASURED = 4000 }; // rows that column widths are taken from

/* ---- the node list ---- */

/* The letter of the node's mark, or a sign that there is a note, in the column before the sides. */
static void draw_kept(graph_view *gv, aot_canvas *c, int y, int x, const char *name)
{
    aot_marks *k = aot_app_marks(gv->v->app);
    char sign[2] = {aot_marks_letter_of(k, gv->v->unit, name), 0};
    if (!sign[0] && aot_marks_note_of(k, gv->v->unit, name)) {
        sign[0] = '"';
    }
    if (sign[0]) {
        aot_canvas_put(c, y, x, AOT_STYLE_NOTICE, sign);
    }
}

static void draw_node(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    graph_view *gv = arg;
    const graph_stage *st = graph_now(gv);
    aot_listing_row r = aot_listing_row_at(st->listing, row);
    aot_listing_draw(st->listing, c, y, x, cols, row);
    int flip = r.is_source ? 0 : graph_flip(gv, aot_listing_cut_node(st->listing, r.node));
    if (flip != 0) {
        aot_canvas_put(c, y, x, flip > 0 ? AOT_STYLE_ADDED : AOT_STYLE_REMOVED,
                       flip > 0 ? "+" : "-");
    } else if (!r.is_source) {
        draw_kept(gv, c, y, x, aot_node_name(st->g, r.node));
    }
    if (!r.is_source) {
        graph_draw_fold(gv, c, y, x, cols, r.node);
    }
}

/* Source lines by their place and code, nodes by everything else; nodes by their place too, so that
 * a filter can keep what one line made. */
static void text_of_node(void *arg, size_t row, aot_sb *out)
{
    graph_view *gv = arg;
    const graph_stage *st = graph_now(gv);
    const aot_graph *g = st->g;
    aot_listing_row r = aot_listing_row_at(st->listing, row);
    const aot_node *n = aot_node_at(g, r.node);
    const aot_src *src = &g->srcs.d[n->src];
    char buf[256];
    if (r.is_source) {
        aot_sb_addf(out, "%s:%u ", aot_text(g->ctx, src->file), src->line);
        aot_sb_addz(out, aot_text(g->ctx, src->code));
        return;
    }
    aot_sb_addz(out, aot_node_name(g, r.node));
    aot_sb_addc(out, ' ');
    aot_sb_addz(out, aot_node_target(g, r.node));
    aot_sb_addc(out, ' ');
    aot_sb_addz(out, aot_text(g->ctx, aot_meta_get(g->ctx, n->meta)->text));
    aot_node_id cut = aot_listing_cut_node(st->listing, r.node);
    if (st->p && cut != AOT_NO_NODE) {
        aot_sb_addc(out, ' ');
        aot_sb_addz(out, aot_verdict_name((aot_verdict)st->p->nodes[cut].verdict));
        aot_sb_addc(out, ' ');
        aot_sb_addz(out, aot_reason_words(buf, sizeof buf, st->p, cut));
    }
    if (src->file) {
        aot_sb_addc(out, ' ');
        aot_sb_addz(out, aot_format_source(buf, sizeof buf, g, r.node));
    }
}

static bool is_head(void *arg, size_t row)
{
    graph_view *gv = arg;
    return aot_listing_row_at(graph_now(gv)->listing, row).is_source;
}

/* As the listing shows it. */
static int64_t bytes_of(const graph_stage *st, size_t row)
{
    aot_node_id id = aot_listing_row_at(st->listing, row).node;
    aot_node_id cut = aot_listing_cut_node(st->listing, id);
    return aot_memory_of(st->g, id, st->p, cut);
}

static const char *const node_columns[] = {"program order", "bytes", "name", "users", NULL};

static int compare_nodes(void *arg, int column, size_t a, size_t b)
{
    graph_view *gv = arg;
    const graph_stage *st = graph_now(gv);
    aot_node_id na = aot_listing_row_at(st->listing, a).node;
    aot_node_id nb = aot_listing_row_at(st->listing, b).node;
    int64_t x = 0, y = 0;
    switch (column) {
    case 1: x = bytes_of(st, b), y = bytes_of(st, a); break; // the largest first
    case 2: {
        bool end_a = aot_node_at(st->g, na)->kind == AOT_OUTPUT;
        bool end_b = aot_node_at(st->g, nb)->kind == AOT_OUTPUT;
        int names =
            strverscmp(aot_node_name(st->g, na), aot_node_name(st->g, nb)); // x_2 before x_10
        // the return line is no value: it stays at the end
        return end_a == end_b ? names : end_a != gv->nodes.descending ? 1 : -1;
    }
    case 3: x = aot_n_users(st->g, nb), y = aot_n_users(st->g, na); break;
    default: break;
    }
    return (x > y) - (x < y);
}

const aot_list_ops graph_nodes_ops = {
    .draw = draw_node,
    .text = text_of_node,
    .is_head = is_head,
    .hides = graph_hides,
    .hides_any = graph_hides_any,
    .reveal = graph_reveal,
    .stands_alone = graph_stands_alone,
    .select = graph_nodes_select,
    .selects = graph_nodes_selects,
    .columns = node_columns,
    .compare = compare_nodes,
};

/* ---- the saved list ---- */

aot_node_id graph_saved_node(const graph_view *gv, size_t row)
{
    const aot_partition *p = gv->part;
    uint32_t i = gv->saved_order[row];
    return i < p->n_saved ? p->saved[i] : p->saved_sym[i - p->n_saved];
}

/* An input, or a view of one: the forward holds its memory with or without the backward. */
static bool held_anyway(const aot_graph *g, aot_node_id id)
{
    for (aot_node_id base; (base = aot_view_base(g, id)) != AOT_NO_NODE && base < id;) {
        id = base;
    }
    return aot_node_at(g, id)->kind == AOT_PLACEHOLDER;
}

void graph_order_saved(graph_view *gv)
{
    const aot_partition *p = gv->part;
    uint32_t n = 0, all = p ? p->n_saved + p->n_saved_sym : 0;
    gv->saved_order = aot_xcalloc((size_t)all + 1, sizeof *gv->saved_order);
    for (int held = 0; p && held < 2; held++) {
        for (uint32_t i = 0; i < p->n_saved; i++) {
            if (held_anyway(p->cut, p->saved[i]) == (held == 1)) {
                gv->saved_order[n++] = i;
            }
        }
    }
    for (uint32_t i = n; i < all; i++) {
        gv->saved_order[i] = i;
    }
}

/* "gelu_backward, mm_3": users in the cut graph that the backward runs. */
static void used_by(aot_sb *out, const aot_partition *p, aot_node_id id)
{
    const aot_graph *g = p->cut;
    if (!g->user_off) {
        return;
    }
    uint32_t n = aot_n_users(g, id);
    unsigned shown = 0, more = 0;
    for (uint32_t i = 0; i < n && i < 200; i++) {
        aot_node_id user = g->user[g->user_off[id] + i];
        uint8_t v = p->nodes[user].verdict;
        if (v != AOT_V_BACKWARD_ONLY && v != AOT_V_RECOMPUTED) {
            continue;
        }
        if (shown < 3) {
            aot_sb_addz(out, shown++ ? ", " : "");
            aot_sb_addz(out, aot_node_name(g, user));
        } else {
            more++;
        }
    }
    if (more) {
        aot_sb_addf(out, " +%u", more);
    }
}


static void measure(graph_view *gv)
{
    const aot_partition *p = gv->part;
    char buf[256];
    size_t n = p->n_saved + p->n_saved_sym;
    int name = 8, type = 10, source = 8;
    for (size_t i = 0; i < n && i < MEASURED; i++) {
        aot_node_id id = graph_saved_node(gv, i);
        int w = aot_text_width(aot_node_name(p->cut, id)) + (graph_flip(gv, id) > 0);
        name = w > name ? w : name;
        w = aot_text_width(
            aot_format_type(buf, sizeof buf, p->cut->ctx, aot_node_at(p->cut, id)->meta));
        type = w > type ? w : type;
        w = aot_text_width(aot_format_source(buf, sizeof buf, p->cut, id));
        source = w > source ? w : source;
    }
    gv->saved_name_cols = name > MAX_NAME ? MAX_NAME : name;
    gv->saved_type_cols = type > MAX_TYPE ? MAX_TYPE : type;
    gv->saved_source_cols = source > MAX_SOURCE ? MAX_SOURCE : source;
}

/* A field of w columns that ends with the pane; returns where the next one starts. */
static int column(aot_canvas *c, int y, int x, int end, int w, aot_style style, const char *text,
                  bool right)
{
    int room = end - x < w ? end - x : w;
    if (room > 0 && right) {
        aot_canvas_field_right(c, y, x, room, style, text);
    } else if (room > 0) {
        aot_canvas_field(c, y, x, room, style, text);
    }
    return x + w + 2;
}

/* The same columns for a row and for the head. Narrow panes leave out the source line. */
static void columns(graph_view *gv, aot_canvas *c, int y, int x, int cols,
                    const char *const text[6], const aot_style style[6])
{
    int end = x + cols;
    bool wide = cols >= 100;
    x = column(c, y, x, end, gv->saved_type_cols, style[0], text[0], false);
    x = column(c, y, x, end, BYTES_COLS, style[1], text[1], true);
    x = column(c, y, x, end, gv->saved_name_cols, style[2], text[2], false);
    if (wide) {
        x = column(c, y, x, end, gv->saved_source_cols, style[3], text[3], false);
        x = column(c, y, x, end, USED_COLS, style[4], text[4], false);
    }
    column(c, y, x, end, end - x, style[5], text[5], false);
}

static void draw_saved(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    static const aot_style styles[6] = {AOT_STYLE_TYPE,   AOT_STYLE_BYTES,  AOT_STYLE_SAVED,
                                        AOT_STYLE_SOURCE, AOT_STYLE_NORMAL, AOT_STYLE_REASON};
    graph_view *gv = arg;
    const aot_partition *p = gv->part;
    aot_node_id id = graph_saved_node(gv, row);
    char type[256], bytes[32], source[256], why[256];
    aot_sb used = {0}, name = {0};
    used_by(&used, p, id);
    aot_sb_addf(&name, "%s%s", graph_flip(gv, id) > 0 ? "+" : "", aot_node_name(p->cut, id));
    const char *text[6] = {
        aot_format_type(type, sizeof type, p->cut->ctx, aot_node_at(p->cut, id)->meta),
        aot_format_bytes(bytes, sizeof bytes, p->nodes[id].bytes),
        aot_sb_text(&name),
        aot_format_source(source, sizeof source, p->cut, id),
        aot_sb_text(&used),
        aot_reason_words(why, sizeof why, p, id),
    };
    columns(gv, c, y, x, cols, text, styles);
    aot_sb_free(&name);
    aot_sb_free(&used);
}

static void text_of_saved(void *arg, size_t row, aot_sb *out)
{
    graph_view *gv = arg;
    const aot_partition *p = gv->part;
    aot_node_id id = graph_saved_node(gv, row);
    char buf[256];
    aot_sb_addf(out, "%s ", aot_node_name(p->cut, id));
    aot_sb_addz(out, aot_format_type(buf, sizeof buf, p->cut->ctx, aot_node_at(p->cut, id)->meta));
    aot_sb_addf(out, " %s ", aot_format_source(buf, sizeof buf, p->cut, id));
    aot_sb_addz(out, aot_reason_words(buf, sizeof buf, p, id));
    aot_sb_addc(out, ' ');
    used_by(out, p, id);
}

static const char *const saved_columns[] = {"new memory first", "bytes", "name", "line", "operator",
                                            "region", "uses", "reason", "PyTorch's order", NULL};
enum { BY_BYTES = 1, BY_NAME, BY_LINE, BY_OP, BY_REGION, BY_USES, BY_REASON, BY_PLACE };

static int order_of(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static int by_line(const aot_graph *g, const aot_src *x, const aot_src *y)
{
    int files = strcmp(aot_text(g->ctx, x->file), aot_text(g->ctx, y->file));
    return files ? files : order_of(x->line, y->line);
}

static int by_words(const aot_partition *p, int column, aot_node_id x, aot_node_id y)
{
    char a[512], b[512];
    if (column == BY_OP) {
        return strcmp(aot_format_op(a, sizeof a, p->cut, x), aot_format_op(b, sizeof b, p->cut, y));
    }
    return strcmp(aot_reason_words(a, sizeof a, p, x), aot_reason_words(b, sizeof b, p, y));
}

static int compare_saved(void *arg, int column, size_t a, size_t b)
{
    graph_view *gv = arg;
    const aot_partition *p = gv->part;
    aot_node_id x = graph_saved_node(gv, a), y = graph_saved_node(gv, b);
    const aot_src *sx = &p->cut->srcs.d[aot_node_at(p->cut, x)->src];
    const aot_src *sy = &p->cut->srcs.d[aot_node_at(p->cut, y)->src];
    switch (column) {
    case BY_PLACE: return order_of(gv->saved_order[a], gv->saved_order[b]);
    case BY_BYTES: return order_of(p->nodes[y].bytes, p->nodes[x].bytes); // the largest first
    case BY_USES: return order_of(aot_n_users(p->cut, y), aot_n_users(p->cut, x));
    case BY_NAME: return strverscmp(aot_node_name(p->cut, x), aot_node_name(p->cut, y));
    case BY_REGION: return order_of(sx->ac_graph_id, sy->ac_graph_id);
    case BY_LINE: return by_line(p->cut, sx, sy);
    case BY_OP:
    case BY_REASON: return by_words(p, column, x, y);
    default: return 0;
    }
}

const aot_list_ops graph_saved_ops = {
    .draw = draw_saved,
    .text = text_of_saved,
    .select = graph_saved_select,
    .selects = graph_saved_selects,
    .columns = saved_columns,
    .compare = compare_saved,
};

void graph_draw_saved(graph_view *gv, aot_canvas *c, int y, int x, int rows, int cols)
{
    static const char *const titles[6] = {"type", "bytes", "value", "source", "used by", "why"};
    static const aot_style dim[6] = {AOT_STYLE_DIM, AOT_STYLE_DIM, AOT_STYLE_DIM,
                                     AOT_STYLE_DIM, AOT_STYLE_DIM, AOT_STYLE_DIM};
    if (!gv->part) {
        aot_lines_draw_text(c, y, x + 1, rows, cols - 2, AOT_STYLE_NOTICE,
                            gv->part_err.msg[0] ? gv->part_err.msg : "There is no partition.");
        return;
    }
    if (gv->part->n_saved + gv->part->n_saved_sym == 0) {
        aot_canvas_put(c, y, x + 2, AOT_STYLE_NORMAL,
                       "The forward saves nothing for the backward.");
        return;
    }
    if (gv->saved_name_cols == 0) {
        measure(gv);
    }
    int head = rows >= 3;
    if (head) {
        columns(gv, c, y, x + 1, cols - 1, titles, dim);
    }
    aot_list_draw(&gv->saved, c, y + head, x, rows - head, cols, gv->focus == PANE_SAVED);
}
