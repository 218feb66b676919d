/* How much memory the value of a node takes, for values of every kind.
 *
 * PyTorch prints a type only for nodes that give one tensor or symbol. A node that gives several is
 * known through the getitems that take them, and through the rules of the operator table (cell
 * OUTS) for outputs that nobody takes; both count in the partitioner. */
#ifndef AOT_RULES_SIZES_H
#define AOT_RULES_SIZES_H

#include "ir/graph.h"

enum { AOT_OUT_MAX_NDIM = 16 };

/* One output of an operator. */
typedef struct aot_out_type {
    uint8_t val;   /* aot_val: AOT_VAL_NONE for None, numbers and what is not known */
    uint8_t dtype; /* aot_dtype, if a tensor */
    uint8_t ndim;
    bool more_dims;                  /* ndim is over the limit: sizes are cut, numel is not */
    int64_t sizes[AOT_OUT_MAX_NDIM]; /* at the hints; AOT_HINT_NONE if not known */
    int64_t numel;                   /* 4096 if a size is not known */
} aot_out_type;

/* Type of a value whose annotation is printed. */
aot_out_type aot_out_of_meta(const aot_ctx *c, aot_meta_id m);
int64_t aot_out_bytes(const aot_out_type *t);

/* The outputs of a node: fills out[0 .. max) as far as there are outputs and returns how many there
 * are (1 for a node with a printed type; 0 if nothing is known). out may be NULL with max 0.
 * Cost: users of the node if the graph is linked, else the nodes after it. */
unsigned aot_node_outputs(const aot_graph *g, aot_node_id id, aot_out_type *out, unsigned max);

/* Bytes of a node's value: a tensor's elements times item size at the hints (4096 elements where a
 * size has none), 1 for a symbol, the sum of the tensors in a tuple, list or dictionary; 0 for the
 * rest (modules, numbers, constants without a printed type). Mirrors
 * torch/_functorch/partitioners.py:_size_of. */
int64_t aot_node_bytes(const aot_graph *g, aot_node_id id);

#endif
