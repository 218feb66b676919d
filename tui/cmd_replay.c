/* aotscope replay: runs units node by node and tells where a break holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "exec/values.h"
#include "tui/open_model.h"
#include "tui/out_format.h"
#include "tui/replay_oom.h"
#include "tui/replay_report.h"
#include "tui/replay_script.h"
#include "viewers/table.h"

typedef struct job {
    const aot_args *a;
    bool json;
    json_t *units;
    json_t *values;
    aot_replay_ask ask;
    int64_t steps;   /* -1: to every break */
    aot_oom_ask oom; /* limit -1: not asked */
    bool several;    /* units: a break need not be in each */
    uint8_t *found;  /* by --break: it selects something in some unit */
    size_t n_findings, n_failed;
    aot_sb text;
    aot_sb script; /* d NULL: none */
} job;

static aot_status set_breaks(job *j, aot_replay *r, aot_err *err)
{
    size_t n = 0;
    for (const char *t; (t = aot_args_nth(j->a, "break", n)) != NULL; n++) {
        aot_err none = {0};
        aot_status st = aot_replay_break(r, t, &none);
        if (st == AOT_OK) {
            j->found[n] = 1;
        } else if (st != AOT_E_RANGE || !j->several) {
            *err = none;
            return st;
        }
    }
    bool all = n == 0 && !aot_args_has(j->a, "script");
    for (size_t i = 0; i < AOT_REPLAY_N_DEFAULT_BREAKS && all; i++) {
        AOT_TRY(aot_replay_break(r, aot_replay_default_breaks[i], err));
    }
    return AOT_OK;
}

static bool is_finding(const aot_replay *r, size_t frame)
{
    for (size_t i = 0; i < aot_replay_n_breaks(r); i++) {
        if (aot_break_get(aot_replay_break_kind(r, i))->finding && aot_replay_holds(r, i, frame)) {
            return true;
        }
    }
    return false;
}

static bool ascii(void)
{
    return (aot_out_table_flags() & AOT_TABLE_ASCII) != 0;
}

static void tell_frame(job *j, const aot_replay_unit *u, json_t *events, size_t frame)
{
    const aot_replay *r = aot_replay_of((aot_replay_unit *)(uintptr_t)u);
    const aot_replay_frame *f = aot_replay_frame_at(r, frame);
    j->n_findings += is_finding(r, frame);
    if (j->json) {
        json_array_append_new(events, aot_replay_frame_json(u, frame));
        return;
    }
    aot_sb stops = {0};
    aot_replay_print_place(&j->text, u, f);
    aot_replay_print_stops(&stops, r, frame);
    if (stops.n > 0) {
        aot_sb_addf(&j->text, "  stopped by %s", aot_sb_text(&stops));
    }
    aot_sb_addz(&j->text, "\n");
    aot_replay_print_frame(&j->text, u, f, ascii());
    aot_sb_free(&stops);
}

/* Numbers drawn between the calls: what a recomputed mask cannot survive. */
static void tell_between(job *j, aot_replay_unit *u)
{
    int64_t n = aot_replay_unit_drawn_between(u);
    if (n > 0) {
        aot_sb_addf(&j->text,
                    "# between forward and backward the generator gave %lld number%s: other calls, "
                    "or the program drew\n",
                    (long long)n, n == 1 ? "" : "s");
    } else if (n < 0) {
        aot_sb_addz(&j->text, "# between forward and backward the generator was seeded anew, or "
                              "gave very many numbers\n");
    }
}

static const char *remedy(const aot_replay_inputs *c)
{
    return c->n_recorded > 0
               ? "record_inputs=BYTES of aotscope_record.session keeps larger ones, or give "
                 "--values"
           : c->of_recorder
               ? "record with aotscope_record.session(..., record_inputs=True), or give --values"
               : "give --values, or record the run with tools/aotscope_record.py, "
                 "session(..., record_inputs=True)";
}

/* Made-up values take the same path through the graph, but are not those of the run. */
static void tell_inputs(aot_sb *out, const aot_replay_unit *u, const job *j)
{
    aot_replay_inputs c = aot_replay_unit_inputs(u);
    if (c.n == 0) {
        return;
    }
    aot_sb_addz(out, "# inputs:");
    if (c.n_given > 0) {
        aot_sb_addf(out, " %u of %u given,", c.n_given, c.n);
    }
    if (c.n_recorded > 0) {
        aot_sb_addf(out, " %u of %u as they were recorded,", c.n_recorded, c.n);
    }
    if (c.n_made_up > 0) {
        aot_sb_addf(out, " %u of %u MADE UP (seed %llu): values, NaN and what follows from them "
                         "need not be the run's; %s\n",
                    c.n_made_up, c.n, (unsigned long long)j->ask.seed, remedy(&c));
    } else {
        aot_sb_addz(out, " none made up\n");
    }
}

