/* Reductions of segments, hashes, histograms with edges, products of three.
 *
 * Mirrors: aten/src/ATen/native/SegmentReduce.cpp, ReduceOps.cpp (hash_tensor), Histogram.cpp,
 * Linear.cpp. */
#include <inttypes.h>
#include <math.h>

#include "exec/reals.h"
#include "exec/rows.h"

/* ---- segments: data [outer, n, inner], segments [outer, segments] ---------------------------- */

typedef struct segments {
    aot_array *data;
    int64_t outer, n, inner, count;
    const int64_t *given;  /* lengths, or offsets: one more */
    bool by_offset;
    char how;              /* s u m, m e a n, m a x, m i n, p r o d: 's' 'a' 'x' 'n' 'p' */
} segments;

static segments segments_of(aot_kern *k, unsigned data, unsigned reduce, unsigned lengths,
                            unsigned offsets, unsigned axis)
{
    segments s = {.data = k_need(k, data),
                  .outer = 1,
                  .n = 1,
                  .inner = 1,
                  .by_offset = k_is_none(k, lengths)};
    aot_array *given = k_in(k, s.by_offset ? offsets : lengths);
    unsigned at = k_dim(k, axis, s.data->ndim);
    s.how = k_str_is(k, reduce, "sum")    ? 's'
            : k_str_is(k, reduce, "mean") ? 'a'
            : k_str_is(k, reduce, "max")  ? 'x'
            : k_str_is(k, reduce, "min")  ? 'n'
            : k_str_is(k, reduce, "prod") ? 'p'
                                          : 0;
    need_reals(k, s.data);
    if (given == NULL || s.how == 0 || given->ndim != at + 1 || s.data->ndim == 0) {
        k_fail(k, AOT_E_UNSUPPORTED,
               "segments need lengths or offsets up to the axis, and a reduction of five");
    }
    for (unsigned i = 0; i < s.data->ndim; i++) {
        *(i < at ? &s.outer : i == at ? &s.n : &s.inner) *= s.data->size[i];
    }
    s.count = given->size[at] - s.by_offset;
    s.given = ints_of(k, given);
    if (s.count < 0 || aot_array_numel(given) != s.outer * (s.count + s.by_offset)) {
        k_fail(k, AOT_E_SHAPE, "segments do not fit the data");
    }
    return s;
}

/* Where segment i of row o begins and ends; checked. */
static void segment_at(aot_kern *k, const segments *s, int64_t o, int64_t i, int64_t *from,
                       int64_t *to)
{
    const int64_t *g = s->given + o * (s->count + s->by_offset);
    *from = s->by_offset ? g[i] : i == 0 ? 0 : *to;
    *to = s->by_offset ? g[i + 1] : *from + g[i];
    if (*from < 0 || *to < *from || *to > s->n) {
        k_fail(k, AOT_E_RANGE,
               "segment %" PRId64 " from %" PRId64 " to %" PRId64 " of %" PRId64 " elements", i,
               *from, *to, s->n);
    }
}

static double start_of(aot_kern *k, const segments *s, unsigned initial)
{
    double usual = s->how == 'x' ? -INFINITY : s->how == 'n' ? INFINITY : s->how == 'p';
    return k_real(k, initial, usual);
}

static double reduced(const segments *s, const double *v, int64_t n, double start, bool has_start)
{
    double r = start;
    for (int64_t j = 0; j < n; j++, v += s->inner) {
        r = s->how == 'p'   ? r * *v
            : s->how == 'x' ? (*v != *v || *v > r ? *v : r)
            : s->how == 'n' ? (*v != *v || *v < r ? *v : r)
                            : r + *v;
    }
    return s->how != 'a' ? r : n > 0 ? r / (double)n : has_start ? r : NAN;
}

/* data, reduce, lengths, indices, offsets, axis, unsafe, initial */
void kern_segment_reduce(aot_kern *k)
{
    segments s = segments_of(k, 0, 1, 2, 4, 5);
    unsigned axis = k_dim(k, 5, s.data->ndim);
    int64_t size[AOT_ARRAY_MAX_NDIM], from = 0, to = 0;
    memcpy(size, s.data->size, sizeof size);
    size[axis] = s.count;
    aot_array *out = k_new(k, AOT_F64, s.data->ndim, size);
    const double *v = reals_of(k, s.data);
    double start = start_of(k, &s, 7), *r = reals_data(out);
    for (int64_t i = 0; i < s.outer * s.count; i++) {
        segment_at(k, &s, i / s.count, i % s.count, &from, &to);
        for (int64_t c = 0; c < s.inner; c++) {
            r[i * s.inner + c] = reduced(&s, v + (i / s.count * s.n + from) * s.inner + c,
                                         to - from, start, !k_is_none(k, 7));
        }
    }
    k_give_as(k, 0, out, (aot_dtype)s.data->dtype);
}

