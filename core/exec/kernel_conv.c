/* Convolutions as matrix products over columns of patches (im2col).
 *
 * One geometry serves all: a big image and a small one, where each element of the small one looks
 * at a patch of the big one. A convolution goes from big to small, a transposed one and a gradient
 * the other way round.
 *     small [M, L]   = weight [M, C K] . patches(big) [C K, L]
 *     big           += patches^T (weight^T . small)
 *     weight grad    = small . patches(big)^T
 *
 * Columns are made for as many lines of places as stay in the cache until they are multiplied.
 * Images of one channel a group are multiplied where they lie.
 *
 * Mirrors: aten/src/ATen/native/Convolution.cpp. */
#include <inttypes.h>
#include <string.h>

#include "exec/conv.h"
#include "exec/gemm.h"
#include "exec/vector.h"

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

/* What would be divided by, or read beyond its end. */
static void check_settings(aot_kern *k, const geometry *g, const aot_array *x, const aot_array *w)
{
    for (unsigned i = 0; i < 3; i++) {
        if (g->stride[i] <= 0 || g->dilation[i] <= 0 || g->padding[i] < 0 || g->kernel[i] <= 0) {
            k_fail(k, AOT_E_SHAPE,
                   "stride, dilation and kernel must be positive and padding not negative");
        }
    }
    if (g->groups <= 0 || w->size[0] % g->groups != 0 ||
        x->size[1] != (g->transposed ? w->size[0] : w->size[1] * g->groups)) {
        k_fail(k, AOT_E_SHAPE,
               "%" PRId64 " channels do not fit a weight of [%" PRId64 ", %" PRId64
               ", ...] in %" PRId64 " groups",
               x->size[1], w->size[0], w->size[1], g->groups);
    }
}

/* Arguments from `first` on: stride, padding, dilation, transposed, output_padding, groups. */
static geometry geometry_of(aot_kern *k, const aot_array *x, const aot_array *w, unsigned first)
{
    unsigned n = x->ndim - 2u;
    if (x->ndim < 3 || x->ndim > 5 || w->ndim != x->ndim) {
        k_fail(k, AOT_E_SHAPE, "an input with %u dimensions and a weight with %u", x->ndim,
               w->ndim);
    }
    geometry g = {
        .n = x->size[0], .groups = k_int(k, first + 5, 1), .transposed = k_bool(k, first + 3)};
    int64_t extra[3], in[3];
    settings(k, first, n, 1, g.stride);
    settings(k, first + 1, n, 0, g.padding);
    settings(k, first + 2, n, 1, g.dilation);
    settings(k, first + 4, n, 0, extra);
    spatial(w, g.kernel);
    spatial(x, in);
    check_settings(k, &g, x, w);
    for (unsigned i = 0; i < 3; i++) {
        int64_t reach = g.dilation[i] * (g.kernel[i] - 1) + 1;
        g.big[i] =
            g.transposed ? (in[i] - 1) * g.stride[i] - 2 * g.padding[i] + reach + extra[i] : in[i];
        g.small[i] = g.transposed ? in[i] : (in[i] + 2 * g.padding[i] - reach) / g.stride[i] + 1;
        if (g.big[i] < 0 || in[i] + 2 * g.padding[i] < (g.transposed ? 0 : reach)) {
            k_fail(k, AOT_E_SHAPE, "the kernel is larger than the padded input");
        }
    }
    g.m = w->size[0] / g.groups;
    g.c = w->size[1];
    g.taps = product(g.kernel);
    g.places = product(g.small);
    g.pixels = product(g.big);
    g.lines = g.small[0] * g.small[1];
    g.d = k_product_dtype((aot_dtype)x->dtype);
    return g;
}

/* A kernel of one tap that visits each pixel once: the image itself is what the columns would
 * be. */
static bool is_pointwise(const geometry *g)
{
    return g->taps == 1 && g->places == g->pixels && product(g->stride) == 1 &&
           (g->padding[0] | g->padding[1] | g->padding[2]) == 0;
}

