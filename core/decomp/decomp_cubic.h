/* Cubic interpolation, shared by resizing and sampling of images. */
#ifndef AOT_DECOMP_CUBIC_H
#define AOT_DECOMP_CUBIC_H

#include "trace/trace.h"

/* The weights of the four elements around a place that is `share` after the second of them. */
void dc_cubic_coefficients(aot_tracer *t, aot_tensor *share, aot_tensor **out);

#endif
