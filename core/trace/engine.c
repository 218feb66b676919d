/* The backward: grad_fns in the order in which PyTorch's engine runs them.
 * Mirrors torch/csrc/autograd/engine.cpp (dependencies, ready queue, validate_outputs),
 * input_buffer.cpp and functions/tensor.cpp:CopySlices. */
#include <string.h>

#include "trace/internal.h"

typedef struct fn_list {
    grad_fn **d;
    unsigned n, cap;
} fn_list;

typedef struct engine {
    aot_tracer *t;
    unsigned run;
    fn_list ready; /* a heap: highest sequence number first */
    aot_tensor **captured;
    bool within; /* the gradient is a part of the forward: torch.func.grad */
} engine;

static void list_push(aot_tracer *t, fn_list *l, grad_fn *fn)
{
    if (l->n == l->cap) {
        unsigned cap = l->cap == 0 ? 64 : 2 * l->cap;
        grad_fn **d = tr_alloc(t, cap, sizeof *d);
        if (l->n != 0) {
            memcpy(d, l->d, l->n * sizeof *d);
        }
        l->d = d;
        l->cap = cap;
    }
    l->d[l->n++] = fn;
}

static void ready_push(engine *e, grad_fn *fn)
{
    fn_list *q = &e->ready;
    list_push(e->t, q, fn);
    for (unsigned i = q->n - 1; i > 0 && q->d[(i - 1) / 2]->seq < q->d[i]->seq; i = (i - 1) / 2) {
        grad_fn *tmp = q->d[i];
        q->d[i] = q->d[(i - 1) / 2];
        q->d[(i - 1) / 2] = tmp;
    }
}

static grad_fn *ready_pop(engine *e)
{
    fn_list *q = &e->ready;
    grad_fn *top = q->d[0];
    q->d[0] = q->d[--q->n];
    for (unsigned i = 0;;) {
        unsigned l = 2 * i + 1, best = i;
        best = l < q->n && q->d[l]->seq > q->d[best]->seq ? l : best;
        best = l + 1 < q->n && q->d[l + 1]->seq > q->d[best]->seq ? l + 1 : best;
        if (best == i) {
            return top;
        }
        grad_fn *tmp = q->d[i];
        q->d[i] = q->d[best];
        q->d[best] = tmp;
        i = best;
    }
}

/* ---- what is needed -------------------------------------------------------------------------- */

static void visit(engine *e, grad_fn *fn, fn_list *order)
{
    if (fn != NULL && fn->run != e->run) {
        fn->run = e->run;
        fn->n_deps = 0;
        fn->needed = fn->capture >= 0;
        fn->buffer = NULL;
        list_push(e->t, order, fn);
    }
}

/* Counts, for each reachable grad_fn, who sends to it, and marks those on a way to a capture.
 * Sequence numbers do not order them: the history of a view that is made anew while a call collects
 * its edges is younger than the call. */
static void prepare(engine *e, const grad_edge *roots, unsigned n_roots, fn_list *order)
{
    for (unsigned i = 0; i < n_roots; i++) {
        visit(e, roots[i].fn, order);
    }
    for (unsigned i = 0; i < order->n; i++) {
        grad_fn *fn = order->d[i];
        for (unsigned k = 0; k < fn->n_edges; k++) {
            if (fn->edges[k].fn != NULL) {
                visit(e, fn->edges[k].fn, order);
                fn->edges[k].fn->n_deps++;
            }
        }
    }
    fn_list sorted = {0}; // each after all that send to it
    for (unsigned i = 0; i < order->n; i++) {
        if (order->d[i]->n_deps == 0) {
            list_push(e->t, &sorted, order->d[i]);
        }
    }
    for (unsigned i = 0; i < sorted.n; i++) {
        grad_fn *fn = sorted.d[i];
        for (unsigned k = 0; k < fn->n_edges; k++) {
            if (fn->edges[k].fn != NULL && --fn->edges[k].fn->n_deps == 0) {
                list_push(e->t, &sorted, fn->edges[k].fn);
            }
        }
    }
    for (unsigned i = sorted.n; i-- > 0;) {
        grad_fn *fn = sorted.d[i];
        for (unsigned k = 0; k < fn->n_edges; k++) {
            if (fn->edges[k].fn != NULL) {
                fn->needed |= fn->edges[k].fn->needed;
                fn->edges[k].fn->n_deps++;
            }
        }
    }
}

