/* Shared by the files of this folder: facts about nodes, and the steps of a partition in order. */
#ifndef AOT_PARTITION_INTERNAL_H
#define AOT_PARTITION_INTERNAL_H

#include "partition/partition.h"
#include "partition/steps.h"

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

/* Facts of a cleaned graph that no setting, tag or weight changes; arrays by node. */
enum {
    PART_WEIGHED = 1 << 0,     /* a tensor: its weight is `heavy` */
    PART_LOOSE = 1 << 1,       /* materialized: some user cannot be fused with it */
    PART_BW_LOOSE = 1 << 2,    /* the backward must have it in memory */
    PART_SMALL = 1 << 3,       /* four times smaller than what it is made from */
    PART_SYM_FLOAT = 1 << 4,
    PART_PRIMAL = 1 << 5,
    PART_SEED = 1 << 6,
    PART_CALL = 1 << 7         /* call_function, no getitem */
};

typedef struct part_static {
    int64_t *bytes;
    double *flops;
    uint32_t *storage;
    uint8_t *from_static; /* computed from parameters and buffers alone */
    uint8_t *bits;        /* PART_WEIGHED ... */
    /* bytes x 1.1^distance, doubled if it need not exist; else the fixed weight */
    int64_t *heavy;
    uint8_t *fusible;     /* by edge of g->user: with that user */
    /* users that lie far from another user of their input, in PyTorch's order */
    aot_node_id *far;
    uint32_t n_far;
    aot_node_id *node_of_order; /* by fw_order */
    uint32_t *of_name;    /* by aot_str: 1 + node */
    uint32_t n_names;
    bool needs_bw;        /* something is required in the backward */
} part_static;

/* A cut under one set of bans. */
typedef struct part_cut {
    uint8_t *ban, *ban_asked; /* aot_ban; ban != 0: banned */
    int64_t value;
    uint32_t n_vertices, n_edges;
    AOT_VEC(aot_node_id) saved; /* in graph order */
} part_cut;

