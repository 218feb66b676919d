/* sympy expressions from srepr to str.
 *
 *   Add(Mul(Integer(2), Symbol('u0', integer=True)), Integer(1))   ->   2*u0 + 1
 *
 * An archive keeps sizes as srepr; graphs print str. srepr keeps the order in which str prints
 * terms and factors, so what remains is precedence, signs and quotients.
 * Mirrors: sympy/printing/str.py and precedence.py, with the precedences that
 * torch/utils/_sympy/functions.py gives its functions. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/pt2.h"

enum { MAX_DEPTH = 64 };

/* sympy's precedences. */
enum {
    P_OR = 20,
    P_AND = 30,
    P_BIT_OR = 36, /* what their operands are printed for */
    P_BIT_AND = 38,
    P_REL = 35,
    P_ADD = 40,
    P_MUL = 50,
    P_POW = 60,
    P_FUNC = 70,
    P_NOT = 100,
    P_ATOM = 1000
};

typedef struct term {
    const char *name; /* Symbol, Integer, Add, FloorDiv ...; a plain word for true, oo */
    size_t name_n;
    const char *text; /* Symbol's name, digits of a number */
    size_t text_n;
    struct term **args;
    size_t n;
} term;

typedef struct reader {
    const char *p, *end;
    aot_arena *arena;
    int depth;
} reader;

/* How functions that are no plain calls print. */
typedef enum form {
    F_CALL,
    F_ADD,
    F_MUL,
    F_POW,
    F_FLOORDIV,
    F_INFIX,
    F_JOIN,
    F_NOT,
    F_IDENTITY
} form;

static const struct {
    const char *name;
    form form;
    int precedence;
    const char *text; /* operator, or the name as printed */
} functions[] = {
    {"Add", F_ADD, P_ADD, NULL},
    {"Mul", F_MUL, P_MUL, NULL},
    {"Pow", F_POW, P_POW, NULL},
    {"FloorDiv", F_FLOORDIV, P_REL, NULL},
    {"CleanDiv", F_FLOORDIV, P_REL, NULL},
    {"Mod", F_CALL, P_REL, NULL},
    {"PythonMod", F_CALL, P_REL, NULL},
    {"ModularIndexing", F_CALL, P_REL, NULL},
    {"Where", F_CALL, P_REL, NULL},
    {"IntTrueDiv", F_CALL, P_REL, NULL},
    {"FloatTrueDiv", F_CALL, P_REL, NULL},
    {"PowByNatural", F_CALL, P_MUL, NULL},
    {"FloatPow", F_CALL, P_POW, NULL},
    {"Identity", F_IDENTITY, 10, NULL},
    {"Max", F_CALL, P_ATOM, NULL},
    {"Min", F_CALL, P_ATOM, NULL},
    {"ExprCondPair", F_CALL, P_ATOM, ""},
    {"Equality", F_CALL, P_MUL, "Eq"},
    {"Unequality", F_CALL, P_MUL, "Ne"},
    {"StrictGreaterThan", F_INFIX, P_REL, " > "},
    {"GreaterThan", F_INFIX, P_REL, " >= "},
    {"StrictLessThan", F_INFIX, P_REL, " < "},
    {"LessThan", F_INFIX, P_REL, " <= "},
    {"And", F_JOIN, P_AND, " & "},
    {"Or", F_JOIN, P_OR, " | "},
    {"Not", F_NOT, P_NOT, NULL},
};

