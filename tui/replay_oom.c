/* The first node above the limit is found by the run, or by the simulation of live bytes where
 * nothing is run; what lives there, by the simulation, which knows each storage's maker. */
#include "tui/replay_oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/memgroup.h"
#include "session/derive.h"
#include "tui/fits.h"
#include "tui/out_format.h"
#include "viewers/format.h"
#include "viewers/table.h"

enum { MOST = 10 };

typedef struct oom {
    const aot_partition *p;
    aot_memory m;
    const aot_oom_ask *ask;
    aot_mem_side side;
    uint32_t row;         /* of the side's live; UINT32_MAX: the limit is not exceeded */
    int64_t live, before; /* bytes at the node, and at the node before it */
    const char *node;
} oom;

static const aot_graph *graph_of(const oom *o, aot_mem_side side)
{
    return side == AOT_SIDE_FORWARD ? o->p->forward : o->p->backward;
}

static void take_row(oom *o, aot_mem_side side, uint32_t row, int64_t live)
{
    const aot_memory_side *s = aot_memory_get(&o->m, side);
    o->side = side;
    o->row = row;
    o->live = live;
    o->node = aot_node_name(graph_of(o, side), s->live.d[row].node);
    o->before = row > 0 ? s->live.d[row - 1].bytes : s->inputs;
}

static void find_by_simulation(oom *o)
{
    for (int side = 0; side < 2 && o->row == UINT32_MAX; side++) {
        const aot_memory_side *s = aot_memory_get(&o->m, (aot_mem_side)side);
        for (uint32_t i = 0; i < s->live.n && o->row == UINT32_MAX; i++) {
            if (s->live.d[i].bytes > o->ask->limit) {
                take_row(o, (aot_mem_side)side, i, s->live.d[i].bytes);
            }
        }
    }
}

static void find_by_run(oom *o, aot_replay *r)
{
    for (size_t i = 0; aot_replay_reach(r, i) && o->row == UINT32_MAX; i++) {
        const aot_replay_frame *f = aot_replay_frame_at(r, i);
        aot_mem_side side = f->side == AOT_REPLAY_FORWARD ? AOT_SIDE_FORWARD : AOT_SIDE_BACKWARD;
        const aot_memory_side *s = aot_memory_get(&o->m, side);
        if (f->live_bytes <= o->ask->limit) {
            continue;
        }
        uint32_t row = 0; // an input: what lives at the first node
        for (uint32_t k = 0; k < s->live.n; k++) {
            if (strcmp(aot_node_name(graph_of(o, side), s->live.d[k].node),
                       aot_replay_name(r, f)) == 0) {
                row = k;
            }
        }
        if (s->live.n > 0) {
            take_row(o, side, row, f->live_bytes);
            o->before = i > 0 ? aot_replay_frame_at(r, i - 1)->live_bytes : 0;
            o->node = aot_replay_name(r, f);
        }
    }
}

/* ---- what lives
 * ------------------------------------------------------------------------------------- */

static bool lives(const oom *o, const aot_mem_block *b)
{
    return b->born <= o->row && b->died >= o->row;
}

typedef struct part {
    const char *key;
    int64_t bytes;
    uint32_t n;
} part;

static int by_bytes(const void *a, const void *b)
{
    const part *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                                : strcmp(x->key, y->key);
}

/* Groups at the row, largest first; g holds their texts. */
static part *parts_of(const oom *o, aot_memgroups *g, aot_mem_by by, uint32_t *n)
{
    const aot_memory_side *s = aot_memory_get(&o->m, o->side);
    aot_memgroups_make(g, o->p, &o->m, o->side, by, NULL, true);
    part *parts = aot_xcalloc(g->n + 1, sizeof *parts);
    for (uint32_t i = 0; i < g->n; i++) {
        parts[i] = (part){g->d[i].key, 0, 0};
    }
    for (size_t i = 0; i < s->blocks.n; i++) {
        if (lives(o, &s->blocks.d[i])) {
            parts[g->of_block[i]].bytes += s->blocks.d[i].bytes;
            parts[g->of_block[i]].n++;
        }
    }
    qsort(parts, g->n, sizeof *parts, by_bytes);
    *n = 0;
    while (*n < g->n && parts[*n].bytes > 0) {
        (*n)++;
    }
    return parts;
}

static const aot_mem_by shown[] = {AOT_MEM_BY_KIND, AOT_MEM_BY_LINE, AOT_MEM_BY_OP};

static void print_parts(aot_sb *out, const oom *o)
{
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
        aot_memgroups g;
        uint32_t n;
        part *parts = parts_of(o, &g, shown[k], &n);
        aot_table *t = aot_table_new();
        char title[64];
        snprintf(title, sizeof title, "  by %s", aot_mem_by_name(shown[k]));
        aot_table_column(t, title, AOT_LEFT, 0);
        aot_table_column(t, "bytes", AOT_RIGHT, 0);
        aot_table_column(t, "values", AOT_RIGHT, 0);
        for (uint32_t i = 0; i < n && i < MOST; i++) {
            aot_table_row(t);
            aot_table_cellf(t, "    %s", parts[i].key[0] != '\0' ? parts[i].key : "no line");
            aot_table_bytes(t, parts[i].bytes);
            aot_table_cellf(t, "%u", parts[i].n);
        }
        aot_table_print(out, t, aot_out_table_flags(), 0, 0);
        aot_table_free(t);
        free(parts);
        aot_memgroups_free(&g);
    }
}

