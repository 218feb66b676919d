/* Opens, creates and replaces session files.
 *
 * What a file is, is read from its first 72 bytes before SQLite sees it: the magic, user_version
 * (offset 60) and application_id (offset 68), both big-endian. So a foreign database is never
 * opened and a wrong file is named for what it is. A session in use or left by a crash is in WAL
 * mode; it is brought back to one file before anything is renamed over it, because a left-over -wal
 * file would be replayed onto its successor. */
#include "session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "session/place.h"

extern const char aot_schema_sql[];

struct aot_session {
    sqlite3 *db;
    char *path;      /* as asked for */
    aot_place place; /* writing: where it shall be */
    char *temp;      /* where it is written, if that is not place.file; else NULL */
    char *value;     /* last answer of aot_session_value */
    aot_err spoilt;  /* what could not be written */
};

enum { HEADER_BYTES = 72 };

typedef enum file_kind { FILE_ABSENT, FILE_EMPTY, FILE_SQLITE, FILE_OTHER } file_kind;

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Reads what the file claims to be; errno tells why it could not be read (FILE_ABSENT). */
static file_kind read_header(const char *path, uint32_t *app_id, uint32_t *version)
{
    unsigned char h[HEADER_BYTES];
    if (aot_place_refuses(path) != NULL) { /* reading a pipe would take from it */
        return FILE_OTHER;
    }
    errno = 0;
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return FILE_ABSENT;
    }
    size_t n = fread(h, 1, sizeof h, f);
    fclose(f);
    if (n == 0) {
        return FILE_EMPTY;
    }
    if (n < 16 || memcmp(h, "SQLite format 3", 16) != 0) {
        return FILE_OTHER;
    }
    *version = n == sizeof h ? be32(h + 60) : 0;
    *app_id = n == sizeof h ? be32(h + 68) : 0;
    return FILE_SQLITE;
}

bool aot_session_sniff(const char *path)
{
    uint32_t app_id = 0, version = 0;
    file_kind kind = read_header(path, &app_id, &version);
    return kind == FILE_SQLITE || (kind == FILE_EMPTY && aot_place_has_rest(path));
}

aot_status aot_session_fail(const aot_session *s, aot_err *err, const char *doing)
{
    int code = sqlite3_extended_errcode(s->db) & 0xff;
    const char *what = sqlite3_errmsg(s->db);
    aot_status st;
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
        st = AOT_FAIL(err, AOT_E_SESSION, "the session is damaged: %s (%s)", what, doing);
    } else if (code == SQLITE_FULL || (code == SQLITE_IOERR && s->place.file != NULL)) {
        st = AOT_FAIL(err, AOT_E_IO, "the session could not be written: %s", what);
    } else if (code == SQLITE_IOERR || code == SQLITE_CANTOPEN) {
        st = AOT_FAIL(err, AOT_E_IO, "%s: %s", doing, what);
    } else {
        st = AOT_FAIL(err, AOT_E_SESSION, "%s: %s", doing, what);
    }
    aot_err_in_file(err, s->path);
    return st;
}

static const char never_finished[] =
    "the session was never finished: its import was stopped before anything was in it; import "
    "again";

