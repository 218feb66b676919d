/* show --filter and --fold: the nodes of a stage that a selection (partition/select.h) means; layers
 * that look the same once. */
#ifndef AOT_TUI_SHOW_FILTER_H
#define AOT_TUI_SHOW_FILTER_H

#include <jansson.h>

#include "session/model.h"

typedef struct aot_filtered {
    const char *filter; /* NULL: all nodes */
    bool fold;          /* repeats are shown once */
    bool csv;
    bool head;   /* the titles of the columns */
    bool several; /* a line that names the unit comes before */
    json_t *units; /* NULL: printed */
} aot_filtered;

/* Prints a line a node, or appends an object to units. stage: AOT_N_STAGES is the graph that is cut,
 * else the one there is. Errors: E_USAGE (the selection), E_RANGE (it matches
 * nothing), E_PIPELINE. */
AOT_NODISCARD aot_status aot_show_filtered(aot_model *m, size_t unit, aot_stage stage,
                                           const aot_filtered *f, aot_err *err);

#endif
