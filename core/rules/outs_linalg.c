/* Outputs of decompositions and solvers. A is [*, M, N]; batch dimensions are kept. */
#include "rules/outs.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a == AOT_HINT_NONE || b == AOT_HINT_NONE ? AOT_HINT_NONE : a < b ? a : b;
}

static aot_dtype real_of(aot_dtype d)
{
    return d == AOT_C128 ? AOT_F64 : d == AOT_C64 ? AOT_F32 : d;
}

static bool matrix(const aot_outs *o, unsigned pos, const char *name, aot_out_type *t, int64_t *m,
                   int64_t *n)
{
    if (!aot_outs_tensor(o, pos, name, t) || t->ndim < 2 || t->more_dims) {
        return false;
    }
    *m = t->sizes[t->ndim - 2];
    *n = t->sizes[t->ndim - 1];
    return true;
}

/* Batch dimensions of t, then rows and columns. */
static void push_matrix(aot_outs *o, aot_out_type t, int64_t rows, int64_t columns)
{
    t.sizes[t.ndim - 2] = rows;
    t.sizes[t.ndim - 1] = columns;
    aot_outs_push(o, t);
}

/* Batch dimensions of t, then one size. */
static void push_vector(aot_outs *o, aot_out_type t, int64_t n, aot_dtype d)
{
    t.ndim--;
    t.sizes[t.ndim - 1] = n;
    aot_outs_push_as(o, t, d);
}

/* Batch dimensions of t only. */
static void push_batch(aot_outs *o, aot_out_type t, aot_dtype d)
{
    t.ndim -= 2;
    aot_outs_push_as(o, t, d);
}

static bool is_kwarg_false(const aot_outs *o, unsigned pos, const char *name)
{
    return !aot_outs_bool(o, pos, name, true);
}

/* U [*, M, K], S [*, K], Vh [*, K, N], K the smaller side unless the matrices are full. */
static void push_svd(aot_outs *o, bool full, bool vectors)
{
    aot_out_type t;
    int64_t m, n;
    if (!matrix(o, 0, "A", &t, &m, &n)) {
        return;
    }
    int64_t k = smaller(m, n), none = 0;
    if (vectors) {
        push_matrix(o, t, m, full ? m : k);
    } else {
        aot_outs_push(o, aot_outs_type(t.dtype, 1, &none));
    }
    push_vector(o, t, k, real_of(t.dtype));
    if (vectors) {
        push_matrix(o, t, full ? n : k, n);
    } else {
        aot_outs_push(o, aot_outs_type(t.dtype, 1, &none));
    }
}

void outs_linalg_svd(aot_outs *o)
{
    push_svd(o, aot_outs_bool(o, 1, "full_matrices", false),
             aot_outs_bool(o, 2, "compute_uv", true));
}

void outs_prims_svd(aot_outs *o)
{
    push_svd(o, aot_outs_bool(o, 1, "full_matrices", true), true);
}

void outs_linalg_eigh(aot_outs *o)
{
    aot_out_type t;
    int64_t m, n, none = 0;
    if (!matrix(o, 0, "A", &t, &m, &n)) {
        return;
    }
    push_vector(o, t, n, real_of(t.dtype));
    if (is_kwarg_false(o, 2, "compute_v")) {
        aot_outs_push(o, aot_outs_type(t.dtype, 1, &none));
    } else {
        aot_outs_push(o, t);
    }
}

void outs_linalg_eig(aot_outs *o)
{
    aot_out_type t;
    int64_t m, n;
    if (!matrix(o, 0, "self", &t, &m, &n)) {
        return;
    }
    t.dtype = t.dtype == AOT_F64 || t.dtype == AOT_C128 ? AOT_C128 : AOT_C64;
    push_vector(o, t, n, t.dtype);
    aot_outs_push(o, t);
}

void outs_linalg_qr(aot_outs *o)
{
    aot_out_type t;
    int64_t m, n, none = 0;
    const aot_arg *mode = aot_outs_arg(o, 1, "mode");
    if (!matrix(o, 0, "A", &t, &m, &n)) {
        return;
    }
    char c = mode && mode->kind == AOT_ARG_STR ? aot_text(o->g->ctx, mode->u.s)[0] : 'r';
    int64_t k = c == 'c' ? m : smaller(m, n); /* "complete", "reduced", "r" */
    bool no_q = mode && mode->kind == AOT_ARG_STR && aot_str_len(o->g->ctx->strs, mode->u.s) == 1;
    if (no_q) {
        aot_outs_push(o, aot_outs_type(t.dtype, 1, &none));
    } else {
        push_matrix(o, t, m, k);
    }
    push_matrix(o, t, k, n);
}

/* L or inverse, and info for each matrix. */
void outs_linalg_with_info(aot_outs *o)
{
    aot_out_type t;
    int64_t m, n;
    if (matrix(o, 0, "self", &t, &m, &n) || matrix(o, 0, "A", &t, &m, &n)) {
        aot_outs_push(o, t);
        push_batch(o, t, AOT_I32);
    }
}

