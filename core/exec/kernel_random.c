/* Random numbers of the CPU generator, drawn one by one as PyTorch's serial loops do: in the order
 * in which the elements of the result lie in memory.
 *
 * Differs: on Intel's processors PyTorch draws bernoulli.p, and with it dropout, from a stream of
 * MKL's that it seeds with one number of the generator; that library's stream is not drawn here.
 * Mirrors: aten/src/ATen/native/cpu/DistributionTemplates.h, TensorFactories.cpp (randperm),
 * Dropout.cpp. */
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

static void fill_halves(aot_generator *g, double *v, int64_t n, aot_dtype d, double mean,
                        double std)
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

/* Fewer than 16 numbers, and those that do not lie in their order, are drawn in double one by
 * one. */
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
        k_fail(k, AOT_E_RANGE, "no number from %lld to below %lld", (long long)low,
               (long long)high);
    }
    put_in_memory(k, &w, x);
    for (int64_t i = 0; i < n; i++) {
        uint64_t v =
            range >> 28 != 0 ? aot_generator_u64(generator(k)) : aot_generator_u32(generator(k));
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
        each = k_own(
            k, aot_array_new_strided(&k->x->live, AOT_F64, out->ndim, out->size, out->stride));
        aot_array_assign(each, k_expand(k, p, out->ndim, out->size));
    }
    put_in_memory(k, &w, out);
    for (int64_t i = 0; i < n; i++) {
        double limit =
            each == NULL ? lone : ((const double *)(const void *)aot_array_data(each))[i];
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
    aot_array *x = k_need(k, 0), *mask = k_out(k, 1, AOT_B8, x->ndim, x->size),
              *out = k_like(k, (aot_dtype)x->dtype, x);
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

/* ---- other distributions, one uniform or normal number an element ---------------------------- */

typedef double draw_fn(aot_generator *g, double a, double b);

static double exponential(aot_generator *g, double rate, double unused)
{
    (void)unused;
    return -1 / rate * log1p(-aot_uniform_f64(g));
}

static double cauchy(aot_generator *g, double median, double sigma)
{
    double u = aot_uniform_f64(g), least = 0x1p-52;
    u = u > 1 - least ? 1 - least : u < least ? least : u;
    return median + sigma * tan(M_PI * (u - 0.5));
}

static double log_normal(aot_generator *g, double mean, double std)
{
    return exp(fma(aot_normal_f64(g), std, mean));
}

static double geometric(aot_generator *g, double p, double unused)
{
    (void)unused;
    return ceil(log(aot_uniform_f64(g)) / log1p(-p));
}

static void give_drawn(aot_kern *k, draw_fn *fn, double a, double b)
{
    aot_array *x = k_need(k, 0), *out = k_like(k, (aot_dtype)x->dtype, x);
    int64_t n = aot_array_numel(out);
    put w;
    put_in_memory(k, &w, out);
    for (int64_t i = 0; i < n; i++) {
        put_real(&w, fn(generator(k), a, b));
    }
    k_give(k, out);
}

void kern_exponential(aot_kern *k)
{
    give_drawn(k, exponential, k_real(k, 1, 1), 0);
}

void kern_cauchy(aot_kern *k)
{
    give_drawn(k, cauchy, k_real(k, 1, 0), k_real(k, 2, 1));
}

void kern_log_normal(aot_kern *k)
{
    give_drawn(k, log_normal, k_real(k, 1, 1), k_real(k, 2, 2));
}

void kern_geometric(aot_kern *k)
{
    give_drawn(k, geometric, k_real(k, 1, 0.5), 0);
}

/* The largest integer that is drawn: what the dtype holds, of floats exactly. */
static int64_t largest_of(aot_kern *k, aot_dtype d)
{
    if (aot_dtype_class(d) == AOT_CLASS_COMPLEX) {
        k_fail(k, AOT_E_UNSUPPORTED, "random is not implemented for complex numbers");
    }
    bool is_signed = aot_dtype_get(d)->kind != 'u' || aot_dtype_get(d)->bytes == 8;
    switch (d) {
    case AOT_F64: return INT64_C(1) << 53;
    case AOT_F32: return INT64_C(1) << 24;
    case AOT_F16: return INT64_C(1) << 11;
    case AOT_BF16: return INT64_C(1) << 8;
    case AOT_B8: return 1;
    default: return (int64_t)((UINT64_C(1) << (8 * aot_dtype_get(d)->bytes - is_signed)) - 1);
    }
}

void kern_random(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *out = k_like(k, (aot_dtype)x->dtype, x);
    aot_dtype d = (aot_dtype)x->dtype;
    bool wide = d == AOT_F64 || d == AOT_I64;
    uint64_t range = (uint64_t)largest_of(k, d) + 1;
    int64_t n = aot_array_numel(out);
    put w;
    put_in_memory(k, &w, out);
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = wide ? aot_generator_u64(generator(k)) : aot_generator_u32(generator(k));
        put_int(&w, (int64_t)(v % range));
    }
    k_give(k, out);
}

void kern_random_to(aot_kern *k) // self, to
{
    aot_array *x = k_need(k, 0);
    give_ints(k, k_like(k, (aot_dtype)x->dtype, x), 0, k_int(k, 1, 1));
}

