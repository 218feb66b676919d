/* Two passes over the elements as doubles, in blocks: the first finds range and mean, the second
 * fills the histogram between them. */
#include "exec/value_stats.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "exec/element.h"

enum { BLOCK = 512 };

/* n elements from p on as doubles; of complex ones the magnitude. */
static void load(double *out, aot_dtype d, const char *p, int64_t n)
{
    int64_t bytes = aot_dtype_get(d)->bytes;
    if (aot_dtype_class(d) != AOT_CLASS_COMPLEX) {
        aot_load_real(out, d, p, bytes, n);
        return;
    }
    aot_complex z[BLOCK];
    aot_load_complex(z, d, p, bytes, n);
    for (int64_t i = 0; i < n; i++) {
        out[i] = cabs(z[i]);
    }
}

static void measure(aot_value_stats *s, const double *v, int64_t from, int64_t n, double *sum)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) {
            s->n_nan += isnan(v[i]) != 0;
            s->n_inf += isinf(v[i]) != 0;
            s->first_bad = s->first_bad < 0 ? from + i : s->first_bad;
            continue;
        }
        s->n_zero += v[i] == 0;
        s->min = v[i] < s->min ? v[i] : s->min;
        s->max = v[i] > s->max ? v[i] : s->max;
        *sum += v[i];
    }
}

static void count(aot_value_stats *s, const double *v, int64_t n)
{
    double width = s->max - s->min;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(v[i])) {
            double at = width > 0 && isfinite(width) ? (v[i] - s->min) / width * AOT_STATS_BINS : 0;
            s->bins[at < AOT_STATS_BINS ? (int)at : AOT_STATS_BINS - 1]++;
        }
    }
}

static void take_first(aot_value_stats *s, const aot_array *c)
{
    int64_t bytes = aot_array_item_bytes(c);
    s->n_first = s->n < AOT_STATS_FIRST ? (unsigned)s->n : AOT_STATS_FIRST;
    for (unsigned i = 0; i < s->n_first; i++) {
        aot_complex z;
        aot_load_complex(&z, (aot_dtype)c->dtype, aot_array_data(c) + i * bytes, bytes, 1);
        s->first[i] = creal(z);
        s->first_imag[i] = cimag(z);
    }
}

void aot_value_stats_of(aot_value_stats *out, const aot_array *x)
{
    aot_dtype d = (aot_dtype)x->dtype;
    aot_array *c = aot_array_flat(x, d);
    int64_t bytes = aot_array_item_bytes(x);
    double v[BLOCK], sum = 0;
    *out = (aot_value_stats){.dtype = x->dtype,
                             .ndim = x->ndim,
                             .n = aot_array_numel(x),
                             .min = INFINITY,
                             .max = -INFINITY,
                             .first_bad = -1};
    memcpy(out->size, x->size, x->ndim * sizeof *x->size);
    for (int64_t i = 0; i < out->n; i += BLOCK) {
        int64_t n = out->n - i < BLOCK ? out->n - i : BLOCK;
        load(v, d, aot_array_data(c) + i * bytes, n);
        measure(out, v, i, n, &sum);
    }
    int64_t finite = out->n - out->n_nan - out->n_inf;
    if (finite == 0) {
        out->min = out->max = NAN;
    }
    out->mean = finite > 0 ? sum / (double)finite : NAN;
    for (int64_t i = 0; i < out->n && finite > 0; i += BLOCK) {
        int64_t n = out->n - i < BLOCK ? out->n - i : BLOCK;
        load(v, d, aot_array_data(c) + i * bytes, n);
        count(out, v, n);
    }
    take_first(out, c);
    out->hash = aot_hash64(aot_array_data(c), (size_t)(out->n * bytes));
    aot_array_unref(c);
}

void aot_value_compare(aot_value_diff *out, aot_dtype d, const char *was, const char *is, int64_t n)
{
    size_t bytes = (size_t)aot_dtype_get(d)->bytes;
    *out = (aot_value_diff){.of = n, .first = -1};
    for (int64_t i = 0; i < n; i++) {
        const char *a = was + (size_t)i * bytes, *b = is + (size_t)i * bytes;
        if (memcmp(a, b, bytes) == 0) {
            continue;
        }
        double x, y;
        load(&x, d, a, 1);
        load(&y, d, b, 1);
        if (isnan(x) && isnan(y)) {
            continue;
        }
        if (out->n++ == 0) {
            out->first = i;
            out->was = x;
            out->is = y;
        }
    }
}
