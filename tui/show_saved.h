/* show --saved, and what all of `show` says of a unit. */
#ifndef AOT_TUI_SHOW_SAVED_H
#define AOT_TUI_SHOW_SAVED_H

#include <jansson.h>

#include "session/model.h"

/* What was asked for, and where JSON goes. */
typedef struct aot_show_want {
    bool redact;             /* names and values of the user's are left out */
    bool json, csv, several; /* several: more than one unit, so each gets a head */
    const char *by;          /* --by: saved bytes in groups; NULL */
    bool no_fold;            /* --no-fold: modules that differ in numbers alone stay apart */
    const char *sort;        /* --sort: order of the saved values; NULL: PyTorch's */
    json_t *units;           /* JSON collects here */
} aot_show_want;

/* first: the titles of CSV columns come before. Errors: those of aot_model_partition; E_USAGE. */
AOT_NODISCARD aot_status aot_show_saved(aot_model *m, size_t unit, aot_show_want *w, bool first,
                                        aot_err *err);
/* "# unit 0 [0/0] ..." */
void aot_show_unit_head(aot_model *m, size_t unit);
/* As aot_cmd_warn_passes, for a recorded joint graph: one that was traced again under --set is not
 * what the recorded graphs were cut from. */
void aot_show_warn_passes(aot_model *m, size_t unit, const aot_partition *p);

#endif
