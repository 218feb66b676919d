/* Live memory in groups: each block gets a key, equal keys are one group, and what lives at the
 * peak is added up. Over time: changes at birth and after death, then a running sum. */
#include "exec/memgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/path.h"
#include "partition/select.h"

static const struct {
    const char *name, *sentence;
} rows[AOT_N_MEM_BY] = {
#define MEM_GROUP(id, name, sentence) {#name, sentence},
#include "exec/memgroups.def"
#undef MEM_GROUP
};

const char *aot_mem_by_name(aot_mem_by by)
{
    return rows[by].name;
}

const char *aot_mem_by_sentence(aot_mem_by by)
{
    return rows[by].sentence;
}

aot_mem_by aot_mem_by_find(const char *name)
{
    int i = 0;
    while (i < AOT_N_MEM_BY && strcmp(rows[i].name, name) != 0) {
        i++;
    }
    return (aot_mem_by)i;
}

const aot_graph *aot_mem_block_graph(const aot_partition *p, aot_mem_side side,
                                     const aot_mem_block *b)
{
    return side == AOT_SIDE_FORWARD || b->in_forward ? p->forward : p->backward;
}

/* ---- keys ------------------------------------------------------------------------------------ */

typedef struct keys {
    const aot_partition *p;
    aot_arena *arena;
    const char *const *modules;
    aot_node_id *cut; /* by aot_str: the node of p->cut of that name */
    const char *detail;
} keys;

typedef const char *key_fn(keys *k, const aot_graph *g, const aot_mem_block *b);

static const char *key_kind(keys *k, const aot_graph *g, const aot_mem_block *b)
{
    (void)g;
    k->detail = aot_mem_kind_sentence((aot_mem_kind)b->kind);
    return aot_mem_kind_name((aot_mem_kind)b->kind);
}

static const char *key_line(keys *k, const aot_graph *g, const aot_mem_block *b)
{
    const aot_src *src = &g->srcs.d[aot_node_at(g, b->node)->src];
    if (src->file == 0) {
        return aot_node_at(g, b->node)->kind == AOT_PLACEHOLDER ? "(an input)" : "(no source line)";
    }
    k->detail = aot_text(g->ctx, src->code);
    return aot_arena_printf(k->arena, "%s:%u", aot_file_name(aot_text(g->ctx, src->file)),
                            src->line);
}

static const char *key_op(keys *k, const aot_graph *g, const aot_mem_block *b)
{
    const aot_node *n = aot_node_at(g, b->node);
    (void)k;
    if (n->kind == AOT_PLACEHOLDER) {
        return "(an input)";
    }
    const char *packet = aot_node_op(n)->packet;
    return packet != NULL && packet[0] != '\0' ? packet : aot_node_target(g, b->node);
}

static const char *key_region(keys *k, const aot_graph *g, const aot_mem_block *b)
{
    int32_t region = g->srcs.d[aot_node_at(g, b->node)->src].ac_graph_id;
    if (aot_node_at(g, b->node)->kind == AOT_PLACEHOLDER && !b->in_forward) {
        region = -1;
    }
    return region < 0 ? "(in no region)" : aot_arena_printf(k->arena, "region %d", region);
}

static const char *key_module(keys *k, const aot_graph *g, const aot_mem_block *b)
{
    aot_node_id id = k->cut[aot_node_at(g, b->node)->name];
    return aot_module_words(k->modules != NULL && id != AOT_NO_NODE ? k->modules[id] : NULL);
}

static key_fn *const key_of[AOT_N_MEM_BY] = {
#define MEM_GROUP(id, name, sentence) key_##name,
#include "exec/memgroups.def"
#undef MEM_GROUP
};

