/* aotscope verify: each unit run three ways from the same inputs, and where they first differ. */
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "exec/clones.h"
#include "exec/real_json.h"
#include "exec/values.h"
#include "exec/verify.h"
#include "session/misuse.h"
#include "session/seeded_values.h"
#include "tui/open_model.h"

typedef enum outcome { PASSED, DIFFERS, NOT_RUN, N_OUTCOMES } outcome;
static const char *const outcome_names[N_OUTCOMES] = {"PASS", "DIFFERS", "NOT RUN"};

typedef struct job {
    const aot_args *a;
    const json_t *values; /* NULL: made up */
    const char *file;
    uint64_t seed;
    aot_tolerance tolerance;
    bool has_tolerance;
    aot_fault fault;
    aot_misuse misuse;
    unsigned n[N_OUTCOMES];
    json_t *units;  /* NULL: text */
} job;

/* ---- one unit -------------------------------------------------------------------------------- */

static aot_status inputs_of(aot_xval **outer, const job *j, const aot_runnable *r,
                            const aot_unit *u, bool positive, aot_err *err)
{
    aot_xval *tangents = NULL;
    unsigned n = 0;
    if (j->values == NULL) {
        return aot_seeded_values(outer, r, u, j->seed, positive, err);
    }
    aot_sb notes = {0};
    aot_status s = aot_run_values(outer, &tangents, &n, &notes, r, u, j->values, j->file, err);
    aot_cmd_notes(&notes);
    aot_sb_free(&notes);
    aot_free_values(tangents, n);
    return s;
}

static aot_status misuse_it(aot_verify_out *out, const job *j, const aot_misuse_in *in,
                            aot_err *err)
{
    aot_xval *outer = NULL;
    aot_misuse_in own = *in;
    aot_status s = inputs_of(&outer, j, in->r, in->unit, false, err);
    own.outer = outer;
    s = s == AOT_OK ? aot_misuse_try(out, &own, j->misuse, err) : s;
    aot_free_values(outer, (unsigned)in->r->capture.calling.n_outer);
    return s;
}

/* "unit 3: finite differences" */
static void tell_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
    char text[64];
    snprintf(text, sizeof text, "unit %d: %s", *(const int *)arg, what);
    aot_cmd_progress(NULL, text, done, total);
}

/* Numbers below zero have no logarithm: where outputs are not finite, inputs are made up once
 * more. */
static aot_status verify_it(aot_verify_out *out, const job *j, const aot_runnable *r,
                            const aot_unit *u, int k, aot_wrapper_trace *trace, aot_err *err)
{
    const aot_calling *c = &r->capture.calling;
    aot_xval *outer = NULL;
    aot_verify_in in = {.calling = c,
                        .dynamo = r->dynamo,
                        .aten = r->capture.graph[AOT_LEVEL_ATEN],
                        .stops = r->stops,
                        .of_aten = r->of_aten,
                        .joint = r->joint,
                        .cut = r->cut,
                        .names = r->sources,
                        .seed = j->seed,
                        .tolerance = j->has_tolerance ? &j->tolerance : NULL,
                        .fault = j->fault,
                        .debug_assert = r->debug_assert,
                        .trace = aot_args_has(j->a, "wrappers") ? trace : NULL,
                        .progress = tell_progress,
                        .progress_arg = &k};
    aot_status s = AOT_OK;
    for (int positive = 0; positive < 2; positive++) {
        s = inputs_of(&outer, j, r, u, positive != 0, err);
        in.outer = outer;
        s = s == AOT_OK ? aot_verify(out, &in, err) : s;
        aot_free_values(outer, (unsigned)c->n_outer);
        outer = NULL;
        if (s != AOT_OK || !out->not_finite || j->values != NULL || positive != 0) {
            break;
        }
        aot_verify_free(out);
        aot_wrapper_trace_free(trace);
    }
    return s;
}

static json_t *finding_json(const aot_verify_finding *f)
{
    json_t *index = json_array();
    for (unsigned i = 0; i < f->diff.ndim; i++) {
        json_array_append_new(index, json_integer(f->diff.index[i]));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "kind",
                     aot_verify_kind_name((aot_verify_kind)f->kind), "stage", f->stage, "name",
                     f->name, "text", f->text, "what", f->diff.what, "elements",
                     (json_int_t)f->diff.n, "differ", (json_int_t)f->diff.n_beyond, "ulps",
                     (json_int_t)f->diff.max_ulps, "index", index);
}

