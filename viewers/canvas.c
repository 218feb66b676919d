/* The grid of styled cells that views draw on, and its ways out: plain text, ANSI colours, style
 * letters for tests. Everything is clipped; nothing outside the grid is ever written. */
#include "viewers/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "viewers/theme.h"

static const aot_style_info styles[] = {
#define STYLE(id, name, sgr8, sgr256, sentence) {name, sgr8, sgr256, sentence},
#include "viewers/styles.def"
#undef STYLE
};

const aot_style_info *aot_style_get(aot_style s)
{
    return &styles[(unsigned)s < AOT_N_STYLES ? s : 0];
}

void aot_canvas_clear(aot_canvas *c)
{
    aot_cell blank = {.ch = ' ', .width = 1};
    for (size_t i = 0; i < (size_t)c->rows * (size_t)c->cols; i++) {
        c->cells[i] = blank;
    }
}

void aot_canvas_resize(aot_canvas *c, int rows, int cols)
{
    c->rows = rows < 0 ? 0 : rows;
    c->cols = cols < 0 ? 0 : cols;
    free(c->cells);
    c->cells = aot_xcalloc((size_t)c->rows * (size_t)c->cols + 1, sizeof *c->cells);
    aot_canvas_clear(c);
}

void aot_canvas_init(aot_canvas *c, int rows, int cols, bool ascii)
{
    *c = (aot_canvas){.ascii = ascii};
    aot_canvas_resize(c, rows, cols);
}

void aot_canvas_free(aot_canvas *c)
{
    free(c->cells);
    *c = (aot_canvas){0};
}

static aot_cell *cell(aot_canvas *c, int row, int col)
{
    if (row < 0 || col < 0 || row >= c->rows || col >= c->cols) {
        return NULL;
    }
    return &c->cells[(size_t)row * (size_t)c->cols + (size_t)col];
}

// Writes one cell; a wide character that loses one half becomes a blank.
static void set(aot_canvas *c, int row, int col, uint32_t ch, uint8_t width, aot_style style)
{
    aot_cell *x = cell(c, row, col);
    if (!x) {
        return;
    }
    aot_cell *left = x->width == 0 ? cell(c, row, col - 1) : NULL;
    if (left) {
        left->ch = ' ';
        left->width = 1;
    }
    aot_cell *right = x->width == 2 ? cell(c, row, col + 1) : NULL;
    if (right) {
        right->ch = ' ';
        right->width = 1;
    }
    *x = (aot_cell){.ch = ch, .width = width, .style = (uint8_t)style, .selected = x->selected};
}

static int put_char(aot_canvas *c, int row, int col, int end, uint32_t ch, aot_style style)
{
    int w = aot_char_width(ch);
    if (w == 0) {
        aot_cell *before = cell(c, row, col - 1);
        if (before && before->width == 0) {
            before = cell(c, row, col - 2);
        }
        if (before && !before->mark) {
            before->mark = ch;
        }
        return col;
    }
    if ((ch >= 0x7f && ch < 0xa0) || ch < 0x20) {
        ch = ch == '\t' ? ' ' : c->ascii ? '?' : 0xfffd;
    }
    if (col + w <= end) {
        set(c, row, col, ch, (uint8_t)w, style);
        if (w == 2) {
            set(c, row, col + 1, ' ', 1, style); // frees what stood there
            aot_cell *right = cell(c, row, col + 1);
            if (right) {
                right->width = 0;
            }
            aot_cell *x = cell(c, row, col); // the line above may have blanked it
            if (x) {
                x->ch = ch;
                x->width = right ? 2 : 1;
            }
        }
    }
    return col + w;
}

static int put_until(aot_canvas *c, int row, int col, int end, aot_style style, const char *text)
{
    aot_sb spelled = {0};
    if (c->ascii) {
        aot_text_to_ascii(&spelled, text);
        text = aot_sb_text(&spelled);
    }
    for (uint32_t ch; (ch = aot_utf8_next(&text)) != 0;) {
        col = put_char(c, row, col, end, ch, style);
    }
    aot_sb_free(&spelled);
    return col;
}

int aot_canvas_put(aot_canvas *c, int row, int col, aot_style style, const char *text)
{
    return put_until(c, row, col, c->cols, style, text);
}

int aot_canvas_putf(aot_canvas *c, int row, int col, aot_style style, const char *fmt, ...)
{
    char *text;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        aot_oom(0);
    }
    col = aot_canvas_put(c, row, col, style, text);
    free(text);
    return col;
}

static int field(aot_canvas *c, int row, int col, int cols, aot_style style, const char *text,
                 bool right)
{
    aot_sb spelled = {0}, cut = {0};
    if (c->ascii) {
        aot_text_to_ascii(&spelled, text);
        text = aot_sb_text(&spelled);
    }
    int w = aot_text_fit(&cut, text, cols, c->ascii);
    aot_canvas_fill(c, row, col, cols, ' ', style);
    put_until(c, row, right ? col + cols - w : col, col + cols < c->cols ? col + cols : c->cols,
              style, aot_sb_text(&cut));
    aot_sb_free(&spelled);
    aot_sb_free(&cut);
    return col + cols;
}

int aot_canvas_field(aot_canvas *c, int row, int col, int cols, aot_style style, const char *text)
{
    return field(c, row, col, cols, style, text, false);
}

int aot_canvas_field_right(aot_canvas *c, int row, int col, int cols, aot_style style,
                           const char *text)
{
    return field(c, row, col, cols, style, text, true);
}

void aot_canvas_fill(aot_canvas *c, int row, int col, int cols, uint32_t ch, aot_style style)
{
    for (int i = 0; i < cols; i++) {
        set(c, row, col + i, ch, 1, style);
    }
}

