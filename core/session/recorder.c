/* The observer that fills a session.
 *
 * Statements are prepared once (table sql below) and bound by position. Functions called from inside
 * the pipeline cannot fail; they keep the first error for aot_recorder_status. Texts go through
 * text_id, which stores equal ones once. on_pass_begin opens a transaction and on_pass_end closes it:
 * that is the "at most the running pass" of the crash promise. */
#include "session/recorder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ir/text.h"
#include "pipeline/pass.h"
#include "session/derive.h"
#include "session/saved.h"

typedef enum stmt_id {
    S_TEXT, S_TEXT_FIND, S_FILE, S_FILE_END, S_UNIT, S_RECORD, S_INPUT, S_SYMBOL, S_NOTE, S_CONFIG,
    S_STAGE_GRAPH, S_MISSING, S_NODE, S_RNG, S_OP, S_RUN, S_RUN_END, S_PARTITION, S_PART_NOTE, S_CHECK,
    S_UNIT_OF, S_EDIT, N_STMTS
} stmt_id;

static const char *const sql[N_STMTS] = {
    [S_TEXT] = "INSERT INTO text (hash, n_bytes, text) VALUES (?,?,?)",
    [S_TEXT_FIND] = "SELECT id FROM text WHERE hash = ?",
    [S_FILE] = "INSERT INTO file (path) VALUES (?)",
    [S_FILE_END] = "UPDATE file SET bytes=?, lines=?, records=?, graphs=?, units=?, files=?, skipped_records=?, "
                   "damaged_records=?, payload_mismatches=?, error=? WHERE id=?",
    [S_UNIT] = "INSERT INTO unit (id, file, idx, label, title, path, rank, compiled_autograd_id, frame, compile, "
               "attempt, split, aot_id, input, torch_version, backend, cache, seconds, fw_metadata, config, "
               "static_inputs, n_forward_outputs) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_RECORD] = "INSERT INTO record (unit, file, label, name, stage, is_artifact, is_json, n_missing, line, "
                 "meta, text) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
    [S_INPUT] = "INSERT INTO input VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_SYMBOL] = "INSERT INTO symbol VALUES (?,?,?,?,?,?)",
    [S_NOTE] = "INSERT INTO note (unit, file, line, kind, text) VALUES (?,?,?,?,?)",
    [S_CONFIG] = "INSERT OR REPLACE INTO config VALUES (?,?,?,?,?)",
    [S_STAGE_GRAPH] = "INSERT INTO stage_graph (unit, stage, origin, record, pass_run, text, n_nodes, n_opaque, "
                      "seconds, error) VALUES (?,?,?,?,?,?,?,?,?,?)",
    [S_MISSING] = "INSERT OR REPLACE INTO missing_stage VALUES (?,?,?)",
    [S_NODE] = "INSERT INTO node VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_RNG] = "INSERT OR IGNORE INTO rng_site VALUES (?,?,?,?,?,?,?,?)",
    [S_OP] = "INSERT OR IGNORE INTO op VALUES (?,?,?,?,?,?,?)",
    [S_RUN] = "INSERT INTO pass_run (unit, pass) VALUES (?,?)",
    [S_RUN_END] = "UPDATE pass_run SET n_nodes_in=?, n_nodes_out=?, seconds=?, error=? WHERE id=?",
    [S_PARTITION] = "UPDATE unit SET n_saved=?, saved_bytes=?, saved_new_bytes=?, cut_value=?, rung=?, "
                    "n_vertices=?, n_edges=?, n_cut_nodes=? WHERE id=?",
    [S_PART_NOTE] = "UPDATE unit SET partition_note=? WHERE id=?",
    [S_CHECK] = "INSERT OR REPLACE INTO stage_check VALUES (?,?,?,?,?,?,?)",
    [S_UNIT_OF] = "SELECT id FROM unit WHERE file IS ? AND rank=? AND compiled_autograd_id=? AND frame=? AND "
                  "compile=? AND attempt=? AND split<=? ORDER BY id DESC LIMIT 1",
    [S_EDIT] = "INSERT INTO edit (pass_run, kind, node, replacement, rule) VALUES (?,'replace',?,?,?)",
};

struct aot_recorder {
    aot_session *session;
    sqlite3 *db;
    sqlite3_stmt *stmt[N_STMTS];
    aot_observer observer;
    aot_err err; /* first trouble */
    sqlite3_int64 file, pass_run, n_units;
    sqlite3_int64 unit; /* the current one; -1 before the first */
    int64_t *record_of; /* session ids of the unit's records, by index */
    const aot_unit *current; /* the unit that record_of belongs to; compared, never read later */
    size_t n_records;
    uint8_t *op_done; /* by aot_op_id */
    uint32_t n_batch;
};

/* ---- binding --------------------------------------------------------------------------------- */

static sqlite3_stmt *take(aot_recorder *r, stmt_id id)
{
    sqlite3_reset(r->stmt[id]);
    return r->stmt[id];
}

static void keep_error(aot_recorder *r, const char *doing)
{
    if (r->err.code == AOT_OK) {
        aot_status ignored = aot_session_fail(r->session, &r->err, doing);
        (void)ignored;
    }
}

static void run(aot_recorder *r, stmt_id id)
{
    if (sqlite3_step(r->stmt[id]) != SQLITE_DONE) {
        keep_error(r, sql[id]);
    }
    sqlite3_reset(r->stmt[id]);
    sqlite3_clear_bindings(r->stmt[id]);
}

static void exec(aot_recorder *r, const char *statement)
{
    if (sqlite3_exec(r->db, statement, NULL, NULL, NULL) != SQLITE_OK) {
        keep_error(r, statement);
    }
}

/* Loose records come one by one, between units: they share a transaction, a few hundred at a time. */
static void open_batch(aot_recorder *r)
{
    enum { BATCH = 256 };
    if (++r->n_batch % BATCH == 0 && !sqlite3_get_autocommit(r->db)) {
        exec(r, "COMMIT");
    }
    if (sqlite3_get_autocommit(r->db)) {
        exec(r, "BEGIN");
    }
}

void aot_recorder_begin(aot_recorder *r)
{
    if (!sqlite3_get_autocommit(r->db)) {
        exec(r, "COMMIT");
    }
    exec(r, "BEGIN");
}

void aot_recorder_commit(aot_recorder *r)
{
    if (!sqlite3_get_autocommit(r->db)) {
        exec(r, "COMMIT");
    }
}

/* NULL and "" are both stored as NULL: nothing known. */
static void bind_text(sqlite3_stmt *s, int i, const char *t)
{
    if (t == NULL || t[0] == 0) {
        sqlite3_bind_null(s, i);
    } else {
        sqlite3_bind_text(s, i, t, -1, SQLITE_TRANSIENT);
    }
}

static void bind_text_always(sqlite3_stmt *s, int i, const char *t)
{
    sqlite3_bind_text(s, i, t != NULL ? t : "", -1, SQLITE_TRANSIENT);
}

static void bind_id(sqlite3_stmt *s, int i, sqlite3_int64 id)
{
    if (id > 0) {
        sqlite3_bind_int64(s, i, id);
    } else {
        sqlite3_bind_null(s, i);
    }
}

/* Units count from 0, as commands list them; -1 is none. */
static void bind_unit(sqlite3_stmt *s, int i, sqlite3_int64 unit)
{
    if (unit >= 0) {
        sqlite3_bind_int64(s, i, unit);
    } else {
        sqlite3_bind_null(s, i);
    }
}

static void bind_line(sqlite3_stmt *s, int i, uint64_t line)
{
    bind_id(s, i, (sqlite3_int64)line);
}

/* Id of the text, storing it if it is new; 0 for NULL. */
static sqlite3_int64 text_id(aot_recorder *r, const char *text, size_t n)
{
    if (text == NULL) {
        return 0;
    }
    char hash[33];
    aot_hash_hex(text, n, hash);
    sqlite3_stmt *q = take(r, S_TEXT_FIND);
    sqlite3_bind_text(q, 1, hash, -1, SQLITE_TRANSIENT);
    sqlite3_int64 id = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
    sqlite3_reset(q);
    if (id == 0) {
        q = take(r, S_TEXT);
        sqlite3_bind_text(q, 1, hash, -1, SQLITE_TRANSIENT);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)n);
        sqlite3_bind_text64(q, 3, text, n, SQLITE_STATIC, SQLITE_UTF8);
        run(r, S_TEXT);
        id = sqlite3_last_insert_rowid(r->db);
    }
    return id;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Copies the tables of the program, so that an old session explains itself. */
