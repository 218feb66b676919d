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
    uint32_t *part;         /* AOT_PART_* of the operator */
} part_meta;

enum { PART_MUST_FW = 1, PART_MUST_BW = 2 };

typedef struct part {
    aot_ctx *ctx;
    const aot_config *config;
    const aot_partition_in *in;
    aot_arena *scratch;
    const aot_graph *g; /* linked */
    part_meta m;        /* of g */
    int n_fw_out;
    aot_partition *out;
    aot_err *err;
    /* classification */
    uint8_t *required_fw, *required_bw, *tangents_closure, *is_static;
    int32_t *fw_order;
    int64_t *dist;
    aot_node_id *inputs; /* primals, then forward seeds and offsets */
    uint32_t n_inputs;
    uint8_t *banned; /* by the last cut */
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
bool part_is_collective(const aot_graph *g, const aot_node *n);
bool part_is_mutable(const aot_graph *g, const aot_node *n); /* OpOverload whose schema mutates */
bool part_is_effects(const aot_graph *g, const aot_node *n); /* with_effects */
bool part_target_is(const aot_graph *g, const aot_node *n, const char *target);
/* torch.fx Node.is_impure */
bool part_is_impure(const aot_graph *g, const aot_node *n, bool impure_random);
bool part_is_seeded(const aot_graph *g, const aot_node *n); /* Tag.nondeterministic_seeded */
bool part_is_view(const part *p, aot_node_id id);
bool part_must_be_in_forward(const part *p, aot_node_id id);
bool part_must_be_in_backward(const part *p, aot_node_id id);
uint32_t part_class_of(aot_ctx *c, const aot_node *n);
/* Storage group of each node's value; equal = memory shared. Mirrors what fake tensors alias. */
uint32_t *part_storages(const part *p);
/* Forward outputs in a joint graph's output list. */
int part_count_forward_outputs(const aot_graph *g);
/* Items of the returned list and their number. */
const aot_arg *part_outputs(const aot_graph *g, uint32_t *n);

/* ---- boundary.c: who made a node, forward or backward trace ---- */
void part_mark_backward(part *p);

/* ---- cleanup.c: dead code elimination and CSE; both make a new p->g with p->m ---- */
void part_meta_init(part *p);
void part_dce(part *p);
void part_cse(part *p);
/* DCE of any graph: impure tells what stays; keeps names. Returns a new linked graph. */
typedef bool (*part_impure_fn)(const aot_graph *g, const aot_node *n, void *arg);
aot_graph *part_eliminate_dead(const aot_graph *g, part_impure_fn impure, void *arg, aot_node_id *map);

/* ---- tags.c ---- */
bool part_has_recomputable(const part *p);
bool part_has_recomputable_rng(const part *p);
void part_cleanup_tags(part *p, bool default_partition);
void part_force_saves(part *p);

/* ---- classify.c ---- */
AOT_NODISCARD aot_status part_classify(part *p);
void part_distances(part *p);

/* ---- extract.c ---- */
typedef struct part_side {
    aot_graph *g;        /* linked */
    aot_namespace *ns;   /* names given, those of removed nodes included */
} part_side;
typedef enum part_which { PART_FORWARD, PART_BACKWARD } part_which;
AOT_NODISCARD aot_status part_extract(const part *p, part_side *out, const aot_node_id *inputs,
                                      uint32_t n_inputs, const aot_arg *outputs, const aot_str *descs,
                                      uint32_t n_outputs, part_which which);
void part_side_free(part_side *s);
typedef AOT_VEC(aot_node_id) part_ids;
AOT_NODISCARD aot_status part_extract_modules(part *p, part_ids *saved, part_ids *saved_sym,
                                              part_side *fw, part_side *bw);

/* ---- mincut.c, fusible.c ---- */
typedef struct part_cut_options {
    bool used_far_apart, long_fusible_chains, materialized_backward, not_in_allowlist, reduction;
} part_cut_options;
bool part_fusible(const part *p, aot_node_id a, aot_node_id b);
bool part_is_materialized(const part *p, aot_node_id id);
/* saved: ids in graph order. record: fill p->out's node facts from this cut. dont_ban may be NULL. */
AOT_NODISCARD aot_status part_solve(part *p, const part_cut_options *o, const uint8_t *dont_ban,
                                    bool record, part_ids *saved);
AOT_NODISCARD aot_status part_choose_saved(part *p, part_ids *saved);
/* ---- chains.c: the two heuristics on distance along fusible chains ---- */
typedef void (*part_ban_fn)(void *arg, aot_node_id id, aot_ban reason);
void part_ban_used_far_apart(const part *p, const uint8_t *banned, part_ban_fn ban, void *arg);
void part_ban_long_chains(const part *p, const uint8_t *banned, part_ban_fn ban, void *arg);
/* ---- unbounded.c: an infinite cut in words ---- */
aot_status part_explain_unbounded(const part *p, const uint32_t *path, uint32_t n_path);

/* ---- default.c ---- */
AOT_NODISCARD aot_status part_default(part *p, part_side *fw, part_side *bw, part_ids *saved, part_ids *saved_sym);

/* ---- rng.c, order.c ---- */
AOT_NODISCARD aot_status part_functionalize_rng(part *p, part_side *fw, part_side *bw, uint32_t n_sym);
void part_reorder_backward(part *p, part_side *bw);
void part_raise_getitems(part_side *s);
void part_drop_dead_collectives(part_side *s);

#endif