/* v and d: first element of the segment, `inner` apart; result and grad: of the segment. */
static void segment_gradient(const segments *s, const double *v, double *d, int64_t n,
                             double result, double grad, double start)
{
    int64_t ties = 0;
    for (int64_t j = 0; j < n; j++) {
        double x = v[j * s->inner];
        bool chosen = x != x || x == result;
        double others = start;
        for (int64_t l = 0; l < n && s->how == 'p' && (x != x || x == 0); l++) {
            others *= l == j ? 1 : v[l * s->inner];
        }
        ties += chosen;
        d[j * s->inner] = s->how == 's'   ? grad
                          : s->how == 'a' ? grad / (double)n
                          : s->how == 'p' ? (x != x || x == 0 ? grad * others : grad * result / x)
                                          : (chosen ? grad : 0);
    }
    // negative ones PyTorch shares not
    bool shares = ties > 1 && grad > 0 && (s->how == 'x' || s->how == 'n');
    for (int64_t j = 0; j < n && shares; j++) {
        d[j * s->inner] /= (double)ties;
    }
}

/* grad, output, data, reduce, lengths, offsets, axis, initial */
void kern_segment_reduce_backward(aot_kern *k)
{
    segments s = segments_of(k, 2, 3, 4, 5, 6);
    const double *g = reals_of(k, k_need(k, 0)), *r = reals_of(k, k_need(k, 1)),
                 *v = reals_of(k, s.data);
    aot_array *out = k_new(k, AOT_F64, s.data->ndim, s.data->size);
    double start = s.how == 'p' ? k_real(k, 7, 1) : 1;
    int64_t from = 0, to = 0, n = s.outer * s.count * s.inner;
    if (aot_array_numel(k_need(k, 0)) != n || aot_array_numel(k_need(k, 1)) != n) {
        k_fail(k, AOT_E_SHAPE, "gradient and output are not of the segments");
    }
    for (int64_t i = 0; i < s.outer * s.count; i++) {
        segment_at(k, &s, i / s.count, i % s.count, &from, &to);
        for (int64_t c = 0; c < s.inner; c++) {
            int64_t at = (i / s.count * s.n + from) * s.inner + c, of = i * s.inner + c;
            segment_gradient(&s, v + at, reals_data(out) + at, to - from, r[of], g[of], start);
        }
    }
    k_give_as(k, 0, out, (aot_dtype)s.data->dtype);
}

/* ---- hashes: exclusive or of the 64 bits of each element, floats as f64 ---------------------- */

void kern_hash_tensor(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    bool real = aot_array_kind(x) == 'f';
    rows r;
    put w;
    need_reals(k, x);
    if (k_int(k, 3, 0) != 0) {
        k_fail(k, AOT_E_UNSUPPORTED, "mode %" PRId64 " is not known; 0 is the exclusive or",
               k_int(k, 3, 0));
    }
    rows_of(k, &r, x, k_dims_mask(k, 1, x->ndim), k_bool(k, 2),
            real ? AOT_F64 : (aot_dtype)x->dtype);
    aot_array *out = rows_out(k, &r, 0, AOT_U64);
    put_start(&w, out);
    for (int64_t i = 0; i < r.n; i++) {
        const int64_t *v = rows_get(&r, i); // 64 bits of a double or of an integer
        uint64_t h = 0, bits;
        for (int64_t j = 0; j < r.len; j++) {
            memcpy(&bits, v + j, sizeof bits);
            h ^= bits;
        }
        put_int(&w, (int64_t)h);
    }
    k_give(k, out);
}

/* ---- i1 [..] i2 [..] i3 [..], each with ones put in, multiplied and summed ------------------- */

void kern_trilinear(aot_kern *k)
{
    aot_array *p = NULL;
    for (unsigned i = 0; i < 3; i++) {
        unsigned n;
        const int64_t *at = k_ints(k, 3 + i, &n);
        aot_array *x = k_need(k, i);
        for (unsigned j = 0; j < n; j++) {
            x = K2(k, aten_unsqueeze, x, at[j]);
        }
        p = p == NULL ? x : K2(k, aten_mul_Tensor, p, x);
    }
    unsigned n;
    k_ints(k, 6, &n);
    aot_array *sum = n == 0 ? p
                            : k_call(k, AOT_OP_aten_sum_dim_IntList, 2,
                                     (const aot_xval[]){aot_xv_array(p), *k_arg(k, 6)});
    k_give_as(k, 0, sum, (aot_dtype)sum->dtype);
}

