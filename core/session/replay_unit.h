/* A unit of a model made ready to be replayed: its compiled graphs, made-up or given inputs, and
 * what tools/aotscope_record.py saw of a call of it: generator states and the numbers drawn.
 *
 * Inputs that nobody gives are made up by name: floats uniform in [0, 1), integers 0 or 1,
 * tangents 1. So masks are those of the recorded run, other values are not. */
#ifndef AOT_SESSION_REPLAY_UNIT_H
#define AOT_SESSION_REPLAY_UNIT_H

#include <jansson.h>

#include "exec/replay.h"
#include "session/calls.h"
#include "session/model.h"

typedef struct aot_replay_ask {
    uint64_t seed; /* of made-up inputs, and of the generator where no state was recorded */
    int64_t call;  /* the recorded forward call, as `show --calls` counts them; -1: the first one
                      whose backward was recorded, too */
    const json_t
        *values;      /* {"inputs": {NAME or SOURCE: value}, "tangents": [...]}; NULL: none given */
    const char *file; /* of the values, for messages */
    bool bodies;  /* nodes of graphs that higher-order operators run are told, too */
    bool wrapped; /* through the runtime wrappers, on the inputs of the user's function (named by
                     SOURCE); traced from the Dynamo graph. Else the graphs alone, inputs by the
                     graph's NAME */
} aot_replay_ask;

typedef struct aot_replay_unit aot_replay_unit;

/* m outlives it. Errors: E_PIPELINE (no graph to run), those of the model; E_RANGE (no such call);
 * E_PARSE, E_SHAPE (values). */
AOT_NODISCARD aot_status aot_replay_open(aot_replay_unit **out, aot_model *m, size_t unit,
                                         const aot_replay_ask *ask, aot_err *err);
void aot_replay_close(aot_replay_unit *u); /* NULL is fine */
aot_replay *aot_replay_of(aot_replay_unit *u);
const aot_graph *aot_replay_unit_graph(const aot_replay_unit *u,
                                       aot_replay_side side); /* NULL: none */
const aot_partition *
aot_replay_unit_partition(const aot_replay_unit *u); /* NULL: the unit is not cut */
/* The recorded call of a side; NULL: none was recorded. */
const aot_run_call *aot_replay_unit_call(const aot_replay_unit *u, aot_replay_side side);
/* Whether a graph is the recorded one. */
bool aot_replay_unit_recorded(const aot_replay_unit *u, aot_replay_side side);
/* How a node drew from the CPU generator when it was recorded. */
typedef struct aot_replay_drawn {
    uint64_t before; /* hash of the state, as aot_rng_mark has it */
    int64_t n;       /* 32-bit numbers that it took; -1: too many to count, or seeded anew */
} aot_replay_drawn;
/* False: it was not recorded, or drew from another generator. */
bool aot_replay_unit_drawn(const aot_replay_unit *u, aot_replay_side side, aot_node_id id,
                           aot_replay_drawn *out);
/* 32-bit numbers that the CPU generator gave between the recorded forward and its backward; -1: too
 * many to count, or it was seeded anew; 0: none, or not recorded. */
int64_t aot_replay_unit_drawn_between(aot_replay_unit *u);
/* Where the values of the tensors come from that the run is given, tangents among them. */
typedef struct aot_replay_inputs {
    unsigned n, n_given, n_recorded, n_made_up;
    bool of_recorder; /* calls of the unit were recorded: record_inputs would have kept them */
} aot_replay_inputs;
aot_replay_inputs aot_replay_unit_inputs(const aot_replay_unit *u);
/* Lines on values given that are not as the unit was compiled for, of the last run. */
const aot_sb *aot_replay_unit_notes(const aot_replay_unit *u);

#endif
