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
    aot_generator was; /* before the node, of which a frame is made */
    aot_exec *x;
};

#endif
