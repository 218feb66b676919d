/* The viewers: a graph, a partition and its flow network as pictures.
 *
 * The partition reads like a loop: the forward runs down on the left, the backward comes up on the
 * right, and the saved values stand between them, each with one thick line in and its users out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/flow.h"
#include "session/saved.h"
#include "viewers/viewer.h"

/* ---- shared ---------------------------------------------------------------------------------- */

typedef AOT_VEC(aot_arg) arg_vec;

// What a graph returns, flat: items of the output's tuple (nested ones only where values are
// nested).
static void flat_outputs(const aot_graph *g, arg_vec *out)
{
    aot_node_id o = aot_graph_output(g);
    if (o == AOT_NO_NODE || aot_node_at(g, o)->n_args == 0) {
        return;
    }
    const aot_arg *a = aot_node_args(g, aot_node_at(g, o));
    if (a->kind != AOT_ARG_LIST && a->kind != AOT_ARG_TUPLE) {
        aot_vec_push(out, *a);
        return;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        aot_vec_push(out, aot_arg_items(g, a)[i]);
    }
}

typedef struct edge_ctx {
    aot_picture *pic;
    const aot_graph *g;
    const uint32_t *box; /* node -> box; UINT32_MAX = none */
    aot_node_id to, base;
    uint32_t first; /* edges from here on lead to `to` */
} edge_ctx;

static void add_input(void *arg, aot_node_id from)
{
    edge_ctx *e = arg;
    uint32_t a = e->box[from], b = e->box[e->to];
    if (a == UINT32_MAX || b == UINT32_MAX) {
        return;
    }
    for (size_t i = e->first; i < e->pic->edges.n; i++) {
        if (e->pic->edges.d[i].from == a) {
            return; // used twice by one node
        }
    }
    bool part = aot_is_getitem(e->g, aot_node_at(e->g, e->to));
    aot_line line = e->pic->nodes.d[a].zone == AOT_ZONE_BOUNDARY ? AOT_LINE_SAVED
                  : from == e->base || part ? AOT_LINE_ALIAS : AOT_LINE_DATA;
    aot_picture_edge(e->pic, a, b, line, 0);
}

static void add_inputs(aot_picture *pic, const aot_graph *g, const uint32_t *box, aot_node_id id)
{
    edge_ctx e = {.pic = pic, .g = g, .box = box, .to = id, .base = aot_view_base(g, id)};
    e.first = (uint32_t)pic->edges.n;
    if (box[id] != UINT32_MAX && aot_node_at(g, id)->kind != AOT_OUTPUT) {
        aot_node_each_input(g, aot_node_at(g, id), add_input, &e);
    }
}

static uint32_t *new_boxes(const aot_graph *g)
{
    uint32_t *box = aot_xmalloc((g->nodes.n + 1) * sizeof *box);
    memset(box, 0xff, (g->nodes.n + 1) * sizeof *box);
    return box;
}

typedef struct side {
    const aot_graph *g;
    const aot_partition *p;
    aot_node_id *map;
    uint32_t *box;
    arg_vec outs;
    uint32_t *first_out, *next_out; /* chains of output positions by node */
} side;

static side side_open(const aot_graph *g, const aot_partition *p, size_t n_outs)
{
    side s = {.g = g, .p = p, .map = aot_view_map(g, p), .box = new_boxes(g)};
    flat_outputs(g, &s.outs);
    s.first_out = new_boxes(g);
    s.next_out = aot_xcalloc(s.outs.n + 1, sizeof *s.next_out);
    n_outs = n_outs < s.outs.n ? n_outs : s.outs.n;
    for (size_t i = n_outs; i-- > 0;) {
        if (s.outs.d[i].kind == AOT_ARG_NODE) {
            s.next_out[i] = s.first_out[s.outs.d[i].u.node];
            s.first_out[s.outs.d[i].u.node] = (uint32_t)i;
        }
    }
    return s;
}

