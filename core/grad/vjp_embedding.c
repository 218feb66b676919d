/* Gradients of embeddings. */
#include "grad/call.h"
#include "grad/steps.h"

/* embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse); embedding_backward is a
 * composite that chooses between this and the sparse one. */
void vjp_embedding(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_dim rows = aot_size(aot_vjp_in(b, 0), 0);

    if (aot_vjp_bool(b, 4)) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "embedding: sparse gradients are not traced");
    }
    aot_vjp_set(b, 0, AOT(t, aten_embedding_dense_backward, aot_vjp_grad(b, 0), aot_vjp_in(b, 1),
                          rows, aot_vjp_arg(b, 2), aot_vjp_arg(b, 3)));
}

/* embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) */
void vjp_embedding_dense_backward(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *indices = aot_vjp_in(b, 1), *x, *flat, *mask;
    aot_dims places = aot_sizes(indices);
    aot_dim size[AOT_GRAD_MAX_DIMS];

    flat = AOT(t, aten_reshape, indices, ((aot_dims){&(aot_dim){.value = -1}, 1}));
    x = AOT(t, aten_index_select, aot_vjp_grad(b, 0), 0, flat);
    for (unsigned i = 0; i < places.n; i++) {
        size[i] = places.d[i];
    }
    size[places.n] = (aot_dim){.value = -1};
    x = AOT(t, aten_view, x, ((aot_dims){size, places.n + 1}));
    if (aot_vjp_int(b, 3, -1) >= 0) {
        mask = AOT(t, aten_eq_Scalar, indices, aot_vjp_arg(b, 3));
        mask = AOT(t, aten_unsqueeze, mask, -1);
        x = AOT(t, aten_masked_fill_Scalar, x, mask, 0);
    }
    aot_vjp_set(b, 0, x);
}

/* _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
 * include_last_offset, padding_idx) -> (output, offset2bag, bag_size, maximum_indices) */
void vjp_embedding_bag(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_dim rows;

    GRAD_RUN(b, SETS(6), aten__embedding_bag_per_sample_weights_backward, G(0), A(0), A(1), A(2),
             R(1), A(4), A(8));
    if (aot_vjp_needs(b, 0)) {
        rows = aot_size(aot_vjp_in(b, 0), 0);
        aot_vjp_set(b, 0, AOT(t, aten__embedding_bag_backward, aot_vjp_grad(b, 0), aot_vjp_in(b, 1),
                              aot_vjp_in(b, 2), aot_vjp_out(b, 1), aot_vjp_out(b, 2),
                              aot_vjp_out(b, 3), rows, aot_vjp_arg(b, 3), aot_vjp_arg(b, 4),
                              aot_vjp_arg(b, 5), aot_vjp_arg(b, 6), aot_vjp_arg(b, 8)));
    }
}
