/* TORCH_TRACE logs: records, facts, units and their order. */
#include "collect.h"

#define HEAD(json) "V1129 14:44:12.811000 25371 torch/x.py:1] " json "\n"
#define IDS(frame, compile, attempt) \
    "\"frame_id\": " #frame ", \"frame_compile_id\": " #compile ", \"attempt\": " #attempt
#define GRAPH(name, ids)                                                                           \
    HEAD("{\"" name "\": {}, " ids ", \"has_payload\": \"0\"}")                                    \
    "\tclass G(torch.nn.Module):\n\t    def forward(self, primals_1):\n\t        return "          \
    "(primals_1,)\n"
#define START(ids) HEAD("{\"dynamo_start\": {\"stack\": []}, " ids "}")

static void a_log_of_one_unit_has_all_its_stages_and_facts(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/linear_relu.trace.log");
    assert_int_equal(c.status, AOT_OK);
    assert_int_equal(c.units.n, 1);
    const aot_unit *u = c.units.d[0];
    assert_string_equal(stages(u), "djfb");
    assert_string_equal(label(u), "[0/0]");
    assert_string_equal(u->title, "<lambda> units_corner.py:14");
    assert_string_equal(u->torch_version, "2.11.0+cu130");
    assert_int_equal(u->n_forward_outputs, 1);
    assert_int_equal(u->n_static_inputs, 0);
    assert_true(u->seconds > 4.9 && u->seconds < 5.0);
    assert_true(json_is_true(json_object_get(u->config, "cse")));
    assert_int_equal(u->inputs.n, 3);
    const aot_input_desc *d = &u->inputs.d[1];
    assert_string_equal(d->source, "L['w']");
    assert_string_equal(d->dtype, "torch.float32");
    assert_string_equal(d->device, "cpu");
    assert_string_equal(d->size, "[16, 8]");
    assert_string_equal(d->stride, "[8, 1]");
    assert_int_equal(d->storage_bytes, 512);
    assert_true(d->requires_grad);
    assert_false(u->inputs.d[0].requires_grad);
    assert_int_equal(aot_unit_stage(u, AOT_STAGE_JOINT)->line, 26);
    assert_int_equal(strncmp(aot_unit_stage(u, AOT_STAGE_JOINT)->text, "class inner_f(", 14), 0);
    assert_int_equal(c.stats.graphs, 4);
    assert_int_equal(c.stats.damaged_records, 0);
    assert_true(c.n_progress > 0);
    collect_free(&c);
}

static void payloads_that_were_edited_are_one_note_of_the_unit(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/linear_relu.trace.log"); // its paths were shortened after capture
    const aot_import_note *n = find_unit_note(c.units.d[0], "checksum");
    assert_non_null(n);
    assert_int_equal(n->line, 14);
    assert_int_equal(c.stats.payload_mismatches, 4);
    collect_free(&c);
}

static void a_payload_with_its_sum_is_not_noted(void **state)
{
    (void)state;
    collected c;
    static const char log[] =
        HEAD("{\"dynamo_output_graph\": {}, " IDS(0, 0, 0)
             ", \"has_payload\": \"900150983cd24fb0d6963f7d28e17f72\"}") "\tabc\n";
    collect_text(&c, log, sizeof log - 1);
    assert_int_equal(c.units.n, 1);
    assert_int_equal(c.stats.payload_mismatches, 0);
    assert_int_equal(c.units.d[0]->notes.n, 0);
    assert_string_equal(aot_unit_stage(c.units.d[0], AOT_STAGE_DYNAMO)->text, "abc");
    collect_free(&c);
}

static void symbols_have_their_hints_and_sources(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/dynamic_mlp.log.gz");
    const aot_unit *u = c.units.d[0];
    assert_true(u->symbols.n >= 1);
    assert_string_equal(u->symbols.d[0].name, "s77");
    assert_int_equal(u->symbols.d[0].hint, 5);
    assert_true(u->symbols.d[0].has_hint);
    assert_string_equal(u->symbols.d[0].source, "L['x'].size()[0]");
    assert_string_equal(u->symbols.d[0].range, "[2, int_oo]");
    collect_free(&c);
}

