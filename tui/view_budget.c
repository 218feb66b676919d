/* The memory budget as a slider: at each place what is saved, what that costs, and which values
 * flip to the next place where anything does; above them the curve, found while no key waits. Enter
 * sets the budget as an edit of the unit.
 *
 *    budget 0.43  0 ====================o------------------------------ 1   now 1.00
 *    saved 1.20 MiB · peak 3.40 MiB · recompute 2.1 MFLOP · rung ... */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "session/budget_curve.h"
#include "tui/edit.h"
#include "tui/lines.h"
#include "viewers/chart_text.h"
#include "viewers/format.h"

enum {
    SMALL = 10,
    BIG = 100,
    GAP = 4,
    BYTES_COLS = 10,
    NAME_COLS = 28,
    TYPE_COLS = 24,
    TWO_COLS = 120,
    REST_MS = 80,
    FRAME_NS = 8000000 /* of a frame's 16 ms what a cut may take between two keys */
};

typedef struct budget_row {
    int dir;          /* -1: what a lower budget drops or adds, +1: a higher one */
    bool head;
    bool saved_there; /* at the other place: + ; else - */
    aot_node_id node; /* in the graph that is cut */
} budget_row;

typedef struct budget_view {
    aot_view *v;
    unsigned version;
    aot_budget_curve *curve; /* NULL: there is no partition */
    char trouble[800];
    int at;                /* thousandths */
    int now;               /* the budget in force */
    bool more;             /* the curve is not found yet */
    uint64_t cut_ns;       /* the last cut took */
    char typed[8];         /* digits so far */
    AOT_VEC(budget_row) rows;
    int rows_of[3];        /* places that the rows are about; -1: none */
    aot_list list;
    bool other_plot;       /* narrow screens: bytes over budgets instead of cost over bytes */
    size_t plot_points;    /* of the curve when the plots were drawn */
    int plot_rows, plot_cols;
    aot_chart *charts[2];
} budget_view;

static budget_view *state(aot_view *v)
{
    return v->state;
}

static const aot_budget_point *here(const budget_view *s)
{
    return s->curve ? aot_budget_curve_find(s->curve, s->at) : NULL;
}

static int64_t peak_of(const aot_budget_point *p)
{
    return p->forward_peak > p->backward_peak ? p->forward_peak : p->backward_peak;
}

/* ---- what is derived ------------------------------------------------------------------------- */

static void drop_charts(budget_view *s)
{
    for (int i = 0; i < 2; i++) {
        aot_chart_free(s->charts[i]);
        s->charts[i] = NULL;
    }
}

/* Starts the curve anew where the unit was changed. */
static void refresh(budget_view *s)
{
    aot_model *m = aot_app_model(s->v->app);
    unsigned version = aot_model_version(m, s->v->unit);
    aot_err err = {0};
    if ((s->curve || s->trouble[0]) && version == s->version) {
        return;
    }
    bool first = !s->curve;
    aot_budget_curve_free(s->curve);
    s->curve = NULL;
    s->version = version;
    s->trouble[0] = 0;
    s->rows_of[0] = s->rows_of[1] = s->rows_of[2] = -2;
    s->rows.n = 0;
    s->more = false;
    drop_charts(s);
    if (aot_budget_curve_new(&s->curve, m, s->v->unit, &err) != AOT_OK) {
        aot_err_text(&err, s->trouble, sizeof s->trouble);
        return;
    }
    double budget = aot_budget_curve_now(s->curve)->config.activation_memory_budget;
    s->now = (int)lround(budget * AOT_BUDGET_STEPS);
    s->at = first ? s->now : s->at;
    s->more = true;
    aot_budget_curve_cut(s->curve, s->at);
}

/* ---- rows: what flips ------------------------------------------------------------------------ */

static void add_flips(budget_view *s, const aot_budget_point *p, const aot_budget_point *q, int dir)
{
    uint32_t n = (uint32_t)aot_budget_curve_now(s->curve)->cut->nodes.n;
    aot_vec_push(&s->rows, ((budget_row){dir, true, false, AOT_NO_NODE}));
    for (aot_node_id i = 0; i < n; i++) {
        bool a = aot_budget_saves(p, i), b = aot_budget_saves(q, i);
        if (a != b) {
            aot_vec_push(&s->rows, ((budget_row){dir, false, b, i}));
        }
    }
}

