/* Products of matrices and vectors made of mm, bmm, mv, dot.
 * Mirrors torch/_decomp/decompositions.py:matmul and aten/src/ATen/native/LinearAlgebra.cpp,
 * Linear.cpp. */
#include <string.h>

#include "trace/trace.h"
#include "trace/tracer.h"

static aot_dim mul(aot_tracer *t, aot_dim a, aot_dim b)
{
    return aot_trace_dim(t, '*', a, b);
}

static aot_dim product(aot_tracer *t, aot_dims d)
{
    aot_dim p = aot_dim_of(1);
    for (unsigned i = 0; i < d.n; i++) {
        p = mul(t, p, d.d[i]);
    }
    return p;
}

/* ---- matmul ---------------------------------------------------------------------------------- */

/* Whether the batch of the larger one becomes rows of one matrix product. */
static bool should_fold(aot_tracer *t, const aot_tensor *a, const aot_tensor *b)
{
    const aot_tensor *big = aot_ndim(a) >= aot_ndim(b) ? a : b, *small = big == a ? b : a;
    if (aot_ndim(big) < 3 || aot_ndim(small) > 2) {
        return false;
    }
    // a view made without gradients still says what its base says
    const aot_tensor *base = aot_trace_view_base(small);
    if (aot_requires_grad(small) || (base != NULL && aot_requires_grad(base))) {
        return true;
    }
    if (aot_ndim(a) == 2) {
        return false;
    }
    return aot_numel(t, big).value == 0 || aot_is_contiguous(big);
}

static aot_tensor *fold(aot_tracer *t, aot_tensor *a, aot_tensor *b)
{
    bool transpose = aot_ndim(b) > aot_ndim(a);
    aot_tensor *big = transpose ? AOT(t, aten_mT, b) : a;
    aot_tensor *small = !transpose ? b : aot_ndim(a) == 2 ? AOT(t, aten_t, a) : a;
    unsigned n = aot_ndim(big) - 1;
    aot_dim out[AOT_FAKE_MAX_NDIM], flat[2];
    for (unsigned i = 0; i < n; i++) {
        out[i] = aot_size(big, i);
    }
    flat[0] = product(t, (aot_dims){out, n});
    flat[1] = aot_size(big, -1);
    aot_tensor *rows = AOT(t, aten_reshape, big, ((aot_dims){flat, 2}));
    if (aot_ndim(small) != 2) {
        rows = AOT(t, aten_mv, rows, small);
        return AOT(t, aten__unsafe_view, rows, ((aot_dims){out, n}));
    }
    out[n++] = aot_size(small, 1);
    rows = AOT(t, aten_mm, rows, small);
    rows = AOT(t, aten__unsafe_view, rows, ((aot_dims){out, n}));
    if (transpose) {
        rows = AOT(t, aten_mT, rows);
        rows = AOT(t, aten_contiguous, rows);
    }
    return rows;
}

/* Sizes of two batches broadcast; the result goes to out. */
static unsigned broadcast(aot_dims a, aot_dims b, aot_dim *out)
{
    unsigned n = a.n > b.n ? a.n : b.n;
    for (unsigned i = 0; i < n; i++) {
        aot_dim x = i + a.n >= n ? a.d[i + a.n - n] : aot_dim_of(1);
        aot_dim y = i + b.n >= n ? b.d[i + b.n - n] : aot_dim_of(1);
        out[i] = aot_dim_is(x, 1) ? y : x;
    }
    return n;
}

static aot_dims batch_of(const aot_tensor *x)
{
    aot_dims d = aot_sizes(x);
    d.n = d.n > 2 ? d.n - 2 : 0;
    return d;
}

