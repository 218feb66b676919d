/* scaled_dot_product_attention: the choice of a kernel on the CPU, and attention in single steps.
 *
 * The flash kernel takes what has no dropout and no mask that wants a gradient; all else is
 *     matmul(q * s, transpose(k) * s), + mask, _safe_softmax, dropout, matmul
 * with s the fourth root of the scale, so that both factors are scaled alike.
 *
 * Mirrors: aten/src/ATen/native/transformers/attention.cpp, sdp_utils_cpp.cpp, sdp_utils_cpp.h */
#include <math.h>
#include <string.h>

#include "trace/trace.h"

typedef struct attention {
    aot_tensor *q, *k, *v, *mask;
    double dropout;
    bool causal, gqa;
    aot_value scale;
} attention;

static aot_dtype accumulate_dtype(const aot_tensor *x)
{
    aot_dtype d = aot_dtype_of(x);
    return d == AOT_F16 || d == AOT_BF16 ? AOT_F32 : d;
}

static aot_tensor *to_dtype(aot_tracer *t, aot_tensor *x, aot_dtype d)
{
    return aot_dtype_of(x) == d ? x : AOT(t, aten_to_dtype, x, aot_v_dtype(d));
}

/* A mask of booleans as one of numbers to be added. */
static aot_tensor *number_mask(aot_tracer *t, aot_tensor *mask, aot_dtype d)
{
    if (mask == NULL || aot_dtype_of(mask) != AOT_B8) {
        return mask;
    }
    aot_value device = aot_v_device(aot_device_of(mask));
    aot_tensor *lowest =
        AOT(t, aten_scalar_tensor, (double)-INFINITY, aot_v_dtype(d), AOT_NONE, device);
    return AOT(t, aten_where_ScalarSelf, mask, 0.0, lowest);
}

/* ---- in single steps ------------------------------------------------------------------------- */

static double root_scale(const attention *a)
{
    double scale = a->scale.kind == AOT_V_NONE
                       ? 1 / sqrt((double)aot_size(a->q, -1).value)
                       : a->scale.kind == AOT_V_FLOAT ? fabs(a->scale.u.f)
                                                      : fabs((double)a->scale.u.dim.value);
    return sqrt(scale);
}

/* Keys and values are repeated for the queries that share them. */
static void repeat_heads(aot_tracer *t, attention *a)
{
    if (!a->gqa) {
        return;
    }
    aot_dim heads = aot_size(a->q, -3);
    aot_dim for_k = aot_trace_dim(t, '/', heads, aot_size(a->k, -3));
    aot_dim for_v = aot_trace_dim(t, '/', heads, aot_size(a->v, -3));
    if (!aot_dim_is(for_k, 1)) {
        a->k = AOT(t, aten_repeat_interleave_self_int, a->k, for_k, -3);
    }
    if (!aot_dim_is(for_v, 1)) {
        a->v = AOT(t, aten_repeat_interleave_self_int, a->v, for_v, -3);
    }
}

static void attention_math(aot_tracer *t, attention a, aot_tensor *dropout_mask, aot_tensor *out[2])
{
    aot_dtype dtype = aot_dtype_of(a.q), acc = accumulate_dtype(a.q);
    a.q = to_dtype(t, a.q, acc);
    a.k = to_dtype(t, a.k, acc);
    a.v = to_dtype(t, a.v, acc);
    double s = root_scale(&a);
    bool negative = a.scale.kind == AOT_V_FLOAT && a.scale.u.f < 0;
    aot_tensor *q = AOT(t, aten_mul_Scalar, a.q, negative ? -s : s);
    if (a.causal) {
        const aot_dim shape[] = {aot_size(q, -2), aot_size(a.k, -2)};
        a.mask = AOT(t, aten_ones, ((aot_dims){shape, 2}), aot_v_dtype(AOT_B8),
                     aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(q)));
        a.mask = AOT(t, aten_tril, a.mask);
        a.mask = number_mask(t, a.mask, aot_dtype_of(q));
    }
    repeat_heads(t, &a);
    aot_tensor *kt = AOT(t, aten_transpose_int, a.k, -2, -1);
    kt = AOT(t, aten_mul_Scalar, kt, s);
    aot_tensor *w = AOT(t, aten_matmul, q, kt);
    if (a.mask != NULL) {
        w = AOT(t, aten_add_Tensor, w, a.mask);
    }
    w = AOT(t, aten__safe_softmax, w, -1);
    aot_tensor *v = a.v;
    if (a.dropout > 0 && dropout_mask != NULL) {
        aot_tensor *keep = AOT(t, aten_logical_not, dropout_mask);
        w = AOT(t, aten_masked_fill_Scalar, w, keep, 0.0);
        v = AOT(t, aten_mul_Scalar, v, 1 / (1 - a.dropout));
    } else if (a.dropout > 0) {
        w = AOT(t, aten_dropout, w, a.dropout, true);
    }
    out[1] = to_dtype(t, w, dtype);
    out[0] = AOT(t, aten_matmul, w, v);
    out[0] = to_dtype(t, out[0], dtype);
}

