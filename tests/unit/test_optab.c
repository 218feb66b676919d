/* The operator table: every row complete, names and packets consistent, and equal to what PyTorch
 * 2.11 says of the operators in fixtures/ops/known.tsv. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ops/op_ids.h"
#include "ops/optab.h"
#include "ops/schema.h"

static aot_op_id find(const char *name)
{
    return aot_op_find(name, strlen(name));
}

static const aot_op_info *need(const char *name)
{
    aot_op_id id = find(name);
    if (id == AOT_OP_UNKNOWN) {
        fail_msg("%s is not in the table", name);
    }
    return aot_op(id);
}

static void every_cell_of_every_row_is_present(void **state)
{
    (void)state;
    for (size_t i = 1; i < aot_op_count(); i++) {
        for (aot_rule r = 0; r < AOT_N_RULES; r++) {
            aot_gap g = aot_op_gap((aot_op_id)i, r);
            if (g == AOT_GAP_unstated) {
                fail_msg("%s says nothing of its %s rule", aot_op((aot_op_id)i)->name,
                         aot_rule_name(r));
            }
            assert_int_equal(g == AOT_GAP_written, aot_op_rule((aot_op_id)i, r) != NULL);
        }
    }
}

static void every_name_finds_its_own_row(void **state)
{
    (void)state;
    for (size_t i = 1; i < aot_op_count(); i++) {
        const char *name = aot_op((aot_op_id)i)->name;
        if (find(name) != i) {
            fail_msg("%s stands in rows %zu and %u", name, i, find(name));
        }
    }
}

/* The id in C is the name with _ for dots, without "default": what op_ids.h promises. */
static void every_id_spells_the_name(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        aot_op_id number;
    } ids[] = {
#define OP(id, text, cells) {#id, AOT_OP_##id},
#include "ops/op_cells.h"
    };
    assert_int_equal(sizeof ids / sizeof ids[0] + 1, aot_op_count());
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char want[256];
        const char *name = aot_op(ids[i].number)->name;
        size_t n = strlen(name);
        snprintf(want, sizeof want, "%.*s", (int)(aot_ends_with(name, ".default") ? n - 8 : n),
                 name);
        for (char *p = want; *p; p++) {
            *p = *p == '.' ? '_' : *p;
        }
        /* two names may give one spelling: then the longer id keeps its "_default" */
        if (strcmp(ids[i].id, want) != 0 && !(aot_starts_with(ids[i].id, want) &&
                                              strcmp(ids[i].id + strlen(want), "_default") == 0)) {
            fail_msg("row %s is called %s", name, ids[i].id);
        }
    }
}

static void names_of_schemas_agree_with_rows(void **state)
{
    (void)state;
    aot_arena *a = aot_arena_new();
    for (size_t i = 1; i < aot_op_count(); i++) {
        const aot_op_info *o = aot_op((aot_op_id)i);
        if (!o->schema) {
            assert_ptr_equal(o->name, o->packet);
            continue;
        }
        aot_schema s;
        assert_int_equal(aot_schema_parse(&s, a, o->schema, NULL), AOT_OK);
        char want[256];
        snprintf(want, sizeof want, "%s.%.*s", o->packet, s.overload.n > 0 ? (int)s.overload.n : 7,
                 s.overload.n > 0 ? s.overload.s : "default");
        assert_string_equal(o->name, want);
    }
    aot_arena_free(a);
}

static void all_overloads_of_a_packet_have_the_same_classes(void **state)
{
    (void)state;
    for (size_t i = 1; i < aot_op_count(); i++) {
        const aot_op_info *o = aot_op((aot_op_id)i);
        uint32_t part = aot_op_packet_part(o->packet, strlen(o->packet));
        if (part != o->part) {
            fail_msg("%s has classes %#x, its packet %#x", o->name, o->part, part);
        }
    }
}

