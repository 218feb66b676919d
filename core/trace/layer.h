/* functorch's stack of interpreters: vmap and grad that are entered and left within a graph.
 * A call is seen by the innermost layer first, which calls the next one with what its tensors wrap;
 * below the outermost one is the trace itself. Layers count from 1.
 * Mirrors aten/src/ATen/functorch/DynamicLayer.h, BatchedTensorImpl.h, TensorWrapper.h and the
 * Python functions of torch._C._functorch that a Dynamo graph calls. */
#ifndef AOT_TRACE_LAYER_H
#define AOT_TRACE_LAYER_H

#include "trace/trace.h"

typedef enum aot_layer_kind { AOT_LAYER_VMAP, AOT_LAYER_GRAD } aot_layer_kind;
typedef enum aot_randomness {
    AOT_RANDOM_ERROR,
    AOT_RANDOM_SAME,
    AOT_RANDOM_DIFFERENT
} aot_randomness;

/* _vmap_increment_nesting, _grad_increment_nesting; the number of the layer. A grad layer has no
 * batch; until it is left gradients are recorded, whatever the mode outside. */
unsigned aot_layer_push(aot_tracer *t, aot_layer_kind kind, aot_dim batch, aot_randomness r);
/* The decrements; which kind is checked. What the layer wrapped must not be used any more, but for
 * tensors of a grad layer, which stand for what they wrap. */
void aot_layer_pop(aot_tracer *t, aot_layer_kind kind);

/* _add_batch_dim: a tensor without dimension bdim (0 .. ndim-1) of x. */
aot_tensor *aot_layer_add_batch(aot_tracer *t, aot_tensor *x, unsigned bdim, unsigned layer);
/* _remove_batch_dim: the value with its batch at out_dim; expanded to it if x has none there. */
aot_tensor *aot_layer_remove_batch(aot_tracer *t, aot_tensor *x, unsigned layer, aot_dim batch,
                                   int64_t out_dim);
/* _wrap_for_grad: a fresh tensor of the grad layer, without history. */
aot_tensor *aot_layer_wrap_grad(aot_tracer *t, aot_tensor *x, unsigned layer);
/* _unwrap_for_grad: what a tensor of that layer wraps; another tensor itself. */
aot_tensor *aot_layer_unwrap_grad(aot_tracer *t, aot_tensor *x, unsigned layer);
/* The innermost layer is a vmap and x has its batch. */
bool aot_layer_is_batched(const aot_tracer *t, const aot_tensor *x);
bool aot_layer_is_batched_by_any(const aot_tensor *x); /* by this vmap layer or one further out */
/* x.requires_grad_() of a tensor of a grad layer. */
void aot_layer_require_grad(aot_tracer *t, aot_tensor *x);
/* torch.autograd.grad of a grad layer's tensors, in the middle of the forward; as
 * aot_trace_backward, but the calls belong to the node being run and, with create_graph, have
 * gradients themselves. */
void aot_trace_grad(aot_tracer *t, unsigned n_out, aot_tensor *const *outs,
                    aot_tensor *const *tangents, unsigned n_in, aot_tensor *const *inputs,
                    bool create_graph, aot_tensor **grads);

#endif
