/* The operator table read for its functions. It stands apart from ops/optab.c so that what only
 * asks for names and classes does not depend on the rules. */
#include "rules/rules.h"

#include "ops/op_ids.h"

static const aot_rules rules[AOT_N_OPS] = {
#define OP(id, text, cells) [AOT_OP_##id] = {cells},
#define OUTS(fn) .outs = fn,
#define META(fn) .meta = fn,
#include "ops/op_cells.h"
};

const aot_rules *aot_rules_of(aot_op_id id)
{
    return &rules[id < AOT_N_OPS ? id : AOT_OP_UNKNOWN];
}
