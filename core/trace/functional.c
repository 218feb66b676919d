/* Functionalization: an outer tensor wraps a pure inner one; writes become new values that aliases
 * pick up when they are used next.
 * Mirrors aten/src/ATen/FunctionalTensorWrapper.cpp, FunctionalStorageImpl.cpp and the generated
 * kernels of RegisterFunctionalization. */
#include <string.h>

#include "trace/internal.h"

static tracer_mode enter(aot_tracer *t, tracer_mode m)
{
    tracer_mode was = t->mode;
    t->mode = m;
    return was;
}

/* ---- below functionalization ----------------------------------------------------------------- */

/* A value that already stands for a functional node gets a second tensor for the new one. */
static aot_tensor *own_tensor(void *arg, aot_tensor *x)
{
    aot_tracer *t = arg;
    if (x->node[AOT_LEVEL_FUNCTIONAL] == AOT_NO_NODE) {
        return x;
    }
    aot_tensor *copy = tr_alloc(t, 1, sizeof *copy);
    *copy = *x;
    copy->node[AOT_LEVEL_FUNCTIONAL] = AOT_NO_NODE;
    return copy;
}

aot_value tr_below(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    if (t->options.dry) {
        return tr_decompose(t, op, n, args);
    }
    aot_node_id id = tr_emit_call(t, AOT_LEVEL_FUNCTIONAL, op, n, args), was = t->functional_parent;
    t->functional_parent = id;
    aot_value out = tr_decompose(t, op, n, args);
    t->functional_parent = was;
    out = tr_map_tensors(t, out, own_tensor, t);
    tr_bind(t, AOT_LEVEL_FUNCTIONAL, id, out);
    return out;
}

/* ---- wrapping -------------------------------------------------------------------------------- */

aot_tensor *tr_wrap(aot_tracer *t, aot_tensor *inner)
{
    aot_tensor *x = tr_tensor_new(t, inner->meta);
    x->inner = inner;
    x->storage = tr_alloc(t, 1, sizeof *x->storage);
    x->storage->base = inner;
    x->storage->id = t->next_storage++;
    x->version = tr_alloc(t, 1, sizeof *x->version);
    return x;
}

static aot_tensor *wrap_fresh(void *arg, aot_tensor *inner)
{
    return tr_wrap(arg, inner);
}

static aot_tensor *unwrap(void *arg, aot_tensor *x)
{
    if (x->inner == NULL) {
        return x;
    }
    tr_sync(arg, x);
    return x->inner;
}

static aot_tensor *wrap_view(aot_tracer *t, const aot_tensor *of, aot_tensor *inner, view_step step)
{
    aot_tensor *x = tr_tensor_new(t, inner->meta);
    view_step *d = tr_alloc(t, of->chain.n + 1, sizeof *d);
    if (of->chain.n != 0) {
        memcpy(d, of->chain.d, of->chain.n * sizeof *d);
    }
    d[of->chain.n] = step;
    x->inner = inner;
    x->storage = of->storage;
    /* of a fresh wrapper: a view of what was written is made again at its first use */
    x->generation = 0;
    x->chain = (view_chain){d, of->chain.n + 1};
    x->version = of->version;
    x->base_conj = of->base_conj;
    x->base_neg = of->base_neg;
    return x;
}

/* ---- updates --------------------------------------------------------------------------------- */

aot_tensor *tr_view_apply(aot_tracer *t, const view_step *v, aot_tensor *x)
{
    aot_value *args = tr_alloc(t, v->n + 1, sizeof *args);
    memcpy(args, v->args, v->n * sizeof *args);
    args[0] = aot_v_tensor(x);
    return aot_v_item(aot_call_op(t, v->op, v->n, args), v->out);
}

/* The base after the value of one of its views was replaced. */
static aot_tensor *apply_update(aot_tracer *t, const func_update *u, aot_tensor *base)
{
    unsigned n = u->chain.n;
    aot_tensor **at = tr_alloc(t, n + 1, sizeof(aot_tensor *)), *value = u->value;
    at[0] = base;
    for (unsigned i = 0; i + 1 < n; i++) {
        at[i + 1] = tr_view_apply(t, &u->chain.d[i], at[i]);
    }
    for (unsigned i = n; i-- > 0;) {
        value = tr_view_inverse(t, &u->chain.d[i], at[i], value);
    }
    return value;
}