static void a_break_gives_no_unit_and_a_recompile_another_one(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/train_break.log.gz");
    assert_int_equal(c.units.n, 2);
    assert_string_equal(label(c.units.d[0]), "[1/0]");
    assert_string_equal(label(c.units.d[1]), "[1/1]");
    assert_string_equal(stages(c.units.d[1]), "djfb");
    assert_int_equal(c.units.d[1]->n_static_inputs, 6);
    assert_int_equal(c.units.d[1]->symbols.n, 1);
    assert_non_null(find_note(&c, "[0/0] forward raw_train.py:9 made no graph"));
    assert_true(c.n_loose > 0);
    collect_free(&c);
}

static void compiled_autograd_units_take_the_records_logged_before_their_frame(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/compiled_autograd.trace.log.gz");
    assert_int_equal(c.units.n, 3);
    assert_string_equal(label(c.units.d[1]), "[!0/1/0]");
    assert_string_equal(stages(c.units.d[1]), "di");
    assert_non_null(aot_unit_record(c.units.d[1], "compiled_autograd_graph"));
    assert_null(aot_unit_record(c.units.d[0], "compiled_autograd_graph"));
    assert_string_equal(label(c.units.d[2]), "[!1/2/0]");
    collect_free(&c);
}

static void a_folder_is_read_in_rank_order(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/ddp");
    assert_int_equal(c.status, AOT_OK);
    assert_int_equal(c.stats.files, 2);
    assert_int_equal(c.units.n, 2);
    assert_string_equal(label(c.units.d[0]), "[0/0] rank 0");
    assert_string_equal(label(c.units.d[1]), "[0/0] rank 1");
    assert_int_equal(c.units.d[1]->index, 1);
    collect_free(&c);
}

static void a_wrapper_subclass_counts_the_outputs_of_the_graph_inside(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/two_tensor_subclass.trace.log.gz");
    assert_int_equal(c.units.n, 1);
    assert_int_equal(c.units.d[0]->n_forward_outputs, 2); // one TwoTensor
    assert_string_equal(c.units.d[0]->inputs.d[2].source, "L['x']");
    collect_free(&c);
}

static void logs_of_older_and_newer_versions_import(void **state)
{
    (void)state;
    static const char *const files[] = {"logs/torch_2.8.0.trace.log.gz",
                                        "logs/torch_2.15.0.trace.log.gz"};
    for (size_t i = 0; i < 2; i++) {
        collected c;
        collect_file(&c, files[i]);
        assert_int_equal(c.units.n, 2);
        assert_string_equal(stages(c.units.d[0]), "djfb");
        assert_string_equal(stages(c.units.d[1]), "djfb");
        assert_int_equal(c.units.d[0]->n_forward_outputs, 1);
        assert_int_equal(c.stats.damaged_records, 0);
        // 2.8 does not say who wrote it
        assert_string_equal(c.units.d[0]->torch_version, i == 0 ? "" : "2.15.0+cu132");
        collect_free(&c);
    }
}

static void a_start_under_the_same_id_is_another_unit(void **state)
{
    (void)state;
    collected c;
    static const char log[] = START(IDS(0, 0, 0)) GRAPH("dynamo_output_graph", IDS(0, 0, 0))
        START(IDS(0, 0, 0)) GRAPH("dynamo_output_graph", IDS(0, 0, 0));
    collect_text(&c, log, sizeof log - 1);
    assert_int_equal(c.units.n, 2);
    assert_int_equal(c.units.d[1]->key.split, 0);
    collect_free(&c);
}