static void copy_tables(aot_recorder *r)
{
    sqlite3_stmt *q = NULL;
    sqlite3_prepare_v2(r->db, "INSERT INTO stage VALUES (?,?,?,?,?)", -1, &q, NULL);
    for (int i = 0; i < AOT_N_STAGES; i++) {
        const aot_stage_info *s = aot_stage_get((aot_stage)i);
        sqlite3_bind_int(q, 1, i);
        bind_text(q, 2, s->name);
        bind_text(q, 3, s->log_name);
        bind_text(q, 4, s->sentence);
        bind_text(q, 5, s->how_to_get);
        sqlite3_step(q);
        sqlite3_reset(q);
    }
    sqlite3_finalize(q);
    sqlite3_prepare_v2(r->db, "INSERT OR IGNORE INTO ban VALUES (?,?)", -1, &q, NULL);
    for (int i = AOT_BAN_NONE + 1; i < AOT_N_BANS; i++) {
        bind_text(q, 1, aot_ban_text((aot_ban)i));
        bind_text(q, 2, aot_ban_sentence((aot_ban)i));
        sqlite3_step(q);
        sqlite3_reset(q);
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
        bind_text(q, 1, p->name);
        bind_text(q, 2, aot_sb_text(&needs));
        bind_text(q, 3, aot_sb_text(&makes));
        bind_text(q, 4, p->sentence);
        sqlite3_step(q);
        sqlite3_reset(q);
        aot_sb_free(&needs);
        aot_sb_free(&makes);
    }
    sqlite3_finalize(q);
}