/* ---- gradients that fit their inputs --------------------------------------------------------- */

/* at::sum_to */
static aot_tensor *sum_to(aot_tracer *t, aot_tensor *x, const aot_fake *to)
{
    const aot_fake *f = x->type;
    aot_dims want = {to->size, to->ndim};
    if (to->ndim == 0) {
        return AOT(t, aten_sum, x);
    }
    if (f->ndim < to->ndim) {
        return NULL;
    }
    unsigned leading = f->ndim - to->ndim, n = 0;
    int64_t dims[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < f->ndim; i++) {
        if (i < leading ||
            (aot_dim_eq(want.d[i - leading], aot_dim_of(1)) &&
             !aot_dim_eq(f->size[i], aot_dim_of(1)))) {
            dims[n++] = i;
        } else if (!aot_dim_same(f->size[i], want.d[i - leading]) &&
                   !aot_dim_eq(f->size[i], want.d[i - leading])) {
            return NULL;
        }
    }
    if (n != 0) {
        x = AOT(t, aten_sum_dim_IntList, x, aot_v_ints(t, n, dims), true);
    }
    return leading > 0 ? AOT(t, aten_view, x, want) : x;
}

static aot_tensor *validated(aot_tracer *t, const grad_fn *from, aot_tensor *grad,
                             const grad_fn *to, unsigned nr)
{
    const aot_fake *want = to->out_type[nr];
    if (want == NULL) {
        return grad;
    }
    if (!aot_dims_eq(aot_sizes(grad), (aot_dims){want->size, want->ndim})) {
        aot_tensor *fit = sum_to(t, grad, want);
        if (fit == NULL) {
            aot_trace_fail(t, AOT_E_SHAPE,
                           "gradient of %s has type %s, but its input has type %s",
                           from->kind == GRAD_OP ? aot_op(from->op)->name : "a call",
                           aot_text(t->c, aot_meta_get(t->c, grad->meta)->text),
                           aot_text(t->c, aot_meta_get(t->c, to->out_meta[nr])->text));
        }
        grad = fit;
    }
    if (aot_is_complex(grad) && aot_dtype_get((aot_dtype)want->dtype)->kind != 'c') {
        grad = AOT(t, aten_real, grad);
    }
    if (grad->type->dtype != want->dtype) {
        grad = AOT(t, aten__to_copy, grad, (int)want->dtype);
    }
    return grad;
}

/* ---- running one ----------------------------------------------------------------------------- */

static void unpack(aot_tracer *t, grad_fn *fn, aot_vjp *b)
{
    unsigned n, *order = tr_saved_order(t, fn, &n);

    for (unsigned k = 0; k < n; k++) {
        unsigned i = order[k];
        if (fn->saved_out[i] != NULL) {
            tr_check_saved_out(t, fn, i);
        }
        if (fn->saved_out[i] != NULL && fn->saved_out[i] == aot_v_item(fn->result, i)) {
            b->unpacked[i] = fn->saved_out[i]; /* it has no history: saved as it was */
        } else if (fn->saved_out[i] != NULL) {
            bool was = aot_set_grad_enabled(t, false);
            b->unpacked[i] = AOT(t, aten_detach, fn->saved_out[i]);
            aot_set_grad_enabled(t, was);
            aot_tensor *original = aot_v_item(fn->result, i);
            b->unpacked[i]->requires_grad = was && original != NULL;
            b->unpacked[i]->grad_fn = was ? fn : NULL;
            b->unpacked[i]->out_nr = i;
        }
    }
}

