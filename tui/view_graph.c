/* The main screen: opening, title, actions and what the application asks. How it is drawn:
 * graph_draw.c. */
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "tui/graph_view.h"
#include "viewers/format.h"

enum { NODE_LABELS = 12 };

static graph_view *state(aot_view *v)
{
    return v->state;
}

static aot_status open_view(aot_view *v, aot_err *err)
{
    (void)err;
    graph_view *gv = state(v);
    gv->v = v;
    gv->version = aot_model_version(aot_app_model(v->app), v->unit);
    gv->graph_version = aot_model_graph_version(aot_app_model(v->app), v->unit);
    aot_list_init(&gv->nodes, &graph_nodes_ops, gv);
    gv->nodes.keep_cursor = true;
    aot_list_init(&gv->saved, &graph_saved_ops, gv);
    aot_lines_init(&gv->node, NODE_LABELS);
    aot_lines_init(&gv->runtime, 0);
    graph_open_stages(gv);
    bool chosen = v->stage >= AOT_N_STAGES;
    if (chosen) { // the most telling one that is there
        static const aot_stage best[] = {AOT_STAGE_JOINT_CSE, AOT_STAGE_JOINT, AOT_STAGE_FORWARD,
                                         AOT_STAGE_EXPORT, AOT_STAGE_INFERENCE, AOT_STAGE_BACKWARD,
                                         AOT_STAGE_DYNAMO};
        v->stage = gv->n_bar ? gv->bar[0] : AOT_STAGE_DYNAMO;
        for (size_t i = sizeof best / sizeof *best; i-- > 0;) {
            if (gv->status[best[i]].origin != AOT_ORIGIN_MISSING) {
                v->stage = best[i];
            }
        }
    }
    graph_go_stage(gv, v->stage);
    // an infinite cut leaves nothing to derive: the graph that was to be cut is there
    bool joint = gv->status[AOT_STAGE_JOINT].origin != AOT_ORIGIN_MISSING;
    if (chosen && v->stage == AOT_STAGE_JOINT_CSE && !graph_now(gv)->g && joint) {
        graph_go_stage(gv, AOT_STAGE_JOINT);
    }
    return AOT_OK;
}

static void done(aot_view *v)
{
    graph_view *gv = state(v);
    graph_close_stages(gv);
    aot_list_done(&gv->nodes);
    aot_list_done(&gv->saved);
    aot_lines_done(&gv->node);
    aot_lines_done(&gv->runtime);
    aot_vec_free(&gv->history);
}

/* ---- title ---- */

static void title(aot_view *v, aot_sb *left, aot_sb *right)
{
    graph_view *gv = state(v);
    aot_model *m = aot_app_model(v->app);
    const aot_unit *u = aot_model_unit(m, v->unit);
    char buf[64];
    aot_sb_addf(left, "%s · unit %zu of %zu", aot_base_name(u->input), v->unit,
                aot_model_n_units(m));
    aot_sb_addf(left, " %s", aot_unit_label(&u->key, buf, sizeof buf));
    if (u->title && *u->title) {
        aot_sb_addf(left, " %s", u->title);
    }
    graph_stage *st = graph_now(gv);
    if (st->g) {
        aot_sb_addf(left, " · %s nodes",
                    aot_format_count(buf, sizeof buf, (int64_t)st->g->nodes.n));
    }
    graph_title_right(gv, right);
}

/* ---- actions ---- */

static void remember(graph_view *gv)
{
    graph_place here = {gv->v->stage, graph_node_now(gv)};
    if (gv->subs.n == 0 && here.node != AOT_NO_NODE) {
        aot_vec_push(&gv->history, here);
    }
}

static void go_back(graph_view *gv)
{
    if (gv->focus == PANE_NODE && gv->history.n <= gv->pane_depth) {
        gv->focus = PANE_NODES;
    } else if (gv->subs.n > 0) {
        graph_leave_sub(gv);
    } else if (gv->history.n == 0) {
        aot_app_say(gv->v->app, "No jump to go back from");
    } else {
        graph_place to = gv->history.d[--gv->history.n];
        if (to.stage != gv->v->stage) {
            graph_go_stage(gv, to.stage);
        }
        graph_select(gv, to.node);
    }
}

