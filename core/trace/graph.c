/* Inputs, outputs and the finished graphs of a trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

static aot_node_id placeholder(aot_tracer *t, aot_level l, const char *name, aot_meta_id meta,
                               const char *desc)
{
    aot_node n = {.kind = AOT_PLACEHOLDER,
                  .target = aot_intern_z(t->c->strs, name),
                  .meta = meta,
                  .desc = desc != NULL ? aot_intern_z(t->c->strs, desc) : 0};
    return tr_emit(t, l, n, name, 0, NULL);
}

aot_tensor *aot_trace_input_tensor(aot_tracer *t, const char *name, aot_meta_id meta,
                                   bool requires_grad, const char *desc)
{
    aot_tensor *inner = tr_tensor_new(t, meta), *x = tr_wrap(t, inner);
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        aot_node_id id = placeholder(t, (aot_level)l, name, meta, desc);
        tr_bind_tensor(t, (aot_level)l, id, l >= AOT_LEVEL_FUNCTIONAL ? inner : x);
    }
    x->requires_grad = requires_grad;
    return x;
}

aot_value aot_trace_input_symbol(aot_tracer *t, const char *name, aot_meta_id meta,
                                 const char *desc)
{
    aot_dim d = aot_meta_get(t->c, meta)->sym;
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        tr_sym_of_node(t, (aot_level)l, d, placeholder(t, (aot_level)l, name, meta, desc));
    }
    aot_value v = aot_v_dim(d);
    v.kind = aot_meta_get(t->c, meta)->sym_kind == AOT_SYM_BOOL ? AOT_V_BOOL : AOT_V_INT;
    return v;
}

aot_value aot_trace_input_constant(aot_tracer *t, const char *name, const char *desc)
{
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        (void)placeholder(t, (aot_level)l, name, 0, desc);
    }
    return aot_v_none();
}

/* A tensor that the module holds: a get_attr at each level. */
static aot_tensor *attribute(aot_tracer *t, const char *name, aot_meta_id meta)
{
    aot_tensor *inner = tr_tensor_new(t, meta), *x = tr_wrap(t, inner);
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        aot_node n = {.kind = AOT_GET_ATTR, .target = aot_intern_z(t->c->strs, name), .meta = meta};
        aot_node_id id = tr_emit(t, (aot_level)l, n, name, 0, NULL);
        tr_bind_tensor(t, (aot_level)l, id, l >= AOT_LEVEL_FUNCTIONAL ? inner : x);
    }
    return x;
}

void aot_tracer_set_attr(aot_tracer *t, aot_str name, aot_tensor *x)
{
    while (t->attrs.n <= name) {
        aot_vec_push(&t->attrs, NULL);
    }
    t->attrs.d[name] = x;
}

aot_value aot_tracer_attr(aot_tracer *t, const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    const char *name = aot_text(g->ctx, n->target);
    aot_str key = aot_intern_z(t->c->strs, name);
    if (aot_meta_get(g->ctx, n->meta)->val != AOT_VAL_TENSOR) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "attribute %s has no tensor type in the text", name);
    }
    if (t->attrs.n <= key || t->attrs.d[key] == NULL) {
        aot_tracer_set_attr(t, key, attribute(t, name, n->meta));
    }
    return aot_v_tensor(t->attrs.d[key]);
}

aot_tensor *aot_tracer_constant(aot_tracer *t, const aot_fake *type)
{
    aot_tensor *x = attribute(t, aot_arena_printf(t->a, "_tensor_constant%u", t->next_constant++),
                              aot_fake_meta(t->c, type));
    return t->mode == MODE_TOP ? x : x->inner;
}

void aot_tracer_constant_is(aot_tracer *t, const char *numbers)
{
    char name[48];
    snprintf(name, sizeof name, "_tensor_constant%u", t->next_constant - 1);
    if (aot_ctx_constant(t->c, aot_intern_z(t->c->strs, name)) == NULL) {
        char *end;
        long long whole = strtoll(numbers, &end, 10);
        aot_arg a = {.kind = AOT_ARG_INT, .u.i = whole};
        if (end[strspn(end, " ")] != '\0' ||
            end == numbers) { // no lone integer: a lone float, or many
            double f = strtod(numbers, &end);
            a = end[strspn(end, " ")] == '\0'
                    ? (aot_arg){.kind = AOT_ARG_FLOAT, .u.f = f}
                    : (aot_arg){.kind = AOT_ARG_RAW, .u.s = aot_intern_z(t->c->strs, numbers)};
        }
        aot_ctx_set_constant(t->c, name, a);
    }
}

void **aot_tracer_lower_slot(aot_tracer *t)
{
    return &t->lower_slot;
}

void aot_trace_output(aot_tracer *t, aot_level l, aot_value v)
{
    aot_node n = {.kind = AOT_OUTPUT, .target = aot_intern_z(t->c->strs, "output")};
    t->src = (aot_src){.ac_graph_id = -1};
    tr_emit(t, l, n, "output", 1, &v);
}

/* ---- facts for the analysis ------------------------------------------------------------------ */

void aot_trace_sync(aot_tracer *t, aot_tensor *x)
{
    tr_sync(t, x);
}

aot_tensor *aot_trace_inner(aot_tensor *x)
{
    return x->inner != NULL ? x->inner : x;
}

const void *aot_trace_storage(const aot_tensor *x)
{
    return x->storage;
}

unsigned aot_trace_mutations(const aot_tensor *x)
{
    return x->storage->n_mutations;
}

unsigned aot_trace_mutations_no_grad(const aot_tensor *x)
{
    return x->storage->n_no_grad;
}

bool aot_trace_metadata_mutated(const aot_tensor *x)
{
    return x->metadata_mutated;
}

