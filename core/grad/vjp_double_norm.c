/* Gradients of the gradients of normalisation.
 * With xc = x - mean, r = 1 / sqrt(var + eps), and sums over what is normalised, n items, the
 * first gradient is gamma * r / n * (n * g - sum(g) - xc * r^2 * sum(g * xc)); its derivatives are
 * products of the same few sums.
 * Mirrors torch/csrc/autograd/FunctionsManual.cpp: batchnorm_double_backward,
 * layer_norm_double_backward. */
#include "grad/grad.h"
#include "ir/symalg.h"

/* What both normalisations share; a layer norm is seen as rows. */
typedef struct norm {
    aot_tracer *t;
    bool rows; /* of a layer norm: sums over dimension 1; else over all but dimension 1 */
    aot_tensor *g, *x, *gamma;              /* gradient of the first backward; gamma may be a 1 */
    aot_tensor *d_x, *d_gamma, *d_beta;     /* new gradients of its results; NULL */
    aot_tensor *centered, *r, *r2, *r3, *scaled; /* scaled: centered * r3 */
    aot_dim n;
} norm;

static aot_tensor *sum_one(aot_tracer *t, aot_tensor *x, int64_t dim, bool keep)
{
    aot_value dims = aot_v_ints(t, 1, &dim);
    return keep ? AOT(t, aten_sum_dim_IntList, x, dims, true)
                : AOT(t, aten_sum_dim_IntList, x, dims);
}

/* Over all but dimension 1: the first one, then from the last one down. */
static aot_tensor *sum_but_one(aot_tracer *t, aot_tensor *x, bool keep)
{
    x = sum_one(t, x, 0, keep);
    for (int64_t d = (int64_t)aot_ndim(x) - 1; d > (keep ? 1 : 0); d--) {
        x = sum_one(t, x, d, keep);
    }
    return x;
}

static aot_tensor *total(const norm *k, aot_tensor *x)
{
    return k->rows ? sum_one(k->t, x, 1, true) : sum_but_one(k->t, x, true);
}

static aot_tensor *add_to(aot_tracer *t, aot_tensor *a, aot_tensor *b)
{
    return a == NULL ? b : AOT(t, aten_add__Tensor, a, b);
}

static aot_tensor *over_n(const norm *k, aot_tensor *x) /* x.div_(n) */
{
    return AOT(k->t, aten_div__Scalar, x, aot_v_dim(k->n));
}

static aot_tensor *over_minus_n(const norm *k, aot_tensor *x)
{
    return AOT(k->t, aten_div__Scalar, x, aot_v_dim(aot_dim_neg(aot_tracer_ctx(k->t), k->n)));
}

/* The first backward's gradient of x, linear in g. */
static aot_tensor *first(const norm *k, aot_tensor *g, aot_tensor *gamma)
{
    aot_tracer *t = k->t;
    aot_tensor *h = over_n(k, g_mul(t, gamma, k->r));
    aot_tensor *d = AOT(t, aten_mul_Scalar, g, aot_v_dim(k->n));

    d = AOT(t, aten_sub__Tensor, d, total(k, g));
    aot_tensor *along = total(k, g_mul(t, g, k->centered));
    d = AOT(t, aten_sub__Tensor, d, g_mul(t, g_mul(t, k->centered, k->r2), along));
    return g_mul(t, h, d);
}

/* (a * r3).div_(n) * (sum / n - b) */
static aot_tensor *cross(const norm *k, aot_tensor *a, aot_tensor *sum, aot_tensor *b)
{
    aot_tracer *t = k->t;
    aot_tensor *off = AOT(t, aten_sub_Tensor, AOT(t, aten_div_Scalar, sum, aot_v_dim(k->n)), b);

    return g_mul(t, over_n(k, g_mul(t, a, k->r3)), off);
}

/* What x gets by the gradient d of the first backward's gradient of x; g is weighted by gamma in a
 * layer norm, which sums over what gamma runs over. */
