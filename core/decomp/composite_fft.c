/* Fourier transforms as the three that exist: complex to complex, real to complex, complex to real.
 * Mirrors aten/src/ATen/native/SpectralOps.cpp. */
#include "trace/trace.h"

enum { NORM_NONE, NORM_ROOT_N, NORM_N };

static int64_t norm_of(const aot_expand *k, unsigned pos, bool forward)
{
    if (aot_x_str_is(k, pos, "ortho")) {
        return NORM_ROOT_N;
    }
    bool on_forward = aot_x_str_is(k, pos, "forward");
    return forward == on_forward ? NORM_N : NORM_NONE;
}

/* x in floating point, complex if needed. */
static aot_tensor *promoted(aot_tracer *t, aot_tensor *x, bool complex)
{
    aot_dtype d = aot_dtype_of(x), want = d;
    if (aot_is_complex(x)) {
        return x;
    }
    if (!aot_is_float(x)) {
        want = AOT_F32;
    }
    if (complex) {
        want = want == AOT_F64 ? AOT_C128 : want == AOT_F16 ? AOT_C32 : AOT_C64;
    }
    return want == d ? x : AOT(t, aten_to_dtype, x, aot_v_dtype(want));
}

/* x cut or padded with zeros to sizes along dims. */
static aot_tensor *resized(aot_tracer *t, aot_tensor *x, const int64_t *dim, const aot_dim *size,
                           unsigned n)
{
    aot_dim pad[2 * AOT_FAKE_MAX_NDIM];
    unsigned ndim = aot_ndim(x);
    bool padded = false;
    for (unsigned i = 0; i < 2 * ndim; i++) {
        pad[i] = aot_dim_of(0);
    }
    for (unsigned i = 0; i < n; i++) {
        aot_dim now = aot_size(x, dim[i]);
        if (aot_dim_is(size[i], -1)) {
            continue;
        }
        if (now.value < size[i].value) {
            padded = true;
            pad[2 * ndim - 2 * (unsigned)dim[i] - 1] = aot_trace_dim(t, '-', size[i], now);
        } else if (now.value > size[i].value) {
            x = AOT(t, aten_slice_Tensor, x, dim[i], 0, size[i]);
        }
    }
    return padded ? AOT(t, aten_constant_pad_nd, x, ((aot_dims){pad, 2 * ndim})) : x;
}

/* 2 * (size - 1), the length of a real signal by the size of its half spectrum; and back. */
static aot_dim whole(aot_tracer *t, aot_dim half)
{
    return aot_trace_dim(t, '*', aot_dim_of(2), aot_trace_dim(t, '-', half, aot_dim_of(1)));
}

static aot_dim half(aot_tracer *t, aot_dim n)
{
    return aot_trace_dim(t, '+', aot_trace_dim(t, '/', n, aot_dim_of(2)), aot_dim_of(1));
}

/* ---- one dimension --------------------------------------------------------------------------- */

static int64_t one_axis(aot_expand *k, const aot_tensor *x)
{
    if (aot_ndim(x) == 0) {
        aot_trace_fail(k->t, AOT_E_SHAPE, "a transform of a tensor without dimensions");
    }
    return (int64_t)aot_wrap_dim(k->t, aot_x_int(k, 2, -1), aot_ndim(x));
}

/* (self, n, dim, norm) */
static bool c2r(aot_expand *k, bool forward)
{
    aot_tracer *t = k->t;
    aot_tensor *x = promoted(t, aot_x_tensor(k, 0), true);
    int64_t dim = one_axis(k, x);
    aot_dim n = whole(t, aot_size(x, dim));
    if (!aot_x_is_none(k, 1)) {
        n = aot_x_dim(k, 1, 0);
        aot_dim kept = half(t, n);
        x = resized(t, x, &dim, &kept, 1);
    }
    x = forward ? AOT(t, aten__conj, x) : x;
    return aot_x_give(k,
                      AOT(t, aten__fft_c2r, x, aot_v_ints(t, 1, &dim), norm_of(k, 3, forward), n));
}

static bool r2c(aot_expand *k, bool forward, bool onesided)
{
    aot_tracer *t = k->t;
    aot_tensor *x = promoted(t, aot_x_tensor(k, 0), false);
    int64_t dim = one_axis(k, x);
    if (!aot_x_is_none(k, 1)) {
        aot_dim n = aot_x_dim(k, 1, 0);
        x = resized(t, x, &dim, &n, 1);
    }
    x = AOT(t, aten__fft_r2c, x, aot_v_ints(t, 1, &dim), norm_of(k, 3, forward), onesided);
    return aot_x_give(k, forward ? x : AOT(t, aten__conj, x));
}

