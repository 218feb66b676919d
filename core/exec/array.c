/* Counted storages and strided arrays over them. */
#include "exec/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static aot_storage *storage_new(aot_live_bytes *live, int64_t bytes)
{
    aot_storage *s = aot_xcalloc(1, sizeof *s);
    size_t room = ((size_t)bytes + 127) / 64 * 64;
    s->data = aligned_alloc(64, room);
    if (s->data == NULL) {
        aot_oom(room);
    }
    memset(s->data, 0, room);
    *s = (aot_storage){.refs = 1, .bytes = bytes, .live = live, .data = s->data};
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
    free(s->data);
    free(s);
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
    int64_t last = 0;
    for (unsigned i = 0; i < ndim; i++) {
        if (size[i] == 0) {
            return 0;
        }
        last += (size[i] - 1) * stride[i];
    }
    return last + 1;
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

aot_array *aot_array_new_strided(aot_live_bytes *live, aot_dtype d, unsigned ndim, const int64_t *size,
                                 const int64_t *stride)
{
    aot_storage *s = storage_new(live, aot_extent(ndim, size, stride) * aot_dtype_get(d)->bytes);
    return array_of(s, d, ndim, size, stride, 0);
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
    int64_t n = aot_extent(x->ndim, x->size, x->stride);
    return x->offset >= 0 && (n == 0 || (x->offset + n) * aot_array_item_bytes(x) <= x->storage->bytes);
}
