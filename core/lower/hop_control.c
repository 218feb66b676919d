/* cond and while_loop: their graphs are traced apart; cond's gradient is a cond over the backward
 * of each branch, which recomputes the forward.
 *
 * Mirrors: torch/_higher_order_ops/cond.py, while_loop.py */
#include "lower/hop.h"

#include "lower/internal.h"

/* ---- cond ------------------------------------------------------------------------------------ */

typedef struct branches {
    aot_value pred, operands; /* a tuple */
    const aot_graph *fn[2];   /* if true, if false */
    unsigned n_out;
} branches;

static aot_value call_cond(aot_tracer *t, aot_value pred, aot_subgraph *const sub[2],
                           aot_value operands)
{
    unsigned number = aot_hop_number(t, "true_graph_");
    if (sub[0]->out.n != sub[1]->out.n) {
        aot_trace_fail(t, AOT_E_SHAPE, "cond: one branch returns %u values, the other %u",
                       sub[0]->out.n, sub[1]->out.n);
    }
    aot_value args[] = {pred, aot_v_subgraph(t, sub[0], "true_graph_", number),
                        aot_v_subgraph(t, sub[1], "false_graph_", number), operands};
    aot_hop h = {.name = "cond", .n = 4, .args = args, .out = sub[0]->out};
    return aot_hop_call(t, &h);
}

static void vjp_cond(aot_vjp *b)
{
    const branches *c = aot_vjp_custom(b);
    aot_tracer *t = aot_vjp_tracer(b);
    aot_value *grads = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, c->n_out + 1);
    for (unsigned i = 0; i < c->n_out; i++) {
        grads[i] = aot_v_tensor(aot_vjp_grad_or_zeros(b, i));
    }
    aot_value all = hop_concat(t, c->operands, aot_v_tuple(t, c->n_out, grads));
    aot_subgraph *sub[2];
    bool grad = aot_set_grad_enabled(t, true);
    for (int i = 0; i < 2; i++) {
        hop_joint j = {hop_run, (void *)(uintptr_t)c->fn[i], c->operands.n, NULL};
        sub[i] = aot_trace_apart(t, hop_run_joint, &j, all.n, all.u.items, true);
    }
    (void)aot_set_grad_enabled(t, grad);
    aot_value r = call_cond(t, c->pred, sub, all);
    hop_set_gradients(b, c->operands, r);
}

/* cond(pred, true_fn, false_fn, operands) */
aot_value lower_cond(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    branches *c = AOT_NEW(aot_tracer_arena(t), branches);
    const aot_value *operands = aot_l_arg(k, 3, "operands");
    *c =
        (branches){.pred = *aot_l_arg(k, 0, "pred"),
                   .operands = operands != NULL ? hop_items(t, *operands) : aot_v_tuple(t, 0, NULL),
                   .fn = {hop_graph(k, 1, "true_fn"), hop_graph(k, 2, "false_fn")}};
    aot_subgraph *sub[2];
    for (int i = 0; i < 2; i++) {
        sub[i] = aot_trace_apart(t, hop_run, (void *)(uintptr_t)c->fn[i], c->operands.n,
                                 c->operands.u.items, false);
    }
    aot_value out = call_cond(t, c->pred, sub, c->operands);
    aot_value items = hop_items(t, out);
    c->n_out = items.n;
    aot_tensor **outs = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_tensor *, items.n + 1);
    for (unsigned i = 0; i < items.n; i++) {
        outs[i] = aot_v_item(items, i);
    }
    aot_trace_custom_grad(t, AOT_OP_higher_order_cond, vjp_cond, c, c->operands.n,
                          c->operands.u.items, items.n, outs);
    return out;
}

/* ---- while_loop ------------------------------------------------------------------------------ */

static bool any_requires_grad(aot_value v)
{
    for (unsigned i = 0; i < v.n; i++) {
        if (v.u.items[i].kind == AOT_V_TENSOR && aot_requires_grad(v.u.items[i].u.t)) {
            return true;
        }
    }
    return false;
}

/* while_loop(cond_fn, body_fn, carried_inputs, additional_inputs) */
aot_value lower_while_loop(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    const aot_value *carried = aot_l_arg(k, 2, "carried_inputs");
    const aot_value *more = aot_l_arg(k, 3, "additional_inputs");
    if (carried == NULL) {
        aot_trace_fail(t, AOT_E_GRAPH, "while_loop: no inputs are carried");
    }
    aot_value rest = more != NULL ? hop_items(t, *more) : aot_v_tuple(t, 0, NULL);
    aot_value all = hop_concat(t, hop_items(t, *carried), rest);
    if (aot_grad_enabled(t) && any_requires_grad(all)) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "while_loop: its gradient is not implemented");
    }
    void *cond_fn = (void *)(uintptr_t)hop_graph(k, 0, "cond_fn");
    void *body_fn = (void *)(uintptr_t)hop_graph(k, 1, "body_fn");
    aot_subgraph *cond = aot_trace_apart(t, hop_run, cond_fn, all.n, all.u.items, false);
    aot_subgraph *body = aot_trace_apart(t, hop_run, body_fn, all.n, all.u.items, false);
    unsigned number = aot_hop_number(t, "while_loop_cond_graph_");
    aot_value args[] = {
        aot_v_subgraph(t, cond, "while_loop_cond_graph_", number),
        aot_v_subgraph(t, body, "while_loop_body_graph_", number),
        *carried,
        rest,
    };
    aot_hop h = {.name = "while_loop", .n = 4, .args = args, .out = body->out};
    return aot_hop_call(t, &h);
}
