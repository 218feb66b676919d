/* The stack of vmap and grad layers, wrapping, and how a call passes from one to the next. */
#include "trace/layer.h"

#include <string.h>

#include "trace/batch.h"
#include "trace/internal.h"

static const char *const kind_name[] = {"vmap", "grad"};

unsigned aot_layer_push(aot_tracer *t, aot_layer_kind kind, aot_dim batch, aot_randomness r)
{
    aot_vec_push(&t->layers, ((layer){kind, ++t->n_layers_pushed, batch, r, t->grad_enabled}));
    t->grad_enabled |= kind == AOT_LAYER_GRAD;
    return t->depth = (unsigned)t->layers.n;
}

void aot_layer_pop(aot_tracer *t, aot_layer_kind kind)
{
    if (t->layers.n == 0 || t->layers.d[t->layers.n - 1].kind != kind) {
        aot_trace_fail(t, AOT_E_GRAPH, "a %s layer is left that is not the innermost one",
                       kind_name[kind]);
    }
    t->depth = (unsigned)--t->layers.n;
    if (kind == AOT_LAYER_GRAD) {
        t->grad_enabled = t->layers.d[t->layers.n].was_grad;
    }
}

static const layer *current(const aot_tracer *t)
{
    return t->depth == 0 ? NULL : &t->layers.d[t->depth - 1];
}

bool tr_in_vmap(const aot_tracer *t)
{
    return t->depth != 0 && current(t)->kind == AOT_LAYER_VMAP;
}

/* ---- wrapping -------------------------------------------------------------------------------- */

static aot_meta_id logical_meta(aot_tracer *t, const aot_tensor *value, unsigned bdim)
{
    aot_fake f = *value->type;
    f.ndim--;
    for (unsigned i = bdim; i < f.ndim; i++) {
        f.size[i] = f.size[i + 1];
        f.stride[i] = f.stride[i + 1];
    }
    return aot_fake_meta(t->c, &f);
}

static aot_tensor *wrap(aot_tracer *t, aot_tensor *value, aot_meta_id meta, unsigned layer,
                        int bdim)
{
    aot_tensor *x = tr_tensor_new(t, meta);
    x->value = value;
    x->layer = layer;
    x->layer_serial = layer <= t->layers.n ? t->layers.d[layer - 1].serial : 0;
    x->bdim = bdim;
    x->version = tr_alloc(t, 1, sizeof *x->version);
    return x;
}

aot_tensor *aot_layer_add_batch(aot_tracer *t, aot_tensor *x, unsigned bdim, unsigned layer)
{
    if (bdim >= aot_ndim(x)) {
        aot_trace_fail(t, AOT_E_SHAPE, "vmap: dimension %u of a tensor with %u dimensions", bdim,
                       aot_ndim(x));
    }
    return wrap(t, x, logical_meta(t, x, bdim), layer, (int)bdim);
}

aot_tensor *aot_layer_wrap_grad(aot_tracer *t, aot_tensor *x, unsigned layer)
{
    aot_tensor *w = wrap(t, x, x->meta, layer, -1);
    w->wrapped_number = x->wrapped_number;
    return w;
}

aot_tensor *aot_layer_unwrap_grad(aot_tracer *t, aot_tensor *x, unsigned layer)
{
    (void)t;
    return x->layer == layer && x->bdim < 0 ? x->value : x;
}

void aot_layer_require_grad(aot_tracer *t, aot_tensor *x)
{
    if (x->layer == 0 || x->bdim >= 0) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "requires_grad_() of a tensor of no grad layer");
    }
    x->requires_grad = true;
}

aot_tensor *aot_layer_remove_batch(aot_tracer *t, aot_tensor *x, unsigned layer, aot_dim batch,
                                   int64_t out_dim)
{
    unsigned ndim = aot_ndim(x) + 1, to = aot_wrap_dim(t, out_dim, ndim);
    if (x->layer == layer && x->bdim >= 0) {
        aot_tensor *value = x->value;
        return (unsigned)x->bdim == to ? value
                                       : AOT(t, aten_movedim_int, value, x->bdim, (int64_t)to);
    }
    if (to == 0) {
        aot_dim size[AOT_FAKE_MAX_NDIM + 1] = {batch};
        memcpy(size + 1, aot_sizes(x).d, aot_ndim(x) * sizeof *size);
        return AOT(t, aten_expand, x, ((aot_dims){size, ndim}));
    }
    aot_trace_fail(t, AOT_E_UNSUPPORTED, "vmap: out_dims %u of an output without a batch", to);
}

/* ---- from layer to layer --------------------------------------------------------------------- */

/* A tensor of a layer that was left stands for what it wraps. */
static aot_tensor *alive(const aot_tracer *t, aot_tensor *x)
{
    while (x->layer != 0 && x->bdim < 0 &&
           (x->layer > t->layers.n || t->layers.d[x->layer - 1].serial != x->layer_serial)) {
        x = x->value;
    }
    return x;
}

bool tr_is_batched(const aot_tracer *t, const aot_tensor *x)
{
    return x->layer == t->depth && x->bdim >= 0;
}

