/* Two values side by side: where they differ most, in units of the last place, absolutely,
 * relatively. */
#ifndef AOT_EXEC_ULPS_H
#define AOT_EXEC_ULPS_H

#include "exec/value.h"

/* |a - b| <= abs + rel * |b|. */
typedef struct aot_tolerance {
    double rel, abs;
} aot_tolerance;
/* torch.testing.assert_close's by dtype; integers and bools exactly. */
aot_tolerance aot_tolerance_of(aot_dtype d);

typedef struct aot_ulps {
    bool differs;       /* beyond the tolerance, or in kind, dtype or shape */
    const char *what;   /* "value", "kind", "dtype", "shape" */
    /* elements; not the same bits but for NaN; beyond the tolerance */
    int64_t n, n_unequal, n_beyond;
    double max_abs, max_rel; /* rel and ulps: of numbers of the same sign, neither 0 */
    uint64_t max_ulps;  /* of floats; 0 of others */
    unsigned ndim;
    int64_t index[AOT_ARRAY_MAX_NDIM]; /* of the largest absolute difference */
    double a, b;        /* there; of complex ones the part that differs more */
} aot_ulps;

/* Tensors element by element, lists item by item (the first that differs is told). t NULL: by
 * dtype. NaN equals NaN. Sizes count, strides do not. */
void aot_ulps_compare(aot_ulps *out, const aot_xval *a, const aot_xval *b, const aot_tolerance *t);
/* "12 of 64 elements differ, most at [3, 4]: 0.5 and 0.25 (2097152 ulps, abs 0.25, rel 1)". */
void aot_ulps_print(aot_sb *out, const aot_ulps *u);

#endif
