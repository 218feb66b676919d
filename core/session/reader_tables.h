/* Tables that viewers write into a session: what a reader keeps, marks and edits. Each write has a
 * connection of its own, so that the session stays open for reading only. */
#ifndef AOT_SESSION_READER_TABLES_H
#define AOT_SESSION_READER_TABLES_H

#include <sqlite3.h>

#include "base/err.h"
#include "base/str.h"

/* Opens a file for one change of a table: the table is there (as the schema makes it) and a
 * transaction is begun. create: the file may be made, which then holds this table alone. NULL if
 * that cannot be; why is appended. */
sqlite3 *aot_reader_begin(const char *path, const char *table, bool create, aot_sb *why);
/* Commits if ok, closes in any case. False if the change is not in the file; why is appended. */
bool aot_reader_end(sqlite3 *db, bool ok, aot_sb *why);
/* Opens it for reading the table. NULL: the file or the table is not there (*err is untouched) or
 * cannot be read (E_SESSION). */
sqlite3 *aot_reader_read(const char *path, const char *table, aot_err *err);
const char *aot_reader_column(sqlite3_stmt *q, int i); /* "" for NULL */

#endif
