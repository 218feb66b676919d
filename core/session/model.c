/* The opened inputs as units, and their graphs and partitions made when first asked for.
 *
 * A slot a unit. From a log, the unit is there from the start; from a session it is read when first
 * touched, so opening a large session costs one query. Everything made for a unit lives in the
 * slot's own aot_ctx. */
#include "session/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/compare.h"
#include "session/calls.h"
#include "session/derive.h"
#include "session/query.h"
#include "session/redact.h"
#include "session/record_inputs.h"
#include "session/saved.h"

typedef struct source { /* an opened session */
    aot_session *session;
    aot_queries *queries;
} source;

typedef struct slot {
    aot_unit *unit; /* NULL until read */
    int64_t id;     /* in the session */
    int source;     /* index into sources; -1: from a log */
    int run;        /* source of its calls, from 1; 0: none */
    aot_calls *calls;
    aot_ctx *ctx;   /* NULL until a graph is asked for */
    const aot_graph *graphs[AOT_N_STAGES];
    aot_err errs[AOT_N_STAGES];
    aot_partitioner *partitioner; /* NULL: not made */
    bool knows_modules;           /* it was told the parameters' paths */
    aot_partition *partition, *partition_before; /* the latter until the next change */
    aot_err partition_err;
    bool partition_tried;
    const aot_graph *captured[AOT_N_STAGES]; /* derived from the Dynamo graph */
    const aot_calling *calling;
    aot_err capture_err, capture_why[AOT_N_STAGES];
    bool capture_tried;
    bool compared[AOT_N_STAGES], same[AOT_N_STAGES]; /* with the stage before */
    aot_runtime *runtime;
    aot_err runtime_err;
    bool runtime_tried;
    aot_unit_edits *edits; /* the unit's; NULL until the unit was asked for */
    unsigned version;
    aot_ctx *before; /* that of a capture under other settings, until the next change */
} slot;

struct aot_model {
    AOT_VEC(slot) slots;
    AOT_VEC(source) sources;
    AOT_VEC(aot_import_note) notes;
    AOT_VEC(aot_model_file) files;
    aot_arena *arena; /* of notes and settings */
    const char **settings;
    size_t n_settings;
    aot_unit_edits policy;
    bool as_recorded;
    aot_redactor *redactor, *own_redactor; /* NULL: nothing is redacted; nothing to free */
    const aot_model_options *opening; /* while aot_model_open runs */
    const char *input;
    aot_sb line;
};

/* ---- opening --------------------------------------------------------------------------------- */

static const char *keep_text(aot_model *m, const char *s)
{
    return s == NULL ? NULL : aot_arena_strndup(m->arena, s, strlen(s));
}

static void add_note(void *arg, const aot_import_note *n)
{
    aot_model *m = arg;
    aot_import_note copy = {keep_text(m, n->file), n->line, keep_text(m, n->kind),
                            keep_text(m, n->text)};
    if (m->redactor != NULL) {
        aot_redact_note(m->redactor, &copy);
    }
    aot_vec_push(&m->notes, copy);
}

static aot_status on_unit(void *arg, aot_unit *u, aot_err *err)
{
    (void)err;
    aot_model *m = arg;
    if (m->redactor != NULL) {
        aot_redact_unit(m->redactor, u);
    }
    aot_vec_push(&m->slots, ((slot){.unit = u, .source = -1}));
    return AOT_OK;
}

static bool same_key(const aot_unit_key *a, const aot_unit_key *b)
{
    return a->rank == b->rank && a->compiled_autograd_id == b->compiled_autograd_id &&
           a->frame == b->frame && a->compile == b->compile && a->attempt == b->attempt;
}

/* A graph that came after its unit was delivered still belongs to it. */
static void on_loose(void *arg, const aot_unit_key *key, const aot_record *r)
{
    aot_model *m = arg;
    for (size_t i = m->slots.n; key != NULL && r->stage < AOT_N_STAGES && i-- > 0;) {
        aot_unit *u = m->slots.d[i].unit;
        if (u != NULL && m->slots.d[i].source < 0 && same_key(&u->key, key) &&
            aot_unit_stage(u, r->stage) == NULL) {
            aot_record copy = *r;
            copy.name = aot_arena_strndup(u->arena, r->name, strlen(r->name));
            copy.text = r->text != NULL ? aot_arena_strndup(u->arena, r->text, r->len) : NULL;
            copy.meta =
                r->meta != NULL ? aot_arena_strndup(u->arena, r->meta, strlen(r->meta)) : NULL;
            if (m->redactor != NULL) {
                aot_redact_record(m->redactor, &copy, u->arena);
            }
            aot_vec_push(&u->records, copy);
            return;
        }
    }
}

