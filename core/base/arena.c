/* Chunked bump allocator: chunks double up to 1 MiB; a mark remembers chunk and fill. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/err.h"
#include "base/memory.h"

enum { ALIGN = 16, FIRST_CHUNK = 4096, LAST_CHUNK = 1 << 20 };

typedef struct chunk {
    struct chunk *prev;
    size_t size, used;
} chunk;

#define CHUNK_HEAD ((sizeof(chunk) + ALIGN - 1) / ALIGN * ALIGN)

struct aot_arena {
    chunk *last;
    size_t bytes;
};

void aot_keep_freed_memory(void)
{
#ifdef __GLIBC__
    enum { BLOCK = 64 << 20, REST = 512 << 20 };
    mallopt(M_MMAP_THRESHOLD, BLOCK);
    mallopt(M_TRIM_THRESHOLD, REST);
#endif
}

void *aot_xmalloc(size_t n)
{
    void *p = malloc(n != 0 ? n : 1);
    if (p == NULL) {
        aot_oom(n);
    }
    return p;
}

void *aot_xcalloc(size_t n, size_t size)
{
    void *p = calloc(n != 0 ? n : 1, size != 0 ? size : 1);
    if (p == NULL) {
        aot_oom(n * size);
    }
    return p;
}

void *aot_xrealloc(void *p, size_t n)
{
    p = realloc(p, n != 0 ? n : 1);
    if (p == NULL) {
        aot_oom(n);
    }
    return p;
}

char *aot_xstrndup(const char *s, size_t n)
{
    char *p = aot_xmalloc(n + 1);
    memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *aot_xstrdup(const char *s)
{
    return aot_xstrndup(s, strlen(s));
}

aot_arena *aot_arena_new(void)
{
    return aot_xcalloc(1, sizeof(aot_arena));
}

static void pop_chunk(aot_arena *a)
{
    chunk *c = a->last;
    a->last = c->prev;
    a->bytes -= c->size;
    free(c);
}

void aot_arena_free(aot_arena *a)
{
    if (a == NULL) {
        return;
    }
    while (a->last != NULL) {
        pop_chunk(a);
    }
    free(a);
}

static void push_chunk(aot_arena *a, size_t need)
{
    size_t size = FIRST_CHUNK;
#ifdef AOT_DEBUG_ARENA
    size = need;
#else
    if (a->last != NULL) {
        size = a->last->size < LAST_CHUNK ? a->last->size * 2 : LAST_CHUNK;
    }
    if (size < need) {
        size = need;
    }
#endif
    if (size > SIZE_MAX - CHUNK_HEAD) {
        aot_oom(size);
    }
    chunk *c = aot_xmalloc(CHUNK_HEAD + size);
    c->prev = a->last;
    c->size = size;
    c->used = 0;
    a->last = c;
    a->bytes += size;
}

void *aot_arena_alloc(aot_arena *a, size_t n)
{
    if (n > SIZE_MAX - ALIGN) {
        aot_oom(n);
    }
#ifdef AOT_DEBUG_ARENA
    push_chunk(a, n != 0 ? n : 1);
    a->last->used = a->last->size;
    return (char *)a->last + CHUNK_HEAD;
#else
    size_t need = (n + ALIGN - 1) / ALIGN * ALIGN;
    if (a->last == NULL || a->last->size - a->last->used < need) {
        push_chunk(a, need);
    }
    void *p = (char *)a->last + CHUNK_HEAD + a->last->used;
    a->last->used += need;
    return p;
#endif
}

void *aot_arena_calloc(aot_arena *a, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size) {
        aot_oom(SIZE_MAX);
    }
    void *p = aot_arena_alloc(a, n * size);
    memset(p, 0, n * size);
    return p;
}

char *aot_arena_strndup(aot_arena *a, const char *s, size_t n)
{
    char *p = aot_arena_alloc(a, n + 1);
    if (n > 0) { // s may be NULL then
        memcpy(p, s, n);
    }
    p[n] = '\0';
    return p;
}

char *aot_arena_printf(aot_arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = aot_arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    vsnprintf(p, (size_t)(n < 0 ? 0 : n) + 1, fmt, again);
    va_end(again);
    return p;
}

aot_arena_mark aot_arena_get_mark(const aot_arena *a)
{
    return (aot_arena_mark){a->last, a->last != NULL ? a->last->used : 0};
}

void aot_arena_reset(aot_arena *a, aot_arena_mark mark)
{
    while (a->last != NULL && a->last != mark.chunk) {
        pop_chunk(a);
    }
    if (a->last != NULL) {
        a->last->used = mark.used;
    }
}

size_t aot_arena_bytes(const aot_arena *a)
{
    return a->bytes;
}