/* Says what is wrong with a file that is not a session of ours. */
static aot_status check_file(const char *path, aot_err *err)
{
    uint32_t app_id = 0, version = 0;
    const char *why = NULL;
    aot_status st = AOT_OK;
    switch (read_header(path, &app_id, &version)) {
    case FILE_ABSENT:
        st = AOT_FAIL(err, AOT_E_IO, "%s", strerror(errno));
        break;
    case FILE_EMPTY:
        st = aot_place_has_rest(path) ? AOT_FAIL(err, AOT_E_SESSION, "%s", never_finished)
                                      : AOT_FAIL(err, AOT_E_SESSION,
                                                 "the file is empty: no aotscope session");
        break;
    case FILE_OTHER:
        why = aot_place_refuses(path);
        st = AOT_FAIL(err, AOT_E_SESSION, "%s",
                      why != NULL ? why : "not an aotscope session (no SQLite database)");
        break;
    case FILE_SQLITE:
        if (app_id != AOT_SESSION_APP_ID) {
            st = AOT_FAIL(err, AOT_E_SESSION,
                          "an SQLite database of another program (application_id 0x%08x), not an "
                          "aotscope session",
                          (unsigned)app_id);
        } else if (version > AOT_SESSION_VERSION) {
            st = AOT_FAIL(err, AOT_E_SESSION,
                          "a session of a newer aotscope: format %u, this program reads up to %d",
                          (unsigned)version, AOT_SESSION_VERSION);
        }
        break;
    }
    aot_err_in_file(err, path);
    return st;
}

aot_status aot_session_exec(aot_session *s, const char *sql, aot_err *err)
{
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        char doing[96];
        snprintf(doing, sizeof doing, "%.80s", sql);
        return aot_session_fail(s, err, doing);
    }
    return AOT_OK;
}

static aot_session *session_new(const char *path)
{
    aot_session *s = aot_xcalloc(1, sizeof *s);
    s->path = aot_xstrdup(path);
    return s;
}

/* A new file that stays keeps what was committed; if writing failed, its state tells so. */
static void close_writer(aot_session *s)
{
    if (s->db != NULL && s->temp == NULL && s->place.file != NULL && s->spoilt.code != AOT_OK) {
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
        sqlite3_exec(s->db, "UPDATE session SET value = 'failed' WHERE key = 'state'", NULL, NULL,
                     NULL); /* may fail as well: it then says "writing" */
    }
    sqlite3_close_v2(s->db);
    s->db = NULL;
    if (s->temp != NULL) {
        aot_place_remove(s->temp);
        free(s->temp);
        s->temp = NULL;
    }
}

void aot_session_close(aot_session *s)
{
    if (s == NULL) {
        return;
    }
    close_writer(s);
    if (s->place.lock != NULL) {
        aot_place_remove_at_end(&s->place, NULL);
    }
    aot_place_release(&s->place);
    free(s->path);
    free(s->value);
    free(s);
}

void aot_session_discard(aot_session *s)
{
    bool is_new = s->temp == NULL && s->place.file != NULL;
    close_writer(s);
    if (is_new) {
        aot_place_remove(s->place.file);
    }
    aot_session_close(s);
}

void aot_session_spoil(aot_session *s, const aot_err *why)
{
    if (s->spoilt.code == AOT_OK) {
        s->spoilt = *why;
    }
}

sqlite3 *aot_session_db(const aot_session *s)
{
    return s->db;
}

const char *aot_session_path(const aot_session *s)
{
    return s->path;
}

const char *aot_session_value(aot_session *s, const char *key)
{
    sqlite3_stmt *q = NULL;
    free(s->value);
    s->value = NULL;
    if (sqlite3_prepare_v2(s->db, "SELECT value FROM session WHERE key = ?", -1, &q, NULL) ==
        SQLITE_OK) {
        sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
        if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0) != NULL) {
            s->value = aot_xstrdup((const char *)sqlite3_column_text(q, 0));
        }
    }
    sqlite3_finalize(q);
    return s->value;
}

