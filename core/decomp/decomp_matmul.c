/* Decompositions of products of matrices and vectors: torch/_inductor/decomposition.py,
 * torch/_decomp/decompositions.py, torch/_refs. */
#include "decomp/decomp.h"

static aot_tensor *sum_dim(aot_tracer *t, aot_tensor *x, int64_t dim, bool keep)
{
    return AOT(t, aten_sum_dim_IntList, x, aot_v_ints(t, 1, &dim), keep);
}

/* [1, n] @ [n, 1] as a sum of products. */
static aot_tensor *row_by_column(aot_tracer *t, aot_tensor *row, aot_tensor *column)
{
    aot_tensor *x = AOT(t, aten_squeeze_dim, row, 0);
    x = MUL(x, AOT(t, aten_squeeze_dim, column, -1));
    return AOT(t, aten_unsqueeze, sum_dim(t, x, 0, true), 0);
}

/* The casts are made before the rule declines. */
bool decomp_mm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    if (k->op == AOT_OP_aten_mm_dtype || !dc_on_cpu(t, aot_x_tensor(k, 0))) {
        return false;
    }
    aot_tensor *a = aot_x_tensor(k, 0), *b = aot_x_tensor(k, 1);
    aot_dim n = aot_trace_dim(t, '+', aot_numel(t, a), aot_numel(t, b));
    bool outer = aot_dim_is(aot_size(a, -1), 1) && aot_size(a, 0).expr == 0 &&
                 aot_size(a, 0).value > 0 && aot_dim_is(aot_size(b, 0), 1) && n.value <= 32;
    if (!outer && !(aot_dim_is(aot_size(a, 0), 1) && aot_dim_is(aot_size(b, -1), 1))) {
        return false;
    }
    return dc_give(k, outer ? MUL(a, b) : row_by_column(t, a, b), result);
}

bool decomp_addmm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *a = aot_x_tensor(k, 1), *b = aot_x_tensor(k, 2), *x;
    bool column = aot_dim_is(aot_size(b, -1), 1);
    bool small = aot_size(b, 0).value <= 16 && aot_size(b, 1).value <= 16;
    if (k->op == AOT_OP_aten_addmm_dtype || !dc_on_cpu(t, a) || !aot_dim_is(aot_size(a, 0), 1) ||
        !(column || small)) {
        return false;
    }
    if (column) {
        x = row_by_column(t, a, b);
    } else {
        aot_value swapped = aot_v_ints(t, 2, (int64_t[]){1, 0});
        x = sum_dim(t, MUL(AOT(t, aten_permute, a, swapped), b), 0, true);
    }
    x = MUL(x, k->args[4]);
    return dc_give(k, ADD(x, MUL(aot_x_tensor(k, 0), k->args[3])), result);
}

bool decomp_bmm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    if (k->op == AOT_OP_aten_bmm_dtype || !dc_on_cpu(t, aot_x_tensor(k, 0))) {
        return false;
    }
    aot_tensor *a = aot_x_tensor(k, 0), *b = aot_x_tensor(k, 1);
    if (!aot_dim_is(aot_size(a, 1), 1) || !aot_dim_is(aot_size(b, -1), 1)) {
        return false;
    }
    aot_tensor *x = AOT(t, aten_squeeze_dim, a, 1);
    x = MUL(x, AOT(t, aten_squeeze_dim, b, -1));
    return dc_give(k, AOT(t, aten_unsqueeze, sum_dim(t, x, 1, true), 1), result);
}

/* The core table's. */
bool decomp_baddbmm(aot_expand *k)
{
    aot_tracer *t = k->t;
    unsigned beta = k->op == AOT_OP_aten_baddbmm_dtype ? 4 : 3;
    bool integral = dc_is_integral(aot_dtype_of(aot_x_tensor(k, 0)));
    aot_value b = integral ? dc_int(k->args[beta]) : k->args[beta];
    aot_value a = integral ? dc_int(k->args[beta + 1]) : k->args[beta + 1];
    aot_dtype result = dc_opmath(k);
    aot_tensor *x = AOT(t, aten_bmm, aot_x_tensor(k, 1), aot_x_tensor(k, 2));
    x = dc_is_number(a, 1) ? x : MUL(x, a);
    if (dc_is_number(b, 0)) {
        return dc_give(k, x, result);
    }
    aot_tensor *self = dc_is_number(b, 1) ? aot_x_tensor(k, 0) : MUL(aot_x_tensor(k, 0), b);
    return dc_give(k, ADD(self, x), result);
}

bool decomp_mv(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_opmath(k);
    aot_tensor *x = MUL(aot_x_tensor(k, 0), aot_x_tensor(k, 1));
    return dc_give(k, sum_dim(t, x, 1, false), result);
}

bool decomp_addmv(aot_expand *k)
{
    aot_tracer *t = k->t;
    bool integral = dc_is_integral(aot_dtype_of(aot_x_tensor(k, 0)));
    aot_dtype result = dc_opmath(k);
    aot_value beta = integral ? dc_int(k->args[3]) : k->args[3];
    aot_value alpha = integral ? dc_int(k->args[4]) : k->args[4];
    aot_tensor *self = aot_x_tensor(k, 0);
    aot_tensor *x = MUL(AOT(t, aten_mv, aot_x_tensor(k, 1), aot_x_tensor(k, 2)), alpha);
    if (dc_is_number(beta, 0)) {
        return dc_give(k, x, result);
    }
    self = MUL(self, beta);
    return dc_give(k, aot_dim_eq(aot_numel(t, x), aot_dim_of(0)) ? self : ADD(x, self), result);
}

