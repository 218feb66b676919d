/* Line editor: moving, deleting, history with Up and Down (lines that begin with what is written),
 * completion with Tab (the common beginning first, then one after the other). */
#include "tui/prompt.h"

#include <stdlib.h>
#include <string.h>

enum { CTRL_A = 1, CTRL_B, CTRL_C, CTRL_D, CTRL_E, CTRL_F, CTRL_G, CTRL_H };
enum { CTRL_K = 11, CTRL_N = 14, CTRL_P = 16, CTRL_U = 21, CTRL_W = 23, MAX_HISTORY = 100 };

static void drop_words(aot_prompt *p)
{
    for (size_t i = 0; i < p->words.n; i++) {
        free(p->words.d[i]);
    }
    p->words.n = 0;
}

void prompt_init(aot_prompt *p, prompt_complete *complete, void *arg)
{
    *p = (aot_prompt){.complete = complete, .arg = arg};
}

void prompt_done(aot_prompt *p)
{
    drop_words(p);
    aot_vec_free(&p->words);
    for (int k = 0; k < N_PROMPTS; k++) {
        for (size_t i = 0; i < p->history[k].n; i++) {
            free(p->history[k].d[i]);
        }
        aot_vec_free(&p->history[k]);
    }
    free(p->draft);
    aot_sb_free(&p->text);
}

static void set_text(aot_prompt *p, const char *text)
{
    char *copy = aot_xstrdup(text); // text may be our own
    aot_sb_clear(&p->text);
    aot_sb_addz(&p->text, copy);
    p->at = p->text.n;
    free(copy);
}

void prompt_open(aot_prompt *p, prompt_kind kind, const char *text)
{
    p->kind = kind;
    p->where = NULL;
    set_text(p, text);
    p->history_at = p->history[kind].n;
    free(p->draft);
    p->draft = NULL;
    drop_words(p);
}

static void replace(aot_prompt *p, size_t from, size_t to, const char *with)
{
    aot_sb b = {0};
    aot_sb_add(&b, aot_sb_text(&p->text), from);
    aot_sb_addz(&b, with);
    size_t at = b.n;
    aot_sb_addz(&b, aot_sb_text(&p->text) + to);
    aot_sb_free(&p->text);
    p->text = b;
    p->at = at;
}

static size_t char_before(const aot_prompt *p, size_t at)
{
    const char *s = aot_sb_text(&p->text);
    while (at > 0 && (s[--at] & 0xc0) == 0x80) {
    }
    return at;
}

static size_t char_after(const aot_prompt *p, size_t at)
{
    const char *s = aot_sb_text(&p->text);
    if (at < p->text.n) {
        for (at++; (s[at] & 0xc0) == 0x80; at++) {
        }
    }
    return at;
}

static size_t word_before(const aot_prompt *p)
{
    const char *s = aot_sb_text(&p->text);
    size_t at = p->at;
    while (at > 0 && s[at - 1] == ' ') {
        at--;
    }
    while (at > 0 && s[at - 1] != ' ') {
        at--;
    }
    return at;
}

/* The next older (dir -1) or newer line that begins like the draft. */
static bool from_history(aot_prompt *p, int dir)
{
    size_t n = p->history[p->kind].n, i = p->history_at;
    if (!p->draft) {
        p->draft = aot_xstrdup(aot_sb_text(&p->text));
    }
    while (dir < 0 ? i > 0 : i < n) {
        i = dir < 0 ? i - 1 : i + 1;
        const char *line = i < n ? p->history[p->kind].d[i] : p->draft;
        if (i == n || aot_starts_with(line, p->draft)) {
            p->history_at = i;
            set_text(p, line);
            return true;
        }
    }
    return false;
}

static void add_history(aot_prompt *p)
{
    const char *line = aot_sb_text(&p->text);
    size_t n = p->history[p->kind].n;
    if (!*line || (n && strcmp(p->history[p->kind].d[n - 1], line) == 0)) {
        return;
    }
    if (n == MAX_HISTORY) {
        free(p->history[p->kind].d[0]);
        memmove(p->history[p->kind].d, p->history[p->kind].d + 1, (n - 1) * sizeof(char *));
        p->history[p->kind].n--;
    }
    aot_vec_push(&p->history[p->kind], aot_xstrdup(line));
}

