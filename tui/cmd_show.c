/* aotscope show INPUT: a stage's text, the units, the saved values, a recorded artifact. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "partition/select.h"
#include "session/derive.h"
#include "session/saved.h"
#include "tui/open_model.h"
#include "tui/show_filter.h"
#include "tui/saved_by.h"
#include "tui/show_calls.h"
#include "tui/show_engine.h"
#include "tui/show_marks.h"
#include "tui/show_saved.h"
#include "tui/summary.h"
#include "viewers/format.h"
#include "viewers/table.h"

/* ---- stages ------------------------------------------------------------------------------------
 */

/* The stage to show when none is asked for: the one a person most likely means. */
static aot_stage best_stage(aot_model *m, size_t unit)
{
    static const aot_stage order[] = {AOT_STAGE_JOINT, AOT_STAGE_EXPORT, AOT_STAGE_INFERENCE,
                                      AOT_STAGE_FORWARD, AOT_STAGE_BACKWARD, AOT_STAGE_DYNAMO};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (aot_model_stage(m, unit, order[i]).origin == AOT_ORIGIN_RECORDED) {
            return order[i];
        }
    }
    return AOT_STAGE_JOINT;
}

static const char *origin_name(aot_origin o)
{
    return o == AOT_ORIGIN_RECORDED ? "recorded" : o == AOT_ORIGIN_DERIVED ? "derived" : "missing";
}

/* Recorded text as it was recorded, even if it cannot be parsed; derived text as PyTorch prints it.
 */
static aot_status stage_text(aot_model *m, size_t unit, aot_stage s, aot_sb *out, aot_err *err)
{
    const aot_unit *u = aot_model_unit(m, unit);
    aot_stage_status status = aot_model_stage(m, unit, s);
    if (status.origin == AOT_ORIGIN_RECORDED) {
        const aot_record *rec = aot_unit_stage(u, s);
        aot_sb_add(out, rec->text, rec->len);
        if (rec->len > 0 && rec->text[rec->len - 1] != '\n') {
            aot_sb_addc(out, '\n');
        }
        return AOT_OK;
    }
    if (s == AOT_STAGE_RUNTIME) {
        const aot_runtime *r = NULL;
        AOT_TRY(aot_model_runtime(m, unit, &r, err));
        aot_runtime_print(out, r);
        return AOT_OK;
    }
    const aot_graph *g = NULL;
    AOT_TRY(aot_model_graph(m, unit, s, &g, err));
    if (!aot_stage_is_captured(s)) {
        const aot_partition *p = NULL; // it follows from the cut: that is there
        AOT_TRY(aot_model_partition(m, unit, &p, err));
        aot_show_warn_passes(m, unit, p);
    }
    aot_print_graph(out, g, AOT_PRINT_PLAIN);
    return AOT_OK;
}

/* The graph of the stage before is made, too, to say whether this step changed anything. */
static const char *unchanged_from(aot_model *m, size_t unit, aot_stage s)
{
    const aot_graph *g = NULL;
    aot_stage before = aot_stage_before(s);
    if (before == AOT_N_STAGES || aot_model_graph(m, unit, s, &g, NULL) != AOT_OK) {
        return NULL;
    }
    for (; before != AOT_N_STAGES && aot_model_graph(m, unit, before, &g, NULL) != AOT_OK;) {
        before = aot_stage_before(before);
    }
    return aot_model_stage(m, unit, s).same_as;
}

static aot_status no_such_stage(const char *name, aot_err *err)
{
    aot_sb all = {0};
    for (int i = 0; i < AOT_N_STAGES; i++) {
        aot_sb_addf(&all, "%s%s", i > 0 ? ", " : "", aot_stage_get((aot_stage)i)->name);
    }
    aot_status st = AOT_FAIL(err, AOT_E_USAGE, "there is no stage '%s'; there are %s", name,
                             aot_sb_text(&all));
    aot_sb_free(&all);
    return st;
}