/* ---- histograms ------------------------------------------------------------------------------ */

/* bins + 1 edges from low to high, as torch.linspace computes them: from both ends, in the
 * dtype. */
static void even_edges(aot_dtype d, double *e, int64_t bins, double low, double high)
{
    double step = aot_round_to(d, (high - low) / (double)bins);
    for (int64_t i = 0; i <= bins; i++) {
        e[i] = aot_round_to(d, i < (bins + 1) / 2 ? low + step * (double)i
                                                  : high - step * (double)(bins - i));
    }
}

/* Column c of x [n, dims]: the range asked for, that of the data, or around a lone value. */
static void range_of(aot_kern *k, unsigned pos, const double *x, int64_t n, int64_t dims, int64_t c,
                     double *low, double *high)
{
    const aot_xval *range = k_arg(k, pos);
    *low = 0;
    *high = n == 0;
    if (range->kind == AOT_X_LIST && range->n >= 2 * (uint32_t)dims) {
        const aot_xval *v = range->u.items + 2 * c;
        *low = v[0].kind == AOT_X_REAL ? v[0].u.f : (double)v[0].u.i;
        *high = v[1].kind == AOT_X_REAL ? v[1].u.f : (double)v[1].u.i;
    } else {
        for (int64_t i = 0; i < n; i++) {
            double v = x[i * dims + c];
            *low = i == 0 || v < *low ? v : *low;
            *high = i == 0 || v > *high ? v : *high;
        }
    }
    if (!isfinite(*low) || !isfinite(*high) || *low > *high) {
        k_fail(k, AOT_E_RANGE, "a histogram from %g to %g", *low, *high);
    }
    if (*low == *high) {
        *low -= 0.5;
        *high += 0.5;
    }
}

/* The bin of v; the last one has its upper edge; -1: outside. */
static int64_t bin_of(const double *e, int64_t bins, double v)
{
    if (!(v >= e[0] && v <= e[bins])) {
        return -1;
    }
    int64_t lo = 0, hi = bins + 1; // the first edge above v lies in (lo, hi]
    while (lo + 1 < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        *(e[mid] <= v ? &lo : &hi) = mid;
    }
    return lo == bins ? bins - 1 : lo;
}

typedef struct grid {
    int64_t n, dims;
    const int64_t *bins;
    double **edges;
} grid;

/* Counts or weights of the bins, by volume if density. */
static aot_array *counted(aot_kern *k, const grid *g, const double *x, const double *weight,
                          bool density)
{
    aot_array *out = k_new(k, AOT_F64, (unsigned)g->dims, g->bins);
    double *h = reals_data(out), sum = 0;
    for (int64_t i = 0; i < g->n; i++) {
        int64_t at = 0;
        for (int64_t c = 0; c < g->dims && at >= 0; c++) {
            int64_t b = bin_of(g->edges[c], g->bins[c], x[i * g->dims + c]);
            at = b < 0 ? -1 : at * g->bins[c] + b;
        }
        if (at >= 0) {
            h[at] += weight != NULL ? weight[i] : 1;
        }
    }
    int64_t total = aot_array_numel(out);
    for (int64_t i = 0; i < total; i++) {
        sum += h[i];
    }
    for (int64_t i = 0; i < total && density; i++) {
        double volume = sum;
        for (int64_t c = g->dims, rest = i; c-- > 0; rest /= g->bins[c]) {
            int64_t b = rest % g->bins[c];
            volume *= g->edges[c][b + 1] - g->edges[c][b];
        }
        h[i] /= volume;
    }
    return out;
}

static const double *weights_at(aot_kern *k, unsigned pos, int64_t n)
{
    aot_array *w = k_in(k, pos);
    if (w != NULL && aot_array_numel(w) != n) {
        k_fail(k, AOT_E_SHAPE, "%" PRId64 " weights of %" PRId64 " points", aot_array_numel(w), n);
    }
    return w == NULL ? NULL : reals_of(k, w);
}

static void check_bins(aot_kern *k, int64_t bins)
{
    if (bins < 1 || bins > INT32_MAX) {
        k_fail(k, AOT_E_RANGE, "a histogram of %" PRId64 " bins", bins);
    }
}

