/* Types of activation functions that are more than element-wise.
 * Mirrors: aten/src/ATen/native/GatedLinearUnit.cpp, torch/_decomp/decompositions.py:glu_backward,
 * log_sigmoid_forward, _prelu_kernel_backward, aten/src/ATen/native/Activation.cpp. */
#include <string.h>

#include "rules/meta_shape.h"

/* glu(self, dim): the product of one half and the sigmoid of the other. */
aot_status meta_glu(aot_call *k)
{
    aot_fake half[2];
    unsigned d;

    AOT_TRY(aot_call_need(k, 0, "self", &half[0]));
    AOT_TRY(aot_meta_need_dim(k, &half[0], 1, "dim", -1, &d));
    if (half[0].ndim == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "glu does not support 0-dimensional tensors");
    }
    if (half[0].size[d].value != AOT_HINT_NONE && half[0].size[d].value % 2 != 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "Halving dimension must be even, but dimension %u is "
                        "size %lld", d, (long long)half[0].size[d].value);
    }
    half[0].size[d] = aot_dim_floordiv(k->c, half[0].size[d], aot_dim_of(2));
    half[1] = half[0];
    return aot_push_elementwise(k, half, 2, (aot_dtype)half[0].dtype);
}

/* glu_backward(grad_output, self, dim): two halves, joined. */
aot_status meta_glu_backward(aot_call *k)
{
    aot_fake t;

    AOT_TRY(aot_call_need(k, 1, "self", &t));
    aot_push_contiguous(k, &t, (aot_dtype)t.dtype);
    return AOT_OK;
}

/* The exponential is kept on CPU only. */
aot_status meta_log_sigmoid_forward(aot_call *k)
{
    aot_fake t;

    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_push_elementwise(k, &t, 1, (aot_dtype)t.dtype));
    if (strncmp(aot_text(k->c, t.device), "cuda", 4) == 0) {
        aot_push_vector(k, &t, (aot_dtype)t.dtype, aot_dim_of(0));
        return AOT_OK;
    }
    return aot_push_elementwise(k, &t, 1, (aot_dtype)t.dtype);
}

/* log_sigmoid_backward(grad_output, self, buffer) */
aot_status meta_log_sigmoid_backward(aot_call *k)
{
    aot_fake in[2];

    AOT_TRY(aot_call_need(k, 0, "grad_output", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "self", &in[1]));
    return aot_push_elementwise(k, in, 2, (aot_dtype)in[1].dtype);
}

/* _prelu_kernel_backward(grad_output, self, weight): of self, and of the weight before its sum. */
aot_status meta_prelu_kernel_backward(aot_call *k)
{
    aot_fake in[3];

    AOT_TRY(aot_call_need(k, 1, "self", &in[0]));
    AOT_TRY(aot_call_need(k, 0, "grad_output", &in[1]));
    AOT_TRY(aot_call_need(k, 2, "weight", &in[2]));
    AOT_TRY(aot_push_elementwise(k, in, 3, (aot_dtype)in[0].dtype));
    return aot_push_elementwise(k, in, 2, (aot_dtype)in[0].dtype);
}

/* rrelu_with_noise_functional(self, noise, ...): the values, and the noise that was drawn. */
aot_status meta_rrelu_with_noise_functional(aot_call *k)
{
    aot_fake t, noise;

    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_call_need(k, 1, "noise", &noise));
    AOT_TRY(aot_push_elementwise(k, &t, 1, (aot_dtype)t.dtype));
    aot_call_push(k, &noise);
    return AOT_OK;
}

/* rrelu_with_noise_backward(grad_output, self, noise, ...) */
aot_status meta_rrelu_with_noise_backward(aot_call *k)
{
    aot_fake in[3];

    AOT_TRY(aot_call_need(k, 0, "grad_output", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "self", &in[1]));
    AOT_TRY(aot_call_need(k, 2, "noise", &in[2]));
    return aot_push_elementwise(k, in, 3, (aot_dtype)in[0].dtype);
}
