/* Pooling in one dimension is pooling in two, of height 1; pooling to one value is a mean.
 *
 *     max_pool1d(x, [3])  ->  squeeze(max_pool2d_with_indices(unsqueeze(x, -2), [1, 3])[0], -2)
 *
 * Mirrors: aten/src/ATen/native/Pooling.cpp, AdaptiveAveragePooling.cpp,
 * AdaptiveAveragePooling3d.cpp */
#include "rules/meta_shared.h"
#include "trace/trace.h"

/* The item of an int[1], and first before it; an empty list stays one. */
static aot_value plane(aot_expand *k, unsigned pos, int64_t first)
{
    aot_dims d = aot_x_dims(k, pos);
    if (d.n == 0) {
        return aot_v_list(k->t, 0, NULL);
    }
    return aot_v_dims(k->t, (aot_dims){(const aot_dim[]){aot_dim_of(first), d.d[0]}, 2});
}

static aot_value squeeze_items(aot_tracer *t, aot_value v, unsigned n)
{
    aot_tensor *r[2] = {NULL, NULL};
    for (unsigned i = 0; i < n; i++) {
        r[i] = AOT(t, aten_squeeze_dim, aot_v_item(v, i), -2);
    }
    return aot_v_tensors(t, n, r);
}

/* (self, kernel_size, stride, padding, dilation, ceil_mode), as planes. */
static aot_value pool1d(aot_expand *k, aot_value x)
{
    aot_value stride = aot_x_dims(k, 2).n != 0 ? plane(k, 2, 1) : plane(k, 1, 1);
    return AOT_V(k->t, aten_max_pool2d_with_indices, x, plane(k, 1, 1), stride, plane(k, 3, 0),
                 plane(k, 4, 1), k->args[5]);
}

bool composite_max_pool1d_with_indices(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_value both = pool1d(k, AOT_V(t, aten_unsqueeze, k->args[0], -2));
    aot_value r = squeeze_items(t, both, 2);
    r.kind = AOT_V_TUPLE;
    return aot_x_give_value(k, r);
}

bool composite_max_pool1d(aot_expand *k)
{
    aot_value both = AOT_V(k->t, aten_max_pool1d_with_indices, k->args[0], k->args[1], k->args[2],
                           k->args[3], k->args[4], k->args[5]);
    return aot_x_give(k, aot_v_item(both, 0));
}

bool composite_max_pool(aot_expand *k)
{
    aot_op_id op = k->op == AOT_OP_aten_max_pool2d ? AOT_OP_aten_max_pool2d_with_indices
                                                   : AOT_OP_aten_max_pool3d_with_indices;
    return aot_x_give(k, aot_v_item(aot_call_op(k->t, op, k->n, k->args), 0));
}

/* avg_pool1d(self, kernel_size, stride, padding, ceil_mode, count_include_pad) */
bool composite_avg_pool1d(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = AOT(t, aten_unsqueeze, k->args[0], -2);
    aot_value stride = aot_x_dims(k, 2).n != 0 ? plane(k, 2, 1) : plane(k, 1, 1);
    x = AOT(t, aten_avg_pool2d, x, plane(k, 1, 1), stride, plane(k, 3, 0), k->args[4], k->args[5]);
    return aot_x_give(k, AOT(t, aten_squeeze_dim, x, -2));
}

bool composite_adaptive_avg_pool1d(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = AOT(t, aten_unsqueeze, k->args[0], -2);
    x = AOT(t, aten_adaptive_avg_pool2d, x, plane(k, 1, 1));
    return aot_x_give(k, AOT(t, aten_squeeze_dim, x, -2));
}

bool composite_adaptive_max_pool1d(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = AOT(t, aten_unsqueeze, k->args[0], -2);
    aot_value both = AOT_V(t, aten_adaptive_max_pool2d, x, plane(k, 1, 1));
    aot_tensor *indices = AOT(t, aten_squeeze_dim, aot_v_item(both, 1), -2);
    aot_tensor *values = AOT(t, aten_squeeze_dim, aot_v_item(both, 0), -2);
    return aot_x_give_tuple(k, 2, (aot_tensor *const[]){values, indices});
}

static bool all_ones(aot_dims d)
{
    for (unsigned i = 0; i < d.n; i++) {
        if (!aot_dim_is(d.d[i], 1)) {
            return false;
        }
    }
    return true;
}

/* adaptive_avg_pool2d, adaptive_avg_pool3d(self, output_size) */
bool composite_adaptive_avg_pool(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *x = aot_x_tensor(k, 0);
    aot_dims size = aot_x_dims(k, 1);
    bool flat = k->op == AOT_OP_aten_adaptive_avg_pool2d;
    if (!all_ones(size)) {
        return aot_x_give(k, flat ? AOT(t, aten__adaptive_avg_pool2d, x, size)
                                  : AOT(t, aten__adaptive_avg_pool3d, x, size));
    }
    aot_tensor *r = AOT(t, aten_mean_dim, x,
                        aot_v_ints(t, flat ? 2 : 3, (const int64_t[]){-1, -2, -3}), true);
    const aot_fake *type = aot_type_of(x);
    aot_memory_format last = flat ? AOT_MF_CHANNELS_LAST : AOT_MF_CHANNELS_LAST_3D;
    if (aot_fake_suggest(type) == last) {
        aot_dim one = aot_dim_of(1), c = aot_size(x, 1);
        const aot_dim shape[] = {aot_size(x, 0), c, one, one, one};
        const aot_dim stride[] = {c, one, c, c, c};
        r = AOT(t, aten_as_strided_, r, ((aot_dims){shape, type->ndim}),
                ((aot_dims){stride, type->ndim}));
    }
    return aot_x_give(k, r);
}
