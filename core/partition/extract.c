/* Cutting a module out of the joint graph: given inputs and outputs, the nodes in between.
 * Mirrors: partitioners.py:_extract_graph_with_inputs_outputs, _extract_fwd_bwd_modules.
 * Differs: version counters of saved values and opaque objects are not printed, so all saved values
 * are taken as checked tensors; activation quantization is not built. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"

void part_side_free(part_side *s)
{
    aot_namespace_free(s->ns);
    s->ns = NULL;
}

#define INVALID AOT_NO_NODE

typedef struct extraction {
    const part *p;
    aot_graph *to;
    aot_namespace *ns;
    aot_node_id *env; /* old -> new; INVALID */
} extraction;

static void add_input(extraction *x, aot_node_id id)
{
    const aot_node *old = aot_node_at(x->p->g, id);
    aot_node n = {.kind = AOT_PLACEHOLDER, .meta = old->meta, .src = old->src, .policy = old->policy};
    n.desc = old->kind == AOT_PLACEHOLDER ? old->desc : 0;
    n.target = old->name;
    n.name = aot_namespace_create(x->ns, aot_text(x->p->ctx, old->name), aot_str_len(x->p->ctx->strs, old->name));
    x->env[id] = aot_graph_add(x->to, &n);
}

static bool inputs_valid(const extraction *x, uint32_t i)
{
    const aot_graph *g = x->p->g;
    for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
        if (x->env[g->in[k]] == INVALID) {
            return false;
        }
    }
    return true;
}

static void copy_nodes(extraction *x, const uint8_t *is_input, part_which which)
{
    const aot_graph *g = x->p->g;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        bool other = which == PART_FORWARD ? part_must_be_in_backward(x->p, i) : part_must_be_in_forward(x->p, i);
        if (is_input[i] || other || !inputs_valid(x, i)) {
            continue;
        }
        if (n->kind == AOT_CALL_FUNCTION || n->kind == AOT_GET_ATTR) {
            aot_node_id id = aot_graph_copy_node(x->to, g, i, x->env);
            aot_node *copy = aot_node_at(x->to, id);
            copy->name = aot_namespace_create(x->ns, aot_text(x->p->ctx, n->name), aot_str_len(x->p->ctx->strs, n->name));
            x->env[i] = id;
        }
    }
}

/* getitem(hop, key) of an operator whose kwargs name an input by that key: that input. */
static aot_node_id hop_input(const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    if (!aot_is_getitem(g, n) || n->n_args != 2) {
        return AOT_NO_NODE;
    }
    const aot_arg *a = aot_node_args(g, n);
    if (a[0].kind != AOT_ARG_NODE || a[1].kind != AOT_ARG_STR) {
        return AOT_NO_NODE;
    }
    const aot_arg *kw = aot_node_kwarg(g, aot_node_at(g, a[0].u.node), "kwargs");
    for (uint32_t k = 0; kw != NULL && kw->kind == AOT_ARG_DICT && k + 1 < kw->n; k += 2) {
        const aot_arg *item = aot_arg_items(g, kw) + k;
        if (item[0].kind == AOT_ARG_STR && item[0].u.s == a[1].u.s && item[1].kind == AOT_ARG_NODE) {
            return item[1].u.node;
        }
    }
    return AOT_NO_NODE;
}

/* What stands in for a forward output that only the backward can compute; INVALID if nothing does. */
static aot_node_id replacement(const extraction *x, aot_node_id id)
{
    const aot_graph *g = x->p->g;
    const aot_node *n = aot_node_at(g, id);
    const aot_arg *a = aot_node_args(g, n);
    if (part_target_is(g, n, "torch.ops.aten.copy_.default") && part_must_be_in_backward(x->p, id) &&
        a->kind == AOT_ARG_NODE && x->env[a->u.node] != INVALID) {
        return x->env[a->u.node];
    }
    aot_node_id from = AOT_NO_NODE;
    if ((part_target_is(g, n, "torch.ops.aten.view.default") || part_target_is(g, n, "torch.ops.aten.reshape.default")) &&
        a->kind == AOT_ARG_NODE) {
        from = hop_input(g, a->u.node);
    }
    if (from == AOT_NO_NODE || x->env[from] == INVALID) {
        from = hop_input(g, id);
    }
    return from != AOT_NO_NODE ? x->env[from] : INVALID;
}

