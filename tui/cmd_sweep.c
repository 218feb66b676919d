/* aotscope sweep: each joint graph of an input cut at every budget of a grid, or where bisection
 * finds a change, by each solver. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "tui/open_model.h"
#include "tui/out_format.h"
#include "tui/sweep.h"

enum { MAX_JOBS = 256, MAX_SHARDS = 1000000 };

typedef struct plan {
    aot_sweep *s;
    aot_sweep_ask ask;
    AOT_VEC(double) budgets;
    const char *format;
} plan;

static bool parse_range(const char *text, double *from, double *to, double *step)
{
    char part[3][32];
    size_t n = 0;
    *step = 1;
    for (const char *at = text; n < 3; n++) {
        snprintf(part[n], sizeof part[n], "%.*s", (int)strcspn(at, ":"), at);
        at += strcspn(at, ":");
        if (*at == '\0') {
            n++;
            break;
        }
        if (n == 2) {
            return false; // a fourth
        }
        at++;
    }
    if (n == 1) {
        bool ok = aot_real_read(from, part[0], 0, 1);
        *to = *from;
        return ok;
    }
    return n == 3 && aot_real_read(from, part[0], 0, 1) && aot_real_read(to, part[1], *from, 1) &&
           aot_real_read(step, part[2], 1e-4, 1);
}

/* "A:B:STEP", or one number. */
static aot_status parse_budgets(plan *p, const char *text, aot_err *err)
{
    double from = 0, to, step;
    if (!parse_range(text, &from, &to, &step)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--budgets takes FROM:TO:STEP within 0 and 1, not '%s'",
                        text);
    }
    int n = (int)floor((to - from) / step + 1e-9);
    for (int i = 0; i <= n; i++) {
        // the grid's numbers as a person would write them: 0.075, not 0.07500000000000001
        aot_vec_push(&p->budgets, round((from + i * step) * 1e6) / 1e6);
    }
    return AOT_OK;
}

static aot_status parse_solvers(aot_sweep *s, const char *text, aot_err *err)
{
    const aot_config_row *row = aot_config_find("activation_memory_budget_solver");
    while (*text != '\0') {
        size_t n = strcspn(text, ",");
        char set[160];
        aot_config c;
        snprintf(set, sizeof set, "%s=%.*s", row->name, (int)(n < 90 ? n : 90), text);
        aot_config_init(&c);
        AOT_TRY(aot_config_set(&c, set, err));
        aot_vec_push(&s->solvers, aot_arena_strndup(s->arena, text, n));
        text += n + (text[n] == ',');
    }
    return s->solvers.n != 0 ? AOT_OK : AOT_FAIL(err, AOT_E_USAGE, "--solvers names none");
}

/* "2/8": the second of eight. */
static aot_status parse_shard(aot_sweep *s, const char *text, aot_err *err)
{
    const char *slash = strchr(text, '/');
    char first[32];
    int64_t part, of;
    snprintf(first, sizeof first, "%.*s", slash != NULL ? (int)(slash - text) : 0, text);
    if (slash == NULL || !aot_int_read(&part, first, 1, MAX_SHARDS) ||
        !aot_int_read(&of, slash + 1, part, MAX_SHARDS)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--shard takes PART/OF, counted from 1 (2/8), not '%s'",
                        text);
    }
    s->shard = (int)part;
    s->n_shards = (int)of;
    return AOT_OK;
}

static aot_status parse_jobs(int *jobs, const char *text, aot_err *err)
{
    int64_t n = sysconf(_SC_NPROCESSORS_ONLN);
    if (text != NULL) {
        if (!aot_int_read(&n, text, 1, MAX_JOBS)) {
            return AOT_FAIL(err, AOT_E_USAGE, "--jobs takes a number from 1 to %d, not '%s'",
                            MAX_JOBS, text);
        }
    }
    *jobs = (int)(n < 1 ? 1 : n > MAX_JOBS ? MAX_JOBS : n);
    return AOT_OK;
}

/* How narrow bisection goes; the text that tells parts of different sweeps apart says it. */
static aot_status parse_step(plan *p, const char *text, aot_err *err)
{
    p->ask.step = 1e-3;
    if (text != NULL && !aot_real_read(&p->ask.step, text, 1e-4, 0.25)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--step takes a number from 0.0001 to 0.25, not '%s'",
                        text);
    }
    p->s->budgets = aot_arena_printf(p->s->arena, "bisection to %g", p->ask.step);
    return AOT_OK;
}

static aot_status make_plan(plan *p, const aot_args *a, aot_err *err)
{
    const char *budgets = aot_args_get(a, "budgets"), *solvers = aot_args_get(a, "solvers");
    const char *shard = aot_args_get(a, "shard");
    AOT_TRY(aot_out_format(&p->format, a, AOT_SWEEP_FORMATS, err));
    AOT_TRY(parse_solvers(p->s, solvers != NULL ? solvers : "dp", err));
    AOT_TRY(aot_cmd_check_settings(a, err));
    AOT_TRY(parse_jobs(&p->ask.jobs, aot_args_get(a, "jobs"), err));
    p->s->bisected = aot_args_has(a, "pareto");
    p->s->budgets = budgets != NULL ? budgets : "0:1:0.1";
    if (p->s->bisected && budgets != NULL) {
        return AOT_FAIL(err, AOT_E_USAGE, "--pareto finds the budgets itself: leave --budgets out");
    }
    if (!p->s->bisected && aot_args_has(a, "step")) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "--step is for --pareto; a grid has its step in --budgets");
    }
    AOT_TRY(p->s->bisected ? parse_step(p, aot_args_get(a, "step"), err)
                           : parse_budgets(p, p->s->budgets, err));
    if (shard != NULL) {
        AOT_TRY(parse_shard(p->s, shard, err));
        if (aot_args_has(a, "format") && strcmp(p->format, "json") != 0) {
            return AOT_FAIL(err, AOT_E_USAGE,
                            "a shard is written as JSON, `aotscope merge` makes %s of all of them",
                            p->format);
        }
        p->format = "json";
    }
    p->ask.a = a;
    p->ask.budgets = p->s->bisected ? NULL : p->budgets.d;
    p->ask.n_budgets = p->budgets.n;
    return AOT_OK;
}

