/* Autocast: which operators cast their arguments, and to what.
 * Mirrors aten/src/ATen/autocast_mode.h (policies lower_precision_fp, fp32, promote). */
#ifndef AOT_TRACE_AUTOCAST_H
#define AOT_TRACE_AUTOCAST_H

#include "trace/trace.h"

/* Casts the arguments of a call as the innermost autocast state of their device says. False:
 * nothing to cast, out is untouched. Casts are calls (_to_copy), made in argument order. */
bool aot_autocast_args(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *in,
                       aot_value *out);

#endif
