/* Kernels: what computes the values of an operator, and what a kernel may use.
 *
 * A kernel reads its arguments by their place in the schema, defaults filled in, makes arrays and
 * gives results. It frees nothing: arrays that it makes live until the call ends, and what it gives
 * lives on. A failure leaves through longjmp to the driver (as in the tracer), so kernels are
 * straight-line code and hold no heap memory of their own: k_mem gives memory for the call.
 *
 * To add one: KERNEL(operator, kern_NAME) in ops/kernels.def, the function in kernel_FAMILY.c. */
#ifndef AOT_EXEC_KERNEL_H
#define AOT_EXEC_KERNEL_H

#include "exec/array.h"
#include "exec/element.h"
#include "exec/iter.h"
#include "exec/value.h"
#include "ops/op_ids.h"
#include "rules/fake.h"

typedef struct aot_kern aot_kern;
typedef void aot_kern_fn(aot_kern *k);

#define KERNEL(op, fn) aot_kern_fn fn;
#include "ops/kernels.def"
#undef KERNEL
aot_kern_fn *aot_kernel_of(aot_op_id op); /* NULL: it has none */

/* ---- the call -------------------------------------------------------------------------------- */

aot_op_id k_op(const aot_kern *k);
const char *k_name(const aot_kern *k); /* "aten.mul.Tensor" */
AOT_NORETURN void k_fail(aot_kern *k, aot_status code, const char *fmt, ...) AOT_PRINTF(3, 4);
void *k_mem(aot_kern *k, size_t bytes); /* zeroed, for the call */

/* ---- arguments ------------------------------------------------------------------------------- */

const aot_xval *k_arg(const aot_kern *k, unsigned pos); /* None where there is no such argument */
bool k_is_none(const aot_kern *k, unsigned pos);
aot_array *k_in(aot_kern *k,
                unsigned pos); /* a tensor; NULL: None. A number becomes a 0-dim array */
aot_array *k_need(aot_kern *k, unsigned pos); /* must be a tensor */
unsigned k_list(aot_kern *k, unsigned pos,
                aot_array ***out); /* a list of tensors; items may be NULL */
int64_t k_int(aot_kern *k, unsigned pos, int64_t if_none);
double k_real(aot_kern *k, unsigned pos, double if_none);
aot_complex k_complex(aot_kern *k, unsigned pos, double if_none);
bool k_bool(aot_kern *k, unsigned pos);
aot_dtype k_dtype(aot_kern *k, unsigned pos, aot_dtype if_none);
/* A list of ints, or one int that stands for it (repeated `want` times). NULL and *n = 0: None. */
int64_t *k_ints(aot_kern *k, unsigned pos, unsigned *n);
/* The same of exactly n; one item or none stands for all. */
void k_ints_of(aot_kern *k, unsigned pos, unsigned n, int64_t if_none, int64_t *out);
/* The same, each from `least` to what a C int holds, as PyTorch demands of windows. */
void k_small_ints_of(aot_kern *k, unsigned pos, unsigned n, int64_t if_none, int64_t least,
                     int64_t *out);
bool k_str_is(aot_kern *k, unsigned pos, const char *text);
unsigned k_dim(aot_kern *k, unsigned pos,
               unsigned ndim); /* from the front; 0-dim counts as 1-dim */
unsigned k_wrap(aot_kern *k, int64_t dim, unsigned ndim);
/* Dims of a list as a bit mask; None or empty: all. */
uint32_t k_dims_mask(aot_kern *k, unsigned pos, unsigned ndim);

/* ---- arrays ---------------------------------------------------------------------------------- */

aot_array *k_own(aot_kern *k, aot_array *x); /* the call gives the reference back */
aot_array *k_new(aot_kern *k, aot_dtype d, unsigned ndim,
                 const int64_t *size); /* contiguous, zeroed */
aot_array *k_new_strided(aot_kern *k, aot_dtype d, unsigned ndim, const int64_t *size,
                         const int64_t *stride);
/* x must have these sizes. */
void k_shape_is(aot_kern *k, const aot_array *x, unsigned ndim, const int64_t *size);
/* The result `i` of the node: with the strides that the graph states, if it has these sizes. */
aot_array *k_out(aot_kern *k, unsigned i, aot_dtype d, unsigned ndim, const int64_t *size);
/* The same two with undefined elements: for what writes each of them. */
aot_array *k_empty(aot_kern *k, aot_dtype d, unsigned ndim, const int64_t *size);
aot_array *k_out_empty(aot_kern *k, unsigned i, aot_dtype d, unsigned ndim, const int64_t *size);
aot_array *k_like(aot_kern *k, aot_dtype d, const aot_array *x); /* result 0 in x's shape */
aot_array *k_view(aot_kern *k, const aot_array *x, unsigned ndim, const int64_t *size,
                  const int64_t *stride, int64_t offset);
