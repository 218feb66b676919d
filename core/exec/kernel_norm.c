/* Layer normalization and its gradient, row by row, in f32 for half types. Each step is rounded as
 * the decomposition's would be; sums run in double (folds.h).
 *
 * Mirrors: aten/src/ATen/native/layer_norm.cpp, cpu/layer_norm_kernel.cpp. */
#include <math.h>
#include <string.h>

#include "exec/folds.h"
#include "exec/kernel.h"
#include "exec/vector.h"

/* Operands as rows of n elements in the dtype of the computation. */
typedef struct norm {
    int64_t rows, n;
    aot_dtype compute;
    unsigned axis; /* first normalized dimension */
    double eps;
    const char *x, *weight, *bias, *grad, *mean, *rstd; /* weight and bias may be NULL */
    char *out, *out_mean, *out_rstd;
    double *weight_grad, *bias_grad; /* NULL: not wanted */
    void *row;                       /* room for one */
} norm;

#define NORM(t, type)                                                                              \
    AOT_CLONES static void scale_##t(type *out, const type *x, type mean, type rstd,               \
                                     const type *w, const type *b, int64_t n)                      \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            out[i] = (x[i] - mean) * rstd;                                                         \
        }                                                                                          \
        for (int64_t i = 0; i < n && w != NULL; i++) {                                             \
            out[i] *= w[i];                                                                        \
        }                                                                                          \
        for (int64_t i = 0; i < n && b != NULL; i++) {                                             \
            out[i] += b[i];                                                                        \
        }                                                                                          \
    }                                                                                              \
    static void forward_##t(const norm *m)                                                         \
    {                                                                                              \
        const type *w = (const type *)(const void *)m->weight,                                     \
                   *b = (const type *)(const void *)m->bias;                                       \
        for (int64_t r = 0; r < m->rows; r++) {                                                    \
            const type *x = (const type *)(const void *)m->x + r * m->n;                           \
            double mean = fold_sum_##t(x, m->n) / (double)m->n;                                    \
            type var = (type)(fold_square_##t(x, mean, m->n) / (double)m->n),                      \
                 sum = var + (type)m->eps;                                                         \
            type rstd = (type)(1 / sqrt((double)sum));                                             \
            ((type *)(void *)m->out_mean)[r] = (type)mean;                                         \
            ((type *)(void *)m->out_rstd)[r] = rstd;                                               \
            scale_##t((type *)(void *)m->out + r * m->n, x, (type)mean, rstd, w, b, m->n);         \
        }                                                                                          \
    }                                                                                              \
    /* Adds the row's part to the gradients of weight and bias. */                                 \
    AOT_CLONES static void add_row_##t(const norm *m, const type *g, const type *x_hat)            \
    {                                                                                              \
        double *gw = m->weight_grad, *gb = m->bias_grad;                                           \
        for (int64_t i = 0; i < m->n && gw != NULL; i++) {                                         \
            type v = g[i] * x_hat[i];                                                              \
            gw[i] += (double)v;                                                                    \
        }                                                                                          \
        for (int64_t i = 0; i < m->n && gb != NULL; i++) {                                         \
            gb[i] += (double)g[i];                                                                 \
        }                                                                                          \
    }                                                                                              \
    AOT_CLONES static void grad_row_##t(const norm *m, type *out, type *g, type *x_hat, type rstd) \
    {                                                                                              \
        const type *w = (const type *)(const void *)m->weight;                                     \
        type size = (type)m->n, factor = rstd / size, b, c;                                        \
        for (int64_t i = 0; i < m->n && w != NULL; i++) {                                          \
            g[i] *= w[i];                                                                          \
        }                                                                                          \
        for (int64_t i = 0; i < m->n; i++) {                                                       \
            out[i] = g[i] * x_hat[i];                                                              \
        }                                                                                          \
        b = (type)fold_sum_##t(g, m->n);                                                           \
        c = (type)fold_sum_##t(out, m->n);                                                         \
        for (int64_t i = 0; i < m->n; i++) {                                                       \
            out[i] = factor * ((g[i] * size - b) - x_hat[i] * c);                                  \
        }                                                                                          \
    }                                                                                              \
    static void backward_##t(const norm *m)                                                        \
    {                                                                                              \
        type *x_hat = m->row, *g = x_hat + m->n;                                                   \
        for (int64_t r = 0; r < m->rows; r++) {                                                    \
            type mean = ((const type *)(const void *)m->mean)[r],                                  \
                 rstd = ((const type *)(const void *)m->rstd)[r];                                  \
            scale_##t(x_hat, (const type *)(const void *)m->x + r * m->n, mean, rstd, NULL, NULL,  \
                      m->n);                                                                       \
            memcpy(g, (const type *)(const void *)m->grad + r * m->n, (size_t)m->n * sizeof *g);   \
            add_row_##t(m, g, x_hat);                                                              \
            if (m->out != NULL) {                                                                  \
                grad_row_##t(m, (type *)(void *)m->out + r * m->n, g, x_hat, rstd);                \
            }                                                                                      \
        }                                                                                          \
    }
NORM(f32, float)
NORM(f64, double)

