/* Pictures and JSON of graphs, partitions and flow networks. Viewers are rows of viewers.def. */
#ifndef AOT_VIEWERS_VIEWER_H
#define AOT_VIEWERS_VIEWER_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "ir/graph.h"
#include "partition/partition.h"
#include "viewers/picture.h"

/* What is drawn. */
typedef struct aot_draw_in {
    const aot_graph *graph;    /* viewer "graph" */
    const aot_partition *part; /* "partition" and "mincut"; may be NULL for "graph" */
    const char *stage;         /* name of the stage the graph is of; NULL */
    char side;                 /* 'F', 'B': every node's side; 0 from the partition */
    const char *label;         /* the unit in words, for the title */
    int unit;
    const char *infinite;      /* "mincut" without a partition: why the cut is infinite, in words; graph
                                * is the joint graph then. NULL */
} aot_draw_in;

typedef struct aot_draw_options {
    const char *around; /* node name; NULL */
    int hops;           /* with around; 0 = 3 */
    bool no_fold;
    uint32_t max_nodes; /* 0 = 400 */
    double time_limit;  /* seconds for laying out; 0 = 20 */
    const char *color;  /* "light", "dark", "mono"; NULL = light */
} aot_draw_options;

typedef struct aot_viewer {
    const char *name;  /* "partition" */
    const char *draws; /* "graph" or "partition": what it needs */
    void (*draw)(aot_picture *pic, const aot_draw_in *in);
    json_t *(*json)(const aot_draw_in *in);
    const char *sentence;
} aot_viewer;

size_t aot_viewer_count(void);
const aot_viewer *aot_viewer_at(size_t i);
const aot_viewer *aot_viewer_find(const char *name); /* NULL */

/* Draws and writes in a format: svg, pdf, png, dot, json. The result is in *out (svg and dot are text).
 * Notes for the person go to *notes, one a line. If laying out takes longer than the time limit, or
 * Graphviz fails, *out holds DOT instead and *fell_back is set.
 * Errors: E_USAGE (format, colour, node name). */
AOT_NODISCARD aot_status aot_export(aot_sb *out, aot_sb *notes, bool *fell_back, const aot_viewer *v,
                                    const aot_draw_in *in, const char *format,
                                    const aot_draw_options *opt, aot_err *err);

/* ---- parts, for tests ----------------------------------------------------------------------- */

/* DOT text of a picture, not laid out. color as in aot_draw_options. */
void aot_picture_dot(aot_sb *out, const aot_picture *pic, const char *color);
/* Lays out and renders in a forked child, killed after the time limit; what went wrong is put into
 * why (one line). */
bool aot_picture_render(aot_sb *out, const aot_picture *pic, const char *color, const char *format,
                        double time_limit, aot_sb *why);

/* The viewers' own functions. */
#define VIEWER(name, draws, draw, json, sentence)             \
    void draw(aot_picture *pic, const aot_draw_in *in);        \
    json_t *json(const aot_draw_in *in);
#include "viewers/viewers.def"
#undef VIEWER

/* Parts of JSON that viewers share. */
json_t *aot_json_head(const aot_draw_in *in, const char *kind);
json_t *aot_json_nodes(const aot_graph *g, const aot_partition *p, char side);

#endif
