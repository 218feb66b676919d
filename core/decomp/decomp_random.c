/* Decompositions of random numbers and dropout: torch/_refs, torch/_decomp/decompositions.py. The
 * arithmetic starts from rand, randn or prims::normal, which a later pass replaces by a seed. */
#include <math.h>

#include "decomp/decomp.h"

/* The default of the schema is a float, that of the Python function an int; PyTorch does not pass
 * trailing defaults. */
static aot_value py_default(const aot_expand *k, unsigned pos, double schema, int64_t python)
{
    return dc_is_number(k->args[pos], schema) ? aot_v_int(python) : k->args[pos];
}

static aot_tensor *rand_like(aot_tracer *t, aot_tensor *x)
{
    return AOT(t, aten_rand_like, x, AOT_NONE, AOT_NONE, AOT_NONE, false);
}

bool decomp_native_dropout(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *input = aot_x_tensor(k, 0), *out[2];
    double p = aot_x_float(k, 1, 0.5);
    aot_value as_bool = aot_v_dtype(AOT_B8);
    if (!aot_x_bool(k, 2) || p == 0) {
        out[0] = input;
        out[1] = AOT(t, aten_ones_like, input, as_bool);
    } else if (p == 1) {
        out[0] = AOT(t, aten_zeros_like, input);
        out[1] = AOT(t, aten_zeros_like, input, as_bool);
    } else {
        out[1] = AOT(t, aten_gt_Scalar, rand_like(t, input), p);
        out[0] = MUL(MUL(out[1], input), 1.0 / (1.0 - p));
    }
    return aot_x_give_tuple(k, 2, out);
}

/* clone into the memory format that suggest_memory_format tells of `like`. */
static aot_tensor *clone_like(aot_tracer *t, aot_tensor *x, const aot_tensor *like)
{
    const aot_fake *f = aot_type_of(like);
    aot_memory_format format = AOT_MF_CONTIGUOUS;
    if (aot_fake_is_format(f, AOT_MF_CHANNELS_LAST)) {
        format = AOT_MF_CHANNELS_LAST;
    } else if (aot_fake_is_format(f, AOT_MF_CHANNELS_LAST_3D)) {
        format = AOT_MF_CHANNELS_LAST_3D;
    }
    if (aot_fake_is_contiguous(f)) {
        format = AOT_MF_CONTIGUOUS;
    }
    return AOT(t, aten_clone, x, aot_v_memory_format(t, format));
}

bool decomp_native_dropout_backward(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *grad = aot_x_tensor(k, 0);
    aot_tensor *mask = dc_to(t, aot_x_tensor(k, 1), aot_dtype_of(grad));
    aot_tensor *x = MUL(grad, MUL(mask, k->args[2]));
    return aot_x_give(k, clone_like(t, x, grad));
}

bool decomp_bernoulli(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *self = aot_x_tensor(k, 0);
    if (!aot_x_is_none(k, 1)) {
        return false;
    }
    aot_tensor *raw = AOT(t, aten_rand, aot_sizes(self), aot_v_dtype(AOT_F32), AOT_NONE,
                          aot_v_device(aot_device_of(self)), false);
    return dc_give(k, AOT(t, aten_lt_Tensor, raw, self), aot_dtype_of(self));
}

/* On the CPU the operator stays. */
bool decomp_bernoulli_p(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *self = aot_x_tensor(k, 0);
    if (dc_on_cpu(t, self)) {
        return false;
    }
    aot_tensor *x = AOT(t, aten_rand_like, self, aot_v_dtype(AOT_F32), AOT_NONE, AOT_NONE, false);
    return aot_x_give(k, AOT(t, aten_lt_Scalar, x, k->args[1]));
}

bool decomp_cauchy(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_value sigma = py_default(k, 2, 1.0, 1);
    aot_value median = sigma.kind == AOT_V_INT ? py_default(k, 1, 0.0, 0) : k->args[1];
    aot_tensor *x = MUL(SUB(rand_like(t, aot_x_tensor(k, 0)), 0.5), M_PI);
    return dc_give(k, ADD(MUL(AOT(t, aten_tan, x), sigma), median), result);
}

/* Half the distance from 1 to the next number. */
static double half_epsilon(aot_dtype d)
{
    return ldexp(1.0, d == AOT_F64 ? -53 : d == AOT_F16 ? -11 : d == AOT_BF16 ? -8 : -24);
}

bool decomp_exponential(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *x = rand_like(t, aot_x_tensor(k, 0));
    double epsilon = half_epsilon(aot_dtype_of(x));
    aot_tensor *one = AOT(t, aten_ge_Scalar, x, 1.0 - epsilon);
    x = AOT(t, aten_where_ScalarSelf, one, -epsilon, AOT(t, aten_log, x));
    return dc_give(k, MUL(x, -1.0 / aot_x_float(k, 1, 1.0)), result);
}

bool decomp_geometric(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_tensor *x = AOT(t, aten_log1p, NEG(rand_like(t, aot_x_tensor(k, 0))));
    x = AOT(t, aten_floor, DIV(x, log1p(-aot_x_float(k, 1, 0.5))));
    return dc_give(k, ADD(x, 1), result);
}

bool decomp_log_normal(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 1, AOT_PROMOTE_DEFAULT);
    aot_value std = py_default(k, 2, 2.0, 2);
    aot_value mean = std.kind == AOT_V_INT ? py_default(k, 1, 1.0, 1) : k->args[1];
    aot_tensor *x =
        AOT(t, aten_randn_like, aot_x_tensor(k, 0), AOT_NONE, AOT_NONE, AOT_NONE, false);
    return dc_give(k, AOT(t, aten_exp, ADD(MUL(x, std), mean)), result);
}

static aot_tensor *standard_normal(aot_expand *k, aot_value size, aot_dtype dtype, aot_value device)
{
    return AOT(k->t, prims_normal, size, 0.0, 1.0, aot_v_dtype(dtype), device, false);
}

/* normal.float_float(mean, std, size) */
bool decomp_normal(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype dtype = aot_x_dtype(k, 4);
    aot_value device = aot_x_is_none(k, 6) ? dc_cpu(t) : k->args[6];
    if (!aot_x_is_none(k, 3)) {
        return false;
    }
    aot_tensor *x = standard_normal(k, k->args[2], dtype == AOT_NO_DTYPE ? AOT_F32 : dtype, device);
    return aot_x_give(k, ADD(MUL(x, k->args[1]), k->args[0]));
}

/* normal.Tensor_Tensor, .Tensor_float, .float_Tensor: the size is that of the tensors. */
bool decomp_normal_tensor(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 3, AOT_PROMOTE_DEFAULT);
    aot_value mean = k->args[0], std = k->args[1];
    aot_tensor *like = mean.kind == AOT_V_TENSOR ? mean.u.t : std.u.t, *other = like;
    if (!aot_x_is_none(k, 2)) {
        return false;
    }
    if (mean.kind == AOT_V_TENSOR && std.kind == AOT_V_TENSOR) {
        other = std.u.t;
    }
    aot_dims size = dc_common_size(t, like, other);
    aot_tensor *x = standard_normal(k, aot_v_dims(t, size), aot_dtype_of(like),
                                    aot_v_device(aot_device_of(like)));
    // the default std is the int of the Python function
    x = std.kind == AOT_V_TENSOR ? MUL(std, x) : MUL(x, py_default(k, 1, 1.0, 1));
    return dc_give(k, ADD(x, mean), result);
}
