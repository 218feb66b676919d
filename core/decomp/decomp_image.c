/* Decompositions of padding, shuffling and sampling of images.
 * Mirrors torch/_decomp/decompositions.py, torch/_refs/nn/functional and
 * torch/_inductor/decomposition.py (grid_sampler_2d). */
#include <string.h>

#include "decomp/decomp_cubic.h"
#include "decomp/decomp_parts.h"

/* ---- cubic weights --------------------------------------------------------------------------- */

static const double A = -0.75;

/* ((A + 2) x - (A + 3)) x x + 1: for distances up to 1 */
static aot_tensor *near(aot_tracer *t, aot_tensor *x)
{
    aot_tensor *r = MUL(x, A + 2);
    r = SUB(r, A + 3);
    r = MUL(r, x);
    r = MUL(r, x);
    return ADD(r, 1);
}

/* ((A x - 5 A) x + 8 A) x - 4 A: for distances from 1 to 2 */
static aot_tensor *far(aot_tracer *t, aot_tensor *x)
{
    aot_tensor *r = MUL(x, A);
    r = SUB(r, 5 * A);
    r = MUL(r, x);
    r = ADD(r, 8 * A);
    r = MUL(r, x);
    return SUB(r, 4 * A);
}

void dc_cubic_coefficients(aot_tracer *t, aot_tensor *share, aot_tensor **out)
{
    if (strncmp(aot_text(aot_tracer_ctx(t), aot_device_of(share)), "cpu", 3) == 0) {
        aot_tensor *a[] = {share, RSUB(share, 1.0)};
        aot_tensor *inner = AOT(t, aten_stack, aot_v_tensors(t, 2, a), 0);
        a[0] = ADD(share, 1.0);
        a[1] = RSUB(share, 2.0);
        aot_tensor *outer = AOT(t, aten_stack, aot_v_tensors(t, 2, a), 0);
        outer = far(t, outer);
        inner = near(t, inner);
        aot_value far_two = AOT_V(t, aten_unbind_int, outer, 0);
        aot_value near_two = AOT_V(t, aten_unbind_int, inner, 0);
        out[0] = aot_v_item(far_two, 0);
        out[1] = aot_v_item(near_two, 0);
        out[2] = aot_v_item(near_two, 1);
        out[3] = aot_v_item(far_two, 1);
        return;
    }
    out[0] = far(t, ADD(share, 1.0));
    out[1] = near(t, share);
    out[2] = near(t, RSUB(share, 1.0));
    out[3] = far(t, RSUB(share, 2.0));
}

/* ---- shuffles -------------------------------------------------------------------------------- */

bool decomp_channel_shuffle(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dim groups = aot_x_dim(k, 1, 1), channels = aot_size(x, 1);
    bool cuda = strncmp(aot_text(aot_tracer_ctx(t), aot_device_of(x)), "cuda", 4) == 0;
    if (dc_is_empty(x) ||
        (cuda && (aot_dim_eq(groups, aot_dim_of(1)) || aot_dim_eq(groups, channels)))) {
        return aot_x_give(k, AOT(t, aten_view, x, aot_sizes(x)));
    }
    aot_dim split[] = {groups, dc_dim(t, '/', channels, groups)};
    aot_tensor *r = AOT(t, aten_reshape, x, dc_reshaped(t, x, 1, 1, 2, split));
    r = AOT(t, aten_transpose_int, r, 1, 2);
    r = AOT(t, aten_reshape, r, aot_sizes(x));
    return aot_x_give(k, dc_contiguous(t, r, AOT_MF_CONTIGUOUS));
}

/* A permutation of n leading dimensions that stay and five that follow in the given order. */
static aot_value permutation(aot_tracer *t, unsigned n, const unsigned *five)
{
    int64_t d[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n + 5; i++) {
        d[i] = i < n ? i : n + five[i - n];
    }
    return aot_v_ints(t, n + 5, d);
}

static bool finish_shuffle(aot_expand *k, aot_tensor *r, unsigned n, const unsigned *order,
                           const aot_dim *size)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    r = AOT(t, aten_permute, r, permutation(t, n, order));
    r = AOT(t, aten_reshape, r, dc_reshaped(t, x, n, 3, 3, size));
    return aot_x_give(k, dc_clone(t, r, dc_suggest_format(x)));
}

