/* Why the partitioner did with a value what it did, and what would change it: the rules that
 * applied with their numbers, the values that hold it, and single changes tried out by cutting
 * again. PyTorch has nothing of the kind; the rules are those of partitioners.py:solve_min_cut. */
#ifndef AOT_PARTITION_EXPLAIN_H
#define AOT_PARTITION_EXPLAIN_H

#include "base/vec.h"
#include "partition/partition.h"

/* One change, tried. */
typedef struct aot_change {
    const char *what;        /* "recompute_views=True", "tag MUST_SAVE" */
    aot_verdict verdict;     /* of the value then */
    int64_t saved_bytes;     /* of the tensors of the whole partition then */
    double recompute_flops;
    bool failed;             /* no partition is possible then; the message: */
    const char *failure;
} aot_change;

/* One edge of the network of the cut that decided. */
typedef struct aot_net_edge {
    /* equal: the value's own edge in -> out; AOT_NO_NODE: the source, the sink */
    aot_node_id from, to;
    int64_t capacity;     /* AOT_WEIGHT_INF: cannot be cut */
    bool cut;
    const char *why;      /* of the capacity: "reduction op", "the backward needs its value" */
} aot_net_edge;

enum { AOT_NO_CHANGE = -1 };

/* Neighbouring memory budgets at which the value ends the same, in thousandths. */
typedef struct aot_budget_range {
    /* the lowest and highest that was cut with this end; one step beyond `to` the next begins */
    int from, to;
    aot_verdict verdict;
    bool failed;  /* the graph cannot be cut there */
} aot_budget_range;

typedef struct aot_explain {
    const aot_partition *p;
    aot_node_id id; /* in p->cut */
    /* weight = bytes * 1.1^near * (materialized ? 1 : 2), if `weighed` */
    bool weighed;
    int64_t near;        /* steps to the backward, 1 to 100 */
    /* A cut decides: the value is saved while its weight is below the limit, else not. -1: a
     * knapsack or no cut decided, or another cut would with that weight; the weight says nothing,
     * or it is AOT_WEIGHT_INF: whatever the weight. */
    int64_t weight_limit;
    AOT_VEC(aot_node_id) saved_above; /* recomputed: the saved values it is made from again */
    /* nodes of the backward that read it, or what is made of it by views */
    AOT_VEC(aot_node_id) readers;
    AOT_VEC(aot_change) changes;      /* each tag, and each setting that decides about bans */
    /* The least that flips it: another weight (-1: none does, or another rung decided) with the
     * verdict then; and one of `changes`, a tag if one does, or AOT_NO_CHANGE. */
    int64_t flip_weight;
    aot_verdict flip_verdict;
    int flip_change;
    /* A shortest chain of edges from the source through the value to the sink, and the values whose
     * edges are cut next to it, above or below. Empty: no cut decided, or no chain is there;
     * has_source, has_sink: which end the chain reaches. */
    AOT_VEC(aot_net_edge) path;
    bool has_source, has_sink;
    AOT_VEC(aot_node_id) around;
    /* the value, then on to the nearest it is made from that has a source line; empty: none has */
    AOT_VEC(aot_node_id) source;
    /* ascending, from 0 to 1000; empty until aot_explain_budgets_step found them all */
    AOT_VEC(aot_budget_range) budgets;
    uint32_t item;               /* its row among p->items; UINT32_MAX: none */
    struct explain_trials *trials; /* what is still to be tried, and who cuts */
} aot_explain;

/* Cuts the graph as it is and finds what follows from that; what changes would do is found by
 * aot_explain_step, the budgets by aot_explain_budgets_step, one cut each time. name: of a node in
 * the joint graph (a value that CSE merged away is not found). in is copied, what it points to is
 * borrowed until aot_explain_free; the graph that is cut and all texts belong to in->joint->ctx.
 * Errors: those of aot_partition_run; E_USAGE (no such value: names near ones). */
AOT_NODISCARD aot_status aot_explain_start(aot_explain *out, const aot_partition_in *in,
                                           const aot_config *config, const char *name,
                                           aot_err *err);
/* Tries the next change. False: all were tried, or one who watches stopped this one
 * (aot_progress_stopped), which is then tried by the next call. */
bool aot_explain_step(aot_explain *x);
/* The next budget: 41 are cut, and between neighbours that differ it is bisected down to 0.001. At
 * any time after aot_explain_start. False as above. */
bool aot_explain_budgets_step(aot_explain *x);
/* Start and all steps. Cost: about fifteen cuts by one partitioner. */
AOT_NODISCARD aot_status aot_explain_node(aot_explain *out, const aot_partition_in *in,
                                          const aot_config *config, const char *name, aot_err *err);
/* How the value ends at each memory budget. Cost: 41 cuts, and ten for each change. */
void aot_explain_budgets(aot_explain *x);
void aot_explain_free(aot_explain *x);

#endif
