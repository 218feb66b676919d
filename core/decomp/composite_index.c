/* Indexing and choosing made of other operators: where with numbers, take_along_dim ...
 * Mirrors aten/src/ATen/native/TensorCompare.cpp, TensorAdvancedIndexing.cpp, Repeat.cpp,
 * Pow.cpp. */
#include "ir/symalg.h"
#include "trace/trace.h"
#include "trace/tracer.h"

/* ---- types of results ------------------------------------------------------------------------ */

static int rank(aot_dtype d)
{
    char kind = aot_dtype_get(d)->kind;
    return kind == 'b' ? 0 : kind == 'c' ? 3 : kind == 'f' ? 2 : 1;
}

static aot_dtype number_dtype(aot_value v)
{
    return v.kind == AOT_V_BOOL      ? AOT_B8
           : v.kind == AOT_V_INT     ? AOT_I64
           : v.kind == AOT_V_COMPLEX ? AOT_C64
                                     : AOT_F32;
}

/* Of a tensor and a Python number: the number counts only if it is of a higher kind. */
static aot_dtype with_number(const aot_tensor *x, aot_value v)
{
    aot_dtype a = aot_dtype_of(x), b = number_dtype(v);
    if (rank(b) <= rank(a)) {
        return a;
    }
    return b == AOT_C64 && a == AOT_F64 ? AOT_C128 : b;
}

static aot_tensor *scalar_like(aot_tracer *t, aot_value v, aot_dtype d, const aot_tensor *like)
{
    return AOT(t, aten_scalar_tensor, v, aot_v_dtype(d), aot_v_name(t, "torch.strided"),
               aot_v_device(aot_device_of(like)));
}

/* ---- where ----------------------------------------------------------------------------------- */

bool composite_where_scalar(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *cond = aot_x_tensor(k, 0), *x, *y;
    aot_value a = k->args[1], b = k->args[2];
    if (a.kind != AOT_V_TENSOR && b.kind != AOT_V_TENSOR) {
        aot_dtype d = number_dtype(a);
        d = rank(number_dtype(b)) > rank(d) ? number_dtype(b) : d;
        y = scalar_like(t, b, d, cond);
        x = scalar_like(t, a, d, cond);
    } else if (a.kind == AOT_V_TENSOR) {
        aot_dtype d = with_number(a.u.t, b);
        y = scalar_like(t, b, d, a.u.t);
        x = AOT(t, aten_to_dtype, a.u.t, aot_v_dtype(d));
    } else {
        aot_dtype d = with_number(b.u.t, a);
        x = scalar_like(t, a, d, b.u.t);
        y = AOT(t, aten_to_dtype, b.u.t, aot_v_dtype(d));
    }
    return aot_x_give(k, AOT(t, aten_where_self, cond, x, y));
}

/* where(condition): the indices of what is true */
bool composite_where_indices(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    x = aot_ndim(x) == 0 ? AOT(k->t, aten_unsqueeze, x, 0) : x;
    x = AOT(k->t, aten_nonzero, x);
    return aot_x_give_value(k, AOT_V(k->t, aten_unbind_int, x, 1));
}

bool composite_argwhere(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_nonzero, aot_x_tensor(k, 0)));
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* take_along_dim(self, indices, dim) */
bool composite_take_along_dim(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *index = aot_x_tensor(k, 1);
    int64_t flat = -1;
    if (aot_x_is_none(k, 2)) {
        x = AOT(t, aten_view, x, aot_v_ints(t, 1, &flat));
        index = AOT(t, aten_view, index, aot_v_ints(t, 1, &flat));
        return aot_x_give(k, AOT(t, aten_gather, x, 0, index));
    }
    unsigned n = aot_ndim(x), dim = aot_wrap_dim(t, aot_x_int(k, 2, 0), n);
    aot_dim sx[AOT_FAKE_MAX_NDIM], si[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n; i++) {
        aot_dim a = aot_size(x, i), b = aot_size(index, i), wide = aot_dim_is(a, 1) ? b : a;
        sx[i] = i == dim ? a : wide;
        si[i] = i == dim ? b : wide;
    }
    aot_dim size = aot_size(x, dim);
    index = AOT(t, aten_expand, index, ((aot_dims){si, n}));
    x = AOT(t, aten_expand, x, ((aot_dims){sx, n}));
    index = AOT(t, aten_remainder_Scalar, index, size);
    return aot_x_give(k, AOT(t, aten_gather, x, (int64_t)dim, index));
}

