/* What decompositions share: casts for type promotion, Python's arithmetic on tensors and numbers.
 * Mirrors the wrappers of torch/_decomp/decompositions.py (pw_cast_for_opmath) and
 * torch/_prims_common (elementwise_type_promotion_wrapper, elementwise_dtypes).
 *
 * A decomposition makes the calls that PyTorch's makes, in its order. Two calls must not be
 * arguments of one: C does not say which runs first. */
#ifndef AOT_DECOMP_DECOMP_H
#define AOT_DECOMP_DECOMP_H

#include "trace/trace.h"

/* Python operators between tensors, or a tensor and a number. They use the variable t. */
#define ADD(a, b) AOT(t, aten_add_Tensor, a, b)
#define SUB(a, b) AOT(t, aten_sub_Tensor, a, b)
#define MUL(a, b) AOT(t, aten_mul_Tensor, a, b)
#define DIV(a, b) AOT(t, aten_div_Tensor, a, b)
#define NEG(a) AOT(t, aten_neg, a)
#define RSUB(a, number) AOT(t, aten_rsub_Scalar, a, number) /* number - a */
#define WHERE(c, a, b) AOT(t, aten_where_self, c, a, b)

/* ---- dtypes ---------------------------------------------------------------------------------- */

aot_dtype dc_computation_dtype(aot_dtype d); /* get_computation_dtype: f32 for f16 and bf16 */
bool dc_is_integral(aot_dtype d);            /* integers and bool */
/* elementwise_dtypes over the arguments whose bits are set in `positions` (tensors, lists of
 * tensors and Python numbers): the dtype of the result. */
aot_dtype dc_result_dtype(const aot_expand *k, unsigned positions, aot_promote kind);
/* elementwise_type_promotion_wrapper: converts these arguments to the computation dtype, in order;
 * k->args shows the converted ones. Returns the dtype for dc_give. */
aot_dtype dc_promote(aot_expand *k, unsigned positions, aot_promote kind);
/* pw_cast_for_opmath: the same for all tensor arguments; numbers do not count. */
aot_dtype dc_opmath(aot_expand *k);
/* result.to(dtype) is the result of the decomposition. */
bool dc_give(aot_expand *k, aot_tensor *x, aot_dtype dtype);

/* x.to(dtype): x itself if it has that dtype. NULL stays NULL. */
aot_tensor *dc_to(aot_tracer *t, aot_tensor *x, aot_dtype dtype);
/* x.to(dtype, memory_format=torch.contiguous_format). NULL stays NULL. */
aot_tensor *dc_to_contiguous(aot_tracer *t, aot_tensor *x, aot_dtype dtype);

/* ---- numbers of Python ----------------------------------------------------------------------- */

double dc_number(aot_value v); /* of an int, float or bool, at its hint */
bool dc_is_number(aot_value v, double x);
aot_value dc_int(aot_value v); /* int(v) */
/* torch.scalar_tensor(v, dtype=d, device=that of like); no dtype: AOT_NO_DTYPE. */
aot_tensor *dc_scalar_tensor(aot_tracer *t, aot_value v, aot_dtype d, const aot_tensor *like);
aot_value dc_mul(aot_tracer *t, aot_value a, aot_value b); /* a * b, a float if one of them is */
/* n as a float; a symbolic one cannot be represented and ends the trace. */
double dc_float(aot_tracer *t, aot_dim n);

/* ---- shapes ---------------------------------------------------------------------------------- */

aot_tensor *dc_unsqueeze_to(aot_tracer *t, aot_tensor *x, unsigned ndim); /* new dimensions last */
aot_dims dc_common_size(aot_tracer *t, const aot_tensor *a, const aot_tensor *b);
/* _maybe_broadcast of two tensors: the one whose shape is not the common one is expanded; a 0-dim
 * tensor on the CPU stays. */
void dc_broadcast(aot_tracer *t, aot_tensor **a, aot_tensor **b);
aot_value dc_cpu(aot_tracer *t); /* torch.device("cpu") */
/* Inductor replaces some operators on the CPU only. */
bool dc_on_cpu(aot_tracer *t, const aot_tensor *x);
/* compute_elementwise_output_strides of n <= 3 tensors, which are broadcast. */
aot_dims dc_elementwise_strides(aot_tracer *t, unsigned n, aot_tensor *const *x);
/* The dimensions lo .. hi-1, as an argument. */
aot_value dc_range(aot_tracer *t, unsigned lo, unsigned hi);
/* The product of d[lo .. hi-1]. */
aot_dim dc_prod(aot_tracer *t, aot_dims d, unsigned lo, unsigned hi);
/* compute_elementwise_output_logical_to_physical_perm: perm[i] is the dimension that is i-th from
 * outside in memory. Returns whether perm is the identity. */
bool dc_physical_layout(const aot_tensor *x, int64_t *perm);

#endif
