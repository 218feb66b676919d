/* Random numbers of the CPU generator, drawn one by one as PyTorch's serial loops do.
 *
 * Differs: 16 and more normal numbers of f32 go through PyTorch's vector functions for logarithm, sine
 * and cosine; here they are rounded from double, so the last bits may differ. The stream is the same.
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

static double uniform(aot_generator *g, aot_dtype d)
{
    return d == AOT_F64 ? aot_uniform_f64(g) : aot_uniform_f32(g);
}

static void give_uniform(aot_kern *k, aot_array *x, double from, double to)
{
    int64_t n = aot_array_numel(x);
    put w;
    put_start(&w, x);
    for (int64_t i = 0; i < n; i++) {
        put_real(&w, uniform(generator(k), (aot_dtype)x->dtype) * (to - from) + from);
    }
    k_give(k, x);
}

/* 16 at a time: eight radii and angles give the cosines, then the sines. */
static void pairs_of_16(double *v)
{
    for (int j = 0; j < 8; j++) {
        double r = sqrt(-2 * log(1 - v[j])), a = 2 * M_PI * v[j + 8];
        v[j] = r * cos(a);
        v[j + 8] = r * sin(a);
    }
}

static void give_normal(aot_kern *k, aot_array *x, double mean, double std)
{
    int64_t n = aot_array_numel(x);
    double *v = k_mem(k, (size_t)n * sizeof *v);
    aot_generator *g = generator(k);
    for (int64_t i = 0; i < n; i++) {
        v[i] = n < 16 ? aot_normal_f64(g) : uniform(g, (aot_dtype)x->dtype);
    }
    for (int64_t i = 0; n >= 16 && i + 16 <= n; i += 16) {
        pairs_of_16(v + i);
    }
    if (n >= 16 && n % 16 != 0) { // the last 16 are drawn again
        for (int64_t i = n - 16; i < n; i++) {
            v[i] = uniform(g, (aot_dtype)x->dtype);
        }
        pairs_of_16(v + n - 16);
    }
    put w;
    put_start(&w, x);
    for (int64_t i = 0; i < n; i++) {
        put_real(&w, v[i] * std + mean);
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
    put_start(&w, x);
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = range >> 32 != 0 ? aot_generator_u64(generator(k)) : aot_generator_u32(generator(k));
        put_int(&w, low + (int64_t)(v % range));
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
    put_start(&w, out);
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
    aot_array *each = p == NULL ? NULL : k_cast_contiguous(k, k_expand(k, p, out->ndim, out->size), AOT_F64);
    put w;
    put_start(&w, out);
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
    put_start(&w, mask);
    for (int64_t i = 0; i < n; i++) {
        put_int(&w, !draws || (p < 1 && aot_uniform_f64(generator(k)) < 1 - p));
    }
    double scale = !draws ? 1 : p == 1 ? 0 : 1 / (1 - p);
    aot_array_assign(out, K2(k, aten_mul_Scalar, K2(k, aten_mul_Tensor, x, mask), scale));
    k_give(k, out);
    k_give(k, mask);
}
