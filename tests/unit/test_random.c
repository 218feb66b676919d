/* Random numbers against those that PyTorch 2.11 drew: fixtures/rng/rng.json, a part of what was
 * captured on an AVX2 machine whose processor is not Intel's. Bit for bit, and the generator's
 * state after each. */
#include "fixture.h"

#include <inttypes.h>
#include <math.h>
#include <jansson.h>

#include "exec/clones.h"
#include "exec/interp.h"
#include "ir/text.h"

/* ---- SHA-256, of the state (FIPS 180-4) ------------------------------------------------------ */

static uint32_t turned(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* The first 32 bits of the fractional parts of roots of primes, exact in long double. */
static void constants(uint32_t k[64], uint32_t h[8])
{
    int n = 0;
    for (int p = 2; n < 64; p++) {
        bool prime = true;
        for (int q = 2; q * q <= p; q++) {
            prime &= p % q != 0;
        }
        if (prime) {
            long double s = sqrtl(p), c = cbrtl(p);
            if (n < 8) {
                h[n] = (uint32_t)((s - floorl(s)) * 4294967296.0L);
            }
            k[n++] = (uint32_t)((c - floorl(c)) * 4294967296.0L);
        }
    }
}

static void block_of(uint32_t h[8], const uint32_t k[64], const uint8_t *p)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 64; i++) {
        uint32_t a = i < 15 ? 0 : w[i - 15], b = i < 2 ? 0 : w[i - 2];
        w[i] = i < 16 ? (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
                            (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3]
                      : w[i - 16] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + w[i - 7] +
                            (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t t = v[7] + (turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25)) +
                     ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        uint32_t u = (turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22)) +
                     ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t;
        v[0] = t + u;
    }
    for (int i = 0; i < 8; i++) {
        h[i] += v[i];
    }
}

