/* Two heuristics that ban recomputation along fusible chains.
 *
 * Used far apart: a value has a user nearby and one far down, with an unfusible operator between
 * them in program order; the far user, if it could be fused, is saved.
 * Long chains: walking fusible users in program order from a start, the node that lies more than
 * 100 positions behind it is saved, and the walk ends.
 * Mirrors: partitioners.py:solve_min_cut, find_first_unfusible and the two loops behind it. */
#include <stdlib.h>
#include <string.h>

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
    const part_static *st;
    heap h;
    uint32_t *stamp; /* two a node: reached unfusibly, fusibly */
    uint32_t now;
} walk;

static void visit(walk *w, aot_node_id id, bool fusible)
{
    uint32_t *s = &w->stamp[2 * id + fusible];
    if (*s != w->now) {
        *s = w->now;
        heap_push(&w->h, (uint64_t)w->p->fw_order[id] * 2 + fusible);
    }
}

static bool fuses(const part_static *st, uint32_t edge)
{
    return st->fusible[edge] != 0;
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
        aot_node_id id = w->st->node_of_order[key / 2];
        if (key % 2 == 0) {
            return (int32_t)(key / 2);
        }
        for (uint32_t k = g->user_off[id]; k < g->user_off[id + 1]; k++) {
            aot_node_id u = g->user[k];
            if (w->p->required_fw[u] && w->p->fw_order[u] <= max_range) {
                visit(w, u, fuses(w->st, k));
            }
        }
    }
    return max_range;
}

void part_find_far(const part *p, part_static *st, aot_arena *a)
{
    const aot_graph *g = p->g;
    walk w = {.p = p, .st = st, .stamp = aot_xcalloc(p->g->nodes.n * 2 + 2, sizeof *w.stamp)};
    part_ids far = {0};
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
            if (p->required_fw[u] && p->fw_order[u] > first && fuses(st, k)) {
                aot_vec_push(&far, u);
            }
        }
    }
    st->n_far = (uint32_t)far.n;
    st->far = AOT_NEW_ARRAY(a, aot_node_id, far.n + 1);
    if (far.n != 0) {
        memcpy(st->far, far.d, far.n * sizeof *far.d);
    }
    aot_vec_free(&far);
    aot_vec_free(&w.h);
    free(w.stamp);
}

void part_ban_long_chains(const part *p, const uint8_t *banned, part_ban_fn ban, void *arg)
{
    enum { LONG = 100 };
    const aot_graph *g = p->g;
    const part_static *st = p->st;
    uint8_t *visited = aot_xcalloc(g->nodes.n + 1, 1);
    heap h = {0};
    for (uint32_t start = 0; start < g->nodes.n; start++) {
        if (!p->required_fw[start] || visited[start]) {
            continue; // a walk that starts at a visited node ends there
        }
        h.n = 0;
        heap_push(&h, (uint64_t)p->fw_order[start]);
        while (h.n != 0) {
            aot_node_id cur = st->node_of_order[heap_pop(&h)];
            if (visited[cur]) {
                continue;
            }
            visited[cur] = 1;
            if (p->fw_order[cur] > p->fw_order[start] + LONG && h.n == 0) {
                ban(arg, cur, AOT_BAN_LONG_CHAIN);
                break;
            }
            for (uint32_t k = g->user_off[cur]; k < g->user_off[cur + 1]; k++) {
                aot_node_id u = g->user[k];
                if (p->required_fw[u] && !banned[u] && fuses(st, k)) {
                    heap_push(&h, (uint64_t)p->fw_order[u]);
                }
            }
        }
    }
    aot_vec_free(&h);
    free(visited);
}
