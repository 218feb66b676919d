/* A graph as a compiler takes it from AOTAutograd: forward, backward, and how they are called.
 * aotscope.h, which other programs include, is this and what it stands on. */
#ifndef AOT_SESSION_PROGRAM_H
#define AOT_SESSION_PROGRAM_H

#include "exec/run_unit.h"
#include "session/model.h"

/* Everything is borrowed from the program and lives as long as it. */
typedef struct aot_program {
    const aot_unit *unit;      /* names, inputs, symbols as they were given */
    const aot_graph *forward;  /* of a unit without a backward: all of it */
    const aot_graph *backward; /* NULL: no output needs a gradient */
    const aot_graph *joint;    /* what was cut; NULL without a backward */
    const aot_partition *partition; /* saved values, reason by reason; NULL without a backward */
    const aot_runtime *runtime; /* wrappers, ViewAndMutationMeta, AOTConfig; NULL: nothing says how
                                   it is called (a joint graph alone) */
    aot_model *model;           /* of which it is unit `index` */
    size_t index;
} aot_program;

/* From graph text in memory (Dynamo's graph, with directives, or a joint graph; a log will do too),
 * its first unit. name stands in messages. settings: "name=value" as --set takes them. Errors:
 * E_PARSE, E_FORMAT, E_USAGE (a setting), E_PIPELINE (what is missing), those of tracing. */
AOT_NODISCARD aot_status aot_program_of_text(aot_program **out, const char *name, const char *text,
                                             size_t n, const char *const *settings,
                                             size_t n_settings, aot_err *err);
/* From a log, session, .pt2 or text file; unit counts from 0. Errors: the same, E_IO, E_RANGE (no
 * such unit). */
AOT_NODISCARD aot_status aot_program_of_file(aot_program **out, const char *path, size_t unit,
                                             const char *const *settings, size_t n_settings,
                                             aot_err *err);
void aot_program_free(aot_program *p); /* NULL is fine */

/* A compiler: called for the forward, then for the backward if there is one, as PyTorch calls
 * fw_compiler and bw_compiler. side is "forward", "backward" or, without a backward, "inference". A
 * status other than AOT_OK stops, and is what aot_program_compile returns. */
typedef struct aot_compiler {
    void *arg;
    aot_status (*compile)(void *arg, const aot_program *p, const char *side, const aot_graph *g,
                          aot_err *err);
} aot_compiler;
AOT_NODISCARD aot_status aot_program_compile(const aot_program *p, const aot_compiler *c,
                                             aot_err *err);

/* {"forward_outputs", "saved": [{"name", "type", "bytes"}], "saved_bytes", "runtime": {..}} as JSON
 * text, keys in order; the caller frees it. */
char *aot_program_metadata(const aot_program *p);

/* Runs it on the CPU with the interpreter, through its wrappers. outer: one for each input of the
 * user's function; tangents as in aot_run_in. Errors: those of aot_run_unit; E_PIPELINE (runtime is
 * NULL). */
AOT_NODISCARD aot_status aot_program_run(aot_run_out *out, aot_exec *x, const aot_program *p,
                                         aot_xval *outer, const aot_xval *tangents,
                                         unsigned n_tangents, aot_err *err);

#endif