/* The path by which an output depends on a value that this side cannot have, for the message. */
static void invalid_path(const extraction *x, aot_node_id id, aot_sb *out)
{
    const aot_graph *g = x->p->g;
    for (int steps = 0; steps < 12; steps++) {
        aot_sb_addf(out, "%s%s", steps != 0 ? " <- " : "", aot_node_name(g, id));
        aot_node_id next = AOT_NO_NODE;
        for (uint32_t k = g->in_off[id]; k < g->in_off[id + 1] && next == AOT_NO_NODE; k++) {
            next = x->env[g->in[k]] == INVALID ? g->in[k] : AOT_NO_NODE;
        }
        if (next == AOT_NO_NODE) {
            return;
        }
        id = next;
    }
    aot_sb_addz(out, " <- ...");
}

static aot_status add_output(extraction *x, const aot_arg *outputs, const aot_str *descs, uint32_t n, part_which which)
{
    aot_graph *to = x->to;
    AOT_VEC(aot_arg) items = {0};
    aot_status status = AOT_OK;
    for (uint32_t i = 0; i < n && status == AOT_OK; i++) {
        aot_arg a = outputs[i];
        if (a.kind == AOT_ARG_NODE) {
            aot_node_id id = x->env[a.u.node];
            id = id == INVALID ? replacement(x, a.u.node) : id;
            if (id == INVALID) {
                aot_sb path = {0};
                invalid_path(x, a.u.node, &path);
                status = AOT_FAIL(x->p->err, AOT_E_GRAPH, "node %s was invalid, but is output %u of the %s: %s",
                                  aot_node_name(x->p->g, a.u.node), i,
                                  which == PART_FORWARD ? "forward" : "backward", path.d);
                aot_sb_free(&path);
            }
            a.u.node = id;
        } else if (a.kind >= AOT_ARG_LIST) {
            a.u.first = aot_graph_copy_args(to, x->p->g, a.u.first, a.n, x->env);
        }
        aot_vec_push(&items, a);
        if (descs != NULL) {
            aot_vec_push(&to->out_descs, descs[i]);
        }
    }
    aot_arg tuple = {.kind = AOT_ARG_TUPLE, .n = (uint32_t)items.n};
    tuple.u.first = aot_graph_add_args(to, items.d, (uint32_t)items.n);
    aot_node out = {.kind = AOT_OUTPUT, .n_args = 1};
    out.args = aot_graph_add_args(to, &tuple, 1);
    out.name = aot_namespace_create(x->ns, "output", 6);
    out.target = out.name;
    aot_graph_add(to, &out);
    to->layout.has_out_descs = descs != NULL;
    aot_vec_free(&items);
    return status;
}

/* FX keeps a submodule only where a get_attr names it, in the order of those nodes. */
static void keep_used_subgraphs(aot_graph *g, const aot_graph *from)
{
    uint32_t *index = aot_xcalloc(from->subgraphs.n + 1, sizeof *index);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        aot_node *n = aot_node_at(g, i);
        if (n->kind == AOT_GET_ATTR && n->subgraph != 0) {
            if (index[n->subgraph] == 0) {
                aot_vec_push(&g->subgraphs, from->subgraphs.d[n->subgraph - 1]);
                index[n->subgraph] = (uint32_t)g->subgraphs.n;
            }
            n->subgraph = index[n->subgraph];
        }
    }
    free(index);
}

