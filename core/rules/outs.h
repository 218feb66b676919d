/* What OUTS rules work with: the node's arguments as types and numbers, and a list to append to.
 * Positions and names are those of the schema. A number that is not known is AOT_HINT_NONE; the
 * arithmetic below keeps that. */
#ifndef AOT_RULES_OUTS_H
#define AOT_RULES_OUTS_H

#include "rules/rules.h"
#include "rules/sizes.h"

struct aot_outs {
    const aot_graph *g;
    const aot_node *n;
    AOT_VEC(aot_out_type) outs;
    unsigned skip; /* arguments before the operator's own: (state, op, ...) of run_with_rng_state */
    unsigned n_taken; /* 1 + the highest index that a getitem takes; 0 if none does */
};

/* The argument at a position, or given by name; NULL if it is absent or None. */
const aot_arg *aot_outs_arg(const aot_outs *o, unsigned pos, const char *name);
/* The type of a tensor argument; false (and *t untouched) if it is absent or no tensor. */
bool aot_outs_tensor(const aot_outs *o, unsigned pos, const char *name, aot_out_type *t);
bool aot_outs_tensor_arg(const aot_outs *o, const aot_arg *a, aot_out_type *t);
/* An integer or symbol argument, def if absent. */
int64_t aot_outs_int(const aot_outs *o, unsigned pos, const char *name, int64_t def);
bool aot_outs_bool(const aot_outs *o, unsigned pos, const char *name, bool def);
int64_t aot_outs_number(const aot_outs *o, const aot_arg *a); /* AOT_HINT_NONE if it is none */
/* Item i of a list argument as a number; the last item stands for missing ones (int[2] given as
 * one); def for an empty or absent list. */
int64_t aot_outs_item(const aot_outs *o, const aot_arg *list, unsigned i, int64_t def);
/* Bit i of an output mask; true if there is no mask. */
bool aot_outs_mask(const aot_outs *o, unsigned pos, const char *name, unsigned i);
/* A dtype argument, def if absent or not known. */
aot_dtype aot_outs_dtype(const aot_outs *o, unsigned pos, const char *name, aot_dtype def);

/* dim counted from the front; ndim if out of range. */
unsigned aot_outs_dim(int64_t dim, unsigned ndim);
int64_t aot_mul_size(int64_t a, int64_t b);
int64_t aot_add_size(int64_t a, int64_t b);
int64_t aot_ceil_div_size(int64_t a, int64_t b); /* b > 0 */

/* Appends the outputs of another operator that is called with this node's arguments from skip on:
 * its own rule, or its only output where that is like the node's type. */
void aot_outs_of_op(aot_outs *o, const aot_arg *op, unsigned skip);
/* Appends the outputs of a subgraph argument. */
void aot_outs_of_subgraph(aot_outs *o, const aot_arg *a);

/* A tensor type of ndim sizes that follow. */
aot_out_type aot_outs_type(aot_dtype dtype, unsigned ndim, const int64_t *sizes);
void aot_outs_push(aot_outs *o, aot_out_type t);                     /* numel is set here */
void aot_outs_push_as(aot_outs *o, aot_out_type t, aot_dtype dtype); /* with another dtype */
void aot_outs_push_none(aot_outs *o);
/* Like a tensor argument; None if that is absent or not wanted. */
void aot_outs_push_like(aot_outs *o, unsigned pos, const char *name, bool wanted);
/* f32 for half types, else the type itself: what means and deviations are kept in on CUDA. */
aot_dtype aot_outs_acc_dtype(aot_dtype d);
bool aot_outs_on_cpu(const aot_outs *o, unsigned pos, const char *name);

#endif
