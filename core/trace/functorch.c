/* torch.func: tensors of a vmap level hide a batch dimension, those of a grad level the tensor that
 * they are a copy of. A call on such tensors runs on what the innermost level hides; autograd above it
 * records what it sees. Mirrors aten/src/ATen/functorch (BatchedTensorImpl, TensorWrapper,
 * BatchRules*.cpp): where a rule moves the batch dimension to the front, it is there already. */
#include <string.h>

#include "trace/internal.h"

/* One call at a vmap level: arguments with hidden tensors put in. */
typedef struct batch {
    aot_tracer *t;
    aot_op_id op;
    unsigned n;
    aot_value *args;
    const aot_value *given; /* as the call had them */
    unsigned level;
    bool *batched;    /* by argument: it has the batch dimension in front */
    aot_dim size;     /* of the batch */
} batch;

typedef aot_value batch_fn(batch *b);

/* ---- levels --------------------------------------------------------------------------------------- */

static aot_meta_id without_dim(aot_tracer *t, const aot_tensor *x, int dim)
{
    aot_fake f = *x->type;
    if (dim < 0) {
        return x->meta;
    }
    for (unsigned i = (unsigned)dim; i + 1 < f.ndim; i++) {
        f.size[i] = f.size[i + 1];
        f.stride[i] = f.stride[i + 1];
    }
    f.ndim--;
    return aot_fake_meta(t->c, &f);
}

static aot_tensor *hide(aot_tracer *t, aot_tensor *inner, unsigned level, bool batched)
{
    aot_tensor *x = tr_tensor_new(t, without_dim(t, inner, batched ? 0 : -1));
    x->hidden = inner;
    x->hidden_level = level;
    x->hidden_batch = batched;
    x->version = tr_alloc(t, 1, sizeof *x->version);
    return x;
}

aot_tensor *aot_functorch_batch(aot_tracer *t, aot_tensor *x, int64_t dim, unsigned level)
{
    unsigned d = aot_wrap_dim(t, dim, aot_ndim(x));
    return hide(t, d == 0 ? x : AOT(t, aten_movedim_int, x, (int64_t)d, 0), level, true);
}

aot_tensor *aot_functorch_unbatch(aot_tracer *t, aot_tensor *x, aot_dim size, int64_t dim, unsigned level)
{
    if (x->hidden != NULL && x->hidden_level == level) {
        return dim == 0 ? x->hidden : AOT(t, aten_movedim_int, x->hidden, 0, dim);
    }
    aot_dim all[AOT_FAKE_MAX_NDIM]; /* the same for each of the batch */
    aot_tensor *y = AOT(t, aten_unsqueeze, x, dim);
    memcpy(all, y->type->size, y->type->ndim * sizeof *all);
    all[aot_wrap_dim(t, dim, y->type->ndim)] = size;
    return AOT(t, aten_expand, y, ((aot_dims){all, y->type->ndim}));
}

aot_tensor *aot_functorch_wrap(aot_tracer *t, aot_tensor *x, unsigned level)
{
    return hide(t, x, level, false);
}

aot_tensor *aot_functorch_unwrap(aot_tensor *x, unsigned level)
{
    return x != NULL && x->hidden != NULL && x->hidden_level == level ? x->hidden : x;
}

void aot_functorch_require_grad(aot_tensor *x)
{
    x->requires_grad = true;
}

static void find_level(void *arg, aot_tensor *x)
{
    unsigned *level = arg;
    if (x->hidden != NULL && x->hidden_level > *level) {
        *level = x->hidden_level;
    }
}

/* The innermost level of a call's arguments; 0: none. */
static unsigned level_of(unsigned n, const aot_value *args)
{
    unsigned level = 0;
    for (unsigned i = 0; i < n; i++) {
        tr_each_tensor(args[i], find_level, &level);
    }
    return level;
}

typedef struct opening {
    unsigned level;
    bool batched;
    aot_dim size;
} opening;

static aot_tensor *open_one(void *arg, aot_tensor *x)
{
    opening *o = arg;
    if (x->hidden == NULL || x->hidden_level != o->level) {
        return x;
    }
    if (x->hidden_batch) {
        o->batched = true;
        o->size = aot_size(x->hidden, 0);
    }
    return x->hidden;
}

typedef struct closing {
    aot_tracer *t;
    unsigned level;
    bool batched;
} closing;

