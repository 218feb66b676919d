/* Bags of embeddings: sums, means or maxima of rows of a weight, and the gradients.
 *
 * Mirrors: aten/src/ATen/native/EmbeddingBag.cpp. */
#include <inttypes.h>
#include <stdlib.h>

#include "exec/reals.h"

enum { MODE_SUM, MODE_MEAN, MODE_MAX };

typedef struct bags {
    int64_t n, n_indices, rows, width, padding;
    int64_t mode;
    const int64_t *indices;
    int64_t *bag; /* of each index */
} bags;

static void check_indices(aot_kern *k, const bags *b)
{
    for (int64_t i = 0; i < b->n_indices; i++) {
        if (b->indices[i] < 0 || b->indices[i] >= b->rows) {
            k_fail(k, AOT_E_RANGE, "index %" PRId64 " is out of bounds for %" PRId64 " rows",
                   b->indices[i], b->rows);
        }
    }
}

static void need_numel(aot_kern *k, const aot_array *x, int64_t n, const char *what)
{
    if (x != NULL && aot_array_numel(x) < n) {
        k_fail(k, AOT_E_SHAPE, "%" PRId64 " %s where %" PRId64 " are due", aot_array_numel(x), what,
               n);
    }
}

/* The bag of each index: that of the last offset at or before it. */
static void assign_bags(aot_kern *k, bags *b, aot_array *offsets)
{
    const int64_t *o = ints_of(k, offsets);
    int64_t n = aot_array_numel(offsets), at = 0;
    if (b->n < 1 && b->n_indices > 0) {
        k_fail(k, AOT_E_SHAPE, "%" PRId64 " indices and no bag", b->n_indices);
    }
    b->bag = k_mem(k, (size_t)(b->n_indices + 1) * sizeof *b->bag);
    for (int64_t i = 0; i < n; i++) {
        if (o[i] < at || o[i] > b->n_indices) {
            k_fail(k, AOT_E_RANGE,
                   "offset %" PRId64 " of a bag is not between %" PRId64 " and %" PRId64, o[i], at,
                   b->n_indices);
        }
        at = o[i];
        int64_t end = i + 1 < n && o[i + 1] <= b->n_indices ? o[i + 1] : b->n_indices;
        for (int64_t j = at; j < end; j++) {
            b->bag[j] = i < b->n ? i : b->n - 1;
        }
    }
}

/* A padding index below 0 is none. */
static bool counts(const bags *b, int64_t i)
{
    return b->padding < 0 || b->indices[i] != b->padding;
}

static void put_ints(aot_array *x, const int64_t *v)
{
    aot_store_int(v, (aot_dtype)x->dtype, aot_array_data(x), aot_array_item_bytes(x),
                  aot_array_numel(x));
}

static void fill_bags(const bags *b, const double *w, const double *scale, double *out,
                      int64_t *size, int64_t *largest)
{
    for (int64_t i = 0; i < b->n_indices; i++) {
        const double *row = w + b->indices[i] * b->width;
        int64_t bag = b->bag[i];
        for (int64_t j = 0; j < b->width && counts(b, i); j++) {
            double *to = &out[bag * b->width + j];
            if (b->mode != MODE_MAX) {
                *to += row[j] * (scale != NULL ? scale[i] : 1);
            } else if (size[bag] == 0 || row[j] > *to) {
                *to = row[j];
                largest[bag * b->width + j] = b->indices[i];
            }
        }
        size[bag] += counts(b, i);
    }
    for (int64_t i = 0; i < b->n * b->width && b->mode == MODE_MEAN; i++) {
        out[i] /= size[i / b->width] > 0 ? (double)size[i / b->width] : 1;
    }
}

/* weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
 * include_last_offset, padding_idx -> output, offset2bag, bag_size, max_indices. Sums of f32 and
 * half types leave the last three empty or zero, as PyTorch's fast path does. */
