/* Growable array of one type, on the heap. AOT_VEC(int) v = {0}; aot_vec_push(&v, 3); v.d[0]; v.n;
 * aot_vec_free(&v). Elements move when it grows: keep indices, not pointers. */
#ifndef AOT_BASE_VEC_H
#define AOT_BASE_VEC_H

#include <stdlib.h>

#include "base/arena.h"

#define AOT_VEC(type)     \
    struct {              \
        type *d;          \
        size_t n, cap;    \
    }

/* Makes room for one more element and counts it; its content is undefined. */
#define aot_vec_grow(v, extra)                                                       \
    do {                                                                             \
        if ((v)->n + (extra) > (v)->cap) {                                           \
            (v)->cap = (v)->cap * 2 > (v)->n + (extra) ? (v)->cap * 2 : (v)->n + (extra) + 8; \
            (v)->d = aot_xrealloc((v)->d, (v)->cap * sizeof *(v)->d);                \
        }                                                                            \
    } while (0)
#define aot_vec_push(v, x)              \
    do {                                \
        aot_vec_grow((v), 1);           \
        (v)->d[(v)->n++] = (x);         \
    } while (0)
#define aot_vec_free(v)                             \
    do {                                            \
        free((v)->d);                               \
        (v)->d = NULL;                              \
        (v)->n = (v)->cap = 0;                      \
    } while (0)

#endif
