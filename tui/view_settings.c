/* The settings in force for a unit, as --set takes them. What differs from PyTorch 2.11's default
 * is marked with * and shown with the default. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/config.h"
#include "tui/edit.h"
#include "tui/lines.h"
#include "tui/view.h"

typedef struct settings_view {
    aot_lines lines;
    int cols; /* for which the lines were made */
    aot_config config, defaults;
    size_t n_changed;
    unsigned version; /* of the unit, when config was read */
} settings_view;

static settings_view *state(aot_view *v)
{
    return v->state;
}

static void fill(settings_view *s, int cols)
{
    uint32_t row = aot_list_row(&s->lines.list);
    aot_lines_clear(&s->lines);
    s->cols = cols;
    s->n_changed = 0;
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *r = aot_config_row_at(i);
        aot_sb now = {0}, def = {0}, name = {0}, text = {0};
        aot_config_print(&now, &s->config, r);
        aot_config_print(&def, &s->defaults, r);
        bool changed = strcmp(aot_sb_text(&now), aot_sb_text(&def)) != 0;
        s->n_changed += changed;
        aot_sb_addf(&name, "%s %s", changed ? "*" : " ", r->name);
        aot_sb_addz(&text, aot_sb_text(&now));
        if (changed) {
            aot_sb_addf(&text, "  (default %s)", aot_sb_text(&def));
        }
        if (cols >= 120) {
            aot_sb_pad(&text, ' ', text.n < 34 ? 34 - text.n : 2);
            aot_sb_addz(&text, r->doc);
        }
        aot_lines_link(&s->lines, (uint32_t)i, aot_sb_text(&name),
                       changed ? AOT_STYLE_NOTICE : AOT_STYLE_NORMAL, aot_sb_text(&text));
        s->lines.rows.d[s->lines.rows.n - 1].label_style =
            changed ? AOT_STYLE_NOTICE : AOT_STYLE_NORMAL;
        aot_sb_free(&now);
        aot_sb_free(&def);
        aot_sb_free(&name);
        aot_sb_free(&text);
    }
    aot_lines_end(&s->lines, row == AOT_NO_ROW ? 0 : row);
}

static aot_status open_view(aot_view *v, aot_err *err)
{
    settings_view *s = state(v);
    aot_config_init(&s->defaults);
    AOT_TRY(aot_model_config(aot_app_model(v->app), v->unit, &s->config, err));
    s->version = aot_model_version(aot_app_model(v->app), v->unit);
    aot_lines_init(&s->lines, 46);
    return AOT_OK;
}

static void done(aot_view *v)
{
    if (state(v)->lines.arena) {
        aot_lines_done(&state(v)->lines);
    }
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    aot_sb_addf(left, "unit %zu · settings", v->unit);
    aot_list_status(&state(v)->lines.list, right);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    settings_view *s = state(v);
    aot_model *m = aot_app_model(v->app);
    aot_err err = {0};
    if (s->version != aot_model_version(m, v->unit) &&
        aot_model_config(m, v->unit, &s->config, &err) == AOT_OK) {
        s->version = aot_model_version(m, v->unit);
        s->cols = 0;
    }
    if (s->cols != c->cols) {
        fill(s, c->cols);
    }
    if (s->n_changed) {
        aot_canvas_putf(c, y, 1, AOT_STYLE_NOTICE,
                        "* %zu of %zu differ from PyTorch 2.11's defaults.", s->n_changed,
                        s->lines.rows.n);
    } else {
        aot_canvas_put(c, y, 1, AOT_STYLE_NORMAL, "All are PyTorch 2.11's defaults.");
    }
    aot_canvas_put(
        c, y + 1, 1, AOT_STYLE_DIM,
        "The log's configuration, then --set NAME=VALUE, then edits. Enter changes one.");
    int low = rows >= 12 ? 4 : 0;
    aot_list_draw(&s->lines.list, c, y + 3, 0, rows - 3 - low, c->cols, true);
    uint32_t at = aot_lines_link_at(&s->lines);
    if (low && at != AOT_NO_LINK) {
        const aot_config_row *r = aot_config_row_at(at);
        aot_lines text;
        aot_lines_init(&text, 0);
        aot_lines_wrap(&text, c->cols - 4, AOT_STYLE_NORMAL, r->doc);
        if (r->range && *r->range) {
            aot_lines_addf(&text, AOT_STYLE_DIM, "values: %s", r->range);
        }
        aot_canvas_hline(c, y + rows - low, 0, c->cols, AOT_STYLE_BORDER);
        for (int i = 0; i < (int)text.rows.n && i + 1 < low; i++) {
            aot_canvas_put(c, y + rows - low + 1 + i, 2, text.rows.d[i].style, text.rows.d[i].text);
        }
        aot_lines_done(&text);
    }
}

/* A switch is turned; of anything else the value is asked for. */
static void change(aot_view *v, const aot_config_row *r)
{
    settings_view *s = state(v);
    aot_sb now = {0}, line = {0};
    aot_config_print(&now, &s->config, r);
    if (r->type == 'B') {
        bool on = strcmp(aot_sb_text(&now), "True") == 0;
        aot_sb_addf(&line, "set %s=%s", r->name, on ? "False" : "True");
        aot_edit(v->app, v->unit, aot_sb_text(&line));
    } else {
        aot_sb_addf(&line, "set %s=%s", r->name, aot_sb_text(&now));
        prompt_open(aot_app_prompt(v->app), PROMPT_COMMAND, aot_sb_text(&line));
    }
    aot_sb_free(&now);
    aot_sb_free(&line);
}

static bool act(aot_view *v, aot_action a)
{
    uint32_t at = aot_lines_link_at(&state(v)->lines);
    if (a != AOT_ACT_OPEN || at == AOT_NO_LINK) {
        return false;
    }
    change(v, aot_config_row_at(at));
    return true;
}

static aot_list *list(aot_view *v)
{
    return &state(v)->lines.list;
}

static const aot_hint hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "setting", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "change", false},
    {AOT_ACT_UNDO, AOT_ACT_REDO, "undo, redo", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {0},
};

const aot_view_ops view_settings_ops = {
    .what = "settings",
    .state_size = sizeof(settings_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .list = list,
    .done = done,
    .hints = hints,
};
