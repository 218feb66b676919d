/* How the order of drawing changes from stage to stage of a unit, and whether it is eager's. */
#ifndef AOT_LINT_RNG_STAGES_H
#define AOT_LINT_RNG_STAGES_H

#include "partition/rng_sites.h"
#include "session/model.h"

typedef struct aot_rng_stage {
    aot_stage stage;
    unsigned n_draws;    /* sites that move a generator or compute numbers */
    aot_stage before;    /* that it is compared with; AOT_N_STAGES: it is the first */
    aot_rng_order order; /* against it */
    const char *text;    /* what differs, one clause; "" */
} aot_rng_stage;

/* The stages of a unit that draw, from aten on, in pipeline order; forward and backward are one,
 * called forward. Texts belong to a. Stages that cannot be made are left out. Returns their number.
 */
size_t aot_rng_stages(aot_rng_stage out[AOT_N_STAGES], aot_model *m, size_t unit, aot_arena *a);

typedef enum aot_rng_eager {
    AOT_RNG_EAGER_SAME,   /* the same seed gives eager's numbers */
    /* in the forward; the backward draws some of them again, where eager uses the first */
    AOT_RNG_EAGER_FORWARD,
    AOT_RNG_EAGER_OTHER,  /* it does not */
    AOT_RNG_EAGER_UNKNOWN /* eager's calls are not known: no Dynamo graph, or it cannot be traced */
} aot_rng_eager;
const char *aot_rng_eager_name(aot_rng_eager e); /* "same", "forward", "other", "unknown" */

/* Whether the unit draws as eager does: aten is what eager dispatches.
 * *text: why, one clause; belongs to a. */
aot_rng_eager aot_rng_against_eager(const char **text, aot_model *m, size_t unit, aot_arena *a);

#endif
