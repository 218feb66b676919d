/* Live memory over a step: the forward, then the backward, node by node, with the peak marked;
 * below it what lives at the cursor, added up by line, operator, region, module or kind, or value
 * by value. The walk is made once for a partition, the groups once for a way to group, the plot
 * once for a size; a move of the cursor adds up the blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "exec/memgroup.h"
#include "session/walker.h"
#include "tui/lines.h"
#include "tui/view.h"
#include "viewers/chart_text.h"
#include "viewers/format.h"

enum { N_SIDES = 2, BY_VALUE = AOT_N_MEM_BY, BYTES_COLS = 10, NAME_COLS = 30, BIG_STEPS = 20 };

typedef struct memory_row {
    int64_t bytes;
    uint32_t n;       /* blocks */
    uint32_t group;   /* of the side's groups; by value: the block */
    uint32_t largest; /* block */
} memory_row;

typedef struct memory_view {
    aot_view *v;
    unsigned version;       /* of the model's unit that all of this is about */
    const aot_partition *p; /* NULL: there is none */
    char trouble[800];
    aot_memory mem;
    bool has_mem;
    int by;                 /* aot_mem_by, or BY_VALUE */
    aot_memgroups groups[N_SIDES];
    bool has_groups;
    aot_arena *arena;       /* of the modules */
    const char *const *modules;
    uint32_t at;            /* row of the forward, then of the backward */
    uint32_t rows_at;       /* what the rows are about */
    AOT_VEC(memory_row) rows;
    uint32_t *slot;         /* by group: 1 + its row, while rows are made */
    aot_list list;
    aot_chart *chart;
    aot_canvas plot;        /* drawn once for its size */
    aot_chart_plot field;
} memory_view;

static memory_view *state(aot_view *v)
{
    return v->state;
}

static uint32_t n_forward(const memory_view *s)
{
    return (uint32_t)s->mem.forward.live.n;
}

static uint32_t n_rows(const memory_view *s)
{
    return s->has_mem ? n_forward(s) + (uint32_t)s->mem.backward.live.n : 0;
}

static aot_mem_side side_at(const memory_view *s)
{
    return s->at < n_forward(s) ? AOT_SIDE_FORWARD : AOT_SIDE_BACKWARD;
}

/* Row of its side under the cursor. */
static uint32_t row_at(const memory_view *s)
{
    return s->at < n_forward(s) ? s->at : s->at - n_forward(s);
}

static const aot_live *live_at(const memory_view *s)
{
    return &aot_memory_get(&s->mem, side_at(s))->live.d[row_at(s)];
}

/* The row of the higher peak. */
static uint32_t peak_row(const memory_view *s)
{
    const aot_memory *m = &s->mem;
    return m->backward.peak > m->forward.peak && m->backward.live.n
               ? n_forward(s) + m->backward.peak_row
               : m->forward.peak_row;
}

/* ---- what is derived ------------------------------------------------------------------------- */

static void drop_groups(memory_view *s)
{
    for (int i = 0; s->has_groups && i < N_SIDES; i++) {
        aot_memgroups_free(&s->groups[i]);
    }
    s->has_groups = false;
    s->rows_at = UINT32_MAX;
}

static void drop(memory_view *s)
{
    drop_groups(s);
    if (s->has_mem) {
        aot_memory_free(&s->mem);
    }
    s->has_mem = false;
    aot_chart_free(s->chart);
    s->chart = NULL;
    aot_arena_free(s->arena);
    s->arena = NULL;
    s->modules = NULL;
    free(s->slot);
    s->slot = NULL;
}

static void make_chart(memory_view *s)
{
    char label[64], bytes[32];
    s->chart = aot_chart_new("Live memory", NULL);
    aot_chart_axes(s->chart, "node", AOT_CHART_INDEX, "", AOT_CHART_BYTES);
    uint32_t live = aot_chart_series_new(s->chart, "live", AOT_CHART_AREA), n = 0;
    for (int side = 0; side < N_SIDES; side++) {
        const aot_memory_side *m = aot_memory_get(&s->mem, (aot_mem_side)side);
        for (size_t i = 0; i < m->live.n; i++) {
            aot_chart_point(s->chart, live, n++, (double)m->live.d[i].bytes, NULL);
        }
    }
    if (s->mem.backward.live.n) {
        aot_chart_mark_at(s->chart, AOT_CHART_AT_X, n_forward(s), 0, "backward");
    }
    for (int side = 0; side < N_SIDES; side++) {
        const aot_memory_side *m = aot_memory_get(&s->mem, (aot_mem_side)side);
        uint32_t row = (side ? n_forward(s) : 0) + m->peak_row;
        snprintf(label, sizeof label, "peak %s", aot_format_bytes(bytes, sizeof bytes, m->peak));
        if (m->live.n) {
            aot_chart_mark_at(s->chart, AOT_CHART_AT_XY, row, (double)m->peak,
                              row == peak_row(s) ? label : NULL);
        }
    }
    s->plot.cols = 0; // to be drawn anew
}

