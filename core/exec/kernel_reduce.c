/* Reductions. The reduced dimensions are moved behind the others and each result is made from one
 * row of numbers that lie behind each other. Sums of floats run in double: no worse than PyTorch's
 * cascade; those of f32 and half types where they lie, in the order of folds.h. Products are
 * rounded at each step, as PyTorch's are: they overflow where its do.
 *
 * Mirrors: aten/src/ATen/native/ReduceOps.cpp, cpu/ReduceOpsKernel.cpp. */
#include "exec/folds.h"
#include "exec/rows.h"

#include <math.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

/* Sizes alone. perm: the kept dimensions of x, then the others. */
static void shape_of(rows *r, const aot_array *x, uint32_t mask, bool keepdim, aot_dtype d,
                     unsigned *perm)
{
    unsigned n = 0;
    *r = (rows){.n = 1, .len = 1, .d = d, .class = aot_dtype_class(d)};
    for (unsigned i = 0; i < x->ndim; i++) {
        if ((mask >> i & 1) == 0) {
            perm[n++] = i;
            r->n *= x->size[i];
            r->size[r->ndim++] = x->size[i];
        } else if (keepdim) {
            r->size[r->ndim++] = 1;
        }
    }
    for (unsigned i = 0; i < x->ndim; i++) {
        if ((mask >> i & 1) != 0) {
            perm[n++] = i;
            r->len *= x->size[i];
        }
    }
}

void rows_of(aot_kern *k, rows *r, aot_array *x, uint32_t mask, bool keepdim, aot_dtype d)
{
    unsigned perm[AOT_ARRAY_MAX_NDIM];
    shape_of(r, x, mask, keepdim, d, perm);
    aot_array *flat = k_cast_contiguous(k, k_permute(k, x, perm), d);
    r->p = aot_array_data(flat);
    r->row_bytes = r->len * aot_array_item_bytes(flat);
    size_t each = r->class == AOT_CLASS_COMPLEX ? sizeof(aot_complex) : sizeof(double);
    r->buffer = k_mem(k, each * (size_t)(r->len + 1));
}

void *rows_get(rows *r, int64_t i)
{
    const char *p = r->p + i * r->row_bytes;
    int64_t bytes = aot_dtype_get(r->d)->bytes;
    if (r->class == AOT_CLASS_REAL) {
        aot_load_real(r->buffer, r->d, p, bytes, r->len);
    } else if (r->class == AOT_CLASS_INT) {
        aot_load_int(r->buffer, r->d, p, bytes, r->len);
    } else {
        aot_load_complex(r->buffer, r->d, p, bytes, r->len);
    }
    return r->buffer;
}

aot_array *rows_out(aot_kern *k, const rows *r, unsigned i, aot_dtype d)
{
    return k_out_empty(k, i, d, r->ndim, r->size);
}

void put_start(put *w, aot_array *x)
{
    *w = (put){.x = x, .p = aot_array_data(x), .bytes = aot_array_item_bytes(x)};
}

char *put_next(put *w)
{
    char *here = w->p;
    for (unsigned i = w->x->ndim; i-- > 0;) {
        if (++w->at[i] < w->x->size[i]) {
            w->p += w->x->stride[i] * w->bytes;
            break;
        }
        w->p -= (w->x->size[i] - 1) * w->x->stride[i] * w->bytes;
        w->at[i] = 0;
    }
    return here;
}

void put_real(put *w, double v)
{
    aot_store_real(&v, (aot_dtype)w->x->dtype, put_next(w), 0, 1);
}

void put_int(put *w, int64_t v)
{
    aot_store_int(&v, (aot_dtype)w->x->dtype, put_next(w), 0, 1);
}

void put_complex(put *w, aot_complex v)
{
    aot_store_complex(&v, (aot_dtype)w->x->dtype, put_next(w), 0, 1);
}

/* ---- sums, products, means ------------------------------------------------------------------- */

typedef enum fold { FOLD_SUM, FOLD_PROD, FOLD_MEAN, FOLD_NANSUM } fold;

