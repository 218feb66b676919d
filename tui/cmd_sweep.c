/* aotscope sweep: each joint graph of an input cut at every budget of a grid, by each solver. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/memsim.h"
#include "import/unit.h"
#include "partition/partition.h"
#include "session/model.h"
#include "tui/open_model.h"

typedef struct grid {
    double from, to, step;
    AOT_VEC(char *) solvers;
} grid;

typedef struct job {
    const aot_args *a;
    grid g;
    json_t *graphs;
    int next, failed;
    size_t unit; /* the unit at work */
} job;

static json_t *names(const aot_partition *p)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < p->n_saved; i++) {
        json_array_append_new(list, json_string(aot_node_name(p->cut, p->saved[i])));
    }
    return list;
}

/* Bytes of the saved tensors; symbols are passed beside them. */
static int64_t tensor_bytes(const aot_partition *p)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->n_saved; i++) {
        sum += p->nodes[p->saved[i]].bytes;
    }
    return sum;
}

/* The most that lives at once, in the forward or the backward. */
static int64_t peak_bytes(const aot_partition *p)
{
    aot_memory m;
    aot_memory_simulate(&m, p->forward, p->backward, p->n_forward_outputs);
    int64_t peak = m.forward.peak > m.backward.peak ? m.forward.peak : m.backward.peak;
    aot_memory_free(&m);
    return peak;
}

static json_t *point(const aot_unit *u, const aot_record *r, const aot_config *c, double budget, aot_err *err)
{
    aot_ctx *ctx = aot_unit_new_ctx(u);
    const aot_graph *joint;
    aot_partition *p;
    json_t *o = json_object();
    aot_status s = aot_record_parse(&joint, ctx, u, r, err);
    if (s == AOT_OK) {
        s = aot_derive_partition(&p, u, joint, c, NULL, err);
    }
    json_object_set_new(o, "budget", json_real(budget));
    json_object_set_new(o, "solver", json_string(c->activation_memory_budget_solver));
    if (s == AOT_OK) {
        json_object_set_new(o, "rung", json_string(p->rung));
        json_object_set_new(o, "saved", names(p));
        json_object_set_new(o, "saved_bytes", json_integer(tensor_bytes(p)));
        json_object_set_new(o, "recompute_flops", json_integer((json_int_t)p->recompute_flops));
        json_object_set_new(o, "peak_bytes", json_integer(peak_bytes(p)));
    } else {
        json_object_set_new(o, "error", json_string(err->msg));
    }
    aot_ctx_free(ctx);
    return o;
}

static void sweep_graph(job *j, const aot_unit *u, const aot_record *r, int k)
{
    aot_config config;
    aot_err bad = {0};
    if (aot_cmd_unit_config(&config, j->a, u, &bad) != AOT_OK) { // run() checked --set
        aot_cmd_fail(&bad);
        j->failed++;
        return;
    }
    aot_cmd_warn_passes(u, j->unit, NULL, config.backend);
    json_t *points = json_array();
    int n = (int)floor((j->g.to - j->g.from) / j->g.step + 1e-9);
    for (size_t s = 0; s < j->g.solvers.n; s++) {
        for (int i = 0; i <= n; i++) {
            aot_err err = {0};
            aot_config c = config;
            // the grid's numbers as a person would write them: 0.075, not 0.07500000000000001
            double budget = round((j->g.from + i * j->g.step) * 1e6) / 1e6;
            c.activation_memory_budget = budget;
            snprintf(c.activation_memory_budget_solver, sizeof c.activation_memory_budget_solver, "%s", j->g.solvers.d[s]);
            json_t *o = point(u, r, &c, budget, &err);
            j->failed += err.code != AOT_OK;
            json_array_append_new(points, o);
        }
        aot_cmd_progress(NULL, "sweep", s + 1, j->g.solvers.n);
    }
    json_array_append_new(j->graphs, json_pack("{s:i, s:o}", "unit", k, "points", points));
}

static void on_unit(void *arg, const aot_unit *u)
{
    job *j = arg;
    const aot_record *r = aot_unit_stage(u, AOT_STAGE_JOINT);
    if (r != NULL && r->text != NULL) {
        sweep_graph(j, u, r, j->next++);
    }
    j->unit++;
}

