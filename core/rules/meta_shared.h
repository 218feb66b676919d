/* What META rules of several families share: reductions, layouts, types that accumulate. */
#ifndef AOT_RULES_META_SHARED_H
#define AOT_RULES_META_SHARED_H

#include "rules/fake.h"

/* The tensor argument; its absence is E_SHAPE and names it. */
AOT_NODISCARD aot_status aot_call_need(const aot_call *k, unsigned pos, const char *name,
                                       aot_fake *out);
/* Item i of a list of flags such as output_mask; true if the list is absent. */
bool aot_call_flag(const aot_call *k, unsigned pos, const char *name, unsigned i);
/* Item i of a list for i spatial dimensions, where a list of one item stands for all. */
aot_dim aot_call_spatial(const aot_call *k, unsigned pos, const char *name, unsigned i,
                         int64_t def);

/* A contiguous tensor; strides of symbolic sizes included. */
aot_fake aot_fake_make(const aot_call *k, aot_dtype d, unsigned ndim, const aot_dim *sizes,
                       aot_str device);
/* t with sizes and device kept, contiguous. */
void aot_push_contiguous(aot_call *k, const aot_fake *t, aot_dtype d);
void aot_push_scalar(aot_call *k, const aot_fake *like, aot_dtype d);
/* A vector of n elements. */
void aot_push_vector(aot_call *k, const aot_fake *like, aot_dtype d, aot_dim n);
/* t as TensorIterator lays out an element-wise result of `in`. */
AOT_NODISCARD aot_status aot_push_elementwise(aot_call *k, const aot_fake *in, unsigned n,
                                              aot_dtype d);

/* The layout that strides suggest; mirrors Tensor::suggest_memory_format. */
aot_memory_format aot_fake_suggest(const aot_fake *t);
/* .to(memory_format=f) of a fresh contiguous tensor of t's sizes. */
void aot_fake_to_format(const aot_call *k, aot_fake *t, aot_memory_format f);
/* Strides of empty_like: they follow the order of the strides, without gaps and anew
 * for sizes of 1. */
void aot_fake_set_empty_like(const aot_call *k, aot_fake *t, const aot_fake *like);

/* Bit i: dimension i is reduced. An absent or empty list means all. */
uint32_t aot_call_dim_mask(const aot_call *k, unsigned pos, const char *name, unsigned ndim);
aot_fake aot_fake_reduce(const aot_call *k, const aot_fake *t, uint32_t mask, bool keepdim,
                         aot_dtype d);

aot_dtype aot_dtype_real(aot_dtype d);       /* c64 -> f32; others stay */
aot_dtype aot_dtype_compute(aot_dtype d);    /* f16, bf16 -> f32; others stay */
aot_dtype aot_dtype_accumulate(aot_dtype d); /* integers and bool -> i64; others stay */
bool aot_dtype_is_float(aot_dtype d);        /* floating point or complex */

#endif