static json_t *inputs_json(const aot_replay_unit *u)
{
    aot_replay_inputs c = aot_replay_unit_inputs(u);
    return json_pack("{s:i, s:i, s:i, s:i, s:s*}", "n", (int)c.n, "given", (int)c.n_given,
                     "recorded", (int)c.n_recorded, "made_up", (int)c.n_made_up, "remedy",
                     c.n_made_up > 0 ? remedy(&c) : NULL);
}

static void tell_head(job *j, aot_model *m, size_t unit, aot_replay_unit *u)
{
    const aot_run_call *c = aot_replay_unit_call(u, AOT_REPLAY_FORWARD),
                       *b = aot_replay_unit_call(u, AOT_REPLAY_BACKWARD);
    aot_sb_addf(&j->text, "# unit %zu %s\n", unit, aot_model_unit_line(m, unit));
    aot_sb_addf(&j->text, "# graphs: forward %s",
                aot_replay_unit_recorded(u, AOT_REPLAY_FORWARD) ? "recorded" : "derived");
    if (aot_replay_unit_graph(u, AOT_REPLAY_BACKWARD) != NULL) {
        aot_sb_addf(&j->text, ", backward %s",
                    aot_replay_unit_recorded(u, AOT_REPLAY_BACKWARD) ? "recorded" : "derived");
    }
    if (c != NULL) {
        aot_sb_addf(&j->text, "; generator as in %s %llu%s", c->side, (unsigned long long)c->n,
                    b != NULL ? " and its backward" : "");
    } else {
        aot_sb_addf(&j->text, "; generator seeded with %llu", (unsigned long long)j->ask.seed);
    }
    aot_sb_addz(&j->text, "\n");
    tell_inputs(&j->text, u, j);
    tell_between(j, u);
}

typedef struct telling {
    job *j;
    json_t *events;
} telling;

static void tell_event(void *arg, const aot_replay_unit *u, size_t frame)
{
    const telling *t = arg;
    tell_frame(t->j, u, t->events, frame);
}

static void tell_note(void *arg, const char *text)
{
    const telling *t = arg;
    if (t->j->json && text[0] != '\0') {
        json_array_append_new(t->events, json_pack("{s:s}", "note", text));
    }
    aot_sb_addz(&t->j->text, t->j->json ? "" : text);
}

/* The script's commands, from the first one for each unit. */
static aot_status follow(job *j, aot_replay_unit *u, json_t *events, aot_err *err)
{
    telling told = {j, events};
    aot_replay_teller t = {&told, tell_event, tell_note};
    bool quit = false;
    uint32_t line = 1;
    for (const char *p = aot_sb_text(&j->script); *p != '\0' && !quit; line++) {
        size_t n = strcspn(p, "\n");
        char *text = aot_xmalloc(n + 1);
        aot_err mine = {0};
        memcpy(text, p, n);
        text[n] = '\0';
        aot_status s = aot_replay_do(u, text, &t, &quit, &mine);
        free(text);
        if (s != AOT_OK) {
            return AOT_FAIL(err, s, "--script, line %u: %s", line, mine.msg);
        }
        p += n + (p[n] == '\n');
    }
    return AOT_OK;
}

static void walk(job *j, aot_replay_unit *u, json_t *events)
{
    aot_replay *r = aot_replay_of(u);
    if (j->steps >= 0) {
        for (int64_t i = 0; i < j->steps && aot_replay_step(r, 1); i++) {
            tell_frame(j, u, events, aot_replay_at(r));
        }
        return;
    }
    aot_replay_reach(r, AOT_REPLAY_ALL); // in one run: each stop is told
    while (aot_replay_continue(r)) {
        tell_frame(j, u, events, aot_replay_at(r));
    }
}

/* Of a run that ended early. */
static aot_status broken_by(aot_replay_unit *u, aot_err *err)
{
    const aot_err *broken;
    if (!aot_replay_complete(aot_replay_of(u), &broken) || broken->code == AOT_OK) {
        return AOT_OK;
    }
    *err = *broken;
    return broken->code;
}

/* A unit whose memory is asked for: where it would exceed the device. */
static aot_status tell_oom(job *j, aot_model *m, size_t unit, aot_replay_unit *u, aot_err *err)
{
    json_t *o = NULL;
    bool exceeds = false;
    AOT_TRY(aot_oom_tell(&j->text, j->json ? &o : NULL, &exceeds, m, unit, u, &j->oom, err));
    j->n_findings += exceeds;
    if (o != NULL) {
        json_object_set_new(o, "unit", json_integer((json_int_t)unit));
        json_array_append_new(j->units, o);
    }
    return exceeds ? AOT_OK : broken_by(u, err);
}

