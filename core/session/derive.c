/* Settings, stages and the partition of one unit. */
#include "session/derive.h"

#include <stdio.h>
#include <string.h>

#include "base/progress.h"
#include "import/fw_metadata.h"
#include "ir/text.h"
#include "joint/joint.h"
#include "partition/edits.h"
#include "pipeline/op_list.h"
#include "pipeline/pass.h"
#include "session/check.h"
#include "session/hints.h"

static aot_status apply(aot_config *c, const char *const *settings, size_t n, aot_err *err)
{
    for (size_t i = 0; i < n; i++) {
        AOT_TRY(aot_config_set(c, settings[i], err));
    }
    return AOT_OK;
}

aot_status aot_settings_check(const char *const *settings, size_t n_settings, aot_err *err)
{
    aot_config c;
    aot_config_init(&c);
    AOT_TRY(apply(&c, settings, n_settings, err));
    AOT_TRY(aot_hints_take(NULL, c.hint, err));
    return aot_op_choices_check(&c, err);
}

static bool has_text(const aot_unit *u, aot_stage s)
{
    const aot_record *rec = aot_unit_stage(u, s);
    return rec != NULL && rec->text != NULL;
}

static bool text_has(const aot_unit *u, aot_stage s, const char *what)
{
    const aot_record *r = aot_unit_stage(u, s);
    return r != NULL && r->text != NULL && strstr(r->text, what) != NULL;
}

static bool runs_passes(const aot_unit *u)
{
    return (u->backend != NULL && strcmp(u->backend, "inductor_joint") == 0) ||
           aot_unit_is_inductors(u);
}

bool aot_unit_keeps_random(const aot_unit *u)
{
    static const char kept[] = "torch.ops.aten.native_dropout.default(";
    return text_has(u, AOT_STAGE_JOINT, kept) || text_has(u, AOT_STAGE_INFERENCE, kept);
}

void aot_unit_recorded_config(aot_config *out, const aot_unit *u)
{
    aot_config c;
    aot_config_init(&c);
    if (u->config != NULL) {
        aot_config_from_json(&c, u->config);
    }
    if (runs_passes(u)) {
        snprintf(c.backend, sizeof c.backend, "inductor_joint");
        if (json_object_get(u->config, "fallback_random") == NULL) {
            c.fallback_random = aot_unit_keeps_random(u);
        }
    }
    if (u->fw_metadata != NULL) { // the backend's, which no dump of settings has
        aot_fw_metadata_keeps(&c.keep_inference_input_mutations, u->fw_metadata,
                              strlen(u->fw_metadata));
    }
    *out = c;
}

aot_status aot_unit_config(aot_config *out, const aot_unit *u, const char *const *settings,
                           size_t n_settings, aot_err *err)
{
    aot_config c;
    aot_unit_recorded_config(&c, u);
    AOT_TRY(apply(&c, u->set.d, u->set.n, err));
    AOT_TRY(apply(&c, settings, n_settings, err));
    AOT_TRY(aot_edits_configure(u->edits, &c, err));
    AOT_TRY(aot_hints_take(NULL, c.hint, err));
    AOT_TRY(aot_op_choices_check(&c, err));
    *out = c;
    return AOT_OK;
}

bool aot_unit_traced_otherwise(const aot_unit *u, const aot_config *c)
{
    aot_config was;
    aot_unit_recorded_config(&was, u);
    return aot_unit_stage(u, AOT_STAGE_DYNAMO) != NULL &&
           (strcmp(c->backend, was.backend) != 0 || strcmp(c->decompose, was.decompose) != 0 ||
            strcmp(c->keep, was.keep) != 0 || c->fallback_random != was.fallback_random ||
            c->keep_inference_input_mutations != was.keep_inference_input_mutations);
}

