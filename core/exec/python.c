/* Python's operators on numbers, as graphs with symbolic sizes have them: operator.add,
 * torch.sym_max. */
#include <math.h>
#include <string.h>

#include "exec/internal.h"

static bool is_int(const aot_xval *v)
{
    return v->kind == AOT_X_INT || v->kind == AOT_X_BOOL;
}

static double real(const aot_xval *v)
{
    return is_int(v) ? (double)v->u.i : v->kind == AOT_X_REAL ? v->u.f : NAN;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t int_pow(int64_t a, int64_t n)
{
    int64_t r = 1;
    for (; n > 0; n--) {
        r *= a;
    }
    return r;
}

/* To add one: a row. Integers give the first, others the second; NONE: not for them. */
#define NONE 0
#define ARITHMETIC(X)                                                                              \
    X("operator.add", a + b, x + y)                                                                \
    X("operator.sub", a - b, x - y)                                                                \
    X("operator.mul", a * b, x * y)                                                                \
    X("operator.floordiv", b == 0 ? 0 : floor_div(a, b), floor(x / y))                             \
    X("operator.mod", b == 0 ? 0 : a - b * floor_div(a, b), x - y * floor(x / y))                  \
    X("operator.pow", int_pow(a, b), pow(x, y))                                                    \
    X("operator.and_", a & b, NONE)                                                                \
    X("operator.or_", a | b, NONE)                                                                 \
    X("operator.xor", a ^ b, NONE)                                                                 \
    X("operator.lshift", (int64_t)((uint64_t)a << (b & 63)), NONE)                                 \
    X("operator.rshift", a >> (b & 63), NONE)                                                      \
    X("torch.sym_max", a > b ? a : b, fmax(x, y))                                                  \
    X("torch.sym_min", a < b ? a : b, fmin(x, y))
#define COMPARISONS(X)                                                                             \
    X("operator.eq", ==) X("operator.ne", !=) X("operator.lt", <) X("operator.le", <=)             \
    X("operator.gt", >) X("operator.ge", >=)
#define UNARY(X)                                                                                   \
    X("operator.neg", aot_xv_int(-v->u.i), aot_xv_real(-x))                                        \
    X("operator.pos", *v, *v)                                                                      \
    X("torch.sym_not", aot_xv_bool(v->u.i == 0), aot_xv_bool(x == 0))                              \
    X("torch.sym_int", *v, aot_xv_int((int64_t)x))                                                 \
    X("math.trunc", *v, aot_xv_int((int64_t)x))                                                    \
    X("math.floor", *v, aot_xv_int((int64_t)floor(x)))                                             \
    X("math.ceil", *v, aot_xv_int((int64_t)ceil(x)))                                               \
    X("torch.sym_float", aot_xv_real(x), *v)                                                       \
    X("torch.sym_sqrt", aot_xv_real(sqrt(x)), aot_xv_real(sqrt(x)))

static bool binary(const char *name, const aot_xval *v, aot_xval *out)
{
    bool ints = is_int(&v[0]) && is_int(&v[1]);
    int64_t a = ints ? v[0].u.i : 0, b = ints ? v[1].u.i : 0;
    double x = real(&v[0]), y = real(&v[1]);
    if (strcmp(name, "operator.truediv") == 0) {
        *out = aot_xv_real(x / y);
        return true;
    }
#define X(text, with_ints, with_reals)                                                             \
    if (strcmp(name, text) == 0) {                                                                 \
        *out = ints ? aot_xv_int(with_ints) : aot_xv_real(with_reals);                             \
        return true;                                                                               \
    }
    ARITHMETIC(X)
#undef X
#define X(text, op)                                                                                \
    if (strcmp(name, text) == 0) {                                                                 \
        *out = aot_xv_bool(ints ? a op b : x op y);                                                \
        return true;                                                                               \
    }
    COMPARISONS(X)
#undef X
    return false;
}

static bool unary(const char *name, const aot_xval *v, aot_xval *out)
{
    double x = real(v);
#define X(text, with_int, with_real)                                                               \
    if (strcmp(name, text) == 0) {                                                                 \
        *out = is_int(v) ? with_int : with_real;                                                   \
        return true;                                                                               \
    }
    UNARY(X)
#undef X
    return false;
}

bool ex_python(aot_exec *x, const char *name, unsigned n, const aot_xval *args, aot_xval *out)
{
    bool numbers = n >= 1 && n <= 2;
    for (unsigned i = 0; i < n && numbers; i++) {
        numbers = is_int(&args[i]) || args[i].kind == AOT_X_REAL;
    }
    if (n == 1 && args[0].kind == AOT_X_LIST && strcmp(name, "torch.sym_sum") == 0) {
        int64_t sum = 0;
        for (uint32_t i = 0; i < args[0].n; i++) {
            sum += is_int(&args[0].u.items[i]) ? args[0].u.items[i].u.i : 0;
        }
        *out = aot_xv_int(sum);
        return true;
    }
    if (!numbers) {
        return false;
    }
    if (n == 2 && (strcmp(name, "operator.floordiv") == 0 || strcmp(name, "operator.mod") == 0) &&
        real(&args[1]) == 0) {
        ex_fail(x, AOT_E_RANGE, "%s by zero", name);
    }
    return n == 2 ? binary(name, args, out) : unary(name, args, out);
}
