/* The autograd.Function around the compiled graphs: what it holds between forward and backward, and
 * the backward.
 *
 * Gradients of outputs go to the values that the forward returned: through a view that was made
 * again outside, to its base.
 * Mirrors: runtime_wrappers.py:AOTDispatchAutograd, _backward_prologue_functional,
 * _backward_epilogue_functional. */
#include <stdlib.h>
#include <string.h>

#include "exec/alias_grad.h"
#include "exec/clones.h"
#include "exec/fault.h"
#include "exec/ulps.h"
#include "exec/wrap.h"
#include "ir/reads.h"
#include "runtime/mutation.h"

aot_status wr_before_autograd_function(aot_wrapped *c)
{
    return c->m->n_graphsafe_rng_states > 0 ? wr_gap(c, AOT_WRAPPER_GAP_CUDA_STATES) : AOT_OK;
}

/* Sizes are the last of what is saved. */
static unsigned n_saved(const aot_wrapped *c)
{
    return c->in->cut != NULL ? c->n_returned - c->n_forward - c->in->cut->n_saved_sym : 0;
}

/* As the forward graph names it. */
static const char *saved_name(const aot_wrapped *c, unsigned i)
{
    const aot_graph *g = c->in->cut->forward;
    const aot_node *out = aot_node_at(g, aot_graph_output(g));
    const aot_arg *list = aot_node_args(g, out);
    unsigned at = (unsigned)c->in->cut->n_forward_outputs + i;
    bool node = out->n_args > 0 && at < list->n && aot_arg_items(g, list)[at].kind == AOT_ARG_NODE;
    return node ? aot_node_name(g, aot_arg_items(g, list)[at].u.node) : "";
}

static void note_returns(aot_wrapped *c)
{
    unsigned first = (unsigned)c->m->n_mutated_returned;
    for (unsigned i = 0; i < (unsigned)c->m->n_outputs && first + i < c->n_returned; i++) {
        const aot_output_info *o = &c->m->outputs[i];
        const aot_xval *v = &c->returned[first + i];
        if (aot_output_is_aliased(o)) {
            wr_note(c, AOT_EVENT_HIDE, v, "made again outside", "output %u", i);
        } else if (o->is_tensor && !o->requires_grad) {
            wr_note(c, AOT_EVENT_NO_GRADIENT, v, "", "output %u", i);
        }
    }
}

aot_status wr_behind_autograd_function(aot_wrapped *c)
{
    unsigned n = n_saved(c);
    c->versions = aot_xcalloc(n + 1u, sizeof *c->versions);
    for (unsigned i = c->n_forward; i < c->n_returned; i++) {
        const aot_xval *v = &c->returned[i];
        bool tensor = i < c->n_forward + n;
        if (tensor && v->kind == AOT_X_ARRAY) {
            c->versions[i - c->n_forward] = v->u.array->storage->version;
        }
        wr_note(c, tensor ? AOT_EVENT_SAVE : AOT_EVENT_KEEP_SIZE, v, "", "saved %u (%s)",
                i - c->n_forward, saved_name(c, i - c->n_forward));
    }
    note_returns(c);
    return AOT_OK;
}

/* ---- gradients of outputs -------------------------------------------------------------------- */

/* One for each traced tangent: mutated inputs, outputs, bases. */
typedef struct tangent_list {
    aot_array **of;         /* by value that the forward returns; owned; NULL: zeros */
    const aot_xval **inner; /* of a tensor subclass: as given; NULL */
    unsigned n;
} tangent_list;

static bool takes_tangent(const aot_output_info *o)
{
    return o->is_tensor && o->requires_grad &&
           (o->type == AOT_OUT_NON_ALIAS || o->type == AOT_OUT_UNSAFE_VIEW_ALIAS ||
            o->type == AOT_OUT_CUSTOM_FUNCTION_VIEW);
}

static bool same_shape(const aot_array *a, const aot_array *b)
{
    return a->ndim == b->ndim && memcmp(a->size, b->size, a->ndim * sizeof *a->size) == 0;
}

/* Where the gradient of what is made from an input goes: to the input; behind a write that autograd
 * sees, to the new value that was written. */
