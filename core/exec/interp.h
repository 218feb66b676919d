/* The interpreter: runs a graph node by node on the CPU, values freed at their last use.
 *
 * Runs any level of a unit: operators that write their arguments or make views do so. An operator
 * without a kernel is run by its decomposition where it has one; else the error names it.
 * Mirrors torch/fx/interpreter.py (boxed_run). */
#ifndef AOT_EXEC_INTERP_H
#define AOT_EXEC_INTERP_H

#include "exec/generator.h"
#include "exec/value.h"

typedef struct aot_exec aot_exec;

/* Called after each node that computes. Values are borrowed for the call; false stops the run. */
typedef bool aot_exec_observer(void *arg, const aot_graph *g, aot_node_id id, const aot_xval *value,
                               const aot_live_bytes *live);

/* Called before each node and input. It may set the generator. */
typedef void aot_exec_before(void *arg, aot_exec *x, const aot_graph *g, aot_node_id id);

/* Called behind each node that computes, before the observer: it may write into the value, or drop
 * it and put another in its place, which the walk then owns. */
typedef void aot_exec_replace(void *arg, aot_exec *x, const aot_graph *g, aot_node_id id,
                              aot_xval *value);

typedef struct aot_exec_options {
    aot_exec_observer *observer; /* NULL: nobody looks */
    void *arg;
    aot_exec_before *before;     /* NULL */
    aot_exec_replace *replace;   /* NULL */
    bool inputs;                 /* the observer sees the inputs, too */
    /* observer and before see the nodes of graphs that higher-order operators run */
    bool bodies;
    const char *until;           /* stop behind the node of that name; NULL: run to the end */
    /* The list of inputs again, where the run may take them: each becomes None there and dies at
     * its last use, as with boxed arguments. NULL: they are the caller's and live on. */
    aot_xval *taken;
} aot_exec_options;

aot_exec *aot_exec_new(void);
void aot_exec_free(aot_exec *x); /* NULL is fine */
aot_live_bytes *aot_exec_live(aot_exec *x);
aot_generator *aot_exec_generator(aot_exec *x); /* the CPU generator: seed it before running */

/* The mistake of drawing again without the saved state of the generator; how often it was made. */
void aot_exec_set_unthreaded(aot_exec *x, bool on);
unsigned aot_exec_n_unthreaded(const aot_exec *x);
/* Computes in double: where the graph names a floating-point dtype it is f64 (c128), so that finite
 * differences mean something. Inputs are to be given so. */
void aot_exec_set_double(aot_exec *x, bool on);
aot_dtype aot_exec_dtype(const aot_exec *x, aot_dtype stated); /* what a stated dtype is here */

/* Runs g on n inputs, one a placeholder. out: what the output node returns, flat (None at places of
 * None), owned by the caller: aot_xv_drop each, then free. If it stopped early, *n_out is 0.
 * Inputs are borrowed and may be written by the graph.
 * Errors: E_UNSUPPORTED (an operator without kernel: the message names it and the node),
 * E_SHAPE. */
AOT_NODISCARD aot_status aot_exec_run(aot_xval **out, unsigned *n_out, aot_exec *x,
                                      const aot_graph *g, unsigned n, const aot_xval *inputs,
                                      const aot_exec_options *o, aot_err *err);

/* How the interpreter would run an operator. */
typedef enum aot_exec_way {
    AOT_EXEC_NONE,
    AOT_EXEC_KERNEL,
    AOT_EXEC_FUNCTIONAL,
    AOT_EXEC_DECOMPOSED
} aot_exec_way;
aot_exec_way aot_exec_way_of(aot_op_id op);

#endif
