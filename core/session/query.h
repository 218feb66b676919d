/* Every SELECT on a session as a named statement, prepared once per session. */
#ifndef AOT_SESSION_QUERY_H
#define AOT_SESSION_QUERY_H

#include "import/unit.h"
#include "session/check.h"
#include "session/session.h"

typedef enum aot_query_id {
#define QUERY(name, sql) AOT_Q_##name,
#include "session/queries.def"
#undef QUERY
    AOT_N_QUERIES
} aot_query_id;

typedef struct aot_queries aot_queries;

/* Borrows s; free before closing it. */
aot_queries *aot_queries_new(aot_session *s);
void aot_queries_free(aot_queries *q); /* NULL is fine */
/* The statement, reset, its parameters cleared; NULL with *err set if SQLite refuses it. */
sqlite3_stmt *aot_query(aot_queries *q, aot_query_id id, aot_err *err);

bool aot_query_has_table(aot_queries *q,
                         const char *table); /* recordings by older programs lack some */
/* One row, one number; -1 if there is none. */
int64_t aot_query_number(aot_queries *q, aot_query_id id);
/* Session ids of the units, in order. The caller frees *ids. */
AOT_NODISCARD aot_status aot_query_units(aot_queries *q, int64_t **ids, size_t *n, aot_err *err);
/* Reads a whole unit back as the importer delivered it; free it with aot_unit_free. */
AOT_NODISCARD aot_status aot_query_unit(aot_queries *q, int64_t id, aot_unit **out, aot_err *err);
/* What was recorded of a unit's checks, in pipeline order; texts are in a. Returns how many. */
size_t aot_query_checks(aot_queries *q, int64_t id, aot_check_result out[AOT_N_STAGES],
                        aot_arena *a);
/* Calls fn for each note of the file(s). */
AOT_NODISCARD aot_status aot_query_file_notes(aot_queries *q,
                                              void (*fn)(void *, const aot_import_note *),
                                              void *arg, aot_err *err);
/* Calls fn for each imported file. */
AOT_NODISCARD aot_status aot_query_files(aot_queries *q,
                                         void (*fn)(void *, const char *path,
                                                    const aot_import_stats *, const char *failure),
                                         void *arg, aot_err *err);

#endif
