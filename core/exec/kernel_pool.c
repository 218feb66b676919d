/* Pooling over one to three dimensions, fixed windows and adaptive ones: a window is a range in
 * each dimension, found once; planes (batch times channels) are run one after the other in double.
 *
 * Mirrors: aten/src/ATen/native/AveragePool2d.cpp, AdaptiveAveragePooling.cpp,
 * DilatedMaxPool2d.cpp, AdaptiveMaxPooling2d.cpp, Pool.h. */
#include <inttypes.h>
#include <math.h>

#include "exec/reals.h"

typedef struct range {
    int64_t lo, hi; /* elements of the input, clipped */
    int64_t padded; /* how many the window has before clipping at the far padding */
} range;

typedef struct windows {
    int64_t in[3], out[3], step[3]; /* step: dilation */
    range *of[3];
    int64_t planes, n_in, n_out;
    unsigned n;  /* dimensions pooled over */
} windows;

static void begin(aot_kern *k, windows *w, const aot_array *x, unsigned n)
{
    if (x->ndim < n + 1 || x->ndim > n + 2) {
        k_fail(k, AOT_E_SHAPE, "an input with %u dimensions", x->ndim);
    }
    *w = (windows){.n = n, .planes = 1, .n_in = 1, .n_out = 1};
    for (unsigned i = 0; i + n < x->ndim; i++) {
        w->planes *= x->size[i];
    }
    for (unsigned d = 0; d < 3; d++) {
        w->in[d] = d + n < 3 ? 1 : x->size[x->ndim - 3 + d];
        w->n_in *= w->in[d];
        w->step[d] = 1;
    }
}

/* Sizes of x with the pooled dimensions replaced. */
static void outputs_of(const aot_array *x, const windows *w, int64_t *size)
{
    memcpy(size, x->size, sizeof x->size);
    for (unsigned i = 0; i < w->n; i++) {
        size[x->ndim - w->n + i] = w->out[3 - w->n + i];
    }
}

/* Room for the windows along dimension d. */
static range *ranges(aot_kern *k, windows *w, unsigned d)
{
    double n = fmax((double)w->planes, 1) * (double)w->n_out * (double)w->out[d];
    if (n > 0x1p36) {
        k_fail(k, AOT_E_RANGE, "%.3g windows", n);
    }
    w->n_out *= w->out[d];
    return k_mem(k, (size_t)(w->out[d] + 1) * sizeof(range));
}

/* The gradient of outputs has as many planes as x. */
static void need_planes(aot_kern *k, const aot_array *grad, const aot_array *x, unsigned n)
{
    if (x->ndim < n || grad->ndim != x->ndim ||
        memcmp(grad->size, x->size, (x->ndim - n) * sizeof *x->size) != 0) {
        k_fail(k, AOT_E_SHAPE, "a gradient with other planes than the input");
    }
}

static void settings(aot_kern *k, unsigned pos, unsigned n, int64_t if_none, int64_t fill,
                     int64_t out[3])
{
    int64_t v[3] = {if_none, if_none, if_none};
    k_small_ints_of(k, pos, n, if_none, 0, v);
    for (unsigned i = 0; i < 3; i++) {
        out[i] = i + n < 3 ? fill : v[i + n - 3];
    }
}

static int64_t output_size(int64_t in, int64_t kernel, int64_t pad, int64_t stride,
                           int64_t dilation, bool ceil_mode)
{
    int64_t room = in + 2 * pad - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
    int64_t n = (room < 0 ? -((-room + stride - 1) / stride) : room / stride) + 1;
    return ceil_mode && (n - 1) * stride >= in + pad ? n - 1 : n;
}

/* Fixed windows; arguments from `first` on: kernel, stride, padding; dilation at its place, 0:
 * none. */
