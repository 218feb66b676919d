/* x[...] and x[...] = v. Integers are select, slices slice, None unsqueeze; what is left are
 * tensors for index and index_put_. Mirrors torch/csrc/autograd/python_variable_indexing.cpp and
 * ATen/TensorIndexing.h. */
#include <string.h>

#include "lower/internal.h"
#include "trace/layer.h"

typedef struct indexer {
    aot_tracer *t;
    aot_tensor *x;       /* what is left of the tensor */
    unsigned dim;        /* the dimension that the next index is for */
    unsigned n_ellipsis; /* dimensions that ... stands for */
    aot_tensor *tensor[AOT_FAKE_MAX_NDIM + 1];
    unsigned n_tensors;  /* up to the last tensor or beyond; holes are NULL */
} indexer;

/* ---- single indices -------------------------------------------------------------------------- */

static AOT_NORETURN void fail_index(aot_tracer *t, aot_value v)
{
    aot_trace_fail(t, AOT_E_UNSUPPORTED, "a tensor indexed by a %s", aot_l_kind_name(v));
}

static aot_dim bound(aot_tracer *t, aot_value v, int64_t if_none)
{
    if (v.kind == AOT_V_TENSOR) {
        v = AOT_V(t, aten_item, v.u.t);
    }
    if (v.kind == AOT_V_NONE) {
        return aot_dim_of(if_none);
    }
    if (v.kind != AOT_V_INT && v.kind != AOT_V_BOOL) {
        fail_index(t, v);
    }
    return v.u.dim;
}

static void see_backed(void *arg, const char *symbol, size_t n)
{
    bool *any = arg;
    *any = *any || (n > 1 && symbol[0] == 's');
}

/* Nothing bounds the symbols of inputs; those of data (u0) are bounded by what was counted. */
static bool is_bounded(aot_tracer *t, aot_dim size)
{
    bool backed = false;
    if (size.expr != 0) {
        const char *s = aot_text(aot_tracer_ctx(t), size.expr);
        aot_sym_each(s, strlen(s), see_backed, &backed);
    }
    return !backed;
}

/* Whether a slice up to stop certainly takes the whole dimension. */
static bool reaches_end(aot_tracer *t, aot_dim size, aot_dim stop)
{
    return (aot_dim_is(stop, INT64_MAX) && is_bounded(t, size)) || aot_dim_same(size, stop) ||
           (size.expr == 0 && stop.expr == 0 && size.value <= stop.value);
}

/* always: a slice that takes all is made too. */
static aot_tensor *slice(aot_tracer *t, aot_tensor *x, unsigned dim, aot_value s, bool always)
{
    aot_dim start = bound(t, s.u.items[0], 0), stop = bound(t, s.u.items[1], INT64_MAX);
    aot_dim step = bound(t, s.u.items[2], 1);
    if (step.value <= 0) {
        aot_trace_fail(t, AOT_E_RANGE, "slice step must be positive");
    }
    if (!always && aot_ndim(x) > 0 && aot_dim_is(start, 0) && aot_dim_is(step, 1) &&
        reaches_end(t, aot_size(x, dim), stop)) {
        return x;
    }
    return AOT(t, aten_slice_Tensor, x, (int64_t)dim, start, stop, step);
}

static aot_tensor *select_at(aot_tracer *t, aot_tensor *x, unsigned dim, aot_dim index)
{
    if (dim >= aot_ndim(x)) {
        aot_trace_fail(t, AOT_E_RANGE, "invalid index of a 0-dim tensor");
    }
    aot_dim size = aot_size(x, dim);
    if (index.expr == 0 && size.expr == 0 &&
        (index.value >= size.value || index.value < -size.value)) {
        aot_trace_fail(t, AOT_E_RANGE,
                       "index %lld is out of bounds for dimension %u with size %lld",
                       (long long)index.value, dim, (long long)size.value);
    }
    return AOT(t, aten_select_int, x, (int64_t)dim, index);
}

