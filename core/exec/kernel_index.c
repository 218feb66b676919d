/* Indexing: along one dimension, by several tensors of positions, by masks.
 *
 * Mirrors: aten/src/ATen/native/TensorAdvancedIndexing.cpp, cpu/IndexKernel.cpp. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "exec/places.h"
#include "exec/rows.h"

/* ---- along one dimension --------------------------------------------------------------------- */

void kern_index_select(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *index = k_need(k, 2);
    unsigned d = k_dim(k, 1, x->ndim);
    int64_t size[AOT_ARRAY_MAX_NDIM];
    memcpy(size, x->size, sizeof size);
    size[d] = aot_array_numel(index);
    if (x->ndim == 0) {
        k_give(k, copy_of(k, x));
        return;
    }
    aot_array *out = k_out(k, 0, (aot_dtype)x->dtype, x->ndim, size);
    index = k_cast_contiguous(k, index, AOT_I64);
    for (int64_t i = 0; i < size[d]; i++) {
        int64_t at = place_checked(k, ((const int64_t *)aot_array_data(index))[i], x->size[d]);
        aot_array from = *x, to = *out;
        from.size[d] = to.size[d] = 1;
        from.offset += at * x->stride[d];
        to.offset += i * out->stride[d];
        aot_array_assign(&to, &from);
    }
    k_give(k, out);
}

void kern_embedding(aot_kern *k)
{
    aot_array *w = k_need(k, 0), *index = k_need(k, 1);
    if (w->ndim != 2 || index->ndim == AOT_ARRAY_MAX_NDIM) {
        k_fail(k, AOT_E_SHAPE, "rows of a weight with %u dimensions at places with %u", w->ndim,
               index->ndim);
    }
    int64_t size[AOT_ARRAY_MAX_NDIM], n = aot_array_numel(index), flat[2] = {n, w->size[1]};
    memcpy(size, index->size, sizeof size);
    size[index->ndim] = w->size[1];
    aot_array *rows = k_new(k, (aot_dtype)w->dtype, 2, flat);
    index = k_cast_contiguous(k, index, AOT_I64);
    for (int64_t i = 0; i < n; i++) {
        aot_array_assign(
            k_select(k, rows, 0, i),
            k_select(k, w, 0,
                     place_checked(k, ((const int64_t *)aot_array_data(index))[i], w->size[0])));
    }
    k_give(k, k_reshape(k, rows, index->ndim + 1u, size));
}

/* ---- advanced indexing ----------------------------------------------------------------------- */

/* x[indices]: one look at x for the result's shape: indexed dimensions have stride 0 and are
 * replaced by the indices' common shape, where the first of them stands if they lie together, else
 * in front. */
typedef struct indexed {
    unsigned ndim, n; /* of the result; index arrays */
    int64_t size[AOT_ARRAY_MAX_NDIM];
    aot_array base;   /* x without the indexed dimensions, broadcast over the index shape */
    aot_array *index[AOT_ARRAY_MAX_NDIM]; /* in the result's shape, i64 */
    /* of the dimension that each one indexes */
    int64_t step[AOT_ARRAY_MAX_NDIM], len[AOT_ARRAY_MAX_NDIM];
} indexed;

/* bool and u8 masks become one index array for each of their dimensions. */
static unsigned plain_indices(aot_kern *k, aot_array *x, unsigned pos,
                              aot_array *out[AOT_ARRAY_MAX_NDIM])
{
    aot_array **in;
    unsigned n = k_list(k, pos, &in), m = 0;
    for (unsigned i = 0; i < n; i++) {
        bool mask = in[i] != NULL && (in[i]->dtype == AOT_B8 || in[i]->dtype == AOT_U8);
        if (m + (mask ? in[i]->ndim : 1u) > x->ndim) {
            k_fail(k, AOT_E_SHAPE, "more indices than dimensions");
        }
        if (!mask) {
            out[m++] = in[i];
            continue;
        }
        aot_array *places = K1(k, aten_nonzero, in[i]);
        for (unsigned d = 0; d < in[i]->ndim; d++) {
            out[m++] = k_select(k, places, 1, d);
        }
    }
    return m;
}

