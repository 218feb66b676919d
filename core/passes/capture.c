/* The capture as a pass: from the Dynamo graph to the graphs of every level of AOTAutograd. A stage
 * that the unit recorded stays as it is. */
#include "capture/capture.h"
#include "pipeline/pass.h"

/* Which rule made a node, and for which node of the graph above. Nodes that only passed from level
 * to level are not told. */
static void report_level(const aot_pass_ctx *p, const aot_capture *c, aot_level l)
{
    static const aot_stage joint[] = {AOT_STAGE_ATEN, AOT_STAGE_JOINT_TRACED,
                                      AOT_STAGE_JOINT_FUNCTIONAL, AOT_STAGE_JOINT};
    aot_stage stage = c->path == AOT_PATH_AUTOGRAD   ? joint[l]
                      : l == AOT_LEVEL_ATEN          ? AOT_STAGE_ATEN
                                                     : AOT_STAGE_INFERENCE;
    if (c->path != AOT_PATH_AUTOGRAD && l != AOT_LEVEL_ATEN && l != AOT_LEVEL_JOINT) {
        return; // the forward alone has no stages in between
    }
    const aot_observer *o = p->observer;
    const aot_graph *g = c->graph[l], *above = l > AOT_LEVEL_ATEN ? c->graph[l - 1] : g;
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        const char *rule = aot_trace_rule_of(c->tracer, l, id);
        if (rule[0] != '\0') {
            o->on_edit(o->arg, rule, (unsigned)stage, above, aot_trace_parent_of(c->tracer, l, id), g,
                       id);
        }
    }
}

static void set_if_missing(aot_pass_ctx *p, aot_stage s, const aot_graph *g)
{
    if (p->graphs[s] == NULL) {
        aot_pass_set_graph(p, s, g);
    }
}

aot_status pass_capture(aot_pass_ctx *p, aot_err *err)
{
    aot_capture c;
    AOT_TRY(aot_capture_run(&c, p->capture_in, err));
    bool joint = c.path == AOT_PATH_AUTOGRAD;
    aot_pass_set_graph(p, AOT_STAGE_ATEN, c.graph[AOT_LEVEL_ATEN]);
    if (joint) {
        aot_pass_set_graph(p, AOT_STAGE_JOINT_TRACED, c.graph[AOT_LEVEL_TRACED]);
        aot_pass_set_graph(p, AOT_STAGE_JOINT_FUNCTIONAL, c.graph[AOT_LEVEL_FUNCTIONAL]);
    }
    set_if_missing(p, joint ? AOT_STAGE_JOINT : AOT_STAGE_INFERENCE, c.graph[AOT_LEVEL_JOINT]);
    p->path_reason = c.path_reason;
    for (int l = 0; l < AOT_N_LEVELS && p->observer != NULL && p->observer->on_edit != NULL; l++) {
        report_level(p, &c, (aot_level)l);
    }
    aot_capture_free(&c);
    return AOT_OK;
}