aot_status aot_record_parse(const aot_graph **out, aot_ctx *c, const aot_unit *u,
                            const aot_record *rec, aot_err *err)
{
    aot_graph *g = NULL;
    if (rec->text == NULL) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "%s has no text: its payload is missing in the input",
                        rec->name);
    }
    aot_progress_begin(
        "reading", rec->stage < AOT_N_STAGES ? aot_stage_get(rec->stage)->name : NULL, rec->len);
    aot_status st = aot_parse_graph(&g, c, rec->text, rec->len, (uint32_t)rec->line, err);
    bool stopped = aot_progress_stopped(); // by the reader of the screen: no fault of the file
    aot_progress_end();
    if (st != AOT_OK) {
        aot_err_in_file(err, stopped ? NULL : u->input);
        return st;
    }
    *out = g;
    return AOT_OK;
}

aot_status aot_unit_prepare(aot_config *out, aot_unit *u, const char *const *settings,
                            size_t n_settings, aot_err *err)
{
    aot_unit_find_backend(u);
    AOT_TRY(aot_unit_config(out, u, settings, n_settings, err));
    return aot_hints_take(u, out->hint, err);
}

aot_status aot_derive_partition(aot_partition **out, const aot_unit *u, const aot_graph *joint,
                                const aot_config *config, const aot_observer *observer,
                                aot_err *err)
{
    aot_partition_in in;
    aot_partition_inputs(&in, u, joint);
    return aot_derive_partition_in(out, &in, config, observer, err);
}

aot_status aot_derive_cut(aot_partition **out, const aot_graph **passed, const aot_unit *u,
                          const aot_graph *joint, const aot_config *config, aot_err *err)
{
    aot_partition_in in;
    aot_pass_ctx p = {.config = config, .partition_in = &in};
    aot_partition_inputs(&in, u, joint);
    p.graphs[AOT_STAGE_JOINT] = joint;
    AOT_TRY(aot_pass_run_to(&p, AOT_STAGE_FORWARD, err));
    *out = p.partition;
    *passed = p.graphs[AOT_STAGE_JOINT_PASSES] != NULL ? p.graphs[AOT_STAGE_JOINT_PASSES] : joint;
    return AOT_OK;
}

aot_status aot_derive_partitioner(aot_partitioner **out, const aot_unit *u, const aot_graph *joint,
                                  const aot_config *config, const aot_observer *observer,
                                  aot_err *err)
{
    aot_partition_in in;
    aot_partition_inputs(&in, u, joint);
    if (strcmp(config->backend, "inductor_joint") == 0) {
        aot_pass_ctx p = {.config = config, .partition_in = &in, .observer = observer};
        p.graphs[AOT_STAGE_JOINT] = joint;
        AOT_TRY(aot_pass_run_to(&p, AOT_STAGE_JOINT_PASSES, err));
        in.joint = p.graphs[AOT_STAGE_JOINT_PASSES];
    } else {
        in.joint = aot_joint_tensorify(in.joint);
    }
    *out = aot_partitioner_new(&in);
    return AOT_OK;
}

aot_status aot_derive_partition_in(aot_partition **out, const aot_partition_in *in,
                                   const aot_config *config, const aot_observer *observer,
                                   aot_err *err)
{
    aot_pass_ctx p = {.config = config, .partition_in = in, .observer = observer};
    p.graphs[AOT_STAGE_JOINT] = in->joint;
    AOT_TRY(aot_pass_run_to(&p, AOT_STAGE_FORWARD, err));
    *out = p.partition;
    return AOT_OK;
}

/* As set, as recorded, else as the recorded graph
 * shows: the table leaves no t and no detach, and makes operators of prims. */
bool aot_unit_decomposes(const aot_unit *u, const aot_config *config)
{
    if (strcmp(config->backend, "auto") != 0) {
        return strcmp(config->backend, "aot_eager") != 0;
    }
    if (u->backend != NULL && u->backend[0] != '\0') {
        return strcmp(u->backend, "aot_eager") != 0;
    }
    for (int s = 0; s < AOT_N_STAGES; s++) {
        if (s != AOT_STAGE_JOINT && s != AOT_STAGE_INFERENCE) {
            continue;
        }
        if (text_has(u, (aot_stage)s, "torch.ops.aten.t.default") ||
            text_has(u, (aot_stage)s, "torch.ops.aten.detach.default")) {
            return false;
        }
        if (text_has(u, (aot_stage)s, "torch.ops.prims.") ||
            text_has(u, (aot_stage)s, "torch.ops.aten.permute.default")) {
            return true;
        }
    }
    return false;
}

