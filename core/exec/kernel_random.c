/* Random numbers of the CPU generator, drawn one by one as PyTorch's serial loops do: in the order in which
 * the elements of the result lie in memory.
 *
 * Differs: on Intel's processors PyTorch draws bernoulli.p, and with it dropout, from a stream of MKL's that
 * it seeds with one number of the generator; that library's stream is not drawn here.
 * Mirrors: aten/src/ATen/native/cpu/DistributionTemplates.h, TensorFactories.cpp (randperm), Dropout.cpp. */
#include <math.h>

#include "exec/internal.h"
#include "exec/rows.h"

static aot_generator *generator(aot_kern *k)
{
    return &k->x->generator;
}

static aot_array *sized(aot_kern *k, unsigned pos, aot_dtype d)
{
    unsigned n;
    const int64_t *size = k_ints(k, pos, &n);
    return k_out(k, 0, d, n, size);
}

/* As many bits as the dtype's fraction has, with the leading one. */
static double uniform(aot_generator *g, aot_dtype d)
{
    switch (d) {
    case AOT_F64: return aot_uniform_f64(g);
    case AOT_F16: return (aot_generator_u32(g) & 0x7ff) * 0x1p-11;
    case AOT_BF16: return (aot_generator_u32(g) & 0xff) * 0x1p-8;
    default: return aot_uniform_f32(g);
    }
}

/* Starts writing the elements as they lie in memory; results have no holes. */
static void put_in_memory(aot_kern *k, put *w, aot_array *x)
{
    int64_t n = aot_array_numel(x), one = 1;
    put_start(w, k_view(k, x, 1, &n, &one, x->offset));
}

static void give_uniform(aot_kern *k, aot_array *x, double from, double to)
{
    int64_t n = aot_array_numel(x);
    put w;
    put_in_memory(k, &w, x);
    for (int64_t i = 0; i < n; i++) {
        put_real(&w, uniform(generator(k), (aot_dtype)x->dtype) * (to - from) + from);
    }
    k_give(k, x);
}

/* Sixteen in a half type: each step is rounded to it, the angle but for its last. */
static void sixteen_halves(double *v, aot_dtype d, double mean, double std)
{
#define R(x) aot_round_to(d, x)
    for (int j = 0; j < 8; j++) {
        double r = R(sqrtf((float)R(-2 * R(logf((float)R(1 - v[j])))))), a = R(2 * M_PI * v[j + 8]);
        v[j] = R(R(R(r * R(cosf((float)a))) * std) + mean);
        v[j + 8] = R(R(R(r * R(sinf((float)a))) * std) + mean);
    }
#undef R
}

static void fill_halves(aot_generator *g, double *v, int64_t n, aot_dtype d, double mean, double std)
{
    for (int64_t i = 0; i < n; i++) {
        v[i] = uniform(g, d);
    }
    for (int64_t i = 0; i + 16 <= n; i += 16) {
        sixteen_halves(v + i, d, mean, std);
    }
    if (n % 16 != 0) { // the last sixteen are drawn again
        for (int64_t i = n - 16; i < n; i++) {
            v[i] = uniform(g, d);
        }
        sixteen_halves(v + n - 16, d, mean, std);
    }
}

/* Fewer than 16 numbers, and those that do not lie in their order, are drawn in double one by one. */
static void give_normal(aot_kern *k, aot_array *x, double mean, double std)
{
    int64_t n = aot_array_numel(x);
    aot_generator *g = generator(k);
    aot_dtype d = (aot_dtype)x->dtype;
    put w;
    put_in_memory(k, &w, x);
    bool one_by_one = n < 16 || !aot_array_is_contiguous(x);
    if (!one_by_one && d == AOT_F32) {
        aot_normal_fill_f32(g, (float *)(void *)aot_array_data(x), n, (float)mean, (float)std);
    } else if (!one_by_one && d == AOT_F64) {
        aot_normal_fill_f64(g, (double *)(void *)aot_array_data(x), n, mean, std);
    } else if (!one_by_one) {
        double *v = k_mem(k, (size_t)n * sizeof *v);
        fill_halves(g, v, n, d, aot_round_to(d, mean), aot_round_to(d, std));
        for (int64_t i = 0; i < n; i++) {
            put_real(&w, v[i]);
        }
    }
    for (int64_t i = 0; one_by_one && i < n; i++) {
        put_real(&w, fma(aot_normal_f64(g), std, mean));
    }
    k_give(k, x);
}

