/* What explain.c and explain_budgets.c are at, between two steps. */
#ifndef AOT_PARTITION_EXPLAIN_TRIALS_H
#define AOT_PARTITION_EXPLAIN_TRIALS_H

#include "partition/explain.h"
#include "partition/partitioner.h"

typedef struct budget_end {
    int at; /* thousandths */
    aot_verdict verdict;
    bool failed;
} budget_end;

typedef struct explain_trials {
    aot_partitioner *pr;
    aot_partition *p; /* the explanation's */
    aot_config config;
    aot_str name;
    int next;         /* of the changes: 0 is the weight */
    /* Budgets: the range found so far ends at `low`; above it, nearest last, what was cut but not
     * taken yet. */
    AOT_VEC(aot_budget_range) found;
    budget_end low, above[16]; /* one for each halving of the grid's step */
    int n_above;
    bool begun;
} explain_trials;

#endif
