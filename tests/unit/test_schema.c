/* Schema texts: all of the table's parse, parts are what they say, broken ones are refused with a
 * place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "ops/optab.h"
#include "ops/schema.h"

static aot_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = aot_arena_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    aot_arena_free(arena);
    return 0;
}

static aot_schema parsed(const char *text)
{
    aot_schema s = {0};
    aot_err err = {0};
    if (aot_schema_parse(&s, arena, text, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    return s;
}

static void expect(aot_span got, const char *want)
{
    char text[128];
    assert_true(got.n < sizeof text);
    memcpy(text, got.n ? got.s : "", got.n);
    text[got.n] = '\0';
    assert_string_equal(text, want);
}

static const aot_schema_arg *arg(const aot_schema *s, const char *name)
{
    const aot_schema_arg *a = aot_schema_arg_find(s, name);
    assert_non_null(a);
    return a;
}

static void every_schema_of_the_table_parses(void **state)
{
    (void)state;
    size_t n = 0, returns = 0;
    for (size_t i = 1; i < aot_op_count(); i++) {
        const aot_op_info *o = aot_op((aot_op_id)i);
        if (o->schema) {
            aot_schema s = parsed(o->schema);
            returns += s.n_returns;
            n++;
        }
    }
    assert_true(n > 4000);
    assert_true(returns > n);
}

static void effects_found_in_one_pass_are_those_of_the_parsed_schema(void **state)
{
    (void)state;
    for (size_t i = 1; i < aot_op_count(); i++) {
        const aot_op_info *o = aot_op((aot_op_id)i);
        if (!o->schema) {
            continue;
        }
        aot_schema s = parsed(o->schema);
        bool writes = false, aliases = false, w, a;
        for (uint32_t k = 0; k < s.n_args; k++) {
            writes |= s.args[k].is_write;
        }
        for (uint32_t k = 0; k < s.n_returns; k++) {
            aliases |= s.returns[k].alias.n > 0 && !s.returns[k].is_write;
        }
        aot_schema_effects(o->schema, &w, &a);
        if (w != writes || a != aliases) {
            fail_msg("%s: writes %d %d, aliases %d %d", o->schema, w, writes, a, aliases);
        }
    }
}

static void name_overload_and_counts(void **state)
{
    (void)state;
    aot_schema s = parsed("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
    expect(s.name, "add");
    expect(s.overload, "Tensor");
    assert_int_equal(s.n_args, 3);
    assert_int_equal(s.n_positional, 2);
    assert_int_equal(s.n_returns, 1);
    assert_false(s.returns_tuple);
    expect(arg(&s, "alpha")->def, "1");
    assert_true(arg(&s, "alpha")->kwarg_only);
    assert_false(arg(&s, "other")->kwarg_only);
    assert_int_equal(arg(&s, "alpha")->kind, AOT_TYPE_SCALAR);
    assert_null(aot_schema_arg_find(&s, "alph"));
    expect(parsed("relu(Tensor self) -> Tensor").overload, "");
}

static void lists_options_and_sizes(void **state)
{
    (void)state;
    aot_schema s = parsed(
        "f(Tensor? a, Tensor?[] b, SymInt[2]? c=None, int[] d=[0, 1], Tensor[]? e=None) -> ()");
    assert_true(arg(&s, "a")->optional);
    assert_false(arg(&s, "a")->is_list);
    assert_true(arg(&s, "b")->is_list);
    assert_true(arg(&s, "b")->item_optional);
    assert_false(arg(&s, "b")->optional);
    assert_int_equal(arg(&s, "c")->list_size, 2);
    assert_int_equal(arg(&s, "c")->kind, AOT_TYPE_SYM_INT);
    assert_true(arg(&s, "c")->optional);
    assert_false(arg(&s, "c")->item_optional);
    expect(arg(&s, "d")->def, "[0, 1]");
    assert_true(arg(&s, "e")->is_list && arg(&s, "e")->optional);
    expect(arg(&s, "c")->type, "SymInt[2]?");
    assert_int_equal(s.n_returns, 0);
    assert_true(s.returns_tuple);
}

static void aliases_and_writes(void **state)
{
    (void)state;
    aot_schema s =
        parsed("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]");
    expect(s.args[0].alias, "a -> *");
    assert_false(s.args[0].is_write);
    assert_true(s.returns[0].is_list);
    expect(s.returns[0].alias, "a");
    s = parsed("max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, "
               "Tensor(b!) max_values) "
               "-> (Tensor(a!) values, Tensor(b!) indices)");
    assert_true(arg(&s, "max_values")->is_write);
    assert_int_equal(s.n_returns, 2);
    expect(s.returns[1].name, "indices");
    expect(s.returns[1].alias, "b!");
}

static void texts_as_defaults_survive(void **state)
{
    (void)state;
    aot_schema s = parsed(
        "_test_string_default(Tensor dummy, str a=\"\\\"\\'\\\\\", str b=\"),(\") -> Tensor");
    expect(arg(&s, "a")->def, "\"\\\"\\'\\\\\"");
    expect(arg(&s, "b")->def, "\"),(\"");
    assert_int_equal(s.n_args, 3);
}

static void types_of_torchscript_are_read(void **state)
{
    (void)state;
    aot_schema s = parsed("_set_item.str(Dict(str, t)(a!) l, str(b -> *) idx, t(c -> *) v) -> ()");
    assert_int_equal(s.n_args, 3);
    assert_int_equal(s.args[0].kind, AOT_TYPE_OTHER);
    assert_true(s.args[0].is_write);
    s = parsed("divmod.float_int(float x, int y) -> (float, float)");
    assert_int_equal(s.n_returns, 2);
    assert_int_equal(s.returns[1].kind, AOT_TYPE_FLOAT);
    assert_true(parsed("format(str self, ...) -> str").varargs);
}

static void broken_schemas_are_refused_with_a_column(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t column;
    } bad[] = {
        {"", 1},
        {"mul", 4},
        {"mul(", 5},
        {"mul(Tensor", 11},
        {"mul(Tensor self", 16},
        {"mul(Tensor self)", 17},
        {"mul(Tensor self) ->", 20},
        {"mul(Tensor self) -> Tensor x y", 30},
        {"mul(Tensor(a! self) -> Tensor", 21},
        {"mul(int[2 x) -> ()", 11},
        {"mul(int x=) -> ()", 11},
        {"mul(str x=\"abc) -> ()", 22},
        {"mul(Tensor self,, int x) -> ()", 17},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        aot_schema s = {.n_args = 77};
        aot_err err = {0};
        if (aot_schema_parse(&s, arena, bad[i].text, &err) != AOT_E_PARSE) {
            fail_msg("accepted: %s", bad[i].text);
        }
        assert_int_equal(s.n_args, 77); /* untouched */
        if (err.at.column != bad[i].column) {
            fail_msg("%s: column %u, %s", bad[i].text, err.at.column, err.msg);
        }
    }
}

static void effects_of_what_is_no_schema_are_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "mul", "mul(", "mul(Tensor(a!) self",
                                        "mul(Tensor(a!) self)"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bool w = true, a = true;
        aot_schema_effects(texts[i], &w, &a);
        assert_false(w);
        assert_false(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schema_of_the_table_parses),
        cmocka_unit_test(effects_found_in_one_pass_are_those_of_the_parsed_schema),
        cmocka_unit_test(name_overload_and_counts),
        cmocka_unit_test(lists_options_and_sizes),
        cmocka_unit_test(aliases_and_writes),
        cmocka_unit_test(texts_as_defaults_survive),
        cmocka_unit_test(types_of_torchscript_are_read),
        cmocka_unit_test(broken_schemas_are_refused_with_a_column),
        cmocka_unit_test(effects_of_what_is_no_schema_are_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