static bool keeps_in_module(const aot_graph *g, const aot_node *n, void *arg)
{
    return part_is_impure(g, n, ((const aot_config *)arg)->fallback_random);
}

aot_status part_extract(const part *p, part_side *out, const aot_node_id *inputs, uint32_t n_inputs,
                        const aot_arg *outputs, const aot_str *descs, uint32_t n_outputs, part_which which)
{
    const aot_graph *g = p->g;
    uint32_t n = (uint32_t)g->nodes.n;
    extraction x = {.p = p, .to = aot_graph_new(p->ctx), .ns = aot_namespace_new(p->ctx)};
    uint8_t *is_input = aot_xcalloc(n, 1);
    aot_node_id *map = NULL;
    aot_status status;
    x.env = aot_xmalloc(n * sizeof *x.env);
    memset(x.env, 0xff, n * sizeof *x.env);
    x.to->class_name = aot_intern_z(p->ctx->strs, "GraphModule");
    x.to->layout = (aot_layout){.expanded = g->layout.expanded};
    x.to->srcs.n = 0;
    aot_vec_grow(&x.to->srcs, g->srcs.n);
    memcpy(x.to->srcs.d, g->srcs.d, g->srcs.n * sizeof *g->srcs.d);
    x.to->srcs.n = g->srcs.n;
    for (uint32_t i = 0; i < n_inputs; i++) {
        add_input(&x, inputs[i]);
        is_input[inputs[i]] = 1;
    }
    copy_nodes(&x, is_input, which);
    status = add_output(&x, outputs, descs, n_outputs, which);
    if (status == AOT_OK) {
        aot_graph_link(x.to);
        map = aot_xcalloc(x.to->nodes.n, sizeof *map);
        out->g = part_eliminate_dead(x.to, keeps_in_module, (void *)(uintptr_t)p->config, map);
        keep_used_subgraphs(out->g, g);
        out->ns = x.ns;
    } else {
        aot_namespace_free(x.ns);
    }
    free(map);
    free(x.env);
    free(is_input);
    return status;
}

/* ---- both modules ----------------------------------------------------------------------------- */

static void append(part_ids *to, const part_ids *from)
{
    for (size_t i = 0; i < from->n; i++) {
        aot_vec_push(to, from->d[i]);
    }
}

static void append_placeholders(const part *p, part_ids *to, bool (*is)(const aot_graph *, const aot_node *))
{
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        if (is(p->g, aot_node_at(p->g, i))) {
            aot_vec_push(to, i);
        }
    }
}

static part_ids backward_inputs(const part *p, const part_ids *saved, const part_ids *sym)
{
    part_ids in = {0};
    append(&in, sym);
    append(&in, saved);
    append_placeholders(p, &in, part_is_tangent);
    append_placeholders(p, &in, part_is_bwd_seed);
    return in;
}

/* Unused, or used only by a wait on a collective that nothing else reads. */
static bool is_unused(const aot_graph *g, aot_node_id id)
{
    for (uint32_t k = g->user_off[id]; k < g->user_off[id + 1]; k++) {
        aot_node_id u = g->user[k];
        if (!part_target_is(g, aot_node_at(g, u), "torch.ops._c10d_functional.wait_tensor.default") ||
            aot_n_users(g, u) != 0) {
            return false;
        }
    }
    return true;
}

typedef struct symbols {
    const part *p;
    AOT_VEC(aot_str) names; /* of the value at hand */
    uint8_t *bound;         /* by aot_str */
    aot_node_id *binder;    /* by aot_str: 1 + node */
    size_t n_strs;
} symbols;

static void see_symbol(void *arg, const char *s, size_t n)
{
    symbols *y = arg;
    aot_vec_push(&y->names, aot_intern(y->p->ctx->strs, s, n));
}