static void fold_row(put *w, const rows *r, const void *row, fold f)
{
    if (r->class == AOT_CLASS_INT) {
        const int64_t *v = row;
        uint64_t s = f == FOLD_PROD;
        for (int64_t i = 0; i < r->len; i++) {
            s = f == FOLD_PROD ? s * (uint64_t)v[i] : s + (uint64_t)v[i];
        }
        put_int(w, (int64_t)s);
    } else if (r->class == AOT_CLASS_COMPLEX) {
        const aot_complex *v = row;
        aot_complex s = f == FOLD_PROD;
        for (int64_t i = 0; i < r->len; i++) {
            s = f == FOLD_PROD ? CMPLX(creal(s) * creal(v[i]) - cimag(s) * cimag(v[i]),
                                       creal(s) * cimag(v[i]) + cimag(s) * creal(v[i]))
                               : s + v[i];
        }
        put_complex(w, f == FOLD_MEAN ? s / (double)r->len : s);
    } else {
        const double *v = row;
        double s = f == FOLD_PROD;
        for (int64_t i = 0; i < r->len; i++) {
            s = f == FOLD_PROD                     ? aot_round_to(r->d, s * v[i])
                : f == FOLD_NANSUM && v[i] != v[i] ? s
                                                   : s + v[i];
        }
        put_real(w, f == FOLD_MEAN ? s / (double)r->len : s);
    }
}

/* One number for each row as result i. */
static void give_reals(aot_kern *k, const rows *r, unsigned i, const double *v, aot_dtype d)
{
    aot_array *out = rows_out(k, r, i, d);
    put w;
    if (aot_array_is_contiguous(out)) {
        aot_store_real(v, d, aot_array_data(out), aot_array_item_bytes(out), r->n);
    } else {
        put_start(&w, out);
        for (int64_t j = 0; j < r->n; j++) {
            put_real(&w, v[j]);
        }
    }
    k_give(k, out);
}

static void divide_all(double *v, int64_t n, double by)
{
    for (int64_t i = 0; i < n; i++) {
        v[i] /= by;
    }
}

/* Sums and means of what floats hold, without moving it. */
static void fold_floats(aot_kern *k, aot_array *x, uint32_t mask, bool keepdim, aot_dtype d,
                        bool mean)
{
    rows r;
    unsigned perm[AOT_ARRAY_MAX_NDIM];
    shape_of(&r, x, mask, keepdim, d, perm);
    double *sums = fold_over_f32(k, k_cast_contiguous(k, k_cast(k, x, d), AOT_F32), mask, NULL);
    if (mean) {
        divide_all(sums, r.n, (double)r.len);
    }
    give_reals(k, &r, 0, sums, d);
}

static void fold_over(aot_kern *k, fold f, uint32_t mask, bool keepdim, aot_dtype asked)
{
    aot_array *x = k_need(k, 0);
    rows r;
    put w;
    aot_dtype d = asked != AOT_NO_DTYPE ? asked
                  : aot_dtype_class((aot_dtype)x->dtype) == AOT_CLASS_INT && f != FOLD_MEAN
                      ? AOT_I64
                      : k_to_float((aot_dtype)x->dtype);
    if (aot_fits_float(d) && (f == FOLD_SUM || f == FOLD_MEAN)) {
        fold_floats(k, x, mask, keepdim, d, f == FOLD_MEAN);
        return;
    }
    rows_of(k, &r, x, mask, keepdim, d);
    aot_array *out = rows_out(k, &r, 0, d);
    put_start(&w, out);
    for (int64_t i = 0; i < r.n; i++) {
        fold_row(&w, &r, rows_get(&r, i), f);
    }
    k_give(k, out);
}

#define ALL UINT32_MAX
#define WHOLE(name, f)                                                                             \
    void name(aot_kern *k)                                                                         \
    {                                                                                              \
        fold_over(k, f, ALL, false, k_dtype(k, 1, AOT_NO_DTYPE));                                  \
    }
#define BY_DIMS(name, f)                                                                           \
    void name(aot_kern *k)                                                                         \
    {                                                                                              \
        fold_over(k, f, k_dims_mask(k, 1, k_need(k, 0)->ndim), k_bool(k, 2),                       \
                  k_dtype(k, 3, AOT_NO_DTYPE));                                                    \
    }
