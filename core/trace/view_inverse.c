/* What a base becomes when one of its views has become another value: one inverse a view operator.
 * Mirrors aten/src/ATen/FunctionalInverses.cpp with views reapplied. */
#include "trace/internal.h"

static int64_t int_arg(const view_step *v, unsigned pos)
{
    return v->args[pos].kind == AOT_V_INT ? v->args[pos].u.dim.value : 0;
}

static aot_tensor *reshape_to(aot_tracer *t, aot_tensor *value, const aot_tensor *base)
{
    return AOT(t, aten_reshape, value, aot_sizes(base));
}

static aot_tensor *inverse_permute(aot_tracer *t, const view_step *v, aot_tensor *value)
{
    unsigned n = v->args[1].n;
    int64_t order[AOT_FAKE_MAX_NDIM] = {0};
    for (unsigned i = 0; i < n && i < AOT_FAKE_MAX_NDIM; i++) {
        unsigned d = aot_wrap_dim(t, v->args[1].u.items[i].u.dim.value, n);
        order[d] = i;
    }
    return AOT(t, aten_permute, value, aot_v_ints(t, n, order));
}

/* The dimensions of one element that squeeze took away come back, from the first. */
static aot_tensor *inverse_squeeze(aot_tracer *t, const view_step *v, const aot_tensor *base,
                                   aot_tensor *value)
{
    unsigned ndim = aot_ndim(base);
    for (unsigned d = 0; d < ndim; d++) {
        bool asked = v->op == AOT_OP_aten_squeeze;
        if (v->op == AOT_OP_aten_squeeze_dim) {
            asked = aot_wrap_dim(t, int_arg(v, 1), ndim) == d;
        } else if (v->op == AOT_OP_aten_squeeze_dims) {
            for (unsigned i = 0; i < v->args[1].n; i++) {
                asked |= aot_wrap_dim(t, v->args[1].u.items[i].u.dim.value, ndim) == d;
            }
        }
        if (asked && aot_dim_eq(aot_size(base, d), aot_dim_of(1))) {
            value = AOT(t, aten_unsqueeze, value, (int64_t)d);
        }
    }
    return value;
}

/* Sum of what expand repeated. */
static aot_tensor *inverse_expand(aot_tracer *t, const aot_tensor *base, aot_tensor *value)
{
    aot_dims to = aot_sizes(base), from = aot_sizes(value);
    int64_t dims[AOT_FAKE_MAX_NDIM];
    unsigned n = 0, leading = from.n - to.n;
    for (unsigned i = 0; i < from.n; i++) {
        if (i < leading ||
            (aot_dim_is(to.d[i - leading], 1) && !aot_dim_is(from.d[i], 1))) {
            dims[n++] = i;
        }
    }
    if (n != 0) {
        value = AOT(t, aten_sum_dim_IntList, value, aot_v_ints(t, n, dims), true);
    }
    return leading > 0 ? AOT(t, aten_view, value, to) : value;
}

static aot_tensor *inverse_chunk(aot_tracer *t, const view_step *v, aot_tensor *base,
                                 aot_tensor *value)
{
    bool sizes = v->op == AOT_OP_aten_split_with_sizes;
    unsigned dim = aot_wrap_dim(t, int_arg(v, 2), aot_ndim(base));
    aot_dim start = aot_dim_of(0), step;
    if (sizes) {
        for (unsigned i = 0; i < v->out; i++) {
            start = aot_dim_add(t->c, start, v->args[1].u.items[i].u.dim);
        }
        step = v->args[1].u.items[v->out].u.dim;
    } else {
        step = v->args[1].u.dim;
        start = aot_dim_mul(t->c, step, aot_dim_of(v->out));
    }
    aot_dim end = aot_dim_add(t->c, start, step), size = aot_size(base, dim);
    if (!sizes && end.value > size.value) {
        end = size;
    }
    return AOT(t, aten_slice_scatter, base, value, (int64_t)dim, start, end);
}

aot_tensor *tr_view_inverse(aot_tracer *t, const view_step *v, aot_tensor *base, aot_tensor *value)
{
    const aot_value *a = v->args;
    switch (v->op) {
    case AOT_OP_aten_alias: return AOT(t, aten_alias, value);
    case AOT_OP_aten_detach: return value;
    case AOT_OP_aten_t: return AOT(t, aten_t, value);
    case AOT_OP_aten_transpose_int: return AOT(t, aten_transpose_int, value, a[1], a[2]);
    case AOT_OP_aten_permute: return inverse_permute(t, v, value);
    case AOT_OP_aten_unsqueeze: return AOT(t, aten_squeeze_dim, value, a[1]);
    case AOT_OP_aten_squeeze:
    case AOT_OP_aten_squeeze_dim:
    case AOT_OP_aten_squeeze_dims: return inverse_squeeze(t, v, base, value);
    case AOT_OP_aten_expand: return inverse_expand(t, base, value);
    case AOT_OP_aten__unsafe_view: return AOT(t, aten__unsafe_view, value, aot_sizes(base));
    case AOT_OP_aten_view:
    case AOT_OP_aten__reshape_alias: return reshape_to(t, value, base);
    case AOT_OP_aten_view_dtype: return AOT(t, aten_view_dtype, value, (int)aot_dtype_of(base));
    case AOT_OP_aten_select_int: return AOT(t, aten_select_scatter, base, value, a[1], a[2]);
    case AOT_OP_aten_slice_Tensor:
        return AOT(t, aten_slice_scatter, base, value, a[1], a[2], a[3], a[4]);
    case AOT_OP_aten_diagonal:
        return AOT(t, aten_diagonal_scatter, base, value, a[1], a[2], a[3]);
    case AOT_OP_aten_as_strided:
        return AOT(t, aten_as_strided_scatter, base, value, a[1], a[2], a[3]);
    case AOT_OP_aten_unbind_int:
        return AOT(t, aten_select_scatter, base, value, a[1], (int64_t)v->out);
    case AOT_OP_aten_split_Tensor:
    case AOT_OP_aten_split_with_sizes: return inverse_chunk(t, v, base, value);
    case AOT_OP_aten_view_as_real: return AOT(t, aten_view_as_complex, value);
    case AOT_OP_aten_view_as_complex: return AOT(t, aten_view_as_real, value);
    case AOT_OP_aten__conj: return AOT(t, aten__conj, value);
    case AOT_OP_aten__neg_view: return AOT(t, aten__neg_view, value);
    case AOT_OP_aten_unfold:
        return AOT(t, aten_unfold_backward, value, aot_sizes(base), a[1], a[2], a[3]);
    default:
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "a view by %s is written: its inverse is not known",
                       aot_op(v->op)->name);
    }
}
