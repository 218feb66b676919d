/* Fourier transforms on CPU. The transformed dimensions are innermost in memory, in the order of
 * the operand's strides; the others keep theirs. A transform of real values is contiguous.
 *
 * Mirrors: torch/_meta_registrations.py:_exec_fft, meta_fft_c2c, meta_fft_r2c, meta_fft_c2r. */
#include "rules/meta_shared.h"

typedef struct dims {
    unsigned n, d[AOT_FAKE_MAX_NDIM];
} dims;

static dims read_dims(const aot_call *k, const aot_fake *t)
{
    dims out = {0};
    unsigned n = aot_call_n_items(k, 1, "dim");
    for (unsigned i = 0; i < n && out.n < AOT_FAKE_MAX_NDIM; i++) {
        unsigned d = aot_fake_dim(t, aot_call_item(k, 1, "dim", i, 0).value);
        if (d < t->ndim) {
            out.d[out.n++] = d;
        }
    }
    return out;
}

/* Insertion sort by stride, stable. */
static void sort_by_stride(const aot_fake *t, unsigned *d, unsigned n, bool descending)
{
    for (unsigned i = 1; i < n; i++) {
        unsigned x = d[i], j = i;
        int64_t s = t->stride[x].value;
        for (; j > 0; j--) {
            int64_t before = t->stride[d[j - 1]].value;
            if (descending ? before >= s : before <= s) {
                break;
            }
            d[j] = d[j - 1];
        }
        d[j] = x;
    }
}

/* Gives t (its sizes are the result's) the strides of a transform over `over` of `in`. */
static void set_fft_strides(const aot_call *k, aot_fake *t, const aot_fake *in, const dims *over)
{
    uint32_t mask = 0;
    unsigned order[AOT_FAKE_MAX_NDIM], n = 0; /* from the outermost */
    for (unsigned i = 0; i < over->n; i++) {
        mask |= 1u << over->d[i];
    }
    for (unsigned i = 0; i < t->ndim; i++) {
        if (!(mask >> i & 1)) {
            order[n++] = i;
        }
    }
    sort_by_stride(in, order, n, true);
    for (unsigned i = 0; i < t->ndim; i++) {
        if (mask >> i & 1) {
            order[n++] = i;
        }
    }
    aot_dim step = aot_dim_of(1);
    for (unsigned i = n; i-- > 0;) {
        t->stride[order[i]] = step;
        step = aot_dim_mul(k->c, step, t->size[order[i]]);
    }
}

/* _fft_c2c(self, dim, normalization, forward) */
aot_status meta_fft_c2c(aot_call *k)
{
    aot_fake t, out;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    dims over = read_dims(k, &t);
    out = t;
    if (over.n == 0) {
        aot_fake_set_like(k->c, &out, &t);
    } else {
        set_fft_strides(k, &out, &t, &over);
    }
    aot_call_push(k, &out);
    return AOT_OK;
}

static aot_dtype complex_of(aot_dtype d)
{
    return d == AOT_F64 ? AOT_C128 : d == AOT_F16 ? AOT_C32 : AOT_C64;
}

/* _fft_r2c(self, dim, normalization, onesided) */
aot_status meta_fft_r2c(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    dims over = read_dims(k, &t);
    if (over.n > 0 && aot_call_bool(k, 3, "onesided", true)) {
        aot_dim *n = &t.size[over.d[over.n - 1]];
        *n = aot_dim_add(k->c, aot_dim_floordiv(k->c, *n, aot_dim_of(2)), aot_dim_of(1));
    }
    aot_push_contiguous(k, &t, complex_of(t.dtype));
    return AOT_OK;
}

/* _fft_c2r(self, dim, normalization, last_dim_size): complex over all but the last dimension, then
 * back to real values over that one. */
aot_status meta_fft_c2r(aot_call *k)
{
    aot_fake t, out;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    dims over = read_dims(k, &t);
    if (over.n == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "_fft_c2r: no dimension to transform");
    }
    dims last = {1, {over.d[over.n - 1]}};
    if (over.n > 1) {
        aot_fake in = t;
        over.n--;
        set_fft_strides(k, &t, &in, &over);
    }
    out = t;
    out.dtype = (uint8_t)aot_dtype_real(t.dtype);
    out.size[last.d[0]] = aot_call_int(k, 3, "last_dim_size", 1);
    set_fft_strides(k, &out, &t, &last);
    aot_call_push(k, &out);
    return AOT_OK;
}
