/* Higher-order operators: the graphs that they run, with the values that PyTorch 2.11 gives; bodies
 * seen node by node. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/clones.h"
#include "exec/interp.h"
#include "ir/text.h"

#define VALUES(...) (const double[]){__VA_ARGS__}
#define SIZES(...) (const int64_t[]){__VA_ARGS__}

static aot_array *array_of(unsigned ndim, const int64_t *size, const double *v)
{
    aot_array *x = aot_array_new(NULL, AOT_F32, ndim, size);
    for (int64_t i = 0; i < aot_array_numel(x); i++) {
        aot_store_real(&v[i], AOT_F32, aot_array_data(x) + i * (int64_t)sizeof(float), 0, 1);
    }
    return x;
}

typedef struct seen {
    char names[512];
    const char *stop; /* at this node */
} seen;

static bool see(void *arg, const aot_graph *g, aot_node_id id, const aot_xval *value,
                const aot_live_bytes *live)
{
    seen *s = arg;
    (void)value;
    (void)live;
    strncat(s->names, aot_node_name(g, id), sizeof s->names - strlen(s->names) - 1);
    strncat(s->names, " ", sizeof s->names - strlen(s->names) - 1);
    return s->stop == NULL || strcmp(s->stop, aot_node_name(g, id)) != 0;
}

typedef struct fixture {
    aot_ctx *ctx;
    aot_exec *x;
    aot_xval *out;
    unsigned n_out;
    aot_err err;
} fixture;

static aot_status run(fixture *f, const char *text, unsigned n, aot_array *const *in, seen *s)
{
    aot_graph *g;
    aot_xval values[8];
    aot_exec_options o = {.observer = s != NULL ? see : NULL, .arg = s, .bodies = s != NULL};
    *f = (fixture){.ctx = aot_ctx_new(), .x = aot_exec_new()};
    for (unsigned i = 0; i < n; i++) {
        values[i] = aot_xv_array(in[i]);
    }
    if (aot_parse_graph(&g, f->ctx, text, strlen(text), 1, &f->err) != AOT_OK) {
        fail_msg("%s", f->err.msg);
    }
    return aot_exec_run(&f->out, &f->n_out, f->x, g, n, values, &o, &f->err);
}

static void end(fixture *f)
{
    aot_free_values(f->out, f->n_out);
    assert_int_equal(aot_exec_live(f->x)->now, 0);
    aot_exec_free(f->x);
    aot_ctx_free(f->ctx);
}

static void expect(const fixture *f, unsigned which, unsigned n, const double *want)
{
    assert_true(which < f->n_out && f->out[which].kind == AOT_X_ARRAY);
    aot_array *flat = aot_array_flat(f->out[which].u.array, AOT_F64);
    assert_int_equal(aot_array_numel(flat), n);
    for (unsigned i = 0; i < n; i++) {
        double got = ((const double *)(const void *)aot_array_data(flat))[i];
        if (!(fabs(got - want[i]) <= 1e-5 + 1e-5 * fabs(want[i]))) {
            fail_msg("result %u, element %u: want %.9g, got %.9g", which, i, want[i], got);
        }
    }
    aot_array_unref(flat);
}

#define MAIN(params, body, result)                                                                 \
    "class GraphModule(torch.nn.Module):\n    def forward(self, " params "):\n" body               \
    "        return (" result ",)\n\n"
#define GRAPH(name, params, body, result)                                                          \
    "    class " name "(torch.nn.Module):\n        def forward(self, " params "):\n" body          \
    "            return (" result ",)\n\n"
#define LINE(text) "        " text "\n"
#define INNER(text) "            " text "\n"

