/* Calling a compiled unit other than it was compiled for: with other aliasing of its inputs, or in
 * another order. Who catches it, and what comes out where nobody does.
 * Mirrors torch/_functorch/_aot_autograd/runtime_wrappers.py, and autograd's saved tensors. */
#ifndef AOT_SESSION_MISUSE_H
#define AOT_SESSION_MISUSE_H

#include "exec/verify.h"
#include "session/run_values.h"

typedef enum aot_misuse { /* misuses.def */
    AOT_NO_MISUSE,
#define MISUSE_INPUTS(id, name, sentence, dynamo, aot) AOT_MISUSE_##id,
#define MISUSE_CALLS(id, name, sentence, dynamo, aot) AOT_MISUSE_##id,
#include "session/misuses.def"
#undef MISUSE_INPUTS
#undef MISUSE_CALLS
    AOT_N_MISUSES
} aot_misuse;

typedef struct aot_misuse_info {
    const char *name, *sentence, *dynamo, *aot;
} aot_misuse_info;
const aot_misuse_info *aot_misuse_get(aot_misuse m);
aot_misuse aot_misuse_find(const char *name); /* AOT_NO_MISUSE: there is none */

typedef struct aot_misuse_in {
    const aot_runnable *r;
    const aot_unit *unit;     /* that r was made of, with dynamo and config */
    const aot_record *dynamo;
    const aot_config *config;
    const aot_xval *outer;    /* as it was compiled for; not written */
    uint64_t seed;
    aot_wrapper_trace *trace; /* NULL */
} aot_misuse_in;

/* Tries it. Findings: kind "check" of who refuses the call, with what PyTorch says; else outputs
 * and mutated inputs that are not what compiling again would give. None: the compiled unit holds
 * for it. Notes say what was given, and what Dynamo and AOTAutograd do. Free with aot_verify_free,
 * also after an error.
 * Errors: E_USAGE (the unit has no inputs to try it with), of the operators, of tracing again. */
AOT_NODISCARD aot_status aot_misuse_try(aot_verify_out *out, const aot_misuse_in *in,
                                        aot_misuse kind, aot_err *err);

#endif
