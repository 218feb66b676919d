/* Polynomials of sizes: order, sums, products.
 *
 * Terms and factors are kept in the order in which sympy prints them, so equal polynomials are
 * equal term by term. Arguments of functions nest no deeper than the reader allows.
 * Mirrors sympy/core/expr.py:sort_key, as_ordered_terms. */
#include <string.h>

#include "ir/sympoly.h"

enum { MAX_TERMS = 256, MAX_FACTORS = 64 };

const aot_poly *aot_poly_int(aot_arena *a, int64_t v)
{
    aot_poly *p = AOT_NEW(a, aot_poly);
    if (v != 0) {
        p->n = 1;
        p->t = AOT_NEW(a, aot_term);
        p->t->coef = v;
    }
    return p;
}

const aot_poly *aot_poly_atom(aot_arena *a, const char *name, size_t n, const aot_poly **args,
                              unsigned n_args)
{
    aot_atom *atom = AOT_NEW(a, aot_atom);
    aot_poly *p = AOT_NEW(a, aot_poly);
    atom->name = aot_arena_strndup(a, name, n);
    atom->n_args = n_args;
    atom->args = AOT_NEW_ARRAY(a, const aot_poly *, n_args);
    for (unsigned i = 0; i < n_args; i++) {
        atom->args[i] = args[i];
    }
    p->n = 1;
    p->t = AOT_NEW(a, aot_term);
    *p->t = (aot_term){.coef = 1, .n = 1, .f = AOT_NEW(a, aot_factor)};
    *p->t->f = (aot_factor){atom, 1};
    return p;
}

bool aot_poly_is_int(const aot_poly *p, int64_t *v)
{
    if (p->n == 0 || (p->n == 1 && p->t[0].n == 0)) {
        *v = p->n == 0 ? 0 : p->t[0].coef;
        return true;
    }
    return false;
}

/* ---- order --------------------------------------------------------------------------------------
 */

