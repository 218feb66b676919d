/* Writing result files: whole or not at all. */
#ifndef AOT_BASE_FILE_H
#define AOT_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Writes n bytes as path. What stood there before is replaced only when all is written (a temporary
 * file beside it is renamed over it); devices and pipes are written as they are, links followed.
 * path NULL or "-" is standard output.   Errors: E_IO, with the path; nothing is left behind. */
AOT_NODISCARD aot_status aot_file_write(const char *path, const char *data, size_t n, aot_err *err);
/* The same file under two names? False if either does not exist. */
bool aot_file_same(const char *a, const char *b);
/* E_USAGE if the output would replace one of the inputs. */
AOT_NODISCARD aot_status aot_file_not_input(const char *output, const char *const *inputs, size_t n, aot_err *err);

#endif
