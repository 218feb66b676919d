/* Bytes and outputs of values that have no printed type, in small graphs as PyTorch prints them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ir/text.h"
#include "rules/rules.h"
#include "rules/sizes.h"

static aot_ctx *ctx;
static const aot_graph *graph;

static int set_up(void **state)
{
    (void)state;
    ctx = aot_ctx_new();
    aot_ctx_set_hint(ctx, "s77", 5);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    aot_ctx_free(ctx);
    return 0;
}

/* Parses a module with these parameters and statements; rest follows the return (submodules). */
static void read_graph(const char *params, const char *body, const char *rest)
{
    aot_sb text = {0};
    aot_err err = {0};
    aot_graph *g = NULL;
    aot_sb_addf(
        &text,
        "class <lambda>(torch.nn.Module):\n    def forward(self, %s):\n%s        return ()\n%s",
        params, body, rest);
    if (aot_parse_graph(&g, ctx, aot_sb_text(&text), text.n, 1, &err) != AOT_OK) {
        fail_msg("line %u: %s", err.at.line, err.msg);
    }
    aot_sb_free(&text);
    graph = g;
}

static aot_node_id node(const char *name)
{
    aot_node_id id = aot_graph_find(graph, name);
    assert_int_not_equal(id, AOT_NO_NODE);
    return id;
}

static void expect_bytes(const char *name, int64_t bytes)
{
    int64_t got = aot_node_bytes(graph, node(name));
    if (got != bytes) {
        fail_msg("%s: %lld bytes, not %lld", name, (long long)got, (long long)bytes);
    }
}

/* The outputs of node x as "f32[2, 3] None i64[]". */
static void expect_outputs(const char *want)
{
    aot_out_type t[32];
    unsigned n = aot_node_outputs(graph, node("x"), t, 32);
    aot_sb got = {0};
    assert_true(n <= 32);
    for (unsigned i = 0; i < n; i++) {
        aot_sb_addz(&got, i > 0 ? " " : "");
        if (t[i].val != AOT_VAL_TENSOR) {
            aot_sb_addz(&got, "None");
            continue;
        }
        aot_sb_addf(&got, "%s[", aot_dtype_get(t[i].dtype)->abbr);
        for (unsigned d = 0; d < t[i].ndim; d++) {
            aot_sb_addz(&got, d > 0 ? ", " : "");
            if (t[i].sizes[d] == AOT_HINT_NONE) {
                aot_sb_addc(&got, '?');
            } else {
                aot_sb_add_i64(&got, t[i].sizes[d]);
            }
        }
        aot_sb_addc(&got, ']');
    }
    assert_string_equal(aot_sb_text(&got), want);
    aot_sb_free(&got);
}

/* The outputs of one call on these parameters. */
static void expect_call(const char *params, const char *call, const char *want)
{
    char body[512];
    snprintf(body, sizeof body, "        x = torch.ops.%s\n", call);
    read_graph(params, body, "");
    expect_outputs(want);
}

static void outputs_that_nobody_takes_count(void **state)
{
    (void)state;
    const char *params = "a: \"f32[8, 16][16, 1]cpu\", w: \"f32[16][1]cpu\"";
    const char *body =
        "        x = torch.ops.aten.native_layer_norm.default(a, [16], w, w, 1e-05)\n"
        "        y: \"f32[8, 16][16, 1]cpu\" = x[0];  x = None\n";
    read_graph(params, body, "");
    expect_bytes("x", 4 * (8 * 16 + 8 + 8));
    expect_bytes("y", 4 * 8 * 16);
    expect_outputs("f32[8, 16] f32[8, 1] f32[8, 1]");
    aot_graph_link((aot_graph *)graph); /* the same by way of users */
    expect_bytes("x", 4 * (8 * 16 + 8 + 8));
}

