/* Damaged inputs: each gives what can be read, a note with its line, and never a crash. */
#include "collect.h"

static void expect(const char *file, const char *want_stages, const char *note)
{
    collected c;
    collect_file(&c, file);
    assert_int_equal(c.status, AOT_OK);
    assert_int_equal(c.units.n, 1);
    assert_string_equal(stages(c.units.d[0]), want_stages);
    if (note != NULL && find_note(&c, note) == NULL) {
        fail_msg("%s: no note \"%s\"", file, note);
    }
    collect_free(&c);
}

static void a_cut_log_keeps_its_last_graph_as_far_as_it_goes(void **state)
{
    (void)state;
    expect("logs/damaged/truncated.log", "djfb", "damage:208: the input ends in the middle");
}

static void windows_line_ends_are_no_damage(void **state)
{
    (void)state;
    collected c, plain;
    collect_file(&c, "logs/damaged/crlf.log");
    collect_file(&plain, "logs/linear_relu.trace.log");
    assert_int_equal(c.stats.damaged_records, 0);
    assert_int_equal(c.stats.payload_mismatches, plain.stats.payload_mismatches);
    assert_string_equal(aot_unit_stage(c.units.d[0], AOT_STAGE_JOINT)->text,
                        aot_unit_stage(plain.units.d[0], AOT_STAGE_JOINT)->text);
    collect_free(&c);
    collect_free(&plain);
}

static void bytes_that_are_no_utf8_are_replaced_and_noted(void **state)
{
    (void)state;
    expect("logs/damaged/bad_utf8.log", "djfb", "damage:26: 2 bytes of aot_joint_graph");
    expect("logs/damaged/bad_utf8.log", "djfb", "damage:228: bytes of the record's header");
    expect("logs/damaged/nul.log", "djfb", "damage:14: 1 byte of dynamo_output_graph");
}

static void a_header_that_is_no_json_keeps_its_payload(void **state)
{
    (void)state;
    expect("logs/damaged/bad_json.log", "djfb", "damage:25: the record's header is not valid JSON");
}

static void a_missing_payload_is_a_note_of_its_unit(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/damaged/missing_payload.log");
    assert_string_equal(stages(c.units.d[0]), "djb");
    const aot_import_note *n = find_unit_note(c.units.d[0], "missing");
    assert_non_null(n);
    assert_int_equal(n->line, 186);
    assert_non_null(strstr(n->text, "aot_forward_graph"));
    assert_int_equal(aot_unit_record(c.units.d[0], "aot_forward_graph")->n_missing, 1);
    collect_free(&c);
}

static void junk_between_records_is_passed_over(void **state)
{
    (void)state;
    expect("logs/damaged/junk_inside.log", "djfb", "damage:10: not a line of a trace log");
}

static void a_payload_line_without_its_tab_is_kept(void **state)
{
    (void)state;
    collected c, plain;
    collect_file(&c, "logs/damaged/untabbed_payload.log");
    collect_file(&plain, "logs/linear_relu.trace.log");
    assert_non_null(find_note(&c, "damage:38: the tab before a payload line is missing"));
    assert_string_equal(aot_unit_stage(c.units.d[0], AOT_STAGE_JOINT)->text,
                        aot_unit_stage(plain.units.d[0], AOT_STAGE_JOINT)->text);
    collect_free(&c);
    collect_free(&plain);
}

static void records_of_unknown_kinds_are_counted(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/damaged/unknown_records.log");
    assert_int_equal(c.stats.skipped_records, 3);
    assert_non_null(
        find_note(&c, "skipped:229: 3 records of a kind that is not known: quantum_flux"));
    assert_string_equal(stages(c.units.d[0]), "djfb");
    collect_free(&c);
}

static void a_damaged_gz_gives_what_came_before(void **state)
{
    (void)state;
    expect("logs/damaged/truncated.log.gz", "djfb", "the .gz ends too early");
    expect("logs/damaged/corrupt.log.gz", "djfb", "the .gz is damaged");
}

static void a_graph_that_breaks_off_in_a_log_is_noted(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/damaged/cut_graph.stderr");
    const aot_import_note *n = find_unit_note(c.units.d[0], "damage");
    assert_non_null(n);
    assert_int_equal(n->line, 41);
    assert_string_equal(stages(c.units.d[0]), "djf");
    collect_free(&c);
}

static void inputs_without_anything_known_say_what_was_expected(void **state)
{
    (void)state;
    static const char *const files[] = {"logs/damaged/empty.log", "logs/damaged/junk.bin"};
    for (size_t i = 0; i < 2; i++) {
        collected c;
        collect_file(&c, files[i]);
        assert_int_equal(c.status, AOT_E_FORMAT);
        assert_non_null(strstr(c.err.msg, "TORCH_TRACE=DIR"));
        assert_non_null(strstr(c.err.msg, "TORCH_LOGS="));
        assert_non_null(strstr(c.err.file, files[i]));
        assert_int_equal(c.units.n, 0);
        collect_free(&c);
    }
}

static void a_file_that_is_not_there_is_an_input_error(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/nowhere.log");
    assert_int_equal(c.status, AOT_E_IO);
    assert_non_null(strstr(c.err.file, "nowhere.log"));
    collect_free(&c);
}

static void every_cut_of_a_log_imports(void **state)
{
    (void)state;
    size_t n;
    char *data = read_file(fixture("logs/linear_relu.trace.log"), &n);
    for (size_t cut = 0; cut < n; cut += 97) {
        collected c;
        char *copy = malloc(cut + 1); // exact, so that a sanitizer sees reads past the end
        memcpy(copy, data, cut);
        collect_text(&c, copy, cut);
        assert_true(c.status == AOT_OK || c.status == AOT_E_FORMAT);
        assert_true(c.units.n <= 1);
        collect_free(&c);
        free(copy);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_log_keeps_its_last_graph_as_far_as_it_goes),
        cmocka_unit_test(windows_line_ends_are_no_damage),
        cmocka_unit_test(bytes_that_are_no_utf8_are_replaced_and_noted),
        cmocka_unit_test(a_header_that_is_no_json_keeps_its_payload),
        cmocka_unit_test(a_missing_payload_is_a_note_of_its_unit),
        cmocka_unit_test(junk_between_records_is_passed_over),
        cmocka_unit_test(a_payload_line_without_its_tab_is_kept),
        cmocka_unit_test(records_of_unknown_kinds_are_counted),
        cmocka_unit_test(a_damaged_gz_gives_what_came_before),
        cmocka_unit_test(a_graph_that_breaks_off_in_a_log_is_noted),
        cmocka_unit_test(inputs_without_anything_known_say_what_was_expected),
        cmocka_unit_test(a_file_that_is_not_there_is_an_input_error),
        cmocka_unit_test(every_cut_of_a_log_imports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
