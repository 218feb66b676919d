/* aotscope profile: where the time of each compile went. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "session/profiles.h"
#include "tui/open_model.h"
#include "viewers/format.h"
#include "viewers/table.h"

enum { BAR = 32 };

typedef struct sums {
    double seconds[AOT_N_PHASES], total;
    size_t n; /* compiles with times, without what ran beside them */
} sums;

static sums add_up(const aot_profiles *p, int64_t unit)
{
    sums s = {{0}, 0, 0};
    for (size_t i = 0; i < p->compiles.n; i++) {
        const aot_compile_profile *c = &p->compiles.d[i];
        if ((unit >= 0 && c->unit != unit) || c->beside) {
            continue;
        }
        for (int k = 0; k < AOT_N_PHASES; k++) {
            s.seconds[k] += c->profile->seconds[k];
        }
        s.total += c->profile->total;
        s.n += c->profile->source != AOT_PROFILE_NONE;
    }
    return s;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void seconds_cell(aot_table *t, double seconds)
{
    char buf[32];
    aot_table_cell(t, seconds > 0 ? aot_format_duration(buf, sizeof buf, seconds) : "");
}

static void phase_cells(aot_table *t, const double seconds[AOT_N_PHASES], double total)
{
    seconds_cell(t, total);
    for (int k = 0; k < AOT_N_PHASES; k++) {
        seconds_cell(t, seconds[k]);
    }
}

/* "autograd miss, fx_graph miss ×2" */
static void cache_cell(aot_table *t, const aot_profile *p)
{
    aot_sb s = {0};
    for (size_t i = 0; i < p->cache.n; i++) {
        size_t n = 1;
        bool seen = false;
        for (size_t k = 0; k < p->cache.n; k++) {
            bool same = strcmp(p->cache.d[i], p->cache.d[k]) == 0;
            seen = seen || (same && k < i);
            n += same && k > i;
        }
        if (!seen) {
            const char *sign = strstr(p->cache.d[i], "_cache_");
            int len = sign != NULL ? (int)(sign - p->cache.d[i]) : (int)strlen(p->cache.d[i]);
            aot_sb_addf(&s, "%s%.*s%s%s", s.n > 0 ? ", " : "", len, p->cache.d[i],
                        sign != NULL ? " " : "", sign != NULL ? sign + 7 : "");
            if (n > 1) {
                aot_sb_addf(&s, " ×%zu", n);
            }
        }
    }
    aot_table_cell(t, aot_sb_text(&s));
    aot_sb_free(&s);
}

static void percent_row(aot_table *t, const sums *s)
{
    aot_table_row(t);
    aot_table_cell(t, "");
    aot_table_cell(t, "");
    aot_table_cell(t, "share");
    aot_table_cell(t, "");
    for (int k = 0; k < AOT_N_PHASES; k++) {
        if (s->seconds[k] > 0) {
            aot_table_cellf(t, "%.1f %%", 100 * s->seconds[k] / s->total);
        } else {
            aot_table_cell(t, "");
        }
    }
}

static void print_table(const aot_profiles *p, int64_t unit, const sums *s)
{
    aot_table *t = aot_table_new();
    aot_table_column(t, "unit", AOT_RIGHT, 0);
    aot_table_column(t, "label", AOT_LEFT, 0);
    aot_table_column(t, "function", AOT_LEFT, 32);
    aot_table_column(t, "total", AOT_RIGHT, 0);
    for (int k = 0; k < AOT_N_PHASES; k++) {
        aot_table_column(t, aot_phase_get((aot_phase)k)->title, AOT_RIGHT, 0);
    }
    aot_table_column(t, "caches", AOT_LEFT, 0);
    for (size_t i = 0; i < p->compiles.n; i++) {
        const aot_compile_profile *c = &p->compiles.d[i];
        if ((unit >= 0 && c->unit != unit) || c->why_none != NULL) {
            continue;
        }
        aot_table_row(t);
        if (c->unit >= 0) {
            aot_table_cellf(t, "%" PRId64, c->unit);
        } else {
            aot_table_cell(t, "-");
        }
        aot_table_cell(t, c->label);
        aot_table_cell(t, c->unit >= 0 ? c->title
                          : c->beside  ? "(beside them: worker threads)"
                                       : "(made no graph)");
        phase_cells(t, c->profile->seconds, c->profile->total);
        cache_cell(t, c->profile);
    }
    if (s->n > 1) {
        aot_table_row(t);
        aot_table_cell(t, "");
        aot_table_cell(t, "");
        aot_table_cellf(t, "sum of %zu", s->n);
        phase_cells(t, s->seconds, s->total);
    }
    percent_row(t, s);
    aot_sb out = {0};
    aot_table_print(&out, t, 0, 0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    aot_table_free(t);
}

/* Why units have no times, each reason once with its units. */
static void print_none(const aot_profiles *p, int64_t unit)
{
    for (size_t i = 0; i < p->compiles.n; i++) {
        const char *why = p->compiles.d[i].why_none;
        bool seen = why == NULL || (unit >= 0 && p->compiles.d[i].unit != unit);
        for (size_t k = 0; k < i && !seen && unit < 0; k++) {
            seen = p->compiles.d[k].why_none != NULL && strcmp(p->compiles.d[k].why_none, why) == 0;
        }
        if (seen) {
            continue;
        }
        printf("no times of");
        const char *sep = " ";
        for (size_t k = i; k < p->compiles.n; k++) {
            const aot_compile_profile *c = &p->compiles.d[k];
            if (c->why_none != NULL && strcmp(c->why_none, why) == 0 &&
                (unit < 0 || c->unit == unit)) {
                printf("%s%" PRId64 " %s", sep, c->unit, c->label);
                sep = ", ";
            }
        }
        printf(": %s\n", why);
    }
}

/* Whether only totals were logged for one of them: the partition is then in another column. */
static bool has_totals_only(const aot_profiles *p, int64_t unit)
{
    bool any = false;
    for (size_t i = 0; i < p->compiles.n; i++) {
        any = any || ((unit < 0 || p->compiles.d[i].unit == unit) &&
                      p->compiles.d[i].profile->source == AOT_PROFILE_METRICS);
    }
    return any;
}

static void print_bar(double start, double seconds, double total)
{
    int from = (int)(start / total * BAR), to = (int)((start + seconds) / total * BAR + 0.5);
    from = from < BAR ? from : BAR - 1;
    to = to > from ? to < BAR ? to : BAR : from + 1;
    putchar('|');
    for (int i = 0; i < BAR; i++) {
        putchar(i >= from && i < to ? '=' : ' ');
    }
    putchar('|');
}

static void print_timeline(const aot_compile_profile *c, double least)
{
    const aot_profile *p = c->profile;
    double whole = 0;
    char at[32], took[32], own[32];
    size_t left_out = 0;
    for (size_t i = 0; i < p->spans.n; i++) {
        double end = p->spans.d[i].start + p->spans.d[i].seconds;
        whole = end > whole ? end : whole;
    }
    if (whole <= 0) {
        return;
    }
    printf("\n# %s%s%s\n%10s %10s %10s  %-12s\n", c->label, c->title[0] != 0 ? " " : "", c->title,
           "start", "time", "own time", "phase");
    for (size_t i = 0; i < p->spans.n; i++) {
        const aot_time_span *s = &p->spans.d[i];
        if (s->seconds < least * p->total) {
            left_out++;
            continue;
        }
        printf("%10s %10s %10s  %-12s ", aot_format_duration(at, sizeof at, s->start),
               aot_format_duration(took, sizeof took, s->seconds),
               aot_format_duration(own, sizeof own, s->self), aot_phase_get(s->phase)->title);
        print_bar(s->start, s->seconds, whole);
        printf(" %*s%s%s\n", (int)(s->depth < 40 ? s->depth : 40) * 2, "", s->name,
               s->open ? " (no end in the log)" : "");
    }
    if (left_out > 0) {
        printf("%zu step%s of less than %g %% left out (--least 0 shows all)\n", left_out,
               left_out == 1 ? "" : "s", least * 100);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Times are whole microseconds: texts of them can be compared. */
static json_int_t us(double seconds)
{
    return (json_int_t)llround(seconds * 1e6);
}

static json_t *phases_json(const double seconds[AOT_N_PHASES])
{
    json_t *j = json_object();
    for (int k = 0; k < AOT_N_PHASES; k++) {
        json_object_set_new(j, aot_phase_get((aot_phase)k)->title, json_integer(us(seconds[k])));
    }
    return j;
}

static json_t *compile_json(const aot_compile_profile *c)
{
    static const char *const sources[] = {"none", "chromium events", "compilation_metrics"};
    const aot_profile *p = c->profile;
    json_t *spans = json_array(), *caches = json_array();
    for (size_t i = 0; i < p->spans.n; i++) {
        const aot_time_span *s = &p->spans.d[i];
        json_array_append_new(spans, json_pack("{s:s, s:s, s:I, s:I, s:I, s:i, s:i, s:b}", "name",
                                               s->name, "phase", aot_phase_get(s->phase)->title,
                                               "start_us", us(s->start), "us", us(s->seconds),
                                               "own_us", us(s->self), "parent", s->parent, "depth",
                                               (int)s->depth, "open", (int)s->open));
    }
    for (size_t i = 0; i < p->cache.n; i++) {
        json_array_append_new(caches, json_string(p->cache.d[i]));
    }
    json_t *unit = c->unit >= 0 ? json_integer(c->unit) : json_null();
    return json_pack("{s:o, s:s, s:b, s:s, s:s, s:s?, s:I, s:o, s:o, s:o}", "unit", unit, "label",
                     c->label, "beside", (int)c->beside, "function", c->title, "source",
                     sources[p->source], "why_none", c->why_none, "us", us(p->total), "phases_us",
                     phases_json(p->seconds), "caches", caches, "spans", spans);
}

static void print_json(const aot_profiles *p, int64_t unit, const sums *s)
{
    json_t *j = aot_cmd_json(), *compiles = json_array();
    for (size_t i = 0; i < p->compiles.n; i++) {
        if (unit < 0 || p->compiles.d[i].unit == unit) {
            json_array_append_new(compiles, compile_json(&p->compiles.d[i]));
        }
    }
    json_object_set_new(j, "compiles", compiles);
    json_object_set_new(j, "sum",
                        json_pack("{s:i, s:I, s:o}", "compiles", (int)s->n, "us", us(s->total),
                                  "phases_us", phases_json(s->seconds)));
    aot_cmd_print_json(j);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The number of the unit that is asked for, -1 for all. */
static aot_status find_unit(int64_t *out, const aot_profiles *p, const char *which, aot_err *err)
{
    *out = -1;
    for (size_t i = 0; which != NULL && i < p->compiles.n && *out < 0; i++) {
        const aot_compile_profile *c = &p->compiles.d[i];
        char number[24], bare[96];
        snprintf(number, sizeof number, "%" PRId64, c->unit);
        snprintf(bare, sizeof bare, "%.*s", (int)strcspn(c->label + 1, "]"), c->label + 1);
        if (c->unit >= 0 && (strcmp(number, which) == 0 || strcmp(c->label, which) == 0 ||
                             strcmp(bare, which) == 0)) {
            *out = c->unit;
        }
    }
    return which == NULL || *out >= 0
               ? AOT_OK
               : AOT_FAIL(err, AOT_E_USAGE,
                          "no unit is called '%s'; `aotscope show INPUT --units` lists them",
                          which);
}

static aot_status read_least(double *least, const char *text, aot_err *err)
{
    *least = 1;
    if (text != NULL && !aot_real_read(least, text, 0, 100)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--least takes a share in percent, 0 to 100, not '%s'",
                        text);
    }
    *least /= 100;
    return AOT_OK;
}

static void print_text(const aot_profiles *p, int64_t unit, const sums *s, bool timeline,
                       double least)
{
    if (s->n > 0) {
        print_table(p, unit, s);
    }
    if (has_totals_only(p, unit)) {
        puts("Only totals were logged: the partition is in \"aot trace\".");
    }
    print_none(p, unit);
    for (size_t i = 0; i < p->compiles.n && timeline; i++) {
        if (unit < 0 || p->compiles.d[i].unit == unit) {
            print_timeline(&p->compiles.d[i], least);
        }
    }
}

static int run(const aot_args *a)
{
    aot_profiles *p = NULL;
    aot_err err = {0};
    int64_t unit = -1;
    double least = 0;
    if (read_least(&least, aot_args_get(a, "least"), &err) != AOT_OK ||
        aot_profiles_read(&p, a->inputs, a->n_inputs, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    for (size_t i = 0; i < p->compiles.n && aot_args_has(a, "redact"); i++) {
        p->compiles.d[i].title = "(redacted)";
    }
    aot_status st = find_unit(&unit, p, aot_args_get(a, "unit"), &err);
    if (st == AOT_OK && p->compiles.n == 0) {
        st = AOT_FAIL(&err, AOT_E_PIPELINE,
                      "the input holds no compile; `aotscope info INPUT` tells what it holds");
    }
    if (st == AOT_OK) {
        sums s = add_up(p, unit);
        if (aot_args_has(a, "json")) {
            print_json(p, unit, &s);
        } else {
            print_text(p, unit, &s, aot_args_has(a, "timeline"), least);
        }
    }
    aot_profiles_free(p);
    return st == AOT_OK ? AOT_EXIT_SAME : aot_cmd_fail(&err);
}

static const aot_option options[] = {
    {"unit", 'u', "N|LABEL", false, "One unit, by number or label (3, 0/1); else all."},
    {"timeline", 't', NULL, false, "The steps of each compile in order, with a bar."},
    {"least", 0, "PERCENT", false,
     "With --timeline: leave out steps below this share (default 1)."},
    {"json", 0, NULL, false, "Print JSON, with all steps."},
    AOT_OPTION_REDACT,
    {0},
};

const aot_cmd cmd_profile = {
    .name = "profile",
    .synopsis = "INPUT... [--unit N|LABEL] [--timeline [--least PERCENT]] [--json]",
    .summary = "Show where the time of each compile went",
    .doc = "Reads the chromium events of a TORCH_TRACE log and adds up, for each compile, the time "
           "of each "
           "phase: dynamo, aot trace, joint passes, partition, backend, cache. A step's own time "
           "is what the steps "
           "inside it do not take, so phases add up to the total. The compile of a backward, which "
           "often comes "
           "later, is part of its unit. Steps of worker threads, which run while others wait, are "
           "beside the sum. Where a log holds only compilation_metrics, its totals are shown; "
           "where it "
           "has neither, why.",
    .examples = "aotscope profile train.log\n"
                "aotscope profile train.log --unit 0/1 --timeline\n"
                "aotscope profile rank_0.log rank_1.log --json\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
