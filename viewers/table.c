/* Aligned columns: cells are collected, widths found, then everything is printed at once. Columns
 * of sizes and counts stand right, so that their units are below each other. */
#include "viewers/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "viewers/format.h"
#include "viewers/theme.h"

typedef struct column {
    char *title;
    aot_align align;
    int max_cols;
} column;

typedef struct table_cell {
    char *text;
    aot_style style;
} table_cell;

struct aot_table {
    AOT_VEC(column) columns;
    AOT_VEC(table_cell) cells; /* rows * columns */
    size_t rows, at;           /* at: next column of the last row */
};

aot_table *aot_table_new(void)
{
    return aot_xcalloc(1, sizeof(aot_table));
}

void aot_table_free(aot_table *t)
{
    if (!t) {
        return;
    }
    for (size_t i = 0; i < t->columns.n; i++) {
        free(t->columns.d[i].title);
    }
    for (size_t i = 0; i < t->cells.n; i++) {
        free(t->cells.d[i].text);
    }
    aot_vec_free(&t->columns);
    aot_vec_free(&t->cells);
    free(t);
}

void aot_table_column(aot_table *t, const char *title, aot_align align, int max_cols)
{
    column c = {aot_xstrdup(title), align, max_cols};
    aot_vec_push(&t->columns, c);
}

void aot_table_row(aot_table *t)
{
    aot_vec_grow(&t->cells, t->columns.n);
    memset(t->cells.d + t->cells.n, 0, t->columns.n * sizeof *t->cells.d);
    t->cells.n += t->columns.n;
    t->rows++;
    t->at = 0;
}

void aot_table_cell(aot_table *t, const char *text)
{
    if (t->rows == 0 || t->at >= t->columns.n) {
        return;
    }
    aot_sb s = {0};
    aot_text_safe(&s, text, strlen(text));
    t->cells.d[(t->rows - 1) * t->columns.n + t->at++].text = aot_xstrdup(aot_sb_text(&s));
    aot_sb_free(&s);
}

void aot_table_cellf(aot_table *t, const char *fmt, ...)
{
    char *text;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        aot_oom(0);
    }
    aot_table_cell(t, text);
    free(text);
}

void aot_table_bytes(aot_table *t, int64_t bytes)
{
    char buf[32];
    aot_table_cell(t, aot_format_bytes(buf, sizeof buf, bytes));
}

void aot_table_count(aot_table *t, int64_t n)
{
    char buf[32];
    aot_table_cell(t, aot_format_count(buf, sizeof buf, n));
}

void aot_table_style(aot_table *t, aot_style style)
{
    if (t->rows > 0 && t->at > 0) {
        t->cells.d[(t->rows - 1) * t->columns.n + t->at - 1].style = style;
    }
}

size_t aot_table_n_rows(const aot_table *t)
{
    return t->rows;
}

static const char *text_at(const aot_table *t, size_t row, size_t col)
{
    const char *s = t->cells.d[row * t->columns.n + col].text;
    return s ? s : "";
}

static char *spell(const char *s, unsigned flags)
{
    if (!(flags & AOT_TABLE_ASCII)) {
        return aot_xstrdup(s);
    }
    aot_sb b = {0};
    aot_text_to_ascii(&b, s);
    char *r = aot_xstrdup(aot_sb_text(&b));
    aot_sb_free(&b);
    return r;
}

static void print_csv(aot_sb *out, const aot_table *t, unsigned flags)
{
    for (size_t r = flags & AOT_TABLE_NO_HEAD ? 1 : 0; r <= t->rows; r++) {
        for (size_t c = 0; c < t->columns.n; c++) {
            const char *s = r == 0 ? t->columns.d[c].title : text_at(t, r - 1, c);
            bool quote = strpbrk(s, ",\"\r\n") != NULL;
            aot_sb_addz(out, c ? "," : "");
            aot_sb_addz(out, quote ? "\"" : "");
            for (; *s; s++) {
                aot_sb_addz(out, *s == '"' ? "\"" : "");
                aot_sb_addc(out, *s);
            }
            aot_sb_addz(out, quote ? "\"" : "");
        }
        aot_sb_addc(out, '\n');
    }
}