static void side_close(side *s)
{
    free(s->map);
    free(s->box);
    free(s->first_out);
    free(s->next_out);
    aot_vec_free(&s->outs);
}

static aot_node_id cut_of(const side *s, aot_node_id id)
{
    return s->map ? s->map[id] : AOT_NO_NODE;
}

// Small boxes for the places where the node is returned.
static void side_outputs(aot_picture *pic, const side *s, aot_node_id id, const char *prefix,
                         aot_zone zone)
{
    for (uint32_t k = s->first_out[id]; k != UINT32_MAX; k = s->next_out[k]) {
        uint32_t o = aot_picture_output(pic, s->g, id, k, prefix, zone);
        aot_picture_edge(pic, s->box[id], o, AOT_LINE_DATA, 0);
    }
}

// A box for the node, its lines, and boxes for where it is returned.
static void side_node(aot_picture *pic, side *s, aot_node_id id, const char *prefix, aot_zone zone)
{
    s->box[id] = aot_picture_graph_node(pic, s->g, id, s->p, cut_of(s, id), prefix, zone);
    add_inputs(pic, s->g, s->box, id);
    side_outputs(pic, s, id, prefix, zone);
}

/* ---- partition ------------------------------------------------------------------------------- */

// Box of a saved value between the two sides; what is a primal costs nothing new.
static uint32_t saved_box(aot_picture *pic, side *fw, aot_node_id id)
{
    aot_node_id cut = cut_of(fw, id);
    uint32_t box = aot_picture_graph_node(pic, fw->g, id, fw->p, cut, "saved", AOT_ZONE_BOUNDARY);
    aot_pic_node *x = &pic->nodes.d[box];
    char type[128], size[32];
    int64_t bytes = cut != AOT_NO_NODE ? fw->p->nodes[cut].bytes
                                       : aot_meta_bytes(fw->g->ctx, aot_node_at(fw->g, id)->meta);
    bool input = aot_node_at(fw->g, id)->kind == AOT_PLACEHOLDER;
    bool view = aot_view_base(fw->g, id) != AOT_NO_NODE;
    aot_format_type(type, sizeof type, fw->g->ctx, aot_node_at(fw->g, id)->meta);
    x->label = aot_arena_printf(pic->arena, "%s%s  %s\n%s  %s%s",
                                input ? aot_class_get(x->cls)->letter : "", view ? "SV" : "S",
                                x->name, type, aot_format_bytes(size, sizeof size, bytes),
                                input ? ", held anyway" : "");
    x->cls = input ? x->cls : AOT_CLASS_SAVED;
    x->leaf = true;
    x->css = "saved boundary";
    x->bytes = bytes;
    aot_picture_edge(pic, fw->box[id], box, AOT_LINE_SAVED, bytes);
    aot_pic_edge *e = &pic->edges.d[pic->edges.n - 1];
    e->label = aot_arena_strndup(pic->arena, size, strlen(size));
    e->tooltip = x->tooltip;
    return box;
}

typedef struct named {
    const char *name;
    uint32_t box;
    bool taken;
} named;

typedef AOT_VEC(named) saved_list;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

