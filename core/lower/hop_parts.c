/* What the rules of higher-order operators share.
 * Mirrors torch/_higher_order_ops/utils.py:create_bw_fn */
#include "lower/hop.h"

#include <string.h>

#include "trace/tracer.h"

const aot_graph *hop_graph(const aot_pycall *k, unsigned pos, const char *name)
{
    const aot_value *v = aot_l_arg(k, pos, name);
    if (v == NULL || v->kind != AOT_V_GRAPH || v->u.graph == NULL) {
        aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s: argument %u is not a graph of the module",
                       k->target, pos);
    }
    return v->u.graph;
}

aot_value hop_run(aot_tracer *t, void *graph, unsigned n, const aot_value *inputs)
{
    return aot_interpret(t, graph, n, inputs);
}

aot_value hop_items(aot_tracer *t, aot_value v)
{
    return aot_v_is_list(v) ? v : aot_v_tuple(t, 1, &v);
}

aot_value hop_concat(aot_tracer *t, aot_value a, aot_value b)
{
    aot_value *d = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, a.n + b.n + 1);
    if (a.n != 0) {
        memcpy(d, a.u.items, a.n * sizeof *d);
    }
    if (b.n != 0) {
        memcpy(d + a.n, b.u.items, b.n * sizeof *d);
    }
    return aot_v_tuple(t, a.n + b.n, d);
}

static bool shares_storage(const aot_tensor *x, unsigned n, const aot_value *inputs)
{
    for (unsigned i = 0; i < n; i++) {
        if (inputs[i].kind == AOT_V_TENSOR &&
            aot_trace_storage(inputs[i].u.t) == aot_trace_storage(x)) {
            return true;
        }
    }
    return false;
}

aot_value hop_run_joint(aot_tracer *t, void *joint, unsigned n, const aot_value *inputs)
{
    const hop_joint *j = joint;
    aot_arena *a = aot_tracer_arena(t);
    unsigned n_in = j->n_inputs, n_out = 0, n_wanted = 0;
    aot_value out = hop_items(t, j->fn(t, j->arg, n_in, inputs));
    if (j->out != NULL) {
        *j->out = out;
    }
    aot_tensor **outs = AOT_NEW_ARRAY(a, aot_tensor *, out.n + 1);
    aot_tensor **tangents = AOT_NEW_ARRAY(a, aot_tensor *, out.n + 1);
    for (unsigned i = 0; i < out.n && n_in + i < n; i++) {
        aot_tensor *x = aot_v_item(out, i);
        if (aot_requires_grad(x) && inputs[n_in + i].kind == AOT_V_TENSOR) {
            outs[n_out] = x;
            tangents[n_out++] = inputs[n_in + i].u.t;
        }
    }
    aot_tensor **wanted = AOT_NEW_ARRAY(a, aot_tensor *, n_in + 1);
    aot_tensor **grads = AOT_NEW_ARRAY(a, aot_tensor *, n_in + 1);
    for (unsigned i = 0; i < n_in; i++) {
        if (inputs[i].kind == AOT_V_TENSOR && aot_requires_grad(inputs[i].u.t)) {
            wanted[n_wanted++] = inputs[i].u.t;
        }
    }
    aot_trace_backward(t, n_out, outs, tangents, n_wanted, wanted, grads);
    aot_tensor **result = AOT_NEW_ARRAY(a, aot_tensor *, n_in + 1);
    unsigned n_result = 0, next = 0;
    for (unsigned i = 0; i < n_in; i++) {
        if (inputs[i].kind != AOT_V_TENSOR) {
            continue;
        }
        aot_tensor *g = aot_requires_grad(inputs[i].u.t) ? grads[next++] : NULL;
        if (g == NULL && j->out == NULL) { // a call from Python: it says that memory is not pinned
            g = AOT(t, aten_zeros_like, inputs[i], AOT_NONE, AOT_NONE, AOT_NONE, false);
        }
        result[n_result++] = g;
    }
    for (unsigned i = 0; i < n_result; i++) {
        if (result[i] != NULL && shares_storage(result[i], n, inputs)) {
            result[i] = AOT(t, aten_clone, result[i]);
        }
    }
    return aot_v_tensors(t, n_result, result);
}

void hop_set_gradients(aot_vjp *b, aot_value operands, aot_value gradients)
{
    for (unsigned i = 0, next = 0; i < operands.n; i++) {
        bool tensor = operands.u.items[i].kind == AOT_V_TENSOR;
        if (tensor && aot_vjp_needs(b, i)) {
            aot_vjp_set(b, i, aot_v_item(gradients, next));
        }
        next += tensor;
    }
}
