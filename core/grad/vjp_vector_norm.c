/* Gradients of p-norms (norm_backward in FunctionsManual.cpp) and of renorm. */
#include "grad/vjp_vector_norm.h"
#include "rules/meta_shared.h"

#include <math.h>

#include "grad/steps.h"

/* Puts back dimensions that the norm removed, lowest first; one dimension as it was given. */
static aot_tensor *unsqueezed(aot_tracer *t, aot_tensor *x, aot_dims dims, unsigned ndim)
{
    bool removed[AOT_GRAD_MAX_DIMS] = {false};

    if (dims.n == 1) {
        return AOT(t, aten_unsqueeze, x, dims.d[0].value);
    }
    for (unsigned i = 0; i < dims.n; i++) {
        removed[aot_wrap_dim(t, dims.d[i].value, ndim)] = true;
    }
    for (unsigned i = 0; i < ndim; i++) {
        x = removed[i] ? AOT(t, aten_unsqueeze, x, (int64_t)i) : x;
    }
    return x;
}

/* |self|^e, in place where PyTorch does. */
static aot_tensor *abs_power(aot_tracer *t, aot_tensor *self, double e)
{
    return AOT(t, aten_pow__Scalar, AOT(t, aten_abs, self), e);
}

/* x with zeros where `of` is zero. */
static aot_tensor *zero_where_zero(aot_tracer *t, aot_tensor *x, aot_tensor *of)
{
    return AOT(t, aten_masked_fill__Scalar, x, AOT(t, aten_eq_Scalar, of, 0), 0);
}

static aot_tensor *of_maximum(aot_tracer *t, aot_tensor *grad, aot_tensor *self, aot_tensor *norm,
                              aot_dims dims)
{
    aot_tensor *size = AOT(t, aten_abs, self), *mask, *nan, *share;

    mask = AOT(t, aten_eq_Tensor, size, norm);
    nan = AOT(t, aten_isnan, size);
    mask = AOT(t, aten_logical_or, mask, nan);
    share = AOT(t, aten_div_Tensor, grad, AOT(t, aten_sum_dim_IntList, mask, dims, true));
    share = AOT(t, aten_mul_Tensor, share, mask);
    return AOT(t, aten_mul_Tensor, AOT(t, aten_sgn, self), share);
}

static aot_tensor *below_one(aot_tracer *t, aot_tensor *grad, aot_tensor *self, aot_tensor *norm,
                             double p)
{
    aot_tensor *x = zero_where_zero(t, abs_power(t, self, p - 1), self), *power;

    x = AOT(t, aten_mul_Tensor, AOT(t, aten_sgn, self), x);
    power = AOT(t, aten_pow_Tensor_Scalar, norm, 1 - p);
    x = AOT(t, aten_mul_Tensor, x, grad);
    return AOT(t, aten_mul_Tensor, x, power);
}

static aot_tensor *above_one(aot_tracer *t, aot_tensor *grad, aot_tensor *self, aot_tensor *norm,
                             double p)
{
    aot_tensor *x = abs_power(t, self, p < 2 ? p - 1 : p - 2), *scale;

    x = p < 2 ? AOT(t, aten_mul_Tensor, AOT(t, aten_sgn, self), x)
              : AOT(t, aten_mul_Tensor, self, x);
    scale = AOT(t, aten_div_Tensor, grad, AOT(t, aten_pow_Tensor_Scalar, norm, p - 1));
    return AOT(t, aten_mul_Tensor, x, zero_where_zero(t, scale, norm));
}

aot_tensor *aot_grad_norm(aot_tracer *t, aot_tensor *grad, aot_tensor *self, double p,
                          aot_tensor *norm, aot_dims dims, bool keepdim)
{
    aot_tensor *x;

    if (!keepdim && aot_ndim(self) != 0) {
        grad = unsqueezed(t, grad, dims, aot_ndim(self));
        norm = unsqueezed(t, norm, dims, aot_ndim(self));
    }
    if (p == 0) {
        return NULL;
    }
    if (p == 1) {
        return AOT(t, aten_mul_Tensor, AOT(t, aten_sgn, self), grad);
    }
    if (p == 2) {
        x = AOT(t, aten_div_Tensor, self, norm);
        return AOT(t, aten_mul_Tensor, grad, zero_where_zero(t, x, norm));
    }
    if (isinf(p)) {
        return of_maximum(t, grad, self, norm, dims);
    }
    return p < 1 ? below_one(t, grad, self, norm, p) : above_one(t, grad, self, norm, p);
}

