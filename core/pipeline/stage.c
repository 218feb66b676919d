/* The stage table and its look-ups. */
#include "pipeline/stage.h"

#include <string.h>

static const aot_stage_info stages[AOT_N_STAGES] = {
#define STAGE(id, name, log_name, sentence, how) [AOT_STAGE_##id] = {name, log_name, sentence, how},
#include "pipeline/stages.def"
#undef STAGE
};

const aot_stage_info *aot_stage_get(aot_stage s)
{
    return &stages[s];
}

aot_stage aot_stage_before(aot_stage s)
{
    switch (s) {
    case AOT_STAGE_JOINT_FUNCTIONAL: return AOT_STAGE_JOINT_TRACED;
    case AOT_STAGE_JOINT: return AOT_STAGE_JOINT_FUNCTIONAL;
    case AOT_STAGE_JOINT_PASSES: return AOT_STAGE_JOINT;
    case AOT_STAGE_JOINT_CSE: return AOT_STAGE_JOINT_PASSES;
    case AOT_STAGE_INFERENCE: return AOT_STAGE_ATEN;
    default: return AOT_N_STAGES;
    }
}

aot_stage aot_stage_find(const char *name)
{
    for (int i = 0; i < AOT_N_STAGES; i++) {
        if (strcmp(stages[i].name, name) == 0) {
            return (aot_stage)i;
        }
    }
    return AOT_N_STAGES;
}
