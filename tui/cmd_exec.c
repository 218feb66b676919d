/* aotscope exec: runs a unit on given values, through its wrappers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/clones.h"
#include "exec/values.h"
#include "session/run_values.h"
#include "tui/open_model.h"

typedef struct job {
    const aot_args *a;
    const json_t *values;
    const char *file; /* of the values */
    int only;         /* the Dynamo graph that is run; -1: there must be one */
    int next;
    json_t *result;
    aot_err err;
    aot_status st;
} job;

static aot_status run_it(job *j, const aot_unit *u, const aot_runnable *r, aot_err *err)
{
    aot_xval *outer = NULL, *tangents = NULL;
    unsigned n_tangents = 0;
    aot_run_out out = {0};
    aot_exec *x = aot_exec_new();
    const char *seed = aot_args_get(j->a, "seed");
    aot_exec_options o = {.until = aot_args_get(j->a, "until")};
    aot_generator_seed(aot_exec_generator(x), seed != NULL ? strtoull(seed, NULL, 0) : 0);
    aot_status s = aot_run_values(&outer, &tangents, &n_tangents, r, u, j->values, j->file, err);
    if (s == AOT_OK) {
        aot_run_in in = {.calling = &r->capture.calling, .graph = r->graph, .cut = r->cut, .outer = outer,
                         .tangents = tangents, .n_tangents = n_tangents, .options = &o};
        s = aot_run_unit(&out, x, &in, err);
        if (s == AOT_OK) {
            j->result = aot_cmd_json();
            json_t *more = aot_run_json(r, &out, outer);
            json_object_update(j->result, more);
            json_decref(more);
        } else {
            aot_err_in_file(err, u->input);
        }
    }
    aot_run_free(&out);
    aot_free_values(outer, (unsigned)r->capture.calling.n_outer);
    aot_free_values(tangents, n_tangents);
    aot_exec_free(x);
    return s;
}

static void on_unit(void *arg, const aot_unit *u)
{
    job *j = arg;
    for (size_t i = 0; i < u->records.n && aot_unit_source(u) != AOT_N_STAGES; i++) {
        const aot_record *rec = &u->records.d[i];
        if (rec->stage != aot_unit_source(u)) {
            continue;
        }
        int k = j->next++;
        if (k != (j->only < 0 ? 0 : j->only) || j->st != AOT_OK) {
            continue;
        }
        aot_config config;
        aot_runnable r = {0};
        j->st = aot_cmd_unit_config(&config, j->a, u, &j->err);
        if (j->st == AOT_OK) {
            j->st = aot_runnable_make(&r, u, rec, &config, &j->err);
        }
        if (j->st != AOT_OK) {
            aot_err_in_file(&j->err, u->input);
        } else {
            j->st = run_it(j, u, &r, &j->err);
        }
        aot_runnable_free(&r);
    }
}

static aot_status check_found(job *j)
{
    const char *input = j->a->inputs[0];
    if (j->next == 0) {
        AOT_FAIL(&j->err, AOT_E_PIPELINE, "no Dynamo graph in it: %s", aot_stage_get(AOT_STAGE_DYNAMO)->how_to_get);
    } else if (j->only >= j->next) {
        AOT_FAIL(&j->err, AOT_E_USAGE, "--unit %d: there are %d Dynamo graphs, counted from 0", j->only, j->next);
    } else if (j->only < 0 && j->next > 1) {
        AOT_FAIL(&j->err, AOT_E_USAGE, "it holds %d Dynamo graphs: say which one with --unit 0 to --unit %d", j->next,
                 j->next - 1);
    }
    aot_err_in_file(&j->err, input);
    return j->err.code;
}

static int run(const aot_args *a)
{
    const char *file = aot_args_get(a, "values"), *unit = aot_args_get(a, "unit");
    job j = {.a = a, .file = file, .only = -1};
    json_t *values = NULL;
    if (file == NULL) {
        return aot_cmd_usage(a->cmd, "the values of the inputs are missing: --values V.json");
    }
    if (unit != NULL) {
        char *end;
        j.only = (int)strtol(unit, &end, 10);
        if (*end != '\0' || j.only < 0) {
            return aot_cmd_usage(a->cmd, "--unit takes a number from 0 on, not '%s'", unit);
        }
    }
    aot_status s = aot_cmd_check_settings(a, &j.err);
    s = s == AOT_OK ? aot_values_read(&values, file, &j.err) : s;
    j.values = values;
    s = s == AOT_OK ? aot_cmd_each_unit(a, a->inputs[0], on_unit, &j, &j.err) : s;
    s = s == AOT_OK ? j.st : s;
    s = s == AOT_OK ? check_found(&j) : s;
    s = s == AOT_OK ? aot_cmd_write_json(a, j.result, &j.err) : s;
    json_decref(values);
    json_decref(j.result);
    return s == AOT_OK ? AOT_EXIT_SAME : aot_cmd_fail(&j.err);
}

static const aot_option options[] = {
    {"values", 0, "FILE", false, "Values of the inputs by source, and tangents (JSON)."},
    {"output", 'o', "FILE", false, "Where to write the results; standard output if absent."},
    {"unit", 0, "N", false, "The Dynamo graph to run, counted from 0, where there are several."},
    {"seed", 0, "N", false, "torch.manual_seed(N) before the run; 0 if absent."},
    {"until", 0, "NODE", false, "Stop behind this node; what comes after needs no kernels."},
    {"backend", 0, "NAME", false,
     "Whose decompositions and passes: aot_eager, decomp, inductor_joint; as recorded by default."},
    AOT_OPTIONS_TRACE,
    AOT_OPTION_SET,
    {0},
};

const aot_cmd cmd_exec = {
    .name = "exec",
    .synopsis = "INPUT --values V.json [--unit N] [--seed N] [--until NODE] [--set NAME=VALUE]... [-o OUT.json]",
    .summary = "Run a unit on given values, through its runtime wrappers",
    .doc = "Traces the Dynamo graph, cuts it as the settings say, and runs forward and backward on the CPU, through "
           "the wrappers that AOTAutograd puts around them: inputs given twice or sharing memory, mutations "
           "written back, aliased outputs made again, saved values.\n\n"
           "V.json: {\"inputs\": {SOURCE: {\"dtype\": \"float32\", \"shape\": [2], \"stride\": [1], \"data\": [1, 2]}}, "
           "\"tangents\": [...]}. SOURCE is what Dynamo names an input by: L['x']; data is row-major; NaN and infinities are "
           "strings, complex numbers pairs in a row; a stride may be left out. Tangents are the gradients of the outputs that require "
           "grad, in order; null: zeros. The result has \"outputs\", \"grads\" by source (null: no gradient) "
           "and \"mutated\" by source.\n\n"
           "An operator without a kernel is run by its decomposition; one that has neither is an error that names it "
           "(aotscope ops --gaps).\n\n"
           "Gaps: units with tensor subclasses or functionalize_rng_ops, and higher-order operators whose code is in no log, are not run; "
           "random numbers are those of a PyTorch with AVX2 (without it, 16 and more normal f32 numbers differ in the last bits) "
           "and without MKL's stream, from which it draws bernoulli.p and dropout on Intel processors; linear algebra runs in double, so the sign of an eigenvector may be the other one; a lazily conjugated "
           "view is a copy; what torch.empty holds is zero here.",
    .examples = "aotscope exec train.log --values V.json -o OUT.json\n"
                "aotscope exec train.log --values V.json --set activation_memory_budget=0\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
