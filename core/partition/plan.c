/* Cutting modules out of the joint graph, as lists of nodes: between given inputs and outputs, what
 * this side may compute and somebody reads. Graphs are built once, when the order is final.
 * Mirrors: partitioners.py:_extract_graph_with_inputs_outputs, _extract_fwd_bwd_modules.
 * Differs: version counters of saved values and opaque objects are not printed, so all saved values
 * are taken as checked tensors; activation quantization is not built. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/internal.h"

void part_plan_free(part_plan *x)
{
    aot_vec_free(&x->order);
    aot_vec_free(&x->outs);
    aot_vec_free(&x->descs);
    free(x->state);
    free(x->named);
    *x = (part_plan){0};
}

/* ---- which nodes ----------------------------------------------------------------------------- */

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
        if (item[0].kind == AOT_ARG_STR && item[0].u.s == a[1].u.s &&
            item[1].kind == AOT_ARG_NODE) {
            return item[1].u.node;
        }
    }
    return AOT_NO_NODE;
}

/* What stands in for a forward output that only the backward can compute; AOT_NO_NODE if nothing
 * does. */
static aot_node_id replacement(const part *p, const uint8_t *state, aot_node_id id)
{
    const aot_graph *g = p->g;
    const aot_node *n = aot_node_at(g, id);
    const aot_arg *a = aot_node_args(g, n);
    if ((p->m.part[id] & PART_IS_COPY) != 0 && part_must_be_in_backward(p, id) &&
        a->kind == AOT_ARG_NODE && state[a->u.node] != PART_ABSENT) {
        return a->u.node;
    }
    aot_node_id from = AOT_NO_NODE;
    if ((part_target_is(g, n, "torch.ops.aten.view.default") ||
         part_target_is(g, n, "torch.ops.aten.reshape.default")) &&
        a->kind == AOT_ARG_NODE) {
        from = hop_input(g, a->u.node);
    }
    if (from == AOT_NO_NODE || state[from] == PART_ABSENT) {
        from = hop_input(g, id);
    }
    return from != AOT_NO_NODE && state[from] != PART_ABSENT ? from : AOT_NO_NODE;
}

/* Why this side cannot have the value at the end of the path. */
static const char *why_absent(const part *p, aot_node_id id, part_which which)
{
    const aot_node *n = aot_node_at(p->g, id);
    if (part_is_tangent(p->g, n)) {
        return "is a tangent, which only the backward has";
    }
    if (n->kind == AOT_PLACEHOLDER) {
        return which == PART_BACKWARD ? "is an input that is not saved for the backward"
                                      : "is an input that only the backward has";
    }
    return which == PART_FORWARD ? "may only run in the backward" : "may only run in the forward";
}

/* The path by which an output depends on a value that this side cannot have: its begin, and its
 * end, which tells why. */
static aot_status invalid_output(const part *p, const uint8_t *state, aot_node_id id, uint32_t i,
                                 part_which which)
{
    enum { MOST = 12 };
    const aot_graph *g = p->g;
    aot_sb path = {0};
    const char *name = aot_node_name(g, id);
    aot_node_id end = id;
    int steps = 0;
    for (; id != AOT_NO_NODE; steps++) {
        if (steps < MOST) {
            aot_sb_addf(&path, "%s%s", steps != 0 ? " <- " : "", aot_node_name(g, id));
        }
        aot_node_id next = AOT_NO_NODE;
        for (uint32_t k = g->in_off[id]; k < g->in_off[id + 1] && next == AOT_NO_NODE; k++) {
            next = state[g->in[k]] == PART_ABSENT ? g->in[k] : AOT_NO_NODE;
        }
        end = id;
        id = next;
    }
    if (steps > MOST) {
        aot_sb_addf(&path, "%s <- %s", steps > MOST + 1 ? " <- ..." : "", aot_node_name(g, end));
    }
    aot_status s =
        AOT_FAIL(p->err, AOT_E_GRAPH, "node %s was invalid, but is output %u of the %s: %s; %s %s",
                 name, i, which == PART_FORWARD ? "forward" : "backward", path.d,
                 aot_node_name(g, end), why_absent(p, end, which));
    aot_sb_free(&path);
    return s;
}

