/* aotscope diff: two graphs, stages, units, settings, sessions or ranks, matched by structure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"
#include "exec/memsim.h"
#include "session/redact.h"
#include "session/saved.h"
#include "tui/diff_print.h"
#include "tui/explain_words.h"
#include "tui/open_model.h"
#include "viewers/format.h"
#include "viewers/table.h"

typedef struct job {
    const aot_args *a;
    aot_model *left, *right;
    aot_unit_edits other; /* --other-policy */
    aot_redactor *redactor; /* of both sides: a name is the same on both; NULL */
    bool stat, saved, sides;
    int width; /* of two columns */
    json_t *list; /* --json collects here; else NULL */
    unsigned n_compared, n_differ;
} job;

/* ---- telling --------------------------------------------------------------------------------- */

static json_t *edit_json(const aot_compared *c, const aot_edit *e)
{
    static const char *const names[] = {"same", "changed", "removed", "added"};
    aot_sb text = {0};
    json_t *j = json_pack("{s:s}", "edit", names[e->kind]);
    if (e->a != AOT_NO_NODE) {
        json_object_set_new(j, "left", json_string(aot_diff_node_line(&text, c->a, e->a)));
    }
    if (e->b != AOT_NO_NODE) {
        json_object_set_new(j, "right", json_string(aot_diff_node_line(&text, c->b, e->b)));
    }
    aot_sb_free(&text);
    return j;
}

static json_t *compared_json(const aot_compared *c)
{
    json_t *edits = json_array();
    for (size_t i = 0; i < c->edits.n; i++) {
        if (c->edits.d[i].kind != AOT_EDIT_SAME) {
            json_array_append_new(edits, edit_json(c, &c->edits.d[i]));
        }
    }
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:o}", "what", c->title, "renamed",
                     (int)c->counts.renamed, "same", (int)c->counts.n[AOT_EDIT_SAME], "changed",
                     (int)c->counts.n[AOT_EDIT_CHANGED], "removed",
                     (int)c->counts.n[AOT_EDIT_REMOVED], "added", (int)c->counts.n[AOT_EDIT_ADDED],
                     "edits", edits);
}

static void print_counts(const aot_compared *c)
{
    const uint32_t *n = c->counts.n;
    printf("%s: ", c->title);
    if (aot_diff_is_same(&c->counts)) {
        printf("the same");
    } else {
        printf("%u same, %u changed, %u removed, %u added", n[AOT_EDIT_SAME], n[AOT_EDIT_CHANGED],
               n[AOT_EDIT_REMOVED], n[AOT_EDIT_ADDED]);
    }
    if (c->counts.renamed != 0) {
        printf("; %u input%s of another name", c->counts.renamed,
               c->counts.renamed == 1 ? "" : "s");
    }
    putchar('\n');
}

static void report(job *j, const aot_compared *c)
{
    bool same = aot_diff_is_same(&c->counts);
    j->n_compared++;
    j->n_differ += !same;
    if (j->list != NULL) {
        json_array_append_new(j->list, compared_json(c));
        return;
    }
    print_counts(c);
    if (!same && !j->stat) {
        if (j->sides) {
            aot_diff_print_sides(c, j->width);
        } else {
            aot_diff_print_unified(c);
        }
    }
}

/* ---- what is compared ------------------------------------------------------------------------ */

/* "[0/0]", with the unit's number where another one of its side is called that, too. */
static const char *label_of(char *buf, size_t n, const aot_model *m, size_t unit)
{
    char mine[96], other[96];
    bool alone = true;
    aot_unit_label(&aot_model_unit(m, unit)->key, mine, sizeof mine);
    for (size_t i = 0; i < aot_model_n_units(m) && alone; i++) {
        alone = i == unit ||
                strcmp(mine, aot_unit_label(&aot_model_unit(m, i)->key, other, sizeof other)) != 0;
    }
    if (alone) {
        snprintf(buf, n, "%s", mine);
    } else {
        snprintf(buf, n, "unit %zu %s", unit, mine);
    }
    return buf;
}

static bool has_stage(aot_model *m, size_t unit, aot_stage s)
{
    return aot_model_stage(m, unit, s).origin != AOT_ORIGIN_MISSING;
}

