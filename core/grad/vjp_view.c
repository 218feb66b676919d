/* Views and changes of shape. Copies of views (view_copy ...) have the same gradients. */
#include "grad/grad.h"

static aot_dims self_sizes(const aot_each *e)
{
    return aot_sizes(aot_each_in(e, 0));
}

/* ---- one call back --------------------------------------------------------------------------- */

static aot_tensor *unsqueeze_self(const aot_each *e)
{
    return AOT(e->t, aten_squeeze_dim, e->g, aot_each_num(e, 1));
}

static aot_tensor *transpose_self(const aot_each *e)
{
    return AOT(e->t, aten_transpose_int, e->g, aot_each_num(e, 1), aot_each_num(e, 2));
}

static aot_tensor *diag_embed_self(const aot_each *e)
{
    return AOT(e->t, aten_diagonal, e->g, aot_each_num(e, 1), aot_each_num(e, 2),
               aot_each_num(e, 3));
}

static aot_tensor *diagonal_self(const aot_each *e)
{
    return AOT(e->t, aten_diagonal_backward, e->g, self_sizes(e), aot_each_num(e, 1),
               aot_each_num(e, 2), aot_each_num(e, 3));
}

static aot_tensor *select_self(const aot_each *e)
{
    return AOT(e->t, aten_select_backward, e->g, self_sizes(e), aot_each_num(e, 1),
               aot_each_num(e, 2));
}

static aot_tensor *slice_self(const aot_each *e)
{
    aot_value start = aot_each_num(e, 2), end = aot_each_num(e, 3);

    start = start.kind == AOT_V_NONE ? aot_v_int(0) : start;
    end = end.kind == AOT_V_NONE ? aot_v_int(INT64_MAX) : end;
    return AOT(e->t, aten_slice_backward, e->g, self_sizes(e), aot_each_num(e, 1), start, end,
               aot_each_num(e, 4));
}

static aot_tensor *unfold_self(const aot_each *e)
{
    return AOT(e->t, aten_unfold_backward, e->g, self_sizes(e), aot_each_num(e, 1),
               aot_each_num(e, 2), aot_each_num(e, 3));
}

static aot_tensor *permute_self(const aot_each *e)
{
    aot_dims dims = aot_vjp_dims(e->b, 1);
    int64_t back[AOT_FAKE_MAX_NDIM];

    for (unsigned i = 0; i < dims.n && i < AOT_FAKE_MAX_NDIM; i++) {
        back[aot_wrap_dim(e->t, dims.d[i].value, dims.n)] = i;
    }
    return AOT(e->t, aten_permute, e->g, aot_v_ints(e->t, dims.n, back));
}

GRAD_UNARY(vjp_view, AOT(t, aten_reshape, g, aot_sizes(x)))
GRAD_UNARY(vjp_expand, aot_grad_sum_to(t, g, aot_sizes(x)))
GRAD_UNARY(vjp_t, AOT(t, aten_t, g))
GRAD_UNARY(vjp_conj, g_conj(t, g))
GRAD_UNARY(vjp_conj_physical, aot_is_complex(g) ? AOT(t, aten__conj_physical, g) : g)
GRAD_UNARY(vjp_view_as_complex, AOT(t, aten_view_as_real, aot_grad_contiguous(t, g)))
GRAD_UNARY(vjp_view_as_real, AOT(t, aten_view_as_complex, aot_grad_contiguous(t, g)))
GRAD_EACH(vjp_unsqueeze, {0, unsqueeze_self})
GRAD_EACH(vjp_transpose, {0, transpose_self})
GRAD_EACH(vjp_permute, {0, permute_self})
GRAD_EACH(vjp_diag_embed, {0, diag_embed_self})
GRAD_EACH(vjp_diagonal, {0, diagonal_self})
GRAD_EACH(vjp_select, {0, select_self})
GRAD_EACH(vjp_slice, {0, slice_self})
GRAD_EACH(vjp_unfold, {0, unfold_self})

