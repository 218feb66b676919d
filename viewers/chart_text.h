/* Charts as characters: on a canvas of the terminal, or as text of a command. */
#ifndef AOT_VIEWERS_CHART_TEXT_H
#define AOT_VIEWERS_CHART_TEXT_H

#include "viewers/canvas.h"
#include "viewers/chart.h"

typedef enum aot_chart_glyphs {
    AOT_CHART_BRAILLE, /* 2 x 4 dots a character */
    AOT_CHART_BLOCKS,  /* 1 x 2 half blocks: fonts of consoles have them */
    AOT_CHART_ASCII    /* 1 x 2 as . ' : */
} aot_chart_glyphs;
/* What the terminal can show: ASCII where asked for, blocks on the Linux console (TERM), else
 * braille. */
aot_chart_glyphs aot_chart_glyphs_for(bool ascii);

/* Where the data is drawn: cells of the canvas, and what they span. */
typedef struct aot_chart_plot {
    int y, x, rows, cols;
    aot_chart_range range;
} aot_chart_plot;

/* Draws title, legend, axes with their units, series and marks into a field of at least 20 x 6
 * cells (smaller: nothing is drawn, and plot->cols is 0). A stretch of an area or step that is
 * narrower than a dot shows its highest value. Several areas differ in pattern. plot may be NULL.
 * Cost: linear in the points. */
void aot_chart_text(const aot_chart *chart, aot_canvas *c, int y, int x, int rows, int cols,
                    aot_chart_glyphs glyphs, aot_chart_plot *plot);
/* Cell of a coordinate, kept within the plot. */
int aot_chart_plot_col(const aot_chart_plot *p, double x);
int aot_chart_plot_row(const aot_chart_plot *p, double y);
/* A vertical line at x over what is drawn. */
void aot_chart_cursor(const aot_chart_plot *p, aot_canvas *c, double x);

#endif
