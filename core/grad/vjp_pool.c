/* Gradients of pooling. */
#include "grad/call.h"
#include "grad/steps.h"

GRAD_CALL(vjp_avg_pool2d, SETS(0), aten_avg_pool2d_backward, G(0), A(0), A(1), A(2), A(3), A(4),
          A(5), A(6))
GRAD_CALL(vjp_avg_pool3d, SETS(0), aten_avg_pool3d_backward, G(0), A(0), A(1), A(2), A(3), A(4),
          A(5), A(6))
GRAD_CALL(vjp_adaptive_avg_pool2d, SETS(0), aten__adaptive_avg_pool2d_backward, G(0), A(0))
GRAD_CALL(vjp_adaptive_avg_pool3d, SETS(0), aten__adaptive_avg_pool3d_backward, G(0), A(0))
GRAD_CALL(vjp_adaptive_max_pool2d, SETS(0), aten_adaptive_max_pool2d_backward, G(0), A(0), R(1))
GRAD_CALL(vjp_adaptive_max_pool3d, SETS(0), aten_adaptive_max_pool3d_backward, G(0), A(0), R(1))
GRAD_CALL(vjp_fractional_max_pool2d, SETS(0), aten_fractional_max_pool2d_backward, G(0), A(0),
          A(1), A(2), R(1))
GRAD_CALL(vjp_fractional_max_pool3d, SETS(0), aten_fractional_max_pool3d_backward, G(0), A(0),
          A(1), A(2), R(1))
GRAD_CALL(vjp_max_pool2d_with_indices, SETS(0), aten_max_pool2d_with_indices_backward, G(0), A(0),
          A(1), A(2), A(3), A(4), A(5), R(1))
GRAD_CALL(vjp_max_pool3d_with_indices, SETS(0), aten_max_pool3d_with_indices_backward, G(0), A(0),
          A(1), A(2), A(3), A(4), A(5), R(1))
GRAD_CALL(vjp_mkldnn_adaptive_avg_pool2d, SETS(0), aten_mkldnn_adaptive_avg_pool2d_backward, G(0),
          A(0))
GRAD_CALL(vjp_mkldnn_max_pool2d, SETS(0), aten_mkldnn_max_pool2d_backward, G(0), R(0), A(0), A(1),
          A(2), A(3), A(4), A(5))
GRAD_CALL(vjp_mkldnn_max_pool3d, SETS(0), aten_mkldnn_max_pool3d_backward, G(0), R(0), A(0), A(1),
          A(2), A(3), A(4), A(5))

/* ---- gradients of gradients: arguments are (grad_output, self, ...) ------------------------- */

/* self enters only through its size or its maxima: zeros. */
static void no_self(aot_vjp *b)
{
    if (aot_vjp_needs(b, 1)) {
        aot_vjp_set(b, 1, aot_grad_zeros_of(aot_vjp_tracer(b), aot_vjp_in(b, 1)));
    }
}

void vjp_avg_pool2d_backward(aot_vjp *b)
{
    GRAD_RUN(b, SETS(0), aten_avg_pool2d, G(0), A(2), A(3), A(4), A(5), A(6), A(7));
    no_self(b);
}

void vjp_avg_pool3d_backward(aot_vjp *b)
{
    GRAD_RUN(b, SETS(0), aten_avg_pool3d, G(0), A(2), A(3), A(4), A(5), A(6), A(7));
    no_self(b);
}

static void adaptive(aot_vjp *b, aot_op_id op, unsigned n)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_dims all = aot_sizes(aot_vjp_in(b, 0));
    aot_value args[2] = {aot_v_tensor(aot_vjp_grad(b, 0)),
                         aot_v_dims(t, (aot_dims){all.d + all.n - n, n})};

    if (aot_vjp_needs(b, 0)) {
        aot_vjp_set(b, 0, aot_v_first(aot_call_op(t, op, 2, args)));
    }
    no_self(b);
}

void vjp_adaptive_avg_pool2d_backward(aot_vjp *b)
{
    adaptive(b, AOT_OP_aten__adaptive_avg_pool2d, 2);
}

void vjp_adaptive_avg_pool3d_backward(aot_vjp *b)
{
    adaptive(b, AOT_OP_aten__adaptive_avg_pool3d, 3);
}

/* Takes the gradient at the places where the maxima were (max_pool_double_backward). */
static aot_tensor *at_maxima(aot_tracer *t, aot_tensor *grad, aot_tensor *indices, unsigned n)
{
    aot_dim flat[AOT_GRAD_MAX_DIMS];
    aot_dims all = aot_sizes(indices), size = {flat, all.n - n + 1};
    aot_tensor *places;

    for (unsigned i = 0; i < all.n - n; i++) {
        flat[i] = all.d[i];
    }
    flat[all.n - n] = aot_dim_of(-1);
    places = AOT(t, aten_view, indices, size);
    grad = AOT(t, aten_view, AOT(t, aten_contiguous, grad), size);
    grad = AOT(t, aten_gather, grad, -1, places);
    return AOT(t, aten_view, grad, all);
}

static void from_maxima(aot_vjp *b, unsigned indices, unsigned n)
{
    if (aot_vjp_needs(b, 0)) {
        aot_vjp_set(b, 0, at_maxima(aot_vjp_tracer(b), aot_vjp_grad(b, 0), aot_vjp_in(b, indices),
                                    n));
    }
}

void vjp_max_unpool2d(aot_vjp *b)
{
    from_maxima(b, 1, 2);
}

void vjp_max_unpool3d(aot_vjp *b)
{
    from_maxima(b, 1, 3);
}

/* (grad_output, self, ..., indices) where the indices' place differs. */
static void max_pool_backward(aot_vjp *b, unsigned indices, unsigned n)
{
    from_maxima(b, indices, n);
    no_self(b);
}

void vjp_max_pool2d_with_indices_backward(aot_vjp *b)
{
    max_pool_backward(b, 7, 2);
}

void vjp_max_pool3d_with_indices_backward(aot_vjp *b)
{
    max_pool_backward(b, 7, 3);
}

void vjp_adaptive_max_pool2d_backward(aot_vjp *b)
{
    max_pool_backward(b, 2, 2);
}

void vjp_adaptive_max_pool3d_backward(aot_vjp *b)
{
    max_pool_backward(b, 2, 3);
}

void vjp_fractional_max_pool2d_backward(aot_vjp *b)
{
    max_pool_backward(b, 4, 2);
}

void vjp_fractional_max_pool3d_backward(aot_vjp *b)
{
    max_pool_backward(b, 4, 3);
}
