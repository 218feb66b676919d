/* Live bytes of a partition in a session: a row for each node that computes. */
#include <stdlib.h>

#include "exec/memsim.h"
#include "session/recorder_internal.h"

static void add_side(aot_recorder *r, const char *name, const aot_graph *g,
                     const aot_memory_side *s)
{
    int64_t *allocated = aot_xcalloc(s->live.n + 1, sizeof *allocated);
    int64_t *freed = aot_xcalloc(s->live.n + 1, sizeof *freed);
    aot_memory_changes(s, allocated, freed);
    for (size_t i = 0; i < s->live.n; i++) {
        sqlite3_stmt *q = aot_rec_take(r, S_MEMORY);
        aot_rec_bind_unit(q, 1, r->unit);
        aot_rec_bind_text_always(q, 2, name);
        sqlite3_bind_int64(q, 3, (sqlite3_int64)i);
        aot_rec_bind_text_always(q, 4, aot_node_name(g, s->live.d[i].node));
        sqlite3_bind_int64(q, 5, s->live.d[i].bytes);
        sqlite3_bind_int64(q, 6, allocated[i]);
        sqlite3_bind_int64(q, 7, freed[i]);
        aot_rec_run(r, S_MEMORY);
    }
    free(allocated);
    free(freed);
}

void aot_rec_memory(aot_recorder *r, const aot_partition *p)
{
    aot_memory m;
    aot_memory_of_partition(&m, p, NULL);
    add_side(r, "forward", p->forward, &m.forward);
    add_side(r, "backward", p->backward, &m.backward);
    aot_memory_free(&m);
}
