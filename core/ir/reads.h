/* What a graph's results depend on. PyTorch does not ask: its partitioner counts every user. */
#ifndef AOT_IR_READS_H
#define AOT_IR_READS_H

#include "ir/graph.h"

/* By node: 1 where what the graph returns, or a call that nobody takes anything of, depends on the
 * node's value. An argument that a call does not read (ops/unread_args.def) is not needed for it.
 * One pass; links the graph if it is not linked. The caller frees it. */
uint8_t *aot_needed_nodes(const aot_graph *g);
/* The same of result `i` of a call: by its getitems, or by what takes it whole. */
bool aot_result_is_needed(const aot_graph *g, const uint8_t *needed, aot_node_id id, unsigned i);

#endif
