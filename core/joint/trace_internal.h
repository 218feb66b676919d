/* Between the files of the tracer. */
#ifndef AOT_JOINT_TRACE_INTERNAL_H
#define AOT_JOINT_TRACE_INTERNAL_H

#include "joint/trace.h"

/* A call with several outputs, and getitems of the first n. */
void trace_tuple_call(trace *t, const char *target, const aot_arg *args, uint32_t n_args,
                      const fx_kwarg *kw, uint32_t n_kw, uint32_t *outs, uint32_t n);
void trace_flash_backward(trace *t, const trace_flash *x, uint32_t grad, uint32_t outs[3]);

#endif