bool decomp_pixel_shuffle(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    int64_t f = aot_x_int(k, 1, 1);
    dc_need_ndim(t, x, 3);
    if (f < 1 || f > INT16_MAX) {
        return false;
    }
    unsigned n = aot_ndim(x) - 3;
    aot_dim c = dc_dim(t, '/', aot_size(x, -3), aot_dim_of(f * f));
    aot_dim split[] = {c, aot_dim_of(f), aot_dim_of(f), aot_size(x, -2), aot_size(x, -1)};
    aot_dim size[] = {c, dc_times(t, aot_size(x, -2), f), dc_times(t, aot_size(x, -1), f)};
    aot_tensor *r = AOT(t, aten_view, x, dc_reshaped(t, x, n, 3, 5, split));
    return finish_shuffle(k, r, n, (const unsigned[]){0, 3, 1, 4, 2}, size);
}

bool decomp_pixel_unshuffle(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    int64_t f = aot_x_int(k, 1, 1);
    dc_need_ndim(t, x, 3);
    if (f < 1 || f > INT16_MAX) {
        return false;
    }
    unsigned n = aot_ndim(x) - 3;
    aot_dim c = dc_times(t, aot_size(x, -3), f * f);
    aot_dim h = dc_dim(t, '/', aot_size(x, -2), aot_dim_of(f));
    aot_dim w = dc_dim(t, '/', aot_size(x, -1), aot_dim_of(f));
    aot_dim split[] = {aot_size(x, -3), h, aot_dim_of(f), w, aot_dim_of(f)}, size[] = {c, h, w};
    aot_tensor *r = AOT(t, aten_view, x, dc_reshaped(t, x, n, 3, 5, split));
    return finish_shuffle(k, r, n, (const unsigned[]){0, 2, 4, 1, 3}, size);
}

/* ---- padding --------------------------------------------------------------------------------- */

/* The padding before and after dimension i of n, which the argument lists from the last one on. */
static aot_dim before(aot_dims pad, unsigned n, unsigned i)
{
    return pad.d[2 * (n - 1 - i)];
}

static aot_dim after(aot_dims pad, unsigned n, unsigned i)
{
    return pad.d[2 * (n - 1 - i) + 1];
}

/* Which element of a dimension of `size` stands at each place of the padded one. */
static aot_tensor *padded_index(aot_tracer *t, aot_dim lo, aot_dim size, aot_dim hi, bool reflect,
                                const aot_tensor *x)
{
    aot_tensor *i =
        dc_arange_from(t, aot_trace_dim(t, '~', lo, lo), dc_dim(t, '+', size, hi), AOT_NO_DTYPE, x);
    aot_dim last = dc_add(t, size, -1);
    if (!reflect) {
        return AOT(t, aten_clamp, i, 0, last);
    }
    i = AOT(t, aten_abs, i);
    i = RSUB(i, last);
    i = AOT(t, aten_abs, i);
    return RSUB(i, last);
}

/* reflection_pad and replication_pad of one to three dimensions */
static bool pad_by_index(aot_expand *k, bool reflect)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *x = aot_x_tensor(k, 0), *r = x;
    aot_dims pad = aot_x_dims(k, 1);
    dc_need_ndim(t, x, pad.n / 2);
    unsigned n = pad.n / 2, outer = aot_ndim(x) - n;
    for (unsigned i = 0; i < n; i++) {
        aot_tensor *index[AOT_FAKE_MAX_NDIM] = {NULL};
        index[outer + i] = padded_index(t, before(pad, n, i), aot_size(x, outer + i),
                                        after(pad, n, i), reflect, x);
        r = AOT(t, aten__unsafe_index_Tensor, r, aot_v_tensors(t, aot_ndim(x), index));
    }
    return dc_give(k, dc_contiguous(t, r, dc_suggest_format(r)), result);
}

bool decomp_reflection_pad(aot_expand *k)
{
    return pad_by_index(k, true);
}

bool decomp_replication_pad(aot_expand *k)
{
    return pad_by_index(k, false);
}

/* One dimension of a reflected gradient: where an element of the input went to in the middle,
 * before and after it, and from where to where that holds. */
typedef struct reflection {
    aot_tensor *place[3]; /* middle, before, after */
    aot_tensor *on[3];    /* what the range is of */
    aot_dim lo[3], hi[3];
} reflection;

