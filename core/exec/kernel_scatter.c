/* Gathering and scattering: each element of a tensor of positions reads or writes one element along
 * a dimension.
 *
 * Mirrors: aten/src/ATen/native/TensorAdvancedIndexing.cpp, cpu/ScatterGatherKernel.cpp. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "exec/places.h"
#include "exec/rows.h"

int64_t place_checked(aot_kern *k, int64_t i, int64_t n)
{
    if (i < -n || i >= n) {
        k_fail(k, AOT_E_RANGE,
               "index %" PRId64 " is out of bounds for a dimension of size %" PRId64, i, n);
    }
    return i < 0 ? i + n : i;
}

static double combined(combine how, double a, double b)
{
    return how == ADD       ? a + b
           : how == MUL     ? a * b
           : how == MAXIMUM ? (a != a || a > b ? a : b)
           : how == MINIMUM ? (a != a || a < b ? a : b)
                            : b;
}

static int64_t combined_int(combine how, int64_t a, int64_t b)
{
    return how == ADD       ? (int64_t)((uint64_t)a + (uint64_t)b)
           : how == MUL     ? (int64_t)((uint64_t)a * (uint64_t)b)
           : how == MAXIMUM ? (a > b ? a : b)
           : how == MINIMUM ? (a < b ? a : b)
                            : b;
}

void combine_at(combine how, aot_dtype d, char *to, const char *from)
{
    aot_class c = aot_dtype_class(d);
    if (how == SET) {
        memcpy(to, from, aot_dtype_get(d)->bytes);
    } else if (c == AOT_CLASS_INT) {
        int64_t v = combined_int(how, aot_get_int(d, to), aot_get_int(d, from));
        aot_store_int(&v, d, to, 0, 1);
    } else if (c == AOT_CLASS_COMPLEX) {
        aot_complex a, b;
        aot_load_complex(&a, d, to, 0, 1);
        aot_load_complex(&b, d, from, 0, 1);
        a = how == ADD ? a + b : a * b;
        aot_store_complex(&a, d, to, 0, 1);
    } else {
        double v = combined(how, aot_get_real(d, to), aot_get_real(d, from));
        aot_store_real(&v, d, to, 0, 1);
    }
}

aot_array *copy_of(aot_kern *k, aot_array *x)
{
    aot_array *out = k_like(k, (aot_dtype)x->dtype, x);
    aot_array_assign(out, x);
    return out;
}

/* ---- gather and scatter ---------------------------------------------------------------------- */

/* Calls fn for each element of index, with the places in x (moved along dim by the index) and in
 * other (the element at the same coordinates; NULL: none). */
typedef void place_fn(void *arg, char *x, char *other);

typedef struct place_job {
    aot_kern *k;
    place_fn *fn;
    void *arg;
    int64_t size, step; /* of x along dim: elements, bytes from one to the next */
    aot_dtype index;
    bool with_other;
} place_job;

static void place_run(void *arg, char *const *ptr, const int64_t *stride, int64_t n)
{
    const place_job *j = arg;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = place_checked(j->k, aot_get_int(j->index, ptr[0] + i * stride[0]), j->size);
        j->fn(j->arg, ptr[1] + i * stride[1] + at * j->step,
              j->with_other ? ptr[2] + i * stride[2] : NULL);
    }
}

/* Numbers count as vectors of one. false: there are no places. */
static bool check_places(aot_kern *k, const aot_array *x, unsigned dim, const aot_array *index,
                         const aot_array *other)
{
    if (aot_dtype_class((aot_dtype)index->dtype) != AOT_CLASS_INT) {
        k_fail(k, AOT_E_SHAPE, "positions of %s",
               aot_dtype_get((aot_dtype)index->dtype)->torch_name);
    }
    if (aot_array_numel(index) == 0) {
        return false;
    }
    unsigned ndim = index->ndim == 0 ? 1 : index->ndim;
    if (ndim != (x->ndim == 0 ? 1 : x->ndim) ||
        (other != NULL && ndim != (other->ndim == 0 ? 1 : other->ndim))) {
        k_fail(k, AOT_E_SHAPE, "positions with %u dimensions in a tensor with %u", index->ndim,
               x->ndim);
    }
    for (unsigned i = 0; i < index->ndim; i++) {
        int64_t room = i == dim ? INT64_MAX : x->ndim == 0 ? 1 : x->size[i];
        int64_t from = other == NULL      ? room
                       : other->ndim == 0 ? 1
                                          : other->size[i],
                fit = from < room ? from : room;
        if (index->size[i] > fit) {
            k_fail(k, AOT_E_SHAPE,
                   "size %" PRId64 " of positions' dimension %u where %" PRId64 " fit",
                   index->size[i], i, fit);
        }
    }
    return true;
}

