/* Views: other sizes and strides over the same storage.
 *
 * Mirrors: aten/src/ATen/native/TensorShape.cpp, TensorUtils.cpp (computeStride). */
#include <inttypes.h>
#include <string.h>

#include "exec/kernel.h"

void kern_alias(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    k_give(k, k_view(k, x, x->ndim, x->size, x->stride, x->offset));
}

/* ---- another shape --------------------------------------------------------------------------- */

/* Replaces the one size that is -1. */
static void infer_size(aot_kern *k, int64_t numel, unsigned ndim, int64_t *size)
{
    int64_t known = 1;
    int open = -1;
    for (unsigned i = 0; i < ndim; i++) {
        if (size[i] == -1) {
            open = (int)i;
        } else if (size[i] < 0 || __builtin_mul_overflow(known, size[i], &known)) {
            k_fail(k, AOT_E_SHAPE, "a shape cannot have the size %" PRId64, size[i]);
        }
    }
    if (open >= 0 && known != 0) {
        size[open] = numel / known;
        known *= size[open];
    } else if (open >= 0) {
        size[open] = 0;
    }
    if (known != numel) {
        k_fail(k, AOT_E_SHAPE, "%" PRId64 " elements do not fill a shape of %" PRId64, numel,
               known);
    }
}

/* Strides of a shape over x's memory, chunk by chunk of dimensions that lie behind each other;
 * false: only a copy has that shape. */
static bool view_strides(const aot_array *x, unsigned ndim, const int64_t *size, int64_t *stride)
{
    if (aot_array_numel(x) == 0) {
        aot_strides_contiguous(stride, ndim, size);
        return true;
    }
    int at = (int)ndim - 1;
    int64_t base = x->ndim > 0 ? x->stride[x->ndim - 1] : 1, in_chunk = 1, in_view = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        in_chunk *= x->size[d];
        if (d != 0 && (x->size[d - 1] == 1 || x->stride[d - 1] == in_chunk * base)) {
            continue;
        }
        while (at >= 0 && (in_view < in_chunk || size[at] == 1)) {
            stride[at] = in_view * base;
            in_view *= size[at--];
        }
        if (in_view != in_chunk) {
            return false;
        }
        if (d > 0) {
            base = x->stride[d - 1];
            in_chunk = in_view = 1;
        }
    }
    for (; at >= 0 && x->ndim == 0; at--) {
        stride[at] = 1;
    }
    return at < 0;
}

aot_array *k_reshape(aot_kern *k, aot_array *x, unsigned ndim, const int64_t *sizes)
{
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    if (ndim > AOT_ARRAY_MAX_NDIM) {
        k_fail(k, AOT_E_SHAPE, "%u dimensions", ndim);
    }
    memcpy(size, sizes, ndim * sizeof *size);
    infer_size(k, aot_array_numel(x), ndim, size);
    if (view_strides(x, ndim, size, stride)) {
        return k_view(k, x, ndim, size, stride, x->offset);
    }
    aot_array *y = k_new(k, (aot_dtype)x->dtype, x->ndim, x->size);
    aot_array_assign(y, x);
    aot_strides_contiguous(stride, ndim, size);
    return k_view(k, y, ndim, size, stride, 0);
}

void kern_view(aot_kern *k)
{
    unsigned n;
    const int64_t *size = k_ints(k, 1, &n);
    k_give(k, k_reshape(k, k_need(k, 0), n, size));
}

void kern_expand(aot_kern *k)
{
    unsigned n;
    const int64_t *size = k_ints(k, 1, &n);
    k_give(k, k_expand(k, k_need(k, 0), n, size));
}

void kern_as_strided(aot_kern *k)
{
    unsigned n, m;
    aot_array *x = k_need(k, 0);
    const int64_t *size = k_ints(k, 1, &n), *stride = k_ints(k, 2, &m);
    if (n != m) {
        k_fail(k, AOT_E_SHAPE, "%u sizes and %u strides", n, m);
    }
    k_give(k, k_view(k, x, n, size, stride, k_int(k, 3, x->offset)));
}