static void on_pass_begin(void *arg, const char *pass);
static void on_pass_end(void *arg, const char *pass, const aot_pass_report *report);
static void on_graph(void *arg, unsigned stage, const aot_graph *g);
static void on_partition(void *arg, const struct aot_partition *p);
static void on_note(void *arg, const char *kind, const aot_graph *g, aot_node_id node, const char *text);
static void on_edit(void *arg, const char *rule, const aot_graph *g, aot_node_id node,
                    aot_node_id replacement);

aot_status aot_recorder_new(aot_recorder **out, aot_session *s, aot_err *err)
{
    aot_recorder *r = aot_xcalloc(1, sizeof *r);
    r->session = s;
    r->unit = -1;
    r->db = aot_session_db(s);
    r->observer = (aot_observer){.arg = r,
                                 .on_pass_begin = on_pass_begin,
                                 .on_pass_end = on_pass_end,
                                 .on_graph = on_graph,
                                 .on_partition = on_partition,
                                 .on_note = on_note,
                                 .on_edit = on_edit};
    r->op_done = aot_xcalloc(aot_op_count() + 1, 1);
    for (int i = 0; i < N_STMTS; i++) {
        if (sqlite3_prepare_v3(r->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &r->stmt[i], NULL) != SQLITE_OK) {
            aot_status st = aot_session_fail(s, err, sql[i]);
            aot_recorder_free(r);
            return st;
        }
    }
    exec(r, "BEGIN");
    copy_tables(r);
    exec(r, "COMMIT");
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
    r->err = (aot_err){0};
    return st;
}

/* ---- files, notes, loose records --------------------------------------------------------------- */

aot_status aot_recorder_file_begin(aot_recorder *r, const char *path, aot_err *err)
{
    aot_recorder_begin(r);
    bind_text_always(take(r, S_FILE), 1, path);
    run(r, S_FILE);
    r->file = sqlite3_last_insert_rowid(r->db);
    aot_recorder_commit(r);
    return aot_recorder_status(r, err);
}

