/* Minimum cut: what is forced is decided first, the rest is solved piece by piece.
 * A vertex that the source reaches over infinite edges is on the source side, one that reaches the
 * sink over them is on the sink side, and one that lies on no path between these two sets carries
 * no flow. The others, numbered by connected piece, make a smaller network (flow_net.h) whose
 * pieces are solved one after the other (flow_push.c): on joint graphs a million vertices become
 * many small pieces. The flow is then carried back to the edges, and one search from the sink over
 * the residual network gives the canonical side of every vertex, forced or not.
 * Mirrors: networkx.minimum_cut; partitioners.py:_find_infinite_capacity_path. */
#include "partition/flow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "partition/flow_net.h"

typedef struct edge {
    uint32_t u, v;
    int64_t capacity;
} edge;

struct aot_flow {
    uint32_t n, n_edges, cap_edges;
    edge *edges;
    int64_t *flow; /* one for each edge after a cut, else NULL */
};

/* Edges by tail and by head, in insertion order. */
typedef struct adjacency {
    uint32_t *first, *edges; /* first has n + 1 entries */
} adjacency;

enum { SOURCE = 1, SINK = 2, FROM_SOURCE = 4, TO_SINK = 8 }; /* marks of a vertex */
#define INSIDE (FROM_SOURCE | TO_SINK)
#define NONE UINT32_MAX

/* One call of aot_flow_min_cut. */
typedef struct cut {
    aot_flow *f;
    uint32_t s, t;
    adjacency out, in;
    uint8_t *mark;
    uint32_t *queue; /* n entries */
    uint32_t *order; /* forced vertices, nearest first: n_source of the one kind, then the other */
    uint32_t *via;   /* edge that forced a vertex, NONE for s and t; vertices in order only */
    uint32_t n_source, n_forced;
    uint32_t *id;    /* number in net, NONE if not in it */
    uint32_t *used;  /* edges that can carry flow from forced to forced */
    uint32_t *arc;   /* of each of them: its index in net if it lies inside */
    uint32_t n_used;
    uint32_t *piece; /* first vertex of each piece in net, and the end */
    uint32_t n_pieces;
    aot_flow_net net;
    int64_t value;
} cut;

aot_flow *aot_flow_new(uint32_t n, uint32_t hint_edges)
{
    aot_flow *f = aot_xcalloc(1, sizeof *f);
    f->n = n;
    f->cap_edges = hint_edges != 0 ? hint_edges : 16;
    f->edges = aot_xcalloc(f->cap_edges, sizeof *f->edges);
    return f;
}

void aot_flow_free(aot_flow *f)
{
    if (f != NULL) {
        free(f->edges);
        free(f->flow);
        free(f);
    }
}

/* The flow of an older network means nothing any more. */
static void forget_flow(aot_flow *f)
{
    free(f->flow);
    f->flow = NULL;
}

uint32_t aot_flow_edge(aot_flow *f, uint32_t u, uint32_t v, int64_t capacity)
{
    assert(u < f->n && v < f->n && capacity >= 0);
    if (f->n_edges == f->cap_edges) {
        assert(f->cap_edges < UINT32_MAX / 2);
        f->cap_edges *= 2;
        f->edges = aot_xrealloc(f->edges, f->cap_edges * sizeof *f->edges);
    }
    forget_flow(f);
    f->edges[f->n_edges] = (edge){u, v, capacity};
    return f->n_edges++;
}

uint32_t aot_flow_n_edges(const aot_flow *f)
{
    return f->n_edges;
}

void aot_flow_set_capacity(aot_flow *f, uint32_t e, int64_t capacity)
{
    assert(e < f->n_edges && capacity >= 0);
    f->edges[e].capacity = capacity;
    forget_flow(f);
}

int64_t aot_flow_on(const aot_flow *f, uint32_t e)
{
    return f->flow != NULL ? f->flow[e] : 0;
}

/* Can carry flow at all. */
static bool is_usable(const edge *e)
{
    return e->capacity > 0 && e->u != e->v;
}

static void adjacency_make(adjacency *a, const aot_flow *f, bool by_head)
{
    a->first = aot_xcalloc((size_t)f->n + 2, sizeof *a->first);
    a->edges = aot_xmalloc(((size_t)f->n_edges + 1) * sizeof *a->edges);
    uint32_t *at = a->first + 1; /* shifted: at[v] ends as the start of v + 1 */
    for (uint32_t i = 0; i < f->n_edges; i++) {
        const edge *e = &f->edges[i];
        at[(by_head ? e->v : e->u) + 1] += is_usable(e);
    }
    for (uint32_t v = 1; v <= f->n; v++) {
        at[v] += at[v - 1];
    }
    for (uint32_t i = 0; i < f->n_edges; i++) {
        const edge *e = &f->edges[i];
        if (is_usable(e)) {
            a->edges[at[by_head ? e->v : e->u]++] = i;
        }
    }
}

