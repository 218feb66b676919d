/* Kernels that work on whole rows: softmax, layer normalization, activations, sums where the
 * numbers lie; conversions and functions that are made for vectors. Values are those that PyTorch
 * 2.11 gives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/clones.h"
#include "exec/interp.h"
#include "exec/vmath.h"
#include "ir/text.h"

static aot_array *array_of(aot_dtype d, unsigned ndim, const int64_t *size, const double *v)
{
    aot_array *x = aot_array_new(NULL, d, ndim, size);
    for (int64_t i = 0; i < aot_array_numel(x); i++) {
        aot_store_real(&v[i], d, aot_array_data(x) + i * aot_array_item_bytes(x), 0, 1);
    }
    return x;
}

/* Runs `body` on x, y and w, and compares each of the values that `result` names, one list of n[i]
 * numbers behind the other in want, relative to 1e-6. Takes the arrays. */
static void check(const char *body, const char *result, unsigned n_in, aot_array **in,
                  unsigned n_out, const unsigned *n, const double *want)
{
    static const char *const params[] = {"x", "x, y", "x, y, w"};
    aot_sb b = {0};
    aot_graph *g;
    aot_ctx *ctx = aot_ctx_new();
    aot_exec *x = aot_exec_new();
    aot_xval values[3], *out;
    unsigned got;
    aot_err err = {0};
    aot_sb_addf(&b,
                "class GraphModule(torch.nn.Module):\n    def forward(self, %s):\n        %s\n     "
                "   return (%s,)\n",
                params[n_in - 1], body, result);
    assert_int_equal(aot_parse_graph(&g, ctx, b.d, b.n, 1, &err), AOT_OK);
    for (unsigned i = 0; i < n_in; i++) {
        values[i] = aot_xv_array(in[i]);
    }
    if (aot_exec_run(&out, &got, x, g, n_in, values, NULL, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    assert_int_equal(got, n_out);
    for (unsigned k = 0; k < n_out; k++) {
        aot_array *flat = aot_array_flat(out[k].u.array, AOT_F64);
        assert_int_equal(aot_array_numel(flat), n[k]);
        for (unsigned i = 0; i < n[k]; i++, want++) {
            double v = ((const double *)(const void *)aot_array_data(flat))[i];
            if (!(v == *want || (v != v && *want != *want) ||
                  fabs(v - *want) <= 1e-6 * fabs(*want) + 1e-7)) {
                fail_msg("%s: result %u, element %u: want %.9g, got %.9g", body, k, i, *want, v);
            }
        }
        aot_array_unref(flat);
    }
    aot_free_values(out, got);
    assert_int_equal(aot_exec_live(x)->now, 0);
    aot_exec_free(x);
    aot_ctx_free(ctx);
    aot_sb_free(&b);
    for (unsigned i = 0; i < n_in; i++) {
        aot_array_unref(in[i]);
    }
}

#define VALUES(...) (const double[]){__VA_ARGS__}
#define SIZES(...) (const int64_t[]){__VA_ARGS__}
#define OP "z = torch.ops.aten."

static void check1(const char *body, aot_array *x, unsigned n, const double *want)
{
    check(body, "z", 1, &x, 1, &n, want);
}

static void check2(const char *body, aot_array *x, aot_array *y, unsigned n, const double *want)
{
    check(body, "z", 2, (aot_array *[]){x, y}, 1, &n, want);
}

static aot_array *sample(aot_dtype d)
{
    return array_of(d, 2, SIZES(2, 3), VALUES(1, 2, 3, -1, 0.5, 100));
}

static aot_array *gradient(void)
{
    return array_of(AOT_F32, 2, SIZES(2, 3), VALUES(1, -2, 0.5, 0.25, 3, 1));
}

static void softmax_along_any_dimension(void **state)
{
    (void)state;
    check1(OP "_softmax.default(x, 0, False)", sample(AOT_F32), 6,
           VALUES(0.880797029, 0.817574441, 7.46892081e-43, 0.119202919, 0.182425514, 1));
    check1(OP "_softmax.default(x, 1, False)", sample(AOT_BF16), 6,
           VALUES(0.08984375, 0.245117188, 0.6640625, 0, 0, 1));
    check1(OP "_log_softmax.default(x, -1, False)", sample(AOT_F32), 6,
           VALUES(-2.40760589, -1.40760589, -0.407605946, -101, -99.5, 0));
    check1(OP "_softmax.default(x, 1, False)",
           array_of(AOT_F32, 2, SIZES(2, 2), VALUES(-INFINITY, -INFINITY, 0, INFINITY)), 4,
           VALUES(NAN, NAN, NAN, NAN));
    check1(OP "_softmax.default(x, 0, False)", array_of(AOT_F64, 0, NULL, VALUES(5)), 1, VALUES(1));
    check1(OP "_softmax.default(x, 1, False)", array_of(AOT_F32, 2, SIZES(2, 0), NULL), 0, NULL);
}

static void gradients_of_softmax(void **state)
{
    (void)state;
    check2("a = torch.ops.aten._softmax.default(x, 0, False)\n        " OP
           "_softmax_backward_data.default(y, a, 0, torch.float32)",
           sample(AOT_F32), gradient(), 6,
           VALUES(0.0787452459, -0.745732248, -3.72745392e-43, -0.0787451789, 0.745732248, 0));
    check2("a = torch.ops.aten._log_softmax.default(x, 1, False)\n        " OP
           "_log_softmax_backward_data.default(y, a, 1, torch.float32)",
           sample(AOT_F32), gradient(), 6,
           VALUES(1.04501534, -1.87763572, 0.832620502, 0.25, 3, -3.25));
}

static void layer_norm_and_its_gradient(void **state)
{
    (void)state;
    aot_array *in[3] = {sample(AOT_F32), gradient(),
                        array_of(AOT_F32, 1, SIZES(3), VALUES(1, 2, -1))};
    check("b = torch.ops.aten.mul.Tensor(w, 0.5)\n        s = "
          "torch.ops.aten.native_layer_norm.default(x, [3], w, b, 1e-05)\n"
          "        o = s[0]\n        m = s[1]\n        r = s[2]\n"
          "        t = torch.ops.aten.native_layer_norm_backward.default(y, x, [3], m, r, w, b, "
          "[True, True, True])\n"
          "        dx = t[0]\n        dw = t[1]\n        db = t[2]",
          "m, r, dx, dw, db", 3, in, 5, (const unsigned[]){2, 2, 6, 3, 3},
          VALUES(2, 33.1666679, 1.22473562, 0.0211585276, 1.73505604, -3.47008419, 1.73502839,
                 -0.0610135123, 0.0619332865, -0.000919803977, -1.40546465, -2.07353568, 2.02646279,
                 1.25, 1, 1.5));
    aot_array *half[3] = {sample(AOT_F32), array_of(AOT_F32, 1, SIZES(3), VALUES(1, 2, -1)),
                          array_of(AOT_F32, 1, SIZES(3), VALUES(0.5, 0, 1))};
    check("s = torch.ops.aten.native_layer_norm.default(x, [3], y, w, 1e-05)\n        z = s[0]",
          "z", 3, half, 1, (const unsigned[]){6},
          VALUES(-0.724735618, 0, -0.224735618, -0.222916365, -1.38235724, -0.414094806));
}

static aot_array *slopes(void)
{
    return array_of(AOT_F32, 1, SIZES(5), VALUES(-1.5, -0.5, 0, 0.75, 6));
}

static void activations_and_their_gradients(void **state)
{
    (void)state;
    check1(OP "gelu.default(x)", slopes(), 5, VALUES(-0.10021086, -0.154268786, 0, 0.580029547, 6));
    check1(OP "gelu.default(x, approximate = 'tanh')", slopes(), 5,
           VALUES(-0.100428432, -0.154285997, 0, 0.579960585, 6));
    check1(OP "silu.default(x)", slopes(), 5,
           VALUES(-0.273638278, -0.188770339, 0, 0.509384036, 5.98516464));
    check1("o = torch.ops.aten.ones_like.default(x)\n        " OP "gelu_backward.default(o, x)",
           slopes(), 5, VALUES(-0.127469152, 0.13250491, 0.5, 0.999225795, 1));
    check1("o = torch.ops.aten.ones_like.default(x)\n        " OP
           "gelu_backward.default(o, x, approximate = 'tanh')",
           slopes(), 5, VALUES(-0.127710819, 0.13263011, 0.5, 0.998938322, 1));
    check1("o = torch.ops.aten.ones_like.default(x)\n        " OP "silu_backward.default(o, x)",
           slopes(), 5, VALUES(-0.0412941612, 0.260038823, 0.5, 0.842599928, 1.01232624));
}

/* 24 numbers from -5 on in [2, 3, 4]. */
static aot_array *box(aot_dtype d)
{
    double v[24];
    for (int i = 0; i < 24; i++) {
        v[i] = i - 5;
    }
    return array_of(d, 3, SIZES(2, 3, 4), v);
}

static void sums_over_dimensions_that_do_not_lie_together(void **state)
{
    (void)state;
    check1(OP "sum.dim_IntList(x, [0, 2])", box(AOT_F32), 3, VALUES(20, 52, 84));
    check1(OP "sum.dim_IntList(x, [0, 2])", box(AOT_F64), 3, VALUES(20, 52, 84));
    check1(OP "var.correction(x, [0, 2], correction = 1)", box(AOT_F32), 3,
           VALUES(42.5714302, 42.5714302, 42.5714302));
    check1(OP "mean.dim(x, [1])", box(AOT_BF16), 8, VALUES(-1, 0, 1, 2, 11, 12, 13, 14));
    check1(OP "amax.default(x, [0, 1])", box(AOT_F32), 4, VALUES(15, 16, 17, 18));
    check1(OP "sum.dim_IntList(x, [1])", array_of(AOT_F32, 2, SIZES(2, 0), NULL), 2, VALUES(0, 0));
    check1(OP "mean.default(x)", array_of(AOT_F32, 1, SIZES(0), NULL), 1, VALUES(NAN));
}

static void extremes_are_the_first_of_equal_ones_and_nan(void **state)
{
    (void)state;
    double v[70];
    for (int i = 0; i < 70; i++) {
        v[i] = i % 35;
    }
    check1(OP "argmax.default(x, 0)", array_of(AOT_F32, 1, SIZES(70), v), 1, VALUES(34));
    check1(OP "argmin.default(x, 0)", array_of(AOT_F32, 1, SIZES(70), v), 1, VALUES(0));
    v[66] = NAN;
    check1(OP "argmin.default(x, 0)", array_of(AOT_F32, 1, SIZES(70), v), 1, VALUES(66));
}

/* As max_pool2d says it; the prim itself is only ever given strides by Inductor, and PyTorch
 * refuses none. */
static void places_in_windows_without_a_stride(void **state)
{
    (void)state;
    check1("p = torch.ops.prims._low_memory_max_pool_with_offsets.default(x, [1, 2], [], [0, 0], "
           "[1, 1], False)\n        z = p[1]",
           array_of(AOT_F32, 3, SIZES(1, 1, 6), VALUES(1, 2, 4, 3, 5, 6)), 3, VALUES(1, 0, 1));
}

/* Beyond the memory, beyond what can be counted, and empty with strides beyond. */
static void sizes_that_no_machine_holds_are_errors(void **state)
{
    (void)state;
    static const char *const sizes[] = {"[65536, 65536, 16]", "[4611686018427387904, 16]",
                                        "[0, 4611686018427387904, 16]"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        aot_sb b = {0};
        aot_graph *g;
        aot_ctx *ctx = aot_ctx_new();
        aot_exec *x = aot_exec_new();
        aot_xval *out;
        unsigned n;
        aot_err err = {0};
        aot_sb_addf(&b,
                    "class G(torch.nn.Module):\n    def forward(self):\n        "
                    "y = torch.ops.aten.full.default(%s, 1.0, dtype = torch.float64)\n        "
                    "return (y,)\n",
                    sizes[i]);
        assert_int_equal(aot_parse_graph(&g, ctx, b.d, b.n, 1, &err), AOT_OK);
        assert_int_equal(aot_exec_run(&out, &n, x, g, 0, NULL, NULL, &err), AOT_E_RANGE);
        aot_exec_free(x);
        aot_ctx_free(ctx);
        aot_sb_free(&b);
    }
}

/* ---- conversions and functions --------------------------------------------------------------- */

static void halves_of_every_code(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        int e = (int)(h >> 10 & 31), m = (int)(h & 1023);
        double want = e == 0    ? ldexp(m, -24)
                      : e == 31 ? (m == 0 ? INFINITY : NAN)
                                : ldexp(1024 + m, e - 25);
        float got = aot_half_to_float((uint16_t)h);
        want = (h >> 15) != 0 ? -want : want;
        if (!(got == (float)want || (got != got && want != want)) ||
            (want == want && aot_half_of_float(got) != h)) {
            fail_msg("half %#x: want %g, got %g and back %#x", h, want, (double)got,
                     aot_half_of_float(got));
        }
    }
}

static void floats_become_the_nearest_half(void **state)
{
    (void)state;
    assert_int_equal(aot_half_of_float(65519.996f), 0x7bff);
    assert_int_equal(aot_half_of_float(65520), 0x7c00);
    assert_int_equal(aot_half_of_float(-0x1p-25f), 0x8000);     // a tie goes to the even code
    assert_int_equal(aot_half_of_float(0x1.000002p-25f), 0x0001);
    assert_int_equal(aot_half_of_float(0x1.ffep-15f), 0x0400);  // up to the smallest normal number
    assert_int_equal(aot_half_of_float(1 + 0x1p-11f), 0x3c00);
    assert_int_equal(aot_half_of_float(1 + 0x3p-11f), 0x3c02);
    assert_int_equal(aot_half_of_float(NAN) & 0x7e00, 0x7e00);
}

/* Every 9973rd float: the same float as the C library's function of double gives, but in very few
 * cases. */
static void same_floats(const char *name, double (*f)(double), double (*g)(double))
{
    unsigned others = 0;
    for (uint64_t u = 0; u < 0x100000000; u += 9973) {
        float x = aot_float_of_bits((uint32_t)u), a = (float)f((double)x), b = (float)g((double)x);
        others += !(a == b || (a != a && b != b)) || (a == 0 && signbit(a) != signbit(b));
        if (x == x && b == b && fabsf(a - b) > fabsf(b) * 0x1p-22f) {
            fail_msg("%s(%a): want %a, got %a", name, (double)x, (double)b, (double)a);
        }
    }
    assert_true(others <= 2);
}

#define AS_FUNCTION(name)                                                                          \
    static double of_##name(double x)                                                              \
    {                                                                                              \
        return vm_##name(x);                                                                       \
    }
AS_FUNCTION(exp)
AS_FUNCTION(log)
AS_FUNCTION(tanh)
AS_FUNCTION(erf)
AS_FUNCTION(sigmoid)

static void functions_of_floats_are_those_of_the_library(void **state)
{
    (void)state;
    same_floats("exp", of_exp, exp);
    same_floats("log", of_log, log);
    same_floats("tanh", of_tanh, tanh);
    same_floats("erf", of_erf, erf);
    same_floats("sigmoid", of_sigmoid, vm_libm_sigmoid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_along_any_dimension),
        cmocka_unit_test(gradients_of_softmax),
        cmocka_unit_test(layer_norm_and_its_gradient),
        cmocka_unit_test(activations_and_their_gradients),
        cmocka_unit_test(sums_over_dimensions_that_do_not_lie_together),
        cmocka_unit_test(extremes_are_the_first_of_equal_ones_and_nan),
        cmocka_unit_test(places_in_windows_without_a_stride),
        cmocka_unit_test(sizes_that_no_machine_holds_are_errors),
        cmocka_unit_test(halves_of_every_code),
        cmocka_unit_test(floats_become_the_nearest_half),
        cmocka_unit_test(functions_of_floats_are_those_of_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
