/* Gradients of normalisation. */
#include "grad/call.h"
#include "grad/grad.h"
#include "ir/symalg.h"
#include "rules/meta_shared.h"

GRAD_CALL(vjp_native_layer_norm, SETS(0, 2, 3), aten_native_layer_norm_backward, G(0), A(0), A(1),
          R(1), R(2), A(2), A(3), MASK)
/* (input, weight, bias, running_mean, running_var, training, momentum, eps) */
GRAD_CALL(vjp_native_batch_norm, SETS(0, 1, 2), aten_native_batch_norm_backward, G(0), A(0), A(1),
          A(3), A(4), R(1), R(2), A(5), A(7), MASK)
GRAD_CALL(vjp_native_batch_norm_no_stats, SETS(0, 1, 2), aten_native_batch_norm_backward, G(0),
          A(0), A(1), NIL, NIL, R(1), R(2), A(3), A(5), MASK)
GRAD_CALL(vjp_native_batch_norm_no_training, SETS(0, 1, 2), aten_native_batch_norm_backward, G(0),
          A(0), A(1), A(3), A(4), R(1), R(2), INT(0), A(6), MASK)
GRAD_CALL(vjp_batch_norm_with_update, SETS(0, 1, 2), aten_batch_norm_backward, G(0), A(0), A(1),
          A(3), A(4), R(1), R(2), INT(1), A(6), MASK, R(3))
GRAD_CALL(vjp_batch_norm_no_update, SETS(0, 1, 2), aten_batch_norm_backward, G(0), A(0), A(1), A(3),
          A(4), R(1), R(2), INT(0), A(6), MASK, R(3))
GRAD_CALL(vjp_weight_norm_interface, SETS(0, 1), aten__weight_norm_interface_backward, GC(0), A(0),
          A(1), R(1), A(2))

/* x in the layout that `like` suggests. */
static aot_tensor *laid_out(aot_tracer *t, aot_tensor *x, const aot_tensor *like)
{
    aot_memory_format f = aot_fake_suggest(aot_type_of(like));

    return AOT(t, aten_contiguous, x, aot_v_memory_format(t, f));
}

/* What a group norm's gradient is made from: N x G x D x HxW, and the sums over HxW. */
typedef struct group_parts {
    aot_tensor *x, *mean, *rstd, *grad, *by_x, *sum, *weight;
    double scale; /* 1 / (D * HxW) */
} group_parts;

static aot_tensor *shaped(aot_tracer *t, aot_tensor *x, aot_dim a, aot_dim b, aot_dim c, aot_dim d)
{
    return AOT(t, aten_reshape, x, ((aot_dims){(aot_dim[]){a, b, c, d}, 4}));
}

/* x.sum(dim), put back in place at `at` */
static aot_tensor *summed(aot_tracer *t, aot_tensor *x, int64_t dim, int64_t at)
{
    return AOT(t, aten_unsqueeze_, AOT(t, aten_sum_dim_IntList, x, aot_v_ints(t, 1, &dim)), at);
}

static aot_tensor *weighted(aot_tracer *t, const group_parts *p, aot_tensor *x)
{
    return p->weight != NULL ? g_mul(t, x, p->weight) : x;
}

/* Through grad: a * grad + b * x + c. */
static aot_tensor *group_norm_input(aot_tracer *t, const group_parts *p, aot_tensor *cube)
{
    aot_tensor *a = weighted(t, p, p->rstd);
    aot_tensor *by_x = summed(t, weighted(t, p, p->by_x), 2, -2);
    aot_tensor *sum = summed(t, weighted(t, p, p->sum), 2, -2);
    aot_tensor *b = AOT(t, aten_sub_Tensor, g_mul(t, sum, p->mean), by_x);
    b = g_mul_f(t, g_mul(t, b, cube), p->scale);
    aot_tensor *c = g_mul_f(t, g_mul(t, sum, p->rstd), p->scale);
    c = AOT(t, aten_sub_Tensor, g_mul(t, g_neg(t, b), p->mean), c);
    aot_tensor *bx = g_mul(t, b, p->x);
    aot_tensor *dx = AOT(t, aten_add_Tensor, g_mul(t, a, p->grad), bx);
    return AOT(t, aten_add_Tensor, dx, c);
}

/* Through mean and variance of each group. */
static aot_tensor *group_norm_statistics(aot_tracer *t, const group_parts *p, aot_tensor *dmean,
                                         aot_tensor *dvar)
{
    int64_t dims[2] = {2, 3};
    aot_dim over[2] = {aot_dim_of(2), aot_dim_of(3)};
    aot_tensor *center = AOT(t, aten_mean_dim, p->x, aot_v_ints(t, 2, dims), true);
    aot_tensor *off = AOT(t, aten_sub_Tensor, p->x, center);
    aot_tensor *d = g_mul(t, g_mul_f(t, dvar, 2 * p->scale), off);
    aot_tensor *m = aot_grad_of_mean(t, dmean, p->x, (aot_dims){over, 2}, true);
    return AOT(t, aten_add_Tensor, d, m);
}

