/* Operators that are not in the table (a user's own), and those with side effects.
 *
 * A custom operator has the schema that the caller gives (aot_trace_options.schemas), else one made
 * from the call, without names and taken to be functional. Its results have the types that the
 * Dynamo graph states for the node that is run. One that writes its arguments is wrapped as
 * torch/_higher_order_ops/auto_functionalize.py:do_auto_functionalize_v2 does; one with side
 * effects as torch/_higher_order_ops/effects.py:handle_effects does. */
#include <stdio.h>
#include <string.h>

#include "trace/internal.h"

/* ---- facts ---------------------------------------------------------------------------------- */

static const char *schema_given(const aot_tracer *t, const char *name, const char *overload)
{
    size_t n = strlen(name), m = strlen(overload);
    for (unsigned i = 0; i < t->options.n_schemas; i++) {
        const char *s = t->options.schemas[i], *colons = strstr(s, "::");
        size_t ns = colons != NULL ? (size_t)(colons - s) : 0;
        if (colons == NULL || n < ns + 2 || strncmp(s, name, ns) != 0 || name[ns] != '.') {
            continue;
        }
        const char *own = colons + 2, *rest = name + ns + 1;
        size_t k = n - ns - 1;
        bool plain = strcmp(overload, "default") == 0;
        if (strncmp(own, rest, k) == 0 &&
            ((plain && own[k] == '(') ||
             (own[k] == '.' && strncmp(own + k + 1, overload, m) == 0 && own[k + 1 + m] == '('))) {
            return own;
        }
    }
    return NULL;
}

/* A schema made from a call: what is given by position, what by name. */
static void schema_of_call(aot_tracer *t, aot_schema *s, unsigned n, unsigned n_kw,
                           const aot_str *kw_names)
{
    s->n_args = n + n_kw;
    s->n_positional = n;
    s->args = tr_alloc(t, n + n_kw + 1, sizeof *s->args);
    for (unsigned i = 0; i < n_kw; i++) {
        const char *name = aot_text(t->c, kw_names[i]);
        s->args[n + i].name = (aot_span){name, strlen(name)};
    }
    s->n_returns = 1;
    s->returns = tr_alloc(t, 1, sizeof *s->returns);
}

static const char *last_part(const char *dotted)
{
    const char *dot = strrchr(dotted, '.');
    return dot != NULL ? dot + 1 : dotted;
}

/* given: NULL, or the schema as text. name: "ns.name", or a torch-level function. */
static op_facts *make_facts(aot_tracer *t, const char *name, const char *target, const char *given)
{
    op_facts *f = tr_alloc(t, 1, sizeof *f);
    aot_err err = {0};
    if (given != NULL && aot_schema_parse(&f->schema, t->a, given, &err) != AOT_OK) {
        aot_trace_fail(t, err.code, "schema of %s: %s", name, err.msg);
    }
    f->has_names = given != NULL;
    for (unsigned i = 0; i < f->schema.n_args; i++) {
        f->writes |= f->schema.args[i].is_write;
    }
    f->target = aot_intern_z(t->c->strs, target);
    f->name = aot_intern_z(t->c->strs, last_part(name));
    return f;
}

static bool same_names(const aot_tracer *t, const aot_schema *s, const aot_str *kw_names)
{
    for (unsigned i = s->n_positional; i < s->n_args; i++) {
        if (strcmp(s->args[i].name.s, aot_text(t->c, kw_names[i - s->n_positional])) != 0) {
            return false;
        }
    }
    return true;
}

