/* Python's operators on tensors, numbers and symbolic sizes: operator.add, x.__radd__.
 * Mirrors torch/_tensor.py (which method an operator is) and torch/fx/experimental/sym_node.py. */
#include "lower/internal.h"

#include <math.h>

typedef enum how {
    METHOD,   /* a.METHOD(b) */
    FUNCTION, /* torch.FUNCTION(a, b) */
    PACKET    /* the operator __and__: a.__and__(b) */
} how;

/* name; what a OP b is if a is a tensor; what it is if only b is; what a OP= b is.
 * A reflected METHOD or PACKET is called on b, with a as its argument. */
static const struct {
    const char *name;
    how forward;
    const char *call;
    how reflected;
    const char *back, *inplace;
} binary[] = {
    {"add", METHOD, "add", METHOD, "add", "add_"},
    {"and_", PACKET, "__and__", PACKET, "__and__", "bitwise_and_"},
    {"eq", METHOD, "eq", METHOD, "eq", NULL},
    {"floordiv", FUNCTION, "floor_divide", FUNCTION, "floor_divide", "floor_divide_"},
    {"ge", METHOD, "ge", METHOD, "le", NULL},
    {"gt", METHOD, "gt", METHOD, "lt", NULL},
    {"le", METHOD, "le", METHOD, "ge", NULL},
    {"lshift", PACKET, "__lshift__", FUNCTION, "bitwise_left_shift", "__ilshift__"},
    {"lt", METHOD, "lt", METHOD, "gt", NULL},
    {"matmul", METHOD, "matmul", FUNCTION, "matmul", NULL},
    {"mod", METHOD, "remainder", FUNCTION, "remainder", "remainder_"},
    {"mul", METHOD, "mul", METHOD, "mul", "mul_"},
    {"ne", METHOD, "ne", METHOD, "ne", NULL},
    {"or_", PACKET, "__or__", PACKET, "__or__", "bitwise_or_"},
    {"pow", METHOD, "pow", FUNCTION, "pow", "pow_"},
    {"rshift", PACKET, "__rshift__", FUNCTION, "bitwise_right_shift", "__irshift__"},
    {"sub", METHOD, "sub", METHOD, "rsub", "sub_"},
    {"truediv", METHOD, "div", METHOD, "/", "div_"},
    {"xor", PACKET, "__xor__", PACKET, "__xor__", "bitwise_xor_"},
};
enum { N_BINARY = sizeof binary / sizeof *binary };

