/* The edits of a unit, in order: those in force, then those that were undone. Enter on one goes to
 * the state right after it, by undoing or redoing what lies between. */
#include <stdio.h>
#include <string.h>

#include "tui/edit.h"
#include "tui/lines.h"

typedef struct undo_view {
    aot_lines lines;
    unsigned version; /* of the unit, when the lines were made */
    bool made;
} undo_view;

static undo_view *state(aot_view *v)
{
    return v->state;
}

static void fill(aot_view *v)
{
    undo_view *s = state(v);
    aot_model *m = aot_app_model(v->app);
    size_t n = aot_model_n_edits(m, v->unit), all = n + aot_model_n_undone(m, v->unit);
    aot_lines_clear(&s->lines);
    for (size_t i = 0; i <= all; i++) {
        char label[32];
        const aot_unit_edit *e = i > 0 ? aot_model_edit_at(m, v->unit, i - 1) : NULL;
        aot_sb text = {0};
        snprintf(label, sizeof label, "%s%2zu", i == n ? "*" : " ", i);
        aot_sb_addz(&text, e ? e->line : "as recorded, with what was given as --set");
        if (e && e->file) {
            aot_sb_addf(&text, "   (%s:%u)", e->file, e->at);
        }
        aot_sb_addz(&text, i > n ? "   (undone)" : "");
        aot_lines_link(&s->lines, (uint32_t)i, label, i > n ? AOT_STYLE_DIM : AOT_STYLE_NORMAL,
                       aot_sb_text(&text));
        s->lines.rows.d[s->lines.rows.n - 1].label_style =
            i == n ? AOT_STYLE_NOTICE : AOT_STYLE_DIM;
        aot_sb_free(&text);
    }
    s->version = aot_model_version(m, v->unit);
    s->made = true;
    aot_lines_end(&s->lines, n);
}

static aot_status open_view(aot_view *v, aot_err *err)
{
    (void)err;
    aot_lines_init(&state(v)->lines, 6);
    return AOT_OK;
}

static void done(aot_view *v)
{
    aot_lines_done(&state(v)->lines);
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    aot_model *m = aot_app_model(v->app);
    aot_sb_addf(left, "unit %zu · edits · %zu in force, %zu undone", v->unit,
                aot_model_n_edits(m, v->unit), aot_model_n_undone(m, v->unit));
    aot_list_status(&state(v)->lines.list, right);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    undo_view *s = state(v);
    if (!s->made || s->version != aot_model_version(aot_app_model(v->app), v->unit)) {
        fill(v);
    }
    aot_canvas_put(c, y, 1, AOT_STYLE_DIM,
                   "* is the state that is shown; Enter goes to another one.");
    aot_list_draw(&s->lines.list, c, y + 2, 0, rows - 2, c->cols, true);
}

static bool act(aot_view *v, aot_action a)
{
    uint32_t link = aot_lines_link_at(&state(v)->lines);
    if (a != AOT_ACT_OPEN || link == AOT_NO_LINK) {
        return false;
    }
    aot_edit_go(v->app, v->unit, link);
    return true;
}

static aot_list *list(aot_view *v)
{
    return &state(v)->lines.list;
}

static const aot_hint hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "edit", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "go to this state", false},
    {AOT_ACT_UNDO, AOT_ACT_REDO, "undo, redo", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {0},
};

const aot_view_ops view_undo_ops = {
    .what = "edits",
    .state_size = sizeof(undo_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .list = list,
    .done = done,
    .hints = hints,
};