static int by_size(const void *a, const void *b)
{
    const aot_mem_block *x = *(const aot_mem_block *const *)a,
                        *y = *(const aot_mem_block *const *)b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : (x > y) - (x < y);
}

/* The largest living storages; freed by the caller. */
static const aot_mem_block **largest(const oom *o, size_t *n)
{
    const aot_memory_side *s = aot_memory_get(&o->m, o->side);
    const aot_mem_block **all = aot_xcalloc(s->blocks.n + 1, sizeof *all);
    *n = 0;
    for (size_t i = 0; i < s->blocks.n; i++) {
        if (lives(o, &s->blocks.d[i])) {
            all[(*n)++] = &s->blocks.d[i];
        }
    }
    qsort(all, *n, sizeof *all, by_size);
    return all;
}

static void print_largest(aot_sb *out, const oom *o)
{
    size_t n;
    const aot_mem_block **all = largest(o, &n);
    char bytes[32], type[128], source[200];
    aot_sb_addf(out, "  largest of %zu living value%s\n", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < n && i < MOST; i++) {
        const aot_graph *g = aot_mem_block_graph(o->p, o->side, all[i]);
        aot_sb_addf(out, "    %10s  %s  %s  %s  %s\n",
                    aot_format_bytes(bytes, sizeof bytes, all[i]->bytes),
                    aot_node_name(g, all[i]->node),
                    aot_format_type(type, sizeof type, g->ctx, aot_node_at(g, all[i]->node)->meta),
                    aot_mem_kind_name((aot_mem_kind)all[i]->kind),
                    aot_format_source(source, sizeof source, g, all[i]->node));
    }
    free(all);
}

static json_t *living_json(const oom *o)
{
    size_t n;
    const aot_mem_block **all = largest(o, &n);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const aot_graph *g = aot_mem_block_graph(o->p, o->side, all[i]);
        char source[200];
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:s, s:s}", "node", aot_node_name(g, all[i]->node), "bytes",
                            (json_int_t)all[i]->bytes, "kind",
                            aot_mem_kind_name((aot_mem_kind)all[i]->kind), "source",
                            aot_format_source(source, sizeof source, g, all[i]->node)));
    }
    free(all);
    return list;
}

/* ---- the answer
 * ---------------------------------------------------------------------------------------- */

static const char *side_name(const oom *o)
{
    return o->side == AOT_SIDE_FORWARD ? "forward" : "backward";
}

static void print_stop(aot_sb *out, const oom *o)
{
    char limit[32], live[32], before[32];
    aot_format_bytes(limit, sizeof limit, o->ask->limit);
    if (o->row == UINT32_MAX) {
        aot_sb_addf(out, "live bytes stay within %s\n", limit);
        return;
    }
    aot_sb_addf(out, "out of memory: %s, %s: %s live, %s before it, the device has %s\n",
                side_name(o), o->node, aot_format_bytes(live, sizeof live, o->live),
                aot_format_bytes(before, sizeof before, o->before), limit);
    print_parts(out, o);
    print_largest(out, o);
}

static json_t *stop_json(const oom *o)
{
    if (o->row == UINT32_MAX) {
        return json_null();
    }
    return json_pack("{s:s, s:s, s:I, s:I, s:o}", "side", side_name(o), "node", o->node,
                     "live_bytes", (json_int_t)o->live, "before_bytes", (json_int_t)o->before,
                     "living", living_json(o));
}

/* The budgets at which it would fit. */
static aot_status tell_fits(aot_sb *text, json_t **json, aot_model *m, size_t unit, int64_t limit,
                            aot_err *err)
{
    aot_fit f;
    AOT_TRY(aot_fits_of_model(&f, m, unit, &(aot_fit_ask){.limit = limit}, err));
    if (json != NULL) {
        *json = aot_fit_json(&f);
    } else {
        aot_fit_print(text, &f, limit);
    }
    aot_fit_free(&f);
    return AOT_OK;
}

aot_status aot_oom_tell(aot_sb *text, json_t **json, bool *exceeds, aot_model *m, size_t unit,
                        aot_replay_unit *u, const aot_oom_ask *ask, aot_err *err)
{
    oom o = {.p = aot_replay_unit_partition(u), .ask = ask, .row = UINT32_MAX};
    json_t *fits = NULL;
    if (o.p == NULL) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "the unit has no backward: there is no cut to choose");
    }
    aot_memory_of_partition(&o.m, o.p, NULL);
    if (ask->dry) {
        find_by_simulation(&o);
    } else {
        find_by_run(&o, aot_replay_of(u));
    }
    *exceeds = o.row != UINT32_MAX;
    if (json == NULL) {
        print_stop(text, &o);
    }
    aot_status s =
        *exceeds ? tell_fits(text, json != NULL ? &fits : NULL, m, unit, ask->limit, err) : AOT_OK;
    if (json != NULL && s == AOT_OK) {
        *json = json_pack("{s:I, s:o, s:o}", "device_bytes", (json_int_t)ask->limit, "stop",
                          stop_json(&o), "fits", fits != NULL ? fits : json_null());
    }
    aot_memory_free(&o.m);
    return s;
}
