/* Higher-order operators: they take graphs or operators as arguments. */
#ifndef AOT_EXEC_HOP_H
#define AOT_EXEC_HOP_H

#include "exec/internal.h"

/* A call as a kernel of one sees it. Graphs are values of kind AOT_X_GRAPH, operators names. */
typedef struct hop_call {
    aot_exec *x;
    aot_op_id op;
    unsigned n;
    const aot_xval *args;
    unsigned n_kw;
    const char *const *keys;
    const aot_xval *kw;
} hop_call;

/* The result is borrowed from the running call. Fails where the operator is not run, with the
 * reason. */
aot_xval ex_hop(hop_call *h);

/* hop_flex.c */
aot_xval hop_flex_attention(hop_call *h);
aot_xval hop_flex_attention_backward(hop_call *h);

#endif