WHOLE(kern_sum, FOLD_SUM)
WHOLE(kern_prod, FOLD_PROD)
WHOLE(kern_mean, FOLD_MEAN)
BY_DIMS(kern_sum_dims, FOLD_SUM)
BY_DIMS(kern_nansum, FOLD_NANSUM)
BY_DIMS(kern_prod_dim, FOLD_PROD)
BY_DIMS(kern_mean_dims, FOLD_MEAN)

/* ---- truth ----------------------------------------------------------------------------------- */

static void truth(aot_kern *k, bool all, uint32_t mask, bool keepdim)
{
    aot_array *x = k_need(k, 0);
    rows r;
    put w;
    rows_of(k, &r, k_cast(k, x, AOT_B8), mask, keepdim, AOT_B8);
    aot_array *out = rows_out(k, &r, 0, x->dtype == AOT_U8 ? AOT_U8 : AOT_B8);
    put_start(&w, out);
    for (int64_t i = 0; i < r.n; i++) {
        const int64_t *v = rows_get(&r, i);
        bool s = all;
        for (int64_t j = 0; j < r.len; j++) {
            s = all ? s && v[j] != 0 : s || v[j] != 0;
        }
        put_int(&w, s);
    }
    k_give(k, out);
}

void kern_any(aot_kern *k)
{
    truth(k, false, ALL, false);
}

void kern_all(aot_kern *k)
{
    truth(k, true, ALL, false);
}

void kern_any_dims(aot_kern *k)
{
    truth(k, false, k_dims_mask(k, 1, k_need(k, 0)->ndim), k_bool(k, 2));
}

void kern_all_dims(aot_kern *k)
{
    truth(k, true, k_dims_mask(k, 1, k_need(k, 0)->ndim), k_bool(k, 2));
}

/* ---- extremes -------------------------------------------------------------------------------- */

/* The place of the extreme; NaN wins; the first of equal ones. */
static int64_t extreme(const rows *r, const void *row, bool max)
{
    int64_t best = 0;
    for (int64_t i = 1; i < r->len; i++) {
        bool better;
        if (r->class == AOT_CLASS_INT) {
            int64_t v = ((const int64_t *)row)[i], b = ((const int64_t *)row)[best];
            better = max ? v > b : v < b;
        } else {
            double v = ((const double *)row)[i], b = ((const double *)row)[best];
            better = b == b && (v != v || (max ? v > b : v < b));
        }
        best = better ? i : best;
    }
    return best;
}

static void extremes(aot_kern *k, bool max, uint32_t mask, bool keepdim, bool values, bool indices)
{
    aot_array *x = k_need(k, 0), *v = NULL, *at = NULL;
    rows r;
    put wv, wi;
    if (aot_array_kind(x) == 'c') {
        k_fail(k, AOT_E_UNSUPPORTED, "complex numbers have no order");
    }
    rows_of(k, &r, x, mask, keepdim, (aot_dtype)x->dtype);
    if (r.len == 0 && r.n > 0) {
        k_fail(k, AOT_E_SHAPE, "a dimension without elements has no extreme");
    }
    if (values) {
        v = rows_out(k, &r, 0, (aot_dtype)x->dtype);
        put_start(&wv, v);
    }
    if (indices) {
        at = rows_out(k, &r, values, AOT_I64);
        put_start(&wi, at);
    }
    for (int64_t i = 0; i < r.n; i++) {
        const char *row = r.p + i * r.row_bytes;
        int64_t best = r.d == AOT_F32
                           ? fold_extreme_f32((const float *)(const void *)row, r.len, max)
                           : extreme(&r, rows_get(&r, i), max);
        if (values) {
            memcpy(put_next(&wv), r.p + i * r.row_bytes + best * wv.bytes, (size_t)wv.bytes);
        }
        if (indices) {
            put_int(&wi, best);
        }
    }
    if (values) {
        k_give(k, v);
    }
    if (indices) {
        k_give(k, at);
    }
}

void kern_max(aot_kern *k)
{
    extremes(k, true, ALL, false, true, false);
}

void kern_min(aot_kern *k)
{
    extremes(k, false, ALL, false, true, false);
}

