/* The partitioner: a joint graph in, forward and backward graphs out, with the reason for each
 * value.
 * Mirrors torch/_functorch/partitioners.py (2.11): min_cut_rematerialization_partition and
 * default_partition. */
#ifndef AOT_PARTITION_PARTITION_H
#define AOT_PARTITION_PARTITION_H

#include "ir/graph.h"
#include "pipeline/config.h"

typedef enum aot_verdict {
    AOT_V_SAVED,         /* forward keeps it for the backward */
    AOT_V_RECOMPUTED,    /* in both graphs */
    AOT_V_FORWARD_ONLY,
    AOT_V_BACKWARD_ONLY,
    AOT_V_DEAD           /* in neither */
} aot_verdict;
const char *aot_verdict_name(aot_verdict v); /* "saved", "recomputed", "forward only", ... */

typedef enum aot_sink { AOT_SINK_NONE, AOT_SINK_IN, AOT_SINK_OUT } aot_sink;

/* Why a node must not be recomputed. Rows of bans.def: PyTorch's own strings. */
typedef enum aot_ban {
    AOT_BAN_NONE,
#define BAN(id, text, sentence) AOT_BAN_##id,
#include "partition/bans.def"
#undef BAN
    AOT_N_BANS
} aot_ban;
const char *aot_ban_text(aot_ban b);     /* "reduction op"; NULL for NONE */
const char *aot_ban_sentence(aot_ban b); /* the rule in plain words */

/* Which cut decided. Rows of rungs.def. */
typedef enum aot_rung {
#define RUNG(id, text, sentence) AOT_RUNG_##id,
#include "partition/rungs.def"
#undef RUNG
    AOT_N_RUNGS
} aot_rung;
const char *aot_rung_text(aot_rung r); /* "one cut" */
const char *aot_rung_sentence(aot_rung r);

#define AOT_WEIGHT_INF INT64_MAX

enum { AOT_N_CUTS = 3 }; /* of the memory budget's ladder */

/* One node of the graph that was cut. */
typedef struct aot_node_info {
    int64_t bytes;      /* partitioners.py:_size_of */
    int64_t weight;     /* capacity in -> out; AOT_WEIGHT_INF; -1: the node has no such edge */
    int64_t dist;       /* steps to the nearest backward node; 1e9 = never used there */
    int32_t fw_order;   /* position among required forward nodes; -1 = not one */
    uint8_t ban;        /* aot_ban: the edge source -> in */
    uint8_t ban_asked;  /* aot_ban found, even where a tag or a view overruled it */
    uint8_t sink;       /* aot_sink */
    uint8_t verdict;    /* aot_verdict */
    uint8_t policy;     /* aot_policy after cleanup and forced saves */
    uint8_t asked;      /* aot_policy before them: the graph's, or an edit's */
    bool required_fw, required_bw, tangent_closure;
    bool materialized;  /* some user cannot be fused with it: weight is not doubled */
    bool backward_made; /* made by the backward trace (side mark) */
    bool is_static;     /* parameter or buffer, or computed from these alone */
} aot_node_info;

/* One change to try: another weight for the edge of a value, another tag on a node, or both. */
typedef struct aot_what_if {
    aot_str name;     /* of a node of the joint graph; names outlive its cleaning */
    int64_t weight;   /* AOT_WEIGHT_INF is possible; -1: the graph's */
    bool sets_policy; /* the tag is `policy`, AOT_POLICY_NONE to take it away */
    uint8_t policy;
} aot_what_if;

typedef struct aot_partition_in {
    const aot_graph *joint;
    int n_forward_outputs;  /* -1: from the descriptors, else outputs less one for each primal */
    const int *static_inputs; /* indices among primals; NULL with -1: none known */
    int n_static_inputs;
    /* Storage groups of primals: storage[i] equal = memory shared; NULL: all apart. */
    const int *primal_storage;
    int n_primal_storage;
    const aot_what_if *what_if; /* sorted by name; NULL: the graph as it is */
    uint32_t n_what_if;
    /* Edits (edits.h) of nodes, applied before what_if, which goes over them; NULL: none. Their
     * settings are the caller's business (aot_edits_configure). */
    const struct aot_unit_edits *edits;
    /* by primal: "layers.0.weight" or NULL, for `module:`; NULL: not known */
    const char *const *param_paths;
    uint32_t n_param_paths;
} aot_partition_in;

