/* The stages of a unit as an enum and a table (stages.def). */
#ifndef AOT_PIPELINE_STAGE_H
#define AOT_PIPELINE_STAGE_H

#include <stddef.h>

typedef enum aot_stage {
#define STAGE(id, name, log_name, sentence, how) AOT_STAGE_##id,
#include "pipeline/stages.def"
#undef STAGE
    AOT_N_STAGES
} aot_stage;

typedef struct aot_stage_info {
    /* log_name NULL: PyTorch never prints it */
    const char *name, *log_name, *sentence, *how_to_get;
} aot_stage_info;

const aot_stage_info *aot_stage_get(aot_stage s);
/* The stage that this one is made of where all are there, AOT_N_STAGES if it is no rewriting of
 * another: a step that changes nothing makes a stage like the one before. */
aot_stage aot_stage_before(aot_stage s);
/* By name; AOT_N_STAGES if there is none. */
aot_stage aot_stage_find(const char *name);

#endif
