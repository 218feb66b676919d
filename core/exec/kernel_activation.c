/* Activations that take a whole decomposition otherwise, and their gradients. Each step is rounded
 * as the decomposition's would be.
 *
 * Mirrors: aten/src/ATen/native/Activation.cpp, cpu/Activation.cpp. */
#include "exec/kernel.h"
#include "exec/vmath.h"
#include "exec/vector.h"

#define SQRT1_2 0.70710678118654752440
#define TWO_OVER_SQRTPI 1.12837916709551257390
#define BETA (2 * SQRT1_2 * TWO_OVER_SQRTPI * 0.5)
#define CUBIC 0.044715

/* The block functions of one dtype. */
#define BLOCKS(t, type)                                                                            \
    AOT_CLONES static void gelu_##t(const void *arg, void *out, void *const *in, int64_t n)        \
    {                                                                                              \
        const type *a = in[0];                                                                     \
        type *o = out;                                                                             \
        (void)arg;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type x = a[i], erf_x = F_ERF(x * (type)SQRT1_2);                                       \
            o[i] = x * (type)0.5 * (erf_x + 1);                                                    \
        }                                                                                          \
    }                                                                                              \
    AOT_CLONES static void gelu_tanh_##t(const void *arg, void *out, void *const *in, int64_t n)   \
    {                                                                                              \
        const type *a = in[0];                                                                     \
        type *o = out;                                                                             \
        (void)arg;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type x = a[i], tanh_x = F_TANH((x + x * x * x * (type)CUBIC) * (type)BETA);            \
            o[i] = x * (type)0.5 * (tanh_x + 1);                                                   \
        }                                                                                          \
    }                                                                                              \
    AOT_CLONES static void gelu_grad_##t(const void *arg, void *out, void *const *in, int64_t n)   \
    {                                                                                              \
        const type *g = in[0], *a = in[1];                                                         \
        type *o = out;                                                                             \
        (void)arg;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type x = a[i], erf_x = F_ERF(x * (type)SQRT1_2), cdf = (erf_x + 1) * (type)0.5;        \
            type e = F_EXP(x * x * (type) - 0.5),                                                  \
                 pdf = e * (type)(TWO_OVER_SQRTPI * SQRT1_2 * 0.5);                                \
            o[i] = g[i] * (cdf + x * pdf);                                                         \
        }                                                                                          \
    }                                                                                              \
    AOT_CLONES static void gelu_tanh_grad_##t(const void *arg, void *out, void *const *in,         \
                                              int64_t n)                                           \
    {                                                                                              \
        const type *g = in[0], *a = in[1];                                                         \
        type *o = out;                                                                             \
        (void)arg;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type x = a[i], square = x * x;                                                         \
            type y = F_TANH((x + square * x * (type)CUBIC) * (type)BETA);                          \
            type left = x * (type)0.5, left_slope = (y + 1) * (type)0.5;                           \
            type slope = left * (1 - y * y) * ((square * (type)(3 * CUBIC) + 1) * (type)BETA);     \
            o[i] = g[i] * (left_slope + slope);                                                    \
        }                                                                                          \
    }                                                                                              \
    AOT_CLONES static void silu_grad_##t(const void *arg, void *out, void *const *in, int64_t n)   \
    {                                                                                              \
        const type *g = in[0], *a = in[1];                                                         \
        type *o = out;                                                                             \
        (void)arg;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type x = a[i], e = F_EXP(-x), sigmoid = 1 / (e + 1);                                   \
            o[i] = g[i] * sigmoid * (x * (1 - sigmoid) + 1);                                       \
        }                                                                                          \
    }
BLOCKS(f32, float)
BLOCKS(f64, double)

static void run(aot_kern *k, unsigned n, aot_block_fn *f32, aot_block_fn *f64)
{
    aot_array *in[2] = {k_need(k, 0), n > 1 ? k_need(k, 1) : NULL};
    aot_dtype d = k_promote(k, (1u << n) - 1);
    if (aot_dtype_class(d) != AOT_CLASS_REAL) {
        k_fail(k, AOT_E_UNSUPPORTED, "not implemented for %s", aot_dtype_get(d)->torch_name);
    }
    aot_array *out = k_broadcast_out(k, d, n, in);
    if (d == AOT_F64) {
        k_pointwise(k, out, AOT_CLASS_REAL, d, n, in, f64, NULL);
    } else {
        k_pointwise_f32(k, out, d, n, in, f32, NULL);
    }
    k_give(k, out);
}

void kern_gelu(aot_kern *k)
{
    if (k_str_is(k, 1, "tanh")) {
        run(k, 1, gelu_tanh_f32, gelu_tanh_f64);
    } else {
        run(k, 1, gelu_f32, gelu_f64);
    }
}

void kern_gelu_backward(aot_kern *k)
{
    if (k_str_is(k, 2, "tanh")) {
        run(k, 2, gelu_tanh_grad_f32, gelu_tanh_grad_f64);
    } else {
        run(k, 2, gelu_grad_f32, gelu_grad_f64);
    }
}

void kern_silu_backward(aot_kern *k)
{
    run(k, 2, silu_grad_f32, silu_grad_f64);
}
