/* How a call with batched tensors finds its rule, and what rules share. */
#include "trace/batch.h"

#include <string.h>

/* ---- the table ------------------------------------------------------------------------------- */

typedef struct batch_row {
    batch_fn *fn;
    aot_expand_fn *decomp;
    bool own; /* the row's DECOMP cell */
    int row[4];
} batch_row;

static const batch_row rows[AOT_N_OPS] = {
#define BATCH(op, fn, ...) [AOT_OP_##op] = {fn, NULL, false, {__VA_ARGS__}},
#define BATCH_DECOMP(op, fn) [AOT_OP_##op] = {NULL, fn, false, {0}},
#define BATCH_SPLIT(op, fn, decomp) [AOT_OP_##op] = {fn, decomp, false, {0}},
#define BATCH_OWN(op) [AOT_OP_##op] = {NULL, NULL, true, {0}},
#include "trace/batch.def"
};

bool b_takes_tensor(const op_facts *f, unsigned i, aot_value v)
{
    return f->schema.args[i].kind == AOT_TYPE_TENSOR && v.kind != AOT_V_NONE;
}

/* What has no row: pointwise operators, by how many tensors they take. */
static batch_fn *pointwise_rule(const op_facts *f, aot_op_id op, unsigned n, const aot_value *args)
{
    unsigned count = 0;
    if (op >= AOT_N_OPS || (aot_op(op)->tags & AOT_TAG_POINTWISE) == 0) {
        return NULL;
    }
    for (unsigned i = 0; i < n; i++) {
        if (f->schema.args[i].is_list && f->schema.args[i].kind == AOT_TYPE_TENSOR) {
            return NULL;
        }
        count += b_takes_tensor(f, i, args[i]);
    }
    return f->writes    ? batch_align
           : count == 1 ? batch_unary
           : count == 2 ? batch_binary
                        : batch_align;
}

/* ---- results --------------------------------------------------------------------------------- */

static aot_tensor *wrap_out(void *arg, aot_tensor *x)
{
    batch_call *k = arg;
    return aot_layer_add_batch(k->t, x, (unsigned)k->out, k->layer);
}

static void refresh_written(void *arg, aot_tensor *x)
{
    batch_call *k = arg;
    if (x->layer == k->layer) {
        tr_refresh(k->t, x);
    }
}

/* An operator that writes gives the argument that it wrote. */
static aot_value result_of(batch_call *k, const aot_value *original, aot_value out)
{
    for (unsigned i = 0; i < k->n && k->f->writes; i++) {
        if (k->f->schema.args[i].is_write) {
            tr_each_tensor(original[i], refresh_written, k);
        }
    }
    if (k->f->writes && k->n != 0 && k->f->schema.args[0].is_write) {
        return k->f->schema.n_returns == 0 ? aot_v_none() : original[0];
    }
    return k->out < 0 ? out : tr_map_tensors(k->t, out, wrap_out, k);
}

typedef struct seen_size {
    const aot_tracer *t;
    aot_dim size;
} seen_size;

static void see_batch(void *arg, aot_tensor *x)
{
    seen_size *s = arg;
    if (tr_is_batched(s->t, x)) {
        s->size = x->value->type->size[x->bdim];
    }
}

aot_value tr_batch(aot_tracer *t, const op_facts *f, aot_op_id op, unsigned n, aot_value *args)
{
    static const batch_row none;
    const batch_row *r = op < AOT_N_OPS ? &rows[op] : &none;
    batch_fn *fn = r->fn;
    aot_value out;
    if (r->decomp != NULL) {
        aot_expand e = {.t = t, .op = op, .n = n, .args = args};
        if (r->decomp(&e)) {
            return e.result;
        }
    }
    if (fn == NULL && (f->composite || r->own) &&
        tr_expand(t, op, n, args, "batch rule of", &out)) {
        return out;
    }
    if (fn == NULL) {
        fn = pointwise_rule(f, op, n, args);
    }
    if (fn == NULL) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "vmap: no batch rule for %s", tr_op_text(t, op));
    }
    seen_size size = {.t = t};
    for (unsigned i = 0; i < n; i++) {
        tr_each_tensor(args[i], see_batch, &size);
    }
    aot_value *own = tr_alloc(t, n + 1, sizeof *own);
    memcpy(own, args, n * sizeof *own);
    batch_call k = {t, op, f, n, own, t->depth, r->row, size.size, 0};
    bool grad;
    unsigned depth = tr_layer_leave(t, &grad);
    out = fn(&k);
    tr_layer_return(t, depth, grad);
    return result_of(&k, args, out);
}

/* ---- what rules share ------------------------------------------------------------------------ */

batched b_of(const batch_call *k, aot_value v)
{
    if (v.kind != AOT_V_TENSOR) {
        return (batched){NULL, -1};
    }
    aot_tensor *x = v.u.t;
    return x->layer == k->layer && x->bdim >= 0 ? (batched){x->value, x->bdim} : (batched){x, -1};
}

batched b_in(const batch_call *k, unsigned pos)
{
    return pos < k->n ? b_of(k, k->args[pos]) : (batched){NULL, -1};
}

unsigned b_rank(batched b)
{
    return aot_ndim(b.x) - (b.bdim >= 0);
}

aot_tensor *b_front(const batch_call *k, batched b)
{
    return b.bdim > 0 ? AOT(k->t, aten_movedim_int, b.x, b.bdim, 0) : b.x;
}

