/* The operator table: one row an overload, declared once in ops.def and its families.
 * Everything that is known about an operator by name is here: schema, tags, aliasing, the classes
 * that PyTorch's partitioner sorts it into, and which of our rules exist for it. */
#ifndef AOT_OPS_OPTAB_H
#define AOT_OPS_OPTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint16_t aot_op_id; /* row number; 0 = not in the table */
enum { AOT_OP_UNKNOWN = 0 };

/* torch.Tag of an overload. */
enum {
    AOT_TAG_CORE = 1 << 0,
    AOT_TAG_POINTWISE = 1 << 1,
    AOT_TAG_INPLACE_VIEW = 1 << 2,
    AOT_TAG_VIEW_COPY = 1 << 3,
    AOT_TAG_NONDETERMINISTIC_SEEDED = 1 << 4,
    AOT_TAG_NONDETERMINISTIC_BITWISE = 1 << 5,
    AOT_TAG_DYNAMIC_OUTPUT_SHAPE = 1 << 6,
    AOT_TAG_DATA_DEPENDENT_OUTPUT = 1 << 7,
    AOT_TAG_GENERATED = 1 << 8,
    AOT_TAG_PT2_COMPLIANT = 1 << 9,
    AOT_TAG_NEEDS_CONTIGUOUS_STRIDES = 1 << 10,
    AOT_TAG_NEEDS_FIXED_STRIDE_ORDER = 1 << 11,
    AOT_TAG_NEEDS_EXACT_STRIDES = 1 << 12,
    AOT_TAG_FLEXIBLE_LAYOUT = 1 << 13,
    AOT_TAG_CUDAGRAPH_UNSAFE = 1 << 14,
    AOT_TAG_REDUCTION = 1 << 15,
    AOT_TAG_OTHER = 1 << 16 /* a tag that has no bit of its own */
};

/* Classes of torch/_functorch/partitioners.py:get_default_op_list and compile_utils.py:rand_ops.
 * PyTorch keys them by packet (name without overload): all overloads of a packet agree. */
enum {
    AOT_PART_FUSIBLE = 1 << 0,
    AOT_PART_RECOMPUTABLE = 1 << 1,
    AOT_PART_COMPUTE_INTENSIVE = 1 << 2,
    AOT_PART_RANDOM = 1 << 3,
    AOT_PART_VIEW = 1 << 4,
    AOT_PART_CSE_RANDOM = 1 << 5 /* never merged by CSE */
};

enum {
    AOT_OPF_MUTATES = 1 << 0,        /* schema has an (a!) argument */
    AOT_OPF_ALIASES = 1 << 1,        /* a return aliases an argument without writing: a view */
    AOT_OPF_SIDE_EFFECT = 1 << 2,    /* in torch.fx.node._side_effectful_functions */
    AOT_OPF_CORE_DECOMP = 1 << 3,    /* in core_aten_decompositions() */
    AOT_OPF_INDUCTOR_DECOMP = 1 << 4,/* in Inductor's table */
    AOT_OPF_COMPOSITE_IMPLICIT = 1 << 5,
    AOT_OPF_COMPOSITE_EXPLICIT = 1 << 6,
    AOT_OPF_PYTHON = 1 << 7,         /* operator.add, torch.sym_max ...: no schema */
    AOT_OPF_HIGHER_ORDER = 1 << 8    /* torch.ops.higher_order.*: no schema */
};

typedef struct aot_op_info {
    const char *name;   /* "aten.mul.Tensor", "operator.getitem", "higher_order.cond" */
    const char *packet; /* "aten.mul"; for Python and higher-order operators equal to name */
    const char *schema; /* "mul.Tensor(Tensor self, Tensor other) -> Tensor"; NULL if it has none */
    const char *doc;    /* one plain sentence; NULL if the row has none */
    uint32_t tags, part, flags;
} aot_op_info;

size_t aot_op_count(void);                        /* rows, row 0 included */
const aot_op_info *aot_op(aot_op_id id);          /* never NULL; row 0 is "?" */
/* By full name, with or without a leading "torch.ops."; AOT_OP_UNKNOWN if absent. */
aot_op_id aot_op_find(const char *name, size_t n);
/* Classes of a packet such as "aten.mul" (for operators whose overload is not in the table). */
uint32_t aot_op_packet_part(const char *packet, size_t n);

#endif
