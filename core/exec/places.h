/* Between the kernels of indexing and those of scattering: positions, and how an element is written
 * over another. */
#ifndef AOT_EXEC_PLACES_H
#define AOT_EXEC_PLACES_H

#include "exec/kernel.h"

typedef enum combine { SET, ADD, MUL, MAXIMUM, MINIMUM } combine;

/* Writes an element of dtype d over another, or what both make. */
void combine_at(combine how, aot_dtype d, char *to, const char *from);
/* Position i of n, from the front; fails where there is none. */
int64_t place_checked(aot_kern *k, int64_t i, int64_t n);
aot_array *copy_of(aot_kern *k, aot_array *x); /* result 0 with the values of x */

#endif
