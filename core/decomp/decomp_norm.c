/* Decompositions of layer, group, RMS and weight normalization and of norms: torch/_refs,
 * torch/_decomp/decompositions.py. */
#include "decomp/decomp.h"
#include "decomp/decomp_parts.h"

/* var_mean over dims, biased; *rstd = rsqrt(var + eps). */
static aot_tensor *mean_and_rstd(aot_tracer *t, aot_tensor *x, aot_value dims, aot_value eps,
                                 aot_tensor **rstd)
{
    aot_value both = AOT_V(t, aten_var_mean_correction, x, dims, 0, true);
    *rstd = AOT(t, aten_rsqrt, ADD(aot_v_item(both, 0), eps));
    return aot_v_item(both, 1);
}

static aot_tensor *contiguous(aot_tracer *t, aot_tensor *x)
{
    return x == NULL ? NULL : AOT(t, aten_contiguous, x);
}

static aot_tensor *scale_and_shift(aot_tracer *t, aot_tensor *x, aot_tensor *weight,
                                   aot_tensor *bias)
{
    x = weight == NULL ? x : MUL(x, weight);
    return bias == NULL ? x : ADD(x, bias);
}

bool decomp_native_layer_norm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *input = contiguous(t, aot_x_tensor(k, 0)), *out[3];
    aot_tensor *weight = contiguous(t, aot_x_tensor(k, 2)),
               *bias = contiguous(t, aot_x_tensor(k, 3));
    unsigned ndim = aot_ndim(input);
    aot_value dims = dc_range(t, ndim - aot_x_dims(k, 1).n, ndim);
    aot_dtype dtype = aot_dtype_of(input);
    aot_tensor *x = dc_to(t, input, dc_computation_dtype(dtype));
    out[1] = mean_and_rstd(t, x, dims, k->args[4], &out[2]);
    x = MUL(SUB(x, out[1]), out[2]);
    out[0] = dc_to(t, scale_and_shift(t, x, weight, bias), dtype);
    if (dc_on_cpu(t, input)) {
        out[1] = dc_to(t, out[1], dtype);
        out[2] = dc_to(t, out[2], dtype);
    }
    return aot_x_give_tuple(k, 3, out);
}

/* An operand of a normalization's gradient, split into outer dimensions and the normalized ones. */
typedef struct layers {
    aot_tracer *t;
    aot_dims shape;
    unsigned axis; /* first normalized dimension */
    aot_dim inner; /* elements of these */
} layers;

static layers layers_of(aot_expand *k, const aot_tensor *input)
{
    layers l = {.t = k->t, .shape = aot_sizes(input)};
    dc_need_ndim(k->t, input, aot_x_dims(k, 2).n);
    l.axis = l.shape.n - aot_x_dims(k, 2).n;
    l.inner = dc_prod(k->t, l.shape, l.axis, l.shape.n);
    return l;
}

static bool is_empty(const layers *l)
{
    aot_dim outer = dc_prod(l->t, l->shape, 0, l->axis);
    return aot_dim_is(outer, 0) || aot_dim_is(l->inner, 0);
}

/* Zeros of the input's shape and of the normalized shape, for an empty input. */
static bool give_zeros(aot_expand *k, const layers *l, aot_tensor *input, unsigned mask, unsigned n)
{
    aot_tensor *out[3] = {NULL};
    aot_dims inner = {l->shape.d + l->axis, l->shape.n - l->axis};
    for (unsigned i = 0; i < n; i++) {
        if (dc_wanted(k, mask, i)) {
            out[i] = AOT(k->t, aten_new_zeros, input, i == 0 ? l->shape : inner);
        }
    }
    return aot_x_give_tuple(k, n, out);
}

static aot_tensor *sum_inner(const layers *l, aot_tensor *x)
{
    aot_tracer *t = l->t;
    return AOT(t, aten_sum_dim_IntList, x, dc_range(t, l->axis, l->shape.n), true);
}

static aot_tensor *sum_outer(const layers *l, aot_tensor *x)
{
    aot_tracer *t = l->t;
    return l->axis == 0 ? x : AOT(t, aten_sum_dim_IntList, x, dc_range(t, 0, l->axis), false);
}