static aot_status compare_stages(job *j, size_t left, aot_stage s, size_t right, aot_stage other,
                                 aot_err *err)
{
    aot_compared c = {0};
    char a[128], b[128];
    AOT_TRY(aot_model_graph(j->left, left, s, &c.a, err));
    AOT_TRY(aot_model_graph(j->right, right, other, &c.b, err));
    label_of(a, sizeof a, j->left, left);
    label_of(b, sizeof b, j->right, right);
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

typedef struct saved_diff {
    const aot_partition *p, *q;
    aot_memory m[2];
    aot_table *t;
    json_t *flips;
    unsigned n;
} saved_diff;

/* What only one side saves; values are matched by structure. */
static void find_flips(saved_diff *d)
{
    static const aot_align align[] = {AOT_LEFT, AOT_LEFT, AOT_RIGHT, AOT_LEFT, AOT_LEFT};
    aot_edits edits = {0};
    aot_graph_diff(&edits, d->p->cut, d->q->cut);
    for (size_t i = 0; i < sizeof align / sizeof *align; i++) {
        aot_table_column(d->t, "", align[i], 0);
    }
    for (size_t i = 0; i < edits.n; i++) {
        bool l = is_saved(d->p, edits.d[i].a), r = is_saved(d->q, edits.d[i].b);
        if (l && !r) {
            print_flip(d->p, edits.d[i].a, " -", d->t);
            json_array_append_new(d->flips, flip_json(d->p, edits.d[i].a, "left"));
        } else if (r && !l) {
            print_flip(d->q, edits.d[i].b, " +", d->t);
            json_array_append_new(d->flips, flip_json(d->q, edits.d[i].b, "right"));
        }
        d->n += l != r;
    }
    aot_vec_free(&edits);
}

static json_t *saved_json(const saved_diff *d, const char *label)
{
    json_t *o = json_pack("{s:s, s:O}", "what", label, "flips", d->flips);
    const aot_partition *const sides[] = {d->p, d->q};
    static const char *const names[] = {"left", "right"};
    for (int i = 0; i < 2; i++) {
        char key[40];
        snprintf(key, sizeof key, "%s_saved_bytes", names[i]);
        json_object_set_new(o, key, json_integer(sides[i]->saved_bytes));
        json_object_set_new(
            o, names[i],
            json_pack("{s:s, s:I, s:f, s:I, s:I}", "rung", sides[i]->rung, "saved_bytes",
                      (json_int_t)sides[i]->saved_bytes, "recompute_flops",
                      sides[i]->recompute_flops, "forward_peak", (json_int_t)d->m[i].forward.peak,
                      "backward_peak", (json_int_t)d->m[i].backward.peak));
        json_t *side = json_object_get(o, names[i]);
        json_object_set_new(side, "saved_tensor_bytes",
                            json_integer(aot_saved_tensor_bytes(sides[i])));
        json_object_set_new(side, "cut_values", explain_cuts_json(sides[i]));
        json_object_set_new(side, "saved_symbols", json_integer(sides[i]->n_saved_sym));
    }
    return o;
}

static void print_cuts(const saved_diff *d)
{
    aot_sb left = {0}, right = {0};
    explain_cut_words(&left, d->p);
    explain_cut_words(&right, d->q);
    printf("  weight in all: %s; then %s\n", left.n != 0 ? aot_sb_text(&left) : "no cut",
           right.n != 0 ? aot_sb_text(&right) : "no cut");
    aot_sb_free(&left);
    aot_sb_free(&right);
}

static void print_saved(const saved_diff *d, const char *label, bool stat)
{
    char a[64], b[64], c[32], e[32], f[32], h[32];
    printf("%s saved: %s, then %s; %u value%s of one side only\n", label,
           aot_saved_text(d->p, a, sizeof a), aot_saved_text(d->q, b, sizeof b), d->n,
           d->n == 1 ? "" : "s");
    if (d->n == 0 && d->p->saved_bytes == d->q->saved_bytes) {
        return;
    }
    printf("  %s, then %s; recompute %s, then %s; peaks %s and %s, then %s and %s\n",
           d->p->rung, d->q->rung, aot_format_flops(f, sizeof f, d->p->recompute_flops),
           aot_format_flops(h, sizeof h, d->q->recompute_flops),
           aot_format_bytes(a, sizeof a, d->m[0].forward.peak),
           aot_format_bytes(b, sizeof b, d->m[0].backward.peak),
           aot_format_bytes(c, sizeof c, d->m[1].forward.peak),
           aot_format_bytes(e, sizeof e, d->m[1].backward.peak));
    print_cuts(d);
    if (!stat) {
        aot_sb out = {0};
        aot_table_print(&out, d->t, AOT_TABLE_NO_HEAD, 0, 0);
        fputs(aot_sb_text(&out), stdout);
        aot_sb_free(&out);
    }
}

static aot_status compare_saved(job *j, size_t left, size_t right, aot_err *err)
{
    saved_diff d = {0};
    char label[128];
    AOT_TRY(aot_model_partition(j->left, left, &d.p, err));
    AOT_TRY(aot_model_partition(j->right, right, &d.q, err));
    aot_cmd_warn_assumed_of(j->left, left);
    aot_cmd_warn_assumed_of(j->right, right);
    d.t = aot_table_new();
    d.flips = json_array();
    find_flips(&d);
    aot_memory_of_partition(&d.m[0], d.p, NULL);
    aot_memory_of_partition(&d.m[1], d.q, NULL);
    j->n_compared++;
    j->n_differ += d.n != 0;
    label_of(label, sizeof label, j->left, left);
    if (j->list != NULL) {
        json_array_append_new(j->list, saved_json(&d, label));
    } else {
        print_saved(&d, label, j->stat);
    }
    json_decref(d.flips);
    aot_table_free(d.t);
    aot_memory_free(&d.m[0]);
    aot_memory_free(&d.m[1]);
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
        if (i != AOT_STAGE_RUNTIME && has_stage(j->left, left, (aot_stage)i) &&
            has_stage(j->right, right, (aot_stage)i)) {
            aot_err own = {0};
            if (compare_stages(j, left, (aot_stage)i, right, (aot_stage)i, &own) != AOT_OK) {
                aot_cmd_note("aotscope: %s: %s\n", aot_stage_get((aot_stage)i)->name, own.msg);
            }
        }
    }
    aot_err own = {0};
    if (has_stage(j->left, left, AOT_STAGE_JOINT) && has_stage(j->right, right, AOT_STAGE_JOINT) &&
        compare_saved(j, left, right, &own) != AOT_OK) {
        aot_cmd_note("aotscope: saved values: %s\n", own.msg);
    }
    return AOT_OK;
}