static bool c2c(aot_expand *k, bool forward)
{
    aot_tracer *t = k->t;
    aot_tensor *x = promoted(t, aot_x_tensor(k, 0), true);
    int64_t dim = one_axis(k, x);
    if (!aot_x_is_none(k, 1)) {
        aot_dim n = aot_x_dim(k, 1, 0);
        x = resized(t, x, &dim, &n, 1);
    }
    return aot_x_give(
        k, AOT(t, aten__fft_c2c, x, aot_v_ints(t, 1, &dim), norm_of(k, 3, forward), forward));
}

bool composite_fft_1d(aot_expand *k)
{
    bool complex = aot_is_complex(aot_x_tensor(k, 0));
    switch (k->op) {
    case AOT_OP_aten_fft_fft:
        return complex ? c2c(k, true) : r2c(k, true, false);
    case AOT_OP_aten_fft_ifft:
        return complex ? c2c(k, false) : r2c(k, false, false);
    case AOT_OP_aten_fft_rfft:
        return r2c(k, true, true);
    case AOT_OP_aten_fft_irfft:
        return c2r(k, false);
    case AOT_OP_aten_fft_hfft:
        return c2r(k, true);
    default:
        return r2c(k, false, true); /* ihfft */
    }
}

/* ---- several dimensions ---------------------------------------------------------------------- */

typedef struct axes {
    int64_t dim[AOT_FAKE_MAX_NDIM];
    aot_dim size[AOT_FAKE_MAX_NDIM];
    unsigned n;
} axes;

/* (self, s, dim, norm): dims, or as many last ones as s has sizes, or all. */
static axes axes_of(aot_expand *k, const aot_tensor *x)
{
    axes a = {.n = aot_ndim(x)};
    aot_dims s = aot_x_dims(k, 1), d = aot_x_dims(k, 2);
    bool has_dim = !aot_x_is_none(k, 2), has_s = !aot_x_is_none(k, 1);
    a.n = has_dim ? d.n : has_s ? s.n : a.n;
    if (a.n == 0 || a.n > aot_ndim(x) || (has_s && s.n != a.n)) {
        aot_trace_fail(k->t, AOT_E_SHAPE, "%u dimensions and %u sizes for a transform of %u", a.n,
                       has_s ? s.n : a.n, aot_ndim(x));
    }
    for (unsigned i = 0; i < a.n; i++) {
        a.dim[i] = has_dim ? (int64_t)aot_wrap_dim(k->t, d.d[i].value, aot_ndim(x))
                           : (int64_t)(aot_ndim(x) - a.n + i);
        a.size[i] = has_s && !aot_dim_is(s.d[i], -1) ? s.d[i] : aot_size(x, a.dim[i]);
    }
    return a;
}

/* The length of the last dimension of a real result; a.size then has what is kept of the
 * spectrum. */
static aot_dim real_length(aot_expand *k, axes *a)
{
    aot_dims s = aot_x_dims(k, 1);
    unsigned last = a->n - 1;
    bool given = s.n > 0 && !aot_dim_is(s.d[s.n - 1], -1);
    aot_dim n = given ? s.d[s.n - 1] : whole(k->t, a->size[last]);
    a->size[last] = half(k->t, n);
    return n;
}

bool composite_fft_nd(aot_expand *k)
{
    aot_tracer *t = k->t;
    bool forward = k->op == AOT_OP_aten_fft_fftn || k->op == AOT_OP_aten_fft_fft2;
    aot_tensor *x = promoted(t, aot_x_tensor(k, 0), true);
    axes a = axes_of(k, x);
    x = resized(t, x, a.dim, a.size, a.n);
    return aot_x_give(
        k, AOT(t, aten__fft_c2c, x, aot_v_ints(t, a.n, a.dim), norm_of(k, 3, forward), forward));
}

bool composite_fft_rfftn(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = promoted(t, aot_x_tensor(k, 0), false);
    axes a = axes_of(k, x);
    x = resized(t, x, a.dim, a.size, a.n);
    return aot_x_give(
        k, AOT(t, aten__fft_r2c, x, aot_v_ints(t, a.n, a.dim), norm_of(k, 3, true), true));
}

