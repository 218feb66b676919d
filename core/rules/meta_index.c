/* Types of indexing, gathering and scattering.
 *
 * Most of these allocate a contiguous result; index.Tensor follows the strides of the indexed
 * tensor, and the *_scatter operators keep them.
 * Mirrors: torch/_meta_registrations.py:meta_index_Tensor, aten/src/ATen/native/
 * TensorAdvancedIndexing.cpp. */
#include <string.h>

#include "ops/op_ids.h"
#include "rules/meta_shape.h"

/* ---- results like an argument --------------------------------------------------------------- */

/* The strides of empty_like: dense, in the order of self's. */
aot_status meta_like_self(aot_call *k)
{
    aot_fake in;
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    aot_fake t = in;
    aot_fake_set_permuted(k->c, &t, &in, 1);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* The strides of clone: those of self if it is dense, gaps in dimensions of size 1 included. */
aot_status meta_clone_self(aot_call *k)
{
    aot_fake in;
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    aot_fake t = in;
    aot_fake_set_like(k->c, &t, &in);
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_contiguous_self(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* The same strides, gaps and overlaps included.
 * Mirrors: torch/_prims_common/__init__.py:clone_preserve_strides. */
aot_status meta_keep_strides(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_call_push(k, &t);
    return AOT_OK;
}

/* The same strides, unless elements overlap.
 * Mirrors: aten/src/ATen/native/TensorFactories.cpp:clone_preserve_strides. */
aot_status meta_keep_gaps(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    for (unsigned i = 0; i < t.ndim; i++) {
        if (t.stride[i].value == 0 && t.size[i].value != 1) {
            return meta_clone_self(k);
        }
    }
    aot_call_push(k, &t);
    return AOT_OK;
}

static aot_status push_sized(aot_call *k, aot_fake t, unsigned pos, const char *name)
{
    unsigned n = aot_call_n_items(k, pos, name);
    AOT_TRY(aot_meta_room(k, n));
    t.ndim = (uint8_t)n;
    for (unsigned i = 0; i < n; i++) {
        t.size[i] = aot_call_item(k, pos, name, i, 0);
    }
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* (grad_output, input_sizes, ...) */
aot_status meta_input_sizes(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "grad_output", &t));
    return push_sized(k, t, 1, "input_sizes");
}

aot_status meta_unfold_backward(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "grad_in", &t));
    return push_sized(k, t, 1, "input_sizes");
}

aot_status meta_masked_scatter_backward(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "grad_output", &t));
    return push_sized(k, t, 2, "sizes");
}

