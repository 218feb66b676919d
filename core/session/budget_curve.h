/* A unit cut at many memory budgets, one cut at a time: for a screen on which a person turns the
 * budget while the curve is still being found. unit_pareto.h is the same in one call.
 *
 * Budgets are counted in thousandths, the step at which PyTorch's own bisection ends. */
#ifndef AOT_SESSION_BUDGET_CURVE_H
#define AOT_SESSION_BUDGET_CURVE_H

#include "session/model.h"

enum { AOT_BUDGET_STEPS = 1000 };

typedef struct aot_budget_point {
    int at;              /* thousandths */
    bool failed;         /* it cannot be cut there: failure says why */
    const char *failure, *rung; /* rung: static text */
    int64_t saved_bytes; /* of the tensors, as all figures say; n_saved counts symbols too */
    int64_t new_bytes;   /* of them, what saving adds: nothing that inputs hold anyway */
    uint32_t n_saved;
    double recompute_flops;
    int64_t forward_peak, backward_peak; /* live bytes */
    /* a bit for each node of the graph that is cut; the same ids at every budget */
    uint64_t *saved;
} aot_budget_point;

typedef struct aot_budget_curve aot_budget_curve;

/* The unit under its settings and edits as they are now; after a change make another. The model
 * outlives it. Errors: those of aot_model_partition. */
AOT_NODISCARD aot_status aot_budget_curve_new(aot_budget_curve **out, aot_model *m, size_t unit,
                                              aot_err *err);
void aot_budget_curve_free(aot_budget_curve *c); /* NULL is fine */
/* The partition at the settings of now, whose graph the points' bits are about. */
const aot_partition *aot_budget_curve_now(const aot_budget_curve *c);

/* After a change of the budget alone: the points stay. False: they may not, make another curve. */
bool aot_budget_curve_renew(aot_budget_curve *c, aot_model *m, size_t unit);

/* The points there are, by budget. Pointers are valid until the next cut. */
size_t aot_budget_curve_count(const aot_budget_curve *c);
const aot_budget_point *aot_budget_curve_point(const aot_budget_curve *c, size_t i);
/* The point at a budget; NULL if it was not cut there. */
const aot_budget_point *aot_budget_curve_find(const aot_budget_curve *c, int at);
/* The nearest point below (dir -1) or above (+1) that saves other values; NULL if there is none
 * yet. */
const aot_budget_point *aot_budget_curve_next(const aot_budget_curve *c, int at, int dir);
/* Cuts at a budget, if that was not done. Cost: a partition and a walk. */
void aot_budget_curve_cut(aot_budget_curve *c, int at);
/* Cuts where the curve is known least: the ends, then between neighbours that differ, down to `gap`
 * thousandths. False: nothing is left to find. */
bool aot_budget_curve_step(aot_budget_curve *c, int gap);
bool aot_budget_same_saved(const aot_budget_curve *c, const aot_budget_point *a,
                           const aot_budget_point *b);
static inline bool aot_budget_saves(const aot_budget_point *p, aot_node_id id)
{
    return p->saved && (p->saved[id / 64] >> (id % 64) & 1);
}

#endif
