/* Decompositions and solvers. A is [*, M, N]; batch dimensions are kept, and what LAPACK writes is
 * laid out by columns:
 *
 *     linalg_qr(f32[2, 5, 3])    f32[2, 5, 3][15, 1, 5], f32[2, 3, 3][9, 1, 3]
 *
 * Mirrors: torch/_meta_registrations.py:linalg_*_meta, torch/_prims_common:
 * make_contiguous_strides_for with row_major=False. */
#include "ops/op_ids.h"
#include "rules/meta_shared.h"

#include <string.h>

static aot_status need_matrix(aot_call *k, unsigned pos, const char *name, aot_fake *t)
{
    AOT_TRY(aot_call_need(k, pos, name, t));
    if (t->ndim < 2) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: %s has %u dimensions, not 2 or more",
                        aot_op(k->n->op)->name, name, t->ndim);
    }
    return AOT_OK;
}

static aot_dim rows_of(const aot_fake *t)
{
    return t->size[t->ndim - 2];
}

static aot_dim columns_of(const aot_fake *t)
{
    return t->size[t->ndim - 1];
}

/* Contiguous with the last two dimensions swapped in memory. */
static void set_by_columns(const aot_call *k, aot_fake *t)
{
    aot_dim *s = &t->size[t->ndim - 2], *stride = &t->stride[t->ndim - 2];
    aot_fake_set_contiguous(k->c, t);
    aot_dim rows = s[0].expr == 0 && s[0].value < 1 ? aot_dim_of(1) : s[0];
    stride[0] = aot_dim_of(1);
    stride[1] = rows;
}

static void push_matrix(aot_call *k, const aot_fake *like, aot_dim rows, aot_dim columns,
                        bool by_columns)
{
    aot_fake t = *like;
    t.size[t.ndim - 2] = rows;
    t.size[t.ndim - 1] = columns;
    if (by_columns) {
        set_by_columns(k, &t);
    } else {
        aot_fake_set_contiguous(k->c, &t);
    }
    aot_call_push(k, &t);
}

/* Batch dimensions of a matrix, then one size. */
static void push_batch_vector(aot_call *k, const aot_fake *like, aot_dim n, aot_dtype d)
{
    aot_fake t = *like;
    t.size[t.ndim - 2] = n;
    t = aot_fake_make(k, d, t.ndim - 1u, t.size, t.device);
    aot_call_push(k, &t);
}

/* Batch dimensions of a matrix. */
static void push_batch(aot_call *k, const aot_fake *like, aot_dtype d)
{
    aot_fake t = aot_fake_make(k, d, like->ndim - 2u, like->size, like->device);
    aot_call_push(k, &t);
}

static void push_nothing(aot_call *k, const aot_fake *like)
{
    aot_push_vector(k, like, like->dtype, aot_dim_of(0));
}

static bool on_cuda(const aot_call *k, const aot_fake *t)
{
    return aot_starts_with(aot_text(k->c, t->device), "cuda");
}

/* b's matrix with the batch dimensions of a and b broadcast together. */
static aot_status broadcast_batch(aot_call *k, const aot_fake *b, const aot_fake *a, aot_fake *out)
{
    aot_fake batch[2] = {*b, *a};
    batch[0].ndim = (uint8_t)(b->ndim - 2);
    batch[1].ndim = (uint8_t)(a->ndim - 2);
    AOT_TRY(aot_fake_elementwise(k, batch, 2, b->dtype, out));
    out->size[out->ndim] = rows_of(b);
    out->size[out->ndim + 1] = columns_of(b);
    out->ndim = (uint8_t)(out->ndim + 2);
    return AOT_OK;
}

/* ---- one result ---------------------------------------------------------------------------- */

/* A result of the first operand's sizes, by columns: cholesky, cholesky_inverse,
 * linalg_householder_product, _cholesky_solve_helper. */