static void on_progress(void *arg, uint64_t done, uint64_t total)
{
    aot_model *m = arg;
    if (m->opening->progress != NULL) {
        m->opening->progress(m->opening->progress_arg, m->input, done, total);
    }
}

static const char *shown_path(aot_model *m, const char *path)
{
    return path != NULL && m->redactor != NULL ? aot_redact_input(m->redactor, path)
                                               : keep_text(m, path);
}

static void add_file(void *arg, const char *path, const aot_import_stats *stats,
                     const char *failure)
{
    aot_model *m = arg;
    const source *s = m->sources.n > 0 ? &m->sources.d[m->sources.n - 1] : NULL;
    aot_model_file f = {.path = shown_path(m, path),
                        .failure = m->redactor == NULL ? keep_text(m, failure)
                                   : failure != NULL   ? "(redacted)"
                                                       : NULL,
                        .stats = *stats,
                        .session = shown_path(m, s != NULL ? aot_session_path(s->session) : NULL)};
    aot_vec_push(&m->files, f);
}

static aot_import_sink sink_of(aot_model *m)
{
    return (aot_import_sink){.arg = m,
                             .on_unit = on_unit,
                             .on_note = add_note,
                             .on_loose = on_loose,
                             .on_progress = on_progress};
}

/* A recorder's own file: its units are read from the log in it, as from any log. */
static aot_status open_recording(aot_model *m, const char *path, aot_session *s, aot_err *err)
{
    aot_sb log = {0};
    aot_status st = aot_recording_log(&log, s, err);
    aot_import_sink sink = sink_of(m);
    aot_model_file f = {.path = shown_path(m, path)};
    size_t first = m->slots.n;
    m->input = path;
    if (st == AOT_OK) {
        st = aot_import_bytes(path, aot_sb_text(&log), log.n, &sink, &f.stats, err);
    }
    for (size_t i = first; i < m->slots.n; i++) {
        m->slots.d[i].run = m->redactor == NULL ? (int)m->sources.n : 0; /* values are the user's */
    }
    aot_vec_push(&m->files, f);
    aot_sb_free(&log);
    return st;
}

static aot_status open_units(aot_model *m, const source *s, aot_err *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    AOT_TRY(aot_query_units(s->queries, &ids, &n, err));
    bool has = aot_session_has_calls(s->session) && m->redactor == NULL; /* values are the user's */
    int run = has ? (int)m->sources.n : 0;
    for (size_t i = 0; i < n; i++) {
        aot_vec_push(&m->slots, ((slot){.id = ids[i], .source = (int)m->sources.n - 1, .run = run}));
    }
    free(ids);
    return aot_query_files(s->queries, add_file, m, err);
}

static aot_status open_session(aot_model *m, const char *path, aot_err *err)
{
    source s = {0};
    AOT_TRY(aot_session_open(&s.session, path, err));
    s.queries = aot_queries_new(s.session);
    aot_vec_push(&m->sources, s); /* freed with the model, whatever comes */
    AOT_TRY(aot_session_is_recording(s.session) ? open_recording(m, path, s.session, err)
                                                : open_units(m, &s, err));
    const char *state = aot_session_value(s.session, "state");
    if (state == NULL || strcmp(state, "complete") != 0) {
        bool failed = state != NULL && strcmp(state, "failed") == 0;
        aot_import_note note = {path, 0, "incomplete",
                                failed ? "the session is not complete: its import could not write "
                                         "all of it; what it had written is here"
                                       : "the session is not complete: its writer is still running "
                                         "or was stopped; what it had written is here"};
        add_note(m, &note);
    }
    return aot_query_file_notes(s.queries, add_note, m, err);
}

static aot_status open_input(aot_model *m, const char *path, aot_err *err)
{
    const aot_model_options *o = m->opening;
    if (o->text == NULL && strcmp(path, "-") != 0 && aot_session_sniff(path)) {
        return open_session(m, path, err);
    }
    m->input = path;
    aot_import_sink sink = sink_of(m);
    aot_model_file f = {.path = shown_path(m, path)};
    aot_status st = o->text != NULL ? aot_import_bytes(path, o->text, o->n_text, &sink, &f.stats, err)
                                    : aot_import(path, &sink, &f.stats, err);
    if (st != AOT_OK) {
        aot_err_in_file(err, path);
    }
    aot_vec_push(&m->files, f);
    return st;
}