static const char *operand(aot_kern *k, aot_array *x, const norm *m)
{
    return x == NULL ? NULL : aot_array_data(k_cast_contiguous(k, x, m->compute));
}

/* x and the sizes of argument `pos` as rows. */
static norm norm_of(aot_kern *k, aot_array *x, unsigned pos, aot_array *weight, aot_array *bias)
{
    norm m = {.rows = 1, .n = 1, .compute = aot_opmath((aot_dtype)x->dtype)};
    unsigned n;
    const int64_t *size = k_ints(k, pos, &n);
    if (aot_array_kind(x) != 'f') {
        k_fail(k, AOT_E_UNSUPPORTED, "not implemented for %s",
               aot_dtype_get((aot_dtype)x->dtype)->torch_name);
    }
    if (n == 0 || n > x->ndim || memcmp(size, x->size + x->ndim - n, n * sizeof *size) != 0) {
        k_fail(k, AOT_E_SHAPE, "the normalized sizes are not the last ones of the input");
    }
    m.axis = x->ndim - n;
    for (unsigned i = 0; i < x->ndim; i++) {
        *(i < m.axis ? &m.rows : &m.n) *= x->size[i];
    }
    if ((weight != NULL && aot_array_numel(weight) != m.n) ||
        (bias != NULL && aot_array_numel(bias) != m.n)) {
        k_fail(k, AOT_E_SHAPE, "weight and bias do not have the normalized sizes");
    }
    m.x = operand(k, x, &m);
    m.weight = operand(k, weight, &m);
    m.bias = operand(k, bias, &m);
    return m;
}

/* (input, normalized_shape, weight, bias, eps) -> output, mean, rstd */
void kern_layer_norm(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    norm m = norm_of(k, x, 1, k_in(k, 2), k_in(k, 3));
    int64_t size[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < x->ndim; i++) {
        size[i] = i < m.axis ? x->size[i] : 1;
    }
    aot_array *y = k_empty(k, m.compute, x->ndim, x->size),
              *mean = k_empty(k, m.compute, x->ndim, size);
    aot_array *rstd = k_empty(k, m.compute, x->ndim, size);
    m.eps = k_real(k, 4, 0);
    m.out = aot_array_data(y);
    m.out_mean = aot_array_data(mean);
    m.out_rstd = aot_array_data(rstd);
    (m.compute == AOT_F64 ? forward_f64 : forward_f32)(&m);
    k_give_in(k, 0, y, (aot_dtype)x->dtype);
    k_give_in(k, 1, mean, (aot_dtype)x->dtype);
    k_give_in(k, 2, rstd, (aot_dtype)x->dtype);
}

/* n doubles in the shape of `like` as result i; NULL: None. */
static void give_sum(aot_kern *k, unsigned i, const double *sum, int64_t n, const aot_array *like)
{
    if (sum == NULL) {
        k_give_none(k);
        return;
    }
    aot_array *out = k_out(k, i, (aot_dtype)like->dtype, like->ndim, like->size),
              *v = k_empty(k, (aot_dtype)like->dtype, like->ndim, like->size);
    aot_store_real(sum, (aot_dtype)v->dtype, aot_array_data(v), aot_array_item_bytes(v), n);
    aot_array_assign(out, v);
    k_give(k, out);
}

static bool wanted(aot_kern *k, unsigned i)
{
    const aot_xval *v = k_arg(k, 7);
    return v->kind == AOT_X_LIST && i < v->n && v->u.items[i].u.i != 0;
}

/* (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask) */
void kern_layer_norm_backward(aot_kern *k)
{
    aot_array *x = k_need(k, 1), *w = k_in(k, 5), *b = k_in(k, 6), *grad = k_need(k, 0);
    aot_array *mean = k_need(k, 3), *rstd = k_need(k, 4), *dx = NULL;
    norm m = norm_of(k, x, 2, w, b);
    if (aot_array_numel(grad) != m.rows * m.n || aot_array_numel(mean) != m.rows ||
        aot_array_numel(rstd) != m.rows) {
        k_fail(k, AOT_E_SHAPE, "gradient, mean and rstd do not have the sizes of the input");
    }
    m.grad = operand(k, grad, &m);
    m.mean = operand(k, mean, &m);
    m.rstd = operand(k, rstd, &m);
    m.row = k_mem(k, (size_t)(2 * m.n + 1) * sizeof(double));
    m.weight_grad = wanted(k, 1) && w != NULL ? k_mem(k, (size_t)(m.n + 1) * sizeof(double)) : NULL;
    m.bias_grad = wanted(k, 2) && b != NULL ? k_mem(k, (size_t)(m.n + 1) * sizeof(double)) : NULL;
    if (wanted(k, 0)) {
        dx = k_empty(k, m.compute, x->ndim, x->size);
        m.out = aot_array_data(dx);
    }
    (m.compute == AOT_F64 ? backward_f64 : backward_f32)(&m);
    if (dx == NULL) {
        k_give_none(k);
    } else {
        k_give_in(k, 0, dx, (aot_dtype)x->dtype);
    }
    give_sum(k, 1, m.weight_grad, m.n, w == NULL ? x : w);
    give_sum(k, 2, m.bias_grad, m.n, b == NULL ? x : b);
}
