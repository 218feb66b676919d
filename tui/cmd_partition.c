/* aotscope partition: each joint graph of an input cut into forward and backward.
 * DIR/k.forward.txt, DIR/k.backward.txt and DIR/k.partition.json for the k-th joint graph. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "import/unit.h"
#include "ir/text.h"
#include "partition/partition.h"
#include "session/model.h"
#include "tui/open_model.h"
#include "viewers/format.h"
#include "viewers/table.h"

typedef struct job {
    const aot_args *a;
    const char *dir;
    const char *why; /* of a unit without a joint graph; NULL: none was seen */
    int next;     /* k of the next joint graph */
    size_t unit;  /* its unit */
    int failed;
    int *static_inputs; /* of --static-inputs; n < 0: not given */
    int n_static_inputs;
} job;

static aot_status write_partition(const job *j, int k, const aot_partition *p, aot_err *err)
{
    AOT_TRY(aot_cmd_write_graph(j->a, j->dir, k, "forward.txt", p->forward, err));
    AOT_TRY(aot_cmd_write_graph(j->a, j->dir, k, "backward.txt", p->backward, err));
    json_t *o = aot_partition_json(p, k);
    char *text = json_dumps(o, JSON_INDENT(1));
    aot_status s = aot_cmd_write_text(j->a, j->dir, k, "partition.json", text, strlen(text), err);
    free(text);
    json_decref(o);
    return s;
}

/* Indices of --static-inputs count the primals. */
static aot_status check_indices(const job *j, const aot_graph *joint, aot_err *err)
{
    int n = 0;
    for (size_t i = 0; i < joint->nodes.n; i++) {
        const aot_node *node = &joint->nodes.d[i];
        n += node->kind == AOT_PLACEHOLDER &&
             strstr(aot_text(joint->ctx, node->target), "tangents") == NULL;
    }
    for (int i = 0; i < j->n_static_inputs; i++) {
        if (j->static_inputs[i] >= n) {
            return AOT_FAIL(
                err, AOT_E_USAGE,
                "--static-inputs: there is no input %d, the joint graph has %d, counted from 0",
                j->static_inputs[i], n);
        }
    }
    return AOT_OK;
}

/* The last rung in a table: what the solver chose from. */
static void print_knapsack(const aot_partition *p, int k)
{
    aot_table *t = aot_table_new();
    aot_sb out = {0};
    static const char *const titles[] = {"value", "memory", "runtime", "choice", "operator"};
    char op[160];
    for (int i = 0; i < 5; i++) {
        aot_table_column(t, titles[i], i == 1 || i == 2 ? AOT_RIGHT : AOT_LEFT, 0);
    }
    for (uint32_t i = 0; i < p->n_items; i++) {
        const aot_budget_item *x = &p->items[i];
        aot_table_row(t);
        aot_table_cell(t, aot_node_name(p->cut, x->node));
        aot_table_cellf(t, "%.4f", x->memory);
        aot_table_cellf(t, "%.6g", x->runtime);
        aot_table_cell(t, x->saved ? "saved" : "recomputed");
        aot_table_cell(t, aot_format_op(op, sizeof op, p->cut, x->node));
    }
    printf("# graph %d: %s\n", k, p->rung);
    if (p->items == NULL) {
        printf("no knapsack was needed\n");
    } else {
        aot_table_print(&out, t, 0, 0, 0);
        printf("%s%s: %.4f of %.4f saved%s\n", aot_sb_text(&out),
               p->config.activation_memory_budget_solver, p->items_saved,
               p->config.activation_memory_budget,
               p->over_capacity ? ", more than the budget: a known fault of PyTorch's solver" : "");
    }
    aot_sb_free(&out);
    aot_table_free(t);
}

static aot_status one_graph(job *j, const aot_unit *u, const aot_record *r, int k, aot_err *err)
{
    aot_config config;
    AOT_TRY(aot_cmd_unit_config(&config, j->a, u, err));
    aot_ctx *ctx = aot_unit_new_ctx(u);
    aot_graph *joint;
    aot_partition *p;
    aot_partition_in in = {0};
    aot_status s = aot_parse_graph(&joint, ctx, r->text, r->len, (uint32_t)r->line, err);
    if (s == AOT_OK) {
        aot_partition_inputs(&in, u, joint);
        if (j->n_static_inputs >= 0) {
            in.static_inputs = j->static_inputs;
            in.n_static_inputs = j->n_static_inputs;
            s = check_indices(j, joint, err);
        }
    }
    if (s == AOT_OK) {
        s = aot_derive_partition_in(&p, &in, &config, NULL, err);
    }
    if (s == AOT_OK) {
        aot_cmd_warn_passes(u, j->unit, p->cut, config.backend);
        aot_cmd_warn_assumed(u, j->unit, ctx);
        if (aot_args_has(j->a, "explain-knapsack")) {
            print_knapsack(p, k);
        }
        s = j->dir != NULL ? write_partition(j, k, p, err) : AOT_OK;
    }
    aot_ctx_free(ctx);
    return s;
}

