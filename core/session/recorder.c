/* Fills a session with what importers deliver; recorder_graphs.c adds what passes report.
 *
 * Statements are prepared once (table sql below) and bound by position. Functions called from
 * inside the pipeline cannot fail; they keep the first error for aot_recorder_status. After it
 * nothing more is written: a session with a hole must not end as a complete one. Texts go through
 * text_id, which stores equal ones once. on_pass_begin opens a transaction and on_pass_end
 * closes it: that is the "at most the running pass" of the crash promise. */
#include "session/recorder_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "pipeline/pass.h"
#include "session/derive.h"

static const char *const sql[N_STMTS] = {
    [S_TEXT] = "INSERT INTO text (hash, n_bytes, text) VALUES (?,?,?)",
    [S_TEXT_FIND] = "SELECT id FROM text WHERE hash = ?",
    [S_FILE] = "INSERT INTO file (path) VALUES (?)",
    [S_FILE_END] = "UPDATE file SET bytes=?, lines=?, records=?, graphs=?, units=?, files=?, "
                   "skipped_records=?, "
                   "damaged_records=?, payload_mismatches=?, error=? WHERE id=?",
    [S_UNIT] =
        "INSERT INTO unit (id, file, idx, label, title, path, rank, compiled_autograd_id, frame, "
        "compile, "
        "attempt, split, aot_id, input, torch_version, backend, cache, seconds, fw_metadata, "
        "config, "
        "static_inputs, n_forward_outputs) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_RECORD] = "INSERT INTO record (unit, file, label, name, stage, is_artifact, is_json, "
                 "n_missing, line, "
                 "meta, text) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
    [S_INPUT] = "INSERT INTO input VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_SYMBOL] = "INSERT INTO symbol VALUES (?,?,?,?,?,?)",
    [S_NOTE] = "INSERT INTO note (unit, file, line, kind, text) VALUES (?,?,?,?,?)",
    [S_CONFIG] = "INSERT OR REPLACE INTO config VALUES (?,?,?,?,?)",
    [S_STAGE_GRAPH] =
        "INSERT INTO stage_graph (unit, stage, origin, record, pass_run, text, n_nodes, n_opaque, "
        "seconds, error, same_as) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
    [S_MISSING] = "INSERT OR REPLACE INTO missing_stage VALUES (?,?,?)",
    [S_NODE] = "INSERT INTO node VALUES "
               "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_RNG] = "INSERT OR IGNORE INTO rng_site VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_OP] = "INSERT OR IGNORE INTO op VALUES (?,?,?,?,?,?,?)",
    [S_RUN] = "INSERT INTO pass_run (unit, pass) VALUES (?,?)",
    [S_RUN_END] = "UPDATE pass_run SET n_nodes_in=?, n_nodes_out=?, seconds=?, error=? WHERE id=?",
    [S_PARTITION] =
        "UPDATE unit SET n_saved=?, saved_bytes=?, saved_new_bytes=?, cut_value=?, rung=?, "
        "n_vertices=?, n_edges=?, n_cut_nodes=? WHERE id=?",
    [S_PART_NOTE] = "UPDATE unit SET partition_note=? WHERE id=?",
    [S_CHECK] = "INSERT OR REPLACE INTO stage_check VALUES (?,?,?,?,?,?,?)",
    [S_UNIT_OF] =
        "SELECT id FROM unit WHERE file IS ? AND rank=? AND compiled_autograd_id=? AND frame=? AND "
        "compile=? AND attempt=? AND split<=? ORDER BY id DESC LIMIT 1",
    [S_EDIT] =
        "INSERT INTO edit (pass_run, kind, node, replacement, rule, stage, unit) VALUES "
        "(?,'replace',?,?,?,?,?)",
    [S_WRAPPER] = "INSERT INTO wrapper VALUES (?,?,?,?,?)",
    [S_MEMORY] = "INSERT OR REPLACE INTO mem_event VALUES (?,?,?,?,?,?,?)",
    [S_PATH] = "UPDATE unit SET path=?, path_reason=? WHERE id=?",
};

