/* Prepares the named statements and reads units back out of a session.
 *
 * A unit read back equals the unit that was recorded: the same records in the same order, the same
 * facts. So everything above works on units and does not care where they come from. */
#include "session/query.h"

#include "session/derive.h"

#include <stdlib.h>
#include <string.h>

static const char *const sql[AOT_N_QUERIES] = {
#define QUERY(name, text) [AOT_Q_##name] = text,
#include "session/queries.def"
#undef QUERY
};

struct aot_queries {
    aot_session *session;
    sqlite3_stmt *stmt[AOT_N_QUERIES];
};

aot_queries *aot_queries_new(aot_session *s)
{
    aot_queries *q = aot_xcalloc(1, sizeof *q);
    q->session = s;
    return q;
}

void aot_queries_free(aot_queries *q)
{
    if (q == NULL) {
        return;
    }
    for (int i = 0; i < AOT_N_QUERIES; i++) {
        sqlite3_finalize(q->stmt[i]);
    }
    free(q);
}

sqlite3_stmt *aot_query(aot_queries *q, aot_query_id id, aot_err *err)
{
    if (q->stmt[id] == NULL &&
        sqlite3_prepare_v3(aot_session_db(q->session), sql[id], -1, SQLITE_PREPARE_PERSISTENT,
                           &q->stmt[id], NULL) != SQLITE_OK) {
        aot_status ignored = aot_session_fail(q->session, err, sql[id]);
        (void)ignored;
        return NULL;
    }
    sqlite3_reset(q->stmt[id]);
    sqlite3_clear_bindings(q->stmt[id]);
    return q->stmt[id];
}

/* Steps: 1 a row, 0 the end, -1 an error (in *err). Ends the statement when there is no row. */
static int step(aot_queries *q, sqlite3_stmt *s, aot_err *err)
{
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) {
        return 1;
    }
    if (rc != SQLITE_DONE) {
        aot_status ignored = aot_session_fail(q->session, err, sqlite3_sql(s));
        (void)ignored;
    }
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? 0 : -1;
}

bool aot_query_has_table(aot_queries *q, const char *table)
{
    return sqlite3_table_column_metadata(aot_session_db(q->session), "main", table, NULL, NULL,
                                         NULL, NULL, NULL, NULL) == SQLITE_OK;
}

int64_t aot_query_number(aot_queries *q, aot_query_id id)
{
    aot_err err = {0};
    sqlite3_stmt *s = aot_query(q, id, &err);
    int64_t v = -1;
    if (s != NULL && step(q, s, &err) == 1) {
        v = sqlite3_column_int64(s, 0);
        sqlite3_reset(s);
    }
    return v;
}

aot_status aot_query_units(aot_queries *q, int64_t **ids, size_t *n, aot_err *err)
{
    aot_err own = {0};
    sqlite3_stmt *s = aot_query(q, AOT_Q_UNITS, &own);
    AOT_VEC(int64_t) v = {0};
    while (s != NULL && step(q, s, &own) == 1) {
        aot_vec_push(&v, sqlite3_column_int64(s, 0));
    }
    if (own.code != AOT_OK) {
        aot_vec_free(&v);
        if (err != NULL && err->code == AOT_OK) {
            *err = own;
        }
        return own.code;
    }
    *ids = v.d;
    *n = v.n;
    return AOT_OK;
}

static const char *text_of(aot_arena *a, sqlite3_stmt *s, int column)
{
    const void *t = sqlite3_column_text(s, column);
    return t == NULL
               ? NULL
               : aot_text_disarm(aot_arena_strndup(a, t, (size_t)sqlite3_column_bytes(s, column)));
}

static const char *text_or_empty(aot_arena *a, sqlite3_stmt *s, int column)
{
    const char *t = text_of(a, s, column);
    return t != NULL ? t : "";
}

static int int_or(sqlite3_stmt *s, int column, int none)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? none : sqlite3_column_int(s, column);
}

static void read_static_inputs(aot_unit *u, const char *text)
{
    u->n_static_inputs = -1;
    json_t *list = text != NULL ? json_loads(text, 0, NULL) : NULL;
    if (json_is_array(list)) {
        u->n_static_inputs = (int)json_array_size(list);
        u->static_inputs = AOT_NEW_ARRAY(u->arena, int, json_array_size(list));
        for (int i = 0; i < u->n_static_inputs; i++) {
            u->static_inputs[i] = (int)json_integer_value(json_array_get(list, (size_t)i));
        }
    }
    json_decref(list);
}

