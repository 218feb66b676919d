/* Fourier transforms in double: factor by factor, each prime by its definition.
 *
 * Mirrors: aten/src/ATen/native/SpectralOps.cpp (_fft_c2c, _fft_r2c, _fft_c2r). */
#include <math.h>
#include <string.h>

#include "exec/kernel.h"

/* One transform of a length: its roots of unity, and room to work in. */
typedef struct transform {
    int64_t n;
    const aot_complex *root; /* root[k] = exp(sign 2 pi i k / n) */
    aot_complex *room;       /* 2 n */
} transform;

static transform transform_of(aot_kern *k, int64_t n, bool forward)
{
    aot_complex *root = k_mem(k, (size_t)(n + 1) * sizeof *root);
    for (int64_t i = 0; i < n; i++) {
        double a = 2 * M_PI * (double)i / (double)n;
        root[i] = CMPLX(cos(a), forward ? -sin(a) : sin(a));
    }
    return (transform){n, root, k_mem(k, (size_t)(2 * n + 2) * sizeof *root)};
}

static int64_t smallest_factor(int64_t n)
{
    for (int64_t p = 2; p * p <= n; p++) {
        if (n % p == 0) {
            return p;
        }
    }
    return n;
}

/* out[0..n) = transform of in[0], in[step] ...; recursion is as deep as n has factors. */
static void run(const transform *t, aot_complex *out, const aot_complex *in, int64_t n,
                int64_t step, aot_complex *room)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    int64_t p = smallest_factor(n), m = n / p, each = t->n / n;
    for (int64_t r = 0; r < p; r++) {
        run(t, room + r * m, in + r * step, m, step * p, out + r * m);
    }
    for (int64_t k = 0; k < n; k++) {
        aot_complex s = 0;
        for (int64_t r = 0; r < p; r++) {
            aot_complex w = t->root[r * k % n * each], v = room[r * m + k % m];
            s += CMPLX(creal(w) * creal(v) - cimag(w) * cimag(v),
                       creal(w) * cimag(v) + cimag(w) * creal(v));
        }
        out[k] = s;
    }
}

/* Transforms x (complex128) along a dimension, in place. */
static void along(aot_kern *k, aot_array *x, unsigned dim, bool forward)
{
    aot_array *last = k_move_last(k, x, dim);
    int64_t n = x->ndim == 0 ? 1 : x->size[dim], rows = n == 0 ? 0 : aot_array_numel(x) / n;
    transform t = transform_of(k, n, forward);
    aot_complex *in = k_mem(k, (size_t)(2 * n + 2) * sizeof *in), *out = in + n;
    int64_t at[AOT_ARRAY_MAX_NDIM] = {0};
    for (int64_t r = 0; r < rows; r++) {
        int64_t offset = 0;
        for (unsigned i = 0; i + 1 < last->ndim; i++) {
            offset += at[i] * last->stride[i];
        }
        int64_t stride = x->ndim == 0 ? 1 : last->stride[last->ndim - 1];
        aot_complex *p = (aot_complex *)(void *)aot_array_data(last) + offset;
        for (int64_t i = 0; i < n; i++) {
            in[i] = p[i * stride];
        }
        run(&t, out, in, n, 1, t.room);
        for (int64_t i = 0; i < n; i++) {
            p[i * stride] = out[i];
        }
        for (unsigned i = last->ndim > 0 ? last->ndim - 1u : 0; i-- > 0;) {
            if (++at[i] < last->size[i]) {
                break;
            }
            at[i] = 0;
        }
    }
}

/* 0: as it is, 1: by the root of the number of elements, 2: by their number. */
static void give_scaled(aot_kern *k, aot_array *x, aot_dtype d, int64_t normalization, double n)
{
    double scale = normalization == 0 ? 1 : normalization == 1 ? 1 / sqrt(n) : 1 / n;
    aot_array *out = k_out(k, 0, d, x->ndim, x->size);
    aot_array_assign(out, scale == 1 ? x : K2(k, aten_mul_Scalar, x, scale));
    k_give(k, out);
}

static aot_array *complex_copy(aot_kern *k, aot_array *x)
{
    aot_array *z = k_new(k, AOT_C128, x->ndim, x->size);
    aot_array_assign(z, x);
    return z;
}

/* Along each dimension that argument 1 lists; how many elements they have in all. */
static double along_all(aot_kern *k, aot_array *z, bool forward)
{
    unsigned n;
    double all = 1;
    const int64_t *dims = k_ints(k, 1, &n);
    for (unsigned i = 0; i < n; i++) {
        unsigned d = k_wrap(k, dims[i], z->ndim);
        all *= (double)z->size[d];
        along(k, z, d, forward);
    }
    return all;
}

void kern_fft_c2c(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *z = complex_copy(k, x);
    double all = along_all(k, z, k_bool(k, 3));
    give_scaled(k, z, (aot_dtype)x->dtype, k_int(k, 2, 0), all);
}

void kern_fft_r2c(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *z = complex_copy(k, x);
    unsigned n;
    const int64_t *dims = k_ints(k, 1, &n);
    double all = along_all(k, z, true);
    if (k_bool(k, 3) && n > 0) { // half of the last dimension says all
        unsigned d = k_wrap(k, dims[n - 1], x->ndim);
        int64_t size[AOT_ARRAY_MAX_NDIM];
        memcpy(size, z->size, sizeof size);
        size[d] = size[d] / 2 + 1;
        z = k_view(k, z, z->ndim, size, z->stride, z->offset);
    }
    give_scaled(k, z, k_complex_of((aot_dtype)x->dtype), k_int(k, 2, 0), all);
}

/* The half that is not there is the conjugate of the other. */
static aot_array *completed(aot_kern *k, const aot_array *half, unsigned dim, int64_t n)
{
    int64_t size[AOT_ARRAY_MAX_NDIM];
    memcpy(size, half->size, sizeof size);
    size[dim] = n;
    aot_array *full = k_new(k, AOT_C128, half->ndim, size);
    for (int64_t i = 0; i < n; i++) {
        bool there = i < n / 2 + 1;
        aot_array *from = k_select(k, half, dim, there ? i : n - i),
                  *to = k_select(k, full, dim, i);
        if (i == 0 || 2 * i == n) { // its imaginary part does not count
            from = K1(k, aten_real, from);
        }
        aot_array_assign(to, there ? from : K1(k, aten__conj_physical, from));
    }
    return full;
}

void kern_fft_c2r(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *z = complex_copy(k, x);
    unsigned n;
    const int64_t *dims = k_ints(k, 1, &n);
    int64_t len = k_int(k, 3, 1);
    double all = (double)len;
    for (unsigned i = 0; i + 1 < n; i++) {
        unsigned d = k_wrap(k, dims[i], x->ndim);
        all *= (double)x->size[d];
        along(k, z, d, false);
    }
    unsigned last = n > 0 ? k_wrap(k, dims[n - 1], x->ndim) : 0;
    z = completed(k, z, last, len);
    along(k, z, last, false);
    give_scaled(k, K1(k, aten_real, z), k_real_of((aot_dtype)x->dtype), k_int(k, 2, 0), all);
}
