/* Pictures, tables, listings and words: what they say, that they say it the same way twice, and
 * that nothing from a log can break out of them. */
#include "fixture.h"
#include "markup.h"
#include "small_unit.h"

#include <jansson.h>

#include "ir/text.h"
#include "viewers/ascii_graph.h"
#include "viewers/table.h"
#include "viewers/viewer.h"

/* ---- words ----------------------------------------------------------------------------------- */

static void numbers_are_written_for_people(void **state)
{
    (void)state;
    char b[64];
    assert_string_equal(aot_format_bytes(b, sizeof b, 0), "0 B");
    assert_string_equal(aot_format_bytes(b, sizeof b, 1023), "1023 B");
    assert_string_equal(aot_format_bytes(b, sizeof b, 32768), "32.0 KiB");
    assert_string_equal(aot_format_bytes(b, sizeof b, 1048575), "1.00 MiB");
    assert_string_equal(aot_format_bytes(b, sizeof b, 1373635), "1.31 MiB");
    assert_string_equal(aot_format_bytes(b, sizeof b, INT64_MAX), "8.00 EiB");
    assert_string_equal(aot_format_count(b, sizeof b, 87228), "87,228");
    assert_string_equal(aot_format_count(b, sizeof b, -1000), "-1,000");
    assert_string_equal(aot_format_count(b, sizeof b, 999), "999");
    assert_string_equal(aot_format_duration(b, sizeof b, 850e-9), "850 ns");
    assert_string_equal(aot_format_duration(b, sizeof b, 0.0045), "4.5 ms");
    assert_string_equal(aot_format_duration(b, sizeof b, 125), "2 m 05 s");
}

static void a_weight_is_taken_apart(void **state)
{
    (void)state;
    char b[128];
    aot_node_id mm = aot_graph_find(part->cut, "mm");
    assert_int_not_equal(mm, AOT_NO_NODE);
    aot_weight_words(b, sizeof b, part, mm);
    char total[32];
    aot_format_count(total, sizeof total, part->nodes[mm].weight);
    assert_true(aot_starts_with(b, total));
    assert_non_null(strstr(b, "= 32,768 × 1.1"));
    aot_weight_words(b, sizeof b, part, aot_graph_find(part->cut, "mul_1"));
    assert_string_equal(b, "none: computed in the backward");
}

static void reasons_say_view_of_what_and_what_is_cheap(void **state)
{
    (void)state;
    char b[128];
    aot_reason_words(b, sizeof b, part, aot_graph_find(part->cut, "t_1"));
    assert_string_equal(b, "view of primals_2");
    aot_reason_words(b, sizeof b, part, aot_graph_find(part->cut, "mm"));
    assert_string_equal(b, "not in allowlist");
    aot_reason_words(b, sizeof b, part, aot_graph_find(part->cut, "sin"));
    assert_string_equal(b, "cheap, fusible");
}

/* ---- text and canvas ------------------------------------------------------------------------- */

static void wide_and_combining_characters_are_measured(void **state)
{
    (void)state;
    assert_int_equal(aot_text_width("日本"), 4);
    assert_int_equal(aot_text_width("e\xcc\x81"), 1);
    assert_int_equal(aot_text_width("\xff\xfe"), 2); // broken bytes: one sign each
    aot_sb b = {0};
    assert_int_equal(aot_text_fit(&b, "日本語", 5, false), 5);
    assert_string_equal(aot_sb_text(&b), "日本…");
    aot_sb_clear(&b);
    assert_int_equal(aot_text_fit(&b, "日本語", 4, false), 3); // half of a character does not fit
    assert_string_equal(aot_sb_text(&b), "日…");
    aot_sb_clear(&b);
    aot_text_to_ascii(&b, "32 × 1.1¹²…");
    assert_string_equal(aot_sb_text(&b), "32 x 1.1^12~");
    aot_sb_free(&b);
}

