/* The lines of a comparison of two graphs behind a list: changes, what stands around them, and how
 * many are not shown. */
#ifndef AOT_TUI_DIFF_LINES_H
#define AOT_TUI_DIFF_LINES_H

#include "ir/diff.h"
#include "tui/listview.h"

typedef enum row_part { ROW_BOTH, ROW_OLD, ROW_NEW, ROW_GAP } row_part;

typedef struct diff_row {
    uint32_t edit; /* ROW_GAP: the first one that is not shown */
    uint32_t n;    /* ROW_GAP: how many are not shown */
    row_part part;
} diff_row;

typedef struct diff_lines {
    const aot_graph *ga, *gb; /* borrowed */
    aot_edits edits;
    aot_diff_counts counts;
    AOT_VEC(diff_row) rows;
    bool all;   /* what is the same is shown in full */
    bool sides; /* old and new in two columns */
    aot_list list;
    aot_sb old_text, new_text, scratch;
} diff_lines;

void diff_lines_init(diff_lines *d);
void diff_lines_done(diff_lines *d);
/* Compares two graphs and goes to the first change; NULL: nothing to show. */
void diff_lines_set(diff_lines *d, const aot_graph *a, const aot_graph *b);
/* How it is shown; the cursor stays on its edit. */
void diff_lines_show(diff_lines *d, bool all, bool sides);
/* To the next run of changes; false if there is none. */
bool diff_lines_next(diff_lines *d, int dir);
/* The node under the cursor, of the old graph if *old. AOT_NO_NODE: none. */
aot_node_id diff_lines_node(const diff_lines *d, bool *old);
/* Appends the text of the line under the cursor. */
void diff_lines_text(const diff_lines *d, aot_sb *out);

#endif
