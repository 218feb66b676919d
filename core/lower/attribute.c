/* Attributes and questions: x.shape, x.T, x.size(0), x.dim(). */
#include "lower/internal.h"

static aot_value tuple_of_dims(aot_tracer *t, aot_dims d)
{
    aot_value *v = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, d.n + 1);
    for (unsigned i = 0; i < d.n; i++) {
        v[i] = aot_v_dim(d.d[i]);
    }
    return aot_v_tuple(t, d.n, v);
}

static int64_t item_bytes(const aot_tensor *x)
{
    return aot_dtype_get(aot_dtype_of(x))->bytes;
}

static bool device_is(aot_tracer *t, const aot_tensor *x, const char *type)
{
    return aot_starts_with(aot_text(aot_tracer_ctx(t), aot_device_of(x)), type);
}

/* Facts that make no node. */
static bool fact(aot_tracer *t, aot_tensor *x, const char *name, aot_value *v)
{
    static const char *const always_false[] = {"is_mkldnn", "is_quantized", "is_sparse",
                                               "is_sparse_csr", "is_nested", "is_meta", "is_mps",
                                               "is_xla", "is_xpu"};
    for (size_t i = 0; i < sizeof always_false / sizeof *always_false; i++) {
        if (strcmp(always_false[i], name) == 0) {
            *v = aot_v_bool(false);
            return true;
        }
    }
    if (strcmp(name, "shape") == 0) {
        *v = tuple_of_dims(t, aot_sizes(x));
    } else if (strcmp(name, "dtype") == 0) {
        *v = aot_v_dtype(aot_dtype_of(x));
    } else if (strcmp(name, "device") == 0) {
        *v = aot_v_device(aot_device_of(x));
    } else if (strcmp(name, "ndim") == 0) {
        *v = aot_v_int(aot_ndim(x));
    } else if (strcmp(name, "requires_grad") == 0) {
        *v = aot_v_bool(aot_requires_grad(x));
    } else if (strcmp(name, "layout") == 0) {
        *v = aot_v_name(t, "torch.strided");
    } else if (strcmp(name, "itemsize") == 0) {
        *v = aot_v_int(item_bytes(x));
    } else if (strcmp(name, "nbytes") == 0) {
        *v = aot_v_dim(aot_trace_dim(t, '*', aot_numel(t, x), aot_dim_of(item_bytes(x))));
    } else if (strcmp(name, "is_cuda") == 0) {
        *v = aot_v_bool(device_is(t, x, "cuda"));
    } else if (strcmp(name, "is_cpu") == 0) {
        *v = aot_v_bool(device_is(t, x, "cpu"));
    } else if (strcmp(name, "grad") == 0 || strcmp(name, "grad_fn") == 0) {
        *v = aot_v_none();
    } else {
        return false;
    }
    return true;
}

aot_value aot_l_attribute(aot_tracer *t, aot_value of, const char *name)
{
    static const struct {
        const char *name;
        aot_op_id op;
    } ops[] = {
        {"H", AOT_OP_aten_matrix_H}, {"T", AOT_OP_aten_numpy_T}, {"imag", AOT_OP_aten_imag},
        {"data", AOT_OP_aten_detach}, {"mH", AOT_OP_aten_mH},    {"mT", AOT_OP_aten_mT},
        {"real", AOT_OP_aten_real},
    };
    aot_value v;
    if (of.kind == AOT_V_TENSOR && fact(t, of.u.t, name, &v)) {
        return v;
    }
    for (size_t i = 0; of.kind == AOT_V_TENSOR && i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ops[i].name, name) == 0) {
            return aot_call_op(t, ops[i].op, 1, &of);
        }
    }
    /* torch.return_types.max and its kind */
    if (aot_v_is_list(of) && of.n == 2 && strcmp(name, "values") == 0) {
        return of.u.items[0];
    }
    if (aot_v_is_list(of) && of.n == 2 && strcmp(name, "indices") == 0) {
        return of.u.items[1];
    }
    if (of.kind == AOT_V_COMPLEX || of.kind == AOT_V_FLOAT) {
        if (strcmp(name, "real") == 0) {
            return aot_v_float(of.kind == AOT_V_FLOAT ? of.u.f : of.u.z[0]);
        }
        if (strcmp(name, "imag") == 0) {
            return aot_v_float(of.kind == AOT_V_FLOAT ? 0 : of.u.z[1]);
        }
    }
    if (of.kind == AOT_V_DEVICE && strcmp(name, "type") == 0) {
        const char *s = aot_text(aot_tracer_ctx(t), of.u.s);
        return (aot_value){.kind = AOT_V_STR,
                           .u.s = aot_intern(aot_tracer_ctx(t)->strs, s, strcspn(s, ":"))};
    }
    aot_trace_fail(t, AOT_E_UNSUPPORTED, "attribute .%s of a %s is not known", name,
                   aot_l_kind_name(of));
}

/* getattr(x, 'T'), as the parser gives x.T */
aot_value lower_getattr(const aot_pycall *k)
{
    if (k->n < 2 || k->args[1].kind != AOT_V_STR) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "getattr without a name");
    }
    return aot_l_attribute(k->t, k->args[0], aot_text(aot_tracer_ctx(k->t), k->args[1].u.s));
}

/* x.size() and x.size(0); x.stride() and x.stride(0) */
aot_value lower_method_size(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "self");
    aot_dims d = strcmp(k->target, "stride") == 0 ? aot_strides(x) : aot_sizes(x);
    if (!aot_l_given(k, 1, "dim")) {
        return tuple_of_dims(k->t, d);
    }
    return aot_v_dim(d.d[aot_wrap_dim(k->t, aot_l_dim(k, 1, "dim", 0).value, d.n)]);
}

/* Questions whose answer is a number. */
aot_value lower_method_fact(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "self");
    const char *name = strrchr(k->target, '.') != NULL ? strrchr(k->target, '.') + 1 : k->target;
    char kind = aot_dtype_get(aot_dtype_of(x))->kind;
    if (strcmp(name, "dim") == 0 || strcmp(name, "ndimension") == 0) {
        return aot_v_int(aot_ndim(x));
    }
    if (strcmp(name, "numel") == 0 || strcmp(name, "nelement") == 0 ||
        strcmp(name, "sym_numel") == 0) {
        return aot_v_dim(aot_numel(k->t, x));
    }
    if (strcmp(name, "__len__") == 0) {
        return aot_v_dim(aot_size(x, 0));
    }
    if (strcmp(name, "element_size") == 0) {
        return aot_v_int(item_bytes(x));
    }
    if (strcmp(name, "is_floating_point") == 0) {
        return aot_v_bool(kind == 'f');
    }
    if (strcmp(name, "is_complex") == 0) {
        return aot_v_bool(kind == 'c');
    }
    if (strcmp(name, "is_signed") == 0) {
        return aot_v_bool(kind != 'u' && kind != 'b');
    }
    if (strcmp(name, "get_device") == 0) {
        const char *s = aot_text(aot_tracer_ctx(k->t), aot_device_of(x)), *colon = strchr(s, ':');
        return aot_v_int(colon != NULL ? colon[1] - '0' : -1);
    }
    return aot_v_bool(aot_is_contiguous(x)); /* is_contiguous() */
}

/* torch._C._autograd._get_data_attr(x): x.data */
aot_value lower_get_data(const aot_pycall *k)
{
    return AOT_V(k->t, aten_detach, aot_l_need_tensor(k, 0, "x"));
}
