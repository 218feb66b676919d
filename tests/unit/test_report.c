/* The HTML report: that it is one page with nothing from elsewhere, that nothing of a log becomes
 * markup or script, and that it says what it is for. And the charts of a unit. */
#include "fixture.h"
#include "markup.h"
#include "small_unit.h"

#include "exec/memsim.h"
#include "viewers/html.h"
#include "viewers/unit_charts.h"

static void text_cannot_become_markup(void **state)
{
    (void)state;
    aot_sb b = {0};
    aot_html_text(&b, "</script><b a='x' c=\"y\">&amp;\n\033[2J");
    assert_non_null(
        strstr(aot_sb_text(&b), "&lt;/script&gt;&lt;b a=&#39;x&#39; c=&quot;y&quot;&gt;&amp;amp;"));
    assert_null(strpbrk(aot_sb_text(&b), "<>\"'\033"));
    aot_sb_free(&b);
}

static void a_report_is_well_formed_and_holds_one_script_only(void **state)
{
    (void)state;
    char *html = export_as("report", "html", NULL, NULL, NULL);
    assert_true(aot_starts_with(html, "<!DOCTYPE html>\n<html lang=\"en\">"));
    assert_well_formed(strstr(html, "<html"));
    assert_int_equal(count(html, "<script"), 1);
    assert_int_equal(count(html, "</script"), 1);
    assert_non_null(strstr(html, "&lt;/title&gt;&lt;script&gt;")); // the source line, as text
    assert_non_null(strstr(html, "<title>a &lt;unit&gt; &amp; &quot;more&quot;</title>"));
    free(html);
}

static void a_report_asks_for_nothing_from_elsewhere(void **state)
{
    (void)state;
    static const char *const outside[] = {" src=",  "url(",    "@import", "<link",
                                          "fetch(", "XMLHttp", "import("};
    char *html = export_as("report", "html", NULL, NULL, NULL);
    assert_non_null(strstr(html, "default-src 'none'"));
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        assert_null(strstr(html, outside[i]));
    }
    for (const char *p = html; (p = strstr(p, "http"));
         p++) { // names of namespaces, and the policy's own
        assert_true(aot_starts_with(p, "http://www.w3.org/") || aot_starts_with(p, "http-equiv="));
    }
    for (const char *p = html; (p = strstr(p, "href=\"")); p++) {
        assert_true(p[6] == '#');
    }
    free(html);
}

static void every_id_of_a_report_is_there_once(void **state)
{
    (void)state;
    char *html = export_as("report", "html", NULL, NULL, NULL);
    for (const char *p = html; (p = strstr(p, " id=\"")); p++) {
        char id[200];
        snprintf(id, sizeof id, " id=\"%.*s\"", (int)strcspn(p + 5, "\""), p + 5);
        assert_int_equal(count(html, id), 1);
    }
    for (const char *p = html; (p = strstr(p, "href=\"#")); p++) {
        char id[200];
        snprintf(id, sizeof id, " id=\"%.*s\"", (int)strcspn(p + 7, "\""), p + 7);
        assert_int_equal(count(html, id), 1);
    }
    free(html);
}

static void a_report_shows_saved_values_with_numbers_to_sort_by(void **state)
{
    (void)state;
    char *html = export_as("report", "html", NULL, NULL, NULL);
    const char *table = strstr(html, "<table id=\"saved\">"), *end = strstr(table, "</table>");
    size_t rows = 0;
    int64_t last = INT64_MAX;
    for (const char *p = table; (p = strstr(p, "<tr data-node=")) && p < end; p++) {
        const char *bytes = strstr(strstr(p, "class=\"b\"") + 1, "class=\"b\" data-v=\"") + 18;
        rows++;
        assert_true(atoll(bytes) <= last); // its own bytes, the most first
        last = atoll(bytes);
    }
    assert_int_equal(rows, part->n_saved + part->n_saved_sym);
    assert_non_null(strstr(html, "data-v=\"32768\">32.0 KiB</td>"));
    assert_non_null(strstr(html, "<g id=\"saved_mm\" class=\"node saved")); // the diagram
    assert_non_null(strstr(html, "backward peak: 224.0 KiB"));
    free(html);
}

static void a_report_without_a_partition_leaves_out_what_needs_one(void **state)
{
    (void)state;
    aot_draw_in keep = in;
    in.part = NULL;
    in.infinite = "mm <must> not";
    char *html = export_as("report", "html", NULL, NULL, NULL);
    assert_well_formed(strstr(html, "<html"));
    assert_null(strstr(html, "id=\"saved\""));
    assert_non_null(strstr(html, "mm &lt;must&gt; not"));
    assert_non_null(strstr(html, "id=\"line-list\""));
    free(html);
    in = keep;
}

static void the_memory_chart_adds_up_to_the_peaks(void **state)
{
    (void)state;
    aot_chart *c = aot_chart_of_memory(part, "label");
    aot_memory m;
    aot_memory_of_partition(&m, part, NULL);
    size_t rows = m.forward.live.n + m.backward.live.n;
    for (size_t i = 0; i < rows; i++) {
        const aot_live *l =
            i < m.forward.live.n ? &m.forward.live.d[i] : &m.backward.live.d[i - m.forward.live.n];
        double sum = 0;
        for (size_t s = 0; s < c->series.n; s++) {
            assert_int_equal(c->series.d[s].points.n, rows);
            sum += c->series.d[s].points.d[i].y;
        }
        assert_true(sum == (double)l->bytes);
    }
    assert_int_equal(c->marks.n, 3); // two peaks and where the backward begins
    aot_memory_free(&m);
    aot_chart_free(c);
}

static void the_budget_chart_leaves_out_repeats_and_marks_the_one_in_force(void **state)
{
    (void)state;
    aot_pareto x = {.arena = aot_arena_new()};
    const aot_pareto_point points[] = {
        {.budget = 0, .solver = "dp", .new_bytes = 10, .recompute_flops = 50},
        {.budget = 0.5, .solver = "dp", .new_bytes = 20, .recompute_flops = 5},
        {.budget = 0.6,
         .solver = "dp",
         .new_bytes = 20,
         .recompute_flops = 5,
         .same_as_before = true},
        {.budget = 0.8, .solver = "dp", .error = "no"},
        {.budget = 1, .solver = "dp", .new_bytes = 15, .recompute_flops = 30},
        {.budget = 1, .solver = "greedy", .new_bytes = 40},
    };
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        aot_vec_push(&x.points, points[i]);
    }
    aot_chart *c = aot_chart_of_pareto(&x, NULL, 0.5);
    assert_int_equal(c->series.n, 2);
    assert_int_equal(c->series.d[0].points.n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(c->series.d[0].points.d[i].x == 10 + 5 * (double)i); // fewest bytes first
    }
    assert_int_equal(c->marks.n, 1);
    assert_true(c->marks.d[0].x == 20 && c->marks.d[0].y == 5);
    aot_chart_free(c);
    aot_vec_free(&x.points);
    aot_arena_free(x.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_cannot_become_markup),
        cmocka_unit_test(a_report_is_well_formed_and_holds_one_script_only),
        cmocka_unit_test(a_report_asks_for_nothing_from_elsewhere),
        cmocka_unit_test(every_id_of_a_report_is_there_once),
        cmocka_unit_test(a_report_shows_saved_values_with_numbers_to_sort_by),
        cmocka_unit_test(a_report_without_a_partition_leaves_out_what_needs_one),
        cmocka_unit_test(the_memory_chart_adds_up_to_the_peaks),
        cmocka_unit_test(the_budget_chart_leaves_out_repeats_and_marks_the_one_in_force),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
