/* Gradients through views that are made outside of the compiled graphs. */
#ifndef AOT_EXEC_ALIAS_GRAD_H
#define AOT_EXEC_ALIAS_GRAD_H

#include "exec/array.h"

/* Adds grad, of `view`'s shape, to *sum at the places that view has within base; *sum (NULL: zeros)
 * is laid out as base is. */
void aot_add_view_gradient(aot_array **sum, aot_live_bytes *live, const aot_array *grad,
                           const aot_array *view, const aot_array *base);
/* The part of base's gradient that is view's. */
aot_array *aot_view_of_gradient(aot_live_bytes *live, const aot_array *grad, const aot_array *base,
                                const aot_array *view);
/* a + b; b may be NULL. */
aot_array *aot_sum_of_gradients(aot_live_bytes *live, const aot_array *a, const aot_array *b);

#endif
