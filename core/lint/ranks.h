/* Whether all ranks compiled the same: units of one compile id side by side, the first rank's as
 * the measure. Where the input does not tell ranks, its files take their place, so that two runs
 * are compared in the same way. */
#ifndef AOT_LINT_RANKS_H
#define AOT_LINT_RANKS_H

#include "base/vec.h"
#include "ir/diff.h"
#include "session/model.h"

typedef enum aot_rank_verdict { /* from best to worst */
    AOT_RANK_SAME,
    AOT_RANK_SIZES,   /* the same operators on the same operands; sizes or types are others */
    AOT_RANK_DIFFERS,
    AOT_RANK_UNKNOWN  /* it cannot be had on one of the two */
} aot_rank_verdict;
/* "same", "other sizes", "differs", "unknown" */
const char *aot_rank_verdict_name(aot_rank_verdict v);

#define AOT_RANK_MISSING SIZE_MAX

/* What one rank has of a group. All but `unit` is of the comparison with the group's first one. */
typedef struct aot_rank_unit {
    size_t rank;             /* in aot_ranks.ranks */
    size_t unit;             /* AOT_RANK_MISSING: this rank has no such unit */
    bool first, compared;
    aot_rank_verdict graph, saved, collectives;
    /* of the graphs that `graph` is about; AOT_N_STAGES if all are the same */
    aot_stage stage;
    aot_diff_counts counts;  /* of these */
    uint32_t n_saved;        /* values, without symbols */
    uint32_t n_saved_sym;
    int64_t saved_bytes;     /* of all saved values; -1: no partition */
    uint32_t saved_less, saved_more; /* saved by the first one only, by this one only */
    size_t n_collectives;
    size_t place;            /* from 1: the first collective that is another one; 0: none */
    /* what stands there on the first one and here; NULL: nothing any more */
    const char *theirs, *ours;
} aot_rank_unit;

typedef struct aot_rank_group {
    const char *label; /* "[0/0]" */
    const char *title; /* of the user's function; "" if unknown */
    size_t begin, end; /* in aot_ranks.units: one a rank, the first that has it first */
} aot_rank_group;

typedef struct aot_ranks {
    aot_arena *arena; /* texts */
    AOT_VEC(const char *) ranks; /* "rank 0"; where ranks are not told, the file */
    AOT_VEC(aot_rank_group) groups; /* in the order of the input */
    AOT_VEC(aot_rank_unit) units;
    size_t next; /* of units: to be compared */
} aot_ranks;

/* Finds the groups; nothing is compared yet. The model outlives *out. Cost: n log n of the
 * units. */
void aot_ranks_init(aot_ranks *out, aot_model *m);
void aot_ranks_free(aot_ranks *r);
/* Compares one more unit; false when all are. Cost: that of their stages, partitions and diffs. */
bool aot_ranks_step(aot_ranks *r, aot_model *m);
/* The worst of a unit: a missing one differs, and so does one with another saved set. What is
 * unknown on both sides does not count. */
aot_rank_verdict aot_rank_unit_verdict(const aot_rank_unit *u);

#endif
