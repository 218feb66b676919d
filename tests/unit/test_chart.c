/* Charts: round ticks, no peak lost, nothing breaks out of a text, and the three formats are what
 * they say. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viewers/chart.h"
#include "viewers/format.h"
#include "viewers/unit_charts.h"

static char *render(const aot_chart *c, const char *format, const char *color, size_t *n)
{
    aot_sb out = {0};
    aot_err err = {0};
    aot_chart_options opt = {.color = color};
    if (aot_charts_render(&out, &c, 1, format, &opt, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    if (n != NULL) {
        *n = out.n;
    }
    return out.d;
}

static int occurrences(const char *text, const char *what)
{
    int n = 0;
    for (const char *p = strstr(text, what); p != NULL; p = strstr(p + 1, what)) {
        n++;
    }
    return n;
}

static aot_chart *two_lines(void)
{
    aot_chart *c = aot_chart_new("budget <1> & \"all\"", "unit [0/0]");
    aot_chart_axes(c, "budget", AOT_CHART_NUMBER, "bytes", AOT_CHART_BYTES);
    uint32_t a = aot_chart_series_new(c, "saved", AOT_CHART_MARKED),
             b = aot_chart_series_new(c, "peak", AOT_CHART_STEP);
    for (int i = 0; i <= 10; i++) {
        aot_chart_point(c, a, i / 10.0, 1048576.0 * i, i == 5 ? "budget 0.5\n<&>" : NULL);
        aot_chart_point(c, b, i / 10.0, 1048576.0 * (12 - i), NULL);
    }
    aot_chart_mark_at(c, AOT_CHART_AT_XY, 0.5, 5 * 1048576.0, "now");
    aot_chart_mark_at(c, AOT_CHART_AT_Y, 0, 8 * 1048576.0, "limit");
    return c;
}

static void ticks_are_round_and_within(void **state)
{
    double t[AOT_CHART_MAX_TICKS];
    (void)state;
    assert_int_equal(aot_chart_ticks(t, 0, 1, 5, AOT_CHART_NUMBER), 6);
    assert_true(fabs(t[1] - 0.2) < 1e-12 && t[0] == 0 && fabs(t[5] - 1) < 1e-12);
    assert_int_equal(aot_chart_ticks(t, 0, 10 * 1048576.0, 5, AOT_CHART_BYTES), 6);
    assert_true(t[1] == 2 * 1048576.0);
    assert_int_equal(aot_chart_ticks(t, 0, 3, 10, AOT_CHART_INDEX), 4); // no half nodes
    assert_int_equal(aot_chart_ticks(t, -1, 1, 4, AOT_CHART_NUMBER), 5);
    assert_true(t[2] == 0 && !signbit(t[2]));
}

static void values_are_words(void **state)
{
    char buf[64];
    (void)state;
    assert_string_equal(aot_chart_value(buf, sizeof buf, AOT_CHART_BYTES, 1572864), "1.5 MiB");
    assert_string_equal(aot_chart_value(buf, sizeof buf, AOT_CHART_BYTES, 512), "512 B");
    assert_string_equal(aot_chart_value(buf, sizeof buf, AOT_CHART_BYTES, 0), "0");
    assert_string_equal(aot_chart_value(buf, sizeof buf, AOT_CHART_FLOPS, 2.5e9), "2.5 GFLOP");
    assert_string_equal(aot_chart_value(buf, sizeof buf, AOT_CHART_INDEX, 12345), "12,345");
    assert_string_equal(aot_chart_value(buf, sizeof buf, AOT_CHART_NUMBER, 0.1), "0.1");
}

static void neighbouring_ticks_have_labels_of_their_own_in_one_unit(void **state)
{
    double t[AOT_CHART_MAX_TICKS];
    char a[64], b[64];
    (void)state;
    size_t n = aot_chart_ticks(t, 250.1 * 1024, 251 * 1024, 5, AOT_CHART_BYTES);
    assert_string_equal(aot_chart_tick(a, sizeof a, AOT_CHART_BYTES, t, n, 0), "250.2 KiB");
    assert_string_equal(aot_chart_tick(b, sizeof b, AOT_CHART_BYTES, t, n, 1), "250.4 KiB");
    // no powers of two: 144, 160
    n = aot_chart_ticks(t, 130 * 1024, 200 * 1024, 4, AOT_CHART_BYTES);
    assert_string_equal(aot_chart_tick(a, sizeof a, AOT_CHART_BYTES, t, n, 0), "140 KiB");
    assert_string_equal(aot_chart_tick(b, sizeof b, AOT_CHART_BYTES, t, n, 1), "160 KiB");
    n = aot_chart_ticks(t, 0, 2.4 * 1048576, 6, AOT_CHART_BYTES);
    assert_string_equal(aot_chart_tick(a, sizeof a, AOT_CHART_BYTES, t, n, 1), "0.5 MiB");
    assert_string_equal(aot_format_flops(a, sizeof a, 918e3), "918 kFLOP");
}

static aot_pareto *of_two_solvers(void)
{
    static const char *const solvers[] = {"dp", "greedy"};
    static const struct {
        double budget, flops;
        int64_t bytes;
        int solver;
    } all[] = {{0, 90, 0, 0},   {0.3, 40, 10, 0}, {0.5, 60, 20, 0}, {1, 0, 30, 0},
               {0, 90, 0, 1},   {0.3, 40, 10, 1}, {0.5, 40, 10, 1}, {1, 0, 30, 1}};
    aot_pareto *x = aot_pareto_new();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        aot_pareto_point p = {.budget = all[i].budget, .solver = solvers[all[i].solver], .rung = "",
                              .saved_bytes = all[i].bytes + 100, .new_bytes = all[i].bytes,
                              .recompute_flops = all[i].flops};
        aot_pareto_add(x, &p, solvers, 2);
    }
    aot_pareto_finish(x, solvers, 2, false);
    return x;
}

/* The line falls from left to right: what costs more for more bytes stands beside it. */
static void a_front_has_no_zigzag_and_equal_solvers_share_it(void **state)
{
    (void)state;
    aot_pareto *x = of_two_solvers();
    aot_chart *c = aot_chart_of_pareto(x, NULL, 1);
    assert_int_equal(c->series.n, 2);
    assert_string_equal(c->series.d[0].name, "dp, greedy");
    assert_int_equal(c->series.d[0].points.n, 3);
    for (size_t i = 1; i < 3; i++) {
        assert_true(c->series.d[0].points.d[i].x > c->series.d[0].points.d[i - 1].x);
        assert_true(c->series.d[0].points.d[i].y < c->series.d[0].points.d[i - 1].y);
    }
    assert_string_equal(c->series.d[1].name, "no gain: dp");
    assert_int_equal(c->series.d[1].shape, AOT_CHART_POINTS);
    assert_int_equal(c->series.d[1].points.n, 1);
    aot_chart_free(c);
    c = aot_chart_of_budgets(x, NULL, 1);
    assert_int_equal(c->series.n, 5); // saved and new of each, peaks are the same
    aot_chart_free(c);
    aot_pareto_free(x);
}

