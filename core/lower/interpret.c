/* Runs an FX graph on values, node by node, as torch.fx.Interpreter does. */
#include "lower/internal.h"

#include <math.h>
#include <stdlib.h>

typedef struct runner {
    aot_tracer *t;
    const aot_graph *g;
    aot_value *value; /* by node */
} runner;

static aot_value value_of(runner *r, const aot_arg *a);

static const char *text_of(const runner *r, aot_str s)
{
    return aot_text(r->g->ctx, s);
}

/* Names may come from another context than the trace's. */
static aot_str str_in_trace(const runner *r, aot_str s)
{
    aot_ctx *c = aot_tracer_ctx(r->t);
    return c == r->g->ctx ? s : aot_intern_z(c->strs, text_of(r, s));
}

static const aot_value *items_of(runner *r, const aot_arg *a, uint32_t n)
{
    aot_value *v = AOT_NEW_ARRAY(aot_tracer_arena(r->t), aot_value, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        v[i] = value_of(r, &a[i]);
    }
    return v;
}

/* (1+2j), 2j, (-0-1e-05j) */
static aot_value complex_of(const char *s)
{
    aot_value v = {.kind = AOT_V_COMPLEX};
    s += *s == '(';
    char *end;
    double first = strtod(s, &end);
    if (*end == 'j') {
        v.u.z[1] = first;
    } else {
        v.u.z[0] = first;
        v.u.z[1] = strtod(end, NULL);
    }
    return v;
}

/* device(type='cuda', index=0); other objects are passed on as they stand. */
static aot_value object_of(runner *r, aot_str s)
{
    const char *text = text_of(r, s), *type;
    char quote[2] = {0}, name[32];
    int index;
    if (!aot_starts_with(text, "device(") || (type = strpbrk(text, "'\"")) == NULL) {
        return (aot_value){.kind = AOT_V_RAW, .u.s = str_in_trace(r, s)};
    }
    quote[0] = *type++;
    size_t n = strcspn(type, quote);
    n = n < sizeof name ? n : sizeof name - 1;
    memcpy(name, type, n);
    name[n] = '\0';
    const char *at = strstr(text, "index=");
    aot_sb b = {0};
    aot_sb_addz(&b, name);
    if (at != NULL && sscanf(at, "index=%d", &index) == 1) {
        aot_sb_addf(&b, ":%d", index);
    }
    aot_value v = aot_v_device(aot_intern(aot_tracer_ctx(r->t)->strs, b.d, b.n));
    aot_sb_free(&b);
    return v;
}

static aot_value name_of(runner *r, aot_str s)
{
    const char *text = text_of(r, s);
    aot_dtype d = aot_dtype_of_torch(text, strlen(text));
    if (d != AOT_NO_DTYPE) {
        return aot_v_dtype(d);
    }
    if (strcmp(text, "Ellipsis") == 0 || strcmp(text, "...") == 0) {
        return (aot_value){.kind = AOT_V_ELLIPSIS};
    }
    return (aot_value){.kind = AOT_V_NAME, .u.s = str_in_trace(r, s)};
}

static aot_value value_of(runner *r, const aot_arg *a)
{
    aot_value v = {.kind = AOT_V_NONE};
    const aot_arg *items = aot_arg_items(r->g, a);
    switch ((aot_arg_kind)a->kind) {
    case AOT_ARG_NONE:
        return v;
    case AOT_ARG_NODE:
        return r->value[a->u.node];
    case AOT_ARG_INT:
        return aot_v_int(a->u.i);
    case AOT_ARG_FLOAT:
        return aot_v_float(a->u.f);
    case AOT_ARG_BOOL:
        return aot_v_bool(a->u.i != 0);
    case AOT_ARG_STR:
        return (aot_value){.kind = AOT_V_STR, .u.s = str_in_trace(r, a->u.s)};
    case AOT_ARG_NAME:
        return name_of(r, a->u.s);
    case AOT_ARG_COMPLEX:
        return complex_of(text_of(r, a->u.s));
    case AOT_ARG_RAW:
        return object_of(r, a->u.s);
    case AOT_ARG_LIST:
        v.kind = AOT_V_LIST;
        break;
    case AOT_ARG_TUPLE:
        v.kind = AOT_V_TUPLE;
        break;
    case AOT_ARG_DICT:
        v.kind = AOT_V_DICT;
        break;
    case AOT_ARG_SLICE:
        v.kind = AOT_V_SLICE;
        break;
    case AOT_ARG_CALL: /* a named tuple: its values */
        v.kind = AOT_V_TUPLE;
        v.n = a->n - 1;
        v.u.items = items_of(r, items + 1, a->n - 1);
        return v;
    }
    v.n = a->n;
    v.u.items = items_of(r, items, a->n);
    if (v.kind == AOT_V_SLICE && v.n < 3) { /* slice(stop), slice(start, stop) */
        const aot_value *given = v.u.items;
        aot_value three[3] = {aot_v_none(), given[0], aot_v_none()};
        if (v.n == 2) {
            three[0] = given[0];
            three[1] = given[1];
        }
        v.u.items = aot_v_tuple(r->t, 3, three).u.items;
        v.n = 3;
    }
    return v;
}

