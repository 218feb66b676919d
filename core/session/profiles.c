/* Collects the records that tell times, unit by unit; memory is bounded by one unit and the times.
 *
 * A backward is often compiled after its unit was handed out: its records come loose, with the
 * unit's key, and belong to the newest unit of that key. Loose records of another key are those of
 * a compile that made no graph (a graph break at once, an error). */
#include "session/profiles.h"

#include <stdlib.h>
#include <string.h>

#include "session/calls.h"

typedef struct reader {
    aot_profiles *out;
    size_t first; /* of the input at hand */
    int64_t n_units;
    const char *input;
} reader;

static bool same_compile(const aot_unit_key *a, const aot_unit_key *b)
{
    return a->rank == b->rank && a->compiled_autograd_id == b->compiled_autograd_id &&
           a->frame == b->frame && a->compile == b->compile &&
           (a->attempt == b->attempt || b->attempt < 0);
}

static const char *why_none(const aot_unit *u)
{
    bool trace = u->inputs.n > 0 || u->config != NULL; // TORCH_LOGS tells neither
    if (aot_unit_stage(u, AOT_STAGE_EXPORT) != NULL) {
        return "torch.export logs no times of its steps";
    }
    if (u->key.split > 0) {
        return "a further graph of one compile: its times are with the first";
    }
    return trace ? "the log holds neither compilation_metrics nor chromium events of it: they were "
                   "filtered out, or the compile did not end"
                 : "the input is no TORCH_TRACE log; only that has times: run with TORCH_TRACE=DIR";
}

static aot_compile_profile *add_compile(reader *r, const aot_unit_key *key, const char *title,
                                        int64_t unit)
{
    char label[96];
    aot_arena *a = r->out->arena;
    aot_unit_label(key, label, sizeof label);
    aot_compile_profile c = {.label = aot_arena_strndup(a, label, strlen(label)),
                             .title = aot_arena_strndup(a, title, strlen(title)),
                             .input = r->input,
                             .unit = unit,
                             .beside = unit < 0 && key->frame < 0 && key->compiled_autograd_id < 0,
                             .profile = aot_profile_new()};
    aot_vec_push(&r->out->compiles, c);
    aot_vec_push(&r->out->keys, *key);
    return &r->out->compiles.d[r->out->compiles.n - 1];
}

static void read_unit(reader *r, const aot_unit *u)
{
    aot_compile_profile *c = add_compile(r, &u->key, u->title, r->n_units++);
    for (size_t i = 0; i < u->records.n; i++) {
        aot_profile_add(c->profile, &u->records.d[i]);
    }
    c->why_none = why_none(u);
}

static aot_status on_unit(void *arg, aot_unit *u, aot_err *err)
{
    (void)err;
    read_unit(arg, u);
    aot_unit_free(u);
    return AOT_OK;
}

static void on_loose(void *arg, const aot_unit_key *key, const aot_record *rec)
{
    reader *r = arg;
    if (key == NULL || !aot_profile_takes(rec)) {
        return;
    }
    for (size_t i = r->out->compiles.n; i > r->first; i--) {
        if (same_compile(&r->out->keys.d[i - 1], key)) {
            aot_profile_add(r->out->compiles.d[i - 1].profile, rec);
            return;
        }
    }
    aot_profile_add(add_compile(r, key, "", -1)->profile, rec);
}

/* The label of a loose record in a session is that of its compile. */
static void on_labelled(reader *r, const char *label, const aot_record *rec)
{
    if (label == NULL || label[0] == '\0' || !aot_profile_takes(rec)) {
        return;
    }
    for (size_t i = r->out->compiles.n; i > r->first; i--) {
        if (strcmp(r->out->compiles.d[i - 1].label, label) == 0) {
            aot_profile_add(r->out->compiles.d[i - 1].profile, rec);
            return;
        }
    }
    aot_unit_key none = {-1, -1, -1, -1, -1, 0};
    aot_compile_profile *c = add_compile(r, &none, "", -1);
    c->label = aot_arena_strndup(r->out->arena, label, strlen(label));
    c->beside = strncmp(label, "[-]", 3) == 0;
    aot_profile_add(c->profile, rec);
}

