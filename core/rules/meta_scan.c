/* Types of scans along a dimension, of sorting, and of searching in sorted values.
 * Mirrors: aten/src/ATen/native/ReduceOps.cpp, aten/src/ATen/native/Sorting.cpp,
 * torch/_meta_registrations.py:meta_sort, meta_searchsorted. */
#include "rules/meta_shape.h"

/* cumsum, cumprod */
aot_status meta_cumsum(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_push_contiguous(k, &t,
                        aot_call_dtype(k, 2, "dtype", aot_dtype_accumulate((aot_dtype)t.dtype)));
    return AOT_OK;
}

/* cummax, cummin */
aot_status meta_cummax(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_push_contiguous(k, &t, (aot_dtype)t.dtype);
    aot_push_contiguous(k, &t, AOT_I64);
    return AOT_OK;
}

aot_status meta_sort(aot_call *k)
{
    aot_fake in;
    AOT_TRY(aot_call_need(k, 0, "self", &in));
    aot_fake t = in;
    aot_fake_set_permuted(k->c, &t, &in, 1);
    aot_call_push(k, &t);
    t.dtype = AOT_I64;
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_topk(aot_call *k)
{
    aot_fake t;
    unsigned d;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, 2, "dim", -1, &d));
    if (t.ndim > 0) {
        t.size[d] = aot_call_int(k, 1, "k", 1);
    }
    aot_push_contiguous(k, &t, (aot_dtype)t.dtype);
    aot_push_contiguous(k, &t, AOT_I64);
    return AOT_OK;
}

/* Values and indices with one dimension less. */
static aot_status push_selected(aot_call *k, unsigned pos)
{
    aot_fake t;
    unsigned d;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, pos, "dim", -1, &d));
    if (t.ndim > 0 && aot_call_bool(k, pos + 1, "keepdim", false)) {
        t.size[d] = aot_dim_of(1);
    } else if (t.ndim > 0) {
        aot_meta_remove_dim(&t, d);
    }
    aot_push_contiguous(k, &t, (aot_dtype)t.dtype);
    aot_push_contiguous(k, &t, AOT_I64);
    return AOT_OK;
}

aot_status meta_kthvalue(aot_call *k)
{
    return push_selected(k, 2);
}

/* median.dim, nanmedian.dim, mode */
aot_status meta_median_dim(aot_call *k)
{
    return push_selected(k, 1);
}

aot_status meta_median(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    t.ndim = 0;
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_trace(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_push_scalar(k, &t, aot_dtype_accumulate((aot_dtype)t.dtype));
    return AOT_OK;
}

aot_status meta_histc(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_push_vector(k, &t, (aot_dtype)t.dtype, aot_call_int(k, 1, "bins", 100));
    return AOT_OK;
}

/* histogram.bin_ct: the counts and the edges between them */
aot_status meta_histogram(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_dim bins = aot_call_int(k, 1, "bins", 100);
    aot_push_vector(k, &t, (aot_dtype)t.dtype, bins);
    aot_push_vector(k, &t, (aot_dtype)t.dtype, aot_dim_add(k->c, bins, aot_dim_of(1)));
    return AOT_OK;
}

/* histogram.bins_tensor: the same with the edges given */
aot_status meta_histogram_edges(aot_call *k)
{
    aot_fake t, bins;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_call_need(k, 1, "bins", &bins));
    aot_dim edges = aot_fake_numel(k->c, &bins);
    aot_push_vector(k, &t, (aot_dtype)t.dtype, aot_dim_sub(k->c, edges, aot_dim_of(1)));
    aot_push_vector(k, &t, (aot_dtype)t.dtype, edges);
    return AOT_OK;
}

/* _histogramdd_bin_edges(self, bins): a list, one tensor for each coordinate */
aot_status meta_histogramdd_bin_edges(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    unsigned n = aot_call_n_items(k, 1, "bins");
    k->is_list = true;
    for (unsigned i = 0; i < n; i++) {
        aot_dim bins = aot_call_item(k, 1, "bins", i, 0);
        aot_push_vector(k, &t, (aot_dtype)t.dtype, aot_dim_add(k->c, bins, aot_dim_of(1)));
    }
    return AOT_OK;
}

static aot_status push_grid(aot_call *k, bool edges)
{
    aot_fake t, bins;
    aot_dim size[AOT_FAKE_MAX_NDIM];
    unsigned n = aot_call_n_items(k, 1, "bins");
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    if (n > AOT_FAKE_MAX_NDIM) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: %u dimensions", aot_text(k->c, k->n->name), n);
    }
    for (unsigned i = 0; i < n; i++) {
        size[i] = edges ? aot_dim_of(0) : aot_call_item(k, 1, "bins", i, 0);
        if (edges && aot_call_tensor_item(k, 1, "bins", i, &bins)) {
            size[i] = aot_dim_sub(k->c, aot_fake_numel(k->c, &bins), aot_dim_of(1));
        }
    }
    t = aot_fake_new((aot_dtype)t.dtype, n, size, t.device);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* _histogramdd_from_bin_cts(self, bins) */
aot_status meta_histogramdd_counts(aot_call *k)
{
    return push_grid(k, false);
}

/* _histogramdd_from_bin_tensors(self, bins) */
aot_status meta_histogramdd_counts_edges(aot_call *k)
{
    return push_grid(k, true);
}

/* _unique(self, sorted, return_inverse): PyTorch runs the kernel on zeros, which are all the
 * same. */
aot_status meta_unique(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_push_vector(k, &t, (aot_dtype)t.dtype,
                    aot_dim_of(aot_dim_is(aot_fake_numel(k->c, &t), 0) ? 0 : 1));
    if (aot_call_bool(k, 2, "return_inverse", false)) {
        aot_push_contiguous(k, &t, AOT_I64);
    } else {
        aot_push_vector(k, &t, AOT_I64, aot_dim_of(0));
    }
    return AOT_OK;
}

/* bucketize and searchsorted: the values' sizes; a number has none. */
static void push_positions(aot_call *k, const aot_fake *values, const aot_fake *boundaries,
                           bool int32)
{
    aot_fake t = values ? *values : *boundaries;
    if (!values) {
        t.ndim = 0;
    }
    t.dtype = int32 ? AOT_I32 : AOT_I64;
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
}

aot_status meta_bucketize(aot_call *k)
{
    aot_fake values, boundaries;
    bool tensor = aot_call_tensor(k, 0, "self", &values);
    AOT_TRY(aot_call_need(k, 1, "boundaries", &boundaries));
    push_positions(k, tensor ? &values : NULL, &boundaries,
                   aot_call_bool(k, 2, "out_int32", false));
    return AOT_OK;
}

aot_status meta_searchsorted(aot_call *k)
{
    aot_fake values, sorted;
    bool tensor = aot_call_tensor(k, 1, "self", &values);
    AOT_TRY(aot_call_need(k, 0, "sorted_sequence", &sorted));
    push_positions(k, tensor ? &values : NULL, &sorted, aot_call_bool(k, 2, "out_int32", false));
    return AOT_OK;
}

/* isin: one truth value for each element. */
aot_status meta_isin(aot_call *k)
{
    aot_fake in;
    if (!aot_call_tensor(k, 0, "elements", &in)) {
        AOT_TRY(aot_call_need(k, 1, "test_elements", &in));
        in.ndim = 0;
    }
    aot_fake t = in;
    aot_fake_set_permuted(k->c, &t, &in, 1);
    t.dtype = AOT_B8;
    aot_call_push(k, &t);
    return AOT_OK;
}
