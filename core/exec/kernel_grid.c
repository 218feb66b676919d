/* Sampling of images at points of a grid, in two and three dimensions, and the gradients.
 *
 *     input [N, C, S1..Sd]  grid [N, O1..Od, d]  -> [N, C, O1..Od]
 *
 * A point of the grid, from -1 to 1, becomes a place among pixels; outside of the image it is zero,
 * the border or mirrored. What is read is the mean of the 2^d pixels around it, the nearest, or (in
 * the plane) a cubic of 16. Each tap is a pixel with its weight and the weight's derivative by each
 * coordinate: forward and backward differ in what they add up.
 *
 * Mirrors: aten/src/ATen/native/GridSampler.cpp, GridSampler.h. */
#include <inttypes.h>
#include <math.h>

#include "exec/reals.h"

enum { LINEAR, NEAREST, CUBIC };
enum { ZEROS, BORDER, REFLECTION };
enum { MAX_TAPS = 16 };

typedef struct sampler {
    int64_t n, channels, points, pixels, size[3];
    unsigned dims;
    int64_t mode, padding;
    bool align, single; /* corners are pixels; places are computed in f32 */
} sampler;

/* One coordinate: its place, and how it moves with the grid. */
typedef struct place {
    double x, slope;
} place;

static place mirrored(place p, double twice_low, double twice_high)
{
    if (twice_low == twice_high) {
        return (place){0, 0};
    }
    double low = twice_low / 2, span = (twice_high - twice_low) / 2, x = p.x - low;
    p.slope *= x < 0 ? -1 : 1;
    x = fabs(x);
    double extra = fmod(x, span);
    bool even = fmod(floor(x / span), 2) == 0;
    return (place){even ? extra + low : span - extra + low, even ? p.slope : -p.slope};
}

static place clipped(place p, int64_t size)
{
    double most = (double)(size - 1);
    return !(p.x > 0) ? (place){0, 0} : p.x >= most ? (place){most, 0} : p;
}

static place padded(const sampler *s, place p, int64_t size)
{
    if (s->padding == REFLECTION) {
        p = s->align ? mirrored(p, 0, 2.0 * (double)(size - 1))
                     : mirrored(p, -1, 2.0 * (double)size - 1);
    }
    return s->padding == ZEROS ? p : clipped(p, size);
}

/* Of a coordinate of the grid; cubic taps are padded one by one. */
static place place_of(const sampler *s, double c, int64_t size)
{
    place p = {s->align ? (c + 1) / 2 * (double)(size - 1) : ((c + 1) * (double)size - 1) / 2,
               (s->align ? (double)(size - 1) : (double)size) / 2};
    if (s->single) {
        float f = (float)c + 1;
        p.x = s->align ? f / 2 * (float)(size - 1) : (f * (float)size - 1) / 2;
    }
    p = s->mode == CUBIC ? p : padded(s, p, size);
    p.x = isfinite(p.x) && fabs(p.x) < 1e9 ? p.x : -100; // as PyTorch: far outside
    return p;
}

/* What one point reads. */
typedef struct taps {
    unsigned n;
    int64_t pixel[MAX_TAPS]; /* -1: outside */
    double weight[MAX_TAPS], by[MAX_TAPS][3]; /* by the place, which moves by slope with the grid */
    double slope[3];
} taps;

/* at: one pixel a dimension, the last dimension first in the grid. */
static int64_t pixel_at(const sampler *s, const int64_t *at)
{
    int64_t pixel = 0;
    for (unsigned d = 0; d < s->dims; d++) {
        if (at[d] < 0 || at[d] >= s->size[d]) {
            return -1;
        }
        pixel = pixel * s->size[d] + at[d];
    }
    return pixel;
}

