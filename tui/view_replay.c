/* A unit run node by node: the program at the left with the cursor on the node that has just run;
 * at the right what it computed, live bytes and the generator. Moving the cursor steps; what was
 * run before is kept, so back costs nothing. The run goes on while no key waits. */
#include "tui/view_replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/lines.h"
#include "tui/replay_report.h"
#include "viewers/format.h"

enum { MARK_COLS = 3, BAR_MOST = 60 };

typedef struct replay_view {
    aot_view *v;
    unsigned version;   /* of the model's unit that is run */
    aot_replay_unit *u; /* NULL: it cannot be run */
    char trouble[900];
    aot_list list; /* rows are frames: nodes and inputs of the forward, then of the backward */
    size_t n_forward, n;
    aot_node_id *node;      /* by row */
    AOT_VEC(char *) breaks; /* to be set again when the unit is run anew */
    bool going;             /* on to the next break */
    bool start;             /* go to the first node that computes */
    size_t told;            /* frame whose lines these are */
    int cols;               /* of the lines */
    aot_lines lines;
} replay_view;

static replay_view *state(aot_view *v)
{
    return v->state;
}

static aot_replay *replay_of(const replay_view *s)
{
    return aot_replay_of(s->u);
}

static aot_replay_side side_of(const replay_view *s, size_t row)
{
    return row < s->n_forward ? AOT_REPLAY_FORWARD : AOT_REPLAY_BACKWARD;
}

static const aot_graph *graph_of(const replay_view *s, size_t row)
{
    return aot_replay_unit_graph(s->u, side_of(s, row));
}

/* Frame under the cursor, if it was run already. */
static const aot_replay_frame *current(const replay_view *s)
{
    uint32_t row = aot_list_row(&s->list);
    return s->u != NULL && row != AOT_NO_ROW && row < aot_replay_n(replay_of(s))
               ? aot_replay_frame_at(replay_of(s), row)
               : NULL;
}

/* ---- running
 * ------------------------------------------------------------------------------------------ */

static size_t count_rows(const aot_graph *g, aot_node_id *out)
{
    size_t n = 0;
    for (aot_node_id id = 0; g != NULL && id < g->nodes.n; id++) {
        if (aot_node_at(g, id)->kind != AOT_OUTPUT) {
            if (out != NULL) {
                out[n] = id;
            }
            n++;
        }
    }
    return n;
}

static void index_rows(replay_view *s)
{
    const aot_graph *f = aot_replay_unit_graph(s->u, AOT_REPLAY_FORWARD),
                    *b = aot_replay_unit_graph(s->u, AOT_REPLAY_BACKWARD);
    s->n_forward = count_rows(f, NULL);
    s->n = s->n_forward + count_rows(b, NULL);
    free(s->node);
    s->node = aot_xcalloc(s->n + 1, sizeof *s->node);
    count_rows(f, s->node);
    count_rows(b, s->node + s->n_forward);
}

static void set_breaks(replay_view *s)
{
    for (size_t i = 0; i < s->breaks.n; i++) {
        aot_err err = {0};
        // after an edit or in another unit there may be no such node
        if (aot_replay_break(replay_of(s), s->breaks.d[i], &err) != AOT_OK &&
            err.code != AOT_E_RANGE) {
            aot_app_fail(s->v->app, &err);
        }
    }
}

/* Opens the unit anew where it was edited. */
static void refresh(replay_view *s)
{
    aot_model *m = aot_app_model(s->v->app);
    unsigned version = aot_model_version(m, s->v->unit);
    aot_replay_ask ask = {.call = -1};
    aot_err err = {0};
    if ((s->u != NULL || s->trouble[0] != '\0') && version == s->version) {
        return;
    }
    aot_replay_close(s->u);
    s->u = NULL;
    s->version = version;
    s->trouble[0] = '\0';
    s->told = AOT_REPLAY_NONE;
    if (aot_replay_open(&s->u, m, s->v->unit, &ask, &err) != AOT_OK) {
        aot_err_text(&err, s->trouble, sizeof s->trouble);
        return;
    }
    index_rows(s);
    set_breaks(s);
    aot_list_reset(&s->list, s->n, 0);
    s->start = true;
}

