/* What is told of a value without printing it: range, mean, what is not finite, a histogram, the
 * first elements and a hash. */
#ifndef AOT_EXEC_VALUE_STATS_H
#define AOT_EXEC_VALUE_STATS_H

#include "exec/array.h"

enum { AOT_STATS_FIRST = 8, AOT_STATS_BINS = 16 };

typedef struct aot_value_stats {
    uint8_t dtype, ndim;
    int64_t size[AOT_ARRAY_MAX_NDIM];
    int64_t n;
    double min, max,
        mean; /* of the finite elements, complex ones by magnitude; NaN if there are none */
    int64_t n_nan, n_inf, n_zero;
    int64_t first_bad; /* the first element that is not finite, row-major; -1 */
    double first[AOT_STATS_FIRST], first_imag[AOT_STATS_FIRST];
    unsigned n_first;
    int64_t bins[AOT_STATS_BINS]; /* finite elements from min to max, in bins of one width */
    uint64_t hash;                /* of the elements in row-major order */
} aot_value_stats;

void aot_value_stats_of(aot_value_stats *out, const aot_array *x);

/* Element by element, bit by bit (NaN is NaN): how many of two contiguous arrays of one dtype
 * differ. */
typedef struct aot_value_diff {
    int64_t n, of;  /* elements that differ; -1: unknown, hashes alone were compared */
    int64_t first;  /* row-major index of the first one; -1 */
    double was, is; /* that element */
} aot_value_diff;
void aot_value_compare(aot_value_diff *out, aot_dtype d, const char *was, const char *is,
                       int64_t n);

#endif
