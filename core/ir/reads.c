#include "ir/reads.h"

#include <stdlib.h>

#include "ops/op_ids.h"

static const struct {
    aot_op_id op;
    int8_t arg, flag, result;
} unread[] = {
#define ALWAYS (-1)
#define NONE (-1)
#define UNREAD_ARG(op, arg, flag, result) {AOT_OP_##op, arg, flag, result},
#include "ops/unread_args.def"
#undef UNREAD_ARG
#undef NONE
#undef ALWAYS
};

bool aot_result_is_needed(const aot_graph *g, const uint8_t *needed, aot_node_id id, unsigned i)
{
    for (uint32_t k = g->user_off[id]; k < g->user_off[id + 1]; k++) {
        const aot_node *u = aot_node_at(g, g->user[k]);
        const aot_arg *a = aot_node_args(g, u);
        bool other = aot_is_getitem(g, u) && u->n_args == 2 && a[1].kind == AOT_ARG_INT &&
                     a[1].u.i != (int64_t)i;
        if (needed[g->user[k]] && !other) {
            return true;
        }
    }
    return false;
}

static bool flag_holds(const aot_graph *g, const aot_node *n, int flag)
{
    const aot_arg *a = aot_node_args(g, n);
    return flag < 0 ||
           ((unsigned)flag < n->n_args && a[flag].kind == AOT_ARG_BOOL && a[flag].u.i != 0);
}

static bool is_read(const aot_graph *g, const uint8_t *needed, aot_node_id id, unsigned pos)
{
    const aot_node *n = aot_node_at(g, id);
    for (size_t k = 0; k < sizeof unread / sizeof *unread; k++) {
        if (unread[k].op == n->op && unread[k].arg == (int)pos &&
            flag_holds(g, n, unread[k].flag)) {
            return unread[k].result >= 0 &&
                   aot_result_is_needed(g, needed, id, (unsigned)unread[k].result);
        }
    }
    return true;
}

static bool has_unread(aot_op_id op)
{
    for (size_t k = 0; k < sizeof unread / sizeof *unread; k++) {
        if (unread[k].op == op) {
            return true;
        }
    }
    return false;
}

uint8_t *aot_needed_nodes(const aot_graph *g)
{
    aot_graph_link_once(g);
    uint8_t *needed = aot_xcalloc(g->nodes.n + 1, 1);
    for (aot_node_id id = (aot_node_id)g->nodes.n; id-- > 0;) {
        const aot_node *n = aot_node_at(g, id);
        needed[id] |= n->kind == AOT_OUTPUT || (n->kind != AOT_PLACEHOLDER &&
                                                aot_n_users(g, id) == 0 && !aot_is_getitem(g, n));
        if (!needed[id]) {
            continue;
        }
        if (!has_unread(n->op)) {
            for (uint32_t k = g->in_off[id]; k < g->in_off[id + 1]; k++) {
                needed[g->in[k]] = 1;
            }
            continue;
        }
        // such calls take each tensor as an argument of its own
        const aot_arg *a = aot_node_args(g, n);
        for (unsigned i = 0; i < n->n_args; i++) {
            if (a[i].kind == AOT_ARG_NODE && is_read(g, needed, id, i)) {
                needed[a[i].u.node] = 1;
            }
        }
    }
    return needed;
}
