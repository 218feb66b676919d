/* Fake tensors: types of values with their strides, and the running of META rules.
 *
 * Sizes and strides are compared at their hints, as guards on backed symbols are; without hints
 * only equal expressions are equal. Products need the context that owns the expressions: it is the
 * one of the call that runs on this thread, so that rules need not pass it on.
 * Mirrors torch/_subclasses/fake_tensor.py:dispatch, torch/_prims_common (contiguity, strides),
 * c10/core/Contiguity.h, aten/src/ATen/ExpandUtils.cpp:infer_dense_strides. */
#include <string.h>

#include "rules/fake.h"
#include "rules/fake_internal.h"

static _Thread_local aot_ctx *current; // also of the last type that was read

static aot_status inplace(aot_call *k)
{
    aot_fake t;
    if (aot_call_tensor(k, 0, "self", &t)) {
        aot_call_push(k, &t);
    }
    return AOT_OK;
}

/* The rule of an operator; one in place gives its operand, with the functional form's sizes if it
 * changes them (t_, squeeze_). */
static aot_meta_fn *rule_of(aot_op_id op)
{
    const aot_op_info *o = aot_op(op);
    aot_meta_fn *rule = aot_rules_of(op)->meta;
    size_t len = strlen(o->packet); // never empty
    if (rule == NULL && (o->tags & AOT_TAG_INPLACE_VIEW)) {
        rule = aot_rules_of(aot_op_functional(op))->meta;
    } else if (rule == NULL && (o->flags & AOT_OPF_MUTATES) && o->packet[len - 1] == '_') {
        rule = inplace;
    }
    return rule;
}

/* The sizes of a symbolic dimension are hints only. */
static aot_status check_sizes(const aot_call *k, const aot_fake *t)
{
    for (unsigned d = 0; t->val == AOT_VAL_TENSOR && d < t->ndim; d++) {
        int64_t size = t->size[d].value;
        if (size < 0 && size != AOT_HINT_NONE && t->size[d].expr == 0) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: %s: dimension %u of the result would be %lld",
                            aot_text(k->c, k->n->name), aot_text(k->c, k->n->target), d,
                            (long long)size);
        }
    }
    return AOT_OK;
}

aot_status aot_fake_run(aot_call *call, aot_ctx *c, const aot_graph *g, aot_node_id id,
                        aot_err *err)
{
    const aot_node *n = aot_node_at(g, id);
    aot_meta_fn *rule = rule_of(n->op);
    aot_ctx *before = current;
    *call = (aot_call){.c = c, .g = g, .n = n, .err = err};
    if (rule == NULL) {
        return AOT_FAIL(err, AOT_E_UNSUPPORTED,
                        "%s: %s: operator does not have a fake tensor implementation (a META "
                        "rule); --opaque believes the recorded type",
                        aot_text(c, n->name), aot_text(c, n->target));
    }
    current = c;
    aot_status s = rule(call);
    current = before;
    for (size_t i = 0; s == AOT_OK && i < call->outs.n; i++) {
        s = check_sizes(call, &call->outs.d[i]);
    }
    if (s == AOT_OK && call->outs.n == 0 && !call->is_list) {
        s = AOT_FAIL(err, AOT_E_SHAPE, "%s: %s: arguments that have no type", aot_text(c, n->name),
                     aot_text(c, n->target));
    }
    return s;
}

void aot_call_free(aot_call *call)
{
    aot_vec_free(&call->outs);
}

void aot_call_push(aot_call *k, const aot_fake *t)
{
    aot_vec_push(&k->outs, *t);
}

void aot_call_push_none(aot_call *k)
{
    aot_vec_push(&k->outs, ((aot_fake){.val = AOT_VAL_NONE, .dtype = AOT_NO_DTYPE}));
}

aot_meta_id aot_fake_meta(aot_ctx *c, const aot_fake *t)
{
    if (t->val == AOT_VAL_TENSOR) {
        return aot_ctx_tensor_meta(c, t->dtype, t->size, t->stride, t->ndim, t->device);
    }
    if (t->val != AOT_VAL_SYM) {
        return 0;
    }
    aot_sb b = {0};
    if (t->sym.expr != 0) {
        aot_sb_addf(&b, "Sym(%s)", aot_text(c, t->sym.expr));
    } else {
        aot_sb_addf(&b, "Sym(%lld)", (long long)t->sym.value);
    }
    aot_meta_id m = aot_ctx_meta(c, b.d, b.n);
    aot_sb_free(&b);
    return m;
}

aot_fake aot_fake_of_meta(const aot_ctx *c, aot_meta_id id)
{
    const aot_meta *m = aot_meta_get(c, id);
    aot_fake t = {.val = m->val,
                  .dtype = m->dtype,
                  .sym_kind = m->sym_kind,
                  .device = m->device,
                  .sym = m->sym};
    // expressions made later are interned in c, which changes nothing that its owner sees
    current = (aot_ctx *)(uintptr_t)c;
    if (m->val != AOT_VAL_TENSOR || m->ndim == 0) { // a context without sizes has no array of them
        return t;
    }
    if (m->ndim > AOT_FAKE_MAX_NDIM) {
        t.val = AOT_VAL_NONE;
        return t;
    }
    t.ndim = m->ndim;
    memcpy(t.size, aot_meta_sizes(c, m), m->ndim * sizeof *t.size);
    if (m->has_stride) {
        memcpy(t.stride, aot_meta_strides(c, m), m->ndim * sizeof *t.stride);
    } else {
        aot_fake_set_contiguous(current, &t);
    }
    return t;
}

/* ---- strides ------------------------------------------------------------------------------ */

