/* Gradients of scatter and of reductions at indices. */
#include <string.h>

#include "grad/call.h"
#include "grad/steps.h"

/* scatter(self, dim, index, src or value) */
GRAD_CALL(vjp_scatter_value, SETS(0), aten_scatter_value, G(0), A(1), A(2), INT(0))

void vjp_scatter_src(aot_vjp *b)
{
    GRAD_RUN(b, SETS(0), aten_scatter_value, G(0), A(1), A(2), INT(0));
    GRAD_RUN(b, SETS(3), aten_gather, G(0), A(1), A(2));
}

void vjp_scatter_add(aot_vjp *b)
{
    if (aot_vjp_needs(b, 0)) {
        aot_vjp_set(b, 0, aot_vjp_grad(b, 0));
    }
    GRAD_RUN(b, SETS(3), aten_gather, G(0), A(1), A(2));
}

/* scatter_reduce and index_reduce differ in what an index means, not in the formulas. */
typedef struct reduction {
    aot_tracer *t;
    aot_op_id reduce, add, get, fill;
    aot_tensor *grad, *self, *index, *src, *result;
    aot_value dim, how, include_self;
} reduction;

static aot_tensor *get(const reduction *r, aot_tensor *x)
{
    aot_value args[] = {aot_v_tensor(x), r->dim, aot_v_tensor(r->index)};

    return aot_v_first(aot_call_op(r->t, r->get, 3, args));
}

static aot_tensor *add(const reduction *r, aot_tensor *x, aot_tensor *at)
{
    aot_value args[] = {aot_v_tensor(x), r->dim, aot_v_tensor(r->index), aot_v_tensor(at)};

    return aot_v_first(aot_call_op(r->t, r->add, 4, args));
}

static aot_tensor *reduce(const reduction *r, aot_tensor *x, aot_tensor *at)
{
    aot_value args[] = {aot_v_tensor(x),  r->dim, aot_v_tensor(r->index),
                        aot_v_tensor(at), r->how, r->include_self};

    return aot_v_first(aot_call_op(r->t, r->reduce, 6, args));
}

static void of_product(const reduction *r, aot_tensor **grad_self, aot_tensor **grad_src)
{
    aot_tracer *t = r->t;
    aot_tensor *zero = AOT(t, aten_eq_Scalar, r->self, 0), *x, *n, *once, *masked, *other;

    masked = AOT(t, aten_masked_fill_Scalar, r->self, zero, 1);
    x = reduce(r, masked, r->src);
    *grad_self = AOT(t, aten_div_Tensor, AOT(t, aten_mul_Tensor, r->grad, x), masked);

    /* A single zero's gradient is the product of the others; two make every gradient zero. */
    zero = AOT(t, aten_eq_Scalar, r->src, 0);
    n = AOT(t, aten_zeros_like, r->self);
    n = add(r, n, aot_grad_to_dtype(t, zero, aot_dtype_of(r->self)));
    n = get(r, n);
    once = AOT(t, aten_bitwise_and_Tensor, zero, AOT(t, aten_eq_Scalar, n, 1));
    masked = AOT(t, aten_masked_fill_Scalar, r->src, once, 1);
    other = reduce(r, r->self, masked);
    masked = AOT(t, aten_masked_fill_Scalar, r->src, zero, 1);
    x = get(r, AOT(t, aten_mul_Tensor, r->grad, r->result));
    x = AOT(t, aten_div_Tensor, x, masked);
    other = get(r, AOT(t, aten_mul_Tensor, r->grad, other));
    *grad_src = AOT(t, aten_where_self, once, other, x);
}