static void find_modules(memory_view *s)
{
    const aot_unit *u = aot_model_unit(aot_app_model(s->v->app), s->v->unit);
    s->arena = aot_arena_new();
    s->modules = aot_unit_modules(u, s->p->cut, s->p, s->arena);
}

static void make_groups(memory_view *s)
{
    if (s->by == AOT_MEM_BY_MODULE && !s->arena) {
        find_modules(s);
    }
    for (int i = 0; i < N_SIDES && s->by != BY_VALUE; i++) {
        aot_memgroups_make(&s->groups[i], s->p, &s->mem, (aot_mem_side)i, (aot_mem_by)s->by,
                           s->modules, true);
        s->has_groups = true;
    }
    size_t n = s->by == BY_VALUE                 ? 0
               : s->groups[0].n > s->groups[1].n ? s->groups[0].n
                                                 : s->groups[1].n;
    free(s->slot);
    s->slot = aot_xcalloc(n + 1, sizeof *s->slot);
    s->rows_at = UINT32_MAX;
}

/* Walks the partition where it is another one than before. The cursor starts at the peak. */
static void refresh(memory_view *s)
{
    aot_model *m = aot_app_model(s->v->app);
    aot_err err = {0};
    unsigned version = aot_model_version(m, s->v->unit);
    if ((s->has_mem || s->trouble[0]) && version == s->version) {
        return;
    }
    bool first = !s->has_mem;
    drop(s);
    s->version = version;
    s->trouble[0] = 0;
    if (aot_model_partition(m, s->v->unit, &s->p, &err) != AOT_OK) {
        aot_err_text(&err, s->trouble, sizeof s->trouble);
        s->p = NULL;
        return;
    }
    const aot_unit *u = aot_model_unit(m, s->v->unit);
    const aot_record *joint = aot_unit_stage(u, AOT_STAGE_JOINT);
    aot_progress_begin("adding up memory", NULL, 0);
    aot_walker *w = joint ? aot_walker_new(u, joint, NULL) : NULL;
    if (w) {
        aot_walker_memory(w, &s->mem, s->p);
    } else { // the joint graph was derived: there is no truth to follow
        aot_memory_of_partition(&s->mem, s->p, NULL);
    }
    aot_walker_free(w);
    s->has_mem = true;
    if (first || s->at >= n_rows(s)) {
        s->at = n_rows(s) ? peak_row(s) : 0;
    }
    make_groups(s);
    make_chart(s);
    aot_progress_end();
}

/* ---- what lives at the cursor ---------------------------------------------------------------- */

static int most_first(const void *x, const void *y)
{
    const memory_row *a = x, *b = y;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
                                : (a->group > b->group) - (a->group < b->group);
}

static void add_block(memory_view *s, const aot_memory_side *m, uint32_t i)
{
    const aot_mem_block *b = &m->blocks.d[i];
    uint32_t group = s->by == BY_VALUE ? i : s->groups[side_at(s)].of_block[i];
    if (s->by == BY_VALUE || s->slot[group] == 0) {
        memory_row row = {b->bytes, 1, group, i};
        aot_vec_push(&s->rows, row);
        if (s->by != BY_VALUE) {
            s->slot[group] = (uint32_t)s->rows.n;
        }
        return;
    }
    memory_row *r = &s->rows.d[s->slot[group] - 1];
    r->bytes += b->bytes;
    r->n++;
    r->largest = b->bytes > m->blocks.d[r->largest].bytes ? i : r->largest;
}

