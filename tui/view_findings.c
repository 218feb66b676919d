/* What lint finds in the unit, one a line, the worst first, then what draws random numbers, what is
 * mutated and what shares memory; below it what the selected one means and what to do about it.
 * Enter goes to the node. */
#include <stdlib.h>
#include <string.h>

#include "tui/finding_rows.h"
#include "tui/lines.h"
#include "tui/view.h"
#include "viewers/format.h"

typedef struct findings_view {
    aot_view *v;
    bool looked;         /* under this version of the model's unit */
    unsigned version;
    aot_arena *arena;    /* texts of the rows */
    char trouble[800];   /* why lint could not look; "": it did */
    finding_rows all;
    uint32_t n[N_FINDING_KINDS];
    aot_list list;
} findings_view;

static const char *const columns[] = {"level", "bytes", "source line", NULL};

static findings_view *state(aot_view *v)
{
    return v->state;
}

/* ---- rows ---- */

/* Looks again where the unit was changed. */
static void refresh(findings_view *s)
{
    aot_err err = {0};
    aot_model *m = aot_app_model(s->v->app);
    unsigned version = aot_model_version(m, s->v->unit);
    if (s->looked && s->version == version) {
        return;
    }
    uint32_t row = aot_list_row(&s->list);
    s->looked = true;
    s->version = version;
    s->all.n = 0;
    s->trouble[0] = 0;
    memset(s->n, 0, sizeof s->n);
    aot_arena_free(s->arena);
    s->arena = aot_arena_new();
    if (finding_rows_of(&s->all, m, s->v->unit, s->arena, &err) != AOT_OK) {
        aot_err_text(&err, s->trouble, sizeof s->trouble);
    }
    for (size_t i = 0; i < s->all.n; i++) {
        s->n[s->all.d[i].kind]++;
    }
    aot_list_reset(&s->list, s->all.n, row == AOT_NO_ROW ? 0 : row);
}

static void draw_row(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    findings_view *s = arg;
    const finding_row *f = &s->all.d[row];
    int right = cols >= 100 ? 28 : 0;
    aot_canvas_field(c, y, x, 9, finding_kind_style(f->kind), finding_kind_name(f->kind, false));
    aot_canvas_field(c, y, x + 9, cols - 9 - right, AOT_STYLE_NORMAL, f->message);
    if (right) {
        aot_canvas_field(c, y, x + cols - right + 2, right - 2, AOT_STYLE_SOURCE, f->source);
    }
}

static void text_of_row(void *arg, size_t row, aot_sb *out)
{
    findings_view *s = arg;
    const finding_row *f = &s->all.d[row];
    aot_sb_addf(out, "%s %s %s %s", finding_kind_name(f->kind, false), f->message, f->rule,
                f->source);
}

static int compare(void *arg, int column, size_t a, size_t b)
{
    findings_view *s = arg;
    const finding_row *x = &s->all.d[a], *y = &s->all.d[b];
    return column == 1 ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                       : strverscmp(x->source, y->source);
}

static const aot_list_ops list_ops = {
    .draw = draw_row, .text = text_of_row, .columns = columns, .compare = compare};

/* ---- view ---- */

static aot_status open_view(aot_view *v, aot_err *err)
{
    findings_view *s = state(v);
    (void)err;
    s->v = v;
    aot_list_init(&s->list, &list_ops, s);
    refresh(s);
    return AOT_OK;
}

static void done(aot_view *v)
{
    findings_view *s = state(v);
    if (s->v) {
        aot_list_done(&s->list);
        aot_vec_free(&s->all);
        aot_arena_free(s->arena);
    }
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    findings_view *s = state(v);
    char label[64];
    const aot_unit *u = aot_model_unit(aot_app_model(v->app), v->unit);
    aot_sb_addf(left, "findings · unit %zu %s %s", v->unit,
                aot_unit_label(&u->key, label, sizeof label), u->title ? u->title : "");
    aot_list_status(&s->list, right);
    bool counts = right->n == 0;
    bool faults =
        s->n[FINDING_ERROR] + s->n[FINDING_WARNING] + s->n[FINDING_NOTE] > 0; // then only those
    for (int k = 0; k < (faults ? FINDING_RANDOM : N_FINDING_KINDS); k++) {
        if (counts && s->n[k]) {
            aot_sb_addf(right, "%s%u %s", right->n ? " · " : "", s->n[k],
                        finding_kind_name((finding_kind)k, s->n[k] > 1));
        }
    }
}

static void pair(aot_lines *l, int cols, const char *label, aot_style style, const char *text)
{
    if (*text) {
        aot_lines_pair(l, cols, label, style, text);
    }
}

