/* Arithmetic of one element. Tensors of one dimension promote among themselves; a Python number
 * only raises the category. Halves are computed in f32 and rounded.
 * Mirrors: c10/core/ScalarType.h:promoteTypes, aten/src/ATen/native/TypeProperties.cpp. */
#include "joint/value.h"

#include <math.h>
#include <string.h>

#include "rules/fake.h"

static bool is_floating(aot_dtype d)
{
    return aot_dtype_get(d)->kind == 'f';
}

/* To the nearest value that has so many bits after the leading one; ties to even. */
static double round_bits(double v, int bits, int min_exp)
{
    int e;
    if (v == 0 || !isfinite(v)) {
        return v;
    }
    frexp(v, &e);
    e = e - 1 < min_exp ? min_exp : e - 1;
    return ldexp(nearbyint(ldexp(v, bits - e)), e - bits);
}

static double round_float(double v, aot_dtype d)
{
    switch (d) {
    case AOT_F32:
        return (double)(float)v;
    case AOT_F16:
        v = round_bits(v, 10, -14);
        return fabs(v) > 65504.0 ? copysign(INFINITY, v) : v;
    case AOT_BF16:
        return round_bits((double)(float)v, 7, -126);
    default:
        return v;
    }
}

static int64_t wrap_int(int64_t v, aot_dtype d)
{
    switch (d) {
    case AOT_B8:
        return v != 0;
    case AOT_I8:
        return (int8_t)v;
    case AOT_I16:
        return (int16_t)v;
    case AOT_I32:
        return (int32_t)v;
    case AOT_U8:
        return (uint8_t)v;
    default:
        return v;
    }
}

static bool holds_float(const value *v)
{
    return v->kind == VALUE_NUMBER ? v->is_float : is_floating((aot_dtype)v->dtype);
}

static double as_double(const value *v)
{
    return holds_float(v) ? v->f : (double)v->i;
}

value value_as(const value *v, aot_dtype d)
{
    value r = {.kind = VALUE_TENSOR, .dtype = (uint8_t)d};
    if (is_floating(d)) {
        r.f = round_float(as_double(v), d);
    } else if (d == AOT_B8) {
        r.i = holds_float(v) ? v->f != 0 : v->i != 0;
    } else if (holds_float(v)) {
        r.i = isfinite(v->f) && fabs(v->f) < 9.2e18 ? wrap_int((int64_t)v->f, d) : INT64_MIN;
    } else {
        r.i = wrap_int(v->i, d);
    }
    return r;
}

aot_arg value_item(const value *v)
{
    if (v->dtype == AOT_B8) {
        return fx_a_bool(v->i != 0);
    }
    return is_floating((aot_dtype)v->dtype) ? fx_a_float(v->f) : fx_a_int(v->i);
}

bool value_reinterpret(value *out, const value *v, aot_dtype d)
{
    union {
        float f;
        double d;
        int32_t i;
        int64_t l;
    } u = {.l = 0};
    unsigned width = aot_dtype_get(d)->bytes;
    if (aot_dtype_get((aot_dtype)v->dtype)->bytes != width || (width != 4 && width != 8)) {
        return false;
    }
    *out = (value){.kind = VALUE_TENSOR, .dtype = (uint8_t)d};
    if (holds_float(v)) {
        width == 4 ? (void)(u.f = (float)v->f) : (void)(u.d = v->f);
    } else {
        width == 4 ? (void)(u.i = (int32_t)v->i) : (void)(u.l = v->i);
    }
    if (is_floating(d)) {
        out->f = width == 4 ? (double)u.f : u.d;
    } else {
        out->i = width == 4 ? u.i : u.l;
    }
    return true;
}

/* ---- promotion ------------------------------------------------------------------------------ */

static int category(const value *v)
{
    if (holds_float(v)) {
        return 2;
    }
    return v->kind == VALUE_NUMBER ? !v->is_bool : v->dtype != AOT_B8;
}

/* dtype of the operands from..n together. */
static aot_dtype common(const value_call *c, unsigned from)
{
    aot_dtype d = AOT_NO_DTYPE;
    int top = 0;
    for (unsigned i = from; i < c->n; i++) {
        const value *v = &c->arg[i];
        if (v->kind == VALUE_TENSOR) {
            d = d == AOT_NO_DTYPE ? (aot_dtype)v->dtype : aot_promote_types(d, (aot_dtype)v->dtype);
        } else if (v->kind == VALUE_NUMBER && category(v) > top) {
            top = category(v);
        }
    }
    int have = d == AOT_NO_DTYPE ? -1 : is_floating(d) ? 2 : d != AOT_B8;
    if (top > have) {
        return top == 2 ? AOT_F32 : AOT_I64;
    }
    return d == AOT_NO_DTYPE ? AOT_B8 : d;
}

static aot_dtype as_floating(aot_dtype d)
{
    return is_floating(d) ? d : AOT_F32;
}