/* One sample and group of an image [N, G channels, pixels] as a matrix [channels, pixels]. */
static aot_array *slab(aot_kern *k, aot_array *image, const geometry *g, int64_t n, int64_t group,
                       int64_t channels, int64_t pixels)
{
    int64_t size[2] = {channels, pixels}, stride[2] = {pixels, 1};
    return k_view(k, image, 2, size, stride,
                  image->offset + (n * g->groups + group) * channels * pixels);
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

/* Lines of places whose columns fit into the cache beside what they are multiplied with. */
static int64_t lines_at_once(const geometry *g)
{
    enum { BYTES = 512 << 10 };
    int64_t line = g->c * g->taps * g->small[2] * aot_dtype_get(g->d)->bytes,
            n = line == 0 ? 1 : BYTES / line;
    return n < 1 ? 1 : n > g->lines ? g->lines : n;
}

/* Room for columns, or for what is computed without. */
static aot_array *new_columns(aot_kern *k, const geometry *g)
{
    int64_t n = conv_is_depthwise(g) ? conv_depthwise_room(g)
                                     : g->c * g->taps * lines_at_once(g) * g->small[2];
    return k_new(k, g->d, 1, (int64_t[]){is_pointwise(g) ? 0 : n});
}

/* Places of n lines from `line` on, of a slab [channels, places]. */
static aot_array *part(aot_kern *k, const geometry *g, const aot_array *slab, int64_t line,
                       int64_t n)
{
    int64_t size[2] = {slab->size[0], n * g->small[2]};
    return k_view(k, slab, 2, size, slab->stride, slab->offset + line * g->small[2]);
}

/* The room as columns of n lines. */
static aot_array *columns_of(aot_kern *k, const geometry *g, const aot_array *room, int64_t n)
{
    int64_t places = n * g->small[2], size[2] = {g->c * g->taps, places}, stride[2] = {places, 1};
    return k_view(k, room, 2, size, stride, room->offset);
}

/* One sample and group: big [C, pixels], weight [M, C K], small [M, places]. */
static void slab_to_small(aot_kern *k, const geometry *g, aot_array *room, aot_array *big,
                          aot_array *w, aot_array *small)
{
    int64_t step = lines_at_once(g);
    if (is_pointwise(g)) {
        k_matrix_product_into(k, w, big, small);
        return;
    }
    if (conv_is_depthwise(g)) {
        conv_depthwise_to_small(g, aot_array_data(room), big, w, small);
        return;
    }
    for (int64_t at = 0; at < g->lines; at += step) {
        int64_t n = g->lines - at < step ? g->lines - at : step;
        aot_array *columns = columns_of(k, g, room, n);
        conv_gather(g, big, columns, at, n);
        k_matrix_product_into(k, w, columns, part(k, g, small, at, n));
    }
}

static void slab_to_big(aot_kern *k, const geometry *g, aot_array *room, aot_array *small,
                        aot_array *w, aot_array *big)
{
    const unsigned turn[2] = {1, 0};
    int64_t step = lines_at_once(g);
    aot_array *turned = k_permute(k, w, turn);
    if (is_pointwise(g)) {
        k_matrix_product_into(k, turned, small, big);
        return;
    }
    if (conv_is_depthwise(g)) {
        conv_depthwise_to_big(g, small, w, big);
        return;
    }
    for (int64_t at = 0; at < g->lines; at += step) {
        int64_t n = g->lines - at < step ? g->lines - at : step;
        aot_array *columns = columns_of(k, g, room, n);
        k_matrix_product_into(k, turned, part(k, g, small, at, n), columns);
        conv_scatter(g, columns, big, at, n);
    }
}

/* Adds small . columns^T to the gradient. */
static void add_to_weight(aot_kern *k, const geometry *g, aot_array *small, aot_array *columns,
                          aot_array *grad)
{
    const unsigned turn[2] = {1, 0};
    aot_array *x = k_permute(k, columns, turn);
    if (aot_dtype_class(g->d) == AOT_CLASS_REAL) {
        k_matrix_product_add(k, small, x, grad);
    } else {
        aot_array_assign(grad, K2(k, aten_add_Tensor, grad, k_matrix_product(k, small, x)));
    }
}

static void slab_to_weight(aot_kern *k, const geometry *g, aot_array *room, aot_array *small,
                           aot_array *big, aot_array *grad)
{
    int64_t step = lines_at_once(g);
    if (is_pointwise(g)) {
        add_to_weight(k, g, small, big, grad);
        return;
    }
    if (conv_is_depthwise(g)) {
        conv_depthwise_to_weight(g, small, big, grad);
        return;
    }
    for (int64_t at = 0; at < g->lines; at += step) {
        int64_t n = g->lines - at < step ? g->lines - at : step;
        aot_array *columns = columns_of(k, g, room, n);
        conv_gather(g, big, columns, at, n);
        add_to_weight(k, g, part(k, g, small, at, n), columns, grad);
    }
}

/* Adds to each channel its number, while the slab is in the cache; bias NULL: nothing. */
static void add_bias(const aot_array *slab, const aot_array *bias, int64_t group)
{
    if (bias == NULL) {
        return;
    }
    float *p = (float *)(void *)aot_array_data(slab);
    const float *b = (const float *)(const void *)aot_array_data(bias) + group * slab->size[0];
    for (int64_t c = 0; c < slab->size[0]; c++) {
        for (int64_t i = 0; i < slab->size[1]; i++, p++) {
            *p += b[c];
        }
    }
}

/* small = weight . patches(big) + bias; all contiguous, of the product's dtype. */
static void to_small(aot_kern *k, const geometry *g, aot_array *big, aot_array *w,
                     const aot_array *bias, aot_array *small)
{
    aot_array *room = new_columns(k, g);
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t i = 0; i < g->groups; i++) {
            aot_array *to = slab(k, small, g, n, i, g->m, g->places);
            slab_to_small(k, g, room, slab(k, big, g, n, i, g->c, g->pixels), weight_of(k, w, g, i),
                          to);
            add_bias(to, bias, i);
        }
    }
}

