/* Rows of a comparison of two graphs. The match is made once, the rows anew when the context is
 * switched; a line's text is printed when it is drawn, and what differs in it found then. */
#include "tui/diff_lines.h"

#include <ctype.h>
#include <string.h>

#include "ir/text.h"

enum { CONTEXT = 3, MAX_TOKENS = 400 };

/* ---- rows ---- */

static void push_row(diff_lines *d, uint32_t edit, row_part part, uint32_t n)
{
    aot_vec_push(&d->rows, ((diff_row){edit, n, part}));
}

static void push_edit(diff_lines *d, uint32_t i)
{
    aot_edit_kind kind = (aot_edit_kind)d->edits.d[i].kind;
    if (d->sides || kind == AOT_EDIT_SAME) {
        push_row(d, i, ROW_BOTH, 1);
        return;
    }
    if (kind != AOT_EDIT_ADDED) {
        push_row(d, i, ROW_OLD, 1);
    }
    if (kind != AOT_EDIT_REMOVED) {
        push_row(d, i, ROW_NEW, 1);
    }
}

static bool is_change(const diff_lines *d, uint32_t i)
{
    return d->edits.d[i].kind != AOT_EDIT_SAME;
}

/* Makes the rows; the cursor stays on its edit, or goes to the first change. */
static void make_rows(diff_lines *d)
{
    uint32_t at = aot_list_row(&d->list), n = (uint32_t)d->edits.n, row = 0;
    uint32_t edit = at != AOT_NO_ROW && at < d->rows.n ? d->rows.d[at].edit : AOT_NO_ROW;
    uint32_t last = AOT_NO_ROW, next = 0; // changes before and after i
    bool found = false, all = d->all || aot_diff_is_same(&d->counts);
    d->rows.n = 0;
    for (uint32_t i = 0, hidden = 0; i < n; i++) {
        next = next < i ? i : next;
        while (next < n && !is_change(d, next)) {
            next++;
        }
        last = is_change(d, i) ? i : last;
        bool near = all || (last != AOT_NO_ROW && i - last <= CONTEXT) ||
                    (next < n && next - i <= CONTEXT);
        hidden = near ? hidden : hidden + 1;
        if (hidden > 0 && (near || i + 1 == n)) {
            push_row(d, i - hidden + !near, ROW_GAP, hidden);
            hidden = 0;
        }
        if (!near) {
            continue;
        }
        bool here = edit == AOT_NO_ROW ? is_change(d, i) : i >= edit;
        if (here && !found) {
            row = (uint32_t)d->rows.n;
            found = true;
        }
        push_edit(d, i);
    }
    aot_list_reset(&d->list, d->rows.n, row);
}

/* ---- a line ---- */

typedef struct token {
    const char *s;
    uint32_t n;
} token;

static uint32_t split(const char *s, token *out)
{
    uint32_t n = 0;
    while (*s && n < MAX_TOKENS) {
        const char *from = s++;
        while ((isalnum((unsigned char)*from) || *from == '_') &&
               (isalnum((unsigned char)*s) || *s == '_')) {
            s++;
        }
        out[n++] = (token){from, (uint32_t)(s - from)};
    }
    return n;
}

static bool same_token(token a, token b)
{
    return a.n == b.n && memcmp(a.s, b.s, a.n) == 0;
}

/* Appends text with \1 before and \2 behind what other has not: place by place if both have as many
 * words, else what is between the common begin and end. */
static void mark_changes(aot_sb *out, const char *text, const char *other)
{
    token a[MAX_TOKENS], b[MAX_TOKENS];
    uint32_t n = split(text, a), m = split(other, b), begin = 0, end = 0;
    while (begin < n && begin < m && same_token(a[begin], b[begin])) {
        begin++;
    }
    while (end < n - begin && end < m - begin && same_token(a[n - 1 - end], b[m - 1 - end])) {
        end++;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool differs = n == m ? !same_token(a[i], b[i]) : i >= begin && i < n - end;
        if (differs) {
            aot_sb_addc(out, '\1');
        }
        aot_sb_add(out, a[i].s, a[i].n);
        if (differs) {
            aot_sb_addc(out, '\2');
        }
    }
}

/* A statement as it is shown: what is done first, its type last, as the type is long and seldom
 * what changed. "add: "f32[2]" = torch.ops.aten.add.Tensor(a, b)" is "add = aten.add.Tensor(a, b)
 * f32[2]". */