static aot_op_id custom_op(aot_tracer *t, const char *target, unsigned n, unsigned n_kw,
                           const aot_str *kw_names)
{
    static const char prefix[] = "torch.ops.";
    bool is_op = aot_starts_with(target, prefix);
    const char *name = is_op ? target + sizeof prefix - 1 : target, *first = strchr(name, '.');
    const char *second = is_op && first != NULL ? strchr(first + 1, '.') : NULL;
    const char *overload = second != NULL ? second + 1 : "default", *given = NULL, *full = target;
    if (is_op) {
        name = second != NULL ? aot_arena_strndup(t->a, name, (size_t)(second - name)) : name;
        full = aot_arena_printf(t->a, "%s%s.%s", prefix, name, overload);
        given = schema_given(t, name, overload);
    }
    aot_str key = aot_intern_z(t->c->strs, full);
    for (size_t i = 0; i < t->customs.n; i++) {
        const op_facts *f = t->customs.d[i];
        bool same_call = f->schema.n_positional == n && f->schema.n_args == n + n_kw;
        if (f->target == key &&
            (f->has_names || (same_call && same_names(t, &f->schema, kw_names)))) {
            return (aot_op_id)(AOT_N_OPS + i);
        }
    }
    op_facts *f = make_facts(t, name, full, given);
    if (given == NULL) {
        schema_of_call(t, &f->schema, n, n_kw, kw_names);
    }
    tr_op_defaults(t, f);
    aot_vec_push(&t->customs, f);
    return (aot_op_id)(AOT_N_OPS + t->customs.n - 1);
}

/* ---- types, as the Dynamo graph states them -------------------------------------------------- */

static aot_value stated(aot_tracer *t, aot_node_id id)
{
    aot_meta_id m = aot_node_at(t->at_graph, id)->meta;
    return aot_meta_get(t->c, m)->val == AOT_VAL_TENSOR ? aot_v_tensor(tr_tensor_new(t, m))
                                                        : aot_v_none();
}

/* Types of a tuple are those of the getitems that take its parts. */
aot_value tr_stated_types(aot_tracer *t)
{
    if (t->believed != NULL) { // a gradient's, or a kept composite's
        aot_value *given = tr_alloc(t, t->n_believed, sizeof *given);
        for (unsigned i = 0; i < t->n_believed; i++) {
            given[i] = aot_v_tensor(tr_tensor_new(t, t->believed[i]));
        }
        bool list = t->believed_op != AOT_OP_UNKNOWN && tr_op(t, t->believed_op)->returns_list;
        return list                   ? aot_v_list(t, t->n_believed, given)
               : t->n_believed == 1 ? given[0]
                                    : aot_v_tuple(t, t->n_believed, given);
    }
    if (t->at_graph == NULL || t->at_node == AOT_NO_NODE) {
        return aot_v_none();
    }
    aot_value one = stated(t, t->at_node);
    if (one.kind != AOT_V_NONE) {
        return one;
    }
    const aot_graph *g = t->at_graph;
    aot_value items[64] = {{0}};
    unsigned n = 0;
    for (aot_node_id i = t->at_node + 1; i < g->nodes.n; i++) {
        const aot_node *node = aot_node_at(g, i);
        const aot_arg *a = aot_node_args(g, node);
        if (aot_is_getitem(g, node) && node->n_args == 2 && a[0].kind == AOT_ARG_NODE &&
            a[0].u.node == t->at_node && a[1].kind == AOT_ARG_INT && a[1].u.i >= 0 &&
            a[1].u.i < 64) {
            unsigned k = (unsigned)a[1].u.i;
            items[k] = stated(t, i);
            n = k >= n ? k + 1 : n;
        }
    }
    return n == 0 ? aot_v_none() : aot_v_tuple(t, n, items);
}

aot_str tr_believed(aot_tracer *t, const char *what, const char *op)
{
    return aot_intern_z(t->c->strs, aot_arena_printf(t->a, "believed %s of %s", what, op));
}

bool tr_may_believe(const aot_tracer *t, aot_op_id op)
{
    if (!t->options.opaque || t->in_backward || t->rule != 0 || t->at_node == AOT_NO_NODE) {
        return false; // a step of something: the node's type is not its own
    }
    const char *packet = last_part(aot_op(op)->packet);
    const char *target = aot_text(t->c, aot_node_at(t->at_graph, t->at_node)->target);
    const char *at = strstr(target, packet);
    size_t n = strlen(packet);
    return at != NULL && (at == target || at[-1] == '.') && (at[n] == '\0' || at[n] == '.');
}

/* The arguments in the order of the schema; those of a schema made from the call are in its
 * order. */