/* x[True] keeps everything under a new dimension, x[False] nothing: an index of one or no zero. */
static aot_tensor *truth_index(aot_tracer *t, const aot_tensor *x, bool truth)
{
    int64_t n = truth;
    aot_tensor *e = AOT(t, aten_empty_memory_format, aot_v_ints(t, 1, &n), aot_v_dtype(AOT_I64),
                        aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(x)));
    return truth ? AOT(t, aten_fill__Scalar, e, 0.0) : e;
}

/* ---- tuples of indices ----------------------------------------------------------------------- */

static void record(indexer *ix, aot_tensor *index)
{
    if (ix->dim >= AOT_FAKE_MAX_NDIM) {
        aot_trace_fail(ix->t, AOT_E_RANGE, "too many indices for a tensor");
    }
    while (ix->n_tensors <= ix->dim) {
        ix->tensor[ix->n_tensors++] = NULL;
    }
    ix->tensor[ix->dim++] = index;
}

static void by_tensor(indexer *ix, aot_tensor *index)
{
    char kind = aot_dtype_get(aot_dtype_of(index))->kind;
    if (aot_ndim(index) != 0 || kind == 'f' || kind == 'c' ||
        aot_layer_is_batched_by_any(index)) {
        record(ix, index);
    } else if (kind == 'b' || aot_dtype_of(index) == AOT_U8) {
        ix->x = AOT(ix->t, aten_unsqueeze, ix->x, (int64_t)ix->dim);
        aot_value v = AOT_V(ix->t, aten_item, index);
        record(ix, truth_index(ix->t, ix->x, v.u.dim.value != 0));
    } else {
        aot_value v = AOT_V(ix->t, aten_item, index);
        ix->x = select_at(ix->t, ix->x, ix->dim, v.u.dim);
    }
}

static void one_index(indexer *ix, aot_value v)
{
    switch ((aot_value_kind)v.kind) {
    case AOT_V_INT:
        ix->x = select_at(ix->t, ix->x, ix->dim, v.u.dim);
        break;
    case AOT_V_SLICE:
        ix->x = slice(ix->t, ix->x, ix->dim++, v, false);
        break;
    case AOT_V_ELLIPSIS:
        ix->dim += ix->n_ellipsis;
        break;
    case AOT_V_NONE:
        ix->x = AOT(ix->t, aten_unsqueeze, ix->x, (int64_t)ix->dim++);
        break;
    case AOT_V_BOOL:
        ix->x = AOT(ix->t, aten_unsqueeze, ix->x, (int64_t)ix->dim);
        record(ix, truth_index(ix->t, ix->x, v.u.dim.value != 0));
        break;
    case AOT_V_TENSOR:
        by_tensor(ix, v.u.t);
        break;
    case AOT_V_LIST:
    case AOT_V_TUPLE:
        by_tensor(ix, aot_l_constant(ix->t, v, v.n == 0 ? AOT_I64 : aot_l_data_dtype(ix->t, v),
                                     aot_device_of(ix->x)));
        break;
    default:
        fail_index(ix->t, v);
    }
}

/* Dimensions that the indices take, ... aside: boolean tensors take as many as they have. */
static unsigned specified(aot_value index)
{
    unsigned n = 0;
    for (unsigned i = 0; i < index.n; i++) {
        aot_value v = index.u.items[i];
        if (v.kind == AOT_V_TENSOR) {
            aot_dtype d = aot_dtype_of(v.u.t);
            n += d == AOT_B8 || d == AOT_U8 ? aot_ndim(v.u.t) : 1;
        } else {
            n += v.kind != AOT_V_NONE && v.kind != AOT_V_ELLIPSIS && v.kind != AOT_V_BOOL;
        }
    }
    return n;
}