static void nearest_tap(const sampler *s, taps *t, const place *p)
{
    int64_t at[3];
    for (unsigned d = 0; d < s->dims; d++) {
        at[d] = (int64_t)nearbyint(p[d].x);
    }
    t->n = 1;
    t->pixel[0] = pixel_at(s, at);
    t->weight[0] = 1;
}

static void linear_taps(const sampler *s, taps *t, const place *p)
{
    t->n = 1u << s->dims;
    for (unsigned i = 0; i < t->n; i++) {
        int64_t at[3];
        double part[3];
        t->weight[i] = 1;
        for (unsigned d = 0; d < s->dims; d++) {
            bool up = (i >> d & 1) != 0;
            double low = floor(p[d].x), rest = p[d].x - low;
            at[d] = (int64_t)low + up;
            part[d] = up ? rest : 1 - rest;
            t->weight[i] *= part[d];
        }
        t->pixel[i] = pixel_at(s, at);
        for (unsigned d = 0; d < s->dims; d++) {
            double others = (i >> d & 1) != 0 ? 1 : -1;
            for (unsigned e = 0; e < s->dims; e++) {
                others *= e == d ? 1 : part[e];
            }
            t->by[i][d] = others;
        }
    }
}

/* Keys' kernel with a = -3/4: weights of the pixels at -1, 0, 1, 2 from t, and their
 * derivatives. */
static void cubic_weights(double t, double w[4], double dw[4])
{
    const double a = -0.75;
    for (int i = 0; i < 4; i++) {
        double x = fabs(t - (i - 1)), sign = t < i - 1 ? -1 : 1;
        bool inner = i == 1 || i == 2;
        w[i] =
            inner ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
        dw[i] =
            sign * (inner ? (3 * (a + 2) * x - 2 * (a + 3)) * x : (3 * a * x - 10 * a) * x + 8 * a);
    }
}

static int64_t cubic_pixel(const sampler *s, int64_t at, int64_t size)
{
    return s->padding == ZEROS ? at : (int64_t)padded(s, (place){(double)at, 1}, size).x;
}

static void cubic_taps(const sampler *s, taps *t, const place *p)
{
    double w[2][4], dw[2][4];
    int64_t low[2];
    for (unsigned d = 0; d < 2; d++) {
        low[d] = (int64_t)floor(p[d].x);
        cubic_weights(p[d].x - (double)low[d], w[d], dw[d]);
    }
    t->n = 16;
    for (int i = 0; i < 16; i++) {
        int64_t at[2] = {cubic_pixel(s, low[0] - 1 + i / 4, s->size[0]),
                         cubic_pixel(s, low[1] - 1 + i % 4, s->size[1])};
        t->pixel[i] = pixel_at(s, at);
        t->weight[i] = w[0][i / 4] * w[1][i % 4];
        t->by[i][0] = dw[0][i / 4] * w[1][i % 4];
        t->by[i][1] = w[0][i / 4] * dw[1][i % 4];
    }
}

/* point: its d coordinates, the last dimension of the image first. */
static void taps_of(const sampler *s, taps *t, const double *point)
{
    place p[3];
    for (unsigned d = 0; d < s->dims; d++) {
        p[d] = place_of(s, point[s->dims - 1 - d], s->size[d]);
        t->slope[d] = p[d].slope;
    }
    if (s->mode == NEAREST) {
        nearest_tap(s, t, p);
    } else if (s->mode == CUBIC) {
        cubic_taps(s, t, p);
    } else {
        linear_taps(s, t, p);
    }
}

