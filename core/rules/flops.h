/* Floating point operations of one node, as PyTorch counts them. */
#ifndef AOT_RULES_FLOPS_H
#define AOT_RULES_FLOPS_H

#include "ir/graph.h"

/* Multiplications and additions of matrix products, convolutions and attention; 0 for everything
 * else. Sizes at the hints, 4096 where one is missing. As a double, which is what PyTorch's solvers
 * turn it into. Mirrors torch/utils/flop_counter.py:flop_registry. */
double aot_node_flops(const aot_graph *g, aot_node_id id);

#endif
