/* Sampling of images by a grid, and grids of affine maps.
 * Mirrors torch/_decomp/decompositions.py (affine_grid_generator, _grid_sampler_2d) and
 * torch/_inductor/decomposition.py (which grids are expanded to the channels). */
#include <math.h>
#include <string.h>

#include "decomp/decomp_cubic.h"
#include "decomp/decomp_parts.h"
#include "trace/tracer.h"

/* ---- affine grids ---------------------------------------------------------------------------- */

/* Places of n elements from -1 to 1, shaped to vary along dimension `dim` of `ndim`. */
static aot_tensor *axis(aot_tracer *t, const aot_tensor *theta, aot_dim n, bool corners,
                        unsigned dim, unsigned ndim)
{
    if (n.value <= 1) { /* torch.tensor(0) */
        aot_fake zero = aot_fake_new(aot_dtype_of(theta), 0, NULL, aot_device_of(theta));
        aot_tensor *number = aot_tracer_constant(t, &zero);
        aot_tracer_constant_is(t, "0");
        aot_tensor *c = AOT(t, aten_lift_fresh_copy, number);
        return AOT(t, aten_view, c, dc_ones_but(t, ndim, dim, n));
    }
    aot_value end = corners ? aot_v_int(1) : aot_v_float((double)(n.value - 1) / (double)n.value);
    aot_value start = corners ? aot_v_int(-1) : aot_v_float(-end.u.f);
    aot_tensor *r = AOT(t, aten_linspace, start, end, n, aot_v_dtype(aot_dtype_of(theta)), AOT_NONE,
                        aot_v_device(aot_device_of(theta)), aot_v_bool(false));
    return AOT(t, aten_view, r, dc_ones_but(t, ndim, dim, n));
}

/* Widens the last dimension to n with zeros so that the column stands at `at`. */
static aot_tensor *column(aot_tracer *t, aot_tensor *x, unsigned at, unsigned n)
{
    return AOT(t, aten_constant_pad_nd, x, aot_v_ints(t, 2, (int64_t[]){at, n - 1 - at}), 0.0);
}

/* affine_grid_generator(theta, size, align_corners): homogeneous coordinates times theta */
bool decomp_affine_grid_generator(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dims size = aot_x_dims(k, 1);
    unsigned n = size.n - 2; /* spatial dimensions */
    if (n != 2 && n != 3) {
        return false;
    }
    aot_dtype result = dc_opmath(k);
    aot_tensor *theta = aot_x_tensor(k, 0), *axes[4], *grid;
    for (unsigned i = 0; i < n; i++) {
        axes[i] = axis(t, theta, size.d[size.n - 1 - i], aot_x_bool(k, 2), n - 1 - i, n + 1);
    }
    aot_value one = dc_ones_but(t, n + 1, 0, aot_dim_of(1));
    axes[n] = AOT(t, aten_ones, one, aot_v_dtype(aot_dtype_of(theta)), AOT_NONE,
                  aot_v_device(aot_device_of(theta)), aot_v_bool(false));
    for (unsigned i = 0; i <= n; i++) {
        axes[i] = column(t, axes[i], i, n + 1);
    }
    grid = axes[0];
    for (unsigned i = 1; i <= n; i++) {
        grid = ADD(grid, axes[i]);
    }
    grid = AOT(t, aten_view, grid, aot_v_ints(t, 3, (int64_t[]){-1, n + 1, 1}));
    aot_tensor *map = AOT(t, aten_transpose_int, theta, -2, -1);
    map = AOT(t, aten_unsqueeze, map, 1);
    grid = MUL(grid, map);
    grid = AOT(t, aten_sum_dim_IntList, grid, aot_v_ints(t, 1, (int64_t[]){-2}));
    aot_dim shape[5] = {size.d[0]};
    for (unsigned i = 0; i < n; i++) {
        shape[1 + i] = size.d[2 + i];
    }
    shape[1 + n] = aot_dim_of(n);
    return dc_give(k, AOT(t, aten_view, grid, ((aot_dims){shape, n + 2})), result);
}

/* ---- sampling -------------------------------------------------------------------------------- */

enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct sampler {
    aot_tracer *t;
    aot_tensor *image, *batch, *channel; /* indices of the first two dimensions */
    aot_dim h, w, shape[4];              /* of the image; of one sample for all channels */
    int64_t padding;
    bool corners;
} sampler;

/* From -1 .. 1 to elements. */
static aot_tensor *to_elements(const sampler *s, aot_tensor *x, aot_dim size)
{
    aot_tracer *t = s->t;
    aot_value half = dc_arith(t, '*', aot_v_dim(size), aot_v_float(0.5)), scale = half;
    if (s->corners) {
        scale = dc_arith(t, '-', half, aot_v_float(0.5));
        half = dc_arith(t, '*', aot_v_dim(size), aot_v_float(0.5));
    }
    aot_value offset = dc_arith(t, '-', half, aot_v_float(0.5));
    x = MUL(x, scale);
    return ADD(x, offset);
}

