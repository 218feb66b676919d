/* Shared by META rules: reading arguments that must be there, layouts, shapes of reductions.
 *
 * Mirrors: torch/_prims_common:compute_reduction_output_shape, reduction_dims,
 * suggest_memory_format, get_computation_dtype,
 * compute_elementwise_output_logical_to_physical_perm. */
#include "rules/meta_shared.h"

#include <string.h>

/* ---- arguments ----------------------------------------------------------------------------- */

aot_status aot_call_need(const aot_call *k, unsigned pos, const char *name, aot_fake *out)
{
    if (!aot_call_tensor(k, pos, name, out)) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: argument %s has no tensor type",
                        aot_op(k->n->op)->name, name);
    }
    return AOT_OK;
}

bool aot_call_flag(const aot_call *k, unsigned pos, const char *name, unsigned i)
{
    const aot_arg *a = aot_call_arg(k, pos, name);
    if (!a || (a->kind != AOT_ARG_LIST && a->kind != AOT_ARG_TUPLE) || i >= a->n) {
        return true;
    }
    return aot_arg_items(k->g, a)[i].u.i != 0;
}

aot_dim aot_call_spatial(const aot_call *k, unsigned pos, const char *name, unsigned i,
                         int64_t def)
{
    unsigned n = aot_call_n_items(k, pos, name);
    if (n == 0) {
        return aot_call_int(k, pos, name, def);
    }
    return aot_call_item(k, pos, name, n == 1 ? 0 : i, def);
}

/* ---- results ------------------------------------------------------------------------------- */

aot_fake aot_fake_make(const aot_call *k, aot_dtype d, unsigned ndim, const aot_dim *sizes,
                       aot_str device)
{
    aot_fake t;
    memset(&t, 0, sizeof t);
    t.val = AOT_VAL_TENSOR;
    t.dtype = (uint8_t)d;
    t.ndim = (uint8_t)(ndim < AOT_FAKE_MAX_NDIM ? ndim : AOT_FAKE_MAX_NDIM);
    t.device = device;
    if (t.ndim) {
        memcpy(t.size, sizes, t.ndim * sizeof *sizes);
    }
    aot_fake_set_contiguous(k->c, &t);
    return t;
}

void aot_push_contiguous(aot_call *k, const aot_fake *t, aot_dtype d)
{
    aot_fake out = aot_fake_make(k, d, t->ndim, t->size, t->device);
    aot_call_push(k, &out);
}

void aot_push_scalar(aot_call *k, const aot_fake *like, aot_dtype d)
{
    aot_fake out = aot_fake_make(k, d, 0, NULL, like->device);
    aot_call_push(k, &out);
}

void aot_push_vector(aot_call *k, const aot_fake *like, aot_dtype d, aot_dim n)
{
    aot_fake out = aot_fake_make(k, d, 1, &n, like->device);
    aot_call_push(k, &out);
}

aot_status aot_push_elementwise(aot_call *k, const aot_fake *in, unsigned n, aot_dtype d)
{
    aot_fake out;
    AOT_TRY(aot_fake_elementwise(k, in, n, d, &out));
    aot_call_push(k, &out);
    return AOT_OK;
}

/* ---- layouts ------------------------------------------------------------------------------- */

/* Channels innermost, then the last dimension, ..., batch outermost; mirrors c10's
 * is_channels_last_strides_2d and _3d, ambiguous cases (N111, N11W) included. */
static bool like_channels_last(const aot_fake *t)
{
    int64_t min = 0;
    unsigned order[5] = {1};
    unsigned n = 1;
    if (t->stride[1].value == 0) {
        return false;
    }
    for (unsigned d = t->ndim; d-- > 2;) {
        order[n++] = d;
    }
    order[n++] = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned d = order[i];
        int64_t size = t->size[d].value;
        int64_t stride = t->stride[d].value;
        if (size == 0 || stride < min || (d == 0 && min == t->stride[1].value)) {
            return false;
        }
        min = stride;
        if (size > 1 && __builtin_mul_overflow(stride, size, &min)) {
            return false;
        }
    }
    return true;
}

aot_memory_format aot_fake_suggest(const aot_fake *t)
{
    if ((t->ndim == 4 || t->ndim == 5) && like_channels_last(t)) {
        return t->ndim == 4 ? AOT_MF_CHANNELS_LAST : AOT_MF_CHANNELS_LAST_3D;
    }
    return AOT_MF_CONTIGUOUS;
}

