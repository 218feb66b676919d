/* aotscope trace: each Dynamo graph of an input as AOTAutograd's joint or forward-only graph. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/capture.h"
#include "runtime/cut.h"
#include "session/derive.h"
#include "session/model.h"
#include "tui/open_model.h"

typedef struct job {
    const aot_args *a;
    const char *dir;
    int next;            /* k of the next Dynamo graph */
    int failed;
} job;

/* A graph that cannot be cut has metadata all the same. */
static void add_cut(aot_fw_metadata *m, const aot_unit *u, const aot_graph *joint,
                    const aot_config *config)
{
    aot_partition *p = NULL;
    if (joint != NULL && aot_derive_partition(&p, u, joint, config, NULL, NULL) == AOT_OK) {
        aot_metadata_cut(m, p, joint->ctx->arena);
    }
}

static aot_status write_metadata(const job *j, int k, const aot_calling *c, aot_err *err)
{
    json_t *o = json_pack("{s:s, s:i, s:s, s:s, s:i, s:b, s:b}", "format", "aotscope/1", "unit", k,
                          "path", aot_capture_path_name(c->path), "reason", c->path_reason,
                          "num_tangents", c->meta.n_traced_tangents, "deduped",
                          c->deduped, "synthetic_base", c->synthetic_base);
    json_t *fields = aot_meta_json(&c->meta);
    json_object_update(o, fields);
    json_decref(fields);
    char *text = json_dumps(o, JSON_INDENT(1));
    aot_status s = aot_cmd_write_text(j->a, j->dir, k, "metadata.json", text, strlen(text), err);
    free(text);
    json_decref(o);
    return s;
}

static aot_status one_graph(const job *j, const aot_unit *u, const aot_record *r, int k,
                            aot_err *err)
{
    aot_ctx *ctx = aot_unit_new_ctx(u);
    const aot_graph *dynamo;
    aot_capture c = {0};
    aot_status s = aot_record_parse(&dynamo, ctx, u, r, err);
    aot_config config;
    if (s == AOT_OK) {
        s = aot_cmd_unit_config(&config, j->a, u, err);
        s = s != AOT_OK ? s : aot_capture_run(&c, aot_unit_capture_in(u, dynamo, &config), err);
    }
    if (s == AOT_OK) {
        bool again = aot_unit_source(u) == AOT_STAGE_EXPORT;
        if (again && strcmp(config.path, "auto") != 0 && strcmp(config.path, "export") != 0) {
            aot_cmd_note("aotscope: %s: an exported program is traced for inference, whatever "
                         "--path says\n",
                         u->input);
        }
        const char *what = c.calling.path == AOT_PATH_AUTOGRAD           ? "joint.txt"
                           : c.calling.path == AOT_PATH_EXPORT && !again ? "export.txt"
                                                                 : "inference.txt";
        s = aot_cmd_write_graph(j->a, j->dir, k, what, c.graph[AOT_LEVEL_JOINT], err);
        bool joint = c.calling.path == AOT_PATH_AUTOGRAD;
        if (s == AOT_OK && aot_args_has(j->a, "stages")) {
            s = aot_cmd_write_graph(j->a, j->dir, k, "aten.txt", c.graph[AOT_LEVEL_ATEN], err);
            s = s == AOT_OK ? aot_cmd_write_graph(j->a, j->dir, k, "joint_traced.txt",
                                                  c.graph[AOT_LEVEL_TRACED], err)
                            : s;
            s = s == AOT_OK ? aot_cmd_write_graph(j->a, j->dir, k, "joint_functional.txt",
                                          c.graph[AOT_LEVEL_FUNCTIONAL], err)
                            : s;
        }
        if (s == AOT_OK) {
            add_cut(&c.calling.meta, u, joint ? c.graph[AOT_LEVEL_JOINT] : NULL, &config);
            s = write_metadata(j, k, &c.calling, err);
        }
    }
    aot_capture_free(&c);
    aot_ctx_free(ctx);
    return s;
}