/* state: PART_BODY where all inputs are there and the node may be on this side. */
static void mark_valid(const part *p, uint8_t *state, part_which which)
{
    const aot_graph *g = p->g;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        if (state[i] == PART_INPUT || (n->kind != AOT_CALL_FUNCTION && n->kind != AOT_GET_ATTR)) {
            continue;
        }
        bool ok = true;
        if (p->m.must_side[i] != 0 || (p->m.part[i] & PART_IS_MUTABLE) != 0) {
            ok = which == PART_FORWARD ? !part_must_be_in_backward(p, i)
                                       : !part_must_be_in_forward(p, i);
        }
        for (uint32_t k = g->in_off[i]; ok && k < g->in_off[i + 1]; k++) {
            ok = state[g->in[k]] != PART_ABSENT;
        }
        state[i] = ok ? PART_BODY : PART_ABSENT;
    }
}

static aot_status resolve_outputs(const part *p, part_plan *x, const aot_arg *outs, uint32_t n,
                                  part_which which)
{
    for (uint32_t i = 0; i < n; i++) {
        aot_arg a = outs[i];
        if (a.kind == AOT_ARG_NODE && x->state[a.u.node] == PART_ABSENT) {
            aot_node_id id = replacement(p, x->state, a.u.node);
            if (id == AOT_NO_NODE) {
                return invalid_output(p, x->state, a.u.node, i, which);
            }
            a.u.node = id;
        }
        aot_vec_push(&x->outs, a);
    }
    return AOT_OK;
}

static void read_outputs(const part_plan *x, uint8_t *read)
{
    for (size_t i = 0; i < x->outs.n; i++) {
        const aot_arg *a = &x->outs.d[i];
        if (a->kind == AOT_ARG_NODE) {
            read[a->u.node] = 1;
        }
        // they nest one level at most
        for (uint32_t k = 0; a->kind >= AOT_ARG_LIST && k < a->n; k++) {
            const aot_arg *item = aot_arg_items(x->g, a) + k;
            if (item->kind == AOT_ARG_NODE) {
                read[item->u.node] = 1;
            }
        }
    }
}

/* Dead nodes leave; a wait on a collective that nobody reads stays, but does not count as a
 * reader. */
static void drop_dead(const part *p, part_plan *x, uint8_t *unused)
{
    const aot_graph *g = p->g;
    uint8_t *read = aot_xcalloc(g->nodes.n + 1, 1);
    read_outputs(x, read);
    for (uint32_t i = (uint32_t)g->nodes.n; i-- > 0;) {
        if (x->state[i] != PART_BODY) {
            continue;
        }
        if (!read[i] && !part_is_impure(g, aot_node_at(g, i), p->config->fallback_random)) {
            x->state[i] = PART_ABSENT;
            continue;
        }
        bool dead_wait = !read[i] && (p->m.part[i] & PART_IS_WAIT) != 0;
        for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
            if (!dead_wait || x->state[g->in[k]] == PART_BODY) {
                read[g->in[k]] = 1;
            }
        }
    }
    for (uint32_t i = 0; unused != NULL && i < x->n_inputs; i++) {
        unused[x->order.d[i]] = !read[x->order.d[i]];
    }
    free(read);
}

void part_drop_dead_collectives(const part *p, part_plan *x)
{
    const aot_graph *g = x->g;
    uint8_t *read = aot_xcalloc(g->nodes.n + 1, 1);
    size_t kept = x->n_inputs;
    read_outputs(x, read);
    for (size_t i = x->order.n; i-- > x->n_inputs;) {
        aot_node_id id = x->order.d[i];
        if (!read[id] && (p->m.part[id] & PART_IS_COLLECTIVE) != 0) {
            x->state[id] = PART_ABSENT;
            continue;
        }
        for (uint32_t k = g->in_off[id]; k < g->in_off[id + 1]; k++) {
            read[g->in[k]] = 1;
        }
    }
    for (size_t i = x->n_inputs; i < x->order.n; i++) {
        if (x->state[x->order.d[i]] != PART_ABSENT) {
            x->order.d[kept++] = x->order.d[i];
        }
    }
    x->order.n = kept;
    free(read);
}

