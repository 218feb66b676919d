/* Lists of operators as settings have them: "aten.gelu.default, aten.silu, mm". */
#ifndef AOT_PIPELINE_OP_LIST_H
#define AOT_PIPELINE_OP_LIST_H

#include "base/err.h"
#include "pipeline/config.h"
#include "trace/tracer.h"

/* Whether each name is one of an operator for which the setting can do something. Errors: E_USAGE,
 * naming the operator and what to do. */
AOT_NODISCARD aot_status aot_op_list_check(const char *list, const char *setting, aot_err *err);
/* Whether the settings together make sense: composites are kept on the export path only. */
AOT_NODISCARD aot_status aot_op_choices_check(const aot_config *config, aot_err *err);
/* What the settings decompose and keep choose for each operator; NULL: nothing beyond the backend's
 * table. AOT_N_OPS entries in a. */
const uint8_t *aot_op_choices(const aot_config *config, aot_arena *a);

#endif
