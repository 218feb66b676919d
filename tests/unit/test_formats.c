/* The formats of `export` that other programs read: that they are sound, say what the partition is,
 * and refer only to what they hold. */
#include "fixture.h"
#include "markup.h"
#include "small_unit.h"

#include <jansson.h>

#include "exec/memsim.h"

static json_t *load(const char *what, const char *format)
{
    char *text = export_as(what, format, NULL, NULL, NULL);
    json_error_t e;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &e);
    if (!root) {
        fail_msg("%s of %s: line %d: %s", format, what, e.line, e.text);
    }
    free(text);
    return root;
}

static const char *text_at(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* ---- the table
 * ------------------------------------------------------------------------------------ */

static void a_name_chooses_the_format_with_the_longest_ending(void **state)
{
    (void)state;
    assert_string_equal(aot_format_of_path("a/b.SVG")->name, "svg");
    assert_string_equal(aot_format_of_path("x.json")->name, "json");
    assert_string_equal(aot_format_of_path("x.trace.json")->name, "chrome-trace");
    assert_string_equal(aot_format_of_path("x.gv")->name, "dot");
    assert_null(aot_format_of_path("x.jpg"));
    assert_null(aot_format_of_path("dir.svg/x"));
    assert_null(aot_format_of_path(".svg")); // a hidden file, no ending
}

/* They write settings and edits, which a graph alone has not. */
static bool needs_opened_input(const char *format)
{
    return strcmp(format, "script") == 0 || strcmp(format, "policy") == 0;
}

static void settings_and_edits_are_written_of_an_opened_input_only(void **state)
{
    (void)state;
    static const char *const formats[] = {"script", "policy"};
    for (size_t i = 0; i < 2; i++) {
        aot_sb out = {0}, notes = {0};
        aot_err err = {0};
        aot_draw_options opt = {0};
        bool fell_back;
        assert_int_equal(aot_export(&out, &notes, &fell_back, aot_viewer_find("report"), &in,
                                    formats[i], &opt, &err),
                         AOT_E_PIPELINE);
        assert_non_null(strstr(err.msg, "opened input"));
        aot_sb_free(&out);
        aot_sb_free(&notes);
    }
}

static void every_format_writes_every_viewer_that_it_takes_twice_the_same(void **state)
{
    (void)state;
    for (size_t f = 0; f < aot_n_formats(); f++) {
        size_t n = 0;
        for (size_t v = 0; v < aot_viewer_count(); v++) {
            const aot_viewer *w = aot_viewer_at(v);
            const char *name = aot_format_at(f)->name;
            if (!(aot_format_at(f)->takes & w->kind)) {
                continue;
            }
            n++;
            if (strcmp(w->name, "pareto") == 0 || needs_opened_input(name)) {
                continue;
            }
            char *a = export_as(w->name, name, NULL, NULL, NULL);
            char *b = export_as(w->name, name, NULL, NULL, NULL);
            assert_true(*a);
            assert_string_equal(a, b);
            free(a);
            free(b);
        }
        assert_true(n > 0);
    }
}

static void a_format_that_cannot_hold_it_says_which_can(void **state)
{
    (void)state;
    aot_sb out = {0}, notes = {0};
    aot_err err = {0};
    bool fell_back;
    aot_draw_options opt = {0};
    assert_int_equal(
        aot_export(&out, &notes, &fell_back, aot_viewer_find("graph"), &in, "csv", &opt, &err),
        AOT_E_USAGE);
    assert_non_null(strstr(err.msg, "svg, pdf, png, dot, json"));
    assert_null(strstr(err.msg, "markdown"));
    aot_sb_free(&out);
    aot_sb_free(&notes);
}

/* ---- Model Explorer
 * ------------------------------------------------------------------------------- */

static const json_t *node_of(const json_t *collection, const char *id)
{
    size_t i;
    const json_t *n, *graph = json_array_get(json_object_get(collection, "graphs"), 0);
    json_array_foreach(json_object_get(graph, "nodes"), i, n)
    {
        if (strcmp(text_at(n, "id"), id) == 0) {
            return n;
        }
    }
    return NULL;
}

static const json_t *attr_of(const json_t *node, const char *key)
{
    size_t i;
    const json_t *a;
    json_array_foreach(json_object_get(node, "attrs"), i, a)
    {
        if (strcmp(text_at(a, "key"), key) == 0) {
            return json_object_get(a, "value");
        }
    }
    return NULL;
}

static void assert_links_only_to(const json_t *collection, const char *node, const char *key,
                                 const char *to)
{
    const json_t *ids = json_object_get(attr_of(node_of(collection, node), key), "nodeIds");
    assert_int_equal(json_array_size(ids), 1);
    assert_string_equal(json_string_value(json_array_get(ids, 0)), to);
}

static void model_explorer_refers_only_to_its_own_nodes(void **state)
{
    (void)state;
    static const char *const whats[] = {"partition", "graph", "mincut"};
    for (int w = 0; w < 3; w++) {
        json_t *root = load(whats[w], "model-explorer"), *n, *x;
        json_t *nodes =
            json_object_get(json_array_get(json_object_get(root, "graphs"), 0), "nodes");
        size_t i, k, h;
        assert_true(json_array_size(nodes) > 10);
        json_array_foreach(nodes, i, n)
        {
            assert_ptr_equal(node_of(root, text_at(n, "id")), n); // ids are unique
            json_array_foreach(json_object_get(n, "incomingEdges"), k, x)
            {
                assert_non_null(node_of(root, text_at(x, "sourceNodeId")));
            }
            json_array_foreach(json_object_get(n, "attrs"), k, x)
            {
                json_t *id, *value = json_object_get(x, "value");
                assert_true(json_is_string(value) ||
                            strcmp(text_at(value, "type"), "node_ids") == 0);
                json_array_foreach(json_object_get(value, "nodeIds"), h, id)
                {
                    assert_non_null(node_of(root, json_string_value(id)));
                }
            }
        }
        json_decref(root);
    }
}

static void model_explorer_links_saved_and_recomputed_values(void **state)
{
    (void)state;
    json_t *root = load("partition", "model-explorer");
    assert_string_equal(text_at(node_of(root, "fw_mm"), "namespace"),
                        "forward/forward/model.py:12");
    assert_string_equal(text_at(node_of(root, "saved_mm"), "namespace"), "saved for the backward");
    assert_string_equal(json_string_value(attr_of(node_of(root, "fw_mm"), "memory")), "32.0 KiB");
    assert_links_only_to(root, "fw_mm", "saved as", "saved_mm");
    assert_links_only_to(root, "saved_mm", "producers", "fw_mm");
    assert_links_only_to(root, "fw_sin", "recomputed as", "bw_sin");
    assert_links_only_to(root, "bw_sin", "recomputes", "fw_sin");
    json_decref(root);
}

static void heat_maps_and_overlay_fit_the_collection(void **state)
{
    (void)state;
    json_t *root = load("partition", "model-explorer"), *value;
    json_t *bytes = load("partition", "me-bytes"), *life = load("partition", "me-lifetime");
    json_t *overlay = load("partition", "me-saved"), *e;
    const json_t *b = json_object_get(json_object_get(bytes, "partition"), "results");
    const json_t *l = json_object_get(json_object_get(life, "partition"), "results");
    const char *id;
    size_t i;
    json_object_foreach(json_object_get(json_object_get(bytes, "partition"), "results"), id, value)
    {
        assert_non_null(node_of(root, id));
        assert_true(json_is_integer(json_object_get(value, "value")));
    }
    assert_int_equal(json_integer_value(json_object_get(json_object_get(b, "fw_mm"), "value")),
                     32768);
    // a value that only its neighbour reads lives for one step; a saved one into the backward
    assert_int_equal(json_integer_value(json_object_get(json_object_get(l, "fw_sin"), "value")), 1);
    assert_true(json_integer_value(json_object_get(json_object_get(l, "fw_mm"), "value")) >
                (json_int_t)part->forward->nodes.n - 4);
    const json_t *edges =
        json_object_get(json_array_get(json_object_get(overlay, "overlays"), 0), "edges");
    assert_true(json_array_size(edges) >= part->n_saved);
    json_array_foreach(edges, i, e)
    {
        assert_non_null(node_of(root, text_at(e, "sourceNodeId")));
        assert_true(aot_starts_with(text_at(e, "targetNodeId"), "bw_"));
    }
    json_decref(root);
    json_decref(bytes);
    json_decref(life);
    json_decref(overlay);
}

/* ---- Chrome trace
 * --------------------------------------------------------------------------------- */

static json_int_t int_at(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    assert_true(json_is_integer(v));
    return json_integer_value(v);
}

// How many slices of the lane a time falls into.
static unsigned slices_around(const json_t *events, const json_t *point)
{
    size_t i;
    unsigned n = 0;
    json_t *e;
    json_array_foreach(events, i, e)
    {
        n += strcmp(text_at(e, "ph"), "X") == 0 && int_at(e, "tid") == int_at(point, "tid") &&
             int_at(e, "ts") <= int_at(point, "ts") &&
             int_at(point, "ts") < int_at(e, "ts") + int_at(e, "dur");
    }
    return n;
}

static void a_timeline_has_a_slice_for_each_node_and_arrows_between_slices(void **state)
{
    (void)state;
    json_t *root = load("partition", "chrome-trace"), *e;
    const json_t *events = json_object_get(root, "traceEvents");
    size_t i, slices = 0, starts = 0, ends = 0, counters = 0;
    json_int_t peak = 0;
    json_array_foreach(events, i, e)
    {
        const char *ph = text_at(e, "ph");
        assert_int_equal(int_at(e, "pid"), 1);
        assert_true(json_is_integer(json_object_get(e, "tid")) && *text_at(e, "name"));
        assert_true(*ph == 'M' || int_at(e, "ts") >= 0);
        if (*ph == 's' || *ph == 'f') {
            starts += *ph == 's';
            ends += *ph == 'f';
            assert_int_equal(slices_around(events, e), 1);
            assert_int_equal(int_at(e, "id"), (starts + ends + 1) / 2); // ends follow their starts
            assert_string_equal(text_at(e, "bp"), *ph == 'f' ? "e" : "");
        } else if (*ph == 'C') {
            json_int_t now = int_at(json_object_get(e, "args"), "bytes");
            counters++;
            peak = now > peak ? now : peak;
        } else {
            assert_non_null(strchr("XMi", *ph));
            slices += *ph == 'X';
        }
    }
    assert_int_equal(slices, part->forward->nodes.n + part->backward->nodes.n);
    assert_true(starts >= part->n_saved && starts == ends && counters > slices / 2);
    aot_memory m; // against PyTorch in memory_oracle
    aot_memory_of_partition(&m, part, NULL);
    assert_int_equal(peak, m.forward.peak > m.backward.peak ? m.forward.peak : m.backward.peak);
    aot_memory_free(&m);
    json_decref(root);
}

/* ---- text formats
 * ---------------------------------------------------------------------------------- */

static void graphml_is_well_formed_and_holds_the_network(void **state)
{
    (void)state;
    static const char *const whats[] = {"partition", "graph", "mincut"};
    for (int w = 0; w < 3; w++) {
        char *text = export_as(whats[w], "graphml", NULL, NULL, NULL);
        assert_well_formed(strstr(text, "<graphml"));
        assert_null(strstr(text, "<script"));
        if (w == 2) {
            assert_int_equal(count(text, "<node "), part->n_vertices);
            assert_int_equal(count(text, "<edge "), part->n_edges);
            json_int_t sum = 0;
            for (const char *p = text; (p = strstr(p, "<data key=\"cut\">true</data>")); p++) {
                sum += atoll(strstr(p, "\"capacity\">") + strlen("\"capacity\">"));
            }
            assert_int_equal(sum, part->cut_values[0]);
        }
        free(text);
    }
}

static void mermaid_has_no_markup_of_the_input(void **state)
{
    (void)state;
    char *text = export_as("partition", "mermaid", NULL, NULL, NULL);
    assert_true(aot_starts_with(text, "---\ntitle: \"a <unit> & \\\"more\\\""));
    assert_non_null(strstr(text, "\nflowchart TB\n"));
    assert_int_equal(count(text, "\n  subgraph z"), 3);
    assert_int_equal(count(text, "\n  end\n"), 3);
    assert_non_null(strstr(text, "==>|\"32.0 KiB\"| n")); // a saved value with its bytes
    assert_non_null(strstr(text, "[\"S!  mm<br/>aten.mm<br/>f32[64, 128]  32.0 KiB\"]:::c3\n"));
    assert_null(strstr(text, "script"));
    free(text);
}

static void mermaid_is_cut_to_what_code_hosts_draw(void **state)
{
    (void)state;
    aot_draw_options opt = {.max_nodes = 5, .no_fold = true};
    char *notes, *text = export_as("graph", "mermaid", &opt, NULL, &notes);
    assert_int_equal(count(text, ":::c"), 5);
    assert_non_null(strstr(text, "\n%% Notice: 5 of "));
    assert_non_null(strstr(notes, "5 of "));
    free(text);
    free(notes);
}

static void saved_values_are_rows(void **state)
{
    (void)state;
    char *csv = export_as("saved", "csv", NULL, NULL, NULL),
         *md = export_as("saved", "markdown", NULL, NULL, NULL);
    json_t *root = load("saved", "json");
    size_t n = part->n_saved + part->n_saved_sym;
    assert_true(aot_starts_with(
        csv, "#,Memory,Own,Type,Policy,Name,Module,Target,Source,Reason,Used by\n"));
    assert_non_null(strstr(csv, ",32768,32768,\"f32[64, 128]\",,mm,,mm,model.py:12,"));
    assert_int_equal(count(csv, "\n"), n + 1);
    assert_int_equal(count(md, "\n"), n + 2);
    assert_non_null(
        strstr(md, "| 32.0 KiB | 32.0 KiB | f32[64, 128] |  | mm |  | mm | model.py:12 |"));
    assert_int_equal(json_array_size(json_object_get(root, "saved")), n);
    json_decref(root);
    free(csv);
    free(md);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_chooses_the_format_with_the_longest_ending),
        cmocka_unit_test(settings_and_edits_are_written_of_an_opened_input_only),
        cmocka_unit_test(every_format_writes_every_viewer_that_it_takes_twice_the_same),
        cmocka_unit_test(a_format_that_cannot_hold_it_says_which_can),
        cmocka_unit_test(model_explorer_refers_only_to_its_own_nodes),
        cmocka_unit_test(model_explorer_links_saved_and_recomputed_values),
        cmocka_unit_test(heat_maps_and_overlay_fit_the_collection),
        cmocka_unit_test(a_timeline_has_a_slice_for_each_node_and_arrows_between_slices),
        cmocka_unit_test(graphml_is_well_formed_and_holds_the_network),
        cmocka_unit_test(mermaid_has_no_markup_of_the_input),
        cmocka_unit_test(mermaid_is_cut_to_what_code_hosts_draw),
        cmocka_unit_test(saved_values_are_rows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
