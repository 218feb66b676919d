/* Shared by the files that turn graphs into pictures. */
#ifndef AOT_VIEWERS_DRAW_H
#define AOT_VIEWERS_DRAW_H

#include "ir/graph.h"

/* A box for each node of g, UINT32_MAX: none yet. Free with free. */
uint32_t *aot_draw_boxes(const aot_graph *g);

#endif
