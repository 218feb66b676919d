/* The listing of a graph: rows are found once (a source line before the first node under it),
 * column widths too; after that each row is drawn alone, so a view of a million rows costs what it
 * shows. */
#include "viewers/ascii_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "ir/text.h"
#include "viewers/format.h"

enum { MAX_NAME = 34, MAX_TYPE = 30, MAX_OP = 30, BYTES_COLS = 10, MARK_COLS = 6 };
enum { MIN_COLS = 10, REASON_COLS = 17 }; // what a column keeps where there is little room

struct aot_listing {
    const aot_graph *g;
    const aot_partition *p;
    char side;
    unsigned flags;
    const aot_graph *cut; /* p's, which map is of; NULL */
    aot_node_id *map; /* NULL without a partition */
    AOT_VEC(aot_listing_row) rows;
    uint32_t *row_of; /* by node */
    int name_cols, type_cols, op_cols;
};

static bool has_source(const aot_graph *g, uint32_t src)
{
    const aot_src *s = &g->srcs.d[src];
    return s->file != 0 || s->code != 0;
}

static void widen(int *cols, const char *text, int max)
{
    if (*cols >= max || strlen(text) <= (size_t)*cols) { // a column takes one byte or more
        return;
    }
    int w = aot_text_width(text);
    w = w > max ? max : w;
    *cols = w > *cols ? w : *cols;
}

/* Column widths: each type and operator is written once, however many nodes have it. */
static void measure(aot_listing *l)
{
    const aot_graph *g = l->g;
    char buf[256];
    uint8_t *types = aot_xcalloc(g->ctx->metas.n + 1, 1);
    uint8_t *ops =
        l->flags & AOT_LIST_OP ? aot_xcalloc(aot_strtab_count(g->ctx->strs) + 1, 1) : NULL;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const aot_node *n = &g->nodes.d[i];
        widen(&l->name_cols, aot_node_name(g, (aot_node_id)i), MAX_NAME);
        if (!types[n->meta]) {
            types[n->meta] = 1;
            widen(&l->type_cols, aot_format_type(buf, sizeof buf, g->ctx, n->meta), MAX_TYPE);
        }
        if (ops && (!ops[n->target] || n->kind != AOT_CALL_FUNCTION)) {
            ops[n->target] |= n->kind == AOT_CALL_FUNCTION;
            widen(&l->op_cols, aot_format_op(buf, sizeof buf, g, (aot_node_id)i), MAX_OP);
        }
    }
    free(types);
    free(ops);
}

aot_listing *aot_listing_new(const aot_graph *g, const aot_partition *p, char side, unsigned flags)
{
    aot_listing *l = aot_xcalloc(1, sizeof *l);
    l->g = g;
    l->p = p;
    l->side = side;
    l->flags = flags;
    l->cut = p ? p->cut : NULL;
    l->map = aot_view_map(g, p);
    l->row_of = aot_xcalloc(g->nodes.n + 1, sizeof *l->row_of);
    uint32_t src = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const aot_node *n = &g->nodes.d[i];
        // placeholders and the output stand under no source line
        bool code = n->kind != AOT_PLACEHOLDER && n->kind != AOT_OUTPUT;
        if (code && n->src != src) {
            src = n->src;
            if (!(flags & AOT_LIST_NO_SOURCE) && has_source(g, src)) {
                aot_listing_row head = {true, (aot_node_id)i};
                aot_vec_push(&l->rows, head);
            }
        }
        l->row_of[i] = (uint32_t)l->rows.n;
        aot_listing_row row = {false, (aot_node_id)i};
        aot_vec_push(&l->rows, row);
    }
    measure(l);
    return l;
}

bool aot_listing_follow(aot_listing *l, const aot_partition *p)
{
    if ((p ? p->cut : NULL) != l->cut) {
        return false;
    }
    l->p = p;
    return true;
}

void aot_listing_free(aot_listing *l)
{
    if (l) {
        free(l->map);
        free(l->row_of);
        aot_vec_free(&l->rows);
        free(l);
    }
}

size_t aot_listing_n_rows(const aot_listing *l)
{
    return l->rows.n;
}

aot_listing_row aot_listing_row_at(const aot_listing *l, size_t i)
{
    return l->rows.d[i];
}

size_t aot_listing_row_of(const aot_listing *l, aot_node_id id)
{
    return id < l->g->nodes.n ? l->row_of[id] : 0;
}

aot_node_id aot_listing_cut_node(const aot_listing *l, aot_node_id id)
{
    return l->map && id < l->g->nodes.n ? l->map[id] : AOT_NO_NODE;
}

static void draw_source(const aot_listing *l, aot_canvas *c, int row, int col, int cols,
                        aot_node_id id)
{
    const aot_src *s = &l->g->srcs.d[aot_node_at(l->g, id)->src];
    char where[256];
    aot_sb text = {0};
    const char *code = aot_text(l->g->ctx, s->code);
    while (*code == ' ' || *code == '\t') {
        code++;
    }
    aot_sb_addf(&text, "%s   %s", aot_format_source(where, sizeof where, l->g, id), code);
    if (s->ac_graph_id >= 0) {
        aot_sb_addf(&text, "   [region %d%s%s]", s->ac_graph_id, s->policy ? " " : "",
                    aot_policy_name(s->policy));
    }
    aot_canvas_field(c, row, col, cols, AOT_STYLE_SOURCE, "");
    aot_canvas_field(c, row, col + 5, cols - 5, AOT_STYLE_SOURCE, aot_sb_text(&text));
    aot_sb_free(&text);
}

