/* Settings, stages and the partition of one unit. */
#include "session/derive.h"

#include <stdio.h>
#include <string.h>

#include "ir/text.h"
#include "pipeline/pass.h"
#include "session/check.h"

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
    return apply(&c, settings, n_settings, err);
}

aot_status aot_unit_config(aot_config *out, const aot_unit *u, const char *const *settings,
                           size_t n_settings, aot_err *err)
{
    aot_config c;
    aot_config_init(&c);
    if (u->config != NULL) {
        aot_config_from_json(&c, u->config);
    }
    if (aot_unit_is_inductors(u)) {
        snprintf(c.backend, sizeof c.backend, "inductor_joint");
    }
    AOT_TRY(apply(&c, settings, n_settings, err));
    *out = c;
    return AOT_OK;
}

aot_status aot_record_parse(const aot_graph **out, aot_ctx *c, const aot_unit *u,
                            const aot_record *rec, aot_err *err)
{
    aot_graph *g = NULL;
    if (rec->text == NULL) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "%s has no text: its payload is missing in the input",
                        rec->name);
    }
    aot_status st = aot_parse_graph(&g, c, rec->text, rec->len, (uint32_t)rec->line, err);
    if (st != AOT_OK) {
        aot_err_in_file(err, u->input);
        return st;
    }
    *out = g;
    return AOT_OK;
}

aot_status aot_derive_partition(aot_partition **out, const aot_unit *u, const aot_graph *joint,
                                const aot_config *config, const aot_observer *observer,
                                aot_err *err)
{
    aot_partition_in in;
    aot_partition_inputs(&in, u, joint);
    return aot_derive_partition_in(out, &in, config, observer, err);
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

static bool has_text(const aot_unit *u, aot_stage s)
{
    const aot_record *rec = aot_unit_stage(u, s);
    return rec != NULL && rec->text != NULL;
}

static bool goes_through_passes(const aot_unit *u, const aot_config *config)
{
    return config != NULL ? strcmp(config->backend, "inductor_joint") == 0 : aot_unit_is_inductors(u);
}

aot_stage_status aot_unit_stage_status_under(const aot_unit *u, aot_stage s,
                                             const aot_config *config)
{
    if (has_text(u, s)) {
        return (aot_stage_status){.origin = AOT_ORIGIN_RECORDED, .reason = ""};
    }
    bool follows = s == AOT_STAGE_JOINT_CSE || s == AOT_STAGE_FORWARD || s == AOT_STAGE_BACKWARD;
    if ((follows || s == AOT_STAGE_JOINT_PASSES) && has_text(u, AOT_STAGE_JOINT)) {
        bool passes = goes_through_passes(u, config);
        if (follows || passes) {
            return (aot_stage_status){
                .origin = AOT_ORIGIN_DERIVED,
                .reason = passes ? "from the recorded joint graph through Inductor's joint-graph "
                                   "passes, under its settings"
                                 : "from the recorded joint graph, under its settings"};
        }
        return (aot_stage_status){.origin = AOT_ORIGIN_MISSING,
                                  .reason = "only Inductor's backend has it: --set "
                                            "backend=inductor_joint derives it"};
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
