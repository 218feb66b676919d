/* What changed between two stages, units or ranks. Nodes are matched by structure (ir/diff.h), so a
 * value that was only renamed is the same.
 *
 *     ~- old      removed with -, added with +, ~ beside both lines of a node that changed;
 *     ~+ new      what differs in it is marked
 *   ... 17 the same
 *
 * diff_lines.c makes the lines; here is which two graphs, and what the keys do.
 */
#include "tui/view_diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/progress.h"
#include "tui/app.h"
#include "tui/diff_lines.h"
#include "tui/lines.h"

enum { SIDES_COLS = 140 };

typedef struct diff_view {
    aot_view *v;
    aot_diff_side a, b;
    bool pinned;        /* the left side was chosen: it stays when the right one steps */
    bool stale;         /* the graphs are to be compared */
    unsigned versions[2]; /* of the model's units when they were */
    char trouble[900];  /* why they cannot be */
    bool sides_asked, want_sides; /* two columns: the person's choice, once made */
    diff_lines lines;
} diff_view;

static diff_view *state(aot_view *v)
{
    return v->state;
}

/* ---- which stages ---- */

static bool is_graph(aot_model *m, size_t unit, aot_stage s)
{
    return s != AOT_STAGE_RUNTIME && aot_model_stage(m, unit, s).origin != AOT_ORIGIN_MISSING;
}

/* The nearest stage in a direction that is there; AOT_N_STAGES if none. */
static aot_stage near_stage(aot_model *m, size_t unit, aot_stage from, int step)
{
    for (int s = (int)from + step; s >= 0 && s < AOT_N_STAGES; s += step) {
        if (is_graph(m, unit, (aot_stage)s)) {
            return (aot_stage)s;
        }
    }
    return AOT_N_STAGES;
}

/* The stage that this one was made of, as far as it is there: forward and backward are parts of the
 * graph that is cut. */
static aot_stage base_of(aot_model *m, size_t unit, aot_stage s)
{
    bool part = s == AOT_STAGE_FORWARD || s == AOT_STAGE_BACKWARD;
    aot_stage t = part ? AOT_STAGE_JOINT_CSE : aot_stage_before(s);
    while (t != AOT_N_STAGES && !is_graph(m, unit, t)) {
        t = aot_stage_before(t);
    }
    return t != AOT_N_STAGES ? t : near_stage(m, unit, s, -1);
}

/* Where nothing is chosen: the graph that is cut, else the last one that is there. */
static aot_stage telling_stage(aot_model *m, size_t unit)
{
    return is_graph(m, unit, AOT_STAGE_JOINT_CSE) ? AOT_STAGE_JOINT_CSE
                                                  : near_stage(m, unit, AOT_N_STAGES, -1);
}

static aot_status load(diff_view *d, aot_diff_side s, const aot_graph **g, aot_err *err)
{
    aot_model *m = aot_app_model(d->v->app);
    if (s.stage == AOT_STAGE_RUNTIME) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "the stage runtime is no graph");
    }
    if (s.stage >= AOT_N_STAGES) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "unit %zu holds no other stage to compare with",
                        s.unit);
    }
    return aot_model_graph(m, s.unit, s.stage, g, err);
}

static void compare(diff_view *d)
{
    const aot_graph *a = NULL, *b = NULL;
    aot_err err = {0};
    aot_model *m = aot_app_model(d->v->app);
    d->stale = false;
    d->versions[0] = aot_model_version(m, d->a.unit);
    d->versions[1] = aot_model_version(m, d->b.unit);
    d->trouble[0] = 0;
    aot_status st = load(d, d->a, &a, &err);
    st = st == AOT_OK ? load(d, d->b, &b, &err) : st;
    if (st != AOT_OK) {
        aot_err_text(&err, d->trouble, sizeof d->trouble);
        a = b = NULL;
    }
    aot_progress_begin("comparing", NULL, 0);
    diff_lines_set(&d->lines, a, b);
    aot_progress_end();
}

static void set_sides(diff_view *d, aot_diff_side a, aot_diff_side b)
{
    d->a = a;
    d->b = b;
    d->stale = true;
    d->v->unit = b.unit;
    d->v->stage = b.stage;
}

