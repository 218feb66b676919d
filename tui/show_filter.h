/* show --filter and --fold: the nodes of a stage that a selection (partition/select.h) means;
 * layers that look the same once. */
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

/* The graph that is meant, stage as below, and the partition; *p is NULL where there is none, which
 * is an error only if it is needed. */
AOT_NODISCARD aot_status aot_show_graph(aot_model *m, size_t unit, aot_stage stage,
                                        bool needs_partition, const aot_graph **g,
                                        const aot_partition **p, aot_err *err);
/* Prints a line a node, or appends an object to units. stage: AOT_N_STAGES is the graph that is
 * cut, else the one there is. Errors: E_USAGE (the selection), E_RANGE (it matches nothing),
 * E_PIPELINE. */
AOT_NODISCARD aot_status aot_show_filtered(aot_model *m, size_t unit, aot_stage stage,
                                           const aot_filtered *f, aot_err *err);
/* The same of the user's modules, nested, with how many nodes each holds and what of them is saved;
 * of how, filter and fold are not looked at. show_modules.c */
AOT_NODISCARD aot_status aot_show_modules(aot_model *m, size_t unit, aot_stage stage,
                                          const aot_filtered *how, aot_err *err);

#endif
