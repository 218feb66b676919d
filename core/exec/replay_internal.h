/* Between the machine and its breaks. */
#ifndef AOT_EXEC_REPLAY_INTERNAL_H
#define AOT_EXEC_REPLAY_INTERNAL_H

#include "base/vec.h"
#include "exec/interp.h"
#include "exec/replay.h"

typedef struct replay_break {
    aot_break_kind kind;
    char *text;
    int64_t bytes;   /* BYTES */
    void *selection; /* SELECT */
} replay_break;

/* A graph that is being run, the node of it that is or was last, and the generator before that
 * node. */
typedef struct replay_level {
    const aot_graph *g;
    aot_node_id node;
    bool done;
    aot_generator was;
} replay_level;

typedef struct replay_body {
    const aot_graph *g;
    uint32_t *frame_of;
} replay_body;

typedef struct replay_place {
    AOT_VEC(replay_level) levels;
    AOT_VEC(replay_body) bodies; /* seen so far */
} replay_place;

/* Called around each node; `now` is kept for its `after`, NULL: not needed. */
void replay_place_before(replay_place *p, const aot_graph *g, aot_node_id id,
                         const aot_generator *now);
const aot_generator *replay_place_after(replay_place *p, const aot_graph *g);
void replay_place_end(replay_place *p);
uint32_t *replay_body_frames(replay_place *p, const aot_graph *g);
const char *replay_place_name(const replay_place *p, aot_arena *a); /* "cond/true_graph_0/add" */

struct aot_replay {
    aot_replay_source s;
    aot_arena *arena; /* of values */
    AOT_VEC(aot_replay_frame) frames;
    AOT_VEC(replay_break) breaks;
    uint32_t *frame_of[AOT_REPLAY_N_SIDES]; /* by node: its frame + 1; 0: none yet */
    int64_t peak[AOT_REPLAY_N_SIDES];       /* live bytes of its frames */
    size_t at, horizon;
    bool complete;
    aot_err err;
    /* of a run under way */
    size_t i; /* frames seen */
    aot_replay_side side;
    bool started[AOT_REPLAY_N_SIDES];
    aot_array *
        *kept; /* by node of the forward: copies for the backward's comparison, KEPT a node */
    size_t n_kept;
    int64_t kept_bytes;
    bool *keeps;       /* by node of the forward: the backward computes it again */
    replay_place place;
    size_t n_in_bodies; /* nodes of bodies seen */
    aot_exec *x;
};

#endif
