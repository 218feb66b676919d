/* Imports inputs into a new session: records what they hold, derives the rest, compares. */
#ifndef AOT_SESSION_RECORD_INPUTS_H
#define AOT_SESSION_RECORD_INPUTS_H

#include "import/unit.h"
#include "session/model.h"

typedef struct aot_record_summary {
    aot_import_stats stats; /* over all inputs */
    uint32_t n_inputs, n_failed_inputs;
    uint32_t n_partitions, n_unreadable_graphs;
    uint32_t n_unchanged[AOT_N_STAGES]; /* units in which the step to a stage changed nothing */
    uint32_t n_paths[4];                /* of those traced, by aot_capture_path */
    uint32_t n_captured, n_not_captured; /* Dynamo graphs traced, and those that could not be */
    aot_err why_not;                    /* of the first that could not */
    uint32_t n_same, n_differ, n_left_out,
        n_errors; /* checks of recorded stages */
    uint64_t n_notes;
    bool calls_left_out; /* recorded calls hold the run's values: redaction keeps none */
} aot_record_summary;

/* Writes opt->session_path. Inputs that cannot be read are passed over if another can; the first
 * error is then in *err and the call succeeds all the same (n_failed_inputs tells).
 * Errors: all inputs failed, or the session cannot be written. sum may be NULL.
 * Memory: one unit and what SQLite holds. */
AOT_NODISCARD aot_status aot_record_inputs(const char *const *inputs, size_t n_inputs,
                                           const aot_model_options *opt, aot_record_summary *sum,
                                           aot_err *err);

#endif
