/* The autograd level: a grad_fn for each call that needs one, views and their bases, versions.
 * Mirrors the generated kernels of VariableType and ADInplaceOrView,
 * torch/csrc/autograd/variable.cpp (views, rebase_history) and saved_variable.cpp. */
#include <string.h>

#include "trace/internal.h"

static bool is_differentiable(const aot_tensor *x)
{
    return aot_is_float(x) || aot_is_complex(x);
}

grad_fn *tr_grad_fn_new(aot_tracer *t, grad_kind kind, unsigned n_edges, unsigned n_out)
{
    grad_fn *fn = tr_alloc(t, 1, sizeof *fn);
    fn->kind = kind;
    fn->edges = tr_alloc(t, n_edges + 1, sizeof *fn->edges);
    fn->n_edges = n_edges;
    fn->n_out = n_out;
    fn->out_type = tr_alloc(t, n_out + 1, sizeof(aot_fake *));
    fn->out_meta = tr_alloc(t, n_out + 1, sizeof *fn->out_meta);
    fn->saved_out = tr_alloc(t, n_out + 1, sizeof(aot_tensor *));
    fn->seq = kind == GRAD_LEAF ? UINT64_MAX : t->next_seq++;
    fn->src = t->src;
    fn->capture = -1;
    return fn;
}

/* ---- whose gradient -------------------------------------------------------------------------- */

/* A view whose base was written since has another history: the view operations on the base's. */
static void regenerate(aot_tracer *t, aot_tensor *x)
{
    bool was = aot_set_grad_enabled(t, true);
    aot_tensor *v = x->base;
    for (unsigned i = 0; i < x->diff_chain.n; i++) {
        v = tr_view_apply(t, &x->diff_chain.d[i], v);
    }
    aot_set_grad_enabled(t, was);
    x->grad_fn = v->grad_fn;
    x->out_nr = v->out_nr;
    x->requires_grad = v->requires_grad;
    x->attr_version = x->version->n;
}

grad_fn *tr_grad_fn(aot_tracer *t, aot_tensor *x)
{
    if (x->base != NULL && x->attr_version != x->version->n &&
        (x->grad_fn != NULL || x->base->requires_grad)) {
        regenerate(t, x);
    }
    return x->grad_fn;
}

grad_edge tr_gradient_edge(aot_tracer *t, aot_tensor *x)
{
    grad_fn *fn = tr_grad_fn(t, x);
    if (fn != NULL) {
        return (grad_edge){fn, x->out_nr};
    }
    if (!x->requires_grad) {
        return (grad_edge){NULL, 0};
    }
    if (x->accumulator == NULL) {
        x->accumulator = tr_grad_fn_new(t, GRAD_LEAF, 0, 1);
        x->accumulator->leaf = x;
        x->accumulator->out_type[0] = x->type;
        x->accumulator->out_meta[0] = x->meta;
    }
    return (grad_edge){x->accumulator, 0};
}

void tr_set_history(aot_tracer *t, aot_tensor *x, grad_fn *fn, unsigned out_nr)
{
    (void)t;
    if (!is_differentiable(x)) {
        return;
    }
    x->grad_fn = fn;
    x->out_nr = out_nr;
    x->requires_grad = true;
    fn->out_type[out_nr] = x->type;
    fn->out_meta[out_nr] = x->meta;
}

/* ---- views ----------------------------------------------------------------------------------- */

static void make_view(aot_tracer *t, aot_tensor *x, aot_tensor *of, view_step step, bool multi)
{
    aot_tensor *base = of->base != NULL ? of->base : of;
    unsigned n = of->base != NULL ? of->diff_chain.n : 0;
    view_step *d = tr_alloc(t, n + 1, sizeof *d);
    if (n != 0) {
        memcpy(d, of->diff_chain.d, n * sizeof *d);
    }
    d[n] = step;
    x->base = base;
    x->diff_chain = (view_chain){d, n + 1};
    x->version = of->version;
    x->attr_version = x->version != NULL ? x->version->n : 0;
    x->multi_view = multi;
}

static void make_views(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args,
                       aot_value out)
{
    aot_tensor *of = args[0].u.t;
    if (op == AOT_OP_aten_detach) { /* shares the storage, and no history with it */
        return;
    }
    if (out.kind == AOT_V_TENSOR) {
        make_view(t, out.u.t, of, (view_step){op, n, args, 0}, false);
    }
    for (unsigned i = 0; aot_v_is_list(out) && i < out.n; i++) {
        make_view(t, out.u.items[i].u.t, of, (view_step){op, n, args, i}, true);
    }
}

