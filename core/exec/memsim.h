/* Live bytes of a forward and a backward as PyTorch's interpreter runs them, without running them.
 *
 * Every living storage counts once. Values die at their last use; a value that nobody reads lives
 * to the end. Forward inputs are held by the caller, as are primals in the backward; saved values
 * and tangents are the backward's own and freed at their last use (autograd lets go of them before
 * it calls the backward, unless retain_graph); user outputs are dropped before the backward. A
 * view, or a saved alias of a primal, costs nothing. Symbols take their hints. PyTorch answers a
 * repeated call of copy, or of
 * slice_scatter and its kin, on fake tensors from a cache, and gives it less memory than the first
 * one, and the operator itself, take. So does this, unless first_calls is set.
 * Mirrors: torch/fx/interpreter.py (boxed_run) on fake tensors. */
#ifndef AOT_EXEC_MEMSIM_H
#define AOT_EXEC_MEMSIM_H

#include "ir/graph.h"
#include "partition/partition.h"

typedef enum aot_mem_kind { /* mem_kinds.def */
#define MEM_KIND(id, name, sentence) AOT_MEM_##id,
#include "exec/mem_kinds.def"
#undef MEM_KIND
    AOT_N_MEM_KINDS
} aot_mem_kind;
const char *aot_mem_kind_name(aot_mem_kind k); /* "saved" */
const char *aot_mem_kind_sentence(aot_mem_kind k);

typedef struct aot_live {
    aot_node_id node;
    int64_t bytes; /* right after the node made its value, before its inputs are dropped */
} aot_live;

/* One storage while it lives: counted in rows born to died of `live`, both included. */
typedef struct aot_mem_block {
    aot_node_id node;   /* what made it, or the input it came by */
    bool in_forward;    /* node is of the forward, also among the backward's blocks */
    uint8_t kind;       /* aot_mem_kind */
    uint32_t storage;   /* number of the memory: the same in the forward and the backward */
    /* rows of live; inputs are born at row 0; died UINT32_MAX: lives to the end */
    uint32_t born, died;
    int64_t bytes;
} aot_mem_block;

typedef struct aot_memory_side {
    int64_t inputs, peak, end; /* before the first node; highest; when the module has returned */
    aot_node_id peak_node;     /* first node at the peak; AOT_NO_NODE if there is none */
    uint32_t peak_row;         /* its row of live */
    AOT_VEC(aot_live) live;    /* one a node that computes, in order */
    AOT_VEC(aot_mem_block) blocks; /* in order of birth; zero bytes left out */
} aot_memory_side;

typedef struct aot_memory {
    aot_memory_side forward, backward;
} aot_memory;

/* Calls that the cache of fake tensors has answered: opaque, grows while modules are walked. */
typedef struct aot_fake_calls aot_fake_calls;
aot_fake_calls *aot_fake_calls_new(void);
aot_fake_calls *aot_fake_calls_copy(const aot_fake_calls *c);
void aot_fake_calls_free(aot_fake_calls *c); /* NULL is fine */

/* Other conventions than those above, which are all zero. */
typedef struct aot_memory_options {
    /* a pointwise result takes the memory of an input of its size that dies there */
    bool reuse_in_place;
    /* Saved values live until the backward returns: under retain_graph=True, or where the frame
     * that called the forward still holds what it returned, as in a measurement of both modules
     * alone. */
    bool hold_saved;
    bool free_donated;   /* with hold_saved: but for donated ones */
    int64_t round_to;    /* sizes of storages are rounded up to a multiple; 0: as they are */
    bool first_calls;    /* every call takes what the operator takes, as if it were the first */
    aot_fake_calls *calls; /* made before this walk, in the same process; NULL: none */
} aot_memory_options;

/* Both graphs of one partition, which are linked; opt may be NULL. Free with aot_memory_free. Cost:
 * linear. */
void aot_memory_of_partition(aot_memory *out, const aot_partition *p,
                             const aot_memory_options *opt);
/* Bytes that each row's node allocated, and those freed after it: as many entries as rows of
 * live. */
void aot_memory_changes(const aot_memory_side *s, int64_t *allocated, int64_t *freed);
void aot_memory_free(aot_memory *m);

#endif