static aot_array **gradient_of_input(aot_wrapped *c, tangent_list *t, unsigned input)
{
    const aot_input_info *x = &c->m->inputs[input];
    bool seen = x->mutation == AOT_MUTATED_OUT_GRAPH && x->mutates_data &&
                !aot_copies_back_detached(c->in->calling, (int)input);
    unsigned k = 0;
    for (unsigned i = 0; i < input; i++) {
        k += c->m->inputs[i].mutation == AOT_MUTATED_OUT_GRAPH;
    }
    return seen ? &t->of[k] : &c->extra[input];
}

/* A lazily conjugated view, which is a copy here. */
static bool is_conjugated(const aot_array *out, const aot_array *base)
{
    if (aot_dtype_class((aot_dtype)out->dtype) != AOT_CLASS_COMPLEX || out->dtype != base->dtype ||
        out->storage == base->storage) {
        return false;
    }
    aot_array *view = aot_array_view(base, (aot_dtype)base->dtype, out->ndim, out->size,
                                     out->stride, out->offset);
    aot_array *a = aot_array_flat(out, AOT_C128),
              *b = aot_array_fits(view) ? aot_array_flat(view, AOT_C128) : NULL;
    const aot_complex *p = (const void *)aot_array_data(a),
                      *q = b != NULL ? (const void *)aot_array_data(b) : NULL;
    bool same = q != NULL;
    for (int64_t i = 0, n = aot_array_numel(out); i < n && same; i++) {
        same = creal(p[i]) == creal(q[i]) && cimag(p[i]) == -cimag(q[i]);
    }
    aot_array_unref(view);
    aot_array_unref(a);
    aot_array_unref(b);
    return same;
}

static aot_array *conjugate(const aot_array *x)
{
    aot_array *y = aot_array_new(NULL, AOT_C128, x->ndim, x->size);
    aot_array_assign(y, x);
    aot_complex *p = (void *)aot_array_data(y);
    for (int64_t i = 0, n = aot_array_numel(y); i < n; i++) {
        p[i] = conj(p[i]);
    }
    return y;
}

/* Through a view made outside it goes to the base, as autograd does. */
static aot_status deal_one(aot_wrapped *c, tangent_list *t, unsigned i, const aot_array *given,
                           unsigned number)
{
    const aot_output_info *o = &c->m->outputs[i];
    const aot_array *out = c->out->outputs[i].u.array, *base = wr_base_of_output(c, i);
    unsigned first = (unsigned)c->m->n_mutated_returned;
    aot_array **to = &t->of[first + i];
    if (!same_shape(given, out)) {
        return AOT_FAIL(c->err, AOT_E_SHAPE, "tangent %u does not have the shape of output %u",
                        number, i);
    }
    // of a value of its own, even where its elements share memory (expand)
    if (takes_tangent(o) || base == NULL) {
        aot_array *sum = aot_sum_of_gradients(aot_exec_live(c->x), given, *to);
        aot_array_unref(*to);
        *to = sum;
        return AOT_OK;
    }
    if (o->type == AOT_OUT_ALIAS_OF_INPUT || o->type == AOT_OUT_IS_INPUT) {
        to = gradient_of_input(c, t, (unsigned)o->base_idx);
    } else {
        bool user = o->type == AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT;
        to = &t->of[(unsigned)o->base_idx + first + (user ? 0 : (unsigned)c->m->n_outputs)];
    }
    aot_array *turned = is_conjugated(out, base) ? conjugate(given) : NULL;
    aot_add_view_gradient(to, aot_exec_live(c->x), turned != NULL ? turned : given, out, base);
    aot_array_unref(turned);
    return AOT_OK;
}

