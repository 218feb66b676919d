/* Values of symbolic expressions, as sympy prints them: 16*s77, (s0//2) + 1, Max(1, u0).
 *
 * A precedence climber over the text; nothing is kept. Depth is bounded by MAX_DEPTH, so hostile
 * input cannot exhaust the stack. Integers stay integers; true division makes a float.
 * Mirrors torch/fx/experimental/symbolic_shapes.py:size_hint with
 * torch/utils/_sympy/functions.py. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "ir/graph.h"

enum { MAX_DEPTH = 64, MAX_ARGS = 16 };

typedef struct value {
    bool known, is_float;
    int64_t i;
    double f;
} value;

typedef struct scan {
    const aot_ctx *c;
    const char *p, *end;
    int depth;
    bool bad, assume; /* assume: backed symbols without a hint have one */
} scan;

static value integer(int64_t i)
{
    return (value){.known = true, .i = i, .f = (double)i};
}

static value real(double f)
{
    return (value){.known = true, .is_float = true, .f = f, .i = (int64_t)0};
}

static void blanks(scan *s)
{
    while (s->p < s->end && *s->p == ' ') {
        s->p++;
    }
}

static bool take(scan *s, const char *tok)
{
    size_t n = strlen(tok);
    blanks(s);
    if ((size_t)(s->end - s->p) >= n && memcmp(s->p, tok, n) == 0) {
        s->p += n;
        return true;
    }
    return false;
}

static value parse_expr(scan *s, int min_prec);

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}

static value power(value a, value b)
{
    if (a.is_float || b.is_float || b.i < 0) {
        return real(pow(a.f, b.f));
    }
    int64_t r = 1;
    for (int64_t k = 0; k < b.i; k++) {
        if (k > 64 || __builtin_mul_overflow(r, a.i, &r)) {
            return (value){0};
        }
    }
    return integer(r);
}

static value apply(char op, value a, value b)
{
    int64_t r;
    if (!a.known || !b.known) {
        return (value){0};
    }
    bool flt = a.is_float || b.is_float;
    switch (op) {
    case '+':
        return flt                                    ? real(a.f + b.f)
               : __builtin_add_overflow(a.i, b.i, &r) ? (value){0}
                                                      : integer(r);
    case '-':
        return flt                                    ? real(a.f - b.f)
               : __builtin_sub_overflow(a.i, b.i, &r) ? (value){0}
                                                      : integer(r);
    case '*':
        return flt                                    ? real(a.f * b.f)
               : __builtin_mul_overflow(a.i, b.i, &r) ? (value){0}
                                                      : integer(r);
    case '^':
        return power(a, b);
    case '/': // sympy prints an exact quotient this way
        if (b.f == 0) {
            return (value){0};
        }
        return !flt && a.i % b.i == 0 ? integer(a.i / b.i) : real(a.f / b.f);
    case 'd':
        if (b.f == 0) {
            return (value){0};
        }
        return flt ? real(floor(a.f / b.f)) : integer(floor_div(a.i, b.i));
    case '%':
        if (b.f == 0) {
            return (value){0};
        }
        return flt ? real(a.f - b.f * floor(a.f / b.f)) : integer(a.i - b.i * floor_div(a.i, b.i));
    case '<':
        return integer(a.f < b.f);
    case '>':
        return integer(a.f > b.f);
    case 'l':
        return integer(a.f <= b.f);
    case 'g':
        return integer(a.f >= b.f);
    case '=':
        return integer(a.f == b.f);
    case '!':
        return integer(a.f != b.f);
    case '&':
        return integer(a.i != 0 && b.i != 0);
    case '|':
        return integer(a.i != 0 || b.i != 0);
    default:
        return (value){0};
    }
}

static value to_int(value a, double (*round_fn)(double))
{
    return !a.known ? a : a.is_float ? integer((int64_t)round_fn(a.f)) : a;
}

/* One row a function of sympy's printed form that two values decide. */
static const struct {
    const char *name;
    char op;
} binary_functions[] = {
    {"FloorDiv", 'd'},     {"CleanDiv", 'd'},     {"Mod", '%'},          {"PythonMod", '%'},
    {"IntTrueDiv", 'q'},   {"FloatTrueDiv", 'q'}, {"PowByNatural", '^'}, {"FloatPow", '^'},
    {"Pow", '^'},          {"Eq", '='},           {"Ne", '!'},           {"Lt", '<'},
    {"Le", 'l'},           {"Gt", '>'},           {"Ge", 'g'},           {"CeilDiv", 'c'},
    {"CeilToIntDiv", 'c'},
};

typedef enum unary { FLOOR, CEIL, TRUNC, ROUND, TO_FLOAT, ABS, SQRT, IDENTITY, NOT } unary;

