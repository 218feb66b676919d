#include "trace/hop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

/* ---- regions --------------------------------------------------------------------------------- */

aot_region aot_trace_region(aot_tracer *t, aot_region region)
{
    aot_region was = t->region;
    t->region = region;
    t->region_plain = UINT32_MAX; // no comment: the tags have changed
    return was;
}

int32_t aot_trace_next_region(aot_tracer *t)
{
    return ++t->n_regions;
}

const aot_graph *aot_trace_current_graph(const aot_tracer *t)
{
    return t->at_graph;
}

/* ---- graphs traced apart --------------------------------------------------------------------- */

typedef struct apart {
    aot_tracer *outer;
    aot_body_fn *fn;
    void *arg;
    unsigned n;
    const aot_value *inputs;
    bool grad;
    aot_value out;
} apart;

static aot_value input_of(aot_tracer *t, const apart *a, unsigned i, unsigned *next)
{
    char name[32];
    aot_value v = a->inputs[i];
    if (v.kind == AOT_V_TENSOR) {
        snprintf(name, sizeof name, "arg%u_1", (*next)++);
        return aot_v_tensor(aot_trace_input_tensor(t, name, v.u.t->meta,
                                                   a->grad && v.u.t->requires_grad, NULL));
    }
    if ((v.kind == AOT_V_INT || v.kind == AOT_V_BOOL) && v.u.dim.expr != 0) {
        snprintf(name, sizeof name, "arg%u_1", (*next)++);
        const char *text = aot_arena_printf(t->a, "Sym(%s)", aot_text(t->c, v.u.dim.expr));
        return aot_trace_input_symbol(t, name, aot_ctx_meta(t->c, text, strlen(text)), NULL);
    }
    return v;
}

static aot_tensor *synced_inner(void *arg, aot_tensor *x)
{
    aot_tracer *t = arg;
    tr_sync(t, x);
    return x->inner != NULL ? x->inner : x;
}

static void see_unmade(void *arg, aot_tensor *x)
{
    *(bool *)arg |= x->node[AOT_LEVEL_ATEN] == AOT_NO_NODE;
}

static void run_apart(aot_tracer *t, void *arg)
{
    apart *a = arg;
    aot_value *in = tr_alloc(t, a->n + 1, sizeof *in);
    unsigned next = 0;
    for (unsigned i = 0; i < a->n; i++) {
        in[i] = input_of(t, a, i, &next);
    }
    a->out = a->fn(t, a->arg, a->n, in);
    aot_value inner = tr_map_tensors(t, a->out, synced_inner, t);
    bool gradients = false; // they are not at the level of the forward alone
    tr_each_tensor(a->out, see_unmade, &gradients);
    for (int l = gradients ? AOT_LEVEL_TRACED : AOT_LEVEL_ATEN; l < AOT_N_LEVELS; l++) {
        aot_trace_output(t, (aot_level)l, l >= AOT_LEVEL_FUNCTIONAL ? inner : a->out);
    }
}

static aot_tensor *type_in_outer(void *arg, aot_tensor *x)
{
    return tr_tensor_new(arg, x->meta);
}

aot_subgraph *aot_trace_apart(aot_tracer *t, aot_body_fn *fn, void *arg, unsigned n,
                              const aot_value *inputs, bool grad)
{
    apart a = {t, fn, arg, n, inputs, grad, aot_v_none()};
    aot_err err = {0};
    aot_tracer *in = aot_tracer_new(t->c, &t->options);
    in->options.dry = false;
    in->grad_enabled = t->grad_enabled;
    in->src = t->src;
    for (size_t i = 0; i < t->autocast.n; i++) {
        aot_vec_push(&in->autocast, t->autocast.d[i]);
    }
    aot_status s = aot_tracer_run(in, run_apart, &a, &err);
    aot_subgraph *sub = tr_alloc(t, 1, sizeof *sub);
    for (int l = 0; s == AOT_OK && l < AOT_N_LEVELS; l++) {
        aot_graph *g = aot_trace_graph(in, (aot_level)l);
        g->class_name = aot_intern_z(t->c->strs, "<lambda>");
        sub->graph[l] = g;
    }
    if (s == AOT_OK) {
        sub->out = tr_map_tensors(t, a.out, type_in_outer, t);
    }
    aot_tracer_free(in);
    if (s != AOT_OK) {
        aot_trace_fail(t, s, "%s", err.msg);
    }
    return sub;
}

