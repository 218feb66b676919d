/* Reads what tools/aotscope_record.py wrote: its log, and the calls of a unit.
 *
 * The log is given back as TORCH_TRACE would have written it, so that one reader makes the units:
 *
 *   header {"aot_joint_graph": {}, ..}, payload "class .."  ->  V.. record] {"aot_joint_graph": ..
 *                                                               <TAB>class ..
 * The recorder puts an artifact "aotscope_graph" {"graph": 3} among the records of a compile; so a
 * unit knows which calls are its own. */
#include "session/calls.h"

#include <stdlib.h>
#include <string.h>

#include "import/json_scan.h"

static bool has_column(const aot_session *s, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(aot_session_db(s), "main", table, column, NULL, NULL, NULL,
                                         NULL, NULL) == SQLITE_OK;
}

bool aot_session_has_calls(const aot_session *s)
{
    return has_column(s, "call", "graph") && has_column(s, "random_output", "before");
}

bool aot_session_is_recording(const aot_session *s)
{
    return has_column(s, "trace_record", "header") && !has_column(s, "unit", "id");
}

/* ---- the log --------------------------------------------------------------------------------- */

static void add_line(aot_sb *out, const char *text, size_t n)
{
    aot_sb_addc(out, '\t');
    aot_sb_add(out, text, n);
    aot_sb_addc(out, '\n');
}

static void add_record(aot_sb *out, const char *header, const char *payload, size_t n)
{
    aot_sb_addf(out, "V0101 00:00:00.000000 0 record:1] %s\n", header);
    while (payload != NULL) {
        const char *end = memchr(payload, '\n', n);
        size_t len = end != NULL ? (size_t)(end - payload) : n;
        add_line(out, payload, len);
        n -= end != NULL ? len + 1 : len;
        payload = end != NULL ? end + 1 : NULL;
    }
}

aot_status aot_recording_log(aot_sb *out, aot_session *s, aot_err *err)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(
        aot_session_db(s), "SELECT header, payload FROM trace_record ORDER BY id", -1, &q, NULL);
    while (rc == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW) {
        const char *header = (const char *)sqlite3_column_text(q, 0);
        const char *payload = (const char *)sqlite3_column_text(q, 1);
        if (header != NULL && strchr(header, '\n') == NULL) {
            add_record(out, header, payload, (size_t)sqlite3_column_bytes(q, 1));
        }
    }
    rc = sqlite3_finalize(q);
    return rc == SQLITE_OK ? AOT_OK : aot_session_fail(s, err, "reading the recorded log");
}

/* ---- calls ----------------------------------------------------------------------------------- */

int64_t aot_unit_graph(const aot_unit *u)
{
    const aot_record *r = aot_unit_record(u, "aotscope_graph");
    if (r == NULL || r->text == NULL) {
        return -1;
    }
    return aot_json_int(aot_json_get((aot_slice){r->text, r->len}, "graph"), -1);
}

int64_t aot_query_graph(aot_queries *q, int64_t unit)
{
    sqlite3_stmt *s = aot_query(q, AOT_Q_UNIT_GRAPH, NULL);
    int64_t graph = -1;
    if (s != NULL) {
        sqlite3_bind_int64(s, 1, unit);
        graph = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
        sqlite3_reset(s);
    }
    return graph;
}

static const char *text_at(aot_arena *a, sqlite3_stmt *s, int column)
{
    const void *t = sqlite3_column_text(s, column);
    return t == NULL
               ? NULL
               : aot_text_disarm(aot_arena_strndup(a, t, (size_t)sqlite3_column_bytes(s, column)));
}

static const char *text_or(aot_arena *a, sqlite3_stmt *s, int column)
{
    const char *t = text_at(a, s, column);
    return t != NULL ? t : "";
}

static void read_compiled(aot_calls *c, aot_run_call *call, sqlite3_stmt *s)
{
    (void)call;
    aot_compiled k = {.side = text_or(c->arena, s, 0),
                      .compiler = text_or(c->arena, s, 1),
                      .n_calls = (uint64_t)sqlite3_column_int64(s, 2)};
    aot_vec_push(&c->compiled, k);
}

