/* The knapsack as an integer program. */
#ifndef AOT_PARTITION_KNAPSACK_ILP_H
#define AOT_PARTITION_KNAPSACK_ILP_H

#include "partition/knapsack.h"

/* Errors: E_UNSUPPORTED (GLPK gave no answer). */
AOT_NODISCARD aot_status knapsack_ilp(aot_knapsack_choice *out, const aot_knapsack *k,
                                      aot_err *err);

#endif
