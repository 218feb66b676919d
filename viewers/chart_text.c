/* Charts as characters. Lines are drawn on a grid of dots, several a cell; areas that are stacked
 * and markers take whole cells. What is drawn later in a cell gives it its style.
 *
 *     4 MiB |      ..':          saved
 *           |   .''   '.
 *         0 +------------- node
 *            0        1,024 */
#include "viewers/chart_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_COLS = 20, MIN_ROWS = 6, MAX_LABEL = 12 };

typedef struct grid { /* dots of the plot */
    int sx, sy;       /* a cell */
    int w, h;
    uint8_t *dots;    /* by cell: a bit each dot, row by row */
    uint8_t *style;   /* by cell */
} grid;

typedef struct painter {
    const aot_chart *chart;
    aot_canvas *c;
    aot_chart_glyphs glyphs;
    aot_chart_plot plot;
    grid g;
} painter;

static const aot_style series_styles[] = {
    AOT_STYLE_TYPE,      AOT_STYLE_SAVED,   AOT_STYLE_RECOMPUTED, AOT_STYLE_RANDOM,
    AOT_STYLE_PARAMETER, AOT_STYLE_TANGENT, AOT_STYLE_BANNED,     AOT_STYLE_DIM};
enum { N_STYLES = sizeof series_styles / sizeof *series_styles };

static aot_style style_of(size_t series)
{
    return series_styles[series % N_STYLES];
}

static const char *marker_of(size_t series, aot_chart_glyphs g)
{
    static const char *const signs[3][4] = {
        {"●", "■", "▲", "◆"},
        {"■", "▲", "♦", "○"},
        {"o", "x", "+", "#"}}; // fonts of consoles: code page 437
    return signs[g][series % 4];
}

static const char *pattern_of(size_t series, aot_chart_glyphs g)
{
    static const char *const shades[] = {"█", "▒", "░", "▓"};
    static const char *const ascii[] = {"#", "=", ".", "%", "+", "-", "o", ":"};
    return g == AOT_CHART_ASCII ? ascii[series % 8] : shades[series % 4];
}

aot_chart_glyphs aot_chart_glyphs_for(bool ascii)
{
    const char *term = getenv("TERM");
    return ascii                                ? AOT_CHART_ASCII
           : term && strcmp(term, "linux") == 0 ? AOT_CHART_BLOCKS
                                                : AOT_CHART_BRAILLE;
}

/* ---- coordinates ----------------------------------------------------------------------------- */

static int clamp(double v, int n)
{
    return v < 0 || !(v == v) ? 0 : v > n - 1 ? n - 1 : (int)v;
}

static int place(double v, double lo, double hi, int n)
{
    return clamp((v - lo) / (hi - lo) * (n - 1) + 0.5, n);
}

int aot_chart_plot_col(const aot_chart_plot *p, double x)
{
    return p->x + place(x, p->range.x0, p->range.x1, p->cols);
}

int aot_chart_plot_row(const aot_chart_plot *p, double y)
{
    return p->y + p->rows - 1 - place(y, p->range.y0, p->range.y1, p->rows);
}

static int dot_x(const painter *p, double x)
{
    return place(x, p->plot.range.x0, p->plot.range.x1, p->g.w);
}

/* From the bottom. */
static int dot_y(const painter *p, double y)
{
    return place(y, p->plot.range.y0, p->plot.range.y1, p->g.h);
}

static void dot(painter *p, int x, int y, aot_style style)
{
    grid *g = &p->g;
    int row = (g->h - 1 - y) / g->sy, col = x / g->sx, in_y = (g->h - 1 - y) % g->sy,
        in_x = x % g->sx;
    size_t at = (size_t)row * (size_t)p->plot.cols + (size_t)col;
    g->dots[at] |= (uint8_t)(1u << (in_y * g->sx + in_x));
    g->style[at] = (uint8_t)style;
}

