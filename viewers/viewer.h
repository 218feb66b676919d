/* Graphs, partitions, flow networks and tables, in many formats. Viewers are rows of
 * viewers.def, ways to write them rows of formats.def. */
#ifndef AOT_VIEWERS_VIEWER_H
#define AOT_VIEWERS_VIEWER_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "ir/graph.h"
#include "partition/partition.h"
#include "session/model.h"
#include "viewers/chart.h"
#include "viewers/picture.h"
#include "viewers/table.h"

/* What is drawn. */
typedef struct aot_draw_in {
    const aot_graph *graph;    /* viewer "graph" */
    const aot_partition *part; /* "partition" and "mincut"; may be NULL for "graph" */
    const char *stage;         /* name of the stage the graph is of; NULL */
    char side;                 /* 'F', 'B': every node's side; 0 from the partition */
    const char *label;         /* the unit in words, for the title */
    int unit;
    aot_model *model;          /* "pareto" and "report" */
    const char *const *modules; /* by node of part's cut: "layers.0.fc", or NULL; NULL: not known */
    bool whole;                /* all there is, not only what a picture has room for */
    /* "mincut" without a partition: why the cut is infinite, in words; graph is the joint graph
     * then. NULL */
    const char *infinite;
} aot_draw_in;

typedef struct aot_draw_options {
    const char *around; /* node name; NULL */
    int hops;           /* with around; 0 = 3 */
    bool no_fold;
    uint32_t max_nodes; /* 0 = what the format has room for */
    double time_limit;  /* seconds for laying out; 0 = 20 */
    const char *color;  /* "light", "dark", "mono"; NULL = light */
} aot_draw_options;

/* The module of a node of part's cut; "" if it has none, or none is known. */
static inline const char *aot_draw_module(const aot_draw_in *in, aot_node_id cut)
{
    const char *m = in->modules && in->part && cut != AOT_NO_NODE ? in->modules[cut] : NULL;
    return m ? m : "";
}

/* Kinds of things that a viewer shows; a format takes some of them. */
typedef enum aot_shows {
    AOT_SHOWS_GRAPH = 1 << 0,
    AOT_SHOWS_PARTITION = 1 << 1,
    AOT_SHOWS_NETWORK = 1 << 2,
    AOT_SHOWS_TABLE = 1 << 3,
    AOT_SHOWS_CHART = 1 << 4,
    AOT_SHOWS_REPORT = 1 << 5,
    AOT_SHOWS_PICTURE = AOT_SHOWS_GRAPH | AOT_SHOWS_PARTITION | AOT_SHOWS_NETWORK,
    AOT_SHOWS_DRAWN = AOT_SHOWS_PICTURE | AOT_SHOWS_CHART,
    AOT_SHOWS_DATA = AOT_SHOWS_DRAWN | AOT_SHOWS_TABLE,
    AOT_SHOWS_ANY = AOT_SHOWS_DATA | AOT_SHOWS_REPORT
} aot_shows;

typedef struct aot_viewer {
    const char *name;  /* "partition" */
    const char *draws; /* "graph", "partition" or "unit" (any): what it needs */
    unsigned kind;     /* one aot_shows; which of the functions below it has */
    void (*draw)(aot_picture *pic, const aot_draw_in *in);
    /* Plain: numbers for programs in place of "32.0 KiB". */
    void (*table)(aot_table *t, const aot_draw_in *in, bool plain);
    aot_status (*chart)(aot_chart **out, const aot_draw_in *in, aot_err *err);
    void (*json)(aot_sb *out, const aot_draw_in *in); /* NULL for charts */
    const char *sentence;
} aot_viewer;

size_t aot_viewer_count(void);
const aot_viewer *aot_viewer_at(size_t i);
const aot_viewer *aot_viewer_find(const char *name); /* NULL */
void aot_viewer_names(aot_sb *out); /* "partition, graph or mincut" */

