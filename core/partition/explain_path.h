/* Where an explained value lies: in the network of its cut, and under the user's source line. */
#ifndef AOT_PARTITION_EXPLAIN_PATH_H
#define AOT_PARTITION_EXPLAIN_PATH_H

#include "partition/explain.h"

/* Fills x->path, has_source, has_sink and around; x->p->cut must be linked. Cost: linear. */
void explain_find_path(aot_explain *x);
/* Fills x->source. Cost: linear. */
void explain_find_source(aot_explain *x);

#endif