/* ---- binding --------------------------------------------------------------------------------- */

sqlite3_stmt *aot_rec_take(aot_recorder *r, stmt_id id)
{
    sqlite3_reset(r->stmt[id]);
    return r->stmt[id];
}

static void keep_error(aot_recorder *r, const char *doing)
{
    if (r->err.code == AOT_OK) {
        aot_status ignored = aot_session_fail(r->session, &r->err, doing);
        (void)ignored;
        aot_session_spoil(r->session, &r->err);
    }
}

void aot_rec_run(aot_recorder *r, stmt_id id)
{
    if (r->err.code == AOT_OK && sqlite3_step(r->stmt[id]) != SQLITE_DONE) {
        keep_error(r, sql[id]);
    }
    sqlite3_reset(r->stmt[id]);
    sqlite3_clear_bindings(r->stmt[id]);
}

void aot_rec_exec(aot_recorder *r, const char *statement)
{
    if (r->err.code == AOT_OK &&
        sqlite3_exec(r->db, statement, NULL, NULL, NULL) != SQLITE_OK) {
        keep_error(r, statement);
    }
}

/* Loose records come one by one, between units: they share a transaction, a few hundred at a time.
 */
static void open_batch(aot_recorder *r)
{
    enum { BATCH = 256 };
    if (++r->n_batch % BATCH == 0 && !sqlite3_get_autocommit(r->db)) {
        aot_rec_exec(r, "COMMIT");
    }
    if (sqlite3_get_autocommit(r->db)) {
        aot_rec_exec(r, "BEGIN");
    }
}

void aot_recorder_begin(aot_recorder *r)
{
    if (!sqlite3_get_autocommit(r->db)) {
        aot_rec_exec(r, "COMMIT");
    }
    aot_rec_exec(r, "BEGIN");
}

void aot_recorder_commit(aot_recorder *r)
{
    if (!sqlite3_get_autocommit(r->db)) {
        aot_rec_exec(r, "COMMIT");
    }
}

void aot_rec_bind_text(sqlite3_stmt *s, int i, const char *t)
{
    if (t == NULL || t[0] == 0) {
        sqlite3_bind_null(s, i);
    } else {
        sqlite3_bind_text(s, i, t, -1, SQLITE_TRANSIENT);
    }
}

void aot_rec_bind_text_always(sqlite3_stmt *s, int i, const char *t)
{
    sqlite3_bind_text(s, i, t != NULL ? t : "", -1, SQLITE_TRANSIENT);
}

void aot_rec_bind_id(sqlite3_stmt *s, int i, sqlite3_int64 id)
{
    if (id > 0) {
        sqlite3_bind_int64(s, i, id);
    } else {
        sqlite3_bind_null(s, i);
    }
}

void aot_rec_bind_unit(sqlite3_stmt *s, int i, sqlite3_int64 unit)
{
    if (unit >= 0) {
        sqlite3_bind_int64(s, i, unit);
    } else {
        sqlite3_bind_null(s, i);
    }
}

void aot_rec_bind_line(sqlite3_stmt *s, int i, uint64_t line)
{
    aot_rec_bind_id(s, i, (sqlite3_int64)line);
}

/* The first column of the statement's first row; none if there is no row. */
static sqlite3_int64 find_id(aot_recorder *r, stmt_id id, sqlite3_int64 none)
{
    int rc = r->err.code == AOT_OK ? sqlite3_step(r->stmt[id]) : SQLITE_DONE;
    if (rc == SQLITE_ROW) {
        none = sqlite3_column_int64(r->stmt[id], 0);
    } else if (rc != SQLITE_DONE) {
        keep_error(r, sql[id]);
    }
    sqlite3_reset(r->stmt[id]);
    return none;
}