static void of_mean(const reduction *r, bool include_self, aot_tensor **grad_self,
                    aot_tensor **grad_src)
{
    aot_tracer *t = r->t;
    aot_tensor *n, *share;

    n = include_self ? AOT(t, aten_ones_like, r->grad) : AOT(t, aten_zeros_like, r->grad);
    n = add(r, n, AOT(t, aten_ones_like, r->src));
    AOT(t, aten_masked_fill__Scalar, n, AOT(t, aten_eq_Scalar, n, 0), 1);
    *grad_self = AOT(t, aten_div_Tensor, r->grad, n);
    share = get(r, n);
    *grad_src = AOT(t, aten_div_Tensor, get(r, r->grad), share);
}

static aot_tensor *equal(const reduction *r, aot_tensor *x, aot_tensor *y)
{
    return AOT(r->t, aten_eq_Tensor, x, y);
}

/* All that reached the extremum share the gradient. */
static void of_extremum(const reduction *r, aot_tensor **grad_self, aot_tensor **grad_src)
{
    aot_tracer *t = r->t;
    aot_tensor *value = get(r, r->result), *in_self, *in_src, *share;
    bool scatter = r->get == AOT_OP_aten_gather;
    aot_dtype d = aot_dtype_of(scatter ? r->grad : r->self);

    in_self = aot_grad_to_dtype(t, equal(r, r->self, r->result), d);
    in_src = aot_grad_to_dtype(t, equal(r, r->src, value), d);
    share = AOT(t, aten_div_Tensor, r->grad, add(r, in_self, in_src));
    in_self = scatter ? equal(r, r->self, r->result) : in_self;
    *grad_self = AOT(t, aten_mul_Tensor, in_self, share);
    share = get(r, share);
    in_src = scatter ? equal(r, r->src, value) : in_src;
    *grad_src = AOT(t, aten_mul_Tensor, in_src, share);
}

/* (self, dim, index, src, reduce, include_self) */
static void reduced(aot_vjp *b, reduction r)
{
    const char *how = aot_text(aot_tracer_ctx(aot_vjp_tracer(b)), aot_vjp_arg(b, 4).u.s);
    aot_tensor *grad_self = NULL, *grad_src = NULL;
    bool include_self = aot_vjp_bool(b, 5);

    r.t = aot_vjp_tracer(b);
    r.grad = aot_vjp_grad(b, 0);
    r.self = aot_vjp_in(b, 0);
    r.index = aot_vjp_in(b, 2);
    r.src = aot_vjp_in(b, 3);
    r.result = aot_vjp_out(b, 0);
    r.dim = aot_vjp_arg(b, 1);
    r.how = aot_vjp_arg(b, 4);
    r.include_self = aot_vjp_arg(b, 5);
    if (strcmp(how, "sum") == 0) {
        grad_self = r.grad;
        grad_src = get(&r, r.grad);
    } else if (strcmp(how, "prod") == 0) {
        of_product(&r, &grad_self, &grad_src);
    } else if (strcmp(how, "mean") == 0) {
        of_mean(&r, include_self, &grad_self, &grad_src);
    } else {
        of_extremum(&r, &grad_self, &grad_src);
    }
    if (!include_self) {
        aot_value args[] = {aot_v_tensor(grad_self), r.dim, aot_v_tensor(r.index), aot_v_int(0)};
        grad_self = aot_v_first(aot_call_op(r.t, r.fill, 4, args));
    }
    aot_vjp_set(b, 0, aot_vjp_needs(b, 0) ? grad_self : NULL);
    aot_vjp_set(b, 3, aot_vjp_needs(b, 3) ? grad_src : NULL);
}

void vjp_scatter_reduce(aot_vjp *b)
{
    reduced(b, (reduction){.reduce = AOT_OP_aten_scatter_reduce_two,
                           .add = AOT_OP_aten_scatter_add,
                           .get = AOT_OP_aten_gather,
                           .fill = AOT_OP_aten_scatter_value});
}

void vjp_index_reduce(aot_vjp *b)
{
    reduced(b, (reduction){.reduce = AOT_OP_aten_index_reduce,
                           .add = AOT_OP_aten_index_add,
                           .get = AOT_OP_aten_index_select,
                           .fill = AOT_OP_aten_index_fill_int_Scalar});
}
