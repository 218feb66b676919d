/* Batch normalization of cuDNN and MIOpen, and what says something of sizes only.
 * Mirrors torch/_decomp/decompositions.py (cudnn_batch_norm) and
 * torch/_inductor/decomposition.py. */
#include "decomp/decomp_parts.h"

/* new_zeros((0,)) */
static aot_tensor *nothing(aot_tracer *t, aot_tensor *like, aot_dtype dtype)
{
    aot_dim zero = aot_dim_of(0);
    return AOT(t, aten_new_zeros, like, ((aot_dims){&zero, 1}), aot_v_dtype(dtype), AOT_NONE,
               AOT_NONE, aot_v_bool(false));
}

/* cudnn_batch_norm, miopen_batch_norm: native_batch_norm; statistics only when training */
bool decomp_vendor_batch_norm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *weight = aot_x_tensor(k, 1);
    bool cudnn = k->op == AOT_OP_aten_cudnn_batch_norm;
    aot_value r = aot_call_op(t, AOT_OP_aten_native_batch_norm, 8, k->args);
    aot_tensor *out[4] = {aot_v_item(r, 0), aot_v_item(r, 1), aot_v_item(r, 2), NULL};
    if (!aot_x_bool(k, 5)) {
        out[1] = nothing(t, weight, AOT_NO_DTYPE);
        out[2] = nothing(t, weight, AOT_NO_DTYPE);
    }
    if (cudnn) {
        out[3] = nothing(t, x, AOT_U8);
    }
    return aot_x_give_tuple(k, cudnn ? 4 : 3, out);
}

/* cudnn_batch_norm_backward(input, grad, weight, ..., save_mean, save_var, eps, reserve) and
 * miopen_batch_norm_backward: native_batch_norm_backward in training */
bool decomp_vendor_batch_norm_backward(aot_expand *k)
{
    aot_value all[] = {aot_v_bool(true), aot_v_bool(true), aot_v_bool(true)};
    aot_value args[] = {k->args[1], k->args[0], k->args[2], k->args[3], k->args[4], k->args[5],
                        k->args[6], aot_v_bool(true), k->args[7], aot_v_list(k->t, 3, all)};
    return aot_x_give_value(k, aot_call_op(k->t, AOT_OP_aten_native_batch_norm_backward, 10, args));
}

/* sym_constrain_range_for_size says something of a size only. */
bool decomp_nothing(aot_expand *k)
{
    return aot_x_give_value(k, aot_v_none());
}
