/* Running sums, sorting, order statistics: row by row along one dimension.
 *
 * Mirrors: aten/src/ATen/native/cpu/ReduceOpsKernel.cpp, Sorting.cpp, cpu/SortingKernel.cpp,
 * TensorCompare.cpp. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/rows.h"

/* Rows along a dimension in and out: results are written through views that have it last. */
typedef struct lines {
    rows r;
    put w, wi;
    aot_array *out, *index;
} lines;

static void lines_of(aot_kern *k, lines *l, aot_dtype d, aot_dtype out, unsigned dim, int64_t len,
                     bool index)
{
    aot_array *x = k_need(k, 0);
    int64_t size[AOT_ARRAY_MAX_NDIM] = {0};
    memcpy(size, x->size, sizeof size);
    if (x->ndim > 0 && len >= 0) {
        size[dim] = len;
    }
    rows_of(k, &l->r, x, 1u << dim, true, d);
    l->out = k_out(k, 0, out, x->ndim, size);
    put_start(&l->w, k_move_last(k, l->out, dim));
    if (index) {
        l->index = k_out(k, 1, AOT_I64, x->ndim, size);
        put_start(&l->wi, k_move_last(k, l->index, dim));
    }
}

/* ---- running sums and products --------------------------------------------------------------- */

static void running(aot_kern *k, bool product)
{
    aot_array *x = k_need(k, 0);
    lines l;
    bool ints = aot_dtype_class((aot_dtype)x->dtype) == AOT_CLASS_INT;
    aot_dtype d = k_dtype(k, 2, ints ? AOT_I64 : (aot_dtype)x->dtype);
    lines_of(k, &l, d, d, k_dim(k, 1, x->ndim), -1, false);
    for (int64_t i = 0; i < l.r.n; i++) {
        const void *row = rows_get(&l.r, i);
        double s = product;
        uint64_t u = product;
        aot_complex z = product;
        for (int64_t j = 0; j < l.r.len; j++) {
            if (l.r.class == AOT_CLASS_REAL) {
                s = product ? s * ((const double *)row)[j] : s + ((const double *)row)[j];
                put_real(&l.w, s);
            } else if (l.r.class == AOT_CLASS_INT) {
                uint64_t v = (uint64_t)((const int64_t *)row)[j];
                u = product ? u * v : u + v;
                put_int(&l.w, (int64_t)u);
            } else {
                z = product ? z * ((const aot_complex *)row)[j] : z + ((const aot_complex *)row)[j];
                put_complex(&l.w, z);
            }
        }
    }
    k_give(k, l.out);
}

void kern_cumsum(aot_kern *k)
{
    running(k, false);
}

void kern_cumprod(aot_kern *k)
{
    running(k, true);
}

void kern_logcumsumexp(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    lines l;
    lines_of(k, &l, k_to_float((aot_dtype)x->dtype), k_to_float((aot_dtype)x->dtype),
             k_dim(k, 1, x->ndim), -1, false);
    for (int64_t i = 0; i < l.r.n; i++) {
        const void *row = rows_get(&l.r, i);
        double s = -INFINITY;
        aot_complex z = 0;
        for (int64_t j = 0; j < l.r.len; j++) {
            if (l.r.class == AOT_CLASS_COMPLEX) {
                z += cexp(((const aot_complex *)row)[j]);
                put_complex(&l.w, clog(z));
                continue;
            }
            double v = ((const double *)row)[j], hi = fmax(s, v), lo = fmin(s, v);
            s = s != s || v != v ? NAN : hi == lo && isinf(hi) ? hi : hi + log1p(exp(lo - hi));
            put_real(&l.w, s);
        }
    }
    k_give(k, l.out);
}

/* ---- extremes so far ------------------------------------------------------------------------- */

static double real_at(const rows *r, const void *row, int64_t i)
{
    return r->class == AOT_CLASS_INT ? (double)((const int64_t *)row)[i] : ((const double *)row)[i];
}

static void put_element(put *w, const rows *r, int64_t row, int64_t at)
{
    memcpy(put_next(w), r->p + row * r->row_bytes + at * w->bytes, (size_t)w->bytes);
}

static void running_extreme(aot_kern *k, bool max)
{
    aot_array *x = k_need(k, 0);
    lines l;
    lines_of(k, &l, (aot_dtype)x->dtype, (aot_dtype)x->dtype, k_dim(k, 1, x->ndim), -1, true);
    for (int64_t i = 0; i < l.r.n; i++) {
        const void *row = rows_get(&l.r, i);
        int64_t best = 0;
        for (int64_t j = 0; j < l.r.len; j++) {
            double v = real_at(&l.r, row, j), b = real_at(&l.r, row, best);
            best = v != v || (b == b && (max ? v >= b : v <= b)) ? j : best;
            put_element(&l.w, &l.r, i, best);
            put_int(&l.wi, best);
        }
    }
    k_give(k, l.out);
    k_give(k, l.index);
}

void kern_cummax(aot_kern *k)
{
    running_extreme(k, true);
}

