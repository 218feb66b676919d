/* Facts about partitioned nodes in words: what was saved, why, who uses it. For the session's node
 * table, the command line and the screens alike. */
#ifndef AOT_SESSION_SAVED_H
#define AOT_SESSION_SAVED_H

#include "partition/partition.h"

/* Why the node ended as it did, one clause: "cannot be recomputed: reduction op". Belongs to a or
 * is static. */
const char *aot_node_reason(const aot_partition *p, aot_node_id id, aot_arena *a);

/* Why a ban that was found holds nothing, one clause; only where ban_asked is one and ban is
 * none. */
const char *aot_ban_overruled(const aot_partition *p, aot_node_id id);
/* "816 B and 1 symbol": what all texts call saved; into buf, returned. */
const char *aot_saved_text(const aot_partition *p, char *buf, size_t size);

/* Where a value that shares memory with a primal gets it from: the primal itself, or what a chain
 * of views starts at. AOT_NO_NODE if the value has memory of its own. */
aot_node_id aot_node_primal(const aot_graph *g, aot_node_id id);

/* "[64, s0]" of an annotation's sizes; "" for what is no tensor. Appended to out. */
void aot_print_sizes(aot_sb *out, const aot_ctx *c, const aot_meta *m);
void aot_print_strides(aot_sb *out, const aot_ctx *c, const aot_meta *m);
/* "32.0 KiB", "0 B", "1.31 MiB": into buf; returns buf. */
const char *aot_bytes_text(int64_t bytes, char *buf, size_t size);
/* "mm" of torch.ops.aten.mm.default; the whole name if it has no dots. Appended. */
void aot_print_op_short(aot_sb *out, const aot_graph *g, const aot_node *n);

typedef struct aot_saved_row {
    aot_node_id node; /* in p->cut */
    bool is_symbol;
    uint32_t place; /* in PyTorch's order, from 0 */
    aot_node_id primal;                           /* aliased primal, or AOT_NO_NODE */
    const char *name, *type, *dtype, *shape, *op; /* type: "f32[64, 128]" */
    /* own: 0 where an input or a row before has the storage, and for symbols */
    int64_t bytes, own_bytes;
    const char *file, *func, *code; /* "" if unknown */
    uint32_t line;
    const char *used_by; /* users in the backward, comma-separated, at most 4 and "+N" */
    const char *reason;
} aot_saved_row;

/* All saved values in PyTorch's order, symbols last. Belongs to a. Returns their number. */
size_t aot_saved_rows(aot_saved_row **out, const aot_partition *p, aot_arena *a);

/* States of generators that the forward hands to the backward beside its saved values, so that a
 * recomputed random operator draws the same numbers; node is in p->forward, reason says which
 * operator draws. saved_bytes has none of them. Belongs to a. Returns their number. */
size_t aot_generator_rows(aot_saved_row **out, const aot_partition *p, aot_arena *a);
/* "1 generator state, 4.9 KiB"; "" for none; into buf, returned. */
const char *aot_generator_text(const aot_saved_row *rows, size_t n, char *buf, size_t size);

#endif
