/* The importers' parts: line reader, JSON walker, MD5, metadata text, log prefixes, UTF-8. */
#include <zlib.h>

#include "collect.h"
#include "import/fw_metadata.h"
#include "import/importer.h"
#include "import/json_scan.h"
#include "import/md5.h"

static void lines_end_with_lf_crlf_or_the_input(void **state)
{
    (void)state;
    static const char text[] = "a\r\nb\0c\n\nlast";
    aot_stream *s = aot_stream_of_bytes(text, sizeof text - 1);
    aot_line l;
    assert_true(aot_stream_line(s, &l));
    assert_int_equal(l.n, 1);
    assert_true(l.cr && l.ended);
    assert_true(aot_stream_line(s, &l));
    assert_memory_equal(l.s, "b\0c", 3);
    assert_int_equal(l.n, 3);
    assert_true(aot_stream_line(s, &l));
    assert_int_equal(l.n, 0);
    assert_true(aot_stream_line(s, &l));
    assert_int_equal(l.number, 4);
    assert_false(l.ended);
    assert_memory_equal(l.s, "last", 4);
    assert_false(aot_stream_line(s, &l));
    assert_int_equal(aot_stream_bytes(s), sizeof text - 1);
    aot_stream_free(s);
}

static void a_line_longer_than_the_buffer_is_read_whole(void **state)
{
    (void)state;
    const char *dir = scratch_dir();
    char path[300];
    size_t n = (3u << 20) + 17;
    char *data = malloc(n + 3);
    memset(data, 'x', n);
    memcpy(data + n, "\ny\n", 3);
    snprintf(path, sizeof path, "%s/long", dir);
    write_file(path, data, n + 3);
    aot_stream *s;
    aot_line l;
    assert_int_equal(aot_stream_open(&s, path, NULL), AOT_OK);
    const char *head;
    assert_int_equal(aot_stream_peek(s, &head, 100), 100);
    assert_true(aot_stream_line(s, &l));
    assert_int_equal(l.n, n);
    assert_memory_equal(l.s, data, n);
    assert_true(aot_stream_line(s, &l));
    assert_int_equal(l.n, 1);
    assert_false(aot_stream_line(s, &l));
    assert_int_equal(aot_stream_done(s), aot_stream_total(s));
    aot_stream_free(s);
    unlink(path);
    rmdir(dir);
    free(data);
}

