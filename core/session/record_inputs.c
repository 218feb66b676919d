/* The import: a sink that writes each unit as it is delivered, runs the pipeline on it with the
 * recorder listening, compares, and lets go of it. So memory is bounded by one unit. */
#include "session/record_inputs.h"

#include "session/hints.h"

#include <stdlib.h>
#include <string.h>

#include "session/calls.h"
#include "session/check.h"
#include "session/derive.h"
#include "session/query.h"
#include "session/recorder.h"
#include "session/redact.h"

typedef struct job {
    aot_recorder *recorder;
    const aot_model_options *opt;
    aot_record_summary *sum;
    const char *input;
    aot_redactor *redactor; /* NULL: nothing is redacted */
    aot_unit_edits edits;   /* the policy */
    bool is_recording; /* the input is a recorder's own file */
} job;

/* Reads every recorded graph of the unit; returns the joint graph, if it is one that can be read.
 */
static const aot_graph *record_graphs(job *j, const aot_unit *u, aot_ctx *ctx,
                                      const aot_graph **dynamo, aot_err *joint_err)
{
    const aot_graph *joint = NULL;
    aot_stage source = aot_unit_source(u);
    for (size_t i = 0; i < u->records.n; i++) {
        const aot_record *rec = &u->records.d[i];
        if (rec->stage >= AOT_N_STAGES || rec->text == NULL) {
            continue;
        }
        const aot_graph *g = NULL;
        aot_err err = {0};
        /* the joint graph stays; the others are only counted */
        bool is_source = source < AOT_N_STAGES && rec == aot_unit_stage(u, source);
        bool keep = rec == aot_unit_stage(u, AOT_STAGE_JOINT) || is_source;
        aot_ctx *c = keep ? ctx : aot_unit_new_ctx(u);
        if (aot_record_parse(&g, c, u, rec, &err) != AOT_OK) {
            j->sum->n_unreadable_graphs++;
        }
        aot_recorder_graph(j->recorder, rec, g, &err);
        if (is_source) {
            *dynamo = g;
        } else if (keep) {
            joint = g;
            *joint_err = err;
        } else {
            aot_ctx_free(c);
        }
    }
    return joint;
}

/* recorded: the joint graph of the input, NULL if there is none; p is what was cut, NULL with
 * *part_err saying why nothing was. */
static void record_checks(job *j, const aot_unit *u, const aot_graph *recorded,
                          const aot_partition *p, const aot_err *part_err, const aot_config *config)
{
    aot_arena *a = aot_arena_new();
    aot_partition *cut = NULL;
    aot_err err = {0};
    if (j->opt->from_dynamo && recorded != NULL) { // a derived joint graph, its names may be others
        p = aot_derive_partition(&cut, u, recorded, config, NULL, &err) == AOT_OK ? cut : NULL;
        part_err = p == NULL ? &err : NULL;
    }
    aot_check_result results[AOT_CHECK_MAX + AOT_CHECK_TRACE_MAX];
    size_t n = aot_check_unit(results, u, p, part_err, a);
    size_t n_traced = aot_check_trace(&results[n], u, config, a);
    for (size_t i = 0; i < n + n_traced; i++) {
        uint32_t *count[] = {&j->sum->n_same, &j->sum->n_differ, &j->sum->n_left_out,
                             &j->sum->n_errors};
        ++*count[results[i].verdict];
        aot_recorder_check(j->recorder, &results[i]);
    }
    const char *between =
        p != NULL && n == 0 ? aot_check_passes_between(u, NULL, p->config.backend, a) : NULL;
    for (size_t i = 0; i < n && p != NULL && between == NULL; i++) {
        between = results[i].verdict == AOT_CHECK_LEFT_OUT ? results[i].reason : NULL;
    }
    if (between != NULL) {
        aot_recorder_partition_note(j->recorder, between);
    }
    aot_arena_free(a);
}

/* The stages above the joint graph; a unit whose capture fails keeps the reason as a note of its
 * pass. Gives the joint graph that is to be cut: the recorded one, unless the run starts from
 * Dynamo's graph or there is no other. */
