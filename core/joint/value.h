/* Values of one element, for constant folding: what a tensor that holds one value throughout holds.
 * Computed as a tensor of that one element would be: by dtype, rounded after each operation. */
#ifndef AOT_JOINT_VALUE_H
#define AOT_JOINT_VALUE_H

#include "joint/fx.h"

typedef enum value_kind {
    VALUE_UNKNOWN,
    VALUE_SYMBOL, /* a symbolic size: known to be one number, but not which */
    VALUE_NUMBER, /* a Python number */
    VALUE_TENSOR,
    VALUE_OTHER   /* None, a dtype, a list ...: an argument that is no operand */
} value_kind;

typedef struct value {
    uint8_t kind; /* value_kind */
    uint8_t dtype; /* TENSOR */
    bool is_float, is_bool; /* NUMBER */
    double f;      /* floating dtypes, float numbers */
    int64_t i;     /* others */
    uint32_t storage; /* TENSOR: equal = the same memory */
} value;

/* Operands of one call: arguments in order with keywords by name. */
typedef struct value_call {
    aot_ctx *c;
    const aot_op_info *op;
    value arg[8];
    aot_dtype dtype_arg; /* the first dtype among arguments; AOT_NO_DTYPE */
    const char *rounding; /* of div; NULL */
    value alpha;          /* of add and sub; UNKNOWN if absent */
    unsigned n;
} value_call;

/* Computes an element-wise operator; false if there is no rule for it here. */
bool value_compute(value *out, const value_call *c);
/* v as a tensor of a dtype. */
value value_as(const value *v, aot_dtype d);
/* What tensor.item() gives, as an argument. */
aot_arg value_item(const value *v);
/* The same bytes read as another dtype of the same width; false if widths differ. */
bool value_reinterpret(value *out, const value *v, aot_dtype d);

#endif