static double *edges_for(aot_kern *k, unsigned range_pos, aot_dtype d, const double *x, grid *g,
                         int64_t c)
{
    double low, high, *e;
    check_bins(k, g->bins[c]);
    e = k_mem(k, (size_t)(g->bins[c] + 1) * sizeof *e);
    range_of(k, range_pos, x, g->n, g->dims, c, &low, &high);
    even_edges(d, e, g->bins[c], aot_round_to(d, low), aot_round_to(d, high));
    return e;
}

static void give_edges(aot_kern *k, unsigned i, const double *e, int64_t bins, aot_dtype d)
{
    int64_t n = bins + 1;
    aot_array *x = k_out(k, i, d, 1, &n);
    aot_store_real(e, d, aot_array_data(x), aot_array_item_bytes(x), n);
    k_give(k, x);
}

/* self, bins, range, weight, density */
void kern_histogram(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    int64_t bins = k_int(k, 1, 100);
    grid g = {aot_array_numel(x), 1, &bins, &(double *){NULL}};
    const double *v = reals_of(k, x);
    *g.edges = edges_for(k, 2, (aot_dtype)x->dtype, v, &g, 0);
    k_give_as(k, 0, counted(k, &g, v, weights_at(k, 3, g.n), k_bool(k, 4)), (aot_dtype)x->dtype);
    give_edges(k, 1, *g.edges, bins, (aot_dtype)x->dtype);
}

/* self, bins (edges), weight, density */
void kern_histogram_edges(aot_kern *k)
{
    aot_array *x = k_need(k, 0), *e = k_need(k, 1);
    int64_t bins = aot_array_numel(e) - 1;
    double *edges = reals_of(k, e);
    grid g = {aot_array_numel(x), 1, &bins, &edges};
    check_bins(k, bins);
    k_give_as(k, 0, counted(k, &g, reals_of(k, x), weights_at(k, 2, g.n), k_bool(k, 3)),
              (aot_dtype)x->dtype);
    give_edges(k, 1, edges, bins, (aot_dtype)x->dtype);
}

/* The points of x [.., dims] and its bins at argument 1. */
static grid grid_of(aot_kern *k, aot_array *x)
{
    unsigned n;
    grid g = {.bins = k_ints(k, 1, &n)};
    g.dims = n;
    if (x->ndim < 2 || x->size[x->ndim - 1] != n || n == 0 || n > AOT_ARRAY_MAX_NDIM) {
        k_fail(k, AOT_E_SHAPE, "%u numbers of bins for points of %" PRId64 " dimensions", n,
               x->ndim == 0 ? 0 : x->size[x->ndim - 1]);
    }
    g.n = aot_array_numel(x) / n;
    g.edges = k_mem(k, n * sizeof *g.edges);
    const double *v = reals_of(k, x);
    for (unsigned c = 0; c < n; c++) {
        g.edges[c] = edges_for(k, 2, (aot_dtype)x->dtype, v, &g, c);
    }
    return g;
}

void kern_histogramdd_edges(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    grid g = grid_of(k, x);
    for (unsigned c = 0; c < g.dims; c++) {
        give_edges(k, c, g.edges[c], g.bins[c], (aot_dtype)x->dtype);
    }
    k_give_list(k);
}

void kern_histogramdd_counts(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    grid g = grid_of(k, x);
    k_give_as(k, 0, counted(k, &g, reals_of(k, x), weights_at(k, 3, g.n), k_bool(k, 4)),
              (aot_dtype)x->dtype);
}

/* self, bins (edges of each dimension), weight, density */
void kern_histogramdd_at_edges(aot_kern *k)
{
    aot_array *x = k_need(k, 0), **e;
    unsigned n = k_list(k, 1, &e);
    int64_t *bins = k_mem(k, (n + 1) * sizeof *bins);
    grid g = {.dims = n, .bins = bins, .edges = k_mem(k, (n + 1) * sizeof *g.edges)};
    if (x->ndim < 2 || x->size[x->ndim - 1] != n || n == 0) {
        k_fail(k, AOT_E_SHAPE, "%u lists of edges for points of %" PRId64 " dimensions", n,
               x->ndim == 0 ? 0 : x->size[x->ndim - 1]);
    }
    g.n = aot_array_numel(x) / n;
    for (unsigned c = 0; c < n; c++) {
        bins[c] = aot_array_numel(e[c]) - 1;
        check_bins(k, bins[c]);
        g.edges[c] = reals_of(k, e[c]);
    }
    k_give_as(k, 0, counted(k, &g, reals_of(k, x), weights_at(k, 2, g.n), k_bool(k, 3)),
              (aot_dtype)x->dtype);
}
