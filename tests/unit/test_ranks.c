/* Ranks side by side: each verdict on texts that differ in one thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "lint/ranks.h"

static aot_model *m;
static aot_ranks r;

static int open_ranks(void **state)
{
    aot_err err = {0};
    aot_model_options o = {0};
    (void)state;
    const char *input = fixture("logs/ranks");
    if (aot_model_open(&m, &input, 1, &o, &err) != AOT_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return -1;
    }
    aot_ranks_init(&r, m);
    while (aot_ranks_step(&r, m)) {
    }
    return 0;
}

static int close_ranks(void **state)
{
    (void)state;
    aot_ranks_free(&r);
    aot_model_free(m);
    return 0;
}

static void a_group_has_a_row_for_each_rank(void **state)
{
    (void)state;
    assert_int_equal(r.ranks.n, 5);
    assert_int_equal(r.groups.n, 1);
    assert_int_equal(r.units.n, 5);
    assert_true(r.units.d[0].first);
    assert_string_equal(r.ranks.d[4], "rank 4");
}

static void equal_ranks_are_the_same(void **state)
{
    (void)state;
    const aot_rank_unit *u = &r.units.d[1];
    assert_int_equal(aot_rank_unit_verdict(u), AOT_RANK_SAME);
    assert_int_equal(u->stage, AOT_N_STAGES);
    assert_int_equal(u->n_collectives, 2); // waiting is none
    assert_int_equal(u->saved_bytes, r.units.d[0].saved_bytes);
}

static void another_batch_size_is_no_difference(void **state)
{
    (void)state;
    const aot_rank_unit *u = &r.units.d[2];
    assert_int_equal(u->graph, AOT_RANK_SIZES);
    assert_int_equal(u->saved, AOT_RANK_SIZES);
    assert_int_equal(u->collectives, AOT_RANK_SIZES);
    assert_int_equal(u->saved_less + u->saved_more, 0);
    assert_int_equal(aot_rank_unit_verdict(u), AOT_RANK_SIZES);
}

static void another_reduction_is_one(void **state)
{
    (void)state;
    const aot_rank_unit *u = &r.units.d[3];
    assert_int_equal(u->graph, AOT_RANK_DIFFERS);
    assert_int_equal(u->stage, AOT_STAGE_JOINT);
    assert_int_equal(u->counts.n[AOT_EDIT_CHANGED], 1);
    assert_int_equal(u->saved, AOT_RANK_SAME);
    assert_int_equal(u->place, 2);
    assert_string_equal(u->theirs, "all_reduce('sum', '0')");
    assert_string_equal(u->ours, "all_reduce('avg', '0')");
}

static void a_collective_too_few_leaves_nothing_in_its_place(void **state)
{
    (void)state;
    const aot_rank_unit *u = &r.units.d[4];
    assert_int_equal(u->collectives, AOT_RANK_DIFFERS);
    assert_int_equal(u->n_collectives, 1);
    assert_int_equal(u->place, 2);
    assert_null(u->ours);
    assert_int_equal(u->saved, AOT_RANK_DIFFERS);
    assert_int_equal(u->saved_less, 1);
    assert_int_equal(u->saved_more, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_has_a_row_for_each_rank),
        cmocka_unit_test(equal_ranks_are_the_same),
        cmocka_unit_test(another_batch_size_is_no_difference),
        cmocka_unit_test(another_reduction_is_one),
        cmocka_unit_test(a_collective_too_few_leaves_nothing_in_its_place),
    };
    return cmocka_run_group_tests(tests, open_ranks, close_ranks);
}