void aot_fake_to_format(const aot_call *k, aot_fake *t, aot_memory_format f)
{
    if ((f == AOT_MF_CHANNELS_LAST && t->ndim == 4) ||
        (f == AOT_MF_CHANNELS_LAST_3D && t->ndim == 5)) {
        aot_fake_set_format(k->c, t, f);
    } else {
        aot_fake_set_contiguous(k->c, t);
    }
}

/* Whether dimension a stands inside of b: -1 yes, 1 no, 0 strides do not tell. */
static int compare_dims(const aot_fake *t, unsigned a, unsigned b)
{
    int64_t x = t->stride[a].value, y = t->stride[b].value;
    if (x == 0 || y == 0) {
        return 0;
    }
    if (x != y) {
        return x < y ? -1 : 1;
    }
    return t->size[a].value > t->size[b].value ? 1 : 0;
}

void aot_fake_set_empty_like(const aot_call *k, aot_fake *t, const aot_fake *like)
{
    unsigned order[AOT_FAKE_MAX_NDIM]; /* from the innermost */
    bool contiguous = aot_fake_is_contiguous(like);
    bool channels_last = like->ndim == 4 && aot_fake_is_format(like, AOT_MF_CHANNELS_LAST);
    if (contiguous != channels_last) { /* what is both is decided by its strides */
        aot_fake_set_format(k->c, t, contiguous ? AOT_MF_CONTIGUOUS : AOT_MF_CHANNELS_LAST);
        return;
    }
    for (unsigned i = 0; i < t->ndim; i++) {
        order[i] = t->ndim - 1 - i;
    }
    for (unsigned i = 1; i < t->ndim; i++) {
        for (unsigned at = i, j = i; j-- > 0;) {
            int cmp = compare_dims(like, order[j], order[at]);
            if (cmp < 0) {
                break;
            }
            if (cmp > 0) {
                unsigned d = order[j];
                order[j] = order[at];
                order[at] = d;
                at = j;
            }
        }
    }
    aot_dim step = aot_dim_of(1);
    for (unsigned i = 0; i < t->ndim; i++) {
        aot_dim n = t->size[order[i]];
        t->stride[order[i]] = step;
        step = aot_dim_mul(k->c, step, n.expr == 0 && n.value < 1 ? aot_dim_of(1) : n);
    }
}

/* ---- reductions ---------------------------------------------------------------------------- */

uint32_t aot_call_dim_mask(const aot_call *k, unsigned pos, const char *name, unsigned ndim)
{
    aot_fake shape = {.ndim = (uint8_t)ndim};
    const aot_arg *a = aot_call_arg(k, pos, name);
    unsigned n = aot_call_n_items(k, pos, name);
    uint32_t mask = 0;
    if (a && a->kind != AOT_ARG_LIST && a->kind != AOT_ARG_TUPLE) {
        unsigned d = aot_fake_dim(&shape, aot_call_int(k, pos, name, 0).value);
        return d < ndim ? 1u << d : 0;
    }
    if (n == 0) {
        return UINT32_MAX;
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned d = aot_fake_dim(&shape, aot_call_item(k, pos, name, i, 0).value);
        mask |= d < ndim ? 1u << d : 0;
    }
    return mask;
}

aot_fake aot_fake_reduce(const aot_call *k, const aot_fake *t, uint32_t mask, bool keepdim,
                         aot_dtype d)
{
    aot_dim sizes[AOT_FAKE_MAX_NDIM];
    unsigned n = 0;
    for (unsigned i = 0; i < t->ndim; i++) {
        if (!(mask >> i & 1)) {
            sizes[n++] = t->size[i];
        } else if (keepdim) {
            sizes[n++] = aot_dim_of(1);
        }
    }
    return aot_fake_make(k, d, n, sizes, t->device);
}

/* ---- types --------------------------------------------------------------------------------- */

aot_dtype aot_dtype_real(aot_dtype d)
{
    switch (d) {
    case AOT_C32:
        return AOT_F16;
    case AOT_C64:
        return AOT_F32;
    case AOT_C128:
        return AOT_F64;
    default:
        return d;
    }
}

aot_dtype aot_dtype_compute(aot_dtype d)
{
    return d == AOT_F16 || d == AOT_BF16 ? AOT_F32 : d == AOT_C32 ? AOT_C64 : d;
}

bool aot_dtype_is_float(aot_dtype d)
{
    return d < AOT_N_DTYPES && (aot_dtype_get(d)->kind == 'f' || aot_dtype_get(d)->kind == 'c');
}

aot_dtype aot_dtype_accumulate(aot_dtype d)
{
    return aot_dtype_is_float(d) ? d : AOT_I64;
}