static aot_status show_stage(aot_model *m, size_t unit, const char *name, aot_show_want *w,
                             aot_err *err)
{
    aot_stage s = name != NULL ? aot_stage_find(name) : best_stage(m, unit);
    if (s == AOT_N_STAGES) {
        return no_such_stage(name, err);
    }
    aot_sb text = {0};
    aot_status st = stage_text(m, unit, s, &text, err);
    const char *same = st == AOT_OK && name != NULL ? unchanged_from(m, unit, s) : NULL;
    if (st == AOT_OK && w->json) {
        char label[96];
        aot_stage_status status = aot_model_stage(m, unit, s);
        json_t *j = json_pack("{s:i, s:s, s:s, s:s, s:s%}", "unit", (int)unit, "label",
                              aot_unit_label(&aot_model_unit(m, unit)->key, label, sizeof label),
                              "stage", aot_stage_get(s)->name, "origin", origin_name(status.origin),
                              "text", aot_sb_text(&text), text.n);
        if (j == NULL) { /* not UTF-8 */
            st = AOT_FAIL(err, AOT_E_FORMAT, "the text of stage %s is not UTF-8 and cannot be JSON",
                          aot_stage_get(s)->name);
        } else {
            json_object_set_new(j, "same_as", same != NULL ? json_string(same) : json_null());
            const aot_runtime *r = NULL;
            if (s == AOT_STAGE_RUNTIME && aot_model_runtime(m, unit, &r, NULL) == AOT_OK) {
                json_t *fields = aot_runtime_json(r);
                json_object_update(j, fields);
                json_decref(fields);
            }
            json_array_append_new(w->units, j);
        }
    } else if (st == AOT_OK) {
        if (w->several) {
            aot_show_unit_head(m, unit);
        }
        fwrite(aot_sb_text(&text), 1, text.n, stdout);
        if (same != NULL) {
            aot_cmd_note("unit %zu: %s changed nothing: the same as %s\n", unit,
                    aot_stage_get(s)->name, same);
        }
    }
    aot_sb_free(&text);
    return st;
}

static aot_status show_record(aot_model *m, size_t unit, const char *name, aot_show_want *w,
                              aot_err *err)
{
    const aot_unit *u = aot_model_unit(m, unit);
    size_t n = 0;
    for (size_t i = 0; i < u->records.n; i++) {
        const aot_record *r = &u->records.d[i];
        if (strcmp(r->name, name) != 0) {
            continue;
        }
        n++;
        const char *text = r->text != NULL ? r->text : r->meta != NULL ? r->meta : "";
        if (w->json) {
            json_array_append_new(w->units,
                                  json_pack("{s:i, s:s, s:I, s:s}", "unit", (int)unit, "record",
                                            name, "line", (json_int_t)r->line, "text", text));
        } else {
            fputs(text, stdout);
            if (text[0] == 0 || text[strlen(text) - 1] != '\n') {
                putchar('\n');
            }
        }
    }
    if (n == 0) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "the unit has no record '%s'; `aotscope info INPUT --records` lists them",
                        name);
    }
    return AOT_OK;
}

/* ---- calls -------------------------------------------------------------------------------------
 */

static aot_status show_calls(aot_model *m, size_t unit, aot_show_want *w, aot_err *err)
{
    const aot_calls *c = NULL;
    AOT_TRY(aot_model_calls(m, unit, &c, err));
    if (c == NULL) {
        return w->redact ? AOT_FAIL(err, AOT_E_PIPELINE,
                                    "--redact shows no recorded calls: they hold the run's values")
                         : AOT_FAIL(err, AOT_E_PIPELINE,
                                    "no run was recorded of this unit, or --redact left it out: "
                                    "tools/aotscope_record.py records one");
    }
    if (w->json) {
        char label[96];
        json_t *j = aot_calls_json(c);
        json_object_set_new(j, "unit", json_integer((json_int_t)unit));
        json_object_set_new(j, "label", json_string(aot_unit_label(&aot_model_unit(m, unit)->key,
                                                                   label, sizeof label)));
        json_array_append_new(w->units, j);
    } else {
        aot_show_unit_head(m, unit);
        aot_calls_print(c);
    }
    return AOT_OK;
}

/* ---- a backward of Compiled Autograd -----------------------------------------------------------
 */

static aot_status show_engine(aot_model *m, size_t unit, aot_show_want *w, aot_err *err)
{
    aot_engine *e = NULL;
    AOT_TRY(aot_engine_read(&e, m, unit, err));
    if (w->json) {
        char label[96];
        json_t *j = aot_engine_json(e, m);
        json_object_set_new(j, "unit", json_integer((json_int_t)unit));
        json_object_set_new(j, "label", json_string(aot_unit_label(&aot_model_unit(m, unit)->key,
                                                                   label, sizeof label)));
        json_array_append_new(w->units, j);
    } else {
        aot_show_unit_head(m, unit);
        aot_engine_print(e, m);
    }
    aot_engine_free(e);
    return AOT_OK;
}

