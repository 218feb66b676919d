/* Decompositions of batch normalization: torch/_decomp/decompositions.py. */
#include "decomp/decomp_parts.h"

/* The arguments that all forms of batch_norm share. */
typedef struct batch_norm {
    aot_tensor *input, *weight, *bias, *running_mean, *running_var;
    bool training, in_place; /* in_place: running statistics are updated by copy_ */
    double momentum;
    aot_value eps;
} batch_norm;

enum { OUT, SAVE_MEAN, SAVE_RSTD, NEW_MEAN, NEW_VAR, N_RESULTS };

/* The moving average. */
static aot_tensor *updated(aot_tracer *t, const batch_norm *b, aot_tensor *now, aot_tensor *running)
{
    now = MUL(now, b->momentum);
    now = ADD(now, MUL(running, 1 - b->momentum));
    if (b->in_place) {
        AOT(t, aten_copy_, running, now);
    }
    return now;
}

/* Elements of one channel, a float of Python. */
static double elements(aot_tracer *t, const aot_tensor *x)
{
    double n = dc_float(t, aot_numel(t, x));
    return n / dc_float(t, aot_size(x, 1));
}

static aot_tensor *train(aot_tracer *t, const batch_norm *b, aot_tensor **r)
{
    int64_t dims[AOT_FAKE_MAX_NDIM] = {0};
    unsigned n = 1;
    for (unsigned i = 2; i < aot_ndim(b->input); i++) {
        dims[n++] = i;
    }
    aot_value over = aot_v_ints(t, n, dims);
    aot_tensor *x = dc_to(t, b->input, dc_computation_dtype(aot_dtype_of(b->input)));
    aot_value both = AOT_V(t, aten_var_mean_correction, x, over, 0, true);
    aot_tensor *var = aot_v_item(both, 0), *mean = aot_v_item(both, 1);
    aot_tensor *rstd = AOT(t, aten_rsqrt, ADD(var, b->eps));
    aot_tensor *out = MUL(SUB(b->input, mean), rstd);
    r[SAVE_MEAN] = AOT(t, aten_squeeze_dims, mean, over);
    r[SAVE_RSTD] = AOT(t, aten_squeeze_dims, rstd, over);
    if (b->running_mean != NULL) {
        r[NEW_MEAN] = updated(t, b, r[SAVE_MEAN], b->running_mean);
    }
    if (b->running_var != NULL) {
        double count = elements(t, b->input);
        var = MUL(AOT(t, aten_squeeze_dims, var, over), count / (count - 1));
        r[NEW_VAR] = updated(t, b, var, b->running_var);
    }
    return out;
}

static aot_tensor *copied(aot_tracer *t, aot_tensor *x, aot_dtype d)
{
    return AOT(t, aten_to_dtype, x, aot_v_dtype(d), false, true);
}

static aot_tensor *evaluate(aot_tracer *t, const batch_norm *b, aot_tensor **r)
{
    aot_dtype compute = dc_computation_dtype(aot_dtype_of(b->input));
    unsigned ndim = aot_ndim(b->input);
    r[NEW_MEAN] = copied(t, b->running_mean, compute);
    r[NEW_VAR] = copied(t, b->running_var, compute);
    aot_tensor *std = AOT(t, aten_sqrt, ADD(r[NEW_VAR], b->eps));
    aot_tensor *rstd = MUL(AOT(t, aten_reciprocal, std), 1);
    if (dc_on_cpu(t, b->input)) {
        aot_dim none = aot_dim_of(0);
        r[SAVE_MEAN] = AOT(t, aten_new_zeros, b->input, ((aot_dims){&none, 1}));
        r[SAVE_RSTD] = AOT(t, aten_new_zeros, b->input, ((aot_dims){&none, 1}));
    } else {
        r[SAVE_MEAN] = r[NEW_MEAN];
        r[SAVE_RSTD] = rstd;
    }
    aot_tensor *mean = dc_unsqueeze_to(t, r[NEW_MEAN], ndim - 1);
    rstd = dc_unsqueeze_to(t, rstd, ndim - 1);
    return MUL(SUB(b->input, mean), rstd);
}

