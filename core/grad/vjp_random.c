/* Gradients of dropout and of distributions. */
#include "grad/call.h"
#include "grad/steps.h"

/* A distribution's sample does not depend on it smoothly: zeros. */
void vjp_zeros_like_grad(aot_vjp *b)
{
    aot_vjp_set(b, 0, AOT(aot_vjp_tracer(b), aten_zeros_like, aot_vjp_grad(b, 0)));
}

/* zeros_like(self), of which only the type was saved. */
void vjp_zeros_like_self(aot_vjp *b)
{
    aot_vjp_set(b, 0, aot_grad_zeros_of(aot_vjp_tracer(b), aot_vjp_in(b, 0)));
}

/* bernoulli.Tensor(self, p): p comes first. */
void vjp_bernoulli_Tensor(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);

    if (aot_vjp_needs(b, 1)) {
        aot_vjp_set(b, 1, aot_grad_zeros_of(t, aot_vjp_in(b, 1)));
    }
    if (aot_vjp_needs(b, 0)) {
        aot_vjp_set(b, 0, AOT(t, aten_zeros_like, aot_vjp_grad(b, 0)));
    }
}

static double dropout_scale(const aot_vjp *b)
{
    double p = aot_vjp_float(b, 1, 0.5);

    if (!aot_vjp_bool(b, 2)) {
        return 1;
    }
    return p == 1 ? 0.0 : 1.0 / (1.0 - p);
}

/* grad * (mask.type_as(grad) * scale), which can be differentiated again. */
static aot_tensor *masked(aot_tracer *t, aot_tensor *grad, aot_tensor *mask, aot_value scale)
{
    if (aot_dtype_of(mask) != aot_dtype_of(grad)) {
        mask = AOT(t, aten__to_copy, mask, aot_v_dtype(aot_dtype_of(grad)),
                   aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(grad)));
    }
    return AOT(t, aten_mul_Tensor, grad, AOT(t, aten_mul_Scalar, mask, scale));
}

/* native_dropout(input, p, train) -> (output, mask) */
void vjp_native_dropout(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *mask = aot_vjp_out(b, 1);
    double scale = dropout_scale(b);

    aot_vjp_set(b, 0, aot_grad_enabled(t)
                          ? masked(t, grad, mask, aot_v_float(scale))
                          : AOT(t, aten_native_dropout_backward, grad, mask, scale));
}

/* _fused_dropout(self, p) -> (output, mask); p is the probability of keeping. */
void vjp_fused_dropout(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    double p1 = 1. / (1. - aot_vjp_float(b, 1, 0.5));

    aot_vjp_set(b, 0, AOT(t, aten__masked_scale, aot_vjp_grad(b, 0), aot_vjp_out(b, 1), p1));
}

/* native_dropout_backward(grad_output, mask, scale) */
void vjp_native_dropout_backward(aot_vjp *b)
{
    aot_vjp_set(b, 0, masked(aot_vjp_tracer(b), aot_vjp_grad(b, 0), aot_vjp_in(b, 1),
                             aot_vjp_arg(b, 2)));
}

void vjp_standard_gamma(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *x = AOT(t, aten__standard_gamma_grad, aot_vjp_in(b, 0), aot_vjp_out(b, 0));

    aot_vjp_set(b, 0, AOT(t, aten_mul_Tensor, aot_vjp_grad(b, 0), x));
}
