/* torch.func as Dynamo writes it: levels of vmap and grad entered and left, tensors put into them.
 * Mirrors torch/_functorch/predispatch.py, eager_transforms.py, vmap.py. */
#include "lower/internal.h"
#include "trace/tracer.h"

static unsigned level_arg(const aot_pycall *k, unsigned pos)
{
    return (unsigned)aot_l_dim(k, pos, "level", 1).value;
}

/* _add_batch_dim(x, dim, level) */
aot_value lower_add_batch_dim(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "self");
    return aot_v_tensor(aot_functorch_batch(k->t, x, aot_l_dim(k, 1, "batch_dim", 0).value, level_arg(k, 2)));
}

/* _remove_batch_dim(x, level, batch_size, out_dim) */
aot_value lower_remove_batch_dim(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "self");
    return aot_v_tensor(aot_functorch_unbatch(k->t, x, aot_l_dim(k, 2, "batch_size", 1),
                                              aot_l_dim(k, 3, "out_dim", 0).value, level_arg(k, 1)));
}

/* _grad_increment_nesting(): within the level gradients are recorded, whatever the mode outside */
aot_value lower_grad_enter(const aot_pycall *k)
{
    aot_l_levels *l = aot_l_levels_of(k->t);
    if (l->n >= sizeof l->grad / sizeof *l->grad) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "more than %u levels of torch.func.grad", l->n);
    }
    l->grad[l->n++] = aot_set_grad_enabled(k->t, true);
    return aot_v_int(l->n);
}

aot_value lower_grad_leave(const aot_pycall *k)
{
    aot_l_levels *l = aot_l_levels_of(k->t);
    if (l->n > 0) {
        aot_set_grad_enabled(k->t, l->grad[--l->n]);
    }
    return aot_v_none();
}

/* _wrap_for_grad(x, level) */
aot_value lower_wrap_for_grad(const aot_pycall *k)
{
    return aot_v_tensor(aot_functorch_wrap(k->t, aot_l_need_tensor(k, 0, "self"), level_arg(k, 1)));
}

/* _unwrap_for_grad(x, level) */
aot_value lower_unwrap_for_grad(const aot_pycall *k)
{
    return aot_v_tensor(aot_functorch_unwrap(aot_l_need_tensor(k, 0, "self"), level_arg(k, 1)));
}

aot_value lower_set_requires_grad(const aot_pycall *k)
{
    aot_tensor *x = aot_l_need_tensor(k, 0, "x");
    aot_functorch_require_grad(x);
    return aot_v_tensor(x);
}

static unsigned tensors_of(const aot_pycall *k, unsigned pos, const char *name, aot_tensor ***out)
{
    const aot_value *v = aot_l_arg(k, pos, name);
    unsigned n = v == NULL ? 0 : aot_v_is_list(*v) ? v->n : 1;
    *out = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_tensor *, n + 1);
    for (unsigned i = 0; i < n; i++) {
        aot_value item = aot_v_is_list(*v) ? v->u.items[i] : *v;
        (*out)[i] = item.kind == AOT_V_TENSOR ? item.u.t : NULL;
    }
    return n;
}

/* _autograd_grad(outputs, inputs, grad_outputs, retain_graph, create_graph): ones where no gradient of
 * an output is given, zeros where an input is not used */
aot_value lower_autograd_grad(const aot_pycall *k)
{
    aot_tensor **outs, **ins, **tangents, **grads;
    unsigned n_out = tensors_of(k, 0, "outputs", &outs), n_in = tensors_of(k, 1, "inputs", &ins);
    unsigned n_given = tensors_of(k, 2, "grad_outputs", &tangents);
    aot_value keep = aot_v_memory_format(k->t, AOT_MF_PRESERVE);
    if (n_given < n_out) {
        aot_tensor **all = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_tensor *, n_out + 1);
        memcpy(all, tangents, n_given * sizeof *all);
        tangents = all;
    }
    for (unsigned i = 0; i < n_out; i++) {
        if (tangents[i] == NULL) {
            tangents[i] = AOT(k->t, aten_ones_like, outs[i], AOT_NONE, AOT_NONE, AOT_NONE, false, keep);
        }
    }
    grads = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_tensor *, n_in + 1);
    aot_trace_backward(k->t, n_out, outs, tangents, n_in, ins, grads);
    for (unsigned i = 0; i < n_in; i++) {
        if (grads[i] == NULL) {
            grads[i] = AOT(k->t, aten_zeros_like, ins[i], AOT_NONE, AOT_NONE, AOT_NONE, false);
        }
    }
    return aot_v_tensors(k->t, n_in, grads);
}
