/* Between the files of capture. */
#ifndef AOT_CAPTURE_INTERNAL_H
#define AOT_CAPTURE_INTERNAL_H

#include "capture/capture.h"

/* An input of the user's function. */
typedef struct outer_input {
    aot_meta_id meta;
    aot_str name;
    const char *desc; /* PlainAOTInput(idx=0) */
    const aot_fake *type;
    const aot_capture_input *known;
    int same_as;     /* duplicate: of which input; else -1 */
    unsigned inner;  /* the graph's input that it is, or is a view of */
    bool is_view;    /* of a synthetic base */
    bool duplicate;  /* an earlier input is the same tensor */
} outer_input;

/* An input of the graph. */
typedef struct inner_input {
    aot_meta_id meta;
    bool requires_grad, is_leaf;
    const char *desc; /* PlainAOTInput(idx=0) */
    const char *name; /* on the export path; NULL: primals_N, argN_1 */
    bool is_constant; /* of an exported program: it has no type, and nothing reads it */
} inner_input;

typedef struct input_plan {
    outer_input *outer;
    inner_input *inner;
    unsigned n_outer, n_inner;
    unsigned n_attrs; /* the first of outer are the module's parameters and buffers */
    /* duplicates dropped, or views merged: PyTorch makes the metadata from less then */
    bool rewritten;
    int n_outer_mutated; /* inputs that were written before duplicates were dropped */
    bool token; /* effects: a token comes before the inputs, and one before the outputs */
} input_plan;

/* inputs.c. Plans are in the arena, or the tracer's. Those that return bool say whether they
 * changed it. */
void cap_plan_identity(input_plan *p, const aot_capture_in *in, aot_arena *a);
bool cap_plan_dedupe(input_plan *p, const aot_input_info *info, aot_arena *a);
bool cap_plan_bases(aot_tracer *t, input_plan *p, const aot_input_info *info, bool inference);

/* export.c: names and the graph signature in place of descriptors; parameters first, then buffers,
 * then the user's inputs, as torch.export orders them. */
void cap_plan_export(input_plan *p, const aot_capture_in *in, aot_arena *a);
/* BUFFER_MUTATION target='c' */
const char *cap_export_mutation(const inner_input *x, aot_arena *a);

/* One run of the forward on fresh inputs. */
typedef struct forward_run {
    aot_value *inputs;      /* of the graph: outer tensors or symbols */
    aot_tensor **in_tensor; /* NULL for symbols */
    unsigned n_inputs;
    aot_value *outputs; /* flat */
    unsigned n_outputs;
} forward_run;


/* A tensor input; of a subclass, one placeholder for each inner tensor. n counts the placeholders;
 * format: "primals" for primals_1 and on, NULL for arg0_1 and on. */
aot_tensor *cap_input(aot_tracer *t, const char *format, unsigned *n, aot_meta_id meta,
                      bool requires_grad, const char *desc);
void cap_make_inputs(aot_tracer *t, const input_plan *p, forward_run *r, bool primals);
/* What the user's function is called with, the attributes of its module first. */
aot_value *cap_outer_args(aot_tracer *t, const input_plan *p, const aot_value *inner);

/* What the analysis run found, in the memory of the final tracer. */
typedef struct analysis {
    aot_fw_metadata meta;
    aot_meta_id *tangent_meta;
    const char **tangent_desc;
    bool needs_autograd;
    bool output_requires_grad; /* or an input that requires grad is mutated */
} analysis;

/* Whether a gradient comes in for an output of the user's function. */
bool cap_takes_tangent(const aot_output_info *o);
/* slots.c: where the values of the user's program are among those of the graph. */
void cap_find_slots(const input_plan *p, const forward_run *r, aot_arena *arena,
                    aot_tensor *const *bases, unsigned n_bases, analysis *a);
/* Fills a->meta and the tangents from a finished forward, which began with gradients enabled or
 * not; memory from arena. */
void cap_analyze(aot_tracer *t, const aot_capture_in *in, const input_plan *p,
                 const forward_run *r, bool grad_before, aot_arena *arena, analysis *a);

#endif