/* The symbol that a node defines; 0 if it defines none (symbolic_shapes.py:is_symbol_binding_fx_node). */
static aot_str binds(const part *p, aot_node_id id)
{
    const aot_node *n = aot_node_at(p->g, id);
    const aot_meta *m = aot_meta_get(p->ctx, n->meta);
    if (m->val != AOT_VAL_SYM || m->sym_kind != AOT_SYM_INT || m->sym.expr == 0) {
        return 0;
    }
    const char *s = aot_text(p->ctx, m->sym.expr);
    size_t len = strlen(s);
    bool unbacked = s[0] == 'u';
    bool plain = len > 1 && (s[0] == 's' || s[0] == 'u') && strspn(s + 1, "0123456789") == len - 1;
    return plain && (n->kind == AOT_PLACEHOLDER || unbacked) ? m->sym.expr : 0;
}

static int compare_text(const void *a, const void *b, void *ctx)
{
    return strcmp(aot_text(ctx, *(const aot_str *)a), aot_text(ctx, *(const aot_str *)b));
}

static void value_symbols(symbols *y, aot_node_id id)
{
    const aot_ctx *c = y->p->ctx;
    const aot_meta *m = aot_meta_get(c, aot_node_at(y->p->g, id)->meta);
    y->names.n = 0;
    unsigned n = m->val == AOT_VAL_TENSOR ? m->ndim * (m->has_stride ? 2u : 1u) : 0;
    for (unsigned k = 0; k < n; k++) {
        aot_str e = aot_meta_sizes(c, m)[k].expr;
        if (e != 0) {
            aot_sym_each(aot_text(c, e), aot_str_len(c->strs, e), see_symbol, y);
        }
    }
    if (m->val == AOT_VAL_SYM && m->sym.expr != 0) {
        aot_sym_each(aot_text(c, m->sym.expr), aot_str_len(c->strs, m->sym.expr), see_symbol, y);
    }
    qsort_r(y->names.d, y->names.n, sizeof *y->names.d, compare_text, y->p->ctx);
}

static void bind_value(symbols *y, aot_node_id id, part_ids *binding)
{
    value_symbols(y, id);
    for (size_t k = 0; k < y->names.n; k++) {
        aot_str s = y->names.d[k];
        if (s < y->n_strs && !y->bound[s]) {
            y->bound[s] = 1;
            if (y->binder[s] != 0) {
                aot_vec_push(binding, y->binder[s] - 1);
            }
        }
    }
}

/* Every symbol that a backward input mentions must be bound by a saved symbol of its own; binding
 * symbols come first. */
static void complete_symbols(const part *p, const part_ids *saved, part_ids *sym)
{
    symbols y = {.p = p};
    part_ids binding = {0}, derived = {0}, tangents = {0};
    // intern first: the tables below are indexed by string
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        value_symbols(&y, i);
    }
    y.n_strs = aot_strtab_count(p->ctx->strs);
    y.bound = aot_xcalloc(y.n_strs, 1);
    y.binder = aot_xcalloc(y.n_strs, sizeof *y.binder);
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        aot_str s = binds(p, i);
        if (s != 0 && y.binder[s] == 0) {
            y.binder[s] = i + 1;
        }
    }
    for (size_t i = 0; i < sym->n; i++) {
        aot_str s = binds(p, sym->d[i]);
        if (s != 0) {
            y.bound[s] = 1;
            aot_vec_push(&binding, sym->d[i]);
        } else {
            aot_vec_push(&derived, sym->d[i]);
        }
    }
    for (size_t i = 0; i < derived.n; i++) {
        bind_value(&y, derived.d[i], &binding);
    }
    for (size_t i = 0; i < saved->n; i++) {
        bind_value(&y, saved->d[i], &binding);
    }
    append_placeholders(p, &tangents, part_is_tangent);
    for (size_t i = 0; i < tangents.n; i++) {
        bind_value(&y, tangents.d[i], &binding);
    }
    sym->n = 0;
    append(sym, &binding);
    append(sym, &derived);
    aot_vec_free(&binding);
    aot_vec_free(&derived);
    aot_vec_free(&tangents);
    aot_vec_free(&y.names);
    free(y.bound);
    free(y.binder);
}