/* run_decompositions() takes the core ATen table, an exported program none; decomp asks for it. */
static bool core_table(const aot_config *config, bool again)
{
    return strcmp(config->backend, "auto") == 0 ? again : strcmp(config->backend, "aot_eager") != 0;
}

const aot_capture_in *aot_unit_capture_in(const aot_unit *u, const aot_graph *dynamo,
                                          const aot_config *config)
{
    aot_arena *a = dynamo->ctx->arena;
    aot_capture_in *in = AOT_NEW(a, aot_capture_in);
    bool again = !has_text(u, AOT_STAGE_DYNAMO) && has_text(u, AOT_STAGE_EXPORT);
    bool export = again || strcmp(config->path, "export") == 0;
    aot_capture_input *inputs = aot_capture_inputs(u, dynamo);
    if (export) {
        aot_export_inputs(inputs, u, dynamo);
    }
    *in = (aot_capture_in){
        .dynamo = dynamo,
        .inputs = inputs,
        .from_export = again,
        .trace = {.decompose = !export && aot_unit_decomposes(u, config),
                  .fallback_random = config->fallback_random,
                  .export_path = export,
                  .core_decompose = export && core_table(config, again),
                  .choice = aot_op_choices(config, a),
                  .opaque = config->opaque},
        .path = export                                   ? AOT_PATH_EXPORT
                : strcmp(config->path, "autograd") == 0  ? AOT_PATH_AUTOGRAD
                : strcmp(config->path, "inference") == 0 ? AOT_PATH_INFERENCE
                                                         : AOT_PATH_AUTO,
        .was_inference = strcmp(config->path, "auto") == 0 && has_text(u, AOT_STAGE_INFERENCE) &&
                   !has_text(u, AOT_STAGE_JOINT),
        .keep_inference_input_mutations = !export && config->keep_inference_input_mutations};
    in->trace.schemas = aot_unit_op_schemas(u, dynamo, a, &in->trace.n_schemas);
    return in;
}

aot_status aot_derive_capture(const aot_graph *graphs[AOT_N_STAGES], const aot_unit *u,
                              const aot_graph *dynamo, const aot_config *config,
                              const aot_observer *observer, const aot_calling **calling,
                              aot_err *err)
{
    aot_pass_ctx p = {.config = config,
                      .capture_in = aot_unit_capture_in(u, dynamo, config),
                      .observer = observer};
    memcpy(p.graphs, graphs, sizeof p.graphs);
    p.graphs[AOT_STAGE_DYNAMO] = dynamo;
    aot_progress_begin("tracing", NULL, 0);
    aot_status st =
        aot_pass_run_to(&p, p.capture_in->from_export ? AOT_STAGE_INFERENCE : AOT_STAGE_ATEN, err);
    aot_progress_end();
    AOT_TRY(st);
    for (int s = 0; s < AOT_N_STAGES; s++) {
        graphs[s] = s == AOT_STAGE_DYNAMO ? graphs[s] : p.graphs[s];
    }
    if (calling != NULL) {
        *calling = p.calling;
    }
    return AOT_OK;
}

aot_stage aot_unit_source(const aot_unit *u)
{
    return has_text(u, AOT_STAGE_DYNAMO)   ? AOT_STAGE_DYNAMO
           : has_text(u, AOT_STAGE_EXPORT) ? AOT_STAGE_EXPORT
                                           : AOT_N_STAGES;
}

/* Stages that the capture makes from the Dynamo graph. */
bool aot_stage_is_captured(aot_stage s)
{
    return s == AOT_STAGE_ATEN || s == AOT_STAGE_JOINT_TRACED || s == AOT_STAGE_JOINT_FUNCTIONAL ||
           s == AOT_STAGE_JOINT || s == AOT_STAGE_INFERENCE || s == AOT_STAGE_EXPORT;
}

