/* The order of nodes in the finished modules.
 * Mirrors: partitioners.py:reordering_to_mimic_autograd_engine, compile_utils.py:raise_getitems. */
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"

/* The same graph with its nodes in another order; nodes that order leaves out are dropped. */
static void rebuild(part_side *s, const aot_node_id *order, uint32_t n)
{
    const aot_graph *g = s->g;
    aot_graph *r = aot_graph_new(g->ctx);
    aot_node_id *map = aot_xcalloc(g->nodes.n, sizeof *map);
    r->class_name = g->class_name;
    r->layout = g->layout;
    r->srcs.n = 0;
    aot_vec_grow(&r->srcs, g->srcs.n);
    memcpy(r->srcs.d, g->srcs.d, g->srcs.n * sizeof *g->srcs.d);
    r->srcs.n = g->srcs.n;
    for (size_t i = 0; i < g->out_descs.n; i++) {
        aot_vec_push(&r->out_descs, g->out_descs.d[i]);
    }
    aot_vec_grow(&r->nodes, n);
    aot_vec_grow(&r->args, g->args.n);
    uint32_t *index = aot_xcalloc(g->subgraphs.n + 1, sizeof *index);
    for (uint32_t i = 0; i < n; i++) {
        map[order[i]] = aot_graph_copy_node(r, g, order[i], map);
        aot_node *x = aot_node_at(r, map[order[i]]);
        if (x->kind == AOT_GET_ATTR && x->subgraph != 0) {
            if (index[x->subgraph] == 0) {
                aot_vec_push(&r->subgraphs, g->subgraphs.d[x->subgraph - 1]);
                index[x->subgraph] = (uint32_t)r->subgraphs.n;
            }
            x->subgraph = index[x->subgraph];
        }
    }
    free(index);
    free(map);
    aot_graph_link(r);
    s->g = r;
}

static int compare_ids(const void *a, const void *b)
{
    aot_node_id x = *(const aot_node_id *)a, y = *(const aot_node_id *)b;
    return x < y ? -1 : x > y;
}

typedef struct reorder {
    const aot_graph *g;
    uint8_t *placed;
    AOT_VEC(aot_node_id) order, todo, batch;
} reorder;

/* Places a node and, before it, what it needs and is not placed yet, in the old order. */
static void place(reorder *r, aot_node_id id)
{
    const aot_graph *g = r->g;
    r->todo.n = r->batch.n = 0;
    aot_vec_push(&r->todo, id);
    while (r->todo.n != 0) {
        aot_node_id cur = r->todo.d[--r->todo.n];
        if (r->placed[cur]) {
            continue;
        }
        r->placed[cur] = 1;
        aot_vec_push(&r->batch, cur);
        for (uint32_t k = g->in_off[cur]; k < g->in_off[cur + 1]; k++) {
            aot_vec_push(&r->todo, g->in[k]);
        }
    }
    if (r->batch.n > 1) {
        qsort(r->batch.d, r->batch.n, sizeof *r->batch.d, compare_ids);
    }
    for (size_t i = 0; i < r->batch.n; i++) {
        aot_vec_push(&r->order, r->batch.d[i]);
    }
}

void part_reorder_backward(part *p, part_side *bw)
{
    const aot_graph *g = bw->g;
    uint32_t n = (uint32_t)g->nodes.n, first = n;
    (void)p;
    for (uint32_t i = 0; i < n; i++) {
        if (part_is_tangent(g, aot_node_at(g, i)) && aot_n_users(g, i) != 0 && g->user[g->user_off[i]] < first) {
            first = g->user[g->user_off[i]];
        }
    }
    if (first == n) {
        return; // the gradients do not depend on the tangents
    }
    reorder r = {.g = g, .placed = aot_xcalloc(n, 1)};
    for (uint32_t i = 0; i < n; i++) {
        if (aot_node_at(g, i)->kind == AOT_PLACEHOLDER) {
            r.placed[i] = 1;
            aot_vec_push(&r.order, i);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i >= first || part_target_is(g, aot_node_at(g, i), "torch.ops.aten.copy_.default")) {
            place(&r, i);
        }
    }
    rebuild(bw, r.order.d, (uint32_t)r.order.n);
    aot_vec_free(&r.order);
    aot_vec_free(&r.todo);
    aot_vec_free(&r.batch);
    free(r.placed);
}

/* Each getitem moves right behind its producer, last one first, as FX does it on its linked list. */
void part_raise_getitems(part_side *s)
{
    const aot_graph *g = s->g;
    uint32_t n = (uint32_t)g->nodes.n;
    uint32_t *next = aot_xcalloc(n + 1, sizeof *next), *prev = aot_xcalloc(n + 1, sizeof *prev);
    aot_node_id *order = aot_xcalloc(n, sizeof *order);
    // node i is list element i + 1; 0 is the root
    for (uint32_t i = 0; i <= n; i++) {
        next[i] = i == n ? 0 : i + 1;
        prev[i] = i == 0 ? n : i - 1;
    }
    for (uint32_t i = n; i-- > 0;) {
        if (!aot_is_getitem(g, aot_node_at(g, i)) || g->in_off[i] == g->in_off[i + 1]) {
            continue;
        }
        uint32_t e = i + 1, after = g->in[g->in_off[i]] + 1;
        if (next[after] == e) {
            continue;
        }
        next[prev[e]] = next[e];
        prev[next[e]] = prev[e];
        next[e] = next[after];
        prev[e] = after;
        prev[next[after]] = e;
        next[after] = e;
    }
    uint32_t k = 0;
    bool moved = false;
    for (uint32_t e = next[0]; e != 0; e = next[e]) {
        moved |= e - 1 != k;
        order[k++] = e - 1;
    }
    if (moved) {
        rebuild(s, order, n);
    }
    free(next);
    free(prev);
    free(order);
}

static bool no_collective(const aot_graph *g, const aot_node *n, void *arg)
{
    (void)arg;
    return !part_is_collective(g, n);
}

void part_drop_dead_collectives(part_side *s)
{
    aot_node_id *map = aot_xcalloc(s->g->nodes.n, sizeof *map);
    s->g = part_eliminate_dead(s->g, no_collective, NULL, map);
    free(map);
}