bool decomp_native_layer_norm_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *input = aot_x_tensor(k, 1), *weight = aot_x_tensor(k, 5);
    aot_tensor *bias = aot_x_tensor(k, 6), *out[3] = {NULL};
    layers l = layers_of(k, input);
    aot_dtype compute = dc_computation_dtype(aot_dtype_of(input));
    aot_tensor *grad = dc_to_contiguous(t, aot_x_tensor(k, 0), compute);
    aot_tensor *x = dc_to_contiguous(t, input, compute);
    aot_tensor *w = dc_to_contiguous(t, weight, compute);
    dc_to_contiguous(t, bias, compute);
    if (is_empty(&l)) {
        return give_zeros(k, &l, input, 7, 3);
    }
    aot_tensor *mean = dc_unsqueeze_to(t, aot_x_tensor(k, 3), l.shape.n);
    aot_tensor *rstd = dc_unsqueeze_to(t, aot_x_tensor(k, 4), l.shape.n);
    aot_tensor *x_hat = MUL(SUB(x, mean), rstd);
    aot_tensor *grad_hat = w == NULL ? grad : MUL(grad, w);
    aot_tensor *a = MUL(grad_hat, l.inner);
    aot_tensor *b = sum_inner(&l, grad_hat);
    aot_tensor *c = sum_inner(&l, MUL(grad_hat, x_hat));
    c = MUL(x_hat, c);
    aot_tensor *inner = SUB(SUB(a, b), c);
    if (dc_wanted(k, 7, 0)) {
        out[0] = MUL(DIV(rstd, l.inner), inner);
    }
    if (dc_wanted(k, 7, 1) && w != NULL) {
        out[1] = sum_outer(&l, MUL(grad, x_hat));
    }
    if (dc_wanted(k, 7, 2) && bias != NULL) {
        out[2] = l.axis == 0 ? AOT(t, aten_clone, grad) : sum_outer(&l, grad);
    }
    out[0] = dc_to(t, out[0], aot_dtype_of(input));
    out[1] = out[1] == NULL ? NULL : dc_to(t, out[1], aot_dtype_of(weight));
    out[2] = out[2] == NULL ? NULL : dc_to(t, out[2], aot_dtype_of(bias));
    return aot_x_give_tuple(k, 3, out);
}

bool decomp_fused_rms_norm_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *input = aot_x_tensor(k, 1), *out[2] = {NULL};
    layers l = layers_of(k, input);
    aot_dtype compute = dc_computation_dtype(aot_dtype_of(input));
    aot_tensor *grad = dc_to_contiguous(t, aot_x_tensor(k, 0), compute);
    aot_tensor *x = dc_to_contiguous(t, input, compute);
    aot_tensor *w = dc_to_contiguous(t, aot_x_tensor(k, 4), compute);
    if (is_empty(&l)) {
        return give_zeros(k, &l, input, 5, 2);
    }
    aot_tensor *rstd = dc_unsqueeze_to(t, aot_x_tensor(k, 3), l.shape.n);
    aot_tensor *grad_hat = w == NULL ? grad : MUL(grad, w);
    aot_tensor *x_hat = MUL(x, rstd);
    if (dc_wanted(k, 5, 0)) {
        aot_tensor *sum = sum_inner(&l, MUL(x_hat, grad_hat));
        aot_tensor *mean = MUL(DIV(x_hat, l.inner), sum);
        out[0] = MUL(SUB(grad_hat, mean), rstd);
    }
    if (dc_wanted(k, 5, 1) && w != NULL) {
        out[1] = sum_outer(&l, MUL(grad, x_hat));
    }
    out[0] = dc_to(t, out[0], aot_dtype_of(input));
    out[1] = dc_to(t, out[1], aot_dtype_of(input));
    return aot_x_give_tuple(k, 2, out);
}

/* ---- group norm ------------------------------------------------------------------------------ */

static aot_tensor *reshape4(aot_tracer *t, aot_tensor *x, aot_dim a, aot_dim b, aot_dim c,
                            aot_dim d)
{
    return AOT(t, aten_reshape, x, ((aot_dims){(aot_dim[]){a, b, c, d}, 4}));
}

