/* .pt2 archives: what a unit learns from one, and what damaged ones say. That the graphs are
 * PyTorch's is tested by tests/golden/pt2.c. */
#include "collect.h"

#include <math.h>
#include <zlib.h>

#include "../zip_writer.h"
#include "import/json_check.h"
#include "import/pt2.h"

/* ---- facts --------------------------------------------------------------------------------- */

static const aot_input_desc *input_of(const aot_unit *u, const char *source)
{
    for (size_t i = 0; i < u->inputs.n; i++) {
        if (strcmp(u->inputs.d[i].source, source) == 0) {
            return &u->inputs.d[i];
        }
    }
    fail_msg("no input %s", source);
    return NULL;
}

static const aot_symbol *symbol_of(const aot_unit *u, const char *source)
{
    for (size_t i = 0; i < u->symbols.n; i++) {
        if (strcmp(u->symbols.d[i].source, source) == 0) {
            return &u->symbols.d[i];
        }
    }
    fail_msg("no symbol of %s", source);
    return NULL;
}

static void inputs_are_described(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "pt2/mlp_training.pt2");
    assert_int_equal(c.status, AOT_OK);
    assert_int_equal(c.units.n, 1);
    const aot_unit *u = c.units.d[0];
    assert_string_equal(stages(u), "e");
    assert_int_equal(strncmp(u->torch_version, "2.11", 4), 0);
    assert_int_equal(u->inputs.n, 11);
    const aot_input_desc *w = input_of(u, "a.weight"), *x = input_of(u, "L['x']");
    assert_string_equal(w->dtype, "torch.float32");
    assert_string_equal(w->device, "cpu");
    assert_string_equal(w->size, "[16, 8]");
    assert_string_equal(w->stride, "[8, 1]");
    assert_true(w->requires_grad && w->is_parameter);
    assert_int_equal(w->storage_bytes, 512);
    assert_string_equal(x->size, "[4, 8]"); // at the hint
    assert_false(x->requires_grad || x->is_parameter);
    assert_int_equal(x->storage, -1);
    assert_false(input_of(u, "n.running_mean")->is_parameter);
    assert_int_equal(u->n_static_inputs, 10); // parameters and buffers
    assert_int_equal(u->static_inputs[9], 9);
    collect_free(&c);
}

static void symbols_have_hints_ranges_and_sources(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "pt2/derived_sizes.pt2"); // sizes are 4*s: hints follow from 16 = 4*s
    const aot_unit *u = c.units.d[0];
    const aot_symbol *n = symbol_of(u, "L['x'].size()[0]");
    assert_true(n->has_hint && n->hint == 2);
    assert_int_equal(u->symbols.n, 2);
    const aot_symbol *h = n == &u->symbols.d[0] ? &u->symbols.d[1] : &u->symbols.d[0];
    assert_true(h->has_hint && h->hint == 4);
    assert_string_equal(h->range, "[2, 32]");
    assert_string_equal(input_of(u, "L['x']")->size, "[2, 3, 16, 16]");
    collect_free(&c);
    collect_file(&c, "pt2/unbacked.pt2");
    for (size_t i = 0; i < c.units.d[0]->symbols.n; i++) {
        assert_false(c.units.d[0]->symbols.d[i].has_hint);
    }
    collect_free(&c);
}

static json_t *signature_of(const aot_unit *u)
{
    const aot_record *r = aot_unit_record(u, "graph_signature");
    assert_non_null(r);
    assert_true(r->is_json);
    json_t *j = json_loadb(r->text, r->len, 0, NULL);
    assert_non_null(j);
    return j;
}

static const char *text_at(json_t *j, const char *list, size_t i, const char *key)
{
    const char *s =
        json_string_value(json_object_get(json_array_get(json_object_get(j, list), i), key));
    return s != NULL ? s : "";
}