static void read_call(aot_calls *c, aot_run_call *call, sqlite3_stmt *s)
{
    (void)call;
    aot_run_call k = {.id = sqlite3_column_int64(s, 0),
                      .graph = sqlite3_column_int64(s, 1),
                      .side = text_or(c->arena, s, 2),
                      .n = (uint64_t)sqlite3_column_int64(s, 3),
                      .forward = sqlite3_column_int64(s, 4),
                      .started = sqlite3_column_double(s, 5),
                      .seconds = sqlite3_column_double(s, 6),
                      .observed = sqlite3_column_int(s, 7) != 0,
                      .n_saved = sqlite3_column_int64(s, 8),
                      .saved_bytes = sqlite3_column_int64(s, 9),
                      .error = text_at(c->arena, s, 10)};
    aot_vec_push(&c->calls, k);
}

static void read_drawn(aot_calls *c, aot_run_call *call, sqlite3_stmt *s)
{
    aot_arena *a = c->arena;
    aot_drawn d = {.idx = (unsigned)sqlite3_column_int(s, 0),
                   .output = (unsigned)sqlite3_column_int(s, 1),
                   .node = text_or(a, s, 2),
                   .op = text_or(a, s, 3),
                   .of = text_at(a, s, 4),
                   .device = text_or(a, s, 5),
                   .dtype = text_or(a, s, 6),
                   .shape = text_or(a, s, 7),
                   .n_bytes = sqlite3_column_int64(s, 8),
                   .hash = text_or(a, s, 9),
                   .sample = text_or(a, s, 10),
                   .value = sqlite3_column_int64(s, 11),
                   .before = sqlite3_column_int64(s, 12),
                   .after = sqlite3_column_int64(s, 13)};
    aot_vec_push(&call->random, d);
}

static void read_generator(aot_calls *c, aot_run_call *call, sqlite3_stmt *s)
{
    aot_generator_use g = {.device = text_or(c->arena, s, 0),
                           .before = sqlite3_column_int64(s, 1),
                           .after = sqlite3_column_int64(s, 2)};
    aot_vec_push(&call->generators, g);
}

static void read_memory(aot_calls *c, aot_run_call *call, sqlite3_stmt *s)
{
    aot_call_memory m = {.device = text_or(c->arena, s, 0),
                         .source = text_or(c->arena, s, 1),
                         .before_bytes = sqlite3_column_int64(s, 2),
                         .after_bytes = sqlite3_column_int64(s, 3),
                         .peak_bytes = sqlite3_column_int64(s, 4)};
    aot_vec_push(&call->memory, m);
}

static void read_saved(aot_calls *c, aot_run_call *call, sqlite3_stmt *s)
{
    aot_saved_tensor t = {.name = text_or(c->arena, s, 0),
                          .dtype = text_or(c->arena, s, 1),
                          .shape = text_or(c->arena, s, 2),
                          .stride = text_at(c->arena, s, 3),
                          .bytes = sqlite3_column_int64(s, 4)};
    aot_vec_push(&call->saved, t);
}

static void read_input(aot_calls *c, aot_run_call *call, sqlite3_stmt *s)
{
    aot_given g = {.name = text_or(c->arena, s, 0),
                   .dtype = text_or(c->arena, s, 1),
                   .shape = text_or(c->arena, s, 2),
                   .n_bytes = sqlite3_column_int64(s, 3),
                   .hash = text_or(c->arena, s, 4),
                   .value = sqlite3_column_int64(s, 5)};
    aot_vec_push(&call->inputs, g);
}

/* Rows of a query whose parameters are p0 and, unless it is -1, p1. */
static aot_status read_rows(aot_calls *c, aot_run_call *call, aot_queries *q, aot_query_id id,
                            int64_t p0, int64_t p1,
                            void (*read)(aot_calls *, aot_run_call *, sqlite3_stmt *), aot_err *err)
{
    sqlite3_stmt *s = aot_query(q, id, err);
    if (s == NULL) {
        return AOT_E_SESSION;
    }
    sqlite3_bind_int64(s, 1, p0);
    if (sqlite3_bind_parameter_count(s) > 1) {
        sqlite3_bind_int64(s, 2, p1);
    }
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        read(c, call, s);
    }
    sqlite3_reset(s);
    return rc == SQLITE_DONE
               ? AOT_OK
               : AOT_FAIL(err, AOT_E_SESSION, "reading calls: %s", sqlite3_errstr(rc));
}