bool decomp_addr(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 7, AOT_PROMOTE_DEFAULT);
    aot_tensor *v = aot_x_tensor(k, 1), *w = aot_x_tensor(k, 2);
    aot_dim size[2] = {aot_size(v, 0), aot_size(w, 0)};
    aot_tensor *self = AOT(t, aten_expand, aot_x_tensor(k, 0), ((aot_dims){size, 2}));
    aot_value beta = k->args[3], alpha = k->args[4];
    if (aot_dtype_of(self) == AOT_B8) {
        aot_tensor *x = dc_is_number(alpha, 0) ? AOT(t, aten_full_like, self, aot_v_bool(false))
                                               : AOT(t, aten_outer, v, w);
        return dc_give(k, dc_is_number(beta, 0) ? x : AOT(t, aten_logical_or, self, x), result);
    }
    if (dc_is_number(beta, 0)) {
        return dc_give(k, MUL(AOT(t, aten_outer, v, w), alpha), result);
    }
    self = MUL(self, beta);
    return dc_give(k, ADD(self, MUL(AOT(t, aten_outer, v, w), alpha)), result);
}

bool decomp_dot(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 3, AOT_PROMOTE_DEFAULT);
    return dc_give(k, AOT(t, aten_sum, MUL(aot_x_tensor(k, 0), aot_x_tensor(k, 1))), result);
}

bool decomp_vdot(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype result = dc_promote(k, 3, AOT_PROMOTE_DEFAULT);
    aot_tensor *x = aot_x_tensor(k, 0), *y = aot_x_tensor(k, 1);
    if (!aot_is_complex(x)) {
        return dc_give(k, AOT(t, aten_dot, x, y), result);
    }
    return dc_give(k, AOT(t, aten_sum, MUL(AOT(t, aten_conj_physical, x), y)), result);
}

static aot_tensor *zeros2(aot_tracer *t, aot_dim rows, aot_dim columns, const aot_tensor *like)
{
    return AOT(t, aten_zeros, ((aot_dims){(aot_dim[]){rows, columns}, 2}),
               aot_v_dtype(aot_dtype_of(like)), AOT_NONE, aot_v_device(aot_device_of(like)));
}

bool decomp_block_diag(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *const *items;
    unsigned n = aot_x_tensors(k, 0, &items);
    aot_tensor **block = aot_arena_alloc(aot_tracer_arena(t), (n + 1) * sizeof *block);
    aot_dim columns = aot_dim_of(0), start = columns;
    for (unsigned i = 0; i < n; i++) {
        block[i] = aot_ndim(items[i]) > 1
                       ? items[i]
                       : AOT(t, aten_view, items[i], aot_v_ints(t, 2, (int64_t[]){1, -1}));
        columns = aot_trace_dim(t, '+', columns, aot_size(block[i], 1));
    }
    for (unsigned i = 0; i < n; i++) {
        aot_dim rows = aot_size(block[i], 0), width = aot_size(block[i], 1);
        aot_dim rest = aot_trace_dim(t, '-', aot_trace_dim(t, '-', columns, start), width);
        aot_tensor *row[3] = {zeros2(t, rows, start, block[i]), block[i]};
        row[2] = zeros2(t, rows, rest, block[i]);
        block[i] = AOT(t, aten_cat, aot_v_tensors(t, 3, row), 1);
        start = aot_trace_dim(t, '+', start, width);
    }
    return aot_x_give(k, AOT(t, aten_cat, aot_v_tensors(t, n, block), 0));
}

/* The sum of squares of each row, and a column of ones. */
static aot_tensor *row_norms(aot_tracer *t, aot_tensor *x, aot_tensor **ones)
{
    aot_tensor *norm = sum_dim(t, AOT(t, aten_pow_Tensor_Scalar, x, 2), -1, true);
    *ones = AOT(t, aten_ones_like, norm, AOT_NONE, AOT_NONE, AOT_NONE, false,
                aot_v_memory_format(t, AOT_MF_CONTIGUOUS));
    return norm;
}

bool decomp_euclidean_dist(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *a[3], *b[3] = {aot_x_tensor(k, 1)};
    a[1] = row_norms(t, aot_x_tensor(k, 0), &a[2]);
    b[2] = row_norms(t, b[0], &b[1]);
    a[0] = MUL(aot_x_tensor(k, 0), -2);
    aot_tensor *left = AOT(t, aten_cat, aot_v_tensors(t, 3, a), -1);
    aot_tensor *right = AOT(t, aten_cat, aot_v_tensors(t, 3, b), -1);
    aot_tensor *x = AOT(t, aten_matmul, left, AOT(t, aten_mT, right));
    return aot_x_give(k, AOT(t, aten_sqrt, AOT(t, aten_clamp_min, x, 0)));
}
