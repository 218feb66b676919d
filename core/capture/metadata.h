/* What AOTAutograd knows of a unit's inputs and outputs: derived by capture, read from logs by import.
 * Mirrors torch/_functorch/_aot_autograd/schemas.py:ViewAndMutationMeta. */
#ifndef AOT_CAPTURE_METADATA_H
#define AOT_CAPTURE_METADATA_H

#include <stdbool.h>

typedef enum aot_mutation {
    AOT_NOT_MUTATED,
    AOT_MUTATED_IN_GRAPH, /* copy_ stays in the graph */
    AOT_MUTATED_OUT_GRAPH /* the new value is returned, before the user's outputs */
} aot_mutation;

typedef struct aot_input_info {
    bool is_leaf, mutates_data, mutates_metadata, mutations_hidden_from_autograd;
    bool mutations_under_no_grad_or_inference_mode, mutation_inductor_storage_resize;
    bool mutates_storage_metadata, requires_grad, keep_input_mutations;
    aot_mutation mutation;
} aot_input_info;

typedef enum aot_output_type { /* OutputType */
    AOT_OUT_UNKNOWN,
#define OUTPUT_TYPE(id, name, sentence) AOT_OUT_##id,
#include "capture/output_types.def"
#undef OUTPUT_TYPE
} aot_output_type;

const char *aot_output_type_name(aot_output_type t); /* "alias_of_input" */
const char *aot_output_type_sentence(aot_output_type t);

typedef struct aot_output_info {
    aot_output_type type;
    int base_idx; /* -1: None */
    bool requires_grad, is_tensor;
} aot_output_info;

typedef struct aot_fw_metadata {
    aot_input_info *inputs;   /* of the user's function: subclasses count once */
    int n_inputs;
    aot_output_info *outputs; /* the user's outputs */
    int n_outputs;
    int n_intermediate_bases;
    int n_mutated_returned;   /* inputs whose new value is returned */
    int n_forward_returns;    /* mutated inputs + outputs + intermediate bases */
    int n_tokens, n_bw_tokens;
    int n_symints_saved;      /* -1: None, not known */
    int n_graphsafe_rng_states;
    int n_traced_tangents;    /* -1 if absent */
    int *static_inputs;
    int n_static_inputs;      /* -1 if the text does not say */
    int *donated;             /* bw_donated_idxs */
    int n_donated;            /* -1 unknown */
    bool keep_input_mutations, is_train;
} aot_fw_metadata;

#endif