/* Made of elementary operators: where it is to be differentiated itself, or where mean and rstd
 * have gradients of their own. Mirrors infinitely_differentiable_native_group_norm_backward. */
static void group_norm_elementary(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *x = aot_vjp_in(b, 0), *w = aot_vjp_in(b, 1), *dx = NULL, *dvar = NULL;
    aot_tensor *grad = aot_vjp_grad(b, 0), *dmean = aot_vjp_grad(b, 1), *drstd = aot_vjp_grad(b, 2);
    aot_dim one = aot_dim_of(1), n = aot_vjp_dim(b, 3, 1), hw = aot_vjp_dim(b, 5, 1);
    aot_dim g = aot_vjp_dim(b, 6, 1);
    aot_dim d = aot_dim_floordiv(aot_tracer_ctx(t), aot_vjp_dim(b, 4, 1), g);
    group_parts p = {.scale = 1.0 / ((double)d.value * (double)hw.value)};

    p.x = shaped(t, x, n, g, d, hw);
    p.mean = shaped(t, aot_vjp_out(b, 1), n, g, one, one);
    p.rstd = shaped(t, aot_vjp_out(b, 2), n, g, one, one);
    if (grad != NULL) {
        p.grad = shaped(t, grad, n, g, d, hw);
        p.by_x = summed(t, g_mul(t, p.grad, p.x), 3, -1);
        p.sum = summed(t, p.grad, 3, -1);
    }
    if (aot_vjp_needs(b, 0)) {
        p.weight = w != NULL ? shaped(t, w, one, g, d, one) : NULL;
        aot_tensor *var = AOT(t, aten_reciprocal_, g_mul(t, p.rstd, p.rstd));
        AOT(t, aten_clamp_min, AOT(t, aten_sub_Scalar, var, aot_vjp_arg(b, 7)), 0);
        aot_tensor *cube = g_mul(t, g_mul(t, p.rstd, p.rstd), p.rstd);
        if (drstd != NULL) {
            aot_tensor *dr = AOT(t, aten_view, drstd, ((aot_dims){(aot_dim[]){n, g, one, one}, 4}));
            dvar = g_mul(t, g_mul_f(t, cube, -0.5), dr);
        }
        dx = grad != NULL ? group_norm_input(t, &p, cube) : NULL;
        if (dmean != NULL && drstd != NULL) {
            dmean = AOT(t, aten_view, dmean, ((aot_dims){(aot_dim[]){n, g, one, one}, 4}));
            aot_tensor *more = group_norm_statistics(t, &p, dmean, dvar);
            dx = dx != NULL ? AOT(t, aten_add__Tensor, dx, more) : more;
        }
        aot_vjp_set(b, 0, dx != NULL ? AOT(t, aten_reshape, dx, aot_sizes(x)) : NULL);
    }
    if (aot_vjp_needs(b, 1) && grad != NULL) {
        aot_tensor *off = AOT(t, aten_sub_Tensor, p.by_x, g_mul(t, p.sum, p.mean));
        off = AOT(t, aten_sum_dim_IntList, g_mul(t, off, p.rstd), aot_v_ints(t, 1, (int64_t[]){0}));
        aot_vjp_set(b, 1, AOT(t, aten_reshape, off, aot_sizes(w)));
    }
    if (aot_vjp_needs(b, 2) && grad != NULL) {
        aot_tensor *sum = AOT(t, aten_sum_dim_IntList, p.sum, aot_v_ints(t, 1, (int64_t[]){0}));
        aot_vjp_set(b, 2, AOT(t, aten_reshape, sum, aot_sizes(w)));
    }
}

/* (input, weight, bias, N, C, HxW, group, eps) */
void vjp_native_group_norm(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *x = aot_vjp_in(b, 0), *grad = aot_vjp_grad(b, 0);
    aot_value mask[3], got;

    if (grad == NULL && aot_vjp_grad(b, 1) == NULL && aot_vjp_grad(b, 2) == NULL) {
        return;
    }
    if (aot_grad_enabled(t) || aot_vjp_grad(b, 1) != NULL || aot_vjp_grad(b, 2) != NULL) {
        group_norm_elementary(b);
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        mask[i] = aot_v_bool(aot_vjp_needs(b, i));
    }
    grad = laid_out(t, grad, x);
    x = laid_out(t, x, x);
    got = AOT_V(t, aten_native_group_norm_backward, grad, x, aot_vjp_out(b, 1), aot_vjp_out(b, 2),
                aot_vjp_arg(b, 1), aot_vjp_arg(b, 3), aot_vjp_arg(b, 4), aot_vjp_arg(b, 5),
                aot_vjp_arg(b, 6), aot_v_list(t, 3, mask));
    for (unsigned i = 0; i < 3; i++) {
        if (aot_vjp_needs(b, i)) {
            aot_vjp_set(b, i, aot_v_item(got, i));
        }
    }
}
