/* aotscope check INPUT...: derives recorded stages again and compares.
 *
 * One line for each recorded graph that is not the same (all with --verbose), one line an input
 * when there are several, and a summary. Exit code: 0 same, 1 differs, 2 an input or a graph cannot
 * be used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/check.h"
#include "tui/open_model.h"

typedef struct tally {
    unsigned n[4]; /* by aot_check_verdict */
    bool failed;
} tally;

static json_t *result_json(const aot_unit *u, size_t unit, const aot_check_result *r)
{
    char label[96];
    json_t *j =
        json_pack("{s:i, s:s, s:s, s:s, s:s}", "unit", (int)unit, "label",
                  aot_unit_label(&u->key, label, sizeof label), "title", u->title, "stage",
                  aot_stage_get(r->stage)->name, "result", aot_check_verdict_name(r->verdict));
    if (r->reason != NULL) {
        json_object_set_new(j, "reason", json_string(r->reason));
    }
    if (r->recorded != NULL) {
        json_object_set_new(j, "line", json_integer(r->line));
        json_object_set_new(j, "input_line", json_integer((json_int_t)r->input_line));
        json_object_set_new(j, "recorded", json_string(r->recorded));
        json_object_set_new(j, "derived", json_string(r->derived));
    }
    return j;
}

static void print_result(const aot_unit *u, size_t unit, const aot_check_result *r, bool verbose)
{
    char label[96];
    if (r->verdict == AOT_CHECK_SAME && !verbose) {
        return;
    }
    printf("  unit %zu %s%s%s %s: %s", unit, aot_unit_label(&u->key, label, sizeof label),
           u->title[0] != 0 ? " " : "", u->title, aot_stage_get(r->stage)->name,
           aot_check_verdict_name(r->verdict));
    if (r->recorded != NULL && r->input_line != 0) {
        printf(" at %s:%llu", u->input, (unsigned long long)r->input_line);
    } else if (r->recorded != NULL) {
        printf(" at line %u", r->line);
    }
    if (r->verdict != AOT_CHECK_DIFFERS && r->reason != NULL) {
        printf(": %s", r->reason);
    }
    if (r->recorded != NULL) {
        printf("\n    recorded: %s\n    derived:  %s",
               r->recorded[0] != 0 ? r->recorded : "(the text has ended)",
               r->derived[0] != 0 ? r->derived : "(the text has ended)");
    }
    if (r->verdict == AOT_CHECK_DIFFERS && r->reason != NULL) {
        printf("\n    %s", r->reason);
    }
    putchar('\n');
}

static void check_unit(aot_model *m, size_t unit, tally *t, json_t *graphs, bool verbose,
                       bool trace)
{
    const aot_unit *u = aot_model_unit(m, unit);
    const aot_partition *p = NULL;
    aot_err part_err = {0};
    bool has_joint = aot_model_stage(m, unit, AOT_STAGE_JOINT).origin == AOT_ORIGIN_RECORDED;
    if (has_joint && aot_model_partition(m, unit, &p, &part_err) != AOT_OK) {
        p = NULL;
    }
    aot_arena *a = aot_arena_new();
    aot_check_result results[AOT_CHECK_MAX + AOT_CHECK_TRACE_MAX];
    size_t n = aot_check_unit(results, u, p, part_err.code != AOT_OK ? &part_err : NULL, a);
    aot_config config;
    if (trace && aot_model_config(m, unit, &config, NULL) == AOT_OK) {
        n += aot_check_trace(&results[n], u, &config, a);
    }
    for (size_t i = 0; i < n; i++) {
        t->n[results[i].verdict]++;
        if (graphs != NULL) {
            json_array_append_new(graphs, result_json(u, unit, &results[i]));
        } else {
            print_result(u, unit, &results[i], verbose);
        }
    }
    aot_arena_free(a);
}

static unsigned n_compared(const tally *t)
{
    return t->n[AOT_CHECK_SAME] + t->n[AOT_CHECK_DIFFERS];
}

static void print_tally(const char *what, const tally *t)
{
    printf("%s: %u same, %u differ, %u left out", what, t->n[AOT_CHECK_SAME],
           t->n[AOT_CHECK_DIFFERS], t->n[AOT_CHECK_LEFT_OUT]);
    if (t->n[AOT_CHECK_ERROR] > 0) {
        printf(", %u not derived", t->n[AOT_CHECK_ERROR]);
    }
    puts(n_compared(t) == 0 ? "; nothing was compared" : "");
}

/* strict: what was not compared is no success. */
static int exit_code(const tally *t, bool strict)
{
    bool open = n_compared(t) == 0 || t->n[AOT_CHECK_LEFT_OUT] > 0;
    return t->failed || t->n[AOT_CHECK_ERROR] > 0               ? AOT_EXIT_ERROR
           : t->n[AOT_CHECK_DIFFERS] > 0 || (strict && open) ? AOT_EXIT_DIFFERS
                                                               : AOT_EXIT_SAME;
}

