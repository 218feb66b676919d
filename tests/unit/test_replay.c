/* A run that is stepped through: frames, going on and back, breaks, figures of values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/clones.h"
#include "exec/interp.h"
#include "exec/replay.h"
#include "ir/text.h"

enum { LONG = 700 };

typedef struct fixture {
    aot_ctx *ctx;
    aot_graph *g;
    aot_replay *r;
    double input[2];
    unsigned n_runs;
} fixture;

static aot_status run(void *arg, struct aot_exec *x, const struct aot_exec_options *o, aot_err *err)
{
    fixture *f = arg;
    int64_t two = 2;
    aot_array *in = aot_array_new(aot_exec_live(x), AOT_F64, 1, &two);
    memcpy(aot_array_data(in), f->input, sizeof f->input);
    aot_xval v = aot_xv_array(in), *out = NULL;
    unsigned n = 0;
    f->n_runs++;
    aot_status s = aot_exec_run(&out, &n, x, f->g, 1, &v, o, err);
    aot_free_values(out, n);
    aot_xv_drop(&v);
    return s;
}

static void start(fixture *f, const char *body, const char *result, double a, double b)
{
    aot_sb text = {0};
    aot_err err = {0};
    *f = (fixture){.ctx = aot_ctx_new(), .input = {a, b}};
    aot_sb_addf(
        &text,
        "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f64[2][1]cpu\"):\n%s"
        "        return (%s,)\n",
        body, result);
    assert_int_equal(aot_parse_graph(&f->g, f->ctx, text.d, text.n, 1, &err), AOT_OK);
    aot_sb_free(&text);
    aot_replay_source s = {.graph = {f->g, NULL}, .run = run, .arg = f};
    f->r = aot_replay_new(&s);
}

static void end(fixture *f)
{
    aot_replay_free(f->r);
    aot_ctx_free(f->ctx);
}

static const char *at(const fixture *f)
{
    size_t i = aot_replay_at(f->r);
    return i == AOT_REPLAY_NONE ? "" : aot_replay_name(f->r, aot_replay_frame_at(f->r, i));
}

static const char *const three = "        y = torch.ops.aten.neg.default(x)\n"
                                 "        z = torch.ops.aten.sqrt.default(y)\n"
                                 "        w = torch.ops.aten.mul.Tensor(z, z)\n";

static void steps_pass_over_inputs_and_back_costs_no_run(void **state)
{
    fixture f;
    (void)state;
    start(&f, three, "w", -1, -4);
    assert_true(aot_replay_step(f.r, 2));
    assert_string_equal(at(&f), "z");
    assert_true(aot_replay_step(f.r, -1));
    assert_string_equal(at(&f), "y");
    assert_false(aot_replay_step(f.r, -1));
    assert_string_equal(at(&f), "");
    assert_true(aot_replay_step(f.r, 3));
    assert_string_equal(at(&f), "w");
    assert_false(aot_replay_step(f.r, 1));
    assert_string_equal(at(&f), "w");
    assert_int_equal(f.n_runs, 1);
    assert_true(aot_replay_complete(f.r, NULL));
    end(&f);
}

static void nan_begins_where_the_inputs_have_none(void **state)
{
    fixture f;
    aot_err err = {0};
    (void)state;
    start(&f, three, "w", 1, -4); // sqrt(-1)
    assert_int_equal(aot_replay_break(f.r, "nan", &err), AOT_OK);
    assert_true(aot_replay_continue(f.r));
    assert_string_equal(at(&f), "z");
    const aot_value_stats *s = &aot_replay_frame_at(f.r, aot_replay_at(f.r))->values[0].stats;
    assert_int_equal(s->n_nan, 1);
    assert_int_equal(s->first_bad, 0);
    assert_true(s->min == 2 && s->max == 2 && s->mean == 2);
    assert_false(aot_replay_continue(f.r)); // w has it from z
    end(&f);
}

static void bytes_stop_where_they_grow_above(void **state)
{
    fixture f;
    aot_err err = {0};
    (void)state;
    start(&f, three, "w", -1, -4);
    assert_int_equal(aot_replay_break(f.r, "bytes>40", &err), AOT_OK); // x, y, z: 16 each
    assert_true(aot_replay_continue(f.r));
    assert_string_equal(at(&f), "z");
    assert_int_equal(aot_replay_frame_at(f.r, aot_replay_at(f.r))->live_bytes, 48);
    assert_false(aot_replay_continue(f.r));
    int64_t peak = 0;
    for (size_t i = 0; i < aot_replay_n(f.r); i++) {
        int64_t bytes = aot_replay_frame_at(f.r, i)->live_bytes;
        peak = bytes > peak ? bytes : peak;
    }
    assert_int_equal(aot_replay_peak(f.r, AOT_REPLAY_FORWARD), peak);
    assert_int_equal(aot_replay_peak(f.r, AOT_REPLAY_BACKWARD), 0);
    assert_int_equal(aot_replay_break(f.r, "bytes>x", &err), AOT_E_USAGE);
    assert_int_equal(aot_replay_n_breaks(f.r), 1);
    aot_replay_unbreak(f.r, 0);
    assert_int_equal(aot_replay_n_breaks(f.r), 0);
    end(&f);
}

static void a_long_run_goes_on_by_doubling(void **state)
{
    fixture f;
    char last[16];
    aot_sb body = {0};
    (void)state;
    aot_sb_addz(&body, "        v0 = torch.ops.aten.add.Tensor(x, 1)\n");
    for (int i = 1; i < LONG; i++) {
        aot_sb_addf(&body, "        v%d = torch.ops.aten.add.Tensor(v%d, 1)\n", i, i - 1);
    }
    snprintf(last, sizeof last, "v%d", LONG - 1);
    start(&f, aot_sb_text(&body), last, 0, 0);
    aot_sb_free(&body);
    assert_true(aot_replay_step(f.r, 10));
    assert_int_equal(f.n_runs, 1);
    assert_true(aot_replay_n(f.r) < LONG);
    assert_true(aot_replay_step(f.r, LONG - 10));
    assert_string_equal(at(&f), last);
    assert_true(f.n_runs <= 3);
    const aot_replay_frame *frame = aot_replay_frame_at(f.r, aot_replay_at(f.r));
    assert_true(frame->values[0].stats.max == LONG); // each node ran once for its frame
    end(&f);
}

static void an_operator_without_kernel_ends_the_run_with_its_error(void **state)
{
    fixture f;
    const aot_err *err;
    (void)state;
    start(
        &f,
        "        y = torch.ops.aten.neg.default(x)\n        z = torch.ops.mine.scale.default(y)\n",
        "z", 1, 2);
    assert_true(aot_replay_step(f.r, 1));
    assert_false(aot_replay_step(f.r, 1));
    assert_string_equal(at(&f), "y");
    assert_true(aot_replay_complete(f.r, &err));
    assert_int_equal(err->code, AOT_E_UNSUPPORTED);
    assert_non_null(strstr(err->msg, "mine.scale"));
    end(&f);
}

static void figures_are_of_the_elements_that_a_view_shows(void **state)
{
    int64_t size[2] = {2, 3}, stride[2] = {1, 2};
    const float v[6] = {0, 1, -2, 4, INFINITY, NAN};
    aot_array *x = aot_array_new_strided(NULL, AOT_F32, 2, size, stride);
    aot_value_stats s;
    (void)state;
    memcpy(aot_array_data(x), v, sizeof v); // rows: 0 -2 inf; 1 4 nan
    aot_value_stats_of(&s, x);
    assert_int_equal(s.n, 6);
    assert_true(s.min == -2 && s.max == 4 && s.mean == 0.75);
    assert_true(s.n_nan == 1 && s.n_inf == 1 && s.n_zero == 1);
    assert_int_equal(s.first_bad, 2);
    assert_true(s.first[1] == -2 && s.first[3] == 1);
    assert_true(s.bins[0] == 1 && s.bins[AOT_STATS_BINS - 1] == 1);
    aot_array *copy = aot_array_copy(x), *flat = aot_array_flat(x, AOT_F32),
              *same = aot_array_flat(copy, AOT_F32), *wide = aot_array_flat(copy, AOT_F64);
    assert_true(flat->storage != x->storage && wide->storage != copy->storage);
    assert_true(same->storage == copy->storage);
    assert_true(((const float *)(const void *)aot_array_data(flat))[1] == -2);
    assert_true(((const double *)(const void *)aot_array_data(wide))[1] == -2);
    aot_array_unref(flat);
    aot_array_unref(same);
    aot_array_unref(wide);
    aot_value_stats t;
    aot_value_stats_of(&t, copy);
    assert_true(s.hash == t.hash);
    aot_array_unref(copy);
    aot_array_unref(x);
}

static void differences_count_bits_but_not_nan(void **state)
{
    const float was[4] = {0.0f, 1, NAN, 3}, is[4] = {-0.0f, 1, -NAN, 2};
    aot_value_diff d;
    (void)state;
    aot_value_compare(&d, AOT_F32, (const char *)was, (const char *)is, 4);
    assert_true(d.n == 2 && d.of == 4 && d.first == 0);
    assert_true(signbit(d.is) && !signbit(d.was));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_pass_over_inputs_and_back_costs_no_run),
        cmocka_unit_test(nan_begins_where_the_inputs_have_none),
        cmocka_unit_test(bytes_stop_where_they_grow_above),
        cmocka_unit_test(a_long_run_goes_on_by_doubling),
        cmocka_unit_test(an_operator_without_kernel_ends_the_run_with_its_error),
        cmocka_unit_test(figures_are_of_the_elements_that_a_view_shows),
        cmocka_unit_test(differences_count_bits_but_not_nan),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