/* The stops, or what the script asks for, and the sum. */
static aot_status tell_run(job *j, size_t unit, aot_replay_unit *u, json_t *events, aot_err *err)
{
    if (j->script.d != NULL) {
        AOT_TRY(follow(j, u, events, err));
    } else {
        walk(j, u, events);
    }
    if (j->json) {
        json_t *o = json_pack("{s:I, s:O, s:o}", "unit", (json_int_t)unit, "events", events, "end",
                              aot_replay_sum_json(u));
        json_object_set_new(o, "drawn_between",
                            json_integer((json_int_t)aot_replay_unit_drawn_between(u)));
        json_object_set_new(o, "inputs", inputs_json(u));
        json_array_append_new(j->units, o);
    } else {
        aot_replay_print_sum(&j->text, u);
    }
    return broken_by(u, err);
}

static aot_status replay_unit(job *j, aot_model *m, size_t unit, aot_err *err)
{
    aot_replay_unit *u;
    AOT_TRY(aot_replay_open(&u, m, unit, &j->ask, err));
    json_t *events = json_array();
    aot_status s = set_breaks(j, aot_replay_of(u), err);
    if (s == AOT_OK && !j->json) {
        tell_head(j, m, unit, u);
    }
    if (s == AOT_OK) {
        s = j->oom.limit >= 0 ? tell_oom(j, m, unit, u, err) : tell_run(j, unit, u, events, err);
    }
    aot_cmd_notes(aot_replay_unit_notes(u));
    json_decref(events);
    aot_replay_close(u);
    return s;
}

static aot_status take_options(job *j, aot_err *err)
{
    const char *format, *steps = aot_args_get(j->a, "steps"), *seed = aot_args_get(j->a, "seed"),
                        *call = aot_args_get(j->a, "call"), *values = aot_args_get(j->a, "values");
    AOT_TRY(aot_out_format(&format, j->a, "text,json", err));
    j->json = strcmp(format, "json") == 0;
    j->steps = -1;
    if (steps != NULL && !aot_int_read(&j->steps, steps, 0, INT64_MAX)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--steps takes a number from 0 on, not '%s'", steps);
    }
    j->ask = (aot_replay_ask){
        .call = -1, .bodies = true, .file = values, .wrapped = aot_args_has(j->a, "wrappers")};
    if (seed != NULL && !aot_seed_read(&j->ask.seed, seed)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--seed takes a number, not '%s'", seed);
    }
    if (call != NULL && !aot_int_read(&j->ask.call, call, 0, INT64_MAX)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--call takes a number from 0 on, not '%s'", call);
    }
    const char *memory = aot_args_get(j->a, "device-memory");
    j->oom = (aot_oom_ask){.limit = -1, .dry = aot_args_has(j->a, "dry")};
    if (memory != NULL && !aot_bytes_parse(&j->oom.limit, memory)) {
        return AOT_FAIL(err, AOT_E_USAGE, "--device-memory %s is no size; say 24GiB, 500MB, 8MiB",
                        memory);
    }
    if (memory == NULL && j->oom.dry) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "--dry goes with --device-memory: nothing else can be told without a run");
    }
    if (aot_args_has(j->a, "script")) {
        aot_sb_addz(&j->script, ""); // an empty script is one, too
        AOT_TRY(aot_file_read_text(&j->script, "script", aot_args_get(j->a, "script"), err));
    }
    if (values != NULL) {
        AOT_TRY(aot_values_read(&j->values, values, err));
        j->ask.values = j->values;
    }
    return AOT_OK;
}

static aot_status write_all(job *j, aot_err *err)
{
    if (!j->json) {
        return aot_out_write(j->a, "text", &j->text, err);
    }
    json_t *o = aot_cmd_json();
    json_object_set(o, "units", j->units);
    aot_status s = aot_cmd_write_json(j->a, o, err);
    json_decref(o);
    return s;
}

/* A break that no unit has is a mistake in it. */
static aot_status check_breaks(const job *j, aot_err *err)
{
    const char *t;
    for (size_t i = 0;
         j->several && j->n_failed == 0 && (t = aot_args_nth(j->a, "break", i)) != NULL; i++) {
        if (!j->found[i]) {
            return AOT_FAIL(err, AOT_E_RANGE,
                            "break %.80s: no node of any unit is selected by it; there are nan, "
                            "inf, diff, draws, "
                            "bytes>8MiB, or a selection such as op:mm, node:NAME",
                            t);
        }
    }
    return AOT_OK;
}

static size_t n_breaks(const aot_args *a)
{
    size_t n = 0;
    while (aot_args_nth(a, "break", n) != NULL) {
        n++;
    }
    return n;
}