static void a_canvas_is_never_written_outside(void **state)
{
    (void)state;
    aot_canvas c;
    aot_sb b = {0};
    aot_canvas_init(&c, 3, 6, false);
    aot_canvas_put(&c, 0, 4, AOT_STYLE_NORMAL, "日本"); // the second half of 本 has no room
    aot_canvas_put(&c, -1, 0, AOT_STYLE_NORMAL, "above");
    aot_canvas_put(&c, 3, 0, AOT_STYLE_NORMAL, "below");
    aot_canvas_put(&c, 1, -2, AOT_STYLE_NORMAL, "abcdefghij");
    aot_canvas_box(&c, 1, 2, 9, 9, AOT_STYLE_NORMAL, "title");
    aot_canvas_text(&b, &c);
    assert_string_equal(aot_sb_text(&b), "    日\ncd┌ ti\n  │\n");
    aot_sb_free(&b);
    aot_canvas_free(&c);
}

static void half_of_a_wide_character_becomes_a_blank(void **state)
{
    (void)state;
    aot_canvas c;
    aot_sb b = {0};
    aot_canvas_init(&c, 1, 6, false);
    aot_canvas_put(&c, 0, 0, AOT_STYLE_NORMAL, "日本語");
    aot_canvas_put(&c, 0, 3, AOT_STYLE_NORMAL, "x");
    aot_canvas_text(&b, &c);
    assert_string_equal(aot_sb_text(&b), "日 x語\n");
    aot_sb_free(&b);
    aot_canvas_free(&c);
}

static void control_characters_do_not_reach_a_terminal(void **state)
{
    (void)state;
    aot_canvas c;
    aot_sb b = {0};
    static const char evil[] = "a\033[2Jb\x9b\xc2\x9b" "c\rd";
    aot_canvas_init(&c, 1, 40, false);
    aot_canvas_put(&c, 0, 0, AOT_STYLE_SAVED, evil);
    aot_canvas_ansi(&b, &c, 0);
    assert_null(strchr(aot_sb_text(&b), 033));
    assert_null(strchr(aot_sb_text(&b), '\r'));
    assert_null(strstr(aot_sb_text(&b), "\xc2\x9b"));
    aot_sb_clear(&b);
    aot_text_safe(&b, evil, sizeof evil - 1);
    assert_null(strchr(aot_sb_text(&b), 033));
    aot_sb_free(&b);
    aot_canvas_free(&c);
}

static void colour_follows_the_environment(void **state)
{
    (void)state;
    static const char *const vars[] = {"FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR",
                                       "COLORTERM"};
    for (size_t i = 0; i < 5; i++) {
        unsetenv(vars[i]);
    }
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    setenv("TERM", "xterm-256color", 1);
    assert_int_equal(aot_colors_for(pipes[1]), 0); // no terminal
    setenv("CLICOLOR_FORCE", "1", 1);
    assert_int_equal(aot_colors_for(pipes[1]), 256);
    setenv("NO_COLOR", "1", 1);
    assert_int_equal(aot_colors_for(pipes[1]), 0);
    setenv("NO_COLOR", "", 1); // empty does not count
    assert_int_equal(aot_colors_for(pipes[1]), 256);
    setenv("NO_COLOR", "1", 1);
    setenv("FORCE_COLOR", "1", 1);
    setenv("TERM", "xterm", 1);
    assert_int_equal(aot_colors_for(pipes[1]), 8);
    unsetenv("FORCE_COLOR");
    unsetenv("CLICOLOR_FORCE");
    close(pipes[0]);
    close(pipes[1]);
}

/* ---- tables and listings --------------------------------------------------------------------- */

static aot_table *small_table(void)
{
    aot_table *t = aot_table_new();
    aot_table_column(t, "name", AOT_LEFT, 6);
    aot_table_column(t, "bytes", AOT_RIGHT, 0);
    aot_table_column(t, "why", AOT_LEFT, 0);
    aot_table_row(t);
    aot_table_cell(t, "日本");
    aot_table_bytes(t, 32768);
    aot_table_cell(t, "a, \"b\" | c");
    aot_table_row(t);
    aot_table_cell(t, "long_name");
    aot_table_bytes(t, 12);
    return t;
}