aot_status aot_recorder_file_end(aot_recorder *r, const aot_import_stats *t, const char *failure,
                                 aot_err *err)
{
    sqlite3_stmt *q = take(r, S_FILE_END);
    const uint64_t v[] = {t->bytes, t->lines, t->records, t->graphs, t->units, t->files, t->skipped_records,
                          t->damaged_records, t->payload_mismatches};
    for (int i = 0; i < 9; i++) {
        sqlite3_bind_int64(q, i + 1, (sqlite3_int64)v[i]);
    }
    bind_text(q, 10, failure);
    bind_id(q, 11, r->file);
    run(r, S_FILE_END);
    aot_recorder_commit(r);
    return aot_recorder_status(r, err);
}

static void add_note(aot_recorder *r, sqlite3_int64 unit, const aot_import_note *n)
{
    sqlite3_stmt *q = take(r, S_NOTE);
    bind_unit(q, 1, unit);
    bind_text(q, 2, n->file);
    bind_line(q, 3, n->line);
    bind_text_always(q, 4, n->kind);
    bind_text_always(q, 5, n->text);
    run(r, S_NOTE);
}

void aot_recorder_note(aot_recorder *r, const aot_import_note *n)
{
    open_batch(r);
    add_note(r, -1, n);
}

static sqlite3_int64 add_record(aot_recorder *r, sqlite3_int64 unit, const char *label,
                                const aot_record *rec)
{
    sqlite3_int64 text = text_id(r, rec->text, rec->len);
    sqlite3_stmt *q = take(r, S_RECORD);
    bind_unit(q, 1, unit);
    bind_id(q, 2, r->file);
    bind_text(q, 3, label);
    bind_text_always(q, 4, rec->name);
    bind_text(q, 5, rec->stage < AOT_N_STAGES ? aot_stage_get(rec->stage)->name : NULL);
    sqlite3_bind_int(q, 6, rec->is_artifact);
    sqlite3_bind_int(q, 7, rec->is_json);
    sqlite3_bind_int(q, 8, (int)rec->n_missing);
    bind_line(q, 9, rec->line);
    bind_text(q, 10, rec->meta);
    bind_id(q, 11, text);
    run(r, S_RECORD);
    return sqlite3_last_insert_rowid(r->db);
}

