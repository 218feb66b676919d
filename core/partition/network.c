/* The minimum cut of a joint graph's flow network, straight on the graph: two vertices a node (in,
 * out), edges in -> out of the node's weight, out -> in of each user, infinite ones from the source
 * to what is banned and to the sink from what the backward makes or needs.
 *
 * What the source reaches over infinite edges is on its side, what reaches the sink over them on
 * the sink's; only what lies on a way between the two needs a flow, and falls into small pieces,
 * which flow_push.c solves. The sink side is then all that reaches the sink in the residual
 * network, so the cut is the canonical one. flow.c does the same for any network, at four times the
 * cost, and finds the path of an infinite cut.
 * Mirrors: networkx.minimum_cut on the network of partitioners.py:solve_min_cut. */
#include <stdlib.h>
#include <string.h>

#include "partition/flow_net.h"
#include "partition/internal.h"

enum { SOURCE = 1, SINK = 2, FROM_SOURCE = 4, TO_SINK = 8, SIDE = 16 };
#define INSIDE (FROM_SOURCE | TO_SINK)
#define NONE UINT32_MAX

/* Vertex 2i is the in of node i, 2i + 1 its out. */
typedef struct cut {
    const part_network *x;
    const aot_graph *g;
    uint32_t n; /* vertices */
    uint8_t *mark;
    uint32_t *stack;
    uint32_t *id; /* number among those inside; only they have one */
    uint32_t *inside; /* vertex by number, pieces one after the other */
    uint32_t *piece;  /* first number of each piece, and the end */
    uint32_t n_inside, n_pieces;
    aot_flow_net net;
    int64_t value;
} cut;

/* Edges out of a node exist at all. */
static bool leads(const part_network *x, uint32_t node)
{
    return x->weight[node] >= 0;
}

uint8_t *part_network_sinks(const part_network *x)
{
    const aot_graph *g = x->g;
    uint32_t n_nodes = (uint32_t)g->nodes.n,
             *stack = aot_xmalloc((2 * (size_t)n_nodes + 2) * sizeof *stack);
    uint8_t *mark = aot_xcalloc(2 * (size_t)n_nodes + 2, 1);
    for (uint32_t i = n_nodes; i-- > 0;) {
        uint32_t n = 0, start = x->sink[i] == AOT_SINK_OUT ? 2 * i + 1 : 2 * i;
        if (x->sink[i] != AOT_SINK_NONE && (mark[start] & SINK) == 0) {
            mark[start] |= SINK;
            stack[n++] = start;
        }
        while (n != 0) {
            uint32_t v = stack[--n], node = v / 2;
            if (v % 2 != 0 && x->weight[node] == AOT_WEIGHT_INF && (mark[v - 1] & SINK) == 0) {
                mark[v - 1] |= SINK;
                stack[n++] = v - 1;
            }
            for (uint32_t k = g->in_off[node]; v % 2 == 0 && k < g->in_off[node + 1]; k++) {
                uint32_t u = 2 * g->in[k] + 1;
                if (leads(x, g->in[k]) && (mark[u] & SINK) == 0) {
                    mark[u] |= SINK;
                    stack[n++] = u;
                }
            }
        }
    }
    free(stack);
    return mark;
}

/* Marks what the source reaches over infinite edges. False: the sink is among it. */
static bool mark_source(cut *c)
{
    const aot_graph *g = c->g;
    for (uint32_t i = 0; i < c->n / 2; i++) {
        uint32_t n = 0;
        if (c->x->banned[i] && (c->mark[2 * i] & SOURCE) == 0) {
            c->mark[2 * i] |= SOURCE;
            c->stack[n++] = 2 * i;
        }
        while (n != 0) {
            uint32_t v = c->stack[--n], node = v / 2;
            if ((c->mark[v] & SINK) != 0) {
                return false;
            }
            if (v % 2 == 0 && c->x->weight[node] == AOT_WEIGHT_INF &&
                (c->mark[v + 1] & SOURCE) == 0) {
                c->mark[v + 1] |= SOURCE;
                c->stack[n++] = v + 1;
            }
            for (uint32_t k = g->user_off[node]; v % 2 != 0 && k < g->user_off[node + 1]; k++) {
                uint32_t u = 2 * g->user[k];
                if ((c->mark[u] & SOURCE) == 0) {
                    c->mark[u] |= SOURCE;
                    c->stack[n++] = u;
                }
            }
        }
    }
    return true;
}