static void fixed_windows(aot_kern *k, windows *w, unsigned first, unsigned dilation,
                          unsigned ceil_pos)
{
    int64_t kernel[3], stride[3], pad[3];
    settings(k, first, w->n, 1, 1, kernel);
    settings(k, first + 1, w->n, 0, 1, stride);
    settings(k, first + 2, w->n, 0, 0, pad);
    if (dilation != 0) {
        settings(k, dilation, w->n, 1, 1, w->step);
    }
    for (unsigned d = 0; d < 3; d++) {
        stride[d] = stride[d] == 0 ? kernel[d] : stride[d];
        if (kernel[d] < 1 || stride[d] < 1 || w->step[d] < 1 ||
            pad[d] > ((kernel[d] - 1) * w->step[d] + 1) / 2) {
            k_fail(k, AOT_E_SHAPE,
                   "windows of %" PRId64 " by steps of %" PRId64 ", dilated by %" PRId64
                   ", padded by %" PRId64,
                   kernel[d], stride[d], w->step[d], pad[d]);
        }
        w->out[d] = d + w->n < 3 ? 1
                                 : output_size(w->in[d], kernel[d], pad[d], stride[d], w->step[d],
                                               k_bool(k, ceil_pos));
        if (w->out[d] < 0) {
            k_fail(k, AOT_E_SHAPE, "windows that do not fit");
        }
        w->of[d] = ranges(k, w, d);
        for (int64_t o = 0; o < w->out[d]; o++) {
            int64_t lo = o * stride[d] - pad[d], hi = lo + (kernel[d] - 1) * w->step[d] + 1;
            int64_t far = hi < w->in[d] + pad[d] ? hi : w->in[d] + pad[d];
            range r = {lo, hi < w->in[d] ? hi : w->in[d], far - lo};
            while (r.lo < 0) {
                r.lo += w->step[d];
            }
            w->of[d][o] = r;
        }
    }
}

static void adaptive_windows(aot_kern *k, windows *w, const int64_t out[3])
{
    for (unsigned d = 0; d < 3; d++) {
        w->out[d] = d + w->n < 3 ? 1 : out[d];
        w->of[d] = ranges(k, w, d);
        for (int64_t o = 0; o < w->out[d]; o++) {
            int64_t n = w->in[d], m = w->out[d];
            range r = {o * n / m, ((o + 1) * n + m - 1) / m, 0};
            r.padded = r.hi - r.lo;
            w->of[d][o] = r;
        }
    }
}

/* Calls fn for each output of a plane with its window. */
typedef struct window {
    const range *r[3];
    int64_t out; /* flat place in the plane */
} window;
typedef void window_fn(const windows *w, const window *at, int64_t plane, void *arg);

static void plane_windows(const windows *w, int64_t plane, window_fn *fn, void *arg)
{
    for (int64_t o = 0; o < w->n_out; o++) {
        int64_t c = o % w->out[2], b = o / w->out[2] % w->out[1], a = o / w->out[2] / w->out[1];
        window at = {{&w->of[0][a], &w->of[1][b], &w->of[2][c]}, o};
        fn(w, &at, plane, arg);
    }
}

static void each_window(const windows *w, window_fn *fn, void *arg)
{
    for (int64_t p = 0; p < w->planes; p++) {
        plane_windows(w, p, fn, arg);
    }
}

#define EACH_INPUT(w, at, i)                                                                       \
    for (int64_t a_ = (at)->r[0]->lo; a_ < (at)->r[0]->hi; a_ += (w)->step[0])                     \
        for (int64_t b_ = (at)->r[1]->lo; b_ < (at)->r[1]->hi; b_ += (w)->step[1])                 \
            for (int64_t c_ = (at)->r[2]->lo, i = (a_ * (w)->in[1] + b_) * (w)->in[2] + c_;        \
                 c_ < (at)->r[2]->hi; c_ += (w)->step[2], i += (w)->step[2])

/* A new array of doubles in x's shape with the pooled dimensions replaced. */
static aot_array *image(aot_kern *k, const aot_array *x, const windows *w, aot_dtype d)
{
    int64_t size[AOT_ARRAY_MAX_NDIM];
    outputs_of(x, w, size);
    return k_new(k, d, x->ndim, size);
}

