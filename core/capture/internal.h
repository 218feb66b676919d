/* Between the files of capture. */
#ifndef AOT_CAPTURE_INTERNAL_H
#define AOT_CAPTURE_INTERNAL_H

#include "capture/capture.h"

/* One run of the forward on fresh inputs. */
typedef struct forward_run {
    aot_value *inputs; /* one a placeholder: outer tensors or symbols */
    aot_tensor **in_tensor; /* NULL for symbols */
    unsigned n_inputs;
    aot_value *outputs; /* flat */
    unsigned n_outputs;
} forward_run;

/* What the analysis run found, in the memory of the final tracer. */
typedef struct analysis {
    aot_fw_metadata meta;
    aot_meta_id *tangent_meta;
    const char **tangent_desc;
    bool needs_autograd;
    bool output_requires_grad; /* or an input that requires grad is mutated */
} analysis;

/* name_of: "primals_%u" or "arg%u_1"; k counts from 1 or 0 as it says. */
void cap_make_inputs(aot_tracer *t, const aot_capture_in *in, forward_run *r, bool primals);
void cap_run_forward(aot_tracer *t, const aot_capture_in *in, forward_run *r,
                     const aot_value *inputs);
/* Fills a->meta and the tangents from a finished forward; memory from arena. */
void cap_analyze(aot_tracer *t, const aot_capture_in *in, const forward_run *r, aot_arena *arena,
                 analysis *a);

#endif