/* ---- view ---- */

static aot_status open_view(aot_view *v, aot_err *err)
{
    diff_view *d = state(v);
    aot_model *m = aot_app_model(v->app);
    d->v = v;
    aot_stage s = v->stage < AOT_N_STAGES ? v->stage : telling_stage(m, v->unit);
    if (s == AOT_STAGE_RUNTIME) {
        return AOT_FAIL(err, AOT_E_PIPELINE,
                        "The stage runtime is no graph: go to another one first");
    }
    if (s == AOT_N_STAGES || !is_graph(m, v->unit, s)) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "There is no graph to compare here");
    }
    aot_stage base = base_of(m, v->unit, s);
    if (base == AOT_N_STAGES && (base = near_stage(m, v->unit, s, +1)) != AOT_N_STAGES) {
        aot_stage t = s; // the first one: what became of it
        s = base;
        base = t;
    }
    diff_lines_init(&d->lines);
    set_sides(d, (aot_diff_side){v->unit, base}, (aot_diff_side){v->unit, s});
    return AOT_OK;
}

static void done(aot_view *v)
{
    diff_lines_done(&state(v)->lines);
}

static const char *stage_name(aot_stage s)
{
    return s < AOT_N_STAGES ? aot_stage_get(s)->name : "no stage";
}

static const char *unit_label(const diff_view *d, size_t unit, char *buf, size_t size)
{
    return aot_unit_label(&aot_model_unit(aot_app_model(d->v->app), unit)->key, buf, size);
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    diff_view *d = state(v);
    char label[64];
    aot_sb_addf(left, "diff · unit %zu %s %s", d->b.unit,
                unit_label(d, d->b.unit, label, sizeof label), stage_name(d->b.stage));
    aot_list_status(&d->lines.list, right);
    if (right->n == 0 && !d->stale && !d->trouble[0]) {
        const uint32_t *n = d->lines.counts.n;
        if (aot_diff_is_same(&d->lines.counts)) {
            aot_sb_addz(right, "the same");
        } else {
            static const char *const what[] = {"same", "~%u changed", "-%u removed", "+%u added"};
            for (int k = AOT_EDIT_CHANGED; k <= AOT_EDIT_ADDED; k++) {
                if (n[k]) {
                    aot_sb_addz(right, right->n ? " · " : "");
                    aot_sb_addf(right, what[k], n[k]);
                }
            }
        }
    }
}

/* What stands on a side: "joint_cse (derived)", with the unit where it is another one. */
static void side_words(const diff_view *d, aot_diff_side s, aot_sb *out)
{
    char label[64];
    aot_model *m = aot_app_model(d->v->app);
    if (d->a.unit != d->b.unit) {
        aot_sb_addf(out, "unit %zu %s ", s.unit, unit_label(d, s.unit, label, sizeof label));
    }
    aot_sb_addz(out, stage_name(s.stage));
    if (s.stage < AOT_N_STAGES) {
        bool recorded = aot_model_stage(m, s.unit, s.stage).origin == AOT_ORIGIN_RECORDED;
        aot_sb_addf(out, " (%s): %s", recorded ? "recorded" : "derived",
                    aot_stage_get(s.stage)->sentence);
    }
}