/* Goes to the node of a stage that holds it: this one, else the cut graph. */
static void jump_to_cut_node(graph_view *gv, aot_node_id cut)
{
    const char *name = aot_node_name(gv->part->cut, cut);
    remember(gv);
    while (graph_leave_sub(gv)) {
    }
    aot_node_id id = graph_find_name(graph_now(gv), name);
    if (id == AOT_NO_NODE || !graph_now(gv)->p) {
        graph_go_stage(gv, AOT_STAGE_JOINT_CSE);
        id = graph_find_name(graph_now(gv), name);
    }
    if (id != AOT_NO_NODE) {
        graph_select(gv, id);
    }
    gv->focus = PANE_NODES;
}

static void open_selected(graph_view *gv)
{
    graph_stage *st = graph_now(gv);
    aot_node_id id = graph_node_now(gv);
    if (st->stopped) {
        graph_go_stage(gv, gv->v->stage);
    } else if (gv->focus == PANE_SAVED) {
        uint32_t row = aot_list_row(&gv->saved);
        if (gv->part && row != AOT_NO_ROW) {
            jump_to_cut_node(gv, graph_saved_node(gv, row));
        }
    } else if (gv->focus == PANE_NODE) {
        uint32_t link = aot_lines_link_at(&gv->node);
        if (link != AOT_NO_LINK) {
            remember(gv);
            graph_select(gv, link);
        } else {
            aot_app_say(gv->v->app, "Enter follows lines that name a node");
        }
    } else if (id != AOT_NO_NODE && aot_node_at(st->g, id)->subgraph) {
        graph_enter_sub(gv, aot_node_at(st->g, id)->subgraph - 1);
    } else if (id != AOT_NO_NODE) {
        gv->focus = PANE_NODE;
        gv->pane_depth = gv->history.n;
    }
}

static void next_pane(graph_view *gv, int dir)
{
    gv->focus = (graph_pane)((gv->focus + (dir > 0 ? 1 : N_PANES - 1)) % N_PANES);
    gv->pane_depth = gv->history.n;
    if (gv->focus == PANE_SAVED) {
        graph_partition(gv);
    }
}

/* p and c go through the inputs or users of the node where the walk began; moving ends it. */
static void walk(graph_view *gv, aot_action a)
{
    const aot_graph *g = graph_now(gv)->g;
    aot_node_id id = graph_node_now(gv);
    if (!g || id == AOT_NO_NODE) {
        return;
    }
    const uint32_t *off = a == AOT_ACT_PRODUCER ? g->in_off : g->user_off;
    const uint32_t *to = a == AOT_ACT_PRODUCER ? g->in : g->user;
    bool goes_on = gv->walk == a && gv->walk_from < g->nodes.n &&
                   off[gv->walk_from] + gv->walk_index < off[gv->walk_from + 1] &&
                   to[off[gv->walk_from] + gv->walk_index] == id &&
                   off[gv->walk_from + 1] - off[gv->walk_from] > 1;
    if (!goes_on) {
        gv->walk_from = id;
        gv->walk_index = 0;
    } else {
        gv->walk_index = (gv->walk_index + 1) % (off[gv->walk_from + 1] - off[gv->walk_from]);
    }
    uint32_t n = off[gv->walk_from + 1] - off[gv->walk_from];
    const char *what = a == AOT_ACT_PRODUCER ? "argument" : "user";
    if (n == 0) {
        gv->walk = AOT_ACT_NONE;
        aot_app_say(gv->v->app, "%s has no %s", aot_node_name(g, id),
                    a == AOT_ACT_PRODUCER ? "argument that is a node" : "users");
        return;
    }
    gv->walk = a;
    if (!goes_on) {
        remember(gv);
    }
    aot_app_say(gv->v->app, "%s %u of %u of %s", what, gv->walk_index + 1, n,
                aot_node_name(g, gv->walk_from));
    graph_select(gv, to[off[gv->walk_from] + gv->walk_index]);
}

static void edit_source(graph_view *gv)
{
    const aot_graph *g = graph_now(gv)->g;
    aot_node_id id = graph_node_now(gv);
    if (g && id != AOT_NO_NODE) {
        const aot_src *src = &g->srcs.d[aot_node_at(g, id)->src];
        aot_app_edit(gv->v->app, aot_text(g->ctx, src->file), src->line);
    }
}

static void copy_statement(graph_view *gv)
{
    const aot_graph *g = graph_now(gv)->g;
    aot_node_id id = graph_node_now(gv);
    if (g && id != AOT_NO_NODE) {
        aot_sb sb = {0};
        aot_print_node(&sb, g, id);
        aot_app_copy(gv->v->app, aot_sb_text(&sb));
        aot_sb_free(&sb);
    }
}

