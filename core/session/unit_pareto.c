/* Cuts one unit at many budgets. */
#include "session/unit_pareto.h"

#include <stdio.h>

#include "session/cutter.h"
#include "session/walker.h"

typedef struct sweep {
    aot_cutter *cutter;
    aot_walker *walker; /* NULL: no peaks */
    const aot_config *config;
    aot_partition *last;
} sweep;

static aot_status cut(void *arg, const aot_partition **out, aot_pareto_peaks *peaks, double budget,
                      const char *solver, aot_err *err)
{
    sweep *k = arg;
    aot_config c = *k->config;
    c.activation_memory_budget = budget;
    snprintf(c.activation_memory_budget_solver, sizeof c.activation_memory_budget_solver, "%s",
             solver);
    aot_partition_release(k->last);
    k->last = NULL;
    AOT_TRY(aot_cutter_cut(k->cutter, &k->last, &c, err));
    if (k->walker != NULL) {
        aot_memory m;
        aot_walker_memory(k->walker, &m, k->last);
        *peaks = (aot_pareto_peaks){m.forward.peak, m.backward.peak};
        aot_memory_free(&m);
    }
    *out = k->last;
    return AOT_OK;
}

aot_status aot_unit_pareto(aot_pareto **out, const aot_unit *u, const aot_record *joint,
                           const aot_config *config, const aot_pareto_ask *ask,
                           const aot_memory_options *peaks, aot_err *err)
{
    sweep k = {.cutter = aot_cutter_new(u, joint), .config = config};
    aot_pareto_ask mine = *ask;
    k.walker = peaks != NULL ? aot_walker_new(u, joint, peaks) : NULL;
    mine.cut = cut;
    mine.arg = &k;
    aot_status s = aot_pareto_make(out, &mine, err);
    aot_partition_release(k.last);
    aot_walker_free(k.walker);
    aot_cutter_free(k.cutter);
    return s;
}
