/* The wrappers of a call around the interpreter. */
#include "exec/run_unit.h"

#include <stdlib.h>
#include <string.h>

#include "exec/alias_grad.h"
#include "exec/clones.h"
#include "exec/fault.h"
#include "exec/kernel.h"
#include "exec/ulps.h"

typedef struct run {
    aot_exec *x;
    const aot_run_in *in;
    const aot_fw_metadata *m;
    aot_run_out *out;
    aot_xval *inner;     /* inputs of the graph */
    unsigned n_inner;
    aot_xval *returned;  /* of the forward */
    unsigned n_returned;
    aot_array **extra;   /* by inner input: gradient that comes through views made outside */
    aot_err *err;
} run;

static bool makes(const run *r, aot_fault f)
{
    return r->in->faulty && r->in->fault == f;
}

/* ---- inputs ------------------------------------------------------------------------------------------ */

static aot_status check_wrappers(const run *r)
{
    bool subclass = false;
    for (int i = 0; i < r->m->subclass_in.n; i++) {
        subclass |= r->m->subclass_in.of[i].n > 0;
    }
    const char *wrapper = subclass                        ? "AOTDispatchSubclassWrapper (an input is a tensor subclass)"
                          : r->m->n_bw_tokens > 0         ? "EffectTokensWrapper (an operator of the backward has side effects)"
                          : r->m->is_rng_op_functionalized ? "FunctionalizedRngRuntimeWrapper (functionalize_rng_ops)"
                                                          : NULL;
    return wrapper == NULL ? AOT_OK : AOT_FAIL(r->err, AOT_E_UNSUPPORTED, "a unit with %s is not run", wrapper);
}

/* The base that views were merged into, over their storage, as the graph takes it. */
static aot_xval base_of(const run *r, const aot_array *view, unsigned inner)
{
    const aot_graph *g = r->in->graph;
    unsigned k = 0;
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        const aot_node *n = aot_node_at(g, id);
        if (n->kind != AOT_PLACEHOLDER || k++ != inner) {
            continue;
        }
        const aot_meta *m = aot_meta_get(g->ctx, n->meta);
        int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
        for (unsigned i = 0; i < m->ndim; i++) {
            size[i] = aot_meta_sizes(g->ctx, m)[i].value;
            stride[i] = m->has_stride ? aot_meta_strides(g->ctx, m)[i].value : 1;
        }
        aot_array *base = aot_array_view(view, (aot_dtype)m->dtype, m->ndim, size, stride, 0);
        if (aot_array_fits(base)) {
            return aot_xv_array(base);
        }
        aot_array_unref(base);
        break;
    }
    return aot_xv_none();
}

static aot_status make_inner(run *r)
{
    const aot_calling *c = r->in->calling;
    r->n_inner = (unsigned)r->m->n_inputs;
    r->inner = aot_xcalloc(r->n_inner + 1u, sizeof *r->inner);
    r->extra = aot_xcalloc(r->n_inner + 1u, sizeof *r->extra);
    for (int i = 0; i < c->n_outer; i++) {
        const aot_outer_input *o = &c->outer[i];
        aot_xval *to = &r->inner[o->inner];
        if (o->duplicate || to->kind != AOT_X_NONE) {
            continue;
        }
        bool merged = o->is_view && r->in->outer[i].kind == AOT_X_ARRAY;
        *to = merged ? base_of(r, r->in->outer[i].u.array, (unsigned)o->inner) : aot_xv_keep(r->in->outer[i]);
        if (merged && to->kind == AOT_X_NONE) {
            return AOT_FAIL(r->err, AOT_E_SHAPE, "the memory of input %s does not hold its base", o->name);
        }
    }
    return AOT_OK;
}

