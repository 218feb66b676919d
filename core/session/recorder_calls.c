/* Copies what a program recorded of its calls into a session, table by table within SQLite.
 *
 * Graphs and calls are counted on from those that are there already, so that several recordings (of
 * ranks, say) fit into one session; blobs are joined by their hashes. */
#include "session/recorder_internal.h"

#include <string.h>

void aot_recorder_called(aot_recorder *r, int64_t graph)
{
    if (graph >= 0) {
        aot_vec_push(&r->called, graph);
        aot_vec_push(&r->called, r->unit);
    }
}

/* :g and :c are what is added to the numbers of graphs and calls. */
static const char *const copies[] = {
    "INSERT OR IGNORE INTO main.blob (hash, n_bytes, data) SELECT hash, n_bytes, data FROM "
    "run.blob",
    "INSERT INTO main.compiled SELECT graph + :g, side, compiler, n_calls, "
    "(SELECT m.unit FROM temp.run_unit m WHERE m.graph = k.graph) FROM run.compiled k",
    "INSERT INTO main.call SELECT id + :c, graph + :g, side, n, forward + :c, started, seconds, "
    "observed, n_saved, saved_bytes, error FROM run.call",
    "INSERT INTO main.generator SELECT call + :c, device, moment, b.id FROM run.generator x "
    "JOIN run.blob o ON o.id = x.state JOIN main.blob b ON b.hash = o.hash",
    "INSERT INTO main.random_output SELECT call + :c, idx, output, node, op, of, device, dtype, "
    "shape, "
    "x.n_bytes, x.hash, sample, v.id, b.id, a.id FROM run.random_output x "
    "LEFT JOIN run.blob ov ON ov.id = x.value LEFT JOIN main.blob v ON v.hash = ov.hash "
    "JOIN run.blob ob ON ob.id = x.before JOIN main.blob b ON b.hash = ob.hash "
    "JOIN run.blob oa ON oa.id = x.after JOIN main.blob a ON a.hash = oa.hash",
    "INSERT INTO main.saved_value SELECT call + :c, idx, name, dtype, shape, stride, bytes "
    "FROM run.saved_value",
    "INSERT INTO main.input_value SELECT call + :c, idx, name, dtype, shape, x.n_bytes, x.hash, "
    "sample, v.id "
    "FROM run.input_value x LEFT JOIN run.blob ov ON ov.id = x.value LEFT JOIN main.blob v ON "
    "v.hash = ov.hash",
    "INSERT INTO main.call_memory SELECT call + :c, device, source, before_bytes, after_bytes, "
    "peak_bytes "
    "FROM run.call_memory",
    "INSERT INTO main.note (kind, text) SELECT kind, text FROM run.note WHERE unit IS NULL AND "
    "NOT EXISTS (SELECT 1 FROM run.sqlite_master WHERE name = 'unit')",
};

/* Runs one statement with the parameters that it has; the first trouble stays in *err. */
static void run_one(aot_recorder *r, const char *sql, const char *path, int64_t g, int64_t c,
                    aot_err *err)
{
    sqlite3_stmt *q = NULL;
    if (err->code != AOT_OK) {
        return;
    }
    int rc = sqlite3_prepare_v2(r->db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_text(q, sqlite3_bind_parameter_index(q, ":path"), path, -1, SQLITE_STATIC);
        sqlite3_bind_int64(q, sqlite3_bind_parameter_index(q, ":g"), g);
        sqlite3_bind_int64(q, sqlite3_bind_parameter_index(q, ":c"), c);
        sqlite3_step(q);
        rc = sqlite3_finalize(q);
    }
    if (rc != SQLITE_OK) {
        aot_status ignored = aot_session_fail(r->session, err, sql);
        (void)ignored;
    }
}

static int64_t number(aot_recorder *r, const char *sql)
{
    sqlite3_stmt *q = NULL;
    int64_t n = 0;
    if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW) {
        n = sqlite3_column_int64(q, 0);
    }
    sqlite3_finalize(q);
    return n;
}

aot_status aot_recorder_calls(aot_recorder *r, const char *path, aot_err *err)
{
    aot_err own = {0};
    aot_recorder_commit(r); /* none may be open where a database is attached */
    run_one(r, "ATTACH :path AS run", path, 0, 0, &own);
    if (own.code == AOT_OK) {
        run_one(r, "BEGIN", path, 0, 0, &own);
        run_one(r, "CREATE TEMP TABLE run_unit (graph INTEGER, unit INTEGER)", path, 0, 0, &own);
        for (size_t i = 0; i + 1 < r->called.n; i += 2) {
            run_one(r, "INSERT INTO temp.run_unit VALUES (:g, :c)", path, r->called.d[i],
                    r->called.d[i + 1], &own);
        }
        int64_t g = number(r, "SELECT coalesce(max(graph) + 1, 0) FROM main.compiled");
        int64_t c = number(r, "SELECT coalesce(max(id), 0) FROM main.call");
        bool has_inputs =
            number(r, "SELECT count(*) FROM run.sqlite_master WHERE name = 'input_value'") > 0;
        for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
            if (has_inputs || strstr(copies[i], "run.input_value") == NULL) {
                run_one(r, copies[i], path, g, c, &own);
            }
        }
        run_one(r, "DROP TABLE temp.run_unit", path, 0, 0, &own);
        sqlite3_exec(r->db, own.code == AOT_OK ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL);
        sqlite3_exec(r->db, "DETACH run", NULL, NULL, NULL);
    }
    r->called.n = 0;
    if (own.code != AOT_OK && err != NULL && err->code == AOT_OK) {
        *err = own;
    }
    return own.code;
}