static void to_big(aot_kern *k, const geometry *g, aot_array *small, aot_array *w,
                   const aot_array *bias, aot_array *big)
{
    aot_array *room = new_columns(k, g);
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t i = 0; i < g->groups; i++) {
            aot_array *to = slab(k, big, g, n, i, g->c, g->pixels);
            slab_to_big(k, g, room, slab(k, small, g, n, i, g->m, g->places), weight_of(k, w, g, i),
                        to);
            add_bias(to, bias, i);
        }
    }
}

static void to_weight(aot_kern *k, const geometry *g, aot_array *small, aot_array *big,
                      aot_array *grad)
{
    aot_array *room = new_columns(k, g);
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t i = 0; i < g->groups; i++) {
            slab_to_weight(k, g, room, slab(k, small, g, n, i, g->m, g->places),
                           slab(k, big, g, n, i, g->c, g->pixels), weight_of(k, grad, g, i));
        }
    }
}

static aot_array *image_of(aot_kern *k, const geometry *g, const aot_array *like, int64_t channels,
                           const int64_t *pixels)
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
    if (bias != NULL && (bias->ndim != 1 || bias->size[0] != y->size[1])) {
        k_fail(k, AOT_E_SHAPE, "a bias for another number of channels than %" PRId64, y->size[1]);
    }
    bool apart = bias != NULL && (g.d != AOT_F32 || x->dtype != AOT_F32 || bias->dtype != AOT_F32);
    const aot_array *at_once = bias == NULL || apart ? NULL : k_contiguous(k, bias);
    if (g.transposed) {
        to_big(k, &g, in, weight, at_once, y);
    } else {
        to_small(k, &g, in, weight, at_once, y);
    }
    if (apart) {
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
    return k_call(k, AOT_OP_aten_sum_dim_IntList, 2,
                  (const aot_xval[]){aot_xv_array(grad), aot_xv_list(n, dims)});
}

/* With complex numbers the other factor is conjugated. */
static aot_array *conjugate(aot_kern *k, aot_array *x)
{
    return aot_array_kind(x) == 'c' ? K1(k, aten__conj_physical, x) : x;
}

static void check_gradient(aot_kern *k, const geometry *g, const aot_array *grad,
                           const aot_array *x)
{
    const int64_t *pixels = g->transposed ? g->big : g->small;
    bool fits = grad->ndim == x->ndim && grad->size[0] == g->n &&
                grad->size[1] == g->groups * (g->transposed ? g->c : g->m);
    for (unsigned i = 2; i < x->ndim && fits; i++) {
        fits = grad->size[i] == pixels[3 - x->ndim + i];
    }
    if (!fits) {
        k_fail(k, AOT_E_SHAPE, "the gradient does not have the sizes of the result");
    }
}

void kern_convolution_backward(aot_kern *k)
{
    aot_array *grad = k_need(k, 0), *x = k_need(k, 1), *w = k_need(k, 2);
    geometry g = geometry_of(k, x, w, 4);
    check_floats(k, &g);
    aot_array *dy = k_cast_contiguous(k, grad, g.d);
    check_gradient(k, &g, grad, x);
    if (wanted(k, 0)) {
        aot_array *weight = conjugate(k, k_cast_contiguous(k, w, g.d));
        aot_array *dx =
            image_of(k, &g, x, g.transposed ? g.m : g.c, g.transposed ? g.small : g.big);
        if (g.transposed) {
            to_small(k, &g, dy, weight, NULL, dx);
        } else {
            to_big(k, &g, dy, weight, NULL, dx);
        }
        k_give_in(k, 0, dx, (aot_dtype)x->dtype);
    } else {
        k_give_none(k);
    }
    if (wanted(k, 1)) {
        aot_array *in = conjugate(k, k_cast_contiguous(k, x, g.d)),
                  *dw = k_new(k, g.d, w->ndim, w->size);
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
