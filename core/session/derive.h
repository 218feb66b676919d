/* From what a unit recorded to what follows from it; shared by the model and the import. */
#ifndef AOT_SESSION_DERIVE_H
#define AOT_SESSION_DERIVE_H

#include "import/unit.h"
#include "ir/event.h"
#include "partition/partitioner.h"
#include "runtime/wrappers.h"
#include "session/model.h"

/* The configuration that a log holds, over 2.11's defaults; backend inductor_joint where Inductor
 * compiled. */
void aot_unit_recorded_config(aot_config *out, const aot_unit *u);
/* A recorded graph keeps native_dropout, which Inductor's table has but under fallback_random. */
bool aot_unit_keeps_random(const aot_unit *u);
/* Makes a unit as it came ready to be used: its backend, its settings, the hints that these give.
 * Once a unit.
 * Errors: as aot_unit_config. */
AOT_NODISCARD aot_status aot_unit_prepare(aot_config *out, aot_unit *u, const char *const *settings,
                                          size_t n_settings, aot_err *err);
/* Sets backend to "inductor_joint" where the recorded forward and backward follow from the joint
 * graph only through Inductor's joint-graph passes and no record says who compiled. Once a unit,
 * before it is used. */
void aot_unit_find_backend(aot_unit *u);
/* Recorded configuration, what a session was made with, the assignments, then the unit's edits.
 * Errors: E_USAGE (an assignment). */
AOT_NODISCARD aot_status aot_unit_config(aot_config *out, const aot_unit *u,
                                         const char *const *settings, size_t n_settings,
                                         aot_err *err);
/* Checks assignments before anything is read. */
AOT_NODISCARD aot_status aot_settings_check(const char *const *settings, size_t n_settings,
                                            aot_err *err);

/* Parses the text of a record; positions in *err are those of the input. */
AOT_NODISCARD aot_status aot_record_parse(const aot_graph **out, aot_ctx *c, const aot_unit *u,
                                          const aot_record *rec, aot_err *err);
/* Schemas of the unit's custom operators ("ns::name(Tensor x) -> Tensor"): directives first, then
 * what auto_functionalized_v2 in its recorded graphs shows of mutating ones, ordered by the call in
 * the Dynamo graph (NULL: those that are written come last). */
const char *const *aot_unit_op_schemas(const aot_unit *u, const aot_graph *dynamo, aot_arena *a,
                                       unsigned *n);
/* What capture is told of a unit's Dynamo graph. Belongs to dynamo->ctx. */
const aot_capture_in *aot_unit_capture_in(const aot_unit *u, const aot_graph *dynamo,
                                          const aot_config *config);
/* The graph that the capture starts from: Dynamo's, or the exported program where there is none;
 * AOT_N_STAGES: the unit has neither. */
aot_stage aot_unit_source(const aot_unit *u);
/* Appends "l.0.weight" of L['self']._modules['l']._modules['0']._parameters['weight'], whatever
 * holds the module (L['args'][0], G['net']). "PARAMETER" or "BUFFER"; NULL if the source is
 * neither. */
const char *aot_source_path(aot_sb *out, const char *source);
/* On the export path: each input's name and place in the graph signature. */
void aot_export_inputs(struct aot_capture_input *in, const aot_unit *u, const aot_graph *g);
/* The stages that follow from the Dynamo graph: graphs[s] is set for those that
 * it gives and that are not set yet. Graphs
 * and *calling belong to dynamo->ctx; calling may be NULL. */
AOT_NODISCARD aot_status aot_derive_capture(const aot_graph *graphs[AOT_N_STAGES],
                                            const aot_unit *u, const aot_graph *dynamo,
                                            const aot_config *config, const aot_observer *observer,
                                            const aot_calling **calling, aot_err *err);
/* Whether the backend decomposes by Inductor's table. */
bool aot_unit_decomposes(const aot_unit *u, const aot_config *config);
/* The wrappers around the unit. calling NULL: from the logged metadata; partition NULL: not cut.
 * All of it is in a. Errors: E_PIPELINE (nothing says how the unit is called). */
AOT_NODISCARD aot_status aot_derive_runtime(aot_runtime **out, const aot_unit *u,
                                            const aot_calling *calling,
                                            const aot_partition *partition,
                                            const aot_config *config, aot_arena *a, aot_err *err);
/* Whether the settings give another joint or inference graph than the recorded one, and there is a
 * Dynamo graph to trace again: another backend, other operators decomposed. */
bool aot_unit_traced_otherwise(const aot_unit *u, const aot_config *c);
/* Whether the capture makes the stage, from the Dynamo graph. */
bool aot_stage_is_captured(aot_stage s);
/* Runs the passes from the joint graph to forward and backward: Inductor's joint-graph passes
 * first, if the backend is inductor_joint. The result belongs to joint->ctx. */
AOT_NODISCARD aot_status aot_derive_partition(aot_partition **out, const aot_unit *u,
                                              const aot_graph *joint, const aot_config *config,
                                              const aot_observer *observer, aot_err *err);
/* The same, with the graph that was cut: the joint graph, after Inductor's passes if they ran. */
AOT_NODISCARD aot_status aot_derive_cut(aot_partition **out, const aot_graph **passed,
                                        const aot_unit *u, const aot_graph *joint,
                                        const aot_config *config, aot_err *err);
/* A partitioner of what is cut: the joint graph after the passes before the cut, which the observer
 * hears of. It has the unit's edits; joint outlives it. Errors: those of the passes. */
AOT_NODISCARD aot_status aot_derive_partitioner(aot_partitioner **out, const aot_unit *u,
                                                const aot_graph *joint, const aot_config *config,
                                                const aot_observer *observer, aot_err *err);
/* The same with what is known of the inputs. */
AOT_NODISCARD aot_status aot_derive_partition_in(aot_partition **out, const aot_partition_in *in,
                                                 const aot_config *config,
                                                 const aot_observer *observer, aot_err *err);
/* Recorded, derived or missing, from the unit alone: nothing is parsed. config: the settings of the
 * derivation; NULL: the recorded ones. */
aot_stage_status aot_unit_stage_status_under(const aot_unit *u, aot_stage s,
                                             const aot_config *config);
aot_stage_status aot_unit_stage_status(const aot_unit *u, aot_stage s);
/* "autograd", "inference", "export", or "" if no graph tells. */
const char *aot_unit_path(const aot_unit *u);

#endif
