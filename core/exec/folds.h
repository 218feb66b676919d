/* Sums and maxima of numbers that lie behind each other.
 *
 * Order: floats are added in double, in FOLD_LANES sums of every FOLD_LANES-th element that are
 * added in their order at the end; doubles one after the other. */
#ifndef AOT_EXEC_FOLDS_H
#define AOT_EXEC_FOLDS_H

#include "exec/kernel.h"

enum { FOLD_LANES = 16 };

double fold_sum_f32(const float *x, int64_t n);
double fold_sum_f64(const double *x, int64_t n);
/* The sum of (x - mean)^2, in double. */
double fold_square_f32(const float *x, double mean, int64_t n);
double fold_square_f64(const double *x, double mean, int64_t n);
/* NaN is passed over; -infinity of none. */
float fold_max_f32(const float *x, int64_t n);
double fold_max_f64(const double *x, int64_t n);
/* The place of the extreme, the first of equal ones; NaN wins. */
int64_t fold_extreme_f32(const float *x, int64_t n, bool max);

/* For each element of the dimensions of x (f32, contiguous) that mask does not name, row-major, the
 * sum over the others, or of squares of differences to mean (NULL: the sum itself). Memory of the
 * call. */
double *fold_over_f32(aot_kern *k, const aot_array *x, uint32_t mask, const double *mean);

#endif
