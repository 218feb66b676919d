/* Charts of a unit: its live bytes step by step, its memory budgets. */
#ifndef AOT_VIEWERS_UNIT_CHARTS_H
#define AOT_VIEWERS_UNIT_CHARTS_H

#include "partition/pareto.h"
#include "viewers/chart.h"

/* Live bytes of forward, then backward, stacked by what they are for; the peaks are marked. x:
 * steps, one a node that computes. Free with aot_chart_free. Cost: linear. */
aot_chart *aot_chart_of_memory(const aot_partition *p, const char *label);
/* New bytes saved (inputs apart) against recomputed flops: of each solver a line through the points
 * that no other of its own beats, and the others as loose points; solvers with the same points
 * share a series. The budget in force is marked if the points have it. */
aot_chart *aot_chart_of_pareto(const aot_pareto *x, const char *label, double budget_now);
/* The same points against the budget: bytes saved, the new ones of them, and live bytes at their
 * highest. */
aot_chart *aot_chart_of_budgets(const aot_pareto *x, const char *label, double budget_now);
/* "+ mm_1 32.0 KiB, - sin 4.0 KiB and 3 more": what the point saves and the one before did not,
 * then what it no longer saves. */
void aot_flips_words(aot_sb *out, const aot_pareto_point *p);

#endif