/* What the forward takes of the inputs: it may take fewer than the joint graph. Borrowed; the caller frees the list. */
static aot_xval *forward_inputs(const run *r, const aot_graph *g, unsigned *n)
{
    aot_xval *given = aot_xcalloc(g->nodes.n + 1, sizeof *given);
    unsigned at = 0, n_tokens = (unsigned)r->m->n_tokens; // in front, each None
    *n = 0;
    for (aot_node_id id = 0; id < r->in->graph->nodes.n; id++) {
        const aot_node *node = aot_node_at(r->in->graph, id);
        if (node->kind != AOT_PLACEHOLDER || at >= n_tokens + r->n_inner) {
            continue;
        }
        if (aot_graph_find(g, aot_node_name(r->in->graph, id)) != AOT_NO_NODE) {
            given[(*n)++] = at < n_tokens ? aot_xv_none() : r->inner[at - n_tokens];
        }
        at++;
    }
    return given;
}

/* ---- after the forward --------------------------------------------------------------------------------- */

static void take_geometry(aot_array *to, const aot_array *from, int64_t offset)
{
    to->ndim = from->ndim;
    to->offset = offset;
    memcpy(to->size, from->size, sizeof to->size);
    memcpy(to->stride, from->stride, sizeof to->stride);
}

/* set_: the storage itself is another. */
static void take_storage(aot_array *to, const aot_array *from)
{
    aot_array *v = aot_array_view(from, (aot_dtype)from->dtype, from->ndim, from->size, from->stride, from->offset);
    aot_storage *old = to->storage;
    to->storage = v->storage;
    v->storage = old;
    take_geometry(to, v, v->offset);
    aot_array_unref(v);
}

static void write_back(run *r)
{
    unsigned k = 0;
    for (unsigned i = 0; i < r->n_inner; i++) {
        const aot_input_info *x = &r->m->inputs[i];
        if (x->mutation != AOT_MUTATED_OUT_GRAPH) {
            continue;
        }
        const aot_xval *v = k < r->n_returned ? &r->returned[k++] : NULL;
        if (v == NULL || v->kind != AOT_X_ARRAY || r->inner[i].kind != AOT_X_ARRAY || v->u.array == r->inner[i].u.array) {
            continue;
        }
        aot_array *to = r->inner[i].u.array, *from = v->u.array;
        if (makes(r, AOT_FAULT_LOST_COPY) && x->mutates_data) {
            r->out->made_fault = true;
            continue;
        }
        if (x->mutates_storage_metadata) {
            take_storage(to, from);
            continue;
        }
        if (x->mutates_metadata) {
            take_geometry(to, from, from->offset);
        }
        if (x->mutates_data && to->storage != from->storage) {
            aot_array_assign(to, from);
        }
    }
}

/* An aliased output over the memory that it is a view of. */
static aot_xval again(const aot_array *out, aot_array *base)
{
    if (out->storage == base->storage) {
        return aot_xv_none();
    }
    aot_array *v = aot_array_view(base, (aot_dtype)out->dtype, out->ndim, out->size, out->stride, out->offset);
    if (!aot_array_fits(v)) {
        aot_array_unref(v);
        return aot_xv_none();
    }
    return aot_xv_array(v);
}

static aot_array *base_of_output(const run *r, unsigned i)
{
    const aot_output_info *o = &r->m->outputs[i];
    const aot_xval *v = NULL;
    int at = o->base_idx, first = r->m->n_mutated_returned;
    if (at < 0) {
        return NULL;
    }
    switch (o->type) {
    case AOT_OUT_IS_INPUT:
    case AOT_OUT_ALIAS_OF_INPUT: v = at < (int)r->n_inner ? &r->inner[at] : NULL; break;
    case AOT_OUT_ALIAS_OF_INTERMEDIATE:
    case AOT_OUT_ALIAS_OF_INTERMEDIATE_SAVE_AS_OUTPUT: at += first + r->m->n_outputs; // fall through
    case AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT:
        at += o->type == AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT ? first : 0;
        v = at < (int)r->n_returned ? &r->returned[at] : NULL;
        break;
    default: break;
    }
    return v != NULL && v->kind == AOT_X_ARRAY ? v->u.array : NULL;
}

