/* The session file: one SQLite database, see schema.sql and docs/session.md.
 *
 * A new file is written in WAL mode at its own place, so that viewers can watch it grow. Over an
 * older session it is written beside it and renamed at the end: what was saved stays until then. */
#ifndef AOT_SESSION_SESSION_H
#define AOT_SESSION_SESSION_H

#include <sqlite3.h>
#include <stdbool.h>

#include "base/err.h"

enum {
    AOT_SESSION_APP_ID = 0x616f7473, /* "aots" */
    AOT_SESSION_VERSION = 2 /* 2: what a running program recorded */
};

typedef struct aot_session aot_session;

/* True if the file starts as an SQLite database does (whoever wrote it). */
bool aot_session_sniff(const char *path);

/* Starts a session for writing. An existing file must be an aotscope session that nobody has open.
 * Errors: E_SESSION (the file is something else, or in use), E_IO. */
AOT_NODISCARD aot_status aot_session_create(aot_session **out, const char *path, aot_err *err);
/* Marks the session complete, leaves WAL mode and puts the file in its place. Frees s either way.
 * Errors: what spoilt it, E_IO, E_SESSION; an older session is then as it was. */
AOT_NODISCARD aot_status aot_session_finish(aot_session *s, aot_err *err);

/* Opens for reading. Errors: E_IO (absent), E_SESSION (foreign, newer, damaged). */
AOT_NODISCARD aot_status aot_session_open(aot_session **out, const char *path, aot_err *err);

/* Closes without finishing: what was committed to a new file stays, a replacement is dropped. */
void aot_session_close(aot_session *s); /* NULL is fine */
/* The same, and removes a new file too: for an import that read nothing. */
void aot_session_discard(aot_session *s);

sqlite3 *aot_session_db(const aot_session *s);
const char *aot_session_path(const aot_session *s); /* as asked for */
/* Value of a key of table session; NULL if absent. Borrowed until the next call. */
const char *aot_session_value(aot_session *s, const char *key);

const char *aot_session_library(void); /* version of SQLite at run time */

AOT_NODISCARD aot_status aot_session_exec(aot_session *s, const char *sql, aot_err *err);
/* Remembers that something could not be written: the session will not end as complete, and an older
 * one is not replaced. */
void aot_session_spoil(aot_session *s, const aot_err *why);
/* E_SESSION with SQLite's own message, the session's path and what was being done. */
aot_status aot_session_fail(const aot_session *s, aot_err *err, const char *doing);

#endif
