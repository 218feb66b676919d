/* What the parts of the model share: a slot a unit, with everything that was made for it.
 * model.c opens and frees, model_units.c reads units, model_graphs.c makes graphs and partitions,
 * model_edits.c changes settings and tags. */
#ifndef AOT_SESSION_MODEL_INTERNAL_H
#define AOT_SESSION_MODEL_INTERNAL_H

#include "session/calls.h"
#include "session/derive.h"
#include "session/model.h"
#include "session/query.h"
#include "session/redact.h"

typedef struct source { /* an opened session */
    aot_session *session;
    aot_queries *queries;
} source;

typedef struct slot {
    aot_unit *unit; /* NULL until read */
    int64_t id;     /* in the session */
    int source;     /* index into sources; -1: from a log */
    int run;        /* source of its calls, from 1; 0: none */
    aot_calls *calls;
    aot_ctx *ctx;   /* NULL until a graph is asked for */
    const aot_graph *graphs[AOT_N_STAGES];
    aot_err errs[AOT_N_STAGES];
    aot_partitioner *partitioner; /* NULL: not made */
    bool knows_modules;           /* it was told the parameters' paths */
    aot_partition *partition, *partition_before; /* the latter until the next change */
    bool before_stands; /* the graph that is cut is still the one that partition_before is of */
    aot_err partition_err;
    bool partition_tried;
    const aot_graph *captured[AOT_N_STAGES]; /* derived from the Dynamo graph */
    const aot_calling *calling;
    aot_err capture_err, capture_why[AOT_N_STAGES];
    bool capture_tried;
    const aot_graph *compared[AOT_N_STAGES][2]; /* with the stage before; NULL: not yet */
    bool same[AOT_N_STAGES];
    aot_runtime *runtime;
    aot_err runtime_err;
    bool runtime_tried;
    aot_unit_edits *edits; /* the unit's; NULL until the unit was asked for */
    size_t n_opened;       /* edits that the unit was opened with: a policy's, the session's */
    unsigned graph_version;       /* counts the changes before the cut */
    unsigned version, kept_version; /* the latter: when its edits were last written */
    int64_t plain_bytes;   /* saved without edits; -1: not known */
    bool plain_tried;
    const char *assumed; /* of ctx, when it had so many sizes, and one more */
    size_t assumed_of;
    bool assumed_sought; /* in the records, for want of a parsed graph */
    aot_ctx *before; /* that of a capture under other settings, until the next change */
} slot;

struct aot_model {
    AOT_VEC(slot) slots;
    AOT_VEC(source) sources;
    AOT_VEC(aot_import_note) notes;
    AOT_VEC(aot_model_file) files;
    aot_arena *arena; /* of notes and settings */
    const char **settings;
    size_t n_settings;
    aot_unit_edits policy;
    bool as_recorded;
    aot_redactor *redactor, *own_redactor; /* NULL: nothing is redacted; nothing to free */
    const aot_model_options *opening; /* while aot_model_open runs */
    const char *input;
    aot_sb line;
};

/* The slot with its unit read. A session whose rows cannot be read gives an empty unit with a note.
 */
slot *aot_model_slot(const aot_model *m, size_t i);
/* Why something kept could not be made, as the error of the one who asks again. */
aot_status aot_model_take_err(const aot_err *kept, aot_err *err);
/* Lets go of what the slot owns of partitions. */
void aot_model_drop_partitions(slot *s);
/* Cuts each of several units under the policy. Errors: E_USAGE: a line matches in none; a note says
 * which lines match nothing in some. */
aot_status aot_model_try_policy(aot_model *m, aot_err *err);

#endif