/* Batches expanded to each other and flattened to one: bmm. */
static aot_tensor *batched(aot_tracer *t, aot_tensor *a, aot_tensor *b)
{
    bool vector = aot_ndim(b) == 1;
    aot_dim n = aot_ndim(a) > 1 ? aot_size(a, -2) : aot_dim_of(1), m1 = aot_size(a, -1);
    aot_dim m2 = vector ? aot_size(b, -1) : aot_size(b, -2), p = aot_size(b, -1);
    aot_dim batch[AOT_FAKE_MAX_NDIM], size[AOT_FAKE_MAX_NDIM + 2];
    unsigned k = broadcast(batch_of(a), batch_of(b), batch);
    aot_dim flat[3] = {product(t, (aot_dims){batch, k}), n, m1};
    memcpy(size, batch, k * sizeof *size);
    size[k] = n;
    size[k + 1] = m1;
    aot_tensor *x = AOT(t, aten_expand, a, ((aot_dims){size, k + 2}));
    x = AOT(t, aten_reshape, x, ((aot_dims){flat, 3}));
    size[k] = flat[1] = m2;
    size[k + 1] = flat[2] = p;
    unsigned n_right = vector ? 1 : 2;
    aot_tensor *y = AOT(t, aten_expand, b, ((aot_dims){size, k + n_right}));
    y = AOT(t, aten_reshape, y, ((aot_dims){flat, 1 + n_right}));
    y = vector ? AOT(t, aten_unsqueeze, y, 2) : y;
    aot_tensor *out = AOT(t, aten_bmm, x, y);
    out = vector ? AOT(t, aten_squeeze_dim, out, -1) : out;
    if (aot_ndim(a) > 1) {
        batch[k++] = n;
    }
    if (!vector) {
        batch[k++] = p;
    }
    return AOT(t, aten_view, out, ((aot_dims){batch, k}));
}

static aot_tensor *matmul(aot_tracer *t, aot_tensor *a, aot_tensor *b)
{
    unsigned n = aot_ndim(a), m = aot_ndim(b);
    if (n == 0 || m == 0) {
        aot_trace_fail(t, AOT_E_SHAPE, "both arguments to matmul need to be at least 1D");
    }
    if (n == 1 && m == 1) {
        return AOT(t, aten_dot, a, b);
    }
    if (n == 2 && m == 1) {
        return AOT(t, aten_mv, a, b);
    }
    if (n == 1 && m == 2) {
        aot_tensor *row = AOT(t, aten_unsqueeze, a, 0);
        row = AOT(t, aten_mm, row, b);
        return AOT(t, aten_squeeze_dim, row, 0);
    }
    if (n == 2 && m == 2) {
        return AOT(t, aten_mm, a, b);
    }
    if (should_fold(t, a, b)) {
        return fold(t, a, b);
    }
    if (n == 3 && m == 3 && !aot_dim_eq(aot_size(a, 0), aot_size(b, 0))) {
        if (aot_dim_is(aot_size(a, 0), 1) && aot_requires_grad(a)) {
            return matmul(t, AOT(t, aten_squeeze_dim, a, 0), b);
        }
        if (aot_dim_is(aot_size(b, 0), 1) && aot_requires_grad(b)) {
            return matmul(t, a, AOT(t, aten_squeeze_dim, b, 0));
        }
    }
    return batched(t, a, b);
}

bool composite_matmul(aot_expand *k)
{
    return aot_x_give(k, matmul(k->t, aot_x_tensor(k, 0), aot_x_tensor(k, 1)));
}

/* ---- outer, inner, tensordot, kron ----------------------------------------------------------- */

bool composite_outer(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dim column[2] = {aot_size(x, 0), aot_dim_of(1)};
    x = AOT(k->t, aten_reshape, x, ((aot_dims){column, 2}));
    return aot_x_give(k, AOT(k->t, aten_mul_Tensor, x, aot_x_tensor(k, 1)));
}

bool composite_inner(aot_expand *k)
{
    aot_tensor *a = aot_x_tensor(k, 0), *b = aot_x_tensor(k, 1);
    int64_t last = -1;
    if (aot_ndim(a) == 0 || aot_ndim(b) == 0) {
        return aot_x_give(k, AOT(k->t, aten_mul_Tensor, a, b));
    }
    aot_value dims = aot_v_ints(k->t, 1, &last);
    return aot_x_give(k, AOT(k->t, aten_tensordot, a, b, dims, dims));
}

