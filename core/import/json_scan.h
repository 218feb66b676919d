/* Walks JSON text in place, without building values: trace headers are long and few of their keys
 * are wanted. Values are slices of the text; nothing is copied until a string is decoded. */
#ifndef AOT_IMPORT_JSON_SCAN_H
#define AOT_IMPORT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

typedef struct aot_slice {
    const char *s; /* NULL = absent */
    size_t n;
} aot_slice;

typedef struct aot_json_iter {
    const char *p, *end;
    bool object, bad, first;
} aot_json_iter;

static inline bool aot_slice_is(aot_slice a, const char *z)
{
    size_t n = strlen(z);
    return a.n == n && memcmp(a.s, z, n) == 0;
}

/* Starts on an object or list; anything else has no elements. */
void aot_json_begin(aot_json_iter *it, aot_slice value);
/* Next element; key (without quotes, escapes as written) is empty in lists. False at the end, or
 * with it->bad set where the text is not JSON. */
bool aot_json_next(aot_json_iter *it, aot_slice *key, aot_slice *value);
/* End of the value that starts at p (no blanks before it); NULL if it is not JSON. */
const char *aot_json_skip(const char *p, const char *end);
/* True if the whole text is one JSON value. */
bool aot_json_valid(const char *s, size_t n);
/* Value of a key of an object; s NULL if absent. */
aot_slice aot_json_get(aot_slice object, const char *key);

/* Decoded string (0-terminated, U+0000 becomes U+FFFD), or the text of any other value as it is;
 * NULL for an absent value or null. */
char *aot_json_text(aot_arena *a, aot_slice value);
int64_t aot_json_int(aot_slice value, int64_t otherwise); /* accepts "5" in quotes too */
double aot_json_double(aot_slice value, double otherwise);
bool aot_json_true(aot_slice value);

#endif
