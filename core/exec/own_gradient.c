/* Whether a unit has a gradient that is not the derivative of what it computes. */
#include <string.h>

#include "exec/verify_internal.h"

static const struct {
    const char *target, *why;
} own[] = {
#define OWN_GRADIENT(target, why) {target, why},
#include "exec/own_gradients.def"
#undef OWN_GRADIENT
};

static const char *why_of(const aot_graph *g)
{
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
            if (aot_node_at(g, id)->kind == AOT_CALL_FUNCTION &&
                strcmp(aot_node_target(g, id), own[i].target) == 0) {
                return own[i].why;
            }
        }
    }
    return NULL;
}

const char *vf_own_gradient(const aot_verify_in *in)
{
    AOT_VEC(const aot_graph *) todo = {0};
    const char *why = NULL;
    if (in->aten != NULL) {
        aot_vec_push(&todo, in->aten);
    }
    if (in->dynamo != NULL) {
        aot_vec_push(&todo, in->dynamo);
    }
    while (todo.n > 0 && why == NULL) {
        const aot_graph *g = todo.d[--todo.n];
        why = why_of(g);
        for (size_t i = 0; i < g->subgraphs.n; i++) {
            aot_vec_push(&todo, g->subgraphs.d[i]);
        }
    }
    aot_vec_free(&todo);
    return why;
}
