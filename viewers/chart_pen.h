/* What a chart is drawn with: a few strokes that SVG and cairo both have. Coordinates in pixels
 * from the upper left. Inside viewers only. */
#ifndef AOT_VIEWERS_CHART_PEN_H
#define AOT_VIEWERS_CHART_PEN_H

#include "viewers/chart.h"

typedef enum aot_ink {
    AOT_INK_PAPER,
    AOT_INK_TEXT,
    AOT_INK_DIM,
    AOT_INK_GRID,
    AOT_INK_MARK,
    AOT_INK_SERIES
} aot_ink;
enum { AOT_INK_N_SERIES = 8, AOT_N_INKS = AOT_INK_SERIES + AOT_INK_N_SERIES };

/* Colours "#rrggbb" by aot_ink. */
typedef struct aot_palette {
    const char *name;
    const char *ink[AOT_N_INKS];
} aot_palette;
/* NULL if there is none; "auto" is "light" */
const aot_palette *aot_palette_find(const char *name);

typedef struct aot_pt {
    double x, y;
} aot_pt;

typedef enum aot_anchor { AOT_ANCHOR_START, AOT_ANCHOR_MIDDLE, AOT_ANCHOR_END } aot_anchor;

typedef struct aot_pen aot_pen;
struct aot_pen {
    void (*begin)(aot_pen *p, const aot_chart *c, double y); /* the chart lies y pixels down */
    void (*end)(aot_pen *p);
    /* An open line; dash: 0 none, else which pattern. */
    void (*line)(aot_pen *p, const aot_pt *pts, size_t n, int ink, double width, int dash);
    void (*fill)(aot_pen *p, const aot_pt *pts, size_t n, int ink, double alpha);
    /* A closed outline, filled with the ink, with a tooltip (may be NULL). */
    void (*shape)(aot_pen *p, const aot_pt *pts, size_t n, int ink, const char *tip);
    /* turned: written upwards. */
    void (*text)(aot_pen *p, double x, double y, double size, aot_anchor anchor, bool bold,
                 bool turned, int ink, const char *text);
};

/* Draws one chart of that size at the pen's place. */
void aot_chart_draw(const aot_chart *c, aot_pen *pen, double width, double height);
/* Pixels that a text takes, about: letters differ by font. */
double aot_chart_text_width(const char *text, double size);

void aot_chart_svg(aot_sb *out, const aot_chart *const *charts, size_t n, double width,
                   double height, const aot_palette *palette, bool follows_reader);
AOT_NODISCARD aot_status aot_chart_cairo(aot_sb *out, const aot_chart *const *charts, size_t n,
                                         bool pdf, double width, double height,
                                         const aot_palette *palette, aot_err *err);

#endif
