/* Budgets by grid and by bisection: the steps of a staircase are found, flips are named, points
 * that another beats are marked, and a budget that cannot be cut does not end the rest. */
#include "fixture.h"

#include <math.h>
#include <string.h>

#include "ir/text.h"
#include "partition/pareto.h"

static const char chain[] =
    "class inner_f(torch.nn.Module):\n"
    "    def forward(self, primals, tangents):\n"
    "        primals_1: \"f32[64, 128]\"; primals_2: \"f32[128, 128]\"; tangents_1: \"f32[64, "
    "128]\"; \n"
    "    \n"
    "        primals_1, primals_2, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], "
    "self._in_spec)\n"
    "        mm: \"f32[64, 128]\" = torch.ops.aten.mm.default(primals_1, primals_2)\n"
    "        sin: \"f32[64, 128]\" = torch.ops.aten.sin.default(mm)\n"
    "        mm_1: \"f32[64, 128]\" = torch.ops.aten.mm.default(sin, primals_2)\n"
    "        cos: \"f32[64, 128]\" = torch.ops.aten.cos.default(mm_1)\n"
    "        sin_1: \"f32[64, 128]\" = torch.ops.aten.sin.default(mm_1)\n"
    "        neg: \"f32[64, 128]\" = torch.ops.aten.neg.default(sin_1);  sin_1 = None\n"
    "        mul: \"f32[64, 128]\" = torch.ops.aten.mul.Tensor(tangents_1, neg);  tangents_1 = neg "
    "= None\n"
    "        t: \"f32[128, 128]\" = torch.ops.aten.t.default(primals_2)\n"
    "        mm_2: \"f32[64, 128]\" = torch.ops.aten.mm.default(mul, t)\n"
    "        t_1: \"f32[128, 64]\" = torch.ops.aten.t.default(sin)\n"
    "        mm_3: \"f32[128, 128]\" = torch.ops.aten.mm.default(t_1, mul)\n"
    "        cos_1: \"f32[64, 128]\" = torch.ops.aten.cos.default(mm)\n"
    "        mul_1: \"f32[64, 128]\" = torch.ops.aten.mul.Tensor(mm_2, cos_1)\n"
    "        t_2: \"f32[128, 64]\" = torch.ops.aten.t.default(primals_1)\n"
    "        mm_4: \"f32[128, 128]\" = torch.ops.aten.mm.default(t_2, mul_1)\n"
    "        t_3: \"f32[128, 128]\" = torch.ops.aten.t.default(primals_2)\n"
    "        mm_5: \"f32[64, 128]\" = torch.ops.aten.mm.default(mul_1, t_3)\n"
    "        add: \"f32[128, 128]\" = torch.ops.aten.add.Tensor(mm_4, mm_3)\n"
    "        return pytree.tree_unflatten([cos, mm_5, add], self._out_spec)\n";

static aot_ctx *ctx;
static aot_partition_in in;
static int n_cuts;

static int set_up(void **state)
{
    (void)state;
    aot_err err = {0};
    aot_graph *joint;
    ctx = aot_ctx_new();
    if (aot_parse_graph(&joint, ctx, chain, sizeof chain - 1, 1, &err) != AOT_OK) {
        return -1;
    }
    in = (aot_partition_in){.joint = joint, .n_forward_outputs = 1, .n_static_inputs = -1};
    n_cuts = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    aot_ctx_free(ctx);
    return 0;
}

static aot_status cut(void *arg, const aot_partition **out, aot_pareto_peaks *peaks, double budget,
                      const char *solver, aot_err *err)
{
    aot_config c;
    aot_partition *p;
    double refuse = arg != NULL ? *(double *)arg : -1;
    n_cuts++;
    if (refuse >= 2 || budget == refuse) {
        return AOT_FAIL(err, AOT_E_RANGE, "not at %g", budget);
    }
    aot_config_init(&c);
    c.activation_memory_budget = budget;
    strcpy(c.activation_memory_budget_solver, solver);
    AOT_TRY(aot_partition_run(&p, &in, &c, err));
    *out = p;
    *peaks = (aot_pareto_peaks){100, 200};
    return AOT_OK;
}