// The backward's inputs that are saved values get the boundary's boxes: by name, and what is left
// over (states of generators, which the two sides call differently) in order.
static void match_saved(side *bw, saved_list *saved)
{
    named *sorted = aot_xcalloc(saved->n + 1, sizeof *sorted);
    memcpy(sorted, saved->d ? saved->d : sorted, saved->n * sizeof *sorted);
    for (size_t i = 0; i < saved->n; i++) {
        sorted[i].box = (uint32_t)i; // place in the list
    }
    qsort(sorted, saved->n, sizeof *sorted, by_name);
    for (int by_order = 0; by_order < 2; by_order++) {
        size_t next = 0;
        for (aot_node_id i = 0; i < bw->g->nodes.n; i++) {
            named want = {.name = aot_node_name(bw->g, i)};
            bool input = aot_node_at(bw->g, i)->kind == AOT_PLACEHOLDER &&
                         bw->box[i] == UINT32_MAX && !aot_starts_with(want.name, "tangents_") &&
                         !aot_starts_with(want.name, "bwd_rng_state");
            named *hit =
                input && !by_order ? bsearch(&want, sorted, saved->n, sizeof want, by_name) : NULL;
            size_t at = hit ? hit->box : saved->n;
            while (input && by_order && next < saved->n && saved->d[next].taken) {
                next++;
            }
            at = input && by_order ? next : at;
            if (at < saved->n) {
                bw->box[i] = saved->d[at].box;
                saved->d[at].taken = true;
            }
        }
    }
    free(sorted);
}

static void partition_title(aot_picture *pic, const aot_draw_in *in)
{
    const aot_partition *p = in->part;
    char bytes[64], fresh[32];
    aot_saved_text(p, bytes, sizeof bytes);
    aot_format_bytes(fresh, sizeof fresh, p->saved_new_bytes);
    uint32_t n_again = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        n_again += p->nodes[i].verdict == AOT_V_RECOMPUTED;
    }
    pic->title = aot_arena_printf(pic->arena,
                                  "%s\nsaved %u values, %s (%s besides the inputs)  ·  %u "
                                  "recomputed\nbudget %.4g  ·  %s  ·  %s",
                                  aot_picture_text(pic, in->label ? in->label : ""), p->n_saved,
                                  bytes, fresh, n_again, p->config.activation_memory_budget,
                                  p->rung ? p->rung : "", p->config.partitioner);
    pic->zone_label[AOT_ZONE_FORWARD] = "forward";
    pic->zone_label[AOT_ZONE_BOUNDARY] =
        aot_arena_printf(pic->arena, "saved for the backward: %s", bytes);
    pic->zone_label[AOT_ZONE_BACKWARD] = "backward (runs upwards)";
}

void aot_draw_partition(aot_picture *pic, const aot_draw_in *in)
{
    const aot_partition *p = in->part;
    size_t n_user = p->n_forward_outputs >= 0 ? (size_t)p->n_forward_outputs : SIZE_MAX;
    side fw = side_open(p->forward, p, n_user), bw = side_open(p->backward, p, SIZE_MAX);
    partition_title(pic, in);
    for (aot_node_id i = 0; i < fw.g->nodes.n; i++) {
        if (aot_node_at(fw.g, i)->kind != AOT_OUTPUT) {
            side_node(pic, &fw, i, "fw", AOT_ZONE_FORWARD);
        }
    }
    saved_list saved = {0};
    for (size_t i = n_user; i < fw.outs.n; i++) {
        if (fw.outs.d[i].kind == AOT_ARG_NODE) {
            aot_node_id id = fw.outs.d[i].u.node;
            named x = {aot_node_name(fw.g, id), saved_box(pic, &fw, id), false};
            aot_vec_push(&saved, x);
        }
    }
    match_saved(&bw, &saved);
    for (aot_node_id i = 0; i < bw.g->nodes.n; i++) {
        if (bw.box[i] != UINT32_MAX) {
            side_outputs(pic, &bw, i, "bw", AOT_ZONE_BACKWARD);
        } else if (aot_node_at(bw.g, i)->kind != AOT_OUTPUT) {
            side_node(pic, &bw, i, "bw", AOT_ZONE_BACKWARD);
        }
    }
    aot_vec_free(&saved);
    side_close(&fw);
    side_close(&bw);
}

/* ---- one graph ------------------------------------------------------------------------------- */

