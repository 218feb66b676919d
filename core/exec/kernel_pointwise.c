/* Element-wise kernels: the functions behind the expressions of ops/kernels_pointwise.def, and
 * those with further arguments.
 *
 * Mirrors: aten/src/ATen/native/cpu/UnaryOpsKernel.cpp, BinaryOpsKernel.cpp. */
#include <math.h>
#include <string.h>

#include "exec/kernel.h"
#include "exec/special.h"
#include "exec/vmath.h"
#include "exec/vector.h"

/* ---- helpers of expressions ------------------------------------------------------------------ */

/* Without C's recovery of infinities from NaN, which PyTorch's product does not do. */
static aot_complex cx_mul(aot_complex z, aot_complex w)
{
    double a = creal(z), b = cimag(z), c = creal(w), d = cimag(w);
    return CMPLX(a * c - b * d, a * d + b * c);
}

static aot_complex cx_div(aot_complex z, aot_complex w)
{
    double a = creal(z), b = cimag(z), c = creal(w), d = cimag(w),
           scale = 1 / fmax(fabs(c), fabs(d));
    if (c == 0 && d == 0) { // infinities, or NaN
        return CMPLX(a / fabs(c), b / fabs(d));
    }
    c *= scale;
    d *= scale;
    double n = c * c + d * d;
    return CMPLX((a * c + b * d) / n * scale, (b * c - a * d) / n * scale);
}

static aot_complex cx_pow(aot_complex z, aot_complex w)
{
    return w == 0 ? 1 : z == 0 ? 0 : w == 1 ? z : w == 2 ? cx_mul(z, z) : cpow(z, w);
}

static double pw_mod(double x, double y)
{
    double m = fmod(x, y);
    return m != 0 && (m < 0) != (y < 0) ? m + y : m;
}

/* Squares and cubes as products, which PyTorch's are. */
static double pw_pow(double x, double y)
{
    return y == 2 ? x * x : y == 3 ? x * x * x : pow(x, y);
}

static int64_t pw_imod(int64_t i, int64_t j)
{
    if (j == 0 || j == -1) {
        return 0;
    }
    int64_t m = i % j;
    return m != 0 && (m < 0) != (j < 0) ? m + j : m;
}

static int64_t pw_ipow(int64_t i, int64_t n)
{
    uint64_t r = 1, b = (uint64_t)i;
    if (n < 0) {
        return i == 1 ? 1 : i == -1 ? (n & 1) != 0 ? -1 : 1 : 0;
    }
    for (; n > 0; n >>= 1, b *= b) {
        r *= (n & 1) != 0 ? b : 1;
    }
    return (int64_t)r;
}

