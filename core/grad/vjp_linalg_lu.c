/* Gradients of LU factorizations (linalg_lu_backward, lu_unpack_backward, linalg_lu_solve_LU). */
#include "grad/linalg.h"

static aot_tensor *joined(aot_tracer *t, aot_tensor *x, aot_tensor *y, int64_t dim)
{
    aot_tensor *pair[2] = {x, y};

    return AOT(t, aten_cat, aot_v_tensors(t, 2, pair), dim);
}

/* The first k rows or columns, and the others. */
static aot_tensor *head(aot_tracer *t, aot_tensor *x, int64_t dim, aot_dim k)
{
    return aot_grad_narrow(t, x, dim, aot_dim_of(0), k);
}

static aot_tensor *tail(aot_tracer *t, aot_tensor *x, int64_t dim, aot_dim k)
{
    return aot_grad_narrow(t, x, dim, k, aot_trace_dim(t, '-', aot_size(x, dim), k));
}

static aot_tensor *zeros_beside(aot_tracer *t, aot_tensor *x, int64_t dim, aot_dim n)
{
    aot_dim size[AOT_GRAD_MAX_DIMS];
    aot_dims all = aot_sizes(x);

    for (unsigned i = 0; i < all.n; i++) {
        size[i] = all.d[i];
    }
    size[(int64_t)all.n + dim] = n;
    return AOT(t, aten_zeros, ((aot_dims){size, all.n}), aot_v_dtype(aot_dtype_of(x)),
               aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(x)));
}

/* ---- P, L, U from A -------------------------------------------------------------------------- */

typedef struct factors {
    aot_tensor *p, *l, *u, *gl, *gu;
    bool pivot;
} factors;

static aot_tensor *of_square(aot_tracer *t, const factors *f)
{
    aot_tensor *x = NULL, *y;

    if (f->gl != NULL) {
        x = AOT(t, aten_tril, aot_grad_mm(t, aot_grad_mh(t, f->l), f->gl), -1);
    }
    if (f->gu != NULL) {
        y = AOT(t, aten_triu, aot_grad_mm(t, f->gu, aot_grad_mh(t, f->u)));
        x = aot_grad_plus(t, x, y);
    }
    x = aot_grad_solve(t, aot_grad_mh(t, f->u), x, false, false, false);
    return aot_grad_solve(t, aot_grad_mh(t, f->l), x, true, true, true);
}

static aot_tensor *minus(aot_tracer *t, aot_tensor *x, aot_tensor *y)
{
    return x == NULL ? AOT(t, aten_neg, y) : aot_grad_sub(t, x, y);
}

static aot_tensor *of_wide(aot_tracer *t, const factors *f, aot_dim k)
{
    aot_tensor *x = NULL, *y, *uh;

    if (f->gl != NULL) {
        x = aot_grad_mm(t, aot_grad_mh(t, f->l), f->gl);
    }
    if (f->gu != NULL) {
        y = AOT(t, aten_triu, f->gu);
        x = minus(t, x, aot_grad_mm(t, y, aot_grad_mh(t, f->u)));
    }
    x = AOT(t, aten_tril, x, -1);
    uh = aot_grad_mh(t, head(t, f->u, -1, k));
    x = aot_grad_solve(t, uh, x, false, false, false);
    if (f->gu != NULL) {
        y = AOT(t, aten_triu, head(t, f->gu, -1, k));
        x = AOT(t, aten_add_Tensor, x, y);
        x = joined(t, x, tail(t, f->gu, -1, k), -1);
    } else {
        aot_dim rest = aot_trace_dim(t, '-', aot_size(f->u, -1), k);
        x = joined(t, x, zeros_beside(t, x, -1, rest), -1);
    }
    return aot_grad_solve(t, aot_grad_mh(t, f->l), x, true, true, true);
}