/* The dimensions first (if not 0) and 2 .. ndim-1 as new ones. */
static aot_tensor *per_channel(aot_tracer *t, aot_tensor *x, bool first, unsigned ndim)
{
    x = first ? AOT(t, aten_unsqueeze, x, 0) : x;
    for (unsigned i = 2; i < ndim; i++) {
        x = AOT(t, aten_unsqueeze, x, i);
    }
    return x;
}

/* The group norm's weight and bias folded into one factor and one offset for each channel. */
static aot_tensor *group_norm_cpu(aot_expand *k, aot_tensor *x, aot_tensor *mean, aot_tensor *rstd,
                                  aot_dim per_group)
{
    aot_tracer *t = k->t;
    aot_dim one = aot_dim_of(1), groups = aot_x_dim(k, 6, 1), c = aot_x_dim(k, 4, 1);
    unsigned ndim = aot_ndim(x);
    aot_dims size = {(aot_dim[]){aot_x_dim(k, 3, 1), c}, 2}, stride = {(aot_dim[]){c, one}, 2};
    aot_tensor *w = MUL(rstd, reshape4(t, aot_x_tensor(k, 1), one, groups, per_group, one));
    aot_tensor *b = MUL(NEG(mean), w);
    if (!aot_x_is_none(k, 2)) {
        b = ADD(b, reshape4(t, aot_x_tensor(k, 2), one, groups, per_group, one));
    }
    w = AOT(t, aten_as_strided, AOT(t, aten_contiguous, w), size, stride);
    b = AOT(t, aten_as_strided, AOT(t, aten_contiguous, b), size, stride);
    w = per_channel(t, w, false, ndim);
    b = per_channel(t, b, false, ndim);
    return ADD(MUL(x, w), b);
}

bool decomp_native_group_norm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *input = aot_x_tensor(k, 0), *out[3];
    aot_tensor *weight = aot_x_tensor(k, 1), *bias = aot_x_tensor(k, 2);
    aot_dtype dtype = aot_dtype_of(input);
    aot_dim groups = aot_x_dim(k, 6, 1), c = aot_x_dim(k, 4, 1);
    aot_dim per_group = aot_trace_dim(t, '/', c, groups);
    aot_value dims = dc_range(t, 2, 4);
    aot_tensor *acc = dc_to(t, input, dc_computation_dtype(dtype));
    aot_tensor *x = reshape4(t, acc, aot_x_dim(k, 3, 1), groups, per_group, aot_x_dim(k, 5, 1));
    out[1] = mean_and_rstd(t, x, dims, k->args[7], &out[2]);
    if (dc_on_cpu(t, input) && weight != NULL) {
        out[0] = group_norm_cpu(k, acc, out[1], out[2], per_group);
    } else {
        x = MUL(SUB(x, out[1]), out[2]);
        x = AOT(t, aten_view, x, aot_sizes(input));
        x = weight == NULL ? x : MUL(x, per_channel(t, weight, true, aot_ndim(input)));
        out[0] = bias == NULL ? x : ADD(x, per_channel(t, bias, true, aot_ndim(input)));
    }
    for (unsigned i = 0; i < 3; i++) {
        out[i] = dc_to(t, out[i], dtype);
    }
    out[1] = AOT(t, aten_squeeze_dims, out[1], dims);
    out[2] = AOT(t, aten_squeeze_dims, out[2], dims);
    return aot_x_give_tuple(k, 3, out);
}

/* Sizes of a group norm's gradient: [n, group, cpg, hw]. */
typedef struct groups {
    aot_dim n, c, hw, group, cpg;
} groups;

static aot_tensor *view3(aot_tracer *t, aot_tensor *x, aot_dim a, aot_dim b, aot_dim c)
{
    return AOT(t, aten_view, x, ((aot_dims){(aot_dim[]){a, b, c}, 3}));
}

static aot_tensor *reshape3(aot_tracer *t, aot_tensor *x, aot_dim a, aot_dim b, aot_dim c)
{
    return AOT(t, aten_reshape, x, ((aot_dims){(aot_dim[]){a, b, c}, 3}));
}

static aot_tensor *sum_over(aot_tracer *t, aot_tensor *x, unsigned dim)
{
    return AOT(t, aten_sum_dim_IntList, x, dc_range(t, dim, dim + 1));
}

