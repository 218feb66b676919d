/* The data of a chart, and the round numbers of its axes. */
#include "viewers/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viewers/format.h"

/* Texts may come from a log: kept as visible UTF-8. */
static const char *keep(aot_chart *c, const char *text)
{
    aot_sb safe = {0};
    if (text == NULL) {
        return NULL;
    }
    aot_text_safe(&safe, text, strlen(text));
    const char *copy = aot_arena_strndup(c->arena, aot_sb_text(&safe), safe.n);
    aot_sb_free(&safe);
    return copy;
}

aot_chart *aot_chart_new(const char *title, const char *subtitle)
{
    aot_chart *c = aot_xcalloc(1, sizeof *c);
    c->arena = aot_arena_new();
    c->title = keep(c, title);
    c->subtitle = keep(c, subtitle);
    c->x.label = c->y.label = "";
    return c;
}

void aot_chart_free(aot_chart *c)
{
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->series.n; i++) {
        aot_vec_free(&c->series.d[i].points);
    }
    aot_vec_free(&c->series);
    aot_vec_free(&c->marks);
    aot_arena_free(c->arena);
    free(c);
}

void aot_chart_axes(aot_chart *c, const char *x_label, aot_chart_unit x, const char *y_label,
                    aot_chart_unit y)
{
    c->x = (aot_chart_axis){keep(c, x_label), (uint8_t)x};
    c->y = (aot_chart_axis){keep(c, y_label), (uint8_t)y};
}

uint32_t aot_chart_series_new(aot_chart *c, const char *name, aot_chart_shape shape)
{
    aot_chart_series s = {.name = keep(c, name), .shape = (uint8_t)shape};
    aot_vec_push(&c->series, s);
    return (uint32_t)c->series.n - 1;
}

void aot_chart_point(aot_chart *c, uint32_t series, double x, double y, const char *tip)
{
    aot_chart_xy p = {x, y, keep(c, tip)};
    aot_vec_push(&c->series.d[series].points, p);
}

void aot_chart_mark_at(aot_chart *c, aot_chart_mark_kind kind, double x, double y,
                       const char *label)
{
    aot_chart_mark m = {(uint8_t)kind, x, y, keep(c, label)};
    aot_vec_push(&c->marks, m);
}

double aot_chart_below(const aot_chart *c, uint32_t series, size_t i)
{
    double sum = 0;
    for (uint32_t k = 0; k < series; k++) {
        const aot_chart_series *s = &c->series.d[k];
        sum += s->shape == AOT_CHART_AREA && i < s->points.n ? s->points.d[i].y : 0;
    }
    return sum;
}

/* ---- axes ------------------------------------------------------------------------------------ */

typedef struct span {
    double lo, hi;
} span;

static void see(span *s, double v)
{
    s->lo = v < s->lo ? v : s->lo;
    s->hi = v > s->hi ? v : s->hi;
}

static void widen(span *s)
{
    if (!(s->lo <= s->hi)) { // nothing was seen
        *s = (span){0, 1};
    } else if (s->lo == s->hi) {
        s->hi += s->hi != 0 ? fabs(s->hi) * 0.1 : 1;
    }
}

aot_chart_range aot_chart_span(const aot_chart *c)
{
    span x = {INFINITY, -INFINITY}, y = {0, -INFINITY};
    bool any = false;
    size_t longest = 0;
    for (size_t k = 0; k < c->series.n; k++) {
        const aot_chart_series *s = &c->series.d[k];
        for (size_t i = 0; i < s->points.n; i++) {
            see(&x, s->points.d[i].x);
            see(&y, s->points.d[i].y);
            any = true;
        }
        longest = s->shape == AOT_CHART_AREA && s->points.n > longest ? s->points.n : longest;
    }
    for (size_t i = 0; i < longest; i++) {
        see(&y, aot_chart_below(c, (uint32_t)c->series.n, i));
    }
    for (size_t i = 0; i < c->marks.n; i++) {
        if (c->marks.d[i].kind != AOT_CHART_AT_Y) {
            see(&x, c->marks.d[i].x);
        }
        if (c->marks.d[i].kind != AOT_CHART_AT_X) {
            see(&y, c->marks.d[i].y);
            any = true;
        }
    }
    if (!any) {
        y.hi = 1;
    }
    widen(&x);
    widen(&y);
    return (aot_chart_range){x.lo, x.hi, y.lo, y.hi};
}

static const char *const byte_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
static const char *const flop_units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
enum { N_UNITS = 6 };