static void table_columns_line_up(void **state)
{
    (void)state;
    aot_table *t = small_table();
    aot_sb b = {0};
    aot_table_print(&b, t, 0, 0, 0);
    assert_string_equal(aot_sb_text(&b), "name       bytes  why\n"
                                         "日本    32.0 KiB  a, \"b\" | c\n"
                                         "long_…      12 B\n");
    aot_sb_clear(&b);
    aot_table_print(&b, t, AOT_TABLE_CSV | AOT_TABLE_NO_HEAD, 0, 0);
    assert_string_equal(aot_sb_text(&b), "日本,32.0 KiB,\"a, \"\"b\"\" | c\"\nlong_name,12 B,\n");
    aot_sb_clear(&b);
    aot_table_print(&b, t, AOT_TABLE_MARKDOWN, 0, 0);
    assert_non_null(strstr(aot_sb_text(&b), "|---|---:|---|"));
    assert_non_null(strstr(aot_sb_text(&b), "a, \"b\" \\| c"));
    aot_sb_free(&b);
    aot_table_free(t);
}

static void a_listing_shows_side_letters_bytes_and_reason(void **state)
{
    (void)state;
    aot_listing *l = aot_listing_new(part->cut, part, 0, 0);
    aot_sb b = {0};
    aot_listing_print(&b, l, 0, false, 0);
    const char *text = aot_sb_text(&b);
    assert_non_null(strstr(text, "     model.py:12   y = "));
    assert_non_null(strstr(text, " FS!  mm "));
    assert_non_null(strstr(text, "f32[64, 128]    32.0 KiB  not in allowlist\n"));
    assert_non_null(strstr(text, " B    mul_1 "));
    for (aot_node_id i = 0; i < part->cut->nodes.n; i++) {
        aot_listing_row r = aot_listing_row_at(l, aot_listing_row_of(l, i));
        assert_int_equal(r.node, i);
        assert_false(r.is_source);
    }
    aot_sb_clear(&b);
    aot_listing_print(&b, l, 30, true, 0);
    for (const char *p = aot_sb_text(&b); *p; p++) {
        assert_true((unsigned char)*p < 0x80);
    }
    aot_sb_free(&b);
    aot_listing_free(l);
}

/* ---- pictures -------------------------------------------------------------------------------- */