void aot_draw_graph(aot_picture *pic, const aot_draw_in *in)
{
    const aot_graph *g = in->graph;
    side s = side_open(g, in->part, SIZE_MAX);
    bool both = false;
    for (aot_node_id i = 0; i < g->nodes.n && !in->side; i++) {
        both = both || aot_side_mark(in->part, cut_of(&s, i)) == 'B';
    }
    pic->title = aot_arena_printf(pic->arena, "%s\n%s  ·  %zu nodes",
                                  aot_picture_text(pic, in->label ? in->label : ""),
                                  in->stage ? in->stage : "graph", g->nodes.n);
    pic->plain = in->part == NULL;
    pic->zone_label[AOT_ZONE_FORWARD] = "forward";
    pic->zone_label[AOT_ZONE_BACKWARD] = "backward (runs upwards)";
    for (aot_node_id i = 0; i < g->nodes.n; i++) {
        aot_node_id cut = cut_of(&s, i);
        bool back = cut != AOT_NO_NODE && in->part->nodes[cut].backward_made;
        back = back || (cut != AOT_NO_NODE && aot_starts_with(aot_node_name(g, i), "tangents_"));
        aot_zone zone = !both ? AOT_ZONE_NONE : back ? AOT_ZONE_BACKWARD : AOT_ZONE_FORWARD;
        if (aot_node_at(g, i)->kind != AOT_OUTPUT) {
            side_node(pic, &s, i, "n", zone);
        }
    }
    side_close(&s);
}

/* ---- the flow network ------------------------------------------------------------------------ */

enum { COMPACT_FROM = 80 }; /* vertices */

typedef struct network {
    aot_picture *pic;
    const aot_partition *p;
    aot_flow *f;
    uint32_t *in, *out; /* vertex of each node; UINT32_MAX */
    uint32_t n;         /* vertices; 0 is the source, 1 the sink */
    uint8_t *side;
    bool cut_known;
} network;

static void net_edge(network *w, uint32_t u, uint32_t v, int64_t capacity, const char *reason)
{
    aot_flow_edge(w->f, u, v, capacity);
    aot_line line = capacity == AOT_FLOW_INF ? AOT_LINE_INFINITE : AOT_LINE_CAPACITY;
    aot_picture_edge(w->pic, u, v, line, 0);
    aot_pic_edge *e = &w->pic->edges.d[w->pic->edges.n - 1];
    char text[32];
    e->bytes = capacity;
    if (capacity != AOT_FLOW_INF) {
        e->label = aot_picture_text(w->pic, aot_format_count(text, sizeof text, capacity));
    } else if (u == 0 || v == 1) {
        e->label = aot_arena_printf(w->pic->arena, "inf: %s", reason);
    }
    e->tooltip = aot_picture_text(w->pic, reason);
}

static uint32_t net_vertex(network *w, aot_node_id id, const char *which)
{
    const aot_graph *g = w->p->cut;
    uint32_t v = aot_picture_graph_node(w->pic, g, id, w->p, id, which, AOT_ZONE_NONE);
    aot_pic_node *x = &w->pic->nodes.d[v];
    x->label = aot_arena_printf(w->pic->arena, "%s\n%s", x->name, which);
    x->vertex = true;
    x->leaf = false;
    return v;
}

static void net_end(network *w, const char *name, const char *tooltip)
{
    aot_pic_node x = {.key = name, .name = name, .label = name, .tooltip = tooltip, .source = "",
                      .css = "end", .cls = AOT_CLASS_OUTPUT, .sig = strlen(name) * 7919u,
                      .node = AOT_NO_NODE, .cut = AOT_NO_NODE, .nth = -1};
    aot_picture_node(w->pic, x);
}