static void step_stage(graph_view *gv, int dir)
{
    aot_stage s = graph_near_stage(gv, dir);
    if (s == AOT_N_STAGES) {
        aot_app_say(gv->v->app, dir > 0 ? "This is the last stage" : "This is the first stage");
    } else {
        graph_go_stage(gv, s);
    }
}

static void step_unit(graph_view *gv, int dir)
{
    size_t n = aot_model_n_units(aot_app_model(gv->v->app)), u = gv->v->unit;
    if (dir < 0 ? u == 0 : u + 1 >= n) {
        aot_app_say(gv->v->app, dir > 0 ? "This is the last unit" : "This is the first unit");
        return;
    }
    aot_node_id id = graph_node_now(gv);
    char *node = id == AOT_NO_NODE ? NULL : aot_xstrdup(aot_node_name(graph_now(gv)->g, id));
    aot_app_goto(gv->v->app, dir < 0 ? u - 1 : u + 1, gv->v->stage, node); // frees gv
    free(node);
}

static bool act(aot_view *v, aot_action a)
{
    graph_view *gv = state(v);
    if (graph_edit_act(gv, a) || graph_fold_act(gv, a)) {
        return true;
    }
    switch (a) {
    case AOT_ACT_STAGE_PREV: step_stage(gv, -1); return true;
    case AOT_ACT_STAGE_NEXT: step_stage(gv, +1); return true;
    case AOT_ACT_UNIT_PREV: step_unit(gv, -1); return true;
    case AOT_ACT_UNIT_NEXT: step_unit(gv, +1); return true;
    case AOT_ACT_PANE_NEXT: next_pane(gv, +1); return true;
    case AOT_ACT_PANE_PREV: next_pane(gv, -1); return true;
    case AOT_ACT_SAVED:
        gv->want_saved = gv->focus != PANE_SAVED;
        gv->saved_asked = true;
        gv->focus = gv->want_saved ? PANE_SAVED : PANE_NODES;
        graph_partition(gv);
        return true;
    case AOT_ACT_OPEN: open_selected(gv); return true;
    case AOT_ACT_BACK: go_back(gv); return true;
    case AOT_ACT_PRODUCER:
    case AOT_ACT_CONSUMER: walk(gv, a); return true;
    case AOT_ACT_EDIT: edit_source(gv); return true;
    case AOT_ACT_COPY: copy_statement(gv); return true;
    case AOT_ACT_CANCEL:
    case AOT_ACT_CLOSE:
        if (gv->focus != PANE_NODES) {
            gv->focus = PANE_NODES;
            return true;
        }
        return graph_leave_sub(gv);
    default: return false;
    }
}

/* ---- what the application asks ---- */

static aot_list *list(aot_view *v)
{
    graph_view *gv = state(v);
    return graph_shows_text(gv)      ? &gv->runtime.list
           : gv->focus == PANE_NODE  ? &gv->node.list
           : gv->focus == PANE_SAVED ? &gv->saved
                                     : &gv->nodes;
}

static const char *const pane_names[N_PANES] = {"graph", "node", "saved"};

static const char *pane(aot_view *v)
{
    return pane_names[state(v)->focus];
}

static aot_list *main_list(aot_view *v, const char **name)
{
    graph_view *gv = state(v);
    *name = pane_names[PANE_NODES];
    return graph_shows_text(gv) || !graph_now(gv)->g ? NULL : &gv->nodes;
}

static void focus_main(aot_view *v)
{
    remember(state(v));
    state(v)->focus = PANE_NODES;
}

static bool work(aot_view *v)
{
    graph_view *gv = state(v);
    bool more = aot_list_work(&gv->nodes, AOT_SLICE_NS);
    more |= aot_list_work(&gv->saved, AOT_SLICE_NS / 4);
    more |= aot_list_work(&gv->node.list, AOT_SLICE_NS / 4);
    more |= aot_list_work(&gv->runtime.list, AOT_SLICE_NS / 4);
    return more || graph_load_near(gv);
}

static void click(aot_view *v, int y, int x)
{
    graph_view *gv = state(v);
    if (graph_shows_text(gv)) {
        aot_list_click(&gv->runtime.list, y, x);
    } else if (gv->visible[PANE_NODES] && aot_list_click(&gv->nodes, y, x)) {
        gv->focus = PANE_NODES;
    } else if (gv->visible[PANE_NODE] && aot_list_click(&gv->node.list, y, x)) {
        gv->focus = PANE_NODE;
    } else if (gv->visible[PANE_SAVED] && aot_list_click(&gv->saved, y, x)) {
        gv->focus = PANE_SAVED;
    }
}