/* From the forced vertices through others that lead on. */
static void mark_from_source(cut *c)
{
    const aot_graph *g = c->g;
    for (uint32_t i = 0; i < c->n / 2; i++) {
        uint32_t n = 0;
        if ((c->mark[2 * i] & SOURCE) != 0 && c->x->weight[i] > 0 && c->mark[2 * i + 1] == 0) {
            c->mark[2 * i + 1] = FROM_SOURCE;
            c->stack[n++] = 2 * i + 1;
        }
        while (n != 0) {
            uint32_t v = c->stack[--n], node = v / 2;
            if (v % 2 == 0 && c->x->weight[node] > 0 && c->mark[v + 1] == 0) {
                c->mark[v + 1] = FROM_SOURCE;
                c->stack[n++] = v + 1;
            }
            for (uint32_t k = g->user_off[node]; v % 2 != 0 && k < g->user_off[node + 1]; k++) {
                uint32_t u = 2 * g->user[k];
                if (c->mark[u] == 0) {
                    c->mark[u] = FROM_SOURCE;
                    c->stack[n++] = u;
                }
            }
        }
    }
}

/* Back from the forced vertices through what the source reaches. */
static void mark_to_sink(cut *c)
{
    const aot_graph *g = c->g;
    for (uint32_t i = c->n / 2; i-- > 0;) {
        uint32_t n = 0;
        if ((c->mark[2 * i + 1] & SINK) != 0 && c->x->weight[i] > 0 &&
            c->mark[2 * i] == FROM_SOURCE) {
            c->mark[2 * i] = INSIDE;
            c->stack[n++] = 2 * i;
        }
        while (n != 0) {
            uint32_t v = c->stack[--n], node = v / 2;
            if (v % 2 != 0 && c->x->weight[node] > 0 && c->mark[v - 1] == FROM_SOURCE) {
                c->mark[v - 1] = INSIDE;
                c->stack[n++] = v - 1;
            }
            for (uint32_t k = g->in_off[node]; v % 2 == 0 && k < g->in_off[node + 1]; k++) {
                uint32_t u = 2 * g->in[k] + 1;
                if (leads(c->x, g->in[k]) && c->mark[u] == FROM_SOURCE) {
                    c->mark[u] = INSIDE;
                    c->stack[n++] = u;
                }
            }
        }
    }
}

/* Neighbours inside: of an in its out, else the ins of the users; only edges between two inside. */
typedef void edge_fn(cut *c, uint32_t from, uint32_t to, int64_t capacity);

static inline __attribute__((always_inline)) void each_inside_edge(cut *c, uint32_t v, edge_fn *fn)
{
    const aot_graph *g = c->g;
    uint32_t node = v / 2;
    if (v % 2 == 0) {
        if (c->mark[v + 1] == INSIDE && c->x->weight[node] > 0) {
            fn(c, v, v + 1, c->x->weight[node]);
        }
        return;
    }
    for (uint32_t k = g->user_off[node]; k < g->user_off[node + 1]; k++) {
        if (c->mark[2 * g->user[k]] == INSIDE) {
            fn(c, v, 2 * g->user[k], AOT_FLOW_CLAMP);
        }
    }
}

static uint32_t root_of(uint32_t *parent, uint32_t v)
{
    while (parent[v] != v) {
        parent[v] = parent[parent[v]];
        v = parent[v];
    }
    return v;
}

static void join(cut *c, uint32_t from, uint32_t to, int64_t capacity)
{
    uint32_t a = root_of(c->stack, from), b = root_of(c->stack, to);
    (void)capacity;
    c->stack[a > b ? a : b] = a > b ? b : a; /* a root is the least of its piece */
}