static sampler sampler_of(aot_kern *k, aot_array *x, aot_array *grid, unsigned mode_pos)
{
    sampler s = {.points = 1,
                 .pixels = 1,
                 .dims = x->ndim - 2u,
                 .mode = k_int(k, mode_pos, 0),
                 .padding = k_int(k, mode_pos + 1, 0),
                 .align = k_bool(k, mode_pos + 2),
                 .single = x->dtype != AOT_F64};
    need_reals(k, x);
    if (x->ndim < 4 || x->ndim > 5 || grid->ndim != x->ndim || grid->size[0] != x->size[0] ||
        grid->size[grid->ndim - 1] != s.dims || (s.mode == CUBIC && s.dims != 2) || s.mode < 0 ||
        s.mode > CUBIC) {
        k_fail(k, AOT_E_SHAPE,
               "image and grid do not fit, or the mode is not known for %u dimensions",
               x->ndim - 2u);
    }
    s.n = x->size[0];
    s.channels = x->size[1];
    for (unsigned d = 0; d < s.dims; d++) {
        s.size[d] = x->size[d + 2];
        s.pixels *= s.size[d];
        s.points *= grid->size[d + 1];
    }
    return s;
}

/* input, grid, interpolation_mode, padding_mode, align_corners */
void kern_grid_sampler(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *grid = k_need(k, 1);
    sampler s = sampler_of(k, x, grid, 2);
    int64_t size[5] = {s.n, s.channels};
    memcpy(size + 2, grid->size + 1, s.dims * sizeof *size);
    aot_array *out = k_new(k, AOT_F64, x->ndim, size);
    const double *image = reals_of(k, x), *points = reals_of(k, grid);
    for (int64_t i = 0; i < s.n * s.points; i++) {
        int64_t n = i / s.points;
        taps t;
        taps_of(&s, &t, points + i * s.dims);
        for (int64_t c = n * s.channels; c < (n + 1) * s.channels; c++) {
            double *to = reals_data(out) + c * s.points + i % s.points;
            for (unsigned j = 0; j < t.n; j++) {
                *to += t.pixel[j] < 0 ? 0 : t.weight[j] * image[c * s.pixels + t.pixel[j]];
            }
        }
    }
    k_give_as(k, 0, out, (aot_dtype)x->dtype);
}

/* grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask */
void kern_grid_sampler_backward(aot_kern *k)
{
    aot_array *grad = k_need(k, 0), *x = k_need(k, 1), *grid = k_need(k, 2);
    sampler s = sampler_of(k, x, grid, 3);
    if (aot_array_numel(grad) != s.n * s.channels * s.points) {
        k_fail(k, AOT_E_SHAPE, "the gradient is not of the result");
    }
    aot_array *dx = k_new(k, AOT_F64, x->ndim, x->size),
              *dgrid = k_new(k, AOT_F64, grid->ndim, grid->size);
    const double *image = reals_of(k, x), *points = reals_of(k, grid), *g = reals_of(k, grad);
    for (int64_t i = 0; i < s.n * s.points; i++) {
        int64_t n = i / s.points;
        taps t;
        double by[3] = {0};
        taps_of(&s, &t, points + i * s.dims);
        for (int64_t c = n * s.channels; c < (n + 1) * s.channels; c++) {
            double here = g[c * s.points + i % s.points];
            for (unsigned j = 0; j < t.n; j++) {
                if (t.pixel[j] < 0) {
                    continue;
                }
                reals_data(dx)[c * s.pixels + t.pixel[j]] += here * t.weight[j];
                for (unsigned d = 0; d < s.dims && s.mode != NEAREST; d++) {
                    by[d] += here * t.by[j][d] * image[c * s.pixels + t.pixel[j]];
                }
            }
        }
        for (unsigned d = 0; d < s.dims && s.mode != NEAREST; d++) {
            reals_data(dgrid)[(i + 1) * s.dims - 1 - d] = by[d] * t.slope[d];
        }
    }
    const aot_xval *mask = k_arg(k, 6);
    bool wants_x = mask->kind != AOT_X_LIST || mask->n == 0 || mask->u.items[0].u.i != 0;
    if (wants_x) {
        k_give_as(k, 0, dx, (aot_dtype)x->dtype);
    } else {
        k_give_none(k);
    }
    k_give_as(k, 1, dgrid, (aot_dtype)grid->dtype);
}