void kern_cummin(aot_kern *k)
{
    running_extreme(k, false);
}

/* ---- sorting --------------------------------------------------------------------------------- */

typedef struct item {
    double f;
    int64_t i, at;
} item;

/* NaN counts as the largest; equal ones keep their order. */
static int by_real(const void *pa, const void *pb)
{
    const item *a = pa, *b = pb;
    bool na = a->f != a->f, nb = b->f != b->f;
    if (na || nb) {
        return na != nb ? (na ? 1 : -1) : (a->at > b->at) - (a->at < b->at);
    }
    return a->f != b->f   ? (a->f < b->f ? -1 : 1)
           : a->i != b->i ? (a->i < b->i ? -1 : 1)
                          : (a->at > b->at) - (a->at < b->at);
}

static int by_real_down(const void *pa, const void *pb)
{
    const item *a = pa, *b = pb;
    bool same = (a->f == b->f && a->i == b->i) || (a->f != a->f && b->f != b->f);
    return same ? (a->at > b->at) - (a->at < b->at) : by_real(pb, pa);
}

static item *sorted_row(aot_kern *k, rows *r, int64_t row, bool down)
{
    const void *v = rows_get(r, row);
    item *items = k_mem(k, (size_t)(r->len + 1) * sizeof *items);
    for (int64_t j = 0; j < r->len; j++) {
        bool ints = r->class == AOT_CLASS_INT;
        items[j] = (item){ints ? 0 : ((const double *)v)[j], ints ? ((const int64_t *)v)[j] : 0, j};
    }
    qsort(items, (size_t)r->len, sizeof *items, down ? by_real_down : by_real);
    return items;
}

static void sort_along(aot_kern *k, unsigned dim, bool down, int64_t keep)
{
    aot_array *x = k_need(k, 0);
    lines l;
    lines_of(k, &l, (aot_dtype)x->dtype, (aot_dtype)x->dtype, dim, keep, true);
    int64_t n = keep < 0 || x->ndim == 0 ? l.r.len : keep;
    for (int64_t i = 0; i < l.r.n; i++) {
        const item *items = sorted_row(k, &l.r, i, down);
        for (int64_t j = 0; j < n; j++) {
            put_element(&l.w, &l.r, i, items[j].at);
            put_int(&l.wi, items[j].at);
        }
    }
    k_give(k, l.out);
    k_give(k, l.index);
}

void kern_sort(aot_kern *k)
{
    sort_along(k, k_dim(k, 1, k_need(k, 0)->ndim), k_bool(k, 2), -1);
}

void kern_sort_stable(aot_kern *k)
{
    sort_along(k, k_dim(k, 2, k_need(k, 0)->ndim), k_bool(k, 3), -1);
}

void kern_topk(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    unsigned dim = k_dim(k, 2, x->ndim);
    int64_t n = k_int(k, 1, 1), have = x->ndim == 0 ? 1 : x->size[dim];
    if (n < 0 || n > have) {
        k_fail(k, AOT_E_RANGE, "k is out of range for the dimension");
    }
    sort_along(k, dim, k_bool(k, 3), n);
}

/* ---- order statistics ------------------------------------------------------------------------ */

typedef int64_t pick_fn(const item *sorted, int64_t n, int64_t arg);

static int64_t pick_kth(const item *s, int64_t n, int64_t arg)
{
    (void)n;
    return s[arg - 1].at;
}

/* The lower one of two; NaN if there is one. */
static int64_t pick_median(const item *s, int64_t n, int64_t arg)
{
    (void)arg;
    if (s[n - 1].f != s[n - 1].f) {
        int64_t i = n - 1;
        while (i > 0 && s[i - 1].f != s[i - 1].f) {
            i--;
        }
        return s[i].at;
    }
    return s[(n - 1) / 2].at;
}

static int64_t pick_nanmedian(const item *s, int64_t n, int64_t arg)
{
    (void)arg;
    int64_t m = n;
    while (m > 0 && s[m - 1].f != s[m - 1].f) {
        m--;
    }
    return s[m == 0 ? 0 : (m - 1) / 2].at;
}

/* The smallest of the most frequent values, at its last place. */
static int64_t pick_mode(const item *s, int64_t n, int64_t arg)
{
    int64_t best = 0, most = 0;
    (void)arg;
    for (int64_t i = 0, run = 0; i < n; i++) {
        run = i > 0 && s[i].f == s[i - 1].f && s[i].i == s[i - 1].i ? run + 1 : 1;
        if (run > most) {
            most = run;
            best = i;
        }
    }
    return n > 0 ? s[best].at : 0;
}

static void pick(aot_kern *k, uint32_t mask, bool keepdim, bool index, pick_fn *fn, int64_t arg)
{
    aot_array *x = k_need(k, 0);
    rows r;
    put w, wi;
    rows_of(k, &r, x, mask, keepdim, (aot_dtype)x->dtype);
    aot_array *out = rows_out(k, &r, 0, (aot_dtype)x->dtype), *at = NULL;
    put_start(&w, out);
    if (index) {
        at = rows_out(k, &r, 1, AOT_I64);
        put_start(&wi, at);
    }
    for (int64_t i = 0; i < r.n; i++) {
        if (r.len == 0) {
            put_real(&w, NAN);
            continue;
        }
        int64_t p = fn(sorted_row(k, &r, i, false), r.len, arg);
        put_element(&w, &r, i, p);
        if (index) {
            put_int(&wi, p);
        }
    }
    k_give(k, out);
    if (index) {
        k_give(k, at);
    }
}

