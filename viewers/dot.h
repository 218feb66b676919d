/* From a picture to a cgraph graph; private to dot.c and layout.c. */
#ifndef AOT_VIEWERS_DOT_H
#define AOT_VIEWERS_DOT_H

#include <graphviz/cgraph.h>

#include "viewers/picture.h"

/* color: "light", "dark", "mono"; NULL = light. Close with agclose. */
Agraph_t *aot_picture_build(const aot_picture *pic, const char *color);

#endif
