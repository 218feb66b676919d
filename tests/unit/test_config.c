/* Settings: defaults, values in Python's spelling, ranges, unknown names, the JSON dump. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <string.h>

#include "pipeline/config.h"

static void set_ok(aot_config *c, const char *assignment)
{
    aot_err err = {0};
    if (aot_config_set(c, assignment, &err) != AOT_OK) {
        fail_msg("%s: %s", assignment, err.msg);
    }
}

/* The assignment is refused, changes nothing, and the message holds each of the parts. */
static void refuse(const char *assignment, const char *part1, const char *part2)
{
    aot_config c, before;
    aot_err err = {0};
    aot_config_init(&c);
    aot_config_init(&before);
    assert_int_equal(aot_config_set(&c, assignment, &err), AOT_E_USAGE);
    assert_int_equal(err.code, AOT_E_USAGE);
    assert_memory_equal(&c, &before, sizeof c);
    if (strstr(err.msg, part1) == NULL || strstr(err.msg, part2) == NULL) {
        fail_msg("'%s' lacks '%s' or '%s'", err.msg, part1, part2);
    }
}

static void expect_print(const aot_config *c, const char *name, const char *want)
{
    aot_sb b = {0};
    aot_config_print(&b, c, aot_config_find(name));
    assert_string_equal(aot_sb_text(&b), want);
    aot_sb_free(&b);
}

static void defaults_are_those_of_pytorch(void **state)
{
    (void)state;
    aot_config c;
    aot_config_init(&c);
    assert_true(c.activation_memory_budget == 1.0);
    assert_string_equal(c.activation_memory_budget_solver, "dp");
    assert_string_equal(c.activation_memory_budget_runtime_estimator, "flops");
    assert_int_equal(c.max_dist_from_bw, 1000);
    assert_true(c.cse && c.ban_recompute_reductions && c.treat_parameters_as_free_to_save);
    assert_false(c.recompute_views || c.aggressive_recomputation || c.fallback_random);
    assert_string_equal(c.partitioner, "min_cut");
}

static void every_row_is_found_and_prints_its_default(void **state)
{
    (void)state;
    aot_config c;
    aot_config_init(&c);
    assert_true(aot_config_count() > 10);
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *row = aot_config_row_at(i);
        assert_ptr_equal(aot_config_find(row->name), row);
        expect_print(&c, row->name, row->def_text);
    }
    assert_null(aot_config_find("cs"));
    assert_null(aot_config_find(""));
}

static void what_is_printed_can_be_set_again(void **state)
{
    (void)state;
    aot_config c, again;
    aot_config_init(&c);
    aot_config_init(&again);
    set_ok(&c, "activation_memory_budget=0.3");
    set_ok(&c, "activation_memory_budget_solver=greedy");
    set_ok(&c, "cse=False");
    set_ok(&c, "max_dist_from_bw=7");
    for (size_t i = 0; i < aot_config_count(); i++) {
        aot_sb b = {0};
        aot_sb_addf(&b, "%s=", aot_config_row_at(i)->name);
        aot_config_print(&b, &c, aot_config_row_at(i));
        set_ok(&again, aot_sb_text(&b));
        aot_sb_free(&b);
    }
    assert_memory_equal(&c, &again, sizeof c);
}

static void booleans_have_three_spellings(void **state)
{
    (void)state;
    aot_config c;
    aot_config_init(&c);
    const char *const off[] = {"cse=False", "cse=false", "cse=0", " cse = False "};
    const char *const on[] = {"cse=True", "cse=true", "cse=1", "cse\t=\tTrue"};
    for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
        set_ok(&c, off[i]);
        assert_false(c.cse);
        set_ok(&c, on[i]);
        assert_true(c.cse);
    }
    refuse("cse=yes", "cse", "True or False");
    refuse("cse=TRUE", "'TRUE'", "True or False");
    refuse("cse=", "empty value", "True or False");
}