void aot_recorder_loose(aot_recorder *r, const aot_unit_key *key, const aot_record *rec)
{
    sqlite3_int64 unit = -1;
    char label[96] = "";
    if (key != NULL) {
        const int v[] = {key->rank, key->compiled_autograd_id, key->frame, key->compile, key->attempt,
                         key->split > 0 ? key->split : INT32_MAX};
        sqlite3_stmt *q = take(r, S_UNIT_OF);
        bind_id(q, 1, r->file);
        for (int i = 0; i < 6; i++) {
            sqlite3_bind_int(q, i + 2, v[i]);
        }
        unit = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : -1;
        sqlite3_reset(q);
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
    sqlite3_int64 config_text = config != NULL ? text_id(r, config, strlen(config)) : 0;
    sqlite3_int64 metadata =
        u->fw_metadata != NULL ? text_id(r, u->fw_metadata, strlen(u->fw_metadata)) : 0;
    if (u->n_static_inputs >= 0) {
        aot_sb_addc(&statics, '[');
        for (int i = 0; i < u->n_static_inputs; i++) {
            aot_sb_addf(&statics, "%s%d", i > 0 ? "," : "", u->static_inputs[i]);
        }
        aot_sb_addc(&statics, ']');
    }
    sqlite3_stmt *q = take(r, S_UNIT);
    r->unit = r->n_units++;
    bind_unit(q, 1, r->unit);
    bind_id(q, 2, r->file);
    sqlite3_bind_int64(q, 3, u->index);
    bind_text_always(q, 4, aot_unit_label(&u->key, label, sizeof label));
    bind_text_always(q, 5, u->title);
    bind_text_always(q, 6, aot_unit_path(u));
    const int key[] = {u->key.rank, u->key.compiled_autograd_id, u->key.frame, u->key.compile,
                       u->key.attempt, u->key.split, u->aot_id};
    for (int i = 0; i < 7; i++) {
        sqlite3_bind_int(q, 7 + i, key[i]);
    }
    bind_text(q, 14, u->input);
    bind_text(q, 15, u->torch_version);
    bind_text(q, 16, u->backend);
    bind_text(q, 17, u->cache);
    if (u->seconds >= 0) {
        sqlite3_bind_double(q, 18, u->seconds);
    } else {
        sqlite3_bind_null(q, 18);
    }
    bind_id(q, 19, metadata);
    bind_id(q, 20, config_text);
    bind_text(q, 21, aot_sb_text(&statics));
    if (u->n_forward_outputs >= 0) {
        sqlite3_bind_int(q, 22, u->n_forward_outputs);
    } else {
        sqlite3_bind_null(q, 22);
    }
    run(r, S_UNIT);
    free(config);
    aot_sb_free(&statics);
}

static void add_inputs(aot_recorder *r, const aot_unit *u)
{
    for (size_t i = 0; i < u->inputs.n; i++) {
        const aot_input_desc *d = &u->inputs.d[i];
        sqlite3_stmt *q = take(r, S_INPUT);
        bind_unit(q, 1, r->unit);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)i);
        bind_text(q, 3, d->source);
        bind_text(q, 4, d->dtype);
        bind_text(q, 5, d->device);
        bind_text(q, 6, d->size);
        bind_text(q, 7, d->stride);
        sqlite3_bind_int64(q, 8, d->offset);
        sqlite3_bind_int(q, 9, d->describer);
        sqlite3_bind_int(q, 10, d->tensor);
        sqlite3_bind_int(q, 11, d->storage);
        sqlite3_bind_int64(q, 12, d->storage_bytes);
        sqlite3_bind_int(q, 13, d->requires_grad);
        sqlite3_bind_int(q, 14, d->is_leaf);
        sqlite3_bind_int(q, 15, d->is_parameter);
        sqlite3_bind_int(q, 16, d->is_view);
        run(r, S_INPUT);
    }
    for (size_t i = 0; i < u->symbols.n; i++) {
        const aot_symbol *s = &u->symbols.d[i];
        sqlite3_stmt *q = take(r, S_SYMBOL);
        bind_unit(q, 1, r->unit);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)i);
        bind_text_always(q, 3, s->name);
        bind_text(q, 4, s->source);
        bind_text(q, 5, s->range);
        if (s->has_hint) {
            sqlite3_bind_int64(q, 6, s->hint);
        } else {
            sqlite3_bind_null(q, 6);
        }
        run(r, S_SYMBOL);
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
        sqlite3_stmt *q = take(r, S_CONFIG);
        bind_unit(q, 1, r->unit);
        bind_text_always(q, 2, row->name);
        bind_text_always(q, 3, aot_sb_text(&value));
        bind_text_always(q, 4, aot_sb_text(&def));
        sqlite3_bind_int(q, 5, strcmp(aot_sb_text(&value), aot_sb_text(&def)) != 0);
        run(r, S_CONFIG);
        aot_sb_free(&value);
        aot_sb_free(&def);
    }
}

