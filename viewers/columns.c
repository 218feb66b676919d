/* Layout in three columns: the forward runs down on the left, the backward comes up on the right,
 * the saved values stand between them, each near the height of its maker and its users.
 *
 * Each side is laid out by dot alone, which is far quicker than one graph with clusters, then the
 * shorter side is stretched to the height of the taller one: as the backward mirrors the forward,
 * what belongs together comes to stand at one height. The pieces are put into one graph with all
 * positions given, which Graphviz (nop2) then only draws; route.c finds the lines between columns.
 * A picture without two sides is one column. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewers/dot.h"

enum { GUTTER = 96, MARGIN = 10, HEAD = 30, BOX_GAP = 8, LEGEND_GAP = 18, PAD = 6 };
enum { GROW_UP_TO = 250, HURRY_FROM = 200, CURVES_UP_TO = 3000 };
#define RANK_SEP 0.32 /* inches, as in dot.c */

typedef aot_place place;

typedef struct columns {
    GVC_t *gvc;
    const aot_picture *pic;
    const char *color;
    Agraph_t *g; /* the result */
    place *at;   /* by node of the picture */
    double height; /* of the tallest side */
    double x;      /* left end of the next column */
} columns;

/* One side laid out alone. */
typedef struct side {
    aot_picture pic; /* arrays of its own, strings shared */
    uint32_t *node, *edge; /* index in the whole picture */
    Agraph_t *g;
    boxf bb;
    double stretch, dx, dy;
} side;

static void put(void *obj, const char *key, const char *value)
{
    agsafeset(obj, (char *)(uintptr_t)key, (char *)(uintptr_t)value, (char *)(uintptr_t) "");
}

static bool has_columns(const aot_picture *pic)
{
    bool fw = false, bw = false;
    for (size_t i = 0; i < pic->nodes.n; i++) {
        fw = fw || pic->nodes.d[i].zone == AOT_ZONE_FORWARD;
        bw = bw || pic->nodes.d[i].zone == AOT_ZONE_BACKWARD;
    }
    return fw && bw;
}

// The nodes of one zone (AOT_N_ZONES: of all) and the lines among them.
static side side_of(const aot_picture *whole, aot_zone zone)
{
    side s = {.pic = *whole, .stretch = 1};
    size_t n = whole->nodes.n, m = whole->edges.n;
    uint32_t *to = aot_xcalloc(n + 1, sizeof *to);
    s.node = aot_xcalloc(n + 1, sizeof *s.node);
    s.edge = aot_xcalloc(m + 1, sizeof *s.edge);
    memset(&s.pic.nodes, 0, sizeof s.pic.nodes);
    memset(&s.pic.edges, 0, sizeof s.pic.edges);
    for (size_t i = 0; i < n; i++) {
        if (whole->nodes.d[i].zone == zone || zone == AOT_N_ZONES) {
            to[i] = (uint32_t)s.pic.nodes.n;
            s.node[s.pic.nodes.n] = (uint32_t)i;
            aot_vec_push(&s.pic.nodes, whole->nodes.d[i]);
        }
    }
    for (size_t i = 0; i < m; i++) {
        aot_pic_edge e = whole->edges.d[i];
        bool both = whole->nodes.d[e.from].zone == zone && whole->nodes.d[e.to].zone == zone;
        if (both || zone == AOT_N_ZONES) {
            s.edge[s.pic.edges.n] = (uint32_t)i;
            e.from = to[e.from];
            e.to = to[e.to];
            aot_vec_push(&s.pic.edges, e);
        }
    }
    free(to);
    return s;
}

// Rows that the lines of a layout cross, all together: what routing them as curves costs.
static long rows_crossed(Agraph_t *g)
{
    long sum = 0;
    for (Agnode_t *n = agfstnode(g); n; n = agnxtnode(g, n)) {
        for (Agedge_t *e = agfstout(g, n); e; e = agnxtout(g, e)) {
            sum += labs((long)ND_rank(aghead(e)) - (long)ND_rank(agtail(e)));
        }
    }
    return sum;
}

static bool lay_out(columns *c, side *s)
{
    s->g = aot_picture_build(&s->pic, c->color, 0);
    if (s->pic.nodes.n > HURRY_FROM) { // fewer rounds: a little less tidy, many times quicker
        put(s->g, "nslimit", "2");
        put(s->g, "nslimit1", "2");
        put(s->g, "mclimit", "0.3");
        put(s->g, "splines", "line");
    }
    if (gvLayout(c->gvc, s->g, "dot") != 0) {
        return false;
    }
    if (s->pic.nodes.n > HURRY_FROM && rows_crossed(s->g) <= CURVES_UP_TO) {
        put(s->g, "splines", "true");
        gvFreeLayout(c->gvc, s->g);
        if (gvLayout(c->gvc, s->g, "dot") != 0) {
            return false;
        }
    }
    s->bb = GD_bb(s->g);
    return true;
}