static void net_node(network *w, aot_node_id id)
{
    const aot_graph *g = w->p->cut;
    const aot_node_info *info = &w->p->nodes[id];
    char words[160];
    if (info->ban && w->in[id] != UINT32_MAX) {
        const char *ban = aot_ban_text(info->ban);
        net_edge(w, 0, w->in[id], AOT_FLOW_INF, ban && *ban ? ban : "must not be recomputed");
    }
    if (info->sink == AOT_SINK_IN && w->in[id] != UINT32_MAX) {
        net_edge(w, w->in[id], 1, AOT_FLOW_INF,
                 info->tangent_closure ? "computed in the backward" : "must be recomputed");
    }
    if (info->weight >= 0) {
        net_edge(w, w->in[id], w->out[id], info->weight,
                 aot_weight_words(words, sizeof words, w->p, id));
        if (info->sink == AOT_SINK_OUT) {
            net_edge(w, w->out[id], 1, AOT_FLOW_INF, "the backward needs it");
        }
        for (uint32_t k = g->user_off[id]; k < g->user_off[id + 1]; k++) {
            uint32_t to = w->in[g->user[k]];
            if (to != UINT32_MAX) {
                net_edge(w, w->out[id], to, AOT_FLOW_INF, "data");
            }
        }
    }
}

// Marks the edges that lead from the source's side to the sink's.
static void net_cut(network *w)
{
    int64_t value = 0;
    w->side = aot_xcalloc((size_t)w->n + 1, 1);
    if (aot_flow_min_cut(w->f, 0, 1, &value, w->side, NULL, NULL, NULL) != AOT_OK) {
        aot_picture_notice(w->pic, "the cut is infinite");
        return;
    }
    for (size_t i = 0; i < w->pic->edges.n; i++) {
        aot_pic_edge *e = &w->pic->edges.d[i];
        if (!w->side[e->from] && w->side[e->to]) {
            e->line = AOT_LINE_CUT;
        }
    }
    w->cut_known = true;
    for (uint32_t v = 0; v < w->n; v++) {
        aot_pic_node *x = &w->pic->nodes.d[v];
        x->css = w->side[v] ? "sink-side" : "source-side";
        x->cls = w->side[v] ? AOT_CLASS_BACKWARD : AOT_CLASS_FORWARD;
        x->sig += w->side[v];
    }
    w->pic->nodes.d[0].cls = w->pic->nodes.d[1].cls = AOT_CLASS_OUTPUT;
}

static network net_open(aot_picture *pic, const aot_partition *p)
{
    if (!p->cut->user_off) {
        aot_graph_link(p->cut);
    }
    network w = {.pic = pic, .p = p, .in = new_boxes(p->cut), .out = new_boxes(p->cut)};
    net_end(&w, "source", "values that must not be recomputed hang here");
    net_end(&w, "sink", "values that the backward needs hang here");
    for (aot_node_id i = 0; i < p->n_nodes; i++) {
        const aot_node_info *info = &p->nodes[i];
        bool in_net = info->weight >= 0 || info->sink == AOT_SINK_IN;
        // the output is the end of what the forward returns: no way leads on from there
        if (in_net || aot_node_at(p->cut, i)->kind == AOT_OUTPUT) {
            w.in[i] = net_vertex(&w, i, "in");
            w.out[i] = info->weight >= 0 ? net_vertex(&w, i, "out") : UINT32_MAX;
        }
    }
    w.n = (uint32_t)pic->nodes.n;
    w.f = aot_flow_new(w.n, 0);
    for (aot_node_id i = 0; i < p->n_nodes; i++) {
        if (w.in[i] != UINT32_MAX && aot_node_at(p->cut, i)->kind != AOT_OUTPUT) {
            net_node(&w, i);
        }
    }
    net_cut(&w);
    return w;
}

static void net_close(network *w)
{
    free(w->in);
    free(w->out);
    free(w->side);
    aot_flow_free(w->f);
}