/* ---- in place -------------------------------------------------------------------------------- */

/* What was written becomes fn's; if it is a view, its base's history is that of a copy into a
 * slice, and the view's history is made anew from it. */
static void rebase_history(aot_tracer *t, aot_tensor *x, grad_fn *fn, unsigned out_nr)
{
    if (x->base == NULL) {
        tr_set_history(t, x, fn, out_nr);
        return;
    }
    aot_tensor *base = x->base;
    grad_fn *cs = tr_grad_fn_new(t, GRAD_COPY_SLICES, fn->n_edges != 0 ? fn->n_edges : 1, 1);
    cs->edges[0] = tr_gradient_edge(t, base);
    for (unsigned i = 1; i < fn->n_edges; i++) {
        cs->edges[i] = fn->edges[i];
    }
    fn->out_type[out_nr] = x->type;
    fn->out_meta[out_nr] = x->meta;
    cs->inner = fn;
    cs->base_type = base->type;
    cs->view_type = x->type;
    cs->chain = x->diff_chain;
    cs->out_type[0] = base->type;
    cs->out_meta[0] = base->meta;
    base->grad_fn = cs;
    base->out_nr = 0;
    base->requires_grad = true;
    x->requires_grad = true;
    x->attr_version = x->version->n - 1;
    tr_grad_fn(t, x);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void see_grad(void *arg, aot_tensor *x)
{
    *(bool *)arg |= x->requires_grad && is_differentiable(x);
}

static bool any_requires_grad(unsigned n, const aot_value *args)
{
    bool any = false;
    for (unsigned i = 0; i < n; i++) {
        tr_each_tensor(args[i], see_grad, &any);
    }
    return any;
}

static unsigned n_tensors(aot_value v)
{
    if (v.kind == AOT_V_TENSOR) {
        return 1;
    }
    return aot_v_is_list(v) && v.n != 0 &&
                   (v.u.items[0].kind == AOT_V_TENSOR || v.u.items[v.n - 1].kind == AOT_V_TENSOR)
               ? v.n
               : 0;
}

static grad_fn *new_op_fn(aot_tracer *t, aot_op_id op, aot_op_id rule_of, unsigned n,
                          const aot_value *args, unsigned n_out)
{
    unsigned n_edges = 0;
    for (unsigned i = 0; i < n; i++) {
        n_edges += n_tensors(args[i]);
    }
    grad_fn *fn = tr_grad_fn_new(t, GRAD_OP, n_edges, n_out);
    fn->op = op;
    fn->rule = aot_trace_rules_of(rule_of)->vjp;
    fn->n_args = n;
    fn->args = args;
    fn->edge_of = tr_alloc(t, n + 1, sizeof *fn->edge_of);
    unsigned e = 0;
    for (unsigned i = 0; i < n; i++) {
        fn->edge_of[i] = e;
        unsigned count = n_tensors(args[i]);
        for (unsigned k = 0; k < count; k++, e++) {
            aot_tensor *x = aot_v_item(args[i], k);
            fn->edges[e] = x != NULL && is_differentiable(x) ? tr_gradient_edge(t, x)
                                                             : (grad_edge){NULL, 0};
        }
    }
    fn->edge_of[n] = e;
    return fn;
}

static aot_tensor *as_saved(aot_tracer *t, aot_tensor *x)
{
    unsigned n;
    aot_tensor *const *parts = aot_trace_parts(x, &n);
    if (n != 0) {
        aot_tensor *saved[2] = {as_saved(t, parts[0]), NULL};
        saved[1] = as_saved(t, parts[1]);
        return aot_trace_wrap(t, aot_meta_get(t->c, x->meta)->wrapper, saved, false);
    }
    aot_value arg = aot_v_tensor(x), out;
    bool was = aot_set_grad_enabled(t, false);
    aot_node_id parent = t->traced_parent;
    if (!t->options.dry) {
        t->traced_parent = tr_emit_call(t, AOT_LEVEL_TRACED, AOT_OP_aten_detach, 1, &arg);
    }
    aot_value *kept = tr_alloc(t, 1, sizeof *kept);
    kept[0] = arg;
    out = tr_functional(t, AOT_OP_aten_detach, 1, kept);
    if (!t->options.dry) {
        tr_bind(t, AOT_LEVEL_TRACED, t->traced_parent, out);
    }
    t->traced_parent = parent;
    aot_set_grad_enabled(t, was);
    return out.u.t;
}

static int by_name(aot_span a, aot_span b)
{
    int order = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);

    return order != 0 ? order : a.n < b.n ? -1 : a.n > b.n;
}