typedef struct contraction {
    int64_t order[AOT_FAKE_MAX_NDIM]; /* permutation, dims as they were given */
    aot_dim kept[AOT_FAKE_MAX_NDIM];
    unsigned n, n_kept;
} contraction;

/* Contracted dimensions last (or first), the others in order. */
static contraction contract(aot_tracer *t, const aot_tensor *x, aot_dims dims, bool last)
{
    contraction c = {0};
    uint32_t mask = 0;
    for (unsigned i = 0; i < dims.n; i++) {
        mask |= 1u << aot_wrap_dim(t, dims.d[i].value, aot_ndim(x));
        if (!last) {
            c.order[c.n++] = dims.d[i].value;
        }
    }
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        if ((mask >> i & 1) == 0) {
            c.order[c.n++] = i;
            c.kept[c.n_kept++] = aot_size(x, i);
        }
    }
    for (unsigned i = 0; last && i < dims.n; i++) {
        c.order[c.n++] = dims.d[i].value;
    }
    return c;
}

bool composite_tensordot(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a = aot_x_tensor(k, 0), *b = aot_x_tensor(k, 1), *a0 = a, *b0 = b;
    aot_dims da = aot_x_dims(k, 2), db = aot_x_dims(k, 3);
    aot_dim csize = aot_dim_of(1), sizes[2 * AOT_FAKE_MAX_NDIM];
    if (da.n != db.n || da.n > aot_ndim(a) || db.n > aot_ndim(b)) {
        aot_trace_fail(t, AOT_E_SHAPE, "tensordot: %u and %u dimensions to contract", da.n, db.n);
    }
    for (unsigned i = 0; i < da.n; i++) {
        aot_dim sa = aot_size(a0, da.d[i].value), sb = aot_size(b0, db.d[i].value);
        if (aot_dim_is(sb, 1)) {
            a = AOT(t, aten_sum_dim_IntList, a, aot_v_list(t, 1, (aot_value[]){aot_v_dim(da.d[i])}),
                    true, aot_v_dtype(aot_dtype_of(a)));
        } else if (aot_dim_is(sa, 1)) {
            b = AOT(t, aten_sum_dim_IntList, b, aot_v_list(t, 1, (aot_value[]){aot_v_dim(db.d[i])}),
                    true, aot_v_dtype(aot_dtype_of(b)));
        } else {
            csize = mul(t, csize, sa);
        }
    }
    contraction ca = contract(t, a0, da, true), cb = contract(t, b0, db, false);
    memcpy(sizes, ca.kept, ca.n_kept * sizeof *sizes);
    memcpy(sizes + ca.n_kept, cb.kept, cb.n_kept * sizeof *sizes);
    aot_dims out = {sizes, ca.n_kept + cb.n_kept};
    a = AOT(t, aten_permute, a, aot_v_ints(t, ca.n, ca.order));
    if (out.n == 0) { /* all contracted: a dot product */
        b = AOT(t, aten_permute, b, aot_v_ints(t, cb.n, cb.order));
        b = cb.n > 1 ? AOT(t, aten_reshape, b, ((aot_dims){&csize, 1})) : b;
        a = ca.n > 1 ? AOT(t, aten_reshape, a, ((aot_dims){&csize, 1})) : a;
        a = AOT(t, aten_dot, a, b);
        return aot_x_give(k, AOT(t, aten_reshape, a, out));
    }
    aot_dim rows[2] = {product(t, (aot_dims){ca.kept, ca.n_kept}), csize};
    aot_dim columns[2] = {csize, product(t, (aot_dims){cb.kept, cb.n_kept})};
    a = AOT(t, aten_reshape, a, ((aot_dims){rows, 2}));
    b = AOT(t, aten_permute, b, aot_v_ints(t, cb.n, cb.order));
    b = AOT(t, aten_reshape, b, ((aot_dims){columns, 2}));
    a = AOT(t, aten_mm, a, b);
    return aot_x_give(k, AOT(t, aten_reshape, a, out));
}

