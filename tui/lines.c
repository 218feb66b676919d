/* Styled lines behind a list. Long texts are wrapped when they are added, for the width that the
 * pane has then; the owner adds them anew when the width changes. */
#include "tui/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void draw_line(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    const aot_lines *l = arg;
    const aot_line *r = &l->rows.d[row];
    int at = r->labelled ? l->label_cols : 0;
    if (*r->label) {
        aot_canvas_field(c, y, x, at < cols ? at : cols, r->label_style, r->label);
    }
    const char *text = r->text;
    for (int k = l->list.shift; k > 0 && *text;) {
        k -= aot_char_width(aot_utf8_next(&text));
    }
    if (at < cols) {
        aot_canvas_field(c, y, x + at, cols - at, r->style, text);
    }
}

static void text_of_line(void *arg, size_t row, aot_sb *out)
{
    const aot_lines *l = arg;
    aot_sb_addz(out, l->rows.d[row].label);
    aot_sb_addc(out, ' ');
    aot_sb_addz(out, l->rows.d[row].text);
}

static const aot_list_ops lines_ops = {.draw = draw_line, .text = text_of_line};

void aot_lines_init(aot_lines *l, int label_cols)
{
    *l = (aot_lines){.label_cols = label_cols, .arena = aot_arena_new()};
    aot_list_init(&l->list, &lines_ops, l);
}

void aot_lines_done(aot_lines *l)
{
    aot_list_done(&l->list);
    aot_vec_free(&l->rows);
    aot_sb_free(&l->taken);
    aot_arena_free(l->arena);
    l->arena = NULL;
}

void aot_lines_clear(aot_lines *l)
{
    l->rows.n = 0;
    aot_sb_free(&l->taken);
    aot_arena_free(l->arena);
    l->arena = aot_arena_new();
}

void aot_lines_end(aot_lines *l, size_t row)
{
    aot_list_reset(&l->list, l->rows.n, row);
}

/* label NULL: none, and no room for one. */
static void push(aot_lines *l, uint32_t link, const char *label, aot_style style, const char *text,
                 size_t n)
{
    aot_line r = {.label = label ? aot_arena_strndup(l->arena, label, strlen(label)) : "",
                  .text = aot_arena_strndup(l->arena, text, n),
                  .label_style = AOT_STYLE_REASON,
                  .style = style,
                  .labelled = label != NULL,
                  .link = link};
    aot_vec_push(&l->rows, r);
}

void aot_lines_add(aot_lines *l, aot_style style, const char *text)
{
    push(l, AOT_NO_LINK, NULL, style, text, strlen(text));
}

void aot_lines_addf(aot_lines *l, aot_style style, const char *fmt, ...)
{
    char buf[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    aot_lines_add(l, style, buf);
}

void aot_lines_link(aot_lines *l, uint32_t link, const char *label, aot_style style,
                    const char *text)
{
    push(l, link, label, style, text, strlen(text));
}

/* Bytes of s that fit cols columns, cut at a blank or after a comma if there is one. */
static size_t fitting(const char *s, int cols)
{
    const char *p = s, *good = NULL;
    for (int used = 0; *p;) {
        const char *next = p;
        used += aot_char_width(aot_utf8_next(&next));
        if (used > cols) {
            return (size_t)((good ? good : p > s ? p : next) - s);
        }
        if (*p == ' ' || *p == ',') {
            good = next;
        }
        p = next;
    }
    return (size_t)(p - s);
}

static void wrap(aot_lines *l, int cols, const char *label, aot_style style, const char *text)
{
    do {
        size_t n = cols > 0 ? fitting(text, cols) : strlen(text);
        push(l, AOT_NO_LINK, label, style, text, n);
        text += n;
        text += cols > 0 ? strspn(text, " ") : 0; // a line cut at a comma
        label = label ? "" : NULL;
    } while (*text);
}

void aot_lines_link_fold(aot_lines *l, int cols, int indent, uint32_t link, aot_style style,
                         const char *text)
{
    aot_sb line = {0};
    for (int before = 0; *text; before = indent) {
        int room = cols - before;
        size_t n = fitting(text, room < 8 ? 8 : room);
        aot_sb_clear(&line);
        aot_sb_addf(&line, "%*s%.*s", before, "", (int)n, text);
        push(l, link, NULL, style, aot_sb_text(&line), line.n);
        text += n;
        text += strspn(text, " ");
    }
    aot_sb_free(&line);
}

void aot_lines_take(aot_lines *l, aot_sb *text)
{
    aot_sb_free(&l->taken);
    l->taken = *text;
    *text = (aot_sb){0};
    for (char *line = l->taken.d, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        if (end) {
            *end = 0;
        }
        bool comment = line[strspn(line, " \t")] == '#';
        aot_line r = {.label = "", .text = line, .link = AOT_NO_LINK,
                      .style = comment ? AOT_STYLE_SOURCE : AOT_STYLE_NORMAL};
        aot_vec_push(&l->rows, r);
        if (!end) {
            break;
        }
    }
}

void aot_lines_pair(aot_lines *l, int cols, const char *label, aot_style style, const char *text)
{
    wrap(l, cols > 0 ? (cols > l->label_cols + 8 ? cols - l->label_cols : 8) : 0, label, style,
         text);
}

void aot_lines_wrap(aot_lines *l, int cols, aot_style style, const char *text)
{
    wrap(l, cols, NULL, style, text);
}

uint32_t aot_lines_link_at(const aot_lines *l)
{
    uint32_t row = aot_list_row(&l->list);
    return row == AOT_NO_ROW ? AOT_NO_LINK : l->rows.d[row].link;
}

int aot_lines_draw_text(aot_canvas *c, int y, int x, int rows, int cols, aot_style style,
                        const char *text)
{
    aot_lines l;
    aot_lines_init(&l, 0);
    aot_lines_wrap(&l, cols - 2, style, text);
    aot_lines_end(&l, 0);
    int n = (int)l.rows.n;
    aot_list_draw(&l.list, c, y, x, rows, cols, false);
    aot_lines_done(&l);
    return n < rows ? n : rows;
}
