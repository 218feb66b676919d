/* as_strided: the gradient goes into a flat storage through the output's layout and is read back
 * through the input's. Where places of a layout coincide, they are added up, and shared out.
 * Mirrors as_strided_backward. */
#include "grad/grad.h"

#include <stdlib.h>

typedef struct layout {
    aot_dim size[AOT_FAKE_MAX_NDIM], stride[AOT_FAKE_MAX_NDIM];
    unsigned n;
    aot_dim offset;
} layout;

static void push_front(layout *l, aot_dim size, aot_dim stride)
{
    for (unsigned i = l->n; i > 0; i--) {
        l->size[i] = l->size[i - 1];
        l->stride[i] = l->stride[i - 1];
    }
    l->size[0] = size;
    l->stride[0] = stride;
    l->n++;
}

static aot_dims sizes_of(const layout *l)
{
    return (aot_dims){l->size, l->n};
}

static aot_dims strides_of(const layout *l)
{
    return (aot_dims){l->stride, l->n};
}

static int by_stride(const void *a, const void *b)
{
    const aot_dim *x = a, *y = b;
    return (x[1].value > y[1].value) - (x[1].value < y[1].value);
}

/* _maybe_overlapping_memory: some element may be reached in two ways. */
static bool may_overlap(const layout *l)
{
    aot_dim d[AOT_FAKE_MAX_NDIM][2];
    int64_t last = 0;

    for (unsigned i = 0; i < l->n; i++) {
        d[i][0] = l->size[i];
        d[i][1] = l->stride[i];
    }
    if (l->n != 0) {
        qsort(d, l->n, sizeof d[0], by_stride);
    }
    for (unsigned i = 0; i < l->n; i++) {
        if (d[i][1].value <= last) {
            return true;
        }
        last += d[i][1].value * (d[i][0].value - 1);
    }
    return false;
}

/* _min_storage_size */
static aot_dim storage_size(aot_tracer *t, const layout *l)
{
    aot_ctx *c = aot_tracer_ctx(t);
    aot_dim n = aot_dim_add(c, l->offset, aot_dim_of(1));

    for (unsigned i = 0; i < l->n; i++) {
        if (aot_dim_eq(l->size[i], aot_dim_of(0))) {
            return l->offset;
        }
        n = aot_dim_add(c, n, aot_dim_mul(c, aot_dim_sub(c, l->size[i], aot_dim_of(1)),
                                          l->stride[i]));
    }
    return n;
}

/* Takes out dimensions of one element, and sums those of stride 0. NULL: there are no elements. */
static aot_tensor *reduce_output(aot_tracer *t, aot_tensor *g, aot_dims sizes, aot_dims strides,
                                 layout *out)
{
    for (unsigned i = sizes.n; i-- > 0;) {
        if (aot_dim_eq(sizes.d[i], aot_dim_of(0))) {
            return NULL;
        }
        if (aot_dim_eq(sizes.d[i], aot_dim_of(1))) {
            g = AOT(t, aten_squeeze_dim, g, (int64_t)i);
        } else if (aot_dim_eq(strides.d[i], aot_dim_of(0))) {
            g = AOT(t, aten_sum_dim_IntList, g, aot_v_ints(t, 1, &(int64_t){i}), false);
        } else {
            push_front(out, sizes.d[i], strides.d[i]);
        }
    }
    return g;
}

static bool reduce_input(aot_dims sizes, aot_dims strides, layout *in)
{
    for (unsigned i = sizes.n; i-- > 0;) {
        if (aot_dim_eq(sizes.d[i], aot_dim_of(0))) {
            return false;
        }
        if (!aot_dim_eq(sizes.d[i], aot_dim_of(1))) {
            push_front(in, sizes.d[i], strides.d[i]);
        }
    }
    return true;
}

static aot_tensor *places(aot_tracer *t, aot_tensor *all, const layout *l)
{
    aot_tensor *at = AOT(t, aten_as_strided, all, sizes_of(l), strides_of(l), l->offset);
    return AOT(t, aten_reshape, at, aot_v_ints(t, 1, &(int64_t){-1}));
}

/* Divides by how often each place of the storage is read. */
static aot_tensor *shared_out(aot_tracer *t, aot_tensor *storage, aot_tensor *all,
                              const layout *in)
{
    aot_tensor *count = AOT(t, aten_zeros_like, storage, AOT_NONE, AOT_NONE, AOT_NONE, AOT_NONE,
                            aot_v_memory_format(t, AOT_MF_CONTIGUOUS));
    aot_tensor *at = places(t, all, in);
    aot_tensor *ones = aot_grad_ones(t, (aot_dims){&(aot_dim){.value = 1}, 1},
                                     aot_type_of(storage));

    ones = AOT(t, aten_expand, ones, aot_sizes(at));
    count = AOT(t, aten_index_add_, count, 0, at, ones);
    return AOT(t, aten_div__Tensor, storage, count);
}

static aot_tensor *as_strided_self(const aot_each *e)
{
    aot_tracer *t = e->t;
    aot_tensor *x = aot_each_in(e, 0), *g;
    layout in = {.n = 0}, out = {.n = 0};

    g = reduce_output(t, e->g, aot_vjp_dims(e->b, 1), aot_vjp_dims(e->b, 2), &out);
    if (g == NULL || !reduce_input(aot_sizes(x), aot_strides(x), &in)) {
        return aot_grad_zeros(t, aot_sizes(x), aot_type_of(g == NULL ? e->g : g));
    }
    out.offset = aot_vjp_dim(e->b, 3, 0);
    aot_dim size_in = storage_size(t, &in), size_out = storage_size(t, &out);
    aot_dim size = size_in.value >= size_out.value ? size_in : size_out;
    bool out_overlaps = may_overlap(&out), in_overlaps = may_overlap(&in);
    aot_tensor *storage = AOT(t, aten_new_zeros, g, ((aot_dims){&size, 1})), *all = NULL;
    if (out_overlaps || in_overlaps) {
        all = AOT(t, aten_arange_start, 0, size, aot_v_dtype(AOT_I64),
                  aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(g)));
    }
    if (out_overlaps) {
        aot_tensor *at = AOT(t, aten_as_strided, all, sizes_of(&out), strides_of(&out),
                             out.offset);
        aot_tensor *flat = AOT(t, aten_reshape, g, aot_v_ints(t, 1, &(int64_t){-1}));
        at = AOT(t, aten_reshape, at, aot_v_ints(t, 1, &(int64_t){-1}));
        storage = AOT(t, aten_index_add_, storage, 0, at, flat);
    } else {
        aot_tensor *part = AOT(t, aten_as_strided, storage, sizes_of(&out), strides_of(&out),
                               out.offset);
        AOT(t, aten_copy_, part, g);
    }
    if (in_overlaps) {
        storage = shared_out(t, storage, all, &in);
    }
    return AOT(t, aten_as_strided, storage, aot_sizes(x), aot_strides(x), 0);
}

GRAD_EACH(vjp_as_strided, {0, as_strided_self})
