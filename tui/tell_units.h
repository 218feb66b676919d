/* Commands that tell of each unit and end with what is wrong in all of them: rng, mutation. */
#ifndef AOT_TUI_TELL_UNITS_H
#define AOT_TUI_TELL_UNITS_H

#include <jansson.h>

#include "tui/open_model.h"

typedef struct aot_telling {
    json_t *list;            /* JSON of units collects here; NULL: text */
    size_t n_units;          /* that were asked for */
    size_t n_with, n_failed; /* units that there was something to tell of; that failed */
    unsigned n_wrong;        /* findings: they make the exit code 1 */
} aot_telling;

typedef struct aot_telling_ops {
    void (*unit)(aot_telling *t, aot_model *m, size_t unit);
    void (*total)(const aot_telling *t); /* prints the last line of the text */
    const char *wrong;                   /* key of n_wrong in JSON */
} aot_telling_ops;

/* Opens the inputs, tells of the units that --unit means, ends. Returns the exit code. */
int aot_cmd_tell_units(const aot_args *a, const aot_telling_ops *ops);

#endif
