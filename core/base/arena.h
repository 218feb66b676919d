/* Bump allocator. What is allocated together is freed together; there is no free of one block.
 * AOT_DEBUG_ARENA (a configure switch, on in sanitizer builds) makes every block its own malloc,
 * so that overruns between blocks are seen. */
#ifndef AOT_BASE_ARENA_H
#define AOT_BASE_ARENA_H

#include <stddef.h>

typedef struct aot_arena aot_arena;

/* A place in an arena to fall back to. */
typedef struct aot_arena_mark {
    void *chunk;
    size_t used;
} aot_arena_mark;

aot_arena *aot_arena_new(void);   /* never NULL */
void aot_arena_free(aot_arena *a); /* NULL is fine */

/* 16-byte aligned, uninitialised; never NULL (n == 0 gives a valid pointer). */
void *aot_arena_alloc(aot_arena *a, size_t n);
/* n * size, zeroed; exits through aot_oom on overflow. */
void *aot_arena_calloc(aot_arena *a, size_t n, size_t size);
/* Copy of n bytes with a 0 after them. */
char *aot_arena_strndup(aot_arena *a, const char *s, size_t n);
char *aot_arena_printf(aot_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

aot_arena_mark aot_arena_get_mark(const aot_arena *a);
void aot_arena_reset(aot_arena *a, aot_arena_mark mark);
size_t aot_arena_bytes(const aot_arena *a); /* held from the system */

#define AOT_NEW(arena, type) ((type *)aot_arena_calloc((arena), 1, sizeof(type)))
#define AOT_NEW_ARRAY(arena, type, n) ((type *)aot_arena_calloc((arena), (n), sizeof(type)))

/* malloc family that cannot return NULL. */
void *aot_xmalloc(size_t n);
void *aot_xcalloc(size_t n, size_t size);
void *aot_xrealloc(void *p, size_t n);
char *aot_xstrdup(const char *s);
char *aot_xstrndup(const char *s, size_t n);

#endif