/* ---- the command -------------------------------------------------------------------------------
 */

/* Units to show: those asked for; else all for --saved, and the first that has the stage. */
static aot_status choose(aot_model *m, const aot_args *a, aot_unit_list *out, aot_err *err)
{
    const char *which = aot_args_get(a, "unit");
    size_t n = aot_model_n_units(m);
    if (n == 0) {
        return AOT_FAIL(
            err, AOT_E_PIPELINE,
            "the input holds no compiled graph; `aotscope info INPUT` tells what it holds");
    }
    if (which != NULL) {
        return aot_cmd_find_units(out, m, which, err);
    }
    for (size_t i = 0; i < n; i++) {
        aot_vec_push(out, i);
    }
    return AOT_OK;
}

static aot_status show_filtered(aot_model *m, size_t unit, const aot_args *a,
                                const aot_show_want *w, bool first, aot_err *err)
{
    const char *name = aot_args_get(a, "stage");
    aot_filtered f = {.filter = aot_args_get(a, "filter"), .csv = w->csv, .several = w->several,
                      .units = w->units, .fold = aot_args_has(a, "fold")};
    aot_stage s = name != NULL ? aot_stage_find(name) : AOT_N_STAGES;
    if (name != NULL && s == AOT_N_STAGES) {
        return no_such_stage(name, err);
    }
    f.head = first || !w->csv;
    return aot_args_has(a, "modules") ? aot_show_modules(m, unit, s, &f, err)
                                      : aot_show_filtered(m, unit, s, &f, err);
}

static aot_status show_one(aot_model *m, size_t unit, const aot_args *a, aot_show_want *w,
                           bool first, aot_err *err)
{
    const char *record = aot_args_get(a, "record");
    return record != NULL              ? show_record(m, unit, record, w, err)
           : aot_args_has(a, "calls")  ? show_calls(m, unit, w, err)
           : aot_args_has(a, "engine") ? show_engine(m, unit, w, err)
           : aot_args_has(a, "filter") || aot_args_has(a, "fold") || aot_args_has(a, "modules")
               ? show_filtered(m, unit, a, w, first, err)
           : aot_args_has(a, "saved") || w->by != NULL || w->sort != NULL
               ? aot_show_saved(m, unit, w, first, err)
               : show_stage(m, unit, aot_args_get(a, "stage"), w, err);
}

static aot_status show_units(aot_model *m, const aot_args *a, aot_show_want *w, aot_err *err)
{
    aot_unit_list units = {0};
    size_t n_shown = 0;
    bool record = aot_args_get(a, "record") != NULL;
    aot_status result = choose(m, a, &units, err);
    bool one = units.n == 1;
    w->several = !one;
    for (size_t i = 0; i < units.n && result == AOT_OK; i++) {
        aot_err own = {0};
        aot_status st = show_one(m, units.d[i], a, w, n_shown == 0, &own);
        n_shown += st == AOT_OK;
        bool ends = (one || st == AOT_E_USAGE || st == AOT_E_IO) && !(record && !one);
        if (st != AOT_OK && (ends || (i + 1 == units.n && n_shown == 0))) {
            *err = own;
            result = st;
        } else if (st != AOT_OK && st != AOT_E_PIPELINE && !record) {
            aot_cmd_note("aotscope: unit %zu: %s\n", units.d[i], own.msg);
        }
    }
    aot_vec_free(&units);
    return result;
}

