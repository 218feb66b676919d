/* A joint graph that is cut again and again: what does not depend on settings, tags and weights is
 * found once, cuts and knapsacks that a change does not touch are kept.
 *
 *     aot_partitioner_new(&pr, &in, &err);
 *     aot_partitioner_solve(pr, &p, &config, tags, n_tags, &err);  as often as wanted
 *     aot_partition_release(p);                          when it is not looked at any more
 *     aot_partitioner_free(pr);
 *
 * aot_partition_run is one such solve. Not for use by several threads: strings are interned in the
 * graph's context. */
#ifndef AOT_PARTITION_PARTITIONER_H
#define AOT_PARTITION_PARTITIONER_H

#include "partition/partition.h"

typedef struct aot_partitioner aot_partitioner;

/* in is copied, what it points to is borrowed; its edits and what_if hold in every solve. */
aot_partitioner *aot_partitioner_new(const aot_partition_in *in);
void aot_partitioner_free(aot_partitioner *pr); /* NULL is fine; partitions that live stay valid */

/* Cuts under these settings. tags (sorted by name) go over those of the edits and what_if; NULL:
 * none. *out has memory of its own: graphs belong to it, the graph that is cut to the context.
 * Errors: those of aot_partition_run.
 * Cost: the first, and one under another cse, fallback_random or partitioner: linear, with all
 * facts; then linear with a small factor; a changed budget costs a walk through the knapsack and
 * one cut. */
AOT_NODISCARD aot_status aot_partitioner_solve(aot_partitioner *pr, aot_partition **out,
                                               const aot_config *config, const aot_what_if *tags,
                                               uint32_t n_tags, aot_err *err);
/* Frees a partition of aot_partitioner_solve; NULL is fine. One of aot_partition_run is its
 * context's. */
void aot_partition_release(aot_partition *p);
/* Another set of edits from now on; borrowed, NULL: none. */
void aot_partitioner_set_edits(aot_partitioner *pr, const struct aot_unit_edits *edits);
/* Bytes that the partitioner itself holds, partitions apart. */
size_t aot_partitioner_bytes(const aot_partitioner *pr);

#endif
