/* Reductions. */
#include "grad/grad.h"
#include "grad/vjp_vector_norm.h"

#include <math.h>

static aot_dims arg_dims(const aot_each *e, unsigned pos)
{
    return aot_vjp_dims(e->b, pos);
}

/* ---- sums and means -------------------------------------------------------------------------- */

static aot_tensor *sum_self(const aot_each *e)
{
    return AOT(e->t, aten_expand, e->g, aot_sizes(aot_each_in(e, 0)));
}

static aot_tensor *sum_dim_self(const aot_each *e)
{
    return aot_grad_of_sum(e->t, e->g, aot_sizes(aot_each_in(e, 0)), arg_dims(e, 1),
                           aot_vjp_bool(e->b, 2));
}

static aot_tensor *mean_self(const aot_each *e)
{
    return aot_grad_of_mean(e->t, e->g, aot_each_in(e, 0), (aot_dims){0}, true);
}

static aot_tensor *mean_dim_self(const aot_each *e)
{
    return aot_grad_of_mean(e->t, e->g, aot_each_in(e, 0), arg_dims(e, 1),
                            aot_vjp_bool(e->b, 2));
}

static aot_tensor *nansum_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0);
    aot_tensor *g = aot_grad_to_dtype(t, e->g, aot_dtype_of(x));
    aot_tensor *mask = AOT(t, aten_logical_not, AOT(t, aten_isnan, x));

    g = aot_grad_of_sum(t, g, aot_sizes(x), arg_dims(e, 1), aot_vjp_bool(e->b, 2));
    return g_mul(t, g, mask);
}

GRAD_EACH(vjp_sum, {0, sum_self})
GRAD_EACH(vjp_sum_dim, {0, sum_dim_self})
GRAD_EACH(vjp_mean, {0, mean_self})
GRAD_EACH(vjp_mean_dim, {0, mean_dim_self})
GRAD_EACH(vjp_nansum, {0, nansum_self})
GRAD_UNARY(vjp_nan_to_num, g_mul(t, g, AOT(t, aten_isfinite, x)))

static aot_tensor *logsumexp_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0), *r = aot_each_out(e), *g = e->g;

    if (!aot_vjp_bool(e->b, 2) && aot_ndim(x) != 0) {
        g = aot_grad_unsqueeze(t, g, arg_dims(e, 1), aot_ndim(x));
        r = aot_grad_unsqueeze(t, r, arg_dims(e, 1), aot_ndim(x));
    }
    aot_tensor *d = AOT(t, aten_exp, AOT(t, aten_sub_Tensor, x, r));
    return g_mul(t, g, g_conj(t, d));
}

GRAD_EACH(vjp_logsumexp, {0, logsumexp_self})

/* ---- extremes -------------------------------------------------------------------------------- */

static aot_tensor *amax_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *r = aot_each_out(e), *g;
    aot_dims dims = arg_dims(e, 1);
    bool keepdim = aot_vjp_bool(e->b, 2);
    aot_tensor *mask = aot_grad_restore(t, r, dims, keepdim);

    mask = AOT(t, aten_eq_Tensor, mask, aot_each_in(e, 0));
    g = aot_grad_restore(t, e->g, dims, keepdim);
    g = g_div(t, g, AOT(t, aten_sum_dim_IntList, mask, dims, true));
    return g_mul(t, g, mask);
}

static aot_tensor *max_self(const aot_each *e)
{
    return aot_grad_evenly(e->t, e->g, aot_each_in(e, 0), aot_each_out(e));
}

GRAD_EACH(vjp_amax, {0, amax_self})
GRAD_EACH(vjp_max, {0, max_self})

/* Values at indices, which are output 1: the argument dim is where the row says it. */
static aot_tensor *selected(const aot_each *e, unsigned dim, bool keepdim)
{
    aot_tensor *x = aot_each_in(e, 0);
    return aot_grad_selected(e->t, e->g, aot_vjp_int(e->b, dim, -1), aot_vjp_out(e->b, 1),
                             aot_sizes(x), keepdim);
}

static aot_tensor *max_dim_self(const aot_each *e)
{
    return selected(e, 1, aot_vjp_bool(e->b, 2));
}

static aot_tensor *kthvalue_self(const aot_each *e)
{
    return selected(e, 2, aot_vjp_bool(e->b, 3));
}

static aot_tensor *sort_self(const aot_each *e)
{
    return selected(e, 1, true);
}

/* sort.stable, topk */
static aot_tensor *topk_self(const aot_each *e)
{
    return selected(e, 2, true);
}

