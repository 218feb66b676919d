/* Which call, as dispatched, each node of a joint graph was made for: the trace's own levels, from
 * the joint graph up. */
#include "session/dispatch.h"

#include <string.h>

#include "capture/capture.h"
#include "session/derive.h"

static aot_node_id aten_of(const aot_capture *c, aot_node_id id)
{
    for (int l = AOT_LEVEL_JOINT; l > AOT_LEVEL_TRACED && id != AOT_NO_NODE; l--) {
        id = aot_trace_parent_of(c->tracer, (aot_level)l, id);
    }
    return id != AOT_NO_NODE ? aot_trace_aten_of(c->tracer, id) : id;
}

/* joint's ids by the traced graph's: names are the same where both are the same graph. */
static void map_joint(aot_dispatch *d, const aot_capture *c, const aot_graph *joint, aot_arena *a)
{
    const aot_graph *traced = c->graph[AOT_LEVEL_JOINT];
    uint32_t n_strs = aot_strtab_count(traced->ctx->strs);
    aot_node_id *of_name = AOT_NEW_ARRAY(a, aot_node_id, n_strs + 1);
    memset(of_name, 0, (n_strs + 1) * sizeof *of_name);
    for (aot_node_id i = 0; i < traced->nodes.n; i++) {
        of_name[aot_node_at(traced, i)->name] = i + 1;
    }
    d->of = AOT_NEW_ARRAY(a, aot_node_id, joint->nodes.n + 1);
    for (aot_node_id i = 0; i < joint->nodes.n; i++) {
        const char *name = aot_node_name(joint, i);
        aot_str s = aot_intern_find(traced->ctx->strs, name, strlen(name));
        aot_node_id at = s != 0 && s < n_strs && of_name[s] != 0 ? of_name[s] - 1 : AOT_NO_NODE;
        bool same = at != AOT_NO_NODE &&
                    strcmp(aot_node_target(traced, at), aot_node_target(joint, i)) == 0;
        d->of[i] = same ? aten_of(c, at) : AOT_NO_NODE;
    }
}

aot_status aot_dispatch_find(aot_dispatch *out, aot_ctx *c, const aot_unit *u,
                             const aot_graph *joint, const aot_config *config, aot_err *err)
{
    const aot_record *rec = aot_unit_stage(u, AOT_STAGE_DYNAMO);
    const aot_graph *dynamo;
    aot_capture run;
    if (rec == NULL || rec->text == NULL) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "the input has no Dynamo graph");
    }
    AOT_TRY(aot_record_parse(&dynamo, c, u, rec, err));
    AOT_TRY(aot_capture_run(&run, aot_unit_capture_in(u, dynamo, config), err));
    *out = (aot_dispatch){.aten = run.graph[AOT_LEVEL_ATEN]};
    out->has_checkpoints = strstr(rec->text, "tag_activation_checkpoint") != NULL;
    map_joint(out, &run, joint, c->arena);
    aot_capture_free(&run);
    return AOT_OK;
}
