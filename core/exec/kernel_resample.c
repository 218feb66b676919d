/* Resampling of images: each output of a dimension is a weighted sum of a few inputs. The weights
 * of a dimension are found once; the dimensions are resampled one after the other. The backward
 * goes the same ways in reverse.
 *
 * Mirrors: aten/src/ATen/native/UpSample.h, cpu/UpSampleKernel.cpp. */
#include <math.h>

#include "exec/reals.h"

typedef enum mode { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LINEAR_AA, CUBIC_AA } mode;

typedef struct resampling {
    aot_op_id op;
    mode mode;
    unsigned n; /* dimensions */
    bool backward;
} resampling;

/* To add one: a row, and a KERNEL row with kern_resample. */
static const resampling table[] = {
    {AOT_OP_aten__upsample_bilinear2d_aa, LINEAR_AA, 2, false},
    {AOT_OP_aten__upsample_bilinear2d_aa_backward, LINEAR_AA, 2, true},
    {AOT_OP_aten__upsample_bicubic2d_aa, CUBIC_AA, 2, false},
    {AOT_OP_aten__upsample_bicubic2d_aa_backward, CUBIC_AA, 2, true},
    {AOT_OP_aten_upsample_trilinear3d, LINEAR, 3, false},
    {AOT_OP_aten_upsample_linear1d_backward, LINEAR, 1, true},
    {AOT_OP_aten_upsample_bilinear2d_backward, LINEAR, 2, true},
    {AOT_OP_aten_upsample_trilinear3d_backward, LINEAR, 3, true},
    {AOT_OP_aten_upsample_bicubic2d_backward, CUBIC, 2, true},
    {AOT_OP_aten_upsample_nearest1d_backward, NEAREST, 1, true},
    {AOT_OP_aten_upsample_nearest2d_backward, NEAREST, 2, true},
    {AOT_OP_aten_upsample_nearest3d_backward, NEAREST, 3, true},
    {AOT_OP_aten__upsample_nearest_exact1d_backward, NEAREST_EXACT, 1, true},
    {AOT_OP_aten__upsample_nearest_exact2d_backward, NEAREST_EXACT, 2, true},
    {AOT_OP_aten__upsample_nearest_exact3d_backward, NEAREST_EXACT, 3, true},
};

/* Output o takes taps of weight w[o * taps + t] of inputs at[o * taps + t]. */
typedef struct weights {
    int64_t in, out, taps;
    int64_t *at;
    double *w;
} weights;

static double cubic(double x, double a)
{
    x = fabs(x);
    return x < 1   ? ((a + 2) * x - (a + 3)) * x * x + 1
           : x < 2 ? (((x - 5) * x + 8) * x - 4) * a
                   : 0;
}

static void tap(weights *q, int64_t o, int64_t t, int64_t at, double w)
{
    q->at[o * q->taps + t] = at < 0 ? 0 : at >= q->in ? q->in - 1 : at;
    q->w[o * q->taps + t] = w;
}

/* Low-pass filtered where the image shrinks. */
static void find_smoothed(weights *q, double scale, bool is_cubic)
{
    double support = (is_cubic ? 2 : 1) * fmax(scale, 1), inverse = 1 / fmax(scale, 1);
    for (int64_t o = 0; o < q->out; o++) {
        double center = scale * ((double)o + 0.5), sum = 0;
        int64_t lo = (int64_t)fmax(center - support + 0.5, 0),
                hi = (int64_t)(center + support + 0.5);
        hi = hi > q->in ? q->in : hi;
        for (int64_t i = lo; i < hi && i - lo < q->taps; i++) {
            double x = ((double)i - center + 0.5) * inverse;
            double w = is_cubic ? cubic(x, -0.5) : fmax(0, 1 - fabs(x));
            tap(q, o, i - lo, i, w);
            sum += w;
        }
        for (int64_t t = 0; t < q->taps && sum != 0; t++) {
            q->w[o * q->taps + t] /= sum;
        }
    }
}

static void find_nearest(weights *q, double scale, double shift)
{
    for (int64_t o = 0; o < q->out; o++) {
        tap(q, o, 0, (int64_t)floorf((float)((float)o + shift) * (float)scale), 1);
    }
}

static void find_interpolated(weights *q, double scale, bool align_corners, bool is_cubic)
{
    for (int64_t o = 0; o < q->out; o++) {
        double x = align_corners ? scale * (double)o : scale * ((double)o + 0.5) - 0.5;
        if (is_cubic) {
            double lo = floor(x), t = x - lo;
            for (int64_t i = 0; i < 4; i++) {
                tap(q, o, i, (int64_t)lo - 1 + i, cubic(t + 1 - (double)i, -0.75));
            }
            continue;
        }
        x = fmax(x, 0);
        int64_t lo = (int64_t)x < q->in - 1 ? (int64_t)x : q->in - 1;
        double t = fmin(fmax(x - (double)lo, 0), 1);
        tap(q, o, 0, lo, 1 - t);
        tap(q, o, 1, lo + 1, t);
    }
}

