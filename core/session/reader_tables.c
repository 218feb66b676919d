/* Tables of readers: opening, making what an older session lacks, committing. */
#include "session/reader_tables.h"

#include <unistd.h>

extern const char aot_schema_sql[];

enum { BUSY_MS = 2000 };

const char *aot_reader_column(sqlite3_stmt *q, int i)
{
    const char *s = (const char *)sqlite3_column_text(q, i);
    return s != NULL ? s : "";
}

static int find_table(sqlite3 *db, const char *table)
{
    return sqlite3_table_column_metadata(db, "main", table, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* Runs the statement that makes the table, as the schema has it. */
static bool make_table(sqlite3 *db, const char *table)
{
    sqlite3 *ours = NULL;
    sqlite3_stmt *q = NULL;
    bool ok = sqlite3_open(":memory:", &ours) == SQLITE_OK &&
              sqlite3_exec(ours, aot_schema_sql, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(ours, "SELECT sql FROM sqlite_master WHERE name = ?", -1, &q,
                                 NULL) == SQLITE_OK &&
              sqlite3_bind_text(q, 1, table, -1, SQLITE_STATIC) == SQLITE_OK &&
              sqlite3_step(q) == SQLITE_ROW &&
              sqlite3_exec(db, aot_reader_column(q, 0), NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_finalize(q);
    sqlite3_close(ours);
    return ok;
}

static const char *why_not(sqlite3 *db)
{
    return db != NULL ? sqlite3_errmsg(db) : "no memory";
}

sqlite3 *aot_reader_begin(const char *path, const char *table, bool create, aot_sb *why)
{
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    bool ok = sqlite3_open_v2(path, &db, flags, NULL) == SQLITE_OK;
    if (ok) {
        sqlite3_busy_timeout(db, BUSY_MS);
        ok = (find_table(db, table) == SQLITE_OK || make_table(db, table)) &&
             sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
    }
    if (!ok) {
        aot_sb_addz(why, why_not(db));
        sqlite3_close(db);
        db = NULL;
    }
    return db;
}

bool aot_reader_end(sqlite3 *db, bool ok, aot_sb *why)
{
    ok = ok && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    if (!ok) {
        aot_sb_addz(why, why_not(db));
    }
    sqlite3_close(db); // rolls back what was not committed
    return ok;
}

sqlite3 *aot_reader_read(const char *path, const char *table, aot_err *err)
{
    sqlite3 *db = NULL;
    if (access(path, F_OK) != 0) {
        return NULL;
    }
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_busy_timeout(db, BUSY_MS);
        rc = find_table(db, table);
    }
    if (rc == SQLITE_OK) {
        return db;
    }
    if (rc != SQLITE_ERROR) { // else there is no such table: nothing was kept
        aot_status ignored =
            AOT_FAIL(err, AOT_E_SESSION, "%ss cannot be read: %s", table, why_not(db));
        (void)ignored;
        aot_err_in_file(err, path);
    }
    sqlite3_close(db);
    return NULL;
}