static void sha256_of_state(const aot_generator *g, char out[65])
{
    enum { N = AOT_GENERATOR_STATE_BYTES, PADDED = (N + 9 + 63) / 64 * 64 };
    static uint8_t m[PADDED];
    uint32_t k[64], h[8];
    memset(m, 0, sizeof m);
    aot_generator_get_state(g, m);
    m[N] = 0x80;
    for (int i = 0; i < 8; i++) {
        m[PADDED - 1 - i] = (uint8_t)((uint64_t)N * 8 >> 8 * i);
    }
    constants(k, h);
    for (int i = 0; i < PADDED; i += 64) {
        block_of(h, k, m + i);
    }
    for (int i = 0; i < 8; i++) {
        snprintf(out + 8 * i, 9, "%08" PRIx32, h[i]);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct drawn {
    aot_ctx *ctx;
    aot_exec *x;
    aot_xval *out;
    unsigned n;
} drawn;

static void draw(drawn *d, uint64_t seed, const char *params, const char *call, const aot_xval *in,
                 unsigned n_in)
{
    aot_sb b = {0};
    aot_graph *g;
    aot_err err = {0};
    *d = (drawn){.ctx = aot_ctx_new(), .x = aot_exec_new()};
    aot_sb_addf(&b,
                "class G(torch.nn.Module):\n    def forward(self, %s):\n        y = torch.ops.%s\n "
                "       return (y,)\n",
                params, call);
    assert_int_equal(aot_parse_graph(&g, d->ctx, b.d, b.n, 1, &err), AOT_OK);
    aot_generator_seed(aot_exec_generator(d->x), seed);
    if (aot_exec_run(&d->out, &d->n, d->x, g, n_in, in, NULL, &err) != AOT_OK) {
        fail_msg("%s: %s", call, err.msg);
    }
    aot_sb_free(&b);
}

static void expect(drawn *d, const json_t *want, const char *call)
{
    const aot_xval *v = d->out[0].kind == AOT_X_LIST ? &d->out[0].u.items[1] : &d->out[0];
    assert_int_equal(v->kind, AOT_X_ARRAY);
    const aot_array *x = v->u.array;
    assert_int_equal(aot_array_numel(x), json_array_size(want));
    for (size_t i = 0; i < json_array_size(want); i++) {
        const char *p = aot_array_data(x) + (int64_t)i * aot_array_item_bytes(x);
        double got = aot_get_real((aot_dtype)x->dtype, p),
               w = json_number_value(json_array_get(want, i));
        if (got != w) {
            fail_msg("%s: element %zu: want %.17g, got %.17g", call, i, w, got);
        }
    }
}

static void done(drawn *d)
{
    aot_free_values(d->out, d->n);
    aot_exec_free(d->x);
    aot_ctx_free(d->ctx);
}

static json_t *captured(void)
{
    json_error_t e;
    json_t *j = json_load_file(fixture("rng/rng.json"), 0, &e);
    if (j == NULL) {
        fail_msg("%s", e.text);
    }
    return j;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* "%d": how many. A call on x takes a tensor of that many, all of `fill`. */
static const struct {
    const char *key, *call;
    double fill;
} draws[] = {
    {"rand", "aten.rand.default([%d])", 0},
    {"rand_f64", "aten.rand.default([%d], dtype = torch.float64)", 0},
    {"randn", "aten.randn.default([%d])", 0},
    {"randint_0_10", "aten.randint.low(0, 10, [%d])", 0},
    {"randperm", "aten.randperm.default(%d)", 0},
    {"bernoulli_0.3", "aten.bernoulli.default(x)", 0.3},
    {"dropout_mask_0.5", "aten.native_dropout.default(x, 0.5, True)", 1},
};

static void the_generator_draws_what_pytorch_draws(void **state)
{
    (void)state;
    json_t *j = captured(), *e;
    size_t i;
    json_array_foreach(json_object_get(j, "cpu_generator"), i, e) {
        int64_t n = json_integer_value(json_object_get(e, "n"));
        for (size_t k = 0; k < sizeof draws / sizeof *draws; k++) {
            char call[96], key[64], sha[65];
            drawn d;
            aot_array *x = aot_array_new(NULL, AOT_F32, 1, &n);
            aot_xval in = aot_xv_array(x);
            aot_array_fill(x, draws[k].fill);
            snprintf(call, sizeof call, draws[k].call, (int)n);
            draw(&d, (uint64_t)json_integer_value(json_object_get(e, "seed")), "x", call, &in, 1);
            expect(&d, json_object_get(e, draws[k].key), call);
            snprintf(key, sizeof key, "%s_state_sha256", draws[k].key);
            sha256_of_state(aot_exec_generator(d.x), sha);
            assert_string_equal(sha, json_string_value(json_object_get(e, key)));
            done(&d);
            aot_array_unref(x);
        }
    }
    json_decref(j);
}

static void inductors_numbers_are_those_of_their_seed(void **state)
{
    (void)state;
    json_t *j = captured(), *e;
    size_t i;
    json_array_foreach(json_object_get(j, "philox"), i, e) {
        const char *mode = json_string_value(json_object_get(e, "mode"));
        int64_t seed = json_integer_value(json_object_get(e, "seed")),
                n = json_integer_value(json_object_get(e, "n"));
        char call[96];
        drawn d;
        aot_array *x = aot_array_new(NULL, AOT_I64, 0, NULL);
        aot_xval in = aot_xv_array(x);
        aot_store_int(&seed, AOT_I64, aot_array_data(x), 0, 1);
        snprintf(call, sizeof call,
                 strncmp(mode, "randint", 7) == 0
                     ? "prims.inductor_randint.default(0, 100, [%d], s)"
                     : "prims.inductor_random.default([%d], s, '%s')",
                 (int)n, mode);
        draw(&d, 0, "s", call, &in, 1);
        expect(&d, json_object_get(e, "values"), call);
        done(&d);
        aot_array_unref(x);
    }
    json_decref(j);
}

static void a_state_that_is_put_back_draws_the_same_again(void **state)
{
    (void)state;
    json_t *j = captured(), *r = json_object_get(j, "restore");
    static const char *const keys[] = {"first", "second", "after_restore"};
    uint8_t bytes[AOT_GENERATOR_STATE_BYTES];
    aot_generator g = {0};
    aot_generator_seed(&g, (uint64_t)json_integer_value(json_object_get(r, "seed")));
    assert_int_equal(json_integer_value(json_object_get(r, "state_bytes")),
                     AOT_GENERATOR_STATE_BYTES);
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < 3; i++) {
            double want = json_number_value(json_array_get(json_object_get(r, keys[k]), i));
            assert_true(aot_uniform_f32(&g) == (float)want);
        }
        if (k == 0) {
            aot_generator_get_state(&g, bytes);
        } else if (k == 1) {
            assert_true(aot_generator_set_state(&g, bytes));
        }
    }
    json_decref(j);
}

/* torch.manual_seed(3); torch.randn(17, dtype=...)[:6]: each step of half types is rounded to
 * them. */
static const struct {
    aot_dtype d;
    double want[6];
} halves[] = {
    {AOT_BF16, {1.0234375, 1.1640625, -0.81640625, 0.7734375, -1.2734375, -0.0439453125}},
    {AOT_F16,
     {-2.287109375, 0.1259765625, 0.373779296875, -0.2127685546875, -1.123046875, -0.69873046875}},
};

static void half_types_are_drawn_in_their_own_precision(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        char call[96];
        drawn d;
        snprintf(call, sizeof call, "aten.randn.default([17], dtype = %s)",
                 aot_dtype_get(halves[i].d)->torch_name);
        aot_xval nothing = aot_xv_none();
        draw(&d, 3, "x", call, &nothing, 1);
        for (int64_t j = 0; j < 6; j++) {
            assert_true(aot_get_real(halves[i].d, aot_array_data(d.out[0].u.array) + 2 * j) ==
                        halves[i].want[j]);
        }
        done(&d);
    }
}