/* ---- order of dimensions --------------------------------------------------------------------- */

void kern_permute(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    unsigned n, perm[AOT_ARRAY_MAX_NDIM];
    const int64_t *dims = k_ints(k, 1, &n);
    if (n != x->ndim) {
        k_fail(k, AOT_E_SHAPE, "%u dimensions for a tensor with %u", n, x->ndim);
    }
    for (unsigned i = 0; i < n; i++) {
        perm[i] = k_wrap(k, dims[i], n);
    }
    k_give(k, k_permute(k, x, perm));
}

static void give_transposed(aot_kern *k, aot_array *x, unsigned a, unsigned b)
{
    unsigned perm[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < x->ndim; i++) {
        perm[i] = i == a ? b : i == b ? a : i;
    }
    k_give(k, k_permute(k, x, perm));
}

void kern_transpose(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    give_transposed(k, x, k_dim(k, 1, x->ndim), k_dim(k, 2, x->ndim));
}

void kern_t(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    give_transposed(k, x, 0, x->ndim < 2 ? 0 : 1);
}

/* ---- dimensions of one element --------------------------------------------------------------- */

static void give_without(aot_kern *k, const aot_array *x, uint32_t drop)
{
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    unsigned n = 0;
    for (unsigned i = 0; i < x->ndim; i++) {
        if ((drop >> i & 1) == 0 || x->size[i] != 1) {
            size[n] = x->size[i];
            stride[n++] = x->stride[i];
        }
    }
    k_give(k, k_view(k, x, n, size, stride, x->offset));
}

void kern_squeeze(aot_kern *k)
{
    give_without(k, k_need(k, 0), UINT32_MAX);
}

void kern_squeeze_dims(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    unsigned n;
    const int64_t *dims = k_ints(k, 1, &n);
    uint32_t drop = 0;
    for (unsigned i = 0; i < n; i++) {
        drop |= 1u << k_wrap(k, dims[i], x->ndim);
    }
    give_without(k, x, drop);
}

void kern_unsqueeze(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    int64_t size[AOT_ARRAY_MAX_NDIM + 1], stride[AOT_ARRAY_MAX_NDIM + 1];
    unsigned at = k_wrap(k, k_int(k, 1, 0), x->ndim + 1u);
    for (unsigned i = 0; i < x->ndim + 1u; i++) {
        unsigned from = i < at ? i : i - 1;
        size[i] = i == at ? 1 : x->size[from];
        stride[i] = i != at ? x->stride[from] : at < x->ndim ? x->size[at] * x->stride[at] : 1;
    }
    k_give(k, k_view(k, x, x->ndim + 1u, size, stride, x->offset));
}

/* ---- parts ----------------------------------------------------------------------------------- */

void kern_select(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    unsigned d = k_dim(k, 1, x->ndim);
    int64_t i = k_int(k, 2, 0), n = x->ndim > d ? x->size[d] : 0;
    if (i < -n || i >= n) {
        k_fail(k, AOT_E_SHAPE, "index %" PRId64 " of a dimension of size %" PRId64, i, n);
    }
    k_give(k, k_select(k, x, d, i < 0 ? i + n : i));
}

/* x[start:end:step] along a dimension, as Python slices. */
static aot_array *sliced(aot_kern *k, aot_array *x, unsigned d, int64_t start, int64_t end,
                         int64_t step)
{
    int64_t n = x->size[d];
    if (step < 1) {
        k_fail(k, AOT_E_SHAPE, "a slice by steps of %" PRId64, step);
    }
    start = start < 0 ? start + n : start;
    end = end < 0 ? end + n : end;
    start = start < 0 ? 0 : start > n ? n : start;
    end = end < start ? start : end > n ? n : end;
    aot_array *v = k_own(k, aot_array_view(x, (aot_dtype)x->dtype, x->ndim, x->size, x->stride,
                                           x->offset + start * x->stride[d]));
    v->size[d] = end == start ? 0 : (end - start - 1) / step + 1;
    if (__builtin_mul_overflow(v->stride[d], step, &v->stride[d])) {
        k_fail(k, AOT_E_RANGE, "a slice by steps of %" PRId64, step);
    }
    return v;
}

