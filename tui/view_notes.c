/* What the import noted: of the input as a whole, then of each unit. */
#include <stdio.h>
#include <string.h>

#include "tui/lines.h"
#include "tui/view.h"

typedef struct notes_view {
    aot_lines lines;
    size_t n;
    int cols;
} notes_view;

static notes_view *state(aot_view *v)
{
    return v->state;
}

static void add(notes_view *s, const aot_import_note *n, int cols)
{
    char where[300], label[32];
    bool bad = n->kind && (strcmp(n->kind, "damage") == 0 || strcmp(n->kind, "missing") == 0);
    snprintf(where, sizeof where, "%s", n->file ? aot_base_name(n->file) : "");
    if (n->line) {
        size_t at = strlen(where);
        snprintf(where + at, sizeof where - at, ":%llu", (unsigned long long)n->line);
    }
    snprintf(label, sizeof label, "%.31s", n->kind ? n->kind : "note");
    aot_sb text = {0};
    aot_sb_addf(&text, "%s%s%s", where, *where ? "  " : "", n->text ? n->text : "");
    aot_lines_pair(&s->lines, cols, label, bad ? AOT_STYLE_NOTICE : AOT_STYLE_NORMAL,
                   aot_sb_text(&text));
    aot_sb_free(&text);
    s->n++;
}

static void fill(aot_view *v, int cols)
{
    notes_view *s = state(v);
    aot_model *m = aot_app_model(v->app);
    char label[64];
    s->n = 0;
    s->cols = cols;
    aot_lines_clear(&s->lines);
    if (aot_model_n_notes(m)) {
        aot_lines_add(&s->lines, AOT_STYLE_TITLE, "The input");
    }
    for (size_t i = 0; i < aot_model_n_notes(m); i++) {
        add(s, aot_model_note(m, i), cols - 2);
    }
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        const aot_unit *u = aot_model_unit(m, i);
        if (u->notes.n) {
            aot_lines_add(&s->lines, AOT_STYLE_NORMAL, "");
            aot_lines_addf(&s->lines, AOT_STYLE_TITLE, "Unit %zu %s %s", i,
                           aot_unit_label(&u->key, label, sizeof label), u->title ? u->title : "");
        }
        for (size_t k = 0; k < u->notes.n; k++) {
            add(s, &u->notes.d[k], cols - 2);
        }
    }
    aot_lines_end(&s->lines, 0);
}

static aot_status open_view(aot_view *v, aot_err *err)
{
    (void)err;
    aot_lines_init(&state(v)->lines, 11);
    return AOT_OK;
}

static void done(aot_view *v)
{
    aot_lines_done(&state(v)->lines);
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    aot_sb_addf(left, "import notes · %zu", state(v)->n);
    aot_list_status(&state(v)->lines.list, right);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    notes_view *s = state(v);
    if (s->cols != c->cols) {
        fill(v, c->cols);
    }
    if (s->n == 0) {
        aot_canvas_put(c, y + 1, 2, AOT_STYLE_NORMAL,
                       "Nothing to note: all of the input was read.");
        return;
    }
    aot_list_draw(&s->lines.list, c, y, 0, rows, c->cols, true);
}

static aot_list *list(aot_view *v)
{
    return &state(v)->lines.list;
}

static const aot_hint hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "line", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {0},
};

const aot_view_ops view_notes_ops = {
    .what = "notes",
    .state_size = sizeof(notes_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .list = list,
    .done = done,
    .hints = hints,
};
