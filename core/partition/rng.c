/* Random operators that are recomputed: the forward hands the generator's state to the backward.
 *
 *   CPU   forward: run_and_save_rng_state(op, ...) -> (state, result), state saved;
 *         backward: run_with_rng_state(rng_state_output_N, op, ...)
 *   CUDA  both: graphsafe_run_with_rng_state(op, ..., rng_state =
 *         fwd_rng_state_N / bwd_rng_state_N)
 *
 * Mirrors: partitioners.py:functionalize_rng_ops, apply_graphsafe_rng_functionalization. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"

typedef struct pair {
    aot_node_id fw, bw;
    bool graphsafe;
    uint32_t number; /* N of the names */
} pair;

typedef struct rng {
    part *p;
    AOT_VEC(pair) pairs;
} rng;

/* Device of a node's value: its own type's, that of an element taken from it, else its input's. */
static const char *device_of(const aot_graph *g, aot_node_id id)
{
    const aot_ctx *c = g->ctx;
    aot_str d = aot_meta_get(c, aot_node_at(g, id)->meta)->device;
    for (uint32_t k = g->user_off[id]; d == 0 && k < g->user_off[id + 1]; k++) {
        d = aot_meta_get(c, aot_node_at(g, g->user[k])->meta)->device;
    }
    for (uint32_t k = g->in_off[id]; d == 0 && k < g->in_off[id + 1]; k++) {
        d = aot_meta_get(c, aot_node_at(g, g->in[k])->meta)->device;
    }
    return aot_text(c, d);
}

/* Position of each node of the cut graph in the graph that a plan builds, from 1. */
static uint32_t *positions(const part_plan *x)
{
    uint32_t *t = aot_xcalloc(x->g->nodes.n + 1, sizeof *t);
    for (uint32_t i = x->n_inputs; i < x->order.n; i++) {
        t[x->order.d[i]] = i + 1;
    }
    return t;
}

static void find_pairs(rng *r, const part_plan *fw, const part_plan *bw)
{
    const part *p = r->p;
    uint32_t *in_fw = positions(fw), *in_bw = positions(bw);
    const char *cuda = NULL;
    bool many = false;
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        if (!part_must_recompute(p->m.policy[i]) || (p->m.part[i] & PART_IS_SEEDED) == 0 ||
            in_fw[i] == 0 || in_bw[i] == 0) {
            continue;
        }
        pair x = {.fw = in_fw[i] - 1, .bw = in_bw[i] - 1, .number = (uint32_t)r->pairs.n};
        const char *d = device_of(p->g, i);
        if (aot_starts_with(d, "cuda")) {
            x.graphsafe = p->config->graphsafe_rng_functionalization && !p->config->fallback_random;
            many |= cuda != NULL && strcmp(cuda, d) != 0;
            cuda = d;
        }
        aot_vec_push(&r->pairs, x);
    }
    // PyTorch numbers saved states apart, and falls back to them when several devices draw
    uint32_t states = 0;
    for (size_t k = 0; k < r->pairs.n; k++) {
        r->pairs.d[k].graphsafe &= !many;
        if (!r->pairs.d[k].graphsafe) {
            r->pairs.d[k].number = states++;
        }
    }
    free(in_fw);
    free(in_bw);
}

typedef struct rewrite {
    rng *r;
    const aot_graph *g;
    aot_graph *to;
    aot_namespace *ns;
    aot_node_id *map;
    uint32_t no_trace; /* index of the "no stack" comment in to->srcs */
    AOT_VEC(aot_node_id) states;
    AOT_VEC(aot_node_id) inputs; /* placeholder of each pair */
} rewrite;

static aot_str unique(rewrite *w, const char *candidate)
{
    return aot_namespace_create(w->ns, candidate, strlen(candidate));
}

static aot_node_id add_placeholder(rewrite *w, const char *name, const char *type)
{
    aot_node n = {.kind = AOT_PLACEHOLDER, .meta = aot_ctx_meta(w->g->ctx, type, strlen(type))};
    n.target = aot_intern_z(w->g->ctx->strs, name);
    n.name = unique(w, name);
    return aot_graph_add(w->to, &n);
}

static aot_node_id add_getitem(rewrite *w, aot_node_id from, int64_t index, const aot_node *like)
{
    aot_ctx *c = w->g->ctx;
    aot_node n = {.kind = AOT_CALL_FUNCTION, .n_args = 2, .src = w->no_trace};
    aot_arg a[2] = {{.kind = AOT_ARG_NODE}, {.kind = AOT_ARG_INT}};
    if (like != NULL) {
        n.meta = like->meta;
        n.src = like->src;
        n.policy = like->policy;
    }
    a[0].u.node = from;
    a[1].u.i = index;
    n.target = aot_intern_z(c->strs, "operator.getitem");
    n.op = aot_ctx_op(c, n.target);
    n.name = unique(w, "getitem");
    n.args = aot_graph_add_args(w->to, a, 2);
    return aot_graph_add(w->to, &n);
}

