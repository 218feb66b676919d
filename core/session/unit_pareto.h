/* Memory budgets of a unit: core/partition/pareto.h with who cuts and who walks the modules filled
 * in. */
#ifndef AOT_SESSION_UNIT_PARETO_H
#define AOT_SESSION_UNIT_PARETO_H

#include "exec/memsim.h"
#include "import/unit.h"
#include "partition/pareto.h"

/* Cuts the unit's joint graph as ask says; its cut and arg are not looked at. The settings are
 * config's but for budget and solver. peaks: how modules are walked for the peaks, NULL to leave
 * them 0. Free with aot_pareto_free. Errors: those of the parser and of aot_pareto_make. */
AOT_NODISCARD aot_status aot_unit_pareto(aot_pareto **out, const aot_unit *u,
                                         const aot_record *joint, const aot_config *config,
                                         const aot_pareto_ask *ask, const aot_memory_options *peaks,
                                         aot_err *err);

#endif
