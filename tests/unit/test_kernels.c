/* Kernels against what PyTorch 2.11 gives (fixtures/kernels/cases.json, made by
 * tests/capture_kernels.py): promotion, integer division, NaN and signed zeros, rounding of half
 * types, reductions, empty operands. Bit-equal, or within some units of the last place of the dtype
 * where PyTorch sums in another order. */
#include "fixture.h"

#include <jansson.h>
#include <math.h>

#include "exec/clones.h"
#include "exec/interp.h"
#include "ir/text.h"

enum { MAX_VALUES = 12 };

static double number(const json_t *j)
{
    return json_is_string(j) ? strtod(json_string_value(j), NULL) : json_number_value(j);
}

static aot_array *array_of(const json_t *v)
{
    int64_t size[AOT_ARRAY_MAX_NDIM];
    const char *name = json_string_value(json_object_get(v, "dtype"));
    aot_dtype d = aot_dtype_of_torch(name, strlen(name));
    size_t ndim = json_array_size(json_object_get(v, "size"));
    for (size_t i = 0; i < ndim; i++) {
        size[i] = json_integer_value(json_array_get(json_object_get(v, "size"), i));
    }
    aot_array *x = aot_array_new(NULL, d, (unsigned)ndim, size);
    int64_t n = aot_array_numel(x), bytes = aot_array_item_bytes(x);
    assert_int_equal(json_array_size(json_object_get(v, "data")), n);
    for (int64_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(json_object_get(v, "data"), (size_t)i);
        double x_i = number(item);
        if (d == AOT_U64) {
            int64_t whole = (int64_t)strtoull(json_string_value(item), NULL, 10);
            aot_store_int(&whole, d, aot_array_data(x) + i * bytes, 0, 1);
        } else {
            aot_store_real(&x_i, d, aot_array_data(x) + i * bytes, 0, 1);
        }
    }
    return x;
}

/* How far apart numbers of a dtype at 1 may be. */
static double tolerance(aot_dtype d)
{
    return d == AOT_F32    ? 1e-5
           : d == AOT_BF16 ? 0x1p-7
           : d == AOT_F16  ? 0x1p-10
           : d == AOT_F64  ? 1e-14
                           : 0;
}

static void expect(const char *call, unsigned which, const aot_xval *got, const json_t *want)
{
    if (json_is_null(want)) {
        return;
    }
    aot_array *w = array_of(want), *g = got->kind == AOT_X_ARRAY ? got->u.array : NULL;
    if (g == NULL || g->dtype != w->dtype || g->ndim != w->ndim ||
        memcmp(g->size, w->size, w->ndim * sizeof *w->size) != 0) {
        fail_msg("%s: result %u is not of the type that PyTorch gives", call, which);
    }
    aot_array *flat = aot_array_new(NULL, (aot_dtype)g->dtype, g->ndim, g->size);
    aot_array_assign(flat, g);
    int64_t n = aot_array_numel(w), bytes = aot_array_item_bytes(w);
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        double b = fabs(aot_get_real((aot_dtype)w->dtype, aot_array_data(w) + i * bytes));
        largest = isfinite(b) && b > largest ? b : largest;
    }
    for (int64_t i = 0; i < n; i++) {
        const char *p = aot_array_data(flat) + i * bytes, *q = aot_array_data(w) + i * bytes;
        double a = aot_get_real((aot_dtype)w->dtype, p), b = aot_get_real((aot_dtype)w->dtype, q);
        bool same =
            a == b ? signbit(a) == signbit(b)
                   : (a != a && b != b) || fabs(a - b) <= tolerance((aot_dtype)w->dtype) * largest;
        if (!same || (w->dtype == AOT_U64 && memcmp(p, q, 8) != 0)) {
            fail_msg("%s: result %u, element %d: want %.9g, got %.9g", call, which, (int)i, b, a);
        }
    }
    aot_array_unref(flat);
    aot_array_unref(w);
}

static void type_of(aot_sb *b, const aot_array *x)
{
    int64_t stride[AOT_ARRAY_MAX_NDIM];
    aot_strides_contiguous(stride, x->ndim, x->size);
    aot_sb_addf(b, "%s[", aot_dtype_get((aot_dtype)x->dtype)->abbr);
    for (unsigned i = 0; i < x->ndim; i++) {
        aot_sb_addf(b, "%s%d", i > 0 ? ", " : "", (int)x->size[i]);
    }
    aot_sb_addz(b, "][");
    for (unsigned i = 0; i < x->ndim; i++) {
        aot_sb_addf(b, "%s%d", i > 0 ? ", " : "", (int)stride[i]);
    }
    aot_sb_addz(b, "]cpu");
}

static void run_case(const json_t *c)
{
    const char *call = json_string_value(json_object_get(c, "call"));
    json_t *ins = json_object_get(c, "in"), *outs = json_object_get(c, "out");
    size_t n_in = json_array_size(ins), n_want = json_array_size(outs);
    aot_xval in[MAX_VALUES], *out;
    aot_sb b = {0};
    aot_ctx *ctx = aot_ctx_new();
    aot_exec *x = aot_exec_new();
    aot_graph *g;
    aot_err err = {0};
    unsigned n_out = 0;
    assert_true(n_in <= MAX_VALUES);
    aot_sb_addz(&b, "class G(torch.nn.Module):\n    def forward(self");
    for (size_t i = 0; i < n_in; i++) {
        in[i] = aot_xv_array(array_of(json_array_get(ins, i)));
        aot_sb_addf(&b, ", x%d: \"", (int)i);
        type_of(&b, in[i].u.array);
        aot_sb_addc(&b, '"');
    }
    aot_sb_addf(&b, "):\n        y = torch.ops.%s\n", call);
    for (size_t i = 0; i < n_want && n_want > 1; i++) {
        aot_sb_addf(&b, "        y%d = y[%d]\n", (int)i, (int)i);
    }
    aot_sb_addz(&b, "        return (");
    for (size_t i = 0; i < n_want; i++) {
        aot_sb_addf(&b, n_want > 1 ? "y%d, " : "y,", (int)i);
    }
    aot_sb_addz(&b, ")\n");
    aot_generator_seed(aot_exec_generator(x), 0);
    if (aot_parse_graph(&g, ctx, b.d, b.n, 1, &err) != AOT_OK ||
        aot_exec_run(&out, &n_out, x, g, (unsigned)n_in, in, NULL, &err) != AOT_OK) {
        fail_msg("%s: %s", call, err.msg);
    }
    assert_int_equal(n_out, n_want);
    for (unsigned i = 0; i < n_out; i++) {
        expect(call, i, &out[i], json_array_get(outs, i));
    }
    aot_free_values(out, n_out);
    for (size_t i = 0; i < n_in; i++) {
        aot_xv_drop(&in[i]);
    }
    assert_int_equal(aot_exec_live(x)->now, 0);
    aot_exec_free(x);
    aot_ctx_free(ctx);
    aot_sb_free(&b);
}

static void kernels_give_what_pytorch_gives(void **state)
{
    (void)state;
    json_error_t e;
    json_t *j = json_load_file(fixture("kernels/cases.json"), 0, &e), *c;
    size_t i;
    if (j == NULL) {
        fail_msg("%s", e.text);
    }
    assert_true(json_array_size(json_object_get(j, "cases")) > 100);
    json_array_foreach(json_object_get(j, "cases"), i, c) {
        run_case(c);
    }
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_give_what_pytorch_gives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
