/* The graph of a unit and its partitioner, kept from cut to cut. */
#include "session/cutter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/derive.h"
#include "session/model.h"

struct aot_cutter {
    const aot_unit *u;
    const aot_record *joint;
    aot_ctx *ctx; /* of what is below; NULL until the first cut */
    aot_partitioner *partitioner;
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
    c->ctx = aot_unit_new_ctx(c->u);
    AOT_TRY(aot_record_parse(&joint, c->ctx, c->u, c->joint, err));
    return aot_derive_partitioner(&c->partitioner, c->u, joint, config, NULL, err);
}

aot_status aot_cutter_cut(aot_cutter *c, aot_partition **out, const aot_config *config,
                          aot_err *err)
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