/* A value that the knapsack of the budget could save or have recomputed. */
typedef struct aot_budget_item {
    aot_node_id node; /* in the graph that was cut */
    double memory;    /* share of the range between the inputs and the first cut */
    double runtime;   /* what recomputing costs: flops, 1, or milliseconds */
    bool saved;
} aot_budget_item;

typedef struct aot_partition {
    aot_config config;     /* as used */
    aot_graph *cut;        /* stage joint_cse: the graph that was cut */
    aot_graph *forward, *backward; /* not linked: call aot_graph_link to ask for users */
    aot_node_info *nodes;  /* one for each node of cut */
    uint32_t n_nodes;
    aot_node_id *saved;    /* ids in cut, in PyTorch's order */
    uint32_t n_saved;
    /* by place in saved: bytes, 0 where an input or an earlier one has the storage */
    int64_t *saved_own;
    aot_node_id *saved_sym; /* symbolic sizes, in order */
    uint32_t n_saved_sym;
    /* saved values that the backward may overwrite, counted after the symbols */
    int *donated;
    int n_donated;
    /* weight of each cut in all, in the order they are tried; -1: not run */
    int64_t cut_values[AOT_N_CUTS];
    /* which of them the saved values are of; -1: none, or a knapsack went on from it */
    int decided_by;
    int64_t saved_bytes;   /* sum over saved and saved_sym of bytes */
    /* sum of saved_own: without what aliases a primal, each storage once */
    int64_t saved_new_bytes;
    /* of what is in both modules, as PyTorch counts flops (rules/flops.h) */
    double recompute_flops;
    aot_budget_item *items; /* of the knapsack, largest first; NULL: another rung decided */
    uint32_t n_items;
    double items_saved;    /* memory of the items that are saved, as the solver counts it */
    bool over_capacity;    /* more than the budget: PyTorch's known fault (hirschberg) */
    /* of the same nodes as recompute_flops, by measured times; -1: no times */
    double recompute_ms;
    /* The cut that decided, by node; NULL: none did (inputs only, the default partition). The bans
     * of the nodes above are the first cut's, and a budget may have lifted some of them. */
    uint8_t *cut_ban;      /* aot_ban */
    uint8_t *cut_edge;     /* 1: in -> out is in the cut */
    const char *rung;      /* "one cut", "inputs only", "default partition", ... static text */
    uint32_t n_vertices, n_edges; /* of the network */
    int n_forward_outputs;
    bool used_default_partition; /* asked for, or no node is required in the backward */
} aot_partition;

/* The ban in the cut that decided: a budget lifts the later rungs' heuristics. Of nodes of
 * p->cut. */
static inline aot_ban aot_ban_that_held(const aot_partition *p, aot_node_id id)
{
    return (aot_ban)(p->cut_ban != NULL ? p->cut_ban[id] : p->nodes[id].ban);
}

/* Cuts. Everything returned belongs to in->joint->ctx.
 * Errors: E_UNBOUNDED (the message names both ends, the chain in words and the smallest change),
 * E_GRAPH (not a joint graph), E_RANGE (budget), E_UNSUPPORTED (a knapsack solver that is not
 * built), E_IO, E_PARSE (the file of measured times), E_USAGE (an edit's selection matches
 * nothing). Cost: linear but for the flow. */
AOT_NODISCARD aot_status aot_partition_run(aot_partition **out, const aot_partition_in *in,
                                           const aot_config *config, aot_err *err);
/* k.partition.json of the command line contract; keys in order. */
json_t *aot_partition_json(const aot_partition *p, int unit);

/* saved_bytes without the symbols: what texts tell, "816 B and 1 symbol". */
static inline int64_t aot_saved_tensor_bytes(const aot_partition *p)
{
    int64_t bytes = p->saved_bytes;
    for (uint32_t i = 0; i < p->n_saved_sym; i++) {
        bytes -= p->nodes[p->saved_sym[i]].bytes;
    }
    return bytes;
}

#endif
