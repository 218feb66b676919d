/* Lines between the columns of a picture. A line that ran behind a box would read as another one,
 * so each leaves its box along a height that is free to the end of the column, crosses the gap as a
 * curve with level ends, and reaches its other box along a free height too. Lines that had to move
 * keep apart, unless they share a box. Boxes are rows that dot made, so free heights are near. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewers/dot.h"

static void put(void *obj, const char *key, const char *value)
{
    agsafeset(obj, (char *)(uintptr_t)key, (char *)(uintptr_t)value, (char *)(uintptr_t) "");
}

static Agnode_t *node_of(Agraph_t *g, const aot_picture *pic, size_t i)
{
    return agnode(g, (char *)(uintptr_t)pic->nodes.d[i].key, 0);
}

enum { TURN = 10, TIP = 7, CLEAR = 4, LANE = 5 }; /* points */

/* A height on which a line runs through a column. */
typedef struct lane {
    aot_zone zone;
    uint32_t owner; /* box whose lines may share it */
    double y;
} lane;

typedef struct router {
    const aot_picture *pic;
    const aot_place *at; /* by node of the picture */
    AOT_VEC(lane) lanes;
    double left[AOT_N_ZONES], right[AOT_N_ZONES];
} router;

static bool is_free(double *next, double y, double lo, double hi, int dir)
{
    if (y <= lo || y >= hi) {
        return true;
    }
    *next = dir > 0 ? hi : lo;
    return false;
}

// Height nearest to that of box i, upwards or downwards, at which nothing stands between the box
// and the end of its column (to the right or to the left).
static double walk(const router *r, uint32_t i, bool right, int dir)
{
    const aot_place *a = &r->at[i];
    aot_zone zone = (aot_zone)r->pic->nodes.d[i].zone;
    double y = a->y;
    bool moved = true;
    for (int round = 0; moved && round < 500; round++) {
        moved = false;
        for (uint32_t k = 0; k < r->pic->nodes.n; k++) {
            const aot_place *b = &r->at[k];
            bool beside =
                right ? b->x + b->w / 2 > a->x + a->w / 2 : b->x - b->w / 2 < a->x - a->w / 2;
            if (k != i && beside && r->pic->nodes.d[k].zone == zone) {
                moved =
                    !is_free(&y, y, b->y - b->h / 2 - CLEAR, b->y + b->h / 2 + CLEAR, dir) || moved;
            }
        }
        for (size_t k = 0; k < r->lanes.n && y != a->y; k++) {
            const lane *l = &r->lanes.d[k];
            if (l->zone == zone && l->owner != i) {
                moved = !is_free(&y, y, l->y - LANE, l->y + LANE, dir) || moved;
            }
        }
    }
    return y;
}

// What a turn beside the box would run into on its way to height y.
static double in_the_way(const router *r, uint32_t i, bool right, double y)
{
    const aot_place *a = &r->at[i];
    double lo = y < a->y ? y : a->y, hi = y < a->y ? a->y : y;
    double from = right ? a->x + a->w / 2 : a->x - a->w / 2;
    double x0 = right ? from : from - TURN, x1 = right ? from + TURN : from, sum = 0;
    for (uint32_t k = 0; k < r->pic->nodes.n; k++) {
        const aot_place *b = &r->at[k];
        bool hit = k != i && b->x + b->w / 2 > x0 && b->x - b->w / 2 < x1 && b->y + b->h / 2 > lo &&
                   b->y - b->h / 2 < hi;
        sum += hit ? 500 : 0;
    }
    return sum;
}

static double find_lane(router *r, uint32_t i, bool right)
{
    const aot_place *a = &r->at[i];
    double up = walk(r, i, right, 1), down = walk(r, i, right, -1);
    double cost_up = up - a->y + in_the_way(r, i, right, up);
    double cost_down = a->y - down + in_the_way(r, i, right, down);
    lane l = {(aot_zone)r->pic->nodes.d[i].zone, i, cost_up < cost_down ? up : down};
    aot_vec_push(&r->lanes, l);
    return l.y;
}