/* One export at work: what is shown, and where bytes and notes go. */
typedef struct aot_format aot_format;
typedef struct aot_export_job {
    const aot_viewer *viewer;
    const aot_format *format;
    const aot_draw_in *in;
    const aot_draw_options *opt;
    aot_sb *out, *notes;
    bool fell_back;
} aot_export_job;

struct aot_format {
    const char *name, *endings; /* "svg"; ".dot .gv" */
    unsigned takes;             /* of aot_shows */
    uint32_t max_nodes;         /* 0: a picture is written whole */
    aot_status (*write)(aot_export_job *j, aot_err *err);
    const char *sentence;
};

size_t aot_n_formats(void);
const aot_format *aot_format_at(size_t i);
const aot_format *aot_format_find(const char *name);    /* NULL */
const aot_format *aot_format_of_path(const char *path); /* by the ending; NULL */
/* "svg, pdf or json": names, or endings, of the formats that take any of the kinds. */
void aot_format_names(aot_sb *out, unsigned kinds, bool endings);

/* Writes in a format. The result is in *out. Notes for the person go to *notes, one a line. If
 * laying out takes longer than the time limit, or Graphviz fails, *out holds DOT instead and
 * *fell_back is set. Equal inputs give equal bytes. Errors: E_USAGE (format, colour, node name). */
AOT_NODISCARD aot_status aot_export(aot_sb *out, aot_sb *notes, bool *fell_back,
                                    const aot_viewer *v, const aot_draw_in *in, const char *format,
                                    const aot_draw_options *opt, aot_err *err);

/* ---- parts, for formats and tests ------------------------------------------------------------ */

/* The viewer's picture as a format wants it: whole, or folded and cut to its limit, or what is
 * around a node. Notices are added to the job's notes. On failure nothing is made. */
AOT_NODISCARD aot_status aot_export_picture(aot_picture **out, aot_export_job *j, aot_err *err);
/* DOT text of a picture, not laid out. color as in aot_draw_options. */
void aot_picture_dot(aot_sb *out, const aot_picture *pic, const char *color);
/* For a page that holds a picture in light colours: what each of them is in the dark scheme, but
 * for the classes' fills. */
typedef void aot_css_rule(aot_sb *out, const char *scope, const char *what, const char *attribute,
                          const char *from, const char *to);
void aot_picture_recolor_css(aot_sb *out, const char *scope, aot_css_rule *rule);
/* Lays out and renders in a forked child, killed after the time limit; what went wrong is put into
 * why (one line). */
bool aot_picture_render(aot_sb *out, const aot_picture *pic, const char *color, const char *format,
                        double time_limit, aot_sb *why);

/* The functions that the tables name. */
#define PICTURE(name, needs, kind, draw, json, sentence)        \
    void draw(aot_picture *pic, const aot_draw_in *in);        \
    void json(aot_sb *out, const aot_draw_in *in);
#define TABLE(name, needs, kind, fill, json, sentence)              \
    void fill(aot_table *t, const aot_draw_in *in, bool plain);    \
    void json(aot_sb *out, const aot_draw_in *in);
#define CHART(name, needs, kind, make, sentence) \
    aot_status make(aot_chart **out, const aot_draw_in *in, aot_err *err);
#include "viewers/viewers.def"
#define FORMAT(name, endings, takes, max_nodes, writer, sentence) \
    aot_status writer(aot_export_job *j, aot_err *err);
#include "viewers/formats.def"
#undef FORMAT

/* Parts of JSON that viewers share. Texts of a log may hold anything; a JSON string is valid
 * UTF-8. */
json_t *aot_json_safe(const char *text);
json_t *aot_json_head(const aot_draw_in *in, const char *kind);
json_t *aot_json_chart(const aot_draw_in *in, const char *kind, const aot_chart *c);
/* Appends the text of a JSON value and a line end; frees the value. */
void aot_json_write(aot_sb *out, json_t *root, bool indent);

#endif