/* LU and pivots; with info for each matrix if `info`. */
static void push_lu(aot_outs *o, aot_out_type t, bool info)
{
    int64_t k = smaller(t.sizes[t.ndim - 2], t.sizes[t.ndim - 1]);
    aot_outs_push(o, t);
    push_vector(o, t, k, AOT_I32);
    if (info) {
        push_batch(o, t, AOT_I32);
    }
}

void outs_linalg_lu_factor_ex(aot_outs *o)
{
    aot_out_type t;
    int64_t m, n;
    if (matrix(o, 0, "A", &t, &m, &n) || matrix(o, 0, "self", &t, &m, &n)) {
        push_lu(o, t, true);
    }
}

void outs_linalg_lu(aot_outs *o)
{
    aot_out_type t;
    int64_t m, n, none = 0;
    if (!matrix(o, 0, "A", &t, &m, &n)) {
        return;
    }
    if (is_kwarg_false(o, ~0u >> 1, "pivot")) {
        aot_outs_push(o, aot_outs_type(t.dtype, 1, &none));
    } else {
        push_matrix(o, t, m, m);
    }
    push_matrix(o, t, m, smaller(m, n));
    push_matrix(o, t, smaller(m, n), n);
}

/* P, L, U from LU data; either part may be left out. */
void outs_lu_unpack(aot_outs *o)
{
    aot_out_type t;
    int64_t m, n, none = 0;
    if (!matrix(o, 0, "LU_data", &t, &m, &n)) {
        return;
    }
    aot_out_type empty = aot_outs_type(t.dtype, 1, &none);
    bool data = aot_outs_bool(o, 2, "unpack_data", true);
    if (aot_outs_bool(o, 3, "unpack_pivots", true)) {
        push_matrix(o, t, m, m);
    } else {
        aot_outs_push(o, empty);
    }
    if (data) {
        push_matrix(o, t, m, smaller(m, n));
        push_matrix(o, t, smaller(m, n), n);
    } else {
        aot_outs_push(o, empty);
        aot_outs_push(o, empty);
    }
}

void outs_linalg_det(aot_outs *o)
{
    aot_out_type t;
    int64_t m, n;
    if (matrix(o, 0, "A", &t, &m, &n)) {
        push_batch(o, t, t.dtype);
        push_lu(o, t, false);
    }
}

void outs_linalg_slogdet(aot_outs *o)
{
    aot_out_type t;
    int64_t m, n;
    if (matrix(o, 0, "A", &t, &m, &n)) {
        push_batch(o, t, t.dtype);
        push_batch(o, t, real_of(t.dtype));
        push_lu(o, t, false);
    }
}

/* result like B, broadcast over the batches of both; LU, pivots, info of A. */
void outs_linalg_solve_ex(aot_outs *o)
{
    aot_out_type a, b;
    int64_t m, n;
    if (!matrix(o, 0, "A", &a, &m, &n) || !aot_outs_tensor(o, 1, "B", &b)) {
        return;
    }
    bool vector = b.ndim == 1 || (b.ndim + 1 == a.ndim && b.ndim > 1);
    aot_out_type r = vector ? b : b.ndim >= a.ndim ? b : a;
    if (!vector && b.ndim >= 2) {
        for (unsigned i = 0; i + 2 < r.ndim; i++) { /* the batch of the shorter one is broadcast */
            unsigned from_end = r.ndim - i;
            int64_t x = from_end <= a.ndim ? a.sizes[a.ndim - from_end] : 1;
            int64_t y = from_end <= b.ndim ? b.sizes[b.ndim - from_end] : 1;
            r.sizes[i] = x == 1 ? y : x;
        }
        r.sizes[r.ndim - 2] = b.sizes[b.ndim - 2];
        r.sizes[r.ndim - 1] = b.sizes[b.ndim - 1];
    }
    r.dtype = b.dtype;
    aot_outs_push(o, r);
    push_lu(o, a, true);
}

void outs_ldl_factor_ex(aot_outs *o)
{
    aot_out_type t;
    int64_t m, n;
    if (matrix(o, 0, "self", &t, &m, &n)) {
        aot_outs_push(o, t);
        push_vector(o, t, n, AOT_I32);
        push_batch(o, t, AOT_I32);
    }
}

void outs_geqrf(aot_outs *o)
{
    aot_out_type t;
    int64_t m, n;
    if (matrix(o, 0, "self", &t, &m, &n)) {
        aot_outs_push(o, t);
        push_vector(o, t, smaller(m, n), t.dtype);
    }
}

/* Solution and a copy of A, both broadcast over batches. */
void outs_triangular_solve(aot_outs *o)
{
    aot_out_type b, a;
    int64_t m, n;
    if (matrix(o, 0, "self", &b, &m, &n) && aot_outs_tensor(o, 1, "A", &a)) {
        aot_outs_push(o, b);
        aot_outs_push(o, a);
    }
}