static void the_span_covers_stacks_and_marks(void **state)
{
    (void)state;
    aot_chart *c = aot_chart_new("stack", NULL);
    uint32_t a = aot_chart_series_new(c, "a", AOT_CHART_AREA),
             b = aot_chart_series_new(c, "b", AOT_CHART_AREA);
    for (int i = 0; i < 3; i++) {
        aot_chart_point(c, a, i, 10, NULL);
        aot_chart_point(c, b, i, i, NULL);
    }
    assert_true(aot_chart_below(c, b, 1) == 10);
    aot_chart_range r = aot_chart_span(c);
    assert_true(r.x0 == 0 && r.x1 == 2 && r.y0 == 0 && r.y1 == 12);
    aot_chart_mark_at(c, AOT_CHART_AT_Y, 0, 40, NULL);
    assert_true(aot_chart_span(c).y1 == 40);
    aot_chart_free(c);
}

static void an_empty_chart_is_drawn(void **state)
{
    (void)state;
    aot_chart *c = aot_chart_new("nothing", NULL);
    char *svg = render(c, "svg", NULL, NULL);
    assert_non_null(strstr(svg, "nothing"));
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
    free(svg);
    aot_chart_free(c);
}

static void svg_follows_the_reader_and_escapes(void **state)
{
    (void)state;
    aot_chart *c = two_lines();
    char *svg = render(c, "svg", NULL, NULL);
    assert_non_null(strstr(svg, "prefers-color-scheme: dark"));
    assert_non_null(strstr(svg, "budget &lt;1&gt; &amp; &quot;all&quot;"));
    assert_null(strstr(svg, "<1>"));
    assert_non_null(strstr(svg, "&lt;&amp;&gt;</title></path>"));
    assert_non_null(strstr(svg, ">10 MiB</text>"));
    assert_non_null(strstr(svg, ">limit</text>"));
    assert_true(occurrences(svg, " class=\"f5 e\"") == 12); // eleven points and one in the legend
    free(svg);
    svg = render(c, "svg", "dark", NULL);
    assert_null(strstr(svg, "<style>"));
    assert_non_null(strstr(svg, "#17191d"));
    free(svg);
    aot_chart_free(c);
}

