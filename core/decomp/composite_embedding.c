/* Embeddings, one_hot, grid_sampler and other operators that only choose another.
 *
 * Mirrors: aten/src/ATen/native/Embedding.cpp, EmbeddingBag.cpp, Onehot.cpp, GridSampler.cpp,
 * ChanelShuffle.cpp */
#include "trace/trace.h"

/* embedding_bag(weight, indices, offsets, ..., include_last_offset[, padding_idx]) */
bool composite_embedding_bag(aot_expand *k)
{
    aot_value args[9];
    for (unsigned i = 0; i < 8; i++) {
        args[i] = k->args[i];
    }
    bool padded = k->op == AOT_OP_aten_embedding_bag_padding_idx && !aot_x_is_none(k, 8);
    args[8] = padded ? k->args[8] : aot_v_int(-1);
    if (padded && args[8].u.dim.value < 0) {
        args[8] = aot_v_dim(aot_trace_dim(k->t, '+', args[8].u.dim,
                                        aot_size(aot_x_tensor(k, 0), 0)));
    }
    aot_op_id op = aot_requires_grad(aot_x_tensor(k, 0)) ? AOT_OP_aten__embedding_bag
                                                         : AOT_OP_aten__embedding_bag_forward_only;
    return aot_x_give_value(k, aot_call_op(k->t, op, 9, args));
}

/* embedding_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq, sparse) */
bool composite_embedding_backward(aot_expand *k)
{
    aot_op_id op = aot_x_bool(k, 5) ? AOT_OP_aten_embedding_sparse_backward
                                    : AOT_OP_aten_embedding_dense_backward;
    return aot_x_give_value(k, aot_call_op(k->t, op, 5, k->args));
}

bool composite_one_hot(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dim classes = aot_x_dim(k, 1, -1);
    aot_tensor *x = aot_x_tensor(k, 0);
    if (aot_dim_is(classes, -1)) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED,
                       "one_hot: the number of classes is not given and depends on data");
    }
    aot_tensor *index = AOT(t, aten_arange, classes, aot_v_dtype(AOT_I64),
                            aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(x)));
    x = AOT(t, aten_unsqueeze, x, -1);
    x = AOT(t, aten_eq_Tensor, x, index);
    return aot_x_give(k, AOT(t, aten_to_dtype, x, aot_v_dtype(AOT_I64)));
}

bool composite_grid_sampler(aot_expand *k)
{
    aot_op_id op = aot_ndim(aot_x_tensor(k, 0)) == 4 ? AOT_OP_aten_grid_sampler_2d
                                                     : AOT_OP_aten_grid_sampler_3d;
    return aot_x_give_value(k, aot_call_op(k->t, op, k->n, k->args));
}

/* native_channel_shuffle(self [B, C, ...], groups) */
bool composite_channel_shuffle(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims sizes = aot_sizes(x);
    aot_dim groups = aot_x_dim(k, 1, 1);
    const aot_dim shape[] = {aot_size(x, 0), groups,
                             aot_trace_dim(t, '/', aot_size(x, 1), groups),
                             aot_dim_of(-1)};
    x = AOT(t, aten_view, x, ((aot_dims){shape, 4}));
    x = AOT(t, aten_permute, x, aot_v_ints(t, 4, (const int64_t[]){0, 2, 1, 3}));
    x = AOT(t, aten_contiguous, x);
    return aot_x_give(k, AOT(t, aten_view, x, sizes));
}