static aot_value attr_of(runner *r, aot_node_id id)
{
    const aot_node *n = aot_node_at(r->g, id);
    if (n->subgraph != 0) {
        return (aot_value){.kind = AOT_V_GRAPH,
                           .name = str_in_trace(r, n->target),
                           .u.graph = r->g->subgraphs.d[n->subgraph - 1]};
    }
    return aot_tracer_attr(r->t, r->g, id);
}

/* Python arithmetic on symbols that gives a symbolic float or truth value. */
static bool is_symbolic_number(const runner *r, const aot_node *n, const aot_pycall *k)
{
    const aot_meta *m = aot_meta_get(r->g->ctx, n->meta);
    bool number = m->val == AOT_VAL_SYM && m->sym_kind != AOT_SYM_INT && !k->is_method &&
                  k->n_kw == 0 && !aot_starts_with(k->target, "torch.ops."), any = false;
    for (unsigned i = 0; number && i < k->n; i++) {
        number = aot_v_is_number(k->args[i]);
        any |= aot_v_is_symbol(k->args[i]);
    }
    return number && any;
}

static aot_value call_of(runner *r, const aot_node *n)
{
    aot_pycall k = {
        .t = r->t, .target = text_of(r, n->target), .n = n->n_args, .n_kw = n->n_kwargs};
    const aot_arg *kw = aot_node_kwargs(r->g, n);
    aot_str *names = AOT_NEW_ARRAY(aot_tracer_arena(r->t), aot_str, k.n_kw + 1);
    aot_value *values = AOT_NEW_ARRAY(aot_tracer_arena(r->t), aot_value, k.n_kw + 1);
    k.args = items_of(r, aot_node_args(r->g, n), n->n_args);
    for (unsigned i = 0; i < k.n_kw; i++) {
        names[i] = str_in_trace(r, kw[2 * i].u.s);
        values[i] = value_of(r, &kw[2 * i + 1]);
    }
    k.kw_names = names;
    k.kw = values;
    k.is_method = n->kind == AOT_CALL_METHOD;
    return is_symbolic_number(r, n, &k) ? aot_trace_number(r->t, k.target, k.n, k.args)
                                        : aot_lower_call(&k);
}

aot_value aot_interpret(aot_tracer *t, const aot_graph *g, unsigned n, const aot_value *inputs)
{
    runner r = {.t = t, .g = g};
    unsigned n_in = 0;
    r.value = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, g->nodes.n + 1);
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        const aot_node *node = aot_node_at(g, id);
        switch ((aot_node_kind)node->kind) {
        case AOT_PLACEHOLDER:
            if (n_in >= n) {
                aot_trace_fail(t, AOT_E_GRAPH, "the graph has more inputs than the %u values given",
                               n);
            }
            r.value[id] = inputs[n_in++];
            break;
        case AOT_GET_ATTR:
            aot_tracer_at(t, g, id);
            r.value[id] = attr_of(&r, id);
            break;
        case AOT_CALL_FUNCTION:
        case AOT_CALL_METHOD:
            aot_tracer_at(t, g, id);
            r.value[id] = call_of(&r, node);
            break;
        case AOT_CALL_MODULE:
            aot_tracer_at(t, g, id);
            aot_trace_fail(t, AOT_E_UNSUPPORTED,
                           "%s calls the module %s, whose code the graph does not have",
                           aot_node_name(g, id), aot_node_target(g, id));
        case AOT_OUTPUT:
            return node->n_args > 0 ? value_of(&r, aot_node_args(g, node)) : aot_v_none();
        }
    }
    return aot_v_none();
}