/* ---- heads ----------------------------------------------------------------------------------- */

/* The PyTorch that wrote a side; "" unknown, "several" where its units differ. */
static const char *version_of(const aot_model *m)
{
    const char *v = "";
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        const char *own = aot_model_unit(m, i)->torch_version;
        v = v[0] == '\0' || strcmp(v, own) == 0 ? own : own[0] == '\0' ? v : "several";
    }
    return v;
}

/* Which input is which side, with what was asked of the right one alone. */
static void print_heads(const job *j)
{
    static const char *const asked[] = {"other-unit", "other-stage", "other-set", "other-policy"};
    const aot_args *a = j->a;
    const aot_model *const sides[] = {j->left, j->right};
    for (int i = 0; i < 2; i++) {
        const char *path = a->inputs[i == 0 ? 0 : a->n_inputs - 1], *version = version_of(sides[i]),
                   *value;
        printf("%s %s%s%s", i == 0 ? "---" : "+++",
               j->redactor != NULL ? aot_redact_input(j->redactor, path) : path,
               version[0] != '\0' ? "  PyTorch " : "", version);
        for (size_t k = 0; i == 1 && k < sizeof asked / sizeof *asked; k++) {
            for (size_t n = 0; (value = aot_args_nth(a, asked[k], n)) != NULL; n++) {
                printf("  --%s %s", asked[k], value);
            }
        }
        putchar('\n');
    }
}

static json_t *head_json(const job *j, int side)
{
    const char *path = j->a->inputs[side == 0 ? 0 : j->a->n_inputs - 1];
    return json_pack("{s:s, s:s}", "input",
                     j->redactor != NULL ? aot_redact_input(j->redactor, path) : path,
                     "torch_version", version_of(side == 0 ? j->left : j->right));
}