static aot_status open_all(aot_model *m, const char *const *inputs, size_t n, aot_err *err)
{
    if (m->opening->session_path == NULL) {
        for (size_t i = 0; i < n; i++) {
            AOT_TRY(open_input(m, inputs[i], err));
        }
        return AOT_OK;
    }
    aot_err input_err = {0};
    aot_status st = aot_record_inputs(inputs, n, m->opening, NULL, &input_err);
    if (st != AOT_OK) {
        if (err != NULL && err->code == AOT_OK) {
            *err = input_err;
        }
        return st;
    }
    return open_session(m, m->opening->session_path, err);
}

aot_status aot_model_open(aot_model **out, const char *const *inputs, size_t n_inputs,
                          const aot_model_options *opt, aot_err *err)
{
    static const aot_model_options none = {0};
    opt = opt != NULL ? opt : &none;
    AOT_TRY(aot_settings_check(opt->settings, opt->n_settings, err));
    aot_model *m = aot_xcalloc(1, sizeof *m);
    m->arena = aot_arena_new();
    m->opening = opt;
    m->n_settings = opt->n_settings;
    m->as_recorded = opt->as_recorded;
    m->own_redactor = opt->redact && opt->redactor == NULL ? aot_redactor_new() : NULL;
    m->redactor = opt->redactor != NULL ? opt->redactor : m->own_redactor;
    m->settings = AOT_NEW_ARRAY(m->arena, const char *, opt->n_settings);
    for (size_t i = 0; i < opt->n_settings; i++) {
        m->settings[i] = keep_text(m, opt->settings[i]);
    }
    /* a session made now holds them */
    aot_status st = aot_edits_copy(&m->policy, opt->session_path == NULL ? opt->edits : NULL, err);
    st = st == AOT_OK ? open_all(m, inputs, n_inputs, err) : st;
    m->opening = NULL;
    if (st != AOT_OK) {
        aot_model_free(m);
        return st;
    }
    *out = m;
    return AOT_OK;
}

static void drop_partitions(slot *s)
{
    aot_partition_release(s->partition);
    aot_partition_release(s->partition_before);
    aot_partitioner_free(s->partitioner);
    s->partition = s->partition_before = NULL;
    s->partitioner = NULL;
}

void aot_model_free(aot_model *m)
{
    if (m == NULL) {
        return;
    }
    for (size_t i = 0; i < m->slots.n; i++) {
        slot *s = &m->slots.d[i];
        drop_partitions(s);
        aot_ctx_free(s->ctx);
        aot_ctx_free(s->before);
        aot_unit_free(s->unit);
        aot_calls_free(s->calls);
        if (s->edits != NULL) {
            aot_edits_free(s->edits);
            free(s->edits);
        }
    }
    for (size_t i = 0; i < m->sources.n; i++) {
        aot_queries_free(m->sources.d[i].queries);
        aot_session_close(m->sources.d[i].session);
    }
    aot_vec_free(&m->slots);
    aot_vec_free(&m->sources);
    aot_vec_free(&m->notes);
    aot_vec_free(&m->files);
    aot_edits_free(&m->policy);
    aot_sb_free(&m->line);
    aot_redactor_free(m->own_redactor);
    aot_arena_free(m->arena);
    free(m);
}

/* ---- units ----------------------------------------------------------------------------------- */

size_t aot_model_n_units(const aot_model *m)
{
    return m->slots.n;
}

/* The lines of the policy; of a session those that it was made with. */
static void begin_edits(const aot_model *m, slot *s)
{
    s->edits = aot_xcalloc(1, sizeof *s->edits);
    s->unit->edits = s->edits;
    for (size_t i = 0; i < s->unit->notes.n && s->source >= 0 && !m->as_recorded; i++) {
        const aot_import_note *n = &s->unit->notes.d[i];
        if (strcmp(n->kind, "edit") == 0) {
            aot_status st = aot_edits_add(s->edits, n->text, NULL, 0, NULL);
            (void)st; /* a line of another version is passed over */
        }
    }
    aot_status st = aot_edits_copy(s->edits, &m->policy, NULL);
    (void)st; /* they were parsed before */
}

/* The slot with its unit read. A session whose rows cannot be read gives an empty unit with a note.
 */