static aot_status deal_tangents(aot_wrapped *c, tangent_list *t)
{
    unsigned first = (unsigned)c->m->n_mutated_returned, next = 0;
    for (unsigned i = 0; i < c->out->n_outputs; i++) {
        const aot_xval *out = &c->out->outputs[i];
        if (!c->m->outputs[i].requires_grad ||
            (out->kind != AOT_X_ARRAY && out->kind != AOT_X_LIST) || next >= c->in->n_tangents) {
            continue;
        }
        const aot_xval *given = &c->in->tangents[next];
        if (given->kind == AOT_X_ARRAY && out->kind == AOT_X_ARRAY &&
            given->u.array->dtype != out->u.array->dtype && c->in->n_tangents < c->out->n_outputs) {
            continue; // none was given for an output of this type
        }
        next++;
        if (given->kind == AOT_X_LIST && out->kind == AOT_X_LIST && given->n == out->n) {
            t->inner[first + i] = given;
        } else if (given->kind == AOT_X_ARRAY && out->kind == AOT_X_ARRAY) {
            AOT_TRY(deal_one(c, t, i, given->u.array, next - 1));
        } else if (given->kind != AOT_X_NONE) {
            return AOT_FAIL(c->err, AOT_E_SHAPE,
                            "tangent %u and output %u: one of them is a tensor subclass, the other "
                            "is not (PyTorch: a tensor subclass whose metadata was guessed wrong)",
                            next - 1, i);
        }
    }
    return AOT_OK;
}

/* A tangent as the graph takes it: of that type and with those strides. */
static aot_status tangent_input(aot_xval *out, aot_wrapped *c, const aot_array *given,
                                const aot_graph *g, const aot_node *n, const aot_array *like)
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
    aot_dtype d = aot_exec_dtype(c->x, m->val == AOT_VAL_TENSOR ? (aot_dtype)m->dtype
                                                                : (aot_dtype)like->dtype);
    AOT_TRY(aot_array_possible(aot_exec_live(c->x), d, ndim, size, stride, c->err));
    aot_array *x = aot_array_new_strided(aot_exec_live(c->x), d, ndim, size, stride);
    *out = aot_xv_array(x);
    if (given != NULL && aot_array_numel(x) > 0) {
        aot_array_assign(x, given);
    }
    return AOT_OK;
}

/* The values of the forward that take a tangent, in the order of the traced ones. */
static unsigned tangent_order(const aot_wrapped *c, unsigned *order)
{
    unsigned n = 0, k = 0;
    for (unsigned i = 0; i < c->n_inner; i++) {
        const aot_input_info *x = &c->m->inputs[i];
        if (x->mutation == AOT_MUTATED_OUT_GRAPH) {
            if (x->mutates_data && x->requires_grad) {
                order[n++] = k;
            }
            k++;
        }
    }
    for (int i = 0; i < c->m->n_outputs; i++, k++) {
        if (takes_tangent(&c->m->outputs[i])) {
            order[n++] = k;
        }
    }
    for (int i = 0; i < c->m->n_intermediate_bases; i++) {
        order[n++] = k++;
    }
    return n;
}

/* ---- what the backward is called with -------------------------------------------------------- */

typedef struct filling {
    aot_wrapped *c;
    const tangent_list *t;
    const aot_graph *g;
    unsigned *order, n_order; /* tangent_order */
    unsigned next, part;      /* tangent, and inner tensor of it */
    unsigned n_behind;        /* tokens, then seed and offset */
} filling;

/* The k-th tangent that the graph takes; a subclass takes a place for each inner tensor. */
static aot_status next_tangent(aot_xval *out, filling *f, const aot_node *node)
{
    unsigned k = f->order[f->next];
    const aot_xval *v = &f->c->returned[k], *given = f->t->inner[k];
    const aot_array *from = f->t->of[k], *like = v->kind == AOT_X_ARRAY ? v->u.array : NULL;
    if (v->kind == AOT_X_LIST) {
        like = v->u.items[f->part].kind == AOT_X_ARRAY ? v->u.items[f->part].u.array : NULL;
        from = given != NULL && given->u.items[f->part].kind == AOT_X_ARRAY
                   ? given->u.items[f->part].u.array
                   : NULL;
    }
    AOT_TRY(tangent_input(out, f->c, from, f->g, node, like));
    wr_note(f->c, AOT_EVENT_TANGENT, out,
            from == NULL ? "zeros: nobody gives one" : "laid out as it was traced", "tangent %u",
            f->next);
    if (v->kind != AOT_X_LIST || ++f->part == v->n) {
        f->part = 0;
        f->next++;
    }
    return AOT_OK;
}

