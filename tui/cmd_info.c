/* aotscope info [INPUT...]: what an input holds and lacks, and how to get it; settings that differ
 * from PyTorch's defaults; notes. Without an input: the program, its libraries and its files.
 *
 * Units that lack a stage for the same reason, or were compiled under the same settings, share a
 * line: a log of a hundred units stays readable. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/derive.h"
#include "session/session.h"
#include "tui/open_model.h"
#include "tui/show_calls.h"
#include "tui/shared_lines.h"
#include "tui/show_marks.h"
#include "viewers/canvas.h"
#include "viewers/format.h"
#include "viewers/table.h"

enum { NOTES_SHOWN = 30 };

/* ---- what is collected -------------------------------------------------------------------------
 */

typedef struct facts {
    aot_shared_lines versions, settings, budgets, unrecorded, other, missing, restarts, checks,
        calls, assumed;
    size_t n_stage[AOT_N_STAGES], n_path[4], n_opaque_units;
} facts;

static void collect_settings(aot_model *m, size_t unit, facts *f)
{
    aot_config config, defaults;
    if (aot_model_unit(m, unit)->config == NULL) {
        aot_shared_add(&f->unrecorded,
                   "not recorded: PyTorch's defaults are assumed; --set changes them", unit);
    }
    if (aot_model_config(m, unit, &config, NULL) != AOT_OK) {
        return;
    }
    aot_config_init(&defaults);
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *row = aot_config_row_at(i);
        aot_sb value = {0}, def = {0}, line = {0};
        aot_config_print(&value, &config, row);
        aot_config_print(&def, &defaults, row);
        bool differs = strcmp(aot_sb_text(&value), aot_sb_text(&def)) != 0;
        if (differs) {
            aot_sb_addf(&line, "%s = %s, default %s", row->name, aot_sb_text(&value),
                        aot_sb_text(&def));
            aot_shared_add(&f->settings, aot_sb_text(&line), unit);
        }
        if (strcmp(row->name, "activation_memory_budget") == 0) {
            aot_sb_clear(&line);
            aot_sb_addf(&line, "%s = %s%s", row->name, aot_sb_text(&value),
                        differs ? "" : ", the default");
            aot_shared_add(&f->budgets, aot_sb_text(&line), unit);
        }
        aot_sb_free(&value);
        aot_sb_free(&def);
        aot_sb_free(&line);
    }
}

/* Whether a log of this unit would have the stage, had everything been asked for. */
static bool is_expected(const aot_unit *u, aot_stage s)
{
    const char *path = aot_unit_path(u);
    switch (s) {
    case AOT_STAGE_DYNAMO:
        return strcmp(path, "export") != 0;
    case AOT_STAGE_JOINT:
    case AOT_STAGE_FORWARD:
    case AOT_STAGE_BACKWARD:
        return strcmp(path, "autograd") == 0 || (path[0] == 0 && s == AOT_STAGE_JOINT);
    case AOT_STAGE_INFERENCE:
        return strcmp(path, "inference") == 0;
    default:
        return false; /* never printed, or of another path */
    }
}

/* What the session holds of a unit's checks. */
static void collect_checks(const aot_model *m, size_t unit, facts *f)
{
    aot_arena *a = aot_arena_new();
    aot_check_result r[AOT_N_STAGES];
    size_t n = aot_model_checks(m, unit, r, a);
    for (size_t i = 0; i < n; i++) {
        aot_sb line = {0};
        aot_sb_addf(&line, "%s: %s%s%s", aot_stage_get(r[i].stage)->name,
                    aot_check_verdict_name(r[i].verdict), r[i].reason != NULL ? ", " : "",
                    r[i].reason != NULL ? r[i].reason : "");
        aot_shared_add(&f->checks, aot_sb_text(&line), unit);
        aot_sb_free(&line);
    }
    aot_arena_free(a);
}

static void collect_calls(aot_model *m, size_t unit, facts *f)
{
    const aot_calls *c = NULL;
    if (aot_model_calls(m, unit, &c, NULL) == AOT_OK && c != NULL) {
        char *line = aot_calls_line(c);
        aot_shared_add(&f->calls, line, unit);
        free(line);
    }
}