/* wrapper([state,] op, args..., kwargs...[, rng_state = state]) */
static aot_node_id add_wrapped(rewrite *w, const char *wrapper, aot_node_id id, aot_node_id state,
                               bool state_first)
{
    aot_ctx *c = w->g->ctx;
    const aot_node *old = aot_node_at(w->g, id);
    aot_node n = {.kind = AOT_CALL_FUNCTION, .src = w->no_trace};
    AOT_VEC(aot_arg) args = {0};
    aot_arg op = {.kind = AOT_ARG_NAME}, st = {.kind = AOT_ARG_NODE};
    op.u.s = old->target;
    st.u.node = state;
    uint32_t copied = aot_graph_copy_args(w->to, w->g, old->args, old->n_args, w->map);
    if (state_first) {
        aot_vec_push(&args, st);
    }
    aot_vec_push(&args, op);
    for (uint32_t i = 0; i < old->n_args; i++) {
        aot_vec_push(&args, w->to->args.d[copied + i]);
    }
    n.n_args = (uint16_t)args.n;
    n.args = aot_graph_add_args(w->to, args.d, (uint32_t)args.n);
    copied = aot_graph_copy_args(w->to, w->g, old->kwargs, (uint32_t)old->n_kwargs * 2, w->map);
    args.n = 0;
    for (uint32_t i = 0; i < (uint32_t)old->n_kwargs * 2; i++) {
        aot_vec_push(&args, w->to->args.d[copied + i]);
    }
    if (state != AOT_NO_NODE && !state_first) {
        aot_arg key = {.kind = AOT_ARG_NAME};
        key.u.s = aot_intern_z(c->strs, "rng_state");
        aot_vec_push(&args, key);
        aot_vec_push(&args, st);
    }
    n.n_kwargs = (uint16_t)(args.n / 2);
    n.kwargs = aot_graph_add_args(w->to, args.d, (uint32_t)args.n);
    aot_vec_free(&args);
    char target[96];
    snprintf(target, sizeof target, "torch.ops.higher_order.%s", wrapper);
    n.target = aot_intern_z(c->strs, target);
    n.op = aot_ctx_op(c, n.target);
    n.name = unique(w, wrapper);
    return aot_graph_add(w->to, &n);
}

/* Names already given, those of nodes that were removed again included: FX never reuses one. */
static aot_namespace *names_given(const part *p, const part_plan *x)
{
    aot_namespace *ns = aot_namespace_new(p->ctx);
    for (uint32_t i = 0; i < x->n_inputs; i++) {
        const char *name = aot_node_name(x->g, x->order.d[i]);
        aot_namespace_create(ns, name, strlen(name));
    }
    for (uint32_t i = 0; i < x->g->nodes.n; i++) {
        if (x->named[i] == PART_BODY) {
            aot_namespace_create(ns, aot_node_name(x->g, i), strlen(aot_node_name(x->g, i)));
        }
    }
    aot_namespace_create(ns, "output", 6);
    return ns;
}

static void begin(rewrite *w, rng *r, part_plan *s)
{
    static const char no_trace[] = "No stacktrace found for following nodes";
    aot_graph *g = part_plan_build(r->p, s);
    *w = (rewrite){.r = r, .g = g, .ns = names_given(r->p, s), .to = aot_graph_new(g->ctx)};
    w->map = aot_xcalloc(g->nodes.n, sizeof *w->map);
    w->to->class_name = g->class_name;
    w->to->layout = g->layout;
    w->to->srcs.n = 0;
    for (size_t i = 0; i < g->srcs.n; i++) {
        aot_vec_push(&w->to->srcs, g->srcs.d[i]);
    }
    aot_src none = {.text = aot_intern_z(g->ctx->strs, no_trace), .ac_graph_id = -1};
    aot_vec_push(&w->to->srcs, none);
    w->no_trace = (uint32_t)w->to->srcs.n - 1;
    for (size_t i = 0; i < g->out_descs.n; i++) {
        aot_vec_push(&w->to->out_descs, g->out_descs.d[i]);
    }
    for (size_t i = 0; i < g->subgraphs.n; i++) {
        aot_vec_push(&w->to->subgraphs, g->subgraphs.d[i]);
    }
}

static void finish(rewrite *w, part_plan *s)
{
    part_plan_free(s);
    part_plan_of_graph(s, w->to);
    aot_namespace_free(w->ns);
    free(w->map);
    aot_vec_free(&w->states);
    aot_vec_free(&w->inputs);
}

static void add_state_inputs(rewrite *w, bool forward, bool graphsafe)
{
    char name[64];
    for (size_t k = 0; k < w->r->pairs.n; k++) {
        const pair *x = &w->r->pairs.d[k];
        if (w->inputs.n <= k) {
            aot_vec_push(&w->inputs, AOT_NO_NODE);
        }
        if (x->graphsafe != graphsafe) {
            continue;
        }
        if (graphsafe) {
            snprintf(name, sizeof name, "%s_rng_state_%u", forward ? "fwd" : "bwd", x->number);
            w->inputs.d[k] = add_placeholder(w, name, "");
        } else if (!forward) {
            snprintf(name, sizeof name, "rng_state_output_%u", x->number);
            w->inputs.d[k] = add_placeholder(w, name, "u8[s0][1]cpu");
        }
    }
}

