/* pad: one operator for each mode; circular padding is made of copies.
 *
 * Mirrors: aten/src/ATen/native/PadNd.cpp */
#include "trace/trace.h"

static bool pads(aot_dims padding, unsigned ndim, unsigned n_spatial)
{
    return padding.n == 2 * n_spatial && (ndim == n_spatial + 1 || ndim == n_spatial + 2);
}

static aot_op_id by_dims(aot_dims padding, unsigned ndim, aot_op_id d1, aot_op_id d2, aot_op_id d3)
{
    return pads(padding, ndim, 1)   ? d1
           : pads(padding, ndim, 2) ? d2
           : pads(padding, ndim, 3) ? d3
                                    : AOT_OP_UNKNOWN;
}

enum { CONSTANT, REFLECT, REPLICATE, CIRCULAR };

static aot_tensor *pad(aot_expand *k, int mode, aot_value value)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims padding = aot_x_dims(k, 1);
    if (mode == CONSTANT) {
        value = value.kind == AOT_V_NONE  ? aot_v_float(0)
                : value.kind == AOT_V_INT ? aot_v_float((double)value.u.dim.value)
                                          : value;
        return AOT(t, aten_constant_pad_nd, x, padding, value);
    }
    if (mode == CIRCULAR) {
        return AOT(t, aten__pad_circular, x, padding);
    }
    aot_op_id op = mode == REFLECT
                       ? by_dims(padding, aot_ndim(x), AOT_OP_aten_reflection_pad1d,
                                 AOT_OP_aten_reflection_pad2d, AOT_OP_aten_reflection_pad3d)
                       : by_dims(padding, aot_ndim(x), AOT_OP_aten_replication_pad1d,
                                 AOT_OP_aten_replication_pad2d, AOT_OP_aten_replication_pad3d);
    if (op == AOT_OP_UNKNOWN) {
        aot_trace_fail(t, AOT_E_UNSUPPORTED, "pad: this mode takes 1 to 3 padded dimensions of an "
                                             "input with one or two more");
    }
    return aot_v_first(aot_call_op(t, op, 2, k->args));
}

/* pad(self, pad, mode, value) */
bool composite_pad(aot_expand *k)
{
    int mode = aot_x_str_is(k, 2, "reflect")     ? REFLECT
               : aot_x_str_is(k, 2, "replicate") ? REPLICATE
               : aot_x_str_is(k, 2, "circular")  ? CIRCULAR
                                                 : CONSTANT;
    return aot_x_give(k, pad(k, mode, k->args[3]));
}

bool composite_pad_enum(aot_expand *k)
{
    return aot_x_give(k, pad(k, (int)aot_x_int(k, 2, 0), k->args[3]));
}

/* One side of one dimension of the padded tensor. */
typedef struct sides {
    aot_dim left, right, size, padded; /* size of the input, of the output */
    unsigned dim;
} sides;

static aot_dim positive(aot_tracer *t, aot_dim a)
{
    return aot_trace_dim(t, '>', a, aot_dim_of(0));
}

static aot_dim less(aot_tracer *t, aot_dim a, aot_dim b)
{
    return aot_trace_dim(t, '-', a, b);
}

static void copy_inner(aot_tracer *t, aot_tensor *out, aot_tensor *x, const sides *d, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const sides *s = &d[i];
        out = AOT(t, aten_slice_Tensor, out, s->dim, positive(t, s->left),
                  less(t, s->padded, positive(t, s->right)));
        x = AOT(t, aten_slice_Tensor, x, s->dim,
                positive(t, aot_trace_dim(t, '~', s->left, s->left)),
                less(t, s->size, positive(t, aot_trace_dim(t, '~', s->right, s->right))));
    }
    (void)AOT(t, aten_copy_, out, x);
}

static void copy_slice(aot_tracer *t, aot_tensor *out, unsigned dim, aot_dim to, aot_dim to_end,
                       aot_dim from, aot_dim from_end)
{
    aot_tensor *target = AOT(t, aten_slice_Tensor, out, dim, to, to_end);
    aot_tensor *source = AOT(t, aten_slice_Tensor, out, dim, from, from_end);
    (void)AOT(t, aten_copy_, target, source);
}

bool composite_pad_circular(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims padding = aot_x_dims(k, 1);
    unsigned n = padding.n / 2, ndim = aot_ndim(x);
    if (padding.n % 2 != 0 || ndim != n + 2) {
        aot_trace_fail(t, AOT_E_SHAPE, "circular padding of %u numbers for %u dimensions",
                       padding.n, ndim);
    }
    sides *d = AOT_NEW_ARRAY(aot_tracer_arena(t), sides, n + 1);
    aot_dim *shape = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_dim, ndim);
    for (unsigned i = 0; i < ndim; i++) {
        shape[i] = aot_size(x, i);
    }
    for (unsigned i = 0; i < n; i++) {
        sides *s = &d[i];
        *s = (sides){.left = padding.d[2 * i], .right = padding.d[2 * i + 1], .dim = n - i + 1};
        s->size = aot_size(x, s->dim);
        s->padded = aot_trace_dim(t, '+', aot_trace_dim(t, '+', s->size, s->left), s->right);
        shape[s->dim] = s->padded;
    }
    aot_tensor *out = AOT(t, aten_new_empty, x, ((aot_dims){shape, ndim}),
                          aot_v_dtype(aot_dtype_of(x)), aot_v_name(t, "torch.strided"),
                          aot_v_device(aot_device_of(x)));
    copy_inner(t, out, x, d, n);
    for (unsigned i = 0; i < n; i++) {
        const sides *s = &d[i];
        aot_dim end = less(t, s->padded, positive(t, s->right));
        if (s->left.value > 0) {
            copy_slice(t, out, s->dim, aot_dim_of(0), s->left, less(t, end, s->left), end);
        }
        if (s->right.value > 0) {
            aot_dim from = positive(t, s->left);
            copy_slice(t, out, s->dim, less(t, s->padded, s->right), s->padded, from,
                       aot_trace_dim(t, '+', from, s->right));
        }
    }
    return aot_x_give(k, out);
}
