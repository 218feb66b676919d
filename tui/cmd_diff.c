/* aotscope diff: two graphs, stages, units, settings, sessions or ranks, matched by structure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/diff.h"
#include "ir/text.h"
#include "tui/open_model.h"
#include "viewers/format.h"
#include "viewers/table.h"

enum { CONTEXT = 3 }; /* unchanged nodes around a change */

typedef struct job {
    const aot_args *a;
    aot_model *left, *right;
    bool stat, saved, sides;
    json_t *list; /* --json collects here; else NULL */
    unsigned n_compared, n_differ;
} job;

/* One comparison: a stage of each side. */
typedef struct compared {
    const aot_graph *a, *b;
    char title[400];
    aot_edits edits;
    aot_diff_counts counts;
} compared;

/* ---- printing -----------------------------------------------------------------------------------
 */

static const char *node_line(aot_sb *b, const aot_graph *g, aot_node_id id)
{
    b->n = 0;
    if (id != AOT_NO_NODE) {
        aot_print_node(b, g, id);
    }
    return aot_sb_text(b);
}

/* Which edits are printed: changes and what stands around them. */
static uint8_t *near_changes(const compared *c)
{
    uint8_t *near = aot_xcalloc(c->edits.n + 1, 1);
    for (size_t i = 0; i < c->edits.n; i++) {
        if (c->edits.d[i].kind == AOT_EDIT_SAME) {
            continue;
        }
        size_t from = i > CONTEXT ? i - CONTEXT : 0;
        for (size_t k = from; k < c->edits.n && k <= i + CONTEXT; k++) {
            near[k] = 1;
        }
    }
    return near;
}

static void print_unified(const compared *c)
{
    uint8_t *near = near_changes(c);
    aot_sb a = {0}, b = {0};
    for (size_t i = 0; i < c->edits.n; i++) {
        const aot_edit *e = &c->edits.d[i];
        if (!near[i]) {
            continue;
        }
        if (i > 0 && !near[i - 1]) {
            puts("  ...");
        }
        const char *x = node_line(&a, c->a, e->a), *y = node_line(&b, c->b, e->b);
        if (e->kind == AOT_EDIT_SAME) {
            printf("   %s\n", x);
        }
        if (e->kind == AOT_EDIT_CHANGED || e->kind == AOT_EDIT_REMOVED) {
            printf(" - %s\n", x);
        }
        if (e->kind == AOT_EDIT_CHANGED || e->kind == AOT_EDIT_ADDED) {
            printf(" + %s\n", y);
        }
    }
    aot_sb_free(&a);
    aot_sb_free(&b);
    free(near);
}

static void print_side_by_side(const compared *c)
{
    static const char *const marks[] = {" ", "|", "<", ">"};
    uint8_t *near = near_changes(c);
    aot_sb text = {0}, out = {0};
    aot_table *t = aot_table_new();
    aot_table_column(t, "left", AOT_LEFT, 78);
    aot_table_column(t, "", AOT_LEFT, 0);
    aot_table_column(t, "right", AOT_LEFT, 78);
    for (size_t i = 0; i < c->edits.n; i++) {
        const aot_edit *e = &c->edits.d[i];
        if (near[i]) {
            aot_table_row(t);
            aot_table_cell(t, node_line(&text, c->a, e->a));
            aot_table_cell(t, marks[e->kind]);
            aot_table_cell(t, node_line(&text, c->b, e->b));
        }
    }
    aot_table_print(&out, t, AOT_TABLE_NO_HEAD, 0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    aot_sb_free(&text);
    aot_table_free(t);
    free(near);
}

static json_t *edit_json(const compared *c, const aot_edit *e)
{
    static const char *const names[] = {"same", "changed", "removed", "added"};
    aot_sb text = {0};
    json_t *j = json_pack("{s:s}", "edit", names[e->kind]);
    if (e->a != AOT_NO_NODE) {
        json_object_set_new(j, "left", json_string(node_line(&text, c->a, e->a)));
    }
    if (e->b != AOT_NO_NODE) {
        json_object_set_new(j, "right", json_string(node_line(&text, c->b, e->b)));
    }
    aot_sb_free(&text);
    return j;
}

static json_t *compared_json(const compared *c)
{
    json_t *edits = json_array();
    for (size_t i = 0; i < c->edits.n; i++) {
        if (c->edits.d[i].kind != AOT_EDIT_SAME) {
            json_array_append_new(edits, edit_json(c, &c->edits.d[i]));
        }
    }
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:o}", "what", c->title, "same",
                     (int)c->counts.n[AOT_EDIT_SAME], "changed", (int)c->counts.n[AOT_EDIT_CHANGED],
                     "removed", (int)c->counts.n[AOT_EDIT_REMOVED], "added",
                     (int)c->counts.n[AOT_EDIT_ADDED], "edits", edits);
}

