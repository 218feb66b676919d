/* The order of nodes in the finished modules.
 * Mirrors: partitioners.py:reordering_to_mimic_autograd_engine, compile_utils.py:raise_getitems. */
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

typedef struct reorder {
    part_plan *x;
    const aot_graph *g;
    uint32_t *place_of; /* old position of each node, from 1 */
    uint8_t *placed;
    part_ids order, todo, batch;
} reorder;

/* Places a node and, before it, what it needs and is not placed yet, in the old order. */
static void place(reorder *r, aot_node_id id)
{
    const aot_graph *g = r->g;
    r->batch.n = 0;
    aot_vec_push(&r->todo, id);
    while (r->todo.n != 0) {
        aot_node_id cur = r->todo.d[--r->todo.n];
        if (r->placed[cur]) {
            continue;
        }
        r->placed[cur] = 1;
        aot_vec_push(&r->batch, r->place_of[cur]);
        for (uint32_t k = g->in_off[cur]; k < g->in_off[cur + 1]; k++) {
            if (!r->placed[g->in[k]]) {
                aot_vec_push(&r->todo, g->in[k]);
            }
        }
    }
    if (r->batch.n > 1) {
        qsort(r->batch.d, r->batch.n, sizeof *r->batch.d, compare_u32);
    }
    for (size_t i = 0; i < r->batch.n; i++) {
        aot_vec_push(&r->order, r->x->order.d[r->batch.d[i] - 1]);
    }
}

/* Old position of the first reader of a tangent; the output counts as the last one. */
static uint32_t first_reader(const reorder *r)
{
    const part_plan *x = r->x;
    uint32_t none = (uint32_t)x->order.n + 1, first = none;
    for (uint32_t i = 0; i < x->n_inputs; i++) {
        aot_node_id t = x->order.d[i];
        if (!part_is_tangent(r->g, aot_node_at(r->g, t))) {
            continue;
        }
        for (uint32_t k = r->g->user_off[t]; k < r->g->user_off[t + 1]; k++) {
            uint32_t at = r->place_of[r->g->user[k]];
            first = at != 0 && at - 1 < first ? at - 1 : first;
        }
        for (size_t k = 0; k < x->outs.n && first == none; k++) {
            if (x->outs.d[k].kind == AOT_ARG_NODE && x->outs.d[k].u.node == t) {
                first = none - 1;
            }
        }
    }
    return first;
}

void part_reorder_backward(part_plan *bw)
{
    const aot_graph *g = bw->g;
    uint32_t n = (uint32_t)bw->order.n;
    reorder r = {.x = bw, .g = g, .place_of = aot_xcalloc(g->nodes.n + 1, sizeof *r.place_of),
                 .placed = aot_xcalloc(g->nodes.n + 1, 1)};
    for (uint32_t i = 0; i < n; i++) {
        r.place_of[bw->order.d[i]] = i + 1;
    }
    uint32_t first = first_reader(&r);
    if (first <= n) { // else the gradients do not depend on the tangents
        aot_vec_grow(&r.order, n);
        for (uint32_t i = 0; i < n; i++) {
            aot_node_id id = bw->order.d[i];
            if (bw->state[id] == PART_INPUT) {
                r.placed[id] = 1;
                aot_vec_push(&r.order, id);
            }
        }
        for (uint32_t i = bw->n_inputs; i < n; i++) {
            if (i >= first ||
                part_target_is(g, aot_node_at(g, bw->order.d[i]), "torch.ops.aten.copy_.default")) {
                place(&r, bw->order.d[i]);
            }
        }
        // the output's own needs come last, in the old order
        for (size_t i = 0; i < bw->outs.n; i++) {
            if (bw->outs.d[i].kind == AOT_ARG_NODE && !r.placed[bw->outs.d[i].u.node]) {
                aot_vec_push(&r.todo, bw->outs.d[i].u.node);
            }
        }
        if (r.todo.n != 0) {
            aot_node_id last = r.todo.d[--r.todo.n];
            place(&r, last);
        }
        part_ids old = bw->order;
        bw->order = r.order;
        r.order = old;
        for (uint32_t i = bw->n_inputs; i < n; i++) {
            if (!r.placed[old.d[i]]) {
                bw->state[old.d[i]] = PART_ABSENT;
            }
        }
    }
    aot_vec_free(&r.order);
    aot_vec_free(&r.todo);
    aot_vec_free(&r.batch);
    free(r.place_of);
    free(r.placed);
}

/* Each getitem moves right behind its producer, last one first, as FX does it on its linked
 * list. */
void part_raise_getitems(part_plan *x)
{
    const aot_graph *g = x->g;
    uint32_t n = (uint32_t)x->order.n;
    // list element e is node order[e - 1]; 0 is the root
    uint32_t *next = aot_xmalloc((n + 1) * sizeof *next),
             *prev = aot_xmalloc((n + 1) * sizeof *prev);
    uint32_t *element = aot_xcalloc(g->nodes.n + 1, sizeof *element);
    bool moved = false;
    for (uint32_t e = 0; e <= n; e++) {
        next[e] = e == n ? 0 : e + 1;
        prev[e] = e == 0 ? n : e - 1;
        if (e != 0) {
            element[x->order.d[e - 1]] = e;
        }
    }
    for (uint32_t e = n; e > x->n_inputs; e--) {
        aot_node_id id = x->order.d[e - 1];
        if (!aot_is_getitem(g, aot_node_at(g, id)) || g->in_off[id] == g->in_off[id + 1]) {
            continue;
        }
        uint32_t after = element[g->in[g->in_off[id]]];
        if (after == 0 || next[after] == e) {
            continue;
        }
        moved = true;
        next[prev[e]] = next[e];
        prev[next[e]] = prev[e];
        next[e] = next[after];
        prev[e] = after;
        prev[next[after]] = e;
        next[after] = e;
    }
    if (moved) {
        part_ids order = {0};
        aot_vec_grow(&order, n);
        for (uint32_t e = next[0]; e != 0; e = next[e]) {
            order.d[order.n++] = x->order.d[e - 1];
        }
        aot_vec_free(&x->order);
        x->order = order;
    }
    free(next);
    free(prev);
    free(element);
}
