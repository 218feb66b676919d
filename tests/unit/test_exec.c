/* The interpreter: graphs run on small inputs, with the values that PyTorch 2.11 gives; and
 * generators. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/clones.h"
#include "exec/interp.h"
#include "ir/text.h"

typedef struct fixture {
    aot_ctx *ctx;
    aot_exec *x;
    aot_xval *out;
    unsigned n_out;
    aot_err err;
} fixture;

/* Runs "params" -> body lines -> result, e.g. ("x: \"f32[2][1]cpu\"", "y =
 * torch.ops.aten.neg.default(x)", "y"). */
static aot_status run(fixture *f, const char *params, const char *body, const char *result,
                      unsigned n, aot_array *const *in, const char *until)
{
    aot_sb b = {0};
    aot_graph *g;
    aot_xval values[4];
    aot_exec_options o = {.until = until};
    *f = (fixture){.ctx = aot_ctx_new(), .x = aot_exec_new()};
    aot_sb_addf(&b,
                "class GraphModule(torch.nn.Module):\n    def forward(self, %s):\n        %s\n     "
                "   return (%s,)\n",
                params, body, result);
    assert_int_equal(aot_parse_graph(&g, f->ctx, b.d, b.n, 1, &f->err), AOT_OK);
    for (unsigned i = 0; i < n; i++) {
        values[i] = aot_xv_array(in[i]);
    }
    aot_generator_seed(aot_exec_generator(f->x), 0);
    aot_status s = aot_exec_run(&f->out, &f->n_out, f->x, g, n, values, &o, &f->err);
    aot_sb_free(&b);
    return s;
}

static void end(fixture *f)
{
    aot_free_values(f->out, f->n_out);
    assert_int_equal(aot_exec_live(f->x)->now, 0); // nothing is left behind
    aot_exec_free(f->x);
    aot_ctx_free(f->ctx);
}

static aot_array *array_of(aot_dtype d, unsigned ndim, const int64_t *size, const double *v)
{
    aot_array *x = aot_array_new(NULL, d, ndim, size);
    for (int64_t i = 0; i < aot_array_numel(x); i++) {
        aot_store_real(&v[i], d, aot_array_data(x) + i * aot_array_item_bytes(x), 0, 1);
    }
    return x;
}

static void expect(const fixture *f, unsigned which, aot_dtype d, unsigned n, const double *want)
{
    assert_true(which < f->n_out);
    assert_int_equal(f->out[which].kind, AOT_X_ARRAY);
    const aot_array *x = f->out[which].u.array;
    assert_int_equal(x->dtype, d);
    assert_int_equal(aot_array_numel(x), n);
    aot_array *flat = aot_array_new(NULL, AOT_F64, x->ndim, x->size);
    aot_array_assign(flat, x);
    for (unsigned i = 0; i < n; i++) {
        double got = ((const double *)(const void *)aot_array_data(flat))[i];
        if (!(got == want[i] || (got != got && want[i] != want[i]) ||
              fabs(got - want[i]) <= 1e-6 * fabs(want[i]))) {
            fail_msg("element %u: want %.9g, got %.9g", i, want[i], got);
        }
    }
    aot_array_unref(flat);
}

#define VALUES(...) (const double[]){__VA_ARGS__}
#define SIZES(...) (const int64_t[]){__VA_ARGS__}

/* One operator on one or two arrays. */
static void check2(const char *body, aot_array *a, aot_array *b, aot_dtype d, unsigned n,
                   const double *want)
{
    fixture f;
    aot_array *in[] = {a, b};
    aot_status s = run(&f, b != NULL ? "x, y" : "x", body, "z", b != NULL ? 2 : 1, in, NULL);
    if (s != AOT_OK) {
        fail_msg("%s", f.err.msg);
    }
    expect(&f, 0, d, n, want);
    end(&f);
    aot_array_unref(a);
    aot_array_unref(b);
}

static void sums_promote_and_scale(void **state)
{
    (void)state;
    check2("z = torch.ops.aten.add.Tensor(x, y, alpha = 2)",
           array_of(AOT_F32, 1, SIZES(2), VALUES(1, 2)),
           array_of(AOT_I64, 1, SIZES(2), VALUES(3, -4)), AOT_F32, 2, VALUES(7, -6));
    check2("z = torch.ops.aten.mul.Tensor(x, y)",
           array_of(AOT_BF16, 1, SIZES(1), VALUES(1.0078125)),
           array_of(AOT_BF16, 1, SIZES(1), VALUES(1.0078125)), AOT_BF16, 1, VALUES(1.015625));
}

