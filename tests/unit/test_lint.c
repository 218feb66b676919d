/* Each rule of lint on a small graph that breaks it, and on one that does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/text.h"
#include "lint/lint.h"

#define T "\"f32[4, 4][4, 1]cpu\""
#define OP(name, call) "        " name ": " T " = torch.ops.aten." call "\n"

typedef struct fixture {
    aot_ctx *c;
    aot_partition *p;
    aot_findings found;
} fixture;

static fixture lint(const char *body, const char *outputs, const char *set, const int *statics,
                    int n_statics)
{
    fixture f = {.c = aot_ctx_new()};
    aot_sb text = {0};
    aot_config config;
    aot_graph *g = NULL;
    aot_err err = {0};
    aot_sb_addf(&text,
                "class joint(torch.nn.Module):\n    def forward(self, primals, tangents):\n"
                "        primals_1: " T "; primals_2: " T "; tangents_1: " T "; \n\n"
                "        primals_1, primals_2, tangents_1, = fx_pytree.tree_flatten_spec([primals, "
                "tangents], self._in_spec)\n"
                "%s        return pytree.tree_unflatten([%s], self._out_spec)\n",
                body, outputs);
    aot_config_init(&config);
    if ((set != NULL && aot_config_set(&config, set, &err) != AOT_OK) ||
        aot_parse_graph(&g, f.c, text.d, text.n, 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_partition_in in = {
        .joint = g, .n_forward_outputs = 1, .static_inputs = statics, .n_static_inputs = n_statics};
    if (aot_partition_run(&f.p, &in, &config, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_lint(&f.found, f.p);
    aot_sb_free(&text);
    return f;
}

static void done(fixture *f)
{
    aot_vec_free(&f->found);
    aot_ctx_free(f->c);
}

/* The only finding of a rule; NULL if there is none. */
static const aot_finding *find(const fixture *f, const char *rule)
{
    const aot_finding *r = NULL;
    for (size_t i = 0; i < f->found.n; i++) {
        if (strcmp(f->found.d[i].rule->name, rule) == 0) {
            assert_null(r);
            r = &f->found.d[i];
        }
    }
    return r;
}

static const char *at(const fixture *f, const aot_finding *x)
{
    return aot_node_name(f->p->cut, x->node);
}

static const char dropout[] =
    OP("mm", "mm.default(primals_1, primals_2)") OP("rand", "rand_like.default(mm)")
        OP("mul", "mul.Tensor(mm, rand)") OP("mul_1", "mul.Tensor(tangents_1, rand)");

static void numbers_drawn_twice_are_an_error(void **state)
{
    (void)state;
    fixture f = lint(dropout, "mul, mul_1, None", "activation_memory_budget=0", NULL, -1);
    const aot_finding *x = find(&f, "random-redrawn");
    assert_non_null(x);
    assert_string_equal(at(&f, x), "rand");
    assert_int_equal(x->rule->level, AOT_FINDING_ERROR);
    done(&f);
    f = lint(dropout, "mul, mul_1, None", NULL, NULL, -1);
    assert_null(find(&f, "random-redrawn"));
    done(&f);
}

static void an_input_overwritten_before_the_backward_reads_it_is_an_error(void **state)
{
    (void)state;
    const char *copied = OP("sin", "sin.default(primals_1)") OP("mul", "mul.Tensor(sin, primals_2)")
        OP("cos", "cos.default(primals_1)") OP("neg", "neg.default(primals_1)")
            OP("mul_1", "mul.Tensor(tangents_1, cos)") OP("copy_", "copy_.default(primals_1, neg)");
    const char *kept = OP("sin", "sin.default(primals_1)") OP("mul", "mul.Tensor(sin, primals_2)")
        OP("cos", "cos.default(primals_1)") OP("mul_1", "mul.Tensor(tangents_1, cos)");
    fixture f = lint(copied, "mul, None, mul_1", NULL, NULL, -1);
    const aot_finding *x = find(&f, "read-after-mutation");
    assert_non_null(x);
    assert_string_equal(at(&f, x), "primals_1");
    done(&f);
    f = lint(kept, "mul, None, mul_1", NULL, NULL, -1);
    assert_null(find(&f, "read-after-mutation"));
    done(&f);
}

