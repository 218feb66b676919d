/* Softmax, its logarithm and their gradients along one dimension: whole rows, in f32 for half
 * types. Each step is rounded as the decomposition's would be; sums run in double (rows.h).
 *
 * Mirrors: aten/src/ATen/native/SoftMax.cpp, cpu/SoftMaxKernel.cpp. */
#include <string.h>

#include "exec/folds.h"
#include "exec/kernel.h"
#include "exec/vmath.h"
#include "exec/vector.h"

/* ---- one row --------------------------------------------------------------------------------- */

typedef void row_fn(void *out, const void *x, const void *y, int64_t n);

AOT_CLONES static void shifted_exp_f32(float *out, const float *x, float shift, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = (float)vm_exp((double)(x[i] - shift));
    }
}

static void shifted_exp_f64(double *out, const double *x, double shift, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = exp(x[i] - shift);
    }
}

/* Where a row holds NaN, so does its sum: the maximum need not see it. */
#define ROWS(t, type)                                                                              \
    AOT_CLONES static void divide_##t(type *x, type by, int64_t n)                                 \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            x[i] /= by;                                                                            \
        }                                                                                          \
    }                                                                                              \
    AOT_CLONES static void subtract_##t(type *out, const type *x, type first, type second,         \
                                        int64_t n)                                                 \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            out[i] = (x[i] - first) - second;                                                      \
        }                                                                                          \
    }                                                                                              \
    static void softmax_##t(void *out, const void *x, const void *y, int64_t n)                    \
    {                                                                                              \
        (void)y;                                                                                   \
        shifted_exp_##t(out, x, fold_max_##t(x, n), n);                                            \
        divide_##t(out, (type)fold_sum_##t(out, n), n);                                            \
    }                                                                                              \
    static void log_softmax_##t(void *out, const void *x, const void *y, int64_t n)                \
    {                                                                                              \
        type max = fold_max_##t(x, n);                                                             \
        (void)y;                                                                                   \
        shifted_exp_##t(out, x, max, n);                                                           \
        subtract_##t(out, x, max, (type)log((double)(type)fold_sum_##t(out, n)), n);               \
    }                                                                                              \
    /* x is the gradient, y the result of the forward. */                                          \
    AOT_CLONES static void softmax_grad_##t(void *out, const void *x, const void *y, int64_t n)    \
    {                                                                                              \
        const type *g = x, *p = y;                                                                 \
        type *o = out, sum;                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            o[i] = g[i] * p[i];                                                                    \
        }                                                                                          \
        sum = (type)fold_sum_##t(o, n);                                                            \
        for (int64_t i = 0; i < n; i++) {                                                          \
            o[i] = (g[i] - sum) * p[i];                                                            \
        }                                                                                          \
    }                                                                                              \
    AOT_CLONES static void log_softmax_grad_##t(void *out, const void *x, const void *y,           \
                                                int64_t n)                                         \
    {                                                                                              \
        const type *g = x;                                                                         \
        type *o = out, sum = (type)fold_sum_##t(g, n);                                             \
        shifted_exp_##t(o, y, 0, n);                                                               \
        for (int64_t i = 0; i < n; i++) {                                                          \
            o[i] = g[i] - o[i] * sum;                                                              \
        }                                                                                          \
    }
ROWS(f32, float)
ROWS(f64, double)

/* ---- along a dimension ----------------------------------------------------------------------- */

static aot_array *last(aot_kern *k, aot_array *x, unsigned dim, aot_dtype d)
{
    return k_cast_contiguous(k, k_move_last(k, x, dim), d);
}

/* Result 0 in dtype d, rows of x (and y, or NULL) along dim handed to the function of their
 * dtype. */
static void by_rows(aot_kern *k, aot_array *x, aot_array *y, unsigned dim, aot_dtype d, row_fn *f32,
                    row_fn *f64)
{
    aot_dtype compute = aot_opmath((aot_dtype)x->dtype);
    if (aot_array_kind(x) != 'f') {
        k_fail(k, AOT_E_UNSUPPORTED, "not implemented for %s",
               aot_dtype_get((aot_dtype)x->dtype)->torch_name);
    }
    if (y != NULL &&
        (y->ndim != x->ndim || memcmp(y->size, x->size, x->ndim * sizeof *x->size) != 0)) {
        k_fail(k, AOT_E_SHAPE, "the gradient and the result have other sizes");
    }
    aot_array *out = k_out_empty(k, 0, d, x->ndim, x->size), *to = k_move_last(k, out, dim);
    aot_array *in = last(k, x, dim, compute), *other = y == NULL ? in : last(k, y, dim, compute);
    bool direct = d == compute && aot_array_is_contiguous(to);
    aot_array *o = direct ? to : k_empty(k, compute, in->ndim, in->size);
    int64_t n = x->ndim == 0 ? 1 : x->size[dim], rows = n == 0 ? 0 : aot_array_numel(x) / n;
    int64_t bytes = n * aot_array_item_bytes(o);
    for (int64_t i = 0; i < rows; i++) {
        (compute == AOT_F64 ? f64 : f32)(aot_array_data(o) + i * bytes,
                                         aot_array_data(in) + i * bytes,
                                         aot_array_data(other) + i * bytes, n);
    }
    if (!direct) {
        aot_array_assign(to, o);
    }
    k_give(k, out);
}

/* (self, dim, half_to_float) */
static aot_dtype forward_dtype(aot_kern *k)
{
    aot_dtype d = (aot_dtype)k_need(k, 0)->dtype;
    return k_bool(k, 2) ? aot_opmath(d) : d;
}

void kern_softmax(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    by_rows(k, x, NULL, k_dim(k, 1, x->ndim), forward_dtype(k), softmax_f32, softmax_f64);
}

void kern_log_softmax(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    by_rows(k, x, NULL, k_dim(k, 1, x->ndim), forward_dtype(k), log_softmax_f32, log_softmax_f64);
}

/* (grad_output, output, dim, input_dtype) */
void kern_softmax_backward(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    by_rows(k, x, k_need(k, 1), k_dim(k, 2, x->ndim), k_dtype(k, 3, (aot_dtype)x->dtype),
            softmax_grad_f32, softmax_grad_f64);
}

void kern_log_softmax_backward(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    by_rows(k, x, k_need(k, 1), k_dim(k, 2, x->ndim), k_dtype(k, 3, (aot_dtype)x->dtype),
            log_softmax_grad_f32, log_softmax_grad_f64);
}