/* ---- averages -------------------------------------------------------------------------------- */

typedef struct average {
    const double *from;
    double *to;
    int64_t divisor; /* 0: the window's size */
    bool counts_padding, adaptive;
} average;

static double divisor_of(const windows *w, const window *at, const average *a)
{
    int64_t inside = 1, padded = 1;
    for (unsigned d = 0; d < 3; d++) {
        inside *= at->r[d]->hi - at->r[d]->lo;
        padded *= at->r[d]->padded;
    }
    (void)w;
    return (double)(a->divisor != 0                     ? a->divisor
                    : a->counts_padding && !a->adaptive ? padded
                                                        : inside);
}

static void average_window(const windows *w, const window *at, int64_t plane, void *arg)
{
    average *a = arg;
    const double *x = a->from + plane * w->n_in;
    double s = 0;
    EACH_INPUT(w, at, i)
    {
        s += x[i];
    }
    a->to[plane * w->n_out + at->out] = s / divisor_of(w, at, a);
}

static void spread_window(const windows *w, const window *at, int64_t plane, void *arg)
{
    average *a = arg;
    double g = a->from[plane * w->n_out + at->out] / divisor_of(w, at, a),
           *x = a->to + plane * w->n_in;
    EACH_INPUT(w, at, i)
    {
        x[i] += g;
    }
}

static void average_pool(aot_kern *k, unsigned n)
{
    aot_array *x = k_need(k, 0);
    windows w;
    begin(k, &w, x, n);
    fixed_windows(k, &w, 1, 0, 4);
    aot_array *y = image(k, x, &w, AOT_F64);
    average a = {reals_of(k, x), reals_data(y), k_int(k, 6, 0), k_bool(k, 5), false};
    each_window(&w, average_window, &a);
    k_give_as(k, 0, y, (aot_dtype)x->dtype);
}

static void average_pool_backward(aot_kern *k, unsigned n)
{
    aot_array *grad = k_need(k, 0), *x = k_need(k, 1), *dx = k_new(k, AOT_F64, x->ndim, x->size);
    windows w;
    begin(k, &w, x, n);
    fixed_windows(k, &w, 2, 0, 5);
    int64_t size[AOT_ARRAY_MAX_NDIM];
    outputs_of(x, &w, size);
    k_shape_is(k, grad, x->ndim, size);
    average a = {reals_of(k, grad), reals_data(dx), k_int(k, 7, 0), k_bool(k, 6), false};
    each_window(&w, spread_window, &a);
    k_give_as(k, 0, dx, (aot_dtype)x->dtype);
}

void kern_avg_pool2d(aot_kern *k)
{
    average_pool(k, 2);
}

void kern_avg_pool3d(aot_kern *k)
{
    average_pool(k, 3);
}

void kern_avg_pool2d_backward(aot_kern *k)
{
    average_pool_backward(k, 2);
}

void kern_avg_pool3d_backward(aot_kern *k)
{
    average_pool_backward(k, 3);
}

static void adaptive_average(aot_kern *k, unsigned n)
{
    aot_array *x = k_need(k, 0);
    windows w;
    int64_t out[3];
    begin(k, &w, x, n);
    settings(k, 1, n, 1, 1, out);
    adaptive_windows(k, &w, out);
    aot_array *y = image(k, x, &w, AOT_F64);
    average a = {reals_of(k, x), reals_data(y), 0, false, true};
    each_window(&w, average_window, &a);
    k_give_as(k, 0, y, (aot_dtype)x->dtype);
}

static void adaptive_average_backward(aot_kern *k, unsigned n)
{
    aot_array *grad = k_need(k, 0), *x = k_need(k, 1), *dx = k_new(k, AOT_F64, x->ndim, x->size);
    windows w;
    int64_t out[3] = {1, 1, 1};
    begin(k, &w, x, n);
    need_planes(k, grad, x, n);
    for (unsigned i = 0; i < n; i++) {
        out[3 - n + i] = grad->size[grad->ndim - n + i];
    }
    adaptive_windows(k, &w, out);
    average a = {reals_of(k, grad), reals_data(dx), 0, false, true};
    each_window(&w, spread_window, &a);
    k_give_as(k, 0, dx, (aot_dtype)x->dtype);
}