static void take_outputs(run *r)
{
    unsigned first = (unsigned)r->m->n_mutated_returned, n = (unsigned)r->m->n_outputs;
    r->out->outputs = aot_xcalloc(n + 1u, sizeof *r->out->outputs);
    for (unsigned i = 0; i < n && first + i < r->n_returned; i++) {
        aot_xval v = r->returned[first + i], made = aot_xv_none();
        aot_array *base = base_of_output(r, i);
        if (v.kind == AOT_X_ARRAY && base != NULL) {
            made = r->m->outputs[i].type == AOT_OUT_IS_INPUT ? aot_xv_keep(aot_xv_array(base)) : again(v.u.array, base);
            if (makes(r, AOT_FAULT_WRONG_ALIAS) && !r->out->made_fault) {
                aot_xv_drop(&made);
                made = aot_copy_value(&v);
                r->out->made_fault = true;
            }
        }
        r->out->outputs[i] = made.kind != AOT_X_NONE ? made : aot_xv_keep(v);
        r->out->n_outputs = i + 1;
    }
}

static void note_mutated(run *r)
{
    const aot_calling *c = r->in->calling;
    for (int i = 0; i < c->n_outer; i++) {
        const aot_input_info *x = &r->m->inputs[c->outer[i].inner];
        r->out->mutated[i] = c->outer[i].is_tensor && (x->mutates_data || x->mutates_metadata);
    }
}

/* ---- the backward ------------------------------------------------------------------------------------- */

/* Gradients of outputs, one for each traced tangent: mutated inputs, outputs, bases. */
typedef struct tangent_list {
    aot_array **of;     /* by value that the forward returns; owned; NULL: zeros */
    unsigned n;
} tangent_list;

static bool takes_tangent(const aot_output_info *o)
{
    return o->is_tensor && o->requires_grad &&
           (o->type == AOT_OUT_NON_ALIAS || o->type == AOT_OUT_UNSAFE_VIEW_ALIAS || o->type == AOT_OUT_CUSTOM_FUNCTION_VIEW);
}

static bool same_shape(const aot_array *a, const aot_array *b)
{
    return a->ndim == b->ndim && memcmp(a->size, b->size, a->ndim * sizeof *a->size) == 0;
}

/* Hands each given gradient to the output that it is of; through a view made outside it goes to the
 * base, as autograd does. */
static aot_status deal_tangents(run *r, tangent_list *t)
{
    unsigned first = (unsigned)r->m->n_mutated_returned, next = 0;
    for (unsigned i = 0; i < r->out->n_outputs; i++) {
        const aot_output_info *o = &r->m->outputs[i];
        const aot_xval *out = &r->out->outputs[i];
        if (!o->requires_grad || out->kind != AOT_X_ARRAY || next >= r->in->n_tangents) {
            continue;
        }
        const aot_xval *given = &r->in->tangents[next];
        if (given->kind == AOT_X_ARRAY && given->u.array->dtype != out->u.array->dtype &&
            r->in->n_tangents < r->out->n_outputs) {
            continue; // none was given for an output of this type
        }
        next++;
        if (given->kind != AOT_X_ARRAY) {
            continue;
        }
        if (!same_shape(given->u.array, out->u.array)) {
            return AOT_FAIL(r->err, AOT_E_SHAPE, "tangent %u does not have the shape of output %u", next - 1, i);
        }
        aot_array *base = base_of_output(r, i), **to = &t->of[first + i];
        if (!takes_tangent(o) && base != NULL) {
            bool of_input = o->type == AOT_OUT_ALIAS_OF_INPUT || o->type == AOT_OUT_IS_INPUT;
            unsigned at = (unsigned)o->base_idx + first;
            at += o->type == AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT ? 0 : (unsigned)r->m->n_outputs;
            to = of_input ? &r->extra[o->base_idx] : &t->of[at];
        }
        if (base == NULL) {
            base = out->u.array;
        }
        aot_add_view_gradient(to, aot_exec_live(r->x), given->u.array, out->u.array, base);
    }
    return AOT_OK;
}

