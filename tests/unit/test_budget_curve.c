/* A unit cut at one budget after the other: the same answers as the model's under that setting. */
#include "fixture.h"
#include "session/budget_curve.h"

static aot_model *open_model(const char *setting)
{
    aot_model *m = NULL;
    aot_err err = {0};
    const char *input = fixture("logs/transformer_encoder_layer.log.gz");
    aot_model_options o = {.settings = &setting, .n_settings = setting != NULL};
    if (aot_model_open(&m, &input, 1, &o, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    return m;
}

static void a_point_is_what_the_model_cuts(void **state)
{
    static const struct {
        const char *setting;
        int at;
    } cases[] = {{"activation_memory_budget=0.0", 0},
                 {"activation_memory_budget=0.5", 500},
                 {"activation_memory_budget=0.99", 990},
                 {"activation_memory_budget=1.0", 1000}};
    aot_budget_curve *c;
    aot_err err = {0};
    (void)state;
    aot_model *m = open_model(NULL);
    assert_int_equal(aot_budget_curve_new(&c, m, 0, &err), AOT_OK);
    for (int times = 0; times < 3; times++) { // more cuts than one context is used for
        for (size_t i = 0; i < 4; i++) {
            const aot_partition *p;
            aot_model *other = open_model(cases[i].setting);
            aot_budget_curve_cut(c, cases[i].at);
            aot_budget_curve_cut(c, cases[i].at / 2 + times);
            const aot_budget_point *x = aot_budget_curve_find(c, cases[i].at);
            assert_int_equal(aot_model_partition(other, 0, &p, &err), AOT_OK);
            assert_non_null(x);
            assert_int_equal(x->saved_bytes, p->saved_bytes);
            assert_int_equal(x->n_saved, p->n_saved + p->n_saved_sym);
            assert_true(x->recompute_flops == p->recompute_flops);
            for (uint32_t k = 0; k < p->n_saved; k++) {
                assert_true(aot_budget_saves(x, p->saved[k]));
            }
            aot_model_free(other);
        }
    }
    aot_budget_curve_free(c);
    aot_model_free(m);
}

static void steps_end_where_neighbours_are_the_same_or_near(void **state)
{
    aot_budget_curve *c;
    aot_err err = {0};
    unsigned n = 0;
    (void)state;
    aot_model *m = open_model(NULL);
    assert_int_equal(aot_budget_curve_new(&c, m, 0, &err), AOT_OK);
    while (aot_budget_curve_step(c, 10)) {
        assert_true(++n <= AOT_BUDGET_STEPS);
    }
    assert_int_equal(aot_budget_curve_count(c), n);
    assert_int_equal(aot_budget_curve_point(c, 0)->at, 0);
    assert_int_equal(aot_budget_curve_point(c, n - 1)->at, AOT_BUDGET_STEPS);
    unsigned flips = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        const aot_budget_point *a = aot_budget_curve_point(c, i), *b = a + 1;
        assert_true(a->at < b->at);
        bool same = aot_budget_same_saved(c, a, b);
        assert_true(same || b->at - a->at <= 10);
        assert_ptr_equal(same ? b : aot_budget_curve_next(c, a->at, 1), b);
        flips += !same;
    }
    assert_true(flips > 3);
    aot_budget_curve_free(c);
    aot_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_point_is_what_the_model_cuts),
        cmocka_unit_test(steps_end_where_neighbours_are_the_same_or_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
