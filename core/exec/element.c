/* Conversions between elements of all dtypes and the three classes that kernels compute in. */
#include "exec/element.h"

#include <math.h>
#include <string.h>

#include "exec/vector.h"

aot_class aot_dtype_class(aot_dtype d)
{
    char kind = aot_dtype_get(d)->kind;
    return kind == 'f' ? AOT_CLASS_REAL : kind == 'c' ? AOT_CLASS_COMPLEX : AOT_CLASS_INT;
}

aot_dtype aot_opmath(aot_dtype d)
{
    return aot_dtype_get(d)->kind == 'f' && d != AOT_F64 ? AOT_F32 : d == AOT_C32 ? AOT_C64 : d;
}

/* ---- small floats ---------------------------------------------------------------------------- */

/* A binary float of few bits: e exponent bits with that bias, m of fraction. */
typedef struct small {
    int e, m, bias;
    bool has_inf;  /* the highest exponent is infinity and NaN */
    bool fnuz;     /* no negative zero: its code is the only NaN */
} small;

static small format_of(aot_dtype d)
{
    return d == AOT_F8E5M2       ? (small){5, 2, 15, true, false}
           : d == AOT_F8E4M3FN   ? (small){4, 3, 7, false, false}
           : d == AOT_F8E5M2FNUZ ? (small){5, 2, 16, false, true}
                                 : (small){4, 3, 8, false, true};
}

static float small_to_float(small s, unsigned v)
{
    unsigned sign = v >> (s.e + s.m) & 1, exponent = v >> s.m & ((1u << s.e) - 1),
             frac = v & ((1u << s.m) - 1);
    unsigned top = (1u << s.e) - 1;
    if (s.fnuz && v == 1u << (s.e + s.m)) {
        return NAN;
    }
    if (s.has_inf && exponent == top) {
        return frac != 0 ? NAN : sign ? -INFINITY : INFINITY;
    }
    if (!s.has_inf && !s.fnuz && exponent == top && frac == (1u << s.m) - 1) {
        return NAN;
    }
    double x = exponent == 0 ? ldexp((double)frac, 1 - s.bias - s.m)
                             : ldexp((double)(frac + (1u << s.m)), (int)exponent - s.bias - s.m);
    return (float)(sign ? -x : x);
}

/* Rounds to nearest, ties to even; overflow gives infinity, or NaN where there is none. */
static unsigned small_of_float(small s, float f)
{
    unsigned sign = signbit(f) ? 1u << (s.e + s.m) : 0, top = (1u << s.e) - 1;
    unsigned nan_code =
        s.fnuz ? 1u << (s.e + s.m)
               : sign | (top << s.m) | ((1u << s.m) - (s.has_inf ? 1u << (s.m - 1) : 1));
    if (isnan(f)) {
        return s.fnuz || !s.has_inf ? nan_code : sign | top << s.m | 1u << (s.m - 1);
    }
    int exponent;
    double x = fabs((double)f);
    frexp(x, &exponent);
    exponent = exponent - 1 < 1 - s.bias ? 1 - s.bias : exponent - 1;
    /* fraction with its leading bit */
    double code = isinf(x) ? INFINITY : nearbyint(ldexp(x, s.m - exponent));
    double whole = code + ldexp((double)(exponent + s.bias - 1), s.m);
    unsigned most = s.has_inf ? (top << s.m) - 1
                    : s.fnuz  ? (top << s.m) + (1u << s.m) - 1
                              : (top << s.m) + (1u << s.m) - 2;
    if (!(whole <= most)) {
        return s.has_inf ? sign | top << s.m : nan_code;
    }
    unsigned v = x == 0 ? 0 : (unsigned)whole;
    return s.fnuz && v == 0 ? 0 : sign | v;
}

float aot_f8_to_float(aot_dtype d, uint8_t v)
{
    return d == AOT_F8E8M0FNU ? v == 255 ? NAN : ldexpf(1, v - 127)
                              : small_to_float(format_of(d), v);
}