/* Placeholders: saved sizes, saved tensors, tangents, tokens, seed and offset. */
static aot_status backward_inputs(filling *f, aot_xval *in, unsigned *n)
{
    aot_wrapped *c = f->c;
    unsigned n_sym = c->in->cut->n_saved_sym, saved = n_saved(c), at = 0;
    for (aot_node_id id = 0; id < f->g->nodes.n; id++) {
        const aot_node *node = aot_node_at(f->g, id);
        if (node->kind != AOT_PLACEHOLDER) {
            continue;
        }
        if (at < n_sym) {
            in[at] = aot_xv_keep(c->returned[c->n_forward + saved + at]);
        } else if (at < n_sym + saved) {
            in[at] = aot_xv_keep(c->returned[c->n_forward + at - n_sym]);
        } else if (f->next < f->n_order) {
            *n = at;
            AOT_TRY(next_tangent(&in[at], f, node));
        } else if (f->n_behind < (unsigned)c->m->n_bw_tokens) {
            in[at] = aot_xv_none();
            wr_note(c, AOT_EVENT_TOKEN, &in[at], "", "token %u of the backward", f->n_behind++);
        } else {
            *n = at;
            return AOT_FAIL(c->err, AOT_E_UNSUPPORTED,
                            "the backward takes %s, which no wrapper gives",
                            aot_node_name(f->g, id));
        }
        at++;
    }
    *n = at;
    return AOT_OK;
}

/* Autograd counts writes: what is saved must be as it was. */
static aot_status check_saved(const aot_wrapped *c)
{
    for (unsigned i = 0; i < n_saved(c); i++) {
        const aot_xval *v = &c->returned[c->n_forward + i];
        if (v->kind == AOT_X_ARRAY && v->u.array->storage->version != c->versions[i]) {
            return AOT_FAIL(
                c->err, AOT_E_USAGE,
                "AOTDispatchAutograd: saved value %u (%s) was written since the forward, so "
                "autograd refuses the backward: a variable needed for gradient computation was "
                "modified in place, it is at version %u; expected version %u",
                i, saved_name(c, i), v->u.array->storage->version, c->versions[i]);
        }
    }
    return AOT_OK;
}

/* batch_norm saves new running statistics, which its gradient does not read. */
static bool is_read(const aot_wrapped *c, const uint8_t *needed, unsigned saved)
{
    aot_node_id id = aot_graph_find(c->in->cut->backward, saved_name(c, saved));
    return id == AOT_NO_NODE || needed[id];
}

/* The mistake of computing saved values again after the inputs that they come from were written. */
static aot_status recompute_from_mutated(aot_wrapped *c)
{
    const aot_graph *g = c->in->cut->forward;
    unsigned n = 0, n_again = 0, n_tokens = (unsigned)c->m->n_tokens;
    bool *mutated = aot_xcalloc(g->nodes.n + 1, sizeof *mutated);
    aot_xval *given = wr_graph_inputs(c, g, &n), *inputs = aot_clone_values(given, n, false),
             *again = NULL;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < c->n_inner; k++) {
            mutated[i] |= given[i].kind == AOT_X_ARRAY && c->inner[k].kind == AOT_X_ARRAY &&
                          c->m->inputs[k].mutates_data && given[i].u.array == c->inner[k].u.array;
        }
    }
    bool *depends = aot_fault_depends(g, mutated, c->n_returned + n_tokens);
    uint8_t *needed = aot_needed_nodes(c->in->cut->backward);
    aot_generator kept = *aot_exec_generator(c->x);
    aot_status s = aot_exec_run(&again, &n_again, c->x, g, n, inputs, NULL, c->err);
    *aot_exec_generator(c->x) = kept;
    for (unsigned i = c->n_forward; s == AOT_OK && i < c->n_returned && i + n_tokens < n_again;
         i++) {
        aot_ulps u;
        aot_ulps_compare(&u, &again[i + n_tokens], &c->returned[i], NULL);
        if (depends[i + n_tokens] && (u.differs || u.n_unequal > 0) &&
            is_read(c, needed, i - c->n_forward)) {
            aot_xv_drop(&c->returned[i]);
            c->returned[i] = aot_xv_keep(again[i + n_tokens]);
            c->out->made_fault = true;
        }
    }
    aot_free_values(again, n_again);
    aot_free_values(inputs, n);
    free(given);
    free(depends);
    free(needed);
    free(mutated);
    return s;
}

