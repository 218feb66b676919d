/* What explain says would flip a value does flip it, for every value of a graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ir/text.h"
#include "partition/explain.h"

#define T(n) "\"f32[4, " #n "][" #n ", 1]cpu\""

/* Two values of different size lead to one gradient: the cut has a choice. */
static const char joint[] =
    "class joint(torch.nn.Module):\n    def forward(self, primals, tangents):\n"
    "        primals_1: " T(4) "; primals_2: " T(4) "; tangents_1: " T(
        4) "; \n\n"
           "        primals_1, primals_2, tangents_1, = fx_pytree.tree_flatten_spec([primals, "
           "tangents], self._in_spec)\n"
           "        mm: " T(
               4) " = torch.ops.aten.mm.default(primals_1, primals_2)\n"
                  "        sin: " T(
                      4) " = torch.ops.aten.sin.default(mm)\n"
                         "        cat: " T(
                             8) " = torch.ops.aten.cat.default([sin, sin], 1)\n"
                                "        exp: " T(
                                    8) " = torch.ops.aten.exp.default(cat)\n"
                                       "        slice_1: " T(
                                           4) " = torch.ops.aten.slice.Tensor(exp, 1, 0, 4)\n"
                                              "        neg: " T(
                                                  4) " = torch.ops.aten.neg.default(slice_1)\n"
                                                     "        mul: " T(
                                                         4) " = "
                                                            "torch.ops.aten.mul.Tensor(tangents_1, "
                                                            "neg)\n"
                                                            "        mm_1: " T(
                                                                4) " = "
                                                                   "torch.ops.aten.mm.default(mul, "
                                                                   "primals_2)\n"
                                                                   "        sum_1: \"f32[][]cpu\" "
                                                                   "= "
                                                                   "torch.ops.aten.sum.default(mm)"
                                                                   "\n"
                                                                   "        return "
                                                                   "pytree.tree_unflatten([sum_1, "
                                                                   "mm_1, None], self._out_spec)\n";

typedef struct fixture {
    aot_ctx *c;
    aot_partition_in in;
    aot_config config;
} fixture;

static fixture open_joint(const char *set)
{
    fixture f = {.c = aot_ctx_new()};
    aot_graph *g = NULL;
    aot_err err = {0};
    aot_config_init(&f.config);
    if (set != NULL) {
        assert_int_equal(aot_config_set(&f.config, set, &err), AOT_OK);
    }
    if (aot_parse_graph(&g, f.c, joint, strlen(joint), 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    f.in = (aot_partition_in){.joint = g, .n_forward_outputs = 1, .n_static_inputs = -1};
    return f;
}

static aot_verdict verdict_at(const fixture *f, aot_str name, int64_t weight)
{
    aot_what_if w = {.name = name, .weight = weight};
    aot_partition_in in = f->in;
    aot_partition *p = NULL;
    aot_err err = {0};
    in.what_if = &w;
    in.n_what_if = 1;
    if (aot_partition_run(&p, &in, &f->config, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    return (aot_verdict)p->nodes[aot_graph_find(p->cut, aot_text(f->c, name))].verdict;
}

static void a_value_flips_at_its_limit_and_nowhere_else(void **state)
{
    (void)state;
    fixture f = open_joint(NULL);
    int limits = 0;
    for (aot_node_id i = 0; i < f.in.joint->nodes.n; i++) {
        const aot_node *n = aot_node_at(f.in.joint, i);
        aot_explain x;
        aot_err err = {0};
        if (n->kind != AOT_CALL_FUNCTION) {
            continue;
        }
        assert_int_equal(aot_explain_node(&x, &f.in, &f.config, aot_text(f.c, n->name), &err),
                         AOT_OK);
        if (x.weight_limit > 0) {
            bool saved_below = verdict_at(&f, n->name, x.weight_limit - 1) == AOT_V_SAVED;
            bool saved_above = verdict_at(&f, n->name, x.weight_limit + 1) == AOT_V_SAVED;
            assert_true(saved_below);
            assert_false(saved_above);
            limits++;
        }
        aot_explain_free(&x);
    }
    assert_true(limits >= 3);
    aot_ctx_free(f.c);
}

static const aot_change *change(const aot_explain *x, const char *what)
{
    for (size_t i = 0; i < x->changes.n; i++) {
        if (strcmp(x->changes.d[i].what, what) == 0) {
            return &x->changes.d[i];
        }
    }
    fail_msg("%s was not tried", what);
    return NULL;
}

static void a_tag_is_tried(void **state)
{
    (void)state;
    fixture f = open_joint(NULL);
    aot_explain x;
    aot_err err = {0};
    assert_int_equal(aot_explain_node(&x, &f.in, &f.config, "mm", &err), AOT_OK);
    assert_int_equal(x.p->nodes[x.id].verdict, AOT_V_SAVED);
    assert_int_equal(change(&x, "tag MUST_RECOMPUTE")->verdict, AOT_V_RECOMPUTED);
    assert_true(change(&x, "tag MUST_RECOMPUTE")->recompute_flops == 2 * 4 * 4 * 4);
    aot_explain_free(&x);
    aot_ctx_free(f.c);
}

static void other_rungs_have_no_limit_of_a_weight(void **state)
{
    (void)state;
    fixture f = open_joint("activation_memory_budget=0");
    aot_explain x;
    aot_err err = {0};
    assert_int_equal(aot_explain_node(&x, &f.in, &f.config, "mm", &err), AOT_OK);
    assert_int_equal(x.weight_limit, -1);
    aot_explain_free(&x);
    aot_ctx_free(f.c);
}

static void what_is_saved_costs_no_flops_again(void **state)
{
    (void)state;
    fixture f = open_joint(NULL), all = open_joint("activation_memory_budget=0");
    aot_partition *p = NULL, *q = NULL;
    aot_err err = {0};
    assert_int_equal(aot_partition_run(&p, &f.in, &f.config, &err), AOT_OK);
    assert_int_equal(aot_partition_run(&q, &all.in, &all.config, &err), AOT_OK);
    assert_true(p->recompute_flops == 0);
    assert_true(q->recompute_flops == 2 * 4 * 4 * 4); // mm again, and nothing else has flops
    aot_ctx_free(f.c);
    aot_ctx_free(all.c);
}

static void a_value_that_is_not_there_is_told_with_its_neighbours(void **state)
{
    (void)state;
    fixture f = open_joint(NULL);
    aot_explain x;
    aot_err err = {0};
    assert_int_equal(aot_explain_node(&x, &f.in, &f.config, "mm_7", &err), AOT_E_USAGE);
    assert_non_null(strstr(err.msg, "there are mm, mm_1"));
    aot_ctx_free(f.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_flips_at_its_limit_and_nowhere_else),
        cmocka_unit_test(a_tag_is_tried),
        cmocka_unit_test(other_rungs_have_no_limit_of_a_weight),
        cmocka_unit_test(what_is_saved_costs_no_flops_again),
        cmocka_unit_test(a_value_that_is_not_there_is_told_with_its_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