static void put_float(value *out, double v, aot_dtype d)
{
    *out = (value){.kind = VALUE_TENSOR, .dtype = (uint8_t)d, .f = round_float(v, d)};
}

static void put_int(value *out, int64_t v, aot_dtype d)
{
    *out = (value){.kind = VALUE_TENSOR, .dtype = (uint8_t)d, .i = wrap_int(v, d)};
}

/* ---- rules ---------------------------------------------------------------------------------- */

typedef double float_fn(double x);
typedef int64_t int_fn(int64_t n);

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define UNARY(packet, e)                \
    static double CAT(unary_, __LINE__)(double x) \
    {                                   \
        return e;                       \
    }
#define SAME(packet, e, m)              \
    static double CAT(same_, __LINE__)(double x) \
    {                                   \
        return e;                       \
    }                                   \
    static int64_t CAT(same_int_, __LINE__)(int64_t n) \
    {                                   \
        return m;                       \
    }
#define COMPARE(packet, op)
#include "joint/fold_ops.def"
#undef UNARY
#undef SAME
#undef COMPARE

static const struct {
    const char *packet;
    float_fn *unary, *same;
    int_fn *same_int;
} rows[] = {
#define UNARY(packet, e) {packet, CAT(unary_, __LINE__), NULL, NULL},
#define SAME(packet, e, m) {packet, NULL, CAT(same_, __LINE__), CAT(same_int_, __LINE__)},
#define COMPARE(packet, op)
#include "joint/fold_ops.def"
#undef UNARY
#undef SAME
#undef COMPARE
};

static bool is(const value_call *c, const char *packet)
{
    return strcmp(c->op->packet, packet) == 0;
}

static bool compute_unary(value *out, const value_call *c)
{
    for (size_t i = 0;
         i < sizeof rows / sizeof rows[0] && c->n >= 1 && c->arg[0].kind == VALUE_TENSOR; i++) {
        if (!is(c, rows[i].packet)) {
            continue;
        }
        aot_dtype d = (aot_dtype)c->arg[0].dtype;
        if (rows[i].unary != NULL) {
            put_float(out, rows[i].unary(round_float(as_double(&c->arg[0]), as_floating(d))),
                      as_floating(d));
        } else if (is_floating(d)) {
            put_float(out, rows[i].same(c->arg[0].f), d);
        } else {
            put_int(out, rows[i].same_int(c->arg[0].i), d);
        }
        return true;
    }
    return false;
}

