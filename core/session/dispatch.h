/* The calls of a unit's forward as they are dispatched, before functionalization and
 * decompositions: what a selective checkpoint's policy is asked about. */
#ifndef AOT_SESSION_DISPATCH_H
#define AOT_SESSION_DISPATCH_H

#include "import/unit.h"
#include "ir/graph.h"
#include "pipeline/config.h"

typedef struct aot_dispatch {
    const aot_graph *aten; /* stage aten */
    aot_node_id *of;       /* of each node of joint: its call in aten; AOT_NO_NODE */
    bool has_checkpoints;  /* the Dynamo graph has checkpointed regions */
} aot_dispatch;

/* Traces the unit's Dynamo graph; a node of joint (recorded or derived) is known by name and
 * target. All belongs to c (aot_unit_new_ctx). Errors: E_PIPELINE (no Dynamo graph), those of
 * the trace. */
AOT_NODISCARD aot_status aot_dispatch_find(aot_dispatch *out, aot_ctx *c, const aot_unit *u,
                                           const aot_graph *joint, const aot_config *config,
                                           aot_err *err);

#endif
