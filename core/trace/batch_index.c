/* Batch rules of indexing, gathering and scattering.
 * Mirrors aten/src/ATen/functorch/BatchRulesScatterOps.cpp. */
#include "trace/batch.h"

#include <string.h>

/* ---- index, index_put ------------------------------------------------------------------------ */

typedef struct indices {
    unsigned n;
    batched d[AOT_FAKE_MAX_NDIM]; /* x = NULL: the whole dimension */
    bool any_batched, adjacent;
    unsigned leading; /* whole dimensions in front */
    unsigned rank;    /* of the index that has most dimensions */
} indices;

static indices read_indices(const batch_call *k, aot_value list)
{
    indices r = {.n = list.n};
    unsigned runs = 0;
    bool in_run = false, leading = true;
    if (list.n > AOT_FAKE_MAX_NDIM) {
        aot_trace_fail(k->t, AOT_E_SHAPE, "too many indices");
    }
    for (unsigned i = 0; i < list.n; i++) {
        batched b = r.d[i] = b_of(k, list.u.items[i]);
        runs += b.x != NULL && !in_run;
        in_run = b.x != NULL;
        leading &= b.x == NULL;
        r.leading += leading;
        r.any_batched |= b.bdim >= 0;
        r.rank = b.x != NULL && b_rank(b) > r.rank ? b_rank(b) : r.rank;
        if (b.bdim >= 0 && aot_dtype_of(b.x) == AOT_B8) {
            aot_trace_fail(k->t, AOT_E_UNSUPPORTED,
                           "vmap: indexing with a batch of masks has a size that depends on data");
        }
    }
    r.adjacent = runs <= 1;
    return r;
}

/* batchIndices: an index for the batch itself comes first if self has a batch. */
static aot_value batch_indices(const batch_call *k, const indices *r, bool self_batched,
                               bool values_batched, const aot_tensor *self)
{
    aot_tracer *t = k->t;
    aot_value *d = tr_alloc(t, r->n + 2, sizeof *d);
    unsigned n = 1;
    for (unsigned i = 0; i < r->n; i++) {
        batched b = r->d[i];
        aot_tensor *x = b.x == NULL ? NULL : b_front(k, b);
        d[n++] = aot_v_tensor(x == NULL ? NULL : b_pad(k, x, b.bdim >= 0, r->rank));
    }
    if (!self_batched) {
        return aot_v_list(t, n - 1, d + 1);
    }
    d[0] = aot_v_none();
    if (r->any_batched) {
        unsigned rank = r->rank + (r->any_batched || values_batched);
        aot_tensor *x = AOT(t, aten_arange, aot_v_dim(k->batch), (int)AOT_I64,
                            aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(self)));
        while (aot_ndim(x) < rank) {
            x = AOT(t, aten_unsqueeze, x, -1);
        }
        d[0] = aot_v_tensor(x);
    }
    return aot_v_list(t, n, d);
}

/* [B, <first>, <second>, ...] becomes [B, <second>, <first>, ...] */
static aot_tensor *swap_regions(const batch_call *k, aot_tensor *x, unsigned first, unsigned second)
{
    int64_t p[AOT_FAKE_MAX_NDIM];
    unsigned n = 1;
    p[0] = 0;
    for (unsigned i = 0; i < second; i++) {
        p[n++] = 1 + first + i;
    }
    for (unsigned i = 0; i < first; i++) {
        p[n++] = 1 + i;
    }
    for (; n < aot_ndim(x); n++) {
        p[n] = n;
    }
    return AOT(k->t, aten_permute, x, aot_v_ints(k->t, n, p));
}

aot_value batch_index(batch_call *k)
{
    batched self = b_in(k, 0);
    indices r = read_indices(k, k->args[1]);
    aot_tensor *x = b_front(k, self);
    aot_value list = batch_indices(k, &r, self.bdim >= 0, false, x);
    x = AOT(k->t, aten_index_Tensor, x, list);
    if (self.bdim >= 0 && !r.any_batched) {
        k->out = r.adjacent ? 0 : (int)r.rank;
    } else if (self.bdim < 0) {
        k->out = r.adjacent ? (int)r.leading : 0;
    } else if (r.adjacent && r.leading != 0) {
        x = swap_regions(k, x, r.rank, r.leading);
    }
    return aot_v_tensor(x);
}

/* How many dimensions self[indices] has: masks stand for as many as they have. */
static unsigned indexed_rank(const aot_tensor *self, aot_value list)
{
    unsigned taken = 0, rank = 0;
    for (unsigned i = 0; i < list.n; i++) {
        aot_tensor *x = list.u.items[i].kind == AOT_V_TENSOR ? list.u.items[i].u.t : NULL;
        if (x != NULL) {
            bool mask = aot_dtype_of(x) == AOT_B8 || aot_dtype_of(x) == AOT_U8;
            unsigned mine = mask ? 1 : aot_ndim(x);
            taken += mask ? aot_ndim(x) : 1;
            rank = mine > rank ? mine : rank;
        }
    }
    return aot_ndim(self) - taken + rank;
}

