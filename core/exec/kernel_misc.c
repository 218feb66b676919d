/* Kernels of decompositions' own operators, and of those that fit no other family. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "exec/kernel.h"
#include "exec/rows.h"
#include "exec/special.h"

/* ---- prims ----------------------------------------------------------------------------------- */

static void fused(const void *arg, void *out, void *const *in, int64_t n)
{
    const double *a = in[0], *b = in[1], *c = in[2];
    (void)arg;
    for (int64_t i = 0; i < n; i++) {
        ((double *)out)[i] = fma(a[i], b[i], c[i]);
    }
}

void kern_fma(aot_kern *k)
{
    aot_array *in[3] = {k_need(k, 0), k_need(k, 1), k_need(k, 2)};
    aot_dtype d = k_promote(k, 7);
    aot_array *out = k_broadcast_out(k, d, 3, in);
    k_pointwise(k, out, AOT_CLASS_REAL, d, 3, in, fused, NULL);
    k_give(k, out);
}

void kern_iota(aot_kern *k)
{
    int64_t n = k_int(k, 0, 0), start = k_int(k, 1, 0), step = k_int(k, 2, 1);
    aot_array *out = k_new(k, k_dtype(k, 3, AOT_I64), 1, &n);
    put w;
    put_start(&w, out);
    for (int64_t i = 0; i < n; i++) {
        put_int(&w, start + i * step);
    }
    k_give(k, out);
}

/* ---- polygamma ------------------------------------------------------------------------------- */

static void polygamma(const void *arg, void *out, void *const *in, int64_t n)
{
    int order = *(const int *)arg;
    for (int64_t i = 0; i < n; i++) {
        ((double *)out)[i] = sf_polygamma(order, ((const double *)in[0])[i]);
    }
}

static void trigamma_f32(const void *arg, void *out, void *const *in, int64_t n)
{
    (void)arg;
    for (int64_t i = 0; i < n; i++) {
        ((double *)out)[i] = sf_trigamma_f32((float)((const double *)in[0])[i]);
    }
}

void kern_polygamma(aot_kern *k)
{
    int order = (int)k_int(k, 0, 0);
    aot_array *x = k_need(k, 1);
    aot_dtype d = k_to_float((aot_dtype)x->dtype);
    aot_array *out = k_like(k, d, x);
    k_pointwise(k, out, AOT_CLASS_REAL, d, 1, &x,
                order == 1 && d == AOT_F32 ? trigamma_f32 : polygamma, &order);
    k_give(k, out);
}

/* ---- copies of views ------------------------------------------------------------------------- */

