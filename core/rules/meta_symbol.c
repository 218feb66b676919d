/* Types of arithmetic on sizes, and of collectives, which are sized by their group.
 * Mirrors: torch/fx/experimental/sym_node.py:magic_methods,
 * torch/distributed/_functional_collectives.py (the *_meta functions). */
#include "rules/fake.h"

static aot_status push_symbol(aot_call *k, aot_dim d)
{
    aot_fake t = {.val = AOT_VAL_SYM, .dtype = AOT_NO_DTYPE, .sym_kind = AOT_SYM_INT, .sym = d};
    aot_call_push(k, &t);
    return AOT_OK;
}

/* Both operands, if they are integers. */
static aot_status two_ints(aot_call *k, aot_dim *a, aot_dim *b)
{
    for (unsigned i = 0; i < 2; i++) {
        if (aot_call_scalar_dtype(k, i, i == 0 ? "a" : "b") != AOT_I64) {
            return AOT_FAIL(k->err, AOT_E_UNSUPPORTED, "%s: operands that are not integers",
                            aot_text(k->c, k->n->name));
        }
    }
    *a = aot_call_int(k, 0, "a", 0);
    *b = aot_call_int(k, 1, "b", 0);
    return AOT_OK;
}

static aot_status binary(aot_call *k, aot_dim (*fn)(aot_ctx *, aot_dim, aot_dim))
{
    aot_dim a, b;
    AOT_TRY(two_ints(k, &a, &b));
    return push_symbol(k, fn(k->c, a, b));
}

aot_status meta_sym_add(aot_call *k)
{
    return binary(k, aot_dim_add);
}

aot_status meta_sym_sub(aot_call *k)
{
    return binary(k, aot_dim_sub);
}

aot_status meta_sym_mul(aot_call *k)
{
    return binary(k, aot_dim_mul);
}

aot_status meta_sym_floordiv(aot_call *k)
{
    return binary(k, aot_dim_floordiv);
}

aot_status meta_sym_mod(aot_call *k)
{
    return binary(k, aot_dim_mod);
}

aot_status meta_sym_max(aot_call *k)
{
    return binary(k, aot_dim_max);
}

aot_status meta_sym_min(aot_call *k)
{
    return binary(k, aot_dim_min);
}

/* aten.sym_size.int(self, dim), aten.sym_stride.int(self, dim) */
static aot_status of_dim(aot_call *k, bool stride)
{
    aot_fake t;
    if (!aot_call_tensor(k, 0, "self", &t)) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: self is no tensor", aot_text(k->c, k->n->name));
    }
    unsigned d = aot_fake_dim(&t, aot_call_int(k, 1, "dim", 0).value);
    if (d == t.ndim) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: dimension out of range",
                        aot_text(k->c, k->n->name));
    }
    return push_symbol(k, stride ? t.stride[d] : t.size[d]);
}

aot_status meta_sym_size(aot_call *k)
{
    return of_dim(k, false);
}

aot_status meta_sym_stride(aot_call *k)
{
    return of_dim(k, true);
}

/* aten.sym_numel(self) */
aot_status meta_sym_numel(aot_call *k)
{
    aot_fake t;
    if (!aot_call_tensor(k, 0, "self", &t)) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: self is no tensor", aot_text(k->c, k->n->name));
    }
    return push_symbol(k, aot_fake_numel(k->c, &t));
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* all_reduce(input, ...), broadcast(input, ...): like empty_like; wait_tensor(tensor): itself. */
aot_status meta_collective(aot_call *k)
{
    aot_fake t;
    if (!aot_call_tensor(k, 0, "input", &t)) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: input is no tensor", aot_text(k->c, k->n->name));
    }
    aot_call_push(k, &t);
    return AOT_OK;
}

static aot_status push_resized(aot_call *k, unsigned pos, bool grows)
{
    aot_fake t;
    if (!aot_call_tensor(k, 0, "input", &t) || t.ndim == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: input has no dimension",
                        aot_text(k->c, k->n->name));
    }
    aot_dim n = aot_call_int(k, pos, "group_size", 1);
    t.size[0] = grows ? aot_dim_mul(k->c, t.size[0], n) : aot_dim_floordiv(k->c, t.size[0], n);
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* all_to_all_single(input, output_split_sizes, ...): as many rows as come in */
aot_status meta_all_to_all(aot_call *k)
{
    aot_fake t;
    unsigned n = aot_call_n_items(k, 1, "output_split_sizes");
    if (!aot_call_tensor(k, 0, "input", &t) || t.ndim == 0) {
        return AOT_FAIL(k->err, AOT_E_SHAPE, "%s: input has no dimension",
                        aot_text(k->c, k->n->name));
    }
    t.size[0] = aot_dim_of(0);
    for (unsigned i = 0; i < n; i++) {
        t.size[0] = aot_dim_add(k->c, t.size[0], aot_call_item(k, 1, "output_split_sizes", i, 0));
    }
    aot_fake_set_contiguous(k->c, &t);
    aot_call_push(k, &t);
    return AOT_OK;
}

/* all_gather_into_tensor(input, group_size, ...) */
aot_status meta_all_gather(aot_call *k)
{
    return push_resized(k, 1, true);
}

/* reduce_scatter_tensor(input, reduce_op, group_size, ...) */
aot_status meta_reduce_scatter(aot_call *k)
{
    return push_resized(k, 2, false);
}
