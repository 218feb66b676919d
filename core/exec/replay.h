/* A run of a unit to step through, forwards and back: of each node its values in figures, the live
 * bytes and the generator, and where it stops.
 *
 *     aot_replay *r = aot_replay_new(&source);
 *     aot_replay_break(r, "nan", &err);
 *     aot_replay_continue(r);  aot_replay_at(r) ... aot_replay_step(r, -1) ...
 *
 * What is told of a node is kept as a frame, so that going back costs nothing. Going on runs the
 * unit anew from its start, which is deterministic, up to twice as far as it was run before. */
#ifndef AOT_EXEC_REPLAY_H
#define AOT_EXEC_REPLAY_H

#include "exec/generator.h"
#include "exec/value_stats.h"

struct aot_exec; /* exec/interp.h */
struct aot_exec_options;

typedef enum aot_break_kind { /* breaks.def */
#define BREAK(id, name, arg, finding, sentence) AOT_BREAK_##id,
#include "exec/breaks.def"
#undef BREAK
    AOT_N_BREAKS
} aot_break_kind;

typedef struct aot_break_info {
    const char *name, *arg, *sentence;
    bool finding;
} aot_break_info;
const aot_break_info *aot_break_get(aot_break_kind k);

typedef enum aot_replay_side {
    AOT_REPLAY_FORWARD,
    AOT_REPLAY_BACKWARD,
    AOT_REPLAY_N_SIDES
} aot_replay_side;

/* A value beside another that should be the same. */
typedef struct aot_replay_diff {
    const char *with; /* "recorded" or "forward"; NULL: there is nothing to compare with */
    aot_value_diff d; /* d.n 0: the same */
} aot_replay_diff;

typedef struct aot_replay_value {
    aot_value_stats stats;
    aot_replay_diff forward, recorded;
} aot_replay_value;

/* A generator's state in figures. */
typedef struct aot_rng_mark {
    uint64_t hash;     /* of the 5056 bytes */
    unsigned position; /* of the 624 numbers of the block, how many are used up */
} aot_rng_mark;

typedef struct aot_replay_frame {
    uint8_t side; /* aot_replay_side */
    bool is_input;
    aot_node_id node;
    const aot_graph *graph; /* whose node it is: that of the side, or a body that it runs */
    const char *name;       /* "add"; of a body's "cond/true_graph_0/add" */
    aot_replay_value *values; /* tensors of the value, in order */
    unsigned n_values;
    double number;      /* a value that is a plain number; NaN */
    int64_t live_bytes; /* right after the node, before its inputs are dropped */
    bool draws;         /* it moved the generator */
    bool restores;      /* it drew from a state that it was handed, and left the generator alone */
    int64_t n_drawn;    /* 32-bit numbers that it took; -1: too many to count */
    aot_rng_mark before, after;
} aot_replay_frame;

/* What is run. Everything is borrowed while the replay lives. */
typedef struct aot_replay_source {
    const aot_graph *graph[AOT_REPLAY_N_SIDES]; /* backward NULL: none */
    /* By node of the backward: the forward's node that computed it first, AOT_NO_NODE. NULL: none.
     */
    const aot_node_id *first;
    /* Runs both, from fresh inputs and generator, with these options. Each time the same. */
    aot_status (*run)(void *arg, struct aot_exec *x, const struct aot_exec_options *o,
                      aot_err *err);
    /* The generator at the start of a side, where it is known; NULL. */
    void (*start)(void *arg, aot_replay_side side, aot_generator *g);
    /* Compares a value with the recorded run's; out->with stays NULL where there is none. NULL. */
    void (*recorded)(void *arg, aot_replay_diff *out, aot_replay_side side, aot_node_id id,
                     unsigned value, const aot_array *x);
    /* Whether a selection means a node; made by `select`. NULL: selections are not understood. */
    void *(*select)(void *arg, const char *text, aot_err *err);
    bool (*selected)(void *arg, const void *selection, aot_replay_side side, const aot_graph *g,
                     aot_node_id id);
    void (*select_free)(void *selection);
    /* nodes of graphs that higher-order operators run have frames too, before the operator's own */
    bool bodies;
    void *arg;
} aot_replay_source;

/* How many 32-bit numbers lie between two states; -1: too many to count. */
int64_t aot_rng_distance(const aot_generator *from, const aot_generator *to);

typedef struct aot_replay aot_replay;

aot_replay *aot_replay_new(const aot_replay_source *s);
void aot_replay_free(aot_replay *r); /* NULL is fine */

/* Frames known so far, in order: the forward's, then the backward's. */
size_t aot_replay_n(const aot_replay *r);
const aot_replay_frame *aot_replay_frame_at(const aot_replay *r, size_t i);
/* Most live bytes of a side's frames known so far; 0: there are none. */
int64_t aot_replay_peak(const aot_replay *r, aot_replay_side side);
const char *aot_replay_name(const aot_replay *r, const aot_replay_frame *f);
/* Whether the last frame is the last there is. If an error ended the run, *err is it: E_UNSUPPORTED
 * (an operator without a kernel) and those of the source; else its code is AOT_OK. err may be NULL.
 */
bool aot_replay_complete(const aot_replay *r, const aot_err **err);
/* Runs until frame i is known, or to the end. False: there is no such frame. */
bool aot_replay_reach(aot_replay *r, size_t i);
/* The frame of a node, backward or forward (the first that is run again counts as the forward's);
 * AOT_REPLAY_NONE if it was not reached. */
#define AOT_REPLAY_NONE ((size_t)-1)
#define AOT_REPLAY_ALL ((size_t)-3) /* for aot_replay_reach: to the end, without runs in between */
size_t aot_replay_find(const aot_replay *r, aot_replay_side side, const char *name);

/* The frame shown; AOT_REPLAY_NONE: before the first node. */
size_t aot_replay_at(const aot_replay *r);
bool aot_replay_go(aot_replay *r, size_t i); /* false: there is no such frame */
/* n nodes on (back if negative), inputs passed over. False: the end was in the way. */
bool aot_replay_step(aot_replay *r, int64_t n);
/* To the first node of another source line or graph. */
bool aot_replay_next(aot_replay *r);
/* To the next frame where a break holds. False: none up to the end, where it stays. */
bool aot_replay_continue(aot_replay *r);

/* "nan", "bytes>1MiB", "node:gelu op:mm". Errors: E_USAGE, of the selection. */
AOT_NODISCARD aot_status aot_replay_break(aot_replay *r, const char *text, aot_err *err);
size_t aot_replay_n_breaks(const aot_replay *r);
const char *aot_replay_break_text(const aot_replay *r, size_t i);
aot_break_kind aot_replay_break_kind(const aot_replay *r, size_t i);
void aot_replay_unbreak(aot_replay *r, size_t i);
/* Whether break i holds in a known frame. */
bool aot_replay_holds(const aot_replay *r, size_t i, size_t frame);
/* Whether any does. */
bool aot_replay_stops(const aot_replay *r, size_t frame);
/* Whether a value of that frame differs, and the first of its inputs does not. */
bool aot_replay_differs(const aot_replay_frame *f);

#endif