static aot_value *arguments(aot_tracer *t, const op_facts *f, unsigned n, const aot_value *args,
                            unsigned n_kw, const aot_str *kw_names, const aot_value *kw)
{
    unsigned most = f->schema.n_args;
    aot_value *all = tr_alloc(t, most + n + 1, sizeof *all);
    memcpy(all, args, n * sizeof *all);
    for (unsigned i = n; i < most; i++) {
        all[i] = f->defaults[i];
        for (unsigned k = 0; k < n_kw; k++) {
            aot_span name = f->schema.args[i].name;
            if (strlen(aot_text(t->c, kw_names[k])) == name.n &&
                memcmp(aot_text(t->c, kw_names[k]), name.s, name.n) == 0) {
                all[i] = kw[k];
            }
        }
    }
    return all;
}

aot_value aot_trace_custom(aot_tracer *t, const char *target, unsigned n, const aot_value *args,
                           unsigned n_kw, const aot_str *kw_names, const aot_value *kw)
{
    bool is_op = aot_starts_with(target, "torch.ops.");
    aot_op_id op = custom_op(t, target, n, n_kw, kw_names);
    const op_facts *f = tr_op(t, op);
    bool guessed = !is_op || (n_kw != 0 && !f->has_names);
    if (guessed && !t->options.opaque) {
        aot_trace_fail(
            t, AOT_E_UNSUPPORTED,
            "%s: no fake implementation is known here: it is called with keyword arguments "
            "and nothing states its schema; state it (# aotscope: op SCHEMA), or believe "
            "the recorded type (--opaque)",
            target);
    }
    aot_value *all = arguments(t, f, n, args, n_kw, kw_names, kw);
    aot_str was = t->rule;
    if (guessed) {
        t->rule = tr_believed(t, "type", target);
    }
    aot_value out = aot_call_op(t, op, f->schema.n_args, all);
    t->rule = was;
    return out;
}

/* ---- gradients that nothing tells ------------------------------------------------------------ */

/* torch.ops.mine.scale.default -> torch.ops.opaque.mine_scale_backward.default: a name that no real
 * operator has. */
static const char *gradient_target(aot_tracer *t, aot_op_id op)
{
    const char *name = tr_op_text(t, op);
    name += aot_starts_with(name, "torch.ops.") ? strlen("torch.ops.") : 0;
    char *flat = aot_arena_strndup(t->a, name, strlen(name));
    if (aot_ends_with(flat, ".default")) {
        flat[strlen(flat) - strlen(".default")] = '\0';
    }
    for (char *p = flat; *p != '\0'; p++) {
        *p = *p == '.' ? '_' : *p;
    }
    return aot_arena_printf(t->a, "torch.ops.opaque.%s_backward.default", flat);
}

/* One call of the gradients of the results and all arguments of the forward; it gives the gradients
 * that are wanted, each of the type of its input. */
void tr_opaque_gradient(aot_tracer *t, grad_fn *fn, aot_tensor *const *grads, aot_tensor **out)
{
    unsigned n = fn->n_out + fn->n_args, n_given = 0,
             *edge = tr_alloc(t, fn->n_edges + 1, sizeof *edge);
    aot_value *args = tr_alloc(t, n + 1, sizeof *args);
    aot_meta_id *types = tr_alloc(t, fn->n_edges + 1, sizeof *types);
    for (unsigned i = 0; i < fn->n_out; i++) {
        args[i] = aot_v_tensor(grads[i]);
    }
    for (unsigned i = 0; i < fn->n_args; i++) {
        args[fn->n_out + i] = fn->args[i];
        for (unsigned e = fn->edge_of[i]; e < fn->edge_of[i + 1]; e++) {
            if (fn->edges[e].fn != NULL) {
                types[n_given] = aot_v_item(fn->args[i], e - fn->edge_of[i])->meta;
                edge[n_given++] = e;
            }
        }
    }
    aot_str was = t->rule;
    t->rule = tr_believed(t, "gradient", tr_op_text(t, fn->op));
    t->believed = types;
    t->n_believed = n_given;
    aot_value given = aot_trace_custom(t, gradient_target(t, fn->op), n, args, 0, NULL, NULL);
    t->believed = NULL;
    t->rule = was;
    for (unsigned i = 0; i < n_given; i++) {
        out[edge[i]] = aot_v_item(given, i);
    }
}

/* ---- auto_functionalized_v2 ------------------------------------------------------------------ */