/* scale_given: how much larger the output is, as the caller said; 0: the sizes say it. */
static void find(aot_kern *k, weights *q, mode m, bool align_corners, double scale_given)
{
    bool smooth = m == LINEAR_AA || m == CUBIC_AA, nearest = m == NEAREST || m == NEAREST_EXACT;
    double scale = scale_given > 0 ? 1 / scale_given : (double)q->in / (double)q->out;
    if (align_corners) {
        scale = q->out > 1 ? (double)(q->in - 1) / (double)(q->out - 1) : 0;
    }
    if (!smooth && !nearest && !align_corners && scale_given <= 0) {
        scale = (double)q->in / (double)q->out;
    }
    q->taps = smooth       ? (int64_t)ceil((m == CUBIC_AA ? 2 : 1) * fmax(scale, 1)) * 2 + 1
              : nearest    ? 1
              : m == CUBIC ? 4
                           : 2;
    q->at = k_mem(k, (size_t)(q->out * q->taps + 1) * sizeof *q->at);
    q->w = k_mem(k, (size_t)(q->out * q->taps + 1) * sizeof *q->w);
    if (smooth) {
        find_smoothed(q, scale, m == CUBIC_AA);
    } else if (nearest) {
        find_nearest(q, scale, m == NEAREST ? 0 : 0.5);
    } else {
        find_interpolated(q, scale, align_corners, m == CUBIC);
    }
}

/* [outer, in, inner] to [outer, out, inner], or back: gradients go where values came from. */
static double *resample_dim(aot_kern *k, const double *x, const weights *q, int64_t outer,
                            int64_t inner, bool backward)
{
    int64_t n_from = backward ? q->out : q->in, n_to = backward ? q->in : q->out;
    double *y = k_mem(k, (size_t)(outer * n_to * inner + 1) * sizeof *y);
    for (int64_t a = 0; a < outer; a++) {
        for (int64_t o = 0; o < q->out * q->taps; o++) {
            int64_t from = backward ? o / q->taps : q->at[o],
                    to = backward ? q->at[o] : o / q->taps;
            const double *p = x + (a * n_from + from) * inner;
            double w = q->w[o], *r = y + (a * n_to + to) * inner;
            for (int64_t i = 0; i < inner && w != 0; i++) {
                r[i] += w * p[i];
            }
        }
    }
    return y;
}

/* The sizes that a backward is given: in, of the image; the gradient x must be of those that come
 * out. */
static void check_image(aot_kern *k, const aot_array *x, unsigned n, const int64_t *out,
                        int64_t *in)
{
    unsigned have;
    int64_t size[AOT_ARRAY_MAX_NDIM];
    k_ints(k, 2, &have);
    if (have != x->ndim) {
        k_fail(k, AOT_E_SHAPE, "%u sizes of an image with %u", have, x->ndim);
    }
    k_small_ints_of(k, 2, x->ndim, 1, 0, in);
    memcpy(size, in, sizeof size);
    for (unsigned d = 0; d < n; d++) {
        size[x->ndim - n + d] = out[d];
    }
    k_shape_is(k, x, x->ndim, size);
}

/* (self, output_size, [align_corners], scales...); backward: (grad, output_size, input_size,
 * ...) */
void kern_resample(aot_kern *k)
{
    const resampling *r = table;
    while (r->op != k_op(k)) {
        r++;
    }
    aot_array *x = k_need(k, 0);
    unsigned n = r->n, at = r->backward ? 3 : 2, first = x->ndim - n;
    if (x->ndim != n + 2) {
        k_fail(k, AOT_E_SHAPE, "an image with %u dimensions", x->ndim);
    }
    int64_t out[3], size[AOT_ARRAY_MAX_NDIM], in[AOT_ARRAY_MAX_NDIM];
    bool has_corners = r->mode != NEAREST && r->mode != NEAREST_EXACT,
         corners = has_corners && k_bool(k, at);
    at += has_corners;
    k_small_ints_of(k, 1, n, 1, 1, out);
    memcpy(in, x->size, sizeof in);
    if (r->backward) {
        check_image(k, x, n, out, in);
    }
    for (unsigned d = 0; d < n; d++) {
        if (in[first + d] < 1) {
            k_fail(k, AOT_E_SHAPE, "an image without elements");
        }
    }
    memcpy(size, x->size, sizeof size); // of what is resampled, as it changes
    double *v = reals_of(k, x);
    for (unsigned d = n; d-- > 0;) {
        weights q = {.in = in[first + d], .out = out[d]};
        int64_t outer = 1, inner = 1;
        find(k, &q, r->mode, corners, k_real(k, at + d, 0));
        for (unsigned i = 0; i < x->ndim; i++) {
            outer *= i < first + d ? size[i] : 1;
            inner *= i > first + d ? size[i] : 1;
        }
        v = resample_dim(k, v, &q, outer, inner, r->backward);
        size[first + d] = r->backward ? q.in : q.out;
    }
    aot_array *y = k_new(k, AOT_F64, x->ndim, size);
    memcpy(reals_data(y), v, (size_t)aot_array_numel(y) * sizeof *v);
    k_give_as(k, 0, y, (aot_dtype)x->dtype);
}