static void add_numbers(json_t *j, const aot_verify_finding *f)
{
    json_object_set_new(j, "max_abs", aot_real_json(f->diff.max_abs));
    json_object_set_new(j, "max_rel", aot_real_json(f->diff.max_rel));
    json_object_set_new(j, "value", aot_real_json(f->diff.a));
    json_object_set_new(j, "expected", aot_real_json(f->diff.b));
}

static json_t *unit_json(const aot_unit *u, int k, outcome o, const aot_verify_out *v,
                         const aot_err *err)
{
    json_t *findings = json_array(), *notes = json_array();
    uint64_t ulps = v->max_ulps;
    for (size_t i = 0; i < v->findings.n; i++) {
        json_t *f = finding_json(&v->findings.d[i]);
        ulps = v->findings.d[i].diff.max_ulps > ulps ? v->findings.d[i].diff.max_ulps : ulps;
        add_numbers(f, &v->findings.d[i]);
        json_array_append_new(findings, f);
    }
    for (size_t i = 0; i < v->notes.n; i++) {
        json_array_append_new(notes, json_string(v->notes.d[i]));
    }
    return json_pack("{s:i, s:s, s:s, s:s*, s:i, s:i, s:i, s:i, s:I, s:f, s:o, s:o}", "unit", k,
                     "title", u->title, "outcome", outcome_names[o], "reason",
                     o == NOT_RUN ? err->msg : NULL, "nodes", (int)v->n_nodes, "recomputed",
                     (int)v->n_recomputed, "outputs", (int)v->n_outputs, "gradients",
                     (int)v->n_gradients, "max_ulps", (json_int_t)ulps,
                     "max_finite_difference", v->max_fd, "findings", findings, "notes", notes);
}

static void print_counts(const aot_verify_out *v)
{
    printf(" (%u value%s, %u of them computed again, ", v->n_nodes + v->n_recomputed,
           v->n_nodes + v->n_recomputed == 1 ? "" : "s", v->n_recomputed);
    if (v->n_outputs == 0 && v->n_gradients > 0) {
        printf("gradients only: %u", v->n_gradients);
    } else {
        printf("%u output%s, %u gradient%s", v->n_outputs, v->n_outputs == 1 ? "" : "s",
               v->n_gradients, v->n_gradients == 1 ? "" : "s");
    }
    if (v->max_ulps > 0) {
        printf("; at most %" PRIu64 " ulps apart", v->max_ulps);
    }
    putchar(')');
}

static void print_unit(const aot_unit *u, int k, outcome o, const aot_verify_out *v,
                       aot_misuse misuse, const aot_err *err)
{
    enum { MOST_TOLD = 8 };
    printf("unit %d %s%s%s: %s", k, u->title, misuse != AOT_NO_MISUSE ? ", " : "",
           misuse != AOT_NO_MISUSE ? aot_misuse_get(misuse)->sentence : "", outcome_names[o]);
    if (o == NOT_RUN) {
        printf(": %s\n", err->msg);
        return;
    }
    if (misuse == AOT_NO_MISUSE) {
        print_counts(v);
    }
    putchar('\n');
    for (size_t i = 0; i < v->findings.n && i < MOST_TOLD; i++) {
        printf("  %s %s: %s\n", i == 0 ? "first" : "then ", v->findings.d[i].stage,
               v->findings.d[i].text);
    }
    if (v->findings.n > MOST_TOLD) {
        printf("  and %zu more, which may follow from these (--json has all)\n",
               v->findings.n - MOST_TOLD);
    }
    for (size_t i = 0; i < v->notes.n; i++) {
        printf("  note: %s\n", v->notes.d[i]);
    }
}

static void print_wrappers(const aot_wrapper_trace *t)
{
    aot_sb b = {0};
    aot_wrapper_trace_print(&b, t, 2);
    fputs(aot_sb_text(&b), stdout);
    aot_sb_free(&b);
}

