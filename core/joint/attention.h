/* The attention patterns as a set; see attention.def. */
#ifndef AOT_JOINT_ATTENTION_H
#define AOT_JOINT_ATTENTION_H

#include "joint/match.h"

typedef struct attention_pattern {
    const char *name; /* "_sfdp_pattern_16_half_bs1_training" */
    int row;          /* of attention.def */
    bool train;
    bool duplicate;   /* an earlier one matches the same: never tried */
    unsigned grads;   /* bit i: input i has a gradient */
    pattern pat;
} attention_pattern;

typedef struct attention_set attention_set;

/* All patterns in the order in which they are tried. Strings belong to c. */
attention_set *attention_set_new(aot_ctx *c);
void attention_set_free(attention_set *s); /* NULL is fine */

#endif