sqlite3_int64 aot_rec_text_id(aot_recorder *r, const char *text, size_t n)
{
    if (text == NULL) {
        return 0;
    }
    char hash[33];
    aot_hash_hex(text, n, hash);
    sqlite3_stmt *q = aot_rec_take(r, S_TEXT_FIND);
    sqlite3_bind_text(q, 1, hash, -1, SQLITE_TRANSIENT);
    sqlite3_int64 id = find_id(r, S_TEXT_FIND, 0);
    if (id == 0) {
        q = aot_rec_take(r, S_TEXT);
        sqlite3_bind_text(q, 1, hash, -1, SQLITE_TRANSIENT);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)n);
        sqlite3_bind_text64(q, 3, text, n, SQLITE_STATIC, SQLITE_UTF8);
        aot_rec_run(r, S_TEXT);
        id = sqlite3_last_insert_rowid(r->db);
    }
    return id;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void step_row(aot_recorder *r, sqlite3_stmt *q, const char *doing)
{
    if (r->err.code == AOT_OK && sqlite3_step(q) != SQLITE_DONE) {
        keep_error(r, doing);
    }
    sqlite3_reset(q);
}

/* Copies the tables of the program, so that an old session explains itself. */
static void copy_tables(aot_recorder *r)
{
    sqlite3_stmt *q = NULL;
    sqlite3_prepare_v2(r->db, "INSERT INTO stage VALUES (?,?,?,?,?)", -1, &q, NULL);
    for (int i = 0; i < AOT_N_STAGES; i++) {
        const aot_stage_info *s = aot_stage_get((aot_stage)i);
        sqlite3_bind_int(q, 1, i);
        aot_rec_bind_text(q, 2, s->name);
        aot_rec_bind_text(q, 3, s->log_name);
        aot_rec_bind_text(q, 4, s->sentence);
        aot_rec_bind_text(q, 5, s->how_to_get);
        step_row(r, q, "writing the stages");
    }
    sqlite3_finalize(q);
    sqlite3_prepare_v2(r->db, "INSERT OR IGNORE INTO ban VALUES (?,?)", -1, &q, NULL);
    for (int i = AOT_BAN_NONE + 1; i < AOT_N_BANS; i++) {
        aot_rec_bind_text(q, 1, aot_ban_text((aot_ban)i));
        aot_rec_bind_text(q, 2, aot_ban_sentence((aot_ban)i));
        step_row(r, q, "writing the bans");
    }
    sqlite3_finalize(q);
    sqlite3_prepare_v2(r->db, "INSERT INTO pass VALUES (?,?,?,?)", -1, &q, NULL);
    for (size_t i = 0; i < aot_pass_count(); i++) {
        const aot_pass_info *p = aot_pass_get(i);
        aot_sb needs = {0}, makes = {0};
        for (int s = 0; s < AOT_N_STAGES; s++) {
            const char *name = aot_stage_get((aot_stage)s)->name;
            if ((p->needs & 1u << s) != 0) {
                aot_sb_addf(&needs, "%s%s", needs.n > 0 ? " " : "", name);
            }
            if ((p->makes & 1u << s) != 0) {
                aot_sb_addf(&makes, "%s%s", makes.n > 0 ? " " : "", name);
            }
        }
        aot_rec_bind_text(q, 1, p->name);
        aot_rec_bind_text(q, 2, aot_sb_text(&needs));
        aot_rec_bind_text(q, 3, aot_sb_text(&makes));
        aot_rec_bind_text(q, 4, p->sentence);
        step_row(r, q, "writing the passes");
        aot_sb_free(&needs);
        aot_sb_free(&makes);
    }
    sqlite3_finalize(q);
}

