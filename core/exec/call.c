/* What kernels read and give: arguments by place, arrays of the call, results, other operators. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exec/internal.h"

aot_op_id k_op(const aot_kern *k)
{
    return k->op;
}

const char *k_name(const aot_kern *k)
{
    return aot_op(k->op)->name;
}

void k_fail(aot_kern *k, aot_status code, const char *fmt, ...)
{
    char msg[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    ex_fail(k->x, code, "%s: %s", k_name(k), msg);
}

void *k_mem(aot_kern *k, size_t bytes)
{
    if ((double)bytes > aot_memory_bytes()) {
        k_fail(k, AOT_E_RANGE, "working memory of %.3g bytes; this machine has %.3g", (double)bytes,
               aot_memory_bytes());
    }
    return aot_arena_calloc(k->x->scratch, 1, bytes + 1);
}

/* ---- arguments ------------------------------------------------------------------------------- */

const aot_xval *k_arg(const aot_kern *k, unsigned pos)
{
    static const aot_xval none = {.kind = AOT_X_NONE};
    return pos < k->n_args             ? &k->args[pos]
           : pos < k->facts->schema.n_args ? &k->facts->defaults[pos]
                                       : &none;
}

bool k_is_none(const aot_kern *k, unsigned pos)
{
    return k_arg(k, pos)->kind == AOT_X_NONE;
}

static aot_array *array_of_number(aot_kern *k, const aot_xval *v)
{
    if (v->kind == AOT_X_COMPLEX) {
        aot_array *z = k_new(k, AOT_C128, 0, NULL);
        memcpy(aot_array_data(z), v->u.z, sizeof v->u.z);
        return z;
    }
    if (v->kind == AOT_X_REAL) {
        return k_scalar(k, AOT_F64, v->u.f);
    }
    aot_array *i = k_new(k, v->kind == AOT_X_BOOL ? AOT_B8 : AOT_I64, 0, NULL);
    aot_store_int(&v->u.i, (aot_dtype)i->dtype, aot_array_data(i), 0, 1);
    return i;
}

static bool is_number(const aot_xval *v)
{
    return v->kind == AOT_X_INT || v->kind == AOT_X_REAL || v->kind == AOT_X_BOOL ||
           v->kind == AOT_X_COMPLEX;
}

aot_array *k_in(aot_kern *k, unsigned pos)
{
    const aot_xval *v = k_arg(k, pos);
    return v->kind == AOT_X_ARRAY ? v->u.array : is_number(v) ? array_of_number(k, v) : NULL;
}

aot_array *k_need(aot_kern *k, unsigned pos)
{
    aot_array *x = k_in(k, pos);
    if (x == NULL) {
        k_fail(k, AOT_E_SHAPE, "argument %u is no tensor", pos);
    }
    return x;
}

unsigned k_list(aot_kern *k, unsigned pos, aot_array ***out)
{
    const aot_xval *v = k_arg(k, pos);
    unsigned n = v->kind == AOT_X_LIST ? v->n : 0;
    *out = k_mem(k, (n + 1) * sizeof **out);
    for (unsigned i = 0; i < n; i++) {
        (*out)[i] = v->u.items[i].kind == AOT_X_ARRAY ? v->u.items[i].u.array : NULL;
    }
    return n;
}

static double number(aot_kern *k, const aot_xval *v, double if_none)
{
    switch (v->kind) {
    case AOT_X_INT: case AOT_X_BOOL: case AOT_X_DTYPE: return (double)v->u.i;
    case AOT_X_REAL: return v->u.f;
    case AOT_X_COMPLEX: return v->u.z[0];
    case AOT_X_NONE: return if_none;
    case AOT_X_ARRAY:
        if (aot_array_numel(v->u.array) == 1) {
            return aot_get_real((aot_dtype)v->u.array->dtype, aot_array_data(v->u.array));
        } // fall through
    default: k_fail(k, AOT_E_SHAPE, "an argument is no number");
    }
}