static int place_of(const aot_budget_point *p)
{
    return p ? p->at : -1;
}

static int largest_first(const void *x, const void *y, void *arg)
{
    const budget_row *a = x, *b = y;
    const aot_partition *p = arg;
    if (a->dir != b->dir) {
        return a->dir - b->dir;
    }
    if (a->head != b->head) {
        return a->head ? -1 : 1;
    }
    int64_t m = a->head ? 0 : p->nodes[a->node].bytes, n = b->head ? 0 : p->nodes[b->node].bytes;
    return m != n ? (m < n) - (m > n) : (a->node > b->node) - (a->node < b->node);
}

static void make_rows(budget_view *s)
{
    const aot_budget_point *p = here(s);
    const aot_budget_point *low = aot_budget_curve_next(s->curve, s->at, -1);
    const aot_budget_point *high = aot_budget_curve_next(s->curve, s->at, 1);
    int want[3] = {place_of(p), place_of(low), place_of(high)};
    if (memcmp(want, s->rows_of, sizeof want) == 0) {
        return;
    }
    memcpy(s->rows_of, want, sizeof want);
    uint32_t row = aot_list_row(&s->list);
    s->rows.n = 0;
    if (p && !p->failed && low && !low->failed) {
        add_flips(s, p, low, -1);
    }
    if (p && !p->failed && high && !high->failed) {
        add_flips(s, p, high, 1);
    }
    if (s->rows.n > 1) {
        qsort_r(s->rows.d, s->rows.n, sizeof *s->rows.d, largest_first,
                (void *)(uintptr_t)aot_budget_curve_now(s->curve));
    }
    aot_list_reset(&s->list, s->rows.n, row == AOT_NO_ROW || row >= s->rows.n ? 0 : row);
}

/* "up to 0.57: saved 1.35 MiB (+96.0 KiB), recompute 1.2 MFLOP (-0.9 MFLOP)". */
static void head_words(const budget_view *s, int dir, aot_sb *out)
{
    const aot_budget_point *p = here(s), *q = aot_budget_curve_next(s->curve, s->at, dir);
    char a[32], b[32], c[32], d[32];
    if (!p || !q) {
        return;
    }
    int64_t bytes = q->saved_bytes - p->saved_bytes;
    double flops = q->recompute_flops - p->recompute_flops;
    aot_sb_addf(out, "%s %.3g: saved %s (%s%s), recompute %s (%s%s)", dir < 0 ? "down to" : "up to",
                (double)q->at / AOT_BUDGET_STEPS, aot_format_bytes(a, sizeof a, q->saved_bytes),
                bytes < 0 ? "-" : "+", aot_format_bytes(b, sizeof b, bytes < 0 ? -bytes : bytes),
                aot_chart_value(c, sizeof c, AOT_CHART_FLOPS, q->recompute_flops),
                flops < 0 ? "-" : "+", aot_chart_value(d, sizeof d, AOT_CHART_FLOPS, fabs(flops)));
}

static void draw_row(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    budget_view *s = arg;
    const budget_row *r = &s->rows.d[row];
    const aot_partition *p = aot_budget_curve_now(s->curve);
    char buf[300];
    if (r->head) {
        aot_sb text = {0};
        head_words(s, r->dir, &text);
        aot_canvas_field(c, y, x, cols, AOT_STYLE_TITLE, aot_sb_text(&text));
        aot_sb_free(&text);
        return;
    }
    aot_style style = r->saved_there ? AOT_STYLE_SAVED : AOT_STYLE_RECOMPUTED;
    aot_canvas_put(c, y, x + 1, style, r->saved_there ? "+" : "-");
    aot_canvas_field_right(c, y, x + 2, BYTES_COLS, AOT_STYLE_BYTES,
                           aot_format_bytes(buf, sizeof buf, p->nodes[r->node].bytes));
    int at = x + BYTES_COLS + 4, end = x + cols;
    aot_canvas_field(c, y, at, NAME_COLS, AOT_STYLE_NAME, aot_node_name(p->cut, r->node));
    at += NAME_COLS + 1;
    if (at + TYPE_COLS < end) {
        aot_format_type(buf, sizeof buf, p->cut->ctx, aot_node_at(p->cut, r->node)->meta);
        aot_canvas_field(c, y, at, TYPE_COLS, AOT_STYLE_TYPE, buf);
        at += TYPE_COLS + 1;
    }
    if (at < end) {
        aot_canvas_field(c, y, at, end - at, AOT_STYLE_SOURCE,
                         aot_format_source(buf, sizeof buf, p->cut, r->node));
    }
}

