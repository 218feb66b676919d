/* Outputs and bytes of a node's value: printed type, else the OUTS rule of its operator, corrected
 * by the getitems that take outputs, whose printed types are the truth.
 *
 *     native_layer_norm: (f32[8, 16], f32[8, 1], f32[8, 1])        rule: all three
 *     getitem = native_layer_norm[0]                                printed: the first
 *     bytes = 512 + 32 + 32, though nobody takes the last
 *
 * Mirrors: torch/_functorch/partitioners.py:_size_of. Differs: PyTorch has the values at hand;
 * where an operator has no rule, outputs that no getitem takes count as nothing here. */
#include "rules/sizes.h"

#include <string.h>

#include "rules/outs.h"

aot_out_type aot_out_of_meta(const aot_ctx *c, aot_meta_id id)
{
    const aot_meta *m = aot_meta_get(c, id);
    aot_out_type t = {.val = m->val, .dtype = m->dtype, .numel = 1};
    if (m->val == AOT_VAL_TENSOR) {
        const aot_dim *d = aot_meta_sizes(c, m);
        t.more_dims = m->ndim > AOT_OUT_MAX_NDIM;
        t.ndim = t.more_dims ? AOT_OUT_MAX_NDIM : m->ndim;
        for (unsigned i = 0; i < t.ndim; i++) {
            t.sizes[i] = aot_dim_assumed(c, &d[i]);
        }
        t.numel = aot_meta_numel(c, id);
    }
    return t;
}

int64_t aot_out_bytes(const aot_out_type *t)
{
    int64_t bytes;
    if (t->val != AOT_VAL_TENSOR || t->dtype == AOT_NO_DTYPE) {
        return t->val == AOT_VAL_SYM;
    }
    if (__builtin_mul_overflow(t->numel, (int64_t)aot_dtype_get(t->dtype)->bytes, &bytes)) {
        return INT64_MAX / 64;
    }
    return bytes;
}

/* ---- arguments ----------------------------------------------------------------------------- */

const aot_arg *aot_outs_arg(const aot_outs *o, unsigned pos, const char *name)
{
    const aot_arg *a = NULL;
    if (pos + o->skip < o->n->n_args) {
        a = aot_node_args(o->g, o->n) + o->skip + pos;
    } else {
        a = aot_node_kwarg(o->g, o->n, name);
    }
    return a && a->kind != AOT_ARG_NONE ? a : NULL;
}

bool aot_outs_tensor_arg(const aot_outs *o, const aot_arg *a, aot_out_type *t)
{
    if (!a || a->kind != AOT_ARG_NODE) {
        return false;
    }
    aot_meta_id m = aot_node_at(o->g, a->u.node)->meta;
    if (aot_meta_get(o->g->ctx, m)->val != AOT_VAL_TENSOR) {
        return false;
    }
    *t = aot_out_of_meta(o->g->ctx, m);
    return true;
}

bool aot_outs_tensor(const aot_outs *o, unsigned pos, const char *name, aot_out_type *t)
{
    return aot_outs_tensor_arg(o, aot_outs_arg(o, pos, name), t);
}

int64_t aot_outs_number(const aot_outs *o, const aot_arg *a)
{
    if (a && (a->kind == AOT_ARG_INT || a->kind == AOT_ARG_BOOL)) {
        return a->u.i;
    }
    if (a && a->kind == AOT_ARG_NODE) {
        const aot_meta *m = aot_meta_get(o->g->ctx, aot_node_at(o->g, a->u.node)->meta);
        return m->val == AOT_VAL_SYM ? aot_dim_assumed(o->g->ctx, &m->sym) : AOT_HINT_NONE;
    }
    return AOT_HINT_NONE;
}

int64_t aot_outs_int(const aot_outs *o, unsigned pos, const char *name, int64_t def)
{
    const aot_arg *a = aot_outs_arg(o, pos, name);
    return a ? aot_outs_number(o, a) : def;
}

bool aot_outs_bool(const aot_outs *o, unsigned pos, const char *name, bool def)
{
    const aot_arg *a = aot_outs_arg(o, pos, name);
    return a && (a->kind == AOT_ARG_BOOL || a->kind == AOT_ARG_INT) ? a->u.i != 0 : def;
}

static bool is_sequence(const aot_arg *a)
{
    return a && (a->kind == AOT_ARG_LIST || a->kind == AOT_ARG_TUPLE);
}

int64_t aot_outs_item(const aot_outs *o, const aot_arg *list, unsigned i, int64_t def)
{
    if (!is_sequence(list)) {
        return list ? aot_outs_number(o, list) : def;
    }
    if (list->n == 0) {
        return def;
    }
    return aot_outs_number(o, aot_arg_items(o->g, list) + (i < list->n ? i : list->n - 1));
}

bool aot_outs_mask(const aot_outs *o, unsigned pos, const char *name, unsigned i)
{
    const aot_arg *a = aot_outs_arg(o, pos, name);
    return !is_sequence(a) || i >= a->n || aot_arg_items(o->g, a)[i].u.i != 0;
}

