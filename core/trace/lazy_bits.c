/* Lazily conjugated and negated tensors: _conj and _neg_view only mark a view, and an operator that
 * does not know the mark gets a clone instead.
 * Mirrors aten/src/ATen/ConjugateFallback.cpp, native/NegateFallback.cpp, MathBitsFallback.h. */
#include "trace/internal.h"

static bool toggled(const aot_tensor *x, aot_op_id op, bool bit)
{
    for (unsigned i = 0; i < x->chain.n; i++) {
        bit ^= x->chain.d[i].op == op;
    }
    return bit;
}

bool aot_is_conj(const aot_tensor *x)
{
    return toggled(x, AOT_OP_aten__conj, x->base_conj);
}

bool aot_is_neg(const aot_tensor *x)
{
    return toggled(x, AOT_OP_aten__neg_view, x->base_neg);
}

void aot_mark_like(aot_tensor *x, const aot_tensor *like)
{
    x->base_conj = aot_is_conj(like);
    x->base_neg = aot_is_neg(like);
}

/* Operators that take marked tensors as they are, views apart. */
static bool knows_conj(aot_op_id op)
{
    switch (op) {
    case AOT_OP_aten_clone:
    case AOT_OP_aten_empty_like:
    case AOT_OP_aten_full_like:
    case AOT_OP_aten__conj_physical:
    case AOT_OP_aten__unsafe_view:
    case AOT_OP_aten_dot:
    case AOT_OP_aten_vdot:
    case AOT_OP_aten_mm:
    case AOT_OP_aten_addmm:
    case AOT_OP_aten_addmm_:
    case AOT_OP_aten_bmm:
    case AOT_OP_aten_baddbmm:
    case AOT_OP_aten_baddbmm_:
    case AOT_OP_aten_linalg_solve_triangular: return true;
    default: return false;
    }
}

static bool knows_neg(aot_op_id op)
{
    return op == AOT_OP_aten_clone || op == AOT_OP_aten_empty_like ||
           op == AOT_OP_aten_full_like || op == AOT_OP_aten_neg || op == AOT_OP_aten__unsafe_view ||
           op == AOT_OP_aten_linalg_solve_triangular;
}

bool tr_must_resolve(aot_op_id op, const aot_tensor *x)
{
    return (aot_is_conj(x) && !knows_conj(op)) || (aot_is_neg(x) && !knows_neg(op));
}