aot_status part_plan_make(const part *p, part_plan *out, const part_ids *inputs,
                          const aot_arg *outs, const aot_str *descs, uint32_t n_outs,
                          part_which which, uint8_t *unused)
{
    *out = (part_plan){.g = p->g, .state = aot_xcalloc(p->g->nodes.n + 1, 1)};
    for (size_t i = 0; i < inputs->n; i++) {
        aot_vec_push(&out->order, inputs->d[i]);
        out->state[inputs->d[i]] = PART_INPUT;
    }
    out->n_inputs = (uint32_t)inputs->n;
    mark_valid(p, out->state, which);
    aot_status status = resolve_outputs(p, out, outs, n_outs, which);
    if (status != AOT_OK) {
        part_plan_free(out);
        return status;
    }
    for (uint32_t i = 0; descs != NULL && i < n_outs; i++) {
        aot_vec_push(&out->descs, descs[i]);
    }
    if (p->recomputes_rng) {
        out->named = aot_xmalloc(p->g->nodes.n + 1);
        memcpy(out->named, out->state, p->g->nodes.n + 1);
    }
    drop_dead(p, out, unused);
    aot_vec_grow(&out->order, p->g->nodes.n);
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        if (out->state[i] == PART_BODY) {
            out->order.d[out->order.n++] = i;
        }
    }
    return AOT_OK;
}

/* ---- building -------------------------------------------------------------------------------- */