unsigned *tr_saved_order(aot_tracer *t, const grad_fn *fn, unsigned *n)
{
    bool named = fn->op >= AOT_N_OPS || aot_op(fn->op)->schema != NULL; // higher-order ones are not
    const op_facts *f = named ? tr_op(t, fn->op) : NULL;
    bool list = f != NULL && f->returns_list;
    const aot_schema *schema = f != NULL && !list ? &f->schema : NULL;
    unsigned *order = tr_alloc(t, fn->n_out + 1, sizeof *order);

    *n = list || fn->n_out < AOT_SAVES_N_RESULTS ? fn->n_out : AOT_SAVES_N_RESULTS;
    for (unsigned i = 0; i < *n; i++) {
        unsigned k = i;
        for (; k > 0 && schema != NULL && i < schema->n_returns &&
               by_name(schema->returns[i].name, schema->returns[order[k - 1]].name) < 0;
             k--) {
            order[k] = order[k - 1];
        }
        order[k] = i;
    }
    return order;
}

static void save_outputs(aot_tracer *t, grad_fn *fn, unsigned saves, aot_value out)
{
    unsigned n, *order = tr_saved_order(t, fn, &n);
    bool list = n != 0 && fn->op < AOT_N_OPS && aot_op(fn->op)->schema != NULL &&
                tr_op(t, fn->op)->returns_list;

    fn->out_version = tr_alloc(t, fn->n_out + 1, sizeof *fn->out_version);
    for (unsigned k = 0; k < n; k++) {
        unsigned i = order[k];
        aot_tensor *x = aot_v_item(out, i);
        unsigned result = list ? 0 : i; // items of a list are one result
        if ((saves & (AOT_SAVES_RESULT << result)) != 0 && x != NULL) {
            /* A result without history is kept as it is: it cannot make a cycle. The detached copy
             * of a grad layer's tensor wraps the same value: nothing is called. */
            fn->saved_out[i] = x->grad_fn == NULL || t->depth != 0 ? x : as_saved(t, x);
            fn->out_version[i] = x->version != NULL ? x->version->n : 0;
        }
    }
}

/* Whether a gradient can arrive at an output: every tensor of a list, what GRADS of the row names
 * of a tuple, else the first one. */
static bool takes_gradient(const op_facts *f, aot_op_id rule_of, unsigned i)
{
    unsigned grads = aot_trace_rules_of(rule_of)->grads;

    if (f->returns_list || rule_of >= AOT_N_OPS) {
        return true;
    }
    return grads == 0 ? i == 0 : (grads & (AOT_SAVES_RESULT << i)) != 0;
}

/* Writes the call at the levels above functionalization. */
static aot_value record(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    tr_check_versions(t, op, n, args);
    if (t->depth != 0) {
        return tr_grad_below(t, op, n, args);
    }
    if (tr_has_parts(n, args)) {
        return tr_each_part(t, op, n, args, record);
    }
    if (t->options.dry) {
        return tr_functional(t, op, n, args);
    }
    bool forward = !t->in_backward && t->below_aten == 0;
    aot_node_id aten = forward ? tr_emit_call(t, AOT_LEVEL_ATEN, op, n, args) : AOT_NO_NODE;
    aot_node_id id = tr_emit_call(t, AOT_LEVEL_TRACED, op, n, args), was = t->traced_parent;
    t->level[AOT_LEVEL_TRACED].origins.d[id].aten = aten;
    t->traced_parent = id;
    aot_value out = tr_functional(t, op, n, args);
    t->traced_parent = was;
    if (forward) {
        tr_bind(t, AOT_LEVEL_ATEN, aten, out);
    }
    tr_bind(t, AOT_LEVEL_TRACED, id, out);
    return out;
}

/* Whether what an in-place form overwrites must be kept for the backward. */
static bool reads_self(unsigned saves, unsigned n, const aot_value *args)
{
    return (saves & AOT_SAVES_SELF) != 0 ||
           ((saves & AOT_SAVES_SELF_FOR_1) != 0 && n > 1 && any_requires_grad(1, &args[1])) ||
           ((saves & AOT_SAVES_SELF_FOR_2) != 0 && n > 2 && any_requires_grad(1, &args[2]));
}

