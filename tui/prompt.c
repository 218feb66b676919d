/* Line editor: moving, deleting, history with Up and Down (lines that begin with what is written).
 * What may be written is offered above the line while one types, the best fit first; Tab completes
 * to the common beginning, then goes through the offers. */
#include "tui/prompt.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { CTRL_A = 1, CTRL_B, CTRL_C, CTRL_D, CTRL_E, CTRL_F, CTRL_G, CTRL_H };
enum { CTRL_K = 11, CTRL_N = 14, CTRL_P = 16, CTRL_U = 21, CTRL_W = 23, MAX_HISTORY = 100 };

enum { MAX_OFFERED = 8 }; // rows above the line

static void drop_words(aot_prompt *p)
{
    for (size_t i = 0; i < p->words.n; i++) {
        free(p->words.d[i].word);
        free(p->words.d[i].doc);
    }
    p->words.n = 0;
    p->word = SIZE_MAX;
}

void prompt_add_word(prompt_words *words, const char *word, const char *doc)
{
    prompt_word w = {aot_xstrdup(word), aot_xstrdup(doc)};
    aot_vec_push(words, w);
}

static bool same_letter(char typed, char c)
{
    return typed == c || (islower((unsigned char)typed) && typed == tolower((unsigned char)c));
}

static bool begins(const char *word, const char *typed)
{
    while (*typed && same_letter(*typed, *word)) {
        typed++;
        word++;
    }
    return !*typed;
}

int prompt_rank(const char *word, const char *typed)
{
    if (begins(word, typed)) {
        return 0;
    }
    bool inside = false;
    for (const char *s = word + 1; *word && *s; s++) {
        if (begins(s, typed)) {
            if (!isalnum((unsigned char)s[-1])) {
                return 1;
            }
            inside = true;
        }
    }
    const char *t = typed;
    for (const char *s = word; *s && *t; s++) {
        t += same_letter(*t, *s);
    }
    return inside ? 2 : !*t ? 3 : -1;
}

/* Asks what may be written; the best fit comes first, of equals the table's order stays. */
static void offer_words(aot_prompt *p)
{
    prompt_words found = {0};
    drop_words(p);
    if (!p->complete || p->kind == PROMPT_SEARCH) {
        return;
    }
    char *before = aot_xstrndup(aot_sb_text(&p->text), p->at);
    p->complete(p->arg, before, &p->word_start, &found);
    for (int rank = 0; rank <= 3; rank++) {
        for (size_t i = 0; i < found.n; i++) {
            if (found.d[i].word && prompt_rank(found.d[i].word, before + p->word_start) == rank) {
                aot_vec_push(&p->words, found.d[i]);
                found.d[i] = (prompt_word){0};
            }
        }
    }
    for (size_t i = 0; i < found.n; i++) { // what does not fit
        free(found.d[i].word);
        free(found.d[i].doc);
    }
    aot_vec_free(&found);
    free(before);
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
    offer_words(p);
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

/* Puts the offer under the cursor into the line. */
static void take_word(aot_prompt *p, int dir)
{
    size_t n = p->words.n;
    p->word = p->word == SIZE_MAX ? (dir > 0 ? 0 : n - 1) : (p->word + (dir > 0 ? 1 : n - 1)) % n;
    replace(p, p->word_start, p->at, p->words.d[p->word].word);
}

/* Bytes that all offers which begin as what is typed have in common; how many offers those are. */
static size_t common_beginning(const aot_prompt *p, const char *typed, size_t *n)
{
    size_t same = 0;
    const char *first = NULL;
    *n = 0;
    for (size_t i = 0; i < p->words.n; i++) {
        const char *w = p->words.d[i].word;
        if (!aot_starts_with(w, typed)) {
            continue;
        }
        ++*n;
        if (!first) {
            first = w;
            same = strlen(w);
        }
        size_t k = 0;
        while (k < same && w[k] == first[k]) {
            k++;
        }
        same = k;
    }
    return same;
}

static prompt_event tab(aot_prompt *p, int dir)
{
    if (p->words.n == 0) {
        return PROMPT_NOTHING;
    }
    char *typed = aot_xstrndup(aot_sb_text(&p->text) + p->word_start, p->at - p->word_start);
    size_t n = 0, same = common_beginning(p, typed, &n);
    bool longer = same > strlen(typed), fresh = p->word == SIZE_MAX;
    free(typed);
    if (fresh && (n == 1 || p->words.n == 1)) { // one that begins so comes first
        take_word(p, 1);
        char last = p->at ? p->text.d[p->at - 1] : 0;
        if (p->at == p->text.n && last != '=' && last != ':') { // a value is to follow
            replace(p, p->at, p->at, " ");
        }
        offer_words(p);
    } else if (fresh && longer) {
        char *common = aot_xstrndup(p->words.d[0].word, same);
        replace(p, p->word_start, p->at, common);
        free(common);
        offer_words(p);
    } else {
        take_word(p, dir);
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

static prompt_event edit_key(aot_prompt *p, aot_key key)
{
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

prompt_event prompt_key(aot_prompt *p, aot_key key)
{
    if (key == AOT_KEY_TAB || key == AOT_KEY_STAB) {
        return tab(p, key == AOT_KEY_TAB ? 1 : -1);
    }
    prompt_event e = edit_key(p, key);
    if (p->kind == PROMPT_NONE) {
        drop_words(p);
    } else if (e == PROMPT_CHANGED || p->word != SIZE_MAX) {
        offer_words(p);
    }
    return e;
}

/* The offers, the best at the top; a page of them around the one that stands in the line. */
static void draw_words(const aot_prompt *p, aot_canvas *c, int y)
{
    size_t most = c->rows / 2 < MAX_OFFERED ? (size_t)c->rows / 2 : MAX_OFFERED;
    size_t n = p->words.n < most ? p->words.n : most;
    size_t first = p->word == SIZE_MAX || n == 0 ? 0 : p->word / n * n;
    int w = 8;
    n = p->words.n - first < n ? p->words.n - first : n;
    for (size_t i = first; i < first + n; i++) {
        int own = aot_text_width(p->words.d[i].word);
        w = own > w ? own : w;
    }
    w = w > c->cols - 2 ? c->cols - 2 : w;
    for (size_t i = 0; i < n; i++) {
        const prompt_word *o = &p->words.d[first + i];
        bool here = first + i == p->word;
        int row = y - (int)n + (int)i;
        aot_canvas_field(c, row, 0, c->cols, here ? AOT_STYLE_CURSOR : AOT_STYLE_BAR, "");
        aot_canvas_put(c, row, 0, here ? AOT_STYLE_CURSOR : AOT_STYLE_BAR,
                       here ? (c->ascii ? ">" : "▸") : " ");
        aot_canvas_field(c, row, 1, w, here ? AOT_STYLE_CURSOR : AOT_STYLE_BAR, o->word);
        if (c->cols - w - 4 > 8) {
            aot_canvas_field(c, row, w + 3, c->cols - w - 4,
                             here ? AOT_STYLE_CURSOR : AOT_STYLE_BAR, o->doc);
        }
    }
    if (first + n < p->words.n && n > 0) {
        aot_canvas_putf(c, y - 1, c->cols - 10, AOT_STYLE_BAR, " %4zu more",
                        p->words.n - first - n);
    }
}

int prompt_draw(const aot_prompt *p, aot_canvas *c, int y)
{
    static const char *const signs[N_PROMPTS] = {"", "/", "filter: ", ":",
                                                 "budget (0..1, + and - step): "};
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
    draw_words(p, c, y);
    return cursor;
}
