/* Strided iteration over several operands: broadcast, sort, merge, walk. */
#include "exec/iter.h"

#include <string.h>

bool aot_broadcast(unsigned *ndim, int64_t *size, unsigned other_ndim, const int64_t *other)
{
    if (other_ndim > *ndim) {
        unsigned more = other_ndim - *ndim;
        memmove(size + more, size, *ndim * sizeof *size);
        for (unsigned i = 0; i < more; i++) {
            size[i] = 1;
        }
        *ndim = other_ndim;
    }
    for (unsigned i = 0; i < other_ndim; i++) {
        int64_t *s = &size[*ndim - other_ndim + i], o = other[i];
        if (*s != o && *s != 1 && o != 1) {
            return false;
        }
        *s = *s == 1 ? o : *s;
    }
    return true;
}

void aot_iter_begin(aot_iter *it, unsigned ndim, const int64_t *size)
{
    it->n = 0;
    it->ndim = ndim;
    memcpy(it->size, size, ndim * sizeof *size);
}

void aot_iter_add(aot_iter *it, const aot_array *x)
{
    unsigned k = it->n++, shift = it->ndim - x->ndim;
    int64_t bytes = aot_array_item_bytes(x);
    it->data[k] = aot_array_data(x);
    for (unsigned i = 0; i < it->ndim; i++) {
        it->stride[k][i] = i < shift || (x->size[i - shift] == 1 && it->size[i] != 1)
                               ? 0
                               : x->stride[i - shift] * bytes;
    }
}

static void swap_dims(aot_iter *it, unsigned a, unsigned b)
{
    int64_t s = it->size[a];
    it->size[a] = it->size[b];
    it->size[b] = s;
    for (unsigned k = 0; k < it->n; k++) {
        s = it->stride[k][a];
        it->stride[k][a] = it->stride[k][b];
        it->stride[k][b] = s;
    }
}

/* Larger strides outside. */
static void sort_dims(aot_iter *it)
{
    for (unsigned i = 1; i < it->ndim; i++) {
        for (unsigned j = i; j > 0 && it->stride[0][j - 1] < it->stride[0][j]; j--) {
            swap_dims(it, j - 1, j);
        }
    }
}

static void merge_dims(aot_iter *it)
{
    unsigned n = 0;
    for (unsigned i = 0; i < it->ndim; i++) {
        if (it->size[i] == 1) {
            continue;
        }
        bool joins = n > 0;
        for (unsigned k = 0; k < it->n && joins; k++) {
            joins = it->stride[k][n - 1] == it->stride[k][i] * it->size[i];
        }
        unsigned to = joins ? n - 1 : n++;
        it->size[to] = joins ? it->size[to] * it->size[i] : it->size[i];
        for (unsigned k = 0; k < it->n; k++) {
            it->stride[k][to] = it->stride[k][i];
        }
    }
    it->ndim = n;
}

void aot_iter_run_in_order(aot_iter *it, aot_loop_fn *fn, void *arg)
{
    int64_t at[AOT_ARRAY_MAX_NDIM] = {0}, inner[AOT_ITER_MAX], rows = 1;
    merge_dims(it);
    char *ptr[AOT_ITER_MAX];
    unsigned last = it->ndim == 0 ? 0 : it->ndim - 1;
    int64_t n = it->ndim == 0 ? 1 : it->size[last];
    for (unsigned i = 0; i < last; i++) {
        rows *= it->size[i];
    }
    for (unsigned k = 0; k < it->n; k++) {
        ptr[k] = it->data[k];
        inner[k] = it->ndim == 0 ? 0 : it->stride[k][last];
    }
    for (int64_t r = 0; r < rows && n > 0; r++) {
        fn(arg, ptr, inner, n);
        for (unsigned i = last; i-- > 0;) {
            bool wraps = ++at[i] == it->size[i];
            for (unsigned k = 0; k < it->n; k++) {
                ptr[k] += wraps ? -it->stride[k][i] * (it->size[i] - 1) : it->stride[k][i];
            }
            if (!wraps) {
                break;
            }
            at[i] = 0;
        }
    }
}

void aot_iter_settle(aot_iter *it)
{
    sort_dims(it);
    merge_dims(it);
}

void aot_iter_run(aot_iter *it, aot_loop_fn *fn, void *arg)
{
    sort_dims(it);
    aot_iter_run_in_order(it, fn, arg);
}
