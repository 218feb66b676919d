/* Matrix products: results are contiguous and of the operands' type.
 *
 * Mirrors: torch/_meta_registrations.py:meta_mm, common_meta_baddbmm_bmm, meta_baddbmm,
 * torch/_decomp/decompositions.py:addmm, addmv, mv. */
#include "rules/meta_shared.h"

static aot_status check_inner(aot_call *k, aot_dim a, aot_dim b)
{
    if (a.value != AOT_HINT_NONE && b.value != AOT_HINT_NONE && a.value != b.value) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: inner sizes %lld and %lld differ",
                        aot_op(k->n->op)->name, (long long)a.value, (long long)b.value);
    }
    return AOT_OK;
}

static aot_status check_rank(aot_call *k, const aot_fake *t, unsigned ndim, const char *name)
{
    if (t->ndim != ndim) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: %s has %u dimensions, not %u",
                        aot_op(k->n->op)->name, name, t->ndim, ndim);
    }
    return AOT_OK;
}

/* The product of the matrices at pos and pos + 1, or with 3 dimensions of each of a batch. */
static aot_status product(aot_call *k, unsigned pos, unsigned ndim, const char *a_name,
                          const char *b_name, aot_fake *out)
{
    aot_fake a, b;
    AOT_TRY(aot_call_need(k, pos, a_name, &a));
    AOT_TRY(aot_call_need(k, pos + 1, b_name, &b));
    AOT_TRY(check_rank(k, &a, ndim, a_name));
    AOT_TRY(check_rank(k, &b, ndim, b_name));
    AOT_TRY(check_inner(k, a.size[ndim - 1], b.size[ndim - 2]));
    aot_dim size[3] = {a.size[0], a.size[1]};
    size[ndim - 1] = b.size[ndim - 1];
    // where dtypes differ, as in patterns of attention, mm goes by the first and bmm by the second
    const aot_fake *like = ndim == 2 ? &a : &b;
    *out = aot_fake_make(k, like->dtype, ndim, size, like->device);
    return AOT_OK;
}

/* (self, mat2) */
static aot_status plain(aot_call *k, unsigned ndim)
{
    aot_fake out;
    AOT_TRY(product(k, 0, ndim, "self", "mat2", &out));
    aot_call_push(k, &out);
    return AOT_OK;
}

/* (self, mat2, out_dtype) */
static aot_status with_dtype(aot_call *k, unsigned ndim)
{
    aot_fake out;
    AOT_TRY(product(k, 0, ndim, "self", "mat2", &out));
    out.dtype = (uint8_t)aot_call_dtype(k, 2, "out_dtype", out.dtype);
    aot_call_push(k, &out);
    return AOT_OK;
}

aot_status meta_mm(aot_call *k)
{
    return plain(k, 2);
}

aot_status meta_bmm(aot_call *k)
{
    return plain(k, 3);
}

aot_status meta_mm_dtype(aot_call *k)
{
    return with_dtype(k, 2);
}

aot_status meta_bmm_dtype(aot_call *k)
{
    return with_dtype(k, 3);
}

/* _int_mm(self, mat2): bytes in, 32 bits out. */
aot_status meta_int_mm(aot_call *k)
{
    aot_fake out;
    AOT_TRY(product(k, 0, 2, "self", "mat2", &out));
    out.dtype = AOT_I32;
    aot_call_push(k, &out);
    return AOT_OK;
}

aot_status meta_addmm(aot_call *k)
{
    aot_fake self, out;
    AOT_TRY(aot_call_need(k, 0, "self", &self));
    AOT_TRY(product(k, 1, 2, "mat1", "mat2", &out));
    out.dtype = (uint8_t)aot_promote_types(out.dtype, self.dtype);
    aot_call_push(k, &out);
    return AOT_OK;
}

/* addmm.dtype(self, mat1, mat2, out_dtype) */
aot_status meta_addmm_dtype(aot_call *k)
{
    aot_fake out;
    AOT_TRY(product(k, 1, 2, "mat1", "mat2", &out));
    out.dtype = (uint8_t)aot_call_dtype(k, 3, "out_dtype", out.dtype);
    aot_call_push(k, &out);
    return AOT_OK;
}

aot_status meta_baddbmm(aot_call *k)
{
    aot_fake self, out;
    AOT_TRY(aot_call_need(k, 0, "self", &self));
    AOT_TRY(product(k, 1, 3, "batch1", "batch2", &out));
    out.dtype = self.dtype;
    aot_call_push(k, &out);
    return AOT_OK;
}