static void equal_inputs_give_equal_pictures(void **state)
{
    (void)state;
    static const char *const whats[] = {"graph", "partition", "mincut"};
    static const char *const formats[] = {"svg", "dot", "json"};
    for (int i = 0; i < 9; i++) {
        char *a = export_as(whats[i / 3], formats[i % 3], NULL, NULL, NULL);
        char *b = export_as(whats[i / 3], formats[i % 3], NULL, NULL, NULL);
        assert_true(strlen(a) > 100);
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
}

static void svg_is_well_formed_whatever_the_source_says(void **state)
{
    (void)state;
    static const char *const whats[] = {"graph", "partition", "mincut"};
    for (int i = 0; i < 3; i++) {
        char *svg = export_as(whats[i], "svg", NULL, NULL, NULL);
        assert_well_formed(strstr(svg, "<svg"));
        assert_null(strstr(svg, "<script"));
        assert_non_null(strstr(svg, "&lt;unit&gt; &amp; &quot;more&quot;"));
        free(svg);
    }
}

static void each_saved_value_stands_between_the_sides_with_its_bytes(void **state)
{
    (void)state;
    char *svg = export_as("partition", "svg", NULL, NULL, NULL);
    assert_true(part->n_saved >= 3);
    for (uint32_t i = 0; i < part->n_saved; i++) {
        char id[128];
        snprintf(id, sizeof id, "<g id=\"saved_%s\" class=\"node",
                 aot_node_name(part->cut, part->saved[i]));
        assert_int_equal(count(svg, id), 1);
        snprintf(id, sizeof id, "__saved_%s\" class=\"edge saved\"",
                 aot_node_name(part->cut, part->saved[i]));
        assert_int_equal(count(svg, id), 1);
    }
    assert_non_null(strstr(svg, "> 32.0 KiB "));
    assert_non_null(strstr(svg, "class=\"cluster forward\""));
    assert_non_null(strstr(svg, "class=\"cluster backward\""));
    free(svg);
}

static void recomputed_values_stand_on_both_sides(void **state)
{
    (void)state;
    char *dot = export_as("partition", "dot", NULL, NULL, NULL);
    assert_int_equal(part->nodes[aot_graph_find(part->cut, "sin")].verdict, AOT_V_RECOMPUTED);
    assert_non_null(strstr(dot, "id=fw_sin"));
    assert_non_null(strstr(dot, "id=bw_sin"));
    assert_non_null(strstr(dot, "R  sin"));
    free(dot);
}

static void laying_out_ends_at_the_time_limit_with_dot(void **state)
{
    (void)state;
    aot_draw_options opt = {.time_limit = 1e-6};
    bool fell_back = false;
    char *notes, *out = export_as("partition", "svg", &opt, &fell_back, &notes);
    assert_true(fell_back);
    assert_true(aot_starts_with(out, "digraph"));
    assert_non_null(strstr(notes, "longer than 1e-06 seconds"));
    free(out);
    free(notes);
}

static void png_and_pdf_are_what_they_say(void **state)
{
    (void)state;
    char *png = export_as("partition", "png", NULL, NULL, NULL),
         *pdf = export_as("graph", "pdf", NULL, NULL, NULL);
    assert_memory_equal(png, "\x89PNG", 4);
    assert_memory_equal(pdf, "%PDF", 4);
    free(png);
    free(pdf);
}

static void the_cut_edges_add_up_to_the_cut(void **state)
{
    (void)state;
    char *text = export_as("mincut", "json", NULL, NULL, NULL);
    json_t *root = json_loads(text, 0, NULL), *e;
    size_t i;
    json_int_t sum = 0;
    assert_non_null(root);
    json_array_foreach(json_object_get(root, "edges"), i, e) {
        if (json_is_true(json_object_get(e, "cut"))) {
            assert_true(json_is_integer(json_object_get(e, "capacity")));
            sum += json_integer_value(json_object_get(e, "capacity"));
        }
    }
    assert_int_equal(sum, part->cut_values[0]);
    assert_int_equal(json_array_size(json_object_get(root, "vertices")), part->n_vertices);
    assert_int_equal(json_array_size(json_object_get(root, "edges")), part->n_edges);
    json_decref(root);
    free(text);
}

static void an_infinite_cut_is_drawn_as_its_chain(void **state)
{
    (void)state;
    aot_draw_in keep = in;
    in.part = NULL;
    in.infinite = "infinite cut: mm must not be recomputed; sin uses mm; cos_1 is computed. "
                  "Remedy: change mul";
    char *notes, *svg = export_as("mincut", "svg", NULL, NULL, &notes);
    static const char *const chain[] = {"source__n_mm", "n_mm__n_sin", "n_sin__n_cos_1",
                                        "n_cos_1__sink"};
    for (int i = 0; i < 4; i++) {
        assert_non_null(strstr(svg, chain[i]));
    }
    assert_int_equal(count(svg, "class=\"edge infinite\""), 4);
    assert_null(strstr(svg, "n_mul"));
    assert_non_null(strstr(notes, "Remedy: change mul"));
    free(svg);
    free(notes);
    in = keep;
}

static void json_names_its_format_and_every_node(void **state)
{
    (void)state;
    char *text = export_as("partition", "json", NULL, NULL, NULL);
    json_t *root = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(root, "format")), "aotscope/1");
    json_t *nodes = json_object_get(root, "nodes");
    assert_int_equal(json_array_size(nodes), part->n_nodes);
    json_t *mm = json_array_get(nodes, aot_graph_find(part->cut, "mm"));
    assert_string_equal(json_string_value(json_object_get(mm, "name")), "mm");
    assert_string_equal(json_string_value(json_object_get(mm, "verdict")), "saved");
    assert_string_equal(json_string_value(json_object_get(mm, "ban")),
                        "not in recomputable allowlist");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(mm, "source"), "line")),
                     12);
    json_decref(root);
    free(text);
}

/* ---- big graphs ------------------------------------------------------------------------------ */

