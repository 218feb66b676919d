/* Recorded graphs against derived ones: the normal form, the first difference, what is left out. */
#include "fixture.h"

#include "session/check.h"
#include "session/derive.h"
#include "session/model.h"

static char *normal(const char *text)
{
    aot_sb b = {0};
    aot_normal_text(&b, text, strlen(text), NULL);
    char *s = aot_xstrdup(aot_sb_text(&b));
    aot_sb_free(&b);
    return s;
}

static void comments_blank_lines_and_trailing_blanks_do_not_count(void **state)
{
    (void)state;
    char *a = normal("x = 1  \n\n    # File: a.py:3\ny = 2  # kept, it is part of the line\n   \n");
    assert_string_equal(a, "x = 1\ny = 2  # kept, it is part of the line\n");
    free(a);
}

static void the_symbol_of_a_generator_state_is_hidden(void **state)
{
    (void)state;
    char *a = normal("s: \"u8[s12][1]cpu\", t: \"u8[s12, 2][1]\", u: \"u8[s3][1]\"\n");
    assert_string_equal(
        a, "s: \"u8[rng_state][1]cpu\", t: \"u8[s12, 2][1]\", u: \"u8[rng_state][1]\"\n");
    free(a);
}

static void line_numbers_are_those_of_the_text(void **state)
{
    (void)state;
    aot_sb b = {0};
    uint32_t *line_of = NULL;
    static const char text[] = "# one\n\ntwo\n  # three\nfour";
    assert_int_equal(aot_normal_text(&b, text, sizeof text - 1, &line_of), 2);
    assert_int_equal(line_of[0], 3);
    assert_int_equal(line_of[1], 5);
    free(line_of);
    aot_sb_free(&b);
}

typedef struct opened {
    aot_model *m;
    aot_arena *a;
    aot_check_result r[AOT_CHECK_MAX];
    size_t n;
} opened;

/* Checks unit 0 of a fixture. edit (may be NULL) is applied to a copy of the recorded forward text.
 */