typedef struct hop_args {
    aot_value value[65]; /* [0] is the operator */
    const char *name[64];
    unsigned n;
} hop_args;

/* Adds an argument PREFIX NAME SUFFIX. */
static void add(aot_tracer *t, hop_args *h, aot_value value, const char *prefix, aot_span name,
                const char *suffix)
{
    if (h->n == 64) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "a mutating custom operator with that many arguments");
    }
    h->name[h->n] = aot_arena_printf(t->a, "%s%.*s%s", prefix, (int)name.n, name.s, suffix);
    h->value[++h->n] = value;
}

/* The higher-order node at one level: target and arguments by name. */
static aot_node_id emit_hop(aot_tracer *t, aot_level l, const hop_args *h)
{
    static const char target[] = "torch.ops.higher_order.auto_functionalized_v2";
    aot_node n = {.kind = AOT_CALL_FUNCTION,
                  .op = AOT_OP_higher_order_auto_functionalized_v2,
                  .target = aot_intern_z(t->c->strs, target)};
    return tr_emit_kw(t, l, n, "auto_functionalized_v2", 1, h->value, h->n, h->name);
}

static aot_tensor *same_type(aot_tracer *t, const aot_tensor *x)
{
    return tr_tensor_new(t, x->meta);
}

static aot_tensor *synced(void *arg, aot_tensor *x)
{
    tr_sync(arg, x);
    return x->inner;
}

/* Elements from the start of its base to a view. */
static int64_t offset_in_base(aot_tracer *t, const aot_tensor *x)
{
    const aot_fake *f = x->base->type;
    int64_t offset = 0;
    for (unsigned i = 0; i < x->diff_chain.n; i++) {
        const view_step *v = &x->diff_chain.d[i];
        int64_t at = 0;
        unsigned dim = 0;
        if (v->op == AOT_OP_aten_as_strided) {
            offset = v->n > 3 && v->args[3].kind == AOT_V_INT ? v->args[3].u.dim.value : offset;
        } else if (v->op == AOT_OP_aten_slice_Tensor || v->op == AOT_OP_aten_select_int) {
            const aot_value *from = &v->args[2];
            dim = aot_wrap_dim(t, v->args[1].u.dim.value, f->ndim);
            at = from->kind == AOT_V_INT ? from->u.dim.value : 0;
            at = at < 0 ? at + f->size[dim].value : at;
        } else if (v->op == AOT_OP_aten_unbind_int) {
            dim = aot_wrap_dim(t, v->args[1].u.dim.value, f->ndim);
            at = v->out;
        } else if (v->op == AOT_OP_aten_split_Tensor) {
            dim = aot_wrap_dim(t, v->args[2].u.dim.value, f->ndim);
            at = v->out * v->args[1].u.dim.value;
        }
        offset += at * (f->ndim != 0 ? f->stride[dim].value : 0);
        f = i + 1 == x->diff_chain.n ? x->type : v[1].args[0].u.t->type;
    }
    return offset;
}

/* The one dimension in which a view is shorter than its base; -1 if it is no slice of it. */
static int slice_dim(const aot_fake *base, const aot_fake *x, int64_t offset)
{
    int dim = -1;
    unsigned n = 0;
    for (unsigned i = 0; base->ndim == x->ndim && i < x->ndim; i++) {
        if (!aot_dim_same(base->stride[i], x->stride[i])) {
            return -1;
        }
        if (!aot_dim_same(base->size[i], x->size[i])) {
            dim = (int)i;
            n++;
        }
    }
    return n == 1 && x->stride[dim].value != 0 && offset % x->stride[dim].value == 0 ? dim : -1;
}