static prompt_event tab(aot_prompt *p, int dir)
{
    if (p->words.n > 1) { // the next of those offered
        p->word = p->word == SIZE_MAX ? (dir > 0 ? 0 : p->words.n - 1)
                                      : (p->word + (dir > 0 ? 1 : p->words.n - 1)) % p->words.n;
        replace(p, p->word_start, p->at, p->words.d[p->word]);
        return PROMPT_CHANGED;
    }
    drop_words(p);
    if (!p->complete || p->kind != PROMPT_COMMAND) {
        return PROMPT_NOTHING;
    }
    char *before = aot_xstrndup(aot_sb_text(&p->text), p->at);
    p->complete(p->arg, before, &p->word_start, &p->words);
    free(before);
    if (p->words.n == 0) {
        return PROMPT_NOTHING;
    }
    size_t same = strlen(p->words.d[0]);
    for (size_t i = 1; i < p->words.n; i++) {
        size_t k = 0;
        while (k < same && p->words.d[i][k] == p->words.d[0][k]) {
            k++;
        }
        same = k;
    }
    char *common = aot_xstrndup(p->words.d[0], same);
    replace(p, p->word_start, p->at, common);
    free(common);
    p->word = SIZE_MAX;
    if (p->words.n == 1) {
        drop_words(p);
        if (p->at == p->text.n) {
            replace(p, p->at, p->at, " ");
        }
    }
    return PROMPT_CHANGED;
}

static prompt_event insert(aot_prompt *p, aot_key key)
{
    if (key < 32 || key >= AOT_KEY_UP) {
        return PROMPT_NOTHING;
    }
    aot_sb one = {0};
    aot_utf8_add(&one, key);
    replace(p, p->at, p->at, aot_sb_text(&one));
    aot_sb_free(&one);
    return PROMPT_CHANGED;
}

static prompt_event erase(aot_prompt *p, size_t from, size_t to)
{
    if (from == to) {
        return PROMPT_NOTHING;
    }
    replace(p, from, to, "");
    return PROMPT_CHANGED;
}

prompt_event prompt_key(aot_prompt *p, aot_key key)
{
    if (key == AOT_KEY_TAB || key == AOT_KEY_STAB) {
        return tab(p, key == AOT_KEY_TAB ? 1 : -1);
    }
    drop_words(p);
    switch (key) {
    case AOT_KEY_ENTER:
        add_history(p);
        p->kind = PROMPT_NONE;
        return PROMPT_DONE;
    case AOT_KEY_ESC:
    case CTRL_C:
    case CTRL_G:
        p->kind = PROMPT_NONE;
        return PROMPT_CANCELLED;
    case AOT_KEY_BS:
    case CTRL_H:
        if (p->text.n == 0) {
            p->kind = PROMPT_NONE;
            return PROMPT_CANCELLED;
        }
        return erase(p, char_before(p, p->at), p->at);
    case AOT_KEY_DEL:
    case CTRL_D: return erase(p, p->at, char_after(p, p->at));
    case CTRL_W: return erase(p, word_before(p), p->at);
    case CTRL_U: return erase(p, 0, p->at);
    case CTRL_K: return erase(p, p->at, p->text.n);
    case AOT_KEY_LEFT:
    case CTRL_B: p->at = char_before(p, p->at); return PROMPT_NOTHING;
    case AOT_KEY_RIGHT:
    case CTRL_F: p->at = char_after(p, p->at); return PROMPT_NOTHING;
    case AOT_KEY_HOME:
    case CTRL_A: p->at = 0; return PROMPT_NOTHING;
    case AOT_KEY_END:
    case CTRL_E: p->at = p->text.n; return PROMPT_NOTHING;
    case AOT_KEY_UP:
    case CTRL_P: return from_history(p, -1) ? PROMPT_CHANGED : PROMPT_NOTHING;
    case AOT_KEY_DOWN:
    case CTRL_N: return from_history(p, +1) ? PROMPT_CHANGED : PROMPT_NOTHING;
    default:
        free(p->draft);
        p->draft = NULL;
        p->history_at = p->history[p->kind].n;
        return insert(p, key);
    }
}

int prompt_draw(const aot_prompt *p, aot_canvas *c, int y)
{
    static const char *const signs[N_PROMPTS] = {"", "/", "filter: ", ":"};
    aot_canvas_field(c, y, 0, c->cols, AOT_STYLE_NORMAL, "");
    int x = p->where ? aot_canvas_putf(c, y, 0, AOT_STYLE_NOTICE, "in %s ", p->where) : 0;
    x = aot_canvas_put(c, y, x, AOT_STYLE_KEY, signs[p->kind]);
    char *before = aot_xstrndup(aot_sb_text(&p->text), p->at);
    int cursor = x + aot_text_width(before), room = c->cols - 1;
    free(before);
    const char *text = aot_sb_text(&p->text);
    for (int skip = cursor - room; skip > 0 && *text;) { // long lines move left
        int w = aot_char_width(aot_utf8_next(&text));
        skip -= w;
        cursor -= w;
    }
    aot_canvas_put(c, y, x, AOT_STYLE_NORMAL, text);
    if (p->words.n > 1) {
        int wx = 1;
        aot_canvas_field(c, y - 1, 0, c->cols, AOT_STYLE_BAR, "");
        size_t first = p->word == SIZE_MAX ? 0 : p->word / 6 * 6;
        for (size_t i = first; i < p->words.n && wx < c->cols; i++) {
            wx = 2 + aot_canvas_put(c, y - 1, wx, i == p->word ? AOT_STYLE_CURSOR : AOT_STYLE_BAR,
                                    p->words.d[i]);
        }
    }
    return cursor;
}
