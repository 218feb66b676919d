/* Lists of free blocks by size class, four classes to a doubling. Sanitizer builds keep nothing:
 * each block is its own, so that a look at a dead one is seen. */
#include "exec/blocks.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"

enum { LEAST_SHIFT = 8, CLASSES = 4 * 40 };
/* What lies idle at most: more goes back to the system. */
#define MOST_IDLE ((size_t)256 << 20)

typedef struct free_block {
    struct free_block *next;
} free_block;

struct aot_blocks {
    free_block *free[CLASSES];
    size_t idle;
};

aot_blocks *aot_blocks_new(void)
{
    return aot_xcalloc(1, sizeof(aot_blocks));
}

void aot_blocks_free(aot_blocks *b)
{
    for (int i = 0; b != NULL && i < CLASSES; i++) {
        while (b->free[i] != NULL) {
            free_block *f = b->free[i];
            b->free[i] = f->next;
            free(f);
        }
    }
    free(b);
}

/* The class of that many bytes, which become the size of its blocks; CLASSES: too large for any. */
static int class_of(size_t *bytes)
{
    int shift = LEAST_SHIFT;
    while (shift < LEAST_SHIFT + 39 && (size_t)2 << shift <= *bytes) {
        shift++;
    }
    size_t quarter = (size_t)1 << (shift - 2), base = (size_t)1 << shift;
    size_t i = *bytes <= base ? 0 : (*bytes - base + quarter - 1) / quarter; // 4: the next doubling
    int c = 4 * (shift - LEAST_SHIFT) + (int)(i < 5 ? i : 5);
    if (i > 4 || c >= CLASSES) {
        return CLASSES;
    }
    *bytes = base + i * quarter;
    return c;
}

static void *from_system(size_t bytes)
{
    void *p = malloc(bytes);
    if (p == NULL) {
        aot_oom(bytes);
    }
    return p;
}

void *aot_blocks_take(aot_blocks *b, size_t *bytes)
{
#ifdef AOT_DEBUG_ARENA
    (void)b;
    (void)class_of;
    return from_system(*bytes);
#else
    int c = b == NULL ? CLASSES : class_of(bytes);
    if (c == CLASSES || b->free[c] == NULL) {
        return from_system(*bytes);
    }
    free_block *f = b->free[c];
    b->free[c] = f->next;
    b->idle -= *bytes;
    return f;
#endif
}

void aot_blocks_give(aot_blocks *b, void *block, size_t bytes)
{
#ifdef AOT_DEBUG_ARENA
    (void)b;
    (void)bytes;
    free(block);
#else
    size_t same = bytes;
    int c = b == NULL ? CLASSES : class_of(&same);
    if (c == CLASSES || same != bytes || b->idle + bytes > MOST_IDLE) {
        free(block);
        return;
    }
    free_block *f = block;
    f->next = b->free[c];
    b->free[c] = f;
    b->idle += bytes;
#endif
}
