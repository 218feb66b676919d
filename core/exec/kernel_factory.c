/* Windows of signal processing, and ranges with their end.
 *
 * Mirrors: aten/src/ATen/native/TensorFactories.cpp, RangeFactories.cpp. */
#include <math.h>

#include "exec/kernel.h"
#include "exec/rows.h"
#include "exec/special.h"

/* ---- windows --------------------------------------------------------------------------------- */

/* Element at t of 0..1 of the window's length. */
typedef double window_fn(double t, const double *p);

static double bartlett(double t, const double *p)
{
    (void)p;
    return t <= 0.5 ? 2 * t : 2 - 2 * t;
}

static double blackman(double t, const double *p)
{
    (void)p;
    return fabs(0.08 * cos(4 * M_PI * t) - 0.5 * cos(2 * M_PI * t) + 0.42);
}

static double hamming(double t, const double *p)
{
    return p[0] - p[1] * cos(2 * M_PI * t);
}

static double kaiser(double t, const double *p)
{
    double x = 2 * t - 1;
    return sf_i0(p[0] * sqrt(fmax(0, 1 - x * x))) / sf_i0(p[0]);
}

/* periodic_pos: of that argument, 0: there is none; numbers from `first` on are the window's, dtype
 * behind them. */
static void window(aot_kern *k, window_fn *fn, unsigned periodic_pos, unsigned n_numbers,
                   const double *defaults)
{
    int64_t n = k_int(k, 0, 0);
    bool periodic = periodic_pos == 0 || k_bool(k, periodic_pos);
    unsigned dtype_pos = (periodic_pos == 0 ? 1 : 2) + n_numbers;
    double p[2] = {defaults[0], defaults[1]};
    for (unsigned i = 0; i < n_numbers; i++) {
        p[i] = k_real(k, 2 + i, p[i]);
    }
    aot_array *out = k_out(k, 0, k_dtype(k, dtype_pos, AOT_F32), 1, &n);
    put w;
    put_start(&w, out);
    for (int64_t i = 0; i < n; i++) {
        put_real(&w, n == 1 ? 1 : fn((double)i / (double)(n - 1 + periodic), p));
    }
    k_give(k, out);
}

#define WINDOW(name, fn, periodic_pos, n_numbers, ...)                                             \
    void kern_##name(aot_kern *k)                                                                  \
    {                                                                                              \
        window(k, fn, periodic_pos, n_numbers, (const double[]){__VA_ARGS__});                     \
    }
WINDOW(bartlett_window, bartlett, 0, 0, 0, 0)
WINDOW(bartlett_window_periodic, bartlett, 1, 0, 0, 0)
WINDOW(blackman_window, blackman, 0, 0, 0, 0)
WINDOW(blackman_window_periodic, blackman, 1, 0, 0, 0)
WINDOW(hamming_window, hamming, 0, 0, 0.54, 0.46)
WINDOW(hamming_window_periodic, hamming, 1, 0, 0.54, 0.46)
WINDOW(hamming_window_alpha, hamming, 1, 1, 0.54, 0.46)
WINDOW(hamming_window_alpha_beta, hamming, 1, 2, 0.54, 0.46)
WINDOW(hann_window, hamming, 0, 0, 0.5, 0.5)
WINDOW(hann_window_periodic, hamming, 1, 0, 0.5, 0.5)
WINDOW(kaiser_window, kaiser, 0, 0, 12, 0)
WINDOW(kaiser_window_periodic, kaiser, 1, 0, 12, 0)
WINDOW(kaiser_window_beta, kaiser, 1, 1, 12, 0)

/* ---- ranges ---------------------------------------------------------------------------------- */

static void range(aot_kern *k, unsigned dtype_pos, double step)
{
    double start = k_real(k, 0, 0), end = k_real(k, 1, 0);
    if (step == 0 || (end - start) / step < 0) {
        k_fail(k, AOT_E_RANGE, "from %g to %g in steps of %g", start, end, step);
    }
    int64_t n = (int64_t)floor((end - start) / step) + 1;
    aot_array *out = k_out(k, 0, k_dtype(k, dtype_pos, AOT_F32), 1, &n);
    put w;
    put_start(&w, out);
    for (int64_t i = 0; i < n; i++) {
        put_real(&w, start + (double)i * step);
    }
    k_give(k, out);
}

void kern_range(aot_kern *k) // start, end, dtype
{
    range(k, 2, 1);
}

void kern_range_step(aot_kern *k) // start, end, step, dtype
{
    range(k, 3, k_real(k, 2, 1));
}
