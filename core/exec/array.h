/* Arrays: what the interpreter computes with. An array is a strided look at a counted storage;
 * views share the storage and copy nothing. Mirrors torch.Tensor on the CPU (sizes, strides and
 * offset in elements), without autograd.
 *
 * Ownership: arrays and storages are counted; what returns an array returns a reference that the
 * caller gives back with aot_array_unref. */
#ifndef AOT_EXEC_ARRAY_H
#define AOT_EXEC_ARRAY_H

#include "exec/blocks.h"
#include "ir/graph.h"

enum { AOT_ARRAY_MAX_NDIM = 16 };

/* Bytes of living storages: now, and the most there were. It outlives them. */
typedef struct aot_live_bytes {
    int64_t now, peak;
    aot_blocks *blocks; /* where their memory comes from, borrowed; NULL: the system */
} aot_live_bytes;

typedef struct aot_storage {
    uint32_t refs;
    uint32_t version;     /* how often a caller's write was noted: autograd's version counter */
    int64_t bytes;
    aot_live_bytes *live; /* counts it; NULL: not counted */
    size_t room;          /* of its block */
    char *data;           /* 64-byte aligned */
} aot_storage;

typedef struct aot_array {
    uint32_t refs;
    uint8_t dtype, ndim;
    aot_storage *storage;
    int64_t offset; /* elements from the start of the storage; negative strides do not exist */
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
} aot_array;

/* Contiguous, zeroed. live may be NULL. */
aot_array *aot_array_new(aot_live_bytes *live, aot_dtype d, unsigned ndim, const int64_t *size);
/* The same with strides; the storage holds what they reach. */
aot_array *aot_array_new_strided(aot_live_bytes *live, aot_dtype d, unsigned ndim,
                                 const int64_t *size, const int64_t *stride);
/* The same with undefined elements: for what writes each of them. */
aot_array *aot_array_empty_strided(aot_live_bytes *live, aot_dtype d, unsigned ndim,
                                   const int64_t *size, const int64_t *stride);
/* Another look at x's storage. offset counts from the start of the storage, in elements of d. */
aot_array *aot_array_view(const aot_array *x, aot_dtype d, unsigned ndim, const int64_t *size,
                          const int64_t *stride, int64_t offset);
aot_array *aot_array_ref(aot_array *x);
void aot_array_unref(aot_array *x); /* NULL is fine */

static inline int64_t aot_array_item_bytes(const aot_array *x)
{
    return aot_dtype_get((aot_dtype)x->dtype)->bytes;
}
static inline char *aot_array_data(const aot_array *x)
{
    return x->storage->data + x->offset * aot_array_item_bytes(x);
}
static inline char aot_array_kind(const aot_array *x) /* 'f' 'c' 'i' 'u' 'b' */
{
    return aot_dtype_get((aot_dtype)x->dtype)->kind;
}
int64_t aot_array_numel(const aot_array *x);
bool aot_array_is_contiguous(const aot_array *x);
/* Whether all elements from the offset on fit into the storage. */
bool aot_array_fits(const aot_array *x);
void aot_strides_contiguous(int64_t *stride, unsigned ndim, const int64_t *size);
/* Elements from the first to behind the last that such an array reaches; 0 if it is empty;
 * AOT_EXTENT_MAX where there are more, or a size or stride is negative: no storage holds them, and
 * their bytes are still a number. */
#define AOT_EXTENT_MAX (INT64_MAX / 32)
int64_t aot_extent(unsigned ndim, const int64_t *size, const int64_t *stride);
double aot_memory_bytes(void); /* of the machine; infinite where the system does not say */
/* Whether such an array can be made beside what is live (NULL: nothing): what is asked before any
 * whose sizes were read from outside. AOT_E_SHAPE: too many dimensions, a negative size or stride.
 * AOT_E_RANGE: too large. stride NULL: contiguous. */
aot_status aot_array_possible(const aot_live_bytes *live, aot_dtype d, unsigned ndim,
                              const int64_t *size, const int64_t *stride, aot_err *err);

/* The same values, converted and broadcast; they do not overlap. */
void aot_array_assign(aot_array *to, const aot_array *from);
void aot_array_fill(aot_array *to, double x);
/* A contiguous copy of the elements that nothing counts. */
aot_array *aot_array_copy(const aot_array *x);
/* Contiguous and of dtype d, to be read alone: another look at x's memory where it is so, else a
 * converted copy that nothing counts. */
aot_array *aot_array_flat(const aot_array *x, aot_dtype d);

#endif
