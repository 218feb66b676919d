/* Help: the keys from the key table, the letters from the viewers' table, the commands from the
 * application's, settings, themes and stages from theirs. Nothing of it is typed here twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/config.h"
#include "tui/app.h"
#include "tui/lines.h"
#include "tui/view.h"
#include "viewers/format.h"
#include "viewers/theme.h"

typedef struct help_view {
    aot_lines lines;
    int cols;  /* that the lines were made for */
    char *find; /* word to go to once they are made; NULL */
} help_view;

static help_view *state(aot_view *v)
{
    return v->state;
}

static void add_head(aot_lines *l, const char *text)
{
    aot_lines_add(l, AOT_STYLE_NORMAL, "");
    aot_lines_add(l, AOT_STYLE_TITLE, text);
}

/* A wrapped pair whose label looks like a key. */
static void add_pair(aot_lines *l, int cols, const char *label, const char *text)
{
    size_t at = l->rows.n;
    aot_lines_pair(l, cols, label, AOT_STYLE_NORMAL, text);
    l->rows.d[at].label_style = AOT_STYLE_KEY;
}

static void add_keys(aot_lines *l, int cols, const aot_keymap *k, bool ascii)
{
    const char *group = "";
    for (int a = AOT_ACT_NONE + 1; a < AOT_N_ACTIONS; a++) {
        aot_sb keys = {0};
        if (strcmp(aot_action_group((aot_action)a), group) != 0) {
            group = aot_action_group((aot_action)a);
            add_head(l, group);
        }
        aot_keymap_add_all(&keys, k, (aot_action)a, ascii);
        aot_sb text = {0};
        aot_sb_addf(&text, "%s  :%s", aot_action_doc((aot_action)a),
                    aot_action_name((aot_action)a));
        add_pair(l, cols, aot_sb_text(&keys), aot_sb_text(&text));
        aot_sb_free(&keys);
        aot_sb_free(&text);
    }
}

static void add_letters(aot_lines *l, int cols)
{
    static const struct {
        const char *letter, *text;
    } marks[] = {
        {"F B", "before a name: made by the forward, made by the backward trace"},
        {"S", "saved: kept by the forward for the backward"},
        {"R", "recomputed: in the forward and again in the backward"},
        {"V", "a view: shares the memory of another value"},
        {"~ C M", "draws random numbers, talks to other ranks, writes to memory that others see"},
        {"!", "must not be recomputed; the node's pane says why"},
    };
    add_head(l, "Letters beside a node");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        add_pair(l, cols, marks[i].letter, marks[i].text);
    }
}

static void add_signs(aot_lines *l, int cols, bool ascii)
{
    const struct {
        const char *sign, *text;
    } signs[] = {
        {ascii ? "*" : "●", "recorded: the input holds it"},
        {ascii ? "+" : "○", "derived from what the input holds"},
        {"=", "recorded or derived; this step changed nothing"},
        {ascii ? "-" : "·", "not there; its page says why"},
    };
    add_head(l, "Signs beside a stage");
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        add_pair(l, cols, signs[i].sign, signs[i].text);
    }
}

static void add_commands(aot_lines *l, int cols)
{
    add_head(l, "Commands after ':' (and every action by its name)");
    for (const aot_app_command *c = aot_app_commands; c->name; c++) {
        char label[64];
        snprintf(label, sizeof label, "%s %s", c->name, c->arg);
        add_pair(l, cols, label, c->doc);
    }
}

static void add_views(aot_lines *l, int cols)
{
    add_head(l, "Views, and the command that prints the same");
    for (const aot_view_row *v = aot_view_rows; v->title; v++) {
        aot_sb text = {0};
        aot_sb_addf(&text, "%s  aotscope %s", v->doc, v->twin);
        add_pair(l, cols, v->title, aot_sb_text(&text));
        aot_sb_free(&text);
    }
}

static void add_settings(aot_lines *l, int cols)
{
    add_head(l, "Settings (the defaults are PyTorch 2.11's)");
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *r = aot_config_row_at(i);
        aot_sb text = {0};
        aot_lines_add(l, AOT_STYLE_KEY, r->name);
        aot_sb_addf(&text, "%s Default %s", r->doc, r->def_text);
        if (*r->range) {
            aot_sb_addf(&text, "; values: %s", r->range);
        }
        aot_lines_pair(l, cols, "", AOT_STYLE_NORMAL, aot_sb_text(&text));
        aot_sb_free(&text);
    }
}