static void the_signature_is_kept(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "pt2/buffers.pt2");
    json_t *j = signature_of(c.units.d[0]);
    assert_string_equal(text_at(j, "inputs", 1, "kind"), "BUFFER");
    assert_string_equal(text_at(j, "inputs", 1, "target"), "p");
    assert_string_equal(text_at(j, "inputs", 1, "type"), "f32[3][1]cpu");
    assert_string_equal(text_at(j, "outputs", 0, "kind"), "BUFFER_MUTATION");
    assert_string_equal(text_at(j, "outputs", 0, "target"), "p");
    json_decref(j);
    collect_free(&c);
    collect_file(&c, "pt2/constants.pt2");
    j = signature_of(c.units.d[0]);
    json_t *value = json_object_get(json_array_get(json_object_get(j, "inputs"), 1), "value");
    assert_int_equal(json_integer_value(json_object_get(value, "as_int")), 3);
    json_decref(j);
    collect_free(&c);
    collect_file(&c, "pt2/mlp_training.pt2");
    j = signature_of(c.units.d[0]);
    assert_int_equal(json_integer_value(json_array_get(
                         json_object_get(json_object_get(j, "range_constraints"), "s77"), 0)),
                     2);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(j, "schema_version"), 0)),
                     8);
    json_decref(j);
    collect_free(&c);
}

static void every_program_of_an_archive_is_a_unit(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "pt2/two_models.pt2");
    assert_int_equal(c.units.n, 2);
    assert_string_equal(c.units.d[0]->title, "encoder");
    assert_string_equal(c.units.d[1]->title, "decoder");
    assert_string_equal(input_of(c.units.d[1], "w")->source, "w");
    collect_free(&c);
}

static void pipes_and_gz_are_read_too(void **state)
{
    (void)state;
    collected c;
    size_t n;
    char path[512];
    char *data = read_file(fixture("pt2/scan.pt2"), &n);
    snprintf(path, sizeof path, "%s/scan.gz", scratch_dir());
    gzFile f = gzopen(path, "wb");
    assert_int_equal(gzwrite(f, data, (unsigned)n), n);
    gzclose(f);
    c = (collected){0};
    aot_import_sink sink = collect_sink(&c);
    c.status = aot_import(path, &sink, &c.stats, &c.err);
    assert_int_equal(c.status, AOT_OK);
    assert_int_equal(c.units.n, 1);
    collect_free(&c);
    unlink(path);
    collect_text(&c, data, n);
    assert_int_equal(c.units.n, 1);
    collect_free(&c);
    free(data);
}

/* ---- a small program ----------------------------------------------------------------------- */

#define TENSOR(sizes, strides)                                                                     \
    "{\"dtype\": 7, \"sizes\": " sizes ", \"requires_grad\": false, \"device\": {\"type\": "       \
    "\"cpu\", \"index\": null}, \"strides\": " strides                                             \
    ", \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}"
#define CALL(inputs)                                                                               \
    "{\"target\": \"torch.ops.aten.sin.default\", \"inputs\": " inputs                             \
    ", \"outputs\": [{\"as_tensor\": {\"name\": \"sin\"}}], \"metadata\": {}, \"name\": \"sin\"}"
#define X_ARG "[{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}]"
#define PROGRAM(nodes, version)                                                                    \
    "{\"graph_module\": {\"graph\": {\"inputs\": [{\"as_tensor\": {\"name\": \"x\"}}], "           \
    "\"outputs\": [{\"as_tensor\": {\"name\": \"sin\"}}], \"nodes\": [" nodes                      \
    "], \"tensor_values\": {\"x\": " TENSOR(                                                       \
        "[{\"as_int\": 2}]",                                                                       \
        "[{\"as_int\": 1}]") ", \"sin\": " TENSOR("[{\"as_int\": 2}]",                             \
                                                  "[{\"as_int\": 1}]") "}}, \"signature\": "       \
                                                                       "{\"input_specs\": "        \
                                                                       "[{\"user_input\": "        \
                                                                       "{\"arg\": "                \
                                                                       "{\"as_tensor\": "          \
                                                                       "{\"name\": \"x\"}}}}], "   \
                                                                       "\"output_specs\": "        \
                                                                       "[{\"user_output\": "       \
                                                                       "{\"arg\": "                \
                                                                       "{\"as_tensor\": "          \
                                                                       "{\"name\": "               \
                                                                       "\"sin\"}}}}]}, "           \
                                                                       "\"module_call_graph\": "   \
                                                                       "[]}, "                     \
                                                                       "\"range_constraints\": "   \
                                                                       "{}, "                      \
                                                                       "\"schema_version\":"       \
                                                                       " " version "}"
