/* Between the files of the interpreter; kernels use kernel.h. */
#ifndef AOT_EXEC_INTERNAL_H
#define AOT_EXEC_INTERNAL_H

#include <setjmp.h>

#include "exec/interp.h"
#include "exec/kernel.h"
#include "ops/schema.h"

/* What a call needs of a row, read from its schema once. */
typedef struct exec_op {
    aot_schema schema;
    aot_xval *defaults;
    bool is_list; /* it returns one Tensor[] or several values: the result is a list */
} exec_op;

typedef struct exec_expansion {
    char *key; /* operator and types of the arguments */
    aot_graph *graph;
    unsigned n_inputs;
} exec_expansion;

/* A graph's plan (interp.c) that is kept: of an expansion as long as the interpreter, of a body
 * while the graph that it stands in is run. */
typedef struct exec_plan {
    const aot_graph *graph;
    bool in_double, of_body;
    const struct step *steps;
    aot_arena *arena;
} exec_plan;

struct aot_exec {
    aot_live_bytes live;
    aot_generator generator;
    aot_arena *arena;   /* facts of operators: lives as long as the interpreter */
    aot_arena *scratch; /* of one call */
    AOT_VEC(aot_array *) owned; /* arrays of the running call */
    exec_op *ops[AOT_N_OPS];
    aot_ctx *ctx;       /* of expansions; NULL: none yet */
    uint8_t *choices;   /* for the tracer: what is decomposed */
    AOT_VEC(exec_expansion) expansions;
    AOT_VEC(exec_plan) plans;
    jmp_buf *leave;
    aot_err *err;
    aot_status status;
    const aot_graph *graph; /* whose node is run, for messages */
    aot_node_id node;
    int depth;          /* of expansions within expansions */
    aot_exec_options bodies; /* of those who see bodies; all zero: nobody does */
    bool stopped;            /* an observer said so within a body */
    bool in_double;
    bool unthreaded;    /* the mistake: states of the generator are not set again */
    unsigned n_unthreaded;
};

struct aot_kern {
    aot_exec *x;
    aot_op_id op;
    const exec_op *facts;
    const aot_xval *args; /* as many as the schema has */
    unsigned n_args;
    const aot_meta_id *expected; /* metas that the graph states of results, 0: none; NULL */
    unsigned n_expected;
    const aot_ctx *expected_ctx;
    aot_xval *given;
    unsigned n_given, room;
    bool as_list;
};

AOT_NORETURN void ex_fail(aot_exec *x, aot_status code, const char *fmt, ...) AOT_PRINTF(3, 4);
aot_array *ex_own(aot_exec *x, aot_array *a);
const exec_op *ex_op(aot_exec *x, aot_op_id op); /* fails where the operator has no schema */
/* Runs an operator on all of its arguments. The result is borrowed from the running call. */
typedef struct exec_call {
    aot_op_id op;
    unsigned n;
    const aot_xval *args;
    const aot_meta_id *expected;
    unsigned n_expected;
    const aot_ctx *ctx; /* of expected */
} exec_call;
aot_xval ex_run(aot_exec *x, const exec_call *c);
/* By its decomposition, traced for arguments of these types. */
aot_xval ex_decomposed(aot_exec *x, aot_op_id op, unsigned n, const aot_xval *args);
/* Runs a graph inside of the running call; results belong to it. */
aot_xval ex_graph(aot_exec *x, const aot_graph *g, unsigned n, const aot_xval *inputs);
/* The same of a higher-order operator's graph, seen by those who see bodies. */
aot_xval ex_body(aot_exec *x, const aot_graph *g, unsigned n, const aot_xval *inputs);
/* A Python operator on numbers; false: it is none. */
bool ex_python(aot_exec *x, const char *name, unsigned n, const aot_xval *args, aot_xval *out);

#endif
