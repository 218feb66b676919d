/* Walks several arrays of one shape at once, whatever their strides. Dimensions that lie behind
 * each other in all operands are merged, and the innermost run is handed to the caller as a whole.
 * Mirrors at::TensorIterator. */
#ifndef AOT_EXEC_ITER_H
#define AOT_EXEC_ITER_H

#include "exec/array.h"

enum { AOT_ITER_MAX = 8 };

typedef struct aot_iter {
    unsigned n, ndim;
    int64_t size[AOT_ARRAY_MAX_NDIM];
    int64_t stride[AOT_ITER_MAX][AOT_ARRAY_MAX_NDIM]; /* in bytes */
    char *data[AOT_ITER_MAX];
} aot_iter;

/* n elements of each operand from ptr[k] on, stride[k] bytes apart. */
typedef void aot_loop_fn(void *arg, char *const *ptr, const int64_t *stride, int64_t n);

void aot_iter_begin(aot_iter *it, unsigned ndim, const int64_t *size);
/* Adds an operand; sizes of 1 and missing leading dimensions are broadcast (the caller has
 * checked). */
void aot_iter_add(aot_iter *it, const aot_array *x);
/* Sorts dimensions by the first operand's strides, larger ones first, and merges what lies behind
 * each other. */
void aot_iter_settle(aot_iter *it);
/* In any order of elements: dimensions are sorted by the first operand's strides. */
void aot_iter_run(aot_iter *it, aot_loop_fn *fn, void *arg);
/* In row-major order: for what counts elements. */
void aot_iter_run_in_order(aot_iter *it, aot_loop_fn *fn, void *arg);
/* The common shape of a and b; false if they cannot be broadcast. size has room for 16. */
bool aot_broadcast(unsigned *ndim, int64_t *size, unsigned other_ndim, const int64_t *other);

#endif
