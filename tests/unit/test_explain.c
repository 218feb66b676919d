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
                  "        # File: model.py:12 in forward, code: y = mm.sin()\n"
                  "        sin: " T(
                      4) " = torch.ops.aten.sin.default(mm)\n"
                         "        # No stacktrace found for following nodes\n"
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

static int limits_that_hold(int decided_by)
{
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
        assert_int_equal(x.p->decided_by, decided_by);
        assert_true(decided_by < 0 || x.p->cut_values[decided_by] > 0);
        aot_explain_free(&x);
    }
    aot_ctx_free(f.c);
    return limits;
}

static void a_value_flips_at_its_limit_and_nowhere_else(void **state)
{
    (void)state;
    assert_true(limits_that_hold(0) >= 3);
}

/* A chain from source to sink always holds an edge of the cut: else that were no cut. */
static void check_chain(const aot_explain *x)
{
    uint32_t cuts = 0;
    for (size_t i = 0; i < x->path.n; i++) {
        const aot_net_edge *e = &x->path.d[i];
        bool first = i == 0 && x->has_source, last = i + 1 == x->path.n && x->has_sink;
        assert_true((e->from == AOT_NO_NODE) == first && (e->to == AOT_NO_NODE) == last);
        assert_true(i == 0 || x->path.d[i - 1].to == e->from);
        assert_true(!e->cut || (e->from == e->to && e->capacity != AOT_WEIGHT_INF));
        assert_non_null(e->why);
        cuts += e->cut;
    }
    if (x->p->cut_ban == NULL) {
        assert_true(x->path.n == 0 && x->around.n == 0);
    } else if (x->has_source && x->has_sink) {
        assert_true(cuts > 0 && x->around.n > 0);
    }
    if (x->p->nodes[x->id].verdict == AOT_V_SAVED && x->p->cut_ban != NULL) {
        assert_true(x->around.n == 1 && x->around.d[0] == x->id);
    }
}

static void a_chain_of_the_network_crosses_the_cut(void **state)
{
    (void)state;
    static const char *const budgets[] = {
        "activation_memory_budget=1", "activation_memory_budget=0.7",
        "activation_memory_budget=0.1", "activation_memory_budget=0"};
    int whole = 0, flips = 0;
    for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
        fixture f = open_joint(budgets[k]);
        for (aot_node_id i = 0; i < f.in.joint->nodes.n; i++) {
            const aot_node *n = aot_node_at(f.in.joint, i);
            aot_explain x;
            aot_err err = {0};
            if (n->kind == AOT_OUTPUT) {
                continue;
            }
            assert_int_equal(aot_explain_node(&x, &f.in, &f.config, aot_text(f.c, n->name), &err),
                             AOT_OK);
            check_chain(&x);
            whole += x.has_source && x.has_sink;
            if (x.flip_weight >= 0) {
                assert_int_equal(verdict_at(&f, n->name, x.flip_weight), x.flip_verdict);
                assert_int_not_equal(x.flip_verdict, x.p->nodes[x.id].verdict);
                flips++;
            }
            aot_explain_free(&x);
        }
        aot_ctx_free(f.c);
    }
    assert_true(whole >= 10);
    assert_true(flips >= 3);
}

static void what_holds_a_value_is_named(void **state)
{
    (void)state;
    fixture f = open_joint(NULL);
    aot_explain x;
    aot_err err = {0};
    assert_int_equal(aot_explain_node(&x, &f.in, &f.config, "neg", &err), AOT_OK);
    assert_string_equal(aot_node_name(x.p->cut, x.path.d[0].to),
                        "mm"); // what must not be made again
    assert_string_equal(x.path.d[0].why, "not in recomputable allowlist");
    assert_int_equal(x.around.n, 1);
    assert_true(x.p->nodes[x.around.d[0]].verdict == AOT_V_SAVED);
    assert_string_equal(aot_node_name(x.p->cut, x.path.d[x.path.n - 1].from), "mul");
    assert_string_equal(x.path.d[x.path.n - 1].why, "it is computed in the backward");
    aot_explain_free(&x);
    aot_ctx_free(f.c);
}

static void the_line_is_that_of_the_nearest_value_above_which_has_one(void **state)
{
    (void)state;
    fixture f = open_joint(NULL);
    aot_explain x;
    aot_err err = {0};
    assert_int_equal(aot_explain_node(&x, &f.in, &f.config, "exp", &err), AOT_OK);
    const char *const chain[] = {"exp", "cat", "sin"};
    assert_int_equal(x.source.n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(aot_node_name(x.p->cut, x.source.d[i]), chain[i]);
    }
    assert_int_equal(x.p->cut->srcs.d[aot_node_at(x.p->cut, x.source.d[2])->src].line, 12);
    aot_explain_free(&x);
    assert_int_equal(aot_explain_node(&x, &f.in, &f.config, "mm", &err), AOT_OK);
    assert_int_equal(x.source.n, 0);
    aot_explain_free(&x);
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

/* What a range says holds at its ends, and the next one begins a thousandth later. */
static void budgets_at_which_a_value_is_saved_are_found(void **state)
{
    (void)state;
    fixture f = open_joint(NULL);
    aot_explain x;
    aot_err err = {0};
    assert_int_equal(aot_explain_node(&x, &f.in, &f.config, "mm", &err), AOT_OK);
    assert_int_equal(x.budgets.n, 0);
    aot_explain_budgets(&x);
    assert_true(x.budgets.n >= 2);
    assert_int_equal(x.budgets.d[0].from, 0);
    assert_int_equal(x.budgets.d[0].verdict, AOT_V_RECOMPUTED);
    assert_int_equal(x.budgets.d[x.budgets.n - 1].to, 1000);
    assert_int_equal(x.budgets.d[x.budgets.n - 1].verdict, x.p->nodes[x.id].verdict);
    for (size_t i = 0; i < x.budgets.n; i++) {
        const aot_budget_range *r = &x.budgets.d[i];
        assert_true(i == 0 || r->from == r[-1].to + 1);
        for (int end = 0; end < 2; end++) {
            aot_config c = f.config;
            aot_partition *p = NULL;
            c.activation_memory_budget = (end ? r->to : r->from) / 1000.0;
            assert_int_equal(aot_partition_run(&p, &f.in, &c, &err), AOT_OK);
            assert_int_equal(p->nodes[aot_graph_find(p->cut, "mm")].verdict, r->verdict);
        }
    }
    aot_explain_free(&x);
    aot_ctx_free(f.c);
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
        cmocka_unit_test(a_chain_of_the_network_crosses_the_cut),
        cmocka_unit_test(what_holds_a_value_is_named),
        cmocka_unit_test(the_line_is_that_of_the_nearest_value_above_which_has_one),
        cmocka_unit_test(a_tag_is_tried),
        cmocka_unit_test(other_rungs_have_no_limit_of_a_weight),
        cmocka_unit_test(what_is_saved_costs_no_flops_again),
        cmocka_unit_test(budgets_at_which_a_value_is_saved_are_found),
        cmocka_unit_test(a_value_that_is_not_there_is_told_with_its_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