static double height_of(const side *s)
{
    return s->bb.UR.y - s->bb.LL.y;
}

// Makes a side as tall as the other one by more room between its rows. The height is linear in that
// room, so the second guess fits.
static bool grow(columns *c, side *s, double height)
{
    double room[2] = {0, RANK_SEP}, h[2] = {0, height_of(s)}, guess = 2 * RANK_SEP;
    if (height - h[1] < 2 || s->pic.nodes.n > GROW_UP_TO) {
        return true; // a big side costs more than it gains
    }
    for (int round = 0; round < 2; round++) {
        if (round == 1) {
            if (h[1] <= h[0]) {
                break; // one row: nothing to spread
            }
            guess = room[1] + (height - h[1]) * (room[1] - room[0]) / (h[1] - h[0]);
        }
        char text[32];
        snprintf(text, sizeof text, "%.4f", guess);
        put(s->g, "ranksep", text);
        gvFreeLayout(c->gvc, s->g);
        if (gvLayout(c->gvc, s->g, "dot") != 0) {
            return false;
        }
        s->bb = GD_bb(s->g);
        room[0] = room[1];
        h[0] = h[1];
        room[1] = guess;
        h[1] = height_of(s);
    }
    return true;
}

static Agnode_t *node_of(Agraph_t *g, const aot_picture *pic, size_t i)
{
    return agnode(g, (char *)(uintptr_t)pic->nodes.d[i].key, 0);
}

static pointf moved(const side *s, pointf p)
{
    pointf q = {(p.x - s->bb.LL.x) + s->dx, (p.y - s->bb.LL.y) * s->stretch + s->dy};
    return q;
}

static void read_places(columns *c, const side *s)
{
    for (size_t i = 0; i < s->pic.nodes.n; i++) {
        Agnode_t *n = node_of(s->g, &s->pic, i);
        pointf p = moved(s, ND_coord(n));
        c->at[s->node[i]] = (place){p.x, p.y, ND_width(n) * 72, ND_height(n) * 72};
    }
}

static void add_point(aot_sb *b, const side *s, pointf p)
{
    pointf q = moved(s, p);
    aot_sb_addf(b, "%.2f,%.2f", q.x, q.y);
}

// Lines inside a side keep the course that dot gave them.
static void copy_lines(columns *c, const side *s)
{
    for (Agnode_t *n = agfstnode(s->g); n; n = agnxtnode(s->g, n)) {
        for (Agedge_t *e = agfstout(s->g, n); e; e = agnxtout(s->g, e)) {
            char key[32];
            size_t i = strtoul(agnameof(e) + 1, NULL, 10);
            snprintf(key, sizeof key, "e%u", s->edge[i]);
            Agedge_t *to = agedge(c->g, agnode(c->g, agnameof(agtail(e)), 0),
                                  agnode(c->g, agnameof(aghead(e)), 0), key, 0);
            if (!to || !ED_spl(e)) {
                continue;
            }
            aot_sb b = {0};
            for (int k = 0; k < ED_spl(e)->size; k++) {
                const bezier *z = &ED_spl(e)->list[k];
                aot_sb_addz(&b, k ? ";" : "");
                if (z->sflag) {
                    aot_sb_addz(&b, "s,");
                    add_point(&b, s, z->sp);
                    aot_sb_addc(&b, ' ');
                }
                if (z->eflag) {
                    aot_sb_addz(&b, "e,");
                    add_point(&b, s, z->ep);
                    aot_sb_addc(&b, ' ');
                }
                for (int p = 0; p < z->size; p++) {
                    aot_sb_addz(&b, p ? " " : "");
                    add_point(&b, s, z->list[p]);
                }
            }
            put(to, "pos", aot_sb_text(&b));
            aot_sb_clear(&b);
            if (ED_label(e)) {
                add_point(&b, s, ED_label(e)->pos);
                put(to, "lp", aot_sb_text(&b));
            }
            aot_sb_free(&b);
        }
    }
}

static void set_cluster(Agraph_t *to, boxf box, const textlabel_t *label)
{
    char text[128];
    snprintf(text, sizeof text, "%.2f,%.2f,%.2f,%.2f", box.LL.x, box.LL.y, box.UR.x, box.UR.y);
    put(to, "bb", text);
    if (label) {
        snprintf(text, sizeof text, "%.2f,%.2f", box.LL.x + label->dimen.x / 2 + 6,
                 box.UR.y - label->dimen.y / 2 - 4);
        put(to, "lp", text);
    }
}