/* ---- calls ----------------------------------------------------------------------------------- */

unsigned aot_hop_number(aot_tracer *t, const char *prefix)
{
    aot_str p = aot_intern_z(t->c->strs, prefix);
    unsigned i = 0;
    while (i < t->attributes.n && t->attributes.d[i].prefix != p) {
        i++;
    }
    if (i == t->attributes.n) {
        aot_vec_push(&t->attributes, ((attribute_count){p, 0}));
    }
    return t->attributes.d[i].n++;
}

aot_value aot_v_subgraph(aot_tracer *t, const aot_subgraph *s, const char *prefix, unsigned number)
{
    aot_vec_push(&t->subgraphs, s);
    aot_str name = aot_intern_z(t->c->strs, aot_arena_printf(t->a, "%s%u", prefix, number));
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        ((aot_graph *)(uintptr_t)s->graph[l])->attr_name = name;
    }
    return (aot_value){.kind = AOT_V_GRAPH,
                       .name = name,
                       .u.graph = s->graph[AOT_LEVEL_JOINT]};
}

/* The graph of a level in place of that of the last one. */
static aot_value at_level(aot_tracer *t, aot_level l, aot_value v)
{
    if (v.kind == AOT_V_GRAPH) {
        for (size_t i = 0; i < t->subgraphs.n; i++) {
            if (t->subgraphs.d[i]->graph[AOT_LEVEL_JOINT] == v.u.graph) {
                v.u.graph = t->subgraphs.d[i]->graph[l];
                break;
            }
        }
        return v;
    }
    if (!aot_v_is_list(v) && v.kind != AOT_V_DICT) {
        return v;
    }
    aot_value *items = tr_alloc(t, v.n + 1, sizeof *items);
    for (unsigned i = 0; i < v.n; i++) {
        items[i] = at_level(t, l, v.u.items[i]);
    }
    v.u.items = items;
    return v;
}

static aot_node_id emit_hop(aot_tracer *t, aot_level l, const aot_hop *h, const aot_value *args,
                            const aot_value *kw)
{
    char target[96];
    snprintf(target, sizeof target, "torch.ops.higher_order.%s", h->name);
    aot_value *all = tr_alloc(t, h->n + h->n_kw + 1, sizeof *all);
    for (unsigned i = 0; i < h->n; i++) {
        all[i] = at_level(t, l, args[i]);
    }
    for (unsigned i = 0; i < h->n_kw; i++) {
        all[h->n + i] = at_level(t, l, kw[i]);
    }
    aot_node n = {.kind = AOT_CALL_FUNCTION,
                  .target = aot_intern_z(t->c->strs, target),
                  .op = aot_op_find(target, strlen(target))};
    return tr_emit_kw(t, l, n, h->name, h->n, all, h->n_kw, h->kw_names);
}

static aot_value *mapped(aot_tracer *t, unsigned n, const aot_value *v)
{
    aot_value *inner = tr_alloc(t, n + 1, sizeof *inner);
    for (unsigned i = 0; i < n; i++) {
        inner[i] = tr_map_tensors(t, v[i], synced_inner, t);
    }
    return inner;
}

static aot_tensor *fresh_inner(void *arg, aot_tensor *x)
{
    return tr_tensor_new(arg, x->meta);
}

static aot_tensor *fresh_outer(void *arg, aot_tensor *x)
{
    return tr_wrap(arg, x);
}