/* One row a function of one value. */
static const struct {
    const char *name;
    unary op;
} unary_functions[] = {
    {"floor", FLOOR},      {"FloorToInt", FLOOR},        {"ceiling", CEIL},
    {"CeilToInt", CEIL},   {"TruncToInt", TRUNC},        {"Trunc", TRUNC},
    {"RoundToInt", ROUND}, {"ToFloat", TO_FLOAT},        {"Abs", ABS},
    {"sqrt", SQRT},        {"OpaqueUnaryFn_sqrt", SQRT}, {"Identity", IDENTITY},
    {"Not", NOT},
};

static value apply_unary(unary op, value a)
{
    switch (op) {
    case FLOOR:
        return to_int(a, floor);
    case CEIL:
        return to_int(a, ceil);
    case TRUNC:
        return to_int(a, trunc);
    case ROUND:
        return to_int(a, rint);
    case TO_FLOAT:
        return real(a.f);
    case ABS:
        return a.is_float ? real(fabs(a.f)) : integer(a.i < 0 ? (int64_t)(0 - (uint64_t)a.i) : a.i);
    case SQRT:
        return real(sqrt(a.f));
    case IDENTITY:
        return a;
    case NOT:
        return integer(a.i == 0);
    }
    return (value){0};
}

static value apply_binary(char op, value a, value b)
{
    if (op == 'q') {
        return b.f == 0 ? (value){0} : real(a.f / b.f);
    }
    if (op == 'c') {
        value q = apply('d', apply('*', a, integer(-1)), b);
        return apply('*', q, integer(-1));
    }
    return apply(op, a, b);
}

static value call(const char *name, size_t n, const value *a, int n_args)
{
#define IS(text) (strlen(text) == n && memcmp(name, text, n) == 0)
    for (int i = 0; i < n_args; i++) {
        if (!a[i].known) {
            return (value){0};
        }
    }
    if ((IS("Max") || IS("Min")) && n_args > 0) {
        value r = a[0];
        for (int i = 1; i < n_args; i++) {
            if (IS("Max") ? a[i].f > r.f : a[i].f < r.f) {
                r = a[i];
            }
        }
        return r;
    }
    if (n_args == 3 && IS("Where")) {
        return a[0].i != 0 ? a[1] : a[2];
    }
    for (size_t k = 0; n_args == 1 && k < sizeof unary_functions / sizeof *unary_functions; k++) {
        if (IS(unary_functions[k].name)) {
            return apply_unary(unary_functions[k].op, a[0]);
        }
    }
    for (size_t k = 0; n_args == 2 && k < sizeof binary_functions / sizeof *binary_functions; k++) {
        if (IS(binary_functions[k].name)) {
            return apply_binary(binary_functions[k].op, a[0], a[1]);
        }
    }
    return (value){0};
#undef IS
}

static value parse_name(scan *s)
{
    const char *start = s->p;
    while (s->p < s->end && (isalnum((unsigned char)*s->p) || *s->p == '_' || *s->p == '.')) {
        s->p++;
    }
    size_t n = (size_t)(s->p - start);
    if (!take(s, "(")) {
        if (n == 4 && memcmp(start, "True", 4) == 0) {
            return integer(1);
        }
        if (n == 5 && memcmp(start, "False", 5) == 0) {
            return integer(0);
        }
        int64_t h = aot_ctx_hint(s->c, start, n);
        if (h == AOT_HINT_NONE && s->assume && aot_symbol_is_backed(start, n)) {
            h = AOT_HINT_ASSUMED;
        }
        return h == AOT_HINT_NONE ? (value){0} : integer(h);
    }
    value args[MAX_ARGS];
    int n_args = 0;
    while (!s->bad && !take(s, ")")) {
        value v = parse_expr(s, 0);
        if (n_args < MAX_ARGS) {
            args[n_args++] = v;
        } else {
            s->bad = true;
        }
        if (!take(s, ",") && (blanks(s), s->p >= s->end || *s->p != ')')) {
            s->bad = true;
        }
    }
    return call(start, n, args, n_args);
}

static value parse_number(scan *s)
{
    int64_t i = 0;
    double f = 0, scale = 1;
    bool is_float = false, overflow = false;
    for (; s->p < s->end && isdigit((unsigned char)*s->p); s->p++) {
        overflow |= __builtin_mul_overflow(i, (int64_t)10, &i) ||
                    __builtin_add_overflow(i, (int64_t)(*s->p - '0'), &i);
        f = f * 10 + (*s->p - '0');
    }
    if (s->p < s->end && *s->p == '.') {
        is_float = true;
        for (s->p++; s->p < s->end && isdigit((unsigned char)*s->p); s->p++) {
            scale /= 10;
            f += (*s->p - '0') * scale;
        }
    }
    return is_float ? real(f) : overflow ? (value){0} : integer(i);
}