static int function_of(const term *t)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strlen(functions[i].name) == t->name_n &&
            memcmp(functions[i].name, t->name, t->name_n) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool is(const term *t, const char *name)
{
    return strlen(name) == t->name_n && memcmp(name, t->name, t->name_n) == 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

static void blanks(reader *r)
{
    while (r->p < r->end && *r->p == ' ') {
        r->p++;
    }
}

static bool take(reader *r, char ch)
{
    blanks(r);
    if (r->p < r->end && *r->p == ch) {
        r->p++;
        return true;
    }
    return false;
}

static bool is_word(char ch)
{
    return isalnum((unsigned char)ch) || ch == '_' || ch == '.';
}

static void read_word(reader *r, const char **s, size_t *n)
{
    *s = r->p;
    while (r->p < r->end && is_word(*r->p)) {
        r->p++;
    }
    *n = (size_t)(r->p - *s);
}

static term *read_term(reader *r);

/* 'text' or "text": what stands between the quotes; no escapes occur in symbols and digits. */
static bool read_quoted(reader *r, term *t)
{
    blanks(r);
    if (r->p >= r->end || (*r->p != '\'' && *r->p != '"')) {
        return false;
    }
    char quote = *r->p++;
    const char *close = memchr(r->p, quote, (size_t)(r->end - r->p));
    if (close == NULL) {
        return false;
    }
    t->text = r->p;
    t->text_n = (size_t)(close - r->p);
    r->p = close + 1;
    return true;
}

/* name=value arguments (assumptions, precision) are passed over. */
static bool skip_keyword(reader *r)
{
    const char *start = r->p, *s;
    size_t n;
    read_word(r, &s, &n);
    if (n > 0 && r->p < r->end && *r->p == '=') {
        r->p++;
        read_word(r, &s, &n);
        return n > 0;
    }
    r->p = start;
    return false;
}

static bool read_args(reader *r, term *t)
{
    AOT_VEC(term *) args = {0};
    bool ok = true;
    while (ok && !take(r, ')')) {
        blanks(r);
        term *a = NULL;
        if (t->text == NULL && read_quoted(r, t)) {
            // Symbol('s0', ...), Float('0.5', ...)
        } else if (!skip_keyword(r)) {
            a = read_term(r);
            ok = a != NULL;
            if (ok) {
                aot_vec_push(&args, a);
            }
        }
        blanks(r);
        ok = ok && (take(r, ',') || (r->p < r->end && *r->p == ')'));
    }
    if (ok && args.n > 0) {
        t->args = AOT_NEW_ARRAY(r->arena, term *, args.n);
        memcpy(t->args, args.d, args.n * sizeof *args.d);
        t->n = args.n;
    }
    aot_vec_free(&args);
    return ok;
}

static term *read_term(reader *r)
{
    term *t = AOT_NEW(r->arena, term);
    blanks(r);
    bool minus = r->p < r->end && *r->p == '-';
    const char *start = r->p;
    r->p += minus;
    read_word(r, &t->name, &t->name_n);
    if (t->name_n == 0 || ++r->depth > MAX_DEPTH) {
        return NULL;
    }
    if (isdigit((unsigned char)t->name[0])) { // a bare number: the argument of Integer
        t->text = start;
        t->text_n = (size_t)(r->p - start);
        t->name = "Integer";
        t->name_n = 7;
    } else if (minus || (take(r, '(') && !read_args(r, t))) {
        return NULL;
    }
    if (t->n == 1 && t->text == NULL && is(t, "Integer")) { // Integer(4)
        t->text = t->args[0]->text;
        t->text_n = t->args[0]->text_n;
        t->n = 0;
    }
    r->depth--;
    return t;
}

/* ---- printing ------------------------------------------------------------------------------ */

static void print(aot_sb *out, const term *t, int depth);

static bool is_negative(const term *t)
{
    if (t->text_n > 0 && t->text[0] == '-' && !is(t, "Symbol")) {
        return true;
    }
    return (is(t, "Mul") || is(t, "Rational")) && t->n > 0 && is_negative(t->args[0]);
}

static int precedence(const term *t)
{
    if (is(t, "Mul")) {
        for (size_t i = 0; i < t->n; i++) { // sympy: such a product binds as one whatever its sign
            int f = function_of(t->args[i]);
            if (f >= 0 && functions[f].precedence < P_MUL && functions[f].form != F_ADD &&
                functions[f].form != F_INFIX && functions[f].form != F_JOIN) {
                return P_MUL;
            }
        }
        return is_negative(t) ? P_ADD : P_MUL;
    }
    if (is(t, "Rational")) {
        return is_negative(t) ? P_ADD : P_MUL;
    }
    if (is(t, "Integer") || is(t, "Float")) {
        return is_negative(t) ? P_ADD : P_ATOM;
    }
    int f = function_of(t);
    return f >= 0 ? functions[f].precedence : t->n > 0 ? P_FUNC : P_ATOM;
}

/* With parentheses if it binds weaker than level, or as weak unless strict. */
static void print_in(aot_sb *out, const term *t, int level, bool strict, int depth)
{
    int own = precedence(t);
    bool parens = own < level || (!strict && own <= level);
    aot_sb_addz(out, parens ? "(" : "");
    print(out, t, depth + 1);
    aot_sb_addz(out, parens ? ")" : "");
}

/* 15 significant digits; within a larger expression without the zeros at the end. */
static void print_float(aot_sb *out, double v, bool whole)
{
    char buf[40], digits[20];
    snprintf(buf, sizeof buf, "%.14e", v < 0 ? -v : v);
    int exp10 = atoi(strchr(buf, 'e') + 1), n = 15;
    bool fixed = exp10 > -5 && exp10 < 15;
    snprintf(digits, sizeof digits, "%c%.14s", buf[0], buf + 2);
    int before = !fixed ? 1 : exp10 >= 0 ? exp10 + 1 : 0;
    while (!whole && n > before + 1 && n > 1 && digits[n - 1] == '0') {
        n--;
    }
    aot_sb_addz(out, v < 0 ? "-" : "");
    aot_sb_add(out, digits, (size_t)before);
    aot_sb_addz(out, before == 0 ? "0." : ".");
    aot_sb_pad(out, '0', fixed && exp10 < 0 ? (size_t)(-exp10 - 1) : 0);
    aot_sb_add(out, digits + before, (size_t)(n - before));
    if (!fixed) {
        aot_sb_addf(out, exp10 > 0 ? "e+%d" : "e%d", exp10);
    }
}

static void print_number(aot_sb *out, const term *t, int depth)
{
    if (is(t, "Rational") && t->n == 2) {
        print(out, t->args[0], depth + 1);
        aot_sb_addc(out, '/');
        print(out, t->args[1], depth + 1);
    } else if (is(t, "Float")) {
        char buf[64] = "";
        memcpy(buf, t->text, t->text_n < sizeof buf - 1 ? t->text_n : sizeof buf - 1);
        double v = strtod(buf, NULL);
        if (v == v && v - v == 0) {
            print_float(out, v, depth == 0);
        } else { // inf, nan
            aot_sb_add(out, t->text, t->text_n);
        }
    } else {
        aot_sb_add(out, t->text, t->text_n);
    }
}

static void print_sum(aot_sb *out, const term *t, int depth)
{
    for (size_t i = 0; i < t->n; i++) {
        aot_sb one = {0};
        print_in(&one, t->args[i], P_ADD, true, depth);
        const char *text = aot_sb_text(&one);
        bool minus = text[0] == '-';
        if (i > 0) {
            aot_sb_addz(out, minus ? " - " : " + ");
        } else if (minus) {
            aot_sb_addc(out, '-');
        }
        aot_sb_addz(out, text + minus);
        aot_sb_free(&one);
    }
}

/* x**-1 belongs below the line; its positive power goes to *power ("" for 1). */
static bool is_divisor(const term *t, const char **power, size_t *power_n)
{
    const term *e = is(t, "Pow") && t->n == 2 ? t->args[1] : NULL;
    if (e == NULL || !is(e, "Integer") || e->text_n < 2 || e->text[0] != '-') {
        return false;
    }
    *power = e->text + 1;
    *power_n = e->text_n - 1;
    return true;
}

static void print_product(aot_sb *out, const term *t, int depth)
{
    aot_sb above = {0}, below = {0};
    const char *power;
    size_t power_n, n_below = 0;
    bool minus = is_negative(t);
    for (size_t i = 0; i < t->n; i++) {
        const term *a = t->args[i];
        aot_sb one = {0};
        if (is_divisor(a, &power, &power_n)) {
            bool plain = power_n == 1 && power[0] == '1';
            print_in(&one, a->args[0], plain ? P_MUL : P_POW, false, depth);
            if (!plain) {
                aot_sb_addf(&one, "**%.*s", (int)power_n, power);
            }
            aot_sb_addf(&below, "%s%s", n_below++ > 0 ? "*" : "", aot_sb_text(&one));
        } else if (i == 0 && is(a, "Rational") && a->n == 2) {
            print(&one, a->args[0], depth + 1);
            const char *text = aot_sb_text(&one) + minus;
            if (strcmp(text, "1") != 0) {
                aot_sb_addz(&above, text);
            }
            print(&below, a->args[1], depth + 1);
            n_below++;
        } else if (i == 0 && minus) { // the sign stands before the whole
            print(&one, a, depth + 1);
            const char *text = aot_sb_text(&one) + 1;
            if (strcmp(text, "1") != 0) {
                aot_sb_addz(&above, text);
            }
        } else {
            print_in(&one, a, P_MUL, false, depth);
            aot_sb_addf(&above, "%s%s", above.n > 0 ? "*" : "", aot_sb_text(&one));
        }
        aot_sb_free(&one);
    }
    aot_sb_addz(out, minus ? "-" : "");
    aot_sb_addz(out, above.n > 0 ? aot_sb_text(&above) : "1");
    if (n_below > 0) {
        aot_sb_addf(out, n_below > 1 ? "/(%s)" : "/%s", aot_sb_text(&below));
    }
    aot_sb_free(&above);
    aot_sb_free(&below);
}

static void print_power(aot_sb *out, const term *t, int depth)
{
    const char *power;
    size_t n;
    const term *e = t->args[1];
    bool half = is(e, "Rational") && e->n == 2 && e->args[0]->text_n == 1 &&
                e->args[0]->text[0] == '1' && e->args[1]->text_n == 1 && e->args[1]->text[0] == '2';
    if (half) {
        aot_sb_addz(out, "sqrt(");
        print(out, t->args[0], depth + 1);
        aot_sb_addc(out, ')');
    } else if (is_divisor(t, &power, &n) && n == 1 && power[0] == '1') {
        aot_sb_addz(out, "1/");
        print_in(out, t->args[0], P_POW, false, depth);
    } else {
        print_in(out, t->args[0], P_POW, false, depth);
        aot_sb_addz(out, "**");
        print_in(out, e, P_POW, false, depth);
    }
}

static void print_joined(aot_sb *out, const term *t, const char *op, int level, int depth)
{
    for (size_t i = 0; i < t->n; i++) {
        aot_sb_addz(out, i > 0 ? op : "");
        print_in(out, t->args[i], level, true, depth);
    }
}

static void print_call(aot_sb *out, const term *t, const char *name, int depth)
{
    if (name != NULL) {
        aot_sb_addz(out, name);
    } else {
        aot_sb_add(out, t->name, t->name_n);
    }
    aot_sb_addc(out, '(');
    for (size_t i = 0; i < t->n; i++) {
        aot_sb_addz(out, i > 0 ? ", " : "");
        print(out, t->args[i], depth + 1);
    }
    aot_sb_addc(out, ')');
}

static size_t operands_of(form f)
{
    return f == F_POW || f == F_FLOORDIV || f == F_INFIX ? 2 : 1;
}

static void print(aot_sb *out, const term *t, int depth)
{
    int f = function_of(t);
    if (depth > 2 * MAX_DEPTH) {
        aot_sb_addz(out, "...");
    } else if (is(t, "Symbol")) {
        aot_sb_add(out, t->text, t->text_n);
    } else if (t->text != NULL || is(t, "Rational")) {
        print_number(out, t, depth);
    } else if (t->n == 0) {
        bool named = is(t, "true") || is(t, "false"); // sympy's booleans
        aot_sb_addz(out, named ? (is(t, "true") ? "True" : "False") : "");
        aot_sb_add(out, t->name, named ? 0 : t->name_n);
    } else if (f < 0 || functions[f].form == F_CALL || t->n < operands_of(functions[f].form)) {
        print_call(out, t, f >= 0 ? functions[f].text : NULL, depth);
    } else if (functions[f].form == F_ADD) {
        print_sum(out, t, depth);
    } else if (functions[f].form == F_MUL) {
        print_product(out, t, depth);
    } else if (functions[f].form == F_POW) {
        print_power(out, t, depth);
    } else if (functions[f].form == F_FLOORDIV) {
        aot_sb_addc(out, '(');
        print_in(out, t->args[0], P_ATOM, true, depth);
        aot_sb_addz(out, "//");
        print_in(out, t->args[1], P_ATOM, true, depth);
        aot_sb_addc(out, ')');
    } else if (functions[f].form == F_NOT) {
        aot_sb_addc(out, '~');
        print_in(out, t->args[0], P_NOT, true, depth);
    } else if (functions[f].form == F_IDENTITY) {
        aot_sb_addc(out, '(');
        print(out, t->args[0], depth + 1);
        aot_sb_addc(out, ')');
    } else {
        // sympy prints operands of And and Or as for & and | of integers
        int own = functions[f].precedence;
        int level = own == P_AND ? P_BIT_AND : own == P_OR ? P_BIT_OR : own;
        print_joined(out, t, functions[f].text, level, depth);
    }
}

bool aot_pt2_sympy(aot_sb *out, const char *srepr, size_t n, bool *symbol)
{
    reader r = {.p = srepr, .end = srepr + n, .arena = aot_arena_new()};
    const term *t = read_term(&r);
    blanks(&r);
    bool ok = t != NULL && r.p == r.end;
    *symbol = ok && is(t, "Symbol");
    if (ok) {
        print(out, t, 0);
    }
    aot_arena_free(r.arena);
    return ok;
}