aot_dtype aot_outs_dtype(const aot_outs *o, unsigned pos, const char *name, aot_dtype def)
{
    const aot_arg *a = aot_outs_arg(o, pos, name);
    if (!a || a->kind != AOT_ARG_NAME) {
        return def;
    }
    aot_dtype d =
        aot_dtype_of_torch(aot_text(o->g->ctx, a->u.s), aot_str_len(o->g->ctx->strs, a->u.s));
    return d == AOT_NO_DTYPE ? def : d;
}

bool aot_outs_on_cpu(const aot_outs *o, unsigned pos, const char *name)
{
    const aot_arg *a = aot_outs_arg(o, pos, name);
    if (!a || a->kind != AOT_ARG_NODE) {
        return true;
    }
    const aot_meta *m = aot_meta_get(o->g->ctx, aot_node_at(o->g, a->u.node)->meta);
    return m->device == 0 || strcmp(aot_text(o->g->ctx, m->device), "cpu") == 0;
}

/* ---- sizes --------------------------------------------------------------------------------- */

unsigned aot_outs_dim(int64_t dim, unsigned ndim)
{
    dim += dim < 0 ? (int64_t)ndim : 0;
    return dim >= 0 && dim < (int64_t)ndim ? (unsigned)dim : ndim;
}

int64_t aot_mul_size(int64_t a, int64_t b)
{
    int64_t r;
    if (a == AOT_HINT_NONE || b == AOT_HINT_NONE) {
        return AOT_HINT_NONE;
    }
    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX / 64 : r;
}

int64_t aot_add_size(int64_t a, int64_t b)
{
    int64_t r;
    if (a == AOT_HINT_NONE || b == AOT_HINT_NONE) {
        return AOT_HINT_NONE;
    }
    return __builtin_add_overflow(a, b, &r) ? AOT_HINT_NONE : r;
}

int64_t aot_ceil_div_size(int64_t a, int64_t b)
{
    if (a == AOT_HINT_NONE || b == AOT_HINT_NONE || b <= 0) {
        return AOT_HINT_NONE;
    }
    return a / b + (a % b > 0);
}

aot_dtype aot_outs_acc_dtype(aot_dtype d)
{
    return d == AOT_F16 || d == AOT_BF16 ? AOT_F32 : d;
}

/* ---- output lists -------------------------------------------------------------------------- */

aot_out_type aot_outs_type(aot_dtype dtype, unsigned ndim, const int64_t *sizes)
{
    aot_out_type t = {.val = AOT_VAL_TENSOR, .dtype = (uint8_t)dtype};
    t.ndim = (uint8_t)(ndim < AOT_OUT_MAX_NDIM ? ndim : AOT_OUT_MAX_NDIM);
    if (t.ndim > 0) {
        memcpy(t.sizes, sizes, t.ndim * sizeof *sizes);
    }
    return t;
}

void aot_outs_push(aot_outs *o, aot_out_type t)
{
    if (t.val == AOT_VAL_TENSOR && !t.more_dims) {
        t.numel = 1;
        for (unsigned i = 0; i < t.ndim; i++) {
            t.numel =
                aot_mul_size(t.numel, t.sizes[i] == AOT_HINT_NONE ? AOT_HINT_ASSUMED : t.sizes[i]);
        }
        t.numel = t.numel < 0 ? 0 : t.numel;
    }
    aot_vec_push(&o->outs, t);
}

void aot_outs_push_as(aot_outs *o, aot_out_type t, aot_dtype dtype)
{
    t.dtype = (uint8_t)dtype;
    aot_outs_push(o, t);
}

void aot_outs_push_none(aot_outs *o)
{
    aot_outs_push(o, (aot_out_type){.val = AOT_VAL_NONE, .dtype = AOT_NO_DTYPE});
}

void aot_outs_push_like(aot_outs *o, unsigned pos, const char *name, bool wanted)
{
    aot_out_type t;
    if (wanted && aot_outs_tensor(o, pos, name, &t)) {
        aot_outs_push(o, t);
    } else {
        aot_outs_push_none(o);
    }
}

/* Of a random operator with one result, whose type the graph states anywhere else. */
static void outs_of_random(aot_outs *o, aot_op_id id)
{
    aot_out_type t;
    if ((aot_op(id)->tags & AOT_TAG_NONDETERMINISTIC_SEEDED) != 0 &&
        aot_outs_tensor(o, 0, "self", &t)) {
        aot_outs_push_as(o, t, aot_outs_dtype(o, UINT8_MAX, "dtype", t.dtype));
    }
}

void aot_outs_of_op(aot_outs *o, const aot_arg *op, unsigned skip)
{
    if (!op || op->kind != AOT_ARG_NAME) {
        return;
    }
    const aot_ctx *c = o->g->ctx;
    aot_op_id id = aot_op_find(aot_text(c, op->u.s), aot_str_len(c->strs, op->u.s));
    unsigned before = o->skip;
    o->skip = skip;
    if (aot_rules_of(id)->outs) {
        aot_rules_of(id)->outs(o);
    } else if (id != AOT_OP_UNKNOWN) {
        outs_of_random(o, id);
    }
    o->skip = before;
}