/* A tangent as the graph takes it: of that type and with those strides. */
static aot_xval tangent_input(const run *r, aot_array *given, const aot_graph *g, const aot_node *n, const aot_array *like)
{
    const aot_meta *m = aot_meta_get(g->ctx, n->meta);
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    unsigned ndim = like != NULL ? like->ndim : m->ndim;
    bool stated = m->val == AOT_VAL_TENSOR && m->has_stride && m->ndim == ndim;
    for (unsigned i = 0; i < ndim; i++) {
        size[i] = like != NULL ? like->size[i] : aot_meta_sizes(g->ctx, m)[i].value;
        stated = stated && aot_meta_sizes(g->ctx, m)[i].value == size[i];
    }
    aot_strides_contiguous(stride, ndim, size);
    for (unsigned i = 0; i < ndim && stated; i++) {
        stride[i] = aot_meta_strides(g->ctx, m)[i].value;
    }
    aot_dtype d = aot_exec_dtype(r->x, m->val == AOT_VAL_TENSOR ? (aot_dtype)m->dtype : (aot_dtype)like->dtype);
    aot_array *x = aot_array_new_strided(aot_exec_live(r->x), d, ndim, size, stride);
    if (given != NULL && aot_array_numel(x) > 0) {
        aot_array_assign(x, given);
    }
    return aot_xv_array(x);
}

/* The values of the forward that take a tangent, in the order of the traced ones. */
static unsigned tangent_order(const run *r, unsigned *order)
{
    unsigned n = 0, k = 0;
    for (unsigned i = 0; i < r->n_inner; i++) {
        const aot_input_info *x = &r->m->inputs[i];
        if (x->mutation == AOT_MUTATED_OUT_GRAPH) {
            if (x->mutates_data && x->requires_grad) {
                order[n++] = k;
            }
            k++;
        }
    }
    for (int i = 0; i < r->m->n_outputs; i++, k++) {
        if (takes_tangent(&r->m->outputs[i])) {
            order[n++] = k;
        }
    }
    for (int i = 0; i < r->m->n_intermediate_bases; i++) {
        order[n++] = k++;
    }
    return n;
}

static unsigned n_forward_outputs(const run *r) // without tokens
{
    return (unsigned)(r->in->cut->n_forward_outputs - r->m->n_tokens);
}

/* The mistake of computing saved values again after the inputs that they come from were written. */
static aot_status recompute_from_mutated(run *r)
{
    const aot_graph *g = r->in->cut->forward;
    unsigned n = 0, n_again = 0, n_tokens = (unsigned)r->m->n_tokens;
    bool *mutated = aot_xcalloc(g->nodes.n + 1, sizeof *mutated);
    aot_xval *given = forward_inputs(r, g, &n), *inputs = aot_clone_values(given, n, false), *again = NULL;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < r->n_inner; k++) {
            mutated[i] |= given[i].kind == AOT_X_ARRAY && r->m->inputs[k].mutates_data && given[i].u.array == r->inner[k].u.array;
        }
    }
    bool *depends = aot_fault_depends(g, mutated, r->n_returned + n_tokens);
    aot_generator kept = *aot_exec_generator(r->x);
    aot_status s = aot_exec_run(&again, &n_again, r->x, g, n, inputs, NULL, r->err);
    *aot_exec_generator(r->x) = kept;
    for (unsigned i = n_forward_outputs(r); s == AOT_OK && i < r->n_returned && i + n_tokens < n_again; i++) {
        if (depends[i + n_tokens]) {
            aot_xv_drop(&r->returned[i]);
            r->returned[i] = aot_xv_keep(again[i + n_tokens]);
            r->out->made_fault = true;
        }
    }
    aot_free_values(again, n_again);
    aot_free_values(inputs, n);
    free(given);
    free(depends);
    free(mutated);
    return s;
}

