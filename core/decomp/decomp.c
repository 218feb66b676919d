/* Casts, numbers and shapes that decompositions share. */
#include "decomp/decomp.h"

#include <string.h>

/* ---- dtypes ---------------------------------------------------------------------------------- */

aot_dtype dc_computation_dtype(aot_dtype d)
{
    return d == AOT_F16 || d == AOT_BF16 ? AOT_F32 : d == AOT_C32 ? AOT_C64 : d;
}

bool dc_is_integral(aot_dtype d)
{
    char kind = aot_dtype_get(d)->kind;
    return kind == 'b' || kind == 'i' || kind == 'u';
}

/* What takes part in a promotion: the types of tensors, the highest kind of number. */
typedef struct operands {
    aot_fake *types;
    unsigned n;
    aot_dtype number;
} operands;

static aot_dtype number_dtype(aot_value v)
{
    return v.kind == AOT_V_COMPLEX ? AOT_C64 : v.kind == AOT_V_FLOAT ? AOT_F32
           : v.kind == AOT_V_INT   ? AOT_I64
                                   : AOT_B8;
}

static unsigned count_tensors(aot_value v)
{
    unsigned n = v.kind == AOT_V_TENSOR;
    for (unsigned i = 0; aot_v_is_list(v) && i < v.n; i++) {
        n += count_tensors(v.u.items[i]);
    }
    return n;
}

static void collect(operands *o, aot_value v)
{
    if (v.kind == AOT_V_TENSOR && aot_is_wrapped_number(v.u.t)) {
        o->number = aot_promote_types(o->number, aot_dtype_of(v.u.t));
    } else if (v.kind == AOT_V_TENSOR) {
        o->types[o->n++] = *aot_type_of(v.u.t);
    } else if (aot_v_is_number(v)) {
        o->number = aot_promote_types(o->number, number_dtype(v));
    }
    for (unsigned i = 0; aot_v_is_list(v) && i < v.n; i++) {
        collect(o, v.u.items[i]);
    }
}

static operands operands_of(const aot_expand *k, unsigned positions, bool numbers)
{
    unsigned room = 1;
    for (unsigned i = 0; i < k->n; i++) {
        room += positions >> i & 1 ? count_tensors(k->args[i]) : 0;
    }
    operands o = {.types = aot_arena_alloc(aot_tracer_arena(k->t), room * sizeof(aot_fake)),
                  .number = AOT_NO_DTYPE};
    for (unsigned i = 0; i < k->n; i++) {
        if (positions >> i & 1 && (numbers || count_tensors(k->args[i]) != 0)) {
            collect(&o, k->args[i]);
        }
    }
    return o;
}

static aot_value convert(aot_tracer *t, aot_value v, aot_dtype d, bool numbers)
{
    if (v.kind == AOT_V_TENSOR) {
        return aot_v_tensor(dc_to(t, v.u.t, d));
    }
    if (numbers && aot_v_is_number(v) && v.kind != AOT_V_COMPLEX) {
        char kind = aot_dtype_get(d)->kind;
        return kind == 'f'   ? aot_v_float(dc_number(v))
               : kind == 'b' ? aot_v_bool(dc_number(v) != 0)
               : kind == 'c' ? (aot_value){.kind = AOT_V_COMPLEX, .u.z = {dc_number(v), 0}}
                             : dc_int(v);
    }
    if (aot_v_is_list(v) && count_tensors(v) != 0) {
        aot_value *items = aot_arena_alloc(aot_tracer_arena(t), v.n * sizeof *items);
        for (unsigned i = 0; i < v.n; i++) {
            items[i] = convert(t, v.u.items[i], d, numbers);
        }
        v.u.items = items;
    }
    return v;
}

static void convert_args(aot_expand *k, unsigned positions, aot_dtype d, bool numbers)
{
    aot_value *args = aot_arena_alloc(aot_tracer_arena(k->t), (k->n + 1) * sizeof *args);
    for (unsigned i = 0; i < k->n; i++) {
        args[i] = positions >> i & 1 ? convert(k->t, k->args[i], d, numbers) : k->args[i];
    }
    k->args = args;
}

