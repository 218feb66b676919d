/* Arrays as JSON: {"dtype": "float32", "shape": [2], "stride": [1], "data": [row-major]}. NaN and
 * infinities are strings, complex numbers pairs in a row. A tensor subclass is {"inner": [array,
 * array]}, in memory a list. */
#ifndef AOT_EXEC_VALUES_H
#define AOT_EXEC_VALUES_H

#include <jansson.h>

#include "exec/value.h"

/* Reads a file. Errors: E_IO; E_PARSE with line and column. */
AOT_NODISCARD aot_status aot_values_read(json_t **out, const char *file, aot_err *err);
/* An array, contiguous where no stride is given; or, of a plain number, that. `key` says in
 * messages where in the file it stands. Errors: E_PARSE naming file, key, value and remedy. */
AOT_NODISCARD aot_status aot_value_of_json(aot_xval *out, const json_t *j, const char *file,
                                           const char *key, aot_err *err);
/* "shape", "stride" (contiguous where absent) and "offset" (0) of an object, for a view. */
AOT_NODISCARD aot_status aot_view_of_json(aot_xval *out, const aot_array *of, const json_t *j,
                                          const char *file, const char *key, aot_err *err);
/* null for None. */
json_t *aot_value_json(const aot_xval *v);

#endif