/* Marks what s reaches over infinite edges, or, if back, what reaches t; nearest first, stopping
 * when s has reached t. */
static void mark_forced(cut *c, bool back)
{
    const adjacency *a = back ? &c->in : &c->out;
    uint32_t at = c->n_forced, start = back ? c->t : c->s;
    uint8_t mark = back ? SINK : SOURCE;
    c->mark[start] = mark;
    c->via[start] = NONE;
    c->order[c->n_forced++] = start;
    for (; at < c->n_forced && (back || c->mark[c->t] == 0); at++) {
        uint32_t u = c->order[at];
        for (uint32_t k = a->first[u]; k < a->first[u + 1]; k++) {
            const edge *e = &c->f->edges[a->edges[k]];
            uint32_t v = back ? e->u : e->v;
            if (e->capacity == AOT_FLOW_INF && c->mark[v] == 0) {
                c->mark[v] = mark;
                c->via[v] = a->edges[k];
                c->order[c->n_forced++] = v;
            }
        }
    }
}

/* Marks with `with` what n forced vertices reach through unforced ones of mark `old`, against the
 * edges if back. Last in, first out: what lies near in the graph lies near in memory. */
static void mark_reached(cut *c, const uint32_t *forced, uint32_t n, uint8_t old, uint8_t with,
                         bool back)
{
    const adjacency *a = back ? &c->in : &c->out;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_stack = 1;
        c->queue[0] = forced[i];
        while (n_stack != 0) {
            uint32_t u = c->queue[--n_stack];
            for (uint32_t k = a->first[u]; k < a->first[u + 1]; k++) {
                const edge *e = &c->f->edges[a->edges[k]];
                uint32_t v = back ? e->u : e->v;
                if (c->mark[v] == old) {
                    c->mark[v] |= with;
                    c->queue[n_stack++] = v;
                }
            }
        }
    }
}

static bool is_inside(const cut *c, uint32_t v)
{
    return c->mark[v] == INSIDE;
}

static uint32_t root_of(uint32_t *parent, uint32_t v)
{
    while (parent[v] != v) {
        parent[v] = parent[parent[v]];
        v = parent[v];
    }
    return v;
}

/* Collects the edges that matter; parent becomes a forest whose trees are the connected pieces. */
static void find_used(cut *c, uint32_t *parent)
{
    c->used = aot_xmalloc(((size_t)c->f->n_edges + 1) * sizeof *c->used);
    for (uint32_t i = 0; i < c->f->n_edges; i++) {
        const edge *e = &c->f->edges[i];
        uint8_t from = c->mark[e->u], to = c->mark[e->v];
        if ((from != SOURCE && from != INSIDE) || (to != SINK && to != INSIDE) || !is_usable(e)) {
            continue;
        }
        c->used[c->n_used++] = i;
        if (from == to) {
            uint32_t a = root_of(parent, e->u), b = root_of(parent, e->v);
            parent[a > b ? a : b] = a > b ? b : a; /* a root is the least of its piece */
        }
    }
}

/* Numbers the vertices inside so that each connected piece is a range, in their old order. */
static void number_pieces(cut *c)
{
    uint32_t n = c->f->n, *parent = c->queue;
    for (uint32_t v = 0; v < n; v++) {
        parent[v] = v;
    }
    find_used(c, parent);
    /* Sizes, then starts: the root of a piece is met before its other vertices. */
    uint32_t *start = aot_xcalloc((size_t)n + 1, sizeof *start);
    for (uint32_t v = 0; v < n; v++) {
        if (is_inside(c, v)) {
            start[root_of(parent, v)]++;
        }
    }
    c->piece = aot_xmalloc(((size_t)n + 1) * sizeof *c->piece);
    for (uint32_t v = 0; v < n; v++) {
        c->id[v] = NONE;
        if (!is_inside(c, v)) {
            continue;
        }
        uint32_t root = root_of(parent, v);
        if (root == v) {
            uint32_t size = start[v];
            c->piece[c->n_pieces++] = start[v] = c->net.n;
            c->net.n += size;
        }
        c->id[v] = start[root]++;
    }
    c->piece[c->n_pieces] = c->net.n;
    free(start);
}

