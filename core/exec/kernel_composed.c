/* Kernels that are a few calls of others: copies of views, gradients of thresholds and norms, pairs
 * of extremes.
 *
 * Mirrors: aten/src/ATen/native/Activation.cpp, WeightNorm.cpp, TensorCompare.cpp; the view_copy
 * operators. */
#include <string.h>

#include "exec/kernel.h"

/* ---- copies of views ------------------------------------------------------------------------- */

/* To add one: a row, and a KERNEL row with kern_copy_of_view. */
static const struct {
    aot_op_id op, view;
} copies[] = {
    {AOT_OP_aten__conj_copy, AOT_OP_aten__conj},
    {AOT_OP_aten__fw_primal_copy, AOT_OP_aten_alias},
    {AOT_OP_aten__neg_view_copy, AOT_OP_aten__neg_view},
    {AOT_OP_aten__reshape_alias_copy, AOT_OP_aten__reshape_alias},
    {AOT_OP_aten__reshape_copy, AOT_OP_aten_reshape},
    {AOT_OP_aten_detach_copy, AOT_OP_aten_detach},
    {AOT_OP_aten_select_copy_int, AOT_OP_aten_select_int},
    {AOT_OP_aten_slice_copy_Tensor, AOT_OP_aten_slice_Tensor},
    {AOT_OP_aten_split_copy_Tensor, AOT_OP_aten_split_Tensor},
    {AOT_OP_aten_view_as_complex_copy, AOT_OP_aten_view_as_complex},
    {AOT_OP_aten_view_as_real_copy, AOT_OP_aten_view_as_real},
};

void kern_copy_of_view(aot_kern *k)
{
    enum { MOST = 4096 };
    unsigned i = 0, n = 0, n_out;
    while (copies[i].op != k_op(k)) {
        i++;
    }
    aot_xval args[8];
    while (n < 8 && k_arg(k, n)->kind != AOT_X_NONE) {
        args[n] = *k_arg(k, n);
        n++;
    }
    if (copies[i].op == AOT_OP_aten_slice_copy_Tensor) { // None may stand between
        for (n = 0; n < 5; n++) {
            args[n] = *k_arg(k, n);
        }
    }
    aot_array **out = k_mem(k, MOST * sizeof *out);
    n_out = k_call_all(k, copies[i].view, n, args, out, MOST);
    if (copies[i].op == AOT_OP_aten_split_copy_Tensor) {
        k_give_list(k);
    }
    for (unsigned o = 0; o < n_out; o++) {
        aot_array *copy = k_out(k, o, (aot_dtype)out[o]->dtype, out[o]->ndim, out[o]->size);
        aot_array_assign(copy, out[o]);
        k_give(k, copy);
    }
}

void kern_matrix_transpose(aot_kern *k)
{
    k_give(k, K3(k, aten_transpose_int, k_need(k, 0), (int64_t)-2, (int64_t)-1));
}

/* ---- thresholds ------------------------------------------------------------------------------ */

/* grad, self, lambd: the gradient passes where self is beyond lambd. */
void kern_shrink_backward(aot_kern *k)
{
    aot_array *grad = k_need(k, 0), *x = k_need(k, 1);
    aot_xval low[] = {aot_xv_array(K1(k, aten_neg, x)), *k_arg(k, 2)},
             high[] = {aot_xv_array(x), *k_arg(k, 2)};
    aot_array *inside = K2(k, aten_bitwise_and_Tensor, k_call(k, AOT_OP_aten_le_Scalar, 2, low),
                           k_call(k, AOT_OP_aten_le_Scalar, 2, high));
    k_give(k, K3(k, aten_masked_fill_Scalar, grad, inside, 0.0));
}

/* ---- extremes, truths ------------------------------------------------------------------------ */

void kern_aminmax_all(aot_kern *k)
{
    k_give(k, K1(k, aten_min, k_need(k, 0)));
    k_give(k, K1(k, aten_max, k_need(k, 0)));
}

void kern_is_all_true(aot_kern *k)
{
    k_give(k, K1(k, aten_all, k_need(k, 0)));
}

void kern_is_any_true(aot_kern *k)
{
    k_give(k, K1(k, aten_any, k_need(k, 0)));
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* grad_w, v, g, norms, dim: w = v g / norms, the norms over all dimensions but dim. */
void kern_weight_norm_backward(aot_kern *k)
{
    aot_array *grad = k_need(k, 0), *v = k_need(k, 1), *g = k_need(k, 2), *norms = k_need(k, 3);
    aot_dtype d = (aot_dtype)v->dtype;
    unsigned dim = k_dim(k, 4, v->ndim), n = 0;
    aot_xval dims[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < v->ndim; i++) {
        if (i != dim) {
            dims[n++] = aot_xv_int(i);
        }
    }
    aot_array *grad64 = k_cast(k, grad, AOT_F64), *v64 = k_cast(k, v, AOT_F64),
              *norms64 = k_cast(k, norms, AOT_F64);
    aot_xval sum[] = {aot_xv_array(K2(k, aten_mul_Tensor, grad64, v64)), aot_xv_list(n, dims),
                      aot_xv_bool(true)};
    aot_array *dots =
        K2(k, aten_div_Tensor, k_call(k, AOT_OP_aten_sum_dim_IntList, 3, sum), norms64);
    aot_array *along = K2(k, aten_mul_Tensor, v64, K2(k, aten_div_Tensor, dots, norms64));
    aot_array *across = K2(k, aten_sub_Tensor, grad64, along),
              *scale = K2(k, aten_div_Tensor, k_cast(k, g, AOT_F64), norms64);
    k_give_as(k, 0, K2(k, aten_mul_Tensor, scale, across), d);
    k_give_as(k, 1, dots, (aot_dtype)g->dtype);
}

/* ---- joined ---------------------------------------------------------------------------------- */

void kern_stack_of(aot_kern *k)
{
    k_give(k, k_call(k, AOT_OP_aten_stack, 2, (const aot_xval[]){*k_arg(k, 0), *k_arg(k, 1)}));
}

void kern_eigenvalues(aot_kern *k)
{
    aot_array *of[2];
    k_call_all(k, AOT_OP_aten_linalg_eig, 1, (const aot_xval[]){*k_arg(k, 0)}, of, 2);
    k_give(k, of[0]);
}

/* self, size: the same elements in a row, more than there are being whatever (here 0). */
void kern_resized(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    unsigned ndim;
    const int64_t *size = k_ints(k, 1, &ndim);
    aot_array *out = k_new(k, (aot_dtype)x->dtype, ndim, size);
    int64_t n = aot_array_numel(out), have = aot_array_numel(x), one = 1,
            both = n < have ? n : have;
    aot_array *flat = k_reshape(k, k_contiguous(k, x), 1, &have);
    aot_array_assign(k_view(k, out, 1, &both, &one, 0),
                     k_view(k, flat, 1, &both, &one, flat->offset));
    k_give(k, out);
}
