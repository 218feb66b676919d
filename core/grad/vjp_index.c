/* Gradients of indexing, masks and slices written into a tensor. */
#include "grad/call.h"
#include "grad/steps.h"

/* ---- reading by index ------------------------------------------------------------------------ */

/* index.Tensor(self, indices): what was read twice gets both gradients. */
void vjp_index(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0);
    aot_tensor *zeros = aot_grad_new_zeros(t, grad, aot_vjp_in(b, 0));

    aot_vjp_set(b, 0, AOT(t, aten_index_put, zeros, aot_vjp_arg(b, 1), grad, true));
}

void vjp_unsafe_index(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0);
    aot_tensor *zeros = aot_grad_new_zeros(t, grad, aot_vjp_in(b, 0));

    aot_vjp_set(b, 0, AOT(t, aten__unsafe_index_put, zeros, aot_vjp_arg(b, 1), grad, true));
}

void vjp_unsafe_masked_index(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0);
    aot_tensor *zeros = aot_grad_new_zeros(t, grad, aot_vjp_in(b, 0));

    aot_vjp_set(b, 0, AOT(t, aten__unsafe_masked_index_put_accumulate, zeros, aot_vjp_arg(b, 1),
                          aot_vjp_arg(b, 2), grad));
}

/* gather(self, dim, index, sparse_grad) */
void vjp_gather(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *zeros;

    zeros = AOT(t, aten_new_zeros, grad, aot_sizes(aot_vjp_in(b, 0)));
    aot_vjp_set(b, 0,
                AOT(t, aten_scatter_add, zeros, aot_vjp_arg(b, 1), aot_vjp_in(b, 2), grad));
}

/* index_select(self, dim, index) */
void vjp_index_select(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *zeros;

    zeros =
        AOT(t, aten_new_zeros, grad, aot_sizes(aot_vjp_in(b, 0)), aot_v_dtype(aot_dtype_of(grad)),
            aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(grad)));
    aot_vjp_set(b, 0, AOT(t, aten_index_add, zeros, aot_vjp_arg(b, 1), aot_vjp_in(b, 2), grad));
}

void vjp_take(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *zeros = AOT(t, aten_zeros_like, aot_vjp_in(b, 0));

    aot_vjp_set(b, 0, AOT(t, aten_put, zeros, aot_vjp_in(b, 1), aot_vjp_grad(b, 0), true));
}

/* ---- writing by index: self keeps what was not written, the source gets what was ------------- */

static void put_values(aot_vjp *b, aot_op_id put, aot_op_id get)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *g = grad;
    aot_value read[2] = {aot_v_tensor(grad), aot_vjp_arg(b, 1)};

    if (aot_vjp_needs(b, 0)) {
        if (!aot_vjp_bool(b, 3)) {
            aot_value zeros = aot_v_tensor(aot_grad_zeros_of(t, aot_vjp_in(b, 2)));
            g = aot_v_first(aot_call_op(t, put, 4,
                                        (aot_value[]){read[0], read[1], zeros, aot_v_bool(false)}));
        }
        aot_vjp_set(b, 0, g);
    }
    if (aot_vjp_needs(b, 2)) {
        aot_vjp_set(b, 2, aot_v_first(aot_call_op(t, get, 2, read)));
    }
}

/* index_put(self, indices, values, accumulate) */
void vjp_index_put(aot_vjp *b)
{
    put_values(b, AOT_OP_aten_index_put, AOT_OP_aten_index_Tensor);
}

void vjp_unsafe_index_put(aot_vjp *b)
{
    put_values(b, AOT_OP_aten__unsafe_index_put, AOT_OP_aten__unsafe_index_Tensor);
}

/* put(self, index, source, accumulate) */
void vjp_put(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *index = aot_vjp_in(b, 1), *source = aot_vjp_in(b, 2);
    aot_tensor *g = grad;

    if (aot_vjp_needs(b, 0)) {
        if (!aot_vjp_bool(b, 3)) {
            g = AOT(t, aten_put, grad, index, aot_grad_zeros_of(t, source), false);
        }
        aot_vjp_set(b, 0, g);
    }
    if (aot_vjp_needs(b, 2)) {
        g = AOT(t, aten_take, grad, index);
        aot_vjp_set(b, 2, AOT(t, aten_reshape, g, aot_sizes(source)));
    }
}