/* linalg_vector_norm(self, ord, dim, keepdim, dtype), norm.ScalarOpt_dim(self, p, dim, keepdim) */
void vjp_norm_dim(aot_vjp *b)
{
    aot_vjp_set(b, 0, aot_grad_norm(aot_vjp_tracer(b), aot_vjp_grad(b, 0), aot_vjp_in(b, 0),
                                    aot_vjp_float(b, 1, 2), aot_vjp_out(b, 0), aot_vjp_dims(b, 2),
                                    aot_vjp_bool(b, 3)));
}

void vjp_norm_dim_dtype(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0);
    aot_tensor *self = aot_grad_to_dtype(t, aot_vjp_in(b, 0), aot_dtype_of(grad));

    aot_vjp_set(b, 0, aot_grad_norm(t, grad, self, aot_vjp_float(b, 1, 2), aot_vjp_out(b, 0),
                                    aot_vjp_dims(b, 2), aot_vjp_bool(b, 3)));
}

/* norm.Scalar(self, p) and norm.ScalarOpt_dtype(self, p, dtype): over everything. */
void vjp_norm_all(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *self = aot_vjp_in(b, 0);

    self = aot_grad_to_dtype(t, self, aot_dtype_of(grad));
    aot_vjp_set(b, 0, aot_grad_norm(t, grad, self, aot_vjp_float(b, 1, 2), aot_vjp_out(b, 0),
                                    (aot_dims){NULL, 0}, true));
}

/* The type that sums of x's type are kept in on its device (toAccumulateType). */
static aot_dtype accumulate_type(const aot_tensor *x)
{
    aot_dtype d = aot_dtype_of(x);

    return d == AOT_BF16 || d == AOT_F16 ? AOT_F32
           : d == AOT_F32               ? AOT_F64
           : d == AOT_C32               ? AOT_C64
           : d == AOT_C64               ? AOT_C128
                                        : d;
}

/* renorm(self, p, dim, maxnorm) */
void vjp_renorm(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *self = aot_vjp_in(b, 0), *norm, *nb, *inverse, *x, *y;
    unsigned n = aot_ndim(self), kept = aot_wrap_dim(t, aot_vjp_int(b, 2, 0), n), n_dims = 0;
    aot_value p = aot_vjp_arg(b, 1), maxnorm = aot_vjp_arg(b, 3);
    aot_value acc = aot_v_dtype(accumulate_type(self));
    aot_dim d[AOT_GRAD_MAX_DIMS];
    aot_dims dims;

    for (unsigned i = 0; i < n; i++) {
        if (i != kept) {
            d[n_dims++] = aot_dim_of(i);
        }
    }
    dims = (aot_dims){d, n_dims};
    norm = AOT(t, aten_linalg_vector_norm, self, p, dims, true, acc);
    x = AOT(t, aten_mul_Tensor, aot_grad_conj(t, self), grad);
    if (aot_is_complex(self)) {
        x = AOT(t, aten_real, x);
        acc = aot_v_dtype(aot_dtype_real(accumulate_type(self)));
    }
    x = AOT(t, aten_sum_dim_IntList, x, dims, true, acc);
    nb = aot_grad_norm(t, x, self, aot_vjp_float(b, 1, 2), norm, dims, true);
    inverse = AOT(t, aten_reciprocal, AOT(t, aten_add_Scalar, norm, 1e-7));
    x = AOT(t, aten_sub_Tensor, grad, AOT(t, aten_mul_Tensor, inverse, nb));
    y = AOT(t, aten_mul_Scalar, inverse, maxnorm);
    x = AOT(t, aten_mul_Tensor, y, x);
    x = aot_grad_to_dtype(t, x, aot_dtype_of(grad));
    y = AOT(t, aten_gt_Scalar, norm, maxnorm);
    aot_vjp_set(b, 0, AOT(t, aten_where_self, y, x, grad));
}