/* Placeholders of the backward: saved sizes, saved tensors, tangents. */
static aot_status backward_inputs(const run *r, const tangent_list *t, aot_xval *in, unsigned *n)
{
    const aot_graph *g = r->in->cut->backward;
    unsigned n_forward = n_forward_outputs(r), n_sym = r->in->cut->n_saved_sym;
    unsigned n_saved = r->n_returned - n_forward - n_sym, at = 0;
    unsigned *order = aot_xcalloc(n_forward + 1u, sizeof *order), n_tangents = tangent_order(r, order);
    aot_status s = AOT_OK;
    for (aot_node_id id = 0; id < g->nodes.n && s == AOT_OK; id++) {
        const aot_node *node = aot_node_at(g, id);
        if (node->kind != AOT_PLACEHOLDER) {
            continue;
        }
        if (at < n_sym) {
            in[at] = aot_xv_keep(r->returned[n_forward + n_saved + at]);
        } else if (at < n_sym + n_saved) {
            in[at] = aot_xv_keep(r->returned[n_forward + at - n_sym]);
        } else if (at - n_sym - n_saved < n_tangents) {
            unsigned k = order[at - n_sym - n_saved];
            const aot_xval *v = &r->returned[k];
            in[at] = tangent_input(r, t->of[k], g, node, v->kind == AOT_X_ARRAY ? v->u.array : NULL);
        } else {
            s = AOT_FAIL(r->err, AOT_E_UNSUPPORTED, "the backward takes %s, which no wrapper gives", aot_node_name(g, id));
            break;
        }
        at++;
    }
    *n = at;
    free(order);
    return s;
}

static void add_gradients(run *r, const aot_xval *grads, unsigned n)
{
    const aot_calling *c = r->in->calling;
    for (int i = 0; i < c->n_outer; i++) {
        const aot_outer_input *o = &c->outer[i];
        aot_xval *to = &r->out->grads[i];
        unsigned at = (unsigned)o->inner;
        if (!o->is_tensor || o->duplicate || !o->requires_grad || r->in->outer[i].kind != AOT_X_ARRAY) {
            continue;
        }
        aot_array *g = at < n && grads[at].kind == AOT_X_ARRAY ? grads[at].u.array : NULL;
        if (o->is_view && g != NULL) {
            *to = aot_xv_array(aot_view_of_gradient(aot_exec_live(r->x), g, r->inner[at].u.array, r->in->outer[i].u.array));
            continue;
        }
        if (r->extra[at] != NULL) {
            *to = aot_xv_array(aot_sum_of_gradients(aot_exec_live(r->x), r->extra[at], g));
        } else if (g != NULL) {
            *to = aot_xv_keep(grads[at]);
        }
    }
}

static aot_status run_backward(run *r)
{
    tangent_list t = {aot_xcalloc(r->n_returned + 1u, sizeof *t.of), r->n_returned};
    const aot_graph *g = r->in->cut != NULL ? r->in->cut->backward : NULL;
    aot_xval *in = NULL, *grads = NULL;
    unsigned n = 0, n_grads = 0;
    aot_status s = deal_tangents(r, &t);
    if (s == AOT_OK && g != NULL && makes(r, AOT_FAULT_MUTATED_RECOMPUTE)) {
        s = recompute_from_mutated(r);
    }
    if (s == AOT_OK && g != NULL) {
        in = aot_xcalloc(g->nodes.n + 1, sizeof *in);
        s = backward_inputs(r, &t, in, &n);
    }
    for (unsigned i = 0; i < r->n_returned; i++) { // the backward owns what it was given
        aot_xv_drop(&r->returned[i]);
    }
    if (s == AOT_OK && g != NULL) {
        aot_exec_set_unthreaded(r->x, makes(r, AOT_FAULT_UNTHREADED_DROPOUT));
        s = aot_exec_run(&grads, &n_grads, r->x, g, n, in, r->in->options, r->err);
        r->out->made_fault |= aot_exec_n_unthreaded(r->x) > 0;
        aot_exec_set_unthreaded(r->x, false);
        r->out->has_backward = s == AOT_OK;
    }
    if (s == AOT_OK) {
        add_gradients(r, grads, n_grads);
    }
    aot_free_values(in, n);
    aot_free_values(grads, n_grads);
    for (unsigned i = 0; i < t.n; i++) {
        aot_array_unref(t.of[i]);
    }
    free(t.of);
    return s;
}

