/* Writes a session: what importers deliver, and what passes report. One transaction a unit and one
 * a pass, so a crash loses at most what was running. */
#ifndef AOT_SESSION_RECORDER_H
#define AOT_SESSION_RECORDER_H

#include "import/unit.h"
#include "ir/event.h"
#include "pipeline/config.h"
#include "runtime/wrappers.h"
#include "session/check.h"
#include "session/session.h"

typedef struct aot_recorder aot_recorder;

/* Borrows s. Errors: E_SESSION. */
AOT_NODISCARD aot_status aot_recorder_new(aot_recorder **out, aot_session *s, aot_err *err);
void aot_recorder_free(aot_recorder *r); /* NULL is fine */

/* One transaction around several of the calls below; passes and units have their own. */
void aot_recorder_begin(aot_recorder *r);
void aot_recorder_commit(aot_recorder *r);

/* A file that is being imported; units, notes and loose records that follow are its own. */
AOT_NODISCARD aot_status aot_recorder_file_begin(aot_recorder *r, const char *path, aot_err *err);
/* failure: why the file could not be imported, or NULL. */
AOT_NODISCARD aot_status aot_recorder_file_end(aot_recorder *r, const aot_import_stats *stats,
                                               const char *failure, aot_err *err);

/* Writes a unit with all its records. What the observer reports afterwards belongs to it. */
AOT_NODISCARD aot_status aot_recorder_unit(aot_recorder *r, const aot_unit *u,
                                           const aot_config *config, aot_err *err);
/* What a recorded graph held: g, or err if it could not be read. */
void aot_recorder_graph(aot_recorder *r, const aot_record *rec, const aot_graph *g,
                        const aot_err *err);
/* A stage that the unit lacks. */
void aot_recorder_missing(aot_recorder *r, aot_stage s, const char *reason);
/* Number of the graph whose calls are the unit's, if a program recorded them (-1: none did). */
void aot_recorder_called(aot_recorder *r, int64_t graph);
/* Copies the calls out of a recorder's own file (session/calls.h), for the units that
 * aot_recorder_called named since the last copy. Errors: E_SESSION. */
AOT_NODISCARD aot_status aot_recorder_calls(aot_recorder *r, const char *path, aot_err *err);
void aot_recorder_check(aot_recorder *r, const aot_check_result *c);
/* The stage runtime, with its wrappers. */
void aot_recorder_runtime(aot_recorder *r, const aot_runtime *runtime);
/* In how many units the step to a stage changed nothing. */
uint32_t aot_recorder_unchanged(const aot_recorder *r, aot_stage s);
/* Says of the unit's partition how far it holds ("Inductor changed the joint graph first"). */
void aot_recorder_partition_note(aot_recorder *r, const char *text);
void aot_recorder_note(aot_recorder *r, const aot_import_note *n); /* of no unit */
void aot_recorder_loose(aot_recorder *r, const aot_unit_key *key, const aot_record *rec);

/* The observer to run passes with. Lives as long as r. */
const aot_observer *aot_recorder_observer(aot_recorder *r);
/* The first trouble that was met; it stays, and nothing is written after it. */
AOT_NODISCARD aot_status aot_recorder_status(aot_recorder *r, aot_err *err);

#endif