static void apply_copy_slices(aot_tracer *t, grad_fn *fn, aot_tensor **grads, aot_tensor **out)
{
    aot_tensor *grad = grads[0];
    const aot_fake *base = fn->base_type;
    aot_dims size = {base->size, base->ndim}, stride = {base->stride, base->ndim};
    aot_tensor *result = AOT(t, aten_new_empty_strided, grad, size, stride);
    AOT(t, aten_copy_, result, grad);
    aot_tensor *slice = result;
    for (unsigned i = 0; i < fn->chain.n; i++) {
        slice = tr_view_apply(t, &fn->chain.d[i], slice);
    }
    grad_fn *inner = fn->inner;
    aot_tensor **in = tr_alloc(t, inner->n_out + 1, sizeof(aot_tensor *));
    aot_tensor **res = tr_alloc(t, inner->n_edges + 1, sizeof(aot_tensor *));
    in[0] = AOT(t, aten_clone, slice, aot_v_memory_format(t, AOT_MF_CONTIGUOUS));
    grad_edge view = inner->edges[0]; // the view's gradient is wanted if the base's is
    inner->edges[0] = fn->edges[0];
    tr_apply(t, inner, in, res);
    inner->edges[0] = view;
    for (unsigned i = 0; i < fn->n_edges; i++) {
        bool wanted = fn->edges[i].fn != NULL && fn->edges[i].fn->needed;
        if (!wanted) {
            continue;
        }
        if (i == 0) {
            if (res[0] == NULL) {
                AOT(t, aten_zero_, slice);
            } else {
                AOT(t, aten_copy_, slice, res[0]);
            }
            out[0] = result;
        } else {
            out[i] = res[i];
        }
    }
}

void tr_apply(aot_tracer *t, grad_fn *fn, aot_tensor **grads, aot_tensor **out)
{
    bool any = false;
    for (unsigned i = 0; i < fn->n_out; i++) {
        any |= grads[i] != NULL;
    }
    if (!any) {
        return;
    }
    if (fn->kind == GRAD_COPY_SLICES) {
        apply_copy_slices(t, fn, grads, out);
        return;
    }
    if (fn->rule == NULL && t->options.opaque) {
        tr_opaque_gradient(t, fn, grads, out);
        return;
    }
    if (fn->rule == NULL) {
        aot_trace_fail(
            t, AOT_E_UNSUPPORTED,
            "derivative for %s is not implemented%s; --opaque goes on with an opaque node",
            tr_op_text(t, fn->op),
            fn->op >= AOT_N_OPS ? ": a custom operator's is code that no input holds"
                                : " (a VJP rule)");
    }
    aot_vjp b = {t, fn, grads, out, tr_alloc(t, fn->n_out + 1, sizeof(aot_tensor *))};
    unpack(t, fn, &b);
    aot_str was = t->rule;
    t->rule = aot_intern_z(t->c->strs, aot_arena_printf(t->a, "gradient of %s",
                                                        aot_op(fn->op)->name));
    const grad_fn *reading = t->reading;
    t->reading = fn;
    fn->rule(&b);
    t->reading = reading;
    t->rule = was;
}

/* ---- the queue ------------------------------------------------------------------------------- */

static void accumulate(engine *e, grad_fn *to, unsigned nr, aot_tensor *grad)
{
    aot_tracer *t = e->t;
    if (to->buffer == NULL) {
        to->buffer = tr_alloc(t, to->n_out + 1, sizeof(aot_tensor *));
    }
    if (grad == NULL) {
        return;
    }
    if (to->buffer[nr] == NULL) {
        to->buffer[nr] = grad;
        return;
    }
    aot_str was = t->rule;
    t->rule = aot_intern_z(t->c->strs, "gradient accumulation");
    to->buffer[nr] = AOT(t, aten_add_Tensor, to->buffer[nr], grad);
    t->rule = was;
}

static void send(engine *e, grad_edge to, aot_tensor *grad)
{
    if (to.fn == NULL) {
        return;
    }
    to.fn->n_deps--;
    if (!to.fn->needed) {
        return;
    }
    accumulate(e, to.fn, to.nr, grad);
    if (to.fn->n_deps == 0) {
        ready_push(e, to.fn);
    }
}

