/* aotscope memory: live bytes of each unit's forward and backward, node by node. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/memsim.h"
#include "import/unit.h"
#include "partition/partition.h"
#include "session/model.h"
#include "session/walker.h"
#include "tui/fits.h"
#include "tui/open_model.h"

typedef struct job {
    const aot_args *a;
    json_t *graphs;
    int next, failed;
    size_t unit; /* the unit at work */
    int64_t limit;   /* --fits; -1: not asked */
    int n_too_large; /* units that do not fit as they are configured */
    bool text;
} job;

static json_t *side_json(const aot_graph *g, const aot_memory_side *s)
{
    json_t *live = json_array();
    for (size_t i = 0; i < s->live.n; i++) {
        json_array_append_new(live, json_pack("[s, I]", aot_node_name(g, s->live.d[i].node), (json_int_t)s->live.d[i].bytes));
    }
    json_t *o = json_pack("{s:I, s:I}", "inputs", (json_int_t)s->inputs, "peak", (json_int_t)s->peak);
    json_object_set_new(o, "peak_node", s->peak_node != AOT_NO_NODE ? json_string(aot_node_name(g, s->peak_node)) : json_null());
    json_object_set_new(o, "live", live);
    json_object_set_new(o, "end", json_integer(s->end));
    return o;
}

static aot_status one_graph(job *j, const aot_unit *u, const aot_record *r, int k, aot_err *err)
{
    aot_config config;
    AOT_TRY(aot_cmd_unit_config(&config, j->a, u, err));
    aot_ctx *ctx = aot_unit_new_ctx(u);
    const aot_graph *joint;
    aot_partition *p;
    aot_status s = aot_record_parse(&joint, ctx, u, r, err);
    if (s == AOT_OK) {
        s = aot_derive_partition(&p, u, joint, &config, NULL, err);
    }
    if (s == AOT_OK) {
        aot_memory m;
        aot_cmd_warn_passes(u, j->unit, p->cut, config.backend);
        aot_walker *w = aot_walker_new(u, r, NULL);
        aot_walker_memory(w, &m, p);
        aot_walker_free(w);
        json_array_append_new(j->graphs, json_pack("{s:i, s:o, s:o}", "unit", k, "forward", side_json(p->forward, &m.forward),
                                                   "backward", side_json(p->backward, &m.backward)));
        aot_memory_free(&m);
    }
    aot_ctx_free(ctx);
    return s;
}

static aot_status fit_graph(job *j, const aot_unit *u, const aot_record *r, int k, aot_err *err)
{
    aot_config config;
    aot_fit f;
    char label[96];
    AOT_TRY(aot_cmd_unit_config(&config, j->a, u, err));
    AOT_TRY(aot_fits_unit(&f, u, r, &config, j->limit, err));
    j->n_too_large += !f.now.fits;
    if (j->text) {
        printf("# unit %zu %s %s\n", j->unit, aot_unit_label(&u->key, label, sizeof label), u->title);
        aot_fit_print(&f, j->limit);
    } else {
        json_t *o = aot_fit_json(&f);
        json_object_set_new(o, "unit", json_integer(k));
        json_array_append_new(j->graphs, o);
    }
    aot_fit_free(&f);
    return AOT_OK;
}

static void on_unit(void *arg, const aot_unit *u)
{
    job *j = arg;
    const aot_record *r = aot_unit_stage(u, AOT_STAGE_JOINT);
    if (r != NULL && r->text != NULL) {
        aot_err mine = {0};
        aot_status s = j->limit >= 0 ? fit_graph(j, u, r, j->next++, &mine) : one_graph(j, u, r, j->next++, &mine);
        if (s != AOT_OK) {
            aot_err_in_file(&mine, u->input);
            aot_cmd_fail(&mine);
            j->failed++;
        }
    }
    j->unit++;
}

static int run(const aot_args *a)
{
    aot_err err = {0};
    job j = {.a = a, .graphs = json_array(), .limit = -1};
    const char *format = aot_args_get(a, "format"), *fits = aot_args_get(a, "fits");
    int code = AOT_EXIT_SAME;
    if (format != NULL && strcmp(format, "json") != 0) {
        json_decref(j.graphs);
        return aot_cmd_usage(a->cmd, "--format takes json, not '%s'", format);
    }
    if (fits != NULL && !aot_fits_parse_size(&j.limit, fits)) {
        json_decref(j.graphs);
        return aot_cmd_usage(a->cmd, "--fits takes a size such as 24GiB, 500MB or 1000000, not '%s'", fits);
    }
    j.text = fits != NULL && format == NULL;
    if (aot_cmd_check_settings(a, &err) == AOT_OK &&
        aot_cmd_each_unit(a, a->inputs[0], on_unit, &j, &err) == AOT_OK && j.next == 0) {
        AOT_FAIL(&err, AOT_E_PIPELINE, "no joint graph in it: %s", aot_stage_get(AOT_STAGE_JOINT)->how_to_get);
        aot_err_in_file(&err, a->inputs[0]);
    }
    if (err.code == AOT_OK && !j.text) {
        json_t *o = json_pack("{s:s, s:O}", "format", "aotscope/1", "graphs", j.graphs);
        err.code = aot_cmd_write_json(a, o, &err);
        json_decref(o);
    }
    code = j.failed != 0 ? AOT_EXIT_ERROR : j.n_too_large != 0 ? AOT_EXIT_DIFFERS : AOT_EXIT_SAME;
    json_decref(j.graphs);
    return err.code != AOT_OK ? aot_cmd_fail(&err) : code;
}

static const aot_option options[] = {
    AOT_OPTION_SET,
    {"fits", 0, "SIZE", false, "Whether each unit fits SIZE (24GiB, 500MB), and the budget at which it would; a table, or JSON with --format json."},
    {"format", 0, "json", false, "The form of the answer."},
    {"output", 'o', "FILE", false, "Where it goes; standard output if absent or '-'."},
    {0},
};

const aot_cmd cmd_memory = {
    .name = "memory",
    .synopsis = "INPUT [--fits SIZE] [--set NAME=VALUE]... [--format json] [-o FILE]",
    .summary = "Live bytes of forward and backward, node by node, and their peaks",
    .doc = "Each joint graph is cut and both modules are walked as PyTorch's interpreter runs them. Every living storage "
           "counts once; values die at their last use. Forward inputs are held by the caller; primals and saved values "
           "stay until the backward returns; user outputs are dropped before the backward; tangents are fresh; "
           "views and saved aliases of primals cost nothing. With --fits each unit is walked at 41 memory budgets; exit "
           "code 1 if one does not fit as it is configured. What lives besides the unit (optimizer state, other units, "
           "the allocator's own) is to be taken off SIZE before.",
    .examples = "aotscope memory train.log --fits 24GiB\n"
                "aotscope memory train.log --set activation_memory_budget=0.5 -o memory.json\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