static void make_rows(memory_view *s)
{
    if (s->rows_at == s->at || n_rows(s) == 0) {
        return;
    }
    const aot_memory_side *m = aot_memory_get(&s->mem, side_at(s));
    uint32_t row = row_at(s), cursor = aot_list_row(&s->list);
    s->rows.n = 0;
    for (uint32_t i = 0; i < m->blocks.n; i++) {
        if (m->blocks.d[i].born <= row && row <= m->blocks.d[i].died) {
            add_block(s, m, i);
        }
    }
    for (size_t i = 0; i < s->rows.n && s->by != BY_VALUE; i++) {
        s->slot[s->rows.d[i].group] = 0;
    }
    if (s->rows.n > 1) {
        qsort(s->rows.d, s->rows.n, sizeof *s->rows.d, most_first);
    }
    s->rows_at = s->at;
    aot_list_reset(&s->list, s->rows.n, cursor == AOT_NO_ROW || cursor >= s->rows.n ? 0 : cursor);
}

static const aot_mem_block *block_of(const memory_view *s, const memory_row *r)
{
    return &aot_memory_get(&s->mem, side_at(s))->blocks.d[r->largest];
}

/* What the row is called and what stands beside it. */
static void row_words(const memory_view *s, const memory_row *r, aot_sb *name, aot_sb *about)
{
    char buf[300];
    const aot_mem_block *b = block_of(s, r);
    const aot_graph *g = aot_mem_block_graph(s->p, side_at(s), b);
    if (s->by == BY_VALUE) {
        aot_sb_addz(name, aot_node_name(g, b->node));
        aot_sb_addf(about, "%s  %s", aot_mem_kind_name((aot_mem_kind)b->kind),
                    aot_format_type(buf, sizeof buf, g->ctx, aot_node_at(g, b->node)->meta));
        aot_sb_addf(about, "  %s", aot_format_source(buf, sizeof buf, g, b->node));
        return;
    }
    const aot_memgroup *group = &s->groups[side_at(s)].d[r->group];
    aot_sb_addz(name, *group->key ? group->key : "(unknown)");
    if (group->n_same > 1) {
        aot_sb_addf(name, " ×%u", group->n_same);
    }
    aot_sb_addf(about, "%u block%s, largest %s", r->n, r->n == 1 ? "" : "s",
                aot_node_name(g, b->node));
    if (*group->detail) {
        aot_sb_addf(about, "  %s", group->detail);
    }
}

static void draw_row(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    memory_view *s = arg;
    const memory_row *r = &s->rows.d[row];
    char bytes[32], share[16];
    aot_sb name = {0}, about = {0};
    int64_t all = live_at(s)->bytes;
    row_words(s, r, &name, &about);
    aot_format_bytes(bytes, sizeof bytes, r->bytes);
    snprintf(share, sizeof share, "%.0f%%", all > 0 ? 100.0 * (double)r->bytes / (double)all : 0.0);
    aot_canvas_field_right(c, y, x, BYTES_COLS, AOT_STYLE_BYTES, bytes);
    aot_canvas_field_right(c, y, x + BYTES_COLS + 1, 4, AOT_STYLE_DIM, share);
    aot_canvas_field(c, y, x + BYTES_COLS + 7, NAME_COLS, AOT_STYLE_NAME, aot_sb_text(&name));
    int at = BYTES_COLS + 7 + NAME_COLS + 2;
    if (cols > at) {
        aot_canvas_field(c, y, x + at, cols - at, AOT_STYLE_REASON, aot_sb_text(&about));
    }
    aot_sb_free(&name);
    aot_sb_free(&about);
}

static void text_of_row(void *arg, size_t row, aot_sb *out)
{
    memory_view *s = arg;
    aot_sb about = {0};
    row_words(s, &s->rows.d[row], out, &about);
    aot_sb_addf(out, " %s", aot_sb_text(&about));
    aot_sb_free(&about);
}

static const aot_list_ops list_ops = {.draw = draw_row, .text = text_of_row};

/* ---- view ------------------------------------------------------------------------------------ */

static aot_status open_view(aot_view *v, aot_err *err)
{
    memory_view *s = state(v);
    if (aot_model_stage(aot_app_model(v->app), v->unit, AOT_STAGE_JOINT).origin ==
        AOT_ORIGIN_MISSING) {
        return AOT_FAIL(err, AOT_E_PIPELINE,
                        "This unit has no joint graph, so nothing is cut: there is no "
                        "backward to hold memory for");
    }
    s->v = v;
    s->by = AOT_MEM_BY_LINE;
    s->rows_at = UINT32_MAX;
    aot_list_init(&s->list, &list_ops, s);
    refresh(s);
    make_rows(s);
    return AOT_OK;
}