static void what_a_getitem_prints_overrules_the_rule(void **state)
{
    (void)state;
    read_graph("a: \"f32[8, 16][16, 1]cuda:0\"",
               "        x = torch.ops.aten.native_dropout.default(a, 0.5, True)\n"
               "        y: \"u8[9][1]cuda:0\" = x[1];  x = None\n",
               "");
    expect_outputs("f32[8, 16] u8[9]");
}

static void an_unknown_operator_has_what_getitems_take(void **state)
{
    (void)state;
    read_graph("a: \"f32[8][1]cpu\"",
               "        x = torch.ops.mine.two.default(a)\n"
               "        y: \"f32[3][1]cpu\" = x[2];  x = None\n"
               "        z = torch.ops.mine.two.default(a)\n",
               "");
    expect_outputs("None None f32[3]");
    expect_bytes("x", 12);
    expect_bytes("z", 0);
}

static void plain_values_have_their_printed_size(void **state)
{
    (void)state;
    read_graph("a: \"bf16[3, 5][5, 1]cpu\", s77: \"Sym(s77)\", u: \"f32[u0, 2][2, 1]cpu\", d: "
               "\"f32[s77, 2][2, 1]cpu\"",
               "        _tensor_constant0: \"i64[3][1]cpu\" = self._tensor_constant0\n"
               "        true_graph_0 = self.true_graph_0\n"
               "        x: \"f32[0][1]cpu\" = torch.ops.aten.mm.default(a, a)\n",
               "");
    expect_bytes("a", 30);
    expect_bytes("s77", 1);
    expect_bytes("u", 4096 * 2 * 4);
    expect_bytes("d", 5 * 2 * 4);
    expect_bytes("_tensor_constant0", 24);
    expect_bytes("true_graph_0", 0);
    expect_bytes("x", 0);
    expect_outputs("f32[0]");
}

static void symbols_in_a_tuple_count_nothing(void **state)
{
    (void)state;
    read_graph("a: \"f32[8][1]cpu\"",
               "        x = torch.ops.mine.two.default(a)\n"
               "        y: \"Sym(s77)\" = x[0]\n"
               "        z: \"f32[3][1]cpu\" = x[1];  x = None\n",
               "");
    expect_bytes("x", 12);
    expect_bytes("y", 1);
}

static void pieces_along_a_dimension(void **state)
{
    (void)state;
    const char *a =
        "a: \"f32[2, 7][7, 1]cpu\", d: \"f32[s77, 2][2, 1]cpu\", u: \"f32[u0, 2][2, 1]cpu\"";
    expect_call(a, "aten.split.Tensor(a, 3, -1)", "f32[2, 3] f32[2, 3] f32[2, 1]");
    expect_call(a, "aten.split.Tensor(a, 2)", "f32[2, 7]");
    expect_call(a, "aten.split_with_sizes.default(a, [5, 2], 1)", "f32[2, 5] f32[2, 2]");
    expect_call(a, "aten.unbind.int(d)", "f32[2] f32[2] f32[2] f32[2] f32[2]");
    expect_call(a, "aten.unbind.int(u)", "");
    expect_call(a, "aten.unsafe_chunk.default(a, 3, 1)", "f32[2, 3] f32[2, 3] f32[2, 1]");
}

static void a_split_by_a_broken_size_gives_nothing(void **state)
{
    (void)state;
    const char *a = "a: \"f32[2, 7][7, 1]cpu\", big: \"f32[99999999999, 1][1, 1]cpu\"";
    expect_call(a, "aten.split.Tensor(a, 0, 1)", "");
    expect_call(a, "aten.split.Tensor(a, 3, 9)", "");
    expect_call(a, "aten.split.Tensor(a, -2, 1)", "");
    expect_call(a, "aten.unbind.int(big)", "");
    expect_call(a, "aten.unbind.int()", "");
}

