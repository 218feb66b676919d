/* aotscope lint INPUT...: findings of every partitioned unit, as text, JSON or SARIF. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint/lint.h"
#include "session/saved.h"
#include "tui/open_model.h"
#include "tui/sarif.h"
#include "viewers/format.h"

typedef struct job {
    const aot_args *a;
    aot_finding_level least;
    const char *only; /* a rule's name, or NULL */
    bool quiet;       /* collected as JSON, nothing is printed */
    json_t *list, *abandoned;
    unsigned n[3]; /* by level */
    size_t n_units, n_cut, n_failed; /* failed: there is a joint graph, and no cut of it */
    bool failed;
} job;

static json_t *finding_json(const aot_unit *u, size_t unit, const aot_partition *p,
                            const aot_finding *f)
{
    char label[96];
    const aot_graph *g = p != NULL && f->node != AOT_NO_NODE ? p->cut : NULL;
    const aot_record *joint = aot_unit_stage(u, AOT_STAGE_JOINT);
    const aot_src *src = g != NULL ? &g->srcs.d[aot_node_at(g, f->node)->src] : NULL;
    json_t *j = json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:I}", "input", u->input,
                          "unit", (int)unit, "label", aot_unit_label(&u->key, label, sizeof label),
                          "rule", f->rule->name, "level", aot_finding_level_name(f->rule->level),
                          "message", f->message, "remedy", f->rule->remedy, "bytes",
                          (json_int_t)f->bytes);
    json_object_set_new(j, "node",
                        g != NULL ? json_string(aot_node_name(g, f->node)) : json_null());
    if (src != NULL && src->file != 0) {
        json_object_set_new(j, "file", json_string(aot_text(g->ctx, src->file)));
        json_object_set_new(j, "line", json_integer(src->line));
    }
    if (joint != NULL && joint->line != 0) {
        json_object_set_new(j, "input_line", json_integer((json_int_t)joint->line));
    }
    return j;
}

static void print_finding(const aot_partition *p, const aot_finding *f)
{
    char source[300] = "";
    if (p != NULL && f->node != AOT_NO_NODE) {
        aot_format_source(source, sizeof source, p->cut, f->node);
    }
    printf("  %s: %s [%s]%s%s\n", aot_finding_level_name(f->rule->level), f->message, f->rule->name,
           source[0] != 0 ? "  " : "", source);
}

/* Each rule's sentence and remedy once, below the places where it was found. */
static void print_rules(const aot_findings *all, const job *j)
{
    const aot_finding_rule *last = NULL;
    for (size_t i = 0; i < all->n; i++) {
        const aot_finding_rule *r = all->d[i].rule;
        if (r != last && r->level >= j->least &&
            (j->only == NULL || strcmp(j->only, r->name) == 0)) {
            printf("  %s: %s\n    Remedy: %s.\n", r->name, r->title, r->remedy);
        }
        last = r;
    }
}

/* A unit that could not be looked at is named, whatever findings are asked for. */
static void tell_failed(job *j, aot_model *m, size_t unit, const aot_findings *all, aot_err *err)
{
    char label[96];
    const aot_unit *u = aot_model_unit(m, unit);
    const char *why = err->code != AOT_OK ? err->msg
                      : all->n > 0        ? all->d[0].message
                                          : "it cannot be cut";
    aot_err named = {0};
    aot_status s = AOT_FAIL(&named, err->code != AOT_OK ? err->code : AOT_E_GRAPH,
                            "unit %zu %s failed: %.700s", unit,
                            aot_unit_label(&u->key, label, sizeof label), why);
    (void)s;
    aot_err_in_file(&named, u->input);
    aot_cmd_fail(&named);
    j->n_failed++;
}

static void lint_unit(job *j, aot_model *m, size_t unit)
{
    const aot_partition *p = NULL;
    const aot_unit *u = aot_model_unit(m, unit);
    aot_findings all = {0};
    aot_err err = {0};
    bool head = false;
    aot_arena *arena = aot_arena_new();
    j->n_units++;
    bool joint = aot_model_stage(m, unit, AOT_STAGE_JOINT).origin != AOT_ORIGIN_MISSING;
    unsigned before = j->n[AOT_FINDING_ERROR];
    if (aot_lint_unit(&all, &p, m, unit, arena, &err) != AOT_OK) {
        j->failed = true;
    }
    j->n_cut += p != NULL;
    for (size_t i = 0; i < all.n; i++) {
        const aot_finding *f = &all.d[i];
        if (f->rule->level < j->least || (j->only != NULL && strcmp(j->only, f->rule->name) != 0)) {
            continue;
        }
        j->n[f->rule->level]++;
        if (j->quiet) {
            json_array_append_new(j->list, finding_json(u, unit, p, f));
            continue;
        }
        if (!head) {
            printf("# unit %zu %s\n", unit, aot_model_unit_line(m, unit));
            head = true;
        }
        print_finding(p, f);
    }
    if (head) {
        print_rules(&all, j);
    }
    if (err.code != AOT_OK || (joint && p == NULL && j->n[AOT_FINDING_ERROR] == before)) {
        tell_failed(j, m, unit, &all, &err); // not among the findings that were told
    }
    aot_vec_free(&all);
    aot_arena_free(arena);
}

/* What Dynamo gave up and compiled anew never ran: what is wrong in it is told of the next attempt,
 * if there. */