static void rows_are_mapped_scanned_and_combined(void **state)
{
    static const char map[] =
        MAIN("x: \"f32[3, 2][2, 1]cpu\", y: \"f32[2][1]cpu\"",
             LINE("body = self.body") LINE("m = torch.ops.higher_order.map_impl(body, [x], [y])")
                 LINE("r = m[0]"),
             "r") GRAPH("body", "a: \"f32[2][1]cpu\", b: \"f32[2][1]cpu\"",
                        INNER("s = torch.ops.aten.mul.Tensor(a, b)"), "s");
    static const char scan[] =
        MAIN("x: \"f32[3, 2][2, 1]cpu\", y: \"f32[2][1]cpu\"",
             LINE("body = self.body") LINE("m = torch.ops.higher_order.scan(body, [y], [x], [])")
                 LINE("c = m[0]") LINE("r = m[1]"),
             "c, r") GRAPH("body", "c: \"f32[2][1]cpu\", a: \"f32[2][1]cpu\"",
                           INNER("s = torch.ops.aten.add.Tensor(c, a)")
                               INNER("t = torch.ops.aten.mul.Tensor(s, a)"),
                           "s, t");
    static const char combine[] = MAIN(
        "x: \"f32[3, 2][2, 1]cpu\", y: \"f32[2][1]cpu\"",
        LINE("body = self.body") LINE("m = torch.ops.higher_order.associative_scan(body, [x], ())")
            LINE("r = m[0]"),
        "r") GRAPH("body", "a: \"f32[2][1]cpu\", b: \"f32[2][1]cpu\"",
                   INNER("s = torch.ops.aten.mul.Tensor(a, b)"), "s");
    aot_array *in[] = {array_of(2, SIZES(3, 2), VALUES(1, 2, 3, 4, 5, 6)),
                       array_of(1, SIZES(2), VALUES(10, 100))};
    fixture f;
    (void)state;
    assert_int_equal(run(&f, map, 2, in, NULL), AOT_OK);
    expect(&f, 0, 6, VALUES(10, 200, 30, 400, 50, 600));
    end(&f);
    assert_int_equal(run(&f, scan, 2, in, NULL), AOT_OK);
    expect(&f, 0, 2, VALUES(19, 112));
    expect(&f, 1, 6, VALUES(11, 204, 42, 424, 95, 672));
    end(&f);
    assert_int_equal(run(&f, combine, 2, in, NULL), AOT_OK);
    expect(&f, 0, 6, VALUES(1, 2, 3, 8, 15, 48));
    end(&f);
    aot_array_unref(in[0]);
    aot_array_unref(in[1]);
}

/* wrap and its kin take the operands one by one or as a list, the graph behind other arguments. */
static void graphs_are_wrapped(void **state)
{
    static const char *const calls[] = {
        "wrap(body, x, y)",
        "tag_activation_checkpoint(body, x, y)",
        "wrap_activation_checkpoint(body, x, y)",
        "invoke_subgraph(body, 'body_0', x, y)",
        "wrap_with_set_grad_enabled(False, body, x, y)",
        "wrap_with_autocast('cpu', torch.bfloat16, True, True, body, x, y)",
        "strict_mode(body, [x, y])",
        "hints_wrapper(body, (x, y), {}, hints = {})",
        "run_const_graph(body, (x, y))",
        "invoke_quant(body, x, y, scheme = 'nf4')"};
    aot_array *in[] = {array_of(1, SIZES(2), VALUES(1, 2)), array_of(1, SIZES(2), VALUES(10, 100))};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[1024];
        fixture f;
        snprintf(text, sizeof text,
                 MAIN("x: \"f32[2][1]cpu\", y: \"f32[2][1]cpu\"",
                      LINE("body = self.body") LINE("m = torch.ops.higher_order.%s")
                          LINE("r = m[0]"),
                      "r") GRAPH("body", "a: \"f32[2][1]cpu\", b: \"f32[2][1]cpu\"",
                                 INNER("s = torch.ops.aten.sub.Tensor(b, a)"), "s"),
                 calls[i]);
        if (run(&f, text, 2, in, NULL) != AOT_OK) {
            fail_msg("%s: %s", calls[i], f.err.msg);
        }
        expect(&f, 0, 2, VALUES(9, 98));
        end(&f);
    }
    aot_array_unref(in[0]);
    aot_array_unref(in[1]);
}