static void drop_unused(const part *p, const part_side *bw, part_ids *saved, part_ids *sym)
{
    uint32_t *id_of = aot_xcalloc(aot_strtab_count(p->ctx->strs), sizeof(uint32_t));
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        id_of[aot_node_at(p->g, i)->name] = i;
    }
    uint8_t *dropped = aot_xcalloc(p->g->nodes.n, 1);
    for (uint32_t i = 0; i < bw->g->nodes.n; i++) {
        const aot_node *n = aot_node_at(bw->g, i);
        if (n->kind == AOT_PLACEHOLDER && is_unused(bw->g, i)) {
            dropped[id_of[n->name]] = 1;
        }
    }
    part_ids *lists[] = {saved, sym};
    for (int k = 0; k < 2; k++) {
        size_t kept = 0;
        for (size_t i = 0; i < lists[k]->n; i++) {
            if (!dropped[lists[k]->d[i]]) {
                lists[k]->d[kept++] = lists[k]->d[i];
            }
        }
        lists[k]->n = kept;
    }
    free(dropped);
    free(id_of);
}

static aot_status extract_forward(part *p, const part_ids *saved, const part_ids *sym, part_side *fw)
{
    uint32_t n_out;
    const aot_arg *outs = part_outputs(p->g, &n_out);
    bool described = p->g->out_descs.n != 0;
    AOT_VEC(aot_arg) values = {0};
    AOT_VEC(aot_str) descs = {0};
    char text[64];
    for (uint32_t i = 0; i < (uint32_t)p->n_fw_out; i++) {
        aot_vec_push(&values, outs[i]);
        aot_vec_push(&descs, described && i < p->g->out_descs.n ? p->g->out_descs.d[i] : 0);
    }
    for (size_t i = 0; i < saved->n + sym->n; i++) {
        aot_arg a = {.kind = AOT_ARG_NODE};
        a.u.node = i < saved->n ? saved->d[i] : sym->d[i - saved->n];
        snprintf(text, sizeof text, "SavedForBackwardsAOTOutput(idx=%zu)", i);
        aot_vec_push(&values, a);
        aot_vec_push(&descs, aot_intern_z(p->ctx->strs, text));
    }
    aot_status status = part_extract(p, fw, p->inputs, p->n_inputs, values.d, described ? descs.d : NULL,
                                     (uint32_t)values.n, PART_FORWARD);
    aot_vec_free(&values);
    aot_vec_free(&descs);
    return status;
}

aot_status part_extract_modules(part *p, part_ids *saved, part_ids *sym, part_side *fw, part_side *bw)
{
    uint32_t n_out;
    const aot_arg *outs = part_outputs(p->g, &n_out);
    uint32_t n_fw = (uint32_t)p->n_fw_out;
    const aot_str *descs = p->g->out_descs.n == n_out && n_out != 0 ? p->g->out_descs.d + n_fw : NULL;
    part_ids in = backward_inputs(p, saved, sym);
    part_side first = {0};
    aot_status status = part_extract(p, &first, in.d, (uint32_t)in.n, outs + n_fw, descs, n_out - n_fw, PART_BACKWARD);
    aot_vec_free(&in);
    if (status != AOT_OK) {
        return status;
    }
    drop_unused(p, &first, saved, sym);
    part_side_free(&first);
    complete_symbols(p, saved, sym);
    AOT_TRY(extract_forward(p, saved, sym, fw));
    in = backward_inputs(p, saved, sym);
    status = part_extract(p, bw, in.d, (uint32_t)in.n, outs + n_fw, descs, n_out - n_fw, PART_BACKWARD);
    aot_vec_free(&in);
    return status;
}