static slot *slot_at(const aot_model *m, size_t i)
{
    slot *s = &m->slots.d[i];
    if (s->unit == NULL) {
        aot_err err = {0};
        if (aot_query_unit(m->sources.d[s->source].queries, s->id, &s->unit, &err) != AOT_OK) {
            s->unit = aot_unit_new();
            aot_arena *a = s->unit->arena;
            aot_import_note note = {.kind = "damage",
                                    .text = aot_arena_strndup(a, err.msg, strlen(err.msg))};
            note.file = aot_arena_strndup(a, err.file, strlen(err.file));
            aot_vec_push(&s->unit->notes, note);
        }
        s->unit->set.n = m->as_recorded ? 0 : s->unit->set.n;
        if (m->redactor != NULL) {
            aot_redact_unit(m->redactor, s->unit);
        }
    }
    if (s->edits == NULL) {
        begin_edits(m, s);
    }
    return s;
}

const aot_unit *aot_model_unit(const aot_model *m, size_t unit)
{
    return slot_at(m, unit)->unit;
}

const char *aot_model_unit_session(const aot_model *m, size_t unit)
{
    const slot *s = &m->slots.d[unit];
    return s->source < 0 ? NULL : aot_session_path(m->sources.d[s->source].session);
}

size_t aot_model_checks(const aot_model *m, size_t unit, aot_check_result out[AOT_N_STAGES], aot_arena *a)
{
    const slot *s = &m->slots.d[unit];
    return s->source < 0 || m->redactor != NULL ? 0 : aot_query_checks(m->sources.d[s->source].queries, s->id, out, a);
}

aot_status aot_model_calls(aot_model *m, size_t unit, const aot_calls **out, aot_err *err)
{
    slot *s = slot_at(m, unit);
    if (s->calls == NULL && s->run > 0) {
        AOT_TRY(aot_calls_read(&s->calls, m->sources.d[s->run - 1].queries, s->source < 0 ? -1 : s->id,
                               s->source < 0 ? aot_unit_graph(s->unit) : -1, err));
    }
    *out = s->calls != NULL && s->calls->compiled.n > 0 ? s->calls : NULL;
    return AOT_OK;
}

aot_status aot_model_blob(aot_model *m, size_t unit, int64_t blob, const void **data, size_t *n,
                          aot_arena *a, aot_err *err)
{
    const slot *s = slot_at(m, unit);
    if (s->run == 0) {
        return AOT_FAIL(err, AOT_E_SESSION, "no run was recorded of this unit");
    }
    return aot_calls_blob(data, n, m->sources.d[s->run - 1].queries, blob, a, err);
}

size_t aot_model_n_files(const aot_model *m)
{
    return m->files.n;
}

const aot_model_file *aot_model_file_at(const aot_model *m, size_t i)
{
    return &m->files.d[i];
}

size_t aot_model_n_notes(const aot_model *m)
{
    return m->notes.n;
}

const aot_import_note *aot_model_note(const aot_model *m, size_t i)
{
    return &m->notes.d[i];
}