static const aot_graph *derive_from_dynamo(job *j, const aot_unit *u, const aot_graph *dynamo,
                                           const aot_graph *joint, const aot_config *config,
                                           const aot_calling **calling)
{
    const aot_graph *graphs[AOT_N_STAGES] = {NULL};
    aot_err err = {0};
    if (!j->opt->from_dynamo) {
        graphs[AOT_STAGE_JOINT] = joint; /* nothing to record twice */
    }
    aot_status st = aot_derive_capture(graphs, u, dynamo, config,
                                       aot_recorder_observer(j->recorder), calling, &err);
    if (st != AOT_OK) {
        if (j->sum->n_not_captured++ == 0) {
            j->sum->why_not = err;
        }
        return j->opt->from_dynamo ? NULL : joint;
    }
    j->sum->n_captured++;
    j->sum->n_paths[(*calling)->path]++;
    return j->opt->from_dynamo || joint == NULL ? graphs[AOT_STAGE_JOINT] : joint;
}

static void record_runtime(job *j, const aot_unit *u, const aot_calling *calling,
                           const aot_partition *p, const aot_config *config, aot_ctx *ctx)
{
    aot_runtime *r = NULL;
    if (aot_unit_stage_status(u, AOT_STAGE_RUNTIME).origin == AOT_ORIGIN_DERIVED &&
        aot_derive_runtime(&r, u, calling, p, config, ctx->arena, NULL) == AOT_OK) {
        aot_recorder_runtime(j->recorder, r);
    }
}

/* The policy's lines are kept as notes: a session says, and shows again, what it was made under.
 * Redacted, it keeps settings alone: selections may hold the user's names. */
static void take_edits(const job *j, aot_unit *u)
{
    u->edits = &j->edits;
    for (size_t i = 0; i < u->edits->n; i++) {
        const char *line = u->edits->d[i].line;
        if (j->redactor != NULL && u->edits->d[i].kind != AOT_UNIT_EDIT_SET) {
            continue;
        }
        aot_import_note n = {
            .file = u->edits->d[i].file, .line = u->edits->d[i].at, .kind = "edit"};
        n.text = aot_arena_strndup(u->arena, line, strlen(line));
        n.file = n.file != NULL && j->redactor == NULL
                     ? aot_arena_strndup(u->arena, n.file, strlen(n.file))
                     : NULL;
        aot_vec_push(&u->notes, n);
    }
}

static aot_status on_unit(void *arg, aot_unit *u, aot_err *err)
{
    job *j = arg;
    aot_config config;
    aot_ctx *ctx = NULL;
    aot_status st = aot_recorder_status(j->recorder, err);
    if (st != AOT_OK) { /* the disk is full: deriving more is of no use */
        aot_unit_free(u);
        return st;
    }
    if (j->redactor != NULL) {
        aot_redact_unit(j->redactor, u);
    }
    take_edits(j, u);
    st = aot_unit_prepare(&config, u, j->opt->settings, j->opt->n_settings, err);
    if (st == AOT_OK) {
        st = aot_recorder_unit(j->recorder, u, &config, err);
    }
    if (st == AOT_OK && j->is_recording && j->redactor == NULL) {
        aot_recorder_called(j->recorder, aot_unit_graph(u));
    }
    if (st == AOT_OK) {
        j->sum->n_notes += u->notes.n;
        ctx = aot_unit_new_ctx(u);
        aot_err part_err = {0};
        aot_recorder_begin(j->recorder);
        const aot_graph *dynamo = NULL;
        const aot_graph *recorded = record_graphs(j, u, ctx, &dynamo, &part_err), *joint = recorded;
        for (int s = 0; s < AOT_N_STAGES; s++) {
            aot_stage_status status = aot_unit_stage_status_under(u, (aot_stage)s, &config);
            if (status.origin == AOT_ORIGIN_MISSING) {
                aot_recorder_missing(j->recorder, (aot_stage)s, status.reason);
            }
        }
        aot_recorder_commit(j->recorder);
        aot_partition *p = NULL;
        const aot_calling *calling = NULL;
        if (dynamo != NULL) {
            joint = derive_from_dynamo(j, u, dynamo, joint, &config, &calling);
        }
        if (joint != NULL) {
            if (aot_derive_partition(&p, u, joint, &config, aot_recorder_observer(j->recorder),
                                     &part_err) == AOT_OK) {
                j->sum->n_partitions++;
            } else {
                p = NULL;
            }
        }
        aot_recorder_begin(j->recorder);
        record_runtime(j, u, calling, p, &config, ctx);
        record_checks(j, u, recorded, p, part_err.code != AOT_OK ? &part_err : NULL, &config);
        aot_recorder_commit(j->recorder);
        st = aot_recorder_status(j->recorder, err);
    }
    aot_ctx_free(ctx);
    aot_unit_free(u);
    return st;
}

