/* Conversions and joining: to.*, type_as, hstack, meshgrid ...
 * Mirrors aten/src/ATen/native/TensorConversions.cpp (to_impl), TensorShape.cpp. */
#include <string.h>

#include "rules/meta_shared.h"
#include "trace/trace.h"

/* ---- to -------------------------------------------------------------------------------------- */

typedef struct conversion {
    aot_tensor *x;
    aot_value dtype, layout, device, pin_memory, non_blocking, copy, format;
} conversion;

static bool is_true(aot_value v)
{
    return v.kind == AOT_V_BOOL && v.u.dim.value != 0;
}

/* preserve_format, or the layout that x has already. */
static bool keeps_format(aot_tracer *t, const aot_tensor *x, aot_value format)
{
    if (format.kind == AOT_V_NONE) {
        return true;
    }
    const char *name = aot_text(aot_tracer_ctx(t), format.u.s);
    aot_memory_format f = aot_ends_with(name, "channels_last")      ? AOT_MF_CHANNELS_LAST
                          : aot_ends_with(name, "channels_last_3d") ? AOT_MF_CHANNELS_LAST_3D
                                                                    : AOT_MF_CONTIGUOUS;
    return aot_ends_with(name, "preserve_format") || aot_fake_suggest(aot_type_of(x)) == f;
}

static aot_tensor *to(aot_tracer *t, const conversion *c)
{
    bool same =
        (c->dtype.kind == AOT_V_NONE || c->dtype.u.dim.value == (int64_t)aot_dtype_of(c->x)) &&
        (c->device.kind == AOT_V_NONE || c->device.u.s == aot_device_of(c->x)) &&
        !is_true(c->copy) && keeps_format(t, c->x, c->format);
    return same ? c->x
                : AOT(t, aten__to_copy, c->x, c->dtype, c->layout, c->device, c->pin_memory,
                      c->non_blocking, c->format);
}

bool composite_to(aot_expand *k)
{
    conversion c = {.x = aot_x_tensor(k, 0)};
    const aot_value *a = k->args;
    unsigned flags = 2;
    switch (k->op) {
    case AOT_OP_aten_to_dtype:
        c.dtype = a[1];
        break;
    case AOT_OP_aten_to_device:
        c.device = a[1];
        c.dtype = a[2];
        flags = 3;
        break;
    case AOT_OP_aten_to_dtype_layout:
        c.dtype = a[1];
        c.layout = a[2];
        c.device = a[3];
        c.pin_memory = a[4];
        flags = 5;
        break;
    default: { /* to.other */
        const aot_tensor *other = aot_x_tensor(k, 1);
        c.dtype = aot_v_dtype(aot_dtype_of(other));
        c.layout = aot_v_name(k->t, "torch.strided");
        c.device = aot_v_device(aot_device_of(other));
    }
    }
    c.non_blocking = a[flags];
    c.copy = a[flags + 1];
    c.format = a[flags + 2];
    return aot_x_give(k, to(k->t, &c));
}

bool composite_type_as(aot_expand *k)
{
    const aot_tensor *other = aot_x_tensor(k, 1);
    conversion c = {.x = aot_x_tensor(k, 0),
                    .dtype = aot_v_dtype(aot_dtype_of(other)),
                    .layout = aot_v_name(k->t, "torch.strided"),
                    .device = aot_v_device(aot_device_of(other))};
    return aot_x_give(k, to(k->t, &c));
}

/* _cast_Float and its kind; chalf */
bool composite_cast(aot_expand *k)
{
    static const struct {
        aot_op_id op;
        aot_dtype dtype;
    } casts[] = {
        {AOT_OP_aten__cast_Byte, AOT_U8},    {AOT_OP_aten__cast_Char, AOT_I8},
        {AOT_OP_aten__cast_Double, AOT_F64}, {AOT_OP_aten__cast_Float, AOT_F32},
        {AOT_OP_aten__cast_Half, AOT_F16},   {AOT_OP_aten__cast_Int, AOT_I32},
        {AOT_OP_aten__cast_Long, AOT_I64},   {AOT_OP_aten__cast_Short, AOT_I16},
        {AOT_OP_aten_chalf, AOT_C32},
    };
    conversion c = {.x = aot_x_tensor(k, 0)};
    for (unsigned i = 0; i < sizeof casts / sizeof *casts; i++) {
        if (casts[i].op == k->op) {
            c.dtype = aot_v_dtype(casts[i].dtype);
        }
    }
    c.format = k->op == AOT_OP_aten_chalf ? k->args[1] : aot_v_none();
    return aot_x_give(k, to(k->t, &c));
}

