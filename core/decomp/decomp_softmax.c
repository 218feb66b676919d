/* Decompositions of softmax, log_softmax and their gradients: torch/_decomp/decompositions.py,
 * torch/_inductor/decomposition.py. */
#include <math.h>

#include "decomp/decomp.h"

/* Sum or maximum over one dimension, which is kept. */
#define KEPT(op, x, dim) AOT(t, op, x, aot_v_list(t, 1, (aot_value[]){dim}), true)

/* x as the kernels take it, less its maximum along dim, and in `result` the dtype to give. */
static aot_tensor *shifted(aot_expand *k, aot_dtype *result)
{
    aot_tracer *t = k->t;
    aot_tensor *x = AOT(t, aten_contiguous, aot_x_tensor(k, 0));
    aot_dtype compute = dc_computation_dtype(aot_dtype_of(x));
    *result = aot_x_bool(k, 2) ? compute : aot_dtype_of(x);
    x = dc_to(t, x, compute);
    if (aot_dim_eq(aot_numel(t, x), aot_dim_of(0))) {
        return x;
    }
    return SUB(x, KEPT(aten_amax, x, k->args[1]));
}

bool decomp_softmax(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result;
    aot_tensor *e = AOT(t, aten_exp, shifted(k, &result));
    return dc_give(k, DIV(e, KEPT(aten_sum_dim_IntList, e, k->args[1])), result);
}

bool decomp_log_softmax(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result;
    aot_tensor *x = shifted(k, &result);
    aot_tensor *sum = KEPT(aten_sum_dim_IntList, AOT(t, aten_exp, x), k->args[1]);
    return dc_give(k, SUB(x, AOT(t, aten_log, sum)), result);
}

/* Inductor's table has fma, which the core one has not. */
bool decomp_softmax_backward_data(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k), input = aot_x_dtype(k, 3);
    aot_tensor *grad = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1);
    aot_tensor *product = MUL(grad, y);
    aot_tensor *sum = KEPT(aten_sum_dim_IntList, product, k->args[2]);
    aot_tensor *x = aot_has_core_decomps(t) ? SUB(product, MUL(y, sum))
                                            : AOT(t, prims_fma, NEG(y), sum, product);
    if (aot_dtype_of(grad) != input) {
        x = dc_to(t, x, input);
    }
    x = AOT(t, aten_contiguous, x);
    return aot_has_core_decomps(t) ? aot_x_give(k, x) : dc_give(k, x, result);
}

/* Computed in the higher precision, then given as the input's dtype. */
bool decomp_log_softmax_backward_data(aot_expand *k)
{
    aot_tracer *t = k->t;
    dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0);
    aot_tensor *e = AOT(t, aten_exp, aot_x_tensor(k, 1));
    aot_tensor *sum = KEPT(aten_sum_dim_IntList, grad, k->args[2]);
    return dc_give(k, SUB(grad, MUL(e, sum)), aot_x_dtype(k, 3));
}

/* softmax with rows that are masked out whole as 0. */
bool decomp_safe_softmax(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_tensor *out = AOT(t, aten_softmax_int, x, k->args[1], k->args[2]);
    aot_tensor *masked = AOT(t, aten_eq_Scalar, x, (double)-INFINITY);
    aot_tensor *rows = AOT(t, aten_all_dim, masked, k->args[1], true);
    aot_tensor *zeros = AOT(t, aten_zeros_like, out);
    return aot_x_give(k, WHERE(rows, zeros, out));
}