static void on_note(void *arg, const aot_import_note *n)
{
    job *j = arg;
    aot_import_note shown = *n;
    if (j->redactor != NULL) {
        aot_redact_note(j->redactor, &shown);
    }
    j->sum->n_notes++;
    aot_recorder_note(j->recorder, &shown);
}

static void on_loose(void *arg, const aot_unit_key *key, const aot_record *r)
{
    job *j = arg;
    aot_record shown = *r;
    aot_arena *a = aot_arena_new();
    if (j->redactor != NULL) {
        aot_redact_record(j->redactor, &shown, a);
    }
    aot_recorder_loose(j->recorder, key, &shown);
    aot_arena_free(a);
}

static void on_progress(void *arg, uint64_t done, uint64_t total)
{
    job *j = arg;
    if (j->opt->progress != NULL) {
        j->opt->progress(j->opt->progress_arg, j->input, done, total);
    }
}

static void add_stats(aot_import_stats *sum, const aot_import_stats *t)
{
    sum->bytes += t->bytes;
    sum->lines += t->lines;
    sum->records += t->records;
    sum->graphs += t->graphs;
    sum->skipped_records += t->skipped_records;
    sum->damaged_records += t->damaged_records;
    sum->payload_mismatches += t->payload_mismatches;
    sum->units += t->units;
    sum->files += t->files;
}

/* The calls of that graph are those of the unit that was just written. Values are the user's own,
 * so nothing of them is in a redacted session. */
static void has_calls(job *j, int64_t graph)
{
    if (j->redactor == NULL) {
        aot_recorder_called(j->recorder, graph);
    }
}

static aot_status copy_calls(job *j, const char *path, aot_err *err)
{
    if (j->redactor == NULL) {
        return aot_recorder_calls(j->recorder, path, err);
    }
    j->sum->calls_left_out = true;
    return AOT_OK;
}

/* The units of a session, as if their logs were read again; what was derived is derived anew. */
static aot_status copy_units(job *j, aot_session *s, aot_import_stats *stats, aot_err *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    aot_queries *q = aot_queries_new(s);
    bool calls = aot_session_has_calls(s);
    aot_status st = aot_query_units(q, &ids, &n, err);
    for (size_t i = 0; i < n && st == AOT_OK; i++) {
        aot_unit *u = NULL;
        st = aot_query_unit(q, ids[i], &u, err);
        for (size_t k = 0; st == AOT_OK && k < u->records.n; k++) {
            stats->graphs += u->records.d[k].stage < AOT_N_STAGES && u->records.d[k].text != NULL;
            stats->records++;
        }
        st = st == AOT_OK ? on_unit(j, u, err) : st;
        if (st == AOT_OK && calls) {
            has_calls(j, aot_query_graph(q, ids[i]));
        }
        stats->units++;
    }
    stats->files = 1;
    free(ids);
    aot_queries_free(q);
    return st;
}

/* What a program recorded of itself: the log in its file. */
static aot_status copy_recording(job *j, aot_session *s, const char *path,
                                 const aot_import_sink *sink, aot_import_stats *stats, aot_err *err)
{
    aot_sb log = {0};
    aot_status st = aot_recording_log(&log, s, err);
    if (st == AOT_OK) {
        j->is_recording = true;
        st = aot_import_bytes(path, aot_sb_text(&log), log.n, sink, stats, err);
        j->is_recording = false;
    }
    aot_sb_free(&log);
    return st;
}

static aot_status copy_session(job *j, const char *path, const aot_import_sink *sink,
                               aot_import_stats *stats, aot_err *err)
{
    aot_session *s = NULL;
    AOT_TRY(aot_session_open(&s, path, err));
    aot_status st = aot_session_is_recording(s) ? copy_recording(j, s, path, sink, stats, err)
                                                : copy_units(j, s, stats, err);
    bool calls = aot_session_has_calls(s);
    aot_session_close(s);
    return st == AOT_OK && calls ? copy_calls(j, path, err) : st;
}

static aot_status read_input(job *j, const char *input, aot_import_stats *stats, aot_err *err)
{
    aot_import_sink sink = {.arg = j,
                            .on_unit = on_unit,
                            .on_note = on_note,
                            .on_loose = on_loose,
                            .on_progress = on_progress};
    return strcmp(input, "-") != 0 && aot_session_sniff(input)
               ? copy_session(j, input, &sink, stats, err)
               : aot_import(input, &sink, stats, err);
}