void kern_amax(aot_kern *k)
{
    extremes(k, true, k_dims_mask(k, 1, k_need(k, 0)->ndim), k_bool(k, 2), true, false);
}

void kern_amin(aot_kern *k)
{
    extremes(k, false, k_dims_mask(k, 1, k_need(k, 0)->ndim), k_bool(k, 2), true, false);
}

void kern_max_dim(aot_kern *k)
{
    extremes(k, true, k_dims_mask(k, 1, k_need(k, 0)->ndim), k_bool(k, 2), true, true);
}

void kern_min_dim(aot_kern *k)
{
    extremes(k, false, k_dims_mask(k, 1, k_need(k, 0)->ndim), k_bool(k, 2), true, true);
}

void kern_argmax(aot_kern *k)
{
    extremes(k, true, k_dims_mask(k, 1, k_need(k, 0)->ndim), k_bool(k, 2), false, true);
}

void kern_argmin(aot_kern *k)
{
    extremes(k, false, k_dims_mask(k, 1, k_need(k, 0)->ndim), k_bool(k, 2), false, true);
}

/* ---- variance -------------------------------------------------------------------------------- */

static void variance_of_floats(aot_kern *k, aot_array *x, bool root, bool with_mean)
{
    rows r;
    unsigned perm[AOT_ARRAY_MAX_NDIM];
    uint32_t mask = k_dims_mask(k, 1, x->ndim);
    aot_dtype d = (aot_dtype)x->dtype;
    const aot_array *flat = k_cast_contiguous(k, x, AOT_F32);
    shape_of(&r, x, mask, k_bool(k, 3), d, perm);
    double *mean = fold_over_f32(k, flat, mask, NULL), n = (double)r.len - k_real(k, 2, 1);
    divide_all(mean, r.n, (double)r.len);
    double *var = fold_over_f32(k, flat, mask, mean);
    divide_all(var, r.n, n > 0 ? n : 0);
    for (int64_t i = 0; i < r.n && root; i++) {
        var[i] = sqrt(var[i]);
    }
    give_reals(k, &r, 0, var, d);
    if (with_mean) {
        give_reals(k, &r, 1, mean, d);
    }
}

static void variance(aot_kern *k, bool root, bool with_mean)
{
    aot_array *x = k_need(k, 0), *mean = NULL;
    rows r;
    put w, wm;
    aot_dtype d = (aot_dtype)x->dtype;
    double correction = k_real(k, 2, 1);
    if (aot_fits_float(d)) {
        variance_of_floats(k, x, root, with_mean);
        return;
    }
    rows_of(k, &r, x, k_dims_mask(k, 1, x->ndim), k_bool(k, 3), d);
    aot_array *out = rows_out(k, &r, 0, k_real_of(d));
    put_start(&w, out);
    if (with_mean) {
        mean = rows_out(k, &r, 1, d);
        put_start(&wm, mean);
    }
    for (int64_t i = 0; i < r.n; i++) {
        const void *row = rows_get(&r, i);
        bool complex = r.class == AOT_CLASS_COMPLEX;
        aot_complex m = 0;
        double s = 0;
        for (int64_t j = 0; j < r.len; j++) {
            m += complex ? ((const aot_complex *)row)[j] : ((const double *)row)[j];
        }
        m /= (double)r.len;
        for (int64_t j = 0; j < r.len; j++) {
            aot_complex e =
                (complex ? ((const aot_complex *)row)[j] : ((const double *)row)[j]) - m;
            s += creal(e) * creal(e) + cimag(e) * cimag(e);
        }
        double n = (double)r.len - correction;
        s /= n > 0 ? n : 0;
        put_real(&w, root ? sqrt(s) : s);
        if (with_mean) {
            put_complex(&wm, m);
        }
    }
    k_give(k, out);
    if (with_mean) {
        k_give(k, mean);
    }
}

void kern_var(aot_kern *k)
{
    variance(k, false, false);
}

void kern_std(aot_kern *k)
{
    variance(k, true, false);
}

void kern_var_mean(aot_kern *k)
{
    variance(k, false, true);
}

void kern_std_mean(aot_kern *k)
{
    variance(k, true, true);
}
