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

extern const char aot_schema_sql[];

struct aot_session {
    sqlite3 *db;
    char *path;  /* where it shall be */
    char *temp;  /* where it is written, if that is not path; else NULL */
    char *value; /* last answer of aot_session_value */
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
    errno = 0;
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return FILE_ABSENT;
    }
    size_t n = fread(h, 1, sizeof h, f);
    fclose(f);
    if (n == 0) {
        return errno == EISDIR ? FILE_OTHER : FILE_EMPTY;
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
    return read_header(path, &app_id, &version) == FILE_SQLITE;
}

aot_status aot_session_fail(const aot_session *s, aot_err *err, const char *doing)
{
    int code = sqlite3_extended_errcode(s->db) & 0xff;
    const char *what = sqlite3_errmsg(s->db);
    aot_status st;
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
        st = AOT_FAIL(err, AOT_E_SESSION, "the session is damaged: %s (%s)", what, doing);
    } else if (code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN) {
        st = AOT_FAIL(err, AOT_E_IO, "%s: %s", doing, what);
    } else {
        st = AOT_FAIL(err, AOT_E_SESSION, "%s: %s", doing, what);
    }
    aot_err_in_file(err, s->path);
    return st;
}

/* Says what is wrong with a file that is not a session of ours. */
static aot_status check_file(const char *path, aot_err *err)
{
    uint32_t app_id = 0, version = 0;
    aot_status st = AOT_OK;
    switch (read_header(path, &app_id, &version)) {
    case FILE_ABSENT:
        st = AOT_FAIL(err, AOT_E_IO, "%s", strerror(errno));
        break;
    case FILE_EMPTY:
        st = AOT_FAIL(err, AOT_E_SESSION, "the file is empty: no aotscope session");
        break;
    case FILE_OTHER:
        st = AOT_FAIL(err, AOT_E_SESSION, "not an aotscope session (no SQLite database)");
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

void aot_session_close(aot_session *s)
{
    if (s == NULL) {
        return;
    }
    sqlite3_close_v2(s->db);
    if (s->temp != NULL) {
        unlink(s->temp);
        free(s->temp);
    }
    free(s->path);
    free(s->value);
    free(s);
}

void aot_session_discard(aot_session *s)
{
    char *path = s->temp == NULL ? aot_xstrdup(s->path) : NULL;
    aot_session_close(s);
    if (path != NULL) {
        unlink(path);
        free(path);
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

aot_status aot_session_open(aot_session **out, const char *path, aot_err *err)
{
    AOT_TRY(check_file(path, err));
    aot_session *s = session_new(path);
    if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        aot_status st = aot_session_fail(s, err, "opening");
        aot_session_close(s);
        return st;
    }
    sqlite3_busy_timeout(s->db, 2000);
    aot_status st =
        aot_session_exec(s, "SELECT count(*) FROM sqlite_schema; SELECT key FROM session", err);
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
    if (sqlite3_open_v2(path, &old->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        st = aot_session_fail(old, err, "opening the session that is to be replaced");
    } else {
        sqlite3_busy_timeout(old->db, 500);
        int rc = sqlite3_exec(old->db, "BEGIN IMMEDIATE; COMMIT; PRAGMA journal_mode = DELETE",
                              NULL, NULL, NULL);
        if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED) {
            st = AOT_FAIL(err, AOT_E_SESSION,
                          "another program has this session open; close it, or "
                          "give another file to -o");
            aot_err_in_file(err, path);
        }
        /* A damaged old session may be replaced: what could be read of it is lost already. */
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

aot_status aot_session_create(aot_session **out, const char *path, aot_err *err)
{
    uint32_t app_id = 0, version = 0;
    file_kind kind = read_header(path, &app_id, &version);
    if (kind == FILE_ABSENT && errno != ENOENT) {
        return check_file(path, err);
    }
    aot_session *s = session_new(path);
    aot_status st = AOT_OK;
    if (kind == FILE_ABSENT) {
        st = reserve(path, err);
    } else if (kind != FILE_EMPTY) {
        st = check_file(path, err);
        if (st == AOT_OK) {
            st = settle_old(path, err);
        }
        if (st == AOT_OK) {
            size_t n = strlen(path) + 32;
            s->temp = aot_xmalloc(n);
            snprintf(s->temp, n, "%s.new-%ld", path, (long)getpid());
            unlink(s->temp);
            st = reserve(s->temp, err);
        }
    }
    if (st != AOT_OK) {
        free(s->temp);
        s->temp = NULL; /* not ours to remove */
        aot_session_close(s);
        return st;
    }
    const char *file = s->temp != NULL ? s->temp : path;
    if (sqlite3_open_v2(file, &s->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        st = aot_session_fail(s, err, "creating the session");
    } else {
        sqlite3_busy_timeout(s->db, 5000);
        st = start_writing(s, err);
    }
    if (st != AOT_OK) {
        aot_session_close(s);
        return st;
    }
    *out = s;
    return AOT_OK;
}

aot_status aot_session_finish(aot_session *s, aot_err *err)
{
    aot_status st = aot_session_exec(s,
                                     "UPDATE session SET value = 'complete' WHERE key = 'state'; "
                                     "PRAGMA wal_checkpoint(TRUNCATE)",
                                     err);
    if (st == AOT_OK) {
        /* Busy when a viewer is watching: the file then stays in WAL mode, which is as good. */
        sqlite3_busy_timeout(s->db, 100);
        sqlite3_exec(s->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
        if (sqlite3_close(s->db) != SQLITE_OK) {
            st = aot_session_fail(s, err, "closing the session");
        } else {
            s->db = NULL;
        }
    }
    if (st == AOT_OK && s->temp != NULL) {
        if (rename(s->temp, s->path) != 0) {
            st = AOT_FAIL(err, AOT_E_IO, "the new session cannot be put in place: %s",
                          strerror(errno));
            aot_err_in_file(err, s->path);
        } else {
            free(s->temp);
            s->temp = NULL;
        }
    }
    aot_session_close(s);
    return st;
}

const char *aot_session_library(void)
{
    return sqlite3_libversion();
}