/* The same with elements of dtype d, which offset and strides count. */
aot_array *k_view_as(aot_kern *k, const aot_array *x, aot_dtype d, unsigned ndim,
                     const int64_t *size, const int64_t *stride, int64_t offset);
aot_array *k_expand(aot_kern *k, const aot_array *x, unsigned ndim, const int64_t *size);
aot_array *k_select(aot_kern *k, const aot_array *x, unsigned dim, int64_t index);
/* dims moved to the end in their order, as one; the others stay in front. */
aot_array *k_contiguous(aot_kern *k, aot_array *x); /* x itself if it is */
aot_array *k_cast(aot_kern *k, aot_array *x, aot_dtype d); /* x itself if it has it */
aot_array *k_cast_contiguous(aot_kern *k, aot_array *x, aot_dtype d);
aot_array *k_scalar(aot_kern *k, aot_dtype d, double x); /* 0-dim */
/* The same values in another shape: a view where strides allow it, else a copy. */
aot_array *k_reshape(aot_kern *k, aot_array *x, unsigned ndim, const int64_t *size);
/* Dimension dim last: what works on the last one works on any. */
aot_array *k_move_last(aot_kern *k, aot_array *x, unsigned dim);
aot_array *k_permute(aot_kern *k, const aot_array *x, const unsigned *perm);

/* ---- results --------------------------------------------------------------------------------- */

void k_give(aot_kern *k, aot_array *x);
void k_give_as(aot_kern *k, unsigned i, const aot_array *x,
               aot_dtype d); /* x as result i, a k_out, in dtype d */
/* x, made by the call, as result i in dtype d: itself, where dtype and strides are those of the
 * result. */
void k_give_in(aot_kern *k, unsigned i, aot_array *x, aot_dtype d);
void k_give_none(aot_kern *k);
void k_give_value(aot_kern *k, aot_xval v);
aot_xval *k_results(aot_kern *k); /* what was given so far */
/* Several: gives each in turn; a Tensor[] result is a list even of one. */
void k_give_list(aot_kern *k);

/* ---- other operators ------------------------------------------------------------------------- */

/* What the operator gives for these arguments (fewer than the schema has: defaults): its first
 * array, or all of them. */
aot_array *k_call(aot_kern *k, aot_op_id op, unsigned n, const aot_xval *args);
unsigned k_call_all(aot_kern *k, aot_op_id op, unsigned n, const aot_xval *args, aot_array **out,
                    unsigned room);
#define XV(x)                                                                                      \
    _Generic((x),                                                                                  \
        aot_array *: aot_xv_array,                                                                 \
        double: aot_xv_real,                                                                       \
        bool: aot_xv_bool,                                                                         \
        default: aot_xv_int)(x)
#define K1(k, op, a) k_call(k, AOT_OP_##op, 1, (const aot_xval[]){XV(a)})
#define K2(k, op, a, b) k_call(k, AOT_OP_##op, 2, (const aot_xval[]){XV(a), XV(b)})
#define K3(k, op, a, b, c) k_call(k, AOT_OP_##op, 3, (const aot_xval[]){XV(a), XV(b), XV(c)})

/* ---- types ----------------------------------------------------------------------------------- */

/* dtype of tensors and numbers among the arguments at these positions, as PyTorch promotes them. */
aot_dtype k_promote(aot_kern *k, uint32_t positions);
aot_dtype k_to_float(aot_dtype d); /* integers become f32 */
aot_dtype k_real_of(aot_dtype d);  /* f32 for c64 */
aot_dtype k_complex_of(aot_dtype d);

/* ---- element-wise ---------------------------------------------------------------------------- */

/* One block of up to AOT_BLOCK elements of one class: out and in are double, int64_t or
 * aot_complex. */
enum { AOT_BLOCK = 256 };
typedef void aot_block_fn(const void *arg, void *out, void *const *in, int64_t n);
/* Computes fn over the broadcast inputs into out. Inputs are brought to dtype `as` and then to its
 * class; out, whose class is out_class, is converted to its dtype. */
void k_pointwise(aot_kern *k, aot_array *out, aot_class out_class, aot_dtype as, unsigned n,
                 aot_array *const *in, aot_block_fn *fn, const void *arg);
/* The same in floats, where as computes in f32 (f32, half types): fn reads float and writes float,
 * or one byte a truth where out is bool. */
void k_pointwise_f32(aot_kern *k, aot_array *out, aot_dtype as, unsigned n, aot_array *const *in,
                     aot_block_fn *fn, const void *arg);
/* The broadcast shape of inputs as result 0. */
aot_array *k_broadcast_out(aot_kern *k, aot_dtype d, unsigned n, aot_array *const *in);

#endif
