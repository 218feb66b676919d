/* Tensors made from Python values: torch.tensor, x.new_tensor.
 * Mirrors torch/csrc/utils/tensor_new.cpp (internal_new_from_data, infer_scalar_type) as make_fx
 * shows it: a constant of the graph and its lift_fresh_copy. */
#include "lower/internal.h"
#include "trace/tracer.h"

enum { MAX_DATA_NEST = AOT_FAKE_MAX_NDIM };

static aot_dtype wider(aot_dtype a, aot_dtype b)
{
    return a == AOT_NO_DTYPE ? b : aot_promote_types(a, b);
}

aot_dtype aot_l_data_dtype(aot_tracer *t, aot_value v)
{
    aot_dtype d = AOT_NO_DTYPE;
    switch ((aot_value_kind)v.kind) {
    case AOT_V_INT:
        return AOT_I64;
    case AOT_V_FLOAT:
        return AOT_F32;
    case AOT_V_BOOL:
        return AOT_B8;
    case AOT_V_COMPLEX:
        return AOT_C64;
    case AOT_V_TENSOR:
        return aot_dtype_of(v.u.t);
    case AOT_V_LIST:
    case AOT_V_TUPLE:
        for (unsigned i = 0; i < v.n; i++) {
            d = wider(d, aot_l_data_dtype(t, v.u.items[i]));
        }
        return d == AOT_NO_DTYPE ? AOT_F32 : d;
    default:
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "a tensor made of a %s", aot_l_kind_name(v));
    }
}

/* The numbers of nested lists, one after the other; complex ones as two. */
static void add_numbers(aot_sb *b, aot_value v, aot_dtype d)
{
    bool pairs = aot_dtype_get(d)->kind == 'c';
    for (unsigned i = 0; aot_v_is_list(v) && i < v.n; i++) {
        add_numbers(b, v.u.items[i], d);
    }
    if (v.kind == AOT_V_COMPLEX) {
        aot_sb_addf(b, "%.17g %.17g ", v.u.z[0], v.u.z[1]);
    } else if (v.kind == AOT_V_FLOAT) {
        aot_sb_addf(b, pairs ? "%.17g 0 " : "%.17g ", v.u.f);
    } else if (v.kind == AOT_V_INT || v.kind == AOT_V_BOOL) {
        aot_sb_addf(b, pairs ? "%lld 0 " : "%lld ", (long long)v.u.dim.value);
    }
}

static aot_tensor *known_constant(aot_tracer *t, const aot_fake *type, aot_value data)
{
    aot_tensor *x = aot_tracer_constant(t, type);
    aot_sb b = {0};
    add_numbers(&b, data, (aot_dtype)type->dtype);
    aot_tracer_constant_is(t, aot_sb_text(&b));
    aot_sb_free(&b);
    return x;
}

aot_tensor *aot_l_constant(aot_tracer *t, aot_value data, aot_dtype dtype, aot_str device)
{
    aot_dim size[MAX_DATA_NEST];
    unsigned n = 0;
    for (aot_value v = data; aot_v_is_list(v) && n < MAX_DATA_NEST; v = v.u.items[0]) {
        size[n++] = aot_dim_of(v.n);
        if (v.n == 0) {
            break;
        }
    }
    aot_fake type = aot_fake_new(dtype, n, size, device);
    aot_fake_set_contiguous(aot_tracer_ctx(t), &type);
    return AOT(t, aten_lift_fresh_copy, known_constant(t, &type, data));
}

static aot_str device_arg(const aot_pycall *k, aot_str def)
{
    const aot_value *v = aot_l_arg(k, UINT32_MAX, "device");
    return v != NULL && v->kind != AOT_V_NONE ? aot_l_device_of(k->t, *v) : def;
}

/* torch.tensor(data, dtype, device); on another device than the CPU, moved there. */
aot_value lower_tensor(const aot_pycall *k)
{
    aot_str cpu = aot_intern_z(aot_tracer_ctx(k->t)->strs, "cpu");
    const aot_value *data = aot_l_arg(k, 0, "data");
    if (data == NULL) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s without data", k->target);
    }
    aot_dtype dtype = aot_l_dtype(k, 1, "dtype", AOT_NO_DTYPE);
    if (data->kind == AOT_V_TENSOR) { /* torch.tensor(x) copies; as_tensor does not */
        aot_tensor *x = data->u.t;
        if (aot_ends_with(k->target, "as_tensor")) {
            return AOT_V(k->t, aten_to_dtype_layout, x,
                         aot_v_dtype(dtype == AOT_NO_DTYPE ? aot_dtype_of(x) : dtype),
                         aot_v_name(k->t, "torch.strided"),
                         aot_v_device(device_arg(k, aot_device_of(x))));
        }
        x = AOT(k->t, aten_clone, x);
        return AOT_V(k->t, aten_detach, x);
    }
    dtype = dtype == AOT_NO_DTYPE ? aot_l_data_dtype(k->t, *data) : dtype;
    aot_tensor *x = aot_l_constant(k->t, *data, dtype, cpu);
    aot_str device = device_arg(k, cpu);
    return device == cpu ? aot_v_tensor(x)
                         : AOT_V(k->t, aten_to_device, x, aot_v_device(device), aot_v_dtype(dtype));
}

/* x.new_tensor(data): x's dtype and device */
aot_value lower_method_new_tensor(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "self");
    const aot_value *data = aot_l_arg(k, 1, "data");
    if (data == NULL) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "new_tensor without data");
    }
    aot_dtype dtype = aot_l_dtype(k, 2, "dtype", aot_dtype_of(x));
    return aot_v_tensor(aot_l_constant(k->t, *data, dtype, device_arg(k, aot_device_of(x))));
}
