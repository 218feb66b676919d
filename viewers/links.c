/* Lines by their ends, steps and lifetimes of a picture's boxes: what formats for programs ask for.
 */
#include "viewers/links.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *sort_edges(const aot_picture *pic, bool by_target, uint32_t **off)
{
    size_t n = pic->nodes.n;
    uint32_t *o = aot_xcalloc(n + 2, sizeof *o);
    uint32_t *ids = aot_xcalloc(pic->edges.n + 1, sizeof *ids);
    for (size_t i = 0; i < pic->edges.n; i++) {
        o[(by_target ? pic->edges.d[i].to : pic->edges.d[i].from) + 1]++;
    }
    for (size_t i = 1; i <= n; i++) {
        o[i] += o[i - 1];
    }
    uint32_t *next = aot_xcalloc(n + 1, sizeof *next);
    memcpy(next, o, (n + 1) * sizeof *next);
    for (size_t i = 0; i < pic->edges.n; i++) {
        ids[next[by_target ? pic->edges.d[i].to : pic->edges.d[i].from]++] = (uint32_t)i;
    }
    free(next);
    *off = o;
    return ids;
}

static uint32_t *nowhere(size_t n)
{
    uint32_t *a = aot_xmalloc((n + 1) * sizeof *a);
    memset(a, 0xff, (n + 1) * sizeof *a);
    return a;
}

// The backward of a partition goes on where the forward ended; one graph counts through.
static int64_t step_of(const aot_pic_node *x, const aot_partition *p)
{
    int64_t before = p && x->graph == p->backward ? (int64_t)p->forward->nodes.n : 0;
    return !x->graph || x->nth >= 0 ? -1 : before + (int64_t)x->node;
}

aot_links aot_links_open(const aot_picture *pic, const aot_partition *p)
{
    aot_links l = {0};
    l.in = sort_edges(pic, true, &l.in_off);
    l.out = sort_edges(pic, false, &l.out_off);
    l.step = aot_xcalloc(pic->nodes.n + 1, sizeof *l.step);
    if (p) {
        l.forward = nowhere(p->n_nodes);
        l.saved = nowhere(p->n_nodes);
        l.backward = nowhere(p->n_nodes);
    }
    for (uint32_t i = 0; i < pic->nodes.n; i++) {
        const aot_pic_node *x = &pic->nodes.d[i];
        l.step[i] = step_of(x, p);
        if (p && x->cut != AOT_NO_NODE && x->nth < 0) {
            uint32_t *at = x->zone == AOT_ZONE_BACKWARD   ? l.backward
                           : x->zone == AOT_ZONE_BOUNDARY ? l.saved
                                                          : l.forward;
            at[x->cut] = at[x->cut] == UINT32_MAX ? i : at[x->cut];
        }
    }
    return l;
}

void aot_links_close(aot_links *l)
{
    free(l->in_off);
    free(l->in);
    free(l->out_off);
    free(l->out);
    free(l->forward);
    free(l->saved);
    free(l->backward);
    free(l->step);
    *l = (aot_links){0};
}

int64_t *aot_links_last_use(const aot_links *l, const aot_picture *pic)
{
    int64_t *last = aot_xmalloc((pic->nodes.n + 1) * sizeof *last);
    memcpy(last, l->step, pic->nodes.n * sizeof *last);
    // saved values first: what they are made of lives as long as they do
    for (int boundary = 1; boundary >= 0; boundary--) {
        for (size_t i = 0; i < pic->edges.n; i++) {
            const aot_pic_edge *e = &pic->edges.d[i];
            bool kept = pic->nodes.d[e->from].zone == AOT_ZONE_BOUNDARY;
            int64_t use =
                pic->nodes.d[e->to].zone == AOT_ZONE_BOUNDARY ? last[e->to] : l->step[e->to];
            if (kept == (boundary == 1) && last[e->from] >= 0 && use > last[e->from]) {
                last[e->from] = use;
            }
        }
    }
    return last;
}
