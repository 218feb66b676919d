/* The model: units from logs and sessions alike, stages with reasons, graphs and partitions on
 * demand. */
#include "fixture.h"

#include "session/derive.h"
#include "ir/text.h"
#include "session/model.h"
#include "session/saved.h"

static aot_model *open_one(const char *input, const aot_model_options *opt)
{
    aot_model *m = NULL;
    aot_err err = {0};
    if (aot_model_open(&m, &input, 1, opt, &err) != AOT_OK) {
        fail_msg("%s: %s", input, err.msg);
    }
    return m;
}

static void stages_are_recorded_derived_or_missing_with_a_reason(void **state)
{
    (void)state;
    aot_model *m = open_one(fixture("logs/dropout_default.log.gz"), NULL);
    assert_int_equal(aot_model_n_units(m), 1);
    assert_int_equal(aot_model_stage(m, 0, AOT_STAGE_JOINT).origin, AOT_ORIGIN_RECORDED);
    assert_int_equal(aot_model_stage(m, 0, AOT_STAGE_JOINT_CSE).origin, AOT_ORIGIN_DERIVED);
    assert_int_equal(aot_model_stage(m, 0, AOT_STAGE_ATEN).origin, AOT_ORIGIN_DERIVED);
    const aot_graph *g = NULL;
    aot_err err = {0};
    assert_int_equal(aot_model_graph(m, 0, AOT_STAGE_ATEN, &g, &err), AOT_OK);
    assert_true(g->nodes.n > 3);
    aot_stage_status inference = aot_model_stage(m, 0, AOT_STAGE_INFERENCE);
    assert_int_equal(inference.origin, AOT_ORIGIN_MISSING);
    assert_true(strlen(inference.reason) > 10);
    assert_int_equal(aot_model_graph(m, 0, AOT_STAGE_INFERENCE, &g, &err), AOT_E_PIPELINE);
    assert_non_null(strstr(err.msg, inference.reason));
    aot_model_free(m);
}

static void a_graph_is_parsed_once_and_kept(void **state)
{
    (void)state;
    aot_model *m = open_one(fixture("logs/dropout_default.log.gz"), NULL);
    const aot_graph *a = NULL, *b = NULL;
    assert_int_equal(aot_model_stage(m, 0, AOT_STAGE_FORWARD).n_nodes, 0);
    assert_int_equal(aot_model_graph(m, 0, AOT_STAGE_FORWARD, &a, NULL), AOT_OK);
    assert_int_equal(aot_model_graph(m, 0, AOT_STAGE_FORWARD, &b, NULL), AOT_OK);
    assert_ptr_equal(a, b);
    assert_int_equal(aot_model_stage(m, 0, AOT_STAGE_FORWARD).n_nodes, 10);
    aot_model_free(m);
}

static void the_saved_values_come_in_pytorchs_order_with_reasons(void **state)
{
    (void)state;
    aot_model *m = open_one(fixture("logs/dropout_default.log.gz"), NULL);
    const aot_partition *p = NULL;
    assert_int_equal(aot_model_partition(m, 0, &p, NULL), AOT_OK);
    aot_arena *a = aot_arena_new();
    aot_saved_row *rows = NULL;
    assert_int_equal(aot_saved_rows(&rows, p, a), 3);
    assert_string_equal(rows[0].name, "primals_1");
    assert_string_equal(rows[1].name, "getitem_1");
    assert_string_equal(rows[1].type, "b8[8]");
    assert_int_equal(rows[1].bytes, 8);
    assert_int_equal(rows[1].line, 16);
    assert_string_equal(rows[1].used_by, "native_dropout_backward");
    assert_non_null(strstr(rows[1].reason, "native_dropout cannot be recomputed"));
    assert_int_equal(rows[1].primal, AOT_NO_NODE);
    assert_int_equal(rows[0].primal, rows[0].node);
    assert_string_equal(rows[2].name, "neg");
    aot_arena_free(a);
    aot_model_free(m);
}

static void settings_given_replace_the_recorded_ones(void **state)
{
    (void)state;
    const char *settings[] = {"activation_memory_budget=0"};
    aot_model_options opt = {.settings = settings, .n_settings = 1};
    aot_model *m = open_one(fixture("logs/dropout_default.log.gz"), &opt);
    const aot_partition *p = NULL;
    assert_int_equal(aot_model_partition(m, 0, &p, NULL), AOT_OK);
    assert_int_equal(p->n_saved, 1);
    /* the recorded forward was cut under other settings, so it is not what these give */
    assert_int_equal(aot_model_stage(m, 0, AOT_STAGE_FORWARD).origin, AOT_ORIGIN_DERIVED);
    const aot_graph *g = NULL;
    assert_int_equal(aot_model_graph(m, 0, AOT_STAGE_FORWARD, &g, NULL), AOT_OK);
    assert_ptr_equal(g, p->forward);
    aot_model_free(m);
}