static void a_second_joint_graph_of_one_compile_shares_inputs_and_symbols(void **state)
{
    (void)state;
    collected c;
    static const char log[] = START(IDS(3, 1, 0)) HEAD(
        "{\"describe_storage\": {\"id\": 0, \"describer_id\": 4, \"size\": 64}, " IDS(3, 1, 0) "}")
        HEAD("{\"describe_tensor\": {\"id\": 0, \"dtype\": \"torch.float32\", \"device\": "
             "\"device(type='cuda', index=1)\", \"size\": [4, 4], \"stride\": [4, 1], \"storage\": "
             "0, "
             "\"storage_offset\": 2, \"is_parameter\": true, \"describer_id\": 4}, " IDS(
                 3, 1, 0) "}") HEAD("{\"describe_source\": {\"describer_id\": 4, \"id\": 0, "
                                    "\"source\": \"L['\\u00e9']\"}, " IDS(3, 1, 0) "}")
            HEAD("{\"create_symbol\": {\"symbol\": \"s0\", \"val\": \"7\"}, " IDS(3, 1, 0) "}")
                GRAPH("dynamo_output_graph", IDS(3, 1, 0)) GRAPH("aot_joint_graph", IDS(3, 1, 0))
                    GRAPH("aot_forward_graph", IDS(3, 1, 0)) GRAPH("aot_joint_graph", IDS(3, 1, 0))
                        GRAPH("aot_forward_graph", IDS(3, 1, 0))
                            GRAPH("aot_backward_graph", IDS(3, 1, 0))
                                GRAPH("aot_backward_graph", IDS(3, 1, 0));
    collect_text(&c, log, sizeof log - 1);
    assert_int_equal(c.units.n, 2);
    assert_string_equal(label(c.units.d[1]), "[3/1] graph 2");
    assert_string_equal(stages(c.units.d[0]), "djfb");
    assert_string_equal(stages(c.units.d[1]), "jfb");
    const aot_input_desc *d = &c.units.d[1]->inputs.d[0];
    assert_string_equal(d->source, "L['\xc3\xa9']");
    assert_string_equal(d->device, "cuda:1");
    assert_int_equal(d->offset, 2);
    assert_int_equal(d->storage_bytes, 64);
    assert_true(d->is_parameter);
    assert_int_equal(c.units.d[1]->symbols.d[0].hint, 7);
    collect_free(&c);
}

static void a_late_backward_graph_joins_its_unit(void **state)
{
    (void)state;
    collected c;
    static const char log[] = START(IDS(0, 0, 0)) GRAPH("aot_joint_graph", IDS(0, 0, 0))
        GRAPH("aot_forward_graph", IDS(0, 0, 0)) START(IDS(1, 0, 0))
        GRAPH("aot_joint_graph", IDS(1, 0, 0)) GRAPH("aot_forward_graph", IDS(1, 0, 0))
        GRAPH("aot_backward_graph", IDS(1, 0, 0)) GRAPH("aot_backward_graph", IDS(0, 0, 0));
    collect_text(&c, log, sizeof log - 1);
    assert_int_equal(c.units.n, 2);
    assert_string_equal(stages(c.units.d[0]), "jfb");
    assert_string_equal(stages(c.units.d[1]), "jfb");
    collect_free(&c);
}

static void ranks_in_one_file_do_not_mix(void **state)
{
    (void)state;
    collected c;
    static const char log[] = GRAPH("aot_joint_graph", IDS(0, 0, 0) ", \"rank\": 0")
        GRAPH("aot_joint_graph", IDS(0, 0, 0) ", \"rank\": 1")
        GRAPH("aot_forward_graph", IDS(0, 0, 0) ", \"rank\": 0")
        GRAPH("aot_forward_graph", IDS(0, 0, 0) ", \"rank\": 1");
    collect_text(&c, log, sizeof log - 1);
    assert_int_equal(c.units.n, 2);
    assert_string_equal(label(c.units.d[0]), "[0/0] rank 0");
    assert_string_equal(stages(c.units.d[0]), "jf");
    assert_string_equal(stages(c.units.d[1]), "jf");
    collect_free(&c);
}