static aot_tensor *x_by_x(const norm *k, aot_tensor *d, aot_tensor *g, aot_tensor *along,
                          aot_tensor *sum)
{
    aot_tracer *t = k->t;
    double n = (double)k->n.value;
    aot_tensor *d_sum = total(k, d);
    aot_tensor *d_along = total(k, g_mul(t, d, k->centered));
    aot_tensor *all = over_n(k, g_mul(t, d_sum, sum));

    all = AOT(t, aten_sub__Tensor, all, total(k, k->rows ? g_mul(t, d, g) : g_mul(t, g, d)));
    aot_tensor *third = g_mul(t, g_mul(t, k->r2, along), d_along);
    all = AOT(t, aten_add__Tensor, all, AOT(t, aten_mul__Scalar, third, 3.0 / n));
    aot_tensor *out = over_n(k, g_mul(t, k->scaled, all));
    aot_tensor *one = cross(k, d_along, sum, g);
    aot_tensor *two = cross(k, along, d_sum, d);

    out = AOT(t, aten_add__Tensor, out, one);
    return AOT(t, aten_add__Tensor, out, two);
}

/* What x gets by the gradient of the first backward's gradient of gamma. */
static aot_tensor *x_by_gamma(const norm *k, aot_tensor *sum)
{
    aot_tracer *t = k->t;
    aot_tensor *w = k->d_gamma;
    aot_tensor *a = g_mul(t, k->rows ? g_mul(t, k->g, w) : k->g, k->r);
    aot_tensor *b = over_minus_n(k, g_mul(t, k->r, k->rows ? total(k, g_mul(t, k->g, w)) : sum));
    aot_tensor *along = k->rows ? g_mul(t, g_mul(t, k->g, w), k->centered)
                                : g_mul(t, k->g, k->centered);
    aot_tensor *c = over_minus_n(k, g_mul(t, k->scaled, total(k, along)));

    a = AOT(t, aten_add__Tensor, AOT(t, aten_add__Tensor, a, b), c);
    return k->rows ? a : g_mul(t, w, a);
}

static aot_tensor *one(const norm *k)
{
    return aot_grad_ones(k->t, (aot_dims){NULL, 0}, aot_type_of(k->r));
}

/* What g gets by the gradients of gamma and beta. */
static aot_tensor *g_more(const norm *k, aot_tensor *out)
{
    aot_tracer *t = k->t;
    if (k->d_gamma != NULL) {
        out = add_to(t, out, g_mul(t, g_mul(t, k->d_gamma, k->centered), k->r));
    }
    return k->d_beta != NULL ? add_to(t, out, k->d_beta) : out;
}

static void powers(norm *k)
{
    k->r2 = AOT(k->t, aten_pow_Tensor_Scalar, k->r, 2);
    k->r3 = AOT(k->t, aten_pow_Tensor_Scalar, k->r, 3);
    k->scaled = g_mul(k->t, k->centered, k->r3);
}

static void give(aot_vjp *b, unsigned pos, aot_tensor *grad)
{
    if (aot_vjp_needs(b, pos)) {
        aot_vjp_set(b, pos, grad);
    }
}

/* ---- layer norm ------------------------------------------------------------------------------ */

static aot_tensor *as_rows(aot_tracer *t, aot_tensor *x, aot_dim rows, aot_dim columns)
{
    return x == NULL ? NULL : AOT(t, aten_reshape, x, ((aot_dims){(aot_dim[]){rows, columns}, 2}));
}

