/* aotscope memory: live bytes of each unit's forward and backward, node by node, and what lives at
 * the peak. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/unit.h"
#include "partition/partition.h"
#include "partition/select.h"
#include "session/model.h"
#include "session/saved.h"
#include "session/walker.h"
#include "tui/fits.h"
#include "tui/memory_report.h"
#include "tui/open_model.h"
#include "tui/out_format.h"
#include "viewers/format.h"

typedef struct job {
    const aot_args *a;
    aot_memory_ask ask;
    const char *format, *only; /* only: --unit; NULL: all */
    json_t *graphs;
    aot_sb text;
    aot_table *csv;
    AOT_VEC(aot_chart *) charts;
    const char *why; /* of a unit without a joint graph; NULL: none was seen */
    int next, n_told, failed; /* next: number among the joint graphs of the input */
    size_t unit; /* the unit at work */
    int64_t limit;     /* --fits; -1: not asked */
    int64_t max_saved; /* --max-saved; -1: not asked */
    int n_too_large;   /* units that do not fit, or save more, as they are configured */
} job;

static json_t *unit_json(const job *j, const aot_memory_unit *x)
{
    json_t *o = aot_memory_json(&j->ask, x);
    int64_t bytes = aot_saved_tensor_bytes(x->p);
    json_object_set_new(o, "unit_number", json_integer((json_int_t)j->unit));
    json_object_set_new(o, "label", json_string(x->label));
    json_object_set_new(o, "saved_bytes", json_integer(bytes));
    json_object_set_new(o, "saved_new_bytes", json_integer(x->p->saved_new_bytes));
    if (j->max_saved >= 0) {
        json_object_set_new(o, "max_saved", json_integer(j->max_saved));
        json_object_set_new(o, "within_max_saved", json_boolean(bytes <= j->max_saved));
    }
    return o;
}

/* What the unit saves against --max-saved. */
static void tell_saved(job *j, const aot_memory_unit *x)
{
    char saved[64], fresh[32], limit[32];
    bool within = aot_saved_tensor_bytes(x->p) <= j->max_saved;
    j->n_too_large += !within;
    if (strcmp(j->format, "text") == 0) {
        aot_sb_addf(
            &j->text, "saved: %s, %s of it new: %s %s\n", aot_saved_text(x->p, saved, sizeof saved),
            aot_format_bytes(fresh, sizeof fresh, x->p->saved_new_bytes),
            within ? "within" : "more than", aot_format_bytes(limit, sizeof limit, j->max_saved));
    }
}

static void tell(job *j, const aot_memory_unit *x)
{
    if (strcmp(j->format, "json") == 0) {
        json_array_append_new(j->graphs, unit_json(j, x));
    } else if (strcmp(j->format, "text") == 0) {
        aot_memory_print(&j->text, &j->ask, x);
    } else if (strcmp(j->format, "csv") == 0) {
        aot_memory_csv(j->csv, &j->ask, x);
    } else {
        aot_vec_push(&j->charts, aot_memory_chart(&j->ask, x, AOT_SIDE_FORWARD));
        aot_vec_push(&j->charts, aot_memory_chart(&j->ask, x, AOT_SIDE_BACKWARD));
    }
    if (j->max_saved >= 0) {
        tell_saved(j, x);
    }
}

