/* Inputs of a unit made up from a seed: where nobody gives values. */
#ifndef AOT_SESSION_SEEDED_VALUES_H
#define AOT_SESSION_SEEDED_VALUES_H

#include "session/run_values.h"

/* One value for each input of the user's function, of its dtype, sizes, strides and shared memory.
 * Floats are normal, matrices scaled by the root of their rows' length; positive: between 0.5 and
 * 1.5 instead. Integers are 0 or 1; where they are positions in another tensor, any within it.
 * bools are either. The same seed gives the same numbers. The caller drops each and frees the list.
 * Errors: E_UNSUPPORTED (an input whose type is not known, named). */
AOT_NODISCARD aot_status aot_seeded_values(aot_xval **outer, const aot_runnable *r,
                                           const aot_unit *u, uint64_t seed, bool positive,
                                           aot_err *err);

/* Below what the integers of each placeholder of the graph must be, in order; 0: nothing says so;
 * AOT_PIVOTS: they are pivots of factors, which LAPACK believes. The caller frees it. */
#define AOT_PIVOTS (-1)
int64_t *aot_integer_bounds(const aot_graph *g);
/* Element i of made-up pivots: each row stays where it is. */
int64_t aot_pivot_at(const aot_array *x, int64_t i);

#endif