static void pass_over(job *j, aot_model *m, size_t unit)
{
    char words[160], label[96];
    aot_model_restart_words(m, unit, words, sizeof words);
    aot_unit_label(&aot_model_unit(m, unit)->key, label, sizeof label);
    if (j->quiet) {
        json_array_append_new(j->abandoned,
                              json_pack("{s:i, s:s, s:i, s:s}", "unit", (int)unit, "label", label,
                                        "restarted_as", (int)aot_model_restarted_as(m, unit),
                                        "text", words));
    } else {
        printf("# unit %zu %s %s\n", unit, label, words);
    }
}

static void lint_input(job *j, const char *input)
{
    aot_model *m = NULL;
    aot_err err = {0};
    if (aot_cmd_open_one(&m, j->a, input, &err) != AOT_OK) {
        aot_cmd_fail(&err);
        j->failed = true;
        return;
    }
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        if (aot_model_restarted_as(m, i) != SIZE_MAX) {
            pass_over(j, m, i);
        } else {
            lint_unit(j, m, i);
        }
    }
    aot_model_free(m);
}

/* ---- the command ----------------------------------------------------------------------------- */

static json_t *plain(const job *j)
{
    json_t *o = aot_cmd_json();
    json_object_set(o, "findings", j->list);
    json_object_set(o, "abandoned", j->abandoned);
    for (int i = AOT_FINDING_ERROR; i >= AOT_FINDING_NOTE; i--) {
        char key[16];
        snprintf(key, sizeof key, "%ss", aot_finding_level_name((aot_finding_level)i));
        json_object_set_new(o, key, json_integer(j->n[i]));
    }
    return o;
}

static bool read_level(aot_finding_level *out, const char *text)
{
    for (int i = AOT_FINDING_NOTE; i <= AOT_FINDING_ERROR; i++) {
        if (strcmp(text, aot_finding_level_name((aot_finding_level)i)) == 0) {
            *out = (aot_finding_level)i;
            return true;
        }
    }
    return false;
}

static bool is_rule(const char *name)
{
    for (unsigned i = 0; i < aot_finding_rule_count(); i++) {
        if (strcmp(aot_finding_rule_at(i)->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static int run(const aot_args *a)
{
    job j = {
        .a = a, .only = aot_args_get(a, "rule"), .list = json_array(), .abandoned = json_array()};
    const char *level = aot_args_get(a, "level");
    bool as_sarif = aot_args_has(a, "sarif");
    aot_err err = {0};
    j.quiet = aot_args_has(a, "json") || as_sarif;
    if (level != NULL && !read_level(&j.least, level)) {
        json_decref(j.list);
        json_decref(j.abandoned);
        return aot_cmd_usage(a->cmd, "--level takes error, warning or note, not '%s'", level);
    }
    if (j.only != NULL && !is_rule(j.only)) {
        json_decref(j.list);
        json_decref(j.abandoned);
        return aot_cmd_usage(a->cmd, "there is no rule '%s'", j.only);
    }
    if (aot_cmd_check_settings(a, &err) != AOT_OK) {
        json_decref(j.list);
        json_decref(j.abandoned);
        return aot_cmd_fail(&err);
    }
    for (size_t i = 0; i < a->n_inputs; i++) {
        lint_input(&j, a->inputs[i]);
    }
    if (j.quiet) {
        aot_cmd_print_json(as_sarif ? aot_sarif(j.list) : plain(&j));
    } else {
        const unsigned *n = j.n;
        char failed[48] = "";
        if (j.n_failed != 0) {
            snprintf(failed, sizeof failed, ", %zu failed", j.n_failed);
        }
        printf("%zu of %zu unit%s cut%s: %u error%s, %u warning%s, %u note%s\n", j.n_cut, j.n_units,
               j.n_units == 1 ? "" : "s", failed, n[AOT_FINDING_ERROR],
               n[AOT_FINDING_ERROR] == 1 ? "" : "s", n[AOT_FINDING_WARNING],
               n[AOT_FINDING_WARNING] == 1 ? "" : "s", n[AOT_FINDING_NOTE],
               n[AOT_FINDING_NOTE] == 1 ? "" : "s");
    }
    json_decref(j.list);
    json_decref(j.abandoned);
    bool findings = j.n[AOT_FINDING_ERROR] + j.n[AOT_FINDING_WARNING] != 0;
    bool nothing = j.n_failed != 0 && j.n_cut == 0;
    return j.failed || nothing ? AOT_EXIT_ERROR : findings ? AOT_EXIT_DIFFERS : AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"level", 0, "LEVEL", false,
     "Show findings of this level and above: error, warning, note (default)."},
    {"rule", 0, "NAME", false, "Look for one rule only."},
    {"json", 0, NULL, false, "Print JSON."},
    {"sarif", 0, NULL, false, "Print SARIF 2.1.0, as code hosts read it."},
    AOT_OPTIONS_INPUT,
    {0},
};

const aot_cmd cmd_lint = {
    .name = "lint",
    .synopsis = "INPUT... [--level LEVEL] [--rule NAME] [--json | --sarif] [--set NAME=VALUE]...",
    .summary = "Find random numbers drawn twice, overwritten inputs, lost tags, wasted memory",
    .doc = "Each joint graph is cut and looked through without running it. Errors are wrong "
           "numbers: a random operator "
           "that is recomputed without its generator's state, an input that the backward reads "
           "after the forward has "
           "overwritten it, a joint graph that cannot be cut (the chain of constraints, or the "
           "path from a "
           "tangent, is named). Warnings are requests that did not happen: tags overruled or lost. "
           "Notes are memory. "
           "Exit code 1 if there are errors or warnings, 2 if a unit failed otherwise.",
    .examples = "aotscope lint train.log --set activation_memory_budget=0.5\n"
                "aotscope lint rank0.log rank1.log --level error\n"
                "aotscope lint train.log --sarif > findings.sarif\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
