/* What torch.func's transforms leave in a Dynamo graph: layers that are entered and left, tensors
 * that are wrapped for them, gradients within.
 * Mirrors torch/_functorch/predispatch.py, torch/_functorch/eager_transforms.py,
 * torch/csrc/functorch/init.cpp. */
#include "lower/internal.h"
#include "trace/layer.h"

/* _vmap_increment_nesting(batch_size, randomness) */
aot_value lower_vmap_enter(const aot_pycall *k)
{
    bool same = aot_l_str_is(k, 1, "randomness", "error", "same");
    bool different = aot_l_str_is(k, 1, "randomness", "error", "different");
    return aot_v_int(aot_layer_push(k->t, AOT_LAYER_VMAP, aot_l_dim(k, 0, "batch_size", 0),
                                    same        ? AOT_RANDOM_SAME
                                    : different ? AOT_RANDOM_DIFFERENT
                                                : AOT_RANDOM_ERROR));
}

aot_value lower_vmap_leave(const aot_pycall *k)
{
    aot_layer_pop(k->t, AOT_LAYER_VMAP);
    return aot_v_none();
}

/* _add_batch_dim(x, batch_dim, level) */
aot_value lower_add_batch_dim(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "self");
    unsigned dim = aot_wrap_dim(k->t, aot_l_dim(k, 1, "batch_dim", 0).value, aot_ndim(x));
    return aot_v_tensor(
        aot_layer_add_batch(k->t, x, dim, (unsigned)aot_l_dim(k, 2, "level", 0).value));
}

/* _remove_batch_dim(x, level, batch_size, out_dim) */
aot_value lower_remove_batch_dim(const aot_pycall *k)
{
    return aot_v_tensor(aot_layer_remove_batch(
        k->t, aot_l_need_tensor(k, 0, "self"), (unsigned)aot_l_dim(k, 1, "level", 0).value,
        aot_l_dim(k, 2, "batch_size", 0), aot_l_dim(k, 3, "out_dim", 0).value));
}

aot_value lower_grad_enter(const aot_pycall *k)
{
    return aot_v_int(aot_layer_push(k->t, AOT_LAYER_GRAD, aot_dim_of(0), AOT_RANDOM_SAME));
}

aot_value lower_grad_leave(const aot_pycall *k)
{
    aot_layer_pop(k->t, AOT_LAYER_GRAD);
    return aot_v_none();
}

/* _wrap_for_grad(x, level), _unwrap_for_grad(x, level) */
aot_value lower_wrap_for_grad(const aot_pycall *k)
{
    return aot_v_tensor(aot_layer_wrap_grad(k->t, aot_l_need_tensor(k, 0, "self"),
                                            (unsigned)aot_l_dim(k, 1, "level", 0).value));
}

aot_value lower_unwrap_for_grad(const aot_pycall *k)
{
    return aot_v_tensor(aot_layer_unwrap_grad(k->t, aot_l_need_tensor(k, 0, "self"),
                                              (unsigned)aot_l_dim(k, 1, "level", 0).value));
}

/* _set_tensor_requires_grad(x) */
aot_value lower_set_requires_grad(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "x");
    aot_layer_require_grad(k->t, x);
    return aot_v_tensor(x);
}

static aot_value items_of(const aot_pycall *k, unsigned pos, const char *name)
{
    const aot_value *v = aot_l_arg(k, pos, name);
    aot_value none = aot_v_tuple(k->t, 0, NULL);
    return v == NULL || v->kind == AOT_V_NONE ? none
           : aot_v_is_list(*v)                ? *v
                                              : aot_v_tuple(k->t, 1, v);
}

/* _autograd_grad(outputs, inputs, grad_outputs=None, retain_graph=False, create_graph=True): zeros
 * for what is not used */
aot_value lower_autograd_grad(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_arena *a = aot_tracer_arena(t);
    aot_value outs = items_of(k, 0, "outputs"), ins = items_of(k, 1, "inputs");
    aot_value given = items_of(k, 2, "grad_outputs");
    aot_tensor **out = AOT_NEW_ARRAY(a, aot_tensor *, outs.n + 1);
    aot_tensor **tangent = AOT_NEW_ARRAY(a, aot_tensor *, outs.n + 1);
    aot_tensor **in = AOT_NEW_ARRAY(a, aot_tensor *, ins.n + 1);
    aot_tensor **grad = AOT_NEW_ARRAY(a, aot_tensor *, ins.n + 1);
    bool none_given = !aot_l_given(k, 2, "grad_outputs");
    unsigned n = 0;
    for (unsigned i = 0; i < outs.n; i++) {
        if (aot_requires_grad(aot_v_item(outs, i))) {
            tangent[n] = aot_v_item(given, i);
            out[n++] = aot_v_item(outs, i);
        }
    }
    for (unsigned i = 0; i < n && none_given; i++) {
        tangent[i] = AOT(t, aten_ones_like, out[i], AOT_NONE, AOT_NONE, AOT_NONE, false,
                         aot_v_memory_format(t, AOT_MF_PRESERVE));
    }
    for (unsigned i = 0; i < ins.n; i++) {
        in[i] = aot_v_item(ins, i);
        grad[i] = NULL;
    }
    if (n != 0) {
        aot_trace_grad(t, n, out, tangent, ins.n, in, aot_l_bool(k, 4, "create_graph", true), grad);
    }
    for (unsigned i = 0; i < ins.n; i++) {
        if (grad[i] == NULL) {
            grad[i] = AOT(t, aten_zeros_like, in[i], AOT_NONE, AOT_NONE, AOT_NONE, false);
        }
    }
    aot_value r = aot_v_tensors(t, ins.n, grad);
    r.kind = AOT_V_TUPLE;
    return r;
}