aot_status aot_recorder_unit(aot_recorder *r, const aot_unit *u, const aot_config *config, aot_err *err)
{
    aot_recorder_begin(r);
    add_unit_row(r, u);
    r->current = u;
    r->n_records = u->records.n;
    r->record_of = aot_xrealloc(r->record_of, (u->records.n + 1) * sizeof *r->record_of);
    for (size_t i = 0; i < u->records.n; i++) {
        r->record_of[i] = add_record(r, r->unit, NULL, &u->records.d[i]);
    }
    add_inputs(r, u);
    for (size_t i = 0; i < u->notes.n; i++) {
        add_note(r, r->unit, &u->notes.d[i]);
    }
    add_config(r, config);
    aot_recorder_commit(r);
    return aot_recorder_status(r, err);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Remembers the operators of a graph and its random ones. */
static void add_operators(aot_recorder *r, const char *stage, const char *origin, const aot_graph *g)
{
    int n_random = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, (aot_node_id)i);
        const aot_op_info *op = aot_node_op(n);
        bool is_random = (op->tags & AOT_TAG_NONDETERMINISTIC_SEEDED) != 0;
        if (n->kind != AOT_CALL_FUNCTION || n->op == AOT_OP_UNKNOWN) {
            continue;
        }
        if (!r->op_done[n->op]) {
            r->op_done[n->op] = 1;
            sqlite3_stmt *q = take(r, S_OP);
            bind_text_always(q, 1, op->name);
            bind_text(q, 2, op->schema);
            bind_text(q, 3, op->doc);
            sqlite3_bind_int64(q, 4, op->tags);
            sqlite3_bind_int64(q, 5, op->part);
            sqlite3_bind_int64(q, 6, op->flags);
            sqlite3_bind_int(q, 7, is_random);
            run(r, S_OP);
        }
        if (is_random) {
            const aot_src *src = &g->srcs.d[n->src];
            sqlite3_stmt *q = take(r, S_RNG);
            bind_unit(q, 1, r->unit);
            bind_text(q, 2, stage);
            bind_text(q, 3, origin);
            sqlite3_bind_int(q, 4, n_random++);
            bind_text_always(q, 5, aot_node_name(g, (aot_node_id)i));
            bind_text_always(q, 6, op->name);
            bind_text(q, 7, aot_text(g->ctx, src->file));
            bind_line(q, 8, src->line);
            run(r, S_RNG);
        }
    }
}

static void add_stage_graph(aot_recorder *r, aot_stage stage, const char *origin, sqlite3_int64 record,
                            sqlite3_int64 text, const aot_graph *g, const char *error)
{
    sqlite3_stmt *q = take(r, S_STAGE_GRAPH);
    bind_unit(q, 1, r->unit);
    bind_text(q, 2, aot_stage_get(stage)->name);
    bind_text(q, 3, origin);
    bind_id(q, 4, record);
    bind_id(q, 5, record > 0 ? 0 : r->pass_run);
    bind_id(q, 6, text);
    if (g != NULL) {
        sqlite3_bind_int64(q, 7, (sqlite3_int64)g->nodes.n);
        sqlite3_bind_int64(q, 8, g->n_opaque);
    }
    bind_text(q, 10, error);
    run(r, S_STAGE_GRAPH);
    if (g != NULL) {
        add_operators(r, aot_stage_get(stage)->name, origin, g);
    }
}

void aot_recorder_graph(aot_recorder *r, const aot_record *rec, const aot_graph *g, const aot_err *err)
{
    sqlite3_int64 record = 0;
    if (r->current != NULL && rec >= r->current->records.d && rec < r->current->records.d + r->n_records) {
        record = r->record_of[rec - r->current->records.d];
    }
    char msg[900] = "";
    if (err != NULL && err->code != AOT_OK) {
        aot_err_text(err, msg, sizeof msg);
    }
    add_stage_graph(r, rec->stage, "recorded", record, text_id(r, rec->text, rec->len), g, msg);
}

void aot_recorder_missing(aot_recorder *r, aot_stage s, const char *reason)
{
    sqlite3_stmt *q = take(r, S_MISSING);
    bind_unit(q, 1, r->unit);
    bind_text(q, 2, aot_stage_get(s)->name);
    bind_text_always(q, 3, reason);
    run(r, S_MISSING);
}

void aot_recorder_check(aot_recorder *r, const aot_check_result *c)
{
    sqlite3_stmt *q = take(r, S_CHECK);
    bind_unit(q, 1, r->unit);
    bind_text(q, 2, aot_stage_get(c->stage)->name);
    bind_text(q, 3, aot_check_verdict_name(c->verdict));
    bind_text(q, 4, c->reason);
    bind_line(q, 5, c->input_line != 0 ? c->input_line : c->line);
    bind_text(q, 6, c->recorded);
    bind_text(q, 7, c->derived);
    run(r, S_CHECK);
}

void aot_recorder_partition_note(aot_recorder *r, const char *text)
{
    sqlite3_stmt *q = take(r, S_PART_NOTE);
    bind_text(q, 1, text);
    bind_unit(q, 2, r->unit);
    run(r, S_PART_NOTE);
}

/* ---- the observer ---------------------------------------------------------------------------- */

