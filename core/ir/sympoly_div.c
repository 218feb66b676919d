/* Quotients, remainders, maxima of sizes, and the reader of printed expressions.
 *
 * A quotient is simplified as torch does: multiples of a number are taken out, common factors are
 * cancelled, quotients of quotients are joined; the rest is an opaque atom.
 * Mirrors torch/utils/_sympy/functions.py:FloorDiv.eval, Mod.eval, PythonMod.eval, MinMaxBase. */
#include <ctype.h>
#include <string.h>

#include "ir/sympoly.h"

enum { MAX_DEPTH = 48, MAX_ARGS = 8 };

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t r = b == -1 ? 0 : a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

static bool same(const aot_poly *x, const aot_poly *y)
{
    return aot_poly_compare(x, y) == 0;
}

static bool same_atom(const aot_atom *x, const aot_atom *y)
{
    aot_factor fx = {x, 1}, fy = {y, 1};
    aot_term tx = {1, 1, &fx}, ty = {1, 1, &fy};
    return same(&(aot_poly){1, &tx}, &(aot_poly){1, &ty});
}

static unsigned exponent(const aot_term *t, const aot_atom *a)
{
    for (unsigned i = 0; i < t->n; i++) {
        if (same_atom(t->f[i].atom, a)) {
            return t->f[i].exp;
        }
    }
    return 0;
}

/* x / y if it is a term with an integer coefficient. */
static bool div_term(aot_arena *a, const aot_term *x, const aot_term *y, aot_term *out)
{
    *out = (aot_term){.f = AOT_NEW_ARRAY(a, aot_factor, x->n)};
    if (y->coef == 0 || y->coef == -1 || x->coef % y->coef != 0) {
        return false;
    }
    out->coef = x->coef / y->coef;
    unsigned matched = 0;
    for (unsigned i = 0; i < x->n; i++) {
        unsigned e = exponent(y, x->f[i].atom);
        if (e > x->f[i].exp) {
            return false;
        }
        matched += e != 0;
        if (x->f[i].exp > e) {
            out->f[out->n++] = (aot_factor){x->f[i].atom, x->f[i].exp - e};
        }
    }
    return matched == y->n;
}

/* The quotient if y divides x without remainder, else NULL. */
static const aot_poly *exact(aot_arena *a, const aot_poly *x, const aot_poly *y)
{
    const aot_poly *q = aot_poly_int(a, 0);
    for (unsigned step = 0; x != NULL && q != NULL && x->n > 0; step++) {
        aot_term t;
        if (y->n == 0 || step > 64 || !div_term(a, &x->t[0], &y->t[0], &t)) {
            return NULL;
        }
        aot_poly one = {1, &t};
        const aot_poly *back = aot_poly_mul_out(a, &one, y);
        q = aot_poly_add(a, q, &one, 1);
        x = back != NULL ? aot_poly_add(a, x, back, -1) : NULL;
    }
    return x != NULL ? aot_poly_unwrap(a, q) : NULL;
}

/* The greatest term that divides all terms of x and y. */
static aot_term common(aot_arena *a, const aot_poly *x, const aot_poly *y)
{
    aot_term g = {.f = AOT_NEW_ARRAY(a, aot_factor, x->t[0].n)};
    const aot_poly *both[] = {x, y};
    for (unsigned p = 0; p < 2; p++) {
        for (unsigned i = 0; i < both[p]->n; i++) {
            g.coef = gcd(g.coef, both[p]->t[i].coef);
        }
    }
    for (unsigned k = 0; k < x->t[0].n; k++) {
        aot_factor f = x->t[0].f[k];
        for (unsigned p = 0; p < 2; p++) {
            for (unsigned i = 0; i < both[p]->n; i++) {
                unsigned e = exponent(&both[p]->t[i], f.atom);
                f.exp = e < f.exp ? e : f.exp;
            }
        }
        if (f.exp > 0) {
            g.f[g.n++] = f;
        }
    }
    return g;
}

static const aot_poly *binary(aot_arena *a, const char *name, const aot_poly *x, const aot_poly *y)
{
    return aot_poly_atom(a, name, strlen(name), (const aot_poly *[]){x, y}, 2);
}

/* The only atom of x, if x is one. */
static const aot_atom *only_atom(const aot_poly *x)
{
    bool one = x->n == 1 && x->t[0].n == 1 && x->t[0].coef == 1 && x->t[0].f[0].exp == 1;
    return one ? x->t[0].f[0].atom : NULL;
}