static void report(job *j, const compared *c)
{
    bool same = aot_diff_is_same(&c->counts);
    j->n_compared++;
    j->n_differ += !same;
    if (j->list != NULL) {
        json_array_append_new(j->list, compared_json(c));
        return;
    }
    printf("%s: %s", c->title, same ? "the same" : "");
    if (!same) {
        printf("%u same, %u changed, %u removed, %u added", c->counts.n[AOT_EDIT_SAME],
               c->counts.n[AOT_EDIT_CHANGED], c->counts.n[AOT_EDIT_REMOVED],
               c->counts.n[AOT_EDIT_ADDED]);
    }
    putchar('\n');
    if (!same && !j->stat) {
        if (j->sides) {
            print_side_by_side(c);
        } else {
            print_unified(c);
        }
    }
}

/* ---- what is compared
 * ----------------------------------------------------------------------------- */

static bool has_stage(aot_model *m, size_t unit, aot_stage s)
{
    return aot_model_stage(m, unit, s).origin != AOT_ORIGIN_MISSING;
}

static aot_status compare_stages(job *j, size_t left, aot_stage s, size_t right, aot_stage other,
                                 aot_err *err)
{
    compared c = {0};
    char a[96], b[96];
    AOT_TRY(aot_model_graph(j->left, left, s, &c.a, err));
    AOT_TRY(aot_model_graph(j->right, right, other, &c.b, err));
    aot_unit_label(&aot_model_unit(j->left, left)->key, a, sizeof a);
    aot_unit_label(&aot_model_unit(j->right, right)->key, b, sizeof b);
    bool same_label = strcmp(a, b) == 0, same_stage = s == other;
    snprintf(c.title, sizeof c.title, "%s%s%s %s%s%s", a, same_label ? "" : " and ",
             same_label ? "" : b, aot_stage_get(s)->name, same_stage ? "" : " and ",
             same_stage ? "" : aot_stage_get(other)->name);
    c.counts = aot_graph_diff(&c.edits, c.a, c.b);
    report(j, &c);
    aot_vec_free(&c.edits);
    return AOT_OK;
}

static void print_flip(const aot_partition *p, aot_node_id id, const char *mark, aot_table *t)
{
    char type[160], source[300];
    const aot_node *n = aot_node_at(p->cut, id);
    aot_table_row(t);
    aot_table_cell(t, mark);
    aot_table_cell(t, aot_format_type(type, sizeof type, p->cut->ctx, n->meta));
    aot_table_bytes(t, p->nodes[id].bytes);
    aot_table_cell(t, aot_node_name(p->cut, id));
    aot_table_cell(t, aot_format_source(source, sizeof source, p->cut, id));
}

static bool is_saved(const aot_partition *p, aot_node_id id)
{
    return id != AOT_NO_NODE && p->nodes[id].verdict == AOT_V_SAVED;
}

static json_t *flip_json(const aot_partition *p, aot_node_id id, const char *side)
{
    return json_pack("{s:s, s:s, s:I}", "saved_only", side, "name", aot_node_name(p->cut, id),
                     "bytes", (json_int_t)p->nodes[id].bytes);
}

