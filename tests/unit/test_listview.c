/* The list widget over made-up rows: heads, moving, filter, search, order, and that a frame asks
 * only for what is visible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tui/listview.h"

/* Every tenth row is a head; the others are "row N". */
static size_t n_drawn;

static void draw(void *arg, aot_canvas *c, int y, int x, int cols, size_t row)
{
    (void)arg;
    (void)cols;
    n_drawn++;
    aot_canvas_putf(c, y, x, AOT_STYLE_NORMAL, "%zu", row);
}

static void text(void *arg, size_t row, aot_sb *out)
{
    (void)arg;
    aot_sb_addf(out, row % 10 == 0 ? "head %zu" : "row %zu", row);
}

static bool is_head(void *arg, size_t row)
{
    (void)arg;
    return row % 10 == 0;
}

static const char *const columns[] = {"order", "last digit", NULL};

static int compare(void *arg, int column, size_t a, size_t b)
{
    (void)arg;
    (void)column;
    return (int)(a % 10) - (int)(b % 10);
}

static const aot_list_ops ops = {
    .draw = draw, .text = text, .is_head = is_head, .columns = columns, .compare = compare};

static aot_list list;

static int setup(void **state)
{
    (void)state;
    aot_list_init(&list, &ops, NULL);
    aot_list_reset(&list, 100, 0);
    list.height = 20;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    aot_list_done(&list);
    return 0;
}

static void settle(void)
{
    while (aot_list_work(&list, 1000000)) {
    }
}

static void filter(const char *pattern)
{
    aot_err err = {0};
    assert_int_equal(aot_list_filter(&list, pattern, &err), AOT_OK);
    settle();
}

static void search(const char *pattern, size_t start)
{
    aot_err err = {0};
    assert_int_equal(aot_list_search(&list, pattern, start, &err), AOT_OK);
    settle();
}

static void the_cursor_never_rests_on_a_head(void **state)
{
    (void)state;
    assert_int_equal(aot_list_row(&list), 1);
    aot_list_act(&list, AOT_ACT_UP);
    assert_int_equal(aot_list_row(&list), 1);
    for (int i = 0; i < 9; i++) {
        aot_list_act(&list, AOT_ACT_DOWN);
    }
    assert_int_equal(aot_list_row(&list), 11);
    aot_list_act(&list, AOT_ACT_UP);
    assert_int_equal(aot_list_row(&list), 9);
    aot_list_act(&list, AOT_ACT_LAST);
    assert_int_equal(aot_list_row(&list), 99);
    aot_list_act(&list, AOT_ACT_FIRST);
    assert_int_equal(aot_list_row(&list), 1);
}

static void a_page_is_the_height_less_one(void **state)
{
    (void)state;
    aot_list_act(&list, AOT_ACT_PAGE_DOWN);
    assert_int_equal(aot_list_row(&list), 21); /* 1 + 19 is a head */
    aot_list_act(&list, AOT_ACT_PAGE_UP);
    assert_int_equal(aot_list_row(&list), 2);
}

static void a_filter_keeps_the_head_of_what_it_keeps(void **state)
{
    (void)state;
    filter("[35]4$");
    assert_int_equal(aot_list_n_shown(&list), 4);
    assert_int_equal(list.shown.d[0], 30);
    assert_int_equal(list.shown.d[1], 34);
    assert_int_equal(list.shown.d[2], 50);
    assert_int_equal(list.shown.d[3], 54);
    assert_int_equal(aot_list_row(&list), 34);
}

static void a_filter_keeps_the_cursor_on_its_row(void **state)
{
    (void)state;
    assert_true(aot_list_select(&list, 57));
    filter("7");
    assert_int_equal(aot_list_row(&list), 57);
    filter("");
    assert_int_equal(aot_list_row(&list), 57);
    assert_int_equal(aot_list_n_shown(&list), 100);
}

static void a_filter_can_be_inverse(void **state)
{
    (void)state;
    filter("!1");
    for (size_t i = 0; i < aot_list_n_shown(&list); i++) {
        assert_true(list.shown.d[i] % 10 == 0 ||
                    (list.shown.d[i] % 10 != 1 && list.shown.d[i] / 10 != 1));
    }
    assert_int_equal(list.n_kept, 72);
}

static void a_filter_that_keeps_nothing_leaves_no_row(void **state)
{
    (void)state;
    filter("nothing");
    assert_int_equal(aot_list_n_shown(&list), 0);
    assert_int_equal(aot_list_row(&list), AOT_NO_ROW);
    assert_true(aot_list_act(&list, AOT_ACT_DOWN));
    assert_int_equal(aot_list_row(&list), AOT_NO_ROW);
}