void tr_sync(aot_tracer *t, aot_tensor *x)
{
    func_storage *s = x->storage;
    if (x->part != NULL) {
        tr_sync(t, x->part[0]);
        tr_sync(t, x->part[1]);
        return;
    }
    if (s == NULL || x->generation == s->generation) {
        return;
    }
    tracer_mode was = enter(t, MODE_FUNCTIONAL);
    for (size_t i = 0; i < s->updates.n; i++) {
        s->base = apply_update(t, &s->updates.d[i], s->base);
    }
    s->updates.n = 0;
    aot_tensor *v = s->base;
    for (unsigned i = 0; i < x->chain.n; i++) {
        v = tr_view_apply(t, &x->chain.d[i], v);
    }
    enter(t, was);
    x->inner = v;
    x->meta = v->meta;
    x->type = v->type;
    x->generation = s->generation;
}

void tr_commit(aot_tracer *t, aot_tensor *x, aot_tensor *value)
{
    func_storage *s = x->storage;
    if (value->type->dtype != x->type->dtype) {
        tracer_mode was = enter(t, MODE_FUNCTIONAL);
        value = AOT(t, aten__to_copy, value, (int)x->type->dtype, aot_v_name(t, "torch.strided"));
        enter(t, was);
    }
    if (s->updates.cap == 0) {
        aot_vec_push(&t->heap, (void *)&s->updates.d);
    }
    aot_vec_push(&s->updates, ((func_update){value, x->chain}));
    s->generation++;
    s->n_mutations++;
    s->n_no_grad += !t->grad_enabled;
    tr_sync(t, x);
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct resolver {
    aot_tracer *t;
    aot_op_id op;
} resolver;

static aot_tensor *unwrap_resolved(void *arg, aot_tensor *x)
{
    resolver *r = arg;
    aot_tensor *inner = unwrap(r->t, x);
    if (inner != x && tr_must_resolve(r->op, x)) {
        tracer_mode was = enter(r->t, MODE_FUNCTIONAL);
        inner = AOT(r->t, aten_clone, inner);
        enter(r->t, was);
    }
    return inner;
}

/* What is read of lazily conjugated or negated tensors, for an operator that knows no such. */
static aot_value *resolved(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    const op_facts *f = tr_op(t, op);
    resolver r = {t, op};
    aot_value *inner = tr_alloc(t, n + 1, sizeof *inner);
    for (unsigned i = 0; i < n; i++) {
        bool written = f->writes && f->schema.args[i].is_write;
        inner[i] = written ? tr_map_tensors(t, args[i], unwrap, t)
                           : tr_map_tensors(t, args[i], unwrap_resolved, &r);
    }
    return inner;
}

static aot_value *unwrapped(aot_tracer *t, unsigned n, const aot_value *args)
{
    aot_value *inner = tr_alloc(t, n + 1, sizeof *inner);
    for (unsigned i = 0; i < n; i++) {
        inner[i] = tr_map_tensors(t, args[i], unwrap, t);
    }
    return inner;
}

static aot_value below(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *inner)
{
    tracer_mode was = enter(t, MODE_FUNCTIONAL);
    aot_value out = aot_call_op(t, op, n, inner);
    enter(t, was);
    return out;
}

static aot_value call_view(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    aot_tensor *of = args[0].kind == AOT_V_TENSOR ? args[0].u.t : NULL;
    if (aot_v_is_number(args[0])) { // the number's conjugate is a tensor of its own
        return tr_map_tensors(t, below(t, op, n, args), wrap_fresh, t);
    }
    if (of == NULL) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "view of what is no tensor: %s", aot_op(op)->name);
    }
    aot_value out = below(t, op, n, unwrapped(t, n, args));
    view_step step = {op, n, args, 0};
    if (out.kind == AOT_V_TENSOR) {
        return aot_v_tensor(wrap_view(t, of, out.u.t, step));
    }
    aot_value *items = tr_alloc(t, out.n + 1, sizeof *items);
    for (unsigned i = 0; i < out.n; i++) {
        step.out = i;
        items[i] = aot_v_tensor(wrap_view(t, of, out.u.items[i].u.t, step));
    }
    out.u.items = items;
    return out;
}

/* t_, squeeze_ ...: the tensor itself becomes another view of its storage. */
static aot_value call_inplace_view(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    aot_op_id view = tr_op(t, op)->functional;
    aot_tensor *x = args[0].u.t;
    aot_value v = below(t, view, n, unwrapped(t, n, args));
    aot_tensor *now = wrap_view(t, x, v.u.t, (view_step){view, n, args, 0});
    x->inner = now->inner;
    x->meta = now->meta;
    x->type = now->type;
    x->chain = now->chain;
    x->generation = x->storage->generation;
    x->metadata_mutated = true;
    return args[0];
}

/* Tensors in order; those of lists too. */
typedef struct flat {
    aot_tensor **d;
    unsigned n;
} flat;

