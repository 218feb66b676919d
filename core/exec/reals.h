/* Kernels that compute in double on plain memory: arguments as doubles, results brought to their
 * dtype. */
#ifndef AOT_EXEC_REALS_H
#define AOT_EXEC_REALS_H

#include <string.h>

#include "exec/kernel.h"

static inline double *reals_data(aot_array *x) /* of F64, contiguous */
{
    return (double *)(void *)aot_array_data(x);
}
/* Row-major copy of x, or x itself. */
static inline double *reals_of(aot_kern *k, aot_array *x)
{
    return reals_data(k_cast_contiguous(k, x, AOT_F64));
}
static inline int64_t *ints_of(aot_kern *k, aot_array *x)
{
    return (int64_t *)(void *)aot_array_data(k_cast_contiguous(k, x, AOT_I64));
}
static inline void need_reals(aot_kern *k, const aot_array *x)
{
    if (aot_array_kind(x) == 'c') {
        k_fail(k, AOT_E_UNSUPPORTED, "not implemented for %s",
               aot_dtype_get((aot_dtype)x->dtype)->torch_name);
    }
}

#endif
