/* Resizing of images: nearest, linear, cubic.
 * Mirrors torch/_decomp/decompositions.py. The same functions run above autograd where the Python
 * dispatcher has a kernel for it (py_impl), so they make no difference between the two. */
#include "decomp/decomp_parts.h"
#include "decomp/decomp_cubic.h"

enum { MAX_SPATIAL = 3 };

typedef struct resize {
    aot_tensor *x;
    unsigned n; /* spatial dimensions */
    aot_dim out[MAX_SPATIAL];
    aot_value scale[MAX_SPATIAL]; /* None if not given */
} resize;

static aot_value in_size(const resize *r, unsigned d)
{
    return aot_v_dim(aot_size(r->x, (int64_t)d - r->n));
}

static bool positive(aot_value scale)
{
    return scale.kind != AOT_V_NONE && dc_number(scale) > 0;
}

/* Sizes given, and the scale of each dimension or None. */
static resize resize_to(const aot_expand *k, unsigned size_pos, unsigned scale_pos)
{
    aot_dims size = aot_x_dims(k, size_pos);
    resize r = {.x = aot_x_tensor(k, 0), .n = size.n < MAX_SPATIAL ? size.n : MAX_SPATIAL};
    if (scale_pos + r.n > k->n) {
        aot_trace_fail(k->t, AOT_E_SHAPE, "%s: a size of %u dimensions", aot_op(k->op)->name,
                       size.n);
    }
    for (unsigned i = 0; i < r.n; i++) {
        r.out[i] = size.d[i];
        r.scale[i] = k->args[scale_pos + i];
    }
    return r;
}

/* The overload with a size or scale factors: upsample_compute_output_size. */
static resize resize_by(const aot_expand *k, unsigned size_pos, unsigned factor_pos)
{
    aot_tracer *t = k->t;
    aot_value factors = k->args[factor_pos];
    aot_dims size = aot_x_dims(k, size_pos);
    resize r = {.x = aot_x_tensor(k, 0)};
    unsigned ndim = aot_ndim(r.x);
    r.n = ndim < 2 ? 0 : ndim - 2 < MAX_SPATIAL ? ndim - 2 : MAX_SPATIAL;
    bool scaled = aot_v_is_list(factors) && factors.n >= r.n;
    for (unsigned i = 0; i < r.n; i++) {
        r.scale[i] = scaled ? factors.u.items[i] : aot_v_none();
        if (i < size.n) {
            r.out[i] = size.d[i];
        } else if (scaled) {
            double f = dc_number(r.scale[i]);
            aot_dim in = aot_size(r.x, i + 2);
            r.out[i] = f == (double)(int64_t)f ? dc_times(t, in, (int64_t)f)
                                               : aot_dim_of((int64_t)((double)in.value * f));
        }
    }
    return r;
}

/* The layout of the result is that of the input, but for few channels on CUDA. */
static aot_tensor *lay_out(aot_tracer *t, aot_tensor *r, const aot_tensor *x, int64_t few)
{
    aot_memory_format format = dc_suggest_format(x);
    if (aot_text(aot_tracer_ctx(t), aot_device_of(x))[0] == 'c' &&
        aot_text(aot_tracer_ctx(t), aot_device_of(x))[1] == 'u' && aot_size(x, 1).value < few) {
        format = AOT_MF_CONTIGUOUS;
    }
    return dc_contiguous(t, r, format);
}

/* ---- nearest --------------------------------------------------------------------------------- */

static aot_tensor *nearest_index(aot_tracer *t, const resize *r, unsigned d, bool exact)
{
    aot_value in = in_size(r, d);
    aot_value whole =
        positive(r->scale[d]) ? dc_arith(t, '*', in, r->scale[d]) : aot_v_dim(r->out[d]);
    aot_value scale = dc_arith(t, '/', in, whole);
    aot_tensor *index = dc_arange(t, r->out[d], AOT_F32, r->x);
    index = ADD(index, exact ? 0.5 : 0.0);
    index = MUL(index, scale);
    index = AOT(t, aten_to_dtype, index, aot_v_dtype(AOT_I64));
    return dc_unsqueeze_to(t, index, r->n - d);
}

static bool nearest(aot_expand *k, resize r, bool exact)
{
    aot_tracer *t = k->t;
    aot_dtype result = aot_dtype_of(r.x);
    r.x = dc_to(t, r.x, dc_computation_dtype(result));
    aot_tensor *index[MAX_SPATIAL] = {NULL};
    for (unsigned d = 0; d < r.n; d++) {
        index[d] = nearest_index(t, &r, d, exact);
    }
    aot_tensor *y = AOT(t, aten__unsafe_index_Tensor, r.x, dc_indices(t, 2, r.n, index));
    if (r.n == 2) {
        y = lay_out(t, y, r.x, 4);
    }
    return dc_give(k, y, result);
}

bool decomp_upsample_nearest(aot_expand *k)
{
    return nearest(k, resize_to(k, 1, 2), false);
}