static void integers_are_decimal_and_in_range(void **state)
{
    (void)state;
    aot_config c;
    aot_config_init(&c);
    set_ok(&c, "max_dist_from_bw=0");
    assert_int_equal(c.max_dist_from_bw, 0);
    set_ok(&c, "max_dist_from_bw=+1_000_000");
    assert_int_equal(c.max_dist_from_bw, 1000000);
    refuse("max_dist_from_bw=-1", "'-1'", "at least 0");
    refuse("max_dist_from_bw=1.5", "max_dist_from_bw", "a whole number");
    refuse("max_dist_from_bw=1e3", "'1e3'", "a whole number");
    refuse("max_dist_from_bw=0x10", "'0x10'", "a whole number");
    refuse("max_dist_from_bw=1__0", "'1__0'", "a whole number");
    refuse("max_dist_from_bw=99999999999999999999", "99999999999999999999", "a whole number");
}

static void floats_are_in_range_ends_included(void **state)
{
    (void)state;
    aot_config c;
    aot_config_init(&c);
    set_ok(&c, "activation_memory_budget=.5");
    assert_true(c.activation_memory_budget == 0.5);
    set_ok(&c, "activation_memory_budget=0");
    assert_true(c.activation_memory_budget == 0.0);
    set_ok(&c, "activation_memory_budget=1.");
    assert_true(c.activation_memory_budget == 1.0);
    set_ok(&c, "activation_memory_budget=25e-2");
    assert_true(c.activation_memory_budget == 0.25);
    refuse("activation_memory_budget=1.0001", "activation_memory_budget", "from 0 to 1");
    refuse("activation_memory_budget=-0.1", "'-0.1'", "from 0 to 1");
    refuse("activation_memory_budget=nan", "'nan'", "a number");
    refuse("activation_memory_budget=inf", "'inf'", "a number");
    refuse("activation_memory_budget=0x1p-1", "'0x1p-1'", "a number");
    refuse("activation_memory_budget=0,5", "'0,5'", "a number");
    refuse("activation_memory_budget=half", "'half'", "a number");
}

