/* Fake tensors: types that rules give to single calls, symbolic sizes and errors included. What
 * recorded graphs show is the property test's part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "ir/text.h"
#include "rules/fake.h"

/* Runs the last call of a graph with these parameters; its first output's type, or the error. */
static void gives(const char *params, const char *call, aot_status status, const char *want)
{
    aot_ctx *c = aot_ctx_new();
    aot_graph *g;
    aot_err err = {0};
    aot_sb b = {0};
    struct aot_call k;
    aot_ctx_set_hint(c, "s0", 6);
    aot_sb_addf(&b,
                "class G(torch.nn.Module):\n    def forward(self, %s):\n        r = torch.ops.%s\n"
                "        return (r,)\n",
                params, call);
    assert_int_equal(aot_parse_graph(&g, c, b.d, b.n, 1, &err), AOT_OK);
    aot_status s = aot_fake_run(&k, c, g, (aot_node_id)g->nodes.n - 2, &err);
    assert_int_equal(s, status);
    if (s == AOT_OK) {
        assert_true(k.outs.n >= 1);
        assert_string_equal(aot_text(c, aot_meta_get(c, aot_fake_meta(c, &k.outs.d[0]))->text),
                            want);
    } else {
        assert_non_null(strstr(err.msg, want));
    }
    aot_call_free(&k);
    aot_sb_free(&b);
    aot_ctx_free(c);
}

static void mixed_operands_are_promoted_as_pytorch_does(void **state)
{
    (void)state;
    gives("x: \"i64[2][1]cpu\"", "aten.mul.Tensor(x, 0.5)", AOT_OK, "f32[2][1]cpu");
    gives("x: \"f16[2][1]cpu\", y: \"f32[][]cpu\"", "aten.add.Tensor(x, y)", AOT_OK,
          "f16[2][1]cpu");
    gives("x: \"f16[2][1]cpu\", y: \"f32[1][1]cpu\"", "aten.add.Tensor(x, y)", AOT_OK,
          "f32[2][1]cpu");
    gives("x: \"u8[2][1]cpu\", y: \"i8[2][1]cpu\"", "aten.add.Tensor(x, y)", AOT_OK,
          "i16[2][1]cpu");
    gives("x: \"b8[2][1]cpu\"", "aten.exp.default(x)", AOT_OK, "f32[2][1]cpu");
    gives("x: \"c128[2][1]cpu\"", "aten.abs.default(x)", AOT_OK, "f64[2][1]cpu");
    gives("x: \"f32[2][1]cpu\"", "aten.le.Scalar(x, 0)", AOT_OK, "b8[2][1]cpu");
    gives("x: \"i64[2][1]cpu\"", "aten.div.Tensor_mode(x, x, rounding_mode = 'floor')", AOT_OK,
          "i64[2][1]cpu");
}

static void symbolic_sizes_broadcast_and_multiply(void **state)
{
    (void)state;
    gives("s0: \"Sym(s0)\", x: \"f32[s0, 4][4, 1]cpu\", y: \"f32[s0, 1][1, 1]cpu\"",
          "aten.add.Tensor(x, y)", AOT_OK, "f32[s0, 4][4, 1]cpu");
    gives("s0: \"Sym(s0)\"", "aten.zeros.default([2, s0, 3])", AOT_OK,
          "f32[2, s0, 3][3*s0, 3, 1]cpu");
    gives("u0: \"Sym(u0)\"", "aten.zeros.default([2, u0])", AOT_OK, "f32[2, u0][Max(1, u0), 1]cpu");
    gives("s0: \"Sym(s0)\"", "aten.arange.start_step(0, s0, 2)", AOT_OK,
          "i64[((s0 + 1)//2)][1]cpu");
}

static void factories_read_their_keywords(void **state)
{
    (void)state;
    gives("x: \"f32[2][1]cuda:0\"", "aten.full.default([2, 3], True, dtype = torch.float64)",
          AOT_OK, "f64[2, 3][3, 1]cpu");
    gives("x: \"f32[2][1]cpu\"", "aten.full.default([], 1, device = device(type='cuda', index=1))",
          AOT_OK, "i64[][]cuda:1");
    gives("x: \"f32[2][1]cuda:0\"", "aten.new_zeros.default(x, [4])", AOT_OK, "f32[4][1]cuda:0");
    gives("x: \"f32[1, 2, 3, 4][24, 1, 8, 2]cpu\"", "aten.zeros_like.default(x)", AOT_OK,
          "f32[1, 2, 3, 4][24, 1, 8, 2]cpu");
    gives("x: \"f32[1, 2, 3, 4][24, 1, 8, 2]cpu\"",
          "aten.zeros_like.default(x, memory_format = torch.contiguous_format)", AOT_OK,
          "f32[1, 2, 3, 4][24, 12, 4, 1]cpu");
    gives("x: \"f32[2][1]cpu\"", "aten.arange.start_step(1, 2, 0.3)", AOT_OK, "f32[4][1]cpu");
}

static void errors_say_what_does_not_fit(void **state)
{
    (void)state;
    gives("x: \"f32[2, 3][3, 1]cpu\", y: \"f32[2, 4][4, 1]cpu\"", "aten.add.Tensor(x, y)",
          AOT_E_SHAPE,
          "tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1");
    gives("x: \"f32[2][1]cpu\"", "mylib.op.default(x)", AOT_E_UNSUPPORTED,
          "does not have a fake tensor");
    gives("x", "aten.relu.default(x)", AOT_E_SHAPE, "operands");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixed_operands_are_promoted_as_pytorch_does),
        cmocka_unit_test(symbolic_sizes_broadcast_and_multiply),
        cmocka_unit_test(factories_read_their_keywords),
        cmocka_unit_test(errors_say_what_does_not_fit),
    };
    return cmocka_run_group_tests_name("fake", tests, NULL, NULL);
}