static void print_markdown(aot_sb *out, const aot_table *t)
{
    for (size_t r = 0; r <= t->rows + 1; r++) {
        aot_sb_addc(out, '|');
        for (size_t c = 0; c < t->columns.n; c++) {
            if (r == 1) {
                aot_sb_addz(out, t->columns.d[c].align == AOT_RIGHT ? "---:|" : "---|");
                continue;
            }
            const char *s = r == 0 ? t->columns.d[c].title : text_at(t, r - 2, c);
            aot_sb_addc(out, ' ');
            for (; *s; s++) {
                aot_sb_addz(out, *s == '|' || *s == '*' || *s == '_' || *s == '<' ? "\\" : "");
                aot_sb_addc(out, *s);
            }
            aot_sb_addz(out, " |");
        }
        aot_sb_addc(out, '\n');
    }
}

static void print_cell(aot_sb *out, const char *text, int cols, bool right, bool last,
                       aot_style style, unsigned flags, int colors)
{
    char *s = spell(text, flags);
    aot_sb cut = {0};
    int w = aot_text_fit(&cut, s, cols, flags & AOT_TABLE_ASCII);
    const char *sgr = aot_style_sgr(style, colors);
    if (right) {
        aot_sb_pad(out, ' ', (size_t)(cols - w));
    }
    if (*sgr) {
        aot_sb_addf(out, "\033[%sm%s\033[0m", sgr, aot_sb_text(&cut));
    } else {
        aot_sb_addz(out, aot_sb_text(&cut));
    }
    if (!right && !last) {
        aot_sb_pad(out, ' ', (size_t)(cols - w));
    }
    aot_sb_free(&cut);
    free(s);
}

static int *find_widths(const aot_table *t, unsigned flags, int width)
{
    int *w = aot_xcalloc(t->columns.n + 1, sizeof *w);
    int total = 0;
    for (size_t c = 0; c < t->columns.n; c++) {
        for (size_t r = flags & AOT_TABLE_NO_HEAD ? 1 : 0; r <= t->rows; r++) {
            char *s = spell(r == 0 ? t->columns.d[c].title : text_at(t, r - 1, c), flags);
            int n = aot_text_width(s);
            free(s);
            w[c] = n > w[c] ? n : w[c];
        }
        int max = t->columns.d[c].max_cols;
        w[c] = max > 0 && w[c] > max ? max : w[c];
        total += w[c] + (c ? 2 : 0);
    }
    if (width > 0 && total > width && t->columns.n > 0) {
        int *last = &w[t->columns.n - 1];
        *last = *last - (total - width) > 4 ? *last - (total - width) : *last < 4 ? *last : 4;
    }
    return w;
}

void aot_table_print(aot_sb *out, const aot_table *t, unsigned flags, int colors, int width)
{
    if (flags & AOT_TABLE_CSV) {
        print_csv(out, t, flags);
        return;
    }
    if (flags & AOT_TABLE_MARKDOWN) {
        print_markdown(out, t);
        return;
    }
    int *w = find_widths(t, flags, width);
    for (size_t r = flags & AOT_TABLE_NO_HEAD ? 1 : 0; r <= t->rows; r++) {
        size_t end = t->columns.n; // cells after the last filled one are left out
        while (r > 0 && end > 0 && !*text_at(t, r - 1, end - 1)) {
            end--;
        }
        for (size_t c = 0; c < end; c++) {
            const char *s = r == 0 ? t->columns.d[c].title : text_at(t, r - 1, c);
            aot_style style =
                r == 0 ? AOT_STYLE_TITLE : t->cells.d[(r - 1) * t->columns.n + c].style;
            aot_sb_addz(out, c ? "  " : "");
            print_cell(out, s, w[c], t->columns.d[c].align == AOT_RIGHT, c + 1 == end, style, flags,
                       colors);
        }
        aot_sb_addc(out, '\n');
    }
    free(w);
}