static void collect(aot_model *m, facts *f)
{
    static const char *const paths[] = {"autograd", "inference", "export"};
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        const aot_unit *u = aot_model_unit(m, i);
        aot_sb line = {0};
        const char *version =
            u->torch_version != NULL && u->torch_version[0] != 0 ? u->torch_version : "unknown";
        aot_sb_addf(&line, "PyTorch %s%s%s", version, u->backend[0] != 0 ? ", backend " : "",
                    u->backend);
        aot_shared_add(&f->versions, aot_sb_text(&line), i);
        int path = 3;
        for (int k = 0; k < 3; k++) {
            path = strcmp(aot_unit_path(u), paths[k]) == 0 ? k : path;
        }
        f->n_path[path]++;
        collect_settings(m, i, f);
        if (aot_model_assumed(m, i) != NULL) {
            aot_shared_add(&f->assumed, aot_model_assumed(m, i), i);
        }
        char restart[160];
        if (*aot_model_restart_words(m, i, restart, sizeof restart) != '\0') {
            aot_shared_add(&f->restarts, restart, i);
        }
        collect_checks(m, i, f);
        collect_calls(m, i, f);
        for (int s = 0; s < AOT_N_STAGES; s++) {
            /* what the input holds, whatever --set says */
            aot_origin origin = aot_unit_stage_status(u, (aot_stage)s).origin;
            f->n_stage[s] += origin == AOT_ORIGIN_RECORDED;
            if (origin == AOT_ORIGIN_RECORDED &&
                aot_model_stage(m, i, (aot_stage)s).origin == AOT_ORIGIN_DERIVED) {
                aot_sb_clear(&line);
                aot_sb_addf(&line, "%s: recorded, and derived under other settings than recorded",
                            aot_stage_get((aot_stage)s)->name);
                aot_shared_add(&f->other, aot_sb_text(&line), i);
            }
            if (origin != AOT_ORIGIN_RECORDED && is_expected(u, (aot_stage)s)) {
                aot_sb_clear(&line);
                aot_sb_addf(&line, "%s: %s", aot_stage_get((aot_stage)s)->name,
                            *restart != '\0' ? restart : aot_unit_missing_reason(u, (aot_stage)s));
                aot_shared_add(&f->missing, aot_sb_text(&line), i);
            }
        }
        aot_sb_free(&line);
    }
}

/* ---- output ------------------------------------------------------------------------------------
 */

static void print_count(uint64_t n, const char *noun)
{
    printf(", %" PRIu64 " %s%s", n, noun, n == 1 ? "" : "s");
}

static void print_files(const aot_model *m)
{
    char bytes[32];
    const char *session = NULL;
    for (size_t i = 0; i < aot_model_n_files(m); i++) {
        const aot_model_file *f = aot_model_file_at(m, i);
        const aot_import_stats *t = &f->stats;
        if (f->session != NULL && (session == NULL || strcmp(session, f->session) != 0)) {
            printf("session %s, of:\n", f->session);
        }
        session = f->session;
        printf("%s: %s", strcmp(f->path, "-") == 0 ? "standard input" : f->path,
               aot_format_bytes(bytes, sizeof bytes, (int64_t)t->bytes));
        print_count(t->lines, "line");
        print_count(t->records, "record");
        print_count(t->graphs, "graph");
        print_count(t->units, "unit");
        if (t->skipped_records > 0) {
            printf(", %" PRIu64 " records of unknown kinds", t->skipped_records);
        }
        if (t->damaged_records > 0) {
            printf(", %" PRIu64 " damaged", t->damaged_records);
        }
        if (t->payload_mismatches > 0) {
            printf(", %" PRIu64 " payload%s whose sum differs", t->payload_mismatches,
                   t->payload_mismatches == 1 ? "" : "s");
        }
        puts("");
        if (f->failure != NULL) {
            printf("  could not be imported: %s\n", f->failure);
        }
    }
}

/* What notes of the same kind have in common: the text without numbers and what is in brackets. */
static char *note_form(const aot_import_note *n)
{
    aot_sb b = {0};
    int depth = 0;
    aot_sb_addf(&b, "%s:", n->kind);
    for (const char *p = n->text; *p != 0; p++) {
        depth += *p == '(' || *p == '[';
        if (depth == 0 && !(*p >= '0' && *p <= '9') && !(*p == 's' && p[1] == ' ')) {
            aot_sb_addc(&b, *p);
        }
        depth -= depth > 0 && (*p == ')' || *p == ']');
    }
    char *form = aot_xstrdup(aot_sb_text(&b));
    aot_sb_free(&b);
    return form;
}