static void read_unit_row(aot_unit *u, sqlite3_stmt *s)
{
    aot_arena *a = u->arena;
    u->key = (aot_unit_key){.rank = int_or(s, 0, -1),
                            .compiled_autograd_id = int_or(s, 1, -1),
                            .frame = int_or(s, 2, -1),
                            .compile = int_or(s, 3, -1),
                            .attempt = int_or(s, 4, -1),
                            .split = int_or(s, 5, 0)};
    u->index = (uint32_t)sqlite3_column_int64(s, 6);
    u->input = text_or_empty(a, s, 7);
    u->title = text_or_empty(a, s, 8);
    u->torch_version = text_or_empty(a, s, 9);
    u->aot_id = int_or(s, 10, -1);
    u->cache = text_of(a, s, 11);
    u->seconds = sqlite3_column_type(s, 12) == SQLITE_NULL ? -1 : sqlite3_column_double(s, 12);
    u->backend = text_or_empty(a, s, 13);
    u->fw_metadata = text_of(a, s, 14);
    const char *config = (const char *)sqlite3_column_text(s, 15);
    u->config = config != NULL ? json_loads(config, 0, NULL) : NULL;
    read_static_inputs(u, (const char *)sqlite3_column_text(s, 16));
    u->n_forward_outputs = int_or(s, 17, -1);
}

static void read_record(aot_unit *u, sqlite3_stmt *s)
{
    aot_arena *a = u->arena;
    const char *stage = (const char *)sqlite3_column_text(s, 1);
    aot_record r = {.name = text_or_empty(a, s, 0),
                    .stage = stage != NULL ? aot_stage_find(stage) : AOT_N_STAGES,
                    .is_artifact = sqlite3_column_int(s, 2) != 0,
                    .is_json = sqlite3_column_int(s, 3) != 0,
                    .n_missing = (uint32_t)sqlite3_column_int(s, 4),
                    .line = (uint64_t)sqlite3_column_int64(s, 5),
                    .meta = text_of(a, s, 6),
                    .text = text_of(a, s, 7)};
    r.len = r.text != NULL ? (size_t)sqlite3_column_bytes(s, 7) : 0;
    aot_vec_push(&u->records, r);
}

static void read_input(aot_unit *u, sqlite3_stmt *s)
{
    aot_arena *a = u->arena;
    aot_input_desc d = {.source = text_of(a, s, 0),
                        .dtype = text_of(a, s, 1),
                        .device = text_of(a, s, 2),
                        .size = text_of(a, s, 3),
                        .stride = text_of(a, s, 4),
                        .offset = sqlite3_column_int64(s, 5),
                        .describer = sqlite3_column_int(s, 6),
                        .tensor = sqlite3_column_int(s, 7),
                        .storage = sqlite3_column_int(s, 8),
                        .storage_bytes = sqlite3_column_int64(s, 9),
                        .requires_grad = sqlite3_column_int(s, 10) != 0,
                        .is_leaf = sqlite3_column_int(s, 11) != 0,
                        .is_parameter = sqlite3_column_int(s, 12) != 0,
                        .is_view = sqlite3_column_int(s, 13) != 0};
    aot_vec_push(&u->inputs, d);
}

static void read_symbol(aot_unit *u, sqlite3_stmt *s)
{
    aot_symbol y = {.name = text_or_empty(u->arena, s, 0),
                    .source = text_of(u->arena, s, 1),
                    .range = text_of(u->arena, s, 2),
                    .hint = sqlite3_column_int64(s, 3),
                    .has_hint = sqlite3_column_type(s, 3) != SQLITE_NULL};
    aot_vec_push(&u->symbols, y);
}

/* A setting that the session was made with and that its log does not have. */
static void read_setting(aot_unit *u, sqlite3_stmt *s)
{
    const aot_config_row *row = aot_config_find(text_or_empty(u->arena, s, 0));
    const char *value = text_or_empty(u->arena, s, 1);
    aot_config recorded;
    aot_sb was = {0};
    if (row == NULL) {
        return;
    }
    aot_unit_recorded_config(&recorded, u);
    aot_config_print(&was, &recorded, row);
    if (strcmp(aot_sb_text(&was), value) != 0) {
        const char *set = aot_arena_printf(u->arena, "%s=%s", row->name, value);
        aot_err ignored = {0};
        if (aot_config_set(&recorded, set, &ignored) == AOT_OK) { /* a row of this version's */
            aot_vec_push(&u->set, set);
        }
    }
    aot_sb_free(&was);
}

static aot_import_note note_of(aot_arena *a, sqlite3_stmt *s)
{
    return (aot_import_note){.file = text_of(a, s, 0),
                             .line = (uint64_t)sqlite3_column_int64(s, 1),
                             .kind = text_or_empty(a, s, 2),
                             .text = text_or_empty(a, s, 3)};
}

static void read_note(aot_unit *u, sqlite3_stmt *s)
{
    aot_vec_push(&u->notes, note_of(u->arena, s));
}

