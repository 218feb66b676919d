/* Matrices in formulas: what FunctionsManual.cpp writes as x.mH() and at::matmul(x, y). */
#ifndef AOT_GRAD_LINALG_H
#define AOT_GRAD_LINALG_H

#include "grad/steps.h"

/* The conjugate transpose of the last two dimensions. */
static inline aot_tensor *aot_grad_mh(aot_tracer *t, aot_tensor *x)
{
    return aot_grad_conj(t, AOT(t, aten_transpose_int, x, -2, -1));
}
static inline aot_tensor *aot_grad_mm(aot_tracer *t, aot_tensor *x, aot_tensor *y)
{
    return AOT(t, aten_matmul, x, y);
}
static inline aot_tensor *aot_grad_sub(aot_tracer *t, aot_tensor *x, aot_tensor *y)
{
    return AOT(t, aten_sub_Tensor, x, y);
}
/* Solves a X = b, or X a = b if not left, with a triangular. */
static inline aot_tensor *aot_grad_solve(aot_tracer *t, aot_tensor *a, aot_tensor *b, bool upper,
                                         bool left, bool unitriangular)
{
    return AOT(t, aten_linalg_solve_triangular, a, b, upper, left, unitriangular);
}
static inline aot_tensor *aot_grad_diagonal(aot_tracer *t, aot_tensor *x)
{
    return AOT(t, aten_diagonal, x, 0, -2, -1);
}
/* The gradient of a pseudo-inverse (pinv_backward). */
aot_tensor *aot_grad_pinv(aot_tracer *t, aot_tensor *grad, aot_tensor *pinv, aot_tensor *a);

#endif
