/* The network that is left of an aot_flow when everything forced is gone; private to flow*.c. */
#ifndef AOT_PARTITION_FLOW_NET_H
#define AOT_PARTITION_FLOW_NET_H

#include <stdint.h>

/* Capacities are clamped to this; a flow that reaches it is refused, so none is ever used up. */
#define AOT_FLOW_CLAMP (INT64_MAX / 2)

/* One direction of an edge. The arcs of a vertex: first the edges that leave it, then (from mid)
 * the reversed ones that enter it, whose residual is the flow. */
typedef struct aot_flow_arc {
    uint32_t head, rev; /* rev: index of the opposite arc */
    int64_t res;        /* what may still be pushed */
} aot_flow_arc;

/* Source and sink are no vertices: each vertex has one arc from the one and one to the other. */
typedef struct aot_flow_net {
    uint32_t n, n_arcs;
    uint32_t *first, *mid; /* first has n + 1 entries */
    aot_flow_arc *arcs;
    int64_t *from_s, *to_t;     /* capacities */
    int64_t *s_flow, *t_flow;   /* result, zero before */
} aot_flow_net;

/* Maximum flow of the vertices lo .. hi-1, which have no arcs to others: residuals, s_flow and
 * t_flow. scratch: see aot_flow_scratch_new. Returns the value. */
struct aot_flow_scratch;
struct aot_flow_scratch *aot_flow_scratch_new(uint32_t n);
void aot_flow_scratch_free(struct aot_flow_scratch *w);
int64_t aot_flow_solve(aot_flow_net *net, uint32_t lo, uint32_t hi, struct aot_flow_scratch *w);

#endif
