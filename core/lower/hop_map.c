/* map and scan: one graph run for each slice of their inputs. map's gradient is a map over the
 * backward of its body, which recomputes the forward.
 *
 * Mirrors: torch/_higher_order_ops/map.py, scan.py */
#include "lower/hop.h"

#include "lower/internal.h"

static aot_value slices(aot_tracer *t, aot_value v)
{
    aot_tensor **x = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_tensor *, v.n + 1);
    for (unsigned i = 0; i < v.n; i++) {
        x[i] = aot_hop_first_slice(t, aot_v_item(v, i));
    }
    return aot_v_tensors(t, v.n, x);
}

static aot_value list_of(aot_value v, aot_value_kind kind)
{
    v.kind = (uint8_t)kind;
    return v;
}

/* ---- map ------------------------------------------------------------------------------------- */

typedef struct mapped {
    const aot_graph *body;
    aot_value xs, rest; /* what is cut into slices, and what is not */
    unsigned n_out;
} mapped;

static aot_value call_map(aot_tracer *t, const aot_subgraph *s, aot_value xs, aot_value rest)
{
    aot_value out = hop_items(t, s->out);
    aot_tensor **all = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_tensor *, out.n + 1);
    for (unsigned i = 0; i < out.n; i++) {
        all[i] = aot_hop_stacked(t, aot_v_item(out, i), aot_size(aot_v_item(xs, 0), 0));
    }
    aot_value args[] = {aot_v_subgraph(t, s, "body_graph_", aot_hop_number(t, "body_graph_")),
                        list_of(xs, AOT_V_LIST), list_of(rest, AOT_V_LIST)};
    aot_hop h = {.name = "map_impl",
                 .n = 3,
                 .args = args,
                 .out = list_of(aot_v_tensors(t, out.n, all), AOT_V_TUPLE)};
    return aot_hop_call(t, &h);
}

/* Slices, gradients of the outputs' slices, the rest: the joint graph has the gradients last. */
static aot_value run_map_backward(aot_tracer *t, void *arg, unsigned n, const aot_value *in)
{
    const mapped *m = arg;
    unsigned n_xs = m->xs.n, n_rest = m->rest.n;
    hop_joint j = {hop_run, (void *)(uintptr_t)m->body, n_xs + n_rest, NULL};
    aot_value xs = aot_v_tuple(t, n_xs, in), grads = aot_v_tuple(t, m->n_out, in + n_xs);
    aot_value rest = aot_v_tuple(t, n_rest, in + n_xs + m->n_out);
    return hop_run_joint(t, &j, n, hop_concat(t, hop_concat(t, xs, rest), grads).u.items);
}

static void vjp_map(aot_vjp *b)
{
    mapped *m = aot_vjp_custom(b);
    aot_tracer *t = aot_vjp_tracer(b);
    aot_value *grads = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, m->n_out + 1);
    for (unsigned i = 0; i < m->n_out; i++) {
        grads[i] = aot_v_tensor(aot_vjp_grad_or_zeros(b, i));
    }
    aot_value all = hop_concat(t, m->xs, aot_v_tuple(t, m->n_out, grads));
    aot_value in = hop_concat(t, slices(t, all), m->rest);
    bool grad = aot_set_grad_enabled(t, true);
    aot_subgraph *s = aot_trace_apart(t, run_map_backward, m, in.n, in.u.items, true);
    (void)aot_set_grad_enabled(t, grad);
    aot_value r = call_map(t, s, all, m->rest);
    hop_set_gradients(b, hop_concat(t, m->xs, m->rest), r);
}

/* map_impl(f, xs, pos_args) */
aot_value lower_map(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    mapped *m = AOT_NEW(aot_tracer_arena(t), mapped);
    const aot_value *xs = aot_l_arg(k, 1, "xs"), *rest = aot_l_arg(k, 2, "pos_args");
    if (xs == NULL || !aot_v_is_list(*xs) || xs->n == 0) {
        aot_trace_fail(t, AOT_E_GRAPH, "map: nothing to map over");
    }
    *m = (mapped){.body = hop_graph(k, 0, "f"),
                  .xs = *xs,
                  .rest = rest != NULL ? hop_items(t, *rest) : aot_v_tuple(t, 0, NULL)};
    aot_value in = hop_concat(t, slices(t, m->xs), m->rest), all = hop_concat(t, m->xs, m->rest);
    aot_subgraph *s =
        aot_trace_apart(t, hop_run, (void *)(uintptr_t)m->body, in.n, in.u.items, false);
    aot_value out = call_map(t, s, m->xs, m->rest);
    m->n_out = out.n;
    aot_tensor **outs = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_tensor *, out.n + 1);
    for (unsigned i = 0; i < out.n; i++) {
        outs[i] = aot_v_item(out, i);
    }
    aot_trace_custom_grad(t, AOT_OP_higher_order_map_impl, vjp_map, m, all.n, all.u.items, out.n,
                          outs);
    return out;
}

/* ---- scan ------------------------------------------------------------------------------------ */

static bool any_requires_grad(aot_value v)
{
    bool any = false;
    for (unsigned i = 0; i < v.n; i++) {
        any |= v.u.items[i].kind == AOT_V_TENSOR && aot_requires_grad(v.u.items[i].u.t);
    }
    return any;
}

/* scan(combine_fn, init, xs, additional_inputs): carried values, then the stacked results */
aot_value lower_scan(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    const aot_value *given[3] = {aot_l_arg(k, 1, "init"), aot_l_arg(k, 2, "xs"),
                                 aot_l_arg(k, 3, "additional_inputs")};
    aot_value part[3];
    for (int i = 0; i < 3; i++) {
        part[i] = given[i] != NULL ? hop_items(t, *given[i]) : aot_v_tuple(t, 0, NULL);
    }
    if (part[1].n == 0) {
        aot_trace_fail(t, AOT_E_GRAPH, "scan: nothing to scan");
    }
    aot_value in = hop_concat(t, hop_concat(t, part[0], slices(t, part[1])), part[2]);
    if (aot_grad_enabled(t) && any_requires_grad(in)) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED,
                       "scan: its gradient, which cuts the body's joint graph, is not implemented");
    }
    void *fn = (void *)(uintptr_t)hop_graph(k, 0, "combine_fn");
    aot_subgraph *s = aot_trace_apart(t, hop_run, fn, in.n, in.u.items, false);
    aot_value out = hop_items(t, s->out);
    aot_value *all = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, out.n + 1);
    for (unsigned i = 0; i < out.n; i++) {
        aot_dim n = aot_size(aot_v_item(part[1], 0), 0);
        all[i] = i < part[0].n ? out.u.items[i]
                               : aot_v_tensor(aot_hop_stacked(t, aot_v_item(out, i), n));
    }
    unsigned number = aot_hop_number(t, "scan_combine_graph_");
    aot_value args[] = {aot_v_subgraph(t, s, "scan_combine_graph_", number),
                        list_of(part[0], AOT_V_LIST), list_of(part[1], AOT_V_LIST),
                        list_of(part[2], AOT_V_TUPLE)};
    aot_hop h = {.name = "scan", .n = 4, .args = args, .out = aot_v_tuple(t, out.n, all)};
    return aot_hop_call(t, &h);
}