static bool is_locked(const aot_session *s)
{
    int code = sqlite3_errcode(s->db) & 0xff;
    return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

/* Makes the list of our tables from the schema, so that there is one list. */
static aot_status our_tables(sqlite3 **out, sqlite3_stmt **q, aot_err *err)
{
    if (sqlite3_open(":memory:", out) != SQLITE_OK ||
        sqlite3_exec(*out, aot_schema_sql, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(*out, "SELECT name FROM sqlite_master WHERE type = 'table'", -1, q,
                           NULL) != SQLITE_OK) {
        return AOT_FAIL(err, AOT_E_SESSION, "the schema: %s", sqlite3_errmsg(*out));
    }
    return AOT_OK;
}

/* A view in the place of a table could answer without end, so what is there must be tables. */
static aot_status check_tables(aot_session *s, aot_err *err)
{
    sqlite3 *ours = NULL;
    sqlite3_stmt *q = NULL, *there = NULL;
    aot_status st = our_tables(&ours, &q, err);
    if (st == AOT_OK &&
        sqlite3_prepare_v2(s->db, "SELECT 1 FROM sqlite_master WHERE name = ? COLLATE NOCASE", -1,
                           &there, NULL) != SQLITE_OK) {
        st = aot_session_fail(s, err, "reading the list of tables");
    }
    while (st == AOT_OK && sqlite3_step(q) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(q, 0);
        sqlite3_bind_text(there, 1, name, -1, SQLITE_TRANSIENT);
        bool exists = sqlite3_step(there) == SQLITE_ROW;
        sqlite3_reset(there);
        /* refuses views */
        bool is_table = sqlite3_table_column_metadata(s->db, "main", name, NULL, NULL, NULL, NULL,
                                                      NULL, NULL) == SQLITE_OK;
        if (exists && !is_table) {
            st = AOT_FAIL(err, AOT_E_SESSION, "not an aotscope session: %s is no table in it",
                          name);
        }
    }
    sqlite3_finalize(there);
    sqlite3_finalize(q);
    sqlite3_close(ours);
    aot_err_in_file(err, s->path);
    return st;
}

static bool has_row(aot_session *s, const char *sql)
{
    sqlite3_stmt *q = NULL;
    bool found = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) == SQLITE_OK &&
                 sqlite3_step(q) == SQLITE_ROW;
    sqlite3_finalize(q);
    return found;
}

/* Past the header: is what the database holds a session of ours? A database with nothing in it is
 * one whose import was stopped; *is_bare tells. */
static aot_status check_content(aot_session *s, bool *is_bare, aot_err *err)
{
    *is_bare = false;
    if (sqlite3_exec(s->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) != SQLITE_OK) {
        return aot_session_fail(s, err, "reading the list of tables");
    }
    if (!has_row(s, "SELECT 1 FROM sqlite_master")) {
        *is_bare = true;
        return AOT_OK;
    }
    AOT_TRY(check_tables(s, err));
    if (sqlite3_table_column_metadata(s->db, "main", "session", "key", NULL, NULL, NULL, NULL,
                                      NULL) != SQLITE_OK ||
        !has_row(s, "SELECT 1 FROM session WHERE key = 'format' AND value GLOB 'aotscope/*'")) {
        int code = sqlite3_errcode(s->db) & 0xff;
        if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || is_locked(s)) {
            return aot_session_fail(s, err, "reading table session");
        }
        aot_status st = AOT_FAIL(err, AOT_E_SESSION,
                                 "an SQLite database of another program, not an aotscope session: "
                                 "it has no table session of ours");
        aot_err_in_file(err, s->path);
        return st;
    }
    return AOT_OK;
}

aot_status aot_session_open(aot_session **out, const char *path, aot_err *err)
{
    AOT_TRY(check_file(path, err));
    aot_session *s = session_new(path);
    bool is_bare = false;
    aot_status st = AOT_OK;
    if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        st = aot_session_fail(s, err, "opening");
    } else {
        sqlite3_busy_timeout(s->db, 2000);
        aot_err own = {0};
        st = check_content(s, &is_bare, &own);
        int code = sqlite3_extended_errcode(s->db);
        /* what a stopped writer left can be put right only by a writer */
        is_bare = is_bare || (st != AOT_OK && (code & 0xff) == SQLITE_READONLY) ||
                  (st != AOT_OK && (code & 0xff) == SQLITE_CANTOPEN && aot_place_has_rest(path));
        if (is_bare) {
            st = AOT_FAIL(err, AOT_E_SESSION, "%s", never_finished);
            aot_err_in_file(err, path);
        } else if (st != AOT_OK && err != NULL && err->code == AOT_OK) {
            *err = own;
        }
    }
    if (st != AOT_OK) {
        aot_session_close(s);
        return st;
    }
    *out = s;
    return AOT_OK;
}