static void evaluate(engine *e, grad_fn *fn)
{
    aot_tracer *t = e->t;
    if (fn->capture >= 0) {
        e->captured[fn->capture] = fn->buffer != NULL ? fn->buffer[fn->capture_nr] : NULL;
    }
    bool goes_on = false;
    for (unsigned i = 0; i < fn->n_edges; i++) {
        goes_on |= fn->edges[i].fn != NULL && fn->edges[i].fn->needed;
    }
    if (!goes_on) {
        return;
    }
    aot_tensor **out = tr_alloc(t, fn->n_edges + 1, sizeof(aot_tensor *));
    if (!e->within) {
        t->src = fn->src;
        t->at_node = AOT_NO_NODE;
    }
    if (fn->buffer != NULL) {
        tr_apply(t, fn, fn->buffer, out);
    }
    for (unsigned i = 0; i < fn->n_edges; i++) {
        if (out[i] != NULL && fn->edges[i].fn != NULL) {
            out[i] = validated(t, fn, out[i], fn->edges[i].fn, fn->edges[i].nr);
        }
    }
    for (unsigned i = 0; i < fn->n_edges; i++) {
        send(e, fn->edges[i], out[i]);
    }
}

static void run_backward(aot_tracer *t, bool within, bool create_graph, unsigned n_out,
                         aot_tensor *const *outs, aot_tensor *const *tangents, unsigned n_in,
                         aot_tensor *const *inputs, aot_tensor **grads)
{
    engine e = {.t = t, .run = ++t->engine_run, .captured = grads, .within = within};
    grad_edge *roots = tr_alloc(t, n_out + 1, sizeof *roots);
    fn_list order = {0};
    grad_fn **wanted = tr_alloc(t, n_in + 1, sizeof(grad_fn *));
    for (unsigned i = 0; i < n_out; i++) {
        roots[i] = tr_gradient_edge(t, outs[i]);
    }
    for (unsigned i = 0; i < n_in; i++) {
        grad_edge edge = tr_gradient_edge(t, inputs[i]);
        grads[i] = NULL;
        wanted[i] = edge.fn;
        // one input a grad_fn: outputs of one call are not asked for together
        if (edge.fn != NULL) {
            edge.fn->capture = (int)i;
            edge.fn->capture_nr = edge.nr;
        }
    }
    prepare(&e, roots, n_out, &order);
    aot_src src = t->src;
    bool was_backward = t->in_backward, was_grad = aot_set_grad_enabled(t, create_graph);
    t->in_backward |= !within;
    for (unsigned i = 0; i < n_out; i++) {
        if (roots[i].fn != NULL) {
            roots[i].fn->n_deps++;
        }
    }
    for (unsigned i = 0; i < n_out; i++) {
        send(&e, roots[i], tangents[i]);
    }
    while (e.ready.n != 0) {
        evaluate(&e, ready_pop(&e));
    }
    t->in_backward = was_backward;
    t->grad_enabled = was_grad;
    t->src = src;
    for (unsigned i = 0; i < n_in; i++) {
        if (wanted[i] != NULL) {
            wanted[i]->capture = -1;
        }
    }
}

void aot_trace_backward(aot_tracer *t, unsigned n_out, aot_tensor *const *outs,
                        aot_tensor *const *tangents, unsigned n_in, aot_tensor *const *inputs,
                        aot_tensor **grads)
{
    run_backward(t, false, false, n_out, outs, tangents, n_in, inputs, grads);
}

void aot_trace_grad(aot_tracer *t, unsigned n_out, aot_tensor *const *outs,
                    aot_tensor *const *tangents, unsigned n_in, aot_tensor *const *inputs,
                    bool create_graph, aot_tensor **grads)
{
    run_backward(t, true, create_graph, n_out, outs, tangents, n_in, inputs, grads);
}