static void a_copy_of_weights_is_noted(void **state)
{
    (void)state;
    const int weights[] = {1};
    const char *body = OP("tanh", "tanh.default(primals_2)") OP("mm", "mm.default(primals_1, tanh)")
        OP("mm_1", "mm.default(tangents_1, tanh)");
    fixture f = lint(body, "mm, mm_1, None", NULL, weights, 1);
    const aot_finding *x = find(&f, "weight-copy-saved");
    assert_non_null(x);
    assert_string_equal(at(&f, x), "tanh");
    done(&f);
    f = lint(body, "mm, mm_1, None", NULL, NULL, -1);
    assert_null(find(&f, "weight-copy-saved"));
    done(&f);
}

static void a_saved_view_of_an_input_is_noted_with_its_bytes(void **state)
{
    (void)state;
    fixture f = lint(OP("t", "t.default(primals_2)") OP("mm", "mm.default(primals_1, t)")
                         OP("t_1", "t.default(t)") OP("mm_1", "mm.default(tangents_1, t_1)"),
                     "mm, mm_1, None", NULL, NULL, -1);
    const aot_finding *x = find(&f, "alias-counted");
    assert_non_null(x);
    assert_int_equal(x->bytes, 64);
    done(&f);
}

static void a_chain_of_scatters_is_counted_at_its_end(void **state)
{
    (void)state;
    const char *row = "\"f32[1, 4][4, 1]cpu\"";
    aot_sb body = {0};
    aot_sb_addf(&body, "        slice_1: %s = torch.ops.aten.slice.Tensor(primals_2, 0, 0, 1)\n",
                row);
    aot_sb_addz(
        &body,
        OP("slice_scatter", "slice_scatter.default(primals_1, slice_1, 0, 0, 1)")
            OP("slice_scatter_1", "slice_scatter.default(slice_scatter, slice_1, 0, 1, 2)")
                OP("slice_scatter_2", "slice_scatter.default(slice_scatter_1, slice_1, 0, 2, 3)")
                    OP("neg", "neg.default(tangents_1)"));
    fixture f = lint(body.d, "slice_scatter_2, neg, None", NULL, NULL, -1);
    const aot_finding *x = find(&f, "scatter-chain");
    assert_non_null(x);
    assert_string_equal(at(&f, x), "slice_scatter_2");
    assert_int_equal(x->bytes, 3 * 64);
    aot_sb_free(&body);
    done(&f);
}

/* clang-format off */
static const char region[] =
    "        # ac_graph_id: 0 - PREFER_RECOMPUTE\n" OP("sin", "sin.default(primals_1)")
    "        # File: \"m.py\", line 3 in f, code: y\n" OP("exp", "exp.default(sin)")
    "        # ac_graph_id: 0 - PREFER_RECOMPUTE\n" OP("cos", "cos.default(exp)")
    "        # File: \"m.py\", line 9 in f, code: z\n" OP("mul", "mul.Tensor(tangents_1, cos)")
    OP("mul_1", "mul.Tensor(mul, exp)");
/* clang-format on */

static void an_operator_without_a_tag_inside_a_region_is_a_warning(void **state)
{
    (void)state;
    fixture f = lint(region, "cos, mul_1, None", NULL, NULL, -1);
    const aot_finding *x = find(&f, "region-untagged");
    assert_non_null(x);
    assert_string_equal(at(&f, x), "exp");
    assert_int_equal(x->rule->level, AOT_FINDING_WARNING);
    done(&f);
}

