/* Symbolic sizes against what torch 2.11's sympy functions print for the same expressions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ir/symalg.h"

/* Expression as typed into Python (s*: positive integers, u*: integers), str() of it. */
static const struct {
    const char *in, *out;
} printed[] = {
    {"16*s77", "16*s77"},
    {"s1*s0", "s0*s1"},
    {"s0*s0", "s0**2"},
    {"1+2*s0", "2*s0 + 1"},
    {"1-s0", "1 - s0"},
    {"4-2*s0", "4 - 2*s0"},
    {"s0-4", "s0 - 4"},
    {"-s0", "-s0"},
    {"s0*(s1+1)", "s0*(s1 + 1)"},
    {"(s0+1)*(s0-1)", "(s0 - 1)*(s0 + 1)"},
    {"(s0+1)*(s0+1)*s0", "s0*(s0 + 1)**2"},
    {"8*((s0+1)*(s1+1))", "8*(s0 + 1)*(s1 + 1)"},
    {"(s1+2)*(3*(s0+2))", "(3*s0 + 6)*(s1 + 2)"},
    {"FloorDiv(s1*(s0+1)*(s2+1),s0+1)", "s1*(s2 + 1)"},
    {"FloorDiv(s1*(s0+1),s1)", "s0 + 1"},
    {"FloorDiv((8*s0+8)*(s1+1),8*s1+8)", "s0 + 1"},
    {"s10+s2", "s10 + s2"},
    {"s2*s10*3", "3*s10*s2"},
    {"s0**2*s1+s0*s1**2+s1", "s0**2*s1 + s0*s1**2 + s1"},
    {"FloorDiv(s0,2)", "(s0//2)"},
    {"FloorDiv(s0,2)+1", "((s0//2)) + 1"},
    {"FloorDiv(s0,2)*s1", "s1*((s0//2))"},
    {"FloorDiv(s0,2)*3-1", "3*((s0//2)) - 1"},
    {"-FloorDiv(s0,2)", "-((s0//2))"},
    {"FloorDiv(s0+1,2)", "((s0 + 1)//2)"},
    {"FloorDiv(s0-1,2)+1", "(((s0 - 1)//2)) + 1"},
    {"FloorDiv(4*s0+1,2)", "2*s0"},
    {"FloorDiv(4*s0,2)", "2*s0"},
    {"FloorDiv(FloorDiv(s0,2),3)", "(s0//6)"},
    {"FloorDiv(6*s0,4)", "((3*s0)//2)"},
    {"FloorDiv(s0*s1,s1)", "s0"},
    {"FloorDiv(s0*s1+s1,s1)", "s0 + 1"},
    {"FloorDiv(s0*s1+s0+s1+1,s0+1)", "s1 + 1"},
    {"FloorDiv(s0,s1)", "(s0//s1)"},
    {"FloorDiv(FloorDiv(s0,2)+s1,3)", "((s1 + ((s0//2)))//3)"},
    {"FloorDiv(s0,2)**2", "((s0//2))**2"},
    {"FloorDiv(s0,2)*FloorDiv(s1,2)", "((s0//2))*((s1//2))"},
    {"Mod(s0,4)", "Mod(s0, 4)"},
    {"Mod(s0,4)+1", "(Mod(s0, 4)) + 1"},
    {"Mod(4*s0,4)", "0"},
    {"Mod(2*s0+1,2)", "1"},
    {"Mod(s0,s0)", "0"},
    {"Mod(s0*s1,s0)", "0"},
    {"PythonMod(u0-1,4)", "PythonMod(u0 - 1, 4)"},
    {"FloorDiv(Mod(s0,4),3)", "((Mod(s0, 4))//3)"},
    {"Max(1,s0)", "s0"},
    {"Max(1,u0)", "Max(1, u0)"},
    {"Max(1,u0)*s0", "s0*Max(1, u0)"},
    {"Max(s0,s1)", "Max(s0, s1)"},
    {"Max(s1,s0,3)", "Max(3, s0, s1)"},
    {"Min(s0,s1+2)", "Min(s0, s1 + 2)"},
    {"Max(1, Min(s0, s1))", "Min(s0, s1)"},
    {"Max(1, Min(s0, s1//2))", "Max(1, Min(s0, (s1//2)))"},
    {"Max(0,s0-5)", "Max(0, s0 - 5)"},
    {"Max(1,Max(1,u0))", "Max(1, u0)"},
    {"FloorDiv(Max(1,u0),2)", "(Max(1, u0)//2)"},
    {"FloorDiv(s0,2)+s1+s0*FloorDiv(s1,2)", "s0*((s1//2)) + s1 + ((s0//2))"},
    {"s0*FloorDiv(s1,2)+s0**2", "s0**2 + s0*((s1//2))"},
    {"Max(1,u0)+FloorDiv(s0,2)+s1", "s1 + ((s0//2)) + Max(1, u0)"},
    {"FloorDiv(s1,2)+FloorDiv(s0,2)", "((s0//2)) + ((s1//2))"},
    {"FloorDiv(s0+s1,2)+FloorDiv(s0,2)", "((s0//2)) + (((s0 + s1)//2))"},
    {"Mod(s0,2)*FloorDiv(s0,3)", "((s0//3))*(Mod(s0, 2))"},
    {"-s0-s1-1", "-s0 - s1 - 1"},
    {"2-s0*s1", "-s0*s1 + 2"},
    {"3-s0**2", "3 - s0**2"},
    {"1+FloorDiv(-s0,2)", "(((-s0)//2)) + 1"},
    {"FloorDiv(s0,-2)", "(s0//(-2))"},
    {"2*(s0+3*s1)-s0", "s0 + 6*s1"},
    {"FloorDiv(s0*s1,4)*4", "4*(((s0*s1)//4))"},
    {"FloorDiv(s0-7,2)+1", "(((s0 - 7)//2)) + 1"},
    {"s0*s1-s0*s1", "0"},
    {"FloorDiv(FloorDiv(s0-1,2),2)+1", "(((s0 - 1)//4)) + 1"},
    {"FloorDiv(u0+s0,3)", "((s0 + u0)//3)"},
    {"s0*u0", "s0*u0"},
    {"7+0*s0", "7"},
    {"Mod(s0+s1,3)", "Mod(s0 + s1, 3)"},
    {"FloorDiv(2*s0*s1,2*s1)", "s0"},
    {"FloorDiv(s0+2*s1,2)", "s1 + ((s0//2))"},
};

