/* Batches of matrices as LAPACK takes them. */
#ifndef AOT_EXEC_MATS_H
#define AOT_EXEC_MATS_H

#include "exec/kernel.h"

typedef struct mats {
    aot_array *x;  /* [..., m, n], a look at the copy */
    /* the copy: double or aot_complex, column by column, one matrix after the other */
    char *p;
    int m, n, ld;
    int64_t count;
    bool z;        /* complex */
} mats;

mats mats_of(aot_kern *k, aot_array *x); /* always a copy */
/* Zeros of m by n in the batch of `like`. */
mats mats_new(aot_kern *k, const aot_array *like, bool z, int64_t m, int64_t n);
void *mats_at(const mats *v, int64_t i);
/* An array in the batch shape of `like`, with `last` (0 or 1) dimension of n. */
aot_array *mats_list(aot_kern *k, const aot_array *like, aot_dtype d, unsigned last, int64_t n);
/* a must be square, and b have as many rows. */
void mats_check_system(aot_kern *k, const mats *a, const mats *b);
/* Pivots of factors, contiguous i32, expanded to their batch: LAPACK believes them, so each must be
 * a row, counted from 1; in_blocks: or a negative one. */
aot_array *mats_pivots(aot_kern *k, aot_array *pivots, const aot_array *batch, bool in_blocks);
aot_array *mats_batch(aot_kern *k, aot_array *x, const aot_array *like);

#endif
