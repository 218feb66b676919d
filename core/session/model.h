/* What the screens and commands show: an opened input, whatever it was (session, log, folder,
 * text). Views own no data; they ask the model. Graphs and partitions are made when first asked for
 * and kept. */
#ifndef AOT_SESSION_MODEL_H
#define AOT_SESSION_MODEL_H

#include "capture/capture.h"
#include "import/unit.h"
#include "ir/graph.h"
#include "partition/edits.h"
#include "partition/partition.h"
#include "pipeline/stage.h"
#include "runtime/wrappers.h"
#include "session/check.h"

typedef struct aot_model aot_model;
struct aot_calls; /* session/calls.h */

typedef enum aot_origin { AOT_ORIGIN_MISSING, AOT_ORIGIN_RECORDED, AOT_ORIGIN_DERIVED } aot_origin;

typedef struct aot_stage_status {
    aot_origin origin;
    const char *reason; /* MISSING: why and how to get it. DERIVED: from what. Borrowed. */
    uint32_t n_nodes;   /* 0 until the graph was read */
    const char *same_as; /* the stage before, if the step from it changed nothing; NULL: it did, or
                            one of the graphs was not read yet */
} aot_stage_status;

typedef struct aot_model_options {
    const char *session_path; /* where an imported log is recorded; NULL: memory only */
    const char *const *settings; /* --set assignments on top of the recorded configuration */
    size_t n_settings;
    /* of a policy, in force for every unit from the start; NULL: none */
    const aot_unit_edits *edits;
    const char *text; /* one input, and this is what it holds; NULL: inputs are files */
    size_t n_text;
    bool as_recorded; /* sessions: without the settings that they were made with */
    /* the same with this one, which outlives the model; NULL: none */
    struct aot_redactor *redactor;
    /* take what is the user's out of everything that is read (session/redact.h) */
    bool redact;
    bool from_dynamo; /* recording: everything is derived from the Dynamo graph, as `run` does */
    void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total); /* may be NULL */
    void *progress_arg;
} aot_model_options;

/* Opens inputs (sessions read-only; logs are imported). */
AOT_NODISCARD aot_status aot_model_open(aot_model **out, const char *const *inputs, size_t n_inputs,
                                        const aot_model_options *opt, aot_err *err);
void aot_model_free(aot_model *m);

size_t aot_model_n_units(const aot_model *m);
const aot_unit *aot_model_unit(const aot_model *m, size_t unit); /* facts; borrowed */
/* Whether PyTorch compiled the unit again before it cut it (aot_unit_was_given_up); the unit says
 * so from here on. */
bool aot_model_given_up(aot_model *m, size_t unit);
/* The session file that holds a unit; NULL: it was read from a log. */
const char *aot_model_unit_session(const aot_model *m, size_t unit);
/* Dynamo gave the compile up and began it anew: the unit of the next attempt at the same compile,
 * whose result is used in place of this one's. SIZE_MAX: it is the last. */
size_t aot_model_restarted_as(const aot_model *m, size_t unit);
/* "abandoned: restarted as [0/0_1]" into buf, which is returned; "" for the last attempt. */
const char *aot_model_restart_words(const aot_model *m, size_t unit, char *buf, size_t size);
/* The text of a graph with the user's names, paths and source lines taken out: those names for them
 * that the model gave its own units. m: opened with redact. Errors: E_GRAPH (it cannot be read, so
 * nothing is kept). */
AOT_NODISCARD aot_status aot_model_redact_text(aot_sb *out, const aot_model *m, aot_stage stage,
                                               const char *text, size_t n, aot_err *err);
/* One line about the unit: label, title, path, nodes, saved bytes. Borrowed until the next call. */
const char *aot_model_unit_line(aot_model *m, size_t unit);
/* The checks that a session holds of the unit, in pipeline order; texts are in a. 0: it is from a
 * log, `check` makes them. */
size_t aot_model_checks(const aot_model *m, size_t unit, aot_check_result out[AOT_N_STAGES],
                        aot_arena *a);
/* What tools/aotscope_record.py saw of the unit's calls when it ran; *out is NULL if nothing did.
 * Kept by the model. Errors: E_SESSION. */
AOT_NODISCARD aot_status aot_model_calls(aot_model *m, size_t unit, const struct aot_calls **out,
                                         aot_err *err);
/* A generator state or value of these calls, by blob id, copied into a. Errors: E_SESSION. */
AOT_NODISCARD aot_status aot_model_blob(aot_model *m, size_t unit, int64_t blob, const void **data,
                                        size_t *n, aot_arena *a, aot_err *err);
size_t aot_model_n_notes(const aot_model *m);
const aot_import_note *aot_model_note(const aot_model *m, size_t i);

/* The files behind the model: what was imported, now or when the session was made. Borrowed. */
typedef struct aot_model_file {
    const char *path;
    const char *session; /* the session it was read from; NULL: from the file itself */
    const char *failure; /* why it could not be imported; NULL */
    aot_import_stats stats;
} aot_model_file;
size_t aot_model_n_files(const aot_model *m);
const aot_model_file *aot_model_file_at(const aot_model *m, size_t i);

aot_stage_status aot_model_stage(aot_model *m, size_t unit, aot_stage s);
/* The graph of a stage, parsed or derived; kept by the model.
 * Errors: E_PIPELINE (missing: message says why and how to get it), E_PARSE. */
