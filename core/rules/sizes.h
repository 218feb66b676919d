/* Bytes of a node's value, tuples included.
 * Mirrors: partitioners.py:_size_of, and the meta functions of operators with several outputs. */
#ifndef AOT_RULES_SIZES_H
#define AOT_RULES_SIZES_H

#include "ir/graph.h"

/* Type of one output of an operator that returns a tuple. */
typedef struct aot_out_type {
    bool is_tensor;   /* false: None, a number or a symbol */
    aot_dtype dtype;
    int64_t numel;    /* at the hints; 4096 where one is missing */
} aot_out_type;

/* Fills up to max outputs of a tuple-valued node; returns how many the operator has, 0 if neither a
 * rule nor a getitem says anything. g must be linked. */
unsigned aot_node_outputs(const aot_graph *g, aot_node_id id, aot_out_type *out, unsigned max);
/* Tensor: elements x item size. Symbol: 1. Tuple: the sum of its tensors, outputs that nobody takes
 * included. get_attr of a module and what is not known: 0. g must be linked. */
int64_t aot_node_bytes(const aot_graph *g, aot_node_id id);

#endif
