/* The partitioner on small graphs: rules whose result PyTorch 2.11 was asked for, and messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ir/text.h"
#include "partition/partition.h"

typedef struct fixture {
    aot_ctx *c;
    aot_graph *g;
    aot_partition *p;
    aot_err err;
    aot_status status;
} fixture;

#define T4 "\"f32[4, 4][4, 1]cpu\""

/* One primal, one tangent; body and what is returned after the forward's one output. */
static fixture cut(const char *body, const char *outputs, const char *set)
{
    fixture f = {.c = aot_ctx_new()};
    aot_sb text = {0};
    aot_config config;
    aot_sb_addf(&text,
                "class joint(torch.nn.Module):\n    def forward(self, primals, tangents):\n"
                "        primals_1: " T4 "; tangents_1: " T4 "; \n\n"
                "        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], "
                "self._in_spec)\n"
                "%s        return pytree.tree_unflatten([%s], self._out_spec)\n",
                body, outputs);
    aot_config_init(&config);
    if (set != NULL && aot_config_set(&config, set, &f.err) != AOT_OK) {
        fail_msg("%s", f.err.msg);
    }
    f.status = aot_parse_graph(&f.g, f.c, text.d, text.n, 1, &f.err);
    aot_partition_in in = {.joint = f.g, .n_forward_outputs = -1, .n_static_inputs = -1};
    if (f.status == AOT_OK) {
        f.status = aot_partition_run(&f.p, &in, &config, &f.err);
    }
    aot_sb_free(&text);
    return f;
}

static const aot_node_info *info(const fixture *f, const char *name)
{
    aot_node_id id = aot_graph_find(f->p->cut, name);
    return id != AOT_NO_NODE ? &f->p->nodes[id] : NULL;
}

static void must(const fixture *f)
{
    if (f->status != AOT_OK) {
        fail_msg("%s", f->err.msg);
    }
}

#define OP(name, op, args) "        " name ": " T4 " = torch.ops.aten." op "(" args ")\n"
#define BW OP("mul", "mul.Tensor", "tangents_1, cos")

static void equal_computations_merge(void **state)
{
    (void)state;
    fixture f =
        cut(OP("sin", "sin.default", "primals_1") OP("sin_1", "sin.default", "primals_1")
                OP("add", "add.Tensor", "sin, sin_1") OP("cos", "cos.default", "primals_1") BW,
            "add, mul", NULL);
    must(&f);
    assert_non_null(info(&f, "sin"));
    assert_null(info(&f, "sin_1"));
    aot_ctx_free(f.c);
}

static void a_hash_taken_by_another_computation_hides_later_ones(void **state)
{
    (void)state;
    // Python's hash(-1) == hash(-2): the second is not entered, so the third finds no equal
    fixture f = cut("        u: \"f32[4, 4, 1][4, 1, 1]cpu\" = "
                    "torch.ops.aten.unsqueeze.default(primals_1, -1)\n"
                    "        u_1: \"f32[4, 1, 4][4, 4, 1]cpu\" = "
                    "torch.ops.aten.unsqueeze.default(primals_1, -2)\n"
                    "        u_2: \"f32[4, 1, 4][4, 4, 1]cpu\" = "
                    "torch.ops.aten.unsqueeze.default(primals_1, -2)\n"
                    "        u_3: \"f32[4, 4, 1][4, 1, 1]cpu\" = "
                    "torch.ops.aten.unsqueeze.default(primals_1, -1)\n"
                    "        cat = torch.ops.aten.add.Tensor(u, u_1)\n        cat_1 = "
                    "torch.ops.aten.add.Tensor(u_2, u_3)\n" OP("s", "sub.Tensor", "cat, cat_1")
                        OP("cos", "cos.default", "primals_1") BW,
                    "s, mul", NULL);
    must(&f);
    assert_non_null(info(&f, "u_1"));
    assert_non_null(info(&f, "u_2"));
    assert_null(info(&f, "u_3"));
    aot_ctx_free(f.c);
}

static void values_that_share_memory_with_an_output_stay_apart(void **state)
{
    (void)state;
    fixture f = cut(OP("sin", "sin.default", "primals_1") OP("sin_1", "sin.default", "primals_1")
                        OP("t", "t.default", "sin_1") OP("cos", "cos.default", "primals_1") BW,
                    "t, mul", NULL);
    must(&f);
    assert_non_null(info(&f, "sin_1"));
    aot_ctx_free(f.c);
}

