/* Distinct values, sorted or in runs: elements, or slices along a dimension, are put in order by
 * their places, and equal neighbours are one.
 *
 * Mirrors: aten/src/ATen/native/Unique.cpp. */
#include <stdlib.h>
#include <string.h>

#include "exec/reals.h"

/* What is compared: n items of `len` elements each. */
typedef struct items {
    const double *v;
    int64_t n, len;
    int64_t *order; /* places, sorted */
} items;

static int compared(const items *s, int64_t a, int64_t b)
{
    const double *x = s->v + a * s->len, *y = s->v + b * s->len;
    for (int64_t i = 0; i < s->len; i++) {
        bool x_nan = x[i] != x[i], y_nan = y[i] != y[i];
        if (x_nan || y_nan) { // NaN is last, and is equal to nothing
            return x_nan && y_nan ? (a < b ? -1 : 1) : x_nan ? 1 : -1;
        }
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

/* Merges runs of growing length: stable, and no recursion. */
static void sort(aot_kern *k, items *s)
{
    int64_t *from = s->order, *to = k_mem(k, (size_t)(s->n + 1) * sizeof *to);
    for (int64_t run = 1; run < s->n; run *= 2) {
        for (int64_t at = 0; at < s->n; at += 2 * run) {
            int64_t mid = at + run < s->n ? at + run : s->n,
                    end = at + 2 * run < s->n ? at + 2 * run : s->n;
            int64_t i = at, j = mid, o = at;
            while (i < mid || j < end) {
                bool left = j == end || (i < mid && compared(s, from[i], from[j]) <= 0);
                to[o++] = left ? from[i++] : from[j++];
            }
        }
        int64_t *was = from;
        from = to;
        to = was;
    }
    s->order = from;
}

/* Numbers of one array in turn as one; 64-bit integers keep their order, those beyond 2^53 by
 * chance alone. */
static items items_of(aot_kern *k, aot_array *x, int64_t n, bool sorted)
{
    items s = {reals_of(k, x), n, n == 0 ? 0 : aot_array_numel(x) / n,
               k_mem(k, (size_t)(n + 1) * sizeof *s.order)};
    for (int64_t i = 0; i < n; i++) {
        s.order[i] = i;
    }
    if (sorted) {
        sort(k, &s);
    }
    return s;
}

/* The distinct items' first places, which of them each item is, how often each stands. */
typedef struct found {
    int64_t n;
    aot_array *first, *inverse, *counts; /* I64; first and counts as long as the input */
} found;

static int64_t *ints(aot_array *x)
{
    return (int64_t *)(void *)aot_array_data(x);
}

static found find(aot_kern *k, const items *s, unsigned ndim, const int64_t *inverse_size)
{
    found f = {0, k_new(k, AOT_I64, 1, &s->n), k_new(k, AOT_I64, ndim, inverse_size),
               k_new(k, AOT_I64, 1, &s->n)};
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = s->order[i];
        if (i == 0 || compared(s, s->order[i - 1], at) != 0) {
            ints(f.first)[f.n++] = at;
        }
        ints(f.inverse)[at] = f.n - 1;
        ints(f.counts)[f.n - 1]++;
    }
    return f;
}

static aot_array *cut(aot_kern *k, aot_array *x, int64_t n)
{
    aot_array *v = k_view(k, x, 1, &n, x->stride, x->offset);
    return K1(k, aten_clone, v);
}

static void give_rest(aot_kern *k, const found *f, bool inverse,
                      int counts) /* counts: -1: there is no such result */
{
    int64_t none = 0;
    k_give(k, inverse ? f->inverse : k_new(k, AOT_I64, 1, &none));
    if (counts >= 0) {
        k_give(k, counts > 0 ? cut(k, f->counts, f->n) : k_new(k, AOT_I64, 1, &none));
    }
}

static void unique_elements(aot_kern *k, bool sorted, bool inverse, int counts)
{
    aot_array *x = k_need(k, 0), *flat = k_reshape(k, x, 1, (const int64_t[]){aot_array_numel(x)});
    need_reals(k, x);
    items s = items_of(k, x, aot_array_numel(x), sorted);
    found f = find(k, &s, x->ndim, x->size);
    k_give(k, K3(k, aten_index_select, flat, 0, cut(k, f.first, f.n)));
    give_rest(k, &f, inverse, counts);
}

static void unique_slices(aot_kern *k, unsigned dim_pos, bool sorted, bool inverse, bool counts)
{
    aot_array *x = k_need(k, 0);
    need_reals(k, x);
    if (x->ndim == 0) {
        unique_elements(k, sorted, inverse, counts);
        return;
    }
    unsigned dim = k_dim(k, dim_pos, x->ndim), perm[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < x->ndim; i++) {
        perm[i] = i == 0 ? dim : i <= dim ? i - 1 : i;
    }
    items s = items_of(k, k_permute(k, x, perm), x->size[dim], sorted);
    found f = find(k, &s, 1, &s.n);
    k_give(k, K3(k, aten_index_select, x, (int64_t)dim, cut(k, f.first, f.n)));
    give_rest(k, &f, inverse, counts);
}

void kern_unique(aot_kern *k) // self, sorted, return_inverse
{
    unique_elements(k, true, k_bool(k, 2), -1);
}

void kern_unique2(aot_kern *k) // self, sorted, return_inverse, return_counts
{
    unique_elements(k, true, k_bool(k, 2), k_bool(k, 3));
}

void kern_unique_dim(aot_kern *k) // self, dim, sorted, return_inverse, return_counts
{
    unique_slices(k, 1, true, k_bool(k, 3), k_bool(k, 4));
}

void kern_unique_dim_consecutive(aot_kern *k) // self, dim, return_inverse, return_counts
{
    unique_slices(k, 1, false, k_bool(k, 2), k_bool(k, 3));
}

void kern_unique_consecutive(aot_kern *k) // self, return_inverse, return_counts, dim
{
    if (k_is_none(k, 3)) {
        unique_elements(k, false, k_bool(k, 1), k_bool(k, 2));
    } else {
        unique_slices(k, 3, false, k_bool(k, 1), k_bool(k, 2));
    }
}