#define V8 "{\"major\": 8, \"minor\": 17}"

static void collect_program(collected *c, const char *member, const char *json)
{
    zip_member m[] = {{member, json, strlen(json)}};
    aot_sb zip = {0};
    zip_write(&zip, m, 1);
    collect_text(c, zip.d, zip.n);
    aot_sb_free(&zip);
}

static void refuses(const char *json, const char *message)
{
    collected c;
    collect_program(&c, "a/models/model.json", json);
    assert_int_equal(c.status, AOT_E_FORMAT);
    assert_int_equal(c.units.n, 0);
    if (strstr(c.err.msg, message) == NULL) {
        fail_msg("want '%s' in '%s'", message, c.err.msg);
    }
    collect_free(&c);
}

static void a_program_needs_little(void **state)
{
    (void)state;
    collected c;
    collect_program(&c, "a/models/model.json", PROGRAM(CALL(X_ARG), V8));
    assert_int_equal(c.status, AOT_OK);
    assert_string_equal(aot_unit_stage(c.units.d[0], AOT_STAGE_EXPORT)->text,
                        "class GraphModule(torch.nn.Module):\n"
                        "    def forward(self, x: \"f32[2][1]cpu\"):\n"
                        "        # No stacktrace found for following nodes\n"
                        "        sin: \"f32[2][1]cpu\" = torch.ops.aten.sin.default(x);  x = None\n"
                        "        return (sin,)\n");
    assert_non_null(find_note(&c, "data/weights/model_weights_config.json is not in the archive"));
    collect_free(&c);
}

static void old_archives_have_no_folder_and_no_names(void **state)
{
    (void)state;
    collected c;
    // before 2.7: the kind of an argument follows from the schema, a node's name from its output
    collect_program(&c, "serialized_exported_program.json",
                    PROGRAM("{\"target\": \"torch.ops.aten.sin.default\", \"inputs\": [{\"name\": "
                            "\"self\", \"arg\": "
                            "{\"as_tensor\": {\"name\": \"x\"}}}], \"outputs\": [{\"as_tensor\": "
                            "{\"name\": \"sin\"}}], "
                            "\"metadata\": {}}",
                            "{\"major\": 5, \"minor\": 1}"));
    assert_int_equal(c.status, AOT_OK);
    assert_int_equal(c.units.n, 1);
    assert_non_null(
        strstr(aot_unit_stage(c.units.d[0], AOT_STAGE_EXPORT)->text, "aten.sin.default(x)"));
    assert_non_null(find_unit_note(c.units.d[0], "info")); // schema 5.1 is older
    collect_free(&c);
}

static void faults_are_named_by_member_and_field(void **state)
{
    (void)state;
    refuses("{\"graph_module\": {\"graph\": }",
            "models/model.json: it is not JSON: line 1, column 28: expected a value");
    refuses("[1]", "it is JSON, but no exported program");
    refuses("{}", "schema_version: the field is missing");
    refuses(PROGRAM(CALL(X_ARG), "{\"major\": 9, \"minor\": 1}"),
            "schema_version: 9.1 (PyTorch ?) is newer than 8.17");
    refuses(
        PROGRAM(
            CALL(
                "[{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"y\"}}, \"kind\": 1}]"),
            V8),
        "nodes[0].inputs[0]: no input or node before makes the value 'y'");
    refuses(PROGRAM(CALL("[{\"name\": \"self\", \"arg\": {\"as_moon\": 1}, \"kind\": 1}]"), V8),
            "nodes[0].inputs[0]: the kind of argument 'as_moon' is not in schema 8.17");
    refuses(PROGRAM(CALL("[{\"name\": \"self\", \"arg\": {}, \"kind\": 1}]"), V8),
            "expected an object with one key");
    refuses(PROGRAM(CALL("7"), V8), "nodes[0].inputs: expected a list, found 7");
    refuses(PROGRAM(CALL(X_ARG) ", " CALL(X_ARG), V8),
            "nodes[1].name: two values are called 'sin'");
    refuses(PROGRAM("", V8), "outputs[0]: no input or node before makes the value 'sin'");
}

