/* Sixteen and more normal numbers at once, as PyTorch's CPU kernels make them from uniform ones.
 *
 * Box and Muller on sixteen: eight radii and eight angles give the cosines, then the sines. f32 is
 * bit-equal with PyTorch's AVX2 kernels: single-precision polynomials of Cephes (Moshier, public
 * domain), in which each product that is added to something at once is fused with the sum. f64 uses
 * the C library.
 *
 *     log x   = e ln 2 + log(1 + f),  x = 2^e (1 + f),  sqrt(1/2) <= 1 + f < sqrt 2
 *     sin, cos of the rest r of x by pi/4, |r| <= pi/4, by octant
 *
 * Mirrors: aten/src/ATen/native/cpu/DistributionTemplates.h (normal_fill, normal_fill_AVX2),
 * avx_mathfun.h. Differs: a PyTorch that runs without AVX2 (ATEN_CPU_CAPABILITY=default, other
 * processors) calls its C library's functions for f32 too; its numbers differ from these in the
 * last bits. */
#include <math.h>
#include <string.h>

#include "exec/generator.h"

enum { LOG_TERMS = 9, SIN_TERMS = 3 };

static float poly(const float *c, int n, float x)
{
    float y = c[0];
    for (int i = 1; i < n; i++) {
        y = fmaf(y, x, c[i]);
    }
    return y;
}

/* x > 0. Smaller than the least normal number counts as it. */
static float log_f32(float x)
{
    static const float c[LOG_TERMS] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                       -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                       2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    const float sqrt_half = 0.707106781186547524f, ln2_high = 0.693359375f,
                ln2_low = -2.12194440e-4f;
    uint32_t bits;
    x = x < 0x1p-126f ? 0x1p-126f : x;
    memcpy(&bits, &x, sizeof bits);
    float e = (float)((int32_t)(bits >> 23) - 126);
    bits = (bits & 0x007fffffu) | 0x3f000000u; // the fraction, from 1/2 to below 1
    memcpy(&x, &bits, sizeof x);
    float f = x < sqrt_half ? x - 1 + x : x - 1;
    e -= x < sqrt_half;
    float z = f * f, y = fmaf(poly(c, LOG_TERMS, f) * f, z, e * ln2_low);
    return fmaf(e, ln2_high, f + fmaf(-0.5f, z, y));
}

/* Of x >= 0, small: of an angle below 2 pi. */
static void sin_cos_f32(float x, float *s, float *c)
{
    static const float sin_c[SIN_TERMS] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
    static const float cos_c[SIN_TERMS] = {2.443315711809948e-5f, -1.388731625493765e-3f,
                                           4.166664568298827e-2f};
    // of -pi/4
    static const float parts[] = {-0.78515625f, -2.4187564849853515625e-4f,
                                  -3.77489497744594108e-8f};
    const float four_by_pi = 1.27323954473516f;
    int32_t octant = ((int32_t)(x * four_by_pi) + 1) & ~1;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        x = fmaf((float)octant, parts[i], x);
    }
    float z = x * x;
    float cosine = fmaf(poly(cos_c, SIN_TERMS, z) * z, z, -0.5f * z) + 1;
    float sine = fmaf(poly(sin_c, SIN_TERMS, z) * z, x, x);
    bool swaps = (octant & 2) != 0;
    *s = swaps ? cosine : sine;
    *c = swaps ? sine : cosine;
    *s = (octant & 4) != 0 ? -*s : *s;
    *c = ((octant - 2) & 4) == 0 ? -*c : *c;
}

static void sixteen_f32(float *v, float mean, float std)
{
    const float two_pi = (float)(2 * M_PI);
    for (int j = 0; j < 8; j++) {
        float r = sqrtf(-2 * log_f32(1 - v[j])), s, c;
        sin_cos_f32(two_pi * v[j + 8], &s, &c);
        v[j] = fmaf(r * c, std, mean);
        v[j + 8] = fmaf(r * s, std, mean);
    }
}

static void sixteen_f64(double *v, double mean, double std)
{
    for (int j = 0; j < 8; j++) {
        double r = sqrt(-2 * log(1 - v[j])), a = 2 * M_PI * v[j + 8];
        v[j] = fma(r * cos(a), std, mean);
        v[j + 8] = fma(r * sin(a), std, mean);
    }
}

/* Uniform numbers first, then sixteen by sixteen; of a rest the last sixteen are drawn again. */
#define FILL(name, type, uniform, sixteen)                                                         \
    void name(aot_generator *g, type *v, int64_t n, type mean, type std)                           \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            v[i] = uniform(g);                                                                     \
        }                                                                                          \
        for (int64_t i = 0; i + 16 <= n; i += 16) {                                                \
            sixteen(v + i, mean, std);                                                             \
        }                                                                                          \
        for (int64_t i = n - 16; n % 16 != 0 && i < n; i++) {                                      \
            v[i] = uniform(g);                                                                     \
        }                                                                                          \
        if (n % 16 != 0) {                                                                         \
            sixteen(v + n - 16, mean, std);                                                        \
        }                                                                                          \
    }
FILL(aot_normal_fill_f32, float, aot_uniform_f32, sixteen_f32)
FILL(aot_normal_fill_f64, double, aot_uniform_f64, sixteen_f64)