GRAD_EACH(vjp_max_dim, {0, max_dim_self})
GRAD_EACH(vjp_kthvalue, {0, kthvalue_self})
GRAD_EACH(vjp_sort, {0, sort_self})
GRAD_EACH(vjp_topk, {0, topk_self})
GRAD_EACH(vjp_sort_stable, {0, topk_self})

/* ---- norms ----------------------------------------------------------------------------------- */

static aot_tensor *dist_of(const aot_each *e)
{
    aot_tensor *d = AOT(e->t, aten_sub_Tensor, aot_each_in(e, 0), aot_each_in(e, 1));
    return aot_grad_norm(e->t, e->g, d, aot_grad_num(aot_each_num(e, 2)), aot_each_out(e),
                            (aot_dims){0}, true);
}

static aot_tensor *dist_other(const aot_each *e)
{
    aot_tensor *g = dist_of(e);
    return g == NULL ? NULL : g_neg(e->t, g);
}

GRAD_EACH(vjp_dist, {1, dist_other}, {0, dist_of})

static aot_tensor *foreach_norm_self(const aot_each *e)
{
    return aot_grad_norm(e->t, e->g, aot_each_in(e, 0), aot_grad_num(aot_each_num(e, 1)),
                            aot_each_out(e), (aot_dims){0}, true);
}

GRAD_EACH(vjp_foreach_norm, {0, foreach_norm_self})

/* ---- variance -------------------------------------------------------------------------------- */

static aot_tensor *of_all_var(const aot_each *e, aot_tensor *g, double correction)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0);
    aot_tensor *mean = AOT(t, aten_mean, x);
    double dof = (double)aot_numel(t, x).value - correction;

    if (dof <= 0) { // where() of two numbers makes both of the default type
        aot_fake like = *aot_type_of(x);
        like.dtype = AOT_F32;
        aot_tensor *cond = AOT(t, aten_eq_Tensor, x, mean);
        aot_tensor *inf = aot_grad_scalar(t, INFINITY, &like);
        aot_tensor *nan = aot_grad_scalar(t, NAN, &like);
        return g_mul(t, g, AOT(t, aten_where_self, cond, nan, inf));
    }
    aot_tensor *d = AOT(t, aten_sub_Tensor, x, mean);
    return g_mul(t, g_mul_f(t, g, 2.0 / dof), d);
}

/* var_backward of argument 0: its dims are argument 1, the correction 2, keepdim 3. */
static aot_tensor *of_var(const aot_each *e, aot_tensor *g)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0);
    aot_dims dims = arg_dims(e, 1);
    bool keepdim = aot_vjp_bool(e->b, 3);
    double correction = aot_vjp_float(e->b, 2, 1.0);

    if (aot_ndim(x) == 0 || aot_vjp_is_none(e->b, 1)) {
        return of_all_var(e, g, correction);
    }
    if (!keepdim && aot_ndim(x) > 1) {
        g = aot_grad_unsqueeze(t, g, dims, aot_ndim(x));
    }
    double n = (double)aot_grad_reduced_numel(t, aot_sizes(x), dims).value;
    aot_tensor *d = AOT(t, aten_sub_Tensor, x, AOT(t, aten_mean_dim, x, dims, true));
    return g_mul(t, g_mul_f(t, g, 2.0 / (n - correction)), d);
}

static aot_tensor *of_std(const aot_each *e, aot_tensor *g)
{
    aot_tensor *r = aot_vjp_out(e->b, 0);
    aot_tensor *d = g_div(e->t, g, g_mul_n(e->t, r, 2));
    return of_var(e, aot_grad_zero_where_zero(e->t, d, r));
}

static aot_tensor *var_self(const aot_each *e)
{
    return of_var(e, e->g);
}

static aot_tensor *std_self(const aot_each *e)
{
    return of_std(e, e->g);
}

GRAD_EACH(vjp_var, {0, var_self})
GRAD_EACH(vjp_std, {0, std_self})

static void with_mean(aot_vjp *b, aot_tensor *(*of)(const aot_each *e, aot_tensor *g))
{
    aot_each e = {b, aot_vjp_tracer(b), aot_vjp_grad(b, 0), 0};
    aot_tensor *mean = aot_vjp_grad(b, 1), *x = aot_vjp_in(b, 0), *sum = NULL;

    if (e.g != NULL) {
        sum = of(&e, e.g);
    }
    if (mean != NULL) {
        mean = aot_grad_of_mean(e.t, mean, x, arg_dims(&e, 1), aot_vjp_bool(b, 3));
        sum = sum == NULL ? mean : AOT(e.t, aten_add_Tensor, sum, mean);
    }
    aot_vjp_set(b, 0, sum);
}

void vjp_var_mean(aot_vjp *b)
{
    with_mean(b, of_var);
}

void vjp_std_mean(aot_vjp *b)
{
    with_mean(b, of_std);
}
