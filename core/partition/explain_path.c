/* Where an explained value lies: a shortest chain of the network from the source through the value
 * to the sink, the cut edges next to it, and the way up to a line of the user's source.
 *
 * The network is that of mincut.c: vertex 2i is the in of node i, 2i + 1 its out. A chain from
 * source to sink always holds an edge of the cut, which is what holds the value on its side. */
#include "partition/explain_path.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* A search in breadth; before: the vertex that led to one, NONE: not seen. */
typedef struct search {
    const aot_partition *p;
    uint32_t *before, *queue;
    uint32_t n, at;
} search;

static search search_new(const aot_partition *p, uint32_t start)
{
    size_t n = 2 * (size_t)p->n_nodes + 2;
    search s = {.p = p,
                .before = aot_xmalloc(n * sizeof *s.before),
                .queue = aot_xmalloc(n * sizeof *s.queue)};
    memset(s.before, 0xff, n * sizeof *s.before);
    s.before[start] = start;
    s.queue[s.n++] = start;
    return s;
}

static void search_free(search *s)
{
    free(s->before);
    free(s->queue);
}

static void reach(search *s, uint32_t v, uint32_t from)
{
    if (s->before[v] == NONE) {
        s->before[v] = from;
        s->queue[s->n++] = v;
    }
}

/* Edges that enter v, backwards. past_cut: over cut edges too. */
static void reach_up(search *s, uint32_t v, bool past_cut)
{
    const aot_graph *g = s->p->cut;
    uint32_t node = v / 2;
    if (v % 2 != 0) {
        if (s->p->nodes[node].weight >= 0 && (past_cut || !s->p->cut_edge[node])) {
            reach(s, v - 1, v);
        }
        return;
    }
    for (uint32_t k = g->in_off[node]; k < g->in_off[node + 1]; k++) {
        if (s->p->nodes[g->in[k]].weight >= 0) {
            reach(s, 2 * g->in[k] + 1, v);
        }
    }
}

static void reach_down(search *s, uint32_t v, bool past_cut)
{
    const aot_graph *g = s->p->cut;
    uint32_t node = v / 2;
    if (s->p->nodes[node].weight < 0) {
        return; // no edge leaves it
    }
    if (v % 2 == 0) {
        if (past_cut || !s->p->cut_edge[node]) {
            reach(s, v + 1, v);
        }
        return;
    }
    for (uint32_t k = g->user_off[node]; k < g->user_off[node + 1]; k++) {
        reach(s, 2 * g->user[k], v);
    }
}

/* ---- the chain ------------------------------------------------------------------------------- */

static bool at_source(const aot_partition *p, uint32_t v)
{
    return v % 2 == 0 && p->cut_ban[v / 2] != AOT_BAN_NONE;
}

static bool at_sink(const aot_partition *p, uint32_t v)
{
    return p->nodes[v / 2].sink == (v % 2 != 0 ? AOT_SINK_OUT : AOT_SINK_IN);
}

static const char *own_edge_words(const aot_partition *p, aot_node_id id)
{
    const aot_meta *m = aot_meta_get(p->cut->ctx, aot_node_at(p->cut, id)->meta);
    if (p->nodes[id].weight != AOT_WEIGHT_INF) {
        return p->cut_edge[id] ? "saving it" : "what saving it would cost";
    }
    return m->val == AOT_VAL_TENSOR ? p->config.recompute_views
                                          ? "a view, which recompute_views=True never saves"
                                          : "a weight that was set"
           : m->val == AOT_VAL_SYM  ? "a symbolic number that is no integer cannot be saved"
                                    : "no tensor, cannot be saved";
}

static void add_edge(aot_explain *x, uint32_t u, uint32_t v)
{
    const aot_partition *p = x->p;
    aot_net_edge e = {.from = u / 2,
                      .to = v / 2,
                      .capacity = AOT_WEIGHT_INF,
                      .why = "it is made from that value"};
    if (e.from == e.to) {
        e.capacity = p->nodes[e.from].weight;
        e.cut = p->cut_edge[e.from] != 0;
        e.why = own_edge_words(p, e.from);
    }
    aot_vec_push(&x->path, e);
}

static void add_source(aot_explain *x, uint32_t v)
{
    const char *ban = aot_ban_text((aot_ban)x->p->cut_ban[v / 2]);
    aot_vec_push(&x->path, ((aot_net_edge){AOT_NO_NODE, v / 2, AOT_WEIGHT_INF, false, ban}));
}

