/* The partition as a pass of the pipeline: runs the cut and hands on its three graphs. Where
 * Inductor's joint-graph passes ran, their result is cut; else symbolic floats become tensors
 * first. */
#include "joint/joint.h"
#include "partition/partition.h"
#include "pipeline/pass.h"

aot_status pass_partition(aot_pass_ctx *p, aot_err *err)
{
    aot_partition *cut = NULL;
    aot_partition_in in = *p->partition_in;
    if (p->graphs[AOT_STAGE_JOINT_PASSES] != NULL) {
        in.joint = p->graphs[AOT_STAGE_JOINT_PASSES];
    } else {
        in.joint = aot_joint_tensorify(in.joint);
    }
    AOT_TRY(aot_partition_run(&cut, &in, p->config, err));
    p->partition = cut;
    aot_pass_set_graph(p, AOT_STAGE_JOINT_CSE, cut->cut);
    aot_pass_set_graph(p, AOT_STAGE_FORWARD, cut->forward);
    aot_pass_set_graph(p, AOT_STAGE_BACKWARD, cut->backward);
    return AOT_OK;
}