static aot_tensor *of_tall(aot_tracer *t, const factors *f, aot_dim k)
{
    aot_tensor *x = NULL, *y, *lh;

    if (f->gu != NULL) {
        x = aot_grad_mm(t, f->gu, aot_grad_mh(t, f->u));
    }
    if (f->gl != NULL) {
        lh = aot_grad_mh(t, f->l);
        x = minus(t, x, aot_grad_mm(t, lh, AOT(t, aten_tril, f->gl, -1)));
    }
    x = AOT(t, aten_triu, x);
    lh = aot_grad_mh(t, head(t, f->l, -2, k));
    x = aot_grad_solve(t, lh, x, true, true, true);
    if (f->gl != NULL) {
        y = AOT(t, aten_tril, head(t, f->gl, -2, k), -1);
        x = AOT(t, aten_add_Tensor, x, y);
        x = joined(t, x, tail(t, f->gl, -2, k), -2);
    } else {
        aot_dim rest = aot_trace_dim(t, '-', aot_size(f->l, -2), k);
        x = joined(t, x, zeros_beside(t, x, -2, rest), -2);
    }
    return aot_grad_solve(t, aot_grad_mh(t, f->u), x, false, false, false);
}

static aot_tensor *lu_grad(aot_tracer *t, const factors *f)
{
    aot_dim m = aot_size(f->l, -2), n = aot_size(f->u, -1);
    aot_tensor *x;

    if (f->gl == NULL && f->gu == NULL) {
        return NULL;
    }
    x = m.value == n.value  ? of_square(t, f)
        : m.value < n.value ? of_wide(t, f, m)
                            : of_tall(t, f, n);
    return f->pivot ? aot_grad_mm(t, f->p, x) : x;
}

/* linalg_lu(A, pivot) -> (P, L, U) */
void vjp_linalg_lu(aot_vjp *b)
{
    factors f = {aot_vjp_out(b, 0),  aot_vjp_out(b, 1),  aot_vjp_out(b, 2),
                 aot_vjp_grad(b, 1), aot_vjp_grad(b, 2), aot_vjp_bool(b, 1)};

    aot_vjp_set(b, 0, lu_grad(aot_vjp_tracer(b), &f));
}

/* linalg_lu_factor_ex(A, pivot, check_errors) -> (LU, pivots, info) */
void vjp_linalg_lu_factor_ex(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *lu = aot_vjp_out(b, 0);
    bool pivot = aot_vjp_bool(b, 1);
    aot_value plu = AOT_V(t, aten_lu_unpack, lu, aot_vjp_out(b, 1), true, aot_v_bool(pivot));
    aot_dim m = aot_size(lu, -2), n = aot_size(lu, -1), k = m.value < n.value ? m : n;
    factors f = {aot_v_item(plu, 0), aot_v_item(plu, 1), aot_v_item(plu, 2), NULL, NULL, pivot};

    f.gl = head(t, grad, -1, k);
    f.gu = head(t, grad, -2, k);
    aot_vjp_set(b, 0, lu_grad(t, &f));
}

/* ---- unpacking ------------------------------------------------------------------------------- */

/* lu_unpack(LU_data, LU_pivots, ...) -> (P, L, U) */
void vjp_lu_unpack(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *gl = aot_vjp_grad(b, 1), *gu = aot_vjp_grad(b, 2), *x, *l = NULL, *u = NULL;
    aot_dim m = aot_size(aot_vjp_in(b, 0), -2), n = aot_size(aot_vjp_in(b, 0), -1);
    aot_dim k = m.value < n.value ? m : n, rest = aot_trace_dim(t, '-', m, n);
    bool tall = m.value > n.value, wide = m.value < n.value, both = gl != NULL && gu != NULL;

    if (gu != NULL) {
        u = AOT(t, aten_triu, both && wide ? head(t, gu, -1, k) : gu);
    }
    if (gl != NULL) {
        l = AOT(t, aten_tril, both && tall ? head(t, gl, -2, k) : gl, -1);
    }
    x = aot_grad_plus(t, l, u);
    if (both && tall) {
        x = joined(t, x, tail(t, gl, -2, k), -2);
    } else if (both && wide) {
        x = joined(t, x, tail(t, gu, -1, k), -1);
    } else if (gl == NULL && tall) {
        x = joined(t, x, zeros_beside(t, x, -2, rest), -2);
    } else if (gu == NULL && wide) {
        x = joined(t, x, zeros_beside(t, x, -1, aot_trace_dim(t, '~', rest, rest)), -1);
    }
    aot_vjp_set(b, 0, x);
}

