/* The default partitioner: what the forward trace made stays in the forward; everything that the
 * backward reads of it is saved.
 * Mirrors: partitioners.py:default_partition. */
#include <stdlib.h>

#include "partition/internal.h"

/* One past the last node that belongs to the forward. */
static uint32_t forward_end(const part *p)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(p->g, i);
        bool tagged = i < p->epilogue && !p->m.backward_made[i];
        if ((tagged && !part_is_tangent(p->g, n)) || part_is_primal(p->g, n) ||
            part_is_fwd_seed(p->g, n)) {
            end = i + 1;
        }
    }
    return end;
}

static bool is_multi_output(const part *p, uint32_t i)
{
    const aot_graph *g = p->g;
    for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1]; k++) {
        if (!aot_is_getitem(g, aot_node_at(g, g->user[k]))) {
            return false;
        }
    }
    return aot_n_users(g, i) != 0;
}

static bool is_impure(const part *p, uint32_t i)
{
    const aot_node *n = aot_node_at(p->g, i);
    return n->kind != AOT_PLACEHOLDER && n->kind != AOT_OUTPUT && part_is_impure(p->g, n, false) &&
           !part_target_is(p->g, n, "torch.ops._c10d_functional.wait_tensor.default");
}

/* Asserts and profiler marks may run twice; they are never saved. */
static bool is_skipped(const part *p, uint32_t i)
{
    const aot_node *n = aot_node_at(p->g, i);
    const char *t = aot_text(p->ctx, n->target);
    return (n->kind == AOT_GET_ATTR && n->subgraph != 0) ||
           (n->kind == AOT_CALL_FUNCTION &&
            (aot_starts_with(t, "torch.ops.aten._assert_scalar") ||
             aot_starts_with(t, "torch.ops.profiler._record_function_")));
}

typedef struct chooser {
    part *p;
    uint32_t end;
    uint8_t *in_saved, *in_sym;
    part_ids *saved, *sym;
} chooser;

static void take(part_ids *v, uint8_t *in, aot_node_id id)
{
    if (!in[id]) {
        in[id] = 1;
        aot_vec_push(v, id);
    }
}

/* True, with the sizes taken, if the backward wants nothing of a value but its sizes. */
static bool only_sizes_used(chooser *c, uint32_t i)
{
    const aot_graph *g = c->p->g;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1]; k++) {
            uint32_t u = g->user[k];
            bool backward = u >= c->end || part_is_tangent(g, aot_node_at(g, u));
            if (backward && pass == 0 && !part_is_sym(g, aot_node_at(g, u))) {
                return false;
            }
            if (backward && pass == 1) {
                take(c->sym, c->in_sym, u);
            }
        }
    }
    return true;
}

static aot_status choose(chooser *c, uint32_t i)
{
    part *p = c->p;
    const aot_node *n = aot_node_at(p->g, i);
    if (part_is_tangent(p->g, n) || n->kind == AOT_OUTPUT || is_skipped(p, i)) {
        return AOT_OK;
    }
    if (part_is_sym(p->g, n)) {
        take(c->sym, c->in_sym, i);
    } else if (is_multi_output(p, i)) {
        return AOT_OK;
    } else if (p->m.policy[i] == AOT_POLICY_MUST_SAVE) {
        take(c->saved, c->in_saved, i);
    } else if (is_impure(p, i)) {
        if (p->recomputes) {
            return AOT_FAIL(p->err, AOT_E_GRAPH,
                            "checkpoint tags on a graph with an impure operator: %s (%s)",
                            aot_text(p->ctx, n->name), aot_text(p->ctx, n->target));
        }
        take(c->saved, c->in_saved, i);
    } else if (n->kind == AOT_CALL_FUNCTION && !part_is_tensor(p->g, n)) {
        return AOT_FAIL(p->err, AOT_E_GRAPH, "expected %s to be a tensor",
                        aot_text(p->ctx, n->name));
    } else if (!only_sizes_used(c, i) && !part_must_recompute(p->m.policy[i])) {
        take(c->saved, c->in_saved, i);
    }
    return AOT_OK;
}

aot_status part_choose_default(part *p, part_ids *saved, part_ids *sym)
{
    uint32_t n = (uint32_t)p->g->nodes.n;
    chooser c = {.p = p, .end = forward_end(p), .saved = saved, .sym = sym};
    c.in_saved = AOT_NEW_ARRAY(p->scratch, uint8_t, n + 1);
    c.in_sym = AOT_NEW_ARRAY(p->scratch, uint8_t, n + 1);
    for (uint32_t i = 0; i < c.end; i++) {
        AOT_TRY(choose(&c, i));
    }
    return AOT_OK;
}
