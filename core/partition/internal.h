/* Shared by the files of this folder: facts about nodes, and the steps of a partition in order. */
#ifndef AOT_PARTITION_INTERNAL_H
#define AOT_PARTITION_INTERNAL_H

#include "partition/partition.h"

/* What is known of each node of one graph, besides the graph itself. */
typedef struct part_meta {
    uint8_t *policy;        /* aot_policy, changed by cleanup and forced saves */
    int32_t *ac_graph_id;   /* -1 = none */
    uint8_t *backward_made; /* partitioner_tag is_backward */
    uint8_t *must_side;     /* 0, or PART_MUST_FW, PART_MUST_BW of epilogue copy_ */
    uint32_t *part;         /* AOT_PART_* of the operator and PART_IS_* */
} part_meta;

enum { PART_MUST_FW = 1, PART_MUST_BW = 2 };

/* Beside the AOT_PART_* bits: operators that rules ask for by name, looked up once. */
enum {
    PART_IS_CAT = 1 << 16,
    PART_IS_AUTO_FUNCTIONALIZED = 1 << 17,
    PART_IS_TRITON = 1 << 18,
    PART_IS_COLLECTIVE = 1 << 19,
    PART_IS_MUTABLE = 1 << 20,
    PART_IS_SEEDED = 1 << 21,
    PART_IS_GETITEM = 1 << 22,
    PART_IS_COPY = 1 << 23, /* aten.copy_ */
    PART_IS_EMPTY = 1 << 24,
    PART_IS_ALIAS = 1 << 25, /* its value shares memory with its first input */
    PART_IS_MUTATION = 1 << 26, /* Inductor's is_mutation_op */
    PART_IS_WAIT = 1 << 27,
    PART_IS_EFFECTS = 1 << 28,
    PART_IS_LIFT_FRESH = 1 << 29,
    PART_IS_KNOWN = 1u << 31 /* the cell of the cache is filled */
};

typedef struct part {
    aot_ctx *ctx;
    const aot_config *config;
    const aot_partition_in *in;
    aot_arena *scratch;
    const aot_graph *g; /* linked */
    part_meta m;        /* of g */
    int n_fw_out;
    uint32_t epilogue; /* nodes from here on were made after the backward */
    aot_partition *out;
    aot_err *err;
    /* classification */
    uint8_t *required_fw, *required_bw, *tangents_closure, *is_static;
    int32_t *fw_order;
    int64_t *dist;
    aot_node_id *inputs; /* primals, then forward seeds and offsets */
    uint32_t n_inputs;
    uint8_t *banned; /* by the last cut */
    uint32_t *class_of_op; /* cache, by aot_op_id */
    bool recomputes, recomputes_rng; /* before tags are cleaned up */
} part;

/* ---- facts.c ---- */
bool part_is_tangent(const aot_graph *g, const aot_node *n);
bool part_is_primal(const aot_graph *g, const aot_node *n);
bool part_is_fwd_seed(const aot_graph *g, const aot_node *n);
bool part_is_bwd_seed(const aot_graph *g, const aot_node *n);
bool part_is_sym(const aot_graph *g, const aot_node *n);
bool part_is_tensor(const aot_graph *g, const aot_node *n);
bool part_must_recompute(uint8_t policy);
bool part_target_is(const aot_graph *g, const aot_node *n, const char *target);
/* torch.fx Node.is_impure */
bool part_is_impure(const aot_graph *g, const aot_node *n, bool impure_random);
bool part_is_seeded(const aot_graph *g, const aot_node *n); /* Tag.nondeterministic_seeded */
bool part_is_view(const part *p, aot_node_id id);
bool part_must_be_in_forward(const part *p, aot_node_id id);
bool part_must_be_in_backward(const part *p, aot_node_id id);
uint32_t part_class_of(part *p, const aot_node *n);
/* The change that is tried on a node; NULL if none. */
const aot_what_if *part_what_if(const part *p, const aot_node *n);
/* Storage group of each node's value; equal = memory shared. Mirrors what fake tensors alias. */
uint32_t *part_storages(const part *p);
/* donated.c: saved values that the backward may overwrite, once both modules are built. */
void part_find_donated(part *p);
/* Effect tokens that the forward takes, and returns before its other outputs. */
uint32_t part_count_tokens(const aot_graph *g);
/* Forward outputs in a joint graph's output list. */
int part_count_forward_outputs(const aot_graph *g);
/* Items of the returned list and their number. */
const aot_arg *part_outputs(const aot_graph *g, uint32_t *n);

/* ---- boundary.c: who made a node, forward or backward trace ---- */
void part_mark_backward(part *p);

