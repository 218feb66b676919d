/* The viewers: a graph and a partition as pictures.
 *
 * The partition reads like a loop: the forward runs down on the left, the backward comes up on the
 * right, and the saved values stand between them, each with one thick line in and its users out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/saved.h"
#include "viewers/draw.h"
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

uint32_t *aot_draw_boxes(const aot_graph *g)
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
    side s = {.g = g, .p = p, .map = aot_view_map(g, p), .box = aot_draw_boxes(g)};
    flat_outputs(g, &s.outs);
    s.first_out = aot_draw_boxes(g);
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
        aot_node_id cut = cut_of(&s, i);
        both = both || (in->part && cut != AOT_NO_NODE && in->part->nodes[cut].backward_made);
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