const char *aot_memgroup_folded(aot_arena *a, const char *key)
{
    char *out = aot_arena_strndup(a, key, strlen(key));
    size_t n = 0;
    for (const char *s = key; *s != '\0';) {
        bool starts = s == key || s[-1] == '.' || s[-1] == ' ';
        size_t digits = strspn(s, "0123456789");
        if (starts && digits != 0 && (s[digits] == '.' || s[digits] == '\0')) {
            out[n++] = '*';
            s += digits;
        } else {
            out[n++] = *s++;
        }
    }
    out[n] = '\0';
    return out;
}

/* ---- grouping -------------------------------------------------------------------------------- */

typedef struct keyed {
    const char *key, *own, *detail; /* own: before folding */
    uint32_t block;
} keyed;

static int by_key(const void *x, const void *y)
{
    const keyed *a = x, *b = y;
    int c = strcmp(a->key, b->key);
    c = c != 0 ? c : strcmp(a->own, b->own);
    return c != 0 ? c : (a->block > b->block) - (a->block < b->block);
}

typedef struct ranked {
    aot_memgroup g;
    uint32_t was;
} ranked;

static int by_bytes(const void *x, const void *y)
{
    const aot_memgroup *a = &((const ranked *)x)->g, *b = &((const ranked *)y)->g;
    if (a->peak_bytes != b->peak_bytes) {
        return a->peak_bytes < b->peak_bytes ? 1 : -1;
    }
    if (a->most_bytes != b->most_bytes) {
        return a->most_bytes < b->most_bytes ? 1 : -1;
    }
    return strcmp(a->key, b->key);
}

static keyed *make_keys(aot_memgroups *out, const aot_partition *p, aot_mem_side side,
                        aot_mem_by by, const char *const *modules, bool fold)
{
    const aot_memory_side *m = out->side;
    uint32_t n_names = aot_strtab_count(p->cut->ctx->strs);
    keys k = {.p = p,
              .arena = out->arena,
              .modules = modules,
              .cut = aot_xmalloc((n_names + 1) * sizeof *k.cut)};
    keyed *all = aot_xcalloc(m->blocks.n + 1, sizeof *all);
    memset(k.cut, 0xff, (n_names + 1) * sizeof *k.cut);
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        k.cut[aot_node_at(p->cut, i)->name] = i;
    }
    for (uint32_t i = 0; i < m->blocks.n; i++) {
        const aot_mem_block *b = &m->blocks.d[i];
        k.detail = "";
        all[i].own = key_of[by](&k, aot_mem_block_graph(p, side, b), b);
        bool folds = fold && by != AOT_MEM_BY_LINE;
        all[i].key = folds ? aot_memgroup_folded(out->arena, all[i].own) : all[i].own;
        all[i].detail = k.detail;
        all[i].block = i;
    }
    free(k.cut);
    qsort(all, m->blocks.n, sizeof *all, by_key);
    return all;
}

static bool lives_at(const aot_mem_block *b, uint32_t row)
{
    return b->born <= row && row <= b->died;
}

static void add_block(aot_memgroups *out, aot_memgroup *g, uint32_t i)
{
    const aot_mem_block *b = &out->side->blocks.d[i];
    uint32_t end = out->side->live.n != 0 ? (uint32_t)out->side->live.n - 1 : 0,
             died = b->died < end ? b->died : end;
    g->first_row = b->born < g->first_row ? b->born : g->first_row;
    g->last_row = died > g->last_row ? died : g->last_row;
    if (out->side->live.n == 0 || !lives_at(b, out->side->peak_row)) {
        return;
    }
    g->peak_bytes = aot_sum(g->peak_bytes, b->bytes);
    g->n_blocks++;
    if (g->largest == UINT32_MAX || b->bytes > out->side->blocks.d[g->largest].bytes) {
        g->largest = i;
    }
}