static void line(painter *p, int x0, int y0, int x1, int y1, aot_style style)
{
    int n = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);
    for (int i = 0; i <= n; i++) {
        double t = n > 0 ? (double)i / n : 0;
        dot(p, (int)lround(x0 + t * (x1 - x0)), (int)lround(y0 + t * (y1 - y0)), style);
    }
}

/* ---- series ---------------------------------------------------------------------------------- */

static void draw_line(painter *p, const aot_chart_series *s, aot_style style)
{
    int x0 = 0, y0 = 0;
    for (size_t i = 0; i < s->points.n; i++) {
        int x = dot_x(p, s->points.d[i].x), y = dot_y(p, s->points.d[i].y);
        if (i == 0) {
            dot(p, x, y, style);
        } else if (s->shape == AOT_CHART_STEP) {
            line(p, x0, y0, x, y0, style);
            line(p, x, y0, x, y, style);
        } else {
            line(p, x0, y0, x, y, style);
        }
        x0 = x;
        y0 = y;
    }
    if (s->shape == AOT_CHART_STEP && s->points.n > 0) { // it holds to the end
        line(p, x0, y0, p->g.w - 1, y0, style);
    }
}

/* Highest value of a step function in each of n columns; NAN where it has none. */
static double *highest(const painter *p, const aot_chart_series *s, uint32_t series, int n)
{
    double *out = aot_xmalloc((size_t)n * sizeof *out);
    const aot_chart_range *r = &p->plot.range;
    for (int i = 0; i < n; i++) {
        out[i] = NAN;
    }
    for (size_t i = 0; i < s->points.n; i++) {
        double y = s->points.d[i].y + aot_chart_below(p->chart, series, i);
        int from = place(s->points.d[i].x, r->x0, r->x1, n);
        int to = i + 1 < s->points.n ? place(s->points.d[i + 1].x, r->x0, r->x1, n) : n - 1;
        for (int k = from; k <= to; k++) {
            bool first = k == from || i + 1 == s->points.n;
            out[k] = isnan(out[k]) || (out[k] < y && (first || k < to)) ? y : out[k];
        }
    }
    return out;
}

static void draw_area(painter *p, uint32_t series)
{
    double *top = highest(p, &p->chart->series.d[series], series, p->g.w);
    for (int x = 0; x < p->g.w; x++) {
        int y = isnan(top[x]) || top[x] <= p->plot.range.y0 ? -1 : dot_y(p, top[x]);
        for (int k = 0; k <= y; k++) {
            dot(p, x, k, style_of(series));
        }
    }
    free(top);
}

/* Areas on each other, the highest first: what is below covers it. */
static void draw_stack(painter *p, uint32_t series)
{
    double *top = highest(p, &p->chart->series.d[series], series, p->plot.cols);
    for (int x = 0; x < p->plot.cols; x++) {
        double share = (top[x] - p->plot.range.y0) / (p->plot.range.y1 - p->plot.range.y0);
        int n = isnan(top[x]) ? 0 : (int)lround(share * p->plot.rows);
        for (int k = 0; k < n && k < p->plot.rows; k++) {
            aot_canvas_put(p->c, p->plot.y + p->plot.rows - 1 - k, p->plot.x + x, style_of(series),
                           pattern_of(series, p->glyphs));
        }
    }
    free(top);
}

static size_t n_areas(const aot_chart *chart)
{
    size_t n = 0;
    for (size_t i = 0; i < chart->series.n; i++) {
        n += chart->series.d[i].shape == AOT_CHART_AREA;
    }
    return n;
}

static void draw_series(painter *p)
{
    bool stacked = n_areas(p->chart) > 1;
    for (size_t i = p->chart->series.n; i-- > 0;) {
        if (p->chart->series.d[i].shape == AOT_CHART_AREA) {
            if (stacked) {
                draw_stack(p, (uint32_t)i);
            } else {
                draw_area(p, (uint32_t)i);
            }
        }
    }
    for (size_t i = 0; i < p->chart->series.n; i++) {
        const aot_chart_series *s = &p->chart->series.d[i];
        if (s->shape != AOT_CHART_AREA && s->shape != AOT_CHART_POINTS) {
            draw_line(p, s, style_of(i));
        }
    }
}

