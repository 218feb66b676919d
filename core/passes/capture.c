/* The capture as a pass: from the Dynamo graph to the graphs of every level of AOTAutograd. A stage
 * that the unit recorded stays as it is. */
#include "capture/capture.h"
#include "pipeline/pass.h"

/* The stage that a level's graph is; AOT_N_STAGES: of none. */
static aot_stage stage_of(const aot_pass_ctx *p, const aot_capture *c, aot_level l)
{
    static const aot_stage joint[] = {AOT_STAGE_ATEN, AOT_STAGE_JOINT_TRACED,
                                      AOT_STAGE_JOINT_FUNCTIONAL, AOT_STAGE_JOINT};
    bool again = p->capture_in->from_export; // the program itself is the input
    if (c->calling.path == AOT_PATH_AUTOGRAD) {
        return joint[l];
    }
    if (l == AOT_LEVEL_ATEN) {
        return again ? AOT_N_STAGES : AOT_STAGE_ATEN;
    }
    return l != AOT_LEVEL_JOINT                      ? AOT_N_STAGES // nothing in between
           : c->calling.path == AOT_PATH_EXPORT && !again ? AOT_STAGE_EXPORT
                                                     : AOT_STAGE_INFERENCE;
}

/* Which rule made a node, and for which node of the graph above. Nodes that only passed from level
 * to level are not told. */
static void report_level(const aot_pass_ctx *p, const aot_capture *c, aot_level l)
{
    aot_stage stage = stage_of(p, c, l);
    if (stage == AOT_N_STAGES) {
        return;
    }
    const aot_observer *o = p->observer;
    const aot_graph *g = c->graph[l], *above = l > AOT_LEVEL_ATEN ? c->graph[l - 1] : g;
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        const char *rule = aot_trace_rule_of(c->tracer, l, id);
        if (rule[0] != '\0') {
            o->on_edit(o->arg, rule, (unsigned)stage, above, aot_trace_parent_of(c->tracer, l, id),
                       g, id);
        }
    }
}

aot_status pass_capture(aot_pass_ctx *p, aot_err *err)
{
    aot_capture c;
    AOT_TRY(aot_capture_run(&c, p->capture_in, err));
    for (int l = 0; l < AOT_N_LEVELS; l++) {
        aot_stage stage = stage_of(p, &c, (aot_level)l);
        if (stage != AOT_N_STAGES && (l != AOT_LEVEL_JOINT || p->graphs[stage] == NULL)) {
            aot_pass_set_graph(p, stage, c.graph[l]);
        }
    }
    aot_calling *calling = AOT_NEW(p->capture_in->dynamo->ctx->arena, aot_calling);
    *calling = c.calling;
    p->calling = calling;
    for (int l = 0; l < AOT_N_LEVELS && p->observer != NULL && p->observer->on_edit != NULL; l++) {
        report_level(p, &c, (aot_level)l);
    }
    aot_capture_free(&c);
    return AOT_OK;
}
