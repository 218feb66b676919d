/* Conversions of dtype and device: x.to(...) in its spellings, x.float(), x.type(...), x.cpu().
 * Mirrors torch/csrc/autograd/python_variable_methods.cpp (THPVariable_to, dispatch_to). */
#include "lower/internal.h"

typedef struct conversion {
    aot_tensor *x;
    aot_str device;  /* 0: as it is */
    aot_dtype dtype; /* AOT_NO_DTYPE: as it is */
    aot_value non_blocking, copy, memory_format;
} conversion;

/* Which overload of aten::to is called depends on what is given. */
static aot_value convert(aot_tracer *t, const conversion *c)
{
    bool copy = c->copy.kind != AOT_V_NONE && c->copy.u.dim.value != 0;
    aot_value dtype = aot_v_dtype(c->dtype), device = aot_v_device(c->device);
    if (c->device == 0 && c->dtype == AOT_NO_DTYPE && !copy &&
        c->memory_format.kind == AOT_V_NONE) {
        return aot_v_tensor(c->x);
    }
    if (c->device == 0 && c->dtype != AOT_NO_DTYPE) {
        return AOT_V(t, aten_to_dtype, c->x, dtype, c->non_blocking, c->copy, c->memory_format);
    }
    if (c->device != 0 && c->dtype != AOT_NO_DTYPE) {
        return AOT_V(t, aten_to_device, c->x, device, dtype, c->non_blocking, c->copy,
                     c->memory_format);
    }
    dtype = aot_v_dtype(aot_dtype_of(c->x));
    device = c->device != 0 ? device : aot_v_device(aot_device_of(c->x));
    return AOT_V(t, aten_to_dtype_layout, c->x, dtype, aot_v_name(t, "torch.strided"), device,
                 AOT_NONE, c->non_blocking, c->copy, c->memory_format);
}

static aot_value flag(const aot_pycall *k, unsigned pos, const char *name)
{
    return aot_v_bool(aot_l_bool(k, pos, name, false));
}

static conversion conversion_of(const aot_pycall *k, unsigned first_flag)
{
    conversion c = {.x = aot_l_need_tensor(k, 0, "self"), .dtype = AOT_NO_DTYPE};
    const aot_value *format = aot_l_arg(k, UINT32_MAX, "memory_format");
    c.non_blocking = flag(k, first_flag, "non_blocking");
    c.copy = flag(k, first_flag + 1, "copy");
    c.memory_format = format != NULL ? *format : aot_v_none();
    return c;
}

/* x.to(device, dtype), x.to(dtype), x.to(other), all of these by name too. */
aot_value lower_method_to(const aot_pycall *k)
{
    aot_value first = k->n > 1 ? k->args[1] : aot_v_none();
    const aot_value *other =
        first.kind == AOT_V_TENSOR ? &k->args[1] : aot_l_arg(k, UINT32_MAX, "other");
    if (other != NULL && other->kind == AOT_V_TENSOR) {
        conversion c = conversion_of(k, 2);
        c.dtype = aot_dtype_of(other->u.t);
        c.device = aot_device_of(other->u.t);
        return convert(k->t, &c);
    }
    if (k->n > 1 && aot_l_dtype_of(k->t, first) != AOT_NO_DTYPE) {
        conversion c = conversion_of(k, 2);
        c.dtype = aot_l_dtype_of(k->t, first);
        return convert(k->t, &c);
    }
    conversion c = conversion_of(k, 3);
    if (aot_l_given(k, 1, "device")) {
        c.device = aot_l_device_of(k->t, *aot_l_arg(k, 1, "device"));
        if (c.device == 0) {
            aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "to: a %s is no device",
                           aot_l_kind_name(*aot_l_arg(k, 1, "device")));
        }
    }
    c.dtype = aot_l_dtype(k, 2, "dtype", AOT_NO_DTYPE);
    return convert(k->t, &c);
}

