/* Decompositions of tensors made from sizes and numbers: torch/_refs,
 * torch/_inductor/decomposition.py. Inductor knows full and empty; zeros, ones, the *_like and
 * new_* forms come down to them. */
#include "decomp/decomp.h"

/* The keyword arguments of a factory. */
typedef struct options {
    aot_value dtype, layout, device, pin_memory;
} options;

static aot_value or_else(aot_value v, aot_value other)
{
    return v.kind == AOT_V_NONE ? other : v;
}

/* The four arguments from `pos`, with the defaults of torch._refs; `like` may be NULL. */
static options options_of(const aot_expand *k, unsigned pos, const aot_tensor *like)
{
    aot_dtype dtype = like == NULL ? AOT_F32 : aot_dtype_of(like);
    aot_value device = like == NULL ? dc_cpu(k->t)
                                    : aot_v_device(aot_device_of(like));
    return (options){or_else(k->args[pos], aot_v_dtype(dtype)),
                     or_else(k->args[pos + 1], aot_v_name(k->t, "torch.strided")),
                     or_else(k->args[pos + 2], device),
                     or_else(k->args[pos + 3], aot_v_bool(false))};
}

static aot_tensor *full(aot_tracer *t, aot_value size, aot_value value, options o)
{
    return AOT(t, aten_full, size, value, o.dtype, o.layout, o.device, o.pin_memory);
}

/* 0 or 1, False or True for bool. */
static aot_value fill_of(aot_value dtype, bool one)
{
    return dtype.u.dim.value == AOT_B8 ? aot_v_bool(one) : aot_v_int(one);
}

/* Without a dtype: that of the number. */
bool decomp_full(aot_expand *k)
{
    aot_tracer *t = k->t;
    unsigned pos = k->op == AOT_OP_aten_full ? 2 : 3; // full.names has names before
    if (!aot_x_is_none(k, pos)) {
        return false;
    }
    options o = options_of(k, pos, NULL);
    uint8_t kind = k->args[1].kind;
    o.dtype = aot_v_dtype(kind == AOT_V_BOOL      ? AOT_B8
                          : kind == AOT_V_INT     ? AOT_I64
                          : kind == AOT_V_COMPLEX ? AOT_C64
                                                  : AOT_F32);
    o.layout = k->args[pos + 1];
    return aot_x_give(k, full(t, k->args[0], k->args[1], o));
}

/* zeros, ones */
bool decomp_zeros(aot_expand *k)
{
    options o = options_of(k, 1, NULL);
    aot_value fill = fill_of(o.dtype, k->op == AOT_OP_aten_ones);
    return aot_x_give(k, full(k->t, k->args[0], fill, o));
}

/* new_zeros, new_ones */
bool decomp_new_zeros(aot_expand *k)
{
    options o = options_of(k, 2, aot_x_tensor(k, 0));
    aot_value fill = fill_of(o.dtype, k->op == AOT_OP_aten_new_ones);
    return aot_x_give(k, full(k->t, k->args[1], fill, o));
}

bool decomp_new_full(aot_expand *k)
{
    return aot_x_give(k, full(k->t, k->args[1], k->args[2], options_of(k, 3, aot_x_tensor(k, 0))));
}

/* ---- like another tensor --------------------------------------------------------------------- */

static bool preserves(const aot_expand *k, unsigned pos)
{
    return aot_x_is_none(k, pos) || aot_x_str_is(k, pos, "torch.preserve_format");
}

/* Puts a tensor made in the physical order of x's dimensions into the logical one. */
typedef struct layout {
    bool identity;
    aot_value physical, size, permutation;
} layout;

static layout layout_of(aot_tracer *t, const aot_tensor *x)
{
    layout l;
    unsigned n = aot_ndim(x);
    int64_t physical[AOT_FAKE_MAX_NDIM], permutation[AOT_FAKE_MAX_NDIM];
    aot_dim size[AOT_FAKE_MAX_NDIM];
    l.identity = dc_physical_layout(x, physical);
    for (unsigned i = 0; i < n; i++) {
        size[i] = aot_size(x, physical[i]);
        permutation[physical[i]] = i;
    }
    l.physical = aot_v_ints(t, n, physical);
    l.size = aot_v_dims(t, (aot_dims){size, n});
    l.permutation = aot_v_ints(t, n, permutation);
    return l;
}

static aot_tensor *unpermuted(aot_tracer *t, aot_tensor *x, const layout *l)
{
    return l->identity ? x : AOT(t, aten_clone, AOT(t, aten_permute, x, l->permutation));
}

static aot_tensor *in_format(aot_tracer *t, aot_tensor *x, aot_value format)
{
    return AOT(t, aten_to_dtype, x, aot_v_dtype(aot_dtype_of(x)), false, false, format);
}

bool decomp_full_like(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *self = aot_x_tensor(k, 0);
    options o = options_of(k, 2, self);
    if (!preserves(k, 6)) {
        aot_tensor *x = full(t, aot_v_dims(t, aot_sizes(self)), k->args[1], o);
        return aot_x_give(k, in_format(t, x, k->args[6]));
    }
    layout l = layout_of(t, self);
    return aot_x_give(k, unpermuted(t, full(t, l.size, k->args[1], o), &l));
}

