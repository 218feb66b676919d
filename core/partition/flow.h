/* Minimum cut on a plain network; knows nothing of graphs or operators. */
#ifndef AOT_PARTITION_FLOW_H
#define AOT_PARTITION_FLOW_H

#include <stdint.h>

#include "base/err.h"

#define AOT_FLOW_INF INT64_MAX /* infinite capacity */

typedef struct aot_flow aot_flow;

/* n vertices 0 .. n-1. hint_edges may be 0. */
aot_flow *aot_flow_new(uint32_t n, uint32_t hint_edges);
void aot_flow_free(aot_flow *f);
/* Adds u -> v; parallel edges are allowed. Capacity 0 .. INT64_MAX (= infinite). Returns its
 * index. */
uint32_t aot_flow_edge(aot_flow *f, uint32_t u, uint32_t v, int64_t capacity);
uint32_t aot_flow_n_edges(const aot_flow *f);

/* Finds a maximum flow from s to t and the canonical minimum cut: side[v] = 1 exactly for the
 * vertices from which t can be reached in the residual network (the smallest sink side), 0 for the
 * others. side has n entries.
 * Mirrors networkx.minimum_cut as PyTorch uses it (same cut whatever the algorithm).
 * Errors: E_UNBOUNDED if s reaches t over infinite edges only; path (may be NULL) then receives
 * the vertices of one such shortest path, found in edge insertion order, n_path their number
 * (path has room for n entries).
 * E_RANGE if the cut is worth 2^62 or more. Outputs are untouched on failure, path apart.
 * Units: capacities are added exactly, also where their sum passes 2^63.
 * Cost: near linear on long thin networks, whose vertices are numbered along the graph; O(V^2 E) at
 * worst. No recursion; about 100 bytes a vertex and 40 an edge. */
AOT_NODISCARD aot_status aot_flow_min_cut(aot_flow *f, uint32_t s, uint32_t t, int64_t *value,
                                          uint8_t *side, uint32_t *path, uint32_t *n_path,
                                          aot_err *err);
/* Changes the capacity of an edge (for re-solving); the flow is recomputed at the next call. */
void aot_flow_set_capacity(aot_flow *f, uint32_t edge, int64_t capacity);
/* Flow over an edge after min_cut. */
int64_t aot_flow_on(const aot_flow *f, uint32_t edge);

#endif
