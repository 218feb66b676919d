/* Graphs, partitions and the runtime of a unit, made when first asked for and kept in its slot. */
#include <string.h>

#include "base/progress.h"
#include "ir/compare.h"
#include "session/hints.h"
#include "session/model_internal.h"

aot_status aot_model_take_err(const aot_err *kept, aot_err *err)
{
    if (err != NULL && err->code == AOT_OK) {
        *err = *kept;
    }
    return kept->code;
}

/* What was stopped is tried again by the next who asks. */
static aot_status take_once(aot_err *kept, bool *tried, aot_err *err)
{
    static const aot_err none = {0};
    aot_status st = aot_model_take_err(kept, err);
    if (aot_progress_stopped()) {
        *kept = none;
        if (tried != NULL) {
            *tried = false;
        }
    }
    return st;
}

static aot_status parse_stage(slot *s, aot_stage stage, aot_err *err)
{
    if (s->errs[stage].code != AOT_OK) {
        return aot_model_take_err(&s->errs[stage], err);
    }
    if (s->graphs[stage] == NULL) {
        if (s->ctx == NULL) {
            s->ctx = aot_unit_new_ctx(s->unit);
        }
        const aot_record *rec = aot_unit_stage(s->unit, stage);
        if (aot_record_parse(&s->graphs[stage], s->ctx, s->unit, rec, &s->errs[stage]) != AOT_OK) {
            return take_once(&s->errs[stage], NULL, err);
        }
    }
    return AOT_OK;
}

/* Recorded forward and backward were cut under the recorded settings, and the graphs that they come
 * from traced: under others they are derived. */
static aot_stage_status status_of(const aot_model *m, const slot *s, aot_stage stage)
{
    aot_config config;
    bool known = aot_unit_config(&config, s->unit, m->settings, m->n_settings, NULL) == AOT_OK;
    aot_stage_status status = aot_unit_stage_status_under(s->unit, stage, known ? &config : NULL);
    bool cut = (stage == AOT_STAGE_FORWARD || stage == AOT_STAGE_BACKWARD) &&
               aot_unit_stage_status(s->unit, AOT_STAGE_JOINT).origin == AOT_ORIGIN_RECORDED;
    bool other = m->n_settings > 0 || s->unit->set.n > 0 || (s->edits != NULL && s->edits->n > 0);
    bool again = known && other && aot_unit_traced_otherwise(s->unit, &config);
    bool traced = again && (stage == AOT_STAGE_JOINT || stage == AOT_STAGE_INFERENCE);
    if ((cut || traced) && other && status.origin == AOT_ORIGIN_RECORDED) {
        const char *reason = again ? "from the Dynamo graph, under other settings than recorded "
                                     "(--set); without them it is the recorded one"
                                   : "from the recorded joint graph, under other settings than "
                                     "recorded (--set); without them it is the recorded one";
        return (aot_stage_status){.origin = AOT_ORIGIN_DERIVED, .reason = reason};
    }
    return status;
}

static aot_status missing(const slot *s, aot_stage stage, aot_err *err)
{
    return AOT_FAIL(err, AOT_E_PIPELINE, "no %s graph: %s", aot_stage_get(stage)->name,
                    aot_unit_stage_status(s->unit, stage).reason);
}

static void keep_graph(void *arg, unsigned stage, const aot_graph *g)
{
    slot *s = arg;
    if (stage == AOT_STAGE_JOINT_PASSES) {
        s->graphs[stage] = g;
    }
}

/* The stages that follow from the Dynamo graph, made once. */
static aot_status capture(aot_model *m, size_t unit, aot_err *err)
{
    slot *s = aot_model_slot(m, unit);
    if (!s->capture_tried) {
        aot_config config;
        AOT_TRY(aot_model_config(m, unit, &config, err));
        s->capture_tried = true;
        aot_stage from = aot_unit_source(s->unit);
        if (parse_stage(s, from != AOT_N_STAGES ? from : AOT_STAGE_DYNAMO, &s->capture_err) ==
            AOT_OK) {
            aot_status st =
                aot_derive_capture(s->captured, s->unit, s->graphs[from], &config, NULL,
                                   &s->calling, &s->capture_err);
            (void)st; /* kept in capture_err */
        }
    }
    return s->capture_err.code != AOT_OK ? take_once(&s->capture_err, &s->capture_tried, err)
                                         : AOT_OK;
}

static aot_status captured_stage(aot_model *m, size_t unit, aot_stage stage, const aot_graph **out,
                                 aot_err *err)
{
    slot *s = aot_model_slot(m, unit);
    AOT_TRY(capture(m, unit, err));
    *out = s->captured[stage];
    return *out != NULL
               ? AOT_OK
               : AOT_FAIL(err, AOT_E_PIPELINE, "no %s graph: the unit takes the %s path (%s)",
                          aot_stage_get(stage)->name,
                          s->captured[AOT_STAGE_EXPORT] != NULL      ? "export"
                          : s->captured[AOT_STAGE_INFERENCE] != NULL ? "inference"
                                                                     : "autograd",
                          s->calling != NULL ? s->calling->path_reason : "");
}