static void text_of_row(void *arg, size_t row, aot_sb *out)
{
    budget_view *s = arg;
    const budget_row *r = &s->rows.d[row];
    const aot_graph *g = aot_budget_curve_now(s->curve)->cut;
    char buf[300];
    if (!r->head) {
        aot_sb_addf(out, "%s %s", aot_node_name(g, r->node),
                    aot_format_source(buf, sizeof buf, g, r->node));
    }
}

static bool is_head(void *arg, size_t row)
{
    return ((budget_view *)arg)->rows.d[row].head;
}

static const aot_list_ops list_ops = {.draw = draw_row, .text = text_of_row, .is_head = is_head};

/* ---- drawing --------------------------------------------------------------------------------- */

/* Whether another budget keeps no more new bytes and costs no more, and less of one: as `sweep`
 * tells it. What inputs hold anyway is not what a budget buys. */
static bool is_beaten(const budget_view *s, const aot_budget_point *p)
{
    for (size_t i = 0; i < aot_budget_curve_count(s->curve); i++) {
        const aot_budget_point *q = aot_budget_curve_point(s->curve, i);
        if (!q->failed && q->new_bytes <= p->new_bytes &&
            q->recompute_flops <= p->recompute_flops &&
            (q->new_bytes < p->new_bytes || q->recompute_flops < p->recompute_flops)) {
            return true;
        }
    }
    return false;
}

static void make_charts(budget_view *s)
{
    aot_chart *cost = aot_chart_new("Recompute", NULL), *bytes = aot_chart_new("Bytes", NULL);
    aot_chart_axes(cost, "new", AOT_CHART_BYTES, "flops at new saved bytes", AOT_CHART_FLOPS);
    aot_chart_axes(bytes, "budget", AOT_CHART_NUMBER, "at each budget", AOT_CHART_BYTES);
    uint32_t front = aot_chart_series_new(cost, "front", AOT_CHART_POINTS);
    uint32_t beaten = aot_chart_series_new(cost, "no gain", AOT_CHART_POINTS);
    uint32_t saved = aot_chart_series_new(bytes, "saved", AOT_CHART_STEP);
    uint32_t peak = aot_chart_series_new(bytes, "peak", AOT_CHART_STEP);
    for (size_t i = 0; i < aot_budget_curve_count(s->curve); i++) {
        const aot_budget_point *p = aot_budget_curve_point(s->curve, i);
        if (!p->failed) {
            double budget = (double)p->at / AOT_BUDGET_STEPS;
            aot_chart_point(cost, is_beaten(s, p) ? beaten : front, (double)p->new_bytes,
                            p->recompute_flops, NULL);
            aot_chart_point(bytes, saved, budget, (double)p->saved_bytes, NULL);
            aot_chart_point(bytes, peak, budget, (double)peak_of(p), NULL);
        }
    }
    drop_charts(s);
    s->charts[0] = cost;
    s->charts[1] = bytes;
    s->plot_points = aot_budget_curve_count(s->curve);
}

static void draw_cost(budget_view *s, aot_canvas *c, int y, int x, int rows, int cols)
{
    aot_chart_plot field;
    const aot_budget_point *p = here(s);
    aot_chart_text(s->charts[0], c, y, x, rows, cols, aot_chart_glyphs_for(c->ascii), &field);
    if (p && !p->failed && field.cols > 0) {
        int row = aot_chart_plot_row(&field, p->recompute_flops);
        int col = aot_chart_plot_col(&field, (double)p->new_bytes);
        aot_canvas_put(c, row, col, AOT_STYLE_CURSOR, c->ascii ? "O" : "◎");
    }
}

