/* What AOTAutograd knows of a unit's inputs and outputs: derived by capture, read from logs by
 * import.
 * Mirrors torch/_functorch/_aot_autograd/schemas.py:ViewAndMutationMeta. */
#ifndef AOT_CAPTURE_METADATA_H
#define AOT_CAPTURE_METADATA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef enum aot_mutation {
    AOT_NOT_MUTATED,
    AOT_MUTATED_IN_GRAPH, /* copy_ stays in the graph */
    AOT_MUTATED_OUT_GRAPH /* the new value is returned, before the user's outputs */
} aot_mutation;
const char *aot_mutation_name(aot_mutation m); /* "MUTATED_IN_GRAPH" */

typedef struct aot_input_info {
#define INPUT_FIELD(name, sentence) bool name;
#include "capture/input_fields.def"
#undef INPUT_FIELD
    aot_mutation mutation;
} aot_input_info;

/* Where a mutation goes, by the other fields. */
aot_mutation aot_input_mutation(const aot_input_info *in);

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
    bool replays_views;    /* view_meta_sequence is there */
    uint64_t dynamic_dims; /* bit d: dimension d has a symbolic size */
} aot_output_info;
bool aot_output_is_aliased(const aot_output_info *o); /* made again outside of the graph */

typedef struct aot_tangent_info {
    const char *desc; /* TangentAOTInput(output=PlainAOTOutput(idx=0)) */
    const char *size; /* (8, 8) */
} aot_tangent_info;

/* A value of the user's program among those of the graph: PlainTensorMeta, SubclassCreationMeta. */
typedef struct aot_value_place {
    int start, n; /* n 0: no subclass, one value at start */
} aot_value_place;
typedef struct aot_value_places {
    aot_value_place *of;
    int n;
} aot_value_places;

/* Fields of metadata.def. */
typedef enum aot_meta_field {
#define META(name, class, value, sentence) AOT_META_##name,
#include "capture/metadata.def"
#undef META
    AOT_N_META_FIELDS
} aot_meta_field;

typedef struct aot_fw_metadata {
    aot_input_info *inputs;   /* of the user's function: subclasses count once */
    int n_inputs;
    aot_output_info *outputs; /* the user's outputs */
    int n_outputs;
    int n_intermediate_bases;
    int n_mutated_returned;   /* inputs whose new value is returned */
    int n_forward_returns;    /* mutated inputs + outputs + intermediate bases */
    int n_tokens, n_bw_tokens;
    int n_symints_saved;      /* -1: None, not known; so the next two */
    int n_saved_no_vc, n_opaque_saved;
    int n_tensors_saved;      /* once it is cut */
    int n_graphsafe_rng_states;
    int n_traced_tangents;    /* -1 if absent */
    aot_tangent_info *tangents;
    aot_value_places subclass_in, subclass_out, subclass_tangent;
    int *static_inputs;
    int n_static_inputs;      /* -1 if the text does not say */
    int *donated;             /* bw_donated_idxs */
    int n_donated;            /* -1 unknown */
    int *mutated_in_bw, n_mutated_in_bw;
    int *detached, n_detached;
    int *with_gradient, n_with_gradient; /* once it is cut: inputs that the backward gives one to */
    const char **dynamic_saved; /* "0: {1}" */
    int n_dynamic_saved;
    int grad_enabled_mutation, deterministic; /* -1: None */
    int graphsafe_rng_index;   /* -1: None */
    bool keep_input_mutations, is_train, is_rng_op_functionalized;
    /* derived: whether the caller had gradients enabled is recorded nowhere */
    bool grad_mode_unknown;
    bool is_cut;              /* fields of class CUT and AFTER_CUT are known */
    uint64_t absent;          /* bit aot_meta_field: the text that was read does not have it */
} aot_fw_metadata;

/* ---- fields by name -------------------------------------------------------------------------- */

typedef enum aot_meta_class {
    AOT_META_TRACED, AOT_META_CUT, AOT_META_COMPUTED, AOT_META_AFTER_CUT
} aot_meta_class;

typedef struct aot_meta_info {
    const char *name, *sentence;
    aot_meta_class class;
} aot_meta_info;
const aot_meta_info *aot_meta_info_of(aot_meta_field f);
/* By name of n bytes; AOT_N_META_FIELDS if there is none. */
aot_meta_field aot_meta_find(const char *name, size_t n);
/* Whether the value is there: cut, and read. */
bool aot_meta_is_known(const aot_fw_metadata *m, aot_meta_field f);
/* The value as Python writes it: "2", "None", "[0, 1]", "slice(1, -1, None)". */
void aot_meta_print(aot_sb *out, const aot_fw_metadata *m, aot_meta_field f);
/* An object with all known fields, input_info and output_info first; slices as text. */
json_t *aot_meta_json(const aot_fw_metadata *m);

/* What differs between two, field by field: "input_info[2].mutates_data", recorded, derived. Fields
 * that one of them does not have are passed over. Texts are the callee's for the call only. */
typedef void aot_meta_differs_fn(void *arg, const char *field, const char *recorded,
                                 const char *derived);
void aot_meta_compare(const aot_fw_metadata *recorded, const aot_fw_metadata *derived,
                      aot_meta_differs_fn *differs, void *arg);

#endif
