/* Which trace made a node: the forward's or the backward's (meta "partitioner_tag", never printed).
 *
 * The joint text holds the forward's nodes, then the backward's, then copy_ to mutated inputs. The
 * border lies after the last value that the forward returns or writes back, and before the first
 * one that depends on a tangent. Between the two, getitems of forward operators, the indices of a
 * decomposed pooling, and the detach (or alias) under which autograd keeps a result still belong to
 * the forward; a detach of that detach is the backward taking it out again.
 * Mirrors: the tags set in
 * torch/_functorch/_aot_autograd/graph_capture_wrappers.py:create_joint. */
#include <string.h>

#include "partition/internal.h"

static bool is_detach(const aot_graph *g, const aot_node *n)
{
    return part_target_is(g, n, "torch.ops.aten.detach.default") ||
           part_target_is(g, n, "torch.ops.aten.alias.default");
}

static bool is_copy(const aot_graph *g, const aot_node *n)
{
    return part_target_is(g, n, "torch.ops.aten.copy_.default");
}

static aot_node_id arg_node(const aot_graph *g, const aot_node *n, unsigned i)
{
    const aot_arg *a = aot_node_args(g, n);
    return i < n->n_args && a[i].kind == AOT_ARG_NODE ? a[i].u.node : AOT_NO_NODE;
}

/* First node of the last copy_ group; only views of written inputs that the forward returns are
 * made after it. */
static uint32_t epilogue_start(const aot_graph *g, const uint8_t *on_tangent)
{
    uint32_t n = (uint32_t)g->nodes.n, end = n, start;
    while (end > 0 && aot_node_at(g, end - 1)->kind != AOT_PLACEHOLDER &&
           !is_copy(g, aot_node_at(g, end - 1)) &&
           (!on_tangent[end - 1] || aot_node_at(g, end - 1)->kind == AOT_OUTPUT)) {
        end--;
    }
    for (start = end; start > 0 && is_copy(g, aot_node_at(g, start - 1)); start--) {
    }
    return start < end ? start : n != 0 ? n - 1 : 0;
}

/* Nodes that depend on a tangent, and the first of them that is no placeholder. */
static uint32_t first_tangent_user(const aot_graph *g, uint8_t *on_tangent)
{
    uint32_t first = (uint32_t)g->nodes.n;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        on_tangent[i] = part_is_tangent(g, n);
        for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
            on_tangent[i] |= on_tangent[g->in[k]];
        }
        if (on_tangent[i] && n->kind != AOT_PLACEHOLDER && n->kind != AOT_OUTPUT && i < first) {
            first = i;
        }
    }
    return first;
}

static void take_later(uint32_t *border, const aot_arg *a, uint32_t limit)
{
    if (a->kind == AOT_ARG_NODE && a->u.node + 1 > *border && a->u.node < limit) {
        *border = a->u.node + 1;
    }
}

/* One past the last forward node. */
static uint32_t find_border(const part *p, uint32_t limit, uint32_t epilogue)
{
    const aot_graph *g = p->g;
    uint32_t border = 0, n_out;
    const aot_arg *outs = part_outputs(g, &n_out);
    for (uint32_t i = 0; i < g->nodes.n && aot_node_at(g, i)->kind == AOT_PLACEHOLDER; i++) {
        border = i + 1;
    }
    for (uint32_t i = 0; i < n_out && (int)i < p->n_fw_out; i++) {
        take_later(&border, &outs[i], limit);
    }
    for (uint32_t i = epilogue; i < g->nodes.n; i++) {
        if (is_copy(g, aot_node_at(g, i)) && aot_node_at(g, i)->n_args > 1) {
            take_later(&border, aot_node_args(g, aot_node_at(g, i)) + 1, limit);
        }
    }
    for (; border < limit && border < epilogue; border++) {
        const aot_node *n = aot_node_at(g, border);
        aot_node_id from = n->n_args != 0 ? arg_node(g, n, 0) : AOT_NO_NODE;
        bool keeps = is_detach(g, n) && from != AOT_NO_NODE && !is_detach(g, aot_node_at(g, from));
        /* the indices of a decomposed pooling, made for autograd alone */
        keeps |=
            part_target_is(g, n, "torch.ops.prims._low_memory_max_pool_offsets_to_indices.default");
        if (from == AOT_NO_NODE || !(aot_is_getitem(g, n) || keeps)) {
            break;
        }
    }
    return border;
}

/* copy_ to an input: in the forward if its source is a forward value; a second one to the same
 * input, or one from a backward value, happens in the backward. */
static void mark_epilogue(part *p, uint32_t epilogue, const uint8_t *on_tangent)
{
    const aot_graph *g = p->g;
    uint8_t *written = AOT_NEW_ARRAY(p->scratch, uint8_t, g->nodes.n + 1);
    for (uint32_t i = epilogue; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        if (!is_copy(g, n)) {
            continue;
        }
        aot_node_id dst = arg_node(g, n, 0), src = arg_node(g, n, 1);
        bool bw = src != AOT_NO_NODE && (on_tangent[src] || p->m.backward_made[src]);
        bw |= dst != AOT_NO_NODE && written[dst];
        p->m.backward_made[i] = 0;
        p->m.must_side[i] = bw ? PART_MUST_BW : PART_MUST_FW;
        if (dst != AOT_NO_NODE) {
            written[dst] = 1;
        }
    }
}

void part_mark_backward(part *p)
{
    const aot_graph *g = p->g;
    uint32_t n = (uint32_t)g->nodes.n;
    uint8_t *on_tangent = AOT_NEW_ARRAY(p->scratch, uint8_t, n + 1);
    uint32_t limit = first_tangent_user(g, on_tangent);
    uint32_t epilogue = p->epilogue = epilogue_start(g, on_tangent);
    uint32_t border = find_border(p, limit, epilogue);
    bool said = false;
    for (uint32_t i = 0; i < n; i++) { // PyTorch 2.15 prints it
        said |= g->srcs.d[aot_node_at(g, i)->src].is_backward;
    }
    for (uint32_t i = 0; i < n; i++) {
        const aot_node *x = aot_node_at(g, i);
        if (x->kind == AOT_PLACEHOLDER) {
            p->m.backward_made[i] = part_is_tangent(g, x);
        } else if (said && i < epilogue) {
            p->m.backward_made[i] = g->srcs.d[x->src].is_backward || on_tangent[i];
        } else {
            p->m.backward_made[i] = i >= epilogue ? on_tangent[i] : i >= border;
        }
    }
    mark_epilogue(p, epilogue, on_tangent);
}