/* ---- the call ------------------------------------------------------------------------------------------ */

/* Tokens come back in front of all else. */
static void drop_tokens(run *r)
{
    unsigned n = (unsigned)r->m->n_tokens;
    for (unsigned i = 0; i < n && i < r->n_returned; i++) {
        aot_xv_drop(&r->returned[i]);
    }
    if (n > 0 && r->n_returned >= n) {
        r->n_returned -= n;
        memmove(r->returned, r->returned + n, r->n_returned * sizeof *r->returned);
    }
}

static aot_status run_forward(run *r)
{
    const aot_graph *g = r->in->cut != NULL ? r->in->cut->forward : r->in->graph;
    unsigned n = 0;
    aot_xval *given = forward_inputs(r, g, &n), *kept = NULL;
    if (makes(r, AOT_FAULT_LOST_COPY)) {
        kept = aot_clone_values(given, n, false);
    }
    aot_status s = aot_exec_run(&r->returned, &r->n_returned, r->x, g, n, given, r->in->options, r->err);
    for (unsigned i = 0; kept != NULL && i < n; i++) { // what the graph itself wrote is lost
        aot_ulps u;
        aot_ulps_compare(&u, &given[i], &kept[i], NULL);
        if (given[i].kind == AOT_X_ARRAY && u.n_unequal > 0) {
            aot_array_assign(given[i].u.array, kept[i].u.array);
            r->out->made_fault = true;
        }
    }
    aot_free_values(kept, n);
    free(given);
    drop_tokens(r);
    return s;
}

aot_status aot_run_inner(aot_xval **inner, const aot_run_in *in, aot_err *err)
{
    run r = {.in = in, .m = &in->calling->meta, .err = err};
    aot_status s = make_inner(&r);
    free(r.extra);
    *inner = r.inner;
    if (s != AOT_OK) {
        aot_free_values(r.inner, r.n_inner);
        *inner = NULL;
    }
    return s;
}

aot_status aot_run_unit(aot_run_out *out, aot_exec *x, const aot_run_in *in, aot_err *err)
{
    unsigned n_outer = (unsigned)in->calling->n_outer;
    *out = (aot_run_out){.n_outer = n_outer,
                         .grads = aot_xcalloc(n_outer + 1u, sizeof *out->grads),
                         .mutated = aot_xcalloc(n_outer + 1u, sizeof *out->mutated)};
    run r = {.x = x, .in = in, .m = &in->calling->meta, .out = out, .err = err};
    aot_status s = check_wrappers(&r);
    s = s == AOT_OK ? make_inner(&r) : s;
    s = s == AOT_OK ? run_forward(&r) : s;
    if (s == AOT_OK && r.n_returned > 0) {
        write_back(&r);
        take_outputs(&r);
        note_mutated(&r);
        s = in->tangents != NULL ? run_backward(&r) : s;
    }
    aot_free_values(r.returned, r.n_returned);
    aot_free_values(r.inner, r.n_inner);
    for (unsigned i = 0; r.extra != NULL && i < r.n_inner; i++) {
        aot_array_unref(r.extra[i]);
    }
    free(r.extra);
    return s;
}

void aot_run_free(aot_run_out *r)
{
    aot_free_values(r->outputs, r->n_outputs);
    aot_free_values(r->grads, r->n_outer);
    free(r->mutated);
    *r = (aot_run_out){0};
}