static void each_place(aot_kern *k, aot_array *x, unsigned dim, aot_array *index, aot_array *other,
                       place_fn *fn, void *arg)
{
    if (!check_places(k, x, dim, index, other)) {
        return;
    }
    place_job j = {k,
                   fn,
                   arg,
                   x->ndim > 0 ? x->size[dim] : 1,
                   x->ndim > 0 ? x->stride[dim] * aot_array_item_bytes(x) : 0,
                   (aot_dtype)index->dtype,
                   other != NULL};
    aot_array base = *x;
    if (index->ndim > 0 && x->ndim > 0) {
        base.stride[dim] = 0;
    }
    base.ndim = index->ndim;
    for (unsigned i = 0; i < index->ndim; i++) { // sizes of 1 in x are no broadcasting here
        base.stride[i] = x->ndim == 0 ? 0 : base.stride[i];
        base.size[i] = index->size[i];
    }
    aot_iter it;
    aot_iter_begin(&it, index->ndim, index->size);
    aot_iter_add(&it, index);
    aot_iter_add(&it, &base);
    if (other != NULL) {
        aot_array cut = *other;
        cut.ndim = index->ndim;
        for (unsigned i = 0; i < index->ndim; i++) {
            cut.stride[i] = other->ndim == 0 ? 0 : cut.stride[i];
            cut.size[i] = index->size[i];
        }
        aot_iter_add(&it, &cut);
    }
    aot_iter_run_in_order(&it, place_run, &j);
}

static void take(void *arg, char *x, char *other)
{
    memcpy(other, x, *(const size_t *)arg);
}

void kern_gather(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *index = k_need(k, 2);
    aot_array *out = k_out(k, 0, (aot_dtype)x->dtype, index->ndim, index->size);
    size_t bytes = (size_t)aot_array_item_bytes(x);
    each_place(k, x, k_dim(k, 1, x->ndim), index, out, take, &bytes);
    k_give(k, out);
}

typedef struct scatter_arg {
    combine how;
    aot_dtype d;
    const char *value; /* NULL: the other's element */
} scatter_arg;

static void scatter_one(void *arg, char *x, char *other)
{
    const scatter_arg *a = arg;
    combine_at(a->how, a->d, x, a->value != NULL ? a->value : other);
}

static void scatter_with(aot_kern *k, combine how)
{
    aot_array *x = k_need(k, 0), *out = copy_of(k, x),
              *src = k_cast(k, k_need(k, 3), (aot_dtype)x->dtype);
    bool number = k_arg(k, 3)->kind != AOT_X_ARRAY;
    scatter_arg a = {how, (aot_dtype)x->dtype, number ? aot_array_data(src) : NULL};
    each_place(k, out, k_dim(k, 1, x->ndim), k_need(k, 2), number ? NULL : src, scatter_one, &a);
    k_give(k, out);
}

void kern_scatter(aot_kern *k)
{
    scatter_with(k, SET);
}

void kern_scatter_add(aot_kern *k)
{
    scatter_with(k, ADD);
}

static void put_number(void *arg, char *x, char *other)
{
    const scatter_arg *a = arg;
    (void)other;
    memcpy(x, a->value, aot_dtype_get(a->d)->bytes);
}

static void count_one(void *arg, char *x, char *other)
{
    int64_t n = *(int64_t *)x + 1;
    (void)arg;
    (void)other;
    memcpy(x, &n, sizeof n);
}