/* Numbers the vertices inside so that each connected piece is a range, in their old order. */
static void number_pieces(cut *c)
{
    uint32_t *parent = c->stack, *start = c->id;
    for (uint32_t v = 0; v < c->n; v++) {
        if (c->mark[v] == INSIDE) {
            parent[v] = v;
            start[v] = 0;
            c->n_inside++;
        }
    }
    for (uint32_t v = 0; v < c->n && c->n_inside != 0; v++) {
        if (c->mark[v] == INSIDE) {
            each_inside_edge(c, v, join);
        }
    }
    c->inside = aot_xmalloc(((size_t)c->n_inside + 1) * sizeof *c->inside);
    c->piece = aot_xmalloc(((size_t)c->n_inside + 1) * sizeof *c->piece);
    for (uint32_t v = 0; v < c->n && c->n_inside != 0; v++) {
        if (c->mark[v] == INSIDE) {
            start[root_of(parent, v)]++;
        }
    }
    uint32_t next = 0;
    for (uint32_t v = 0; v < c->n && c->n_inside != 0; v++) {
        if (c->mark[v] != INSIDE) {
            continue;
        }
        uint32_t root = root_of(parent, v);
        if (root == v) { // the first of its piece
            uint32_t size = start[v];
            c->piece[c->n_pieces++] = start[v] = next;
            next += size;
        }
        c->inside[start[root]++] = v;
    }
    c->piece[c->n_pieces] = next;
    for (uint32_t k = 0; k < c->n_inside; k++) {
        c->id[c->inside[k]] = k;
    }
}

static void count_arc(cut *c, uint32_t from, uint32_t to, int64_t capacity)
{
    (void)capacity;
    c->net.first[c->id[from] + 1]++;
    c->net.first[c->id[to] + 1]++;
    c->net.mid[c->id[from]]++;
}

static void add_arc(cut *c, uint32_t from, uint32_t to, int64_t capacity)
{
    uint32_t u = c->id[from], v = c->id[to], n = c->n_inside + 1;
    uint32_t *out = c->stack, *in = c->stack + n;
    uint32_t a = out[u]++, b = in[v]++;
    c->net.arcs[a] = (aot_flow_arc){v, b, capacity < AOT_FLOW_CLAMP ? capacity : AOT_FLOW_CLAMP};
    c->net.arcs[b] = (aot_flow_arc){u, a, 0};
}

static void make_net(cut *c)
{
    aot_flow_net *net = &c->net;
    size_t n = (size_t)c->n_inside + 1;
    net->n = c->n_inside;
    net->first = aot_xcalloc(n + 1, sizeof *net->first);
    net->mid = aot_xcalloc(n, sizeof *net->mid);
    for (uint32_t k = 0; k < c->n_inside; k++) {
        each_inside_edge(c, c->inside[k], count_arc);
    }
    for (uint32_t k = 0; k < c->n_inside; k++) {
        net->first[k + 1] += net->first[k];
        net->mid[k] += net->first[k];
    }
    net->n_arcs = net->first[net->n];
    net->arcs = aot_xmalloc(((size_t)net->n_arcs + 1) * sizeof *net->arcs);
    net->from_s = aot_xcalloc(n * 4, sizeof *net->from_s);
    net->to_t = net->from_s + n;
    net->s_flow = net->to_t + n;
    net->t_flow = net->s_flow + n;
    free(c->stack); // 2 (n_inside + 1) places may be more than it had
    c->stack = aot_xmalloc((2 * n + c->n + 1) * sizeof *c->stack);
    memcpy(c->stack, net->first, n * sizeof *c->stack);
    memcpy(c->stack + n, net->mid, n * sizeof *c->stack);
    for (uint32_t k = 0; k < c->n_inside; k++) {
        uint32_t v = c->inside[k], node = v / 2;
        int64_t w = c->x->weight[node];
        each_inside_edge(c, v, add_arc);
        if (v % 2 == 0 && (c->mark[v + 1] & SINK) != 0) {
            net->to_t[k] = w;
        } else if (v % 2 != 0 && (c->mark[v - 1] & SOURCE) != 0) {
            net->from_s[k] = w;
        }
    }
}

static int64_t add_clamped(int64_t a, int64_t b)
{
    return a < AOT_FLOW_CLAMP - b ? a + b : AOT_FLOW_CLAMP;
}

