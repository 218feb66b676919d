/* What lives at a moment, added up: by source line, operator, checkpoint region, module or kind;
 * and the same over time.
 *
 *     aot_memory m;  aot_memory_of_partition(&m, p, NULL);
 *     aot_memgroups g;
 *     aot_memgroups_make(&g, p, &m, AOT_SIDE_BACKWARD, AOT_MEM_BY_LINE, NULL, true);
 *     g.d[0].key, g.d[0].peak_bytes ... */
#ifndef AOT_EXEC_MEMGROUP_H
#define AOT_EXEC_MEMGROUP_H

#include "exec/memsim.h"

typedef enum aot_mem_by { /* memgroups.def */
#define MEM_GROUP(id, name, sentence) AOT_MEM_BY_##id,
#include "exec/memgroups.def"
#undef MEM_GROUP
    AOT_N_MEM_BY
} aot_mem_by;
const char *aot_mem_by_name(aot_mem_by by); /* "line" */
const char *aot_mem_by_sentence(aot_mem_by by);
aot_mem_by aot_mem_by_find(const char *name); /* AOT_N_MEM_BY if there is none */

typedef enum aot_mem_side { AOT_SIDE_FORWARD, AOT_SIDE_BACKWARD } aot_mem_side;

typedef struct aot_memgroup {
    const char *key;     /* "model.py:12", "aten.mm", "region 3", "layers.*.mlp", "saved" */
    const char *detail;  /* code of a line, sentence of a kind; "" */
    int64_t peak_bytes;  /* of what lives at the side's peak */
    int64_t most_bytes;  /* the most of it that lives at once, at any row */
    uint32_t n_blocks;   /* storages at the peak */
    uint32_t first_row, last_row; /* rows of the side's live between which any of it lives */
    uint32_t n_same;     /* keys that folding made one: 12 for layers.0 .. layers.11 */
    uint32_t largest;    /* index into the side's blocks of the largest at the peak; UINT32_MAX */
} aot_memgroup;

typedef struct aot_memgroups {
    const aot_memory_side *side; /* borrowed */
    aot_arena *arena;  /* of the texts */
    aot_memgroup *d;   /* most bytes at the peak first, then most at any row */
    uint32_t n;
    uint32_t *of_block; /* group of each block of the side */
} aot_memgroups;

/* p and m are borrowed as long as out lives. modules: by node of p->cut, as aot_select_modules
 * gives it; NULL: not known, all is in one group then. fold: keys that differ in numbers alone
 * (layers.0, layers.1; not lines) are one. Free with aot_memgroups_free. Cost: blocks and their
 * texts. */
void aot_memgroups_make(aot_memgroups *out, const aot_partition *p, const aot_memory *m,
                        aot_mem_side side, aot_mem_by by, const char *const *modules, bool fold);
void aot_memgroups_free(aot_memgroups *g);
/* Bytes of one group in each row of the side's live; out has that many entries. Cost: linear. */
void aot_memgroups_over_time(int64_t *out, const aot_memgroups *g, uint32_t group);
/* The graph that a block's node is of. */
const aot_graph *aot_mem_block_graph(const aot_partition *p, aot_mem_side side,
                                     const aot_mem_block *b);
static inline const aot_memory_side *aot_memory_get(const aot_memory *m, aot_mem_side side)
{
    return side == AOT_SIDE_FORWARD ? &m->forward : &m->backward;
}

/* "layers.*.fc" of "layers.11.fc": numbers that are a whole part of a path, or that end "region 3";
 * in a. */
const char *aot_memgroup_folded(aot_arena *a, const char *key);

#endif