void kern_adaptive_avg_pool2d(aot_kern *k)
{
    adaptive_average(k, 2);
}

void kern_adaptive_avg_pool3d(aot_kern *k)
{
    adaptive_average(k, 3);
}

void kern_adaptive_avg_pool2d_backward(aot_kern *k)
{
    adaptive_average_backward(k, 2);
}

void kern_adaptive_avg_pool3d_backward(aot_kern *k)
{
    adaptive_average_backward(k, 3);
}

/* ---- maxima ---------------------------------------------------------------------------------- */

typedef struct maximum {
    const double *from;
    double *to;
    int64_t *index;
} maximum;

static void maximum_window(const windows *w, const window *at, int64_t plane, void *arg)
{
    maximum *m = arg;
    const double *x = m->from + plane * w->n_in;
    double best = -INFINITY;
    int64_t place = (at->r[0]->lo * w->in[1] + at->r[1]->lo) * w->in[2] + at->r[2]->lo;
    EACH_INPUT(w, at, i)
    {
        if (x[i] > best || x[i] != x[i]) {
            best = x[i];
            place = i;
        }
    }
    m->to[plane * w->n_out + at->out] = best;
    m->index[plane * w->n_out + at->out] = place;
}

static void maximum_pool(aot_kern *k, aot_array *x, const windows *w)
{
    aot_array *y = image(k, x, w, AOT_F64), *index = image(k, x, w, AOT_I64);
    maximum m = {reals_of(k, x), reals_data(y), (int64_t *)(void *)aot_array_data(index)};
    each_window(w, maximum_window, &m);
    k_give_as(k, 0, y, (aot_dtype)x->dtype);
    k_give_as(k, 1, index, AOT_I64);
}

static void fixed_maximum(aot_kern *k, unsigned n)
{
    aot_array *x = k_need(k, 0);
    windows w;
    begin(k, &w, x, n);
    fixed_windows(k, &w, 1, 4, 5);
    maximum_pool(k, x, &w);
}

static void adaptive_maximum(aot_kern *k, unsigned n)
{
    aot_array *x = k_need(k, 0);
    windows w;
    int64_t out[3];
    begin(k, &w, x, n);
    settings(k, 1, n, 1, 1, out);
    adaptive_windows(k, &w, out);
    maximum_pool(k, x, &w);
}

/* The gradient goes to the places that were the largest. */
static void maximum_backward(aot_kern *k, unsigned n, unsigned index_pos)
{
    aot_array *grad = k_need(k, 0), *x = k_need(k, 1), *dx = k_new(k, AOT_F64, x->ndim, x->size);
    need_planes(k, grad, x, n);
    k_shape_is(k, k_need(k, index_pos), grad->ndim, grad->size);
    const double *g = reals_of(k, grad);
    const int64_t *index = ints_of(k, k_need(k, index_pos));
    int64_t per_in = 1, per_out = 1;
    for (unsigned i = 0; i < n; i++) {
        per_in *= x->size[x->ndim - n + i];
        per_out *= grad->size[grad->ndim - n + i];
    }
    int64_t all = aot_array_numel(grad);
    for (int64_t i = 0; i < all; i++) {
        int64_t at = index[i];
        if (at >= 0 && at < per_in) {
            reals_data(dx)[i / per_out * per_in + at] += g[i];
        }
    }
    k_give_as(k, 0, dx, (aot_dtype)x->dtype);
}

void kern_max_pool2d(aot_kern *k)
{
    fixed_maximum(k, 2);
}

void kern_max_pool3d(aot_kern *k)
{
    fixed_maximum(k, 3);
}

