/* Random sites: who draws, in which order, with which state; and two graphs' orders compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ir/text.h"
#include "partition/rng_sites.h"

#define T "\"f32[4, 4][4, 1]cpu\""
#define OP(name, call) "        " name ": " T " = torch.ops.aten." call "\n"
#define WRAPPED(name, call) "        " name " = torch.ops.higher_order." call "\n"

static const aot_graph *parse(aot_ctx *c, const char *parameters, const char *body)
{
    aot_sb text = {0};
    aot_graph *g = NULL;
    aot_err err = {0};
    aot_sb_addf(&text,
                "class G(torch.nn.Module):\n    def forward(self, %s):\n%s        return ()\n",
                parameters, body);
    if (aot_parse_graph(&g, c, text.d, text.n, 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_sb_free(&text);
    return g;
}

static aot_rng_sites find(aot_ctx *c, const char *body)
{
    aot_rng_sites s = {0};
    aot_rng_find(&s,
                 parse(c,
                       "x: " T ", seed: \"i64[][]cpu\", rng_state_output_1: \"u8[5056][1]cpu\", "
                       "fwd_rng_state_3",
                       body));
    return s;
}

static void each_generator_is_counted_apart(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    aot_rng_sites s = find(
        c,
        OP("a",
           "rand_like.default(x)") "        b: \"f32[4][1]cuda:0\" = "
                                   "torch.ops.aten.rand.default([4], device = device(type='cuda', "
                                   "index=0))\n" OP("d", "bernoulli.default(x)")
                                       OP("e",
                                          "rand.generator([4], generator = x, device = "
                                          "device(type='cpu'))") "        f: \"f32[4][1]cpu\" = "
                                                                 "torch.ops.prims.inductor_random."
                                                                 "default([4], seed, 'rand')\n");
    assert_int_equal(s.n, 5);
    static const struct {
        const char *generator;
        unsigned order;
        aot_rng_kind kind;
    } want[] = {{"cpu", 1, AOT_RNG_DEFAULT},
                {"cuda:0", 1, AOT_RNG_DEFAULT},
                {"cpu", 2, AOT_RNG_DEFAULT},
                {"generator", 1, AOT_RNG_GIVEN},
                {"cpu", 0, AOT_RNG_SEED}};
    for (size_t i = 0; i < s.n; i++) {
        assert_string_equal(s.d[i].generator, want[i].generator);
        assert_int_equal(s.d[i].order, want[i].order);
        assert_int_equal(s.d[i].kind, want[i].kind);
    }
    aot_vec_free(&s);
    aot_ctx_free(c);
}

/* Each was run on PyTorch 2.11 and its generator's state compared before and after. */
static void calls_that_draw_nothing_move_no_generator(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        bool draws;
    } cases[] = {
        {"native_dropout.default(x, 0.5, True)", true},
        {"native_dropout.default(x, 0.0, True)", true},
        {"native_dropout.default(x, 0.5, False)", false},
        {"native_dropout.default(x, 0.5, None)", true},
        {"dropout.default(x, 0.5, True)", true},
        {"dropout.default(x, 0.0, True)", false},
        {"dropout.default(x, 1.0, True)", false},
        {"dropout.default(x, 0.5, False)", false},
        {"bernoulli.p(x, 0.0)", true},
        {"rrelu_with_noise.default(x, x, 0.1, 0.3, False)", false},
        {"rrelu_with_noise.default(x, x, 0.1, 0.3, True)", true},
        {"_scaled_dot_product_attention_math.default(x, x, x)", false},
        {"_scaled_dot_product_attention_math.default(x, x, x, None, 0.5)", true},
        {"_scaled_dot_product_attention_math.default(x, x, x, None, 0.0)", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aot_ctx *c = aot_ctx_new();
        char body[300];
        snprintf(body, sizeof body, "        y = torch.ops.aten.%s\n", cases[i].call);
        aot_rng_sites s = find(c, body);
        assert_int_equal(s.n, 1);
        if ((s.d[0].order > 0) != cases[i].draws) {
            fail_msg("%s", cases[i].call);
        }
        aot_vec_free(&s);
        aot_ctx_free(c);
    }
}

static void nothing_is_drawn_for_an_empty_tensor(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    aot_rng_sites s =
        find(c, "        a: \"f32[0, 4][4, 1]cpu\" = torch.ops.aten.rand.default([0, 4])\n");
    assert_int_equal(s.d[0].use, AOT_RNG_NOTHING);
    aot_vec_free(&s);
    aot_ctx_free(c);
}

