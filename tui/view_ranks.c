/* All ranks side by side: below each unit's label what every rank has of it, against the first that
 * has it. Comparing needs graphs and partitions of all ranks, so it is done while no key is
 * waiting.
 *
 *   [0/0] Net.forward model.py:12
 *   ▸   rank 0   the measure             14, 1.31 MiB        3
 *     ~ rank 1   other sizes (dynamo)    same, 1.40 MiB      3 in the same order, other sizes
 *     ! rank 2   joint differs: ~2 +1    differs: -1 +2 ...  number 2 is all_gather, not
 * all_reduce */
#include "lint/ranks.h"

#include <stdlib.h>

#include "tui/lines.h"
#include "tui/rank_words.h"
#include "tui/view.h"
#include "tui/view_diff.h"

typedef struct ranks_row {
    size_t group, unit; /* of aot_ranks; unit AOT_RANK_MISSING: the head of the group */
} ranks_row;

typedef struct ranks_view {
    aot_view *v;
    aot_ranks ranks;
    AOT_VEC(ranks_row) rows;
    bool fewer;      /* without what is the same */
    int rank_cols;
    unsigned n[4];   /* compared units beside the measure, by verdict */
    aot_list list;
} ranks_view;

static ranks_view *state(aot_view *v)
{
    return v->state;
}

static const aot_rank_unit *unit_at(const ranks_view *s, size_t row)
{
    size_t i = s->rows.d[row].unit;
    return i == AOT_RANK_MISSING ? NULL : &s->ranks.units.d[i];
}

/* ---- rows ---- */

static bool is_shown(const ranks_view *s, const aot_rank_unit *u)
{
    return !s->fewer || u->first || !u->compared || aot_rank_unit_verdict(u) == AOT_RANK_DIFFERS;
}

/* Whether a group has anything but its measure to show. */
static bool has_others(const ranks_view *s, const aot_rank_group *g)
{
    for (size_t i = g->begin; i < g->end; i++) {
        if (!s->ranks.units.d[i].first && is_shown(s, &s->ranks.units.d[i])) {
            return true;
        }
    }
    return false;
}

static void make_rows(ranks_view *s)
{
    uint32_t at = aot_list_row(&s->list);
    size_t was = at != AOT_NO_ROW && at < s->rows.n ? s->rows.d[at].unit : 0, row = 0;
    s->rows.n = 0;
    for (size_t g = 0; g < s->ranks.groups.n; g++) {
        const aot_rank_group *group = &s->ranks.groups.d[g];
        if (s->fewer && !has_others(s, group)) {
            continue;
        }
        aot_vec_push(&s->rows, ((ranks_row){g, AOT_RANK_MISSING}));
        for (size_t i = group->begin; i < group->end; i++) {
            if (is_shown(s, &s->ranks.units.d[i])) {
                row = i <= was ? s->rows.n : row;
                aot_vec_push(&s->rows, ((ranks_row){g, i}));
            }
        }
    }
    aot_list_reset(&s->list, s->rows.n, row);
}

static int put(aot_canvas *c, int y, int x, int end, int cols, aot_style style, const char *text)
{
    int room = end - x < cols ? end - x : cols;
    if (room > 0) {
        aot_canvas_field(c, y, x, room, style, text);
    }
    return x + cols + 2;
}

/* The columns: sign, rank, graphs, saved, collectives. */
static void draw_columns(const ranks_view *s, aot_canvas *c, int y, int x, int cols,
                         const char *const text[4], const aot_style style[4])
{
    int end = x + cols, words = cols >= 110 ? 32 : cols >= 76 ? 23 : 16;
    x = put(c, y, x + 4, end, s->rank_cols, style[0], text[0]);
    x = put(c, y, x, end, words, style[1], text[1]);
    x = put(c, y, x, end, words - 3, style[2], text[2]);
    put(c, y, x, end, end - x, style[3], text[3]);
}

static const char *rank_name(const ranks_view *s, const aot_rank_unit *u)
{
    return aot_base_name(s->ranks.ranks.d[u->rank]);
}