typedef struct note_group {
    char *form;
    const aot_import_note *first;
    size_t unit, n; /* unit SIZE_MAX: of none */
} note_group;

typedef AOT_VEC(note_group) note_groups;

static void add_note(note_groups *v, const aot_import_note *n, size_t unit, bool all)
{
    char *form = note_form(n);
    for (size_t i = 0; i < v->n && !all; i++) {
        if (strcmp(v->d[i].form, form) == 0) {
            v->d[i].n++;
            free(form);
            return;
        }
    }
    aot_vec_push(v, ((note_group){form, n, unit, 1}));
}

static void print_group(const aot_model *m, const note_group *g)
{
    const aot_import_note *n = g->first;
    printf("  ");
    if (g->unit != SIZE_MAX) {
        printf("unit ");
        aot_print_unit_name(m, g->unit);
        putchar(' ');
    }
    if (n->file != NULL && n->file[0] != 0 && n->line > 0) {
        printf("%s:%" PRIu64 ": ", n->file, n->line);
    } else if (n->file != NULL && n->file[0] != 0) {
        printf("%s: ", n->file);
    }
    printf("%s: %s", n->kind, n->text);
    if (g->n > 1) {
        printf(" (and %zu more of this kind)", g->n - 1);
    }
    puts("");
}

/* Notes of the same kind share a line, unless all are asked for. */
static void print_notes(const aot_model *m, bool all)
{
    note_groups v = {0};
    bool more = false;
    for (size_t i = 0; i < aot_model_n_notes(m); i++) {
        add_note(&v, aot_model_note(m, i), SIZE_MAX, all);
    }
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        const aot_unit *u = aot_model_unit(m, i);
        for (size_t k = 0; k < u->notes.n; k++) {
            add_note(&v, &u->notes.d[k], i, all);
        }
    }
    if (v.n > 0) {
        printf("\nNotes\n");
    }
    for (size_t i = 0; i < v.n; i++) {
        if (all || i < NOTES_SHOWN) {
            print_group(m, &v.d[i]);
        }
        more |= v.d[i].n > 1;
    }
    if (!all && v.n > NOTES_SHOWN) {
        printf("  and %zu more\n", v.n - NOTES_SHOWN);
    }
    if (more || (!all && v.n > NOTES_SHOWN)) {
        printf("  --notes prints all\n");
    }
    for (size_t i = 0; i < v.n; i++) {
        free(v.d[i].form);
    }
    aot_vec_free(&v);
}

static void print_facts(const aot_model *m, const facts *f)
{
    printf("\n%zu unit%s: %zu autograd, %zu inference, %zu export, %zu without an AOT graph\n",
           aot_model_n_units(m), aot_model_n_units(m) == 1 ? "" : "s", f->n_path[0], f->n_path[1],
           f->n_path[2], f->n_path[3]);
    printf("recorded graphs:");
    const char *sep = " ";
    for (int s = 0; s < AOT_N_STAGES; s++) {
        if (f->n_stage[s] > 0) {
            printf("%s%zu %s", sep, f->n_stage[s], aot_stage_get((aot_stage)s)->name);
            sep = ", ";
        }
    }
    puts(sep[0] == ' ' ? " none" : "");
    if (f->versions.n > 0) {
        printf("\nWritten by\n");
        aot_shared_print(m, &f->versions);
    }
    printf("\nSettings that differ from PyTorch 2.11's defaults; backend: what compiled\n");
    if (f->settings.n == 0 && f->unrecorded.n == 0) {
        puts("  none");
    }
    aot_shared_print(m, &f->settings);
    aot_shared_print(m, &f->unrecorded);
    if (f->budgets.n > 0) {
        printf("\nMemory budget\n");
        aot_shared_print(m, &f->budgets);
    }
    if (f->assumed.n > 0) {
        printf("\nSizes that figures assume\n");
        aot_shared_print(m, &f->assumed);
    }
    if (f->other.n > 0) {
        printf("\nStages under the settings given\n");
        aot_shared_print(m, &f->other);
    }
    if (f->restarts.n > 0) {
        printf("\nAttempts at a compile that Dynamo gave up\n");
        aot_shared_print(m, &f->restarts);
    }
    if (f->missing.n > 0) {
        printf("\nStages that the input lacks\n");
        aot_shared_print(m, &f->missing);
    }
    if (f->checks.n > 0) {
        printf("\nRecorded stages, derived again\n");
        aot_shared_print(m, &f->checks);
    }
    if (f->calls.n > 0) {
        printf("\nWhat ran (show --calls tells more)\n");
        aot_shared_print(m, &f->calls);
    }
}

