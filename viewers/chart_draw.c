/* Lays a chart out and draws it with a pen: titles, legend, axes with round numbers, series, marks.
 * A series with more points than pixels keeps of each pixel column its first, lowest, highest and
 * last point (of an area its highest alone), so that no peak is lost. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewers/canvas.h"
#include "viewers/chart_pen.h"

enum { TITLE = 16, SMALL = 12, GAP = 8, LEGEND_ROW = 20, SWATCH = 26, N_MARKERS = 5 };

static const aot_palette palettes[] = {
    {"light",
     {"#ffffff", "#1a1a1a", "#5c5c5c", "#e3e3e0", "#8a1f11", "#0072b2", "#d55e00", "#00855f",
      "#b0508c", "#b98200", "#3a9bd0", "#4d4d4d", "#7d6a1f"}},
    {"dark",
     {"#17191d", "#ececec", "#a9afb8", "#343940", "#ff9d8f", "#56b4e9", "#f08a4b", "#2fc79a",
      "#e39ac6", "#f0c541", "#a9d5f5", "#d0d0d0", "#c9a95a"}},
    {"mono",
     {"#ffffff", "#000000", "#404040", "#d8d8d8", "#000000", "#000000", "#5a5a5a", "#8c8c8c",
      "#2e2e2e", "#747474", "#a6a6a6", "#444444", "#c0c0c0"}},
};

const aot_palette *aot_palette_find(const char *name)
{
    name = strcmp(name, "auto") == 0 ? "light" : name;
    for (size_t i = 0; i < sizeof palettes / sizeof *palettes; i++) {
        if (strcmp(palettes[i].name, name) == 0) {
            return &palettes[i];
        }
    }
    return NULL;
}

double aot_chart_text_width(const char *text, double size)
{
    return aot_text_width(text) * size * 0.56;
}

typedef struct box {
    double x0, y0, x1, y1;
} box;

typedef struct plot {
    const aot_chart *c;
    aot_pen *pen;
    aot_chart_range r;
    double left, top, right, bottom, width;
    AOT_VEC(uint32_t) kept; /* points of the series that are drawn */
    AOT_VEC(aot_pt) pts;
    AOT_VEC(box) labels; /* of the marks, as they stand */
} plot;

static double at_x(const plot *p, double x)
{
    return p->left + (x - p->r.x0) / (p->r.x1 - p->r.x0) * (p->right - p->left);
}

static double at_y(const plot *p, double y)
{
    return p->bottom - (y - p->r.y0) / (p->r.y1 - p->r.y0) * (p->bottom - p->top);
}

static void add(plot *p, double x, double y)
{
    aot_vec_push(&p->pts, ((aot_pt){x, y}));
}

static int ink_of(size_t series)
{
    return AOT_INK_SERIES + (int)(series % AOT_INK_N_SERIES);
}

/* ---- markers --------------------------------------------------------------------------------- */

/* Corners of a marker around (0, 0): circle, square, triangle, diamond, lying triangle. */
static void marker(plot *p, double x, double y, double r, size_t series, const char *tip)
{
    static const int corners[N_MARKERS] = {16, 4, 3, 4, 3};
    static const double turn[N_MARKERS] = {0, 0.125, 0.75, 0, 0.25};
    size_t kind = series % N_MARKERS;
    p->pts.n = 0;
    for (int i = 0; i < corners[kind]; i++) {
        double a = 2 * 3.14159265358979 * ((double)i / corners[kind] + turn[kind]);
        add(p, x + r * 1.15 * cos(a), y + r * 1.15 * sin(a));
    }
    p->pen->shape(p->pen, p->pts.d, p->pts.n, ink_of(series), tip);
}

static bool has_markers(const aot_chart_series *s)
{
    return s->shape == AOT_CHART_POINTS || s->shape == AOT_CHART_MARKED;
}

/* ---- legend ---------------------------------------------------------------------------------- */

