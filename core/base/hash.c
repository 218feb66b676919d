/* Thin cover over xxHash (XXH3). */
#include "base/hash.h"

#include <stdio.h>
#include <xxhash.h>

uint64_t aot_hash64(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

void aot_hash_hex(const void *p, size_t n, char out[33])
{
    XXH128_hash_t h = XXH3_128bits(p, n);
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
}
