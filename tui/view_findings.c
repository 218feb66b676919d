/* What lint finds in the unit, one a line, the worst first; below it what the selected one means and
 * what to do about it. Enter goes to the node. */
#include <stdlib.h>
#include <string.h>

#include "lint/lint.h"
#include "tui/lines.h"
#include "tui/view.h"
#include "viewers/format.h"

typedef struct findings_view {
    aot_view *v;
    bool looked;            /* under this version of the model's unit */
    unsigned version;
    const aot_partition *p; /* what `all` is about; NULL: there is none */
    char trouble[800];      /* why */
    aot_findings all;
    uint32_t n[3];          /* by level */
    aot_list list;
} findings_view;

static const char *const columns[] = {"level", "bytes", "source line", NULL};

static findings_view *state(aot_view *v)
{
    return v->state;
}

/* ---- rows ---- */

static int worst_first(const void *x, const void *y)
{
    const aot_finding *a = x, *b = y;
    if (a->rule->level != b->rule->level) {
        return (int)b->rule->level - (int)a->rule->level;
    }
    return a->rule != b->rule ? (a->rule > b->rule) - (a->rule < b->rule)
                              : (a->node > b->node) - (a->node < b->node);
}

/* Looks again where the unit was changed. */
static void refresh(findings_view *s)
{
    const aot_partition *p = NULL;
    aot_err err = {0};
    aot_model *m = aot_app_model(s->v->app);
    unsigned version = aot_model_version(m, s->v->unit);
    if (s->looked && s->version == version) {
        return;
    }
    s->looked = true;
    s->version = version;
    aot_status st = aot_model_partition(m, s->v->unit, &p, &err);
    if (st != AOT_OK) {
        aot_err_text(&err, s->trouble, sizeof s->trouble);
        p = NULL;
    }
    uint32_t row = aot_list_row(&s->list);
    s->p = p;
    s->all.n = 0;
    s->n[0] = s->n[1] = s->n[2] = 0;
    if (p) {
        aot_lint(&s->all, p);
    }
    if (s->all.n > 1) {
        qsort(s->all.d, s->all.n, sizeof *s->all.d, worst_first);
    }
    for (size_t i = 0; i < s->all.n; i++) {
        s->n[s->all.d[i].rule->level]++;
    }
    aot_list_reset(&s->list, s->all.n, row == AOT_NO_ROW ? 0 : row);
}

static aot_style level_style(aot_finding_level l)
{
    return l == AOT_FINDING_ERROR ? AOT_STYLE_ERROR : l == AOT_FINDING_WARNING ? AOT_STYLE_NOTICE : AOT_STYLE_DIM;
}

static void draw_row(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    findings_view *s = arg;
    const aot_finding *f = &s->all.d[row];
    int right = cols >= 100 ? 28 : 0;
    char source[300];
    aot_canvas_field(c, y, x, 9, level_style(f->rule->level), aot_finding_level_name(f->rule->level));
    aot_canvas_field(c, y, x + 9, cols - 9 - right, AOT_STYLE_NORMAL, f->message);
    if (right) {
        aot_format_source(source, sizeof source, s->p->cut, f->node);
        aot_canvas_field(c, y, x + cols - right + 2, right - 2, AOT_STYLE_SOURCE, source);
    }
}

static void text_of_row(void *arg, size_t row, aot_sb *out)
{
    findings_view *s = arg;
    const aot_finding *f = &s->all.d[row];
    char source[300];
    aot_sb_addf(out, "%s %s %s %s", aot_finding_level_name(f->rule->level), f->message, f->rule->name,
                aot_format_source(source, sizeof source, s->p->cut, f->node));
}

static int compare(void *arg, int column, size_t a, size_t b)
{
    findings_view *s = arg;
    const aot_finding *x = &s->all.d[a], *y = &s->all.d[b];
    if (column == 1) {
        return (x->bytes < y->bytes) - (x->bytes > y->bytes);
    }
    char s1[300], s2[300];
    return strverscmp(aot_format_source(s1, sizeof s1, s->p->cut, x->node),
                      aot_format_source(s2, sizeof s2, s->p->cut, y->node));
}

static const aot_list_ops list_ops = {
    .draw = draw_row, .text = text_of_row, .columns = columns, .compare = compare};

/* ---- view ---- */

