/* Repeats: layers that look the same, in pictures and lists. */
#ifndef AOT_VIEWERS_REPEATS_H
#define AOT_VIEWERS_REPEATS_H

#include "base/vec.h"
#include "ir/graph.h"
#include "partition/partition.h"

typedef struct aot_repeat {
    uint32_t start, length, times; /* positions in the sequence; times < 2: there is none */
} aot_repeat;

/* The stretch of equal signatures that folds most away. Cost: linear times a constant. */
aot_repeat aot_repeat_best(const uint64_t *sig, uint32_t n);

/* A repeat of a graph's nodes: those of the first one stand for the others. */
typedef struct aot_fold {
    aot_node_id first, last; /* of the first one */
    uint32_t length, times;
    bool open;               /* for the caller's use */
} aot_fold;

typedef struct aot_repeats {
    AOT_VEC(aot_fold) folds;
    /* by node: k for a node of the first one of folds.d[k - 1], -k for a copy's, 0 for none */
    int32_t *of;
} aot_repeats;

/* Finds the repeats of a graph; nodes are the same if operator, type, number of arguments and
 * verdict are (p may be NULL). Returns how many nodes are copies. Free it with aot_repeats_free. */
uint32_t aot_repeats_find(aot_repeats *out, const aot_graph *g, const aot_partition *p);
void aot_repeats_free(aot_repeats *r);

#endif