/* (self, mask, indices, values) */
void vjp_unsafe_masked_index_put_accumulate(aot_vjp *b)
{
    if (aot_vjp_needs(b, 0)) {
        aot_vjp_set(b, 0, aot_vjp_grad(b, 0));
    }
    GRAD_RUN(b, SETS(3), aten__unsafe_masked_index, G(0), A(1), A(2), INT(0));
}

/* The gradient at the indices of dim, in the source's shape. */
static aot_tensor *selected(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *index = aot_vjp_in(b, 2), *source = aot_vjp_in(b, 3);
    aot_value dim = aot_vjp_arg(b, 1);

    if (aot_ndim(source) == 0) {
        return AOT(t, aten_index_select, grad, dim, AOT(t, aten_squeeze_dim, index, 0));
    }
    return AOT(t, aten_expand, AOT(t, aten_index_select, grad, dim, index), aot_sizes(source));
}

/* index_add(self, dim, index, source, alpha) */
void vjp_index_add(aot_vjp *b)
{
    aot_tensor *g;

    if (aot_vjp_needs(b, 0)) {
        aot_vjp_set(b, 0, aot_vjp_grad(b, 0));
    }
    if (aot_vjp_needs(b, 3)) {
        g = selected(b);
        if (aot_vjp_float(b, 4, 1) != 1) {
            g = AOT(aot_vjp_tracer(b), aten_mul_Scalar, g, aot_vjp_arg(b, 4));
        }
        aot_vjp_set(b, 3, g);
    }
}

/* index_copy(self, dim, index, source) */
void vjp_index_copy(aot_vjp *b)
{
    GRAD_RUN(b, SETS(0), aten_index_fill_int_Scalar, G(0), A(1), A(2), INT(0));
    if (aot_vjp_needs(b, 3)) {
        aot_vjp_set(b, 3, selected(b));
    }
}

/* index_fill(self, dim, index, value) */
GRAD_CALL(vjp_index_fill_Scalar, SETS(0), aten_index_fill_int_Scalar, G(0), A(1), A(2), INT(0))

void vjp_index_fill_Tensor(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *x;

    GRAD_RUN(b, SETS(0), aten_index_fill_int_Scalar, G(0), A(1), A(2), INT(0));
    if (aot_vjp_needs(b, 3)) {
        x = AOT(t, aten__unique, aot_vjp_in(b, 2), false);
        x = AOT(t, aten_index_select, aot_vjp_grad(b, 0), aot_vjp_arg(b, 1), x);
        aot_vjp_set(b, 3, AOT(t, aten_sum, x));
    }
}

/* ---- masks ----------------------------------------------------------------------------------- */

GRAD_CALL(vjp_masked_fill_Scalar, SETS(0), aten_masked_fill_Scalar, G(0), A(1), INT(0))

void vjp_masked_fill_Tensor(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);

    GRAD_RUN(b, SETS(0), aten_masked_fill_Scalar, G(0), A(1), INT(0));
    if (aot_vjp_needs(b, 2)) {
        aot_tensor *x = aot_grad_where_number(t, aot_vjp_in(b, 1), aot_vjp_grad(b, 0), 0);
        aot_vjp_set(b, 2, AOT(t, aten_sum, x));
    }
}

void vjp_masked_scatter(aot_vjp *b)
{
    GRAD_RUN(b, SETS(0), aten_masked_fill_Scalar, G(0), A(1), INT(0));
    GRAD_RUN(b, SETS(2), aten_masked_scatter_backward, G(0), A(1), SIZES(2));
}

void vjp_masked_scatter_backward(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *zeros = aot_grad_zeros_of(t, aot_vjp_in(b, 0));

    aot_vjp_set(b, 0, AOT(t, aten_masked_scatter, zeros, aot_vjp_in(b, 1), aot_vjp_grad(b, 0)));
}

static aot_dims broadcast(aot_tracer *t, const aot_tensor *x, const aot_tensor *y)
{
    unsigned n = aot_ndim(x) > aot_ndim(y) ? aot_ndim(x) : aot_ndim(y);
    aot_dim *d = aot_arena_alloc(aot_tracer_arena(t), (n + 1) * sizeof *d);

    for (unsigned i = 0; i < n; i++) {
        aot_dim a =
            i + aot_ndim(x) >= n ? aot_size(x, (int64_t)(i + aot_ndim(x) - n)) : aot_dim_of(1);
        aot_dim c =
            i + aot_ndim(y) >= n ? aot_size(y, (int64_t)(i + aot_ndim(y) - n)) : aot_dim_of(1);
        d[i] = aot_dim_is(a, 1) ? c : a;
    }
    return (aot_dims){d, n};
}