aot_tensor *aot_trace_view_base(const aot_tensor *x)
{
    return x->base;
}

bool aot_trace_is_multi_view(const aot_tensor *x)
{
    return x->multi_view;
}

bool aot_trace_has_grad_fn(aot_tracer *t, aot_tensor *x)
{
    return tr_grad_fn(t, x) != NULL;
}

void aot_trace_copy_back(aot_tracer *t, aot_tensor *input, aot_tensor *value, bool follows)
{
    aot_value args[2] = {aot_v_tensor(input), aot_v_tensor(value)};
    t->src = (aot_src){.ac_graph_id = -1};
    for (int l = AOT_LEVEL_FUNCTIONAL; l < AOT_N_LEVELS; l++) {
        if (l == AOT_LEVEL_FUNCTIONAL && t->options.dry) {
            continue;
        }
        aot_node_id id = tr_emit_call(t, (aot_level)l, AOT_OP_aten_copy_, 2, args);
        t->level[l].g->nodes.d[id].meta = input->meta;
        input->node[l] = follows ? id : input->node[l];
    }
}

/* ---- finished graphs ------------------------------------------------------------------------- */

static void mark(void *arg, aot_node_id id)
{
    ((uint8_t *)arg)[id] = 1;
}

/* Under torch.compile random operators that nobody reads go too (unless Inductor falls back to
 * eager's). */
static bool stays(const aot_node *n)
{
    if (n->kind != AOT_CALL_FUNCTION) {
        return n->kind == AOT_PLACEHOLDER || n->kind == AOT_OUTPUT;
    }
    return (aot_op(n->op)->flags & (AOT_OPF_MUTATES | AOT_OPF_SIDE_EFFECT)) != 0;
}

/* Subgraphs stay modules of the graph, also those that nobody calls any more. */
static uint32_t keep_subgraph(aot_graph *to, const aot_graph *from, uint32_t subgraph)
{
    for (size_t i = 0; i < to->subgraphs.n; i++) {
        if (to->subgraphs.d[i] == from->subgraphs.d[subgraph - 1]) {
            return (uint32_t)i + 1;
        }
    }
    aot_vec_push(&to->subgraphs, from->subgraphs.d[subgraph - 1]);
    return (uint32_t)to->subgraphs.n;
}

aot_graph *aot_trace_graph(aot_tracer *t, aot_level l)
{
    level_graph *lg = &t->level[l];
    const aot_graph *g = lg->g;
    uint32_t n = (uint32_t)g->nodes.n;
    uint8_t *live = tr_alloc(t, n + 1, 1);
    aot_node_id *map = tr_alloc(t, n + 1, sizeof *map);
    bool all = l < AOT_LEVEL_FUNCTIONAL;
    for (uint32_t i = n; i-- > 0;) {
        const aot_node *node = &g->nodes.d[i];
        if (all || live[i] || stays(node)) {
            live[i] = 1;
            aot_node_each_input(g, node, mark, live);
        }
    }
    aot_graph *out = aot_graph_new(t->c);
    for (size_t i = 1; i < g->srcs.n; i++) {
        aot_vec_push(&out->srcs, g->srcs.d[i]);
    }
    AOT_VEC(origin) origins = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (live[i]) {
            map[i] = aot_graph_copy_node(out, g, i, map);
            aot_node *copy = aot_node_at(out, map[i]);
            if (copy->subgraph != 0) {
                copy->subgraph = keep_subgraph(out, g, copy->subgraph);
            }
            aot_vec_push(&origins, lg->origins.d[i]);
        } else if (g->nodes.d[i].subgraph != 0) {
            (void)keep_subgraph(out, g, g->nodes.d[i].subgraph);
        }
    }
    /* origins follow the finished graph's ids; parents are names' ids of the level above, which
     * keeps them by name since its own dead nodes go too */
    aot_vec_free(&lg->origins);
    lg->origins.d = origins.d;
    lg->origins.n = origins.n;
    lg->origins.cap = origins.cap;
    lg->finished = out;
    lg->map = map;
    lg->live = live;
    return out;
}

const char *aot_trace_rule_of(const aot_tracer *t, aot_level l, aot_node_id id)
{
    const level_graph *lg = &t->level[l];
    return id < lg->origins.n ? aot_text(t->c, lg->origins.d[id].rule) : "";
}

bool aot_trace_without_grad(const aot_tracer *t, aot_level l, aot_node_id id)
{
    const level_graph *lg = &t->level[l];
    return id < lg->origins.n && lg->origins.d[id].without_grad;
}

void aot_trace_in_function(aot_tracer *t, bool on)
{
    t->in_function = on;
}

aot_node_id aot_trace_aten_of(const aot_tracer *t, aot_node_id id)
{
    const level_graph *lg = &t->level[AOT_LEVEL_TRACED], *above = &t->level[AOT_LEVEL_ATEN];
    aot_node_id p = id < lg->origins.n ? lg->origins.d[id].aten : AOT_NO_NODE;
    return p == AOT_NO_NODE || above->live == NULL || !above->live[p] ? AOT_NO_NODE : above->map[p];
}

aot_node_id aot_trace_parent_of(const aot_tracer *t, aot_level l, aot_node_id id)
{
    const level_graph *lg = &t->level[l];
    if (l == AOT_LEVEL_ATEN || id >= lg->origins.n) {
        return AOT_NO_NODE;
    }
    const level_graph *above = &t->level[l - 1];
    aot_node_id p = lg->origins.d[id].parent;
    return p == AOT_NO_NODE || above->live == NULL || !above->live[p] ? AOT_NO_NODE
                                                                      : above->map[p];
}
