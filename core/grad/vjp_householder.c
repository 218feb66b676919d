/* Gradients of products of Householder reflectors (householder_product_backward,
 * ormqr_backward). */
#include "grad/linalg.h"

enum { MAX_REFLECTORS = 256 };

typedef struct reflectors {
    aot_tracer *t;
    aot_tensor *v;     /* the reflectors, ones on the diagonal */
    aot_tensor *tau, *sigma;
    aot_tensor *k;     /* what they are applied to, in place */
    aot_dim m;
    unsigned n;        /* how many */
    bool flip;         /* from the last to the first */
} reflectors;

static aot_tensor *one(const reflectors *r, aot_tensor *x, unsigned i)
{
    return aot_grad_narrow(r->t, x, -1, aot_dim_of(i), aot_dim_of(1));
}

/* Rows (dim -2) or columns (-1) from i on. */
static aot_tensor *from(const reflectors *r, aot_tensor *x, int64_t dim, unsigned i)
{
    aot_dim start = aot_dim_of(i);

    return aot_grad_narrow(r->t, x, dim, start, aot_dim_sub(aot_tracer_ctx(r->t), r->m, start));
}

/* K -= (t v) (v^H K) on the rows from i on. */
static void apply_left(const reflectors *r, unsigned i, aot_tensor *full, aot_tensor *scale)
{
    aot_tracer *t = r->t;
    aot_tensor *v = from(r, full, -2, i), *u, *k, *x;

    u = aot_grad_mh(t, from(r, full, -2, i));
    u = aot_grad_mm(t, u, from(r, r->k, -2, i));
    k = from(r, r->k, -2, i);
    x = AOT(t, aten_mul_Tensor, AOT(t, aten_unsqueeze, scale, -1), v);
    AOT(t, aten_sub__Tensor, k, AOT(t, aten_mul_Tensor, x, u));
}

/* K -= (K t v) v^H on the columns from i on. */
static void apply_right(const reflectors *r, unsigned i, aot_tensor *full, aot_tensor *scale)
{
    aot_tracer *t = r->t;
    aot_tensor *v = from(r, full, -2, i), *k = from(r, r->k, -1, i), *x = from(r, full, -2, i), *u;

    x = AOT(t, aten_mul_Tensor, AOT(t, aten_unsqueeze, scale, -1), x);
    u = aot_grad_mm(t, k, x);
    k = from(r, r->k, -1, i);
    AOT(t, aten_sub__Tensor, k, AOT(t, aten_mul_Tensor, u, aot_grad_mh(t, v)));
}

static void apply(const reflectors *r, unsigned i, aot_tensor *full, aot_tensor *scale, bool left)
{
    if (left) {
        apply_left(r, i, full, scale);
    } else {
        apply_right(r, i, full, scale);
    }
}

static void grads_of(const reflectors *r, unsigned i, aot_tensor *full, aot_tensor *tau,
                     aot_tensor **gv, aot_tensor **gtau)
{
    aot_tracer *t = r->t;
    aot_tensor *v = from(r, full, -2, i), *vk, *kv, *x, *y;

    vk = aot_grad_mh(t, v);
    vk = aot_grad_mm(t, vk, from(r, r->k, -2, i));
    kv = aot_grad_mm(t, from(r, r->k, -1, i), v);
    tau = AOT(t, aten_unsqueeze, tau, -1);
    y = AOT(t, aten_squeeze_dim, AOT(t, aten_mul_Tensor, tau, kv), -1);
    x = AOT(t, aten_mul_Tensor, AOT(t, aten_neg, tau), vk);
    x = AOT(t, aten_squeeze_dim, aot_grad_conj(t, x), -2);
    x = aot_grad_sub(t, x, y);
    y = aot_grad_mm(t, from(r, vk, -1, i), v);
    y = AOT(t, aten_neg, aot_grad_conj(t, y));
    *gtau = AOT(t, aten_squeeze_dim, y, -1);
    *gv = AOT(t, aten_unsqueeze, x, -1);
}

/* v and sigma = tau / (tau |v|^2 - 1), what undoes a reflection. */
static void prepare(reflectors *r, aot_tensor *input)
{
    aot_tracer *t = r->t;
    aot_tensor *x;

    r->v = AOT(t, aten_tril, input, -1);
    AOT(t, aten_fill__Scalar, aot_grad_diagonal(t, r->v), 1.0);
    x = aot_grad_narrow(t, r->v, -1, aot_dim_of(0), aot_size(r->tau, -1));
    x = AOT(t, aten_mul_Tensor, x, aot_grad_conj(t, x));
    x = AOT(t, aten_sum_dim_IntList, x, ((aot_dims){&(aot_dim){.value = -2}, 1}));
    x = AOT(t, aten_sub_Scalar, AOT(t, aten_mul_Tensor, r->tau, x), 1.0);
    r->sigma = AOT(t, aten_div_Tensor, r->tau, x);
}