/* ---- gradients of inputs --------------------------------------------------------------------- */

/* "GradAOTOutput(grad_of=PlainAOTInput(idx=1))" of
 * "SubclassGetAttrAOTOutput(base=GradAOTOutput(...), attr='a')"; its length is 0 where the output
 * is no inner tensor. */
static const char *outer_gradient(const aot_graph *g, unsigned i, size_t *n)
{
    const char *text = i < g->out_descs.n ? aot_text(g->ctx, g->out_descs.d[i]) : "",
               *of = strstr(text, "SubclassGetAttrAOTOutput(base=");
    const char *end = of != NULL ? strstr(of, ", attr=") : NULL;
    *n = end != NULL ? (size_t)(end - of) : 0;
    return of;
}

/* How many of the gradients from `at` on are inner tensors of one: of those that the graph names
 * after one input. */
static unsigned gradient_parts(const aot_wrapped *c, const aot_graph *g, unsigned i, unsigned at,
                               unsigned n)
{
    size_t len, next;
    const char *name = outer_gradient(g, at, &len);
    if (g->out_descs.n == 0) {
        int parts = (int)i < c->m->subclass_in.n ? c->m->subclass_in.of[i].n : 0;
        return parts > 1 ? (unsigned)parts : 1;
    }
    unsigned k = at + 1;
    for (; k < n && len > 0; k++) {
        const char *other = outer_gradient(g, k, &next);
        if (next != len || memcmp(other, name, len) != 0) {
            break;
        }
    }
    return k - at;
}

/* By inner input, from what the backward returns: a subclass's parts as a list. The caller frees
 * list and values. */
static aot_xval *take_gradients(const aot_wrapped *c, const aot_xval *grads, unsigned n)
{
    const aot_graph *g = c->in->cut != NULL ? c->in->cut->backward : NULL;
    aot_xval *of = aot_xcalloc(c->n_inner + 1u, sizeof *of);
    for (unsigned i = 0, at = 0; g != NULL && i < c->n_inner && at < n; i++) {
        unsigned parts = gradient_parts(c, g, i, at, n);
        of[i] = aot_xv_keep(parts == 1 ? grads[at]
                                       : aot_xv_list(parts, (aot_xval *)(uintptr_t)&grads[at]));
        at += parts;
    }
    return of;
}

static void add_gradients(aot_wrapped *c, const aot_xval *grads, unsigned n)
{
    const aot_calling *how = c->in->calling;
    aot_xval *of = take_gradients(c, grads, n);
    for (int i = 0; i < how->n_outer; i++) {
        const aot_outer_input *o = &how->outer[i];
        aot_xval *to = &c->out->grads[i], *got = &of[o->inner];
        unsigned at = (unsigned)o->inner;
        aot_xv_drop(to);
        if (!o->is_tensor || o->duplicate || !o->requires_grad ||
            c->in->outer[i].kind == AOT_X_NONE) {
            continue;
        }
        const aot_array *g = got->kind == AOT_X_ARRAY ? got->u.array : NULL;
        if (o->is_view && g != NULL) {
            *to = aot_xv_array(aot_view_of_gradient(aot_exec_live(c->x), g, c->inner[at].u.array,
                                                    c->in->outer[i].u.array));
        } else if (c->extra[at] != NULL) {
            *to = aot_xv_array(aot_sum_of_gradients(aot_exec_live(c->x), c->extra[at], g));
        } else {
            *to = aot_xv_keep(*got);
        }
        if (to->kind != AOT_X_NONE) {
            wr_note(c, AOT_EVENT_GRADIENT, to, "", "of %s", wr_outer(c, i));
        }
    }
    aot_free_values(of, c->n_inner);
}

/* ---- the backward ---------------------------------------------------------------------------- */

