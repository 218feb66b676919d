/* Operators that are another operator under a second name: the arguments are passed on.
 * Mirrors the one-line kernels of aten/src/ATen/native (UnaryOps.cpp, BinaryOps.cpp ...). */
#include "trace/trace.h"

static const struct {
    aot_op_id from, to;
} aliases[] = {
#define ALIAS(from, to) {AOT_OP_##from, AOT_OP_##to},
#include "decomp/aliases.def"
#undef ALIAS
};

bool composite_alias(aot_expand *k)
{
    for (unsigned i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (aliases[i].from == k->op) {
            return aot_x_give_value(k, aot_call_op(k->t, aliases[i].to, k->n, k->args));
        }
    }
    return false;
}