static aot_tensor *close_one(void *arg, aot_tensor *x)
{
    closing *c = arg;
    return hide(c->t, x, c->level, c->batched);
}

/* ---- batch rules ------------------------------------------------------------------------------------ */

static aot_value run(batch *b)
{
    return aot_call_op(b->t, b->op, b->n, b->args);
}

static unsigned logical_ndim(const batch *b, unsigned i)
{
    return b->args[i].kind != AOT_V_TENSOR ? 0 : aot_ndim(b->args[i].u.t) - b->batched[i];
}

static aot_value same(batch *b)
{
    return run(b);
}

/* Nothing is seen of it in a trace. */
static aot_value itself(batch *b)
{
    return b->args[0];
}

/* Tensors with the batch get dimensions of 1 behind it until all have as many. */
static aot_value pointwise(batch *b)
{
    unsigned rank = 0;
    for (unsigned i = 0; i < b->n; i++) {
        rank = logical_ndim(b, i) > rank ? logical_ndim(b, i) : rank;
    }
    for (unsigned i = 0; i < b->n; i++) {
        unsigned have = logical_ndim(b, i), n = 0;
        aot_dim size[AOT_FAKE_MAX_NDIM];
        if (!b->batched[i] || have == rank) {
            continue;
        }
        const aot_tensor *x = b->args[i].u.t;
        size[n++] = aot_size(x, 0);
        while (n < 1 + rank - have) {
            size[n++] = aot_dim_of(1);
        }
        for (unsigned d = 0; d < have; d++) {
            size[n++] = aot_size(x, d + 1);
        }
        b->args[i] = AOT_V(b->t, aten_view, b->args[i], ((aot_dims){size, n}));
    }
    return run(b);
}

/* Dimension number i of the arguments, as one of the tensor with the batch. */
static aot_value shifted(const batch *b, unsigned i, unsigned ndim)
{
    return aot_v_int((int64_t)aot_wrap_dim(b->t, b->args[i].u.dim.value, ndim) + 1);
}

static aot_value at_dim(batch *b)
{
    b->args[1] = shifted(b, 1, logical_ndim(b, 0));
    return run(b);
}

static aot_value unsqueeze(batch *b)
{
    b->args[1] = shifted(b, 1, logical_ndim(b, 0) + 1);
    return run(b);
}

static aot_value squeeze(batch *b)
{
    aot_value dim = shifted(b, 1, logical_ndim(b, 0));
    return AOT_V(b->t, aten_squeeze_dims, b->args[0], aot_v_list(b->t, 1, &dim));
}

static aot_value transpose(batch *b)
{
    unsigned n = logical_ndim(b, 0);
    if (b->op == AOT_OP_aten_t) {
        return n < 2 ? b->args[0] : AOT_V(b->t, aten_transpose_int, b->args[0], 1, 2);
    }
    return AOT_V(b->t, aten_transpose_int, b->args[0], shifted(b, 1, n), shifted(b, 2, n));
}

static aot_value permute(batch *b)
{
    int64_t order[AOT_FAKE_MAX_NDIM + 1] = {0};
    unsigned n = b->args[1].n;
    for (unsigned i = 0; i < n; i++) {
        order[i + 1] = (int64_t)aot_wrap_dim(b->t, b->args[1].u.items[i].u.dim.value, n) + 1;
    }
    b->args[1] = aot_v_ints(b->t, n + 1, order);
    return run(b);
}

/* A list of sizes gets the batch in front. */
static aot_value sizes(batch *b)
{
    aot_value all[AOT_FAKE_MAX_NDIM + 1];
    unsigned n = b->args[1].n;
    all[0] = aot_v_dim(b->size);
    memcpy(all + 1, b->args[1].u.items, n * sizeof *all);
    b->args[1] = aot_v_list(b->t, n + 1, all);
    return run(b);
}

static aot_value expand(batch *b)
{
    unsigned have = logical_ndim(b, 0), want = b->args[1].n, n = 0;
    const aot_tensor *x = b->args[0].u.t;
    aot_dim size[AOT_FAKE_MAX_NDIM];
    if (have < want) {
        size[n++] = b->size;
        while (n < 1 + want - have) {
            size[n++] = aot_dim_of(1);
        }
        for (unsigned d = 0; d < have; d++) {
            size[n++] = aot_size(x, d + 1);
        }
        b->args[0] = AOT_V(b->t, aten_view, b->args[0], ((aot_dims){size, n}));
    }
    return sizes(b);
}