/* The sum over each group's channels of x, weighted. */
static aot_tensor *group_sum(aot_tracer *t, aot_tensor *x, aot_tensor *gamma, const groups *g)
{
    x = gamma == NULL ? x : MUL(x, AOT(t, aten_unsqueeze, gamma, 0));
    return sum_over(t, reshape3(t, x, g->n, g->group, g->cpg), 2);
}

static aot_tensor *group_input_grad(aot_expand *k, const groups *g, aot_tensor *ds, aot_tensor *db)
{
    aot_tracer *t = k->t;
    aot_tensor *input = aot_x_tensor(k, 1), *mean = aot_x_tensor(k, 2), *rstd = aot_x_tensor(k, 3);
    aot_tensor *gamma = aot_x_tensor(k, 4), *scale;
    aot_dim one = aot_dim_of(1);
    double s = 1.0 / dc_float(t, aot_trace_dim(t, '*', g->hw, g->cpg));
    aot_tensor *ds_val = group_sum(t, ds, gamma, g);
    aot_tensor *db_val = group_sum(t, db, gamma, g);
    aot_tensor *c1 = AOT(t, aten_unsqueeze, rstd, -1);
    if (gamma != NULL) {
        scale = reshape3(t, gamma, one, g->group, g->cpg);
    } else {
        scale = AOT(t, aten_ones, ((aot_dims){(aot_dim[]){one, g->group, g->cpg}, 3}), AOT_NONE,
                    AOT_NONE, aot_v_device(aot_device_of(rstd)));
    }
    c1 = MUL(c1, scale);
    aot_tensor *c2 = SUB(MUL(db_val, mean), ds_val);
    c2 = MUL(MUL(MUL(MUL(c2, rstd), rstd), rstd), s);
    aot_tensor *c3 = MUL(NEG(c2), mean);
    c3 = SUB(c3, MUL(MUL(db_val, rstd), s));
    c1 = AOT(t, aten_unsqueeze, c1, -1);
    c2 = dc_unsqueeze_to(t, c2, 4);
    c3 = dc_unsqueeze_to(t, c3, 4);
    aot_tensor *x = MUL(reshape4(t, aot_x_tensor(k, 0), g->n, g->group, g->cpg, g->hw), c1);
    aot_tensor *y = MUL(reshape4(t, input, g->n, g->group, g->cpg, g->hw), c2);
    x = ADD(ADD(x, y), c3);
    x = AOT(t, aten_reshape, x, aot_sizes(input));
    return dc_to(t, x, aot_dtype_of(input));
}

bool decomp_native_group_norm_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *grad = aot_x_tensor(k, 0), *input = aot_x_tensor(k, 1), *out[3] = {NULL};
    groups g = {aot_x_dim(k, 5, 1), aot_x_dim(k, 6, 1), aot_x_dim(k, 7, 1), aot_x_dim(k, 8, 1),
                aot_trace_dim(t, '/', aot_x_dim(k, 6, 1), aot_x_dim(k, 8, 1))};
    aot_tensor *ds = sum_over(t, view3(t, MUL(grad, input), g.n, g.c, g.hw), 2);
    aot_tensor *db = sum_over(t, view3(t, grad, g.n, g.c, g.hw), 2);
    if (dc_wanted(k, 9, 0)) {
        out[0] = group_input_grad(k, &g, ds, db);
    }
    if (dc_wanted(k, 9, 1)) {
        aot_tensor *s = view3(t, ds, g.n, g.group, g.cpg);
        aot_tensor *b = view3(t, db, g.n, g.group, g.cpg);
        s = SUB(s, MUL(b, AOT(t, aten_unsqueeze, aot_x_tensor(k, 2), -1)));
        s = MUL(s, AOT(t, aten_unsqueeze, aot_x_tensor(k, 3), -1));
        out[1] = AOT(t, aten_reshape, sum_over(t, s, 0), ((aot_dims){&g.c, 1}));
    }
    if (dc_wanted(k, 9, 2)) {
        out[2] = sum_over(t, db, 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        out[i] = dc_to(t, out[i], result);
    }
    return aot_x_give_tuple(k, 3, out);
}