static void a_wrong_setting_is_an_error_before_anything_is_read(void **state)
{
    (void)state;
    const char *settings[] = {"cse=maybe"}, *input = "no such file";
    aot_model_options opt = {.settings = settings, .n_settings = 1};
    aot_model *m = NULL;
    aot_err err = {0};
    assert_int_equal(aot_model_open(&m, &input, 1, &opt, &err), AOT_E_USAGE);
    assert_non_null(strstr(err.msg, "cse"));
}

static void several_inputs_are_one_list_of_units(void **state)
{
    (void)state;
    char a[512], b[512];
    snprintf(a, sizeof a, "%s", fixture("logs/ddp_rank_0.log.gz"));
    snprintf(b, sizeof b, "%s", fixture("logs/ddp_rank_1.log.gz"));
    const char *inputs[] = {a, b};
    aot_model *m = NULL;
    assert_int_equal(aot_model_open(&m, inputs, 2, NULL, NULL), AOT_OK);
    assert_int_equal(aot_model_n_units(m), 2);
    assert_int_equal(aot_model_n_files(m), 2);
    assert_int_equal(aot_model_unit(m, 0)->key.rank, 0);
    assert_int_equal(aot_model_unit(m, 1)->key.rank, 1);
    aot_model_free(m);
}

static void a_session_shows_the_same_as_its_log(void **state)
{
    (void)state;
    char path[600];
    const char *dir = scratch_dir();
    snprintf(path, sizeof path, "%s/s.aots", dir);
    aot_model_options opt = {.session_path = path};
    aot_model *log = open_one(fixture("logs/train_break.log.gz"), NULL);
    aot_model *recorded = open_one(fixture("logs/train_break.log.gz"), &opt);
    aot_model *session = open_one(path, NULL);
    assert_int_equal(aot_model_n_units(log), 2);
    assert_int_equal(aot_model_n_units(recorded), 2);
    assert_int_equal(aot_model_n_units(session), 2);
    for (size_t i = 0; i < 2; i++) {
        char line[512];
        snprintf(line, sizeof line, "%s", aot_model_unit_line(log, i));
        assert_non_null(strstr(line, "saved"));
        assert_string_equal(line, aot_model_unit_line(session, i));
        const aot_unit *u = aot_model_unit(log, i), *v = aot_model_unit(session, i);
        assert_int_equal(u->records.n, v->records.n);
        assert_int_equal(u->inputs.n, v->inputs.n);
        assert_int_equal(u->n_static_inputs, v->n_static_inputs);
        for (int s = 0; s < AOT_N_STAGES; s++) {
            assert_int_equal(aot_model_stage(log, i, (aot_stage)s).origin,
                             aot_model_stage(session, i, (aot_stage)s).origin);
        }
    }
    assert_int_equal(aot_model_n_notes(log), aot_model_n_notes(session));
    aot_model_free(log);
    aot_model_free(recorded);
    aot_model_free(session);
    unlink(path);
    rmdir(dir);
}

static void parameters_are_static_inputs(void **state)
{
    (void)state;
    aot_model *m = open_one(fixture("logs/dynamic_mlp.log.gz"), NULL);
    const aot_graph *joint = NULL;
    aot_partition_in in;
    assert_int_equal(aot_model_graph(m, 0, AOT_STAGE_JOINT, &joint, NULL), AOT_OK);
    aot_partition_inputs(&in, aot_model_unit(m, 0), joint);
    assert_true(in.n_static_inputs > 0);
    assert_null(in.primal_storage); /* nothing is shared */
    aot_model_free(m);
}

