/* The table of mistakes, and what a value depends on. */
#include "exec/fault.h"

#include <stdlib.h>
#include <string.h>

static const aot_fault_info faults[] = {
    {"", "", ""}, // AOT_NO_FAULT
#define FAULT(id, name, where, sentence) {name, where, sentence},
#include "exec/faults.def"
#undef FAULT
};

const aot_fault_info *aot_fault_get(aot_fault f)
{
    return &faults[f];
}

aot_fault aot_fault_find(const char *name)
{
    for (unsigned f = AOT_NO_FAULT + 1; f < AOT_N_FAULTS; f++) {
        if (strcmp(faults[f].name, name) == 0) {
            return (aot_fault)f;
        }
    }
    return AOT_NO_FAULT;
}

typedef struct flow {
    bool *of; /* by node */
    bool any;
} flow;

static void note_input(void *arg, aot_node_id id)
{
    flow *f = arg;
    f->any |= f->of[id];
}

bool *aot_fault_depends(const aot_graph *g, const bool *of, unsigned n_returned)
{
    bool *out = aot_xcalloc(n_returned + 1u, sizeof *out);
    flow f = {.of = aot_xcalloc(g->nodes.n + 1, sizeof *f.of)};
    unsigned k = 0;
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        const aot_node *n = aot_node_at(g, id);
        f.any = n->kind == AOT_PLACEHOLDER && of[k++];
        aot_node_each_input(g, n, note_input, &f);
        f.of[id] = f.any;
        if (n->kind != AOT_OUTPUT) {
            continue;
        }
        const aot_arg *list = aot_node_args(g, n), *items = aot_arg_items(g, list);
        for (unsigned i = 0; i < list->n && i < n_returned; i++) {
            out[i] = items[i].kind == AOT_ARG_NODE && f.of[items[i].u.node] &&
                     aot_node_at(g, items[i].u.node)->kind != AOT_PLACEHOLDER;
        }
    }
    free(f.of);
    return out;
}
