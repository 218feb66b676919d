/* Between the files of a unit that is replayed. */
#ifndef AOT_SESSION_REPLAY_INTERNAL_H
#define AOT_SESSION_REPLAY_INTERNAL_H

#include "exec/interp.h"
#include "partition/select.h"
#include "session/replay_unit.h"
#include "session/run_values.h"

typedef struct recorded_node {
    const aot_drawn *first; /* of the node's outputs; NULL: it was not recorded */
    size_t n;
    const aot_drawn *inside[2]; /* first and last drawn in the body that it runs; NULL */
} recorded_node;

typedef struct side_facts {
    const aot_graph *g;
    const aot_run_call *call;
    recorded_node *drawn; /* by node */
    const uint8_t *state; /* of the generator when the call began; NULL */
    bool recorded;
    aot_select_on on;
} side_facts;

typedef struct symbol_value {
    const char *name;
    int64_t value;
} symbol_value;

struct aot_replay_unit {
    aot_model *m;
    size_t unit;
    aot_replay_ask ask;
    aot_arena *arena;
    side_facts side[AOT_REPLAY_N_SIDES];
    const aot_partition *p;
    const aot_calls *calls;
    aot_node_id *first;
    int n_outputs; /* of the user, of the forward */
    aot_replay *replay;
    AOT_VEC(symbol_value) symbols; /* of the recorded call */
    aot_runnable wrapped;          /* ask.wrapped: called through its wrappers */
    aot_sb notes;                  /* aot_replay_unit_notes */
};

/* replay_run.c: the two graphs, or the unit through its wrappers. */
aot_status ru_run(void *arg, aot_exec *x, const aot_exec_options *o, aot_err *err);
/* replay_recorded.c */
aot_status ru_choose_call(aot_replay_unit *u, aot_err *err); /* E_RANGE, E_SESSION */
void ru_start(void *arg, aot_replay_side side, aot_generator *g);
void ru_recorded(void *arg, aot_replay_diff *out, aot_replay_side side, aot_node_id id,
                 unsigned value, const aot_array *x);

/* Fills x with what the recorded call was given by that name; false: it is not known. */
bool ru_recorded_input(aot_replay_unit *u, const aot_graph *g, const char *name, aot_array *x);

#endif
