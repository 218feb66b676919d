/* Losses.
 *
 * Mirrors: aten/src/ATen/native/Loss.cpp, LossNLL.cpp, Distance.cpp, LossCTC.cpp */
#include <math.h>

#include "trace/trace.h"

enum { NONE, MEAN, SUM };

static aot_tensor *reduce(aot_tracer *t, aot_tensor *x, int64_t reduction)
{
    return reduction == MEAN  ? AOT(t, aten_mean, x)
           : reduction == SUM ? AOT(t, aten_sum, x)
                              : x;
}

/* number - x, as C++ writes it. */
static aot_tensor *minus(aot_tracer *t, aot_value number, aot_tensor *x)
{
    aot_tensor *y = AOT(t, aten_empty_like, x, AOT_NONE, AOT_NONE, AOT_NONE, AOT_NONE,
                        aot_v_name(t, "torch.preserve_format"));
    y = AOT(t, aten_fill__Scalar, y, number);
    return AOT(t, aten_sub__Tensor, y, x);
}

static aot_tensor *zeros_like(aot_tracer *t, aot_tensor *x)
{
    return AOT(t, aten_zeros_like, x, AOT_NONE, AOT_NONE, AOT_NONE, AOT_NONE,
               aot_v_name(t, "torch.contiguous_format"));
}

/* ---- pointwise ------------------------------------------------------------------------------- */

bool composite_l1_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = AOT(t, aten_sub_Tensor, k->args[0], k->args[1]);
    x = AOT(t, aten_abs, x);
    return aot_x_give(k, reduce(t, x, aot_x_int(k, 2, MEAN)));
}

/* kl_div(self, target, reduction, log_target) */
bool composite_kl_div(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1), *r;
    if (aot_x_bool(k, 3)) {
        aot_tensor *d = AOT(t, aten_sub_Tensor, y, x);
        aot_tensor *e = AOT(t, aten_exp, y);
        r = AOT(t, aten_mul_Tensor, e, d);
    } else {
        aot_tensor *p = AOT(t, aten_mul_Tensor, y, x);
        r = AOT(t, aten_xlogy_Tensor, y, y);
        r = AOT(t, aten_sub_Tensor, r, p);
    }
    return aot_x_give(k, reduce(t, r, aot_x_int(k, 2, MEAN)));
}

/* poisson_nll_loss(input, target, log_input, full, eps, reduction) */
bool composite_poisson_nll_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1), *r;
    if (aot_x_bool(k, 2)) {
        aot_tensor *p = AOT(t, aten_mul_Tensor, y, x);
        r = AOT(t, aten_exp, x);
        r = AOT(t, aten_sub_Tensor, r, p);
    } else {
        r = AOT(t, aten_add_Scalar, x, k->args[4]);
        r = AOT(t, aten_log, r);
        r = AOT(t, aten_mul_Tensor, y, r);
        r = AOT(t, aten_sub_Tensor, x, r);
    }
    if (aot_x_bool(k, 3)) {
        aot_tensor *half = AOT(t, aten_mul_Scalar, y, 2 * 3.14159265358979323846);
        half = AOT(t, aten_log, half);
        half = AOT(t, aten_mul_Scalar, half, 0.5);
        aot_tensor *s = AOT(t, aten_log, y);
        s = AOT(t, aten_mul_Tensor, y, s);
        s = AOT(t, aten_sub_Tensor, s, y);
        s = AOT(t, aten_add_Tensor, s, half);
        aot_tensor *small = AOT(t, aten_le_Scalar, y, 1);
        s = AOT(t, aten_masked_fill_Scalar, s, small, 0);
        r = AOT(t, aten_add_Tensor, r, s);
    }
    return aot_x_give(k, reduce(t, r, aot_x_int(k, 5, MEAN)));
}

/* margin_ranking_loss(input1, input2, target, margin, reduction) */
bool composite_margin_ranking_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *d = AOT(t, aten_sub_Tensor, k->args[0], k->args[1]);
    aot_tensor *r = AOT(t, aten_neg, k->args[2]);
    r = AOT(t, aten_mul_Tensor, r, d);
    r = AOT(t, aten_add_Scalar, r, k->args[3]);
    r = AOT(t, aten_clamp_min_, r, 0);
    return aot_x_give(k, reduce(t, r, aot_x_int(k, 4, MEAN)));
}

/* hinge_embedding_loss(self, target, margin, reduction) */
bool composite_hinge_embedding_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_tensor *zeros = zeros_like(t, x);
    aot_tensor *margin = minus(t, k->args[2], x);
    margin = AOT(t, aten_clamp_min_, margin, 0);
    aot_tensor *is = AOT(t, aten_ne_Scalar, k->args[1], 1);
    margin = AOT(t, aten_where_self, is, margin, zeros);
    is = AOT(t, aten_ne_Scalar, k->args[1], -1);
    aot_tensor *self = AOT(t, aten_where_self, is, x, zeros);
    aot_tensor *r = AOT(t, aten_add_Tensor, margin, self);
    return aot_x_give(k, reduce(t, r, aot_x_int(k, 3, MEAN)));
}

bool composite_multilabel_margin_loss(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_multilabel_margin_loss_forward, k->args[0], k->args[1],
                             k->args[2]));
}

/* ---- distances ------------------------------------------------------------------------------- */