static int64_t pw_gcd(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a, y = b < 0 ? -(uint64_t)b : (uint64_t)b;
    while (y != 0) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    return (int64_t)x;
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct forms {
    aot_block_fn *real, *complex, *integer, *f32;
    aot_promote promote;
    bool test; /* the result is bool */
} forms;

/* What integer expressions may ask of their dtype. */
typedef struct int_facts {
    bool is_bool;
    int64_t bits;
} int_facts;

static void run_forms(aot_kern *k, const forms *f, unsigned n)
{
    aot_array *in[2] = {k_need(k, 0), n > 1 ? k_need(k, 1) : NULL};
    aot_dtype d = k_promote(k, (1u << n) - 1);
    d = f->promote == AOT_PROMOTE_INT_TO_FLOAT                             ? k_to_float(d)
        : f->promote == AOT_PROMOTE_BOOL_TO_LONG && d == AOT_B8 ? AOT_I64
                                                              : d;
    aot_class c = aot_dtype_class(d);
    aot_block_fn *fn = c == AOT_CLASS_REAL      ? f->real
                       : c == AOT_CLASS_COMPLEX ? f->complex
                                                : f->integer;
    if (fn == NULL && c == AOT_CLASS_INT && f->real != NULL) {
        c = AOT_CLASS_REAL; // of integers: computed in reals
        fn = f->real;
        d = AOT_F32;
    }
    if (fn == NULL) {
        k_fail(k, AOT_E_UNSUPPORTED, "not implemented for %s", aot_dtype_get(d)->torch_name);
    }
    int_facts facts = {d == AOT_B8, 8 * aot_dtype_get(d)->bytes};
    aot_array *out = k_broadcast_out(k, f->test ? AOT_B8 : d, n, in);
    if (c == AOT_CLASS_REAL && f->f32 != NULL && aot_opmath(d) == AOT_F32) {
        k_pointwise_f32(k, out, d, n, in, f->f32, &facts);
    } else {
        k_pointwise(k, out, f->test ? AOT_CLASS_INT : c, d, n, in, fn, &facts);
    }
    k_give(k, out);
}

#define LOOP1(name, type, result, var, expr)                                                       \
    static void name(const void *arg, void *out, void *const *in, int64_t n)                       \
    {                                                                                              \
        const bool is_bool = ((const int_facts *)arg)->is_bool;                                    \
        const type *a = in[0];                                                                     \
        result *o = out;                                                                           \
        (void)is_bool;                                                                             \
        for (int64_t at_ = 0; at_ < n; at_++) {                                                    \
            type var = a[at_];                                                                     \
            (void)var;                                                                             \
            o[at_] = (expr);                                                                       \
        }                                                                                          \
    }
#define LOOP2(name, type, result, var, war, expr)                                                  \
    static void name(const void *arg, void *out, void *const *in, int64_t n)                       \
    {                                                                                              \
        const int64_t bits = ((const int_facts *)arg)->bits;                                       \
        const type *a = in[0], *b = in[1];                                                         \
        result *o = out;                                                                           \
        (void)bits;                                                                                \
        for (int64_t at_ = 0; at_ < n; at_++) {                                                    \
            type var = a[at_], war = b[at_];                                                       \
            o[at_] = (expr);                                                                       \
        }                                                                                          \
    }
/* The same expression of doubles and of floats: a sum, product or quotient of floats is what
 * doubles rounded once give; functions are those of double in both (F_: vmath.h). */
#define REAL1(op, result, result32, var, expr)                                                     \
    LOOP1(real_##op, double, result, var, expr)                                                    \
    AOT_CLONES LOOP1(f32_##op, float, result32, var, expr)
#define REAL2(op, result, result32, var, war, expr)                                                \
    LOOP2(real_##op, double, result, var, war, expr)                                               \
    AOT_CLONES LOOP2(f32_##op, float, result32, var, war, expr)
#define FORM(op, n_, promotion, test_, ...)                                                        \
    void kern_##op(aot_kern *k)                                                                    \
    {                                                                                              \
        static const forms f = {.promote = AOT_PROMOTE_##promotion, .test = test_, __VA_ARGS__};   \
        run_forms(k, &f, n_);                                                                      \
    }
#define UNARY_R(op, p, r)                                                                          \
    REAL1(op, double, float, x, r) FORM(op, 1, p, false, .real = real_##op, .f32 = f32_##op)
#define UNARY_RZ(op, p, r, c)                                                                      \
    REAL1(op, double, float, x, r) LOOP1(complex_##op, aot_complex, aot_complex, z, c)     \
    FORM(op, 1, p, false, .real = real_##op, .f32 = f32_##op, .complex = complex_##op)
#define UNARY_RI(op, p, r, e)                                                                      \
    REAL1(op, double, float, x, r) LOOP1(integer_##op, int64_t, int64_t, i, e)             \
    FORM(op, 1, p, false, .real = real_##op, .f32 = f32_##op, .integer = integer_##op)
#define UNARY_RZI(op, p, r, c, e)                                                                  \
    REAL1(op, double, float, x, r)                                                                 \
    LOOP1(complex_##op, aot_complex, aot_complex, z, c)                                            \
        LOOP1(integer_##op, int64_t, int64_t, i, e)                                                \
            FORM(op, 1, p, false, .real = real_##op, .f32 = f32_##op, .complex = complex_##op,     \
                 .integer = integer_##op)
#define TEST_RZI(op, r, c, e)                                                                      \
    REAL1(op, int64_t, char, x, r)                                                                 \
    LOOP1(complex_##op, aot_complex, int64_t, z, c) LOOP1(integer_##op, int64_t, int64_t, i, e)    \
        FORM(op, 1, DEFAULT, true, .real = real_##op, .f32 = f32_##op, .complex = complex_##op,    \
             .integer = integer_##op)
#define TEST_RI(op, r, e)                                                                          \
    REAL1(op, int64_t, char, x, r) LOOP1(integer_##op, int64_t, int64_t, i, e)            \
    FORM(op, 1, DEFAULT, true, .real = real_##op, .f32 = f32_##op, .integer = integer_##op)
#define BINARY_R(op, p, r)                                                                         \
    REAL2(op, double, float, x, y, r) FORM(op, 2, p, false, .real = real_##op, .f32 = f32_##op)
#define BINARY_I(op, p, e)                                                                         \
    LOOP2(integer_##op, int64_t, int64_t, i, j, e) FORM(op, 2, p, false, .integer = integer_##op)
#define BINARY_RZ(op, p, r, c)                                                                     \
    REAL2(op, double, float, x, y, r) LOOP2(complex_##op, aot_complex, aot_complex, z, w, c) \
    FORM(op, 2, p, false, .real = real_##op, .f32 = f32_##op, .complex = complex_##op)
#define BINARY_RI(op, p, r, e)                                                                     \
    REAL2(op, double, float, x, y, r) LOOP2(integer_##op, int64_t, int64_t, i, j, e)       \
    FORM(op, 2, p, false, .real = real_##op, .f32 = f32_##op, .integer = integer_##op)
#define BINARY_RZI(op, p, r, c, e)                                                                 \
    REAL2(op, double, float, x, y, r)                                                              \
    LOOP2(complex_##op, aot_complex, aot_complex, z, w, c)                                         \
        LOOP2(integer_##op, int64_t, int64_t, i, j, e)                                             \
            FORM(op, 2, p, false, .real = real_##op, .f32 = f32_##op, .complex = complex_##op,     \
                 .integer = integer_##op)
#define COMPARE(op, sign)                                                                          \
    REAL2(op, int64_t, char, x, y, x sign y) LOOP2(integer_##op, int64_t, int64_t, i, j, i sign j) \
    FORM(op, 2, DEFAULT, true, .real = real_##op, .f32 = f32_##op, .integer = integer_##op)
#define COMPARE_Z(op, sign)                                                                        \
    REAL2(op, int64_t, char, x, y, x sign y)                                                       \
    LOOP2(integer_##op, int64_t, int64_t, i, j, i sign j)                                          \
        LOOP2(complex_##op, aot_complex, int64_t, z, w, z sign w)                                  \
            FORM(op, 2, DEFAULT, true, .real = real_##op, .f32 = f32_##op,                         \
                 .complex = complex_##op, .integer = integer_##op)
#define LOGIC(op, sign)                                                                            \
    REAL2(op, int64_t, char, x, y, (x != 0) sign(y != 0))                                          \
    LOOP2(integer_##op, int64_t, int64_t, i, j, (i != 0) sign(j != 0))                             \
    LOOP2(complex_##op, aot_complex, int64_t, z, w, (z != 0) sign(w != 0))                         \
    FORM(op, 2, DEFAULT, true, .real = real_##op, .f32 = f32_##op, .complex = complex_##op,        \
         .integer = integer_##op)
#include "ops/kernels_pointwise.def"
