/* The outermost wrappers, which change what the compiled function is called with: tensors that are
 * given twice are passed once, inputs that overlap in memory as one base. Both were found when the
 * unit was compiled, and are held against what is given now.
 * Mirrors: runtime_wrappers.py:AOTDedupeWrapper, AOTSyntheticBaseWrapper, merge_view_inputs,
 * DebugAssertWrapper. */
#include <stdlib.h>
#include <string.h>

#include "exec/clones.h"
#include "exec/wrap.h"

/* ---- AOTDedupeWrapper ------------------------------------------------------------------------ */

static bool same_tensor(const aot_xval *a, const aot_xval *b)
{
    return a->kind == AOT_X_ARRAY && b->kind == AOT_X_ARRAY && a->u.array == b->u.array;
}

aot_status wr_before_dedupe(aot_wrapped *c)
{
    const aot_calling *how = c->in->calling;
    aot_xval *args = wr_new_list((unsigned)how->n_outer);
    unsigned n = 0;
    c->outer_of = aot_xcalloc((size_t)how->n_outer + 1, sizeof *c->outer_of);
    for (int i = 0; i < how->n_outer; i++) {
        const aot_outer_input *o = &how->outer[i];
        if (!o->duplicate) {
            c->outer_of[n] = i;
            args[n++] = aot_xv_keep(c->args[i]);
            continue;
        }
        if (!same_tensor(&c->args[i], &c->args[o->same_as])) {
            aot_free_values(args, n);
            return AOT_FAIL(c->err, AOT_E_USAGE,
                            "AOTDedupeWrapper: compiled under the assumption that %s would be a "
                            "duplicate of %s, but now it is another tensor",
                            wr_outer_named(c, i), wr_outer_named(c, o->same_as));
        }
        wr_note(c, AOT_EVENT_DROP_DUPLICATE, &c->args[i],
                wr_text(c, "%s, the same tensor", wr_outer(c, o->same_as)), "%s", wr_outer(c, i));
    }
    wr_set_args(c, args, n);
    return AOT_OK;
}

aot_status wr_behind_dedupe(aot_wrapped *c)
{
    (void)c;
    return AOT_OK;
}

/* ---- AOTSyntheticBaseWrapper ----------------------------------------------------------------- */

/* The base that views were merged into, over their storage, as the graph takes it. */
static aot_xval base_of(const aot_wrapped *c, const aot_array *view, unsigned inner)
{
    const aot_graph *g = c->in->graph;
    unsigned at = inner + (unsigned)c->m->n_tokens;
    if (at >= c->n_placeholders) {
        return aot_xv_none();
    }
    const aot_meta *m = aot_meta_get(g->ctx, aot_node_at(g, c->placeholders[at])->meta);
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < m->ndim; i++) {
        size[i] = aot_meta_sizes(g->ctx, m)[i].value;
        stride[i] = m->has_stride ? aot_meta_strides(g->ctx, m)[i].value : 1;
    }
    aot_array *base = aot_array_view(view, (aot_dtype)view->dtype, m->ndim, size, stride, 0);
    if (aot_array_fits(base)) {
        return aot_xv_array(base);
    }
    aot_array_unref(base);
    return aot_xv_none();
}

static aot_status merge_view(aot_wrapped *c, aot_xval *to, int outer, const aot_xval *view)
{
    const aot_outer_input *o = &c->in->calling->outer[outer];
    if (to->kind == AOT_X_NONE) {
        *to = base_of(c, view->u.array, (unsigned)o->inner);
        if (to->kind == AOT_X_NONE) {
            return AOT_FAIL(c->err, AOT_E_SHAPE, "the memory of input %s does not hold its base",
                            wr_outer_named(c, outer));
        }
        wr_note(c, AOT_EVENT_MAKE_BASE, to, "", "%s", wr_input(c, o->inner));
    }
    if (to->u.array->storage != view->u.array->storage) {
        return AOT_FAIL(c->err, AOT_E_USAGE,
                        "AOTSyntheticBaseWrapper: compiled for inputs that overlap in memory (%s), "
                        "but now %s has memory of its own: PyTorch finds no base to make "
                        "(synthetic_base_info must not be None)",
                        wr_input_named(c, o->inner), wr_outer_named(c, outer));
    }
    wr_note(
        c, AOT_EVENT_SPLIT_BASE, view,
        wr_text(c, "in the graph, from element %lld of the base", (long long)view->u.array->offset),
        "%s", wr_outer(c, outer));
    return AOT_OK;
}

aot_status wr_before_synthetic_base(aot_wrapped *c)
{
    unsigned n = (unsigned)c->m->n_inputs;
    aot_xval *args = wr_new_list(n);
    aot_status s = AOT_OK;
    for (unsigned k = 0; k < c->n_args && s == AOT_OK; k++) {
        const aot_outer_input *o = &c->in->calling->outer[c->outer_of[k]];
        aot_xval *to = &args[o->inner];
        if (o->is_view && c->args[k].kind == AOT_X_ARRAY) {
            s = merge_view(c, to, c->outer_of[k], &c->args[k]);
        } else if (to->kind == AOT_X_NONE) {
            *to = aot_xv_keep(c->args[k]);
        }
    }
    if (s != AOT_OK) {
        aot_free_values(args, n);
        return s;
    }
    wr_set_args(c, args, n);
    return AOT_OK;
}

aot_status wr_behind_synthetic_base(aot_wrapped *c)
{
    (void)c;
    return AOT_OK;
}

/* ---- DebugAssertWrapper ---------------------------------------------------------------------- */

/* Whether the input that comes now wants a gradient: of a base, one of its views. */
static bool wants_gradient(const aot_wrapped *c, int inner)
{
    const aot_calling *how = c->in->calling;
    bool any = false;
    for (int i = 0; i < how->n_outer; i++) {
        any |=
            how->outer[i].inner == inner &&
            (c->in->requires_grad != NULL ? c->in->requires_grad[i] : how->outer[i].requires_grad);
    }
    return any;
}

aot_status wr_before_debug_assert(aot_wrapped *c)
{
    if (!c->in->debug_assert) {
        return AOT_OK;
    }
    for (unsigned i = 0; i < c->n_args; i++) {
        if (c->m->inputs[i].requires_grad || c->args[i].kind != AOT_X_ARRAY) {
            continue;
        }
        if (c->in->requires_grad != NULL && wants_gradient(c, (int)i)) {
            return AOT_FAIL(c->err, AOT_E_USAGE,
                            "DebugAssertWrapper: compiled under the assumption that %s would not "
                            "require grad, but now it does",
                            wr_input_named(c, (int)i));
        }
        wr_note(c, AOT_EVENT_CHECK, &c->args[i], "requires no grad, as compiled", "%s",
                wr_input(c, (int)i));
    }
    return AOT_OK;
}

aot_status wr_behind_debug_assert(aot_wrapped *c)
{
    (void)c;
    return AOT_OK;
}