/* max(n, 1) of a size: sizes that are zero do not make strides zero. */
static aot_dim at_least_one(aot_ctx *c, aot_dim n)
{
    return n.expr == 0 ? aot_dim_of(n.value < 1 ? 1 : n.value) : aot_dim_max(c, n, aot_dim_of(1));
}

void aot_fake_set_contiguous(aot_ctx *c, aot_fake *t)
{
    aot_dim step = aot_dim_of(1);
    for (unsigned i = t->ndim; i-- > 0;) {
        t->stride[i] = step;
        if (i > 0) {
            step = aot_dim_mul(c, step, at_least_one(c, t->size[i]));
        }
    }
}

aot_fake aot_fake_new(aot_dtype d, unsigned ndim, const aot_dim *sizes, aot_str device)
{
    aot_fake t = {
        .val = AOT_VAL_TENSOR, .dtype = (uint8_t)d, .ndim = (uint8_t)ndim, .device = device};
    if (ndim > AOT_FAKE_MAX_NDIM) {
        t.val = AOT_VAL_NONE;
        t.ndim = 0;
    }
    for (unsigned i = 0; i < t.ndim; i++) {
        t.size[i] = sizes[i];
    }
    aot_fake_set_contiguous(current, &t);
    return t;
}

/* Dimensions from the innermost: channels, then the others from the last, then the batch. */
static unsigned format_order(unsigned ndim, aot_memory_format f, unsigned *order)
{
    unsigned want = f == AOT_MF_CHANNELS_LAST ? 4 : 5, n = 0;
    if (f == AOT_MF_CONTIGUOUS) {
        for (unsigned i = ndim; i-- > 0;) {
            order[n++] = i;
        }
        return n;
    }
    if (ndim != want) {
        return 0;
    }
    order[n++] = 1;
    for (unsigned i = ndim - 1; i >= 2; i--) {
        order[n++] = i;
    }
    order[n++] = 0;
    return n;
}

void aot_fake_set_format(aot_ctx *c, aot_fake *t, aot_memory_format f)
{
    unsigned order[AOT_FAKE_MAX_NDIM];
    unsigned n = f == AOT_MF_CONTIGUOUS ? 0 : format_order(t->ndim, f, order);
    if (n == 0) {
        aot_fake_set_contiguous(c, t);
        return;
    }
    aot_dim step = aot_dim_of(1);
    for (unsigned i = 0; i < n; i++) {
        t->stride[order[i]] = step;
        step = aot_dim_mul(c, step, t->size[order[i]]);
    }
}

static bool is_packed(const aot_fake *t, const unsigned *order, unsigned n)
{
    aot_dim step = aot_dim_of(1);
    for (unsigned i = 0; i < n; i++) {
        aot_dim size = t->size[order[i]];
        if (aot_dim_is_at_hint(size, 1)) {
            continue;
        }
        if (!aot_dim_equal_hint(t->stride[order[i]], step)) {
            return false;
        }
        step = aot_dim_mul(current, step, at_least_one(current, size));
    }
    return true;
}

static bool is_empty(const aot_fake *t)
{
    for (unsigned i = 0; i < t->ndim; i++) {
        if (aot_dim_is_at_hint(t->size[i], 0)) {
            return true;
        }
    }
    return false;
}

bool aot_fake_is_format(const aot_fake *t, aot_memory_format f)
{
    unsigned order[AOT_FAKE_MAX_NDIM];
    if (f == AOT_MF_PRESERVE) {
        return false;
    }
    unsigned n = format_order(t->ndim, f, order);
    if (f == AOT_MF_CONTIGUOUS) {
        return is_empty(t) || is_packed(t, order, n);
    }
    return n != 0 && is_packed(t, order, n);
}

bool aot_fake_is_contiguous(const aot_fake *t)
{
    return aot_fake_is_format(t, AOT_MF_CONTIGUOUS);
}

/* a >= b as far as it can be told: at the hints, else if a is a multiple of b. */
bool aot_dim_ge(aot_dim a, aot_dim b)
{
    if (a.value != AOT_HINT_NONE && b.value != AOT_HINT_NONE) {
        return a.value >= b.value;
    }
    if (aot_dim_is(b, 0) || aot_dim_is(b, 1) || aot_dim_same(a, b)) {
        return true;
    }
    return a.expr != 0 && aot_dim_is(aot_dim_mod(current, a, b), 0);
}

bool aot_fake_is_dense(const aot_fake *t)
{
    unsigned order[AOT_FAKE_MAX_NDIM], n = 0;
    if (aot_fake_is_contiguous(t)) {
        return true;
    }
    for (unsigned i = t->ndim; i-- > 0;) { // dimensions of one element say nothing
        if (aot_dim_is_at_hint(t->size[i], 1)) {
            continue;
        }
        unsigned at = n++;
        for (; at > 0 && !aot_dim_ge(t->stride[i], t->stride[order[at - 1]]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    return is_packed(t, order, n);
}

void aot_fake_set_like(aot_ctx *c, aot_fake *t, const aot_fake *like)
{
    if (t->ndim != like->ndim) {
        aot_fake_set_contiguous(c, t);
    } else if (aot_fake_is_dense(like)) {
        memcpy(t->stride, like->stride, like->ndim * sizeof *t->stride);
    } else {
        aot_fake_set_ordered(c, t, like, 1);
    }
}

unsigned aot_fake_dim(const aot_fake *t, int64_t dim)
{
    int64_t d = dim < 0 ? dim + t->ndim : dim;
    return d < 0 || d >= t->ndim ? t->ndim : (unsigned)d;
}

aot_dim aot_fake_numel(aot_ctx *c, const aot_fake *t)
{
    aot_dim n = aot_dim_of(1);
    for (unsigned i = 0; i < t->ndim; i++) {
        n = aot_dim_mul(c, n, t->size[i]);
    }
    return n;
}
