/* Arithmetic on sizes: polynomials in atoms, printed as sympy prints them.
 *
 * A text is read into a sum of terms, each a number and powers of atoms (symbols, and quotients,
 * remainders and maxima that do not simplify); the result is written back in sympy's order and
 * interned. What is no integer expression of this kind is kept as text. Everything lives in the
 * context's arena and is dropped when the operation ends.
 * Mirrors torch/utils/_sympy/functions.py (FloorDiv, Mod, Max), sympy's printing/str.py and
 * core/expr.py:as_ordered_terms, as far as integers go; a product of sums stays a
 * product, and only numbers are multiplied into sums. */
#include <string.h>

#include "ir/symalg.h"
#include "ir/sympoly.h"

/* ---- texts ---------------------------------------------------------------------------------- */

bool aot_dim_same(aot_dim a, aot_dim b)
{
    return a.expr != 0 || b.expr != 0 ? a.expr == b.expr : a.value == b.value;
}

bool aot_dim_equal_hint(aot_dim a, aot_dim b)
{
    if (a.value != AOT_HINT_NONE && b.value != AOT_HINT_NONE) {
        return a.value == b.value;
    }
    return aot_dim_same(a, b);
}

static const aot_poly *poly_of(aot_ctx *c, aot_dim d)
{
    if (d.expr == 0) {
        return aot_poly_int(c->arena, d.value);
    }
    return aot_poly_parse(c->arena, aot_text(c, d.expr), aot_str_len(c->strs, d.expr));
}

/* The dim of a polynomial whose value at the hints is known by the caller. */
static aot_dim dim_of_poly(aot_ctx *c, const aot_poly *p, int64_t value)
{
    int64_t v;
    if (aot_poly_is_int(p, &v)) {
        return aot_dim_of(v);
    }
    aot_sb b = {0};
    aot_poly_print(&b, p);
    aot_dim d = {.value = value, .expr = aot_intern(c->strs, b.d, b.n)};
    aot_sb_free(&b);
    return d;
}

aot_dim aot_dim_parse(aot_ctx *c, const char *text, size_t n)
{
    aot_arena_mark mark = aot_arena_get_mark(c->arena);
    const aot_poly *p = aot_poly_parse(c->arena, text, n);
    aot_dim d = p != NULL ? dim_of_poly(c, p, aot_sym_eval(c, text, n))
                          : (aot_dim){aot_sym_eval(c, text, n), aot_intern(c->strs, text, n)};
    aot_arena_reset(c->arena, mark);
    return d;
}

/* ---- operations ---------------------------------------------------------------------------------
 */

typedef enum op { ADD, SUB, MUL, FLOORDIV, MOD, MAX, MIN } op;

/* The value of a op b; AOT_HINT_NONE if it has none. */
static int64_t value_of(op o, int64_t a, int64_t b)
{
    int64_t r = 0;
    bool bad = a == AOT_HINT_NONE || b == AOT_HINT_NONE;
    if (bad) {
        return AOT_HINT_NONE;
    }
    switch (o) {
    case ADD:
        bad = __builtin_add_overflow(a, b, &r);
        break;
    case SUB:
        bad = __builtin_sub_overflow(a, b, &r);
        break;
    case MUL:
        bad = __builtin_mul_overflow(a, b, &r);
        break;
    case FLOORDIV:
        bad = b == 0 || (b == -1 && a == INT64_MIN);
        r = bad ? 0 : b == -1 ? -a : a / b - (a % b != 0 && (a % b < 0) != (b < 0));
        break;
    case MOD:
        bad = b == 0;
        r = bad || b == -1 ? 0 : a % b;
        r += r != 0 && (r < 0) != (b < 0) ? b : 0;
        break;
    case MAX:
        r = a > b ? a : b;
        break;
    case MIN:
        r = a < b ? a : b;
        break;
    }
    return bad ? AOT_HINT_NONE : r;
}

static const aot_poly *poly_op(aot_arena *a, op o, const aot_poly *x, const aot_poly *y)
{
    switch (o) {
    case ADD:
        return aot_poly_add(a, x, y, 1);
    case SUB:
        return aot_poly_add(a, x, y, -1);
    case MUL:
        return aot_poly_mul(a, x, y);
    case FLOORDIV:
        return aot_poly_floordiv(a, x, y);
    case MOD:
        return aot_poly_mod(a, x, y);
    case MAX:
        return aot_poly_extreme(a, x, y, true);
    default:
        return aot_poly_extreme(a, x, y, false);
    }
}

