/* Interning by open addressing over xxHash; ids are dense, so tables indexed by id are arrays. */
#include "base/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"

typedef struct entry {
    const char *text;
    uint32_t len, hash;
} entry;

struct aot_strtab {
    aot_arena *arena;
    entry *entries;
    uint32_t n, cap;
    uint32_t *slots; /* id or 0 */
    uint32_t n_slots;
};

static uint32_t hash32(const char *s, size_t n)
{
    uint64_t h = aot_hash64(s, n);
    return (uint32_t)(h ^ (h >> 32));
}

aot_strtab *aot_strtab_new(void)
{
    aot_strtab *t = aot_xcalloc(1, sizeof *t);
    t->arena = aot_arena_new();
    t->n_slots = 256;
    t->slots = aot_xcalloc(t->n_slots, sizeof *t->slots);
    t->cap = 128;
    t->entries = aot_xcalloc(t->cap, sizeof *t->entries);
    t->entries[0] = (entry){"", 0, 0};
    t->n = 1;
    return t;
}

void aot_strtab_free(aot_strtab *t)
{
    if (t == NULL) {
        return;
    }
    aot_arena_free(t->arena);
    free(t->entries);
    free(t->slots);
    free(t);
}

static void rehash(aot_strtab *t)
{
    t->n_slots *= 2;
    free(t->slots);
    t->slots = aot_xcalloc(t->n_slots, sizeof *t->slots);
    for (uint32_t id = 1; id < t->n; id++) {
        uint32_t i = t->entries[id].hash & (t->n_slots - 1);
        while (t->slots[i] != 0) {
            i = (i + 1) & (t->n_slots - 1);
        }
        t->slots[i] = id;
    }
}

/* The slot that holds s, or the free one where it belongs. */
static uint32_t slot_of(const aot_strtab *t, const char *s, size_t n, uint32_t h)
{
    uint32_t i = h & (t->n_slots - 1);
    for (; t->slots[i] != 0; i = (i + 1) & (t->n_slots - 1)) {
        const entry *e = &t->entries[t->slots[i]];
        if (e->hash == h && e->len == n && memcmp(e->text, s, n) == 0) {
            break;
        }
    }
    return i;
}

aot_str aot_intern_find(const aot_strtab *t, const char *s, size_t n)
{
    return n == 0 ? 0 : t->slots[slot_of(t, s, n, hash32(s, n))];
}

aot_str aot_intern(aot_strtab *t, const char *s, size_t n)
{
    if (n == 0) {
        return 0;
    }
    uint32_t h = hash32(s, n);
    uint32_t i = slot_of(t, s, n, h);
    if (t->slots[i] != 0) {
        return t->slots[i];
    }
    if (t->n == t->cap) {
        t->cap *= 2;
        t->entries = aot_xrealloc(t->entries, t->cap * sizeof *t->entries);
    }
    t->entries[t->n] = (entry){aot_arena_strndup(t->arena, s, n), (uint32_t)n, h};
    t->slots[i] = t->n++;
    uint32_t id = t->n - 1;
    if (t->n * 2 > t->n_slots) {
        rehash(t);
    }
    return id;
}

aot_str aot_intern_z(aot_strtab *t, const char *s)
{
    return aot_intern(t, s, strlen(s));
}

const char *aot_str_text(const aot_strtab *t, aot_str s)
{
    return t->entries[s].text;
}

size_t aot_str_len(const aot_strtab *t, aot_str s)
{
    return t->entries[s].len;
}

uint32_t aot_strtab_count(const aot_strtab *t)
{
    return t->n;
}

static void sb_room(aot_sb *b, size_t more)
{
    if (b->n + more + 1 > b->cap) {
        b->cap = (b->n + more + 1) * 2 + 32;
        b->d = aot_xrealloc(b->d, b->cap);
    }
}

void aot_sb_add(aot_sb *b, const char *s, size_t n)
{
    sb_room(b, n);
    if (n != 0) {
        memcpy(b->d + b->n, s, n);
    }
    b->n += n;
    b->d[b->n] = '\0';
}

void aot_sb_addz(aot_sb *b, const char *s)
{
    aot_sb_add(b, s, strlen(s));
}

void aot_sb_addc(aot_sb *b, char c)
{
    aot_sb_add(b, &c, 1);
}

void aot_sb_addf(aot_sb *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n > 0) {
        sb_room(b, (size_t)n);
        vsnprintf(b->d + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void aot_sb_add_i64(aot_sb *b, int64_t v)
{
    char buf[24], *p = buf + sizeof buf;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        *--p = (char)('0' + u % 10);
        u /= 10;
    } while (u != 0);
    if (v < 0) {
        *--p = '-';
    }
    aot_sb_add(b, p, (size_t)(buf + sizeof buf - p));
}

void aot_sb_pad(aot_sb *b, char c, size_t n)
{
    sb_room(b, n);
    memset(b->d + b->n, c, n);
    b->n += n;
    b->d[b->n] = '\0';
}

const char *aot_sb_text(const aot_sb *b)
{
    return b->d != NULL ? b->d : "";
}

void aot_sb_clear(aot_sb *b)
{
    b->n = 0;
    if (b->d != NULL) {
        b->d[0] = '\0';
    }
}

void aot_sb_free(aot_sb *b)
{
    free(b->d);
    *b = (aot_sb){0};
}

bool aot_starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool aot_ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

bool aot_bytes_parse(int64_t *bytes, const char *text)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {{"", 1},
                 {"B", 1},
                 {"KB", 1e3},
                 {"MB", 1e6},
                 {"GB", 1e9},
                 {"TB", 1e12},
                 {"KiB", 1024},
                 {"MiB", 1048576},
                 {"GiB", 1073741824.0},
                 {"TiB", 1099511627776.0}};
    char *end;
    double n = strtod(text, &end);
    for (size_t i = 0; end != text && n >= 0 && i < sizeof units / sizeof *units; i++) {
        bool part = i == 0 && n != floor(n); // of a byte: its unit was forgotten
        if (strcmp(end, units[i].unit) == 0 && !part && n * units[i].bytes < 9e18) {
            *bytes = (int64_t)(n * units[i].bytes);
            return true;
        }
    }
    return false;
}

char *aot_text_disarm(char *s)
{
    for (unsigned char *p = (unsigned char *)s; p != NULL && *p != 0; p++) {
        if ((*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f) {
            *p = '?';
        } else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) {
            p[0] = p[1] = '?';
        }
    }
    return s;
}
