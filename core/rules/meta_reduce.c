/* Sizes and types of reductions and softmax. The result of a reduction is contiguous
 * whatever the strides of its operand.
 *
 *     sum.dim_IntList(f32[4, 8, 16], [0, 2], True)    f32[1, 8, 1][8, 1, 1]
 *
 * Mirrors: torch/_refs/__init__.py:_reduction, torch/_decomp/decompositions.py:_softmax. */
#include "rules/meta_shared.h"

/* ---- one result ---------------------------------------------------------------------------- */

static aot_status reduce(aot_call *k, const aot_fake *t, uint32_t mask, bool keepdim, aot_dtype d)
{
    aot_fake out = aot_fake_reduce(k, t, mask, keepdim, d);
    aot_call_push(k, &out);
    return AOT_OK;
}

/* sum(self, *, dtype), prod, nansum without dimensions: integers are added up in 64 bits. */
aot_status meta_sum_all(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_dtype d = aot_call_dtype(k, 1, "dtype", aot_dtype_accumulate(t.dtype));
    return reduce(k, &t, UINT32_MAX, false, d);
}

/* (self, dim, keepdim, *, dtype) */
aot_status meta_sum_dim(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_dtype d = aot_call_dtype(k, 3, "dtype", aot_dtype_accumulate(t.dtype));
    return reduce(k, &t, aot_call_dim_mask(k, 1, "dim", t.ndim),
                  aot_call_bool(k, 2, "keepdim", false), d);
}

aot_status meta_mean_all(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    return reduce(k, &t, UINT32_MAX, false, aot_call_dtype(k, 1, "dtype", t.dtype));
}

aot_status meta_mean_dim(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    return reduce(k, &t, aot_call_dim_mask(k, 1, "dim", t.ndim),
                  aot_call_bool(k, 2, "keepdim", false), aot_call_dtype(k, 3, "dtype", t.dtype));
}

/* Largest, smallest, median of everything: the operand's type. */
aot_status meta_reduce_all(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    return reduce(k, &t, UINT32_MAX, false, t.dtype);
}

/* (self, dim, keepdim), the operand's type: amax, amin. */
aot_status meta_amax(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    return reduce(k, &t, aot_call_dim_mask(k, 1, "dim", t.ndim),
                  aot_call_bool(k, 2, "keepdim", false), t.dtype);
}

aot_status meta_logsumexp(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    return reduce(k, &t, aot_call_dim_mask(k, 1, "dim", t.ndim),
                  aot_call_bool(k, 2, "keepdim", false),
                  aot_dtype_is_float(t.dtype) ? (aot_dtype)t.dtype : AOT_F32);
}

/* any and all: bool, but bytes stay bytes. */
aot_status meta_any(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    bool none = aot_call_arg(k, 1, "dim") != NULL && aot_call_n_items(k, 1, "dim") == 0; // dim=[]
    return reduce(k, &t, none ? 0 : aot_call_dim_mask(k, 1, "dim", t.ndim),
                  aot_call_bool(k, 2, "keepdim", false), t.dtype == AOT_U8 ? AOT_U8 : AOT_B8);
}

aot_status meta_argmax(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    bool all = !aot_call_arg(k, 1, "dim");
    bool keepdim = aot_call_bool(k, 2, "keepdim", false);
    return reduce(k, &t, all ? UINT32_MAX : aot_call_dim_mask(k, 1, "dim", t.ndim), keepdim,
                  AOT_I64);
}

aot_status meta_count_nonzero(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    return reduce(k, &t, aot_call_dim_mask(k, 1, "dim", t.ndim), false, AOT_I64);
}

/* _is_all_true, _is_any_true */
aot_status meta_is_true(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_push_scalar(k, &t, AOT_B8);
    return AOT_OK;
}

/* hash_tensor(self, dim, *, keepdim, mode) */
aot_status meta_hash_tensor(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    return reduce(k, &t, aot_call_dim_mask(k, 1, "dim", t.ndim),
                  aot_call_bool(k, 2, "keepdim", false), AOT_U64);
}

/* ---- variance and norms -------------------------------------------------------------------- */

/* (self, dim, *, correction, keepdim) */
aot_status meta_var(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    return reduce(k, &t, aot_call_dim_mask(k, 1, "dim", t.ndim),
                  aot_call_bool(k, 3, "keepdim", false), aot_dtype_real(t.dtype));
}

aot_status meta_var_mean(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(meta_var(k));
    return reduce(k, &t, aot_call_dim_mask(k, 1, "dim", t.ndim),
                  aot_call_bool(k, 3, "keepdim", false), t.dtype);
}

/* norm.Scalar(self, p) */
aot_status meta_norm_all(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    return reduce(k, &t, UINT32_MAX, false, aot_dtype_real(t.dtype));
}

/* norm.ScalarOpt_dtype(self, p, *, dtype) */
aot_status meta_norm_all_dtype(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    return reduce(k, &t, UINT32_MAX, false,
                  aot_dtype_real(aot_call_dtype(k, 2, "dtype", t.dtype)));
}

/* norm.ScalarOpt_dim(self, p, dim, keepdim, *, dtype), linalg_vector_norm(self, ord, ...). PyTorch
 * takes the absolute value where only sizes of 1 are reduced, which keeps them. */