/* FX keeps a submodule only where a get_attr names it, in the order of those nodes. */
static void keep_used_subgraphs(aot_graph *g, const aot_graph *from)
{
    if (from->subgraphs.n == 0) {
        return;
    }
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

static aot_node_id build_input(aot_graph *to, const aot_node *old)
{
    aot_node n = {
        .kind = AOT_PLACEHOLDER, .meta = old->meta, .src = old->src, .policy = old->policy};
    n.desc = old->kind == AOT_PLACEHOLDER ? old->desc : 0;
    n.target = n.name = old->name;
    return aot_graph_add(to, &n);
}

static void build_output(const part *p, aot_graph *to, const part_plan *x, const aot_node_id *map)
{
    AOT_VEC(aot_arg) items = {0};
    for (size_t i = 0; i < x->outs.n; i++) {
        aot_arg a = x->outs.d[i];
        if (a.kind == AOT_ARG_NODE) {
            a.u.node = map[a.u.node];
        } else if (a.kind >= AOT_ARG_LIST) {
            a.u.first = aot_graph_copy_args(to, x->g, a.u.first, a.n, map);
        }
        aot_vec_push(&items, a);
    }
    aot_arg tuple = {.kind = AOT_ARG_TUPLE, .n = (uint32_t)items.n};
    tuple.u.first = aot_graph_add_args(to, items.d, (uint32_t)items.n);
    aot_node out = {.kind = AOT_OUTPUT, .n_args = 1};
    out.args = aot_graph_add_args(to, &tuple, 1);
    out.name = out.target = aot_intern_z(p->ctx->strs, "output");
    aot_graph_add(to, &out);
    for (size_t i = 0; i < x->descs.n; i++) {
        aot_vec_push(&to->out_descs, x->descs.d[i]);
    }
    to->layout.has_out_descs = x->descs.n != 0;
    aot_vec_free(&items);
}

aot_graph *part_plan_build(const part *p, const part_plan *x)
{
    const aot_graph *g = x->g;
    aot_graph *to = aot_graph_new(p->ctx);
    aot_node_id *map = aot_xmalloc((g->nodes.n + 1) * sizeof *map);
    to->class_name = aot_intern_z(p->ctx->strs, "GraphModule");
    to->layout = (aot_layout){.expanded = g->layout.expanded};
    to->srcs.n = 0;
    aot_vec_grow(&to->srcs, g->srcs.n);
    memcpy(to->srcs.d, g->srcs.d, g->srcs.n * sizeof *g->srcs.d);
    to->srcs.n = g->srcs.n;
    aot_vec_grow(&to->nodes, x->order.n + 1);
    aot_vec_grow(&to->args, x->order.n * 3);
    for (uint32_t k = 0; k < x->order.n; k++) {
        aot_node_id id = x->order.d[k];
        map[id] = x->state[id] == PART_INPUT ? build_input(to, aot_node_at(g, id))
                                             : aot_graph_copy_node(to, g, id, map);
    }
    build_output(p, to, x, map);
    keep_used_subgraphs(to, g);
    free(map);
    return to;
}

void part_plan_of_graph(part_plan *out, aot_graph *g)
{
    uint32_t n_out;
    aot_graph_link_once(g);
    *out = (part_plan){.g = g, .state = aot_xcalloc(g->nodes.n + 1, 1)};
    for (uint32_t i = 0; i + 1 < g->nodes.n; i++) {
        bool input = aot_node_at(g, i)->kind == AOT_PLACEHOLDER;
        out->state[i] = input ? PART_INPUT : PART_BODY;
        out->n_inputs += input;
        aot_vec_push(&out->order, i);
    }
    const aot_arg *outs = part_outputs(g, &n_out);
    for (uint32_t i = 0; i < n_out; i++) {
        aot_vec_push(&out->outs, outs[i]);
    }
    for (size_t i = 0; i < g->out_descs.n && g->layout.has_out_descs; i++) {
        aot_vec_push(&out->descs, g->out_descs.d[i]);
    }
}

/* ---- both modules ---------------------------------------------------------------------------- */

static void append(part_ids *to, const part_ids *from)
{
    for (size_t i = 0; i < from->n; i++) {
        aot_vec_push(to, from->d[i]);
    }
}

static void append_placeholders(const part *p, part_ids *to,
                                bool (*is)(const aot_graph *, const aot_node *))
{
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        if (aot_node_at(p->g, i)->kind == AOT_PLACEHOLDER && is(p->g, aot_node_at(p->g, i))) {
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

static void drop_unused(part_ids *v, const uint8_t *unused)
{
    size_t kept = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (!unused[v->d[i]]) {
            v->d[kept++] = v->d[i];
        }
    }
    v->n = kept;
}

static aot_status plan_forward(part *p, const part_ids *saved, const part_ids *sym, part_plan *fw)
{
    uint32_t n_out;
    const aot_arg *outs = part_outputs(p->g, &n_out);
    bool described = p->g->out_descs.n != 0;
    part_ids inputs = {.d = p->inputs, .n = p->n_inputs};
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
        aot_vec_push(&values, a);
        if (described) {
            snprintf(text, sizeof text, "SavedForBackwardsAOTOutput(idx=%zu)", i);
            aot_vec_push(&descs, aot_intern_z(p->ctx->strs, text));
        }
    }
    aot_status status = part_plan_make(p, fw, &inputs, values.d, described ? descs.d : NULL,
                                       (uint32_t)values.n, PART_FORWARD, NULL);
    aot_vec_free(&values);
    aot_vec_free(&descs);
    return status;
}

aot_status part_plan_modules(part *p, part_ids *saved, part_ids *sym, part_plan *fw, part_plan *bw)
{
    uint32_t n_out, n_fw = (uint32_t)p->n_fw_out;
    const aot_arg *outs = part_outputs(p->g, &n_out);
    const aot_str *descs =
        p->g->out_descs.n == n_out && n_out != 0 ? p->g->out_descs.d + n_fw : NULL;
    uint8_t *unused = AOT_NEW_ARRAY(p->scratch, uint8_t, p->g->nodes.n + 1);
    part_ids in = backward_inputs(p, saved, sym);
    aot_status status =
        part_plan_make(p, bw, &in, outs + n_fw, descs, n_out - n_fw, PART_BACKWARD, unused);
    aot_vec_free(&in);
    AOT_TRY(status);
    size_t before = saved->n + sym->n;
    drop_unused(saved, unused);
    drop_unused(sym, unused);
    size_t kept = saved->n + sym->n;
    part_complete_symbols(p, saved, sym);
    AOT_TRY(plan_forward(p, saved, sym, fw));
    if (before == kept && saved->n + sym->n == kept && sym->n == 0) {
        return AOT_OK; // the first plan had these inputs already
    }
    part_plan_free(bw);
    in = backward_inputs(p, saved, sym);
    status = part_plan_make(p, bw, &in, outs + n_fw, descs, n_out - n_fw, PART_BACKWARD, NULL);
    aot_vec_free(&in);
    return status;
}