/* x.float() and its kind: the method's name is the type's. */
aot_value lower_method_to_type(const aot_pycall *k)
{
    static const struct {
        const char *name;
        aot_dtype dtype;
    } types[] = {
        {"bfloat16", AOT_BF16}, {"bool", AOT_B8},     {"byte", AOT_U8},    {"cdouble", AOT_C128},
        {"cfloat", AOT_C64},    {"chalf", AOT_C32},   {"char", AOT_I8},    {"double", AOT_F64},
        {"float", AOT_F32},     {"half", AOT_F16},    {"int", AOT_I32},    {"long", AOT_I64},
        {"short", AOT_I16},
    };
    conversion c = {.x = aot_l_need_tensor(k, 0, "self"), .dtype = AOT_NO_DTYPE};
    const aot_value *format = aot_l_arg(k, 1, "memory_format");
    c.memory_format = format != NULL ? *format : aot_v_none();
    c.non_blocking = c.copy = aot_v_bool(false);
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, k->target) == 0) {
            c.dtype = types[i].dtype;
        }
    }
    return convert(k->t, &c);
}

/* x.cpu(), x.cuda(index) */
aot_value lower_method_to_device(const aot_pycall *k)
{
    bool cuda = strcmp(k->target, "cuda") == 0;
    const aot_value *format = aot_l_arg(k, UINT32_MAX, "memory_format");
    conversion c = {.x = aot_l_need_tensor(k, 0, "self"), .dtype = AOT_NO_DTYPE};
    c.non_blocking = cuda ? flag(k, 2, "non_blocking") : aot_v_bool(false);
    c.copy = aot_v_bool(false);
    c.memory_format = format != NULL ? *format : aot_v_none();
    c.device = aot_intern_z(aot_tracer_ctx(k->t)->strs, cuda ? "cuda:0" : "cpu");
    if (cuda && aot_l_given(k, 1, "device")) {
        c.device = aot_l_device_of(k->t, *aot_l_arg(k, 1, "device"));
    }
    return convert(k->t, &c);
}

/* x.type(dtype) or x.type("torch.cuda.FloatTensor") */
aot_value lower_method_type(const aot_pycall *k)
{
    static const struct {
        const char *name;
        aot_dtype dtype;
    } types[] = {
        {"FloatTensor", AOT_F32}, {"DoubleTensor", AOT_F64}, {"HalfTensor", AOT_F16},
        {"BFloat16Tensor", AOT_BF16}, {"LongTensor", AOT_I64}, {"IntTensor", AOT_I32},
        {"ShortTensor", AOT_I16}, {"CharTensor", AOT_I8}, {"ByteTensor", AOT_U8},
        {"BoolTensor", AOT_B8},
    };
    conversion c = {.x = aot_l_need_tensor(k, 0, "self"), .dtype = AOT_NO_DTYPE};
    const aot_value *v = aot_l_arg(k, 1, "dtype");
    aot_ctx *ctx = aot_tracer_ctx(k->t);
    c.non_blocking = flag(k, 2, "non_blocking");
    c.copy = aot_v_bool(false);
    c.memory_format = aot_v_none();
    if (v == NULL || v->kind == AOT_V_NONE) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "type: the name of a type is no value of a graph");
    }
    c.dtype = aot_l_dtype_of(k->t, *v);
    if (c.dtype == AOT_NO_DTYPE && (v->kind == AOT_V_STR || v->kind == AOT_V_NAME)) {
        const char *name = aot_text(ctx, v->u.s), *dot = strrchr(name, '.');
        for (unsigned i = 0; dot != NULL && i < sizeof types / sizeof *types; i++) {
            if (strcmp(types[i].name, dot + 1) == 0) {
                c.dtype = types[i].dtype;
            }
        }
        c.device = aot_intern_z(ctx->strs, strstr(name, ".cuda.") != NULL ? "cuda:0" : "cpu");
    }
    if (c.dtype == AOT_NO_DTYPE) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "type: a %s names no type", aot_l_kind_name(*v));
    }
    return convert(k->t, &c);
}

/* x.contiguous(): PyTorch asks before it dispatches. */
aot_value lower_method_contiguous(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "self");
    const aot_value *format = aot_l_arg(k, 1, "memory_format");
    return AOT_V(k->t, aten_contiguous, x, format != NULL ? *format : AOT_NONE);
}