/* 100,000 points, one of them high: it must be drawn, and the text must stay small. */
static void a_long_series_keeps_its_peak(void **state)
{
    (void)state;
    aot_chart *c = aot_chart_new("long", NULL);
    uint32_t s = aot_chart_series_new(c, "live", AOT_CHART_STEP);
    size_t n;
    for (int i = 0; i < 100000; i++) {
        aot_chart_point(c, s, i, i == 77777 ? 1000 : 1 + i % 2, NULL);
    }
    char *svg = render(c, "svg", "light", &n);
    // the top of the plot is 6 % above the highest value: y of the peak is the least of all
    double least = 1e9, y;
    assert_non_null(strstr(svg, "class=\"l5\""));
    const char *d = strstr(svg, "stroke-width=\"2\"");
    while (strncmp(d, " d=\"M", 5) != 0) {
        d--;
    }
    for (d += 5; *d != '"';) {
        double x = strtod(d, (char **)(uintptr_t)&d);
        y = strtod(d, (char **)(uintptr_t)&d);
        assert_true(x >= 0 && x <= 900);
        least = y < least ? y : least;
        d += *d == 'L';
    }
    aot_chart_range r = aot_chart_span(c);
    assert_true(r.y1 == 1000);
    assert_true(least < 120); // near the top, not at the 1 or 2 of all the others
    assert_true(n < 120000);
    free(svg);
    aot_chart_free(c);
}

static void pdf_and_png_are_what_they_say(void **state)
{
    (void)state;
    aot_chart *c = two_lines();
    size_t n;
    char *pdf = render(c, "pdf", NULL, &n);
    assert_memory_equal(pdf, "%PDF-", 5);
    free(pdf);
    char *png = render(c, "png", "dark", &n);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    assert_true(n > 4000);
    free(png);
    aot_chart_free(c);
}

static void what_is_not_known_is_said(void **state)
{
    (void)state;
    aot_chart *c = two_lines();
    const aot_chart *all = c;
    aot_sb out = {0};
    aot_err err = {0};
    aot_chart_options opt = {.color = "pink"};
    assert_int_equal(aot_charts_render(&out, &all, 1, "gif", NULL, &err), AOT_E_USAGE);
    assert_non_null(strstr(err.msg, "svg, pdf or png"));
    err = (aot_err){0};
    assert_int_equal(aot_charts_render(&out, &all, 1, "svg", &opt, &err), AOT_E_USAGE);
    assert_non_null(strstr(err.msg, "pink"));
    assert_int_equal(out.n, 0);
    aot_chart_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round_and_within),
        cmocka_unit_test(values_are_words),
        cmocka_unit_test(neighbouring_ticks_have_labels_of_their_own_in_one_unit),
        cmocka_unit_test(a_front_has_no_zigzag_and_equal_solvers_share_it),
        cmocka_unit_test(the_span_covers_stacks_and_marks),
        cmocka_unit_test(an_empty_chart_is_drawn),
        cmocka_unit_test(svg_follows_the_reader_and_escapes),
        cmocka_unit_test(a_long_series_keeps_its_peak),
        cmocka_unit_test(pdf_and_png_are_what_they_say),
        cmocka_unit_test(what_is_not_known_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