void kern_as_strided_copy(aot_kern *k)
{
    unsigned n, m;
    aot_array *x = k_need(k, 0);
    const int64_t *size = k_ints(k, 1, &n), *stride = k_ints(k, 2, &m);
    if (n != m) {
        k_fail(k, AOT_E_SHAPE, "%u sizes and %u strides", n, m);
    }
    aot_array *v = k_view(k, x, n, size, stride, k_int(k, 3, x->offset)),
              *out = k_out(k, 0, (aot_dtype)x->dtype, n, size);
    aot_array_assign(out, v);
    k_give(k, out);
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* Elements of source, one after the other, where the mask is true. */
void kern_masked_scatter(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *mask = k_need(k, 1), *src = k_need(k, 2);
    unsigned ndim = x->ndim;
    int64_t size[AOT_ARRAY_MAX_NDIM];
    memcpy(size, x->size, sizeof size);
    if (!aot_broadcast(&ndim, size, mask->ndim, mask->size)) {
        k_fail(k, AOT_E_SHAPE, "mask and self cannot be broadcast");
    }
    aot_array *out = k_out(k, 0, (aot_dtype)x->dtype, ndim, size);
    aot_array_assign(out, k_expand(k, x, ndim, size));
    aot_array *m = k_cast_contiguous(k, k_expand(k, mask, ndim, size), AOT_B8);
    src = k_cast_contiguous(k, src, (aot_dtype)x->dtype);
    int64_t n = aot_array_numel(out), bytes = aot_array_item_bytes(src),
            have = aot_array_numel(src), used = 0;
    put w;
    put_start(&w, out);
    for (int64_t i = 0; i < n; i++) {
        char *to = put_next(&w);
        if (aot_array_data(m)[i] == 0) {
            continue;
        }
        if (used == have) {
            k_fail(k, AOT_E_SHAPE, "source has fewer elements than the mask is true");
        }
        memcpy(to, aot_array_data(src) + used++ * bytes, (size_t)bytes);
    }
    k_give(k, out);
}

void kern_masked_scatter_backward(aot_kern *k)
{
    aot_array *grad = k_need(k, 0), *mask = k_need(k, 1);
    unsigned n;
    const int64_t *size = k_ints(k, 2, &n);
    aot_array *out = k_new(k, (aot_dtype)grad->dtype, n, size);
    aot_array *g = k_contiguous(k, grad),
              *m = k_cast_contiguous(k, k_expand(k, mask, grad->ndim, grad->size), AOT_B8);
    int64_t all = aot_array_numel(grad), room = aot_array_numel(out),
            bytes = aot_array_item_bytes(grad), used = 0;
    for (int64_t i = 0; i < all && used < room; i++) {
        if (aot_array_data(m)[i] != 0) {
            memcpy(aot_array_data(out) + used++ * bytes, aot_array_data(g) + i * bytes,
                   (size_t)bytes);
        }
    }
    k_give(k, out);
}

void kern_nonzero_static(aot_kern *k)
{
    aot_array *all = K1(k, aten_nonzero, k_need(k, 0));
    int64_t size[2] = {k_int(k, 1, 0), all->size[1]}, both;
    aot_array *out = k_new(k, AOT_I64, 2, size);
    aot_array_fill(out, (double)k_int(k, 2, -1));
    both = size[0] < all->size[0] ? size[0] : all->size[0];
    int64_t part[2] = {both, size[1]};
    aot_array_assign(k_view(k, out, 2, part, out->stride, 0),
                     k_view(k, all, 2, part, all->stride, 0));
    k_give(k, out);
}

/* ---- counting -------------------------------------------------------------------------------- */

void kern_histc(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *v = k_cast_contiguous(k, x, AOT_F64);
    int64_t bins = k_int(k, 1, 100), n = aot_array_numel(v);
    const double *p = (const double *)(void *)aot_array_data(v);
    double lo = k_real(k, 2, 0), hi = k_real(k, 3, 0);
    if (lo == hi && n > 0) {
        lo = hi = p[0];
        for (int64_t i = 1; i < n; i++) {
            lo = fmin(lo, p[i]);
            hi = fmax(hi, p[i]);
        }
    }
    if (lo == hi) {
        lo -= 1;
        hi += 1;
    }
    aot_array *counts = k_new(k, AOT_F64, 1, &bins),
              *out = k_out(k, 0, (aot_dtype)x->dtype, 1, &bins);
    for (int64_t i = 0; i < n; i++) {
        if (p[i] >= lo && p[i] <= hi) {
            int64_t at = (int64_t)((p[i] - lo) / (hi - lo) * (double)bins);
            ((double *)(void *)aot_array_data(counts))[at == bins ? bins - 1 : at]++;
        }
    }
    aot_array_assign(out, counts);
    k_give(k, out);
}

/* ---- distances ------------------------------------------------------------------------------- */

static double distance(const double *a, const double *b, int64_t n, double p)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(a[i] - b[i]);
        s = p == 0     ? s + (d != 0)
            : p == 1   ? s + d
            : p == 2   ? s + d * d
            : isinf(p) ? fmax(s, d)
                       : s + pow(d, p);
    }
    return p == 2 ? sqrt(s) : p == 0 || p == 1 || isinf(p) ? s : pow(s, 1 / p);
}

/* Adds the gradient of distance(a, b) by a, times g, to out. */
static void distance_backward(double *out, const double *a, const double *b, int64_t n, double p,
                              double g, double dist)
{
    for (int64_t i = 0; i < n; i++) {
        double d = a[i] - b[i], sign = (d > 0) - (d < 0);
        double v = p == 0 || dist == 0 ? 0
                   : p == 1            ? sign
                   : p == 2            ? d / dist
                   : isinf(p)          ? sign * (fabs(d) == dist)
                                       : sign * pow(fabs(d), p - 1) / pow(dist, p - 1);
        out[i] += d == 0 ? 0 : g * v;
    }
}

static double *doubles(aot_array *x)
{
    return (double *)(void *)aot_array_data(x);
}

/* x1 [B, P, M]  x2 [B, R, M]  -> [B, P, R], batches broadcast. */
typedef struct pairs {
    aot_array *a, *b;
    int64_t batch, p, r, m;
    unsigned ndim;
    int64_t size[AOT_ARRAY_MAX_NDIM]; /* of the result */
} pairs;

