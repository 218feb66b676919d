/* Between the runtime wrappers. */
#ifndef AOT_EXEC_WRAP_H
#define AOT_EXEC_WRAP_H

#include "exec/run_unit.h"

struct aot_wrapped {
    aot_exec *x;
    const aot_run_in *in;
    const aot_fw_metadata *m;
    aot_run_out *out;
    aot_err *err;
    aot_wrapper at;        /* that works now */
    unsigned number;       /* of the call in its trace */
    bool backward;
    aot_xval *args;        /* what this wrapper is called with; owned */
    unsigned n_args;
    int *outer_of;         /* by argument of AOTSyntheticBaseWrapper: the input that it is */
    aot_node_id *placeholders; /* of in->graph */
    unsigned n_placeholders;
    aot_xval *inner;       /* what RuntimeWrapper is called with: meta.n_inputs of them; owned */
    unsigned n_inner;
    aot_xval *returned;    /* by the compiled forward, as this wrapper sees it; owned */
    unsigned n_returned;
    unsigned n_forward;    /* of them, what is not saved for the backward */
    uint32_t *versions;    /* of each saved value when it was saved; NULL: no forward was run */
    bool freed;            /* saved values are gone */
    aot_array **extra;     /* by inner input: gradient that comes through views made outside */
};

/* The error of a call that needs it. */
aot_status wr_gap(const aot_wrapped *c, aot_wrapper_gap g);

/* What each row of runtime/wrappers.def does before and behind the graph: changes args and
 * returned. */
#define WRAPPER(id, name, paths, function, sentence)                                               \
    aot_status wr_before_##function(aot_wrapped *c);                                               \
    aot_status wr_behind_##function(aot_wrapped *c);
#include "runtime/wrappers.def"
#undef WRAPPER
/* AOTDispatchAutograd's backward. */
aot_status wr_backward(aot_wrapped *c, bool retain);

/* ---- for the trace: nothing is made where nobody looks --------------------------------------- */

/* One event of the wrapper that works now; value gives type and bytes, NULL: none. went may be
 * "". */
void wr_note(aot_wrapped *c, aot_wrapper_event_kind kind, const aot_xval *value, const char *went,
             const char *what, ...) AOT_PRINTF(5, 6);
/* As text in the trace's arena; "" where there is none. */
const char *wr_text(const aot_wrapped *c, const char *fmt, ...) AOT_PRINTF(2, 3);
const char *wr_type(const aot_wrapped *c, const aot_xval *v);
/* L['x'] of an input of the user's function; "" where there is no trace. */
const char *wr_outer(const aot_wrapped *c, int outer);
/* L['x'] of what RuntimeWrapper is called with, or "the base of L['x'] and L['y']". */
const char *wr_input(const aot_wrapped *c, int inner);
/* The same for messages: always there. */
const char *wr_outer_named(const aot_wrapped *c, int outer);
const char *wr_input_named(const aot_wrapped *c, int inner);

/* ---- of several wrappers --------------------------------------------------------------------- */

bool wr_makes(const aot_wrapped *c, aot_fault f);
bool wr_runs(const aot_wrapped *c, aot_wrapper w); /* on this path */
/* The input or returned value that output i is a view of; NULL. */
aot_array *wr_base_of_output(const aot_wrapped *c, unsigned i);
/* Replaces args (or returned); the old ones are dropped. */
void wr_set_args(aot_wrapped *c, aot_xval *args, unsigned n);
void wr_set_returned(aot_wrapped *c, aot_xval *values, unsigned n);
/* A list for wr_set_args. */
aot_xval *wr_new_list(unsigned n);
/* What the graph takes of args. Borrowed; the caller frees the list. */
aot_xval *wr_graph_inputs(const aot_wrapped *c, const aot_graph *g, unsigned *n);

#endif