void aot_canvas_restyle(aot_canvas *c, int row, int col, int cols, aot_style style)
{
    for (int i = 0; i < cols; i++) {
        aot_cell *x = cell(c, row, col + i);
        if (x) {
            x->style = (uint8_t)style;
        }
    }
}

void aot_canvas_select(aot_canvas *c, int row, int col, int cols)
{
    for (int i = 0; i < cols; i++) {
        aot_cell *x = cell(c, row, col + i);
        if (x) {
            x->selected = true;
        }
    }
}

void aot_canvas_hline(aot_canvas *c, int row, int col, int cols, aot_style style)
{
    aot_canvas_fill(c, row, col, cols, c->ascii ? '-' : 0x2500, style);
}

void aot_canvas_vline(aot_canvas *c, int row, int col, int rows, aot_style style)
{
    for (int i = 0; i < rows; i++) {
        set(c, row + i, col, c->ascii ? '|' : 0x2502, 1, style);
    }
}

void aot_canvas_box(aot_canvas *c, int row, int col, int rows, int cols, aot_style style,
                    const char *title)
{
    if (rows < 2 || cols < 2) {
        return;
    }
    aot_canvas_hline(c, row, col, cols, style);
    aot_canvas_hline(c, row + rows - 1, col, cols, style);
    aot_canvas_vline(c, row, col, rows, style);
    aot_canvas_vline(c, row, col + cols - 1, rows, style);
    static const uint32_t corners[4] = {0x250c, 0x2510, 0x2514, 0x2518};
    for (int i = 0; i < 4; i++) {
        set(c, i < 2 ? row : row + rows - 1, i % 2 ? col + cols - 1 : col,
            c->ascii ? '+' : corners[i], 1, style);
    }
    if (title && *title && cols > 6) {
        aot_sb cut = {0};
        aot_sb_addc(&cut, ' ');
        aot_text_fit(&cut, title, cols - 5, c->ascii);
        aot_sb_addc(&cut, ' ');
        put_until(c, row, col + 1, c->cols, AOT_STYLE_TITLE, aot_sb_text(&cut));
        aot_sb_free(&cut);
    }
}

// Columns of a row without its trailing unstyled blanks.
static int row_end(const aot_canvas *c, int row, bool styles_count)
{
    int end = c->cols;
    while (end > 0) {
        const aot_cell *x = aot_canvas_at(c, row, end - 1);
        bool bar = styles_count && (x->selected || x->style == AOT_STYLE_BAR);
        if (x->ch != ' ' || x->width == 0 || bar) {
            break;
        }
        end--;
    }
    return end;
}

static void add_cell(aot_sb *out, const aot_cell *x)
{
    if (x->width == 0) {
        return;
    }
    aot_utf8_add(out, x->ch);
    if (x->mark) {
        aot_utf8_add(out, x->mark);
    }
}

void aot_canvas_text(aot_sb *out, const aot_canvas *c)
{
    for (int r = 0; r < c->rows; r++) {
        int end = row_end(c, r, false);
        for (int i = 0; i < end; i++) {
            add_cell(out, aot_canvas_at(c, r, i));
        }
        aot_sb_addc(out, '\n');
    }
}

void aot_canvas_ansi(aot_sb *out, const aot_canvas *c, int colors)
{
    if (colors == 0) {
        aot_canvas_text(out, c);
        return;
    }
    for (int r = 0; r < c->rows; r++) {
        const char *now = "";
        bool selected = false;
        int end = row_end(c, r, true);
        for (int i = 0; i < end; i++) {
            const aot_cell *x = aot_canvas_at(c, r, i);
            const char *want = aot_style_sgr((aot_style)x->style, colors);
            if (strcmp(want, now) != 0 || selected != x->selected) {
                aot_sb_addf(out, "\033[0%s%s%sm", *want ? ";" : "", want, x->selected ? ";7" : "");
                now = want;
                selected = x->selected;
            }
            add_cell(out, x);
        }
        aot_sb_addz(out, *now || selected ? "\033[0m\n" : "\n");
    }
}

void aot_canvas_styles(aot_sb *out, const aot_canvas *c)
{
    for (int r = 0; r < c->rows; r++) {
        int end = row_end(c, r, true);
        for (int i = 0; i < end; i++) {
            const aot_cell *x = aot_canvas_at(c, r, i);
            char letter = x->style == AOT_STYLE_NORMAL ? '.'
                        : x->style < 26 ? (char)('a' + x->style) : (char)('0' + x->style - 26);
            if (x->selected) {
                letter = letter == '.' ? '#' : letter >= 'a' ? (char)(letter - 32) : letter;
            }
            aot_sb_addc(out, letter);
        }
        aot_sb_addc(out, '\n');
    }
}

static const char *env(const char *name)
{
    const char *v = getenv(name);
    return v && *v ? v : NULL;
}

int aot_colors_for(int fd)
{
    const char *term = env("TERM"), *depth = env("COLORTERM");
    int many = (term && strstr(term, "256")) || depth ? 256
               : term && strstr(term, "-16color")     ? 16
                                                      : 8;
    const char *force = env("FORCE_COLOR");
    if (force) {
        return strcmp(force, "0") == 0 ? 0 : many;
    }
    if (env("NO_COLOR")) {
        return 0;
    }
    const char *cli_force = env("CLICOLOR_FORCE"), *cli = env("CLICOLOR");
    if (cli_force && strcmp(cli_force, "0") != 0) {
        return many;
    }
    if (cli && strcmp(cli, "0") == 0) {
        return 0;
    }
    return isatty(fd) && term && strcmp(term, "dumb") != 0 ? many : 0;
}
