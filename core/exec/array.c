/* Counted storages and strided arrays over them. */
#include "exec/array.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/blocks.h"

/* The block holds the storage itself, then its data. */
static aot_storage *storage_new(aot_live_bytes *live, int64_t bytes, bool zeroed)
{
    enum { ALIGN = 64 };
#ifdef AOT_DEBUG_ARENA
    enum { BEHIND = 0 }; // what reads or writes there is seen
#else
    enum { BEHIND = ALIGN };
#endif
    size_t room = sizeof(aot_storage) + ALIGN - 1 + (size_t)bytes + BEHIND;
    aot_storage *s = aot_blocks_take(live == NULL ? NULL : live->blocks, &room);
    char *data = (char *)(s + 1);
    data += -(uintptr_t)data % ALIGN;
    *s = (aot_storage){.refs = 1, .bytes = bytes, .live = live, .room = room, .data = data};
#ifdef AOT_DEBUG_ARENA
    memset(data, zeroed ? 0 : 0xff, (size_t)bytes); // what nobody wrote is NaN
#else
    if (zeroed) {
        memset(data, 0, (size_t)bytes);
    }
#endif
    if (live != NULL) {
        live->now += bytes;
        live->peak = live->now > live->peak ? live->now : live->peak;
    }
    return s;
}

static void storage_unref(aot_storage *s)
{
    if (--s->refs > 0) {
        return;
    }
    if (s->live != NULL) {
        s->live->now -= s->bytes;
    }
    aot_blocks_give(s->live == NULL ? NULL : s->live->blocks, s, s->room);
}

void aot_strides_contiguous(int64_t *stride, unsigned ndim, const int64_t *size)
{
    int64_t n = 1;
    for (unsigned i = ndim; i-- > 0;) {
        stride[i] = n;
        n *= size[i] > 1 ? size[i] : 1;
    }
}

int64_t aot_extent(unsigned ndim, const int64_t *size, const int64_t *stride)
{
    int64_t last = 0, step;
    bool beyond = false;
    for (unsigned i = 0; i < ndim; i++) {
        if (size[i] == 0) {
            return 0;
        }
        beyond |= size[i] < 0 || stride[i] < 0 ||
                  __builtin_mul_overflow(size[i] - 1, stride[i], &step) ||
                  __builtin_add_overflow(last, step, &last);
    }
    return beyond || last >= AOT_EXTENT_MAX ? AOT_EXTENT_MAX : last + 1;
}

double aot_memory_bytes(void)
{
    static double bytes;
    if (bytes == 0) {
        long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        bytes = pages > 0 && page > 0 ? (double)pages * (double)page : INFINITY;
    }
    return bytes;
}

aot_status aot_array_possible(const aot_live_bytes *live, aot_dtype d, unsigned ndim,
                              const int64_t *size, const int64_t *stride, aot_err *err)
{
    double elements = 1, strides = 1, now = live == NULL ? 0 : (double)live->now,
           memory = aot_memory_bytes();
    if (ndim > AOT_ARRAY_MAX_NDIM) {
        return AOT_FAIL(err, AOT_E_SHAPE, "%u dimensions; the interpreter has room for %d", ndim,
                        AOT_ARRAY_MAX_NDIM);
    }
    for (unsigned i = 0; i < ndim; i++) {
        if (size[i] < 0 || (stride != NULL && stride[i] < 0)) {
            return AOT_FAIL(err, AOT_E_SHAPE, "negative %s %" PRId64,
                            size[i] < 0 ? "size" : "stride", size[i] < 0 ? size[i] : stride[i]);
        }
        elements *= (double)size[i];
        strides *= size[i] > 1 ? (double)size[i] : 1; // an empty tensor has strides, too
    }
    if (elements > 0x1p36 || strides > 0x1p62) {
        return AOT_FAIL(err, AOT_E_RANGE, "a tensor of %.3g elements",
                        elements > 0 ? elements : strides);
    }
    double bytes = (stride == NULL ? elements : (double)aot_extent(ndim, size, stride)) *
                   aot_dtype_get(d)->bytes;
    if (bytes > memory) {
        return AOT_FAIL(err, AOT_E_RANGE, "a tensor of %.3g bytes; this machine has %.3g", bytes,
                        memory);
    }
    if (bytes > 0 && bytes + now > memory) {
        return AOT_FAIL(err, AOT_E_RANGE,
                        "a tensor of %.3g bytes where %.3g are live; this machine has %.3g", bytes,
                        now, memory);
    }
    return AOT_OK;
}

static aot_array *array_of(aot_storage *s, aot_dtype d, unsigned ndim, const int64_t *size,
                           const int64_t *stride, int64_t offset)
{
    assert(ndim <= AOT_ARRAY_MAX_NDIM);
    aot_array *x = aot_xmalloc(sizeof *x);
    x->refs = 1;
    x->dtype = (uint8_t)d;
    x->ndim = (uint8_t)ndim;
    x->storage = s;
    x->offset = offset;
    for (unsigned i = 0; i < ndim; i++) {
        x->size[i] = size[i];
        x->stride[i] = stride[i];
    }
    return x;
}

static aot_array *new_strided(aot_live_bytes *live, aot_dtype d, unsigned ndim, const int64_t *size,
                              const int64_t *stride, bool zeroed)
{
    aot_storage *s =
        storage_new(live, aot_extent(ndim, size, stride) * aot_dtype_get(d)->bytes, zeroed);
    return array_of(s, d, ndim, size, stride, 0);
}

aot_array *aot_array_new_strided(aot_live_bytes *live, aot_dtype d, unsigned ndim,
                                 const int64_t *size, const int64_t *stride)
{
    return new_strided(live, d, ndim, size, stride, true);
}

aot_array *aot_array_empty_strided(aot_live_bytes *live, aot_dtype d, unsigned ndim,
                                   const int64_t *size, const int64_t *stride)
{
    return new_strided(live, d, ndim, size, stride, false);
}

aot_array *aot_array_new(aot_live_bytes *live, aot_dtype d, unsigned ndim, const int64_t *size)
{
    int64_t stride[AOT_ARRAY_MAX_NDIM];
    aot_strides_contiguous(stride, ndim, size);
    return aot_array_new_strided(live, d, ndim, size, stride);
}

aot_array *aot_array_view(const aot_array *x, aot_dtype d, unsigned ndim, const int64_t *size,
                          const int64_t *stride, int64_t offset)
{
    x->storage->refs++;
    return array_of(x->storage, d, ndim, size, stride, offset);
}

aot_array *aot_array_ref(aot_array *x)
{
    x->refs++;
    return x;
}

void aot_array_unref(aot_array *x)
{
    if (x == NULL || --x->refs > 0) {
        return;
    }
    storage_unref(x->storage);
    free(x);
}

int64_t aot_array_numel(const aot_array *x)
{
    int64_t n = 1;
    for (unsigned i = 0; i < x->ndim; i++) {
        n *= x->size[i];
    }
    return n;
}

bool aot_array_is_contiguous(const aot_array *x)
{
    int64_t n = 1;
    for (unsigned i = x->ndim; i-- > 0;) {
        if (x->size[i] != 1 && x->stride[i] != n) {
            return aot_array_numel(x) == 0;
        }
        n *= x->size[i];
    }
    return true;
}

bool aot_array_fits(const aot_array *x)
{
    int64_t n = aot_extent(x->ndim, x->size, x->stride),
            room = x->storage->bytes / aot_array_item_bytes(x);
    return x->offset >= 0 && (n == 0 || (n <= room && x->offset <= room - n));
}
