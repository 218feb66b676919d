/* Hashing, over xxHash: text identity in sessions, tables in memory. */
#ifndef AOT_BASE_HASH_H
#define AOT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t aot_hash64(const void *p, size_t n);
/* 128-bit hash as 32 hexadecimal digits; the key of texts in a session. */
void aot_hash_hex(const void *p, size_t n, char out[33]);
static inline uint64_t aot_hash_mix(uint64_t h, uint64_t x)
{
    h ^= x + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdu;
    return h ^ (h >> 32);
}

#endif