bool decomp_upsample_nearest_exact(aot_expand *k)
{
    return nearest(k, resize_to(k, 1, 2), true);
}

bool decomp_upsample_nearest_vec(aot_expand *k)
{
    return nearest(k, resize_by(k, 1, 2), false);
}

bool decomp_upsample_nearest_exact_vec(aot_expand *k)
{
    return nearest(k, resize_by(k, 1, 2), true);
}

/* ---- where an output element comes from ------------------------------------------------------ */

/* _compute_scale: elements of the input to one of the output */
static aot_value input_step(aot_tracer *t, const resize *r, unsigned d, bool corners)
{
    aot_value in = in_size(r, d), out = aot_v_dim(r->out[d]), one = aot_v_float(1.0);
    if (!corners) {
        return positive(r->scale[d]) ? aot_v_float(1.0 / dc_number(r->scale[d]))
                                     : dc_arith(t, '/', in, out);
    }
    if (r->out[d].value <= 1) {
        return aot_v_int(0);
    }
    aot_value a = dc_arith(t, '-', in, one), b = dc_arith(t, '-', out, one);
    return dc_arith(t, '/', a, b);
}

static aot_tensor *source_index(aot_tracer *t, aot_value step, aot_tensor *i, bool corners)
{
    if (corners) {
        return MUL(i, step);
    }
    i = ADD(i, 0.5);
    i = MUL(i, step);
    return SUB(i, 0.5);
}

/* torch.arange(size).to(dtype) */
static aot_tensor *places(aot_tracer *t, aot_dim size, aot_dtype dtype, const aot_tensor *x)
{
    return dc_to(t, dc_arange(t, size, AOT_NO_DTYPE, x), dtype);
}

static aot_dtype real_dtype(aot_dtype d)
{
    return dc_is_integral(d) ? AOT_F32 : d;
}

/* ---- linear ---------------------------------------------------------------------------------- */

typedef struct linear_place {
    aot_tensor *at, *lo, *hi; /* the exact place and the elements beside it */
} linear_place;

static linear_place find_linear(aot_tracer *t, const resize *r, unsigned d, aot_dtype dtype,
                                bool corners)
{
    linear_place p;
    aot_value step = input_step(t, r, d, corners);
    p.at = source_index(t, step, places(t, r->out[d], dtype, r->x), corners);
    p.at = AOT(t, aten_clamp, p.at, 0.0);
    aot_dim shape[MAX_SPATIAL];
    shape[0] = aot_size(p.at, 0);
    for (unsigned i = 1; i < r->n - d; i++) {
        shape[i] = aot_dim_of(1);
    }
    p.at = AOT(t, aten_reshape, p.at, ((aot_dims){shape, r->n - d}));
    p.lo = AOT(t, aten_to_dtype, p.at, aot_v_dtype(AOT_I64));
    p.hi = ADD(p.lo, 1);
    p.hi = AOT(t, aten_clamp, p.hi, AOT_NONE, dc_add(t, in_size(r, d).u.dim, -1));
    return p;
}

/* The 2^n neighbours, the last dimension varying fastest. */
static unsigned read_corners(aot_tracer *t, const resize *r, const linear_place *p, aot_dtype dtype,
                             aot_tensor **v)
{
    unsigned n = 1u << r->n;
    for (unsigned c = 0; c < n; c++) {
        aot_tensor *index[MAX_SPATIAL] = {NULL};
        for (unsigned d = 0; d < r->n; d++) {
            index[d] = c >> (r->n - 1 - d) & 1 ? p[d].hi : p[d].lo;
        }
        v[c] = AOT(t, aten__unsafe_index_Tensor, r->x, dc_indices(t, 2, r->n, index));
        v[c] = dc_to(t, v[c], dtype);
    }
    return n;
}

static bool linear(aot_expand *k, resize r, bool corners)
{
    aot_tracer *t = k->t;
    aot_dtype result = aot_dtype_of(r.x);
    r.x = dc_to(t, r.x, dc_computation_dtype(result));
    aot_dtype dtype = real_dtype(aot_dtype_of(r.x));
    linear_place p[MAX_SPATIAL];
    for (unsigned d = 0; d < r.n; d++) {
        p[d] = find_linear(t, &r, d, dtype, corners);
    }
    aot_tensor *v[1 << MAX_SPATIAL];
    unsigned n = read_corners(t, &r, p, dtype, v);
    for (unsigned d = r.n; d-- > 0;) {
        aot_tensor *share = SUB(p[d].at, p[d].lo);
        share = AOT(t, aten_clamp, share, 0.0, 1.0);
        share = dc_to(t, share, dtype);
        n /= 2;
        for (unsigned i = 0; i < n; i++) {
            aot_tensor *more = SUB(v[2 * i + 1], v[2 * i]);
            more = MUL(more, share);
            v[i] = ADD(v[2 * i], more);
        }
    }
    aot_tensor *y = lay_out(t, v[0], r.x, 16);
    if (dc_is_integral(aot_dtype_of(r.x))) {
        y = AOT(t, aten_round, y);
    }
    return dc_give(k, y, result);
}