bool composite_kron(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a = aot_x_tensor(k, 0), *b = aot_x_tensor(k, 1);
    unsigned n = aot_ndim(a) > aot_ndim(b) ? aot_ndim(a) : aot_ndim(b);
    unsigned lead_a = n - aot_ndim(a), lead_b = n - aot_ndim(b);
    aot_dim sa[2 * AOT_FAKE_MAX_NDIM], sb[2 * AOT_FAKE_MAX_NDIM], out[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        sa[2 * i] = i >= lead_a ? aot_size(a, i - lead_a) : aot_dim_of(1);
        sb[2 * i + 1] = i >= lead_b ? aot_size(b, i - lead_b) : aot_dim_of(1);
        sa[2 * i + 1] = sb[2 * i] = aot_dim_of(1);
        out[i] = mul(t, sa[2 * i], sb[2 * i + 1]);
    }
    a = AOT(t, aten__unsafe_view, a, ((aot_dims){sa, 2 * n}));
    b = AOT(t, aten__unsafe_view, b, ((aot_dims){sb, 2 * n}));
    a = AOT(t, aten_mul_Tensor, a, b);
    return aot_x_give(k, AOT(t, aten__unsafe_view, a, ((aot_dims){out, n})));
}

/* linalg_vecdot(x, y, dim) */
bool composite_vecdot(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1);
    if (aot_ndim(x) == 1 && aot_ndim(y) == 1) {
        return aot_x_give(k, AOT(k->t, aten_vdot, x, y));
    }
    x = AOT(k->t, aten_conj, x);
    x = AOT(k->t, aten_mul_Tensor, x, y);
    return aot_x_give(k, AOT(k->t, aten_sum_dim_IntList, x, aot_v_list(k->t, 1, &k->args[2])));
}

/* cross(self, other, dim): without dim the first one of size 3 */
bool composite_cross(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    int64_t dim = aot_x_int(k, 2, -1);
    for (unsigned i = 0; aot_x_is_none(k, 2) && i < aot_ndim(x); i++) {
        if (aot_dim_is(aot_size(x, i), 3)) {
            dim = i;
            break;
        }
    }
    return aot_x_give(k, AOT(k->t, aten_linalg_cross, x, aot_x_tensor(k, 1), dim));
}

/* ---- distances ------------------------------------------------------------------------------- */

bool composite_pdist(aot_expand *k)
{
    aot_tensor *x = AOT(k->t, aten_contiguous, aot_x_tensor(k, 0));
    return aot_x_give(k, AOT(k->t, aten__pdist_forward, x, k->args[1]));
}

static aot_tensor *expand_to_batch(aot_tracer *t, aot_tensor *x, const aot_dim *batch, unsigned n)
{
    aot_dim size[AOT_FAKE_MAX_NDIM + 2], flat[3];
    memcpy(size, batch, n * sizeof *size);
    size[n] = flat[1] = aot_size(x, -2);
    size[n + 1] = flat[2] = aot_size(x, -1);
    flat[0] = product(t, (aot_dims){batch, n});
    x = AOT(t, aten_expand, x, ((aot_dims){size, n + 2}));
    x = AOT(t, aten_contiguous, x);
    return AOT(t, aten_view, x, ((aot_dims){flat, 3}));
}

/* cdist(x1, x2, p, compute_mode): by matrix products if there are many rows and p is 2 */
bool composite_cdist(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a = aot_x_tensor(k, 0), *b = aot_x_tensor(k, 1);
    aot_dim r1 = aot_size(a, -2), r2 = aot_size(b, -2), batch[AOT_FAKE_MAX_NDIM + 2];
    int64_t mode = aot_x_int(k, 3, 0);
    bool empty = aot_numel(t, a).value == 0 || aot_numel(t, b).value == 0;
    bool products = mode == 1 || (mode == 0 && (r1.value > 25 || r2.value > 25));
    if (empty || aot_x_float(k, 2, 2) != 2 || !products) {
        return aot_x_give(k, AOT(t, aten__cdist_forward, a, b, k->args[2], k->args[3]));
    }
    unsigned n = broadcast(batch_of(a), batch_of(b), batch);
    aot_tensor *x = expand_to_batch(t, a, batch, n), *y = expand_to_batch(t, b, batch, n);
    bool single = product(t, (aot_dims){batch, n}).value == 1;
    x = single ? AOT(t, aten__euclidean_dist, a, b) : AOT(t, aten__euclidean_dist, x, y);
    batch[n] = r1;
    batch[n + 1] = r2;
    return aot_x_give(k, AOT(t, aten_view, x, ((aot_dims){batch, n + 2})));
}