static void values_and_indices(void **state)
{
    (void)state;
    const char *a = "a: \"bf16[2, 7][7, 1]cpu\", s: \"f32[][]cpu\"";
    expect_call(a, "aten.max.dim(a, 1)", "bf16[2] i64[2]");
    expect_call(a, "aten.min.dim(a, 0, True)", "bf16[1, 7] i64[1, 7]");
    expect_call(a, "aten.max.dim(s, 0)", "f32[] i64[]");
    expect_call(a, "aten.topk.default(a, 3)", "bf16[2, 3] i64[2, 3]");
    expect_call(a, "aten.kthvalue.default(a, 3, 0)", "bf16[7] i64[7]");
    expect_call(a, "aten.sort.stable(a, stable = True)", "bf16[2, 7] i64[2, 7]");
    expect_call(a, "aten.aminmax.default(a, dim = 1, keepdim = True)", "bf16[2, 1] bf16[2, 1]");
    expect_call(a, "aten.aminmax.default(a)", "bf16[] bf16[]");
    expect_call(a, "aten._unique2.default(a, True, True)", "bf16[?] i64[2, 7] i64[0]");
}

static void variance_and_mean_over_dimensions(void **state)
{
    (void)state;
    const char *a = "a: \"f32[2, 3, 4][12, 4, 1]cpu\", c: \"c64[2, 3][3, 1]cpu\"";
    expect_call(a, "aten.var_mean.correction(a, [0, -1], correction = 0, keepdim = True)",
                "f32[1, 3, 1] f32[1, 3, 1]");
    expect_call(a, "aten.var_mean.correction(a, [0, -1], correction = 0)", "f32[3] f32[3]");
    expect_call(a, "aten.std_mean.correction(a)", "f32[] f32[]");
    expect_call(a, "aten.var_mean.correction(c, [1])", "f32[2] c64[2]");
}

static void batch_norm_keeps_statistics_when_training(void **state)
{
    (void)state;
    const char *a = "a: \"f32[2, 3, 4, 4][48, 16, 4, 1]cpu\", w: \"f32[3][1]cpu\"";
    expect_call(a, "aten.native_batch_norm.default(a, w, w, w, w, True, 0.1, 1e-05)",
                "f32[2, 3, 4, 4] f32[3] f32[3]");
    expect_call(a, "aten.native_batch_norm.default(a, w, w, w, w, False, 0.1, 1e-05)",
                "f32[2, 3, 4, 4] f32[0] f32[0]");
    expect_call(a,
                "aten._native_batch_norm_legit_functional.default(a, w, w, w, w, True, 0.1, 1e-05)",
                "f32[2, 3, 4, 4] f32[3] f32[3] f32[3] f32[3]");
    expect_call(a,
                "aten.native_batch_norm_backward.default(a, a, w, w, w, w, w, True, 1e-05, [True, "
                "False, True])",
                "f32[2, 3, 4, 4] None f32[3]");
    expect_call(a, "aten.native_group_norm.default(a, None, None, 2, 3, 16, 1, 1e-05)",
                "f32[2, 3, 4, 4] f32[2, 1] f32[2, 1]");
}

static void half_types_on_cuda_keep_statistics_in_f32(void **state)
{
    (void)state;
    expect_call("a: \"bf16[8, 16][16, 1]cuda:0\"",
                "aten.native_layer_norm.default(a, [16], None, None, 1e-05)",
                "bf16[8, 16] f32[8, 1] f32[8, 1]");
    expect_call("a: \"bf16[8, 16][16, 1]cpu\"",
                "aten.native_layer_norm.default(a, [16], None, None, 1e-05)",
                "bf16[8, 16] bf16[8, 1] bf16[8, 1]");
}

