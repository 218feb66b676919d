/* Which module of the user's each node is in, from the parameters that it reads. */
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"
#include "partition/select.h"

/* Length of the longest path that holds both. */
static size_t common_path(const char *a, const char *b)
{
    size_t n = 0, whole = 0;
    for (; a[n] != '\0' && a[n] == b[n]; n++) {
        whole = a[n] == '.' ? n : whole;
    }
    bool ends = (a[n] == '\0' || a[n] == '.') && (b[n] == '\0' || b[n] == '.');
    return ends ? n : whole;
}

/* "layers.0.fc" of layers.0.fc.weight. */
static const char *module_of(const char *param, aot_arena *a)
{
    const char *dot = strrchr(param, '.');
    return dot != NULL ? aot_arena_strndup(a, param, (size_t)(dot - param)) : "";
}

/* The module whose parameter a node reads, itself or through what is made of parameters alone. */
static const char *read_module(const aot_graph *g, uint32_t i, const char *const *own,
                               const uint8_t *of_params)
{
    const char *found = NULL;
    for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
        uint32_t in = g->in[k];
        found = of_params[in] && own[in] != NULL ? own[in] : found;
    }
    return found;
}

const char *aot_module_words(const char *path)
{
    return path == NULL ? "(in no module)" : path[0] == '\0' ? "(the outermost module)" : path;
}

/* Views that the backward trace made of forward values are in the module of their base. */
static void follow_views(const aot_graph *g, const char **own, const uint8_t *on_tangent)
{
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const aot_node *x = aot_node_at(g, i);
        const aot_arg *first = x->n_args > 0 ? aot_node_args(g, x) : NULL;
        if (own[i] == NULL && !on_tangent[i] && x->kind == AOT_CALL_FUNCTION && first != NULL &&
            first->kind == AOT_ARG_NODE &&
            (aot_is_getitem(g, x) || (aot_node_op(x)->flags & AOT_OPF_ALIASES) != 0)) {
            own[i] = own[first->u.node];
        }
    }
}

const char *const *aot_select_modules(const aot_graph *g, const char *const *param_paths,
                                      uint32_t n, aot_arena *a)
{
    uint32_t primal = 0, n_nodes = (uint32_t)g->nodes.n, last = 0;
    const char **own = AOT_NEW_ARRAY(a, const char *, n_nodes + 1);
    uint8_t *of_params = aot_xcalloc(n_nodes + 1, 1), *on_tangent = aot_xcalloc(n_nodes + 1, 1);
    aot_graph_link_once(g);
    for (uint32_t i = 0; i < n_nodes; i++) {
        const aot_node *x = aot_node_at(g, i);
        bool fed = g->in_off[i] != g->in_off[i + 1], all = fed;
        on_tangent[i] = part_is_tangent(g, x);
        for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
            on_tangent[i] |= on_tangent[g->in[k]];
            all = all && of_params[g->in[k]];
        }
        if (part_is_primal(g, x)) {
            const char *path = primal < n ? param_paths[primal] : NULL;
            own[i] = path != NULL ? module_of(path, a) : NULL;
            of_params[i] = own[i] != NULL;
            primal++;
        } else if (!on_tangent[i] && x->kind != AOT_OUTPUT) {
            of_params[i] = all;
            own[i] = read_module(g, i, own, of_params);
        }
    }
    for (uint32_t i = 0; i <= n_nodes; i++) { // between two that read parameters: what holds both
        bool reads = i < n_nodes && own[i] != NULL && !of_params[i];
        if (!reads) {
            continue;
        }
        for (uint32_t k = last + 1; last != 0 && k < i; k++) {
            if (own[k] == NULL && !on_tangent[k] && aot_node_at(g, k)->kind != AOT_PLACEHOLDER) {
                own[k] = aot_arena_strndup(a, own[i], common_path(own[last], own[i]));
            }
        }
        last = i;
    }
    follow_views(g, own, on_tangent);
    free(of_params);
    free(on_tangent);
    return own;
}
