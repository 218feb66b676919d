/* Batch rules of operators that look at no dimension.
 * Mirrors aten/src/ATen/functorch/BatchRulesUnaryOps.cpp, BatchRulesBinaryOps.cpp. */
#include "trace/batch.h"

/* BASIC_UNARY_BATCH_RULE */
aot_value batch_unary(batch_call *k)
{
    for (unsigned i = 0; i < k->n; i++) {
        batched b = b_in(k, i);
        if (b.bdim >= 0) {
            k->out = b.bdim;
            k->args[i] = aot_v_tensor(b.x);
        }
    }
    return b_call(k);
}

aot_value batch_clone(batch_call *k)
{
    aot_expand x = {.t = k->t, .n = k->n, .args = k->args};
    batched b = b_in(k, 0);
    if (aot_x_str_is(&x, 1, "torch.contiguous_format")) {
        k->args[0] = aot_v_tensor(b_front(k, b));
        return b_call(k);
    }
    return batch_unary(k);
}

/* handle_variadic_bdims */
aot_value batch_front(batch_call *k)
{
    for (unsigned i = 0; i < k->n; i++) {
        batched b = b_in(k, i);
        if (b.x != NULL) {
            k->args[i] = aot_v_tensor(b_front(k, b));
        }
    }
    return b_call(k);
}

/* handle_pointwise_ops; comparisons, where and what writes its first argument go the same way. */
aot_value batch_align(batch_call *k)
{
    unsigned rank = 0;
    for (unsigned i = 0; i < k->n; i++) {
        batched b = b_in(k, i);
        rank = b.x != NULL && b_rank(b) > rank ? b_rank(b) : rank;
    }
    if (k->f->writes && b_in(k, 0).bdim < 0) {
        aot_trace_fail(k->t, AOT_E_GRAPH,
                       "vmap: %s writes a tensor without a batch from one that has it",
                       tr_op_text(k->t, k->op));
    }
    for (unsigned i = 0; i < k->n; i++) {
        batched b = b_in(k, i);
        if (b.x != NULL) {
            aot_tensor *x = b_front(k, b);
            k->args[i] = aot_v_tensor(b_pad(k, x, b.bdim >= 0, rank));
        }
    }
    return b_call(k);
}

/* A batched scalar and a Python number: what .to() makes of either is in the graph. */
static void promote_number(batch_call *k, unsigned at, unsigned number)
{
    static const aot_dtype of_kind[] = {[AOT_V_INT] = AOT_I64,
                                        [AOT_V_FLOAT] = AOT_F64,
                                        [AOT_V_BOOL] = AOT_B8,
                                        [AOT_V_COMPLEX] = AOT_C128};
    aot_tensor *x = k->args[at].u.t;
    aot_fake scalar = *x->type;
    aot_dtype of = of_kind[k->args[number].kind];
    scalar.ndim = 0;
    aot_dtype d = aot_mixed_dtype(&scalar, 1, of, AOT_PROMOTE_NO_OPMATH);
    if (aot_dtype_of(x) != d) {
        k->args[at] = AOT_V(k->t, aten_to_dtype, x, (int)d);
    }
    if (of != d) {
        k->args[number] = AOT_V(k->t, aten__to_copy, k->args[number], (int)d);
    }
}

/* The two tensors of a binary operator; one may be a Python number. */
aot_value batch_binary(batch_call *k)
{
    unsigned at[2] = {0, 0}, n = 0;
    for (unsigned i = 0; i < k->n && n < 2; i++) {
        if (b_takes_tensor(k->f, i, k->args[i])) {
            at[n++] = i;
        }
    }
    if (n < 2) { // the other operand is a number
        return batch_unary(k);
    }
    batched a = b_in(k, at[0]), b = b_in(k, at[1]);
    if (a.x == NULL || b.x == NULL) {
        unsigned x = a.x == NULL ? 1 : 0;
        bool scalar = b_rank(x == 0 ? a : b) == 0;
        k->args[at[x]] = aot_v_tensor(b_front(k, x == 0 ? a : b));
        if (scalar) {
            promote_number(k, at[x], at[1 - x]);
        }
        return b_call(k);
    }
    aot_tensor *both[2];
    b_binary_align(k, a, b, true, both);
    k->args[at[0]] = aot_v_tensor(both[0]);
    k->args[at[1]] = aot_v_tensor(both[1]);
    return b_call(k);
}

aot_value batch_gelu_backward(batch_call *k)
{
    aot_tensor *both[2];
    batched a = b_in(k, 0), b = b_in(k, 1);
    b_binary_align(k, a, b, true, both);
    k->args[0] = aot_v_tensor(b_ensure(k, both[0], a.bdim >= 0));
    k->args[1] = aot_v_tensor(b_ensure(k, both[1], b.bdim >= 0));
    return b_call(k);
}