static void kinds_of_later_schemas_are_shown_as_texts(void **state)
{
    (void)state;
    collected c;
    collect_program(
        &c, "a/models/model.json",
        PROGRAM(
            CALL("[{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}, "
                 "{\"name\": \"moon\", \"arg\": {\"as_moon\": 1}, \"kind\": 2}]"),
            "{\"major\": 8, \"minor\": 99}"));
    assert_int_equal(c.status, AOT_OK);
    assert_non_null(
        strstr(aot_unit_stage(c.units.d[0], AOT_STAGE_EXPORT)->text, "moon = '{\"as_moon\": 1}'"));
    assert_non_null(find_note(&c, "'as_moon' is a kind of argument of schema 8.99"));
    collect_free(&c);
}

static void other_archives_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *member, *message;
    } cases[] = {
        {"a/data.pkl", "it holds tensors (torch.save)"},
        {"a/code/model.py", "TorchScript archive"},
        {"a/data/aotinductor/model/x.so", "AOTInductor"},
        {"a/archive_format", "a .pt2 archive without models/NAME.json"},
        {"word/document.xml", "holds no exported program"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        collected c;
        collect_program(&c, cases[i].member, "pt2");
        assert_int_equal(c.status, AOT_E_FORMAT);
        assert_non_null(strstr(c.err.msg, cases[i].message));
        collect_free(&c);
    }
}

static void a_damaged_program_does_not_hide_the_others(void **state)
{
    (void)state;
    static const char good[] = PROGRAM(CALL(X_ARG), V8);
    zip_member m[] = {{"a/models/bad.json", "{", 1}, {"a/models/good.json", good, sizeof good - 1}};
    aot_sb zip = {0};
    collected c;
    zip_write(&zip, m, 2);
    collect_text(&c, zip.d, zip.n);
    assert_int_equal(c.status, AOT_OK);
    assert_int_equal(c.units.n, 1);
    assert_string_equal(c.units.d[0]->title, "good");
    assert_non_null(find_note(&c, "models/bad.json: it is not JSON"));
    collect_free(&c);
    aot_sb_free(&zip);
}

static void archives_cut_anywhere_say_so(void **state)
{
    (void)state;
    size_t n;
    char *data = read_file(fixture("pt2/scan.pt2"), &n);
    for (size_t cut = 4; cut < n; cut += 97) {
        collected c;
        collect_text(&c, data, cut);
        assert_int_equal(c.status, AOT_E_FORMAT);
        assert_non_null(strstr(c.err.msg, "it was cut or changed"));
        collect_free(&c);
    }
    free(data);
}

static void a_changed_byte_is_found_by_its_checksum(void **state)
{
    (void)state;
    static const char json[] = PROGRAM(CALL(X_ARG), V8);
    zip_member m[] = {{"a/models/model.json", json, sizeof json - 1}};
    aot_sb zip = {0};
    collected c;
    zip_write(&zip, m, 1);
    zip.d[200] ^= 1;
    collect_text(&c, zip.d, zip.n);
    assert_int_equal(c.status, AOT_E_FORMAT);
    assert_non_null(strstr(c.err.msg, "models/model.json: damaged after"));
    collect_free(&c);
    aot_sb_free(&zip);
}

/* ---- parts --------------------------------------------------------------------------------- */

static void prints_as(const char *srepr, const char *want)
{
    aot_sb out = {0};
    bool symbol;
    if (!aot_pt2_sympy(&out, srepr, strlen(srepr), &symbol) ||
        strcmp(aot_sb_text(&out), want) != 0) {
        fail_msg("%s: want %s, got %s", srepr, want, aot_sb_text(&out));
    }
    aot_sb_free(&out);
}