/* A list with tensors, slices, lists or None in it counts as a tuple, as NumPy once had it. */
static bool is_tuple_like(aot_value v)
{
    if (v.kind == AOT_V_TUPLE) {
        return true;
    }
    for (unsigned i = 0; v.kind == AOT_V_LIST && v.n < 32 && i < v.n; i++) {
        uint8_t k = v.u.items[i].kind;
        if (k == AOT_V_TENSOR || k == AOT_V_SLICE || k == AOT_V_LIST || k == AOT_V_TUPLE ||
            k == AOT_V_ELLIPSIS || k == AOT_V_NONE) {
            return true;
        }
    }
    return false;
}

/* Applies what is no tensor and gathers what is. */
static void run_indices(indexer *ix, aot_value index)
{
    aot_value one = index;
    if (!is_tuple_like(index)) {
        index = (aot_value){.kind = AOT_V_TUPLE, .n = 1, .u.items = &one};
    }
    unsigned n = specified(index), ndim = aot_ndim(ix->x);
    if (n > ndim) {
        aot_trace_fail(ix->t, AOT_E_RANGE, "too many indices for tensor of dimension %u", ndim);
    }
    ix->n_ellipsis = ndim - n;
    for (unsigned i = 0; i < index.n; i++) {
        one_index(ix, index.u.items[i]);
    }
}

static aot_value tensor_list(const indexer *ix)
{
    return aot_v_tensors(ix->t, ix->n_tensors, ix->tensor);
}

static aot_tensor *get(aot_tracer *t, aot_tensor *x, aot_value index)
{
    switch ((aot_value_kind)index.kind) {
    case AOT_V_NONE:
        return AOT(t, aten_unsqueeze, x, 0);
    case AOT_V_ELLIPSIS:
        return AOT(t, aten_alias, x);
    case AOT_V_INT:
        return select_at(t, x, 0, index.u.dim);
    case AOT_V_SLICE:
        return slice(t, x, 0, index, true);
    default:
        break;
    }
    indexer ix = {.t = t, .x = x};
    run_indices(&ix, index);
    if (ix.n_tensors > 0) {
        return AOT(t, aten_index_Tensor, ix.x, tensor_list(&ix));
    }
    return ix.x == x ? AOT(t, aten_alias, x) : ix.x;
}

/* ---- tuples, lists, dictionaries ------------------------------------------------------------- */

static aot_value sequence_item(aot_tracer *t, aot_value x, aot_value index)
{
    int64_t n = x.n;
    if (index.kind == AOT_V_SLICE) {
        int64_t step = bound(t, index.u.items[2], 1).value;
        int64_t start = bound(t, index.u.items[0], step > 0 ? 0 : n - 1).value;
        int64_t stop = bound(t, index.u.items[1], step > 0 ? n : -n - 1).value;
        start = start < 0 ? start + n : start;
        stop = stop < 0 ? stop + n : stop;
        aot_value *v = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_value, x.n + 1);
        unsigned k = 0;
        for (int64_t i = start; step != 0 && (step > 0 ? i < stop : i > stop); i += step) {
            if (i >= 0 && i < n) {
                v[k++] = x.u.items[i];
            }
        }
        return x.kind == AOT_V_LIST ? aot_v_list(t, k, v) : aot_v_tuple(t, k, v);
    }
    int64_t i = bound(t, index, 0).value;
    i = i < 0 ? i + n : i;
    if (i < 0 || i >= n) {
        aot_trace_fail(t, AOT_E_RANGE, "index %lld is out of range for a %s of %lld", (long long)i,
                       aot_l_kind_name(x), (long long)n);
    }
    return x.u.items[i];
}

static bool same_key(aot_value a, aot_value b)
{
    if (a.kind != b.kind) {
        return false;
    }
    return a.kind == AOT_V_STR || a.kind == AOT_V_NAME ? a.u.s == b.u.s
                                                       : a.u.dim.value == b.u.dim.value;
}