aot_tensor *b_pad(const batch_call *k, aot_tensor *x, bool has_bdim, unsigned rank)
{
    unsigned n = aot_ndim(x), mine = n - has_bdim;
    if (!has_bdim || mine >= rank) {
        return x;
    }
    aot_dim size[AOT_FAKE_MAX_NDIM + 1];
    size[0] = aot_size(x, 0);
    for (unsigned i = 0; i < rank; i++) {
        size[1 + i] = i < rank - mine ? aot_dim_of(1) : aot_size(x, 1 + i - (rank - mine));
    }
    return AOT(k->t, aten_view, x, ((aot_dims){size, rank + 1}));
}

aot_tensor *b_ensure(const batch_call *k, aot_tensor *x, bool has_bdim)
{
    return has_bdim ? x
                    : AOT(k->t, aten_expand, x,
                          b_dims_after(k, aot_v_dims(k->t, aot_sizes(x)), k->batch));
}

aot_tensor *b_ensured(const batch_call *k, batched b)
{
    aot_tensor *x = b_front(k, b);
    return b_ensure(k, x, b.bdim >= 0);
}

/* Type promotion sees the batch of a scalar as a dimension: what it must not count is cast
 * first. */
static void promote_scalar(const batch_call *k, aot_tensor **scalar, aot_tensor **other)
{
    aot_fake both[2] = {*(*scalar)->type, *(*other)->type};
    both[0].ndim = 0;
    aot_dtype d = aot_is_wrapped_number(*other)
                      ? aot_mixed_dtype(both, 1, (aot_dtype)both[1].dtype, AOT_PROMOTE_NO_OPMATH)
                      : aot_mixed_dtype(both, 2, AOT_NO_DTYPE, AOT_PROMOTE_NO_OPMATH);
    if (aot_dtype_of(*scalar) != d) {
        *scalar = AOT(k->t, aten_to_dtype, *scalar, (int)d);
    }
    if (aot_dtype_of(*other) != d) {
        *other = AOT(k->t, aten_to_dtype, *other, (int)d);
    }
}

void b_binary_align(const batch_call *k, batched a, batched b, bool promote, aot_tensor *out[2])
{
    unsigned rank = b_rank(a) > b_rank(b) ? b_rank(a) : b_rank(b);
    aot_tensor *x = b_front(k, a);
    aot_tensor *y = b_front(k, b);
    bool x_scalar = b_rank(a) == 0 && a.bdim >= 0, y_scalar = b_rank(b) == 0 && b.bdim >= 0;
    if (promote && x_scalar && !y_scalar) {
        promote_scalar(k, &x, &y);
    }
    if (promote && y_scalar && !x_scalar) {
        promote_scalar(k, &y, &x);
    }
    out[0] = b_pad(k, x, a.bdim >= 0, rank);
    out[1] = b_pad(k, y, b.bdim >= 0, rank);
}

aot_value b_dims_after(const batch_call *k, aot_value sizes, aot_dim first)
{
    aot_value *d = tr_alloc(k->t, sizes.n + 2, sizeof *d);
    d[0] = aot_v_dim(first);
    if (sizes.n != 0) {
        memcpy(d + 1, sizes.u.items, sizes.n * sizeof *d);
    }
    return (aot_value){.kind = AOT_V_LIST, .n = sizes.n + 1, .u.items = d};
}

aot_value b_wrapped_dims(const batch_call *k, aot_value dims, unsigned rank)
{
    if (!aot_v_is_list(dims)) {
        return aot_v_int(aot_wrap_dim(k->t, dims.u.dim.value, rank) + 1);
    }
    aot_value *d = tr_alloc(k->t, dims.n + 1, sizeof *d);
    for (unsigned i = 0; i < dims.n; i++) {
        d[i] = aot_v_int(aot_wrap_dim(k->t, dims.u.items[i].u.dim.value, rank) + 1);
    }
    return (aot_value){.kind = AOT_V_LIST, .n = dims.n, .u.items = d};
}

aot_value b_call(const batch_call *k)
{
    return aot_call_op(k->t, k->op, k->n, k->args);
}

/* reshape_dim_into: dimension src becomes a part of what is dst without it. */
aot_tensor *b_reshape_into(const batch_call *k, aot_tensor *x, int src, int dst)
{
    aot_tracer *t = k->t;
    unsigned n = aot_ndim(x) - 1, from = aot_wrap_dim(t, src, n + 1), to = aot_wrap_dim(t, dst, n);
    aot_dim size[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        size[i] = aot_size(x, i < from ? i : i + 1);
    }
    size[to] = aot_dim_mul(t->c, size[to], aot_size(x, from));
    x = AOT(t, aten_movedim_int, x, (int64_t)from, (int64_t)to);
    return AOT(t, aten_reshape, x, ((aot_dims){size, n}));
}

/* reshape_dim_outof: dimension src becomes two, the first one of that size. */
aot_tensor *b_reshape_outof(const batch_call *k, aot_tensor *x, int src, aot_dim size1)
{
    aot_tracer *t = k->t;
    unsigned n = aot_ndim(x), from = aot_wrap_dim(t, src, n);
    aot_dim size[AOT_FAKE_MAX_NDIM + 1];
    for (unsigned i = 0; i <= n; i++) {
        size[i] = i == from       ? size1
                  : i == from + 1 ? aot_dim_floordiv(t->c, aot_size(x, from), size1)
                                  : aot_size(x, i < from ? i : i - 1);
    }
    return AOT(t, aten_reshape, x, ((aot_dims){size, n + 1}));
}