AOT_NODISCARD aot_status aot_model_graph(aot_model *m, size_t unit, aot_stage s,
                                         const aot_graph **out, aot_err *err);
/* The graph that is cut: the joint graph, after Inductor's joint-graph passes where the settings
 * run them. Errors: as above. */
AOT_NODISCARD aot_status aot_model_cut_graph(aot_model *m, size_t unit, const aot_graph **out,
                                             aot_err *err);
/* The partition of a unit that has a joint graph, under its configuration, settings and edits. */
AOT_NODISCARD aot_status aot_model_partition(aot_model *m, size_t unit, const aot_partition **out,
                                             aot_err *err);
/* What the figures of the unit assume of its sizes (session/hints.h: aot_assumed_text); NULL:
 * nothing. Parses a graph of the unit if none was. Kept by the model. */
const char *aot_model_assumed(aot_model *m, size_t unit);
/* How the unit is called: the stage runtime, which is no graph. Kept by the model. Errors:
 * E_PIPELINE. */
AOT_NODISCARD aot_status aot_model_runtime(aot_model *m, size_t unit, const aot_runtime **out,
                                           aot_err *err);

/* What is changed about a unit (partition/edits.h), the policy's lines first. After a change
 * everything that is derived is made again when asked for: graphs, partitions and lists got before
 * are valid until the change after that. Errors: E_USAGE (nothing is changed then): the line, or
 * its selection matches nothing. That the edits contradict each other is aot_model_partition's
 * error. */
AOT_NODISCARD aot_status aot_model_edit(aot_model *m, size_t unit, const char *line, aot_err *err);
/* As if the last edit, made since the unit was last cut, had never been asked for: what was cut
 * before is there at once. For an edit whose cut was stopped. */
void aot_model_take_back(aot_model *m, size_t unit);
bool aot_model_undo(aot_model *m, size_t unit); /* false: there is nothing to undo */
bool aot_model_redo(aot_model *m, size_t unit);
size_t aot_model_n_edits(const aot_model *m, size_t unit); /* in force; those behind were undone */
size_t aot_model_n_undone(const aot_model *m, size_t unit);
const aot_unit_edit *aot_model_edit_at(const aot_model *m, size_t unit,
                                       size_t i); /* undone ones too */
/* Adds lines to a unit that has none of its own yet, without trying them; the first n_in_force of
 * all its lines hold then, the rest counts as undone. Errors: E_USAGE (a line is none: nothing is
 * changed). */
AOT_NODISCARD aot_status aot_model_restore_edits(aot_model *m, size_t unit,
                                                 const char *const *lines, size_t n,
                                                 size_t n_in_force, aot_err *err);
/* Saved bytes of the unit without any edit; -1: not known. One more cut, when first asked. */
int64_t aot_model_unedited_bytes(aot_model *m, size_t unit);
/* Counts the changes of a unit, so that a view sees that what it shows is old. */
unsigned aot_model_version(const aot_model *m, size_t unit);
/* Counts those after which graphs before the cut are other ones: while it stays, such a graph got
 * before is valid, and the same one if it is at the same place. */
unsigned aot_model_graph_version(const aot_model *m, size_t unit);

/* The settings in force for a unit: recorded configuration, then --set, then its edits. */
AOT_NODISCARD aot_status aot_model_config(aot_model *m, size_t unit, aot_config *out, aot_err *err);

/* Where Dynamo found an input: "L['x']"; NULL if nothing says. */
const char *aot_input_source(const aot_unit *u, const char *placeholder);
/* What the unit says of each placeholder of its Dynamo graph; belongs to dynamo's ctx. Of one that
 * is not described, the recorded metadata says whether it requires grad; where there is none, a
 * leaf that is named as a parameter does. */
aot_capture_input *aot_capture_inputs(const aot_unit *u, const aot_graph *dynamo);
/* Whether any of that is such a guess by the name. */
bool aot_gradients_unsaid(const aot_unit *u, const aot_graph *dynamo);
/* The inputs of aot_partition_run for a parsed joint graph of a unit (static inputs, storages). */
void aot_partition_inputs(aot_partition_in *in, const aot_unit *u, const aot_graph *joint);
/* "layers.0.fc.weight" of each primal that is a parameter or buffer, else NULL; belongs to
 * joint->ctx. NULL if the unit has no Dynamo graph. For aot_select_modules. */
const char *const *aot_unit_param_paths(const aot_unit *u, const aot_graph *joint, uint32_t *n);
/* aot_select_modules of any graph of the unit, in a. p may be NULL; with it, nodes of a forward or
 * backward are in the module of their node in p->cut. NULL if the unit has no Dynamo graph. */
const char *const *aot_unit_modules(const aot_unit *u, const aot_graph *g, const aot_partition *p,
                                    aot_arena *a);
/* Makes a context with the unit's symbol hints set. */
aot_ctx *aot_unit_new_ctx(const aot_unit *u);
/* Tells the context what tensor attributes of the unit's ATen graphs hold, as far as its Dynamo
 * graph says; aot_unit_new_ctx does. */
void aot_unit_set_constants(const aot_unit *u, aot_ctx *c);

#endif
