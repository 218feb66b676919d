/* Graph text: what is read, what is refused and where, and that printing keeps it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ir/text.h"

typedef struct fixture {
    aot_ctx *c;
    aot_graph *g;
    aot_err err;
    aot_status status;
} fixture;

static fixture parse(const char *text)
{
    fixture f = {.c = aot_ctx_new()};
    f.status = aot_parse_graph(&f.g, f.c, text, strlen(text), 1, &f.err);
    return f;
}

static void done(fixture *f)
{
    aot_ctx_free(f->c);
}

#define HEAD "class G(torch.nn.Module):\n    def forward(self, x: \"f32[4, 8][8, 1]cpu\"):\n"

static void prints_back(const char *body)
{
    aot_sb text = {0}, out = {0};
    aot_sb_addf(&text, HEAD "%s", body);
    fixture f = parse(text.d);
    if (f.status != AOT_OK) {
        fail_msg("%s", f.err.msg);
    }
    aot_print_graph(&out, f.g, AOT_PRINT_PLAIN);
    assert_string_equal(text.d, out.d);
    aot_sb_free(&text);
    aot_sb_free(&out);
    done(&f);
}

static void every_kind_of_argument_prints_back(void **state)
{
    (void)state;
    prints_back("        a = torch.ops.aten.f.default(x, -1, 1e-05, True, None, 'it\\'s', \"q\", "
                "[1, [2, x]], (), (x,), "
                "{'k': [1, 2], 'n': None}, inf, -inf, nan, 9223372036854775807)\n"
                "        b = torch.ops.aten.f.default(a, dtype = torch.float32, device = "
                "device(type='cuda', index=0), "
                "memory_format = torch.contiguous_format, layout = torch.strided);  a = None\n"
                "        c = torch.ops.aten.f.default(b, (1+2j), 123456789012345678901234567890, "
                "slice(None, 3, None), "
                "...);  b = None\n"
                "        return (c, [x, None], {'a': c})\n");
}

static void operators_methods_and_attributes_print_back(void **state)
{
    (void)state;
    prints_back("        a = x + 1\n        b = 2.5 * a;  a = None\n        c = -b\n        d = "
                "~c;  c = None\n"
                "        e = d[(slice(None, 1, None), None, Ellipsis)];  d = None\n        f = e "
                "== b;  e = b = f = None\n"
                "        g = x.view(-1, 8)\n        h = x.T\n        i = x @ h;  x = None\n"
                "        g += i;  j = g;  g = i = None\n        h[(0, 1)] = j;  setitem = h;  h = "
                "setitem = None\n"
                "        return j\n");
}

static void modules_and_attributes_of_self_print_back(void **state)
{
    (void)state;
    prints_back("        w = self.weight\n        a = self.layer(x, w);  x = w = None\n"
                "        b = getattr(self.layers, \"0\").lin(a);  a = None\n        return (b,)\n");
}

static void submodules_are_linked_to_their_get_attr(void **state)
{
    (void)state;
    fixture f = parse(
        HEAD "        sub_0 = self.sub_0\n"
             "        c = torch.ops.higher_order.wrap(sub_0, x);  sub_0 = x = None\n        return "
             "(c,)\n\n"
             "    class sub_0(torch.nn.Module):\n        def forward(self, y: \"f32[4, 8]\"):\n"
             "            s = y.sin();  y = None\n            return (s,)\n");
    assert_int_equal(f.status, AOT_OK);
    assert_int_equal(f.g->subgraphs.n, 1);
    assert_int_equal(aot_node_at(f.g, 1)->kind, AOT_GET_ATTR);
    assert_int_equal(aot_node_at(f.g, 1)->subgraph, 1);
    assert_int_equal(f.g->subgraphs.d[0]->nodes.n, 3);
    done(&f);
}

static void floats_have_python_repr(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {1.0, "1.0"},
                 {1e-05, "1e-05"},
                 {1e16, "1e+16"},
                 {123456.0, "123456.0"},
                 {0.0001, "0.0001"},
                 {1.4285714285714286, "1.4285714285714286"},
                 {-0.0, "-0.0"},
                 {5e-324, "5e-324"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                 {1e15, "1000000000000000.0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aot_sb b = {0};
        aot_print_float(&b, cases[i].v);
        assert_string_equal(b.d, cases[i].text);
        aot_sb_free(&b);
    }
}

static void types_are_read(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    aot_ctx_set_hint(c, "s77", 5);
    const char *t = "bf16[s77, 16*s77 + 1][16, 1]cuda:0";
    aot_meta_id id = aot_ctx_meta(c, t, strlen(t));
    const aot_meta *m = aot_meta_get(c, id);
    assert_int_equal(m->val, AOT_VAL_TENSOR);
    assert_int_equal(m->dtype, AOT_BF16);
    assert_int_equal(m->ndim, 2);
    assert_int_equal(aot_meta_sizes(c, m)[1].value, 81);
    assert_int_equal(aot_meta_strides(c, m)[0].value, 16);
    assert_string_equal(aot_text(c, m->device), "cuda:0");
    assert_int_equal(aot_meta_bytes(c, id), 5 * 81 * 2);
    id = aot_ctx_meta(c, "f32[u0, 4]", 10); // no hint: 4096 for that size
    assert_int_equal(aot_meta_bytes(c, id), 4096 * 4 * 4);
    id = aot_ctx_meta(c, "TwoTensor(f32[4, 8][8, 1]cpu)", 29);
    assert_int_equal(aot_meta_get(c, id)->ndim, 2);
    assert_string_equal(aot_text(c, aot_meta_get(c, id)->wrapper), "TwoTensor");
    aot_ctx_free(c);
}

static void symbolic_expressions_have_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"s0", 7},
                 {"2*s0 + 1", 15},
                 {"(s0//2)", 3},
                 {"((-s0)//2)", -4},
                 {"s0**2", 49},
                 {"Max(1, s0)", 7},
                 {"Mod(s0, 4)", 3},
                 {"FloorDiv(s0, 3)", 2},
                 {"-s0", -7},
                 {"s0 - 10", -3},
                 {"2**3**2", 512},
                 {"PythonMod(-s0, 4)", 1},
                 {"CeilToInt(IntTrueDiv(s0, 2))", 4},
                 {"Where(Eq(s0, 7), 3, 4)", 3},
                 {"u0 + 1", AOT_HINT_NONE},
                 {"Strange(s0)", AOT_HINT_NONE},
                 {"s0 +", AOT_HINT_NONE},
                 {"s0//0", AOT_HINT_NONE},
                 {"", AOT_HINT_NONE},
                 {"9223372036854775807*s0", AOT_HINT_NONE}};
    aot_ctx *c = aot_ctx_new();
    aot_ctx_set_hint(c, "s0", 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t v = aot_sym_eval(c, cases[i].text, strlen(cases[i].text));
        if (v != cases[i].value) {
            fail_msg("%s: want %lld got %lld", cases[i].text, (long long)cases[i].value,
                     (long long)v);
        }
    }
    aot_ctx_free(c);
}

static void an_expression_nested_too_deeply_has_no_value(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    aot_sb b = {0};
    aot_sb_pad(&b, '(', 100000);
    aot_sb_addc(&b, '1');
    aot_sb_pad(&b, ')', 100000);
    assert_true(aot_sym_eval(c, b.d, b.n) == AOT_HINT_NONE);
    aot_sb_free(&b);
    aot_ctx_free(c);
}

static void refuses(const char *text, unsigned line, unsigned column, const char *expected)
{
    fixture f = parse(text);
    assert_int_equal(f.status, AOT_E_PARSE);
    assert_int_equal(f.err.at.line, line);
    assert_int_equal(f.err.at.column, column);
    if (strstr(f.err.msg, expected) == NULL) {
        fail_msg("'%s' does not say '%s'", f.err.msg, expected);
    }
    done(&f);
}

static void errors_name_line_column_and_what_was_expected(void **state)
{
    (void)state;
    refuses("hello\n", 1, 1, "expected class NAME(torch.nn.Module): or def forward(");
    refuses(HEAD "        a = torch.f(x, \n        return a\n", 3, 24, "expected a value");
    refuses(HEAD "        a = torch.f(x 1)\n", 3, 22, "',' or ')' after an argument");
    refuses(HEAD "        a = 'open\n", 3, 13, "a string that ends on its line");
    refuses(HEAD "        a: \"f32[4 = x.sin()\n", 3, 28, "'\"' after the type");
    refuses(HEAD "        a = x.sin() + \n", 3, 21, "the end of the statement");
    refuses(HEAD "        a = x.sin()\n", 4, 0, "expected a return statement");
    refuses(HEAD "        a = x.sin()\n        a = x.cos()\n        return a\n", 4, 0,
            "found 'a' a second time");
    refuses("class G(torch.nn.Module):\n    def forward(self, x, x):\n        return x\n", 2, 0,
            "found 'x' a second time");
}

static void brackets_nested_too_deeply_are_refused(void **state)
{
    (void)state;
    aot_sb b = {0};
    aot_sb_addz(&b, HEAD "        a = torch.f(");
    aot_sb_pad(&b, '[', 100000);
    fixture f = parse(b.d);
    assert_int_equal(f.status, AOT_E_PARSE);
    assert_non_null(strstr(f.err.msg, "64 levels"));
    aot_sb_free(&b);
    done(&f);
}

static void unknown_operators_are_kept_and_counted(void **state)
{
    (void)state;
    fixture f =
        parse(HEAD "        a = torch.ops.mylib.thing.default(x, 3)\n"
                   "        b = torch.ops.aten.sin.default(a);  a = None\n        return (b,)\n");
    assert_int_equal(f.status, AOT_OK);
    assert_int_equal(f.g->n_opaque, 1);
    assert_string_equal(aot_node_target(f.g, 1), "torch.ops.mylib.thing.default");
    done(&f);
}

static void comments_hold_until_the_next_one(void **state)
{
    (void)state;
    fixture f = parse(
        HEAD "        # ac_graph_id: 4 - PREFER_RECOMPUTE File: m.py:9 in f, code: a = x.sin()\n"
             "        a = x.sin()\n        b = a.cos();  a = None\n"
             "        # recompute: MUST_SAVE No stacktrace found for following nodes\n"
             "        c = b.cos();  b = None\n        return (c,)\n");
    assert_int_equal(f.status, AOT_OK);
    const aot_src *s = &f.g->srcs.d[aot_node_at(f.g, 2)->src];
    assert_int_equal(s->ac_graph_id, 4);
    assert_int_equal(s->line, 9);
    assert_string_equal(aot_text(f.c, s->file), "m.py");
    assert_string_equal(aot_text(f.c, s->func), "f");
    assert_string_equal(aot_text(f.c, s->code), "a = x.sin()");
    assert_int_equal(aot_node_at(f.g, 2)->policy, AOT_POLICY_PREFER_RECOMPUTE);
    assert_int_equal(aot_node_at(f.g, 3)->policy, AOT_POLICY_MUST_SAVE);
    done(&f);
}

static void names_follow_fx(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    aot_namespace *ns = aot_namespace_new(c);
    static const char *const steps[][2] = {{"add", "add"},     {"add", "add_1"}, {"add_5", "add_5"},
                                           {"add", "add_6"},   {"sum", "sum_1"}, {"sum", "sum_2"},
                                           {"a.b-c", "a_b_c"}, {"3d", "_3d"},    {"", "_unnamed"},
                                           {"add_1", "add_2"}, {"x_", "x_"},     {"x_", "x__1"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        aot_str s = aot_namespace_create(ns, steps[i][0], strlen(steps[i][0]));
        assert_string_equal(aot_text(c, s), steps[i][1]);
    }
    aot_namespace_free(ns);
    aot_ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_argument_prints_back),
        cmocka_unit_test(operators_methods_and_attributes_print_back),
        cmocka_unit_test(modules_and_attributes_of_self_print_back),
        cmocka_unit_test(submodules_are_linked_to_their_get_attr),
        cmocka_unit_test(floats_have_python_repr),
        cmocka_unit_test(types_are_read),
        cmocka_unit_test(symbolic_expressions_have_values),
        cmocka_unit_test(an_expression_nested_too_deeply_has_no_value),
        cmocka_unit_test(errors_name_line_column_and_what_was_expected),
        cmocka_unit_test(brackets_nested_too_deeply_are_refused),
        cmocka_unit_test(unknown_operators_are_kept_and_counted),
        cmocka_unit_test(comments_hold_until_the_next_one),
        cmocka_unit_test(names_follow_fx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