static void convolution_gradients_follow_the_mask(void **state)
{
    (void)state;
    const char *a =
        "g: \"f32[2, 5, 4, 4][80, 16, 4, 1]cpu\", a: \"f32[2, 3, 6, 6][108, 36, 6, 1]cpu\", "
        "w: \"f32[5, 3, 3, 3][27, 9, 3, 1]cpu\"";
    const char *call = "aten.convolution_backward.default(g, a, w, [5], [1, 1], [0, 0], [1, 1], "
                       "False, [0, 0], 1, [%s])";
    char text[256];
    snprintf(text, sizeof text, call, "True, True, True");
    expect_call(a, text, "f32[2, 3, 6, 6] f32[5, 3, 3, 3] f32[5]");
    snprintf(text, sizeof text, call, "False, True, False");
    expect_call(a, text, "None f32[5, 3, 3, 3] None");
}

static void pooling_rounds_as_it_is_told(void **state)
{
    (void)state;
    const char *a = "a: \"f32[2, 3, 7, 8][168, 56, 8, 1]cpu\"";
    expect_call(a, "aten.max_pool2d_with_indices.default(a, [2, 2])",
                "f32[2, 3, 3, 4] i64[2, 3, 3, 4]");
    expect_call(a, "aten.max_pool2d_with_indices.default(a, [2, 2], [2, 2], [0, 0], [1, 1], True)",
                "f32[2, 3, 4, 4] i64[2, 3, 4, 4]");
    expect_call(a, "aten.max_pool2d_with_indices.default(a, [3, 3], [2, 2], [1, 1])",
                "f32[2, 3, 4, 4] i64[2, 3, 4, 4]");
    expect_call(
        a,
        "prims._low_memory_max_pool_with_offsets.default(a, [3, 3], [2, 2], [1, 1], [1, 1], False)",
        "f32[2, 3, 4, 4] i8[2, 3, 4, 4]");
    expect_call(a, "aten.adaptive_max_pool2d.default(a, [2, 1])",
                "f32[2, 3, 2, 1] i64[2, 3, 2, 1]");
}

static void attention_keeps_a_number_for_each_row(void **state)
{
    (void)state;
    const char *a = "q: \"bf16[2, 4, 10, 8][320, 80, 8, 1]cpu\"";
    expect_call(a, "aten._scaled_dot_product_flash_attention_for_cpu.default(q, q, q)",
                "bf16[2, 4, 10, 8] f32[2, 4, 10]");
    expect_call("q: \"bf16[2, 4, 10, 8][320, 80, 8, 1]cuda:0\"",
                "aten._scaled_dot_product_efficient_attention.default(q, q, q, None, True)",
                "bf16[2, 4, 10, 8] f32[2, 4, 32] i64[] i64[]");
}

static void decompositions_of_matrices(void **state)
{
    (void)state;
    const char *a =
        "a: \"f32[2, 5, 3][15, 3, 1]cpu\", m: \"f32[3, 3][3, 1]cpu\", b: \"f32[3, 4][4, 1]cpu\"";
    expect_call(a, "aten._linalg_svd.default(a)", "f32[2, 5, 3] f32[2, 3] f32[2, 3, 3]");
    expect_call(a, "aten._linalg_svd.default(a, True)", "f32[2, 5, 5] f32[2, 3] f32[2, 3, 3]");
    expect_call(a, "aten.linalg_qr.default(a, 'complete')", "f32[2, 5, 5] f32[2, 5, 3]");
    expect_call(a, "aten._linalg_slogdet.default(m)", "f32[] f32[] f32[3, 3] i32[3]");
    expect_call(a, "aten._linalg_solve_ex.default(m, b)", "f32[3, 4] f32[3, 3] i32[3] i32[]");
}

static void lists_of_tensors_are_mapped(void **state)
{
    (void)state;
    const char *a = "a: \"f32[2][1]cpu\", b: \"f32[3][1]cpu\"";
    expect_call(a, "aten._foreach_add.Scalar([a, b], 1)", "f32[2] f32[3]");
    expect_call(a, "aten._foreach_norm.Scalar([a, b], 2)", "f32[] f32[]");
    expect_call(a, "_c10d_functional.all_gather_into_tensor_coalesced.default([a, b], 4, '0')",
                "f32[8] f32[12]");
}

