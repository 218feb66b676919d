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

/* solver: "greedy" (by runtime over memory), "dp" (memory in 1/10000, runtimes as float32), "ilp"
 * (an integer program; PyTorch asks HiGHS and this GLPK: of items alike the last are kept, as HiGHS
 * does, but answers that are equally good in other ways may differ, and both stop within 1e-4 of
 * the best), "dp_knapsack_sliding_hirschberg" (dp in less memory; PyTorch's version may exceed the
 * capacity by one unit a split, and so does this), "dynamic_memory_budget_dp" (dp at the knee of
 * the budgets below max_memory).
 * Errors: E_RANGE (a division by zero in PyTorch: greedy with an item of no memory, the knee with
 * no memory or runtime at all), E_UNSUPPORTED (no such solver, no answer from GLPK). Cost: O(n log
 * n); O(n * capacity * 10000); ilp: what GLPK needs. */
AOT_NODISCARD aot_status aot_knapsack_solve(aot_knapsack_choice *out, const aot_knapsack *k,
                                            const char *solver, aot_err *err);
/* The same, keeping dp's table: the next call with the same items (any capacity) walks back in it.
 * memo NULL: nothing is kept. */
typedef struct aot_knapsack_memo aot_knapsack_memo;
aot_knapsack_memo *aot_knapsack_memo_new(void);
void aot_knapsack_memo_free(aot_knapsack_memo *m);
size_t aot_knapsack_memo_bytes(const aot_knapsack_memo *m);
AOT_NODISCARD aot_status aot_knapsack_solve_with(aot_knapsack_memo *memo, aot_knapsack_choice *out,
                                                 const aot_knapsack *k, const char *solver,
                                                 aot_err *err);
/* dp's unit of memory: 1/10000, rounded as Python rounds. */
int64_t aot_knapsack_units(double memory);
/* The solvers' names, i = 0, 1, ...; NULL behind the last. */
const char *aot_knapsack_name(unsigned i);

#endif