/* "A:B:STEP", or one number. */
static bool parse_budgets(const char *text, grid *g)
{
    char *end;
    g->from = g->to = strtod(text, &end);
    g->step = 1;
    if (end == text || !(g->from >= 0 && g->from <= 1)) {
        return false;
    }
    if (*end == '\0') {
        return true;
    }
    const char *q = end + 1;
    g->to = strtod(q, &end);
    if (*(q - 1) != ':' || end == q || *end != ':' || !(g->to >= g->from && g->to <= 1)) {
        return false;
    }
    q = end + 1;
    g->step = strtod(q, &end);
    return end != q && *end == '\0' && g->step >= 1e-4;
}

static aot_status parse_solvers(const char *text, grid *g, aot_err *err)
{
    const aot_config_row *row = aot_config_find("activation_memory_budget_solver");
    while (*text != '\0') {
        size_t n = strcspn(text, ",");
        char set[160];
        aot_config c;
        snprintf(set, sizeof set, "%s=%.*s", row->name, (int)(n < 90 ? n : 90), text);
        aot_config_init(&c);
        AOT_TRY(aot_config_set(&c, set, err));
        aot_vec_push(&g->solvers, aot_xstrndup(text, n));
        text += n + (text[n] == ',');
    }
    return AOT_OK;
}

static int write_result(job *j)
{
    aot_err err = {0};
    json_t *o = json_pack("{s:s, s:O}", "format", "aotscope/1", "graphs", j->graphs);
    err.code = aot_cmd_write_json(j->a, o, &err);
    json_decref(o);
    return err.code != AOT_OK ? aot_cmd_fail(&err) : j->failed != 0 ? AOT_EXIT_ERROR : AOT_EXIT_SAME;
}

static int run(const aot_args *a)
{
    aot_err err = {0};
    job j = {.a = a, .graphs = json_array()};
    const char *budgets = aot_args_get(a, "budgets"), *solvers = aot_args_get(a, "solvers");
    const char *format = aot_args_get(a, "format");
    int code;
    aot_status s = parse_solvers(solvers != NULL ? solvers : "dp", &j.g, &err);
    if (s == AOT_OK) {
        s = aot_cmd_check_settings(a, &err);
    }
    if (s != AOT_OK) {
        code = aot_cmd_fail(&err);
    } else if (!parse_budgets(budgets != NULL ? budgets : "0:1:0.1", &j.g)) {
        code = aot_cmd_usage(a->cmd, "--budgets takes FROM:TO:STEP within 0 and 1, not '%s'", budgets);
    } else if (format != NULL && strcmp(format, "json") != 0) {
        code = aot_cmd_usage(a->cmd, "--format takes json, not '%s'", format);
    } else if (aot_cmd_each_unit(a->inputs[0], on_unit, &j, &err) != AOT_OK) {
        code = aot_cmd_fail(&err);
    } else if (j.next == 0) {
        AOT_FAIL(&err, AOT_E_PIPELINE, "no joint graph in it: %s", aot_stage_get(AOT_STAGE_JOINT)->how_to_get);
        aot_err_in_file(&err, a->inputs[0]);
        code = aot_cmd_fail(&err);
    } else {
        aot_cmd_progress_end();
        if (j.failed != 0) {
            fprintf(stderr, "%d points could not be cut; each says why in \"error\"\n", j.failed);
        }
        code = write_result(&j);
    }
    json_decref(j.graphs);
    for (size_t i = 0; i < j.g.solvers.n; i++) {
        free(j.g.solvers.d[i]);
    }
    aot_vec_free(&j.g.solvers);
    return code;
}

static const aot_option options[] = {
    {"budgets", 0, "FROM:TO:STEP", false, "Budgets to try; 0:1:0.1 if absent."},
    {"solvers", 0, "S,...", false, "Knapsack solvers to try; dp if absent."},
    {"set", 0, "NAME=VALUE", true, "A setting of torch._functorch.config, on top of the recorded ones."},
    {"format", 0, "json", false, "The form of the answer."},
    {"output", 'o', "FILE", false, "Where it goes; standard output if absent or '-'."},
    {0},
};

const aot_cmd cmd_sweep = {
    .name = "sweep",
    .synopsis = "INPUT [--budgets FROM:TO:STEP] [--solvers S,...] [--format json] [-o FILE]",
    .summary = "Cut each joint graph at many memory budgets",
    .doc = "For each budget and solver: the rung of the ladder that was taken, the saved values and their bytes, "
           "the flops that are computed twice, and the most bytes that live at once in the forward or the backward "
           "(see `aotscope memory`).",
    .examples = "aotscope sweep train.log --budgets 0:1:0.05 --solvers dp,greedy -o sweep.json\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