typedef struct part {
    aot_ctx *ctx;
    const aot_config *config;
    const aot_partition_in *in;
    aot_arena *scratch;
    aot_arena *result; /* of *out */
    aot_arena *keep; /* of the facts that outlive a step: of the front while that is made */
    const part_static *st;
    struct part_memo *memo; /* cuts and knapsacks of earlier solves; NULL: none */
    const struct aot_times *times; /* NULL: none are given */
    const aot_what_if *tags; /* sorted by name */
    uint32_t n_tags;
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
    int64_t *weight;  /* capacity in -> out as aot_node_info has it */
    uint8_t *sink;    /* aot_sink */
    uint8_t *loose;   /* PyTorch asked whether it is materialized, and it is */
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

/* ---- cleanup.c: dead code elimination and CSE make a new p->g with p->m, if anything changes - */
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
    /* state before dead nodes left; kept only where random operators recompute */
    uint8_t *named;
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
AOT_NODISCARD aot_status part_plan_modules(part *p, part_ids *saved, part_ids *sym, part_plan *fw,
                                           part_plan *bw);
/* Collectives that nobody reads leave, waits included (the default partitioner's last step). */
void part_drop_dead_collectives(const part *p, part_plan *x);
/* Builds the graph of a plan: inputs become placeholders of the value's name. */
aot_graph *part_plan_build(const part *p, const part_plan *x);
/* The plan that a built graph is: all its nodes in order. */
void part_plan_of_graph(part_plan *out, aot_graph *g);

/* ---- symbols.c ---- */
void part_complete_symbols(const part *p, const part_ids *saved, part_ids *sym);

/* ---- front.c: what is found once ---- */
/* Cleans and classifies p->g and finds p->st; all of it is in p->keep. */
AOT_NODISCARD aot_status part_front(part *p, bool by_default);

/* ---- partition.c ---- */
/* E_PIPELINE where one who watches asked to stop. */
AOT_NODISCARD aot_status part_goes_on(const part *p, part_at at);
/* From the front to a partition in p->out (zeroed), whose graphs belong to the context. by_default:
 * asked for the default partitioner. */
AOT_NODISCARD aot_status part_cut_in_two(part *p, bool by_default);

/* ---- edits.c ---- */
struct aot_unit_edit;
/* Adds the tags of one line to a list sorted by name, as the partition shows the nodes.
 * Errors: E_USAGE (it matches nothing). */
AOT_NODISCARD aot_status part_tag_edit(aot_what_if **tags, uint32_t *n_tags,
                                       const struct aot_unit_edit *e, const aot_partition *p,
                                       const char *const *modules, aot_arena *a, aot_err *err);
/* Both sorted by name; where both have one the newer wins, but keeps the older one's weight if it
 * has none, and its tag. */
void part_merge_tags(aot_what_if **list, uint32_t *n_list, const aot_what_if *newer, uint32_t n,
                     aot_arena *a);

/* ---- fusible.c ---- */
/* An operator of a library other than PyTorch's own. */
bool part_is_custom(const part *p, aot_node_id id);
bool part_fusible(const part *p, aot_node_id a, aot_node_id b);
bool part_is_materialized(const part *p, aot_node_id id);

/* ---- mincut.c: weights, bans and the cut itself ---- */
typedef struct part_cut_options {
    bool used_far_apart, long_fusible_chains, materialized_backward, not_in_allowlist, reduction;
} part_cut_options;
void part_weigh(part *p); /* p->weight, sink, loose: the same for every cut of a solve */
/* Arrays of *out are in a; its list is freed with part_cut_free. dont_ban may be NULL. */
AOT_NODISCARD aot_status part_solve(part *p, const part_cut_options *o, const uint8_t *dont_ban,
                                    part_cut *out, aot_arena *a);
/* c->n_vertices and n_edges, which only the first cut of a ladder tells: not worth a walk for
 * each. */
void part_measure_network(const part *p, part_cut *c);
void part_cut_free(part_cut *c);

/* ---- network.c: the cut of the graph's flow network, without building it ---- */
typedef struct part_network {
    const aot_graph *g;     /* linked */
    const int64_t *weight;  /* in -> out; AOT_WEIGHT_INF; -1: no edge out of the node at all */
    const uint8_t *banned;  /* source -> in, infinite */
    const uint8_t *sink;    /* aot_sink: in or out -> sink, infinite */
    const uint8_t *sinks;   /* part_network_sinks of these weights and sinks; NULL: found anew */
} part_network;
/* What reaches the sink whatever is banned; freed by the caller. */
uint8_t *part_network_sinks(const part_network *x);
/* Nodes whose edge in -> out is cut, ascending; value of the cut.
 * Errors: E_UNBOUNDED (without a message), E_RANGE. */
AOT_NODISCARD aot_status part_network_cut(const part_network *x, int64_t *value, part_ids *cut,
                                          aot_err *err);

/* ---- ladder.c: the rungs of the budget ---- */
AOT_NODISCARD aot_status part_choose_saved(part *p, part_ids *saved);
double part_gigabytes(const part *p, const aot_node_id *ids, size_t n);
void part_save_inputs(const part *p, part_ids *saved);
/* This cut decides: its edges are what is saved, and told with its bans in p->out. */
void part_take_cut(part *p, part_ids *saved, const part_cut *c);
/* Kept from one solve to the next; zeroed at first. */
typedef struct part_memo part_memo;
part_memo *part_memo_new(void);
void part_memo_free(part_memo *m);
size_t part_memo_bytes(const part_memo *m);
/* The knapsack's table, for budget.c. */
struct aot_knapsack_memo *part_memo_knapsack(part_memo *m);
/* part_network_sinks, the same in all cuts of a ladder. */
const uint8_t *part_memo_sinks(const part *p);
/* ---- budget.c: the last rung, a knapsack over what the third cut bans and a fourth cut. range is
 * the gigabytes between the inputs and the default cut. */
AOT_NODISCARD aot_status part_spend_budget(part *p, const part_cut_options *o,
                                           const uint8_t *banned, double range, part_ids *saved);
/* ---- chains.c: the two heuristics on distance along fusible chains ---- */
typedef void (*part_ban_fn)(void *arg, aot_node_id id, aot_ban reason);
/* Fills st->far, with st->fusible and node_of_order there; in a. */
void part_find_far(const part *p, part_static *st, aot_arena *a);
void part_ban_long_chains(const part *p, const uint8_t *banned, part_ban_fn ban, void *arg);
/* ---- unbounded.c: an infinite cut in words ---- */
/* path as aot_flow_min_cut gives it; ban: aot_ban by node. */
aot_status part_explain_unbounded(const part *p, const uint32_t *path, uint32_t n_path,
                                  const uint8_t *ban);

/* ---- default.c: what the default partitioner saves ---- */
AOT_NODISCARD aot_status part_choose_default(part *p, part_ids *saved, part_ids *sym);

/* ---- rng.c, order.c: both work on plans ---- */
AOT_NODISCARD aot_status part_functionalize_rng(part *p, part_plan *fw, part_plan *bw,
                                                uint32_t n_sym);
void part_reorder_backward(part_plan *bw);
void part_raise_getitems(part_plan *x);

#endif
