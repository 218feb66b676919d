/* What changed between two graphs, matched by structure: names of intermediate values count for
 * nothing, so a renamed graph is the same graph. An input is the one of its name; those whose name
 * the other graph does not have are matched in their order by type (a redacted graph, renamed
 * code). */
#ifndef AOT_IR_DIFF_H
#define AOT_IR_DIFF_H

#include "ir/graph.h"

typedef enum aot_edit_kind {
    AOT_EDIT_SAME,    /* the same operation, constants and type on matched operands */
    AOT_EDIT_CHANGED, /* the same target on other operands, with other constants or another type */
    AOT_EDIT_REMOVED,
    AOT_EDIT_ADDED
} aot_edit_kind;

typedef struct aot_edit {
    uint8_t kind;
    aot_node_id a, b; /* AOT_NO_NODE on the side that has no such node */
} aot_edit;

typedef AOT_VEC(aot_edit) aot_edits;

typedef struct aot_diff_counts {
    uint32_t n[4];    /* by aot_edit_kind */
    /* inputs and attributes that have another name on each side, and are the same else */
    uint32_t renamed;
} aot_diff_counts;

/* Appends one edit a node, in the order of a, added nodes where they stand in b. Contexts may
 * differ; submodules are not entered. Cost: n log n for graphs that are alike; where a stretch of
 * more than some thousand nodes has nothing in common it is given up as removed and added. */
aot_diff_counts aot_graph_diff(aot_edits *out, const aot_graph *a, const aot_graph *b);
static inline bool aot_diff_is_same(const aot_diff_counts *c)
{
    return c->n[AOT_EDIT_CHANGED] + c->n[AOT_EDIT_REMOVED] + c->n[AOT_EDIT_ADDED] == 0;
}

#endif
