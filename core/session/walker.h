/* Live bytes of a unit's partitions: core/exec/memsim.h with what a unit adds to it.
 *
 * Settings count as tried in the order in which the truth was measured, in one process: first the
 * recorded ones; then these at a budget of 0.5; then less. PyTorch's cache of fake calls knows the
 * calls of those before (see memsim.h), whose cuts are made again here where it matters. */
#ifndef AOT_SESSION_WALKER_H
#define AOT_SESSION_WALKER_H

#include "exec/memsim.h"
#include "import/unit.h"

typedef struct aot_walker aot_walker;

/* u and joint are borrowed; opt (may be NULL) is copied, its calls are not looked at. Cuts nothing
 * yet. */
aot_walker *aot_walker_new(const aot_unit *u, const aot_record *joint,
                           const aot_memory_options *opt);
void aot_walker_free(aot_walker *w); /* NULL is fine */
/* Walks a partition of the unit. Free with aot_memory_free. Cost: linear; once for each walker a
 * cut under the recorded settings, where a call's bytes can depend on it. */
void aot_walker_memory(aot_walker *w, aot_memory *out, const aot_partition *p);

#endif