/* upsample_linear1d, upsample_bilinear2d, upsample_trilinear3d */
bool decomp_upsample_linear(aot_expand *k)
{
    return linear(k, resize_to(k, 1, 3), aot_x_bool(k, 2));
}

bool decomp_upsample_linear_vec(aot_expand *k)
{
    return linear(k, resize_by(k, 1, 3), aot_x_bool(k, 2));
}

/* ---- cubic ----------------------------------------------------------------------------------- */

/* The elements one before, at, one after and two after. */
static void four_around(aot_tracer *t, aot_tensor *at, aot_tensor **out)
{
    out[0] = SUB(at, 1);
    out[1] = at;
    out[2] = ADD(at, 1);
    out[3] = ADD(at, 2);
}

static aot_tensor *read_bounded(aot_tracer *t, const resize *r, aot_tensor *y, aot_tensor *x)
{
    aot_tensor *at[2];
    at[0] = AOT(t, aten_clamp, y, 0, dc_add(t, in_size(r, 0).u.dim, -1));
    at[1] = AOT(t, aten_clamp, x, 0, dc_add(t, in_size(r, 1).u.dim, -1));
    return AOT(t, aten__unsafe_index_Tensor, r->x, dc_indices(t, 2, 2, at));
}

static bool cubic(aot_expand *k, resize r, bool corners)
{
    aot_tracer *t = k->t;
    aot_dtype result = aot_dtype_of(r.x);
    if (result == AOT_U8 || r.n != 2) {
        return false; // fixed-point arithmetic of images in bytes
    }
    r.x = dc_to(t, r.x, dc_computation_dtype(result));
    aot_dtype dtype = real_dtype(aot_dtype_of(r.x));
    aot_value step_y = input_step(t, &r, 0, corners), step_x = input_step(t, &r, 1, corners);
    aot_tensor *i = places(t, r.out[0], dtype, r.x), *j = places(t, r.out[1], dtype, r.x);
    aot_tensor *at_x = source_index(t, step_x, j, corners),
               *at_y = source_index(t, step_y, i, corners);
    at_y = AOT(t, aten_unsqueeze, at_y, -1);
    aot_tensor *x = AOT(t, aten_floor, at_x), *y = AOT(t, aten_floor, at_y);
    aot_tensor *share_y = SUB(at_y, y), *share_x = NULL;
    share_y = AOT(t, aten_clamp, share_y, 0.0, 1.0);
    share_x = SUB(at_x, x);
    share_x = AOT(t, aten_clamp, share_x, 0.0, 1.0);
    x = AOT(t, aten_to_dtype, x, aot_v_dtype(AOT_I64));
    y = AOT(t, aten_to_dtype, y, aot_v_dtype(AOT_I64));
    aot_tensor *ys[4], *xs[4], *weight_x[4], *weight_y[4], *rows = NULL;
    four_around(t, y, ys);
    four_around(t, x, xs);
    dc_cubic_coefficients(t, share_x, weight_x);
    dc_cubic_coefficients(t, share_y, weight_y);
    aot_tensor *row[4];
    for (unsigned a = 0; a < 4; a++) {
        aot_tensor *v[4], *sum = NULL;
        for (unsigned b = 0; b < 4; b++) {
            v[b] = read_bounded(t, &r, ys[a], xs[b]);
        }
        for (unsigned b = 0; b < 4; b++) {
            sum = dc_plus(t, sum, MUL(v[b], weight_x[b]));
        }
        row[a] = sum;
    }
    for (unsigned a = 0; a < 4; a++) {
        rows = dc_plus(t, rows, MUL(row[a], weight_y[a]));
    }
    return dc_give(k, dc_contiguous(t, rows, dc_suggest_format(r.x)), result);
}

bool decomp_upsample_bicubic(aot_expand *k)
{
    return cubic(k, resize_to(k, 1, 3), aot_x_bool(k, 2));
}

bool decomp_upsample_bicubic_vec(aot_expand *k)
{
    return cubic(k, resize_by(k, 1, 3), aot_x_bool(k, 2));
}

/* Antialiased ones keep their kernel: only the size is computed. */
bool decomp_upsample_aa_vec(aot_expand *k)
{
    aot_op_id op = k->op == AOT_OP_aten__upsample_bilinear2d_aa_vec
                       ? AOT_OP_aten__upsample_bilinear2d_aa
                       : AOT_OP_aten__upsample_bicubic2d_aa;
    resize r = resize_by(k, 1, 3);
    aot_value args[] = {aot_v_tensor(r.x), aot_v_dims(k->t, (aot_dims){r.out, r.n}), k->args[2],
                        r.scale[0], r.scale[1]};
    return aot_x_give_value(k, aot_call_op(k->t, op, 5, args));
}