/* Two inputs of one storage, one of its own, and one that Dynamo did not describe. */
static void inputs_that_share_memory_are_found_by_their_sources(void **state)
{
    (void)state;
    static const char dynamo[] =
        "class GraphModule(torch.nn.Module):\n"
        "    def forward(self, L_x_: \"f32[4]\", L_m_parameters_w_: \"f32[4]\", "
        "L_y_0_: \"f32[4]\", L_z_: \"f32[4]\"):\n"
        "        return (L_x_,)\n";
    static const char joint[] =
        "class joint(torch.nn.Module):\n"
        "    def forward(self, primals, tangents):\n"
        "        primals_1: \"f32[4]\"; primals_2: \"f32[4]\"; primals_3: \"f32[4]\"; primals_4: "
        "\"f32[4]\"; "
        "tangents_1: \"f32[4]\"; \n"
        "\n"
        "        primals_1, primals_2, primals_3, primals_4, tangents_1, = "
        "fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n"
        "        neg: \"f32[4]\" = torch.ops.aten.neg.default(primals_1);  primals_1 = None\n"
        "        neg_1: \"f32[4]\" = torch.ops.aten.neg.default(tangents_1);  tangents_1 = None\n"
        "        return pytree.tree_unflatten([neg, neg_1, None, None, None], self._out_spec)\n";
    aot_unit *u = aot_unit_new();
    aot_record r = {.name = "dynamo_output_graph",
                    .text = dynamo,
                    .len = sizeof dynamo - 1,
                    .stage = AOT_STAGE_DYNAMO};
    aot_vec_push(&u->records, r);
    const aot_input_desc d[] = {{.source = "L['x']", .describer = 1, .storage = 4},
                                {.source = "L['m']._parameters['w']", .describer = 1, .storage = 9},
                                {.source = "L['y'][0]", .describer = 1, .storage = 4},
                                {.source = "L['other']", .describer = 2, .storage = 4}};
    for (size_t i = 0; i < 4; i++) {
        aot_vec_push(&u->inputs, d[i]);
    }
    aot_ctx *c = aot_unit_new_ctx(u);
    aot_graph *g = NULL;
    aot_err err = {0};
    if (aot_parse_graph(&g, c, joint, sizeof joint - 1, 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_partition_in in;
    aot_partition_inputs(&in, u, g);
    assert_int_equal(in.n_primal_storage, 4);
    assert_int_equal(in.primal_storage[0], in.primal_storage[2]);
    assert_int_not_equal(in.primal_storage[0], in.primal_storage[1]);
    assert_int_not_equal(in.primal_storage[0], in.primal_storage[3]);
    assert_int_not_equal(in.primal_storage[1], in.primal_storage[3]);
    aot_ctx_free(c);
    aot_unit_free(u);
}

static void bytes_are_written_for_people(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(aot_bytes_text(0, b, sizeof b), "0 B");
    assert_string_equal(aot_bytes_text(1023, b, sizeof b), "1023 B");
    assert_string_equal(aot_bytes_text(32768, b, sizeof b), "32.0 KiB");
    assert_string_equal(aot_bytes_text(1374389, b, sizeof b), "1.31 MiB");
}

/* A module may be a local variable, an argument, a global or what a closure holds. */
static void the_path_of_a_parameter_does_not_ask_what_holds_its_module(void **state)
{
    (void)state;
    static const struct {
        const char *source, *path, *kind;
    } cases[] = {
        {"L['self']._modules['l']._modules['0']._parameters['weight']", "l.0.weight", "PARAMETER"},
        {"L['args'][0]._modules['l']._buffers['mean']", "l.mean", "BUFFER"},
        {"G['nets']['a']._modules['l.0']._parameters['w']", "l.0.w", "PARAMETER"},
        {"L['fn'].__closure__[1].cell_contents._parameters['w']", "w", "PARAMETER"},
        {"L['args'][0]._modules['l']", NULL, NULL},
        {"L['self']._modules['l'].scale", NULL, NULL},
        {"L['x']", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aot_sb path = {0};
        const char *kind = aot_source_path(&path, cases[i].source);
        assert_true((kind == NULL) == (cases[i].kind == NULL));
        if (kind != NULL) {
            assert_string_equal(kind, cases[i].kind);
            assert_string_equal(aot_sb_text(&path), cases[i].path);
        }
        aot_sb_free(&path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_are_recorded_derived_or_missing_with_a_reason),
        cmocka_unit_test(a_graph_is_parsed_once_and_kept),
        cmocka_unit_test(the_saved_values_come_in_pytorchs_order_with_reasons),
        cmocka_unit_test(settings_given_replace_the_recorded_ones),
        cmocka_unit_test(a_wrong_setting_is_an_error_before_anything_is_read),
        cmocka_unit_test(several_inputs_are_one_list_of_units),
        cmocka_unit_test(a_session_shows_the_same_as_its_log),
        cmocka_unit_test(parameters_are_static_inputs),
        cmocka_unit_test(inputs_that_share_memory_are_found_by_their_sources),
        cmocka_unit_test(the_path_of_a_parameter_does_not_ask_what_holds_its_module),
        cmocka_unit_test(bytes_are_written_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
