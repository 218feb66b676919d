/* The nodes of a graph as the user's modules hold them, nested: what a list can fold away. */
#ifndef AOT_VIEWERS_MODULE_FOLDS_H
#define AOT_VIEWERS_MODULE_FOLDS_H

#include "base/arena.h"
#include "base/vec.h"
#include "ir/graph.h"
#include "partition/partition.h"

typedef struct aot_module_fold {
    /* "layers.0.attn", "model.py forward", "inputs", "backward: model.py forward" */
    const char *path;
    aot_node_id first, last;
    int32_t parent;       /* the fold around it; -1: none */
    uint32_t depth;
    uint32_t n_nodes, n_saved;
    int64_t saved_bytes;
    bool open;            /* for the caller's use */
} aot_module_fold;

typedef struct aot_module_folds {
    AOT_VEC(aot_module_fold) folds; /* one around others comes before them */
    /* by node: the innermost fold, -1 if in none; NULL: not found */
    int32_t *of;
    aot_arena *arena;
} aot_module_folds;

/* modules as aot_select_modules gives them, or NULL; a node of none is in the function that its
 * source line is in. cut as aot_view_map gives it; p and cut may be NULL. Runs of one node are no
 * fold. Free it with aot_module_folds_free. Cost: linear times the nesting. */
void aot_module_folds_find(aot_module_folds *out, const aot_graph *g, const aot_partition *p,
                           const aot_node_id *cut, const char *const *modules);
void aot_module_folds_free(aot_module_folds *f); /* all zero is fine */
/* The outermost closed fold that holds a node; -1: none. */
int32_t aot_module_folds_shut(const aot_module_folds *f, aot_node_id id);

#endif