/* The output with the saved states before the symbols; its descriptors are lost, as in PyTorch. */
static void add_forward_output(rewrite *w, uint32_t id, uint32_t n_sym)
{
    if (w->states.n == 0) {
        w->map[id] = aot_graph_copy_node(w->to, w->g, id, w->map);
        return;
    }
    const aot_arg *old = aot_node_args(w->g, aot_node_at(w->g, id));
    AOT_VEC(aot_arg) items = {0};
    uint32_t copied = aot_graph_copy_args(w->to, w->g, old->u.first, old->n, w->map);
    for (uint32_t i = 0; i <= old->n; i++) {
        for (size_t k = 0; i == old->n - n_sym && k < w->states.n; k++) {
            aot_arg s = {.kind = AOT_ARG_NODE};
            s.u.node = w->states.d[k];
            aot_vec_push(&items, s);
        }
        if (i < old->n) {
            aot_vec_push(&items, w->to->args.d[copied + i]);
        }
    }
    aot_arg tuple = {.kind = AOT_ARG_TUPLE, .n = (uint32_t)items.n};
    tuple.u.first = aot_graph_add_args(w->to, items.d, (uint32_t)items.n);
    aot_node out = {.kind = AOT_OUTPUT, .n_args = 1};
    out.args = aot_graph_add_args(w->to, &tuple, 1);
    out.target = aot_intern_z(w->g->ctx->strs, "output");
    out.name = unique(w, "output");
    aot_graph_add(w->to, &out);
    w->to->layout.has_out_descs = false;
    w->to->out_descs.n = 0;
    aot_vec_free(&items);
}

static void rewrite_forward(rng *r, part_plan *s, uint32_t n_sym)
{
    rewrite w;
    size_t next = 0;
    begin(&w, r, s);
    for (uint32_t i = 0; i < w.g->nodes.n; i++) {
        const aot_node *n = aot_node_at(w.g, i);
        if (n->kind != AOT_PLACEHOLDER && w.inputs.n == 0) {
            add_state_inputs(&w, true, true);
        }
        if (n->kind == AOT_OUTPUT) {
            add_forward_output(&w, i, n_sym);
        } else if (next < r->pairs.n && r->pairs.d[next].fw == i) {
            const pair *x = &r->pairs.d[next];
            if (x->graphsafe) {
                w.map[i] =
                    add_wrapped(&w, "graphsafe_run_with_rng_state", i, w.inputs.d[next], false);
            } else {
                aot_node_id run = add_wrapped(&w, "run_and_save_rng_state", i, AOT_NO_NODE, false);
                aot_node_id state = add_getitem(&w, run, 0, NULL);
                aot_node_at(w.to, state)->meta = aot_ctx_meta(w.g->ctx, "u8[s0][1]cpu", 12);
                aot_vec_push(&w.states, state);
                w.map[i] = add_getitem(&w, run, 1, n);
            }
            next++;
        } else {
            w.map[i] = aot_graph_copy_node(w.to, w.g, i, w.map);
        }
    }
    finish(&w, s);
}

static void rewrite_backward(rng *r, part_plan *s)
{
    rewrite w;
    size_t next = 0;
    bool states_done = false, graphsafe_done = false;
    begin(&w, r, s);
    for (uint32_t i = 0; i < w.g->nodes.n; i++) {
        const aot_node *n = aot_node_at(w.g, i);
        if (!states_done && strstr(aot_text(w.g->ctx, n->name), "tangent") != NULL &&
            n->kind == AOT_PLACEHOLDER) {
            add_state_inputs(&w, false, false);
            states_done = true;
        }
        if (!graphsafe_done && n->kind != AOT_PLACEHOLDER) {
            add_state_inputs(&w, false, true);
            graphsafe_done = true;
        }
        if (next < r->pairs.n && r->pairs.d[next].bw == i) {
            const pair *x = &r->pairs.d[next];
            w.map[i] = add_wrapped(
                &w, x->graphsafe ? "graphsafe_run_with_rng_state" : "run_with_rng_state", i,
                w.inputs.d[next], !x->graphsafe);
            next++;
        } else {
            w.map[i] = aot_graph_copy_node(w.to, w.g, i, w.map);
        }
    }
    finish(&w, s);
}

aot_status part_functionalize_rng(part *p, part_plan *fw, part_plan *bw, uint32_t n_sym)
{
    rng r = {.p = p};
    bool tangent = false;
    for (uint32_t i = 0; i < bw->n_inputs; i++) {
        tangent |= strstr(aot_node_name(bw->g, bw->order.d[i]), "tangent") != NULL;
    }
    if (!tangent) {
        return AOT_FAIL(p->err, AOT_E_GRAPH,
                        "a random operator is to be recomputed, but the backward takes no tangent");
    }
    find_pairs(&r, fw, bw);
    if (r.pairs.n != 0) {
        rewrite_forward(&r, fw, n_sym);
        rewrite_backward(&r, bw);
    }
    aot_vec_free(&r.pairs);
    return AOT_OK;
}