/* zeros_like, ones_like: full_like of the number. */
bool decomp_zeros_like(aot_expand *k)
{
    aot_tensor *self = aot_x_tensor(k, 0);
    aot_value dtype = or_else(k->args[1], aot_v_dtype(aot_dtype_of(self)));
    aot_value fill = fill_of(dtype, k->op == AOT_OP_aten_ones_like);
    bool core = aot_has_core_decomps(k->t); // full_like stays there, as the reference calls it
    aot_value pin = core ? or_else(k->args[4], aot_v_bool(false)) : k->args[4];
    aot_value format =
        core ? or_else(k->args[5], aot_v_name(k->t, "torch.preserve_format")) : k->args[5];
    return aot_x_give(k, AOT(k->t, aten_full_like, self, fill, k->args[1], k->args[2], k->args[3],
                             pin, format));
}

static aot_tensor *empty(aot_tracer *t, aot_value size, options o, aot_value format)
{
    return AOT(t, aten_empty_memory_format, size, o.dtype, o.layout, o.device, o.pin_memory,
               format);
}

bool decomp_new_empty(aot_expand *k)
{
    options o = options_of(k, 2, aot_x_tensor(k, 0));
    return aot_x_give(k, empty(k->t, k->args[1], o, AOT_NONE));
}

bool decomp_empty_like(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *self = aot_x_tensor(k, 0);
    options o = options_of(k, 1, self);
    aot_value size = aot_v_dims(t, aot_sizes(self));
    if (!preserves(k, 5)) {
        return aot_x_give(k, empty(t, size, o, k->args[5]));
    }
    layout l = layout_of(t, self);
    return aot_x_give(k, AOT(t, aten_empty_permuted, size, l.physical, o.dtype, o.layout, o.device,
                             o.pin_memory));
}

bool decomp_empty_permuted(aot_expand *k)
{
    aot_tracer *t = k->t;
    options o = options_of(k, 2, NULL);
    o.dtype = k->args[2];
    o.layout = k->args[3];
    aot_dims size = aot_x_dims(k, 0), physical = aot_x_dims(k, 1);
    aot_dim sorted[AOT_FAKE_MAX_NDIM];
    int64_t permutation[AOT_FAKE_MAX_NDIM];
    bool identity = true, seen[AOT_FAKE_MAX_NDIM] = {false};
    if (physical.n != size.n) {
        aot_trace_fail(t, AOT_E_SHAPE, "empty_permuted: %u dimensions in an order of %u", size.n,
                       physical.n);
    }
    for (unsigned i = 0; i < physical.n; i++) {
        int64_t p = physical.d[i].value;
        if (p < 0 || p >= size.n || seen[p]) {
            aot_trace_fail(t, AOT_E_SHAPE, "empty_permuted: no order of %u dimensions", size.n);
        }
        seen[p] = true;
        sorted[i] = size.d[p];
        permutation[p] = i;
        identity = identity && p == i;
    }
    aot_tensor *x = empty(t, aot_v_dims(t, (aot_dims){sorted, size.n}), o, AOT_NONE);
    return aot_x_give(
        k, identity ? x : AOT(t, aten_permute, x, aot_v_ints(t, physical.n, permutation)));
}

/* ---- random numbers like another tensor ------------------------------------------------------ */

/* torch.rand and torch.randn, as their Python bindings call them. */
static aot_tensor *random_of(aot_tracer *t, aot_op_id op, aot_value size, options o)
{
    aot_value args[] = {size, o.dtype, o.layout, o.device, o.pin_memory};
    return aot_v_first(aot_call_op(t, op, 5, args));
}

/* rand_like, randn_like; forms with a generator stay. */
bool decomp_rand_like(aot_expand *k)
{
    aot_tracer *t = k->t;
    bool given = k->op == AOT_OP_aten_rand_like_generator ||
                 k->op == AOT_OP_aten_randn_like_generator;
    unsigned pos = given ? 2 : 1;
    if (given && !aot_x_is_none(k, 1)) {
        return false;
    }
    bool normal = k->op == AOT_OP_aten_randn_like || k->op == AOT_OP_aten_randn_like_generator;
    aot_op_id op = normal ? AOT_OP_aten_randn : AOT_OP_aten_rand;
    aot_tensor *self = aot_x_tensor(k, 0);
    options o = options_of(k, pos, self);
    o.layout = k->args[pos + 1];
    if (!preserves(k, pos + 4)) {
        aot_tensor *x = random_of(t, op, aot_v_dims(t, aot_sizes(self)), o);
        return aot_x_give(k, in_format(t, x, k->args[pos + 4]));
    }
    layout l = layout_of(t, self);
    return aot_x_give(k, unpermuted(t, random_of(t, op, l.size, o), &l));
}

/* randint_like(self, high), randint_like.low_dtype(self, low, high) */
bool decomp_randint_like(aot_expand *k)
{
    aot_tracer *t = k->t;
    bool has_low = k->op == AOT_OP_aten_randint_like_low_dtype;
    unsigned pos = has_low ? 3 : 2;
    aot_value low = has_low ? k->args[1] : aot_v_int(0);
    aot_tensor *self = aot_x_tensor(k, 0);
    options o = options_of(k, pos, self);
    bool keeps = preserves(k, pos + 4);
    layout l = layout_of(t, self);
    aot_value size = keeps ? l.size : aot_v_dims(t, aot_sizes(self));
    aot_tensor *x = AOT(t, aten_randint_low, low, k->args[pos - 1], size, o.dtype, k->args[pos + 1],
                        o.device, k->args[pos + 3]);
    return aot_x_give(k, keeps ? unpermuted(t, x, &l) : in_format(t, x, k->args[pos + 4]));
}

bool decomp_randint(aot_expand *k)
{
    return aot_x_give(k, AOT(k->t, aten_randint_low, 0, k->args[0], k->args[1], k->args[2],
                             k->args[3], k->args[4], k->args[5]));
}