/* Brings an older session back to one file, so that it can be replaced. */
static aot_status settle_old(const char *path, aot_err *err)
{
    aot_session *old = session_new(path);
    aot_status st = AOT_OK;
    bool is_bare = false, damaged = false;
    if (sqlite3_open_v2(path, &old->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        st = aot_session_fail(old, err, "opening the session that is to be replaced");
    } else {
        sqlite3_busy_timeout(old->db, 500);
        aot_err own = {0};
        st = check_content(old, &is_bare, &own);
        int code = sqlite3_errcode(old->db) & 0xff;
        /* A damaged old session may be replaced: what could be read of it is lost already. */
        damaged = st != AOT_OK && (code == SQLITE_CORRUPT || code == SQLITE_NOTADB);
        int rc = SQLITE_OK;
        if (st == AOT_OK || damaged) {
            st = AOT_OK;
            rc = sqlite3_exec(old->db, "BEGIN IMMEDIATE; COMMIT; PRAGMA journal_mode = DELETE",
                              NULL, NULL, NULL);
        }
        if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED || (st != AOT_OK && is_locked(old))) {
            st = AOT_FAIL(err, AOT_E_SESSION,
                          "another program has this session open; close it, or "
                          "give another file to -o");
            aot_err_in_file(err, path);
        } else if (st != AOT_OK && err != NULL && err->code == AOT_OK) {
            *err = own;
        }
    }
    aot_session_close(old);
    return st;
}

static aot_status start_writing(aot_session *s, aot_err *err)
{
    char pragmas[256];
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA page_size = 8192; PRAGMA application_id = %d; PRAGMA user_version = %d;"
             "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;",
             AOT_SESSION_APP_ID, AOT_SESSION_VERSION);
    AOT_TRY(aot_session_exec(s, pragmas, err));
    AOT_TRY(aot_session_exec(s, "BEGIN", err));
    AOT_TRY(aot_session_exec(s, aot_schema_sql, err));
    char sql[256], when[32];
    time_t now = time(NULL);
    struct tm tm;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    snprintf(sql, sizeof sql,
             "INSERT INTO session VALUES ('state', 'writing'), ('created', '%s'), "
             "('format', 'aotscope/1'), ('rules', 'PyTorch 2.11'); COMMIT",
             when);
    return aot_session_exec(s, sql, err);
}

/* Makes the file we shall write into, so that no other program can have made it. */
static aot_status reserve(const char *path, aot_err *err)
{
    FILE *f = fopen(path, "wbx");
    if (f == NULL) {
        aot_status st = AOT_FAIL(err, AOT_E_IO, "%s", strerror(errno));
        aot_err_in_file(err, path);
        return st;
    }
    fclose(f);
    return AOT_OK;
}

/* Makes the file to write into: at its place, or beside the older session that it will replace. */
static aot_status prepare_file(aot_session *s, aot_err *err)
{
    const char *file = s->place.file;
    uint32_t app_id = 0, version = 0;
    file_kind kind = read_header(file, &app_id, &version);
    if (kind == FILE_ABSENT && errno != ENOENT) {
        return check_file(file, err);
    }
    if (kind == FILE_ABSENT || kind == FILE_EMPTY) {
        aot_place_remove_rest(file); /* SQLite would play it back into the new file */
        return kind == FILE_ABSENT ? reserve(file, err) : AOT_OK;
    }
    AOT_TRY(check_file(file, err));
    AOT_TRY(settle_old(file, err));
    size_t n = strlen(file) + 32;
    char *temp = aot_xmalloc(n);
    snprintf(temp, n, "%s.new-%ld", file, (long)getpid());
    aot_place_remove(temp);
    aot_status st = reserve(temp, err);
    if (st == AOT_OK) {
        s->temp = temp;
        aot_place_remove_at_end(&s->place, temp);
    } else {
        free(temp);
    }
    return st;
}

