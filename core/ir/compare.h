/* Whether two graphs are the same but for the names of intermediate values. */
#ifndef AOT_IR_COMPARE_H
#define AOT_IR_COMPARE_H

#include "ir/graph.h"

typedef struct aot_graph_difference {
    /* the modules in which it is: the graphs or two of their submodules */
    const aot_graph *ga, *gb;
    aot_node_id a, b;         /* first nodes that differ; AOT_NO_NODE where one graph has ended */
} aot_graph_difference;

/* The same nodes in the same order: kind, target, arguments, type; placeholders and attributes by
 * name too. Contexts may differ. Graphs of submodules are compared in the order of their get_attrs.
 * at may be NULL. Cost: one walk. */
bool aot_graph_same_structure(const aot_graph *a, const aot_graph *b, aot_graph_difference *at);

#endif
