/* Convolutions as matrix products over columns of patches (im2col).
 *
 * One geometry serves all: a big image and a small one, where each element of the small one looks at a
 * patch of the big one. A convolution goes from big to small, a transposed one and a gradient the other
 * way round.
 *     small [M, L]   = weight [M, C K] . patches(big) [C K, L]
 *     big           += patches^T (weight^T . small)
 *     weight grad    = small . patches(big)^T
 *
 * Mirrors: aten/src/ATen/native/Convolution.cpp. */
#include <string.h>

#include "exec/gemm.h"

typedef struct geometry {
    int64_t n, groups;
    int64_t c, m;           /* channels of one group: of the big image, of the small one */
    int64_t big[3], small[3], kernel[3], stride[3], padding[3], dilation[3];
    int64_t taps, places, pixels; /* of the kernel, of the small image, of the big one */
    aot_dtype d;
    bool transposed;
} geometry;

static int64_t product(const int64_t *v)
{
    return v[0] * v[1] * v[2];
}

/* The spatial sizes behind two leading dimensions, as three. */
static void spatial(const aot_array *x, int64_t out[3])
{
    unsigned n = x->ndim - 2u;
    for (unsigned i = 0; i < 3; i++) {
        out[i] = i + n < 3 ? 1 : x->size[2 + i + n - 3];
    }
}

static void settings(aot_kern *k, unsigned pos, unsigned n, int64_t fill, int64_t out[3])
{
    int64_t v[3];
    k_ints_of(k, pos, n, fill, v);
    for (unsigned i = 0; i < 3; i++) {
        out[i] = i + n < 3 ? fill : v[i + n - 3];
    }
}

/* Arguments from `first` on: stride, padding, dilation, transposed, output_padding, groups. */
static geometry geometry_of(aot_kern *k, const aot_array *x, const aot_array *w, unsigned first)
{
    geometry g = {.n = x->size[0], .groups = k_int(k, first + 5, 1), .transposed = k_bool(k, first + 3)};
    unsigned n = x->ndim - 2u;
    if (x->ndim < 3 || x->ndim > 5 || w->ndim != x->ndim) {
        k_fail(k, AOT_E_SHAPE, "an input with %u dimensions and a weight with %u", x->ndim, w->ndim);
    }
    int64_t extra[3], in[3];
    settings(k, first, n, 1, g.stride);
    settings(k, first + 1, n, 0, g.padding);
    settings(k, first + 2, n, 1, g.dilation);
    settings(k, first + 4, n, 0, extra);
    spatial(w, g.kernel);
    spatial(x, in);
    for (unsigned i = 0; i < 3; i++) {
        int64_t reach = g.dilation[i] * (g.kernel[i] - 1) + 1;
        g.big[i] = g.transposed ? (in[i] - 1) * g.stride[i] - 2 * g.padding[i] + reach + extra[i] : in[i];
        g.small[i] = g.transposed ? in[i] : (in[i] + 2 * g.padding[i] - reach) / g.stride[i] + 1;
    }
    g.m = w->size[0] / g.groups;
    g.c = w->size[1];
    g.taps = product(g.kernel);
    g.places = product(g.small);
    g.pixels = product(g.big);
    g.d = k_product_dtype((aot_dtype)x->dtype);
    return g;
}

/* One row of places (along the last dimension) that a tap of the kernel reads: places from lo to below hi
 * read pixels from `first` on, `step` apart; the others read padding. */
typedef struct run {
    int64_t lo, hi, first, step;
} run;

