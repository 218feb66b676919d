/* 0-1 knapsacks, as PyTorch's memory budget solves them: which values to keep at most runtime.
 * Mirrors torch/_functorch/_activation_checkpointing/knapsack.py. */
#ifndef AOT_PARTITION_KNAPSACK_H
#define AOT_PARTITION_KNAPSACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* memory: shares of the budgeted range; runtime: what recomputing costs; both n long. */
typedef struct aot_knapsack {
    const double *memory, *runtime;
    uint32_t n;
    double max_memory;
} aot_knapsack;

/* The choice. Both lists have room for n entries; PyTorch's own order. */
typedef struct aot_knapsack_choice {
    uint32_t *saved, *recomputed;
    uint32_t n_saved, n_recomputed;
    double runtime; /* of what is saved */
} aot_knapsack_choice;

/* solver: "greedy" (by runtime over memory), "dp" (memory in 1/10000, runtimes as float32),
 * "dp_knapsack_sliding_hirschberg" (the same in less memory; PyTorch's version may exceed the
 * capacity by one unit a split, and so does this).
 * Errors: E_RANGE (greedy with an item of no memory, as in PyTorch), E_UNSUPPORTED (other solvers).
 * Cost: O(n log n); O(n * capacity * 10000). */
AOT_NODISCARD aot_status aot_knapsack_solve(aot_knapsack_choice *out, const aot_knapsack *k,
                                            const char *solver, aot_err *err);
bool aot_knapsack_known(const char *solver);

#endif