aot_status aot_model_config(aot_model *m, size_t unit, aot_config *out, aot_err *err)
{
    return aot_unit_config(out, slot_at(m, unit)->unit, m->settings, m->n_settings, err);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static aot_status take_err(const aot_err *kept, aot_err *err)
{
    if (err != NULL && err->code == AOT_OK) {
        *err = *kept;
    }
    return kept->code;
}

static aot_status parse_stage(slot *s, aot_stage stage, aot_err *err)
{
    if (s->errs[stage].code != AOT_OK) {
        return take_err(&s->errs[stage], err);
    }
    if (s->graphs[stage] == NULL) {
        if (s->ctx == NULL) {
            s->ctx = aot_unit_new_ctx(s->unit);
        }
        const aot_record *rec = aot_unit_stage(s->unit, stage);
        if (aot_record_parse(&s->graphs[stage], s->ctx, s->unit, rec, &s->errs[stage]) != AOT_OK) {
            return take_err(&s->errs[stage], err);
        }
    }
    return AOT_OK;
}

/* Recorded forward and backward were cut under the recorded settings, and the graphs that they come
 * from traced: under others they are derived. */
static aot_stage_status status_of(const aot_model *m, const slot *s, aot_stage stage)
{
    aot_config config;
    bool known = aot_unit_config(&config, s->unit, m->settings, m->n_settings, NULL) == AOT_OK;
    aot_stage_status status = aot_unit_stage_status_under(s->unit, stage, known ? &config : NULL);
    bool cut = (stage == AOT_STAGE_FORWARD || stage == AOT_STAGE_BACKWARD) &&
               aot_unit_stage_status(s->unit, AOT_STAGE_JOINT).origin == AOT_ORIGIN_RECORDED;
    bool other = m->n_settings > 0 || s->unit->set.n > 0 || (s->edits != NULL && s->edits->n > 0);
    bool again = known && other && aot_unit_traced_otherwise(s->unit, &config);
    bool traced = again && (stage == AOT_STAGE_JOINT || stage == AOT_STAGE_INFERENCE);
    if ((cut || traced) && other && status.origin == AOT_ORIGIN_RECORDED) {
        const char *reason = again ? "from the Dynamo graph, under other settings than recorded "
                                     "(--set); without them it is the recorded one"
                                   : "from the recorded joint graph, under other settings than "
                                     "recorded (--set); without them it is the recorded one";
        return (aot_stage_status){.origin = AOT_ORIGIN_DERIVED, .reason = reason};
    }
    return status;
}

static aot_status missing(const slot *s, aot_stage stage, aot_err *err)
{
    return AOT_FAIL(err, AOT_E_PIPELINE, "no %s graph: %s", aot_stage_get(stage)->name,
                    aot_unit_stage_status(s->unit, stage).reason);
}

static void keep_graph(void *arg, unsigned stage, const aot_graph *g)
{
    slot *s = arg;
    if (stage == AOT_STAGE_JOINT_PASSES) {
        s->graphs[stage] = g;
    }
}

/* The stages that follow from the Dynamo graph, made once. */
static aot_status capture(aot_model *m, size_t unit, aot_err *err)
{
    slot *s = slot_at(m, unit);
    if (!s->capture_tried) {
        aot_config config;
        AOT_TRY(aot_model_config(m, unit, &config, err));
        s->capture_tried = true;
        aot_stage from = aot_unit_source(s->unit);
        if (parse_stage(s, from != AOT_N_STAGES ? from : AOT_STAGE_DYNAMO, &s->capture_err) == AOT_OK) {
            aot_status st =
                aot_derive_capture(s->captured, s->unit, s->graphs[from], &config, NULL,
                                   &s->calling, &s->capture_err);
            (void)st; /* kept in capture_err */
        }
    }
    return s->capture_err.code != AOT_OK ? take_err(&s->capture_err, err) : AOT_OK;
}

static aot_status captured_stage(aot_model *m, size_t unit, aot_stage stage, const aot_graph **out,
                                 aot_err *err)
{
    slot *s = slot_at(m, unit);
    AOT_TRY(capture(m, unit, err));
    *out = s->captured[stage];
    return *out != NULL ? AOT_OK
                        : AOT_FAIL(err, AOT_E_PIPELINE, "no %s graph: the unit takes the %s path (%s)",
                                   aot_stage_get(stage)->name,
                                   s->captured[AOT_STAGE_EXPORT] != NULL      ? "export"
                                   : s->captured[AOT_STAGE_INFERENCE] != NULL ? "inference"
                                                                              : "autograd",
                                   s->calling != NULL ? s->calling->path_reason : "");
}

/* The joint graph: recorded, or derived from the Dynamo graph. */
static aot_status joint_graph(aot_model *m, size_t unit, const aot_graph **out, aot_err *err)
{
    slot *s = slot_at(m, unit);
    switch (status_of(m, s, AOT_STAGE_JOINT).origin) {
    case AOT_ORIGIN_RECORDED:
        AOT_TRY(parse_stage(s, AOT_STAGE_JOINT, err));
        *out = s->graphs[AOT_STAGE_JOINT];
        return AOT_OK;
    case AOT_ORIGIN_DERIVED: return captured_stage(m, unit, AOT_STAGE_JOINT, out, err);
    default: return missing(s, AOT_STAGE_JOINT, err);
    }
}

/* Made once for all settings and edits that leave the joint graph as it is. */
static aot_status partitioner_of(aot_model *m, size_t unit, const aot_config *config, aot_err *err)
{
    slot *s = slot_at(m, unit);
    const aot_graph *joint = NULL;
    aot_observer keep = {.arg = s, .on_graph = keep_graph};
    bool modules = aot_edits_need_modules(s->edits);
    if (s->partitioner != NULL && (s->knows_modules || !modules)) {
        return AOT_OK;
    }
    aot_partitioner_free(s->partitioner);
    s->partitioner = NULL;
    s->knows_modules = modules;
    AOT_TRY(joint_graph(m, unit, &joint, err));
    return aot_derive_partitioner(&s->partitioner, s->unit, joint, config, &keep, err);
}

aot_status aot_model_partition(aot_model *m, size_t unit, const aot_partition **out, aot_err *err)
{
    slot *s = slot_at(m, unit);
    if (!s->partition_tried) {
        aot_config config;
        AOT_TRY(aot_model_config(m, unit, &config, err));
        s->partition_tried = true;
        if (partitioner_of(m, unit, &config, &s->partition_err) == AOT_OK &&
            aot_partitioner_solve(s->partitioner, &s->partition, &config, NULL, 0,
                                  &s->partition_err) != AOT_OK) {
            s->partition = NULL;
        }
    }
    if (s->partition == NULL) {
        return take_err(&s->partition_err, err);
    }
    *out = s->partition;
    return AOT_OK;
}

aot_status aot_model_runtime(aot_model *m, size_t unit, const aot_runtime **out, aot_err *err)
{
    slot *s = slot_at(m, unit);
    if (!s->runtime_tried) {
        aot_config config;
        const aot_partition *p = NULL;
        bool dynamo = aot_unit_stage_status(s->unit, AOT_STAGE_DYNAMO).origin == AOT_ORIGIN_RECORDED;
        AOT_TRY(aot_model_config(m, unit, &config, err));
        s->runtime_tried = true;
        if (dynamo && capture(m, unit, &s->runtime_err) != AOT_OK) {
            dynamo = false; // then what was logged
        }
        if (s->ctx == NULL) {
            s->ctx = aot_unit_new_ctx(s->unit);
        }
        if (aot_model_partition(m, unit, &p, NULL) != AOT_OK) {
            p = NULL;
        }
        aot_err *why = s->runtime_err.code == AOT_OK ? &s->runtime_err : NULL; // the first tells more
        if (aot_derive_runtime(&s->runtime, s->unit, dynamo ? s->calling : NULL, p, &config,
                               s->ctx->arena, why) != AOT_OK) {
            s->runtime = NULL;
        }
    }
    *out = s->runtime;
    return s->runtime != NULL ? AOT_OK : take_err(&s->runtime_err, err);
}

/* Of a slot whose partition is there. */
static const aot_graph *derived_graph(const slot *s, aot_stage stage)
{
    return stage == AOT_STAGE_JOINT_PASSES ? s->graphs[stage]
           : stage == AOT_STAGE_FORWARD    ? s->partition->forward
           : stage == AOT_STAGE_BACKWARD   ? s->partition->backward
                                           : s->partition->cut;
}

/* The graph of a stage, if it was made or read already. */
static const aot_graph *known_graph(const aot_model *m, const slot *s, aot_stage stage)
{
    aot_origin origin = status_of(m, s, stage).origin;
    if (origin == AOT_ORIGIN_DERIVED && aot_stage_is_captured(stage)) {
        return s->captured[stage];
    }
    return origin == AOT_ORIGIN_DERIVED && s->partition != NULL ? derived_graph(s, stage)
                                                                : s->graphs[stage];
}

/* Compared once, when both graphs are there. */
static const char *unchanged_from(const aot_model *m, slot *s, aot_stage stage)
{
    aot_stage before = aot_stage_before(stage);
    if (before == AOT_STAGE_JOINT_PASSES && known_graph(m, s, before) == NULL) {
        before = AOT_STAGE_JOINT; // only Inductor's backend has passes
    }
    const aot_graph *a = before != AOT_N_STAGES ? known_graph(m, s, before) : NULL;
    const aot_graph *b = a != NULL ? known_graph(m, s, stage) : NULL;
    if (b == NULL) {
        return NULL;
    }
    if (!s->compared[stage]) {
        s->compared[stage] = true;
        s->same[stage] = aot_graph_same_structure(a, b, NULL);
    }
    return s->same[stage] ? aot_stage_get(before)->name : NULL;
}

static aot_stage_status stage_status(aot_model *m, size_t unit, aot_stage stage)
{
    slot *s = slot_at(m, unit);
    aot_stage_status status = status_of(m, s, stage);
    if (status.origin == AOT_ORIGIN_DERIVED && aot_stage_is_captured(stage)) {
        if (s->capture_tried && s->captured[stage] == NULL) {
            aot_err why = {0};
            const aot_graph *none;
            aot_status st = captured_stage(m, unit, stage, &none, &why);
            (void)st;
            if (s->capture_err.code == AOT_OK) {
                s->capture_why[stage] = why;
            }
            return (aot_stage_status){.origin = AOT_ORIGIN_MISSING,
                                      .reason = s->capture_err.code != AOT_OK
                                                    ? s->capture_err.msg
                                                    : s->capture_why[stage].msg};
        }
        status.n_nodes = s->captured[stage] != NULL ? (uint32_t)s->captured[stage]->nodes.n : 0;
        return status;
    }
    if (stage == AOT_STAGE_RUNTIME) {
        return s->runtime_tried && s->runtime == NULL
                   ? (aot_stage_status){.origin = AOT_ORIGIN_MISSING, .reason = s->runtime_err.msg}
                   : status;
    }
    if (status.origin == AOT_ORIGIN_DERIVED && s->partition_tried && s->partition == NULL) {
        status = (aot_stage_status){.origin = AOT_ORIGIN_MISSING, .reason = s->partition_err.msg};
    }
    const aot_graph *g = s->graphs[stage];
    if (status.origin == AOT_ORIGIN_DERIVED && s->partition != NULL) {
        g = derived_graph(s, stage);
    }
    status.n_nodes = g != NULL ? (uint32_t)g->nodes.n : 0;
    return status;
}

aot_stage_status aot_model_stage(aot_model *m, size_t unit, aot_stage stage)
{
    aot_stage_status status = stage_status(m, unit, stage);
    if (status.origin != AOT_ORIGIN_MISSING) {
        status.same_as = unchanged_from(m, slot_at(m, unit), stage);
    }
    return status;
}

aot_status aot_model_graph(aot_model *m, size_t unit, aot_stage stage, const aot_graph **out,
                           aot_err *err)
{
    slot *s = slot_at(m, unit);
    switch (status_of(m, s, stage).origin) {
    case AOT_ORIGIN_MISSING:
        return missing(s, stage, err);
    case AOT_ORIGIN_RECORDED:
        AOT_TRY(parse_stage(s, stage, err));
        *out = s->graphs[stage];
        return AOT_OK;
    case AOT_ORIGIN_DERIVED:
        break;
    }
    if (stage == AOT_STAGE_RUNTIME) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "runtime is no graph: `aotscope show --stage runtime` "
                                             "lists the wrappers");
    }
    if (aot_stage_is_captured(stage)) {
        return captured_stage(m, unit, stage, out, err);
    }
    const aot_partition *p = NULL;
    AOT_TRY(aot_model_partition(m, unit, &p, err));
    *out = derived_graph(s, stage);
    return *out != NULL ? AOT_OK : missing(s, stage, err);
}