void aot_graph_view_select(aot_view *v, aot_stage stage, const char *node)
{
    graph_view *gv = state(v);
    if (stage < AOT_N_STAGES && stage != v->stage) {
        graph_go_stage(gv, stage);
    }
    if (!node) {
        return;
    }
    while (graph_leave_sub(gv)) {
    }
    aot_node_id id = graph_find_name(graph_now(gv), node);
    if (id == AOT_NO_NODE) {
        aot_app_say(v->app, "%s has no node %s", aot_stage_get(v->stage)->name, node);
        return;
    }
    remember(gv);
    graph_select(gv, id);
    gv->focus = PANE_NODES;
}

const char *aot_graph_view_node(aot_view *v)
{
    graph_view *gv = state(v);
    aot_node_id id = graph_node_now(gv);
    return id == AOT_NO_NODE ? NULL : aot_node_name(graph_now(gv)->g, id);
}

void aot_graph_view_renew(aot_view *v)
{
    state(v)->node_graph = NULL;
}

static const aot_hint hints[] = {
    {AOT_ACT_STAGE_PREV, AOT_ACT_STAGE_NEXT, "stage", false},
    {AOT_ACT_UP, AOT_ACT_DOWN, "node", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "inspect", false},
    {AOT_ACT_PANE_NEXT, AOT_ACT_NONE, "pane", false},
    {AOT_ACT_SAVED, AOT_ACT_NONE, "saved", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {AOT_ACT_BUDGET, AOT_ACT_TYPE_BUDGET, "budget", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "back", true},
    {AOT_ACT_SAVE, AOT_ACT_RECOMPUTE, "save, recompute", false},
    {AOT_ACT_UNDO, AOT_ACT_REDO, "undo, redo", false},
    {AOT_ACT_PRODUCER, AOT_ACT_CONSUMER, "producer, user", false},
    {AOT_ACT_TEXT, AOT_ACT_NONE, "text", false},
    {AOT_ACT_EXPORT, AOT_ACT_NONE, "export", false},
    {AOT_ACT_SETTINGS, AOT_ACT_NONE, "settings", false},
    {AOT_ACT_COMMAND, AOT_ACT_NONE, "command", false},
    {0},
};

static const aot_hint node_hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "line", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "go to the node", false},
    {AOT_ACT_BACK, AOT_ACT_NONE, "from there back", false},
    {AOT_ACT_PANE_NEXT, AOT_ACT_NONE, "pane", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "graph", true},
    {AOT_ACT_EDIT, AOT_ACT_NONE, "edit the source", false},
    {AOT_ACT_COPY, AOT_ACT_NONE, "copy", false},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {0},
};

static const aot_hint saved_hints[] = {
    {AOT_ACT_UP, AOT_ACT_DOWN, "value", false},
    {AOT_ACT_OPEN, AOT_ACT_NONE, "go to the node", false},
    {AOT_ACT_SORT_PREV, AOT_ACT_SORT_NEXT, "sort", false},
    {AOT_ACT_SAVED, AOT_ACT_NONE, "hide", false},
    {AOT_ACT_PANE_NEXT, AOT_ACT_NONE, "pane", false},
    {AOT_ACT_HELP, AOT_ACT_NONE, "help", true},
    {AOT_ACT_CLOSE, AOT_ACT_NONE, "graph", true},
    {AOT_ACT_SEARCH, AOT_ACT_NONE, "search", false},
    {AOT_ACT_FILTER, AOT_ACT_NONE, "filter", false},
    {0},
};

static const aot_hint *hints_now(aot_view *v)
{
    static const aot_hint *const panes[N_PANES] = {hints, node_hints, saved_hints};
    return panes[state(v)->focus];
}

const aot_view_ops view_graph_ops = {
    .what = "graph",
    .state_size = sizeof(graph_view),
    .open = open_view,
    .title = title,
    .draw = graph_draw,
    .act = act,
    .list = list,
    .pane = pane,
    .main_list = main_list,
    .focus_main = focus_main,
    .work = work,
    .click = click,
    .done = done,
    .hints = hints,
    .hints_now = hints_now,
};