static aot_status one_graph(job *j, const aot_unit *u, const aot_record *r, int k, aot_err *err)
{
    aot_config config;
    AOT_TRY(aot_cmd_unit_config(&config, j->a, u, err));
    aot_ctx *ctx = aot_unit_new_ctx(u);
    const aot_graph *joint;
    aot_partition *p;
    char label[96];
    aot_status s = aot_record_parse(&joint, ctx, u, r, err);
    if (s == AOT_OK) {
        s = aot_derive_partition(&p, u, joint, &config, NULL, err);
    }
    if (s == AOT_OK) {
        aot_memory m, other;
        aot_memory_options walk = j->ask.walk;
        aot_cmd_warn_passes(u, j->unit, p->cut, config.backend);
        aot_cmd_warn_assumed(u, j->unit, ctx);
        aot_memory_unit x = {.number = k, .label = aot_unit_label(&u->key, label, sizeof label),
                             .title = u->title != NULL ? u->title : "", .p = p, .m = &m,
                             .other = &other};
        x.modules = j->ask.by_set[AOT_MEM_BY_MODULE] ? aot_unit_modules(u, p->cut, p, ctx->arena)
                                                     : NULL;
        aot_walker *w = aot_walker_new(u, r, &j->ask.walk);
        aot_walker_memory(w, &m, p);
        walk.hold_saved = !walk.hold_saved;
        aot_memory_of_partition(&other, p, &walk);
        if (j->ask.allocator) {
            aot_allocator_replay(&x.forward, &x.backward, &m);
        }
        tell(j, &x);
        aot_walker_free(w);
        aot_memory_free(&m);
        aot_memory_free(&other);
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
    aot_cmd_warn_assumed_in(u, j->unit, r);
    AOT_TRY(aot_fits_unit(&f, u, r, &config,
                          &(aot_fit_ask){j->limit, j->ask.walk, j->ask.allocator}, err));
    j->n_too_large += !f.now.fits;
    if (strcmp(j->format, "text") == 0) {
        aot_sb_addf(&j->text, "# unit %zu %s %s\n", j->unit,
                    aot_unit_label(&u->key, label, sizeof label), u->title);
        aot_fit_print(&j->text, &f, j->limit);
    } else {
        json_t *o = aot_fit_json(&f);
        json_object_set_new(o, "unit", json_integer(k));
        json_object_set_new(o, "unit_number", json_integer((json_int_t)j->unit));
        json_object_set_new(o, "label", json_string(aot_unit_label(&u->key, label, sizeof label)));
        json_array_append_new(j->graphs, o);
    }
    aot_fit_free(&f);
    return AOT_OK;
}

static void on_unit(void *arg, const aot_unit *u)
{
    job *j = arg;
    const aot_record *r = aot_unit_stage(u, AOT_STAGE_JOINT);
    bool joint = aot_cmd_is_cut(u, j->unit);
    if (joint && aot_cmd_unit_is(u, j->unit, j->only)) {
        aot_err mine = {0};
        aot_status s =
            j->limit >= 0 ? fit_graph(j, u, r, j->next, &mine) : one_graph(j, u, r, j->next, &mine);
        j->n_told++;
        if (s != AOT_OK) {
            aot_err_in_file(&mine, u->input);
            aot_cmd_fail(&mine);
            j->failed++;
        }
    }
    j->next += joint;
    j->why = joint || j->why != NULL ? j->why : aot_unit_missing_reason(u, AOT_STAGE_JOINT);
    j->unit++;
}

static aot_status write_all(job *j, aot_err *err)
{
    aot_status st;
    if (strcmp(j->format, "json") == 0) {
        json_t *o = json_pack("{s:s, s:O}", "format", "aotscope/1", "graphs", j->graphs);
        st = aot_cmd_write_json(j->a, o, err);
        json_decref(o);
        return st;
    }
    if (aot_chart_format_known(j->format)) {
        return aot_out_charts(j->a, j->format, (const aot_chart *const *)j->charts.d, j->charts.n,
                              err);
    }
    if (j->csv != NULL) {
        aot_table_print(&j->text, j->csv, AOT_TABLE_CSV, 0, 0);
    }
    return aot_out_write(j->a, j->format, &j->text, err);
}

static aot_status read_size(int64_t *out, const aot_args *a, const char *option, aot_err *err)
{
    const char *size = aot_args_get(a, option);
    *out = -1;
    if (size != NULL && !aot_bytes_parse(out, size)) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "--%s takes a size with its unit, such as 24GiB or 500MB, or bytes, such "
                        "as 1000000, not '%s'",
                        option,
                        size);
    }
    return AOT_OK;
}

static aot_status read_options(job *j, const aot_args *a, aot_err *err)
{
    const char *fits = aot_args_get(a, "fits");
    AOT_TRY(aot_out_format(&j->format, a,
                           fits != NULL ? "text, json" : "text, json, csv, svg, pdf, png", err));
    // JSON holds them by contract: so was measured what others compare with
    bool hold = fits == NULL && strcmp(j->format, "json") == 0;
    AOT_TRY(aot_memory_ask_read(&j->ask, a, hold, err));
    AOT_TRY(read_size(&j->limit, a, "fits", err));
    AOT_TRY(read_size(&j->max_saved, a, "max-saved", err));
    if (j->limit >= 0 && j->max_saved >= 0) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "--fits and --max-saved are two questions: ask one at a time");
    }
    j->only = aot_args_get(a, "unit");
    j->csv = strcmp(j->format, "csv") == 0 ? aot_memory_csv_new(&j->ask) : NULL;
    return aot_cmd_check_settings(a, err);
}

static void free_job(job *j)
{
    json_decref(j->graphs);
    aot_sb_free(&j->text);
    aot_table_free(j->csv);
    for (size_t i = 0; i < j->charts.n; i++) {
        aot_chart_free(j->charts.d[i]);
    }
    aot_vec_free(&j->charts);
}