bool composite_fft_irfftn(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = promoted(t, aot_x_tensor(k, 0), true);
    axes a = axes_of(k, x);
    aot_dim n = real_length(k, &a);
    x = resized(t, x, a.dim, a.size, a.n);
    return aot_x_give(k,
                      AOT(t, aten__fft_c2r, x, aot_v_ints(t, a.n, a.dim), norm_of(k, 3, false), n));
}

bool composite_fft_hfftn(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = promoted(t, aot_x_tensor(k, 0), true);
    axes a = axes_of(k, x);
    aot_dim n = real_length(k, &a);
    int64_t norm = norm_of(k, 3, true);
    x = resized(t, x, a.dim, a.size, a.n);
    x = a.n > 1 ? AOT(t, aten__fft_c2c, x, aot_v_ints(t, a.n - 1, a.dim), norm, true) : x;
    x = AOT(t, aten__conj, x);
    return aot_x_give(k, AOT(t, aten__fft_c2r, x, aot_v_ints(t, 1, &a.dim[a.n - 1]), norm, n));
}

bool composite_fft_ihfftn(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = promoted(t, aot_x_tensor(k, 0), false);
    axes a = axes_of(k, x);
    int64_t norm = norm_of(k, 3, false);
    x = resized(t, x, a.dim, a.size, a.n);
    x = AOT(t, aten__fft_r2c, x, aot_v_ints(t, 1, &a.dim[a.n - 1]), norm, true);
    if (a.n == 1) {
        return aot_x_give(k, AOT(t, aten__conj, x));
    }
    x = AOT(t, aten__conj_physical, x);
    return aot_x_give(k, AOT(t, aten__fft_c2c, x, aot_v_ints(t, a.n - 1, a.dim), norm, false));
}

/* fftshift, ifftshift: roll by half */
bool composite_fftshift(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims d = aot_x_dims(k, 1);
    unsigned n = aot_x_is_none(k, 1) ? aot_ndim(x) : d.n;
    int64_t dim[AOT_FAKE_MAX_NDIM], more = k->op == AOT_OP_aten_fft_ifftshift;
    aot_dim shift[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        dim[i] = aot_x_is_none(k, 1) ? i : (int64_t)aot_wrap_dim(k->t, d.d[i].value, aot_ndim(x));
        aot_dim up = aot_trace_dim(k->t, '+', aot_size(x, dim[i]), aot_dim_of(more));
        shift[i] = aot_trace_dim(k->t, '/', up, aot_dim_of(2));
    }
    return aot_x_give(k, AOT(k->t, aten_roll, x, ((aot_dims){shift, n}), aot_v_ints(k->t, n, dim)));
}

/* ---- stft ------------------------------------------------------------------------------------ */

/* stft without centring: (self, n_fft, hop_length, win_length, window, normalized, onesided,
 * return_complex) */
bool composite_stft(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *window = aot_x_tensor(k, 4);
    int64_t n_fft = aot_x_int(k, 1, 0), hop = aot_x_int(k, 2, n_fft / 4),
            win = aot_x_int(k, 3, n_fft);
    bool vector = aot_ndim(x) == 1;
    x = vector ? AOT(t, aten_unsqueeze, x, 0) : x;
    if (win < n_fft) {
        aot_dim size = aot_dim_of(win);
        int64_t left = (n_fft - win) / 2, pad[2] = {left, n_fft - win - left};
        if (window == NULL) {
            window = AOT(t, aten_ones, ((aot_dims){&size, 1}), aot_v_dtype(aot_dtype_of(x)),
                         aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(x)));
        }
        window = AOT(t, aten_constant_pad_nd, window, aot_v_ints(t, 2, pad));
    }
    x = AOT(t, aten_unfold, x, -1, n_fft, hop);
    x = window != NULL ? AOT(t, aten_mul_Tensor, x, window) : x;
    bool complex = aot_is_complex(x), onesided = aot_x_is_none(k, 6) ? !complex : aot_x_bool(k, 6);
    int64_t dim = 2, norm = aot_x_bool(k, 5) ? NORM_ROOT_N : NORM_NONE;
    x = complex ? AOT(t, aten__fft_c2c, x, aot_v_ints(t, 1, &dim), norm, true)
                : AOT(t, aten__fft_r2c, x, aot_v_ints(t, 1, &dim), norm, onesided);
    x = AOT(t, aten_transpose_, x, 1, 2);
    x = vector ? AOT(t, aten_squeeze__dim, x, 0) : x;
    bool as_complex = aot_x_is_none(k, 7) ? complex : aot_x_bool(k, 7);
    return aot_x_give(k, as_complex ? x : AOT(t, aten_view_as_real, x));
}