void kern_embedding_bag(aot_kern *k)
{
    aot_array *w = k_need(k, 0), *indices = k_need(k, 1), *offsets = k_need(k, 2),
              *scale = k_in(k, 6);
    aot_dtype d = (aot_dtype)w->dtype, di = (aot_dtype)indices->dtype;
    need_reals(k, w);
    if (w->ndim != 2 || indices->ndim != 1 || offsets->ndim != 1) {
        k_fail(k, AOT_E_SHAPE, "a weight with %u dimensions, indices with %u, offsets with %u",
               w->ndim, indices->ndim, offsets->ndim);
    }
    bags b = {.n_indices = indices->size[0],
              .rows = w->size[0],
              .width = w->size[1],
              .mode = k_int(k, 4, 0),
              .padding = k_int(k, 8, -1),
              .indices = ints_of(k, indices)};
    b.n = offsets->size[0] - (k_bool(k, 7) && offsets->size[0] > 0);
    check_indices(k, &b);
    need_numel(k, scale, b.n_indices, "weights of indices");
    assign_bags(k, &b, offsets);
    int64_t size[2] = {b.n, b.width};
    int64_t *bag_size = k_mem(k, (size_t)(b.n + 1) * sizeof *bag_size);
    int64_t *largest = k_mem(k, (size_t)(b.n * b.width + 1) * sizeof *largest);
    aot_array *sum = k_new(k, AOT_F64, 2, size);
    fill_bags(&b, reals_of(k, w), scale != NULL ? reals_of(k, scale) : NULL, reals_data(sum),
              bag_size, largest);
    k_give_as(k, 0, sum, d);
    bool fast = b.mode == MODE_SUM && aot_opmath(d) == AOT_F32 && b.padding < 0 &&
                (b.width <= 1 || w->stride[1] == 1);
    int64_t n_bag = fast ? 0 : b.n_indices;
    aot_array *bag = k_out(k, 1, di, 1, &n_bag), *sizes = k_out(k, 2, di, 1, &b.n);
    aot_array *most = k_out(k, 3, di, b.mode == MODE_MAX ? 2 : 1, size);
    put_ints(bag, b.bag);
    if (b.mode != MODE_SUM) {
        put_ints(sizes, bag_size);
        put_ints(most, b.mode == MODE_MAX ? largest : bag_size);
    }
    k_give(k, bag);
    k_give(k, sizes);
    k_give(k, most);
}

/* What the backward knows of the bags; their indices' bags are made anew where the forward left
 * them out. */
static bags bags_again(aot_kern *k, aot_array *grad, unsigned indices_pos, unsigned bag_pos,
                       int64_t rows)
{
    aot_array *indices = k_need(k, indices_pos), *bag = k_need(k, bag_pos);
    bags b = {.n = grad->size[0],
              .n_indices = aot_array_numel(indices),
              .rows = rows,
              .width = grad->size[1],
              .indices = ints_of(k, indices)};
    check_indices(k, &b);
    if (aot_array_numel(bag) == b.n_indices) {
        b.bag = ints_of(k, bag);
    } else {
        assign_bags(k, &b, k_need(k, indices_pos + 1));
    }
    for (int64_t i = 0; i < b.n_indices; i++) {
        if (b.bag[i] < 0 || b.bag[i] >= b.n) {
            k_fail(k, AOT_E_RANGE, "bag %" PRId64 " of %" PRId64, b.bag[i], b.n);
        }
    }
    return b;
}

