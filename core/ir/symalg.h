/* Arithmetic on sizes: numbers, and expressions of symbols in the form in which sympy prints them,
 * so that what we derive reads as what PyTorch prints ("16*s77", "s0 + 1", "((s0//2))").
 * Values follow the hints. Results of plain numbers are plain numbers. */
#ifndef AOT_IR_SYMALG_H
#define AOT_IR_SYMALG_H

#include "ir/graph.h"

static inline aot_dim aot_dim_of(int64_t v)
{
    return (aot_dim){.value = v};
}
aot_dim aot_dim_add(aot_ctx *c, aot_dim a, aot_dim b);
aot_dim aot_dim_sub(aot_ctx *c, aot_dim a, aot_dim b);
aot_dim aot_dim_mul(aot_ctx *c, aot_dim a, aot_dim b);
aot_dim aot_dim_floordiv(aot_ctx *c, aot_dim a, aot_dim b); /* exact quotients are simplified */
aot_dim aot_dim_mod(aot_ctx *c, aot_dim a, aot_dim b);
aot_dim aot_dim_neg(aot_ctx *c, aot_dim a);
aot_dim aot_dim_max(aot_ctx *c, aot_dim a, aot_dim b);
aot_dim aot_dim_min(aot_ctx *c, aot_dim a, aot_dim b);
aot_dim aot_dim_pow(aot_ctx *c, aot_dim a, unsigned n);
/* The canonical form of any expression text: as sympy would print it after parsing. */
aot_dim aot_dim_parse(aot_ctx *c, const char *text, size_t n);
/* Same number, or same expression. */
bool aot_dim_same(aot_dim a, aot_dim b);
/* Equal at the hints, as a guard on backed symbols would decide. */
bool aot_dim_equal_hint(aot_dim a, aot_dim b);
static inline bool aot_dim_is(aot_dim a, int64_t v)
{
    return a.expr == 0 && a.value == v;
}

#endif