static void a_packet_is_not_a_row(void **state)
{
    (void)state;
    assert_int_equal(find("aten.mul"), AOT_OP_UNKNOWN);
    assert_int_equal(find("aten.mul.Tenso"), AOT_OP_UNKNOWN);
    assert_int_equal(find("aten.mul.Tensors"), AOT_OP_UNKNOWN);
    assert_int_equal(find("torch.ops."), AOT_OP_UNKNOWN);
    assert_int_equal(find(""), AOT_OP_UNKNOWN);
    assert_string_equal(aot_op(AOT_OP_UNKNOWN)->name, "?");
    assert_string_equal(aot_op(UINT16_MAX)->name, "?");
}

static void torch_ops_before_a_name_is_understood(void **state)
{
    (void)state;
    assert_int_equal(find("torch.ops.aten.mul.Tensor"), AOT_OP_aten_mul_Tensor);
    assert_int_equal(find("aten.mul.Tensor"), AOT_OP_aten_mul_Tensor);
    assert_int_equal(find("torch.ops.higher_order.cond"), AOT_OP_higher_order_cond);
    assert_int_equal(aot_op_packet_part("torch.ops.aten.mm", strlen("torch.ops.aten.mm")),
                     AOT_PART_COMPUTE_INTENSIVE);
    assert_int_equal(aot_op_packet_part("aten.nothing", strlen("aten.nothing")), 0);
}

static void only_what_is_given_of_a_name_is_read(void **state)
{
    (void)state;
    assert_int_equal(aot_op_find("aten.mul.Tensor_mode", strlen("aten.mul.Tensor")),
                     AOT_OP_aten_mul_Tensor);
}

static void python_operators_are_rows(void **state)
{
    (void)state;
    static const char *const pure[] = {"operator.getitem", "operator.add",  "operator.floordiv",
                                       "math.ceil",        "torch.sym_max", "torch.sym_not",
                                       "torch._sym_sqrt",  "round"};
    for (size_t i = 0; i < sizeof pure / sizeof pure[0]; i++) {
        const aot_op_info *o = need(pure[i]);
        assert_int_equal(o->flags, AOT_OPF_PYTHON);
        assert_int_equal(o->part, AOT_PART_FUSIBLE | AOT_PART_RECOMPUTABLE);
        assert_null(o->schema);
    }
    assert_int_equal(need("operator.setitem")->flags, AOT_OPF_PYTHON | AOT_OPF_SIDE_EFFECT);
    assert_int_equal(need("torch.sym_sum")->part, 0); /* PyTorch leaves it out of its list */
    assert_int_equal(find("operator.getitem"), AOT_OP_GETITEM);
}

static void higher_order_operators_are_rows(void **state)
{
    (void)state;
    static const char *const names[] = {"cond",
                                        "while_loop",
                                        "scan",
                                        "map_impl",
                                        "flex_attention",
                                        "invoke_subgraph",
                                        "auto_functionalized_v2",
                                        "triton_kernel_wrapper_mutation",
                                        "run_and_save_rng_state",
                                        "tag_activation_checkpoint",
                                        "wrap_with_set_grad_enabled",
                                        "associative_scan",
                                        "out_dtype"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "higher_order.%s", names[i]);
        assert_int_equal(need(name)->flags, AOT_OPF_HIGHER_ORDER);
    }
    assert_true(need("higher_order.call_torchbind")->flags & AOT_OPF_SIDE_EFFECT);
    assert_true(need("higher_order.print")->flags & AOT_OPF_SIDE_EFFECT);
}

static void operators_with_side_effects_are_marked(void **state)
{
    (void)state;
    static const char *const names[] = {"aten._assert_async.msg",
                                        "aten._assert_scalar.default",
                                        "aten.sym_constrain_range_for_size.default",
                                        "aten._print.default",
                                        "_c10d_functional.wait_tensor.default",
                                        "inductor.accumulate_grad_.default",
                                        "prims._sink_tokens.default"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_true(need(names[i])->flags & AOT_OPF_SIDE_EFFECT);
    }
    assert_false(need("aten.add_.Tensor")->flags & AOT_OPF_SIDE_EFFECT);
    assert_false(need("aten._assert_async.default")->flags & AOT_OPF_SIDE_EFFECT);
}

/* ---- what PyTorch says ------------------------------------------------------------------- */

static void add_word(void *arg, const char *word)
{
    aot_sb_addz(arg, word);
    aot_sb_addc(arg, ',');
}

