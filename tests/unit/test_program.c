/* The library's interface for compilers: a graph text in, graphs out, and run. */
#include <math.h>

#include "fixture.h"

#include "aotscope.h"

static const char model[] =
    "# aotscope: requires_grad L_w_\n"
    "class GraphModule(torch.nn.Module):\n"
    "    def forward(self, L_x_: \"f32[1, 2][2, 1]cpu\", L_w_: \"f32[2, 1][1, 1]cpu\"):\n"
    "        l_x_ = L_x_\n"
    "        l_w_ = L_w_\n"
    "        y: \"f32[1, 1][1, 1]cpu\" = l_x_ @ l_w_;  l_x_ = l_w_ = None\n"
    "        z: \"f32[1, 1][1, 1]cpu\" = y.sin();  y = None\n"
    "        return (z,)\n";

static aot_program *compile_model(void)
{
    aot_program *p = NULL;
    aot_err err = {0};
    if (aot_program_of_text(&p, "model", model, sizeof model - 1, NULL, 0, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    return p;
}

static void a_program_has_what_a_compiler_needs(void **state)
{
    (void)state;
    aot_program *p = compile_model();
    assert_non_null(p->joint);
    assert_non_null(p->forward->in_off);
    assert_non_null(p->backward->in_off);
    assert_int_equal(p->partition->n_forward_outputs, 1);
    assert_string_equal(aot_node_name(p->partition->cut, p->partition->saved[0]), "mm");
    assert_int_equal(p->runtime->calling->n_outer, 2);
    char *metadata = aot_program_metadata(p);
    assert_non_null(strstr(metadata, "\"saved_bytes\": 12"));
    free(metadata);
    aot_program_free(p);
}

static aot_status refuse_backward(void *arg, const aot_program *p, const char *side,
                                  const aot_graph *g, aot_err *err)
{
    (void)p;
    (void)g;
    ++*(int *)arg;
    return strcmp(side, "backward") == 0 ? AOT_FAIL(err, AOT_E_UNSUPPORTED, "no backwards here")
                                         : AOT_OK;
}

static void what_a_compiler_refuses_is_what_the_caller_gets(void **state)
{
    (void)state;
    aot_program *p = compile_model();
    aot_err err = {0};
    int n = 0;
    aot_compiler c = {&n, refuse_backward};
    assert_int_equal(aot_program_compile(p, &c, &err), AOT_E_UNSUPPORTED);
    assert_int_equal(n, 2);
    assert_string_equal(err.msg, "no backwards here");
    aot_program_free(p);
}

static aot_xval row(float a, float b, bool column)
{
    const int64_t sizes[2][2] = {{1, 2}, {2, 1}};
    aot_array *x = aot_array_new(NULL, aot_dtype_of_abbr("f32", 3), 2, sizes[column]);
    float *at = (float *)aot_array_data(x);
    at[0] = a;
    at[1] = b;
    return aot_xv_array(x);
}

static void a_program_runs_forward_and_backward(void **state)
{
    (void)state;
    aot_program *p = compile_model();
    aot_exec *x = aot_exec_new();
    aot_xval outer[2] = {row(1, 2, false), row(0.5f, 0.25f, true)};
    const int64_t one[2] = {1, 1};
    aot_array *tangent = aot_array_new(NULL, aot_dtype_of_abbr("f32", 3), 2, one);
    aot_array_fill(tangent, 1);
    aot_xval tangents[1] = {aot_xv_array(tangent)};
    aot_run_out out = {0};
    aot_err err = {0};
    if (aot_program_run(&out, x, p, outer, tangents, 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    assert_true(out.has_backward);
    /* sin(x @ w) */
    assert_true(fabs(*(float *)aot_array_data(out.outputs[0].u.array) - sin(1.0)) < 1e-6);
    const float *grad = (const float *)aot_array_data(out.grads[1].u.array);
    assert_true(fabs(grad[0] - cos(1.0)) < 1e-6); /* x cos(x @ w) */
    assert_true(fabs(grad[1] - 2 * cos(1.0)) < 1e-6);
    assert_int_equal(out.grads[0].kind, AOT_X_NONE);
    aot_run_free(&out);
    aot_xv_drop(&outer[0]);
    aot_xv_drop(&outer[1]);
    aot_xv_drop(&tangents[0]);
    aot_exec_free(x);
    aot_program_free(p);
}

static void a_joint_graph_alone_is_cut_but_not_run(void **state)
{
    (void)state;
    aot_program *p = NULL;
    aot_err err = {0};
    const char *log = fixture("logs/dropout_default.log.gz");
    assert_int_equal(aot_program_of_file(&p, log, 7, NULL, 0, &err), AOT_E_RANGE);
    assert_null(p);
    err = (aot_err){0};
    assert_int_equal(aot_program_of_file(&p, log, 0, NULL, 0, &err), AOT_OK);
    aot_sb joint = {0};
    aot_print_graph(&joint, p->joint, AOT_PRINT_PLAIN);
    aot_program_free(p);
    p = NULL;
    assert_int_equal(aot_program_of_text(&p, "joint", aot_sb_text(&joint), joint.n, NULL, 0, &err),
                     AOT_OK);
    assert_non_null(p->backward);
    assert_null(p->runtime);
    aot_run_out out = {0};
    assert_int_equal(aot_program_run(&out, NULL, p, NULL, NULL, 0, &err), AOT_E_PIPELINE);
    aot_program_free(p);
    aot_sb_free(&joint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_has_what_a_compiler_needs),
        cmocka_unit_test(what_a_compiler_refuses_is_what_the_caller_gets),
        cmocka_unit_test(a_program_runs_forward_and_backward),
        cmocka_unit_test(a_joint_graph_alone_is_cut_but_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
