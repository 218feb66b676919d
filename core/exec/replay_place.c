/* Where a run is: the node of the graph that is replayed, and within it the nodes of the bodies
 * that it runs. A body is entered by its first node while the node that runs it is not done;
 * "cond/true_graph_0/add" names one. */
#include <stdlib.h>
#include <string.h>

#include "exec/replay_internal.h"

void replay_place_before(replay_place *p, const aot_graph *g, aot_node_id id,
                         const aot_generator *now)
{
    while (p->levels.n > 0 && p->levels.d[p->levels.n - 1].done &&
           p->levels.d[p->levels.n - 1].g != g) {
        p->levels.n--; // a body that ended
    }
    if (p->levels.n == 0 || p->levels.d[p->levels.n - 1].g != g) {
        aot_vec_push(&p->levels, ((replay_level){.g = g}));
    }
    replay_level *l = &p->levels.d[p->levels.n - 1];
    l->node = id;
    l->done = false;
    if (now != NULL) {
        l->was = *now;
    }
}

/* Bodies within a node that is done have ended as well. */
const aot_generator *replay_place_after(replay_place *p, const aot_graph *g)
{
    while (p->levels.n > 1 && p->levels.d[p->levels.n - 1].g != g) {
        p->levels.n--;
    }
    replay_level *l = &p->levels.d[p->levels.n - 1];
    l->done = true;
    return &l->was;
}

void replay_place_end(replay_place *p)
{
    aot_vec_free(&p->levels);
    for (size_t i = 0; i < p->bodies.n; i++) {
        free(p->bodies.d[i].frame_of);
    }
    aot_vec_free(&p->bodies);
}

/* By node of a body: its latest frame + 1. */
uint32_t *replay_body_frames(replay_place *p, const aot_graph *g)
{
    for (size_t i = 0; i < p->bodies.n; i++) {
        if (p->bodies.d[i].g == g) {
            return p->bodies.d[i].frame_of;
        }
    }
    aot_vec_push(&p->bodies, ((replay_body){g, aot_xcalloc(g->nodes.n + 1, sizeof(uint32_t))}));
    return p->bodies.d[p->bodies.n - 1].frame_of;
}

/* What the graph that holds a body calls it: true_graph_0. */
static const char *name_in(const aot_graph *outer, const aot_graph *body)
{
    for (aot_node_id id = 0; id < outer->nodes.n; id++) {
        const aot_node *n = aot_node_at(outer, id);
        if (n->kind == AOT_GET_ATTR && n->subgraph != 0 &&
            outer->subgraphs.d[n->subgraph - 1] == body) {
            return aot_text(outer->ctx, n->target);
        }
    }
    return "graph";
}

const char *replay_place_name(const replay_place *p, aot_arena *a)
{
    aot_sb b = {0};
    for (size_t i = 0; i < p->levels.n; i++) {
        const replay_level *l = &p->levels.d[i];
        if (i > 0) {
            aot_sb_addf(&b, "/%s/", name_in(p->levels.d[i - 1].g, l->g));
        }
        aot_sb_addz(&b, aot_node_name(l->g, l->node));
    }
    const char *text = aot_arena_strndup(a, b.d, b.n);
    aot_sb_free(&b);
    return text;
}
