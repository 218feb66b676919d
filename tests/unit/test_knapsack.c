/* The budget's solvers on instances that PyTorch solved (fixtures/knapsack), and their known
 * faults. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "partition/knapsack.h"
#include "pipeline/config.h"

enum { MAX = 64 };

static void read_numbers(json_t *list, double *out)
{
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v) {
        out[i] = json_number_value(v);
    }
}

static void same_list(json_t *want, const uint32_t *got, uint32_t n, const char *what)
{
    if (json_array_size(want) != n) {
        fail_msg("%s: want %zu items, got %u", what, json_array_size(want), n);
    }
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(json_integer_value(json_array_get(want, i)), got[i]);
    }
}

static void instances_are_solved_as_pytorch_solves_them(const char *solver)
{
    char path[4096];
    const char *fixtures = getenv("AOT_FIXTURES");
    json_error_t je;
    snprintf(path, sizeof path, "%s/knapsack/instances.json",
             fixtures != NULL ? fixtures : "fixtures");
    json_t *all = json_load_file(path, 0, &je), *c;
    size_t i, solved = 0;
    assert_non_null(all);
    json_array_foreach(all, i, c) {
        json_t *want = json_object_get(c, solver);
        double memory[MAX], runtime[MAX];
        uint32_t saved[MAX], recomputed[MAX];
        aot_knapsack k = {memory, runtime, (uint32_t)json_array_size(json_object_get(c, "memory")),
                          json_number_value(json_object_get(c, "max_memory"))};
        aot_knapsack_choice got = {.saved = saved, .recomputed = recomputed};
        aot_err err = {0};
        assert_true(k.n <= MAX);
        read_numbers(json_object_get(c, "memory"), memory);
        read_numbers(json_object_get(c, "runtime"), runtime);
        if (json_object_get(want, "error") != NULL) {
            continue;
        }
        assert_int_equal(aot_knapsack_solve(&got, &k, solver, &err), AOT_OK);
        same_list(json_object_get(want, "saved"), got.saved, got.n_saved, "saved");
        same_list(json_object_get(want, "recomputed"), got.recomputed, got.n_recomputed,
                  "recomputed");
        solved++;
    }
    assert_true(solved > 10);
    json_decref(all);
}

static void greedy_chooses_as_pytorch_does(void **state)
{
    (void)state;
    instances_are_solved_as_pytorch_solves_them("greedy");
}

static void dp_chooses_as_pytorch_does(void **state)
{
    (void)state;
    instances_are_solved_as_pytorch_solves_them("dp");
}

static void hirschberg_chooses_as_pytorch_does(void **state)
{
    (void)state;
    instances_are_solved_as_pytorch_solves_them("dp_knapsack_sliding_hirschberg");
}

static void hirschberg_exceeds_its_capacity_as_pytorch_does(void **state)
{
    (void)state;
    const double memory[] = {1e-4, 1e-4, 1e-4}, runtime[] = {1, 1, 1};
    uint32_t saved[3], recomputed[3];
    aot_knapsack k = {memory, runtime, 3, 1e-4};
    aot_knapsack_choice c = {.saved = saved, .recomputed = recomputed};
    assert_int_equal(aot_knapsack_solve(&c, &k, "dp_knapsack_sliding_hirschberg", NULL), AOT_OK);
    assert_int_equal(c.n_saved, 2);
    assert_int_equal(saved[0], 0);
    assert_int_equal(saved[1], 1);
}

static void greedy_refuses_items_without_memory(void **state)
{
    (void)state;
    const double memory[] = {0.5, 0}, runtime[] = {1, 1};
    uint32_t saved[2], recomputed[2];
    aot_knapsack k = {memory, runtime, 2, 1};
    aot_knapsack_choice c = {.saved = saved, .recomputed = recomputed};
    aot_err err = {0};
    assert_int_equal(aot_knapsack_solve(&c, &k, "greedy", &err), AOT_E_RANGE);
    assert_non_null(strstr(err.msg, "item 1 takes no memory"));
}

static void the_knee_is_found_where_pytorch_finds_it(void **state)
{
    (void)state;
    instances_are_solved_as_pytorch_solves_them("dynamic_memory_budget_dp");
}

static void the_knee_refuses_items_without_memory_at_all(void **state)
{
    (void)state;
    const double memory[] = {0, 0}, runtime[] = {1, 1};
    uint32_t saved[2], recomputed[2];
    aot_knapsack k = {memory, runtime, 2, 1};
    aot_knapsack_choice c = {.saved = saved, .recomputed = recomputed};
    aot_err err = {0};
    assert_int_equal(aot_knapsack_solve(&c, &k, "dynamic_memory_budget_dp", &err), AOT_E_RANGE);
    assert_non_null(strstr(err.msg, "no memory"));
}

/* The most runtime of all subsets that fit: an answer that owes nothing to a solver. */
static double most_runtime(const aot_knapsack *k)
{
    double most = 0;
    for (uint32_t set = 0; set < 1u << k->n; set++) {
        double memory = 0, runtime = 0;
        for (uint32_t i = 0; i < k->n; i++) {
            memory += (set >> i & 1) != 0 ? k->memory[i] : 0;
            runtime += (set >> i & 1) != 0 ? k->runtime[i] : 0;
        }
        most = memory <= k->max_memory && runtime > most ? runtime : most;
    }
    return most;
}