static void nan_equals_nothing_and_types_tell_numbers_apart(void **state)
{
    (void)state;
    fixture f =
        cut(OP("a", "mul.Tensor", "primals_1, nan") OP("b", "mul.Tensor", "primals_1, nan")
                OP("c", "mul.Tensor", "primals_1, 1") OP("d", "mul.Tensor", "primals_1, 1.0")
                    OP("e", "add.Tensor", "a, b") OP("g", "add.Tensor", "c, d")
                        OP("h", "add.Tensor", "e, g") OP("cos", "cos.default", "primals_1") BW,
            "h, mul", NULL);
    must(&f);
    assert_non_null(info(&f, "b"));
    assert_non_null(info(&f, "d"));
    aot_ctx_free(f.c);
}

static void dead_values_leave_and_random_ones_too(void **state)
{
    (void)state;
    const char *body =
        OP("exp", "exp.default", "primals_1") OP("rand_like", "rand_like.default", "primals_1")
            OP("sin", "sin.default", "primals_1") OP("cos", "cos.default", "primals_1") BW;
    fixture f = cut(body, "sin, mul", NULL);
    must(&f);
    assert_null(info(&f, "exp"));
    assert_null(info(&f, "rand_like"));
    aot_ctx_free(f.c);
    f = cut(body, "sin, mul", "fallback_random=True"); // drawing would change the stream
    must(&f);
    assert_non_null(info(&f, "rand_like"));
    aot_ctx_free(f.c);
}

static void budget_zero_saves_the_inputs_without_a_cut(void **state)
{
    (void)state;
    fixture f =
        cut(OP("exp", "exp.default", "primals_1") OP("mul", "mul.Tensor", "tangents_1, exp"),
            "exp, mul", "activation_memory_budget=0");
    must(&f);
    assert_int_equal(f.p->n_saved, 1);
    assert_string_equal(aot_node_name(f.p->cut, f.p->saved[0]), "primals_1");
    assert_string_equal(f.p->rung, "inputs only");
    assert_true(f.p->cut_values[0] == -1);
    aot_ctx_free(f.c);
}

static void infinite_cuts_name_both_ends_and_a_remedy(void **state)
{
    (void)state;
    // the mask is to be recomputed, the operator that makes it is not
    fixture f =
        cut("        native_dropout = torch.ops.aten.native_dropout.default(primals_1, 0.5, True)\n"
            "        getitem: " T4 " = native_dropout[0]\n"
            "        # ac_graph_id: 1 - MUST_RECOMPUTE File: m.py:1 in f, code: dropout(x)\n"
            "        getitem_1: \"b8[4, 4][4, 1]cpu\" = native_dropout[1]\n"
            "        # File: m.py:2 in f, code: y\n" OP("m", "mul.Tensor", "tangents_1, getitem_1"),
            "getitem, m", NULL);
    assert_int_equal(f.status, AOT_E_UNBOUNDED);
    static const char *const words[] = {
        "native_dropout",
        "must not be recomputed",
        "is no tensor and cannot be saved",
        "must not be recomputed: not in recomputable allowlist",
        "getitem_1 uses native_dropout; getitem_1 is marked MUST_RECOMPUTE",
        "Remedy: clear MUST_RECOMPUTE on getitem_1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(f.err.msg, words[i]) == NULL) {
            fail_msg("'%s' does not say '%s'", f.err.msg, words[i]);
        }
    }
    aot_ctx_free(f.c);
}

static void an_output_that_needs_a_tangent_is_refused_with_its_path(void **state)
{
    (void)state;
    fixture f = cut(OP("a", "sin.default", "tangents_1") OP("b", "cos.default", "a"), "b, a", NULL);
    assert_int_equal(f.status, AOT_E_GRAPH);
    assert_non_null(strstr(
        f.err.msg, "node b was invalid, but is output 0 of the forward: b <- a <- tangents_1"));
    assert_non_null(strstr(f.err.msg, "; tangents_1 is a tangent, which only the backward has"));
    aot_ctx_free(f.c);
}

