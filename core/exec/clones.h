/* Copies of values that share memory among each other as the values do. */
#ifndef AOT_EXEC_CLONES_H
#define AOT_EXEC_CLONES_H

#include "exec/value.h"

/* n copies; arrays over one storage become arrays over one copy of it, items of a list among
 * themselves. in_double: floats become f64, complex numbers c128. The caller drops each and frees
 * the list. */
aot_xval *aot_clone_values(const aot_xval *v, unsigned n, bool in_double);
void aot_free_values(aot_xval *v, unsigned n); /* drops each, frees the list; NULL is fine */
/* A contiguous copy of an array; any other value is kept. */
aot_xval aot_copy_value(const aot_xval *v);
aot_dtype aot_double_of(aot_dtype d);

#endif
