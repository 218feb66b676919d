/* A graph as a listing: source lines as heads, below each its nodes with side mark, letters, name,
 * type, bytes and reason.
 *
 *      model.py:12   h = F.gelu(self.a(self.n(x)))
 *   F  t_1      f32[32, 128]        0 B  view of primals_3
 *   FS addmm    f32[64, 128]   32.0 KiB  not in allowlist
 *
 * Made once (linear), then any row is drawn in time of that row alone. */
#ifndef AOT_VIEWERS_ASCII_GRAPH_H
#define AOT_VIEWERS_ASCII_GRAPH_H

#include "ir/graph.h"
#include "partition/partition.h"
#include "viewers/canvas.h"

typedef struct aot_listing aot_listing;

typedef struct aot_listing_row {
    bool is_source;      /* a source line: node is the first node under it */
    aot_node_id node;
} aot_listing_row;

enum {
    AOT_LIST_NO_SOURCE = 1 << 0, /* nodes only */
    AOT_LIST_OP = 1 << 1         /* a column with the operator */
};

/* p may be NULL (no letters, bytes of the types, no reasons). side: 'F' or 'B' for every node
 * (forward and backward graphs), 0 = from the partition. g and p must outlive the listing. */
aot_listing *aot_listing_new(const aot_graph *g, const aot_partition *p, char side, unsigned flags);
void aot_listing_free(aot_listing *l);
/* Shows another partition of the same cut graph; false: of another one, the listing is to be made
 * anew. */
bool aot_listing_follow(aot_listing *l, const aot_partition *p);
size_t aot_listing_n_rows(const aot_listing *l);
aot_listing_row aot_listing_row_at(const aot_listing *l, size_t i);
size_t aot_listing_row_of(const aot_listing *l, aot_node_id id);
/* The node's place in p->cut; AOT_NO_NODE if it has none. */
aot_node_id aot_listing_cut_node(const aot_listing *l, aot_node_id id);
/* Draws row i into a field of the canvas. */
void aot_listing_draw(const aot_listing *l, aot_canvas *c, int row, int col, int cols, size_t i);
/* All rows as text; width 0 = as wide as needed; colors as aot_colors_for. */
void aot_listing_print(aot_sb *out, const aot_listing *l, int width, bool ascii, int colors);

#endif
