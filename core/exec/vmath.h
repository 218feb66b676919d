/* Functions of double as straight-line arithmetic, for loops over floats: a compiler makes vectors
 * of them, which it cannot of calls. Rounded to float they give what the C library's functions of
 * double give: all floats but one in a million. NaN stays NaN. Not for results in double.
 *
 * The F_ forms give what their argument is: float by these functions, double by the C library's. */
#ifndef AOT_EXEC_VMATH_H
#define AOT_EXEC_VMATH_H

#include <math.h>
#include <stdint.h>

#include "exec/element.h"

AOT_IN_LOOPS double vm_of_bits(int64_t i)
{
    union { int64_t i; double f; } v = {.i = i};
    return v.f;
}
AOT_IN_LOOPS int64_t vm_bits(double f)
{
    union { double f; int64_t i; } v = {.f = f};
    return v.i;
}
AOT_IN_LOOPS double vm_with_sign(double x, double sign)
{
    return vm_of_bits((vm_bits(x) & INT64_MAX) | (vm_bits(sign) & INT64_MIN));
}

/* x = k log 2 + r with |r| <= log(2) / 2. *scale = 2^k; k is read from the low bits of a sum. |x|
 * <= 700. */
AOT_IN_LOOPS double vm_reduce(double x, double *scale)
{
    const double shift = 0x1.8p52, log2_hi = 0x1.62e42fefap-1, log2_lo = 0x1.cf79abc9e3b39p-40;
    double t = x * 1.4426950408889634 + shift, k = t - shift;
    *scale = vm_of_bits((int64_t)(((uint64_t)vm_bits(t) + 1023) << 52));
    return (x - k * log2_hi) - k * log2_lo;
}
/* (exp(r) - 1) / r */
AOT_IN_LOOPS double vm_expm1_part(double r)
{
    double p = 1 / 39916800.0;
    p = p * r + 1 / 3628800.0;
    p = p * r + 1 / 362880.0;
    p = p * r + 1 / 40320.0;
    p = p * r + 1 / 5040.0;
    p = p * r + 1 / 720.0;
    p = p * r + 1 / 120.0;
    p = p * r + 1 / 24.0;
    p = p * r + 1 / 6.0;
    p = p * r + 0.5;
    return p * r + 1;
}
AOT_IN_LOOPS double vm_exp(double x) /* float overflows and underflows within the limits */
{
    double scale, r;
    x = x > 200 ? 200 : x;
    x = x < -200 ? -200 : x;
    r = vm_reduce(x, &scale);
    return (vm_expm1_part(r) * r + 1) * scale;
}
AOT_IN_LOOPS double vm_tanh(double x)
{
    double scale, y = 2 * fabs(x), r, e;
    y = y > 60 ? 60 : y;
    r = vm_reduce(y, &scale);
    e = vm_expm1_part(r) * r * scale + (scale - 1); // exp(2 |x|) - 1
    return vm_with_sign(e / (e + 2), x);
}
AOT_IN_LOOPS double vm_sigmoid(double x)
{
    return 1 / (1 + vm_exp(-x));
}
/* 2^k m with m from sqrt(1/2) to sqrt(2); log m = 2 atanh((m - 1) / (m + 1)). */
AOT_IN_LOOPS double vm_log(double x)
{
    uint64_t bits = (uint64_t)vm_bits(x),
             e = (bits - 0x3fe6a09e667f3bcd) & ~(uint64_t)0xfffffffffffff;
    double m = vm_of_bits((int64_t)(bits - e)), s = (m - 1) / (m + 1), z = s * s, p = 1 / 19.0;
    // shifted without a sign: vectors have no other shift
    uint64_t biased = e + ((uint64_t)1023 << 52);
    double k = vm_of_bits((int64_t)(biased >> 52 | 0x4330000000000000)) - (0x1p52 + 1023);
    p = p * z + 1 / 17.0;
    p = p * z + 1 / 15.0;
    p = p * z + 1 / 13.0;
    p = p * z + 1 / 11.0;
    p = p * z + 1 / 9.0;
    p = p * z + 1 / 7.0;
    p = p * z + 1 / 5.0;
    p = p * z + 1 / 3.0;
    p = 2 * s + 2 * s * z * p + k * 0.6931471805599453;
    p = x == 0 ? -INFINITY : p;
    p = x < 0 ? NAN : p;
    return x == INFINITY || x != x ? x : p;
}
/* Below 1 an odd polynomial; above, 1 - exp(-x^2) q(1 / (x + 2)); from 4 on a float is 1. Both are
 * Chebyshev interpolations. */
AOT_IN_LOOPS double vm_erf(double x)
{
    double y = fabs(x);
    y = y > 4 ? 4 : y;
    double u = 2 * y * y - 1, p = -0x1.c1a515de8637ap-33, t = 12 / (y + 2) - 3,
           q = 0x1.b528f32695db8p-32;
    p = p * u + 0x1.1c6a2a4908255p-28;
    p = p * u - 0x1.429da96fb5181p-24;
    p = p * u + 0x1.4864d6bda3458p-20;
    p = p * u - 0x1.2639920bc06b9p-16;
    p = p * u + 0x1.c82aa346d1b99p-13;
    p = p * u - 0x1.2b902b7b1a38cp-9;
    p = p * u + 0x1.454368013bc4dp-6;
    p = p * u - 0x1.1fd1629215218p-3;
    p = p * u + 0x1.ee51eb23cb88cp-1;
    q = q * t - 0x1.21d390e931b69p-27;
    q = q * t + 0x1.ccd3efe39aff3p-28;
    q = q * t + 0x1.e1a9ffbdeb9a4p-22;
    q = q * t - 0x1.37f24e7f24ddcp-20;
    q = q * t - 0x1.e31daef4e48fap-16;
    q = q * t + 0x1.8296fdcbab0bfp-15;
    q = q * t + 0x1.7f6729af24310p-9;
    q = q * t + 0x1.b7ece195d7feep-6;
    q = q * t + 0x1.23a0234a9bc25p-3;
    q = q * t + 0x1.058671b52c776p-2;
    return vm_with_sign(y < 1 ? y * p : 1 - vm_exp(-y * y) * q, x);
}

AOT_IN_LOOPS double vm_libm_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
#define VM_FLOAT(name)                                                                             \
    AOT_IN_LOOPS float vm_##name##_f32(float x)                                                   \
    {                                                                                              \
        return (float)vm_##name((double)x);                                                        \
    }
VM_FLOAT(exp)
VM_FLOAT(log)
VM_FLOAT(tanh)
VM_FLOAT(erf)
VM_FLOAT(sigmoid)
#define F_EXP(x) _Generic((x), float: vm_exp_f32, default: exp)(x)
#define F_LOG(x) _Generic((x), float: vm_log_f32, default: log)(x)
#define F_TANH(x) _Generic((x), float: vm_tanh_f32, default: tanh)(x)
#define F_ERF(x) _Generic((x), float: vm_erf_f32, default: erf)(x)
#define F_SIGMOID(x) _Generic((x), float: vm_sigmoid_f32, default: vm_libm_sigmoid)(x)

#endif