static void done(aot_view *v)
{
    memory_view *s = state(v);
    if (s->v) {
        drop(s);
        aot_list_done(&s->list);
        aot_vec_free(&s->rows);
        aot_canvas_free(&s->plot);
    }
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    memory_view *s = state(v);
    char label[64], a[32], b[32];
    const aot_unit *u = aot_model_unit(aot_app_model(v->app), v->unit);
    aot_sb_addf(left, "memory · unit %zu %s %s", v->unit,
                aot_unit_label(&u->key, label, sizeof label), u->title ? u->title : "");
    aot_list_status(&s->list, right);
    if (s->p && right->n == 0) {
        aot_sb_addf(right, "budget %.2f · forward peak %s · backward peak %s",
                    s->p->config.activation_memory_budget,
                    aot_format_bytes(a, sizeof a, s->mem.forward.peak),
                    aot_format_bytes(b, sizeof b, s->mem.backward.peak));
    }
}

static void copy_cells(aot_canvas *to, int y, int x, const aot_canvas *from)
{
    for (int r = 0; r < from->rows && y + r < to->rows; r++) {
        for (int k = 0; k < from->cols && x + k < to->cols; k++) {
            to->cells[(size_t)(y + r) * (size_t)to->cols + (size_t)(x + k)] =
                *aot_canvas_at(from, r, k);
        }
    }
}

static void draw_plot(memory_view *s, aot_canvas *c, int y, int rows)
{
    int cols = c->cols - 1;
    if (s->plot.rows != rows || s->plot.cols != cols) {
        aot_canvas_free(&s->plot);
        aot_canvas_init(&s->plot, rows, cols, c->ascii);
        aot_chart_text(s->chart, &s->plot, 0, 1, rows, cols - 1, aot_chart_glyphs_for(c->ascii),
                       &s->field);
    }
    copy_cells(c, y, 0, &s->plot);
    aot_chart_plot field = s->field;
    field.y += y;
    aot_chart_cursor(&field, c, s->at);
}

/* "forward 12 of 31: addmm  f32[64, 128]  model.py:12 ... 1.31 MiB live". */
static void draw_head(const memory_view *s, aot_canvas *c, int y)
{
    char buf[300], bytes[32];
    const aot_live *live = live_at(s);
    bool forward = side_at(s) == AOT_SIDE_FORWARD;
    const aot_graph *g = forward ? s->p->forward : s->p->backward;
    aot_sb text = {0}, note = {0}, fit = {0};
    aot_sb_addf(&text, "%s %u of %zu: %s", forward ? "forward" : "backward", row_at(s) + 1,
                aot_memory_get(&s->mem, side_at(s))->live.n, aot_node_name(g, live->node));
    aot_sb_addf(&text, "  %s", aot_format_op(buf, sizeof buf, g, live->node));
    aot_sb_addf(&text, "  %s", aot_format_source(buf, sizeof buf, g, live->node));
    aot_sb_addf(&note, "%s live%s · by %s", aot_format_bytes(bytes, sizeof bytes, live->bytes),
                s->at == peak_row(s) ? ", the peak" : "",
                s->by == BY_VALUE ? "value" : aot_mem_by_name((aot_mem_by)s->by));
    int w = aot_text_width(aot_sb_text(&note));
    aot_canvas_hline(c, y, 0, c->cols, AOT_STYLE_BORDER);
    aot_text_fit(&fit, aot_sb_text(&text), c->cols - w - 10, c->ascii);
    aot_canvas_putf(c, y, 2, AOT_STYLE_TITLE, " %s ", aot_sb_text(&fit));
    aot_canvas_putf(c, y, c->cols - w - 4, AOT_STYLE_BOLD, " %s ", aot_sb_text(&note));
    aot_sb_free(&text);
    aot_sb_free(&note);
    aot_sb_free(&fit);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    memory_view *s = state(v);
    refresh(s);
    if (!s->p || n_rows(s) == 0) {
        aot_lines_draw_text(c, y + 1, 1, rows - 1, c->cols - 2, AOT_STYLE_NOTICE,
                            s->p ? "The forward and the backward of this unit compute nothing."
                                 : s->trouble);
        return;
    }
    make_rows(s);
    int up = rows >= 16 ? rows / 2 : 0;
    if (up) {
        draw_plot(s, c, y, up);
    }
    draw_head(s, c, y + up);
    aot_list_draw(&s->list, c, y + up + 1, 0, rows - up - 1, c->cols, true);
    if (aot_list_n_shown(&s->list) == 0 && s->list.filter.text) {
        aot_canvas_put(c, y + up + 1, 2, AOT_STYLE_NOTICE,
                       "Nothing matches the filter; Esc drops it.");
    }
}

