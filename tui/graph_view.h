/* State of the graph view, shared by its files: view_graph.c (actions), graph_draw.c (layout),
 * graph_stage.c (stages, finding a node again), pane_node.c and pane_saved.c. */
#ifndef AOT_TUI_GRAPH_VIEW_H
#define AOT_TUI_GRAPH_VIEW_H

#include "partition/select.h"
#include "tui/lines.h"
#include "tui/view.h"
#include "viewers/ascii_graph.h"
#include "viewers/module_folds.h"
#include "viewers/repeats.h"

typedef enum graph_folding { FOLD_NOTHING, FOLD_REPEATS, FOLD_MODULES } graph_folding;

typedef enum graph_pane { PANE_NODES, PANE_NODE, PANE_SAVED, N_PANES } graph_pane;

/* One stage as loaded; kept while the view is open. */
typedef struct graph_stage {
    bool loaded;
    bool old;                 /* not loaded: as it was before the last edit */
    aot_status status;
    aot_err err;              /* if status is not AOT_OK */
    bool stopped;             /* because a person stopped the reading */
    const aot_graph *g;       /* the model's */
    const aot_partition *p;   /* NULL where names of the cut mean nothing */
    aot_listing *listing;
    unsigned flags;           /* of the listing */
    uint32_t *node_of_name;   /* by aot_str: 1 + node, 0 if none */
    size_t n_names;
    aot_repeats repeats;      /* of NULL: not looked for */
    aot_module_folds modules; /* the same */
} graph_stage;

/* A submodule that was entered. */
typedef struct graph_sub {
    graph_stage at;
    uint32_t from_row; /* row of the graph around it */
} graph_sub;

typedef struct graph_place {
    aot_stage stage;
    aot_node_id node;
} graph_place;

/* Verdicts before the last edit. */
typedef struct graph_base {
    uint64_t
        *names; /* by node: hash of its name, the verdict in the lowest bits; NULL: there is none */
    uint32_t n;
    const aot_graph *cut;   /* only compared */
    unsigned graph_version; /* of the model, when it was taken */
} graph_base;

/* What is held on to when the stage changes. */
typedef struct graph_anchor {
    char *name, *file;
    uint32_t line;
    double share; /* place in the graph, 0..1 */
} graph_anchor;

typedef struct graph_view {
    aot_view *v;
    graph_stage stages[AOT_N_STAGES];
    aot_stage_status status[AOT_N_STAGES];
    aot_stage bar[AOT_N_STAGES]; /* those of this unit's path */
    int n_bar;
    AOT_VEC(graph_sub) subs;
    bool part_asked;
    aot_status part_status;
    aot_err part_err;
    bool part_stopped;
    const aot_partition *part;
    unsigned flags;           /* for new listings */
    aot_list nodes;
    aot_lines runtime;        /* the stage that is no graph: its text */
    aot_lines node;           /* the pane of one node */
    aot_node_id node_shown;   /* what it shows, and for which width and stage */
    const aot_graph *node_graph;
    int node_cols;
    aot_list saved;
    uint32_t *saved_order;    /* by row: place in PyTorch's order */
    int saved_name_cols, saved_type_cols, saved_source_cols; /* 0: to be measured */
    graph_pane focus;
    bool want_saved, saved_asked; /* the person's choice, once made */
    bool visible[N_PANES];
    graph_anchor anchor;
    uint32_t anchor_row;      /* row that the anchor was found at: moving away drops it */
    AOT_VEC(graph_place) history;
    size_t pane_depth;        /* of the history when the node's pane was entered */
    aot_node_id walk_from;    /* p and c: the node whose arguments or users are gone through */
    uint32_t walk_index;
    aot_action walk;
    unsigned version, graph_version; /* of the unit in the model, as it is shown */
    graph_base base;
    int8_t *flips;            /* by node of the cut: 1 saved since the edit, -1 no longer; NULL */
    unsigned n_new, n_gone;   /* how many of each */
    char *saved_name;         /* under the cursor of the saved list before the edit; NULL */
    graph_folding folding;    /* repeats are shown once, modules as one line */
    /* the node that folding took the cursor from, and the one whose line it went to */
    aot_node_id fold_from, fold_to;
    const aot_graph *fold_graph; /* whose nodes these are */
    bool range;               /* a range of nodes is being chosen, from a position of the list */
    size_t range_from;
    aot_select filter;        /* of the nodes and of the saved list */
    aot_select saved_filter;
    aot_select_on on, saved_on; /* begun when first asked; g NULL: not begun */
    aot_arena *modules;       /* of the lists of modules; NULL */
} graph_view;

