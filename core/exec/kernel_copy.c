/* New tensors, copies and conversions, joining.
 *
 * Mirrors: aten/src/ATen/native/TensorFactories.cpp, TensorConversions.cpp, TensorShape.cpp. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "exec/kernel.h"

/* ---- constructors: sizes at `size`, dtype at `dtype` ----------------------------------------- */

static aot_array *made(aot_kern *k, unsigned size_pos, aot_dtype d)
{
    unsigned n;
    const int64_t *size = k_ints(k, size_pos, &n);
    return k_out(k, 0, d, n, size);
}

static void give_filled(aot_kern *k, aot_array *x, double v)
{
    aot_array_fill(x, v);
    k_give(k, x);
}

void kern_zeros(aot_kern *k)
{
    k_give(k, made(k, 0, k_dtype(k, 1, AOT_F32)));
}

void kern_ones(aot_kern *k)
{
    give_filled(k, made(k, 0, k_dtype(k, 1, AOT_F32)), 1);
}

/* A number of any kind into each element. */
static void fill_with(aot_kern *k, aot_array *x, unsigned pos)
{
    aot_array_assign(x, k_cast(k, k_need(k, pos), (aot_dtype)x->dtype));
}

static aot_dtype dtype_of_number(const aot_xval *v)
{
    return v->kind == AOT_X_COMPLEX ? AOT_C64
           : v->kind == AOT_X_REAL  ? AOT_F32
           : v->kind == AOT_X_INT   ? AOT_I64
                                    : AOT_B8;
}

void kern_full(aot_kern *k)
{
    aot_array *x = made(k, 0, k_dtype(k, 2, dtype_of_number(k_arg(k, 1))));
    fill_with(k, x, 1);
    k_give(k, x);
}

void kern_scalar_tensor(aot_kern *k)
{
    aot_array *x = k_new(k, k_dtype(k, 1, AOT_F32), 0, NULL);
    fill_with(k, x, 0);
    k_give(k, x);
}

static aot_array *strided(aot_kern *k, aot_dtype d, unsigned n, const int64_t *size,
                          unsigned n_strides, const int64_t *stride)
{
    if (n != n_strides) {
        k_fail(k, AOT_E_SHAPE, "%u sizes and %u strides", n, n_strides);
    }
    return k_new_strided(k, d, n, size, stride);
}

void kern_empty_strided(aot_kern *k)
{
    unsigned n, m;
    const int64_t *size = k_ints(k, 0, &n), *stride = k_ints(k, 1, &m);
    k_give(k, strided(k, k_dtype(k, 2, AOT_F32), n, size, m, stride));
}

void kern_new_empty_strided(aot_kern *k)
{
    unsigned n, m;
    const int64_t *size = k_ints(k, 1, &n), *stride = k_ints(k, 2, &m);
    k_give(k, strided(k, k_dtype(k, 3, (aot_dtype)k_need(k, 0)->dtype), n, size, m, stride));
}

void kern_new_zeros(aot_kern *k)
{
    k_give(k, made(k, 1, k_dtype(k, 2, (aot_dtype)k_need(k, 0)->dtype)));
}

void kern_new_ones(aot_kern *k)
{
    give_filled(k, made(k, 1, k_dtype(k, 2, (aot_dtype)k_need(k, 0)->dtype)), 1);
}

void kern_new_full(aot_kern *k)
{
    aot_array *x = made(k, 1, k_dtype(k, 3, (aot_dtype)k_need(k, 0)->dtype));
    fill_with(k, x, 2);
    k_give(k, x);
}

void kern_zeros_like(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    k_give(k, k_like(k, k_dtype(k, 1, (aot_dtype)x->dtype), x));
}

void kern_ones_like(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    give_filled(k, k_like(k, k_dtype(k, 1, (aot_dtype)x->dtype), x), 1);
}

void kern_full_like(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *out = k_like(k, k_dtype(k, 2, (aot_dtype)x->dtype), x);
    fill_with(k, out, 1);
    k_give(k, out);
}

void kern_fill(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *out = k_like(k, (aot_dtype)x->dtype, x);
    fill_with(k, out, 1);
    k_give(k, out);
}