static aot_status open_view(aot_view *v, aot_err *err)
{
    findings_view *s = state(v);
    if (aot_model_stage(aot_app_model(v->app), v->unit, AOT_STAGE_JOINT).origin == AOT_ORIGIN_MISSING) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "This unit has no joint graph, so nothing is cut: there is "
                                             "nothing to find");
    }
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
    }
}

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    findings_view *s = state(v);
    char label[64];
    const aot_unit *u = aot_model_unit(aot_app_model(v->app), v->unit);
    aot_sb_addf(left, "findings · unit %zu %s %s", v->unit, aot_unit_label(&u->key, label, sizeof label),
                u->title ? u->title : "");
    aot_list_status(&s->list, right);
    bool counts = right->n == 0 && s->p;
    for (int l = AOT_FINDING_ERROR; l >= AOT_FINDING_NOTE; l--) {
        if (counts && s->n[l]) {
            aot_sb_addf(right, "%s%u %s%s", right->n ? " · " : "", s->n[l],
                        aot_finding_level_name((aot_finding_level)l), s->n[l] == 1 ? "" : "s");
        }
    }
}

/* Rule, sentence, remedy and node of the selected finding. */
static void draw_detail(findings_view *s, aot_canvas *c, int y, int rows)
{
    uint32_t row = aot_list_row(&s->list);
    if (row == AOT_NO_ROW) {
        return;
    }
    const aot_finding *f = &s->all.d[row];
    aot_lines text;
    char buf[300];
    aot_lines_init(&text, 9);
    aot_lines_pair(&text, c->cols - 4, aot_finding_level_name(f->rule->level), AOT_STYLE_NORMAL, f->message);
    text.rows.d[0].label_style = level_style(f->rule->level);
    aot_lines_pair(&text, c->cols - 4, "rule", AOT_STYLE_NORMAL, f->rule->name);
    aot_lines_pair(&text, c->cols - 4, "", AOT_STYLE_NORMAL, f->rule->title);
    aot_lines_pair(&text, c->cols - 4, "remedy", AOT_STYLE_NORMAL, f->rule->remedy);
    aot_lines_pair(&text, c->cols - 4, "node", AOT_STYLE_NAME, aot_node_name(s->p->cut, f->node));
    if (f->bytes) {
        aot_lines_pair(&text, c->cols - 4, "bytes", AOT_STYLE_BYTES,
                       aot_format_bytes(buf, sizeof buf, f->bytes));
    }
    if (*aot_format_source(buf, sizeof buf, s->p->cut, f->node)) {
        aot_lines_pair(&text, c->cols - 4, "source", AOT_STYLE_SOURCE, buf);
    }
    aot_lines_end(&text, 0);
    aot_list_draw(&text.list, c, y, 1, rows, c->cols - 2, false);
    aot_lines_done(&text);
}

static void draw(aot_view *v, aot_canvas *c, int y, int rows)
{
    findings_view *s = state(v);
    refresh(s);
    int low = rows >= 18 ? 11 : rows / 2;
    if (!s->p || s->all.n == 0) {
        aot_lines text;
        aot_lines_init(&text, 0);
        aot_lines_wrap(&text, c->cols - 4, s->p ? AOT_STYLE_NORMAL : AOT_STYLE_NOTICE,
                       s->p ? "Nothing is found in this unit under its settings." : s->trouble);
        aot_lines_end(&text, 0);
        aot_list_draw(&text.list, c, y + 1, 1, rows - 1, c->cols - 2, false);
        aot_lines_done(&text);
        return;
    }
    aot_list_draw(&s->list, c, y, 0, rows - low, c->cols, true);
    if (aot_list_n_shown(&s->list) == 0) {
        aot_canvas_put(c, y + 1, 2, AOT_STYLE_NOTICE, "No finding matches the filter; Esc drops it.");
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
    const aot_finding *f = &s->all.d[row];
    const aot_graph *g = s->p->cut;
    if (a == AOT_ACT_COPY) {
        aot_app_copy(v->app, f->message);
    } else if (a == AOT_ACT_EDIT) {
        const aot_src *src = &g->srcs.d[aot_node_at(g, f->node)->src];
        aot_app_edit(v->app, aot_text(g->ctx, src->file), src->line);
    } else {
        char *name = aot_xstrdup(aot_node_name(g, f->node));
        aot_app_goto(v->app, v->unit, AOT_STAGE_JOINT_CSE, name); // frees s
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