/* baddbmm.dtype(self, batch1, batch2, out_dtype) */
aot_status meta_baddbmm_dtype(aot_call *k)
{
    aot_fake out;
    AOT_TRY(product(k, 1, 3, "batch1", "batch2", &out));
    out.dtype = (uint8_t)aot_call_dtype(k, 3, "out_dtype", out.dtype);
    aot_call_push(k, &out);
    return AOT_OK;
}

/* addbmm(self, batch1, batch2): the products of a batch added up. */
aot_status meta_addbmm(aot_call *k)
{
    aot_fake self, out;
    AOT_TRY(aot_call_need(k, 0, "self", &self));
    AOT_TRY(product(k, 1, 3, "batch1", "batch2", &out));
    out = aot_fake_make(k, self.dtype, 2, out.size + 1, self.device);
    aot_call_push(k, &out);
    return AOT_OK;
}

/* ---- vectors ------------------------------------------------------------------------------- */

static aot_status product_mv(aot_call *k, unsigned pos, const char *a_name)
{
    aot_fake a, b;
    AOT_TRY(aot_call_need(k, pos, a_name, &a));
    AOT_TRY(aot_call_need(k, pos + 1, "vec", &b));
    AOT_TRY(check_rank(k, &a, 2, a_name));
    AOT_TRY(check_rank(k, &b, 1, "vec"));
    AOT_TRY(check_inner(k, a.size[1], b.size[0]));
    aot_push_vector(k, &a, a.dtype, a.size[0]);
    return AOT_OK;
}

aot_status meta_mv(aot_call *k)
{
    return product_mv(k, 0, "self");
}

aot_status meta_addmv(aot_call *k)
{
    return product_mv(k, 1, "mat");
}

/* dot, vdot */
aot_status meta_dot(aot_call *k)
{
    aot_fake a;
    AOT_TRY(aot_call_need(k, 0, "self", &a));
    AOT_TRY(check_rank(k, &a, 1, "self"));
    aot_push_scalar(k, &a, a.dtype);
    return AOT_OK;
}

/* addr(self, vec1, vec2): the outer product added to self. */
aot_status meta_addr(aot_call *k)
{
    aot_fake in[2], a, b;
    AOT_TRY(aot_call_need(k, 0, "self", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "vec1", &a));
    AOT_TRY(aot_call_need(k, 2, "vec2", &b));
    aot_dtype d = aot_promote_types(in[0].dtype, aot_promote_types(a.dtype, b.dtype));
    in[1] = aot_fake_make(k, d, 2, (aot_dim[]){a.size[0], b.size[0]}, a.device);
    return aot_push_elementwise(k, in, 2, d);
}

/* ---- groups of rows ------------------------------------------------------------------------- */

/* transformers: grouped_mm_fallback(input [S, K], weight [G, K, N], offs [G]) -> [S, N] */
aot_status meta_grouped_mm_fallback(aot_call *k)
{
    aot_fake x, w;
    AOT_TRY(aot_call_need(k, 0, "input", &x));
    AOT_TRY(aot_call_need(k, 1, "weight", &w));
    AOT_TRY(check_rank(k, &x, 2, "input"));
    AOT_TRY(check_rank(k, &w, 3, "weight"));
    aot_fake out = aot_fake_make(k, x.dtype, 2, (aot_dim[]){x.size[0], w.size[2]}, x.device);
    aot_call_push(k, &out);
    return AOT_OK;
}

/* -> (like input, like weight) */
aot_status meta_grouped_mm_fallback_backward(aot_call *k)
{
    static const char *const names[] = {"input", "weight"};
    for (unsigned i = 0; i < 2; i++) {
        aot_fake like, out;
        AOT_TRY(aot_call_need(k, i, names[i], &like));
        out = like;
        aot_fake_set_empty_like(k, &out, &like);
        aot_call_push(k, &out);
    }
    return AOT_OK;
}

/* ---- distances ----------------------------------------------------------------------------- */

aot_status meta_cdist_forward(aot_call *k)
{
    aot_fake batch[2], out;
    AOT_TRY(aot_call_need(k, 0, "x1", &batch[0]));
    AOT_TRY(aot_call_need(k, 1, "x2", &batch[1]));
    if (batch[0].ndim < 2 || batch[1].ndim < 2) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: operands need two dimensions",
                        aot_op(k->n->op)->name);
    }
    aot_dim rows = batch[0].size[batch[0].ndim - 2];
    aot_dim cols = batch[1].size[batch[1].ndim - 2];
    batch[0].ndim = (uint8_t)(batch[0].ndim - 2);
    batch[1].ndim = (uint8_t)(batch[1].ndim - 2);
    AOT_TRY(aot_fake_elementwise(k, batch, 2, batch[0].dtype, &out));
    out.size[out.ndim] = rows;
    out.size[out.ndim + 1] = cols;
    out.ndim = (uint8_t)(out.ndim + 2);
    aot_push_contiguous(k, &out, out.dtype);
    return AOT_OK;
}