/* index_put, index_put_, _index_put_impl_ */
aot_value batch_index_put(batch_call *k)
{
    aot_tracer *t = k->t;
    batched self = b_in(k, 0), values = b_in(k, 2);
    if (k->f->writes && self.bdim < 0) {
        aot_trace_fail(t, AOT_E_GRAPH,
                       "vmap: %s writes a tensor without a batch from one that has it",
                       tr_op_text(t, k->op));
    }
    indices r = read_indices(k, k->args[1]);
    aot_tensor *x = b_front(k, self);
    aot_tensor *v = b_front(k, values);
    x = b_ensure(k, x, self.bdim >= 0);
    v = b_ensure(k, v, values.bdim >= 0);
    aot_value list = batch_indices(k, &r, true, values.bdim >= 0, x);
    unsigned rank = indexed_rank(x, list), n = aot_ndim(v);
    if (rank > n) {
        aot_dim size[AOT_FAKE_MAX_NDIM] = {k->batch};
        for (unsigned i = 1; i < rank; i++) {
            size[i] = i <= rank - n ? aot_dim_of(1) : aot_size(v, i - (rank - n));
        }
        v = AOT(t, aten_view, v, ((aot_dims){size, rank}));
    }
    if (!k->f->writes && !r.any_batched && !r.adjacent) {
        v = AOT(t, aten_movedim_int, v, 0, (int64_t)r.rank);
    } else if (!k->f->writes && r.any_batched && r.adjacent && r.leading != 0) {
        v = swap_regions(k, v, r.leading, r.rank);
    }
    k->args[0] = aot_v_tensor(x);
    k->args[1] = list;
    k->args[2] = aot_v_tensor(v);
    return b_call(k);
}

/* ---- gather, scatter ------------------------------------------------------------------------- */

/* Scalars get a dimension for the call. The result has the rank of index (gather) or self. */
aot_value batch_gather(batch_call *k)
{
    bool gather = k->op == AOT_OP_aten_gather;
    unsigned rank = b_rank(b_in(k, gather ? 2 : 0));
    static const unsigned at[] = {0, 2, 3};
    aot_tensor *x[3];
    for (unsigned i = 0; i < 3; i++) {
        batched b = b_in(k, at[i]);
        x[i] = b.x == NULL ? NULL : b_front(k, b);
    }
    for (unsigned i = 0; i < 3; i++) {
        if (x[i] != NULL && b_rank(b_in(k, at[i])) == 0) {
            x[i] = AOT(k->t, aten_unsqueeze, x[i], -1);
        }
    }
    for (unsigned i = 0; i < 3; i++) {
        if (x[i] != NULL) {
            x[i] = b_ensure(k, x[i], b_in(k, at[i]).bdim >= 0);
        }
    }
    for (unsigned i = 0; i < 3; i++) {
        if (x[i] != NULL) {
            k->args[at[i]] = aot_v_tensor(x[i]);
        }
    }
    k->args[1] = b_wrapped_dims(k, k->args[1], aot_ndim(x[0]) - 1);
    aot_value out = b_call(k);
    return rank == 0 ? AOT_V(k->t, aten_squeeze_dim, out, -1) : out;
}

/* An index with one entry for each place of self, along dim. */
static aot_tensor *expanded_index(aot_tracer *t, aot_tensor *index, const aot_tensor *self,
                                  int64_t dim)
{
    unsigned n = aot_ndim(self), d = aot_wrap_dim(t, dim, n);
    aot_dim size[AOT_FAKE_MAX_NDIM];
    if (aot_ndim(index) == 0) {
        return AOT(t, aten_expand, index, aot_sizes(self));
    }
    aot_dim count = aot_size(index, 0);
    for (unsigned i = 0; i < n; i++) {
        size[i] = i == d ? count : aot_dim_of(1);
    }
    index = AOT(t, aten_view, index, ((aot_dims){size, n}));
    memcpy(size, aot_sizes(self).d, n * sizeof *size);
    size[d] = count;
    return AOT(t, aten_expand, index, ((aot_dims){size, n}));
}

bool batch_index_select(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *index = aot_x_tensor(k, 2);
    if (aot_ndim(x) > aot_ndim(index)) {
        index = expanded_index(t, index, x, aot_x_int(k, 1, 0));
    }
    aot_tensor *out = AOT(t, aten_gather, x, k->args[1], index);
    if (aot_ndim(x) == 0 && aot_ndim(out) != 0) {
        out = AOT(t, aten_squeeze_dim, out, -1);
    }
    return aot_x_give(k, out);
}