/* To the first node that computes. */
static void go_to_start(replay_view *s)
{
    size_t row = 0;
    while (row + 1 < s->n && aot_node_at(graph_of(s, row), s->node[row])->kind == AOT_PLACEHOLDER) {
        row++;
    }
    aot_list_select(&s->list, row);
    s->start = false;
}

static void tell_end(replay_view *s)
{
    const aot_err *err = NULL;
    if (aot_replay_complete(replay_of(s), &err) && err->code != AOT_OK) {
        aot_app_fail(s->v->app, err);
    } else {
        aot_app_say(s->v->app, "No break holds up to the end");
    }
}

/* One slice: until the cursor's node is run, or the next break is found. */
static bool run_on(replay_view *s)
{
    aot_replay *r = replay_of(s);
    uint32_t row = aot_list_row(&s->list);
    if (s->going) {
        aot_replay_go(r, row != AOT_NO_ROW && row < aot_replay_n(r) ? row : AOT_REPLAY_NONE);
        bool hit = aot_replay_continue(r);
        s->going = false;
        if (aot_replay_at(r) != AOT_REPLAY_NONE) {
            aot_list_select(&s->list, aot_replay_at(r));
        }
        if (!hit) {
            tell_end(s);
        }
        return true;
    }
    if (row != AOT_NO_ROW && row >= aot_replay_n(r) && !aot_replay_complete(r, NULL)) {
        aot_replay_reach(r, row);
        return true;
    }
    return false;
}

static bool work(aot_view *v)
{
    replay_view *s = state(v);
    refresh(s);
    return (s->u != NULL && run_on(s)) || aot_list_work(&s->list, AOT_SLICE_NS);
}

/* ---- the program
 * ---------------------------------------------------------------------------------------- */

/* Which break is set at the node's name, as text says it; how many there are if none is. */
static size_t find_break(const replay_view *s, size_t row, char *text, size_t size)
{
    size_t i = 0;
    snprintf(text, size, "node:%s", aot_node_name(graph_of(s, row), s->node[row]));
    while (i < s->breaks.n && strcmp(s->breaks.d[i], text) != 0) {
        i++;
    }
    return i;
}

static bool has_break(const replay_view *s, size_t row)
{
    char text[300];
    return find_break(s, row, text, sizeof text) < s->breaks.n;
}

/* What was found there: 'b' a break at the node, '!' a break that holds, '~' drawn, '.' not run
 * yet. */
static char mark_of(const replay_view *s, size_t row)
{
    const aot_replay *r = replay_of(s);
    if (row < aot_replay_n(r) && aot_replay_stops(r, row)) {
        return '!';
    }
    if (has_break(s, row)) {
        return 'b';
    }
    if (row >= aot_replay_n(r)) {
        return '.';
    }
    const aot_replay_frame *f = aot_replay_frame_at(r, row);
    return f->draws || f->restores ? '~' : ' ';
}

static void draw_row(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    replay_view *s = arg;
    const aot_graph *g = graph_of(s, row);
    aot_node_id id = s->node[row];
    char mark = mark_of(s, row), op[200];
    bool forward = side_of(s, row) == AOT_REPLAY_FORWARD,
         input = aot_node_at(g, id)->kind == AOT_PLACEHOLDER;
    aot_style style = mark == '!'   ? AOT_STYLE_ERROR
                      : mark == '~' ? AOT_STYLE_RANDOM
                      : mark == '.' ? AOT_STYLE_DIM
                      : forward     ? AOT_STYLE_FORWARD
                                    : AOT_STYLE_BACKWARD;
    aot_canvas_putf(c, y, x, style, "%c%c", forward ? 'F' : 'B', mark);
    int name_cols = (cols - MARK_COLS) / 2;
    aot_canvas_field(c, y, x + MARK_COLS, name_cols, AOT_STYLE_NAME, aot_node_name(g, id));
    aot_canvas_field(c, y, x + MARK_COLS + name_cols + 1, cols - MARK_COLS - name_cols - 1,
                     AOT_STYLE_REASON, input ? "input" : aot_format_op(op, sizeof op, g, id));
}