static int by_id(const void *key, const void *call)
{
    int64_t k = *(const int64_t *)key, id = ((const aot_run_call *)call)->id;
    return (k > id) - (k < id);
}

/* The first output of that node among what a call drew. */
static const aot_drawn *find_drawn(const aot_run_call *call, const char *node, unsigned output)
{
    for (size_t i = 0; i < call->random.n; i++) {
        const aot_drawn *d = &call->random.d[i];
        if (d->output == output && strcmp(d->node, node) == 0) {
            return d;
        }
    }
    return NULL;
}

/* Joins what backwards drew again with what their forwards had drawn. */
static void pair_drawn(aot_calls *c)
{
    for (size_t i = 0; i < c->calls.n; i++) {
        aot_run_call *call = &c->calls.d[i];
        const aot_run_call *forward =
            call->forward == 0
                ? NULL
                : bsearch(&call->forward, c->calls.d, c->calls.n, sizeof *c->calls.d, by_id);
        for (size_t k = 0; forward != NULL && k < call->random.n; k++) {
            aot_drawn *d = &call->random.d[k];
            d->first = d->of != NULL ? find_drawn(forward, d->of, d->output) : NULL;
            c->n_redrawn += d->first != NULL;
            c->n_differ += d->first != NULL && strcmp(d->first->hash, d->hash) != 0;
        }
    }
}

aot_status aot_calls_read(aot_calls **out, aot_queries *q, int64_t unit, int64_t graph,
                          aot_err *err)
{
    aot_calls *c = aot_xcalloc(1, sizeof *c);
    c->arena = aot_arena_new();
    static const struct {
        aot_query_id id;
        void (*read)(aot_calls *, aot_run_call *, sqlite3_stmt *);
    } parts[] = {{AOT_Q_CALL_RANDOM, read_drawn},
                 {AOT_Q_CALL_GENERATORS, read_generator},
                 {AOT_Q_CALL_MEMORY, read_memory},
                 {AOT_Q_CALL_SAVED, read_saved},
                 {AOT_Q_CALL_INPUTS, read_input}};
    size_t n_parts = sizeof parts / sizeof *parts - !aot_query_has_table(q, "input_value");
    aot_status st = read_rows(c, NULL, q, AOT_Q_COMPILED, unit, graph, read_compiled, err);
    if (st == AOT_OK) {
        st = read_rows(c, NULL, q, AOT_Q_CALLS, unit, graph, read_call, err);
    }
    for (size_t i = 0; i < c->calls.n && st == AOT_OK; i++) {
        for (size_t k = 0; k < n_parts && st == AOT_OK; k++) {
            aot_run_call *call = &c->calls.d[i];
            st = read_rows(c, call, q, parts[k].id, call->id, -1, parts[k].read, err);
        }
    }
    if (st != AOT_OK) {
        aot_calls_free(c);
        return st;
    }
    pair_drawn(c);
    *out = c;
    return AOT_OK;
}

void aot_calls_free(aot_calls *c)
{
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->calls.n; i++) {
        aot_vec_free(&c->calls.d[i].random);
        aot_vec_free(&c->calls.d[i].inputs);
        aot_vec_free(&c->calls.d[i].generators);
        aot_vec_free(&c->calls.d[i].memory);
        aot_vec_free(&c->calls.d[i].saved);
    }
    aot_vec_free(&c->calls);
    aot_vec_free(&c->compiled);
    aot_arena_free(c->arena);
    free(c);
}

aot_status aot_calls_blob(const void **data, size_t *n, aot_queries *q, int64_t blob, aot_arena *a,
                          aot_err *err)
{
    sqlite3_stmt *s = aot_query(q, AOT_Q_BLOB, err);
    if (s == NULL) {
        return AOT_E_SESSION;
    }
    sqlite3_bind_int64(s, 1, blob);
    aot_status st = AOT_OK;
    if (sqlite3_step(s) == SQLITE_ROW) {
        const void *bytes = sqlite3_column_blob(s, 0);
        *n = (size_t)sqlite3_column_bytes(s, 0);
        *data = aot_arena_strndup(a, bytes != NULL ? bytes : "", *n);
    } else {
        st = AOT_FAIL(err, AOT_E_SESSION, "the session holds no value %lld", (long long)blob);
    }
    sqlite3_reset(s);
    return st;
}