aot_status meta_by_columns(aot_call *k)
{
    aot_fake t;
    AOT_TRY(need_matrix(k, 0, "self", &t));
    set_by_columns(k, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* cholesky: an empty matrix stays contiguous. */
aot_status meta_cholesky(aot_call *k)
{
    aot_fake t;
    AOT_TRY(need_matrix(k, 0, "self", &t));
    if (aot_fake_numel(k->c, &t).value == 0) {
        aot_push_contiguous(k, &t, t.dtype);
        return AOT_OK;
    }
    return meta_by_columns(k);
}

aot_status meta_matrix_exp(aot_call *k)
{
    aot_fake t;
    AOT_TRY(need_matrix(k, 0, "self", &t));
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

/* linalg_cross(self, other, *, dim) */
aot_status meta_linalg_cross(aot_call *k)
{
    aot_fake in[2], out;
    AOT_TRY(aot_call_need(k, 0, "self", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "other", &in[1]));
    AOT_TRY(aot_fake_elementwise(k, in, 2, in[0].dtype, &out));
    aot_push_contiguous(k, &out, in[0].dtype);
    return AOT_OK;
}

/* linalg_pinv(self, ...): the sizes transposed. */
aot_status meta_linalg_pinv(aot_call *k)
{
    aot_fake t;
    AOT_TRY(need_matrix(k, 0, "self", &t));
    push_matrix(k, &t, columns_of(&t), rows_of(&t), false);
    return AOT_OK;
}

/* ---- solvers ------------------------------------------------------------------------------- */

static aot_status solve(aot_call *k, unsigned a_pos, const char *a_name, unsigned b_pos,
                        const char *b_name, bool by_columns)
{
    aot_fake a, b, out;
    AOT_TRY(need_matrix(k, a_pos, a_name, &a));
    AOT_TRY(need_matrix(k, b_pos, b_name, &b));
    AOT_TRY(broadcast_batch(k, &b, &a, &out));
    push_matrix(k, &out, rows_of(&b), columns_of(&b), by_columns);
    return AOT_OK;
}

/* Whether an argument is lazily conjugated: the views that made it are looked through. */
static bool is_conj(const aot_call *k, unsigned pos, const char *name)
{
    const aot_arg *a = aot_call_arg(k, pos, name);
    bool conj = false;
    while (a != NULL && a->kind == AOT_ARG_NODE) {
        const aot_node *n = aot_node_at(k->g, a->u.node);
        if (n->op == 0 || !(aot_op(n->op)->flags & AOT_OPF_ALIASES) || n->n_args == 0) {
            break;
        }
        conj ^= n->op == AOT_OP_aten__conj;
        a = aot_node_args(k->g, n);
    }
    return conj;
}

/* linalg_solve_triangular(self, B, ...): by columns, unless self is one that BLAS conjugates. */
aot_status meta_solve_triangular(aot_call *k)
{
    aot_fake a, b, rows;
    AOT_TRY(need_matrix(k, 0, "self", &a));
    AOT_TRY(need_matrix(k, 1, "B", &b));
    AOT_TRY(broadcast_batch(k, &b, &a, &rows));
    unsigned n = a.ndim;
    aot_dim stride = a.stride[n - 1];
    bool broadcast = rows.ndim != n;
    for (unsigned i = 0; !broadcast && i + 2 < n; i++) {
        broadcast = !aot_dim_equal_hint(rows.size[i], a.size[i]);
    }
    a.stride[n - 1] = a.stride[n - 2];
    a.stride[n - 2] = stride;
    stride = a.size[n - 1];
    a.size[n - 1] = a.size[n - 2];
    a.size[n - 2] = stride;
    bool as_is = !broadcast && aot_fake_is_contiguous(&a) && is_conj(k, 0, "self");
    return solve(k, 0, "self", 1, "B", !as_is);
}

/* linalg_lu_solve(LU, pivots, B, *, left, adjoint) */
aot_status meta_lu_solve(aot_call *k)
{
    return solve(k, 0, "LU", 2, "B", aot_call_bool(k, 3, "left", true));
}

aot_status meta_ldl_solve(aot_call *k)
{
    return solve(k, 0, "LD", 2, "B", true);
}

/* cholesky_solve(self, input2, upper) */
aot_status meta_cholesky_solve(aot_call *k)
{
    return solve(k, 1, "input2", 0, "self", true);
}

/* ormqr(self, input2, input3, ...): like input3. */
aot_status meta_ormqr(aot_call *k)
{
    aot_fake t;
    AOT_TRY(need_matrix(k, 2, "input3", &t));
    push_matrix(k, &t, rows_of(&t), columns_of(&t), true);
    return AOT_OK;
}

/* triangular_solve(self, A, ...): the solution and A as it was used. */
aot_status meta_triangular_solve(aot_call *k)
{
    aot_fake a, b, out;
    AOT_TRY(solve(k, 1, "A", 0, "self", true));
    AOT_TRY(need_matrix(k, 0, "self", &b));
    AOT_TRY(need_matrix(k, 1, "A", &a));
    AOT_TRY(broadcast_batch(k, &a, &b, &out));
    push_matrix(k, &out, rows_of(&a), columns_of(&a), true);
    return AOT_OK;
}

/* _linalg_solve_ex(A, B, *, left, check_errors): B may be a vector, or a batch of them. */
aot_status meta_solve_ex(aot_call *k)
{
    aot_fake a, b, out;
    AOT_TRY(need_matrix(k, 0, "A", &a));
    AOT_TRY(aot_call_need(k, 1, "B", &b));
    bool vector = b.ndim == 1;
    if (!vector && b.ndim == a.ndim - 1u) {
        vector = true;
        for (unsigned i = 0; i < b.ndim; i++) {
            vector = vector && aot_dim_equal_hint(b.size[i], a.size[i]);
        }
    }
    if (vector) {
        b.size[b.ndim] = aot_dim_of(1);
        b.stride[b.ndim] = aot_dim_of(1);
        b.ndim++;
    }
    if (b.ndim < 2) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "a side without dimensions");
    }
    AOT_TRY(broadcast_batch(k, &b, &a, &out));
    if (vector) {
        out.ndim--;
    }
    if (aot_call_bool(k, 2, "left", true) && out.ndim > 1) {
        set_by_columns(k, &out);
    } else {
        aot_fake_set_contiguous(k->c, &out);
    }
    aot_call_push(k, &out);
    push_matrix(k, &a, rows_of(&a), columns_of(&a), true);
    push_batch_vector(k, &a, rows_of(&a), AOT_I32);
    push_batch(k, &a, AOT_I32);
    return AOT_OK;
}

/* ---- decompositions ------------------------------------------------------------------------ */

/* linalg_cholesky_ex, linalg_inv_ex: the result by columns and the status of each matrix. */
aot_status meta_factor_info(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "A", &a));
    push_matrix(k, &a, rows_of(&a), columns_of(&a), true);
    push_batch(k, &a, AOT_I32);
    return AOT_OK;
}