static void on_unit(void *arg, const aot_unit *u)
{
    job *j = arg;
    for (size_t i = 0; i < u->records.n && aot_unit_source(u) != AOT_N_STAGES; i++) {
        const aot_record *r = &u->records.d[i];
        if (r->stage != aot_unit_source(u)) {
            continue;
        }
        aot_err mine = {0};
        int k = j->next++;
        if (one_graph(j, u, r, k, &mine) != AOT_OK) { // the other graphs are still traced
            aot_err_in_file(&mine, u->input);
            aot_cmd_fail(&mine);
            j->failed++;
        }
    }
}

static int run(const aot_args *a)
{
    aot_err err = {0};
    job j = {.a = a, .dir = aot_args_get(a, "output")};
    const char *backend = aot_args_get(a, "backend");
    if (j.dir == NULL) {
        return aot_cmd_usage(a->cmd, "where to: -o DIR is missing");
    }
    if (backend != NULL && strcmp(backend, "aot_eager") != 0 && strcmp(backend, "decomp") != 0 &&
        strcmp(backend, "inductor_joint") != 0) {
        return aot_cmd_usage(a->cmd,
                             "--backend takes aot_eager, decomp or inductor_joint, not '%s'",
                             backend);
    }
    if (aot_cmd_check_settings(a, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    if (mkdir(j.dir, 0777) != 0 && errno != EEXIST) {
        AOT_FAIL(&err, AOT_E_IO, "cannot make folder %s: %s", j.dir, strerror(errno));
        return aot_cmd_fail(&err);
    }
    if (aot_cmd_each_unit(a, a->inputs[0], on_unit, &j, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    if (j.next == 0) {
        AOT_FAIL(&err, AOT_E_PIPELINE, "no Dynamo graph in it: %s",
                 aot_stage_get(AOT_STAGE_DYNAMO)->how_to_get);
        aot_err_in_file(&err, a->inputs[0]);
        return aot_cmd_fail(&err);
    }
    aot_cmd_note("%d Dynamo graph%s, %d traced into %s\n", j.next, j.next == 1 ? "" : "s",
            j.next - j.failed, j.dir);
    return j.failed != 0 ? AOT_EXIT_ERROR : AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"output", 'o', "DIR", false,
     "Folder for k.joint.txt or k.inference.txt, and k.metadata.json; made if missing."},
    {"backend", 0, "NAME", false,
     "Whose decompositions: aot_eager (none), decomp or inductor_joint (Inductor's table)."},
    AOT_OPTIONS_TRACE,
    AOT_OPTIONS_INPUT,
    {"stages", 0, NULL, false,
     "Also k.aten.txt, k.joint_traced.txt and k.joint_functional.txt."},
    {0},
};

const aot_cmd cmd_trace = {
    .name = "trace",
    .synopsis =
        "INPUT [--backend NAME] [--path NAME] [--decompose OP,OP] [--keep OP,OP] [--opaque] "
        "[--set NAME=VALUE]... [--stages] -o DIR",
    .summary =
        "Trace each Dynamo graph to its joint or forward-only graph, as AOTAutograd 2.11 does",
    .doc =
        "For the k-th Dynamo graph of the input, writes DIR/k.joint.txt, or DIR/k.inference.txt "
        "where no gradient is wanted, or DIR/k.export.txt for --path export, and "
        "DIR/k.metadata.json: which inputs are mutated, what "
        "outputs alias, which path was taken and why, and the fields of ViewAndMutationMeta "
        "with the indices that PyTorch computes from them.\n\n"
        "The recorded backend is the default. The export path gives a functional graph without a "
        "backward, with the graph signature beside its inputs and outputs; composites are kept "
        "unless --backend decomp asks for the core ATen table. An exported program (.pt2) is "
        "decomposed by that table; --backend aot_eager decomposes nothing. Gaps of "
        "the export path: a tensor constant of a Dynamo graph is an input by its own name "
        "(USER_INPUT), where "
        "PyTorch has c_lifted_tensor_0 (CONSTANT_TENSOR); a program with auto_functionalized_v2 "
        "(around a "
        "custom operator that writes into its inputs) is not traced.",
    .examples = "aotscope trace train.log -o out\n"
                "aotscope trace train.log --backend aot_eager --stages -o out\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