/* The dimension that an argument names; a number has none to cut. */
static unsigned cut_dim(aot_kern *k, unsigned pos, const aot_array *x)
{
    if (x->ndim == 0) {
        k_fail(k, AOT_E_SHAPE, "a tensor without dimensions");
    }
    return k_dim(k, pos, x->ndim);
}

static aot_array *slice_args(aot_kern *k, aot_array *x, unsigned first)
{
    return sliced(k, x, cut_dim(k, first, x), k_int(k, first + 1, 0),
                  k_int(k, first + 2, INT64_MAX), k_int(k, first + 3, 1));
}

void kern_slice(aot_kern *k)
{
    k_give(k, slice_args(k, k_need(k, 0), 1));
}

void kern_split(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    unsigned d = cut_dim(k, 2, x);
    int64_t each = k_int(k, 1, 1), n = x->size[d];
    if (each < 0 || (each == 0 && n != 0)) {
        k_fail(k, AOT_E_SHAPE, "parts of %" PRId64 " of a dimension of size %" PRId64, each, n);
    }
    for (int64_t at = 0; at < n || at == 0; at += each) {
        k_give(k, sliced(k, x, d, at, each > n - at ? n : at + each, 1));
        if (each == 0 || each >= n - at) {
            break;
        }
    }
    k_give_list(k);
}

void kern_split_with_sizes(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    unsigned n, d = cut_dim(k, 2, x);
    const int64_t *sizes = k_ints(k, 1, &n);
    int64_t at = 0;
    for (unsigned i = 0; i < n; i++) {
        if (sizes[i] < 0 || sizes[i] > x->size[d] - at) {
            k_fail(k, AOT_E_SHAPE, "a part of %" PRId64 " where %" PRId64 " are left", sizes[i],
                   x->size[d] - at);
        }
        k_give(k, sliced(k, x, d, at, at + sizes[i], 1));
        at += sizes[i];
    }
    k_give_list(k);
}

void kern_unbind(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    unsigned d = cut_dim(k, 1, x);
    for (int64_t i = 0; i < x->size[d]; i++) {
        k_give(k, k_select(k, x, d, i));
    }
    k_give_list(k);
}

static aot_array *diagonal_of(aot_kern *k, aot_array *x, unsigned first)
{
    int64_t offset = k_int(k, first, 0), size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    unsigned a = k_dim(k, first + 1, x->ndim), b = k_dim(k, first + 2, x->ndim), n = 0;
    int64_t rows = x->ndim < 2 ? 0 : x->size[a], cols = x->ndim < 2 ? 0 : x->size[b];
    if (a == b || x->ndim < 2) {
        k_fail(k, AOT_E_SHAPE, "a diagonal of dimension %u and itself", a);
    }
    if (offset < -rows || offset > cols) {
        offset = offset < 0 ? -rows : cols; // empty
    }
    int64_t len = offset >= 0 ? (rows < cols - offset ? rows : cols - offset)
                              : (rows + offset < cols ? rows + offset : cols);
    for (unsigned i = 0; i < x->ndim; i++) {
        if (i != a && i != b) {
            size[n] = x->size[i];
            stride[n++] = x->stride[i];
        }
    }
    len = len < 0 ? 0 : len;
    size[n] = len;
    stride[n++] = x->stride[a] + x->stride[b];
    int64_t skip = len == 0 ? 0 : offset >= 0 ? offset * x->stride[b] : -offset * x->stride[a];
    return k_view(k, x, n, size, stride, x->offset + skip);
}

