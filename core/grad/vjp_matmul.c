/* Products of matrices and vectors. Gradients of a matrix stored by columns are made by columns. */
#include "grad/grad.h"

static bool is_by_columns(const aot_tensor *x)
{
    aot_dims size = aot_sizes(x), stride = aot_strides(x);
    return size.n == 2 && aot_dim_eq(stride.d[0], aot_dim_of(1)) &&
           aot_dim_eq(stride.d[1], size.d[0]);
}

/* Of a in a @ b. */
static aot_tensor *mm_left(aot_tracer *t, aot_tensor *g, aot_tensor *a, aot_tensor *b)
{
    if (is_by_columns(a)) {
        aot_tensor *bc = g_conj(t, b);
        return AOT(t, aten_t, AOT(t, aten_mm, bc, AOT(t, aten_t, g)));
    }
    return AOT(t, aten_mm, g, g_conj(t, AOT(t, aten_t, b)));
}

/* Of b in a @ b. */
static aot_tensor *mm_right(aot_tracer *t, aot_tensor *g, aot_tensor *a, aot_tensor *b)
{
    if (is_by_columns(b)) {
        aot_tensor *gt = AOT(t, aten_t, g);
        return AOT(t, aten_t, AOT(t, aten_mm, gt, g_conj(t, a)));
    }
    return AOT(t, aten_mm, g_conj(t, AOT(t, aten_t, a)), g);
}

static aot_tensor *bmm_left(aot_tracer *t, aot_tensor *g, aot_tensor *b)
{
    return AOT(t, aten_bmm, g, g_conj(t, AOT(t, aten_transpose_int, b, 1, 2)));
}

static aot_tensor *bmm_right(aot_tracer *t, aot_tensor *g, aot_tensor *a)
{
    return AOT(t, aten_bmm, g_conj(t, AOT(t, aten_transpose_int, a, 1, 2)), g);
}

static aot_tensor *mm_self(const aot_each *e)
{
    return mm_left(e->t, e->g, aot_each_in(e, 0), aot_each_in(e, 1));
}

static aot_tensor *mm_mat2(const aot_each *e)
{
    return mm_right(e->t, e->g, aot_each_in(e, 0), aot_each_in(e, 1));
}

static aot_tensor *bmm_self(const aot_each *e)
{
    return bmm_left(e->t, e->g, aot_each_in(e, 1));
}

static aot_tensor *bmm_mat2(const aot_each *e)
{
    return bmm_right(e->t, e->g, aot_each_in(e, 0));
}

GRAD_EACH(vjp_mm, {1, mm_mat2}, {0, mm_self})
GRAD_EACH(vjp_bmm, {1, bmm_mat2}, {0, bmm_self})

/* ---- addmm and its like: self, two factors, beta, alpha -------------------------------------- */

static aot_tensor *by_beta(const aot_each *e)
{
    return aot_grad_times(e->t, e->g, aot_grad_conj_num(aot_each_num(e, 3)));
}

static aot_tensor *by_alpha(const aot_each *e, aot_tensor *x)
{
    return aot_grad_times(e->t, x, aot_grad_conj_num(aot_each_num(e, 4)));
}

static aot_tensor *addmm_mat1(const aot_each *e)
{
    return by_alpha(e, mm_left(e->t, e->g, aot_each_in(e, 1), aot_each_in(e, 2)));
}

static aot_tensor *addmm_mat2(const aot_each *e)
{
    return by_alpha(e, mm_right(e->t, e->g, aot_each_in(e, 1), aot_each_in(e, 2)));
}

static aot_tensor *baddbmm_batch1(const aot_each *e)
{
    return by_alpha(e, bmm_left(e->t, e->g, aot_each_in(e, 2)));
}

static aot_tensor *baddbmm_batch2(const aot_each *e)
{
    return by_alpha(e, bmm_right(e->t, e->g, aot_each_in(e, 1)));
}

/* The gradient once for each product that was summed. */
static aot_tensor *for_each_product(const aot_each *e)
{
    aot_tensor *a = aot_each_in(e, 1), *b = aot_each_in(e, 2);
    aot_dim sizes[] = {aot_size(a, 0), aot_size(a, 1), aot_size(b, 2)};
    aot_tensor *g = AOT(e->t, aten_unsqueeze, e->g, 0);
    return AOT(e->t, aten_expand, g, ((aot_dims){sizes, 3}));
}

static aot_tensor *addbmm_batch1(const aot_each *e)
{
    return by_alpha(e, bmm_left(e->t, for_each_product(e), aot_each_in(e, 2)));
}

static aot_tensor *addbmm_batch2(const aot_each *e)
{
    aot_tensor *a = g_conj(e->t, AOT(e->t, aten_transpose_int, aot_each_in(e, 1), 1, 2));
    return by_alpha(e, AOT(e->t, aten_bmm, a, for_each_product(e)));
}

/* The outer product of a gradient and a vector. */
static aot_tensor *outer(aot_tracer *t, aot_tensor *g, aot_tensor *v)
{
    aot_dim sizes[] = {aot_size(g, 0), aot_dim_of(1)};
    aot_tensor *vc = g_conj(t, v);
    return g_mul(t, AOT(t, aten_reshape, g, ((aot_dims){sizes, 2})), vc);
}

static aot_tensor *addmv_mat(const aot_each *e)
{
    return by_alpha(e, outer(e->t, e->g, aot_each_in(e, 2)));
}

static aot_tensor *addmv_vec(const aot_each *e)
{
    aot_tensor *m = g_conj(e->t, AOT(e->t, aten_t, aot_each_in(e, 1)));
    return by_alpha(e, AOT(e->t, aten_mv, m, e->g));
}