static void print(aot_sb *out, aot_sb *scratch, const aot_graph *g, aot_node_id id)
{
    static const char ops[] = "torch.ops.";
    aot_sb_clear(out);
    aot_sb_clear(scratch);
    if (id == AOT_NO_NODE) {
        return;
    }
    aot_print_node(scratch, g, id);
    const char *text = aot_sb_text(scratch), *type = strstr(text, ": \""),
               *does = strstr(text, " = ");
    if (type && does && type > does) {
        type = NULL;
    }
    aot_sb_add(out, text, (size_t)((type ? type : does ? does : text + strlen(text)) - text));
    if (does) {
        does += strlen(" = ");
        does += aot_starts_with(does, ops) ? sizeof ops - 1 : 0;
        aot_sb_addf(out, " = %s", does);
    }
    if (type) {
        type += strlen(": \"");
        aot_sb_addz(out, "  ");
        aot_sb_add(out, type, strcspn(type, "\""));
    }
}

/* Draws a text with the marks of mark_changes, shifted and cut to the field. */
static void draw_marked(const diff_lines *d, aot_canvas *c, int y, int x, int cols,
                        const char *text, aot_style plain, aot_style marked)
{
    int skip = d->list.shift, at = 0;
    aot_style style = plain;
    while (*text && at < cols) {
        const char *from = text;
        uint32_t ch = aot_utf8_next(&text);
        if (ch <= 2) {
            style = ch == 1 ? marked : plain;
            continue;
        }
        int w = aot_char_width(ch);
        if (skip > 0) {
            skip -= w;
            continue;
        }
        char one[8] = {0};
        memcpy(one, from, (size_t)(text - from) < sizeof one ? (size_t)(text - from) : 0);
        bool last = at + w >= cols && *text;
        aot_canvas_put(c, y, x + at, style, last ? "…" : one);
        at += w;
    }
}

static void draw_side(diff_lines *d, aot_canvas *c, int y, int x, int cols, const aot_edit *e,
                      bool old)
{
    aot_edit_kind kind = (aot_edit_kind)e->kind;
    aot_style plain = kind == AOT_EDIT_ADDED     ? AOT_STYLE_ADDED
                      : kind == AOT_EDIT_REMOVED ? AOT_STYLE_REMOVED
                                                 : AOT_STYLE_NORMAL;
    print(&d->old_text, &d->scratch, d->ga, e->a);
    print(&d->new_text, &d->scratch, d->gb, e->b);
    const char *text = aot_sb_text(old ? &d->old_text : &d->new_text);
    if (kind != AOT_EDIT_CHANGED) {
        draw_marked(d, c, y, x, cols, text, plain, plain);
        return;
    }
    aot_sb marked = {0};
    mark_changes(&marked, text, aot_sb_text(old ? &d->new_text : &d->old_text));
    draw_marked(d, c, y, x, cols, aot_sb_text(&marked), plain,
                old ? AOT_STYLE_REMOVED : AOT_STYLE_ADDED);
    aot_sb_free(&marked);
}

/* " (was mm_3)" behind a node that is the same under another name. */
static void draw_same(diff_lines *d, aot_canvas *c, int y, int x, int cols, const aot_edit *e)
{
    const char *was = aot_node_name(d->ga, e->a), *is = aot_node_name(d->gb, e->b);
    print(&d->new_text, &d->scratch, d->gb, e->b);
    int w = aot_text_width(aot_sb_text(&d->new_text)) - d->list.shift;
    draw_marked(d, c, y, x, cols, aot_sb_text(&d->new_text), AOT_STYLE_NORMAL, AOT_STYLE_NORMAL);
    if (strcmp(was, is) != 0 && w + 10 + aot_text_width(was) < cols && w > 0) {
        aot_canvas_putf(c, y, x + w + 2, AOT_STYLE_DIM, "(was %s)", was);
    }
}

static void draw_two(diff_lines *d, aot_canvas *c, int y, int x, int cols, const aot_edit *e)
{
    static const char *const signs[] = {" ", "~", "-", "+"};
    static const aot_style styles[] = {AOT_STYLE_NORMAL, AOT_STYLE_BOLD, AOT_STYLE_REMOVED,
                                       AOT_STYLE_ADDED};
    int left = (cols - 3) / 2;
    if (e->a != AOT_NO_NODE) {
        draw_side(d, c, y, x, left, e, true);
    }
    aot_canvas_put(c, y, x + left + 1, styles[e->kind], signs[e->kind]);
    if (e->b != AOT_NO_NODE) {
        draw_side(d, c, y, x + left + 3, cols - left - 3, e, false);
    }
}