int64_t k_int(aot_kern *k, unsigned pos, int64_t if_none)
{
    const aot_xval *v = k_arg(k, pos);
    if (v->kind == AOT_X_ARRAY && aot_array_numel(v->u.array) == 1) {
        return aot_get_int((aot_dtype)v->u.array->dtype, aot_array_data(v->u.array));
    }
    if (v->kind == AOT_X_LIST && v->n == 1) {
        v = &v->u.items[0];
    }
    return v->kind == AOT_X_INT || v->kind == AOT_X_BOOL ? v->u.i
           : v->kind == AOT_X_NONE                       ? if_none
                                                         : (int64_t)number(k, v, 0);
}

double k_real(aot_kern *k, unsigned pos, double if_none)
{
    return number(k, k_arg(k, pos), if_none);
}

aot_complex k_complex(aot_kern *k, unsigned pos, double if_none)
{
    const aot_xval *v = k_arg(k, pos);
    aot_complex z;
    if (v->kind == AOT_X_ARRAY) {
        aot_load_complex(&z, (aot_dtype)v->u.array->dtype, aot_array_data(v->u.array), 0, 1);
        return z;
    }
    return v->kind == AOT_X_COMPLEX ? CMPLX(v->u.z[0], v->u.z[1]) : CMPLX(number(k, v, if_none), 0);
}

bool k_bool(aot_kern *k, unsigned pos)
{
    return k_real(k, pos, 0) != 0;
}

aot_dtype k_dtype(aot_kern *k, unsigned pos, aot_dtype if_none)
{
    const aot_xval *v = k_arg(k, pos);
    return v->kind == AOT_X_DTYPE ? (aot_dtype)v->u.i : aot_exec_dtype(k->x, if_none);
}

int64_t *k_ints(aot_kern *k, unsigned pos, unsigned *n)
{
    const aot_xval *v = k_arg(k, pos);
    *n = v->kind == AOT_X_LIST ? v->n : v->kind == AOT_X_NONE ? 0 : 1;
    if (v->kind == AOT_X_NONE) {
        return NULL;
    }
    int64_t *out = k_mem(k, (*n + 1) * sizeof *out);
    for (unsigned i = 0; i < *n; i++) {
        const aot_xval *item = v->kind == AOT_X_LIST ? &v->u.items[i] : v;
        out[i] = item->kind == AOT_X_INT ? item->u.i : (int64_t)number(k, item, 0);
    }
    return out;
}

void k_ints_of(aot_kern *k, unsigned pos, unsigned n, int64_t if_none, int64_t *out)
{
    unsigned have;
    const int64_t *v = k_ints(k, pos, &have);
    for (unsigned i = 0; i < n; i++) {
        out[i] = have == 0 ? if_none : v[have == 1 ? 0 : i < have ? i : have - 1];
    }
}

void k_small_ints_of(aot_kern *k, unsigned pos, unsigned n, int64_t if_none, int64_t least,
                     int64_t *out)
{
    k_ints_of(k, pos, n, if_none, out);
    for (unsigned i = 0; i < n; i++) {
        if (out[i] < least || out[i] > INT32_MAX) {
            k_fail(k, AOT_E_RANGE, "argument %u is %" PRId64 "; it must be from %" PRId64 " to %d",
                   pos, out[i], least, INT32_MAX);
        }
    }
}

bool k_str_is(aot_kern *k, unsigned pos, const char *text)
{
    const aot_xval *v = k_arg(k, pos);
    return v->kind == AOT_X_STR && strcmp(v->u.text, text) == 0;
}

unsigned k_wrap(aot_kern *k, int64_t dim, unsigned ndim)
{
    int64_t n = ndim == 0 ? 1 : ndim;
    if (dim < -n || dim >= n) {
        k_fail(k, AOT_E_SHAPE, "dimension %" PRId64 " of a tensor with %u", dim, ndim);
    }
    return (unsigned)(dim < 0 ? dim + n : dim);
}

unsigned k_dim(aot_kern *k, unsigned pos, unsigned ndim)
{
    return k_wrap(k, k_int(k, pos, 0), ndim);
}

