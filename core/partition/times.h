/* A table of measured times, in place of flops: what recomputing a value costs.
 *
 *     # name, milliseconds           what a profiler says, for example
 *     addmm_3, 0.131                 one value
 *     aten.mm, 0.082                 every overload of an operator
 *     aten.gelu.default, 0.011       one overload
 *
 * A value's own line goes before its overload's, that before its operator's. A value that no line
 * has is estimated from its flops, at the rate of those that have one. */
#ifndef AOT_PARTITION_TIMES_H
#define AOT_PARTITION_TIMES_H

#include "ir/graph.h"

typedef struct aot_times aot_times;

/* Reads a file for a graph; flops by node of it. Errors: E_IO; E_USAGE (file and line; a line that
 * is no NAME,NUMBER; a name that has two); E_PARSE (no line is of a value or operator of the
 * graph). */
AOT_NODISCARD aot_status aot_times_read(aot_times **out, const char *path, const aot_graph *g,
                                        const double *flops, aot_err *err);
void aot_times_free(aot_times *t); /* NULL is fine */
/* Milliseconds of a node. */
double aot_times_of(const aot_times *t, const aot_graph *g, aot_node_id id, double flops);

#endif
