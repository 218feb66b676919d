/* Marks and notes of all units, one a line; Enter goes to the node. And what sets them: m and a
 * letter, M or :note for a sentence about the node under the cursor. */
#include "tui/view_marks.h"

#include <stdio.h>
#include <string.h>

#include "tui/lines.h"

typedef struct marks_view {
    aot_lines lines;
    size_t n;
    int cols; /* for which the lines were made */
} marks_view;

static marks_view *state(aot_view *v)
{
    return v->state;
}

/* ---- setting and going ---- */

/* The node that is meant, or a sentence that there is none. */
static const char *node_here(aot_app *app)
{
    aot_view *v = aot_app_top(app);
    const char *node = v->ops == &view_graph_ops ? aot_graph_view_node(v) : NULL;
    if (!node) {
        aot_app_say(app, "Marks and notes are about nodes: open a unit first");
    }
    return node;
}

static void tell(aot_app *app, const char *what, aot_status st, const aot_err *err)
{
    if (st != AOT_OK) {
        aot_app_fail(app, err);
    } else {
        aot_app_say(app, "%s: %s", what, aot_marks_where(aot_app_marks(app)));
    }
    aot_view *v = aot_app_top(app);
    if (v->ops == &view_graph_ops) {
        aot_graph_view_renew(v);
    }
}

void aot_mark_here(aot_app *app, aot_key letter)
{
    char what[300];
    const char *node = node_here(app);
    aot_err err = {0};
    if (!node) {
        return;
    }
    aot_view *v = aot_app_top(app);
    char c = letter < 127 ? (char)letter : 0;
    snprintf(what, sizeof what, "Mark %c is at %s", c, node);
    aot_status st = aot_marks_set(aot_app_marks(app), v->unit, v->stage, node, c, &err);
    tell(app, what, st, &err);
}

bool aot_note_here(aot_app *app, const char *text)
{
    char what[300];
    const char *node = node_here(app);
    aot_err err = {0};
    if (!node) {
        return false;
    }
    aot_view *v = aot_app_top(app);
    bool gone = strcmp(text, "-") == 0;
    snprintf(what, sizeof what, "Note of %s%s", node, gone ? " removed" : "");
    aot_status st =
        aot_marks_note(aot_app_marks(app), v->unit, v->stage, node, gone ? "" : text, &err);
    tell(app, what, st, &err);
    return st == AOT_OK;
}

const char *aot_note_now(aot_app *app)
{
    aot_view *v = aot_app_top(app);
    const char *node = v->ops == &view_graph_ops ? aot_graph_view_node(v) : NULL;
    const char *note = node ? aot_marks_note_of(aot_app_marks(app), v->unit, node) : NULL;
    return note ? note : "";
}

void aot_mark_jump(aot_app *app, aot_key letter)
{
    const aot_mark *m =
        letter > ' ' && letter < 127 ? aot_marks_find(aot_app_marks(app), (char)letter) : NULL;
    if (m) {
        aot_app_goto(app, m->unit, m->stage, m->node);
    } else if (letter > ' ' && letter < 127) {
        aot_app_say(app, "There is no mark %c", (char)letter);
    }
}

/* ---- the view ---- */

static void fill(aot_view *v, int cols)
{
    marks_view *s = state(v);
    aot_marks *k = aot_app_marks(v->app);
    aot_model *m = aot_app_model(v->app);
    s->n = aot_marks_count(k);
    s->cols = cols;
    aot_lines_clear(&s->lines);
    for (size_t i = 0; i < s->n; i++) {
        const aot_mark *mark = aot_marks_at(k, i);
        const aot_unit *u = aot_model_unit(m, mark->unit);
        char name[8] = "note", label[64];
        aot_sb text = {0};
        if (mark->letter) {
            snprintf(name, sizeof name, "%c", mark->letter);
        }
        aot_sb_addf(&text, "%s  %s  %s%s%s", aot_unit_label(&u->key, label, sizeof label),
                    aot_stage_get(mark->stage)->name, mark->node, *mark->text ? "  " : "",
                    mark->text);
        aot_lines_link(&s->lines, (uint32_t)i, name, AOT_STYLE_NORMAL, aot_sb_text(&text));
        s->lines.rows.d[s->lines.rows.n - 1].label_style = AOT_STYLE_KEY;
        aot_sb_free(&text);
    }
    aot_lines_end(&s->lines, 0);
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
    aot_sb_addf(left, "marks and notes · %zu", state(v)->n);
    aot_list_status(&state(v)->lines.list, right);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    marks_view *s = state(v);
    if (s->cols != c->cols) {
        fill(v, c->cols);
    }
    if (s->n == 0) {
        aot_canvas_put(
            c, y + 1, 2, AOT_STYLE_NORMAL,
            "Nothing is marked: m and a letter marks a node, M notes a sentence about it.");
        return;
    }
    aot_list_draw(&s->lines.list, c, y, 0, rows, c->cols, true);
}

static bool act(aot_view *v, aot_action a)
{
    marks_view *s = state(v);
    uint32_t link = aot_lines_link_at(&s->lines);
    if (a != AOT_ACT_OPEN || link == AOT_NO_LINK) {
        return false;
    }
    aot_mark m = *aot_marks_at(aot_app_marks(v->app), link);
    aot_app *app = v->app;
    aot_app_pop(app); // v is gone
    aot_app_goto(app, m.unit, m.stage, m.node);
    return true;
}

static aot_list *list(aot_view *v)
{
    return &state(v)->lines.list;
}

static const aot_hint hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "line", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "go to the node", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {0},
};

const aot_view_ops view_marks_ops = {
    .what = "marks",
    .state_size = sizeof(marks_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .list = list,
    .done = done,
    .hints = hints,
};