static pairs pairs_of(aot_kern *k, aot_array *a, aot_array *b)
{
    if (a->ndim < 2 || b->ndim < 2 || a->size[a->ndim - 1] != b->size[b->ndim - 1]) {
        k_fail(k, AOT_E_SHAPE, "points with %u and %u dimensions, or of unequal length", a->ndim,
               b->ndim);
    }
    pairs v = {.p = a->size[a->ndim - 2],
               .r = b->size[b->ndim - 2],
               .m = a->size[a->ndim - 1],
               .batch = 1};
    int64_t full[AOT_ARRAY_MAX_NDIM];
    unsigned n = a->ndim - 2u;
    memcpy(full, a->size, sizeof full);
    if (!aot_broadcast(&n, full, b->ndim - 2u, b->size)) {
        k_fail(k, AOT_E_SHAPE, "batches that cannot be broadcast");
    }
    for (unsigned i = 0; i < n; i++) {
        v.batch *= full[i];
    }
    full[n] = v.p;
    full[n + 1] = v.m;
    v.a = k_cast_contiguous(k, k_expand(k, a, n + 2, full), AOT_F64);
    full[n] = v.r;
    v.b = k_cast_contiguous(k, k_expand(k, b, n + 2, full), AOT_F64);
    full[n] = v.p;
    full[n + 1] = v.r;
    v.ndim = n + 2;
    memcpy(v.size, full, sizeof full);
    return v;
}

void kern_cdist(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *y = k_need(k, 1);
    pairs v = pairs_of(k, x, y);
    double p = k_real(k, 2, 2);
    aot_array *d = k_new(k, AOT_F64, v.ndim, v.size),
              *out = k_out(k, 0, k_promote(k, 3), v.ndim, v.size);
    for (int64_t i = 0; i < v.batch * v.p; i++) {
        for (int64_t j = 0; j < v.r; j++) {
            doubles(d)[i * v.r + j] =
                distance(doubles(v.a) + i * v.m, doubles(v.b) + (i / v.p * v.r + j) * v.m, v.m, p);
        }
    }
    aot_array_assign(out, d);
    k_give(k, out);
}

void kern_cdist_backward(aot_kern *k)
{
    aot_array *x = k_need(k, 1);
    pairs v = pairs_of(k, x, k_need(k, 2));
    double p = k_real(k, 3, 2);
    if (v.batch * v.p * v.r * v.m == 0) { // not broadcast
        k_give(k, k_like(k, (aot_dtype)x->dtype, x));
        return;
    }
    aot_array *g = k_cast_contiguous(k, k_expand(k, k_need(k, 0), v.ndim, v.size), AOT_F64);
    aot_array *d = k_cast_contiguous(k, k_expand(k, k_need(k, 4), v.ndim, v.size), AOT_F64);
    v.size[v.ndim - 1] = v.m;
    aot_array *dx = k_new(k, AOT_F64, v.ndim, v.size),
              *out = k_out(k, 0, (aot_dtype)x->dtype, v.ndim, v.size);
    for (int64_t i = 0; i < v.batch * v.p; i++) {
        for (int64_t j = 0; j < v.r; j++) {
            distance_backward(doubles(dx) + i * v.m, doubles(v.a) + i * v.m,
                              doubles(v.b) + (i / v.p * v.r + j) * v.m, v.m, p,
                              doubles(g)[i * v.r + j], doubles(d)[i * v.r + j]);
        }
    }
    aot_array_assign(out, dx);
    k_give(k, out);
}

static void need_points(aot_kern *k, const aot_array *x)
{
    if (x->ndim != 2) {
        k_fail(k, AOT_E_SHAPE, "points with %u dimensions", x->ndim);
    }
}

void kern_pdist(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *v = k_cast_contiguous(k, x, AOT_F64);
    need_points(k, x);
    int64_t n = x->size[0], m = x->size[1], count = n * (n - 1) / 2, at = 0;
    aot_array *d = k_new(k, AOT_F64, 1, &count), *out = k_out(k, 0, (aot_dtype)x->dtype, 1, &count);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++) {
            doubles(d)[at++] = distance(doubles(v) + i * m, doubles(v) + j * m, m, k_real(k, 1, 2));
        }
    }
    aot_array_assign(out, d);
    k_give(k, out);
}