static aot_status on_graph(void *arg, const aot_unit *u, const aot_record *rec, int k,
                           aot_err *asked)
{
    job *j = arg;
    aot_config config;
    aot_runnable r = {0};
    aot_verify_out v = {0};
    aot_wrapper_trace trace = {0};
    aot_err err = {0};
    AOT_TRY(aot_cmd_unit_config(&config, j->a, u, asked));
    aot_status s = aot_runnable_make(&r, u, rec, &config, &err);
    if (s == AOT_OK && j->misuse != AOT_NO_MISUSE) {
        const aot_misuse_in in = {.r = &r,
                                  .unit = u,
                                  .dynamo = rec,
                                  .config = &config,
                                  .seed = j->seed,
                                  .trace = aot_args_has(j->a, "wrappers") ? &trace : NULL};
        s = misuse_it(&v, j, &in, &err);
    } else if (s == AOT_OK) {
        s = verify_it(&v, j, &r, u, k, &trace, &err);
    }
    aot_cmd_progress_end();
    bool senseless =
        s != AOT_OK && (s == AOT_E_USAGE || (j->values != NULL && err.file[0] != '\0'));
    outcome o = s != AOT_OK ? NOT_RUN : v.findings.n > 0 ? DIFFERS : PASSED;
    j->n[o]++;
    if (j->units != NULL) {
        json_t *one = unit_json(u, k, o, &v, &err);
        if (aot_args_has(j->a, "wrappers")) {
            json_object_set_new(one, "wrappers", aot_wrapper_trace_json(&trace));
        }
        json_array_append_new(j->units, one);
    } else if (!senseless) {
        print_unit(u, k, o, &v, j->misuse, &err);
        print_wrappers(&trace);
    }
    aot_wrapper_trace_free(&trace);
    aot_verify_free(&v);
    aot_runnable_free(&r);
    if (senseless) { // what was asked for makes no sense here
        *asked = err;
        aot_err_in_file(asked, j->a->inputs[0]);
    }
    return senseless ? s : AOT_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static aot_status read_tolerance(job *j, aot_err *err)
{
    const char *text = aot_args_get(j->a, "tolerance");
    if (text == NULL) {
        return AOT_OK;
    }
    const char *comma = strchr(text, ',');
    char rel[64] = ""; // stays so where the text is too long for a number
    size_t n = comma != NULL ? (size_t)(comma - text) : strlen(text);
    memcpy(rel, text, n < sizeof rel ? n : 0);
    j->has_tolerance = true;
    j->tolerance.abs = 0;
    if (!aot_real_read(&j->tolerance.rel, rel, 0, DBL_MAX) ||
        (comma != NULL && !aot_real_read(&j->tolerance.abs, comma + 1, 0, DBL_MAX))) {
        return AOT_FAIL(
            err, AOT_E_USAGE,
            "--tolerance takes REL or REL,ABS, numbers from 0 on such as 1e-5,1e-8, not '%s'",
            text);
    }
    return AOT_OK;
}

static aot_status read_misuse(job *j, aot_err *err)
{
    const char *name = aot_args_get(j->a, "misuse");
    aot_sb b = {0};
    j->misuse = name != NULL ? aot_misuse_find(name) : AOT_NO_MISUSE;
    if (name == NULL || j->misuse != AOT_NO_MISUSE) {
        return AOT_OK;
    }
    for (unsigned m = AOT_NO_MISUSE + 1; m < AOT_N_MISUSES; m++) {
        aot_sb_addf(&b, "%s%s", m > AOT_NO_MISUSE + 1 ? ", " : "",
                    aot_misuse_get((aot_misuse)m)->name);
    }
    aot_status s = AOT_FAIL(err, AOT_E_USAGE, "--misuse %s: there is no such misuse; there are %s",
                            name, aot_sb_text(&b));
    aot_sb_free(&b);
    return s;
}

static aot_status read_options(job *j, aot_err *err)
{
    const char *seed = aot_args_get(j->a, "seed"), *fault = aot_args_get(j->a, "fault");
    if (seed != NULL && !aot_seed_read(&j->seed, seed)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--seed takes a number, not '%s'", seed);
    }
    j->fault = fault != NULL ? aot_fault_find(fault) : AOT_NO_FAULT;
    if (fault != NULL && j->fault == AOT_NO_FAULT) {
        aot_sb b = {0};
        for (unsigned f = AOT_NO_FAULT + 1; f < AOT_N_FAULTS; f++) {
            aot_sb_addf(&b, "%s%s", f > 1 ? ", " : "", aot_fault_get((aot_fault)f)->name);
        }
        aot_status s =
            AOT_FAIL(err, AOT_E_USAGE, "--fault %s: there is no such mistake; there are %s", fault,
                     aot_sb_text(&b));
        aot_sb_free(&b);
        return s;
    }
    AOT_TRY(read_misuse(j, err));
    return read_tolerance(j, err);
}

static void print_totals(const job *j)
{
    unsigned n = j->n[PASSED] + j->n[DIFFERS] + j->n[NOT_RUN];
    if (n > 1) {
        printf("%u of %u units pass, %u differ, %u cannot be run\n", j->n[PASSED], n, j->n[DIFFERS],
               j->n[NOT_RUN]);
    }
}

static int run(const aot_args *a)
{
    job j = {.a = a,
             .file = aot_args_get(a, "values"),
             .units = aot_args_has(a, "json") ? json_array() : NULL};
    json_t *values = NULL;
    aot_err err = {0};
    aot_status s = aot_cmd_check_settings(a, &err);
    s = s == AOT_OK ? read_options(&j, &err) : s;
    s = s == AOT_OK && j.file != NULL ? aot_values_read(&values, j.file, &err) : s;
    j.values = values;
    s = s == AOT_OK ? aot_cmd_each_dynamo(a, false, on_graph, &j, &err) : s;
    if (s == AOT_OK && j.units != NULL) {
        json_t *out = aot_cmd_json();
        json_object_set(out, "units", j.units);
        aot_cmd_print_json(out);
    } else if (s == AOT_OK) {
        print_totals(&j);
    }
    json_decref(j.units);
    json_decref(values);
    if (s != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    return j.n[NOT_RUN] > 0 ? AOT_EXIT_ERROR : j.n[DIFFERS] > 0 ? AOT_EXIT_DIFFERS : AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"unit", 0, "N", false, "Only the Dynamo graph of that number, counted from 0."},
    {"seed", 0, "N", false,
     "Of the inputs that are made up and of torch.manual_seed; 0 if absent."},
    {"values", 0, "FILE", false,
     "Values of the inputs, as exec takes them, in place of made-up ones."},
    {"tolerance", 0, "REL,ABS", false,
     "What floats may differ by; by dtype, as torch.testing.assert_close, if absent."},
    {"fault", 0, "KIND", false,
     "Make this mistake on purpose, to see that it is caught; see below."},
    {"misuse", 0, "KIND", false,
     "Call the unit other than it was compiled for, to see who catches it; see below."},
    {"wrappers", 0, NULL, false,
     "Tell what each runtime wrapper took, changed and gave in the call, forward and backward."},
    {"json", 0, NULL, false, "As JSON."},
    {"backend", 0, "NAME", false,
     "Whose decompositions and passes: aot_eager, decomp, inductor_joint; as recorded by default."},
    AOT_OPTIONS_TRACE,
    AOT_OPTION_SET,
    {0},
};

#define FAULT(id, name, where, sentence) "  " name "\n    " sentence "\n    Caught at " where ".\n"
#define MISUSE_INPUTS(id, name, sentence, dynamo, aot)                                             \
    "  " name "\n    " sentence ".\n    Dynamo: " dynamo ".\n    AOTAutograd: " aot ".\n"
#define MISUSE_CALLS MISUSE_INPUTS
const aot_cmd cmd_verify = {
    .name = "verify",
    .synopsis = "INPUT [--unit N] [--seed N] [--values FILE] [--tolerance REL,ABS] [--fault KIND] "
                "[--misuse KIND] [--wrappers] [--set NAME=VALUE]... [--json]",
    .summary = "Run each unit three ways and tell the first place where they differ",
    .doc =
        "From the same inputs and generator state runs (a) the aten graph as eager dispatches it, "
        "with finite differences in "
        "double as its gradients, (b) the joint graph in one piece, (c) forward and backward "
        "through the runtime wrappers. "
        "Values of (c) are compared with (b) by their names, those that the backward computes "
        "again with the forward's; outputs, "
        "mutated inputs and who shares memory with (a); gradients with finite differences along a "
        "direction.\n\n"
        "PASS, or the first difference as it ran: node, elements, ulps. A unit that cannot be run "
        "is named with the reason; it "
        "does not pass. Exit code: 0 all pass, 1 one differs, 2 one cannot be run.\n\n"
        "Inputs are made up from --seed: normal numbers, integers within what they are positions "
        "in.\n\nMistakes for --fault:\n\n"
#include "exec/faults.def"
        "\nKinds of --misuse, and what Dynamo and AOTAutograd do. Where nobody refuses the call, "
        "what comes out is compared with the unit "
        "traced again for it; exit code 1 where it is refused or wrong, 0 where the unit holds:\n\n"
#include "session/misuses.def"
    ,
    .examples = "aotscope verify train.log\n"
                "aotscope verify train.log --set activation_memory_budget=0.5\n"
                "aotscope verify train.log --unit 0 --fault lost-copy\n"
                "aotscope verify train.log --unit 0 --misuse two-forwards\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
#undef FAULT
#undef MISUSE_INPUTS
#undef MISUSE_CALLS