static void add_themes(aot_lines *l, int cols)
{
    add_head(l, "Themes (:theme NAME, --theme NAME, AOTSCOPE_THEME)");
    for (int t = 0; t < AOT_N_THEMES; t++) {
        const aot_theme_info *info = aot_theme_get((aot_theme)t);
        add_pair(l, cols, info->name, info->sentence);
    }
}

static void add_stages(aot_lines *l, int cols)
{
    add_head(l, "Stages, in pipeline order");
    for (int s = 0; s < AOT_N_STAGES; s++) {
        const aot_stage_info *info = aot_stage_get((aot_stage)s);
        add_pair(l, cols, info->name, info->sentence);
    }
}

static void fill(aot_view *v, int cols)
{
    help_view *h = state(v);
    aot_lines *l = &h->lines;
    uint32_t row = h->cols ? aot_list_row(&l->list) : 0;
    h->cols = cols;
    aot_lines_clear(l);
    aot_lines_wrap(l, cols, AOT_STYLE_NORMAL,
                   "aotscope shows what AOTAutograd made of a compiled function, stage by stage, "
                   "which values the forward saves for the backward, and why.");
    add_keys(l, cols, aot_app_keys(v->app), aot_app_ascii(v->app));
    add_letters(l, cols);
    add_commands(l, cols);
    add_views(l, cols);
    add_settings(l, cols);
    add_themes(l, cols);
    add_stages(l, cols);
    add_signs(l, cols, aot_app_ascii(v->app));
    aot_lines_end(l, row);
}

static aot_status open_view(aot_view *v, aot_err *err)
{
    (void)err;
    aot_lines_init(&state(v)->lines, 26);
    return AOT_OK;
}

static void done(aot_view *v)
{
    aot_lines_done(&state(v)->lines);
    free(state(v)->find);
}

/* The row that is about a word: its label, else an action's name at the end of its line, else the
 * first that holds it. */
static uint32_t row_about(const aot_lines *l, const char *word)
{
    size_t n = strlen(word);
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < l->rows.n; i++) {
            const aot_line *r = &l->rows.d[i];
            const char *colon = strrchr(r->text, ':');
            bool label = strncmp(r->label, word, n) == 0 && (!r->label[n] || r->label[n] == ' ');
            bool alone = !r->labelled && strcmp(r->text, word) == 0;
            if (pass == 0   ? label || alone
                : pass == 1 ? colon && strcmp(colon + 1, word) == 0
                            : strcasestr(r->text, word) || strcasestr(r->label, word)) {
                return (uint32_t)i;
            }
        }
    }
    return AOT_NO_ROW;
}

static void find_now(aot_view *v)
{
    help_view *h = state(v);
    uint32_t row = row_about(&h->lines, h->find);
    aot_err err = {0};
    if (row == AOT_NO_ROW) {
        aot_app_say(v->app, "The help says nothing about '%s'", h->find);
    } else {
        // what else holds the word is marked: n goes on from here
        if (aot_list_search(&h->lines.list, h->find, row, &err) != AOT_OK) {
            aot_app_fail(v->app, &err);
        }
        aot_list_select(&h->lines.list, row);
        h->lines.list.top = row > 2 ? row - 2 : 0; // what follows explains it
    }
    free(h->find);
    h->find = NULL;
}

void aot_help_view_find(aot_view *v, const char *word)
{
    help_view *h = state(v);
    free(h->find);
    h->find = aot_xstrdup(word);
    if (h->cols) {
        find_now(v);
    }
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    aot_sb_addz(left, "help");
    aot_list_status(&state(v)->lines.list, right);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    help_view *h = state(v);
    if (h->cols != c->cols - 2) {
        fill(v, c->cols - 2);
    }
    if (h->find) {
        find_now(v);
    }
    aot_list_draw(&h->lines.list, c, y, 0, rows, c->cols, true);
}

static aot_list *list(aot_view *v)
{
    return &state(v)->lines.list;
}

static const aot_hint hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "line", false},
    {AOT_ACT_PAGE_UP, AOT_ACT_PAGE_DOWN, "page", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {AOT_ACT_QUIT, AOT_ACT_NONE, "leave aotscope", false},
    {0},
};

const aot_view_ops view_help_ops = {
    .what = "help",
    .state_size = sizeof(help_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .list = list,
    .done = done,
    .hints = hints,
};
