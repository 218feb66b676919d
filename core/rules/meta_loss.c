/* Losses: element-wise before their reduction, a scalar after it.
 *
 * Mirrors: torch/_decomp/decompositions.py:apply_loss_reduction, nll_loss_forward,
 * nll_loss_backward and the backward functions of the losses. */
#include "rules/meta_shared.h"

enum { MAX_OPERANDS = 8 };

/* A formula of several steps: what counts as contiguous between them is made so anew. */
static aot_status push_steps(aot_call *k, const aot_fake *in, unsigned n, aot_dtype d)
{
    aot_fake out;
    AOT_TRY(aot_fake_elementwise(k, in, n, d, &out));
    if (aot_fake_is_contiguous(&out)) {
        aot_fake_set_contiguous(k->c, &out);
    }
    aot_call_push(k, &out);
    return AOT_OK;
}

/* The tensor arguments among the first n, in order. */
static unsigned operands(const aot_call *k, unsigned n, aot_fake *in)
{
    unsigned got = 0;
    for (unsigned i = 0; i < n; i++) {
        if (i < k->n->n_args && aot_call_tensor(k, i, "", &in[got])) {
            got++;
        }
    }
    return got;
}

/* Element-wise over n operands, then reduced unless the reduction at pos is none (0). In some
 * formulas the target comes first, so that its strides go before those of self. */
static aot_status loss(aot_call *k, unsigned n_tensors, unsigned reduction_pos, bool target_first)
{
    aot_fake in[MAX_OPERANDS];
    AOT_TRY(aot_call_need(k, 0, "self", &in[0]));
    unsigned n = operands(k, n_tensors, in);
    if (n == 0) {
        n = 1;
    }
    aot_dtype d = in[0].dtype;
    for (unsigned i = 1; i < n; i++) {
        d = aot_promote_types(d, in[i].dtype);
    }
    if (aot_call_int(k, reduction_pos, "reduction", 1).value != 0) {
        aot_push_scalar(k, &in[0], d);
        return AOT_OK;
    }
    if (target_first && n > 1) {
        aot_fake self = in[0];
        in[0] = in[1];
        in[1] = self;
        return aot_push_elementwise(k, in, n, d);
    }
    return push_steps(k, in, n, d);
}

/* mse_loss, smooth_l1_loss, huber_loss, soft_margin_loss (self, target, reduction) */
aot_status meta_loss(aot_call *k)
{
    return loss(k, 2, 2, false);
}

/* binary_cross_entropy(self, target, weight, reduction) */
aot_status meta_weighted_loss(aot_call *k)
{
    return loss(k, 3, 3, true);
}

/* binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction) */
aot_status meta_bce_with_logits(aot_call *k)
{
    return loss(k, 4, 4, true);
}

/* Gradients: element-wise over operands in the order in which the formula meets them. */
static aot_status loss_grad(aot_call *k, const unsigned *order, unsigned n)
{
    static const char *const names[] = {"grad_output", "self", "target", "weight"};
    aot_fake in[MAX_OPERANDS];
    unsigned got = 0;
    for (unsigned i = 0; i < n; i++) {
        if (aot_call_tensor(k, order[i], names[order[i]], &in[got])) {
            got++;
        }
    }
    if (got == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: no operand has a tensor type",
                        aot_op(k->n->op)->name);
    }
    aot_dtype d = in[0].dtype;
    for (unsigned i = 1; i < got; i++) {
        d = aot_promote_types(d, in[i].dtype);
    }
    return push_steps(k, in, got, d);
}

/* (self - target) * grad: mse_loss_backward, smooth_l1_loss_backward, huber_loss_backward */
aot_status meta_loss_backward(aot_call *k)
{
    return loss_grad(k, (const unsigned[]){1, 2, 0}, 3);
}

aot_status meta_soft_margin_loss_backward(aot_call *k)
{
    return loss_grad(k, (const unsigned[]){2, 0, 1}, 3);
}

aot_status meta_bce_backward(aot_call *k)
{
    return loss_grad(k, (const unsigned[]){0, 1, 2, 3}, 4);
}

/* nll_loss_forward(self, target, weight, reduction, ignore_index): loss and total weight. */
aot_status meta_nll_loss_forward(aot_call *k)
{
    aot_fake self, target;
    AOT_TRY(aot_call_need(k, 0, "self", &self));
    AOT_TRY(aot_call_need(k, 1, "target", &target));
    if (aot_call_int(k, 3, "reduction", 1).value == 0 && self.ndim > 1) {
        aot_push_contiguous(k, &target, self.dtype);
    } else {
        aot_push_scalar(k, &self, self.dtype);
    }
    aot_push_scalar(k, &self, self.dtype);
    return AOT_OK;
}

/* nll_loss_backward(grad_output, self, ...) */
aot_status meta_nll_loss_backward(aot_call *k)
{
    aot_fake self;
    AOT_TRY(aot_call_need(k, 1, "self", &self));
    aot_push_contiguous(k, &self, self.dtype);
    return AOT_OK;
}