/* ---- solving --------------------------------------------------------------------------------- */

/* Of LU where left and adjoint differ: gR = -U^-H gX X^H (op), gL = L^-H gR U^H. */
static aot_tensor *of_plain(aot_vjp *b, aot_tensor *grad, aot_tensor *x, bool left)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_value plu = AOT_V(t, aten_lu_unpack, aot_vjp_in(b, 0), aot_vjp_in(b, 1), true, false);
    aot_tensor *l = aot_v_item(plu, 1), *u = aot_v_item(plu, 2), *gr, *gl;

    gr = left ? aot_grad_mm(t, grad, aot_grad_mh(t, x)) : aot_grad_mm(t, aot_grad_mh(t, grad), x);
    gr = AOT(t, aten_neg, gr);
    gr = aot_grad_solve(t, aot_grad_mh(t, u), gr, false, true, false);
    gl = aot_grad_mm(t, gr, aot_grad_mh(t, u));
    gl = aot_grad_solve(t, aot_grad_mh(t, l), gl, true, true, true);
    gl = AOT(t, aten_tril, gl, -1);
    return AOT(t, aten_add_Tensor, gl, AOT(t, aten_triu, gr));
}

/* Where they agree: gR = -P^T X gX^H P L^-H (op), gU = L^H gR U^-H. */
static aot_tensor *of_adjoint(aot_vjp *b, aot_tensor *grad, aot_tensor *x, bool left)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_value plu = AOT_V(t, aten_lu_unpack, aot_vjp_in(b, 0), aot_vjp_in(b, 1));
    aot_tensor *p = aot_v_item(plu, 0), *l = aot_v_item(plu, 1), *u = aot_v_item(plu, 2), *gr, *gu;

    gr = AOT(t, aten_transpose_int, p, -2, -1);
    gr = aot_grad_mm(t, gr, left ? x : aot_grad_mh(t, x));
    gr = aot_grad_mm(t, gr, left ? aot_grad_mh(t, grad) : grad);
    gr = AOT(t, aten_neg, aot_grad_mm(t, gr, p));
    gr = aot_grad_solve(t, aot_grad_mh(t, l), gr, true, false, true);
    gu = aot_grad_mm(t, aot_grad_mh(t, l), gr);
    gu = aot_grad_solve(t, aot_grad_mh(t, u), gu, false, false, false);
    gu = AOT(t, aten_triu, gu);
    return AOT(t, aten_add_Tensor, AOT(t, aten_tril, gr, -1), gu);
}

/* linalg_lu_solve(LU, pivots, B, left, adjoint): B comes first. */
void vjp_linalg_lu_solve(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *grad = aot_vjp_grad(b, 0), *x = aot_vjp_out(b, 0);
    bool left = aot_vjp_bool(b, 3), adjoint = aot_vjp_bool(b, 4);

    if (aot_vjp_needs(b, 2)) {
        aot_vjp_set(b, 2, AOT(t, aten_linalg_lu_solve, aot_vjp_in(b, 0), aot_vjp_in(b, 1), grad,
                              left, !adjoint));
    }
    if (aot_vjp_needs(b, 0)) {
        aot_vjp_set(b, 0, left != adjoint ? of_plain(b, grad, x, left)
                                          : of_adjoint(b, grad, x, left));
    }
}
