/* What the META rules of views, indexing and copies share: comparing sizes at the hints, and
 * dimensions that are named, put in and taken out. */
#ifndef AOT_RULES_META_SHAPE_H
#define AOT_RULES_META_SHAPE_H

#include "rules/fake_internal.h"
#include "rules/meta_shared.h"

/* Equal, as a guard would find; sizes without a hint equal only themselves. */
static inline bool dim_eq(aot_dim a, aot_dim b)
{
    return aot_dim_same(a, b) || (a.value != AOT_HINT_NONE && a.value == b.value);
}

/* Less at the hints; false if that is not known. */
static inline bool dim_lt(aot_dim a, aot_dim b)
{
    return a.value != AOT_HINT_NONE && b.value != AOT_HINT_NONE && a.value < b.value;
}

static inline const char *call_name(const aot_call *k)
{
    return aot_op(k->n->op)->name;
}

/* A dimension argument, from the front; a tensor without dimensions takes 0 and -1. */
AOT_NODISCARD aot_status aot_meta_need_dim(aot_call *k, const aot_fake *t, unsigned pos,
                                           const char *name, int64_t def, unsigned *out);
/* An error if a tensor of ndim dimensions cannot be kept. */
AOT_NODISCARD aot_status aot_meta_room(aot_call *k, unsigned ndim);
aot_status aot_meta_bad_dim(aot_call *k, int64_t dim, unsigned ndim);
/* Pushes a view of the base; copying forms (tag view_copy) come out contiguous. */
void aot_meta_push_view(aot_call *k, aot_fake *t);
/* A new symbol u0, u1 ... for a size that depends on values. */
aot_dim aot_meta_fresh_size(aot_call *k);
void aot_meta_insert_dim(aot_fake *t, unsigned at, aot_dim size, aot_dim stride);
void aot_meta_remove_dim(aot_fake *t, unsigned at);

#endif