static int find_binary(const char *name, size_t n)
{
    for (int i = 0; i < N_BINARY; i++) {
        size_t len = strlen(binary[i].name);
        len -= binary[i].name[len - 1] == '_' && n == len - 1; /* and_ is also written and */
        if (len == n && memcmp(binary[i].name, name, n) == 0) {
            return i;
        }
    }
    return -1;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static aot_value call_as(aot_tracer *t, how h, const char *name, aot_value a, aot_value b)
{
    aot_value args[2] = {a, b};
    char target[48];
    if (h == METHOD) {
        return aot_l_method(t, name, 2, args);
    }
    snprintf(target, sizeof target, "%s%s", h == PACKET ? "aten." : "torch.", name);
    if (h == FUNCTION) {
        return aot_l_function(t, target, 2, args);
    }
    return aot_lower_packet(
        &(aot_pycall){.t = t, .target = name, .is_method = true, .n = 2, .args = args}, target);
}

/* b.__radd__(a) */
static aot_value tensor_reflected(aot_tracer *t, int i, aot_value a, aot_value b)
{
    if (strcmp(binary[i].back, "/") == 0) { /* b.reciprocal() * a */
        aot_value one = aot_l_method(t, "reciprocal", 1, &b);
        return call_as(t, METHOD, "mul", one, a);
    }
    if (strcmp(binary[i].back, "rsub") == 0) {
        return call_as(t, FUNCTION, "rsub", b, a);
    }
    return binary[i].reflected == FUNCTION ? call_as(t, FUNCTION, binary[i].back, a, b)
                                           : call_as(t, binary[i].reflected, binary[i].back, b, a);
}

static aot_value tensor_binary(aot_tracer *t, int i, aot_value a, aot_value b)
{
    return a.kind == AOT_V_TENSOR ? call_as(t, binary[i].forward, binary[i].call, a, b)
                                  : tensor_reflected(t, i, a, b);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_integer(aot_value v)
{
    return v.kind == AOT_V_INT || v.kind == AOT_V_BOOL;
}

static double real_of(aot_value v)
{
    return v.kind == AOT_V_FLOAT     ? v.u.f
           : v.kind == AOT_V_COMPLEX ? v.u.z[0]
                                     : (double)v.u.dim.value;
}

static bool compare(const char *name, double d, bool *result)
{
    static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const bool is[] = {d == 0, d != 0, d < 0, d <= 0, d > 0, d >= 0};
    for (int i = 0; i < 6; i++) {
        if (strcmp(names[i], name) == 0) {
            *result = is[i];
            return true;
        }
    }
    return false;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static bool int_bits(const char *name, int64_t a, int64_t b, int64_t *r)
{
    if (strcmp(name, "and_") == 0) {
        *r = a & b;
    } else if (strcmp(name, "or_") == 0) {
        *r = a | b;
    } else if (strcmp(name, "xor") == 0) {
        *r = a ^ b;
    } else if (strcmp(name, "lshift") == 0 && b >= 0 && b < 63) {
        *r = (int64_t)((uint64_t)a << b);
    } else if (strcmp(name, "rshift") == 0 && b >= 0 && b < 63) {
        *r = a >> b;
    } else {
        return false;
    }
    return true;
}

/* Integers, symbolic ones too. */
static bool int_binary(aot_tracer *t, const char *name, aot_value x, aot_value y, aot_value *result)
{
    static const struct {
        const char *name, op;
    } fns[] = {{"add", '+'}, {"sub", '-'}, {"mul", '*'}, {"floordiv", '/'}, {"mod", '%'}};
    aot_dim a = x.u.dim, b = y.u.dim;
    int64_t r;
    bool plain = a.expr == 0 && b.expr == 0, both = x.kind == AOT_V_BOOL && y.kind == AOT_V_BOOL;
    if (plain && int_bits(name, a.value, b.value, &r)) {
        *result = both ? aot_v_bool(r != 0) : aot_v_int(r);
        return true;
    }
    bool divides = strcmp(name, "floordiv") == 0 || strcmp(name, "mod") == 0;
    if (divides && aot_dim_is(b, 0)) {
        aot_trace_fail(t, AOT_E_RANGE, "operator.%s: integer division by zero", name);
    }
    if (plain && divides && a.value == INT64_MIN && b.value == -1) {
        aot_trace_fail(t, AOT_E_RANGE, "operator.%s: the result does not fit in 64 bits", name);
    }
    if (plain && divides) { /* Python rounds down */
        int64_t q = floor_div(a.value, b.value);
        *result = aot_v_int(*name == 'f' ? q : a.value - q * b.value);
        return true;
    }
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
        if (strcmp(fns[i].name, name) == 0) {
            *result = aot_v_dim(aot_trace_dim(t, fns[i].op, a, b));
            return true;
        }
    }
    if (strcmp(name, "pow") == 0 && b.expr == 0 && b.value >= 0 && b.value < 64) {
        *result = aot_v_dim(aot_dim_pow(aot_tracer_ctx(t), a, (unsigned)b.value));
        return true;
    }
    return false;
}

static bool float_binary(const char *name, double a, double b, double *r)
{
    double rest;
    if (strcmp(name, "add") == 0) {
        *r = a + b;
    } else if (strcmp(name, "sub") == 0) {
        *r = a - b;
    } else if (strcmp(name, "mul") == 0) {
        *r = a * b;
    } else if (strcmp(name, "truediv") == 0) {
        *r = a / b;
    } else if (strcmp(name, "pow") == 0) {
        *r = pow(a, b);
    } else if (strcmp(name, "floordiv") == 0) {
        *r = floor(a / b);
    } else if (strcmp(name, "mod") == 0) {
        rest = fmod(a, b);
        *r = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
        return false;
    }
    return true;
}

static aot_value complex_value(double re, double im)
{
    aot_value v = {.kind = AOT_V_COMPLEX};
    v.u.z[0] = re;
    v.u.z[1] = im;
    return v;
}

static bool complex_binary(const char *name, aot_value x, aot_value y, aot_value *result)
{
    double a = real_of(x), b = x.kind == AOT_V_COMPLEX ? x.u.z[1] : 0;
    double c = real_of(y), d = y.kind == AOT_V_COMPLEX ? y.u.z[1] : 0, n = c * c + d * d;
    if (strcmp(name, "add") == 0) {
        *result = complex_value(a + c, b + d);
    } else if (strcmp(name, "sub") == 0) {
        *result = complex_value(a - c, b - d);
    } else if (strcmp(name, "mul") == 0) {
        *result = complex_value(a * c - b * d, a * d + b * c);
    } else if (strcmp(name, "truediv") == 0) {
        *result = complex_value((a * c + b * d) / n, (b * c - a * d) / n);
    } else {
        return false;
    }
    return true;
}

static bool number_binary(aot_tracer *t, const char *name, aot_value a, aot_value b,
                          aot_value *result)
{
    bool truth;
    double r;
    if (a.kind == AOT_V_COMPLEX || b.kind == AOT_V_COMPLEX) {
        return complex_binary(name, a, b, result);
    }
    if (is_integer(a) && is_integer(b)) {
        int64_t d = a.u.dim.value > b.u.dim.value ? 1 : a.u.dim.value < b.u.dim.value ? -1 : 0;
        if (compare(name, (double)d, &truth)) {
            *result = aot_v_bool(truth);
            return true;
        }
        if (int_binary(t, name, a, b, result)) {
            return true;
        }
    } else if (compare(name, real_of(a) == real_of(b) ? 0 : real_of(a) - real_of(b), &truth)) {
        *result = aot_v_bool(truth);
        return true;
    }
    if (float_binary(name, real_of(a), real_of(b), &r)) {
        *result = aot_v_float(r);
        return true;
    }
    return false;
}

/* ---- lists, other values --------------------------------------------------------------------- */

static bool list_binary(aot_tracer *t, const char *name, aot_value a, aot_value b,
                        aot_value *result)
{
    if (strcmp(name, "add") == 0 && aot_v_is_list(a) && aot_v_is_list(b)) {
        aot_value *v = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, a.n + b.n + 1);
        for (unsigned i = 0; i < a.n + b.n; i++) {
            v[i] = i < a.n ? a.u.items[i] : b.u.items[i - a.n];
        }
        *result = a.kind == AOT_V_LIST ? aot_v_list(t, a.n + b.n, v) : aot_v_tuple(t, a.n + b.n, v);
        return true;
    }
    if (strcmp(name, "mul") == 0 && aot_v_is_list(a) && b.kind == AOT_V_INT && b.u.dim.value >= 0) {
        unsigned n = a.n * (unsigned)b.u.dim.value;
        aot_value *v = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, n + 1);
        for (unsigned i = 0; i < n; i++) {
            v[i] = a.u.items[i % a.n];
        }
        *result = a.kind == AOT_V_LIST ? aot_v_list(t, n, v) : aot_v_tuple(t, n, v);
        return true;
    }
    return false;
}

