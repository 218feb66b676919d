/* Dropouts: dropout is native_dropout; the in-place forms and those that drop whole channels or
 * keep mean and variance are products with noise.
 *
 *     dropout_(x, 0.3, True)  ->  empty_like(x), bernoulli_(.., 0.7), div_(.., 0.7), mul_(x, ..)
 *
 * Mirrors: torch/_decomp/decompositions.py:dropout, aten/src/ATen/native/Dropout.cpp */
#include <math.h>

#include "trace/trace.h"

bool composite_dropout(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    if (!aot_x_bool(k, 2) || aot_x_float(k, 1, 0) == 0) {
        return aot_x_give(k, AOT(t, aten_clone, x));
    }
    return aot_x_give(k, AOT(t, aten_native_dropout, x, k->args[1], k->args[2]));
}

typedef struct dropout_kind {
    bool feature, alpha, inplace;
} dropout_kind;

static dropout_kind kind_of(aot_op_id op)
{
    switch (op) {
    case AOT_OP_aten_dropout_:
        return (dropout_kind){.inplace = true};
    case AOT_OP_aten_feature_dropout:
        return (dropout_kind){.feature = true};
    case AOT_OP_aten_feature_dropout_:
        return (dropout_kind){.feature = true, .inplace = true};
    case AOT_OP_aten_alpha_dropout:
        return (dropout_kind){.alpha = true};
    case AOT_OP_aten_alpha_dropout_:
        return (dropout_kind){.alpha = true, .inplace = true};
    case AOT_OP_aten_feature_alpha_dropout:
        return (dropout_kind){.feature = true, .alpha = true};
    default:
        return (dropout_kind){.feature = true, .alpha = true, .inplace = true};
    }
}

static aot_tensor *multiply(aot_tracer *t, aot_tensor *x, aot_tensor *y, bool inplace)
{
    return inplace ? AOT(t, aten_mul__Tensor, x, y) : AOT(t, aten_mul_Tensor, x, y);
}

/* One number for each channel of each item. */
static aot_tensor *feature_noise(aot_tracer *t, const aot_tensor *x, aot_tensor *self)
{
    unsigned n = aot_ndim(x);
    aot_dim *shape = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, n);
    for (unsigned i = 0; i < n; i++) {
        shape[i] = i < 2 ? aot_size(x, i) : aot_dim_of(1);
    }
    return AOT(t, aten_new_empty, self, ((aot_dims){shape, n}));
}

/* dropout_, feature_dropout, alpha_dropout, feature_alpha_dropout and their in-place forms. */
bool composite_noise_dropout(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    double p = aot_x_float(k, 1, 0.5);
    dropout_kind kind = kind_of(k->op);
    if (p == 0 || !aot_x_bool(k, 2) || aot_dim_is(aot_numel(t, x), 0)) {
        return aot_x_give(k, x);
    }
    if (p == 1) {
        aot_tensor *zero = AOT(t, aten_zeros, aot_v_ints(t, 0, NULL), aot_v_dtype(aot_dtype_of(x)),
                               aot_v_name(t, "torch.strided"), aot_v_device(aot_device_of(x)));
        return aot_x_give(k, multiply(t, x, zero, kind.inplace));
    }
    aot_tensor *noise = kind.feature ? feature_noise(t, x, x) : AOT(t, aten_empty_like, x);
    noise = AOT(t, aten_bernoulli__float, noise, 1 - p);
    if (!kind.alpha) {
        noise = AOT(t, aten_div__Scalar, noise, 1 - p);
        return aot_x_give(k, multiply(t, x, noise, kind.inplace));
    }
    double alpha = 1.7580993408473766;
    double a = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));
    aot_tensor *b = AOT(t, aten_add_Scalar, noise, -1);
    b = AOT(t, aten_mul__Scalar, b, alpha * a);
    b = AOT(t, aten_add__Scalar, b, alpha * a * p);
    noise = AOT(t, aten_mul__Scalar, noise, a);
    x = multiply(t, x, noise, kind.inplace);
    return aot_x_give(k, kind.inplace ? AOT(t, aten_add__Tensor, x, b)
                                      : AOT(t, aten_add_Tensor, x, b));
}