aot_dtype dc_result_dtype(const aot_expand *k, unsigned positions, aot_promote kind)
{
    operands o = operands_of(k, positions, true);
    return aot_mixed_dtype(o.types, o.n, o.number, kind);
}

aot_dtype dc_promote(aot_expand *k, unsigned positions, aot_promote kind)
{
    aot_dtype result = dc_result_dtype(k, positions, kind), compute = result;
    if (kind == AOT_PROMOTE_ALWAYS_BOOL || kind == AOT_PROMOTE_COMPLEX_TO_FLOAT) {
        compute = dc_result_dtype(k, positions, AOT_PROMOTE_DEFAULT);
    }
    if (kind != AOT_PROMOTE_NO_OPMATH) {
        compute = dc_computation_dtype(compute);
    }
    convert_args(k, positions, compute, true);
    return result;
}

aot_dtype dc_opmath(aot_expand *k)
{
    operands o = operands_of(k, ~0u, false);
    aot_dtype result = aot_mixed_dtype(o.types, o.n, AOT_NO_DTYPE, AOT_PROMOTE_DEFAULT);
    convert_args(k, ~0u, dc_computation_dtype(result), false);
    return result;
}

bool dc_give(aot_expand *k, aot_tensor *x, aot_dtype dtype)
{
    return aot_x_give(k, dc_to(k->t, x, dtype));
}

aot_tensor *dc_to(aot_tracer *t, aot_tensor *x, aot_dtype dtype)
{
    return x == NULL || aot_dtype_of(x) == dtype ? x : AOT(t, aten_to_dtype, x, aot_v_dtype(dtype));
}

aot_tensor *dc_to_contiguous(aot_tracer *t, aot_tensor *x, aot_dtype dtype)
{
    if (x == NULL) {
        return NULL;
    }
    return AOT(t, aten_to_dtype, x, aot_v_dtype(dtype), false, false,
               aot_v_memory_format(t, AOT_MF_CONTIGUOUS));
}

/* ---- numbers of Python ----------------------------------------------------------------------- */

double dc_number(aot_value v)
{
    return v.kind == AOT_V_FLOAT     ? v.u.f
           : v.kind == AOT_V_COMPLEX ? v.u.z[0]
                                     : (double)v.u.dim.value;
}

bool dc_is_number(aot_value v, double x)
{
    return aot_v_is_number(v) && dc_number(v) == x && (v.kind != AOT_V_COMPLEX || v.u.z[1] == 0);
}

aot_value dc_int(aot_value v)
{
    return v.kind == AOT_V_INT ? v : aot_v_int((int64_t)dc_number(v));
}

aot_tensor *dc_scalar_tensor(aot_tracer *t, aot_value v, aot_dtype d, const aot_tensor *like)
{
    return AOT(t, aten_scalar_tensor, v, aot_v_dtype(d), AOT_NONE,
               aot_v_device(aot_device_of(like)), false);
}

aot_value dc_mul(aot_tracer *t, aot_value a, aot_value b)
{
    if (a.kind == AOT_V_FLOAT || b.kind == AOT_V_FLOAT) {
        return aot_v_float(dc_number(a) * dc_number(b));
    }
    return aot_v_dim(aot_trace_dim(t, '*', a.u.dim, b.u.dim));
}

double dc_float(aot_tracer *t, aot_dim n)
{
    if (n.expr != 0) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "a quotient of symbolic sizes is a symbolic float: %s",
                       aot_text(aot_tracer_ctx(t), n.expr));
    }
    return (double)n.value;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

aot_tensor *dc_unsqueeze_to(aot_tracer *t, aot_tensor *x, unsigned ndim)
{
    for (unsigned n = x == NULL ? ndim : aot_ndim(x); n < ndim; n++) {
        x = AOT(t, aten_unsqueeze, x, -1);
    }
    return x;
}

aot_value dc_cpu(aot_tracer *t)
{
    return aot_v_device(aot_v_str(t, "cpu").u.s);
}

bool dc_on_cpu(aot_tracer *t, const aot_tensor *x)
{
    return strncmp(aot_text(aot_tracer_ctx(t), aot_device_of(x)), "cpu", 3) == 0;
}