static value parse_unary(scan *s)
{
    if (++s->depth > MAX_DEPTH) {
        s->bad = true;
    }
    value v = {0};
    blanks(s);
    if (s->bad || s->p >= s->end) {
        s->bad = true;
    } else if (take(s, "-")) {
        v = apply('*', integer(-1), parse_expr(s, 6));
    } else if (take(s, "~")) {
        v = parse_expr(s, 6);
        v.i = v.i == 0;
        v.f = (double)v.i;
    } else if (take(s, "(")) {
        v = parse_expr(s, 0);
        s->bad |= !take(s, ")");
    } else if (isdigit((unsigned char)*s->p)) {
        v = parse_number(s);
    } else if (isalpha((unsigned char)*s->p) || *s->p == '_') {
        v = parse_name(s);
    } else {
        s->bad = true;
    }
    s->depth--;
    return v;
}

/* Longer spellings first. */
static const struct {
    const char *tok;
    char op;
    int prec;
} operators[] = {
    {"**", '^', 7}, {"//", 'd', 5}, {"<=", 'l', 3}, {">=", 'g', 3}, {"==", '=', 3}, {"!=", '!', 3},
    {"*", '*', 5},  {"/", '/', 5},  {"%", '%', 5},  {"+", '+', 4},  {"-", '-', 4},  {"<", '<', 3},
    {">", '>', 3},  {"&", '&', 2},  {"|", '|', 1},
};

static value parse_expr(scan *s, int min_prec)
{
    value left = parse_unary(s);
    while (!s->bad) {
        size_t k = 0, n_ops = sizeof operators / sizeof *operators;
        const char *before = s->p;
        while (k < n_ops && !take(s, operators[k].tok)) {
            k++;
        }
        if (k == n_ops || operators[k].prec < min_prec) {
            s->p = before;
            break;
        }
        left = apply(operators[k].op, left,
                     parse_expr(s, operators[k].prec + (operators[k].op != '^')));
    }
    return left;
}

bool aot_symbol_is_backed(const char *name, size_t n)
{
    return n > 1 && name[0] == 's' && strspn(name + 1, "0123456789") >= n - 1;
}

static int64_t eval(const aot_ctx *c, const char *expr, size_t n, bool assume)
{
    scan s = {.c = c, .p = expr, .end = expr + n, .assume = assume};
    value v = parse_expr(&s, 0);
    blanks(&s);
    if (s.bad || s.p != s.end || !v.known || v.is_float) {
        return AOT_HINT_NONE;
    }
    return v.i;
}

int64_t aot_sym_eval(const aot_ctx *c, const char *expr, size_t n)
{
    return eval(c, expr, n, false);
}

int64_t aot_dim_assumed(const aot_ctx *c, const aot_dim *d)
{
    return d->value != AOT_HINT_NONE || d->expr == 0
               ? d->value
               : eval(c, aot_text(c, d->expr), aot_str_len(c->strs, d->expr), true);
}

int64_t aot_dim_size(const aot_ctx *c, const aot_dim *d)
{
    int64_t v = aot_dim_assumed(c, d);
    return v == AOT_HINT_NONE ? AOT_HINT_ASSUMED : v;
}

void aot_sym_each(const char *expr, size_t n, void (*fn)(void *, const char *, size_t), void *arg)
{
    const char *p = expr, *end = expr + n;
    while (p < end) {
        if (!isalpha((unsigned char)*p) && *p != '_') {
            // skip a number with what is glued to it
            if (isdigit((unsigned char)*p)) {
                while (p < end && (isalnum((unsigned char)*p) || *p == '_')) {
                    p++;
                }
            } else {
                p++;
            }
            continue;
        }
        const char *start = p;
        while (p < end && (isalnum((unsigned char)*p) || *p == '_' || *p == '.')) {
            p++;
        }
        size_t len = (size_t)(p - start);
        bool is_call = p < end && *p == '(';
        bool is_word = (len == 4 && memcmp(start, "True", 4) == 0) ||
                       (len == 5 && memcmp(start, "False", 5) == 0);
        bool seen = false;
        for (const char *q = expr; q + len <= start && !seen; q++) {
            bool left = q == expr || !(isalnum((unsigned char)q[-1]) || q[-1] == '_');
            seen = left && memcmp(q, start, len) == 0 &&
                   !(isalnum((unsigned char)q[len]) || q[len] == '_');
        }
        if (!is_call && !is_word && !seen) {
            fn(arg, start, len);
        }
    }
}