/* How a written argument is made of its base: as it is, a slice of it, or any other view. */
static void add_view(aot_tracer *t, hop_args *h, const aot_tensor *x, unsigned base, aot_span name)
{
    add(t, h, aot_v_int(base), "_", name, "_base_index");
    if (x->base == NULL) {
        return;
    }
    const aot_fake *f = x->type, *b = x->base->type;
    int64_t offset = offset_in_base(t, x);
    bool same = offset == 0 && f->ndim == b->ndim;
    for (unsigned i = 0; same && i < f->ndim; i++) {
        same = aot_dim_same(f->size[i], b->size[i]) && aot_dim_same(f->stride[i], b->stride[i]);
    }
    int dim = same ? -1 : slice_dim(b, f, offset);
    if (same) {
        add(t, h, aot_v_bool(true), "_", name, "_alias");
    } else if (dim >= 0) {
        aot_dim start = aot_dim_of(offset / f->stride[dim].value);
        add(t, h, aot_v_int(dim), "_", name, "_slice_dim");
        add(t, h, aot_v_dim(start), "_", name, "_slice_start");
        add(t, h, aot_v_dim(aot_dim_add(t->c, start, f->size[dim])), "_", name, "_slice_end");
    } else {
        add(t, h, aot_v_dims(t, (aot_dims){f->size, f->ndim}), "_", name, "_size");
        add(t, h, aot_v_dims(t, (aot_dims){f->stride, f->ndim}), "_", name, "_stride");
        add(t, h, aot_v_int(offset), "_", name, "_storage_offset");
    }
}

/* What is written, without repetition: a tensor, or what it is a view of. */
typedef struct base_list {
    aot_tensor **d;
    unsigned n;
} base_list;

static unsigned base_number(base_list *b, aot_tensor *x)
{
    aot_tensor *base = x->base != NULL ? x->base : x;
    unsigned i = 0;
    while (i < b->n && b->d[i] != base) {
        i++;
    }
    if (i == b->n) {
        b->d[b->n++] = base;
    }
    return i;
}

static void add_written(aot_tracer *t, hop_args *h, base_list *b, const aot_schema_arg *a,
                        aot_value v)
{
    if (v.kind == AOT_V_TENSOR) {
        add_view(t, h, v.u.t, base_number(b, v.u.t), a->name);
    } else if (!aot_v_is_list(v)) {
        add(t, h, aot_v_none(), "_", a->name, "_base_index");
    } else {
        add(t, h, aot_v_int(v.n), "_", a->name, "_length");
        for (unsigned i = 0; i < v.n; i++) {
            const char *item =
                aot_arena_printf(t->a, "%.*s_%u", (int)a->name.n, a->name.s, i);
            add_view(t, h, v.u.items[i].u.t, base_number(b, v.u.items[i].u.t),
                     (aot_span){item, (uint32_t)strlen(item)});
        }
    }
}

static unsigned count_tensors(unsigned n, const aot_value *args)
{
    unsigned most = 0;
    for (unsigned i = 0; i < n; i++) {
        most += aot_v_is_list(args[i]) ? args[i].n : 1;
    }
    return most;
}

/* A schema that was learned does not say how many: what the graph states does. */
static unsigned count_returns(const op_facts *f, aot_value stated)
{
    bool known = f->schema.n_returns != 1 || f->schema.returns[0].kind != AOT_TYPE_OTHER;
    return known                   ? f->schema.n_returns
           : aot_v_is_list(stated) ? stated.n
                                   : stated.kind == AOT_V_TENSOR;
}