static void add_sink(aot_explain *x, uint32_t v)
{
    const char *why = v % 2 != 0                               ? "the backward needs its value"
                      : x->p->nodes[v / 2].tangent_closure ? "it is computed in the backward"
                                                           : "its tag has it recomputed";
    aot_vec_push(&x->path, ((aot_net_edge){v / 2, AOT_NO_NODE, AOT_WEIGHT_INF, false, why}));
}

/* From the source down to v; the search began at v, so it is walked as it stands. */
static void chain_from_source(aot_explain *x, uint32_t v)
{
    search s = search_new(x->p, v);
    for (; s.at < s.n && !x->has_source; s.at++) {
        uint32_t w = s.queue[s.at];
        if (at_source(x->p, w)) {
            x->has_source = true;
            add_source(x, w);
            for (; w != v; w = s.before[w]) {
                add_edge(x, w, s.before[w]);
            }
        } else {
            reach_up(&s, w, true);
        }
    }
    search_free(&s);
}

static void chain_to_sink(aot_explain *x, uint32_t v)
{
    search s = search_new(x->p, v);
    for (; s.at < s.n && !x->has_sink; s.at++) {
        uint32_t w = s.queue[s.at];
        if (at_sink(x->p, w)) {
            size_t begin = x->path.n;
            x->has_sink = true;
            for (uint32_t u = w; u != v; u = s.before[u]) {
                add_edge(x, s.before[u], u);
            }
            for (size_t i = begin, j = x->path.n; i + 1 < j; i++) { // found from its end
                aot_net_edge e = x->path.d[i];
                x->path.d[i] = x->path.d[--j];
                x->path.d[j] = e;
            }
            add_sink(x, w);
        } else {
            reach_down(&s, w, true);
        }
    }
    search_free(&s);
}

/* ---- cut edges around it --------------------------------------------------------------------- */

/* Cut edges that v meets, above or below. True: it also meets the sink. */
static bool meet_cut(aot_explain *x, uint32_t start, bool up)
{
    bool sink = false;
    search s = search_new(x->p, start);
    for (; s.at < s.n; s.at++) {
        uint32_t v = s.queue[s.at];
        if (x->p->cut_edge[v / 2] && v % 2 == (up ? 1 : 0)) {
            aot_vec_push(&x->around, v / 2);
        }
        sink |= at_sink(x->p, v);
        if (up) {
            reach_up(&s, v, false);
        } else {
            reach_down(&s, v, false);
        }
    }
    search_free(&s);
    return sink;
}

/* Its own edge; else what is cut below it, or above it if the sink is below first. */
static void find_around(aot_explain *x)
{
    const aot_partition *p = x->p;
    if (p->cut_edge[x->id]) {
        aot_vec_push(&x->around, x->id);
    } else if (meet_cut(x, p->nodes[x->id].weight < 0 ? 2 * x->id : 2 * x->id + 1, false)) {
        x->around.n = 0;
        (void)meet_cut(x, 2 * x->id, true);
    }
}

void explain_find_path(aot_explain *x)
{
    const aot_partition *p = x->p;
    if (p->cut_ban == NULL || aot_node_at(p->cut, x->id)->kind == AOT_OUTPUT) {
        return;
    }
    chain_from_source(x, 2 * x->id);
    if (at_sink(p, 2 * x->id) || p->nodes[x->id].weight < 0) {
        chain_to_sink(x, 2 * x->id);
    } else { // through its own edge, so that the chain is through the value
        add_edge(x, 2 * x->id, 2 * x->id + 1);
        chain_to_sink(x, 2 * x->id + 1);
    }
    find_around(x);
}

/* ---- the user's line ------------------------------------------------------------------------- */

void explain_find_source(aot_explain *x)
{
    const aot_graph *g = x->p->cut;
    search s = search_new(x->p, x->id); // by node
    for (; s.at < s.n; s.at++) {
        uint32_t i = s.queue[s.at];
        if (g->srcs.d[aot_node_at(g, i)->src].file != 0) {
            for (; i != x->id; i = s.before[i]) {
                aot_vec_push(&x->source, i);
            }
            aot_vec_push(&x->source, i);
            break;
        }
        for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
            reach(&s, g->in[k], i);
        }
    }
    for (size_t i = 0, j = x->source.n; i + 1 < j; i++) { // the value first
        aot_node_id id = x->source.d[i];
        x->source.d[i] = x->source.d[--j];
        x->source.d[j] = id;
    }
    search_free(&s);
}
