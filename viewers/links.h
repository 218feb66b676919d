/* A picture's lines by their ends, and where a value of the partition stands in it. */
#ifndef AOT_VIEWERS_LINKS_H
#define AOT_VIEWERS_LINKS_H

#include "viewers/picture.h"

typedef struct aot_links {
    uint32_t *in_off, *in;   /* edges that lead to node i: in[in_off[i] .. in_off[i+1]) */
    uint32_t *out_off, *out; /* edges that leave it */
    /* Boxes of a node of the partition's cut; UINT32_MAX where there is none. NULL: no partition.
     */
    uint32_t *forward, *saved, *backward;
    int64_t
        *step; /* when a box's value is made: forward and backward are counted through; -1: never */
} aot_links;

/* p may be NULL. Cost: linear. */
aot_links aot_links_open(const aot_picture *pic, const aot_partition *p);
void aot_links_close(aot_links *l);
/* The step of each box's last use, that of a saved value in the backward; its own step if nothing
 * uses it; -1 for what has no step. The caller frees it. */
int64_t *aot_links_last_use(const aot_links *l, const aot_picture *pic);

#endif
