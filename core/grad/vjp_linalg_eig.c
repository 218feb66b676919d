/* Gradients of eigenvalues, singular values and QR. */
#include "grad/linalg.h"

static aot_tensor *row(aot_tracer *t, aot_tensor *x)
{
    return AOT(t, aten_unsqueeze, x, -2);
}

static aot_tensor *column(aot_tracer *t, aot_tensor *x)
{
    return AOT(t, aten_unsqueeze, x, -1);
}

/* Differences of all values, ones on the diagonal. */
static aot_tensor *differences(aot_tracer *t, aot_tensor *values, aot_value one)
{
    aot_tensor *c = column(t, values), *x = aot_grad_sub(t, row(t, values), c);

    AOT(t, aten_fill__Scalar, aot_grad_diagonal(t, x), one);
    return x;
}

/* x - x^H */
static aot_tensor *skew(aot_tracer *t, aot_tensor *x)
{
    return aot_grad_sub(t, x, aot_grad_mh(t, x));
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

static aot_tensor *of_values(aot_tracer *t, aot_tensor *gl, aot_tensor *v, bool hermitian)
{
    aot_tensor *vh = aot_grad_mh(t, v), *x;

    if (hermitian) {
        x = AOT(t, aten_mul_Tensor, v, row(t, gl));
        return aot_grad_mm(t, x, vh);
    }
    x = AOT(t, aten_mul_Tensor, column(t, gl), vh);
    return AOT(t, aten_linalg_solve, aot_grad_mh(t, v), x);
}

/* linalg_eig_backward: V^-H (diag(gL) + (V^H gV - V^H V diag(Re(V^H gV))) / E) V^H */
static aot_tensor *eig_grad(aot_tracer *t, aot_tensor *gl, aot_tensor *gv, aot_tensor *l,
                            aot_tensor *v, bool hermitian)
{
    aot_tensor *vh, *x, *y, *diagonal;

    if (gl == NULL && gv == NULL) {
        return NULL;
    }
    if (gv == NULL) {
        return of_values(t, gl, v, hermitian);
    }
    x = aot_grad_mm(t, aot_grad_mh(t, v), gv);
    diagonal = aot_grad_diagonal(t, x); /* PyTorch takes it in both cases */
    if (hermitian) {
        x = AOT(t, aten_mul_Scalar, skew(t, x), 0.5);
    } else {
        diagonal = AOT(t, aten_real, diagonal);
        y = AOT(t, aten_mul_Tensor, v, row(t, diagonal));
        x = aot_grad_sub(t, x, aot_grad_mm(t, aot_grad_mh(t, v), y));
        l = aot_grad_conj(t, l);
    }
    x = AOT(t, aten_div__Tensor, x, differences(t, l, aot_v_float(1.0)));
    if (gl != NULL) {
        x = AOT(t, aten_diagonal_scatter, x, gl, 0, -2, -1);
    }
    vh = aot_grad_mh(t, v);
    x = aot_grad_mm(t, x, vh);
    return hermitian ? aot_grad_mm(t, v, x) : AOT(t, aten_linalg_solve, aot_grad_mh(t, v), x);
}

void vjp_linalg_eigh(aot_vjp *b)
{
    aot_vjp_set(b, 0, eig_grad(aot_vjp_tracer(b), aot_vjp_grad(b, 0), aot_vjp_grad(b, 1),
                               aot_vjp_out(b, 0), aot_vjp_out(b, 1), true));
}

void vjp_linalg_eig(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *x = eig_grad(t, aot_vjp_grad(b, 0), aot_vjp_grad(b, 1), aot_vjp_out(b, 0),
                             aot_vjp_out(b, 1), false);

    if (x != NULL && !aot_is_complex(aot_vjp_in(b, 0))) {
        x = AOT(t, aten_real, x);
    }
    aot_vjp_set(b, 0, x);
}

/* ---- singular values ------------------------------------------------------------------------- */

typedef struct svd {
    aot_tensor *u, *s, *vh, *gu, *gs, *gvh;
} svd;

/* What U and Vh turn by, as seen from the singular values. */
static aot_tensor *turned(aot_tracer *t, const svd *d)
{
    aot_tensor *u = NULL, *v = NULL, *e, *x, *y;

    if (d->gu != NULL) {
        u = skew(t, aot_grad_mm(t, aot_grad_mh(t, d->u), d->gu));
    }
    if (d->gvh != NULL) {
        v = skew(t, aot_grad_mm(t, d->vh, aot_grad_mh(t, d->gvh)));
    }
    e = differences(t, AOT(t, aten_mul_Tensor, d->s, d->s), aot_v_int(1));
    if (u != NULL && v != NULL) {
        y = AOT(t, aten_mul_Tensor, column(t, d->s), v);
        x = AOT(t, aten_mul_Tensor, u, row(t, d->s));
        return AOT(t, aten_div_Tensor, AOT(t, aten_add_Tensor, x, y), e);
    }
    if (u != NULL) {
        y = row(t, d->s);
        x = AOT(t, aten_div_Tensor, u, e);
        return AOT(t, aten_mul_Tensor, x, y);
    }
    x = AOT(t, aten_div_Tensor, v, e);
    return AOT(t, aten_mul_Tensor, column(t, d->s), x);
}

static aot_tensor *svd_grad(aot_tracer *t, const svd *d)
{
    int64_t m = aot_size(d->u, -2).value, n = aot_size(d->vh, -1).value;
    aot_tensor *x, *y, *z;

    if (d->gu == NULL && d->gvh == NULL) {
        if (d->gs == NULL) {
            return NULL;
        }
        return m >= n ? aot_grad_mm(t, d->u, AOT(t, aten_mul_Tensor, column(t, d->gs), d->vh))
                      : aot_grad_mm(t, AOT(t, aten_mul_Tensor, d->u, row(t, d->gs)), d->vh);
    }
    if (aot_is_complex(d->u)) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "svd: complex matrices have no gradient rule yet");
    }
    x = turned(t, d);
    if (d->gs != NULL) {
        x = AOT(t, aten_add_Tensor, x, AOT(t, aten_diag_embed, d->gs));
    }
    if (m > n && d->gu != NULL) {
        x = aot_grad_mm(t, d->u, x);
        y = AOT(t, aten_div_Tensor, d->gu, row(t, d->s));
        z = aot_grad_mm(t, d->u, aot_grad_mm(t, aot_grad_mh(t, d->u), y));
        x = aot_grad_sub(t, AOT(t, aten_add_Tensor, x, y), z);
        return aot_grad_mm(t, x, d->vh);
    }
    if (m < n && d->gvh != NULL) {
        x = aot_grad_mm(t, x, d->vh);
        y = AOT(t, aten_div_Tensor, d->gvh, column(t, d->s));
        z = aot_grad_mm(t, aot_grad_mm(t, y, aot_grad_mh(t, d->vh)), d->vh);
        x = aot_grad_sub(t, AOT(t, aten_add_Tensor, x, y), z);
        return aot_grad_mm(t, d->u, x);
    }
    return m >= n ? aot_grad_mm(t, d->u, aot_grad_mm(t, x, d->vh))
                  : aot_grad_mm(t, aot_grad_mm(t, d->u, x), d->vh);
}