static int compare_ints(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* By what the gradient of each row is divided. Of the u-th of the rows that occur, in order,
 * PyTorch takes how often the u-th of all sorted indices occurs, and so does this. */
static double *frequencies(aot_kern *k, const bags *b)
{
    double *divisor = k_mem(k, (size_t)(b->rows + 1) * sizeof *divisor);
    int64_t *sorted = k_mem(k, (size_t)(b->n_indices + 1) * sizeof *sorted);
    int64_t *times = k_mem(k, (size_t)(b->rows + 1) * sizeof *times), u = 0;
    memcpy(sorted, b->indices, (size_t)b->n_indices * sizeof *sorted);
    qsort(sorted, (size_t)b->n_indices, sizeof *sorted, compare_ints);
    for (int64_t i = 0; i < b->n_indices; i++) {
        times[sorted[i]]++;
    }
    for (int64_t i = 0; i < b->n_indices; i++) {
        if (i == 0 || sorted[i] != sorted[i - 1]) {
            divisor[sorted[i]] = (double)times[sorted[u++]];
        }
    }
    return divisor;
}

static void add_rows(const bags *b, const double *grad, const double *scale, const int64_t *size,
                     const double *divisor, double *dw)
{
    for (int64_t i = 0; i < b->n_indices; i++) {
        double f = scale != NULL ? scale[i] : 1;
        f /= b->mode == MODE_MEAN && size[b->bag[i]] > 0 ? (double)size[b->bag[i]] : 1;
        f /= divisor != NULL ? divisor[b->indices[i]] : 1;
        for (int64_t j = 0; j < b->width && counts(b, i); j++) {
            dw[b->indices[i] * b->width + j] += f * grad[b->bag[i] * b->width + j];
        }
    }
}

/* grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq,
 * mode, sparse, per_sample_weights, padding_idx */
void kern_embedding_bag_backward(aot_kern *k)
{
    aot_array *grad = k_need(k, 0), *scale = k_in(k, 10);
    int64_t rows = k_int(k, 6, 0);
    if (grad->ndim != 2 || k_bool(k, 9)) {
        k_fail(k, AOT_E_UNSUPPORTED,
               k_bool(k, 9) ? "sparse gradients are not run" : "a gradient that is no matrix");
    }
    bags b = bags_again(k, grad, 1, 3, rows);
    b.mode = k_int(k, 8, 0);
    b.padding = k_int(k, 11, -1);
    aot_array *dw = k_new(k, AOT_F64, 2, (int64_t[]){rows, b.width});
    const double *g = reals_of(k, grad);
    need_numel(k, scale, b.n_indices, "weights of indices");
    need_numel(k, k_need(k, 4), b.mode == MODE_SUM ? 0 : b.n, "sizes of bags");
    if (b.mode == MODE_MAX) {
        need_numel(k, k_need(k, 5), b.n * b.width, "places of maxima");
        const int64_t *largest = ints_of(k, k_need(k, 5)), *size = ints_of(k, k_need(k, 4));
        for (int64_t i = 0; i < b.n * b.width; i++) {
            if (size[i / b.width] > 0 && largest[i] >= 0 && largest[i] < rows) {
                reals_data(dw)[largest[i] * b.width + i % b.width] += g[i];
            }
        }
    } else {
        add_rows(&b, g, scale != NULL ? reals_of(k, scale) : NULL, ints_of(k, k_need(k, 4)),
                 k_bool(k, 7) ? frequencies(k, &b) : NULL, reals_data(dw));
    }
    k_give_as(k, 0, dw, (aot_dtype)grad->dtype);
}

/* grad, weight, indices, offsets, offset2bag, mode, padding_idx: each weight's gradient is a dot
 * product. */
void kern_embedding_bag_scale_backward(aot_kern *k)
{
    aot_array *grad = k_need(k, 0), *w = k_need(k, 1);
    if (grad->ndim != 2 || w->ndim != 2 || grad->size[1] != w->size[1]) {
        k_fail(k, AOT_E_SHAPE, "gradient and weight are no matrices of one width");
    }
    bags b = bags_again(k, grad, 2, 4, w->size[0]);
    b.padding = k_int(k, 6, -1);
    aot_array *out = k_new(k, AOT_F64, 1, &b.n_indices);
    const double *g = reals_of(k, grad), *rows = reals_of(k, w);
    for (int64_t i = 0; i < b.n_indices; i++) {
        for (int64_t j = 0; j < b.width && counts(&b, i); j++) {
            reals_data(out)[i] += g[b.bag[i] * b.width + j] * rows[b.indices[i] * b.width + j];
        }
    }
    k_give_as(k, 0, out, (aot_dtype)grad->dtype);
}