/* ---- joining --------------------------------------------------------------------------------- */

/* hstack, vstack, dstack: as many dimensions as needed, then cat */
bool composite_stack_along(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_op_id least = k->op == AOT_OP_aten_hstack   ? (aot_op_id)AOT_OP_aten_atleast_1d_Sequence
                      : k->op == AOT_OP_aten_vstack ? (aot_op_id)AOT_OP_aten_atleast_2d_Sequence
                                                    : (aot_op_id)AOT_OP_aten_atleast_3d_Sequence;
    aot_value list = aot_call_op(t, least, 1, k->args);
    int64_t dim = k->op == AOT_OP_aten_dstack ? 2 : 0;
    if (!aot_v_is_list(list) || list.n == 0) {
        aot_trace_fail(t, AOT_E_SHAPE, "a list without tensors");
    }
    if (k->op == AOT_OP_aten_hstack && aot_ndim(aot_v_item(list, 0)) > 1) {
        dim = 1;
    }
    return aot_x_give(k, AOT(t, aten_cat, list, dim));
}

/* column_stack: vectors are columns */
bool composite_column_stack(aot_expand *k)
{
    aot_tensor *const *in;
    unsigned n = aot_x_tensors(k, 0, &in);
    aot_tensor **out = AOT_NEW_ARRAY(aot_tracer_arena(k->t), aot_tensor *, n + 1);
    for (unsigned i = 0; i < n; i++) {
        aot_dim column[2] = {aot_numel(k->t, in[i]), aot_dim_of(1)};
        out[i] =
            aot_ndim(in[i]) <= 1 ? AOT(k->t, aten_reshape, in[i], ((aot_dims){column, 2})) : in[i];
    }
    return aot_x_give(k, AOT(k->t, aten_hstack, aot_v_tensors(k->t, n, out)));
}

/* fliplr, flipud */
bool composite_flip_along(aot_expand *k)
{
    int64_t dim = k->op == AOT_OP_aten_fliplr;
    return aot_x_give(k, AOT(k->t, aten_flip, aot_x_tensor(k, 0), aot_v_ints(k->t, 1, &dim)));
}

/* meshgrid: each tensor along its own dimension. "xy" exchanges the first two, there and back; the
 * transposition back changes nothing that is seen. */
bool composite_meshgrid(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *const *in, *x[AOT_FAKE_MAX_NDIM], *out[AOT_FAKE_MAX_NDIM];
    unsigned n = aot_x_tensors(k, 0, &in);
    bool swap = k->op == AOT_OP_aten_meshgrid_indexing && aot_x_str_is(k, 1, "xy") && n >= 2;
    aot_dim shape[AOT_FAKE_MAX_NDIM];
    if (n == 0 || n > AOT_FAKE_MAX_NDIM) {
        aot_trace_fail(t, AOT_E_SHAPE, "meshgrid of %u tensors", n);
    }
    memcpy(x, in, n * sizeof *x);
    if (swap) {
        x[0] = in[1];
        x[1] = in[0];
    }
    for (unsigned i = 0; i < n; i++) {
        shape[i] = aot_numel(t, x[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        aot_dim view[AOT_FAKE_MAX_NDIM];
        for (unsigned j = 0; j < n; j++) {
            view[j] = aot_dim_of(j == i ? -1 : 1);
        }
        out[i] = AOT(t, aten_view, x[i], ((aot_dims){view, n}));
        out[i] = AOT(t, aten_expand, out[i], ((aot_dims){shape, n}));
    }
    if (swap) {
        aot_tensor *first = out[0];
        out[0] = out[1];
        out[1] = first;
    }
    return aot_x_give_value(k, aot_v_tensors(t, n, out));
}

bool composite_tile(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims d = aot_x_dims(k, 1);
    unsigned ndim = aot_ndim(x), n = d.n > ndim ? d.n : ndim;
    aot_dim reps[AOT_FAKE_MAX_NDIM];
    for (unsigned i = 0; i < n && i < AOT_FAKE_MAX_NDIM; i++) {
        reps[i] = i + d.n >= n ? d.d[i + d.n - n] : aot_dim_of(1);
    }
    return aot_x_give(k, AOT(k->t, aten_repeat, x, ((aot_dims){reps, n})));
}

/* item(self): the element of a one-element tensor as a number */
bool composite_item(aot_expand *k)
{
    return aot_x_give_value(k, AOT_V(k->t, aten__local_scalar_dense, aot_x_tensor(k, 0)));
}
