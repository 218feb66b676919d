/* The application without a terminal: a stack of views over one model. A key goes to the prompt if
 * one is open, else through the key table to an action, which is offered to the view, then to its
 * list, then done here. Drawing puts a bar, the view and a foot on a canvas. */
#include "tui/app.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "session/kept_edits.h"
#include "tui/edit.h"
#include "tui/frame.h"
#include "tui/screen.h"
#include "tui/view_marks.h"

enum { MAX_VIEWS = 16, MIN_ROWS = 10, MIN_COLS = 40 };

struct aot_app {
    aot_model *model;
    aot_keymap *keys;
    aot_canvas canvas;
    aot_view *views[MAX_VIEWS];
    size_t n_views;
    aot_prompt prompt;
    uint32_t prompt_row;    /* row where a search began */
    char *prompt_filter;    /* filter when the prompt was opened */
    aot_sb message;
    aot_style message_style;
    aot_action pending;     /* MARK, MARK_JUMP: the next key names it */
    aot_marks *marks;       /* NULL: not asked for yet */
    void (*later)(aot_app *app, void *arg); /* what aot_app_later was given; NULL: nothing */
    void *later_arg;
    aot_budget budget;
    bool live, end;
    bool asked; /* that edits would be lost, by the key before */
};

/* ---- what views ask ---- */

aot_model *aot_app_model(aot_app *app)
{
    return app->model;
}

const aot_keymap *aot_app_keys(const aot_app *app)
{
    return app->keys;
}

bool aot_app_live(const aot_app *app)
{
    return app->live;
}

bool aot_app_ascii(const aot_app *app)
{
    return app->canvas.ascii;
}

aot_view *aot_app_top(aot_app *app)
{
    return app->views[app->n_views - 1];
}

aot_view *aot_app_view(aot_app *app, size_t i)
{
    return i < app->n_views ? app->views[i] : NULL;
}

aot_budget *aot_app_budget(aot_app *app)
{
    return &app->budget;
}

aot_prompt *aot_app_prompt(aot_app *app)
{
    return &app->prompt;
}

const char *aot_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(path, "-") == 0 ? "standard input" : slash && slash[1] ? slash + 1 : path;
}