static void integers_are_divided_as_python_says(void **state)
{
    (void)state;
    check2("z = torch.ops.aten.div.Tensor_mode(x, y, rounding_mode = 'floor')",
           array_of(AOT_I32, 1, SIZES(3), VALUES(-7, 7, 6)),
           array_of(AOT_I32, 1, SIZES(3), VALUES(2, -2, 3)), AOT_I32, 3, VALUES(-4, -4, 2));
    check2("z = torch.ops.aten.div.Tensor_mode(x, y, rounding_mode = 'trunc')",
           array_of(AOT_I32, 1, SIZES(3), VALUES(-7, 7, 6)),
           array_of(AOT_I32, 1, SIZES(3), VALUES(2, -2, 3)), AOT_I32, 3, VALUES(-3, -3, 2));
    check2("z = torch.ops.aten.remainder.Tensor(x, y)",
           array_of(AOT_F32, 1, SIZES(2), VALUES(-5.5, 5.5)),
           array_of(AOT_F32, 1, SIZES(2), VALUES(2, -2)), AOT_F32, 2, VALUES(0.5, -0.5));
}

static void nan_wins_and_zero_keeps_its_sign(void **state)
{
    (void)state;
    check2("z = torch.ops.aten.amax.default(x, [0])",
           array_of(AOT_F32, 1, SIZES(3), VALUES(1, NAN, 2)), NULL, AOT_F32, 1, VALUES(NAN));
    fixture f;
    aot_array *x = array_of(AOT_F32, 1, SIZES(1), VALUES(0));
    assert_int_equal(run(&f, "x", "z = torch.ops.aten.neg.default(x)", "z", 1, &x, NULL), AOT_OK);
    assert_true(signbit(aot_get_real(AOT_F32, aot_array_data(f.out[0].u.array))));
    end(&f);
    aot_array_unref(x);
}

static void a_write_through_a_view_is_seen(void **state)
{
    (void)state;
    fixture f;
    aot_array *x = array_of(AOT_F32, 2, SIZES(2, 3), VALUES(1, 2, 3, 4, 5, 6));
    assert_int_equal(
        run(&f, "x",
            "a = torch.ops.aten.t.default(x)\n        b = torch.ops.aten.select.int(a, 0, 1)\n     "
            "   c = "
            "torch.ops.aten.neg.default(b)\n        d = torch.ops.aten.copy_.default(b, c)",
            "x", 1, &x, NULL),
        AOT_OK);
    expect(&f, 0, AOT_F32, 6, VALUES(1, -2, 3, 4, -5, 6));
    end(&f);
    aot_array_unref(x);
}

static void in_place_operators_write(void **state)
{
    (void)state;
    check2("z = torch.ops.aten.add_.Tensor(x, y)", array_of(AOT_F32, 1, SIZES(2), VALUES(1, 2)),
           array_of(AOT_F32, 1, SIZES(1), VALUES(10)), AOT_F32, 2, VALUES(11, 12));
}

static void products_and_convolutions(void **state)
{
    (void)state;
    check2("z = torch.ops.aten.mm.default(x, y)",
           array_of(AOT_F32, 2, SIZES(2, 2), VALUES(1, 2, 3, 4)),
           array_of(AOT_F32, 2, SIZES(2, 1), VALUES(5, 6)), AOT_F32, 2, VALUES(17, 39));
    check2("z = torch.ops.aten.convolution.default(x, y, None, [1], [1], [1], False, [0], 1)",
           array_of(AOT_F32, 3, SIZES(1, 1, 3), VALUES(1, 2, 3)),
           array_of(AOT_F32, 3, SIZES(1, 1, 2), VALUES(1, 10)), AOT_F32, 4, VALUES(10, 21, 32, 3));
    check2("z = torch.ops.aten.convolution.default(x, y, None, [2], [0], [1], True, [0], 1)",
           array_of(AOT_F32, 3, SIZES(1, 1, 2), VALUES(1, 2)),
           array_of(AOT_F32, 3, SIZES(1, 1, 2), VALUES(1, 10)), AOT_F32, 4, VALUES(1, 10, 2, 20));
}