static int run(const aot_args *a)
{
    aot_model *m = NULL;
    aot_err err = {0};
    if (aot_cmd_open(&m, a, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    aot_show_want w = {.json = aot_args_has(a, "json"), .csv = aot_args_has(a, "csv")};
    w.redact = aot_args_has(a, "redact");
    w.by = aot_args_get(a, "by");
    w.no_fold = aot_args_has(a, "no-fold");
    w.sort = aot_args_get(a, "sort");
    int code = AOT_EXIT_SAME;
    if (aot_args_has(a, "marks")) {
        if (w.json) {
            json_t *j = aot_cmd_json();
            json_object_set_new(j, "marks", aot_marks_json(m));
            aot_cmd_print_json(j);
        } else {
            aot_marks_print(m, w.csv);
        }
    } else if (aot_args_has(a, "units")) {
        if (w.json) {
            json_t *j = aot_cmd_json();
            json_object_set_new(j, "units", aot_units_json(m));
            aot_cmd_print_json(j);
        } else {
            aot_units_print(stdout, m, w.csv);
        }
    } else {
        w.units = w.json ? json_array() : NULL;
        aot_status st = show_units(m, a, &w, &err);
        if (st == AOT_OK && w.json) {
            json_t *j = aot_cmd_json();
            json_object_set(j, "units", w.units);
            aot_cmd_print_json(j);
        }
        json_decref(w.units);
        code = st == AOT_OK ? AOT_EXIT_SAME : aot_cmd_fail(&err);
    }
    aot_model_free(m);
    return code;
}

static const aot_option options[] = {
    {"unit", 'u', "N|LABEL", false,
     "One unit, by number or label (3, 0/1, '[0/1] rank 2'); else all."},
    {"stage", 's', "STAGE", false, "The stage; without it the joint, else the inference graph."},
    {"saved", 0, NULL, false,
     "The values that the forward saves for the backward, with size, source and reason."},
    {"by", 0, "KEY", false,
     "With --saved: bytes by line, op, region, reason, type or module, most first."},
    {"no-fold", 0, NULL, false,
     "With --by module: each layer for itself; else modules that differ in numbers alone are one."},
    {"sort", 0, "KEY", false,
     "With --saved: by bytes, name, line, op, region, uses or reason; else in PyTorch's order."},
    {"calls", 0, NULL, false,
     "What the compiled graphs did when they ran, if tools/aotscope_record.py recorded it."},
    {"filter", 0, "SELECTION", false,
     "The nodes that a selection means (`aotscope help selection`), a line each."},
    {"fold", 0, NULL, false,
     "The nodes of the stage or of --filter, layers that look the same once."},
    {"modules", 0, NULL, false,
     "Modules of the stage (functions where none is known), with nodes and saved bytes."},
    {"engine", 0, NULL, false,
     "A backward of Compiled Autograd: the engine's node calls, and which unit's backward each "
     "part is."},
    {"units", 0, NULL, false, "The list of units."},
    {"marks", 0, NULL, false, "Marks and notes about nodes, as kept from the interface."},
    {"record", 'r', "NAME", false, "A record or artifact of the log, as it is."},
    {"json", 0, NULL, false, "Print JSON."},
    {"csv", 0, NULL, false, "Print comma-separated values (--saved, --units, --marks)."},
    AOT_OPTIONS_INPUT,
    {0},
};

const aot_cmd cmd_show = {
    .name = "show",
    .synopsis = "INPUT... [--unit N|LABEL] [--stage STAGE | --saved | --filter SELECTION | --fold "
                "| --modules | --calls | --engine | --units | --marks | --record NAME] "
                "[--json | --csv]",
    .summary = "Print a stage, the units, or what is saved and why",
    .doc =
        "Prints the text of a stage as PyTorch prints it: the recorded text where the input has "
        "it, else "
        "the derived one. With --saved, one line a value: type, bytes, name, source line, users "
        "in the "
        "backward, and why it is saved and not recomputed. The total is given twice, with and "
        "without what "
        "shares memory with an input or another saved value and so costs nothing: a storage counts "
        "once, "
        "with the first of its values. With --calls, of a session that a program "
        "recorded: each call with its time, saved bytes, peak, and what its random nodes drew; "
        "what a "
        "backward drew again is compared with its forward.\n\n"
        "The stage runtime is no graph: it lists the wrappers of a call in order, outermost first, "
        "with what each does to the unit, then ViewAndMutationMeta with the indices that PyTorch "
        "computes from it, and AOTConfig: each field with the setting that changes it, or why "
        "there is none.\n\n"
        "Stages: dynamo, aten, joint_traced, joint_functional, joint, joint_passes, joint_cse, "
        "forward, "
        "backward, inference, export, runtime.",
    .examples = "aotscope show train.log --units\n"
                "aotscope show train.log --unit 0/1 --stage forward\n"
                "aotscope show train.log --unit 0/1 --stage runtime\n"
                "aotscope show train.log --saved --set activation_memory_budget=0\n"
                "aotscope show train.log --saved --by module\n"
                "aotscope show run.aots --calls\n"
                "aotscope show train.log --unit '!0' --engine\n"
                "aotscope show train.log --unit 0/1 --filter 'op:mm saved bytes>1M'\n"
                "aotscope show train.log --fold\n"
                "aotscope show train.log --record aot_forward_graph_fw_metadata\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