/* At all points, or where several lines have to be told apart at some: not two in a quarter. */
static void put_markers(painter *p)
{
    for (size_t i = 0; i < p->chart->series.n; i++) {
        const aot_chart_series *s = &p->chart->series.d[i];
        bool all = s->shape == AOT_CHART_POINTS || s->shape == AOT_CHART_MARKED;
        bool some = s->shape != AOT_CHART_AREA && p->chart->series.n > 1;
        int last = p->plot.x + (int)i * 3 - p->plot.cols / 8;
        for (size_t k = 0; (all || some) && k < s->points.n; k++) {
            int col = aot_chart_plot_col(&p->plot, s->points.d[k].x);
            if (all || col - last >= p->plot.cols / 4) {
                aot_canvas_put(p->c, aot_chart_plot_row(&p->plot, s->points.d[k].y), col,
                               style_of(i), marker_of(i, p->glyphs));
                last = col;
            }
        }
    }
}

/* The character of a cell's dots; bits are rows of dots from above. */
static const char *cell_text(char buf[8], uint8_t dots, aot_chart_glyphs g)
{
    static const char *const blocks[] = {" ", "▀", "▄", "█"}, *const ascii[] = {" ", "'", ".", ":"};
    if (g != AOT_CHART_BRAILLE) {
        return g == AOT_CHART_ASCII ? ascii[dots & 3] : blocks[dots & 3];
    }
    // Unicode's order
    static const uint8_t bit[8] = {0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80};
    uint32_t ch = 0x2800;
    for (int i = 0; i < 8; i++) {
        ch |= dots >> i & 1 ? bit[i] : 0u;
    }
    snprintf(buf, 8, "%c%c%c", (int)(0xe0 | ch >> 12), (int)(0x80 | (ch >> 6 & 0x3f)),
             (int)(0x80 | (ch & 0x3f)));
    return buf;
}

static void put_dots(painter *p)
{
    char buf[8];
    for (int y = 0; y < p->plot.rows; y++) {
        for (int x = 0; x < p->plot.cols; x++) {
            size_t at = (size_t)y * (size_t)p->plot.cols + (size_t)x;
            if (p->g.dots[at]) {
                aot_canvas_put(p->c, p->plot.y + y, p->plot.x + x, (aot_style)p->g.style[at],
                               cell_text(buf, p->g.dots[at], p->glyphs));
            }
        }
    }
}

/* ---- axes, legend, marks --------------------------------------------------------------------- */

static int label_cols(const aot_chart *chart, const double *ticks, size_t n)
{
    int cols = 1;
    char buf[64];
    for (size_t i = 0; i < n; i++) {
        int w = aot_text_width(
            aot_chart_tick(buf, sizeof buf, (aot_chart_unit)chart->y.unit, ticks, n, i));
        cols = w > cols ? w : cols;
    }
    return cols < MAX_LABEL ? cols : MAX_LABEL;
}