// Values of the backward that nothing of the forward leads to say nothing about the cut.
static void hide_sink_only(network *w)
{
    aot_picture *pic = w->pic;
    uint32_t n = (uint32_t)pic->nodes.n, hidden = 0;
    bool *keep = aot_xcalloc((size_t)n + 1, sizeof *keep);
    for (size_t i = 0; i < pic->edges.n; i++) {
        keep[pic->edges.d[i].from] |= pic->edges.d[i].to != 1;
        keep[pic->edges.d[i].to] = true;
    }
    for (uint32_t v = 0; v < n; v++) {
        hidden += !keep[v];
    }
    if (hidden > 0) {
        aot_picture_keep(pic, keep);
        for (size_t i = 0; i < pic->nodes.n; i++) {
            pic->nodes.d[i].rim = false;
        }
        aot_picture_notice(
            pic, "%u values of the backward that only lead to the sink are not shown", hidden);
    }
    free(keep);
}

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The chain of an infinite cut: the message names its values in order, from the one that must not
// be recomputed to the one that the backward needs.
static void draw_chain(aot_picture *pic, const aot_draw_in *in)
{
    const aot_graph *g = in->graph;
    uint32_t *box = new_boxes(g), before;
    const char *remedy = strstr(in->infinite, "Remedy");
    pic->title = aot_arena_printf(pic->arena, "%s\nthe cut is infinite: the chain",
                                  aot_picture_text(pic, in->label ? in->label : ""));
    pic->network = pic->plain = true; // there are no sides
    network w = {.pic = pic};
    net_end(&w, "source", "what hangs here must not be recomputed");
    before = 0;
    for (const char *p = in->infinite; *p && (!remedy || p < remedy);) {
        char name[256];
        size_t n = 0;
        while (word_char(p[n])) {
            n++;
        }
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        aot_node_id id = n > 0 && n < sizeof name ? aot_graph_find(g, name) : AOT_NO_NODE;
        if (id != AOT_NO_NODE && box[id] == UINT32_MAX) {
            box[id] = aot_picture_graph_node(pic, g, id, NULL, AOT_NO_NODE, "n", AOT_ZONE_NONE);
            aot_picture_edge(pic, before, box[id], AOT_LINE_INFINITE, AOT_FLOW_INF);
            pic->edges.d[pic->edges.n - 1].label = "inf";
            before = box[id];
        }
        p += n > 0 ? n : 1;
    }
    net_end(&w, "sink", "what hangs here must be there in the backward");
    aot_picture_edge(pic, before, (uint32_t)pic->nodes.n - 1, AOT_LINE_INFINITE, AOT_FLOW_INF);
    pic->edges.d[pic->edges.n - 1].label = "inf";
    aot_picture_notice(pic, "%s", in->infinite);
    free(box);
}

// A big network with one box a value: its capacity and what binds it to an end stand in the label,
// as hundreds of lines to one source and one sink say nothing.
static void draw_compact(aot_picture *pic, const network *w)
{
    const aot_partition *p = w->p;
    const aot_graph *g = p->cut;
    uint32_t *box = new_boxes(g);
    char number[32];
    for (aot_node_id i = 0; i < p->n_nodes; i++) {
        const aot_node_info *info = &p->nodes[i];
        if (info->weight < 0 && !(info->sink == AOT_SINK_IN && !info->tangent_closure)) {
            continue;
        }
        bool cut =
            w->cut_known && w->out[i] != UINT32_MAX && !w->side[w->in[i]] && w->side[w->out[i]];
        bool sink = w->cut_known && w->side[w->in[i]];
        box[i] = aot_picture_graph_node(pic, g, i, p, i, "net", AOT_ZONE_NONE);
        aot_pic_node *x = &pic->nodes.d[box[i]];
        aot_format_count(number, sizeof number, info->weight);
        const char *ban = info->ban ? aot_ban_text(info->ban) : NULL;
        x->label =
            aot_arena_printf(pic->arena, "%s\n%s%s%s%s%s", x->name, cut ? "cut " : "",
                             info->weight < 0                 ? ""
                             : info->weight == AOT_WEIGHT_INF ? "inf"
                                                              : number,
                             info->ban ? "\nsource inf: " : "",
                             !info->ban    ? ""
                             : ban && *ban ? ban
                                           : "must not be recomputed",
                             info->sink == AOT_SINK_IN    ? "\nsink inf: must be recomputed"
                             : info->sink == AOT_SINK_OUT ? "\nsink inf: the backward needs it"
                                                          : "");
        x->cls = cut ? AOT_CLASS_SAVED : sink ? AOT_CLASS_BACKWARD : AOT_CLASS_FORWARD;
        x->css = cut ? "cut" : sink ? "sink-side" : "source-side";
        x->sig += x->cls;
        for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
            if (box[g->in[k]] != UINT32_MAX) {
                aot_picture_edge(pic, box[g->in[k]], box[i], AOT_LINE_INFINITE, AOT_FLOW_INF);
            }
        }
    }
    free(box);
}

