/* Can two neighbours become one kernel? The partitioner's guess, from operator classes.
 * Mirrors: the nested functions is_fusible, can_fuse_into_auto_functionalized,
 * can_fuse_into_triton_kernel_wrapper_functional, is_materialized in
 * partitioners.py:solve_min_cut. */
#include <string.h>

#include "partition/internal.h"

static bool holds_node(const aot_graph *g, const aot_arg *a, aot_node_id id)
{
    if (a == NULL) {
        return false;
    }
    if (a->kind == AOT_ARG_NODE) {
        return a->u.node == id;
    }
    for (uint32_t i = 0; a->kind == AOT_ARG_LIST && i < a->n; i++) {
        const aot_arg *item = aot_arg_items(g, a) + i;
        if (item->kind == AOT_ARG_NODE && item->u.node == id) {
            return true;
        }
    }
    return false;
}

/* Is argument `name` of a schema written to: "Tensor(a!) name"? */
static bool schema_mutates(const char *schema, const char *name)
{
    size_t n = strlen(name);
    for (const char *q = schema != NULL ? strstr(schema, "!)") : NULL; q != NULL;
         q = strstr(q + 2, "!)")) {
        const char *w = q + 2;
        w += strspn(w, "[]?");
        if (*w == ' ' && strncmp(w + 1, name, n) == 0 && strchr(",)= ", w[1 + n]) != NULL) {
            return true;
        }
        const char *arrow = strstr(schema, "->");
        if (arrow != NULL && q > arrow) {
            return false;
        }
    }
    return false;
}

static bool fuses_into_functionalized(const part *p, aot_node_id a, const aot_node *b)
{
    const aot_graph *g = p->g;
    const aot_arg *op = aot_node_args(g, b);
    const aot_arg *kw = aot_node_kwargs(g, b);
    if (b->n_args == 0 || op->kind != AOT_ARG_NAME) {
        return false;
    }
    const char *schema = aot_op(aot_ctx_op(p->ctx, op->u.s))->schema;
    for (uint32_t i = 0; i < b->n_kwargs; i++) {
        if (schema_mutates(schema, aot_text(p->ctx, kw[2 * i].u.s)) &&
            holds_node(g, &kw[2 * i + 1], a)) {
            return true;
        }
    }
    return false;
}

static bool fuses_into_triton(const part *p, aot_node_id a, const aot_node *b)
{
    const aot_graph *g = p->g;
    const aot_arg *names = aot_node_kwarg(g, b, "tensors_to_clone"),
                  *kw = aot_node_kwarg(g, b, "kwargs");
    if (names == NULL || names->kind != AOT_ARG_LIST || kw == NULL || kw->kind != AOT_ARG_DICT) {
        return false;
    }
    for (uint32_t i = 0; i < names->n; i++) {
        const aot_arg *name = aot_arg_items(g, names) + i;
        for (uint32_t k = 0; k + 1 < kw->n; k += 2) {
            const aot_arg *item = aot_arg_items(g, kw) + k;
            if (item[0].u.s == name->u.s && item[1].kind == AOT_ARG_NODE && item[1].u.node == a) {
                return true;
            }
        }
    }
    return false;
}

bool part_fusible(const part *p, aot_node_id a, aot_node_id b)
{
    const aot_graph *g = p->g;
    uint32_t x = p->m.part[a], y = p->m.part[b];
    if ((y & (PART_IS_CAT | PART_IS_AUTO_FUNCTIONALIZED | PART_IS_TRITON)) != 0) {
        // reads are fused into a cat; it is never a producer
        if ((y & PART_IS_CAT) != 0 ||
            ((y & PART_IS_AUTO_FUNCTIONALIZED) != 0 &&
             fuses_into_functionalized(p, a, aot_node_at(g, b))) ||
            ((y & PART_IS_TRITON) != 0 && fuses_into_triton(p, a, aot_node_at(g, b)))) {
            return true;
        }
    }
    if ((x & y & AOT_PART_FUSIBLE) == 0) {
        return false;
    }
    return (x & PART_IS_GETITEM) == 0 || g->in_off[a] == g->in_off[a + 1] ||
           (p->m.part[g->in[g->in_off[a]]] & PART_IS_TRITON) == 0;
}

bool part_is_materialized(const part *p, aot_node_id id)
{
    const aot_graph *g = p->g;
    if (aot_node_at(g, id)->kind == AOT_PLACEHOLDER) {
        return true;
    }
    for (uint32_t k = g->user_off[id]; k < g->user_off[id + 1]; k++) {
        if (!part_fusible(p, id, g->user[k])) {
            return true;
        }
    }
    return false;
}