static void bodies_are_seen_and_a_run_stops_within_one(void **state)
{
    static const char text[] =
        MAIN("x: \"f32[2][1]cpu\"",
             LINE("p = torch.ops.aten.full.default([], True)") LINE("yes = self.yes")
                 LINE("no = self.no") LINE("m = torch.ops.higher_order.cond(p, yes, no, (x,))")
                     LINE("r = m[0]"),
             "r") GRAPH("yes", "a: \"f32[2][1]cpu\"",
                        INNER("s = torch.ops.aten.neg.default(a)")
                            INNER("t = torch.ops.aten.mul.Tensor(s, s)"),
                        "t")
            GRAPH("no", "a: \"f32[2][1]cpu\"", INNER("u = torch.ops.aten.neg.default(a)"), "u");
    aot_array *x = array_of(1, SIZES(2), VALUES(1, 2));
    seen s = {.stop = NULL};
    fixture f;
    (void)state;
    assert_int_equal(run(&f, text, 1, &x, &s), AOT_OK);
    assert_string_equal(s.names, "p yes no s t m r ");
    expect(&f, 0, 2, VALUES(1, 4));
    end(&f);
    s = (seen){.stop = "s"};
    assert_int_equal(run(&f, text, 1, &x, &s), AOT_OK);
    assert_string_equal(s.names, "p yes no s ");
    assert_int_equal(f.n_out, 0);
    end(&f);
    aot_array_unref(x);
}

#define QKV                                                                                        \
    "q: \"f32[1, 2, 3, 2][12, 6, 2, 1]cpu\", k: \"f32[1, 1, 3, 2][6, 6, 2, 1]cpu\", v: \"f32[1, "  \
    "1, 3, 2][6, 6, 2, 1]cpu\""
#define POSITIONS "b: \"i32[][]cpu\", h: \"i32[][]cpu\", m: \"i32[][]cpu\", n: \"i32[][]cpu\""
#define SCORE                                                                                      \
    GRAPH("score", "s: \"f32[][]cpu\", " POSITIONS,                                                \
          INNER("d = torch.ops.aten.mul.Tensor(s, 2)")                                             \
              INNER("e = torch.ops.aten.sub.Tensor(m, n)")                                         \
                  INNER("r = torch.ops.aten.add.Tensor(d, e)"),                                    \
          "r")
/* Not element-wise as the program sees it: it is run for each pair of positions. */
#define SCORE_BY_ONE                                                                               \
    GRAPH("score", "s: \"f32[][]cpu\", " POSITIONS,                                                \
          INNER("d = torch.ops.aten.mul.Tensor(s, 2)")                                             \
              INNER("e = torch.ops.aten.sub.Tensor(m, n)")                                         \
                  INNER("r = torch.ops.aten.add.Tensor(d, e)")                                     \
                      INNER("t = torch.ops.aten.view.default(r, [])"),                             \
          "t")
#define MASK GRAPH("mask", POSITIONS, INNER("r = torch.ops.aten.ge.Tensor(m, n)"), "r")

static aot_array *const *attention_inputs(aot_array *in[7])
{
    static const int64_t large[] = {1, 2, 3, 2}, small[] = {1, 1, 3, 2}, rows[] = {1, 2, 3};
    in[0] = array_of(4, large,
                     VALUES(1.5, -0.3, -2.2, 0.6, -1.1, -1.4, 0.4, 0.8, -0.7, -0.4, -0.6, 0.2));
    in[1] = array_of(4, small, VALUES(-0.9, 1.1, -1.1, 0.1, -0.6, 0.4));
    in[2] = array_of(4, small, VALUES(-0.9, -1.5, 0.4, 1.5, 0.9, 0.8));
    in[3] = array_of(4, large,
                     VALUES(-0.9, -1.5, -0.589733, -0.783998, 0.0246579, 0.4797, -0.9, -1.5,
                            -0.396918, -0.339042, -0.469942, -0.634263));
    in[4] = array_of(3, rows, VALUES(-2.42373, 5.64481, 3.73261, 0.750202, 2.42281, 4.50577));
    in[5] =
        array_of(4, large, VALUES(0.2, 1.3, -1.3, -0.8, 0, -0.7, 0.5, -1.3, 0.2, 0.5, -2.2, 0.3));
    return in;
}