static uint32_t one_dim(aot_kern *k, unsigned pos)
{
    unsigned ndim = k_need(k, 0)->ndim;
    return ndim == 0 ? 0 : 1u << k_dim(k, pos, ndim);
}

void kern_kthvalue(aot_kern *k)
{
    int64_t n = k_int(k, 1, 1);
    const aot_array *x = k_need(k, 0);
    if (n < 1 || n > (x->ndim > 0 ? x->size[k_dim(k, 2, x->ndim)] : 1)) {
        k_fail(k, AOT_E_RANGE, "k is out of range for the dimension");
    }
    pick(k, one_dim(k, 2), k_bool(k, 3), true, pick_kth, n);
}

void kern_median(aot_kern *k)
{
    pick(k, UINT32_MAX, false, false, pick_median, 0);
}

void kern_median_dim(aot_kern *k)
{
    pick(k, one_dim(k, 1), k_bool(k, 2), true, pick_median, 0);
}

void kern_nanmedian(aot_kern *k)
{
    pick(k, UINT32_MAX, false, false, pick_nanmedian, 0);
}

void kern_nanmedian_dim(aot_kern *k)
{
    pick(k, one_dim(k, 1), k_bool(k, 2), true, pick_nanmedian, 0);
}

void kern_mode(aot_kern *k)
{
    pick(k, one_dim(k, 1), k_bool(k, 2), true, pick_mode, 0);
}

/* ---- search ---------------------------------------------------------------------------------- */

/* How many of n sorted numbers are below v (or, right: not above it). */
static int64_t place_in(const double *sorted, const int64_t *order, int64_t n, double v, bool right)
{
    int64_t lo = 0, hi = n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        double s = sorted[order != NULL ? order[mid] : mid];
        bool before = right ? !(s > v) : !(s >= v);
        if (before && !(v != v && s != s && !right)) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Rows to search have the leading sizes of what is looked for; the order is one of places in them.
 */
static void check_search(aot_kern *k, const aot_array *sorted, const aot_array *x,
                         const aot_array *order)
{
    bool fits = sorted->ndim > 0;
    if (sorted->ndim > 1) {
        fits = x->ndim == sorted->ndim &&
               memcmp(x->size, sorted->size, (x->ndim - 1u) * sizeof *x->size) == 0;
    }
    if (!fits) {
        k_fail(k, AOT_E_SHAPE, "what is searched does not have the sizes of what is looked for");
    }
    if (order == NULL) {
        return;
    }
    k_shape_is(k, order, sorted->ndim, sorted->size);
    const int64_t *at = (const int64_t *)(const void *)aot_array_data(order);
    int64_t n = order->size[order->ndim - 1], count = aot_array_numel(order);
    for (int64_t i = 0; i < count; i++) {
        if (at[i] < 0 || at[i] >= n) {
            k_fail(k, AOT_E_RANGE, "sorter: %" PRId64 " is no place among %" PRId64, at[i], n);
        }
    }
}

static void search(aot_kern *k, aot_array *sorted, aot_array *x, aot_array *order, bool i32,
                   bool right)
{
    int64_t n = sorted->ndim == 0 ? 1 : sorted->size[sorted->ndim - 1], count = aot_array_numel(x);
    aot_array *s = k_cast_contiguous(k, sorted, AOT_F64), *v = k_cast_contiguous(k, x, AOT_F64);
    aot_array *o = order != NULL ? k_cast_contiguous(k, order, AOT_I64) : NULL;
    check_search(k, sorted, x, o);
    aot_array *out = k_out(k, 0, i32 ? AOT_I32 : AOT_I64, x->ndim, x->size);
    int64_t per = sorted->ndim <= 1 ? count : x->size[x->ndim - 1];
    put w;
    put_start(&w, out);
    for (int64_t i = 0; i < count; i++) {
        int64_t row = per == 0 ? 0 : i / per;
        const double *line = (const double *)(void *)aot_array_data(s) + row * n;
        const int64_t *by = o != NULL ? (const int64_t *)(void *)aot_array_data(o) + row * n : NULL;
        put_int(&w, place_in(line, by, n, ((const double *)(void *)aot_array_data(v))[i], right));
    }
    k_give(k, out);
}

void kern_bucketize(aot_kern *k)
{
    search(k, k_need(k, 1), k_need(k, 0), NULL, k_bool(k, 2), k_bool(k, 3));
}

void kern_searchsorted(aot_kern *k)
{
    search(k, k_need(k, 0), k_need(k, 1), k_in(k, 5), k_bool(k, 2),
           k_bool(k, 3) || k_str_is(k, 4, "right"));
}