static void ramp(aot_kern *k, const aot_xval *start, const aot_xval *end, const aot_xval *step,
                 aot_dtype d)
{
    bool ints = start->kind == AOT_X_INT && end->kind == AOT_X_INT && step->kind == AOT_X_INT;
    double a = start->kind == AOT_X_REAL ? start->u.f : (double)start->u.i;
    double b = end->kind == AOT_X_REAL ? end->u.f : (double)end->u.i;
    double s = step->kind == AOT_X_REAL ? step->u.f : (double)step->u.i;
    d = d != AOT_NO_DTYPE ? d : ints ? AOT_I64 : AOT_F32;
    if (s == 0 || (b - a) / s < 0) {
        k_fail(k, AOT_E_RANGE, "from %g to %g in steps of %g", a, b, s);
    }
    int64_t n = (int64_t)ceil((b - a) / s);
    aot_array *x = k_out(k, 0, d, 1, &n);
    char *p = aot_array_data(x);
    for (int64_t i = 0; i < n; i++) {
        int64_t v = ints ? start->u.i + i * step->u.i : 0;
        double f = a + (double)i * s;
        if (ints) {
            aot_store_int(&v, d, p + i * aot_array_item_bytes(x), 0, 1);
        } else {
            aot_store_real(&f, d, p + i * aot_array_item_bytes(x), 0, 1);
        }
    }
    k_give(k, x);
}

void kern_arange(aot_kern *k)
{
    aot_xval zero = aot_xv_int(0), one = aot_xv_int(1);
    ramp(k, &zero, k_arg(k, 0), &one, k_dtype(k, 1, AOT_NO_DTYPE));
}

void kern_arange_start(aot_kern *k)
{
    aot_xval one = aot_xv_int(1);
    ramp(k, k_arg(k, 0), k_arg(k, 1), &one, k_dtype(k, 2, AOT_NO_DTYPE));
}

void kern_arange_start_step(aot_kern *k)
{
    ramp(k, k_arg(k, 0), k_arg(k, 1), k_arg(k, 2), k_dtype(k, 3, AOT_NO_DTYPE));
}

/* ---- copies ---------------------------------------------------------------------------------- */

void kern_to_copy(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *out = k_like(k, k_dtype(k, 1, (aot_dtype)x->dtype), x);
    aot_array_assign(out, x);
    k_give(k, out);
}

void kern_clone(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *out = k_like(k, (aot_dtype)x->dtype, x);
    aot_array_assign(out, x);
    k_give(k, out);
}

void kern_copy(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *src = k_need(k, 1), *out = k_like(k, (aot_dtype)x->dtype, x);
    aot_array_assign(out, k_expand(k, src, x->ndim, x->size));
    k_give(k, out);
}

void kern_copy_(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *src = k_expand(k, k_need(k, 1), x->ndim, x->size);
    if (src->storage == x->storage) { // they may overlap
        aot_array *copy = k_new(k, (aot_dtype)src->dtype, src->ndim, src->size);
        aot_array_assign(copy, src);
        src = copy;
    }
    aot_array_assign(x, src);
    k_give(k, x);
}

/* ---- joining and padding --------------------------------------------------------------------- */

static bool counts(const aot_array *x) /* an empty 1-dim tensor joins anything */
{
    return x->ndim != 1 || x->size[0] != 0;
}

void kern_cat(aot_kern *k)
{
    aot_array **in, *like = NULL;
    aot_fake types[64];
    unsigned n = k_list(k, 0, &in), n_types = 0;
    int64_t size[AOT_ARRAY_MAX_NDIM], at = 0;
    for (unsigned i = 0; i < n; i++) {
        like = like == NULL && counts(in[i]) ? in[i] : like;
        if (n_types < 64) {
            types[n_types].val = AOT_VAL_TENSOR;
            types[n_types].dtype = in[i]->dtype;
            types[n_types++].ndim = in[i]->ndim;
        }
    }
    aot_dtype d = aot_mixed_dtype(types, n_types, AOT_NO_DTYPE, AOT_PROMOTE_DEFAULT);
    if (like == NULL) {
        k_give(k, k_out(k, 0, d, 1, &at));
        return;
    }
    if (like->ndim == 0) {
        k_fail(k, AOT_E_SHAPE, "tensors without dimensions are not put behind each other");
    }
    unsigned dim = k_dim(k, 1, like->ndim);
    memcpy(size, like->size, sizeof size);
    for (unsigned i = 0; i < n; i++) {
        if (counts(in[i])) {
            size[dim] = in[i]->size[dim];
            k_shape_is(k, in[i], like->ndim, size);
            at += size[dim];
        }
    }
    size[dim] = at;
    at = 0;
    aot_array *out = k_out(k, 0, d, like->ndim, size);
    for (unsigned i = 0; i < n; i++) {
        if (counts(in[i])) {
            aot_array *part = k_own(k, aot_array_view(out, d, out->ndim, out->size, out->stride,
                                                      out->offset + at * out->stride[dim]));
            part->size[dim] = in[i]->size[dim];
            aot_array_assign(part, in[i]);
            at += in[i]->size[dim];
        }
    }
    k_give(k, out);
}

