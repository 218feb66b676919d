/* Values of a running graph: arrays, numbers, lists. */
#ifndef AOT_EXEC_VALUE_H
#define AOT_EXEC_VALUE_H

#include "exec/array.h"
#include "exec/element.h"

typedef enum aot_xkind {
    AOT_X_NONE,
    AOT_X_ARRAY,
    AOT_X_INT,
    AOT_X_REAL,
    AOT_X_BOOL,
    AOT_X_COMPLEX,
    AOT_X_STR,   /* u.text: also names: torch.channels_last */
    AOT_X_DTYPE, /* u.i */
    AOT_X_LIST,  /* u.items */
    AOT_X_GRAPH, /* u.graph, borrowed: an argument of a higher-order operator */
    AOT_X_NODE   /* only in a plan: the value of u.node */
} aot_xkind;

typedef struct aot_xval {
    uint8_t kind;
    uint32_t n; /* LIST: items */
    union {
        aot_array *array;
        int64_t i;
        double f;
        double z[2];
        const char *text;
        struct aot_xval *items;
        aot_node_id node;
        const aot_graph *graph;
    } u;
} aot_xval;

static inline aot_xval aot_xv_none(void)
{
    return (aot_xval){.kind = AOT_X_NONE};
}
static inline aot_xval aot_xv_array(aot_array *x) /* NULL: None */
{
    return (aot_xval){.kind = x == NULL ? AOT_X_NONE : AOT_X_ARRAY, .u.array = x};
}
static inline aot_xval aot_xv_int(int64_t i)
{
    return (aot_xval){.kind = AOT_X_INT, .u.i = i};
}
static inline aot_xval aot_xv_real(double f)
{
    return (aot_xval){.kind = AOT_X_REAL, .u.f = f};
}
static inline aot_xval aot_xv_bool(bool b)
{
    return (aot_xval){.kind = AOT_X_BOOL, .u.i = b};
}
static inline aot_xval aot_xv_dtype(aot_dtype d)
{
    return (aot_xval){.kind = AOT_X_DTYPE, .u.i = d};
}
static inline aot_xval aot_xv_list(unsigned n, aot_xval *items)
{
    return (aot_xval){.kind = AOT_X_LIST, .n = n, .u.items = items};
}

/* A value that outlives its call: arrays are referenced, lists copied to the heap. */
aot_xval aot_xv_keep(aot_xval v);
void aot_xv_drop(aot_xval *v); /* gives it back and makes it None */

#endif