/* Whether a file is what a sweep wrote: JSON whose first keys say so. Of a pipe nothing is read, as
 * what is read is gone. */
static bool is_kept(const char *path)
{
    char head[512];
    struct stat st;
    bool file = strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    FILE *f = file ? fopen(path, "r") : NULL;
    size_t n = f != NULL ? fread(head, 1, sizeof head - 1, f) : 0;
    if (f != NULL) {
        fclose(f);
    }
    head[n] = '\0';
    return head[strspn(head, " \t\r\n")] == '{' && strstr(head, "\"sweep\"") != NULL &&
           strstr(head, "\"budgets\"") != NULL;
}

/* A sweep that was kept is told again, as merge does of one part: options that merge has not got
 * are for cutting. */
static int tell_kept(const aot_args *a)
{
    const aot_cmd *merge = aot_cmd_find("merge");
    for (const aot_option *o = a->cmd->options; o->name != NULL; o++) {
        const aot_option *m = merge->options;
        while (m->name != NULL && strcmp(m->name, o->name) != 0) {
            m++;
        }
        if (m->name == NULL && aot_args_has(a, o->name)) {
            return aot_cmd_usage(a->cmd,
                                 "%s is a sweep that was written: nothing is cut, so --%s means "
                                 "nothing",
                                 a->inputs[0], o->name);
        }
    }
    return merge->run(a);
}

static int run(const aot_args *a)
{
    if (is_kept(a->inputs[0])) {
        return tell_kept(a);
    }
    aot_err err = {0};
    plan p = {.s = aot_sweep_new()};
    size_t n_unread = 0;
    aot_status st = make_plan(&p, a, &err);
    if (st == AOT_OK) {
        st = aot_sweep_run(p.s, &p.ask, &n_unread, &err);
    }
    if (st == AOT_OK) {
        aot_sweep_finish(p.s);
        st = aot_sweep_write(p.s, a, p.format, &err);
    }
    size_t n_failed = aot_sweep_n_failed(p.s);
    if (st == AOT_OK && n_failed != 0) {
        aot_cmd_note("aotscope: %zu point%s could not be cut; %s says why\n", n_failed,
                n_failed == 1 ? "" : "s", n_failed == 1 ? "it" : "each");
    }
    aot_sweep_free(p.s);
    aot_vec_free(&p.budgets);
    return st == AOT_E_USAGE && err.file[0] == 0 ? aot_cmd_usage(a->cmd, "%s", err.msg)
           : st != AOT_OK     ? aot_cmd_fail(&err)
           : n_failed + n_unread != 0 ? AOT_EXIT_ERROR
                                      : AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"budgets", 0, "FROM:TO:STEP", false, "Budgets to try; 0:1:0.1 if absent."},
    {"pareto", 0, NULL, false,
     "Find every budget at which the answer changes, by bisection to 0.001."},
    {"step", 0, "S", false,
     "How far --pareto bisects: 0.01 for a quick look at a large graph; 0.001 if absent."},
    {"solvers", 0, "S,...", false, "Knapsack solvers to try; dp if absent."},
    {"unit", 'u', "N|LABEL", false, "One unit, by number or label; all if absent."},
    AOT_OPTIONS_INPUT,
    {"jobs", 'j', "N", false, "Processes at once; as many as there are processors if absent."},
    {"shard", 0, "PART/OF", false,
     "Only this part of the points, for a cluster: 2/8; `aotscope merge` joins the parts."},
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

const aot_cmd cmd_sweep = {
    .name = "sweep",
    .synopsis = "INPUT [--budgets FROM:TO:STEP | --pareto] [--solvers S,...] [--unit N|LABEL] "
                "[--jobs N] [--shard PART/OF] "
                "[--format FORMAT] [-o FILE]",
    .summary = "Cut each joint graph at many memory budgets",
    .doc = "For each budget and solver: the rung of the ladder that was taken, the saved values "
           "and their bytes, "
           "the flops that are computed twice, the most bytes that live at once in the forward or "
           "the backward "
           "(see `aotscope memory`), and which values are saved that were not at the budget "
           "before, or no longer. "
           "Charts show what saving less costs, and the bytes at each budget.\n\n"
           "What was written as JSON is an input too: it is told again, in any format, without "
           "cutting.\n\n"
           "The result does not depend on --jobs or --shard: docs/cluster.md has commands for GNU "
           "parallel and Slurm.",
    .examples = "aotscope sweep train.log --pareto\n"
                "aotscope sweep train.log --pareto --step 0.01 --solvers dp,greedy\n"
                "aotscope sweep train.log --budgets 0:1:0.05 --solvers dp,greedy -o sweep.json\n"
                "aotscope sweep sweep.json\n"
                "aotscope sweep train.log --pareto -o sweep.svg\n"
                "aotscope sweep train.log --pareto --shard 2/8 -o part2.json\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
