/* Fourier transforms. */
#include "grad/grad.h"

static aot_tensor *c2c(const aot_each *e, aot_tensor *g, bool forward)
{
    return AOT(e->t, aten__fft_c2c, g, aot_vjp_arg(e->b, 1), aot_vjp_arg(e->b, 2), forward);
}

static int64_t last_dim(const aot_each *e)
{
    aot_dims dims = aot_vjp_dims(e->b, 1);
    return dims.n == 0 ? -1 : dims.d[dims.n - 1].value;
}

static aot_tensor *fft_c2c_self(const aot_each *e)
{
    return c2c(e, e->g, !aot_vjp_bool(e->b, 3));
}

/* One side of the spectrum: the other half's gradient is nought. */
static aot_tensor *fft_r2c_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0), *g = e->g;
    int64_t dim = last_dim(e);

    if (aot_vjp_bool(e->b, 3)) {
        unsigned at = aot_wrap_dim(t, dim, aot_ndim(g));
        aot_dim half = aot_size(g, dim), sizes[AOT_FAKE_MAX_NDIM];
        for (unsigned i = 0; i < aot_ndim(g); i++) {
            sizes[i] = i == at ? aot_size(x, dim) : aot_size(g, i);
        }
        if (aot_size(x, dim).value > half.value) {
            aot_tensor *full = AOT(t, aten_new_zeros, g, ((aot_dims){sizes, aot_ndim(g)}));
            AOT(t, aten_copy_, AOT(t, aten_slice_Tensor, full, dim, 0, half), g);
            g = full;
        }
    }
    return AOT(t, aten_real, c2c(e, g, false));
}

/* What stands for two halves counts twice. */
static aot_tensor *fft_c2r_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    int64_t dim = last_dim(e);
    aot_tensor *d = AOT(t, aten__fft_r2c, e->g, aot_vjp_arg(e->b, 1), aot_vjp_arg(e->b, 2), true);
    aot_dim twice = aot_trace_dim(t, '-', aot_size(e->g, dim), aot_size(d, dim));

    if (twice.value > 0) {
        AOT(t, aten_mul__Scalar, aot_grad_narrow(t, d, dim, aot_dim_of(1), twice), 2);
    }
    return d;
}

GRAD_EACH(vjp_fft_c2c, {0, fft_c2c_self})
GRAD_EACH(vjp_fft_r2c, {0, fft_r2c_self})
GRAD_EACH(vjp_fft_c2r, {0, fft_c2r_self})
