/* Shared by memsim.c and memsim_values.c: a module on its way through the interpreter. */
#ifndef AOT_EXEC_MEMSIM_INTERNAL_H
#define AOT_EXEC_MEMSIM_INTERNAL_H

#include "exec/memsim.h"

enum { AOT_RNG_STATE_BYTES = 5056 }; /* of the CPU generator */
#define AOT_NO_BLOCK UINT32_MAX

typedef struct aot_sim_storage {
    int64_t bytes;
    uint32_t holders;  /* living values, and one for a caller that keeps it */
    aot_node_id node;  /* what made it */
    bool in_forward;   /* node is of the forward */
    uint32_t block;    /* of side.blocks, while it lives; AOT_NO_BLOCK */
    uint8_t kind;      /* aot_mem_kind + 1 if known before the end; 0 */
} aot_sim_storage;

typedef struct aot_sim_value {
    uint32_t first, n; /* range of sim.held */
} aot_sim_value;

/* Sums of all that lives: each is less than 2^63, together they need not be. */
__extension__ typedef __int128 aot_wide;

typedef struct aot_sim {
    const aot_graph *g;
    aot_memory_side *side;
    const aot_memory_options *opt;
    bool is_forward;
    AOT_VEC(aot_sim_storage) storages;
    AOT_VEC(uint32_t) held; /* storage ids */
    aot_sim_value *values;  /* by node */
    int64_t *offset;        /* by node: first element within the storage, where views tell it */
    uint32_t *last_use;     /* by node: 1 + last user; 0 = none */
    aot_node_id at;         /* the node at work */
    aot_wide live;
} aot_sim;

uint32_t aot_sim_new_storage(aot_sim *s, int64_t bytes);
void aot_sim_hold(aot_sim *s, uint32_t storage);
/* Bytes from the first to the last element: what empty_strided allocates. */
int64_t aot_sim_storage_bytes(const aot_ctx *c, aot_meta_id id);
/* values[id] and new storages, which nobody holds yet. */
void aot_sim_make_value(aot_sim *s, aot_node_id id);

/* fake_calls.c: whether the call was made before, by what options.calls holds; enters it. The
 * node's inputs have their values. False where there is no such set. */
bool aot_fake_call_repeats(const aot_sim *s, aot_node_id id);

#endif
