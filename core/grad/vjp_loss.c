/* Gradients of losses. */
#include "grad/call.h"
#include "grad/steps.h"

enum { MEAN = 1 }; /* at::Reduction */

GRAD_CALL(vjp_nll_loss_forward, SETS(0), aten_nll_loss_backward, G(0), A(0), A(1), A(2), A(3), A(4),
          R(1))
GRAD_CALL(vjp_nll_loss2d_forward, SETS(0), aten_nll_loss2d_backward, G(0), A(0), A(1), A(2), A(3),
          A(4), R(1))
GRAD_CALL(vjp_soft_margin_loss, SETS(0), aten_soft_margin_loss_backward, G(0), A(0), A(1), A(2))
GRAD_CALL(vjp_ctc_loss, SETS(0), aten__ctc_loss_backward, G(0), A(0), A(1), A(2), A(3), R(0), R(1),
          A(4), A(5))
GRAD_CALL(vjp_ctc_loss_Tensor, SETS(0), aten__ctc_loss_backward_Tensor, G(0), A(0), A(1), A(2),
          A(3), R(0), R(1), A(4), A(5))

void vjp_mse_loss(aot_vjp *b)
{
    GRAD_RUN(b, SETS(0), aten_mse_loss_backward, G(0), A(0), A(1), A(2));
    GRAD_RUN(b, SETS(1), aten_mse_loss_backward, G(0), A(1), A(0), A(2));
}

void vjp_huber_loss(aot_vjp *b)
{
    GRAD_RUN(b, SETS(0), aten_huber_loss_backward, G(0), A(0), A(1), A(2), A(3));
    GRAD_RUN(b, SETS(1), aten_huber_loss_backward, G(0), A(1), A(0), A(2), A(3));
}

void vjp_smooth_l1_loss(aot_vjp *b)
{
    GRAD_RUN(b, SETS(0), aten_smooth_l1_loss_backward, G(0), A(0), A(1), A(2), A(3));
    GRAD_RUN(b, SETS(1), aten_smooth_l1_loss_backward, G(0), A(1), A(0), A(2), A(3));
}

/* Weight and the mean's division, as the target's gradients end. */
static aot_tensor *weighted(aot_tracer *t, aot_tensor *x, aot_tensor *weight, int64_t reduction,
                            const aot_tensor *target)
{
    if (weight != NULL) {
        x = AOT(t, aten_mul_Tensor, x, weight);
    }
    return reduction == MEAN ? AOT(t, aten_div__Scalar, x, aot_numel(t, target)) : x;
}

void vjp_binary_cross_entropy(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);

    GRAD_RUN(b, SETS(0), aten_binary_cross_entropy_backward, G(0), A(0), A(1), A(2), A(3));
    if (aot_vjp_needs(b, 1)) {
        aot_tensor *x = AOT(t, aten_neg_, AOT(t, aten_logit, aot_vjp_in(b, 0)));
        x = AOT(t, aten_mul_Tensor, x, aot_vjp_grad(b, 0));
        aot_vjp_set(b, 1, weighted(t, x, aot_vjp_in(b, 2), aot_vjp_int(b, 3, MEAN),
                                   aot_vjp_in(b, 1)));
    }
}

static aot_tensor *logits_grad(aot_tracer *t, aot_tensor *x, aot_tensor *target,
                               aot_tensor *pos_weight)
{
    aot_tensor *p, *scaled;

    if (pos_weight == NULL) {
        p = AOT(t, aten_sigmoid, x);
        return AOT(t, aten_sub_Tensor, p, target);
    }
    scaled = AOT(t, aten_mul_Tensor, pos_weight, target);
    p = AOT(t, aten_sub_Tensor, AOT(t, aten_add_Scalar, scaled, 1), target);
    p = AOT(t, aten_mul_Tensor, p, AOT(t, aten_sigmoid, x));
    return AOT(t, aten_sub_Tensor, p, scaled);
}

static aot_tensor *logits_target_grad(aot_tracer *t, aot_tensor *x, aot_tensor *pos_weight)
{
    aot_tensor *no, *yes;

    if (pos_weight == NULL) {
        return AOT(t, aten_neg, x);
    }
    no = AOT(t, aten_log_sigmoid_forward, AOT(t, aten_neg, x));
    yes = AOT(t, aten_log_sigmoid_forward, x);
    yes = AOT(t, aten_mul_Tensor, yes, pos_weight);
    return AOT(t, aten_sub_Tensor, no, yes);
}

void vjp_binary_cross_entropy_with_logits(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *x = aot_vjp_in(b, 0), *target = aot_vjp_in(b, 1), *weight = aot_vjp_in(b, 2);
    aot_tensor *pos_weight = aot_vjp_in(b, 3), *grad = aot_vjp_grad(b, 0), *g;

    if (aot_vjp_needs(b, 0)) {
        g = AOT(t, aten_mul_Tensor, logits_grad(t, x, target, pos_weight), grad);
        aot_vjp_set(b, 0, weighted(t, g, weight, aot_vjp_int(b, 4, MEAN), x));
    }
    if (aot_vjp_needs(b, 1)) {
        g = AOT(t, aten_mul_Tensor, logits_target_grad(t, x, pos_weight), grad);
        aot_vjp_set(b, 1, weighted(t, g, weight, aot_vjp_int(b, 4, MEAN), target));
    }
}

/* ---- gradients of gradients ------------------------------------------------------------------ */

/* zeros_like(grad), where nothing of self matters. */
static void zero_self(aot_vjp *b)
{
    if (aot_vjp_needs(b, 1)) {
        aot_vjp_set(b, 1, AOT(aot_vjp_tracer(b), aten_zeros_like, aot_vjp_grad(b, 0)));
    }
}

void vjp_nll_loss_backward(aot_vjp *b)
{
    GRAD_RUN(b, SETS(0), aten_nll_loss, G(0), A(2), A(3), A(4), A(5));
    zero_self(b);
}

void vjp_nll_loss2d_backward(aot_vjp *b)
{
    GRAD_RUN(b, SETS(0), aten_nll_loss2d, G(0), A(2), A(3), A(4), A(5));
    zero_self(b);
}

/* mse_loss_backward(grad_output, self, target, reduction): target comes last. */
void vjp_mse_loss_backward(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *x;

    GRAD_RUN(b, SETS(0), aten_mse_loss_backward, G(0), A(1), A(2), A(3));
    for (unsigned i = 1; i <= 2; i++) {
        if (!aot_vjp_needs(b, i)) {
            continue;
        }
        x = AOT(t, aten_mul_Tensor, aot_vjp_grad(b, 0), aot_vjp_in(b, 0));
        x = AOT(t, aten_mul_Scalar, x, 2);
        if (aot_vjp_int(b, 3, MEAN) == MEAN) {
            x = AOT(t, aten_div__Scalar, x, aot_numel(t, aot_vjp_in(b, i)));
        }
        aot_vjp_set(b, i, i == 2 ? AOT(t, aten_neg, x) : x);
    }
}