/* For what is no polynomial: the operation is written out. */
static aot_dim dim_as_text(aot_ctx *c, op o, aot_dim a, aot_dim b, int64_t value)
{
    static const char *const forms[] = {
        [ADD] = "(%s) + (%s)",       [SUB] = "(%s) - (%s)", [MUL] = "(%s)*(%s)",
        [FLOORDIV] = "((%s)//(%s))", [MOD] = "Mod(%s, %s)", [MAX] = "Max(%s, %s)",
        [MIN] = "Min(%s, %s)"};
    aot_sb x = {0}, y = {0};
    aot_dim in[2] = {a, b};
    aot_sb *to[2] = {&x, &y};
    for (int i = 0; i < 2; i++) {
        if (in[i].expr != 0) {
            aot_sb_addz(to[i], aot_text(c, in[i].expr));
        } else {
            aot_sb_add_i64(to[i], in[i].value);
        }
    }
    const char *gap = strstr(forms[o], "%s"), *second = strstr(gap + 2, "%s");
    aot_sb out = {0};
    aot_sb_add(&out, forms[o], (size_t)(gap - forms[o]));
    aot_sb_add(&out, x.d, x.n);
    aot_sb_add(&out, gap + 2, (size_t)(second - gap - 2));
    aot_sb_add(&out, y.d, y.n);
    aot_sb_addz(&out, second + 2);
    aot_dim d = {value, aot_intern(c->strs, out.d, out.n)};
    aot_sb_free(&x);
    aot_sb_free(&y);
    aot_sb_free(&out);
    return d;
}

static aot_dim apply(aot_ctx *c, op o, aot_dim a, aot_dim b)
{
    int64_t value = value_of(o, a.value, b.value);
    if (a.expr == 0 && b.expr == 0) {
        return aot_dim_of(value);
    }
    aot_arena_mark mark = aot_arena_get_mark(c->arena);
    const aot_poly *x = poly_of(c, a), *y = poly_of(c, b);
    const aot_poly *r = x != NULL && y != NULL ? poly_op(c->arena, o, x, y) : NULL;
    aot_dim d = r != NULL ? dim_of_poly(c, r, value) : dim_as_text(c, o, a, b, value);
    aot_arena_reset(c->arena, mark);
    return d;
}

aot_dim aot_dim_add(aot_ctx *c, aot_dim a, aot_dim b)
{
    return aot_dim_is(a, 0) ? b : aot_dim_is(b, 0) ? a : apply(c, ADD, a, b);
}

aot_dim aot_dim_sub(aot_ctx *c, aot_dim a, aot_dim b)
{
    return aot_dim_is(b, 0) ? a : apply(c, SUB, a, b);
}

aot_dim aot_dim_mul(aot_ctx *c, aot_dim a, aot_dim b)
{
    return aot_dim_is(a, 1) ? b : aot_dim_is(b, 1) ? a : apply(c, MUL, a, b);
}

aot_dim aot_dim_floordiv(aot_ctx *c, aot_dim a, aot_dim b)
{
    return aot_dim_is(b, 1) ? a : apply(c, FLOORDIV, a, b);
}

aot_dim aot_dim_mod(aot_ctx *c, aot_dim a, aot_dim b)
{
    return apply(c, MOD, a, b);
}

aot_dim aot_dim_neg(aot_ctx *c, aot_dim a)
{
    return apply(c, MUL, aot_dim_of(-1), a);
}

aot_dim aot_dim_max(aot_ctx *c, aot_dim a, aot_dim b)
{
    return apply(c, MAX, a, b);
}

aot_dim aot_dim_min(aot_ctx *c, aot_dim a, aot_dim b)
{
    return apply(c, MIN, a, b);
}

aot_dim aot_dim_pow(aot_ctx *c, aot_dim a, unsigned n)
{
    aot_dim r = aot_dim_of(1);
    for (unsigned i = 0; i < n; i++) {
        r = aot_dim_mul(c, r, a);
    }
    return r;
}
