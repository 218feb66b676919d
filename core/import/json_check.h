/* Whether a text is JSON, and where it stops being so: walks that trust it come after. */
#ifndef AOT_IMPORT_JSON_CHECK_H
#define AOT_IMPORT_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Strict JSON (RFC 8259) of at most 512 levels. If it is not, *at is the offset of the first byte
 * that does not fit and *expected what should stand there (static text).
 * Cost: one pass; nothing is allocated. */
bool aot_json_check(const char *s, size_t n, size_t *at, const char **expected);

#endif
