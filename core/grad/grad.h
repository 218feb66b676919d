/* What the rules of gradients share: short names for the calls that formulas make, forms that
 * several formulas use, and rules that are formulas of one element, for a plain operator and for
 * its foreach form alike.
 *
 * A formula's calls come in the order of PyTorch's C++: an object before the arguments of its
 * method, arguments of a function from the last to the first. */
#ifndef AOT_GRAD_GRAD_H
#define AOT_GRAD_GRAD_H

#include "grad/steps.h"

/* ---- formulas of one element ----------------------------------------------------------------- */

/* A plain call, or item i of the lists of a foreach call. */
typedef struct aot_each {
    aot_vjp *b;
    aot_tracer *t;
    aot_tensor *g; /* gradient of the output, or of output i; never NULL */
    unsigned i;
} aot_each;

/* The gradient of one argument. */
typedef aot_tensor *aot_grad_formula(const aot_each *e);

typedef struct aot_grad_part {
    unsigned pos;
    aot_grad_formula *formula;
} aot_grad_part;

/* GRAD_EACH(vjp_mul, {1, mul_other}, {0, mul_self}): a rule of formulas; the parts in the order of
 * the arguments' names, as derivatives.yaml is read. */
#define GRAD_EACH(name, ...)                                                                      \
    void name(aot_vjp *b)                                                                         \
    {                                                                                             \
        static const aot_grad_part parts[] = {__VA_ARGS__};                                       \
        aot_grad_each(b, parts, sizeof parts / sizeof parts[0]);                                  \
    }
void aot_grad_each(aot_vjp *b, const aot_grad_part *parts, unsigned n);

aot_tensor *aot_each_in(const aot_each *e, unsigned pos); /* NULL: a number, or None */
aot_value aot_each_num(const aot_each *e, unsigned pos); /* the argument, or item i of a list */
aot_tensor *aot_each_out(const aot_each *e);             /* the saved result */