void kern_rand(aot_kern *k)
{
    give_uniform(k, sized(k, 0, k_dtype(k, 1, AOT_F32)), 0, 1);
}

void kern_rand_like(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    give_uniform(k, k_like(k, k_dtype(k, 1, (aot_dtype)x->dtype), x), 0, 1);
}

void kern_uniform(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    give_uniform(k, k_like(k, (aot_dtype)x->dtype, x), k_real(k, 1, 0), k_real(k, 2, 1));
}

void kern_randn(aot_kern *k)
{
    give_normal(k, sized(k, 0, k_dtype(k, 1, AOT_F32)), 0, 1);
}

void kern_randn_like(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    give_normal(k, k_like(k, k_dtype(k, 1, (aot_dtype)x->dtype), x), 0, 1);
}

void kern_normal(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    give_normal(k, k_like(k, (aot_dtype)x->dtype, x), k_real(k, 1, 0), k_real(k, 2, 1));
}

static void give_ints(aot_kern *k, aot_array *x, int64_t low, int64_t high)
{
    uint64_t range = (uint64_t)high - (uint64_t)low;
    int64_t n = aot_array_numel(x);
    put w;
    if (high <= low) {
        k_fail(k, AOT_E_RANGE, "no number from %lld to below %lld", (long long)low, (long long)high);
    }
    put_in_memory(k, &w, x);
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = range >> 32 != 0 ? aot_generator_u64(generator(k)) : aot_generator_u32(generator(k));
        put_int(&w, (int64_t)((uint64_t)low + v % range)); // low may be the least of all
    }
    k_give(k, x);
}

void kern_randint(aot_kern *k)
{
    give_ints(k, sized(k, 1, k_dtype(k, 2, AOT_I64)), 0, k_int(k, 0, 1));
}

void kern_randint_low(aot_kern *k)
{
    give_ints(k, sized(k, 2, k_dtype(k, 3, AOT_I64)), k_int(k, 0, 0), k_int(k, 1, 1));
}

void kern_randperm(aot_kern *k)
{
    int64_t n = k_int(k, 0, 0), *v = k_mem(k, (size_t)(n + 1) * sizeof *v);
    for (int64_t i = 0; i < n; i++) {
        v[i] = i;
    }
    for (int64_t i = 0; i + 1 < n; i++) {
        int64_t z = i + (int64_t)(aot_generator_u32(generator(k)) % (uint64_t)(n - i)), was = v[i];
        v[i] = v[z];
        v[z] = was;
    }
    aot_array *out = k_out(k, 0, k_dtype(k, 1, AOT_I64), 1, &n);
    put w;
    put_in_memory(k, &w, out);
    for (int64_t i = 0; i < n; i++) {
        put_int(&w, v[i]);
    }
    k_give(k, out);
}

/* A probability for each element is compared in its own precision, a lone one in double. */
static void give_bernoulli(aot_kern *k, aot_array *like, aot_array *p, double lone)
{
    aot_array *out = k_like(k, (aot_dtype)like->dtype, like);
    int64_t n = aot_array_numel(out);
    aot_dtype d = p == NULL || p->dtype == AOT_F64 ? AOT_F64 : AOT_F32;
    aot_array *each = NULL; // in the same order
    put w;
    if (p != NULL) {
        each = k_own(k, aot_array_new_strided(&k->x->live, AOT_F64, out->ndim, out->size, out->stride));
        aot_array_assign(each, k_expand(k, p, out->ndim, out->size));
    }
    put_in_memory(k, &w, out);
    for (int64_t i = 0; i < n; i++) {
        double limit = each == NULL ? lone : ((const double *)(const void *)aot_array_data(each))[i];
        put_int(&w, uniform(generator(k), d) < limit);
    }
    k_give(k, out);
}