static void indexing_scans_and_sorts(void **state)
{
    (void)state;
    check2("z = torch.ops.aten.index_put.default(x, [y], x, True)",
           array_of(AOT_F32, 1, SIZES(3), VALUES(1, 2, 3)),
           array_of(AOT_I64, 1, SIZES(3), VALUES(0, 0, -1)), AOT_F32, 3, VALUES(4, 2, 6));
    check2("z = torch.ops.aten.scatter_add.default(x, 0, y, x)",
           array_of(AOT_F32, 1, SIZES(3), VALUES(1, 2, 3)),
           array_of(AOT_I64, 1, SIZES(3), VALUES(2, 2, 2)), AOT_F32, 3, VALUES(1, 2, 9));
    check2("z = torch.ops.aten.cumsum.default(x, 1)",
           array_of(AOT_I32, 2, SIZES(2, 2), VALUES(1, 2, 3, 4)), NULL, AOT_I64, 4,
           VALUES(1, 3, 3, 7));
    check2("s = torch.ops.aten.sort.default(x)\n        z = s[1]",
           array_of(AOT_F32, 1, SIZES(4), VALUES(3, NAN, 1, 3)), NULL, AOT_I64, 4,
           VALUES(2, 0, 3, 1));
}

static void pools_transforms_and_systems(void **state)
{
    (void)state;
    check2("z = torch.ops.aten.avg_pool2d.default(x, [1, 2], [1, 2], [0, 1])",
           array_of(AOT_F32, 3, SIZES(1, 1, 3), VALUES(2, 4, 6)), NULL, AOT_F32, 2, VALUES(1, 5));
    check2("c = torch.ops.aten._fft_r2c.default(x, [0], 0, True)\n        z = "
           "torch.ops.aten.view_as_real.default(c)",
           array_of(AOT_F32, 1, SIZES(3), VALUES(1, 2, 4)), NULL, AOT_F32, 4,
           VALUES(7, 0, -2, 1.7320508075688772));
    check2("s = torch.ops.aten._linalg_solve_ex.default(x, y)\n        z = s[0]",
           array_of(AOT_F32, 2, SIZES(2, 2), VALUES(2, 0, 1, 4)),
           array_of(AOT_F32, 1, SIZES(2), VALUES(2, 9)), AOT_F32, 2, VALUES(1, 2));
}

/* softplus has no kernel: it is decomposed. */
static void what_has_no_kernel_is_decomposed(void **state)
{
    (void)state;
    assert_int_equal(aot_exec_way_of(aot_op_find("aten.softplus.default", 21)),
                     AOT_EXEC_DECOMPOSED);
    check2("z = torch.ops.aten.softplus.default(x)", array_of(AOT_F32, 1, SIZES(2), VALUES(0, 1)),
           NULL, AOT_F32, 2, VALUES(0.6931471824645996, 1.31326162815094));
}

static void an_operator_without_a_way_is_named(void **state)
{
    (void)state;
    fixture f;
    aot_array *x = array_of(AOT_F32, 1, SIZES(1), VALUES(1));
    const char *body =
        "a = torch.ops.aten.neg.default(x)\n        z = torch.ops.aten._standard_gamma.default(a)";
    assert_int_equal(run(&f, "x", body, "z", 1, &x, NULL), AOT_E_UNSUPPORTED);
    assert_non_null(strstr(f.err.msg, "aten._standard_gamma.default"));
    end(&f);
    assert_int_equal(run(&f, "x", body, "z", 1, &x, "a"), AOT_OK); // up to there it runs
    end(&f);
    aot_array_unref(x);
}

static void numbers_of_the_generator(void **state)
{
    (void)state;
    aot_generator g, h;
    uint8_t bytes[AOT_GENERATOR_STATE_BYTES];
    aot_generator_seed(&g, 0);
    assert_true(aot_uniform_f32(&g) == 0.49625658988952637f);
    assert_true(aot_uniform_f32(&g) == 0.7682217955589294f);
    aot_generator_get_state(&g, bytes);
    assert_true(aot_uniform_f32(&g) == 0.08847743272781372f);
    assert_true(aot_generator_set_state(&h, bytes));
    assert_true(aot_uniform_f32(&h) == 0.08847743272781372f);
    aot_generator_seed(&g, 0);
    assert_true(aot_uniform_f64(&g) == 0.9700530018065531);
    aot_generator_seed(&g, 0);
    assert_true((float)aot_normal_f64(&g) == 1.5409960746765137f);
    assert_true((float)aot_normal_f64(&g) == -0.293428897857666f);
    assert_true((float)aot_normal_f64(&g) == -2.1787893772125244f);
    memset(bytes, 0xff, sizeof bytes);
    assert_false(aot_generator_set_state(&h, bytes));
}

static void philox_gives_its_known_answer(void **state)
{
    (void)state;
    uint32_t v[4];
    aot_philox(v, 0, 0);
    assert_int_equal(v[0], 0x6627e8d5);
    assert_int_equal(v[1], 0xe169c58d);
    assert_int_equal(v[2], 0xbc57ac4c);
    assert_int_equal(v[3], 0x9b00dbd8);
}

