/* torch.masked: reductions over what a mask leaves; elements that are masked out are replaced by
 * the value that does not change the result. Mirrors torch/masked/_ops.py for strided tensors. */
#include "lower/internal.h"
#include "rules/meta_shared.h"

#include <math.h>

typedef struct masked {
    const aot_pycall *k;
    aot_tracer *t;
    const char *name; /* "sum" */
    aot_tensor *x;
    aot_value dim;    /* as given */
    aot_value dims;   /* canonical: sorted, all if none was given */
    aot_value keep, dtype;
    aot_tensor *mask;
} masked;

static aot_dtype x_dtype(const masked *m)
{
    return aot_dtype_of(m->x);
}

/* None: all; from the front, sorted. */
static aot_value canonical(aot_tracer *t, aot_value dim, unsigned ndim)
{
    bool in[AOT_FAKE_MAX_NDIM] = {false};
    int64_t out[AOT_FAKE_MAX_NDIM];
    unsigned n = 0;
    for (unsigned i = 0; dim.kind == AOT_V_NONE && i < ndim; i++) {
        in[i] = true;
    }
    for (unsigned i = 0; aot_v_is_list(dim) && i < dim.n; i++) {
        in[aot_wrap_dim(t, dim.u.items[i].u.dim.value, ndim)] = true;
    }
    if (dim.kind == AOT_V_INT) {
        in[aot_wrap_dim(t, dim.u.dim.value, ndim)] = true;
    }
    for (unsigned i = 0; i < AOT_FAKE_MAX_NDIM; i++) {
        if (in[i]) {
            out[n++] = i;
        }
    }
    return aot_v_ints(t, n, out);
}

static masked read(const aot_pycall *k, unsigned dim_at, aot_tensor *x)
{
    masked m = {.k = k, .t = k->t, .name = strrchr(k->target, '.') + 1, .x = x};
    const aot_value *dim = aot_l_arg(k, dim_at, "dim");
    m.dim = dim != NULL ? *dim : aot_v_none();
    m.dims = canonical(k->t, m.dim, aot_ndim(x));
    m.keep = aot_v_bool(aot_l_bool(k, UINT32_MAX, "keepdim", false));
    m.dtype = aot_v_dtype(aot_l_dtype(k, UINT32_MAX, "dtype", aot_dtype_of(x)));
    m.mask = aot_l_tensor(k, UINT32_MAX, "mask");
    return m;
}