aot_status aot_recorder_new(aot_recorder **out, aot_session *s, aot_err *err)
{
    aot_recorder *r = aot_xcalloc(1, sizeof *r);
    r->session = s;
    r->unit = -1;
    r->db = aot_session_db(s);
    r->observer = aot_rec_observer(r);
    r->op_done = aot_xcalloc(aot_op_count() + 1, 1);
    for (int i = 0; i < N_STMTS; i++) {
        if (sqlite3_prepare_v3(r->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &r->stmt[i], NULL) !=
            SQLITE_OK) {
            aot_status st = aot_session_fail(s, err, sql[i]);
            aot_recorder_free(r);
            return st;
        }
    }
    aot_rec_exec(r, "BEGIN");
    copy_tables(r);
    aot_rec_exec(r, "COMMIT");
    aot_status st = aot_recorder_status(r, err);
    if (st != AOT_OK) {
        aot_recorder_free(r);
        return st;
    }
    *out = r;
    return AOT_OK;
}

void aot_recorder_free(aot_recorder *r)
{
    if (r == NULL) {
        return;
    }
    for (int i = 0; i < N_STMTS; i++) {
        sqlite3_finalize(r->stmt[i]);
    }
    if (!sqlite3_get_autocommit(r->db)) {
        sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
    }
    free(r->record_of);
    free(r->op_done);
    aot_vec_free(&r->called);
    free(r);
}

const aot_observer *aot_recorder_observer(aot_recorder *r)
{
    return &r->observer;
}

aot_status aot_recorder_status(aot_recorder *r, aot_err *err)
{
    aot_status st = r->err.code;
    if (st != AOT_OK && err != NULL && err->code == AOT_OK) {
        *err = r->err;
    }
    return st;
}

/* ---- files, notes, loose records ---------------------------------------------------------------
 */

aot_status aot_recorder_file_begin(aot_recorder *r, const char *path, aot_err *err)
{
    aot_recorder_begin(r);
    aot_rec_bind_text_always(aot_rec_take(r, S_FILE), 1, path);
    aot_rec_run(r, S_FILE);
    r->file = sqlite3_last_insert_rowid(r->db);
    aot_recorder_commit(r);
    return aot_recorder_status(r, err);
}

aot_status aot_recorder_file_end(aot_recorder *r, const aot_import_stats *t, const char *failure,
                                 aot_err *err)
{
    sqlite3_stmt *q = aot_rec_take(r, S_FILE_END);
    const uint64_t v[] = {t->bytes,           t->lines,           t->records,
                          t->graphs,          t->units,           t->files,
                          t->skipped_records, t->damaged_records, t->payload_mismatches};
    for (int i = 0; i < 9; i++) {
        sqlite3_bind_int64(q, i + 1, (sqlite3_int64)v[i]);
    }
    aot_rec_bind_text(q, 10, failure);
    aot_rec_bind_id(q, 11, r->file);
    aot_rec_run(r, S_FILE_END);
    aot_recorder_commit(r);
    return aot_recorder_status(r, err);
}

void aot_rec_add_note(aot_recorder *r, sqlite3_int64 unit, const aot_import_note *n)
{
    sqlite3_stmt *q = aot_rec_take(r, S_NOTE);
    aot_rec_bind_unit(q, 1, unit);
    aot_rec_bind_text(q, 2, n->file);
    aot_rec_bind_line(q, 3, n->line);
    aot_rec_bind_text_always(q, 4, n->kind);
    aot_rec_bind_text_always(q, 5, n->text);
    aot_rec_run(r, S_NOTE);
}

void aot_recorder_note(aot_recorder *r, const aot_import_note *n)
{
    open_batch(r);
    aot_rec_add_note(r, -1, n);
}

static sqlite3_int64 add_record(aot_recorder *r, sqlite3_int64 unit, const char *label,
                                const aot_record *rec)
{
    sqlite3_int64 text = aot_rec_text_id(r, rec->text, rec->len);
    sqlite3_stmt *q = aot_rec_take(r, S_RECORD);
    aot_rec_bind_unit(q, 1, unit);
    aot_rec_bind_id(q, 2, r->file);
    aot_rec_bind_text(q, 3, label);
    aot_rec_bind_text_always(q, 4, rec->name);
    aot_rec_bind_text(q, 5, rec->stage < AOT_N_STAGES ? aot_stage_get(rec->stage)->name : NULL);
    sqlite3_bind_int(q, 6, rec->is_artifact);
    sqlite3_bind_int(q, 7, rec->is_json);
    sqlite3_bind_int(q, 8, (int)rec->n_missing);
    aot_rec_bind_line(q, 9, rec->line);
    aot_rec_bind_text(q, 10, rec->meta);
    aot_rec_bind_id(q, 11, text);
    aot_rec_run(r, S_RECORD);
    return sqlite3_last_insert_rowid(r->db);
}

