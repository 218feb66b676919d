/* What a program's compiled graphs did when they ran, as tools/aotscope_record.py saw it: the calls
 * of a unit with their random numbers, generator states, saved values and memory.
 *
 * A recorder's own file holds PyTorch's log instead of units (table trace_record); an imported
 * session holds both units and calls. See schema.sql, "what a running program recorded". */
#ifndef AOT_SESSION_CALLS_H
#define AOT_SESSION_CALLS_H

#include "session/query.h"

/* One output of a random node. */
typedef struct aot_drawn {
    const char *node, *op; /* native_dropout, aten.native_dropout.default */
    const char *of;        /* backward: the forward's node whose numbers it draws again; NULL */
    unsigned idx, output;  /* order of drawing in the call; which output of the node */
    const char *device, *dtype, *shape; /* shape as JSON */
    int64_t n_bytes;
    const char *hash;      /* MD5 of the elements in row-major order */
    const char *sample;    /* the first elements, JSON */
    int64_t value;         /* blob with all elements; 0 if they were too many */
    int64_t before, after; /* blobs: the state it drew from, the generator's state afterwards */
    const struct aot_drawn
        *first; /* what `of` gave in the forward of this call; NULL if not known */
} aot_drawn;

typedef struct aot_generator_use {
    const char *device;
    int64_t before, after; /* blobs; equal if nothing was drawn */
} aot_generator_use;

typedef struct aot_call_memory {
    const char *device, *source; /* "allocator": a device's own figures; "counted": live storages */
    int64_t before_bytes, after_bytes, peak_bytes;
} aot_call_memory;

typedef struct aot_saved_tensor {
    const char *name, *dtype, *shape, *stride; /* shape, stride as JSON; stride NULL: a number */
    int64_t bytes;
} aot_saved_tensor;

/* A tensor that a call was given, as its graph names it. */
typedef struct aot_given {
    const char *name, *dtype, *shape; /* shape as JSON */
    int64_t n_bytes;
    const char *hash; /* MD5 of the elements in row-major order */
    int64_t value;    /* blob with all elements; 0 if they were too many */
} aot_given;

typedef struct aot_run_call {
    int64_t id, graph;
    const char *side;        /* forward, backward, inference */
    uint64_t n;              /* counts the calls of a side from 0 */
    int64_t forward;         /* id of the call whose saved values it read; 0 unknown */
    double started, seconds; /* started: since the recording began */
    bool observed;           /* node by node: random nodes and counted memory are known */
    int64_t n_saved, saved_bytes;
    const char *error; /* NULL */
    AOT_VEC(aot_drawn) random;
    AOT_VEC(aot_generator_use) generators;
    AOT_VEC(aot_call_memory) memory;
    AOT_VEC(aot_saved_tensor) saved;
    AOT_VEC(aot_given) inputs; /* empty where the program did not record them */
} aot_run_call;

typedef struct aot_compiled {
    const char *side, *compiler;
    uint64_t n_calls; /* those that were not recorded, too */
} aot_compiled;

typedef struct aot_calls {
    aot_arena *arena;
    AOT_VEC(aot_run_call) calls; /* in the order in which they ended */
    AOT_VEC(aot_compiled) compiled;
    uint64_t n_redrawn,
        n_differ; /* outputs drawn again in a backward; of these, with other numbers */
} aot_calls;

/* Whether the session can hold calls (older formats cannot). */
bool aot_session_has_calls(const aot_session *s);
/* Whether it is a recorder's own file, with a log instead of units. */
bool aot_session_is_recording(const aot_session *s);
/* The log of such a file as TORCH_TRACE writes it. */
AOT_NODISCARD aot_status aot_recording_log(aot_sb *out, aot_session *s, aot_err *err);

/* The number of the compiled graph that became this unit; -1 if nothing recorded it. */
int64_t aot_unit_graph(const aot_unit *u);
/* The same of a unit of a session, by its session id. */
int64_t aot_query_graph(aot_queries *q, int64_t unit);
/* Calls of a unit: of session id `unit` (-1: none) or, in a recorder's own file, of that graph.
 * Free it with aot_calls_free. Errors: E_SESSION. */
AOT_NODISCARD aot_status aot_calls_read(aot_calls **out, aot_queries *q, int64_t unit,
                                        int64_t graph, aot_err *err);
void aot_calls_free(aot_calls *c); /* NULL is fine */
/* A state or value by its blob id, copied into a. Errors: E_SESSION (there is none). */
AOT_NODISCARD aot_status aot_calls_blob(const void **data, size_t *n, aot_queries *q, int64_t blob,
                                        aot_arena *a, aot_err *err);

#endif