static void floats_print_as_python_does(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {
        {0.0, "0.0"}, {1.0, "1.0"}, {0.5, "0.5"}, {0.1, "0.1"}, {1.0 / 3, "0.3333333333333333"},
        {0.0001, "0.0001"}, {0.00001, "1e-05"}, {2.5e-7, "2.5e-07"}, {123456.0, "123456.0"},
        {1e15, "1000000000000000.0"}, {1e16, "1e+16"}, {0.30000000000000004, "0.30000000000000004"},
        {-2.0, "-2.0"}, {5e-324, "5e-324"}, {1.0 / 0.0, "inf"}, {0.1 + 0.7, "0.7999999999999999"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aot_config c;
        aot_config_init(&c);
        c.activation_memory_budget = cases[i].v;
        expect_print(&c, "activation_memory_budget", cases[i].text);
    }
}

static void texts_are_one_of_the_choices(void **state)
{
    (void)state;
    aot_config c;
    aot_config_init(&c);
    set_ok(&c, "activation_memory_budget_solver=dp_knapsack_sliding_hirschberg");
    assert_string_equal(c.activation_memory_budget_solver, "dp_knapsack_sliding_hirschberg");
    set_ok(&c, "activation_memory_budget_solver='ilp'");
    assert_string_equal(c.activation_memory_budget_solver, "ilp");
    set_ok(&c, "partitioner=\"default_partition\"");
    assert_string_equal(c.partitioner, "default_partition");
    refuse("activation_memory_budget_solver=d", "'d'", "one of dp, greedy, ilp,");
    refuse("activation_memory_budget_solver=dp greedy", "'dp greedy'", "one of dp,");
    refuse("activation_memory_budget_solver=", "empty value", "one of dp,");
    refuse("activation_memory_budget_runtime_estimator=profile", "'profile'", "flops, testing");
}

static void unknown_names_list_near_ones(void **state)
{
    (void)state;
    refuse("activation_memory_buget=0.5", "'activation_memory_buget'",
           "near it: activation_memory_budget");
    refuse("recompute-views=True", "'recompute-views'", "near it: recompute_views");
    refuse("CSE=True", "'CSE'", "near it: cse");
    refuse("solver=dp", "'solver'", "activation_memory_budget_solver");
    refuse("reductions=dp", "'reductions'", "ban_recompute_reductions");
    refuse("cse", "'cse'", "name=value");
    refuse("", "''", "name=value");
    refuse("=1", "no setting", "''");
}

static void strange_names_are_not_compared(void **state)
{
    (void)state;
    char longest[400];
    memset(longest, 'q', sizeof longest);
    memcpy(longest + sizeof longest - 3, "=1", 3);
    aot_config c;
    aot_err err = {0};
    aot_config_init(&c);
    assert_int_equal(aot_config_set(&c, longest, &err), AOT_E_USAGE);
    assert_null(strstr(err.msg, "near it"));
    err = (aot_err){0};
    assert_int_equal(aot_config_set(&c, "zzzzzz=1", &err), AOT_E_USAGE);
    assert_null(strstr(err.msg, "near it"));
}

static void a_dump_sets_what_is_known_and_sound(void **state)
{
    (void)state;
    static const char text[] =
        "{\"TYPE_CHECKING\": false, \"cse\": false, \"max_dist_from_bw\": 12,"
        " \"activation_memory_budget\": 0.5, \"activation_memory_budget_solver\": \"greedy\","
        " \"recompute_views\": 1, \"_save_config_ignore\": [\"joint_custom_pass\"],"
        " \"ban_recompute_reductions\": null, \"aggressive_recomputation\": \"True\"}";
    json_t *dump = json_loads(text, 0, NULL);
    assert_non_null(dump);
    aot_config c;
    aot_config_init(&c);
    aot_config_from_json(&c, dump);
    json_decref(dump);
    assert_false(c.cse);
    assert_int_equal(c.max_dist_from_bw, 12);
    assert_true(c.activation_memory_budget == 0.5);
    assert_string_equal(c.activation_memory_budget_solver, "greedy");
    assert_true(c.recompute_views);
    assert_true(c.ban_recompute_reductions);
    assert_false(c.aggressive_recomputation);
}

static void an_unsound_dump_leaves_the_defaults(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"activation_memory_budget\": 7, \"max_dist_from_bw\": -1, \"cse\": 0.0}",
        "{\"activation_memory_budget\": \"0.5\", \"activation_memory_budget_solver\": \"magic\"}",
        "{\"activation_memory_budget_solver\": 1, \"partitioner\": \"\", \"cse\": []}",
        "[]", "3",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *dump = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        assert_non_null(dump);
        aot_config c, before;
        aot_config_init(&c);
        aot_config_init(&before);
        aot_config_from_json(&c, dump);
        json_decref(dump);
        assert_memory_equal(&c, &before, sizeof c);
    }
    aot_config c;
    aot_config_init(&c);
    aot_config_from_json(&c, NULL);
    assert_true(c.cse);
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "fr_FR.UTF-8") == NULL) {
        skip();
    }
    aot_config c;
    aot_config_init(&c);
    set_ok(&c, "activation_memory_budget=0.25");
    assert_true(c.activation_memory_budget == 0.25);
    expect_print(&c, "activation_memory_budget", "0.25");
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_pytorch),
        cmocka_unit_test(every_row_is_found_and_prints_its_default),
        cmocka_unit_test(what_is_printed_can_be_set_again),
        cmocka_unit_test(booleans_have_three_spellings),
        cmocka_unit_test(integers_are_decimal_and_in_range),
        cmocka_unit_test(floats_are_in_range_ends_included),
        cmocka_unit_test(floats_print_as_python_does),
        cmocka_unit_test(texts_are_one_of_the_choices),
        cmocka_unit_test(unknown_names_list_near_ones),
        cmocka_unit_test(strange_names_are_not_compared),
        cmocka_unit_test(a_dump_sets_what_is_known_and_sound),
        cmocka_unit_test(an_unsound_dump_leaves_the_defaults),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