static void text_of_row(void *arg, size_t row, aot_sb *out)
{
    replay_view *s = arg;
    char buf[300];
    const aot_graph *g = graph_of(s, row);
    aot_sb_addf(out, "%s %s", aot_node_name(g, s->node[row]),
                aot_format_op(buf, sizeof buf, g, s->node[row]));
    aot_sb_addf(out, " %s", aot_format_source(buf, sizeof buf, g, s->node[row]));
}

static const aot_list_ops list_ops = {.draw = draw_row, .text = text_of_row};

/* ---- what it computed
 * -------------------------------------------------------------------------------------- */

static void add_bar(replay_view *s, const aot_replay_frame *f, bool ascii)
{
    char live[32], peak[32];
    aot_sb text = {0};
    int64_t forward = aot_replay_peak(replay_of(s), AOT_REPLAY_FORWARD),
            backward = aot_replay_peak(replay_of(s), AOT_REPLAY_BACKWARD),
            most = forward > backward ? forward : backward;
    int cols = s->cols - 4 < BAR_MOST ? s->cols - 4 : BAR_MOST;
    int full = most > 0 ? (int)((double)f->live_bytes / (double)most * cols + 0.5) : 0;
    aot_sb_addf(&text, "live %s of %s so far", aot_format_bytes(live, sizeof live, f->live_bytes),
                aot_format_bytes(peak, sizeof peak, most));
    aot_lines_add(&s->lines, AOT_STYLE_BYTES, aot_sb_text(&text));
    aot_sb_clear(&text);
    for (int i = 0; i < cols; i++) {
        aot_sb_addz(&text, i < full ? (ascii ? "#" : "█") : ascii ? "-" : "░");
    }
    aot_lines_add(&s->lines, AOT_STYLE_BYTES, aot_sb_text(&text));
    aot_sb_free(&text);
}

static aot_style style_of_line(const char *line)
{
    return strstr(line, "DIFFER") != NULL || strstr(line, "OTHER") != NULL ||
                   strstr(line, "NaN") != NULL
               ? AOT_STYLE_ERROR
           : strstr(line, "generator") != NULL || strstr(line, "state before") != NULL
               ? AOT_STYLE_RANDOM
               : AOT_STYLE_NORMAL;
}

/* The lines of the command, folded to the pane. */
static void add_report(replay_view *s, const aot_replay_frame *f, bool ascii)
{
    aot_sb text = {0};
    aot_replay_print_values(&text, s->u, f, ascii);
    for (char *line = text.d; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        aot_lines_link_fold(&s->lines, s->cols, 4, AOT_NO_LINK, style_of_line(line), line);
        line = end != NULL ? end + 1 : NULL;
    }
    aot_sb_free(&text);
}

static void fill(replay_view *s, const aot_replay_frame *f, int cols, bool ascii)
{
    const aot_graph *g = aot_replay_unit_graph(s->u, (aot_replay_side)f->side);
    const aot_src *src = &g->srcs.d[aot_node_at(g, f->node)->src];
    uint32_t row = aot_list_row(&s->list);
    char buf[300];
    aot_sb text = {0};
    s->cols = cols;
    s->told = row;
    aot_lines_clear(&s->lines);
    aot_lines_addf(&s->lines, AOT_STYLE_NAME, "%s = %s", aot_node_name(g, f->node),
                   f->is_input ? "input" : aot_format_op(buf, sizeof buf, g, f->node));
    if (src->file != 0) {
        aot_sb_addf(&text, "%s  %s", aot_format_source(buf, sizeof buf, g, f->node),
                    src->code != 0 ? aot_text(g->ctx, src->code) : "");
        aot_lines_link_fold(&s->lines, cols, 4, AOT_NO_LINK, AOT_STYLE_SOURCE, aot_sb_text(&text));
    }
    aot_sb_clear(&text);
    aot_replay_print_stops(&text, replay_of(s), row);
    if (text.n > 0) {
        aot_lines_addf(&s->lines, AOT_STYLE_NOTICE, "stopped by %s", aot_sb_text(&text));
    }
    aot_lines_add(&s->lines, AOT_STYLE_NORMAL, "");
    add_report(s, f, ascii);
    aot_lines_add(&s->lines, AOT_STYLE_NORMAL, "");
    add_bar(s, f, ascii);
    aot_lines_end(&s->lines, 0);
    aot_sb_free(&text);
}