/* (grad, x1, ...): like x1, contiguous. */
aot_status meta_like_second(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 1, "x1", &t));
    aot_push_contiguous(k, &t, t.dtype);
    return AOT_OK;
}

/* _pdist_forward(self, p): one distance for each pair of rows. */
aot_status meta_pdist_forward(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(check_rank(k, &t, 2, "self"));
    aot_dim n = t.size[0];
    aot_dim pairs = aot_dim_mul(k->c, n, aot_dim_sub(k->c, n, aot_dim_of(1)));
    aot_push_vector(k, &t, t.dtype,
                    n.value <= 1 ? aot_dim_of(0) : aot_dim_floordiv(k->c, pairs, aot_dim_of(2)));
    return AOT_OK;
}

/* ---- the rest ------------------------------------------------------------------------------ */

/* _scaled_mm(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype) */
aot_status meta_scaled_mm(aot_call *k)
{
    aot_fake out;
    AOT_TRY(product(k, 0, 2, "self", "mat2", &out));
    out.dtype = (uint8_t)aot_call_dtype(k, 6, "out_dtype", out.dtype);
    aot_call_push(k, &out);
    return AOT_OK;
}

/* _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim): operands get dimensions of size 1,
 * are multiplied and added up over sumdim. */
aot_status meta_trilinear(aot_call *k)
{
    static const char *const names[] = {"i1", "i2", "i3"};
    static const char *const expand[] = {"expand1", "expand2", "expand3"};
    aot_fake in[3], out;
    unsigned total = 0;
    for (unsigned i = 0; i < 3; i++) {
        AOT_TRY(aot_call_need(k, i, names[i], &in[i]));
        total = in[i].ndim + aot_call_n_items(k, 3 + i, expand[i]);
        total = total < AOT_FAKE_MAX_NDIM ? total : AOT_FAKE_MAX_NDIM;
        uint32_t added = 0;
        for (unsigned j = 0; j < aot_call_n_items(k, 3 + i, expand[i]); j++) {
            int64_t d = aot_call_item(k, 3 + i, expand[i], j, 0).value;
            added |= d >= 0 && d < total ? 1u << d : 0;
        }
        aot_dim sizes[AOT_FAKE_MAX_NDIM];
        for (unsigned d = 0, from = 0; d < total; d++) {
            sizes[d] = added >> d & 1 ? aot_dim_of(1) : in[i].size[from++];
        }
        in[i] = aot_fake_make(k, in[i].dtype, total, sizes, in[i].device);
    }
    AOT_TRY(aot_fake_elementwise(k, in, 3, in[0].dtype, &out));
    uint32_t mask = aot_call_n_items(k, 6, "sumdim") ? aot_call_dim_mask(k, 6, "sumdim", total) : 0;
    out = aot_fake_reduce(k, &out, mask, false, out.dtype);
    aot_call_push(k, &out);
    return AOT_OK;
}

/* block_diag(tensors): rows and columns add up; vectors are rows. */
aot_status meta_block_diag(aot_call *k)
{
    aot_fake first, t;
    aot_dim rows = aot_dim_of(0), columns = aot_dim_of(0), one = aot_dim_of(1);
    unsigned n = aot_call_n_items(k, 0, "tensors");
    aot_dtype d = AOT_NO_DTYPE;
    for (unsigned i = 0; i < n; i++) {
        if (!aot_call_tensor_item(k, 0, "tensors", i, &t)) {
            return AOT_FAIL(k->err, AOT_E_SHAPE, "block_diag: item %u has no tensor type", i);
        }
        if (i == 0) {
            first = t;
        }
        d = i == 0 ? (aot_dtype)t.dtype : aot_promote_types(d, t.dtype);
        rows = aot_dim_add(k->c, rows, t.ndim == 2 ? t.size[0] : one);
        columns = aot_dim_add(k->c, columns, t.ndim > 0 ? t.size[t.ndim - 1] : one);
    }
    if (n == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "block_diag: no tensors");
    }
    aot_fake out = aot_fake_make(k, d, 2, (aot_dim[]){rows, columns}, first.device);
    aot_call_push(k, &out);
    return AOT_OK;
}