static aot_value binary_of(aot_tracer *t, int i, aot_value a, aot_value b)
{
    aot_value result;
    if (a.kind == AOT_V_TENSOR || b.kind == AOT_V_TENSOR) {
        return tensor_binary(t, i, a, b);
    }
    if (aot_v_is_number(a) && aot_v_is_number(b) &&
        number_binary(t, binary[i].name, a, b, &result)) {
        return result;
    }
    if (list_binary(t, binary[i].name, a, b, &result)) {
        return result;
    }
    aot_trace_fail(t, AOT_E_UNSUPPORTED, "operator.%s of %s and %s", binary[i].name,
                   aot_l_kind_name(a), aot_l_kind_name(b));
}

/* ---- one operand ----------------------------------------------------------------------------- */

static bool unary(aot_tracer *t, const char *name, aot_value x, aot_value *result)
{
    static const struct {
        const char *name, *method;
    } tensor[] = {{"abs", "abs"}, {"inv", "bitwise_not"}, {"invert", "bitwise_not"},
                  {"neg", "neg"}, {"pos", "positive"}};
    for (size_t i = 0; i < sizeof tensor / sizeof *tensor; i++) {
        if (strcmp(tensor[i].name, name) == 0 && x.kind == AOT_V_TENSOR) {
            *result = aot_l_method(t, tensor[i].method, 1, &x);
            return true;
        }
    }
    if (strcmp(name, "pos") == 0 || strcmp(name, "index") == 0) {
        *result = x;
    } else if (strcmp(name, "not_") == 0 && aot_v_is_number(x)) {
        *result = aot_v_bool(x.kind == AOT_V_FLOAT ? x.u.f == 0 : x.u.dim.value == 0);
    } else if (strcmp(name, "truth") == 0 && aot_v_is_number(x)) {
        *result = aot_v_bool(x.kind == AOT_V_FLOAT ? x.u.f != 0 : x.u.dim.value != 0);
    } else if (strcmp(name, "neg") == 0 && x.kind == AOT_V_FLOAT) {
        *result = aot_v_float(-x.u.f);
    } else if (strcmp(name, "neg") == 0 && is_integer(x)) {
        *result = aot_v_dim(aot_trace_dim(t, '~', x.u.dim, x.u.dim));
    } else if (strcmp(name, "abs") == 0 && x.kind == AOT_V_FLOAT) {
        *result = aot_v_float(fabs(x.u.f));
    } else if (strcmp(name, "abs") == 0 && is_integer(x)) {
        *result = x.u.dim.value < 0 ? aot_v_dim(aot_trace_dim(t, '~', x.u.dim, x.u.dim)) : x;
    } else if ((strcmp(name, "invert") == 0 || strcmp(name, "inv") == 0) && is_integer(x) &&
               x.u.dim.expr == 0) {
        *result = aot_v_int(~x.u.dim.value);
    } else {
        return false;
    }
    return true;
}