void kern_diagonal(aot_kern *k)
{
    k_give(k, diagonal_of(k, k_need(k, 0), 1));
}

void kern_unfold(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    int64_t size[AOT_ARRAY_MAX_NDIM + 1], stride[AOT_ARRAY_MAX_NDIM + 1], len = k_int(k, 2, 1),
                                                                          step = k_int(k, 3, 1);
    unsigned d = k_dim(k, 1, x->ndim);
    int64_t most = x->ndim == 0 ? 1 : x->size[d];
    if (len < 0 || len > most || step < 1) {
        k_fail(k, AOT_E_SHAPE,
               "windows of %" PRId64 " by steps of %" PRId64 " of a dimension of size %" PRId64,
               len, step, most);
    }
    memcpy(size, x->size, sizeof x->size);
    memcpy(stride, x->stride, sizeof x->stride);
    size[x->ndim] = len;
    stride[x->ndim] = x->ndim == 0 ? 1 : x->stride[d];
    if (x->ndim > 0) {
        size[d] = (x->size[d] - len) / step + 1;
        if (__builtin_mul_overflow(step, x->stride[d], &stride[d])) {
            k_fail(k, AOT_E_RANGE, "windows by steps of %" PRId64, step);
        }
    }
    k_give(k, k_view(k, x, x->ndim + 1u, size, stride, x->offset));
}

/* ---- complex numbers as pairs, other dtypes -------------------------------------------------- */

void kern_view_as_real(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    if (aot_array_kind(x) != 'c' || x->ndim == AOT_ARRAY_MAX_NDIM) {
        k_fail(k, AOT_E_SHAPE, "%s numbers in %u dimensions are not looked at as pairs",
               aot_dtype_get((aot_dtype)x->dtype)->torch_name, x->ndim);
    }
    aot_array *v = k_own(k, aot_array_view(x, k_real_of((aot_dtype)x->dtype), x->ndim + 1u, x->size,
                                           x->stride, 2 * x->offset));
    for (unsigned i = 0; i < x->ndim; i++) {
        v->stride[i] *= 2;
    }
    v->size[x->ndim] = 2;
    v->stride[x->ndim] = 1;
    k_give(k, v);
}

void kern_view_as_complex(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    bool even = x->offset % 2 == 0;
    for (unsigned i = 0; i + 1u < x->ndim; i++) {
        even = even && x->stride[i] % 2 == 0;
    }
    if (!even || x->ndim == 0 || x->size[x->ndim - 1] != 2 || x->stride[x->ndim - 1] != 1) {
        k_fail(k, AOT_E_SHAPE, "the last dimension must be two neighbours");
    }
    aot_array *v = k_own(k, aot_array_view(x, k_complex_of((aot_dtype)x->dtype), x->ndim - 1u,
                                           x->size, x->stride, x->offset / 2));
    for (unsigned i = 0; i < v->ndim; i++) {
        v->stride[i] /= 2;
    }
    k_give(k, v);
}

/* real and imag of a complex tensor: every other number. */
static void give_half(aot_kern *k, int64_t second)
{
    aot_array *x = k_need(k, 0);
    if (aot_array_kind(x) != 'c') {
        k_give(k, x);
        return;
    }
    aot_array *v = k_own(k, aot_array_view(x, k_real_of((aot_dtype)x->dtype), x->ndim, x->size,
                                           x->stride, 2 * x->offset + second));
    for (unsigned i = 0; i < v->ndim; i++) {
        v->stride[i] *= 2;
    }
    k_give(k, v);
}

void kern_real(aot_kern *k)
{
    give_half(k, 0);
}

void kern_imag(aot_kern *k)
{
    give_half(k, 1);
}