uint32_t k_dims_mask(aot_kern *k, unsigned pos, unsigned ndim)
{
    unsigned n;
    const int64_t *d = k_ints(k, pos, &n);
    uint32_t mask = n == 0 ? (1u << ndim) - 1 : 0;
    for (unsigned i = 0; i < n; i++) {
        mask |= 1u << k_wrap(k, d[i], ndim);
    }
    return mask & ((1u << ndim) - 1);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

aot_array *k_own(aot_kern *k, aot_array *x)
{
    return ex_own(k->x, x);
}

/* Strides NULL: contiguous. */
static void check_possible(aot_kern *k, aot_dtype d, unsigned ndim, const int64_t *size,
                           const int64_t *stride)
{
    aot_err e = {0};
    aot_status s = aot_array_possible(&k->x->live, d, ndim, size, stride, &e);
    if (s != AOT_OK) {
        k_fail(k, s, "%s", e.msg);
    }
}

aot_array *k_new_strided(aot_kern *k, aot_dtype d, unsigned ndim, const int64_t *size,
                         const int64_t *stride)
{
    check_possible(k, d, ndim, size, stride);
    return k_own(k, aot_array_new_strided(&k->x->live, d, ndim, size, stride));
}

static aot_array *new_array(aot_kern *k, aot_dtype d, unsigned ndim, const int64_t *size,
                            const int64_t *stride, bool zeroed)
{
    aot_live_bytes *live = &k->x->live;
    check_possible(k, d, ndim, size, stride);
    return k_own(k, zeroed ? aot_array_new_strided(live, d, ndim, size, stride)
                           : aot_array_empty_strided(live, d, ndim, size, stride));
}

static aot_array *new_contiguous(aot_kern *k, aot_dtype d, unsigned ndim, const int64_t *size,
                                 bool zeroed)
{
    int64_t stride[AOT_ARRAY_MAX_NDIM];
    check_possible(k, d, ndim, size, NULL);
    aot_strides_contiguous(stride, ndim, size);
    return new_array(k, d, ndim, size, stride, zeroed);
}

void k_shape_is(aot_kern *k, const aot_array *x, unsigned ndim, const int64_t *size)
{
    if (x->ndim != ndim) {
        k_fail(k, AOT_E_SHAPE, "a tensor with %u dimensions where %u are due", x->ndim, ndim);
    }
    for (unsigned i = 0; i < ndim; i++) {
        if (x->size[i] != size[i]) {
            k_fail(k, AOT_E_SHAPE, "size %" PRId64 " of dimension %u where %" PRId64 " is due",
                   x->size[i], i, size[i]);
        }
    }
}

aot_array *k_new(aot_kern *k, aot_dtype d, unsigned ndim, const int64_t *size)
{
    return new_contiguous(k, d, ndim, size, true);
}

aot_array *k_empty(aot_kern *k, aot_dtype d, unsigned ndim, const int64_t *size)
{
    return new_contiguous(k, d, ndim, size, false);
}

/* Whether strides reach each element once: no two elements in one place. */
static bool is_plain(unsigned ndim, const int64_t *size, const int64_t *stride)
{
    int64_t n = 1;
    for (unsigned i = 0; i < ndim; i++) {
        n *= size[i];
        if (stride[i] < 0 || (stride[i] == 0 && size[i] > 1)) {
            return false;
        }
    }
    return n == 0 || aot_extent(ndim, size, stride) == n;
}

/* The strides that the graph states for result i; false: it states none that such an array could
 * have. */
static bool stated_strides(const aot_kern *k, unsigned i, unsigned ndim, const int64_t *size,
                           int64_t *stride)
{
    const aot_meta *m = i < k->n_expected && k->expected[i] != 0
                            ? aot_meta_get(k->expected_ctx, k->expected[i])
                            : NULL;
    if (m == NULL || m->val != AOT_VAL_TENSOR || !m->has_stride || m->ndim != ndim) {
        return false;
    }
    for (unsigned j = 0; j < ndim; j++) {
        if (aot_meta_sizes(k->expected_ctx, m)[j].value != size[j]) {
            return false;
        }
        stride[j] = aot_meta_strides(k->expected_ctx, m)[j].value;
    }
    return is_plain(ndim, size, stride);
}

static aot_array *new_result(aot_kern *k, unsigned i, aot_dtype d, unsigned ndim,
                             const int64_t *size, bool zeroed)
{
    int64_t stride[AOT_ARRAY_MAX_NDIM];
    check_possible(k, d, ndim, size, NULL);
    return stated_strides(k, i, ndim, size, stride) ? new_array(k, d, ndim, size, stride, zeroed)
                                                    : new_contiguous(k, d, ndim, size, zeroed);
}

aot_array *k_out(aot_kern *k, unsigned i, aot_dtype d, unsigned ndim, const int64_t *size)
{
    return new_result(k, i, d, ndim, size, true);
}

aot_array *k_out_empty(aot_kern *k, unsigned i, aot_dtype d, unsigned ndim, const int64_t *size)
{
    return new_result(k, i, d, ndim, size, false);
}

aot_array *k_like(aot_kern *k, aot_dtype d, const aot_array *x)
{
    return k_out(k, 0, d, x->ndim, x->size);
}

aot_array *k_view_as(aot_kern *k, const aot_array *x, aot_dtype d, unsigned ndim,
                     const int64_t *size, const int64_t *stride, int64_t offset)
{
    double n = 1;
    if (ndim > AOT_ARRAY_MAX_NDIM) {
        k_fail(k, AOT_E_SHAPE, "%u dimensions; the interpreter has room for %d", ndim,
               AOT_ARRAY_MAX_NDIM);
    }
    for (unsigned i = 0; i < ndim; i++) {
        n *= size[i] > 1 ? (double)size[i] : 1;
        if (size[i] < 0 || stride[i] < 0) {
            k_fail(k, AOT_E_SHAPE, "negative %s %" PRId64, size[i] < 0 ? "size" : "stride",
                   size[i] < 0 ? size[i] : stride[i]);
        }
    }
    if (n > 0x1p36) {
        k_fail(k, AOT_E_RANGE, "a view of %.3g elements", n);
    }
    aot_array *v = k_own(k, aot_array_view(x, d, ndim, size, stride, offset));
    if (!aot_array_fits(v)) {
        k_fail(k, AOT_E_SHAPE, "a view that reaches beyond its storage of %" PRId64 " bytes",
               x->storage->bytes);
    }
    return v;
}

aot_array *k_view(aot_kern *k, const aot_array *x, unsigned ndim, const int64_t *size,
                  const int64_t *stride, int64_t offset)
{
    return k_view_as(k, x, (aot_dtype)x->dtype, ndim, size, stride, offset);
}

aot_array *k_expand(aot_kern *k, const aot_array *x, unsigned ndim, const int64_t *size)
{
    int64_t stride[AOT_ARRAY_MAX_NDIM] = {0}, full[AOT_ARRAY_MAX_NDIM];
    if (ndim < x->ndim || ndim > AOT_ARRAY_MAX_NDIM) {
        k_fail(k, AOT_E_SHAPE, "%u dimensions cannot be expanded to %u", x->ndim, ndim);
    }
    unsigned shift = ndim - x->ndim;
    for (unsigned i = 0; i < ndim; i++) {
        int64_t have = i < shift ? 1 : x->size[i - shift];
        full[i] = size[i] == -1 ? have : size[i];
        if (have != full[i] && have != 1) {
            k_fail(k, AOT_E_SHAPE, "size %" PRId64 " cannot be expanded to %" PRId64, have,
                   full[i]);
        }
        stride[i] = i >= shift && (have != 1 || full[i] == 1) ? x->stride[i - shift] : 0;
    }
    return k_view(k, x, ndim, full, stride, x->offset);
}

aot_array *k_select(aot_kern *k, const aot_array *x, unsigned dim, int64_t index)
{
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    if (dim >= x->ndim || index < 0 || index >= x->size[dim]) {
        k_fail(k, AOT_E_SHAPE, "index %" PRId64 " of a dimension of size %" PRId64, index,
               dim < x->ndim ? x->size[dim] : 0);
    }
    for (unsigned i = 0; i + 1u < x->ndim; i++) {
        size[i] = x->size[i + (i >= dim)];
        stride[i] = x->stride[i + (i >= dim)];
    }
    return k_own(k, aot_array_view(x, (aot_dtype)x->dtype, x->ndim - 1u, size, stride,
                                   x->offset + index * x->stride[dim]));
}

aot_array *k_permute(aot_kern *k, const aot_array *x, const unsigned *perm)
{
    int64_t size[AOT_ARRAY_MAX_NDIM], stride[AOT_ARRAY_MAX_NDIM];
    for (unsigned i = 0; i < x->ndim; i++) {
        size[i] = x->size[perm[i]];
        stride[i] = x->stride[perm[i]];
    }
    return k_view(k, x, x->ndim, size, stride, x->offset);
}

aot_array *k_move_last(aot_kern *k, aot_array *x, unsigned dim)
{
    unsigned perm[AOT_ARRAY_MAX_NDIM], n = 0;
    for (unsigned i = 0; i < x->ndim; i++) {
        if (i != dim) {
            perm[n++] = i;
        }
    }
    perm[n] = dim;
    return x->ndim == 0 ? x : k_permute(k, x, perm);
}

aot_array *k_cast_contiguous(aot_kern *k, aot_array *x, aot_dtype d)
{
    if (x->dtype == d && aot_array_is_contiguous(x)) {
        return x;
    }
    aot_array *y = k_empty(k, d, x->ndim, x->size);
    aot_array_assign(y, x);
    return y;
}

aot_array *k_contiguous(aot_kern *k, aot_array *x)
{
    return k_cast_contiguous(k, x, (aot_dtype)x->dtype);
}

aot_array *k_cast(aot_kern *k, aot_array *x, aot_dtype d)
{
    return x->dtype == d ? x : k_cast_contiguous(k, x, d);
}

aot_array *k_scalar(aot_kern *k, aot_dtype d, double v)
{
    aot_array *x = k_empty(k, d, 0, NULL);
    aot_store_real(&v, d, aot_array_data(x), 0, 1);
    return x;
}

/* ---- results --------------------------------------------------------------------------------- */

void k_give_value(aot_kern *k, aot_xval v)
{
    if (k->n_given == k->room) {
        unsigned room = 2 * k->room + 4;
        aot_xval *more = k_mem(k, room * sizeof *more);
        if (k->n_given > 0) {
            memcpy(more, k->given, k->n_given * sizeof *more);
        }
        k->given = more;
        k->room = room;
    }
    k->given[k->n_given++] = v;
}

void k_give(aot_kern *k, aot_array *x)
{
    k_give_value(k, aot_xv_array(x));
}

void k_give_as(aot_kern *k, unsigned i, const aot_array *x, aot_dtype d)
{
    aot_array *out = k_out_empty(k, i, d, x->ndim, x->size);
    aot_array_assign(out, x);
    k_give(k, out);
}

void k_give_in(aot_kern *k, unsigned i, aot_array *x, aot_dtype d)
{
    int64_t stride[AOT_ARRAY_MAX_NDIM];
    if (!stated_strides(k, i, x->ndim, x->size, stride)) {
        aot_strides_contiguous(stride, x->ndim, x->size);
    }
    if (x->dtype == d && memcmp(stride, x->stride, x->ndim * sizeof *stride) == 0) {
        k_give(k, x);
    } else {
        k_give_as(k, i, x, d);
    }
}

void k_give_none(aot_kern *k)
{
    k_give_value(k, aot_xv_none());
}

aot_xval *k_results(aot_kern *k)
{
    return k->given;
}

void k_give_list(aot_kern *k)
{
    k->as_list = true;
}

/* ---- other operators ------------------------------------------------------------------------- */

unsigned k_call_all(aot_kern *k, aot_op_id op, unsigned n, const aot_xval *args, aot_array **out,
                    unsigned room)
{
    const exec_op *f = ex_op(k->x, op);
    aot_xval *all = k_mem(k, (f->schema.n_args + n + 1) * sizeof *all);
    memcpy(all, f->defaults, f->schema.n_args * sizeof *all);
    memcpy(all, args, n * sizeof *all);
    aot_xval v = ex_run(k->x, &(exec_call){.op = op, .n = f->schema.n_args, .args = all});
    unsigned got = v.kind == AOT_X_LIST ? v.n : 1;
    for (unsigned i = 0; i < got && i < room; i++) {
        aot_xval item = v.kind == AOT_X_LIST ? v.u.items[i] : v;
        out[i] = item.kind == AOT_X_ARRAY ? item.u.array : NULL;
    }
    return got;
}

aot_array *k_call(aot_kern *k, aot_op_id op, unsigned n, const aot_xval *args)
{
    aot_array *x = NULL;
    k_call_all(k, op, n, args, &x, 1);
    return x;
}
