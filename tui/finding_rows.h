/* Rows of the findings view: what lint finds in a unit, its random sites, its mutations and
 * aliases. */
#ifndef AOT_TUI_FINDING_ROWS_H
#define AOT_TUI_FINDING_ROWS_H

#include "base/vec.h"
#include "session/model.h"
#include "viewers/canvas.h"

typedef enum finding_kind { /* as they are sorted */
    FINDING_ERROR,
    FINDING_WARNING,
    FINDING_NOTE,
    FINDING_RANDOM,
    FINDING_MUTATION,
    FINDING_ALIAS,
    N_FINDING_KINDS
} finding_kind;

typedef struct finding_row {
    finding_kind kind;
    const char *message;
    const char *rule;             /* its name; of a random site the operator; "": none */
    const char *title, *remedy; /* what it means; what to do, or since when it holds; "": nothing */
    const char *node;             /* Enter goes to it; NULL: to the stage */
    aot_stage stage;              /* AOT_N_STAGES: it has no place */
    const char *source, *file;    /* "model.py:12" and its path; "" */
    unsigned line;
    int64_t bytes;                /* that it is about; 0: none */
} finding_row;

typedef AOT_VEC(finding_row) finding_rows;

const char *finding_kind_name(finding_kind k, bool several); /* "error", "aliases" */
aot_style finding_kind_style(finding_kind k);

/* Appends the rows, the worst first; texts belong to a.
 * Errors: why lint could not look at the unit; other rows are there all the same. */
aot_status finding_rows_of(finding_rows *out, aot_model *m, size_t unit, aot_arena *a,
                           aot_err *err);

#endif
