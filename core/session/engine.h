/* A backward as Compiled Autograd recorded it: the engine's node calls as one graph, in which the
 * backwards of AOTAutograd's units stand where the engine ran them.
 *
 * PyTorch names a value of unit K's backward aotK_NAME (aotK_2_NAME where it runs a third time),
 * and says of others in their comment which node call they belong to. K counts what AOTAutograd
 * compiled in the process; no record says which unit that was, so it is found by comparing the
 * graphs.
 * Mirrors: torch/_dynamo/compiled_autograd.py:AutogradCompilerInstance (the writer). */
#ifndef AOT_SESSION_ENGINE_H
#define AOT_SESSION_ENGINE_H

#include "session/model.h"

typedef struct aot_engine_call {
    /* MulBackward0, CompiledFunctionBackward, torch::autograd::AccumulateGrad */
    const char *name;
    int64_t aot_id, run; /* of a unit's backward: K, and how often it ran before; else -1 */
    int64_t unit;        /* whose backward it is; -1: none, or not found */
    bool is_certain;     /* false: other units have the same backward; the order decided */
    uint32_t n_nodes;    /* values in the engine's graph */
    /* operators of the unit's backward; of these, found here as they are */
    uint32_t n_backward, n_same;
} aot_engine_call;

/* Consecutive values of one node call. */
typedef struct aot_engine_part {
    int64_t call;          /* index; -1: the inputs are taken apart */
    aot_node_id first, last;
    const char *gradient_of; /* AccumulateGrad: the parameter, "l.0.weight"; NULL: not known */
} aot_engine_part;

typedef struct aot_engine {
    aot_ctx *ctx;
    const aot_graph *graph;
    AOT_VEC(aot_engine_call) calls; /* in the engine's order */
    AOT_VEC(aot_engine_part) parts; /* in the graph's order: accumulation was moved up */
} aot_engine;

/* Reads the unit's engine graph. Errors: E_PIPELINE (it has none), E_PARSE. */
AOT_NODISCARD aot_status aot_engine_read(aot_engine **out, aot_model *m, size_t unit, aot_err *err);
void aot_engine_free(aot_engine *e); /* NULL is fine */
/* The name that a value has in its unit's backward: "mm" of "aot1_2_mm"; NULL if it is of none. */
const char *aot_engine_own_name(const char *name, int64_t *aot_id, int64_t *run);

#endif
