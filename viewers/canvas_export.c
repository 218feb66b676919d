/* A canvas as HTML or SVG: what stands on the screen with its colours, for a report or an issue.
 * Cells of one style become one piece of text; each row is a line of monospaced text, so that
 * columns stay in line whatever font is there. Colours are those of 256 of the theme in force. */
#include <stdio.h>
#include <string.h>

#include "viewers/canvas.h"
#include "viewers/theme.h"

enum { CELL_W = 8, CELL_H = 17, BASE = 13, FONT = 13 }; // of SVG, in pixels

typedef struct paint {
    char fg[8], bg[8]; /* "#rrggbb"; bg "" where it is the page's */
    bool bold, dim, underline;
} paint;

static paint paint_of(const aot_cell *x)
{
    const aot_theme_info *theme = aot_theme_get(aot_theme_now());
    aot_look look = aot_look_of(aot_style_sgr((aot_style)x->style, 256));
    paint p = {.bold = look.bold, .dim = look.dim, .underline = look.underline};
    snprintf(p.fg, sizeof p.fg, "%s", theme->text);
    if (look.fg >= 0) {
        aot_palette_rgb(look.fg, p.fg);
    }
    if (look.bg >= 0) {
        aot_palette_rgb(look.bg, p.bg);
    }
    if (look.reverse != x->selected) {
        char was[8];
        memcpy(was, p.fg, sizeof was);
        memcpy(p.fg, *p.bg ? p.bg : theme->background, sizeof p.fg);
        memcpy(p.bg, was, sizeof p.bg);
    }
    return p;
}

static bool same_look(const aot_cell *a, const aot_cell *b)
{
    return a->style == b->style && a->selected == b->selected;
}

static void add_escaped(aot_sb *out, uint32_t ch)
{
    switch (ch) {
    case '<': aot_sb_addz(out, "&lt;"); break;
    case '>': aot_sb_addz(out, "&gt;"); break;
    case '&': aot_sb_addz(out, "&amp;"); break;
    case '"': aot_sb_addz(out, "&quot;"); break;
    default: aot_utf8_add(out, ch < 0x20 || (ch & 0xfffe) == 0xfffe ? 0xfffd : ch); break;
    }
}

/* Text of the cells [from, to) of a row. */
static void add_cells(aot_sb *out, const aot_canvas *c, int row, int from, int to)
{
    for (int i = from; i < to; i++) {
        const aot_cell *x = aot_canvas_at(c, row, i);
        if (x->width > 0) {
            add_escaped(out, x->ch);
        }
        if (x->width > 0 && x->mark) {
            aot_utf8_add(out, x->mark);
        }
    }
}

/* End of the piece of one look that starts at a column. */
static int piece_end(const aot_canvas *c, int row, int from)
{
    int to = from + 1;
    while (to < c->cols && (same_look(aot_canvas_at(c, row, from), aot_canvas_at(c, row, to)) ||
                            aot_canvas_at(c, row, to)->width == 0)) {
        to++;
    }
    return to;
}

void aot_canvas_html(aot_sb *out, const aot_canvas *c, const char *title)
{
    const aot_theme_info *theme = aot_theme_get(aot_theme_now());
    aot_sb_addz(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    for (const char *s = title; *s;) {
        add_escaped(out, aot_utf8_next(&s));
    }
    aot_sb_addf(out, "</title></head>\n<body style=\"background:%s\">\n<pre style=\"color:%s;"
                     "font:%dpx/%dpx monospace\">", theme->background, theme->text, FONT, CELL_H);
    for (int r = 0; r < c->rows; r++) {
        for (int i = 0, end; i < c->cols; i = end) {
            end = piece_end(c, r, i);
            paint p = paint_of(aot_canvas_at(c, r, i));
            aot_sb_addf(out, "<span style=\"color:%s", p.fg);
            if (*p.bg) {
                aot_sb_addf(out, ";background:%s", p.bg);
            }
            aot_sb_addf(out, "%s%s%s\">", p.bold ? ";font-weight:bold" : "",
                        p.dim ? ";opacity:.6" : "",
                        p.underline ? ";text-decoration:underline" : "");
            add_cells(out, c, r, i, end);
            aot_sb_addz(out, "</span>");
        }
        aot_sb_addc(out, '\n');
    }
    aot_sb_addz(out, "</pre>\n</body></html>\n");
}

static bool is_blank(const aot_canvas *c, int row, int i)
{
    const aot_cell *x = aot_canvas_at(c, row, i);
    return x->ch == ' ' && !x->mark;
}

/* Texts of [from, to): browsers drop blanks at the ends and all but one between, so each text
 * begins at a column of its own and holds no two blanks in a row. */
static void add_texts(aot_sb *out, const aot_canvas *c, int row, int from, int to, const paint *p)
{
    for (int i = from, end; i < to; i = end) {
        while (i < to && is_blank(c, row, i)) {
            i++;
        }
        end = i;
        while (end < to &&
               !(is_blank(c, row, end) && (end + 1 == to || is_blank(c, row, end + 1)))) {
            end++;
        }
        if (end > i) {
            aot_sb_addf(out, "<text x=\"%d\" y=\"%d\" textLength=\"%d\" fill=\"%s\"%s%s%s>",
                        i * CELL_W + CELL_W / 2, row * CELL_H + 4 + BASE, (end - i) * CELL_W, p->fg,
                        p->bold ? " font-weight=\"bold\"" : "", p->dim ? " opacity=\"0.6\"" : "",
                        p->underline ? " text-decoration=\"underline\"" : "");
            add_cells(out, c, row, i, end);
            aot_sb_addz(out, "</text>\n");
        }
    }
}

void aot_canvas_svg(aot_sb *out, const aot_canvas *c)
{
    const aot_theme_info *theme = aot_theme_get(aot_theme_now());
    aot_sb_addf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                     "font-family=\"monospace\" font-size=\"%d\">\n"
                     "<rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/>\n",
                c->cols * CELL_W + CELL_W, c->rows * CELL_H + 8, FONT, theme->background);
    for (int r = 0; r < c->rows; r++) {
        for (int i = 0, end; i < c->cols; i = end) {
            end = piece_end(c, r, i);
            paint p = paint_of(aot_canvas_at(c, r, i));
            int x = i * CELL_W + CELL_W / 2, w = (end - i) * CELL_W;
            if (*p.bg) {
                aot_sb_addf(out,
                            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x,
                            r * CELL_H + 4, w, CELL_H, p.bg);
            }
            add_texts(out, c, r, i, end, &p);
        }
    }
    aot_sb_addz(out, "</svg>\n");
}

aot_status aot_canvas_write(aot_sb *out, const aot_canvas *c, const char *path, const char *title,
                            aot_err *err)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    dot = dot ? dot + 1 : "";
    if (strcmp(dot, "html") == 0 || strcmp(dot, "htm") == 0) {
        aot_canvas_html(out, c, title);
    } else if (strcmp(dot, "svg") == 0) {
        aot_canvas_svg(out, c);
    } else if (strcmp(dot, "ansi") == 0) {
        aot_canvas_ansi(out, c, 256);
    } else if (strcmp(dot, "txt") == 0 || strcmp(dot, "text") == 0 || !*dot) {
        aot_canvas_text(out, c);
    } else {
        return AOT_FAIL(err, AOT_E_USAGE, "%s: the name should end in .txt, .ansi, .html or .svg",
                        path);
    }
    return AOT_OK;
}