/* The joint graph: recorded, or derived from the Dynamo graph. */
static aot_status joint_graph(aot_model *m, size_t unit, const aot_graph **out, aot_err *err)
{
    slot *s = aot_model_slot(m, unit);
    switch (status_of(m, s, AOT_STAGE_JOINT).origin) {
    case AOT_ORIGIN_RECORDED:
        AOT_TRY(parse_stage(s, AOT_STAGE_JOINT, err));
        *out = s->graphs[AOT_STAGE_JOINT];
        return AOT_OK;
    case AOT_ORIGIN_DERIVED: return captured_stage(m, unit, AOT_STAGE_JOINT, out, err);
    default: return missing(s, AOT_STAGE_JOINT, err);
    }
}

/* Made once for all settings and edits that leave the joint graph as it is. */
static aot_status partitioner_of(aot_model *m, size_t unit, const aot_config *config, aot_err *err)
{
    slot *s = aot_model_slot(m, unit);
    const aot_graph *joint = NULL;
    aot_observer keep = {.arg = s, .on_graph = keep_graph};
    bool modules = aot_edits_need_modules(s->edits);
    if (s->partitioner != NULL && (s->knows_modules || !modules)) {
        return AOT_OK;
    }
    aot_partitioner_free(s->partitioner);
    s->partitioner = NULL;
    s->knows_modules = modules;
    AOT_TRY(joint_graph(m, unit, &joint, err));
    return aot_derive_partitioner(&s->partitioner, s->unit, joint, config, &keep, err);
}

aot_status aot_model_partition(aot_model *m, size_t unit, const aot_partition **out, aot_err *err)
{
    slot *s = aot_model_slot(m, unit);
    if (!s->partition_tried) {
        aot_config config;
        AOT_TRY(aot_model_config(m, unit, &config, err));
        s->partition_tried = true;
        if (partitioner_of(m, unit, &config, &s->partition_err) == AOT_OK &&
            aot_partitioner_solve(s->partitioner, &s->partition, &config, NULL, 0,
                                  &s->partition_err) != AOT_OK) {
            s->partition = NULL;
        }
    }
    if (s->partition == NULL) {
        return take_once(&s->partition_err, &s->partition_tried, err);
    }
    *out = s->partition;
    return AOT_OK;
}

aot_status aot_model_runtime(aot_model *m, size_t unit, const aot_runtime **out, aot_err *err)
{
    slot *s = aot_model_slot(m, unit);
    if (!s->runtime_tried) {
        aot_config config;
        const aot_partition *p = NULL;
        bool dynamo =
            aot_unit_stage_status(s->unit, AOT_STAGE_DYNAMO).origin == AOT_ORIGIN_RECORDED;
        AOT_TRY(aot_model_config(m, unit, &config, err));
        s->runtime_tried = true;
        if (dynamo && capture(m, unit, &s->runtime_err) != AOT_OK) {
            if (aot_progress_stopped()) {
                return take_once(&s->runtime_err, &s->runtime_tried, err);
            }
            dynamo = false; // then what was logged
        }
        if (s->ctx == NULL) {
            s->ctx = aot_unit_new_ctx(s->unit);
        }
        if (aot_model_partition(m, unit, &p, NULL) != AOT_OK) {
            p = NULL;
        }
        // the first tells more
        aot_err *why = s->runtime_err.code == AOT_OK ? &s->runtime_err : NULL;
        if (aot_derive_runtime(&s->runtime, s->unit, dynamo ? s->calling : NULL, p, &config,
                               s->ctx->arena, why) != AOT_OK) {
            s->runtime = NULL;
        }
    }
    *out = s->runtime;
    return s->runtime != NULL ? AOT_OK : take_once(&s->runtime_err, &s->runtime_tried, err);
}

const char *aot_model_assumed(aot_model *m, size_t unit)
{
    slot *s = aot_model_slot(m, unit);
    static const aot_stage order[] = {AOT_STAGE_JOINT, AOT_STAGE_INFERENCE, AOT_STAGE_FORWARD};
    for (size_t i = 0; i < sizeof order / sizeof *order && s->ctx == NULL && !s->assumed_sought;
         i++) {
        const aot_record *r = aot_unit_stage(s->unit, order[i]);
        if (r != NULL && r->text != NULL && memmem(r->text, r->len, "Sym(", 4) != NULL) {
            aot_status st = parse_stage(s, order[i], NULL);
            (void)st; // what cannot be read has no sizes
        }
    }
    s->assumed_sought = true; // records do not change, and frames ask
    if (s->ctx != NULL && s->assumed_of != s->ctx->dims.n + 1) {
        s->assumed = aot_assumed_text(s->ctx, s->ctx->arena);
        s->assumed_of = s->ctx->dims.n + 1;
    }
    return s->ctx != NULL ? s->assumed : NULL;
}

/* Of a slot whose partition is there. */
static const aot_graph *derived_graph(const slot *s, aot_stage stage)
{
    return stage == AOT_STAGE_JOINT_PASSES ? s->graphs[stage]
           : stage == AOT_STAGE_FORWARD    ? s->partition->forward
           : stage == AOT_STAGE_BACKWARD   ? s->partition->backward
                                           : s->partition->cut;
}