static void the_integer_program_is_within_its_gap_of_the_best(void **state)
{
    (void)state;
    uint32_t saved[12], recomputed[12];
    double memory[12], runtime[12];
    srand(7);
    for (int round = 0; round < 60; round++) {
        aot_knapsack k = {memory, runtime, 1 + (uint32_t)rand() % 12, (rand() % 100) / 100.0};
        aot_knapsack_choice c = {.saved = saved, .recomputed = recomputed};
        double used = 0, scale = round % 3 == 0 ? 1 : round % 3 == 1 ? 1e9 : 1e-3;
        for (uint32_t i = 0; i < k.n; i++) {
            memory[i] = (rand() % 1000) / 3000.0;
            runtime[i] = scale * (1 + rand() % 500);
        }
        assert_int_equal(aot_knapsack_solve(&c, &k, "ilp", NULL), AOT_OK);
        assert_int_equal(c.n_saved + c.n_recomputed, k.n);
        for (uint32_t i = 0; i < c.n_saved; i++) {
            used += memory[saved[i]];
        }
        assert_true(used <= k.max_memory + 1e-6);
        assert_true(c.runtime >= most_runtime(&k) * (1 - 1e-4));
    }
}

/* What PyTorch (scipy's HiGHS) keeps where several answers are as good. */
static void of_items_alike_the_integer_program_keeps_those_that_highs_keeps(void **state)
{
    static const struct {
        uint32_t n;
        double memory[6], runtime[6], budget;
        uint32_t n_saved, saved[6];
    } cases[] = {
        {4, {.25, .25, .25, .25}, {8192, 8192, 8192, 8192}, .51, 2, {2, 3}},
        {3, {1 / 3., 1 / 3., 1 / 3.}, {8192, 8192, 8192}, .34, 1, {2}},
        {2, {.5, .5}, {8192, 8192}, .51, 1, {0}},
        {3, {.3846, .3077, .3077}, {1, 524288, 524288}, .5, 1, {2}},
        // the first does not fit: a pair is left
        {3, {.571, .429, .429}, {16384, 1, 1}, .5, 1, {1}},
        {5, {.174, .174, .174, .065, .065}, {1, 1, 1, 8192, 8192}, .1, 1, {3}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t saved[6], recomputed[6];
        aot_knapsack k = {cases[i].memory, cases[i].runtime, cases[i].n, cases[i].budget};
        aot_knapsack_choice got = {.saved = saved, .recomputed = recomputed};
        aot_err err = {0};
        assert_int_equal(aot_knapsack_solve(&got, &k, "ilp", &err), AOT_OK);
        assert_int_equal(got.n_saved, cases[i].n_saved);
        assert_memory_equal(saved, cases[i].saved, got.n_saved * sizeof *saved);
    }
}

static void every_solver_of_the_setting_is_built(void **state)
{
    (void)state;
    const char *choices = aot_config_find("activation_memory_budget_solver")->range;
    size_t length = 0;
    for (unsigned i = 0; aot_knapsack_name(i) != NULL; i++) {
        assert_non_null(strstr(choices, aot_knapsack_name(i)));
        length += strlen(aot_knapsack_name(i)) + 1;
    }
    assert_int_equal(length, strlen(choices) + 1);
}

static void a_solver_that_does_not_exist_is_named(void **state)
{
    (void)state;
    uint32_t none[1];
    aot_knapsack k = {NULL, NULL, 0, 1};
    aot_knapsack_choice c = {.saved = none, .recomputed = none};
    aot_err err = {0};
    assert_int_equal(aot_knapsack_solve(&c, &k, "simplex", &err), AOT_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "'simplex'"));
}