void vjp_masked_select(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *self = aot_vjp_in(b, 0), *mask = aot_vjp_in(b, 1), *x;

    x = AOT(t, aten_expand, self, broadcast(t, self, mask));
    x = AOT(t, aten_zeros_like, x, AOT_NONE, AOT_NONE, AOT_NONE, AOT_NONE,
            aot_v_name(t, "torch.preserve_format"));
    aot_vjp_set(b, 0, AOT(t, aten_masked_scatter, x, mask, aot_vjp_grad(b, 0)));
}

/* where(condition, self, other): other comes first. */
void vjp_where(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *condition = aot_vjp_in(b, 0), *grad = aot_vjp_grad(b, 0);

    if (aot_vjp_needs(b, 2)) {
        aot_vjp_set(b, 2, aot_grad_number_where(t, condition, 0, grad));
    }
    if (aot_vjp_needs(b, 1)) {
        aot_vjp_set(b, 1, aot_grad_where_number(t, condition, grad, 0));
    }
}

GRAD_CALL(vjp_tril, SETS(0), aten_tril, G(0), A(1))
GRAD_CALL(vjp_triu, SETS(0), aten_triu, G(0), A(1))

/* ---- parts written into a copy --------------------------------------------------------------- */

/* scatter(grad, zeros, how...), the gradient of self; `how` are the arguments from 2 on. */
static void without_part(aot_vjp *b, aot_op_id scatter, unsigned n)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_value args[8];

    if (!aot_vjp_needs(b, 0)) {
        return;
    }
    args[0] = aot_v_tensor(aot_vjp_grad(b, 0));
    args[1] = aot_v_tensor(aot_grad_zeros_of(t, aot_vjp_in(b, 1)));
    for (unsigned i = 2; i < n; i++) {
        args[i] = aot_vjp_arg(b, i);
    }
    aot_vjp_set(b, 0, aot_v_first(aot_call_op(t, scatter, n, args)));
}

void vjp_slice_scatter(aot_vjp *b)
{
    without_part(b, AOT_OP_aten_slice_scatter, 6);
    GRAD_RUN(b, SETS(1), aten_slice_Tensor, G(0), A(2), A(3), A(4), A(5));
}

void vjp_select_scatter(aot_vjp *b)
{
    without_part(b, AOT_OP_aten_select_scatter, 4);
    GRAD_RUN(b, SETS(1), aten_select_int, G(0), A(2), A(3));
}

void vjp_diagonal_scatter(aot_vjp *b)
{
    without_part(b, AOT_OP_aten_diagonal_scatter, 5);
    GRAD_RUN(b, SETS(1), aten_diagonal, G(0), A(2), A(3), A(4));
}

/* as_strided_scatter(self, src, size, stride, storage_offset) */
void vjp_as_strided_scatter(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *self = aot_vjp_in(b, 0), *part, *whole, *x;
    aot_value size = aot_vjp_arg(b, 2), stride = aot_vjp_arg(b, 3), offset = aot_vjp_arg(b, 4);

    if (aot_vjp_needs(b, 0)) {
        part = AOT(t, aten_as_strided, AOT(t, aten_contiguous, grad), size, stride, offset);
        x = AOT(t, aten_new_zeros, grad, aot_sizes(self));
        whole = AOT(t, aten_as_strided, x, aot_sizes(self), aot_strides(self));
        x = AOT(t, aten_as_strided, x, size, stride, offset);
        AOT(t, aten_copy_, x, part);
        aot_vjp_set(b, 0, whole);
    }
    if (aot_vjp_needs(b, 1)) {
        x = AOT(t, aten_contiguous, grad);
        aot_vjp_set(b, 1, AOT(t, aten_as_strided, x, size, stride, offset));
    }
}

/* ---- gradients of what the gradients of views are made of ------------------------------------ */

GRAD_CALL(vjp_slice_backward, SETS(0), aten_slice_Tensor, G(0), A(2), A(3), A(4), A(5))
GRAD_CALL(vjp_select_backward, SETS(0), aten_select_int, G(0), A(2), A(3))
GRAD_CALL(vjp_diagonal_backward, SETS(0), aten_diagonal, G(0), A(2), A(3), A(4))
GRAD_CALL(vjp_unfold_backward, SETS(0), aten_unfold, G(0), A(2), A(3), A(4))