/* Turns back at both ends, which are given as twice their value. */
static aot_tensor *reflect(const sampler *s, aot_tensor *x, int64_t low, int64_t high)
{
    aot_tracer *t = s->t;
    if (low == high) {
        return AOT(t, aten_zeros_like, x, AOT_NONE, AOT_NONE, AOT_NONE, aot_v_bool(false));
    }
    double min = (double)low / 2, span = (double)(high - low) / 2;
    x = SUB(x, min);
    x = AOT(t, aten_abs, x);
    aot_tensor *extra = AOT(t, aten_fmod_Scalar, x, span);
    aot_tensor *flips = DIV(x, span);
    flips = AOT(t, aten_floor, flips);
    flips = AOT(t, aten_to_dtype, flips, aot_v_dtype(AOT_I8));
    flips = AOT(t, aten_bitwise_and_Scalar, flips, 1);
    flips = AOT(t, aten_eq_Scalar, flips, 0);
    aot_tensor *even = ADD(extra, min), *odd = RSUB(extra, span + min);
    return WHERE(flips, even, odd);
}

static aot_tensor *within(const sampler *s, aot_tensor *x, aot_dim size)
{
    aot_tracer *t = s->t;
    if (s->padding == ZEROS) {
        return x;
    }
    if (s->padding == REFLECTION) {
        int64_t n = size.value;
        x = s->corners ? reflect(s, x, 0, 2 * (n - 1)) : reflect(s, x, -1, 2 * n - 1);
    }
    return AOT(t, aten_clamp, x, 0, dc_add(t, size, -1));
}

static aot_tensor *source(const sampler *s, aot_tensor *x, aot_dim size)
{
    return within(s, to_elements(s, x, size), size);
}

/* x inside and y inside */
static aot_tensor *in_bounds(const sampler *s, aot_tensor *x, aot_tensor *y)
{
    aot_tracer *t = s->t;
    aot_tensor *a = AOT(t, aten_ge_Scalar, x, 0), *b = AOT(t, aten_lt_Scalar, x, s->w);
    aot_tensor *c = AOT(t, aten_ge_Scalar, y, 0), *d = AOT(t, aten_lt_Scalar, y, s->h);
    c = AOT(t, aten_logical_and, c, d);
    b = AOT(t, aten_logical_and, b, c);
    return AOT(t, aten_logical_and, a, b);
}

/* The image at x and y times weight (NULL: 1), 0 outside. */
static aot_tensor *sample(const sampler *s, aot_tensor *x, aot_tensor *y, aot_tensor *weight)
{
    aot_tracer *t = s->t;
    aot_tensor *inside = in_bounds(s, x, y), *part[3] = {x, y, weight};
    for (unsigned i = 0; i < 2; i++) {
        part[i] = AOT(t, aten_to_dtype, part[i], aot_v_dtype(AOT_I64));
    }
    for (unsigned i = 0; i < 3; i++) {
        part[i] = part[i] == NULL ? AOT(t, aten_where_Scalar, inside, 1, 0)
                                  : AOT(t, aten_where_ScalarOther, inside, part[i], 0);
        part[i] = AOT(t, aten_view, part[i], ((aot_dims){s->shape, 4}));
    }
    aot_tensor *index[] = {s->batch, s->channel, part[1], part[0]};
    aot_tensor *v = AOT(t, aten_index_Tensor, s->image, aot_v_tensors(t, 4, index));
    return MUL(v, part[2]);
}

static aot_tensor *weight(aot_tracer *t, aot_tensor *a, aot_tensor *b, aot_tensor *c, aot_tensor *d)
{
    aot_tensor *x = SUB(a, b), *y = SUB(c, d);
    return MUL(x, y);
}

static aot_tensor *bilinear(const sampler *s, aot_tensor *gx, aot_tensor *gy)
{
    aot_tracer *t = s->t;
    aot_tensor *x = source(s, gx, s->w), *y = source(s, gy, s->h);
    aot_tensor *left = AOT(t, aten_floor, x), *top = AOT(t, aten_floor, y);
    aot_tensor *right = ADD(left, 1), *bottom = ADD(top, 1);
    aot_tensor *nw = weight(t, right, x, bottom, y), *ne = weight(t, x, left, bottom, y);
    aot_tensor *sw = weight(t, right, x, y, top), *se = weight(t, x, left, y, top);
    aot_tensor *sum = sample(s, left, top, nw);
    sum = dc_plus(t, sum, sample(s, right, top, ne));
    sum = dc_plus(t, sum, sample(s, left, bottom, sw));
    return dc_plus(t, sum, sample(s, right, bottom, se));
}

