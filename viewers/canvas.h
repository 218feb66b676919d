/* A grid of character cells with styles. Views draw on it; the screen, the command line and the
 * tests show it. Knows no curses and no locale: widths come from its own table.
 *
 * All text is UTF-8. Control characters and broken bytes become a visible replacement, so nothing
 * that was read from a log can drive the terminal. */
#ifndef AOT_VIEWERS_CANVAS_H
#define AOT_VIEWERS_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

typedef enum aot_style { /* styles.def */
#define STYLE(id, name, sgr8, sgr256, sentence) AOT_STYLE_##id,
#include "viewers/styles.def"
#undef STYLE
    AOT_N_STYLES
} aot_style;

typedef struct aot_style_info {
    const char *name, *sgr8, *sgr256, *sentence;
} aot_style_info;
const aot_style_info *aot_style_get(aot_style s);

/* ---- text ------------------------------------------------------------------------------ */

/* Next code point of *s, which is advanced past it; broken bytes give U+FFFD and advance by one.
 * 0 at the end. */
uint32_t aot_utf8_next(const char **s);
void aot_utf8_add(aot_sb *out, uint32_t ch);
/* Columns of a code point: 0 combining, 1, or 2 (East Asian wide, emoji). Control characters: 1. */
int aot_char_width(uint32_t ch);
int aot_text_width(const char *s);
/* Appends s cut to at most cols columns; a cut text ends in "…" ("~" in ASCII). Returns columns
 * used. */
int aot_text_fit(aot_sb *out, const char *s, int cols, bool ascii);
/* Appends s with what is not ASCII spelled out: "…" as "~", "×" as "x", "³" as "^3", "·" as "-",
 * box lines as + - |; anything else as "?". */
void aot_text_to_ascii(aot_sb *out, const char *s);
/* Appends s with control characters, broken UTF-8 and what is no character replaced: safe for a
 * terminal and in XML. */
void aot_text_safe(aot_sb *out, const char *s, size_t n);

/* ---- the grid --------------------------------------------------------------------------- */

typedef struct aot_cell {
    uint32_t ch;    /* ' ' if empty */
    uint32_t mark;  /* one combining character; 0 = none */
    uint8_t style;  /* aot_style */
    uint8_t width;  /* 1, 2; 0 = right half of the cell before */
    bool selected;  /* drawn in reverse on top of its style */
    bool changed;   /* for the caller's use */
} aot_cell;

typedef struct aot_canvas {
    int rows, cols;
    bool ascii; /* boxes and signs in ASCII */
    aot_cell *cells;
} aot_canvas;

void aot_canvas_init(aot_canvas *c, int rows, int cols, bool ascii);
void aot_canvas_resize(aot_canvas *c, int rows, int cols); /* clears */
void aot_canvas_free(aot_canvas *c);
void aot_canvas_clear(aot_canvas *c);
static inline const aot_cell *aot_canvas_at(const aot_canvas *c, int row, int col)
{
    return &c->cells[(size_t)row * (size_t)c->cols + (size_t)col];
}

/* Draws text from (row, col), clipped to the canvas; returns the column after it. */
int aot_canvas_put(aot_canvas *c, int row, int col, aot_style style, const char *text);
int aot_canvas_putf(aot_canvas *c, int row, int col, aot_style style, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Draws text in a field of exactly cols columns, cut with "…" or padded with blanks. */
int aot_canvas_field(aot_canvas *c, int row, int col, int cols, aot_style style, const char *text);
int aot_canvas_field_right(aot_canvas *c, int row, int col, int cols, aot_style style,
                           const char *text);
void aot_canvas_fill(aot_canvas *c, int row, int col, int cols, uint32_t ch, aot_style style);
void aot_canvas_restyle(aot_canvas *c, int row, int col, int cols, aot_style style);
void aot_canvas_select(aot_canvas *c, int row, int col, int cols); /* sets `selected` */
/* A frame of the given outer size; title (may be NULL) stands in its upper line. */
void aot_canvas_box(aot_canvas *c, int row, int col, int rows, int cols, aot_style style,
                    const char *title);
void aot_canvas_hline(aot_canvas *c, int row, int col, int cols, aot_style style);
void aot_canvas_vline(aot_canvas *c, int row, int col, int rows, aot_style style);

/* Text of the grid, one line a row, trailing blanks dropped: what tests compare. */
void aot_canvas_text(aot_sb *out, const aot_canvas *c);
/* The same with colours: colors is 0 (none), 8, 16 or 256. */
void aot_canvas_ansi(aot_sb *out, const aot_canvas *c, int colors);
/* The same as a page or a picture, with the colours of the theme (canvas_export.c). */
void aot_canvas_html(aot_sb *out, const aot_canvas *c, const char *title);
void aot_canvas_svg(aot_sb *out, const aot_canvas *c);
/* The canvas as the ending of a file name says: .txt, .ansi, .html, .svg. E_USAGE for others. */
AOT_NODISCARD aot_status aot_canvas_write(aot_sb *out, const aot_canvas *c, const char *path,
                                          const char *title, aot_err *err);
/* One letter a cell for its style, for tests: 'a' + style, '.' for NORMAL; upper case if
 * selected. */
void aot_canvas_styles(aot_sb *out, const aot_canvas *c);

/* How many colours to write to a file descriptor: 0, 8, 16 or 256. Order: FORCE_COLOR, NO_COLOR,
 * CLICOLOR_FORCE, CLICOLOR, then whether it is a terminal and what TERM says. */
int aot_colors_for(int fd);
/* Whether the locale's character set is UTF-8 (LC_ALL, LC_CTYPE, LANG). */
bool aot_locale_is_utf8(void);

#endif