static void attention_goes_through_its_graphs(void **state)
{
    static const char *const texts[] = {
        MAIN(QKV,
             LINE("score = self.score") LINE("mask = self.mask")
                 LINE("a = torch.ops.higher_order.flex_attention(q, k, v, score, (3, 3, mask), "
                      "0.5, {}, (), ())") LINE("o = a[0]") LINE("l = a[1]") LINE("x = a[2]"),
             "o, l, x") SCORE MASK,
        MAIN(QKV,
             LINE("score = self.score") LINE("mask = self.mask")
                 LINE("a = torch.ops.higher_order.flex_attention(q, k, v, score, (3, 3, mask), "
                      "0.5, {}, (), ())") LINE("o = a[0]") LINE("l = a[1]") LINE("x = a[2]"),
             "o, l, x") SCORE_BY_ONE MASK};
    aot_array *in[7];
    (void)state;
    attention_inputs(in);
    for (unsigned i = 0; i < 2; i++) {
        fixture f;
        if (run(&f, texts[i], 3, in, NULL) != AOT_OK) {
            fail_msg("%s", f.err.msg);
        }
        expect(&f, 0, 12,
               VALUES(-0.9, -1.5, -0.589733, -0.783998, 0.0246579, 0.4797, -0.9, -1.5, -0.396918,
                      -0.339042, -0.469942, -0.634263));
        expect(&f, 1, 6, VALUES(-2.42373, 5.64481, 3.73261, 0.750202, 2.42281, 4.50577));
        expect(&f, 2, 6, VALUES(-2.42373, 5.25141, 2.98638, 0.750202, 1.71681, 3.98184));
        end(&f);
    }
    for (unsigned i = 0; i < 6; i++) {
        aot_array_unref(in[i]);
    }
}

static void gradients_of_attention_go_through_its_joint_graph(void **state)
{
    static const char text[] =
        MAIN(QKV ", o: \"f32[1, 2, 3, 2][12, 6, 2, 1]cpu\", l: \"f32[1, 2, 3][6, 3, 1]cpu\", g: "
                 "\"f32[1, 2, 3, 2][12, 6, 2, 1]cpu\"",
             LINE("score = self.score") LINE("joint = self.joint") LINE("mask = self.mask")
                 LINE("a = torch.ops.higher_order.flex_attention_backward(q, k, v, o, l, g, None, "
                      "score, joint, (3, 3, mask), "
                      "0.5, {}, (), ())") LINE("x = a[0]") LINE("y = a[1]") LINE("z = a[2]"),
             "x, y, z") SCORE GRAPH("joint", "s: \"f32[][]cpu\", " POSITIONS ", g: \"f32[][]cpu\"",
                                    INNER("r = torch.ops.aten.mul.Tensor(g, 2)"),
                                    "r, None, None, None, None") MASK;
    aot_array *in[7];
    fixture f;
    (void)state;
    if (run(&f, text, 6, attention_inputs(in), NULL) != AOT_OK) {
        fail_msg("%s", f.err.msg);
    }
    expect(&f, 0, 12,
           VALUES(0, 0, 0.148635, 0.743174, 0.0795646, 0.438832, 0, 0, -0.0835042, -0.417521,
                  0.00718559, 0.424403));
    expect(&f, 1, 6, VALUES(-2.11801, 0.0861944, 1.99156, -0.0769752, 0.126453, -0.00921929));
    expect(&f, 2, 6, VALUES(-1.69717, -0.318408, -0.752466, -0.343899, -0.150363, -0.037693));
    end(&f);
    for (unsigned i = 0; i < 6; i++) {
        aot_array_unref(in[i]);
    }
}

static void code_that_no_log_holds_is_refused_with_the_reason(void **state)
{
    static const char text[] = MAIN(
        "x: \"f32[2][1]cpu\"",
        LINE(
            "t = torch.ops.higher_order.triton_kernel_wrapper_functional(kernel_idx = 0, "
            "constant_args_idx = 0, grid = [(1, 1, 1)], tma_descriptor_metadata = {}, kwargs = {}, "
            "tensors_to_clone = [])"),
        "t");
    aot_array *x = array_of(1, SIZES(2), VALUES(1, 2));
    fixture f;
    (void)state;
    assert_int_equal(run(&f, text, 1, &x, NULL), AOT_E_UNSUPPORTED);
    assert_non_null(strstr(f.err.msg, "a Triton kernel is code for a GPU that no log holds"));
    end(&f);
    aot_array_unref(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_mapped_scanned_and_combined),
        cmocka_unit_test(graphs_are_wrapped),
        cmocka_unit_test(bodies_are_seen_and_a_run_stops_within_one),
        cmocka_unit_test(attention_goes_through_its_graphs),
        cmocka_unit_test(gradients_of_attention_go_through_its_joint_graph),
        cmocka_unit_test(code_that_no_log_holds_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