/* The words in a cell, or of a row, each followed by a comma, in alphabetical order. */
static char *sorted(const char *words)
{
    char *copy = strdup(words), *save = NULL;
    const char *list[32];
    size_t n = 0;
    aot_sb out = {0};
    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        size_t at = n++;
        for (; at > 0 && strcmp(list[at - 1], w) > 0; at--) {
            list[at] = list[at - 1];
        }
        list[at] = w;
    }
    for (size_t i = 0; i < n; i++) {
        add_word(&out, list[i]);
    }
    char *text = strdup(aot_sb_text(&out));
    aot_sb_free(&out);
    free(copy);
    return text;
}

static void expect_words(const char *op, const char *want, const char *got)
{
    char *w = sorted(want), *g = sorted(got);
    if (strcmp(w, g) != 0) {
        fail_msg("%s: PyTorch says '%s', the row '%s'", op, w, g);
    }
    free(w);
    free(g);
}

/* One line of known.tsv: operator, schema, tags, mutates, aliases, classes, two tables, kernels. */
static void expect_row(char *line)
{
    enum { COLUMNS = 9 };
    char *cell[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        cell[i] = strsep(&line, "\t");
        assert_non_null(cell[i]);
    }
    const aot_op_info *o = need(cell[0]);
    aot_sb got = {0};
    assert_string_equal(o->schema, cell[1]);
    aot_op_each_tag(o->tags, add_word, &got);
    expect_words(cell[0], cell[2], aot_sb_text(&got));
    aot_sb_clear(&got);
    aot_op_each_part(o->part, add_word, &got);
    expect_words(cell[0], cell[5], aot_sb_text(&got));
    assert_int_equal(!!(o->flags & AOT_OPF_MUTATES), cell[3][0] != '\0');
    assert_int_equal(!!(o->flags & AOT_OPF_ALIASES), cell[4][0] != '\0');
    assert_int_equal(!!(o->flags & AOT_OPF_CORE_DECOMP), cell[6][0] != '\0');
    assert_int_equal(!!(o->flags & AOT_OPF_INDUCTOR_DECOMP), cell[7][0] != '\0');
    assert_int_equal(!!(o->flags & AOT_OPF_COMPOSITE_IMPLICIT),
                     strstr(cell[8], "Implicit") != NULL);
    assert_int_equal(!!(o->flags & AOT_OPF_COMPOSITE_EXPLICIT),
                     strstr(cell[8], "Explicit") != NULL);
    aot_sb_free(&got);
}

static void known_operators_are_as_pytorch_has_them(void **state)
{
    (void)state;
    char path[512], line[4096];
    snprintf(path, sizeof path, "%s/ops/known.tsv", getenv("AOT_FIXTURES"));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = 0;
    assert_non_null(fgets(line, sizeof line, f)); /* titles */
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        expect_row(line);
        n++;
    }
    fclose(f);
    assert_true(n >= 60);
}

/* ---- forms, families, gaps ------------------------------------------------------------------- */

static void forms_that_write_point_to_a_form_that_does_not(void **state)
{
    (void)state;
    assert_int_equal(aot_op_functional(AOT_OP_aten_add__Tensor), AOT_OP_aten_add_Tensor);
    assert_int_equal(aot_op_functional(AOT_OP_aten_add_out), AOT_OP_aten_add_Tensor);
    assert_int_equal(aot_op_functional(AOT_OP_aten_squeeze__dim), AOT_OP_aten_squeeze_dim);
    assert_int_equal(aot_op_functional(AOT_OP_aten_add_Tensor), AOT_OP_UNKNOWN);
    for (size_t i = 1; i < aot_op_count(); i++) {
        aot_op_id f = aot_op_functional((aot_op_id)i);
        if (f != AOT_OP_UNKNOWN) {
            assert_true(aot_op((aot_op_id)i)->flags & AOT_OPF_MUTATES);
            if (aot_op(f)->flags & AOT_OPF_MUTATES) {
                fail_msg("%s: its functional form %s writes too", aot_op((aot_op_id)i)->name,
                         aot_op(f)->name);
            }
            aot_gap vjp = aot_op_gap((aot_op_id)i, AOT_RULE_VJP); // elu_ has a gradient of its own
            assert_true(vjp == AOT_GAP_functionalized || vjp == AOT_GAP_written);
        }
    }
}

