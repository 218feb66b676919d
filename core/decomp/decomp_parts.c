/* Calls that decompositions of indexing, pooling and images share. */
#include "decomp/decomp_parts.h"

#include "rules/meta_shared.h"

aot_memory_format dc_suggest_format(const aot_tensor *x)
{
    return aot_fake_suggest(aot_type_of(x));
}

aot_tensor *dc_clone(aot_tracer *t, aot_tensor *x, aot_memory_format format)
{
    return AOT(t, aten_clone, x, aot_v_memory_format(t, format));
}

aot_tensor *dc_contiguous(aot_tracer *t, aot_tensor *x, aot_memory_format format)
{
    return aot_fake_is_format(aot_type_of(x), format) ? x : dc_clone(t, x, format);
}

aot_tensor *dc_arange(aot_tracer *t, aot_dim end, aot_dtype dtype, const aot_tensor *x)
{
    return AOT(t, aten_arange, end, aot_v_dtype(dtype), AOT_NONE, aot_v_device(aot_device_of(x)),
               aot_v_bool(false));
}

aot_tensor *dc_arange_from(aot_tracer *t, aot_dim start, aot_dim end, aot_dtype dtype,
                           const aot_tensor *x)
{
    return AOT(t, aten_arange_start, start, end, aot_v_dtype(dtype), AOT_NONE,
               aot_v_device(aot_device_of(x)), aot_v_bool(false));
}

aot_tensor *dc_arange_step(aot_tracer *t, aot_dim start, aot_dim end, aot_dim step,
                           aot_dtype dtype, const aot_tensor *x)
{
    return AOT(t, aten_arange_start_step, start, end, step, aot_v_dtype(dtype), AOT_NONE,
               aot_v_device(aot_device_of(x)), aot_v_bool(false));
}

aot_tensor *dc_new_zeros(aot_tracer *t, aot_tensor *x, aot_dims size)
{
    return AOT(t, aten_new_zeros, x, size, AOT_NONE, AOT_NONE, AOT_NONE, aot_v_bool(false));
}

aot_value dc_indices(aot_tracer *t, unsigned n_none, unsigned n, aot_tensor *const *index)
{
    aot_tensor *all[2 * AOT_FAKE_MAX_NDIM] = {NULL};
    for (unsigned i = 0; i < n; i++) {
        all[n_none + i] = index[i];
    }
    return aot_v_tensors(t, n_none + n, all);
}

aot_value dc_ones_but(aot_tracer *t, unsigned n, unsigned dim, aot_dim size)
{
    aot_dim *d = dc_room(t, n);
    for (unsigned i = 0; i < n; i++) {
        d[i] = i == dim ? size : aot_dim_of(1);
    }
    return aot_v_dims(t, (aot_dims){d, n});
}

aot_dim *dc_room(aot_tracer *t, unsigned n)
{
    return aot_arena_alloc(aot_tracer_arena(t), (n + 1) * sizeof(aot_dim));
}

void dc_need_ndim(aot_tracer *t, const aot_tensor *x, unsigned least)
{
    if (aot_ndim(x) < least) {
        aot_trace_fail(t, AOT_E_SHAPE, "a tensor of %u dimensions; %u are the least", aot_ndim(x),
                       least);
    }
}

bool dc_wanted(const aot_expand *k, unsigned pos, unsigned i)
{
    const aot_value *mask = &k->args[pos];
    return aot_v_is_list(*mask) && i < mask->n && mask->u.items[i].u.dim.value != 0;
}

aot_dims dc_reshaped(aot_tracer *t, const aot_tensor *x, unsigned at, unsigned count, unsigned n,
                     const aot_dim *with)
{
    aot_dims old = aot_sizes(x);
    if (at > old.n || count > old.n - at) {
        aot_trace_fail(t, AOT_E_SHAPE, "a tensor of %u dimensions has not those that are reshaped",
                       old.n);
    }
    aot_dim *d = dc_room(t, old.n - count + n);
    unsigned k = 0;
    for (unsigned i = 0; i < at; i++) {
        d[k++] = old.d[i];
    }
    for (unsigned i = 0; i < n; i++) {
        d[k++] = with[i];
    }
    for (unsigned i = at + count; i < old.n; i++) {
        d[k++] = old.d[i];
    }
    return (aot_dims){d, k};
}

bool dc_is_empty(const aot_tensor *x)
{
    aot_dims s = aot_sizes(x);
    bool empty = false;
    for (unsigned i = 0; i < s.n; i++) {
        empty = empty || aot_dim_eq(s.d[i], aot_dim_of(0));
    }
    return empty;
}

aot_dim dc_dim(aot_tracer *t, char op, aot_dim a, aot_dim b)
{
    return aot_trace_dim(t, op, a, b);
}

static double arith(char op, double a, double b)
{
    return op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
}

static bool is_symbol(aot_value v)
{
    return v.kind != AOT_V_FLOAT && (v.kind != AOT_V_INT || v.u.dim.expr != 0);
}

aot_value dc_arith(aot_tracer *t, char op, aot_value a, aot_value b)
{
    if (a.kind == AOT_V_INT && b.kind == AOT_V_INT && op != '/') {
        return aot_v_dim(dc_dim(t, op, a.u.dim, b.u.dim));
    }
    if (is_symbol(a) || is_symbol(b)) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "floating-point arithmetic on symbolic sizes");
    }
    return aot_v_float(arith(op, dc_number(a), dc_number(b)));
}

aot_tensor *dc_plus(aot_tracer *t, aot_tensor *sum, aot_tensor *x)
{
    return sum == NULL ? x : AOT(t, aten_add_Tensor, sum, x);
}