static void read_rows(aot_queries *q, aot_query_id id, int64_t unit, aot_unit *u,
                      void (*read)(aot_unit *, sqlite3_stmt *), aot_err *err)
{
    sqlite3_stmt *s = aot_query(q, id, err);
    if (s == NULL) {
        return;
    }
    sqlite3_bind_int64(s, 1, unit);
    while (step(q, s, err) == 1) {
        read(u, s);
    }
}

aot_status aot_query_unit(aot_queries *q, int64_t id, aot_unit **out, aot_err *err)
{
    aot_err own = {0};
    aot_unit *u = aot_unit_new();
    read_rows(q, AOT_Q_UNIT, id, u, read_unit_row, &own);
    read_rows(q, AOT_Q_RECORDS, id, u, read_record, &own);
    read_rows(q, AOT_Q_INPUTS, id, u, read_input, &own);
    read_rows(q, AOT_Q_SYMBOLS, id, u, read_symbol, &own);
    read_rows(q, AOT_Q_UNIT_NOTES, id, u, read_note, &own);
    read_rows(q, AOT_Q_SETTINGS, id, u, read_setting, &own);
    if (own.code != AOT_OK) {
        aot_unit_free(u);
        if (err != NULL && err->code == AOT_OK) {
            *err = own;
        }
        return own.code;
    }
    *out = u;
    return AOT_OK;
}

static aot_check_verdict verdict_of(const char *name)
{
    int v = AOT_CHECK_SAME;
    while (v < AOT_CHECK_ERROR && strcmp(name, aot_check_verdict_name((aot_check_verdict)v)) != 0) {
        v++;
    }
    return (aot_check_verdict)v;
}

size_t aot_query_checks(aot_queries *q, int64_t id, aot_check_result out[AOT_N_STAGES],
                        aot_arena *a)
{
    sqlite3_stmt *s = aot_query(q, AOT_Q_CHECKS, NULL);
    bool has[AOT_N_STAGES] = {false};
    size_t n = 0;
    if (s == NULL) {
        return 0;
    }
    aot_check_result of[AOT_N_STAGES];
    sqlite3_bind_int64(s, 1, id);
    while (step(q, s, NULL) == 1) {
        aot_stage stage = aot_stage_find(text_or_empty(a, s, 0));
        if (stage >= AOT_N_STAGES) {
            continue;
        }
        has[stage] = true;
        of[stage] = (aot_check_result){.stage = stage,
                                       .verdict = verdict_of(text_or_empty(a, s, 1)),
                                       .reason = text_of(a, s, 2),
                                       .input_line = (uint64_t)sqlite3_column_int64(s, 3),
                                       .recorded = text_of(a, s, 4),
                                       .derived = text_of(a, s, 5)};
    }
    for (int k = 0; k < AOT_N_STAGES; k++) {
        if (has[k]) {
            out[n++] = of[k];
        }
    }
    return n;
}

aot_status aot_query_file_notes(aot_queries *q, void (*fn)(void *, const aot_import_note *),
                                void *arg, aot_err *err)
{
    aot_err own = {0};
    aot_arena *a = aot_arena_new();
    sqlite3_stmt *s = aot_query(q, AOT_Q_FILE_NOTES, &own);
    while (s != NULL && step(q, s, &own) == 1) {
        aot_import_note n = note_of(a, s);
        fn(arg, &n);
    }
    aot_arena_free(a);
    if (own.code != AOT_OK && err != NULL && err->code == AOT_OK) {
        *err = own;
    }
    return own.code;
}

aot_status aot_query_files(aot_queries *q,
                           void (*fn)(void *, const char *, const aot_import_stats *, const char *),
                           void *arg, aot_err *err)
{
    aot_err own = {0};
    sqlite3_stmt *s = aot_query(q, AOT_Q_FILES, &own);
    while (s != NULL && step(q, s, &own) == 1) {
        uint64_t v[9];
        for (int i = 0; i < 9; i++) {
            v[i] = (uint64_t)sqlite3_column_int64(s, i + 1);
        }
        aot_import_stats t = {.bytes = v[0],
                              .lines = v[1],
                              .records = v[2],
                              .graphs = v[3],
                              .units = (uint32_t)v[4],
                              .files = (uint32_t)v[5],
                              .skipped_records = v[6],
                              .damaged_records = v[7],
                              .payload_mismatches = v[8]};
        const char *path = (const char *)sqlite3_column_text(s, 0);
        fn(arg, path != NULL ? path : "", &t, (const char *)sqlite3_column_text(s, 10));
    }
    if (own.code != AOT_OK && err != NULL && err->code == AOT_OK) {
        *err = own;
    }
    return own.code;
}
