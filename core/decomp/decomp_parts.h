/* Calls that decompositions of indexing, pooling and images share, as Python's methods make
 * them. */
#ifndef AOT_DECOMP_PARTS_H
#define AOT_DECOMP_PARTS_H

#include "decomp/decomp.h"

/* x.contiguous(memory_format=format): x itself if it is laid out so. */
aot_tensor *dc_contiguous(aot_tracer *t, aot_tensor *x, aot_memory_format format);
aot_tensor *dc_clone(aot_tracer *t, aot_tensor *x, aot_memory_format format);
/* The layout that x's strides suggest: utils.suggest_memory_format. */
aot_memory_format dc_suggest_format(const aot_tensor *x);

/* torch.arange(end, device=x.device), with a dtype unless it is AOT_NO_DTYPE. */
aot_tensor *dc_arange(aot_tracer *t, aot_dim end, aot_dtype dtype, const aot_tensor *x);
aot_tensor *dc_arange_from(aot_tracer *t, aot_dim start, aot_dim end, aot_dtype dtype,
                           const aot_tensor *x);
aot_tensor *dc_arange_step(aot_tracer *t, aot_dim start, aot_dim end, aot_dim step,
                           aot_dtype dtype, const aot_tensor *x);
/* x.new_zeros(size) */
aot_tensor *dc_new_zeros(aot_tracer *t, aot_tensor *x, aot_dims size);

/* A list of indices: n_none times None, then the n tensors. */
aot_value dc_indices(aot_tracer *t, unsigned n_none, unsigned n, aot_tensor *const *index);
/* A shape of n ones but for `size` at `dim`. */
aot_value dc_ones_but(aot_tracer *t, unsigned n, unsigned dim, aot_dim size);

/* a OP b of sizes, OP one of + - * / (floor division) and %. */
aot_dim dc_dim(aot_tracer *t, char op, aot_dim a, aot_dim b);
static inline aot_dim dc_add(aot_tracer *t, aot_dim a, int64_t b)
{
    return b < 0 ? dc_dim(t, '-', a, aot_dim_of(-b)) : dc_dim(t, '+', a, aot_dim_of(b));
}
static inline aot_dim dc_times(aot_tracer *t, aot_dim a, int64_t b)
{
    return dc_dim(t, '*', a, aot_dim_of(b));
}
/* Room for n dims that lives as long as the trace. */
aot_dim *dc_room(aot_tracer *t, unsigned n);
/* Whether item i of an output_mask asks for its result; an item that is not there does not. */
bool dc_wanted(const aot_expand *k, unsigned pos, unsigned i);
/* Fails where x has fewer dimensions than `least`. */
void dc_need_ndim(aot_tracer *t, const aot_tensor *x, unsigned least);
/* The shape of x with `count` dims from `at` on replaced by the n given ones. */
aot_dims dc_reshaped(aot_tracer *t, const aot_tensor *x, unsigned at, unsigned count, unsigned n,
                     const aot_dim *with);
bool dc_is_empty(const aot_tensor *x); /* a size is 0 */

/* a OP b of Python numbers, OP one of + - * and / (true division). Floats of symbols are an
 * error. */
aot_value dc_arith(aot_tracer *t, char op, aot_value a, aot_value b);
/* functools.reduce(torch.add, ...) as it goes: the sum so far (NULL at first) and the next one. */
aot_tensor *dc_plus(aot_tracer *t, aot_tensor *sum, aot_tensor *x);

#endif
