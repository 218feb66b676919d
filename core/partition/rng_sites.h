/* Random sites: what draws numbers, from which generator, in which order, and whether the backward
 * draws the forward's numbers again or others.
 * Mirrors what PyTorch 2.11 does when it runs the graphs: ATen's generators, prims/rng_prims.py,
 * inductor_prims.py, partitioners.py:functionalize_rng_ops. */
#ifndef AOT_PARTITION_RNG_SITES_H
#define AOT_PARTITION_RNG_SITES_H

#include "base/vec.h"
#include "partition/partition.h"

typedef enum aot_rng_kind {
#define RNG_KIND(id, name, sentence) AOT_RNG_##id,
#define RNG_USE(id, name, sentence)
#include "partition/rng_kinds.def"
#undef RNG_KIND
#undef RNG_USE
    AOT_N_RNG_KINDS
} aot_rng_kind;

typedef enum aot_rng_use {
#define RNG_KIND(id, name, sentence)
#define RNG_USE(id, name, sentence) AOT_RNG_##id,
#include "partition/rng_kinds.def"
#undef RNG_KIND
#undef RNG_USE
    AOT_N_RNG_USES
} aot_rng_use;

const char *aot_rng_kind_name(aot_rng_kind k);
const char *aot_rng_kind_sentence(aot_rng_kind k);
const char *aot_rng_use_name(aot_rng_use u);
const char *aot_rng_use_sentence(aot_rng_use u);

typedef struct aot_rng_site {
    const aot_graph *g; /* that holds the node: the graph asked for, or a submodule of it */
    aot_node_id node;   /* in g */
    aot_node_id call;   /* in the graph asked for: the node, or the call that runs the submodule */
    const char *op;     /* operator that draws: "aten.native_dropout", also inside a wrapper */
    const char *generator; /* "cpu", "cuda:0", "fwd_rng_state_0"; "?": the text names no device */
    uint8_t kind, use;     /* aot_rng_kind, aot_rng_use */
    uint32_t
        order; /* how many times its generator is moved up to here, from 1; 0: it is not moved */
    uint32_t state; /* SAVES, RESTORES, HANDED: which of the graph's states, from 0 */
} aot_rng_site;

typedef AOT_VEC(aot_rng_site) aot_rng_sites;

/* Computes its numbers from a seed that it is given, and moves no generator. */
bool aot_rng_is_computed(aot_op_id op);
/* Appends the sites of a graph in the order in which they run; submodules where they are called.
 * Texts belong to g's context. Cost: linear. */
void aot_rng_find(aot_rng_sites *out, const aot_graph *g);

/* How two graphs draw. Sites that draw nothing count for nothing. */
typedef enum aot_rng_order {
    AOT_RNG_SAME,      /* the same operators from the same generators in the same order */
    AOT_RNG_REORDERED, /* the same operators in another order */
    AOT_RNG_OTHER      /* other operators, generators, or another number of them */
} aot_rng_order;
/* *text: one clause ("aten.native_dropout became aten.rand_like"); "" if the same. Belongs to a. */
aot_rng_order aot_rng_compare(const char **text, const aot_rng_sites *before,
                              const aot_rng_sites *after, aot_arena *a);

/* What became of a random value of the graph that was cut. */
typedef enum aot_rng_fate {
    AOT_RNG_ONCE,     /* drawn in one of the modules */
    AOT_RNG_THREADED, /* drawn in both, with the same state */
    AOT_RNG_BY_SEED,  /* computed in both from the same seed */
    AOT_RNG_REDRAWN   /* drawn in both, the second time with another state: wrong gradients */
} aot_rng_fate;
const char *aot_rng_fate_name(aot_rng_fate f); /* "once", "threaded", "by seed", "redrawn" */

enum { AOT_RNG_NOT_THERE = -1 };
typedef struct aot_rng_value {
    aot_node_id node;      /* in p->cut */
    int forward, backward; /* index into the sites of the module; AOT_RNG_NOT_THERE */
    aot_rng_fate fate;
} aot_rng_value;

typedef struct aot_rng {
    aot_rng_sites cut, forward, backward;
    AOT_VEC(aot_rng_value) values; /* one for each site of cut, in order */
    unsigned n_redrawn;
} aot_rng;

/* Free with aot_rng_free. Cost: linear. */
void aot_rng_of(aot_rng *out, const aot_partition *p);
void aot_rng_free(aot_rng *r);

#endif