void aot_recorder_loose(aot_recorder *r, const aot_unit_key *key, const aot_record *rec)
{
    sqlite3_int64 unit = -1;
    char label[96] = "";
    if (key != NULL) {
        const int v[] = {key->rank,    key->compiled_autograd_id,
                         key->frame,   key->compile,
                         key->attempt, key->split > 0 ? key->split : INT32_MAX};
        sqlite3_stmt *q = aot_rec_take(r, S_UNIT_OF);
        aot_rec_bind_id(q, 1, r->file);
        for (int i = 0; i < 6; i++) {
            sqlite3_bind_int(q, i + 2, v[i]);
        }
        unit = find_id(r, S_UNIT_OF, -1);
        aot_unit_label(key, label, sizeof label);
    }
    open_batch(r);
    add_record(r, unit, label, rec);
}

/* ---- units ----------------------------------------------------------------------------------- */

static void add_unit_row(aot_recorder *r, const aot_unit *u)
{
    char label[96];
    aot_sb statics = {0};
    char *config = u->config != NULL ? json_dumps(u->config, JSON_COMPACT) : NULL;
    sqlite3_int64 config_text = config != NULL ? aot_rec_text_id(r, config, strlen(config)) : 0;
    sqlite3_int64 metadata =
        u->fw_metadata != NULL ? aot_rec_text_id(r, u->fw_metadata, strlen(u->fw_metadata)) : 0;
    if (u->n_static_inputs >= 0) {
        aot_sb_addc(&statics, '[');
        for (int i = 0; i < u->n_static_inputs; i++) {
            aot_sb_addf(&statics, "%s%d", i > 0 ? "," : "", u->static_inputs[i]);
        }
        aot_sb_addc(&statics, ']');
    }
    sqlite3_stmt *q = aot_rec_take(r, S_UNIT);
    r->unit = r->n_units++;
    aot_rec_bind_unit(q, 1, r->unit);
    aot_rec_bind_id(q, 2, r->file);
    sqlite3_bind_int64(q, 3, u->index);
    aot_rec_bind_text_always(q, 4, aot_unit_label(&u->key, label, sizeof label));
    aot_rec_bind_text_always(q, 5, u->title);
    aot_rec_bind_text_always(q, 6, aot_unit_path(u));
    const int key[] = {u->key.rank,    u->key.compiled_autograd_id,
                       u->key.frame,   u->key.compile,
                       u->key.attempt, u->key.split,
                       u->aot_id};
    for (int i = 0; i < 7; i++) {
        sqlite3_bind_int(q, 7 + i, key[i]);
    }
    aot_rec_bind_text(q, 14, u->input);
    aot_rec_bind_text(q, 15, u->torch_version);
    aot_rec_bind_text(q, 16, u->backend);
    aot_rec_bind_text(q, 17, u->cache);
    if (u->seconds >= 0) {
        sqlite3_bind_double(q, 18, u->seconds);
    } else {
        sqlite3_bind_null(q, 18);
    }
    aot_rec_bind_id(q, 19, metadata);
    aot_rec_bind_id(q, 20, config_text);
    aot_rec_bind_text(q, 21, aot_sb_text(&statics));
    if (u->n_forward_outputs >= 0) {
        sqlite3_bind_int(q, 22, u->n_forward_outputs);
    } else {
        sqlite3_bind_null(q, 22);
    }
    aot_rec_run(r, S_UNIT);
    free(config);
    aot_sb_free(&statics);
}