uint8_t aot_f8_of_float(aot_dtype d, float f)
{
    if (d == AOT_F8E8M0FNU) {
        int e = 0;
        float m = frexpf(f, &e);
        return !(f > 0) || isinf(f) ? 255 : (uint8_t)(e - 1 + 127 + (m > 0.75f));
    }
    return (uint8_t)small_of_float(format_of(d), f);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int64_t int_of_real(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

/* Each row: dtype, C type in memory, memory to number. */
#define REAL_TYPES(X)                                                                              \
    X(AOT_F32, float, v) X(AOT_F64, double, v) X(AOT_F16, uint16_t, aot_half_to_float(v))          \
    X(AOT_BF16, uint16_t, aot_bfloat_to_float(v))
#define INT_TYPES(X)                                                                               \
    X(AOT_I8, int8_t, v) X(AOT_I16, int16_t, v) X(AOT_I32, int32_t, v) X(AOT_I64, int64_t, v)      \
    X(AOT_U8, uint8_t, v) X(AOT_U16, uint16_t, v) X(AOT_U32, uint32_t, v) X(AOT_U64, uint64_t, v)  \
    X(AOT_B8, uint8_t, v)

/* Elements behind each other apart: that loop becomes vectors. */
#define LOAD(d_, type, expr)                                                                       \
    case d_:                                                                                       \
        for (int64_t i = 0; i < n && stride == (int64_t)sizeof(type); i++) {                       \
            type v;                                                                                \
            memcpy(&v, p + i * (int64_t)sizeof v, sizeof v);                                       \
            out[i] = TO(expr);                                                                     \
        }                                                                                          \
        for (int64_t i = 0; i < n && stride != (int64_t)sizeof(type); i++) {                       \
            type v;                                                                                \
            memcpy(&v, p + i * stride, sizeof v);                                                  \
            out[i] = TO(expr);                                                                     \
        }                                                                                          \
        break;

static void load_other_real(double *out, aot_dtype d, const char *p, int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++, p += stride) {
        float z[2] = {0};
        double w[2];
        switch (d) {
        case AOT_C64: memcpy(z, p, sizeof z); out[i] = z[0]; break;
        case AOT_C128: memcpy(w, p, sizeof w); out[i] = w[0]; break;
        case AOT_C32: {
            uint16_t h;
            memcpy(&h, p, sizeof h);
            out[i] = aot_half_to_float(h);
            break;
        }
        default: out[i] = aot_f8_to_float(d, *(const uint8_t *)p); break;
        }
    }
}

AOT_CLONES void aot_load_real(double *out, aot_dtype d, const char *p, int64_t stride, int64_t n)
{
#define TO(x) (double)(x)
    switch (d) {
    REAL_TYPES(LOAD)
    INT_TYPES(LOAD)
    default: load_other_real(out, d, p, stride, n); break;
    }
#undef TO
}

void aot_load_int(int64_t *out, aot_dtype d, const char *p, int64_t stride, int64_t n)
{
#define TO(x) (int64_t)(x)
    switch (d) {
    INT_TYPES(LOAD)
    default:
        for (int64_t i = 0; i < n; i++, p += stride) {
            out[i] = int_of_real(aot_get_real(d, p));
        }
        break;
    }
#undef TO
}

void aot_load_complex(aot_complex *out, aot_dtype d, const char *p, int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++, p += stride) {
        float z[2];
        double w[2];
        uint16_t h[2];
        switch (d) {
        case AOT_C64: memcpy(z, p, sizeof z); w[0] = z[0]; w[1] = z[1]; break;
        case AOT_C128: memcpy(w, p, sizeof w); break;
        case AOT_C32:
            memcpy(h, p, sizeof h);
            w[0] = aot_half_to_float(h[0]);
            w[1] = aot_half_to_float(h[1]);
            break;
        default: w[0] = aot_get_real(d, p); w[1] = 0; break;
        }
        out[i] = CMPLX(w[0], w[1]);
    }
}

#define STORE(d_, type, to)                                                                        \
    case d_:                                                                                       \
        for (int64_t i = 0; i < n && stride == (int64_t)sizeof(type); i++) {                       \
            type v = to(in[i]);                                                                    \
            memcpy(p + i * (int64_t)sizeof v, &v, sizeof v);                                       \
        }                                                                                          \
        for (int64_t i = 0; i < n && stride != (int64_t)sizeof(type); i++) {                       \
            type v = to(in[i]);                                                                    \
            memcpy(p + i * stride, &v, sizeof v);                                                  \
        }                                                                                          \
        break;
#define AS_FLOAT(x) (float)(x)
#define AS_DOUBLE(x) (double)(x)
#define AS_HALF(x) aot_half_of_float((float)(x))
#define AS_BFLOAT(x) aot_bfloat_of_float((float)(x))
#define AS_BOOL(x) (x) != 0
#define STORE_REALS                                                                                \
    STORE(AOT_F32, float, AS_FLOAT) STORE(AOT_F64, double, AS_DOUBLE)                              \
    STORE(AOT_F16, uint16_t, AS_HALF) STORE(AOT_BF16, uint16_t, AS_BFLOAT)                         \
    STORE(AOT_B8, uint8_t, AS_BOOL)

static void store_f8(aot_dtype d, char *p, double x)
{
    *(uint8_t *)p = aot_f8_of_float(d, (float)x);
}

