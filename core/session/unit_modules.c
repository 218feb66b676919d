/* The user's modules of a unit's nodes, of any of its graphs. */
#include <stdlib.h>
#include <string.h>

#include "partition/select.h"
#include "session/model.h"

static uint32_t count_primals(const aot_graph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const char *name = aot_node_name(g, i);
        n += aot_node_at(g, i)->kind == AOT_PLACEHOLDER && strncmp(name, "primals_", 8) == 0;
    }
    return n;
}

static const char *const *of_graph(const aot_unit *u, const aot_graph *g, aot_arena *a)
{
    uint32_t n = 0;
    const char *const *paths = aot_unit_param_paths(u, g, &n);
    return paths != NULL ? aot_select_modules(g, paths, n, a) : NULL;
}

const char *const *aot_unit_modules(const aot_unit *u, const aot_graph *g, const aot_partition *p,
                                    aot_arena *a)
{
    if (p == NULL || p->cut == g || count_primals(g) == count_primals(p->cut)) {
        return of_graph(u, g, a);
    }
    const char *const *whole = of_graph(u, p->cut, a);
    const char **own = AOT_NEW_ARRAY(a, const char *, g->nodes.n + 1);
    aot_select_on on;
    aot_select_begin(&on, g, p, NULL);
    for (uint32_t i = 0; whole != NULL && i < g->nodes.n; i++) {
        own[i] = on.cut[i] != AOT_NO_NODE ? whole[on.cut[i]] : NULL;
    }
    aot_select_end(&on);
    return whole != NULL ? own : NULL;
}