static bool is(const char *name, const char *list)
{
    size_t n = strlen(name);
    for (const char *p = list; (p = strstr(p, name)) != NULL; p += n) {
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The value that an operation does not see. */
static double identity(const masked *m, const char *op)
{
    char kind = aot_dtype_get(x_dtype(m))->kind;
    if (is(op, "prod")) {
        return 1;
    }
    if (is(op, "amax argmax logaddexp logsumexp")) {
        return kind == 'f' || kind == 'c' ? -(double)INFINITY : 0;
    }
    if (is(op, "amin argmin")) {
        return kind == 'f' ? (double)INFINITY : 0;
    }
    if (is(op, "median")) {
        return (double)NAN;
    }
    if (is(op, "norm") && aot_l_float(m->k, 1, "ord", 2) == -(double)INFINITY) {
        return (double)INFINITY;
    }
    return 0;
}

/* The mask of x's size and of type bool. */
static aot_tensor *input_mask(const masked *m)
{
    aot_tensor *mask = m->mask;
    if (!aot_dims_eq(aot_sizes(mask), aot_sizes(m->x))) {
        mask = AOT(m->t, aten_clone, mask);
        mask = AOT(m->t, aten_broadcast_to, mask, aot_sizes(m->x));
    }
    return aot_dtype_of(mask) == AOT_B8 ? mask : AOT(m->t, aten_ne_Scalar, mask, 0);
}

/* x without what is masked out. */
static aot_tensor *combined(const masked *m, const char *op)
{
    if (m->mask == NULL) {
        return m->x;
    }
    aot_tensor *mask = input_mask(m);
    aot_dtype d = is(op, "median") && !aot_is_float(m->x) ? AOT_F32 : x_dtype(m);
    aot_tensor *fill = aot_l_constant(m->t, aot_v_float(identity(m, op)), d, aot_device_of(m->x));
    return AOT(m->t, aten_where_self, mask, m->x, fill);
}

static aot_value as_dtype(const masked *m, aot_tensor *x)
{
    return AOT_V(m->t, aten_to_dtype, x, m->dtype);
}

/* masked sum; integers are summed as int64, unless another dtype is wanted */
static aot_tensor *sum(const masked *m)
{
    bool wanted =
        aot_l_given(m->k, UINT32_MAX, "dtype") || m->dtype.u.dim.value != (int64_t)x_dtype(m);
    char kind = aot_dtype_get(x_dtype(m))->kind;
    bool widened = !wanted && (kind == 'i' || kind == 'u' || kind == 'b');
    aot_tensor *x = combined(m, "sum");
    return AOT(m->t, aten_sum_dim_IntList, x, m->dims, m->keep,
               widened ? aot_v_dtype(AOT_I64) : m->dtype);
}

static aot_tensor *prod(const masked *m)
{
    aot_tensor *x = combined(m, "prod");
    x = as_dtype(m, x).u.t;
    for (unsigned i = m->dims.n; i-- > 0;) {
        x = AOT(m->t, aten_prod_dim_int, x, m->dims.u.items[i], m->keep);
    }
    return x;
}

/* How many elements there are for each result. */
static aot_tensor *count(const masked *m)
{
    if (m->mask != NULL) {
        aot_value dim = m->dim.kind == AOT_V_INT ? aot_v_list(m->t, 1, &m->dim) : m->dim;
        return AOT(m->t, aten_sum_dim_IntList, input_mask(m), dim, m->keep);
    }
    masked c = *m;
    c.x = AOT(m->t, aten_ones, aot_sizes(m->x), aot_v_dtype(AOT_I64), AOT_NONE,
              aot_v_device(aot_device_of(m->x)), false);
    c.dtype = aot_v_dtype(AOT_I64);
    return sum(&c);
}

/* The dtype asked for, or the input's; real if that is complex. */
static aot_value real_dtype(const masked *m)
{
    aot_dtype d =
        m->dtype.kind == AOT_V_DTYPE ? (aot_dtype)m->dtype.u.dim.value : aot_dtype_of(m->x);
    return aot_v_dtype(aot_dtype_real(d));
}

/* std, var: the mean of squares around the mean */
static aot_value variance(masked *m)
{
    const aot_value *unbiased = aot_l_arg(m->k, 2, "unbiased");
    double correction =
        unbiased != NULL && unbiased->kind == AOT_V_BOOL ? (double)unbiased->u.dim.value : 1;
    correction = aot_l_float(m->k, UINT32_MAX, "correction", correction);
    aot_value keep = m->keep;
    if (!aot_is_float(m->x) && !aot_is_complex(m->x) && !aot_l_given(m->k, UINT32_MAX, "dtype")) {
        m->dtype = aot_v_dtype(AOT_F32);
    }
    m->keep = aot_v_bool(true);
    m->mask = m->mask != NULL ? input_mask(m) : NULL; /* made once */
    aot_tensor *n = count(m), *total = sum(m);
    aot_tensor *mean = AOT(m->t, aten_divide_Tensor, total, n);
    aot_tensor *x = AOT(m->t, aten_subtract_Tensor, m->x, mean);
    aot_tensor *conj = AOT(m->t, aten_conj, x);
    masked squares = *m;
    squares.x = AOT(m->t, aten_mul_Tensor, x, conj);
    squares.keep = keep;
    total = sum(&squares);
    n = keep.u.dim.value == 0 ? AOT(m->t, aten_reshape, n, aot_sizes(total)) : n;
    if (correction != 0) {
        n = AOT(m->t, aten_to_dtype, n, real_dtype(m));
        n = AOT(m->t, aten_subtract_Tensor, n, correction);
        aot_tensor *zero = AOT(m->t, aten_new_zeros, n, aot_v_list(m->t, 0, NULL), AOT_NONE,
                               AOT_NONE, AOT_NONE, false);
        n = AOT(m->t, aten_maximum, n, zero);
    }
    x = AOT(m->t, aten_divide_Tensor, total, n);
    x = as_dtype(m, x).u.t;
    return aot_v_tensor(is(m->name, "std") ? AOT(m->t, aten_sqrt, x) : x);
}

/* sum, prod, amax, amin, argmax, argmin, mean, std, var, logsumexp, median (x, dim, ...) */
aot_value lower_masked_reduce(const aot_pycall *k)
{
    masked m = read(k, 1, aot_l_need_tensor(k, 0, "input"));
    aot_tracer *t = k->t;
    if (is(m.name, "sum")) {
        return aot_v_tensor(sum(&m));
    }
    if (is(m.name, "prod")) {
        return aot_v_tensor(prod(&m));
    }
    if (is(m.name, "mean")) {
        m.mask = m.mask != NULL ? input_mask(&m) : NULL;
        aot_tensor *n = count(&m), *total = sum(&m);
        return AOT_V(t, aten_div_Tensor, total, n);
    }
    if (is(m.name, "std var")) {
        return variance(&m);
    }
    aot_tensor *x = combined(&m, m.name);
    if (is(m.name, "amax")) {
        return as_dtype(&m, AOT(t, aten_amax, x, m.dims, m.keep));
    }
    if (is(m.name, "amin")) {
        return as_dtype(&m, AOT(t, aten_amin, x, m.dims, m.keep));
    }
    if (is(m.name, "argmax")) {
        return as_dtype(&m, AOT(t, aten_argmax, x, m.dim, m.keep));
    }
    if (is(m.name, "argmin")) {
        return as_dtype(&m, AOT(t, aten_argmin, x, m.dim, m.keep));
    }
    return as_dtype(&m, AOT(t, aten_logsumexp, x, m.dims, m.keep));
}

/* median(x, dim): NaN is not seen */
aot_value lower_masked_median(const aot_pycall *k)
{
    masked m = read(k, 1, aot_l_need_tensor(k, 0, "input"));
    bool is_float = aot_is_float(m.x);
    m.x = is_float ? m.x : AOT(k->t, aten_to_dtype, m.x, aot_v_dtype(AOT_F32));
    aot_value dim = m.dim.kind == AOT_V_NONE
                        ? aot_v_int((int64_t)aot_wrap_dim(k->t, -1, aot_ndim(m.x)))
                        : m.dims.u.items[0];
    aot_tensor *x = combined(&m, "median");
    x = AOT(k->t, aten_nanmedian_dim, x, dim, m.keep);
    return is_float ? aot_v_tensor(x) : as_dtype(&m, x);
}

/* cumsum, cumprod (x, dim), softmax, log_softmax, softmin (x, dim) */
aot_value lower_masked_along(const aot_pycall *k)
{
    masked m = read(k, 1, aot_l_need_tensor(k, 0, "input"));
    aot_value dim = m.dims.n > 0 ? m.dims.u.items[0] : aot_v_int(0);
    if (is(m.name, "cumsum")) {
        return as_dtype(&m, AOT(k->t, aten_cumsum, combined(&m, "sum"), dim, m.dtype));
    }
    if (is(m.name, "cumprod")) {
        return as_dtype(&m, AOT(k->t, aten_cumprod, combined(&m, "prod"), dim, m.dtype));
    }
    aot_tensor *x = combined(&m, is(m.name, "softmin") ? "amin" : "amax");
    if (is(m.name, "softmin")) {
        x = AOT(k->t, aten_neg, x);
    }
    return is(m.name, "log_softmax") ? AOT_V(k->t, aten_log_softmax_int, x, dim, m.dtype)
                                     : AOT_V(k->t, aten_softmax_int, x, dim, m.dtype);
}

static aot_tensor *vector_norm(const masked *m, aot_value keep)
{
    const aot_value *ord = aot_l_arg(m->k, 1, "ord");
    aot_tensor *x = combined(m, "norm");
    return AOT(m->t, aten_linalg_vector_norm, x, ord != NULL ? *ord : aot_v_float(2), m->dims, keep,
               m->dtype);
}

/* norm(x, ord, dim) */
aot_value lower_masked_norm(const aot_pycall *k)
{
    masked m = read(k, 2, aot_l_need_tensor(k, 0, "input"));
    return aot_v_tensor(vector_norm(&m, m.keep));
}

/* normalize(x, ord, dim, eps) */
aot_value lower_masked_normalize(const aot_pycall *k)
{
    masked m = read(k, 2, aot_l_need_tensor(k, 0, "input"));
    aot_tensor *x = combined(&m, "sum");
    aot_tensor *n = vector_norm(&m, aot_v_bool(true));
    aot_tensor *least =
        AOT(k->t, aten_new_full, n, aot_v_list(k->t, 0, NULL),
            aot_l_float(k, UINT32_MAX, "eps", 1e-12), AOT_NONE, AOT_NONE, AOT_NONE, false);
    n = AOT(k->t, aten_maximum, n, least);
    return AOT_V(k->t, aten_divide_Tensor, x, n);
}

/* logaddexp(x, y, input_mask, other_mask) */
aot_value lower_masked_logaddexp(const aot_pycall *k)
{
    masked x = read(k, UINT32_MAX, aot_l_need_tensor(k, 0, "input"));
    masked y = read(k, UINT32_MAX, aot_l_need_tensor(k, 1, "other"));
    x.mask = aot_l_tensor(k, UINT32_MAX, "input_mask");
    y.mask = aot_l_tensor(k, UINT32_MAX, "other_mask");
    aot_tensor *a = combined(&x, "logaddexp");
    aot_tensor *b = combined(&y, "logaddexp");
    return as_dtype(&x, AOT(k->t, aten_logaddexp, a, b));
}