/* ---- cleanup.c: dead code elimination and CSE make a new p->g with p->m, if anything changes ---- */
void part_meta_init(part *p);
void part_clean(part *p);

/* ---- tags.c ---- */
bool part_has_recomputable(const part *p);
bool part_has_recomputable_rng(const part *p);
void part_cleanup_tags(part *p, bool default_partition);
void part_force_saves(part *p);

/* ---- classify.c ---- */
AOT_NODISCARD aot_status part_classify(part *p);
void part_distances(part *p);

/* ---- plan.c: a module as a list of nodes, before it is built ---- */
typedef AOT_VEC(aot_node_id) part_ids;
typedef enum part_which { PART_FORWARD, PART_BACKWARD } part_which;

enum { PART_ABSENT, PART_INPUT, PART_BODY };

/* Which nodes of g make a module, in which order, and what it returns. */
typedef struct part_plan {
    const aot_graph *g;   /* linked */
    part_ids order;       /* inputs, then the body */
    uint32_t n_inputs;
    uint8_t *state;       /* by node: PART_ABSENT ... */
    uint8_t *named;       /* state before dead nodes left; kept only where random operators recompute */
    AOT_VEC(aot_arg) outs; /* nodes of g, or constants */
    AOT_VEC(aot_str) descs; /* one an output; empty if there are none */
} part_plan;
void part_plan_free(part_plan *x);
/* Nodes between inputs and outputs that this side may have, dead ones left out. *unused (may be
 * NULL): by node, 1 for inputs that nothing reads. */
AOT_NODISCARD aot_status part_plan_make(const part *p, part_plan *out, const part_ids *inputs,
                                        const aot_arg *outs, const aot_str *descs, uint32_t n_outs,
                                        part_which which, uint8_t *unused);
/* Plans of both modules; saved and saved_sym lose what the backward does not read and gain the
 * symbols that it needs. */
AOT_NODISCARD aot_status part_plan_modules(part *p, part_ids *saved, part_ids *sym, part_plan *fw, part_plan *bw);
/* Collectives that nobody reads leave, waits included (the default partitioner's last step). */
void part_drop_dead_collectives(const part *p, part_plan *x);
/* Builds the graph of a plan: inputs become placeholders of the value's name. */
aot_graph *part_plan_build(const part *p, const part_plan *x);
/* The plan that a built graph is: all its nodes in order. */
void part_plan_of_graph(part_plan *out, aot_graph *g);

/* ---- symbols.c ---- */
void part_complete_symbols(const part *p, const part_ids *saved, part_ids *sym);

/* ---- mincut.c, fusible.c ---- */
typedef struct part_cut_options {
    bool used_far_apart, long_fusible_chains, materialized_backward, not_in_allowlist, reduction;
} part_cut_options;
/* An operator of a library other than PyTorch's own. */
bool part_is_custom(const part *p, aot_node_id id);
bool part_fusible(const part *p, aot_node_id a, aot_node_id b);
bool part_is_materialized(const part *p, aot_node_id id);
/* saved: ids in graph order. record: fill p->out's node facts from this cut. dont_ban may be NULL. */
AOT_NODISCARD aot_status part_solve(part *p, const part_cut_options *o, const uint8_t *dont_ban,
                                    bool record, part_ids *saved);
AOT_NODISCARD aot_status part_choose_saved(part *p, part_ids *saved);
double part_gigabytes(const part *p, const aot_node_id *ids, size_t n);
void part_save_inputs(const part *p, part_ids *saved);
/* ---- budget.c: the last rung, a knapsack over the banned values and a fourth cut. p->banned is the
 * third cut's; range is the gigabytes between the inputs and the default cut. */
AOT_NODISCARD aot_status part_spend_budget(part *p, const part_cut_options *o, double range, part_ids *saved);
/* ---- chains.c: the two heuristics on distance along fusible chains ---- */
typedef void (*part_ban_fn)(void *arg, aot_node_id id, aot_ban reason);
void part_ban_used_far_apart(const part *p, const uint8_t *banned, part_ban_fn ban, void *arg);
void part_ban_long_chains(const part *p, const uint8_t *banned, part_ban_fn ban, void *arg);
/* ---- unbounded.c: an infinite cut in words ---- */
aot_status part_explain_unbounded(const part *p, const uint32_t *path, uint32_t n_path);

/* ---- default.c: what the default partitioner saves ---- */
AOT_NODISCARD aot_status part_choose_default(part *p, part_ids *saved, part_ids *sym);

/* ---- rng.c, order.c: both work on plans ---- */
AOT_NODISCARD aot_status part_functionalize_rng(part *p, part_plan *fw, part_plan *bw, uint32_t n_sym);
void part_reorder_backward(part_plan *bw);
void part_raise_getitems(part_plan *x);

#endif