void aot_outs_of_subgraph(aot_outs *o, const aot_arg *a)
{
    if (!a || a->kind != AOT_ARG_NODE) {
        return;
    }
    const aot_node *n = aot_node_at(o->g, a->u.node);
    if (n->kind != AOT_GET_ATTR || n->subgraph == 0) {
        return;
    }
    const aot_graph *sub = o->g->subgraphs.d[n->subgraph - 1];
    aot_node_id out = aot_graph_output(sub);
    if (out == AOT_NO_NODE || aot_node_at(sub, out)->n_args == 0) {
        return;
    }
    const aot_arg *ret = aot_node_args(sub, aot_node_at(sub, out));
    const aot_arg *items = is_sequence(ret) ? aot_arg_items(sub, ret) : ret;
    uint32_t n_items = is_sequence(ret) ? ret->n : 1;
    for (uint32_t i = 0; i < n_items; i++) {
        if (items[i].kind == AOT_ARG_NODE) {
            aot_outs_push(o, aot_out_of_meta(sub->ctx, aot_node_at(sub, items[i].u.node)->meta));
        } else {
            aot_outs_push_none(o);
        }
    }
}

/* ---- the two questions --------------------------------------------------------------------- */

/* If node `user` takes output i of `of`, sets *i. */
static bool takes(const aot_graph *g, aot_node_id user, aot_node_id of, int64_t *i)
{
    const aot_node *n = aot_node_at(g, user);
    if (!aot_is_getitem(g, n) || n->n_args < 2) {
        return false;
    }
    const aot_arg *a = aot_node_args(g, n);
    *i = a[1].u.i;
    return a[0].kind == AOT_ARG_NODE && a[0].u.node == of && a[1].kind == AOT_ARG_INT && *i >= 0 &&
           *i < 1 << 20;
}

/* Calls for each getitem of node id; set = false only finds how many outputs are taken. */
static void each_getitem(aot_outs *o, aot_node_id id, bool set)
{
    const aot_graph *g = o->g;
    bool linked = g->user_off != NULL;
    size_t end = linked ? g->user_off[id + 1] : g->nodes.n;
    for (size_t k = linked ? g->user_off[id] : (size_t)id + 1; k < end; k++) {
        aot_node_id user = linked ? g->user[k] : (aot_node_id)k;
        int64_t i;
        if (!takes(g, user, id, &i)) {
            continue;
        }
        o->n_taken = (unsigned)i + 1 > o->n_taken ? (unsigned)i + 1 : o->n_taken;
        aot_out_type t = aot_out_of_meta(g->ctx, aot_node_at(g, user)->meta);
        if (!set || t.val == AOT_VAL_NONE) {
            continue;
        }
        while (o->outs.n <= (size_t)i) {
            aot_outs_push_none(o);
        }
        o->outs.d[i] = t;
    }
}

/* The outputs of a node without a printed type. */
static void find_outputs(aot_outs *o, aot_node_id id)
{
    aot_outs_fn *rule = aot_rules_of(o->n->op)->outs;
    each_getitem(o, id, false);
    if (rule) {
        rule(o);
    }
    each_getitem(o, id, true);
}

unsigned aot_node_outputs(const aot_graph *g, aot_node_id id, aot_out_type *out, unsigned max)
{
    aot_outs o = {.g = g, .n = aot_node_at(g, id)};
    aot_out_type own = aot_out_of_meta(g->ctx, o.n->meta);
    if (own.val != AOT_VAL_NONE) {
        aot_vec_push(&o.outs, own);
    } else if (o.n->kind == AOT_CALL_FUNCTION) {
        find_outputs(&o, id);
    }
    unsigned n = (unsigned)o.outs.n;
    if (out && n > 0) {
        memcpy(out, o.outs.d, (n < max ? n : max) * sizeof *out);
    }
    aot_vec_free(&o.outs);
    return n;
}

int64_t aot_node_bytes(const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    if (aot_meta_get(g->ctx, n->meta)->val != AOT_VAL_NONE || n->kind != AOT_CALL_FUNCTION) {
        return aot_meta_bytes(g->ctx, n->meta);
    }
    aot_outs o = {.g = g, .n = n};
    int64_t sum = 0;
    find_outputs(&o, id);
    for (size_t i = 0; i < o.outs.n; i++) {
        /* symbols in a tuple count nothing, unlike a symbol that stands alone */
        int64_t bytes = o.outs.d[i].val == AOT_VAL_TENSOR ? aot_out_bytes(&o.outs.d[i]) : 0;
        sum = __builtin_add_overflow(sum, bytes, &sum) ? INT64_MAX / 64 : sum;
    }
    aot_vec_free(&o.outs);
    return sum;
}