static aot_graph *layers(aot_ctx *c, int n, bool first_has_more)
{
    aot_sb b = {0};
    aot_graph *g = NULL;
    aot_err err = {0};
    aot_sb_addz(&b,
                "class GraphModule(torch.nn.Module):\n    def forward(self, arg0_1: \"f32[8]\"");
    for (int i = 0; i < n; i++) {
        aot_sb_addf(&b, ", w_%d: \"f32[8]\"", i);
    }
    aot_sb_addz(&b, "):\n");
    char prev[32] = "arg0_1";
    for (int i = 0; i < n; i++) {
        aot_sb_addf(&b,
                    "        # File: net.py:7 in forward, code: x = layer(x)\n        a_%d: "
                    "\"f32[8]\" = torch.ops.aten.mul.Tensor(%s, w_%d)\n",
                    i, prev, i);
        if (i == 0 && first_has_more) {
            aot_sb_addz(&b, "        extra: \"f32[8]\" = torch.ops.aten.tanh.default(a_0)\n");
        }
        aot_sb_addf(&b, "        b_%d: \"f32[8]\" = torch.ops.aten.sin.default(a_%d)\n", i, i);
        aot_sb_addf(&b, "        c_%d: \"f32[8]\" = torch.ops.aten.exp.default(b_%d)\n", i, i);
        aot_sb_addf(&b, "        d_%d: \"f32[8]\" = torch.ops.aten.add.Tensor(c_%d, a_%d)\n", i, i,
                    i);
        aot_sb_addf(&b, "        e_%d: \"f32[8]\" = torch.ops.aten.cos.default(d_%d)\n", i, i);
        snprintf(prev, sizeof prev, "e_%d", i);
    }
    aot_sb_addf(&b, "        return (%s,)\n", prev);
    if (aot_parse_graph(&g, c, aot_sb_text(&b), b.n, 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_sb_free(&b);
    return g;
}

static void repeated_layers_are_drawn_once(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        aot_ctx *c = aot_ctx_new();
        aot_draw_in big = {.graph = layers(c, 12, more), .stage = "inference"};
        aot_picture *pic = aot_picture_new();
        aot_draw_graph(pic, &big);
        size_t before = pic->nodes.n;
        uint32_t gone = aot_picture_fold(pic);
        assert_int_equal(gone, 11 * 6); // five operators and a weight of eleven layers
        assert_int_equal(pic->nodes.n, before - gone);
        assert_int_equal(pic->blocks.n, 1);
        assert_int_equal(pic->blocks.d[0].times, 12);
        aot_sb dot = {0};
        aot_picture_dot(&dot, pic, NULL);
        assert_non_null(strstr(aot_sb_text(&dot), "× 12   net.py:7"));
        aot_sb_free(&dot);
        aot_picture_free(pic);
        aot_ctx_free(c);
    }
}

static void add_box(aot_picture *pic, const char *module, const char *css, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t k = (uint32_t)pic->nodes.n;
        aot_pic_node x = {.key = aot_arena_printf(pic->arena, "k%u", k),
                          .name = "v", .label = "F  v\naten.mul.Tensor", .tooltip = "",
                          .source = "model.py:8", .module = module, .css = css,
                          .cls = AOT_CLASS_FORWARD, .zone = AOT_ZONE_FORWARD};
        aot_picture_node(pic, x);
    }
}

static void groups_are_of_modules_and_say_what_is_recomputed(void **state)
{
    (void)state;
    aot_picture *pic = aot_picture_new();
    add_box(pic, "b1", "forward only", 1);
    add_box(pic, "", "forward only", 8); // between two of b1 on the same line
    add_box(pic, "b1", "recomputed", 3);
    add_box(pic, "fc.up", "recomputed", 5);
    add_box(pic, "fc.down", "forward only", 3);
    add_box(pic, "", "forward only", 40);
    aot_picture_group(pic, 6);
    assert_int_equal(pic->nodes.n, 5); // 40 values are two boxes of 20
    const aot_pic_node *x = pic->nodes.d;
    assert_string_equal(x[0].label, "F  12 values, 3 recomputed\nb1  model.py:8\nmul");
    assert_string_equal(x[0].css, "group recomputed");
    assert_string_equal(x[1].label, "R  5 values, recomputed\nfc.up  model.py:8\nmul");
    assert_int_equal(x[1].cls, AOT_CLASS_RECOMPUTED);
    assert_string_equal(x[2].label, "F  3 values\nfc.down  model.py:8\nmul");
    assert_string_equal(x[2].css, "group");
    assert_string_equal(x[4].label, "F  20 values\nmodel.py:8\nmul");
    aot_picture_free(pic);

    pic = aot_picture_new(); // no room for both of fc
    add_box(pic, "fc.up", "recomputed", 5);
    add_box(pic, "fc.down", "forward only", 3);
    aot_picture_group(pic, 1);
    assert_int_equal(pic->nodes.n, 1);
    assert_string_equal(pic->nodes.d[0].label, "R  8 values, 5 recomputed\nfc  model.py:8\nmul");
    aot_picture_free(pic);
}

