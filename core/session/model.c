/* Inputs are opened: a slot a unit. From a log, the unit is there from the start; from a session it
 * is read when first touched, so opening a large session costs one query. Everything made for a
 * unit lives in the slot's own aot_ctx. */
#include <stdlib.h>
#include <string.h>

#include "import/profile.h"
#include "session/model_internal.h"
#include "session/place.h"
#include "session/record_inputs.h"

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

/* any: whatever attempt, where b names none. */
static bool same_key(const aot_unit_key *a, const aot_unit_key *b, bool any)
{
    return a->rank == b->rank && a->compiled_autograd_id == b->compiled_autograd_id &&
           a->frame == b->frame && a->compile == b->compile &&
           (a->attempt == b->attempt || (any && b->attempt < 0));
}

/* A graph that came after its unit was delivered still belongs to it, and so do the times of a
 * backward that was compiled later. */
static void on_loose(void *arg, const aot_unit_key *key, const aot_record *r)
{
    aot_model *m = arg;
    bool times = aot_profile_takes(r), takes = r->stage < AOT_N_STAGES || times;
    for (size_t i = m->slots.n; key != NULL && takes && i-- > 0;) {
        aot_unit *u = m->slots.d[i].unit;
        if (u != NULL && m->slots.d[i].source < 0 && same_key(&u->key, key, times) &&
            (times || aot_unit_stage(u, r->stage) == NULL)) {
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
        aot_vec_push(&m->slots,
                     ((slot){.id = ids[i], .source = (int)m->sources.n - 1, .run = run}));
    }
    free(ids);
    return aot_query_files(s->queries, add_file, m, err);
}

static void note_incomplete(aot_model *m, const char *path, const char *state)
{
    static const char *const by_writer[] = {
        [AOT_PLACE_WRITER_UNKNOWN] = "the session is not complete: its writer is still running or "
                                     "was stopped; what it had written is here",
        [AOT_PLACE_WRITER_RUNS] = "the session is not complete: it is being written; what is there "
                                  "so far is here",
        [AOT_PLACE_WRITER_STOPPED] = "the session is not complete: its import was stopped; what it "
                                     "had written is here, importing again with -o writes it anew"};
    if (state != NULL && strcmp(state, "complete") == 0) {
        return;
    }
    bool failed = state != NULL && strcmp(state, "failed") == 0;
    aot_import_note note = {path, 0, "incomplete",
                            failed ? "the session is not complete: its import could not write all "
                                     "of it; what it had written is here"
                                   : by_writer[aot_place_writer_of(path)]};
    add_note(m, &note);
}

static aot_status open_session(aot_model *m, const char *path, aot_err *err)
{
    source s = {0};
    AOT_TRY(aot_session_open(&s.session, path, err));
    s.queries = aot_queries_new(s.session);
    aot_vec_push(&m->sources, s); /* freed with the model, whatever comes */
    AOT_TRY(aot_session_is_recording(s.session) ? open_recording(m, path, s.session, err)
                                                : open_units(m, &s, err));
    note_incomplete(m, path, aot_session_value(s.session, "state"));
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
    aot_status st = o->text != NULL
                        ? aot_import_bytes(path, o->text, o->n_text, &sink, &f.stats, err)
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
    st = st == AOT_OK ? aot_model_try_policy(m, err) : st;
    m->opening = NULL;
    if (st != AOT_OK) {
        aot_model_free(m);
        return st;
    }
    *out = m;
    return AOT_OK;
}

void aot_model_drop_partitions(slot *s)
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
        aot_model_drop_partitions(s);
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