static void state_and_result_of_a_random_operator(void **state)
{
    (void)state;
    read_graph("a: \"f32[8, 16][16, 1]cpu\"",
               "        x = "
               "torch.ops.higher_order.run_and_save_rng_state(torch.ops.aten.native_dropout."
               "default, a, 0.3, True)\n"
               "        state: \"u8[5056][1]cpu\" = x[0]\n"
               "        pair = x[1];  x = None\n"
               "        again = torch.ops.higher_order.run_with_rng_state(state, "
               "torch.ops.aten.native_dropout.default, a, 0.3, True)\n",
               "");
    expect_outputs("u8[5056] None");
    expect_bytes("x", 5056);
    expect_bytes("pair", 8 * 16 * 5);
    expect_bytes("again", 8 * 16 * 5);
}

static void a_branch_gives_what_its_subgraph_returns(void **state)
{
    (void)state;
    read_graph("p: \"b8[][]cpu\", a: \"f32[5, 3][3, 1]cpu\"",
               "        true_graph_0 = self.true_graph_0\n"
               "        x = torch.ops.higher_order.cond(p, true_graph_0, true_graph_0, (a,))\n",
               "\n    class true_graph_0(torch.nn.Module):\n"
               "        def forward(self, arg0_1: \"f32[5, 3][3, 1]cpu\"):\n"
               "            sin: \"f32[5, 3][3, 1]cpu\" = torch.ops.aten.sin.default(arg0_1)\n"
               "            return (sin, None)\n");
    expect_outputs("f32[5, 3] None");
    expect_bytes("x", 60);
}

static void rules_survive_any_arguments(void **state)
{
    (void)state;
    static const char *const args[] = {"",
                                       "a",
                                       "None, None, None, None",
                                       "a, [], [], [], []",
                                       "a, 'x', a, 1.5, None",
                                       "[a], [a], [None]",
                                       "s, -1, -1, s, s",
                                       "a, a, a, a, a, a, a, a, a, a, [True]",
                                       "s, s, s, s, s, s, s, s, s, s, []",
                                       "a, 9223372036854775807, 9223372036854775807"};
    for (size_t i = 1; i < aot_op_count(); i++) {
        if (!aot_rules_of((aot_op_id)i)->outs || strchr(aot_op((aot_op_id)i)->name, '.') == NULL) {
            continue;
        }
        for (size_t k = 0; k < sizeof args / sizeof args[0]; k++) {
            char body[512];
            const char *name = aot_op((aot_op_id)i)->name;
            snprintf(body, sizeof body, "        x = %s%s(%s)\n",
                     aot_starts_with(name, "operator.") ? "" : "torch.ops.", name, args[k]);
            read_graph("a: \"f32[9223372036854775807, 3][3, 1]cpu\", s: \"f32[][]cpu\"", body, "");
            assert_true(aot_node_bytes(graph, node("x")) >= 0);
        }
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(outputs_that_nobody_takes_count),
        TEST(what_a_getitem_prints_overrules_the_rule),
        TEST(an_unknown_operator_has_what_getitems_take),
        TEST(plain_values_have_their_printed_size),
        TEST(symbols_in_a_tuple_count_nothing),
        TEST(pieces_along_a_dimension),
        TEST(a_split_by_a_broken_size_gives_nothing),
        TEST(values_and_indices),
        TEST(variance_and_mean_over_dimensions),
        TEST(batch_norm_keeps_statistics_when_training),
        TEST(half_types_on_cuda_keep_statistics_in_f32),
        TEST(convolution_gradients_follow_the_mask),
        TEST(pooling_rounds_as_it_is_told),
        TEST(attention_keeps_a_number_for_each_row),
        TEST(decompositions_of_matrices),
        TEST(lists_of_tensors_are_mapped),
        TEST(state_and_result_of_a_random_operator),
        TEST(a_branch_gives_what_its_subgraph_returns),
        TEST(rules_survive_any_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
