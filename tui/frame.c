/* What surrounds a view: the bar above it, and below it the hints, which are made from the key
 * table, or a message. */
#include "tui/frame.h"

#include <stdlib.h>
#include <string.h>

void frame_maps(aot_view *v, const char *maps[3])
{
    size_t n = 0;
    if (v->ops->pane && v->ops->pane(v)) {
        maps[n++] = v->ops->pane(v);
    }
    if (n == 0 || strcmp(maps[0], v->ops->what) != 0) {
        maps[n++] = v->ops->what;
    }
    maps[n] = NULL;
}

/* Cuts what stands before the first " · " so that the text loses up to `over` columns. */
static void shorten(aot_sb *text, int over, bool ascii)
{
    const char *dot = strstr(aot_sb_text(text), " · ");
    if (!dot || over <= 0) {
        return;
    }
    aot_sb first = {0}, out = {0};
    aot_sb_add(&first, text->d, (size_t)(dot - text->d));
    int w = aot_text_width(aot_sb_text(&first)), keep = w - over < 8 ? 8 : w - over;
    aot_text_fit(&out, aot_sb_text(&first), keep, ascii);
    aot_sb_addz(&out, dot);
    aot_sb_free(&first);
    aot_sb_free(text);
    *text = out;
}

/* The last " · " of a text; NULL if there is none. */
static const char *last_dot(const char *text)
{
    const char *found = NULL;
    for (const char *dot = text; (dot = strstr(dot, " · ")) != NULL; dot += strlen(" · ")) {
        found = dot;
    }
    return found;
}

/* What the figures stand on, "assumed: s77 = 4096": before the rest, so that it goes first. */
static void add_assumed(aot_view *v, aot_sb *right)
{
    aot_model *m = aot_app_model(v->app);
    const char *text =
        m != NULL && v->unit < aot_model_n_units(m) ? aot_model_assumed(m, v->unit) : NULL;
    if (text != NULL) {
        aot_sb both = {0};
        aot_sb_addf(&both, "%.*s%s%s", (int)strcspn(text, "(") - 1, text, right->n > 0 ? " · " : "",
                    aot_sb_text(right));
        aot_sb_free(right);
        *right = both;
    }
}

/* The right text loses parts from its front until it fits; for its last part the left gives way. */
void frame_draw_bar(aot_view *v, aot_canvas *c)
{
    aot_sb left = {0}, right = {0}, fit = {0};
    v->ops->title(v, &left, &right);
    add_assumed(v, &right);
    const char *text = aot_sb_text(&right), *dot = last_dot(text);
    const char *last = dot ? dot + strlen(" · ") : text;
    int w = aot_text_width(aot_sb_text(&left)), tail = aot_text_width(last);
    bool name = w + tail + 16 < c->cols;
    shorten(&left, w + tail + 4 + (name ? 10 : 0) - c->cols, c->ascii);
    aot_canvas_field(c, 0, 0, c->cols, AOT_STYLE_BAR, "");
    int x = name ? aot_canvas_put(c, 0, 1, AOT_STYLE_BAR, "aotscope") + 2 : 1;
    aot_text_fit(&fit, aot_sb_text(&left), c->cols - x - 1, c->ascii);
    int end = aot_canvas_put(c, 0, x, AOT_STYLE_BAR, aot_sb_text(&fit));
    const char *cut = last_dot(aot_sb_text(&fit));
    if (*last && cut && end + 2 + tail + 1 > c->cols) { // the last part of the left one gives way
        int at = end - aot_text_width(cut);
        aot_canvas_fill(c, 0, at, end - at, ' ', AOT_STYLE_BAR);
        end = at;
    }
    int room = c->cols - 1 - tail - 2 - x;
    if (*last && end + 2 + tail + 1 > c->cols && room > 8) { // then it is cut
        aot_sb less = {0};
        char *whole = aot_xstrndup(aot_sb_text(&left), left.n);
        aot_canvas_field(c, 0, x, c->cols - x, AOT_STYLE_BAR, "");
        aot_text_fit(&less, whole, room, c->ascii);
        end = aot_canvas_put(c, 0, x, AOT_STYLE_BAR, aot_sb_text(&less));
        free(whole);
        aot_sb_free(&less);
    }
    while (*text && end + 2 + aot_text_width(text) + 1 > c->cols) {
        dot = strstr(text, " · ");
        text = dot ? dot + strlen(" · ") : "";
    }
    aot_canvas_put(c, 0, c->cols - 1 - aot_text_width(text), AOT_STYLE_BAR, text);
    aot_sb_free(&left);
    aot_sb_free(&right);
    aot_sb_free(&fit);
}

