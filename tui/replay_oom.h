/* Out of memory: the node at which a unit's live bytes exceed a device, what lives there, and the
 * cheapest cut that fits. */
#ifndef AOT_TUI_REPLAY_OOM_H
#define AOT_TUI_REPLAY_OOM_H

#include <jansson.h>

#include "session/replay_unit.h"

typedef struct aot_oom_ask {
    int64_t limit; /* bytes */
    bool dry;      /* live bytes by simulation, nothing is run */
} aot_oom_ask;

/* Appends text, or sets *json (new reference) if that is not NULL. *exceeds: whether the limit is
 * exceeded. Errors: E_PIPELINE (the unit has no cut), those of the cut. */
AOT_NODISCARD aot_status aot_oom_tell(aot_sb *text, json_t **json, bool *exceeds, aot_model *m,
                                      size_t unit, aot_replay_unit *u, const aot_oom_ask *ask,
                                      aot_err *err);

#endif
