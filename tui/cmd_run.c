/* aotscope run INPUT -o S.aots: the whole pipeline from the Dynamo graph, every stage kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/record_inputs.h"
#include "tui/open_model.h"

static void print_summary(const aot_record_summary *s, const char *path)
{
    aot_cmd_note("%s: %u unit%s; %u Dynamo graph%s traced, %u not; %u partition%s\n", path,
            s->stats.units, s->stats.units == 1 ? "" : "s", s->n_captured,
            s->n_captured == 1 ? "" : "s", s->n_not_captured, s->n_partitions,
            s->n_partitions == 1 ? "" : "s");
    if (s->n_captured + s->n_not_captured == 0) {
        aot_cmd_note("nothing was traced: no Dynamo graph: %s\n",
                     aot_stage_get(AOT_STAGE_DYNAMO)->how_to_get);
    }
    if (s->n_captured > 0) {
        aot_cmd_note("paths: %u autograd, %u inference, %u export\n"
                     "why: sqlite3 %s 'select unit, path, path_reason from units'\n",
                     s->n_paths[AOT_PATH_AUTOGRAD], s->n_paths[AOT_PATH_INFERENCE],
                     s->n_paths[AOT_PATH_EXPORT], path);
    }
    const char *sep = "stages that changed nothing: ";
    for (int k = 0; k < AOT_N_STAGES; k++) {
        if (s->n_unchanged[k] > 0) {
            aot_cmd_note("%s%s in %u unit%s", sep, aot_stage_get((aot_stage)k)->name,
                         s->n_unchanged[k], s->n_unchanged[k] == 1 ? "" : "s");
            sep = ", ";
        }
    }
    aot_cmd_note("%s", sep[0] == ',' ? "\n" : "");
    if (s->n_not_captured > 0) {
        aot_cmd_note("not traced: %s\nall reasons: sqlite3 %s 'select unit, error from pass_run "
                     "where error is not null'\n",
                     s->why_not.msg, path);
    }
}

static int record(const aot_args *a, const char *path)
{
    aot_model_options opt = {
        .session_path = path, .progress = aot_cmd_progress, .from_dynamo = true, .edits = a->edits,
        .redact = aot_args_has(a, "redact")};
    const char **settings = aot_cmd_settings(a, &opt.n_settings);
    opt.settings = settings;
    aot_record_summary sum;
    aot_err err = {0};
    aot_status st = aot_record_inputs(a->inputs, a->n_inputs, &opt, &sum, &err);
    aot_cmd_progress_end();
    free(settings);
    if (st != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    print_summary(&sum, path);
    if (err.code != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    return sum.n_not_captured > 0 ? AOT_EXIT_ERROR : AOT_EXIT_SAME;
}

static int run(const aot_args *a)
{
    const char *path = aot_args_get(a, "output");
    if (path == NULL || path[0] == '\0') {
        return aot_cmd_usage(a->cmd, "the session to write is missing: -o S.aots");
    }
    return record(a, path);
}

static const aot_option options[] = {
    {"output", 'o', "FILE", false,
     "The session to write. An older session there is replaced at the end."},
    {"backend", 0, "NAME", false,
     "Whose decompositions and passes: aot_eager, decomp, inductor_joint; as recorded by default."},
    AOT_OPTIONS_TRACE,
    AOT_OPTIONS_INPUT,
    {0},
};

const aot_cmd cmd_run = {
    .name = "run",
    .synopsis =
        "INPUT... -o S.aots [--backend NAME] [--path NAME] [--decompose OP,OP] [--keep OP,OP] "
        "[--opaque] [--set NAME=VALUE]...",
    .summary = "Run the whole pipeline from the Dynamo graph and keep every stage in a session",
    .doc =
        "Traces each Dynamo graph as AOTAutograd 2.11 does, cuts the joint graph, and records "
        "the stages aten, joint_traced, joint_functional, joint (or inference), joint_cse, "
        "forward, backward and runtime, with the rule that made each node (view rewrites) and what "
        "each runtime wrapper does (view wrappers). What the input recorded is kept beside them. "
        "Stages that changed nothing are named at the end.",
    .examples = "aotscope run train.log -o train.aots\n"
                "aotscope run train.log -o decomp.aots --backend decomp\n"
                "sqlite3 train.aots 'select * from rewrites where stage = \"joint\"'\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