/* masked_fill, masked_scatter: broadcast with the mask, contiguous. */
aot_status meta_masked(aot_call *k)
{
    aot_fake in[2], t;
    AOT_TRY(aot_call_need(k, 0, "self", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "mask", &in[1]));
    AOT_TRY(aot_fake_elementwise(k, in, 2, (aot_dtype)in[0].dtype, &t));
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* Operands without dimensions count less than those with: what result_type does. */
static aot_dtype result_dtype(const aot_fake *a, const aot_fake *b)
{
    bool float_a = strchr("fc", aot_dtype_get((aot_dtype)a->dtype)->kind) != NULL;
    bool float_b = strchr("fc", aot_dtype_get((aot_dtype)b->dtype)->kind) != NULL;
    if ((a->ndim == 0) != (b->ndim == 0)) {
        const aot_fake *strong = a->ndim ? a : b;
        bool same_class = float_a == float_b && a->dtype != AOT_B8 && b->dtype != AOT_B8
                          && (aot_dtype_get((aot_dtype)a->dtype)->kind == 'c')
                                 == (aot_dtype_get((aot_dtype)b->dtype)->kind == 'c');
        if (same_class) {
            return (aot_dtype)strong->dtype;
        }
    }
    return aot_promote_types((aot_dtype)a->dtype, (aot_dtype)b->dtype);
}

aot_status meta_where(aot_call *k)
{
    aot_fake in[3], t;
    AOT_TRY(aot_call_need(k, 0, "condition", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "self", &in[1]));
    AOT_TRY(aot_call_need(k, 2, "other", &in[2]));
    AOT_TRY(aot_fake_elementwise(k, in, 3, result_dtype(&in[1], &in[2]), &t));
    aot_call_push(k, &t);
    return AOT_OK;
}

/* ---- index ---------------------------------------------------------------------------------- */

/* The tensors of an index list, by the dimension that each takes. */
struct indexing {
    aot_fake index[AOT_FAKE_MAX_NDIM]; /* those that are there, in order */
    bool taken[AOT_FAKE_MAX_NDIM];     /* by dimension of self */
    unsigned n;
};

static aot_status too_many(aot_call *k, unsigned n, unsigned ndim)
{
    return AOT_FAIL(k->err, AOT_E_SHAPE, "too many indices for tensor of dimension %u (got %u)",
                    ndim, n);
}

/* A mask stands for the positions where it is true: one index for each of its dimensions. */
static aot_status add_mask(aot_call *k, const aot_fake *mask, unsigned at, struct indexing *x)
{
    aot_fake positions = *mask;
    positions.ndim = 1;
    positions.dtype = AOT_I64;
    positions.size[0] = aot_dim_is(aot_fake_numel(k->c, mask), 0) ? aot_dim_of(0)
                                                                  : aot_meta_fresh_size(k);
    aot_fake_set_contiguous(k->c, &positions);
    for (unsigned i = 0; i < mask->ndim; i++) {
        x->taken[at + i] = true;
        x->index[x->n++] = positions;
    }
    return AOT_OK;
}

static aot_status read_indices(aot_call *k, unsigned pos, const aot_fake *self, struct indexing *x)
{
    unsigned n = aot_call_n_items(k, pos, "indices"), at = 0;
    *x = (struct indexing){.n = 0};
    if (n == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "at least one index must be provided");
    }
    for (unsigned i = 0; i < n; i++) {
        aot_fake t;
        bool is_there = aot_call_tensor_item(k, pos, "indices", i, &t);
        bool is_mask = is_there && (t.dtype == AOT_B8 || t.dtype == AOT_U8 || t.dtype == AOT_I8);
        unsigned takes = is_mask ? t.ndim : 1;
        if (at + takes > self->ndim) {
            return too_many(k, at + takes, self->ndim);
        }
        if (is_mask) {
            AOT_TRY(add_mask(k, &t, at, x));
        } else if (is_there) {
            x->taken[at] = true;
            x->index[x->n++] = t;
        }
        at += takes;
    }
    return AOT_OK;
}

/* Are the indexed dimensions next to each other? */
static bool adjacent(const struct indexing *x, unsigned ndim)
{
    unsigned runs = 0;
    for (unsigned i = 0; i < ndim; i++) {
        runs += x->taken[i] && (i == 0 || !x->taken[i - 1]);
    }
    return runs <= 1;
}

/* In index.Tensor PyTorch leaves numbers on the host out of the broadcasting of indices, and takes
 * the sizes of the last index: where that is such a number, the others' dimensions are lost. Its
 * own types say so. */
static bool is_host_scalar(const aot_call *k, const aot_fake *t)
{
    return t->ndim == 0 && strcmp(aot_text(k->c, t->device), "cpu") == 0;
}

/* self with the indexed dimensions replaced, at stride 0, by those that the indices broadcast to;
 * they come first if they stand apart. */
