/* aotscope knapsack: the budget's solver alone, on instances of a JSON file. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "partition/knapsack.h"
#include "tui/open_model.h"

static aot_status numbers(json_t *list, double **out, size_t *n, const char *key, size_t item,
                          aot_err *err)
{
    size_t i;
    json_t *v;
    if (!json_is_array(list)) {
        return AOT_FAIL(err, AOT_E_FORMAT, "instance %zu: \"%s\" must be a list of numbers", item,
                        key);
    }
    *n = json_array_size(list);
    *out = aot_xcalloc(*n, sizeof **out);
    json_array_foreach(list, i, v) {
        if (!json_is_number(v) || !(json_number_value(v) >= 0)) {
            return AOT_FAIL(err, AOT_E_FORMAT,
                            "instance %zu: \"%s\"[%zu] must be a number, not negative", item, key,
                            i);
        }
        (*out)[i] = json_number_value(v);
    }
    return AOT_OK;
}

static json_t *index_list(const uint32_t *v, uint32_t n)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_array_append_new(a, json_integer(v[i]));
    }
    return a;
}

static aot_status solve(json_t *instance, size_t item, const char *solver, json_t **out,
                        aot_err *err)
{
    double *memory = NULL, *runtime = NULL;
    size_t n_memory = 0, n = 0;
    json_t *max = json_object_get(instance, "max_memory");
    aot_knapsack_choice c = {0};
    aot_status s =
        numbers(json_object_get(instance, "memory"), &memory, &n_memory, "memory", item, err);
    if (s == AOT_OK) {
        s = numbers(json_object_get(instance, "runtime"), &runtime, &n, "runtime", item, err);
    }
    if (s == AOT_OK && (n != n_memory || !json_is_number(max))) {
        s = AOT_FAIL(err, AOT_E_FORMAT,
                     "instance %zu: \"memory\" and \"runtime\" must be equally long and "
                     "\"max_memory\" a number",
                     item);
    }
    if (s == AOT_OK) {
        aot_knapsack k = {memory, runtime, (uint32_t)n, json_number_value(max)};
        c.saved = aot_xcalloc(n, sizeof *c.saved);
        c.recomputed = aot_xcalloc(n, sizeof *c.recomputed);
        s = aot_knapsack_solve(&c, &k, solver, err);
    }
    if (s == AOT_OK) {
        *out = json_object();
        json_object_set_new(*out, "runtime", json_real(c.runtime));
        json_object_set_new(*out, "saved", index_list(c.saved, c.n_saved));
        json_object_set_new(*out, "recomputed", index_list(c.recomputed, c.n_recomputed));
    }
    free(c.saved);
    free(c.recomputed);
    free(memory);
    free(runtime);
    return s;
}

static int run(const aot_args *a)
{
    aot_err err = {0};
    json_error_t je;
    const char *solver = aot_args_get(a, "solver");
    json_t *in = json_load_file(a->inputs[0], 0, &je), *out = json_array(), *v;
    size_t i;
    aot_status s = AOT_OK;
    if (in == NULL) {
        s = AOT_FAIL_POS(&err, AOT_E_FORMAT, ((aot_pos){(uint32_t)(je.line > 0 ? je.line : 0), 0}),
                         "%s", je.text);
    } else if (!json_is_array(in)) {
        s = AOT_FAIL(
            &err, AOT_E_FORMAT,
            "expected a list of {\"memory\": [...], \"runtime\": [...], \"max_memory\": x}");
    }
    json_array_foreach(in, i, v) {
        json_t *choice = NULL;
        s = s == AOT_OK ? solve(v, i, solver != NULL ? solver : "dp", &choice, &err) : s;
        if (choice != NULL) {
            json_array_append_new(out, choice);
        }
    }
    if (s == AOT_OK) {
        s = aot_cmd_write_json(a, out, &err);
    }
    json_decref(in);
    json_decref(out);
    if (s != AOT_OK) {
        aot_err_in_file(&err, a->inputs[0]);
        return aot_cmd_fail(&err);
    }
    return AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"solver", 0, "SOLVER", false,
     "As --set activation_memory_budget_solver takes it: dp (default), greedy, ilp, ..."},
    {"output", 'o', "FILE", false, "Where the answers go; standard output if absent or '-'."},
    {0},
};

const aot_cmd cmd_knapsack = {
    .name = "knapsack",
    .synopsis = "FILE [--solver SOLVER] [-o FILE]",
    .summary = "Solve the memory budget's knapsack alone",
    .doc = "FILE is a JSON list of instances {\"memory\": [...], \"runtime\": [...], "
           "\"max_memory\": x}: what each "
           "banned value takes of the budgeted memory, and what recomputing it costs. The answer "
           "is a list of "
           "{\"runtime\", \"saved\", \"recomputed\"} with the items' positions, as PyTorch's "
           "solver of that name "
           "gives them, its known faults included: hirschberg can exceed the capacity.",
    .examples = "aotscope knapsack instances.json --solver greedy -o answers.json\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