/* ---- squeeze --------------------------------------------------------------------------------- */

static aot_tensor *put_back(const aot_each *e, unsigned dim)
{
    aot_dims sizes = self_sizes(e);
    bool was_one = dim < sizes.n && aot_dim_eq(sizes.d[dim], aot_dim_of(1));
    return was_one ? AOT(e->t, aten_unsqueeze, e->g, (int64_t)dim) : e->g;
}

static aot_tensor *squeeze_self(const aot_each *e)
{
    aot_each k = *e;
    for (unsigned i = 0; i < self_sizes(e).n; i++) {
        k.g = put_back(&k, i);
    }
    return k.g;
}

static aot_tensor *squeeze_dim_self(const aot_each *e)
{
    return put_back(e, aot_wrap_dim(e->t, aot_vjp_int(e->b, 1, 0), self_sizes(e).n));
}

static aot_tensor *squeeze_dims_self(const aot_each *e)
{
    aot_dims dims = aot_vjp_dims(e->b, 1);
    unsigned ndim = self_sizes(e).n;
    unsigned long named = 0;
    aot_each k = *e;

    for (unsigned i = 0; i < dims.n; i++) {
        named |= 1ul << aot_wrap_dim(e->t, dims.d[i].value, ndim);
    }
    for (unsigned i = 0; i < ndim; i++) {
        k.g = (named >> i & 1) != 0 ? put_back(&k, i) : k.g;
    }
    return k.g;
}

GRAD_EACH(vjp_squeeze, {0, squeeze_self})
GRAD_EACH(vjp_squeeze_dim, {0, squeeze_dim_self})
GRAD_EACH(vjp_squeeze_dims, {0, squeeze_dims_self})

/* ---- split, unbind: what got no gradient counts as zeros ------------------------------------- */

static unsigned n_outputs(const aot_vjp *b)
{
    unsigned n = 0;
    while (aot_vjp_out_type(b, n) != NULL) {
        n++;
    }
    return n;
}

static aot_tensor *missing_part(aot_vjp *b, unsigned i)
{
    const aot_fake *part = aot_vjp_out_type(b, i);
    return aot_grad_zeros(aot_vjp_tracer(b), (aot_dims){part->size, part->ndim},
                          aot_type_of(aot_vjp_in(b, 0)));
}

/* dim is an argument's position: 2 in both forms. */
void vjp_split(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    unsigned n = n_outputs(b);
    unsigned dim = aot_wrap_dim(t, aot_vjp_int(b, 2, 0), aot_ndim(aot_vjp_in(b, 0)));
    aot_tensor **parts = aot_arena_alloc(aot_tracer_arena(t), (n + 1) * sizeof *parts);

    for (unsigned i = 0; i < n; i++) {
        parts[i] = aot_vjp_grad(b, i);
        parts[i] = parts[i] == NULL ? missing_part(b, i) : parts[i];
    }
    aot_vjp_set(b, 0, AOT(t, aten_cat, aot_v_tensors(t, n, parts), dim));
}

void vjp_unbind(aot_vjp *b)
{
    aot_tracer *t = aot_vjp_tracer(b);
    unsigned n = n_outputs(b);
    aot_tensor **parts = aot_arena_alloc(aot_tracer_arena(t), (n + 1) * sizeof *parts);

    for (unsigned i = 0; i < n; i++) {
        const aot_fake *part = aot_vjp_out_type(b, i);
        parts[i] = aot_vjp_grad(b, i);
        if (parts[i] == NULL) {
            aot_tensor *zero = aot_grad_zeros(t, (aot_dims){0}, part);
            parts[i] = AOT(t, aten_expand, zero, ((aot_dims){part->size, part->ndim}));
        }
    }
    aot_vjp_set(b, 0, AOT(t, aten_stack, aot_v_tensors(t, n, parts), aot_vjp_arg(b, 1)));
}
