/* Operators on lists of tensors: the operator on one tensor, item by item. kernels_foreach.def says
 * which.
 *
 * Mirrors: aten/src/ATen/native/ForeachOpsKernels.cpp (slow paths, which run on the CPU). */
#include <string.h>

#include "exec/internal.h"

static const aot_op_id item_op[AOT_N_OPS] = {
#define EACH(op, item) [AOT_OP_##op] = AOT_OP_##item,
#include "ops/kernels_foreach.def"
#undef EACH
};

/* Item i of a list; of a tensor of numbers, one for each item, its element; else the value
 * itself. */
static aot_xval item_of(aot_kern *k, unsigned pos, unsigned i)
{
    const aot_xval *v = k_arg(k, pos);
    aot_span name = k->facts->schema.args[pos].name;
    if (v->kind == AOT_X_LIST) {
        if (i >= v->n) {
            k_fail(k, AOT_E_SHAPE, "a list of argument %u has %u items only", pos, v->n);
        }
        return v->u.items[i];
    }
    if (v->kind == AOT_X_ARRAY && v->u.array->ndim == 1 && name.n == 7 &&
        memcmp(name.s, "scalars", 7) == 0) {
        aot_array *x = k_select(k, v->u.array, 0, i);
        return aot_array_kind(x) == 'f'
                   ? aot_xv_real(aot_get_real((aot_dtype)x->dtype, aot_array_data(x)))
                   : aot_xv_int(aot_get_int((aot_dtype)x->dtype, aot_array_data(x)));
    }
    return *v;
}

static unsigned n_items(aot_kern *k)
{
    for (unsigned pos = 0; pos < k->n_args; pos++) {
        if (k_arg(k, pos)->kind == AOT_X_LIST) {
            return k_arg(k, pos)->n;
        }
    }
    k_fail(k, AOT_E_SHAPE, "no argument is a list of tensors");
}

void kern_foreach(aot_kern *k)
{
    unsigned n = n_items(k), n_args = (unsigned)k->facts->schema.n_args;
    aot_xval *args = k_mem(k, (n_args + 1) * sizeof *args);
    aot_op_id op = item_op[k_op(k)];
    k_give_list(k);
    for (unsigned i = 0; i < n; i++) {
        for (unsigned pos = 0; pos < n_args; pos++) {
            args[pos] = item_of(k, pos, i);
        }
        k_give(k, k_call(k, op, n_args, args));
    }
}

/* self, ord, dtype: op of each tensor as a whole */
static void each_norm(aot_kern *k, aot_op_id op)
{
    unsigned n = n_items(k);
    k_give_list(k);
    for (unsigned i = 0; i < n; i++) {
        aot_xval args[] = {item_of(k, 0, i), *k_arg(k, 1), aot_xv_none(), aot_xv_bool(false),
                           *k_arg(k, 2)};
        k_give(k, k_call(k, op, 5, args));
    }
}

void kern_foreach_norm(aot_kern *k)
{
    each_norm(k, AOT_OP_aten_linalg_vector_norm);
}

void kern_foreach_powsum(aot_kern *k) // sums of powers of absolute values
{
    each_norm(k, AOT_OP_aten_linalg__powsum);
}

/* self, ord, dim, keepdim, dtype */
void kern_powsum(aot_kern *k)
{
    aot_array *x = k_need(k, 0);
    if (!k_is_none(k, 4)) {
        x = k_cast(k, x, k_dtype(k, 4, (aot_dtype)x->dtype));
    }
    x = K1(k, aten_abs, x);
    aot_xval power[] = {aot_xv_array(x), *k_arg(k, 1)};
    aot_xval sum[] = {aot_xv_array(k_call(k, AOT_OP_aten_pow_Tensor_Scalar, 2, power)),
                      *k_arg(k, 2), *k_arg(k, 3)};
    k_give(k, k_call(k, AOT_OP_aten_sum_dim_IntList, 3, sum));
}