// A curve with level ends, or a straight line, from where the last one ended.
static void add_curve(aot_sb *b, pointf *at, double x, double y)
{
    double bend = (x - at->x) / 2;
    if (fabs(x - at->x) < 0.01 && fabs(y - at->y) < 0.01) {
        return;
    }
    aot_sb_addf(b, " %.2f,%.2f %.2f,%.2f %.2f,%.2f", at->x + bend, at->y, x - bend, y, x, y);
    *at = (pointf){x, y};
}

// From the box along a free height to the end of its column, over to the next one, along a free
// height to the other box: a line that ran behind a box would read as another one.
static void route(router *r, aot_sb *out, const aot_pic_edge *x)
{
    const aot_place *a = &r->at[x->from], *b = &r->at[x->to];
    double x0 = a->x + a->w / 2, tip = b->x - b->w / 2, x3 = tip - TIP;
    double end = r->right[r->pic->nodes.d[x->from].zone];
    double begin = r->left[r->pic->nodes.d[x->to].zone] - TIP;
    pointf at = {x0, a->y};
    aot_sb_addf(out, "e,%.2f,%.2f %.2f,%.2f", tip, b->y, x0, a->y);
    if (end < begin) {
        double y1 = find_lane(r, x->from, true), y2 = find_lane(r, x->to, false);
        if (y1 != a->y) {
            add_curve(out, &at, x0 + TURN, y1);
        }
        add_curve(out, &at, end > at.x ? end : at.x, y1);
        double turn = y2 != b->y ? x3 - TURN : x3;
        add_curve(out, &at, begin < turn ? begin : turn, y2);
        add_curve(out, &at, turn, y2);
    }
    add_curve(out, &at, x3, b->y);
}

static router router_open(const aot_picture *pic, const aot_place *at)
{
    router r = {.pic = pic, .at = at};
    for (int z = 0; z < AOT_N_ZONES; z++) {
        r.left[z] = 1e9;
        r.right[z] = -1e9;
    }
    for (size_t i = 0; i < pic->nodes.n; i++) {
        const aot_place *p = &at[i];
        unsigned z = pic->nodes.d[i].zone;
        r.left[z] = p->x - p->w / 2 < r.left[z] ? p->x - p->w / 2 : r.left[z];
        r.right[z] = p->x + p->w / 2 > r.right[z] ? p->x + p->w / 2 : r.right[z];
    }
    return r;
}

void aot_columns_route(Agraph_t *g, const aot_picture *pic, const aot_place *at)
{
    router r = router_open(pic, at);
    aot_sb pos = {0};
    for (size_t i = 0; i < pic->edges.n; i++) {
        const aot_pic_edge *x = &pic->edges.d[i];
        if (pic->nodes.d[x->from].zone == pic->nodes.d[x->to].zone) {
            continue;
        }
        char key[32], text[64];
        snprintf(key, sizeof key, "e%zu", i);
        Agedge_t *e = agedge(g, node_of(g, pic, x->from), node_of(g, pic, x->to), key, 0);
        const aot_place *a = &at[x->from], *b = &at[x->to];
        aot_sb_clear(&pos);
        route(&r, &pos, x);
        put(e, "pos", aot_sb_text(&pos));
        if (x->label) {
            size_t len = strlen(x->label) + (x->times > 1 ? 5 : 0);
            snprintf(text, sizeof text, "%.2f,%.2f", b->x - b->w / 2 - 16 - 2.6 * (double)len,
                     // on the side that the curve leaves free
                     a->y > b->y + 4 ? b->y - 9 : b->y + 9);
            put(e, "lp", text);
        }
    }
    aot_sb_free(&pos);
    aot_vec_free(&r.lanes);
}
