/* Charts: numbers against numbers, before they are drawn. A chart is built from data by whoever has
 * it (sweep, memory), and drawn as SVG, PDF or PNG here, or as characters by chart_text.c.
 *
 * No colour carries meaning alone: series differ in marker and dash too, and are named in a legend.
 * Texts are copied; what is not printable UTF-8 is replaced when drawn. */
#ifndef AOT_VIEWERS_CHART_H
#define AOT_VIEWERS_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

typedef enum aot_chart_unit {
    AOT_CHART_NUMBER, /* 0.25 */
    AOT_CHART_INDEX,  /* 1,024: whole numbers */
    AOT_CHART_BYTES,  /* 1.5 MiB: steps of 1024 */
    AOT_CHART_FLOPS   /* 1.5 G: steps of 1000 */
} aot_chart_unit;

typedef enum aot_chart_shape {
    AOT_CHART_LINE,
    AOT_CHART_STEP,   /* y holds until the next x */
    AOT_CHART_POINTS, /* markers alone */
    AOT_CHART_MARKED, /* line and markers */
    AOT_CHART_AREA    /* filled steps, stacked on the areas before; all areas have the same xs */
} aot_chart_shape;

typedef enum aot_chart_mark_kind {
    AOT_CHART_AT_X, /* vertical line */
    AOT_CHART_AT_Y, /* horizontal line */
    AOT_CHART_AT_XY /* ring around a point */
} aot_chart_mark_kind;

typedef struct aot_chart_xy {
    double x, y;      /* finite */
    const char *tip;  /* what a pointer over it shows; NULL */
} aot_chart_xy;

typedef struct aot_chart_series {
    const char *name; /* for the legend */
    uint8_t shape;    /* aot_chart_shape */
    AOT_VEC(aot_chart_xy) points; /* x ascending, but for POINTS and MARKED */
} aot_chart_series;

typedef struct aot_chart_mark {
    uint8_t kind; /* aot_chart_mark_kind */
    double x, y;
    const char *label; /* "peak: 3.2 MiB"; NULL */
} aot_chart_mark;

typedef struct aot_chart_axis {
    const char *label; /* "budget" */
    uint8_t unit;      /* aot_chart_unit */
} aot_chart_axis;

typedef struct aot_chart {
    aot_arena *arena; /* of its texts */
    const char *title, *subtitle; /* subtitle: NULL if none */
    aot_chart_axis x, y;
    AOT_VEC(aot_chart_series) series;
    AOT_VEC(aot_chart_mark) marks;
} aot_chart;

/* subtitle may be NULL. Free with aot_chart_free (NULL is fine). */
aot_chart *aot_chart_new(const char *title, const char *subtitle);
void aot_chart_free(aot_chart *c);
void aot_chart_axes(aot_chart *c, const char *x_label, aot_chart_unit x, const char *y_label,
                    aot_chart_unit y);
/* Returns the index of the new series. */
uint32_t aot_chart_series_new(aot_chart *c, const char *name, aot_chart_shape shape);
/* tip may be NULL. */
void aot_chart_point(aot_chart *c, uint32_t series, double x, double y, const char *tip);
/* A coordinate that the kind has not is ignored; label may be NULL. */
void aot_chart_mark_at(aot_chart *c, aot_chart_mark_kind kind, double x, double y,
                       const char *label);

/* ---- what every renderer needs --------------------------------------------------------------- */

typedef struct aot_chart_range {
    double x0, x1, y0, y1; /* x0 < x1, y0 < y1; y0 is 0 unless a value is negative */
} aot_chart_range;

/* What the axes have to span: data, stacked areas and marks. */
aot_chart_range aot_chart_span(const aot_chart *c);
enum { AOT_CHART_MAX_TICKS = 24 };
/* Round numbers within lo and hi (lo < hi), at most `about` + 2 of them; returns how many. */
size_t aot_chart_ticks(double out[AOT_CHART_MAX_TICKS], double lo, double hi, int about,
                       aot_chart_unit unit);
/* The label of ticks[i]: all of an axis have one unit, and the digits that tell neighbours apart
 * ("250.2 KiB", "250.4 KiB"). Returns buf. */
const char *aot_chart_tick(char *buf, size_t size, aot_chart_unit unit, const double *ticks,
                           size_t n, size_t i);
/* A number as a text shows it: "0.25", "1,024", "1.5 MiB", "2 GFLOP". Returns buf. */
const char *aot_chart_value(char *buf, size_t size, aot_chart_unit unit, double v);
/* Heights of the stack below area `series` at its point i (0 for the lowest). */
double aot_chart_below(const aot_chart *c, uint32_t series, size_t i);

/* ---- drawing --------------------------------------------------------------------------------- */

typedef struct aot_chart_options {
    int width, height; /* of one chart in pixels (PDF: points); 0 = 900 by 440 */
    const char *color; /* "light", "dark", "mono", "auto"; NULL = auto. auto: SVG that follows the
                        * reader's light or dark, light elsewhere */
} aot_chart_options;

/* Draws charts one below the other (PDF: a page each) as "svg", "pdf" or "png"; bytes are appended
 * to *out. opt may be NULL. Errors: E_USAGE (format, colour), E_IO (cairo's own trouble). */
AOT_NODISCARD aot_status aot_charts_render(aot_sb *out, const aot_chart *const *charts, size_t n,
                                           const char *format, const aot_chart_options *opt,
                                           aot_err *err);
/* Whether the format is one of svg, pdf, png. */
bool aot_chart_format_known(const char *format);

#endif
