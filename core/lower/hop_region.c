/* Higher-order operators that run their graph in place: wrapped regions, checkpointed ones, and
 * those of torch.autograd.Function.
 *
 * Mirrors: torch/_higher_order_ops/wrap.py,
 * torch/_functorch/autograd_function.py:AutogradFunctionApply */
#include "lower/hop.h"

#include "lower/internal.h"
#include "trace/autocast.h"
#include "trace/tracer.h"

static aot_value run_rest(const aot_pycall *k, unsigned body)
{
    return aot_interpret(k->t, hop_graph(k, body, NULL), k->n - body - 1, k->args + body + 1);
}

/* How many regions a graph has, those in regions too. */
static unsigned count_regions(const aot_graph *g)
{
    unsigned n = 0;
    for (aot_node_id i = 0; i < g->nodes.n; i++) {
        const aot_node *node = aot_node_at(g, i);
        n += node->kind == AOT_CALL_FUNCTION &&
             strcmp(aot_node_target(g, i), "torch.ops.higher_order.tag_activation_checkpoint") == 0;
    }
    for (size_t i = 0; i < g->subgraphs.n; i++) {
        n += count_regions(g->subgraphs.d[i]);
    }
    return n;
}

/* tag_activation_checkpoint(body, *args, use_reentrant, ...): the run that looks at the forward has
 * counted all regions once before. What a context_fn would choose is not in the graph. */
aot_value lower_checkpoint(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    const aot_graph *top = aot_trace_current_graph(t);
    aot_region was = aot_trace_region(t, (aot_region){0});
    aot_region own = {.id = aot_trace_next_region(t), .policy = AOT_POLICY_PREFER_RECOMPUTE};
    own.id += top != NULL && was.id == 0 ? (int32_t)count_regions(top) : 0;
    (void)aot_trace_region(t, own);
    aot_value out = run_rest(k, 0);
    (void)aot_trace_region(t, was);
    return out;
}

/* wrap(body, *args) */
aot_value lower_wrap(const aot_pycall *k)
{
    return run_rest(k, 0);
}

/* wrap_with_set_grad_enabled(enabled, body, *args) */
aot_value lower_wrap_set_grad(const aot_pycall *k)
{
    bool was = aot_set_grad_enabled(k->t, aot_l_bool(k, 0, NULL, true));
    aot_value out = run_rest(k, 1);
    (void)aot_set_grad_enabled(k->t, was);
    return out;
}

/* wrap_with_autocast(device_type, dtype, enabled, cache_enabled, body, *args) */
aot_value lower_wrap_autocast(const aot_pycall *k)
{
    const aot_value *device = aot_l_arg(k, 0, NULL);
    aot_dtype d = aot_l_dtype(k, 1, NULL, AOT_BF16);
    aot_autocast_push(k->t, device != NULL ? device->u.s : 0, d, aot_l_bool(k, 2, NULL, true));
    aot_value out = run_rest(k, 4);
    aot_autocast_pop(k->t);
    return out;
}

/* ---- torch.autograd.Function ----------------------------------------------------------------- */

typedef struct apply {
    const aot_graph *bwd;
    unsigned n_out, n_inputs;
    aot_value saved;
    const aot_value *out; /* as types */
} apply;

static void vjp_apply(aot_vjp *b)
{
    const apply *a = aot_vjp_custom(b);
    aot_tracer *t = aot_vjp_tracer(b);
    aot_value *in = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, a->n_out + a->saved.n + 1);
    for (unsigned i = 0; i < a->n_out; i++) {
        aot_tensor *g = aot_vjp_grad_or_zeros(b, i);
        if (g == NULL && a->out[i].kind == AOT_V_TENSOR) { // of an output without gradient
            const aot_fake *f = aot_type_of(a->out[i].u.t);
            g = AOT(t, aten_zeros, ((aot_dims){f->size, f->ndim}), aot_v_dtype((aot_dtype)f->dtype),
                    aot_v_name(t, "torch.strided"), aot_v_device(f->device));
        }
        in[i] = aot_v_tensor(g);
    }
    for (unsigned i = 0; i < a->saved.n; i++) {
        in[a->n_out + i] = a->saved.u.items[i];
    }
    bool grad = aot_grad_enabled(t);
    aot_value r = hop_items(t, aot_interpret(t, a->bwd, a->n_out + a->saved.n, in));
    (void)aot_set_grad_enabled(t, grad);
    for (unsigned i = 0; i < a->n_inputs && i < r.n; i++) {
        if (aot_vjp_needs(b, i)) {
            aot_vjp_set(b, i, aot_v_item(r, i));
        }
    }
}

static bool holds(aot_value list, unsigned i)
{
    for (unsigned k = 0; k < list.n; k++) {
        if (list.u.items[k].u.dim.value == i) {
            return true;
        }
    }
    return false;
}

/* An output that is an input is given as a view of it. */
static void unalias(aot_tracer *t, const aot_pycall *k, aot_value *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned p = 2; p < k->n && items[i].kind == AOT_V_TENSOR; p++) {
            if (k->args[p].kind == AOT_V_TENSOR && k->args[p].u.t == items[i].u.t) {
                items[i] = aot_v_tensor(AOT(t, aten_view, items[i], aot_sizes(items[i].u.t)));
                break;
            }
        }
    }
}

/* autograd_function_apply(fwd, bwd, *args, non_differentiable_idx, saved_for_backward_idx). fwd
 * gives (outputs, saved values); bwd takes the gradients and the saved values. */
aot_value lower_autograd_function(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_arena *a = aot_tracer_arena(t);
    apply *own = AOT_NEW(a, apply);
    unsigned n = k->n - 2;
    bool grad = aot_set_grad_enabled(t, false);
    aot_trace_in_function(t, true);
    aot_value both = aot_interpret(t, hop_graph(k, 0, "fwd"), n, k->args + 2);
    aot_trace_in_function(t, false);
    (void)aot_set_grad_enabled(t, false);
    if (!aot_v_is_list(both) || both.n != 2) {
        aot_trace_fail(t, AOT_E_GRAPH, "%s: its forward does not return outputs and saved values",
                       k->target);
    }
    bool single = !aot_v_is_list(both.u.items[0]);
    aot_value out = hop_items(t, both.u.items[0]);
    aot_value *items = AOT_NEW_ARRAY(a, aot_value, out.n + 1);
    *own = (apply){hop_graph(k, 1, "bwd"), out.n, n, hop_items(t, both.u.items[1]), items};
    memcpy(items, out.u.items, out.n * sizeof *items);
    unalias(t, k, items, out.n);
    (void)aot_set_grad_enabled(t, grad);
    const aot_value *idx = aot_l_arg(k, k->n, "non_differentiable_idx");
    aot_value stops = idx != NULL && aot_v_is_list(*idx) ? *idx : aot_v_list(t, 0, NULL);
    aot_tensor **outs = AOT_NEW_ARRAY(a, aot_tensor *, out.n + 1);
    for (unsigned i = 0; i < out.n; i++) {
        outs[i] = holds(stops, i) || items[i].kind != AOT_V_TENSOR ? NULL : items[i].u.t;
    }
    aot_trace_custom_grad(t, AOT_OP_higher_order_autograd_function_apply, vjp_apply, own, n,
                          k->args + 2, out.n, outs);
    return single ? items[0] : aot_v_tuple(t, out.n, items);
}
