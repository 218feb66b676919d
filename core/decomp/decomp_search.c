/* Decompositions of searches: torch/_decomp/decompositions.py, torch/_inductor/decomposition.py. */
#include <stdio.h>
#include <math.h>

#include "trace/tracer.h"
#include "decomp/decomp.h"

static aot_tensor *maybe_not(aot_tracer *t, aot_tensor *x, bool invert)
{
    return invert ? AOT(t, aten_bitwise_not, x) : x;
}

static aot_tensor *isin_default(aot_tracer *t, aot_tensor *elements, aot_tensor *tests, bool invert)
{
    aot_dims size = aot_sizes(elements);
    unsigned n = aot_ndim(tests);
    if (aot_dim_eq(aot_numel(t, elements), aot_dim_of(0))) {
        return AOT(t, aten_empty_like, elements, aot_v_dtype(AOT_B8));
    }
    if (n == 0) {
        return maybe_not(t, AOT(t, aten_eq_Tensor, elements, tests), invert);
    }
    aot_dim shape[2 * AOT_FAKE_MAX_NDIM];
    int64_t dims[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < size.n + n; i++) {
        shape[i] = i < size.n ? size.d[i] : aot_dim_of(1);
    }
    for (unsigned i = 0; i < n; i++) {
        dims[i] = -1 - (int64_t)i;
    }
    aot_tensor *x = AOT(t, aten_view, elements, ((aot_dims){shape, size.n + n}));
    x = AOT(t, aten_any_dims, AOT(t, aten_eq_Tensor, x, tests), aot_v_ints(t, n, dims));
    return maybe_not(t, x, invert);
}

static aot_tensor *isin_sorting(aot_tracer *t, aot_tensor *elements, aot_tensor *tests, bool unique,
                                bool invert)
{
    aot_tensor *flat = AOT(t, aten_flatten_using_ints, elements);
    aot_tensor *flat_tests = AOT(t, aten_flatten_using_ints, tests), *x;
    if (unique) {
        aot_tensor *both[] = {flat, flat_tests};
        aot_tensor *all = AOT(t, aten_cat, aot_v_tensors(t, 2, both));
        aot_value sorted = AOT_V(t, aten_sort_stable, all, true);
        aot_tensor *s = aot_v_item(sorted, 0);
        aot_tensor *next = AOT(t, aten_slice_Tensor, s, 0, 1, INT64_MAX);
        x = AOT(t, aten_eq_Tensor, next, AOT(t, aten_slice_Tensor, s, 0, 0, -1));
        x = AOT(t, aten_constant_pad_nd, x, aot_v_ints(t, 2, (int64_t[]){0, 1}),
                aot_v_bool(false));
        x = invert ? AOT(t, aten_logical_not, x) : x;
        aot_tensor *mask = AOT(t, aten_empty_like, x);
        mask = AOT(t, aten_index_copy, mask, 0, aot_v_item(sorted, 1), x);
        x = AOT(t, aten_slice_Tensor, mask, 0, 0, aot_numel(t, elements));
    } else {
        aot_tensor *sorted = aot_v_item(AOT_V(t, aten_sort, flat_tests), 0);
        aot_tensor *index = AOT(t, aten_searchsorted_Tensor, sorted, flat);
        aot_tensor *inside = AOT(t, aten_lt_Scalar, index, aot_numel(t, sorted));
        index = AOT(t, aten_where_ScalarOther, inside, index, 0);
        aot_tensor *found = AOT(t, aten_index_Tensor, sorted, aot_v_tensors(t, 1, &index));
        x = AOT(t, aten_eq_Tensor, found, flat);
        x = invert ? AOT(t, aten_logical_not, x) : x;
    }
    return AOT(t, aten_reshape, x, aot_sizes(elements));
}

/* isin.Tensor_Tensor, .Tensor_Scalar, .Scalar_Tensor */
bool decomp_isin(aot_expand *k)
{
    aot_tracer *t = k->t;
    bool unique = aot_x_bool(k, 2), invert = aot_x_bool(k, 3);
    if (k->op == AOT_OP_aten_isin_Tensor_Scalar) {
        aot_tensor *x = aot_x_tensor(k, 0);
        return aot_x_give(k, invert ? AOT(t, aten_ne_Scalar, x, k->args[1])
                                    : AOT(t, aten_eq_Scalar, x, k->args[1]));
    }
    aot_tensor *tests = aot_x_tensor(k, 1);
    aot_tensor *elements = k->op == AOT_OP_aten_isin_Scalar_Tensor
                               ? dc_scalar_tensor(t, k->args[0], AOT_NO_DTYPE, tests)
                               : aot_x_tensor(k, 0);
    double few = 10.0 * pow((double)aot_numel(t, elements).value, 0.145);
    bool is_few = (double)aot_numel(t, tests).value < few;
    return aot_x_give(k, is_few ? isin_default(t, elements, tests, invert)
                                : isin_sorting(t, elements, tests, unique, invert));
}

/* torch.tensor([number]): a constant of the graph. */
static aot_tensor *constant_of(aot_tracer *t, aot_value number, const aot_tensor *like)
{
    aot_dim one = aot_dim_of(1);
    aot_dtype d = number.kind == AOT_V_FLOAT ? AOT_F32
                  : number.kind == AOT_V_INT ? AOT_I64
                                             : AOT_B8;
    aot_fake type = aot_fake_new(d, 1, &one, aot_device_of(like));
    aot_tensor *x = aot_tracer_constant(t, &type);
    char text[40];
    snprintf(text, sizeof text, "%.17g", dc_number(number));
    aot_tracer_constant_is(t, text);
    return AOT(t, aten_lift_fresh_copy, x);
}

bool decomp_bucketize_scalar(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *boundaries = aot_x_tensor(k, 1);
    aot_tensor *x = constant_of(t, k->args[0], boundaries);
    x = AOT(t, aten_bucketize_Tensor, x, boundaries, k->args[2], k->args[3]);
    return aot_x_give(k, AOT(t, aten_squeeze_dim, x, 0));
}

bool decomp_searchsorted_scalar(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *sorted = aot_x_tensor(k, 0);
    aot_tensor *x = constant_of(t, k->args[1], sorted);
    x = AOT(t, aten_searchsorted_Tensor, sorted, x, k->args[2], k->args[3], k->args[4], k->args[5]);
    return aot_x_give(k, AOT(t, aten_select_int, x, 0, 0));
}