static void free_saved(aot_wrapped *c)
{
    if (c->in->cut != NULL && c->n_returned > c->n_forward) {
        unsigned n = c->n_returned - c->n_forward;
        wr_note(c, AOT_EVENT_FREE, NULL, "", "%u saved value%s", n, n == 1 ? "" : "s");
    }
    for (unsigned i = 0; i < c->n_returned; i++) { // the backward owns what it was given
        aot_xv_drop(&c->returned[i]);
    }
    c->freed = true;
}

static aot_status run_graph(aot_wrapped *c, const tangent_list *t, aot_xval **grads, unsigned *n,
                            bool retain)
{
    const aot_graph *g = c->in->cut != NULL ? c->in->cut->backward : NULL;
    unsigned n_in = 0;
    aot_status s = AOT_OK;
    if (g == NULL) {
        free_saved(c);
        return s;
    }
    filling f = {.c = c, .t = t, .g = g, .order = aot_xcalloc(c->n_forward + 1u, sizeof *f.order)};
    aot_xval *in = aot_xcalloc(g->nodes.n + 1, sizeof *in);
    f.n_order = tangent_order(c, f.order);
    s = wr_makes(c, AOT_FAULT_MUTATED_RECOMPUTE) ? recompute_from_mutated(c) : AOT_OK;
    s = s == AOT_OK ? backward_inputs(&f, in, &n_in) : s;
    if (!retain) {
        free_saved(c);
    }
    if (s == AOT_OK) {
        aot_exec_set_unthreaded(c->x, wr_makes(c, AOT_FAULT_UNTHREADED_DROPOUT));
        wr_note(c, AOT_EVENT_RUN, NULL, "", "the backward graph, %u value%s in", n_in,
                n_in == 1 ? "" : "s");
        aot_exec_options o = c->in->options != NULL ? *c->in->options : (aot_exec_options){0};
        o.taken = in;
        s = aot_exec_run(grads, n, c->x, g, n_in, in, &o, c->err);
        c->out->made_fault |= aot_exec_n_unthreaded(c->x) > 0;
        aot_exec_set_unthreaded(c->x, false);
        c->out->has_backward = s == AOT_OK;
    }
    aot_free_values(in, n_in);
    free(f.order);
    return s;
}

static aot_status check_backward(const aot_wrapped *c, bool retain)
{
    if (c->freed) {
        return AOT_FAIL(c->err, AOT_E_USAGE,
                        "AOTDispatchAutograd: the saved values went with the first backward, so "
                        "autograd refuses another: trying to backward through the graph a second "
                        "time (retain_graph=True keeps them)");
    }
    if (retain && c->m->n_donated > 0) {
        return AOT_FAIL(c->err, AOT_E_USAGE,
                        "AOTDispatchAutograd: the backward may overwrite %d saved value%s (donated "
                        "buffers), so retain_graph=True and create_graph=True are refused once a "
                        "backward was compiled without them; --set donated_buffer=False keeps them",
                        c->m->n_donated, c->m->n_donated == 1 ? "" : "s");
    }
    return check_saved(c);
}

aot_status wr_backward(aot_wrapped *c, bool retain)
{
    AOT_TRY(check_backward(c, retain));
    tangent_list t = {aot_xcalloc(c->n_returned + 1u, sizeof *t.of),
                      aot_xcalloc(c->n_returned + 1u, sizeof *t.inner), c->n_returned};
    aot_xval *grads = NULL;
    unsigned n_grads = 0, n_bw_tokens = (unsigned)c->m->n_bw_tokens;
    aot_status s = deal_tangents(c, &t);
    if (s == AOT_OK) {
        s = run_graph(c, &t, &grads, &n_grads, retain);
    } else {
        free_saved(c);
    }
    if (s == AOT_OK) {
        add_gradients(c, grads, n_grads >= n_bw_tokens ? n_grads - n_bw_tokens : 0);
    }
    aot_free_values(grads, n_grads);
    for (unsigned i = 0; i < t.n; i++) {
        aot_array_unref(t.of[i]);
    }
    free(t.of);
    free(t.inner);
    for (unsigned i = 0; i < c->n_inner; i++) {
        aot_array_unref(c->extra[i]);
        c->extra[i] = NULL;
    }
    return s;
}
