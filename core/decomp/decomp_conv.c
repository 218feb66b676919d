/* Decompositions of convolution's gradients, im2col and col2im.
 * Mirrors torch/_decomp/decompositions.py and torch/_inductor/decomposition.py. */
#include <string.h>

#include "decomp/decomp_parts.h"

/* Inductor sums the bias's gradient itself on GPUs; on the CPU the operator stays. */
bool decomp_convolution_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *grad = aot_x_tensor(k, 0);
    aot_value mask = k->args[10];
    const char *device = aot_text(aot_tracer_ctx(t), aot_device_of(grad));
    if (mask.n != 3 || mask.u.items[2].u.dim.value == 0 || strncmp(device, "cuda", 4) != 0) {
        return false;
    }
    int64_t dims[AOT_FAKE_MAX_NDIM] = {0};
    unsigned n = 1;
    for (unsigned i = 2; i < aot_ndim(grad); i++) {
        dims[n++] = i;
    }
    aot_tensor *bias = AOT(t, aten_sum_dim_IntList, grad, aot_v_ints(t, n, dims));
    aot_value args[11], without[] = {mask.u.items[0], mask.u.items[1], aot_v_bool(false)};
    memcpy(args, k->args, sizeof args);
    args[10] = aot_v_list(t, 3, without);
    aot_value r = aot_call_op(t, AOT_OP_aten_convolution_backward, 11, args);
    aot_tensor *out[] = {aot_v_item(r, 0), aot_v_item(r, 1), bias};
    return aot_x_give_tuple(k, 3, out);
}

/* What im2col and col2im say of one dimension. */
typedef struct window {
    aot_dim size, kernel, dilation, padding, stride;
} window;

/* 2 * padding + size */
static aot_dim padded(aot_tracer *t, const window *w)
{
    return dc_dim(t, '+', w->size, dc_times(t, w->padding, 2));
}

/* Where the kernel can start: size + 2 padding - dilation (kernel - 1) */
static aot_dim room_of(aot_tracer *t, const window *w)
{
    aot_dim reach = dc_dim(t, '*', w->dilation, dc_add(t, w->kernel, -1));
    return dc_dim(t, '-', padded(t, w), reach);
}

static aot_dim n_blocks(aot_tracer *t, const window *w)
{
    aot_dim n = dc_dim(t, '/', dc_add(t, room_of(t, w), -1), w->stride);
    return dc_add(t, n, 1);
}

/* Indices of the elements that each place of the kernel meets: kernel by blocks. */
static aot_tensor *window_indices(aot_tracer *t, const window *w, const aot_tensor *like)
{
    aot_dim zero = aot_dim_of(0);
    aot_tensor *blocks = dc_arange_step(t, zero, room_of(t, w), w->stride, AOT_I64, like);
    blocks = AOT(t, aten_unsqueeze, blocks, 0);
    aot_dim reach = dc_dim(t, '*', w->kernel, w->dilation);
    aot_tensor *kernel = dc_arange_step(t, zero, reach, w->dilation, AOT_I64, like);
    kernel = AOT(t, aten_unsqueeze, kernel, -1);
    return ADD(blocks, kernel);
}

static bool read_windows(const aot_expand *k, unsigned pos, const aot_dim *size, window *w)
{
    aot_dims kernel = aot_x_dims(k, pos), dilation = aot_x_dims(k, pos + 1);
    aot_dims padding = aot_x_dims(k, pos + 2), stride = aot_x_dims(k, pos + 3);
    if (kernel.n != 2 || dilation.n != 2 || padding.n != 2 || stride.n != 2) {
        return false;
    }
    for (unsigned i = 0; i < 2; i++) {
        w[i] = (window){size[i], kernel.d[i], dilation.d[i], padding.d[i], stride.d[i]};
    }
    return true;
}

static aot_tensor *permute_blocks(aot_tracer *t, aot_tensor *x)
{
    return AOT(t, aten_permute, x, aot_v_ints(t, 6, (int64_t[]){0, 1, 2, 4, 3, 5}));
}

/* F.pad of the last two dimensions by the windows' padding, or back. */
static aot_tensor *pad_image(aot_tracer *t, aot_tensor *x, const window *w, int64_t sign)
{
    aot_dim a = dc_times(t, w[1].padding, sign), b = dc_times(t, w[0].padding, sign);
    return AOT(t, aten_constant_pad_nd, x, ((aot_dims){(aot_dim[]){a, a, b, b}, 4}), 0.0);
}

bool decomp_im2col(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dim size[] = {aot_size(x, -2), aot_size(x, -1)};
    window w[2];
    bool batched = aot_ndim(x) == 4;
    if (!read_windows(k, 1, size, w)) {
        return false;
    }
    x = batched ? x : AOT(t, aten_unsqueeze, x, 0);
    aot_tensor *index[2];
    index[0] = window_indices(t, &w[0], x);
    index[1] = window_indices(t, &w[1], x);
    aot_tensor *wide = pad_image(t, x, w, 1);
    index[0] = AOT(t, aten_unsqueeze, index[0], -1);
    index[0] = AOT(t, aten_unsqueeze, index[0], -1);
    aot_dim blocks = dc_dim(t, '*', aot_size(index[0], 1), aot_size(index[1], 1));
    aot_tensor *r = AOT(t, aten_index_Tensor, wide, dc_indices(t, 2, 2, index));
    r = permute_blocks(t, r);
    aot_dim rows = dc_dim(t, '*', dc_dim(t, '*', aot_size(x, 1), w[0].kernel), w[1].kernel);
    r = AOT(t, aten_reshape, r, ((aot_dims){(aot_dim[]){aot_size(x, 0), rows, blocks}, 3}));
    return aot_x_give(k, batched ? r : AOT(t, aten_squeeze_dim, r, 0));
}

/* The gradient of im2col: each column is added where it came from. */
bool decomp_col2im(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims size = aot_x_dims(k, 1);
    window w[2];
    bool batched = aot_ndim(x) == 3;
    if (size.n != 2 || !read_windows(k, 2, size.d, w)) {
        return false;
    }
    x = batched ? x : AOT(t, aten_unsqueeze, x, 0);
    aot_dim batch = aot_size(x, 0);
    aot_dim channels = dc_dim(t, '/', aot_size(x, 1), dc_dim(t, '*', w[0].kernel, w[1].kernel));
    aot_dim split[] = {batch,       channels,           w[0].kernel,
                       w[1].kernel, n_blocks(t, &w[0]), n_blocks(t, &w[1])};
    aot_tensor *parts = AOT(t, aten_reshape, x, ((aot_dims){split, 6}));
    parts = permute_blocks(t, parts);
    aot_tensor *index[2];
    index[0] = dc_unsqueeze_to(t, window_indices(t, &w[0], parts), 4);
    index[1] = window_indices(t, &w[1], parts);
    aot_dim wide[] = {batch, channels, padded(t, &w[0]), padded(t, &w[1])};
    aot_tensor *r = dc_new_zeros(t, parts, (aot_dims){wide, 4});
    r = AOT(t, aten__unsafe_index_put, r, dc_indices(t, 2, 2, index), parts, true);
    r = pad_image(t, r, w, -1);
    return dc_give(k, batched ? r : AOT(t, aten_squeeze_dim, r, 0), result);
}