/* dp by the book: a row for every item and every capacity. */
static uint32_t plain_dp(const aot_knapsack *k, uint32_t *saved)
{
    int64_t max = aot_knapsack_units(k->max_memory), size = max + 1;
    float *row = calloc((k->n + 1) * (size_t)size, sizeof *row);
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        const float *from = row + i * size;
        float *to = row + (i + 1) * size;
        int64_t m = aot_knapsack_units(k->memory[i]);
        for (int64_t j = 0; j < size; j++) {
            float with = j >= m ? from[j - m] + (float)k->runtime[i] : 0;
            to[j] = m == 0 || with > from[j] ? with : from[j];
        }
    }
    for (uint32_t i = k->n; i-- > 0;) {
        if (row[(i + 1) * size + max] != row[i * size + max]) {
            saved[n++] = i;
            max -= aot_knapsack_units(k->memory[i]);
        }
    }
    free(row);
    for (uint32_t i = 0; i < n / 2; i++) {
        uint32_t t = saved[i];
        saved[i] = saved[n - 1 - i];
        saved[n - 1 - i] = t;
    }
    return n;
}

/* Items of less than half a unit between and behind the others, and more memory than all take. */
static void kept_tables_answer_every_capacity_as_the_plain_program(void **state)
{
    enum { N = 40 };
    uint64_t seed = 7;
    (void)state;
    for (int round = 0; round < 40; round++) {
        double memory[N], runtime[N];
        aot_knapsack_memo *memo = aot_knapsack_memo_new();
        for (int i = 0; i < N; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint32_t r = (uint32_t)(seed >> 33);
            memory[i] = r % 3 == 0 || i > N - 4 ? 0.00003 : r % (round % 2 == 0 ? 40 : 900) / 1e4;
            runtime[i] = r % 7 == 0 ? 1e-3 : r % 100000; // some too short to count beside the rest
        }
        for (int b = 0; b <= 20; b++) {
            uint32_t saved[N], recomputed[N], want[N];
            aot_knapsack k = {memory, runtime, N, b * b / 400.};
            aot_knapsack_choice got = {.saved = saved, .recomputed = recomputed};
            aot_err err = {0};
            assert_int_equal(aot_knapsack_solve_with(memo, &got, &k, "dp", &err), AOT_OK);
            assert_int_equal(got.n_saved, plain_dp(&k, want));
            assert_memory_equal(saved, want, got.n_saved * sizeof *want);
            assert_int_equal(got.n_saved + got.n_recomputed, N);
            assert_int_equal(aot_knapsack_solve(&got, &k, "dp", &err), AOT_OK);
            assert_memory_equal(saved, want, got.n_saved * sizeof *want);
        }
        aot_knapsack_memo_free(memo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_chooses_as_pytorch_does),
        cmocka_unit_test(dp_chooses_as_pytorch_does),
        cmocka_unit_test(kept_tables_answer_every_capacity_as_the_plain_program),
        cmocka_unit_test(hirschberg_chooses_as_pytorch_does),
        cmocka_unit_test(hirschberg_exceeds_its_capacity_as_pytorch_does),
        cmocka_unit_test(greedy_refuses_items_without_memory),
        cmocka_unit_test(the_knee_is_found_where_pytorch_finds_it),
        cmocka_unit_test(the_knee_refuses_items_without_memory_at_all),
        cmocka_unit_test(the_integer_program_is_within_its_gap_of_the_best),
        cmocka_unit_test(of_items_alike_the_integer_program_keeps_those_that_highs_keeps),
        cmocka_unit_test(every_solver_of_the_setting_is_built),
        cmocka_unit_test(a_solver_that_does_not_exist_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