static void draw_row(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    ranks_view *s = arg;
    const aot_rank_unit *u = unit_at(s, row);
    if (!u) {
        const aot_rank_group *g = &s->ranks.groups.d[s->rows.d[row].group];
        aot_sb text = {0};
        aot_sb_addf(&text, "%s %s", g->label, g->title);
        aot_canvas_field(c, y, x, cols, AOT_STYLE_TITLE, aot_sb_text(&text));
        aot_sb_free(&text);
        return;
    }
    aot_sb words[3] = {{0}, {0}, {0}};
    char sign[2] = {' ', 0};
    bool there = u->unit != AOT_RANK_MISSING;
    if (u->compared) {
        sign[0] = rank_sign(u);
        rank_graph_words(&words[0], u);
        rank_saved_words(&words[1], u);
        rank_collective_words(&words[2], u);
    } else {
        aot_sb_addz(&words[0], "…");
    }
    const char *text[4] = {rank_name(s, u), aot_sb_text(&words[0]), aot_sb_text(&words[1]),
                           aot_sb_text(&words[2])};
    bool plain = u->first || !u->compared;
    aot_style style[4] = {AOT_STYLE_NAME, plain ? AOT_STYLE_DIM : rank_style(u->graph),
                          plain ? AOT_STYLE_NORMAL : rank_style(u->saved),
                          plain ? AOT_STYLE_NORMAL : rank_style(u->collectives)};
    style[1] = there ? style[1] : AOT_STYLE_ERROR;
    aot_canvas_put(c, y, x + 2, plain ? AOT_STYLE_NORMAL : rank_style(aot_rank_unit_verdict(u)),
                   sign);
    draw_columns(s, c, y, x, cols, text, style);
    for (int i = 0; i < 3; i++) {
        aot_sb_free(&words[i]);
    }
}

static void text_of_row(void *arg, size_t row, aot_sb *out)
{
    ranks_view *s = arg;
    const aot_rank_group *g = &s->ranks.groups.d[s->rows.d[row].group];
    const aot_rank_unit *u = unit_at(s, row);
    aot_sb_addf(out, "%s %s", g->label, g->title);
    if (u) {
        aot_sb_addf(out, " %s ", rank_name(s, u));
        rank_graph_words(out, u);
        aot_sb_addc(out, ' ');
        rank_saved_words(out, u);
        aot_sb_addc(out, ' ');
        rank_collective_words(out, u);
    }
}

static bool is_head(void *arg, size_t row)
{
    return unit_at(arg, row) == NULL;
}

static const aot_list_ops list_ops = {.draw = draw_row, .text = text_of_row, .is_head = is_head};

/* ---- view ---- */

static aot_status open_view(aot_view *v, aot_err *err)
{
    ranks_view *s = state(v);
    aot_ranks r;
    aot_ranks_init(&r, aot_app_model(v->app));
    if (r.ranks.n < 2) {
        aot_ranks_free(&r);
        return AOT_FAIL(err, AOT_E_USAGE,
                        "This input holds one rank only: open the folder of all ranks' "
                        "logs, or the log of each");
    }
    s->v = v;
    s->ranks = r;
    s->rank_cols = 6;
    for (size_t i = 0; i < r.ranks.n; i++) {
        int w = aot_text_width(aot_base_name(r.ranks.d[i]));
        s->rank_cols = w > s->rank_cols ? w : s->rank_cols;
    }
    s->rank_cols = s->rank_cols > 24 ? 24 : s->rank_cols;
    aot_list_init(&s->list, &list_ops, s);
    make_rows(s);
    return AOT_OK;
}

static void done(aot_view *v)
{
    ranks_view *s = state(v);
    if (s->v) {
        aot_list_done(&s->list);
        aot_ranks_free(&s->ranks);
        aot_vec_free(&s->rows);
    }
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    ranks_view *s = state(v);
    const aot_ranks *r = &s->ranks;
    aot_sb_addf(left, "ranks · %zu ranks · %zu unit%s", r->ranks.n, r->groups.n,
                r->groups.n == 1 ? "" : "s");
    aot_list_status(&s->list, right);
    if (right->n == 0 && r->next < r->units.n) {
        aot_sb_addf(right, "comparing %zu of %zu", r->next, r->units.n);
    } else if (right->n == 0) {
        aot_sb_addf(right, "%u the same · %u of other sizes · %u differ", s->n[AOT_RANK_SAME],
                    s->n[AOT_RANK_SIZES], s->n[AOT_RANK_DIFFERS]);
    }
}