static aot_status restride(aot_call *k, const aot_fake *self, const struct indexing *x, aot_fake *t)
{
    aot_fake shape;
    AOT_TRY(aot_fake_elementwise(k, x->index, x->n, AOT_I64, &shape));
    if (k->n->op == AOT_OP_aten_index_Tensor && is_host_scalar(k, &x->index[x->n - 1])) {
        shape.ndim = 0;
    }
    AOT_TRY(aot_meta_room(k, self->ndim - x->n + shape.ndim));
    bool placed = !adjacent(x, self->ndim);
    *t = *self;
    t->ndim = 0;
    for (unsigned j = 0; placed && j < shape.ndim; j++) {
        aot_meta_insert_dim(t, t->ndim, shape.size[j], aot_dim_of(0));
    }
    for (unsigned i = 0; i < self->ndim; i++) {
        if (!x->taken[i]) {
            aot_meta_insert_dim(t, t->ndim, self->size[i], self->stride[i]);
            continue;
        }
        for (unsigned j = 0; !placed && j < shape.ndim; j++) {
            aot_meta_insert_dim(t, t->ndim, shape.size[j], aot_dim_of(0));
        }
        placed = true;
    }
    return AOT_OK;
}

static aot_status index_at(aot_call *k, unsigned pos, aot_fake *t)
{
    aot_fake self, strided;
    struct indexing x;
    AOT_TRY(aot_call_need(k, 0, "self", &self));
    AOT_TRY(read_indices(k, pos, &self, &x));
    if (x.n == 0) {
        *t = self;
        aot_fake_set_permuted(k->c, t, &self, 1);
        return AOT_OK;
    }
    AOT_TRY(restride(k, &self, &x, &strided));
    *t = strided;
    if (aot_fake_numel(k->c, &self).value == 0 || strided.ndim == 0) {
        aot_fake_set_contiguous(k->c, t);
    } else {
        aot_fake_set_permuted(k->c, t, &strided, 1);
    }
    return AOT_OK;
}

aot_status meta_index(aot_call *k)
{
    aot_fake t;
    AOT_TRY(index_at(k, 1, &t));
    aot_call_push(k, &t);
    return AOT_OK;
}

/* (self, mask, indices, fill): indexed, then filled where the mask is false. */
aot_status meta_unsafe_masked_index(aot_call *k)
{
    aot_fake t;
    AOT_TRY(index_at(k, 2, &t));
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* ---- one dimension, or elements ------------------------------------------------------------- */

aot_status meta_index_select(aot_call *k)
{
    aot_fake t, index;
    unsigned d;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, 1, "dim", 0, &d));
    AOT_TRY(aot_call_need(k, 2, "index", &index));
    if (t.ndim > 0) {
        t.size[d] = aot_fake_numel(k->c, &index);
    }
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

static aot_status push_index_sized(aot_call *k, unsigned pos)
{
    aot_fake t, index;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_call_need(k, pos, "index", &index));
    index.dtype = t.dtype;
    aot_fake_set_contiguous(k->c, &index);
    aot_call_push(k, &index);
    return AOT_OK;
}

aot_status meta_gather(aot_call *k)
{
    return push_index_sized(k, 2);
}

aot_status meta_take(aot_call *k)
{
    return push_index_sized(k, 1);
}

aot_status meta_repeat_interleave(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "repeats", &t));
    bool known = aot_call_arg(k, 1, "output_size") != NULL;
    t.ndim = 1;
    t.size[0] = known ? aot_call_int(k, 1, "output_size", 0) : aot_meta_fresh_size(k);
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_nonzero_static(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    t.size[1] = aot_dim_of(t.ndim);
    t.size[0] = aot_call_int(k, 1, "size", 0);
    t.ndim = 2;
    t.dtype = AOT_I64;
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_embedding(aot_call *k)
{
    aot_fake weight, t;
    AOT_TRY(aot_call_need(k, 0, "weight", &weight));
    AOT_TRY(aot_call_need(k, 1, "indices", &t));
    if (weight.ndim != 2) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "'weight' must be 2-D");
    }
    AOT_TRY(aot_meta_room(k, t.ndim + 1u));
    t.dtype = weight.dtype;
    t.device = weight.device;
    t.size[t.ndim++] = weight.size[1];
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_embedding_dense_backward(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "grad_output", &t));
    if (t.ndim == 0) {
        return aot_meta_bad_dim(k, -1, 0);
    }
    t.size[1] = t.size[t.ndim - 1];
    t.size[0] = aot_call_int(k, 2, "num_weights", 0);
    t.ndim = 2;
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}