static int64_t add_clamped(int64_t a, int64_t b)
{
    return a < AOT_FLOW_CLAMP - b ? a + b : AOT_FLOW_CLAMP; /* both at most the clamp */
}

static int64_t clamp(int64_t capacity)
{
    return capacity < AOT_FLOW_CLAMP ? capacity : AOT_FLOW_CLAMP;
}

/* Places for the arcs of each vertex. */
static void count_arcs(cut *c)
{
    aot_flow_net *net = &c->net;
    net->first = aot_xcalloc((size_t)net->n + 2, sizeof *net->first);
    net->mid = aot_xcalloc((size_t)net->n + 1, sizeof *net->mid);
    for (uint32_t i = 0; i < c->n_used; i++) {
        const edge *e = &c->f->edges[c->used[i]];
        if (c->id[e->u] != NONE && c->id[e->v] != NONE) {
            net->first[c->id[e->u] + 1]++;
            net->first[c->id[e->v] + 1]++;
            net->mid[c->id[e->u]]++;
        }
    }
    for (uint32_t v = 0; v < net->n; v++) {
        net->first[v + 1] += net->first[v];
        net->mid[v] += net->first[v];
    }
    net->n_arcs = net->first[net->n];
}

/* The smaller network; edges from forced to forced vertices are filled at once. */
static void make_net(cut *c)
{
    aot_flow_net *net = &c->net;
    size_t n = (size_t)net->n + 1;
    count_arcs(c);
    net->arcs = aot_xmalloc(((size_t)net->n_arcs + 1) * sizeof *net->arcs);
    net->from_s = aot_xcalloc(n * 4, sizeof *net->from_s);
    net->to_t = net->from_s + n;
    net->s_flow = net->to_t + n;
    net->t_flow = net->s_flow + n;
    uint32_t *out = aot_xmalloc(n * 2 * sizeof *out), *in = out + n;
    memcpy(out, net->first, n * sizeof *out);
    memcpy(in, net->mid, n * sizeof *in);
    for (uint32_t i = 0; i < c->n_used; i++) {
        const edge *e = &c->f->edges[c->used[i]];
        uint32_t u = c->id[e->u], v = c->id[e->v];
        int64_t capacity = clamp(e->capacity);
        if (u != NONE && v != NONE) {
            c->arc[i] = out[u]++;
            net->arcs[c->arc[i]] = (aot_flow_arc){v, in[v], capacity};
            net->arcs[in[v]++] = (aot_flow_arc){u, c->arc[i], 0};
        } else if (v != NONE) {
            net->from_s[v] = add_clamped(net->from_s[v], capacity);
        } else if (u != NONE) {
            net->to_t[u] = add_clamped(net->to_t[u], capacity);
        } else {
            c->value = add_clamped(c->value, capacity);
        }
    }
    free(out);
}

static int64_t take(int64_t *left, int64_t capacity)
{
    int64_t part = *left < capacity ? *left : capacity;
    *left -= part;
    return part;
}

/* Leads the flow that forced vertices send or get through the infinite edges that forced them, from
 * the farthest to the nearest. through: flow of each forced vertex over its other edges. */
static void carry_forced(cut *c, int64_t *through)
{
    for (uint32_t i = c->n_forced; i-- > 0;) {
        uint32_t v = c->order[i], e = c->via[v];
        if (e != NONE) {
            c->f->flow[e] = through[v];
            through[i < c->n_source ? c->f->edges[e].u : c->f->edges[e].v] += through[v];
        }
    }
}

/* Gives every edge its share of the flow that was found. */
static void carry_back(cut *c)
{
    aot_flow_net *net = &c->net;
    int64_t *flow = c->f->flow, *through = aot_xcalloc(c->f->n, sizeof *through);
    for (uint32_t i = 0; i < c->n_used; i++) {
        const edge *e = &c->f->edges[c->used[i]];
        uint32_t u = c->id[e->u], v = c->id[e->v];
        int64_t part = e->capacity; /* from forced to forced */
        if (u != NONE && v != NONE) {
            part = net->arcs[net->arcs[c->arc[i]].rev].res;
        } else if (v != NONE) {
            part = take(&net->s_flow[v], part);
        } else if (u != NONE) {
            part = take(&net->t_flow[u], part);
        }
        flow[c->used[i]] = part;
        if (u == NONE) {
            through[e->u] += part;
        }
        if (v == NONE) {
            through[e->v] += part;
        }
    }
    carry_forced(c, through);
    free(through);
}

