/* Copies between arrays: converted to the other dtype, whatever the strides. */
#include <string.h>

#include "exec/array.h"
#include "exec/element.h"
#include "exec/iter.h"

enum { BLOCK = 256 };

typedef union block {
    double real[BLOCK];
    int64_t integer[BLOCK];
    aot_complex complex[BLOCK];
} block;

typedef struct copy_job {
    aot_dtype to, from;
} copy_job;

#define COPY(type)                                                                                 \
    case sizeof(type):                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            memcpy(ptr[0] + i * stride[0], ptr[1] + i * stride[1], sizeof(type));                  \
        }                                                                                          \
        break;

static void copy_same(void *arg, char *const *ptr, const int64_t *stride, int64_t n)
{
    int64_t bytes = *(const int64_t *)arg;
    if (stride[0] == bytes && stride[1] == bytes) {
        memcpy(ptr[0], ptr[1], (size_t)(n * bytes));
        return;
    }
    switch (bytes) {
    COPY(uint8_t) COPY(uint16_t) COPY(uint32_t) COPY(uint64_t)
    default:
        for (int64_t i = 0; i < n; i++) {
            memcpy(ptr[0] + i * stride[0], ptr[1] + i * stride[1], (size_t)bytes);
        }
        break;
    }
}

/* Between f32 and half types. */
static void copy_floats(void *arg, char *const *ptr, const int64_t *stride, int64_t n)
{
    const copy_job *j = arg;
    float room[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t m = n - at < BLOCK ? n - at : BLOCK;
        aot_load_float(room, j->from, ptr[1] + at * stride[1], stride[1], m);
        aot_store_float(room, j->to, ptr[0] + at * stride[0], stride[0], m);
    }
}

static void copy_converted(void *arg, char *const *ptr, const int64_t *stride, int64_t n)
{
    const copy_job *j = arg;
    aot_class from = aot_dtype_class(j->from);
    block b;
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t m = n - at < BLOCK ? n - at : BLOCK;
        const char *p = ptr[1] + at * stride[1];
        char *to = ptr[0] + at * stride[0];
        if (from == AOT_CLASS_COMPLEX) {
            aot_load_complex(b.complex, j->from, p, stride[1], m);
            aot_store_complex(b.complex, j->to, to, stride[0], m);
        } else if (from == AOT_CLASS_INT) {
            aot_load_int(b.integer, j->from, p, stride[1], m);
            aot_store_int(b.integer, j->to, to, stride[0], m);
        } else {
            aot_load_real(b.real, j->from, p, stride[1], m);
            aot_store_real(b.real, j->to, to, stride[0], m);
        }
    }
}

void aot_array_assign(aot_array *to, const aot_array *from)
{
    copy_job j = {(aot_dtype)to->dtype, (aot_dtype)from->dtype};
    int64_t bytes = aot_array_item_bytes(to);
    aot_array cut = *from; // leading dimensions of one element more than `to` has
    while (cut.ndim > to->ndim) {
        cut.ndim--;
        memmove(cut.size, cut.size + 1, cut.ndim * sizeof *cut.size);
        memmove(cut.stride, cut.stride + 1, cut.ndim * sizeof *cut.stride);
    }
    aot_iter it;
    aot_iter_begin(&it, to->ndim, to->size);
    aot_iter_add(&it, to);
    aot_iter_add(&it, &cut);
    if (j.to == j.from) {
        aot_iter_run(&it, copy_same, &bytes);
    } else {
        aot_iter_run(&it, aot_fits_float(j.to) && aot_fits_float(j.from) ? copy_floats : copy_converted, &j);
    }
}

static aot_array *copy_as(const aot_array *x, aot_dtype d)
{
    aot_array *c = aot_array_new(NULL, d, x->ndim, x->size);
    aot_array_assign(c, x);
    return c;
}

aot_array *aot_array_copy(const aot_array *x)
{
    return copy_as(x, (aot_dtype)x->dtype);
}

aot_array *aot_array_flat(const aot_array *x, aot_dtype d)
{
    return x->dtype == d && aot_array_numel(x) > 0 && aot_array_is_contiguous(x)
               ? aot_array_view(x, d, x->ndim, x->size, x->stride, x->offset)
               : copy_as(x, d);
}

void aot_array_fill(aot_array *to, double x)
{
    static const int64_t one = 1;
    aot_array *v = aot_array_new(NULL, (aot_dtype)to->dtype, 0, &one);
    aot_store_real(&x, (aot_dtype)to->dtype, aot_array_data(v), 0, 1);
    aot_array_assign(to, v);
    aot_array_unref(v);
}
