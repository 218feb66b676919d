/* Decompositions of operators on lists of tensors: torch/_inductor/decomposition.py, and _chunk_cat
 * of torch/_decomp/decompositions.py. */
#include "decomp/decomp.h"

/* _foreach_addcmul.Scalar, _foreach_addcdiv.Scalar: self + value * (left op right). */
bool decomp_foreach_addcmul(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_value x = k->op == AOT_OP_aten__foreach_addcmul_Scalar
                      ? AOT_V(t, aten__foreach_mul_List, k->args[1], k->args[2])
                      : AOT_V(t, aten__foreach_div_List, k->args[1], k->args[2]);
    return aot_x_give_value(k, AOT_V(t, aten__foreach_add_List, k->args[0], x, k->args[3]));
}

/* _foreach_lerp.Scalar, .ScalarList: start + (end - start) * weight. */
bool decomp_foreach_lerp(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_value x = AOT_V(t, aten__foreach_sub_List, k->args[1], k->args[0]);
    x = k->op == AOT_OP_aten__foreach_lerp_Scalar
            ? AOT_V(t, aten__foreach_mul_Scalar, x, k->args[2])
            : AOT_V(t, aten__foreach_mul_ScalarList, x, k->args[2]);
    return aot_x_give_value(k, AOT_V(t, aten__foreach_add_List, k->args[0], x));
}

/* x padded along dim to a multiple of chunks, as [..., chunks, rest]. */
static aot_tensor *in_chunks(aot_tracer *t, aot_tensor *x, unsigned dim, int64_t chunks)
{
    aot_dims size = aot_sizes(x);
    aot_dim n = aot_dim_of(chunks), pad[2 * AOT_FAKE_MAX_NDIM], view[AOT_FAKE_MAX_NDIM];
    aot_dim up =
        aot_trace_dim(t, '/', aot_trace_dim(t, '+', size.d[dim], aot_dim_of(chunks - 1)), n);
    aot_dim padded = aot_trace_dim(t, '*', up, n);
    if (!aot_dim_eq(padded, size.d[dim])) {
        unsigned m = 2 * (size.n - dim);
        for (unsigned i = 0; i + 1 < m; i++) {
            pad[i] = aot_dim_of(0);
        }
        pad[m - 1] = aot_trace_dim(t, '-', padded, size.d[dim]);
        x = AOT(t, aten_constant_pad_nd, x, ((aot_dims){pad, m}), 0);
    }
    for (unsigned i = 0; i < dim; i++) {
        view[i] = size.d[i];
    }
    view[dim] = n;
    view[dim + 1] = aot_dim_of(-1);
    return AOT(t, aten_reshape, x, ((aot_dims){view, dim + 2}));
}

bool decomp_chunk_cat(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *const *items;
    unsigned n = aot_x_tensors(k, 0, &items);
    aot_tensor **chunked = aot_arena_alloc(aot_tracer_arena(t), (n + 1) * sizeof *chunked);
    unsigned dim = aot_wrap_dim(t, aot_x_int(k, 1, 0), n == 0 ? 1 : aot_ndim(items[0]));
    for (unsigned i = 0; i < n; i++) {
        chunked[i] = in_chunks(t, items[i], dim, aot_x_int(k, 2, 1));
    }
    return aot_x_give(k, AOT(t, aten_cat, aot_v_tensors(t, n, chunked), dim + 1));
}