aot_status meta_norm_dim(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_dtype d = aot_dtype_real(aot_call_dtype(k, 4, "dtype", t.dtype));
    uint32_t mask = aot_call_dim_mask(k, 2, "dim", t.ndim);
    bool ones = t.ndim > 0;
    for (unsigned i = 0; i < t.ndim; i++) {
        ones = ones && (!(mask >> i & 1) || aot_dim_is(t.size[i], 1));
    }
    if (ones) {
        return aot_push_elementwise(k, &t, 1, d);
    }
    return reduce(k, &t, mask, aot_call_bool(k, 3, "keepdim", false), d);
}

/* dist(self, other, p) */
aot_status meta_dist(aot_call *k)
{
    aot_fake a, b;
    AOT_TRY(aot_call_need(k, 0, "self", &a));
    AOT_TRY(aot_call_need(k, 1, "other", &b));
    aot_push_scalar(k, &a, aot_dtype_real(aot_promote_types(a.dtype, b.dtype)));
    return AOT_OK;
}

/* ---- values and indices -------------------------------------------------------------------- */

/* max.dim, min.dim (self, dim, keepdim) */
aot_status meta_max_dim(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    bool keepdim = aot_call_bool(k, 2, "keepdim", false);
    unsigned d = aot_fake_dim(&t, aot_call_int(k, 1, "dim", -1).value);
    uint32_t mask = d < t.ndim ? 1u << d : 0;
    AOT_TRY(reduce(k, &t, mask, keepdim, t.dtype));
    return reduce(k, &t, mask, keepdim, AOT_I64);
}

/* aminmax(self, *, dim, keepdim) */
aot_status meta_aminmax(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    uint32_t mask = aot_call_dim_mask(k, 1, "dim", t.ndim);
    bool keepdim = aot_call_bool(k, 2, "keepdim", false);
    AOT_TRY(reduce(k, &t, mask, keepdim, t.dtype));
    return reduce(k, &t, mask, keepdim, t.dtype);
}

/* ---- softmax ------------------------------------------------------------------------------- */

/* The sum or the largest element over dim, which is kept. */
static aot_fake row_of(const aot_call *k, const aot_fake *t, unsigned dim_pos)
{
    unsigned d = aot_fake_dim(t, aot_call_int(k, dim_pos, "dim", -1).value);
    return aot_fake_reduce(k, t, d < t->ndim ? 1u << d : 0, true, t->dtype);
}

/* x.contiguous(): what counts as contiguous keeps its strides. */
static void make_contiguous(const aot_call *k, aot_fake *t)
{
    if (!aot_fake_is_contiguous(t)) {
        aot_fake_set_contiguous(k->c, t);
    }
}

/* _softmax(self, dim, half_to_float): contiguous. */
aot_status meta_softmax(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_push_contiguous(k, &t, aot_call_bool(k, 2, "half_to_float", false) ? AOT_F32 : t.dtype);
    return AOT_OK;
}

/* _log_softmax: the same, but for strides of sizes 1. */
aot_status meta_log_softmax(aot_call *k)
{
    aot_fake in[2];
    AOT_TRY(aot_call_need(k, 0, "self", &in[0]));
    make_contiguous(k, &in[0]);
    in[1] = row_of(k, &in[0], 1);
    bool widen = aot_call_bool(k, 2, "half_to_float", false);
    return aot_push_elementwise(k, in, 2, widen ? AOT_F32 : (aot_dtype)in[0].dtype);
}

/* _safe_softmax(self, dim, dtype) */
aot_status meta_safe_softmax(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_push_contiguous(k, &t, aot_call_dtype(k, 2, "dtype", t.dtype));
    return AOT_OK;
}

/* _softmax_backward_data(grad_output, output, dim, input_dtype): contiguous. */
aot_status meta_softmax_backward(aot_call *k)
{
    aot_fake in[2], both[2], out;
    AOT_TRY(aot_call_need(k, 0, "grad_output", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "output", &in[1]));
    aot_dtype d = aot_call_dtype(k, 3, "input_dtype", in[0].dtype);
    AOT_TRY(aot_fake_elementwise(k, in, 2, d, &both[0]));
    aot_fake rest[2] = {in[1], row_of(k, &in[0], 2)};
    AOT_TRY(aot_fake_elementwise(k, rest, 2, d, &both[1]));
    AOT_TRY(aot_fake_elementwise(k, both, 2, d, &out));
    make_contiguous(k, &out);
    aot_call_push(k, &out);
    return AOT_OK;
}

/* The same of log_softmax keeps the gradient's strides. */
aot_status meta_log_softmax_backward(aot_call *k)
{
    aot_fake in[2], both[2];
    AOT_TRY(aot_call_need(k, 0, "grad_output", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "output", &in[1]));
    aot_dtype d = aot_call_dtype(k, 3, "input_dtype", in[0].dtype);
    aot_fake rest[2] = {in[1], row_of(k, &in[0], 2)};
    AOT_TRY(aot_fake_elementwise(k, rest, 2, d, &both[1]));
    both[0] = in[0];
    return aot_push_elementwise(k, both, 2, d);
}