/* Weights are at most 4e18, below the clamp. */
static void solve_pieces(cut *c)
{
    for (uint32_t i = 0; i < c->n / 2; i++) {
        if ((c->mark[2 * i] & SOURCE) != 0 && (c->mark[2 * i + 1] & SINK) != 0 &&
            c->x->weight[i] > 0) {
            c->value = add_clamped(c->value, c->x->weight[i]);
        }
    }
    if (c->n_inside == 0) {
        return;
    }
    make_net(c);
    struct aot_flow_scratch *scratch = aot_flow_scratch_new(c->net.n);
    for (uint32_t i = 0; i < c->n_pieces; i++) {
        c->value =
            add_clamped(c->value, aot_flow_solve(&c->net, c->piece[i], c->piece[i + 1], scratch));
    }
    aot_flow_scratch_free(scratch);
}

static void take_side(cut *c, uint32_t *n, uint32_t v)
{
    if ((c->mark[v] & SIDE) == 0) {
        c->mark[v] |= SIDE;
        c->stack[(*n)++] = v;
    }
}

static bool is_inside(const cut *c, uint32_t v)
{
    return (c->mark[v] & ~SIDE) == INSIDE;
}

/* What still reaches v inside the network: over arcs with capacity left, flow sent back
 * included. */
static void side_inside(cut *c, uint32_t *n, uint32_t v)
{
    const aot_flow_net *net = &c->net;
    uint32_t k = c->id[v];
    for (uint32_t a = net->first[k]; a < net->first[k + 1]; a++) {
        if (net->arcs[net->arcs[a].rev].res > 0) {
            take_side(c, n, c->inside[net->arcs[a].head]);
        }
    }
}

/* All that reaches the sink. What is neither forced nor inside carries no flow. */
static void find_side(cut *c)
{
    const aot_graph *g = c->g;
    uint32_t n = 0;
    for (uint32_t v = 0; v < c->n; v++) {
        if ((c->mark[v] & SINK) != 0) {
            take_side(c, &n, v);
        }
        while (n != 0) {
            uint32_t w = c->stack[--n], node = w / 2;
            if (is_inside(c, w)) {
                side_inside(c, &n, w);
            }
            if (w % 2 != 0 && c->x->weight[node] > 0 && (c->mark[w - 1] & (SOURCE | SIDE)) == 0) {
                bool open =
                    !is_inside(c, w - 1) ||
                    ((c->mark[w] & SINK) != 0 && c->net.t_flow[c->id[w - 1]] < c->x->weight[node]);
                if (open) { // inside to inside was looked at above
                    take_side(c, &n, w - 1);
                }
            }
            for (uint32_t k = g->in_off[node]; w % 2 == 0 && k < g->in_off[node + 1]; k++) {
                if (leads(c->x, g->in[k])) {
                    take_side(c, &n, 2 * g->in[k] + 1); // infinite: always open
                }
            }
        }
    }
}

aot_status part_network_cut(const part_network *x, int64_t *value, part_ids *list, aot_err *err)
{
    const aot_graph *g = x->g;
    cut c = {.x = x, .g = g, .n = 2 * (uint32_t)g->nodes.n};
    aot_status status = AOT_OK;
    if (x->sinks != NULL) {
        c.mark = aot_xmalloc((size_t)c.n + 2);
        memcpy(c.mark, x->sinks, c.n);
    } else {
        c.mark = part_network_sinks(x);
    }
    c.stack = aot_xmalloc(((size_t)c.n + 2) * sizeof *c.stack);
    c.id = aot_xmalloc(((size_t)c.n + 2) * sizeof *c.id);
    if (!mark_source(&c)) {
        status = AOT_E_UNBOUNDED;
    }
    if (status == AOT_OK) {
        mark_from_source(&c);
        mark_to_sink(&c);
        number_pieces(&c);
        solve_pieces(&c);
        if (c.value == AOT_FLOW_CLAMP) {
            status =
                AOT_FAIL(err, AOT_E_RANGE, "the cut is worth more than %lld", (long long)c.value);
        }
    }
    if (status == AOT_OK) {
        find_side(&c);
        for (uint32_t i = 0; i < c.n / 2; i++) {
            if (x->weight[i] >= 0 && (c.mark[2 * i] & SIDE) == 0 &&
                (c.mark[2 * i + 1] & SIDE) != 0) {
                aot_vec_push(list, i);
            }
        }
        *value = c.value;
    }
    void *const all[] = {c.mark,      c.stack,   c.id,       c.inside,    c.piece,
                         c.net.first, c.net.mid, c.net.arcs, c.net.from_s};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]);
    }
    return status;
}