/* ---- edits ----------------------------------------------------------------------------------- */

/* Forgets what follows from the joint graph; passes: the partitioner too, for what is cut is another
 * graph; retraced: and what the joint graph follows from. */
static void forget_derived(slot *s, bool passes, bool retraced)
{
    static const aot_err none = {0};
    s->version++;
    aot_partition_release(s->partition_before);
    s->partition_before = s->partition;
    s->partition = NULL;
    s->partition_err = none;
    s->partition_tried = false;
    s->runtime = NULL;
    s->runtime_err = none;
    s->runtime_tried = false;
    memset(s->compared, 0, sizeof s->compared);
    if (passes || retraced) {
        aot_partitioner_free(s->partitioner);
        s->partitioner = NULL;
        s->graphs[AOT_STAGE_JOINT_PASSES] = NULL;
    }
    if (!retraced) {
        return;
    }
    aot_ctx_free(s->before);
    s->before = s->ctx;
    s->ctx = NULL;
    memset(s->graphs, 0, sizeof s->graphs);
    memset(s->captured, 0, sizeof s->captured);
    memset(s->errs, 0, sizeof s->errs);
    s->calling = NULL;
    s->capture_err = none;
    s->capture_tried = false;
}

/* Settings that the capture reads. */
static bool traces_alike(const aot_config *a, const aot_config *b)
{
    return strcmp(a->backend, b->backend) == 0 && strcmp(a->path, b->path) == 0 &&
           strcmp(a->decompose, b->decompose) == 0 && strcmp(a->keep, b->keep) == 0 &&
           a->opaque == b->opaque &&
           a->keep_inference_input_mutations == b->keep_inference_input_mutations;
}