/* As they are behind the call: what it writes itself is no change. cloned: the first argument is a
 * clone. */
static void note_versions(aot_tracer *t, grad_fn *fn, const op_facts *f, unsigned n, bool cloned)
{
    fn->arg_version = tr_alloc(t, n + 1, sizeof *fn->arg_version);
    for (unsigned i = 0; i < n; i++) {
        const aot_tensor *x = fn->args[i].kind == AOT_V_TENSOR ? fn->args[i].u.t : NULL;
        fn->arg_version[i] =
            x != NULL && x->version != NULL
                ? x->version->n + (f->writes && f->schema.args[i].is_write && !(i == 0 && cloned))
                : 0;
    }
}

/* ---- in place, lists ------------------------------------------------------------------------- */

/* A foreach call in place is, to autograd, a call for each item of its lists. */
typedef struct item_call {
    aot_value *args;
    grad_fn *fn; /* NULL: needs none */
} item_call;

static aot_value one_item(aot_tracer *t, aot_value v)
{
    aot_value *item = tr_alloc(t, 1, sizeof *item);
    *item = v;
    return (aot_value){.kind = AOT_V_LIST, .n = 1, .u.items = item};
}

static item_call *item_calls(aot_tracer *t, aot_op_id op, aot_op_id rule_of, unsigned n,
                             const aot_value *args)
{
    unsigned n_items = args[0].n;
    item_call *calls = tr_alloc(t, n_items + 1, sizeof *calls);
    for (unsigned i = 0; i < n_items; i++) {
        calls[i].args = tr_alloc(t, n + 1, sizeof *calls[i].args);
        for (unsigned k = 0; k < n; k++) {
            bool items = aot_v_is_list(args[k]) && i < args[k].n;
            calls[i].args[k] = items ? one_item(t, args[k].u.items[i]) : args[k];
        }
        if (any_requires_grad(n, calls[i].args)) {
            calls[i].fn = new_op_fn(t, op, rule_of, n, calls[i].args, 1);
        }
    }
    for (unsigned i = 0; i < n_items; i++) {
        unsigned saves = aot_trace_rules_of(rule_of)->saves;
        if (calls[i].fn != NULL && reads_self(saves, n, calls[i].args)) {
            bool was = aot_set_grad_enabled(t, false);
            aot_value *own = tr_alloc(t, n + 1, sizeof *own);
            memcpy(own, calls[i].args, n * sizeof *own);
            own[0] = one_item(t, aot_v_tensor(AOT(t, aten_clone, args[0].u.items[i])));
            calls[i].fn->args = own;
            aot_set_grad_enabled(t, was);
        }
    }
    return calls;
}

/* Lists are not counted: PyTorch lets what a foreach call wrote be written again before the
 * backward reads it. */
static void note_writes(const op_facts *f, unsigned n, const aot_value *args)
{
    for (unsigned i = 0; f->writes && i < n; i++) {
        if (f->schema.args[i].is_write && args[i].kind == AOT_V_TENSOR) {
            args[i].u.t->version->n++;
        }
    }
}

static aot_value autograd_of_items(aot_tracer *t, aot_op_id op, aot_op_id rule_of, unsigned n,
                                   const aot_value *args)
{
    item_call *calls = item_calls(t, op, rule_of, n, args);
    aot_value out = record(t, op, n, args);
    for (unsigned i = 0; i < args[0].n; i++) {
        aot_tensor *x = args[0].u.items[i].u.t;
        if (calls[i].fn != NULL && is_differentiable(x)) {
            calls[i].fn->result = one_item(t, aot_v_tensor(x));
            rebase_history(t, x, calls[i].fn, 0);
        }
    }
    for (unsigned i = 0; i < args[0].n; i++) {
        if (calls[i].fn != NULL) {
            save_outputs(t, calls[i].fn, aot_trace_rules_of(rule_of)->saves, calls[i].fn->result);
        }
    }
    return out;
}

/* The operator whose rule of gradients a call follows: one that writes and has no rule of its own
 * follows its functional twin's. */
static aot_op_id rule_of_op(const op_facts *f, aot_op_id op)
{
    if (!f->writes || f->functional == AOT_OP_UNKNOWN || aot_trace_rules_of(op)->vjp != NULL) {
        return op;
    }
    return aot_op_functional(op) != AOT_OP_UNKNOWN ? aot_op_functional(op) : f->functional;
}

