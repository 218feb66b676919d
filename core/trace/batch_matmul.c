/* Batch rules of products of matrices: as few expansions as matmul needs.
 * Mirrors aten/src/ATen/functorch/BatchRulesLinearAlgebra.cpp. */
#include "trace/batch.h"

/* mm, bmm */
aot_value batch_mm(batch_call *k)
{
    aot_tensor *x = b_front(k, b_in(k, 0));
    aot_tensor *y = b_front(k, b_in(k, 1));
    return AOT_V(k->t, aten_matmul, x, y);
}

aot_value batch_mv(batch_call *k)
{
    aot_tracer *t = k->t;
    batched a = b_in(k, 0), b = b_in(k, 1);
    if (a.bdim >= 0 && b.bdim >= 0) {
        aot_tensor *x = AOT(t, aten_movedim_int, a.x, a.bdim, -3);
        aot_tensor *y = b_front(k, b);
        y = AOT(t, aten_unsqueeze, y, -1);
        x = AOT(t, aten_matmul, x, y);
        x = AOT(t, aten_squeeze_dim, x, -1);
        k->out = (int)aot_ndim(x) - 2;
        return aot_v_tensor(x);
    }
    if (a.bdim >= 0) {
        aot_tensor *x = b_front(k, a);
        return AOT_V(t, aten_matmul, x, b.x);
    }
    aot_tensor *y = AOT(t, aten_movedim_int, b.x, b.bdim, -1);
    k->out = 1;
    return AOT_V(t, aten_matmul, a.x, y);
}

aot_value batch_dot(batch_call *k)
{
    aot_tracer *t = k->t;
    batched a = b_in(k, 0), b = b_in(k, 1);
    aot_tensor *x = b_front(k, a);
    aot_tensor *y = b_front(k, b);
    if (a.bdim >= 0 && b.bdim >= 0) {
        y = AOT(t, aten_unsqueeze, y, -1); // C++ works out arguments from the last one on
        x = AOT(t, aten_unsqueeze, x, -2);
        x = AOT(t, aten_matmul, x, y);
        x = AOT(t, aten_squeeze_dim, x, -1);
        return AOT_V(t, aten_squeeze_dim, x, -1);
    }
    y = AOT(t, aten_t, y);
    return AOT_V(t, aten_matmul, x, y);
}

bool batch_vdot(aot_expand *k)
{
    aot_tensor *x = aot_x_tensor(k, 0);
    if (aot_is_complex(x)) {
        x = AOT(k->t, aten_conj, x);
    }
    return aot_x_give(k, AOT(k->t, aten_dot, x, k->args[1]));
}

bool batch_addmm(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *y = AOT(t, aten_mm, k->args[1], k->args[2]);
    aot_tensor *x = AOT(t, aten_mul_Scalar, k->args[0], k->args[3]);
    return aot_x_give(k, AOT(t, aten_add_Tensor, x, y, k->args[4]));
}

static bool is_number(aot_value v, double x)
{
    return v.kind == AOT_V_FLOAT ? v.u.f == x : v.kind == AOT_V_INT && v.u.dim.value == (int64_t)x;
}

/* beta * input + alpha * product */
bool batch_add_product(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_tensor *out = k->op == AOT_OP_aten_addmv ? AOT(t, aten_mv, k->args[1], k->args[2])
                                                 : AOT(t, aten_bmm, k->args[1], k->args[2]);
    if (k->op == AOT_OP_aten_addbmm) {
        out = AOT(t, aten_sum_dim_IntList, out, aot_v_ints(t, 1, (const int64_t[]){0}));
    }
    if (!is_number(k->args[4], 1)) {
        out = AOT(t, aten_mul_Scalar, out, k->args[4]);
    }
    if (!is_number(k->args[3], 0)) {
        aot_tensor *x = AOT(t, aten_mul_Scalar, k->args[0], k->args[3]);
        out = AOT(t, aten_add_Tensor, x, out);
    }
    return aot_x_give(k, out);
}