void kern_view_dtype(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    aot_dtype d = k_dtype(k, 1, (aot_dtype)x->dtype);
    int64_t from = aot_array_item_bytes(x), to = aot_dtype_get(d)->bytes;
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    bool plain = from == to || (x->ndim > 0 && x->stride[x->ndim - 1] == 1);
    for (unsigned i = 0; i < x->ndim; i++) {
        bool last = i + 1u == x->ndim;
        plain = plain && (from == to || (last ? x->size[i] : x->stride[i]) * from % to == 0);
        stride[i] = last && from != to ? 1 : x->stride[i] * from / to;
        size[i] = last ? x->size[i] * from / to : x->size[i];
    }
    if (!plain || x->offset * from % to != 0) {
        k_fail(k, AOT_E_SHAPE,
               "elements of %" PRId64 " bytes are no neighbours that make one of %" PRId64, from,
               to);
    }
    k_give(k, k_view_as(k, x, d, x->ndim, size, stride, x->offset * from / to));
}

/* ---- a copy with a part replaced ------------------------------------------------------------- */

static void scatter_part(aot_kern *k, aot_array *(*part)(aot_kern *, aot_array *))
{
    aot_array *x = k_need(k, 0), *out = k_like(k, (aot_dtype)x->dtype, x);
    aot_array_assign(out, x);
    aot_array *to = part(k, out), *src = k_need(k, 1);
    aot_array_assign(to, k_expand(k, src, to->ndim, to->size));
    k_give(k, out);
}

static aot_array *slice_part(aot_kern *k, aot_array *x)
{
    return slice_args(k, x, 2);
}

void kern_slice_scatter(aot_kern *k)
{
    scatter_part(k, slice_part);
}

static aot_array *select_part(aot_kern *k, aot_array *x)
{
    unsigned d = cut_dim(k, 2, x);
    int64_t i = k_int(k, 3, 0);
    return k_select(k, x, d, i < 0 ? i + x->size[d] : i);
}

void kern_select_scatter(aot_kern *k)
{
    scatter_part(k, select_part);
}

static aot_array *diagonal_part(aot_kern *k, aot_array *x)
{
    return diagonal_of(k, x, 2);
}

void kern_diagonal_scatter(aot_kern *k)
{
    scatter_part(k, diagonal_part);
}

/* Strides and offset are those of self: the copy is laid out like it. */
void kern_as_strided_scatter(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *src = k_need(k, 1);
    unsigned n, m;
    const int64_t *size = k_ints(k, 2, &n), *stride = k_ints(k, 3, &m);
    int64_t items = x->storage->bytes / aot_array_item_bytes(x), one = 1;
    aot_array *all = k_new(k, (aot_dtype)x->dtype, 1, &items);
    aot_array_assign(all, k_view(k, x, 1, &items, &one, 0));
    if (n != m) {
        k_fail(k, AOT_E_SHAPE, "%u sizes and %u strides", n, m);
    }
    aot_array *part = k_view(k, all, n, size, stride, k_int(k, 4, x->offset));
    aot_array_assign(part, k_expand(k, src, n, size));
    k_give(k, k_view(k, all, x->ndim, x->size, x->stride, x->offset));
}

/* Zeros of the input's sizes with the gradient in its place. */
static void backward_of(aot_kern *k, aot_array *(*part)(aot_kern *, aot_array *))
{
    unsigned n;
    aot_array *grad = k_need(k, 0);
    const int64_t *size = k_ints(k, 1, &n);
    aot_array *out = k_out(k, 0, (aot_dtype)grad->dtype, n, size);
    aot_array *to = part(k, out);
    aot_array_assign(to, k_expand(k, grad, to->ndim, to->size));
    k_give(k, out);
}

void kern_slice_backward(aot_kern *k)
{
    backward_of(k, slice_part);
}

void kern_select_backward(aot_kern *k)
{
    backward_of(k, select_part);
}

void kern_diagonal_backward(aot_kern *k)
{
    backward_of(k, diagonal_part);
}