/* Its results: what the operator returns, then the new values of what it writes. */
aot_value tr_auto_functionalize(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    const op_facts *f = tr_op(t, op);
    hop_args h = {.n = 0};
    h.value[0] = (aot_value){.kind = AOT_V_NAME, .u.s = f->target};
    base_list bases = {tr_alloc(t, count_tensors(n, args) + 1, sizeof(aot_tensor *)), 0};
    for (unsigned i = 0; i < n; i++) { // what is read comes first
        if (!f->schema.args[i].is_write) {
            add(t, &h, tr_map_tensors(t, args[i], synced, t), "", f->schema.args[i].name, "");
        }
    }
    for (unsigned i = 0; i < n; i++) {
        if (f->schema.args[i].is_write) {
            add_written(t, &h, &bases, &f->schema.args[i], args[i]);
        }
    }
    aot_tensor **inner = tr_alloc(t, bases.n + 1, sizeof(aot_tensor *));
    for (unsigned i = 0; i < bases.n; i++) {
        inner[i] = synced(t, bases.d[i]);
    }
    add(t, &h, aot_v_tensors(t, bases.n, inner), "_all_bases", (aot_span){"", 0}, "");
    aot_value returned = f->schema.n_returns != 0 ? tr_stated_types(t) : aot_v_none();
    unsigned n_returns = count_returns(f, returned), first = n_returns == 0 ? 1 : n_returns;
    aot_value *items = tr_alloc(t, first + bases.n + 1, sizeof *items);
    for (unsigned i = 0; i < first; i++) {
        items[i] = aot_v_tensor(aot_v_item(returned, i));
    }
    for (unsigned i = 0; i < bases.n; i++) {
        items[first + i] = aot_v_tensor(same_type(t, inner[i]));
    }
    aot_value out = aot_v_tuple(t, first + bases.n, items);
    if (!t->options.dry) {
        tr_bind(t, AOT_LEVEL_FUNCTIONAL, emit_hop(t, AOT_LEVEL_FUNCTIONAL, &h), out);
    }
    tr_bind(t, AOT_LEVEL_JOINT, emit_hop(t, AOT_LEVEL_JOINT, &h), out);
    for (unsigned i = 0; i < bases.n; i++) {
        tr_commit(t, bases.d[i], items[first + i].u.t);
    }
    if (n_returns == 0) {
        return aot_v_none();
    }
    for (unsigned i = 0; i < first; i++) {
        items[i] =
            items[i].kind == AOT_V_TENSOR ? aot_v_tensor(tr_wrap(t, items[i].u.t)) : items[i];
    }
    return n_returns == 1 ? items[0] : aot_v_tuple(t, n_returns, items);
}

/* ---- effects --------------------------------------------------------------------------------- */

void aot_trace_set_token(aot_tracer *t, aot_tensor *token)
{
    t->token = token;
}

aot_tensor *aot_trace_token(const aot_tracer *t)
{
    return t->token;
}

static aot_node_id emit_effect(aot_tracer *t, aot_level l, const op_facts *f, aot_tensor *token,
                               unsigned n, const aot_value *args)
{
    static const char target[] = "torch.ops.higher_order.with_effects";
    aot_value *all = tr_alloc(t, n + 3, sizeof *all);
    all[0] = aot_v_tensor(token);
    all[1] = (aot_value){.kind = AOT_V_NAME, .u.s = f->target};
    memcpy(all + 2, args, n * sizeof *all);
    aot_node node = {.kind = AOT_CALL_FUNCTION,
                     .op = AOT_OP_higher_order_with_effects,
                     .target = aot_intern_z(t->c->strs, target)};
    return tr_emit(t, l, node, "with_effects", n + 2, all);
}

/* The operator with the token before it and the token after it. args are inner. */
aot_value tr_effect(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    const op_facts *f = tr_op(t, op);
    if (t->token == NULL) { /* found while looking: the next trace has it among its inputs */
        t->token = aot_trace_input_tensor(t, "token", aot_trace_token_type(t), false, NULL)->inner;
    }
    aot_value returned = f->schema.n_returns != 0 ? tr_stated_types(t) : aot_v_none();
    unsigned n_out = aot_v_is_list(returned) ? returned.n : 1;
    aot_value *items = tr_alloc(t, n_out + 2, sizeof *items);
    items[0] = aot_v_tensor(tr_tensor_new(t, t->token->meta));
    for (unsigned i = 0; i < n_out; i++) {
        items[1 + i] = aot_v_tensor(aot_v_item(returned, i));
    }
    aot_value out = aot_v_tuple(t, n_out + 1, items);
    for (int l = t->options.dry ? AOT_LEVEL_JOINT : AOT_LEVEL_FUNCTIONAL; l < AOT_N_LEVELS; l++) {
        tr_bind(t, (aot_level)l, emit_effect(t, (aot_level)l, f, t->token, n, args), out);
    }
    t->token = items[0].u.t;
    if (f->schema.n_returns == 0) {
        return aot_v_none();
    }
    return aot_v_is_list(returned) ? aot_v_tuple(t, n_out, items + 1) : items[1];
}

aot_meta_id aot_trace_token_type(aot_tracer *t)
{
    aot_dim zero = aot_dim_of(0), one = aot_dim_of(1);
    return aot_ctx_tensor_meta(t->c, AOT_F32, &zero, &one, 1, aot_intern_z(t->c->strs, "cpu"));
}
