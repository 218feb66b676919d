/* Graphs matched by structure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/diff.h"
#include "ir/text.h"

#define T "\"f32[4][1]cpu\""

static aot_graph *parse(aot_ctx *c, const char *body, const char *returned)
{
    aot_graph *g = NULL;
    aot_err err = {0};
    aot_sb text = {0};
    aot_sb_addf(&text,
                "class G(torch.nn.Module):\n    def forward(self, x: " T ", y: " T
                "):\n%s        return (%s,)\n",
                body, returned);
    if (aot_parse_graph(&g, c, text.d, text.n, 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_sb_free(&text);
    return g;
}

#define OP(name, call) "        " name ": " T " = torch.ops.aten." call "\n"

/* Parses both, compares, checks the counts: same, changed, removed, added. */
static void expect(const char *a, const char *ra, const char *b, const char *rb,
                   const uint32_t want[4])
{
    aot_ctx *c = aot_ctx_new(), *d = aot_ctx_new(); // contexts need not be the same
    aot_edits edits = {0};
    aot_diff_counts n = aot_graph_diff(&edits, parse(c, a, ra), parse(d, b, rb));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(n.n[i], want[i]);
    }
    assert_int_equal(edits.n, n.n[0] + n.n[1] + n.n[2] + n.n[3]);
    aot_vec_free(&edits);
    aot_ctx_free(c);
    aot_ctx_free(d);
}

static void names_count_for_nothing(void **state)
{
    (void)state;
    expect(OP("sin", "sin.default(x)") OP("add", "add.Tensor(sin, y)"), "add",
           OP("p", "sin.default(x)") OP("q", "add.Tensor(p, y)"), "q", (uint32_t[]){5, 0, 0, 0});
}

static void one_change_is_one_change_whatever_stands_below(void **state)
{
    (void)state;
    expect(OP("a", "sin.default(x)") OP("b", "exp.default(a)") OP("c", "add.Tensor(b, y)")
               OP("d", "mul.Tensor(c, b)"),
           "d",
           OP("a", "cos.default(x)") OP("b", "exp.default(a)") OP("c", "add.Tensor(b, y)")
               OP("d", "mul.Tensor(c, b)"),
           "d", (uint32_t[]){5, 1, 1, 1}); // exp reads another value now; sin left, cos came
}

static void another_constant_is_a_change(void **state)
{
    (void)state;
    expect(OP("a", "add.Tensor(x, 1)") OP("b", "exp.default(a)"), "b",
           OP("a", "add.Tensor(x, 2)") OP("b", "exp.default(a)"), "b", (uint32_t[]){4, 1, 0, 0});
}

static void swapped_operands_are_a_change(void **state)
{
    (void)state;
    expect(OP("a", "sub.Tensor(x, y)"), "a", OP("a", "sub.Tensor(y, x)"), "a",
           (uint32_t[]){3, 1, 0, 0});
}

static void removed_nodes_are_found_among_equal_ones(void **state)
{
    (void)state;
    expect(OP("a", "sin.default(x)") OP("b", "sin.default(a)") OP("c", "sin.default(b)"), "c",
           OP("a", "sin.default(x)") OP("b", "sin.default(a)"), "b", (uint32_t[]){4, 1, 1, 0});
}

static void a_graph_against_itself_with_random_nodes_taken_out(void **state)
{
    (void)state;
    enum { N = 400 };
    srand(11);
    for (int round = 0; round < 30; round++) {
        aot_sb a = {0}, b = {0};
        uint32_t dropped = 0;
        aot_ctx *c = aot_ctx_new();
        aot_edits edits = {0};
        for (int i = 0; i < N; i++) { // every node stands alone, so nothing below it changes
            char line[128];
            snprintf(line, sizeof line, "        v%d: " T " = torch.ops.aten.add.Tensor(x, %d)\n",
                     i, rand() % 50);
            aot_sb_addz(&a, line);
            if (rand() % 10 != 0) {
                aot_sb_addz(&b, line);
            } else {
                dropped++;
            }
        }
        aot_diff_counts n = aot_graph_diff(&edits, parse(c, a.d, "x"), parse(c, b.d, "x"));
        assert_int_equal(n.n[AOT_EDIT_REMOVED], dropped);
        assert_int_equal(n.n[AOT_EDIT_SAME], N - dropped + 3);
        assert_int_equal(n.n[AOT_EDIT_ADDED] + n.n[AOT_EDIT_CHANGED], 0);
        aot_vec_free(&edits);
        aot_sb_free(&a);
        aot_sb_free(&b);
        aot_ctx_free(c);
    }
}

static void graphs_with_nothing_in_common_end_in_time(void **state)
{
    (void)state;
    enum { N = 20000 };
    aot_sb a = {0}, b = {0};
    aot_ctx *c = aot_ctx_new();
    aot_edits edits = {0};
    for (int i = 0; i < N; i++) {
        aot_sb_addf(&a, "        v%d: " T " = torch.ops.aten.add.Tensor(x, %d)\n", i, i);
        aot_sb_addf(&b, "        v%d: " T " = torch.ops.aten.mul.Tensor(x, %d)\n", i, i);
    }
    aot_diff_counts n = aot_graph_diff(&edits, parse(c, a.d, "x"), parse(c, b.d, "x"));
    assert_int_equal(n.n[AOT_EDIT_REMOVED], N);
    assert_int_equal(n.n[AOT_EDIT_ADDED], N);
    aot_vec_free(&edits);
    aot_sb_free(&a);
    aot_sb_free(&b);
    aot_ctx_free(c);
}

