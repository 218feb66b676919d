/* Writing nodes: arguments as FX keeps them, symbols through the nodes that hold them, types by
 * META.
 * Mirrors torch/fx/experimental/proxy_tensor.py: proxy_call, track_tensor_tree, and the dropping of
 * default arguments in torch/csrc/utils/python_arg_parser / parseIValuesToPyArgsKwargs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/text.h"
#include "trace/internal.h"

/* ---- comments ------------------------------------------------------------------------------ */

/* The comment of the node being run; in a checkpointed region of the forward with its tags. */
static aot_src src_with_region(aot_tracer *t)
{
    aot_src s = t->src;
    if (t->region.id == 0 || t->in_backward) {
        return s;
    }
    s.ac_graph_id = t->region.id;
    s.policy = t->region.policy;
    if (t->region_plain != t->src.text) {
        t->region_text = aot_intern_z(
            t->c->strs, aot_arena_printf(t->a, "ac_graph_id: %d - %s%s%s", t->region.id,
                                         aot_policy_name((aot_policy)t->region.policy),
                                         t->src.text != 0 ? " " : "",
                                         t->src.text != 0 ? aot_text(t->c, t->src.text) : ""));
        t->region_plain = t->src.text;
    }
    s.text = t->region_text;
    return s;
}

static uint32_t src_of(aot_tracer *t, level_graph *lg)
{
    aot_src s = src_with_region(t);
    if (s.text == 0) {
        return 0;
    }
    if (lg->src_text != s.text) {
        aot_vec_push(&lg->g->srcs, s);
        lg->src = (uint32_t)(lg->g->srcs.n - 1);
        lg->src_text = s.text;
    }
    return lg->src;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static aot_str interned(aot_tracer *t, const char *text)
{
    return aot_intern_z(t->c->strs, text);
}

static aot_arg complex_arg(aot_tracer *t, const double z[2])
{
    aot_sb b = {0};
    bool both = z[0] != 0 || signbit(z[0]);
    aot_sb part = {0};
    if (both) {
        aot_sb_addz(&b, "(");
        aot_print_float(&b, z[0]);
        if (b.n > 2 && strcmp(b.d + b.n - 2, ".0") == 0) {
            b.d[b.n -= 2] = '\0';
        }
        aot_sb_addz(&b, z[1] < 0 || signbit(z[1]) ? "" : "+");
    }
    aot_print_float(&part, z[1]);
    if (part.n > 2 && strcmp(part.d + part.n - 2, ".0") == 0) {
        part.d[part.n -= 2] = '\0';
    }
    aot_sb_addf(&b, "%sj%s", part.d, both ? ")" : "");
    aot_arg a = {.kind = AOT_ARG_COMPLEX, .u.s = interned(t, b.d)};
    aot_sb_free(&b);
    aot_sb_free(&part);
    return a;
}

static aot_arg device_arg(aot_tracer *t, aot_str device)
{
    const char *s = aot_text(t->c, device), *colon = strchr(s, ':');
    char buf[96];
    if (colon == NULL) {
        snprintf(buf, sizeof buf, "device(type='%.40s')", s);
    } else {
        snprintf(buf, sizeof buf, "device(type='%.*s', index=%.12s)", (int)(colon - s), s,
                 colon + 1);
    }
    return (aot_arg){.kind = AOT_ARG_RAW, .u.s = interned(t, buf)};
}

static aot_arg node_arg(aot_tracer *t, aot_level l, aot_tensor *x)
{
    if (x->node[l] == AOT_NO_NODE) {
        aot_trace_fail(t, AOT_E_GRAPH, "a tensor %s is used that no node of the graph made",
                       aot_text(t->c, aot_meta_get(t->c, x->meta)->text));
    }
    return (aot_arg){.kind = AOT_ARG_NODE, .u.node = x->node[l]};
}

static aot_node_id emit_get_attr(aot_tracer *t, aot_level l, aot_value v)
{
    aot_graph *g = t->level[l].g;
    uint32_t i = 0;
    while (i < g->subgraphs.n && g->subgraphs.d[i] != v.u.graph) {
        i++;
    }
    if (i == g->subgraphs.n) {
        aot_vec_push(&g->subgraphs, (aot_graph *)(uintptr_t)v.u.graph);
    }
    aot_node n = {.kind = AOT_GET_ATTR, .target = v.name, .subgraph = i + 1};
    return tr_emit(t, l, n, aot_text(t->c, v.name), 0, NULL);
}

/* Quoted as repr does. */
static aot_arg str_arg(aot_tracer *t, aot_str s)
{
    const char *text = aot_text(t->c, s);
    bool within = strchr(text, '\'') != NULL && strchr(text, '"') == NULL;
    return (aot_arg){.kind = AOT_ARG_STR, .quote = within ? '"' : '\'', .u.s = s};
}

static aot_arg to_arg(aot_tracer *t, aot_level l, aot_value v);

static aot_arg items_arg(aot_tracer *t, aot_level l, aot_value v, aot_arg_kind kind)
{
    aot_arg *items = tr_alloc(t, v.n + 1, sizeof *items);
    for (unsigned i = 0; i < v.n; i++) {
        items[i] = to_arg(t, l, v.u.items[i]);
    }
    return (aot_arg){.kind = (uint8_t)kind,
                     .n = v.n,
                     .u.first = aot_graph_add_args(t->level[l].g, items, v.n)};
}

static aot_arg to_arg(aot_tracer *t, aot_level l, aot_value v)
{
    switch ((aot_value_kind)v.kind) {
    case AOT_V_NONE: return (aot_arg){.kind = AOT_ARG_NONE};
    case AOT_V_TENSOR: return node_arg(t, l, v.u.t);
    case AOT_V_INT: return tr_sym_arg(t, l, v.u.dim);
    case AOT_V_BOOL:
        return v.u.dim.expr != 0 ? tr_sym_arg(t, l, v.u.dim)
                                 : (aot_arg){.kind = AOT_ARG_BOOL, .u.i = v.u.dim.value};
    case AOT_V_FLOAT:
        return v.name != 0 ? tr_sym_arg(t, l, (aot_dim){.expr = v.name})
                           : (aot_arg){.kind = AOT_ARG_FLOAT, .u.f = v.u.f};
    case AOT_V_COMPLEX: return complex_arg(t, v.u.z);
    case AOT_V_STR: return str_arg(t, v.u.s);
    case AOT_V_DTYPE:
        return (aot_arg){.kind = AOT_ARG_NAME,
                         .u.s = interned(t, aot_dtype_get((aot_dtype)v.u.dim.value)->torch_name)};
    case AOT_V_DEVICE: return device_arg(t, v.u.s);
    case AOT_V_NAME: return (aot_arg){.kind = AOT_ARG_NAME, .u.s = v.u.s};
    case AOT_V_RAW: return (aot_arg){.kind = AOT_ARG_RAW, .u.s = v.u.s};
    case AOT_V_LIST: return items_arg(t, l, v, AOT_ARG_LIST);
    case AOT_V_TUPLE: return items_arg(t, l, v, AOT_ARG_TUPLE);
    case AOT_V_DICT: return items_arg(t, l, v, AOT_ARG_DICT);
    case AOT_V_SLICE: return items_arg(t, l, v, AOT_ARG_SLICE);
    case AOT_V_ELLIPSIS: return (aot_arg){.kind = AOT_ARG_RAW, .u.s = interned(t, "Ellipsis")};
    case AOT_V_GRAPH:
        return (aot_arg){.kind = AOT_ARG_NODE, .u.node = emit_get_attr(t, l, v)};
    }
    return (aot_arg){.kind = AOT_ARG_NONE};
}

static bool same_value(aot_value a, aot_value b)
{
    if (a.kind != b.kind) {
        return aot_v_is_list(a) && aot_v_is_list(b) && a.n == 0 && b.n == 0;
    }
    switch ((aot_value_kind)a.kind) {
    case AOT_V_NONE:
    case AOT_V_ELLIPSIS: return true;
    case AOT_V_TENSOR: return a.u.t == b.u.t;
    case AOT_V_INT:
    case AOT_V_BOOL:
    case AOT_V_DTYPE: return aot_dim_same(a.u.dim, b.u.dim);
    case AOT_V_FLOAT: return a.name == b.name && (a.name != 0 || a.u.f == b.u.f);
    case AOT_V_COMPLEX: return a.u.z[0] == b.u.z[0] && a.u.z[1] == b.u.z[1];
    case AOT_V_STR:
    case AOT_V_DEVICE:
    case AOT_V_NAME:
    case AOT_V_RAW: return a.u.s == b.u.s;
    case AOT_V_GRAPH: return a.u.graph == b.u.graph;
    default: break;
    }
    if (a.n != b.n) {
        return false;
    }
    for (unsigned i = 0; i < a.n; i++) {
        if (!same_value(a.u.items[i], b.u.items[i])) {
            return false;
        }
    }
    return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static aot_node_id parent_at(const aot_tracer *t, aot_level l)
{
    return l == AOT_LEVEL_JOINT        ? t->functional_parent
           : l == AOT_LEVEL_FUNCTIONAL ? t->traced_parent
                                       : AOT_NO_NODE;
}

static aot_node_id add(aot_tracer *t, aot_level l, aot_node *n, const char *name)
{
    level_graph *lg = &t->level[l];
    n->name = aot_namespace_create(lg->names, name, strlen(name));
    n->src = n->kind == AOT_PLACEHOLDER ? 0 : src_of(t, lg);
    n->policy = n->kind == AOT_PLACEHOLDER ? 0 : lg->g->srcs.d[n->src].policy;
    aot_vec_push(&lg->origins, ((origin){t->rule, parent_at(t, l), AOT_NO_NODE,
                                         !t->grad_enabled && !t->in_function && !t->in_backward}));
    return aot_graph_add(lg->g, n);
}

aot_node_id tr_emit_kw(aot_tracer *t, aot_level l, aot_node n, const char *name, unsigned n_args,
                       const aot_value *args, unsigned n_kw, const char *const *kw_names)
{
    aot_arg *a = tr_alloc(t, n_args + 2 * n_kw + 1, sizeof *a), *kw = a + n_args;
    for (unsigned i = 0; i < n_args; i++) {
        a[i] = to_arg(t, l, args[i]);
    }
    for (unsigned i = 0; i < n_kw; i++) {
        kw[2 * i] = (aot_arg){.kind = AOT_ARG_NAME, .u.s = interned(t, kw_names[i])};
        kw[2 * i + 1] = to_arg(t, l, args[n_args + i]);
    }
    n.args = aot_graph_add_args(t->level[l].g, a, n_args);
    n.n_args = (uint16_t)n_args;
    n.kwargs = aot_graph_add_args(t->level[l].g, kw, 2 * n_kw);
    n.n_kwargs = (uint16_t)n_kw;
    return add(t, l, &n, name);
}

aot_node_id tr_emit(aot_tracer *t, aot_level l, aot_node n, const char *name, unsigned n_args,
                    const aot_value *args)
{
    return tr_emit_kw(t, l, n, name, n_args, args, 0, NULL);
}

aot_node_id tr_emit_call(aot_tracer *t, aot_level l, aot_op_id op, unsigned n,
                         const aot_value *args)
{
    const op_facts *f = tr_op(t, op);
    aot_arg *a = tr_alloc(t, 3 * n + 1, sizeof *a);
    unsigned n_pos = 0, n_kw = 0;
    unsigned positional = n < f->schema.n_positional ? n : f->schema.n_positional;
    while (positional > 0 && f->schema.args[positional - 1].def.n != 0 &&
           same_value(args[positional - 1], f->defaults[positional - 1])) {
        positional--;
    }
    for (unsigned i = 0; i < positional; i++) {
        a[n_pos++] = to_arg(t, l, args[i]);
    }
    aot_arg *kw = a + n;
    for (unsigned i = f->schema.n_positional; i < n; i++) {
        if (f->schema.args[i].def.n == 0 || !same_value(args[i], f->defaults[i])) {
            aot_span name = f->schema.args[i].name;
            kw[2 * n_kw] = (aot_arg){.kind = AOT_ARG_NAME,
                                     .u.s = aot_intern(t->c->strs, name.s, name.n)};
            kw[2 * n_kw + 1] = to_arg(t, l, args[i]);
            n_kw++;
        }
    }
    aot_graph *g = t->level[l].g;
    aot_node node = {.kind = AOT_CALL_FUNCTION, .op = op < AOT_N_OPS ? op : AOT_OP_UNKNOWN,
                     .target = f->target};
    node.args = aot_graph_add_args(g, a, n_pos);
    node.n_args = (uint16_t)n_pos;
    node.kwargs = aot_graph_add_args(g, kw, 2 * n_kw);
    node.n_kwargs = (uint16_t)n_kw;
    return add(t, l, &node, aot_text(t->c, f->name));
}

void tr_bind_tensor(aot_tracer *t, aot_level l, aot_node_id id, aot_tensor *x)
{
    x->node[l] = id;
    t->level[l].g->nodes.d[id].meta = x->meta;
    tr_sym_of_dims(t, l, x, x->type->size, false);
    tr_sym_of_dims(t, l, x, x->type->stride, true);
}

static void bind_items(aot_tracer *t, aot_level l, aot_node_id id, aot_value list)
{
    static const char target[] = "operator.getitem";
    for (unsigned i = 0; i < list.n; i++) {
        aot_value v = list.u.items[i];
        aot_graph *g = t->level[l].g;
        aot_arg args[2] = {{.kind = AOT_ARG_NODE, .u.node = id},
                           {.kind = AOT_ARG_INT, .u.i = i}};
        aot_node n = {.kind = AOT_CALL_FUNCTION,
                      .op = AOT_OP_GETITEM,
                      .target = aot_intern_z(t->c->strs, target),
                      .args = aot_graph_add_args(g, args, 2),
                      .n_args = 2};
        aot_node_id item = add(t, l, &n, "getitem");
        if (v.kind == AOT_V_TENSOR) {
            tr_bind_tensor(t, l, item, v.u.t);
        } else if (v.kind == AOT_V_INT) {
            tr_sym_of_node(t, l, v.u.dim, item);
        }
    }
}

void tr_bind(aot_tracer *t, aot_level l, aot_node_id id, aot_value result)
{
    if (result.kind == AOT_V_TENSOR) {
        tr_bind_tensor(t, l, id, result.u.t);
    } else if (aot_v_is_list(result)) {
        bind_items(t, l, id, result);
    } else if (result.kind == AOT_V_INT || result.kind == AOT_V_BOOL) {
        tr_sym_of_node(t, l, result.u.dim, id);
    } else if (result.kind == AOT_V_FLOAT) {
        tr_sym_of_node(t, l, (aot_dim){.expr = result.name}, id);
    }
}

/* ---- types ----------------------------------------------------------------------------------- */

static aot_value value_of_fake(aot_tracer *t, const aot_fake *f)
{
    if (f->val == AOT_VAL_TENSOR) {
        return aot_v_tensor(tr_tensor_new(t, aot_fake_meta(t->c, f)));
    }
    if (f->val == AOT_VAL_SYM) {
        aot_value v = aot_v_dim(f->sym);
        v.kind = f->sym_kind == AOT_SYM_BOOL ? AOT_V_BOOL : AOT_V_INT;
        return v;
    }
    return aot_v_none();
}

static aot_value values_of_call(aot_tracer *t, const op_facts *f, const aot_call *k)
{
    bool tuple = f->schema.n_returns > 1;
    if (!tuple && !f->returns_list) {
        return k->outs.n != 0 ? value_of_fake(t, &k->outs.d[0]) : aot_v_none();
    }
    aot_value *items = tr_alloc(t, k->outs.n + 1, sizeof *items);
    for (unsigned i = 0; i < k->outs.n; i++) {
        items[i] = value_of_fake(t, &k->outs.d[i]);
    }
    return (aot_value){.kind = tuple ? AOT_V_TUPLE : AOT_V_LIST,
                       .n = (uint32_t)k->outs.n,
                       .u.items = items};
}

aot_value tr_emit_inner(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    const op_facts *f = tr_op(t, op);
    aot_node_id id = tr_emit_call(t, AOT_LEVEL_JOINT, op, n, args);
    aot_graph *g = t->level[AOT_LEVEL_JOINT].g;
    if (f->schema.n_returns == 0) {
        return aot_v_none();
    }
    // what the element is, only the program's graph says
    if (op == AOT_OP_aten__local_scalar_dense) {
        aot_value number = tr_item(t, &g->nodes.d[id].meta);
        tr_bind(t, AOT_LEVEL_JOINT, id, number);
        return number;
    }
    if (op >= AOT_N_OPS || (t->believed != NULL && t->believed_op == op)) {
        aot_value stated = tr_stated_types(t);
        if (stated.kind == AOT_V_NONE) {
            aot_trace_fail(
                t, AOT_E_UNSUPPORTED,
                "%s: no fake implementation is known here, and the Dynamo graph states no "
                "type for its result",
                tr_op_text(t, op));
        }
        tr_bind(t, AOT_LEVEL_JOINT, id, stated);
        return stated;
    }
    aot_call k;
    aot_err err = {0};
    aot_status s = aot_fake_run(&k, t->c, g, id, &err);
    aot_value out = aot_v_none();
    if (s == AOT_OK) {
        tr_rebind(t, &k);
        out = values_of_call(t, f, &k);
    }
    aot_call_free(&k);
    if (s == AOT_E_UNSUPPORTED && tr_may_believe(t, op)) {
        out = tr_stated_types(t);
        t->level[AOT_LEVEL_JOINT].origins.d[id].rule = tr_believed(t, "type", tr_op_text(t, op));
    }
    if (s != AOT_OK && out.kind == AOT_V_NONE) {
        aot_trace_fail(t, s, "%s", err.msg);
    }
    if (out.kind == AOT_V_INT && out.u.dim.expr != 0) {
        aot_sb text = {0};
        aot_sb_addf(&text, "Sym(%s)", aot_text(t->c, out.u.dim.expr));
        g->nodes.d[id].meta = aot_ctx_meta(t->c, text.d, text.n);
        aot_sb_free(&text);
    }
    tr_bind(t, AOT_LEVEL_JOINT, id, out);
    return out;
}