#define S0 "Symbol('s0', positive=True, integer=True)"
#define U0 "Symbol('u0', integer=True)"

static void expressions_print_as_sympy_prints_them(void **state)
{
    (void)state;
    prints_as(S0, "s0");
    prints_as("Add(Mul(Integer(2), " U0 "), Integer(1))", "2*u0 + 1");
    prints_as("Add(" S0 ", Mul(Integer(-1), " U0 "), Integer(-3))", "s0 - u0 - 3");
    prints_as("Mul(Integer(-1), " S0 ")", "-s0");
    prints_as("Mul(Integer(-2), " S0 ", Add(" U0 ", Integer(1)))", "-2*s0*(u0 + 1)");
    prints_as("Mul(Integer(16), FloorDiv(" S0 ", Integer(2)))", "16*((s0//2))");
    prints_as("FloorDiv(Add(" S0 ", Integer(1)), Integer(3))", "((s0 + 1)//3)");
    prints_as("Pow(" S0 ", Integer(2))", "s0**2");
    prints_as("Pow(Add(" S0 ", Integer(1)), Integer(2))", "(s0 + 1)**2");
    prints_as("Mul(Rational(1, 2), " S0 ")", "s0/2");
    prints_as("Mul(Integer(3), Pow(" S0 ", Integer(-1)))", "3/s0");
    prints_as("Max(Integer(1), FloorDiv(" S0 ", Integer(2)))", "Max(1, (s0//2))");
    prints_as("Mod(" S0 ", Integer(4))", "Mod(s0, 4)");
    prints_as("Add(Mod(" S0 ", Integer(4)), Integer(1))", "(Mod(s0, 4)) + 1");
    prints_as("GreaterThan(" U0 ", Integer(2))", "u0 >= 2");
    prints_as("Equality(" U0 ", Integer(2))", "Eq(u0, 2)");
    prints_as("And(StrictLessThan(" U0 ", Integer(4)), Unequality(" S0 ", Integer(3)))",
              "(u0 < 4) & Ne(s0, 3)");
    prints_as("IntTrueDiv(" S0 ", Integer(2))", "IntTrueDiv(s0, 2)");
    prints_as("Mul(Float('0.5', precision=53), ToFloat(" S0 "))", "0.5*ToFloat(s0)");
    prints_as("Or(Equality(" U0 ", Integer(3)), StrictGreaterThan(" U0 ", Integer(4)))",
              "Eq(u0, 3) | (u0 > 4)");
    prints_as("Mul(Integer(-1), Integer(2), " S0 ", Add(" U0 ", Integer(1)))", "-2*s0*(u0 + 1)");
    prints_as("Mul(Integer(-1), FloorDiv(" S0 ", Integer(2)))", "-((s0//2))");
    prints_as("Add(Integer(2), Mul(Integer(-1), Integer(3), Mod(" S0 ", Integer(4))))",
              "2 - 3*(Mod(s0, 4))");
    prints_as("Mul(Rational(3, 4), " S0 ")", "3*s0/4");
    prints_as("Pow(" S0 ", Rational(1, 2))", "sqrt(s0)");
    prints_as("Mul(Integer(-1), Max(" S0 ", " U0 "))", "-Max(s0, u0)");
    prints_as("Identity(Add(" S0 ", Integer(1)))", "(s0 + 1)");
    prints_as("Float('2.0', precision=53)", "2.00000000000000");
    prints_as("Mul(Float('1.0e+20', precision=53), ToFloat(" S0 "))", "1.0e+20*ToFloat(s0)");
    prints_as("Add(ToFloat(" U0 "), Float('0.10000000000000001', precision=53))",
              "ToFloat(u0) + 0.1");
    prints_as("Piecewise(ExprCondPair(" U0 ", Equality(" U0 ", Integer(3))), ExprCondPair(" S0
              ", true))",
              "Piecewise((u0, Eq(u0, 3)), (s0, True))");
    prints_as("Integer(-7)", "-7");
}

