/* The pass runner. Passes are rows of passes.def; the runner checks that what a pass needs is
 * there, times it and tells the observer, so that pass authors write no logging. */
#ifndef AOT_PIPELINE_PASS_H
#define AOT_PIPELINE_PASS_H

#include "ir/event.h"
#include "pipeline/config.h"
#include "pipeline/stage.h"

struct aot_partition_in; /* partition/partition.h */
struct aot_capture_in;   /* capture/capture.h */
struct aot_calling;

/* What passes work on. Graphs belong to their aot_ctx. */
typedef struct aot_pass_ctx {
    const aot_graph *graphs[AOT_N_STAGES]; /* NULL where there is none; passes add to it */
    const aot_config *config;
    const struct aot_capture_in *capture_in; /* NULL: there is no Dynamo graph */
    const struct aot_calling *calling;       /* made by the pass capture */
    const struct aot_partition_in *partition_in; /* its joint graph is that of the stage */
    struct aot_partition *partition; /* made by the pass partition */
    const aot_observer *observer;    /* NULL: nobody listens */
} aot_pass_ctx;

typedef aot_status aot_pass_fn(aot_pass_ctx *p, aot_err *err);

typedef struct aot_pass_info {
    const char *name;
    aot_pass_fn *run;
    unsigned needs, makes; /* bits 1 << aot_stage */
    /* runs only for this backend, before the pass that needs the same; NULL: any */
    const char *backend;
    const char *sentence;
} aot_pass_info;

#define PASS(name, fn, needs, makes, backend, sentence) aot_pass_fn fn;
#include "pipeline/passes.def"
#undef PASS

size_t aot_pass_count(void);
const aot_pass_info *aot_pass_get(size_t i);

/* Runs the passes whose stages are not there yet, as far as `goal`'s stage needs.
 * Errors: E_PIPELINE (no pass makes what is needed from what is there), or the pass's own. */
AOT_NODISCARD aot_status aot_pass_run_to(aot_pass_ctx *p, aot_stage goal, aot_err *err);
/* For passes: keeps the graph as that of a stage. The observer hears of it when the pass has
 * ended. */
void aot_pass_set_graph(aot_pass_ctx *p, aot_stage s, const aot_graph *g);

#endif