static aot_tensor *addr_vec1(const aot_each *e)
{
    return by_alpha(e, AOT(e->t, aten_mv, e->g, g_conj(e->t, aot_each_in(e, 2))));
}

static aot_tensor *addr_vec2(const aot_each *e)
{
    aot_tensor *gt = AOT(e->t, aten_t, e->g);
    return by_alpha(e, AOT(e->t, aten_mv, gt, g_conj(e->t, aot_each_in(e, 1))));
}

GRAD_EACH(vjp_addmm, {1, addmm_mat1}, {2, addmm_mat2}, {0, by_beta})
GRAD_EACH(vjp_baddbmm, {1, baddbmm_batch1}, {2, baddbmm_batch2}, {0, by_beta})
GRAD_EACH(vjp_addbmm, {1, addbmm_batch1}, {2, addbmm_batch2}, {0, by_beta})
GRAD_EACH(vjp_addmv, {1, addmv_mat}, {0, by_beta}, {2, addmv_vec})
GRAD_EACH(vjp_addr, {0, by_beta}, {1, addr_vec1}, {2, addr_vec2})

/* ---- vectors --------------------------------------------------------------------------------- */

static aot_tensor *mv_self(const aot_each *e)
{
    return outer(e->t, e->g, aot_each_in(e, 1));
}

static aot_tensor *mv_vec(const aot_each *e)
{
    aot_tensor *m = AOT(e->t, aten_t, g_conj(e->t, aot_each_in(e, 0)));
    return AOT(e->t, aten_mv, m, e->g);
}

static aot_tensor *dot_self(const aot_each *e)
{
    return g_mul(e->t, e->g, g_conj(e->t, aot_each_in(e, 1)));
}

static aot_tensor *dot_tensor(const aot_each *e)
{
    return g_mul(e->t, e->g, g_conj(e->t, aot_each_in(e, 0)));
}

static aot_tensor *vdot_self(const aot_each *e)
{
    return g_mul(e->t, g_conj(e->t, e->g), aot_each_in(e, 1));
}

static aot_tensor *vdot_other(const aot_each *e)
{
    return g_mul(e->t, e->g, aot_each_in(e, 0));
}

GRAD_EACH(vjp_mv, {0, mv_self}, {1, mv_vec})
GRAD_EACH(vjp_dot, {0, dot_self}, {1, dot_tensor})
GRAD_EACH(vjp_vdot, {1, vdot_other}, {0, vdot_self})

/* ---- distances ------------------------------------------------------------------------------- */

static aot_tensor *cdist_x1(const aot_each *e)
{
    return AOT(e->t, aten__cdist_backward, aot_grad_contiguous(e->t, e->g), aot_each_in(e, 0),
               aot_each_in(e, 1), aot_each_num(e, 2), aot_each_out(e));
}

static aot_tensor *turned(aot_tracer *t, aot_tensor *x)
{
    return aot_grad_contiguous(t, AOT(t, aten_transpose_int, x, -2, -1));
}

static aot_tensor *cdist_x2(const aot_each *e)
{
    aot_tensor *r = turned(e->t, aot_each_out(e)), *g = turned(e->t, e->g);
    return AOT(e->t, aten__cdist_backward, g, aot_each_in(e, 1), aot_each_in(e, 0),
               aot_each_num(e, 2), r);
}

GRAD_EACH(vjp_cdist_forward, {0, cdist_x1}, {1, cdist_x2})

static aot_tensor *pdist_self(const aot_each *e)
{
    return AOT(e->t, aten__pdist_backward, e->g, aot_each_in(e, 0), aot_each_num(e, 1),
               aot_each_out(e));
}

GRAD_EACH(vjp_pdist_forward, {0, pdist_self})

/* _trilinear sums the product of three tensors, expanded at the dims of expand1, 2, 3 (arguments 3
 * to 5), over sumdim (6): of one factor it is the same, with its expansion as the sum. */
static aot_tensor *trilinear_of(const aot_each *e, unsigned pos)
{
    aot_value a[7];
    for (unsigned i = 0; i < 7; i++) {
        a[i] = aot_vjp_arg(e->b, i);
    }
    a[pos] = aot_v_tensor(e->g);
    a[3 + pos] = aot_vjp_arg(e->b, 6);
    a[6] = aot_vjp_arg(e->b, 3 + pos);
    return aot_v_first(aot_call_op(e->t, AOT_OP_aten__trilinear, 7, a));
}

static aot_tensor *trilinear_i1(const aot_each *e)
{
    return trilinear_of(e, 0);
}

static aot_tensor *trilinear_i2(const aot_each *e)
{
    return trilinear_of(e, 1);
}

static aot_tensor *trilinear_i3(const aot_each *e)
{
    return trilinear_of(e, 2);
}

GRAD_EACH(vjp_trilinear, {0, trilinear_i1}, {1, trilinear_i2}, {2, trilinear_i3})

/* transformers: grouped_mm_fallback(input, weight, offs) */
void vjp_grouped_mm_fallback(aot_vjp *b)
{
    aot_value both = AOT_V(aot_vjp_tracer(b), transformers_grouped_mm_fallback_backward,
                           aot_vjp_in(b, 0), aot_vjp_in(b, 1), aot_vjp_in(b, 2),
                           aot_vjp_grad(b, 0));
    aot_vjp_set(b, 0, aot_v_item(both, 0));
    aot_vjp_set(b, 1, aot_v_item(both, 1));
}