/* (query, key, value, attn_mask, dropout_p, is_causal, ..., scale, enable_gqa) */
static attention read_attention(const aot_expand *k, unsigned scale)
{
    return (attention){.q = aot_x_tensor(k, 0),
                       .k = aot_x_tensor(k, 1),
                       .v = aot_x_tensor(k, 2),
                       .mask = aot_x_tensor(k, 3),
                       .dropout = aot_x_float(k, 4, 0),
                       .causal = aot_x_bool(k, 5),
                       .gqa = aot_x_bool(k, scale + 1),
                       .scale = k->args[scale]};
}

/* (query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, *, scale, enable_gqa) */
bool composite_attention_math(aot_expand *k)
{
    aot_tensor *out[2];
    attention a = read_attention(k, 7);
    attention_math(k->t, a, aot_x_tensor(k, 6), out);
    return aot_x_give_tuple(k, 2, out);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static bool is_or_one(aot_dim d, aot_dim want)
{
    return d.value == 1 || aot_dim_eq(d, want);
}

static bool mask_fits(const attention *a)
{
    const aot_tensor *m = a->mask;
    if (m == NULL) {
        return true;
    }
    unsigned n = aot_ndim(m);
    if (aot_requires_grad(m) || (n != 2 && n != 4)) {
        return false;
    }
    bool last = is_or_one(aot_size(m, -2), aot_size(a->q, 2)) &&
                is_or_one(aot_size(m, -1), aot_size(a->k, 2));
    return last && (n == 2 || (is_or_one(aot_size(m, 0), aot_size(a->q, 0)) &&
                               is_or_one(aot_size(m, 1), aot_size(a->q, 1))));
}

static bool heads_fit(const attention *a)
{
    aot_dim q = aot_size(a->q, 1), k = aot_size(a->k, 1), v = aot_size(a->v, 1);
    bool batch = aot_dim_eq(aot_size(a->q, 0), aot_size(a->k, 0)) &&
                 aot_dim_eq(aot_size(a->q, 0), aot_size(a->v, 0));
    bool heads = a->gqa ? aot_dim_eq(k, v) && k.value != 0 && q.value % k.value == 0
                        : aot_dim_eq(q, k) && aot_dim_eq(q, v);
    return batch && heads;
}

static bool flash_fits(const attention *a)
{
    const aot_tensor *x[] = {a->q, a->k, a->v};
    if (a->dropout > 0) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        const aot_fake *f = aot_type_of(x[i]);
        aot_dtype d = aot_dtype_of(x[i]);
        if (f->ndim != 4 || f->stride[3].value != 1 || f->size[2].value == 0 ||
            !(d == AOT_F32 || d == AOT_F64 || d == AOT_BF16 || d == AOT_F16)) {
            return false;
        }
    }
    return aot_dim_eq(aot_size(a->q, 3), aot_size(a->k, 3)) &&
           aot_dim_eq(aot_size(a->q, 3), aot_size(a->v, 3)) && heads_fit(a) && mask_fits(a);
}

/* (query, key, value, attn_mask, dropout_p, is_causal, *, scale, enable_gqa) */
bool composite_attention(aot_expand *k)
{
    aot_tracer *t = k->t;
    attention a = read_attention(k, 6);
    const char *device = aot_text(aot_tracer_ctx(t), aot_device_of(a.q));
    if (strncmp(device, "cuda", 4) == 0 || strncmp(device, "xpu", 3) == 0) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED,
                       "scaled_dot_product_attention on %s: which kernel is called depends on the "
                       "hardware",
                       device);
    }
    bool flash = flash_fits(&a);
    a.mask = number_mask(t, a.mask, aot_dtype_of(a.q));
    if (!flash) {
        aot_tensor *out[2];
        attention_math(t, a, NULL, out);
        return aot_x_give(k, out[0]);
    }
    return aot_x_give(k, AOT(t, aten__scaled_dot_product_flash_attention_for_cpu, a.q, a.k, a.v,
                             a.dropout, a.causal, a.mask, a.scale));
}
