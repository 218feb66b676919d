/* Calls through the runtime wrappers against what PyTorch gave for the same programs and numbers:
 * mutated inputs, aliased outputs, inputs that overlap or are given twice, where gradients stop. */
#include "collect.h"

#include <jansson.h>

#include "exec/clones.h"
#include "exec/ulps.h"
#include "exec/values.h"
#include "session/derive.h"
#include "session/run_values.h"

typedef struct unit {
    const char *name;
    aot_runnable r;
    aot_xval *outer, *tangents;
    unsigned n_tangents;
    aot_exec *x; /* counts the bytes of the outputs: goes last */
    aot_run_out out;
} unit;

static const aot_unit *find_unit(const collected *c, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < c->units.n; i++) {
        const aot_unit *u = c->units.d[i];
        if (c->units.n == 1 || (strncmp(u->title, name, n) == 0 && u->title[n] == ' ')) {
            return u;
        }
    }
    return NULL;
}

static void make(unit *x, const aot_unit *u, const json_t *values)
{
    aot_err err = {0};
    aot_config config;
    aot_sb notes = {0};
    if (aot_unit_config(&config, u, NULL, 0, &err) != AOT_OK ||
        aot_runnable_make(&x->r, u, aot_unit_stage(u, AOT_STAGE_DYNAMO), &config, &err) != AOT_OK ||
        aot_run_values(&x->outer, &x->tangents, &x->n_tangents, &notes, &x->r, u, values, "values",
                       &err) != AOT_OK) {
        fail_msg("%s: %s", x->name, err.msg);
    }
    aot_sb_free(&notes);
}

static void run(unit *x)
{
    aot_err err = {0};
    x->x = aot_exec_new();
    aot_generator_seed(aot_exec_generator(x->x), 0);
    aot_run_in in = {.calling = &x->r.capture.calling,
                     .graph = x->r.joint,
                     .cut = x->r.cut,
                     .outer = x->outer,
                     .names = x->r.sources,
                     .tangents = x->tangents,
                     .n_tangents = x->n_tangents};
    if (aot_run_unit(&x->out, x->x, &in, &err) != AOT_OK) {
        fail_msg("%s: %s", x->name, err.msg);
    }
}

static void free_unit(unit *x)
{
    aot_run_free(&x->out);
    aot_free_values(x->outer, (unsigned)x->r.capture.calling.n_outer);
    aot_free_values(x->tangents, x->n_tangents);
    aot_runnable_free(&x->r);
    aot_exec_free(x->x);
}

static void expect(const unit *x, const char *what, const aot_xval *got, const json_t *j)
{
    aot_xval want = aot_xv_none();
    aot_err err = {0};
    aot_ulps u;
    const aot_tolerance t = {1e-5, 1e-6};
    if (j == NULL || json_is_null(j)) {
        return; // PyTorch tells none: of a view that was merged into a base, the base has it
    }
    assert_int_equal(aot_value_of_json(&want, j, "expected", what, &err), AOT_OK);
    aot_ulps_compare(&u, got, &want, &t);
    aot_xv_drop(&want);
    if (u.differs) {
        aot_sb b = {0};
        aot_ulps_print(&b, &u);
        fail_msg("%s: %s: %s", x->name, what, aot_sb_text(&b));
    }
}

static void compare(const unit *x, const json_t *expected)
{
    const json_t *outputs = json_object_get(expected, "outputs"),
                 *grads = json_object_get(expected, "grads"),
                 *mutated = json_object_get(expected, "mutated");
    assert_int_equal(x->out.n_outputs, json_array_size(outputs));
    for (unsigned i = 0; i < x->out.n_outputs; i++) {
        expect(x, "an output", &x->out.outputs[i], json_array_get(outputs, i));
    }
    for (unsigned i = 0; i < x->out.n_outer; i++) {
        expect(x, x->r.sources[i], &x->out.grads[i], json_object_get(grads, x->r.sources[i]));
        expect(x, x->r.sources[i], &x->outer[i], json_object_get(mutated, x->r.sources[i]));
    }
}

static unsigned compare_file(const char *log, const char *json)
{
    collected c;
    json_error_t e;
    json_t *cases = json_load_file(fixture(json), 0, &e);
    const json_t *one;
    size_t i;
    unsigned n = 0;
    collect_file(&c, log);
    assert_int_equal(c.status, AOT_OK);
    assert_non_null(cases);
    json_array_foreach(cases, i, one)
    {
        unit x = {.name = json_string_value(json_object_get(one, "name"))};
        const aot_unit *u = find_unit(&c, x.name);
        assert_non_null(u);
        make(&x, u, json_object_get(one, "values"));
        run(&x);
        compare(&x, json_object_get(one, "expected"));
        free_unit(&x);
        n++;
    }
    json_decref(cases);
    collect_free(&c);
    return n;
}

static void mutation_and_aliasing_give_the_values_of_pytorch(void **state)
{
    (void)state;
    assert_int_equal(compare_file("runtime/aliasing.log.gz", "runtime/aliasing.json"), 23);
    assert_int_equal(compare_file("runtime/mutation.log.gz", "runtime/mutation.json"), 24);
}

static void a_tensor_given_twice_gives_the_values_of_pytorch(void **state)
{
    (void)state;
    assert_int_equal(compare_file("runtime/dedupe_grad.txt", "runtime/dedupe_grad.json"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutation_and_aliasing_give_the_values_of_pytorch),
        cmocka_unit_test(a_tensor_given_twice_gives_the_values_of_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