static void add_flat(void *arg, aot_tensor *x)
{
    flat *f = arg;
    if (f->d != NULL) {
        f->d[f->n] = x;
    }
    f->n++;
}

static flat flat_of(aot_tracer *t, aot_value v)
{
    flat f = {NULL, 0};
    tr_each_tensor(v, add_flat, &f); // counts
    f.d = tr_alloc(t, f.n + 1, sizeof(aot_tensor *));
    f.n = 0;
    tr_each_tensor(v, add_flat, &f);
    return f;
}

static flat written_of(aot_tracer *t, const op_facts *f, unsigned n, const aot_value *args)
{
    aot_value *list = tr_alloc(t, n + 1, sizeof *list);
    for (unsigned i = 0; i < n; i++) {
        list[i] = f->schema.args[i].is_write ? args[i] : aot_v_none();
    }
    return flat_of(t, (aot_value){.kind = AOT_V_LIST, .n = n, .u.items = list});
}

/* The functional form takes the same arguments but those of out=. */
static aot_value call_functional_form(aot_tracer *t, const op_facts *f, unsigned n,
                                      const aot_value *inner)
{
    const op_facts *g = tr_op(t, f->functional);
    aot_value *args = tr_alloc(t, n + 1, sizeof *args);
    unsigned k = 0;
    for (unsigned i = 0; i < n; i++) {
        bool is_out = f->schema.args[i].is_write && i >= f->schema.n_positional;
        if (!is_out && k < g->schema.n_args) {
            args[k++] = inner[i];
        }
    }
    return below(t, f->functional, k, args);
}

static aot_value call_mutating(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    const op_facts *f = tr_op(t, op);
    if (f->functional == AOT_OP_UNKNOWN) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "%s has no functional form", aot_op(op)->name);
    }
    aot_value out = call_functional_form(t, f, n, resolved(t, op, n, args));
    flat w = written_of(t, f, n, args), values = flat_of(t, out);
    if (values.n < w.n) {
        aot_trace_fail(t, AOT_E_GRAPH, "%s gives %u values for %u arguments that are written",
                       aot_op(f->functional)->name, values.n, w.n);
    }
    unsigned n_fresh = values.n - w.n;
    for (unsigned i = 0; i < w.n; i++) {
        tr_commit(t, w.d[i], values.d[n_fresh + i]);
    }
    if (n_fresh == 0) {
        unsigned first = 0;
        while (first < n && !f->schema.args[first].is_write) {
            first++;
        }
        return f->schema.n_returns == 0                 ? aot_v_none()
               : f->schema.n_returns > 1 && w.n > 1     ? aot_v_tensors(t, w.n, w.d)
                                                        : args[first];
    }
    aot_value *items = tr_alloc(t, f->schema.n_returns + 1, sizeof *items);
    unsigned fresh_at = 0, written_at = 0;
    for (unsigned i = 0; i < f->schema.n_returns; i++) {
        items[i] = f->schema.returns[i].is_write
                       ? aot_v_tensor(w.d[written_at++])
                       : aot_v_tensor(fresh_at < n_fresh ? tr_wrap(t, values.d[fresh_at++]) : NULL);
    }
    return f->schema.n_returns == 1 ? items[0] : aot_v_tuple(t, f->schema.n_returns, items);
}

static aot_value call_functional(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    if (op == AOT_OP_aten_lift_fresh_copy && t->options.export_path) {
        op = AOT_OP_aten_clone; // exported constants are inputs: a copy is what is left
        n = 1;
    }
    const op_facts *f = tr_op(t, op);
    if (f->is_inplace_view && f->functional != AOT_OP_UNKNOWN) {
        return call_inplace_view(t, op, n, args);
    }
    if (f->has_effects) {
        return tr_map_tensors(t, tr_effect(t, op, n, resolved(t, op, n, args)), wrap_fresh, t);
    }
    if (f->writes && op >= AOT_N_OPS) {
        return tr_auto_functionalize(t, op, n, args);
    }
    if (f->writes) {
        return call_mutating(t, op, n, args);
    }
    if (f->is_view || op == AOT_OP_aten__unsafe_view) { /* that is a view here, nowhere else */
        return call_view(t, op, n, args);
    }
    return tr_map_tensors(t, below(t, op, n, resolved(t, op, n, args)), wrap_fresh, t);
}

static void measure(void *arg, aot_tensor *x)
{
    tr_sym_storage(arg, x);
}

aot_value tr_functional(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    aot_value out = call_functional(t, op, n, args);
    tr_each_tensor(out, measure, t);
    return out;
}