/* _linalg_svd(A, full_matrices, ...) -> (U, S, Vh): only what belongs to singular values counts. */
void vjp_linalg_svd(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    svd d = {aot_vjp_out(b, 0),  aot_vjp_out(b, 1),  aot_vjp_out(b, 2),
             aot_vjp_grad(b, 0), aot_vjp_grad(b, 1), aot_vjp_grad(b, 2)};
    aot_dim k = aot_size(d.s, -1), zero = aot_dim_of(0);

    if (aot_vjp_bool(b, 1)) {
        d.vh = aot_grad_narrow(t, d.vh, -2, zero, k);
        d.u = aot_grad_narrow(t, d.u, -1, zero, k);
        d.gvh = d.gvh == NULL ? NULL : aot_grad_narrow(t, d.gvh, -2, zero, k);
        d.gu = d.gu == NULL ? NULL : aot_grad_narrow(t, d.gu, -1, zero, k);
    }
    aot_vjp_set(b, 0, svd_grad(t, &d));
}

/* ---- QR -------------------------------------------------------------------------------------- */

static aot_tensor *of_tall_qr(aot_tracer *t, aot_tensor *x, aot_tensor *gq, aot_tensor *q,
                              aot_tensor *r)
{
    aot_tensor *diagonal;

    x = AOT(t, aten_triu, x);
    x = AOT(t, aten_add_Tensor, x, aot_grad_mh(t, x));
    diagonal = aot_grad_diagonal(t, x);
    diagonal = aot_is_complex(x) ? AOT(t, aten_real, diagonal) : diagonal;
    AOT(t, aten_mul__Scalar, diagonal, 0.5);
    x = aot_grad_mm(t, q, x);
    x = aot_grad_plus(t, x, gq);
    return aot_grad_solve(t, aot_grad_mh(t, r), x, false, false, false);
}

static aot_tensor *of_wide_qr(aot_tracer *t, aot_tensor *x, aot_tensor *gr, aot_tensor *q,
                              aot_tensor *r)
{
    aot_dim m = aot_size(q, -2), n = aot_size(r, -1), size[AOT_GRAD_MAX_DIMS];
    aot_dims all = aot_sizes(r);
    aot_tensor *pair[2];

    x = AOT(t, aten_tril, skew(t, AOT(t, aten_neg, x)));
    x = aot_grad_mm(t, q, x);
    pair[0] = aot_grad_mh(t, aot_grad_narrow(t, r, -1, aot_dim_of(0), m));
    pair[0] = aot_grad_solve(t, pair[0], x, false, false, false);
    for (unsigned i = 0; i < all.n; i++) {
        size[i] = i + 1 == all.n ? aot_dim_sub(aot_tracer_ctx(t), n, m) : all.d[i];
    }
    pair[1] = AOT(t, aten_new_zeros, pair[0], ((aot_dims){size, all.n}));
    x = AOT(t, aten_cat, aot_v_tensors(t, 2, pair), -1);
    return gr == NULL ? x : AOT(t, aten_add_Tensor, x, aot_grad_mm(t, q, gr));
}

/* linalg_qr(A, mode) -> (Q, R) */
void vjp_linalg_qr(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *gq = aot_vjp_grad(b, 0), *gr = aot_vjp_grad(b, 1), *x = NULL, *y;
    aot_tensor *q = aot_vjp_out(b, 0), *r = aot_vjp_out(b, 1);

    if (gq == NULL && gr == NULL) {
        return;
    }
    y = gq == NULL ? NULL : aot_grad_mm(t, aot_grad_mh(t, q), gq);
    x = gr == NULL ? NULL : aot_grad_mm(t, gr, aot_grad_mh(t, r));
    x = y == NULL ? x : x == NULL ? AOT(t, aten_neg, y) : aot_grad_sub(t, x, y);
    aot_vjp_set(b, 0, aot_size(q, -2).value >= aot_size(r, -1).value
                          ? of_tall_qr(t, x, gq, q, r)
                          : of_wide_qr(t, x, gr, q, r));
}
