/* Writing result files: whole or not at all. Reading the small texts that people write. */
#ifndef AOT_BASE_FILE_H
#define AOT_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

/* Writes n bytes as path. What stood there before is replaced only when all is written (a temporary
 * file beside it is renamed over it); devices and pipes are written as they are, links followed.
 * path NULL or "-" is standard output.   Errors: E_IO, with the path; nothing is left behind. */
AOT_NODISCARD aot_status aot_file_write(const char *path, const char *data, size_t n, aot_err *err);
/* Appends a text that somebody wrote, such as a policy, to out, without the byte order mark that
 * some editors put in front. what: "policy", for messages; path "-" is standard input. Of a device
 * without an end only so much is read as a text may have (AOT_FILE_TEXT_BYTES), or up to its first
 * zero byte.
 * Errors: E_IO (a folder, too), E_USAGE for what is no text; both with the path; out may hold a
 * part. */
enum { AOT_FILE_TEXT_BYTES = 64 << 20 };
AOT_NODISCARD aot_status aot_file_read_text(aot_sb *out, const char *what, const char *path,
                                            aot_err *err);
/* The same file under two names? False if either does not exist. */
bool aot_file_same(const char *a, const char *b);
/* E_USAGE if the output would replace one of the inputs. */
AOT_NODISCARD aot_status aot_file_not_input(const char *output, const char *const *inputs, size_t n,
                                            aot_err *err);

#endif