void kern_random_from(aot_kern *k) // self, from, to
{
    aot_array *x = k_need(k, 0);
    int64_t most = largest_of(k, (aot_dtype)x->dtype);
    give_ints(k, k_like(k, (aot_dtype)x->dtype, x), k_int(k, 1, 0),
              k_int(k, 2, most == INT64_MAX ? most : most + 1));
}

void kern_randint_like_tensor(aot_kern *k) // self, high
{
    aot_array *x = k_need(k, 0);
    give_ints(k, k_like(k, k_dtype(k, 2, (aot_dtype)x->dtype), x), 0, k_int(k, 1, 1));
}

/* self, noise, lower, upper, training: what is not above 0 is scaled, in training by a random
 * number that is the noise. */
void kern_rrelu_with_noise(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *noise = k_need(k, 1), *out = k_like(k, (aot_dtype)x->dtype, x);
    k_shape_is(k, noise, x->ndim, x->size);
    aot_array *used = k_out(k, 1, (aot_dtype)noise->dtype, noise->ndim, noise->size);
    double low = k_real(k, 2, 1.0 / 8), high = k_real(k, 3, 1.0 / 3), mean = (low + high) / 2;
    bool training = k_bool(k, 4);
    aot_array *v = k_cast_contiguous(k, x, AOT_F64), *r = k_new(k, AOT_F64, x->ndim, x->size);
    put w;
    put_start(&w, out);
    for (int64_t i = 0; i < aot_array_numel(x); i++) {
        double a = ((const double *)(const void *)aot_array_data(v))[i], scale = 1;
        if (!(a > 0)) {
            scale = training ? aot_uniform_f64(generator(k)) * (high - low) + low : mean;
        }
        ((double *)(void *)aot_array_data(r))[i] = scale;
        put_real(&w, a * aot_round_to(aot_opmath((aot_dtype)x->dtype), scale));
    }
    aot_array_assign(used, training ? r : noise);
    k_give(k, out);
    k_give(k, used);
}

/* ---- multinomial ----------------------------------------------------------------------------- */

/* The first category whose share of all, with those before it, is not below a uniform number. */
static void draw_categories(aot_kern *k, const double *p, int64_t n, int64_t *out, int64_t n_out,
                            aot_dtype d)
{
    double *share = k_mem(k, (size_t)(n + 1) * sizeof *share), sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum = aot_round_to(d, sum + p[i]);
        share[i] = sum;
    }
    for (int64_t i = 0; i < n; i++) {
        share[i] = i == n - 1 ? 1 : aot_round_to(d, share[i] / sum);
    }
    for (int64_t o = 0; o < n_out; o++) {
        double u = aot_uniform_f64(generator(k));
        int64_t lo = 0, hi = n;
        while (lo < hi) {
            int64_t mid = lo + (hi - lo) / 2;
            bool right = share[mid] < u;
            lo = right ? mid + 1 : lo;
            hi = right ? hi : mid;
        }
        out[o] = lo;
    }
}

/* self [(B,) N], num_samples, replacement. Without replacement, or for one sample, the largest p /
 * e win, e exponential. */
void kern_multinomial(aot_kern *k)
{
    aot_array *p = k_need(k, 0);
    int64_t n_out = k_int(k, 1, 1), size[2] = {p->ndim == 2 ? p->size[0] : n_out, n_out},
            n = p->ndim > 0 ? p->size[p->ndim - 1] : 0;
    if (p->ndim < 1 || p->ndim > 2 || n_out < 1 || (!k_bool(k, 2) && n_out > n)) {
        k_fail(k, AOT_E_SHAPE, "%lld samples of a tensor with %u dimensions", (long long)n_out,
               p->ndim);
    }
    if (!k_bool(k, 2) || n_out == 1) {
        aot_array *q =
                      K2(k, aten_div_Tensor, p, K1(k, aten_exponential, K1(k, aten_empty_like, p))),
                  *of[2];
        aot_xval args[] = {aot_xv_array(q), aot_xv_int(n_out), aot_xv_int(-1)};
        if (n_out == 1) {
            k_give(k, K3(k, aten_argmax, q, (int64_t)-1, true));
        } else {
            k_call_all(k, AOT_OP_aten_topk, 3, args, of, 2);
            k_give(k, of[1]);
        }
        return;
    }
    aot_array *out = k_out(k, 0, AOT_I64, p->ndim, size), *at = k_new(k, AOT_I64, p->ndim, size);
    const double *v =
        (const double *)(const void *)aot_array_data(k_cast_contiguous(k, p, AOT_F64));
    for (int64_t b = 0; b < (p->ndim == 2 ? size[0] : 1); b++) {
        draw_categories(k, v + b * n, n, (int64_t *)(void *)aot_array_data(at) + b * n_out, n_out,
                        aot_opmath((aot_dtype)p->dtype));
    }
    aot_array_assign(out, at);
    k_give(k, out);
}

/* ---- Inductor's: seeds from the generator, numbers from a seed ------------------------------- */

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
        k_fail(k, AOT_E_RANGE, "seed %lld of %lld", (long long)i,
               (long long)aot_array_numel(seeds));
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
        put_real(&w, normal ? aot_philox_normal(seed, (uint64_t)i)
                            : aot_philox_uniform(seed, (uint64_t)i));
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