static aot_value product(batch *b)
{
    return AOT_V(b->t, aten_matmul, b->args[0], b->args[1]);
}

static aot_value all_dims(const batch *b, unsigned n)
{
    int64_t d[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        d[i] = i + 1;
    }
    return aot_v_ints(b->t, n, d);
}

/* (self, dim, keepdim, dtype) */
static aot_value reduce(batch *b)
{
    aot_value dims[AOT_FAKE_MAX_NDIM];
    unsigned n = b->args[1].kind == AOT_V_NONE ? 0 : b->args[1].n, ndim = logical_ndim(b, 0);
    for (unsigned i = 0; i < n; i++) {
        dims[i] = aot_v_int((int64_t)aot_wrap_dim(b->t, b->args[1].u.items[i].u.dim.value, ndim) + 1);
    }
    b->args[1] = n > 0 ? aot_v_list(b->t, n, dims) : all_dims(b, ndim);
    return run(b);
}

/* (self, dtype) */
static aot_value reduce_all(batch *b)
{
    aot_value dim = all_dims(b, logical_ndim(b, 0)), none = aot_v_bool(false);
    return b->op == AOT_OP_aten_sum ? AOT_V(b->t, aten_sum_dim_IntList, b->args[0], dim, none, b->args[1])
                                    : AOT_V(b->t, aten_mean_dim, b->args[0], dim, none, b->args[1]);
}

/* mse_loss(self, target, reduction): of each element, then of each of the batch */
static aot_value mse_loss(batch *b)
{
    int64_t reduction = b->args[2].u.dim.value, last = -1;
    b->args[2] = aot_v_int(0);
    aot_tensor *x = aot_v_first(pointwise(b));
    if (reduction == 0 || aot_ndim(x) == 1) {
        return aot_v_tensor(x);
    }
    x = aot_ndim(x) > 2 ? AOT(b->t, aten_flatten_using_ints, x, 1) : x;
    return reduction == 1 ? AOT_V(b->t, aten_mean_dim, x, aot_v_ints(b->t, 1, &last))
                          : AOT_V(b->t, aten_sum_dim_IntList, x, aot_v_ints(b->t, 1, &last));
}

static aot_value pair(batch *b, aot_op_id op, aot_tensor *x, bool bx, aot_value y, bool by)
{
    aot_value args[2] = {aot_v_tensor(x), y};
    bool batched[2] = {bx, by};
    batch c = {.t = b->t, .op = op, .n = 2, .args = args, .batched = batched, .size = b->size};
    return pointwise(&c);
}

/* mse_loss_backward(grad, self, target, reduction): norm * (self - target) * grad */
static aot_value mse_loss_backward(batch *b)
{
    double numel = 1;
    const aot_tensor *x = b->args[1].u.t;
    for (unsigned i = b->batched[1]; i < aot_ndim(x); i++) {
        numel *= (double)aot_size(x, i).value;
    }
    double norm = b->args[3].u.dim.value == 1 ? 2 / numel : 2;
    bool both = b->batched[1] || b->batched[2];
    aot_tensor *d = aot_v_first(pair(b, AOT_OP_aten_sub_Tensor, b->args[1].u.t, b->batched[1], b->args[2],
                                     b->batched[2]));
    d = AOT(b->t, aten_mul_Tensor, d, norm);
    return pair(b, AOT_OP_aten_mul_Tensor, d, both, b->args[0], b->batched[0]);
}

/* Tensors that index, with the batch in front of those that have it, all of one rank behind it. */
static aot_value aligned_indices(batch *b, unsigned *rank, bool *any)
{
    aot_value list = b->args[1], given = b->given[1];
    aot_tensor *x[AOT_FAKE_MAX_NDIM + 1];
    *rank = 0;
    for (unsigned i = 0; i < list.n; i++) {
        aot_tensor *g = aot_v_item(given, i);
        *rank = g != NULL && aot_ndim(g) > *rank ? aot_ndim(g) : *rank;
    }
    for (unsigned i = 0; i < list.n && i < AOT_FAKE_MAX_NDIM; i++) {
        aot_tensor *g = aot_v_item(given, i);
        x[i] = aot_v_item(list, i);
        if (g == NULL || g->hidden == NULL || g->hidden_level != b->level) {
            continue;
        }
        *any = true;
        if (aot_ndim(g) < *rank) {
            aot_dim size[AOT_FAKE_MAX_NDIM];
            unsigned n = 0;
            size[n++] = b->size;
            while (n < 1 + *rank - aot_ndim(g)) {
                size[n++] = aot_dim_of(1);
            }
            for (unsigned d = 0; d < aot_ndim(g); d++) {
                size[n++] = aot_size(g, d);
            }
            x[i] = AOT(b->t, aten_view, x[i], ((aot_dims){size, n}));
        }
    }
    return aot_v_tensors(b->t, list.n, x);
}

