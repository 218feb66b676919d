/* Two heuristics that ban recomputation along fusible chains.
 *
 * Used far apart: a value has a user nearby and one far down, with an unfusible operator between
 * them in program order; the far user, if it could be fused, is saved.
 * Long chains: walking fusible users in program order from a start, the node that lies more than
 * 100 positions behind it is saved, and the walk ends.
 * Mirrors: partitioners.py:solve_min_cut, find_first_unfusible and the two loops behind it. */
#include <stdlib.h>

#include "partition/internal.h"

/* Min-heap of 64-bit keys; keys grow along a walk, so few are alive at once. */
typedef AOT_VEC(uint64_t) heap;

static void heap_push(heap *h, uint64_t key)
{
    aot_vec_push(h, key);
    for (size_t i = h->n - 1; i > 0 && h->d[(i - 1) / 2] > h->d[i]; i = (i - 1) / 2) {
        uint64_t t = h->d[i];
        h->d[i] = h->d[(i - 1) / 2];
        h->d[(i - 1) / 2] = t;
    }
}

static uint64_t heap_pop(heap *h)
{
    uint64_t top = h->d[0];
    h->d[0] = h->d[--h->n];
    for (size_t i = 0;;) {
        size_t k = 2 * i + 1;
        if (k + 1 < h->n && h->d[k + 1] < h->d[k]) {
            k++;
        }
        if (k >= h->n || h->d[i] <= h->d[k]) {
            return top;
        }
        uint64_t t = h->d[i];
        h->d[i] = h->d[k];
        h->d[k] = t;
        i = k;
    }
}

typedef struct walk {
    const part *p;
    heap h;
    uint32_t *stamp; /* two a node: reached unfusibly, fusibly */
    uint32_t now;
    aot_node_id *node_of_order;
} walk;

static void visit(walk *w, aot_node_id id, bool fusible)
{
    uint32_t *s = &w->stamp[2 * id + fusible];
    if (*s != w->now) {
        *s = w->now;
        heap_push(&w->h, (uint64_t)w->p->fw_order[id] * 2 + fusible);
    }
}

/* Program position of the first value reached through an unfusible edge; max_range if none is. */
static int32_t first_unfusible(walk *w, aot_node_id from, int32_t max_range)
{
    const aot_graph *g = w->p->g;
    w->h.n = 0;
    w->now++;
    for (uint32_t k = g->user_off[from]; k < g->user_off[from + 1]; k++) {
        if (w->p->required_fw[g->user[k]]) {
            visit(w, g->user[k], true);
        }
    }
    while (w->h.n != 0) {
        uint64_t key = heap_pop(&w->h);
        aot_node_id id = w->node_of_order[key / 2];
        if (key % 2 == 0) {
            return (int32_t)(key / 2);
        }
        for (uint32_t k = g->user_off[id]; k < g->user_off[id + 1]; k++) {
            aot_node_id u = g->user[k];
            if (w->p->required_fw[u] && w->p->fw_order[u] <= max_range) {
                visit(w, u, part_fusible(w->p, id, u));
            }
        }
    }
    return max_range;
}

static void walk_init(walk *w, const part *p)
{
    *w = (walk){.p = p};
    w->stamp = aot_xcalloc(p->g->nodes.n * 2 + 2, sizeof *w->stamp);
    w->node_of_order = aot_xcalloc(p->g->nodes.n + 1, sizeof *w->node_of_order);
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        if (p->fw_order[i] >= 0) {
            w->node_of_order[p->fw_order[i]] = i;
        }
    }
}

static void walk_free(walk *w)
{
    aot_vec_free(&w->h);
    free(w->stamp);
    free(w->node_of_order);
}

void part_ban_used_far_apart(const part *p, const uint8_t *banned, part_ban_fn ban, void *arg)
{
    const aot_graph *g = p->g;
    walk w;
    walk_init(&w, p);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        if (!p->required_fw[i]) {
            continue;
        }
        int32_t last = -1, n_users = 0;
        for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1]; k++) {
            if (p->required_fw[g->user[k]]) {
                n_users++;
                last = p->fw_order[g->user[k]] > last ? p->fw_order[g->user[k]] : last;
            }
        }
        if (n_users < 2) {
            continue; // nothing can lie behind the last of one
        }
        int32_t first = first_unfusible(&w, i, last);
        for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1]; k++) {
            aot_node_id u = g->user[k];
            if (p->required_fw[u] && p->fw_order[u] > first && !banned[u] && part_fusible(p, i, u)) {
                ban(arg, u, AOT_BAN_FAR_APART);
            }
        }
    }
    walk_free(&w);
}

void part_ban_long_chains(const part *p, const uint8_t *banned, part_ban_fn ban, void *arg)
{
    enum { LONG = 100 };
    const aot_graph *g = p->g;
    uint8_t *visited = aot_xcalloc(g->nodes.n + 1, 1);
    walk w;
    walk_init(&w, p);
    for (uint32_t start = 0; start < g->nodes.n; start++) {
        if (!p->required_fw[start]) {
            continue;
        }
        w.h.n = 0;
        heap_push(&w.h, (uint64_t)p->fw_order[start]);
        while (w.h.n != 0) {
            aot_node_id cur = w.node_of_order[heap_pop(&w.h)];
            if (visited[cur]) {
                continue;
            }
            visited[cur] = 1;
            if (p->fw_order[cur] > p->fw_order[start] + LONG && w.h.n == 0) {
                ban(arg, cur, AOT_BAN_LONG_CHAIN);
                break;
            }
            for (uint32_t k = g->user_off[cur]; k < g->user_off[cur + 1]; k++) {
                aot_node_id u = g->user[k];
                if (p->required_fw[u] && !banned[u] && part_fusible(p, cur, u)) {
                    heap_push(&w.h, (uint64_t)p->fw_order[u]);
                }
            }
        }
    }
    walk_free(&w);
    free(visited);
}