static void on_unit(void *arg, const aot_unit *u)
{
    job *j = arg;
    const aot_record *r = aot_unit_stage(u, AOT_STAGE_JOINT);
    if (aot_cmd_is_cut(u, j->unit)) {
        aot_err mine = {0};
        int k = j->next++;
        if (one_graph(j, u, r, k, &mine) != AOT_OK) {
            // the other graphs are still cut
            aot_err_in_file(&mine, u->input);
            aot_cmd_fail(&mine);
            j->failed++;
        }
    } else if (j->why == NULL) {
        j->why = aot_unit_missing_reason(u, AOT_STAGE_JOINT);
    }
    j->unit++;
}

static bool parse_indices(const char *text, int **out, int *n)
{
    AOT_VEC(int) v = {0};
    char *copy = aot_xstrdup(text), *save = NULL;
    int64_t i = 0;
    bool ok = true;
    for (char *w = strtok_r(copy, ",", &save); ok && w != NULL; w = strtok_r(NULL, ",", &save)) {
        ok = aot_int_read(&i, w, 0, 1000000);
        aot_vec_push(&v, (int)i);
    }
    free(copy);
    if (!ok) {
        aot_vec_free(&v);
        return false;
    }
    *out = v.d;
    *n = (int)v.n;
    return true;
}

static int run(const aot_args *a)
{
    aot_err err = {0};
    job j = {.a = a, .dir = aot_args_get(a, "output"), .n_static_inputs = -1};
    if (j.dir == NULL && !aot_args_has(a, "explain-knapsack")) {
        return aot_cmd_usage(a->cmd, "where to: -o DIR is missing");
    }
    if (aot_cmd_check_settings(a, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    if (aot_args_has(a, "static-inputs") &&
        !parse_indices(aot_args_get(a, "static-inputs"), &j.static_inputs, &j.n_static_inputs)) {
        return aot_cmd_usage(a->cmd, "--static-inputs takes indices such as 0,1,4, not '%s'",
                             aot_args_get(a, "static-inputs"));
    }
    if (j.dir != NULL && mkdir(j.dir, 0777) != 0 && errno != EEXIST) {
        AOT_FAIL(&err, AOT_E_IO, "cannot make folder %s: %s", j.dir, strerror(errno));
        free(j.static_inputs);
        return aot_cmd_fail(&err);
    }
    aot_status s = aot_cmd_each_unit(a, a->inputs[0], on_unit, &j, &err);
    free(j.static_inputs);
    if (s != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    if (j.next == 0) {
        aot_cmd_no_joint(a->inputs[0], j.why, &err);
        return aot_cmd_fail(&err);
    }
    aot_cmd_note("%d joint graph%s, %d cut into %s\n", j.next, j.next == 1 ? "" : "s",
                 j.next - j.failed, j.dir != NULL ? j.dir : "two");
    return j.failed != 0 ? AOT_EXIT_ERROR : AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"output", 'o', "DIR", false,
     "Folder for k.forward.txt, k.backward.txt and k.partition.json; made if missing."},
    AOT_OPTIONS_INPUT,
    {"explain-knapsack", 0, NULL, false,
     "Print what the knapsack of a budget chose from: memory, runtime and choice of each value."},
    {"static-inputs", 0, "I,J,...", false,
     "Indices of parameters and buffers, where the input does not say."},
    {0},
};

const aot_cmd cmd_partition = {
    .name = "partition",
    .synopsis = "INPUT [--set NAME=VALUE]... [--static-inputs I,J,...] -o DIR",
    .summary = "Cut each joint graph into forward and backward, as PyTorch 2.11 does",
    .doc = "For the k-th joint graph of the input, writes DIR/k.forward.txt and DIR/k.backward.txt "
           "as PyTorch prints "
           "them, and DIR/k.partition.json: saved values in order, and for each node its bytes, "
           "its weight in the flow "
           "network, why it must not be recomputed, and what became of it.\n\n"
           "The recorded configuration is the default; --set changes it.",
    .examples =
        "aotscope partition train.log -o out\n"
        "aotscope partition train.log --set activation_memory_budget=0 -o out\n"
        "aotscope partition train.log --set activation_memory_budget=0.3 --explain-knapsack\n"
        "aotscope partition joint.txt --static-inputs 0,1 -o out\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