static void swatch(plot *p, double x, double y, size_t i)
{
    const aot_chart_series *s = &p->c->series.d[i];
    if (s->shape == AOT_CHART_AREA) {
        aot_pt box[] = {{x, y - 5}, {x + 18, y - 5}, {x + 18, y + 5}, {x, y + 5}};
        p->pen->fill(p->pen, box, 4, ink_of(i), 0.8);
        return;
    }
    if (s->shape != AOT_CHART_POINTS) {
        aot_pt line[] = {{x, y}, {x + 20, y}};
        p->pen->line(p->pen, line, 2, ink_of(i), 2, (int)(i % 4));
    }
    if (has_markers(s)) {
        marker(p, x + 10, y, 4, i, NULL);
    }
}

/* Draws the legend from y on, in as many rows as it takes; returns the y below it. */
static double legend(plot *p, double y)
{
    double x = p->left;
    if (p->c->series.n < 2) {
        return y;
    }
    for (size_t i = 0; i < p->c->series.n; i++) {
        double width = SWATCH + aot_chart_text_width(p->c->series.d[i].name, SMALL) + 2 * GAP;
        if (x > p->left && x + width > p->right) {
            x = p->left;
            y += LEGEND_ROW;
        }
        swatch(p, x, y + LEGEND_ROW / 2.0, i);
        p->pen->text(p->pen, x + SWATCH, y + LEGEND_ROW / 2.0 + 4, SMALL, AOT_ANCHOR_START, false,
                     false, AOT_INK_TEXT, p->c->series.d[i].name);
        x += width;
    }
    return y + LEGEND_ROW + 4;
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Widest label of the y axis, in pixels. */
static double y_labels_width(const plot *p)
{
    double ticks[AOT_CHART_MAX_TICKS], widest = 0;
    char text[64];
    size_t n = aot_chart_ticks(ticks, p->r.y0, p->r.y1, 6, (aot_chart_unit)p->c->y.unit);
    for (size_t i = 0; i < n; i++) {
        double w = aot_chart_text_width(
            aot_chart_tick(text, sizeof text, (aot_chart_unit)p->c->y.unit, ticks, n, i), SMALL);
        widest = w > widest ? w : widest;
    }
    return widest;
}

static void axes(plot *p)
{
    double ticks[AOT_CHART_MAX_TICKS];
    char text[64];
    aot_pen *pen = p->pen;
    size_t n = aot_chart_ticks(ticks, p->r.y0, p->r.y1, 6, (aot_chart_unit)p->c->y.unit);
    for (size_t i = 0; i < n; i++) {
        double y = at_y(p, ticks[i]);
        pen->line(pen, (aot_pt[]){{p->left, y}, {p->right, y}}, 2, AOT_INK_GRID, 1, 0);
        pen->text(pen, p->left - 6, y + 4, SMALL, AOT_ANCHOR_END, false, false, AOT_INK_DIM,
                  aot_chart_tick(text, sizeof text, (aot_chart_unit)p->c->y.unit, ticks, n, i));
    }
    n = aot_chart_ticks(ticks, p->r.x0, p->r.x1, (int)((p->right - p->left) / 90),
                        (aot_chart_unit)p->c->x.unit);
    for (size_t i = 0; i < n; i++) {
        double x = at_x(p, ticks[i]);
        pen->line(pen, (aot_pt[]){{x, p->bottom}, {x, p->bottom + 4}}, 2, AOT_INK_DIM, 1, 0);
        pen->text(pen, x, p->bottom + 18, SMALL, AOT_ANCHOR_MIDDLE, false, false, AOT_INK_DIM,
                  aot_chart_tick(text, sizeof text, (aot_chart_unit)p->c->x.unit, ticks, n, i));
    }
    pen->line(pen, (aot_pt[]){{p->left, p->bottom}, {p->right, p->bottom}}, 2, AOT_INK_DIM, 1, 0);
    pen->text(pen, (p->left + p->right) / 2, p->bottom + 36, SMALL, AOT_ANCHOR_MIDDLE, false, false,
              AOT_INK_TEXT, p->c->x.label);
    pen->text(pen, 18, (p->top + p->bottom) / 2, SMALL, AOT_ANCHOR_MIDDLE, false, true,
              AOT_INK_TEXT, p->c->y.label);
}

/* ---- series ---------------------------------------------------------------------------------- */

static double height_of(const plot *p, const aot_chart_series *s, size_t i)
{
    return s->shape == AOT_CHART_AREA ? aot_chart_below(p->c, (uint32_t)p->c->series.n, i)
                                      : s->points.d[i].y;
}

static void keep_index(plot *p, uint32_t i)
{
    if (p->kept.n == 0 || p->kept.d[p->kept.n - 1] != i) {
        aot_vec_push(&p->kept, i);
    }
}

/* One pixel column's points a..b: the first, the extremes in order, the last. */
static void keep_column(plot *p, const aot_chart_series *s, uint32_t a, uint32_t b)
{
    uint32_t lo = a, hi = a;
    bool is_area = s->shape == AOT_CHART_AREA; // its lows are covered by its highs
    for (uint32_t i = a; i <= b; i++) {
        lo = height_of(p, s, i) < height_of(p, s, lo) ? i : lo;
        hi = height_of(p, s, i) > height_of(p, s, hi) ? i : hi;
    }
    if (is_area && b + 1 < s->points.n) {
        keep_index(p, hi);
        return;
    }
    keep_index(p, a);
    keep_index(p, lo < hi ? lo : hi);
    keep_index(p, lo < hi ? hi : lo);
    keep_index(p, b);
}

static void thin(plot *p, const aot_chart_series *s)
{
    p->kept.n = 0;
    bool all = has_markers(s) || (double)s->points.n <= 2 * (p->right - p->left);
    uint32_t n = (uint32_t)s->points.n;
    for (uint32_t a = 0, b; a < n; a = b + 1) {
        for (b = a; !all && b + 1 < n &&
                    floor(at_x(p, s->points.d[b + 1].x)) == floor(at_x(p, s->points.d[a].x));) {
            b++;
        }
        keep_column(p, s, a, b);
    }
}

/* Outline of the kept points, shifted up by what lies below; steps where the shape has them. */
static void outline(plot *p, const aot_chart_series *s, uint32_t series)
{
    bool steps = s->shape == AOT_CHART_STEP || s->shape == AOT_CHART_AREA;
    for (size_t k = 0; k < p->kept.n; k++) {
        uint32_t i = p->kept.d[k];
        double below = s->shape == AOT_CHART_AREA ? aot_chart_below(p->c, series, i) : 0;
        double x = at_x(p, s->points.d[i].x), y = at_y(p, s->points.d[i].y + below);
        if (steps && k > 0) {
            add(p, x, p->pts.d[p->pts.n - 1].y);
        }
        add(p, x, y);
    }
}

static void area(plot *p, const aot_chart_series *s, uint32_t series)
{
    p->pts.n = 0;
    outline(p, s, series);
    size_t top = p->pts.n;
    for (size_t k = p->kept.n; k-- > 0;) { // the lower edge, backwards
        double y = at_y(p, aot_chart_below(p->c, series, p->kept.d[k]));
        if (k + 1 < p->kept.n) {
            add(p, p->pts.d[p->pts.n - 1].x, y);
        }
        add(p, at_x(p, s->points.d[p->kept.d[k]].x), y);
    }
    p->pen->fill(p->pen, p->pts.d, p->pts.n, ink_of(series), 0.72);
    p->pen->line(p->pen, p->pts.d, top, ink_of(series), 1, 0);
}

static void draw_series(plot *p, uint32_t i)
{
    const aot_chart_series *s = &p->c->series.d[i];
    if (s->points.n == 0) {
        return;
    }
    thin(p, s);
    if (s->shape == AOT_CHART_AREA) {
        area(p, s, i);
        return;
    }
    if (s->shape != AOT_CHART_POINTS) {
        p->pts.n = 0;
        outline(p, s, i);
        p->pen->line(p->pen, p->pts.d, p->pts.n, ink_of(i), 2, (int)(i % 4));
    }
    for (size_t k = 0; has_markers(s) && k < s->points.n; k++) {
        marker(p, at_x(p, s->points.d[k].x), at_y(p, s->points.d[k].y), 4, i, s->points.d[k].tip);
    }
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* How much a label there would hide: marks' lines and labels that stand already, the frame. */
static int hidden_by(const plot *p, const aot_chart_mark *m, box b)
{
    int n = 8 * (b.x0 < p->left || b.x1 > p->width) + 4 * (b.y0 < p->top);
    for (size_t i = 0; i < p->labels.n; i++) {
        const box *o = &p->labels.d[i];
        n += 4 * (b.x0 < o->x1 && o->x0 < b.x1 && b.y0 < o->y1 && o->y0 < b.y1);
    }
    for (size_t i = 0; i < p->c->marks.n; i++) {
        const aot_chart_mark *o = &p->c->marks.d[i];
        double x = at_x(p, o->x), y = at_y(p, o->y);
        bool upright = o->kind == AOT_CHART_AT_X, level = o->kind == AOT_CHART_AT_Y;
        n += 2 * (o != m && !level && b.x0 < x + 9 && x - 9 < b.x1 &&
                  (upright || (b.y0 < y + 9 && y - 9 < b.y1)));
        n += 2 * (o != m && level && b.y0 < y && y < b.y1);
    }
    return n;
}

/* At the place around the mark that hides least. */
static void mark_label(plot *p, const aot_chart_mark *m, double x, double y)
{
    double wide = aot_chart_text_width(m->label, SMALL) + 4;
    box best = {0};
    int least = -1;
    bool at_left = false;
    for (int i = 0; i < 6; i++) { // right and left, above and twice below
        static const int rows[] = {-6, 16, 32};
        bool left = i % 2 != 0;
        double base = y + rows[i / 2];
        box b = {left ? x - 10 - wide : x + 10, base - SMALL, left ? x - 10 : x + 10 + wide,
                     base + 3};
        int n = hidden_by(p, m, b);
        if (least < 0 || n < least) {
            least = n;
            best = b;
            at_left = left;
        }
    }
    aot_vec_push(&p->labels, best);
    p->pen->text(p->pen, at_left ? best.x1 : best.x0, best.y1 - 3, SMALL,
                 at_left ? AOT_ANCHOR_END : AOT_ANCHOR_START, true, false, AOT_INK_MARK, m->label);
}

static void mark(plot *p, const aot_chart_mark *m)
{
    double x = m->kind == AOT_CHART_AT_Y ? p->right : at_x(p, m->x);
    double y = m->kind == AOT_CHART_AT_X ? p->top : at_y(p, m->y);
    if (m->kind == AOT_CHART_AT_X) {
        p->pen->line(p->pen, (aot_pt[]){{x, p->top}, {x, p->bottom}}, 2, AOT_INK_MARK, 1.5, 1);
    } else if (m->kind == AOT_CHART_AT_Y) {
        p->pen->line(p->pen, (aot_pt[]){{p->left, y}, {p->right, y}}, 2, AOT_INK_MARK, 1.5, 1);
    } else {
        p->pts.n = 0;
        for (int i = 0; i <= 20; i++) {
            add(p, x + 8 * cos(i * 0.31415926), y + 8 * sin(i * 0.31415926));
        }
        p->pen->line(p->pen, p->pts.d, p->pts.n, AOT_INK_MARK, 1.5, 0);
    }
    if (m->label != NULL) {
        mark_label(p, m, x, y);
    }
}

void aot_chart_draw(const aot_chart *c, aot_pen *pen, double width, double height)
{
    plot p = {.c = c, .pen = pen, .r = aot_chart_span(c), .width = width};
    double y = 14;
    p.r.y1 += (p.r.y1 - p.r.y0) * 0.06; // room above the highest value
    p.left = 36 + y_labels_width(&p);
    p.right = width - 28;
    p.bottom = height - 52;
    pen->text(pen, p.left, y + TITLE - 2, TITLE, AOT_ANCHOR_START, true, false, AOT_INK_TEXT,
              c->title);
    y += TITLE + GAP;
    if (c->subtitle != NULL) {
        pen->text(pen, p.left, y + SMALL - 2, SMALL, AOT_ANCHOR_START, false, false, AOT_INK_DIM,
                  c->subtitle);
        y += SMALL + GAP;
    }
    p.top = legend(&p, y) + 4;
    p.top = p.top > p.bottom - 20 ? p.bottom - 20 : p.top;
    axes(&p);
    for (uint32_t i = 0; i < c->series.n; i++) {
        draw_series(&p, i);
    }
    for (size_t i = 0; i < c->marks.n; i++) {
        mark(&p, &c->marks.d[i]);
    }
    aot_vec_free(&p.kept);
    aot_vec_free(&p.pts);
    aot_vec_free(&p.labels);
}