static aot_tensor *in_range(aot_tracer *t, const reflection *r, unsigned which)
{
    aot_tensor *a = AOT(t, aten_ge_Scalar, r->on[which], r->lo[which]);
    aot_tensor *b = AOT(t, aten_le_Scalar, r->on[which], r->hi[which]);
    return AOT(t, aten_logical_and, a, b);
}

/* The gradient read where the chosen parts of all dimensions say. */
static aot_tensor *read_area(aot_expand *k, const reflection *r, unsigned n, const unsigned *which,
                             aot_tensor **index)
{
    aot_tracer *t = k->t;
    aot_tensor *cond = NULL, *at[AOT_FAKE_MAX_NDIM], *one[AOT_FAKE_MAX_NDIM];
    unsigned ndim = aot_ndim(aot_x_tensor(k, 1));
    for (unsigned i = 0; i < n; i++) {
        one[i] = in_range(t, &r[i], which[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        cond = i == 0 ? one[0] : AOT(t, aten_logical_and, cond, one[i]);
    }
    for (unsigned i = 0; i < ndim; i++) {
        at[i] = i < ndim - n ? index[i] : r[i - (ndim - n)].place[which[i - (ndim - n)]];
    }
    return AOT(t, aten__unsafe_masked_index, k->args[0], cond, aot_v_tensors(t, ndim, at), 0.0);
}

static bool empty_area(const reflection *r, unsigned n, const unsigned *which)
{
    bool empty = false;
    for (unsigned i = 0; i < n; i++) {
        aot_dim lo = r[i].lo[which[i]], hi = r[i].hi[which[i]];
        empty = empty || (lo.expr == 0 && hi.expr == 0 && hi.value < lo.value);
    }
    return empty;
}

static void find_reflections(aot_expand *k, reflection *r, unsigned n, aot_tensor **index)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 1);
    aot_dims pad = aot_x_dims(k, 2);
    unsigned outer = aot_ndim(x) - n;
    for (unsigned i = 0; i < n; i++) {
        r[i].on[0] = r[i].place[0] = ADD(index[outer + i], before(pad, n, i));
    }
    for (unsigned i = 0; i < n; i++) {
        r[i].place[1] = RSUB(index[outer + i], before(pad, n, i));
    }
    for (unsigned i = 0; i < n; i++) {
        aot_dim last = dc_add(t, aot_size(x, outer + i), -1), lo = before(pad, n, i),
                hi = after(pad, n, i);
        aot_dim end = dc_dim(t, '+', dc_times(t, last, 2), lo);
        r[i].place[2] = RSUB(index[outer + i], end);
        r[i].on[1] = r[i].on[2] = index[outer + i];
        r[i].lo[0] = aot_dim_of(0);
        r[i].hi[0] = dc_dim(t, '+', dc_dim(t, '+', last, lo), hi);
        r[i].lo[1] = aot_dim_of(1);
        r[i].hi[1] = lo;
        r[i].lo[2] = dc_dim(t, '-', last, hi);
        r[i].hi[2] = dc_add(t, last, -1);
    }
}

/* Sums what each element of the input was copied to: the middle, then every other area. */
bool decomp_reflection_pad_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 1), *index[AOT_FAKE_MAX_NDIM];
    unsigned n = aot_x_dims(k, 2).n / 2, ndim = aot_ndim(x), areas = 1;
    dc_need_ndim(t, x, n);
    for (unsigned i = 0; i < ndim; i++) {
        index[i] = dc_arange(t, aot_size(x, i), AOT_NO_DTYPE, x);
        index[i] = AOT(t, aten_view, index[i], dc_ones_but(t, ndim, i, aot_dim_of(-1)));
    }
    reflection r[3] = {{{NULL}, {NULL}, {{0}}, {{0}}}};
    unsigned which[3] = {0};
    if (n > 3) {
        return false;
    }
    find_reflections(k, r, n, index);
    aot_tensor *grad = read_area(k, r, n, which, index);
    for (unsigned i = 0; i < n; i++) {
        areas *= 3;
    }
    static const unsigned order[] = {1, 0, 2}; // before, middle, after
    for (unsigned a = 0; a < areas; a++) {
        bool middle = true;
        for (unsigned i = n, rest = a; i-- > 0; rest /= 3) {
            which[i] = order[rest % 3];
            middle = middle && which[i] == 0;
        }
        if (!middle && !empty_area(r, n, which)) {
            aot_tensor *more = read_area(k, r, n, which, index);
            grad = ADD(grad, more);
        }
    }
    return aot_x_give(k, grad);
}
