/* Structural comparison: node i of one graph stands for node i of the other. */
#include "ir/compare.h"

#include <string.h>

static bool same_text(const aot_graph *a, aot_str s, const aot_graph *b, aot_str t)
{
    return strcmp(aot_text(a->ctx, s), aot_text(b->ctx, t)) == 0;
}

static bool same_float(double x, double y)
{
    return x == y || (x != x && y != y);
}

static bool same_args(const aot_graph *a, const aot_arg *x, const aot_graph *b, const aot_arg *y,
                      uint32_t n);

static bool same_arg(const aot_graph *a, const aot_arg *x, const aot_graph *b, const aot_arg *y)
{
    if (x->kind != y->kind) {
        return false;
    }
    switch ((aot_arg_kind)x->kind) {
    case AOT_ARG_NONE: return true;
    case AOT_ARG_NODE: return x->u.node == y->u.node;
    case AOT_ARG_INT:
    case AOT_ARG_BOOL: return x->u.i == y->u.i;
    case AOT_ARG_FLOAT: return same_float(x->u.f, y->u.f);
    case AOT_ARG_STR:
    case AOT_ARG_NAME:
    case AOT_ARG_COMPLEX:
    case AOT_ARG_RAW: return same_text(a, x->u.s, b, y->u.s);
    default:
        return x->n == y->n && same_args(a, aot_arg_items(a, x), b, aot_arg_items(b, y), x->n);
    }
}

static bool same_args(const aot_graph *a, const aot_arg *x, const aot_graph *b, const aot_arg *y,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!same_arg(a, &x[i], b, &y[i])) {
            return false;
        }
    }
    return true;
}

static bool same_node(const aot_graph *a, const aot_node *x, const aot_graph *b, const aot_node *y)
{
    bool named = x->kind == AOT_PLACEHOLDER;
    return x->kind == y->kind && (!named || same_text(a, x->name, b, y->name)) &&
           (named || x->kind == AOT_OUTPUT || same_text(a, x->target, b, y->target)) &&
           x->n_args == y->n_args && x->n_kwargs == y->n_kwargs &&
           same_text(a, aot_meta_get(a->ctx, x->meta)->text, b,
                     aot_meta_get(b->ctx, y->meta)->text) &&
           same_args(a, aot_node_args(a, x), b, aot_node_args(b, y), x->n_args) &&
           same_args(a, aot_node_kwargs(a, x), b, aot_node_kwargs(b, y), 2u * x->n_kwargs);
}

/* Submodules nest a few levels (MAX_MODULE_NEST of the parser). */
bool aot_graph_same_structure(const aot_graph *a, const aot_graph *b, aot_graph_difference *at)
{
    size_t n = a->nodes.n < b->nodes.n ? a->nodes.n : b->nodes.n;
    for (size_t i = 0; i < n; i++) {
        const aot_node *x = &a->nodes.d[i], *y = &b->nodes.d[i];
        if (!same_node(a, x, b, y)) {
            if (at != NULL) {
                *at = (aot_graph_difference){a, b, (aot_node_id)i, (aot_node_id)i};
            }
            return false;
        }
        if (x->subgraph != 0 && y->subgraph != 0 &&
            !aot_graph_same_structure(a->subgraphs.d[x->subgraph - 1],
                                      b->subgraphs.d[y->subgraph - 1], at)) {
            return false;
        }
    }
    if (a->nodes.n != b->nodes.n && at != NULL) {
        *at = (aot_graph_difference){a, b, a->nodes.n > n ? (aot_node_id)n : AOT_NO_NODE,
                                     b->nodes.n > n ? (aot_node_id)n : AOT_NO_NODE};
    }
    return a->nodes.n == b->nodes.n;
}