aot_value aot_l_getitem(aot_tracer *t, aot_value x, aot_value index)
{
    if (x.kind == AOT_V_TENSOR) {
        return aot_v_tensor(get(t, x.u.t, index));
    }
    if (aot_v_is_list(x)) {
        return sequence_item(t, x, index);
    }
    for (unsigned i = 0; x.kind == AOT_V_DICT && i + 1 < x.n; i += 2) {
        if (same_key(x.u.items[i], index)) {
            return x.u.items[i + 1];
        }
    }
    aot_trace_fail(t, AOT_E_UNSUPPORTED, "a %s indexed by a %s", aot_l_kind_name(x),
                   aot_l_kind_name(index));
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Sizes without their leading ones. */
static aot_dims without_leading_ones(aot_dims d)
{
    while (d.n > 0 && aot_dim_is(d.d[0], 1)) {
        d.d++;
        d.n--;
    }
    return d;
}

static void copy_to(aot_tracer *t, aot_tensor *dst, aot_tensor *src)
{
    aot_ctx *c = aot_tracer_ctx(t);
    if (aot_dims_eq(aot_sizes(dst), aot_sizes(src))) {
        AOT(t, aten_copy_, dst, src);
        return;
    }
    if (aot_ndim(src) == 0 && strcmp(aot_text(c, aot_device_of(src)), "cpu") == 0) {
        AOT(t, aten_fill__Tensor, dst, src);
        return;
    }
    src = AOT(t, aten_view, src, without_leading_ones(aot_sizes(src)));
    if (!aot_dims_eq(aot_sizes(dst), aot_sizes(src))) {
        src = AOT(t, aten_expand, src, aot_sizes(dst));
    }
    AOT(t, aten_copy_, dst, src);
}

/* A number is a constant of the tensor's dtype. On CUDA it stays on the CPU. */
static aot_tensor *value_tensor(aot_tracer *t, const aot_tensor *x, aot_value v)
{
    if (v.kind == AOT_V_TENSOR) {
        return v.u.t;
    }
    if (!aot_v_is_number(v)) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "a tensor's items set to a %s", aot_l_kind_name(v));
    }
    aot_str cpu = aot_intern_z(aot_tracer_ctx(t)->strs, "cpu");
    if ((v.kind == AOT_V_INT || v.kind == AOT_V_BOOL) && v.u.dim.expr != 0) {
        return AOT(t, aten_scalar_tensor, v, aot_v_dtype(aot_dtype_of(x)), AOT_NONE,
                   aot_v_device(cpu));
    }
    return aot_l_constant(t, v, aot_dtype_of(x), cpu);
}

void aot_l_setitem(aot_tracer *t, aot_value target, aot_value index, aot_value v)
{
    if (target.kind != AOT_V_TENSOR) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "items of a %s are set", aot_l_kind_name(target));
    }
    aot_tensor *x = target.u.t, *value = value_tensor(t, x, v);
    switch ((aot_value_kind)index.kind) {
    case AOT_V_BOOL:
        if (index.u.dim.value == 0) {
            return;
        }
        copy_to(t, AOT(t, aten_unsqueeze, x, 0), value);
        return;
    case AOT_V_ELLIPSIS:
        copy_to(t, x, value);
        return;
    case AOT_V_NONE:
        copy_to(t, AOT(t, aten_unsqueeze, x, 0), value);
        return;
    case AOT_V_INT:
        copy_to(t, select_at(t, x, 0, index.u.dim), value);
        return;
    case AOT_V_SLICE:
        copy_to(t, slice(t, x, 0, index, false), value);
        return;
    default:
        break;
    }
    indexer ix = {.t = t, .x = x};
    run_indices(&ix, index);
    if (ix.n_tensors == 0) {
        copy_to(t, ix.x, value);
        return;
    }
    aot_dims sizes = aot_sizes(value), kept = without_leading_ones(sizes);
    if (kept.n != sizes.n) {
        value = AOT(t, aten_view, value, kept);
    }
    AOT(t, aten_index_put_, ix.x, tensor_list(&ix), value);
}