static void print_records(const aot_model *m)
{
    aot_table *t = aot_table_new();
    aot_table_column(t, "unit", AOT_RIGHT, 0);
    aot_table_column(t, "record", AOT_LEFT, 0);
    aot_table_column(t, "stage", AOT_LEFT, 0);
    aot_table_column(t, "line", AOT_RIGHT, 0);
    aot_table_column(t, "bytes", AOT_RIGHT, 0);
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        const aot_unit *u = aot_model_unit(m, i);
        for (size_t k = 0; k < u->records.n; k++) {
            const aot_record *r = &u->records.d[k];
            aot_table_row(t);
            aot_table_cellf(t, "%zu", i);
            aot_table_cell(t, r->name);
            aot_table_cell(t, r->stage < AOT_N_STAGES ? aot_stage_get(r->stage)->name : "");
            if (r->line > 0) {
                aot_table_cellf(t, "%" PRIu64, r->line);
            } else {
                aot_table_cell(t, "");
            }
            if (r->text != NULL) {
                aot_table_bytes(t, (int64_t)r->len);
            } else {
                aot_table_cell(t, r->n_missing > 0 ? "missing" : "");
            }
        }
    }
    aot_sb out = {0};
    aot_table_print(&out, t, aot_locale_is_utf8() ? 0 : AOT_TABLE_ASCII, 0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    aot_table_free(t);
}

static const char *keys_path(char *buf, size_t size)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (xdg != NULL && xdg[0] != 0) {
        snprintf(buf, size, "%s/aotscope/keys", xdg);
    } else {
        snprintf(buf, size, "%s/.config/aotscope/keys", home != NULL ? home : "~");
    }
    return buf;
}

static bool is_readable(const char *path)
{
    FILE *f = fopen(path, "r");
    if (f != NULL) {
        fclose(f);
    }
    return f != NULL;
}

static void print_program(void)
{
    char keys[512];
    keys_path(keys, sizeof keys);
    printf("aotscope %s, rules of PyTorch 2.11, session format %d\n", PACKAGE_VERSION,
           AOT_SESSION_VERSION);
    printf("SQLite %s, jansson %s\n", aot_session_library(), JANSSON_VERSION);
    printf("key bindings: %s%s\n", keys,
           is_readable(keys) ? "" : " (not there: the built-in ones are used)");
    printf("%zu settings (`--set`), %zu operators known by name\n", aot_config_count(),
           aot_op_count() - 1);
}

static json_t *files_json(const aot_model *m)
{
    json_t *list = json_array();
    for (size_t i = 0; i < aot_model_n_files(m); i++) {
        const aot_model_file *f = aot_model_file_at(m, i);
        const aot_import_stats *t = &f->stats;
        json_t *j = json_pack("{s:s, s:s?, s:s?, s:I, s:I, s:I, s:I, s:i, s:I, s:I, s:I}", "path",
                              f->path, "session", f->session, "error", f->failure, "bytes",
                              (json_int_t)t->bytes, "lines", (json_int_t)t->lines, "records",
                              (json_int_t)t->records, "graphs", (json_int_t)t->graphs, "units",
                              (int)t->units, "skipped_records", (json_int_t)t->skipped_records,
                              "damaged_records", (json_int_t)t->damaged_records,
                              "payload_mismatches", (json_int_t)t->payload_mismatches);
        json_array_append_new(list, j);
    }
    return list;
}

static void append_note(json_t *list, const aot_import_note *n, int unit)
{
    json_t *j = json_pack("{s:s, s:s, s:s?, s:I}", "kind", n->kind, "text", n->text, "file",
                          n->file, "line", (json_int_t)n->line);
    if (j != NULL && unit >= 0) {
        json_object_set_new(j, "unit", json_integer(unit));
    }
    json_array_append_new(list, j);
}

