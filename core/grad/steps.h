/* Steps that several formulas take, with the operators that PyTorch's C++ helpers call. */
#ifndef AOT_GRAD_STEPS_H
#define AOT_GRAD_STEPS_H

#include "trace/trace.h"

enum { AOT_GRAD_MAX_DIMS = 16 };

/* a + b where an undefined one is nothing. */
static inline aot_tensor *aot_grad_plus(aot_tracer *t, aot_tensor *a, aot_tensor *b)
{
    return a == NULL ? b : b == NULL ? a : AOT(t, aten_add_Tensor, a, b);
}
/* Undefined stays undefined. */
static inline aot_tensor *aot_grad_neg(aot_tracer *t, aot_tensor *x)
{
    return x == NULL ? NULL : AOT(t, aten_neg, x);
}
/* x.narrow(dim, start, length): a slice. */
aot_tensor *aot_grad_narrow(aot_tracer *t, aot_tensor *x, int64_t dim, aot_dim start,
                            aot_dim length);
/* What zeros_like(saved argument) is made by when only the argument's type was saved:
 * zeros(sizes, dtype, layout, device). */
aot_tensor *aot_grad_zeros_of(aot_tracer *t, const aot_tensor *like);
/* grad.new_zeros(like.sizes(), like.options()). */
aot_tensor *aot_grad_new_zeros(aot_tracer *t, aot_tensor *grad, const aot_tensor *like);
/* torch.where with a number as one branch: a scalar tensor of x's type is made first. */
aot_tensor *aot_grad_where_number(aot_tracer *t, aot_tensor *condition, aot_tensor *x,
                                  double other);
aot_tensor *aot_grad_number_where(aot_tracer *t, aot_tensor *condition, double self, aot_tensor *x);
/* x.conj(): nothing for real tensors. */
static inline aot_tensor *aot_grad_conj(aot_tracer *t, aot_tensor *x)
{
    return aot_is_complex(x) ? AOT(t, aten__conj, x) : x;
}
/* x.to(like's dtype): nothing if it has it. */
aot_tensor *aot_grad_to_dtype(aot_tracer *t, aot_tensor *x, aot_dtype dtype);

#endif
