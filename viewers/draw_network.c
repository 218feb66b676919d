/* The viewer of the flow network: every vertex with its capacities while it is small, one box a
 * value else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/flow.h"
#include "viewers/draw.h"
#include "viewers/viewer.h"

enum { COMPACT_FROM = 80, /* vertices */
       MOST_AT_END = 60 };  /* lines to the source or sink of the compact form */

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
    network w = {.pic = pic, .p = p, .in = aot_draw_boxes(p->cut), .out = aot_draw_boxes(p->cut)};
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
    uint32_t *box = aot_draw_boxes(g), before;
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

// What stands in a box of the compact form: the capacity, and the ends that the value hangs on.
static const char *compact_label(aot_picture *pic, const char *name, const aot_node_info *info)
{
    char number[32];
    const char *ban = info->ban ? aot_ban_text(info->ban) : NULL;
    aot_format_count(number, sizeof number, info->weight);
    return aot_arena_printf(pic->arena, "%s%s%s%s%s%s", name, info->weight < 0 ? "" : "\n",
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
}

static uint32_t compact_box(aot_picture *pic, const network *w, aot_node_id id, const char *which,
                            bool sink)
{
    const aot_graph *g = w->p->cut;
    uint32_t box = aot_picture_graph_node(pic, g, id, w->p, id, which, AOT_ZONE_NONE);
    aot_pic_node *x = &pic->nodes.d[box];
    x->cls = sink ? AOT_CLASS_BACKWARD : AOT_CLASS_FORWARD;
    x->css = sink ? "sink-side" : "source-side";
    x->sig += x->cls;
    return box;
}

// Values above (of the source: the next that must not be recomputed) or below it lead to the same
// end; only the outermost get a line to it.
static bool hangs_at_end(const aot_partition *p, aot_node_id id, bool source)
{
    const aot_graph *g = p->cut;
    if (source) {
        for (uint32_t k = g->in_off[id]; k < g->in_off[id + 1]; k++) {
            if (p->nodes[g->in[k]].weight >= 0) {
                return false;
            }
        }
        return p->nodes[id].ban != AOT_BAN_NONE;
    }
    bool sink = p->nodes[id].sink != AOT_SINK_NONE;
    for (uint32_t k = g->user_off[id]; k < g->user_off[id + 1] && !sink; k++) { // not shown itself
        const aot_node_info *user = &p->nodes[g->user[k]];
        sink = user->weight < 0 && user->sink == AOT_SINK_IN && user->tangent_closure;
    }
    return sink;
}

static void compact_end(aot_picture *pic, uint32_t from, uint32_t to, const char *why)
{
    aot_picture_edge(pic, from, to, AOT_LINE_INFINITE, AOT_FLOW_INF);
    pic->edges.d[pic->edges.n - 1].tooltip = why;
}

// The two vertices of a value that is cut, and between them the edge that is.
static uint32_t compact_cut(aot_picture *pic, const network *w, aot_node_id id, uint32_t in)
{
    char number[32];
    uint32_t out = compact_box(pic, w, id, "out", true);
    aot_pic_node *x = &pic->nodes.d[out];
    x->label = aot_arena_printf(pic->arena, "%s\nout", x->name);
    aot_picture_edge(pic, in, out, AOT_LINE_CUT, w->p->nodes[id].weight);
    aot_format_count(number, sizeof number, w->p->nodes[id].weight);
    pic->edges.d[pic->edges.n - 1].label = aot_picture_text(pic, number);
    return out;
}

// Whether few enough hang on the ends that lines to them say something.
static bool few_at_ends(const network *w)
{
    uint32_t n[2] = {0, 0};
    for (aot_node_id i = 0; i < w->p->n_nodes; i++) {
        const aot_node_info *info = &w->p->nodes[i];
        bool shown = info->weight >= 0 || (info->sink == AOT_SINK_IN && !info->tangent_closure);
        n[0] += shown && hangs_at_end(w->p, i, true);
        n[1] += shown && hangs_at_end(w->p, i, false);
    }
    return n[0] <= MOST_AT_END && n[1] <= MOST_AT_END;
}

// A big network: one box a value, but two for one that is cut; its capacity stands in the label.
// Values that are not made of others hang on the source, those that the backward needs on the
// sink, if `with_ends`; for the others the label says so.
static void draw_compact(aot_picture *pic, const network *w, bool with_ends)
{
    const aot_partition *p = w->p;
    const aot_graph *g = p->cut;
    uint32_t *out = aot_draw_boxes(g);
    network ends = {.pic = pic};
    if (with_ends) {
        net_end(&ends, "source", "values that must not be recomputed hang here");
        net_end(&ends, "sink", "values that the backward needs hang here");
    }
    for (aot_node_id i = 0; i < p->n_nodes; i++) {
        const aot_node_info *info = &p->nodes[i];
        if (info->weight < 0 && !(info->sink == AOT_SINK_IN && !info->tangent_closure)) {
            continue;
        }
        bool cut =
            w->cut_known && w->out[i] != UINT32_MAX && !w->side[w->in[i]] && w->side[w->out[i]];
        uint32_t in = compact_box(pic, w, i, cut ? "in" : "net", w->cut_known && w->side[w->in[i]]);
        aot_pic_node *x = &pic->nodes.d[in];
        x->label = compact_label(pic, x->name, info);
        for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
            if (out[g->in[k]] != UINT32_MAX) {
                aot_picture_edge(pic, out[g->in[k]], in, AOT_LINE_INFINITE, AOT_FLOW_INF);
            }
        }
        out[i] = cut ? compact_cut(pic, w, i, in) : in;
        if (with_ends && hangs_at_end(p, i, true)) {
            compact_end(pic, 0, in, "it must not be recomputed");
        }
        if (with_ends && hangs_at_end(p, i, false)) {
            compact_end(pic, info->sink == AOT_SINK_IN ? in : out[i], 1, "the backward needs it");
        }
    }
    free(out);
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
        bool ends = few_at_ends(&w);
        draw_compact(pic, &w, ends);
        aot_picture_notice(
            pic, "one box for the two vertices of a value that is not cut; %s; what only the "
                 "backward computes is not shown",
            ends ? "lines to the source only from what is made of nothing else"
                 : "too many values hang on source and sink for lines, so the boxes say which");
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
