/* aotscope passes: Inductor's joint-graph passes over each joint and inference graph of an
 * input. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "joint/joint.h"
#include "tui/open_model.h"

typedef struct job {
    const aot_args *a;
    const char *dir;
    json_t *graphs;  /* NULL without --json */
    int next[2];     /* k of the next joint graph, of the next inference graph */
    int failed, done;
} job;

static json_t *rewrite_json(const aot_ctx *c, const aot_joint_rewrite *r)
{
    json_t *o = json_pack("{s:s, s:s, s:s}", "pass", r->pass, "rule", r->rule, "what",
                          aot_joint_what_name(r->what));
    json_object_set_new(o, "node", r->node != 0 ? json_string(aot_text(c, r->node)) : json_null());
    if (r->what == AOT_JOINT_REPLACED) {
        json_object_set_new(o, "by", json_string(aot_text(c, r->other)));
    }
    if (r->text != NULL) {
        json_object_set_new(o, "text", json_string(r->text));
    }
    return o;
}

/* Notes go to stderr: what was left as it is. */
static void tell(const job *j, const aot_ctx *c, int k, const char *stage, const aot_joint_log *log)
{
    json_t *all = json_array();
    for (size_t i = 0; i < log->n; i++) {
        const aot_joint_rewrite *r = &log->d[i];
        json_array_append_new(all, rewrite_json(c, r));
        if (r->what == AOT_JOINT_NOTE) {
            aot_cmd_note("aotscope: %s graph %d: %s: %s\n", stage, k, aot_text(c, r->node),
                    r->text);
        }
    }
    if (j->graphs != NULL) {
        json_array_append_new(
            j->graphs, json_pack("{s:i, s:s, s:O}", "unit", k, "stage", stage, "rewrites", all));
    }
    json_decref(all);
}

static aot_status one_graph(job *j, const aot_unit *u, const aot_record *r, int k,
                            const char *stage, aot_err *err)
{
    aot_config config;
    AOT_TRY(aot_cmd_unit_config(&config, j->a, u, err));
    aot_ctx *ctx = aot_unit_new_ctx(u);
    const aot_graph *g;
    aot_graph *out;
    aot_joint_log log = {0};
    aot_status s = aot_record_parse(&g, ctx, u, r, err);
    if (s == AOT_OK) {
        aot_partition_in storage = {0};
        aot_partition_inputs(&storage, u, g);
        aot_joint_in in = {.joint = g,
                           .primal_storage = storage.primal_storage,
                           .n_primal_storage = storage.n_primal_storage};
        s = aot_joint_run(&out, &in, &config, &log, err);
    }
    if (s == AOT_OK) {
        tell(j, ctx, k, stage, &log);
        char what[64];
        snprintf(what, sizeof what, "%s_passes.txt", stage);
        s = aot_cmd_write_graph(j->a, j->dir, k, what, out, err);
    }
    aot_vec_free(&log);
    aot_ctx_free(ctx);
    return s;
}

static void on_unit(void *arg, const aot_unit *u)
{
    static const struct {
        aot_stage stage;
        const char *name;
    } kinds[2] = {{AOT_STAGE_JOINT, "joint"}, {AOT_STAGE_INFERENCE, "inference"}};
    job *j = arg;
    for (int i = 0; i < 2; i++) {
        const aot_record *r = aot_unit_stage(u, kinds[i].stage);
        if (r == NULL || r->text == NULL) {
            continue;
        }
        aot_err mine = {0};
        if (one_graph(j, u, r, j->next[i]++, kinds[i].name, &mine) != AOT_OK) {
            aot_err_in_file(&mine, u->input); // the other graphs are still done
            aot_cmd_fail(&mine);
            j->failed++;
        } else {
            j->done++;
        }
    }
}

static int finish(job *j)
{
    if (j->next[0] + j->next[1] == 0) {
        aot_err err = {0};
        AOT_FAIL(&err, AOT_E_PIPELINE, "no joint or inference graph in it: %s",
                 aot_stage_get(AOT_STAGE_JOINT)->how_to_get);
        aot_err_in_file(&err, j->a->inputs[0]);
        return aot_cmd_fail(&err);
    }
    if (j->graphs != NULL) {
        json_t *o = aot_cmd_json();
        json_object_set(o, "graphs", j->graphs);
        aot_cmd_print_json(o);
    }
    aot_cmd_note("%d graph%s through the joint-graph passes, into %s\n", j->done,
            j->done == 1 ? "" : "s", j->dir);
    return j->failed != 0 ? AOT_EXIT_ERROR : AOT_EXIT_SAME;
}

static int run(const aot_args *a)
{
    aot_err err = {0};
    job j = {.a = a, .dir = aot_args_get(a, "output")};
    if (j.dir == NULL) {
        return aot_cmd_usage(a->cmd, "where to: -o DIR is missing");
    }
    if (aot_cmd_check_settings(a, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    if (mkdir(j.dir, 0777) != 0 && errno != EEXIST) {
        AOT_FAIL(&err, AOT_E_IO, "cannot make folder %s: %s", j.dir, strerror(errno));
        return aot_cmd_fail(&err);
    }
    j.graphs = aot_args_has(a, "json") ? json_array() : NULL;
    aot_status s = aot_cmd_each_unit(a, a->inputs[0], on_unit, &j, &err);
    int code = s != AOT_OK ? aot_cmd_fail(&err) : finish(&j);
    json_decref(j.graphs);
    return code;
}

static const aot_option options[] = {
    {"output", 'o', "DIR", false,
     "Folder for k.joint_passes.txt and k.inference_passes.txt; made if missing."},
    {"json", 0, NULL, false,
     "Every rewrite to standard output: pass, rule, what was done to which node."},
    AOT_OPTIONS_INPUT,
    {0},
};

const aot_cmd cmd_passes = {
    .name = "passes",
    .synopsis = "INPUT [--json] [--set NAME=VALUE]... -o DIR",
    .summary = "Run Inductor's joint-graph passes, as PyTorch 2.11 does",
    .doc = "For the k-th joint graph of the input, writes DIR/k.joint_passes.txt: the graph after "
           "Inductor's joint-graph "
           "passes, which is what the partitioner is then given. For the k-th inference graph, "
           "DIR/k.inference_passes.txt. PyTorch never prints the former.\n\n"
           "Passes remove what gives back its argument, fold tensors of one value, put attention "
           "kernels where attention "
           "is written by hand, and draw random numbers from Inductor's generator (unless "
           "fallback_random is set). "
           "--json tells which pass and which pattern made, removed or replaced each node; a note "
           "says where a pattern "
           "matched and was not applied.",
    .examples = "aotscope passes train.log -o out\n"
                "aotscope passes train.log --json -o out > rewrites.json\n"
                "aotscope passes joint.txt --set fallback_random=True -o out\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