static void index_shape(aot_kern *k, indexed *v, const aot_array *x, unsigned n,
                        aot_array *const *in)
{
    unsigned shape_ndim = 0, first = x->ndim, last = 0, used = 0;
    int64_t shape[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        if (in[i] != NULL) {
            first = used == 0 ? i : first;
            last = i;
            used++;
            if (!aot_broadcast(&shape_ndim, shape, in[i]->ndim, in[i]->size)) {
                k_fail(k, AOT_E_SHAPE, "index shapes that cannot be broadcast");
            }
        }
    }
    bool together = used > 0 && last - first + 1 == used;
    unsigned at = together ? first : 0, to = 0;
    v->base = *x;
    for (unsigned d = 0, done = 0; d <= x->ndim; d++) {
        if (!done && (d == at || !together)) {
            for (unsigned i = 0; i < shape_ndim; i++) {
                v->base.stride[to] = 0;
                v->size[to++] = shape[i];
            }
            done = 1;
        }
        if (d < x->ndim && (d >= n || in[d] == NULL)) {
            v->base.stride[to] = x->stride[d];
            v->size[to++] = x->size[d];
        }
    }
    v->ndim = to;
    for (unsigned d = 0; d < n; d++) {
        if (in[d] == NULL) {
            continue;
        }
        aot_array *index = k_expand(k, k_cast(k, in[d], AOT_I64), shape_ndim, shape);
        aot_array *full =
            k_own(k, aot_array_view(index, AOT_I64, v->ndim, v->size, v->size, index->offset));
        for (unsigned i = 0; i < v->ndim; i++) {
            bool inside = i >= at && i < at + shape_ndim;
            full->stride[i] = inside ? index->stride[i - at] : 0;
        }
        v->len[v->n] = x->size[d];
        v->step[v->n] = x->stride[d] * aot_array_item_bytes(x);
        v->index[v->n++] = full;
    }
    v->base.ndim = (uint8_t)v->ndim;
    memcpy(v->base.size, v->size, sizeof v->size);
}

typedef struct index_job {
    aot_kern *k;
    const indexed *v;
    combine how;
    aot_dtype d;
    bool reads; /* from x into the other */
} index_job;

/* ptr: the other, x, then each index. */
static void index_run(void *arg, char *const *ptr, const int64_t *stride, int64_t n)
{
    const index_job *j = arg;
    for (int64_t i = 0; i < n; i++) {
        char *other = ptr[0] + i * stride[0], *x = ptr[1] + i * stride[1];
        for (unsigned m = 0; m < j->v->n; m++) {
            int64_t at;
            memcpy(&at, ptr[m + 2] + i * stride[m + 2], sizeof at);
            x += place_checked(j->k, at, j->v->len[m]) * j->v->step[m];
        }
        combine_at(j->how, j->d, j->reads ? other : x, j->reads ? x : other);
    }
}

static void index_walk(aot_kern *k, const indexed *v, aot_array *other, combine how, bool reads)
{
    index_job j = {k, v, how, (aot_dtype)v->base.dtype, reads};
    aot_iter it;
    if (v->n + 2 > AOT_ITER_MAX) {
        k_fail(k, AOT_E_UNSUPPORTED, "more than %d index tensors", AOT_ITER_MAX - 2);
    }
    aot_iter_begin(&it, v->ndim, v->size);
    aot_iter_add(&it, other);
    aot_iter_add(&it, &v->base);
    for (unsigned m = 0; m < v->n; m++) {
        aot_iter_add(&it, v->index[m]);
    }
    aot_iter_run_in_order(&it, index_run, &j);
}

static aot_array *at_indices(aot_kern *k, aot_array *x, unsigned n, aot_array *const *in,
                             bool may_be_empty)
{
    indexed v = {0};
    index_shape(k, &v, x, n, in);
    aot_array *out = k_out(k, 0, (aot_dtype)x->dtype, v.ndim, v.size);
    if (aot_array_numel(x) > 0 || !may_be_empty) {
        index_walk(k, &v, out, SET, true);
    }
    return out;
}

void kern_index(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *in[AOT_ARRAY_MAX_NDIM];
    unsigned n = plain_indices(k, x, 1, in);
    k_give(k, at_indices(k, x, n, in, false));
}

/* self, mask, indices, fill: indices are brought into their dimension; where the mask is false
 * stands fill. */
void kern_masked_index(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *in[AOT_ARRAY_MAX_NDIM];
    unsigned n = plain_indices(k, x, 2, in);
    for (unsigned i = 0; i < n; i++) {
        in[i] = in[i] == NULL ? NULL : K3(k, aten_clamp, in[i], (int64_t)0, x->size[i] - 1);
    }
    aot_array *out = at_indices(k, x, n, in, true),
              *outside = K1(k, aten_logical_not, k_need(k, 1));
    out = k_call(k, AOT_OP_aten_masked_fill_Scalar, 3,
                 (const aot_xval[]){XV(out), XV(outside), *k_arg(k, 3)});
    k_give_as(k, 0, out, (aot_dtype)x->dtype);
}

void kern_index_put(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *out = copy_of(k, x), *in[AOT_ARRAY_MAX_NDIM];
    unsigned n = plain_indices(k, x, 1, in);
    indexed v = {0};
    index_shape(k, &v, out, n, in);
    aot_array *values = k_cast(k, k_need(k, 2), (aot_dtype)x->dtype);
    index_walk(k, &v, k_expand(k, values, v.ndim, v.size), k_bool(k, 3) ? ADD : SET, false);
    k_give(k, out);
}

/* ---- where elements are not zero ------------------------------------------------------------- */

void kern_nonzero(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *flags = k_cast_contiguous(k, x, AOT_B8);
    int64_t n = aot_array_numel(flags), size[2] = {0, x->ndim};
    const char *p = aot_array_data(flags);
    for (int64_t i = 0; i < n; i++) {
        size[0] += p[i] != 0;
    }
    aot_array *out = k_new(k, AOT_I64, 2, size);
    int64_t *to = (int64_t *)(void *)aot_array_data(out);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i;
        if (p[i] == 0) {
            continue;
        }
        for (unsigned d = x->ndim; d-- > 0;) {
            to[d] = rest % x->size[d];
            rest /= x->size[d];
        }
        to += x->ndim;
    }
    k_give(k, out);
}