/* What only one side saves; values are matched by structure. */
static aot_status compare_saved(job *j, size_t left, size_t right, aot_err *err)
{
    const aot_partition *p, *q;
    aot_edits edits = {0};
    char label[96], a[32], b[32];
    unsigned flips = 0;
    AOT_TRY(aot_model_partition(j->left, left, &p, err));
    AOT_TRY(aot_model_partition(j->right, right, &q, err));
    aot_graph_diff(&edits, p->cut, q->cut);
    aot_table *t = aot_table_new();
    static const aot_align align[] = {AOT_LEFT, AOT_LEFT, AOT_RIGHT, AOT_LEFT, AOT_LEFT};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof align / sizeof *align; i++) {
        aot_table_column(t, "", align[i], 0);
    }
    for (size_t i = 0; i < edits.n; i++) {
        bool l = is_saved(p, edits.d[i].a), r = is_saved(q, edits.d[i].b);
        if (l && !r) {
            print_flip(p, edits.d[i].a, " -", t);
            json_array_append_new(list, flip_json(p, edits.d[i].a, "left"));
        } else if (r && !l) {
            print_flip(q, edits.d[i].b, " +", t);
            json_array_append_new(list, flip_json(q, edits.d[i].b, "right"));
        }
        flips += l != r;
    }
    j->n_compared++;
    j->n_differ += flips != 0;
    aot_unit_label(&aot_model_unit(j->left, left)->key, label, sizeof label);
    if (j->list != NULL) {
        json_array_append_new(j->list,
                              json_pack("{s:s, s:I, s:I, s:O}", "what", label, "left_saved_bytes",
                                        (json_int_t)p->saved_bytes, "right_saved_bytes",
                                        (json_int_t)q->saved_bytes, "flips", list));
    } else {
        printf("%s saved: %s, then %s; %u value%s of one side only\n", label,
               aot_format_bytes(a, sizeof a, p->saved_bytes),
               aot_format_bytes(b, sizeof b, q->saved_bytes), flips, flips == 1 ? "" : "s");
        if (!j->stat) {
            aot_sb out = {0};
            aot_table_print(&out, t, AOT_TABLE_NO_HEAD, 0, 0);
            fputs(aot_sb_text(&out), stdout);
            aot_sb_free(&out);
        }
    }
    json_decref(list);
    aot_table_free(t);
    aot_vec_free(&edits);
    return AOT_OK;
}

static aot_status stage_of(aot_stage *out, const char *name, aot_err *err)
{
    *out = name != NULL ? aot_stage_find(name) : AOT_N_STAGES;
    if (name != NULL && *out == AOT_N_STAGES) {
        return AOT_FAIL(err, AOT_E_USAGE, "there is no stage '%s' (aotscope help stages)", name);
    }
    return AOT_OK;
}

static aot_status compare_units(job *j, size_t left, size_t right, aot_err *err)
{
    aot_stage s, other;
    if (j->saved) {
        return compare_saved(j, left, right, err);
    }
    AOT_TRY(stage_of(&s, aot_args_get(j->a, "stage"), err));
    AOT_TRY(stage_of(&other, aot_args_get(j->a, "other-stage"), err));
    if (s != AOT_N_STAGES) {
        return compare_stages(j, left, s, right, other != AOT_N_STAGES ? other : s, err);
    }
    for (int i = 0; i < AOT_N_STAGES; i++) {
        if (i != AOT_STAGE_RUNTIME && has_stage(j->left, left, (aot_stage)i) && has_stage(j->right, right, (aot_stage)i)) {
            aot_err own = {0};
            if (compare_stages(j, left, (aot_stage)i, right, (aot_stage)i, &own) != AOT_OK) {
                fprintf(stderr, "aotscope: %s: %s\n", aot_stage_get((aot_stage)i)->name, own.msg);
            }
        }
    }
    return AOT_OK;
}

/* ---- which units
 * ----------------------------------------------------------------------------------- */

/* The unit of the right side with the label of one of the left, else the one at its place. */
static size_t partner(const job *j, size_t left)
{
    char a[96], b[96];
    aot_unit_label(&aot_model_unit(j->left, left)->key, a, sizeof a);
    char *rank = strstr(a, " rank");
    for (size_t i = 0; i < aot_model_n_units(j->right); i++) {
        aot_unit_label(&aot_model_unit(j->right, i)->key, b, sizeof b);
        char *other = strstr(b, " rank");
        if (rank != NULL && other != NULL) { // ranks are what is compared
            *other = '\0';
            *rank = '\0';
        }
        if (strcmp(a, b) == 0) {
            return i;
        }
    }
    return left;
}

static aot_status compare_all(job *j, aot_err *err)
{
    const char *unit = aot_args_get(j->a, "unit"), *other = aot_args_get(j->a, "other-unit");
    size_t first = 0, end = aot_model_n_units(j->left), right;
    if (unit != NULL) {
        AOT_TRY(aot_cmd_find_unit(&first, j->left, unit, err));
        end = first + 1;
    }
    if (other != NULL) {
        AOT_TRY(aot_cmd_find_unit(&right, j->right, other, err));
        return compare_units(j, first, right, err);
    }
    for (size_t i = first; i < end; i++) {
        right = partner(j, i);
        if (right >= aot_model_n_units(j->right)) {
            printf("unit %zu is on the left only\n", i);
            j->n_differ++;
            continue;
        }
        AOT_TRY(compare_units(j, i, right, err));
    }
    return AOT_OK;
}