static void random_operators_draw_from_it(void **state)
{
    (void)state;
    check2("z = torch.ops.aten.randint.default(10, [5])", array_of(AOT_F32, 0, NULL, VALUES(0)),
           NULL, AOT_I64, 5, VALUES(4, 9, 3, 0, 3));
    check2("z = torch.ops.aten.randperm.default(5)", array_of(AOT_F32, 0, NULL, VALUES(0)), NULL,
           AOT_I64, 5, VALUES(4, 0, 1, 3, 2));
    check2("z = torch.ops.aten.bernoulli.default(x)",
           array_of(AOT_F32, 1, SIZES(5), VALUES(.3, .3, .3, .3, .3)), NULL, AOT_F32, 5,
           VALUES(0, 0, 1, 1, 0));
    check2("d = torch.ops.aten.native_dropout.default(x, 0.5, True)\n        z = d[1]",
           array_of(AOT_F32, 1, SIZES(5), VALUES(1, 1, 1, 1, 1)), NULL, AOT_B8, 5,
           VALUES(0, 0, 1, 0, 0));
}

/* ---- hooks ----------------------------------------------------------------------------------- */

typedef struct hooks {
    unsigned n_before, n_seen;
    double seen; /* of the node that was replaced */
} hooks;

static void count_before(void *arg, aot_exec *x, const aot_graph *g, aot_node_id id)
{
    (void)x, (void)g, (void)id;
    ((hooks *)arg)->n_before++;
}

static void sevens(void *arg, aot_exec *x, const aot_graph *g, aot_node_id id, aot_xval *value)
{
    (void)arg;
    if (strcmp(aot_node_name(g, id), "a") == 0) {
        aot_array *other =
            aot_array_new(aot_exec_live(x), AOT_F32, value->u.array->ndim, value->u.array->size);
        aot_array_fill(other, 7);
        aot_xv_drop(value);
        *value = aot_xv_array(other);
    }
}

static bool look(void *arg, const aot_graph *g, aot_node_id id, const aot_xval *value,
                 const aot_live_bytes *live)
{
    hooks *h = arg;
    (void)live;
    h->n_seen++;
    if (strcmp(aot_node_name(g, id), "a") == 0) {
        h->seen = aot_get_real(AOT_F32, aot_array_data(value->u.array));
    }
    return true;
}

static void a_value_can_be_replaced_and_every_node_is_seen(void **state)
{
    static const char text[] =
        "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[2][1]cpu\"):\n"
        "        a: \"f32[2][1]cpu\" = torch.ops.aten.neg.default(x)\n"
        "        b: \"f32[2][1]cpu\" = torch.ops.aten.neg.default(a)\n        return (b,)\n";
    aot_array *x = array_of(AOT_F32, 1, (const int64_t[]){2}, VALUES(1, 2));
    fixture f = {.ctx = aot_ctx_new(), .x = aot_exec_new()};
    aot_graph *g;
    hooks h = {0};
    aot_xval in = aot_xv_array(x);
    aot_exec_options o = {
        .observer = look, .arg = &h, .before = count_before, .replace = sevens, .inputs = true};
    (void)state;
    assert_int_equal(aot_parse_graph(&g, f.ctx, text, sizeof text - 1, 1, &f.err), AOT_OK);
    assert_int_equal(aot_exec_run(&f.out, &f.n_out, f.x, g, 1, &in, &o, &f.err), AOT_OK);
    expect(&f, 0, AOT_F32, 2, VALUES(-7, -7));
    assert_int_equal(h.n_before, 3);
    assert_int_equal(h.n_seen, 3);
    assert_true(h.seen == 7);
    end(&f);
    aot_array_unref(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_promote_and_scale),
        cmocka_unit_test(integers_are_divided_as_python_says),
        cmocka_unit_test(nan_wins_and_zero_keeps_its_sign),
        cmocka_unit_test(a_write_through_a_view_is_seen),
        cmocka_unit_test(in_place_operators_write),
        cmocka_unit_test(products_and_convolutions),
        cmocka_unit_test(indexing_scans_and_sorts),
        cmocka_unit_test(pools_transforms_and_systems),
        cmocka_unit_test(what_has_no_kernel_is_decomposed),
        cmocka_unit_test(an_operator_without_a_way_is_named),
        cmocka_unit_test(numbers_of_the_generator),
        cmocka_unit_test(philox_gives_its_known_answer),
        cmocka_unit_test(a_value_can_be_replaced_and_every_node_is_seen),
        cmocka_unit_test(random_operators_draw_from_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