static aot_tensor *unused_columns(aot_tracer *t, aot_tensor *input, aot_tensor *tau)
{
    aot_dim size[AOT_GRAD_MAX_DIMS];
    aot_dims all = aot_sizes(input);
    aot_dim n = aot_size(input, -1), k = aot_size(tau, -1);

    for (unsigned i = 0; i < all.n; i++) {
        size[i] = i + 1 == all.n ? aot_dim_sub(aot_tracer_ctx(t), n, k) : all.d[i];
    }
    return AOT(t, aten_zeros, ((aot_dims){size, all.n}), aot_v_dtype(aot_dtype_of(input)),
               aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(input)));
}

static void product_grad(aot_tracer *t, aot_tensor *grad, aot_tensor *result, aot_tensor *input,
                         aot_tensor *tau, bool flip, aot_tensor **g_input, aot_tensor **g_tau)
{
    reflectors r = {.t = t, .tau = tau, .m = aot_size(input, -2), .flip = flip};
    aot_tensor *gv[MAX_REFLECTORS + 1], *gt[MAX_REFLECTORS], *s, *v;
    unsigned first, n_cols;

    *g_input = *g_tau = NULL;
    if (grad == NULL || aot_dim_is(aot_numel(t, input), 0) || aot_dim_is(aot_numel(t, tau), 0)) {
        return;
    }
    r.n = (unsigned)aot_size(tau, -1).value;
    if (r.n == 0 || r.n > MAX_REFLECTORS) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "a product of %u reflectors has no gradient rule",
                       r.n);
    }
    prepare(&r, input);
    r.k = aot_grad_mm(t, result, aot_grad_mh(t, grad));
    first = flip ? r.n - 1 : 0;
    s = one(&r, r.sigma, first);
    v = one(&r, r.v, first);
    apply(&r, first, v, s, !flip);
    for (unsigned step = 0; step < r.n; step++) {
        unsigned i = flip ? r.n - 1 - step : step, next = flip ? i - 1 : i + 1;
        aot_tensor *scale;
        v = one(&r, r.v, i);
        scale = one(&r, tau, i);
        grads_of(&r, i, v, scale, &gv[i], &gt[i]);
        if (step + 1 < r.n) {
            aot_tensor *v_next = one(&r, r.v, next);
            s = one(&r, r.sigma, next);
            apply(&r, next, v_next, s, !flip);
            apply(&r, i, v, scale, flip);
        }
    }
    n_cols = r.n;
    if (!aot_dim_eq(aot_size(input, -1), aot_size(tau, -1))) {
        gv[n_cols++] = unused_columns(t, input, tau);
    }
    *g_input = AOT(t, aten_cat, aot_v_tensors(t, n_cols, gv), -1);
    *g_tau = AOT(t, aten_cat, aot_v_tensors(t, r.n, gt), -1);
    *g_input = AOT(t, aten_tril_, *g_input, -1);
}

/* linalg_householder_product(input, tau) */
void vjp_householder_product(aot_vjp *b)
{
    aot_tensor *g, *g_tau;

    product_grad(aot_vjp_tracer(b), aot_vjp_grad(b, 0), aot_vjp_out(b, 0), aot_vjp_in(b, 0),
                 aot_vjp_in(b, 1), false, &g, &g_tau);
    aot_vjp_set(b, 0, aot_vjp_needs(b, 0) ? g : NULL);
    aot_vjp_set(b, 1, aot_vjp_needs(b, 1) ? g_tau : NULL);
}

/* ormqr(self, input2, input3, left, transpose): self and input2 are the reflectors and tau. */
void vjp_ormqr(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    bool left = aot_vjp_bool(b, 3), transpose = aot_vjp_bool(b, 4), flip = left == transpose;
    aot_tensor *grad = aot_vjp_grad(b, 0), *result = aot_vjp_out(b, 0), *x, *y, *g, *g_tau;

    if (aot_vjp_needs(b, 2)) {
        aot_vjp_set(b, 2, AOT(t, aten_ormqr, aot_vjp_in(b, 0), aot_vjp_in(b, 1), grad, left,
                              !transpose));
    }
    if (!aot_vjp_needs(b, 0) && !aot_vjp_needs(b, 1)) {
        return;
    }
    x = flip ? result : grad;
    y = flip ? grad : result;
    if (!left) {
        x = aot_grad_mh(t, x);
        y = aot_grad_mh(t, y);
    }
    product_grad(t, x, y, aot_vjp_in(b, 0), aot_vjp_in(b, 1), flip, &g, &g_tau);
    aot_vjp_set(b, 0, aot_vjp_needs(b, 0) ? g : NULL);
    aot_vjp_set(b, 1, aot_vjp_needs(b, 1) ? g_tau : NULL);
}
