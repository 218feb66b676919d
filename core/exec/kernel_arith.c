/* Element-wise kernels with further arguments: sums with alpha, choices, limits, rounding modes.
 *
 * Mirrors: aten/src/ATen/native/BinaryOps.cpp, TensorCompare.cpp, cpu/BinaryOpsKernel.cpp. */
#include <math.h>
#include <string.h>

#include "exec/kernel.h"
#include "exec/vector.h"

/* ---- self + alpha * other -------------------------------------------------------------------- */

typedef struct sum_arg {
    double real;
    int64_t integer;
    aot_complex complex;
} sum_arg;

static void sum_real(const void *arg, void *out, void *const *in, int64_t n)
{
    const double *x = in[0], *y = in[1], a = ((const sum_arg *)arg)->real;
    double *o = out;
    for (int64_t i = 0; i < n; i++) {
        o[i] = x[i] + a * y[i];
    }
}

static void sum_int(const void *arg, void *out, void *const *in, int64_t n)
{
    const int64_t *x = in[0], *y = in[1];
    uint64_t a = (uint64_t)((const sum_arg *)arg)->integer;
    int64_t *o = out;
    for (int64_t i = 0; i < n; i++) {
        o[i] = (int64_t)((uint64_t)x[i] + a * (uint64_t)y[i]);
    }
}

static void sum_complex(const void *arg, void *out, void *const *in, int64_t n)
{
    const aot_complex *x = in[0], *y = in[1], a = ((const sum_arg *)arg)->complex;
    aot_complex *o = out;
    for (int64_t i = 0; i < n; i++) {
        o[i] = x[i] + (a == 1 ? y[i] : a * y[i]);
    }
}