static aot_tensor *expand_to(aot_tracer *t, aot_tensor *x, aot_dims size)
{
    bool same = aot_ndim(x) == size.n;
    for (unsigned i = 0; same && i < size.n; i++) {
        same = aot_dim_eq(aot_size(x, i), size.d[i]);
    }
    return same || (aot_ndim(x) == 0 && dc_on_cpu(t, x)) ? x : AOT(t, aten_expand, x, size);
}

static aot_dims common_size(aot_tracer *t, aot_dims p, aot_dims q)
{
    unsigned n = p.n > q.n ? p.n : q.n;
    aot_dim *size = aot_arena_alloc(aot_tracer_arena(t), (n + 1) * sizeof *size);
    for (unsigned i = 0; i < n; i++) { // from the back
        aot_dim x = i < p.n ? p.d[p.n - 1 - i] : aot_dim_of(1);
        size[n - 1 - i] = i < q.n && aot_dim_eq(x, aot_dim_of(1)) ? q.d[q.n - 1 - i] : x;
    }
    return (aot_dims){size, n};
}

aot_dims dc_common_size(aot_tracer *t, const aot_tensor *a, const aot_tensor *b)
{
    return common_size(t, aot_sizes(a), aot_sizes(b));
}

void dc_broadcast(aot_tracer *t, aot_tensor **a, aot_tensor **b)
{
    aot_dims size = dc_common_size(t, *a, *b);
    *a = expand_to(t, *a, size);
    *b = expand_to(t, *b, size);
}

/* x's type at a larger size: stride 0 where it repeats. */
static aot_fake expanded(const aot_tensor *x, aot_dims size)
{
    aot_fake f = *aot_type_of(x);
    f.ndim = (uint8_t)size.n;
    for (unsigned i = 0; i < size.n; i++) {
        unsigned lead = size.n - aot_ndim(x);
        bool repeats = i < lead || !aot_dim_eq(aot_size(x, i - lead), size.d[i]);
        f.size[i] = size.d[i];
        f.stride[i] = repeats ? aot_dim_of(0) : aot_type_of(x)->stride[i - lead];
    }
    return f;
}

aot_dims dc_elementwise_strides(aot_tracer *t, unsigned n, aot_tensor *const *x)
{
    aot_dims size = aot_sizes(x[0]);
    aot_fake in[3], *out = aot_arena_alloc(aot_tracer_arena(t), sizeof *out);
    unsigned m = 0;
    for (unsigned i = 1; i < n; i++) {
        size = common_size(t, size, aot_sizes(x[i]));
    }
    for (unsigned i = 0; i < n; i++) {
        if (aot_ndim(x[i]) != 0 || !dc_on_cpu(t, x[i])) {
            in[m++] = expanded(x[i], size);
        }
    }
    if (m == 0) {
        return (aot_dims){0};
    }
    *out = in[0];
    if (m > 1) {
        aot_fake_set_permuted(aot_tracer_ctx(t), out, in, m);
    } else {
        aot_fake_set_like(aot_tracer_ctx(t), out, &in[0]);
    }
    return (aot_dims){out->stride, out->ndim};
}

aot_value dc_range(aot_tracer *t, unsigned lo, unsigned hi)
{
    int64_t d[AOT_FAKE_MAX_NDIM];
    unsigned n = 0;
    for (unsigned i = lo; i < hi; i++) {
        d[n++] = i;
    }
    return aot_v_ints(t, n, d);
}

aot_dim dc_prod(aot_tracer *t, aot_dims d, unsigned lo, unsigned hi)
{
    aot_dim n = aot_dim_of(1);
    for (unsigned i = lo; i < hi; i++) {
        n = aot_trace_dim(t, '*', n, d.d[i]);
    }
    return n;
}

bool dc_physical_layout(const aot_tensor *x, int64_t *perm)
{
    unsigned outer[AOT_FAKE_MAX_NDIM];
    bool identity = true;
    aot_fake_physical_order(aot_type_of(x), outer);
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        perm[i] = outer[i];
        identity = identity && outer[i] == i;
    }
    return identity;
}