static aot_tensor *nearest(const sampler *s, aot_tensor *gx, aot_tensor *gy)
{
    aot_tracer *t = s->t;
    aot_tensor *x = source(s, gx, s->w), *y = source(s, gy, s->h);
    x = AOT(t, aten_round, x);
    y = AOT(t, aten_round, y);
    return sample(s, x, y, NULL);
}

/* The sum of four values weighted for a place `share` after the second. */
static aot_tensor *interpolate(aot_tracer *t, aot_tensor *const *v, aot_tensor *share)
{
    aot_tensor *c[4], *sum = NULL;
    dc_cubic_coefficients(t, share, c);
    for (unsigned i = 0; i < 4; i++) {
        sum = dc_plus(t, sum, MUL(v[i], c[i]));
    }
    return sum;
}

static aot_tensor *sample_bounded(const sampler *s, aot_tensor *x, aot_tensor *y)
{
    x = within(s, x, s->w);
    y = within(s, y, s->h);
    return sample(s, x, y, NULL);
}

static aot_tensor *bicubic(const sampler *s, aot_tensor *gx, aot_tensor *gy)
{
    aot_tracer *t = s->t;
    aot_tensor *x = to_elements(s, gx, s->w), *y = to_elements(s, gy, s->h);
    aot_tensor *left = AOT(t, aten_floor, x), *top = AOT(t, aten_floor, y);
    aot_tensor *share_x = SUB(x, left), *share_y = SUB(y, top), *row[4];
    for (int i = 0; i < 4; i++) {
        aot_tensor *at = ADD(top, i - 1), *v[4];
        v[0] = sample_bounded(s, SUB(left, 1), at);
        v[1] = sample_bounded(s, left, at);
        v[2] = sample_bounded(s, ADD(left, 1), at);
        v[3] = sample_bounded(s, ADD(left, 2), at);
        row[i] = interpolate(t, v, share_x);
    }
    return interpolate(t, row, share_y);
}

/* Whether the grid is expanded to the channels first: not for plain bilinear images on the CPU. */
static bool expands_grid(aot_tracer *t, const aot_tensor *image, int64_t mode)
{
    const char *device = aot_text(aot_tracer_ctx(t), aot_device_of(image));
    return !(strcmp(device, "cpu") == 0 && mode == BILINEAR && aot_is_contiguous(image));
}

static aot_tensor *last_item(aot_tracer *t, aot_tensor *x, int i)
{
    return AOT(t, aten_select_int, x, (int64_t)aot_ndim(x) - 1, i);
}

/* grid_sampler_2d(image, grid, interpolation_mode, padding_mode, align_corners) */
bool decomp_grid_sampler_2d(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *image = aot_x_tensor(k, 0), *grid = aot_x_tensor(k, 1);
    int64_t mode = aot_x_int(k, 2, 0);
    if (aot_ndim(image) != 4 || aot_ndim(grid) != 4) {
        return false;
    }
    aot_dim n = aot_size(image, 0), c = aot_size(image, 1), h = aot_size(grid, 1),
            w = aot_size(grid, 2);
    aot_dim one = aot_dim_of(1), two = aot_size(grid, 3);
    bool wide = expands_grid(t, image, mode);
    sampler s = {.t = t,
                 .image = image,
                 .h = aot_size(image, 2),
                 .w = aot_size(image, 3),
                 .shape = {n, wide ? c : one, h, w},
                 .padding = aot_x_int(k, 3, 0),
                 .corners = aot_x_bool(k, 4)};
    if (wide) {
        grid = AOT(t, aten_view, grid, ((aot_dims){(aot_dim[]){n, one, h, w, two}, 5}));
        grid = AOT(t, aten_expand, grid, ((aot_dims){(aot_dim[]){n, c, h, w, aot_dim_of(2)}, 5}));
    }
    s.batch = dc_arange(t, n, AOT_NO_DTYPE, image);
    s.batch = AOT(t, aten_view, s.batch, dc_ones_but(t, 4, 0, n));
    s.channel = dc_arange(t, c, AOT_NO_DTYPE, image);
    s.channel = AOT(t, aten_view, s.channel, dc_ones_but(t, 4, 1, c));
    aot_tensor *x = last_item(t, grid, 0), *y = last_item(t, grid, 1);
    aot_tensor *r = mode == BILINEAR  ? bilinear(&s, x, y)
                    : mode == NEAREST ? nearest(&s, x, y)
                                      : bicubic(&s, x, y);
    return dc_give(k, r, result);
}
