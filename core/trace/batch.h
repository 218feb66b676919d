/* Batch rules of vmap: what an operator calls when some of its tensors have one dimension more.
 * A rule is called below its layer, with values whose batch is at `bdim`, and says where the batch
 * of its result is. Mirrors aten/src/ATen/functorch/BatchRules*.cpp,
 * LegacyBatchingRegistrations.cpp.
 *
 * To add one: a row in batch.def; a rule of its own goes to batch_FAMILY.c. */
#ifndef AOT_TRACE_BATCH_H
#define AOT_TRACE_BATCH_H

#include "trace/internal.h"

typedef struct batch_call {
    aot_tracer *t;
    aot_op_id op;
    const op_facts *f;
    unsigned n;
    aot_value *args; /* tensors of the layer still wrapped; a rule may change the list */
    unsigned layer;
    const int *row; /* the numbers of the row */
    aot_dim batch;
    int out; /* where the batch of the result is: set by the rule; 0 unless it does */
} batch_call;

typedef aot_value batch_fn(batch_call *k);

/* ---- layer.c --------------------------------------------------------------------------------- */

bool tr_is_batched(const aot_tracer *t, const aot_tensor *x); /* at the current layer */
void tr_refresh(aot_tracer *t, aot_tensor *x);                /* its value was written */
/* Calls go to the next layer between these two. */
unsigned tr_layer_leave(aot_tracer *t, bool *grad);
void tr_layer_return(aot_tracer *t, unsigned depth, bool grad);

/* ---- batch.c --------------------------------------------------------------------------------- */

aot_value tr_batch(aot_tracer *t, const op_facts *f, aot_op_id op, unsigned n, aot_value *args);
/* Random numbers that differ from item to item. */
aot_value tr_batch_random(aot_tracer *t, aot_op_id op, unsigned n, aot_value *args, aot_dim batch);

/* Of an argument that is a tensor: what it wraps, and where its batch is (-1: it has none). */
typedef struct batched {
    aot_tensor *x; /* NULL: None */
    int bdim;
} batched;

bool b_takes_tensor(const op_facts *f, unsigned i, aot_value v); /* a tensor or number for one */
batched b_of(const batch_call *k, aot_value v);
batched b_in(const batch_call *k, unsigned pos);
unsigned b_rank(batched b); /* without the batch */
aot_tensor *b_front(const batch_call *k, batched b); /* moveBatchDimToFront */
/* maybePadToLogicalRank of a tensor whose batch is in front. */
aot_tensor *b_pad(const batch_call *k, aot_tensor *x, bool has_bdim, unsigned rank);
aot_tensor *b_ensure(const batch_call *k, aot_tensor *x, bool has_bdim); /* ensure_has_bdim */
aot_tensor *b_ensured(const batch_call *k, batched b); /* in front, expanded if it has no batch */
/* _binary_pointwise_helper */
void b_binary_align(const batch_call *k, batched a, batched b, bool promote, aot_tensor *out[2]);
aot_value b_dims_after(const batch_call *k, aot_value sizes, aot_dim first); /* [first, *sizes] */
aot_value b_wrapped_dims(const batch_call *k, aot_value dims, unsigned rank); /* +1 each */
aot_value b_call(const batch_call *k);  /* the operator itself with k->args */
aot_tensor *b_reshape_into(const batch_call *k, aot_tensor *x, int src, int dst);
aot_tensor *b_reshape_outof(const batch_call *k, aot_tensor *x, int src, aot_dim size);

/* std::nullopt, where None of Python is an undefined tensor: a gradient then has no sizes of it. */
static inline aot_value aot_v_nullopt(void)
{
    aot_value v = aot_v_none();
    v.n = 1;
    return v;
}

batch_fn batch_binary; /* of pointwise operators without a row */
#define BATCH(op, fn, ...) batch_fn fn;
#define BATCH_DECOMP(op, fn) aot_expand_fn fn;
#define BATCH_SPLIT(op, fn, decomp) batch_fn fn; aot_expand_fn decomp;
#define BATCH_OWN(op)
#include "trace/batch.def"
#undef BATCH
#undef BATCH_DECOMP
#undef BATCH_SPLIT
#undef BATCH_OWN

#endif