/* self, dim, index, source, alpha: rows of the source times alpha are added. */
void kern_index_add(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *out = copy_of(k, x),
              *at = k_cast_contiguous(k, k_need(k, 2), AOT_I64), *src = k_need(k, 3);
    unsigned dim = k_dim(k, 1, x->ndim);
    for (int64_t i = 0; i < aot_array_numel(at); i++) {
        aot_array *to = out, *from = src;
        if (x->ndim > 0) {
            to = k_select(k, out, dim,
                          place_checked(k, ((const int64_t *)(const void *)aot_array_data(at))[i],
                                        x->size[dim]));
            from = src->ndim == 0 ? src : k_select(k, src, dim, i);
        }
        aot_xval args[] = {aot_xv_array(to), aot_xv_array(k_cast(k, from, (aot_dtype)x->dtype)),
                           *k_arg(k, 4)};
        aot_array_assign(to, k_call(k, AOT_OP_aten_add_Tensor, 3, args));
    }
    k_give(k, out);
}

/* self, weights, minlength: how often each number stands, or the sum of its weights. */
void kern_bincount(aot_kern *k)
{
    aot_array *x = k_cast_contiguous(k, k_need(k, 0), AOT_I64), *weights = k_in(k, 1);
    int64_t n = k_int(k, 2, 0), all = aot_array_numel(x);
    const int64_t *v = (const int64_t *)(const void *)aot_array_data(x);
    for (int64_t i = 0; i < all; i++) {
        if (v[i] < 0) {
            k_fail(k, AOT_E_RANGE, "bincount of a negative number");
        }
        if (v[i] >= AOT_EXTENT_MAX) {
            k_fail(k, AOT_E_RANGE, "bincount of %" PRId64 ": too many bins", v[i]);
        }
        n = v[i] >= n ? v[i] + 1 : n;
    }
    aot_dtype d = weights == NULL ? AOT_I64 : weights->dtype == AOT_F32 ? AOT_F32 : AOT_F64;
    aot_array *zeros = k_new(k, d, 1, &n), *ones = k_new(k, d, 1, &all);
    aot_array_fill(ones, 1);
    aot_xval args[] = {aot_xv_array(zeros), aot_xv_int(0), aot_xv_array(x),
                       aot_xv_array(weights == NULL ? ones : k_cast(k, weights, d)), aot_xv_int(1)};
    k_give(k, k_call(k, AOT_OP_aten_index_add, 5, args));
}

/* ---- masks, renormalized rows ---------------------------------------------------------------- */

/* Elements where the mask is true, row-major. */
void kern_masked_select(aot_kern *k)
{
    aot_array *in[2] = {k_need(k, 0), k_need(k, 1)};
    unsigned ndim = 0;
    int64_t size[AOT_ARRAY_MAX_NDIM];
    if (!aot_broadcast(&ndim, size, in[0]->ndim, in[0]->size) ||
        !aot_broadcast(&ndim, size, in[1]->ndim, in[1]->size)) {
        k_fail(k, AOT_E_SHAPE, "mask and self cannot be broadcast");
    }
    int64_t all = 1;
    for (unsigned i = 0; i < ndim; i++) {
        all *= size[i];
    }
    aot_array *x = k_reshape(k, k_contiguous(k, k_expand(k, in[0], ndim, size)), 1, &all);
    aot_array *mask = k_reshape(k, k_contiguous(k, k_expand(k, in[1], ndim, size)), 1, &all);
    aot_xval where = aot_xv_list(1, (aot_xval[]){aot_xv_array(mask)});
    k_give(k, k_call(k, AOT_OP_aten_index_Tensor, 2, (const aot_xval[]){aot_xv_array(x), where}));
}

/* self [V, D], indices, max_norm, norm_type: rows that are looked up get at most that norm. */
void kern_embedding_renorm(aot_kern *k)
{
    aot_array *out = copy_of(k, k_need(k, 0)), *at = k_cast_contiguous(k, k_need(k, 1), AOT_I64);
    double most = k_real(k, 2, 0);
    for (int64_t i = 0; i < aot_array_numel(at); i++) {
        int64_t row =
            place_checked(k, ((const int64_t *)(const void *)aot_array_data(at))[i], out->size[0]);
        aot_array *v = k_select(k, out, 0, row);
        aot_xval args[] = {aot_xv_array(v), *k_arg(k, 3)};
        aot_array *norm = k_call(k, AOT_OP_aten_linalg_vector_norm, 2, args);
        double n = aot_get_real((aot_dtype)norm->dtype, aot_array_data(norm));
        if (n > most) { // it has the norm from then on
            aot_array_assign(v, K2(k, aten_mul_Scalar, v, most / (n + 1e-7)));
        }
    }
    k_give(k, out);
}