static int64_t clipped(int64_t v, int64_t most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

static run run_of(const geometry *g, const int64_t t[3], int64_t p0, int64_t p1)
{
    int64_t s = g->stride[2], shift = t[2] * g->dilation[2] - g->padding[2];
    int64_t y0 = p0 * g->stride[0] - g->padding[0] + t[0] * g->dilation[0];
    int64_t y1 = p1 * g->stride[1] - g->padding[1] + t[1] * g->dilation[1];
    if (y0 < 0 || y0 >= g->big[0] || y1 < 0 || y1 >= g->big[1]) {
        return (run){0};
    }
    int64_t lo = shift < 0 ? (-shift + s - 1) / s : 0, hi = g->big[2] > shift ? (g->big[2] - shift + s - 1) / s : 0;
    lo = clipped(lo, g->small[2]);
    hi = clipped(hi, g->small[2]);
    return (run){lo, hi < lo ? lo : hi, (y0 * g->big[1] + y1) * g->big[2] + lo * s + shift, s};
}

/* Calls fn for each row of columns, in their order: channel, tap, place. */
typedef void row_fn(const geometry *g, const run *r, char *big, char *columns);
static void each_row(const geometry *g, char *big, char *columns, row_fn *fn)
{
    int64_t bytes = aot_dtype_get(g->d)->bytes, t[3];
    for (int64_t c = 0; c < g->c; c++, big += g->pixels * bytes) {
        for (int64_t tap = 0; tap < g->taps; tap++) {
            t[2] = tap % g->kernel[2];
            t[1] = tap / g->kernel[2] % g->kernel[1];
            t[0] = tap / g->kernel[2] / g->kernel[1];
            for (int64_t i = 0; i < g->small[0] * g->small[1]; i++, columns += g->small[2] * bytes) {
                run r = run_of(g, t, i / g->small[1], i % g->small[1]);
                fn(g, &r, big + r.first * bytes, columns);
            }
        }
    }
}

static void gather_row(const geometry *g, const run *r, char *big, char *columns)
{
    size_t bytes = (size_t)aot_dtype_get(g->d)->bytes;
    memset(columns, 0, (size_t)r->lo * bytes);
    memset(columns + r->hi * (int64_t)bytes, 0, (size_t)(g->small[2] - r->hi) * bytes);
    if (r->step == 1) {
        memcpy(columns + r->lo * (int64_t)bytes, big, (size_t)(r->hi - r->lo) * bytes);
        return;
    }
    for (int64_t i = r->lo; i < r->hi; i++, big += r->step * (int64_t)bytes) {
        if (bytes == sizeof(float)) {
            memcpy(columns + i * (int64_t)bytes, big, sizeof(float));
        } else {
            memcpy(columns + i * (int64_t)bytes, big, bytes);
        }
    }
}

#define ADD_ROW(name, type)                                                                        \
    static void name(const geometry *g, const run *r, char *big, char *columns)                    \
    {                                                                                              \
        int64_t parts = aot_dtype_class(g->d) == AOT_CLASS_COMPLEX ? 2 : 1, n = (r->hi - r->lo) * parts; \
        const type *from = (const type *)(const void *)columns + r->lo * parts;                    \
        type *to = (type *)(void *)big;                                                            \
        for (int64_t i = 0; i < n && (parts == 1 || r->step == 1); i++) {                          \
            to[i * r->step] += from[i];                                                            \
        }                                                                                          \
        for (int64_t i = 0; i < n && parts == 2 && r->step != 1; i++) {                            \
            to[(i / 2 * r->step) * 2 + i % 2] += from[i];                                          \
        }                                                                                          \
    }
ADD_ROW(add_row_f32, float)
ADD_ROW(add_row_f64, double)

static void scatter(const geometry *g, const aot_array *columns, char *big)
{
    each_row(g, big, aot_array_data(columns), g->d == AOT_F64 || g->d == AOT_C128 ? add_row_f64 : add_row_f32);
}

/* A kernel of one tap that visits each pixel once: the image itself is what the columns would be. */
static bool is_pointwise(const geometry *g)
{
    return g->taps == 1 && g->places == g->pixels && product(g->stride) == 1 &&
           (g->padding[0] | g->padding[1] | g->padding[2]) == 0;
}

/* One sample and group of an image [N, G channels, pixels] as a matrix [channels, pixels]. */
static aot_array *slab(aot_kern *k, aot_array *image, const geometry *g, int64_t n, int64_t group, int64_t channels,
                       int64_t pixels)
{
    int64_t size[2] = {channels, pixels}, stride[2] = {pixels, 1};
    return k_view(k, image, 2, size, stride, image->offset + (n * g->groups + group) * channels * pixels);
}

static aot_array *weight_of(aot_kern *k, aot_array *w, const geometry *g, int64_t group)
{
    int64_t columns = g->c * g->taps, size[2] = {g->m, columns}, stride[2] = {columns, 1};
    return k_view(k, w, 2, size, stride, w->offset + group * g->m * columns);
}

static void check_floats(aot_kern *k, const geometry *g)
{
    if (aot_dtype_class(g->d) == AOT_CLASS_INT) {
        k_fail(k, AOT_E_UNSUPPORTED, "convolutions of integers are not run");
    }
}

static aot_array *new_columns(aot_kern *k, const geometry *g)
{
    return k_new(k, g->d, 2, (int64_t[]){g->c * g->taps, g->places});
}

/* The patches of an image [C, pixels]; columns is where they go, unless they are the image. */
static aot_array *patches(const geometry *g, aot_array *image, aot_array *columns)
{
    if (is_pointwise(g)) {
        return image;
    }
    each_row(g, aot_array_data(image), aot_array_data(columns), gather_row);
    return columns;
}

/* small = weight . patches(big); both contiguous, of the product's dtype. */
static void to_small(aot_kern *k, const geometry *g, aot_array *big, aot_array *w, aot_array *small)
{
    aot_array *columns = new_columns(k, g);
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t i = 0; i < g->groups; i++) {
            aot_array *x = patches(g, slab(k, big, g, n, i, g->c, g->pixels), columns);
            k_matrix_product_into(k, weight_of(k, w, g, i), x, slab(k, small, g, n, i, g->m, g->places));
        }
    }
}