aot_value aot_hop_call(aot_tracer *t, const aot_hop *h)
{
    bool above = !t->options.dry, forward = !t->in_backward;
    aot_node_id aten = AOT_NO_NODE, traced = AOT_NO_NODE, id;
    if (above && forward) {
        aten = emit_hop(t, AOT_LEVEL_ATEN, h, h->args, h->kw);
    }
    if (above) {
        traced = emit_hop(t, AOT_LEVEL_TRACED, h, h->args, h->kw);
    }
    aot_value *args = mapped(t, h->n, h->args), *kw = mapped(t, h->n_kw, h->kw);
    aot_value inner = tr_map_tensors(t, h->out, fresh_inner, t);
    aot_node_id was_traced = t->traced_parent, was_functional = t->functional_parent;
    t->traced_parent = traced;
    if (above) {
        id = emit_hop(t, AOT_LEVEL_FUNCTIONAL, h, args, kw);
        tr_bind(t, AOT_LEVEL_FUNCTIONAL, id, inner);
        t->functional_parent = id;
    }
    id = emit_hop(t, AOT_LEVEL_JOINT, h, args, kw);
    tr_bind(t, AOT_LEVEL_JOINT, id, inner);
    t->traced_parent = was_traced;
    t->functional_parent = was_functional;
    aot_value out = tr_map_tensors(t, inner, fresh_outer, t);
    if (aten != AOT_NO_NODE) {
        tr_bind(t, AOT_LEVEL_ATEN, aten, out);
    }
    if (traced != AOT_NO_NODE) {
        tr_bind(t, AOT_LEVEL_TRACED, traced, out);
    }
    return out;
}

aot_tensor *aot_hop_type(aot_tracer *t, const aot_fake *type)
{
    return tr_tensor_new(t, aot_fake_meta(t->c, type));
}

aot_tensor *aot_hop_first_slice(aot_tracer *t, const aot_tensor *x)
{
    if (x == NULL || x->type->ndim == 0) {
        aot_trace_fail(t, AOT_E_SHAPE, x == NULL ? "what is no tensor has no slices"
                                                 : "a tensor without dimensions has no slices");
    }
    const aot_fake *f = x->type;
    aot_fake s = aot_fake_new((aot_dtype)f->dtype, f->ndim - 1u, f->size + 1, f->device);
    aot_fake_set_contiguous(t->c, &s);
    aot_tensor *slice = aot_hop_type(t, &s);
    slice->requires_grad = x->requires_grad;
    return slice;
}

aot_tensor *aot_hop_stacked(aot_tracer *t, const aot_tensor *x, aot_dim n)
{
    if (x == NULL || x->type->ndim == AOT_FAKE_MAX_NDIM) {
        aot_trace_fail(t, AOT_E_SHAPE, x == NULL ? "a body run for slices gives tensors only"
                                                 : "results of too many dimensions to stack");
    }
    const aot_fake *f = x->type;
    aot_dim size[AOT_FAKE_MAX_NDIM + 1] = {n};
    memcpy(size + 1, f->size, f->ndim * sizeof *size);
    aot_fake s = aot_fake_new((aot_dtype)f->dtype, f->ndim + 1u, size, f->device);
    aot_fake_set_contiguous(t->c, &s);
    return aot_hop_type(t, &s);
}

void **aot_hop_slot(aot_tracer *t)
{
    return &t->hop_slot;
}

/* ---- gradients ------------------------------------------------------------------------------- */

void *aot_vjp_custom(const aot_vjp *b)
{
    return b->fn->custom;
}

aot_tensor *aot_vjp_grad_or_zeros(const aot_vjp *b, unsigned output)
{
    aot_tensor *g = aot_vjp_grad(b, output);
    const aot_fake *f = b->fn->out_type[output];
    if (g != NULL || f == NULL) {
        return g;
    }
    aot_tracer *t = b->t;
    return AOT(t, aten_zeros, ((aot_dims){f->size, f->ndim}), aot_v_dtype((aot_dtype)f->dtype),
               aot_v_name(t, "torch.strided"), aot_v_device(f->device));
}