/* side[v] = 1 for what reaches t in the residual network. */
static void find_side(cut *c, uint8_t *side)
{
    const aot_flow *f = c->f;
    uint32_t n_stack = 1;
    memset(side, 0, f->n);
    c->queue[0] = c->t;
    side[c->t] = 1;
    while (n_stack != 0) {
        uint32_t w = c->queue[--n_stack];
        for (uint32_t k = c->in.first[w]; k < c->in.first[w + 1]; k++) {
            const edge *e = &f->edges[c->in.edges[k]];
            bool open = e->capacity == AOT_FLOW_INF || f->flow[c->in.edges[k]] < e->capacity;
            if (open && side[e->u] == 0) {
                side[e->u] = 1;
                c->queue[n_stack++] = e->u;
            }
        }
        if (!is_inside(c, w)) {
            continue; /* what it sends goes to vertices that are forced as well */
        }
        for (uint32_t k = c->out.first[w]; k < c->out.first[w + 1]; k++) {
            const edge *e = &f->edges[c->out.edges[k]];
            if (f->flow[c->out.edges[k]] > 0 && side[e->v] == 0) {
                side[e->v] = 1;
                c->queue[n_stack++] = e->v;
            }
        }
    }
}

/* The vertex before v on the way from s. */
static uint32_t before(const cut *c, uint32_t v)
{
    return c->via[v] == NONE ? NONE : c->f->edges[c->via[v]].u;
}

static aot_status fail_unbounded(const cut *c, uint32_t *path, uint32_t *n_path, aot_err *err)
{
    uint32_t n = 0;
    for (uint32_t v = c->t; v != NONE; v = before(c, v)) {
        n++;
    }
    uint32_t at = n;
    for (uint32_t v = c->t; v != NONE && path != NULL; v = before(c, v)) {
        path[--at] = v;
    }
    if (n_path != NULL) {
        *n_path = n;
    }
    return AOT_FAIL(err, AOT_E_UNBOUNDED, "source reaches sink over %u infinite edges", n - 1);
}

/* The pieces that are neither forced nor off every path. */
static void solve_inside(cut *c)
{
    mark_reached(c, c->order, c->n_source, 0, FROM_SOURCE, false);
    mark_reached(c, c->order + c->n_source, c->n_forced - c->n_source, FROM_SOURCE, TO_SINK, true);
    number_pieces(c);
    c->arc = aot_xmalloc(((size_t)c->n_used + 1) * sizeof *c->arc);
    make_net(c);
    struct aot_flow_scratch *scratch = aot_flow_scratch_new(c->net.n);
    for (uint32_t i = 0; i < c->n_pieces; i++) {
        int64_t value = aot_flow_solve(&c->net, c->piece[i], c->piece[i + 1], scratch);
        c->value = add_clamped(c->value, value);
    }
    aot_flow_scratch_free(scratch);
}

static void cut_free(cut *c)
{
    void *const all[] = {c->out.first, c->out.edges, c->in.first, c->in.edges, c->mark,
                         c->queue,     c->order,     c->via,      c->id,       c->used,
                         c->arc,       c->piece,     c->net.first, c->net.mid,   c->net.arcs,
                         c->net.from_s};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]);
    }
}

aot_status aot_flow_min_cut(aot_flow *f, uint32_t s, uint32_t t, int64_t *value, uint8_t *side,
                            uint32_t *path, uint32_t *n_path, aot_err *err)
{
    assert(s < f->n && t < f->n);
    cut c = {.f = f, .s = s, .t = t};
    aot_status status = AOT_OK;
    forget_flow(f);
    c.mark = aot_xcalloc(f->n, 1);
    c.queue = aot_xmalloc(f->n * sizeof *c.queue);
    c.order = aot_xmalloc(f->n * sizeof *c.order);
    c.via = aot_xmalloc(f->n * sizeof *c.via);
    c.id = aot_xmalloc(f->n * sizeof *c.id);
    adjacency_make(&c.out, f, false);
    mark_forced(&c, false);
    if (c.mark[t] != 0) {
        status = fail_unbounded(&c, path, n_path, err);
        goto out;
    }
    c.n_source = c.n_forced;
    adjacency_make(&c.in, f, true);
    mark_forced(&c, true);
    solve_inside(&c);
    if (c.value == AOT_FLOW_CLAMP) {
        status = AOT_FAIL(err, AOT_E_RANGE, "the cut is worth more than %lld", (long long)c.value);
        goto out;
    }
    f->flow = aot_xcalloc((size_t)f->n_edges + 1, sizeof *f->flow);
    carry_back(&c);
    find_side(&c, side);
    *value = c.value;
out:
    cut_free(&c);
    return status;
}
