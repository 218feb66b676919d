/* Cutting again gives what cutting anew gives, whatever was cut before; and keeps no memory. */
#include "fixture.h"

#include "ir/text.h"
#include "partition/flow.h"
#include "partition/internal.h"
#include "partition/partitioner.h"
#include "session/derive.h"

static aot_unit *unit;

static aot_status keep_unit(void *arg, aot_unit *u, aot_err *err)
{
    (void)arg;
    (void)err;
    if (unit == NULL) {
        unit = u;
    } else {
        aot_unit_free(u);
    }
    return AOT_OK;
}

typedef struct opened {
    aot_ctx *c;
    const aot_graph *joint;
    aot_partition_in in;
} opened;

static opened open_joint(const char *name)
{
    opened o;
    aot_err err = {0};
    aot_import_sink sink = {.on_unit = keep_unit};
    unit = NULL;
    if (aot_import(fixture(name), &sink, NULL, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    o.c = aot_unit_new_ctx(unit);
    assert_int_equal(
        aot_record_parse(&o.joint, o.c, unit, aot_unit_stage(unit, AOT_STAGE_JOINT), &err), AOT_OK);
    aot_partition_inputs(&o.in, unit, o.joint);
    return o;
}

static char *text_of(const aot_graph *g)
{
    aot_sb text = {0};
    aot_print_graph(&text, g, AOT_PRINT_PLAIN);
    return text.d;
}

static void expect_same(const aot_partition *p, const aot_partition *q, const char *what)
{
    assert_string_equal(p->rung, q->rung);
    assert_int_equal(p->n_saved, q->n_saved);
    assert_int_equal(p->cut_values[0], q->cut_values[0]);
    assert_int_equal(p->n_vertices, q->n_vertices);
    assert_int_equal(p->n_edges, q->n_edges);
    for (int side = 0; side < 2; side++) {
        char *a = text_of(side ? p->backward : p->forward),
             *b = text_of(side ? q->backward : q->forward);
        if (strcmp(a, b) != 0) {
            fail_msg("%s: %s is another graph", what, side ? "backward" : "forward");
        }
        free(a);
        free(b);
    }
}

static const char *const sequence[] = {
    "activation_memory_budget=1",
    "activation_memory_budget=0.5",
    "activation_memory_budget=0.4",
    "activation_memory_budget_solver=greedy",
    "ban_recompute_not_in_allowlist=False",
    "recompute_views=True",
    "cse=False",
    "activation_memory_budget_solver=dp",
    "recompute_views=False",
    "partitioner=default_partition",
    "partitioner=min_cut",
    "aggressive_recomputation=True",
    "activation_memory_budget=0",
    "cse=True",
    "activation_memory_budget=0.7",
};

/* Settings change one after the other; each answer is compared with one cut from nothing. */
static void cutting_again_gives_what_cutting_anew_gives(void **state)
{
    (void)state;
    static const char *const names[] = {
        "logs/dropout_default.log.gz", "oracle/pain_mlp_ladder/trace.log",
        "oracle/checkpoint_dropout/trace.log", "oracle/dynamic_mlp/trace.log",
        "oracle/long_residual_chain/trace.log"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[200];
        snprintf(path, sizeof path, "%s%s", names[k],
                 access(fixture(names[k]), R_OK) == 0 ? "" : ".gz");
        opened o = open_joint(path);
        aot_partitioner *pr = aot_partitioner_new(&o.in);
        aot_config config;
        aot_config_init(&config);
        for (size_t i = 0; i < sizeof sequence / sizeof *sequence; i++) {
            aot_partition *again = NULL, *anew = NULL;
            aot_err err = {0}, err2 = {0};
            assert_int_equal(aot_config_set(&config, sequence[i], &err), AOT_OK);
            aot_status s = aot_partitioner_solve(pr, &again, &config, NULL, 0, &err);
            assert_int_equal(aot_partition_run(&anew, &o.in, &config, &err2), s);
            if (s == AOT_OK) {
                expect_same(again, anew, sequence[i]);
            } else {
                assert_string_equal(err.msg, err2.msg);
            }
            aot_partition_release(again);
        }
        aot_partitioner_free(pr);
        aot_ctx_free(o.c);
        aot_unit_free(unit);
    }
}

static void a_thousand_cuts_keep_the_memory_of_one(void **state)
{
    (void)state;
    opened o = open_joint("logs/dropout_default.log.gz");
    aot_partitioner *pr = aot_partitioner_new(&o.in);
    aot_config config;
    size_t graphs = 0, bytes = 0, arena = 0;
    aot_config_init(&config);
    for (int i = 0; i < 1000; i++) {
        aot_partition *p = NULL;
        aot_err err = {0};
        config.activation_memory_budget = (i % 9) / 8.0;
        assert_int_equal(aot_partitioner_solve(pr, &p, &config, NULL, 0, &err), AOT_OK);
        aot_partition_release(p);
        if (i == 9) {
            graphs = o.c->graphs.n;
            bytes = aot_partitioner_bytes(pr);
            arena = aot_arena_bytes(o.c->arena);
        }
    }
    assert_int_equal(o.c->graphs.n, graphs);
    assert_int_equal(aot_partitioner_bytes(pr), bytes);
    assert_int_equal(aot_arena_bytes(o.c->arena), arena);
    aot_partitioner_free(pr);
    aot_ctx_free(o.c);
    aot_unit_free(unit);
}

/* The cut on the graph against the cut of the same network, edge by edge, with weights, bans and
 * sinks by chance. */
static void the_cut_on_the_graph_is_that_of_its_network(void **state)
{
    (void)state;
    opened o = open_joint("logs/dropout_default.log.gz");
    const aot_graph *g = o.joint;
    uint32_t n = (uint32_t)g->nodes.n, seed = 7;
    int64_t *weight = aot_xcalloc(n, sizeof *weight);
    uint8_t *banned = aot_xcalloc(n, 1), *sink = aot_xcalloc(n, 1),
            *side = aot_xcalloc(2 * n + 2, 1);
    int n_finite = 0;
    if (g->user_off == NULL) {
        aot_graph_link((aot_graph *)(uintptr_t)g);
    }
#define CHANCE(k) ((seed = seed * 1664525u + 1013904223u) >> 16) % (k)
    for (int round = 0; round < 3000; round++) {
        aot_flow *f = aot_flow_new(2 * n + 2, 0);
        int64_t value = 0, other = 0;
        part_ids list = {0};
        aot_err err = {0};
        for (uint32_t i = 0; i < n; i++) {
            uint32_t kind = CHANCE(8);
            weight[i] = kind == 0                 ? AOT_WEIGHT_INF
                        : kind == 1 || i + 1 == n ? -1
                                                  : (int64_t)(CHANCE(6));
            banned[i] = i < n / 2 && CHANCE(3) == 0;
            sink[i] = i >= n / 3 && CHANCE(3) == 0 ? (weight[i] < 0 ? AOT_SINK_IN : AOT_SINK_OUT)
                                                   : AOT_SINK_NONE;
            if (banned[i]) {
                aot_flow_edge(f, 0, 2 + 2 * i, AOT_FLOW_INF);
            }
            if (sink[i] != AOT_SINK_NONE) {
                aot_flow_edge(f, sink[i] == AOT_SINK_IN ? 2 + 2 * i : 3 + 2 * i, 1, AOT_FLOW_INF);
            }
            if (weight[i] >= 0) {
                aot_flow_edge(f, 2 + 2 * i, 3 + 2 * i, weight[i]);
                for (uint32_t k = g->user_off[i]; k < g->user_off[i + 1]; k++) {
                    aot_flow_edge(f, 3 + 2 * i, 2 + 2 * g->user[k], AOT_FLOW_INF);
                }
            }
        }
        part_network x = {.g = g, .weight = weight, .banned = banned, .sink = sink};
        aot_status a = part_network_cut(&x, &value, &list, &err);
        aot_status b = aot_flow_min_cut(f, 0, 1, &other, side, NULL, NULL, NULL);
        assert_int_equal(a, b);
        size_t at = 0;
        for (uint32_t i = 0; a == AOT_OK && i < n; i++) {
            bool cut = weight[i] >= 0 && !side[2 + 2 * i] && side[3 + 2 * i];
            assert_int_equal(cut, at < list.n && list.d[at] == i);
            at += cut;
        }
        if (a == AOT_OK) {
            assert_int_equal(value, other);
            n_finite++;
        }
        aot_vec_free(&list);
        aot_flow_free(f);
    }
    assert_true(n_finite > 100);
    free(weight);
    free(banned);
    free(sink);
    free(side);
    aot_ctx_free(o.c);
    aot_unit_free(unit);
}

static aot_status with_times(const char *text, aot_partition **p, const opened *o, aot_err *err)
{
    char path[300];
    aot_config config;
    snprintf(path, sizeof path, "%s/times.csv", scratch_dir());
    write_file(path, text, strlen(text));
    aot_config_init(&config);
    config.activation_memory_budget = 0.3;
    snprintf(config.times, sizeof config.times, "%s", path);
    aot_status s = aot_partition_run(p, &o->in, &config, err);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    return s;
}

static void measured_times_replace_flops(void **state)
{
    (void)state;
    opened o = open_joint(access(fixture("oracle/pain_mlp_ladder/trace.log"), R_OK) == 0
                              ? "oracle/pain_mlp_ladder/trace.log"
                              : "oracle/pain_mlp_ladder/trace.log.gz");
    aot_partition *p = NULL;
    aot_err err = {0};
    if (with_times("name,ms\naten.mm,0.5\naten.gelu.default,0.25\nmm_1,7\n", &p, &o, &err) !=
        AOT_OK) {
        fail_msg("%s", err.msg);
    }
    assert_true(p->n_items > 1 && p->recompute_ms >= 0);
    for (uint32_t i = 0; i < p->n_items; i++) {
        const char *name = aot_node_name(p->cut, p->items[i].node);
        if (strncmp(name, "mm", 2) == 0) {
            assert_true(p->items[i].runtime == (strcmp(name, "mm_1") == 0 ? 7 : 0.5));
        }
    }
    assert_int_equal(with_times("aten.mm,0.5\naten.gelu 0.5 0.5\n", &p, &o, &err), AOT_E_USAGE);
    assert_non_null(strstr(err.msg, ":2: 'aten.gelu"));
    err = (aot_err){0};
    assert_int_equal(
        with_times("aten.mm,0.5\nmm_1,7\n# again\ntorch.ops.aten.mm,0.25\n", &p, &o, &err),
        AOT_E_USAGE);
    assert_non_null(strstr(err.msg, ":4: "));
    assert_non_null(strstr(err.msg, "'aten.mm' has a time in line 1 and another in line 4"));
    err = (aot_err){0};
    assert_int_equal(with_times("aten.conv2d,1\n", &p, &o, &err), AOT_E_PARSE);
    assert_non_null(strstr(err.msg, "none of the 1 times"));
    aot_ctx_free(o.c);
    aot_unit_free(unit);
}

static void the_knapsacks_items_are_told(void **state)
{
    (void)state;
    opened o = open_joint(access(fixture("oracle/pain_mlp_ladder/trace.log"), R_OK) == 0
                              ? "oracle/pain_mlp_ladder/trace.log"
                              : "oracle/pain_mlp_ladder/trace.log.gz");
    aot_partition *p = NULL;
    aot_config config;
    aot_err err = {0};
    double saved = 0;
    aot_config_init(&config);
    config.activation_memory_budget = 0.3;
    assert_int_equal(aot_partition_run(&p, &o.in, &config, &err), AOT_OK);
    assert_string_equal(p->rung, "knapsack, then a fourth cut");
    assert_true(p->n_items > 1);
    for (uint32_t i = 0; i < p->n_items; i++) {
        saved += p->items[i].saved ? p->items[i].memory : 0;
        assert_true(i == 0 || p->items[i].memory <= p->items[i - 1].memory);
    }
    assert_true(saved == p->items_saved && saved <= 0.3001);
    assert_false(p->over_capacity);
    aot_ctx_free(o.c);
    aot_unit_free(unit);
}

#define V "f32[1, 1][1, 1]cpu"
#define LONG "f32[9997, 1][1, 1]cpu"

/* One item of 9998/10000 of the range and three of 1/10000, all needed by the backward. */
static const char tiny_items[] =
    "class joint(torch.nn.Module):\n    def forward(self, primals, tangents):\n"
    "        primals_1: \"" V "\"; tangents_1: \"" LONG "\"; tangents_2: \"" V "\"; \n\n"
    "        primals_1, tangents_1, tangents_2, = fx_pytree.tree_flatten_spec([primals, tangents], "
    "self._in_spec)\n"
    "        expand: \"f32[9997, 1][0, 1]cpu\" = torch.ops.aten.expand.default(primals_1, [9997, "
    "1])\n"
    "        mm: \"" LONG "\" = torch.ops.aten.mm.default(expand, primals_1)\n"
    "        mm_1: \"" V "\" = torch.ops.aten.mm.default(primals_1, primals_1)\n"
    "        mm_2: \"" V "\" = torch.ops.aten.mm.default(mm_1, primals_1)\n"
    "        mm_3: \"" V "\" = torch.ops.aten.mm.default(mm_2, primals_1)\n"
    "        sin: \"" LONG "\" = torch.ops.aten.sin.default(mm)\n"
    "        sin_1: \"" V "\" = torch.ops.aten.sin.default(mm_3)\n"
    "        mul: \"" LONG "\" = torch.ops.aten.mul.Tensor(tangents_1, mm)\n"
    "        sum_1: \"" V "\" = torch.ops.aten.sum.dim_IntList(mul, [0], True)\n"
    "        mul_1: \"" V "\" = torch.ops.aten.mul.Tensor(tangents_2, mm_1)\n"
    "        mul_2: \"" V "\" = torch.ops.aten.mul.Tensor(mul_1, mm_2)\n"
    "        mul_3: \"" V "\" = torch.ops.aten.mul.Tensor(mul_2, mm_3)\n"
    "        add: \"" V "\" = torch.ops.aten.add.Tensor(sum_1, mul_3)\n"
    "        return pytree.tree_unflatten([sin, sin_1, add], self._out_spec)\n";

/* PyTorch's own sliding hirschberg keeps two of the three at a capacity of one. */
static void hirschberg_above_the_budget_is_told(void **state)
{
    (void)state;
    static const char *const solvers[] = {"dp_knapsack_sliding_hirschberg", "dp"};
    for (int k = 0; k < 2; k++) {
        aot_ctx *c = aot_ctx_new();
        aot_graph *g = NULL;
        aot_partition *p = NULL;
        aot_config config;
        aot_err err = {0};
        char set[100];
        aot_config_init(&config);
        config.activation_memory_budget = 1e-4;
        snprintf(set, sizeof set, "activation_memory_budget_solver=%s", solvers[k]);
        assert_int_equal(aot_config_set(&config, set, &err), AOT_OK);
        assert_int_equal(aot_parse_graph(&g, c, tiny_items, strlen(tiny_items), 1, &err), AOT_OK);
        aot_partition_in in = {.joint = g, .n_forward_outputs = 2, .n_static_inputs = -1};
        if (aot_partition_run(&p, &in, &config, &err) != AOT_OK) {
            fail_msg("%s", err.msg);
        }
        assert_int_equal(p->n_items, 4);
        int n_saved = 0;
        for (uint32_t i = 0; i < 4; i++) {
            n_saved += p->items[i].saved;
        }
        assert_int_equal(n_saved, k == 0 ? 2 : 1);
        assert_int_equal(p->over_capacity, k == 0);
        aot_ctx_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cutting_again_gives_what_cutting_anew_gives),
        cmocka_unit_test(a_thousand_cuts_keep_the_memory_of_one),
        cmocka_unit_test(the_cut_on_the_graph_is_that_of_its_network),
        cmocka_unit_test(measured_times_replace_flops),
        cmocka_unit_test(the_knapsacks_items_are_told),
        cmocka_unit_test(hirschberg_above_the_budget_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
