/* aotscope merge: the parts that `sweep --shard` wrote, as one sweep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "session/session.h"
#include "tui/open_model.h"
#include "tui/out_format.h"
#include "tui/sweep.h"

typedef struct parts {
    aot_sweep *s;
    int n_shards;       /* of all; 0 until a file says */
    const char **file;  /* by part, from 0: where it came from; NULL: missing */
} parts;

static aot_status claim(parts *p, const json_t *j, const char *path, aot_err *err)
{
    const json_t *shard = json_object_get(j, "shard");
    json_int_t part = shard != NULL ? json_integer_value(json_object_get(shard, "part")) : 1;
    json_int_t of = shard != NULL ? json_integer_value(json_object_get(shard, "of")) : 1;
    if (part < 1 || of < part || of > 1000000) {
        return AOT_FAIL(err, AOT_E_PARSE, "\"shard\" says part %lld of %lld", (long long)part,
                        (long long)of);
    }
    if (p->n_shards == 0) {
        p->n_shards = (int)of;
        p->file = aot_xcalloc((size_t)of, sizeof *p->file);
    }
    if (of != p->n_shards) {
        return AOT_FAIL(err, AOT_E_USAGE, "it is one of %lld parts, and the first file one of %d",
                        (long long)of, p->n_shards);
    }
    if (p->file[part - 1] != NULL) {
        return AOT_FAIL(err, AOT_E_USAGE, "it is part %lld of %lld, and so is %s", (long long)part,
                        (long long)of, p->file[part - 1]);
    }
    p->file[part - 1] = path;
    return AOT_OK;
}

static aot_status read_file(parts *p, const char *path, aot_err *err)
{
    json_error_t bad;
    if (strcmp(path, "-") != 0 && aot_session_sniff(path)) {
        return AOT_FAIL(err, AOT_E_UNSUPPORTED,
                        "sessions are not merged: their logs go into one session at once, "
                        "`aotscope import A.log B.log -o S.aots`");
    }
    json_t *j = strcmp(path, "-") == 0 ? json_loadf(stdin, 0, &bad) : json_load_file(path, 0, &bad);
    if (j == NULL) {
        aot_pos at = {bad.line > 0 ? (uint32_t)bad.line : 0,
                      bad.column > 0 ? (uint32_t)bad.column : 0};
        return AOT_FAIL_POS(err, bad.line > 0 ? AOT_E_PARSE : AOT_E_IO, at, "%s", bad.text);
    }
    aot_status st = claim(p, j, path, err);
    if (st == AOT_OK) {
        st = aot_sweep_read(p->s, j, err);
    }
    json_decref(j);
    return st;
}

/* All parts must be there: a front with holes would pass for the whole. */
static aot_status check_complete(const parts *p, aot_err *err)
{
    aot_sb missing = {0};
    int n = 0;
    for (int i = 0; i < p->n_shards; i++) {
        if (p->file[i] == NULL && n++ < 20) {
            aot_sb_addf(&missing, "%s%d", n > 1 ? ", " : "", i + 1);
        }
    }
    aot_status st =
        n == 0
            ? AOT_OK
            : AOT_FAIL(err, AOT_E_USAGE,
                       "%d of %d parts are missing: %s%s; aotscope merge --partial goes on without",
                       n, p->n_shards, aot_sb_text(&missing), n > 20 ? ", ..." : "");
    aot_sb_free(&missing);
    return st;
}

static int run(const aot_args *a)
{
    aot_err err = {0};
    parts p = {.s = aot_sweep_new()};
    const char *format = "text";
    aot_status st = aot_out_format(&format, a, AOT_SWEEP_FORMATS, &err);
    for (size_t i = 0; st == AOT_OK && i < a->n_inputs; i++) {
        st = read_file(&p, a->inputs[i], &err);
        if (st != AOT_OK) {
            aot_err_in_file(&err, a->inputs[i]);
        }
    }
    if (st == AOT_OK && !aot_args_has(a, "partial")) {
        st = check_complete(&p, &err);
    }
    if (st == AOT_OK) {
        aot_sweep_finish(p.s);
        st = aot_sweep_write(p.s, a, format, &err);
    }
    size_t n_failed = aot_sweep_n_failed(p.s);
    aot_sweep_free(p.s);
    free(p.file);
    return st != AOT_OK ? aot_cmd_fail(&err) : n_failed != 0 ? AOT_EXIT_ERROR : AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"partial", 0, NULL, false, "Go on where parts are missing."},
    {"format", 0, "FORMAT", false,
     "text, json, csv, svg, pdf or png; without it the ending of -o, json into other "
     "files, text to standard output."},
    {"all", 0, NULL, false,
     "A row for each change that --pareto finds; without it what changes less than 1 % has none."},
    {"no-plot", 0, NULL, false, "The table alone, no plot of characters."},
    AOT_OPTION_COLOR,
    AOT_OPTION_OUTPUT,
    {0},
};

const aot_cmd cmd_merge = {
    .name = "merge",
    .synopsis = "FILE... [--partial] [--format FORMAT] [-o FILE]",
    .summary = "Join the parts that sweep --shard wrote",
    .doc = "The parts of one sweep, in any order, give what the sweep without --shard gives, byte "
           "for byte. "
           "A part that is missing, there twice or of another sweep or input is an error. "
           "docs/cluster.md has "
           "commands for GNU parallel and Slurm.",
    .examples = "aotscope merge part*.json -o sweep.json\n"
                "aotscope merge part*.json -o sweep.svg\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