static aot_status read_loose(reader *r, aot_queries *q, aot_err *err)
{
    sqlite3_stmt *s = aot_query(q, AOT_Q_LOOSE_TIMES, err);
    int rc = SQLITE_ERROR;
    while (s != NULL && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        aot_record rec = {.name = (const char *)sqlite3_column_text(s, 1),
                          .meta = (const char *)sqlite3_column_text(s, 2),
                          .text = (const char *)sqlite3_column_text(s, 3),
                          .len = (size_t)sqlite3_column_bytes(s, 3)};
        on_labelled(r, (const char *)sqlite3_column_text(s, 0), &rec);
    }
    sqlite3_reset(s);
    return s == NULL ? AOT_E_SESSION
           : rc == SQLITE_DONE
               ? AOT_OK
               : AOT_FAIL(err, AOT_E_SESSION, "reading records: %s", sqlite3_errstr(rc));
}

static aot_status read_units(reader *r, aot_session *s, aot_err *err)
{
    aot_queries *q = aot_queries_new(s);
    int64_t *ids = NULL;
    size_t n = 0;
    aot_status st = aot_query_units(q, &ids, &n, err);
    for (size_t i = 0; i < n && st == AOT_OK; i++) {
        aot_unit *u = NULL;
        st = aot_query_unit(q, ids[i], &u, err);
        if (st == AOT_OK) {
            st = on_unit(r, u, err);
        }
    }
    free(ids);
    if (st == AOT_OK) {
        st = read_loose(r, q, err);
    }
    aot_queries_free(q);
    return st;
}

static aot_status read_session(reader *r, const char *path, const aot_import_sink *sink,
                               aot_err *err)
{
    aot_session *s = NULL;
    AOT_TRY(aot_session_open(&s, path, err));
    aot_sb log = {0};
    aot_status st;
    if (aot_session_is_recording(s)) {
        st = aot_recording_log(&log, s, err);
        if (st == AOT_OK) {
            st = aot_import_bytes(path, aot_sb_text(&log), log.n, sink, NULL, err);
        }
    } else {
        st = read_units(r, s, err);
    }
    aot_sb_free(&log);
    aot_session_close(s);
    return st;
}

static int by_unit(const void *a, const void *b)
{
    const aot_compile_profile *x = a, *y = b;
    uint64_t i = (uint64_t)x->unit, j = (uint64_t)y->unit; // -1, no graph, comes last
    if (i != j) {
        return i < j ? -1 : 1;
    }
    return strcmp(x->label, y->label);
}

aot_status aot_profiles_read(aot_profiles **out, const char *const *inputs, size_t n_inputs,
                             aot_err *err)
{
    aot_profiles *p = aot_xcalloc(1, sizeof *p);
    p->arena = aot_arena_new();
    reader r = {.out = p};
    aot_import_sink sink = {.arg = &r, .on_unit = on_unit, .on_loose = on_loose};
    aot_status st = AOT_OK;
    for (size_t i = 0; i < n_inputs && st == AOT_OK; i++) {
        r.first = p->compiles.n;
        r.input = inputs[i];
        st = strcmp(inputs[i], "-") != 0 && aot_session_sniff(inputs[i])
                 ? read_session(&r, inputs[i], &sink, err)
                 : aot_import(inputs[i], &sink, NULL, err);
        if (st != AOT_OK) {
            aot_err_in_file(err, inputs[i]);
        }
    }
    if (st != AOT_OK) {
        aot_profiles_free(p);
        return st;
    }
    for (size_t i = 0; i < p->compiles.n; i++) {
        aot_profile_finish(p->compiles.d[i].profile);
        if (p->compiles.d[i].profile->source != AOT_PROFILE_NONE) {
            p->compiles.d[i].why_none = NULL;
        }
    }
    if (p->compiles.n > 1) {
        qsort(p->compiles.d, p->compiles.n, sizeof *p->compiles.d, by_unit);
    }
    *out = p;
    return AOT_OK;
}

void aot_profiles_free(aot_profiles *p)
{
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < p->compiles.n; i++) {
        aot_profile_free(p->compiles.d[i].profile);
    }
    aot_vec_free(&p->compiles);
    aot_vec_free(&p->keys);
    aot_arena_free(p->arena);
    free(p);
}
