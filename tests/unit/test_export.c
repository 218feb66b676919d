/* The export path against what torch.export gave for the same modules (fixtures/export): the
 * program as exported, after run_decompositions({}), after run_decompositions(). */
#include "fixture.h"
#include "ir/compare.h"
#include "ir/text.h"
#include "session/model.h"

static aot_model *open_with(const char *file, const char *const *settings, size_t n)
{
    aot_model_options opt = {.settings = settings, .n_settings = n};
    const char *input = fixture(file);
    aot_model *m = NULL;
    aot_err err = {0};
    if (aot_model_open(&m, &input, 1, &opt, &err) != AOT_OK) {
        fail_msg("%s: %s", file, err.msg);
    }
    return m;
}

static const aot_graph *graph_of(aot_model *m, aot_stage stage)
{
    const aot_graph *g = NULL;
    aot_err err = {0};
    if (aot_model_graph(m, 0, stage, &g, &err) != AOT_OK) {
        fail_msg("%s: %s", aot_stage_get(stage)->name, err.msg);
    }
    return g;
}

/* The stage derived from one file is the program of the other. */
static void gives(const char *name, const char *from, const char *backend, aot_stage stage,
                  const char *truth)
{
    char input[96], expected[96], setting[48];
    snprintf(input, sizeof input, "export/%s.%s", name, from);
    snprintf(expected, sizeof expected, "export/%s.%s.pt2", name, truth);
    snprintf(setting, sizeof setting, "backend=%s", backend);
    const char *settings[] = {"path=export", setting};
    aot_model *m = open_with(input, settings, 2), *t = open_with(expected, NULL, 0);
    const aot_graph *got = graph_of(m, stage), *want = graph_of(t, AOT_STAGE_EXPORT);
    aot_graph_difference at;
    if (!aot_graph_same_structure(want, got, &at)) {
        aot_sb a = {0}, b = {0};
        if (at.a != AOT_NO_NODE) {
            aot_print_node(&a, at.ga, at.a);
        }
        if (at.b != AOT_NO_NODE) {
            aot_print_node(&b, at.gb, at.b);
        }
        fail_msg("%s, %s:\n  want %s\n  got  %s", input, truth, aot_sb_text(&a), aot_sb_text(&b));
    }
    aot_model_free(m);
    aot_model_free(t);
}

static const char *const modules[] = {"norm_attention", "conv_batch_norm", "embedding_attention"};
enum { N_MODULES = sizeof modules / sizeof *modules, N_CORE = 2 };

static void the_aten_stage_is_the_program_as_exported(void **state)
{
    (void)state;
    for (int i = 0; i < N_MODULES; i++) {
        gives(modules[i], "log.gz", "aot_eager", AOT_STAGE_ATEN, "train");
    }
}

static void functional_composites_are_kept(void **state)
{
    (void)state;
    for (int i = 0; i < N_MODULES; i++) {
        gives(modules[i], "log.gz", "aot_eager", AOT_STAGE_EXPORT, "functional");
        gives(modules[i], "train.pt2", "aot_eager", AOT_STAGE_INFERENCE, "functional");
    }
}

static void the_core_table_decomposes_them(void **state)
{
    (void)state;
    for (int i = 0; i < N_CORE; i++) {
        gives(modules[i], "log.gz", "decomp", AOT_STAGE_EXPORT, "core");
        gives(modules[i], "train.pt2", "auto", AOT_STAGE_INFERENCE, "core");
    }
}

static void inputs_and_outputs_have_the_signature(void **state)
{
    (void)state;
    static const char *const inputs[] = {
        "PARAMETER target='l.weight'",        "PARAMETER target='l.bias'",
        "PARAMETER target='n.weight'",        "PARAMETER target='n.bias'",
        "BUFFER target='c' persistent=True", "USER_INPUT", "USER_INPUT"};
    static const char *const outputs[] = {"BUFFER_MUTATION target='c'",
                                          "USER_INPUT_MUTATION target='y'", "USER_OUTPUT",
                                          "USER_OUTPUT", "USER_OUTPUT"};
    const char *settings[] = {"path=export"};
    aot_model *m = open_with("export/norm_attention.log.gz", settings, 1);
    const aot_graph *g = graph_of(m, AOT_STAGE_EXPORT);
    for (unsigned i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        assert_string_equal(aot_text(g->ctx, g->nodes.d[i].desc), inputs[i]);
    }
    assert_int_equal(g->out_descs.n, sizeof outputs / sizeof *outputs);
    for (unsigned i = 0; i < g->out_descs.n; i++) {
        assert_string_equal(aot_text(g->ctx, g->out_descs.d[i]), outputs[i]);
    }
    aot_model_free(m);
}

static void a_composite_is_kept_by_choice(void **state)
{
    (void)state;
    const char *settings[] = {"path=export", "backend=decomp", "keep=linear"};
    aot_model *m = open_with("export/norm_attention.log.gz", settings, 3);
    const aot_graph *g = graph_of(m, AOT_STAGE_EXPORT);
    unsigned n_linear = 0, n_layer_norm = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        n_linear += g->nodes.d[i].op == AOT_OP_aten_linear;
        n_layer_norm += g->nodes.d[i].op == AOT_OP_aten_layer_norm;
    }
    assert_int_equal(n_linear, 1);
    assert_int_equal(n_layer_norm, 0);
    aot_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_aten_stage_is_the_program_as_exported),
        cmocka_unit_test(functional_composites_are_kept),
        cmocka_unit_test(the_core_table_decomposes_them),
        cmocka_unit_test(inputs_and_outputs_have_the_signature),
        cmocka_unit_test(a_composite_is_kept_by_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