/* Bodies with inputs of their own: "NAME: type, ..." and what is returned. */
static aot_diff_counts counts_of(const char *a, const char *b)
{
    aot_ctx *c = aot_ctx_new(), *d = aot_ctx_new();
    aot_edits edits = {0};
    aot_graph *g = NULL, *h = NULL;
    assert_int_equal(aot_parse_graph(&g, c, a, strlen(a), 1, NULL), AOT_OK);
    assert_int_equal(aot_parse_graph(&h, d, b, strlen(b), 1, NULL), AOT_OK);
    aot_diff_counts n = aot_graph_diff(&edits, g, h);
    aot_vec_free(&edits);
    aot_ctx_free(c);
    aot_ctx_free(d);
    return n;
}

#define HEAD(inputs) "class G(torch.nn.Module):\n    def forward(self, " inputs "):\n"
#define U "\"f32[9][1]cpu\""

static void inputs_of_other_names_are_matched_by_type_in_their_order(void **state)
{
    (void)state;
    aot_diff_counts n =
        counts_of(HEAD("L_x_: " T ", L_w_: " U ", L_y_: " T)
                      OP("a", "sub.Tensor(L_x_, L_y_)") "        return (a, L_w_)\n",
                  HEAD("n1: " T ", n2: " U ", n3: " T)
                      OP("b", "sub.Tensor(n1, n3)") "        return (b, n2)\n");
    assert_true(aot_diff_is_same(&n));
    assert_int_equal(n.renamed, 3);
    // one more input on one side shifts nothing
    n = counts_of(HEAD("L_x_: " T ", L_y_: " T)
                      OP("a", "sub.Tensor(L_x_, L_y_)") "        return (a,)\n",
                  HEAD("new: " U ", n1: " T ", n3: " T)
                      OP("b", "sub.Tensor(n1, n3)") "        return (b,)\n");
    assert_int_equal(n.n[AOT_EDIT_SAME], 4);
    assert_int_equal(n.n[AOT_EDIT_ADDED], 1);
}

static void an_input_of_a_name_of_both_sides_is_no_other_one(void **state)
{
    (void)state;
    aot_diff_counts n =
        counts_of(HEAD("x: " T ", y: " T) OP("a", "sub.Tensor(x, y)") "        return (a,)\n",
                  HEAD("y: " T ", x: " T) OP("a", "sub.Tensor(y, x)") "        return (a,)\n");
    assert_false(aot_diff_is_same(&n));
    assert_int_equal(n.renamed, 0);
    n = counts_of(HEAD("x: " T ", y: " T) OP("a", "sub.Tensor(x, y)") "        return (a,)\n",
                  HEAD("p: " T ", q: " T) OP("a", "sub.Tensor(q, p)") "        return (a,)\n");
    assert_false(aot_diff_is_same(&n)); // renamed, and swapped besides
}

/* Another batch on another rank: every node has its counterpart, inputs too, and the one that is
 * new is found. */
static void the_same_program_at_another_size_is_changed_and_not_replaced(void **state)
{
    (void)state;
#define BODY(t, n, more)                                                                           \
    HEAD("x: " t ", y: " T)                                                                        \
    "        view: " t " = torch.ops.aten.view.default(x, [" n "])\n"                              \
    "        sin: " t " = torch.ops.aten.sin.default(view)\n        neg: " t                       \
    " = torch.ops.aten.neg.default(sin)\n" more "        exp: " t                                  \
    " = torch.ops.aten.exp.default(neg)\n        sin_1: " t " = torch.ops.aten.sin.default(exp)\n" \
    "        return (sin_1, y)\n"
    aot_diff_counts n = counts_of(
        BODY(T, "4", ""), BODY(U, "9", "        sin_2: " U " = torch.ops.aten.sin.default(x)\n"));
    assert_int_equal(n.n[AOT_EDIT_REMOVED], 0);
    assert_int_equal(n.n[AOT_EDIT_ADDED], 1); // sin_2, in spite of sin_1 of the same target
    assert_int_equal(n.n[AOT_EDIT_CHANGED], 6);
    assert_int_equal(n.n[AOT_EDIT_SAME], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_count_for_nothing),
        cmocka_unit_test(one_change_is_one_change_whatever_stands_below),
        cmocka_unit_test(another_constant_is_a_change),
        cmocka_unit_test(swapped_operands_are_a_change),
        cmocka_unit_test(removed_nodes_are_found_among_equal_ones),
        cmocka_unit_test(a_graph_against_itself_with_random_nodes_taken_out),
        cmocka_unit_test(inputs_of_other_names_are_matched_by_type_in_their_order),
        cmocka_unit_test(an_input_of_a_name_of_both_sides_is_no_other_one),
        cmocka_unit_test(the_same_program_at_another_size_is_changed_and_not_replaced),
        cmocka_unit_test(graphs_with_nothing_in_common_end_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
