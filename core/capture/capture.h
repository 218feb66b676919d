/* From the graph that Dynamo captured to the graphs of AOTAutograd: which path, what is mutated and
 * aliased, the joint or the forward-only graph at every level.
 * Mirrors torch/_functorch/aot_autograd.py:create_aot_state,
 * torch/_functorch/_aot_autograd/collect_metadata_analysis.py, graph_capture.py,
 * graph_capture_wrappers.py. */
#ifndef AOT_CAPTURE_CAPTURE_H
#define AOT_CAPTURE_CAPTURE_H

#include "capture/metadata.h"
#include "trace/tracer.h"

/* What is known of a placeholder or tensor attribute beyond its printed type. */
typedef struct aot_capture_input {
    bool requires_grad, is_leaf, is_parameter;
    bool is_static;        /* parameter or buffer: its address stays */
    bool is_view;          /* autograd knows it as a view of another tensor */
    bool gradient_unsaid;  /* requires_grad is a guess by the name */
    int tensor;            /* equal = the very same tensor; -1: nothing is known */
    int storage;           /* equal = memory shared; -1: its own */
    int64_t offset;        /* elements from the start of the storage */
    int64_t storage_bytes; /* -1 unknown */
    const char *export_name; /* on the export path: p_l_weight; NULL: the placeholder's own */
    const char *signature;   /* PARAMETER target='l.weight'; NULL: USER_INPUT */
    aot_meta_id base;      /* type of the tensor that it is a view of; 0 not described */
} aot_capture_input;

typedef enum aot_capture_path {
    AOT_PATH_AUTO,
    AOT_PATH_AUTOGRAD,
    AOT_PATH_INFERENCE,
    AOT_PATH_EXPORT
} aot_capture_path;

const char *aot_capture_path_name(aot_capture_path p); /* "autograd" */

typedef struct aot_capture_in {
    const aot_graph *dynamo;
    const aot_capture_input *inputs; /* by node of dynamo: placeholders and get_attrs have one */
    aot_trace_options trace;
    aot_capture_path path;
    bool keep_inference_input_mutations; /* AOTConfig; Dynamo sets it */
    bool from_export; /* `dynamo` is an exported program's graph */
    /* recorded as such: if nothing of the graph says why, gradients were disabled */
    bool was_inference;
} aot_capture_in;

/* An input of the user's function. */
typedef struct aot_outer_input {
    const char *name; /* of Dynamo's placeholder */
    int inner;        /* the graph's input that it is, or is a view of */
    int same_as;      /* the earlier input that is the very same tensor; -1 */
    bool is_tensor, requires_grad;
    bool duplicate;   /* dropped: the graph has it once */
    bool is_view;     /* made in the graph from a synthetic base */
} aot_outer_input;

/* How the compiled unit is called. */
typedef struct aot_calling {
    aot_capture_path path;   /* taken */
    const char *path_reason; /* one sentence, static */
    aot_outer_input *outer;  /* NULL: not known (no Dynamo graph) */
    int n_outer;
    /* the first of outer are the module's parameters and buffers: num_params_buffers */
    int n_attrs;
    bool deduped, synthetic_base; /* AOTDedupeWrapper and AOTSyntheticBaseWrapper have work to do */
    aot_fw_metadata meta;
} aot_calling;

typedef struct aot_capture {
    aot_tracer *tracer;  /* for aot_trace_rule_of */
    aot_calling calling; /* in the arena of in->dynamo->ctx */
    const aot_graph *graph[AOT_N_LEVELS];
} aot_capture;

/* Runs it. Graphs belong to in->dynamo->ctx. Free with aot_capture_free.
 * Errors: of the operators (E_UNSUPPORTED and E_SHAPE name node and source line). */
AOT_NODISCARD aot_status aot_capture_run(aot_capture *out, const aot_capture_in *in, aot_err *err);
void aot_capture_free(aot_capture *c); /* all zero is fine */

#endif