void aot_memgroups_over_time(int64_t *out, const aot_memgroups *g, uint32_t group)
{
    const aot_memory_side *m = g->side;
    memset(out, 0, m->live.n * sizeof *out);
    for (uint32_t i = 0; i < m->blocks.n; i++) {
        const aot_mem_block *b = &m->blocks.d[i];
        if (g->of_block[i] != group || b->born >= m->live.n) {
            continue;
        }
        out[b->born] = aot_sum(out[b->born], b->bytes);
        if (b->died != UINT32_MAX && b->died + 1 < m->live.n) {
            out[b->died + 1] = aot_sum(out[b->died + 1], -b->bytes);
        }
    }
    for (size_t r = 1; r < m->live.n; r++) {
        out[r] = aot_sum(out[r], out[r - 1]);
    }
}

/* The most of each group that lives at once: births and deaths in order of rows. Within a row
 * births come first, as they are counted. */
static void find_most(aot_memgroups *out)
{
    const aot_memory_side *m = out->side;
    // by row: first block that dies after it
    uint32_t *dying = aot_xmalloc((m->live.n + 1) * sizeof *dying);
    uint32_t *next = aot_xmalloc((m->blocks.n + 1) * sizeof *next), at = 0;
    int64_t *now = aot_xcalloc(out->n + 1, sizeof *now);
    memset(dying, 0xff, (m->live.n + 1) * sizeof *dying);
    for (uint32_t i = 0; i < m->blocks.n; i++) {
        uint32_t died = m->blocks.d[i].died;
        if (died < m->live.n) {
            next[i] = dying[died];
            dying[died] = i;
        }
    }
    for (uint32_t row = 0; row < m->live.n; row++) {
        for (; at < m->blocks.n && m->blocks.d[at].born <= row; at++) {
            aot_memgroup *g = &out->d[out->of_block[at]];
            int64_t *n = &now[out->of_block[at]];
            *n = aot_sum(*n, m->blocks.d[at].bytes);
            g->most_bytes = *n > g->most_bytes ? *n : g->most_bytes;
        }
        for (uint32_t i = dying[row]; i != UINT32_MAX; i = next[i]) {
            now[out->of_block[i]] = aot_sum(now[out->of_block[i]], -m->blocks.d[i].bytes);
        }
    }
    free(dying);
    free(next);
    free(now);
}

static void rank(aot_memgroups *out)
{
    ranked *all = aot_xcalloc(out->n + 1, sizeof *all);
    uint32_t *place = aot_xcalloc(out->n + 1, sizeof *place);
    for (uint32_t i = 0; i < out->n; i++) {
        all[i] = (ranked){out->d[i], i};
    }
    qsort(all, out->n, sizeof *all, by_bytes);
    for (uint32_t i = 0; i < out->n; i++) {
        out->d[i] = all[i].g;
        place[all[i].was] = i;
    }
    for (uint32_t i = 0; i < out->side->blocks.n; i++) {
        out->of_block[i] = place[out->of_block[i]];
    }
    free(all);
    free(place);
}

void aot_memgroups_make(aot_memgroups *out, const aot_partition *p, const aot_memory *m,
                        aot_mem_side side, aot_mem_by by, const char *const *modules, bool fold)
{
    *out = (aot_memgroups){.side = aot_memory_get(m, side), .arena = aot_arena_new()};
    size_t n = out->side->blocks.n;
    keyed *all = make_keys(out, p, side, by, modules, fold);
    out->d = AOT_NEW_ARRAY(out->arena, aot_memgroup, n + 1);
    out->of_block = AOT_NEW_ARRAY(out->arena, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(all[i].key, all[i - 1].key) != 0) {
            out->d[out->n++] = (aot_memgroup){.key = all[i].key,
                                              .detail = all[i].detail,
                                              .n_same = 1,
                                              .largest = UINT32_MAX,
                                              .first_row = UINT32_MAX};
        } else {
            out->d[out->n - 1].n_same += strcmp(all[i].own, all[i - 1].own) != 0;
        }
        out->of_block[all[i].block] = out->n - 1;
        add_block(out, &out->d[out->n - 1], all[i].block);
    }
    free(all);
    find_most(out);
    rank(out);
}

void aot_memgroups_free(aot_memgroups *g)
{
    aot_arena_free(g->arena);
    *g = (aot_memgroups){0};
}
