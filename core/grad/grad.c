#include "grad/grad.h"

/* ---- formulas of one element ----------------------------------------------------------------- */

static void each_item(aot_vjp *b, const aot_grad_part *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        aot_each e = {b, aot_vjp_tracer(b), aot_vjp_grad(b, i), i};
        aot_vjp_set_item(b, p->pos, i, e.g == NULL ? NULL : p->formula(&e));
    }
}

void aot_grad_each(aot_vjp *b, const aot_grad_part *parts, unsigned n)
{
    for (unsigned k = 0; k < n; k++) {
        if (!aot_vjp_needs(b, parts[k].pos)) {
            continue;
        }
        if (aot_v_is_list(aot_vjp_arg(b, parts[k].pos))) {
            each_item(b, &parts[k], aot_vjp_n_items(b, parts[k].pos));
            continue;
        }
        aot_each e = {b, aot_vjp_tracer(b), aot_vjp_grad(b, 0), 0};
        if (e.g != NULL) {
            aot_vjp_set(b, parts[k].pos, parts[k].formula(&e));
        }
    }
}

aot_tensor *aot_each_in(const aot_each *e, unsigned pos)
{
    return aot_v_is_list(aot_vjp_arg(e->b, pos)) ? aot_vjp_in_item(e->b, pos, e->i)
                                                 : aot_vjp_in(e->b, pos);
}

aot_value aot_each_num(const aot_each *e, unsigned pos)
{
    aot_value v = aot_vjp_arg(e->b, pos);
    return aot_v_is_list(v) ? v.u.items[e->i] : v;
}

aot_tensor *aot_each_out(const aot_each *e)
{
    return aot_vjp_out(e->b, e->i);
}

/* ---- numbers --------------------------------------------------------------------------------- */

double aot_grad_num(aot_value s)
{
    switch (s.kind) {
    case AOT_V_FLOAT: return s.u.f;
    case AOT_V_COMPLEX: return s.u.z[0];
    case AOT_V_INT:
    case AOT_V_BOOL: return (double)s.u.dim.value;
    default: return 0;
    }
}

aot_value aot_grad_conj_num(aot_value s)
{
    if (s.kind == AOT_V_COMPLEX) {
        s.u.z[1] = -s.u.z[1];
    }
    return s;
}

aot_value aot_grad_neg_num(aot_value s)
{
    switch (s.kind) {
    case AOT_V_FLOAT: return aot_v_float(-s.u.f);
    case AOT_V_COMPLEX:
        s.u.z[0] = -s.u.z[0];
        s.u.z[1] = -s.u.z[1];
        return s;
    default: return aot_v_int(-s.u.dim.value);
    }
}

static bool is_one(aot_value s)
{
    return (s.kind == AOT_V_FLOAT && s.u.f == 1.0) ||
           ((s.kind == AOT_V_INT || s.kind == AOT_V_BOOL) && aot_dim_is(s.u.dim, 1));
}

aot_tensor *aot_grad_times(aot_tracer *t, aot_tensor *x, aot_value s)
{
    return is_one(s) ? x : AOT(t, aten_mul_Scalar, x, s);
}

static aot_tensor *filled_like(aot_tracer *t, aot_value s, aot_tensor *x)
{
    aot_value format = aot_v_memory_format(t, AOT_MF_PRESERVE);
    aot_tensor *y = AOT(t, aten_empty_like, x, AOT_NONE, AOT_NONE, AOT_NONE, AOT_NONE, format);
    return AOT(t, aten_fill__Scalar, y, s);
}

aot_tensor *aot_grad_n_sub(aot_tracer *t, aot_value s, aot_tensor *x)
{
    return AOT(t, aten_sub__Tensor, filled_like(t, s, x), x);
}

aot_tensor *aot_grad_n_div(aot_tracer *t, aot_value s, aot_tensor *x)
{
    return AOT(t, aten_div__Tensor, filled_like(t, s, x), x);
}

/* ---- types ----------------------------------------------------------------------------------- */

aot_tensor *aot_grad_to_real(aot_tracer *t, aot_dtype self, aot_tensor *grad)
{
    bool real = aot_dtype_get(self)->kind != 'c';
    return real && aot_is_complex(grad) ? AOT(t, aten_real, grad) : grad;
}

aot_tensor *aot_grad_zeros(aot_tracer *t, aot_dims sizes, const aot_fake *like)
{
    return AOT(t, aten_zeros, sizes, aot_v_dtype((aot_dtype)like->dtype),
               aot_v_name(t, "torch.strided"), aot_v_device(like->device));
}

aot_tensor *aot_grad_ones(aot_tracer *t, aot_dims sizes, const aot_fake *like)
{
    return AOT(t, aten_ones, sizes, aot_v_dtype((aot_dtype)like->dtype),
               aot_v_name(t, "torch.strided"), aot_v_device(like->device));
}

aot_tensor *aot_grad_scalar(aot_tracer *t, double v, const aot_fake *like)
{
    return AOT(t, aten_scalar_tensor, v, aot_v_dtype((aot_dtype)like->dtype),
               aot_v_name(t, "torch.strided"), aot_v_device(like->device));
}

aot_tensor *aot_grad_zeros_like(aot_tracer *t, aot_tensor *x)
{
    return AOT(t, aten_zeros_like, x);
}