static json_t *tally_json(json_t *j, const tally *t)
{
    for (int i = 0; i < 4; i++) {
        const char *key =
            i == AOT_CHECK_LEFT_OUT ? "left_out" : aot_check_verdict_name((aot_check_verdict)i);
        json_object_set_new(j, key, json_integer(t->n[i]));
    }
    return j;
}

/* One input; adds to the sum. Units are let go of with their input: memory is that of one input. */
static void check_input(const aot_args *a, size_t at, tally *sum, json_t *inputs)
{
    char shown[32];
    const char *input = aot_cmd_shown_input(a, at, shown, sizeof shown);
    aot_model *m = NULL;
    aot_err err = {0};
    tally t = {0};
    json_t *graphs = inputs != NULL ? json_array() : NULL;
    if (aot_cmd_open_recorded(&m, a, a->inputs[at], &err) != AOT_OK) {
        sum->failed = true;
        aot_cmd_fail(&err);
        if (inputs != NULL) {
            json_array_append_new(inputs,
                                  json_pack("{s:s, s:s}", "input", input, "error", err.msg));
            json_decref(graphs);
        }
        return;
    }
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        check_unit(m, i, &t, graphs, aot_args_has(a, "verbose"), !aot_args_has(a, "no-trace"));
    }
    if (inputs != NULL) {
        json_t *j = json_pack("{s:s, s:o}", "input", input, "graphs", graphs);
        json_array_append_new(inputs, tally_json(j, &t));
    } else if (a->n_inputs > 1) {
        print_tally(input, &t);
    }
    if (n_compared(&t) == 0 && t.n[AOT_CHECK_LEFT_OUT] == 0 && t.n[AOT_CHECK_ERROR] == 0) {
        aot_cmd_note("%s: no recorded graph to compare\n", input);
    }
    for (int i = 0; i < 4; i++) {
        sum->n[i] += t.n[i];
    }
    aot_model_free(m);
}

static int run(const aot_args *a)
{
    tally sum = {0};
    char shown[32];
    json_t *inputs = aot_args_has(a, "json") ? json_array() : NULL;
    for (size_t i = 0; i < a->n_inputs; i++) {
        check_input(a, i, &sum, inputs);
    }
    if (inputs != NULL) {
        json_t *j = aot_cmd_json();
        json_object_set_new(j, "inputs", inputs);
        aot_cmd_print_json(tally_json(j, &sum));
    } else if (a->n_inputs > 1 || !sum.failed) {
        print_tally(a->n_inputs > 1 ? "all inputs" : aot_cmd_shown_input(a, 0, shown, sizeof shown),
                    &sum);
    }
    return exit_code(&sum, aot_args_has(a, "strict"));
}

static const aot_option options[] = {
    {"json", 0, NULL, false, "Print the results as JSON."},
    {"no-trace", 0, NULL, false,
     "Trace no Dynamo graph: compare only forward and backward with what the recorded joint graph "
     "gives."},
    {"trace", 0, NULL, false, "Trace each Dynamo graph, too: so it is without this option."},
    {"verbose", 'v', NULL, false, "Name the graphs that are the same, too."},
    {"strict", 0, NULL, false,
     "Exit with 1, too, if a graph was left out or nothing was compared."},
    AOT_OPTIONS_INPUT,
    {0},
};

const aot_cmd cmd_check = {
    .name = "check",
    .synopsis = "INPUT... [--json] [--verbose] [--strict] [--no-trace] [--set NAME=VALUE]...",
    .summary = "Derive recorded stages again and compare",
    .doc =
        "Cuts each recorded joint graph under its recorded settings and compares the result with "
        "the "
        "forward and backward that the input recorded. Comment lines, blank lines and trailing "
        "blanks do "
        "not count. Then traces each recorded Dynamo graph and compares with the recorded joint or "
        "inference graph, names of intermediate values aside, and with the recorded metadata of "
        "inputs "
        "and outputs, field by field (stage runtime). The first difference is shown with its line "
        "in the "
        "input.\n\n"
        "Graphs of Inductor are derived through its joint-graph passes, and so are those that only "
        "go "
        "that way. Left out, with the reason: graphs without a recorded joint graph, and graphs "
        "that "
        "other passes changed, what cannot be traced, and differences of a known kind, which are "
        "shown "
        "all the same: another PyTorch than 2.11 wrote the log, whose rules differ, or its text "
        "does not "
        "say which inputs require grad.\n\n"
        "Exit status: 0 no difference, which includes that nothing was compared (the last line "
        "says "
        "so; --strict makes it 1), 1 a difference, 2 an input or a graph that cannot be used.",
    .examples = "aotscope check train.log\n"
                "aotscope check logs/*.log --json\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