/* "←→" or "Left/Right". */
static void hint_keys(const aot_keymap *keys, bool ascii, const aot_hint *h,
                      const char *const *maps, aot_sb *out)
{
    aot_key a = aot_keymap_first(keys, maps, h->a);
    aot_key b = h->b == AOT_ACT_NONE ? AOT_KEY_NONE : aot_keymap_first(keys, maps, h->b);
    if (a == AOT_KEY_NONE && b == AOT_KEY_NONE) {
        return;
    }
    if (a != AOT_KEY_NONE) {
        aot_key_show(out, a, ascii);
    }
    if (a != AOT_KEY_NONE && b != AOT_KEY_NONE) {
        aot_sb second = {0};
        aot_key_show(&second, b, ascii);
        bool letters = out->n == 1 && second.n == 1;
        bool signs = aot_text_width(aot_sb_text(out)) == 1 && !letters;
        aot_sb_addf(out, "%s%s", letters ? " " : signs ? "" : "/", aot_sb_text(&second));
        aot_sb_free(&second);
    }
}

void frame_draw_hints(aot_view *v, aot_canvas *c)
{
    const char *maps[3];
    int y = c->rows - 1, x = 1, kept = 0; // columns of the hints to come that must be shown
    const aot_hint *hints = v->ops->hints_now ? v->ops->hints_now(v) : v->ops->hints;
    frame_maps(v, maps);
    for (int pass = 0; pass < 2; pass++) {
        for (const aot_hint *h = hints; h && h->label; h++) {
            aot_sb keys = {0};
            hint_keys(aot_app_keys(v->app), c->ascii, h, maps, &keys);
            int w = keys.n ? aot_text_width(aot_sb_text(&keys)) + 3 + aot_text_width(h->label) : 0;
            if (pass == 0) {
                kept += h->keep ? w : 0;
            } else if (w && x + w + (h->keep ? 0 : kept) <= c->cols + 1) {
                aot_canvas_put(c, y, x, AOT_STYLE_KEY, aot_sb_text(&keys));
                aot_canvas_put(c, y, x + aot_text_width(aot_sb_text(&keys)) + 1, AOT_STYLE_NORMAL,
                               h->label);
                x += w;
            }
            if (pass == 1 && h->keep) {
                kept -= w;
            }
            aot_sb_free(&keys);
        }
    }
}

/* Bytes of text that fit `room` columns, up to the last blank if there is more. */
static size_t line_of(const char *text, int room)
{
    const char *p = text, *blank = NULL;
    for (int used = 0; *p;) {
        const char *from = p;
        used += aot_char_width(aot_utf8_next(&p));
        if (used > room) {
            return (size_t)((blank ? blank : from > text ? from : p) - text);
        }
        blank = *from == ' ' ? p : blank;
    }
    return (size_t)(p - text);
}

/* A message; a long one takes as many rows as it needs, upwards. */
void frame_draw_message(const char *text, aot_style style, aot_canvas *c)
{
    int rows = 0, room = c->cols - 2;
    for (const char *p = text; *p; p += line_of(p, room)) {
        rows++;
    }
    rows = rows > c->rows / 2 ? c->rows / 2 : rows;
    for (int i = 0; i < rows; i++) {
        int y = c->rows - rows + i;
        size_t n = line_of(text, room);
        char *line = aot_xstrndup(text, n);
        aot_canvas_field(c, y, 0, c->cols, style, "");
        aot_canvas_put(c, y, 1, style, line);
        free(line);
        text += n;
    }
}