aot_status aot_session_create(aot_session **out, const char *path, aot_err *err)
{
    aot_session *s = session_new(path);
    aot_status st = aot_place_take(&s->place, path, err);
    if (st == AOT_OK) {
        st = prepare_file(s, err);
    }
    if (st != AOT_OK) {
        aot_session_close(s);
        return st;
    }
    const char *file = s->temp != NULL ? s->temp : s->place.file;
    if (sqlite3_open_v2(file, &s->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        st = aot_session_fail(s, err, "creating the session");
    } else {
        sqlite3_busy_timeout(s->db, 5000);
        st = start_writing(s, err);
    }
    if (st != AOT_OK) {
        aot_session_discard(s);
        return st;
    }
    *out = s;
    return AOT_OK;
}

/* Brings the file into its last shape. It is called complete only when the rest is in it. */
static aot_status seal(aot_session *s, aot_err *err)
{
    AOT_TRY(aot_session_exec(s,
                             "PRAGMA wal_checkpoint(TRUNCATE); "
                             "UPDATE session SET value = 'complete' WHERE key = 'state'; "
                             "PRAGMA wal_checkpoint(TRUNCATE)",
                             err));
    /* Busy when a viewer is watching: the file then stays in WAL mode, which is as good. */
    sqlite3_busy_timeout(s->db, 100);
    sqlite3_exec(s->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    if (sqlite3_close(s->db) != SQLITE_OK) {
        return aot_session_fail(s, err, "closing the session");
    }
    s->db = NULL;
    return AOT_OK;
}

/* What readers marked, noted and edited in the session that is replaced goes on, where its unit
 * does: a redacted session has other names and takes none of it. An older session has no such
 * tables. */
static void carry_readers(aot_session *s)
{
    static const char *const tables[] = {"mark", "kept_edit"};
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, "ATTACH ? AS old", -1, &q, NULL) == SQLITE_OK) {
        sqlite3_bind_text(q, 1, s->place.file, -1, SQLITE_STATIC);
        sqlite3_step(q);
    }
    sqlite3_finalize(q);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char sql[300];
        snprintf(
            sql, sizeof sql,
            "INSERT INTO main.%s SELECT * FROM old.%s r WHERE EXISTS (SELECT 1 FROM main.unit u "
            "WHERE u.label = r.label AND coalesce(u.input, '') = r.input)",
            tables[i], tables[i]);
        sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    }
    sqlite3_exec(s->db, "DETACH old", NULL, NULL, NULL);
}

aot_status aot_session_finish(aot_session *s, aot_err *err)
{
    aot_status st = s->spoilt.code;
    if (st != AOT_OK) {
        if (err != NULL && err->code == AOT_OK) {
            *err = s->spoilt;
        }
        aot_session_close(s);
        return st;
    }
    aot_err own = {0};
    if (s->temp != NULL) {
        carry_readers(s);
    }
    st = seal(s, &own);
    if (st == AOT_OK && s->temp != NULL) {
        aot_place_remove_rest(s->place.file); /* of a damaged old session */
        if (rename(s->temp, s->place.file) != 0) {
            st = AOT_FAIL(&own, AOT_E_IO, "the new session cannot be put in place: %s",
                          strerror(errno));
            aot_err_in_file(&own, s->path);
        } else {
            free(s->temp);
            s->temp = NULL;
        }
    }
    if (st != AOT_OK) {
        aot_session_spoil(s, &own);
        if (err != NULL && err->code == AOT_OK) {
            *err = own;
        }
    }
    aot_session_close(s);
    return st;
}

const char *aot_session_library(void)
{
    return sqlite3_libversion();
}