static void draw_bytes(budget_view *s, aot_canvas *c, int y, int x, int rows, int cols)
{
    aot_chart_plot field;
    aot_chart_text(s->charts[1], c, y, x, rows, cols, aot_chart_glyphs_for(c->ascii), &field);
    aot_chart_cursor(&field, c, (double)s->at / AOT_BUDGET_STEPS);
}

static void draw_plots(budget_view *s, aot_canvas *c, int y, int rows)
{
    if (!s->charts[0] || s->plot_points != aot_budget_curve_count(s->curve)) {
        make_charts(s);
    }
    if (c->cols >= TWO_COLS) {
        int left = c->cols / 2;
        draw_cost(s, c, y, 1, rows, left - 2);
        draw_bytes(s, c, y, left + 1, rows, c->cols - left - 2);
    } else if (s->other_plot) {
        draw_bytes(s, c, y, 1, rows, c->cols - 2);
    } else {
        draw_cost(s, c, y, 1, rows, c->cols - 2);
    }
}

static void draw_slider(const budget_view *s, aot_canvas *c, int y)
{
    char text[64];
    if (s->typed[0]) {
        snprintf(text, sizeof text, "budget %s_", s->typed);
    } else {
        snprintf(text, sizeof text, "budget %.3g", (double)s->at / AOT_BUDGET_STEPS);
    }
    int x = aot_canvas_field(c, y, 1, 13, AOT_STYLE_BOLD, text) + 1;
    x = aot_canvas_put(c, y, x, AOT_STYLE_DIM, "0 ");
    int cols = c->cols - x - 18;
    for (int i = 0; i < cols; i++) {
        int place = cols > 1 ? (int)lround((double)i * AOT_BUDGET_STEPS / (cols - 1)) : 0;
        aot_canvas_put(c, y, x + i, place <= s->at ? AOT_STYLE_SAVED : AOT_STYLE_BORDER,
                       place <= s->at ? (c->ascii ? "=" : "━") : (c->ascii ? "-" : "─"));
    }
    if (cols > 1) {
        int now = (int)lround((double)s->now * (cols - 1) / AOT_BUDGET_STEPS);
        int at = (int)lround((double)s->at * (cols - 1) / AOT_BUDGET_STEPS);
        aot_canvas_put(c, y, x + now, AOT_STYLE_NOTICE, c->ascii ? "|" : "┃");
        aot_canvas_put(c, y, x + at, AOT_STYLE_CURSOR, c->ascii ? "o" : "●");
    }
    aot_canvas_put(c, y, x + cols, AOT_STYLE_DIM, " 1");
    snprintf(text, sizeof text, "in force: %.3g", (double)s->now / AOT_BUDGET_STEPS);
    aot_canvas_put(c, y, c->cols - aot_text_width(text) - 1, AOT_STYLE_NOTICE, text);
}

