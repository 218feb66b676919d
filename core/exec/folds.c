/* Reductions of contiguous floats. */
#include "exec/folds.h"

#include <math.h>
#include <string.h>

#include "exec/vector.h"

static double lanes_sum(const double *s)
{
    double sum = 0;
    for (int i = 0; i < FOLD_LANES; i++) {
        sum += s[i];
    }
    return sum;
}

AOT_CLONES double fold_sum_f32(const float *x, int64_t n)
{
    double s[FOLD_LANES] = {0};
    int64_t i = 0;
    for (; i + FOLD_LANES <= n; i += FOLD_LANES) {
        for (int l = 0; l < FOLD_LANES; l++) {
            s[l] += (double)x[i + l];
        }
    }
    for (int l = 0; i < n; i++, l++) {
        s[l] += (double)x[i];
    }
    return lanes_sum(s);
}

AOT_CLONES double fold_square_f32(const float *x, double mean, int64_t n)
{
    double s[FOLD_LANES] = {0};
    int64_t i = 0;
    for (; i + FOLD_LANES <= n; i += FOLD_LANES) {
        for (int l = 0; l < FOLD_LANES; l++) {
            double d = (double)x[i + l] - mean;
            s[l] += d * d;
        }
    }
    for (int l = 0; i < n; i++, l++) {
        double d = (double)x[i] - mean;
        s[l] += d * d;
    }
    return lanes_sum(s);
}

double fold_sum_f64(const double *x, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        s += x[i];
    }
    return s;
}

double fold_square_f64(const double *x, double mean, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        s += (x[i] - mean) * (x[i] - mean);
    }
    return s;
}

AOT_CLONES float fold_max_f32(const float *x, int64_t n)
{
    float m[2 * FOLD_LANES], best = -INFINITY;
    int64_t i = 0;
    for (int l = 0; l < 2 * FOLD_LANES; l++) {
        m[l] = -INFINITY;
    }
    for (; i + 2 * FOLD_LANES <= n; i += 2 * FOLD_LANES) {
        for (int l = 0; l < 2 * FOLD_LANES; l++) {
            m[l] = x[i + l] > m[l] ? x[i + l] : m[l];
        }
    }
    for (; i < n; i++) {
        best = x[i] > best ? x[i] : best;
    }
    for (int l = 0; l < 2 * FOLD_LANES; l++) {
        best = m[l] > best ? m[l] : best;
    }
    return best;
}

double fold_max_f64(const double *x, int64_t n)
{
    double best = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        best = x[i] > best ? x[i] : best;
    }
    return best;
}

AOT_CLONES static float min_f32(const float *x, int64_t n)
{
    float m[2 * FOLD_LANES], best = INFINITY;
    int64_t i = 0;
    for (int l = 0; l < 2 * FOLD_LANES; l++) {
        m[l] = INFINITY;
    }
    for (; i + 2 * FOLD_LANES <= n; i += 2 * FOLD_LANES) {
        for (int l = 0; l < 2 * FOLD_LANES; l++) {
            m[l] = x[i + l] < m[l] ? x[i + l] : m[l];
        }
    }
    for (; i < n; i++) {
        best = x[i] < best ? x[i] : best;
    }
    for (int l = 0; l < 2 * FOLD_LANES; l++) {
        best = m[l] < best ? m[l] : best;
    }
    return best;
}

AOT_CLONES static bool has_nan(const float *x, int64_t n)
{
    int32_t nans = 0;
    for (int64_t i = 0; i < n; i++) {
        nans |= x[i] != x[i];
    }
    return nans != 0;
}

int64_t fold_extreme_f32(const float *x, int64_t n, bool max)
{
    int64_t i = 0;
    if (has_nan(x, n)) {
        while (x[i] == x[i]) {
            i++;
        }
        return i;
    }
    float best = max ? fold_max_f32(x, n) : min_f32(x, n);
    while (i + 1 < n && x[i] != best) {
        i++;
    }
    return i;
}

/* ---- over dimensions ------------------------------------------------------------------------- */

AOT_CLONES static void add_row(double *acc, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        acc[i] += (double)x[i];
    }
}

AOT_CLONES static void add_square_row(double *acc, const float *x, const double *mean, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double d = (double)x[i] - mean[i];
        acc[i] += d * d;
    }
}

/* Neighbours that are both reduced or both kept become one. stride: in the result; 0 where
 * reduced. */
typedef struct groups {
    unsigned n;
    int64_t size[AOT_ARRAY_MAX_NDIM + 1], stride[AOT_ARRAY_MAX_NDIM + 1], results;
} groups;

static groups groups_of(const aot_array *x, uint32_t mask)
{
    groups g = {.results = 1};
    bool kept[AOT_ARRAY_MAX_NDIM + 1];
    for (unsigned i = 0; i < x->ndim; i++) {
        bool keep = (mask >> i & 1) == 0;
        if (x->size[i] == 1) {
            continue;
        }
        if (g.n > 0 && kept[g.n - 1] == keep) {
            g.size[g.n - 1] *= x->size[i];
            continue;
        }
        kept[g.n] = keep;
        g.size[g.n++] = x->size[i];
    }
    if (g.n == 0) { // a single element
        kept[0] = false;
        g.size[g.n++] = 1;
    }
    for (unsigned i = g.n; i-- > 0;) {
        g.stride[i] = kept[i] ? g.results : 0;
        g.results *= kept[i] ? g.size[i] : 1;
    }
    return g;
}

static void fold_run(double *acc, const float *x, const double *mean, bool kept, int64_t n)
{
    if (kept && mean == NULL) {
        add_row(acc, x, n);
    } else if (kept) {
        add_square_row(acc, x, mean, n);
    } else {
        *acc += mean == NULL ? fold_sum_f32(x, n) : fold_square_f32(x, *mean, n);
    }
}

double *fold_over_f32(aot_kern *k, const aot_array *x, uint32_t mask, const double *mean)
{
    groups g = groups_of(x, mask);
    int64_t at[AOT_ARRAY_MAX_NDIM + 1] = {0}, runs = 1, to = 0;
    double *acc = k_mem(k, (size_t)(g.results + 1) * sizeof *acc);
    const float *p = (const float *)(const void *)aot_array_data(x);
    unsigned last = g.n - 1;
    for (unsigned i = 0; i < last; i++) {
        runs *= g.size[i];
    }
    for (int64_t r = 0; r < runs && g.size[last] > 0; r++, p += g.size[last]) {
        fold_run(acc + to, p, mean == NULL ? NULL : mean + to, g.stride[last] != 0, g.size[last]);
        for (unsigned i = last; i-- > 0;) {
            to += g.stride[i];
            if (++at[i] < g.size[i]) {
                break;
            }
            to -= g.stride[i] * g.size[i];
            at[i] = 0;
        }
    }
    return acc;
}
