/* Types of element-wise operators. Most differ in how dtypes are promoted and in nothing else.
 * Mirrors: the type_promotion_kind of each function in torch/_refs/__init__.py,
 * torch/_refs/nn/functional/__init__.py and torch/_decomp/decompositions.py:pw_cast_for_opmath. */
#include "rules/fake.h"
#include "rules/fake_internal.h"

aot_status meta_pointwise(aot_call *k)
{
    return aot_meta_elementwise(k, AOT_PROMOTE_DEFAULT);
}

/* addcmul, addcdiv: one kernel without conversions of its operands. */
aot_status meta_fused(aot_call *k)
{
    return aot_meta_elementwise(k, AOT_PROMOTE_NO_OPMATH);
}

/* silu_backward(grad_output, self): a product of three, two of which are made of self. */
aot_status meta_silu_backward(aot_call *k)
{
    aot_fake in[2], step[2], out;
    if (!aot_call_tensor(k, 0, "grad_output", &in[0]) || !aot_call_tensor(k, 1, "self", &in[1])) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: two tensors are wanted",
                        aot_text(k->c, k->n->name));
    }
    aot_dtype d = aot_mixed_dtype(in, 2, AOT_NO_DTYPE, AOT_PROMOTE_DEFAULT);
    AOT_TRY(aot_fake_elementwise(k, &in[1], 1, d, &step[1]));
    in[1] = step[1];
    AOT_TRY(aot_fake_elementwise(k, in, 2, d, &step[0]));
    AOT_TRY(aot_fake_elementwise(k, step, 2, d, &out));
    aot_call_push(k, &out);
    return AOT_OK;
}

/* Gradients that choose by the input: where(self <= 0, 0, grad). The condition stands first there,
 * so its strides count before the gradient's. */
aot_status meta_pointwise_gate(aot_call *k)
{
    return aot_meta_elementwise_order(k, AOT_PROMOTE_DEFAULT, true);
}

/* copysign(self, other) = where(signbit(other), -abs(self), abs(self)) */
aot_status meta_copysign(aot_call *k)
{
    return aot_meta_elementwise_order(k, AOT_PROMOTE_INT_TO_FLOAT, true);
}

/* logical_and, logical_or, logical_xor: operands are made booleans first. */
aot_status meta_logical(aot_call *k)
{
    aot_fake in[2], out;
    for (unsigned i = 0; i < 2; i++) {
        if (!aot_call_tensor(k, i, i == 0 ? "self" : "other", &in[i])) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: two tensors are wanted",
                            aot_text(k->c, k->n->name));
        }
        if (in[i].dtype != AOT_B8) {
            aot_fake was = in[i];
            aot_fake_set_permuted(k->c, &in[i], &was, 1);
        }
    }
    AOT_TRY(aot_fake_elementwise(k, in, 2, AOT_B8, &out));
    aot_call_push(k, &out);
    return AOT_OK;
}

/* Comparisons and tests. */
aot_status meta_compare(aot_call *k)
{
    return aot_meta_elementwise(k, AOT_PROMOTE_ALWAYS_BOOL);
}

/* Functions whose values are no integers: exp, sqrt, div. */
aot_status meta_to_float(aot_call *k)
{
    return aot_meta_elementwise(k, AOT_PROMOTE_INT_TO_FLOAT);
}

aot_status meta_abs(aot_call *k)
{
    return aot_meta_elementwise(k, AOT_PROMOTE_COMPLEX_TO_FLOAT);
}

aot_status meta_pow(aot_call *k)
{
    return aot_meta_elementwise(k, AOT_PROMOTE_BOOL_TO_LONG);
}

/* Division with a rounding mode stays among integers; without one it does not. */
aot_status meta_div_mode(aot_call *k)
{
    bool rounds = aot_call_arg(k, 2, "rounding_mode") != NULL;
    return aot_meta_elementwise(k, rounds ? AOT_PROMOTE_DEFAULT : AOT_PROMOTE_INT_TO_FLOAT);
}

static aot_status same_dtype(aot_call *k)
{
    aot_fake t, out;
    if (!aot_call_tensor(k, 0, "self", &t)) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: self is no tensor", aot_text(k->c, k->n->name));
    }
    AOT_TRY(aot_fake_elementwise(k, &t, 1, t.dtype, &out));
    aot_call_push(k, &out);
    return AOT_OK;
}

/* angle(self): complex numbers and integers give floats. */
aot_status meta_angle(aot_call *k)
{
    aot_fake t;
    if (!aot_call_tensor(k, 0, "self", &t)) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: self is no tensor", aot_text(k->c, k->n->name));
    }
    char kind = aot_dtype_get(t.dtype)->kind;
    return kind == 'c' ? meta_abs(k) : kind == 'f' ? same_dtype(k) : meta_to_float(k);
}

/* complex(real, imag), polar(abs, angle) */
aot_status meta_complex(aot_call *k)
{
    aot_fake in[2], out;
    if (!aot_call_tensor(k, 0, "real", &in[0]) || !aot_call_tensor(k, 1, "imag", &in[1])) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: two tensors are wanted",
                        aot_text(k->c, k->n->name));
    }
    aot_dtype d = in[0].dtype == AOT_F64 ? AOT_C128 : in[0].dtype == AOT_F16 ? AOT_C32 : AOT_C64;
    AOT_TRY(aot_fake_elementwise(k, in, 2, d, &out));
    aot_call_push(k, &out);
    return AOT_OK;
}

/* frexp(self): mantissa and exponent. */
aot_status meta_frexp(aot_call *k)
{
    aot_fake t, out;
    AOT_TRY(same_dtype(k));
    if (!aot_call_tensor(k, 0, "self", &t)) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: self is no tensor", aot_text(k->c, k->n->name));
    }
    AOT_TRY(aot_fake_elementwise(k, &t, 1, AOT_I32, &out));
    aot_call_push(k, &out);
    return AOT_OK;
}

/* prims.convert_element_type(a, dtype) */
aot_status meta_convert_element_type(aot_call *k)
{
    aot_fake t, out;
    if (!aot_call_tensor(k, 0, "a", &t)) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: a is no tensor", aot_text(k->c, k->n->name));
    }
    AOT_TRY(aot_fake_elementwise(k, &t, 1, aot_call_dtype(k, 1, "dtype", t.dtype), &out));
    aot_call_push(k, &out);
    return AOT_OK;
}
