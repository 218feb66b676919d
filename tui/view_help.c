/* Help: the keys from the key table, the letters from the viewers' table, the commands from the
 * application's. Nothing of it is typed here twice. */
#include <stdio.h>
#include <string.h>

#include "tui/app.h"
#include "tui/lines.h"
#include "tui/view.h"
#include "viewers/format.h"

static aot_lines *state(aot_view *v)
{
    return v->state;
}

static void add_keys(aot_lines *l, const aot_keymap *k, bool ascii)
{
    const char *group = "";
    for (int a = AOT_ACT_NONE + 1; a < AOT_N_ACTIONS; a++) {
        aot_sb keys = {0};
        if (strcmp(aot_action_group((aot_action)a), group) != 0) {
            group = aot_action_group((aot_action)a);
            aot_lines_add(l, AOT_STYLE_NORMAL, "");
            aot_lines_add(l, AOT_STYLE_TITLE, group);
        }
        aot_keymap_add_all(&keys, k, (aot_action)a, ascii);
        aot_lines_pair(l, 0, aot_sb_text(&keys), AOT_STYLE_NORMAL, aot_action_doc((aot_action)a));
        l->rows.d[l->rows.n - 1].label_style = AOT_STYLE_KEY;
        aot_sb_free(&keys);
    }
}

static void add_letters(aot_lines *l)
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
    aot_lines_add(l, AOT_STYLE_NORMAL, "");
    aot_lines_add(l, AOT_STYLE_TITLE, "Letters beside a node");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        aot_lines_pair(l, 0, marks[i].letter, AOT_STYLE_NORMAL, marks[i].text);
        l->rows.d[l->rows.n - 1].label_style = AOT_STYLE_KEY;
    }
}

static void add_signs(aot_lines *l, bool ascii)
{
    const struct {
        const char *sign, *text;
    } signs[] = {
        {ascii ? "*" : "●", "recorded: the input holds it"},
        {ascii ? "+" : "○", "derived from what the input holds"},
        {"=", "recorded or derived; this step changed nothing"},
        {ascii ? "-" : "·", "not there; its page says why"},
    };
    aot_lines_add(l, AOT_STYLE_NORMAL, "");
    aot_lines_add(l, AOT_STYLE_TITLE, "Signs beside a stage");
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        aot_lines_pair(l, 0, signs[i].sign, AOT_STYLE_NORMAL, signs[i].text);
        l->rows.d[l->rows.n - 1].label_style = AOT_STYLE_KEY;
    }
}

static void add_commands(aot_lines *l)
{
    aot_lines_add(l, AOT_STYLE_NORMAL, "");
    aot_lines_add(l, AOT_STYLE_TITLE, "Commands after ':' (and every action by its name)");
    for (const aot_app_command *c = aot_app_commands; c->name; c++) {
        char label[64];
        snprintf(label, sizeof label, "%s %s", c->name, c->arg);
        aot_lines_pair(l, 0, label, AOT_STYLE_NORMAL, c->doc);
        l->rows.d[l->rows.n - 1].label_style = AOT_STYLE_KEY;
    }
}

static void add_stages(aot_lines *l)
{
    aot_lines_add(l, AOT_STYLE_NORMAL, "");
    aot_lines_add(l, AOT_STYLE_TITLE, "Stages, in pipeline order");
    for (int s = 0; s < AOT_N_STAGES; s++) {
        const aot_stage_info *info = aot_stage_get((aot_stage)s);
        aot_lines_pair(l, 0, info->name, AOT_STYLE_NORMAL, info->sentence);
        l->rows.d[l->rows.n - 1].label_style = AOT_STYLE_KEY;
    }
}

static aot_status open_view(aot_view *v, aot_err *err)
{
    (void)err;
    aot_lines *l = state(v);
    aot_lines_init(l, 26);
    aot_lines_add(l, AOT_STYLE_NORMAL,
                  "aotscope shows what AOTAutograd made of a compiled function, stage by stage,");
    aot_lines_add(l, AOT_STYLE_NORMAL,
                  "which values the forward saves for the backward, and why.");
    add_keys(l, aot_app_keys(v->app), aot_app_ascii(v->app));
    add_letters(l);
    add_commands(l);
    add_stages(l);
    add_signs(l, aot_app_ascii(v->app));
    aot_lines_end(l, 0);
    return AOT_OK;
}

static void done(aot_view *v)
{
    aot_lines_done(state(v));
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    aot_sb_addz(left, "help");
    aot_list_status(&state(v)->list, right);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    aot_list_draw(&state(v)->list, c, y, 0, rows, c->cols, true);
}

static aot_list *list(aot_view *v)
{
    return &state(v)->list;
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
    .state_size = sizeof(aot_lines),
    .open = open_view,
    .title = title,
    .draw = draw,
    .list = list,
    .done = done,
    .hints = hints,
};