/* After a change of the edits; was: the settings before it. */
static void follow_edits(aot_model *m, size_t unit, const aot_config *was)
{
    aot_config now;
    bool known = aot_model_config(m, unit, &now, NULL) == AOT_OK;
    /* the joint-graph passes read this one */
    bool passes = !known || was->fallback_random != now.fallback_random;
    forget_derived(slot_at(m, unit), passes, !known || !traces_alike(was, &now));
}

aot_status aot_model_edit(aot_model *m, size_t unit, const char *line, aot_err *err)
{
    slot *s = slot_at(m, unit);
    aot_config was, now;
    const aot_partition *p;
    aot_err mine = {0};
    AOT_TRY(aot_model_config(m, unit, &was, err));
    AOT_TRY(aot_edits_add(s->edits, line, NULL, 0, err));
    if (aot_model_config(m, unit, &now, &mine) != AOT_OK) {
        aot_edits_drop(s->edits);
        return take_err(&mine, err);
    }
    follow_edits(m, unit, &was);
    bool tags = s->edits->d[s->edits->n - 1].kind != AOT_UNIT_EDIT_SET;
    if (tags && aot_model_partition(m, unit, &p, &mine) == AOT_E_USAGE) { // as if never asked
        static const aot_err none = {0};
        aot_edits_drop(s->edits);
        s->partition = s->partition_before;
        s->partition_before = NULL;
        s->partition_tried = s->partition != NULL;
        s->partition_err = none;
        return take_err(&mine, err);
    }
    return AOT_OK;
}