/* ---- istft ----------------------------------------------------------------------------------- */

/* The window of n_fft values: a shorter one is centred. */
static aot_tensor *full_window(aot_expand *k, const aot_tensor *x, int64_t n_fft)
{
    aot_tracer *t = k->t;
    aot_tensor *window = aot_x_tensor(k, 4);
    aot_dtype real = aot_dtype_of(x) == AOT_C128  ? AOT_F64
                     : aot_dtype_of(x) == AOT_C32 ? AOT_F16
                                                  : AOT_F32;
    int64_t size = aot_x_int(k, 3, n_fft), left = (n_fft - size) / 2;
    if (window == NULL) {
        window = AOT(t, aten_ones, aot_v_ints(t, 1, &size), aot_v_dtype(real), AOT_NONE,
                     aot_v_device(aot_device_of(x)), aot_v_bool(false));
    }
    int64_t pad[2] = {left, n_fft - size - left};
    return size == n_fft ? window : AOT(t, aten_constant_pad_nd, window, aot_v_ints(t, 2, pad), 0);
}

/* Frames added up where they overlap. The window's are one, and still asked for a whole batch. */
static aot_tensor *overlapped(aot_tracer *t, aot_tensor *frames, aot_dim batch, aot_dim length,
                              int64_t n_fft, int64_t hop)
{
    aot_dim size[2] = {batch, length};
    return AOT(t, aten_unfold_backward, frames, ((aot_dims){size, 2}), 1, n_fft, hop);
}

/* istft(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
 * return_complex): the frames' inverse transforms, divided by what the windows add up to */
bool composite_istft(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    int64_t n_fft = aot_x_int(k, 1, 0), hop = aot_x_int(k, 2, n_fft / 4), dim = 2;
    int64_t norm = aot_x_bool(k, 6) ? NORM_ROOT_N : NORM_N,
            start = aot_x_bool(k, 5) ? n_fft / 2 : 0;
    bool matrix = aot_ndim(x) == 2;
    bool onesided = aot_x_is_none(k, 7) ? !aot_dim_is(aot_size(x, -2), n_fft) : aot_x_bool(k, 7);
    aot_dim frames = aot_size(x, -1), steps = aot_trace_dim(t, '-', frames, aot_dim_of(1));
    aot_dim length = aot_trace_dim(t, '*', aot_dim_of(hop), steps);
    length = aot_trace_dim(t, '+', aot_dim_of(n_fft), length);
    aot_tensor *window = full_window(k, x, n_fft);
    x = matrix ? AOT(t, aten_unsqueeze, x, 0) : x;
    x = AOT(t, aten_transpose_int, x, 1, 2);
    if (aot_x_bool(k, 9)) {
        x = AOT(t, aten__fft_c2c, x, aot_v_ints(t, 1, &dim), norm, false);
    } else {
        x = onesided ? x : AOT(t, aten_slice_Tensor, x, -1, 0, n_fft / 2 + 1);
        x = AOT(t, aten__fft_c2r, x, aot_v_ints(t, 1, &dim), norm, n_fft);
    }
    aot_dim batch = aot_size(x, 0);
    int64_t row[3] = {1, 1, n_fft};
    aot_dim grid[3] = {aot_dim_of(1), frames, aot_dim_of(n_fft)};
    x = AOT(t, aten_mul_Tensor, x, AOT(t, aten_view, window, aot_v_ints(t, 3, row)));
    x = overlapped(t, x, batch, length, n_fft, hop);
    window = AOT(t, aten_expand, AOT(t, aten_pow_Tensor_Scalar, window, 2), ((aot_dims){grid, 3}));
    window = overlapped(t, window, batch, length, n_fft, hop);
    aot_dim end = aot_trace_dim(t, '-', length, aot_dim_of(start));
    end = aot_x_is_none(k, 8) ? end : aot_trace_dim(t, '+', aot_x_dim(k, 8, 0), aot_dim_of(start));
    x = AOT(t, aten_slice_Tensor, x, 1, start, end);
    window = AOT(t, aten_slice_Tensor, window, 1, start, end);
    x = AOT(t, aten_div_Tensor, x, window);
    x = matrix ? AOT(t, aten_squeeze_dim, x, 0) : x;
    if (end.value > length.value) { /* longer than the frames reach */
        aot_dim pad[2] = {aot_dim_of(0), aot_trace_dim(t, '-', end, length)};
        x = AOT(t, aten_constant_pad_nd, x, ((aot_dims){pad, 2}), 0);
    }
    return aot_x_give(k, x);
}