static void print_json(aot_model *m, const facts *f)
{
    json_t *j = aot_cmd_json(), *graphs = json_object(), *notes = json_array();
    for (int s = 0; s < AOT_N_STAGES; s++) {
        if (f->n_stage[s] > 0) {
            json_object_set_new(graphs, aot_stage_get((aot_stage)s)->name,
                                json_integer((json_int_t)f->n_stage[s]));
        }
    }
    for (size_t i = 0; i < aot_model_n_notes(m); i++) {
        append_note(notes, aot_model_note(m, i), -1);
    }
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        for (size_t k = 0; k < aot_model_unit(m, i)->notes.n; k++) {
            append_note(notes, &aot_model_unit(m, i)->notes.d[k], (int)i);
        }
    }
    json_object_set_new(j, "files", files_json(m));
    json_object_set_new(j, "units", json_integer((json_int_t)aot_model_n_units(m)));
    json_object_set_new(j, "recorded_graphs", graphs);
    json_object_set_new(j, "written_by", aot_shared_json(&f->versions));
    json_object_set_new(j, "settings", aot_shared_json(&f->settings));
    json_object_set_new(j, "settings_not_recorded", aot_shared_json(&f->unrecorded));
    json_object_set_new(j, "budget", aot_shared_json(&f->budgets));
    json_object_set_new(j, "assumed", aot_shared_json(&f->assumed));
    json_object_set_new(j, "derived_under_other_settings", aot_shared_json(&f->other));
    json_object_set_new(j, "missing", aot_shared_json(&f->missing));
    json_object_set_new(j, "restarts", aot_shared_json(&f->restarts));
    json_object_set_new(j, "checks", aot_shared_json(&f->checks));
    json_object_set_new(j, "calls", aot_shared_json(&f->calls));
    json_object_set_new(j, "notes", notes);
    json_object_set_new(j, "marks", aot_marks_json(m));
    aot_cmd_print_json(j);
}

static void print_marks(aot_model *m)
{
    json_t *marks = aot_marks_json(m);
    if (json_array_size(marks) > 0) {
        printf("marks and notes: %zu (aotscope show --marks)\n", json_array_size(marks));
    }
    json_decref(marks);
}

static int run(const aot_args *a)
{
    if (a->n_inputs == 0) {
        print_program();
        return AOT_EXIT_SAME;
    }
    aot_model *m = NULL;
    aot_err err = {0};
    if (aot_cmd_open(&m, a, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    facts f = {0};
    if (aot_args_has(a, "records")) {
        print_records(m);
    } else {
        collect(m, &f);
        if (aot_args_has(a, "json")) {
            print_json(m, &f);
        } else {
            print_files(m);
            print_facts(m, &f);
            print_notes(m, aot_args_has(a, "notes"));
            print_marks(m);
        }
    }
    aot_shared_free(&f.versions);
    aot_shared_free(&f.settings);
    aot_shared_free(&f.budgets);
    aot_shared_free(&f.unrecorded);
    aot_shared_free(&f.other);
    aot_shared_free(&f.missing);
    aot_shared_free(&f.restarts);
    aot_shared_free(&f.checks);
    aot_shared_free(&f.calls);
    aot_shared_free(&f.assumed);
    aot_model_free(m);
    return AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"records", 0, NULL, false,
     "List every record of the units, with its line in the input and its size."},
    {"notes", 0, NULL, false, "Print all notes, not only the first ones."},
    {"json", 0, NULL, false, "Print JSON."},
    AOT_OPTIONS_INPUT,
    {0},
};

const aot_cmd cmd_info = {
    .name = "info",
    .synopsis = "[INPUT...] [--records] [--notes] [--json] [--set NAME=VALUE]...",
    .summary = "What an input holds, what it lacks and how to get it",
    .doc = "Counts what the inputs hold, names the PyTorch that wrote them, the settings that "
           "differ from "
           "PyTorch's defaults, the stages that are not there with the reason and how to get them, "
           "and what "
           "was damaged or skipped. Without an input: the version, the libraries and the "
           "configuration files "
           "of aotscope itself.",
    .examples = "aotscope info train.log\n"
                "aotscope info train.log --records\n"
                "aotscope info\n",
    .options = options,
    .min_inputs = 0,
    .max_inputs = -1,
    .run = run,
};