/* ---- view
 * ------------------------------------------------------------------------------------------------
 */

static aot_status open_view(aot_view *v, aot_err *err)
{
    replay_view *s = state(v);
    (void)err;
    s->v = v;
    s->told = AOT_REPLAY_NONE;
    aot_list_init(&s->list, &list_ops, s);
    aot_lines_init(&s->lines, 0);
    for (size_t i = 0; i < AOT_REPLAY_N_DEFAULT_BREAKS; i++) {
        aot_vec_push(&s->breaks, aot_xstrdup(aot_replay_default_breaks[i]));
    }
    refresh(s);
    return AOT_OK;
}

static void done(aot_view *v)
{
    replay_view *s = state(v);
    if (s->v == NULL) {
        return;
    }
    aot_replay_close(s->u);
    aot_list_done(&s->list);
    aot_lines_done(&s->lines);
    for (size_t i = 0; i < s->breaks.n; i++) {
        free(s->breaks.d[i]);
    }
    aot_vec_free(&s->breaks);
    free(s->node);
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    replay_view *s = state(v);
    char label[64];
    const aot_unit *u = aot_model_unit(aot_app_model(v->app), v->unit);
    const aot_run_call *call = s->u != NULL ? aot_replay_unit_call(s->u, AOT_REPLAY_FORWARD) : NULL;
    aot_sb_addf(left, "replay · unit %zu %s %s", v->unit,
                aot_unit_label(&u->key, label, sizeof label), u->title != NULL ? u->title : "");
    aot_list_status(&s->list, right);
    if (s->u != NULL && right->n == 0) {
        uint32_t row = aot_list_row(&s->list);
        aot_sb_addf(right, "%s · %u of %zu",
                    call != NULL ? "generator as recorded" : "generator seeded with 0",
                    row == AOT_NO_ROW ? 0 : row + 1, s->n);
    }
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    replay_view *s = state(v);
    refresh(s);
    if (s->u == NULL) {
        aot_lines_draw_text(c, y + 1, 1, rows - 1, c->cols - 2, AOT_STYLE_NOTICE, s->trouble);
        return;
    }
    int left = c->cols * 2 / 5, right = c->cols - left - 2;
    if (s->start) {
        go_to_start(s);
    }
    aot_list_draw(&s->list, c, y, 0, rows, left, true);
    aot_canvas_vline(c, y, left, rows, AOT_STYLE_BORDER);
    const aot_replay_frame *f = current(s);
    const aot_err *err = NULL;
    if (f == NULL && aot_replay_complete(replay_of(s), &err)) {
        char words[1000];
        aot_err_text(err, words, sizeof words);
        aot_lines_draw_text(c, y, left + 2, rows, right, AOT_STYLE_NOTICE,
                            err->code != AOT_OK ? words : "This node is not run.");
        return;
    }
    if (f == NULL) {
        aot_canvas_put(c, y, left + 2, AOT_STYLE_NOTICE, "Running ...");
        return;
    }
    if (s->told != aot_list_row(&s->list) || s->cols != right) {
        fill(s, f, right, c->ascii);
    }
    aot_list_draw(&s->lines.list, c, y, left + 2, rows, right, false);
}

/* ---- actions
 * ------------------------------------------------------------------------------------------------
 */

/* n nodes on or back, inputs passed over. */
static void step(replay_view *s, int by)
{
    uint32_t row = aot_list_row(&s->list);
    int64_t to = row == AOT_NO_ROW ? 0 : (int64_t)row + by;
    while (to >= 0 && to < (int64_t)s->n &&
           aot_node_at(graph_of(s, (size_t)to), s->node[to])->kind == AOT_PLACEHOLDER) {
        to += by;
    }
    if (to >= 0 && to < (int64_t)s->n) {
        aot_list_select(&s->list, (size_t)to);
    }
}