static int sign(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static bool is_extreme(const aot_atom *a)
{
    return strcmp(a->name, "Max") == 0 || strcmp(a->name, "Min") == 0;
}

/* A sum that is a factor: its only argument. */
static bool is_sum(const aot_atom *a)
{
    return a->name[0] == '+';
}

enum { RANK_SYMBOL, RANK_SUM, RANK_FUNCTION, RANK_EXTREME };

/* Symbols, then sums, then functions, then Max and Min. */
static int rank(const aot_atom *a)
{
    return a->n_args == 0 ? RANK_SYMBOL
           : is_sum(a)    ? RANK_SUM
           : is_extreme(a) ? RANK_EXTREME
                           : RANK_FUNCTION;
}

static int compare_atoms(const aot_atom *a, const aot_atom *b)
{
    int r = rank(a) - rank(b);
    if (a == b) {
        return 0;
    }
    r = r != 0 ? r : strcmp(a->name, b->name);
    r = r != 0 ? r : sign(a->n_args, b->n_args);
    for (unsigned i = 0; r == 0 && i < a->n_args; i++) {
        r = aot_poly_compare(a->args[i], b->args[i]);
    }
    return r;
}

/* Numbers, single atoms' ranks, products, sums: the class in sympy's sort key. */
static int poly_rank(const aot_poly *p)
{
    if (p->n == 0 || (p->n == 1 && p->t[0].n == 0)) {
        return 0;
    }
    if (p->n > 1) {
        return 3;
    }
    return p->t[0].n > 1                            ? 2
           : rank(p->t[0].f[0].atom) == RANK_SYMBOL ? 1
                                                    : 3 + rank(p->t[0].f[0].atom);
}

static int compare_factors(const aot_term *x, const aot_term *y)
{
    int r = 0;
    for (unsigned i = 0; r == 0 && i < x->n && i < y->n; i++) {
        r = compare_atoms(x->f[i].atom, y->f[i].atom);
        r = r != 0 ? r : sign(x->f[i].exp, y->f[i].exp);
    }
    return r;
}

int aot_poly_compare(const aot_poly *x, const aot_poly *y)
{
    int r = poly_rank(x) - poly_rank(y);
    if (r != 0) {
        return r;
    }
    if (poly_rank(x) == 0) {
        return sign(x->n == 0 ? 0 : x->t[0].coef, y->n == 0 ? 0 : y->t[0].coef);
    }
    r = sign(x->n, y->n);
    for (unsigned i = 0; r == 0 && i < x->n; i++) {
        r = x->n == 1 ? sign(x->t[0].n, y->t[0].n) : 0;
        r = r != 0 ? r : compare_factors(&x->t[i], &y->t[i]);
        r = r != 0 ? r : sign(x->t[i].n, y->t[i].n);
    }
    for (unsigned i = 0; r == 0 && i < x->n; i++) {
        r = sign(x->t[i].coef, y->t[i].coef);
    }
    return r;
}

/* Which term stands first: lexicographic in the powers, higher ones first. */
static int compare_terms(const aot_term *x, const aot_term *y)
{
    for (unsigned i = 0; i < x->n && i < y->n; i++) {
        int r = compare_atoms(x->f[i].atom, y->f[i].atom);
        r = r != 0 ? r : sign(y->f[i].exp, x->f[i].exp);
        if (r != 0) {
            return r;
        }
    }
    return sign(y->n, x->n);
}

/* ---- sums and products --------------------------------------------------------------------------
 */

const aot_poly *aot_poly_add(aot_arena *a, const aot_poly *x, const aot_poly *y, int64_t k)
{
    aot_poly *p = AOT_NEW(a, aot_poly);
    unsigned i = 0, j = 0;
    if (x->n + y->n > MAX_TERMS) {
        return NULL;
    }
    p->t = AOT_NEW_ARRAY(a, aot_term, x->n + y->n);
    while (i < x->n || j < y->n) {
        int r = i == x->n ? 1 : j == y->n ? -1 : compare_terms(&x->t[i], &y->t[j]);
        aot_term *t = &p->t[p->n];
        int64_t scaled = 0;
        if (r >= 0 && __builtin_mul_overflow(y->t[j].coef, k, &scaled)) {
            return NULL;
        }
        *t = r <= 0 ? x->t[i] : y->t[j];
        if (r > 0) {
            t->coef = scaled;
        } else if (r == 0 && __builtin_add_overflow(t->coef, scaled, &t->coef)) {
            return NULL;
        }
        i += r <= 0;
        j += r >= 0;
        p->n += t->coef != 0;
    }
    return p;
}

static bool mul_terms(aot_arena *a, const aot_term *x, const aot_term *y, aot_term *out)
{
    unsigned i = 0, j = 0;
    *out = (aot_term){.f = AOT_NEW_ARRAY(a, aot_factor, x->n + y->n)};
    if (x->n + y->n > MAX_FACTORS || __builtin_mul_overflow(x->coef, y->coef, &out->coef)) {
        return false;
    }
    while (i < x->n || j < y->n) {
        int r = i == x->n ? 1 : j == y->n ? -1 : compare_atoms(x->f[i].atom, y->f[j].atom);
        out->f[out->n] = r <= 0 ? x->f[i] : y->f[j];
        out->f[out->n++].exp += r == 0 ? y->f[j].exp : 0;
        i += r <= 0;
        j += r >= 0;
    }
    return true;
}

const aot_poly *aot_poly_mul_out(aot_arena *a, const aot_poly *x, const aot_poly *y)
{
    const aot_poly *sum = aot_poly_int(a, 0);
    if ((uint64_t)x->n * y->n > MAX_TERMS) {
        return NULL;
    }
    for (unsigned i = 0; i < x->n; i++) {
        for (unsigned j = 0; j < y->n && sum != NULL; j++) {
            aot_term t;
            if (!mul_terms(a, &x->t[i], &y->t[j], &t)) {
                return NULL;
            }
            sum = aot_poly_add(a, sum, &(aot_poly){1, &t}, 1);
        }
    }
    return sum;
}

const aot_poly *aot_poly_factor(aot_arena *a, const aot_poly *p)
{
    return p->n > 1 ? aot_poly_atom(a, "+", 1, &p, 1) : p;
}

const aot_poly *aot_poly_mul(aot_arena *a, const aot_poly *x, const aot_poly *y)
{
    int64_t v;
    if (!aot_poly_is_int(x, &v) && !aot_poly_is_int(y, &v)) {
        x = aot_poly_factor(a, x);
        y = aot_poly_factor(a, y);
    }
    return aot_poly_mul_out(a, x, y);
}

const aot_poly *aot_poly_expand(aot_arena *a, const aot_poly *p)
{
    const aot_poly *out = aot_poly_int(a, 0);
    for (unsigned i = 0; out != NULL && i < p->n; i++) {
        const aot_term *t = &p->t[i];
        const aot_poly *x = aot_poly_int(a, t->coef);
        for (unsigned k = 0; x != NULL && k < t->n; k++) {
            aot_factor one = {t->f[k].atom, 1};
            aot_term alone = {.coef = 1, .n = 1, .f = &one};
            aot_poly atom = {1, &alone};
            const aot_poly *by = is_sum(one.atom) ? one.atom->args[0] : &atom;
            for (unsigned e = 0; x != NULL && e < t->f[k].exp; e++) {
                x = aot_poly_mul_out(a, x, by);
            }
        }
        out = x != NULL ? aot_poly_add(a, out, x, 1) : NULL;
    }
    return out;
}

const aot_poly *aot_poly_unwrap(aot_arena *a, const aot_poly *p)
{
    const aot_poly *out = p;
    for (unsigned i = 0; out != NULL && i < p->n; i++) {
        const aot_term *t = &p->t[i];
        if (t->n == 1 && t->f[0].exp == 1 && is_sum(t->f[0].atom)) {
            out = aot_poly_add(a, out, &(aot_poly){1, &p->t[i]}, -1);
            out = out != NULL ? aot_poly_add(a, out, t->f[0].atom->args[0], t->coef) : NULL;
        }
    }
    return out;
}

/* ---- printing -----------------------------------------------------------------------------------
 */

/* These bind weaker than a sum in sympy's eyes, so they get parentheses wherever they are nested.
 */
static bool is_weak(const aot_atom *a)
{
    static const char *const weak[] = {"FloorDiv", "CleanDiv", "Mod", "PythonMod",
                                       "ModularIndexing"};
    for (size_t i = 0; i < sizeof weak / sizeof *weak; i++) {
        if (strcmp(a->name, weak[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* An operand of "//": bare if it is a symbol, a number or Max. */
static void print_operand(aot_sb *out, const aot_poly *p)
{
    int64_t v;
    bool bare = aot_poly_is_int(p, &v) ? v >= 0
                                       : p->n == 1 && p->t[0].n == 1 && p->t[0].coef == 1 &&
                                             p->t[0].f[0].exp == 1 &&
                                             rank(p->t[0].f[0].atom) != RANK_FUNCTION;
    aot_sb_addz(out, bare ? "" : "(");
    aot_poly_print(out, p);
    aot_sb_addz(out, bare ? "" : ")");
}

static void print_atom(aot_sb *out, const aot_atom *a)
{
    if (a->n_args == 2 && (strcmp(a->name, "FloorDiv") == 0 || strcmp(a->name, "CleanDiv") == 0)) {
        aot_sb_addc(out, '(');
        print_operand(out, a->args[0]);
        aot_sb_addz(out, "//");
        print_operand(out, a->args[1]);
        aot_sb_addc(out, ')');
        return;
    }
    if (is_sum(a)) {
        aot_poly_print(out, a->args[0]);
        return;
    }
    aot_sb_addz(out, a->name);
    for (unsigned i = 0; i < a->n_args; i++) {
        aot_sb_addz(out, i == 0 ? "(" : ", ");
        aot_poly_print(out, a->args[i]);
    }
    if (a->n_args > 0) {
        aot_sb_addc(out, ')');
    }
}

/* Without its sign. */
static void print_term(aot_sb *out, const aot_term *t, bool alone)
{
    uint64_t c = t->coef < 0 ? -(uint64_t)t->coef : (uint64_t)t->coef;
    if (c != 1 || t->n == 0) {
        aot_sb_addf(out, "%llu", (unsigned long long)c);
    }
    for (unsigned i = 0; i < t->n; i++) {
        bool paren = is_sum(t->f[i].atom);
        paren |=
            is_weak(t->f[i].atom) && !(alone && t->n == 1 && t->coef == 1 && t->f[i].exp == 1);
        aot_sb_addz(out, i > 0 || c != 1 ? "*" : "");
        aot_sb_addz(out, paren ? "(" : "");
        print_atom(out, t->f[i].atom);
        aot_sb_addz(out, paren ? ")" : "");
        if (t->f[i].exp != 1) {
            aot_sb_addf(out, "**%u", t->f[i].exp);
        }
    }
}

void aot_poly_print(aot_sb *out, const aot_poly *p)
{
    if (p->n == 0) {
        aot_sb_addc(out, '0');
        return;
    }
    // sympy's exception: a positive number stands before a single negative term
    bool swap =
        p->n == 2 && p->t[1].n == 0 && p->t[1].coef > 0 && p->t[0].coef < 0 && p->t[0].n == 1;
    for (unsigned i = 0; i < p->n; i++) {
        const aot_term *t = &p->t[swap ? 1 - i : i];
        if (i > 0) {
            aot_sb_addz(out, t->coef < 0 ? " - " : " + ");
        } else if (t->coef < 0) {
            aot_sb_addc(out, '-');
        }
        print_term(out, t, p->n == 1);
    }
}
