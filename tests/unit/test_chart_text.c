/* Charts as characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "viewers/chart_text.h"

static void expect(const aot_chart *chart, int rows, int cols, aot_chart_glyphs glyphs,
                   const char *want)
{
    aot_canvas c;
    aot_sb text = {0};
    aot_canvas_init(&c, rows, cols, glyphs == AOT_CHART_ASCII);
    aot_chart_text(chart, &c, 0, 0, rows, cols, glyphs, NULL);
    aot_canvas_text(&text, &c);
    assert_string_equal(aot_sb_text(&text), want);
    aot_sb_free(&text);
    aot_canvas_free(&c);
}

static aot_chart *one(aot_chart_shape shape, const double *y, size_t n)
{
    aot_chart *c = aot_chart_new("T", NULL);
    aot_chart_axes(c, "x", AOT_CHART_INDEX, "y", AOT_CHART_INDEX);
    uint32_t s = aot_chart_series_new(c, "s", shape);
    for (size_t i = 0; i < n; i++) {
        aot_chart_point(c, s, (double)i, y[i], NULL);
    }
    return c;
}

static const double rising[] = {0, 1, 2, 3, 4};

static void a_line_goes_from_point_to_point(void **state)
{
    (void)state;
    aot_chart *c = one(AOT_CHART_LINE, rising, 5);
    expect(c, 7, 22, AOT_CHART_ASCII,
           "T: y\n"
           "4+                ..''\n"
           "2+         ...''''\n"
           " |    ...''\n"
           "0+..''\n"
           " ++---------+--------+\n"
           "  0         2     x  4\n");
    aot_chart_free(c);
}

static void an_area_is_filled_below(void **state)
{
    (void)state;
    aot_chart *c = one(AOT_CHART_AREA, rising, 5);
    expect(c, 7, 22, AOT_CHART_ASCII,
           "T: y\n"
           "4+                   :\n"
           "2+          ....::::::\n"
           " |     .....::::::::::\n"
           "0+     :::::::::::::::\n"
           " ++---------+--------+\n"
           "  0         2     x  4\n");
    expect(c, 7, 22, AOT_CHART_BRAILLE,
           "T: y\n"
           "4┤                   ⢸\n"
           "2┤          ⣀⣀⣀⣀⣸⣿⣿⣿⣿⣿\n"
           " │     ⣀⣀⣀⣀⣀⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿\n"
           "0┤     ⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿\n"
           " └┴─────────┴────────┴\n"
           "  0         2     x  4\n");
    expect(c, 7, 22, AOT_CHART_BLOCKS,
           "T: y\n"
           "4┤                   █\n"
           "2┤          ▄▄▄▄██████\n"
           " │     ▄▄▄▄▄██████████\n"
           "0┤     ███████████████\n"
           " └┴─────────┴────────┴\n"
           "  0         2     x  4\n");
    aot_chart_free(c);
}

static void a_narrow_stretch_shows_its_highest_value(void **state)
{
    (void)state;
    double y[1000] = {0};
    y[500] = 8; // one of a thousand
    aot_chart *c = one(AOT_CHART_AREA, y, 1000);
    expect(c, 6, 22, AOT_CHART_ASCII,
           "T: y\n"
           " |          :\n"
           "5+          :\n"
           "0+          :\n"
           " ++---------+---------\n"
           "  0        500       x\n");
    aot_chart_free(c);
}

static void areas_stand_on_each_other_in_patterns(void **state)
{
    (void)state;
    aot_chart *c = one(AOT_CHART_AREA, rising, 5);
    uint32_t s = aot_chart_series_new(c, "other", AOT_CHART_AREA);
    for (int i = 0; i < 5; i++) {
        aot_chart_point(c, s, i, 4, NULL);
    }
    expect(c, 7, 22, AOT_CHART_ASCII,
           "T: y    # s  = other\n"
           " |              ======\n"
           "5+     ===============\n"
           " |==============######\n"
           "0+=====###############\n"
           " ++---------+--------+\n"
           "  0         2     x  4\n");
    aot_chart_free(c);
}

static void marks_and_markers_are_drawn(void **state)
{
    (void)state;
    aot_chart *c = one(AOT_CHART_MARKED, rising, 5);
    aot_chart_mark_at(c, AOT_CHART_AT_X, 1, 0, "here");
    aot_chart_mark_at(c, AOT_CHART_AT_XY, 3, 3, NULL);
    expect(c, 7, 22, AOT_CHART_ASCII,
           "T: y\n"
           "4+     | here     ..'o\n"
           "2+     |   .o.''O'\n"
           " |    .o.''\n"
           "0+o.'' |\n"
           " ++---------+--------+\n"
           "  0         2     x  4\n");
    aot_chart_free(c);
}

static void a_field_too_small_stays_empty(void **state)
{
    (void)state;
    aot_canvas c;
    aot_chart_plot p;
    aot_sb text = {0};
    aot_chart *chart = one(AOT_CHART_LINE, rising, 5);
    aot_canvas_init(&c, 5, 19, true);
    aot_chart_text(chart, &c, 0, 0, 5, 19, AOT_CHART_ASCII, &p);
    assert_int_equal(p.cols, 0);
    aot_canvas_text(&text, &c);
    assert_string_equal(aot_sb_text(&text), "\n\n\n\n\n");
    aot_sb_free(&text);
    aot_canvas_free(&c);
    aot_chart_free(chart);
}

static void the_cursor_is_seen_without_colours(void **state)
{
    (void)state;
    aot_canvas c;
    aot_chart_plot p;
    aot_sb text = {0};
    aot_chart *chart = one(AOT_CHART_LINE, rising, 5);
    aot_canvas_init(&c, 6, 22, true);
    aot_chart_text(chart, &c, 0, 0, 6, 22, AOT_CHART_ASCII, &p);
    assert_int_equal(aot_chart_plot_col(&p, 0), p.x);
    assert_int_equal(aot_chart_plot_col(&p, 4), p.x + p.cols - 1);
    assert_int_equal(aot_chart_plot_col(&p, 99), p.x + p.cols - 1);
    assert_int_equal(aot_chart_plot_row(&p, 0), p.y + p.rows - 1);
    aot_chart_cursor(&p, &c, 4);
    aot_canvas_text(&text, &c);
    assert_non_null(strchr(aot_sb_text(&text), 0x5e)); // ^
    aot_sb_free(&text);
    aot_canvas_free(&c);
    aot_chart_free(chart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_goes_from_point_to_point),
        cmocka_unit_test(an_area_is_filled_below),
        cmocka_unit_test(a_narrow_stretch_shows_its_highest_value),
        cmocka_unit_test(areas_stand_on_each_other_in_patterns),
        cmocka_unit_test(marks_and_markers_are_drawn),
        cmocka_unit_test(a_field_too_small_stays_empty),
        cmocka_unit_test(the_cursor_is_seen_without_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
