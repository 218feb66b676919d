/* Outputs of convolution gradients, pooling with indices, grids. */
#include "rules/outs.h"

/* (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
 *  groups, output_mask) */
void outs_convolution_backward(aot_outs *o)
{
    aot_out_type g;
    aot_outs_push_like(o, 1, "input", aot_outs_mask(o, 10, "output_mask", 0));
    aot_outs_push_like(o, 2, "weight", aot_outs_mask(o, 10, "output_mask", 1));
    if (aot_outs_mask(o, 10, "output_mask", 2) && aot_outs_tensor(o, 0, "grad_output", &g) &&
        g.ndim > 1) {
        aot_outs_push(o, aot_outs_type(g.dtype, 1, &g.sizes[1]));
    } else {
        aot_outs_push_none(o);
    }
}

/* floor or ceil((in + 2 pad - dilation (kernel - 1) - 1) / stride) + 1; a last window that would
 * start in the right padding is dropped. */
static int64_t pooled(int64_t in, int64_t kernel, int64_t pad, int64_t stride, int64_t dilation,
                      bool ceil)
{
    if (in == AOT_HINT_NONE || kernel == AOT_HINT_NONE || pad == AOT_HINT_NONE || stride <= 0) {
        return AOT_HINT_NONE;
    }
    int64_t room = in + 2 * pad - dilation * (kernel - 1) - 1 + (ceil ? stride - 1 : 0);
    int64_t out = room < 0 ? 0 : room / stride + 1;
    return ceil && (out - 1) * stride >= in + pad ? out - 1 : out;
}

static void push_pooled(aot_outs *o, unsigned rank, aot_dtype index)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "self", &t) || t.ndim < rank) {
        return;
    }
    const aot_arg *kernel = aot_outs_arg(o, 1, "kernel_size"),
                  *stride = aot_outs_arg(o, 2, "stride");
    const aot_arg *pad = aot_outs_arg(o, 3, "padding"), *dilation = aot_outs_arg(o, 4, "dilation");
    bool ceil = aot_outs_bool(o, 5, "ceil_mode", false);
    for (unsigned i = 0; i < rank; i++) {
        int64_t k = aot_outs_item(o, kernel, i, AOT_HINT_NONE);
        int64_t *size = &t.sizes[t.ndim - rank + i];
        *size = pooled(*size, k, aot_outs_item(o, pad, i, 0), aot_outs_item(o, stride, i, k),
                       aot_outs_item(o, dilation, i, 1), ceil);
    }
    aot_outs_push(o, t);
    aot_outs_push_as(o, t, index);
}

void outs_max_pool1d(aot_outs *o)
{
    push_pooled(o, 1, AOT_I64);
}

void outs_max_pool2d(aot_outs *o)
{
    push_pooled(o, 2, AOT_I64);
}

void outs_max_pool3d(aot_outs *o)
{
    push_pooled(o, 3, AOT_I64);
}

void outs_max_pool_offsets(aot_outs *o)
{
    const aot_arg *kernel = aot_outs_arg(o, 1, "kernel_size");
    bool is_list = kernel && (kernel->kind == AOT_ARG_LIST || kernel->kind == AOT_ARG_TUPLE);
    push_pooled(o, is_list ? kernel->n : 2, AOT_I8);
}

/* Output sizes are given: (self, output_size), or (self, kernel_size, output_size). */
static void push_sized(aot_outs *o, unsigned rank, unsigned pos)
{
    aot_out_type t;
    if (!aot_outs_tensor(o, 0, "self", &t) || t.ndim < rank) {
        return;
    }
    const aot_arg *size = aot_outs_arg(o, pos, "output_size");
    for (unsigned i = 0; i < rank; i++) {
        t.sizes[t.ndim - rank + i] = aot_outs_item(o, size, i, AOT_HINT_NONE);
    }
    aot_outs_push(o, t);
    aot_outs_push_as(o, t, AOT_I64);
}

void outs_adaptive_max_pool2d(aot_outs *o)
{
    push_sized(o, 2, 1);
}

void outs_adaptive_max_pool3d(aot_outs *o)
{
    push_sized(o, 3, 1);
}

void outs_fractional_max_pool2d(aot_outs *o)
{
    push_sized(o, 2, 2);
}

void outs_fractional_max_pool3d(aot_outs *o)
{
    push_sized(o, 3, 2);
}

/* (grad_output, input, grid, modes, align_corners, output_mask) */
void outs_grid_sampler_backward(aot_outs *o)
{
    aot_outs_push_like(o, 1, "input", aot_outs_mask(o, 6, "output_mask", 0));
    aot_outs_push_like(o, 2, "grid", true);
}