/* linalg_lu_factor_ex, linalg_ldl_factor_ex: with the pivots. */
aot_status meta_lu_factor_ex(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "A", &a));
    push_matrix(k, &a, rows_of(&a), columns_of(&a), true);
    push_batch_vector(k, &a, aot_dim_min(k->c, rows_of(&a), columns_of(&a)), AOT_I32);
    push_batch(k, &a, AOT_I32);
    return AOT_OK;
}

/* The unit lower and the upper factor. */
static void push_lower_upper(aot_call *k, const aot_fake *a)
{
    aot_dim small = aot_dim_min(k->c, rows_of(a), columns_of(a));
    push_matrix(k, a, rows_of(a), small, false);
    push_matrix(k, a, small, columns_of(a), false);
}

/* linalg_lu(A, *, pivot) */
aot_status meta_linalg_lu(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "A", &a));
    if (aot_call_bool(k, 1, "pivot", true)) {
        push_matrix(k, &a, rows_of(&a), rows_of(&a), false);
    } else {
        push_nothing(k, &a);
    }
    push_lower_upper(k, &a);
    return AOT_OK;
}

/* lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots) */
aot_status meta_lu_unpack(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "LU_data", &a));
    if (aot_call_bool(k, 3, "unpack_pivots", true)) {
        push_matrix(k, &a, rows_of(&a), rows_of(&a), false);
    } else {
        push_nothing(k, &a);
    }
    if (aot_call_bool(k, 2, "unpack_data", true)) {
        push_lower_upper(k, &a);
    } else {
        push_nothing(k, &a);
        push_nothing(k, &a);
    }
    return AOT_OK;
}