/* native_batch_norm_helper. */
static void normalize(aot_tracer *t, const batch_norm *b, aot_tensor **r)
{
    unsigned ndim = aot_ndim(b->input);
    aot_dtype dtype = aot_dtype_of(b->input);
    r[NEW_MEAN] = b->running_mean;
    r[NEW_VAR] = b->running_var;
    aot_tensor *out = b->training ? train(t, b, r) : evaluate(t, b, r);
    if (b->weight != NULL) {
        aot_tensor *w = AOT(t, aten_flatten_using_ints, b->weight);
        out = MUL(out, dc_unsqueeze_to(t, w, ndim - 1));
    }
    if (b->bias != NULL) {
        aot_tensor *bias = AOT(t, aten_flatten_using_ints, b->bias);
        out = ADD(out, dc_unsqueeze_to(t, bias, ndim - 1));
    }
    if (dc_on_cpu(t, b->input)) {
        r[SAVE_MEAN] = dc_to(t, r[SAVE_MEAN], dtype);
        r[SAVE_RSTD] = dc_to(t, r[SAVE_RSTD], dtype);
    }
    r[OUT] = dc_to(t, out, dtype);
}

static batch_norm args_of(const aot_expand *k, bool stats, unsigned rest, bool training)
{
    batch_norm b = {.input = aot_x_tensor(k, 0),
                    .weight = aot_x_tensor(k, 1),
                    .bias = aot_x_tensor(k, 2),
                    .running_mean = stats ? aot_x_tensor(k, 3) : NULL,
                    .running_var = stats ? aot_x_tensor(k, 4) : NULL,
                    .training = training,
                    .momentum = aot_x_float(k, rest, 0.1),
                    .eps = k->args[rest + 1]};
    return b;
}

/* Above autograd native_batch_norm becomes the form that says what it writes. */
static aot_value as_legit(aot_expand *k)
{
    aot_tracer *t = k->t;
    const aot_value *a = k->args;
    if (aot_x_is_none(k, 3) != aot_x_is_none(k, 4)) {
        aot_trace_fail(t, AOT_E_SHAPE,
                       "running_mean and running_var should both be None or both be provided");
    }
    if (aot_x_is_none(k, 3)) {
        return AOT_V(t, aten__native_batch_norm_legit_no_stats, a[0], a[1], a[2], a[5], a[6], a[7]);
    }
    if (aot_x_bool(k, 5)) {
        return AOT_V(t, aten__native_batch_norm_legit, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                     a[7]);
    }
    return AOT_V(t, aten__native_batch_norm_legit_no_training, a[0], a[1], a[2], a[3], a[4], a[6],
                 a[7]);
}

/* native_batch_norm, _native_batch_norm_legit_functional: training is an argument. */
bool decomp_native_batch_norm(aot_expand *k)
{
    bool functional = k->op == AOT_OP_aten__native_batch_norm_legit_functional;
    if (!functional && !aot_in_decomp(k->t)) {
        return aot_x_give_value(k, as_legit(k));
    }
    batch_norm b = args_of(k, true, 6, aot_x_bool(k, 5));
    aot_tensor *r[N_RESULTS] = {NULL};
    b.in_place = !functional;
    normalize(k->t, &b, r);
    return aot_x_give_tuple(k, functional ? 5 : 3, r);
}

bool decomp_native_batch_norm_legit_no_stats(aot_expand *k)
{
    batch_norm b = args_of(k, false, 4, aot_x_bool(k, 3));
    aot_tensor *r[N_RESULTS] = {NULL};
    normalize(k->t, &b, r);
    return aot_x_give_tuple(k, 3, r);
}

bool decomp_native_batch_norm_legit_no_training(aot_expand *k)
{
    batch_norm b = args_of(k, true, 5, false);
    aot_tensor *r[N_RESULTS] = {NULL};
    normalize(k->t, &b, r);
    return aot_x_give_tuple(k, 3, r);
}

/* The reserve of cuDNN, which is empty elsewhere. */
static aot_tensor *reserve_of(aot_tracer *t, const aot_tensor *input)
{
    aot_dim none = aot_dim_of(0);
    return AOT(t, aten_empty_memory_format, ((aot_dims){&none, 1}), aot_v_dtype(AOT_U8),
               aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(input)), false);
}