/* What the selected rank has, in full: the columns may be too narrow for it. */
static void draw_detail(const ranks_view *s, aot_canvas *c, int y, int rows)
{
    static const char *const labels[] = {"graphs", "saved", "collectives"};
    static void (*const words[])(aot_sb *, const aot_rank_unit *) = {
        rank_graph_words, rank_saved_words, rank_collective_words};
    uint32_t row = aot_list_row(&s->list);
    const aot_rank_unit *u = row == AOT_NO_ROW ? NULL : unit_at(s, row);
    if (!u || !u->compared) {
        return;
    }
    aot_lines text;
    aot_lines_init(&text, 14);
    for (int i = 0; i < 3; i++) {
        aot_sb sb = {0};
        words[i](&sb, u);
        if (sb.n) {
            aot_lines_pair(&text, c->cols - 4, labels[i], AOT_STYLE_NORMAL, aot_sb_text(&sb));
        }
        aot_sb_free(&sb);
    }
    aot_lines_end(&text, 0);
    aot_list_draw(&text.list, c, y, 1, rows, c->cols - 2, false);
    aot_lines_done(&text);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    static const char *const heads[] = {"rank", "graphs", "saved", "collectives"};
    static const aot_style dim[] = {AOT_STYLE_DIM, AOT_STYLE_DIM, AOT_STYLE_DIM, AOT_STYLE_DIM};
    ranks_view *s = state(v);
    int low = rows >= 14 ? 5 : 0;
    draw_columns(s, c, y, 1, c->cols - 1, heads, dim);
    aot_list_draw(&s->list, c, y + 1, 0, rows - 1 - low, c->cols, true);
    if (aot_list_n_shown(&s->list) == 0) {
        aot_canvas_put(c, y + 2, 2, AOT_STYLE_NOTICE,
                       s->list.filter.text ? "No rank matches the filter; Esc drops it."
                                           : "All ranks are the same; t shows them.");
    }
    if (low) {
        aot_canvas_hline(c, y + rows - low, 0, c->cols, AOT_STYLE_BORDER);
        draw_detail(s, c, y + rows - low + 1, low - 1);
    }
}

static bool work(aot_view *v)
{
    ranks_view *s = state(v);
    if (aot_ranks_step(&s->ranks, aot_app_model(v->app))) {
        const aot_rank_unit *u = &s->ranks.units.d[s->ranks.next - 1];
        s->n[aot_rank_unit_verdict(u)] += !u->first;
        if (s->fewer) {
            make_rows(s);
        }
        return true;
    }
    return aot_list_work(&s->list, AOT_SLICE_NS);
}

/* The difference from the measure: the stage that differs, else the one that the partitioner is
 * given. */
static void open_selected(ranks_view *s)
{
    uint32_t row = aot_list_row(&s->list);
    const aot_rank_unit *u = row == AOT_NO_ROW ? NULL : unit_at(s, row);
    if (!u) {
        return;
    }
    const aot_rank_unit *first = &s->ranks.units.d[s->ranks.groups.d[s->rows.d[row].group].begin];
    if (u->unit == AOT_RANK_MISSING) {
        aot_app_say(s->v->app, "%s has no such unit", rank_name(s, u));
    } else if (u->first) {
        aot_app_goto(s->v->app, u->unit, AOT_N_STAGES, NULL);
    } else {
        aot_model *m = aot_app_model(s->v->app);
        aot_stage stage = u->stage;
        for (int k = AOT_N_STAGES; stage == AOT_N_STAGES && k-- > 0;) {
            bool graph =
                k != AOT_STAGE_RUNTIME && k != AOT_STAGE_FORWARD && k != AOT_STAGE_BACKWARD;
            bool there = aot_model_stage(m, u->unit, (aot_stage)k).origin != AOT_ORIGIN_MISSING;
            stage = graph && there ? (aot_stage)k : stage;
        }
        aot_diff_open(s->v->app, (aot_diff_side){first->unit, stage},
                      (aot_diff_side){u->unit, stage});
    }
}

static bool act(aot_view *v, aot_action a)
{
    ranks_view *s = state(v);
    switch (a) {
    case AOT_ACT_OPEN: open_selected(s); return true;
    case AOT_ACT_CONTEXT:
        s->fewer = !s->fewer;
        make_rows(s);
        return true;
    default: return false;
    }
}

static aot_list *list(aot_view *v)
{
    return &state(v)->list;
}

static const aot_hint hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "rank", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "diff", false},
    {AOT_ACT_CONTEXT, AOT_ACT_NONE, "hide the same", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {0},
};

const aot_view_ops view_ranks_ops = {
    .what = "ranks",
    .state_size = sizeof(ranks_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .list = list,
    .work = work,
    .done = done,
    .hints = hints,
};