static norm layer_norm_of(aot_vjp *b, aot_dim rows, aot_dim columns)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_dim single = aot_dim_of(1);
    aot_tensor *w = aot_vjp_in(b, 5);
    norm k = {.t = t, .rows = true, .n = columns};

    k.x = as_rows(t, aot_vjp_in(b, 1), rows, columns);
    k.g = as_rows(t, aot_vjp_in(b, 0), rows, columns);
    aot_tensor *mean = as_rows(t, aot_vjp_in(b, 3), rows, single);
    k.r = as_rows(t, aot_vjp_in(b, 4), rows, single);
    if (w != NULL) {
        k.gamma = as_rows(t, w, single, columns);
        k.d_gamma = as_rows(t, aot_vjp_grad(b, 1), single, columns);
        k.d_beta = as_rows(t, aot_vjp_grad(b, 2), single, columns);
    } else {
        k.gamma = aot_grad_ones(t, (aot_dims){&single, 1}, aot_type_of(aot_vjp_in(b, 1)));
    }
    k.d_x = as_rows(t, aot_vjp_grad(b, 0), rows, columns);
    k.centered = AOT(t, aten_sub_Tensor, k.x, mean);
    powers(&k);
    return k;
}

/* (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask) */
void vjp_native_layer_norm_backward(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_ctx *c = aot_tracer_ctx(t);
    aot_tensor *x = aot_vjp_in(b, 1), *w = aot_vjp_in(b, 5), *dx = NULL, *dw = NULL, *dg = NULL;
    unsigned tail = aot_vjp_dims(b, 2).n;
    aot_dim size[2] = {aot_dim_of(1), aot_dim_of(1)};

    if (aot_vjp_grad(b, 0) == NULL && aot_vjp_grad(b, 1) == NULL && aot_vjp_grad(b, 2) == NULL) {
        return;
    }
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        aot_dim *part = &size[i + tail >= aot_ndim(x)];
        *part = aot_dim_mul(c, *part, aot_size(x, i));
    }
    norm k = layer_norm_of(b, size[0], size[1]);
    aot_tensor *weighted = g_mul(t, k.g, k.gamma);
    aot_tensor *along = total(&k, g_mul(t, weighted, k.centered));
    aot_tensor *sum = total(&k, weighted);
    if (k.d_x != NULL) {
        dx = x_by_x(&k, k.d_x, weighted, along, sum);
    }
    if (k.d_gamma != NULL) {
        dx = add_to(t, dx, x_by_gamma(&k, NULL));
    }
    dx = dx == NULL ? NULL : AOT(t, aten_reshape, dx, aot_sizes(x));
    if (w != NULL && k.d_x != NULL) {
        aot_tensor *each = g_mul(t, k.g, first(&k, k.d_x, one(&k)));
        dw = AOT(t, aten_reshape, sum_one(t, each, 0, false), aot_sizes(w));
    }
    dg = g_more(&k, k.d_x != NULL ? first(&k, k.d_x, k.gamma) : NULL);
    if (dg != NULL) {
        dg = AOT(t, aten_expand, dg, ((aot_dims){size, 2}));
        dg = AOT(t, aten_reshape, dg, aot_sizes(x));
    }
    give(b, 0, dg);
    if (w != NULL) {
        give(b, 5, dw);
    }
    give(b, 1, dx);
}

/* ---- batch norm ------------------------------------------------------------------------------ */

/* unsqueeze_dim1, expand_as_dim1 */
static aot_tensor *along_channels(aot_tracer *t, aot_tensor *x, unsigned ndim)
{
    while (aot_ndim(x) + 1 < ndim) {
        x = AOT(t, aten_unsqueeze, x, 1);
    }
    return x;
}

static aot_tensor *for_channels(aot_tracer *t, aot_tensor *x, unsigned ndim)
{
    return AOT(t, aten_unsqueeze, along_channels(t, x, ndim), 0);
}

static aot_tensor *expanded(aot_tracer *t, aot_tensor *x, const aot_tensor *like)
{
    return x == NULL ? NULL
                     : AOT(t, aten_expand, along_channels(t, x, aot_ndim(like)), aot_sizes(like));
}

