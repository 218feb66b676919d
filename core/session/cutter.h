/* One unit cut again and again under other settings: core/partition/partitioner.h with the unit's
 * graph parsed once, and Inductor's joint-graph passes run before the cut where they belong. */
#ifndef AOT_SESSION_CUTTER_H
#define AOT_SESSION_CUTTER_H

#include "import/unit.h"
#include "partition/partitioner.h"

typedef struct aot_cutter aot_cutter;

/* u and joint are borrowed. Parses nothing yet. */
aot_cutter *aot_cutter_new(const aot_unit *u, const aot_record *joint);
void aot_cutter_free(aot_cutter *c); /* after all its partitions; NULL is fine */
/* *out is freed with aot_partition_release. Errors: those of the parser, the passes, the partition.
 * Cost: the first, and one under another backend, as a cut from the start; then see
 * partitioner.h. */
AOT_NODISCARD aot_status aot_cutter_cut(aot_cutter *c, aot_partition **out,
                                        const aot_config *config, aot_err *err);

#endif
