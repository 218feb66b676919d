/* What a memory budget costs: one graph cut at many budgets by one or more solvers, on a grid, or
 * by bisection down to steps of 1e-3 wherever the answer changes.
 * Mirrors: partitioners.py (visualize_memory_budget_pareto). Differs: PyTorch compares the estimate
 * of the knapsack; here it is what is really cut, and points that turn out equal are kept once.
 *
 *     aot_pareto_ask ask = {.cut = my_cut, .arg = &mine, .solvers = names, .n_solvers = 2};
 *     AOT_TRY(aot_pareto_make(&out, &ask, err)); ... aot_pareto_free(out);
 *
 * Who cuts is up to the caller (once more from the start, or by the incremental solver), and so is
 * how the peaks are found: aot_derive_pareto in core/session does all of it for a unit. */
#ifndef AOT_PARTITION_PARETO_H
#define AOT_PARTITION_PARETO_H

#include "base/vec.h"
#include "partition/partition.h"

/* One saved value, by name: points may come from partitions of different contexts. */
typedef struct aot_pareto_value {
    const char *name;
    int64_t bytes;
} aot_pareto_value;

typedef struct aot_pareto_point {
    double budget;
    const char *solver; /* the ask's */
    const char *rung;   /* static text; NULL with an error */
    const char *error;  /* why it cannot be cut; NULL: it was */
    aot_pareto_value *saved; /* in PyTorch's order, tensors only */
    uint32_t n_saved;
    /* of the tensors, as PyTorch adds them up: inputs and views count in full */
    int64_t saved_bytes;
    /* of them, what saving adds: no storage of an input, each other one once */
    int64_t new_bytes;
    double recompute_flops;
    int64_t forward_peak, backward_peak; /* live bytes; 0 unless the cut gave them */
    /* Against the point before of the same solver (the next smaller budget), largest first; the
     * first point has none. */
    aot_pareto_value *newly_saved, *no_longer_saved;
    uint32_t n_newly_saved, n_no_longer_saved;
    bool same_as_before; /* saves the same values at the same cost as the point before */
    /* another point of any solver saves no more and costs no more, one of them less */
    bool dominated;
    bool dominated_new;  /* the same by new_bytes: what the budget buys */
} aot_pareto_point;

typedef struct aot_pareto {
    aot_arena *arena;
    AOT_VEC(aot_pareto_point) points; /* by solver in the ask's order, then budget ascending */
} aot_pareto;

typedef struct aot_pareto_peaks {
    int64_t forward, backward;
} aot_pareto_peaks;

typedef struct aot_pareto_ask {
    /* Cuts at a budget by a solver. *out may be let go of at the next call. peaks are zero when
     * called. */
    aot_status (*cut)(void *arg, const aot_partition **out, aot_pareto_peaks *peaks, double budget,
                      const char *solver, aot_err *err);
    void *arg;
    const char *const *solvers; /* texts must outlive the result */
    size_t n_solvers;
    const double *budgets;      /* the grid, ascending; NULL: bisection */
    size_t n_budgets;
    double from, to;            /* bisection between these; both 0: 0 and 1 */
    double step;                /* bisection ends below it; 0: 1e-3 */
    void (*progress)(void *arg, uint64_t done, uint64_t total); /* may be NULL */
    void *progress_arg;
} aot_pareto_ask;

/* Points that cannot be cut say why in `error`; the function itself fails only where none could be
 * (with the first error). Free with aot_pareto_free (NULL is fine). */
AOT_NODISCARD aot_status aot_pareto_make(aot_pareto **out, const aot_pareto_ask *ask, aot_err *err);
void aot_pareto_free(aot_pareto *x);

/* Whether two points of a result say the same but for the budget: solver, rung, values and cost. */
bool aot_pareto_same_row(const aot_pareto_point *a, const aot_pareto_point *b);

/* ---- for results that are put together from parts -------------------------------------------- */

/* An empty result, and a copy of a point of another one in it (its texts too; what it says against
 * other points is left out). The solver is one of the given texts, NULL if it is none of them. */
aot_pareto *aot_pareto_new(void);
void aot_pareto_add(aot_pareto *x, const aot_pareto_point *p, const char *const *solvers,
                    size_t n_solvers);
/* Sorts the points by solver in the given order and budget, drops what came twice (and, of a
 * bisection, repeats), and compares them anew. aot_pareto_make ends with it. */
void aot_pareto_finish(aot_pareto *x, const char *const *solvers, size_t n_solvers, bool bisected);

#endif