// Boxes around clusters; stretching moves their ends, but not the room for the label.
static void copy_clusters(columns *c, const side *s, Agraph_t *from, Agraph_t *to_parent)
{
    for (Agraph_t *sub = agfstsubg(from); sub; sub = agnxtsubg(sub)) {
        Agraph_t *to = agsubg(to_parent, agnameof(sub), 0);
        if (!to || strncmp(agnameof(sub), "cluster", 7) != 0) {
            continue;
        }
        boxf box = {moved(s, GD_bb(sub).LL), moved(s, GD_bb(sub).UR)};
        set_cluster(to, box, GD_label(sub));
        copy_clusters(c, s, sub, to); // clusters are nested two deep at most
    }
}

/* ---- the column of saved values -------------------------------------------------------------- */

typedef struct wish {
    uint32_t node;
    double y; /* centre it wants, then gets */
    double h;
} wish;

static int from_above(const void *a, const void *b)
{
    const wish *x = a, *y = b;
    return x->y > y->y ? -1 : x->y < y->y ? 1 : x->node < y->node ? -1 : 1;
}

// Half way between the maker and the mean of the users.
static void find_wishes(const columns *c, wish *w, size_t n)
{
    double *sum = aot_xcalloc(c->pic->nodes.n + 1, sizeof *sum);
    double *maker = aot_xcalloc(c->pic->nodes.n + 1, sizeof *maker);
    uint32_t *users = aot_xcalloc(c->pic->nodes.n + 1, sizeof *users);
    for (size_t i = 0; i < c->pic->edges.n; i++) {
        const aot_pic_edge *e = &c->pic->edges.d[i];
        if (c->pic->nodes.d[e->to].zone == AOT_ZONE_BOUNDARY) {
            maker[e->to] = c->at[e->from].y;
        }
        if (c->pic->nodes.d[e->from].zone == AOT_ZONE_BOUNDARY) {
            sum[e->from] += c->at[e->to].y;
            users[e->from]++;
        }
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t x = w[i].node;
        w[i].y = users[x] ? (maker[x] + sum[x] / users[x]) / 2 : maker[x];
    }
    qsort(w, n, sizeof *w, from_above);
    free(sum);
    free(maker);
    free(users);
}

// Moves boxes apart as little as possible: neighbours that would touch become one group, which
// stands at the mean of what its members want (pool adjacent violators).
static void spread(wish *w, size_t n)
{
    struct group {
        size_t first, n;
        double top, height; /* top it wants, as a mean over members */
    } *g = aot_xcalloc(n + 1, sizeof *g);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        g[m++] = (struct group){i, 1, w[i].y + w[i].h / 2, w[i].h + BOX_GAP};
        while (m > 1 && g[m - 2].top - g[m - 2].height < g[m - 1].top) {
            struct group *a = &g[m - 2], *b = &g[m - 1];
            a->top = (a->top * (double)a->n + (b->top + a->height) * (double)b->n) /
                     (double)(a->n + b->n);
            a->height += b->height;
            a->n += b->n;
            m--;
        }
    }
    for (size_t k = 0; k < m; k++) {
        double top = g[k].top;
        for (size_t i = g[k].first; i < g[k].first + g[k].n; i++) {
            w[i].y = top - w[i].h / 2;
            top -= w[i].h + BOX_GAP;
        }
    }
    free(g);
}

// Sizes come from a layout of the boxes alone, places from makers and users.
static bool place_saved(columns *c, side *s, double *low, double *high)
{
    size_t n = s->pic.nodes.n;
    if (!lay_out(c, s)) {
        return false;
    }
    wish *w = aot_xcalloc(n + 1, sizeof *w);
    double widest = 0;
    read_places(c, s);
    for (size_t i = 0; i < n; i++) {
        w[i] = (wish){s->node[i], 0, c->at[s->node[i]].h};
        widest = c->at[s->node[i]].w > widest ? c->at[s->node[i]].w : widest;
    }
    Agraph_t *box = agsubg(s->g, (char *)(uintptr_t) "cluster_saved", 0);
    double label = box && GD_label(box) ? GD_label(box)->dimen.x : 0;
    double width = (label > widest ? label : widest) + 2 * MARGIN;
    find_wishes(c, w, n);
    spread(w, n);
    for (size_t i = 0; i < n; i++) {
        place *p = &c->at[w[i].node];
        p->x = c->x + width / 2;
        p->y = w[i].y;
        *low = p->y - p->h / 2 - MARGIN < *low ? p->y - p->h / 2 - MARGIN : *low;
        *high = p->y + p->h / 2 + HEAD > *high ? p->y + p->h / 2 + HEAD : *high;
    }
    free(w);
    c->x += width;
    return true;
}