static void draw_figures(const budget_view *s, aot_canvas *c, int y)
{
    char a[32], b[32], f[32], n[32];
    const aot_budget_point *p = here(s);
    aot_sb text = {0};
    if (!p) {
        aot_sb_addz(&text, "cutting ...");
    } else if (p->failed) {
        aot_sb_addf(&text, "cannot be cut: %s", p->failure);
    } else {
        aot_sb_addf(&text, "saved %s in %s values · peak %s · recompute %s · %s",
                    aot_format_bytes(a, sizeof a, p->saved_bytes),
                    aot_format_count(n, sizeof n, p->n_saved),
                    aot_format_bytes(b, sizeof b, peak_of(p)),
                    aot_chart_value(f, sizeof f, AOT_CHART_FLOPS, p->recompute_flops), p->rung);
    }
    aot_canvas_field(c, y, 1, c->cols - 2, p && p->failed ? AOT_STYLE_ERROR : AOT_STYLE_NORMAL,
                     aot_sb_text(&text));
    aot_sb_free(&text);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    budget_view *s = state(v);
    refresh(s);
    if (!s->curve) {
        aot_lines_draw_text(c, y + 1, 1, rows - 1, c->cols - 2, AOT_STYLE_NOTICE, s->trouble);
        return;
    }
    draw_slider(s, c, y);
    draw_figures(s, c, y + 1);
    int up = rows >= 18 ? (rows - 2) / 2 : 0;
    if (up) {
        draw_plots(s, c, y + 2, up);
    }
    make_rows(s);
    aot_canvas_hline(c, y + 2 + up, 0, c->cols, AOT_STYLE_BORDER);
    aot_canvas_put(c, y + 2 + up, 2, AOT_STYLE_BOLD, " what flips at the neighbours ");
    int top = y + 3 + up;
    if (s->rows.n == 0) {
        aot_canvas_put(c, top, 2, AOT_STYLE_DIM,
                       s->more ? "Looking ..." : "Every budget saves the same values.");
    }
    aot_list_draw(&s->list, c, top, 0, y + rows - top, c->cols, true);
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    budget_view *s = state(v);
    char label[64];
    const aot_unit *u = aot_model_unit(aot_app_model(v->app), v->unit);
    aot_sb_addf(left, "budget · unit %zu %s %s", v->unit,
                aot_unit_label(&u->key, label, sizeof label), u->title ? u->title : "");
    aot_list_status(&s->list, right);
    if (right->n == 0 && s->curve) {
        size_t n = aot_budget_curve_count(s->curve);
        aot_sb_addf(right, "%s%zu cut%s", s->more ? "finding the curve: " : "", n,
                    n == 1 ? "" : "s");
    }
}

/* ---- actions --------------------------------------------------------------------------------- */

static aot_status open_view(aot_view *v, aot_err *err)
{
    budget_view *s = state(v);
    if (aot_model_stage(aot_app_model(v->app), v->unit, AOT_STAGE_JOINT).origin ==
        AOT_ORIGIN_MISSING) {
        return AOT_FAIL(err, AOT_E_PIPELINE,
                        "This unit has no joint graph, so nothing is cut: a budget "
                        "changes nothing");
    }
    s->v = v;
    aot_list_init(&s->list, &list_ops, s);
    refresh(s);
    return AOT_OK;
}

static void done(aot_view *v)
{
    budget_view *s = state(v);
    if (s->v) {
        aot_budget_curve_free(s->curve);
        drop_charts(s);
        aot_list_done(&s->list);
        aot_vec_free(&s->rows);
    }
}

/* One cut: first the one that is looked at. */
static bool work(aot_view *v)
{
    budget_view *s = state(v);
    uint64_t start = aot_now_ns();
    if (s->curve && !here(s)) {
        aot_budget_curve_cut(s->curve, s->at);
    } else if (s->curve && s->more) {
        s->more = aot_budget_curve_step(s->curve, GAP);
    } else {
        return aot_list_work(&s->list, AOT_SLICE_NS);
    }
    s->cut_ns = aot_now_ns() - start;
    return true;
}

/* The slider moves at once on any graph; on a big one its figures follow when the key rests. */
static int rest(aot_view *v)
{
    const budget_view *s = state(v);
    return s->curve && s->cut_ns > FRAME_NS && (!here(s) || s->more) ? REST_MS : 0;
}

static void go(budget_view *s, int at)
{
    s->at = at < 0 ? 0 : at > AOT_BUDGET_STEPS ? AOT_BUDGET_STEPS : at;
    s->typed[0] = 0;
}

/* Steps land on whole steps, as a person counts them. */
static void step(budget_view *s, int by)
{
    int size = abs(by), rest = s->at % size;
    go(s, by > 0 ? s->at - rest + size : rest ? s->at - rest : s->at - size);
}

static void next_flip(budget_view *s, int dir)
{
    const aot_budget_point *p = s->curve ? aot_budget_curve_next(s->curve, s->at, dir) : NULL;
    if (p) {
        go(s, p->at);
    } else {
        aot_app_say(s->v->app, s->more   ? "Nothing is known to flip there yet"
                               : dir > 0 ? "A higher budget saves the same"
                                         : "A lower budget saves the same");
    }
}