void kern_adaptive_max_pool2d(aot_kern *k)
{
    adaptive_maximum(k, 2);
}

void kern_adaptive_max_pool3d(aot_kern *k)
{
    adaptive_maximum(k, 3);
}

void kern_max_pool2d_backward(aot_kern *k)
{
    maximum_backward(k, 2, 7);
}

void kern_max_pool3d_backward(aot_kern *k)
{
    maximum_backward(k, 3, 7);
}

void kern_adaptive_max_pool2d_backward(aot_kern *k)
{
    maximum_backward(k, 2, 2);
}

void kern_adaptive_max_pool3d_backward(aot_kern *k)
{
    maximum_backward(k, 3, 2);
}

/* ---- maxima of windows that lie at random ---------------------------------------------------- */

/* Windows of one size whose distances a number in [0, 1) shifts, computed in f32 as PyTorch does;
 * the last is at the end. */
static void random_windows(range *r, int64_t in, int64_t out, int64_t kernel, double sample,
                           bool in_f32)
{
    double step = out > 1 ? (double)(in - kernel) / (double)(out - 1) : 0;
    float step32 = out > 1 ? (float)(in - kernel) / (float)(out - 1) : 0, sample32 = (float)sample;
    for (int64_t o = 0; o < out; o++) {
        int64_t lo = in_f32
                         ? (int64_t)(((float)o + sample32) * step32) - (int64_t)(sample32 * step32)
                         : (int64_t)(((double)o + sample) * step) - (int64_t)(sample * step);
        lo = o == out - 1 ? in - kernel : lo;
        r[o] = (range){lo, lo + kernel, kernel};
    }
}

/* self, kernel_size, output_size, random_samples [N, C, n]: for two dimensions the last one's
 * number comes first. */
static void fractional_maximum(aot_kern *k, unsigned n)
{
    aot_array *x = k_need(k, 0), *samples = k_need(k, 3);
    int64_t kernel[3], out[3];
    windows w;
    begin(k, &w, x, n);
    settings(k, 1, n, 1, 1, kernel);
    settings(k, 2, n, 1, 1, out);
    need_reals(k, samples);
    const double *u = reals_of(k, samples);
    if (aot_array_numel(samples) < w.planes * n) {
        k_fail(k, AOT_E_SHAPE, "fewer random numbers than planes");
    }
    for (unsigned d = 0; d < 3; d++) {
        w.out[d] = d + n < 3 ? 1 : out[d];
        w.of[d] = ranges(k, &w, d);
        if (kernel[d] < 1 || kernel[d] > w.in[d] || w.out[d] + kernel[d] - 1 > w.in[d]) {
            k_fail(k, AOT_E_SHAPE, "windows that do not fit");
        }
    }
    aot_array *y = image(k, x, &w, AOT_F64), *index = image(k, x, &w, AOT_I64);
    maximum m = {reals_of(k, x), reals_data(y), (int64_t *)(void *)aot_array_data(index)};
    for (int64_t p = 0; p < w.planes; p++) {
        for (unsigned d = 0; d < 3; d++) {
            unsigned at = n == 2 ? 2 - d : d;
            double sample = d + n < 3 ? 0 : u[p * n + at];
            random_windows(w.of[d], w.in[d], w.out[d], kernel[d], sample,
                           aot_opmath((aot_dtype)x->dtype) == AOT_F32);
        }
        plane_windows(&w, p, maximum_window, &m);
    }
    k_give_as(k, 0, y, (aot_dtype)x->dtype);
    k_give_as(k, 1, index, AOT_I64);
}

void kern_fractional_max_pool2d(aot_kern *k)
{
    fractional_maximum(k, 2);
}

void kern_fractional_max_pool3d(aot_kern *k)
{
    fractional_maximum(k, 3);
}

void kern_fractional_max_pool2d_backward(aot_kern *k)
{
    maximum_backward(k, 2, 4);
}

void kern_fractional_max_pool3d_backward(aot_kern *k)
{
    maximum_backward(k, 3, 4);
}