static void composites_miss_their_expansion_only(void **state)
{
    (void)state;
    assert_int_equal(aot_op_gap(AOT_OP_aten_linear, AOT_RULE_VJP), AOT_GAP_composite);
    assert_int_equal(aot_op_gap(AOT_OP_aten_eq_Tensor, AOT_RULE_VJP), AOT_GAP_nondifferentiable);
    for (size_t i = 1; i < aot_op_count(); i++) {
        aot_op_id id = (aot_op_id)i;
        for (aot_rule r = 0; r < AOT_N_RULES; r++) {
            uint32_t expanded = AOT_OPF_COMPOSITE_IMPLICIT | AOT_OPF_AUTOGRAD_DECOMP;
            if (aot_op_gap(id, r) == AOT_GAP_composite && (aot_op(id)->flags & expanded) == 0) {
                fail_msg("%s is not expanded, but its %s rule is said to be a composite's",
                         aot_op(id)->name, aot_rule_name(r));
            }
        }
    }
}

static void families_cover_all_rows_in_order(void **state)
{
    (void)state;
    aot_op_id at = 1, first, end;
    for (size_t f = 0; f < aot_family_count(); f++) {
        aot_family_rows(f, &first, &end);
        assert_int_equal(first, at);
        assert_true(end > first);
        assert_int_equal(aot_op_family(first), f);
        assert_int_equal(aot_op_family((aot_op_id)(end - 1)), f);
        at = end;
    }
    assert_int_equal(at, aot_op_count());
    assert_string_equal(aot_family_name(aot_op_family(AOT_OP_aten_convolution)), "conv");
}

static void walking_a_gap_meets_each_row_once(void **state)
{
    (void)state;
    size_t n = 0, want = 0;
    for (aot_op_id id = aot_op_next_gap(AOT_OP_UNKNOWN, AOT_RULE_DECOMP, AOT_GAP_primitive); id;
         id = aot_op_next_gap(id, AOT_RULE_DECOMP, AOT_GAP_primitive)) {
        assert_int_equal(aot_op_gap(id, AOT_RULE_DECOMP), AOT_GAP_primitive);
        n++;
    }
    for (size_t i = 1; i < aot_op_count(); i++) {
        want += aot_op_gap((aot_op_id)i, AOT_RULE_DECOMP) == AOT_GAP_primitive;
    }
    assert_int_equal(n, want);
    assert_true(n > 500);
}

static void *ask_in_a_thread(void *arg)
{
    aot_op_id *found = arg;
    *found = find("aten.native_layer_norm.default");
    return NULL;
}

/* Runs first, while the table is not built yet. */
static void threads_may_ask_at_the_same_time(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    pthread_t t[THREADS];
    aot_op_id found[THREADS] = {0};
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&t[i], NULL, ask_in_a_thread, &found[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        assert_int_equal(found[i], AOT_OP_aten_native_layer_norm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_may_ask_at_the_same_time),
        cmocka_unit_test(every_cell_of_every_row_is_present),
        cmocka_unit_test(every_name_finds_its_own_row),
        cmocka_unit_test(every_id_spells_the_name),
        cmocka_unit_test(names_of_schemas_agree_with_rows),
        cmocka_unit_test(all_overloads_of_a_packet_have_the_same_classes),
        cmocka_unit_test(a_packet_is_not_a_row),
        cmocka_unit_test(torch_ops_before_a_name_is_understood),
        cmocka_unit_test(only_what_is_given_of_a_name_is_read),
        cmocka_unit_test(python_operators_are_rows),
        cmocka_unit_test(higher_order_operators_are_rows),
        cmocka_unit_test(operators_with_side_effects_are_marked),
        cmocka_unit_test(known_operators_are_as_pytorch_has_them),
        cmocka_unit_test(forms_that_write_point_to_a_form_that_does_not),
        cmocka_unit_test(composites_miss_their_expansion_only),
        cmocka_unit_test(families_cover_all_rows_in_order),
        cmocka_unit_test(walking_a_gap_meets_each_row_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