static const char *const dp[] = {"dp"};
static const char *const two[] = {"dp", "greedy"};

static aot_pareto *make(const aot_pareto_ask *ask)
{
    aot_pareto *x = NULL;
    aot_err err = {0};
    if (aot_pareto_make(&x, ask, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    return x;
}

/* The grid's finest answer at a budget: what bisection must agree with. */
static int64_t saved_at(double budget)
{
    aot_pareto_ask ask = {
        .cut = cut, .solvers = dp, .n_solvers = 1, .budgets = &budget, .n_budgets = 1};
    aot_pareto *x = make(&ask);
    int64_t bytes = x->points.d[0].saved_bytes;
    aot_pareto_free(x);
    return bytes;
}

static void bisection_finds_the_steps_of_the_staircase(void **state)
{
    (void)state;
    aot_pareto_ask ask = {.cut = cut, .solvers = dp, .n_solvers = 1};
    aot_pareto *x = make(&ask);
    int n = n_cuts;
    assert_true(x->points.d[0].budget == 0 && x->points.d[x->points.n - 1].budget == 1);
    assert_true(n < 60); // a grid as fine has 1,024
    for (size_t i = 1; i < x->points.n; i++) {
        const aot_pareto_point *a = &x->points.d[i - 1], *b = &x->points.d[i];
        assert_true(a->budget < b->budget);
        // neighbours are equal, or so close that the step is known to 1e-3
        assert_true(b->same_as_before || b->budget - a->budget < 1e-3);
        double mid = (a->budget + b->budget) / 2;
        if (b->same_as_before) {
            assert_int_equal(saved_at(mid), a->saved_bytes);
        }
    }
    assert_int_equal(x->points.d[0].saved_bytes, saved_at(0));
    assert_true(x->points.d[x->points.n - 1].saved_bytes > x->points.d[0].saved_bytes);
    aot_pareto_free(x);
}

static void a_grid_gives_its_points_in_order_for_each_solver(void **state)
{
    (void)state;
    double grid[] = {0, 0.5, 1};
    aot_pareto_ask ask = {
        .cut = cut, .solvers = two, .n_solvers = 2, .budgets = grid, .n_budgets = 3};
    aot_pareto *x = make(&ask);
    assert_int_equal(x->points.n, 6);
    assert_string_equal(x->points.d[2].solver, "dp");
    assert_string_equal(x->points.d[3].solver, "greedy");
    assert_true(x->points.d[4].budget == 0.5);
    assert_int_equal(x->points.d[4].forward_peak, 100);
    assert_int_equal(x->points.d[4].backward_peak, 200);
    assert_int_equal(x->points.d[3].n_newly_saved, 0); // the first of a solver has no point before
    aot_pareto_free(x);
}

static void what_flips_is_named_largest_first(void **state)
{
    (void)state;
    double grid[] = {0, 1};
    aot_pareto_ask ask = {
        .cut = cut, .solvers = dp, .n_solvers = 1, .budgets = grid, .n_budgets = 2};
    aot_pareto *x = make(&ask);
    const aot_pareto_point *all = &x->points.d[1];
    int64_t sum = 0, gone = 0;
    assert_true(all->n_newly_saved >= 2);
    for (uint32_t i = 0; i < all->n_newly_saved; i++) {
        sum += all->newly_saved[i].bytes;
        assert_true(i == 0 || all->newly_saved[i].bytes <= all->newly_saved[i - 1].bytes);
    }
    for (uint32_t i = 0; i < all->n_no_longer_saved; i++) {
        gone += all->no_longer_saved[i].bytes;
    }
    assert_int_equal(sum - gone, all->saved_bytes - x->points.d[0].saved_bytes);
    assert_false(all->same_as_before);
    aot_pareto_free(x);
}

static void a_point_that_another_beats_is_dominated(void **state)
{
    (void)state;
    double grid[] = {0, 0.25, 0.5, 0.75, 1};
    aot_pareto_ask ask = {
        .cut = cut, .solvers = two, .n_solvers = 2, .budgets = grid, .n_budgets = 5};
    aot_pareto *x = make(&ask);
    for (size_t i = 0; i < x->points.n; i++) {
        const aot_pareto_point *a = &x->points.d[i];
        bool beaten = false;
        for (size_t k = 0; k < x->points.n; k++) {
            const aot_pareto_point *b = &x->points.d[k];
            beaten |= b->saved_bytes <= a->saved_bytes &&
                      b->recompute_flops <= a->recompute_flops &&
                      (b->saved_bytes < a->saved_bytes || b->recompute_flops < a->recompute_flops);
        }
        assert_int_equal(a->dominated, beaten);
    }
    aot_pareto_free(x);
}

/* Views of inputs count for PyTorch's sum and cost nothing: the front of new bytes leaves them
 * out. */
static void the_front_of_new_bytes_leaves_inputs_out(void **state)
{
    (void)state;
    const aot_pareto_point all[] = {
        {.budget = 0,
         .solver = "dp",
         .rung = "",
         .saved_bytes = 500,
         .new_bytes = 0,
         .recompute_flops = 50},
        {.budget = 0.5,
         .solver = "dp",
         .rung = "",
         .saved_bytes = 400,
         .new_bytes = 10,
         .recompute_flops = 50},
        {.budget = 1,
         .solver = "dp",
         .rung = "",
         .saved_bytes = 900,
         .new_bytes = 20,
         .recompute_flops = 0},
    };
    aot_pareto *x = aot_pareto_new();
    for (size_t i = 0; i < 3; i++) {
        aot_pareto_add(x, &all[i], dp, 1);
    }
    aot_pareto_finish(x, dp, 1, false);
    assert_true(x->points.d[0].dominated && !x->points.d[1].dominated && !x->points.d[2].dominated);
    assert_true(!x->points.d[0].dominated_new && x->points.d[1].dominated_new &&
                !x->points.d[2].dominated_new);
    aot_pareto_free(x);
}

static void one_budget_that_cannot_be_cut_says_why(void **state)
{
    (void)state;
    double grid[] = {0, 0.5, 1}, refuse = 0.5;
    aot_pareto_ask ask = {
        .cut = cut, .arg = &refuse, .solvers = dp, .n_solvers = 1, .budgets = grid, .n_budgets = 3};
    aot_pareto *x = make(&ask);
    assert_string_equal(x->points.d[1].error, "not at 0.5");
    assert_null(x->points.d[0].error);
    assert_null(x->points.d[2].error);
    assert_int_equal(x->points.d[2].n_newly_saved, 0); // nothing to compare with
    aot_pareto_free(x);
}

static void where_none_can_be_cut_the_first_error_is_told(void **state)
{
    (void)state;
    double refuse = 2;
    aot_pareto_ask ask = {.cut = cut, .arg = &refuse, .solvers = dp, .n_solvers = 1};
    aot_pareto *x = NULL;
    aot_err err = {0};
    assert_int_equal(aot_pareto_make(&x, &ask, &err), AOT_E_RANGE);
    assert_string_equal(err.msg, "not at 0");
    assert_null(x);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(bisection_finds_the_steps_of_the_staircase),
        T(a_grid_gives_its_points_in_order_for_each_solver),
        T(what_flips_is_named_largest_first),
        T(a_point_that_another_beats_is_dominated),
        T(the_front_of_new_bytes_leaves_inputs_out),
        T(one_budget_that_cannot_be_cut_says_why),
        T(where_none_can_be_cut_the_first_error_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