static void on_pass_begin(void *arg, const char *pass)
{
    aot_recorder *r = arg;
    aot_recorder_begin(r);
    sqlite3_stmt *q = take(r, S_RUN);
    bind_unit(q, 1, r->unit);
    bind_text_always(q, 2, pass);
    run(r, S_RUN);
    r->pass_run = sqlite3_last_insert_rowid(r->db);
}

static void on_pass_end(void *arg, const char *pass, const aot_pass_report *report)
{
    (void)pass;
    aot_recorder *r = arg;
    sqlite3_stmt *q = take(r, S_RUN_END);
    sqlite3_bind_int64(q, 1, report->n_nodes_in);
    sqlite3_bind_int64(q, 2, report->n_nodes_out);
    sqlite3_bind_double(q, 3, report->seconds);
    bind_text(q, 4, report->err != NULL ? report->err->msg : NULL);
    bind_id(q, 5, r->pass_run);
    run(r, S_RUN_END);
    aot_recorder_commit(r);
    r->pass_run = 0;
}

static void on_graph(void *arg, unsigned stage, const aot_graph *g)
{
    aot_recorder *r = arg;
    aot_sb b = {0};
    aot_print_graph(&b, g, AOT_PRINT_PLAIN);
    add_stage_graph(r, (aot_stage)stage, "derived", 0, text_id(r, aot_sb_text(&b), b.n), g, NULL);
    aot_sb_free(&b);
}

static void bind_weight(sqlite3_stmt *q, int i, int64_t weight)
{
    if (weight == AOT_WEIGHT_INF) {
        sqlite3_bind_double(q, i, INFINITY);
    } else if (weight >= 0) {
        sqlite3_bind_int64(q, i, weight);
    } else {
        sqlite3_bind_null(q, i);
    }
}

static void add_node(aot_recorder *r, const aot_partition *p, aot_node_id id, const aot_saved_row *saved,
                     int position, aot_arena *a, aot_sb *b)
{
    static const char *const sinks[] = {NULL, "in", "out"};
    const aot_graph *g = p->cut;
    const aot_ctx *c = g->ctx;
    const aot_node *n = aot_node_at(g, id);
    const aot_node_info *i = &p->nodes[id];
    const aot_meta *m = aot_meta_get(c, n->meta);
    const aot_src *src = &g->srcs.d[n->src];
    sqlite3_stmt *q = take(r, S_NODE);
    bind_unit(q, 1, r->unit);
    sqlite3_bind_int64(q, 2, id);
    bind_text_always(q, 3, aot_text(c, n->name));
    bind_text_always(q, 4, aot_node_kind_name((aot_node_kind)n->kind));
    bind_text(q, 5, n->kind == AOT_OUTPUT || n->kind == AOT_PLACEHOLDER ? NULL : aot_text(c, n->target));
    if (n->kind != AOT_PLACEHOLDER) {
        aot_sb_clear(b);
        aot_print_node(b, g, id);
        bind_text(q, 6, aot_sb_text(b));
    }
    if (m->val == AOT_VAL_TENSOR) {
        bind_text(q, 7, m->dtype < AOT_N_DTYPES ? aot_dtype_get((aot_dtype)m->dtype)->abbr : NULL);
        aot_sb_clear(b);
        aot_print_sizes(b, c, m);
        bind_text(q, 8, aot_sb_text(b));
        aot_sb_clear(b);
        aot_print_strides(b, c, m);
        bind_text(q, 9, aot_sb_text(b));
        bind_text(q, 10, aot_text(c, m->device));
    } else if (m->val == AOT_VAL_SYM) {
        bind_text(q, 7, aot_text(c, m->text));
    }
    sqlite3_bind_int64(q, 11, i->bytes);
    bind_weight(q, 12, i->weight);
    bind_text(q, 13, i->ban != AOT_BAN_NONE ? aot_ban_text((aot_ban)i->ban) : NULL);
    bind_text(q, 14, i->ban_asked != AOT_BAN_NONE ? aot_ban_text((aot_ban)i->ban_asked) : NULL);
    bind_text(q, 15, i->sink <= AOT_SINK_OUT ? sinks[i->sink] : NULL);
    bind_text_always(q, 16, n->kind == AOT_OUTPUT ? "output" : aot_verdict_name((aot_verdict)i->verdict));
    bind_text(q, 17, n->kind == AOT_OUTPUT ? NULL : aot_node_reason(p, id, a));
    bind_text(q, 18, aot_policy_name((aot_policy)i->policy));
    if (src->ac_graph_id >= 0) {
        sqlite3_bind_int(q, 19, src->ac_graph_id);
    }
    sqlite3_bind_int64(q, 20, i->dist);
    sqlite3_bind_int(q, 21, i->fw_order);
    const bool flags[] = {i->required_fw, i->required_bw, i->backward_made, i->materialized, i->is_static};
    for (int k = 0; k < 5; k++) {
        sqlite3_bind_int(q, 22 + k, flags[k]);
    }
    if (saved != NULL) {
        sqlite3_bind_int(q, 27, position);
        sqlite3_bind_int(q, 28, saved->is_symbol);
        bind_text(q, 29, saved->primal != AOT_NO_NODE ? aot_node_name(g, saved->primal) : NULL);
        bind_text(q, 30, saved->used_by);
    }
    bind_text(q, 31, aot_text(c, src->file));
    bind_line(q, 32, src->line);
    bind_text(q, 33, aot_text(c, src->func));
    bind_text(q, 34, aot_text(c, src->code));
    run(r, S_NODE);
}

