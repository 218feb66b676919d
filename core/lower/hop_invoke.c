/* invoke_subgraph: a region that is compiled once. Calls with one identifier share one graph; their
 * backwards share one where the incoming gradients have the same types, and give the forward's
 * outputs after the gradients.
 *
 * Mirrors: torch/_higher_order_ops/invoke_subgraph.py */
#include "lower/hop.h"

#include <string.h>

#include "lower/internal.h"
#include "trace/tracer.h"

/* A graph that was traced: of a forward (n_tangents 0), or of a backward with gradients of these
 * types. */
typedef struct traced_region {
    const struct traced_region *next;
    const aot_graph *body;
    const aot_meta_id *tangent;
    unsigned n_tangents, number; /* of its attribute */
    unsigned suffix;             /* of a backward's identifier */
    const aot_subgraph *sub;
} traced_region;

typedef struct region {
    const aot_graph *body;
    aot_str identifier;
    aot_value operands;
    unsigned n_out;
} region;

static const char prefix[] = "repeated_subgraph";

static const traced_region *find(aot_tracer *t, const region *r, unsigned n,
                                 const aot_meta_id *types, unsigned *n_others)
{
    *n_others = 0;
    for (const traced_region *e = *aot_hop_slot(t); e != NULL; e = e->next) {
        if (e->body != r->body || (e->n_tangents == 0) != (n == 0)) {
            continue;
        }
        if (n == e->n_tangents && (n == 0 || memcmp(types, e->tangent, n * sizeof *types) == 0)) {
            return e;
        }
        ++*n_others;
    }
    return NULL;
}

static const traced_region *remember(aot_tracer *t, const region *r, unsigned n,
                                     const aot_meta_id *types, unsigned suffix,
                                     const aot_subgraph *sub)
{
    traced_region *e = AOT_NEW(aot_tracer_arena(t), traced_region);
    *e = (traced_region){*aot_hop_slot(t),          r->body, types, n,
                         aot_hop_number(t, prefix), suffix,  sub};
    *aot_hop_slot(t) = e;
    return e;
}

static aot_value call_region(aot_tracer *t, const traced_region *e, const char *identifier,
                             aot_value operands)
{
    aot_value head[] = {aot_v_subgraph(t, e->sub, prefix, e->number), aot_v_str(t, identifier)};
    aot_value args = hop_concat(t, aot_v_tuple(t, 2, head), operands);
    aot_value out = hop_items(t, e->sub->out);
    out.kind = AOT_V_TUPLE;
    aot_hop h = {.name = "invoke_subgraph", .n = args.n, .args = args.u.items, .out = out};
    return aot_hop_call(t, &h);
}

/* Gradients of the operands, then the outputs. */
static aot_value run_backward(aot_tracer *t, void *arg, unsigned n, const aot_value *in)
{
    const region *r = arg;
    aot_value out;
    hop_joint j = {hop_run, (void *)(uintptr_t)r->body, r->operands.n, &out};
    aot_value grads = hop_run_joint(t, &j, n, in);
    return hop_concat(t, grads, out);
}

static void vjp_invoke(aot_vjp *b)
{
    region *r = aot_vjp_custom(b);
    aot_tracer *t = aot_vjp_tracer(b);
    aot_arena *a = aot_tracer_arena(t);
    aot_value *grads = AOT_NEW_ARRAY(a, aot_value, r->n_out + 1);
    aot_meta_id *types = AOT_NEW_ARRAY(a, aot_meta_id, r->n_out + 1);
    for (unsigned i = 0; i < r->n_out; i++) {
        grads[i] = aot_v_tensor(aot_vjp_grad_or_zeros(b, i));
        types[i] = grads[i].kind == AOT_V_TENSOR ? aot_trace_meta(grads[i].u.t) : 0;
    }
    aot_value all = hop_concat(t, r->operands, aot_v_tuple(t, r->n_out, grads));
    unsigned suffix;
    const traced_region *e = find(t, r, r->n_out, types, &suffix);
    if (e == NULL) {
        bool grad = aot_set_grad_enabled(t, true);
        aot_subgraph *s = aot_trace_apart(t, run_backward, r, all.n, all.u.items, true);
        (void)aot_set_grad_enabled(t, grad);
        e = remember(t, r, r->n_out, types, suffix, s);
    }
    const char *own = aot_text(aot_tracer_ctx(t), r->identifier);
    aot_value out = call_region(t, e, aot_arena_printf(a, "bw_%s_%u", own, e->suffix), all);
    hop_set_gradients(b, r->operands, out);
}

/* invoke_subgraph(subgraph, identifier, *operands) */
aot_value lower_invoke_subgraph(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    aot_arena *a = aot_tracer_arena(t);
    region *r = AOT_NEW(a, region);
    if (k->n < 2 || k->args[1].kind != AOT_V_STR) {
        aot_trace_fail(t, AOT_E_GRAPH, "invoke_subgraph without an identifier");
    }
    *r = (region){hop_graph(k, 0, "subgraph"), k->args[1].u.s,
                  aot_v_tuple(t, k->n - 2, k->args + 2), 0};
    unsigned others;
    const traced_region *e = find(t, r, 0, NULL, &others);
    if (e == NULL) {
        aot_subgraph *s = aot_trace_apart(t, hop_run, (void *)(uintptr_t)r->body, r->operands.n,
                                          r->operands.u.items, false);
        e = remember(t, r, 0, NULL, 0, s);
    }
    const char *own = aot_text(aot_tracer_ctx(t), r->identifier);
    bool grad = false;
    for (unsigned i = 0; i < r->operands.n && aot_grad_enabled(t); i++) {
        const aot_value *v = &r->operands.u.items[i];
        grad |= v->kind == AOT_V_TENSOR && aot_requires_grad(v->u.t);
    }
    aot_value out = call_region(t, e, grad ? aot_arena_printf(a, "fw_%s", own) : own, r->operands);
    r->n_out = out.n;
    aot_tensor **outs = AOT_NEW_ARRAY(a, aot_tensor *, out.n + 1);
    for (unsigned i = 0; i < out.n; i++) {
        outs[i] = aot_v_item(out, i);
    }
    aot_trace_custom_grad(t, AOT_OP_higher_order_invoke_subgraph, vjp_invoke, r, r->operands.n,
                          r->operands.u.items, out.n, outs);
    return out;
}