static void sum_f32(const void *arg, void *out, void *const *in, int64_t n)
{
    const float *x = in[0], *y = in[1];
    float *o = out;
    if (((const sum_arg *)arg)->real < 0) {
        for (int64_t i = 0; i < n; i++) {
            o[i] = x[i] - y[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        o[i] = x[i] + y[i];
    }
}

static void sum_of(aot_kern *k, unsigned first, unsigned second, int sign)
{
    aot_array *in[2] = {k_need(k, first), k_need(k, second)};
    aot_dtype d = k_promote(k, 3);
    aot_class c = aot_dtype_class(d);
    int64_t whole = k_int(k, 2, 1);
    sum_arg a = {sign * k_real(k, 2, 1), sign < 0 ? (int64_t)(0 - (uint64_t)whole) : whole,
                 sign * k_complex(k, 2, 1)};
    a.real = aot_round_to(c == AOT_CLASS_REAL ? aot_opmath(d) : AOT_F64, a.real);
    aot_array *out = k_broadcast_out(k, d, 2, in);
    if (c == AOT_CLASS_REAL && aot_opmath(d) == AOT_F32 && fabs(a.real) == 1) {
        k_pointwise_f32(k, out, d, 2, in, sum_f32, &a);
        k_give(k, out);
        return;
    }
    k_pointwise(k, out, c, d, 2, in,
                c == AOT_CLASS_REAL  ? sum_real
                : c == AOT_CLASS_INT ? sum_int
                                     : sum_complex,
                &a);
    k_give(k, out);
}

void kern_add(aot_kern *k)
{
    sum_of(k, 0, 1, 1);
}

void kern_sub(aot_kern *k)
{
    sum_of(k, 0, 1, -1);
}

void kern_rsub(aot_kern *k)
{
    sum_of(k, 1, 0, -1);
}

/* ---- absolute value, choices ----------------------------------------------------------------- */

static void abs_real(const void *arg, void *out, void *const *in, int64_t n)
{
    (void)arg;
    for (int64_t i = 0; i < n; i++) {
        ((double *)out)[i] = fabs(((const double *)in[0])[i]);
    }
}

static void abs_int(const void *arg, void *out, void *const *in, int64_t n)
{
    (void)arg;
    for (int64_t i = 0; i < n; i++) {
        int64_t v = ((const int64_t *)in[0])[i];
        ((int64_t *)out)[i] = v < 0 ? (int64_t)-(uint64_t)v : v;
    }
}

static void abs_complex(const void *arg, void *out, void *const *in, int64_t n)
{
    (void)arg;
    for (int64_t i = 0; i < n; i++) {
        ((double *)out)[i] = cabs(((const aot_complex *)in[0])[i]);
    }
}

void kern_abs(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *out = k_like(k, k_real_of((aot_dtype)x->dtype), x);
    aot_class c = aot_dtype_class((aot_dtype)x->dtype);
    k_pointwise(k, out, c == AOT_CLASS_INT ? c : AOT_CLASS_REAL, (aot_dtype)x->dtype, 1, &x,
                c == AOT_CLASS_INT ? abs_int : c == AOT_CLASS_REAL ? abs_real : abs_complex, NULL);
    k_give(k, out);
}

/* Copies elements of either operand whole, so that payloads of NaN stay. */
typedef struct choose_job {
    int64_t bytes;
} choose_job;

/* All behind each other. */
#define CHOOSE(type)                                                                               \
    case sizeof(type):                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const type *a = (const type *)(const void *)ptr[2],                                    \
                       *b = (const type *)(const void *)ptr[3];                                    \
            ((type *)(void *)ptr[0])[i] = ptr[1][i] != 0 ? a[i] : b[i];                            \
        }                                                                                          \
        break;

AOT_CLONES static void choose_in_order(char *const *ptr, size_t bytes, int64_t n)
{
    switch (bytes) {
    CHOOSE(uint8_t) CHOOSE(uint16_t) CHOOSE(uint32_t) CHOOSE(uint64_t)
    default: break;
    }
}

static void choose(void *arg, char *const *ptr, const int64_t *stride, int64_t n)
{
    size_t bytes = (size_t)((const choose_job *)arg)->bytes;
    int64_t item = (int64_t)bytes;
    if (bytes <= 8 && stride[0] == item && stride[1] == 1 && stride[2] == item &&
        stride[3] == item) {
        choose_in_order(ptr, bytes, n);
        return;
    }
    if (bytes == sizeof(uint32_t)) { // a copy of known size needs no call
        for (int64_t i = 0; i < n; i++) {
            memcpy(ptr[0] + i * stride[0],
                   ptr[1][i * stride[1]] != 0 ? ptr[2] + i * stride[2] : ptr[3] + i * stride[3],
                   sizeof(uint32_t));
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const char *from =
            ptr[1][i * stride[1]] != 0 ? ptr[2] + i * stride[2] : ptr[3] + i * stride[3];
        memcpy(ptr[0] + i * stride[0], from, bytes);
    }
}

static void choose_into(aot_kern *k, aot_array *cond, aot_array *a, aot_array *b, aot_dtype d)
{
    aot_array *in[3] = {k_cast(k, cond, AOT_B8), k_cast(k, a, d), k_cast(k, b, d)};
    aot_array *out = k_broadcast_out(k, d, 3, in);
    choose_job j = {aot_array_item_bytes(out)};
    aot_iter it;
    aot_iter_begin(&it, out->ndim, out->size);
    aot_iter_add(&it, out);
    for (int i = 0; i < 3; i++) {
        aot_iter_add(&it, in[i]);
    }
    aot_iter_run(&it, choose, &j);
    k_give(k, out);
}

void kern_where(aot_kern *k)
{
    choose_into(k, k_need(k, 0), k_need(k, 1), k_need(k, 2), k_promote(k, 6));
}

void kern_masked_fill(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    choose_into(k, k_need(k, 1), k_need(k, 2), x, (aot_dtype)x->dtype);
}

/* ---- limits ---------------------------------------------------------------------------------- */

typedef struct clamp_arg {
    bool min, max;
} clamp_arg;

static void clamp_real(const void *arg, void *out, void *const *in, int64_t n)
{
    const clamp_arg *a = arg;
    const double *x = in[0], *lo = in[1], *hi = in[a->min ? 2 : 1];
    for (int64_t i = 0; i < n; i++) {
        double v = x[i];
        v = a->min && (lo[i] != lo[i] || v < lo[i]) ? lo[i] : v;
        ((double *)out)[i] = a->max && (hi[i] != hi[i] || v > hi[i]) ? hi[i] : v;
    }
}

AOT_CLONES static void clamp_f32(const void *arg, void *out, void *const *in, int64_t n)
{
    const clamp_arg *a = arg;
    const float *x = in[0], *lo = in[1], *hi = in[a->min ? 2 : 1];
    float *o = out;
    for (int64_t i = 0; i < n && a->min; i++) {
        o[i] = lo[i] != lo[i] || x[i] < lo[i] ? lo[i] : x[i];
    }
    x = a->min ? o : x;
    for (int64_t i = 0; i < n && a->max; i++) {
        o[i] = hi[i] != hi[i] || x[i] > hi[i] ? hi[i] : x[i];
    }
}

static void clamp_int(const void *arg, void *out, void *const *in, int64_t n)
{
    const clamp_arg *a = arg;
    const int64_t *x = in[0], *lo = in[1], *hi = in[a->min ? 2 : 1];
    for (int64_t i = 0; i < n; i++) {
        int64_t v = x[i];
        v = a->min && v < lo[i] ? lo[i] : v;
        ((int64_t *)out)[i] = a->max && v > hi[i] ? hi[i] : v;
    }
}

static void clamp_by(aot_kern *k, unsigned min, unsigned max)
{
    clamp_arg a = {min != 0 && !k_is_none(k, min), max != 0 && !k_is_none(k, max)};
    aot_array *in[3] = {k_need(k, 0)};
    unsigned n = 1;
    uint32_t which = 1;
    if (a.min) {
        in[n++] = k_need(k, min);
        which |= 1u << min;
    }
    if (a.max) {
        in[n++] = k_need(k, max);
        which |= 1u << max;
    }
    aot_dtype d = k_promote(k, which);
    aot_class c = aot_dtype_class(d);
    aot_array *out = k_broadcast_out(k, d, n, in);
    if (c == AOT_CLASS_COMPLEX) {
        k_fail(k, AOT_E_UNSUPPORTED, "not implemented for complex numbers");
    }
    if (c == AOT_CLASS_REAL && aot_opmath(d) == AOT_F32 && n > 1) {
        k_pointwise_f32(k, out, d, n, in, clamp_f32, &a);
    } else {
        k_pointwise(k, out, c, d, n, in, c == AOT_CLASS_REAL ? clamp_real : clamp_int, &a);
    }
    k_give(k, out);
}

void kern_clamp(aot_kern *k)
{
    clamp_by(k, 1, 2);
}

void kern_clamp_min(aot_kern *k)
{
    clamp_by(k, 1, 0);
}

void kern_clamp_max(aot_kern *k)
{
    clamp_by(k, 0, 1);
}

/* ---- division with rounding ------------------------------------------------------------------ */

static double floor_quotient(double x, double y)
{
    if (y == 0) {
        return x / y;
    }
    double m = fmod(x, y), q = (x - m) / y;
    q -= m != 0 && (y < 0) != (m < 0);
    if (q == 0) {
        return copysign(0, x / y);
    }
    double f = floor(q);
    return f + (q - f > 0.5);
}

static void floor_real(const void *arg, void *out, void *const *in, int64_t n)
{
    (void)arg;
    for (int64_t i = 0; i < n; i++) {
        ((double *)out)[i] = floor_quotient(((const double *)in[0])[i], ((const double *)in[1])[i]);
    }
}

static void trunc_real(const void *arg, void *out, void *const *in, int64_t n)
{
    (void)arg;
    for (int64_t i = 0; i < n; i++) {
        ((double *)out)[i] = trunc(((const double *)in[0])[i] / ((const double *)in[1])[i]);
    }
}

typedef struct int_div_arg {
    bool floors;
    bool *by_zero;
} int_div_arg;

static void div_int(const void *arg, void *out, void *const *in, int64_t n)
{
    const int_div_arg *a = arg;
    const int64_t *x = in[0], *y = in[1];
    for (int64_t i = 0; i < n; i++) {
        *a->by_zero |= y[i] == 0;
        int64_t q = y[i] == 0 ? 0 : y[i] == -1 ? (int64_t)-(uint64_t)x[i] : x[i] / y[i];
        bool down =
            a->floors && y[i] != 0 && y[i] != -1 && x[i] % y[i] != 0 && (x[i] < 0) != (y[i] < 0);
        ((int64_t *)out)[i] = q - down;
    }
}

static void divide(aot_kern *k, bool floors)
{
    aot_array *in[2] = {k_need(k, 0), k_need(k, 1)};
    aot_dtype d = k_promote(k, 3);
    aot_class c = aot_dtype_class(d);
    aot_array *out = k_broadcast_out(k, d, 2, in);
    bool by_zero = false;
    if (c == AOT_CLASS_INT) {
        k_pointwise(k, out, c, d, 2, in, div_int, &(int_div_arg){floors, &by_zero});
    } else {
        k_pointwise(k, out, AOT_CLASS_REAL, d, 2, in, floors ? floor_real : trunc_real, NULL);
    }
    if (by_zero) {
        k_fail(k, AOT_E_RANGE, "integer division by zero");
    }
    k_give(k, out);
}

void kern_div_mode(aot_kern *k)
{
    if (k_is_none(k, 2)) {
        k_give(k, K2(k, aten_div_Tensor, k_need(k, 0), k_need(k, 1)));
        return;
    }
    divide(k, k_str_is(k, 2, "floor"));
}

void kern_floor_divide(aot_kern *k)
{
    divide(k, true);
}

/* ---- pairs of numbers ------------------------------------------------------------------------ */

static void make_complex(const void *arg, void *out, void *const *in, int64_t n)
{
    bool polar = *(const bool *)arg;
    for (int64_t i = 0; i < n; i++) {
        double a = ((const double *)in[0])[i], b = ((const double *)in[1])[i];
        ((aot_complex *)out)[i] = polar ? CMPLX(a * cos(b), a * sin(b)) : CMPLX(a, b);
    }
}

static void complex_of_two(aot_kern *k, bool polar)
{
    aot_array *in[2] = {k_need(k, 0), k_need(k, 1)};
    aot_dtype d = k_promote(k, 3);
    aot_array *out = k_broadcast_out(k, k_complex_of(d), 2, in);
    k_pointwise(k, out, AOT_CLASS_COMPLEX, d, 2, in, make_complex, &polar);
    k_give(k, out);
}

void kern_complex(aot_kern *k)
{
    complex_of_two(k, false);
}

void kern_polar(aot_kern *k)
{
    complex_of_two(k, true);
}

/* The neighbour in a half type: its bits count up from 0 either way. */
static double next_half(aot_dtype d, double a, double b)
{
    if (a != a || b != b || a == b) {
        return a == b ? b : NAN;
    }
    char room[2];
    uint16_t bits = 1;
    aot_store_real(&a, d, room, 0, 1);
    if (a != 0) {
        memcpy(&bits, room, sizeof bits);
        bits = (uint16_t)(bits + ((a < b) == (a > 0) ? 1 : -1));
    } else if (b < 0) {
        bits = 0x8001;
    }
    memcpy(room, &bits, sizeof bits);
    return aot_get_real(d, room);
}

static void next_real(const void *arg, void *out, void *const *in, int64_t n)
{
    aot_dtype d = *(const aot_dtype *)arg;
    for (int64_t i = 0; i < n; i++) {
        double a = ((const double *)in[0])[i], b = ((const double *)in[1])[i];
        ((double *)out)[i] = d == AOT_F64   ? nextafter(a, b)
                             : d == AOT_F32 ? (double)nextafterf((float)a, (float)b)
                                            : next_half(d, a, b);
    }
}

void kern_nextafter(aot_kern *k)
{
    aot_array *in[2] = {k_need(k, 0), k_need(k, 1)};
    aot_dtype d = k_promote(k, 3);
    if (aot_dtype_class(d) != AOT_CLASS_REAL || aot_dtype_get(d)->bytes < 2) {
        k_fail(k, AOT_E_UNSUPPORTED, "not implemented for %s", aot_dtype_get(d)->torch_name);
    }
    aot_array *out = k_broadcast_out(k, d, 2, in);
    k_pointwise(k, out, AOT_CLASS_REAL, d, 2, in, next_real, &d);
    k_give(k, out);
}

static void ldexp_real(const void *arg, void *out, void *const *in, int64_t n)
{
    (void)arg;
    for (int64_t i = 0; i < n; i++) {
        ((double *)out)[i] = ((const double *)in[0])[i] * exp2(((const double *)in[1])[i]);
    }
}

void kern_ldexp(aot_kern *k)
{
    aot_array *in[2] = {k_need(k, 0), k_need(k, 1)};
    aot_dtype d = k_to_float(k_promote(k, 3));
    if (aot_dtype_class(d) == AOT_CLASS_COMPLEX) {
        k_give(k, K2(k, aten_mul_Tensor, in[0], K2(k, aten_pow_Scalar, 2.0, in[1])));
        return;
    }
    aot_array *out = k_broadcast_out(k, d, 2, in);
    k_pointwise(k, out, AOT_CLASS_REAL, d, 2, in, ldexp_real, NULL);
    k_give(k, out);
}

static void mantissa(const void *arg, void *out, void *const *in, int64_t n)
{
    (void)arg;
    for (int64_t i = 0; i < n; i++) {
        int e;
        ((double *)out)[i] = frexp(((const double *)in[0])[i], &e);
    }
}

static void exponent(const void *arg, void *out, void *const *in, int64_t n)
{
    (void)arg;
    for (int64_t i = 0; i < n; i++) {
        int e;
        double x = ((const double *)in[0])[i];
        frexp(x, &e);
        ((int64_t *)out)[i] = isfinite(x) ? e : 0;
    }
}

void kern_frexp(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *m = k_like(k, (aot_dtype)x->dtype, x),
              *e = k_out(k, 1, AOT_I32, x->ndim, x->size);
    k_pointwise(k, m, AOT_CLASS_REAL, (aot_dtype)x->dtype, 1, &x, mantissa, NULL);
    k_pointwise(k, e, AOT_CLASS_INT, (aot_dtype)x->dtype, 1, &x, exponent, NULL);
    k_give(k, m);
    k_give(k, e);
}
