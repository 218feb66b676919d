/* What a unit writes into its inputs, where, and which condition decided it; what its outputs share
 * memory with. Mirrors schemas.py:InputAliasInfo.mutation_type and RuntimeWrapper. */
#ifndef AOT_RUNTIME_MUTATION_H
#define AOT_RUNTIME_MUTATION_H

#include "runtime/wrappers.h"

typedef struct aot_mutated_input {
    int input;        /* of the graph */
    const char *name; /* "input 0 (l_x_)", "the base of input 0 (l_x_) and input 1 (l_y_)" */
    const char *what; /* "its elements", "its sizes, strides and offset" ... */
    aot_mutation where;
    const char *condition; /* that decided it: mutation.def; static */
    const char *how; /* "copy_ at the end of the graph", "output 0 of the graph is copied back" */
    int output;      /* of the graph, that holds the new value; -1: written in the graph */
} aot_mutated_input;

typedef struct aot_aliased_output {
    int output;       /* of the user's function */
    const char *type; /* "alias_of_input" */
    const char *base; /* what it shares memory with: "input 0 (l_x_)", "base 0 of intermediates" */
    const char *how;  /* how the caller gets it: "made again by its views" ... */
} aot_aliased_output;

typedef struct aot_mutations {
    aot_mutated_input *inputs;
    aot_aliased_output *outputs;
    const char **shared; /* inputs that share memory: a sentence each */
    unsigned n_inputs, n_outputs, n_shared;
} aot_mutations;

/* All of it is in r->arena. */
void aot_mutations_of(aot_mutations *out, const aot_runtime *r);

/* Whether the new value of an input of the graph is copied back past autograd: the input is a leaf
 * that required grad when it came in. Its metadata says whether it does behind the forward. */
bool aot_copies_back_detached(const aot_calling *c, int input);

#endif
