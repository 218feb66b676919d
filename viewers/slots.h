/* An open hash table from 64-bit keys to small numbers, for looking for repeats. */
#ifndef AOT_VIEWERS_SLOTS_H
#define AOT_VIEWERS_SLOTS_H

#include <stddef.h>
#include <stdint.h>

typedef struct slot {
    uint64_t key;
    uint32_t value;
} slot;

// Finds or adds a key in an open table of size mask + 1; key 0 is not used.
static inline slot *find_slot(slot *t, size_t mask, uint64_t key)
{
    key = key ? key : 1;
    size_t i = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (t[i].key && t[i].key != key) {
        i = (i + 1) & mask;
    }
    if (!t[i].key) {
        t[i].key = key;
        t[i].value = UINT32_MAX;
    }
    return &t[i];
}

static inline size_t table_mask(size_t n)
{
    size_t size = 64;
    while (size < 2 * n + 2) {
        size *= 2;
    }
    return size - 1;
}

#endif