bool aot_layer_is_batched(const aot_tracer *t, const aot_tensor *x)
{
    return tr_in_vmap(t) && tr_is_batched(t, x);
}

bool aot_layer_is_batched_by_any(const aot_tensor *x)
{
    while (x->layer != 0 && x->bdim < 0) {
        x = x->value;
    }
    return x->layer != 0;
}

void tr_refresh(aot_tracer *t, aot_tensor *x)
{
    x->meta = x->bdim >= 0 ? logical_meta(t, x->value, (unsigned)x->bdim) : x->value->meta;
    x->type = tr_fake(t, x->meta);
}

unsigned tr_layer_leave(aot_tracer *t, bool *grad)
{
    const layer *l = current(t);
    *grad = t->grad_enabled;
    t->grad_enabled = *grad && (l->kind == AOT_LAYER_VMAP || l->was_grad);
    return t->depth--;
}

void tr_layer_return(aot_tracer *t, unsigned depth, bool grad)
{
    t->depth = depth;
    t->grad_enabled = grad;
}

static aot_value call_below(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    bool grad;
    unsigned depth = tr_layer_leave(t, &grad);
    aot_value out = aot_call_op(t, op, n, args);
    tr_layer_return(t, depth, grad);
    return out;
}

/* ---- grad ------------------------------------------------------------------------------------ */

static aot_tensor *as_wrapper(void *arg, aot_tensor *x)
{
    aot_tracer *t = arg;
    x = alive(t, x);
    return x->layer == t->depth ? x : aot_layer_wrap_grad(t, x, t->depth);
}

aot_value *tr_grad_wrappers(aot_tracer *t, unsigned n, const aot_value *args)
{
    aot_value *all = tr_alloc(t, n + 1, sizeof *all);
    for (unsigned i = 0; i < n; i++) {
        all[i] = tr_map_tensors(t, args[i], as_wrapper, t);
    }
    return all;
}

static aot_tensor *wrapped_value(void *arg, aot_tensor *x)
{
    (void)arg;
    return x->value;
}

typedef struct written_args {
    aot_tracer *t;
    aot_tensor *d[64];
    unsigned n;
} written_args;

static void add_written(void *arg, aot_tensor *x)
{
    written_args *w = arg;
    if (w->n < 64) {
        w->d[w->n++] = x;
    }
}

/* A result that was written is the argument itself. */
static aot_tensor *wrap_result(void *arg, aot_tensor *x)
{
    written_args *w = arg;
    for (unsigned i = 0; i < w->n; i++) {
        if (w->d[i]->value == x) {
            return w->d[i];
        }
    }
    return aot_layer_wrap_grad(w->t, x, w->t->depth);
}

aot_value tr_grad_below(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args)
{
    const op_facts *f = tr_op(t, op);
    aot_value *values = tr_alloc(t, n + 1, sizeof *values);
    written_args w = {.t = t};
    for (unsigned i = 0; i < n; i++) {
        values[i] = tr_map_tensors(t, args[i], wrapped_value, t);
        if (f->schema.args[i].is_write) {
            tr_each_tensor(args[i], add_written, &w);
        }
    }
    aot_value out = call_below(t, op, n, values);
    for (unsigned i = 0; i < w.n; i++) {
        tr_refresh(t, w.d[i]);
    }
    return tr_map_tensors(t, out, wrap_result, &w);
}

/* ---- vmap ------------------------------------------------------------------------------------ */

static aot_tensor *unwrap_dead(void *arg, aot_tensor *x)
{
    return alive(arg, x);
}

aot_value *tr_alive(aot_tracer *t, unsigned n, const aot_value *args)
{
    aot_value *live = tr_alloc(t, n + 1, sizeof *live);
    for (unsigned i = 0; i < n; i++) {
        live[i] = tr_map_tensors(t, args[i], unwrap_dead, t);
    }
    return live;
}

typedef struct seek {
    const aot_tracer *t;
    bool found;
} seek;

static void see_batched(void *arg, aot_tensor *x)
{
    seek *s = arg;
    s->found |= tr_is_batched(s->t, x);
}

aot_value tr_vmap(aot_tracer *t, const op_facts *f, aot_op_id op, const aot_value *args)
{
    unsigned n = f->schema.n_args;
    aot_value *live = tr_alloc(t, n + 1, sizeof *live);
    seek s = {.t = t};
    for (unsigned i = 0; i < n; i++) {
        live[i] = tr_map_tensors(t, args[i], unwrap_dead, t);
        tr_each_tensor(live[i], see_batched, &s);
    }
    const layer *l = current(t);
    bool random = op < AOT_N_OPS && (aot_op(op)->tags & AOT_TAG_NONDETERMINISTIC_SEEDED) != 0;
    if (random && l->randomness == AOT_RANDOM_ERROR) {
        aot_trace_fail(t, AOT_E_GRAPH,
                       "vmap: called random operation while in randomness error mode: %s",
                       tr_op_text(t, op));
    }
    if (random && l->randomness == AOT_RANDOM_DIFFERENT) {
        return tr_batch_random(t, op, n, live, l->batch);
    }
    return s.found ? tr_batch(t, f, op, n, live) : call_below(t, op, n, live);
}