/* pairwise_distance(x1, x2, p, eps, keepdim) */
bool composite_pairwise_distance(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = AOT(t, aten_sub_Tensor, k->args[0], k->args[1]);
    x = AOT(t, aten_add_Scalar, x, k->args[3]);
    int64_t last = (int64_t)aot_ndim(x) - 1;
    return aot_x_give(k, AOT(t, aten_norm_ScalarOpt_dim, x, k->args[2], last, k->args[4]));
}

/* triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction) */
bool composite_triplet_margin_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_value a = k->args[0], p = k->args[1], n = k->args[2];
    aot_tensor *near = AOT(t, aten_pairwise_distance, a, p, k->args[4], k->args[5]);
    aot_tensor *far = AOT(t, aten_pairwise_distance, a, n, k->args[4], k->args[5]);
    if (aot_x_bool(k, 6)) {
        aot_tensor *swapped = AOT(t, aten_pairwise_distance, p, n, k->args[4], k->args[5]);
        far = AOT(t, aten_minimum, far, swapped);
    }
    aot_tensor *r = AOT(t, aten_add_Scalar, near, k->args[3]);
    r = AOT(t, aten_sub_Tensor, r, far);
    r = AOT(t, aten_clamp_min, r, 0);
    return aot_x_give(k, reduce(t, r, aot_x_int(k, 7, MEAN)));
}

static aot_tensor *product_sum(aot_tracer *t, aot_value a, aot_value b, int64_t dim)
{
    aot_tensor *p = AOT(t, aten_mul_Tensor, a, b);
    return AOT(t, aten_sum_dim_IntList, p, dim);
}

/* cosine_embedding_loss(input1, input2, target, margin, reduction) */
bool composite_cosine_embedding_loss(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_value a = k->args[0], b = k->args[1];
    aot_tensor *target = aot_x_tensor(k, 2);
    int64_t dim = aot_ndim(target);
    double eps = 1e-12f;
    aot_tensor *dot = product_sum(t, a, b, dim);
    aot_tensor *aa = product_sum(t, a, a, dim);
    aa = AOT(t, aten_add_Scalar, aa, eps);
    aot_tensor *bb = product_sum(t, b, b, dim);
    bb = AOT(t, aten_add_Scalar, bb, eps);
    aot_tensor *norm = AOT(t, aten_mul_Tensor, aa, bb);
    norm = AOT(t, aten_sqrt_, norm);
    aot_tensor *cos = AOT(t, aten_div_Tensor, dot, norm);
    aot_tensor *zeros = zeros_like(t, cos);
    aot_tensor *positive = minus(t, aot_v_int(1), cos);
    aot_tensor *negative = AOT(t, aten_sub_Scalar, cos, k->args[3]);
    negative = AOT(t, aten_clamp_min_, negative, 0);
    aot_tensor *is = AOT(t, aten_eq_Scalar, target, 1);
    positive = AOT(t, aten_where_self, is, positive, zeros);
    is = AOT(t, aten_eq_Scalar, target, -1);
    negative = AOT(t, aten_where_self, is, negative, zeros);
    aot_tensor *r = AOT(t, aten_add_Tensor, positive, negative);
    return aot_x_give(k, reduce(t, r, aot_x_int(k, 4, MEAN)));
}

static aot_tensor *norm_copy(aot_tracer *t, aot_tensor *x, aot_value dim)
{
    aot_tensor *n = AOT(t, aten_linalg_vector_norm, x, 2, dim, true);
    return AOT(t, aten_clone, n);
}

/* cosine_similarity(x1, x2, dim, eps): norms are clamped without a gradient of that. */
bool composite_cosine_similarity(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a = aot_x_tensor(k, 0), *b = aot_x_tensor(k, 1);
    if (!aot_dims_eq(aot_sizes(a), aot_sizes(b))) {
        unsigned n = aot_ndim(a) > aot_ndim(b) ? aot_ndim(a) : aot_ndim(b);
        aot_dim *d = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, n + 1);
        for (unsigned i = 0; i < n; i++) {
            aot_dim x = i < aot_ndim(a) ? aot_size(a, -1 - (int64_t)i) : aot_dim_of(1);
            aot_dim y = i < aot_ndim(b) ? aot_size(b, -1 - (int64_t)i) : aot_dim_of(1);
            d[n - 1 - i] = aot_dim_is(x, 1) ? y : x;
        }
        b = AOT(t, aten_expand, b, ((aot_dims){d, n}));
        a = AOT(t, aten_expand, a, ((aot_dims){d, n}));
    }
    aot_dtype common = aot_promote_types(aot_dtype_of(a), aot_dtype_of(b));
    aot_tensor *na = norm_copy(t, a, k->args[2]);
    aot_tensor *nb = norm_copy(t, b, k->args[2]);
    bool grad = aot_set_grad_enabled(t, false);
    aot_tensor *eps = AOT(t, aten_scalar_tensor, k->args[3], aot_v_dtype(common), AOT_NONE,
                          aot_v_device(aot_device_of(a)));
    na = AOT(t, aten_clamp_min__Tensor, na, eps);
    nb = AOT(t, aten_clamp_min__Tensor, nb, eps);
    (void)aot_set_grad_enabled(t, grad);
    b = AOT(t, aten_div_Tensor, b, nb);
    a = AOT(t, aten_div_Tensor, a, na);
    a = AOT(t, aten_mul_Tensor, a, b);
    return aot_x_give(k, AOT(t, aten_sum_dim_IntList, a, k->args[2]));
}