/* ---- chains ---------------------------------------------------------------------------------- */

enum { MAX_CHAIN = 64 };

/* The cheapest brackets, as in Cormen et al.: at[i][j] splits the product i .. j. */
static void chain_order(aot_tensor *const *x, unsigned n, uint8_t at[MAX_CHAIN][MAX_CHAIN])
{
    static const double infinite = 1e300;
    double cost[MAX_CHAIN][MAX_CHAIN];
    double p[MAX_CHAIN + 1];
    for (unsigned i = 0; i < n; i++) {
        p[i] = (double)aot_size(x[i], 0).value;
        cost[i][i] = 0;
    }
    p[n] = (double)aot_size(x[n - 1], 1).value;
    for (unsigned len = 1; len < n; len++) {
        for (unsigned i = 0; i + len < n; i++) {
            unsigned j = i + len;
            cost[i][j] = infinite;
            for (unsigned s = i; s < j; s++) {
                double q = cost[i][s] + cost[s + 1][j] + p[i] * p[s + 1] * p[j + 1];
                if (q < cost[i][j]) {
                    cost[i][j] = q;
                    at[i][j] = (uint8_t)s;
                }
            }
        }
    }
}

static aot_tensor *chain(aot_tracer *t, aot_tensor *const *x, uint8_t at[MAX_CHAIN][MAX_CHAIN],
                         unsigned i, unsigned j)
{
    if (i == j) {
        return x[i];
    }
    aot_tensor *right = chain(t, x, at, at[i][j] + 1u, j), *left = chain(t, x, at, i, at[i][j]);
    return AOT(t, aten_mm, left, right);
}

static aot_tensor *three(aot_tracer *t, aot_tensor *const *x)
{
    int64_t a = aot_size(x[0], 0).value, b = aot_size(x[1], 0).value;
    int64_t c = aot_size(x[2], 0).value, d = aot_size(x[2], 1).value;
    if (a * c * (b + d) > b * d * (a + c)) {
        aot_tensor *right = AOT(t, aten_mm, x[1], x[2]);
        return AOT(t, aten_mm, x[0], right);
    }
    aot_tensor *left = AOT(t, aten_mm, x[0], x[1]);
    return AOT(t, aten_mm, left, x[2]);
}

/* linalg_multi_dot, chain_matmul: the order of least cost; vectors at the ends are rows, columns */
bool composite_multi_dot(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *const *in, *x[MAX_CHAIN];
    unsigned n = aot_x_tensors(k, 0, &in), n_out = 0;
    uint8_t at[MAX_CHAIN][MAX_CHAIN];
    aot_dim out[2];
    if (n == 1 && k->op == AOT_OP_aten_chain_matmul) {
        return aot_x_give(k, in[0]);
    }
    if (n < 2 || n > MAX_CHAIN) {
        aot_trace_fail(t, AOT_E_SHAPE, "%s of %u matrices", aot_op(k->op)->name, n);
    }
    memcpy(x, in, n * sizeof *x);
    if (aot_ndim(x[0]) == 1) {
        x[0] = AOT(t, aten_unsqueeze, x[0], 0);
    } else {
        out[n_out++] = aot_size(x[0], 0);
    }
    if (aot_ndim(x[n - 1]) == 1) {
        x[n - 1] = AOT(t, aten_unsqueeze, x[n - 1], -1);
    } else {
        out[n_out++] = aot_size(x[n - 1], 1);
    }
    aot_tensor *y;
    if (n == 2) {
        y = AOT(t, aten_mm, x[0], x[1]);
    } else if (n == 3) {
        y = three(t, x);
    } else {
        chain_order(x, n, at);
        y = chain(t, x, at, 0, n - 1);
    }
    return aot_x_give(k, AOT(t, aten_view, y, ((aot_dims){out, n_out})));
}