void aot_draw_mincut(aot_picture *pic, const aot_draw_in *in)
{
    char value[32];
    if (!in->part) {
        draw_chain(pic, in);
        return;
    }
    aot_picture *whole = aot_picture_new();
    network w = net_open(whole, in->part);
    if (in->whole) {
        net_close(&w);
        w = net_open(pic, in->part);
    } else if (w.n > COMPACT_FROM) {
        draw_compact(pic, &w);
        aot_picture_notice(
            pic, "one box for the two vertices of a value; what only the backward computes "
                 "is not shown");
    } else {
        net_close(&w);
        w = net_open(pic, in->part);
        hide_sink_only(&w);
    }
    pic->network = true;
    aot_format_count(value, sizeof value, in->part->cut_values[0]);
    pic->title =
        aot_arena_printf(pic->arena, "%s\nflow network: %u vertices, %zu edges  ·  cut %s",
                         aot_picture_text(pic, in->label ? in->label : ""), w.n, whole->edges.n,
                         !w.cut_known                  ? "infinite"
                         : in->part->cut_values[0] < 0 ? "not run"
                                                       : value);
    net_close(&w);
    aot_picture_free(whole);
}

void aot_json_mincut(aot_sb *out, const aot_draw_in *in)
{
    if (!in->part) {
        json_t *infinite = aot_json_head(in, "mincut");
        json_object_set_new(infinite, "cut_value", json_string("inf"));
        json_object_set_new(infinite, "why", json_string(in->infinite));
        aot_json_write(out, infinite, true);
        return;
    }
    aot_picture *pic = aot_picture_new();
    network w = net_open(pic, in->part);
    json_t *root = aot_json_head(in, "mincut"), *edges = json_array(), *vertices = json_array();
    for (uint32_t v = 0; v < w.n; v++) {
        json_array_append_new(vertices, json_pack("{s:s, s:s, s:s}", "id", pic->nodes.d[v].key,
                                                  "node", pic->nodes.d[v].name, "side",
                                                  !w.cut_known ? "unknown"
                                                  : w.side[v]  ? "sink"
                                                               : "source"));
    }
    for (size_t i = 0; i < pic->edges.n; i++) {
        const aot_pic_edge *e = &pic->edges.d[i];
        json_t *capacity = e->bytes == AOT_FLOW_INF ? json_string("inf") : json_integer(e->bytes);
        json_array_append_new(
            edges, json_pack("{s:s, s:s, s:o, s:b, s:s}", "from", pic->nodes.d[e->from].key, "to",
                             pic->nodes.d[e->to].key, "capacity", capacity, "cut",
                             e->line == AOT_LINE_CUT, "reason", e->tooltip ? e->tooltip : ""));
    }
    json_object_set_new(root, "cut_value",
                        in->part->cut_values[0] < 0 ? json_null()
                                                    : json_integer(in->part->cut_values[0]));
    json_object_set_new(root, "vertices", vertices);
    json_object_set_new(root, "edges", edges);
    net_close(&w);
    aot_picture_free(pic);
    aot_json_write(out, root, true);
}
