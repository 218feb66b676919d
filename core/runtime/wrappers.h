/* The runtime stage: the wrappers of a call in order, and what each does to this unit in plain
 * words.
 * Mirrors torch/_functorch/_aot_autograd/runtime_wrappers.py and the order of graph_compile.py. */
#ifndef AOT_RUNTIME_WRAPPERS_H
#define AOT_RUNTIME_WRAPPERS_H

#include "base/vec.h"
#include "capture/capture.h"
#include "runtime/aotconfig.h"

typedef enum aot_wrapper {
#define WRAPPER(id, name, paths, function, sentence) AOT_WRAPPER_##id,
#include "runtime/wrappers.def"
#undef WRAPPER
    AOT_N_WRAPPERS
} aot_wrapper;

typedef struct aot_runtime aot_runtime;
typedef struct aot_wrapper_use aot_wrapper_use;

typedef struct aot_wrapper_info {
    const char *name, *sentence;
    unsigned paths; /* bits 1 << aot_capture_path */
    void (*describe)(const aot_runtime *r, aot_wrapper_use *u);
} aot_wrapper_info;
const aot_wrapper_info *aot_wrapper_get(aot_wrapper w);

/* One wrapper around this unit. */
struct aot_wrapper_use {
    const aot_wrapper_info *info;
    const char **does;
    unsigned n_does; /* 0: nothing */
    const char *idle;           /* why it does nothing */
    aot_arena *arena;
};

/* A unit as it is called. */
struct aot_runtime {
    const aot_calling *calling;
    aot_config_of of;
    bool functionalize_rng; /* functionalize_rng_ops was on */
    aot_wrapper_use uses[AOT_N_WRAPPERS];
    unsigned n_uses;
    aot_arena *arena;
};

/* Fills r->uses from the other fields; texts in r->arena. */
void aot_runtime_describe(aot_runtime *r);
/* The stage as text: path, wrappers, metadata, AOTConfig. */
void aot_runtime_print(aot_sb *out, const aot_runtime *r);
/* {"path", "reason", "wrappers": [{"name", "sentence", "works", "does": [...]}], "metadata": {...},
 * "aot_config": {name: text}} */
json_t *aot_runtime_json(const aot_runtime *r);
#endif
