/* Cuts one unit at many budgets. */
#include "session/unit_pareto.h"

#include <stdio.h>

#include "session/derive.h"
#include "session/model.h"
#include "session/walker.h"

typedef struct cutter {
    const aot_unit *u;
    const aot_record *joint;
    const aot_config *config;
    aot_walker *walker; /* NULL: no peaks */
    aot_ctx *ctx; /* of the last cut */
} cutter;

static aot_status cut(void *arg, const aot_partition **out, aot_pareto_peaks *peaks, double budget,
                      const char *solver, aot_err *err)
{
    cutter *k = arg;
    const aot_graph *joint;
    aot_partition *p;
    aot_config c = *k->config;
    c.activation_memory_budget = budget;
    snprintf(c.activation_memory_budget_solver, sizeof c.activation_memory_budget_solver, "%s", solver);
    aot_ctx_free(k->ctx);
    k->ctx = aot_unit_new_ctx(k->u);
    AOT_TRY(aot_record_parse(&joint, k->ctx, k->u, k->joint, err));
    AOT_TRY(aot_derive_partition(&p, k->u, joint, &c, NULL, err));
    if (k->walker != NULL) {
        aot_memory m;
        aot_walker_memory(k->walker, &m, p);
        *peaks = (aot_pareto_peaks){m.forward.peak, m.backward.peak};
        aot_memory_free(&m);
    }
    *out = p;
    return AOT_OK;
}

aot_status aot_unit_pareto(aot_pareto **out, const aot_unit *u, const aot_record *joint,
                           const aot_config *config, const aot_pareto_ask *ask,
                           const aot_memory_options *peaks, aot_err *err)
{
    cutter k = {.u = u, .joint = joint, .config = config};
    k.walker = peaks != NULL ? aot_walker_new(u, joint, peaks) : NULL;
    aot_pareto_ask mine = *ask;
    mine.cut = cut;
    mine.arg = &k;
    aot_status s = aot_pareto_make(out, &mine, err);
    aot_walker_free(k.walker);
    aot_ctx_free(k.ctx);
    return s;
}
