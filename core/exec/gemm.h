/* Matrix products of arrays. */
#ifndef AOT_EXEC_GEMM_H
#define AOT_EXEC_GEMM_H

#include "exec/kernel.h"

/* a [M, L]  b [L, N]  -> [M, N], contiguous, of the dtype that products are computed in. */
aot_array *k_matrix_product(aot_kern *k, aot_array *a, aot_array *b);
/* The same into an array of that dtype whose rows lie behind each other. */
void k_matrix_product_into(aot_kern *k, aot_array *a, aot_array *b, aot_array *out);
/* The same added to what is there; not of integers or complex numbers. */
void k_matrix_product_add(aot_kern *k, aot_array *a, aot_array *b, aot_array *out);
aot_dtype k_product_dtype(aot_dtype d); /* f32 for half types */

#endif