/* A formula of one tensor: x is argument 0, g the gradient. _RESULT: r is the saved result. */
#define GRAD_UNARY(name, expr)                                                                    \
    static aot_tensor *name##_self(const aot_each *e)                                             \
    {                                                                                             \
        aot_tracer *t = e->t;                                                                     \
        aot_tensor *g = e->g, *x = aot_each_in(e, 0);                                             \
        (void)t, (void)g, (void)x;                                                                \
        return expr;                                                                              \
    }                                                                                             \
    GRAD_EACH(name, {0, name##_self})
#define GRAD_UNARY_RESULT(name, expr)                                                             \
    static aot_tensor *name##_self(const aot_each *e)                                             \
    {                                                                                             \
        aot_tracer *t = e->t;                                                                     \
        aot_tensor *g = e->g, *r = aot_each_out(e);                                               \
        (void)t, (void)g;                                                                         \
        return expr;                                                                              \
    }                                                                                             \
    GRAD_EACH(name, {0, name##_self})

/* ---- short names ----------------------------------------------------------------------------- */

static inline aot_tensor *g_mul(aot_tracer *t, aot_tensor *a, aot_tensor *b)
{
    return AOT(t, aten_mul_Tensor, a, b);
}
static inline aot_tensor *g_div(aot_tracer *t, aot_tensor *a, aot_tensor *b)
{
    return AOT(t, aten_div_Tensor, a, b);
}
static inline aot_tensor *g_neg(aot_tracer *t, aot_tensor *a)
{
    return AOT(t, aten_neg, a);
}
static inline aot_tensor *g_add_n(aot_tracer *t, aot_tensor *a, int64_t n) /* a + n */
{
    return AOT(t, aten_add_Scalar, a, n);
}
static inline aot_tensor *g_mul_n(aot_tracer *t, aot_tensor *a, int64_t n)
{
    return AOT(t, aten_mul_Scalar, a, n);
}
static inline aot_tensor *g_mul_f(aot_tracer *t, aot_tensor *a, double f)
{
    return AOT(t, aten_mul_Scalar, a, f);
}
static inline aot_tensor *g_square(aot_tracer *t, aot_tensor *a) /* a.pow(2) */
{
    return AOT(t, aten_pow_Tensor_Scalar, a, 2);
}
static inline aot_tensor *g_conj(aot_tracer *t, aot_tensor *a)
{
    return aot_grad_conj(t, a);
}

/* ---- shared forms ---------------------------------------------------------------------------- */

/* handle_r_to_c: the real part, if the gradient of a real tensor came out complex. */
aot_tensor *aot_grad_to_real(aot_tracer *t, aot_dtype self, aot_tensor *grad);
/* maybe_multiply: x * s, or x if s is 1. */
aot_tensor *aot_grad_times(aot_tracer *t, aot_tensor *x, aot_value s);
/* s - x and s / x, as C++ does them: filled in place. */
aot_tensor *aot_grad_n_sub(aot_tracer *t, aot_value s, aot_tensor *x);
aot_tensor *aot_grad_n_div(aot_tracer *t, aot_value s, aot_tensor *x);
aot_value aot_grad_conj_num(aot_value s);
aot_value aot_grad_neg_num(aot_value s);
double aot_grad_num(aot_value s); /* as a double; the real part if complex */

/* zeros(sizes), ones(sizes) and scalar_tensor(v) with dtype and device of like. */
aot_tensor *aot_grad_zeros(aot_tracer *t, aot_dims sizes, const aot_fake *like);
aot_tensor *aot_grad_ones(aot_tracer *t, aot_dims sizes, const aot_fake *like);
aot_tensor *aot_grad_scalar(aot_tracer *t, double v, const aot_fake *like);
aot_tensor *aot_grad_zeros_like(aot_tracer *t, aot_tensor *x);
/* x.masked_fill_(cond, 0), cond being y == 0. */
aot_tensor *aot_grad_zero_where_zero(aot_tracer *t, aot_tensor *x, aot_tensor *y);
/* Of silu and mish: by elementary operators if the gradient is to be differentiated itself. */
aot_tensor *aot_grad_silu(aot_tracer *t, aot_tensor *g, aot_tensor *x);
aot_tensor *aot_grad_mish(aot_tracer *t, aot_tensor *g, aot_tensor *x);
/* x.contiguous() */
aot_tensor *aot_grad_contiguous(aot_tracer *t, aot_tensor *x);

/* at::sum_to */
aot_tensor *aot_grad_sum_to(aot_tracer *t, aot_tensor *x, aot_dims to);
/* unsqueeze_multiple: puts back the dimensions that a reduction of ndim dimensions took out. */
aot_tensor *aot_grad_unsqueeze(aot_tracer *t, aot_tensor *x, aot_dims dims, unsigned ndim);
/* The same, by one reshape (restore_reduced_dims). */
aot_tensor *aot_grad_restore(aot_tracer *t, aot_tensor *x, aot_dims dims, bool keepdim);
/* sum_backward, mean_backward: all = no list of dimensions was given. */
aot_tensor *aot_grad_of_sum(aot_tracer *t, aot_tensor *grad, aot_dims sizes, aot_dims dims,
                            bool keepdim);
aot_tensor *aot_grad_of_mean(aot_tracer *t, aot_tensor *grad, const aot_tensor *self,
                             aot_dims dims, bool keepdim);
/* Product of the sizes of dims. */
aot_dim aot_grad_reduced_numel(aot_tracer *t, aot_dims sizes, aot_dims dims);
/* evenly_distribute_backward: of max(), min(), median(). */
aot_tensor *aot_grad_evenly(aot_tracer *t, aot_tensor *grad, aot_tensor *self, aot_tensor *value);
/* value_selecting_reduction_backward */
aot_tensor *aot_grad_selected(aot_tracer *t, aot_tensor *grad, int64_t dim, aot_tensor *indices,
                              aot_dims sizes, bool keepdim);

#endif
