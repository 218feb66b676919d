/* The wrappers next to the compiled forward: strides of what it returns, the generator's seed and
 * offset, tensor subclasses and tokens of side effects.
 * Mirrors: runtime_wrappers.py:FakifiedOutWrapper, FunctionalizedRngRuntimeWrapper,
 * AOTDispatchSubclassWrapper, EffectTokensWrapper. */
#include <string.h>

#include "exec/clones.h"
#include "exec/wrap.h"

/* ---- FakifiedOutWrapper ---------------------------------------------------------------------- */

aot_status wr_before_fakified_out(aot_wrapped *c)
{
    (void)c;
    return AOT_OK;
}

/* Whether x is laid out as m says; where m does not say it is. */
static bool laid_out(const aot_ctx *ctx, const aot_meta *m, const aot_array *x, int64_t *stride)
{
    bool same = true;
    if (m->val != AOT_VAL_TENSOR || !m->has_stride || m->ndim != x->ndim ||
        aot_array_numel(x) == 0) {
        return true;
    }
    for (unsigned i = 0; i < x->ndim; i++) {
        const aot_dim *size = &aot_meta_sizes(ctx, m)[i], *step = &aot_meta_strides(ctx, m)[i];
        if (size->expr != 0 || step->expr != 0 || size->value != x->size[i] || step->value < 0) {
            return true;
        }
        stride[i] = step->value;
        same &= x->size[i] == 1 || stride[i] == x->stride[i];
    }
    return same ||
           aot_array_possible(NULL, (aot_dtype)x->dtype, x->ndim, x->size, stride, NULL) != AOT_OK;
}

/* What the compiler promised of strides holds of what was computed: a value whose memory is its own
 * is laid out so. */
aot_status wr_behind_fakified_out(aot_wrapped *c)
{
    const aot_graph *g = c->in->cut != NULL ? c->in->cut->forward : c->in->graph;
    aot_node_id id = aot_graph_output(g);
    const aot_arg *list = id != AOT_NO_NODE && aot_node_at(g, id)->n_args > 0
                              ? aot_node_args(g, aot_node_at(g, id))
                              : NULL;
    unsigned n_tokens = (unsigned)c->m->n_tokens;
    if (list == NULL || (list->kind != AOT_ARG_LIST && list->kind != AOT_ARG_TUPLE) ||
        list->n != c->n_returned + n_tokens) {
        return AOT_OK; // values of subclasses have no place of their own there
    }
    for (unsigned i = 0; i < c->n_returned; i++) {
        const aot_arg *a = &aot_arg_items(g, list)[i + n_tokens];
        aot_xval *v = &c->returned[i];
        int64_t stride[AOT_ARRAY_MAX_NDIM];
        if (a->kind != AOT_ARG_NODE || v->kind != AOT_X_ARRAY || v->u.array->storage->refs != 1 ||
            laid_out(g->ctx, aot_meta_get(g->ctx, aot_node_at(g, a->u.node)->meta), v->u.array,
                     stride)) {
            continue;
        }
        const aot_array *x = v->u.array;
        aot_xval made = aot_xv_array(aot_array_new_strided(aot_exec_live(c->x), (aot_dtype)x->dtype,
                                                           x->ndim, x->size, stride));
        aot_array_assign(made.u.array, x);
        wr_note(c, AOT_EVENT_STRIDES, v, wr_type(c, &made), "returned value %u", i);
        aot_xv_drop(v);
        *v = made;
    }
    return AOT_OK;
}

/* ---- FunctionalizedRngRuntimeWrapper --------------------------------------------------------- */

static aot_xval number(int64_t v)
{
    aot_array *x = aot_array_new(NULL, AOT_I64, 0, NULL);
    aot_store_int(&v, AOT_I64, aot_array_data(x), 0, 1);
    return aot_xv_array(x);
}

/* The numbers themselves would be a CUDA device's: a graph that draws some meets an operator
 * without a kernel. */
aot_status wr_before_functionalized_rng(aot_wrapped *c)
{
    if (!c->m->is_rng_op_functionalized) {
        return AOT_OK;
    }
    aot_xval *args = wr_new_list(c->n_args + 2);
    for (unsigned i = 0; i < c->n_args; i++) {
        args[i] = aot_xv_keep(c->args[i]);
    }
    args[c->n_args] = number(0);
    args[c->n_args + 1] = number(0);
    wr_note(c, AOT_EVENT_SEED, &args[c->n_args], "", "seed");
    wr_note(c, AOT_EVENT_SEED, &args[c->n_args + 1], "", "offset");
    wr_set_args(c, args, c->n_args + 2);
    return AOT_OK;
}