void aot_app_say(aot_app *app, const char *fmt, ...)
{
    char buf[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    aot_sb_clear(&app->message);
    aot_sb_addz(&app->message, buf);
    app->message_style = AOT_STYLE_NOTICE;
}

void aot_app_fail(aot_app *app, const aot_err *err)
{
    char buf[1000];
    aot_app_say(app, "%s", aot_err_text(err, buf, sizeof buf));
    app->message_style = AOT_STYLE_ERROR;
}

static void free_view(aot_view *v)
{
    if (v->ops->done) {
        v->ops->done(v);
    }
    free(v->state);
    free(v);
}

bool aot_app_push(aot_app *app, const aot_view_ops *ops, size_t unit, aot_stage stage)
{
    if (app->n_views == MAX_VIEWS) {
        aot_app_say(app, "Too many views are open: q closes one");
        return false;
    }
    aot_view *v = aot_xcalloc(1, sizeof *v);
    *v = (aot_view){ops, app, aot_xcalloc(1, ops->state_size), unit, stage};
    aot_err err = {0};
    aot_progress_begin("opening", ops->what, 0);
    aot_status st = ops->open ? ops->open(v, &err) : AOT_OK;
    aot_progress_end();
    if (st != AOT_OK) {
        aot_app_fail(app, &err);
        free_view(v);
        return false;
    }
    app->views[app->n_views++] = v;
    return true;
}

/* The first key that leaves only says what would be lost; the one after it leaves. */
static void leave(aot_app *app)
{
    app->end = app->asked || !aot_edit_would_lose(app);
    app->asked = !app->end;
}

void aot_app_pop(aot_app *app)
{
    if (app->n_views > 1) {
        free_view(app->views[--app->n_views]);
    } else {
        leave(app);
    }
}

void aot_app_goto(aot_app *app, size_t unit, aot_stage stage, const char *node)
{
    while (app->n_views > 1 &&
           (aot_app_top(app)->ops != &view_graph_ops || aot_app_top(app)->unit != unit)) {
        aot_app_pop(app);
    }
    if (aot_app_top(app)->ops != &view_graph_ops &&
        !aot_app_push(app, &view_graph_ops, unit, stage)) {
        return;
    }
    aot_graph_view_select(aot_app_top(app), stage, node);
}

void aot_app_restyle(aot_app *app)
{
    if (app->live) {
        screen_restyle();
    }
}

/* ---- the prompt ---- */

aot_list *aot_app_list(aot_app *app)
{
    aot_view *v = aot_app_top(app);
    return v->ops->list ? v->ops->list(v) : NULL;
}

static void open_prompt(aot_app *app, prompt_kind kind)
{
    aot_list *l = aot_app_list(app);
    aot_sb text = {0};
    if (!l && kind != PROMPT_COMMAND) {
        return;
    }
    free(app->prompt_filter);
    app->prompt_filter = NULL;
    if (l) {
        app->prompt_row = aot_list_row(l);
        aot_sb_addf(&text, "%s%s", l->filter.text && l->filter.inverse ? "!" : "",
                    l->filter.text ? l->filter.text : "");
        app->prompt_filter = aot_xstrdup(aot_sb_text(&text));
    }
    prompt_open(&app->prompt, kind, kind == PROMPT_FILTER ? aot_sb_text(&text) : "");
    aot_view *v = aot_app_top(app);
    const char *pane = v->ops->pane && kind != PROMPT_COMMAND ? v->ops->pane(v) : NULL;
    app->prompt.where = pane && strcmp(pane, v->ops->what) != 0 ? pane : NULL;
    aot_sb_free(&text);
}

/* Search and filter follow what is typed; an expression that is not finished changes nothing. */
static void follow_prompt(aot_app *app, prompt_kind kind, const char *text, bool say)
{
    aot_list *l = aot_app_list(app);
    aot_err err = {0};
    aot_status st = AOT_OK;
    if (l && kind == PROMPT_SEARCH) {
        st = aot_list_search(l, text, app->prompt_row, &err);
    } else if (l && kind == PROMPT_FILTER) {
        st = aot_list_filter(l, text, &err);
    }
    if (say && kind == PROMPT_SEARCH) {
        aot_app_searched(app, text, &err);
    } else if (st != AOT_OK && say) {
        aot_app_fail(app, &err);
    }
}

static void key_to_prompt(aot_app *app, aot_key key)
{
    prompt_kind kind = app->prompt.kind;
    if (kind == PROMPT_BUDGET && (key == '+' || key == '-')) {
        aot_budget_step(app, key == '+' ? 1 : -1);
        return;
    }
    prompt_event e = prompt_key(&app->prompt, key);
    const char *text = aot_sb_text(&app->prompt.text);
    if (kind == PROMPT_BUDGET) {
        if (e == PROMPT_CHANGED) {
            aot_budget_follow(app, text);
        } else if (e != PROMPT_NOTHING) {
            aot_budget_end(app, e == PROMPT_DONE);
        }
    } else if (e == PROMPT_CHANGED && kind != PROMPT_COMMAND) {
        follow_prompt(app, kind, text, false);
    } else if (e == PROMPT_DONE && kind == PROMPT_COMMAND) {
        char *copy = aot_xstrdup(text);
        aot_app_run_command(app, copy);
        free(copy);
    } else if (e == PROMPT_DONE) {
        follow_prompt(app, kind, text, true);
    } else if (e == PROMPT_CANCELLED && kind != PROMPT_COMMAND) {
        aot_list *l = aot_app_list(app);
        follow_prompt(app, kind, kind == PROMPT_FILTER ? app->prompt_filter : "", false);
        if (l && app->prompt_row != AOT_NO_ROW) {
            aot_list_select(l, app->prompt_row);
        }
    }
}

/* ---- marks ---- */

aot_marks *aot_app_marks(aot_app *app)
{
    char side[4096];
    aot_err err = {0};
    if (!app->marks) {
        app->marks =
            aot_marks_open(app->model, aot_marks_side_path(side, sizeof side) ? side : NULL, &err);
        if (err.code != AOT_OK) {
            aot_app_fail(app, &err);
        }
    }
    return app->marks;
}

/* The key after m or '; Esc gives up. */
static void name_mark(aot_app *app, aot_key key)
{
    aot_action a = app->pending;
    app->pending = AOT_ACT_NONE;
    if (a == AOT_ACT_MARK && key != AOT_KEY_ESC) {
        aot_mark_here(app, key);
    } else if (key == '\'' && a == AOT_ACT_MARK_JUMP) {
        aot_app_do(app, AOT_ACT_MARKS);
    } else if (key != AOT_KEY_ESC) {
        aot_mark_jump(app, key);
    }
}

static void open_note(aot_app *app)
{
    aot_sb text = {0};
    aot_sb_addf(&text, "note %s", aot_note_now(app));
    open_prompt(app, PROMPT_COMMAND);
    prompt_open(&app->prompt, PROMPT_COMMAND, aot_sb_text(&text));
    aot_sb_free(&text);
}

/* ---- actions ---- */

static void open_over_unit(aot_app *app, const aot_view_ops *ops)
{
    aot_view *v = aot_app_top(app);
    size_t unit = v->unit;
    if (unit == AOT_NO_UNIT) { // the list of units: the one under its cursor
        aot_list *l = aot_app_list(app);
        unit = l && v->ops == &view_units_ops ? aot_list_row(l) : AOT_NO_ROW;
        if (unit == AOT_NO_ROW) {
            aot_app_say(app, "Open a unit first");
            return;
        }
    }
    aot_stage stage = v->stage;
    if (ops == &view_text_ops && stage >= AOT_N_STAGES) {
        aot_app_say(app, "Open the unit first (Enter), then a stage");
        return;
    }
    if (v->ops != ops) {
        aot_app_push(app, ops, unit, stage);
    }
}

/* A view that is about no unit in particular. */
static void open_of_all(aot_app *app, const aot_view_ops *ops)
{
    if (aot_app_top(app)->ops != ops) {
        aot_app_push(app, ops, AOT_NO_UNIT, AOT_N_STAGES);
    }
}

static void cancel(aot_app *app)
{
    aot_list *l = aot_app_list(app);
    aot_err err = {0};
    if (l && (l->filter.text || l->search.text)) {
        follow_prompt(app, PROMPT_FILTER, "", false);
        if (aot_list_search(l, "", AOT_NO_ROW, &err) != AOT_OK) {
            aot_app_fail(app, &err);
        }
    } else if (app->n_views > 1) {
        aot_app_pop(app);
    } else {
        aot_app_say(app, "This is the first screen: q leaves aotscope");
    }
}

static void offer_export(aot_app *app)
{
    aot_view *v = aot_app_top(app);
    if (v->unit == AOT_NO_UNIT || v->stage >= AOT_N_STAGES) {
        aot_app_say(app, "Open a unit first (Enter): its graph and partition can be drawn");
        return;
    }
    char text[200];
    const aot_partition *p;
    aot_err err = {0};
    bool cut = v->stage >= AOT_STAGE_JOINT && v->stage <= AOT_STAGE_BACKWARD &&
               aot_model_partition(app->model, v->unit, &p, &err) == AOT_OK;
    snprintf(text, sizeof text, "export %s unit%zu_%s.svg", cut ? "partition" : "graph", v->unit,
             cut ? "partition" : aot_stage_get(v->stage)->name);
    open_prompt(app, PROMPT_COMMAND);
    prompt_open(&app->prompt, PROMPT_COMMAND, text);
}

static void undo(aot_app *app, bool back)
{
    size_t unit = aot_app_top(app)->unit;
    if (unit == AOT_NO_UNIT) {
        aot_app_say(app, "Open a unit first (Enter)");
    } else if (back) {
        aot_edit_undo(app, unit);
    } else {
        aot_edit_redo(app, unit);
    }
}

static void do_own(aot_app *app, aot_action a)
{
    switch (a) {
    case AOT_ACT_MARK:
    case AOT_ACT_MARK_JUMP:
        app->pending = a;
        aot_app_say(app, a == AOT_ACT_MARK
                             ? "Mark: which letter?"
                             : "Jump to mark: which letter? (' lists marks and notes)");
        break;
    case AOT_ACT_NOTE: open_note(app); break;
    case AOT_ACT_MARKS: open_of_all(app, &view_marks_ops); break;
    case AOT_ACT_SEARCH: open_prompt(app, PROMPT_SEARCH); break;
    case AOT_ACT_FILTER: open_prompt(app, PROMPT_FILTER); break;
    case AOT_ACT_COMMAND: open_prompt(app, PROMPT_COMMAND); break;
    case AOT_ACT_EXPORT: offer_export(app); break;
    case AOT_ACT_EXPORT_SCREEN:
        open_prompt(app, PROMPT_COMMAND);
        prompt_open(&app->prompt, PROMPT_COMMAND, "export-screen screen.svg");
        break;
    case AOT_ACT_TYPE_BUDGET: aot_budget_open(app); break;
    case AOT_ACT_UNDO:
    case AOT_ACT_REDO: undo(app, a == AOT_ACT_UNDO); break;
    case AOT_ACT_EDITS: open_over_unit(app, &view_undo_ops); break;
    case AOT_ACT_TEXT: open_over_unit(app, &view_text_ops); break;
    case AOT_ACT_DIFF: open_over_unit(app, &view_diff_ops); break;
    case AOT_ACT_EXPLAIN: open_over_unit(app, &view_explain_ops); break;
    case AOT_ACT_BUDGET: open_over_unit(app, &view_budget_ops); break;
    case AOT_ACT_MEMORY: open_over_unit(app, &view_memory_ops); break;
    case AOT_ACT_REPLAY: open_over_unit(app, &view_replay_ops); break;
    case AOT_ACT_FINDINGS: open_over_unit(app, &view_findings_ops); break;
    case AOT_ACT_SETTINGS: open_over_unit(app, &view_settings_ops); break;
    case AOT_ACT_RANKS: open_of_all(app, &view_ranks_ops); break;
    case AOT_ACT_NOTES: open_of_all(app, &view_notes_ops); break;
    case AOT_ACT_HELP: open_of_all(app, &view_help_ops); break;
    case AOT_ACT_CANCEL: cancel(app); break;
    case AOT_ACT_BACK: cancel(app); break;
    case AOT_ACT_CLOSE: aot_app_pop(app); break;
    case AOT_ACT_QUIT: leave(app); break;
    case AOT_ACT_REDRAW: if (app->live) { screen_redraw(); } break;
    case AOT_ACT_SUSPEND: if (app->live) { screen_suspend(); } break;
    default:
        aot_app_say(app, "'%s' does nothing here; ? shows the keys", aot_action_name(a));
        break;
    }
}

void aot_app_do(aot_app *app, aot_action a)
{
    aot_view *v = aot_app_top(app);
    aot_list *l = aot_app_list(app);
    if (v->ops->act && v->ops->act(v, a)) { // v may be gone now
        return;
    }
    bool search = a == AOT_ACT_SEARCH_NEXT || a == AOT_ACT_SEARCH_PREV;
    if (search && (!l || !l->search.text)) {
        aot_app_say(app, "Nothing is searched for: / starts a search");
    } else if (!l || !aot_list_act(l, a)) {
        do_own(app, a);
    }
}

void aot_app_later(aot_app *app, const char *what, void (*run)(aot_app *app, void *arg), void *arg)
{
    app->later = run;
    app->later_arg = arg;
    aot_app_say(app, "%s", what);
}

static bool do_later(aot_app *app)
{
    void (*run)(aot_app *, void *) = app->later;
    app->later = NULL;
    if (run) {
        run(app, app->later_arg);
    }
    return run != NULL;
}

void aot_app_key(aot_app *app, aot_key key)
{
    const char *maps[3];
    do_later(app); // typed ahead: what was asked for first comes first
    aot_sb_clear(&app->message);
    if (app->pending != AOT_ACT_NONE) {
        name_mark(app, key);
        return;
    }
    if (app->prompt.kind != PROMPT_NONE) {
        key_to_prompt(app, key);
        return;
    }
    const aot_view_ops *ops = aot_app_top(app)->ops;
    if (ops->key && ops->key(aot_app_top(app), key)) {
        return;
    }
    frame_maps(aot_app_top(app), maps);
    aot_action a = aot_keymap_find(app->keys, maps, key);
    if (a != AOT_ACT_QUIT && a != AOT_ACT_CLOSE) {
        app->asked = false;
    }
    if (a != AOT_ACT_NONE) {
        aot_app_do(app, a);
    } else if (key != AOT_KEY_NONE) {
        aot_sb shown = {0};
        aot_key_show(&shown, key, app->canvas.ascii);
        aot_app_say(app, "%s is not bound; ? shows the keys", aot_sb_text(&shown));
        aot_sb_free(&shown);
    }
}

void aot_app_click(aot_app *app, int row, int col, int wheel, bool twice)
{
    aot_view *v = aot_app_top(app);
    aot_list *l = aot_app_list(app);
    if (app->prompt.kind != PROMPT_NONE || app->later) {
        return;
    }
    if (wheel) {
        for (int i = 0; l && i < 3; i++) {
            aot_list_act(l, wheel < 0 ? AOT_ACT_UP : AOT_ACT_DOWN);
        }
        return;
    }
    if (v->ops->click) {
        v->ops->click(v, row, col);
    } else if (l) {
        aot_list_click(l, row, col);
    }
    if (twice) {
        aot_app_do(app, AOT_ACT_OPEN);
    }
}

bool aot_app_work(aot_app *app)
{
    aot_view *v = aot_app_top(app);
    aot_list *l = aot_app_list(app);
    if (do_later(app)) {
        return true;
    }
    return v->ops->work ? v->ops->work(v) : l && aot_list_work(l, AOT_SLICE_NS);
}

int aot_app_rest(aot_app *app)
{
    aot_view *v = aot_app_top(app);
    return !app->later && v->ops->rest ? v->ops->rest(v) : 0;
}

/* ---- drawing ---- */

const aot_canvas *aot_app_draw(aot_app *app, int *cursor_col)
{
    aot_canvas *c = &app->canvas;
    *cursor_col = -1;
    aot_canvas_clear(c);
    if (c->rows < MIN_ROWS || c->cols < MIN_COLS) {
        aot_canvas_putf(c, 0, 0, AOT_STYLE_NOTICE, "terminal too small: %dx%d", c->cols, c->rows);
        aot_canvas_putf(c, 1, 0, AOT_STYLE_NORMAL, "needs %dx%d; Q quits", MIN_COLS, MIN_ROWS);
        return c;
    }
    aot_view *v = aot_app_top(app);
    v->ops->draw(v, c, 1, c->rows - 2);
    frame_draw_bar(v, c);
    if (app->prompt.kind != PROMPT_NONE) {
        *cursor_col = prompt_draw(&app->prompt, c, c->rows - 1);
    } else if (app->message.n) {
        frame_draw_message(aot_sb_text(&app->message), app->message_style, c);
    } else {
        frame_draw_hints(v, c);
    }
    return c;
}

/* ---- life ---- */

aot_app *aot_app_new(aot_model *model, bool ascii, bool live, aot_err *err)
{
    aot_app *app = aot_xcalloc(1, sizeof *app);
    app->model = model;
    app->live = live;
    app->keys = aot_keymap_new();
    aot_canvas_init(&app->canvas, 24, 80, ascii);
    prompt_init(&app->prompt, aot_app_complete, app);
    if (live && aot_keymap_read_user(app->keys, err) != AOT_OK) {
        aot_app_free(app);
        return NULL;
    }
    aot_err kept = {0};
    size_t n_kept = 0;
    aot_status st = aot_kept_edits_restore(model, &n_kept, &kept);
    (void)st; // kept says it
    aot_app_push(app, &view_units_ops, AOT_NO_UNIT, AOT_N_STAGES);
    if (aot_model_n_units(model) == 1) { // no choice to make
        aot_app_push(app, &view_graph_ops, 0, AOT_N_STAGES);
    }
    if (kept.code != AOT_OK) {
        aot_app_fail(app, &kept);
    } else if (n_kept > 0) {
        aot_app_say(app,
                    "Edits of %zu unit%s are in force again, as kept in the session; u lists them",
                    n_kept, n_kept == 1 ? "" : "s");
    }
    return app;
}

void aot_app_free(aot_app *app)
{
    while (app->n_views > 0) {
        free_view(app->views[--app->n_views]);
    }
    aot_marks_close(app->marks);
    prompt_done(&app->prompt);
    free(app->prompt_filter);
    aot_sb_free(&app->message);
    aot_canvas_free(&app->canvas);
    aot_keymap_free(app->keys);
    aot_model_free(app->model);
    free(app);
}

void aot_app_resize(aot_app *app, int rows, int cols)
{
    aot_canvas_resize(&app->canvas, rows, cols);
}

bool aot_app_wants_end(const aot_app *app)
{
    return app->end;
}