static void draw_row(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    diff_lines *d = arg;
    const diff_row *r = &d->rows.d[row];
    const aot_edit *e = &d->edits.d[r->edit];
    if (r->part == ROW_GAP) {
        aot_canvas_putf(c, y, x + 3, AOT_STYLE_DIM, "%s %u the same", c->ascii ? "..." : "⋯", r->n);
    } else if (d->sides) {
        draw_two(d, c, y, x, cols, e);
    } else if (r->part == ROW_BOTH) {
        draw_same(d, c, y, x + 3, cols - 3, e);
    } else {
        bool old = r->part == ROW_OLD;
        aot_style style = old ? AOT_STYLE_REMOVED : AOT_STYLE_ADDED;
        aot_canvas_put(c, y, x, AOT_STYLE_BOLD, e->kind == AOT_EDIT_CHANGED ? "~" : " ");
        aot_canvas_put(c, y, x + 1, style, old ? "-" : "+");
        draw_side(d, c, y, x + 3, cols - 3, e, old);
    }
}

static void text_of_row(void *arg, size_t row, aot_sb *out)
{
    diff_lines *d = arg;
    const diff_row *r = &d->rows.d[row];
    const aot_edit *e = &d->edits.d[r->edit];
    if (r->part == ROW_GAP) {
        return;
    }
    if (r->part != ROW_NEW && e->a != AOT_NO_NODE) {
        aot_print_node(out, d->ga, e->a);
    }
    if (r->part != ROW_OLD && e->b != AOT_NO_NODE) {
        aot_sb_addz(out, out->n ? " " : "");
        aot_print_node(out, d->gb, e->b);
    }
}

static bool is_gap(void *arg, size_t row)
{
    return ((diff_lines *)arg)->rows.d[row].part == ROW_GAP;
}

static const aot_list_ops list_ops = {.draw = draw_row, .text = text_of_row, .is_head = is_gap};

/* The next run of changes: a run begins where the row before is none. */
bool diff_lines_next(diff_lines *d, int dir)
{
    size_t n = aot_list_n_shown(&d->list), pos = d->list.cursor;
    bool left_run = false;
    for (size_t k = pos; k < n;
         k += (size_t)dir) { // backwards it ends at 0 - 1; none are shown: at once
        uint32_t row = d->list.mapped ? d->list.shown.d[k] : (uint32_t)k;
        const diff_row *r = &d->rows.d[row];
        bool change = r->part != ROW_GAP && is_change(d, r->edit);
        if (change && left_run) {
            while (dir < 0 && k > 0) { // to where the run begins
                uint32_t before = d->list.mapped ? d->list.shown.d[k - 1] : (uint32_t)(k - 1);
                const diff_row *q = &d->rows.d[before];
                if (q->part == ROW_GAP || !is_change(d, q->edit)) {
                    break;
                }
                k--;
            }
            size_t third = (size_t)d->list.height / 3;
            d->list.cursor = k;
            if (k < d->list.top || k > d->list.top + 2 * third) { // with what follows in sight
                d->list.top = k > third ? k - third : 0;
            }
            return true;
        }
        left_run = left_run || !change;
    }
    return false;
}

/* ---- the whole ---- */

void diff_lines_init(diff_lines *d)
{
    *d = (diff_lines){0};
    aot_list_init(&d->list, &list_ops, d);
}

void diff_lines_done(diff_lines *d)
{
    if (d->list.ops) {
        aot_list_done(&d->list);
    }
    aot_vec_free(&d->edits);
    aot_vec_free(&d->rows);
    aot_sb_free(&d->old_text);
    aot_sb_free(&d->new_text);
    aot_sb_free(&d->scratch);
}

void diff_lines_set(diff_lines *d, const aot_graph *a, const aot_graph *b)
{
    d->ga = a;
    d->gb = b;
    d->edits.n = d->rows.n = 0;
    d->counts = (aot_diff_counts){0};
    if (a && b) {
        d->counts = aot_graph_diff(&d->edits, a, b);
    }
    d->list.cursor = 0;
    make_rows(d);
}

void diff_lines_show(diff_lines *d, bool all, bool sides)
{
    if (d->all != all || d->sides != sides) {
        d->all = all;
        d->sides = sides;
        make_rows(d);
    }
}

aot_node_id diff_lines_node(const diff_lines *d, bool *old)
{
    uint32_t row = aot_list_row(&d->list);
    if (row == AOT_NO_ROW || d->rows.d[row].part == ROW_GAP) {
        return AOT_NO_NODE;
    }
    const aot_edit *e = &d->edits.d[d->rows.d[row].edit];
    *old = e->b == AOT_NO_NODE || d->rows.d[row].part == ROW_OLD;
    return *old ? e->a : e->b;
}

void diff_lines_text(const diff_lines *d, aot_sb *out)
{
    uint32_t row = aot_list_row(&d->list);
    if (row != AOT_NO_ROW) {
        text_of_row((void *)(uintptr_t)d, row, out);
    }
}
