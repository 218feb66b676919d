/* Edits that a reader makes in the interface, kept in the session file: what was decided is there
 * again when it is opened. Those of a log have no such place. */
#ifndef AOT_SESSION_KEPT_EDITS_H
#define AOT_SESSION_KEPT_EDITS_H

#include "session/model.h"

/* Brings back the edits of all units of m, undone ones too. *n_units: how many units got some; may
 * be NULL. A unit that was opened with other edits (--policy) than it had then gets none.
 * Errors: E_SESSION (a session's rows cannot be read; the other ones are). */
AOT_NODISCARD aot_status aot_kept_edits_restore(aot_model *m, size_t *n_units, aot_err *err);
/* Writes the edits of a unit as they are now. False: they are nowhere but in m; why (may be NULL)
 * is appended the reason. */
bool aot_kept_edits_write(aot_model *m, size_t unit, aot_sb *why);
/* How many edits made since the opening are in force and nowhere but in m, and of how many
 * units. */
size_t aot_kept_edits_lost(const aot_model *m, size_t *n_units);

#endif
