#ifndef AOT_GRAD_VJP_VECTOR_NORM_H
#define AOT_GRAD_VJP_VECTOR_NORM_H

#include "trace/trace.h"

/* The gradient of a p-norm over dims (none: all) given its result; NULL where it vanishes (p = 0).
 * Mirrors norm_backward in torch/csrc/autograd/FunctionsManual.cpp. */
aot_tensor *aot_grad_norm(aot_tracer *t, aot_tensor *grad, aot_tensor *self, double p,
                          aot_tensor *norm, aot_dims dims, bool keepdim);

#endif