/* _linalg_det(A): determinant, LU, pivots */
aot_status meta_linalg_det(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "A", &a));
    push_batch(k, &a, a.dtype);
    push_matrix(k, &a, rows_of(&a), columns_of(&a), true);
    push_batch_vector(k, &a, rows_of(&a), AOT_I32);
    return AOT_OK;
}

/* _linalg_slogdet(A): sign, logarithm, LU, pivots */
aot_status meta_linalg_slogdet(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "A", &a));
    push_batch(k, &a, a.dtype);
    push_batch(k, &a, aot_dtype_real(a.dtype));
    push_matrix(k, &a, rows_of(&a), columns_of(&a), true);
    push_batch_vector(k, &a, rows_of(&a), AOT_I32);
    return AOT_OK;
}

/* _linalg_svd(A, full_matrices, compute_uv, *, driver) */
aot_status meta_linalg_svd(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "A", &a));
    bool full = aot_call_bool(k, 1, "full_matrices", false);
    bool vectors = aot_call_bool(k, 2, "compute_uv", true);
    aot_dim small = aot_dim_min(k->c, rows_of(&a), columns_of(&a));
    if (vectors) {
        push_matrix(k, &a, rows_of(&a), full ? rows_of(&a) : small, true);
    } else {
        push_nothing(k, &a);
    }
    push_batch_vector(k, &a, small, aot_dtype_real(a.dtype));
    if (vectors) {
        push_matrix(k, &a, full ? columns_of(&a) : small, columns_of(&a), !on_cuda(k, &a));
    } else {
        push_nothing(k, &a);
    }
    return AOT_OK;
}

/* linalg_qr(A, mode): reduced, complete or r */
aot_status meta_linalg_qr(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "A", &a));
    const aot_arg *arg = aot_call_arg(k, 1, "mode");
    const char *mode = arg && arg->kind == AOT_ARG_STR ? aot_text(k->c, arg->u.s) : "reduced";
    aot_dim small = aot_dim_min(k->c, rows_of(&a), columns_of(&a));
    bool complete = strcmp(mode, "complete") == 0;
    if (strcmp(mode, "r") != 0) {
        push_matrix(k, &a, rows_of(&a), complete ? rows_of(&a) : small, true);
    } else {
        push_nothing(k, &a);
    }
    push_matrix(k, &a, complete ? rows_of(&a) : small, columns_of(&a), true);
    return AOT_OK;
}

/* geqrf(self): reflectors and their factors */
aot_status meta_geqrf(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "self", &a));
    push_matrix(k, &a, rows_of(&a), columns_of(&a), true);
    push_batch_vector(k, &a, aot_dim_min(k->c, rows_of(&a), columns_of(&a)), a.dtype);
    return AOT_OK;
}

/* _linalg_eigh(A, UPLO, compute_v) */
aot_status meta_linalg_eigh(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "A", &a));
    push_batch_vector(k, &a, rows_of(&a), aot_dtype_real(a.dtype));
    if (aot_call_bool(k, 2, "compute_v", true)) {
        push_matrix(k, &a, rows_of(&a), columns_of(&a), true);
    } else {
        push_nothing(k, &a);
    }
    return AOT_OK;
}

static aot_dtype complex_of(aot_dtype d)
{
    return d == AOT_F64 || d == AOT_C128 ? AOT_C128 : AOT_C64;
}

aot_status meta_linalg_eig(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "self", &a));
    a.dtype = (uint8_t)complex_of(a.dtype);
    push_batch_vector(k, &a, rows_of(&a), a.dtype);
    push_matrix(k, &a, rows_of(&a), columns_of(&a), !on_cuda(k, &a));
    return AOT_OK;
}

aot_status meta_linalg_eigvals(aot_call *k)
{
    aot_fake a;
    AOT_TRY(need_matrix(k, 0, "self", &a));
    push_batch_vector(k, &a, rows_of(&a), complex_of(a.dtype));
    return AOT_OK;
}
