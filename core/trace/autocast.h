/* Autocast: which operators cast their arguments, and to what.
 * Mirrors aten/src/ATen/autocast_mode.h (policies lower_precision_fp, fp32, promote). */
#ifndef AOT_TRACE_AUTOCAST_H
#define AOT_TRACE_AUTOCAST_H

#include "trace/trace.h"

/* Casts the arguments of a call as the innermost autocast state of their device says. False: the
 * operator has no policy and out is untouched. What an operator with a policy calls is not cast
 * again. Casts are calls (_to_copy).
 */
bool aot_autocast_args(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *in,
                       aot_value *out);

#endif