/* Negative padding cuts. */
void kern_constant_pad_nd(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    unsigned n;
    const int64_t *pad = k_ints(k, 1, &n);
    int64_t size[AOT_ARRAY_MAX_NDIM];
    aot_array from = *x;
    memcpy(size, x->size, sizeof size);
    int64_t skip[AOT_ARRAY_MAX_NDIM] = {0};
    for (unsigned i = 0; i < n / 2 && i < x->ndim; i++) {
        unsigned d = x->ndim - 1u - i;
        int64_t lo = pad[2 * i], hi = pad[2 * i + 1];
        size[d] += lo + hi;
        skip[d] = lo > 0 ? lo : 0;
        from.offset += lo < 0 ? -lo * x->stride[d] : 0;
        from.size[d] += (lo < 0 ? lo : 0) + (hi < 0 ? hi : 0);
    }
    aot_array *out = k_out(k, 0, (aot_dtype)x->dtype, x->ndim, size), to = *out;
    fill_with(k, out, 2);
    for (unsigned d = 0; d < x->ndim; d++) {
        to.offset += skip[d] * out->stride[d];
        to.size[d] = from.size[d];
    }
    aot_array_assign(&to, &from);
    k_give(k, out);
}

void kern_flip(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *out = k_like(k, (aot_dtype)x->dtype, x), from = *x;
    unsigned n;
    const int64_t *dims = k_ints(k, 1, &n);
    for (unsigned i = 0; i < n && aot_array_numel(x) > 0; i++) {
        unsigned d = k_wrap(k, dims[i], x->ndim);
        if (x->ndim > 0) {
            from.offset += (x->size[d] - 1) * x->stride[d];
            from.stride[d] = -x->stride[d];
        }
    }
    aot_array_assign(out, &from);
    k_give(k, out);
}

void kern_repeat(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    unsigned n;
    const int64_t *times = k_ints(k, 1, &n);
    int64_t size[AOT_ARRAY_MAX_NDIM], step[2 * AOT_ARRAY_MAX_NDIM];
    if (n < x->ndim || n > AOT_ARRAY_MAX_NDIM) {
        k_fail(k, AOT_E_SHAPE, "%u repeats of a tensor with %u dimensions", n, x->ndim);
    }
    unsigned shift = n - x->ndim;
    for (unsigned i = 0; i < n; i++) {
        size[i] = times[i] * (i < shift ? 1 : x->size[i - shift]);
    }
    aot_array *out = k_out(k, 0, (aot_dtype)x->dtype, n, size);
    memset(step, 0, sizeof step);
    bool none = aot_array_numel(out) == 0;
    for (bool more = !none; more;) {
        aot_array to = *out;
        for (unsigned i = 0; i < n; i++) {
            to.size[i] = i < shift ? 1 : x->size[i - shift];
            to.offset += step[i] * to.size[i] * out->stride[i];
        }
        aot_array_assign(&to, x);
        more = false;
        for (unsigned i = n; i-- > 0 && !more;) {
            more = ++step[i] < times[i];
            step[i] = more ? step[i] : 0;
        }
    }
    k_give(k, out);
}

/* ---- triangles ------------------------------------------------------------------------------- */

static void triangle(aot_kern *k, bool upper)
{
    aot_array *x = k_need(k, 0), *out = k_like(k, (aot_dtype)x->dtype, x);
    int64_t diagonal = k_int(k, 1, 0);
    if (x->ndim < 2) {
        k_fail(k, AOT_E_SHAPE, "a tensor with %u dimensions has no triangle", x->ndim);
    }
    unsigned r = x->ndim - 2u, c = r + 1;
    for (int64_t i = 0; i < x->size[r]; i++) {
        int64_t cut = i + diagonal + !upper;
        cut = cut < 0 ? 0 : cut > x->size[c] ? x->size[c] : cut;
        aot_array from = *x, to = *out;
        from.size[r] = to.size[r] = 1;
        from.offset += i * x->stride[r] + (upper ? cut * x->stride[c] : 0);
        to.offset += i * out->stride[r] + (upper ? cut * out->stride[c] : 0);
        from.size[c] = to.size[c] = upper ? x->size[c] - cut : cut;
        aot_array_assign(&to, &from);
    }
    k_give(k, out);
}

void kern_tril(aot_kern *k)
{
    triangle(k, false);
}

void kern_triu(aot_kern *k)
{
    triangle(k, true);
}

void kern_convert(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *out = k_like(k, k_dtype(k, 1, (aot_dtype)x->dtype), x);
    aot_array_assign(out, x);
    k_give(k, out);
}