static int run(const aot_args *a)
{
    job j = {.a = a, .units = json_array(), .found = aot_xcalloc(n_breaks(a) + 1, 1)};
    aot_model *m = NULL;
    aot_err err = {0};
    size_t first = 0, end = 0;
    aot_status s = take_options(&j, &err);
    s = s == AOT_OK ? aot_cmd_open_units(&m, &first, &end, a, &err) : s;
    j.several = end - first > 1;
    for (size_t i = first; i < end && s == AOT_OK; i++) {
        aot_err mine = {0};
        if (replay_unit(&j, m, i, &mine) != AOT_OK) {
            aot_err_in_file(&mine, aot_model_unit(m, i)->input);
            aot_cmd_fail(&mine);
            j.n_failed++;
        }
    }
    s = s == AOT_OK ? check_breaks(&j, &err) : s;
    s = s == AOT_OK ? write_all(&j, &err) : s;
    json_decref(j.units);
    free(j.found);
    json_decref(j.values);
    aot_sb_free(&j.text);
    aot_sb_free(&j.script);
    aot_model_free(m);
    return s != AOT_OK        ? aot_cmd_fail(&err)
           : j.n_failed > 0   ? AOT_EXIT_ERROR
           : j.n_findings > 0 ? AOT_EXIT_DIFFERS
                              : AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"unit", 'u', "N|LABEL", false, "One unit; else all of them."},
    {"break", 'b', "WHAT", true,
     "Where to stop: nan, inf, diff, draws, bytes>8MiB, or a selection of nodes; nan, inf and diff "
     "if absent."},
    {"steps", 0, "N", false, "Tell the first N nodes one by one in place of the stops."},
    {"script", 0, "FILE", false,
     "Commands, one a line (- is standard input): step, next, back, continue, goto, print, break, "
     "info."},
    {"call", 0, "N", false,
     "The recorded forward call whose generator states are taken; the first that had a backward if "
     "absent."},
    {"seed", 0, "N", false,
     "Of made-up inputs, and of the generator where no state was recorded; 0 if absent."},
    {"wrappers", 0, NULL, false,
     "Through the runtime wrappers, on the inputs of the user's function; traced from the Dynamo "
     "graph."},
    {"values", 0, "FILE", false,
     "Values of the inputs by the graph's names (with --wrappers by source, and tangents), JSON as "
     "exec takes it."},
    {"device-memory", 0, "SIZE", false,
     "Where live bytes exceed SIZE (24GiB, 8MiB), what lives there, and the cheapest cut that "
     "fits."},
    {"dry", 0, NULL, false,
     "With --device-memory: by the simulation of live bytes; nothing is run."},
    {"format", 0, "FORMAT", false, "text or json."},
    {"output", 'o', "FILE", false, "Where it goes; standard output if absent."},
    AOT_OPTION_SET,
    {0},
};

#define CMD(name, arg, sentence) "  " #name " " arg "\n    " sentence "\n"
const aot_cmd cmd_replay = {
    .name = "replay",
    .synopsis = "INPUT [--unit N|LABEL] [--break WHAT]... [--steps N | --script FILE] [--set "
                "NAME=VALUE]...",
    .summary = "Run a unit node by node, forward then backward, and stop at NaN, differences, "
               "nodes, bytes",
    .doc = "Runs the forward and the backward as recorded (derived where they are not, or under "
           "other settings) on the "
           "CPU. Of a session by tools/aotscope_record.py the generator starts in the state of the "
           "recorded call, so the "
           "masks are those of that run, and what was drawn is compared with it; values that the "
           "backward computes again "
           "are compared with the forward's, element by element.\n\n"
           "Inputs are those of the call where the program recorded them (record_inputs), or "
           "given; others are made up: floats uniform in [0, 1), integers 0 or 1, "
           "tangents 1. Live bytes are "
           "those of the storages that the run holds, inputs too; with --wrappers also the user's "
           "outputs and tangents, which "
           "the caller keeps. Wrappers that are not run are refused by name. Not "
           "reproduced are the streams of vendors' libraries: MKL's Bernoulli numbers on Intel's "
           "processors, "
           "CUDA's; a node that drew so is named.\n\n"
           "--device-memory SIZE stops where a device of that size would be out of memory. Exit "
           "code 1 if a break was hit that "
           "is a finding (nan, inf, diff, bytes), or the memory does not suffice.\n\nCommands of "
           "--script:\n\n"
#include "tui/replay_commands.def"
    ,
    .examples = "aotscope replay run.aots\n"
                "aotscope replay run.aots --unit 1 --break draws\n"
                "aotscope replay train.log --set activation_memory_budget=0.5 --break diff\n"
                "printf 'break diff\\ncontinue\\nprint\\nback\\ninfo live\\n' | aotscope replay "
                "run.aots --unit 0 --script -\n"
                "aotscope replay train.log --device-memory 24GiB --dry\n"
                "aotscope replay train.log --steps 5 --format json\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = 1,
    .run = run,
};
#undef CMD