/* ---- putting together ------------------------------------------------------------------------ */

static void set_nodes(const columns *c)
{
    for (size_t i = 0; i < c->pic->nodes.n; i++) {
        char text[64];
        snprintf(text, sizeof text, "%.2f,%.2f", c->at[i].x, c->at[i].y);
        put(node_of(c->g, c->pic, i), "pos", text);
    }
}

static bool place_legend(columns *c, double top)
{
    aot_picture few = *c->pic;
    few.edges.n = 0;
    Agraph_t *alone = aot_picture_build(&few, c->color, AOT_BUILD_LEGEND);
    for (size_t i = 0; i < c->pic->nodes.n; i++) {
        agdelnode(alone, node_of(alone, c->pic, i));
    }
    if (gvLayout(c->gvc, alone, "dot") != 0) {
        return false;
    }
    Agnode_t *n = agnode(alone, (char *)(uintptr_t) "legend", 0);
    double w = ND_width(n) * 72, h = ND_height(n) * 72, y = top + LEGEND_GAP + PAD + h / 2;
    char text[64];
    snprintf(text, sizeof text, "%.2f,%.2f", w / 2 + PAD, y);
    put(agnode(c->g, (char *)(uintptr_t) "legend", 0), "pos", text);
    boxf box = {{0, y - h / 2 - PAD}, {w + 2 * PAD, y + h / 2 + PAD}};
    set_cluster(agsubg(c->g, (char *)(uintptr_t) "cluster_legend", 0), box, NULL);
    return true;
}

static void place_side(columns *c, side *s)
{
    s->stretch = height_of(s) > 0 ? c->height / height_of(s) : 1;
    s->dx = c->x;
    read_places(c, s);
    c->x += s->bb.UR.x - s->bb.LL.x;
}

// Forward, saved values, backward, from left to right.
static bool place_all(columns *c, side *fw, side *saved, side *bw, double *high)
{
    double low = 0, left, right;
    if (!lay_out(c, fw) || !lay_out(c, bw)) {
        return false;
    }
    c->height = height_of(fw) > height_of(bw) ? height_of(fw) : height_of(bw);
    if (!grow(c, fw, c->height) || !grow(c, bw, c->height)) {
        return false;
    }
    c->height = height_of(fw) > height_of(bw) ? height_of(fw) : height_of(bw);
    *high = c->height;
    place_side(c, fw);
    right = c->x + GUTTER;
    // the backward is placed twice: the saved values between need to know how high its nodes are
    place_side(c, bw);
    left = c->x = right;
    if (saved->pic.nodes.n > 0) {
        if (!place_saved(c, saved, &low, high)) {
            return false;
        }
        boxf box = {{left, low}, {c->x, *high}};
        Agraph_t *from = agsubg(saved->g, (char *)(uintptr_t) "cluster_saved", 0);
        set_cluster(agsubg(c->g, (char *)(uintptr_t) "cluster_saved", 0), box, GD_label(from));
        c->x += GUTTER;
    }
    place_side(c, bw);
    copy_lines(c, bw);
    copy_clusters(c, bw, bw->g, c->g);
    return true;
}

Agraph_t *aot_columns_layout(GVC_t *gvc, const aot_picture *pic, const char *color)
{
    columns c = {.gvc = gvc, .pic = pic, .color = color};
    bool several = has_columns(pic);
    side first = side_of(pic, several ? AOT_ZONE_FORWARD : AOT_N_ZONES);
    double high = 0;
    c.at = aot_xcalloc(pic->nodes.n + 1, sizeof *c.at);
    c.g = aot_picture_build(pic, color, AOT_BUILD_TITLE | AOT_BUILD_LEGEND);
    if (several) {
        side bw = side_of(pic, AOT_ZONE_BACKWARD), saved = side_of(pic, AOT_ZONE_BOUNDARY);
        if (!place_all(&c, &first, &saved, &bw, &high)) {
            return NULL;
        }
        aot_columns_route(c.g, pic, c.at);
    } else {
        if (!lay_out(&c, &first)) {
            return NULL;
        }
        c.height = high = height_of(&first);
        place_side(&c, &first);
    }
    copy_lines(&c, &first);
    copy_clusters(&c, &first, first.g, c.g);
    set_nodes(&c);
    if (!place_legend(&c, high)) {
        return NULL;
    }
    put(c.g, "outputorder", several ? "edgesfirst" : "breadthfirst");
    return gvLayout(gvc, c.g, "nop2") == 0 ? c.g : NULL;
}