static void what_is_no_expression_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    "Add(", "Add(Integer(1)", "Symbol('s0",
                                      "1 2", "-s0",  "Add(,)",         "()"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        aot_sb out = {0};
        bool symbol;
        if (aot_pt2_sympy(&out, bad[i], strlen(bad[i]), &symbol)) {
            fail_msg("'%s' is taken for %s", bad[i], aot_sb_text(&out));
        }
        aot_sb_free(&out);
    }
    aot_sb deep = {0}, out = {0};
    bool symbol;
    for (int i = 0; i < 100000; i++) {
        aot_sb_addz(&deep, "Not(");
    }
    assert_false(aot_pt2_sympy(&out, deep.d, deep.n, &symbol));
    aot_sb_free(&deep);
    aot_sb_free(&out);
}

static void python_prints_strings_and_complex_numbers(void **state)
{
    (void)state;
    static const struct {
        double re, im;
        const char *want;
    } numbers[] = {{0, 1, "1j"},
                   {1, 2, "(1+2j)"},
                   {-0.0, 1, "(-0+1j)"},
                   {INFINITY, -0.0, "(inf-0j)"},
                   {0.5, 1e20, "(0.5+1e+20j)"}};
    aot_sb out = {0};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        aot_sb_clear(&out);
        aot_py_repr_complex(&out, numbers[i].re, numbers[i].im);
        assert_string_equal(out.d, numbers[i].want);
    }
    aot_sb_clear(&out);
    assert_int_equal(aot_py_repr(&out, "it's\n", 5), '"');
    assert_string_equal(out.d, "it's\\n");
    aot_sb_clear(&out);
    assert_int_equal(aot_py_repr(&out, "'\"\\\x01", 4), '\'');
    assert_string_equal(out.d, "\\'\"\\\\\\x01");
    aot_sb_free(&out);
}

static void json_is_checked_to_the_byte(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t at;
    } bad[] = {{"", 0},        {"{", 1},           {"[1,]", 3}, {"{\"a\" 1}", 5},   {"[1 2]", 3},
               {"\"\\x\"", 2}, {"01", 2},          {"1.", 2},   {"nul", 0},         {"[1]]", 3},
               {"\"\n\"", 1},  {"{\"a\": 1,}", 8}, {"[}", 1},   {"\"\\u12g4\"", 5}, {"-", 1}};
    static const char *const good[] = {
        "{}", "[]", " [1, -2.5e+3, \"\\u00e9\\n\", true, false, null, {\"a\": [{}]}] ", "0",
        "\"x\""};
    size_t at;
    const char *expected;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (aot_json_check(bad[i].text, strlen(bad[i].text), &at, &expected) || at != bad[i].at) {
            fail_msg("%s: at %zu, want %zu", bad[i].text, at, bad[i].at);
        }
        assert_non_null(expected);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(aot_json_check(good[i], strlen(good[i]), &at, &expected));
    }
    char deep[4096];
    memset(deep, '[', sizeof deep);
    assert_false(aot_json_check(deep, sizeof deep, &at, &expected));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_described),
        cmocka_unit_test(symbols_have_hints_ranges_and_sources),
        cmocka_unit_test(the_signature_is_kept),
        cmocka_unit_test(every_program_of_an_archive_is_a_unit),
        cmocka_unit_test(pipes_and_gz_are_read_too),
        cmocka_unit_test(a_program_needs_little),
        cmocka_unit_test(old_archives_have_no_folder_and_no_names),
        cmocka_unit_test(faults_are_named_by_member_and_field),
        cmocka_unit_test(kinds_of_later_schemas_are_shown_as_texts),
        cmocka_unit_test(other_archives_are_named),
        cmocka_unit_test(a_damaged_program_does_not_hide_the_others),
        cmocka_unit_test(archives_cut_anywhere_say_so),
        cmocka_unit_test(a_changed_byte_is_found_by_its_checksum),
        cmocka_unit_test(expressions_print_as_sympy_prints_them),
        cmocka_unit_test(what_is_no_expression_is_refused),
        cmocka_unit_test(python_prints_strings_and_complex_numbers),
        cmocka_unit_test(json_is_checked_to_the_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