/* One line a side, or both in one line over their columns. Returns the rows used. */
static int draw_heads(const diff_view *d, aot_canvas *c, int y)
{
    aot_sb a = {0}, b = {0};
    int left = d->lines.sides ? (c->cols - 4) / 2 : c->cols - 2;
    side_words(d, d->a, &a);
    side_words(d, d->b, &b);
    aot_canvas_put(c, y, 1, AOT_STYLE_REMOVED, "-");
    aot_canvas_field(c, y, 3, left - 2, AOT_STYLE_SOURCE, aot_sb_text(&a));
    int row = d->lines.sides ? y : y + 1, x = d->lines.sides ? left + 4 : 1;
    aot_canvas_put(c, row, d->lines.sides ? left + 2 : 1, AOT_STYLE_ADDED, "+");
    aot_canvas_field(c, row, d->lines.sides ? x : 3, c->cols - (d->lines.sides ? x : 3),
                     AOT_STYLE_SOURCE, aot_sb_text(&b));
    aot_canvas_hline(c, row + 1, 0, c->cols, AOT_STYLE_BORDER);
    aot_sb_free(&a);
    aot_sb_free(&b);
    return row + 2 - y;
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    diff_view *d = state(v);
    bool sides = d->sides_asked ? d->want_sides && c->cols >= 60 : c->cols >= SIDES_COLS;
    diff_lines_show(&d->lines, d->lines.all, sides);
    aot_model *m = aot_app_model(v->app);
    d->stale = d->stale || aot_model_version(m, d->a.unit) != d->versions[0] ||
               aot_model_version(m, d->b.unit) != d->versions[1];
    int used = draw_heads(d, c, y);
    if (d->stale) {
        aot_canvas_put(c, y + used, 3, AOT_STYLE_NOTICE, "Comparing ...");
    } else if (d->trouble[0]) {
        aot_lines_draw_text(c, y + used, 2, rows - used, c->cols - 4, AOT_STYLE_NOTICE, d->trouble);
    } else if (d->lines.list.filter.text && aot_list_n_shown(&d->lines.list) == 0 &&
               d->lines.list.filtered >= d->lines.list.n) {
        aot_canvas_put(c, y + used, 3, AOT_STYLE_NOTICE,
                       "No line matches the filter; Esc drops it.");
    } else {
        aot_list_draw(&d->lines.list, c, y + used, 0, rows - used, c->cols, true);
    }
}

static bool work(aot_view *v)
{
    diff_view *d = state(v);
    if (d->stale) {
        compare(d);
        return true;
    }
    return aot_list_work(&d->lines.list, AOT_SLICE_NS);
}

/* ---- actions ---- */

static void step_right(diff_view *d, int dir)
{
    aot_model *m = aot_app_model(d->v->app);
    aot_stage s = near_stage(m, d->b.unit, d->b.stage, dir);
    aot_diff_side a = d->a;
    if (s != AOT_N_STAGES && !d->pinned) {
        a.stage = base_of(m, a.unit, s);
    }
    if (s == AOT_N_STAGES || a.stage == AOT_N_STAGES) {
        aot_app_say(d->v->app, dir > 0 ? "This is the last stage that is there"
                                       : "There is no stage before to compare with");
        return;
    }
    set_sides(d, a, (aot_diff_side){d->b.unit, s});
}

static void step_left(diff_view *d, int dir)
{
    aot_stage s = near_stage(aot_app_model(d->v->app), d->a.unit, d->a.stage, dir);
    if (s == AOT_N_STAGES) {
        aot_app_say(d->v->app, dir > 0 ? "This is the last stage that is there"
                                       : "This is the first stage that is there");
        return;
    }
    d->pinned = true;
    set_sides(d, (aot_diff_side){d->a.unit, s}, d->b);
}

/* Both sides where they are of one unit, else the right one. */
static void step_unit(diff_view *d, int dir)
{
    size_t n = aot_model_n_units(aot_app_model(d->v->app)), u = d->b.unit;
    if (dir < 0 ? u == 0 : u + 1 >= n) {
        aot_app_say(d->v->app, dir > 0 ? "This is the last unit" : "This is the first unit");
        return;
    }
    size_t to = dir < 0 ? u - 1 : u + 1;
    aot_diff_side a = d->a;
    a.unit = a.unit == u ? to : a.unit;
    set_sides(d, a, (aot_diff_side){to, d->b.stage});
}

static void open_selected(diff_view *d)
{
    bool old;
    aot_node_id id = diff_lines_node(&d->lines, &old);
    if (id != AOT_NO_NODE) {
        aot_diff_side s = old ? d->a : d->b;
        char *name = aot_xstrdup(aot_node_name(old ? d->lines.ga : d->lines.gb, id));
        aot_app_goto(d->v->app, s.unit, s.stage, name); // frees d
        free(name);
    }
}

static void copy_line(const diff_view *d)
{
    aot_sb text = {0};
    diff_lines_text(&d->lines, &text);
    if (text.n) {
        aot_app_copy(d->v->app, aot_sb_text(&text));
    }
    aot_sb_free(&text);
}

