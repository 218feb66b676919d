/* Running sums and products, the product of all, the trace. */
#include "grad/grad.h"

#include <float.h>

static aot_value one_dim(aot_tracer *t, int64_t dim)
{
    return aot_v_ints(t, 1, &dim);
}

static aot_tensor *flip(aot_tracer *t, aot_tensor *x, int64_t dim)
{
    return AOT(t, aten_flip, x, one_dim(t, dim));
}

static bool is_at_most_one(aot_tracer *t, const aot_tensor *x)
{
    return aot_numel(t, x).value <= 1;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static aot_tensor *cumsum_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    int64_t dim = aot_vjp_int(e->b, 1, 0);
    aot_tensor *g = aot_grad_to_dtype(t, e->g, aot_dtype_of(aot_each_in(e, 0)));

    if (is_at_most_one(t, g) || aot_dim_eq(aot_size(g, dim), aot_dim_of(1))) {
        return g;
    }
    return flip(t, AOT(t, aten_cumsum, flip(t, g, dim), dim), dim);
}

GRAD_EACH(vjp_cumsum, {0, cumsum_self})

static double lowest(aot_dtype d)
{
    switch (d) {
    case AOT_F64: return -DBL_MAX;
    case AOT_F16: return -65504.0;
    case AOT_BF16: return -0x1.fep127;
    default: return -(double)FLT_MAX;
    }
}

/* exp(reversed logcumsumexp of (log_grad - result) + self) */
static aot_tensor *logcumsumexp_part(const aot_each *e, aot_tensor *log_grad)
{
    aot_tracer *t = e->t;
    int64_t dim = aot_vjp_int(e->b, 1, 0);
    aot_tensor *d = AOT(t, aten_sub_Tensor, log_grad, aot_each_out(e));

    d = flip(t, AOT(t, aten_logcumsumexp, flip(t, d, dim), dim), dim);
    return AOT(t, aten_exp, AOT(t, aten_add_Tensor, d, aot_each_in(e, 0)));
}

static aot_tensor *logcumsumexp_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *g = e->g;

    if (aot_ndim(g) == 0 || aot_dim_eq(aot_numel(t, g), aot_dim_of(0))) {
        return g;
    }
    if (aot_is_complex(g)) {
        aot_tensor *log = AOT(t, aten_log, g_conj(t, g));
        return g_conj(t, logcumsumexp_part(e, log));
    }
    aot_tensor *least = aot_grad_scalar(t, lowest(aot_dtype_of(g)), aot_type_of(g));
    aot_tensor *log = AOT(t, aten_log, AOT(t, aten_abs, g));
    aot_tensor *up = AOT(t, aten_gt_Scalar, g, 0);
    up = AOT(t, aten_where_self, up, log, least);
    aot_tensor *down = AOT(t, aten_lt_Scalar, g, 0);
    down = AOT(t, aten_where_self, down, log, least);
    up = logcumsumexp_part(e, up);
    down = logcumsumexp_part(e, down);
    return AOT(t, aten_sub_Tensor, up, down);
}

GRAD_EACH(vjp_logcumsumexp, {0, logcumsumexp_self})

static aot_tensor *cummax_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0);

    if (aot_dim_eq(aot_numel(t, x), aot_dim_of(0))) {
        return x;
    }
    aot_tensor *into = aot_grad_zeros(t, aot_sizes(x), aot_type_of(x));
    return AOT(t, aten_scatter_add, into, aot_vjp_int(e->b, 1, 0), aot_vjp_out(e->b, 1), e->g);
}

GRAD_EACH(vjp_cummax, {0, cummax_self})

/* ---- products -------------------------------------------------------------------------------- */

static aot_tensor *cat2(aot_tracer *t, aot_tensor *a, aot_tensor *b, int64_t dim)
{
    return AOT(t, aten_cat, aot_v_tensors(t, 2, (aot_tensor *[]){a, b}), dim);
}

/* The product of all others at each place: of those before, times that of those after. */
static aot_tensor *of_prod(aot_tracer *t, aot_tensor *g, aot_tensor *x, int64_t dim)
{
    aot_dim n = aot_size(x, dim), less, sizes[AOT_FAKE_MAX_NDIM];

    if (aot_dim_eq(aot_numel(t, x), aot_dim_of(0))) {
        return AOT(t, aten_expand, g, aot_sizes(x));
    }
    if (aot_dim_eq(n, aot_dim_of(1))) {
        return g;
    }
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        sizes[i] = (int64_t)i == dim ? aot_dim_of(1) : aot_size(x, i);
    }
    less = aot_dim_sub(aot_tracer_ctx(t), n, aot_dim_of(1));
    aot_tensor *ones = aot_grad_ones(t, (aot_dims){sizes, aot_ndim(x)}, aot_type_of(g));
    aot_tensor *before = aot_grad_narrow(t, x, dim, aot_dim_of(0), less);
    before = AOT(t, aten_cumprod, cat2(t, ones, before, dim), dim);
    aot_tensor *after = flip(t, aot_grad_narrow(t, x, dim, aot_dim_of(1), less), dim);
    after = flip(t, AOT(t, aten_cumprod, cat2(t, ones, after, dim), dim), dim);
    return g_mul(t, g, g_conj(t, g_mul(t, before, after)));
}