static void a_search_goes_forward_and_round(void **state)
{
    (void)state;
    search("row .8", 50);
    assert_int_equal(aot_list_row(&list), 58);
    assert_int_equal(list.n_matches, 9);
    for (int i = 0; i < 4; i++) {
        aot_list_act(&list, AOT_ACT_SEARCH_NEXT);
    }
    assert_int_equal(aot_list_row(&list), 98);
    aot_list_act(&list, AOT_ACT_SEARCH_NEXT);
    assert_int_equal(aot_list_row(&list), 18);
    assert_true(list.wrapped);
    aot_list_act(&list, AOT_ACT_SEARCH_PREV);
    assert_int_equal(aot_list_row(&list), 98);
    assert_true(list.wrapped);
}

static void a_head_that_matches_leads_to_the_row_under_it(void **state)
{
    (void)state;
    search("head 40", 1);
    assert_int_equal(aot_list_row(&list), 41);
    assert_int_equal(list.n_matches, 1);
}

static void small_letters_match_both_cases_and_capitals_do_not(void **state)
{
    (void)state;
    search("ROW", 1);
    assert_int_equal(list.n_matches, 0);
    search("row 1", 1);
    assert_int_equal(list.n_matches, 10);
}

static void a_broken_expression_is_an_error_and_changes_nothing(void **state)
{
    (void)state;
    aot_err err = {0};
    search("row 5", 1);
    assert_int_equal(aot_list_search(&list, "a(b", 1, &err), AOT_E_USAGE);
    assert_string_equal(list.search.text, "row 5");
    assert_int_equal(list.n_matches, 11 - 1);
}

static void sorting_is_stable_and_keeps_the_cursor_on_its_row(void **state)
{
    (void)state;
    assert_true(aot_list_select(&list, 42));
    aot_list_act(&list, AOT_ACT_SORT_NEXT);
    settle();
    assert_int_equal(aot_list_row(&list), 42);
    assert_int_equal(aot_list_n_shown(&list), 90); /* heads say nothing there */
    for (size_t i = 1; i < aot_list_n_shown(&list); i++) {
        uint32_t a = list.shown.d[i - 1], b = list.shown.d[i];
        assert_true(a % 10 < b % 10 || (a % 10 == b % 10 && a < b));
    }
    aot_list_act(&list, AOT_ACT_INVERT);
    settle();
    for (size_t i = 1; i < aot_list_n_shown(&list); i++) {
        uint32_t a = list.shown.d[i - 1], b = list.shown.d[i];
        assert_true(a % 10 > b % 10 || (a % 10 == b % 10 && a < b));
    }
}

static void a_frame_draws_the_visible_rows_only(void **state)
{
    (void)state;
    aot_canvas c;
    aot_canvas_init(&c, 24, 80, true);
    aot_list_reset(&list, 1000000, 500000);
    n_drawn = 0;
    aot_list_draw(&list, &c, 0, 0, 20, 80, true);
    assert_int_equal(n_drawn, 20);
    bool seen = false;
    for (int y = 0; y < 20; y++) {
        seen = seen || aot_canvas_at(&c, y, 0)->ch == '>';
    }
    assert_true(seen);
    aot_canvas_free(&c);
}

static void a_scan_stops_when_its_time_is_up(void **state)
{
    (void)state;
    aot_err err = {0};
    aot_list_reset(&list, 3000000, 1);
    assert_int_equal(aot_list_search(&list, "row 2999999", 1, &err), AOT_OK);
    assert_true(list.searched < 3000000);
    assert_true(aot_list_work(&list, 1000));
    settle();
    assert_int_equal(aot_list_row(&list), 2999999);
}

static void a_click_selects_the_row_it_hits(void **state)
{
    (void)state;
    aot_canvas c;
    aot_canvas_init(&c, 24, 80, true);
    aot_list_draw(&list, &c, 2, 10, 20, 40, true);
    assert_true(aot_list_click(&list, 2 + 7, 12));
    assert_int_equal(aot_list_row(&list), 7);
    assert_false(aot_list_click(&list, 1, 12));
    assert_false(aot_list_click(&list, 9, 55));
    assert_int_equal(aot_list_row(&list), 7);
    aot_canvas_free(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_cursor_never_rests_on_a_head),
        TEST(a_page_is_the_height_less_one),
        TEST(a_filter_keeps_the_head_of_what_it_keeps),
        TEST(a_filter_keeps_the_cursor_on_its_row),
        TEST(a_filter_can_be_inverse),
        TEST(a_filter_that_keeps_nothing_leaves_no_row),
        TEST(a_search_goes_forward_and_round),
        TEST(a_head_that_matches_leads_to_the_row_under_it),
        TEST(small_letters_match_both_cases_and_capitals_do_not),
        TEST(a_broken_expression_is_an_error_and_changes_nothing),
        TEST(sorting_is_stable_and_keeps_the_cursor_on_its_row),
        TEST(a_frame_draws_the_visible_rows_only),
        TEST(a_scan_stops_when_its_time_is_up),
        TEST(a_click_selects_the_row_it_hits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
