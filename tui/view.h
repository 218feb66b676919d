/* What a view is, and what the application gives it. A view owns no data: it asks the model and
 * draws on a canvas. New view: a file view_NAME.c with its aot_view_ops, a row in views.def, its
 * `bind` lines in keys.default, a script in tests/tui. */
#ifndef AOT_TUI_VIEW_H
#define AOT_TUI_VIEW_H

#include "session/model.h"
#include "tui/keymap.h"
#include "tui/listview.h"
#include "tui/prompt.h"
#include "viewers/canvas.h"

typedef struct aot_app aot_app;
typedef struct aot_view aot_view;

/* A hint at the foot of the screen: the keys come from the key table. */
typedef struct aot_hint {
    aot_action a, b; /* b: second of a pair; AOT_ACT_NONE if single */
    const char *label;
    bool keep; /* shown even where others have to go */
} aot_hint;

typedef struct aot_view_ops {
    const char *what;  /* name of its key map */
    size_t state_size; /* of view->state, zeroed */
    AOT_NODISCARD aot_status (*open)(aot_view *v, aot_err *err); /* NULL: nothing to do */
    /* What stands in the bar at the top: left, and at the right if there is room. */
    void (*title)(aot_view *v, aot_sb *left, aot_sb *right);
    /* Draws into rows [y, y + rows) of the canvas. */
    void (*draw)(aot_view *v, aot_canvas *c, int y, int rows);
    /* Does an action that is neither the application's nor the list's. False: not this view's. */
    bool (*act)(aot_view *v, aot_action a);
    /* Takes a key before the key table does, as digits that are typed; false: not this one. NULL:
     * none. */
    bool (*key)(aot_view *v, aot_key key);
    aot_list *(*list)(aot_view *v);  /* the list that has the focus; NULL if none */
    /* Name of the pane that has the focus, whose keys come first; NULL: only the view's. */
    const char *(*pane)(aot_view *v);
    /* The list that is searched where the pane's has no match, and its name; NULL: none is. */
    aot_list *(*main_list)(aot_view *v, const char **name);
    void (*focus_main)(aot_view *v); /* a match was found there; before the cursor moves */
    bool (*work)(aot_view *v);       /* one slice of work; true: call again. NULL: only lists */
    /* How long keys should have rested before the next slice, in ms: for slices that take longer
     * than a frame and are of no use while a key repeats. NULL: not at all. */
    int (*rest)(aot_view *v);
    void (*click)(aot_view *v, int y, int x); /* NULL: the list's */
    void (*done)(aot_view *v);       /* NULL: nothing to free */
    const aot_hint *hints;           /* as shown, best first; ends with a NULL label */
    const aot_hint *(*hints_now)(aot_view *v); /* NULL: always the same */
} aot_view_ops;

struct aot_view {
    const aot_view_ops *ops;
    aot_app *app;
    void *state;
    size_t unit;     /* what it shows; AOT_NO_UNIT if no unit in particular */
    aot_stage stage;
};
#define AOT_NO_UNIT SIZE_MAX

#define VIEW(id, title, ops, opened_by, doc, twin) extern const aot_view_ops ops;
#include "tui/views.def"
#undef VIEW

/* A row of the table, for help; twin: the command that prints the same. help_man.c */
typedef struct aot_view_row {
    const char *title, *opened_by, *doc, *twin;
} aot_view_row;
extern const aot_view_row aot_view_rows[]; /* ends with a NULL title */

/* ---- what the application does for views ---- */

aot_model *aot_app_model(aot_app *app);
/* What was marked and noted about the model's nodes; read when first asked for. */
struct aot_marks *aot_app_marks(aot_app *app);
const aot_keymap *aot_app_keys(const aot_app *app);
bool aot_app_ascii(const aot_app *app);
/* Opens a view on top. The error is shown; false if it did not open. */
bool aot_app_push(aot_app *app, const aot_view_ops *ops, size_t unit, aot_stage stage);
void aot_app_pop(aot_app *app);
/* Shows the graph of a unit and stage with a node selected (node may be NULL). */
void aot_app_goto(aot_app *app, size_t unit, aot_stage stage, const char *node);
/* A sentence at the foot until the next key. */
void aot_app_say(aot_app *app, const char *fmt, ...) AOT_PRINTF(2, 3);
void aot_app_fail(aot_app *app, const aot_err *err);
void aot_app_edit(aot_app *app, const char *file, unsigned line);
void aot_app_copy(aot_app *app, const char *text);
void aot_app_restyle(aot_app *app); /* after a change of theme */
/* File name without its directory. */
const char *aot_base_name(const char *path);

/* Shows what the help says of a word (view_help.c). */
void aot_help_view_find(aot_view *v, const char *word);

/* ---- the graph view, as the application sees it (view_graph.c) ---- */

void aot_graph_view_select(aot_view *v, aot_stage stage, const char *node);
/* Whether a stage is there or could be expected on the path that the unit took (st: all stages). */
bool aot_stage_belongs(const aot_stage_status *st, aot_stage s);
const char *aot_graph_view_node(aot_view *v); /* name of the selected node; NULL if none */
/* Called before an edit of the unit: the view remembers what it shows, to say what flipped. */
void aot_graph_view_before_edit(aot_view *v);
/* Offers terms of a selection about the node under the cursor: its line, operator, region. */
void aot_graph_view_offer(aot_view *v, const char *mark, prompt_words *words);
void aot_graph_view_renew(aot_view *v); /* draws what is known of the node anew */

#endif
