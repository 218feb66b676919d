/* From a picture to a cgraph graph, and its layout; private to dot.c, columns.c, route.c and
 * layout.c. */
#ifndef AOT_VIEWERS_DOT_H
#define AOT_VIEWERS_DOT_H

#include <graphviz/gvc.h>

#include "viewers/picture.h"

enum {
    AOT_BUILD_TITLE = 1 << 0,
    AOT_BUILD_LEGEND = 1 << 1,
    AOT_BUILD_LEGEND_ON_TOP = 1 << 2, /* by hidden edges */
    AOT_BUILD_ALL = 7
};

/* color: "light", "dark", "mono"; NULL = light. Edge i of the picture has the key "e<i>". Close
 * with agclose. */
Agraph_t *aot_picture_build(const aot_picture *pic, const char *color, unsigned parts);

/* Laid out: forward, saved values and backward in columns, or all in one. NULL if Graphviz fails.
 * Nothing is freed that the process's end would free: for a child process only. */
Agraph_t *aot_columns_layout(GVC_t *gvc, const aot_picture *pic, const char *color);

typedef struct aot_place {
    double x, y, w, h; /* centre and size, points */
} aot_place;

/* route.c: the course of the lines of g that lead from one column to another; at: by node. */
void aot_columns_route(Agraph_t *g, const aot_picture *pic, const aot_place *at);

#endif