static void a_long_path_still_ends_at_its_tangent(void **state)
{
    (void)state;
    enum { LONG = 20 };
    aot_sb body = {0};
    for (int i = 0; i < LONG; i++) {
        char in[20];
        if (i == 0) {
            snprintf(in, sizeof in, "tangents_1");
        } else {
            snprintf(in, sizeof in, "n_%d", i - 1);
        }
        aot_sb_addf(&body, "        n_%d: " T4 " = torch.ops.aten.neg.default(%s)\n", i, in);
    }
    fixture f = cut(aot_sb_text(&body), "n_19, n_0", NULL);
    assert_int_equal(f.status, AOT_E_GRAPH);
    assert_non_null(strstr(f.err.msg, ": n_19 <- n_18 <- "));
    assert_non_null(strstr(f.err.msg, " <- ... <- tangents_1; tangents_1 is a tangent"));
    aot_sb_free(&body);
    aot_ctx_free(f.c);
}

static void a_forward_graph_is_no_joint_graph(void **state)
{
    (void)state;
    fixture f = {.c = aot_ctx_new()};
    const char *text =
        "class G(torch.nn.Module):\n    def forward(self, a, b):\n        return (a,)\n";
    aot_config config;
    aot_config_init(&config);
    assert_int_equal(aot_parse_graph(&f.g, f.c, text, strlen(text), 1, &f.err), AOT_OK);
    aot_partition_in in = {.joint = f.g, .n_forward_outputs = -1, .n_static_inputs = -1};
    assert_int_equal(aot_partition_run(&f.p, &in, &config, &f.err), AOT_E_GRAPH);
    assert_non_null(strstr(f.err.msg, "not a joint graph"));
    aot_ctx_free(f.c);
}

static void a_graph_without_backward_takes_the_default_partitioner(void **state)
{
    (void)state;
    fixture f = {.c = aot_ctx_new()};
    const char *text =
        "class G(torch.nn.Module):\n    def forward(self, primals, tangents):\n        "
        "primals_1: " T4 "; \n\n"
        "        primals_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n" OP(
            "sin", "sin.default",
            "primals_1") "        return pytree.tree_unflatten([sin, None], self._out_spec)\n";
    aot_config config;
    aot_config_init(&config);
    assert_int_equal(aot_parse_graph(&f.g, f.c, text, strlen(text), 1, &f.err), AOT_OK);
    aot_partition_in in = {.joint = f.g, .n_forward_outputs = -1, .n_static_inputs = -1};
    f.status = aot_partition_run(&f.p, &in, &config, &f.err);
    must(&f);
    assert_true(f.p->used_default_partition);
    assert_int_equal(f.p->n_saved, 0);
    assert_int_equal(f.p->forward->nodes.n, 3);
    aot_ctx_free(f.c);
}

/* A very long chain neither overflows a stack nor takes long. */
static void a_chain_of_100000_nodes_is_cut(void **state)
{
    (void)state;
    enum { N = 50000 };
    aot_sb body = {0};
    for (int i = 0; i < N; i++) {
        aot_sb_addf(&body, "        s_%d: " T4 " = torch.ops.aten.sin.default(%s%d)\n", i,
                    i == 0 ? "primals_" : "s_", i == 0 ? 1 : i - 1);
    }
    for (int i = 0; i < N; i++) {
        aot_sb_addf(&body, "        m_%d: " T4 " = torch.ops.aten.mul.Tensor(%s%d, s_%d)\n", i,
                    i == 0 ? "tangents_" : "m_", i == 0 ? 1 : i - 1, N - 1 - i);
    }
    char outputs[64];
    snprintf(outputs, sizeof outputs, "s_%d, m_%d", N - 1, N - 1);
    fixture f = cut(body.d, outputs, NULL);
    must(&f);
    assert_true(f.p->n_saved > 0);
    assert_int_equal(f.p->n_nodes, 2 * N + 3);
    aot_sb_free(&body);
    aot_ctx_free(f.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_computations_merge),
        cmocka_unit_test(a_hash_taken_by_another_computation_hides_later_ones),
        cmocka_unit_test(values_that_share_memory_with_an_output_stay_apart),
        cmocka_unit_test(nan_equals_nothing_and_types_tell_numbers_apart),
        cmocka_unit_test(dead_values_leave_and_random_ones_too),
        cmocka_unit_test(budget_zero_saves_the_inputs_without_a_cut),
        cmocka_unit_test(infinite_cuts_name_both_ends_and_a_remedy),
        cmocka_unit_test(an_output_that_needs_a_tangent_is_refused_with_its_path),
        cmocka_unit_test(a_long_path_still_ends_at_its_tangent),
        cmocka_unit_test(a_forward_graph_is_no_joint_graph),
        cmocka_unit_test(a_graph_without_backward_takes_the_default_partitioner),
        cmocka_unit_test(a_chain_of_100000_nodes_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
