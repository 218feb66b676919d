/* Live bytes of a forward and a backward as PyTorch's interpreter runs them, without running them.
 *
 * Every living storage counts once. Values die at their last use; a value that nobody reads lives to
 * the end. Forward inputs are held by the caller; primals and saved values stay until the backward
 * returns (the forward's frame still holds what it returned), tangents are fresh and freed at their
 * last use; user outputs are dropped before the backward. A view, or a saved alias of a primal,
 * costs nothing. Symbols take their hints.
 * Mirrors: torch/fx/interpreter.py (boxed_run) on fake tensors. Differs: PyTorch's fake tensors answer a
 * repeated call of copy or slice_scatter from a cache and then give it less memory than the first one;
 * here every call takes what a first call, and the real operator, takes. */
#ifndef AOT_EXEC_MEMSIM_H
#define AOT_EXEC_MEMSIM_H

#include "ir/graph.h"

typedef struct aot_live {
    aot_node_id node;
    int64_t bytes; /* right after the node made its value, before its inputs are dropped */
} aot_live;

typedef struct aot_memory_side {
    int64_t inputs, peak, end; /* before the first node; highest; when the module has returned */
    aot_node_id peak_node;     /* first node at the peak; AOT_NO_NODE if there is none */
    AOT_VEC(aot_live) live;    /* one a node that computes, in order */
} aot_memory_side;

typedef struct aot_memory {
    aot_memory_side forward, backward;
} aot_memory;

/* Both graphs of one partition; n_forward_outputs: user outputs of the forward. Links the graphs.
 * Free with aot_memory_free. Cost: linear. */
void aot_memory_simulate(aot_memory *out, aot_graph *forward, aot_graph *backward, int n_forward_outputs);
void aot_memory_free(aot_memory *m);

#endif