static aot_tensor *prod_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_grad_to_dtype(t, aot_each_in(e, 0), aot_dtype_of(e->g));

    if (aot_ndim(x) == 0) {
        return e->g;
    }
    aot_tensor *flat = AOT(t, aten_view, aot_grad_contiguous(t, x),
                           aot_v_ints(t, 1, &(int64_t){-1}));
    return AOT(t, aten_view, of_prod(t, e->g, flat, 0), aot_sizes(x));
}

static aot_tensor *prod_dim_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_grad_to_dtype(t, aot_each_in(e, 0), aot_dtype_of(e->g)), *g = e->g;

    if (aot_ndim(x) == 0) {
        return g;
    }
    unsigned dim = aot_wrap_dim(t, aot_vjp_int(e->b, 1, 0), aot_ndim(x));
    if (!aot_vjp_bool(e->b, 2)) {
        g = AOT(t, aten_unsqueeze, g, dim);
        AOT(t, aten_unsqueeze, aot_each_out(e), dim);
    }
    return of_prod(t, g, x, dim);
}

GRAD_EACH(vjp_prod, {0, prod_self})
GRAD_EACH(vjp_prod_dim, {0, prod_dim_self})

/* Products of the items from k on that leave out item k, times that of the items before. */
static aot_tensor *without(aot_tracer *t, aot_tensor *x, aot_tensor *ones, int64_t dim, int64_t k,
                           int64_t n)
{
    aot_tensor *until, *after;

    if (k == 0) {
        after = AOT(t, aten_cumprod, AOT(t, aten_slice_Tensor, x, dim, k + 1), dim);
        return cat2(t, ones, after, dim);
    }
    until = AOT(t, aten_prod_dim_int, AOT(t, aten_slice_Tensor, x, dim, 0, k), dim, true);
    if (k == n - 1) {
        return until;
    }
    after = AOT(t, aten_cumprod, AOT(t, aten_slice_Tensor, x, dim, k + 1), dim);
    after = g_mul(t, AOT(t, aten_expand, until, aot_sizes(after)), after);
    return cat2(t, until, after, dim);
}

static aot_tensor *cumprod_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_grad_to_dtype(t, aot_each_in(e, 0), aot_dtype_of(e->g)), *g = e->g;
    aot_tensor *r = aot_each_out(e);
    aot_dim sizes[AOT_FAKE_MAX_NDIM];

    if (is_at_most_one(t, x)) {
        return g;
    }
    unsigned dim = aot_wrap_dim(t, aot_vjp_int(e->b, 1, 0), aot_ndim(x));
    int64_t n = aot_size(x, dim).value;
    if (n == 1) {
        return g;
    }
    aot_tensor *xc = g_conj(t, x);
    g_mul(t, g_conj(t, r), g);
    AOT(t, aten_eq_Scalar, x, 0);
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        sizes[i] = i == dim ? aot_dim_of(1) : aot_size(x, i);
    }
    aot_tensor *ones = aot_grad_ones(t, (aot_dims){&(aot_dim){.value = 1}, 1}, aot_type_of(g));
    ones = AOT(t, aten_expand, ones, ((aot_dims){sizes, aot_ndim(x)}));
    aot_tensor **parts = aot_arena_alloc(aot_tracer_arena(t), (size_t)n * sizeof *parts);
    for (int64_t k = 0; k < n; k++) {
        aot_tensor *d = without(t, xc, ones, dim, k, n);
        d = g_mul(t, AOT(t, aten_slice_Tensor, g, dim, k), d);
        parts[k] = AOT(t, aten_sum_dim_IntList, d, one_dim(t, dim), false);
    }
    return AOT(t, aten_stack, aot_v_tensors(t, (unsigned)n, parts), dim);
}

GRAD_EACH(vjp_cumprod, {0, cumprod_self})

/* ---- the trace ------------------------------------------------------------------------------- */

static aot_tensor *trace_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0);
    aot_dim n = aot_numel(t, x), step = aot_dim_add(aot_tracer_ctx(t), aot_size(x, 1),
                                                    aot_dim_of(1));
    aot_tensor *into = aot_grad_zeros(t, (aot_dims){&n, 1}, aot_type_of(e->g));
    aot_tensor *at = AOT(t, aten_arange_start_step, 0, n, step, aot_v_dtype(AOT_I64),
                         aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(e->g)));

    into = AOT(t, aten_index_fill_int_Tensor, into, 0, at, e->g);
    return AOT(t, aten_view, into, aot_sizes(x));
}

GRAD_EACH(vjp_trace, {0, trace_self})