/* Terms of x that the number d divides go to *q, divided; the rest is returned. */
static const aot_poly *take_multiples(aot_arena *a, const aot_poly *x, int64_t d, aot_poly *q)
{
    aot_poly *rest = AOT_NEW(a, aot_poly);
    rest->t = AOT_NEW_ARRAY(a, aot_term, x->n);
    *q = (aot_poly){0, AOT_NEW_ARRAY(a, aot_term, x->n)};
    for (unsigned i = 0; i < x->n; i++) {
        if (x->t[i].coef % d == 0) {
            q->t[q->n] = x->t[i];
            q->t[q->n++].coef /= d;
        } else {
            rest->t[rest->n++] = x->t[i];
        }
    }
    return rest;
}

const aot_poly *aot_poly_floordiv(aot_arena *a, const aot_poly *x, const aot_poly *y)
{
    int64_t n, d;
    bool by_number = aot_poly_is_int(y, &d);
    if (x == NULL || (by_number && d == 0)) {
        return NULL;
    }
    if (x->n == 0 || (by_number && d == 1)) {
        return x;
    }
    if (by_number && d == -1) {
        return aot_poly_add(a, aot_poly_int(a, 0), x, -1);
    }
    if (same(x, y)) {
        return aot_poly_int(a, 1);
    }
    if (by_number && aot_poly_is_int(x, &n)) {
        return aot_poly_int(a, n / d - (n % d != 0 && (n % d < 0) != (d < 0)));
    }
    const aot_atom *atom = only_atom(x);
    if (atom != NULL && strcmp(atom->name, "FloorDiv") == 0 && atom->n_args == 2) {
        const aot_poly *by = aot_poly_mul(a, atom->args[1], y);
        return by != NULL ? aot_poly_floordiv(a, atom->args[0], by) : NULL;
    }
    if (by_number) {
        aot_poly q;
        const aot_poly *rest = take_multiples(a, x, d, &q);
        if (q.n > 0) {
            rest = aot_poly_floordiv(a, rest, y);
            return rest != NULL ? aot_poly_add(a, rest, &q, 1) : NULL;
        }
    }
    const aot_poly *whole = y->n > 1 ? exact(a, x, aot_poly_factor(a, y)) : NULL;
    if (whole != NULL) {
        return whole;
    }
    aot_term g = common(a, x, y);
    if (g.coef != 1 || g.n > 0) {
        aot_poly by = {1, &g};
        return aot_poly_floordiv(a, exact(a, x, &by), exact(a, y, &by));
    }
    const aot_poly *q = NULL;
    if (y->n > 1) {
        const aot_poly *flat_x = aot_poly_expand(a, x), *flat_y = aot_poly_expand(a, y);
        q = flat_x != NULL && flat_y != NULL ? exact(a, flat_x, flat_y) : NULL;
    }
    return q != NULL ? q : binary(a, "FloorDiv", x, y);
}

/* ---- bounds
 * --------------------------------------------------------------------------------------- */

static bool lower_bound(const aot_poly *p, int64_t *out);

/* What sympy's assumptions say: backed symbols are at least 1, quotients and remainders of such
 * are not negative; unbacked symbols can be anything. */
static bool atom_bound(const aot_atom *a, int64_t *out)
{
    int64_t x = 0, y = 0;
    if (a->n_args == 0) {
        *out = 1;
        return a->name[0] == 's';
    }
    if (a->name[0] == '+') {
        return lower_bound(a->args[0], out);
    }
    if (strcmp(a->name, "Max") == 0) {
        bool any = false;
        for (unsigned i = 0; i < a->n_args; i++) {
            if (lower_bound(a->args[i], &x)) {
                *out = !any || x > *out ? x : *out;
                any = true;
            }
        }
        return any;
    }
    if (strcmp(a->name, "Min") == 0) {
        bool all = lower_bound(a->args[0], out);
        for (unsigned i = 1; all && i < a->n_args; i++) {
            all = lower_bound(a->args[i], &x);
            *out = x < *out ? x : *out;
        }
        return all;
    }
    *out = 0;
    if (strcmp(a->name, "Mod") == 0) {
        return true;
    }
    return a->n_args == 2 &&
           (strcmp(a->name, "FloorDiv") == 0 || strcmp(a->name, "PythonMod") == 0) &&
           lower_bound(a->args[1], &y) && y >= 1 &&
           (a->name[0] == 'P' || (lower_bound(a->args[0], &x) && x >= 0));
}

static bool lower_bound(const aot_poly *p, int64_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < p->n; i++) {
        int64_t v = p->t[i].coef, b = 0;
        for (unsigned k = 0; k < p->t[i].n; k++) {
            if (v < 0 || !atom_bound(p->t[i].f[k].atom, &b) || b < 0) {
                return false;
            }
            for (unsigned e = 0; e < p->t[i].f[k].exp && v != 0; e++) {
                if (__builtin_mul_overflow(v, b, &v)) {
                    return false;
                }
            }
        }
        if (__builtin_add_overflow(*out, v, out)) {
            return false;
        }
    }
    return true;
}