/* The arguments of a call in place as its rule will read them: the first is kept as it was. */
static const aot_value *args_before_write(aot_tracer *t, const op_facts *f, unsigned n,
                                          const aot_value *args)
{
    aot_tensor *original;
    if (f->is_inplace_view) { /* the formula reads its sizes and strides as they were */
        original = tr_alloc(t, 1, sizeof *original);
        *original = *args[0].u.t;
    } else {
        bool was = aot_set_grad_enabled(t, false);
        original = AOT(t, aten_clone, args[0]);
        aot_set_grad_enabled(t, was);
    }
    aot_value *own = tr_alloc(t, n + 1, sizeof *own);
    memcpy(own, args, n * sizeof *own);
    own[0] = aot_v_tensor(original);
    return own;
}

/* Makes room for the results of a call and gives each that takes a gradient its history. */
static void set_histories(aot_tracer *t, grad_fn *fn, const op_facts *f, aot_op_id rule_of,
                          bool in_place, aot_value out)
{
    unsigned n_out = aot_v_is_list(out) ? out.n : 1;
    if (n_out > fn->n_out) {
        fn->out_type = tr_alloc(t, n_out + 1, sizeof(aot_fake *));
        fn->out_meta = tr_alloc(t, n_out + 1, sizeof *fn->out_meta);
        fn->saved_out = tr_alloc(t, n_out + 1, sizeof(aot_tensor *));
    }
    fn->n_out = n_out;
    fn->result = out;
    for (unsigned i = 0; i < n_out; i++) {
        aot_tensor *x = aot_v_item(out, i);
        if (x == NULL || !is_differentiable(x) || !takes_gradient(f, rule_of, i)) {
            continue;
        }
        if (in_place && i == 0) {
            rebase_history(t, x, fn, 0);
        } else {
            tr_set_history(t, x, fn, i);
        }
    }
}

aot_value tr_autograd(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    const op_facts *f = tr_op(t, op);
    if (t->depth != 0) {
        args = tr_grad_wrappers(t, n, args);
    }
    aot_op_id rule_of = rule_of_op(f, op);
    bool stops = aot_trace_rules_of(rule_of)->vjp == NULL &&
                 aot_op_gap(rule_of, AOT_RULE_VJP) == AOT_GAP_nondifferentiable;
    bool wanted = t->grad_enabled && !stops && op != AOT_OP_aten_detach &&
                  any_requires_grad(n, args);
    unsigned saves = aot_trace_rules_of(rule_of)->saves;
    bool in_place = f->writes && n != 0 && args[0].kind == AOT_V_TENSOR &&
                    f->schema.args[0].is_write;
    grad_fn *fn = NULL;
    if (wanted && f->writes && args[0].kind == AOT_V_LIST && f->schema.args[0].is_write) {
        return autograd_of_items(t, op, rule_of, n, args);
    }
    if (wanted) {
        bool keeps = in_place && (f->is_inplace_view || reads_self(saves, n, args));
        const aot_value *saved = keeps ? args_before_write(t, f, n, args) : args;
        fn = new_op_fn(t, op, rule_of, n, args, 8);
        fn->args = saved;
        note_versions(t, fn, f, n, saved != args);
    }
    aot_value out = record(t, op, n, args);
    note_writes(f, n, args);
    if (op == AOT_OP_aten_view_dtype && t->depth == 0) { // a view without history: made by detach
        bool was = aot_set_grad_enabled(t, false);
        out = aot_v_tensor(AOT(t, aten_detach, out));
        aot_set_grad_enabled(t, was);
    } else if (f->is_view && args[0].kind == AOT_V_TENSOR) {
        make_views(t, op, n, args, out);
    }
    if (fn == NULL) {
        return out;
    }
    set_histories(t, fn, f, rule_of, in_place, out);
    save_outputs(t, fn, saves, out);
    return out;
}

void aot_trace_custom_grad(aot_tracer *t, aot_op_id op, aot_vjp_fn *rule, void *custom, unsigned n,
                           const aot_value *inputs, unsigned n_out, aot_tensor *const *outputs)
{
    if (!t->grad_enabled || !any_requires_grad(n, inputs)) {
        return;
    }
    grad_fn *fn = new_op_fn(t, op, op, n, inputs, n_out);
    fn->rule = rule;
    fn->custom = custom;
    for (unsigned i = 0; i < n_out; i++) {
        if (outputs[i] != NULL) {
            tr_set_history(t, outputs[i], fn, i);
        }
    }
}