/* Processors convert to 32 bits where those suffice, and what is beyond them becomes the lowest
 * such number. */
AOT_CLONES void aot_store_real(const double *in, aot_dtype d, char *p, int64_t stride, int64_t n)
{
    bool in_32_bits = aot_dtype_get(d)->bytes <= 4 && d != AOT_U32 && d != AOT_B8;
    switch (d) {
    STORE_REALS
    case AOT_C32: case AOT_C64: case AOT_C128:
        for (int64_t i = 0; i < n; i++) {
            aot_complex z = CMPLX(in[i], 0);
            aot_store_complex(&z, d, p + i * stride, 0, 1);
        }
        break;
    case AOT_F8E4M3FN:
    case AOT_F8E5M2:
    case AOT_F8E4M3FNUZ:
    case AOT_F8E5M2FNUZ:
    case AOT_F8E8M0FNU:
        for (int64_t i = 0; i < n; i++) {
            store_f8(d, p + i * stride, in[i]);
        }
        break;
    case AOT_U64:
        for (int64_t i = 0; i < n; i++) {
            uint64_t v = in[i] >= 9223372036854775808.0 && in[i] < 18446744073709551616.0
                             ? (uint64_t)in[i]
                             : (uint64_t)int_of_real(in[i]);
            memcpy(p + i * stride, &v, sizeof v);
        }
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            int64_t v = in_32_bits && !(in[i] > -2147483649.0 && in[i] < 2147483648.0)
                            ? INT32_MIN
                            : int_of_real(in[i]);
            aot_store_int(&v, d, p + i * stride, 0, 1);
        }
        break;
    }
}

#define AS_I8(x) (int8_t)(x)
#define AS_I16(x) (int16_t)(x)
#define AS_I32(x) (int32_t)(x)
#define AS_I64(x) (x)

void aot_store_int(const int64_t *in, aot_dtype d, char *p, int64_t stride, int64_t n)
{
    switch (d) {
    STORE_REALS
    STORE(AOT_I8, int8_t, AS_I8) STORE(AOT_U8, int8_t, AS_I8)
    STORE(AOT_I16, int16_t, AS_I16) STORE(AOT_U16, int16_t, AS_I16)
    STORE(AOT_I32, int32_t, AS_I32) STORE(AOT_U32, int32_t, AS_I32)
    STORE(AOT_I64, int64_t, AS_I64) STORE(AOT_U64, int64_t, AS_I64)
    default:
        for (int64_t i = 0; i < n; i++) {
            double x = (double)in[i];
            aot_store_real(&x, d, p + i * stride, 0, 1);
        }
        break;
    }
}

void aot_store_complex(const aot_complex *in, aot_dtype d, char *p, int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++, p += stride) {
        double w[2] = {creal(in[i]), cimag(in[i])};
        float z[2] = {(float)w[0], (float)w[1]};
        uint16_t h[2];
        uint8_t b = w[0] != 0 || w[1] != 0;
        switch (d) {
        case AOT_C64: memcpy(p, z, sizeof z); break;
        case AOT_C128: memcpy(p, w, sizeof w); break;
        case AOT_C32:
            h[0] = aot_half_of_float(z[0]);
            h[1] = aot_half_of_float(z[1]);
            memcpy(p, h, sizeof h);
            break;
        case AOT_B8: *p = (char)b; break;
        default: aot_store_real(w, d, p, 0, 1); break;
        }
    }
}

#define FLOAT_TYPES(X)                                                                             \
    X(AOT_F32, float, v)                                                                           \
    X(AOT_F16, uint16_t, aot_half_to_float(v)) X(AOT_BF16, uint16_t, aot_bfloat_to_float(v))

bool aot_fits_float(aot_dtype d)
{
    return d == AOT_F32 || d == AOT_F16 || d == AOT_BF16;
}

AOT_CLONES void aot_load_float(float *out, aot_dtype d, const char *p, int64_t stride, int64_t n)
{
#define TO(x) (x)
    switch (d) {
    FLOAT_TYPES(LOAD)
    default: break;
    }
#undef TO
}

AOT_CLONES void aot_store_float(const float *in, aot_dtype d, char *p, int64_t stride, int64_t n)
{
    switch (d) {
        STORE(AOT_F32, float, AS_FLOAT)
        STORE(AOT_F16, uint16_t, AS_HALF) STORE(AOT_BF16, uint16_t, AS_BFLOAT) default : break;
    }
}

double aot_round_to(aot_dtype d, double x)
{
    char room[16];
    if (d == AOT_F32) {
        return (double)(float)x;
    }
    if (d == AOT_F64) {
        return x;
    }
    aot_store_real(&x, d, room, 0, 1);
    return aot_get_real(d, room);
}