/* ---- which operator is it -------------------------------------------------------------------- */

/* a OP= b: in place on a tensor that has such a method, else a OP b. */
static bool inplace(const aot_pycall *k, const char *name, aot_value *result)
{
    int i = *name == 'i' ? find_binary(name + 1, strlen(name + 1)) : -1;
    if (i < 0 || k->n != 2) {
        return false;
    }
    if (k->args[0].kind == AOT_V_TENSOR && binary[i].inplace != NULL) {
        how h = aot_starts_with(binary[i].inplace, "__") ? PACKET : METHOD;
        *result = call_as(k->t, h, binary[i].inplace, k->args[0], k->args[1]);
    } else {
        *result = binary_of(k->t, i, k->args[0], k->args[1]);
    }
    return true;
}

static bool named(const aot_pycall *k, const char *name, aot_value *result)
{
    int i = find_binary(name, strlen(name));
    if (i >= 0 && k->n == 2) {
        *result = binary_of(k->t, i, k->args[0], k->args[1]);
        return true;
    }
    if (strcmp(name, "getitem") == 0 && k->n == 2) {
        *result = aot_l_getitem(k->t, k->args[0], k->args[1]);
        return true;
    }
    if (strcmp(name, "setitem") == 0 && k->n == 3) {
        aot_l_setitem(k->t, k->args[0], k->args[1], k->args[2]);
        *result = aot_v_none();
        return true;
    }
    return inplace(k, name, result) || (k->n == 1 && unary(k->t, name, k->args[0], result));
}

bool aot_l_operator(const aot_pycall *k, const char *name, aot_value *result)
{
    char bare[32];
    size_t n = strlen(name);
    if (aot_starts_with(name, "operator.")) {
        return named(k, name + strlen("operator."), result);
    }
    if (!k->is_method || n < 6 || n - 4 >= sizeof bare || !aot_starts_with(name, "__") ||
        !aot_ends_with(name, "__")) {
        return false;
    }
    memcpy(bare, name + 2, n - 4);
    bare[n - 4] = '\0';
    int i = *bare == 'r' ? find_binary(bare + 1, n - 5) : -1;
    if (i >= 0 && find_binary(bare, n - 4) < 0 && k->n == 2) { /* x.__radd__(a): a + x */
        *result = k->args[0].kind == AOT_V_TENSOR
                      ? tensor_reflected(k->t, i, k->args[1], k->args[0])
                      : binary_of(k->t, i, k->args[1], k->args[0]);
        return true;
    }
    return named(k, bare, result);
}
