/* Elements in memory and in computation. Kernels compute on blocks of one of three classes: double,
 * int64_t, double _Complex; these functions bring elements of any dtype there and back.
 *
 * A single operation on f32 computed in double and rounded once is what f32 arithmetic gives (for
 * +, -, *, / and square root), so results are those of PyTorch; half types round to f32 first, as
 * PyTorch's do. Integers wrap. */
#ifndef AOT_EXEC_ELEMENT_H
#define AOT_EXEC_ELEMENT_H

#include <complex.h>
#undef complex /* a name like any other here */
#undef I

#include "ir/graph.h"

typedef enum aot_class { AOT_CLASS_REAL, AOT_CLASS_INT, AOT_CLASS_COMPLEX } aot_class;
typedef double _Complex aot_complex;
#ifndef CMPLX /* clang with an older C library */
static inline aot_complex aot_complex_of(double re, double im)
{
    union { double parts[2]; aot_complex z; } v = {.parts = {re, im}};
    return v.z;
}
#define CMPLX(re, im) aot_complex_of((re), (im))
#endif

aot_class aot_dtype_class(aot_dtype d);
/* n elements from p on, stride bytes apart. stride may be 0. */
void aot_load_real(double *out, aot_dtype d, const char *p, int64_t stride, int64_t n);
void aot_load_int(int64_t *out, aot_dtype d, const char *p, int64_t stride, int64_t n);
void aot_load_complex(aot_complex *out, aot_dtype d, const char *p, int64_t stride, int64_t n);
/* The same the other way round. Reals become integers as C casts do, with the lowest integer where
 * that has no meaning; complex ones lose their imaginary part. */
void aot_store_real(const double *in, aot_dtype d, char *p, int64_t stride, int64_t n);
void aot_store_int(const int64_t *in, aot_dtype d, char *p, int64_t stride, int64_t n);
void aot_store_complex(const aot_complex *in, aot_dtype d, char *p, int64_t stride, int64_t n);
/* The same in float, of dtypes whose numbers are floats: f32 and half types. */
bool aot_fits_float(aot_dtype d);
void aot_load_float(float *out, aot_dtype d, const char *p, int64_t stride, int64_t n);
void aot_store_float(const float *in, aot_dtype d, char *p, int64_t stride, int64_t n);
/* x as a dtype holds it; of integer dtypes truncated, bool: whether it is not 0. */
double aot_round_to(aot_dtype d, double x);
/* What PyTorch computes with: f32 for half types. */
aot_dtype aot_opmath(aot_dtype d);

static inline double aot_get_real(aot_dtype d, const char *p)
{
    double x;
    aot_load_real(&x, d, p, 0, 1);
    return x;
}
static inline int64_t aot_get_int(aot_dtype d, const char *p)
{
    int64_t x;
    aot_load_int(&x, d, p, 0, 1);
    return x;
}

/* A function that is to be part of a loop, whatever its size: a call would keep the loop from
 * becoming vectors. */
#ifdef __GNUC__
#define AOT_IN_LOOPS static inline __attribute__((always_inline))
#else
#define AOT_IN_LOOPS static inline
#endif

/* 8-bit and 16-bit floats: without branches, so that loops over them become vectors. */
float aot_f8_to_float(aot_dtype d, uint8_t v);
uint8_t aot_f8_of_float(aot_dtype d, float f);

AOT_IN_LOOPS uint32_t aot_bits_of_float(float f)
{
    union { float f; uint32_t u; } v = {.f = f};
    return v.u;
}
AOT_IN_LOOPS float aot_float_of_bits(uint32_t u)
{
    union { uint32_t u; float f; } v = {.u = u};
    return v.f;
}
/* The exponent is moved; subnormal numbers are what is left of a sum with the smallest normal
 * one. */
AOT_IN_LOOPS float aot_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, u = (uint32_t)(h & 0x7fff) << 13,
             exponent = u & 0x0f800000;
    uint32_t normal = u + (exponent == 0x0f800000 ? 0x70000000 : 0x38000000);
    uint32_t small = aot_bits_of_float(aot_float_of_bits(u + 0x38800000) - 0x1p-14f);
    return aot_float_of_bits(sign | (exponent == 0 ? small : normal));
}
/* Rounds to nearest, ties to even; what would be subnormal is rounded by a sum whose last bit is
 * theirs. */
AOT_IN_LOOPS uint16_t aot_half_of_float(float f)
{
    uint32_t u = aot_bits_of_float(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    uint32_t normal = (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13;
    uint32_t small = aot_bits_of_float(aot_float_of_bits(a) + 0.5f) - 0x3f000000;
    uint32_t h = a > 0x7f800000    ? 0x7e00
                 : a >= 0x477ff000 ? 0x7c00
                 : a < 0x38800000  ? small
                                   : normal;
    return (uint16_t)(sign | h);
}
AOT_IN_LOOPS float aot_bfloat_to_float(uint16_t h)
{
    return aot_float_of_bits((uint32_t)h << 16);
}
AOT_IN_LOOPS uint16_t aot_bfloat_of_float(float f)
{
    uint32_t u = aot_bits_of_float(f);
    return f != f ? 0x7fc0 : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#endif
