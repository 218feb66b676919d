/* The graph of a unit and its partitioner, kept from cut to cut. */
#include "session/cutter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pass.h"
#include "session/derive.h"
#include "session/model.h"

struct aot_cutter {
    const aot_unit *u;
    const aot_record *joint;
    aot_ctx *ctx; /* of what is below; NULL until the first cut */
    aot_partition_in in;
    aot_partitioner *partitioner;
    aot_config config; /* that the passes before the cut ran under */
};

aot_cutter *aot_cutter_new(const aot_unit *u, const aot_record *joint)
{
    aot_cutter *c = aot_xcalloc(1, sizeof *c);
    c->u = u;
    c->joint = joint;
    return c;
}

static void forget(aot_cutter *c)
{
    aot_partitioner_free(c->partitioner);
    aot_ctx_free(c->ctx);
    c->partitioner = NULL;
    c->ctx = NULL;
}

void aot_cutter_free(aot_cutter *c)
{
    if (c != NULL) {
        forget(c);
        free(c);
    }
}

/* Parses, and runs the passes that come before the cut. */
static aot_status prepare(aot_cutter *c, const aot_config *config, aot_err *err)
{
    const aot_graph *joint;
    c->config = *config;
    c->ctx = aot_unit_new_ctx(c->u);
    AOT_TRY(aot_record_parse(&joint, c->ctx, c->u, c->joint, err));
    aot_partition_inputs(&c->in, c->u, joint);
    if (strcmp(config->backend, "inductor_joint") == 0) {
        aot_pass_ctx p = {.config = &c->config, .partition_in = &c->in};
        p.graphs[AOT_STAGE_JOINT] = joint;
        AOT_TRY(aot_pass_run_to(&p, AOT_STAGE_JOINT_PASSES, err));
        c->in.joint = p.graphs[AOT_STAGE_JOINT_PASSES] != NULL ? p.graphs[AOT_STAGE_JOINT_PASSES] : joint;
    }
    c->partitioner = aot_partitioner_new(&c->in);
    return AOT_OK;
}

aot_status aot_cutter_cut(aot_cutter *c, aot_partition **out, const aot_config *config, aot_err *err)
{
    if (c->ctx == NULL) {
        aot_status s = prepare(c, config, err);
        if (s != AOT_OK) {
            forget(c);
            return s;
        }
    }
    return aot_partitioner_solve(c->partitioner, out, config, NULL, 0, err);
}
