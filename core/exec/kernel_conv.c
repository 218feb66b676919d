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

/* The pixel of the big image that a tap of the kernel reads for a place of the small one; -1: padding. */
static int64_t pixel(const geometry *g, int64_t tap, int64_t place)
{
    int64_t at = 0, t[3], p[3];
    t[2] = tap % g->kernel[2];
    t[1] = tap / g->kernel[2] % g->kernel[1];
    t[0] = tap / g->kernel[2] / g->kernel[1];
    p[2] = place % g->small[2];
    p[1] = place / g->small[2] % g->small[1];
    p[0] = place / g->small[2] / g->small[1];
    for (unsigned i = 0; i < 3; i++) {
        int64_t x = p[i] * g->stride[i] - g->padding[i] + t[i] * g->dilation[i];
        if (x < 0 || x >= g->big[i]) {
            return -1;
        }
        at = at * g->big[i] + x;
    }
    return at;
}

/* The pixel of each tap and place, once for all channels. */
static const int64_t *pixel_map(aot_kern *k, const geometry *g)
{
    int64_t *map = k_mem(k, (size_t)(g->taps * g->places + 1) * sizeof *map);
    for (int64_t t = 0; t < g->taps; t++) {
        for (int64_t p = 0; p < g->places; p++) {
            map[t * g->places + p] = pixel(g, t, p);
        }
    }
    return map;
}

static void gather(const geometry *g, const int64_t *map, const char *big, aot_array *columns)
{
    size_t bytes = (size_t)aot_array_item_bytes(columns);
    char *to = aot_array_data(columns);
    for (int64_t c = 0; c < g->c; c++) {
        const char *image = big + c * g->pixels * (int64_t)bytes;
        for (int64_t i = 0; i < g->taps * g->places; i++, to += bytes) {
            if (map[i] < 0) {
                memset(to, 0, bytes);
            } else {
                memcpy(to, image + map[i] * (int64_t)bytes, bytes);
            }
        }
    }
}

static void scatter(const geometry *g, const int64_t *map, const aot_array *columns, char *big)
{
    int64_t parts = aot_dtype_class(g->d) == AOT_CLASS_COMPLEX ? 2 : 1, n = g->taps * g->places;
    bool is_double = g->d == AOT_F64 || g->d == AOT_C128;
    for (int64_t c = 0; c < g->c; c++) {
        for (int64_t i = 0; i < n; i++) {
            int64_t to = (c * g->pixels + map[i]) * parts, from = (c * n + i) * parts;
            for (int64_t j = 0; j < parts && map[i] >= 0; j++) {
                if (is_double) {
                    ((double *)(void *)big)[to + j] += ((const double *)(const void *)aot_array_data(columns))[from + j];
                } else {
                    ((float *)(void *)big)[to + j] += ((const float *)(const void *)aot_array_data(columns))[from + j];
                }
            }
        }
    }
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

/* small = weight . patches(big); both contiguous, of the product's dtype. */
static void to_small(aot_kern *k, const geometry *g, aot_array *big, aot_array *w, aot_array *small)
{
    const int64_t *map = pixel_map(k, g);
    int64_t size[2] = {g->c * g->taps, g->places};
    aot_array *columns = k_new(k, g->d, 2, size);
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t i = 0; i < g->groups; i++) {
            gather(g, map, aot_array_data(slab(k, big, g, n, i, g->c, g->pixels)), columns);
            k_matrix_product_into(k, weight_of(k, w, g, i), columns, slab(k, small, g, n, i, g->m, g->places));
        }
    }
}

static void to_big(aot_kern *k, const geometry *g, aot_array *small, aot_array *w, aot_array *big)
{
    const int64_t *map = pixel_map(k, g);
    const unsigned turn[2] = {1, 0};
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t i = 0; i < g->groups; i++) {
            aot_array *columns = k_matrix_product(k, k_permute(k, weight_of(k, w, g, i), turn),
                                                  slab(k, small, g, n, i, g->m, g->places));
            scatter(g, map, columns, aot_array_data(slab(k, big, g, n, i, g->c, g->pixels)));
        }
    }
}

static void to_weight(aot_kern *k, const geometry *g, aot_array *small, aot_array *big, aot_array *grad)
{
    const int64_t *map = pixel_map(k, g);
    const unsigned turn[2] = {1, 0};
    int64_t size[2] = {g->c * g->taps, g->places};
    aot_array *columns = k_new(k, g->d, 2, size);
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t i = 0; i < g->groups; i++) {
            gather(g, map, aot_array_data(slab(k, big, g, n, i, g->c, g->pixels)), columns);
            aot_array *part = k_matrix_product(k, slab(k, small, g, n, i, g->m, g->places), k_permute(k, columns, turn));
            aot_array *to = weight_of(k, grad, g, i);
            aot_array_assign(to, K2(k, aten_add_Tensor, to, part));
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
    aot_array *in = k_cast_contiguous(k, x, g.d), *weight = k_cast_contiguous(k, w, g.d), *y;
    if (g.transposed) {
        y = image_of(k, &g, x, g.c, g.big);
        to_big(k, &g, in, weight, y);
    } else {
        y = image_of(k, &g, x, g.m, g.small);
        to_small(k, &g, in, weight, y);
    }
    if (bias != NULL) {
        int64_t size[5] = {bias->size[0], 1, 1, 1};
        y = K2(k, aten_add_Tensor, y, k_reshape(k, bias, x->ndim - 1u, size));
    }
    aot_array *out = k_out(k, 0, (aot_dtype)x->dtype, y->ndim, y->size);
    aot_array_assign(out, y);
    k_give(k, out);
}

static void give_as(aot_kern *k, unsigned i, aot_array *x, aot_dtype d)
{
    aot_array *out = k_out(k, i, d, x->ndim, x->size);
    aot_array_assign(out, x);
    k_give(k, out);
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
        give_as(k, 0, dx, (aot_dtype)x->dtype);
    } else {
        k_give_none(k);
    }
    if (wanted(k, 1)) {
        aot_array *in = conjugate(k, k_cast_contiguous(k, x, g.d)), *dw = k_new(k, g.d, w->ndim, w->size);
        to_weight(k, &g, g.transposed ? in : dy, g.transposed ? dy : in, dw);
        give_as(k, 1, dw, (aot_dtype)w->dtype);
    } else {
        k_give_none(k);
    }
    if (wanted(k, 2)) {
        give_as(k, 2, bias_gradient(k, dy), (aot_dtype)grad->dtype);
    } else {
        k_give_none(k);
    }
}