static const char *text_of(aot_ctx *c, aot_dim d, char buf[32])
{
    if (d.expr != 0) {
        return aot_text(c, d.expr);
    }
    snprintf(buf, 32, "%lld", (long long)d.value);
    return buf;
}

static void expressions_print_as_sympy_prints_them(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    char buf[32], again[32];
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        aot_dim d = aot_dim_parse(c, printed[i].in, strlen(printed[i].in));
        const char *got = text_of(c, d, buf);
        assert_string_equal(got, printed[i].out);
        aot_dim e = aot_dim_parse(c, got, strlen(got));
        assert_string_equal(text_of(c, e, again), printed[i].out);
    }
    aot_ctx_free(c);
}

static aot_dim sym(aot_ctx *c, const char *text)
{
    return aot_dim_parse(c, text, strlen(text));
}

static void operations_give_the_printed_form_and_the_value_at_the_hints(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    aot_ctx_set_hint(c, "s0", 10);
    aot_ctx_set_hint(c, "s1", 3);
    aot_dim s0 = sym(c, "s0"), s1 = sym(c, "s1"), two = aot_dim_of(2);
    const struct {
        aot_dim got;
        const char *text;
        int64_t value;
    } cases[] = {
        {aot_dim_add(c, s0, s1), "s0 + s1", 13},
        {aot_dim_sub(c, s1, s0), "-s0 + s1", -7},
        {aot_dim_mul(c, s1, s0), "s0*s1", 30},
        {aot_dim_floordiv(c, s0, aot_dim_of(4)), "(s0//4)", 2},
        {aot_dim_floordiv(c, aot_dim_mul(c, s0, two), two), "s0", 10},
        {aot_dim_mod(c, s0, aot_dim_of(4)), "Mod(s0, 4)", 2},
        {aot_dim_neg(c, s0), "-s0", -10},
        {aot_dim_max(c, s0, s1), "Max(s0, s1)", 10},
        {aot_dim_min(c, s0, s1), "Min(s0, s1)", 3},
        {aot_dim_pow(c, s0, 3), "s0**3", 1000},
        {aot_dim_sub(c, s0, s0), "0", 0},
        {aot_dim_floordiv(c, aot_dim_of(-7), two), "-4", -4},
        {aot_dim_mod(c, aot_dim_of(-7), two), "1", 1},
    };
    char buf[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(text_of(c, cases[i].got, buf), cases[i].text);
        assert_int_equal(cases[i].got.value, cases[i].value);
    }
    aot_ctx_free(c);
}

static void a_symbol_without_hint_leaves_the_value_open(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    aot_dim d = aot_dim_mul(c, sym(c, "u0"), aot_dim_of(4));
    assert_true(d.value == AOT_HINT_NONE);
    assert_true(aot_dim_equal_hint(d, sym(c, "4*u0")));
    assert_false(aot_dim_equal_hint(d, aot_dim_of(4096)));
    assert_true(aot_dim_is(aot_dim_mul(c, d, aot_dim_of(0)), 0));
    aot_ctx_free(c);
}

static void what_is_no_integer_polynomial_is_kept_as_text(void **state)
{
    (void)state;
    static const char *const texts[] = {"s0 < 4", "0.5*s0", "s0**s1", "s0 +",
                                        "Max(",   "True",   "",       "9999999999999999999"};
    aot_ctx *c = aot_ctx_new();
    char buf[32];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        aot_dim d = sym(c, texts[i]);
        assert_string_equal(d.expr != 0 ? text_of(c, d, buf) : "", texts[i]);
    }
    assert_string_equal(text_of(c, aot_dim_add(c, sym(c, "0.5*s0"), aot_dim_of(1)), buf),
                        "(0.5*s0) + (1)");
    aot_ctx_free(c);
}

static void deep_and_huge_expressions_do_not_break_it(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    aot_sb b = {0};
    aot_sb_pad(&b, '(', 5000);
    aot_dim d = aot_dim_parse(c, b.d, b.n);
    assert_true(d.value == AOT_HINT_NONE);
    aot_dim p = sym(c, "s0 + 1");
    for (int i = 0; i < 12; i++) {
        p = aot_dim_mul(c, p, p);
    }
    assert_true(p.expr != 0);
    aot_sb_free(&b);
    aot_ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_print_as_sympy_prints_them),
        cmocka_unit_test(operations_give_the_printed_form_and_the_value_at_the_hints),
        cmocka_unit_test(a_symbol_without_hint_leaves_the_value_open),
        cmocka_unit_test(what_is_no_integer_polynomial_is_kept_as_text),
        cmocka_unit_test(deep_and_huge_expressions_do_not_break_it),
    };
    return cmocka_run_group_tests_name("symalg", tests, NULL, NULL);
}