/* Which of the units the axis is labelled in, and its size: that of its largest value. */
static int unit_of_axis(double *one, aot_chart_unit unit, double most)
{
    double base = unit == AOT_CHART_BYTES ? 1024 : 1000;
    int k = 0;
    *one = 1;
    while ((unit == AOT_CHART_BYTES || unit == AOT_CHART_FLOPS) && most >= *one * base &&
           k + 1 < N_UNITS) {
        *one *= base;
        k++;
    }
    return k;
}

/* 1, 2 or 5 times a power of ten, the least that is not below; of the axis's unit, so that labels
 * are round. */
static double nice_step(double rough, double most, aot_chart_unit unit)
{
    double one;
    unit_of_axis(&one, unit, most);
    double power = pow(10, floor(log10(rough / one)));
    double times = rough / one / power;
    double step = (times <= 1.0000001   ? 1
                   : times <= 2.0000001 ? 2
                   : times <= 5.0000001 ? 5
                                        : 10) *
                  power * one;
    return unit != AOT_CHART_NUMBER && step < 1 ? 1 : step;
}

size_t aot_chart_ticks(double out[AOT_CHART_MAX_TICKS], double lo, double hi, int about,
                       aot_chart_unit unit)
{
    size_t n = 0;
    about = about < 1 ? 1 : about > AOT_CHART_MAX_TICKS - 2 ? AOT_CHART_MAX_TICKS - 2 : about;
    double step = nice_step((hi - lo) / about, fmax(fabs(lo), fabs(hi)), unit);
    if (!(step > 0) || !isfinite(step)) {
        return 0;
    }
    double first = ceil(lo / step - 1e-9);
    for (int i = 0; n < AOT_CHART_MAX_TICKS; i++) {
        double v = (first + i) * step;
        if (v > hi + step * 1e-9) {
            break;
        }
        out[n++] = v == 0 ? 0 : v; // no -0
    }
    return n;
}

/* "1.50" as "1.5". */
static void drop_zeros(char *digits)
{
    size_t n = strlen(digits);
    if (strchr(digits, '.') == NULL) {
        return;
    }
    while (digits[n - 1] == '0') {
        digits[--n] = '\0';
    }
    if (digits[n - 1] == '.') {
        digits[n - 1] = '\0';
    }
}

const char *aot_chart_tick(char *buf, size_t size, aot_chart_unit unit, const double *ticks,
                           size_t n, size_t i)
{
    double one, most = n > 0 ? fmax(fabs(ticks[0]), fabs(ticks[n - 1])) : 0;
    int k = unit_of_axis(&one, unit, most);
    if (unit == AOT_CHART_INDEX || unit == AOT_CHART_NUMBER || ticks[i] == 0) {
        return aot_chart_value(buf, size, unit, ticks[i]);
    }
    double step = n > 1 ? (ticks[1] - ticks[0]) / one : 0.01;
    int places = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
    char digits[64];
    snprintf(digits, sizeof digits, "%.*f", places > 9 ? 9 : places, ticks[i] / one);
    drop_zeros(digits);
    snprintf(buf, size, "%s %s", digits, (unit == AOT_CHART_BYTES ? byte_units : flop_units)[k]);
    return buf;
}

static const char *scaled(char *buf, size_t size, double v, double base, const char *const *units)
{
    int k = 0;
    double shown = fabs(v);
    while (shown >= base && k + 1 < N_UNITS) {
        shown /= base;
        k++;
    }
    char digits[48];
    snprintf(digits, sizeof digits, "%.*f",
             shown >= 100 || k == 0 ? 0
             : shown >= 10          ? 1
                                    : 2,
             shown);
    drop_zeros(digits);
    snprintf(buf, size, "%s%s %s", v < 0 ? "-" : "", digits, units[k]);
    return buf;
}

const char *aot_chart_value(char *buf, size_t size, aot_chart_unit unit, double v)
{
    switch (unit) {
    case AOT_CHART_BYTES:
        return v == 0 ? (snprintf(buf, size, "0"), buf) : scaled(buf, size, v, 1024, byte_units);
    case AOT_CHART_FLOPS:
        return v == 0 ? (snprintf(buf, size, "0"), buf) : scaled(buf, size, v, 1000, flop_units);
    case AOT_CHART_INDEX:
        return aot_format_count(buf, size, (int64_t)llround(v));
    case AOT_CHART_NUMBER:
        break;
    }
    snprintf(buf, size, "%.6g", v);
    return buf;
}
