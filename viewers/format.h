/* Numbers and reasons in words, the same in every view and command.
 * Functions that take (buf, size) always terminate buf and return it. */
#ifndef AOT_VIEWERS_FORMAT_H
#define AOT_VIEWERS_FORMAT_H

#include "base/str.h"
#include "partition/partition.h"
#include "viewers/canvas.h"

/* "0 B", "512 B", "32.0 KiB", "1.31 MiB", "2.00 GiB". */
const char *aot_format_bytes(char *buf, size_t size, int64_t bytes);
/* "0", "918 kFLOP", "1.5 MFLOP": floating-point operations as all commands say them. */
const char *aot_format_flops(char *buf, size_t size, double flops);
/* "+32.0 KiB", "-1.31 MiB", "no change". */
const char *aot_format_change(char *buf, size_t size, int64_t bytes);
/* "87,228" */
const char *aot_format_count(char *buf, size_t size, int64_t n);
/* "850 ns", "12.3 µs", "4.50 ms", "1.25 s", "2 m 05 s" */
const char *aot_format_duration(char *buf, size_t size, double seconds);
/* "f32[64, 128]": a value's type without strides and device; "" if it has none. */
const char *aot_format_type(char *buf, size_t size, const aot_ctx *c, aot_meta_id m);
/* "aten.addmm": operator of a node without "torch.ops." and ".default"; method, module or attribute
 * name for other kinds; "placeholder" and "output". */
const char *aot_format_op(char *buf, size_t size, const aot_graph *g, aot_node_id id);
/* "model.py:12": file name without its directory, and line; "" if unknown. */
const char *aot_format_source(char *buf, size_t size, const aot_graph *g, aot_node_id id);

/* ---- classes of values -------------------------------------------------------------------- */

typedef enum aot_class { /* classes.def */
#define CLASS(id, letter, name, style, light, dark, border, sentence) AOT_CLASS_##id,
#include "viewers/classes.def"
#undef CLASS
    AOT_N_CLASSES
} aot_class;

typedef struct aot_class_info {
    const char *letter, *name; /* "S", "saved" */
    aot_style style;
    const char *light, *dark, *border; /* fill on white, fill on black, line: "#rrggbb" */
    const char *sentence;
} aot_class_info;
const aot_class_info *aot_class_get(aot_class c);

/* Where the nodes of a graph are in a partition: map[id] is the node of p->cut with the same name,
 * or AOT_NO_NODE. The graphs may be of different contexts. The caller frees the result.
 * NULL if p is NULL. */
aot_node_id *aot_view_map(const aot_graph *g, const aot_partition *p);

/* Class of node id of g for colours. cut: its node in p->cut, AOT_NO_NODE if none; p may be
 * NULL. */
aot_class aot_class_of(const aot_graph *g, aot_node_id id, const aot_partition *p, aot_node_id cut);
/* 'F' or 'B' for a node of p->cut, ' ' without one. B too for what was traced in the forward and
 * only the backward has. */
char aot_side_mark(const aot_partition *p, aot_node_id cut);
/* Letters that say what a node is besides its class, in a fixed order: V view, ~ random,
 * C collective, M mutation, ! banned from recomputation. At most 7 letters. */
const char *aot_mark_letters(char *buf, size_t size, const aot_graph *g, aot_node_id id,
                             const aot_partition *p, aot_node_id cut);
bool aot_is_collective(const aot_graph *g, aot_node_id id);
bool aot_is_mutation(const aot_graph *g, aot_node_id id);
bool aot_is_random(const aot_graph *g, aot_node_id id);
/* The value this node is a view of (its first aliased argument); AOT_NO_NODE if it is no view. */
aot_node_id aot_view_base(const aot_graph *g, aot_node_id id);
/* Writes into its first argument and returns it: mul_, copy_, operator.iadd. */
bool aot_is_in_place(const aot_graph *g, aot_node_id id);
/* Bytes of the memory that the node adds: 0 for views and in-place operations, unless it is
 * saved. */
int64_t aot_memory_of(const aot_graph *g, aot_node_id id, const aot_partition *p, aot_node_id cut);

/* ---- reasons (ids are of p->cut) ------------------------------------------------------------ */

/* Why the value is where it is, in a few words: "cheap, fusible", "random", "view of primals_3",
 * "not in allowlist", "parameter", "only the backward uses it". */
const char *aot_reason_words(char *buf, size_t size, const aot_partition *p, aot_node_id id);
/* "recomputed in the backward", "saved for the backward", "forward only", "backward only",
 * "dead". */
const char *aot_verdict_words(const aot_partition *p, aot_node_id id);
/* "87,228 = 32,768 × 1.1³ × 2"; "infinite: random op"; "none: not between forward and backward". */
const char *aot_weight_words(char *buf, size_t size, const aot_partition *p, aot_node_id id);

#endif
