/* What reductions, scans and sorts share: an array as rows along the dimensions that are worked
 * on. */
#ifndef AOT_EXEC_ROWS_H
#define AOT_EXEC_ROWS_H

#include "exec/kernel.h"

typedef struct rows {
    int64_t n, len;   /* rows, and elements of each */
    aot_dtype d;
    aot_class class;
    unsigned ndim;    /* of a result with one element a row */
    int64_t size[AOT_ARRAY_MAX_NDIM];
    const char *p;    /* contiguous */
    int64_t row_bytes;
    void *buffer;     /* one row as its class */
} rows;

/* x as d, the dimensions of mask last. */
void rows_of(aot_kern *k, rows *r, aot_array *x, uint32_t mask, bool keepdim, aot_dtype d);
void *rows_get(rows *r, int64_t i); /* double, int64_t or aot_complex; until the next call */
aot_array *rows_out(aot_kern *k, const rows *r, unsigned i, aot_dtype d);

/* Writes elements of an array one after the other, row-major, whatever its strides. */
typedef struct put {
    aot_array *x;
    char *p;
    int64_t bytes, at[AOT_ARRAY_MAX_NDIM];
} put;
void put_start(put *w, aot_array *x);
char *put_next(put *w); /* where the next element is */
void put_real(put *w, double v);
void put_int(put *w, int64_t v);
void put_complex(put *w, aot_complex v);

#endif