static void on_partition(void *arg, const struct aot_partition *p)
{
    aot_recorder *r = arg;
    aot_arena *a = aot_arena_new();
    aot_saved_row *rows = NULL;
    size_t n_rows = aot_saved_rows(&rows, p, a);
    uint32_t *row_of = aot_xcalloc((size_t)p->n_nodes + 1, sizeof *row_of); /* 1 + row */
    for (size_t i = 0; i < n_rows; i++) {
        row_of[rows[i].node] = (uint32_t)i + 1;
    }
    aot_sb b = {0};
    for (uint32_t id = 0; id < p->n_nodes; id++) {
        uint32_t k = row_of[id];
        add_node(r, p, id, k > 0 ? &rows[k - 1] : NULL, (int)k - 1, a, &b);
    }
    sqlite3_stmt *q = take(r, S_PARTITION);
    sqlite3_bind_int64(q, 1, (sqlite3_int64)n_rows);
    sqlite3_bind_int64(q, 2, p->saved_bytes);
    sqlite3_bind_int64(q, 3, p->saved_new_bytes);
    if (p->cut_value >= 0) {
        sqlite3_bind_int64(q, 4, p->cut_value);
    }
    bind_text(q, 5, p->rung);
    sqlite3_bind_int64(q, 6, p->n_vertices);
    sqlite3_bind_int64(q, 7, p->n_edges);
    sqlite3_bind_int64(q, 8, p->n_nodes);
    bind_unit(q, 9, r->unit);
    run(r, S_PARTITION);
    aot_sb_free(&b);
    free(row_of);
    aot_arena_free(a);
}

static void on_note(void *arg, const char *kind, const aot_graph *g, aot_node_id node, const char *text)
{
    aot_recorder *r = arg;
    aot_sb b = {0};
    if (g != NULL && node != AOT_NO_NODE) {
        aot_sb_addf(&b, "%s: ", aot_node_name(g, node));
    }
    aot_sb_addz(&b, text);
    aot_import_note n = {.kind = kind, .text = aot_sb_text(&b)};
    add_note(r, r->unit, &n);
    aot_sb_free(&b);
}

static void on_edit(void *arg, const char *rule, const aot_graph *g, aot_node_id node,
                    aot_node_id replacement)
{
    aot_recorder *r = arg;
    sqlite3_stmt *q = take(r, S_EDIT);
    bind_id(q, 1, r->pass_run);
    bind_text(q, 2, aot_node_name(g, node));
    bind_text(q, 3, replacement != AOT_NO_NODE ? aot_node_name(g, replacement) : NULL);
    bind_text(q, 4, rule);
    run(r, S_EDIT);
}