static void to_big(aot_kern *k, const geometry *g, aot_array *small, aot_array *w, aot_array *big)
{
    const unsigned turn[2] = {1, 0};
    aot_array *columns = new_columns(k, g);
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t i = 0; i < g->groups; i++) {
            aot_array *to = slab(k, big, g, n, i, g->c, g->pixels), *weight = k_permute(k, weight_of(k, w, g, i), turn);
            k_matrix_product_into(k, weight, slab(k, small, g, n, i, g->m, g->places), is_pointwise(g) ? to : columns);
            if (!is_pointwise(g)) {
                scatter(g, columns, aot_array_data(to));
            }
        }
    }
}

static void to_weight(aot_kern *k, const geometry *g, aot_array *small, aot_array *big, aot_array *grad)
{
    const unsigned turn[2] = {1, 0};
    aot_array *columns = new_columns(k, g);
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t i = 0; i < g->groups; i++) {
            aot_array *x = k_permute(k, patches(g, slab(k, big, g, n, i, g->c, g->pixels), columns), turn);
            aot_array *y = slab(k, small, g, n, i, g->m, g->places), *to = weight_of(k, grad, g, i);
            if (aot_dtype_class(g->d) == AOT_CLASS_REAL) {
                k_matrix_product_add(k, y, x, to);
            } else {
                aot_array_assign(to, K2(k, aten_add_Tensor, to, k_matrix_product(k, y, x)));
            }
        }
    }
}

static aot_array *image_of(aot_kern *k, const geometry *g, const aot_array *like, int64_t channels, const int64_t *pixels)
{
    int64_t size[5] = {g->n, channels * g->groups};
    unsigned n = like->ndim - 2u;
    memcpy(size + 2, pixels + 3 - n, n * sizeof *size);
    return k_new(k, g->d, like->ndim, size);
}

void kern_convolution(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *w = k_need(k, 1), *bias = k_in(k, 2);
    geometry g = geometry_of(k, x, w, 3);
    check_floats(k, &g);
    aot_array *in = k_cast_contiguous(k, x, g.d), *weight = k_cast_contiguous(k, w, g.d);
    aot_array *y = image_of(k, &g, x, g.transposed ? g.c : g.m, g.transposed ? g.big : g.small);
    if (g.transposed) {
        to_big(k, &g, in, weight, y);
    } else {
        to_small(k, &g, in, weight, y);
    }
    if (bias != NULL) {
        int64_t size[5] = {bias->size[0], 1, 1, 1};
        y = K2(k, aten_add_Tensor, y, k_reshape(k, bias, x->ndim - 1u, size));
    }
    k_give_in(k, 0, y, (aot_dtype)x->dtype);
}

static bool wanted(aot_kern *k, unsigned i)
{
    const aot_xval *v = k_arg(k, 10);
    return v->kind == AOT_X_LIST && i < v->n && v->u.items[i].u.i != 0;
}

static aot_array *bias_gradient(aot_kern *k, aot_array *grad)
{
    aot_xval dims[4];
    unsigned n = 0;
    for (unsigned i = 0; i < grad->ndim; i++) {
        if (i != 1) {
            dims[n++] = aot_xv_int(i);
        }
    }
    return k_call(k, AOT_OP_aten_sum_dim_IntList, 2, (const aot_xval[]){aot_xv_array(grad), aot_xv_list(n, dims)});
}

/* With complex numbers the other factor is conjugated. */
static aot_array *conjugate(aot_kern *k, aot_array *x)
{
    return aot_array_kind(x) == 'c' ? K1(k, aten__conj_physical, x) : x;
}

void kern_convolution_backward(aot_kern *k)
{
    aot_array *grad = k_need(k, 0), *x = k_need(k, 1), *w = k_need(k, 2);
    geometry g = geometry_of(k, x, w, 4);
    check_floats(k, &g);
    aot_array *dy = k_cast_contiguous(k, grad, g.d);
    if (wanted(k, 0)) {
        aot_array *weight = conjugate(k, k_cast_contiguous(k, w, g.d));
        aot_array *dx = image_of(k, &g, x, g.transposed ? g.m : g.c, g.transposed ? g.small : g.big);
        if (g.transposed) {
            to_small(k, &g, dy, weight, dx);
        } else {
            to_big(k, &g, dy, weight, dx);
        }
        k_give_in(k, 0, dx, (aot_dtype)x->dtype);
    } else {
        k_give_none(k);
    }
    if (wanted(k, 1)) {
        aot_array *in = conjugate(k, k_cast_contiguous(k, x, g.d)), *dw = k_new(k, g.d, w->ndim, w->size);
        to_weight(k, &g, g.transposed ? in : dy, g.transposed ? dy : in, dw);
        k_give_in(k, 1, dw, (aot_dtype)w->dtype);
    } else {
        k_give_none(k);
    }
    if (wanted(k, 2)) {
        k_give_in(k, 2, bias_gradient(k, dy), (aot_dtype)grad->dtype);
    } else {
        k_give_none(k);
    }
}