/* The graph of a stage, if it was made or read already. */
static const aot_graph *known_graph(const aot_model *m, const slot *s, aot_stage stage)
{
    aot_origin origin = status_of(m, s, stage).origin;
    if (origin == AOT_ORIGIN_DERIVED && aot_stage_is_captured(stage)) {
        return s->captured[stage];
    }
    return origin == AOT_ORIGIN_DERIVED && s->partition != NULL ? derived_graph(s, stage)
                                                                : s->graphs[stage];
}

/* Compared once, when both graphs are there. */
static const char *unchanged_from(const aot_model *m, slot *s, aot_stage stage)
{
    aot_stage before = aot_stage_before(stage);
    if (before == AOT_STAGE_JOINT_PASSES && known_graph(m, s, before) == NULL) {
        before = AOT_STAGE_JOINT; // only Inductor's backend has passes
    }
    const aot_graph *a = before != AOT_N_STAGES ? known_graph(m, s, before) : NULL;
    const aot_graph *b = a != NULL ? known_graph(m, s, stage) : NULL;
    if (b == NULL) {
        return NULL;
    }
    if (s->compared[stage][0] != a || s->compared[stage][1] != b) {
        s->compared[stage][0] = a;
        s->compared[stage][1] = b;
        s->same[stage] = aot_graph_same_structure(a, b, NULL);
    }
    return s->same[stage] ? aot_stage_get(before)->name : NULL;
}

static aot_stage_status stage_status(aot_model *m, size_t unit, aot_stage stage)
{
    slot *s = aot_model_slot(m, unit);
    aot_stage_status status = status_of(m, s, stage);
    if (status.origin == AOT_ORIGIN_DERIVED && aot_stage_is_captured(stage)) {
        if (s->capture_tried && s->captured[stage] == NULL) {
            aot_err why = {0};
            const aot_graph *none;
            aot_status st = captured_stage(m, unit, stage, &none, &why);
            (void)st;
            if (s->capture_err.code == AOT_OK) {
                s->capture_why[stage] = why;
            }
            return (aot_stage_status){.origin = AOT_ORIGIN_MISSING,
                                      .reason = s->capture_err.code != AOT_OK
                                                    ? s->capture_err.msg
                                                    : s->capture_why[stage].msg};
        }
        status.n_nodes = s->captured[stage] != NULL ? (uint32_t)s->captured[stage]->nodes.n : 0;
        return status;
    }
    if (stage == AOT_STAGE_RUNTIME) {
        return s->runtime_tried && s->runtime == NULL
                   ? (aot_stage_status){.origin = AOT_ORIGIN_MISSING, .reason = s->runtime_err.msg}
                   : status;
    }
    if (status.origin == AOT_ORIGIN_DERIVED && s->partition_tried && s->partition == NULL) {
        status = (aot_stage_status){.origin = AOT_ORIGIN_MISSING, .reason = s->partition_err.msg};
    }
    const aot_graph *g = s->graphs[stage];
    if (status.origin == AOT_ORIGIN_DERIVED && s->partition != NULL) {
        g = derived_graph(s, stage);
    }
    status.n_nodes = g != NULL ? (uint32_t)g->nodes.n : 0;
    return status;
}

aot_stage_status aot_model_stage(aot_model *m, size_t unit, aot_stage stage)
{
    aot_stage_status status = stage_status(m, unit, stage);
    if (status.origin != AOT_ORIGIN_MISSING) {
        status.same_as = unchanged_from(m, aot_model_slot(m, unit), stage);
    }
    return status;
}

aot_status aot_model_graph(aot_model *m, size_t unit, aot_stage stage, const aot_graph **out,
                           aot_err *err)
{
    slot *s = aot_model_slot(m, unit);
    switch (status_of(m, s, stage).origin) {
    case AOT_ORIGIN_MISSING:
        return missing(s, stage, err);
    case AOT_ORIGIN_RECORDED:
        AOT_TRY(parse_stage(s, stage, err));
        *out = s->graphs[stage];
        return AOT_OK;
    case AOT_ORIGIN_DERIVED:
        break;
    }
    if (stage == AOT_STAGE_RUNTIME) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "runtime is no graph: `aotscope show --stage runtime` "
                                             "lists the wrappers");
    }
    if (aot_stage_is_captured(stage)) {
        return captured_stage(m, unit, stage, out, err);
    }
    const aot_partition *p = NULL;
    AOT_TRY(aot_model_partition(m, unit, &p, err));
    *out = derived_graph(s, stage);
    return *out != NULL ? AOT_OK : missing(s, stage, err);
}

aot_status aot_model_cut_graph(aot_model *m, size_t unit, const aot_graph **out, aot_err *err)
{
    aot_config config;
    AOT_TRY(aot_model_config(m, unit, &config, err));
    bool passes = strcmp(config.backend, "inductor_joint") == 0;
    return aot_model_graph(m, unit, passes ? AOT_STAGE_JOINT_PASSES : AOT_STAGE_JOINT, out, err);
}