static void wrappers_say_which_state_they_take(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    aot_rng_sites s = find(
        c,
        WRAPPED("a", "run_and_save_rng_state(torch.ops.aten.native_dropout.default, x, 0.5, True)")
            WRAPPED("b",
                    "run_with_rng_state(rng_state_output_1, torch.ops.aten.rand_like.default, x)")
                WRAPPED("d", "graphsafe_run_with_rng_state(torch.ops.aten.rand_like.default, x, "
                             "rng_state = fwd_rng_state_3)")
                    WRAPPED("e", "run_and_save_rng_state(torch.ops.aten.rand_like.default, x)"));
    assert_int_equal(s.n, 4);
    static const aot_rng_use uses[] = {AOT_RNG_SAVES, AOT_RNG_RESTORES, AOT_RNG_HANDED,
                                       AOT_RNG_SAVES};
    static const unsigned states[] = {0, 1, 3, 1}, orders[] = {1, 0, 1, 2};
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.d[i].use, uses[i]);
        assert_int_equal(s.d[i].state, states[i]);
        assert_int_equal(s.d[i].order, orders[i]);
    }
    assert_string_equal(s.d[0].op, "aten.native_dropout");
    assert_string_equal(s.d[0].generator, "cpu");
    assert_string_equal(s.d[2].generator, "fwd_rng_state_3");
    aot_vec_free(&s);
    aot_ctx_free(c);
}