static void a_tangent_with_other_strides_than_its_output_is_noted(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    static const char text[] =
        "class joint(torch.nn.Module):\n    def forward(\n        self,\n        primals,\n        "
        "tangents,\n    ):\n"
        "        primals_1: \"f32[4, 8][8, 1]cpu\"  # PlainAOTInput(idx=0)\n"
        "        tangents_1: \"f32[8, 4][4, 1]cpu\"  # "
        "TangentAOTInput(output=PlainAOTOutput(idx=0))\n"
        "        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], "
        "self._in_spec)\n"
        "        sin: \"f32[4, 8][8, 1]cpu\" = torch.ops.aten.sin.default(primals_1)\n"
        "        t: \"f32[8, 4][1, 8]cpu\" = torch.ops.aten.t.default(sin);  sin = None\n"
        "        t_1: \"f32[4, 8][1, 4]cpu\" = torch.ops.aten.t.default(tangents_1);  tangents_1 = "
        "None\n"
        "        return pytree.tree_unflatten([\n"
        "            t,  # PlainAOTOutput(idx=0)\n"
        "            t_1,  # GradAOTOutput(grad_of=PlainAOTInput(idx=0))\n"
        "        ], self._out_spec)\n";
    aot_graph *g = NULL;
    aot_partition *p = NULL;
    aot_err err = {0};
    aot_config config;
    aot_findings all = {0};
    aot_config_init(&config);
    if (aot_parse_graph(&g, c, text, strlen(text), 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_partition_in in = {.joint = g, .n_forward_outputs = -1, .n_static_inputs = -1};
    assert_int_equal(aot_partition_run(&p, &in, &config, &err), AOT_OK);
    aot_lint(&all, p);
    assert_int_equal(all.n, 1);
    assert_string_equal(all.d[0].rule->name, "tangent-strides");
    assert_int_equal(all.d[0].bytes, 128);
    aot_vec_free(&all);
    aot_ctx_free(c);
}

/* Both regions' values are made again before either is used. */
static void regions_that_live_together_at_the_peak_are_noted(void **state)
{
    (void)state;
    /* clang-format off */
    static const char apart[] =
        "        # ac_graph_id: %d - MUST_RECOMPUTE\n" OP("sin", "sin.default(primals_1)")
        OP("cos", "cos.default(sin)")
        "        # ac_graph_id: %d - MUST_RECOMPUTE\n" OP("exp", "exp.default(primals_2)")
        OP("tanh", "tanh.default(exp)")
        "        # File: \"m.py\", line 9 in f, code: z\n" OP("mm", "mm.default(cos, tanh)")
        OP("mul", "mul.Tensor(cos, tanh)") OP("mm_1", "mm.default(tangents_1, mul)");
    /* clang-format on */
    char body[1500];
    snprintf(body, sizeof body, apart, 1, 2);
    fixture f = lint(body, "mm, mm_1, None", NULL, NULL, -1);
    const aot_finding *x = find(&f, "regions-together");
    assert_non_null(x);
    assert_int_equal(x->bytes, 3 * 64); // cos, exp and tanh, while tanh is made
    assert_non_null(strstr(x->message, "2 regions"));
    done(&f);
    snprintf(body, sizeof body, apart, 1, 1);
    f = lint(body, "mm, mm_1, None", NULL, NULL, -1);
    assert_null(find(&f, "regions-together"));
    done(&f);
}

static void rules_have_names_sentences_and_remedies(void **state)
{
    (void)state;
    for (unsigned i = 0; i < aot_finding_rule_count(); i++) {
        const aot_finding_rule *r = aot_finding_rule_at(i);
        assert_true(strlen(r->name) > 3 && strlen(r->remedy) > 10);
        assert_int_equal(r->title[strlen(r->title) - 1], '.');
        for (unsigned k = 0; k < i; k++) {
            assert_string_not_equal(r->name, aot_finding_rule_at(k)->name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_drawn_twice_are_an_error),
        cmocka_unit_test(an_input_overwritten_before_the_backward_reads_it_is_an_error),
        cmocka_unit_test(a_copy_of_weights_is_noted),
        cmocka_unit_test(a_saved_view_of_an_input_is_noted_with_its_bytes),
        cmocka_unit_test(a_chain_of_scatters_is_counted_at_its_end),
        cmocka_unit_test(an_operator_without_a_tag_inside_a_region_is_a_warning),
        cmocka_unit_test(a_tangent_with_other_strides_than_its_output_is_noted),
        cmocka_unit_test(regions_that_live_together_at_the_peak_are_noted),
        cmocka_unit_test(rules_have_names_sentences_and_remedies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