/* Rule, sentence, remedy and node of the selected row. */
static void draw_detail(findings_view *s, aot_canvas *c, int y, int rows)
{
    uint32_t row = aot_list_row(&s->list);
    if (row == AOT_NO_ROW) {
        return;
    }
    const finding_row *f = &s->all.d[row];
    bool fault = f->kind <= FINDING_NOTE;
    aot_lines text;
    char buf[64];
    int cols = c->cols - 4;
    aot_lines_init(&text, 10);
    aot_lines_pair(&text, cols, finding_kind_name(f->kind, false), AOT_STYLE_NORMAL, f->message);
    text.rows.d[0].label_style = finding_kind_style(f->kind);
    pair(&text, cols,
         fault                       ? "rule"
         : f->kind == FINDING_RANDOM ? "operator"
                                     : "kind",
         AOT_STYLE_NORMAL, f->rule);
    pair(&text, cols, "", AOT_STYLE_NORMAL, f->title);
    pair(&text, cols, fault ? "remedy" : "", AOT_STYLE_NORMAL, f->remedy);
    if (f->node) {
        aot_lines_pair(&text, cols, "node", AOT_STYLE_NAME, f->node);
    }
    if (f->bytes) {
        aot_lines_pair(&text, cols, "bytes", AOT_STYLE_BYTES,
                       aot_format_bytes(buf, sizeof buf, f->bytes));
    }
    pair(&text, cols, "source", AOT_STYLE_SOURCE, f->source);
    aot_lines_end(&text, 0);
    aot_list_draw(&text.list, c, y, 1, rows, c->cols - 2, false);
    aot_lines_done(&text);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    findings_view *s = state(v);
    refresh(s);
    int low = rows >= 18 ? 11 : rows / 2;
    if (s->all.n == 0 || s->trouble[0]) {
        aot_lines text;
        aot_lines_init(&text, 0);
        aot_lines_wrap(&text, c->cols - 4, s->trouble[0] ? AOT_STYLE_NOTICE : AOT_STYLE_NORMAL,
                       s->trouble[0] ? s->trouble
                                     : "Nothing is found in this unit under its settings.");
        aot_lines_end(&text, 0);
        int used = s->all.n ? (int)text.rows.n + 2 : rows;
        used = used > rows / 2 ? (s->all.n ? rows / 2 : rows) : used;
        aot_list_draw(&text.list, c, y + 1, 1, used - 1, c->cols - 2, false);
        aot_lines_done(&text);
        y += used;
        rows -= used;
        low = rows >= 18 ? 11 : rows / 2;
    }
    if (s->all.n == 0) {
        return;
    }
    aot_list_draw(&s->list, c, y, 0, rows - low, c->cols, true);
    if (aot_list_n_shown(&s->list) == 0) {
        aot_canvas_put(c, y + 1, 2, AOT_STYLE_NOTICE,
                       "No finding matches the filter; Esc drops it.");
    }
    aot_canvas_hline(c, y + rows - low, 0, c->cols, AOT_STYLE_BORDER);
    draw_detail(s, c, y + rows - low + 1, low - 1);
}

static bool act(aot_view *v, aot_action a)
{
    findings_view *s = state(v);
    uint32_t row = aot_list_row(&s->list);
    if (a != AOT_ACT_OPEN && a != AOT_ACT_COPY && a != AOT_ACT_EDIT) {
        return false;
    }
    if (row == AOT_NO_ROW) {
        return true;
    }
    const finding_row *f = &s->all.d[row];
    if (a == AOT_ACT_COPY) {
        aot_app_copy(v->app, f->message);
    } else if (a == AOT_ACT_EDIT) {
        aot_app_edit(v->app, f->file, f->line);
    } else if (f->stage == AOT_N_STAGES) {
        aot_app_goto(v->app, v->unit, AOT_STAGE_JOINT, NULL); // frees s
    } else {
        char *name = f->node ? aot_xstrdup(f->node) : NULL;
        aot_app_goto(v->app, v->unit, f->stage, name); // frees s
        free(name);
    }
    return true;
}

static aot_list *list(aot_view *v)
{
    return &state(v)->list;
}

static const aot_hint hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "finding", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "to the node", false},
    {AOT_ACT_EDIT, AOT_ACT_NONE, "edit the source", false},
    {AOT_ACT_SORT_PREV, AOT_ACT_SORT_NEXT, "sort", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {0},
};

const aot_view_ops view_findings_ops = {
    .what = "findings",
    .state_size = sizeof(findings_view),
    .open = open_view,
    .title = title,
    .draw = draw,
    .act = act,
    .list = list,
    .done = done,
    .hints = hints,
};