static void next_line(replay_view *s)
{
    uint32_t from = aot_list_row(&s->list), row;
    if (from == AOT_NO_ROW) {
        return;
    }
    do {
        row = aot_list_row(&s->list);
        step(s, 1);
    } while (
        aot_list_row(&s->list) != row && side_of(s, from) == side_of(s, aot_list_row(&s->list)) &&
        aot_node_at(graph_of(s, from), s->node[from])->src ==
            aot_node_at(graph_of(s, aot_list_row(&s->list)), s->node[aot_list_row(&s->list)])->src);
}

static bool add_break(replay_view *s, const char *text)
{
    aot_err err = {0};
    if (s->u == NULL || aot_replay_break(replay_of(s), text, &err) != AOT_OK) {
        aot_app_fail(s->v->app, &err);
        return false;
    }
    aot_vec_push(&s->breaks, aot_xstrdup(text));
    s->told = AOT_REPLAY_NONE;
    aot_app_say(s->v->app, "Stops at %s", text);
    return true;
}

/* Sets or takes away a break at the node under the cursor. */
static void toggle_break(replay_view *s)
{
    uint32_t row = aot_list_row(&s->list);
    char text[300];
    if (row == AOT_NO_ROW) {
        return;
    }
    size_t i = find_break(s, row, text, sizeof text);
    if (i == s->breaks.n) {
        add_break(s, text);
        return;
    }
    free(s->breaks.d[i]);
    memmove(&s->breaks.d[i], &s->breaks.d[i + 1], (s->breaks.n - i - 1) * sizeof *s->breaks.d);
    s->breaks.n--;
    aot_replay_unbreak(replay_of(s), i);
    s->told = AOT_REPLAY_NONE;
}

bool aot_replay_break_command(aot_app *app, const char *arg)
{
    aot_view *v = aot_app_top(app);
    if (v->ops != &view_replay_ops) {
        aot_app_say(app, "break stops a replay: open one first, with the command replay");
        return false;
    }
    return add_break(state(v), arg);
}

static void open_node(replay_view *s)
{
    uint32_t row = aot_list_row(&s->list);
    if (row != AOT_NO_ROW) {
        bool cut = aot_replay_unit_partition(s->u) != NULL;
        aot_stage stage = !cut                                    ? AOT_STAGE_INFERENCE
                          : side_of(s, row) == AOT_REPLAY_FORWARD ? AOT_STAGE_FORWARD
                                                                  : AOT_STAGE_BACKWARD;
        char *name = aot_xstrdup(aot_node_name(graph_of(s, row), s->node[row]));
        aot_app_goto(s->v->app, s->v->unit, stage, name);
        free(name); // s is gone
    }
}

static bool act(aot_view *v, aot_action a)
{
    replay_view *s = state(v);
    refresh(s);
    if (s->u == NULL) {
        return false;
    }
    switch (a) {
    case AOT_ACT_STEP:
        step(s, 1);
        return true;
    case AOT_ACT_STEP_BACK:
        step(s, -1);
        return true;
    case AOT_ACT_NEXT_LINE:
        next_line(s);
        return true;
    case AOT_ACT_CONTINUE:
        s->going = true;
        return true;
    case AOT_ACT_BREAK:
        toggle_break(s);
        return true;
    case AOT_ACT_OPEN:
        open_node(s);
        return true;
    default:
        return false;
    }
}

static aot_list *list(aot_view *v)
{
    return &state(v)->list;
}

static const aot_hint hints[] = {
    {AOT_ACT_STEP_BACK, AOT_ACT_STEP, "step", false},
    {AOT_ACT_NEXT_LINE, AOT_ACT_NONE, "next line", false},
    {AOT_ACT_CONTINUE, AOT_ACT_NONE, "continue", false},
    {AOT_ACT_BREAK, AOT_ACT_NONE, "break here", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "to the node", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {0},
};

const aot_view_ops view_replay_ops = {
    .what = "replay",
    .state_size = sizeof(replay_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .work = work,
    .list = list,
    .done = done,
    .hints = hints,
};