// A field clipped at the end of the listing's own columns.
static int part(aot_canvas *c, int row, int col, int end, int cols, aot_style style,
                const char *text, bool right)
{
    int room = end - col < cols ? end - col : cols;
    if (room > 0) {
        if (right) {
            aot_canvas_field_right(c, row, col, room, style, text);
        } else {
            aot_canvas_field(c, row, col, room, style, text);
        }
    }
    return col + cols;
}

// "FS", "FR", "F ", and the letters after them.
static int draw_marks(const aot_listing *l, aot_canvas *c, int row, int col, int end,
                      aot_node_id id, aot_style style)
{
    aot_node_id cut = aot_listing_cut_node(l, id);
    char side = l->side ? l->side : aot_side_mark(l->p, cut);
    bool saved = cut != AOT_NO_NODE && l->p->nodes[cut].verdict == AOT_V_SAVED;
    bool again = cut != AOT_NO_NODE && l->p->nodes[cut].verdict == AOT_V_RECOMPUTED;
    bool out = aot_node_at(l->g, id)->kind == AOT_OUTPUT;
    char letters[8];
    char text[16] = {' ', out ? ' ' : side, saved ? 'S' : again ? 'R' : ' ', 0};
    strcat(text, out ? "" : aot_mark_letters(letters, sizeof letters, l->g, id, l->p, cut));
    return part(c, row, col, end, MARK_COLS, style, text, false);
}

// Widths of name, operator and type in `cols` columns: the widest gives way first, so that bytes
// and reason stay.
static void fit_columns(const aot_listing *l, int cols, int fit[3])
{
    int fixed = MARK_COLS + 2 + 1 + BYTES_COLS + 2 + (l->map ? REASON_COLS : 0);
    fit[0] = l->name_cols;
    fit[1] = l->flags & AOT_LIST_OP ? l->op_cols : 0;
    fit[2] = l->type_cols;
    fixed += fit[1] ? 2 : 0;
    for (int over = fit[0] + fit[1] + fit[2] + fixed - cols; over > 0; over--) {
        int *widest = fit[1] >= fit[0] ? &fit[1] : &fit[0]; // of equals the type keeps its width
        widest = fit[2] > *widest ? &fit[2] : widest;
        if (*widest <= MIN_COLS) {
            break;
        }
        --*widest;
    }
}

// What stands in the columns of sizes and reasons where there is no partition to ask.
static void draw_output(const aot_listing *l, aot_canvas *c, int row, int col, int end,
                        aot_node_id id)
{
    aot_sb text = {0};
    aot_print_node(&text, l->g, id);
    for (char *p = text.d; p && *p; p++) {
        *p = *p == '\n' ? ' ' : *p;
    }
    part(c, row, col, end, end - col, AOT_STYLE_DIM, aot_sb_text(&text), false);
    aot_sb_free(&text);
}

void aot_listing_draw(const aot_listing *l, aot_canvas *c, int row, int col, int cols, size_t i)
{
    aot_listing_row r = l->rows.d[i];
    if (r.is_source) {
        draw_source(l, c, row, col, cols, r.node);
        return;
    }
    const aot_graph *g = l->g;
    const aot_node *n = aot_node_at(g, r.node);
    aot_node_id cut = aot_listing_cut_node(l, r.node);
    aot_style style = aot_class_get(aot_class_of(g, r.node, l->p, cut))->style;
    char buf[256];
    int end = col + cols, fit[3];
    fit_columns(l, cols, fit);
    aot_canvas_field(c, row, col, cols, AOT_STYLE_NORMAL, "");
    col = draw_marks(l, c, row, col, end, r.node, style);
    if (n->kind == AOT_OUTPUT) {
        draw_output(l, c, row, col, end, r.node);
        return;
    }
    col = part(c, row, col, end, fit[0], style, aot_node_name(g, r.node), false) + 2;
    if (l->flags & AOT_LIST_OP) {
        aot_format_op(buf, sizeof buf, g, r.node);
        col = part(c, row, col, end, fit[1], AOT_STYLE_NORMAL, buf, false) + 2;
    }
    aot_format_type(buf, sizeof buf, g->ctx, n->meta);
    col = part(c, row, col, end, fit[2], AOT_STYLE_TYPE, buf, false) + 1;
    int64_t bytes = aot_memory_of(g, r.node, l->p, cut);
    bool sized = aot_meta_get(g->ctx, n->meta)->val == AOT_VAL_TENSOR || bytes > 1;
    aot_format_bytes(buf, sizeof buf, bytes);
    col = part(c, row, col, end, BYTES_COLS, AOT_STYLE_BYTES, sized ? buf : "", true) + 2;
    if (cut != AOT_NO_NODE) {
        aot_reason_words(buf, sizeof buf, l->p, cut);
        part(c, row, col, end, end - col, AOT_STYLE_REASON, buf, false);
    }
}

void aot_listing_print(aot_sb *out, const aot_listing *l, int width, bool ascii, int colors)
{
    aot_canvas c;
    // source lines and reasons are the only parts without a fixed width
    aot_canvas_init(&c, 1, width > 0 ? width : 240, ascii);
    for (size_t i = 0; i < l->rows.n; i++) {
        aot_canvas_clear(&c);
        aot_listing_draw(l, &c, 0, 0, c.cols, i);
        aot_canvas_ansi(out, &c, colors);
    }
    aot_canvas_free(&c);
}
