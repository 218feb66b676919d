/* The geometry of a convolution, and what walks it. See kernel_conv.c. */
#ifndef AOT_EXEC_CONV_H
#define AOT_EXEC_CONV_H

#include "exec/kernel.h"

typedef struct geometry {
    int64_t n, groups;
    int64_t c, m;           /* channels of one group: of the big image, of the small one */
    int64_t big[3], small[3], kernel[3], stride[3], padding[3], dilation[3];
    int64_t taps, places, pixels; /* of the kernel, of the small image, of the big one */
    int64_t lines;                /* rows of places along the last dimension: places / small[2] */
    aot_dtype d;
    bool transposed;
} geometry;

/* Columns [C K, places of the lines]: what the taps read at n lines of places from `line` on. */
void conv_gather(const geometry *g, const aot_array *image, aot_array *columns, int64_t line,
                 int64_t n);
/* Adds columns to where their taps read. */
void conv_scatter(const geometry *g, const aot_array *columns, aot_array *image, int64_t line,
                  int64_t n);

/* Images of one channel a group, in f32 or f64: without columns. Slabs of one sample and group,
 * contiguous. */
bool conv_is_depthwise(const geometry *g);
int64_t conv_depthwise_room(const geometry *g); /* elements, of the convolution itself */
void conv_depthwise_to_small(const geometry *g, void *room, const aot_array *big,
                             const aot_array *weight, aot_array *small);
void conv_depthwise_to_big(const geometry *g, const aot_array *small, const aot_array *weight,
                           aot_array *big);
void conv_depthwise_to_weight(const geometry *g, const aot_array *small, const aot_array *big,
                              aot_array *grad);

#endif
