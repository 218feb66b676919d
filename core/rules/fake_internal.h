/* Between the files of fake tensors; rules do not need it. */
#ifndef AOT_RULES_FAKE_INTERNAL_H
#define AOT_RULES_FAKE_INTERNAL_H

#include "rules/fake.h"

/* Dense strides for t in the order of the strides of n tensors of t's size, earlier tensors first.
 * Ties and broadcast dimensions keep their place. */
void aot_fake_set_ordered(aot_ctx *c, aot_fake *t, const aot_fake *in, unsigned n);
/* aot_meta_elementwise; with last_first, later operands decide about strides before earlier ones.
 */
AOT_NODISCARD aot_status aot_meta_elementwise_order(struct aot_call *k, aot_promote kind,
                                                    bool last_first);
/* At least as large, as far as it can be told. */
bool aot_dim_ge(aot_dim a, aot_dim b);
/* The number v, at the hints. */
static inline bool aot_dim_is_at_hint(aot_dim a, int64_t v)
{
    return a.value == v;
}

#endif