void kern_pdist_backward(aot_kern *k)
{
    aot_array *x = k_need(k, 1), *v = k_cast_contiguous(k, x, AOT_F64),
              *g = k_cast_contiguous(k, k_need(k, 0), AOT_F64);
    need_points(k, x);
    aot_array *d = k_cast_contiguous(k, k_need(k, 3), AOT_F64), *dx = k_new(k, AOT_F64, 2, x->size);
    int64_t n = x->size[0], m = x->size[1], at = 0, count = n * (n - 1) / 2;
    k_shape_is(k, d, 1, &count);
    k_shape_is(k, g, 1, &count);
    double p = k_real(k, 2, 2);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++, at++) {
            const double *a = doubles(v) + i * m, *b = doubles(v) + j * m;
            distance_backward(doubles(dx) + i * m, a, b, m, p, doubles(g)[at], doubles(d)[at]);
            distance_backward(doubles(dx) + j * m, b, a, m, p, doubles(g)[at], doubles(d)[at]);
        }
    }
    aot_array *out = k_like(k, (aot_dtype)x->dtype, x);
    aot_array_assign(out, dx);
    k_give(k, out);
}

/* ---- padding with the edge ------------------------------------------------------------------- */

static void add_at(const void *arg, void *out, void *const *in, int64_t n)
{
    (void)arg;
    for (int64_t i = 0; i < n; i++) {
        ((aot_complex *)out)[i] = ((const aot_complex *)in[0])[i] + ((const aot_complex *)in[1])[i];
    }
}

/* Slices in the padding give their gradient to the nearest inner one, dimension by dimension. */
void kern_replication_pad_backward(aot_kern *k)
{
    aot_array *g = k_need(k, 0), *x = k_need(k, 1);
    unsigned n;
    const int64_t *pad = k_ints(k, 2, &n);
    int64_t padded[AOT_ARRAY_MAX_NDIM];
    memcpy(padded, x->size, sizeof padded);
    for (unsigned i = 0; i < n; i++) {
        if (n % 2 != 0 || n / 2 > x->ndim || pad[i] < INT32_MIN || pad[i] > INT32_MAX) {
            k_fail(k, AOT_E_SHAPE, "a padding by %" PRId64 " of a tensor with %u dimensions",
                   pad[i], x->ndim);
        }
        padded[x->ndim - 1u - i / 2] += pad[i];
    }
    k_shape_is(k, g, x->ndim, padded);
    for (unsigned i = 0; i < n / 2; i++) {
        unsigned d = x->ndim - 1u - i;
        int64_t size[AOT_ARRAY_MAX_NDIM];
        memcpy(size, g->size, sizeof size);
        size[d] = x->size[d];
        if (size[d] < 1 && g->size[d] > 0) {
            k_fail(k, AOT_E_SHAPE, "a padding of nothing");
        }
        aot_array *to = k_new(k, (aot_dtype)g->dtype, g->ndim, size);
        for (int64_t j = 0; j < g->size[d]; j++) {
            int64_t at = j - pad[2 * i];
            at = at < 0 ? 0 : at >= x->size[d] ? x->size[d] - 1 : at;
            aot_array *sum = k_select(k, to, d, at), *in[2] = {sum, k_select(k, g, d, j)};
            k_pointwise(k, sum, AOT_CLASS_COMPLEX,
                        aot_array_kind(g) == 'c' ? (aot_dtype)g->dtype : AOT_C128, 2, in, add_at,
                        NULL);
        }
        g = to;
    }
    aot_array *out = k_like(k, (aot_dtype)x->dtype, x);
    aot_array_assign(out, g);
    k_give(k, out);
}

/* A quotient as prims has it: integers are divided toward zero. */
void kern_prims_div(aot_kern *k)
{
    aot_array *a = k_need(k, 0), *b = k_need(k, 1);
    if (aot_dtype_class(k_promote(k, 3)) != AOT_CLASS_INT) {
        k_give(k, K2(k, aten_div_Tensor, a, b));
        return;
    }
    k_give(k,
           k_call(k, AOT_OP_aten_div_Tensor_mode, 3,
                  (const aot_xval[]){
                      aot_xv_array(a), aot_xv_array(b), {.kind = AOT_X_STR, .u.text = "trunc"}}));
}

/* What is printed goes nowhere: a unit is run several times over. */
void kern_print_text(aot_kern *k)
{
    k_give_none(k);
}