static void draw_axes(painter *p, int x, const double *ticks, size_t n)
{
    const aot_chart_plot *plot = &p->plot;
    aot_canvas *c = p->c;
    char buf[64];
    int axis = plot->x - 1, bottom = plot->y + plot->rows, last = -1;
    aot_canvas_vline(c, plot->y, axis, plot->rows, AOT_STYLE_BORDER);
    aot_canvas_hline(c, bottom, axis, plot->cols + 1, AOT_STYLE_BORDER);
    aot_canvas_put(c, bottom, axis, AOT_STYLE_BORDER, c->ascii ? "+" : "└");
    for (size_t i = 0; i < n; i++) {
        int row = aot_chart_plot_row(plot, ticks[i]);
        if (row != last) {
            aot_canvas_field_right(
                c, row, x, axis - x, AOT_STYLE_DIM,
                aot_chart_tick(buf, sizeof buf, (aot_chart_unit)p->chart->y.unit, ticks, n, i));
            aot_canvas_put(c, row, axis, AOT_STYLE_BORDER, c->ascii ? "+" : "┤");
            last = row;
        }
    }
    double xs[AOT_CHART_MAX_TICKS];
    size_t k = aot_chart_ticks(xs, plot->range.x0, plot->range.x1, plot->cols / 14 + 1,
                               (aot_chart_unit)p->chart->x.unit);
    int end = axis, before = axis, begin = axis; // of the last label, and of the one before it
    for (size_t i = 0; i < k; i++) {
        int col = aot_chart_plot_col(plot, xs[i]);
        aot_chart_tick(buf, sizeof buf, (aot_chart_unit)p->chart->x.unit, xs, k, i);
        int w = aot_text_width(buf), at = col - w / 2;
        at = at < axis ? axis : at + w > plot->x + plot->cols ? plot->x + plot->cols - w : at;
        aot_canvas_put(c, bottom, col, AOT_STYLE_BORDER, c->ascii ? "+" : "┴");
        if (at > end || i == 0) {
            aot_canvas_put(c, bottom + 1, at, AOT_STYLE_DIM, buf);
            before = end;
            begin = at;
            end = at + w;
        }
    }
    int w = aot_text_width(p->chart->x.label), right = plot->x + plot->cols - w;
    if (w > 0 && right > end + 1) {
        aot_canvas_put(c, bottom + 1, right, AOT_STYLE_REASON, p->chart->x.label);
    } else if (w > 0 && begin - w - 2 > before) {
        aot_canvas_put(c, bottom + 1, begin - w - 2, AOT_STYLE_REASON, p->chart->x.label);
    }
}

/* Title and unit of the heights at the left, names of several series at the right. */
static void draw_head(const painter *p, int y, int x, int cols)
{
    const aot_chart *chart = p->chart;
    aot_sb text = {0}, fit = {0};
    aot_sb_addf(&text, "%s%s%s", chart->title ? chart->title : "",
                chart->title && *chart->y.label ? ": " : "", chart->y.label);
    aot_text_fit(&fit, aot_sb_text(&text), cols, p->c->ascii);
    int at = aot_canvas_put(p->c, y, x, AOT_STYLE_BOLD, aot_sb_text(&fit)) + 2, w = 0;
    bool stacked = n_areas(chart) > 1;
    for (size_t i = 0; i < chart->series.n; i++) {
        w += 4 + aot_text_width(chart->series.d[i].name ? chart->series.d[i].name : "");
    }
    at = x + cols - w > at ? x + cols - w : at;
    for (size_t i = 0; i < chart->series.n && chart->series.n > 1; i++) {
        const aot_chart_series *s = &chart->series.d[i];
        const char *sign = s->shape == AOT_CHART_AREA && stacked ? pattern_of(i, p->glyphs)
                                                                 : marker_of(i, p->glyphs);
        if (at + 3 + aot_text_width(s->name ? s->name : "") <= x + cols) {
            at = aot_canvas_put(p->c, y, at, style_of(i), sign) + 1;
            at = aot_canvas_put(p->c, y, at, AOT_STYLE_DIM, s->name ? s->name : "") + 2;
        }
    }
    aot_sb_free(&text);
    aot_sb_free(&fit);
}

static bool is_free(const aot_canvas *c, int y, int x)
{
    return y >= 0 && y < c->rows && x >= 0 && x < c->cols && aot_canvas_at(c, y, x)->ch == ' ';
}