static void add_inputs(aot_recorder *r, const aot_unit *u)
{
    for (size_t i = 0; i < u->inputs.n; i++) {
        const aot_input_desc *d = &u->inputs.d[i];
        sqlite3_stmt *q = aot_rec_take(r, S_INPUT);
        aot_rec_bind_unit(q, 1, r->unit);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)i);
        aot_rec_bind_text(q, 3, d->source);
        aot_rec_bind_text(q, 4, d->dtype);
        aot_rec_bind_text(q, 5, d->device);
        aot_rec_bind_text(q, 6, d->size);
        aot_rec_bind_text(q, 7, d->stride);
        sqlite3_bind_int64(q, 8, d->offset);
        sqlite3_bind_int(q, 9, d->describer);
        sqlite3_bind_int(q, 10, d->tensor);
        sqlite3_bind_int(q, 11, d->storage);
        sqlite3_bind_int64(q, 12, d->storage_bytes);
        sqlite3_bind_int(q, 13, d->requires_grad);
        sqlite3_bind_int(q, 14, d->is_leaf);
        sqlite3_bind_int(q, 15, d->is_parameter);
        sqlite3_bind_int(q, 16, d->is_view);
        aot_rec_run(r, S_INPUT);
    }
    for (size_t i = 0; i < u->symbols.n; i++) {
        const aot_symbol *s = &u->symbols.d[i];
        sqlite3_stmt *q = aot_rec_take(r, S_SYMBOL);
        aot_rec_bind_unit(q, 1, r->unit);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)i);
        aot_rec_bind_text_always(q, 3, s->name);
        aot_rec_bind_text(q, 4, s->source);
        aot_rec_bind_text(q, 5, s->range);
        /* what the input tells; the setting hint is with the settings */
        bool own = s->taken == AOT_HINT_AS_TOLD ? s->has_hint : s->taken == AOT_HINT_REPLACED;
        if (own) {
            sqlite3_bind_int64(q, 6, s->taken == AOT_HINT_AS_TOLD ? s->hint : s->told);
        } else {
            sqlite3_bind_null(q, 6);
        }
        aot_rec_run(r, S_SYMBOL);
    }
}

static void add_config(aot_recorder *r, const aot_config *config)
{
    aot_config defaults;
    aot_config_init(&defaults);
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *row = aot_config_row_at(i);
        aot_sb value = {0}, def = {0};
        aot_config_print(&value, config, row);
        aot_config_print(&def, &defaults, row);
        sqlite3_stmt *q = aot_rec_take(r, S_CONFIG);
        aot_rec_bind_unit(q, 1, r->unit);
        aot_rec_bind_text_always(q, 2, row->name);
        aot_rec_bind_text_always(q, 3, aot_sb_text(&value));
        aot_rec_bind_text_always(q, 4, aot_sb_text(&def));
        sqlite3_bind_int(q, 5, strcmp(aot_sb_text(&value), aot_sb_text(&def)) != 0);
        aot_rec_run(r, S_CONFIG);
        aot_sb_free(&value);
        aot_sb_free(&def);
    }
}

aot_status aot_recorder_unit(aot_recorder *r, const aot_unit *u, const aot_config *config,
                             aot_err *err)
{
    aot_recorder_begin(r);
    add_unit_row(r, u);
    r->current = u;
    memset(r->stages, 0, sizeof r->stages);
    r->n_records = u->records.n;
    r->record_of = aot_xrealloc(r->record_of, (u->records.n + 1) * sizeof *r->record_of);
    for (size_t i = 0; i < u->records.n; i++) {
        r->record_of[i] = add_record(r, r->unit, NULL, &u->records.d[i]);
    }
    add_inputs(r, u);
    for (size_t i = 0; i < u->notes.n; i++) {
        aot_rec_add_note(r, r->unit, &u->notes.d[i]);
    }
    add_config(r, config);
    aot_recorder_commit(r);
    return aot_recorder_status(r, err);
}