static void memory_stays_bounded_over_many_units(void **state)
{
    (void)state;
    collected c = {0};
    char *log = NULL;
    size_t n;
    FILE *f = open_memstream(&log, &n);
    for (int i = 0; i < 500; i++) {
        fprintf(f, "V1129 14:44:12.811000 1 x.py:1] {\"aot_joint_graph\": {}, \"frame_id\": %d, "
                   "\"frame_compile_id\": 0, \"attempt\": 0, \"has_payload\": \"0\"}\n\tx\n", i);
    }
    fclose(f);
    c.stop_with = AOT_E_RANGE; // ends the import at the first unit that is handed out
    aot_import_sink sink = collect_sink(&c);
    c.status = aot_import_bytes("many", log, n, &sink, &c.stats, &c.err);
    assert_int_equal(c.status, AOT_E_RANGE);
    assert_true(c.stats.records < 100); // long before the input's end
    collect_free(&c);
    collect_text(&c, log, n);
    assert_int_equal(c.units.n, 500);
    for (size_t i = 0; i < 500; i++) {
        assert_int_equal(c.units.d[i]->index, i);
        assert_int_equal(c.units.d[i]->key.frame, i);
    }
    collect_free(&c);
    free(log);
}

static void old_versions_forward_graph_without_primals_is_inference(void **state)
{
    (void)state;
    collected c;
    static const char log[] =
        HEAD("{\"aot_forward_graph\": {}, " IDS(0, 0, 0) ", \"has_payload\": \"0\"}")
        "\tclass <lambda>(torch.nn.Module):\n\t    def forward(self, arg0_1: \"f32[5]\"):\n"
        "\t        return (arg0_1,)\n";
    collect_text(&c, log, sizeof log - 1);
    assert_string_equal(stages(c.units.d[0]), "i");
    collect_free(&c);
}

static void every_missing_stage_has_a_reason(void **state)
{
    (void)state;
    collected c;
    static const char log[] = GRAPH("dynamo_output_graph", IDS(0, 0, 0))
        HEAD("{\"artifact\": {\"name\": \"aotautograd_cache_hit\", \"encoding\": \"json\"}, "
             IDS(0, 0, 0) ", \"has_payload\": \"0\"}") "\t{}\n";
    collect_text(&c, log, sizeof log - 1);
    const aot_unit *u = c.units.d[0];
    assert_string_equal(u->cache, "hit");
    for (int s = 0; s < AOT_N_STAGES; s++) {
        if (aot_unit_stage(u, (aot_stage)s) == NULL) {
            assert_non_null(aot_unit_missing_reason(u, (aot_stage)s));
        }
    }
    assert_non_null(strstr(aot_unit_missing_reason(u, AOT_STAGE_JOINT), "cache"));
    collect_free(&c);
    collect_file(&c, "logs/inference_mlp.log.gz");
    assert_non_null(strstr(aot_unit_missing_reason(c.units.d[0], AOT_STAGE_JOINT), "inference"));
    collect_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_of_one_unit_has_all_its_stages_and_facts),
        cmocka_unit_test(payloads_that_were_edited_are_one_note_of_the_unit),
        cmocka_unit_test(a_payload_with_its_sum_is_not_noted),
        cmocka_unit_test(symbols_have_their_hints_and_sources),
        cmocka_unit_test(a_break_gives_no_unit_and_a_recompile_another_one),
        cmocka_unit_test(compiled_autograd_units_take_the_records_logged_before_their_frame),
        cmocka_unit_test(a_folder_is_read_in_rank_order),
        cmocka_unit_test(a_wrapper_subclass_counts_the_outputs_of_the_graph_inside),
        cmocka_unit_test(logs_of_older_and_newer_versions_import),
        cmocka_unit_test(a_start_under_the_same_id_is_another_unit),
        cmocka_unit_test(a_second_joint_graph_of_one_compile_shares_inputs_and_symbols),
        cmocka_unit_test(a_late_backward_graph_joins_its_unit),
        cmocka_unit_test(ranks_in_one_file_do_not_mix),
        cmocka_unit_test(memory_stays_bounded_over_many_units),
        cmocka_unit_test(old_versions_forward_graph_without_primals_is_inference),
        cmocka_unit_test(every_missing_stage_has_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