aot_tensor *aot_grad_zero_where_zero(aot_tracer *t, aot_tensor *x, aot_tensor *y)
{
    aot_tensor *none = AOT(t, aten_eq_Scalar, y, 0);
    return AOT(t, aten_masked_fill__Scalar, x, none, 0);
}

aot_tensor *aot_grad_contiguous(aot_tracer *t, aot_tensor *x)
{
    return aot_is_contiguous(x)
               ? x
               : AOT(t, aten_clone, x, aot_v_memory_format(t, AOT_MF_CONTIGUOUS));
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool is_one_dim(aot_dim d)
{
    return aot_dim_eq(d, aot_dim_of(1));
}

aot_tensor *aot_grad_sum_to(aot_tracer *t, aot_tensor *x, aot_dims to)
{
    unsigned n = aot_ndim(x), leading = n - to.n, n_dims = 0;
    int64_t dims[AOT_FAKE_MAX_NDIM];

    if (to.n == 0) {
        return AOT(t, aten_sum, x);
    }
    for (unsigned i = 0; i < n; i++) {
        if (i < leading || (is_one_dim(to.d[i - leading]) && !is_one_dim(aot_size(x, i)))) {
            dims[n_dims++] = i;
        }
    }
    if (n_dims != 0) {
        x = AOT(t, aten_sum_dim_IntList, x, aot_v_ints(t, n_dims, dims), true);
    }
    return leading > 0 ? AOT(t, aten_view, x, to) : x;
}

/* Which dimensions a list names, as bits. */
static unsigned long named(aot_tracer *t, aot_dims dims, unsigned ndim)
{
    unsigned long bits = 0;
    for (unsigned i = 0; i < dims.n; i++) {
        bits |= 1ul << aot_wrap_dim(t, dims.d[i].value, ndim);
    }
    return bits;
}

aot_tensor *aot_grad_unsqueeze(aot_tracer *t, aot_tensor *x, aot_dims dims, unsigned ndim)
{
    if (dims.n == 1) {
        return AOT(t, aten_unsqueeze, x, dims.d[0]);
    }
    unsigned long bits = named(t, dims, ndim);
    for (unsigned i = 0; i < ndim; i++) {
        if ((bits >> i & 1) != 0) {
            x = AOT(t, aten_unsqueeze, x, (int64_t)i);
        }
    }
    return x;
}

aot_tensor *aot_grad_restore(aot_tracer *t, aot_tensor *x, aot_dims dims, bool keepdim)
{
    aot_dim sizes[AOT_FAKE_MAX_NDIM];
    unsigned ndim = aot_ndim(x) + dims.n, from = 0;

    if (keepdim || ndim > AOT_FAKE_MAX_NDIM) {
        return x;
    }
    unsigned long bits = named(t, dims, ndim);
    for (unsigned i = 0; i < ndim; i++) {
        sizes[i] = (bits >> i & 1) != 0 ? aot_dim_of(1) : aot_size(x, from++);
    }
    return AOT(t, aten_reshape, x, ((aot_dims){sizes, ndim}));
}

aot_dim aot_grad_reduced_numel(aot_tracer *t, aot_dims sizes, aot_dims dims)
{
    aot_dim n = aot_dim_of(1);
    for (unsigned i = 0; i < dims.n && sizes.n != 0; i++) {
        n = aot_trace_dim(t, '*', n,
                        sizes.d[aot_wrap_dim(t, dims.d[i].value, sizes.n)]);
    }
    return n;
}

/* ---- reductions ------------------------------------------------------------------------------ */

aot_tensor *aot_grad_of_sum(aot_tracer *t, aot_tensor *grad, aot_dims sizes, aot_dims dims,
                            bool keepdim)
{
    if (!keepdim && sizes.n != 0 && dims.n != 0) {
        grad = aot_grad_unsqueeze(t, grad, dims, sizes.n);
    }
    return AOT(t, aten_expand, grad, sizes);
}

aot_tensor *aot_grad_of_mean(aot_tracer *t, aot_tensor *grad, const aot_tensor *self,
                             aot_dims dims, bool keepdim)
{
    aot_dim n = dims.n == 0 ? aot_numel(t, self)
                            : aot_grad_reduced_numel(t, aot_sizes(self), dims);
    grad = aot_grad_of_sum(t, grad, aot_sizes(self), dims, keepdim);
    return AOT(t, aten_div_Scalar, grad, n);
}

aot_tensor *aot_grad_evenly(aot_tracer *t, aot_tensor *grad, aot_tensor *self, aot_tensor *value)
{
    aot_tensor *nan = AOT(t, aten_isnan, self);
    aot_tensor *mask = AOT(t, aten_isnan, value);
    nan = AOT(t, aten_logical_and, nan, mask);
    mask = AOT(t, aten_eq_Tensor, self, value);
    mask = AOT(t, aten_logical_or_, mask, nan);
    return g_mul(t, mask, g_div(t, grad, AOT(t, aten_sum, mask)));
}

aot_tensor *aot_grad_selected(aot_tracer *t, aot_tensor *grad, int64_t dim, aot_tensor *indices,
                              aot_dims sizes, bool keepdim)
{
    if (!keepdim && sizes.n != 0) {
        grad = AOT(t, aten_unsqueeze, grad, dim);
        indices = AOT(t, aten_unsqueeze, indices, dim);
    }
    aot_tensor *into = aot_grad_zeros(t, sizes, aot_type_of(grad));
    return AOT(t, aten_scatter_src, into, dim, indices, grad);
}
