/* A stage as PyTorch prints it, line by line; Left and Right step through the stages. */
#include "ir/text.h"
#include "tui/lines.h"
#include "tui/view.h"

static aot_lines *state(aot_view *v)
{
    return v->state;
}

static void fill(aot_view *v)
{
    aot_lines *l = state(v);
    const aot_graph *g;
    aot_err err = {0};
    aot_lines_clear(l);
    const aot_runtime *r = NULL;
    bool runtime = v->stage == AOT_STAGE_RUNTIME;
    aot_model *m = aot_app_model(v->app);
    aot_status st = runtime ? aot_model_runtime(m, v->unit, &r, &err)
                            : aot_model_graph(m, v->unit, v->stage, &g, &err);
    if (st == AOT_OK && runtime) {
        aot_sb text = {0};
        aot_runtime_print(&text, r);
        aot_lines_take(l, &text);
    } else if (st != AOT_OK) {
        char why[800];
        aot_lines_addf(l, AOT_STYLE_NOTICE, "%s is not there", aot_stage_get(v->stage)->name);
        aot_lines_wrap(l, 76, AOT_STYLE_NORMAL, aot_err_text(&err, why, sizeof why));
    } else {
        aot_sb text = {0};
        aot_print_graph(&text, g, AOT_PRINT_PLAIN);
        aot_lines_take(l, &text);
    }
    aot_lines_end(l, 0);
}

static aot_status open_view(aot_view *v, aot_err *err)
{
    (void)err;
    aot_lines_init(state(v), 0);
    fill(v);
    return AOT_OK;
}

static void done(aot_view *v)
{
    aot_lines_done(state(v));
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    aot_sb_addf(left, "unit %zu · %s%s", v->unit, aot_stage_get(v->stage)->name,
                v->stage == AOT_STAGE_RUNTIME ? "" : " as PyTorch prints it");
    aot_list_status(&state(v)->list, right);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    aot_list_draw(&state(v)->list, c, y, 0, rows, c->cols, true);
}

static bool act(aot_view *v, aot_action a)
{
    if (a == AOT_ACT_COPY) {
        uint32_t row = aot_list_row(&state(v)->list);
        if (row != AOT_NO_ROW) {
            aot_app_copy(v->app, state(v)->rows.d[row].text);
        }
        return true;
    }
    if (a != AOT_ACT_STAGE_PREV && a != AOT_ACT_STAGE_NEXT) {
        return false;
    }
    int step = a == AOT_ACT_STAGE_NEXT ? 1 : -1;
    for (int s = (int)v->stage + step; s >= 0 && s < AOT_N_STAGES; s += step) {
        aot_model *m = aot_app_model(v->app);
        if (aot_model_stage(m, v->unit, (aot_stage)s).origin != AOT_ORIGIN_MISSING) {
            v->stage = (aot_stage)s;
            fill(v);
            return true;
        }
    }
    aot_app_say(v->app, step > 0 ? "This is the last stage that is there"
                                 : "This is the first stage that is there");
    return true;
}

static aot_list *list(aot_view *v)
{
    return &state(v)->list;
}

static const aot_hint hints[] = {
    {AOT_ACT_STAGE_PREV, AOT_ACT_STAGE_NEXT, "stage", false},
    {AOT_ACT_UP, AOT_ACT_DOWN, "line", false},
    {AOT_ACT_SCROLL_LEFT, AOT_ACT_SCROLL_RIGHT, "sideways", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {AOT_ACT_COPY, AOT_ACT_NONE, "copy line", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {0},
};

const aot_view_ops view_text_ops = {
    .what = "text",
    .state_size = sizeof(aot_lines),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .list = list,
    .done = done,
    .hints = hints,
};