/* The right side: the second input, or the first again, with --other-set on top of --set. */
static aot_status open_right(job *j, aot_err *err)
{
    size_t n = 0, n_set;
    const char **set = aot_cmd_settings(j->a, &n_set);
    const char **all = aot_xcalloc(n_set + j->a->n_opts + 1, sizeof *all);
    for (size_t i = 0; i < n_set; i++) {
        all[n++] = set[i];
    }
    for (size_t i = 0; aot_args_nth(j->a, "other-set", i) != NULL; i++) {
        all[n++] = aot_args_nth(j->a, "other-set", i);
    }
    aot_model_options o = {
        .settings = all, .n_settings = n, .edits = j->a->edits, .redact = aot_args_has(j->a, "redact")};
    const char *input = j->a->inputs[j->a->n_inputs - 1];
    aot_status s = aot_model_open(&j->right, &input, 1, &o, err);
    free(set);
    free(all);
    return s;
}

static aot_status check_right(const aot_args *a, aot_err *err)
{
    aot_config c;
    AOT_TRY(aot_cmd_check_settings(a, err));
    if (a->n_inputs == 1 && aot_args_get(a, "other-stage") == NULL &&
        aot_args_get(a, "other-unit") == NULL && aot_args_get(a, "other-set") == NULL) {
        return AOT_FAIL(err, AOT_E_USAGE, "diff: compare with what? a second INPUT, --other-stage, "
                                          "--other-unit or --other-set is missing");
    }
    aot_config_init(&c);
    for (size_t i = 0; aot_args_nth(a, "other-set", i) != NULL; i++) {
        AOT_TRY(aot_config_set(&c, aot_args_nth(a, "other-set", i), err));
    }
    return AOT_OK;
}

static int run(const aot_args *a)
{
    aot_err err = {0};
    job j = {.a = a,
             .stat = aot_args_has(a, "stat"),
             .saved = aot_args_has(a, "saved"),
             .sides = aot_args_has(a, "side-by-side"),
             .list = aot_args_has(a, "json") ? json_array() : NULL};
    aot_status s = check_right(a, &err);
    s = s == AOT_OK ? aot_cmd_open_one(&j.left, a, a->inputs[0], &err) : s;
    s = s == AOT_OK ? open_right(&j, &err) : s;
    s = s == AOT_OK ? compare_all(&j, &err) : s;
    if (s == AOT_OK && j.n_compared == 0 && j.n_differ == 0) {
        s = AOT_FAIL(&err, AOT_E_PIPELINE,
                     "the two sides have no stage in common (aotscope info tells what they hold)");
    }
    if (s == AOT_OK && j.list != NULL) {
        json_t *o = aot_cmd_json();
        json_object_set(o, "diffs", j.list);
        aot_cmd_print_json(o);
    }
    json_decref(j.list);
    aot_model_free(j.left);
    aot_model_free(j.right);
    return s != AOT_OK ? aot_cmd_fail(&err) : j.n_differ != 0 ? AOT_EXIT_DIFFERS : AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"stage", 's', "STAGE", false, "This stage only; without it all that both sides have."},
    {"other-stage", 0, "STAGE", false, "The right side's stage, where it is another one."},
    {"unit", 'u', "N|LABEL", false,
     "One unit of the left side; else all, each with the right side's of its label."},
    {"other-unit", 0, "N|LABEL", false, "The right side's unit, where it is another one."},
    {"saved", 0, NULL, false, "Compare what is saved for the backward."},
    {"stat", 0, NULL, false, "Counts only."},
    {"side-by-side", 0, NULL, false, "Two columns in place of - and +."},
    {"json", 0, NULL, false, "Print JSON."},
    AOT_OPTION_SET,
    AOT_OPTION_REDACT,
    {"other-set", 0, "NAME=VALUE", true, "A setting of the right side, on top of --set."},
    {0},
};

const aot_cmd cmd_diff = {
    .name = "diff",
    .synopsis = "INPUT [INPUT] [--stage STAGE] [--unit N|LABEL] [--saved] [--stat | "
                "--side-by-side] [--json]",
    .summary = "Compare graphs, stages, units, settings, ranks or versions by structure",
    .doc = "Nodes are matched by what they compute, not by name: a graph whose values were renamed "
           "is the same graph. "
           "With one INPUT the right side is the same input with another stage (--other-stage), "
           "unit (--other-unit) or "
           "setting (--other-set). Exit code 0 where all is the same, 1 where something differs.",
    .examples = "aotscope diff train.log --stage joint --other-stage joint_cse\n"
                "aotscope diff train.log --saved --other-set activation_memory_budget=0.5\n"
                "aotscope diff rank0.log rank1.log --stat\n"
                "aotscope diff before.aots after.aots --unit 0/1 --stage forward --side-by-side\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 2,
    .run = run,
};
