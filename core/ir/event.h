/* The one hook of the pipeline: what runs tells an observer, and knows nothing of who listens.
 * The session's recorder is one; tests use a counting one; NULL is free. Members may be NULL. */
#ifndef AOT_IR_EVENT_H
#define AOT_IR_EVENT_H

#include "ir/graph.h"

struct aot_partition; /* partition/partition.h */

typedef struct aot_pass_report {
    uint32_t n_nodes_in, n_nodes_out;
    double seconds;
    const aot_err *err; /* NULL if the pass came to its end */
} aot_pass_report;

typedef struct aot_observer {
    void *arg;
    void (*on_pass_begin)(void *arg, const char *pass);
    void (*on_pass_end)(void *arg, const char *pass, const aot_pass_report *report);
    /* A pass made the graph of a stage (an aot_stage of pipeline/stage.h). */
    void (*on_graph)(void *arg, unsigned stage, const aot_graph *g);
    void (*on_partition)(void *arg, const struct aot_partition *p);
    /* kind as in aot_import_note; node may be AOT_NO_NODE. */
    void (*on_note)(void *arg, const char *kind, const aot_graph *g, aot_node_id node,
                    const char *text);
    /* A rule made `replacement` (a node of to) for `node` (of g); either may be AOT_NO_NODE: a node
     * that is gone, a node that stands for none. stage is to's; rule names what did it. */
    void (*on_edit)(void *arg, const char *rule, unsigned stage, const aot_graph *g,
                    aot_node_id node, const aot_graph *to, aot_node_id replacement);
} aot_observer;

#endif