/* ---- which units ----------------------------------------------------------------------------- */

/* Whether a unit of the right side has the label of one of the left; ranks are what is compared, so
 * where both sides name one it does not count. */
static bool same_label(const aot_model *l, size_t left, const aot_model *r, size_t right)
{
    char a[96], b[96];
    aot_unit_label(&aot_model_unit(l, left)->key, a, sizeof a);
    aot_unit_label(&aot_model_unit(r, right)->key, b, sizeof b);
    char *x = strstr(a, " rank"), *y = strstr(b, " rank");
    if (x != NULL && y != NULL && l != r) {
        *x = *y = '\0';
    }
    return strcmp(a, b) == 0;
}

/* The unit of the right side with the label of one of the left; of several the one that stands
 * where the left's stands among those of its label. Where nothing is called so, the one at its
 * place. */
static size_t partner(const job *j, size_t left)
{
    size_t before = 0, found = 0;
    for (size_t i = 0; i < left; i++) {
        before += same_label(j->left, i, j->left, left);
    }
    for (size_t i = 0; i < aot_model_n_units(j->right); i++) {
        if (same_label(j->left, left, j->right, i) && found++ == before) {
            return i;
        }
    }
    return found == 0 ? left : SIZE_MAX;
}

static void only_on(job *j, const char *side, const aot_model *m, size_t unit)
{
    char label[96];
    aot_unit_label(&aot_model_unit(m, unit)->key, label, sizeof label);
    j->n_differ++;
    if (j->list != NULL) {
        json_array_append_new(j->list, json_pack("{s:s, s:s}", "what", label, "only", side));
    } else {
        printf("%s: unit %zu is on the %s only\n", label, unit, side);
    }
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
    size_t n_right = aot_model_n_units(j->right);
    uint8_t *met = aot_xcalloc(n_right + 1, 1);
    aot_status s = AOT_OK;
    for (size_t i = first; i < end && s == AOT_OK; i++) {
        right = partner(j, i);
        if (right >= n_right) {
            only_on(j, "left", j->left, i);
        } else {
            met[right] = 1;
            s = compare_units(j, i, right, err);
        }
    }
    for (size_t i = 0; i < n_right && unit == NULL && s == AOT_OK; i++) {
        if (!met[i]) {
            only_on(j, "right", j->right, i);
        }
    }
    free(met);
    return s;
}

static aot_status open_side(job *j, aot_model **out, const char *input, bool right, aot_err *err)
{
    size_t n = 0, n_set;
    const char **set = aot_cmd_settings(j->a, &n_set);
    const char **all = aot_xcalloc(n_set + j->a->n_opts + 1, sizeof *all);
    for (size_t i = 0; i < n_set; i++) {
        all[n++] = set[i];
    }
    for (size_t i = 0; right && aot_args_nth(j->a, "other-set", i) != NULL; i++) {
        all[n++] = aot_args_nth(j->a, "other-set", i);
    }
    bool own = right && aot_args_get(j->a, "other-policy") != NULL;
    aot_model_options o = {.settings = all,
                           .n_settings = n,
                           .edits = own ? &j->other : j->a->edits,
                           .redactor = j->redactor,
                           .progress = aot_cmd_progress};
    aot_status s = aot_model_open(out, &input, 1, &o, err);
    aot_cmd_progress_end();
    free(set);
    free(all);
    return s;
}

/* The right side: the second input, or the first again, with --other-set on top of --set and
 * --other-policy in place of --policy. */
static aot_status open_both(job *j, aot_err *err)
{
    const aot_args *a = j->a;
    const char *path;
    for (size_t i = 0; (path = aot_args_nth(a, "other-policy", i)) != NULL; i++) {
        AOT_TRY(aot_edits_read(&j->other, path, err));
    }
    AOT_TRY(open_side(j, &j->left, a->inputs[0], false, err));
    return open_side(j, &j->right, a->inputs[a->n_inputs - 1], true, err);
}

/* Columns of the terminal, or of COLUMNS where the output goes elsewhere. */
static int columns(void)
{
    struct winsize w;
    const char *env = getenv("COLUMNS");
    int64_t n = 160;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0) {
        return w.ws_col;
    }
    return aot_int_read(&n, env, 1, 10000) ? (int)n : 160;
}