static opened check_fixture(const char *name, const char *from, const char *to, const char *version)
{
    opened o = {.a = aot_arena_new()};
    const char *input = fixture(name);
    const aot_partition *p = NULL;
    aot_err err = {0};
    assert_int_equal(aot_model_open(&o.m, &input, 1, NULL, &err), AOT_OK);
    aot_unit *u = (aot_unit *)aot_model_unit(o.m, 0);
    if (version != NULL) {
        u->torch_version = version;
    }
    aot_record *rec = (aot_record *)aot_unit_stage(u, AOT_STAGE_FORWARD);
    if (from != NULL) {
        const char *at = strstr(rec->text, from);
        assert_non_null(at);
        rec->text = aot_arena_printf(o.a, "%.*s%s%s", (int)(at - rec->text), rec->text, to,
                                     at + strlen(from));
        rec->len = strlen(rec->text);
    }
    bool has_joint = aot_unit_stage(u, AOT_STAGE_JOINT) != NULL;
    if (has_joint && aot_model_partition(o.m, 0, &p, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    o.n = aot_check_unit(o.r, u, p, NULL, o.a);
    return o;
}

static void close_fixture(opened *o)
{
    aot_model_free(o->m);
    aot_arena_free(o->a);
}

static void what_pytorch_did_is_derived_again(void **state)
{
    (void)state;
    static const char *const logs[] = {"logs/dropout_default.log.gz", "logs/dynamic_mlp.log.gz",
                                       "logs/train_break.log.gz", "logs/ddp_rank_0.log.gz",
                                       "logs/transformer_encoder_layer.log.gz"};
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        opened o = check_fixture(logs[i], NULL, NULL, NULL);
        assert_int_equal(o.n, 2);
        for (size_t k = 0; k < o.n; k++) {
            if (o.r[k].verdict != AOT_CHECK_SAME) {
                fail_msg("%s: recorded %s derived %s", logs[i], o.r[k].recorded, o.r[k].derived);
            }
        }
        close_fixture(&o);
    }
}

static void the_first_difference_is_shown_with_both_lines(void **state)
{
    (void)state;
    opened o = check_fixture("logs/dropout_default.log.gz", "torch.ops.aten.sum.default(cos)",
                             "torch.ops.aten.sum.default(sin)", NULL);
    assert_int_equal(o.r[0].stage, AOT_STAGE_FORWARD);
    assert_int_equal(o.r[0].verdict, AOT_CHECK_DIFFERS);
    assert_non_null(strstr(o.r[0].recorded, "sum.default(sin)"));
    assert_non_null(strstr(o.r[0].derived, "sum.default(cos)"));
    assert_int_equal(o.r[0].line, 12); /* of the forward text, its comment counted */
    assert_true(o.r[0].input_line > o.r[0].line);
    assert_null(o.r[0].reason); /* written by 2.11: nothing excuses it */
    assert_int_equal(o.r[1].verdict, AOT_CHECK_SAME);
    close_fixture(&o);
}

static void a_difference_of_another_version_names_it(void **state)
{
    (void)state;
    opened o = check_fixture("logs/dropout_default.log.gz", "sum_1,  #", "cos,  #", "2.15.0");
    assert_int_equal(o.r[0].verdict, AOT_CHECK_LEFT_OUT);
    assert_non_null(strstr(o.r[0].reason, "2.15.0"));
    assert_non_null(strstr(o.r[0].recorded, "cos"));
    assert_non_null(strstr(o.r[0].derived, "sum_1"));
    close_fixture(&o);
    o = check_fixture("logs/dropout_default.log.gz", "sum_1,  #", "cos,  #", "2.1.0");
    assert_non_null(strstr(o.r[0].reason, "2.1.0"));
    close_fixture(&o);
}

/* Traces unit 0 of a fixture after an edit of a copy of a record's text. */
static aot_check_result trace_fixture(opened *o, const char *name, aot_stage stage,
                                      const char *from, const char *to)
{
    const char *input = fixture(name);
    aot_check_result r[AOT_CHECK_TRACE_MAX];
    aot_config config;
    o->a = aot_arena_new();
    assert_int_equal(aot_model_open(&o->m, &input, 1, NULL, NULL), AOT_OK);
    aot_unit *u = (aot_unit *)aot_model_unit(o->m, 0);
    assert_int_equal(aot_model_config(o->m, 0, &config, NULL), AOT_OK);
    if (from != NULL) {
        aot_record *rec = (aot_record *)aot_unit_stage(u, stage);
        const char *at = strstr(rec->text, from);
        assert_non_null(at);
        rec->text = aot_arena_printf(o->a, "%.*s%s%s", (int)(at - rec->text), rec->text, to,
                                     at + strlen(from));
        rec->len = strlen(rec->text);
    } else {
        u->fw_metadata = NULL;
    }
    assert_true(aot_check_trace(r, u, &config, o->a) >= 1);
    return r[0];
}

static void an_operator_that_the_trace_has_not_is_shown_with_its_line(void **state)
{
    (void)state;
    opened o;
    aot_check_result r = trace_fixture(&o, "logs/dropout_default.log.gz", AOT_STAGE_JOINT,
                                       "aten.neg.default(sin_1)", "aten.abs.default(sin_1)");
    assert_int_equal(r.verdict, AOT_CHECK_DIFFERS);
    assert_int_equal(r.stage, AOT_STAGE_JOINT);
    assert_non_null(strstr(r.recorded, "aten.abs.default"));
    assert_non_null(strstr(r.derived, "aten.neg.default"));
    assert_null(r.reason);
    const char *line = aot_unit_stage(aot_model_unit(o.m, 0), AOT_STAGE_JOINT)->text;
    for (uint32_t i = 1; i < r.line; i++) {
        line = strchr(line, '\n') + 1;
    }
    assert_ptr_equal(strstr(line, "neg: "), line + strspn(line, " "));
    close_fixture(&o);
}

static void torch_logs_of_2_11_are_known_by_their_places(void **state)
{
    (void)state;
    opened o;
    aot_check_result r = trace_fixture(&o, "logs/three_units.stderr.gz", AOT_STAGE_JOINT,
                                       "aten.relu.default", "aten.sin.default");
    assert_int_equal(r.verdict, AOT_CHECK_DIFFERS);
    close_fixture(&o);
    r = trace_fixture(&o, "logs/torch_2.15.0.stderr.gz", AOT_STAGE_JOINT, "aten.relu.default",
                      "aten.sin.default");
    assert_int_equal(r.verdict, AOT_CHECK_LEFT_OUT);
    assert_non_null(strstr(r.reason, "another PyTorch than 2.11"));
    close_fixture(&o);
}

static void what_requires_grad_is_a_guess_without_the_metadata(void **state)
{
    (void)state;
    opened o;
    aot_check_result r =
        trace_fixture(&o, "logs/train_mixed_stdout.log.gz", AOT_STAGE_JOINT, NULL, NULL);
    assert_int_equal(r.verdict, AOT_CHECK_LEFT_OUT);
    assert_string_equal(r.reason, "the text does not say which inputs require grad");
    close_fixture(&o);
}

static void a_text_that_ends_early_differs(void **state)
{
    (void)state;
    opened o = check_fixture("logs/dropout_default.log.gz",
                             "            neg,  # SavedForBackwardsAOTOutput(idx=2)\n        )\n",
                             "", NULL);
    assert_int_equal(o.r[0].verdict, AOT_CHECK_DIFFERS);
    assert_string_equal(o.r[0].recorded, "");
    assert_string_equal(o.r[0].derived, "neg,  # SavedForBackwardsAOTOutput(idx=2)");
    close_fixture(&o);
}

static void graphs_that_went_through_inductors_passes_are_derived_through_them(void **state)
{
    (void)state;
    opened o = check_fixture("logs/replace_random.log.gz", NULL, NULL, NULL);
    assert_int_equal(o.n, 2);
    assert_int_equal(o.r[0].verdict, AOT_CHECK_SAME);
    assert_non_null(strstr(o.r[0].reason, "joint-graph passes"));
    assert_int_equal(o.r[1].verdict, AOT_CHECK_SAME);
    close_fixture(&o);
}

static void graphs_that_other_passes_changed_are_left_out_with_the_sign(void **state)
{
    (void)state;
    opened o = check_fixture("logs/replace_random.log.gz", "aten.mul.Tensor(inductor_random",
                             "mine.mul.Tensor(inductor_random", NULL);
    assert_int_equal(o.n, 2);
    assert_int_equal(o.r[0].verdict, AOT_CHECK_LEFT_OUT);
    assert_non_null(strstr(o.r[0].recorded, "torch.ops.mine.mul.Tensor"));
    assert_non_null(strstr(o.r[0].reason, "joint-graph passes line"));
    close_fixture(&o);
}

static void a_removed_operator_is_a_sign_of_other_passes(void **state)
{
    (void)state;
    opened o =
        check_fixture("logs/dropout_default.log.gz",
                      "neg: \"f32[8][1]cpu\" = torch.ops.aten.neg.default(sin_1);  sin_1 = None",
                      "neg = sin_1", NULL);
    /* what cannot be read is no sign: it is a difference */
    assert_int_equal(o.r[0].verdict, AOT_CHECK_DIFFERS);
    close_fixture(&o);
    o = check_fixture(
        "logs/dropout_default.log.gz",
        "        neg: \"f32[8][1]cpu\" = torch.ops.aten.neg.default(sin_1);  sin_1 = None\n", "",
        NULL);
    assert_int_equal(o.r[0].verdict, AOT_CHECK_LEFT_OUT);
    assert_non_null(
        strstr(o.r[0].reason, "aten.neg.default 1 times, forward and backward together 0"));
    close_fixture(&o);
}

static void an_inference_unit_has_nothing_to_check(void **state)
{
    (void)state;
    opened o = check_fixture("logs/inference_mlp.log.gz", NULL, NULL, NULL);
    assert_int_equal(o.n, 0);
    close_fixture(&o);
}

static void a_forward_without_its_joint_graph_is_left_out(void **state)
{
    (void)state;
    aot_unit *u = aot_unit_new();
    static const char text[] =
        "class GraphModule(torch.nn.Module):\n    def forward(self):\n        return ()\n";
    aot_record r = {.name = "aot_forward_graph",
                    .text = text,
                    .len = sizeof text - 1,
                    .stage = AOT_STAGE_FORWARD};
    aot_vec_push(&u->records, r);
    aot_arena *a = aot_arena_new();
    aot_check_result out[AOT_CHECK_MAX];
    assert_int_equal(aot_check_unit(out, u, NULL, NULL, a), 1);
    assert_int_equal(out[0].verdict, AOT_CHECK_LEFT_OUT);
    assert_non_null(strstr(out[0].reason, "joint graph"));
    aot_arena_free(a);
    aot_unit_free(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_blank_lines_and_trailing_blanks_do_not_count),
        cmocka_unit_test(the_symbol_of_a_generator_state_is_hidden),
        cmocka_unit_test(line_numbers_are_those_of_the_text),
        cmocka_unit_test(what_pytorch_did_is_derived_again),
        cmocka_unit_test(the_first_difference_is_shown_with_both_lines),
        cmocka_unit_test(a_difference_of_another_version_names_it),
        cmocka_unit_test(an_operator_that_the_trace_has_not_is_shown_with_its_line),
        cmocka_unit_test(torch_logs_of_2_11_are_known_by_their_places),
        cmocka_unit_test(what_requires_grad_is_a_guess_without_the_metadata),
        cmocka_unit_test(a_text_that_ends_early_differs),
        cmocka_unit_test(graphs_that_went_through_inductors_passes_are_derived_through_them),
        cmocka_unit_test(graphs_that_other_passes_changed_are_left_out_with_the_sign),
        cmocka_unit_test(a_removed_operator_is_a_sign_of_other_passes),
        cmocka_unit_test(an_inference_unit_has_nothing_to_check),
        cmocka_unit_test(a_forward_without_its_joint_graph_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
