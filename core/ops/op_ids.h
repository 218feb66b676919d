/* The rows' numbers as an enum: AOT_OP_aten_mul_Tensor. Include it where code names an operator;
 * graph.h does not, since it is long. */
#ifndef AOT_OPS_OP_IDS_H
#define AOT_OPS_OP_IDS_H

#include "ops/optab.h"

enum {
    AOT_OP_BEFORE_FIRST_ = AOT_OP_UNKNOWN,
/* A family's enumerator is the number of its first row: the next one steps back by one. */
#define FAMILY(id, title) AOT_FAMILY_##id, AOT_FAMILY_##id##_BACK_ = AOT_FAMILY_##id - 1,
#define OP(id, text, cells) AOT_OP_##id,
#include "ops/op_cells.h"
    AOT_N_OPS
};

#endif