/* repeat_interleave(self, repeats, dim): a new dimension expanded and flattened */
bool composite_repeat_interleave_int(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    if (aot_x_is_none(k, 2)) {
        x = AOT(t, aten_flatten_using_ints, x);
    }
    unsigned dim = aot_x_is_none(k, 2) ? 0 : aot_wrap_dim(t, aot_x_int(k, 2, 0), aot_ndim(x));
    aot_dim size[AOT_FAKE_MAX_NDIM];
    x = AOT(t, aten_unsqueeze, x, (int64_t)dim + 1);
    for (unsigned i = 0; i < aot_ndim(x); i++) {
        size[i] = i == dim + 1 ? aot_x_dim(k, 1, 1) : aot_size(x, i);
    }
    x = AOT(t, aten_expand, x, ((aot_dims){size, aot_ndim(x)}));
    x = AOT(t, aten_clone, x, aot_v_memory_format(t, AOT_MF_CONTIGUOUS));
    return aot_x_give(k, AOT(t, aten_flatten_using_ints, x, (int64_t)dim, (int64_t)dim + 1));
}

bool composite_repeat_interleave_tensor(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0), *repeats = aot_x_tensor(k, 1);
    if (aot_x_is_none(k, 2)) {
        x = AOT(t, aten_flatten_using_ints, x);
    }
    int64_t dim =
        aot_x_is_none(k, 2) ? 0 : (int64_t)aot_wrap_dim(t, aot_x_int(k, 2, 0), aot_ndim(x));
    if (aot_ndim(repeats) == 0 || (aot_ndim(repeats) == 1 && aot_dim_is(aot_size(repeats, 0), 1))) {
        int64_t one = 1;
        aot_dim size = aot_size(x, dim);
        repeats = AOT(t, aten_reshape, repeats, aot_v_ints(t, 1, &one));
        repeats = AOT(t, aten_expand, repeats, ((aot_dims){&size, 1}));
    }
    aot_tensor *index = AOT(t, aten_repeat_interleave_Tensor, repeats, k->args[3]);
    return aot_x_give(k, AOT(t, aten_index_select, x, dim, index));
}

/* ---- combinations ---------------------------------------------------------------------------- */

bool composite_cartesian_prod(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *const *in, *out[AOT_FAKE_MAX_NDIM];
    unsigned n = aot_x_tensors(k, 0, &in);
    if (n == 1) {
        return aot_x_give(k, in[0]);
    }
    aot_value grids = AOT_V(t, aten_meshgrid, k->args[0]);
    for (unsigned i = 0; i < n && i < AOT_FAKE_MAX_NDIM; i++) {
        out[i] = AOT(t, aten_flatten_using_ints, aot_v_item(grids, i));
    }
    return aot_x_give(k, AOT(t, aten_stack, aot_v_tensors(t, n, out), 1));
}

/* ---- float_power, xlogy ---------------------------------------------------------------------- */

static bool any_complex(aot_value a, aot_value b)
{
    bool ca = a.kind == AOT_V_TENSOR ? aot_is_complex(a.u.t) : a.kind == AOT_V_COMPLEX;
    bool cb = b.kind == AOT_V_TENSOR ? aot_is_complex(b.u.t) : b.kind == AOT_V_COMPLEX;
    return ca || cb;
}

static aot_value wide(aot_tracer *t, aot_value v, aot_dtype d)
{
    if (v.kind == AOT_V_TENSOR) {
        return AOT_V(t, aten_to_dtype, v.u.t, aot_v_dtype(d));
    }
    return v.kind == AOT_V_COMPLEX || v.kind == AOT_V_FLOAT ? v
                                                            : aot_v_float((double)v.u.dim.value);
}

