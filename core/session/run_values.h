/* The values that a unit is run with, by the sources that Dynamo names its inputs by, and the whole
 * way from a recorded Dynamo graph to a run. */
#ifndef AOT_SESSION_RUN_VALUES_H
#define AOT_SESSION_RUN_VALUES_H

#include <jansson.h>

#include "base/str.h"
#include "exec/run_unit.h"
#include "import/unit.h"
#include "pipeline/config.h"

/* A unit made ready to be run: traced from its Dynamo graph, cut if it has a backward. */
typedef struct aot_runnable {
    aot_ctx *ctx;
    aot_capture capture;
    const aot_graph *graph;   /* joint or forward-only */
    const aot_graph *joint;    /* after the joint-graph passes of the backend: what was cut */
    aot_partition *cut;       /* NULL: no backward */
    /* by node of the aten graph: no gradient goes through it (detach, no_grad) */
    bool *stops;
    /* by node of joint: the call of the aten graph that it is; NULL: passes changed the graph */
    aot_node_id *of_aten;
    bool debug_assert;        /* DebugAssertWrapper is there */
    aot_node_id *placeholders; /* of graph, in order */
    int n_placeholders;
    const char **sources;     /* of each outer input: L['x']; its name where nothing says */
    const aot_capture_input **known; /* of each outer input */
    const aot_graph *dynamo;  /* that it was traced from */
    aot_node_id *nodes;       /* of each outer input: its node there; AOT_NO_NODE */
} aot_runnable;

/* Errors: of parsing, tracing and cutting. Free with aot_runnable_free, also after an error. */
AOT_NODISCARD aot_status aot_runnable_make(aot_runnable *out, const aot_unit *u,
                                           const aot_record *dynamo, const aot_config *config,
                                           aot_err *err);
/* The same where what is known of the inputs is another: `change` may write inputs, one for each
 * node of the Dynamo graph. */
typedef void aot_change_inputs(void *arg, aot_capture_input *inputs);
AOT_NODISCARD aot_status aot_runnable_make_as(aot_runnable *out, const aot_unit *u,
                                              const aot_record *dynamo, const aot_config *config,
                                              aot_change_inputs *change, void *arg, aot_err *err);
void aot_runnable_free(aot_runnable *r);

/* The outer inputs from {"inputs": {SOURCE: value}, "tangents": [value or null]}. What shares
 * memory in the unit shares it here; sizes that are symbols come from the tensors given. The caller
 * drops and frees both lists. notes: a line is added for each value that is not as the unit was
 * compiled for. Errors: E_PARSE and E_SHAPE naming file, key, value and remedy. */
AOT_NODISCARD aot_status aot_run_values(aot_xval **outer, aot_xval **tangents, unsigned *n_tangents,
                                        aot_sb *notes, const aot_runnable *r, const aot_unit *u,
                                        const json_t *values, const char *file, aot_err *err);
/* {"outputs": [...], "grads": {SOURCE: ...}, "mutated": {SOURCE: ...}} */
json_t *aot_run_json(const aot_runnable *r, const aot_run_out *out, const aot_xval *outer);

#endif