/* ---- graph_stage.c ---- */

void graph_open_stages(graph_view *gv);
void graph_close_stages(graph_view *gv);
/* The stage (or submodule) that is shown, loaded. */
graph_stage *graph_now(graph_view *gv);
/* Whether what is shown is the text of the stage runtime. */
bool graph_shows_text(graph_view *gv);
/* Shows another stage with the anchored node selected. */
void graph_go_stage(graph_view *gv, aot_stage s);
/* The stage n places further in the bar; AOT_N_STAGES at the end. */
aot_stage graph_near_stage(const graph_view *gv, int n);
bool graph_enter_sub(graph_view *gv, uint32_t subgraph);
bool graph_leave_sub(graph_view *gv);
void graph_fit_listing(graph_view *gv, int cols);
/* Loads a stage beside this one before a key asks for it; false if both are there. */
bool graph_load_near(graph_view *gv);
aot_node_id graph_node_now(graph_view *gv); /* AOT_NO_NODE if none */
bool graph_select(graph_view *gv, aot_node_id id);
aot_node_id graph_find_name(const graph_stage *st, const char *name);
/* Remembers the selected node for the next change of stage. */
void graph_drop_anchor(graph_view *gv);
void graph_keep_anchor(graph_view *gv);
const aot_partition *graph_partition(graph_view *gv); /* NULL: none; see part_err */
void graph_draw_bar(graph_view *gv, aot_canvas *c, int y);
/* Why the stage cannot be shown and what to do, drawn in the pane. */
void graph_draw_missing(graph_view *gv, aot_canvas *c, int y, int x, int rows, int cols);

/* Everything anew after an edit, the anchored node selected. */
void graph_reload(graph_view *gv);

/* ---- graph_draw.c ---- */

void graph_draw(aot_view *v, aot_canvas *c, int y, int rows);

/* ---- graph_edit.c ---- */

/* Shows what the model holds now, if an edit made it other than what is shown. */
void graph_follow_edits(graph_view *gv);
int graph_flip(const graph_view *gv, aot_node_id cut); /* 1: saved since the edit, -1: no longer */
void graph_drop_base(graph_base *b);
void graph_title_right(graph_view *gv, aot_sb *right);
bool graph_edit_act(graph_view *gv, aot_action a); /* false: not one of its actions */
/* Positions of the node list in the range that is being chosen. */
void graph_range(const graph_view *gv, size_t *from, size_t *to);

/* ---- graph_fold.c ---- */

bool graph_fold_act(graph_view *gv, aot_action a); /* false: not one of its actions */
bool graph_hides(void *arg, size_t row);           /* as aot_list_ops' */
bool graph_hides_any(void *arg);
void graph_reveal(void *arg, size_t row);
bool graph_stands_alone(void *arg, size_t row);
void graph_drop_folds(graph_stage *st);
size_t graph_fold_row(graph_view *gv,
                      aot_node_id id); /* of the node, or of the one that stands for it */
/* "x 12" beside the first node of a fold. */
void graph_draw_fold(graph_view *gv, aot_canvas *c, int y, int x, int cols, aot_node_id id);
/* What stands below the list for the line of a closed module; false: the cursor is on none. */
bool graph_draw_fold_brief(graph_view *gv, aot_canvas *c, int y, int cols);

/* ---- graph_filter.c ---- */

/* As aot_list_ops' select and selects. */
aot_status graph_nodes_select(void *arg, const char *text, aot_err *err);
bool graph_nodes_selects(void *arg, size_t row);
aot_status graph_saved_select(void *arg, const char *text, aot_err *err);
bool graph_saved_selects(void *arg, size_t row);
void graph_end_filters(graph_view *gv); /* what they hold of graphs; they begin anew when asked */

/* ---- pane_node.c ---- */

void graph_fill_node(graph_view *gv, int cols);
/* Two lines about the selected node for screens without the pane. */
void graph_draw_brief(graph_view *gv, aot_canvas *c, int y, int cols);

/* ---- pane_saved.c ---- */

extern const aot_list_ops graph_saved_ops; /* arg: the graph_view */
extern const aot_list_ops graph_nodes_ops;
void graph_draw_saved(graph_view *gv, aot_canvas *c, int y, int x, int rows, int cols);
/* New memory first, then what is held anyway, then symbolic sizes. */
void graph_order_saved(graph_view *gv);
/* Node of the cut in a row. */
aot_node_id graph_saved_node(const graph_view *gv, size_t row);

#endif
