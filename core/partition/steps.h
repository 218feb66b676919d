/* What a solve is at, for one who watches it (base/progress.h); it can be stopped at each. */
#ifndef AOT_PARTITION_STEPS_H
#define AOT_PARTITION_STEPS_H

typedef enum part_at {
    PART_AT_CUT,
    PART_AT_KNAPSACK,
    PART_AT_FOURTH_CUT,
    PART_AT_MODULES,
    PART_AT_END
} part_at;

#endif
