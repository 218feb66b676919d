/* Elements in memory and in computation. Kernels compute on blocks of one of three classes: double,
 * int64_t, double _Complex; these functions bring elements of any dtype there and back.
 *
 * A single operation on f32 computed in double and rounded once is what f32 arithmetic gives (for +, -,
 * *, / and square root), so results are those of PyTorch; half types round to f32 first, as PyTorch's
 * do. Integers wrap. */
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

/* 16-bit and 8-bit floats. */
float aot_half_to_float(uint16_t h);
uint16_t aot_half_of_float(float f);
float aot_f8_to_float(aot_dtype d, uint8_t v);
uint8_t aot_f8_of_float(aot_dtype d, float f);

static inline float aot_bfloat_to_float(uint16_t h)
{
    union { uint32_t u; float f; } v = {.u = (uint32_t)h << 16};
    return v.f;
}
static inline uint16_t aot_bfloat_of_float(float f)
{
    union { float f; uint32_t u; } v = {.f = f};
    return f != f ? 0x7fc0 : (uint16_t)((v.u + 0x7fff + (v.u >> 16 & 1)) >> 16);
}

#endif
