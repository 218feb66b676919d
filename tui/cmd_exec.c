/* aotscope exec: runs a unit on given values, through its wrappers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "exec/clones.h"
#include "exec/values.h"
#include "session/run_values.h"
#include "tui/open_model.h"

typedef struct job {
    const aot_args *a;
    const json_t *values;
    const char *file; /* of the values */
    uint64_t seed;
    json_t *result;
} job;

static aot_status run_it(job *j, const aot_unit *u, const aot_runnable *r, aot_err *err)
{
    aot_xval *outer = NULL, *tangents = NULL;
    unsigned n_tangents = 0;
    aot_run_out out = {0};
    aot_wrapper_trace trace = {0};
    aot_exec *x = aot_exec_new();
    aot_exec_options o = {.until = aot_args_get(j->a, "until")};
    aot_generator_seed(aot_exec_generator(x), j->seed);
    aot_sb notes = {0};
    aot_status s =
        aot_run_values(&outer, &tangents, &n_tangents, &notes, r, u, j->values, j->file, err);
    aot_cmd_notes(&notes);
    if (s == AOT_OK) {
        bool traced = aot_args_has(j->a, "wrappers");
        aot_run_in in = {.calling = &r->capture.calling,
                         .graph = r->graph,
                         .cut = r->cut,
                         .outer = outer,
                         .names = r->sources,
                         .tangents = tangents,
                         .n_tangents = n_tangents,
                         .options = &o,
                         .debug_assert = r->debug_assert,
                         .trace = traced ? &trace : NULL};
        s = aot_run_unit(&out, x, &in, err);
        if (s == AOT_OK) {
            j->result = aot_cmd_json();
            json_t *more = aot_run_json(r, &out, outer);
            json_object_update(j->result, more);
            json_decref(more);
            if (traced) {
                json_object_set_new(j->result, "wrappers", aot_wrapper_trace_json(&trace));
            }
        } else {
            aot_err_in_file(err, u->input);
        }
    }
    aot_sb_free(&notes);
    aot_run_free(&out);
    aot_wrapper_trace_free(&trace);
    aot_free_values(outer, (unsigned)r->capture.calling.n_outer);
    aot_free_values(tangents, n_tangents);
    aot_exec_free(x);
    return s;
}

static aot_status on_graph(void *arg, const aot_unit *u, const aot_record *rec, int k, aot_err *err)
{
    job *j = arg;
    aot_config config;
    aot_runnable r = {0};
    (void)k;
    aot_status s = aot_cmd_unit_config(&config, j->a, u, err);
    if (s == AOT_OK) {
        s = aot_runnable_make(&r, u, rec, &config, err);
        if (s != AOT_OK) {
            aot_err_in_file(err, u->input);
        }
    }
    s = s == AOT_OK ? run_it(j, u, &r, err) : s;
    aot_runnable_free(&r);
    return s;
}

static int run(const aot_args *a)
{
    job j = {.a = a, .file = aot_args_get(a, "values")};
    json_t *values = NULL;
    aot_err err = {0};
    const char *seed = aot_args_get(a, "seed");
    if (j.file == NULL) {
        return aot_cmd_usage(a->cmd, "the values of the inputs are missing: --values V.json");
    }
    if (seed != NULL && !aot_seed_read(&j.seed, seed)) {
        return aot_cmd_usage(a->cmd, "--seed takes a number, not '%s'", seed);
    }
    aot_status s = aot_cmd_check_settings(a, &err);
    s = s == AOT_OK ? aot_values_read(&values, j.file, &err) : s;
    j.values = values;
    s = s == AOT_OK ? aot_cmd_each_dynamo(a, true, on_graph, &j, &err) : s;
    s = s == AOT_OK ? aot_cmd_write_json(a, j.result, &err) : s;
    json_decref(values);
    json_decref(j.result);
    return s == AOT_OK ? AOT_EXIT_SAME : aot_cmd_fail(&err);
}

static const aot_option options[] = {
    {"values", 0, "FILE", false, "Values of the inputs by source, and tangents (JSON)."},
    {"output", 'o', "FILE", false, "Where to write the results; standard output if absent."},
    {"unit", 0, "N", false, "The Dynamo graph to run, counted from 0, where there are several."},
    {"seed", 0, "N", false, "torch.manual_seed(N) before the run; 0 if absent."},
    {"wrappers", 0, NULL, false,
     "Also what each runtime wrapper took, changed and gave: \"wrappers\", a list of events."},
    {"until", 0, "NODE", false, "Stop behind this node; what comes after needs no kernels."},
    {"backend", 0, "NAME", false,
     "Whose decompositions and passes: aot_eager, decomp, inductor_joint; as recorded by default."},
    AOT_OPTIONS_TRACE,
    AOT_OPTION_SET,
    {0},
};

const aot_cmd cmd_exec = {
    .name = "exec",
    .synopsis = "INPUT --values V.json [--unit N] [--seed N] [--until NODE] [--wrappers] [--set "
                "NAME=VALUE]... [-o OUT.json]",
    .summary = "Run a unit on given values, through its runtime wrappers",
    .doc = "Traces the Dynamo graph, cuts it as the settings say, and runs forward and backward on "
           "the CPU, through "
           "the wrappers that AOTAutograd puts around them: inputs given twice or sharing memory, "
           "mutations "
           "written back, aliased outputs made again, saved values.\n\n"
           "V.json: {\"inputs\": {SOURCE: {\"dtype\": \"float32\", \"shape\": [2], \"stride\": "
           "[1], \"data\": [1, 2]}}, "
           "\"tangents\": [...]}. SOURCE is what Dynamo names an input by: L['x']; data is "
           "row-major; NaN and infinities are "
           "strings, complex numbers pairs in a row; a stride may be left out. Tangents are the "
           "gradients of the outputs that require "
           "grad, in order; null: zeros. The result has \"outputs\", \"grads\" by source (null: no "
           "gradient) "
           "and \"mutated\" by source.\n\n"
           "An operator without a kernel is run by its decomposition; one that has neither is an "
           "error that names it "
           "(aotscope ops --gaps).\n\n"
           "An input may be {\"same_as\": SOURCE} or {\"view_of\": SOURCE, \"shape\", \"stride\", "
           "\"offset\"}: whatever the unit was compiled for, "
           "they share memory, and who looks at that is told. A tensor subclass is {\"inner\": "
           "[...]}, its inner tensors.\n\n"
           "Gaps: higher-order operators whose code is in no log, and what aotscope ops --gaps "
           "lists of wrappers, are not run; "
           "random numbers are those of a PyTorch with AVX2 (without it, 16 and more normal f32 "
           "numbers differ in the last bits) "
           "and without MKL's stream, from which it draws bernoulli.p and dropout on Intel "
           "processors; linear algebra runs in double, so the sign of an eigenvector may be the "
           "other one; a lazily conjugated "
           "view is a copy; what torch.empty holds is zero here.",
    .examples = "aotscope exec train.log --values V.json -o OUT.json\n"
                "aotscope exec train.log --values V.json --set activation_memory_budget=0\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
