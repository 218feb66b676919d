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

/* Columns become rows tile by tile, so that both sides use what they bring into the cache:
 * dimension q is the one that lies behind each other in the source, the last one in the target. */
typedef struct turn {
    int64_t rows, columns;          /* sizes of dimension q and of the last one */
    /* in bytes: of dimension q in the target, of the last one in the source */
    int64_t to_stride, from_stride;
} turn;

#define TURN(type)                                                                                 \
    case sizeof(type):                                                                             \
        for (int64_t r = 0; r < t->rows; r += TILE) {                                              \
            for (int64_t c = 0; c < t->columns; c += TILE) {                                       \
                int64_t r_end = r + TILE < t->rows ? r + TILE : t->rows;                           \
                int64_t c_end = c + TILE < t->columns ? c + TILE : t->columns;                     \
                for (int64_t i = r; i < r_end; i++) {                                              \
                    for (int64_t j = c; j < c_end; j++) {                                          \
                        memcpy(to + i * t->to_stride + j * (int64_t)sizeof(type),                  \
                               from + j * t->from_stride + i * (int64_t)sizeof(type),              \
                               sizeof(type));                                                      \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        break;

static void turn_tiles(char *to, const char *from, const turn *t, int64_t bytes)
{
    enum { TILE = 16 };
    switch (bytes) {
    TURN(uint8_t) TURN(uint16_t) TURN(uint32_t) TURN(uint64_t)
    default: break;
    }
}

/* false: source and target have their neighbours along the same dimension. */
static bool copy_turned(aot_iter *it, int64_t bytes)
{
    unsigned last = it->ndim - 1, q = 0;
    while (q < it->ndim && it->stride[1][q] != bytes) {
        q++;
    }
    if (it->ndim < 2 || q >= last || it->stride[0][last] != bytes || bytes > 8) {
        return false;
    }
    turn t = {it->size[q], it->size[last], it->stride[0][q], it->stride[1][last]};
    int64_t at[AOT_ARRAY_MAX_NDIM] = {0}, n = 1;
    for (unsigned i = 0; i < last; i++) {
        n *= i == q ? 1 : it->size[i];
    }
    char *to = it->data[0], *from = it->data[1];
    for (int64_t r = 0; r < n; r++) {
        turn_tiles(to, from, &t, bytes);
        for (unsigned i = last; i-- > 0;) {
            if (i == q) {
                continue;
            }
            bool wraps = ++at[i] == it->size[i];
            to += wraps ? -it->stride[0][i] * (it->size[i] - 1) : it->stride[0][i];
            from += wraps ? -it->stride[1][i] * (it->size[i] - 1) : it->stride[1][i];
            if (!wraps) {
                break;
            }
            at[i] = 0;
        }
    }
    return true;
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
        aot_iter_settle(&it);
        if (!copy_turned(&it, bytes)) {
            aot_iter_run(&it, copy_same, &bytes);
        }
    } else {
        aot_iter_run(
            &it, aot_fits_float(j.to) && aot_fits_float(j.from) ? copy_floats : copy_converted, &j);
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