bool aot_model_undo(aot_model *m, size_t unit)
{
    slot *s = slot_at(m, unit);
    aot_config was;
    bool known = aot_model_config(m, unit, &was, NULL) == AOT_OK, any = aot_edits_undo(s->edits);
    if (any && known) {
        follow_edits(m, unit, &was);
    }
    return any;
}

bool aot_model_redo(aot_model *m, size_t unit)
{
    slot *s = slot_at(m, unit);
    aot_config was;
    bool known = aot_model_config(m, unit, &was, NULL) == AOT_OK, any = aot_edits_redo(s->edits);
    if (any && known) {
        follow_edits(m, unit, &was);
    }
    return any;
}

size_t aot_model_n_edits(const aot_model *m, size_t unit)
{
    return slot_at(m, unit)->edits->n;
}

size_t aot_model_n_undone(const aot_model *m, size_t unit)
{
    const aot_unit_edits *e = slot_at(m, unit)->edits;
    return e->n_all - e->n;
}

const aot_unit_edit *aot_model_edit_at(const aot_model *m, size_t unit, size_t i)
{
    return &slot_at(m, unit)->edits->d[i];
}

unsigned aot_model_version(const aot_model *m, size_t unit)
{
    return m->slots.d[unit].version;
}

/* ---- the one line ---------------------------------------------------------------------------- */

/* Nodes of the graph that tells most of the unit. */
static size_t main_graph_nodes(aot_model *m, size_t unit)
{
    static const aot_stage order[] = {AOT_STAGE_JOINT, AOT_STAGE_EXPORT, AOT_STAGE_INFERENCE,
                                      AOT_STAGE_FORWARD, AOT_STAGE_BACKWARD, AOT_STAGE_DYNAMO};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const aot_graph *g = NULL;
        if (aot_unit_stage_status(slot_at(m, unit)->unit, order[i]).origin == AOT_ORIGIN_RECORDED &&
            aot_model_graph(m, unit, order[i], &g, NULL) == AOT_OK) {
            return g->nodes.n;
        }
    }
    return 0;
}

const char *aot_model_unit_line(aot_model *m, size_t unit)
{
    const aot_unit *u = slot_at(m, unit)->unit;
    char buf[96];
    aot_sb_clear(&m->line);
    aot_sb_addz(&m->line, aot_unit_label(&u->key, buf, sizeof buf));
    if (u->title != NULL && u->title[0] != 0) {
        aot_sb_addf(&m->line, " %s", u->title);
    }
    const char *path = aot_unit_path(u);
    if (path[0] != 0) {
        aot_sb_addf(&m->line, " · %s", path);
    }
    size_t n = main_graph_nodes(m, unit);
    if (n > 0) {
        aot_sb_addf(&m->line, " · %zu nodes", n);
    }
    const aot_partition *p = NULL;
    if (aot_unit_stage(u, AOT_STAGE_JOINT) != NULL &&
        aot_model_partition(m, unit, &p, NULL) == AOT_OK) {
        aot_sb_addf(&m->line, " · saved %s", aot_bytes_text(p->saved_bytes, buf, sizeof buf));
    } else if (u->cache != NULL && strcmp(u->cache, "hit") == 0) {
        aot_sb_addz(&m->line, " · from cache");
    }
    return aot_sb_text(&m->line);
}