void kern_bernoulli(aot_kern *k)
{
    aot_array *p = k_need(k, 0);
    give_bernoulli(k, p, p, 0);
}

void kern_bernoulli_p(aot_kern *k)
{
    give_bernoulli(k, k_need(k, 0), NULL, k_real(k, 1, 0.5));
}

void kern_bernoulli_tensor(aot_kern *k)
{
    give_bernoulli(k, k_need(k, 0), k_need(k, 1), 0);
}

void kern_native_dropout(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *mask = k_out(k, 1, AOT_B8, x->ndim, x->size), *out = k_like(k, (aot_dtype)x->dtype, x);
    double p = k_real(k, 1, 0.5);
    bool draws = (k_is_none(k, 2) || k_bool(k, 2)) && p > 0;
    int64_t n = aot_array_numel(x);
    put w;
    put_in_memory(k, &w, mask);
    for (int64_t i = 0; i < n; i++) {
        put_int(&w, !draws || (p < 1 && aot_uniform_f64(generator(k)) < 1 - p));
    }
    double scale = !draws ? 1 : p == 1 ? 0 : 1 / (1 - p);
    aot_array_assign(out, K2(k, aten_mul_Scalar, K2(k, aten_mul_Tensor, x, mask), scale));
    k_give(k, out);
    k_give(k, mask);
}

/* ---- Inductor's: seeds from the generator, numbers from a seed ---------------------------------------------- */

void kern_inductor_seeds(aot_kern *k)
{
    int64_t n = k_int(k, 0, 1);
    give_ints(k, k_out(k, 0, AOT_I64, 1, &n), INT64_MIN, INT64_MAX);
}

void kern_inductor_seed(aot_kern *k)
{
    give_ints(k, k_out(k, 0, AOT_I64, 0, NULL), INT64_MIN, INT64_MAX);
}

void kern_inductor_lookup_seed(aot_kern *k)
{
    aot_array *seeds = k_need(k, 0);
    int64_t i = k_int(k, 1, 0);
    if (seeds->ndim != 1 || i < 0 || i >= seeds->size[0]) {
        k_fail(k, AOT_E_RANGE, "seed %lld of %lld", (long long)i, (long long)aot_array_numel(seeds));
    }
    k_give(k, k_select(k, seeds, 0, i));
}

static void give_by_seed(aot_kern *k, aot_array *x, unsigned seed_pos, bool normal)
{
    uint64_t seed = (uint64_t)k_int(k, seed_pos, 0);
    int64_t n = aot_array_numel(x);
    put w;
    put_start(&w, x);
    for (int64_t i = 0; i < n; i++) {
        put_real(&w, normal ? aot_philox_normal(seed, (uint64_t)i) : aot_philox_uniform(seed, (uint64_t)i));
    }
    k_give(k, x);
}

void kern_inductor_random(aot_kern *k)
{
    if (!k_str_is(k, 2, "rand") && !k_str_is(k, 2, "randn")) {
        k_fail(k, AOT_E_UNSUPPORTED, "the mode is neither 'rand' nor 'randn'");
    }
    give_by_seed(k, sized(k, 0, AOT_F32), 1, k_str_is(k, 2, "randn"));
}

void kern_inductor_randint(aot_kern *k)
{
    aot_array *x = sized(k, 2, AOT_I64);
    int64_t low = k_int(k, 0, 0), high = k_int(k, 1, 1), n = aot_array_numel(x);
    uint64_t seed = (uint64_t)k_int(k, 3, 0);
    put w;
    put_start(&w, x);
    for (int64_t i = 0; i < n; i++) {
        put_int(&w, aot_philox_int(seed, (uint64_t)i, low, high));
    }
    k_give(k, x);
}
