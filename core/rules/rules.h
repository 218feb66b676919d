/* The rules that rows of the operator table name, by kind. A kind is a function type of its own, so
 * a rule in the wrong cell does not compile; a rule that no row names has no prototype and does not
 * compile either; a rule that is named and not written does not link.
 *
 * To add a rule: write it in rules/KIND_FAMILY.c with the kind's signature, name it in the cell of
 * the rows that it serves. To add a kind: a cell in ops/op_cells.h, a type here, a field below. */
#ifndef AOT_RULES_RULES_H
#define AOT_RULES_RULES_H

#include "base/err.h"
#include "ops/optab.h"

typedef struct aot_outs aot_outs; /* rules/outs.h */

/* Appends dtype and sizes of each output of a node whose value is a tuple or a list. */
typedef void aot_outs_fn(aot_outs *o);

typedef struct aot_call aot_call; /* rules/fake.h */

/* Appends sizes, strides, dtype and device of each output of an ATen call. */
typedef aot_status aot_meta_fn(aot_call *k);

#define OP(id, text, cells) cells
#define OUTS(fn) aot_outs_fn fn;
#define META(fn) aot_meta_fn fn;
#include "ops/op_cells.h"

/* The rules of one row; a member is NULL if there is none. */
typedef struct aot_rules {
    aot_outs_fn *outs;
    aot_meta_fn *meta;
} aot_rules;

const aot_rules *aot_rules_of(aot_op_id id); /* never NULL */

#endif
