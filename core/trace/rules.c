/* The operator table read for the rules of the tracer; it stands apart from rules/rules.c so that
 * META rules do not depend on the tracer. */
#include "trace/trace.h"

#define SELF AOT_SAVES_SELF
#define SELF_FOR_1 AOT_SAVES_SELF_FOR_1
#define SELF_FOR_2 AOT_SAVES_SELF_FOR_2
#define RESULT AOT_SAVES_RESULT
#define RESULT1 AOT_SAVES_RESULT1
#define RESULT2 AOT_SAVES_RESULT2
#define RESULT3 AOT_SAVES_RESULT3
#define RESULT4 AOT_SAVES_RESULT4
#define RESULT5 AOT_SAVES_RESULT5
#define RESULT6 AOT_SAVES_RESULT6
#define RESULT7 AOT_SAVES_RESULT7

static const aot_trace_rules rules[AOT_N_OPS] = {
#define OP(id, text, cells) [AOT_OP_##id] = {cells},
#define VJP(fn) .vjp = fn,
#define DECOMP(fn) .expand = fn,
#define SAVES(bits) .saves = bits,
#define GRADS(bits) .grads = bits,
#include "ops/op_cells.h"
};

const aot_trace_rules *aot_trace_rules_of(aot_op_id id)
{
    return &rules[id < AOT_N_OPS ? id : AOT_OP_UNKNOWN];
}