/* ---- actions --------------------------------------------------------------------------------- */

static void move(memory_view *s, int64_t by)
{
    int64_t to = (int64_t)s->at + by, last = (int64_t)n_rows(s) - 1;
    s->at = to < 0 || last < 0 ? 0 : to > last ? (uint32_t)last : (uint32_t)to;
}

/* To the next of: the forward's peak, where the backward begins, its peak, the end. */
static void next_place(memory_view *s, int dir)
{
    uint32_t n = n_forward(s), all = n_rows(s);
    const uint32_t places[] = {0, s->mem.forward.peak_row, n, n + s->mem.backward.peak_row,
                               all ? all - 1 : 0};
    for (int k = 0; k < 5; k++) {
        uint32_t to = places[dir > 0 ? k : 4 - k];
        if (to < all && (dir > 0 ? to > s->at : to < s->at)) {
            s->at = to;
            return;
        }
    }
}

static void change_by(memory_view *s, int dir)
{
    if (s->p) {
        s->by = (s->by + dir + BY_VALUE + 1) % (BY_VALUE + 1);
        drop_groups(s);
        make_groups(s);
        s->list.cursor = 0;
    }
}

/* The largest block of a row in the graph that is cut; a place of the graph where it is not
 * there. */
static void open_node(memory_view *s, const aot_graph *g, aot_node_id id, bool in_forward)
{
    char *name = aot_xstrdup(aot_node_name(g, id));
    aot_app_goto(s->v->app, s->v->unit, in_forward ? AOT_STAGE_FORWARD : AOT_STAGE_BACKWARD, name);
    free(name); // s is gone
}

static bool act(aot_view *v, aot_action a)
{
    memory_view *s = state(v);
    uint32_t row = aot_list_row(&s->list);
    int64_t big = n_rows(s) / BIG_STEPS + 1;
    switch (a) {
    case AOT_ACT_TIME_PREV: move(s, -1); return true;
    case AOT_ACT_TIME_NEXT: move(s, 1); return true;
    case AOT_ACT_SCROLL_LEFT: move(s, -big); return true;
    case AOT_ACT_SCROLL_RIGHT: move(s, big); return true;
    case AOT_ACT_CHANGE_PREV: next_place(s, -1); return true;
    case AOT_ACT_CHANGE_NEXT: next_place(s, 1); return true;
    case AOT_ACT_PANE_NEXT: change_by(s, 1); return true;
    case AOT_ACT_PANE_PREV: change_by(s, -1); return true;
    case AOT_ACT_OPEN:
        if (row != AOT_NO_ROW && s->p) {
            const aot_mem_block *b = block_of(s, &s->rows.d[row]);
            bool in_forward = b->in_forward || side_at(s) == AOT_SIDE_FORWARD;
            open_node(s, aot_mem_block_graph(s->p, side_at(s), b), b->node, in_forward);
        }
        return true;
    case AOT_ACT_PRODUCER:
        if (n_rows(s)) {
            bool in_forward = side_at(s) == AOT_SIDE_FORWARD;
            open_node(s, in_forward ? s->p->forward : s->p->backward, live_at(s)->node, in_forward);
        }
        return true;
    default: return false;
    }
}

static aot_list *list(aot_view *v)
{
    return &state(v)->list;
}

static const aot_hint hints[] = {
    {AOT_ACT_TIME_PREV, AOT_ACT_TIME_NEXT, "node", false},
    {AOT_ACT_CHANGE_PREV, AOT_ACT_CHANGE_NEXT, "peak", false},
    {AOT_ACT_PANE_NEXT, AOT_ACT_NONE, "group by", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "to the largest", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {AOT_ACT_PRODUCER, AOT_ACT_NONE, "to the cursor's node", false},
    {AOT_ACT_SCROLL_LEFT, AOT_ACT_SCROLL_RIGHT, "faster", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {0},
};

const aot_view_ops view_memory_ops = {
    .what = "memory",
    .state_size = sizeof(memory_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .list = list,
    .done = done,
    .hints = hints,
};