/* One input. *input_st tells whether it could be read; the result, whether the session can be
 * written. */
static aot_status record_one(job *j, const char *input, aot_status *input_st, aot_err *input_err,
                             aot_err *err)
{
    j->input = input;
    aot_import_stats stats = {0};
    const char *shown = j->redactor != NULL ? aot_redact_input(j->redactor, input) : input;
    AOT_TRY(aot_recorder_file_begin(j->recorder, shown, err));
    aot_err own = {0};
    *input_st = read_input(j, input, &stats, &own);
    aot_err_in_file(&own, input);
    const char *failure = j->redactor != NULL ? "(redacted)" : own.msg;
    AOT_TRY(aot_recorder_file_end(j->recorder, &stats, *input_st != AOT_OK ? failure : NULL, err));
    AOT_TRY(aot_recorder_status(j->recorder, err));
    if (*input_st == AOT_E_SESSION) { /* the session, not the input */
        *err = own;
        return *input_st;
    }
    if (*input_st != AOT_OK && input_err->code == AOT_OK) {
        *input_err = own;
    }
    add_stats(&j->sum->stats, &stats);
    return AOT_OK;
}

/* Lines that matched nothing: in no unit, which is an error, or in some, which a note says. */
static void judge_policy(job *j, aot_err *err)
{
    for (size_t i = 0; i < j->edits.n && j->recorder != NULL; i++) {
        const aot_unit_edit *e = &j->edits.d[i];
        if (e->fate == NULL || !e->fate->missed) {
            continue;
        }
        if (e->fate->matched) {
            aot_arena *a = aot_arena_new();
            aot_import_note n = {.kind = "policy", .file = e->file, .line = e->at};
            n.text = aot_arena_printf(a, "'%.120s' matches nothing in some of the units", e->line);
            aot_recorder_begin(j->recorder);
            on_note(j, &n);
            aot_recorder_commit(j->recorder);
            aot_arena_free(a);
        } else if (err->code == AOT_OK) {
            aot_status s =
                AOT_FAIL(err, AOT_E_USAGE,
                         "'%.120s': no operator of the forward matches in any unit", e->line);
            (void)s;
            err->at = (aot_pos){e->at, 0};
            aot_err_in_file(err, e->file != NULL ? e->file : "policy");
        }
    }
}

aot_status aot_record_inputs(const char *const *inputs, size_t n_inputs,
                             const aot_model_options *opt, aot_record_summary *sum, aot_err *err)
{
    aot_record_summary own_sum;
    sum = sum != NULL ? sum : &own_sum;
    *sum = (aot_record_summary){.n_inputs = (uint32_t)n_inputs};
    AOT_TRY(aot_settings_check(opt->settings, opt->n_settings, err));
    aot_session *s = NULL;
    AOT_TRY(aot_session_create(&s, opt->session_path, err));
    job j = {.opt = opt, .sum = sum, .redactor = opt->redact ? aot_redactor_new() : NULL};
    aot_err input_err = {0}, own_err = {0};
    aot_status st = aot_recorder_new(&j.recorder, s, &own_err);
    st = st == AOT_OK ? aot_edits_copy(&j.edits, opt->edits, &own_err) : st;
    aot_edits_may_miss(&j.edits);
    for (size_t i = 0; i < n_inputs && st == AOT_OK; i++) {
        aot_status input_st = AOT_OK;
        st = record_one(&j, inputs[i], &input_st, &input_err, &own_err);
        sum->n_failed_inputs += input_st != AOT_OK;
    }
    judge_policy(&j, &input_err);
    for (int s = 0; s < AOT_N_STAGES && j.recorder != NULL; s++) {
        sum->n_unchanged[s] = aot_recorder_unchanged(j.recorder, (aot_stage)s);
    }
    aot_recorder_free(j.recorder);
    aot_redactor_free(j.redactor);
    aot_edits_free(&j.edits);
    bool nothing = st == AOT_OK && sum->n_failed_inputs == n_inputs && sum->stats.units == 0;
    const aot_err *first = st != AOT_OK ? &own_err : &input_err;
    if (nothing) {
        st = input_err.code;
        aot_session_discard(s);
    } else if (st != AOT_OK) {
        aot_session_close(s);
    } else {
        st = aot_session_finish(s, err);
    }
    if (first->code != AOT_OK && err != NULL && err->code == AOT_OK) {
        *err = *first;
    }
    return st;
}