static void too_many_boxes_are_cut_with_a_notice(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    aot_draw_in keep = in;
    in = (aot_draw_in){.graph = layers(c, 100, false), .stage = "inference"};
    aot_draw_options opt = {.no_fold = true, .max_nodes = 50};
    char *notes, *svg = export_as("graph", "svg", &opt, NULL, &notes);
    assert_non_null(strstr(notes, "50 of 602 boxes"));
    assert_non_null(strstr(svg, "Notice: 50 of 602 boxes"));
    assert_int_equal(count(svg, "class=\"node "), 50 + 1); // and the legend
    free(notes);
    free(svg);
    opt = (aot_draw_options){.around = "c_40", .hops = 1};
    svg = export_as("graph", "svg", &opt, NULL, &notes);
    assert_int_equal(count(svg, "class=\"node "), 3 + 1); // its producer, itself, its user
    assert_int_equal(count(svg, " rim\""), 2);
    free(notes);
    free(svg);
    in = keep;
    aot_ctx_free(c);
}

static void an_unknown_node_is_an_error_that_names_it(void **state)
{
    (void)state;
    aot_sb out = {0}, notes = {0};
    aot_err err = {0};
    bool fell_back;
    aot_draw_options opt = {.around = "nobody"};
    assert_int_equal(
        aot_export(&out, &notes, &fell_back, aot_viewer_find("graph"), &in, "svg", &opt, &err),
        AOT_E_USAGE);
    assert_non_null(strstr(err.msg, "'nobody'"));
    assert_int_equal(out.n, 0);
    aot_sb_free(&out);
    aot_sb_free(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_for_people),
        cmocka_unit_test(a_weight_is_taken_apart),
        cmocka_unit_test(reasons_say_view_of_what_and_what_is_cheap),
        cmocka_unit_test(wide_and_combining_characters_are_measured),
        cmocka_unit_test(a_canvas_is_never_written_outside),
        cmocka_unit_test(half_of_a_wide_character_becomes_a_blank),
        cmocka_unit_test(control_characters_do_not_reach_a_terminal),
        cmocka_unit_test(colour_follows_the_environment),
        cmocka_unit_test(table_columns_line_up),
        cmocka_unit_test(a_listing_shows_side_letters_bytes_and_reason),
        cmocka_unit_test(equal_inputs_give_equal_pictures),
        cmocka_unit_test(svg_is_well_formed_whatever_the_source_says),
        cmocka_unit_test(each_saved_value_stands_between_the_sides_with_its_bytes),
        cmocka_unit_test(recomputed_values_stand_on_both_sides),
        cmocka_unit_test(laying_out_ends_at_the_time_limit_with_dot),
        cmocka_unit_test(png_and_pdf_are_what_they_say),
        cmocka_unit_test(the_cut_edges_add_up_to_the_cut),
        cmocka_unit_test(an_infinite_cut_is_drawn_as_its_chain),
        cmocka_unit_test(json_names_its_format_and_every_node),
        cmocka_unit_test(repeated_layers_are_drawn_once),
        cmocka_unit_test(groups_are_of_modules_and_say_what_is_recomputed),
        cmocka_unit_test(too_many_boxes_are_cut_with_a_notice),
        cmocka_unit_test(an_unknown_node_is_an_error_that_names_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