static norm batch_norm_of(aot_vjp *b, bool training)
{
    aot_tracer *t = aot_vjp_tracer(b);
    aot_tensor *x = aot_vjp_in(b, 1), *w = aot_vjp_in(b, 2);
    aot_dtype dtype = aot_dtype_of(x);
    norm k = {.t = t, .g = aot_vjp_in(b, 0), .x = x, .n = aot_size(x, 0)};

    k.d_x = aot_vjp_grad(b, 0);

    if (w != NULL) {
        k.gamma = expanded(t, w, x);
        k.d_gamma = expanded(t, aot_vjp_grad(b, 1), x);
        k.d_beta = expanded(t, aot_vjp_grad(b, 2), x);
    } else {
        k.gamma = aot_grad_ones(t, (aot_dims){NULL, 0}, aot_type_of(x));
    }
    for (unsigned i = 2; i < aot_ndim(x); i++) {
        k.n = aot_dim_mul(aot_tracer_ctx(t), k.n, aot_size(x, i));
    }
    aot_tensor *mean = training ? aot_grad_to_dtype(t, aot_vjp_in(b, 5), dtype) : aot_vjp_in(b, 3);
    k.centered = AOT(t, aten_sub_Tensor, x, for_channels(t, mean, aot_ndim(x)));
    aot_tensor *r = training
                        ? aot_grad_to_dtype(t, aot_vjp_in(b, 6), dtype)
                        : AOT(t, aten_pow_Tensor_Scalar,
                              AOT(t, aten_add_Scalar, aot_vjp_in(b, 4), aot_vjp_arg(b, 8)), -0.5);
    k.r = for_channels(t, r, aot_ndim(x));
    powers(&k);
    return k;
}

/* In evaluation the statistics are constants: the first backward is linear. */
static void batch_norm_eval(aot_vjp *b, const norm *k)
{
    aot_tracer *t = k->t;
    bool affine = aot_vjp_in(b, 2) != NULL;
    aot_tensor *dx = k->d_gamma != NULL ? g_mul(t, g_mul(t, k->d_gamma, k->r), k->g) : NULL;
    aot_tensor *dw = NULL, *dg = NULL;

    if (affine && k->d_x != NULL) {
        dw = sum_but_one(t, g_mul(t, g_mul(t, k->d_x, k->g), k->r), false);
    }
    dg = k->d_x != NULL ? g_mul(t, g_mul(t, k->d_x, k->r), k->gamma) : NULL;
    give(b, 0, g_more(k, dg));
    if (affine) {
        give(b, 2, dw);
    }
    give(b, 1, dx);
}

/* (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, mask) */
void vjp_native_batch_norm_backward(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    bool training = aot_vjp_bool(b, 7), affine = aot_vjp_in(b, 2) != NULL;
    aot_tensor *dx = NULL, *dw = NULL;

    if (aot_vjp_grad(b, 0) == NULL && aot_vjp_grad(b, 1) == NULL && aot_vjp_grad(b, 2) == NULL) {
        return;
    }
    norm k = batch_norm_of(b, training);
    aot_tensor *along = total(&k, g_mul(t, k.g, k.centered));
    aot_tensor *sum = total(&k, k.g);
    if (!training) {
        batch_norm_eval(b, &k);
        return;
    }
    if (k.d_x != NULL) {
        dx = g_mul(t, k.gamma, x_by_x(&k, k.d_x, k.g, along, sum));
    }
    if (k.d_gamma != NULL) {
        dx = add_to(t, dx, x_by_gamma(&k, sum));
    }
    if (affine && k.d_x != NULL) {
        dw = sum_but_one(t, g_mul(t, k.d_x, first(&k, k.g, one(&k))), false);
    }
    give(b, 0, g_more(&k, k.d_x != NULL ? first(&k, k.d_x, k.gamma) : NULL));
    if (affine) {
        give(b, 2, dw);
    }
    give(b, 1, dx);
}