static bool compute_compare(value *out, const value_call *c)
{
    if (c->n < 2) {
        return false;
    }
    bool f = holds_float(&c->arg[0]) || holds_float(&c->arg[1]);
    aot_dtype d = common(c, 0);
    value a = value_as(&c->arg[0], d), b = value_as(&c->arg[1], d);
#define UNARY(packet, e)
#define SAME(packet, e, m)
#define COMPARE(packet, op)                                      \
    if (is(c, packet)) {                                         \
        put_int(out, f ? a.f op b.f : a.i op b.i, AOT_B8);       \
        return true;                                             \
    }
#include "joint/fold_ops.def"
#undef UNARY
#undef SAME
#undef COMPARE
    return false;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t int_pow(int64_t a, int64_t n)
{
    uint64_t r = 1;
    for (; n > 0; n--) {
        r *= (uint64_t)a;
    }
    return n < 0 ? (a == 1 || a == -1 ? a : 0) : (int64_t)r;
}

static bool compute_div(value *out, const value *a, const value *b, const char *rounding,
                        aot_dtype d)
{
    bool f = is_floating(d);
    if (rounding == NULL) {
        d = as_floating(d);
        put_float(out, as_double(a) / as_double(b), d);
        return true;
    }
    if (f) {
        double q = a->f / b->f;
        put_float(out, strcmp(rounding, "floor") == 0 ? floor(q) : trunc(q), d);
    } else if (b->i == 0) {
        return false;
    } else {
        put_int(out, strcmp(rounding, "floor") == 0 ? floor_div(a->i, b->i) : a->i / b->i, d);
    }
    return true;
}

/* Python's remainder: the sign of the divisor. */
static double float_remainder(double a, double b)
{
    double m = fmod(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

static bool compute_binary(value *out, const value_call *c)
{
    if (c->n < 2) {
        return false;
    }
    aot_dtype d = common(c, 0);
    bool f = is_floating(d), scaled = c->alpha.kind == VALUE_NUMBER;
    value a = value_as(&c->arg[0], d), b = value_as(&c->arg[1], d);
    double k = scaled ? as_double(&c->alpha) : 1;
    int64_t n = scaled ? (int64_t)k : 1;
    if (is(c, "aten.add") || is(c, "aten.sub")) {
        int sign = is(c, "aten.sub") ? -1 : 1;
        f ? put_float(out, a.f + sign * k * b.f, d) : put_int(out, a.i + sign * n * b.i, d);
    } else if (is(c, "aten.mul")) {
        f ? put_float(out, a.f * b.f, d)
          : put_int(out, (int64_t)((uint64_t)a.i * (uint64_t)b.i), d);
    } else if (is(c, "aten.div")) {
        return compute_div(out, &a, &b, c->rounding, d);
    } else if (is(c, "aten.pow")) {
        f ? put_float(out, pow(a.f, b.f), d) : put_int(out, int_pow(a.i, b.i), d);
    } else if (is(c, "aten.maximum") || is(c, "aten.minimum")) {
        bool first =
            f ? isnan(a.f) || (!isnan(b.f) && (is(c, "aten.maximum") ? a.f >= b.f : a.f <= b.f))
              : (is(c, "aten.maximum") ? a.i >= b.i : a.i <= b.i);
        *out = first ? a : b;
    } else if (is(c, "aten.remainder") && (f || b.i != 0)) {
        f ? put_float(out, float_remainder(a.f, b.f), d)
          : put_int(out, a.i - floor_div(a.i, b.i) * b.i, d);
    } else if (is(c, "aten.fmod") && (f || b.i != 0)) {
        f ? put_float(out, fmod(a.f, b.f), d) : put_int(out, a.i % b.i, d);
    } else if (is(c, "aten.bitwise_and") && !f) {
        put_int(out, a.i & b.i, d);
    } else if (is(c, "aten.bitwise_or") && !f) {
        put_int(out, a.i | b.i, d);
    } else if (is(c, "aten.bitwise_xor") && !f) {
        put_int(out, a.i ^ b.i, d);
    } else {
        return false;
    }
    return true;
}

static bool truth(const value *v)
{
    return holds_float(v) ? v->f != 0 : v->i != 0;
}

static bool compute_logic(value *out, const value_call *c)
{
    bool x = c->n > 0 && truth(&c->arg[0]), y = c->n > 1 && truth(&c->arg[1]);
    if (is(c, "aten.logical_not")) {
        put_int(out, !x, AOT_B8);
    } else if (is(c, "aten.bitwise_not") && c->n > 0 && !holds_float(&c->arg[0])) {
        aot_dtype d = (aot_dtype)c->arg[0].dtype;
        put_int(out, d == AOT_B8 ? !x : ~c->arg[0].i, d);
    } else if (is(c, "aten.logical_and")) {
        put_int(out, x && y, AOT_B8);
    } else if (is(c, "aten.logical_or")) {
        put_int(out, x || y, AOT_B8);
    } else if (is(c, "aten.logical_xor")) {
        put_int(out, x != y, AOT_B8);
    } else if (is(c, "aten.isnan") && c->n > 0) {
        put_int(out, holds_float(&c->arg[0]) && isnan(c->arg[0].f), AOT_B8);
    } else if (is(c, "aten.isinf") && c->n > 0) {
        put_int(out, holds_float(&c->arg[0]) && isinf(c->arg[0].f), AOT_B8);
    } else {
        return false;
    }
    return true;
}

/* clamp(x, min, max), clamp_min(x, min), clamp_max(x, max); None is no bound. */
static bool compute_clamp(value *out, const value_call *c)
{
    aot_dtype d = common(c, 0);
    *out = value_as(&c->arg[0], d);
    for (unsigned i = 1; i < c->n && i < 3; i++) {
        if (c->arg[i].kind != VALUE_NUMBER && c->arg[i].kind != VALUE_TENSOR) {
            continue;
        }
        value bound = value_as(&c->arg[i], d);
        bool below = as_double(out) < as_double(&bound), above = as_double(out) > as_double(&bound);
        bool is_min = i == 1 && !is(c, "aten.clamp_max");
        *out = (is_min ? below : above) ? bound : *out;
    }
    return true;
}

static bool compute_other(value *out, const value_call *c)
{
    if (is(c, "prims.convert_element_type") && c->n > 0 && c->dtype_arg != AOT_NO_DTYPE) {
        *out = value_as(&c->arg[0], c->dtype_arg);
    } else if (is(c, "aten.scalar_tensor") && c->n > 0) {
        aot_dtype d = c->dtype_arg != AOT_NO_DTYPE ? c->dtype_arg : AOT_F32;
        *out = value_as(&c->arg[0], d);
    } else if (is(c, "aten.where") && c->n >= 3) {
        *out = value_as(truth(&c->arg[0]) ? &c->arg[1] : &c->arg[2], common(c, 1));
    } else if (is(c, "prims.fma") && c->n >= 3) {
        aot_dtype d = common(c, 0);
        put_float(out, fma(as_double(&c->arg[0]), as_double(&c->arg[1]), as_double(&c->arg[2])), d);
        return is_floating(d);
    } else if (aot_starts_with(c->op->packet, "aten.clamp") && c->n >= 2) {
        return compute_clamp(out, c);
    } else {
        return false;
    }
    return true;
}

bool value_compute(value *out, const value_call *c)
{
    return compute_other(out, c) || compute_logic(out, c) || compute_unary(out, c) ||
           compute_compare(out, c) || compute_binary(out, c);
}