static void next_change(diff_view *d, int dir)
{
    if (!diff_lines_next(&d->lines, dir)) {
        aot_app_say(d->v->app, dir > 0 ? "This is the last change" : "This is the first change");
    }
}

static bool act(aot_view *v, aot_action a)
{
    diff_view *d = state(v);
    if (d->stale) { // typed ahead
        compare(d);
    }
    switch (a) {
    case AOT_ACT_CHANGE_NEXT: next_change(d, 1); return true;
    case AOT_ACT_CHANGE_PREV: next_change(d, -1); return true;
    case AOT_ACT_STAGE_NEXT: step_right(d, 1); return true;
    case AOT_ACT_STAGE_PREV: step_right(d, -1); return true;
    case AOT_ACT_BASE_NEXT: step_left(d, 1); return true;
    case AOT_ACT_BASE_PREV: step_left(d, -1); return true;
    case AOT_ACT_UNIT_NEXT: step_unit(d, 1); return true;
    case AOT_ACT_UNIT_PREV: step_unit(d, -1); return true;
    case AOT_ACT_OPEN: open_selected(d); return true;
    case AOT_ACT_COPY: copy_line(d); return true;
    case AOT_ACT_CONTEXT:
        diff_lines_show(&d->lines, !d->lines.all, d->lines.sides);
        return true;
    case AOT_ACT_SIDES:
        d->want_sides = !d->lines.sides;
        d->sides_asked = true;
        return true;
    default: return false;
    }
}

static aot_list *list(aot_view *v)
{
    return &state(v)->lines.list;
}

static const aot_hint hints[] = {
    {AOT_ACT_STAGE_PREV, AOT_ACT_STAGE_NEXT, "stage", false},
    {AOT_ACT_CHANGE_PREV, AOT_ACT_CHANGE_NEXT, "change", false},
    {AOT_ACT_CONTEXT, AOT_ACT_NONE, "context", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "to the node", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {AOT_ACT_BASE_PREV, AOT_ACT_BASE_NEXT, "left side", false},
    {AOT_ACT_SIDES, AOT_ACT_NONE, "two columns", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {AOT_ACT_SCROLL_LEFT, AOT_ACT_SCROLL_RIGHT, "sideways", false},
    {0},
};

const aot_view_ops view_diff_ops = {
    .what = "diff",
    .state_size = sizeof(diff_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .list = list,
    .work = work,
    .done = done,
    .hints = hints,
};

/* ---- as commands and other views open it ---- */

void aot_diff_open(aot_app *app, aot_diff_side left, aot_diff_side right)
{
    aot_view *v = aot_app_top(app);
    if (v->ops != &view_diff_ops) {
        if (!aot_app_push(app, &view_diff_ops, right.unit, right.stage)) {
            return;
        }
        v = aot_app_top(app);
    }
    state(v)->pinned = true;
    set_sides(state(v), left, right);
}

bool aot_diff_command(aot_app *app, const char *arg)
{
    aot_view *v = aot_app_top(app);
    aot_model *m = aot_app_model(app);
    if (v->unit == AOT_NO_UNIT) {
        aot_app_say(app, "Open a unit first (Enter)");
        return false;
    }
    aot_stage s = v->stage < AOT_N_STAGES ? v->stage : telling_stage(m, v->unit);
    aot_diff_side left = {v->unit, s}, right = {v->unit, s};
    char number[24];
    size_t len = strcspn(arg, " ");
    int64_t n;
    snprintf(number, sizeof number, "%.*s", (int)(len < sizeof number ? len : 0), arg);
    if (aot_int_read(&n, number, 0, INT64_MAX)) {
        if ((uint64_t)n >= aot_model_n_units(m)) {
            aot_app_say(app, "There is no unit %s", number);
            return false;
        }
        left.unit = (size_t)n;
        arg += len + strspn(arg + len, " ");
    }
    if (*arg) {
        left.stage = aot_stage_find(arg);
        if (left.stage == AOT_N_STAGES) {
            aot_app_say(app, "There is no stage '%s': Tab lists them", arg);
            return false;
        }
    }
    aot_diff_open(app, left, right);
    return true;
}
