/* A picture before it is laid out: boxes and lines as plain arrays. Viewers build one from a graph
 * or a partition; folding, neighbourhoods and the cap on nodes work on it; dot.c hands it to
 * cgraph. */
#ifndef AOT_VIEWERS_PICTURE_H
#define AOT_VIEWERS_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "viewers/format.h"

typedef enum aot_zone { /* clusters; BACKWARD is drawn from the bottom up */
    AOT_ZONE_NONE,
    AOT_ZONE_FORWARD,
    AOT_ZONE_BOUNDARY,
    AOT_ZONE_BACKWARD,
    AOT_N_ZONES
} aot_zone;

typedef enum aot_line {
    AOT_LINE_DATA,
    AOT_LINE_ALIAS, /* the target is a view of the source */
    AOT_LINE_SAVED, /* a value kept for the backward */
    AOT_LINE_NEXT,  /* to the next repeat of a folded block */
    AOT_LINE_CAPACITY,
    AOT_LINE_INFINITE,
    AOT_LINE_CUT,
    AOT_N_LINES
} aot_line;

typedef struct aot_pic_node {
    const char *key;     /* unique; becomes the id in SVG */
    const char *name;    /* what --around asks for */
    const char *label, *tooltip, *source;
    const char *module;  /* "layers.0.fc"; "" if it has none, or none is known */
    const char *css;     /* further classes, blank between them */
    uint8_t cls;         /* aot_class */
    uint8_t zone;        /* aot_zone */
    uint8_t policy;      /* aot_policy */
    bool leaf;           /* placeholder, boundary: folded with what it hangs on */
    bool vertex;         /* an end of a network edge: drawn small and round */
    bool rim;            /* has neighbours that are not shown */
    uint32_t n_again;    /* a group's values that the backward computes again */
    uint64_t sig;        /* equal for nodes that look the same; for folding */
    int64_t bytes;
    int32_t block;       /* folded block it stands for; -1 */
    const aot_graph *graph; /* whose node it shows; NULL: the source, the sink */
    aot_node_id node, cut;  /* in graph; in the partition's cut, or AOT_NO_NODE */
    int32_t nth;            /* an output box: its position among the outputs of node; else -1 */
} aot_pic_node;

typedef struct aot_pic_edge {
    uint32_t from, to;
    uint8_t line;        /* aot_line */
    const char *label, *tooltip; /* NULL if none */
    int64_t bytes;       /* of a saved value; capacity of a network edge; else 0 */
    uint32_t times;      /* equal edges it stands for */
} aot_pic_edge;

typedef struct aot_pic_block {
    uint32_t times;
    const char *label;
    uint8_t zone;
} aot_pic_block;

typedef struct aot_picture {
    aot_arena *arena;
    const char *title;
    const char *zone_label[AOT_N_ZONES];
    AOT_VEC(aot_pic_node) nodes;
    AOT_VEC(aot_pic_edge) edges;
    AOT_VEC(aot_pic_block) blocks;
    AOT_VEC(const char *) notices;
    bool plain;        /* no partition is known: classes F and B mean nothing */
    bool network;      /* of capacities: sides of the cut in place of classes */
    uint32_t n_before; /* nodes before folding and cutting out */
} aot_picture;

aot_picture *aot_picture_new(void);
void aot_picture_free(aot_picture *pic);
/* Adds a node and returns its index; strings must live as long as the picture (use its arena). */
uint32_t aot_picture_node(aot_picture *pic, aot_pic_node n);
void aot_picture_edge(aot_picture *pic, uint32_t from, uint32_t to, aot_line line, int64_t bytes);
void aot_picture_notice(aot_picture *pic, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Keeps the nodes with keep[i]; marks the rim. */
void aot_picture_keep(aot_picture *pic, const bool *keep);
/* Sends the ends of edges through map (node -> the node that stands for it) and joins equal ones;
 * what leads back in its own zone becomes AOT_LINE_NEXT. aot_picture_keep then drops the nodes. */
void aot_picture_merge(aot_picture *pic, const uint32_t *map);
/* One box a module or source line, at most limit boxes if that can be: see group.c. Returns how
 * many nodes went away. */
uint32_t aot_picture_group(aot_picture *pic, uint32_t limit);
/* Folds repeats: see fold.c. Returns how many nodes went away. */
uint32_t aot_picture_fold(aot_picture *pic);
/* Keeps what is at most hops lines from the nodes named name (all if NULL: the largest saved
 * value), at most max_nodes of it (0: no limit). False if no node has that name. */
bool aot_picture_around(aot_picture *pic, const char *name, int hops, uint32_t max_nodes);

/* Box of a graph's node: label, tooltip, class, signature. cut as in aot_class_of. prefix keeps
 * keys apart ("fw", "bw"). */
uint32_t aot_picture_graph_node(aot_picture *pic, const aot_graph *g, aot_node_id id,
                                const aot_partition *p, aot_node_id cut, const char *prefix,
                                aot_zone zone);
/* Small box for what a graph returns, below `from`. */
uint32_t aot_picture_output(aot_picture *pic, const aot_graph *g, aot_node_id from, uint32_t nth,
                            const char *prefix, aot_zone zone);
/* "[0/0] forward model.py:12" and the like: text made safe, kept in the arena. */
const char *aot_picture_text(aot_picture *pic, const char *text);

#endif