static aot_status check_right(const aot_args *a, aot_err *err)
{
    aot_config c;
    AOT_TRY(aot_cmd_check_settings(a, err));
    if (a->n_inputs == 1 && aot_args_get(a, "other-stage") == NULL &&
        aot_args_get(a, "other-unit") == NULL && aot_args_get(a, "other-set") == NULL &&
        aot_args_get(a, "other-policy") == NULL) {
        return AOT_FAIL(err, AOT_E_USAGE, "diff: compare with what? a second INPUT, --other-stage, "
                                          "--other-unit, --other-set or --other-policy is missing");
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
             .width = (columns() - 5) / 2,
             .redactor = aot_args_has(a, "redact") ? aot_redactor_new() : NULL,
             .list = aot_args_has(a, "json") ? json_array() : NULL};
    j.width = j.width > 10 ? j.width : 10;
    aot_status s = check_right(a, &err);
    s = s == AOT_OK ? open_both(&j, &err) : s;
    if (s == AOT_OK && j.list == NULL) {
        print_heads(&j);
    }
    s = s == AOT_OK ? compare_all(&j, &err) : s;
    if (s == AOT_OK && j.n_compared == 0 && j.n_differ == 0) {
        s = AOT_FAIL(&err, AOT_E_PIPELINE,
                     "the two sides have no stage in common (aotscope info tells what they hold)");
    }
    if (s == AOT_OK && j.list != NULL) {
        json_t *o = aot_cmd_json();
        json_object_set_new(o, "left", head_json(&j, 0));
        json_object_set_new(o, "right", head_json(&j, 1));
        json_object_set(o, "diffs", j.list);
        aot_cmd_print_json(o);
    }
    json_decref(j.list);
    aot_model_free(j.left);
    aot_model_free(j.right);
    aot_redactor_free(j.redactor);
    aot_edits_free(&j.other);
    return s != AOT_OK ? aot_cmd_fail(&err) : j.n_differ != 0 ? AOT_EXIT_DIFFERS : AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"stage", 's', "STAGE", false, "This stage only; without it all that both sides have."},
    {"other-stage", 0, "STAGE", false, "The right side's stage, where it is another one."},
    {"unit", 'u', "N|LABEL", false,
     "One unit of the left side; else all, each with the right side's of its label."},
    {"other-unit", 0, "N|LABEL", false, "The right side's unit, where it is another one."},
    {"saved", 0, NULL, false,
     "Compare only what is saved for the backward: bytes, peaks, flops, and the values that flip."},
    {"stat", 0, NULL, false, "Counts only."},
    {"side-by-side", 0, NULL, false,
     "Two columns in place of - and +, as wide as the terminal or COLUMNS."},
    {"json", 0, NULL, false, "Print JSON."},
    AOT_OPTIONS_INPUT,
    {"other-set", 0, "NAME=VALUE", true, "A setting of the right side, on top of --set."},
    {"other-policy", 0, "FILE", true, "The right side's policy, in place of --policy."},
    {0},
};

const aot_cmd cmd_diff = {
    .name = "diff",
    .synopsis = "INPUT [INPUT] [--stage STAGE] [--unit N|LABEL] [--saved] [--stat | "
                "--side-by-side] [--json]",
    .summary = "Compare graphs, stages, units, settings, ranks or versions by structure",
    .doc =
        "Nodes are matched by what they compute, not by name: a graph whose values were renamed "
        "is the same graph. "
        "With one INPUT the right side is the same input with another stage (--other-stage), "
        "unit (--other-unit), "
        "setting (--other-set) or policy (--other-policy). Without --stage every stage that both "
        "have is compared, and then what the two partitions save. Exit code 0 where all is the "
        "same, 1 where something differs.",
    .examples = "aotscope diff train.log --stage joint --other-stage joint_cse\n"
                "aotscope diff train.log --saved --other-set activation_memory_budget=0.5\n"
                "aotscope diff train.log --other-policy mine.policy --stage forward\n"
                "aotscope diff rank0.log rank1.log --stat\n"
                "aotscope diff before.aots after.aots --unit 0/1 --stage forward --side-by-side\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 2,
    .run = run,
};