static bool at_least_zero(const aot_poly *p)
{
    int64_t b;
    return p != NULL && lower_bound(p, &b) && b >= 0;
}

/* ---- remainders and extremes
 * ------------------------------------------------------------------------ */

static const aot_poly *remainder_named(aot_arena *a, const aot_poly *x, const aot_poly *y,
                                       const char *name)
{
    int64_t n, d;
    bool by_number = aot_poly_is_int(y, &d);
    if (by_number && (d == 0 || d == INT64_MIN)) {
        return NULL;
    }
    if (x->n == 0 || same(x, y) || (by_number && (d == 1 || d == -1))) {
        return aot_poly_int(a, 0);
    }
    if (by_number && aot_poly_is_int(x, &n)) {
        n %= d;
        return aot_poly_int(a, n != 0 && (n < 0) != (d < 0) ? n + d : n);
    }
    if (by_number) {
        aot_poly q;
        const aot_poly *rest = take_multiples(a, x, d, &q);
        bool all = rest->n == 0, odd = d == 2 && aot_poly_is_int(rest, &n);
        if (all || odd) {
            return aot_poly_int(a, all ? 0 : 1);
        }
    } else if (x->n == 1 && exact(a, x, y) != NULL) {
        return aot_poly_int(a, 0);
    }
    return binary(a, name, x, y);
}

const aot_poly *aot_poly_mod(aot_arena *a, const aot_poly *x, const aot_poly *y)
{
    return remainder_named(a, x, y, at_least_zero(x) && at_least_zero(y) ? "Mod" : "PythonMod");
}

/* Adds an item to those kept unless one of them makes it superfluous; drops what it makes so. */
static unsigned keep(aot_arena *a, const aot_poly **kept, unsigned n, const aot_poly *item,
                     bool max)
{
    unsigned m = 0;
    for (unsigned j = 0; j < n; j++) {
        const aot_poly *hi = max ? kept[j] : item, *lo = max ? item : kept[j];
        if (at_least_zero(aot_poly_add(a, hi, lo, -1))) {
            return n;
        }
    }
    for (unsigned j = 0; j < n; j++) {
        const aot_poly *hi = max ? item : kept[j], *lo = max ? kept[j] : item;
        if (!at_least_zero(aot_poly_add(a, hi, lo, -1))) {
            kept[m++] = kept[j];
        }
    }
    unsigned at = m++;
    for (; at > 0 && aot_poly_compare(item, kept[at - 1]) < 0; at--) {
        kept[at] = kept[at - 1];
    }
    kept[at] = item;
    return m;
}

const aot_poly *aot_poly_extreme(aot_arena *a, const aot_poly *x, const aot_poly *y, bool max)
{
    const char *name = max ? "Max" : "Min";
    const aot_poly *in[2] = {x, y}, *kept[2 * MAX_ARGS];
    unsigned n = 0;
    for (unsigned i = 0; i < 2; i++) {
        const aot_atom *nested = only_atom(in[i]);
        bool flat = nested != NULL && strcmp(nested->name, name) == 0;
        for (unsigned k = 0; k < (flat ? nested->n_args : 1); k++) {
            n = keep(a, kept, n, flat ? nested->args[k] : in[i], max);
        }
    }
    if (n == 1) {
        return kept[0];
    }
    return n <= MAX_ARGS ? aot_poly_atom(a, name, 3, kept, n) : NULL;
}

/* ---- reading
 * -------------------------------------------------------------------------------------------- */

typedef struct scan {
    aot_arena *a;
    const char *p, *end;
    int depth;
} scan;

static bool take(scan *s, const char *tok)
{
    size_t n = strlen(tok);
    while (s->p < s->end && *s->p == ' ') {
        s->p++;
    }
    if ((size_t)(s->end - s->p) >= n && memcmp(s->p, tok, n) == 0) {
        s->p += n;
        return true;
    }
    return false;
}

static const aot_poly *read_sum(scan *s);

static const aot_poly *fold_call(aot_arena *a, const char *name, size_t n, const aot_poly **args,
                                 unsigned n_args)
{
#define IS(text) (n == sizeof(text) - 1 && memcmp(name, text, n) == 0)
    if (n_args == 2 && (IS("FloorDiv") || IS("CleanDiv"))) {
        return aot_poly_floordiv(a, args[0], args[1]);
    }
    if (n_args == 2 && (IS("Mod") || IS("PythonMod"))) {
        return remainder_named(a, args[0], args[1], n == 3 ? "Mod" : "PythonMod");
    }
    if (n_args >= 1 && (IS("Max") || IS("Min"))) {
        const aot_poly *r = args[0];
        for (unsigned i = 1; i < n_args && r != NULL; i++) {
            r = aot_poly_extreme(a, r, args[i], IS("Max"));
        }
        return r;
    }
    return aot_poly_atom(a, name, n, args, n_args);
#undef IS
}