/* float_power: pow in double precision */
bool composite_float_power(aot_expand *k)
{
    aot_dtype d = any_complex(k->args[0], k->args[1]) ? AOT_C128 : AOT_F64;
    aot_op_id op = k->op == AOT_OP_aten_float_power_Scalar ? (aot_op_id)AOT_OP_aten_pow_Scalar
                   : k->op == AOT_OP_aten_float_power_Tensor_Scalar
                       ? (aot_op_id)AOT_OP_aten_pow_Tensor_Scalar
                       : (aot_op_id)AOT_OP_aten_pow_Tensor_Tensor;
    aot_value args[2];
    args[1] = wide(k->t, k->args[1], d);
    args[0] = wide(k->t, k->args[0], d);
    return aot_x_give_value(k, aot_call_op(k->t, op, 2, args));
}

bool composite_square(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_pow_Tensor_Scalar, aot_x_tensor(k, 0), 2));
}

/* ---- backward helpers that are composite ----------------------------------------------------- */

/* gather_backward(grad, self, dim, index, sparse_grad) */
bool composite_gather_backward(aot_expand *k)
{
    aot_tensor *g = aot_x_tensor(k, 0);
    aot_tensor *z = AOT(k->t, aten_new_zeros, g, aot_sizes(aot_x_tensor(k, 1)));
    return aot_x_give(k, AOT(k->t, aten_scatter_add, z, k->args[2], k->args[3], g));
}

/* index_select_backward(grad, self_sizes, dim, index) */
bool composite_index_select_backward(aot_expand *k)
{
    aot_tensor *g = aot_x_tensor(k, 0);
    aot_tensor *z = AOT(k->t, aten_new_zeros, g, k->args[1], aot_v_dtype(aot_dtype_of(g)),
                        aot_v_name(k->t, "torch.strided"), aot_v_device(aot_device_of(g)));
    return aot_x_give(k, AOT(k->t, aten_index_add_, z, k->args[2], k->args[3], g));
}

static void fill_strided(aot_tracer *t, aot_tensor *x, aot_dim n, aot_dim step, aot_dim offset,
                         aot_value number)
{
    aot_dims size = {&n, 1}, stride = {&step, 1};
    AOT(t, aten_fill__Scalar, AOT(t, aten_as_strided, x, size, stride, offset), number);
}

/* fill_diagonal_(self, fill_value, wrap): a view of the diagonal is filled; with wrap the diagonal
 * of a tall matrix begins again below its first end. */
bool composite_fill_diagonal_(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_ctx *c = aot_tracer_ctx(t);
    aot_tensor *x = aot_x_tensor(k, 0);
    unsigned ndim = aot_ndim(x);
    if (ndim < 2) {
        aot_trace_fail(t, AOT_E_SHAPE, "fill_diagonal_: dimensions must be larger than 1");
    }
    aot_dim rows = aot_size(x, 0), columns = aot_size(x, 1), step = aot_dim_of(0);
    aot_dim n = rows.value < columns.value ? rows : columns, offset = aot_dim_of(0);
    if (aot_trace_view_base(x) != NULL) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "fill_diagonal_ of a view: its offset is not known");
    }
    for (unsigned i = 0; i < ndim; i++) {
        step = aot_dim_add(c, step, aot_strides(x).d[i]);
    }
    fill_strided(t, x, n, step, offset, k->args[1]);
    if (aot_x_bool(k, 2) && ndim == 2 && rows.value > columns.value + 1) {
        int64_t every = columns.value + 1, all = rows.value * columns.value;
        aot_dim below = aot_dim_mul(c, aot_strides(x).d[0], aot_dim_of(every));
        fill_strided(t, x, aot_dim_of((all + every - 1) / every - n.value), step,
                     aot_dim_add(c, offset, below), k->args[1]);
    }
    return aot_x_give(k, x);
}