aot_status wr_behind_functionalized_rng(aot_wrapped *c)
{
    unsigned at = (unsigned)c->m->n_forward_returns;
    if (!c->m->is_rng_op_functionalized || at >= c->n_returned) {
        return AOT_OK;
    }
    wr_note(c, AOT_EVENT_OFFSET, &c->returned[at], "the generator's", "returned value %u", at);
    aot_xv_drop(&c->returned[at]);
    memmove(c->returned + at, c->returned + at + 1, (--c->n_returned - at) * sizeof *c->returned);
    c->n_forward--;
    return AOT_OK;
}

/* ---- AOTDispatchSubclassWrapper -------------------------------------------------------------- */

static unsigned parts_of(const aot_value_places *p, unsigned i)
{
    return (int)i < p->n && p->of[i].n > 0 ? (unsigned)p->of[i].n : 0;
}

static unsigned flat_count(const aot_value_places *p, unsigned n)
{
    unsigned flat = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned parts = parts_of(p, i);
        flat += parts > 0 ? parts : 1;
    }
    return flat;
}

aot_status wr_before_subclass(aot_wrapped *c)
{
    const aot_value_places *p = &c->m->subclass_in;
    unsigned n = flat_count(p, c->n_args), at = 0;
    if (n == c->n_args) {
        return AOT_OK;
    }
    aot_xval *args = wr_new_list(n);
    for (unsigned i = 0; i < c->n_args; i++) {
        const aot_xval *v = &c->args[i];
        unsigned parts = parts_of(p, i);
        if (parts == 0) {
            args[at++] = aot_xv_keep(*v);
            continue;
        }
        if (v->kind != AOT_X_LIST || v->n != parts) {
            aot_free_values(args, n);
            return AOT_FAIL(c->err, AOT_E_SHAPE,
                            "AOTDispatchSubclassWrapper: %s is a tensor subclass of %u inner "
                            "tensors: give {\"inner\": [...]}",
                            wr_input_named(c, (int)i), parts);
        }
        wr_note(c, AOT_EVENT_UNWRAP, v, wr_text(c, "values %u to %u", at, at + parts - 1), "%s",
                wr_input(c, (int)i));
        for (unsigned k = 0; k < parts; k++) {
            args[at++] = aot_xv_keep(v->u.items[k]);
        }
    }
    wr_set_args(c, args, n);
    return AOT_OK;
}

aot_status wr_behind_subclass(aot_wrapped *c)
{
    const aot_value_places *p = &c->m->subclass_out;
    unsigned n_out = (unsigned)(p->n > 0 ? p->n : 0), flat = flat_count(p, n_out), n = 0;
    if (flat == n_out || flat > c->n_returned) {
        return AOT_OK;
    }
    aot_xval *values = wr_new_list(c->n_returned);
    for (unsigned i = 0, at = 0; i < n_out; i++) {
        unsigned parts = parts_of(p, i);
        values[n] =
            aot_xv_keep(parts == 0 ? c->returned[at] : aot_xv_list(parts, &c->returned[at]));
        if (parts > 0) {
            wr_note(c, AOT_EVENT_WRAP, &values[n], "", "returned values %u to %u", at,
                    at + parts - 1);
        }
        at += parts > 0 ? parts : 1;
        n++;
    }
    for (unsigned i = flat; i < c->n_returned; i++) {
        values[n++] = aot_xv_keep(c->returned[i]);
    }
    c->n_forward -= flat - n_out;
    wr_set_returned(c, values, n);
    return AOT_OK;
}

/* ---- EffectTokensWrapper --------------------------------------------------------------------- */

aot_status wr_before_effect_tokens(aot_wrapped *c)
{
    unsigned n = (unsigned)c->m->n_tokens;
    if (n == 0) {
        return AOT_OK;
    }
    aot_xval *args = wr_new_list(c->n_args + n);
    for (unsigned i = 0; i < n; i++) {
        wr_note(c, AOT_EVENT_TOKEN, &args[i], "", "token %u", i);
    }
    for (unsigned i = 0; i < c->n_args; i++) {
        args[n + i] = aot_xv_keep(c->args[i]);
    }
    wr_set_args(c, args, c->n_args + n);
    return AOT_OK;
}

aot_status wr_behind_effect_tokens(aot_wrapped *c)
{
    unsigned n = (unsigned)c->m->n_tokens;
    if (n == 0 || c->n_returned < n) {
        return AOT_OK;
    }
    for (unsigned i = 0; i < n; i++) {
        wr_note(c, AOT_EVENT_DROP_TOKEN, &c->returned[i], "", "token %u", i);
        aot_xv_drop(&c->returned[i]);
    }
    c->n_returned -= n;
    c->n_forward -= n;
    memmove(c->returned, c->returned + n, c->n_returned * sizeof *c->returned);
    return AOT_OK;
}
