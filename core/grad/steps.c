#include "grad/steps.h"

aot_tensor *aot_grad_narrow(aot_tracer *t, aot_tensor *x, int64_t dim, aot_dim start,
                            aot_dim length)
{
    return AOT(t, aten_slice_Tensor, x, dim, start, aot_trace_dim(t, '+', start, length), 1);
}

aot_tensor *aot_grad_zeros_of(aot_tracer *t, const aot_tensor *like)
{
    return AOT(t, aten_zeros, aot_sizes(like), aot_v_dtype(aot_dtype_of(like)),
               aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(like)));
}

aot_tensor *aot_grad_new_zeros(aot_tracer *t, aot_tensor *grad, const aot_tensor *like)
{
    return AOT(t, aten_new_zeros, grad, aot_sizes(like), aot_v_dtype(aot_dtype_of(like)),
               aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(like)));
}

static aot_tensor *number_like(aot_tracer *t, const aot_tensor *x, double v)
{
    aot_value number = v == (double)(int64_t)v ? aot_v_int((int64_t)v) : aot_v_float(v);

    return AOT(t, aten_scalar_tensor, number, aot_v_dtype(aot_dtype_of(x)),
               aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(x)));
}

aot_tensor *aot_grad_where_number(aot_tracer *t, aot_tensor *condition, aot_tensor *x, double other)
{
    aot_tensor *number = number_like(t, x, other);

    return AOT(t, aten_where_self, condition, x, number);
}

aot_tensor *aot_grad_number_where(aot_tracer *t, aot_tensor *condition, double self, aot_tensor *x)
{
    aot_tensor *number = number_like(t, x, self);

    return AOT(t, aten_where_self, condition, number, x);
}

aot_tensor *aot_grad_to_dtype(aot_tracer *t, aot_tensor *x, aot_dtype dtype)
{
    if (aot_dtype_of(x) == dtype) {
        return x;
    }
    return AOT(t, aten__to_copy, x, aot_v_dtype(dtype));
}
