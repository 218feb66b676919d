/* The operator table: one row an overload, declared once in ops.def and its families.
 * Everything that is known about an operator by name is here: schema, tags, aliasing, the classes
 * that PyTorch's partitioner sorts it into, and which of our rules exist for it. */
#ifndef AOT_OPS_OPTAB_H
#define AOT_OPS_OPTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint16_t aot_op_id; /* row number; 0 = not in the table */
enum { AOT_OP_UNKNOWN = 0, AOT_OP_GETITEM = 1 /* operator.getitem: the first row */ };
#define aot_op_getitem ((aot_op_id)AOT_OP_GETITEM)

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
    AOT_TAG_OTHER = 1 << 16, /* a tag that has no bit of its own */
    AOT_TAG_MAYBE_ALIASING_OR_MUTATING = 1 << 17
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
    AOT_OPF_HIGHER_ORDER = 1 << 8,   /* torch.ops.higher_order.*: no schema */
    AOT_OPF_AUTOGRAD_DECOMP = 1 << 9, /* py_impl(DispatchKey.Autograd): its decomposition runs above
                                        autograd, whatever the backend */
    AOT_OPF_EFFECTFUL = 1 << 10, /* ordered by tokens: higher_order.with_effects */
    AOT_OPF_RANDOM_DECOMP = 1 << 11 /* in Inductor's table, but not under fallback_random */
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

/* ---- rules and gaps ---------------------------------------------------------------------- */

/* What can be written for an operator. Functions are in rules/; this table knows names only. */
typedef enum aot_rule {
    AOT_RULE_META,   /* dtype, sizes, strides of the outputs */
    AOT_RULE_VJP,    /* gradient */
    AOT_RULE_DECOMP, /* smaller operators */
    AOT_RULE_KERN,   /* values, for the interpreter */
    AOT_N_RULES
} aot_rule;
const char *aot_rule_name(aot_rule r); /* "meta", "vjp", "decomp", "kern" */

/* Why a rule is absent: rows of gaps.def. */
typedef enum aot_gap {
    AOT_GAP_unstated, /* the row has no such cell: a defect that test_optab finds */
    AOT_GAP_written,  /* there is a rule */
#define GAP(id, sentence) AOT_GAP_##id,
#include "ops/gaps.def"
#undef GAP
    AOT_N_GAPS
} aot_gap;
const char *aot_gap_name(aot_gap g);     /* "todo" */
const char *aot_gap_sentence(aot_gap g);

aot_gap aot_op_gap(aot_op_id id, aot_rule r);
const char *aot_op_rule(aot_op_id id, aot_rule r); /* "vjp_mul"; NULL if there is none */
/* The next row after id whose rule r is in state g; start with AOT_OP_UNKNOWN, which also ends. */
aot_op_id aot_op_next_gap(aot_op_id id, aot_rule r, aot_gap g);

/* Row of the functional form of an in-place or out= operator; AOT_OP_UNKNOWN if it is none. */
aot_op_id aot_op_functional(aot_op_id id);
unsigned aot_op_models(aot_op_id id); /* joint graphs of the model zoo that use it */

/* Families: the sections of ops.def, in order. */
size_t aot_family_count(void);
const char *aot_family_name(size_t family);  /* "pointwise" */
const char *aot_family_title(size_t family);
/* Rows first .. end - 1. */
void aot_family_rows(size_t family, aot_op_id *first, aot_op_id *end);
size_t aot_op_family(aot_op_id id);

/* Names of the bits that are set, from the lowest: fn("core"), fn("pointwise"). Spelled as PyTorch
 * does (tags, classes) or as here without AOT_OPF_ (flags; INDUCTOR_RANDOM is both
 * INDUCTOR_DECOMP and RANDOM_DECOMP). */
void aot_op_each_tag(uint32_t tags, void (*fn)(void *, const char *), void *arg);
void aot_op_each_part(uint32_t part, void (*fn)(void *, const char *), void *arg);
void aot_op_each_flag(uint32_t flags, void (*fn)(void *, const char *), void *arg);

#endif
