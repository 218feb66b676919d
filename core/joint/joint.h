/* Inductor's joint-graph passes: what runs between the joint graph and the cut when Inductor
 * compiles. Each pass is a row of joint_passes.def, a pattern a row of graph_patterns.def or
 * attention.def.
 * Mirrors: torch/_inductor/fx_passes/joint_graph.py:joint_graph_passes. */
#ifndef AOT_JOINT_JOINT_H
#define AOT_JOINT_JOINT_H

#include "ir/event.h"
#include "ir/graph.h"
#include "pipeline/config.h"

typedef enum aot_joint_what {
    AOT_JOINT_MADE,     /* the node is new */
    AOT_JOINT_REMOVED,  /* the node is gone */
    AOT_JOINT_REPLACED, /* uses of the node became uses of other */
    AOT_JOINT_NOTE      /* nothing changed; text says what was left as it is and why */
} aot_joint_what;
const char *aot_joint_what_name(aot_joint_what w); /* "made", "removed", "replaced", "note" */

typedef struct aot_joint_rewrite {
    const char *pass; /* row of joint_passes.def */
    const char *rule; /* row of a pattern table, or the pass again */
    aot_joint_what what;
    aot_str node, other; /* names; other: REPLACED */
    const char *text;    /* NOTE; else NULL */
} aot_joint_rewrite;

/* In the order in which things happened. */
typedef AOT_VEC(aot_joint_rewrite) aot_joint_log;

typedef struct aot_joint_in {
    const aot_graph *joint;
    const int *primal_storage; /* as in aot_partition_in; NULL: all apart */
    int n_primal_storage;
} aot_joint_in;

/* Runs the passes on a joint or an inference graph. The result belongs to joint->ctx; it is another
 * graph even if nothing changed. log may be NULL; free it with aot_vec_free. */
AOT_NODISCARD aot_status aot_joint_run(aot_graph **out, const aot_joint_in *in,
                                       const aot_config *config, aot_joint_log *log, aot_err *err);

/* The joint graph with symbolic floats as tensors where operators take them, which PyTorch cuts and
 * hands to Inductor; the graph itself if it has none. Belongs to joint->ctx. */
const aot_graph *aot_joint_tensorify(const aot_graph *joint);

/* The passes in order, for views and help. */
size_t aot_joint_pass_count(void);
const char *aot_joint_pass_name(size_t i);
const char *aot_joint_pass_sentence(size_t i);

#endif