static void gzip_members_in_a_row_are_one_text(void **state)
{
    (void)state;
    unsigned char z[512];
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        z_stream d = {0};
        assert_int_equal(deflateInit2(&d, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        d.next_in = (unsigned char *)(i == 0 ? "one\ntw" : "o\n");
        d.avail_in = i == 0 ? 6 : 2;
        d.next_out = z + n;
        d.avail_out = (unsigned)(sizeof z - n);
        assert_int_equal(deflate(&d, Z_FINISH), Z_STREAM_END);
        n = sizeof z - d.avail_out;
        deflateEnd(&d);
    }
    aot_stream *s = aot_stream_of_bytes((char *)z, n);
    aot_line l;
    assert_true(aot_stream_line(s, &l));
    assert_true(aot_stream_line(s, &l));
    assert_int_equal(l.n, 3);
    assert_memory_equal(l.s, "two", 3);
    assert_false(aot_stream_line(s, &l));
    assert_null(aot_stream_trouble(s));
    aot_stream_free(s);
}

static aot_slice slice(const char *s)
{
    return (aot_slice){s, strlen(s)};
}

static void json_values_are_found_and_decoded(void **state)
{
    (void)state;
    aot_arena *a = aot_arena_new();
    aot_slice o = slice("{\"a\": [1, {\"b\": \"]}\\\"\"}], \"n\": null, \"s\": "
                        "\"x\\n\\u00e9\\ud83d\\ude00\\u0000\","
                        " \"i\": -5, \"q\": \"7\", \"d\": 1.5, \"t\": true}");
    assert_true(aot_json_valid(o.s, o.n));
    assert_string_equal(aot_json_text(a, aot_json_get(o, "s")),
                        "x\n\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd");
    assert_null(aot_json_text(a, aot_json_get(o, "n")));
    assert_null(aot_json_get(o, "b").s); // only of the object itself
    assert_int_equal(aot_json_int(aot_json_get(o, "i"), 0), -5);
    assert_int_equal(aot_json_int(aot_json_get(o, "q"), 0), 7);
    assert_int_equal(aot_json_int(aot_json_get(o, "d"), 9), 9);
    assert_true(aot_json_double(aot_json_get(o, "d"), 0) == 1.5);
    assert_true(aot_json_true(aot_json_get(o, "t")));
    aot_arena_free(a);
}

static void text_that_is_no_json_is_told(void **state)
{
    (void)state;
    static const char *const bad[] = {"{\"a\": 1", "{\"a\" 1}", "{a: 1}", "{\"a\": \"x}", "{} x",
                                      "", "{\"a\": [1, 2}", "{\"a\": 1 \"b\": 2}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        aot_json_iter it;
        aot_slice k, v;
        aot_json_begin(&it, slice(bad[i]));
        while (aot_json_next(&it, &k, &v)) {
        }
        assert_true(it.bad || it.p == NULL || !aot_json_valid(bad[i], strlen(bad[i])));
    }
}

static void sums_are_those_of_the_standard(void **state)
{
    (void)state;
    char out[33];
    aot_md5_hex("", 0, out);
    assert_string_equal(out, "d41d8cd98f00b204e9800998ecf8427e");
    aot_md5_hex("abc", 3, out);
    assert_string_equal(out, "900150983cd24fb0d6963f7d28e17f72");
    const char *digits = "1234567890123456789012345678901234567890123456789012345678901234567890"
                         "1234567890";
    aot_md5_hex(digits, 80, out);
    assert_string_equal(out, "57edf4a22be3c955ac49da2e2107b67a");
}

static void metadata_text_is_read_whatever_its_version(void **state)
{
    (void)state;
    aot_arena *a = aot_arena_new();
    aot_fw_metadata m;
    static const char text[] =
        "ViewAndMutationMeta(input_info=[InputAliasInfo(is_leaf=True, mutates_data=True, "
        "mutates_metadata=False, mutations_hidden_from_autograd=False, requires_grad=True, "
        "keep_input_mutations=True), InputAliasInfo(mutates_data=True, mutates_metadata=False, "
        "mutations_hidden_from_autograd=False, requires_grad=False, keep_input_mutations=True), "
        "InputAliasInfo(mutates_data=False)], output_info=[OutputAliasInfo(output_type="
        "<OutputType.alias_of_input: 2>, raw_type=<class 'x.T'>, base_idx=1, dynamic_dims=set(), "
        "requires_grad=True), OutputAliasInfo(output_type=<OutputType.non_alias: 1>, "
        "base_idx=None)], "
        "num_intermediate_bases=2, keep_input_mutations=True, traced_tangents=[FakeTensor(..., "
        "size=(4, 16))], tokens={<_EffectType.ORDERED: 'Ordered'>: FakeTensor(...)}, "
        "num_symints_saved_for_bw=None, static_parameter_indices=[0, 2], bw_donated_idxs=None, "
        "num_backward_tokens=1, note='a, b=[\\'', new_field_of_2_20={1: (2, 3)})";
    assert_true(aot_fw_metadata_parse(&m, a, text, sizeof text - 1));
    assert_int_equal(m.n_inputs, 3);
    assert_int_equal(m.inputs[0].mutation, AOT_MUTATED_OUT_GRAPH);
    assert_int_equal(m.inputs[1].mutation, AOT_MUTATED_IN_GRAPH);
    assert_int_equal(m.inputs[2].mutation, AOT_NOT_MUTATED);
    assert_int_equal(m.n_outputs, 2);
    assert_int_equal(m.outputs[0].type, AOT_OUT_ALIAS_OF_INPUT);
    assert_int_equal(m.outputs[0].base_idx, 1);
    assert_string_equal(aot_output_type_name(m.outputs[1].type), "non_alias");
    assert_int_equal(m.n_forward_returns, 1 + 2 + 2);
    assert_int_equal(m.n_tokens, 1);
    assert_int_equal(m.n_bw_tokens, 1);
    assert_int_equal(m.n_symints_saved, -1);
    assert_int_equal(m.n_donated, -1);
    assert_int_equal(m.n_traced_tangents, 1);
    assert_int_equal(m.n_static_inputs, 2);
    assert_int_equal(m.static_inputs[1], 2);
    assert_false(aot_fw_metadata_parse(&m, a, "None", 4));
    assert_true(aot_fw_metadata_parse(&m, a, text, 60)); // cut off
    aot_arena_free(a);
}

static void log_prefixes_are_recognised(void **state)
{
    (void)state;
    uint64_t pid;
    const char *place;
    size_t n;
    const char *line = "V1129 14:44:12.811000 25371 /a[b]/x.py:276] {\"a\": 1}";
    assert_int_equal(aot_import_glog(line, strlen(line), &pid, &place, &n), strlen(line) - 8);
    assert_int_equal(pid, 25371);
    assert_int_equal(n, strlen("/a[b]/x.py:276"));
    assert_int_equal(aot_import_glog("V1129 14:44", 11, NULL, NULL, NULL), 0);
    int rank = -1;
    assert_int_equal(aot_import_launcher("[default3]:[rank7]:x", 20, &rank), 19);
    assert_int_equal(rank, 7);
    rank = -1;
    assert_int_equal(aot_import_launcher("[0/0] x", 7, &rank), 0);
    assert_int_equal(aot_import_launcher("12: plain output", 16, &rank), 0);
    assert_int_equal(rank, -1);
    assert_int_equal(aot_import_rank_of_name("/x/rank_9/dedicated_log_torch_trace_rank_3_ab.log"),
                     3);
    assert_int_equal(aot_import_rank_of_name("frankfurt12.log"), -1);
}

static void texts_are_made_clean(void **state)
{
    (void)state;
    aot_sb out = {0};
    assert_int_equal(aot_import_clean(&out, "gr\xc3\xbc\xc3\x9f dich, f32[4]", 18), 0);
    assert_int_equal(out.n, 0);
    assert_int_equal(aot_import_clean(&out, "a\0b\xff\xed\xa0\x80", 7), 5);
    assert_string_equal(out.d, "a\xef\xbf\xbd" "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    aot_sb_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_with_lf_crlf_or_the_input),
        cmocka_unit_test(a_line_longer_than_the_buffer_is_read_whole),
        cmocka_unit_test(gzip_members_in_a_row_are_one_text),
        cmocka_unit_test(json_values_are_found_and_decoded),
        cmocka_unit_test(text_that_is_no_json_is_told),
        cmocka_unit_test(sums_are_those_of_the_standard),
        cmocka_unit_test(metadata_text_is_read_whatever_its_version),
        cmocka_unit_test(log_prefixes_are_recognised),
        cmocka_unit_test(texts_are_made_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
