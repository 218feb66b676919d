/* Types of results whose size depends on values: a fresh unbacked symbol stands for it.
 *
 * The symbol is the first of u0, u1 ... that is above all that types before the node use.
 * Mirrors: torch/_subclasses/fake_impls.py:nonzero, masked_select, _unique. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/meta_shape.h"

static void see_symbol(void *arg, const char *s, size_t n)
{
    int *next = arg;
    if (n > 1 && n < 9 && s[0] == 'u' && s[1] >= '0' && s[1] <= '9') {
        int v = atoi(s + 1);
        *next = v >= *next ? v + 1 : *next;
    }
}

static void see_dim(const aot_ctx *c, aot_dim d, int *next)
{
    if (d.expr != 0) {
        aot_sym_each(aot_text(c, d.expr), aot_str_len(c->strs, d.expr), see_symbol, next);
    }
}

/* Cost: the types before the node; calls that make symbols are rare. */
aot_dim aot_meta_fresh_size(aot_call *k)
{
    int next = 0;
    aot_ctx *c = k->c;
    for (const aot_node *n = k->g->nodes.d; n < k->n; n++) {
        const aot_meta *m = aot_meta_get(c, n->meta);
        see_dim(c, m->sym, &next);
        for (unsigned i = 0; m->val == AOT_VAL_TENSOR && i < m->ndim; i++) {
            see_dim(c, aot_meta_sizes(c, m)[i], &next);
        }
    }
    char buf[16];
    snprintf(buf, sizeof buf, "u%d", next);
    k->unbacked = true;
    return (aot_dim){.value = AOT_HINT_NONE, .expr = aot_intern_z(c->strs, buf)};
}

/* How many elements are chosen: none of an empty tensor. */
static aot_dim count(aot_call *k, const aot_fake *t)
{
    return aot_dim_is(aot_fake_numel(k->c, t), 0) ? aot_dim_of(0) : aot_meta_fresh_size(k);
}

/* Positions, stored column by column. */
aot_status meta_nonzero(aot_call *k)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_dim n = count(k, &t);
    t.size[1] = aot_dim_of(t.ndim);
    t.size[0] = n;
    t.stride[0] = aot_dim_of(1);
    t.stride[1] = n;
    t.ndim = 2;
    t.dtype = AOT_I64;
    aot_call_push(k, &t);
    return AOT_OK;
}

aot_status meta_masked_select(aot_call *k)
{
    aot_fake in[2], t;
    AOT_TRY(aot_call_need(k, 0, "self", &in[0]));
    AOT_TRY(aot_call_need(k, 1, "mask", &in[1]));
    AOT_TRY(aot_fake_elementwise(k, in, 2, (aot_dtype)in[0].dtype, &t));
    aot_push_vector(k, &t, (aot_dtype)t.dtype, aot_meta_fresh_size(k));
    return AOT_OK;
}

/* Values, where each element went, and how often each value stands: what is not asked for is
 * empty, but along a dimension on CPU all are there. Fake results all have the operand's dtype.
 * dim < 0: of the flattened tensor. */
static aot_status push_unique(aot_call *k, int dim, bool inverse, bool counts)
{
    aot_fake t;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    aot_dim n = count(k, &t), zero = aot_dim_of(0);
    aot_fake where = t;
    if (dim < 0) {
        aot_push_vector(k, &t, (aot_dtype)t.dtype, n);
    } else {
        where.ndim = 1;
        where.size[0] = t.size[dim];
        t.size[dim] = n;
        aot_push_contiguous(k, &t, (aot_dtype)t.dtype);
        bool cpu = strcmp(aot_text(k->c, t.device), "cpu") == 0;
        inverse |= cpu;
        counts |= cpu;
    }
    if (inverse) {
        aot_push_contiguous(k, &where, (aot_dtype)t.dtype);
    } else {
        aot_push_vector(k, &t, (aot_dtype)t.dtype, zero);
    }
    aot_push_vector(k, &t, (aot_dtype)t.dtype, counts ? n : zero);
    return AOT_OK;
}

aot_status meta_unique2(aot_call *k)
{
    return push_unique(k, -1, aot_call_bool(k, 2, "return_inverse", false),
                       aot_call_bool(k, 3, "return_counts", false));
}

static aot_status unique_along(aot_call *k, unsigned inverse_pos)
{
    aot_fake t;
    unsigned d;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    AOT_TRY(aot_meta_need_dim(k, &t, 1, "dim", 0, &d));
    return push_unique(k, t.ndim ? (int)d : -1,
                       aot_call_bool(k, inverse_pos, "return_inverse", false),
                       aot_call_bool(k, inverse_pos + 1, "return_counts", false));
}

/* unique_dim(self, dim, sorted, return_inverse, return_counts) */
aot_status meta_unique_dim(aot_call *k)
{
    return unique_along(k, 3);
}

/* unique_dim_consecutive(self, dim, return_inverse, return_counts) */
aot_status meta_unique_dim_consecutive(aot_call *k)
{
    return unique_along(k, 2);
}

/* unique_consecutive(self, return_inverse, return_counts, dim) */
aot_status meta_unique_consecutive(aot_call *k)
{
    aot_fake t;
    int dim = -1;
    AOT_TRY(aot_call_need(k, 0, "self", &t));
    if (aot_call_arg(k, 3, "dim") && t.ndim > 0) {
        unsigned d;
        AOT_TRY(aot_meta_need_dim(k, &t, 3, "dim", 0, &d));
        dim = (int)d;
    }
    return push_unique(k, dim, aot_call_bool(k, 1, "return_inverse", false),
                       aot_call_bool(k, 2, "return_counts", false));
}