static int run(const aot_args *a)
{
    aot_err err = {0};
    job j = {.a = a, .graphs = json_array()};
    aot_status st = read_options(&j, a, &err);
    if (st == AOT_OK) {
        st = aot_cmd_each_unit(a, a->inputs[0], on_unit, &j, &err);
    }
    if (st == AOT_OK && j.n_told == 0) {
        if (j.only == NULL || j.next == 0) {
            st = aot_cmd_no_joint(a->inputs[0], j.why, &err);
        } else {
            st = AOT_FAIL(&err, AOT_E_USAGE,
                          "no unit '%s' with a joint graph: `aotscope show %s --units` "
                          "lists them",
                          j.only, a->inputs[0]);
            aot_err_in_file(&err, a->inputs[0]);
        }
    }
    st = st == AOT_OK ? write_all(&j, &err) : st;
    int code = j.failed != 0        ? AOT_EXIT_ERROR
               : j.n_too_large != 0 ? AOT_EXIT_DIFFERS
                                    : AOT_EXIT_SAME;
    free_job(&j);
    return st != AOT_OK ? aot_cmd_fail(&err) : code;
}

static const aot_option options[] = {
    {"fits", 0, "SIZE", false,
     "Whether each unit fits SIZE (24GiB, 500MB), and the budget at which it would; a table, or "
     "JSON with --format json."},
    {"max-saved", 0, "SIZE", false,
     "Exit code 1 if a unit saves more than SIZE for its backward, as `show --saved` adds it up."},
    AOT_OPTIONS_MEMORY,
    {"unit", 'u', "N|LABEL", false, "One unit, by number or label; all if absent."},
    AOT_OPTIONS_INPUT,
    {"format", 0, "FORMAT", false,
     "text, json, csv, svg, pdf or png; without it the ending of -o, json into other "
     "files, text to standard output."},
    AOT_OPTION_COLOR,
    AOT_OPTION_OUTPUT,
    {0},
};

const aot_cmd cmd_memory = {
    .name = "memory",
    .synopsis = "INPUT [--by WHAT,...] [--timeline] [--fits SIZE | --max-saved SIZE] [--set "
                "NAME=VALUE]... [--format FORMAT] [-o FILE]",
    .summary = "Live bytes of forward and backward, node by node, and what lives at their peaks",
    .doc = "Each joint graph is cut and both modules are walked as PyTorch's interpreter runs "
           "them. Every living storage "
           "counts once; values die at their last use. Forward inputs are held by the caller; "
           "primals stay until the backward returns; user outputs are dropped before the backward; "
           "tangents are fresh; views and saved aliases of primals cost nothing. Autograd lets go "
           "of what it saved before it calls the backward, which then frees it node by node; "
           "--hold-saved keeps it until the backward returns, as retain_graph=True does. JSON "
           "counts so unless --free-saved is given, and says what the other way gives "
           "(saved_values, backward_if_freed). --in-place-reuse and --allocator cuda change the "
           "figures to what compiled code does. The recorder (`aotscope show --calls`) does not "
           "see the inputs that the backward is not handed.\n\n"
           "What is saved counts as the memory that it keeps alive: a saved view keeps all of what "
           "it is a view of, so "
           "`saved` may be more here than the values' own sizes, which `aotscope show --saved` "
           "adds up.\n\n"
           "The table tells what lives at the peak, by kind and source line, or as --by says, and "
           "between which nodes "
           "it lives; --by region tells how many checkpoint regions live at once. CSV has a row "
           "for each node, with "
           "--by one for each group; JSON has both with --timeline --by; SVG, PDF and PNG show the "
           "groups over time.\n\n"
           "--allocator cuda rounds sizes to 512 B and replays PyTorch's caching allocator: two "
           "pools, segments of 2 "
           "and 20 MiB, best fit, splitting and joining. Streams, expandable segments, what other "
           "units leave behind and "
           "libraries' workspaces are not modelled.\n\n"
           "With --fits each unit is walked at 41 memory budgets; exit "
           "code 1 if one does not fit as it is configured; so it is with --max-saved, which looks "
           "at the saved bytes. What lives besides the unit (optimizer state, other units) "
           "is to be taken off SIZE before.",
    .examples = "aotscope memory train.log\n"
                "aotscope memory train.log --by region,module --unit 0/1\n"
                "aotscope memory train.log --by kind -o memory.svg\n"
                "aotscope memory train.log --fits 24GiB --allocator cuda\n"
                "aotscope memory train.log --max-saved 2GiB --no-plot\n"
                "aotscope memory train.log --set activation_memory_budget=0.5 -o memory.json\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