static bool goes_through_passes(const aot_unit *u, const aot_config *config)
{
    return config != NULL ? strcmp(config->backend, "inductor_joint") == 0 : runs_passes(u);
}

/* A recorded graph says which path was taken: the other path's stages are not derived. */
static bool may_be(const aot_unit *u, aot_stage s, const aot_config *config)
{
    bool inference = has_text(u, AOT_STAGE_INFERENCE), joint = has_text(u, AOT_STAGE_JOINT);
    bool export = config != NULL && strcmp(config->path, "export") == 0;
    if (export || s == AOT_STAGE_EXPORT) {
        return export && (s == AOT_STAGE_EXPORT || s == AOT_STAGE_ATEN);
    }
    return s == AOT_STAGE_ATEN || (s == AOT_STAGE_INFERENCE ? !joint : !inference);
}

aot_stage_status aot_unit_stage_status_under(const aot_unit *u, aot_stage s,
                                             const aot_config *config)
{
    if (has_text(u, s)) {
        return (aot_stage_status){.origin = AOT_ORIGIN_RECORDED, .reason = ""};
    }
    if (aot_stage_is_captured(s) && has_text(u, AOT_STAGE_DYNAMO) && may_be(u, s, config)) {
        return (aot_stage_status){.origin = AOT_ORIGIN_DERIVED,
                                  .reason = "from the recorded Dynamo graph, under its settings"};
    }
    if (s == AOT_STAGE_INFERENCE && has_text(u, AOT_STAGE_EXPORT) &&
        !has_text(u, AOT_STAGE_DYNAMO)) {
        return (aot_stage_status){.origin = AOT_ORIGIN_DERIVED,
                                  .reason = "from the exported program, by its decompositions"};
    }
    bool follows = s == AOT_STAGE_JOINT_CSE || s == AOT_STAGE_FORWARD || s == AOT_STAGE_BACKWARD;
    bool from_dynamo = !has_text(u, AOT_STAGE_JOINT) && has_text(u, AOT_STAGE_DYNAMO) &&
                       may_be(u, AOT_STAGE_JOINT, config);
    if ((follows || s == AOT_STAGE_JOINT_PASSES) && (has_text(u, AOT_STAGE_JOINT) || from_dynamo)) {
        bool passes = goes_through_passes(u, config);
        if (follows || passes) {
            return (aot_stage_status){
                .origin = AOT_ORIGIN_DERIVED,
                .reason = from_dynamo ? "from the Dynamo graph, through the derived joint graph"
                          : passes ? "from the recorded joint graph through Inductor's joint-graph "
                                   "passes, under its settings"
                                 : "from the recorded joint graph, under its settings"};
        }
        return (aot_stage_status){.origin = AOT_ORIGIN_MISSING,
                                  .reason = "only Inductor's backend has it: --set "
                                            "backend=inductor_joint derives it"};
    }
    if (s == AOT_STAGE_RUNTIME && (has_text(u, AOT_STAGE_DYNAMO) || u->fw_metadata != NULL)) {
        return (aot_stage_status){.origin = AOT_ORIGIN_DERIVED,
                                  .reason = has_text(u, AOT_STAGE_DYNAMO)
                                                ? "from the Dynamo graph and the cut"
                                                : "from the recorded ViewAndMutationMeta"};
    }
    return (aot_stage_status){.origin = AOT_ORIGIN_MISSING,
                              .reason = aot_unit_missing_reason(u, s)};
}

aot_stage_status aot_unit_stage_status(const aot_unit *u, aot_stage s)
{
    return aot_unit_stage_status_under(u, s, NULL);
}

const char *aot_unit_path(const aot_unit *u)
{
    static const struct {
        aot_stage stage;
        const char *path;
    } signs[] = {
        {AOT_STAGE_JOINT, "autograd"},    {AOT_STAGE_FORWARD, "autograd"},
        {AOT_STAGE_BACKWARD, "autograd"}, {AOT_STAGE_INFERENCE, "inference"},
        {AOT_STAGE_EXPORT, "export"},
    };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (aot_unit_stage(u, signs[i].stage) != NULL) {
            return signs[i].path;
        }
    }
    return "";
}