/* ---- maxima with their places within the window ---------------------------------------------- */

/* Of each element of `at` [.., O1..On]: flat index into the image to place within the window, or
 * back. Positions of the arguments: kernel, stride, padding, dilation. */
static void turn_places(aot_kern *k, aot_array *at, unsigned n, const int64_t *image,
                        const unsigned pos[4], bool to_index, int64_t *out)
{
    int64_t kernel[3], stride[3], padding[3], dilation[3];
    const int64_t *v = (const int64_t *)(void *)aot_array_data(at), *size = at->size + at->ndim - n;
    k_small_ints_of(k, pos[0], n, 1, 1, kernel);
    k_small_ints_of(k, pos[1], n, 0, 0, stride);
    for (unsigned d = 0; d < n; d++) { // none: windows beside each other
        stride[d] = stride[d] == 0 ? kernel[d] : stride[d];
    }
    k_small_ints_of(k, pos[2], n, 0, 0, padding);
    k_small_ints_of(k, pos[3], n, 1, 1, dilation);
    int64_t all = aot_array_numel(at);
    for (int64_t i = 0; i < all; i++) {
        int64_t rest = v[i], where = i, unit = 1;
        out[i] = 0;
        for (unsigned d = n; d-- > 0;) {
            int64_t start = where % size[d] * stride[d] - padding[d],
                    from = to_index ? kernel[d] : image[d];
            int64_t x =
                to_index ? start + rest % from * dilation[d] : (rest % from - start) / dilation[d];
            out[i] += x * unit;
            unit *= to_index ? image[d] : kernel[d];
            rest /= from;
            where /= size[d];
        }
    }
}

/* self, kernel_size, stride, padding, dilation, ceil_mode */
void kern_low_memory_max_pool(aot_kern *k)
{
    unsigned n;
    k_ints(k, 1, &n);
    aot_array *x = k_need(k, 0), *of[2];
    aot_op_id op =
        n == 3 ? AOT_OP_aten_max_pool3d_with_indices : AOT_OP_aten_max_pool2d_with_indices;
    if (n < 2 || n > 3 || x->ndim < n) {
        k_fail(k, AOT_E_UNSUPPORTED, "windows of %u dimensions", n);
    }
    aot_xval args[] = {aot_xv_array(x), *k_arg(k, 1), *k_arg(k, 2),
                       *k_arg(k, 3),    *k_arg(k, 4), *k_arg(k, 5)};
    k_call_all(k, op, 6, args, of, 2);
    aot_array *at = k_cast_contiguous(k, of[1], AOT_I64),
              *places = k_new(k, AOT_I64, at->ndim, at->size);
    turn_places(k, at, n, x->size + x->ndim - n, (const unsigned[]){1, 2, 3, 4}, false,
                (int64_t *)(void *)aot_array_data(places));
    k_give_as(k, 0, of[0], (aot_dtype)x->dtype);
    k_give_as(k, 1, places, AOT_I8);
}

/* self, kernel_size, input_size, stride, padding, dilation */
void kern_low_memory_max_pool_indices(aot_kern *k)
{
    unsigned n;
    aot_array *at = k_cast_contiguous(k, k_need(k, 0), AOT_I64);
    const int64_t *image = k_ints(k, 2, &n);
    if (n < 1 || n > 3 || at->ndim < n) {
        k_fail(k, AOT_E_UNSUPPORTED, "windows of %u dimensions", n);
    }
    for (unsigned d = 0; d < n; d++) {
        if (image[d] < 0 || image[d] > INT32_MAX) {
            k_fail(k, AOT_E_SHAPE, "an image of size %" PRId64, image[d]);
        }
    }
    aot_array *out = k_new(k, AOT_I64, at->ndim, at->size);
    turn_places(k, at, n, image, (const unsigned[]){1, 3, 4, 5}, true,
                (int64_t *)(void *)aot_array_data(out));
    k_give_as(k, 0, out, AOT_I64);
}
