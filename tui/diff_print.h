/* Two graphs one against the other as text: - and +, or two columns. */
#ifndef AOT_TUI_DIFF_PRINT_H
#define AOT_TUI_DIFF_PRINT_H

#include "ir/diff.h"

/* One comparison: a stage of each side. */
typedef struct aot_compared {
    const aot_graph *a, *b;
    char title[400];
    aot_edits edits;
    aot_diff_counts counts;
} aot_compared;

/* The text of a node in b, which is cleared before; "" for AOT_NO_NODE. */
const char *aot_diff_node_line(aot_sb *b, const aot_graph *g, aot_node_id id);
/* Changes with some unchanged nodes around them, to stdout. width: columns of each side. */
void aot_diff_print_unified(const aot_compared *c);
void aot_diff_print_sides(const aot_compared *c, int width);

#endif