/* Numbers are drawn in the order in which the elements lie in memory. */
static void a_transposed_result_is_filled_as_it_lies(void **state)
{
    (void)state;
    aot_ctx *ctx = aot_ctx_new();
    aot_exec *x = aot_exec_new();
    aot_generator g = {0};
    aot_graph *graph;
    aot_xval *out;
    unsigned n;
    aot_err err = {0};
    static const char text[] =
        "class G(torch.nn.Module):\n    def forward(self):\n        e: \"f32[2, 3][1, 2]cpu\" = "
        "torch.ops.aten.empty_strided.default([2, 3], [1, 2])\n        y: \"f32[2, 3][1, 2]cpu\" = "
        "torch.ops.aten.rand_like.default(e)\n        return (y,)\n";
    assert_int_equal(aot_parse_graph(&graph, ctx, text, strlen(text), 1, &err), AOT_OK);
    aot_generator_seed(&g, 5);
    aot_generator_seed(aot_exec_generator(x), 5);
    assert_int_equal(aot_exec_run(&out, &n, x, graph, 0, NULL, NULL, &err), AOT_OK);
    assert_int_equal(out[0].u.array->stride[1], 2);
    for (int64_t i = 0; i < 6; i++) {
        assert_true(((const float *)(const void *)aot_array_data(out[0].u.array))[i] ==
                    aot_uniform_f32(&g));
    }
    aot_free_values(out, n);
    aot_exec_free(x);
    aot_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_draws_what_pytorch_draws),
        cmocka_unit_test(inductors_numbers_are_those_of_their_seed),
        cmocka_unit_test(a_state_that_is_put_back_draws_the_same_again),
        cmocka_unit_test(half_types_are_drawn_in_their_own_precision),
        cmocka_unit_test(a_transposed_result_is_filled_as_it_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