/* Divides by how many elements were added, self among them if it counts. */
static void divide_by_counts(aot_kern *k, aot_array *out, unsigned dim, aot_array *index,
                             bool with_self)
{
    aot_array *counts = k_new(k, AOT_I64, out->ndim, out->size);
    if (with_self) {
        aot_array_fill(counts, 1);
    }
    each_place(k, counts, dim, index, NULL, count_one, NULL);
    counts = K2(k, aten_maximum, counts, k_scalar(k, AOT_I64, 1));
    bool ints = aot_dtype_class((aot_dtype)out->dtype) == AOT_CLASS_INT;
    aot_array_assign(out,
                     ints ? K2(k, aten_floor_divide, out, k_cast(k, counts, (aot_dtype)out->dtype))
                          : K2(k, aten_div_Tensor, out, counts));
}

static combine combine_named(aot_kern *k, unsigned pos, bool *mean)
{
    *mean = k_str_is(k, pos, "mean");
    return k_str_is(k, pos, "sum") || k_str_is(k, pos, "add") || *mean  ? ADD
           : k_str_is(k, pos, "prod") || k_str_is(k, pos, "multiply") ? MUL
           : k_str_is(k, pos, "amax")                               ? MAXIMUM
                                                                    : MINIMUM;
}

static double neutral(combine how)
{
    return how == MUL ? 1 : how == MAXIMUM ? -INFINITY : how == MINIMUM ? INFINITY : 0;
}

/* The smallest or largest value of a dtype, 0 or 1: what a reduction starts from without self. */
static aot_array *start_of(aot_kern *k, aot_dtype d, combine how)
{
    aot_array *start = k_new(k, d, 0, NULL);
    double v = neutral(how);
    if (aot_dtype_class(d) != AOT_CLASS_INT || !isinf(v)) {
        aot_array_fill(start, v);
        return start;
    }
    int64_t i = v > 0 ? INT64_MAX : INT64_MIN, bits = 8 * aot_dtype_get(d)->bytes;
    i = bits == 64 ? i : d == AOT_B8 ? v > 0 : d == AOT_U8 ? (v > 0 ? 255 : 0) : i >> (64 - bits);
    aot_store_int(&i, d, aot_array_data(start), 0, 1);
    return start;
}

static void reduce_into(aot_kern *k, aot_array *index, aot_array *src, unsigned reduce_pos,
                        bool with_self)
{
    aot_array *x = k_need(k, 0), *out = copy_of(k, x);
    unsigned dim = k_dim(k, 1, x->ndim);
    bool mean;
    combine how = combine_named(k, reduce_pos, &mean);
    scatter_arg a = {how, (aot_dtype)x->dtype, NULL};
    if (!with_self) {
        scatter_arg reset = {SET, (aot_dtype)x->dtype,
                             aot_array_data(start_of(k, (aot_dtype)x->dtype, how))};
        each_place(k, out, dim, index, NULL, put_number, &reset);
    }
    each_place(k, out, dim, index, k_cast(k, src, (aot_dtype)x->dtype), scatter_one, &a);
    if (mean) {
        divide_by_counts(k, out, dim, index, with_self);
    }
    k_give(k, out);
}

void kern_scatter_reduce(aot_kern *k)
{
    reduce_into(k, k_need(k, 2), k_need(k, 3), 4, k_bool(k, 5));
}

/* The index names slices: it is the same for all elements of one. */
void kern_index_reduce(aot_kern *k)
{
    aot_array *index = k_need(k, 2), *src = k_need(k, 3);
    int64_t size[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < src->ndim; i++) {
        size[i] = 1;
    }
    if (src->ndim > 0) {
        size[k_dim(k, 1, src->ndim)] = aot_array_numel(index);
    }
    index = k_expand(k, k_reshape(k, index, src->ndim, size), src->ndim, src->size);
    reduce_into(k, index, src, 4, k_bool(k, 5));
}

/* self, dim, index, src or a number, reduce: add or multiply */
void kern_scatter_combine(aot_kern *k)
{
    scatter_with(k, k_str_is(k, 4, "add") ? ADD : MUL);
}