/* index_put_(self, indices, values, accumulate), index.Tensor(self, indices) where self has the batch:
 * if indices have it too, the batch is indexed by its own numbers, else it is left whole. */
static aot_value by_index(batch *b)
{
    unsigned rank;
    bool any = false;
    aot_value indices = aligned_indices(b, &rank, &any), all[AOT_FAKE_MAX_NDIM + 1];
    if (!b->batched[0] || indices.n >= AOT_FAKE_MAX_NDIM) {
        aot_trace_fail(b->t, AOT_E_UNSUPPORTED, "%s on a tensor that has no batch (torch.vmap)",
                       aot_op(b->op)->name);
    }
    all[0] = aot_v_none();
    if (any) {
        aot_tensor *n = AOT(b->t, aten_arange, b->size, aot_v_dtype(AOT_I64),
                            aot_v_name(b->t, "torch.strided"),
                            aot_v_device(aot_device_of(b->args[0].u.t)));
        for (unsigned i = 0; i < rank; i++) {
            n = AOT(b->t, aten_unsqueeze, n, -1);
        }
        all[0] = aot_v_tensor(n);
    }
    memcpy(all + 1, indices.u.items, indices.n * sizeof *all);
    b->args[1] = aot_v_list(b->t, indices.n + 1, all);
    if (b->op == AOT_OP_aten_index_Tensor || !b->batched[2]) {
        return run(b);
    }
    /* values: dimensions of 1 between the batch and the rest */
    aot_tensor *v = b->args[2].u.t;
    unsigned n_left = aot_ndim(b->args[0].u.t) - (indices.n + 1), want = n_left + rank + 1, n = 0;
    if (want > aot_ndim(v)) {
        aot_dim size[AOT_FAKE_MAX_NDIM];
        unsigned more = want - aot_ndim(v);
        size[n++] = b->size;
        for (unsigned i = 0; i < more; i++) {
            size[n++] = aot_dim_of(1);
        }
        for (unsigned d = 1; d < aot_ndim(v); d++) {
            size[n++] = aot_size(v, d);
        }
        b->args[2] = AOT_V(b->t, aten_view, b->args[2], ((aot_dims){size, n}));
    }
    return run(b);
}

/* ---- the call ---------------------------------------------------------------------------------------- */

static batch_fn *rule_of(aot_op_id op)
{
    switch (op) {
#define BATCH(id, rule) case AOT_OP_##id: return rule;
#include "trace/functorch.def"
#undef BATCH
    default: return NULL;
    }
}

bool tr_functorch(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args, aot_value *out)
{
    unsigned level = level_of(n, args);
    if (level == 0) {
        return false;
    }
    aot_value *opened = tr_alloc(t, n + 1, sizeof *opened);
    bool *batched = tr_alloc(t, n + 1, sizeof *batched), any = false;
    batch b = {.t = t, .op = op, .n = n, .args = opened, .given = args, .level = level, .batched = batched};
    for (unsigned i = 0; i < n; i++) {
        opening o = {.level = level};
        opened[i] = tr_map_tensors(t, args[i], open_one, &o);
        batched[i] = o.batched;
        b.size = o.batched ? o.size : b.size;
        any |= o.batched;
    }
    aot_value r;
    if (any) {
        batch_fn *rule = rule_of(op);
        if (rule == NULL) {
            aot_trace_fail(t, AOT_E_UNSUPPORTED, "%s has no batch rule (torch.vmap)", aot_op(op)->name);
        }
        r = rule(&b);
    } else {
        r = run(&b);
    }
    if (tr_op(t, op)->writes && n > 0 && tr_op(t, op)->schema.args[0].is_write) {
        *out = args[0]; /* in place: what it hides was written */
        return true;
    }
    closing c = {t, level, any};
    *out = tr_map_tensors(t, r, close_one, &c);
    return true;
}