static void draw_mark(const painter *p, const aot_chart_mark *m)
{
    const aot_chart_plot *plot = &p->plot;
    aot_canvas *c = p->c;
    bool ascii = p->glyphs == AOT_CHART_ASCII;
    int col = aot_chart_plot_col(plot, m->x), row = aot_chart_plot_row(plot, m->y);
    if (m->kind == AOT_CHART_AT_X) {
        row = plot->y;
        for (int y = plot->y; y < plot->y + plot->rows; y++) {
            if (is_free(c, y, col)) {
                aot_canvas_put(c, y, col, AOT_STYLE_NOTICE, ascii ? "|" : "┊");
            }
        }
    } else if (m->kind == AOT_CHART_AT_Y) {
        col = plot->x;
        for (int x = plot->x; x < plot->x + plot->cols; x++) {
            if (is_free(c, row, x)) {
                aot_canvas_put(c, row, x, AOT_STYLE_NOTICE, ascii ? "-" : "┈");
            }
        }
        row -= row > plot->y;
    } else {
        aot_canvas_put(c, row, col, AOT_STYLE_NOTICE, p->glyphs == AOT_CHART_BRAILLE ? "◎" : "O");
    }
    if (m->label && *m->label) {
        int w = aot_text_width(m->label), at = col + 2;
        at = at + w > plot->x + plot->cols ? col - w - 1 : at;
        if (at >= plot->x) {
            aot_canvas_put(c, row, at, AOT_STYLE_NOTICE, m->label);
        }
    }
}

void aot_chart_text(const aot_chart *chart, aot_canvas *c, int y, int x, int rows, int cols,
                    aot_chart_glyphs glyphs, aot_chart_plot *plot)
{
    painter p = {.chart = chart, .c = c, .glyphs = c->ascii ? AOT_CHART_ASCII : glyphs};
    double ticks[AOT_CHART_MAX_TICKS];
    if (plot) {
        *plot = (aot_chart_plot){0};
    }
    if (rows < MIN_ROWS || cols < MIN_COLS) {
        return;
    }
    p.plot.range = aot_chart_span(chart);
    p.plot.y = y + 1;
    p.plot.rows = rows - 3;
    size_t n = aot_chart_ticks(ticks, p.plot.range.y0, p.plot.range.y1, p.plot.rows / 3 + 1,
                               (aot_chart_unit)chart->y.unit);
    p.plot.x = x + label_cols(chart, ticks, n) + 1;
    p.plot.cols = cols - (p.plot.x - x);
    bool braille = p.glyphs == AOT_CHART_BRAILLE;
    p.g = (grid){.sx = braille ? 2 : 1, .sy = braille ? 4 : 2};
    p.g.w = p.plot.cols * p.g.sx;
    p.g.h = p.plot.rows * p.g.sy;
    p.g.dots = aot_xcalloc((size_t)(p.plot.cols * p.plot.rows), 1);
    p.g.style = aot_xcalloc((size_t)(p.plot.cols * p.plot.rows), 1);
    draw_series(&p);
    put_dots(&p);
    put_markers(&p);
    draw_axes(&p, x, ticks, n);
    draw_head(&p, y, x, cols);
    for (size_t i = 0; i < chart->marks.n; i++) {
        draw_mark(&p, &chart->marks.d[i]);
    }
    free(p.g.dots);
    free(p.g.style);
    if (plot) {
        *plot = p.plot;
    }
}

void aot_chart_cursor(const aot_chart_plot *p, aot_canvas *c, double x)
{
    int col = aot_chart_plot_col(p, x);
    for (int y = p->y; y < p->y + p->rows && p->cols > 0; y++) {
        if (is_free(c, y, col)) {
            aot_canvas_put(c, y, col, AOT_STYLE_KEY, c->ascii ? "|" : "│");
        } else {
            aot_canvas_restyle(c, y, col, 1, AOT_STYLE_CURSOR);
        }
    }
    if (p->cols > 0) { // seen without colours too
        aot_canvas_put(c, p->y + p->rows, col, AOT_STYLE_KEY, c->ascii ? "^" : "▲");
    }
}
