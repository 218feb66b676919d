/* Bags of embeddings and reductions over segments: rows grouped by offsets or lengths.
 *
 * Mirrors: torch/_meta_registrations.py:meta_embedding_bag, meta_segment_reduce. */
#include "rules/meta_shared.h"

enum { BAG_SUM, BAG_MEAN, BAG_MAX };

/* _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
 * include_last_offset, padding_idx): output, bag of each index, sizes of bags, indices of maxima.
 * On CPU a sum over contiguous rows needs no bag of each index. */
aot_status meta_embedding_bag(aot_call *k)
{
    aot_fake w, indices, offsets, scale;
    AOT_TRY(aot_call_need(k, 0, "weight", &w));
    AOT_TRY(aot_call_need(k, 1, "indices", &indices));
    AOT_TRY(aot_call_need(k, 2, "offsets", &offsets));
    int64_t mode = aot_call_int(k, 4, "mode", BAG_SUM).value;
    bool cpu = aot_starts_with(aot_text(k->c, offsets.device), "cpu");
    aot_dim bags = offsets.size[0];
    if (aot_call_bool(k, 7, "include_last_offset", false)) {
        bags = aot_dim_sub(k->c, bags, aot_dim_of(1));
    }
    bool fast = (w.dtype == AOT_F32 || w.dtype == AOT_F16) && w.stride[1].value == 1 &&
                aot_call_int(k, 8, "padding_idx", -1).value < 0;
    if (aot_call_tensor(k, 6, "per_sample_weights", &scale)) {
        fast = fast && scale.stride[0].value == 1;
    }
    aot_dim sizes[] = {bags, w.size[1]};
    aot_fake out = aot_fake_make(k, w.dtype, 2, sizes, w.device);
    aot_call_push(k, &out);
    bool no_bags = cpu && mode == BAG_SUM && fast;
    aot_dtype d = cpu ? offsets.dtype : indices.dtype;
    aot_push_vector(k, &offsets, d, no_bags ? aot_dim_of(0) : indices.size[0]);
    aot_push_vector(k, &offsets, d, cpu ? bags : offsets.size[0]);
    if (mode == BAG_MAX) {
        out = aot_fake_make(k, d, 2, sizes, offsets.device);
        aot_call_push(k, &out);
    } else {
        aot_push_vector(k, &offsets, d, cpu ? bags : aot_dim_of(0));
    }
    return AOT_OK;
}

/* _embedding_bag_backward(grad, indices, offsets, offset2bag, bag_size, maximum_indices,
 * num_weights, ...) */
aot_status meta_embedding_bag_backward(aot_call *k)
{
    aot_fake grad;
    AOT_TRY(aot_call_need(k, 0, "grad", &grad));
    aot_dim sizes[] = {aot_call_int(k, 6, "num_weights", 1), grad.size[1]};
    aot_fake out = aot_fake_make(k, grad.dtype, 2, sizes, grad.device);
    aot_call_push(k, &out);
    return AOT_OK;
}

/* _embedding_bag_per_sample_weights_backward(grad, weight, indices, ...) */
aot_status meta_embedding_bag_scale_backward(aot_call *k)
{
    aot_fake grad, indices;
    AOT_TRY(aot_call_need(k, 0, "grad", &grad));
    AOT_TRY(aot_call_need(k, 2, "indices", &indices));
    aot_push_vector(k, &grad, grad.dtype, indices.size[0]);
    return AOT_OK;
}

/* segment_reduce(data, reduce, *, lengths, indices, offsets, axis, ...) */
aot_status meta_segment_reduce(aot_call *k)
{
    aot_fake data, by;
    AOT_TRY(aot_call_need(k, 0, "data", &data));
    bool lengths = aot_call_tensor(k, 2, "lengths", &by);
    if (!lengths && !aot_call_tensor(k, 4, "offsets", &by)) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "segment_reduce: neither lengths nor offsets");
    }
    if (!lengths && by.ndim > 0) {
        aot_dim *n = &by.size[by.ndim - 1];
        *n = aot_dim_sub(k->c, *n, aot_dim_of(1));
    }
    unsigned axis = aot_fake_dim(&data, aot_call_int(k, 5, "axis", 0).value);
    for (unsigned i = axis + 1; i < data.ndim && by.ndim < AOT_FAKE_MAX_NDIM; i++) {
        by.size[by.ndim++] = data.size[i];
    }
    by.device = data.device;
    aot_push_contiguous(k, &by, data.dtype);
    return AOT_OK;
}

/* _segment_reduce_backward(grad, output, data, ...) */
aot_status meta_segment_reduce_backward(aot_call *k)
{
    aot_fake grad, data;
    AOT_TRY(aot_call_need(k, 0, "grad", &grad));
    AOT_TRY(aot_call_need(k, 2, "data", &data));
    aot_push_contiguous(k, &data, grad.dtype);
    return AOT_OK;
}