static const aot_poly *read_name(scan *s)
{
    const char *name = s->p;
    const aot_poly *args[MAX_ARGS];
    unsigned n_args = 0;
    while (s->p < s->end && (isalnum((unsigned char)*s->p) || *s->p == '_' || *s->p == '.')) {
        s->p++;
    }
    size_t n = (size_t)(s->p - name);
    if ((n == 4 && memcmp(name, "True", 4) == 0) || (n == 5 && memcmp(name, "False", 5) == 0)) {
        return NULL;
    }
    if (!take(s, "(")) {
        return aot_poly_atom(s->a, name, n, NULL, 0);
    }
    do {
        const aot_poly *p = read_sum(s);
        if (p == NULL || n_args == MAX_ARGS) {
            return NULL;
        }
        args[n_args++] = p;
    } while (take(s, ","));
    return take(s, ")") ? fold_call(s->a, name, n, args, n_args) : NULL;
}

static const aot_poly *read_primary(scan *s)
{
    if (take(s, "(")) {
        const aot_poly *p = read_sum(s);
        return p != NULL && take(s, ")") ? p : NULL;
    }
    if (s->p < s->end && isdigit((unsigned char)*s->p)) {
        int64_t v = 0;
        for (; s->p < s->end && isdigit((unsigned char)*s->p); s->p++) {
            if (__builtin_mul_overflow(v, (int64_t)10, &v) ||
                __builtin_add_overflow(v, *s->p - '0', &v)) {
                return NULL;
            }
        }
        return s->p < s->end && *s->p == '.' ? NULL : aot_poly_int(s->a, v);
    }
    bool word = s->p < s->end && (isalpha((unsigned char)*s->p) || *s->p == '_');
    return word ? read_name(s) : NULL;
}

static const aot_poly *read_power(scan *s)
{
    const aot_poly *base = read_primary(s);
    if (base == NULL || !take(s, "**")) {
        return base;
    }
    const aot_poly *e = read_primary(s), *r = aot_poly_int(s->a, 1);
    int64_t n;
    if (e == NULL || !aot_poly_is_int(e, &n) || n < 0 || n > 32) {
        return NULL;
    }
    for (int64_t i = 0; i < n && r != NULL; i++) {
        r = aot_poly_mul(s->a, r, base);
    }
    return r;
}

/* A number in front is multiplied in last, so that 8*(s0 + 1)*(s1 + 1) reads as it was printed. */
static const aot_poly *read_product(scan *s)
{
    bool minus = false;
    const aot_poly *number = NULL;
    int64_t v;
    while (take(s, "-")) {
        minus = !minus;
    }
    const aot_poly *x = read_power(s);
    while (x != NULL) {
        bool div = take(s, "//"), mul = !div && take(s, "*"), mod = !div && !mul && take(s, "%");
        if (!div && !mul && !mod) {
            break;
        }
        const aot_poly *y = read_power(s);
        if (y == NULL) {
            return NULL;
        }
        if (mul && number == NULL && aot_poly_is_int(x, &v)) {
            number = x;
            x = y;
            continue;
        }
        if (!mul && number != NULL) {
            x = aot_poly_mul(s->a, number, x);
            number = NULL;
        }
        x = x == NULL ? NULL
            : div     ? aot_poly_floordiv(s->a, x, y)
            : mul     ? aot_poly_mul(s->a, x, y)
                      : aot_poly_mod(s->a, x, y);
    }
    if (x != NULL && number != NULL) {
        x = aot_poly_mul(s->a, number, x);
    }
    return x != NULL && minus ? aot_poly_add(s->a, aot_poly_int(s->a, 0), x, -1) : x;
}

static const aot_poly *read_sum(scan *s)
{
    if (++s->depth > MAX_DEPTH) {
        return NULL;
    }
    const aot_poly *x = read_product(s);
    while (x != NULL) {
        bool plus = take(s, "+"), minus = !plus && take(s, "-");
        if (!plus && !minus) {
            break;
        }
        const aot_poly *y = read_product(s);
        x = y != NULL ? aot_poly_add(s->a, x, y, plus ? 1 : -1) : NULL;
    }
    s->depth--;
    return x;
}

const aot_poly *aot_poly_parse(aot_arena *a, const char *text, size_t n)
{
    scan s = {.a = a, .p = text, .end = text + n};
    const aot_poly *p = read_sum(&s);
    take(&s, "");
    return s.p == s.end ? p : NULL;
}