static void a_submodule_draws_where_it_is_called(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    static const char text[] =
        "class G(torch.nn.Module):\n    def forward(self, x: " T "):\n"
        "        body = self.body\n"
        "        a: " T " = torch.ops.aten.rand_like.default(x)\n"
        "        w = torch.ops.higher_order.invoke_subgraph(body, 'body', x);  body = None\n"
        "        b: " T " = torch.ops.aten.randn_like.default(x);  x = None\n"
        "        return (a, b)\n\n"
        "    class body(torch.nn.Module):\n"
        "        def forward(self, arg0_1: " T "):\n"
        "            inner: " T " = torch.ops.aten.bernoulli.default(arg0_1);  arg0_1 = None\n"
        "            return (inner,)\n";
    aot_graph *g = NULL;
    aot_err err = {0};
    if (aot_parse_graph(&g, c, text, strlen(text), 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_rng_sites s = {0};
    aot_rng_find(&s, g);
    assert_int_equal(s.n, 3);
    assert_string_equal(s.d[1].op, "aten.bernoulli");
    assert_string_equal(aot_node_name(g, s.d[1].call), "w");
    assert_ptr_not_equal(s.d[1].g, g);
    assert_int_equal(s.d[2].order, 3);
    aot_vec_free(&s);
    aot_ctx_free(c);
}

static void orders_are_compared_by_what_is_drawn(void **state)
{
    (void)state;
    static const struct {
        const char *x, *y;
        aot_rng_order order;
        const char *text;
    } cases[] = {
        {OP("a", "rand_like.default(x)"), OP("b", "rand_like.default(x)"), AOT_RNG_SAME, ""},
        {OP("a", "rand_like.default(x)") OP("b", "randn_like.default(x)"),
         OP("b", "randn_like.default(x)") OP("a", "rand_like.default(x)"), AOT_RNG_REORDERED,
         "draw 1 is aten.randn_like, was aten.rand_like"},
        {OP("a", "bernoulli.default(x)") OP("d", "bernoulli.default(x)"),
         OP("a", "rand_like.default(x)"), AOT_RNG_OTHER,
         "aten.bernoulli (2) became aten.rand_like"},
        /* written in place or not, the kernel is one: PyTorch draws the same numbers */
        {OP("a", "bernoulli_.float(x, 0.5)") OP("b", "normal_.default(x)")
             OP("c", "uniform_.default(x)"),
         OP("a", "bernoulli.p(x, 0.5)") OP("b", "normal_functional.default(x)")
             OP("c", "uniform.default(x)"),
         AOT_RNG_SAME, ""},
        {OP("a", "exponential_.default(x)"), OP("a", "rand_like.default(x)"), AOT_RNG_OTHER,
         "aten.exponential became aten.rand_like"},
        {OP("a", "rand_like.default(x)"), "", AOT_RNG_OTHER, "aten.rand_like no longer drawn"},
        {"", OP("a", "rand_like.default(x)"), AOT_RNG_OTHER, "aten.rand_like drawn besides"},
        {"        a = torch.ops.aten.native_dropout.default(x, 0.5, False)\n", "", AOT_RNG_SAME,
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aot_ctx *c = aot_ctx_new();
        aot_rng_sites x = find(c, cases[i].x), y = find(c, cases[i].y);
        const char *text;
        assert_int_equal(aot_rng_compare(&text, &x, &y, c->arena), cases[i].order);
        assert_string_equal(text, cases[i].text);
        aot_vec_free(&x);
        aot_vec_free(&y);
        aot_ctx_free(c);
    }
}

static aot_rng cut(aot_ctx *c, const char *body, const char *outputs, const char *set)
{
    aot_sb text = {0};
    aot_config config;
    aot_graph *g = NULL;
    aot_partition *p = NULL;
    aot_err err = {0};
    aot_rng r;
    aot_sb_addf(&text,
                "class joint(torch.nn.Module):\n    def forward(self, primals, tangents):\n"
                "        primals_1: " T "; primals_2: " T "; tangents_1: " T "; \n\n"
                "        primals_1, primals_2, tangents_1, = fx_pytree.tree_flatten_spec([primals, "
                "tangents], self._in_spec)\n"
                "%s        return pytree.tree_unflatten([%s], self._out_spec)\n",
                body, outputs);
    aot_config_init(&config);
    aot_partition_in in = {.n_forward_outputs = 1, .n_static_inputs = -1};
    bool ok = (set == NULL || aot_config_set(&config, set, &err) == AOT_OK) &&
              aot_parse_graph(&g, c, text.d, text.n, 1, &err) == AOT_OK;
    in.joint = g;
    if (!ok || aot_partition_run(&p, &in, &config, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_rng_of(&r, p);
    aot_sb_free(&text);
    return r;
}

static const char dropout[] =
    OP("mm", "mm.default(primals_1, primals_2)") OP("rand", "rand_like.default(mm)")
        OP("mul", "mul.Tensor(mm, rand)") OP("mul_1", "mul.Tensor(tangents_1, rand)");

static void a_mask_drawn_again_is_told_and_a_saved_one_is_not(void **state)
{
    (void)state;
    aot_ctx *c = aot_ctx_new();
    aot_rng r = cut(c, dropout, "mul, mul_1, None", "activation_memory_budget=0");
    assert_int_equal(r.n_redrawn, 1);
    assert_int_equal(r.values.d[0].fate, AOT_RNG_REDRAWN);
    aot_rng_free(&r);
    r = cut(c, dropout, "mul, mul_1, None", NULL);
    assert_int_equal(r.n_redrawn, 0);
    assert_int_equal(r.values.d[0].fate, AOT_RNG_ONCE);
    assert_int_equal(r.values.d[0].backward, AOT_RNG_NOT_THERE);
    aot_rng_free(&r);
    aot_ctx_free(c);
}

/* Two masks of a region; the backward needs the second one first. */
static void each_value_finds_the_state_that_it_drew_with(void **state)
{
    (void)state;
    const char *body = OP("mm", "mm.default(primals_1, primals_2)")
        "        # ac_graph_id: 1 - MUST_RECOMPUTE\n"
        OP("rand", "rand_like.default(mm)") OP("mul", "mul.Tensor(mm, rand)")
        OP("randn", "randn_like.default(mul)") OP("mul_1", "mul.Tensor(mul, randn)")
        "        # File: \"m.py\", line 9 in f, code: y\n"
        OP("sin", "sin.default(mul_1)") OP("mul_2", "mul.Tensor(tangents_1, randn)")
        OP("mul_3", "mul.Tensor(mul_2, rand)");
    aot_ctx *c = aot_ctx_new();
    aot_rng r = cut(c, body, "sin, mul_3, None", NULL);
    assert_int_equal(r.values.n, 2);
    for (size_t i = 0; i < 2; i++) {
        const aot_rng_value *v = &r.values.d[i];
        assert_int_equal(v->fate, AOT_RNG_THREADED);
        assert_int_equal(r.forward.d[v->forward].state, i);
        assert_int_equal(r.backward.d[v->backward].state, i);
        assert_string_equal(r.forward.d[v->forward].op, r.cut.d[i].op);
        assert_string_equal(r.backward.d[v->backward].op, r.cut.d[i].op);
    }
    aot_rng_free(&r);
    aot_ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_generator_is_counted_apart),
        cmocka_unit_test(calls_that_draw_nothing_move_no_generator),
        cmocka_unit_test(nothing_is_drawn_for_an_empty_tensor),
        cmocka_unit_test(wrappers_say_which_state_they_take),
        cmocka_unit_test(a_submodule_draws_where_it_is_called),
        cmocka_unit_test(orders_are_compared_by_what_is_drawn),
        cmocka_unit_test(a_mask_drawn_again_is_told_and_a_saved_one_is_not),
        cmocka_unit_test(each_value_finds_the_state_that_it_drew_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