static void set_budget(budget_view *s)
{
    char line[80];
    aot_app *app = s->v->app;
    aot_model *m = aot_app_model(app);
    snprintf(line, sizeof line, "set activation_memory_budget=%.3g",
             (double)s->at / AOT_BUDGET_STEPS);
    if (aot_edit_quiet(app, s->v->unit, line)) {
        if (aot_budget_curve_renew(s->curve, m, s->v->unit)) { // else refresh finds another one
            s->version = aot_model_version(m, s->v->unit);
            s->now = s->at;
        }
        aot_app_say(app, "Budget %.3g is in force for this unit", (double)s->at / AOT_BUDGET_STEPS);
    }
}

static bool act(aot_view *v, aot_action a)
{
    budget_view *s = state(v);
    switch (a) {
    case AOT_ACT_TIME_PREV: step(s, -SMALL); return true;
    case AOT_ACT_TIME_NEXT: step(s, SMALL); return true;
    case AOT_ACT_SCROLL_LEFT: step(s, -BIG); return true;
    case AOT_ACT_SCROLL_RIGHT: step(s, BIG); return true;
    case AOT_ACT_CHANGE_PREV: next_flip(s, -1); return true;
    case AOT_ACT_CHANGE_NEXT: next_flip(s, 1); return true;
    case AOT_ACT_PANE_NEXT:
    case AOT_ACT_PANE_PREV: s->other_plot = !s->other_plot; return true;
    case AOT_ACT_OPEN:
        if (s->curve) {
            set_budget(s);
        }
        return true;
    case AOT_ACT_PRODUCER: {
        uint32_t row = aot_list_row(&s->list);
        if (row != AOT_NO_ROW && !s->rows.d[row].head) {
            const aot_graph *g = aot_budget_curve_now(s->curve)->cut;
            char *name = aot_xstrdup(aot_node_name(g, s->rows.d[row].node));
            aot_app_goto(v->app, v->unit, AOT_STAGE_JOINT_CSE, name); // frees s
            free(name);
        }
        return true;
    }
    case AOT_ACT_CANCEL:
        if (s->typed[0] || s->more) {
            s->typed[0] = 0;
            s->more = false;
            return true;
        }
        return false;
    default: return false;
    }
}

/* Digits: ".4" and "0.45" as they stand, "4" is 0.4. ^C stops the search for the curve. */
static bool take_key(aot_view *v, aot_key key)
{
    budget_view *s = state(v);
    size_t n = strlen(s->typed);
    if (key == 3 && s->more) {
        s->more = false;
        return true;
    }
    if (key == AOT_KEY_BS && n > 0) {
        s->typed[n - 1] = 0;
    } else if (((key >= '0' && key <= '9') || key == '.') && n + 1 < sizeof s->typed) {
        s->typed[n] = (char)key;
        s->typed[n + 1] = 0;
    } else {
        s->typed[0] = 0;
        return false;
    }
    char text[16];
    double budget;
    snprintf(text, sizeof text, "0.%s", s->typed); // 35 means 0.35
    if (aot_real_read(&budget, s->typed, 0, 1) ||
        (aot_real_read(&budget, s->typed, 1, HUGE_VAL) && aot_real_read(&budget, text, 0, 1))) {
        s->at = (int)lround(budget * AOT_BUDGET_STEPS);
    }
    return true;
}

static aot_list *list(aot_view *v)
{
    return &state(v)->list;
}

static const aot_hint hints[] = {
    {AOT_ACT_TIME_PREV, AOT_ACT_TIME_NEXT, "budget", false},
    {AOT_ACT_CHANGE_PREV, AOT_ACT_CHANGE_NEXT, "next flip", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "set it", false},
    {AOT_ACT_PANE_NEXT, AOT_ACT_NONE, "other plot", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {AOT_ACT_PRODUCER, AOT_ACT_NONE, "to the node", false},
    {AOT_ACT_SCROLL_LEFT, AOT_ACT_SCROLL_RIGHT, "faster", false},
    {0},
};

const aot_view_ops view_budget_ops = {
    .what = "budget",
    .state_size = sizeof(budget_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .key = take_key,
    .list = list,
    .work = work,
    .rest = rest,
    .done = done,
    .hints = hints,
};