bool decomp_batch_norm_no_update(aot_expand *k)
{
    batch_norm b = args_of(k, true, 5, false);
    aot_tensor *r[N_RESULTS] = {NULL};
    normalize(k->t, &b, r);
    aot_tensor *out[] = {r[OUT], r[SAVE_MEAN], r[SAVE_RSTD], reserve_of(k->t, b.input)};
    return aot_x_give_tuple(k, 4, out);
}

bool decomp_batch_norm_with_update_functional(aot_expand *k)
{
    batch_norm b = args_of(k, true, 5, true);
    aot_tensor *r[N_RESULTS] = {NULL};
    normalize(k->t, &b, r);
    aot_tensor *out[] = {r[OUT],      r[SAVE_MEAN], r[SAVE_RSTD], reserve_of(k->t, b.input),
                         r[NEW_MEAN], r[NEW_VAR]};
    return aot_x_give_tuple(k, 6, out);
}

/* ---- gradient -------------------------------------------------------------------------------- */

/* A tensor of one value for each channel, with the input's number of dimensions. */
static aot_tensor *spread(aot_tracer *t, aot_tensor *x, const aot_tensor *input)
{
    for (unsigned axis = 0; axis < aot_ndim(input); axis++) {
        bool wanted = axis != 1 || aot_dim_eq(aot_size(input, 1), aot_dim_of(1));
        if (wanted && !(axis < aot_ndim(x) && aot_dim_eq(aot_size(x, axis), aot_dim_of(1)))) {
            x = AOT(t, aten_unsqueeze, x, axis);
        }
    }
    return x;
}

/* native_batch_norm_backward and batch_norm_backward, which has one argument more at the end. */
bool decomp_native_batch_norm_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *input = aot_x_tensor(k, 1), *cast[7];
    aot_dtype dtype = aot_dtype_of(input), compute = dc_computation_dtype(dtype);
    aot_dtype weight_dtype = aot_x_is_none(k, 2) ? dtype : aot_dtype_of(aot_x_tensor(k, 2));
    bool training = aot_x_bool(k, 7);
    for (unsigned i = 0; i < 7; i++) {
        cast[i] = dc_to(t, aot_x_tensor(k, i), compute);
    }
    aot_tensor *grad = cast[0], *x = cast[1], *weight = cast[2];
    aot_tensor *mean = cast[training ? 5 : 3], *rstd = cast[6];
    if (mean == NULL || (training ? rstd : cast[4]) == NULL) {
        aot_trace_fail(t, AOT_E_SHAPE, "the statistics of the forward are not there");
    }
    if (!training) {
        rstd = AOT(t, aten_rsqrt, ADD(cast[4], k->args[8]));
    }
    int64_t dims[AOT_FAKE_MAX_NDIM];
    unsigned n = 0;
    for (unsigned i = 0; i < aot_ndim(input); i++) {
        if (i != 1) {
            dims[n++] = i;
        }
    }
    aot_value over = aot_v_ints(t, n, dims);
    mean = spread(t, mean, input);
    double norm = 1.0 / elements(t, input);
    aot_tensor *grad_sum = AOT(t, aten_sum_dim_IntList, grad, over);
    aot_tensor *dot = AOT(t, aten_sum_dim_IntList, MUL(grad, SUB(x, mean)), over);
    aot_tensor *grad_mean = spread(t, MUL(grad_sum, norm), input);
    aot_tensor *scaled = MUL(dot, norm);
    aot_tensor *proj_scale = spread(t, MUL(scaled, MUL(rstd, rstd)), input);
    aot_tensor *grad_scale = weight == NULL ? MUL(spread(t, rstd, input), 1.0)
                                            : spread(t, MUL(rstd, weight), input);
    if (training) {
        aot_tensor *proj = MUL(SUB(x, mean), proj_scale);
        grad = SUB(SUB(grad, proj), grad_mean);
    }
    aot_tensor *out[3] = {MUL(grad, grad_scale), NULL, NULL};
    out[1] = dc_wanted(k, 9, 1) ? MUL(dot, rstd) : NULL;
    out[2] = dc_wanted(k, 9, 2) ? grad_sum : NULL;
    out[0] = dc_to(t, out[0], dtype);
    out[1] = dc_to(t, out[1], weight_dtype);
    out[2] = dc_to(t, out[2], weight_dtype);
    return aot_x_give_tuple(k, 3, out);
}
